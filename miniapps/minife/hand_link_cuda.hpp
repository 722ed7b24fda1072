// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <minife/cuda_stream.hpp>
#include <minife/tally.hpp>

#include <Kokkos_Core.hpp>

namespace minife {

struct HandSpaces {
  using Exec = Kokkos::Cuda;
  using DeviceMemory = Kokkos::CudaSpace;
  template <class View>
  using Mirror = Kokkos::View<typename View::non_const_data_type, Kokkos::CudaHostPinnedSpace>;

  template <class View>
  static Mirror<View> mirror(const View& view) {
    return Mirror<View>(Kokkos::view_alloc(Kokkos::WithoutInitializing, view.label() + "_host"), view.extent(0));
  }
};

/// Kernels run on one stream. Copies, and the kernel that packs what they carry, run on a second one.
class HandLink {
 public:
  HandLink() : copies_(stream_.get()) {}

  [[nodiscard]] const Kokkos::Cuda& kernels() const noexcept { return kernels_; }
  [[nodiscard]] const Kokkos::Cuda& copies() const noexcept { return copies_; }

  void copies_after_kernels() { event_.order(kernels_.cuda_stream(), copies_.cuda_stream()); }
  void kernels_after_copies() { event_.order(copies_.cuda_stream(), kernels_.cuda_stream()); }
  void wait_for_copies() const { copies_.fence(); }
  void wait_for_kernels() const { kernels_.fence(); }

  /// Copies asynchronously, in the order of copies(). Empty arrays move nothing.
  template <class To, class From>
  void to_device(const To& to, const From& from) {
    copy(tally_.h2d, to, from);
  }
  template <class To, class From>
  void to_host(const To& to, const From& from) {
    copy(tally_.d2h, to, from);
  }

  /// Counts a reduction's result, a double, that the host has received. Kokkos lets the kernel write it into pinned memory, so
  /// it is not a copy by the driver and is counted separately.
  void count_result() noexcept { tally_.results.add(sizeof(double)); }
  [[nodiscard]] Tally tally() const noexcept { return tally_; }

 private:
  template <class To, class From>
  void copy(Traffic& traffic, const To& to, const From& from) {
    if (from.size() == 0) return;
    Kokkos::deep_copy(copies_, to, from);
    traffic.add(from.size() * sizeof(typename From::value_type));
  }

  CudaStream stream_;
  CudaEvent event_;
  Kokkos::Cuda kernels_;
  Kokkos::Cuda copies_;
  Tally tally_;
};

}  // namespace minife
