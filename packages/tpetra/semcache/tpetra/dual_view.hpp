// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/kokkos/announce.hpp>
#include <semcache/kokkos/containers.hpp>
#include <semcache/kokkos/handles.hpp>
#include <semcache/tpetra/host_side.hpp>

#include <Kokkos_DualView.hpp>

#include <string>
#include <utility>

// Otherwise two files of one program would have different classes of one name.
#ifndef SEMCACHE_ENABLE_TPETRA
#error "link SemCache::tpetra (or define SEMCACHE_ENABLE_TPETRA) for all files that include SemCache's headers"
#endif

/// Kokkos::DualView on semcache::Device, for Tpetra, which uses that class by name. As with semcache::DualView it is one array
/// with a device side and a host side that the cache keeps coherent. Tpetra needs more of it: members that can be assigned,
/// construction from views that the caller has already, and flags and use counts for which Tpetra neither refuses a view nor
/// prefers the host.
namespace semcache::tpetra {

/// The type that Kokkos::create_mirror_view returns.
template <class View>
using mirror_t = decltype(Kokkos::create_mirror_view(std::declval<const View&>()));

/// The type of the members `d_view` and `h_view`. Tpetra compares their use counts and refuses one side while views of the
/// other are alive. Sides of an array that the cache keeps coherent need no such care, so their use counts are always equal.
template <class View>
class Side : public View {
 public:
  Side() = default;
  explicit Side(const View& view) : View(view), array_(array_at(view.data()).id) {}
  Side(const View& view, ArrayId array) : View(view), array_(array) {}
  /// Assigns a view, for example a Kokkos::subview of a side or a view of another array.
  template <class Other, class = std::enable_if_t<std::is_assignable<View&, const Other&>::value &&
                                                  !std::is_base_of<Side, Other>::value>>
  Side& operator=(const Other& view) {
    View::operator=(view);
    array_ = array_at(this->data()).id;
    return *this;
  }

  [[nodiscard]] int use_count() const { return array_.is_noticed() ? 1 : View::use_count(); }
  [[nodiscard]] ArrayId array() const noexcept { return array_; }
  void forget_array() noexcept { array_ = {}; }

 private:
  ArrayId array_;
};

/// Selects the constructor that makes a DualView of a device view alone: with its content, and the host side of its array.
struct OneArray {};
inline constexpr OneArray one_array{};

/// A DualView with Kokkos' interface. Both sides may be alive and used at any time. Neither side ever needs `sync`, `modify`
/// is optional, and `need_sync` returns false. (A host side reported as newer would make Tpetra compute small vectors on the
/// host.)
///
/// Kokkos' own semantics, with its flags and real use counts, hold in two cases:
/// - for two views that are not sides of one array (DualView(device_view, host_view), assigned members). They are equal
///   only after `sync`, which is a lazy deep_copy. A host view that was made in the constructor's call, as Tpetra makes
///   its own (`DualView(d, create_mirror_view(d))`), is replaced by the host side of the device view's array if the first
///   call afterwards is `modify_device`, because then the host view's content is old;
/// - where host accesses are not noticed (SEMCACHE_TRACKER=explicit, SEMCACHE_PROTOCOL=off).
/// @throws OutOfMemory from constructors, resize, realloc
/// Ordering, threads: as for semcache::DualView.
template <class DataType, class... Properties>
class DualView : public Kokkos::ViewTraits<DataType, Properties...> {
  template <class, class...>
  friend class DualView;
  static constexpr std::size_t none = kokkos::detail::no_extent;

