// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/engine/host_access.hpp>

namespace semcache::engine {

using platform::FaultKind;
using platform::FaultResult;
using platform::Protection;

void HostAccess::die_closed(const Memory& m) const noexcept {
  base::fatal("cannot open the pages of '%s' at %p: the kernel's limit on mappings (vm.max_map_count) or, where "
              "vm.overcommit_memory is 2, on memory (vm.overcommit_ratio) is used up. Raise it, or free mirrors.",
              s_.name(m), static_cast<void*>(m.address));
}

void HostAccess::host_access(Transaction& t, Memory& m, ByteRange range, Access mode, ByteRange least) {
  const Kept kept(m);
  if (!least.empty() && !least.contains(range)) t.can_ask_for_less();
  t.run([&] {
    if (kept.freed()) return Obstacle();
    const bool less = !least.empty() && (t.asks_for_less() || hazards_.host_uses_of(m.datum, range, mode_of(writes(mode))));
    return open_pages(m, less ? least : range, mode);
  });
  if (kept.freed()) return;  // another thread has freed it, so the program's next access is a crash of its own
  shapes_.keep_maps_short(t, m);
}

Obstacle HostAccess::open_pages(Memory& m, ByteRange range, Access mode) {
  const bool pages_matter = s_.watched(m);
  const auto widen = [&] {
    if (mode == Access::overwrite && range != m.all()) mode = Access::read_write;
    range = m.all();
  };
  // Near the kernel's limit on mappings arrays are opened as a whole, which needs no further mapping.
  const auto in_use = [&] { return bool(hazards_.host_uses_of(m.datum, m.all(), mode_of(writes(mode)))); };
  if (pages_matter && s_.mappings.scarce() && !in_use()) widen();
  for (;;) {
    const ByteRange pages = s_.pages->around(m, range);
    const ByteRange content = pages_matter ? intersect(pages, m.all()) : range;
    if (!needs_content(mode)) {  // I5: a page opened for writing holds all its wanted bytes, but the announced ones
      if (const Obstacle o = transfers_.make_fresh(m, ByteRange{content.begin, range.begin})) return o;
      if (const Obstacle o = transfers_.make_fresh(m, ByteRange{range.end, content.end})) return o;
    }
    if (const Obstacle o = preparation_.meet(m, content, mode)) return o;
    if (pages_matter) m.pages.make_room(2);  // `relax` must not fail once the write is noted
    if (writes(mode)) {
      dual_views_.note_host_write(m);
      transfers_.note_written(m, content);  // I2
    }
    const Protection wanted = writes(mode) ? Protection::read_write : Protection::read;
    if (!pages_matter || projection_.relax(m, pages, wanted)) return {};
    if (range == m.all()) {
      // One protection for the whole array splits no mapping.
      if (s_.pages->protect(m, s_.pages->span(m), wanted)) return {};
      die_closed(m);
    }
    widen();
  }
}

Obstacle HostAccess::open_columns(Memory& m, const Region& where, const base::Vector<Region>& pages, Access mode) {
  base::Vector<Requirement> needs;
  std::uint64_t runs = 0;
  for (const Region& r : pages) {
    needs.push_back({&m, r.is_range() ? Region(intersect(r.hull(), m.all())) : r, mode});
    runs += r.columns;
  }
  Obstacle met;
  for (const Requirement& r : needs) {
    if (needs_content(mode)) break;
    // I5: a page opened for writing holds all its wanted bytes, but the announced ones
    for_each_difference(r.range, where, [&](const Region& beside) {
      if (!met) met = transfers_.make_fresh(m, beside);
    });
  }
  if (!met) met = preparation_.meet(needs.data(), needs.size());
  if (met) return met;
  m.pages.make_room(2 * runs);  // `relax` must not fail once the write is noted
  if (writes(mode)) {
    dual_views_.note_host_write(m);
    if (needs.size() == 1) {
      transfers_.prepare_written(m, needs.front().range);
    } else {
      base::Vector<Region> written;
      for (const Requirement& r : needs) written.push_back(r.range);
      s_.directory.prepare_write(m.slot, written);
    }
    for (const Requirement& r : needs) transfers_.note_written(m, r.range);  // I2
  }
  const Protection wanted = writes(mode) ? Protection::read_write : Protection::read;
  for (const Region& r : pages) {
    for (std::uint64_t c = 0; c < r.columns; ++c) {
      if (!projection_.relax(m, r.column(c), wanted)) return open_pages(m, m.all(), mode == Access::overwrite ? Access::read_write : mode);
    }
  }
  return {};
}

base::Vector<Region> HostAccess::pages_of_columns(Memory& m, const Region& where) {
  // Each column's pages may be two mappings of the kernel's, so the columns must be few beside the limit on them.
  constexpr std::uint64_t most_columns = 8192;
  const std::uint64_t page = s_.page_bytes;
  if (where.is_range() || where.empty() || where.columns > most_columns || where.pitch < page || !s_.watched(m) || s_.mappings.scarce()) return {};
  const std::uint64_t first = round_down(where.begin, page);
  const Region alike = Region::apart(first, round_up(where.begin + where.width, page) - first, where.columns, where.pitch);
  if (where.pitch % page == 0 && alike.width < where.pitch && alike.end() <= m.bytes) {
    shapes_.shape(m, where);
    if (where.columns <= Shapes::most_pieces || s_.directory.held(m.slot).takes(alike)) return {alike};
  }
  base::Vector<Region> pages;
  for (std::uint64_t c = 0; c < where.columns && where.columns <= Shapes::most_pieces; ++c) {
    const ByteRange own = s_.pages->around(m, where.column(c));
    if (!pages.empty() && own.begin <= pages.back().end()) {
      pages.back() = ByteRange{pages.back().begin, own.end};
    } else {
      pages.push_back(own);
    }
  }
  return pages;
}

void HostAccess::access(Memory& m, const Region& where, Access mode) {
  // If all pages permit the access already, nothing is done. That costs one load, and no lock.
  if (s_.watched(m) && (m.flags.load() & (writes(mode) ? Memory::host_writable : Memory::host_readable)) != 0) return;
  Transaction t(transactions_);
  const device::Visit visit(*s_.home().device);
  const Kept kept(m);
  if (!s_.watched(m)) m.lock_refused = false;
  const base::Vector<Region> pages = kept.freed() ? base::Vector<Region>() : pages_of_columns(m, where);
  if (!pages.empty()) {
    t.run([&] { return kept.freed() ? Obstacle() : open_columns(m, where, pages, mode); });
    if (!kept.freed()) shapes_.keep_maps_short(t, m);
  } else {
    host_access(t, m, where.hull(), mode == Access::overwrite && !where.is_range() ? Access::read_write : mode);
  }
  s_.expect_not_freed(kept);
  if (pages.empty()) shapes_.count_hull(m, where, where.hull());
  if (where.is_range() && needs_content(mode)) note_fetch(m, where.hull());
}

void HostAccess::prefetch(Memory& m, ByteRange range) {
  Transaction t(transactions_);
  const device::Visit visit(*s_.home().device);
  const Kept kept(m);
  t.run([&] {
    const bool stays = kept.freed() || bool(hazards_.host_uses_of(m.datum, range, Mode::reads));
    return stays ? Obstacle() : transfers_.make_fresh(m, range);
  });
  s_.expect_not_freed(kept);
}

void HostAccess::expose(Memory& m) {
  Transaction t(transactions_);
  const Kept kept(m);
  t.run([&]() -> Obstacle {
    if (kept.freed() || !m.live || m.snapshot()) return {};
    if (m.announced || s_.directory.slots(m.datum).size() > 1) return open_pages(m, m.all(), Access::read_write);
    return open_for_device(m);
  });
}

Obstacle HostAccess::open_for_device(Memory& m) {
  if (!m.open) {
    if (const Obstacle o = open_mirror(m, "a kernel holds a raw pointer into it. Let kernels capture the device's View")) return o;
    s_.recorder.count(trace::Event::exposed, m.label);
    m.lock_refused = false;
  }
  if (const Obstacle o = hazards_.flights_of(m, m.all(), Mode::writes)) return o;
  if (s_.pages->has_other_names(m)) return Obstacle::page_unlock(m);
  return hazards_.directly_reached(m, m.all());
}

Obstacle HostAccess::open_mirror(Memory& m, const char* reason) {
  if (m.open) return {};
  if (const Obstacle o = preparation_.meet(m, m.all(), Access::read_write)) return o;
  s_.directory.renumber(m.slot, m.all());  // from now on the host may change it unnoticed
  if (!s_.pages->protect(m, s_.pages->span(m), Protection::read_write)) {
    die_closed(m);
  }
  m.open = true;
  s_.recorder.count(trace::Event::opened, m.label);
  if (!warned_open_) {
    warned_open_ = true;
    base::raw_log("the host mirror '%s' (and further ones of its kind) is no longer watched and copied at every deep_copy, "
                  "because %s", s_.name(m), reason);
  }
  return {};
}

void HostAccess::note_fetch(Memory& host, ByteRange range) {
  host.asked_end = range.begin == 0 || range.begin == host.asked_end ? range.end : 0;
  if (host.asked_end != host.bytes) return;
  host.asked_end = 0;
  for (const SlotId slot : s_.directory.slots(host.datum)) {
    Memory& m = s_.memory_of(slot);
    if (m.on_host() || m.part) continue;
    const std::uint32_t launches = m.writing_launches.load(std::memory_order_relaxed);
    const std::uint32_t writes = launches - std::exchange(m.writing_launches_at_fetch, launches);
    host.forecast.fetched(writes);
    const std::uint64_t ahead = std::exchange(host.sent_ahead, 0);
    if (ahead > 0 && writes > 1) s_.recorder.moved(trace::Kind::read_ahead_lost, host.label, ahead);
  }
}

/// Serves an unannounced use of device memory whose pages are guarded. Such a use is no launch: it is over before the pages are
/// closed again. So nothing waits for it, and the array may be evicted at once, because its next use is noticed, too.
/// @return `not_ours`, too, where the pages permit the access already
FaultResult HostAccess::serve_device(Transaction& t, Memory& m, FaultKind kind, const void* address, const void* instruction) {
  if (!s_.guarded(m) || m.freeing) return FaultResult::not_ours;
  const bool writes = kind == FaultKind::write || (kind == FaultKind::unknown && projection_.permits_reads(m, address));
  // Another thread's fault may have opened the pages meanwhile. Then the access succeeds when it is repeated.
  if (m.access >= (writes ? Protection::read_write : Protection::read)) return FaultResult::not_ours;
  s_.recorder.count(trace::Event::unannounced, m.label);
  if (s_.kernels.load(std::memory_order_relaxed) > 0) s_.recorder.count(trace::Event::uncaptured, m.label);
  // One instruction may need two arrays that evict each other. After some faults in turn both are made ready together, or the
  // process ends with a message.
  const auto [other, before] = std::pair(last_faults_[0], last_faults_[1]);
  alternating_faults_ = before.address == address && before.instruction == instruction ? alternating_faults_ + 1 : 0;
  last_faults_[1] = other;
  last_faults_[0] = {address, instruction, &m};
  const bool alternates = alternating_faults_ > 16 && other.memory->live && !other.memory->snapshot() && !other.memory->on_host();
  const bool both = alternates && other.memory != &m;
  const Operand operands[] = {{&m, writes}, {both ? other.memory : &m, false}};
  std::size_t count = both ? 2 : 1;
  const Kept kept(m);
  const Kept other_kept(*operands[1].memory);
  // An array that does not fit the budget is used block by block. One instruction may need two blocks.
  const auto block_at = [](Memory& array, const void* at, Access mode) {
    const auto position = static_cast<std::uint64_t>(static_cast<const std::byte*>(at) - array.address);
    return Requirement{&array, array.blocks.range(array.blocks.at(position)), mode};
  };
  Requirement blocks[2];
  OperandParts parts{blocks, 0};
  if (!residency_.fits_as_a_whole(m)) blocks[parts.count++] = block_at(m, address, writes ? Access::read_write : Access::read);
  if (alternates && !residency_.fits_as_a_whole(*other.memory)) {
    blocks[parts.count++] = block_at(*other.memory, other.address, both ? Access::read : blocks[0].mode);
  }
  if (parts.count > 0) shapes_.keep_maps_short(t, m);
  t.run([&] {
    if (other_kept.freed()) {
      count = 1;
      if (both && parts.count > 0 && blocks[parts.count - 1].memory != &m) --parts.count;
    }
    return kept.freed() ? Obstacle() : preparation_.prepare(operands, count, parts);
  });
  if (kept.freed()) return FaultResult::not_ours;
  launches_.pin(t, unknown_queue, operands, count, parts);
  launches_.unpin(t, operands, count);
  return FaultResult::served;
}

void HostAccess::begin_host_phase(Memory& m) {
  policy::ReadAhead::Phase phase{m.bytes, s_.page_bytes, s_.home().device->fault_bytes()};
  for (const Region& r : s_.stale(m.slot, m.all())) phase.stale_bytes += r.size();
  m.pages.for_each(s_.pages->span(m), [&](ByteRange piece, PageState s) {
    if (s.protection != Protection::read_write) phase.closed_bytes += piece.size();
  });
  phase.sweep_expected = m.sweep_habit.sweep_follows();
  m.read_ahead->begin(phase);
}

ByteRange HostAccess::plan_fault(Memory& m, std::uint64_t position, Access mode) {
  using policy::ReadAhead;
  if (!m.read_ahead) m.read_ahead = base::make_owned<ReadAhead>();
  if (!m.read_ahead->begun()) begin_host_phase(m);
  const std::uint64_t begin = round_down(position, s_.page_bytes);
  const ByteRange page{begin, begin + s_.page_bytes};
  const auto is_open = [needed = writes(mode) ? Protection::read_write : Protection::read](PageState s) {
    return s.protection >= needed;
  };
  const ByteRange open = intersect(m.pages.extended(page, is_open), s_.pages->span(m));
  ByteRange range = m.read_ahead->next({writes(mode) ? ReadAhead::Use::write : ReadAhead::Use::read, position, open}).range;
  if (hazards_.host_uses_of(m.datum, range, mode_of(writes(mode)))) range = page;
  const std::uint64_t fetched = count_ahead(m, page, range, mode);
  // A sweep that goes on faults at the next closed page. If there is no such page, no fault can show whether the bytes are used.
  const ByteRange given = m.pages.extended(s_.pages->around(m, range), is_open);
  const bool up = range.begin == begin;
  if (up ? given.end < s_.pages->span(m).end : given.begin > 0) m.read_ahead->fetched_ahead(fetched);
  return range;
}

/// Counts the bytes beyond `page` that a fault there makes valid, and those that it opens for writing.
/// @return how many of the former are fetched, not filled in place
std::uint64_t HostAccess::count_ahead(Memory& m, ByteRange page, ByteRange range, Access mode) {
  std::uint64_t made_valid = 0;
  std::uint64_t filled = 0;
  for (const Region& r : s_.stale(m.slot, range)) {
    s_.directory.wanted(m.datum).for_each(r, [&](const Region& piece, directory::ValueRef wanted) {
      std::uint64_t ahead = 0;
      for_each_difference(piece, page, [&](const Region& beyond) { ahead += beyond.size(); });
      made_valid += ahead;
      if (s_.directory.fill_of(wanted.id).pattern_bytes != 0) filled += ahead;
    });
  }
  if (made_valid > 0) s_.recorder.moved(trace::Kind::read_ahead, m.label, made_valid);
  std::uint64_t opened = 0;
  if (writes(mode)) {
    m.pages.for_each(s_.pages->around(m, range), [&](ByteRange piece, PageState s) {
      if (s.protection < Protection::read_write) opened += piece.size() - intersect(piece, page).size();
    });
  }
  if (opened > 0) s_.recorder.moved(trace::Kind::write_ahead, m.label, opened);
  return made_valid - filled;
}

FaultResult HostAccess::serve(std::byte* address, FaultKind kind, const void* instruction) noexcept {
  const trace::AccessScope scope(instruction, platform::per_thread<platform::ServedThread>().number);
  const std::byte* const outer = std::exchange(here().served_address, address);  // serving nests (`help_holder`)
  const base::AtEnd served([&] { here().served_address = outer; });
  const char* label = "?";
  try {
    return serve(address, kind, instruction, label);
  } catch (const std::exception& e) {
    while (process_ends_.load()) timeline::wait_a_moment();
    base::fatal("an access to '%s' at %p cannot be served: %s", label, static_cast<void*>(address),
                dynamic_cast<const std::bad_alloc*>(&e) == nullptr
                    ? e.what()
                    : "the host has no memory for what must be noted of it. Free memory of the host");
  }
}

FaultResult HostAccess::serve(std::byte* address, FaultKind kind, const void* instruction, const char*& label) {
  Transaction t(transactions_);
  Memory* const found = s_.find(address);
  if (found == nullptr) {
    // A read a little beyond the array's end (of a whole vector, for example) finds zeros, as it does where the gap can be read.
    Memory* const before = s_.host->before_gap(address);
    if (before == nullptr || !before->live || !s_.watched(*before) || kind == FaultKind::write) return FaultResult::not_ours;
    const ByteRange gap{s_.pages->span(*before).end, before->pages.size()};
    if (gap.empty() || before->pages.at(gap.begin).protection != Protection::none) return FaultResult::not_ours;
    return s_.pages->protect(*before, gap, Protection::read) ? FaultResult::served : FaultResult::not_ours;
  }
  if (!found->live || found->snapshot() || found->part || found->open || found->bytes == 0) return FaultResult::not_ours;
  Memory& m = *found;
  label = s_.name(m);
  if (!m.on_host()) return serve_device(t, m, kind, address, instruction);
  const auto position = static_cast<std::uint64_t>(address - m.address);
  const Protection now = m.pages.at(position).protection;
  if (kind == FaultKind::unknown) kind = now == Protection::none ? FaultKind::read : FaultKind::write;
  if (now == Protection::read_write || (kind == FaultKind::read && now == Protection::read)) {
    // Another thread's fault has opened the page meanwhile, or the program has protected its own memory.
    if (!m.adopted || s_.platform->protection_at(address) >= now) return FaultResult::served;
    if (!std::exchange(warned_protected_, true)) {
      base::raw_log("the program has closed a page of the adopted memory '%s' at %p itself (mprotect). SemCache does not notice such changes, "
                    "and stale bytes may be read where it opens pages. Call semcache_release before", s_.name(m), static_cast<const void*>(address));
    }
    return FaultResult::not_ours;
  }
  s_.recorder.count(trace::Event::host_faults, m.label);
  m.read_habit.read();
  const Access mode = kind == FaultKind::write ? Access::write : Access::read;
  const trace::Timed timed(s_.recorder, trace::Span::Kind::fault, kind == FaultKind::write ? "write" : "read", m.label);
  const ByteRange range = plan_fault(m, position, mode);
  const ByteRange page{round_down(position, s_.page_bytes), round_down(position, s_.page_bytes) + s_.page_bytes};
  host_access(t, m, range, mode, page);
  return FaultResult::served;
}

/// Is this an array, and no saved copy or part of one?
static bool is_array(const Memory& m) noexcept { return m.live && !m.snapshot() && !m.part; }

template <class Visit>
void HostAccess::for_each_array(const Visit& visit) {
  for (std::size_t i = 0;; ++i) {
    Transaction t(transactions_);
    if (i == s_.pool.size()) return;
    Memory& m = s_.pool[i];
    if (is_array(m)) visit(t, m);
  }
}

Obstacle HostAccess::make_mapped_fresh(Memory& m) {
  Obstacle met;
  m.blocks.for_each_mapped_range([&](ByteRange range) {
    if (!met) met = transfers_.make_fresh(m, range);
  });
  return met;
}

Obstacle HostAccess::settle(Memory& m, const Kept& kept) {
  if (kept.freed()) return {};
  if (m.on_host()) return open_pages(m, m.all(), Access::read);
  if (const Obstacle o = make_mapped_fresh(m)) return o;
  projection_.open_guarded(m);
  return {};
}

void HostAccess::settle_all() {
  for_each_array([&](Transaction& t, Memory& m) {
    if (s_.directory.fresh(m.slot, m.all())) return;
    const Kept kept(m);
    t.run([&] { return settle(m, kept); });
    if (m.on_host() && !kept.freed()) shapes_.keep_maps_short(t, m);
  });
  Transaction t(transactions_);
  t.run([&] { return hazards_.land_all(); });
}

void HostAccess::settle_all_soon() {
  // A launch that this thread has begun cannot end before the debugger lets the thread go on.
  base::Patience patience(std::chrono::seconds(s_.surroundings.in_launch() ? 0 : 2));
  const device::Visit visit(*s_.home().device);
  std::string left_out;
  for (std::size_t i = 0;; ++i) {
    Transaction t(transactions_, patience);
    if (i == s_.pool.size()) break;
    Memory& m = s_.pool[i];
    if (!is_array(m) || s_.directory.fresh(m.slot, m.all())) continue;
    const Kept kept(m);
    if (t.try_run([&] { return settle(m, kept); }, patience)) left_out += (left_out.empty() ? "'" : ", '") + std::string(s_.name(m)) + "'";
  }
  // What was fetched before may be under way still.
  Transaction t(transactions_, patience);
  if (t.try_run([&] { return hazards_.land_all(); }, patience)) left_out += std::string(left_out.empty() ? "" : ", ") + "what is being copied to the host";
  if (!left_out.empty()) {
    throw SystemError("not settled, because kernels use their content and have not ended: " + left_out + ". Let them end, then ask again");
  }
}

void HostAccess::settle_and_open() {
  for_each_array([&](Transaction& t, Memory& m) {
    if (!m.on_host() || m.bytes == 0 || !s_.directory.defined(m.datum, m.all())) return;
    const Kept kept(m);
    t.run([&]() -> Obstacle {
      if (kept.freed()) return {};
      if (const Obstacle o = open_pages(m, m.all(), Access::write)) return o;
      return m.locked.empty() ? Obstacle() : Obstacle::page_unlock(m);
    });
  });
}

void HostAccess::open_everything() {
  for_each_array([&](Transaction& t, Memory& m) {
    if (!m.on_host() && (!s_.guarded(m) || !m.blocks.any_mapped())) return;
    const Kept kept(m);
    try {
      const bool defined = s_.directory.defined(m.datum, m.all());
      if (m.on_host()) {
        s_.pages->end_phase(m);
        if (defined) host_access(t, m, m.all(), Access::read);
        t.run([&] { return kept.freed() ? Obstacle() : hazards_.flights_of(m, m.all(), Mode::writes); });
        if (kept.freed()) return;
        m.open = true;
        (void)s_.pages->protect(m, s_.pages->span(m), Protection::read_write);  // checked below
      } else {
        t.run([&]() -> Obstacle {
          if (kept.freed()) return {};
          if (defined) {
            if (const Obstacle o = make_mapped_fresh(m)) return o;
          }
          projection_.open_mapped(m);
          return {};
        });
      }
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::exception& e) {
      base::raw_log("'%s' cannot be brought to its memory at the end: %s", s_.recorder.name(kept.label), e.what());
    }
  });
  // No fault is served from here on. Pages that the kernel's limit on mappings kept closed can perhaps be opened now that their
  // neighbours are open, and device memory stays open now that no projection follows.
  for_each_array([&](Transaction&, Memory& m) {
    if (s_.guarded(m)) projection_.open_mapped(m);
    if (m.on_host() && m.open && !s_.pages->protect(m, s_.pages->span(m), Protection::read_write)) die_closed(m);
  });
}

}  // namespace semcache::engine
