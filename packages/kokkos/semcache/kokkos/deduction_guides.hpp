// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/kokkos/exec.hpp>

#include <cstdint>
#include <type_traits>

/// Deduction guides for policies on Exec without template arguments: RangePolicy(exec, 0, n), TeamPolicy(exec, n, Kokkos::AUTO).
/// (For MDRangePolicy Kokkos' own guides suffice; before Kokkos 4.3 it needs its rank in any case.)
///
/// Kokkos' guides alone do not suffice. An Exec is also an instance of the native space, so the constructors of policies on
/// Kokkos' default space are candidates, and their other parameters may match better than those of the guide for any space. The
/// guides here match at least as well everywhere.
namespace semcache::kokkos::detail {
template <class Begin, class End>
using enable_for_bounds = std::enable_if_t<std::is_convertible<Begin, std::int64_t>::value &&
                                           std::is_convertible<End, std::int64_t>::value>;
}  // namespace semcache::kokkos::detail

namespace Kokkos {

template <class Begin, class End, class = semcache::kokkos::detail::enable_for_bounds<Begin, End>>
RangePolicy(const semcache::Exec&, Begin, End) -> RangePolicy<semcache::Exec>;
template <class Begin, class End, class = semcache::kokkos::detail::enable_for_bounds<Begin, End>>
RangePolicy(const semcache::Exec&, Begin, End, const ChunkSize&) -> RangePolicy<semcache::Exec>;
// Where Kokkos' guide for any space matches as well, the compiler prefers these because they are no templates.
RangePolicy(const semcache::Exec&, std::int64_t, std::int64_t) -> RangePolicy<semcache::Exec>;
RangePolicy(const semcache::Exec&, std::int64_t, std::int64_t, const ChunkSize&) -> RangePolicy<semcache::Exec>;

#if !SEMCACHE_KOKKOS_TEAM_GUIDES
template <class... Sizes>
TeamPolicy(const semcache::Exec&, int, const Sizes&...) -> TeamPolicy<semcache::Exec>;
#endif

}  // namespace Kokkos
