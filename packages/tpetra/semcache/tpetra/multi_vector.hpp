// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/tpetra/default_node.hpp>
#include <semcache/tpetra/node.hpp>
#include <semcache/tpetra/wrapped_dual_view.hpp>

#include <Tpetra_MultiVector_decl.hpp>

#include <TpetraCore_ETIHelperMacros.h>

/// The constructor that makes a vector of a caller's device view. Tpetra's own definition makes a mirror for the view that
/// SemCache cannot recognise as unshared, so the vector would be two arrays, and views of one side would exclude views of the
/// other. SemCache's definition, in libsemcache_tpetra, makes a vector of the two sides of the view's array. It is declared
/// here so that files that see Tpetra's definition use SemCache's.
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
