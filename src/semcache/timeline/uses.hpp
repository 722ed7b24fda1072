// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/base/own_memory.hpp>
#include <semcache/base/region.hpp>
#include <semcache/timeline/clock.hpp>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <new>
#include <utility>

/// When work on a device's queues happens: positions of pieces of work, which memory they use, and how far each queue is known to
/// be. README.md defines queue, position and event.
namespace semcache::timeline {

/// The queues whose uses lie within a `Uses` object: those of a process with one device and few streams.
inline constexpr QueueIndex near_queues = 16;
/// Uses of queues beyond those lie in pieces of so many queues. There are as many pieces as the process's queues need.
inline constexpr QueueIndex piece_queues = 16;
/// The index of the program's first queue where there is one device: behind the runtime's own three.
inline constexpr QueueIndex first_program_queue = 4;

/// A piece of work; none if the queue is the unknown one.
struct Work {
  QueueIndex queue = unknown_queue;
  std::uint64_t position = 0;
};

/// Raises a position to `to` if it is lower; a position only grows. Threads: any.
inline void raise(std::atomic<std::uint64_t>& position, std::uint64_t to) noexcept {
  std::uint64_t known = position.load(std::memory_order_relaxed);
  while (known < to && !position.compare_exchange_weak(known, to)) {
  }
}

/// What a piece of work does with some memory. Work that writes waits for readers and writers; work that reads waits for writers.
enum class Mode : std::uint8_t { reads, writes };
[[nodiscard]] constexpr Mode mode_of(bool writes) noexcept { return writes ? Mode::writes : Mode::reads; }

/// The positions on a queue of the last use that only reads some memory, and of the last use that writes it; 0 if there was none.
struct Use {
  std::atomic<std::uint64_t> read{0};
  std::atomic<std::uint64_t> write{0};
  /// Returns the position of the last use.
  [[nodiscard]] std::uint64_t last() const noexcept { return std::max(read.load(), write.load()); }
};

/// A use of a part of some memory.
struct PartialUse {
  Region where;
  QueueIndex queue = unknown_queue;
  Mode mode = Mode::reads;
  std::uint64_t position = 0;
};

/// The uses of some memory on all queues: those of the memory as a whole, which launches note without a lock, and those of parts.
/// Threads: any, except where a member names others.
class Uses {
 public:
  /// @pre there is room for the queue (`extend`)
  [[nodiscard]] Use& on(QueueIndex q) noexcept { return const_cast<Use&>(std::as_const(*this).on(q)); }
  [[nodiscard]] const Use& on(QueueIndex q) const noexcept {
    return q < near_queues ? near_[q ^ first_program_queue] : far_->pieces[piece_of(q)]->uses[q % piece_queues];
  }
  /// Makes room for the queues below `end`. What there is stays in place, so other threads may use it meanwhile.
  /// Threads: with the engine's lock, before any thread has a number of the new queues.
  /// @throws std::bad_alloc  there may be room for some of them
  void extend(QueueIndex end) {
    if (end > near_queues && far_ == nullptr) far_ = base::make_owned<Far>();
    for (QueueIndex q = near_queues; q < end; q += piece_queues) {
      base::Owned<Piece>& piece = far_->pieces[piece_of(q)];
      if (piece == nullptr) piece = base::make_owned<Piece>();
    }
  }
  /// Does the first queue of a piece have this index? Otherwise there is room for it where there is room for the queue before.
  [[nodiscard]] static constexpr bool begins_piece(QueueIndex q) noexcept { return q >= near_queues && q % piece_queues == 0; }
  /// Notes a use by the work at position `at` of the queue. Positions may come in any order, because threads may share a stream.
  void note(QueueIndex q, std::uint64_t at, Mode mode) noexcept {
    raise(mode == Mode::writes ? on(q).write : on(q).read, at);
  }
  /// So many partial uses are known at most. Beyond them the earliest one counts as a use of the whole memory.
  static constexpr std::size_t most_parts = 32;
  /// Notes a use of a part. Threads: with the engine's lock.
  /// @param done  `done(queue, position)` returns whether that work is known to be done
  template <class Done>
  void note(const PartialUse& use, const Done& done) noexcept {
    if (!begin_parts()) return note(use.queue, use.position, use.mode);
    for (auto earlier = parts_->rbegin(); earlier != parts_->rend(); ++earlier) {
      if (earlier->queue != use.queue || earlier->mode != use.mode) continue;
      // A thread that waits for one of two parts must not wait for later work on the other, so they are joined within one piece of work.
      if (earlier->where != use.where && (earlier->position != use.position || !join(earlier->where, use.where))) continue;
      earlier->position = std::max(earlier->position, use.position);
      return;
    }
    if (parts_->size() >= most_parts) widen(done);
    if (parts_->size() >= most_parts) {
      note(parts_->front().queue, parts_->front().position, parts_->front().mode);
      parts_->erase(parts_->begin());
    }
    try {
      parts_->push_back(use);
    } catch (const std::bad_alloc&) {
      note(use.queue, use.position, use.mode);
    }
  }
  /// Lets partial uses count as uses of the whole memory. Threads: with the engine's lock.
  /// @param which  `which(queue, position)` returns whether the use by that work is one of them
  template <class Which>
  void widen(const Which& which) noexcept {
    if (parts_ == nullptr) return;
    // Not std::stable_partition, which takes memory of the program's malloc.
    const auto others = std::remove_if(parts_->begin(), parts_->end(), [&](const PartialUse& u) {
      const bool one = which(u.queue, u.position);
      if (one) note(u.queue, u.position, u.mode);
      return one;
    });
    parts_->erase(others, parts_->end());
  }
  /// The partial uses. Threads: with the engine's lock.
  [[nodiscard]] const base::Vector<PartialUse>& parts() const noexcept {
    static const base::Vector<PartialUse> none;
    return parts_ == nullptr ? none : *parts_;
  }
  /// Return the positions on a queue of the last use of the memory or of any part of it, and of the last use that writes. They
  /// never become less, until `forget`. Threads: with the engine's lock.
  [[nodiscard]] std::uint64_t last(QueueIndex q) const noexcept { return last(q, on(q).last(), Mode::reads); }
  [[nodiscard]] std::uint64_t last_write(QueueIndex q) const noexcept { return last(q, on(q).write.load(), Mode::writes); }
  /// Threads: with the engine's lock.
  void forget() noexcept {
    parts_.reset();
    const auto forget = [](Use& u) {
      u.read.store(0, std::memory_order_relaxed);
      u.write.store(0, std::memory_order_relaxed);
    };
    std::for_each(near_, near_ + near_queues, forget);
    if (far_ == nullptr) return;
    for (const auto& piece : far_->pieces) {
      if (piece != nullptr) std::for_each(piece->uses, piece->uses + piece_queues, forget);
    }
  }

