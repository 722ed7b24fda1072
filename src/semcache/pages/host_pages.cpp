// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/memory/ends.hpp>
#include <semcache/memory/lookup_table.hpp>
#include <semcache/pages/demands.hpp>
#include <semcache/pages/host_pages.hpp>

#include <algorithm>
#include <utility>

namespace semcache::pages {

using platform::Protection;

bool HostPages::permit(const Memory& m, ByteRange bytes, Protection needed) const {
  return m.pages.all_of(around(m, bytes), [&](ByteRange, PageState s) { return s.protection >= needed; });
}

// --- protection --------------------------------------------------------------------------------------------------------

void HostPages::project(Memory& m, ByteRange range) noexcept {
  if (!watched(m) || m.bytes == 0) return;
  try {
    tighten(m, range);
  } catch (const std::exception&) {
    // One protection for the whole array needs no memory to note, and the strictest one is safe.
    (void)protect(m, span(m), Protection::none);
  }
}

/// Returns how many columns of a matrix may close one by one. Each is a call of the kernel and may be a mapping, so there are at most so many such
/// pieces of an array, however many transfers each close a few columns. A host that writes between columns that closed together meets a few faults
/// more, and no more bytes move.
static std::size_t most_runs(const Memory& m) noexcept {
  constexpr std::size_t most_pieces = 32;
  return most_pieces - std::min(most_pieces, m.pages.extent_count() / 2);
}

/// Calls `visit(Region, Protection)` for pieces of `content`, with the most that pages may permit because of them.
template <class Visit>
void HostPages::for_each_demand(const Memory& m, ByteRange content, const Visit& visit) const {
  directory_.all_of(m.slot, content, [&](const Region& part, directory::ValueRef wanted, directory::ValueRef held) {
    if (wanted.id == directory::undefined_value) {
      visit(part, Protection::read);
    } else if (held != wanted) {
      visit(part, Protection::none);
    } else if (directory_.exclusive(m.slot, part)) {
      visit(part, Protection::read_write);
    } else {
      base::Vector<Region> shared;
      directory_.shared(m.slot, part, wanted, shared);
      if (!part.is_range()) {
        for (const Region& r : shared) visit(r, Protection::read);
        return true;
      }
      // Another array, with a shape of its own, may share columns of this range. What lies between few of them stays open.
      constexpr std::uint64_t few = 64;
      base::Vector<ByteRange> ranges;
      for (const Region& r : shared) {
        for (std::uint64_t c = 0; c < r.columns && r.columns <= few; ++c) ranges.push_back(r.column(c));
        if (r.columns > few) ranges.push_back(r.hull());
      }
      std::sort(ranges.begin(), ranges.end(), [](const ByteRange& a, const ByteRange& b) { return a.begin < b.begin; });
      std::uint64_t at = part.begin;
      for (const ByteRange r : ranges) {
        if (r.begin > at) visit(Region(at, r.begin), Protection::read_write);
        if (r.end > at) visit(Region(std::max(at, r.begin), r.end), Protection::read);
        at = std::max(at, r.end);
      }
      if (at < part.end()) visit(Region(at, part.end()), Protection::read_write);
    }
    return true;
  });
}

/// Adds the demands of a matrix of several extents, whose columns may be cut, for pages that permit more now. Each piece of a column could be
/// a mapping of the kernel's, so where many must close, all pages take the strictest demand of those.
void HostPages::demand_columns(const Memory& m, ByteRange content, Demands& demands) const {
  base::Vector<std::pair<ByteRange, Protection>> runs;
  const std::size_t most_one_by_one = most_runs(m);
  bool too_many = false;
  Protection strictest = Protection::read_write;
  for_each_demand(m, content, [&](const Region& part, Protection most) {
    if (most >= strictest && too_many) return;
    if (permit_at_most(m, part.hull(), most)) return;
    for (std::uint64_t c = 0; c < part.columns; ++c) {
      if (permit_at_most(m, part.column(c), most)) continue;
      strictest = std::min(strictest, most);
      if (too_many) break;
      too_many = runs.size() == most_one_by_one;
      runs.push_back({part.column(c), most});
    }
  });
  if (too_many) return demands.add(content, strictest);
  std::sort(runs.begin(), runs.end(), [](const auto& a, const auto& b) { return a.first.begin < b.first.begin; });
  for (const auto& [bytes, most] : runs) demands.add(bytes, most);
}

bool HostPages::permit_at_most(const Memory& m, ByteRange bytes, Protection most) const {
  return m.pages.all_of(around(m, bytes), [&](ByteRange, PageState s) { return s.protection <= most; });
}

void HostPages::tighten(Memory& m, ByteRange range) {
  const ByteRange content = intersect(around(m, range), m.all());
  Demands demands(page_bytes_);
  const bool shaped = directory_.pitch(m.slot) != one_column;
  if (shaped) {
    demand_columns(m, content, demands);
  } else {
    for_each_demand(m, content, [&](const Region& part, Protection most) { demands.add(part.hull(), most); });
  }
  const auto most_under = [](const Flight& f) { return f.keeps_readable() ? Protection::read : Protection::none; };
  const auto alone = [&](const Flight& f) { return shaped || !f.where.is_range(); };
  for (const Flight& f : flights_) {
    if (f.concerns(m, content) && !alone(f)) demands.restrict_to(around(m, intersect(f.where.hull(), content)), most_under(f));
  }
  for (const Demands::Run& run : demands.runs()) restrict_to(m, run.pages, run.most);
  for (const Flight& f : flights_) {
    if (f.concerns(m, content) && alone(f)) restrict_columns(m, f.where, content, most_under(f));
  }
}

void HostPages::restrict_columns(Memory& m, const Region& where, ByteRange content, Protection most) {
  const ByteRange hull = intersect(where.hull(), content);
  if (permit_at_most(m, hull, most)) return;
  base::Vector<ByteRange> open;
  const std::size_t most_one_by_one = most_runs(m);
  for (std::uint64_t c = 0; c < where.columns; ++c) {
    const ByteRange column = intersect(where.column(c), content);
    if (column.empty() || permit_at_most(m, column, most)) continue;
    if (open.size() == most_one_by_one) return restrict_to(m, around(m, hull), most);
    open.push_back(column);
  }
  for (const ByteRange column : open) restrict_to(m, around(m, column), most);
}

void HostPages::restrict_to(Memory& m, ByteRange pages, Protection most) {
  base::Vector<ByteRange> laxer;
  m.pages.for_each(pages, [&](ByteRange piece, PageState state) {
    if (state.protection > most) append(laxer, piece);
  });
  for (const ByteRange piece : laxer) protect(m, piece, most);
}

bool HostPages::protect(Memory& m, ByteRange pages, Protection protection) {
  if (pages.empty()) return true;
  // The gap page gets the protection of the last page, so that neighbours of equal protection are one mapping of the kernel.
  if (pages.end == span(m).end) pages.end = m.pages.size();
  bool changes = false;
  bool relaxes = false;
  bool closes = false;
  m.pages.for_each(pages, [&](ByteRange, PageState s) {
    changes = changes || s.protection != protection;
    relaxes = relaxes || s.protection < protection;
    closes = closes || s.protection > protection;
  });
  if (!changes) return true;
  m.pages.make_room(pages);  // so that what the kernel does can be noted
  if (closes) {
    end_phase(m);
    m.lock_refused = false;
  }
  const auto clear_flags = [&] {
    if (protection != Protection::read_write) m.flags.fetch_and(~Memory::host_writable);
    if (protection == Protection::none) m.flags.fetch_and(~Memory::host_readable);
  };
  const auto strictest = [&] {
    Protection least = Protection::read_write;
    m.pages.for_each(span(m), [&](ByteRange, PageState s) { least = std::min(least, s.protection); });
    return least;
  };
  clear_flags();
  if (!platform_.protect(m.address + pages.begin, pages.size(), protection)) {
    if (relaxes) return false;
    // The kernel's limit on mappings was met. One protection for the whole array splits no mapping, and the strictest one is safe
    // (I5).
    pages = {0, m.pages.size()};
    protection = std::min(protection, strictest());
    clear_flags();
    if (!platform_.protect(m.address, pages.end, protection)) {
      base::fatal("cannot protect the pages of '%s' at %p: the kernel's limit on mappings (vm.max_map_count) is used up. Raise "
                  "it, or free mirrors.", recorder_.name(m.label), static_cast<void*>(m.address));
    }
  }
  m.pages.assign(pages, PageState{protection}, [](const auto&, int) {});
  if (observer_ != nullptr) {
    plan::Step step;
    step.kind = plan::Step::Kind::protect;
    step.to = memory::end_at(m, pages.begin);
    step.bytes = pages.size();
    step.protection = protection;
    observer_->done(step);
  }
  if (protection == Protection::read_write) mark_used(m, pages);
  const Protection least = strictest();
  if (least == Protection::read_write) m.flags.fetch_or(Memory::host_writable);
  if (least != Protection::none) m.flags.fetch_or(Memory::host_readable);
  mappings_.add(2);
  return true;
}

bool HostPages::relax(Memory& m, ByteRange pages, Protection wanted) {
  for (;;) {
    ByteRange closed;  // the first run of pages that permit less
    m.pages.all_of(pages, [&](ByteRange piece, PageState s) {
      if (s.protection >= wanted) return closed.empty();
      closed = {closed.empty() ? piece.begin : closed.begin, piece.end};
      return true;
    });
    if (closed.empty()) return true;
    if (!protect(m, closed, wanted)) return false;
    pages.begin = closed.end;
  }
}

void HostPages::freeze(Memory& m, const Region& where) {
  if (!m.snapshot() && watched(m)) restrict_columns(m, where, m.all(), Protection::read);
}

void HostPages::end_phase(Memory& m) noexcept {
  if (m.read_ahead && m.read_ahead->begun()) m.sweep_habit.phase_ends(*m.read_ahead);
  const std::uint64_t lost = (m.read_ahead ? m.read_ahead->end() : 0) + std::exchange(m.sent_ahead, 0);
  if (lost > 0) recorder_.moved(trace::Kind::read_ahead_lost, m.label, lost);
}

// --- page-locking ------------------------------------------------------------------------------------------------------

bool HostPages::locked(const Memory& m, ByteRange range) const noexcept {
  if (m.from_pool) return true;
  if (m.locked.empty() || range.empty()) return false;
  for (std::uint64_t at = range.begin; at < range.end; at = chunk_end(at)) {
    if (m.locked[at / registration_bytes_] == nullptr) return false;
  }
  return true;
}

bool HostPages::any_locked(const Memory& m, ByteRange range) const noexcept {
  for (std::uint64_t at = range.begin; at < range.end && !m.locked.empty(); at = chunk_end(at)) {
    if (m.locked[at / registration_bytes_] != nullptr) return true;
  }
  return false;
}

std::byte* HostPages::device_name(const Memory& m, std::uint64_t position) const noexcept {
  const std::uint64_t c = position / registration_bytes_;
  if (c >= m.locked.size() || m.locked[c] == nullptr) return m.address + position;
  return m.locked[c] + position % registration_bytes_;
}

ByteRange HostPages::worth_locking(const Memory& m, ByteRange range) const {
  if (m.snapshot() || m.owns_allocation || m.freeing || m.lock_refused || locks_.kernels_run_in_caller()) return {};
  const bool noticed = watched(m);
  // Page-locked under its own address, the program's memory would be page-locked for the program's own calls of the driver, too.
  if (m.adopted && !noticed) return {};
  if (noticed && (m.bytes < page_bytes_ || !platform_.locks_pages() || mappings_.scarce())) return {};
  for (std::uint64_t at = range.begin; at < range.end; at = chunk_end(at)) {
    if (locked(m, {at, at + 1})) continue;
    const ByteRange chunk{round_down(at, registration_bytes_), std::min(chunk_end(at), m.bytes)};
    // The transfer closes the pages that it uses, so those beside them matter. But where page-locking fails, it would be tried again behind each
    // write of the host.
    const auto is_closed = [&](ByteRange pages) {
      return pages.begin >= pages.end || m.pages.all_of(pages, [](ByteRange, PageState s) { return s.protection != Protection::read_write; });
    };
    const ByteRange pages = around(m, chunk);
    const bool whole = range.contains(chunk) || (noticed && is_closed({pages.begin, round_down(range.begin, page_bytes_)}) &&
                                                 is_closed({round_up(range.end, page_bytes_), pages.end}) && (!m.locks_fail || is_closed(pages)));
    // Has something been put into all of the chunk, other than zeros?
    const bool used = directory_.held(m.slot).all_of(chunk, [&](const Region&, directory::ValueRef ref) {
      return ref.is_number() ? !directory_.fill_of(ref.id).is_zero() : ref.id == directory::former_value;
    });
    if (noticed ? whole && used : whole || used) return chunk;
  }
  return {};
}

base::Vector<ByteRange> HostPages::begin_lock(Memory& m, ByteRange chunk) {
  const std::uint64_t chunks = (span(m).end + registration_bytes_ - 1) / registration_bytes_;
  m.locked.resize(chunks, nullptr);
  base::Vector<ByteRange> readable;
  if (!watched(m)) return readable;
  m.pages.for_each(around(m, chunk), [&](ByteRange piece, PageState s) {
    if (s.protection != Protection::none) readable.push_back(piece);
  });
  protect(m, around(m, chunk), Protection::none);
  mappings_.add(4);
  return readable;
}

std::byte* HostPages::lock(const Memory& m, ByteRange chunk) const {
  const ByteRange pages = around(m, chunk);
  std::byte* const address = m.address + pages.begin;
  if (!watched(m)) return locks_.register_host(address, pages.size()) ? address : nullptr;
  return platform_.lock_pages(address, pages.size(), [&](std::byte* other) { return locks_.register_host(other, pages.size()); });
}

void HostPages::end_lock(Memory& m, ByteRange chunk, std::byte* name, const base::Vector<ByteRange>& readable) noexcept {
  m.locked[chunk.begin / registration_bytes_] = name;
  m.lock_refused = m.locks_fail = name == nullptr;
  try {
    for (const ByteRange pages : readable) {
      if (directory_.fresh(m.slot, intersect(pages, m.all()))) (void)relax(m, pages, Protection::read);
    }
  } catch (const std::bad_alloc&) {  // the remaining pages stay closed
  }
}

bool HostPages::has_other_names(const Memory& m) const noexcept {
  for (std::size_t c = 0; c < m.locked.size(); ++c) {
    if (m.locked[c] != nullptr && m.locked[c] != m.address + c * registration_bytes_) return true;
  }
  return false;
}

void HostPages::unlock(const Memory& m, const base::Vector<std::byte*>& names) const noexcept {
  for (std::size_t c = 0; c < names.size(); ++c) {
    if (names[c] == nullptr) continue;
    const std::uint64_t at = c * registration_bytes_;
    locks_.unregister_host(names[c]);
    if (names[c] != m.address + at) platform_.forget_locked(names[c], std::min(registration_bytes_, span(m).end - at));
  }
}

void HostPages::mark_used(Memory& m, ByteRange range) noexcept {
  constexpr std::uint64_t unit = memory::LookupTable::granule_bytes;
  for (std::uint64_t u = range.begin / unit; u < m.used.size() && u * unit < range.end; ++u) m.used[u] = 1;
}

}  // namespace semcache::pages
