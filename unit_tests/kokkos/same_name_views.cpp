// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "same_name.hpp"

namespace same_name {

using Unmanaged = Kokkos::View<const double*, Kokkos::LayoutLeft, semcache::Device, Kokkos::MemoryUnmanaged>;
struct Kernel {
  Unmanaged x;
  Vector y;
  KOKKOS_FUNCTION void operator()(int i) const { y(i) += x(i); }
};

}  // namespace same_name

void same_name_launch(const same_name::Vector& x, const same_name::Vector& y) {
  const same_name::Unmanaged same_x(x.data(), x.extent(0));
  Kokkos::parallel_for("add", same_name::Range(0, x.extent(0)), same_name::Kernel{same_x, y});
}
