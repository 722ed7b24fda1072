# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SPDX-FileCopyrightText: The SemCache contributors
# cmake -C cmake/caches/debug.cmake -S . -B build-debug
set(CMAKE_BUILD_TYPE Debug CACHE STRING "")
set(CMAKE_CXX_FLAGS "-Werror -D_GLIBCXX_ASSERTIONS" CACHE STRING "")
