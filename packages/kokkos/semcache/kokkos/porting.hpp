// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

/// For programs that leave the choice of the device to Kokkos. This header has the names of Kokkos that fall back to its
/// default space, with semcache::DefaultDevice as the default instead. To port such a program, include this header and write
/// `semcache::` instead of `Kokkos::` before View, RangePolicy, MDRangePolicy, TeamPolicy, parallel_for, parallel_reduce and
/// parallel_scan. A type that names a space keeps that space.
///
/// <semcache/kokkos.hpp> does not include this header, because programs that name their device do not need it.
#include <semcache/kokkos.hpp>

#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

namespace semcache {
namespace kokkos::detail {

template <class... Properties>
inline constexpr bool names_space = (Kokkos::is_space<Properties>::value || ...);

/// Puts the device behind the layout, if there is one, because Kokkos wants the layout first.
template <class DataType, class... Properties>
struct DeviceSecond {
  using type = Kokkos::View<DataType, DefaultDevice, Properties...>;
};
template <class DataType, class First, class... Rest>
struct DeviceSecond<DataType, First, Rest...> {
  using type =
      std::conditional_t<Kokkos::is_array_layout<First>::value, Kokkos::View<DataType, First, DefaultDevice, Rest...>,
                         Kokkos::View<DataType, DefaultDevice, First, Rest...>>;
};
template <bool NamesSpace, class DataType, class... Properties>
struct PortedView : DeviceSecond<DataType, Properties...> {};
template <class DataType, class... Properties>
struct PortedView<true, DataType, Properties...> {
  using type = Kokkos::View<DataType, Properties...>;
};

template <bool NamesSpace, template <class...> class Policy, class... Properties>
struct PortedPolicy {
  using type = Policy<DefaultDevice::execution_space, Properties...>;
};
template <template <class...> class Policy, class... Properties>
struct PortedPolicy<true, Policy, Properties...> {
  using type = Policy<Properties...>;
};

/// Turns a bare count into a range on the default device, and returns a policy unchanged.
template <class Policy>
decltype(auto) ported(const Policy& policy) {
  if constexpr (std::is_convertible<Policy, std::int64_t>::value)
    return Kokkos::RangePolicy<DefaultDevice::execution_space>(0, policy);
  else
    return (policy);
}
template <class Policy>
inline constexpr bool is_label = std::is_convertible<Policy, std::string>::value;

}  // namespace kokkos::detail

template <class DataType, class... Properties>
using View =
    typename kokkos::detail::PortedView<kokkos::detail::names_space<Properties...>, DataType, Properties...>::type;

template <class... Properties>
using RangePolicy = typename kokkos::detail::PortedPolicy<kokkos::detail::names_space<Properties...>,
                                                          Kokkos::RangePolicy, Properties...>::type;
template <class... Properties>
using MDRangePolicy = typename kokkos::detail::PortedPolicy<kokkos::detail::names_space<Properties...>,
                                                            Kokkos::MDRangePolicy, Properties...>::type;
template <class... Properties>
using TeamPolicy = typename kokkos::detail::PortedPolicy<kokkos::detail::names_space<Properties...>, Kokkos::TeamPolicy,
                                                         Properties...>::type;

/// Like Kokkos' functions of these names, they take an optional label, a count or a policy, the functor, and results.
/// Ordering, threads, exceptions: as for kernels on the execution space of the policy.
#define SEMCACHE_KOKKOS_PORTED(PATTERN)                                                                        \
  template <class Policy, class Functor, class... Results,                                                     \
            std::enable_if_t<!kokkos::detail::is_label<Policy>, int> = 0>                                      \
  void PATTERN(const Policy& policy, const Functor& functor, Results&&... results) {                           \
    Kokkos::PATTERN(kokkos::detail::ported(policy), functor, std::forward<Results>(results)...);               \
  }                                                                                                            \
  template <class Policy, class Functor, class... Results>                                                     \
  void PATTERN(const std::string& label, const Policy& policy, const Functor& functor, Results&&... results) { \
    Kokkos::PATTERN(label, kokkos::detail::ported(policy), functor, std::forward<Results>(results)...);        \
  }
SEMCACHE_KOKKOS_PORTED(parallel_for)
SEMCACHE_KOKKOS_PORTED(parallel_reduce)
SEMCACHE_KOKKOS_PORTED(parallel_scan)
#undef SEMCACHE_KOKKOS_PORTED

}  // namespace semcache
