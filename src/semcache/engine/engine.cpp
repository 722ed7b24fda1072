// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/engine/engine.hpp>

namespace semcache::engine {

Engine::Engine(std::vector<std::unique_ptr<device::Device>> devices, std::unique_ptr<platform::Platform> platform,
               trace::Recorder& recorder, const Options& options)
    : s_(std::move(devices), std::move(platform), recorder, options) {}

Engine::~Engine() {
  try {
    Transaction t(transactions_);
    t.run([&] { return hazards_.land_all(); });
  } catch (const std::exception& e) {
    base::raw_log("while SemCache ended, waiting for the devices failed: %s", e.what());  // the devices are waited for below all the same
  }
  for (auto& d : s_.devices) {
    try {
      s_.queues->wait_for_devices(DeviceSet{1} << d->index);
    } catch (const std::exception& e) {
      base::raw_log("while SemCache ended, waiting for the devices failed: %s", e.what());
    }
  }
  for (Memory& m : s_.pool) {
    if (m.live && m.on_host()) arrays_.release_place(m);
  }
}

QueueIndex Engine::adopt(std::uint32_t device, void* native, std::shared_ptr<void> owner, Queues::Submitter submitter) {
  const timeline::QueueIndex next = s_.queues->count();
  // The queue may get an index for which arrays have no uses yet.
  if (next < timeline::max_queues && timeline::Uses::begins_piece(next)) {
    for (Memory& m : s_.pool) m.uses.extend(next + 1);
    for (auto& d : s_.devices) d->everything.uses.extend(next + 1);
  }
  return s_.queues->adopt(device, native, std::move(owner), submitter);
}

QueueIndex Engine::queue_of_others(void* native) noexcept {
  try {
    {
      const Look look(transactions_);
      if (const QueueIndex queue = s_.queues->of_stream(native); queue != unknown_queue) return queue;
    }
    const std::optional<std::uint32_t> owner = s_.owner_of_stream(native);
    if (!owner) return unknown_queue;
    Transaction t(transactions_);
    t.launch_follows();
    s_.queues->collect_ended();
    return adopt(*owner, native, {}, Queues::Submitter::others);
  } catch (const std::exception&) {
    return unknown_queue;
  }
}

QueueIndex Engine::adopt_queue(std::uint32_t device, void* native, std::shared_ptr<void> owner, Lease lease) {
  const bool leased = lease == Lease::one_more;
  Transaction t(transactions_);
  Queues& queues = *s_.queues;
  queues.collect_ended();
  const QueueIndex before = queues.program_queues(device);
  QueueIndex queue = adopt(device, native, owner, Queues::Submitter::ours);
  bool anew = queues.program_queues(device) > before;
  if (leased && !anew && queues.outlives_a_stream(queue)) {
    // An earlier stream may have had the same native pointer. What is known of that stream does not hold for this one.
    transactions_.end_queue(t, queue);
    queue = adopt(device, native, std::move(owner), Queues::Submitter::ours);
    anew = true;
  }
  if (leased) queues.lease(queue);
  // The flag `idle` may be set because all program queues of the device were ordered behind the transfers in flight. So the new one is, too:
  // that costs a few orders, where looking at all arrays would cost what there are of them.
  if (anew && !order_behind_engine(queue)) {
    for (Memory& m : s_.pool) {
      if (m.live && m.space == device_space(device)) projection_.revoke(m);
    }
  }
  return queue;
}

/// Orders a queue behind all transfers and tasks that have been submitted.
/// @return false if the driver refuses that, or if work for the queue is being recorded in a graph
bool Engine::order_behind_engine(QueueIndex queue) noexcept {
  Queues& queues = *s_.queues;
  try {
    if (s_.device_of(queue).device->is_recording(queues.id(queue))) return false;
    for (QueueIndex q = 1; q < queues.count(); ++q) {
      if (queues.engine_orders(q)) queues.order(queue, q, queues.position(q));
    }
  } catch (const std::exception&) {
    return false;
  }
  return true;
}

QueueIndex Engine::adopt_lane(std::uint32_t device, void* native, std::shared_ptr<void> owner) {
  const Transaction t(transactions_);
  return adopt(device, native, std::move(owner), Queues::Submitter::tasks);
}

void Engine::set_others_are_told(bool told) noexcept {
  s_.queues->set_others_are_told(told);
}

void Engine::others_submit(std::optional<void*> fenced) noexcept {
  if (!any_unrecorded()) return;
  try {
    Transaction t(transactions_);
    t.launch_follows();
    const device::Visit visit(*s_.home().device);
    s_.queues->record_leased(fenced);
  } catch (const std::exception& e) {
    base::raw_log("the end of a launch outside semcache::Exec was not marked, so who waits for it waits for later work, too: %s", e.what());
  }
}

bool Engine::stream_ends(void* native) noexcept {
  bool known = false;
  try {
    Transaction t(transactions_);
    t.launch_follows();
    for (QueueIndex queue = s_.queues->own_end(); queue < s_.queues->count(); ++queue) {
      if (!s_.queues->is_of_stream(queue, native)) continue;
      known = true;
      const device::Visit visit(*s_.device_of(queue).device);
      try {
        s_.queues->record_end(queue);
      } catch (const std::exception& e) {
        base::raw_log("the end of a stream's work was not marked: %s. Results stay right", e.what());  // who waits for its work waits for the device
      }
      s_.queues->stream_ends(queue);
    }
  } catch (const std::exception& e) {
    base::raw_log("the end of a stream was not noted: %s", e.what());
  }
  return known;
}

bool Engine::leave_lease(QueueIndex queue) noexcept {
  try {
    Transaction t(transactions_);
    t.launch_follows();
    return s_.queues->leave_lease(queue);
  } catch (const std::exception&) {
    return false;
  }
}

void Engine::retire_queue(QueueIndex queue) noexcept {
  try {
    Transaction t(transactions_);
    transactions_.end_queue(t, queue);
  } catch (const std::exception& e) {
    base::raw_log("a stream that has ended keeps its place among the streams in use: %s", e.what());
  }
}

void Engine::add_to(Statistics& s) const {
  const Look look(transactions_);
  s.live_device_bytes = lifetimes.live_device_bytes();
  s.live_host_bytes = lifetimes.live_host_bytes();
  s.snapshot_bytes = arrays_.host_snapshot_bytes();
  for (const auto& d : s_.devices) {
    s.mapped_device_bytes += d->memory->mapped_bytes();
    s.device_budget_bytes += d->memory->budget_bytes();
    s.snapshot_bytes += d->memory->snapshot_bytes;
    s.devices.push_back({d->device->name(), d->device->ordinal(), d->memory->mapped_bytes(), d->memory->budget_bytes()});
  }
  s.derived_bytes = derivations.spare_bytes();
  s.directory_bytes = s_.directory.memory_bytes();
  s.check_writes = s_.options.check_writes;
  s.device_count = static_cast<int>(s_.devices.size());
  s.device_kind = to_string(s_.home().device->kind());
  s.device_name = s_.home().device->name();
  s.device_ordinal = s_.home().device->ordinal();
}

bool Engine::is_used() const {
  const Look look(transactions_);
  // Adopted memory is the program's own, and needs no engine once it is open.
  const auto is_array = [](const Memory& m) { return m.live && !m.snapshot() && !m.adopted && !m.spare; };
  return s_.unlocked > 0 || std::any_of(s_.pool.begin(), s_.pool.end(), is_array);
}

}  // namespace semcache::engine
