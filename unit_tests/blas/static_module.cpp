// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
//
// A module that holds two operands of 256 x 256 numbers in its statics.
#pragma GCC visibility push(default)
extern "C" {
double test_blas_statics[2 * 256 * 256];
}
#pragma GCC visibility pop
