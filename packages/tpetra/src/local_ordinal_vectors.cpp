// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "vectors.hpp"

namespace Tpetra {

#define SEMCACHE_INSTANTIATE(LO, GO)                  \
  TPETRA_DISTOBJECT_INSTANT(LO, LO, GO, SemCacheNode) \
  SEMCACHE_VECTORS(LO, LO, GO)
TPETRA_INSTANTIATE_LG(SEMCACHE_INSTANTIATE)

}  // namespace Tpetra
