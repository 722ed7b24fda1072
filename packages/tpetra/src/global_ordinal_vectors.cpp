// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "vectors.hpp"

// A file of its own, because the vectors of local ordinals may have the same type: one file must not instantiate both.
namespace Tpetra {

#define SEMCACHE_INSTANTIATE(S, LO, GO)            \
  TPETRA_DISTOBJECT_INSTANT(S, LO, GO, SemCacheNode) \
  SEMCACHE_VECTORS(S, LO, GO)
TPETRA_INSTANTIATE_GLG(SEMCACHE_INSTANTIATE)

}  // namespace Tpetra
