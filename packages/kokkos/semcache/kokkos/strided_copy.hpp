// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/kokkos/deep_copy.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

/// deep_copy between host and device where a view is a part of its array (a subview, a padded view), or where the layouts or the
/// element types differ. Stock Kokkos refuses such copies, because they would need a temporary allocation. The overloads here
/// carry them out; all other copies go to Kokkos. So do copies and fills of views on another device than Kokkos' own, whose kernels the
/// overloads have run there.
namespace semcache::kokkos::detail {

/// Which elements of memory the elements of two views are: for each dimension its extent, and the distance of neighbours in bytes.
struct StridedElements {
  static constexpr unsigned most_dimensions = 8;
  struct Dimension {
    std::uint64_t extent;
    std::uint64_t to_stride;
    std::uint64_t from_stride;
  };
  std::uint64_t element_bytes;
  unsigned dimensions;
  Dimension dimension[most_dimensions];
};

/// Are the elements one group of equal columns, or at most 64 groups whose columns are wider than an element? Elements that are
/// neighbours in both views are the width of the columns, and the dimension of the next larger distance tells how many there are.
[[nodiscard]] SEMCACHE_API bool are_few_groups(const StridedElements& elements);
/// Copies each group of columns by runtime::copy_2d. @pre are_few_groups(elements)  @throws UsageError  as runtime::copy_2d
SEMCACHE_API void copy_columns(void* to, const void* from, const StridedElements& elements, QueueId queue);
/// Announces a use of the elements of one view (both strides are its own) by a call of access_2d for each group of columns, at most 64.
/// Several groups are not overwritten unread.
/// @return false  more calls would be needed; nothing has been announced
SEMCACHE_API bool access_columns(const void* address, const StridedElements& elements, Access mode);

template <class View, class = void>
struct IsOrdinaryView : std::true_type {};
template <class View>
struct IsOrdinaryView<View, std::void_t<typename View::traits::specialize>> : std::is_void<typename View::traits::specialize> {};

template <class View, class = void>
inline constexpr bool has_strided_layout = false;
template <class View>
inline constexpr bool has_strided_layout<View, std::void_t<typename View::array_layout>> = is_strided_layout<typename View::array_layout>;
/// True for memory that neither SemCache nor the host's order of work follows.
template <class Space>
inline constexpr bool is_other_device_space = !is_tracked_space<Space> && !std::is_same<Space, Kokkos::HostSpace>::value;

template <class First, class Second>
inline constexpr bool runs_on = Kokkos::SpaceAccessibility<typename First::execution_space, typename Second::memory_space>::accessible;

template <class View>
inline constexpr bool is_in_space = std::is_same<typename View::memory_space, Space>::value;
/// True for copies within a device, and between devices.
template <class Destination, class Source>
inline constexpr bool are_in_space = is_in_space<Destination> && is_in_space<Source>;

/// True where one of the views is tracked, and neither view's execution space can access the other view, or both are device views.
template <class Destination, class Source>
inline constexpr bool needs_strided_copy =
    (is_tracked_space<typename Destination::memory_space> || is_tracked_space<typename Source::memory_space>)&&
    IsOrdinaryView<Destination>::value && IsOrdinaryView<Source>::value && unsigned(Destination::rank) != 0 &&
    unsigned(Destination::rank) == unsigned(Source::rank) && is_strided_layout<typename Destination::array_layout> &&
    is_strided_layout<typename Source::array_layout> &&
    (are_in_space<Destination, Source> || (!runs_on<Destination, Source> && !runs_on<Source, Destination>));

/// Kokkos' own function. It is named in front of our overloads, so the qualified name finds Kokkos' functions only.
template <class... Arguments>
void stock_deep_copy(Arguments&&... arguments) {
  Kokkos::deep_copy(std::forward<Arguments>(arguments)...);
}

/// Returns whether Kokkos carries out this copy itself, or refuses it with a message of its own (different extents).
template <class Destination, class Source>
bool is_for_kokkos(const Destination& to, const Source& from) {
  constexpr unsigned rank = Destination::rank;
  for (unsigned r = 0; r < rank; ++r) {
    if (to.extent(r) != from.extent(r)) return true;
  }
  if (to.data() == nullptr || from.data() == nullptr) return true;
  if (!std::is_same<typename Destination::value_type, typename Source::non_const_value_type>::value ||
      !to.span_is_contiguous() || !from.span_is_contiguous())
    return false;
  if constexpr (rank == 1) {
    return to.stride(0) == from.stride(0);
  } else {
    if (!std::is_same<typename Destination::array_layout, typename Source::array_layout>::value) return false;
    for (unsigned r = 0; r < rank; ++r) {
      if (to.stride(r) != from.stride(r)) return false;
    }
    return true;
  }
}

template <class Destination, class Source>
StridedElements elements_of(const Destination& to, const Source& from) {
  StridedElements elements{};
  elements.element_bytes = sizeof(typename Destination::value_type);
  elements.dimensions = Destination::rank;
  for (unsigned r = 0; r < Destination::rank; ++r) {
    elements.dimension[r] = {to.extent(r), to.stride(r) * elements.element_bytes, from.stride(r) * elements.element_bytes};
  }
  return elements;
}

/// A contiguous view with the extents of `like`, with a layout that is near its own.
template <class Space, class View>
auto contiguous_view(const View& like) {
  using layout = std::conditional_t<std::is_same<typename View::array_layout, Kokkos::LayoutStride>::value, Kokkos::LayoutLeft,
                                    typename View::array_layout>;
  using packed = Kokkos::View<typename View::non_const_data_type, layout, Space>;
  std::size_t n[8];
  for (unsigned r = 0; r < 8; ++r) n[r] = r < unsigned(View::rank_dynamic) ? like.extent(r) : no_extent;
  return packed(Kokkos::view_alloc(like.label(), Kokkos::WithoutInitializing), n[0], n[1], n[2], n[3], n[4], n[5], n[6], n[7]);
}

/// Returns the device on which a kernel that copies between the views runs: that of the destination, or of the source of a copy to
/// the host.
template <class Destination, class Source>
std::uint32_t device_of_views(const Destination& to, const Source& from) {
  return runtime::device_of(is_in_space<Destination> ? static_cast<const void*>(to.data()) : from.data());
}

/// Copies by way of contiguous views in both spaces, where the elements are rearranged or converted.
template <class Destination, class Source>
void copy_packed(const Destination& to, const Source& from) {
  constexpr bool to_host = Kokkos::SpaceAccessibility<Kokkos::DefaultHostExecutionSpace, typename Destination::memory_space>::accessible;
  const DefaultDeviceScope scope(device_of_views(to, from));
  if constexpr (to_host) {
    const auto there = contiguous_view<typename Source::device_type>(from);
    stock_deep_copy(there, from);
    const auto here = contiguous_view<Kokkos::HostSpace>(from);
    stock_deep_copy(here, there);
    stock_deep_copy(to, here);
  } else {
    const auto here = contiguous_view<Kokkos::HostSpace>(to);
    stock_deep_copy(here, from);
    const auto there = contiguous_view<typename Destination::device_type>(to);
    stock_deep_copy(there, here);
    stock_deep_copy(to, there);
  }
}

/// Tells Kokkos Tools of the copy.
template <class Destination, class Source>
class ReportedCopy {
 public:
  ReportedCopy(const Destination& to, const Source& from) : reported_(Kokkos::Profiling::profileLibraryLoaded()) {
    if (!reported_) return;
    Kokkos::Profiling::beginDeepCopy(Kokkos::Tools::make_space_handle(Destination::memory_space::name()), to.label(), to.data(),
                                     Kokkos::Tools::make_space_handle(Source::memory_space::name()), from.label(), from.data(),
                                     to.size() * sizeof(typename Destination::value_type));
  }
  ~ReportedCopy() {
    if (reported_) Kokkos::Profiling::endDeepCopy();
  }
  ReportedCopy(const ReportedCopy&) = delete;
  ReportedCopy& operator=(const ReportedCopy&) = delete;

