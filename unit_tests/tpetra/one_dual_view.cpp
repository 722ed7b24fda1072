// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "one_dual_view.hpp"

namespace one_dual_view {

Kokkos::DualView<double*, semcache::Device> make(int n) {
  Kokkos::DualView<double*, semcache::Device> dual("dual", n);
  dual.h_view(3) = 4;
  dual.modify_host();
  return dual;
}

std::size_t size() { return sizeof(Kokkos::DualView<double*, semcache::Device>); }

}  // namespace one_dual_view
