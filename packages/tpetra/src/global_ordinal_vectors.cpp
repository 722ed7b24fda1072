// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "vectors.hpp"

// Apart from the vectors of local ordinals, which may be of the same type.
namespace Tpetra {

#define SEMCACHE_INSTANTIATE(S, LO, GO)            \
  TPETRA_DISTOBJECT_INSTANT(S, LO, GO, SemCacheNode) \
  SEMCACHE_VECTORS(S, LO, GO)
TPETRA_INSTANTIATE_GLG(SEMCACHE_INSTANTIATE)

}  // namespace Tpetra
