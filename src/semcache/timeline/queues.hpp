// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/base/own_memory.hpp>
#include <semcache/base/topology.hpp>
#include <semcache/device/device.hpp>
#include <semcache/timeline/uses.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace semcache::timeline {

class Queues;

/// Sleeps for some microseconds, for a caller that waits for another thread which ends its work by itself.
void wait_a_moment();

/// An event of the device, which is given back to it when the last reference to it ends.
class Event : base::Uncopied {
 public:
  /// Records the event in a queue. @throws DeviceError
  /// @param before  what has happened when the event has: work up to the queue's own position, and what that waited for. It is
  ///                noted in `queues` once the event has been seen to have happened
  Event(device::Device& device, QueueId id, Queues& queues, QueueIndex queue, const Clock& before)
      : device_(device), id_(device.record(id)), queues_(queues), queue_(queue), before_(before) {}
  ~Event() { device_.release(id_); }
  [[nodiscard]] device::EventId id() const noexcept { return id_; }
  [[nodiscard]] const Clock& before() const noexcept { return before_; }
  /// Returns whether the event is known to have happened, from itself or from later work. Does not ask the driver.
  [[nodiscard]] bool known() const noexcept;
  /// Returns whether the event has happened. Asks the driver unless that is known, which takes about a microsecond.
  [[nodiscard]] bool complete() const;
  /// Waits until the event has happened.
  void synchronize() const;

 private:
  device::Device& device_;
  device::EventId id_;
  Queues& queues_;
  QueueIndex queue_;
  Clock before_;
};

/// The queues of all devices, and how far each is known to be. Work on a queue has positions 1, 2, …; a slot remembers the
/// positions, and an event is recorded only when something must wait (I6). One object serves all devices, because queues of
/// different devices wait for each other's events, and because memory of one device may be used by work on another's queues.
/// Threads: guarded by the engine's lock, except where a member names other threads.
class Queues : base::Uncopied {
 public:
  /// @param devices  the queues' devices, which outlive the object; a device is named by its index here
  explicit Queues(std::vector<device::Device*> devices) : devices_(std::move(devices)), program_queues_(devices_.size()) {}
  ~Queues();

  /// Opens a queue of the runtime's own. @pre no queue has been adopted yet
  QueueIndex open(std::uint32_t device);
  /// Who submits to a program's queue. Launches of ours may find all flags of their arrays set, and then submit without asking what their queue
  /// has waited for: so flags promise what holds for all queues of ours. Other code's kernels are ordered each time.
  /// `tasks`: launches on a lane of library calls (`Engine::adopt_lane`). Each time they are ordered, too, unless they are already: behind all that uses
  /// the same bytes, also behind kernels, which a program orders itself.
  enum class Submitter : std::uint8_t { ours, others, tasks };
  /// So many queues that only other code has used get an index of their own, so that instances of ours find one.
  static constexpr QueueIndex most_with_others = max_queues * 3 / 4;
  /// Returns the index of a native stream of the device, and adopts it if it is new; `unknown_queue` if there are too many to follow.
  QueueIndex adopt(std::uint32_t device, void* native, std::shared_ptr<void> owner, Submitter submitter = Submitter::ours);
  /// Is this the queue of a native stream that the program has not destroyed?
  [[nodiscard]] bool is_of_stream(QueueIndex q, void* native) const noexcept { return live(q) && !queues_[q].own && queues_[q].native == native; }
  /// Returns the first such queue; `unknown_queue` if there is none.
  [[nodiscard]] QueueIndex of_stream(void* native) const noexcept;
  /// Has only other code submitted to the queue?
  [[nodiscard]] bool of_others(QueueIndex q) const noexcept { return queues_[q].of_others; }
  /// Is the queue a lane of library calls?
  [[nodiscard]] bool of_tasks(QueueIndex q) const noexcept { return queues_[q].of_tasks; }
  /// Does the engine order the queue's work with all that uses the same bytes? It does so for transfers and tasks; a program orders its own kernels.
  [[nodiscard]] bool engine_orders(QueueIndex q) const noexcept { return queues_[q].own || queues_[q].of_tasks; }
  /// May launches be submitted to the queue whose arrays' flags are all that they look at?
  [[nodiscard]] bool relies_on_flags(QueueIndex q) const noexcept {
    const Queue& queue = queues_[q];
    return queue.live && !queue.own && !queue.of_others && (!queue.ended || queue.retiring);
  }
  [[nodiscard]] bool leased(QueueIndex q) const noexcept { return queues_[q].leases.load() > 0; }
  /// Notes that work `position` of the queue is a kernel of other code, which may wait for the host.
  void note_of_others(QueueIndex q, std::uint64_t position) noexcept { queues_[q].last_of_others = position; }
  /// Returns the last position so noted; 0 if there is none.
  [[nodiscard]] std::uint64_t last_of_others(QueueIndex q) const noexcept { return queues_[q].last_of_others; }

