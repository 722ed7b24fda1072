// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/engine/launches.hpp>

#include <algorithm>
#include <string>

namespace semcache::engine {

/// Asks the driver whether the transfers and tasks of the operand are done that `queue` is ordered behind already. Without an answer the
/// operand's flags stay cleared until all other program queues are ordered behind these, too, and until then every launch on `queue`
/// takes the lock.
static void ask_for_transfers_and_tasks(Queues& queues, QueueIndex queue, const Memory& m) {
  for (QueueIndex q = 1; q < queues.count(); ++q) {
    const std::uint64_t at = queues.engine_orders(q) ? m.uses.last(q) : 0;
    if (at != 0 && !queues.done(q, at) && queues.ordered(queue, q, at)) (void)queues.reached(q, at);
  }
}

static Region in_memory(const Requirement& part) noexcept { return memory::in_memory(*part.memory, part.range); }

bool Launches::begin_launch(QueueIndex queue, const Operand* operands, std::size_t count, const OperandParts& parts) {
  const SpaceId space = device_space(s_.queues->device_of(queue));
  if (queue != unknown_queue && s_.queues->of_tasks(queue)) return begin_task(queue, operands, count, parts);
  bool all_ready = queue != unknown_queue && !s_.options.check;
  for (std::size_t i = 0; i < count; ++i) {
    operands[i].memory->pins.fetch_add(1);
    // The flags say what launches on the memory's own device need.
    all_ready = all_ready && ready(operands[i]) && operands[i].memory->space == space;
  }
  if (all_ready) return false;
  unpin(operands, count);
  return begin_unready_launch(queue, operands, count, parts);
}

bool Launches::ready_for_task(QueueIndex queue, const Operand& operand) const noexcept {
  const Memory& m = *operand.memory;
  const std::uint32_t need = Memory::resident | Memory::is_fresh | (operand.writable ? Memory::is_exclusive : 0u);
  // The flags come first: a transfer clears them before it is submitted, and it is noted as a use before they are set again.
  if ((m.flags.load() & (need | Memory::used_in_part)) != need) return false;
  if (!m.part || m.derived || m.space != device_space(s_.queues->device_of(queue))) return false;
  // An unknown launch that begins from now on finds this launch's pins. `DeviceState::everything` represents no tile, so the tile's own uses are all.
  const auto last_conflict = [&](QueueIndex q) { return operand.writable ? m.on(q).last() : m.on(q).write.load(); };
  if (!s_.unknown_use_over(m, last_conflict(unknown_queue))) return false;
  for (QueueIndex q = 1, end = s_.queues->count(); q < end; ++q) {
    const std::uint64_t at = last_conflict(q);
    if (at != 0 && !s_.queues->done(q, at) && !s_.queues->ordered(queue, q, at)) return false;
  }
  return true;
}

bool Launches::begin_task(QueueIndex queue, const Operand* operands, std::size_t count, const OperandParts& parts) {
  const auto is_whole = [](const Requirement& part) { return part.range.size() == part.memory->bytes; };
  bool all_ready = !s_.options.check && std::all_of(parts.begin(), parts.end(), is_whole);
  if (all_ready) {
    for (std::size_t i = 0; i < count; ++i) {
      operands[i].memory->pins.fetch_add(1);
      all_ready = all_ready && ready_for_task(queue, operands[i]);
    }
    if (all_ready) return false;
    unpin(operands, count);
  }
  return begin_unready_launch(queue, operands, count, parts);
}

bool Launches::begin_unready_launch(QueueIndex queue, const Operand* operands, std::size_t count, const OperandParts& parts) {
  const SpaceId space = device_space(s_.queues->device_of(queue));
  const bool is_task = queue != unknown_queue && s_.queues->of_tasks(queue);
  const platform::RuntimeScope scope;
  Transaction t(transactions_);
  t.launch_follows();
  const device::Visit visit(*s_.device_of(queue).device);
  s_.surroundings.look_around();
  give_way(t, operands, count);
  // Most launches that come here use whole arrays for which nothing need be done but to wait for a transfer of them.
  const auto is_prepared = [&](const Operand& o) {
    Memory& m = *o.memory;
    return m.space == space && m.live && !m.part && !m.derived && !is_no_array(m) && State::is_resident(m) && projection_.holds(m, mode_of(o.writable));
  };
  bool prepared = parts.count == 0 && std::all_of(operands, operands + count, is_prepared);
  if (!prepared) {
    if (queue != unknown_queue) expect_reached(space, operands, count);
    expect_apart(operands, count, parts);
    for (std::size_t i = 0; i < count; ++i) {
      Memory& m = *operands[i].memory;
      if (!m.part) continue;
      shapes_.shape(m, m.layout);
      shapes_.keep_maps_short(t, m);
    }
    for (Requirement& part : parts) shapes_.fit(t, part);
    bring_by_block(t, operands, count, parts);
  }
  t.run([&]() -> Obstacle {
    if (!std::exchange(prepared, false)) {  // after a wait it may not be so any more
      if (const Obstacle o = preparation_.prepare(operands, count, parts)) return o;
    }
    if (const Obstacle o = dual_views_.look_at(operands, count)) return o;
    return is_task ? order_kernels(operands, count) : Obstacle();
  });
  for (std::size_t i = 0; i < count; ++i) {
    const Memory& m = *operands[i].memory;
    // Saved copies pass this check: a word of a functor that looks like an address may lead to memory that was freed and is kept
    // as a saved copy. Such memory belongs to no array, and is passed over.
    SEMCACHE_EXPECTS(m.live && !m.on_host(), std::string("'") + s_.name(m) + "' was freed by another thread while a "
                                                 "launch that uses it began. Free an array after its last use");
  }
  pin(t, queue, operands, count, parts);
  return parts.count > 0 && queue != unknown_queue;
}

/// Sees to it that kernels which use the arrays themselves are ordered with tasks: a launch that only looks at the flags would not be. Kernels that use
/// tiles look at more than flags; those of them that run on an unknown queue are waited for.
Obstacle Launches::order_kernels(const Operand* operands, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    Memory& m = *operands[i].memory;
    if (is_no_array(m)) continue;
    if (m.part) {
      // Known queues are ordered by `pin`. A kernel on a queue that is not known is waited for.
      if (hazards_.unknown_use_pending(m, mode_of(operands[i].writable))) return Obstacle::whole_devices(m.unknown_on.load(), &m);
      continue;
    }
    m.ordered = true;
    if (const Obstacle o = hazards_.quiesce(m)) return o;
  }
  return {};
}

