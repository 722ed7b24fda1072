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

// Or two files of one program would have different classes of one name.
#ifndef SEMCACHE_ENABLE_TPETRA
#error "link SemCache::tpetra (or define SEMCACHE_ENABLE_TPETRA) for all files that include SemCache's headers"
#endif

/// Tpetra names Kokkos::DualView. On semcache::Device that is the class below: one array with two sides that the cache
/// keeps coherent, as semcache::DualView, with what Tpetra asks of a DualView besides: members that can be assigned,
/// sides that are brought along, and answers that make it neither refuse a view nor prefer the host.
namespace semcache::tpetra {

/// What Kokkos::create_mirror_view returns.
template <class View>
using mirror_t = decltype(Kokkos::create_mirror_view(std::declval<const View&>()));

/// A member `d_view` or `h_view`. Tpetra compares the use counts of the two to refuse one side while views of the other
/// are alive. Sides that are always equal need no such care: their counts are equal.
template <class View>
class Side : public View {
 public:
  Side() = default;
  explicit Side(const View& view) : View(view), array_(array_at(view.data()).id) {}
  Side(const View& view, ArrayId array) : View(view), array_(array) {}
  /// Kokkos::subview of a side, say, or somebody else's view.
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

/// To make a DualView of all that a device view has: its content, and the host side of its array.
struct OneArray {};
inline constexpr OneArray one_array{};

/// Kokkos' interface. Both sides may be alive and used at any time; neither ever needs `sync`, `modify` is optional.
/// (A host side marked as newer would make Tpetra compute small vectors on the host.)
///
/// Kokkos' own semantics, with its flags and real use counts, hold in two cases:
/// - of two views that are not sides of one array (DualView(device_view, host_view), assigned members): they are equal
///   only after `sync`, which is a lazy deep_copy. A host view that was made in the constructor's call, as Tpetra makes
///   its own (`DualView(d, create_mirror_view(d))`), is exchanged for the host side of the device view's array if the
///   first that happens is `modify_device`, which says that its content is old;
/// - where nobody notices host accesses (SEMCACHE_TRACKER=explicit, SEMCACHE_PROTOCOL=off).
/// @throws OutOfMemory from constructors, resize, realloc
/// Ordering, threads: as semcache::DualView.
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

  /// Shallow; also to const data, to other spellings of the same device. Shares flags.
  template <class OtherType, class... OtherProperties>
  DualView(const DualView<OtherType, OtherProperties...>& other)  // NOLINT: as Kokkos::DualView
      : d_view(other.d_view, other.d_view.array()), h_view(other.h_view, other.h_view.array()), flags_(other.flags_) {}

  /// Subview; shares flags with `other`.
  template <class OtherType, class... OtherProperties, class Arg0, class... Args>
  DualView(const DualView<OtherType, OtherProperties...>& other, const Arg0& arg0, Args... args)
      : d_view(Kokkos::subview(other.view_device(), arg0, args...), other.d_view.array()),
        h_view(Kokkos::subview(other.view_host(), arg0, args...), other.h_view.array()),
        flags_(other.flags_) {}

  /// @throws UsageError different extents
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

  /// Two arrays only where `device` is not the cache's or has a host side of semcache::DualView.
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
  /// By memory space, execution space or device. Everything that is not the device side names the host side.
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
    announce(Access::overwrite);  // written already, as with Kokkos: nothing is fetched
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
      announce(Access::overwrite);  // whatever it has, it is not the device's
      Kokkos::deep_copy(view_host(), view_device());
    }
    announce(Access::read);
    flags().sync(kokkos::SyncState::host);
  }
  template <class... Instance>
  void sync_device(const Instance&...) {
    host_is_spare_ = false;
    if (need_sync_device()) {
      announce(Access::overwrite);  // since modify_host, too
      if constexpr (!std::is_const<typename t_dev::value_type>::value) {
        if (!is_one_array()) Kokkos::deep_copy(view_device(), view_host());
      }
    }
    flags().sync(kokkos::SyncState::device);
    // The host may write its next content from now on, and say so later.
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
  /// New extents, content discarded.
  template <class... Extents>
  void realloc(const Extents&... extents) {
    t_dev device = view_device();
    Kokkos::realloc(device, extents...);
    *this = DualView(one_array, device);
  }
  /// New extents; the common part keeps the content of the side that was written last.
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

  /// False where there is no host side for us.
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
  /// Members may have been assigned.
  const kokkos::SyncState& flags() {
    if (!flags_ || !is_one_array()) become_two_arrays();
    return flags_;
  }

  static void expect_same_extents(const t_dev& device, const t_host& host) {
    bool same = device.span() == host.span();
    for (unsigned r = 0; r < unsigned(t_dev::rank); ++r) same = same && device.extent(r) == host.extent(r);
    SEMCACHE_EXPECTS(same, "DualView: the device and host views of '" + device.label() + "' differ in size");
  }

  /// Where the flags are all that is known of the host's accesses. (A view with gaps is announced with them: the flags are
  /// those of the whole array, whose host side was valid, by Kokkos' rules.)
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
  mutable bool host_is_spare_ = false;  ///< handed over by a caller who did not keep it, and not used yet
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