 public:
  using traits = Kokkos::ViewTraits<DataType, Properties...>;
  using host_mirror_space = typename traits::host_mirror_space;
  using t_dev = Kokkos::View<DataType, Properties...>;
  using t_host = mirror_t<t_dev>;
  using t_dev_const = Kokkos::View<typename traits::const_data_type, Properties...>;
  using t_host_const = mirror_t<t_dev_const>;
  using t_dev_um = Kokkos::View<DataType, typename traits::array_layout, typename traits::device_type,
                                Kokkos::MemoryUnmanaged>;
  using t_host_um = Kokkos::View<typename t_host::data_type, typename t_host::array_layout,
                                 typename t_host::device_type, Kokkos::MemoryUnmanaged>;
  using t_dev_const_um = Kokkos::View<typename traits::const_data_type, typename traits::array_layout,
                                      typename traits::device_type, Kokkos::MemoryUnmanaged>;
  using t_host_const_um = Kokkos::View<typename t_host::const_data_type, typename t_host::array_layout,
                                       typename t_host::device_type, Kokkos::MemoryUnmanaged>;
  using t_dev_const_randomread = Kokkos::View<typename traits::const_data_type, typename traits::array_layout,
                                              typename traits::device_type, Kokkos::MemoryTraits<Kokkos::RandomAccess>>;
  using t_host_const_randomread = mirror_t<t_dev_const_randomread>;
  using t_dev_const_randomread_um =
      Kokkos::View<typename traits::const_data_type, typename traits::array_layout, typename traits::device_type,
                   Kokkos::MemoryTraits<Kokkos::Unmanaged | Kokkos::RandomAccess>>;
  using t_host_const_randomread_um = mirror_t<t_dev_const_randomread_um>;

  struct impl_dualview_is_single_device {
    enum : bool { value = false };
  };

  Side<t_dev> d_view;
  Side<t_host> h_view;

  DualView() = default;

  DualView(const std::string& label, std::size_t n0 = none, std::size_t n1 = none, std::size_t n2 = none,
           std::size_t n3 = none, std::size_t n4 = none, std::size_t n5 = none, std::size_t n6 = none,
           std::size_t n7 = none)
      : DualView(one_array, t_dev(label, n0, n1, n2, n3, n4, n5, n6, n7)) {}

  template <class... P>
  explicit DualView(const Kokkos::Impl::ViewCtorProp<P...>& properties,
                    std::enable_if_t<!Kokkos::Impl::ViewCtorProp<P...>::has_pointer, std::size_t> n0 = none,
                    std::size_t n1 = none, std::size_t n2 = none, std::size_t n3 = none, std::size_t n4 = none,
                    std::size_t n5 = none, std::size_t n6 = none, std::size_t n7 = none)
      : DualView(one_array, t_dev(properties, n0, n1, n2, n3, n4, n5, n6, n7)) {}

  /// Makes a shallow copy, which shares the flags. `other` may have non-const data or another spelling of the same device.
  template <class OtherType, class... OtherProperties>
  DualView(const DualView<OtherType, OtherProperties...>& other)  // NOLINT: as Kokkos::DualView
      : d_view(other.d_view, other.d_view.array()), h_view(other.h_view, other.h_view.array()), flags_(other.flags_) {}

  /// Makes a subview, which shares the flags with `other`.
  template <class OtherType, class... OtherProperties, class Arg0, class... Args>
  DualView(const DualView<OtherType, OtherProperties...>& other, const Arg0& arg0, Args... args)
      : d_view(Kokkos::subview(other.view_device(), arg0, args...), other.d_view.array()),
        h_view(Kokkos::subview(other.view_host(), arg0, args...), other.h_view.array()),
        flags_(other.flags_) {}

  /// Makes a DualView of two views: one array if `host` is the host side of what `device` views, otherwise two arrays.
  /// @throws UsageError the extents differ
  DualView(const t_dev& device, const t_host& host) : d_view(device), h_view(host) {
    expect_same_extents(device, host);
    if (is_one_array() && host_side_of(device.data()).address == static_cast<const void*>(host.data())) {
      flags_ = array_at(device.data()).flags;
    } else {
      become_two_arrays();
    }
  }
  DualView(const t_dev& device, t_host&& host) : DualView(device, static_cast<const t_host&>(host)) {
    host_is_spare_ = !is_one_array();
  }

  /// Makes a DualView of a device view and the host side of its array. It is two arrays only where `device` is not in the
  /// cache's memory, or where its array has the host side of a semcache::DualView.
  DualView(OneArray, const t_dev& device) {
    if (device.is_allocated() && !take_sides_of(device)) {
      const t_host mirror = Kokkos::create_mirror_view(device);
      Kokkos::deep_copy(mirror, device);
      d_view = Side<t_dev>(device, {});
      h_view = Side<t_host>(mirror, {});
    }
  }

