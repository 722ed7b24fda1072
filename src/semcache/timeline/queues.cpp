// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/timeline/queues.hpp>

#include <chrono>
#include <exception>

namespace semcache::timeline {

void wait_a_moment() { std::this_thread::sleep_for(std::chrono::microseconds(5)); }

bool Event::known() const noexcept { return queues_.done(queue_, before_[queue_]); }

bool Event::complete() const {
  if (known()) return true;
  if (!device_.complete(id_)) return false;
  queues_.note_done(before_);
  return true;
}

void Event::synchronize() const {
  if (known()) return;
  device_.synchronize(id_);
  queues_.note_done(before_);
}

Queues::~Queues() {
  for (QueueIndex q = 1; q < count_; ++q) {
    queues_[q].leases.store(0);
    queues_[q].ended = false;
    queues_[q].calls = 0;
    try {
      retire(q);
    } catch (const std::exception& e) {
      base::raw_log("while SemCache ended, closing a stream failed: %s", e.what());
    }
  }
}

QueueIndex Queues::open(std::uint32_t device) {
  const QueueIndex q = count();
  queues_[q].id = devices_[device]->open_queue();
  queues_[q].device = device;
  queues_[q].own = true;
  queues_[q].live = true;
  own_end_ = q + 1;
  count_.store(own_end_, std::memory_order_release);
  return q;
}

QueueIndex Queues::adopt(std::uint32_t device, void* native, std::shared_ptr<void> owner, Submitter submitter) {
  const QueueIndex limit = submitter == Submitter::others ? most_with_others : max_queues;
  QueueIndex free = 0;
  for (QueueIndex q = own_end_; q < count_; ++q) {
    const bool same = queues_[q].device == device;
    if (same && is_of_stream(q, native)) {
      if (submitter == Submitter::ours) count_as_ours(q);
      return q;
    }
    // The stream may end as soon as its queue has been retired, and nobody would tell.
    if (same && queues_[q].retiring && queues_[q].native == native && submitter == Submitter::others) return unknown_queue;
    // An index of another device is taken only where there is no other.
    if (!queues_[q].live && (same || (free == 0 && count_ >= limit))) free = q;
  }
  const bool anew = free == 0;
  if (anew) free = count();
  if (anew && free >= limit) return unknown_queue;
  Queue& queue = queues_[free];
  queue.id = devices_[device]->adopt_queue(native, std::move(owner));
  queue.device = device;
  for (auto& after : queue.ordered_after) after.store(0);  // what a former stream of the index has waited for
  queue.native = native;
  queue.live = true;
  queue.ended = false;
  queue.of_others = true;
  queue.of_tasks = submitter == Submitter::tasks;
  queue.last_of_others = 0;
  if (submitter == Submitter::ours) count_as_ours(free);
  if (anew) count_.store(free + 1, std::memory_order_release);
  return free;
}

void Queues::count_as_ours(QueueIndex q) noexcept {
  Queue& queue = queues_[q];
  if (!std::exchange(queue.of_others, false)) return;
  if (queue.device == 0 && first_program_queue_ == 0) first_program_queue_ = q;
  if (queue.native == nullptr) all_wait_for_default_ = true;
  ++program_queues_[queue.device];
}

QueueIndex Queues::of_stream(void* native) const noexcept {
  for (QueueIndex q = own_end_; q < count_; ++q) {
    if (is_of_stream(q, native)) return q;
  }
  return unknown_queue;
}

void Queues::record_end(QueueIndex q) {
  if (!has_work_behind_event(q)) return;
  if (device(q).is_recording(queues_[q].id)) throw DeviceError("a graph is recorded from a stream that ends");
  record(q);
}

void Queues::stream_ends(QueueIndex q) noexcept {
  queues_[q].ended = true;
  if (std::exchange(queues_[q].stream_has_lease, false)) --queues_[q].leases;
  if (q == first_program_queue_) first_program_queue_ = max_queues;  // no other queue is the framework's default
}

void Queues::collect_ended() noexcept {
  for (QueueIndex q = own_end_; q < count_; ++q) {
    const Queue& queue = queues_[q];
    if (!queue.live || !queue.ended || queue.retiring || queue.leases.load() > 0 || queue.calls > 0) continue;
    try {
      if (!reached(q, position(q))) continue;
    } catch (const std::exception&) {
      continue;
    }
    Clock own;
    own.set(q, position(q));
    end_retiring(q, own);
  }
}

std::optional<Clock> Queues::begin_retiring(QueueIndex index) {
  if (index == unknown_queue || !queues_[index].live) return std::nullopt;
  Queue& queue = queues_[index];
  if (queue.leases.load() > 1 || queue.ended) {
    if (queue.leases.load() > 0) queue.leases.fetch_sub(1);
    return std::nullopt;
  }
  const bool lacks_event = unrecorded(index);
  const bool in_use = queue.calls > 0;  // by other code, so the stream lives on, and keeps its index
  queue.ended = !in_use;  // even if something fails from here on, because the next stream with that handle is another one
  try {
    // The event is recorded now, because later nothing can be submitted to the stream, and the wait for the device may be
    // refused.
    if (lacks_event && !device(index).is_recording(queue.id)) record(index);
  } catch (const std::exception& e) {
    base::raw_log("the end of a stream's work was not marked: %s. Results stay right", e.what());
  }
  queue.leases.store(0);
  queue.stream_has_lease = false;
  if (in_use) {
    if (index == first_program_queue_) first_program_queue_ = max_queues;
    return std::nullopt;
  }
  queue.retiring = true;
  // Positions continue to count when the index is used again, so what slots remember stays meaningful.
  // The caller waits for the device and not for the stream, because the stream may have been destroyed already. What that wait
  // shows about the other queues is needed as well: after the last program queue, no queue is left that is ordered behind
  // transfers. (Queue 0 is left out, because unknown work may get its position before it is submitted.)
  return submitted_to_device_of(index);
}

Clock Queues::submitted_to_device_of(QueueIndex of) const noexcept {
  Clock submitted;
  for (QueueIndex q = 1; q < count_; ++q) {
    if (queues_[q].device == queues_[of].device) submitted.set(q, position(q));
  }
  return submitted;
}

void Queues::retire(QueueIndex index) {
  const std::optional<Clock> submitted = begin_retiring(index);
  if (!submitted) return;
  wait_for_device_of(index);
  end_retiring(index, *submitted);
}

void Queues::end_retiring(QueueIndex index, const Clock& submitted) noexcept {
  Queue& queue = queues_[index];
  note_done(submitted);
  queue.recorded.clear();
  if (std::shared_ptr<void> owner = device(index).close_queue(queue.id)) {
    try {
      owners_left_.push_back(std::move(owner));
    } catch (const std::bad_alloc&) {  // it is destroyed here
    }
  }
  queue.live = queue.retiring = false;
  if (index == first_program_queue_) first_program_queue_ = max_queues;  // no other queue is the framework's default
  if (!queue.own && !queue.of_others) --program_queues_[queue.device];
}

void Queues::prune(QueueIndex q) {
  constexpr std::size_t batch = 16;
  Queue& queue = queues_[q];
  while (!queue.recorded.empty() && done(q, queue.recorded.front().first)) queue.recorded.pop_front();
  if (queue.recorded.size() < 2 * batch || !queue.recorded[batch - 1].second->complete()) return;
  queue.recorded.erase(queue.recorded.begin(), queue.recorded.begin() + batch);
}

std::shared_ptr<Event> Queues::record(QueueIndex q) {
  Queue& queue = queues_[q];
  // The position is read first, so that the event also covers work submitted in between, and never covers less than it promises.
  const std::uint64_t at = queue.position.load(std::memory_order_acquire);
  if (!queue.recorded.empty() && queue.recorded.back().first == at) return queue.recorded.back().second;
  prune(q);
  const auto event = std::allocate_shared<Event>(base::OwnAllocator<Event>(), device(q), queue.id, *this, q, happened_with(q, at));
  queue.recorded.emplace_back(at, event);
  queue.recorded_position.store(at);
  return event;
}

void Queues::record_leased(std::optional<void*> stream) {
  const bool one = stream && of_stream(*stream) != unknown_queue;
  std::exception_ptr failed;
  for (QueueIndex q = 1; q < count_; ++q) {
    if (one && !is_of_stream(q, *stream)) continue;
    try {
      // Whatever is submitted to a stream that is being recorded becomes part of the graph, an event, too.
      if (unrecorded(q) && !device(q).is_recording(queues_[q].id)) record(q);
    } catch (const std::exception&) {
      failed = std::current_exception();  // the other streams get their events all the same
    }
  }
  if (failed) std::rethrow_exception(failed);
}

bool Queues::reached(QueueIndex q, std::uint64_t position) {
  if (done(q, position)) return true;
  if (q == unknown_queue || (queues_[q].ended && recorded_after(q, position) == nullptr)) return false;
  const auto event = event_after(q, position);
  return event == nullptr || event->complete();
}

bool Queues::passed(std::uint32_t device, QueueIndex q, std::uint64_t position) const noexcept {
  if (position == 0 || done(q, position)) return true;
  if (program_queues_[device] == 0) return false;
  for (QueueIndex p = own_end_; p < count_; ++p) {
    if (queues_[p].device == device && relies_on_flags(p) && !ordered(p, q, position)) return false;
  }
  return true;
}

Clock Queues::happened_with(QueueIndex q, std::uint64_t position) const noexcept {
  Clock before;
  for (QueueIndex p = 0, end = count(); p < end; ++p) before.set(p, queues_[q].ordered_after[p].load(std::memory_order_acquire));
  before.set(q, position);
  return before;
}

void Queues::note_done(const Clock& positions) noexcept {
  for (QueueIndex q = 0, end = positions.end(); q < end; ++q) raise(done_[q], positions[q]);
}

std::shared_ptr<Event> Queues::recorded_after(QueueIndex q, std::uint64_t position) const {
  // The search begins at the end, because the event is usually one of the last, and there are few (`prune`).
  const auto& recorded = queues_[q].recorded;
  auto earliest = recorded.rend();
  for (auto it = recorded.rbegin(); it != recorded.rend() && it->first >= position; ++it) earliest = it;
  return earliest == recorded.rend() ? nullptr : earliest->second;
}

std::shared_ptr<Event> Queues::event_after(QueueIndex q, std::uint64_t position) {
  if (done(q, position)) return nullptr;
  auto event = recorded_after(q, position);
  if (event != nullptr) return event;
  if (!queues_[q].ended) return record(q);
  // The driver has refused an event, and perhaps a wait, when the stream ended.
  Clock own;
  own.set(q, this->position(q));
  wait_for_device_of(q);
  note_done(own);
  return nullptr;
}

void Queues::note_submitter(QueueIndex q) noexcept {
  Queue& queue = queues_[q];
  if (queue.submitter == std::thread::id()) queue.submitter = std::this_thread::get_id();
  queue.shared = queue.shared || queue.submitter != std::this_thread::get_id();
}

void Queues::separate(QueueIndex q) {
  note_submitter(q);
  Queue& queue = queues_[q];
  const std::uint64_t at = queue.position.load(std::memory_order_acquire);
  if (at != 0 && !done(q, at) && (queue.recorded.empty() || queue.recorded.back().first < at)) record(q);
}

Queues::Wait Queues::wait_for(QueueIndex q, std::uint64_t position) {
  if (done(q, position)) return {};
  Wait wait{this, recorded_after(q, position), q, {}};
  if (wait.event != nullptr) return wait;
  const std::uint64_t last = queues_[q].position.load(std::memory_order_acquire);
  if (queues_[q].ended) {
    wait.before = happened_with(q, last);
  } else if (last != position || !queues_[q].own || queues_[q].shared || queues_[q].submitter != std::this_thread::get_id()) {
    wait.event = record(q);
  } else {
    wait.before = happened_with(q, last);
  }
  return wait;
}

void Queues::Wait::operator()() const {
  // The driver is asked first, because it takes longer to wait for work that has happened than to answer that it has.
  if (event != nullptr) {
    if (!event->complete()) event->synchronize();
  } else if (queues != nullptr) {
    const QueueId id = queues->queues_[queue].id;
    device::Device& device = queues->device(queue);
    if (queues->queues_[queue].ended) {
      device.synchronize_device();
    } else if (!device.queue_idle(id)) {
      device.synchronize_queue(id);
    }
    queues->note_done(before);
  }
}

void Queues::wait_for_queue(device::Device& device, QueueId queue) {
  try {
    device.synchronize_queue(queue);
  } catch (const DeviceError&) {
    device.synchronize_device();
  }
}

void Queues::wait_for_queue(QueueIndex q) const {
  if (queues_[q].ended) return wait_for_device_of(q);
  try {
    device(q).synchronize_queue(queues_[q].id);
  } catch (const std::exception&) {
    wait_for_device_of(q);
  }
}

void Queues::wait_for_devices(DeviceSet which) const {
  for (std::uint32_t d = 0; d < devices_.size(); ++d) {
    if ((which >> d & 1) != 0) devices_[d]->synchronize_device();
  }
}

bool Queues::unknown_done(DeviceSet which, std::uint64_t position) const noexcept {
  for (std::uint32_t d = 0; d < devices_.size(); ++d) {
    if ((which >> d & 1) != 0 && unknown_done_[d].load() < position) return false;
  }
  return true;
}

void Queues::note_unknown_done(DeviceSet which, std::uint64_t position) noexcept {
  for (std::uint32_t d = 0; d < devices_.size(); ++d) {
    if ((which >> d & 1) != 0) raise(unknown_done_[d], position);
  }
}

bool Queues::any_at_work() const {
  for (QueueIndex q = 1; q < count_; ++q) {
    const Queue& queue = queues_[q];
    if (!queue.live) continue;
    try {
      if (!queue.ended) {
        if (!device(q).queue_idle(queue.id)) return true;
      } else if (!queue.recorded.empty() && !queue.recorded.back().second->complete()) {
        return true;
      }
    } catch (const std::exception&) {
      return true;  // a graph is recorded from it, for example
    }
  }
  return false;
}

void Queues::submit_order(QueueIndex q, QueueIndex producer, std::uint64_t position) {
  Queue& consumer = queues_[q];
  const std::shared_ptr<Event> event = event_after(producer, position);
  if (event == nullptr) return;  // done meanwhile
  if (unrecorded(q)) record(q);  // work so far can then be waited for alone; what follows waits for `event`
  device(q).wait(consumer.id, event->id());
  for (QueueIndex p = 0; p < count_; ++p) {
    if (p != q) raise(consumer.ordered_after[p], event->before()[p]);
  }
}

}  // namespace semcache::timeline
