// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

/// Included in front of every rewritten source (schemata.py).
namespace semcache_mutants {

/// The mutants that this process runs: up to two numbers in the environment variable MUTANT; 0: none.
extern int chosen[2];
/// What the process has come to: a flag for each mutant. Child processes share it.
extern unsigned char* reached;

}  // namespace semcache_mutants

#define SEMCACHE_MUTANT(number) \
  (::semcache_mutants::reached[number] = 1, ::semcache_mutants::chosen[0] == (number) || ::semcache_mutants::chosen[1] == (number))