void Launches::bring_by_block(Transaction& t, const Operand* operands, std::size_t count, const OperandParts& parts) {
  const auto comes_in_blocks = [](const Memory& m, const Region& where) {
    return m.blocks.count() > 1 && !is_no_array(m) && !State::is_resident(m, where);
  };
  std::vector<Requirement> needs;  // what else is needed at the same time is not evicted meanwhile
  bool missing = false;
  const auto add = [&](const Requirement& r) {
    missing = missing || (needs_content(r.mode) && comes_in_blocks(*r.memory, r.range));
    needs.push_back(r);
  };
  if (s_.home().device->kernels_run_in_caller()) return;
  for (std::size_t i = 0; i < count; ++i) {
    if (operands[i].memory->blocks.count() == 1 && !missing && parts.count == 0) continue;
    if (!parts.has(*operands[i].memory)) add({operands[i].memory, operands[i].memory->all(), Access::read});
  }
  for (const Requirement& part : parts) add(part);
  if (!missing) return;
  base::Vector<Kept> kept;
  for (const Requirement& r : needs) kept.emplace_back(*r.memory);
  const auto for_each_need = [&](const auto& visit) {
    for (std::size_t i = 0; i < needs.size(); ++i) {
      if (!kept[i].freed()) visit(*needs[i].memory, needs[i].range);
    }
  };
  if (!residency_.fits(for_each_need)) return;
  for (std::size_t n = 0; n < needs.size(); ++n) {
    Memory& m = *needs[n].memory;
    if (kept[n].freed() || !needs_content(needs[n].mode) || m.blocks.count() == 1) continue;
    base::Vector<std::size_t> blocks;
    m.blocks.for_each(needs[n].range, [&](std::size_t i) {
      if (!m.blocks[i].mapped) blocks.push_back(i);
    });
    // A stage's transfers use whole chunks of page-locking, because others are not worth locking where the host has just written them. And
    // each stage looks at everything that is needed, so there are not more than so many of them.
    constexpr std::size_t most_stages = 32;
    const std::uint64_t chunk = s_.options.registration_bytes;
    const directory::Step fetch = s_.directory.next_fetch(m.slot, needs[n].range, s_.topology);
    if (fetch.where.empty() || (fetch.from_position - fetch.where.begin) % chunk != 0) continue;
    const std::uint64_t stage_bytes = std::max<std::uint64_t>(1, needs[n].range.hull().size() / most_stages / chunk) * chunk;
    for (std::size_t first = 0, last = 0; first < blocks.size() && !kept[n].freed(); first = last) {
      const auto stage_of = [&](std::size_t k) { return m.blocks.range(blocks[k]).begin / stage_bytes; };
      while (last < blocks.size() && stage_of(last) == stage_of(first)) ++last;
      base::Vector<Region> stage;
      for (std::size_t k = first; k < last; ++k) {
        const ByteRange block = m.blocks.range(blocks[k]);
        const auto begin = static_cast<std::int64_t>(block.begin);
        for_each_inside(needs[n].range, -begin, block.size(), [&](const Region& inside) { append(stage, inside.moved(begin)); });
      }
      t.run([&]() -> Obstacle {
        if (kept[n].freed()) return {};
        const auto for_each_part = [&](const auto& visit) {
          for (const Region& part : stage) visit(m, part);
        };
        if (const Obstacle o = residency_.make_first_resident(m, for_each_part, for_each_need)) return o;
        for (const Region& part : stage) {
          if (const Obstacle o = transfers_.make_fresh(m, part, needs[n].first)) return o;
        }
        return {};
      });
    }
  }
}

