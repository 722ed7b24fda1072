# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SPDX-FileCopyrightText: The SemCache contributors
# cmake -C cmake/caches/asan.cmake -S . -B build-asan
set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "")
set(flags "-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer")
set(CMAKE_C_FLAGS "${flags}" CACHE STRING "")
set(CMAKE_CXX_FLAGS "${flags}" CACHE STRING "")
# SemCache's handler, not the sanitizer's, must get the page faults of mirrors. protect_shadow_gap=0 avoids a mapping of
# terabytes, with which small numbers in functors would look like pointers.
set(SemCache_TEST_SANITIZER_ENVIRONMENT
  "ASAN_OPTIONS=handle_segv=0:handle_sigbus=0:protect_shadow_gap=0:detect_stack_use_after_return=0"
  "UBSAN_OPTIONS=print_stacktrace=1"
  CACHE STRING "")
# Moves per case of the random programs: an eighth of the usual number, because they take ten times as long.
set(SemCache_TEST_ORACLE_MOVES 10000 CACHE STRING "")
