// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/kokkos/announce.hpp>
#include <semcache/kokkos/handles.hpp>
#include <semcache/kokkos/records.hpp>
#include <semcache/kokkos/resize.hpp>
#include <semcache/kokkos/sync_state.hpp>

namespace semcache {

/// A constructor argument of DualView by which the program promises to announce every host access with semcache::access. It is
/// meant for buffers that only libraries use (MPI, system calls). The host pages of such a DualView are not protected, which
/// saves two or more system calls per exchange. Once the host has shown that it asks for each new value of the whole array,
/// the value is sent right behind the kernel that writes it. So an announced access ends at the next launch that writes the
/// array: a non-blocking send must be complete by then. An access that is not announced is not noticed, except with
/// SEMCACHE_CHECK=1, which protects the pages all the same and serves the access.
struct Announced {};
inline constexpr Announced announced{};

/// A replacement of Kokkos::DualView with one datum (tracked array): the device view and the host view are two sides of the
/// same array, which SemCache keeps coherent. `modify` and `sync` are optional. They never move a byte and never abort; they
/// only keep the flags that `need_sync` reports. Both views may be alive and used at any time.
///
/// Where host accesses are not noticed (announced DualViews, SEMCACHE_TRACKER=explicit, SEMCACHE_PROTOCOL=off) `modify` and
/// `sync` are needed and mean what they mean in Kokkos: sync_host makes the host side valid, and modify_host announces that
/// the host has written it.
///
/// The properties must name a space. Where they name another space than semcache::Space (semcache::DefaultDevice of a build
/// that chose stock Kokkos), the class behaves as Kokkos::DualView: it has two arrays, and `modify` and `sync` are needed.
/// @throws OutOfMemory from constructors, resize, realloc
/// Ordering: host accesses wait for the kernels in flight that write the data they use; kernels see what the host wrote
/// before their launch. Threads: as Kokkos::DualView; SemCache does not remove data races of the program.
template <class DataType, class... Properties>
class DualView : public Kokkos::ViewTraits<DataType, Properties...> {
  template <class, class...>
  friend class DualView;

 public:
  using traits = Kokkos::ViewTraits<DataType, Properties...>;
  using host_mirror_space = typename traits::host_mirror_space;
  using t_dev = Kokkos::View<DataType, Properties...>;
  using t_host = kokkos::host_mirror_t<t_dev>;
  using t_dev_const = Kokkos::View<typename traits::const_data_type, Properties...>;
  using t_host_const = kokkos::host_mirror_t<t_dev_const>;
  using t_dev_const_randomread = Kokkos::View<typename traits::const_data_type, typename traits::array_layout,
                                              typename traits::device_type, Kokkos::MemoryTraits<Kokkos::RandomAccess>>;
  using t_host_const_randomread = kokkos::host_mirror_t<t_dev_const_randomread>;
  using t_dev_um = Kokkos::View<DataType, typename traits::array_layout, typename traits::device_type,
                                Kokkos::MemoryUnmanaged>;
  using t_host_um = Kokkos::View<typename t_host::data_type, typename t_host::array_layout, typename t_host::device_type,
                                 Kokkos::MemoryUnmanaged>;
  using t_dev_const_um = Kokkos::View<typename traits::const_data_type, typename traits::array_layout,
                                      typename traits::device_type, Kokkos::MemoryUnmanaged>;
  using t_host_const_um = Kokkos::View<typename t_host::const_data_type, typename t_host::array_layout,
                                       typename t_host::device_type, Kokkos::MemoryUnmanaged>;
  using t_dev_const_randomread_um =
      Kokkos::View<typename traits::const_data_type, typename traits::array_layout, typename traits::device_type,
                   Kokkos::MemoryTraits<Kokkos::Unmanaged | Kokkos::RandomAccess>>;
  using t_host_const_randomread_um = kokkos::host_mirror_t<t_dev_const_randomread_um>;

  /// True where the views are two sides of one array (except those of a DualView that was made of two arrays); false where
  /// the class behaves as Kokkos::DualView.
  static constexpr bool is_coherent = std::is_same<typename t_dev::memory_space, Space>::value;
  static_assert(is_coherent || (Kokkos::is_space<Properties>::value || ...),
                "semcache::DualView: name its device: semcache::Device, or semcache::DefaultDevice for the build's choice");
  static_assert(!is_coherent || std::is_same<typename t_host::memory_space, HostMirrorSpace>::value,
                "the mirror space is ours");

