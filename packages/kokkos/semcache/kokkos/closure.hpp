// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/kokkos/capture.hpp>
#include <semcache/kokkos/lifetime.hpp>

#include <optional>
#include <typeinfo>

/// The parts that all parallel patterns on semcache::Exec share.
namespace semcache::kokkos::detail {

/// Replaces Exec by the native space in the properties of a policy. On a GPU this is done in all policies, because otherwise two
/// closures would be instantiated, and the occupancy would be computed for the wrong one. On hosts it is done in team policies
/// only, because these keep an instance of the very type that the policy names.
template <class Property>
using rebind_team = std::conditional_t<std::is_same<Property, Exec>::value, NativeExec, Property>;
template <class Property>
using rebind_flat = std::conditional_t<std::is_same<Property, Exec>::value && native_is_device, NativeExec, Property>;

// --- functors that declare execution_space = Exec, or a device_type of Exec ------------------------------------------
/// A functor that names the native space instead of Exec, and is otherwise the same. Native reductions, and CUDA's teams, insist
/// that functor and policy name the same space, so the functor is rebound where the policy is.
template <class Functor, class Value, class = void>
struct NativeFunctor : Functor {
  using execution_space = NativeExec;
  using device_type = typename NativeExec::device_type;
  using value_type = Value;
  NativeFunctor(const Functor& functor) : Functor(functor) {}  // NOLINT: replaces the functor
};
template <class Functor, class Value>
struct NativeFunctor<Functor, Value, std::void_t<typename Functor::value_type>> : Functor {
  using execution_space = NativeExec;
  using device_type = typename NativeExec::device_type;
  NativeFunctor(const Functor& functor) : Functor(functor) {}  // NOLINT: replaces the functor
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

/// Loops have no value, so only those of CUDA's teams check the functor's space.
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
/// The same for a functor that comes with its reducer.
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
  /// Returns the reducer, or the functor where it reduces by itself.
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

/// Returns the result as the native pattern takes it. A host backend wants a result in memory that the host can access, so it
/// gets a view in semcache::Space as an unmanaged view in HostSpace.
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

// --- functors of Kokkos whose members are known --------------------------------------------------------------------
/// The functors of deep_copy(view, scalar) and of element-wise copies. Kokkos drops the memory space of their views
/// (AnonymousSpace), so no handle records them, and their captures are read from their members instead.
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
    list.add(f.a.data(), &AddressOf<element>::type, true, HoldsHandles<element>::value);
  }
};
template <class Destination, class Source, class Layout, class E, int Rank, class Index>
struct KnownFunctor<Kokkos::Impl::ViewCopy<Destination, Source, Layout, E, Rank, Index>> {
  /// False for DynamicViews, which are copied by this functor, too, but have no data of their own.
  static constexpr bool value = Kokkos::is_view<Destination>::value && Kokkos::is_view<Source>::value;
  using functor = Kokkos::Impl::ViewCopy<Destination, Source, Layout, E, Rank, Index>;
  using element = typename Destination::non_const_value_type;
  static constexpr bool is_pattern = false;

  static void captures(CaptureList& list, const functor& f) {
    list.add(f.a.data(), &AddressOf<element>::type, true, HoldsHandles<element>::value);
    list.add(f.b.data(), &AddressOf<typename Source::non_const_value_type>::type, false, HoldsHandles<element>::value);
  }
};

// --- the closure -----------------------------------------------------------------------------------------------------
/// Returns the native instance of a policy on Exec.
template <class Policy>
const NativeExec& native_space(const Policy& policy) {
  return policy.space();
}
template <class... Properties>
const NativeExec& native_space(const Kokkos::TeamPolicy<Properties...>& policy) {
  return policy.native_space();
}
/// Returns the stream of a policy on Exec (see stream_of).
template <class Policy>
void* stream_of_policy(const Policy& policy) {
  return stream_of(policy.space());
}
template <class... Properties>
void* stream_of_policy(const Kokkos::TeamPolicy<Properties...>& policy) {
  return stream_of(policy.native_space(), policy.lease());
}

/// True if the last reduction of this thread has waited for its kernel.
inline __thread bool reduction_has_waited = false;

