// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "vectors.hpp"

// Vectors of global ordinals. Apart from those of local ordinals, which may be the same type.
namespace Tpetra {
#define SEMCACHE_INSTANTIATE(GO_AS_S, LO, GO)                  \
  TPETRA_DISTOBJECT_INSTANT(GO_AS_S, LO, GO, SemCacheNode)     \
  TPETRA_MULTIVECTOR_INSTANT(GO_AS_S, LO, GO, SemCacheNode)    \
  TPETRA_VECTOR_INSTANT(GO_AS_S, LO, GO, SemCacheNode)
TPETRA_INSTANTIATE_GLG(SEMCACHE_INSTANTIATE)
}  // namespace Tpetra