  /// True where both views are of the same device, so that there is one array with one side.
  static constexpr bool impl_dualview_is_single_device =
      std::is_same<typename t_dev::device_type, typename t_host::device_type>::value;

  /// The device side. Public as in Kokkos::DualView before version 5. @see view_device
  t_dev d_view;
  /// The host side. @see view_host
  t_host h_view;

  /// Allocates nothing; both views are empty.
  DualView() = default;

  /// Allocates an array of this label and value-initialises it. Neither side takes memory before its first use.
  DualView(const std::string& label, std::size_t n0 = none, std::size_t n1 = none, std::size_t n2 = none,
           std::size_t n3 = none, std::size_t n4 = none, std::size_t n5 = none, std::size_t n6 = none,
           std::size_t n7 = none)
      : d_view(label, n0, n1, n2, n3, n4, n5, n6, n7),
        h_view(host_side_of(d_view)),
        state_(kokkos::SyncState::make()),
        apart_(is_stock_pair()) {}

  /// Does the same, with a host side whose accesses the program announces. The promise also holds for the arrays that resize
  /// and realloc make.
  DualView(Announced, const std::string& label, std::size_t n0 = none, std::size_t n1 = none, std::size_t n2 = none,
           std::size_t n3 = none, std::size_t n4 = none, std::size_t n5 = none, std::size_t n6 = none,
           std::size_t n7 = none)
      : d_view(label, n0, n1, n2, n3, n4, n5, n6, n7),
        h_view(host_side_of(d_view, true)),
        state_(kokkos::SyncState::make()),
        announced_(true),
        apart_(is_stock_pair()) {}

  /// Takes Kokkos::view_alloc(...): a label, WithoutInitializing, an execution space instance.
  template <class... P>
  explicit DualView(const Kokkos::Impl::ViewCtorProp<P...>& properties,
                    std::enable_if_t<!Kokkos::Impl::ViewCtorProp<P...>::has_pointer, std::size_t> n0 = none,
                    std::size_t n1 = none, std::size_t n2 = none, std::size_t n3 = none, std::size_t n4 = none,
                    std::size_t n5 = none, std::size_t n6 = none, std::size_t n7 = none)
      : d_view(properties, n0, n1, n2, n3, n4, n5, n6, n7),
        h_view(host_side_of(d_view)),
        state_(kokkos::SyncState::make()),
        apart_(is_stock_pair()) {}

  /// Does both: properties, and a host side whose accesses the program announces.
  template <class... P>
  DualView(Announced, const Kokkos::Impl::ViewCtorProp<P...>& properties,
           std::enable_if_t<!Kokkos::Impl::ViewCtorProp<P...>::has_pointer, std::size_t> n0 = none, std::size_t n1 = none,
           std::size_t n2 = none, std::size_t n3 = none, std::size_t n4 = none, std::size_t n5 = none, std::size_t n6 = none,
           std::size_t n7 = none)
      : d_view(properties, n0, n1, n2, n3, n4, n5, n6, n7),
        h_view(host_side_of(d_view, true)),
        state_(kokkos::SyncState::make()),
        announced_(true),
        apart_(is_stock_pair()) {}

  /// Makes a shallow copy, possibly to const data. It shares flags with `other`.
  template <class OtherType, class... OtherProperties>
  DualView(const DualView<OtherType, OtherProperties...>& other)  // NOLINT: as Kokkos::DualView
      : d_view(other.d_view),
        h_view(other.h_view),
        state_(other.state_),
        announced_(other.announced_),
        apart_(other.apart_) {}

  /// Makes a subview. It shares flags with `other`.
  template <class OtherType, class... OtherProperties, class Arg0, class... Args>
  DualView(const DualView<OtherType, OtherProperties...>& other, const Arg0& arg0, Args... args)
      : d_view(Kokkos::subview(other.d_view, arg0, args...)),
        h_view(Kokkos::subview(other.h_view, arg0, args...)),
        state_(other.state_),
        announced_(other.announced_),
        apart_(other.apart_) {}

