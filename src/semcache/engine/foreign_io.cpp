// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/engine/foreign_io.hpp>

#include <algorithm>

namespace semcache::engine {
namespace {

/// Returns how many pieces the directory gets as ranges of their own. More pieces are written as one range, in which the bytes
/// between them keep their content, so that the maps stay short (`Shapes::keep_maps_short`).
std::size_t most_single_pieces(const Memory& m) noexcept {
  return static_cast<std::size_t>(std::max<std::uint64_t>(64, m.bytes / 19200));
}

/// What a message requires of an array: its pieces there, or their hull if there are more than `most` pieces.
class Pieces {
 public:
  Pieces(Memory& m, std::uint64_t position, const ByteRange* pieces, std::size_t count, Access mode, std::size_t most)
      : first_{&m, at_array(pieces[0], position), mode} {
    if (count <= 1) return;
    if (count <= most) more_.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
      const ByteRange at = at_array(pieces[i], position);
      if (count <= most) {
        more_.push_back({&m, at, mode});
      } else {
        first_.range = ByteRange{std::min(first_.range.begin, at.begin), std::max(first_.range.end(), at.end)};
      }
    }
    if (count > most && writes(mode)) first_.mode = Access::read_write;  // the bytes between the pieces stay
    are_hull_ = count > most;
  }
  [[nodiscard]] const Requirement* begin() const noexcept { return more_.empty() ? &first_ : more_.data(); }
  [[nodiscard]] const Requirement* end() const noexcept { return begin() + size(); }
  [[nodiscard]] std::size_t size() const noexcept { return more_.empty() ? 1 : more_.size(); }
  /// Was there more than one piece, of which the hull is used?
  [[nodiscard]] bool are_hull() const noexcept { return are_hull_; }

 private:
  bool are_hull_ = false;
  Requirement first_;
  std::vector<Requirement> more_;
};

}  // namespace

void ForeignIo::expect_read_out(Memory& m, std::uint64_t position, const ByteRange* pieces, std::size_t count,
                                TransitBuffer& buffer, std::byte* to) {
  Transaction t(transactions_);
  t.launch_follows();
  expected_.expect(m, position, pieces, count, buffer, to);
}

void ForeignIo::settle_buffer(TransitBuffer& buffer) {
  // The last use is read without the lock, because no other thread changes it now: the `read_out` before this has ended what was
  // expected of the buffer.
  if (!hazards_.user_of(buffer)) return;
  Transaction t(transactions_);
  t.launch_follows();
  t.run([&] { return hazards_.user_of(buffer); });
}

bool ForeignIo::valid_here(const Memory& m, std::uint64_t position, const ByteRange* pieces, std::size_t count) const {
  const Look look(transactions_);
  return m.live && !m.snapshot() && expected_.fresh_here(m, position, pieces, count);  // it may have been freed meanwhile
}

directory::Step ForeignIo::nearest_source(const Memory& m, ByteRange range) const {
  const auto& wanted = s_.directory.wanted(m.datum);
  const bool only_here = (m.flags.load() & (Memory::is_exclusive | Memory::resident)) == (Memory::is_exclusive | Memory::resident);
  if (only_here && wanted.extent_count() == 1 && wanted.at(0).id != directory::undefined_value) return {{}, range, m.slot, range.begin, {}, {}};
  // In a matrix of several extents the pieces ascend within a column only.
  const std::uint64_t pitch = s_.directory.pitch(m.datum);
  if (pitch != one_column && (s_.directory.wanted(m.datum).extent_count() > 1 || !s_.directory.fresh(m.slot, m.all()))) {
    range.end = std::min(range.end, round_down(range.begin, pitch) + pitch);
  }
  const bool written = s_.directory.wanted(m.datum).at(range.begin).id != directory::undefined_value;
  s_.directory.wanted(m.datum).all_of(range, [&](const Region& piece, directory::ValueRef ref) {
    if ((ref.id != directory::undefined_value) == written) return true;
    range.end = piece.begin;
    return false;
  });
  if (!written) return {{}, range, {}, 0, {}, {}};
  for (const SlotId slot : {s_.directory.slot_in(m.datum, host_space), m.slot}) {
    if (!slot.valid()) continue;
    const base::Vector<Region> stale = s_.stale(slot, range);
    const std::uint64_t end = stale.empty() ? range.end : stale.front().begin;
    if (end > range.begin) return {{}, {range.begin, end}, slot, range.begin, {}, {}};
  }
  // The bytes go to the host, so every source costs a crossing, except what the host holds.
  const Topology seen_from_host = m.on_host() ? Topology{0, 1, 1} : Topology{1, 1, 0};
  directory::Step step = s_.directory.next_fetch(m.slot, range, seen_from_host);
  step.where = step.where.column(0);  // the buffer takes byte behind byte
  return step;
}

