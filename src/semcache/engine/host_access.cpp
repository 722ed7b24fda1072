// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/engine/engine.hpp>

#include <chrono>
#include <string>
#include <thread>

namespace semcache::engine {

using platform::FaultKind;
using platform::FaultResult;
using platform::Protection;

void Engine::host_access(Lock& lock, Memory& m, ByteRange range, Access mode) {
  const bool pages_matter = watched(m);
  // Near the kernel's limit on mappings arrays are opened as a whole: no further mapping.
  if (pages_matter && mappings_scarce()) {
    if (mode == Access::overwrite && range != m.all()) mode = Access::read_write;
    range = m.all();
  }
  for (;;) {
    const std::uint64_t seen = unlocks_;
    const ByteRange pages = to_pages(m, range);
    const ByteRange content = pages_matter ? intersect(pages, m.all()) : range;
    if (needs_content(mode)) {
      make_fresh(lock, m, content);
    } else {  // I5: a page that is opened for writing holds all its wanted bytes, but those announced
      if (content.begin < range.begin) make_fresh(lock, m, {content.begin, range.begin});
      if (range.end < content.end) make_fresh(lock, m, {range.end, content.end});
    }
    if (writes(mode)) {
      while (save_one(lock, m, content, true)) {
      }
    }
    while (wait_conflict(lock, m, content, writes(mode))) {
    }
    if (seen != unlocks_) continue;
    if (writes(mode)) note_written(m, content);  // I2
    project();
    if (pages_matter) {
      const Protection wanted = writes(mode) ? Protection::read_write : Protection::read;
      std::vector<ByteRange> relax;
      m.pages.for_each(pages, [&](ByteRange piece, PageState s) {
        if (s.protection >= wanted) return;
        if (!relax.empty() && relax.back().end == piece.begin) {
          relax.back().end = piece.end;
        } else {
          relax.push_back(piece);
        }
      });
      bool opened = true;
      for (const ByteRange piece : relax) opened = opened && set_protection(m, piece, wanted);
      if (!opened) {
        if (range == m.all()) {
          // One protection for the whole array splits no mapping.
          if (set_protection(m, page_span(m), wanted)) {
            keep_maps_short(lock, m);
            return;
          }
          base::fatal("cannot open the pages of '%s' at %p: the kernel's limit on mappings (vm.max_map_count) is used "
                      "up. Raise it, or free mirrors.", recorder_.name(m.label), static_cast<void*>(m.address));
        }
        if (mode == Access::overwrite) mode = Access::read_write;
        range = m.all();
        continue;
      }
    }
    keep_maps_short(lock, m);
    if (!snapshots_.empty()) collect_orphans();
    return;
  }
}

bool Engine::mappings_scarce() noexcept {
  const std::uint64_t limit = platform_->mapping_limit();
  if (mapping_estimate_ <= limit) return false;
  // The estimate is pessimistic (neighbours of equal protection share a mapping, splits heal): count now and then.
  if (mapping_estimate_ >= mappings_counted_at_ + 1024) {
    if (const std::uint64_t counted = platform_->mapping_count(); counted != 0) mapping_estimate_ = counted;
    mappings_counted_at_ = mapping_estimate_;
  }
  return mapping_estimate_ > limit;
}

void Engine::expose(Memory& m) {
  Lock lock(mutex_);
  const ProjectOnFailure guard{*this};
  if (!m.live || m.snapshot()) return;
  if (m.announced || directory_.slots(m.datum).size() > 1) {
    host_access(lock, m, m.all(), Access::read_write);
    return;
  }
  if (m.open) return;
  open_mirror(lock, m, "a kernel holds a raw pointer into it. Let kernels capture the device's View");
  recorder_.exposed(m.label);
  unlock_pages(m);
  for (std::uint64_t at = 0; at < page_span(m).end; at += options_.registration_bytes) {
    const std::uint64_t bytes = std::min(options_.registration_bytes, page_span(m).end - at);
    m.locked.push_back(devices_[0]->device->register_host(m.address + at, bytes) ? m.address + at : nullptr);
  }
}

void Engine::open_mirror(Lock& lock, Memory& m, const char* reason) {
  if (m.open) return;
  for (;;) {
    const std::uint64_t seen = unlocks_;
    make_fresh(lock, m, m.all());
    while (save_one(lock, m, m.all(), true)) {
    }
    while (wait_conflict(lock, m, m.all(), true)) {
    }
    if (seen == unlocks_) break;
  }
  if (!set_protection(m, page_span(m), Protection::read_write)) {
    base::fatal("cannot open the pages of '%s' at %p: the kernel's limit on mappings (vm.max_map_count) is used up. "
                "Raise it, or free mirrors.", recorder_.name(m.label), static_cast<void*>(m.address));
  }
  m.open = true;
  directory_.renumber(m.slot, m.all());
  recorder_.opened(m.label);
  if (!warned_open_) {
    warned_open_ = true;
    base::raw_log("the host mirror '%s' (and further ones of its kind) is no longer watched and copied at every deep_copy, "
                  "because %s", recorder_.name(m.label), reason);
  }
  project();
}

void Engine::keep_maps_short(Lock& lock, Memory& m) {
  // 64 bytes of maps per extent, at most 1 % of the array.
  const std::size_t bound = static_cast<std::size_t>(std::max<std::uint64_t>(64, m.bytes / 6400));
  if (directory_.extent_count(m.datum) <= bound) return;
  try {
    for (;;) {
      const std::uint64_t seen = unlocks_;
      if (!m.on_host()) make_resident(lock, m);
      make_fresh(lock, m, m.all());
      if (m.on_host() ? wait_conflict(lock, m, m.all(), true) : quiesce(lock, m)) continue;
      while (save_one(lock, m, m.all(), true)) {
      }
      if (seen == unlocks_) break;
    }
  } catch (const Error&) {
    return;  // I9: what the caller asked for is done; the maps stay long until the next time
  }
  m.write_check.reset();
  directory_.renumber(m.slot, m.all());
  project();
}

void Engine::wait_transfers(Lock& lock, Memory& m) {
  DeviceState& d = device_of(m);
  for (QueueIndex q = 1; q < d.queues->count(); ++q) {
    if (!d.queues->own(q) || m.on(q).use.load() == 0) continue;
    if (const auto event = d.queues->event_after(q, m.on(q).use.load())) {
      unlocked(lock, [&] { event->synchronize(); });
    }
  }
}

void Engine::access(Memory& m, ByteRange range, Access mode) {
  if (range.empty()) return;
  if (!m.on_host()) {
    // Whole arrays: raw kernels may use any stream, before and after.
    if (mode == Access::overwrite && range == m.all()) {
      const std::uint64_t links = links_.load();
      Lock lock(mutex_);
      const ProjectOnFailure guard{*this};
      for (;;) {
        const std::uint64_t seen = unlocks_;
        make_resident(lock, m);
        if (quiesce(lock, m)) continue;
        while (save_one(lock, m, m.all(), true)) {
        }
        wait_transfers(lock, m);
        if (seen == unlocks_) break;
      }
      note_written(m, m.all());
      note_use(device_of(m), unknown_queue, m, true);
      keep_reachable(m);
      open_guarded(m);
      project();
      m.announced_use.writes.store(true);
      m.announced_use.links.store(links);
      m.announced_use.at.store(m.recently.load());
      return;
    }
    use_natively(m, writes(mode), m.announced_use);
    return;
  }
  // Nothing to do for an array whose pages permit it already: one load, no lock.
  if (watched(m) && (m.flags.load() & (writes(mode) ? Memory::host_writable : Memory::host_readable)) != 0) return;
  Lock lock(mutex_);
  const device::Visit visit(*devices_[0]->device);
  const ProjectOnFailure guard{*this};
  host_access(lock, m, range, mode);
  if (needs_content(mode)) note_fetch(m, range);
}

/// The host asked for the whole array, at once or piece after piece: after how many launches that wrote it?
void Engine::note_fetch(Memory& host, ByteRange range) {
  host.asked_end = range.begin == 0 || range.begin == host.asked_end ? range.end : 0;
  if (host.asked_end != host.bytes) return;
  host.asked_end = 0;
  for (const SlotId slot : directory_.slots(host.datum)) {
    Memory& m = memory_of(slot);
    if (m.on_host()) continue;
    const std::uint32_t launches = m.writing_launches.load(std::memory_order_relaxed);
    host.forecast.fetched(launches - std::exchange(m.writing_launches_at_fetch, launches));
  }
}

/// A use of guarded pages that nobody announced. No launch: what the program does by itself is over before the pages are closed,
/// so nobody has to wait for it, and the array may be evicted at once, because its next use is noticed, too.
FaultResult Engine::serve_device(Lock& lock, Memory& m, FaultKind kind, const void* address, const void* instruction) {
  if (!guarded(m) || m.freeing) return FaultResult::not_ours;
  const bool writes = kind == FaultKind::write || (kind == FaultKind::unknown && m.access == Protection::read);
  // Another thread's fault may have opened the pages meanwhile; then the access succeeds.
  if (m.access >= (writes ? Protection::read_write : Protection::read)) return FaultResult::not_ours;
  recorder_.unannounced(m.label);
  if (kernels_.load(std::memory_order_relaxed) > 0) recorder_.uncaptured(m.label);
  // One instruction may need two arrays that evict each other: then it gets both, or the end that says so.
  const auto [other, before] = std::pair(last_faults_[0], last_faults_[1]);
  alternating_faults_ = before.address == address && before.instruction == instruction ? alternating_faults_ + 1 : 0;
  last_faults_[1] = other;
  last_faults_[0] = {address, instruction, &m};
  const bool both = alternating_faults_ > 16 && other.memory != &m && other.memory->live && !other.memory->snapshot() &&
                    !other.memory->on_host();
  const Operand operands[] = {{&m, writes}, {other.memory, false}};
  const std::size_t count = both ? 2 : 1;
  begin_launch(lock, unknown_queue, operands, count, nullptr);
  for (std::size_t i = 0; i < count; ++i) operands[i].memory->pins.fetch_sub(1);
  project();
  return FaultResult::served;
}

FaultResult Engine::serve(std::byte* address, FaultKind kind, const void* instruction) noexcept {
  const trace::AccessScope scope(instruction);
  const char* label = "?";
  try {
    Lock lock(mutex_);
    Memory* found = find(address);
    if (found == nullptr || !found->live || found->snapshot() || found->open || found->bytes == 0) return FaultResult::not_ours;
    Memory& m = *found;
    label = recorder_.name(m.label);
    if (!m.on_host()) return serve_device(lock, m, kind, address, instruction);
    const auto position = static_cast<std::uint64_t>(address - m.address);
    const Protection now = m.pages.at(position).protection;
    if (kind == FaultKind::unknown) {
      kind = now == Protection::none ? FaultKind::read : FaultKind::write;
    }
    // Another thread's fault has opened the page meanwhile.
    if (now == Protection::read_write || (kind == FaultKind::read && now == Protection::read)) return FaultResult::served;
    recorder_.host_fault(m.label);
    const ByteRange range = m.read_ahead.next(position, m.bytes, page_bytes_);
    std::vector<ByteRange> stale;
    directory_.stale(m.slot, range, stale);
    std::uint64_t ahead = 0;
    const std::uint64_t faulting = round_down(position, page_bytes_);
    for (const ByteRange r : stale) ahead += r.size() - intersect(r, {faulting, faulting + page_bytes_}).size();
    if (ahead > 0) recorder_.moved(trace::Kind::read_ahead, m.label, ahead);
    host_access(lock, m, range, kind == FaultKind::write ? Access::write : Access::read);
    return FaultResult::served;
  } catch (const std::exception& e) {
    while (process_ends_.load()) std::this_thread::sleep_for(std::chrono::seconds(1));
    base::fatal("an access to '%s' at %p cannot be served: %s", label, static_cast<void*>(address), e.what());
  }
}

void Engine::settle_all() {
  std::vector<Memory*> all;
  {
    Lock lock(mutex_);
    for (Memory& m : pool_) {
      if (m.live && !m.snapshot()) all.push_back(&m);
    }
  }
  for (Memory* m : all) {
    Lock lock(mutex_);
    const ProjectOnFailure guard{*this};
    if (!m->live || m->snapshot() || directory_.fresh(m->slot, m->all())) continue;
    if (m->on_host()) {
      host_access(lock, *m, m->all(), Access::read);
    } else if ((m->flags.load() & Memory::resident) != 0) {
      make_fresh(lock, *m, m->all());
      open_guarded(*m);
      project();
    }
  }
  Lock lock(mutex_);
  while (!flights_.empty()) finish(lock, FlightPtr(flights_.front()));
  collect_orphans();
}

void Engine::open_everything() noexcept {
  std::vector<Memory*> protected_ones;
  {
    Lock lock(mutex_);
    for (Memory& m : pool_) {
      if (m.live && !m.snapshot() && (m.on_host() || (guarded(m) && (m.flags.load() & Memory::resident) != 0))) {
        protected_ones.push_back(&m);
      }
    }
  }
  for (Memory* m : protected_ones) {
    try {
      Lock lock(mutex_);
      const bool defined = directory_.defined(m->datum, m->all());
      if (m->on_host()) {
        if (defined) host_access(lock, *m, m->all(), Access::read);
        m->open = true;
        set_protection(*m, page_span(*m), Protection::read_write);
      } else {
        if (defined) make_fresh(lock, *m, m->all());
        protect_guarded(*m, Protection::read_write);
      }
    } catch (const std::exception& e) {
      base::raw_log("'%s' cannot be brought to its memory at the end: %s", recorder_.name(m->label), e.what());
    }
  }
}

}  // namespace semcache::engine
