// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include "benchmarks.hpp"

namespace microbenchmarks {

/// Counts what the driver moves for managed memory (CUPTI); without CUPTI it counts nothing.
class ManagedCounter {
 public:
  void start();
  /// What moved since `start`, by this process on the current device; nothing if that cannot be counted here.
  [[nodiscard]] std::optional<Counts> stop();

 private:
  bool counting_ = false;
};

}  // namespace microbenchmarks
