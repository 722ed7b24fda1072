// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "instantiate.hpp"

#include <Tpetra_ImportExportData_decl.hpp>
#include <Tpetra_Details_Transfer_decl.hpp>
#include <Tpetra_Import_decl.hpp>
#include <Tpetra_Export_decl.hpp>
#include <Tpetra_ImportExportData_def.hpp>
#include <Tpetra_Details_Transfer_def.hpp>
#include <Tpetra_Import_def.hpp>
#include <Tpetra_Export_def.hpp>

namespace Tpetra {

namespace Details {
#define SEMCACHE_INSTANTIATE(LO, GO) TPETRA_DETAILS_TRANSFER_INSTANT(LO, GO, SemCacheNode)
TPETRA_INSTANTIATE_LG(SEMCACHE_INSTANTIATE)
#undef SEMCACHE_INSTANTIATE
}  // namespace Details

#define SEMCACHE_INSTANTIATE(LO, GO)                    \
  TPETRA_IMPORTEXPORTDATA_INSTANT(LO, GO, SemCacheNode) \
  TPETRA_IMPORT_INSTANT(LO, GO, SemCacheNode)           \
  TPETRA_EXPORT_INSTANT(LO, GO, SemCacheNode)
TPETRA_INSTANTIATE_LG(SEMCACHE_INSTANTIATE)

}  // namespace Tpetra
