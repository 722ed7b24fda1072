// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include "benchmarks.hpp"

namespace microbenchmarks {

/// Counts through CUPTI what the driver moves for managed memory. Without CUPTI it counts nothing.
class ManagedCounter {
 public:
  void start();
  /// Returns what moved since `start`, for this process on the current device, or nothing if that cannot be counted here.
  [[nodiscard]] std::optional<Counts> stop();

 private:
  bool counting_ = false;
};

}  // namespace microbenchmarks
