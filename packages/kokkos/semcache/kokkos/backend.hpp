// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/kokkos/closure.hpp>

namespace semcache::kokkos {

/// Kokkos' unique token, with copies that record its words. Its locks lie in memory that Kokkos owns and hold no views, so they
/// must not make a launch unknown.
template <Kokkos::Experimental::UniqueTokenScope Scope>
class RecognisedToken : public Kokkos::Experimental::UniqueToken<NativeExec, Scope> {
  using Base = Kokkos::Experimental::UniqueToken<NativeExec, Scope>;

 public:
  using Base::Base;
  RecognisedToken() = default;
  KOKKOS_FUNCTION RecognisedToken(const RecognisedToken& other) : Base(other) {
    SEMCACHE_KOKKOS_ON_HOST(detail::record_mirror_copy(this, &other, &detail::recognised_words<sizeof(RecognisedToken)>);)
  }
  KOKKOS_DEFAULTED_FUNCTION RecognisedToken& operator=(const RecognisedToken&) = default;
};

}  // namespace semcache::kokkos

/// Properties of the native space that Kokkos looks up by the type of the execution space. Some of them, when missing, cause
/// errors at run time only, or silently wrong results.
namespace Kokkos {

#ifdef KOKKOS_ENABLE_CUDA
// Without these an MDRange on a GPU would exceed the limits of a block.
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

// For zero-initialisation and deep_copy(view, 0): the content becomes a fill, and no memory is written. Memory that cannot be
// tracked (a view in HostSpace or CudaSpace on semcache::Exec) is zeroed by the native space.
#if SEMCACHE_KOKKOS_ZERO_MEMSET_POINTER
template <>
struct ZeroMemset<semcache::Exec> {
  ZeroMemset(const semcache::Exec& exec, void* pointer, std::size_t bytes) {
    semcache::kokkos::detail::zero(exec, pointer, bytes, [&](const semcache::kokkos::NativeExec& native) {
      (void)ZeroMemset<semcache::kokkos::NativeExec>(native, pointer, bytes);
    });
  }
};
#elif SEMCACHE_KOKKOS_ZERO_MEMSET_VIEW
template <class ViewType>
struct ZeroMemset<semcache::Exec, ViewType> {
  ZeroMemset(const semcache::Exec& exec, const ViewType& view) {
    semcache::kokkos::detail::zero(exec, view.data(), view.size() * sizeof(typename ViewType::value_type),
                                   [&](const semcache::kokkos::NativeExec& native) {
#if SEMCACHE_KOKKOS_ZERO_MEMSET_VIEW_AND_VALUE
                                     const typename ViewType::non_const_value_type zero{};
                                     (void)ZeroMemset<semcache::kokkos::NativeExec, ViewType>(native, view, zero);
#else
                                     (void)ZeroMemset<semcache::kokkos::NativeExec, ViewType>(native, view);
#endif
                                   });
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
  ZeroMemset(const semcache::Exec& exec, const view_type& view, value_type& value) {
    semcache::kokkos::detail::zero(exec, view.data(), view.size() * sizeof(typename view_type::value_type),
                                   [&](const semcache::kokkos::NativeExec& native) {
                                     (void)ZeroMemset<semcache::kokkos::NativeExec, DataType, Properties...>(native, view, value);
                                   });
  }
  ZeroMemset(const view_type& view, value_type& value) : ZeroMemset(semcache::Exec(), view, value) {}
};
#endif

/// Refused because nodes of a Kokkos::Graph would abort when they are submitted, or run unnoticed.
template <class Policy, class Functor, class Tag, class... Arguments>
class GraphNodeKernelImpl<semcache::Exec, Policy, Functor, Tag, Arguments...> {
  static_assert(!std::is_same<Functor, Functor>::value,
                "Kokkos::Graph cannot hold kernels of semcache::Exec: build the graph on the native execution space and "
                "announce its views with semcache::access before each submit");
};

/// Refused because the arrays of the graph and of its queue are no part of the functor, so they would not be noticed.
template <class Functor, class... Properties>
class ParallelFor<Functor, Kokkos::WorkGraphPolicy<Properties...>, semcache::Exec> {
  static_assert(!std::is_same<Functor, Functor>::value,
                "Kokkos::WorkGraphPolicy cannot run on semcache::Exec: name the native execution space in the policy, and "
                "announce the views that its functor uses with semcache::access");
};

}  // namespace Impl

namespace Experimental {
// These are full specialisations because a partial one over the scope would be ambiguous with Kokkos' own.
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
