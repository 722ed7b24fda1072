// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <minife/statistics_tally.hpp>

#include <semcache/kokkos.hpp>

#include <utility>

namespace minife {

struct HandSpaces {
  using Exec = semcache::Device::execution_space;
  using DeviceMemory = semcache::Device::memory_space;
  template <class View>
  using Mirror = decltype(Kokkos::create_mirror(std::declval<const View&>()));

  template <class View>
  static Mirror<View> mirror(const View& view) {
    return Kokkos::create_mirror(view);
  }
};

/// Takes the same steps as on CUDA. The emulated device computes at the call, so nothing needs ordering.
class HandLink {
 public:
  [[nodiscard]] const HandSpaces::Exec& kernels() const noexcept { return exec_; }
  [[nodiscard]] const HandSpaces::Exec& copies() const noexcept { return exec_; }

  void copies_after_kernels() const noexcept {}
  void kernels_after_copies() const noexcept {}
  void wait_for_copies() const { exec_.fence(); }
  void wait_for_kernels() const { exec_.fence(); }

  template <class To, class From>
  void to_device(const To& to, const From& from) const {
    if (from.size() != 0) Kokkos::deep_copy(exec_, to, from);
  }
  template <class To, class From>
  void to_host(const To& to, const From& from) const {
    if (from.size() != 0) Kokkos::deep_copy(exec_, to, from);
  }

  void count_result() const noexcept {}  // the result does not cross the link
  [[nodiscard]] Tally tally() const { return tally_of_statistics(); }

 private:
  HandSpaces::Exec exec_;
};

}  // namespace minife
