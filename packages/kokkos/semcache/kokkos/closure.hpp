// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/kokkos/capture.hpp>
#include <semcache/kokkos/lifetime.hpp>

#include <optional>
#include <typeinfo>

/// What all patterns on semcache::Exec share.
namespace semcache::kokkos::detail {

/// The native pattern gets the native space where it matters: on a GPU everywhere (two closures would be instantiated,
/// and the occupancy asked for the wrong one), on hosts in team policies (they keep an instance of that very type).
template <class Property>
using rebind_team = std::conditional_t<std::is_same<Property, Exec>::value, NativeExec, Property>;
template <class Property>
using rebind_flat = std::conditional_t<std::is_same<Property, Exec>::value && native_is_device, NativeExec, Property>;

// --- functors that declare execution_space = Exec, or a device_type of Exec ------------------------------------------
/// Native reductions, and CUDA's teams, insist that functor and policy name the same space: where the policy is rebound, so is the
/// functor.
template <class Functor, class Value, class = void>
struct NativeFunctor : Functor {
  using execution_space = NativeExec;
  using device_type = typename NativeExec::device_type;
  using value_type = Value;
  NativeFunctor(const Functor& functor) : Functor(functor) {}  // NOLINT: stands for the functor
};
template <class Functor, class Value>
struct NativeFunctor<Functor, Value, std::void_t<typename Functor::value_type>> : Functor {
  using execution_space = NativeExec;
  using device_type = typename NativeExec::device_type;
  NativeFunctor(const Functor& functor) : Functor(functor) {}  // NOLINT: stands for the functor
};

template <class Functor, class = void>
struct NamesExecAsSpace : std::false_type {};
template <class Functor>
struct NamesExecAsSpace<Functor, std::void_t<typename Functor::execution_space>>
    : std::is_same<typename Functor::execution_space, Exec> {};
template <class Functor, class = void>
struct NamesExecAsDevice : std::false_type {};
template <class Functor>
struct NamesExecAsDevice<Functor, std::void_t<typename Functor::device_type::execution_space>>
    : std::is_same<typename Functor::device_type::execution_space, Exec> {};
template <class Functor>
struct NamesExec : std::disjunction<NamesExecAsSpace<Functor>, NamesExecAsDevice<Functor>> {};

template <class Policy>
struct IsRebound : std::integral_constant<bool, native_is_device> {};
template <class... Properties>
struct IsRebound<Kokkos::TeamPolicy<Properties...>> : std::true_type {};
template <class E, class... Properties>
struct IsRebound<Kokkos::Impl::TeamPolicyInternal<E, Properties...>> : std::true_type {};

/// `Analysis` is evaluated only for functors that are renamed.
template <class Functor, class Policy, class Analysis, bool = NamesExec<Functor>::value && IsRebound<Policy>::value>
struct RenamedFunctor {
  using type = Functor;
};
template <class Functor, class Policy, class Analysis>
struct RenamedFunctor<Functor, Policy, Analysis, true> {
  using type = NativeFunctor<Functor, typename Analysis::value_type>;
};

template <class Functor, class Policy>
struct ScanAnalysis {
  using value_type =
#if SEMCACHE_KOKKOS_COMBINED_REDUCER
      typename Kokkos::Impl::FunctorAnalysis<Kokkos::Impl::FunctorPatternInterface::SCAN, Policy, Functor,
                                             void>::value_type;
#else
      typename Kokkos::Impl::FunctorAnalysis<Kokkos::Impl::FunctorPatternInterface::SCAN, Policy, Functor>::value_type;
#endif
};
template <class Functor, class Policy>
struct ReduceAnalysis {
  using value_type =
#if SEMCACHE_KOKKOS_COMBINED_REDUCER
      typename Kokkos::Impl::FunctorAnalysis<Kokkos::Impl::FunctorPatternInterface::REDUCE, Policy, Functor,
                                             void>::value_type;
#else
      typename Kokkos::Impl::FunctorAnalysis<Kokkos::Impl::FunctorPatternInterface::REDUCE, Policy, Functor>::value_type;
#endif
};
template <class Functor, class Policy>
using rebound_scan = typename RenamedFunctor<Functor, Policy, ScanAnalysis<Functor, Policy>>::type;
template <class Functor, class Policy>
using rebound_reduction = typename RenamedFunctor<Functor, Policy, ReduceAnalysis<Functor, Policy>>::type;

/// Loops have no value, so only CUDA's teams ask.
struct NoValue {
  using value_type = void;
};
template <class Functor>
using rebound_loop = Functor;
template <class Functor>
using rebound_team_loop = typename RenamedFunctor<Functor, void, NoValue, NamesExec<Functor>::value && native_is_device>::type;

template <class Renamed, class Functor>
decltype(auto) rebind_functor(const Functor& functor) {
  if constexpr (std::is_same<Renamed, Functor>::value)
    return (functor);
  else
    return Renamed(functor);
}

#if SEMCACHE_KOKKOS_COMBINED_REDUCER
/// The same for a functor that travels with its reducer.
template <class Combined, class Policy>
struct Rebound {
  using functor_type = typename Combined::functor_type;
  using reducer_type = typename Combined::reducer_type;
  struct Analysis {
    using value_type = typename reducer_type::value_type;
  };
  using renamed = typename RenamedFunctor<functor_type, Policy, Analysis>::type;
  using type = std::conditional_t<std::is_same<renamed, functor_type>::value, Combined,
                                  Kokkos::Impl::CombinedFunctorReducer<renamed, reducer_type>>;
  /// The functor itself where it has no other reducer.
  static const auto& reducer_of(const Combined& combined) { return combined.get_reducer().get_functor(); }
  static decltype(auto) make(const Combined& combined) {
    if constexpr (std::is_same<type, Combined>::value)
      return (combined);
    else
      return type(renamed(combined.get_functor()), combined.get_reducer());
  }
};
#endif

// --- results -------------------------------------------------------------------------------------------------------
template <class T, bool = Kokkos::is_view<T>::value>
struct MemoryOf {
  using type = void;
};
template <class T>
struct MemoryOf<T, true> {
  using type = typename T::memory_space;
};

/// A host backend wants a result that its host memory can reach: a view of ours is shown to it as what it is there.
template <class Result>
decltype(auto) native_result(const Result& result) {
  if constexpr (!native_is_device && std::is_same<typename MemoryOf<Result>::type, Space>::value)
    return Kokkos::View<typename Result::data_type, typename Result::array_layout, Kokkos::HostSpace,
                        Kokkos::MemoryUnmanaged>(result.data(), result.layout());
  else
    return (result);
}
template <class Total>
decltype(auto) native_total(Total& total) {
  if constexpr (Kokkos::is_view<std::remove_const_t<Total>>::value)
    return native_result(total);
  else
    return (total);
}

/// Runs the native pattern's execute(), which some versions and backends declare non-const.
template <class Native, class Derived>
void execute_native(const Derived& closure) {
  const_cast<Native&>(static_cast<const Native&>(closure)).execute();
}

// --- functors of Kokkos that we know -------------------------------------------------------------------------------
/// deep_copy(view, scalar) and element-wise copies drop the memory space of their views (AnonymousSpace): their
/// members are read instead.
template <class Functor>
struct KnownFunctor {
  static constexpr bool value = false;
};
template <class View, class Layout, class E, int Rank, class Index>
struct KnownFunctor<Kokkos::Impl::ViewFill<View, Layout, E, Rank, Index>> {
  static constexpr bool value = Kokkos::is_view<View>::value;
  using functor = Kokkos::Impl::ViewFill<View, Layout, E, Rank, Index>;
  using element = typename View::non_const_value_type;
  static constexpr bool is_pattern = std::is_trivially_copyable<element>::value && is_pattern_width<element>;

