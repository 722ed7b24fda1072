// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <chrono>

namespace minife {

/// Prints the progress of a long run on stderr: nothing for the first two seconds, then one line every two seconds at most.
/// Only rank 0 prints. A call costs one clock read.
class Progress {
 public:
  explicit Progress(bool speaks) noexcept;

  void assembling(double share_done);
  void iterating(int iteration, int limit, double residual_norm);

 private:
  [[nodiscard]] bool due() noexcept;
  [[nodiscard]] double elapsed() const noexcept;

  using Clock = std::chrono::steady_clock;
  bool speaks_;
  Clock::time_point start_;
  Clock::time_point last_;
};

}  // namespace minife