void Launches::expect_apart(const Operand* operands, std::size_t count, const OperandParts& parts) const {
  const auto for_each_use = [&](const Operand& o, const auto& visit) {
    if (!parts.has(*o.memory)) visit(o.memory->positions(), mode_of(o.writable));
    for (const Requirement& part : parts) {
      if (part.memory == o.memory) visit(part.range, mode_of(writes(part.mode)));
    }
  };
  for (std::size_t i = 0; i < count; ++i) {
    const Memory& m = *operands[i].memory;
    for (std::size_t k = 0; k < count && m.part; ++k) {
      if (i == k || m.datum != operands[k].memory->datum) continue;
      for_each_use(operands[i], [&](const Region& one, Mode mode) {
        for_each_use(operands[k], [&](const Region& two, Mode other) {
          SEMCACHE_EXPECTS((mode == Mode::reads && other == Mode::reads) || !overlap(one, two),
                           std::string("a launch uses bytes of '") + s_.name(m) + "' in a part's memory and elsewhere, and writes them: nobody "
                           "could tell which of the two counts. Use them in one place, or in two launches");
        });
      });
    }
  }
}

void Launches::expect_reached(SpaceId space, const Operand* operands, std::size_t count) const {
  for (std::size_t i = 0; i < count; ++i) {
    const Memory& m = *operands[i].memory;
    if (m.space == space || is_no_array(m) || m.on_host()) continue;
    const DeviceState& own = s_.device_of(space);
    const DeviceState& other = s_.device_of(m);
    SEMCACHE_EXPECTS(s_.topology.linked(space, m.space),
                     std::string("a kernel on device ") + std::to_string(own.index) + " (" + own.device->name() + ") uses '" + s_.name(m) +
                         "' on device " + std::to_string(other.index) + " (" + other.device->name() + "), which it cannot reach (no peer "
                         "access). Launch the kernel on semcache::on(" + std::to_string(other.index) + "), or copy the array to device " +
                         std::to_string(own.index));
  }
}

/// Lets threads go first that wait for the pins of an operand. Otherwise a series of launches could keep a page fault waiting
/// for ever. Does nothing while this thread has a launch of its own under way, because the pins of that launch may be the ones
/// that are waited for. The wait is limited (`Options::patience`), because a kernel may wait for this launch.
void Launches::give_way(Transaction& t, const Operand* operands, std::size_t count) {
  const auto awaited = [](const Operand& o) { return o.memory->awaited != 0; };
  transactions_.give_way(t, [&] { return std::any_of(operands, operands + count, awaited); });
}

