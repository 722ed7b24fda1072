// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

/// For the files that instantiate Tpetra's classes for semcache::TpetraNode, for the scalars (S) and ordinals (LO, GO)
/// that the Tpetra at hand names in its lists. The lists that leave the node out are used, and the node is ours.
#include <semcache/tpetra.hpp>

#include <TpetraCore_ETIHelperMacros.h>

namespace Tpetra {
TPETRA_ETI_MANGLING_TYPEDEFS()
using SemCacheNode = semcache::TpetraNode;
}  // namespace Tpetra
