# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SPDX-FileCopyrightText: The SemCache contributors
# cmake -C cmake/caches/tsan.cmake -S . -B build-tsan
set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "")
set(flags "-fsanitize=thread -fno-omit-frame-pointer")
set(CMAKE_C_FLAGS "${flags}" CACHE STRING "")
set(CMAKE_CXX_FLAGS "${flags}" CACHE STRING "")
# SemCache's handler, not the sanitizer's, must get the page faults of mirrors. Open MPI and its helpers are not instrumented,
# so their synchronisation is invisible and their accesses look like races.
set(SemCache_TEST_SANITIZER_ENVIRONMENT
  "TSAN_OPTIONS=handle_segv=0:handle_sigbus=0:ignore_noninstrumented_modules=1:halt_on_error=1:second_deadlock_stack=1"
  CACHE STRING "")
# Moves per case of the random programs: an eighth of the usual number, because they take ten times as long.
set(SemCache_TEST_ORACLE_MOVES 10000 CACHE STRING "")
