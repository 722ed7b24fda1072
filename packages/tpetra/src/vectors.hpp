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

/// Instantiates the vectors, with the constructor that <semcache/tpetra/multi_vector.hpp> declares.
#define SEMCACHE_VECTORS(S, LO, GO)                                                                  \
  template <>                                                                                        \
  MultiVector<S, LO, GO, SemCacheNode>::MultiVector(const Teuchos::RCP<const map_type>& map,         \
                                                    const typename dual_view_type::t_dev& device)    \
      : MultiVector(map, dual_view_type(semcache::tpetra::one_array, device)) {                      \
    owningView_.modify_device();                                                                     \
  }                                                                                                  \
  TPETRA_MULTIVECTOR_INSTANT(S, LO, GO, SemCacheNode)                                                \
  TPETRA_VECTOR_INSTANT(S, LO, GO, SemCacheNode)
