// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <algorithm>
#include <cstdint>

namespace semcache::timeline {

/// Index of a queue of any device; 0 means "some queue, of some device, that the runtime does not know".
using QueueIndex = std::uint32_t;
inline constexpr QueueIndex unknown_queue = 0;
/// A clock has a position for each queue. With so many, an event takes less than a kilobyte: larger blocks would make malloc tidy up.
inline constexpr QueueIndex max_queues = 96;

/// A position for each queue: work up to there has happened before. These are vector clocks (Mattern, Virtual time and global
/// states of distributed systems, 1989), in which queues are the processes and waits for events are the messages.
/// Copying a clock takes as long as the process has queues, of which there are few, although a clock has room for all that there can be.
class Clock {
 public:
  Clock() noexcept {}  // NOLINT(modernize-use-equals-default): positions that are not set are not written
  Clock(const Clock& other) noexcept { *this = other; }  // NOLINT(cppcoreguidelines-pro-type-member-init)
  Clock& operator=(const Clock& other) noexcept {
    std::copy_n(other.positions_, other.count_, positions_);
    count_ = other.count_;
    return *this;
  }
  ~Clock() = default;

  [[nodiscard]] std::uint64_t operator[](QueueIndex q) const noexcept { return q < count_ ? positions_[q] : 0; }
  void set(QueueIndex q, std::uint64_t position) noexcept {
    while (count_ <= q) positions_[count_++] = 0;
    positions_[q] = position;
  }
  /// Returns a number above the indices of all queues that have a position here.
  [[nodiscard]] QueueIndex end() const noexcept { return count_; }

 private:
  QueueIndex count_ = 0;
  std::uint64_t positions_[max_queues];
};

}  // namespace semcache::timeline