/// Opens guarded pages that the operand's kernel uses.
void Launches::open_pages(const Operand& operand, const OperandParts& parts) {
  Memory& m = *operand.memory;
  projection_.open_guarded(m);
  for (const Mode mode : {Mode::reads, Mode::writes}) {
    for (const Requirement& part : parts) {
      if (part.memory == &m && mode_of(writes(part.mode)) == mode) projection_.open_part(m, in_memory(part), mode);
    }
  }
}

/// Lets uses of parts that are known to be over count as uses of the whole memory. If there are no others, tasks that use all of it need not look
/// at them (`ready_for_task`).
void Launches::widen_ended_uses(Memory& m) noexcept {
  if ((m.flags.load(std::memory_order_relaxed) & Memory::used_in_part) == 0) return;
  m.uses.widen([&](QueueIndex q, std::uint64_t position) { return s_.queues->done(q, position); });
  if (m.uses.parts().empty()) m.flags.fetch_and(~Memory::used_in_part);
}

void Launches::pin(Transaction& t, QueueIndex queue, const Operand* operands, std::size_t count, const OperandParts& parts) {
  for (std::size_t i = 0; i < count; ++i) {
    Memory& m = *operands[i].memory;
    if (is_no_array(m)) continue;
    if (!ready(operands[i])) open_pages(operands[i], parts);
    // An operand that is ready needs no ordering for a launch on its own device: each transfer has revoked the flags of all memory
    // that it uses, also a transfer that preparing another operand has submitted.
    if (queue == unknown_queue) continue;
    const std::uint32_t device = s_.queues->device_of(queue);
    if (s_.device_index(m) != device) {
      s_.recorder.count(trace::Event::peer_launches, m.label);
    } else if (ready(operands[i]) && !s_.queues->of_others(queue)) {
      continue;
    }
    if (s_.queues->program_queues(device) > 1) ask_for_transfers_and_tasks(*s_.queues, queue, m);
    const Executor::Behind behind = m.derived || s_.queues->of_tasks(queue) ? Executor::Behind::all : Executor::Behind::transfers_and_tasks;
    if (!parts.has(m)) executor_.order_queue(queue, m, ByteRange{0, m.bytes}, mode_of(operands[i].writable), behind);
    for (const Requirement& part : parts) {
      if (part.memory == &m) executor_.order_queue(queue, m, in_memory(part), mode_of(writes(part.mode)), behind);
    }
    if (s_.queues->of_tasks(queue)) widen_ended_uses(m);
    projection_.project_later(m);  // all program queues may be ordered behind the transfers now
  }
  for (std::size_t i = 0; i < count; ++i) operands[i].memory->pins.fetch_add(1);
  try {
    for (std::size_t i = 0; queue == unknown_queue && i < count; ++i) {
      Memory& m = *operands[i].memory;
      if (!is_no_array(m)) t.run([&] { return m.derived ? hazards_.uses_of(m) : hazards_.transfers_and_tasks_of(m); });
    }
  } catch (...) {
    unpin(t, operands, count);  // I9
    throw;
  }
  // Nothing fails any more. Earlier announcements of parts hold as long as no use is noted, and the kernel that they are for is still to come.
  for (std::size_t i = 0; i < count; ++i) {
    Memory& m = *operands[i].memory;
    const std::uint64_t now = s_.clock.fetch_add(1, std::memory_order_relaxed);
    if (!parts.has(m)) m.note_recent(ByteRange{0, m.bytes}, now);
    for (const Requirement& part : parts) {
      if (part.memory == &m) m.note_recent(in_memory(part), now);
    }
  }
  if (s_.options.check) projection_.open_for_launch(operands, count);
}

void Launches::unpin(const Operand* operands, std::size_t count) noexcept {
  for (std::size_t i = 0; i < count; ++i) operands[i].memory->pins.fetch_sub(1);
  // Without the lock, the operands' memory must not be read from here on: once it is unpinned, it may be freed and reused.
  lifetimes_.free_put_off();
}