 private:
  /// Returns whether there is memory for a list of parts.
  [[nodiscard]] bool begin_parts() noexcept {
    try {
      if (parts_ == nullptr) parts_ = base::make_owned<base::Vector<PartialUse>>();
    } catch (const std::bad_alloc&) {
    }
    return parts_ != nullptr;
  }
  [[nodiscard]] std::uint64_t last(QueueIndex q, std::uint64_t position, Mode least) const noexcept {
    for (const PartialUse& use : parts()) {
      if (use.queue == q && use.mode >= least) position = std::max(position, use.position);
    }
    return position;
  }

  static_assert(near_queues % piece_queues == 0 && max_queues % piece_queues == 0, "pieces begin at multiples of their size");
  [[nodiscard]] static constexpr QueueIndex piece_of(QueueIndex q) noexcept { return (q - near_queues) / piece_queues; }

  struct Piece {
    Use uses[piece_queues];
  };
  struct Far {
    base::Owned<Piece> pieces[(max_queues - near_queues) / piece_queues];
  };
  /// The program's first queue lies in front, so that a launch on it touches one cache line of each array.
  Use near_[near_queues];
  base::Owned<Far> far_;
  base::Owned<base::Vector<PartialUse>> parts_;  ///< nullptr: none so far
};

}  // namespace semcache::timeline
