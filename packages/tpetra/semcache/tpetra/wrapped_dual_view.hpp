// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/tpetra/dual_view.hpp>

#include <Tpetra_Details_WrappedDualView.hpp>

namespace semcache::tpetra {

/// The class in which Tpetra's graphs and matrices keep their arrays. Views of both sides may be alive at any time. Taking a
/// view copies nothing, and no view is refused.
template <class Dual>
class WrappedDualView {
  using ReadOnly = Tpetra::Access::ReadOnlyStruct;
  using ReadWrite = Tpetra::Access::ReadWriteStruct;
  using OverwriteAll = Tpetra::Access::OverwriteAllStruct;

 public:
  using HostViewType = typename Dual::t_host;
  using DeviceViewType = typename Dual::t_dev;

  WrappedDualView() = default;
  explicit WrappedDualView(const Dual& dual) : whole_(dual), part_(dual) {}
  /// Wraps a device array. @throws std::invalid_argument the view does not own its memory
  explicit WrappedDualView(const DeviceViewType& device) {
    if (device.data() == nullptr) return;
    if (device.use_count() == 0)
      throw std::invalid_argument("WrappedDualView: '" + device.label() + "' owns no memory. Give a view that was allocated, not one of a "
                                  "bare pointer");
    whole_ = Dual(one_array, device);
    part_ = whole_;
  }
  WrappedDualView(const WrappedDualView& parent, int offset, int count)
      : whole_(parent.whole_), part_(parent.part_, range(offset, count)) {}

  [[nodiscard]] std::size_t extent(int dimension) const { return part_.extent(dimension); }

  typename HostViewType::const_type getHostView(ReadOnly) const {
    whole_.sync_host();
    return part_.view_host();
  }
  HostViewType getHostView(ReadWrite) {
    refuse_const();
    whole_.sync_host();
    whole_.modify_host();
    return part_.view_host();
  }
  HostViewType getHostView(OverwriteAll) {
    refuse_const();
    if (is_part()) return getHostView(Tpetra::Access::ReadWrite);
    whole_.clear_sync_state();
    whole_.modify_host();
    return part_.view_host();
  }
  typename DeviceViewType::const_type getDeviceView(ReadOnly) const {
    whole_.sync_device();
    return part_.view_device();
  }
  DeviceViewType getDeviceView(ReadWrite) {
    refuse_const();
    whole_.sync_device();
    whole_.modify_device();
    return part_.view_device();
  }
  DeviceViewType getDeviceView(OverwriteAll) {
    refuse_const();
    if (is_part()) return getDeviceView(Tpetra::Access::ReadWrite);
    whole_.clear_sync_state();
    whole_.modify_device();
    return part_.view_device();
  }

  typename HostViewType::const_type getHostSubview(int offset, int count, ReadOnly mode) const {
    return Kokkos::subview(getHostView(mode), range(offset, count));
  }
  HostViewType getHostSubview(int offset, int count, ReadWrite mode) {
    return Kokkos::subview(getHostView(mode), range(offset, count));
  }
  HostViewType getHostSubview(int offset, int count, OverwriteAll) {
    return getHostSubview(offset, count, Tpetra::Access::ReadWrite);
  }
  typename DeviceViewType::const_type getDeviceSubview(int offset, int count, ReadOnly mode) const {
    return Kokkos::subview(getDeviceView(mode), range(offset, count));
  }
  DeviceViewType getDeviceSubview(int offset, int count, ReadWrite mode) {
    return Kokkos::subview(getDeviceView(mode), range(offset, count));
  }
  DeviceViewType getDeviceSubview(int offset, int count, OverwriteAll) {
    return getDeviceSubview(offset, count, Tpetra::Access::ReadWrite);
  }

 private:
  static constexpr void refuse_const() {
    static_assert(!std::is_const<typename DeviceViewType::value_type>::value,
                  "a DualView of const data has read-only views only");
  }
  static Kokkos::pair<int, int> range(int offset, int count) { return {offset, offset + count}; }

  [[nodiscard]] bool is_part() const {
    return whole_.d_view.data() != part_.d_view.data() || whole_.d_view.span() != part_.d_view.span();
  }

  mutable Dual whole_;
  mutable Dual part_;
};

}  // namespace semcache::tpetra

namespace Tpetra {
namespace Details {

template <class DataType>
class WrappedDualView<Kokkos::DualView<DataType, semcache::Device>>
    : public semcache::tpetra::WrappedDualView<Kokkos::DualView<DataType, semcache::Device>> {
 public:
  using semcache::tpetra::WrappedDualView<Kokkos::DualView<DataType, semcache::Device>>::WrappedDualView;
  WrappedDualView() = default;
  WrappedDualView(const WrappedDualView& parent, int offset, int count)
      : semcache::tpetra::WrappedDualView<Kokkos::DualView<DataType, semcache::Device>>(parent, offset, count) {}
};

}  // namespace Details
}  // namespace Tpetra
