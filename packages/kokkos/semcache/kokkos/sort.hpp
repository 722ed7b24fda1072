// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/kokkos/closure.hpp>

/// Kokkos::sort and sort_by_key on semcache::Exec call those of the native space (std::sort on hosts, Thrust on CUDA), as one
/// launch. Kokkos chooses its algorithm by the type of the space. For Exec it would choose one for unknown spaces, and some of
/// these sort a copy on the host.
///
/// This header does not need Kokkos_Sort.hpp. A program that sorts includes it, before this header or after it.
#if SEMCACHE_KOKKOS_SORT_DISPATCH
namespace Kokkos {
template <class ExecutionSpace, class DataType, class... Properties>
void sort(const ExecutionSpace& exec, const View<DataType, Properties...>& view);
template <class ExecutionSpace, class Comparator, class DataType, class... Properties>
void sort(const ExecutionSpace& exec, const View<DataType, Properties...>& view, const Comparator& comparator);
#if SEMCACHE_KOKKOS_SORT_BY_KEY
namespace Experimental {
template <class ExecutionSpace, class Keys, class... KeysProperties, class Values, class... ValuesProperties>
void sort_by_key(const ExecutionSpace& exec, const View<Keys, KeysProperties...>& keys,
                 const View<Values, ValuesProperties...>& values);
template <class ExecutionSpace, class Comparator, class Keys, class... KeysProperties, class Values,
          class... ValuesProperties>
void sort_by_key(const ExecutionSpace& exec, const View<Keys, KeysProperties...>& keys,
                 const View<Values, ValuesProperties...>& values, const Comparator& comparator);
}  // namespace Experimental
#endif
}  // namespace Kokkos

namespace semcache::kokkos::detail {

template <class... Views>
using enable_for_our_views = std::enable_if_t<(std::is_same<typename Views::memory_space, Space>::value && ...)>;

/// Returns a view of the same memory in the native space. SemCache does not notice its uses.
template <class View>
auto native_view(const View& view) {
  return Kokkos::View<typename View::data_type, typename View::array_layout,
                      Kokkos::Device<NativeExec, NativeExec::memory_space>, Kokkos::MemoryUnmanaged>(view.data(),
                                                                                                     view.layout());
}

struct NaturalOrder {};

/// A sort on the native space that runs as a launch with a list of captures, like the parallel patterns. What the comparator
/// captures is on the list, too.
template <class Comparator>
class SortClosure : private Closure {
 public:
  SortClosure(const Exec& exec, const Comparator& comparator)
      : Closure(Kokkos::RangePolicy<Exec>(exec, 0, 1), comparator), exec_(exec), comparator_(comparator) {
    finish(comparator);
  }
  template <class View>
  void sorts(const View& view) {
    using Element = typename View::non_const_value_type;
    add(view.data(), &AddressOf<Element>::type, true, HoldsHandles<Element>::value);
  }
  /// @param body  gets the native instance and, if there is one, the comparator
  template <class Body>
  void execute(const Body& body) const {
    run(typeid(Comparator), [&](runtime::Launch&) {
      if constexpr (std::is_same<Comparator, NaturalOrder>::value)
        body(exec_.native());
      else
        body(exec_.native(), comparator_);
    });
  }

 private:
  Exec exec_;
  Comparator comparator_;
};

/// Copies the comparator as Kokkos' patterns copy functors: its views are noticed, and the copy does not count as a reference.
template <class Comparator>
SortClosure<Comparator> make_sort_closure(const Exec& exec, const Comparator& comparator) {
  using Records = Kokkos::Impl::SharedAllocationRecord<void, void>;
  struct Untracked {
    Untracked() { Records::tracking_disable(); }
    ~Untracked() { Records::tracking_enable(); }
  } const untracked;
  return SortClosure<Comparator>(exec, comparator);
}

template <class Comparator, class Body, class... Views>
void sort_natively(const Exec& exec, const Comparator& comparator, const Body& body, const Views&... views) {
  SortClosure<Comparator> closure = make_sort_closure(exec, comparator);
  (closure.sorts(views), ...);
  closure.execute([&](const auto&... arguments) { body(native_view(views)..., arguments...); });
}

}  // namespace semcache::kokkos::detail

namespace Kokkos {

template <class DataType, class... Properties>
semcache::kokkos::detail::enable_for_our_views<View<DataType, Properties...>> sort(
    const semcache::Exec& exec, const View<DataType, Properties...>& view) {
  semcache::kokkos::detail::sort_natively(
      exec, semcache::kokkos::detail::NaturalOrder(),
      [](const auto& native, const auto& space) { Kokkos::sort(space, native); }, view);
}

template <class Comparator, class DataType, class... Properties>
semcache::kokkos::detail::enable_for_our_views<View<DataType, Properties...>> sort(
    const semcache::Exec& exec, const View<DataType, Properties...>& view, const Comparator& comparator) {
  semcache::kokkos::detail::sort_natively(
      exec, comparator,
      [](const auto& native, const auto& space, const auto& less) { Kokkos::sort(space, native, less); }, view);
}

#if SEMCACHE_KOKKOS_SORT_BY_KEY
namespace Experimental {

template <class Keys, class... KeysProperties, class Values, class... ValuesProperties>
semcache::kokkos::detail::enable_for_our_views<View<Keys, KeysProperties...>, View<Values, ValuesProperties...>>
sort_by_key(const semcache::Exec& exec, const View<Keys, KeysProperties...>& keys,
            const View<Values, ValuesProperties...>& values) {
  semcache::kokkos::detail::sort_natively(
      exec, semcache::kokkos::detail::NaturalOrder(),
      [](const auto& native_keys, const auto& native_values, const auto& space) {
        Kokkos::Experimental::sort_by_key(space, native_keys, native_values);
      },
      keys, values);
}

template <class Comparator, class Keys, class... KeysProperties, class Values, class... ValuesProperties>
semcache::kokkos::detail::enable_for_our_views<View<Keys, KeysProperties...>, View<Values, ValuesProperties...>>
sort_by_key(const semcache::Exec& exec, const View<Keys, KeysProperties...>& keys,
            const View<Values, ValuesProperties...>& values, const Comparator& comparator) {
  semcache::kokkos::detail::sort_natively(
      exec, comparator,
      [](const auto& native_keys, const auto& native_values, const auto& space, const auto& less) {
        Kokkos::Experimental::sort_by_key(space, native_keys, native_values, less);
      },
      keys, values);
}

}  // namespace Experimental
#endif

}  // namespace Kokkos
#endif
