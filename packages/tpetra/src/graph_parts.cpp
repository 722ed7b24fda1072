// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "instantiate.hpp"

#include <Tpetra_FECrsGraph_decl.hpp>
#include <Tpetra_CrsGraphTransposer_decl.hpp>
#include <Tpetra_Details_makeColMap_decl.hpp>
#include <Tpetra_Details_packCrsGraph_decl.hpp>
#include <Tpetra_Details_unpackCrsGraphAndCombine_decl.hpp>
#include <Tpetra_Details_localRowOffsets_decl.hpp>
#include <Tpetra_Details_getGraphDiagOffsets_decl.hpp>
#include <Tpetra_Details_getGraphOffRankOffsets_decl.hpp>
#include <Tpetra_FECrsGraph_def.hpp>
#include <Tpetra_CrsGraphTransposer_def.hpp>
#include <Tpetra_Details_makeColMap_def.hpp>
#include <Tpetra_Details_packCrsGraph_def.hpp>
#include <Tpetra_Details_unpackCrsGraphAndCombine_def.hpp>
#include <Tpetra_Details_localRowOffsets_def.hpp>
#include <Tpetra_Details_getGraphDiagOffsets_def.hpp>
#include <Tpetra_Details_getGraphOffRankOffsets_def.hpp>

namespace Tpetra {

#define SEMCACHE_INSTANTIATE(LO, GO)                                      \
  TPETRA_FECRSGRAPH_INSTANT(LO, GO, SemCacheNode)                         \
  TPETRA_CRSGRAPHTRANSPOSER_INSTANT(LO, GO, SemCacheNode)                 \
  TPETRA_DETAILS_MAKECOLMAP_INSTANT(LO, GO, SemCacheNode)                 \
  TPETRA_DETAILS_PACKCRSGRAPH_INSTANT(LO, GO, SemCacheNode)               \
  TPETRA_DETAILS_UNPACKCRSGRAPHANDCOMBINE_INSTANT(LO, GO, SemCacheNode)   \
  TPETRA_DETAILS_LOCALROWOFFSETS_INSTANT(LO, GO, SemCacheNode)            \
  TPETRA_DETAILS_IMPL_GETGRAPHDIAGOFFSETS_INSTANT(LO, GO, SemCacheNode)   \
  TPETRA_DETAILS_IMPL_GETGRAPHOFFRANKOFFSETS_INSTANT(LO, GO, SemCacheNode)
TPETRA_INSTANTIATE_LG(SEMCACHE_INSTANTIATE)

}  // namespace Tpetra
