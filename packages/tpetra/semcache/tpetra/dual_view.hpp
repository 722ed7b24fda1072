// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/kokkos.hpp>

#include <Kokkos_DualView.hpp>

/// Tpetra names Kokkos::DualView. On semcache::Device that is the class below: one array with two sides that the cache
/// keeps coherent, as semcache::DualView, with what Tpetra asks of a DualView besides: members that can be assigned,
/// sides that are brought along, and answers that make it neither refuse a view nor prefer the host.
namespace semcache::tpetra {

/// What Kokkos::create_mirror_view returns.
template <class View>
using mirror_t = decltype(Kokkos::create_mirror_view(std::declval<const View&>()));

/// A member `d_view` or `h_view`. Tpetra compares the use counts of the two to refuse one side while views of the other
/// are alive. Coherent sides need no such care: their counts are equal.
template <class View>
class Side : public View {
 public:
  Side() = default;
  Side(const View& view, bool coherent) : View(view), coherent_(coherent) {}
  /// Kokkos::subview of a side, say.
  template <class Other, class = std::enable_if_t<std::is_assignable<View&, const Other&>::value &&
                                                  !std::is_base_of<Side, Other>::value>>
  Side& operator=(const Other& view) {
    View::operator=(view);
    return *this;
  }

  [[nodiscard]] int use_count() const { return coherent_ ? View::use_count() != 0 : View::use_count(); }
  [[nodiscard]] bool coherent() const noexcept { return coherent_; }

 private:
  bool coherent_ = true;
};

/// Kokkos' interface. Both sides may be alive and used at any time; neither ever needs `sync`, `modify` is optional.
/// (A host side marked as newer would make Tpetra compute small vectors on the host.)
///
/// Kokkos' own semantics, with its flags and real use counts, hold in two cases:
/// - DualView(device_view, host_view) of a host view that somebody else may use, too: an array of its own, equal only
///   after `sync`, which is a lazy deep_copy;
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
      : DualView(t_dev(label, n0, n1, n2, n3, n4, n5, n6, n7)) {}

  template <class... P>
  explicit DualView(const Kokkos::Impl::ViewCtorProp<P...>& properties,
                    std::enable_if_t<!Kokkos::Impl::ViewCtorProp<P...>::has_pointer, std::size_t> n0 = none,
                    std::size_t n1 = none, std::size_t n2 = none, std::size_t n3 = none, std::size_t n4 = none,
                    std::size_t n5 = none, std::size_t n6 = none, std::size_t n7 = none)
      : DualView(t_dev(properties, n0, n1, n2, n3, n4, n5, n6, n7)) {}

  /// Shallow; also to const data, to other spellings of the same device. Shares flags.
  template <class OtherType, class... OtherProperties>
  DualView(const DualView<OtherType, OtherProperties...>& other)  // NOLINT: as Kokkos::DualView
      : d_view(other.d_view, other.d_view.coherent()), h_view(other.h_view, other.h_view.coherent()),
        state_(other.state_),
        two_arrays_(other.two_arrays_) {}

  /// Subview; shares flags with `other`.
  template <class OtherType, class... OtherProperties, class Arg0, class... Args>
  DualView(const DualView<OtherType, OtherProperties...>& other, const Arg0& arg0, Args... args)
      : d_view(Kokkos::subview(other.view_device(), arg0, args...), other.d_view.coherent()),
        h_view(Kokkos::subview(other.view_host(), arg0, args...), other.h_view.coherent()),
        state_(other.state_),
        two_arrays_(other.two_arrays_) {}

  /// Of two views that the caller keeps: Kokkos' semantics.
  /// @throws UsageError different extents
  DualView(const t_dev& device, const t_host& host)
      : d_view(device, false), h_view(host, false), state_(kokkos::SyncState::make()), two_arrays_(true) {
    expect_same_extents(device, host);
  }

  /// Of a device view and a mirror made for it here, `create_mirror_view(device)`: one array, with the content of
  /// `device`; the mirror, which nobody else can know, is not used. As above where `device` is part of a larger array
  /// or has a host side already.
  DualView(const t_dev& device, t_host&& host) : DualView(device, static_cast<const t_host&>(host)) {
    if (!device.is_allocated() || host.use_count() > 2) return;
    try {
      pair(device);
    } catch (const UsageError&) {
    }
  }

