// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "instantiate.hpp"

#include <Tpetra_CrsGraph_decl.hpp>
#include <Tpetra_RowGraph_decl.hpp>
#include <Tpetra_CrsGraph_def.hpp>
#include <Tpetra_RowGraph_def.hpp>

namespace Tpetra {

#define SEMCACHE_INSTANTIATE(LO, GO)            \
  TPETRA_ROWGRAPH_INSTANT(LO, GO, SemCacheNode) \
  TPETRA_CRSGRAPH_INSTANT(LO, GO, SemCacheNode)
TPETRA_INSTANTIATE_LG(SEMCACHE_INSTANTIATE)

}  // namespace Tpetra
