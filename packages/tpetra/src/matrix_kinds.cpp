// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "instantiate.hpp"

#include <Tpetra_CrsMatrix_decl.hpp>
#include <Tpetra_RowMatrix_decl.hpp>
#include <Tpetra_FECrsMatrix_decl.hpp>
#include <Tpetra_RowMatrixTransposer_decl.hpp>
#include <Tpetra_LocalCrsMatrixOperator_decl.hpp>
#include <Tpetra_CrsMatrix_def.hpp>
#include <Tpetra_RowMatrix_def.hpp>
#include <Tpetra_FECrsMatrix_def.hpp>
#include <Tpetra_RowMatrixTransposer_def.hpp>
#include <Tpetra_LocalCrsMatrixOperator_def.hpp>

namespace Tpetra {

#define SEMCACHE_INSTANTIATE(S, LO, GO)                  \
  TPETRA_ROWMATRIX_INSTANT(S, LO, GO, SemCacheNode)      \
  TPETRA_FECRSMATRIX_INSTANT(S, LO, GO, SemCacheNode)    \
  TPETRA_ROWMATRIXTRANSPOSER_INSTANT(S, LO, GO, SemCacheNode)
TPETRA_INSTANTIATE_SLG_NO_ORDINAL_SCALAR(SEMCACHE_INSTANTIATE)
#undef SEMCACHE_INSTANTIATE

#define SEMCACHE_INSTANTIATE(S) TPETRA_LOCALCRSMATRIXOPERATOR_INSTANT(S, SemCacheNode)
TPETRA_INSTANTIATE_S(SEMCACHE_INSTANTIATE)

}  // namespace Tpetra