  /// Makes a DualView of the two sides of one datum (`view_device()` and `view_host()` of a DualView, or the same subviews of
  /// both). Two views that were allocated separately (create_mirror_view) stay two arrays: `modify` and `sync` are needed then,
  /// and mean what they mean in Kokkos.
  /// @throws UsageError the views differ in their extents
  DualView(const t_dev& device, const t_host& host)
      : d_view(device),
        h_view(host),
        state_(kokkos::SyncState::make()),
        apart_(is_coherent ? device.is_allocated() && !runtime::are_sides_of_one_array(device.data(), host.data())
                           : is_stock_pair()) {
    bool same = device.span() == host.span();
    for (unsigned r = 0; r < unsigned(t_dev::rank); ++r) same = same && device.extent(r) == host.extent(r);
    SEMCACHE_EXPECTS(same, "semcache::DualView: the device and host views of '" + device.label() + "' differ in size. Give two views "
                           "of the same extents");
  }

  // --- views -----------------------------------------------------------------------------------------------------
  KOKKOS_FUNCTION const t_host& view_host() const { return h_view; }
  KOKKOS_FUNCTION const t_dev& view_device() const { return d_view; }

  /// Returns the side that `Where` names: a memory space, an execution space or a device. Each `Where` that does not name the
  /// device side names the host side.
  template <class Where>
  KOKKOS_FUNCTION auto view() const {
    if constexpr (is_device_side<Where>)
      return d_view;
    else
      return h_view;
  }

  KOKKOS_FUNCTION bool is_allocated() const { return d_view.is_allocated() && h_view.is_allocated(); }

  // --- modify and sync ----------------------------------------------------------------------------------------------
  template <class Where>
  void modify() {
    is_device_side<Where> ? modify_device() : modify_host();
  }
  void modify_host() {
    if constexpr (impl_dualview_is_single_device) return;
    state_.modify(kokkos::SyncState::host);
    announce_unnoticed(Access::overwrite);  // the host has written already, as in Kokkos, so nothing is fetched
  }
  void modify_device() {
    if constexpr (!impl_dualview_is_single_device) state_.modify(kokkos::SyncState::device);
  }

  template <class Where>
  void sync() {
    is_device_side<Where> ? sync_device() : sync_host();
  }
  template <class Where, class E>
  void sync(const E&) {
    sync<Where>();
  }
  void sync_host() {
    if (need_sync_device()) return;  // the host's content is newer
    if (apart_ && need_sync_host()) {
      announce_unnoticed(Access::overwrite);  // the host may have written unnoticed: the copy must not be elided
      Kokkos::deep_copy(h_view, d_view);
    }
    state_.sync(kokkos::SyncState::host);
    announce_unnoticed(Access::read);
  }
  void sync_device() {
    if (need_sync_device()) {
      announce_unnoticed(Access::overwrite);  // the host may have written after modify_host, too
      if constexpr (std::is_const<typename t_dev::value_type>::value)
        SEMCACHE_EXPECTS(!apart_, "sync_device of a DualView of const data, '" + d_view.label() + "', whose two views are two arrays: "
                                  "nothing may be written to the device's. Call it on the DualView of data that are not const");
      else if (apart_)
        Kokkos::deep_copy(d_view, h_view);
    }
    state_.sync(kokkos::SyncState::device);
    // The device side must be valid at once, because the host may write its next content now and announce it only later.
    if (is_unnoticed() && is_tracked(d_view.data())) runtime::settle(d_view.data());
  }
  template <class E>
  void sync_host(const E&) {
    sync_host();
  }
  template <class E>
  void sync_device(const E&) {
    sync_device();
  }

  template <class Where>
  [[nodiscard]] bool need_sync() const {
    return is_device_side<Where> ? need_sync_device() : need_sync_host();
  }
  [[nodiscard]] bool need_sync_host() const { return state_.needs_sync(kokkos::SyncState::host); }
  [[nodiscard]] bool need_sync_device() const { return state_.needs_sync(kokkos::SyncState::device); }
  void clear_sync_state() { state_.clear(); }
  /// Returns whether the host wrote the array last, where `modify` and `sync` are needed; false elsewhere. If it did, the call
  /// announces that what the host side holds now is its content.
  [[nodiscard]] bool announce_newer_host_side() const {
    if (!need_sync_device() || !(apart_ || is_unnoticed())) return false;
    announce_unnoticed(Access::overwrite);
    return true;
  }

