# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SPDX-FileCopyrightText: The SemCache contributors
# cmake -C cmake/caches/release.cmake -S . -B build
set(CMAKE_BUILD_TYPE Release CACHE STRING "")