 private:
  bool reported_;
};

/// Carries out deep_copy(to, from) and deep_copy(exec, to, from); `exec...` is one instance or none.
template <class Destination, class Source, class... E>
void strided_deep_copy(const Destination& to, const Source& from, const E&... exec) {
  static_assert(std::is_same<typename Destination::value_type, typename Destination::non_const_value_type>::value,
                "deep_copy requires non-const destination type");
  if constexpr (are_in_space<Destination, Source>) {
    const DefaultDeviceScope scope(device_of_views(to, from));
    if (runtime::device_of(from.data()) == default_device) return stock_deep_copy(exec..., to, from);
  }
  if (is_for_kokkos(to, from)) return stock_deep_copy(exec..., to, from);
  if constexpr (sizeof...(E) == 0) Kokkos::fence();
  if (to.size() == 0) return;
  if constexpr (std::is_same<typename Destination::value_type, typename Source::non_const_value_type>::value) {
    if (const StridedElements elements = elements_of(to, from); are_few_groups(elements)) {
      QueueId queue{};
      if constexpr (sizeof...(E) != 0) queue = queue_of(exec...);
      if constexpr (is_other_device_space<typename Destination::memory_space> || is_other_device_space<typename Source::memory_space>) {
        (exec.fence(), ...);
      }
      const ReportedCopy<Destination, Source> report(to, from);
      return copy_columns(to.data(), from.data(), elements, queue);
    }
  }
  if constexpr (are_in_space<Destination, Source>) {
    const DefaultDeviceScope scope(device_of_views(to, from));
    return stock_deep_copy(exec..., to, from);  // a kernel, which reads the other device's memory
  } else {
    if constexpr (sizeof...(E) != 0) (exec.fence(), ...);
    copy_packed(to, from);
  }
}

template <class Destination, class Source>
using enable_strided_copy = std::enable_if_t<needs_strided_copy<Destination, Source>>*;
template <class View>
using enable_fill = std::enable_if_t<is_in_space<View> && IsOrdinaryView<View>::value>*;
template <class E, class Destination, class Source>
using enable_strided_copy_on =
    std::enable_if_t<Kokkos::is_execution_space<E>::value && needs_strided_copy<Destination, Source>>*;

}  // namespace semcache::kokkos::detail

