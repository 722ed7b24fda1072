// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/base/addresses.hpp>
#include <semcache/engine/copies.hpp>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

namespace semcache::engine {

using directory::Fill;
using trace::Kind;

namespace {

bool are_two_sides(const Memory& a, const Memory& b) noexcept { return a.datum == b.datum && &a != &b; }

std::uint64_t position_of(const Memory& m, const void* p) noexcept { return static_cast<std::uint64_t>(static_cast<const std::byte*>(p) - m.address); }

/// Tells whether the copy, between the two sides of one array, shifts the content by a small part of its size. Such a copy is
/// made at the call, because a lazy one would be carried out in pieces as small as the shift.
bool shifts(const Memory& to, std::uint64_t to_position, const Memory& from, std::uint64_t from_position,
            std::uint64_t n) noexcept {
  const std::uint64_t by = to_position > from_position ? to_position - from_position : from_position - to_position;
  return are_two_sides(to, from) && by > 0 && n / by > Shapes::most_pieces;
}

/// Returns the copy of columns that begin at `to_position` and `from_position`.
plan::Step copy_of(plan::Purpose purpose, plan::End to, std::uint64_t to_pitch, plan::End from, std::uint64_t from_pitch, std::uint64_t width,
                   std::uint64_t columns) {
  to.pitch = to_pitch;
  from.pitch = from_pitch;
  plan::Step step = copy_step(purpose, to, from, width);
  step.columns = columns;
  return step;
}

/// A piece of a copy at the call: where it begins at both ends, and its columns there.
struct Piece {
  std::uint64_t to, from, width, columns;
};
/// Cuts a copy between a device and the host into pieces that lie within one of the chunks in which host pages are page-locked: some columns,
/// or a part of one.
/// @param host_pitch  the bytes from column to column on the host
/// @param room(to, from)  returns the bytes from these positions to the end of their chunk
template <class Room>
base::Vector<Piece> pieces_of(const Copies::Columns& what, std::uint64_t to_position, std::uint64_t from_position, std::uint64_t host_pitch,
                              const Room& room) {
  base::Vector<Piece> pieces;
  for (std::uint64_t column = 0, done = 0; column < what.columns;) {
    const std::uint64_t to = to_position + column * what.to_pitch + done, from = from_position + column * what.from_pitch + done;
    const std::uint64_t most = room(to, from);
    const std::uint64_t width = std::min(what.width - done, most);
    std::uint64_t columns = 1;
    if (done == 0 && width == what.width && what.columns > 1) columns = std::min(what.columns - column, 1 + (most - width) / host_pitch);
    pieces.push_back({to, from, width, columns});
    done = width < what.width - done ? done + width : 0;
    if (done == 0) column += columns;
  }
  return pieces;
}

}  // namespace

void Copies::copy(void* to, const void* from, Columns what) {
  if (what.width == 0 || what.columns == 0) return;
  if (what.columns > UINT64_MAX / what.width) {
    throw UsageError("a copy of " + std::to_string(what.columns) + " columns of " + std::to_string(what.width) + " bytes: no memory is that large");
  }
  if (what.columns == 1 || (what.to_pitch == what.width && what.from_pitch == what.width)) what = {what.width * what.columns};
  const std::uint64_t n = what.width * what.columns;
  if (to == from && what.to_pitch == what.from_pitch) return;
  for (const std::uint64_t pitch : {what.to_pitch, what.from_pitch}) {
    if (what.columns == 1 || pitch >= what.width) continue;
    throw UsageError("a copy of " + std::to_string(what.columns) + " columns of " + std::to_string(what.width) + " bytes, which begin " +
                     std::to_string(pitch) + " bytes apart: they overlap. The pitch of a matrix is at least the bytes of a column");
  }
  if (s_.adopted.any() && (crosses_a_border(to, what.to(0)) || crosses_a_border(from, what.from(0)))) return copy_in_parts(to, from, what);
  Memory* const t = array_at(to, "to ", what.to(0), what.to_pitch);
  Memory* const f = array_at(from, "from ", what.from(0), what.from_pitch);
  if (t == nullptr && f == nullptr) {
    const SpaceId to_space = s_.foreign_space_at(to), from_space = s_.foreign_space_at(from);
    const bool on_host = to_space == host_space && from_space == host_space;
    timeline::Work writes, reads;
    // No array is concerned, so the step has a purpose that is not counted.
    const plan::Step step = copy_of(plan::Purpose::detour, elsewhere(to_space, to, &writes), what.to_pitch, elsewhere(from_space, from, &reads),
                                    what.from_pitch, what.width, what.columns);
    if (on_host) {
      step.for_each_column([&](std::uint64_t to_column, std::uint64_t from_column) {
        std::memcpy(step.to.address + to_column, step.from.address + from_column, what.width);
      });
      return;
    }
    Transaction transaction(transactions_);
    if ((to_space == host_space && pageable_copies_.concern(to)) || (from_space == host_space && pageable_copies_.concern(from))) {
      return pageable_copies_.copy(transaction, step);
    }
    transaction.run([&] { return transfers_.ready_over_host(to_space, from_space, {0, what.width, what.columns, what.from_pitch}); });
    return complete_also_if_refused(transaction, writes, [&] {  // what has arrived has left, too
      try {
        executor_.execute(step);
      } catch (...) {
        transactions_.complete(transaction, reads);
        throw;
      }
    });
  }
  Transaction transaction(transactions_);
  s_.links.fetch_add(1);
  dual_views_.note_copy(t, f);
  if (t == nullptr || f == nullptr) {
    const bool staged = t != nullptr && !t->on_host() && s_.foreign_space_at(from) == host_space && pageable_copies_.concern(from);
    const Kept array(t != nullptr ? *t : *f);
    timeline::Work work;
    complete_also_if_refused(transaction, work, [&] {  // the program may change the source after the call
      in_pieces(transaction, t, t != nullptr ? position_of(*t, to) : 0, f, f != nullptr ? position_of(*f, from) : 0, what,
                staged ? PageableCopies::piece_bytes : UINT64_MAX, [&](std::uint64_t to_at, std::uint64_t from_at, const Columns& piece) {
                  if (t == nullptr) {
                    return copy_to_open(transaction, static_cast<std::byte*>(to) + to_at, array, position_of(*f, from) + from_at, piece);
                  }
                  copy_from_open(transaction, array, position_of(*t, to) + to_at, static_cast<const std::byte*>(from) + from_at, piece, work);
                });
    });
    if (staged) executor_.forget_finished_flights();  // the pieces are done, so their staging memory can be used again
    return;
  }
  const std::uint64_t to_position = position_of(*t, to), from_position = position_of(*f, from);
  const Region there = what.to(to_position), here = what.from(from_position);
  if (what.columns > 1 && t == f) {
    SEMCACHE_EXPECTS(!overlap(there, here), std::string("a copy of columns within '") + s_.name(*t) +
                                                "' whose source and destination overlap. Copy through another array");
  }
  shapes_.shape(*t, there);
  shapes_.shape(*f, here);
  // The content of a matrix that is cut keeps its extents where the destination has the same columns. (An array that another thread
  // has freed since it was found has no maps; the copy then ends with an error below.)
  const std::uint64_t pitch = Kept(*f).freed() ? one_column : s_.directory.pitch(f->datum);
  if (what.columns == 1 && n > pitch && to_position % pitch == from_position % pitch && s_.directory.wanted(f->datum).extent_count() > 1) {
    shapes_.shape(*t, Region(to_position, 1, 2, pitch));
  }
  // The program writes an announced host side first and announces the write later. So a copy between such a side and another
  // array takes the bytes that are there at the call, whatever the directory has noted of them.
  const bool now = s_.options.protocol == Protocol::off || t->open || f->open || shifts(*t, to_position, *f, from_position, n) ||
                   ((t->announced || f->announced) && t->datum != f->datum);
  if (!now && link(transaction, *t, to_position, *f, from_position, what)) {
    settle_early(transaction, *t, there, *f);
  } else if (t == f || are_two_sides(*t, *f)) {
    copy_now(transaction, *t, to_position, *f, from_position, what);  // what one piece overwrites, another may have to read
  } else {
    in_pieces(transaction, t, to_position, f, from_position, what, UINT64_MAX, [&](std::uint64_t to_at, std::uint64_t from_at, const Columns& piece) {
      copy_now(transaction, *t, to_position + to_at, *f, from_position + from_at, piece);
    });
  }
}

/// Submits a copy whose end belongs to no array, and waits for it. A copy that is refused is waited for, too, as far as it has been submitted,
/// because the program may change its memory as soon as the call has failed.
template <class Submit>
void Copies::complete_also_if_refused(Transaction& t, const timeline::Work& work, const Submit& submit) {
  try {
    submit();
  } catch (...) {
    transactions_.complete(t, work);
    throw;
  }
  transactions_.complete(t, work);
}

/// Waits, before the first piece of a copy, for uses on the host that conflict with a later one (I9).
/// @throws UsageError  this thread has such a use under way
void Copies::expect_unused(Transaction& t, Memory* to, const Region& there, Memory* from, const Region& here) {
  t.run([&]() -> Obstacle {
    if (to != nullptr && !Kept(*to).freed()) {
      if (const Obstacle o = hazards_.host_uses_of(to->datum, there, Mode::writes)) return o;
    }
    return from != nullptr && !Kept(*from).freed() ? hazards_.host_uses_of(from->datum, here, Mode::reads) : Obstacle();
  });
}

/// Makes a copy at the call piece by piece, if it has more than `most` bytes, or its arrays need more device memory than there is. Calls
/// `copy(to, from, columns)` with the distances from the first bytes of the whole copy.
template <class Copy>
void Copies::in_pieces(Transaction& t, Memory* to, std::uint64_t to_position, Memory* from, std::uint64_t from_position, const Columns& what,
                       std::uint64_t most, const Copy& copy) {
  const auto in_blocks = [](const Memory* m) { return m != nullptr && m->blocks.count() > 1 && !m->on_host(); };
  const auto for_each_need = [&](const auto& visit) {
    if (in_blocks(to) && !Kept(*to).freed()) visit(*to, what.to(to_position));
    if (in_blocks(from) && !Kept(*from).freed()) visit(*from, what.from(from_position));
  };
  const bool fits = (!in_blocks(to) && !in_blocks(from)) || residency_.fits(for_each_need);
  if (fits && what.width * what.columns <= most) return copy(0, 0, what);
  const Region there = to != nullptr ? overwritten(*to, what.to(to_position)).range : Region();
  std::optional<Kept> target;
  if (to != nullptr) target.emplace(*to);  // before the lock is given up: of a freed array the first piece reports it
  expect_unused(t, to, there, from, what.from(from_position));
  if (fits && target) {  // what may fail for want of memory is done before the first byte is overwritten (I9)
    t.run([&] { return target->freed() ? Obstacle() : transfers_.save_all(*to, there, Transfers::Loss::write); });
  }
  std::uint64_t column_bytes = what.width;  // of what limits a piece: the bytes that are copied, or all that must be mapped
  for (const Memory* m : {to, from}) {
    if (fits || !in_blocks(m)) continue;
    most = std::min(most, s_.device_of(*m).memory->budget_bytes() / 4);
    column_bytes = std::max({what.to_pitch, what.from_pitch, std::uint64_t{1}});
  }
  for (std::uint64_t c = 0; c < what.columns;) {
    const std::uint64_t columns = std::min(what.columns - c, std::max<std::uint64_t>(1, most / column_bytes));
    const std::uint64_t to_at = c * what.to_pitch, from_at = c * what.from_pitch;
    c += columns;
    if (columns > 1) {
      copy(to_at, from_at, Columns{what.width, columns, what.to_pitch, what.from_pitch});
      continue;
    }
    for (std::uint64_t done = 0; done < what.width; done += most) {
      copy(to_at + done, from_at + done, Columns{std::min(most, what.width - done)});
    }
  }
}

Memory* Copies::array_at(const void* p, const char* preposition, const Region& what, std::uint64_t pitch) const {
  const std::uint64_t n = what.size();
  Memory* const m = s_.find(p);
  const bool is_array = m != nullptr && m->live && !m->snapshot() && !m->part;
  SEMCACHE_EXPECTS(is_array || !s_.in_any_arena(p), "a copy of " + std::to_string(n) + " bytes " + preposition + base::text_of(p) +
                                                        ", where no array is: it has been freed, or ends before");
  if (!is_array) return nullptr;
  const auto begin = static_cast<std::uint64_t>(static_cast<const std::byte*>(p) - m->address);
  const std::uint64_t room = begin <= m->bytes ? m->bytes - begin : 0;
  SEMCACHE_EXPECTS(columns_fit(what.width, what.columns, pitch, room), "a copy of " + std::to_string(n) + " bytes" +
                             (what.columns == 1 ? std::string() : " in " + std::to_string(what.columns) + " columns, " +
                                                                      std::to_string(pitch) + " bytes apart,") +
                             " at offset " + std::to_string(begin) + " leaves '" + s_.name(*m) + "' of " +
                             std::to_string(m->bytes) + " bytes");
  return m;
}

// --- memory of which parts are adopted ---------------------------------------------------------------------------------

/// Returns how many of the bytes from `p` to `end` lie together, either in one body or in none.
std::uint64_t Copies::bytes_together(const std::byte* p, const std::byte* end) const noexcept {
  if (s_.host->covers(p) || s_.in_device_arena(p)) return UINT64_MAX;
  const Memory* const m = s_.adopted.next(p, end);
  if (m == nullptr) return UINT64_MAX;
  const std::byte* const border = m->address <= p ? m->address + m->bytes : m->address;
  return border > p ? static_cast<std::uint64_t>(border - p) : UINT64_MAX;  // another thread has released it meanwhile
}

bool Copies::crosses_a_border(const void* p, const Region& what) const noexcept {
  const auto* const begin = static_cast<const std::byte*>(p);
  if (what.columns > 1 && what.pitch > (base::end_of_addresses - what.width) / (what.columns - 1)) return false;  // no memory is so large
  const std::uint64_t bytes = what.hull().size();
  return bytes_together(begin, begin + bytes) < bytes;
}

/// Carries out a copy to or from memory of which a part is an adopted body: each part that lies in one body, or in none, is a copy of its
/// own. Those that are made at the call come first, because they can fail.
void Copies::copy_in_parts(void* to, const void* from, const Columns& what) {
  // What can be wrong with an array is found before anything is copied.
  if (!crosses_a_border(to, what.to(0))) (void)array_at(to, "to ", what.to(0), what.to_pitch);
  if (!crosses_a_border(from, what.from(0))) (void)array_at(from, "from ", what.from(0), what.from_pitch);
  auto* const t = static_cast<std::byte*>(to);
  const auto* const f = static_cast<const std::byte*>(from);
  const std::byte* const to_end = t + what.to(0).hull().end;
  const std::byte* const from_end = f + what.from(0).hull().end;
  if (t < from_end && f < to_end) {  // one part may overwrite what another one is to take
    std::vector<std::byte> buffer(what.width * what.columns);
    copy(buffer.data(), from, {what.width, what.columns, what.width, what.from_pitch});
    return copy(to, buffer.data(), {what.width, what.columns, what.to_pitch, what.width});
  }
  const auto together = [&](std::uint64_t to_at, std::uint64_t from_at) {
    return std::pair(bytes_together(t + to_at, to_end), bytes_together(f + from_at, from_end));
  };
  enum class Pass { check, edges, bodies };
  for (const Pass pass : {Pass::check, Pass::edges, Pass::bodies}) {
    const auto part = [&](std::uint64_t to_at, std::uint64_t from_at, const Columns& columns) {
      if (pass == Pass::check) {
        Transaction transaction(transactions_);
        Memory* const to_array = s_.find(t + to_at);
        Memory* const from_array = s_.find(f + from_at);
        const Region there = columns.to(to_array != nullptr ? position_of(*to_array, t + to_at) : 0);
        const Region here = columns.from(from_array != nullptr ? position_of(*from_array, f + from_at) : 0);
        return expect_unused(transaction, to_array, there, from_array, here);
      }
      const bool is_in_body = s_.adopted.find(t + to_at) != nullptr || s_.adopted.find(f + from_at) != nullptr;
      if (is_in_body == (pass == Pass::bodies)) copy(t + to_at, f + from_at, columns);
    };
    for (std::uint64_t c = 0; c < what.columns;) {
      const std::uint64_t to_at = c * what.to_pitch, from_at = c * what.from_pitch;
      const auto [to_room, from_room] = together(to_at, from_at);
      if (what.width <= std::min(to_room, from_room)) {
        std::uint64_t columns = what.columns - c;
        if (columns > 1) {
          columns = std::min({columns, 1 + (to_room - what.width) / what.to_pitch, 1 + (from_room - what.width) / what.from_pitch});
        }
        part(to_at, from_at, {what.width, columns, what.to_pitch, what.from_pitch});
        c += columns;
        continue;
      }
      for (std::uint64_t done = 0; done < what.width;) {
        const auto [to_left, from_left] = together(to_at + done, from_at + done);
        const std::uint64_t width = std::min({what.width - done, to_left, from_left});
        part(to_at + done, from_at + done, {width});
        done += width;
      }
      ++c;
    }
  }
}

Requirement Copies::overwritten(Memory& m, const Region& region) {
  return Kept(m).freed() ? Requirement{&m, region, Access::overwrite} : shapes_.fitting(m, region, Access::overwrite);
}

/// Makes a lazy copy in the directory: `to` wants from now on what `from` wants (I7).
/// @return false, and nothing is linked, if a side has become open, or if the copy would cut the maps of `to` too finely
bool Copies::link(Transaction& t, Memory& to, std::uint64_t to_position, Memory& from, std::uint64_t from_position, const Columns& what) {
  const Kept to_kept(to);
  const Kept from_kept(from);
  // Columns that lie in the two arrays at different distances are an extent, and a transfer, each.
  const std::size_t most = what.to_pitch == what.from_pitch ? shapes_.most_extents(to) : what.width < s_.page_bytes ? 0 : Shapes::most_pieces;
  bool linked = false;
  t.run([&]() -> Obstacle {
    linked = false;
    s_.expect_not_freed(to_kept);
    s_.expect_not_freed(from_kept);
    const Region range = what.to(to_position), taken = what.from(from_position);
    if (const Obstacle o = hazards_.host_uses_of(to.datum, range, Mode::writes)) return o;
    if (const Obstacle o = hazards_.host_uses_of(from.datum, taken, Mode::reads)) return o;
    // Near the kernel's limit on mappings, a mirror that is the only side of its array becomes open, instead of being protected.
    for (Memory* m : {&to, &from}) {
      if (!m->on_host() || !s_.watched(*m) || !s_.mappings.scarce() || s_.directory.slots(m->datum).size() > 1) continue;
      if (const Obstacle o = host_access_.open_mirror(*m, "many mirrors have different protections and the kernel's limit on mappings "
                                             "(vm.max_map_count) is near. Use fewer, larger arrays, or raise it")) {
        return o;
      }
    }
    if (to.open || from.open) return {};  // opened above, or by another thread meanwhile
    // All sides are checked, whichever the caller named: once another array wants a value, `check_writes` must not replace it by
    // an earlier one any more. And what `to` holds unchanged need not come once more.
    for (const DatumId datum : {from.datum, to.datum}) {
      for (const SlotId slot : s_.directory.slots(datum)) {
        if (const Obstacle o = transfers_.check_writes(s_.memory_of(slot))) return o;
      }
    }
    const auto earlier = s_.pending.any(to.datum) ? s_.directory.wanted(to.datum).extents(range)
                                              : base::Vector<directory::ExtentMap::Extent>();
    const auto link_now = [&] {
      return s_.directory.link(to.datum, Region::apart(to_position, what.width, what.columns, what.to_pitch), from.datum,
                               Region::apart(from_position, what.width, what.columns, what.from_pitch), most);
    };
    auto result = link_now();
    if (result == directory::LinkResult::too_fine && what.columns == 1) {
      // The source is cut into columns that `to` cannot have. What is copied gets one new number, or is copied at the call where a use on
      // the host reads it, which a new number would wait for.
      if (hazards_.host_uses_of(from.datum, taken, Mode::writes)) return {};
      if (const Obstacle o = preparation_.meet(from, taken, Access::read_write)) return o;
      s_.directory.renumber(from.slot, taken);
      from.write_check.reset();
      result = link_now();
    }
    linked = result != directory::LinkResult::too_fine;
    if (!linked) return {};
    if (result == directory::LinkResult::unchanged) {
      for (std::uint64_t c = 0; s_.options.check && c < what.columns; ++c) {
        const std::uint64_t to_column = to_position + c * what.to_pitch, from_column = from_position + c * what.from_pitch;
        if (const Obstacle o = check_elided(to, to_column, from, from_column, what.width)) return o;
      }
      s_.recorder.moved(Kind::avoided, to.label, range.size());
    } else {
      to.write_check.reset();
      s_.recorder.moved(Kind::deferred, to.label, range.size());
      count_replaced(to, earlier);
      note_pending(to, range);
    }
    return {};
  });
  return linked;
}

/// Carries out at the call those lazy copies that must not, or should not, stay pending. The lazy copy has been noted already,
/// and moving its bytes now is an optimisation of the runtime, so a failure here is not reported to the program (I9). Ends the
/// process if content that must not stay pending can neither be copied nor saved.
void Copies::settle_early(Transaction& t, Memory& to, const Region& range, Memory& from) noexcept {
  const Kept to_kept(to);
  const Kept from_kept(from);
  // Page faults on a mirror do not shorten its maps (`Shapes::keep_maps_short`), and each copy of what they have written closes its pages.
  const base::AtEnd short_source([&] {
    if (!from_kept.freed() && from.on_host()) shapes_.keep_maps_short(t, from);
  });
  const bool must_not_stay = transfers_.host_side_is_announced(from);  // the program may change it before it announces that
  if (!must_not_stay && to.on_host() && s_.watched(to) && range.is_range() && range.size() <= policy::ReadHabit::largest_bytes &&
      !s_.directory.fresh(to.slot, range) && to.read_habit.copied()) {
    return bring(t, to, range.hull(), from);  // the host is expected to read `to` next
  }
  try {
    shapes_.keep_maps_short(t, to);
    if (to_kept.freed()) return;
    // The host would fault once for each page, and bring a part of a page each time.
    if ((range.width < s_.page_bytes && to.on_host()) || must_not_stay) {
      settle_copy(t, to, range);
    } else if (s_.options.protocol == Protocol::write_through) {
      transfers_.count_write_through(to, range, to.label);
      t.run([&]() -> Obstacle {
        if (to_kept.freed()) return {};
        const Obstacle o = residency_.make_resident(to, range);
        return o ? o : transfers_.make_fresh(to, range);
      });
    }
  } catch (const std::exception&) {
    try {
      t.run([&]() -> Obstacle {
        if (from_kept.freed() || !transfers_.host_side_is_announced(from)) return {};
        Memory& host = s_.memory_of(s_.directory.slot_in(from.datum, host_space));
        return transfers_.save_all(host, host.all(), Transfers::Loss::write);
      });
    } catch (const std::exception& e) {
      base::fatal("the content of '%s' at this deep_copy can neither be copied nor saved before the host changes it: %s. Free "
                  "memory of the host, or raise SEMCACHE_DEVICE_MEMORY", s_.recorder.name(from_kept.label), e.what());
    }
  }
}

/// Brings the content of a lazy copy to the mirror `to` at the call. The mirror's pages need not close: a thread that reads them
/// while the call lasts gets the former or the new content, as with a copy made by hand.
void Copies::bring(Transaction& t, Memory& to, ByteRange range, Memory& from) noexcept {
  const Kept kept(to);
  const Kept from_kept(from);
  const Memory* const outer = std::exchange(here().bringing, &to);
  const base::AtEnd brought([&] { here().bringing = outer; });
  try {
    host_access_.host_access(t, to, range, Access::read);
    s_.recorder.moved(Kind::read_ahead, kept.label, range.size());
    // The next copy waits for its kernel at the call, so no event need be recorded behind that kernel.
    if (!from_kept.freed()) from.flags.fetch_and(~Memory::read_elsewhere);
  } catch (const std::exception&) {
    // I9: the copy stays lazy. This call no longer waits for the transfers that are under way, so their pages close.
    for (Flight& f : s_.flights) f.expected = f.expected && f.host != &to;
    if (!kept.freed()) s_.pages->project(to, to.all());
  }
}

/// Makes `range` fresh at the call. Afterwards nothing in flight uses the memory that its content was taken from.
void Copies::settle_copy(Transaction& t, Memory& to, const Region& range) {
  const Kept kept(to);
  if (to.on_host() && range.is_range()) {
    host_access_.host_access(t, to, range.hull(), Access::read);
  } else {
    meet(t, kept, range, Access::read);
    transactions_.complete_transfers(t, to);
  }
  s_.expect_not_freed(kept);
  if (!to.on_host()) projection_.open_guarded(to);
}

void Copies::settle(Memory& m, ByteRange range) {
  Transaction t(transactions_);
  settle_copy(t, m, range);
}

void Copies::note_pending(const Memory& m, const Region& range) noexcept {
  try {
    base::Vector<Region> pieces{range};
    for (const SlotId slot : s_.directory.slots(m.datum)) {
      base::Vector<Region> nowhere;
      for (const Region& r : pieces) s_.directory.stale(slot, r, nowhere);
      pieces = std::move(nowhere);
    }
    for (const Region& r : pieces) s_.pending.add(m.datum, r);
  } catch (const std::bad_alloc&) {  // these bytes are not counted
  }
}

void Copies::count_replaced(const Memory& m, const base::Vector<directory::ExtentMap::Extent>& earlier) noexcept {
  std::uint64_t bytes = 0;
  for (const auto& e : earlier) {
    s_.directory.wanted(m.datum).for_each(e.where, [&](const Region& piece, directory::ValueRef now) {
      if (now != e.at(piece.begin)) bytes += s_.pending.take(m.datum, piece);
    });
  }
  if (bytes > 0) s_.recorder.moved(Kind::dropped, m.label, bytes);
}

Obstacle Copies::check_elided(Memory& to, std::uint64_t to_position, Memory& from, std::uint64_t from_position, std::uint64_t n) {
  const ByteRange to_range{to_position, to_position + n};
  const ByteRange from_range{from_position, from_position + n};
  if (const Obstacle o = hazards_.uses_of(to)) return o;
  if (const Obstacle o = hazards_.uses_of(from)) return o;
  if (!s_.directory.fresh(to.slot, to_range) || !s_.directory.fresh(from.slot, from_range)) return {};
  if (!s_.directory.defined(to.datum, to_range)) return {};
  if (!State::is_resident(to, to_range) || !State::is_resident(from, from_range)) return {};
  const std::vector<std::byte> there = executor_.content_of(to, to_range);
  const std::vector<std::byte> here = executor_.content_of(from, from_range);
  s_.directory.wanted(to.datum).for_each(to_range, [&](const Region& piece, directory::ValueRef ref) {
    bool same = true;
    for (std::uint64_t c = 0; c < piece.columns && ref.is_number(); ++c) {  // bytes that were never written may differ
      const std::uint64_t at = piece.column(c).begin - to_position;
      same = same && std::memcmp(there.data() + at, here.data() + at, piece.width) == 0;
    }
    if (same) return;
    base::fatal("SEMCACHE_CHECK: '%s' or '%s' was changed without anybody noticing (a raw pointer in a kernel or a "
                "library). Announce such uses with semcache::access(view, mode).",
                s_.name(to), s_.name(from));
  });
  return {};
}

void Copies::meet(Transaction& t, const Kept& array, const Region& range, Access mode) {
  t.run([&] {
    s_.expect_not_freed(array);
    return preparation_.meet(*array.memory, range, mode);
  });
}

void Copies::copy_from_open(Transaction& t, const Kept& kept, std::uint64_t position, const void* from, const Columns& what, timeline::Work& work) {
  s_.expect_not_freed(kept);
  Memory& to = *kept.memory;
  const Region range = what.to(position);
  const Requirement written = overwritten(to, range);
  shapes_.count_hull(to, range, written.range);
  plan::End source = elsewhere(s_.foreign_space_at(from), from, &work);
  std::uint64_t pitch = what.from_pitch;
  std::vector<std::byte> buffer;
  Flights staged;
  const base::AtEnd list([&] {
    if (staged.empty()) return;
    staged.front().work = work;
    s_.flights.splice(s_.flights.end(), staged);
  });
  if (to.on_host() && source.space != host_space) {  // through a buffer
    buffer.resize(range.size());
    pageable_copies_.copy(t, copy_of(plan::Purpose::call, elsewhere(host_space, buffer.data(), nullptr, to.label), what.width, source, pitch,
                                     what.width, what.columns));
    source = elsewhere(host_space, buffer.data());
    pitch = what.width;
  } else if (!to.on_host() && source.space == host_space && pageable_copies_.concern(from)) {
    try {
      staged = pageable_copies_.stage(t, to.space, source.address, {0, what.width, what.columns, what.from_pitch});
      source.address = staged.front().staging;
      pitch = what.width;
    } catch (const OutOfMemory&) {  // without page-locked memory the driver copies these bytes while other threads wait for the lock
    }
  }
  t.run([&] {
    s_.expect_not_freed(kept);
    const Obstacle o = preparation_.meet(to, written.range, written.mode);
    return o ? o : transfers_.ready_over_host(to.space, source.space, range);
  });
  transfers_.prepare_written(to, written.range);  // so that noting the write cannot fail
  const plan::Purpose purpose = buffer.empty() ? plan::Purpose::call : plan::Purpose::detour;
  transfers_.overwrite(to, written.range, copy_of(purpose, end_at(to, position), what.to_pitch, source, pitch, what.width, what.columns));
  transfers_.note_written(to, written.range);
  if (!kept.freed()) shapes_.keep_maps_short(t, to);
}

void Copies::copy_to_open(Transaction& t, void* to, const Kept& kept, std::uint64_t position, const Columns& what) {
  s_.expect_not_freed(kept);
  Memory& from = *kept.memory;
  const Region range = what.from(position);
  shapes_.shape(from, range);
  timeline::Work work;
  plan::End target = elsewhere(s_.foreign_space_at(to), to, &work);
  const bool pageable = !from.on_host() && target.space == host_space && pageable_copies_.concern(to);
  if (pageable) transactions_.give_way(t, [&] { return from.awaited != 0; });
  t.run([&] {
    s_.expect_not_freed(kept);
    if (const Obstacle o = preparation_.meet(from, range, Access::read)) return o;
    return pageable ? hazards_.writers_of(from, range) : transfers_.ready_over_host(target.space, from.space, range);
  });
  const plan::Step step = copy_of(plan::Purpose::call, target, what.to_pitch, end_at(from, position), what.from_pitch, what.width, what.columns);
  if (pageable) return pageable_copies_.read(t, from, step);
  if (!from.on_host() || target.space == host_space) return complete_also_if_refused(t, work, [&] { executor_.execute(step); });
  // From the host to device memory of others: through a buffer.
  std::vector<std::byte> buffer(range.size());
  const plan::End detour = elsewhere(host_space, buffer.data(), nullptr, from.label);
  executor_.execute(copy_of(plan::Purpose::detour, detour, what.width, end_at(from, position), what.from_pitch, what.width, what.columns));
  pageable_copies_.copy(t, copy_of(plan::Purpose::call, elsewhere(target.space, to), what.to_pitch, detour, what.width, what.width, what.columns));
}

/// Copies the bytes at the call, even if the destination holds them already (protocol `off`, open mirrors, and the other cases in
/// which `copy` makes no lazy copy).
void Copies::copy_now(Transaction& t, Memory& to, std::uint64_t to_position, Memory& from, std::uint64_t from_position,
                      const Columns& what) {
  const Requirement written = overwritten(to, what.to(to_position));
  shapes_.count_hull(to, what.to(to_position), written.range);
  const Region from_range = what.from(from_position);
  const bool one_array = are_two_sides(to, from);
  const bool noted_at_the_end = one_array || written.mode != Access::overwrite;
  const bool crosses = to.on_host() != from.on_host();
  const std::uint64_t host_pitch = to.on_host() ? what.to_pitch : what.from_pitch;
  const base::Vector<Piece> pieces =
      pieces_of(what, to_position, from_position, host_pitch, [&](std::uint64_t target, std::uint64_t source) {
        const std::uint64_t on_host = to.on_host() ? target : source;
        return crosses ? s_.pages->chunk_end(on_host) - on_host : UINT64_MAX;
      });
  // Kernels of a GPU may use an open mirror without being noticed, so all devices are waited for.
  const Kept to_kept(to);
  const Kept from_kept(from);
  if ((to.open || from.open) && !s_.home().device->kernels_run_in_caller()) t.wait(Obstacle::whole_devices(all_devices));
  // The third requirement is for a copy within one array: if it is refused half-way, `from` still holds the former content of the
  // bytes that it has overwritten in `to`.
  const Requirement needs[] = {{&from, from_range, Access::read}, written, {&from, written.range, Access::read}};
  t.run([&]() -> Obstacle {
    s_.expect_not_freed(to_kept);
    s_.expect_not_freed(from_kept);
    if (from.on_host() && from.open) transfers_.note_written(from, from_range);  // an open mirror counts as changed at every use
    if (const Obstacle o = preparation_.meet(needs, one_array ? 3 : 2)) return o;
    if (!crosses) return transfers_.ready_over_host(to.space, from.space, from_range);
    Memory& host = to.on_host() ? to : from;
    if (const Obstacle o = hazards_.directly_reached(host, to.on_host() ? what.to(to_position) : from_range)) return o;
    base::Vector<Region> on_host;
    for (const Piece& p : pieces) on_host.emplace_back(to.on_host() ? p.to : p.from, p.width, p.columns, host_pitch);
    return transfers_.staging_for(to.on_host() ? from : to, host, on_host.data(), on_host.size(),
                                  to.on_host() ? Executor::Direction::from_device : Executor::Direction::to_device);
  });
  if (noted_at_the_end) transfers_.prepare_written(to, written.range);  // so that noting the write cannot fail
  for (const Piece& p : pieces) {
    const Region piece(p.to, p.width, p.columns, what.to_pitch);
    if (!noted_at_the_end) transfers_.prepare_written(to, piece);
    transfers_.overwrite(to, noted_at_the_end ? written.range : piece,
                         copy_of(plan::Purpose::call, end_at(to, p.to), what.to_pitch, end_at(from, p.from), what.from_pitch, p.width, p.columns));
    // The directory touches nothing where only this mirror holds what is overwritten, so its pages are closed here (I6).
    if (crosses && to.on_host()) s_.pages->project(to, piece.hull());
    // Each piece is noted at once, because a later one may fail, and overwritten bytes must not be taken for the former content
    // (I9). Within one array that would make the source stale, so there the whole range is noted at the end.
    if (!noted_at_the_end) transfers_.note_written(to, piece);
  }
  if (noted_at_the_end) transfers_.note_written(to, written.range);
  transactions_.complete_transfers(t, to);
  if (!to_kept.freed()) shapes_.keep_maps_short(t, to);
}

void Copies::fill(Memory& m, std::uint64_t position, std::uint64_t n, const Fill& fill) {
  if (n == 0) return;
  Transaction t(transactions_);
  s_.links.fetch_add(1);
  const ByteRange range{position, position + n};
  const Kept kept(m);
  if (s_.options.protocol != Protocol::off && !m.open) {
    t.run([&] {
      s_.expect_not_freed(kept);
      return hazards_.host_uses_of(m.datum, range, Mode::writes);
    });
    s_.directory.fill(m.datum, range, fill);
    m.write_check.reset();
    transfers_.count_dropped(m, range);
    return;
  }
  meet(t, kept, range, Access::overwrite);
  s_.directory.prepare_write(m.slot, range);  // so that noting the write cannot fail
  plan::Step step{plan::Step::Kind::fill, plan::Purpose::call, end_at(m, position), {}, n};
  step.fill = fill;
  transfers_.overwrite(m, range, step);
  transfers_.note_written(m, range);
  if (!m.on_host()) transactions_.complete_transfers(t, m);
}

void Copies::filled(Memory& m, std::uint64_t position, std::uint64_t n, const Fill& fill) {
  if (n == 0 || s_.options.protocol == Protocol::off) return;
  const Transaction t(transactions_);
  s_.expect_not_freed(Kept(m));
  s_.links.fetch_add(1);
  const ByteRange range{position, position + n};
  s_.directory.fill(m.datum, range, fill);
  m.write_check.reset();
  transfers_.count_dropped(m, range);
  s_.directory.commit({m.slot, range, {}, 0, s_.directory.wanted(m.datum).at(position), {}});
}

}  // namespace semcache::engine
