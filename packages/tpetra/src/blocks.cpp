// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "instantiate.hpp"

#include <Tpetra_BlockCrsMatrix_decl.hpp>
#include <Tpetra_BlockMultiVector_decl.hpp>
#include <Tpetra_BlockVector_decl.hpp>
#include <Tpetra_BlockCrsMatrix_def.hpp>
#include <Tpetra_BlockMultiVector_def.hpp>
#include <Tpetra_BlockVector_def.hpp>

namespace Tpetra {

#define SEMCACHE_INSTANTIATE(S, LO, GO)                    \
  TPETRA_BLOCKMULTIVECTOR_INSTANT(S, LO, GO, SemCacheNode) \
  TPETRA_BLOCKVECTOR_INSTANT(S, LO, GO, SemCacheNode)      \
  TPETRA_BLOCKCRSMATRIX_INSTANT(S, LO, GO, SemCacheNode)
TPETRA_INSTANTIATE_SLG_NO_ORDINAL_SCALAR(SEMCACHE_INSTANTIATE)

}  // namespace Tpetra
