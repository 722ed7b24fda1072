// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

// The functions that the layer defines in MPI's place must be visible outside the library, whatever <mpi.h> declares.
#pragma GCC visibility push(default)
#include <mpi.h>
// Open MPI's extensions. Other libraries have no such header.
#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif
#pragma GCC visibility pop
