// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

/// Prepares the instantiation of Tpetra's classes for semcache::TpetraNode. The scalars (S) and ordinals (LO, GO) come from
/// the installed Tpetra's lists. Of these the lists without a node are used, and the files name SemCacheNode themselves.
#include <semcache/tpetra.hpp>

#include <TpetraCore_ETIHelperMacros.h>

namespace Tpetra {
TPETRA_ETI_MANGLING_TYPEDEFS()
using SemCacheNode = semcache::TpetraNode;
}  // namespace Tpetra
