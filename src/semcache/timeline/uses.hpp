// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <atomic>
#include <cstdint>

/// When work on a device's queues happens: numbers of pieces of work, who uses what with which of them, and how far each queue is
/// known to be.
namespace semcache::timeline {

/// Index of a queue of a device; 0 stands for "some queue of the device that we do not know".
using QueueIndex = std::uint32_t;
inline constexpr QueueIndex unknown_queue = 0;
inline constexpr QueueIndex max_queues = 16;
/// Behind our own three.
inline constexpr QueueIndex first_program_queue = 4;

/// A piece of work. On the unknown queue: none.
struct Work {
  std::uint32_t device = 0;
  QueueIndex queue = unknown_queue;
  std::uint64_t position = 0;
};

/// A position only grows. Threads: any.
inline void raise(std::atomic<std::uint64_t>& position, std::uint64_t to) noexcept {
  std::uint64_t known = position.load(std::memory_order_relaxed);
  while (known < to && !position.compare_exchange_weak(known, to)) {
  }
}

/// What a piece of work does with some memory. Who writes waits for readers and writers, who reads for writers.
enum class Mode : std::uint8_t { reads, writes };
[[nodiscard]] constexpr Mode mode_of(bool writes) noexcept { return writes ? Mode::writes : Mode::reads; }

/// Positions on a queue of the last use of some memory, and of the last one that writes it. 0: there was none.
struct Use {
  std::atomic<std::uint64_t> use{0};
  std::atomic<std::uint64_t> write{0};
};

/// The uses of some memory on all queues. Threads: any.
class Uses {
 public:
  [[nodiscard]] Use& on(QueueIndex q) noexcept { return uses_[q ^ first_program_queue]; }
  [[nodiscard]] const Use& on(QueueIndex q) const noexcept { return uses_[q ^ first_program_queue]; }
  /// A piece of work, number `at` of the queue. Threads may share a stream: numbers may come in any order.
  void note(QueueIndex q, std::uint64_t at, Mode mode) noexcept {
    raise(on(q).use, at);
    if (mode == Mode::writes) raise(on(q).write, at);
  }
  void forget() noexcept {
    for (Use& u : uses_) {
      u.use.store(0, std::memory_order_relaxed);
      u.write.store(0, std::memory_order_relaxed);
    }
  }

 private:
  /// The program's first queue in front: a launch on it touches one cache line of each array.
  Use uses_[max_queues];
};

}  // namespace semcache::timeline
