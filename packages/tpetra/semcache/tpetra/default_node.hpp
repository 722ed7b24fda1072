// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/tpetra/node.hpp>

/// With SEMCACHE_TPETRA_DEFAULT_NODE (the target SemCache::tpetra_default), Tpetra::Map<> and all that follows it name
/// semcache::TpetraNode. All translation units of a program must agree.
#ifdef SEMCACHE_TPETRA_DEFAULT_NODE
#ifdef TPETRA_DETAILS_DEFAULTTYPES_HPP
#error "include <semcache/tpetra.hpp> before any header of Tpetra: its default node is settled already"
#endif

namespace Kokkos {
namespace Compat {
using SemCacheWrapperNode = semcache::TpetraNode;
}
}  // namespace Kokkos

// The header that settles the default knows Tpetra's own nodes only: while it is read, all of them are ours.
#define KokkosSerialWrapperNode SemCacheWrapperNode
#define KokkosOpenMPWrapperNode SemCacheWrapperNode
#define KokkosThreadsWrapperNode SemCacheWrapperNode
#define KokkosCudaWrapperNode SemCacheWrapperNode
#include <Kokkos_DefaultNode.hpp>
#include <Tpetra_Details_DefaultTypes.hpp>
#undef KokkosSerialWrapperNode
#undef KokkosOpenMPWrapperNode
#undef KokkosThreadsWrapperNode
#undef KokkosCudaWrapperNode

#else
#include <Tpetra_Details_DefaultTypes.hpp>
#endif
