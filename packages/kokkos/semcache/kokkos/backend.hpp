// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/kokkos/closure.hpp>

namespace semcache::kokkos {

/// Kokkos' token, whose locks in memory of Kokkos' own do not make a launch unknown: no views are among them.
template <Kokkos::Experimental::UniqueTokenScope Scope>
class RecognisedToken : public Kokkos::Experimental::UniqueToken<NativeExec, Scope> {
  using Base = Kokkos::Experimental::UniqueToken<NativeExec, Scope>;

 public:
  using Base::Base;
  RecognisedToken() = default;
  KOKKOS_FUNCTION RecognisedToken(const RecognisedToken& other) : Base(other) {
    SEMCACHE_KOKKOS_ON_HOST(detail::record_mirror_copy(this, &other, sizeof(RecognisedToken));)
  }
  KOKKOS_DEFAULTED_FUNCTION RecognisedToken& operator=(const RecognisedToken&) = default;
};

}  // namespace semcache::kokkos

/// Properties of the native space that Kokkos looks up by execution space type. Several of these, when missing, fail
/// silently or at run time only.
namespace Kokkos {

#ifdef KOKKOS_ENABLE_CUDA
// MDRange on a GPU would exceed the block's limits.
template <>
struct default_outer_direction<semcache::Exec> : default_outer_direction<semcache::kokkos::NativeExec> {};
template <>
struct default_inner_direction<semcache::Exec> : default_inner_direction<semcache::kokkos::NativeExec> {};
#endif

namespace Impl {

#if SEMCACHE_KOKKOS_TILE_PROPERTIES
template <>
inline TileSizeProperties get_tile_size_properties<semcache::Exec>(const semcache::Exec& exec) {
  return get_tile_size_properties<semcache::kokkos::NativeExec>(exec);
}
#endif

// Zero-initialisation, deep_copy(view, 0): a known value, no memory is touched.
#if SEMCACHE_KOKKOS_ZERO_MEMSET_POINTER
template <>
struct ZeroMemset<semcache::Exec> {
  ZeroMemset(const semcache::Exec& exec, void* pointer, std::size_t bytes) {
    semcache::kokkos::detail::zero(exec, pointer, bytes);
  }
};
#elif SEMCACHE_KOKKOS_ZERO_MEMSET_VIEW
template <class ViewType>
struct ZeroMemset<semcache::Exec, ViewType> {
  ZeroMemset(const semcache::Exec& exec, const ViewType& view) {
    semcache::kokkos::detail::zero(exec, view.data(), view.size() * sizeof(typename ViewType::value_type));
  }
  ZeroMemset(const semcache::Exec& exec, const ViewType& view, typename ViewType::const_value_type&)
      : ZeroMemset(exec, view) {}
  ZeroMemset(const ViewType& view, typename ViewType::const_value_type&) : ZeroMemset(semcache::Exec(), view) {}
};
#elif SEMCACHE_KOKKOS_ZERO_MEMSET_VALUE
template <class DataType, class... Properties>
struct ZeroMemset<semcache::Exec, DataType, Properties...> {
  using view_type = View<DataType, Properties...>;
  using value_type = typename ViewTraits<DataType, Properties...>::const_value_type;
  ZeroMemset(const semcache::Exec& exec, const view_type& view, value_type&) {
    semcache::kokkos::detail::zero(exec, view.data(), view.size() * sizeof(typename view_type::value_type));
  }
  ZeroMemset(const view_type& view, value_type& value) : ZeroMemset(semcache::Exec(), view, value) {}
};
#endif

/// Nodes of a Kokkos::Graph would abort when submitted, or escape notice.
template <class Policy, class Functor, class Tag, class... Arguments>
class GraphNodeKernelImpl<semcache::Exec, Policy, Functor, Tag, Arguments...> {
  static_assert(!std::is_same<Functor, Functor>::value,
                "Kokkos::Graph cannot hold kernels of semcache::Exec: build the graph on the native execution space and "
                "announce its views with semcache::access before each submit");
};

/// The graph's and the queue's own arrays are no part of the functor.
template <class Functor, class... Properties>
class ParallelFor<Functor, Kokkos::WorkGraphPolicy<Properties...>, semcache::Exec> {
  static_assert(!std::is_same<Functor, Functor>::value,
                "Kokkos::WorkGraphPolicy cannot run on semcache::Exec: name the native execution space in the policy, and "
                "announce the views that its functor uses with semcache::access");
};

}  // namespace Impl

namespace Experimental {
// Full specialisations: one over the scope would be ambiguous with Kokkos' own.
template <>
class UniqueToken<semcache::Exec, UniqueTokenScope::Instance>
    : public semcache::kokkos::RecognisedToken<UniqueTokenScope::Instance> {
 public:
  using execution_space = semcache::Exec;
  using semcache::kokkos::RecognisedToken<UniqueTokenScope::Instance>::RecognisedToken;
};
template <>
class UniqueToken<semcache::Exec, UniqueTokenScope::Global>
    : public semcache::kokkos::RecognisedToken<UniqueTokenScope::Global> {
 public:
  using execution_space = semcache::Exec;
  using semcache::kokkos::RecognisedToken<UniqueTokenScope::Global>::RecognisedToken;
};
}  // namespace Experimental
}  // namespace Kokkos