  // --- size ---------------------------------------------------------------------------------------------------------
  /// Allocates an array of new extents and discards the content. The optional first argument is that of Kokkos::realloc
  /// (WithoutInitializing, view_alloc). Other DualViews of the old array keep it. Where the extents stay the same, newer versions of
  /// Kokkos keep the array, and only its content goes.
  template <class... Arguments>
  void realloc(const Arguments&... arguments) {
    const void* const before = d_view.data();
    if constexpr (starts_with_property<Arguments...>())
      realloc_with(arguments...);
    else
      Kokkos::realloc(d_view, arguments...);
    const bool may_be_kept = d_view.is_allocated() && have_equal_extents();
    const bool is_kept = may_be_kept && apart_ && d_view.data() == before;
    if (is_kept) Kokkos::deep_copy(h_view, d_view);
    renew(is_kept || (may_be_kept && is_coherent && runtime::are_sides_of_one_array(d_view.data(), h_view.data())));
  }

  /// Changes the extents. Elements that exist before and after keep their content.
  template <class... Arguments>
  void resize(const Arguments&... arguments) {
    if (apart_ || is_unnoticed()) sync_device();
    const void* before = d_view.data();
    if constexpr (starts_with_property<Arguments...>())
      resize_with(arguments...);
    else
      Kokkos::resize(d_view, arguments...);
    if (d_view.data() == before && h_view.span() == d_view.span()) return;
    renew();
    if (apart_) Kokkos::deep_copy(h_view, d_view);
  }

  KOKKOS_FUNCTION constexpr std::size_t span() const { return d_view.span(); }
  KOKKOS_FUNCTION bool span_is_contiguous() const { return d_view.span_is_contiguous(); }
  template <class Integer>
  void stride(Integer* strides) const {
    d_view.stride(strides);
  }
  template <class Integer>
  KOKKOS_FUNCTION constexpr std::enable_if_t<std::is_integral<Integer>::value, std::size_t> extent(
      const Integer& dimension) const {
    return d_view.extent(dimension);
  }
  template <class Integer>
  KOKKOS_FUNCTION constexpr std::enable_if_t<std::is_integral<Integer>::value, int> extent_int(
      const Integer& dimension) const {
    return static_cast<int>(d_view.extent(dimension));
  }
  [[nodiscard]] std::string label() const { return d_view.label(); }

 private:
  void announce_unnoticed(Access mode) const {
    // The gaps of a strided view are announced, too: the flags belong to the whole array, and by Kokkos' rules its host side was
    // valid before.
    if (is_unnoticed()) kokkos::detail::announce(h_view, mode);
  }
  [[nodiscard]] bool is_unnoticed() const {
    return is_coherent && h_view.is_allocated() && !runtime::notices_host_accesses(h_view.data());
  }

  static constexpr std::size_t none = kokkos::detail::no_extent;

  template <class Where>
  static constexpr bool names_device_side() {
    if constexpr (std::is_same<Where, typename Where::memory_space>::value)
      return std::is_same<Where, typename t_dev::memory_space>::value;
    else if constexpr (std::is_same<Where, typename Where::execution_space>::value)
      return std::is_same<Where, typename t_dev::execution_space>::value;
    else
      return std::is_same<typename Where::memory_space, typename t_dev::memory_space>::value;
  }
  template <class Where>
  static constexpr bool is_device_side = names_device_side<Where>();

  template <class First = int, class... Rest>
  static constexpr bool starts_with_property() {
    return !std::is_convertible<First, std::size_t>::value;
  }
  template <class Property, class... Extents>
  void realloc_with(const Property& property, const Extents&... extents) {
    Kokkos::realloc(property, d_view, extents...);
  }
  template <class Property, class... Extents>
  void resize_with(const Property& property, const Extents&... extents) {
    Kokkos::resize(property, d_view, extents...);
  }

  [[nodiscard]] bool have_equal_extents() const {
    for (std::size_t r = 0; r < 8; ++r) {
      if (d_view.extent(r) != h_view.extent(r)) return false;
    }
    return true;
  }

