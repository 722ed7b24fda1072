// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/kokkos/closure.hpp>
#include <semcache/kokkos/deduction_guides.hpp>
#include <semcache/kokkos/team_policy.hpp>

/// parallel_for, parallel_reduce and parallel_scan on semcache::Exec. Each is a closure with two base classes: the list of
/// captures and the native pattern. It executes the native pattern inside a launch.
namespace Kokkos {
namespace Impl {

#define SEMCACHE_KOKKOS_PARALLEL_FOR(POLICY, REBIND, REBOUND)                                                        \
  template <class Functor, class... Properties>                                                                      \
  class ParallelFor<Functor, Kokkos::POLICY<Properties...>, semcache::Exec>                                          \
      : private semcache::kokkos::detail::Closure,                                                                   \
        public ParallelFor<semcache::kokkos::detail::REBOUND<Functor>,                                               \
                           Kokkos::POLICY<semcache::kokkos::detail::REBIND<Properties>...>,                          \
                           semcache::kokkos::NativeExec> {                                                           \
    using rebound = semcache::kokkos::detail::REBOUND<Functor>;                                                      \
    using native = ParallelFor<rebound, Kokkos::POLICY<semcache::kokkos::detail::REBIND<Properties>...>,             \
                               semcache::kokkos::NativeExec>;                                                        \
    using closure = semcache::kokkos::detail::Closure;                                                               \
                                                                                                                     \
   public:                                                                                                           \
    using functor_type = Functor;                                                                                    \
    ParallelFor(const Functor& functor, const Kokkos::POLICY<Properties...>& policy)                                 \
        : closure(policy, functor), native(semcache::kokkos::detail::rebind_functor<rebound>(functor), policy) {     \
      closure::finish(functor);                                                                                      \
    }                                                                                                                \
    void execute() const {                                                                                           \
      if (this->filled_without_kernel()) return;                                                                     \
      closure::run(typeid(Functor), [this](semcache::runtime::Launch&) { native::execute(); });                      \
    }                                                                                                                \
  };
SEMCACHE_KOKKOS_PARALLEL_FOR(RangePolicy, rebind_flat, rebound_loop)
SEMCACHE_KOKKOS_PARALLEL_FOR(MDRangePolicy, rebind_flat, rebound_loop)
SEMCACHE_KOKKOS_PARALLEL_FOR(TeamPolicy, rebind_team, rebound_team_loop)
#undef SEMCACHE_KOKKOS_PARALLEL_FOR

#if SEMCACHE_KOKKOS_COMBINED_REDUCER
#define SEMCACHE_KOKKOS_PARALLEL_REDUCE(POLICY, REBIND)                                                              \
  template <class Combined, class... Properties>                                                                     \
  class ParallelReduce<Combined, Kokkos::POLICY<Properties...>, semcache::Exec>                                      \
      : private semcache::kokkos::detail::Closure,                                                                   \
        public ParallelReduce<typename semcache::kokkos::detail::Rebound<Combined, Kokkos::POLICY<Properties...>>::type,  \
                              Kokkos::POLICY<semcache::kokkos::detail::REBIND<Properties>...>,                       \
                              semcache::kokkos::NativeExec> {                                                        \
    using rebound = semcache::kokkos::detail::Rebound<Combined, Kokkos::POLICY<Properties...>>;                      \
    using native = ParallelReduce<typename rebound::type,                                                            \
                                  Kokkos::POLICY<semcache::kokkos::detail::REBIND<Properties>...>,                   \
                                  semcache::kokkos::NativeExec>;                                                     \
    using closure = semcache::kokkos::detail::Closure;                                                               \
                                                                                                                     \
   public:                                                                                                           \
    template <class Result>                                                                                          \
    ParallelReduce(const Combined& combined, const Kokkos::POLICY<Properties...>& policy, const Result& result)      \
        : closure(policy, combined.get_functor(), rebound::reducer_of(combined)),                                    \
          native(rebound::make(combined), policy, semcache::kokkos::detail::native_result(result)) {                 \
      closure::finish_reduction(policy, result);                                                                                \
    }                                                                                                                \
    void execute() const {                                                                                           \
      closure::template run_reduction<native>(typeid(typename Combined::functor_type), *this);                       \
    }                                                                                                                \
  };
#else
#define SEMCACHE_KOKKOS_PARALLEL_REDUCE(POLICY, REBIND)                                                              \
  template <class Functor, class Reducer, class... Properties>                                                       \
  class ParallelReduce<Functor, Kokkos::POLICY<Properties...>, Reducer, semcache::Exec>                              \
      : private semcache::kokkos::detail::Closure,                                                                   \
        public ParallelReduce<semcache::kokkos::detail::rebound_reduction<Functor, Kokkos::POLICY<Properties...>>,   \
                              Kokkos::POLICY<semcache::kokkos::detail::REBIND<Properties>...>, Reducer,              \
                              semcache::kokkos::NativeExec> {                                                        \
    using rebound = semcache::kokkos::detail::rebound_reduction<Functor, Kokkos::POLICY<Properties...>>;             \
    using native = ParallelReduce<rebound, Kokkos::POLICY<semcache::kokkos::detail::REBIND<Properties>...>, Reducer, \
                                  semcache::kokkos::NativeExec>;                                                     \
    using closure = semcache::kokkos::detail::Closure;                                                               \
                                                                                                                     \
   public:                                                                                                           \
    template <class Result>                                                                                          \
    ParallelReduce(const Functor& functor, const Kokkos::POLICY<Properties...>& policy, const Result& result)        \
        : closure(policy, functor, result),                                                                  \
          native(semcache::kokkos::detail::rebind_functor<rebound>(functor), policy,                                 \
                 semcache::kokkos::detail::native_result(result)) {                                                  \
      closure::finish_reduction(policy, result);                                                                                \
    }                                                                                                                \
    void execute() const {                                                                                           \
      closure::template run_reduction<native>(typeid(Functor), *this);                                               \
    }                                                                                                                \
  };
#endif
SEMCACHE_KOKKOS_PARALLEL_REDUCE(RangePolicy, rebind_flat)
SEMCACHE_KOKKOS_PARALLEL_REDUCE(MDRangePolicy, rebind_flat)
SEMCACHE_KOKKOS_PARALLEL_REDUCE(TeamPolicy, rebind_team)
#undef SEMCACHE_KOKKOS_PARALLEL_REDUCE

#ifdef KOKKOS_ENABLE_CUDA
/// Kokkos fences after each reduction to a value. The fence is left out where the reduction has already waited for its kernel.
template <class Return>
struct ParallelReduceFence<semcache::Exec, Return> {
  template <class... Arguments>
  static void fence(const semcache::Exec& exec, Arguments&&... arguments) {
    if (std::exchange(semcache::kokkos::detail::reduction_has_waited, false)) return;
    ParallelReduceFence<semcache::kokkos::NativeExec, Return>::fence(exec.native(),
                                                                     std::forward<Arguments>(arguments)...);
  }
};
#endif

template <class Functor, class... Properties>
class ParallelScan<Functor, Kokkos::RangePolicy<Properties...>, semcache::Exec>
    : private semcache::kokkos::detail::Closure,
      public ParallelScan<semcache::kokkos::detail::rebound_scan<Functor, Kokkos::RangePolicy<Properties...>>,
                          Kokkos::RangePolicy<semcache::kokkos::detail::rebind_flat<Properties>...>,
                          semcache::kokkos::NativeExec> {
  using rebound = semcache::kokkos::detail::rebound_scan<Functor, Kokkos::RangePolicy<Properties...>>;
  using native = ParallelScan<rebound, Kokkos::RangePolicy<semcache::kokkos::detail::rebind_flat<Properties>...>,
                              semcache::kokkos::NativeExec>;
  using closure = semcache::kokkos::detail::Closure;

 public:
  ParallelScan(const Functor& functor, const Kokkos::RangePolicy<Properties...>& policy)
      : closure(policy, functor),
        native(semcache::kokkos::detail::rebind_functor<rebound>(functor), policy) {
    closure::finish(functor);
  }
  void execute() const {
    closure::run(typeid(Functor), [this](semcache::runtime::Launch&) {
      semcache::kokkos::detail::execute_native<native>(*this);
    });
  }
};

template <class Functor, class Return, class... Properties>
class ParallelScanWithTotal<Functor, Kokkos::RangePolicy<Properties...>, Return, semcache::Exec>
    : private semcache::kokkos::detail::Closure,
      public ParallelScanWithTotal<semcache::kokkos::detail::rebound_scan<Functor, Kokkos::RangePolicy<Properties...>>,
                                   Kokkos::RangePolicy<semcache::kokkos::detail::rebind_flat<Properties>...>, Return,
                                   semcache::kokkos::NativeExec> {
  using rebound = semcache::kokkos::detail::rebound_scan<Functor, Kokkos::RangePolicy<Properties...>>;
  using native =
      ParallelScanWithTotal<rebound, Kokkos::RangePolicy<semcache::kokkos::detail::rebind_flat<Properties>...>, Return,
                            semcache::kokkos::NativeExec>;
  using closure = semcache::kokkos::detail::Closure;

 public:
  /// @param total  a view, or before Kokkos 4 a reference to the scalar
  template <class Total>
  ParallelScanWithTotal(const Functor& functor, const Kokkos::RangePolicy<Properties...>& policy, Total& total)
      : closure(policy, functor),
        native(semcache::kokkos::detail::rebind_functor<rebound>(functor), policy,
               semcache::kokkos::detail::native_total(total)) {
    closure::finish_reduction(policy, total);
  }
  void execute() const {
    closure::run(typeid(Functor), [this](semcache::runtime::Launch&) {
      semcache::kokkos::detail::execute_native<native>(*this);
    });
    this->deliver_total(sizeof(Return));
  }
};

}  // namespace Impl
}  // namespace Kokkos