  // --- views -----------------------------------------------------------------------------------------------------
  [[nodiscard]] t_host view_host() const { return h_view; }
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
    state_.modify(kokkos::SyncState::host);
    announce(Access::overwrite);  // written already, as with Kokkos: nothing is fetched
  }
  void modify_device() { state_.modify(kokkos::SyncState::device); }

  template <class Where, class... Instance>
  void sync(const Instance&...) {
    is_device_side<Where> ? sync_device() : sync_host();
  }
  template <class... Instance>
  void sync_host(const Instance&...) {
    if (two_arrays_ && need_sync_host()) Kokkos::deep_copy(view_host(), view_device());
    announce(Access::read);
    state_.sync(kokkos::SyncState::host);
  }
  template <class... Instance>
  void sync_device(const Instance&...) {
    if (two_arrays_ && need_sync_device()) Kokkos::deep_copy(view_device(), view_host());
    state_.sync(kokkos::SyncState::device);
  }

  template <class Where>
  [[nodiscard]] bool need_sync() const {
    return is_device_side<Where> ? need_sync_device() : need_sync_host();
  }
  [[nodiscard]] bool need_sync_host() const { return !h_view.coherent() && state_.needs_sync(kokkos::SyncState::host); }
  [[nodiscard]] bool need_sync_device() const {
    return !h_view.coherent() && state_.needs_sync(kokkos::SyncState::device);
  }
  void clear_sync_state() { state_.clear(); }

  // --- size ---------------------------------------------------------------------------------------------------------
  /// New extents, content discarded.
  template <class... Extents>
  void realloc(const Extents&... extents) {
    t_dev device = view_device();
    Kokkos::realloc(device, extents...);
    pair(device);
  }
  /// New extents; the common part keeps the content of the side that was written last.
  template <class... Extents>
  void resize(const Extents&... extents) {
    sync_device();
    t_dev device = view_device();
    Kokkos::resize(device, extents...);
    if (device.data() != d_view.data()) pair(device);
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
  explicit DualView(const t_dev& device) { pair(device); }

  /// Both sides of one array.
  void pair(const t_dev& device) {
    t_host host;
    if (device.is_allocated()) {
      const kokkos::detail::PartnerScope partner(device.data(), false);
      host = t_host(Kokkos::view_alloc(Kokkos::WithoutInitializing, device.label() + "_mirror"), device.layout());
    }
    const bool coherent = host.data() == nullptr || runtime::notices_host_accesses(host.data());
    d_view = Side<t_dev>(device, coherent);
    h_view = Side<t_host>(host, coherent);
    state_ = kokkos::SyncState::make();
    two_arrays_ = false;
  }

  static void expect_same_extents(const t_dev& device, const t_host& host) {
    bool same = device.span() == host.span();
    for (unsigned r = 0; r < unsigned(t_dev::rank); ++r) same = same && device.extent(r) == host.extent(r);
    SEMCACHE_EXPECTS(same, "DualView: the device and host views of '" + device.label() + "' differ in size");
  }

  /// Where the flags are all that is known of the host's accesses.
  void announce(Access mode) const {
    if (h_view.is_allocated() && !h_view.coherent() && !runtime::notices_host_accesses(h_view.data()))
      semcache::access(view_host(), mode);
  }

  template <class Where>
  static constexpr bool is_device_side =
      std::is_same<Where, typename Where::execution_space>::value
          ? std::is_same<Where, typename t_dev::execution_space>::value
          : std::is_same<typename Where::memory_space, typename t_dev::memory_space>::value;

  kokkos::SyncState state_;
  bool two_arrays_ = false;
};

}  // namespace semcache::tpetra

namespace Kokkos {

#define SEMCACHE_TPETRA_DUAL_VIEW(DEVICE)                                               \
  template <class DataType>                                                             \
  class DualView<DataType, DEVICE> : public semcache::tpetra::DualView<DataType, DEVICE> { \
   public:                                                                              \
    using semcache::tpetra::DualView<DataType, DEVICE>::DualView;                       \
  };                                                                                    \
  template <class DataType, class Layout, class Traits>                                 \
  class DualView<DataType, Layout, DEVICE, Traits>                                      \
      : public semcache::tpetra::DualView<DataType, Layout, DEVICE, Traits> {           \
   public:                                                                              \
    using semcache::tpetra::DualView<DataType, Layout, DEVICE, Traits>::DualView;       \
  };
SEMCACHE_TPETRA_DUAL_VIEW(semcache::Device)
SEMCACHE_TPETRA_DUAL_VIEW(semcache::Exec)
SEMCACHE_TPETRA_DUAL_VIEW(semcache::Space)
#undef SEMCACHE_TPETRA_DUAL_VIEW

}  // namespace Kokkos
