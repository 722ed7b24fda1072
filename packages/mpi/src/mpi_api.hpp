// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

// What we define in MPI's place must be seen from outside, whatever the library's header says.
#pragma GCC visibility push(default)
#include <mpi.h>
// Open MPI's extensions; other libraries have no such header.
#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif
#pragma GCC visibility pop