namespace Kokkos {

// A view that is not on Kokkos' default device names at least one property (D0, S0). The compiler prefers these overloads to Kokkos'
// own, because they are more specialised: they name a property of the destination, of the source, or of both.
template <class D, class D0, class... Ds, class S, class... Ss>
void deep_copy(const View<D, D0, Ds...>& to, const View<S, Ss...>& from,
               semcache::kokkos::detail::enable_strided_copy<View<D, D0, Ds...>, View<S, Ss...>> = nullptr) {
  semcache::kokkos::detail::strided_deep_copy(to, from);
}
template <class D, class... Ds, class S, class S0, class... Ss>
void deep_copy(const View<D, Ds...>& to, const View<S, S0, Ss...>& from,
               semcache::kokkos::detail::enable_strided_copy<View<D, Ds...>, View<S, S0, Ss...>> = nullptr) {
  semcache::kokkos::detail::strided_deep_copy(to, from);
}
template <class D, class D0, class... Ds, class S, class S0, class... Ss>
void deep_copy(const View<D, D0, Ds...>& to, const View<S, S0, Ss...>& from,
               semcache::kokkos::detail::enable_strided_copy<View<D, D0, Ds...>, View<S, S0, Ss...>> = nullptr) {
  semcache::kokkos::detail::strided_deep_copy(to, from);
}
template <class E, class D, class D0, class... Ds, class S, class... Ss>
void deep_copy(const E& exec, const View<D, D0, Ds...>& to, const View<S, Ss...>& from,
               semcache::kokkos::detail::enable_strided_copy_on<E, View<D, D0, Ds...>, View<S, Ss...>> = nullptr) {
  semcache::kokkos::detail::strided_deep_copy(to, from, exec);
}
template <class E, class D, class... Ds, class S, class S0, class... Ss>
void deep_copy(const E& exec, const View<D, Ds...>& to, const View<S, S0, Ss...>& from,
               semcache::kokkos::detail::enable_strided_copy_on<E, View<D, Ds...>, View<S, S0, Ss...>> = nullptr) {
  semcache::kokkos::detail::strided_deep_copy(to, from, exec);
}
template <class E, class D, class D0, class... Ds, class S, class S0, class... Ss>
void deep_copy(const E& exec, const View<D, D0, Ds...>& to, const View<S, S0, Ss...>& from,
               semcache::kokkos::detail::enable_strided_copy_on<E, View<D, D0, Ds...>, View<S, S0, Ss...>> = nullptr) {
  semcache::kokkos::detail::strided_deep_copy(to, from, exec);
}

/// deep_copy(view, value) without an instance: a fill of a view that is not contiguous is a kernel, which runs where the view is.
template <class D, class D0, class... Ds>
void deep_copy(const View<D, D0, Ds...>& to, typename ViewTraits<D, D0, Ds...>::const_value_type& value,
               semcache::kokkos::detail::enable_fill<View<D, D0, Ds...>> = nullptr) {
  const semcache::kokkos::detail::DefaultDeviceScope scope(semcache::runtime::device_of(to.data()));
  semcache::kokkos::detail::stock_deep_copy(to, value);
}

}  // namespace Kokkos
