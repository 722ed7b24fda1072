// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/tpetra.hpp>

#include <Tpetra_Core.hpp>

#include <gtest/gtest.h>

/// Every rank runs every test; one that fails on any rank ends the program with an error.
int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  Tpetra::ScopeGuard scope(&argc, &argv);
  return RUN_ALL_TESTS();
}
