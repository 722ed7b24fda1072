// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

// What we define in MPI's place must be seen from outside, whatever the library's header says.
#pragma GCC visibility push(default)
#include <mpi.h>
#pragma GCC visibility pop
