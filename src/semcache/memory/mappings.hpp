// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/platform/platform.hpp>

#include <cstdint>

namespace semcache::memory {

/// An estimate of how many mappings of the kernel the process has. Each change of a protection may split some.
/// Threads: guarded by the engine's lock.
class Mappings {
 public:
  explicit Mappings(const platform::Platform& platform) noexcept : platform_(platform) {}
  /// Notes that there are at most `most` mappings more.
  void add(std::uint64_t most) noexcept { estimate_ += most; }
  /// Returns whether the kernel's limit is near. The estimate is pessimistic, because neighbours of equal protection share a
  /// mapping and split mappings merge again. So beyond the limit the mappings are counted from time to time.
  [[nodiscard]] bool scarce() noexcept {
    const std::uint64_t limit = platform_.mapping_limit();
    if (estimate_ <= limit) return false;
    if (estimate_ >= counted_at_ + 1024) {
      if (const std::uint64_t counted = platform_.mapping_count(); counted != 0) estimate_ = counted;
      counted_at_ = estimate_;
    }
    return estimate_ > limit;
  }

 private:
  const platform::Platform& platform_;
  std::uint64_t estimate_ = 0;
  std::uint64_t counted_at_ = 0;  ///< the estimate when it was last replaced by a count
};

}  // namespace semcache::memory