  /// @param has_host_side  the array is the former one, and `h_view` belongs to it
  void renew(bool has_host_side = false) {
    if (!has_host_side) {
      h_view = host_side_of(d_view, announced_);
      apart_ = is_stock_pair();
    }
    if (state_)
      state_.clear();
    else
      state_ = kokkos::SyncState::make();
    announce_unnoticed(Access::read);  // cleared flags say that both sides are equal
  }

  [[nodiscard]] bool is_stock_pair() const { return !is_coherent && h_view.data() != d_view.data(); }

  /// Makes the host side of the datum of `device`: no bytes are copied, and it is not initialised on its own. Where the class
  /// behaves as Kokkos::DualView it makes a mirror view.
  static t_host host_side_of(const t_dev& device, [[maybe_unused]] bool announced = false) {
    if (!device.is_allocated()) return t_host();
    if constexpr (is_coherent) {
      kokkos::detail::PartnerScope partner(device.data(), announced);
      return t_host(Kokkos::view_alloc(Kokkos::WithoutInitializing, device.label() + "_mirror"), device.layout());
    } else {
      return Kokkos::create_mirror_view(device);
    }
  }

  kokkos::SyncState state_;
  bool announced_ = false;
  bool apart_ = false;  ///< the views are two arrays
};

namespace kokkos::detail {
template <class View>
struct DualViewOf;
template <class DataType, class... Properties>
struct DualViewOf<Kokkos::View<DataType, Properties...>> {
  using type = DualView<DataType, Properties...>;
};

/// Copies the side of `src` that was written last to the same side of `dst`, and marks that side as modified.
/// @param instance  no argument, or one execution space instance
template <class Destination, class Source, class... Instance>
void copy_newer_side(Destination dst, const Source& src, const Instance&... instance) {
  if (src.announce_newer_host_side()) {
    Kokkos::deep_copy(instance..., dst.view_host(), src.view_host());
    dst.modify_host();
    return;
  }
  Kokkos::deep_copy(instance..., dst.view_device(), src.view_device());
  dst.modify_device();
}
}  // namespace kokkos::detail

}  // namespace semcache

// In namespace Kokkos, where code that calls Kokkos::subview(dv, ...) finds them.
namespace Kokkos {

template <class DataType, class... Properties, class... Args>
auto subview(const semcache::DualView<DataType, Properties...>& source, Args&&... args) {
  using device_subview = decltype(subview(std::declval<const View<DataType, Properties...>&>(), args...));
  return typename semcache::kokkos::detail::DualViewOf<device_subview>::type(source, args...);
}

/// Copies the content that `src` has now, from the side that was written last.
template <class DT, class... DP, class ST, class... SP>
void deep_copy(const semcache::DualView<DT, DP...>& dst, const semcache::DualView<ST, SP...>& src) {
  semcache::kokkos::detail::copy_newer_side(dst, src);
}
template <class E, class DT, class... DP, class ST, class... SP>
void deep_copy(const E& exec, const semcache::DualView<DT, DP...>& dst, const semcache::DualView<ST, SP...>& src) {
  semcache::kokkos::detail::copy_newer_side(dst, src, exec);
}

template <class DT, class... DP, class... Args>
void resize(semcache::DualView<DT, DP...>& view, const Args&... args) {
  view.resize(args...);
}
template <class Property, class DT, class... DP, class... Args>
std::enable_if_t<!std::is_convertible<Property, std::size_t>::value> resize(const Property& property,
                                                                           semcache::DualView<DT, DP...>& view,
                                                                           const Args&... args) {
  view.resize(property, args...);
}
template <class DT, class... DP, class... Args>
void realloc(semcache::DualView<DT, DP...>& view, const Args&... args) {
  view.realloc(args...);
}
template <class Property, class DT, class... DP, class... Args>
std::enable_if_t<!std::is_convertible<Property, std::size_t>::value> realloc(const Property& property,
                                                                            semcache::DualView<DT, DP...>& view,
                                                                            const Args&... args) {
  view.realloc(property, args...);
}

}  // namespace Kokkos

namespace semcache {
using Kokkos::deep_copy;
using Kokkos::realloc;
using Kokkos::resize;
using Kokkos::subview;
}  // namespace semcache