  static void captures(CaptureList& list, const functor& f) {
    list.add(f.a.data(), true, HoldsHandles<element>::value);
  }
};
template <class Destination, class Source, class Layout, class E, int Rank, class Index>
struct KnownFunctor<Kokkos::Impl::ViewCopy<Destination, Source, Layout, E, Rank, Index>> {
  /// DynamicViews are copied so, too: they have no data of their own.
  static constexpr bool value = Kokkos::is_view<Destination>::value && Kokkos::is_view<Source>::value;
  using functor = Kokkos::Impl::ViewCopy<Destination, Source, Layout, E, Rank, Index>;
  using element = typename Destination::non_const_value_type;
  static constexpr bool is_pattern = false;

  static void captures(CaptureList& list, const functor& f) {
    list.add(f.a.data(), true, HoldsHandles<element>::value);
    list.add(f.b.data(), false, HoldsHandles<element>::value);
  }
};

// --- the closure -----------------------------------------------------------------------------------------------------
/// The native instance of a policy on Exec.
template <class Policy>
const NativeExec& native_space(const Policy& policy) {
  return policy.space();
}
template <class... Properties>
const NativeExec& native_space(const Kokkos::TeamPolicy<Properties...>& policy) {
  return policy.native_space();
}

/// The last reduction of this thread has waited for its kernel.
inline __thread bool reduction_has_waited = false;

/// First base of every pattern on Exec: it is open while the second base, the native pattern, copies the functor.
class Closure : public CaptureList {
 protected:
  template <class Policy, class Functor>
  Closure(const Policy& policy, const Functor& functor) : stream_(stream_of(native_space(policy))) {
    if constexpr (!KnownFunctor<Functor>::value) take_picture_of(functor);
  }
  /// @param reducer  what the reduction's closure is given: a reducer, or the result of a functor that reduces by itself
  template <class Policy, class Functor, class Reducer>
  Closure(const Policy& policy, const Functor& functor, const Reducer& reducer)
      : stream_(stream_of(native_space(policy))) {
    if constexpr (Kokkos::is_reducer<Reducer>::value && !std::is_same<Functor, Reducer>::value)
      take_picture_of(functor, reducer);
    else
      take_picture_of(functor);
  }