void ForeignIo::read_out(Memory& m, std::uint64_t position, const ByteRange* pieces, std::size_t count,
                         TransitBuffer& buffer, std::byte* to) {
  Transaction t(transactions_);
  const bool there = expected_.brought(m, position, pieces, count, buffer, to);
  buffer.expect_nothing();
  if (!m.on_host()) {
    const std::uint32_t launches = m.writing_launches.load(std::memory_order_relaxed);
    buffer.forecast.fetched(buffer.writing_launches_at_fetch ? launches - *buffer.writing_launches_at_fetch : 1);
    buffer.writing_launches_at_fetch = launches;
  }
  if (there) {
    m.flags.fetch_or(Memory::read_elsewhere);
    t.launch_follows();
    return;
  }
  const Kept kept(m);
  t.run([&] { return hazards_.user_of(buffer); });
  s_.expect_not_freed(kept);
  // The message uses these bytes, wherever it gets them from, so a pending copy of them is not counted as dropped later.
  for (std::size_t i = 0; i < count; ++i) (void)s_.pending.take(m.datum, at_array(pieces[i], position));
  if (!buffer.on_device() && !m.on_host()) return read_from_device(t, m, position, pieces, count, buffer, to);
  if (count == 0) return;
  const Pieces needs(m, position, pieces, count, Access::read, m.on_host() ? most_single_pieces(m) : count);
  if (needs.are_hull()) s_.recorder.count(trace::Event::hulls, m.label);
  t.run([&] {
    s_.expect_not_freed(kept);
    return preparation_.meet(needs.begin(), needs.size());
  });
  if (m.on_host()) {
    for (const Requirement& r : needs) host_access_.note_fetch(m, r.range.hull());
  }
  expected_.submit_pieces(m, position, pieces, count, buffer, to);
}

void ForeignIo::read_from_device(Transaction& t, Memory& m, std::uint64_t position, const ByteRange* pieces, std::size_t count,
                                 TransitBuffer& buffer, std::byte* to) {
  const Kept kept(m);
  // What has been read stays read, and each attempt goes on behind it.
  std::size_t piece = 0;
  std::uint64_t next = count > 0 ? at_array(pieces[0], position).begin : 0;
  t.run([&]() -> Obstacle {
    s_.expect_not_freed(kept);
    while (piece < count) {
      const std::uint64_t end = at_array(pieces[piece], position).end;
      if (next == end) {
        if (++piece < count) next = at_array(pieces[piece], position).begin;
        continue;
      }
      if (const Obstacle o = transfers_.lacking_events(1)) return o;
      const directory::Step source = nearest_source(m, {next, end});
      const std::uint64_t bytes = source.where.size();
      plan::Step step = copy_step(plan::Purpose::call, within(buffer, to + (next - position)), {}, bytes);
      step.to.label = m.label;  // counted for the array that the message names, wherever the bytes come from
      if (source.from.valid()) {
        Memory& from = s_.memory_of(source.from);
        const std::uint64_t at = source.from_position;
        if (const Obstacle o = hazards_.busy(from, ByteRange{at, at + bytes}, Mode::reads)) return o;
        step.from = end_at(from, at);
      } else {
        step.kind = plan::Step::Kind::fill;
        step.purpose = plan::Purpose::detour;
        step.fill = source.fill;
        if (step.fill.pattern_bytes == 0) step.fill.pattern_bytes = 1;  // never written: the message gets zeros
        step.phase = source.value.offset;
      }
      executor_.execute(step);
      next += bytes;
    }
    return {};
  });
}

