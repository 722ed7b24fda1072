// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors

#include <minife/progress.hpp>

#include <cstdio>

namespace minife {

Progress::Progress(bool speaks) noexcept : speaks_(speaks), start_(Clock::now()), last_(start_) {}

bool Progress::due() noexcept {
  if (!speaks_) return false;
  const Clock::time_point now = Clock::now();
  if (now - last_ < std::chrono::seconds(2)) return false;
  last_ = now;
  return true;
}

double Progress::elapsed() const noexcept { return std::chrono::duration<double>(Clock::now() - start_).count(); }

void Progress::assembling(double share_done) {
  if (due()) std::fprintf(stderr, "minife: assembled %.0f %% of the matrix, %.0f s\n", 100 * share_done, elapsed());
}

void Progress::iterating(int iteration, int limit, double residual_norm) {
  if (due()) {
    std::fprintf(stderr, "minife: iteration %d of at most %d, residual norm %.3e, %.0f s\n", iteration, limit,
                 residual_norm, elapsed());
  }
}

}  // namespace minife
