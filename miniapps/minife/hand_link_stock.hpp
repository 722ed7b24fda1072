// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <minife/tally.hpp>

#include <Kokkos_Core.hpp>

#include <utility>

namespace minife {

/// Stock Kokkos on the host: what would be the device's memory on a GPU is host memory of its own, so each copy is made.
struct HandSpaces {
  using Exec = Kokkos::DefaultExecutionSpace;
  using DeviceMemory = Exec::memory_space;
  template <class View>
  using Mirror = decltype(Kokkos::create_mirror(std::declval<const View&>()));

  template <class View>
  static Mirror<View> mirror(const View& view) {
    return Mirror<View>(Kokkos::view_alloc(Kokkos::WithoutInitializing, view.label() + "_host"), view.extent(0));
  }
};

/// Counts what it copies, as on CUDA.
class HandLink {
 public:
  [[nodiscard]] const HandSpaces::Exec& kernels() const noexcept { return exec_; }
  [[nodiscard]] const HandSpaces::Exec& copies() const noexcept { return exec_; }

  void copies_after_kernels() const { exec_.fence(); }
  void kernels_after_copies() const { exec_.fence(); }
  void wait_for_copies() const { exec_.fence(); }
  void wait_for_kernels() const { exec_.fence(); }

  template <class To, class From>
  void to_device(const To& to, const From& from) {
    copy(tally_.h2d, to, from);
  }
  template <class To, class From>
  void to_host(const To& to, const From& from) {
    copy(tally_.d2h, to, from);
  }
  void count_result() const noexcept {}  // the result does not cross the link
  [[nodiscard]] Tally tally() const noexcept { return tally_; }

 private:
  template <class To, class From>
  void copy(Traffic& traffic, const To& to, const From& from) {
    if (from.size() == 0) return;
    Kokkos::deep_copy(exec_, to, from);
    traffic.add(from.size() * sizeof(typename From::value_type));
  }

  HandSpaces::Exec exec_;
  Tally tally_;
};

}  // namespace minife