  /// While it lives, the queue's index stands for the stream to which a call of other code is about to submit.
  /// Threads: it begins and ends with the engine's lock.
  class Call : base::Uncopied {
   public:
    Call() = default;
    Call(Queues& queues, QueueIndex q) noexcept : queues_(&queues), queue_(q) { ++queues.queues_[q].calls; }
    ~Call() { end(); }
    void end() noexcept {
      if (queues_ != nullptr) --std::exchange(queues_, nullptr)->queues_[queue_].calls;
    }
    Call& operator=(Call&& other) noexcept {
      end();
      queues_ = std::exchange(other.queues_, nullptr);
      queue_ = other.queue_;
      return *this;
    }

   private:
    Queues* queues_ = nullptr;
    QueueIndex queue_ = unknown_queue;
  };
  /// Returns the index of the device that carries out the queue's work; 0 for the unknown queue. Threads: any.
  [[nodiscard]] std::uint32_t device_of(QueueIndex q) const noexcept { return queues_[q].device.load(std::memory_order_relaxed); }
  /// Adds a lease: `retire` must be called once more.
  void lease(QueueIndex index) noexcept { ++queues_[index].leases; }
  /// Leaves such a lease to the stream: `stream_ends` ends it, so `retire` must not be called for it. A stream has at most one.
  /// @return false where nobody tells of streams that end (see `set_others_are_told`): the lease stays the caller's
  [[nodiscard]] bool leave_lease(QueueIndex q) noexcept {
    if (!others_are_told_of_.load()) return false;
    if (std::exchange(queues_[q].stream_has_lease, true)) --queues_[q].leases;
    return true;
  }
  /// Ends a lease. After the last lease, or without any, waits for the queue's device and gives the stream up.
  /// @throws DeviceError  the queue stays, but is no longer found under its native stream
  void retire(QueueIndex index);
  /// Does the same in two steps, between which the caller waits for the device.
  /// @return what to pass to `end_retiring`; nothing if no more is to be done
  [[nodiscard]] std::optional<Clock> begin_retiring(QueueIndex index);
  void end_retiring(QueueIndex index, const Clock& submitted) noexcept;
  /// The wait between the two steps has failed. The index is free when the queue's last event has happened.
  void give_up_retiring(QueueIndex index) noexcept { queues_[index].retiring = false; }
  /// Returns the positions so far of all queues of the queue's device.
  [[nodiscard]] Clock submitted_to_device_of(QueueIndex q) const noexcept;
  /// Returns whether this is the queue of a stream without a lease, which the program may have destroyed unnoticed before it made
  /// another stream with the same handle. Where the driver's calls are watched, streams that end are noticed (`stream_ends`).
  [[nodiscard]] bool outlives_a_stream(QueueIndex q) const noexcept {
    return q != unknown_queue && q != first_program_queue_ && !others_are_told_of_.load() && queues_[q].leases.load() == 0 && position(q) != 0;
  }
  /// Sees to it that there is an event behind the queue's work, before the program destroys the stream. @throws DeviceError
  void record_end(QueueIndex q);
  /// Notes that the program destroys the queue's stream: the queue is no longer found under that handle, and nothing more is submitted to it.
  /// Its work may go on.
  void stream_ends(QueueIndex q) noexcept;
  /// Makes the indices of such queues free whose work is done. Asks the driver.
  void collect_ended() noexcept;
  /// The owners of streams whose queues have ended. Their destruction is foreign code, so whoever takes them lets go of them without the engine's lock.
  [[nodiscard]] bool any_owner_left() const noexcept { return !owners_left_.empty(); }
  [[nodiscard]] base::Vector<std::shared_ptr<void>> take_owners_left() noexcept { return std::exchange(owners_left_, {}); }
  [[nodiscard]] QueueId id(QueueIndex q) const noexcept { return queues_[q].id; }
  [[nodiscard]] bool own(QueueIndex q) const noexcept { return queues_[q].own; }
  /// All queues are 1 .. count() - 1. Threads: any.
  [[nodiscard]] QueueIndex count() const noexcept { return count_.load(std::memory_order_acquire); }
  /// The runtime's own queues are 1 .. own_end() - 1.
  [[nodiscard]] QueueIndex own_end() const noexcept { return own_end_; }
  /// Returns how many queues of the program the device has.
  [[nodiscard]] QueueIndex program_queues(std::uint32_t device) const noexcept { return program_queues_[device]; }

