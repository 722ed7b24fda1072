// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

/// Whether children of fork() live that share this process's pages. Page-locking copies each such page at once, so it waits until they have gone.
///
/// Each child has an end of one pipe, which closes when the child ends or calls exec. Its own children inherit it, as they inherit the pages. Children of
/// vfork() and posix_spawn() share no pages in this sense, and run no handlers. A child counts as gone from the beginning if there was no free file
/// descriptor, and as soon as it has closed its descriptors, as daemons do. So do all children if this process has closed its end.
namespace semcache::blas::children {

/// The handlers of fork(), in the thread that forks. Cost: a few system calls.
void before_fork() noexcept;
void after_fork() noexcept;
void in_child() noexcept;

/// Threads: any. Cost: two system calls, and none if all children have been seen to be gone.
[[nodiscard]] bool any_lives() noexcept;

}  // namespace semcache::blas::children
