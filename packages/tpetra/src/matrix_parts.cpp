// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "instantiate.hpp"

#include <Tpetra_CrsMatrix_decl.hpp>
#include <Tpetra_Details_getDiagCopyWithoutOffsets_decl.hpp>
#include <Tpetra_Details_packCrsMatrix_decl.hpp>
#include <Tpetra_Details_unpackCrsMatrixAndCombine_decl.hpp>
#include <Tpetra_leftAndOrRightScaleCrsMatrix_decl.hpp>
#include <Tpetra_computeRowAndColumnOneNorms_decl.hpp>
#include <Tpetra_replaceDiagonalCrsMatrix_decl.hpp>
#include <Tpetra_Details_localDeepCopyRowMatrix_decl.hpp>
#include <Tpetra_createDeepCopy_CrsMatrix_decl.hpp>
#include <Tpetra_CrsMatrix_def.hpp>
#include <Tpetra_Details_getDiagCopyWithoutOffsets_def.hpp>
#include <Tpetra_Details_packCrsMatrix_def.hpp>
#include <Tpetra_Details_unpackCrsMatrixAndCombine_def.hpp>
#include <Tpetra_leftAndOrRightScaleCrsMatrix_def.hpp>
#include <Tpetra_computeRowAndColumnOneNorms_def.hpp>
#include <Tpetra_replaceDiagonalCrsMatrix_def.hpp>
#include <Tpetra_Details_localDeepCopyRowMatrix_def.hpp>
#include <Tpetra_createDeepCopy_CrsMatrix_def.hpp>

namespace Tpetra {

#define SEMCACHE_INSTANTIATE(S, LO, GO)                                     \
  TPETRA_DETAILS_GETDIAGCOPYWITHOUTOFFSETS_INSTANT(S, LO, GO, SemCacheNode) \
  TPETRA_DETAILS_PACKCRSMATRIX_INSTANT(S, LO, GO, SemCacheNode)             \
  TPETRA_DETAILS_UNPACKCRSMATRIXANDCOMBINE_INSTANT(S, LO, GO, SemCacheNode) \
  TPETRA_LEFTANDORRIGHTSCALECRSMATRIX_INSTANT(S, LO, GO, SemCacheNode)      \
  TPETRA_COMPUTEROWANDCOLUMNONENORMS_INSTANT(S, LO, GO, SemCacheNode)       \
  TPETRA_REPLACEDIAGONALCRSMATRIX_INSTANT(S, LO, GO, SemCacheNode)          \
  TPETRA_DETAILS_LOCALDEEPCOPYROWMATRIX_INSTANT(S, LO, GO, SemCacheNode)    \
  TPETRA_CREATEDEEPCOPY_CRSMATRIX_INSTANT(S, LO, GO, SemCacheNode)
TPETRA_INSTANTIATE_SLG_NO_ORDINAL_SCALAR(SEMCACHE_INSTANTIATE)

}  // namespace Tpetra
