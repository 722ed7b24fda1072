// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <minife/mpi_support.hpp>

#include <string>
#include <vector>

namespace minife {

struct DeviceInfo {
  std::string kind;  ///< "emulated" or "cuda"
  std::string name;
  int count = 1;  ///< devices used by all ranks together
  std::vector<int> of_rank;  ///< by rank: which of its node's devices it uses
};

/// Kokkos from construction to destruction. With CUDA each rank takes one GPU of its node, by its rank there.
class KokkosSession {
 public:
  /// @throws std::exception if Kokkos cannot start, or there is no GPU for a CUDA Kokkos
  explicit KokkosSession(const MpiSession& mpi);
  ~KokkosSession();
  KokkosSession(const KokkosSession&) = delete;
  KokkosSession& operator=(const KokkosSession&) = delete;

  /// Collective. Ask at the end: the emulated device is described by the runtime, which starts at first use.
  [[nodiscard]] DeviceInfo device(const MpiSession& mpi) const;
};

/// True if kernels run on the host, where semcache's emulated device stands for the GPU.
[[nodiscard]] bool device_is_emulated() noexcept;

/// For copies placed by hand on the emulated device: its protocol, which it reads when it starts, is switched off.
/// @throws std::exception if what the user's variables say cannot be used: overwriting it would hide that
void switch_protocol_off();

}  // namespace minife