  /// Returns the position of a piece of work that is being submitted now. Threads: any.
  std::uint64_t begin_position(QueueIndex q) noexcept {
    return queues_[q].position.fetch_add(1, std::memory_order_acq_rel) + 1;
  }
  [[nodiscard]] std::uint64_t position(QueueIndex q) const noexcept {
    return queues_[q].position.load(std::memory_order_acquire);
  }

  /// Returns an event that happens after work `position` of `q`; nullptr if that work is known to be done. Reuses the earliest
  /// recorded event that suffices. @pre the work has been submitted; q != unknown_queue
  std::shared_ptr<Event> event_after(QueueIndex q, std::uint64_t position);
  /// Records an event after all work submitted to `q` so far, for later calls of `event_after`.
  std::shared_ptr<Event> record(QueueIndex q);
  /// Notes that this thread submits work to one of the runtime's own queues.
  void note_submitter(QueueIndex q) noexcept;
  /// To be called before work is submitted to one of the runtime's own queues: makes it possible to wait for the work submitted
  /// so far without waiting for the new work.
  void separate(QueueIndex q);
  /// A function object by which a thread waits for work `position` of `q`. Threads: without the engine's lock.
  struct Wait {
    void operator()() const;
    Queues* queues = nullptr;  ///< nullptr: the work is done
    std::shared_ptr<Event> event;
    /// The queue itself is waited for, without an event, if the work is its last and only this thread submits to it. Another
    /// thread might submit work that comes after a long kernel of its own.
    QueueIndex queue = 0;
    Clock before;
  };
  /// Returns how to wait for work `position` of `q`.
  [[nodiscard]] Wait wait_for(QueueIndex q, std::uint64_t position);
  /// Waits until all work that has been submitted to the queue's device, by any code, is done. Notes nothing. Threads: any.
  /// @throws DeviceError
  void wait_for_device_of(QueueIndex q) const { device(q).synchronize_device(); }
  /// Waits until all work that has been submitted to these devices, by any code, is done. Notes nothing. Threads: any.
  /// @throws DeviceError
  void wait_for_devices(DeviceSet which) const;
  /// Returns whether the unknown queue's work up to `position` is known to be done, as far as these devices carry it out.
  [[nodiscard]] bool unknown_done(DeviceSet which, std::uint64_t position) const noexcept;
  /// Notes that it is done (a wait for these devices has shown it).
  void note_unknown_done(DeviceSet which, std::uint64_t position) noexcept;
  /// Waits until the work submitted to the queue is done, or its whole device's work if the driver cannot wait for the queue.
  /// Notes nothing.
  /// @throws DeviceError  the device is lost
  void wait_for_queue(QueueIndex q) const;
  /// Waits for a queue that has no number here, because whoever submits work to it waits for it. What was submitted cannot be taken back, so where
  /// the queue fails, the device is waited for. @throws DeviceError  the device is lost
  static void wait_for_queue(device::Device& device, QueueId queue);
  /// Returns whether any known queue has work left. Asks the driver.
  [[nodiscard]] bool any_at_work() const;
  /// Makes later work on `q` start after work `position` of `producer`. Submits nothing if that order is known already.
  void order(QueueIndex q, QueueIndex producer, std::uint64_t position) {
    if (position != 0 && !ordered(q, producer, position) && !done(producer, position)) submit_order(q, producer, position);
  }
  /// Returns whether later work on `q` is known to start after work `position` of `producer`.
  [[nodiscard]] bool ordered(QueueIndex q, QueueIndex producer, std::uint64_t position) const noexcept {
    return q == producer || queues_[q].ordered_after[producer].load() >= position;
  }
  /// Returns whether no later launch on a device need wait for work `position` of `q`: that work is done, or every program queue of
  /// that device is ordered after it.
  [[nodiscard]] bool passed(std::uint32_t device, QueueIndex q, std::uint64_t position) const noexcept;
  /// Returns whether an event must be recorded behind each launch on the queue. That is so if the program may destroy the stream
  /// at any time, because nothing can be submitted to it afterwards. The first program queue, the framework's default, lives as
  /// long as the runtime. A leased stream lives as long as its lease; it gets an event before other code submits something, if
  /// the driver's calls are watched (`set_others_are_told`) and no launch uses the driver's null stream.
  [[nodiscard]] bool needs_events(QueueIndex q) const noexcept {
    return q != unknown_queue && !queues_[q].own && !queues_[q].of_tasks && q != first_program_queue_ && !(others_are_told_of_.load(std::memory_order_relaxed) && !all_wait_for_default_ && queues_[q].leases.load() > 0);
  }
  /// Sets whether `record_leased` is called before other code submits to any stream work that may wait for the host: a kernel of
  /// a communication library, a callback, a wait for another stream. If so, a wait for a launch on a leased stream is never a
  /// wait for such work, too.
  void set_others_are_told(bool told) noexcept { others_are_told_of_.store(told); }
  /// Returns whether a leased stream has work behind its last event. Threads: any.
  [[nodiscard]] bool any_unrecorded() const noexcept {
    for (QueueIndex q = 1, end = count(); q < end; ++q) {
      if (unrecorded(q)) return true;
    }
    return false;
  }
  /// Records events so that from now on the work submitted so far to leased streams can be waited for alone.
  /// @param stream  if given, and a live stream is known under this handle, only that stream gets an event
  void record_leased(std::optional<void*> stream = std::nullopt);
  /// May more be submitted to the queue?
  [[nodiscard]] bool live(QueueIndex q) const noexcept { return queues_[q].live && !queues_[q].ended; }
  /// Returns whether that work is known to be done. Does not ask the driver. @pre not the unknown queue's work (`unknown_done`)
  [[nodiscard]] bool done(QueueIndex q, std::uint64_t position) const noexcept {
    return position <= done_[q].load();
  }
  /// Returns whether that work is done, and asks the driver if that is not known. On the unknown queue, returns only what is
  /// known.
  [[nodiscard]] bool reached(QueueIndex q, std::uint64_t position);
  /// Returns what will have happened when work `position` of `q`, submitted already, has happened. Threads: any.
  [[nodiscard]] Clock happened_with(QueueIndex q, std::uint64_t position) const noexcept;
  /// Notes that all work up to these positions is done. Threads: any.
  void note_done(const Clock& positions) noexcept;