  // --- views -----------------------------------------------------------------------------------------------------
  [[nodiscard]] t_host view_host() const {
    host_is_spare_ = false;
    return h_view;
  }
  [[nodiscard]] t_dev view_device() const { return d_view; }
  /// Returns the side that a memory space, an execution space or a device names. All names except those of the device side
  /// mean the host side.
  template <class Where>
  [[nodiscard]] auto view() const {
    if constexpr (is_device_side<Where>)
      return view_device();
    else
      return view_host();
  }
  [[nodiscard]] bool is_allocated() const { return d_view.is_allocated() && h_view.is_allocated(); }

  // --- flags --------------------------------------------------------------------------------------------------------
  template <class Where>
  void modify() {
    is_device_side<Where> ? modify_device() : modify_host();
  }
  void modify_host() {
    host_is_spare_ = false;
    flags().modify(kokkos::SyncState::host);
    announce(Access::overwrite);  // the host has written already, as in Kokkos, so nothing is fetched
  }
  void modify_device() {
    if (std::exchange(host_is_spare_, false) && h_view.use_count() == 1) take_sides_of(view_device());
    flags().modify(kokkos::SyncState::device);
  }

  template <class Where, class... Instance>
  void sync(const Instance&...) {
    is_device_side<Where> ? sync_device() : sync_host();
  }
  template <class... Instance>
  void sync_host(const Instance&...) {
    host_is_spare_ = false;
    if (need_sync_device()) return;  // the host's content is the newer one
    if (!is_one_array() && need_sync_host()) {
      announce(Access::overwrite);  // the host side's old content is not needed
      Kokkos::deep_copy(view_host(), view_device());
    }
    announce(Access::read);
    flags().sync(kokkos::SyncState::host);
  }
  template <class... Instance>
  void sync_device(const Instance&...) {
    host_is_spare_ = false;
    if (need_sync_device()) {
      announce(Access::overwrite);  // the host may have written since modify_host, too
      if constexpr (!std::is_const<typename t_dev::value_type>::value) {
        if (!is_one_array()) Kokkos::deep_copy(view_device(), view_host());
      }
    }
    flags().sync(kokkos::SyncState::device);
    // From now on the host may write its next content and announce that only afterwards, so the device gets the content now.
    if (is_unnoticed() && is_tracked(d_view.data())) runtime::settle(d_view.data());
  }

  template <class Where>
  [[nodiscard]] bool need_sync() const {
    return is_device_side<Where> ? need_sync_device() : need_sync_host();
  }
  [[nodiscard]] bool need_sync_host() const { return !is_coherent() && flags_.needs_sync(kokkos::SyncState::host); }
  [[nodiscard]] bool need_sync_device() const { return !is_coherent() && flags_.needs_sync(kokkos::SyncState::device); }
  void clear_sync_state() { flags_.clear(); }

  // --- size ---------------------------------------------------------------------------------------------------------
  /// Gives the DualView new extents. The content is discarded.
  template <class... Extents>
  void realloc(const Extents&... extents) {
    t_dev device = view_device();
    Kokkos::realloc(device, extents...);
    *this = DualView(one_array, device);
  }
  /// Gives the DualView new extents. The common part keeps the content of the side that was written last.
  template <class... Extents>
  void resize(const Extents&... extents) {
    sync_device();
    t_dev device = view_device();
    Kokkos::resize(device, extents...);
    if (device.data() == d_view.data()) return;
    *this = DualView(one_array, device);
    modify_device();
  }

  [[nodiscard]] constexpr std::size_t span() const { return d_view.span(); }
  [[nodiscard]] bool span_is_contiguous() const { return d_view.span_is_contiguous(); }
  template <class Integer>
  void stride(Integer* strides) const {
    d_view.stride(strides);
  }
  template <class Integer>
  [[nodiscard]] constexpr std::enable_if_t<std::is_integral<Integer>::value, std::size_t> extent(
      const Integer& dimension) const {
    return d_view.extent(dimension);
  }
  template <class Integer>
  [[nodiscard]] constexpr std::enable_if_t<std::is_integral<Integer>::value, int> extent_int(
      const Integer& dimension) const {
    return static_cast<int>(d_view.extent(dimension));
  }

