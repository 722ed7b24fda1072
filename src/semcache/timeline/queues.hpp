// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/base/types.hpp>
#include <semcache/device/device.hpp>
#include <semcache/timeline/uses.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <deque>
#include <memory>
#include <optional>
#include <utility>

namespace semcache::timeline {

/// For each queue a position: work up to there has happened before. Vector clocks (Mattern, Virtual time and global
/// states of distributed systems, 1989): queues are the processes, waits for events the messages.
using Clock = std::array<std::uint64_t, max_queues>;

class Queues;

/// For who waits for another thread: one that ends what it does by itself.
void wait_a_moment();

/// An event that is given back when nobody looks at it any more.
class Event : base::Uncopied {
 public:
  /// @param before  what has happened when the event has: the queue's own position and what it waited for; told to
  ///                `queues` once the event has been seen
  Event(device::Device& device, device::EventId id, Queues& queues, QueueIndex queue, const Clock& before)
      : device_(device), id_(id), queues_(queues), queue_(queue), before_(before) {}
  ~Event() { device_.release(id_); }
  [[nodiscard]] device::EventId id() const noexcept { return id_; }
  [[nodiscard]] const Clock& before() const noexcept { return before_; }
  /// Has it been seen to have happened, itself or by what came after it? Asks nobody.
  [[nodiscard]] bool known() const noexcept;
  /// Asks the driver unless it is known: about a microsecond.
  [[nodiscard]] bool complete() const;
  void synchronize() const;

 private:
  device::Device& device_;
  device::EventId id_;
  Queues& queues_;
  QueueIndex queue_;
  Clock before_;
};

/// The queues of one device and how far each is known to be. Work on a queue is numbered 1, 2, …; a slot remembers
/// the numbers, and an event is recorded only when somebody must wait (I6). Guarded by the engine's lock, except where
/// any thread is allowed.
class Queues : base::Uncopied {
 public:
  explicit Queues(device::Device& device) : device_(device) {}
  ~Queues();

  /// A queue of our own. @pre no queue has been adopted yet
  QueueIndex open();
  /// The index of a native stream; `unknown_queue` when there are too many to follow.
  QueueIndex adopt(void* native, std::shared_ptr<void> owner);
  /// `retire` must be called once more.
  void lease(QueueIndex index) noexcept { ++queues_[index].leases; }
  /// Ends a lease; behind the last one, or without any, the stream is given up. Waits for the device. @throws DeviceError  it stays, but
  /// no stream has its name any more
  void retire(QueueIndex index);
  /// The same in two steps, with a wait for the device between them. None: nothing more is to be done.
  [[nodiscard]] std::optional<Clock> begin_retiring(QueueIndex index);
  void end_retiring(QueueIndex index, const Clock& submitted) noexcept;
  /// Is it a stream's whose program may have destroyed it, without a word, and made another one of that name?
  [[nodiscard]] bool outlives_a_stream(QueueIndex q) const noexcept {
    return q != unknown_queue && q != first_program_queue_ && queues_[q].leases.load() == 0 && position(q) != 0;
  }
  [[nodiscard]] QueueId id(QueueIndex q) const noexcept { return queues_[q].id; }
  [[nodiscard]] bool own(QueueIndex q) const noexcept { return queues_[q].own; }
  [[nodiscard]] QueueIndex count() const noexcept { return count_; }
  /// Our own queues are 1 .. own_end() - 1.
  [[nodiscard]] QueueIndex own_end() const noexcept { return own_end_; }
  [[nodiscard]] QueueIndex program_queues() const noexcept { return program_queues_; }

  /// The number of a piece of work that is being submitted now. Threads: any.
  std::uint64_t begin_position(QueueIndex q) noexcept {
    return queues_[q].position.fetch_add(1, std::memory_order_acq_rel) + 1;
  }
  [[nodiscard]] std::uint64_t position(QueueIndex q) const noexcept {
    return queues_[q].position.load(std::memory_order_acquire);
  }

  /// An event that happens after work number `position` of `q` (already submitted); nullptr if that work is known to
  /// be done. Reuses the earliest recorded event that suffices. @pre q != unknown_queue
  std::shared_ptr<Event> event_after(QueueIndex q, std::uint64_t position);
  /// Records an event after all work submitted to `q` so far, for later `event_after`.
  std::shared_ptr<Event> record(QueueIndex q);
  /// This thread submits work to a queue of ours.
  void note_submitter(QueueIndex q) noexcept;
  /// Before work is submitted to a queue of ours: lets others wait for what was submitted so far alone.
  void separate(QueueIndex q);
  /// What a thread does to wait for work `position` of `q`, without the engine's lock.
  class Wait {
   public:
    void operator()() const;

