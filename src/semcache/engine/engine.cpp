// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/engine/transaction.hpp>

#include <cstring>
#include <string>

namespace semcache::engine {
namespace {

template <class Vector>
void reserve_for(Vector& list, std::size_t size) {
  if (list.size() < size) base::make_room(list, size - list.size());
}

}  // namespace

Engine::Engine(std::vector<std::unique_ptr<device::Device>> devices, std::unique_ptr<platform::Platform> platform,
               trace::Recorder& recorder, const Options& options)
    : platform_(std::move(platform)),
      recorder_(recorder),
      options_(options),
      surroundings_(options.surroundings != nullptr ? *options.surroundings : nothing_known_),
      page_bytes_(platform_->page_bytes()),
      mappings_(*platform_),
      host_(std::make_unique<HostMemory>(*platform_, mappings_, options_.host_address_bytes,
                                         options_.notices ? platform::Protection::read : platform::Protection::read_write)) {
  for (auto& device : devices) add_device(std::move(device));
  pages_ = std::make_unique<HostPages>(*platform_, mappings_, *home().device, directory_, flights_, recorder_, options_.observer,
                                       HostPages::Options{options_.notices, options_.registration_bytes});
  // SEMCACHE_CHECK has rules of its own for device memory; a GPU's has no pages of ours.
  options_.device_faults = options_.device_faults && options_.notices && !options_.check &&
                           home().device->kernels_run_in_caller();
}

void Engine::add_device(std::unique_ptr<device::Device> device) {
  auto state = std::make_unique<DeviceState>();
  state->index = static_cast<std::uint32_t>(devices_.size());
  state->device = std::move(device);
  state->memory = std::make_unique<DeviceMemory>(*state->device, state->index, options_.device_memory_bytes);
  state->staging = std::make_unique<Staging>(*state->device, page_bytes_);
  state->queues = std::make_unique<Queues>(*state->device);
  state->to_device_queue = state->queues->open();
  state->to_host_queue = state->queues->open();
  state->within_queue = state->queues->open();
  devices_.push_back(std::move(state));
}

Engine::~Engine() {
  try {
    Transaction t(*this);
    t.run([&] { return land_all(); });
  } catch (const std::exception& e) {
    base::raw_log("while ending: %s", e.what());  // as below, the device is waited for all the same
  }
  for (auto& d : devices_) {
    try {
      d->queues->wait_for_device();
    } catch (const std::exception& e) {
      base::raw_log("while ending: %s", e.what());
    }
  }
  for (Memory& m : pool_) {
    if (m.live && m.on_host()) release_place(m);
  }
}

// --- memory objects ------------------------------------------------------------------------------------------------

Memory* Engine::new_memory(SpaceId space, const char* label, std::uint64_t bytes) {
  // What can fail comes first.
  const trace::LabelId name = recorder_.intern(label == nullptr ? "" : label);
  directory::BasicExtentMap<PageState> pages(space == host_space && bytes > 0 ? round_up(bytes + memory::header_gap_bytes, page_bytes_) : 0,
                                             {});
  std::vector<bool> used(space == host_space ? bytes / LookupTable::granule_bytes : 0, false);
  if (free_memories_.empty()) {
    for (std::vector<Memory*>* const list : {&free_memories_, &revoked_, &projecting_, &unwanted_, &put_off_}) {
      reserve_for(*list, pool_.size() + 1);
    }
    for (auto& d : devices_) d->memory->make_room_for(pool_.size() + 1);
    free_memories_.push_back(&pool_.emplace_back());
  }
  Memory* const m = free_memories_.back();
  free_memories_.pop_back();
  m->slot = {};
  m->datum = {};
  m->space = space;
  m->address = nullptr;
  m->bytes = bytes;
  m->label = name;
  m->counted_snapshot = false;
  m->freeing = false;
  m->announced_use.at.store(0);
  m->captured_use.at.store(0);
  m->reported_unreachable = false;
  m->used_unseen = false;
  m->access = platform::Protection::none;
  m->transit_block.reset();
  m->holds_handles.store(false, std::memory_order_relaxed);
  std::memset(m->header, 0, sizeof m->header);
  m->flags.store(space == host_space ? Memory::host_readable : 0);
  m->uses.forget();
  m->writing_launches.store(0, std::memory_order_relaxed);
  m->writing_launches_at_fetch = 0;
  m->write_check.reset();
  m->pages = std::move(pages);
  m->read_ahead.reset();
  m->used = std::move(used);
  m->locked.clear();
  m->lock_refused = false;
  m->forecast = policy::FetchForecast();
  m->sent_ahead = false;
  m->asked_end = 0;
  m->open = false;
  m->announced = false;
  m->owns_allocation = false;
  m->live = true;
  return m;
}

void Engine::recycle(Memory& m) noexcept {
  m.live = false;
  m.incarnation.fetch_add(1);
  for (auto& d : devices_) d->memory->forget(m);
  if (std::exchange(m.listed, false)) {
    listed_.erase(std::find(listed_.begin(), listed_.end(), &m));
    listed_arrays_.store(listed_.size());
  }
  while (!m.expected_in.empty()) expect_nothing(*m.expected_in.back());
  if (m.slot.valid() && m.slot.value < by_slot_.size()) by_slot_[m.slot.value] = nullptr;
  free_memories_.push_back(&m);
}

void Engine::bind(Memory& m, SlotId slot) {
  m.slot = slot;
  if (by_slot_.size() <= slot.value) by_slot_.resize(slot.value + 1, nullptr);
  by_slot_[slot.value] = &m;
  plan::Step allocate = step_of(plan::Step::Kind::allocate, m);
  allocate.zeros = m.on_host() && !m.owns_allocation;
  tell(allocate);
}

void Engine::expect_not_freed(const Kept& array) const {
  SEMCACHE_EXPECTS(!array.freed(), std::string("'") + recorder_.name(array.label) +
                                      "' was freed by another thread while this call used it. Free an array after its last use");
}

void Engine::place_on_device(Memory& m) {
  // Guarded memory has pages of its own.
  device_of(m).memory->place(m, recorder_.name(m.label), options_.device_faults ? page_bytes_ : 1);
}

void Engine::release_place(Memory& m) noexcept {
  if (m.address == nullptr) return;
  if (m.on_host()) {
    if (m.owns_allocation) {
      std::free(m.address);
      host_snapshot_bytes_ -= m.bytes;
      m.address = nullptr;
      return;
    }
    pages_->unlock(m, std::exchange(m.locked, {}));
    host_->give_back(m);
  } else {
    device_of(m).memory->give_back(m);
  }
  m.address = nullptr;
}

Memory* Engine::allocate_device(std::uint32_t device, const char* label, std::uint64_t bytes) {
  const Transaction t(*this);
  DeviceState& d = *devices_.at(device);
  if (bytes > d.memory->budget_bytes()) {
    throw OutOfMemory("array '" + std::string(label == nullptr ? "" : label) + "' of " + std::to_string(bytes) +
                          " bytes is larger than the device's budget of " + std::to_string(d.memory->budget_bytes()) +
                          " bytes (SEMCACHE_DEVICE_MEMORY). Raise the budget, or split the array. Live arrays:\n" +
                          describe_live_buffers(device),
                      bytes, d.memory->budget_bytes());
  }
  if (bytes > d.memory->bytes()) {
    throw OutOfMemory("array '" + std::string(label == nullptr ? "" : label) + "' of " + std::to_string(bytes) +
                          " bytes is larger than all the addresses for device arrays, " + std::to_string(d.memory->bytes()) +
                          " bytes. Split the array. Live arrays:\n" + describe_live_buffers(device),
                      bytes, d.memory->bytes());
  }
  Memory* m = new_memory(device_space(device), label, bytes);
  try {
    place_on_device(*m);
    m->datum = directory_.add_datum(bytes);
    bind(*m, directory_.add_slot(m->datum, m->space));
  } catch (...) {
    destroy(*m);
    throw;
  }
  live_device_bytes_ += bytes;
  project_device(*m);
  return m;
}

Memory* Engine::allocate_host(const char* label, std::uint64_t bytes, Memory* partner, bool announced) {
  const Transaction t(*this);
  if (partner != nullptr) {
    SEMCACHE_EXPECTS(partner->live && !partner->snapshot() && !partner->on_host(),
                     "the partner of a host side must be a live device array");
    SEMCACHE_EXPECTS(partner->bytes == bytes, "host side of " + std::to_string(bytes) + " bytes for device array '" +
                                                  recorder_.name(partner->label) + "' of " +
                                                  std::to_string(partner->bytes) + " bytes: sizes must agree");
    SEMCACHE_EXPECTS(!directory_.slot_in(partner->datum, host_space).valid(),
                     std::string("device array '") + recorder_.name(partner->label) + "' has a host side already");
  }
  host_->expect_fits(label, bytes);
  Memory* m = new_memory(host_space, label, bytes);
  try {
    host_->place(*m, recorder_.name(m->label));
    m->datum = partner != nullptr ? partner->datum : directory_.add_datum(bytes);
    // Its pages are new, and whoever writes them is noticed, unless the program promises to announce it.
    bind(*m, directory_.add_slot(m->datum, host_space, options_.notices && !announced ? directory::Content::zeros
                                                                                     : directory::Content::unknown));
    // SEMCACHE_CHECK protects them all the same. So does a kernel that has no mapping left for them. Without a tracker all
    // host memory is used like that of which the program announces the uses.
    m->announced = !options_.notices || (announced && !options_.check &&
                                         pages_->protect(*m, pages_->span(*m), platform::Protection::read_write));
  } catch (...) {
    destroy(*m);
    throw;
  }
  live_host_bytes_ += bytes;
  if (m->announced) directory_.mark_changing(m->slot);
  if (partner != nullptr) pages_->project(*m, m->all());
  return m;
}

void Engine::note_written(Memory& m, ByteRange range) {
  count_dropped(m, range);
  directory_.write(m.slot, range);
}

/// The memory is needed no more, and nothing in flight uses it. Also what an allocation that failed has made so far (I9).
void Engine::destroy(Memory& m) noexcept {
  forget_perhaps_unwanted(m);
  if (m.counted_snapshot) device_of(m).memory->snapshot_bytes -= m.bytes;
  if (!m.on_host() && (m.flags.load() & Memory::resident) != 0) unmap_memory(m);
  if (m.slot.valid()) {
    tell(step_of(plan::Step::Kind::release, m));
    directory_.remove_slot(m.slot);
  }
  if (m.datum.valid() && directory_.slots(m.datum).empty()) directory_.remove_datum(m.datum);
  pages_->end_phase(m);
  release_place(m);
  recycle(m);
}

/// False: it can be freed at once.
bool Engine::put_off(Memory& m) noexcept {
  if (std::find(put_off_.begin(), put_off_.end(), &m) != put_off_.end()) {
    base::raw_log("'%s' at %p is freed already, and goes when the launch that uses it ends. Nothing is done; free it once",
                  recorder_.name(m.label), static_cast<void*>(m.address));
    return true;
  }
  if (m.on_host() || m.pins.load() == 0 || !device_of(m).device->kernels_run_in_caller()) return false;
  put_off_.push_back(&m);
  put_off_count_.store(put_off_.size());
  if (m.pins.load() != 0) {
    m.incarnation.fetch_add(1);
    m.freeing = true;
    return true;
  }
  put_off_.pop_back();  // the launch has ended, and may not have seen it
  put_off_count_.store(put_off_.size());
  return false;
}

void Engine::free_put_off() noexcept {
  const platform::RuntimeScope scope;
  for (;;) {
    Memory* ready = nullptr;
    {
      const Transaction t(*this);
      const auto at = std::find_if(put_off_.begin(), put_off_.end(), [](const Memory* m) { return m->pins.load() == 0; });
      if (at == put_off_.end()) return;
      ready = *at;
      put_off_.erase(at);
      put_off_count_.store(put_off_.size());
    }
    deallocate(ready);
  }
}

void Engine::deallocate(Memory* memory) noexcept {
  if (memory == nullptr) return;
  Memory& m = *memory;
  Transaction t(*this);
  if (put_off(m)) return;
  (m.on_host() ? live_host_bytes_ : live_device_bytes_) -= m.bytes;
  m.incarnation.fetch_add(1);
  try {
    t.run([&] { return free_array(m); });
  } catch (const OutOfMemory&) {  // what others want of it stays where it is
    keep_as_saved_copy(m);
  } catch (const std::bad_alloc&) {
    keep_as_saved_copy(m);
  } catch (const std::exception& e) {
    base::fatal("freeing '%s' failed: %s", recorder_.name(m.label), e.what());
  }
}

Obstacle Engine::free_array(Memory& m) {
  // While the lock is given up another thread may free the other side, or use this one.
  if (!m.snapshot() && directory_.slots(m.datum).size() == 1) leave_datum(m);
  if (!m.snapshot()) {
    // The other side lives on: it must have everything that only this side holds.
    if (const Obstacle o = busy(m, m.all(), Mode::writes)) return o;
    if (const Obstacle o = save_before_leaving(m)) return o;
    if (const Obstacle o = uses_of(m)) return o;
  }
  m.freeing = true;  // until it is listed as a saved copy, or gone
  if (const Obstacle o = busy(m, m.all(), Mode::writes)) return o;
  if (m.snapshot()) {
    std::vector<directory::LastHeld> last;
    directory_.last_held(m.slot, m.all(), directory::Wanters::others, last);
    if (!last.empty()) {
      keep_as_saved_copy(m);
      return {};
    }
  }
  if (const Obstacle o = uses_of(m)) return o;
  if (!m.locked.empty()) return Obstacle::page_unlock(m);
  destroy(m);
  return {};
}

void Engine::leave_datum(Memory& m) noexcept {
  const DatumId datum = m.datum;
  m.incarnation.fetch_add(1);
  m.freeing = true;
  m.write_check.reset();
  directory_.detach(m.slot);
  if (directory_.slots(datum).empty()) {
    count_dropped(m, m.all());
    directory_.remove_datum(datum);
  }
  m.datum = DatumId{};
}

void Engine::keep_as_saved_copy(Memory& m) noexcept {
  if (!m.snapshot()) leave_datum(m);
  m.freeing = false;
  note_perhaps_unwanted(m);
  if (!m.on_host()) {
    m.counted_snapshot = true;
    device_of(m).memory->snapshot_bytes += m.bytes;
    protect_guarded(m, platform::Protection::none);
  }
}

Obstacle Engine::save_before_leaving(Memory& m) {
  const SlotId host = directory_.slot_in(m.datum, host_space);
  if (!host_side_is_announced(m) || host == m.slot) return save_all(m, m.all(), Loss::freeing);
  // What others want may not stay where the host writes without a word; what only the host still reads may.
  if (const Obstacle o = save_all(m, m.all(), Loss::write)) return o;
  struct Unmarked {
    directory::Directory& directory;
    SlotId slot;
    Unmarked(directory::Directory& d, SlotId s) : directory(d), slot(s) { directory.mark_changing(slot, false); }
    ~Unmarked() { directory.mark_changing(slot); }
  };
  for (std::vector<directory::LastHeld> last;; last.clear()) {
    {
      const Unmarked unmarked(directory_, host);
      directory_.last_held(m.slot, m.all(), directory::Wanters::others, last);
    }
    if (last.empty()) return {};
    if (const Obstacle o = save(m, last.front(), Loss::freeing)) return o;
  }
}

Memory* Engine::find_device(const void* p) const noexcept {
  for (const auto& d : devices_) {
    if (d->memory->covers(p)) return d->memory->find(p);
  }
  return nullptr;
}

Memory* Engine::find(const void* p) const noexcept {
  if (host_->covers(p)) return host_->find(p);
  return find_device(p);
}

bool Engine::in_any_arena(const void* p) const noexcept {
  return host_->covers(p) || in_device_arena(p);
}

bool Engine::in_device_arena(const void* p) const noexcept {
  return std::any_of(devices_.begin(), devices_.end(), [p](const auto& d) { return d->memory->covers(p); });
}

// --- projection: from the directory to flags and protections ---------------------------------------------------------

void Engine::project() noexcept {
  const std::uint64_t projection = ++projection_;
  const auto project_once = [&](Memory& m) {
    if (std::exchange(m.projected, projection) != projection) project_device(m);
  };
  projection_waits_.store(false);
  projecting_.swap(revoked_);
  for (Memory* m : projecting_) {
    m->awaits_projection = false;
    if (m->live && !m->on_host() && !m->snapshot()) project_once(*m);
  }
  projecting_.clear();
  for (const auto& touched : directory_.take_touched()) {
    if (touched.slot.value >= by_slot_.size()) continue;
    Memory* m = by_slot_[touched.slot.value];
    if (m == nullptr || !m->live) continue;
    if (m->snapshot()) {
      if (!m->freeing) note_perhaps_unwanted(*m);
    } else if (m->on_host()) {
      pages_->project(*m, touched.range);
    } else {
      project_once(*m);
    }
  }
}

void Engine::project_soon() noexcept {
  constexpr std::size_t many = 64;
  if (directory_.any_touched() || revoked_.size() > many) return project();
  if (!revoked_.empty()) projection_waits_.store(true);
}

void Engine::project_device(Memory& m) noexcept {
  using platform::Protection;
  std::uint32_t set = 0;
  if (directory_.fresh(m.slot, m.all())) {
    set |= Memory::is_fresh;
    if (m.bytes == 0 || directory_.exclusive(m.slot, m.all())) set |= Memory::is_exclusive;
  }
  DeviceState& d = device_of(m);
  // Transfers that launches need not wait for any more.
  bool written = true;
  bool used = true;
  for (QueueIndex q = 1; q < d.queues->own_end(); ++q) {
    written = written && d.queues->passed(q, m.on(q).write.load());
    used = used && d.queues->passed(q, m.on(q).use.load());
  }
  if (written) set |= Memory::idle;
  if (used) set |= Memory::unread;
  const std::uint32_t old = m.flags.load();
  if ((old & Memory::revocable & ~set) != 0) m.flags.fetch_and(~(Memory::revocable & ~set));
  if (guarded(m)) {
    const Protection most = (set & Memory::is_exclusive) != 0 ? Protection::read_write
                            : (set & Memory::is_fresh) != 0   ? Protection::read
                                                              : Protection::none;
    if (m.access > most) {
      // The flags are gone. A kernel that uses it still (and whose fault might wait for a thread that waits for the kernel)
      // finds it open to its end, where the pages are closed: it sees `projection_waits_`, or we see its pin.
      projection_waits_.store(true);
      if (m.pins.load() != 0) {
        project_later(m);
      } else {
        projection_waits_.store(!revoked_.empty());
        protect_guarded(m, most);
      }
    }
    // A launch that looks at the flags alone meets open pages.
    if (m.access < Protection::read_write) set &= ~Memory::is_exclusive;
    if (m.access < Protection::read) set &= ~Memory::is_fresh;
  }
  if ((set & ~old) != 0 && m.awaited == 0) m.flags.fetch_or(set);
}

void Engine::protect_guarded(Memory& m, platform::Protection protection) noexcept {
  if (!guarded(m) || m.access == protection) return;
  if (mappings_.scarce() || !platform_->protect(m.address, pages_->span(m).end, protection)) return stop_guarding(m);
  m.access = protection;
  mappings_.add(2);
}

void Engine::open_guarded(Memory& m) {
  using platform::Protection;
  if (!guarded(m) || !m.live || m.snapshot() || (m.flags.load() & Memory::resident) == 0) return;
  const Protection most = !directory_.fresh(m.slot, m.all())      ? Protection::none
                          : directory_.exclusive(m.slot, m.all()) ? Protection::read_write
                                                                  : Protection::read;
  if (m.access < most) protect_guarded(m, most);
}

void Engine::stop_guarding(const Memory& m) noexcept {
  options_.device_faults = false;
  for (const auto& d : devices_) {
    d->memory->for_each_mapping([&](std::byte* address, std::uint64_t bytes) {
      if (platform_->protect(address, bytes, platform::Protection::read_write)) return;
      base::fatal("cannot open the device memory of '%s' at %p and others: the kernel's limit on mappings (vm.max_map_count) or, "
                  "where vm.overcommit_memory is 2, on memory (vm.overcommit_ratio) is used up. Raise it, or free arrays.", recorder_.name(m.label), static_cast<void*>(m.address));
    });
  }
  base::raw_log("uses of the device memory of '%s' and of all other arrays outside semcache::Exec are no longer noticed, because "
                "the kernel's limit on mappings (vm.max_map_count) is near. Announce them with semcache::access(view, mode), "
                "or raise it", recorder_.name(m.label));
}

void Engine::collect_orphans() noexcept {
  for (const auto& touched : directory_.touched()) {
    Memory* const m = touched.slot.value < by_slot_.size() ? by_slot_[touched.slot.value] : nullptr;
    if (m != nullptr && m->live && m->snapshot() && !m->freeing) note_perhaps_unwanted(*m);
  }
  for (std::size_t i = 0; i < unwanted_.size();) {
    Memory& m = *unwanted_[i];
    if (directory_.needed(m.slot)) {  // it is touched when that changes
      forget_perhaps_unwanted(m);
      continue;
    }
    bool busy = m.pins.load() != 0;
    if (!busy && !m.on_host()) {
      DeviceState& d = device_of(m);
      busy = unknown_use_pending(m, Mode::writes);
      try {
        for (QueueIndex q = 1; q < d.queues->count() && !busy; ++q) busy = !d.queues->reached(q, m.on(q).use.load());
      } catch (const std::exception&) {
        busy = true;  // not known: asked again at the next occasion
      }
    }
    for (const Flight& f : flights_) busy = busy || f.host == &m;
    if (busy) {
      ++i;
      continue;
    }
    destroy(m);
  }
}

void Engine::note_perhaps_unwanted(Memory& saved) noexcept {
  if (!std::exchange(saved.perhaps_unwanted, true)) unwanted_.push_back(&saved);  // there is room for all
}

void Engine::forget_perhaps_unwanted(Memory& saved) noexcept {
  if (!std::exchange(saved.perhaps_unwanted, false)) return;
  *std::find(unwanted_.begin(), unwanted_.end(), &saved) = unwanted_.back();
  unwanted_.pop_back();
}

std::string Engine::describe_live_buffers(std::uint32_t device) const {
  std::vector<const Memory*> live;
  for (const Memory& m : pool_) {
    if (m.live && m.space == device_space(device)) live.push_back(&m);
  }
  std::sort(live.begin(), live.end(), [](const Memory* a, const Memory* b) { return a->bytes > b->bytes; });
  std::string text = live.empty() ? "  none\n" : "";
  for (std::size_t i = 0; i < live.size() && i < 32; ++i) {
    const Memory& m = *live[i];
    const std::uint32_t flags = m.flags.load();
    text += "  " + std::to_string(m.bytes) + " bytes  '" + recorder_.name(m.label) + "'" +
            (m.snapshot() ? " (saved copy)" : "") + ((flags & Memory::resident) != 0 ? ", on the device" : ", not on the device now") + "\n";
  }
  if (live.size() > 32) text += "  and " + std::to_string(live.size() - 32) + " not larger\n";
  return text;
}

QueueIndex Engine::adopt_queue(std::uint32_t device, void* native, std::shared_ptr<void> owner, bool leased) {
  Transaction t(*this);
  Queues& queues = *devices_.at(device)->queues;
  const QueueIndex before = queues.program_queues();
  QueueIndex queue = queues.adopt(native, owner);
  bool anew = false;
  if (leased && queues.outlives_a_stream(queue)) {
    // Another stream may have had its name: what is known of that one says nothing of this one.
    end_queue(t, *devices_[device], queue);
    queue = queues.adopt(native, std::move(owner));
    anew = true;
  }
  if (leased) queues.lease(queue);
  if (anew || queues.program_queues() > before) {
    // "Idle" may have meant: the queues in use are ordered after the transfers in flight. Now there is another.
    for (Memory& m : pool_) {
      if (!m.live || m.on_host()) continue;
      revoke(m);
    }
  }
  return queue;
}

void Engine::others_are_told_of(bool told) noexcept {
  for (auto& d : devices_) d->queues->others_are_told_of(told);
}

void Engine::others_submit() noexcept {
  for (auto& d : devices_) {
    if (!d->queues->any_unrecorded()) continue;
    try {
      Transaction t(*this);
      t.launch_follows();
      const device::Visit visit(*d->device);
      d->queues->record_leased();
    } catch (const std::exception& e) {
      base::raw_log("who waits for launches of before waits for what comes now, too: %s", e.what());
    }
  }
}

void Engine::retire_queue(std::uint32_t device, QueueIndex queue) noexcept {
  try {
    Transaction t(*this);
    end_queue(t, *devices_.at(device), queue);
  } catch (const std::exception& e) {
    base::raw_log("retiring a queue: %s", e.what());
  }
}

void Engine::add_to(Statistics& s) const {
  const Look look(*this);
  s.live_device_bytes = live_device_bytes_;
  s.live_host_bytes = live_host_bytes_;
  s.snapshot_bytes = host_snapshot_bytes_;
  for (const auto& d : devices_) {
    s.mapped_device_bytes += d->memory->mapped_bytes();
    s.device_budget_bytes += d->memory->budget_bytes();
    s.snapshot_bytes += d->memory->snapshot_bytes;
  }
  s.directory_bytes = directory_.memory_bytes();
  s.check_writes = options_.check_writes;
  s.device_count = static_cast<int>(devices_.size());
  if (!devices_.empty()) {
    s.device_kind = to_string(home().device->kind());
    s.device_name = home().device->name();
    s.device_ordinal = home().device->ordinal();
  }
}

bool Engine::any_live() const {
  const Look look(*this);
  for (const Memory& m : pool_) {
    if (m.live && !m.snapshot()) return true;
  }
  return false;
}

}  // namespace semcache::engine