  /// The functor has been copied.
  template <class Functor>
  void finish(const Functor& functor) {
    close();
    if constexpr (KnownFunctor<Functor>::value) {
      KnownFunctor<Functor>::captures(*this, functor);
      if constexpr (KnownFunctor<Functor>::is_pattern) {
        // A fill of a contiguous range needs no kernel: its value is known, and whoever reads it makes it (and a kernel
        // would first have to fetch what it overwrites).
        if (functor.a.span_is_contiguous() && is_tracked(functor.a.data())) {
          fill_address_ = const_cast<void*>(static_cast<const void*>(functor.a.data()));
          fill_bytes_ = functor.a.span() * sizeof(functor.val);
          pattern_bytes_ = sizeof(functor.val);
          std::memcpy(pattern_, std::addressof(functor.val), sizeof(functor.val));
        }
      }
    }
  }

  /// The same for patterns with a result.
  template <class Policy, class Result>
  void finish_reduction(const Policy& policy, const Result& result) {
    close();
    if constexpr (Kokkos::is_view<Result>::value) {
      remember_result(result);
    } else if constexpr (Kokkos::is_reducer<Result>::value) {
      remember_result(result.view());
    } else {
      result_bytes_ = sizeof(Result);
      result_on_host_ = !Kokkos::SpaceAccessibility<NativeExec, Kokkos::HostSpace>::accessible;
    }
    has_work_ = has_work(policy);
    if (mirror_result_) waits_for_result_.emplace(native_space(policy));
  }

  [[nodiscard]] bool filled_without_kernel() const {
    if (!fill_address_) return false;
    runtime::fill(fill_address_, fill_bytes_, pattern_, pattern_bytes_, queue());
    return true;
  }

