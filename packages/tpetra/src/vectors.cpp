// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "vectors.hpp"

namespace Tpetra {

#define SEMCACHE_INSTANTIATE(S, LO, GO) \
  SEMCACHE_VECTORS(S, LO, GO)           \
  TPETRA_FEMULTIVECTOR_INSTANT(S, LO, GO, SemCacheNode)
TPETRA_INSTANTIATE_SLG_NO_ORDINAL_SCALAR(SEMCACHE_INSTANTIATE)

}  // namespace Tpetra