void Launches::cancel_launch(const Operand* operands, std::size_t count) noexcept {
  if (s_.options.check) close_checked(operands, count);
  unpin(operands, count);
  const Transaction projects(transactions_);
}

void Launches::close_checked(const Operand* operands, std::size_t count) noexcept {
  const platform::RuntimeScope scope;
  Transaction t(transactions_);
  t.launch_follows();
  projection_.close_after_launch(operands, count);
}

bool Launches::is_recording(QueueIndex queue) {
  const Look look(transactions_);
  return queue != unknown_queue && s_.device_of(queue).device->is_recording(s_.queues->id(queue));
}

void Launches::list_everything(Listed which, QueueIndex queue, std::vector<Operand>& operands) {
  operands.clear();
  const SpaceId space = device_space(s_.queues->device_of(queue));
  const auto add = [&](Memory& m) {
    if (!m.live || m.on_host() || m.snapshot() || m.freeing || m.part) return;
    if (queue == unknown_queue || s_.topology.linked(space, m.space)) operands.push_back({&m, true});
  };
  if (which == Listed::all) {
    for (Memory& m : s_.pool) add(m);
    return;
  }
  base::Vector<Memory*>& unready = projection_.perhaps_unready();
  const auto needs_nothing = [](Memory* m) {
    m->perhaps_unready = !is_no_array(*m) && !m->part && !ready({m, true});
    return !m->perhaps_unready;
  };
  unready.erase(std::remove_if(unready.begin(), unready.end(), needs_nothing), unready.end());
  for (Memory* m : unready) add(*m);
  for (const auto& d : s_.devices) {
    if (d->represented_by == &d->everything && s_.topology.linked(space, d->everything.space)) operands.push_back({&d->everything, true});
  }
}

void Launches::begin_unknown_launch(QueueIndex queue, std::vector<Operand>& operands) {
  Transaction t(transactions_);
  t.launch_follows();
  // All arrays are listed, instead of `everything`, in three cases. On the unknown queue, launches also wait for transfers of
  // arrays that are ready. `everything` has the pins of one launch at a time. And its pins would count for an array that is being
  // freed, or whose freeing is put off. Each attempt checks this anew, because such a launch or the freeing of an array may begin
  // while the lock is given up.
  const auto all_are_listed = [&] {
    const bool others = std::any_of(s_.devices.begin(), s_.devices.end(), [](const auto& d) { return d->everything.pins.load() != 0; });
    return queue == unknown_queue || others || s_.frees > 0 || !s_.put_off.empty();
  };
  Listed which = all_are_listed() ? Listed::all : Listed::unready;
  list_everything(which, queue, operands);
  give_way(t, operands.data(), operands.size());
  t.run([&]() -> Obstacle {
    for (which = all_are_listed() ? Listed::all : Listed::unready;; which = Listed::all) {  // arrays come and go, too
      list_everything(which, queue, operands);
      const std::size_t unready = projection_.perhaps_unready().size();
      if (const Obstacle o = preparation_.prepare(operands.data(), operands.size())) return o;
      // Preparing these operands may have made other arrays unready, for example by evicting them. Then all are listed.
      if (which == Listed::all || projection_.perhaps_unready().size() == unready) return {};
    }
  });
  // An array that needs nothing for launches on its own device may still be used by a transfer or a task for which this queue must wait.
  for (QueueIndex q = 1; which == Listed::unready && s_.devices.size() > 1 && q < s_.queues->count(); ++q) {
    if (s_.queues->engine_orders(q)) s_.queues->order(queue, q, s_.queues->position(q));
  }
  pin(t, queue, operands.data(), operands.size());
  for (const Operand& o : operands) {
    if (o.memory->stands_for_all) o.memory->since = s_.clock.fetch_add(1, std::memory_order_relaxed);
  }
}

