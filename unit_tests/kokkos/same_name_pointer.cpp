// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "same_name.hpp"

#include <cstdint>

namespace same_name {

/// Two words, which are those that the other library's functor begins with: an unmanaged view is a 1 and a pointer.
struct Kernel {
  std::uint64_t step;
  double* x;
  KOKKOS_FUNCTION void operator()(int i) const { x[i] += static_cast<double>(step); }
};

}  // namespace same_name

void same_name_launch(const same_name::Vector& x, const same_name::Vector&) {
  Kokkos::parallel_for("step", same_name::Range(0, x.extent(0)), same_name::Kernel{1, x.data()});
}
