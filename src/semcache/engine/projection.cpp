// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/engine/projection.hpp>

namespace semcache::engine {
namespace {

constexpr std::uint64_t nowhere = directory::Directory::nowhere;

/// Returns the positions of `all` that the range meets, with whole columns where there are several.
Region meeting(const Region& all, ByteRange range) {
  if (all.is_range()) return intersect(all.hull(), range);
  const ByteRange inside = intersect(all.hull(), range);
  if (inside.empty()) return {};
  const std::uint64_t first = (inside.begin - all.begin) / all.pitch, last = (inside.end - 1 - all.begin) / all.pitch;
  return all.some_columns(first, last - first + 1);
}

/// Looks for an exception from `first` on to the end of `all`, and then in what lies before.
template <class Find>
std::uint64_t find_from(std::uint64_t first, const Region& all, const Find& find) {
  const std::uint64_t c = all.is_range() ? 0 : (first - all.begin) / all.pitch;
  const ByteRange column = all.column(c);
  std::uint64_t found = find(ByteRange{first, std::max(first, column.end)});
  if (found == nowhere && c + 1 < all.columns) found = find(all.some_columns(c + 1, all.columns - c - 1));
  if (found == nowhere && c > 0) found = find(all.some_columns(0, c));
  if (found == nowhere && column.begin < first) found = find(ByteRange{column.begin, std::min(first, column.end)});
  return found;
}

/// Brings an exception up to date that was known before something changed, and returns whether there is none now.
template <class Find>
bool none_in(const Region& all, std::uint64_t& exception, ByteRange changed, const Find& find) {
  if (exception == nowhere) {
    if (const Region part = meeting(all, changed); !part.empty()) exception = find(part);
  } else if (!all.empty()) {
    exception = find_from(all.hull().contains({exception, exception + 1}) ? exception : all.begin, all, find);
  } else {
    exception = nowhere;
  }
  return exception == nowhere;
}

}  // namespace

void Projection::project() noexcept {
  s_.projection_waits.store(false);
  projecting_.swap(revoked_);
  for (Memory* m : projecting_) m->awaits_projection = false;
  for (const auto& touched : s_.directory.take_touched()) {
    Memory* const m = s_.find(touched.slot);
    if (m == nullptr) continue;
    if (m->snapshot()) {
      if (!m->freeing) note_perhaps_unwanted(*m);
    } else if (m->on_host()) {
      s_.pages->project(*m, touched.range);
    } else {
      project_device(*m, touched.range);
    }
  }
  for (Memory* m : projecting_) {
    if (m->live && !m->on_host() && !m->snapshot()) project_device(*m, {});  // little work for those that were touched, too
  }
  projecting_.clear();
}

void Projection::project_soon() noexcept {
  constexpr std::size_t many = 64;
  if (s_.directory.any_touched() || revoked_.size() > many) return project();
  if (!revoked_.empty()) s_.projection_waits.store(true);
}

platform::Protection Projection::permitted(Memory& m, ByteRange changed) const noexcept {
  using platform::Protection;
  std::uint64_t& exception = m.exception_at;
  if (changed.empty() && exception != Memory::not_looked_at) {
    return exception == nowhere ? Protection::read_write : m.exception_is_stale ? Protection::none : Protection::read;
  }
  const Region all = m.positions();
  std::uint64_t stale_at = m.exception_is_stale ? exception : nowhere;
  const bool fresh = none_in(all, stale_at, changed, [&](const Region& part) { return s_.directory.find_stale(m.slot, part); });
  m.exception_is_stale = !fresh;
  if (!fresh) {
    exception = stale_at;
    return Protection::none;
  }
  const bool exclusive = none_in(all, exception, changed, [&](const Region& part) { return s_.directory.find_shared(m.slot, part); });
  return exclusive ? Protection::read_write : Protection::read;
}

void Projection::project_device(Memory& m, ByteRange changed) noexcept {
  using platform::Protection;
  std::uint32_t set = 0;
  const Protection most = permitted(m, changed);
  if (most >= Protection::read) set |= Memory::is_fresh;
  if (most == Protection::read_write) set |= Memory::is_exclusive;
  const std::uint32_t device = s_.device_index(m);
  // Launches on the array's device need not wait any more for transfers that write the memory (`written`), or for any transfer that
  // uses it (`used`).
  bool written = true;
  bool used = true;
  for (QueueIndex q = 1; q < s_.queues->own_end(); ++q) {
    const std::uint64_t last = m.uses.last(q);
    if (last == 0 || s_.queues->passed(device, q, last)) continue;
    used = false;
    written = written && s_.queues->passed(device, q, m.uses.last_write(q));
  }
  // Launches on an array that tasks use are ordered behind these until nobody need be any more. A program queue that is new is behind none.
  // A task that is just being submitted has pinned the array, and is not noted yet. Its end notes it and then takes the pin away, without the
  // lock. So the pins are read first: if there is none, what follows finds the task.
  const bool pinned = m.pins.load() != 0;
  bool tasks_passed = true;
  for (QueueIndex q = s_.queues->own_end(); q < s_.queues->count() && tasks_passed; ++q) {
    tasks_passed = !s_.queues->of_tasks(q) || s_.queues->passed(device, q, m.uses.last(q));
  }
  m.ordered = !tasks_passed || (m.ordered && pinned);
  // Kernels that use a tile or a derived value are ordered by the engine (`Launches::pin`, or `Launches::ready_for_task`): whoever finds one does
  // not know what filled or computed it.
  if (written && !m.part && !m.ordered) set |= Memory::idle;
  if (used) set |= Memory::unread;
  const std::uint32_t old = m.flags.load();
  if ((old & Memory::revocable & ~set) != 0) {
    m.flags.fetch_and(~(Memory::revocable & ~set));
    note_perhaps_unready(m);
  }
  if (s_.guarded(m)) {
    if (m.access > most || (m.opened_in_part && !parts_stay_open(m))) {
      // The flags are cleared. A kernel that still uses the memory must find it open to the kernel's end, because its fault might
      // wait for a thread that waits for the kernel. The end of its launch closes the pages: `projection_waits` is set before the pins are
      // read here, so either that end sees `projection_waits`, or there is no pin here any more.
      s_.projection_waits.store(true);
      if (s_.pinned(m)) {
        project_later(m);
      } else {
        s_.projection_waits.store(!revoked_.empty());
        protect_guarded(m, std::min(m.access, most));
      }
    }
    // A launch that checks the flags alone must find open pages.
    if (m.access < Protection::read_write) set &= ~Memory::is_exclusive;
    if (m.access < Protection::read) set &= ~Memory::is_fresh;
  }
  if ((set & ~old) != 0 && m.awaited == 0) m.flags.fetch_or(set);
}

void Projection::protect_guarded(Memory& m, platform::Protection protection) noexcept {
  if (!s_.guarded(m) || (m.access == protection && !m.opened_in_part)) return;
  if (s_.mappings.scarce() || !s_.platform->protect(m.address, s_.pages->span(m).end, protection)) return stop_guarding(m);
  m.access = protection;
  m.opened_in_part = false;
  if (m.in_part != nullptr) m.in_part->opened.clear();
  s_.mappings.add(2);
}

bool Projection::permits_reads(const Memory& m, const void* address) const noexcept {
  const auto position = static_cast<std::uint64_t>(static_cast<const std::byte*>(address) - m.address);
  const auto has = [&](const Memory::InPart::Opened& part) { return position - part.pages.begin < part.pages.size(); };
  return m.access >= platform::Protection::read || (m.opened_in_part && std::any_of(m.in_part->opened.begin(), m.in_part->opened.end(), has));
}

bool Projection::parts_stay_open(const Memory& m) const noexcept {
  const base::Vector<Memory::InPart::Opened>& opened = m.in_part->opened;
  return opened.size() <= most_opened && std::all_of(opened.begin(), opened.end(), [&](const Memory::InPart::Opened& part) {
           const Region content = memory::positions_at(m, intersect(part.pages, {0, m.bytes}));
           return part.writable ? s_.directory.exclusive(m.slot, content) : s_.directory.fresh(m.slot, content);
         });
}

void Projection::open_part(Memory& m, const Region& where, Mode mode) {
  const bool writes = mode == Mode::writes;
  using platform::Protection;
  const Protection wanted = writes ? Protection::read_write : Protection::read;
  if (!s_.guarded(m) || m.access >= wanted) return;
  if (m.in_part == nullptr) m.in_part = base::make_owned<Memory::InPart>();
  base::Vector<Memory::InPart::Opened>& opened = m.in_part->opened;
  m.opened_in_part = true;
  project_later(m);
  base::Vector<Region> rest{where};  // without the pages that are open enough already, which stay as they are
  for (const Memory::InPart::Opened& open : opened) {
    if (writes && !open.writable) continue;
    base::Vector<Region> outside;
    for (const Region& r : rest) for_each_difference(r, open.pages, [&](const Region& piece) { outside.push_back(piece); });
    rest.swap(outside);
  }
  for (const Region& r : rest) {
    for (std::uint64_t c = 0; c < r.columns; ++c) {
      const ByteRange pages = s_.pages->around(m, r.column(c));
      if (!opened.empty() && opened.back().writable == writes && opened.back().pages.end == pages.begin) {
        opened.back().pages.end = pages.end;
      } else {
        opened.push_back({pages, writes});
      }
      if (s_.mappings.scarce() || !s_.platform->protect(m.address + pages.begin, pages.size(), wanted)) return stop_guarding(m);
      s_.mappings.add(2);
    }
  }
}

void Projection::open_guarded(Memory& m) {
  using platform::Protection;
  if (!s_.guarded(m) || !m.live || m.snapshot() || !State::is_resident(m)) return;
  const Protection most = permitted(m, s_.directory.touched(m.slot));
  if (m.access >= most) return;
  if (m.opened_in_part && s_.pinned(m)) return open_part(m, ByteRange{0, m.bytes}, mode_of(most == Protection::read_write));
  protect_guarded(m, most);
}

void Projection::open_mapped(Memory& m) noexcept {
  using platform::Protection;
  if (State::is_resident(m)) return protect_guarded(m, Protection::read_write);
  m.blocks.for_each_mapped_range([&](ByteRange range) {
    const ByteRange pages = s_.pages->around(m, range);
    if (s_.guarded(m) && !s_.platform->protect(m.address + pages.begin, pages.size(), Protection::read_write)) stop_guarding(m);
  });
}

void Projection::open_all_guarded(const Memory& m) noexcept {
  for (const auto& d : s_.devices) {
    d->memory->for_each_mapping([&](std::byte* address, std::uint64_t bytes) {
      if (s_.platform->protect(address, bytes, platform::Protection::read_write)) return;
      base::fatal("cannot open the device memory of '%s' at %p and others: the kernel's limit on mappings (vm.max_map_count) or, "
                  "where vm.overcommit_memory is 2, on memory (vm.overcommit_ratio) is used up. Raise it, or free arrays.",
                  s_.name(m), static_cast<void*>(m.address));
    });
  }
}

void Projection::stop_guarding(const Memory& m) noexcept {
  s_.options.device_faults = false;
  open_all_guarded(m);
  base::raw_log("uses of the device memory of '%s' and of all other arrays outside semcache::Exec are no longer noticed, because "
                "the kernel's limit on mappings (vm.max_map_count) is near. Announce them with semcache::access(view, mode), "
                "or raise it", s_.name(m));
}

void Projection::note_perhaps_unwanted(Memory& saved) noexcept {
  if (!std::exchange(saved.perhaps_unwanted, true)) unwanted_.push_back(&saved);  // there is room for all
}

void Projection::forget_perhaps_unwanted(Memory& saved) noexcept {
  if (!std::exchange(saved.perhaps_unwanted, false)) return;
  *std::find(unwanted_.begin(), unwanted_.end(), &saved) = unwanted_.back();
  unwanted_.pop_back();
}

void Projection::set_reachable(Memory& m, bool reachable) noexcept {
  if (!s_.options.check || m.on_host() || m.bytes == 0 || (!reachable && is_reachable(m))) return;
  s_.device_of(m).memory->set_accessible(m, reachable, s_.page_bytes);
}

bool Projection::is_reachable(const Memory& m) const noexcept { return s_.launches_of_all > 0 || m.launches > 0 || m.used_unseen; }

void Projection::set_all_reachable(bool reachable) noexcept {
  for (auto& d : s_.devices) {
    d->memory->for_each_mapping([&](std::byte* at, std::uint64_t bytes) { d->device->set_accessible(at, bytes, reachable); });
  }
  if (reachable) return;
  for (Memory& m : s_.pool) {
    if (m.live && is_reachable(m) && m.blocks.any_mapped()) set_reachable(m, true);
  }
}

void Projection::open_for_launch(const Operand* operands, std::size_t count) noexcept {
  for (std::size_t i = 0; i < count; ++i) {
    Memory& m = *operands[i].memory;
    if (m.stands_for_all) {
      if (++s_.launches_of_all == 1) set_all_reachable(true);
    } else {
      ++m.launches;
      set_reachable(m, true);
    }
  }
}

void Projection::close_after_launch(const Operand* operands, std::size_t count) noexcept {
  for (std::size_t i = 0; i < count; ++i) {
    Memory& m = *operands[i].memory;
    if (m.stands_for_all) {
      if (--s_.launches_of_all == 0) set_all_reachable(false);
    } else {
      --m.launches;
      set_reachable(m, false);
    }
  }
}

void Projection::keep_reachable(Memory& m) noexcept {
  if (!s_.options.check) return;
  m.used_unseen = true;
  set_reachable(m, true);
}

}  // namespace semcache::engine
