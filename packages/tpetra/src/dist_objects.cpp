// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "instantiate.hpp"

#include <Tpetra_DistObject_decl.hpp>
#include <Tpetra_DistObject_def.hpp>

namespace Tpetra {

#define SEMCACHE_INSTANTIATE(S, LO, GO) TPETRA_DISTOBJECT_INSTANT(S, LO, GO, SemCacheNode)
TPETRA_INSTANTIATE_SLG_NO_ORDINAL_SCALAR(SEMCACHE_INSTANTIATE)
#undef SEMCACHE_INSTANTIATE

#define SEMCACHE_INSTANTIATE(LO, GO) TPETRA_DISTOBJECT_INSTANT_CHAR(LO, GO, SemCacheNode)
TPETRA_INSTANTIATE_LG(SEMCACHE_INSTANTIATE)

}  // namespace Tpetra