 private:
  [[nodiscard]] bool is_one_array() const noexcept {
    return d_view.array().exists() && d_view.array().number == h_view.array().number;
  }
  [[nodiscard]] bool is_coherent() const noexcept { return is_one_array() && d_view.array().is_noticed(); }

  /// Makes this DualView the two sides of the device view's array. Returns false, and changes nothing, where the array cannot
  /// have a host side here (host_side_of).
  bool take_sides_of(const t_dev& device) {
    const HostSide side = host_side_of(device.data());
    if (side.address == nullptr) return false;
    d_view = Side<t_dev>(device, side.array.id);
    h_view = Side<t_host>(view_of<t_host>(side, device), side.array.id);
    flags_ = side.array.flags;
    return true;
  }

  void become_two_arrays() {
    d_view.forget_array();
    h_view.forget_array();
    if (!flags_) flags_ = kokkos::SyncState::make();
  }
  /// Returns the flags. If the program has assigned members that are no longer sides of one array, the DualView becomes two
  /// arrays first.
  const kokkos::SyncState& flags() {
    if (!flags_ || !is_one_array()) become_two_arrays();
    return flags_;
  }

  static void expect_same_extents(const t_dev& device, const t_host& host) {
    bool same = device.span() == host.span();
    for (unsigned r = 0; r < unsigned(t_dev::rank); ++r) same = same && device.extent(r) == host.extent(r);
    SEMCACHE_EXPECTS(same, "DualView: the device and host views of '" + device.label() + "' differ in size. Give two views of the "
                           "same extents");
  }

  /// Announces an access of the host where host accesses are not noticed, so that the flags are the only source. A view with
  /// gaps is announced together with its gaps: the flags belong to the whole array, whose host side is valid by Kokkos'
  /// rules.
  void announce(Access mode) const {
    if (is_unnoticed()) kokkos::detail::announce(h_view, mode);
  }
  [[nodiscard]] bool is_unnoticed() const {
    return h_view.is_allocated() && !is_coherent() && !runtime::notices_host_accesses(h_view.data());
  }

  template <class Where>
  static constexpr bool is_device_side =
      std::is_same<Where, typename Where::execution_space>::value
          ? std::is_same<Where, typename t_dev::execution_space>::value
          : std::is_same<typename Where::memory_space, typename t_dev::memory_space>::value;

  kokkos::SyncState flags_;
  mutable bool host_is_spare_ = false;  ///< the host view was passed as a temporary and has not been used yet
};

}  // namespace semcache::tpetra

namespace Kokkos {

#define SEMCACHE_TPETRA_DUAL_VIEW(DEVICE)                                                  \
  template <class DataType>                                                                \
  class DualView<DataType, DEVICE> : public semcache::tpetra::DualView<DataType, DEVICE> { \
   public:                                                                                 \
    using semcache::tpetra::DualView<DataType, DEVICE>::DualView;                          \
  };                                                                                       \
  template <class DataType, unsigned Traits>                                               \
  class DualView<DataType, DEVICE, MemoryTraits<Traits>>                                   \
      : public semcache::tpetra::DualView<DataType, DEVICE, MemoryTraits<Traits>> {        \
   public:                                                                                 \
    using semcache::tpetra::DualView<DataType, DEVICE, MemoryTraits<Traits>>::DualView;    \
  };                                                                                       \
  template <class DataType, class Layout, class Traits>                                    \
  class DualView<DataType, Layout, DEVICE, Traits>                                         \
      : public semcache::tpetra::DualView<DataType, Layout, DEVICE, Traits> {              \
   public:                                                                                 \
    using semcache::tpetra::DualView<DataType, Layout, DEVICE, Traits>::DualView;          \
  };
SEMCACHE_TPETRA_DUAL_VIEW(semcache::Device)
SEMCACHE_TPETRA_DUAL_VIEW(semcache::Exec)
SEMCACHE_TPETRA_DUAL_VIEW(semcache::Space)
#undef SEMCACHE_TPETRA_DUAL_VIEW

}  // namespace Kokkos