void Launches::note_other_use(QueueIndex queue, const Operand& operand, DeviceSet devices, const OperandParts& parts, std::uint64_t at,
                              std::uint64_t now) noexcept {
  Memory& m = *operand.memory;
  if (queue == unknown_queue) {
    m.unknown_on.fetch_or(devices);
    // The use counts for the whole array; but which blocks are used was noted when they were pinned.
    return m.uses.note(queue, at, mode_of(operand.writable));
  }
  if (!parts.has(m)) return executor_.note_use(queue, m, mode_of(operand.writable), at, now);
  for (const Requirement& part : parts) {
    if (part.memory == &m) executor_.note_use(queue, m, in_memory(part), mode_of(writes(part.mode)), at, now);
  }
}

/// Tells the device of a kernel. Each array that it uses, or each part, counts once, on whichever device it is.
/// @param how  whether on a GPU an event would be recorded behind it
void Launches::note_kernel(QueueIndex queue, const Operand* operands, std::size_t count, const OperandParts& parts, Follow how) noexcept {
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const Memory& m = *operands[i].memory;
    if (!is_no_array(m) && !parts.has(m)) bytes += m.bytes;
  }
  for (const Requirement& part : parts) bytes += part.range.size();
  s_.device_of(queue).device->note_kernel(s_.queues->id(queue), bytes);
  if (how == Follow::without_event) return;
  const platform::RuntimeScope scope;
  try {
    Transaction t(transactions_);
    t.launch_follows();
    s_.queues->record(queue);
  } catch (const std::exception&) {  // who waits for this kernel waits for later ones, too
  }
}

std::uint64_t Launches::end_launch(QueueIndex queue, const Operand* operands, std::size_t count, DeviceSet devices,
                                   const OperandParts& parts) noexcept {
  const Noted noted = parts.count > 0 ? note_uses_of_parts(queue, operands, count, devices, parts) : note_uses(queue, operands, count, devices, parts);
  const bool record = noted.record || (count > 0 && s_.queues->needs_events(queue));
  const Follow how = record ? Follow::with_event : Follow::without_event;
  if (s_.virtual_time && queue != unknown_queue) note_kernel(queue, operands, count, parts, how);
  if (s_.options.check) close_checked(operands, count);
  unpin(operands, count);
  if (record || s_.options.check || s_.options.protocol == Protocol::write_through || s_.projection_waits.load()) {
    follow_launch(queue, operands, count, how);
  }
  return noted.at;
}

inline Launches::Noted Launches::note_uses(QueueIndex queue, const Operand* operands, std::size_t count, DeviceSet devices,
                                           const OperandParts& parts) noexcept {
  const std::uint64_t now = s_.clock.fetch_add(1, std::memory_order_relaxed);
  const std::uint64_t at = count > 0 ? s_.queues->begin_position(queue) : 0;
  bool record = false;
  for (std::size_t i = 0; i < count; ++i) {
    Memory& m = *operands[i].memory;
    if (parts.count == 0 && queue != unknown_queue) {
      Executor::note_use(queue, m, mode_of(operands[i].writable), at, now);
    } else {
      note_other_use(queue, operands[i], devices, parts, at, now);
    }
    record = note_written(m, mode_of(operands[i].writable)) || record;
  }
  return {at, record};
}

Launches::Noted Launches::note_uses_of_parts(QueueIndex queue, const Operand* operands, std::size_t count, DeviceSet devices,
                                             const OperandParts& parts) noexcept {
  const platform::RuntimeScope scope;
  Transaction t(transactions_);
  t.launch_follows();
  // An event right behind a kernel on one part lets a wait for it be none for the kernels on others.
  return {note_uses(queue, operands, count, devices, parts).at, count > 0};
}