  /// @param body  gets the launch
  template <class Body>
  void run(const std::type_info& functor, const Body& body) const {
    // Kokkos writes results itself, from the driver's side too: the pages of a mirror are opened before.
    if (mirror_result_) semcache::access(mirror_result_, result_bytes_, Access::overwrite);
    runtime::Launch launching = launch(queue(), functor.name());
    remember(launching);
    enter_kernel();
    body(launching);
    leave_kernel();
  }

  /// Afterwards a result in a mirror has arrived. (Kokkos' kernels write it to pinned memory: no copy to count.)
  template <class Native, class Derived>
  void run_reduction(const std::type_info& functor, const Derived& closure) const {
    if constexpr (native_is_device) {
      run(functor, [&](runtime::Launch& launching) {
        launching.before_wait();
        execute_native<Native>(closure);
        reduction_has_waited = result_on_host_ && has_waited(static_cast<const Native&>(closure), 0);
        if (reduction_has_waited) launching.after_wait();
      });
      if (waits_for_result_) waits_for_result_->fence();
    } else {
      run(functor, [&](runtime::Launch&) { execute_native<Native>(closure); });
    }
  }
  /// Afterwards what Kokkos itself copied over the link is counted: a total on the host, if there was one.
  void deliver_total([[maybe_unused]] std::size_t bytes) const {
    if constexpr (native_is_device) {
      if (result_on_host_ && has_work_ && bytes != 0) runtime::count_external_transfer(true, bytes);
      if (waits_for_result_) waits_for_result_->fence();
    }
  }

 private:
  [[nodiscard]] QueueId queue() const {
    start_once();
    return runtime::queue_of(stream_);
  }

  template <class View>
  void remember_result(const View& view) {
    using memory = typename View::memory_space;
    result_bytes_ = view.span() * sizeof(typename View::value_type);
    if constexpr (std::is_same<memory, Space>::value) {
      add(view.data(), true, false);
    } else if constexpr (std::is_same<memory, HostMirrorSpace>::value) {
      mirror_result_ = view.data();
      result_on_host_ = view.data() != nullptr;
    } else {
      result_on_host_ = !Kokkos::SpaceAccessibility<NativeExec, memory>::accessible && view.data() != nullptr;
      // A HostSpace view may have been assigned from a mirror.
      if (view.data() && is_tracked(view.data())) mirror_result_ = view.data();
    }
  }

  /// Kokkos' reductions on CUDA wait for their kernel to copy a result on the host out of pinned memory; where there is
  /// nothing to launch they do not. Where the members are private (team reductions), the policy tells.
  template <class Native>
  auto has_waited(const Native& native, int) const
      -> decltype(native.m_unified_space != nullptr && !native.m_result_ptr_device_accessible) {
    return native.m_unified_space != nullptr && !native.m_result_ptr_device_accessible;
  }
  template <class Native>
  bool has_waited(const Native&, long) const {
    return has_work_;
  }
  /// @return false also where the policy does not tell
  template <class Policy>
  static bool has_work(const Policy&) {
    return false;
  }
  template <class... Properties>
  static bool has_work(const Kokkos::RangePolicy<Properties...>& policy) {
    return policy.begin() < policy.end();
  }
  template <class... Properties>
  static bool has_work(const Kokkos::TeamPolicy<Properties...>& policy) {
    return policy.league_size() > 0 && policy.team_size() != 0;
  }

  void* stream_;                                ///< the native pattern keeps the instance
  std::optional<NativeExec> waits_for_result_;  ///< where Kokkos itself writes to a mirror
  const void* mirror_result_ = nullptr;
  std::size_t result_bytes_ = 0;
  bool result_on_host_ = false;
  bool has_work_ = false;
  std::uint32_t pattern_bytes_ = 0;
  void* fill_address_ = nullptr;
  std::size_t fill_bytes_ = 0;
  alignas(16) unsigned char pattern_[16];
};

}  // namespace semcache::kokkos::detail
