// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/tasks/lanes.hpp>

#include <atomic>
#include <mutex>
#include <vector>

namespace semcache::tasks {

namespace {

struct Lanes {
  std::mutex mutex;
  std::uint64_t epoch = 0;                ///< of the runtime that the streams belong to
  std::vector<runtime::Stream> streams;   ///< by device and lane; an invalid queue: not made yet
};

/// How many tasks have been submitted, and how many of these some thread has waited for.
std::atomic<std::uint64_t> submitted{0}, awaited{0};

Lanes& all_lanes() {
  static Lanes* const lanes = new Lanes;  // calls may come from destructors of the program's statics
  return *lanes;
}

/// Forgets the streams of a runtime that has ended. They ended with it.
void keep_current(Lanes& lanes) {
  if (lanes.epoch == runtime::epoch()) return;
  lanes.streams.clear();
  lanes.epoch = runtime::epoch();
}

}  // namespace

runtime::Stream lane(std::uint32_t device, std::uint32_t lane) {
  (void)runtime::device_ordinal(device);  // starts the runtime, and refuses a device that the process does not use
  Lanes& lanes = all_lanes();
  const std::lock_guard<std::mutex> lock(lanes.mutex);
  keep_current(lanes);
  const bool many = device_count() > 8, is_short = lane == short_lane && !many;
  const std::uint32_t lanes_here = many ? lanes_of_device / 2 : lanes_of_device;
  const std::size_t index = std::size_t{device} * (lanes_of_device + 1) + (is_short ? short_lane : lane % lanes_here);
  if (lanes.streams.size() <= index) lanes.streams.resize(index + 1);
  runtime::Stream& stream = lanes.streams[index];
  const auto priority = is_short ? semcache::device::StreamPriority::before_others : semcache::device::StreamPriority::ordinary;
  if (!stream.queue.valid()) stream = runtime::new_stream(device, priority);
  return stream;
}

void note_submitted() noexcept { submitted.fetch_add(1, std::memory_order_release); }

void wait() {
  const std::uint64_t now = submitted.load(std::memory_order_acquire);
  if (now == awaited.load(std::memory_order_acquire)) return;
  if (device_count() == 0) return;  // no runtime runs, so there are no tasks
  std::vector<runtime::Stream> streams;
  {
    Lanes& lanes = all_lanes();
    const std::lock_guard<std::mutex> lock(lanes.mutex);
    keep_current(lanes);
    streams = lanes.streams;
  }
  for (const runtime::Stream& s : streams) {
    if (s.queue.valid()) runtime::wait_for_queue(s.queue);
  }
  std::uint64_t before = awaited.load(std::memory_order_relaxed);
  while (before < now && !awaited.compare_exchange_weak(before, now, std::memory_order_acq_rel)) {
  }
}

}  // namespace semcache::tasks
