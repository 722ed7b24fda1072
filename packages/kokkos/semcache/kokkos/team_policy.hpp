// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/kokkos/closure.hpp>

namespace semcache::kokkos {

/// The member of a team on Exec: the native member, with Exec as its execution space. Generic code, also Kokkos' algorithms,
/// checks the member's space for access to views, and views in semcache::Space are accessible from Exec.
template <class NativeMember>
class TeamMember : public NativeMember {
 public:
  using execution_space = Exec;
  using team_handle = TeamMember;

  KOKKOS_FUNCTION TeamMember(const NativeMember& member) : NativeMember(member) {}  // NOLINT: kernels get native members
};

}  // namespace semcache::kokkos

/// TeamPolicy<Exec> is the native policy. Team sizes are those of the functors that will really run, which may be renamed.
namespace Kokkos {
namespace Impl {

#if SEMCACHE_KOKKOS_TEAM_MDRANGE
template <class Rank, TeamMDRangeThreadAndVector Both>
struct ThreadAndVectorNestLevel<Rank, semcache::Exec, Both>
    : ThreadAndVectorNestLevel<Rank, semcache::kokkos::NativeExec, Both> {};
#endif

template <class... Properties>
class TeamPolicyInternal<semcache::Exec, Properties...>
    : public TeamPolicyInternal<semcache::kokkos::NativeExec, semcache::kokkos::detail::rebind_team<Properties>...> {
  using native = TeamPolicyInternal<semcache::kokkos::NativeExec, semcache::kokkos::detail::rebind_team<Properties>...>;

  template <class Functor>
  using renamed_loop = semcache::kokkos::detail::rebound_team_loop<Functor>;
  template <class Functor>
  using renamed = semcache::kokkos::detail::rebound_reduction<Functor, TeamPolicyInternal>;
  template <class Functor, class Reducer>
  using renamed_with = typename semcache::kokkos::detail::RenamedFunctor<Functor, TeamPolicyInternal, Reducer>::type;

 public:
  using execution_policy = TeamPolicyInternal;
  using execution_space = semcache::Exec;
  using member_type = semcache::kokkos::TeamMember<typename native::member_type>;
  using traits = typename native::traits;  // must be a base class: TeamPolicy assigns through it

  using native::native;
  template <class... Arguments>
  TeamPolicyInternal(const semcache::Exec& exec, Arguments&&... arguments)
      : native(exec.native(), std::forward<Arguments>(arguments)...), lease_(exec.shared_lease()) {}
  template <class... Others>
  TeamPolicyInternal(const TeamPolicyInternal<semcache::Exec, Others...>& other)
      : native(static_cast<
               const TeamPolicyInternal<semcache::kokkos::NativeExec, semcache::kokkos::detail::rebind_team<Others>...>&>(
            other)),
        lease_(other.lease()) {}

  TeamPolicyInternal(const TeamPolicyInternal&) = default;
  /// Assigns the lease first: the old lease must end before the old native instance, which keeps the leased stream alive.
  TeamPolicyInternal& operator=(const TeamPolicyInternal& other) {
    lease_ = other.lease_;
    native::operator=(other);
    return *this;
  }

  /// Returns the instance by value, because the policy keeps only its parts. (Kokkos only binds or copies the result.)
  semcache::Exec space() const { return {native::space(), lease_}; }
  const semcache::kokkos::NativeExec& native_space() const { return native::space(); }
  const semcache::kokkos::detail::SharedLease& lease() const { return lease_; }

  TeamPolicyInternal& set_chunk_size(int chunk) {
    native::set_chunk_size(chunk);
    return *this;
  }
  template <class... Sizes>
  TeamPolicyInternal& set_scratch_size(const int& level, const Sizes&... sizes) {
    native::set_scratch_size(level, sizes...);
    return *this;
  }

  template <class Functor>
  int team_size_max(const Functor& functor, const ParallelForTag& tag) const {
    return native::team_size_max(semcache::kokkos::detail::rebind_functor<renamed_loop<Functor>>(functor), tag);
  }
  template <class Functor>
  int team_size_recommended(const Functor& functor, const ParallelForTag& tag) const {
    return native::team_size_recommended(semcache::kokkos::detail::rebind_functor<renamed_loop<Functor>>(functor), tag);
  }
  template <class Functor>
  int team_size_max(const Functor& functor, const ParallelReduceTag& tag) const {
    return native::team_size_max(semcache::kokkos::detail::rebind_functor<renamed<Functor>>(functor), tag);
  }
  template <class Functor>
  int team_size_recommended(const Functor& functor, const ParallelReduceTag& tag) const {
    return native::team_size_recommended(semcache::kokkos::detail::rebind_functor<renamed<Functor>>(functor), tag);
  }
  template <class Functor, class Reducer>
  int team_size_max(const Functor& functor, const Reducer& reducer, const ParallelReduceTag& tag) const {
    return native::team_size_max(semcache::kokkos::detail::rebind_functor<renamed_with<Functor, Reducer>>(functor),
                                 reducer, tag);
  }
  template <class Functor, class Reducer>
  int team_size_recommended(const Functor& functor, const Reducer& reducer, const ParallelReduceTag& tag) const {
    return native::team_size_recommended(
        semcache::kokkos::detail::rebind_functor<renamed_with<Functor, Reducer>>(functor), reducer, tag);
  }

 private:
  semcache::kokkos::detail::SharedLease lease_;
};

}  // namespace Impl
}  // namespace Kokkos