bool Launches::note_written(Memory& m, Mode mode) noexcept {
  if (mode == Mode::reads) return false;
  m.writing_launches.store(m.writing_launches.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  // If the host has fetched this array since the last launch that wrote it, an event right behind the kernel that writes it now
  // lets the next transfer overlap later kernels. One event per fetch is enough, because each fetch sets `read_elsewhere` again.
  if ((m.flags.load(std::memory_order_relaxed) & Memory::read_elsewhere) == 0) return false;
  m.flags.fetch_and(~Memory::read_elsewhere);
  return true;
}

Clock Launches::submitted_before(QueueIndex queue) const noexcept {
  return s_.queues->happened_with(queue, s_.queues->position(queue));
}

void Launches::wait_for(QueueIndex queue) {
  Transaction t(transactions_);
  if (queue == unknown_queue) return t.wait(Obstacle::whole_devices(all_devices));
  const timeline::Work all{queue, s_.queues->position(queue)};
  t.run([&] { return hazards_.not_done(all); });
}

void Launches::launch_awaited(QueueIndex queue, Clock before, std::uint64_t number) noexcept {
  // Numbers in between belong to kernels of other threads, which may have been submitted after the wait.
  if (number == before[queue] + 1) before.set(queue, number);
  if (s_.virtual_time) s_.queues->wait_for_queue(queue);
  s_.queues->note_done(before);
}

void Launches::follow_launch(QueueIndex queue, const Operand* operands, std::size_t count, Follow how) noexcept {
  const platform::RuntimeScope scope;
  try {
    if (s_.options.check || s_.projection_waits.load()) {
      const Transaction projects(transactions_);
    }
    DeviceState& device = s_.device_of(queue);
    if (how == Follow::with_event && queue != unknown_queue && !device.device->kernels_run_in_caller()) {
      Transaction t(transactions_);
      t.launch_follows();
      const device::Visit visit(*device.device);
      s_.queues->record(queue);
      for (std::size_t i = 0; i < count && s_.options.protocol == Protocol::write_back; ++i) {
        if (!operands[i].writable) continue;
        fetch_ahead(*operands[i].memory);
        expected_.bring_expected(*operands[i].memory);
      }
    }
    // On the unknown queue the kernel may not even be submitted yet, so its result is fetched only when an access needs it.
    if (s_.options.protocol == Protocol::write_through && queue != unknown_queue) {
      Transaction t(transactions_);
      for (std::size_t i = 0; i < count; ++i) {
        if (operands[i].writable) write_through(t, *operands[i].memory);
      }
    }
  } catch (const std::exception& e) {
    base::raw_log("behind a launch nothing was sent ahead, or its end was not marked: %s. Results stay right", e.what());
  }
}

void Launches::write_through(Transaction& t, const Memory& written) {
  if (!written.live || written.snapshot()) return;  // it may have been freed since it was written
  const SlotId host = s_.directory.slot_in(written.datum, host_space);
  // Where a part is in use on the host and written, the end of that use does this.
  if (!host.valid()) return;
  Memory& side = s_.memory_of(host);
  const auto in_use = [&] { return bool(hazards_.host_uses_of(side.datum, side.all(), Mode::reads)); };
  if (in_use()) return;
  transfers_.count_write_through(side, side.all(), written.label);
  const Kept kept(side);
  t.run([&] { return kept.freed() || in_use() ? Obstacle() : transfers_.make_fresh(side, side.all()); });
}

/// Starts the transfer of the array to its announced host side, if the host is expected to ask for it next: it always has so far
/// (`policy::FetchForecast`).
void Launches::fetch_ahead(Memory& m) {
  if (!m.live || m.on_host() || m.snapshot() || m.part || m.bytes > policy::FetchForecast::largest_bytes) return;
  if (m.writing_launches.load() - m.writing_launches_at_fetch != 1) return;
  const SlotId slot = s_.directory.slot_in(m.datum, host_space);
  if (!slot.valid()) return;
  Memory& host = s_.memory_of(slot);
  if (!host.announced || !host.forecast.fetch_follows() || !s_.pages->locked(host, host.all()) || m.write_check) return;
  if (hazards_.unknown_use_pending(m, Mode::writes)) return;
  for (const Flight& f : s_.flights) {
    if (f.host == &host) return;
  }
  // The flags are revoked before the pins are checked, because launches that pin the array afterwards take the lock.
  projection_.revoke(m);
  if (s_.pinned(m)) return;
  std::uint64_t bytes = 0;
  for (const Region& r : s_.stale(host.slot, host.all())) bytes += r.size();
  if (transfers_.make_fresh(host, host.all())) return;  // a forecast waits for no obstacle
  s_.recorder.moved(trace::Kind::read_ahead, host.label, bytes);
  host.sent_ahead = bytes;
}

void Launches::unpin(Transaction& t, const Operand* operands, std::size_t count) noexcept {
  t.unlocked([&] { unpin(operands, count); });
}

}  // namespace semcache::engine
