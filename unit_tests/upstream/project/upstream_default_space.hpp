// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

// The tests of Kokkos' algorithms say Kokkos::DefaultExecutionSpace, and Kokkos::View without a space. They mean
// TEST_EXECSPACE, and all headers of Kokkos, which mean the default one, come before.
#include <Kokkos_Core.hpp>
#include <Kokkos_Random.hpp>
#include <Kokkos_Sort.hpp>
#include <Kokkos_StdAlgorithms.hpp>

namespace Kokkos {

template <class... Arguments>
struct UpstreamViewOf {
  using type = View<Arguments...>;
};
template <class Data>
struct UpstreamViewOf<Data> {
  using type = View<Data, TEST_EXECSPACE>;
};
template <class Data>
struct UpstreamViewOf<Data, LayoutStride> {
  using type = View<Data, LayoutStride, TEST_EXECSPACE>;
};
template <class... Arguments>
using UpstreamView = typename UpstreamViewOf<Arguments...>::type;
using UpstreamExecutionSpace = TEST_EXECSPACE;

}  // namespace Kokkos

#define View UpstreamView
#define DefaultExecutionSpace UpstreamExecutionSpace
