// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

/// A library of the program, initialised before a preloaded one, whose handlers of fork allocate and free memory if they are asked to.
[[gnu::visibility("default")]] void handlers_allocate(bool they_do);
/// Gives the handlers two blocks, which the next one frees.
[[gnu::visibility("default")]] void handlers_get(double* block, double* small_block);
[[gnu::visibility("default")]] double* handlers_block();
/// From now on the handler before a fork, and the one after it in the parent, wait for a thread that calls this function. nullptr: they do not.
[[gnu::visibility("default")]] void handlers_wait_for(void (*function)());
/// From now on the handler in a child calls this function; nullptr: none.
[[gnu::visibility("default")]] void handler_calls_in_child(void (*function)());
/// From now on a thread takes a while to make another one, so that others can fork meanwhile.
[[gnu::visibility("default")]] void threads_start_slowly();
/// Has a function called once, when the process next reads what its mappings are.
[[gnu::visibility("default")]] void when_maps_are_read(void (*function)());
