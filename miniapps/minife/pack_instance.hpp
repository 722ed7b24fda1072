// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <Kokkos_Core.hpp>

namespace minife {

/// A second instance of a CUDA execution space, so that waiting for what was packed on it does not wait for the big kernels
/// of the first. Kokkos owns its stream, which lives as long as any copy of the instance.
template <class Exec>
class PackInstance {
 public:
#if KOKKOS_VERSION >= 30500
  PackInstance() : exec_(Kokkos::Experimental::partition_space(Exec(), 1)[0]) {}
#else
  // Kokkos 3.4 makes no second instance, so waits take longer.
  PackInstance() = default;
#endif
  [[nodiscard]] const Exec& get() const noexcept { return exec_; }

 private:
  Exec exec_;
};

}  // namespace minife
