// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include "instantiate.hpp"

#include <Tpetra_FEMultiVector_decl.hpp>
#include <Tpetra_MultiVector_decl.hpp>
#include <Tpetra_Vector_decl.hpp>

#include <Tpetra_DistObject_def.hpp>
#include <Tpetra_FEMultiVector_def.hpp>
#include <Tpetra_MultiVector_def.hpp>
#include <Tpetra_Vector_def.hpp>

namespace semcache::tpetra {

/// A buffer that is about to be filled by receives: what it holds is wanted nowhere.
template <class Dual>
void expect_receives(const Dual& buffer) {
  semcache::access(buffer.view_host(), Access::overwrite);
}

}  // namespace semcache::tpetra

/// Two members differ from Tpetra's.
/// - Received values: Tpetra lets the MPI library write them into the vector's own host side if their place is at its
///   end. The pages there hold other values, too, which would cross the link in both directions. In a buffer of its own
///   exactly the halo crosses, and a kernel may use the vector meanwhile.
/// - A vector of a caller's device view: Tpetra makes a mirror without saying that it is nobody else's; here it is the
///   second side of the view's array.
#define SEMCACHE_VECTORS(S, LO, GO)                                                                                   \
  template <>                                                                                                         \
  bool MultiVector<S, LO, GO, SemCacheNode>::reallocImportsIfNeeded(const size_t size, const bool verbose,            \
                                                                    const std::string* prefix, const bool contiguous, \
                                                                    const CombineMode mode) {                         \
    const bool made_anew =                                                                                            \
        DistObject<S, LO, GO, SemCacheNode>::reallocImportsIfNeeded(size, verbose, prefix, contiguous, mode);         \
    semcache::tpetra::expect_receives(this->imports_);                                                                \
    return made_anew;                                                                                                 \
  }                                                                                                                   \
  template <>                                                                                                         \
  MultiVector<S, LO, GO, SemCacheNode>::MultiVector(const Teuchos::RCP<const map_type>& map,                          \
                                                    const typename dual_view_type::t_dev& device)                     \
      : MultiVector(map, dual_view_type(device, Kokkos::create_mirror_view(device))) {                                \
    owningView_.modify_device();                                                                                      \
  }                                                                                                                   \
  TPETRA_MULTIVECTOR_INSTANT(S, LO, GO, SemCacheNode)                                                                 \
  TPETRA_VECTOR_INSTANT(S, LO, GO, SemCacheNode)
