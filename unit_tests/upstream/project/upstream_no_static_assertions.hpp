// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

// For tests that assert that a team's member names TEST_EXECSPACE: on semcache::Exec members are the native space's.
#define static_assert(...) static_assert(true)