 private:
  struct alignas(64) Queue {
    // What each launch looks at comes first, in one cache line.
    std::atomic<std::uint64_t> position{0};
    QueueId id;
    std::atomic<std::uint32_t> device{0};
    std::atomic<std::uint32_t> leases{0};
    bool own = false;
    bool of_tasks = false;            // it is a lane
    bool of_others = false;           // only other code, or library calls on a lane, have submitted to it
    bool live = false;
    std::atomic<bool> ended{false};   // its stream is given up, or destroyed: no longer found, and nothing can be asked or submitted there
    bool retiring = false;            // between `begin_retiring` and `end_retiring`
    bool stream_has_lease = false;    // one of the leases ends with the stream
    void* native = nullptr;
    std::uint32_t calls = 0;          // of other code that are about to submit
    std::uint64_t last_of_others = 0;  // the position of the last kernel of other code
    bool shared = false;              // more than one thread submits
    std::thread::id submitter;        // the first thread that submitted
    std::atomic<std::uint64_t> recorded_position{0};  // of the last event
    base::Deque<std::pair<std::uint64_t, std::shared_ptr<Event>>> recorded;  // ascending positions
    std::array<std::atomic<std::uint64_t>, max_queues> ordered_after{};  // what later work already waits for
  };
  void submit_order(QueueIndex q, QueueIndex producer, std::uint64_t position);
  void count_as_ours(QueueIndex q) noexcept;
  /// Returns the earliest recorded event behind work `position`; nullptr if there is none.
  [[nodiscard]] std::shared_ptr<Event> recorded_after(QueueIndex q, std::uint64_t position) const;
  /// Forgets events that have happened. Asks the driver about one event in sixteen.
  void prune(QueueIndex q);
  /// Returns whether the queue is leased and has work behind its last event that is not known to be done.
  [[nodiscard]] bool unrecorded(QueueIndex q) const noexcept {
    return queues_[q].leases.load() > 0 && !queues_[q].ended && has_work_behind_event(q);
  }
  [[nodiscard]] bool has_work_behind_event(QueueIndex q) const noexcept {
    const std::uint64_t at = position(q);
    return at > queues_[q].recorded_position.load() && !done(q, at);
  }

  [[nodiscard]] device::Device& device(QueueIndex q) const noexcept { return *devices_[queues_[q].device]; }

  const std::vector<device::Device*> devices_;
  base::Vector<std::shared_ptr<void>> owners_left_;
  std::atomic<QueueIndex> first_program_queue_{0};
  std::atomic<bool> others_are_told_of_{false};
  std::atomic<bool> all_wait_for_default_{false};  // launches use the driver's null stream, which orders other streams without a call
  std::array<Queue, max_queues> queues_;
  std::array<std::atomic<std::uint64_t>, max_queues> done_{};
  std::array<std::atomic<std::uint64_t>, most_devices> unknown_done_{};  // of each device
  std::atomic<QueueIndex> count_{1};  // 0 is the unknown queue
  QueueIndex own_end_ = 1;
  std::vector<QueueIndex> program_queues_;  // of each device
};

}  // namespace semcache::timeline
