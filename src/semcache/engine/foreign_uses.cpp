// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/engine/foreign_uses.hpp>

#include <algorithm>
#include <cstring>
#include <functional>
#include <utility>

namespace semcache::engine {

using Kind = device::DriverUse::Kind;

namespace {

/// Tells whether a word that is the array's address belongs to a View's handle. In front of the data's address, a handle has the
/// address of its record, in closures with the lowest bit set. The record's address is also the first word of the array's header.
bool is_handle(const Memory& m, std::uintptr_t in_front) noexcept {
  std::uintptr_t record;
  std::memcpy(&record, m.header, sizeof record);
  return record != 0 && in_front == (record | 1);
}

void add_use(ForeignCall& call, const ForeignCall::Use& more) {
  for (ForeignCall::Use& use : call.uses) {
    if (use.memory != more.memory) continue;
    use.writable = use.writable || more.writable;
    use.used_writing = use.used_writing || more.used_writing;
    use.announced = use.announced && more.announced;
    const auto merge = [](auto& parts, const auto& others) {
      if (!parts.empty() && !others.empty()) {
        parts.insert(parts.end(), others.begin(), others.end());
      } else {
        parts.clear();
      }
    };
    merge(use.parts, more.parts);
    merge(use.announced_parts, more.announced_parts);
    return;
  }
  call.uses.push_back(more);
}

}  // namespace

void ForeignUses::use_natively(Memory& m, const Region& where, Mode mode, Memory::Announcement& announcement) {
  const bool writable = mode == Mode::writes;
  const UnsubmittedLaunch unsubmitted;
  const Announced announced(*this, announcement, m);
  const Operand operand{&m, writable};
  Requirement part{&m, where, writable ? Access::read_write : Access::read};
  launches_.begin_launch(unknown_queue, &operand, 1, {&part, 1});
  launches_.end_launch(unknown_queue, &operand, 1, users_of(m));
  std::optional<Transaction> t;
  if (s_.options.check || part.range.size() < m.bytes) t.emplace(transactions_);
  if (s_.options.check) projection_.keep_reachable(m);
  announced.note(part.range, mode);
}

void ForeignUses::confine(ForeignCall::Use& use) {
  Memory& m = *use.memory;
  use.confined = true;
  use.parts.clear();
  for (const auto& part : use.announced_parts) {
    m.blocks.for_each_range_around(part.where, [&](ByteRange blocks) { use.parts.push_back({&m, blocks, Access::read}); });
    if (part.writes) use.parts.push_back({&m, part.where, Access::read_write});
  }
}

DeviceSet ForeignUses::users_of(const Memory& m) const noexcept {
  DeviceSet users = 0;
  for (const auto& d : s_.devices) {
    if (s_.topology.linked(device_space(d->index), m.space)) users |= DeviceSet{1} << d->index;
  }
  return users;
}

// A use counts on the unknown queue, because raw kernels may use any stream, before and after it, and there as one of the whole array.
void ForeignUses::access(Memory& m, const Region& where, Access mode) {
  // The use of guarded memory is noticed where the announcement does not cover it, so the pages are opened together if they can be.
  if (s_.guarded(m) && where.size() < m.bytes && fits_as_a_whole(m)) return use_natively(m, m.all(), mode_of(writes(mode)), m.announced_use);
  if (mode != Access::overwrite) return use_natively(m, where, mode_of(writes(mode)), m.announced_use);
  const UnsubmittedLaunch unsubmitted;
  const Announced announced(*this, m.announced_use, m);
  Transaction t(transactions_);
  const Kept kept(m);
  Requirement use{&m, where, mode};
  shapes_.fit(t, use);
  t.run([&] {
    s_.expect_not_freed(kept);
    const Obstacle o = preparation_.meet(&use, 1);
    return o ? o : hazards_.transfers_and_tasks_of(m);
  });
  transfers_.prepare_written(m, use.range);
  transfers_.note_written(m, use.range);
  m.unknown_on.fetch_or(users_of(m));
  m.uses.note(unknown_queue, s_.queues->begin_position(unknown_queue), Mode::writes);
  m.note_recent(use.range, s_.clock.fetch_add(1, std::memory_order_relaxed));
  projection_.keep_reachable(m);
  if (use.range.size() < m.bytes) projection_.open_part(m, use.range, Mode::writes);
  projection_.open_guarded(m);
  announced.note(use.range, Mode::writes);
}

bool ForeignUses::fits_as_a_whole(Memory& m) {
  const Look look(transactions_);
  return residency_.fits_as_a_whole(m);
}

void ForeignUses::Announced::note(const Region& where, Mode mode) const noexcept {
  const bool writes = mode == Mode::writes;
  // Beyond so many a use counts as one of the whole array. One that is larger than the budget can only be used in parts.
  const std::size_t most_parts = std::max<std::size_t>(32, memory_.blocks.count());
  bool in_part = where.size() < memory_.bytes;
  if (in_part) {
    in_part = !held_ || held_in_part_;
    try {
      if (memory_.in_part == nullptr) memory_.in_part = base::make_owned<Memory::InPart>();
      base::Vector<Memory::InPart::Announced>& parts = memory_.in_part->announced;
      if (!held_) parts.clear();
      const auto same = std::find_if(parts.begin(), parts.end(), [&](const auto& part) { return part.where == where; });
      in_part = in_part && (same != parts.end() || parts.size() < most_parts);
      if (same != parts.end()) {
        same->writes = same->writes || writes;
      } else if (in_part) {
        parts.push_back({where, writes});
      }
    } catch (const std::bad_alloc&) {
      in_part = false;
    }
  }
  announcement_.in_part.store(in_part);
  announcement_.writes.store(writes || held_writes_);
  announcement_.by.store(by_);
  announcement_.links.store(links_);
  announcement_.at.store(memory_.recently.load());
}

void ForeignUses::native_capture_of_all() {
  const UnsubmittedLaunch unsubmitted;
  std::vector<Operand> all;
  launches_.begin_unknown_launch(unknown_queue, all);
  launches_.end_launch(unknown_queue, all.data(), all.size());
  if (!s_.options.check) return;
  const Transaction t(transactions_);
  for (const Operand& o : all) projection_.keep_reachable(*o.memory);
}

void ForeignUses::list(Memory& m) {
  if (m.listed) return;
  s_.listed.push_back(&m);
  m.listed = true;
  s_.listed_arrays.store(s_.listed.size());
}

ForeignCall::Use ForeignUses::unless_announced(Memory& m, Mode mode, const void* address) {
  const bool writable = mode == Mode::writes;
  ForeignCall::Use use{Known(m), writable, writable, false, {}, {}};
  const Memory::Announcement& announcement = m.announced_use;
  const bool fresh = s_.directory.fresh(m.slot, m.all());
  const bool in_part = announcement.in_part.load();
  const auto is_given = [&](const Memory::InPart::Announced& part) {
    const auto* const at = static_cast<const std::byte*>(address);
    if (address == nullptr || at < m.address + part.where.begin || at >= m.address + part.where.end()) return false;
    const auto from_begin = static_cast<std::uint64_t>(at - m.address) - part.where.begin;
    return part.where.is_range() || from_begin % part.where.pitch < part.where.width;
  };
  use.announced = holds(announcement, m) &&
                  (in_part ? std::any_of(m.in_part->announced.begin(), m.in_part->announced.end(), is_given) : fresh);
  if (use.announced) use.writable = use.used_writing = announcement.writes.load();
  if (use.announced && in_part) {
    // The announcement of the part to which the address leads tells what is written. But the kernel may be another one than was
    // announced, and read more.
    use.parts.push_back({&m, m.all(), Access::read});
    use.announced_parts = m.in_part->announced;
    for (const auto& part : m.in_part->announced) {
      if (part.writes) use.parts.push_back({&m, part.where, Access::read_write});
    }
  }
  if (!use.announced) count_unannounced(m, m.all(), mode);
  return use;
}

void ForeignUses::count_unannounced(const Memory& m, const Region& range, Mode mode) {
  const bool right = mode == Mode::writes ? s_.directory.exclusive(m.slot, range) : s_.directory.fresh(m.slot, range);
  if (!right) s_.recorder.count(trace::Event::unannounced, m.label);
}

ForeignCall::Use ForeignUses::transfer_of(Memory& m, ByteRange range, Mode mode) {
  const bool writes = mode == Mode::writes;
  const bool announced = s_.directory.fresh(m.slot, range) && holds(m.announced_use, m) && (!writes || m.announced_use.writes.load());
  if (!announced) count_unannounced(m, range, mode);
  // A transfer may fail, or write only some of the bytes, so the content of the others must be there.
  ForeignCall::Use use{Known(m), writes, writes, announced, {}, {}};
  if (!s_.guarded(m) && range != m.all()) use.parts.push_back({&m, range, writes ? Access::read_write : Access::read});
  return use;
}

/// Adds every array to the call, because a kernel that is given an array of Views may use any array.
void ForeignUses::add_every_array(ForeignCall& call) {
  for (ForeignCall::Use& use : call.uses) {
    if (use.announced) continue;
    use.writable = use.used_writing = true;
    use.parts.clear();
    use.announced_parts.clear();
  }
  const std::size_t given = call.uses.size();
  for (Memory& m : s_.pool) {
    if (!m.live || m.on_host() || m.snapshot() || m.freeing || m.part) continue;
    const auto end = call.uses.begin() + static_cast<std::ptrdiff_t>(given);
    if (std::any_of(call.uses.begin(), end, [&](const ForeignCall::Use& use) { return use.memory == &m; })) continue;
    call.uses.push_back(unless_announced(m, Mode::writes));
  }
}

/// A call that is about to begin: what it uses, as far as that has been found.
struct ForeignUses::Beginning {
  std::unique_ptr<ForeignCall> owner = std::make_unique<ForeignCall>();
  ForeignCall& call = *owner;
  std::vector<HostUse> host_uses;
  bool leads_to_views = false;  ///< one of the arrays holds Views, which may lead to any other
  std::vector<Operand> operands;  ///< of the last attempt to prepare it
  std::vector<Requirement> parts;
};

std::unique_ptr<ForeignCall> ForeignUses::begin_foreign_call(const device::DriverUse* uses, std::size_t count, ForeignCall::Kind kind,
                                                             const ForeignStream& where) {
  base::Patience patience(s_.options.patience);
  here().in_driver_call = &patience;
  const base::AtEnd prepared([] { here().in_driver_call = nullptr; });
  Transaction t(transactions_);
  t.launch_follows();
  Beginning b;  // behind `t`: if something fails, it ends while the lock is held
  b.call.kind = kind;
  b.call.devices = where.devices;
  // The stream may have lost its queue since the caller asked for it.
  if (where.queue != unknown_queue && s_.queues->is_of_stream(where.queue, where.native)) {
    b.call.queue = where.queue;
    b.call.on_queue = Queues::Call(*s_.queues, where.queue);
  }
  const device::Visit visit(*s_.device_of(b.call.queue).device);
  for (std::size_t i = 0; i < count; ++i) find_use(b, uses[i]);
  if (kind == ForeignCall::Kind::launch) find_uses_of_launch(b);
  if (b.call.uses.empty() && b.host_uses.empty()) return nullptr;
  for (ForeignCall::Use& use : b.call.uses) {
    for (const HostUse& host : b.host_uses) use.both_sides = use.both_sides || (!host.pointer && host.memory->datum == use.memory->datum);
  }
  confine_what_does_not_fit(b);
  keep_maps_short(t, b);
  try {
    t.run([&] { return prepare(b); });
  } catch (const OutOfMemory& e) {
    if (!b.leads_to_views) throw;
    throw OutOfMemory(std::string("one of them holds Views, which may lead to any array, so it needs every array: ") + e.what(),
                      e.requested_bytes(), e.budget_bytes());
  }
  for (const HostUse& use : b.host_uses) {
    if (use.served && !use.freed()) host_access_.note_fetch(*use.memory, use.range);
  }
  if (b.call.uses.empty()) return nullptr;
  launches_.pin(t, b.call.queue, b.operands.data(), b.operands.size(), {b.parts.data(), b.parts.size()});
  b.call.operands = std::move(b.operands);
  return std::move(b.owner);
}

void ForeignUses::find_use(Beginning& b, const device::DriverUse& use) {
  Memory* const found = s_.find(use.address);
  if (found == nullptr || !found->live || found->snapshot() || found->freeing || found->part) return;
  Memory& m = *found;
  const auto begin = static_cast<std::uint64_t>(static_cast<const std::byte*>(use.address) - m.address);
  const ByteRange range{begin, std::min(m.bytes, begin + use.bytes)};
  const bool word = use.bytes == 0;
  const bool handle = word && is_handle(m, use.in_front);
  if (handle && m.on_host()) return;  // frameworks see to it that kernels do not follow such a handle
  b.leads_to_views = b.leads_to_views || (word && m.holds_handles.load(std::memory_order_relaxed));
  if (use.kind == Kind::recorded || (use.kind == Kind::listed && !handle)) {
    list(m);
  } else if (handle && holds(m.captured_use, m)) {
    // The use was announced when the handle was copied, but the kernel is submitted only now.
    const ForeignCall::Use captured{Known(m), m.captured_use.writes.load(), true, false, {}, {}};
    add_use(b.call, captured);
    if (use.kind == Kind::listed) expect_argument(captured);
  } else if (!m.on_host()) {
    // Words on their way to the device may still be a launch's arguments, even where a copy meanwhile has ended the
    // announcement of the handle's capture.
    const Mode mode = mode_of(use.kind != Kind::read);
    const ForeignCall::Use now = word ? unless_announced(m, mode, use.address) : transfer_of(m, range, mode);
    add_use(b.call, now);
    if (use.kind == Kind::listed) expect_argument(now);
  } else {
    b.host_uses.push_back({Known(m), range, use.kind == Kind::write, word});
  }
}

void ForeignUses::expect_argument(const ForeignCall::Use& use) {
  auto& own = arguments_[std::this_thread::get_id()];
  if (std::exchange(here().arguments_of, s_.serial) != s_.serial) own.clear();  // those of a thread of the same id that has ended
  own.push_back(use);
}

void ForeignUses::find_uses_of_launch(Beginning& b) {
  // A launch whose arguments this thread has copied to the device beforehand shows none of them itself.
  std::vector<ForeignCall::Use> arguments;
  if (auto own = arguments_.extract(std::this_thread::get_id())) arguments = std::move(own.mapped());
  here().arguments_of = 0;
  for (const ForeignCall::Use& use : arguments) {
    if (use.freed()) continue;
    b.leads_to_views = b.leads_to_views || use.memory->holds_handles.load(std::memory_order_relaxed);
    add_use(b.call, use);
  }
  for (Memory* m : s_.listed) {
    if (!m->live || m->snapshot() || m->freeing) continue;
    if (m->on_host()) {
      b.host_uses.push_back({Known(*m), m->all(), true, true});
    } else {
      b.leads_to_views = b.leads_to_views || m->holds_handles.load(std::memory_order_relaxed);
      add_use(b.call, unless_announced(*m, Mode::writes));
    }
  }
  if (b.leads_to_views) add_every_array(b.call);
}

void ForeignUses::confine_what_does_not_fit(Beginning& b) {
  const auto for_each_need = [&](const auto& visit) {
    for (const ForeignCall::Use& use : b.call.uses) {
      if (use.freed()) continue;
      if (use.parts.empty()) visit(*use.memory, use.memory->all());
      for (const Requirement& part : use.parts) visit(*part.memory, part.range);
    }
  };
  const auto in_parts = [](const ForeignCall::Use& use) { return !use.announced_parts.empty(); };
  if (std::none_of(b.call.uses.begin(), b.call.uses.end(), in_parts) || residency_.fits(for_each_need)) return;
  for (ForeignCall::Use& use : b.call.uses) {
    if (in_parts(use) && !use.freed()) confine(use);
  }
}

void ForeignUses::keep_maps_short(Transaction& t, Beginning& b) {
  for (const HostUse& use : b.host_uses) {
    if (!use.pointer && !is_right(use)) shapes_.keep_maps_short(t, *use.memory);
  }
  for (ForeignCall::Use& use : b.call.uses) {
    if (use.parts.size() > Shapes::most_pieces && !use.confined) use.parts.clear();
    if (!use.parts.empty() && !use.freed()) shapes_.keep_maps_short(t, *use.memory);
  }
}

Obstacle ForeignUses::prepare(Beginning& b) {
  const auto make_host_right = [&](Mode mode) -> Obstacle {
    for (HostUse& use : b.host_uses) {
      if (mode_of(use.writable) != mode) continue;
      if (const Obstacle o = make_right(use)) return o;
    }
    return {};
  };
  std::vector<ForeignCall::Use>& uses = b.call.uses;
  // Host memory that the call reads comes first, and host memory that it writes comes last. A copy from one side of an array
  // to the other needs both sides made right, and neither side may count yet as what the call will make of it.
  if (const Obstacle o = make_host_right(Mode::reads)) return o;
  // Arrays may be freed while the lock is given up.
  uses.erase(std::remove_if(uses.begin(), uses.end(), std::mem_fn(&Known::freed)), uses.end());
  b.operands.clear();
  b.parts.clear();
  for (const ForeignCall::Use& use : uses) {
    b.operands.push_back({use.memory, use.writable && !use.both_sides});
    for (const Requirement& part : use.parts) b.parts.push_back({part.memory, part.range, use.both_sides ? Access::read : part.mode});
  }
  if (const Obstacle o = preparation_.prepare(b.operands.data(), b.operands.size(), {b.parts.data(), b.parts.size()})) return o;
  for (const ForeignCall::Use& use : uses) {
    if (!use.confined) continue;
    if (const Obstacle o = residency_.evict_stale(*use.memory)) return o;
  }
  // These writes are noted in the directory when the call has been made. Until then none of these slots counts as a holder.
  std::vector<std::shared_ptr<directory::Directory>> overwritten;
  overwritten.reserve(uses.size());
  for (const ForeignCall::Use& use : uses) {
    if (!use.both_sides || !use.writable) continue;
    if (const Obstacle o = preparation_.save_for_write(*use.memory, use.written())) return o;
    use.memory->write_check.reset();
    const SlotId slot = use.memory->slot;
    s_.directory.mark_changing(slot);
    overwritten.emplace_back(&s_.directory, [slot](directory::Directory* d) { d->mark_unchanging(slot); });
  }
  if (const Obstacle o = make_host_right(Mode::writes)) return o;
  b.call.overwritten = std::move(overwritten);  // the arrays are pinned next
  return {};
}

void ForeignUses::end_foreign_call(std::unique_ptr<ForeignCall> call) noexcept {
  // The thread is still in the driver's call.
  base::Patience patience(s_.options.patience);
  here().in_driver_call = &patience;
  const base::AtEnd ended([] { here().in_driver_call = nullptr; });
  bool written = false;
  for (const ForeignCall::Use& use : call->uses) written = written || (use.both_sides && use.writable);
  if (written) {
    const Transaction t(transactions_);
    for (const ForeignCall::Use& use : call->uses) {
      if (!use.both_sides || !use.writable) continue;
      try {
        for (const Region& where : use.written()) transfers_.note_written(*use.memory, where);
      } catch (const std::exception& e) {
        base::fatal("a call of the driver has written '%s', which cannot be noted: %s. Free memory of the host",
                    s_.name(*use.memory), e.what());
      }
    }
    call->overwritten.clear();
  }
  const QueueIndex queue = call->queue;
  const bool known = queue != unknown_queue;
  std::optional<Transaction> t;
  if (known) t.emplace(transactions_).launch_follows();  // uses of parts are noted with the lock
  const std::uint64_t now = s_.clock.fetch_add(1, std::memory_order_relaxed);
  // The driver has the work, so a thread that waits for the device from now on waits for this work, too.
  const std::uint64_t at = s_.queues->begin_position(queue);
  if (call->kind == ForeignCall::Kind::launch) {
    here().submitted = known ? s_.queues->position(unknown_queue) : at;
    here().submitted_to = s_.serial;
  }
  bool record = known && (s_.queues->needs_events(queue) || !s_.queues->leased(queue));
  if (known) s_.queues->note_of_others(queue, at);
  for (const ForeignCall::Use& use : call->uses) {
    Memory& m = *use.memory;
    if (known) {
      for (const Requirement& part : use.parts) executor_.note_use(queue, m, part.range, mode_of(writes(part.mode)), at, now);
      if (use.parts.empty()) executor_.note_use(queue, m, mode_of(use.used_writing), at, now);
      record = Launches::note_written(m, mode_of(use.writable)) || record;
    } else {
      m.unknown_on.fetch_or(call->devices);
      m.uses.note(unknown_queue, at, mode_of(use.used_writing));
      if (use.parts.empty()) m.note_recent(ByteRange{0, m.bytes}, now);  // uses of parts were noted when they were pinned
      if (use.writable) m.writing_launches.fetch_add(1, std::memory_order_relaxed);
    }
    // The announcement still holds, unless something was copied meanwhile. That of a part was for one call.
    if (use.announced && use.parts.empty()) m.announced_use.at.store(now);
  }
  // Nothing is fetched ahead, because other code's kernels may wait for the host, and transfers behind them would keep others waiting.
  DeviceState& carries_out = s_.device_of(queue);
  if (record && !carries_out.device->kernels_run_in_caller()) {
    try {
      const device::Visit visit(*carries_out.device);
      s_.queues->record(queue);
    } catch (const std::exception& e) {
      base::raw_log("behind a launch outside semcache::Exec its end was not marked: %s. Results stay right", e.what());
    }
  }
  call->on_queue.end();
  t.reset();
  launches_.unpin(call->operands.data(), call->operands.size());
  if (s_.options.check || s_.projection_waits.load()) launches_.follow_launch(queue, nullptr, 0, Launches::Follow::without_event);
}

bool ForeignUses::is_right(const HostUse& use) const noexcept {
  const Memory& m = *use.memory;
  if (use.freed() || m.snapshot() || m.open) return true;
  return !use.pointer && s_.watched(m) && (m.flags.load() & (use.writable ? Memory::host_writable : Memory::host_readable)) != 0;
}

Obstacle ForeignUses::make_right(HostUse& use) {
  Memory& m = *use.memory;
  if (use.pointer) return use.freed() || m.snapshot() ? Obstacle() : pointer_to_host(use);
  if (is_right(use)) return {};
  if (s_.watched(m) && !std::exchange(use.counted, true)) s_.recorder.count(trace::Event::unannounced, m.label);
  use.served = true;
  // A write may fail, or write only some of the bytes, so the content of the others must be there.
  return host_access_.open_pages(m, use.range, use.writable ? Access::read_write : Access::read);
}

Obstacle ForeignUses::pointer_to_host(HostUse& use) {
  Memory& m = *use.memory;
  if (m.announced || s_.directory.slots(m.datum).size() > 1) {
    // The pages are not made reachable for the device, because following the pointer would be one more way to write both sides.
    if (!std::exchange(m.reported_unreachable, true) && !s_.home().device->can_reach(m.address)) {
      base::raw_log("a kernel outside semcache::Exec is given a pointer into '%s', the host's side of an array: a GPU that "
                    "follows it reports an illegal address. Give it the device's side", s_.name(m));
    }
    return {};
  }
  if (!m.open && !std::exchange(use.counted, true)) s_.recorder.count(trace::Event::unannounced, m.label);
  return host_access_.open_for_device(m);
}

}  // namespace semcache::engine
