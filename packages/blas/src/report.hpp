// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include "decision.hpp"

#include <atomic>
#include <cstdint>

/// What becomes of the calls of this process, for the report.
namespace semcache::blas {

/// A routine that is wrapped, and what became of its calls. A constant-initialised static of its wrapper.
class Routine {
 public:
  /// @param name  as the report has it, with its library: BLAS dgemm
  explicit constexpr Routine(const char* name) noexcept : name_(name) {}
  [[nodiscard]] const char* name() const noexcept { return name_; }

 private:
  friend void count(Routine&, Verdict) noexcept;
  friend struct Counts;
  const char* name_;
  std::atomic<std::uint64_t> counts_[verdicts]{};
  std::atomic<bool> listed_{false};
  Routine* next_ = nullptr;  ///< of those that were called
};

/// Counts a call. Allocates nothing.
void count(Routine& routine, Verdict verdict) noexcept;
/// Gives the counts so far to the report of the runtime that runs.
void give_counts_to_runtime() noexcept;

}  // namespace semcache::blas