/// The first base class of every pattern on Exec. Its list of captures is open while the second base class, the native pattern,
/// copies the functor.
class Closure : public CaptureList {
 protected:
  template <class Policy, class Functor>
  Closure(const Policy& policy, const Functor& functor) : stream_(stream_of_policy(policy)) {
    if constexpr (!KnownFunctor<Functor>::value) take_picture_of(functor);
  }
  /// @param reducer  a reducer, or the result of a functor that reduces by itself, as the reduction's closure gets it
  template <class Policy, class Functor, class Reducer>
  Closure(const Policy& policy, const Functor& functor, const Reducer& reducer)
      : stream_(stream_of_policy(policy)) {
    if constexpr (Kokkos::is_reducer<Reducer>::value && !std::is_same<Functor, Reducer>::value)
      take_picture_of(functor, reducer);
    else
      take_picture_of(functor);
  }

  /// Closes the list of captures. It is called when the native pattern has copied the functor.
  template <class Functor>
  void finish(const Functor& functor) {
    close();
    if constexpr (KnownFunctor<Functor>::value) {
      KnownFunctor<Functor>::captures(*this, functor);
      if constexpr (KnownFunctor<Functor>::is_pattern) {
        // A fill of a contiguous range needs no kernel. Its value is known, so each side makes it where it is read; and a kernel
        // would first have to fetch what it overwrites.
        if (functor.a.span_is_contiguous() && is_tracked(functor.a.data())) {
          fill_address_ = const_cast<void*>(static_cast<const void*>(functor.a.data()));
          fill_bytes_ = functor.a.span() * sizeof(functor.val);
          pattern_bytes_ = sizeof(functor.val);
          std::memcpy(pattern_, std::addressof(functor.val), sizeof(functor.val));
        }
      }
    }
  }

  /// The same for patterns with a result, which becomes a capture or is remembered.
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

  /// Makes the fill, if the closure is one that needs no kernel; returns false otherwise.
  [[nodiscard]] bool filled_without_kernel() const {
    if (!fill_address_) return false;
    runtime::fill(fill_address_, fill_bytes_, pattern_, pattern_bytes_, queue());
    return true;
  }

  /// Runs `body`, which submits the native kernel, as a launch.
  /// @param body  gets the launch
  /// @throws OutOfMemory, UsageError  as runtime::Launch; what the observer of launches throws
  template <class Body>
  void run(const std::type_info& functor, const Body& body) const {
    const QueueId where = queue();
    tell_observer(where, functor.name());
    // Kokkos writes results itself, also by the driver, so the pages of a mirror must be open before.
    if (mirror_result_) semcache::access(mirror_result_, result_bytes_, Access::overwrite);
    runtime::Launch launching = launch(where, functor.name());
    remember(launching);
    enter_kernel();
    body(launching);
    leave_kernel();
  }

  /// Runs a reduction. Afterwards a result in a mirror has arrived. (Kokkos' kernels write it to pinned memory, so there is no
  /// copy to count.)
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
  /// Waits for a total in a mirror, and counts the copy of a total to the host that Kokkos itself made over the link.
  void deliver_total([[maybe_unused]] std::size_t bytes) const {
    if constexpr (native_is_device) {
      if (result_on_host_ && has_work_ && bytes != 0) {
        runtime::count_external_transfer(bytes, runtime::device_of_stream(stream_));
      }
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
      add(view.data(), &AddressOf<typename View::non_const_value_type>::type, true, false);
    } else if constexpr (std::is_same<memory, HostMirrorSpace>::value) {
      mirror_result_ = view.data();
      result_on_host_ = view.data() != nullptr;
    } else {
      result_on_host_ = !Kokkos::SpaceAccessibility<NativeExec, memory>::accessible && view.data() != nullptr;
      // A view in HostSpace may have been assigned from a mirror.
      if (view.data() && is_tracked(view.data())) mirror_result_ = view.data();
    }
  }

  /// Returns whether a reduction on CUDA with a result on the host has waited for its kernel. Kokkos waits to copy the result out
  /// of pinned memory, unless there was nothing to launch. The members of the pattern tell which; where they are private (team
  /// reductions), the policy does.
  template <class Native>
  auto has_waited(const Native& native, int) const
      -> decltype(native.m_unified_space != nullptr && !native.m_result_ptr_device_accessible) {
    return native.m_unified_space != nullptr && !native.m_result_ptr_device_accessible;
  }
  template <class Native>
  bool has_waited(const Native&, long) const {
    return has_work_;
  }
  /// Returns whether the policy has something to launch; false also for policies of which this is not known here.
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

  void* stream_;                                ///< see stream_of; valid because the native pattern keeps the instance
  std::optional<NativeExec> waits_for_result_;  ///< the instance to fence where Kokkos itself writes to a mirror
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