bool ForeignIo::fits(Memory& m, std::uint64_t position, const ByteRange* pieces, std::size_t count) {
  const Look look(transactions_);
  return residency_.fits([&](const auto& visit) {
    for (std::size_t i = 0; i < count; ++i) visit(m, ByteRange{position + pieces[i].begin, position + pieces[i].end});
  });
}

void ForeignIo::write_in(Memory& m, std::uint64_t position, const ByteRange* pieces, std::size_t count,
                         TransitBuffer& buffer, const std::byte* from) {
  if (count == 0) return;
  if (m.blocks.count() > 1 && !m.on_host() && !fits(m, position, pieces, count)) {
    const std::uint64_t most = s_.device_of(m).memory->budget_bytes() / 4;
    {  // what stands in the way of a later piece is met before the first one (I9)
      Transaction t(transactions_);
      const Kept kept(m);
      t.run([&]() -> Obstacle {
        for (std::size_t i = 0; i < count && !kept.freed(); ++i) {  // of a freed array the first piece reports it
          const ByteRange piece{position + pieces[i].begin, position + pieces[i].end};
          if (const Obstacle o = hazards_.host_uses_of(m.datum, piece, Mode::writes)) return o;
        }
        return {};
      });
    }
    for (std::size_t i = 0; i < count; ++i) {
      for (std::uint64_t at = pieces[i].begin; at < pieces[i].end; at += most) {
        const ByteRange piece{at, std::min(at + most, pieces[i].end)};
        write_in(m, position, &piece, 1, buffer, from);
      }
    }
    return;
  }
  Transaction t(transactions_);
  t.launch_follows();
  const Pieces written(m, position, pieces, count, Access::overwrite, most_single_pieces(m));
  if (written.are_hull()) s_.recorder.count(trace::Event::hulls, m.label);
  bool shared = true;
  const Kept kept(m);
  t.run([&] {
    s_.expect_not_freed(kept);
    // Content of an exclusive array is wanted nowhere else, so nothing need be saved.
    shared = (m.flags.load() & Memory::is_exclusive) == 0 || !State::is_resident(m);
    return shared ? preparation_.meet(written.begin(), written.size()) : hazards_.quiesce(m);
  });
  if (shared && written.size() == 1) {  // so that noting the write cannot fail
    s_.directory.prepare_write(m.slot, written.begin()->range);
  } else if (shared) {
    base::Vector<Region> regions;
    for (const Requirement& r : written) regions.push_back(r.range);
    s_.directory.prepare_write(m.slot, regions);
  }
  plan::Step step = copy_step(plan::Purpose::call, end_at(m, position),
                              within(buffer, from), 0);
  step.pieces = pieces;
  step.piece_count = count;
  try {
    executor_.execute(step);
  } catch (...) {  // it is not known which pieces have arrived
    for (const Requirement& r : written) transfers_.note_refused(m, r.range);
    throw;
  }
  for (const Requirement& r : written) {
    if (shared) transfers_.note_written(m, r.range);  // I2
  }
  shapes_.keep_maps_short(t, m);
}

bool ForeignIo::write_in_together(Memory& m, ByteRange range, TransitBuffer* const* buffers, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    if (buffers[i]->block == nullptr || buffers[i]->block != buffers[0]->block) return false;
  }
  // The use is also noted of a transfer that is under way when something fails behind it (I6). No other thread uses the buffers.
  const base::AtEnd note([&] {
    for (std::size_t i = 1; i < count; ++i) buffers[i]->last_use = buffers[0]->last_use;
  });
  const ByteRange whole{0, range.size()};
  write_in(m, range.begin, &whole, 1, *buffers[0], buffers[0]->address);
  return true;
}

}  // namespace semcache::engine
