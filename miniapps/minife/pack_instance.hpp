// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <Kokkos_Core.hpp>

namespace minife {

/// A second instance of an execution space, so that reading what was packed on it need not wait for the big kernels of
/// the first. Where kernels run on the host there is one queue anyway.
#ifdef KOKKOS_ENABLE_CUDA
template <class Exec>
class PackInstance {
 public:
  // The stream is Kokkos' own: it lives as long as anybody holds a copy of the instance.
  PackInstance() : exec_(Kokkos::Experimental::partition_space(Exec(), 1)[0]) {}
  [[nodiscard]] const Exec& get() const noexcept { return exec_; }

 private:
  Exec exec_;
};
#else
template <class Exec>
class PackInstance {
 public:
  [[nodiscard]] const Exec& get() const noexcept { return exec_; }

 private:
  Exec exec_;
};
#endif

}  // namespace minife
