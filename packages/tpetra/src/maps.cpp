// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "instantiate.hpp"

#include <Tpetra_Details_FixedHashTable_decl.hpp>
#include <Tpetra_Map_decl.hpp>
#include <Tpetra_Directory_decl.hpp>
#include <Tpetra_DirectoryImpl_decl.hpp>
#include <Tpetra_Details_FixedHashTable_def.hpp>
#include <Tpetra_Map_def.hpp>
#include <Tpetra_Directory_def.hpp>
#include <Tpetra_DirectoryImpl_def.hpp>

namespace Tpetra {

namespace Details {
#define SEMCACHE_INSTANTIATE(LO, GO) TPETRA_DETAILS_FIXEDHASHTABLE_INSTANT(LO, GO, SemCacheNode::device_type)
TPETRA_INSTANTIATE_LG(SEMCACHE_INSTANTIATE)
#undef SEMCACHE_INSTANTIATE
}  // namespace Details

#define SEMCACHE_INSTANTIATE(LO, GO)             \
  TPETRA_MAP_INSTANT(LO, GO, SemCacheNode)       \
  TPETRA_DIRECTORY_INSTANT(LO, GO, SemCacheNode) \
  TPETRA_DIRECTORYIMPL_INSTANT(LO, GO, SemCacheNode)
TPETRA_INSTANTIATE_LG(SEMCACHE_INSTANTIATE)

}  // namespace Tpetra