   private:
    friend class Queues;
    Queues* queues_ = nullptr;
    std::shared_ptr<Event> event_;
    /// Waited for itself, without an event, where the work is its last and only this thread submits to it: another one
    /// might submit something that comes after a long kernel of its own.
    QueueIndex queue_ = 0;
    Clock before_{};
  };
  [[nodiscard]] Wait wait_for(QueueIndex q, std::uint64_t position);
  /// Until everything that anybody has given to the device is done. Notes nothing. Threads: any. @throws DeviceError
  void wait_for_device() const { device_.synchronize_device(); }
  /// Until what was given to the queue is done; where the driver cannot tell of the queue, of the whole device. Notes nothing.
  /// @throws DeviceError  the device is lost
  void wait_for_queue(QueueIndex q) const;
  /// Is a queue known to have work left? Asks the driver.
  [[nodiscard]] bool any_at_work() const;
  /// Later work on `q` starts after work `position` of `producer`. Nothing is submitted if that is known already.
  void order(QueueIndex q, QueueIndex producer, std::uint64_t position);
  /// Is later work on `q` known to start after work `position` of `producer`?
  [[nodiscard]] bool ordered(QueueIndex q, QueueIndex producer, std::uint64_t position) const noexcept {
    return q == producer || queues_[q].ordered_after[producer].load() >= position;
  }
  /// Need no later launch wait for work `position` of `q`: it is done, or every program queue is ordered after it.
  [[nodiscard]] bool passed(QueueIndex q, std::uint64_t position) const noexcept;
  /// A stream that the program may destroy at any time: an event is recorded behind each launch, because nothing can be
  /// submitted to it later. The first one, the framework's default, lives as long as the runtime. One that is leased lives as
  /// long as its lease; it gets an event before others submit something, if that is told (`others_are_told_of`).
  [[nodiscard]] bool needs_events(QueueIndex q) const noexcept {
    return q != unknown_queue && !queues_[q].own && q != first_program_queue_ && !(others_are_told_of_.load(std::memory_order_relaxed) && !all_wait_for_default_ && queues_[q].leases.load() > 0);
  }
  /// Is `record_leased` called before others submit to any stream what may wait for the host: a kernel of a communication
  /// library, a callback, a wait for another stream? Then nobody who waits for a launch on a leased stream ever waits for that, too.
  void others_are_told_of(bool told) noexcept { others_are_told_of_.store(told); }
  /// Has a leased stream work behind its last event? Threads: any.
  [[nodiscard]] bool any_unrecorded() const noexcept {
    for (QueueIndex q = 1; q < max_queues; ++q) {
      if (unrecorded(q)) return true;
    }
    return false;
  }
  /// Work that was submitted to leased streams so far can be waited for alone from now on.
  /// @param stream  of this one only, if it is known
  void record_leased(std::optional<void*> stream = std::nullopt);
  [[nodiscard]] bool live(QueueIndex q) const noexcept { return queues_[q].live; }
  /// Is that work known to be done? Asks nobody.
  [[nodiscard]] bool done(QueueIndex q, std::uint64_t position) const noexcept {
    return position <= done_[q].load();
  }
  /// The same, asking the driver.
  [[nodiscard]] bool reached(QueueIndex q, std::uint64_t position);
  /// What will have happened when work `position` of `q`, submitted already, has. Threads: any.
  [[nodiscard]] Clock happened_with(QueueIndex q, std::uint64_t position) const noexcept;
  /// Everything up to `position` is done (a wait for the whole device has shown it).
  void note_done(QueueIndex q, std::uint64_t position) noexcept;
  /// Everything up to these positions is done. Threads: any.
  void note_done(const Clock& positions) noexcept;

 private:
  struct Queue {
    QueueId id;
    void* native = nullptr;
    bool own = false;
    bool live = false;
    bool ending = false;              // its stream is given up: no stream has its name
    bool shared = false;              // more than one thread submits
    const void* submitter = nullptr;  // the thread that did first
    std::atomic<std::uint32_t> leases{0};
    std::atomic<std::uint64_t> position{0};
    std::atomic<std::uint64_t> recorded_position{0};  // of the last event
    std::deque<std::pair<std::uint64_t, std::shared_ptr<Event>>> recorded;  // ascending positions
    std::array<std::atomic<std::uint64_t>, max_queues> ordered_after{};  // what later work already waits for
  };
  /// The earliest recorded event behind work `position`; nullptr if there is none.
  [[nodiscard]] std::shared_ptr<Event> recorded_after(QueueIndex q, std::uint64_t position) const;
  /// Forgets events that have happened, asking for one in sixteen.
  void prune(QueueIndex q);
  [[nodiscard]] bool unrecorded(QueueIndex q) const noexcept {
    const Queue& queue = queues_[q];
    const std::uint64_t at = queue.position.load(std::memory_order_acquire);
    return queue.leases.load() > 0 && at > queue.recorded_position.load() && !done(q, at);
  }

  device::Device& device_;
  std::array<Queue, max_queues> queues_;
  std::array<std::atomic<std::uint64_t>, max_queues> done_{};
  QueueIndex count_ = 1;  // 0 is the unknown queue
  QueueIndex own_end_ = 1;
  QueueIndex program_queues_ = 0;
  QueueIndex first_program_queue_ = 0;
  std::atomic<bool> others_are_told_of_{false};
  bool all_wait_for_default_ = false;  // launches go to the driver's null stream, which orders other streams without a word
};

}  // namespace semcache::timeline
