// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

/// SemCache for Tpetra. A program names semcache::TpetraNode where it named its node, or makes it Tpetra's default node
/// (SEMCACHE_TPETRA_DEFAULT_NODE). It includes Tpetra's headers as before and links SemCache::tpetra. That library holds
/// Tpetra's classes for the node, for the scalar and ordinal types that the installed Tpetra was built for.
///
/// Include this header before any of Tpetra's, in every translation unit, because it specialises templates that Tpetra
/// uses.
#ifdef SEMCACHE_ENABLE_KERNELS
#include <semcache/kernels.hpp>
#endif
#include <semcache/tpetra/default_node.hpp>
#include <semcache/tpetra/dual_view.hpp>
#include <semcache/tpetra/multi_vector.hpp>
#include <semcache/tpetra/node.hpp>
#include <semcache/tpetra/wrapped_dual_view.hpp>
