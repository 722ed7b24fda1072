// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <minife/mpi_support.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace minife {

struct DeviceInfo {
  std::string kind;  ///< "emulated" or "cuda"
  std::string name;
  int count = 1;  ///< devices used by all ranks together
  std::vector<int> of_rank;  ///< for each rank, which of its node's devices it uses (of several: the first)
};

/// Initialises Kokkos on construction and finalises it on destruction. With CUDA each rank takes one GPU of its node, chosen
/// by its rank on the node.
class KokkosSession {
 public:
  /// @throws std::exception if Kokkos cannot start, or there is no GPU for a CUDA Kokkos
  explicit KokkosSession(const MpiSession& mpi);
  ~KokkosSession();
  KokkosSession(const KokkosSession&) = delete;
  KokkosSession& operator=(const KokkosSession&) = delete;

  /// Takes `count` devices for this process: of the L ranks of a node, rank r takes r, r + L, r + 2L and so on. To be called before the
  /// first use of SemCache.
  /// @return why the node has too few devices for that, and the remedy; empty if they have been taken
  [[nodiscard]] std::string take_devices(const MpiSession& mpi, int count) const;
  /// Returns what the ranks compute on: each on the device `number` of its process's devices, or on `of_each` devices from there on.
  /// Collective. To be called at the end, because the runtime, which starts at first use, describes the emulated device.
  [[nodiscard]] DeviceInfo device(const MpiSession& mpi, std::uint32_t number, int of_each) const;
};

/// Returns whether kernels run on the host, on semcache's emulated device.
[[nodiscard]] bool device_is_emulated() noexcept;

/// Switches semcache's protocol off, for copies that are placed by hand on the emulated device. Must be called before the
/// runtime starts, which reads the protocol then.
/// @throws std::exception  the user's variables have values that cannot be used; overwriting them would hide that
void switch_protocol_off();

/// Ends semcache's runtime, whose arrays are no longer used. The next one, which starts at its first use, writes a timeline to this file.
/// @param file  empty: it writes none
void end_runtime_and_trace_the_next(const std::string& file);

}  // namespace minife
