// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/tpetra/node.hpp>

/// With SEMCACHE_TPETRA_DEFAULT_NODE (the target SemCache::tpetra_default), semcache::TpetraNode is the node of Tpetra::Map<>
/// and of all types that are derived from it. All translation units of a program must define it alike.
#ifdef SEMCACHE_TPETRA_DEFAULT_NODE
#ifdef TPETRA_DETAILS_DEFAULTTYPES_HPP
#error "include <semcache/tpetra.hpp> before any header of Tpetra: its default node is settled already"
#endif

namespace Kokkos {
namespace Compat {
using SemCacheWrapperNode = semcache::TpetraNode;
}
}  // namespace Kokkos

// The header that chooses the default node has only Tpetra's own nodes to choose from. While it is included, each of their
// names means SemCache's node.
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
