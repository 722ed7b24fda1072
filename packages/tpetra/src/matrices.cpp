// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "instantiate.hpp"

#include <Tpetra_CrsMatrix_decl.hpp>
#include <Tpetra_CrsMatrix_def.hpp>

namespace Tpetra {
#define SEMCACHE_INSTANTIATE(S, LO, GO) TPETRA_CRSMATRIX_INSTANT(S, LO, GO, SemCacheNode)
TPETRA_INSTANTIATE_SLG_NO_ORDINAL_SCALAR(SEMCACHE_INSTANTIATE)
}  // namespace Tpetra
