// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/tpetra/default_node.hpp>
#include <semcache/tpetra/node.hpp>
#include <semcache/tpetra/wrapped_dual_view.hpp>

#include <Tpetra_MultiVector_decl.hpp>

#include <TpetraCore_ETIHelperMacros.h>

/// A vector of a caller's device view: Tpetra makes a mirror for it without saying that it is nobody else's, so that
/// views of one side would shut out the other's. In our library it has the two sides of the view's array. Declared here
/// for files that see Tpetra's definition.
namespace Tpetra {

#define SEMCACHE_TPETRA_DECLARE(S, LO, GO)                                        \
  template <>                                                                     \
  SEMCACHE_API MultiVector<S, LO, GO, semcache::TpetraNode>::MultiVector(         \
      const Teuchos::RCP<const map_type>&, const typename dual_view_type::t_dev&);
#define SEMCACHE_TPETRA_DECLARE_ORDINALS(LO, GO) SEMCACHE_TPETRA_DECLARE(LO, LO, GO)
TPETRA_ETI_MANGLING_TYPEDEFS()
TPETRA_INSTANTIATE_SLG_NO_ORDINAL_SCALAR(SEMCACHE_TPETRA_DECLARE)
TPETRA_INSTANTIATE_GLG(SEMCACHE_TPETRA_DECLARE)
TPETRA_INSTANTIATE_LG(SEMCACHE_TPETRA_DECLARE_ORDINALS)
#undef SEMCACHE_TPETRA_DECLARE_ORDINALS
#undef SEMCACHE_TPETRA_DECLARE

}  // namespace Tpetra
