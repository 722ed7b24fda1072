// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/engine/transaction.hpp>

#include <algorithm>
#include <cstdlib>
#include <cstring>

/// Bytes for code that nobody notices: MPI, system calls. It gets private memory, never an array's: so a message that
/// is under way has the bytes of the call whatever overwrites the array (I4), and nothing that arrives is seen, or
/// locks anybody out, before the program has asked for it.
namespace semcache::engine {
namespace {

constexpr std::uint64_t pooled_limit_bytes = 64 * 1024 * 1024;  // larger ones are ordinary memory, given back at once
constexpr std::uint64_t idle_limit_bytes = 256 * 1024 * 1024;
/// More pieces than this are one range to the directory, in which what lies between them keeps its content: maps stay
/// short (Engine::keep_maps_short).
std::size_t most_single_pieces(const Memory& m) noexcept {
  return static_cast<std::size_t>(std::max<std::uint64_t>(64, m.bytes / 12800));
}

/// Everything costs a crossing but what the host holds.
unsigned cost_for_host(SpaceId from, SpaceId) noexcept { return from == host_space ? 0 : 1; }

ByteRange at_array(ByteRange piece, std::uint64_t position) { return {piece.begin + position, piece.end + position}; }

/// What a message needs of an array: its pieces there, or their hull where there are more than `most`.
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
        first_.range = {std::min(first_.range.begin, at.begin), std::max(first_.range.end, at.end)};
      }
    }
    if (count > most && writes(mode)) first_.mode = Access::read_write;  // what lies between them stays
  }
  [[nodiscard]] const Requirement* begin() const noexcept { return more_.empty() ? &first_ : more_.data(); }
  [[nodiscard]] const Requirement* end() const noexcept { return begin() + size(); }
  [[nodiscard]] std::size_t size() const noexcept { return more_.empty() ? 1 : more_.size(); }

 private:
  Requirement first_;
  std::vector<Requirement> more_;
};

}  // namespace

TransitBuffer* Engine::take_buffer(std::uint64_t bytes, bool on_device) {
  Transaction t(*this);
  DeviceState& d = home();
  auto best = idle_buffers_.end();
  for (auto it = idle_buffers_.begin(); it != idle_buffers_.end(); ++it) {
    const TransitBuffer& b = **it;
    if (b.on_device != on_device || b.bytes < bytes || b.bytes / 4 > bytes + page_bytes_) continue;
    if (best != idle_buffers_.end() && (*best)->bytes <= b.bytes) continue;
    if (d.queues->reached(b.last_use.queue, b.last_use.position)) best = it;
  }
  if (best != idle_buffers_.end()) {
    ++buffers_taken_;
    return no_longer_idle(best).release();
  }
  auto buffer = std::make_unique<TransitBuffer>(*d.device);
  base::make_room(idle_buffers_, buffers_taken_ + 1);  // giving back never fails
  buffer->bytes = round_up(std::max<std::uint64_t>(bytes, 1), page_bytes_);
  buffer->on_device = on_device;
  buffer->pooled = on_device || bytes <= pooled_limit_bytes;
  for (;;) {
    try {
      buffer->allocate();
      ++buffers_taken_;
      return buffer.release();
    } catch (const OutOfMemory&) {
      if (!release_idle_buffers(t, on_device)) throw;
    }
  }
}

TransitBuffer* Engine::take_buffer_beside(Memory& m, ByteRange range) {
  const Transaction t(*this);
  if (m.on_host() || !m.live || m.snapshot() || m.bytes > policy::FetchForecast::largest_bytes) return nullptr;
  std::shared_ptr<TransitBlock> block = m.transit_block.lock();
  if (block == nullptr) {
    try {
      block = std::make_shared<TransitBlock>(*home().device, round_up(m.bytes, page_bytes_));
    } catch (const OutOfMemory&) {
      return nullptr;  // whoever asks for memory of its own makes room
    }
    m.transit_block = block;
  }
  for (const ByteRange other : block->taken) {
    if (range.overlaps(other)) return nullptr;
  }
  auto buffer = std::make_unique<TransitBuffer>(*home().device);
  block->taken.push_back(range);
  buffer->address = block->address + range.begin;
  buffer->bytes = range.size();
  buffer->place = range;
  buffer->block = std::move(block);
  return buffer.release();
}

void Engine::give_buffer(TransitBuffer* taken) noexcept {
  std::unique_ptr<TransitBuffer> buffer(taken);
  Transaction t(*this);
  t.launch_follows();
  expect_nothing(*buffer);
  if (buffer->block != nullptr) return free_buffer(t, std::move(buffer));
  --buffers_taken_;
  if (!buffer->pooled) return free_buffer(t, std::move(buffer));
  (buffer->on_device ? idle_device_bytes_ : idle_host_bytes_) += buffer->bytes;
  idle_buffers_.push_back(std::move(buffer));
  while (idle_device_bytes_ + idle_host_bytes_ > idle_limit_bytes) {
    free_buffer(t, no_longer_idle(idle_buffers_.begin()));  // the one that has been idle longest
  }
}

std::unique_ptr<TransitBuffer> Engine::no_longer_idle(Buffers::iterator which) noexcept {
  std::unique_ptr<TransitBuffer> buffer = std::move(*which);
  idle_buffers_.erase(which);
  (buffer->on_device ? idle_device_bytes_ : idle_host_bytes_) -= buffer->bytes;
  buffer->forecast = policy::FetchForecast(1);
  buffer->writing_launches_at_fetch.reset();
  return buffer;
}

bool Engine::release_idle_buffers(Transaction& t, bool on_device) noexcept {
  bool any = false;
  for (;;) {
    const auto idle = std::find_if(idle_buffers_.begin(), idle_buffers_.end(),
                                   [&](const auto& buffer) { return buffer->on_device == on_device; });
    if (idle == idle_buffers_.end()) return any;
    free_buffer(t, no_longer_idle(idle));
    any = true;
  }
}

void Engine::free_buffer(Transaction& t, std::unique_ptr<TransitBuffer> buffer) noexcept {
  try {
    t.run([&] { return user_of(*buffer); });
    if (buffer->block != nullptr) {
      std::vector<ByteRange>& taken = buffer->block->taken;
      taken.erase(std::find(taken.begin(), taken.end(), buffer->place));
    }
  } catch (const std::exception& e) {
    base::raw_log("the memory of a message is not given back: %s", e.what());
    (void)buffer.release();  // the device may still read it
  }
  t.unlocked([&] { buffer.reset(); });
}

void Engine::settle_buffer(TransitBuffer& buffer) {
  // Nobody else changes these: what is expected of a buffer ends with the `read_out` before this.
  if (!user_of(buffer)) return;
  Transaction t(*this);
  t.launch_follows();
  t.run([&] { return user_of(buffer); });
}

Obstacle Engine::user_of(const TransitBuffer& buffer) const noexcept {
  return buffer.last_use.queue == unknown_queue ? Obstacle() : not_done(buffer.last_use);
}

bool Engine::valid_here(const Memory& m, std::uint64_t position, const ByteRange* pieces, std::size_t count) const {
  const Look look(*this);
  return fresh_here(m, position, pieces, count);
}

bool Engine::fresh_here(const Memory& m, std::uint64_t position, const ByteRange* pieces, std::size_t count) const {
  for (std::size_t i = 0; i < count; ++i) {
    if (!directory_.fresh(m.slot, at_array(pieces[i], position))) return false;
  }
  return m.on_host() || (m.flags.load() & Memory::resident) != 0;
}

/// Where the first bytes of `range`, as many as possible, can be had for the host.
Engine::Source Engine::nearest_source(const Memory& m, ByteRange range) const {
  const bool written = directory_.wanted_at(m.datum, range.begin).id != directory::undefined_value;
  bool ended = false;
  directory_.for_each_wanted(m.datum, range, [&](ByteRange piece, directory::ValueRef ref) {
    if (ended || (ref.id != directory::undefined_value) == written) return;
    range.end = piece.begin;
    ended = true;
  });
  if (!written) return {{}, 0, range.size(), {}, 0};
  for (const SlotId slot : {directory_.slot_in(m.datum, host_space), m.slot}) {
    if (!slot.valid()) continue;
    std::vector<ByteRange> stale;
    directory_.stale(slot, range, stale);
    const std::uint64_t end = stale.empty() ? range.end : stale.front().begin;
    if (end > range.begin) return {slot, range.begin, end - range.begin, {}, 0};
  }
  const directory::Step step = directory_.next_fetch(m.slot, range, &cost_for_host);
  return {step.from, step.from_position, step.bytes, step.fill, step.value.offset};
}

void Engine::read_out(Memory& m, std::uint64_t position, const ByteRange* pieces, std::size_t count,
                      TransitBuffer& buffer, std::byte* to) {
  Transaction t(*this);
  const bool there = brought(m, position, pieces, count, buffer, to);
  expect_nothing(buffer);
  if (!m.on_host()) {
    const std::uint32_t launches = m.writing_launches.load(std::memory_order_relaxed);
    buffer.forecast.fetched(buffer.writing_launches_at_fetch ? launches - *buffer.writing_launches_at_fetch : 1);
    buffer.writing_launches_at_fetch = launches;
  }
  if (there) {
    m.flags.fetch_or(Memory::read_on_host);
    t.launch_follows();
    return;
  }
  const Kept kept(m);
  t.run([&] { return user_of(buffer); });
  expect_not_freed(kept);
  // Needed, wherever the message gets it from.
  for (std::size_t i = 0; i < count; ++i) (void)pending_.take(m.datum, at_array(pieces[i], position));
  if (!buffer.on_device && !m.on_host()) return read_from_device(t, m, position, pieces, count, buffer, to);
  if (count == 0) return;
  const Pieces needs(m, position, pieces, count, Access::read, m.on_host() ? most_single_pieces(m) : count);
  t.run([&] {
    expect_not_freed(kept);
    return meet(needs.begin(), needs.size());
  });
  if (m.on_host()) {
    for (const Requirement& r : needs) note_fetch(m, r.range);
  }
  submit_pieces(m, position, pieces, count, buffer, to);
}

plan::End Engine::within(TransitBuffer& buffer, const std::byte* address) noexcept {
  plan::End end = elsewhere(buffer.on_device ? device_space(0) : host_space, address, &buffer.last_use);
  end.in_buffer = true;
  return end;
}

void Engine::submit_pieces(Memory& m, std::uint64_t position, const ByteRange* pieces, std::size_t count,
                           TransitBuffer& buffer, std::byte* to) {
  plan::Step step = copy_step(plan::Purpose::call, within(buffer, to),
                              at(m, position), 0);
  step.pieces = pieces;
  step.piece_count = count;
  execute(step);
}

void Engine::read_from_device(Transaction& t, Memory& m, std::uint64_t position, const ByteRange* pieces, std::size_t count,
                              TransitBuffer& buffer, std::byte* to) {
  const Kept kept(m);
  // What has been read stays read: each attempt goes on behind it.
  std::size_t piece = 0;
  std::uint64_t next = count > 0 ? at_array(pieces[0], position).begin : 0;
  t.run([&]() -> Obstacle {
    expect_not_freed(kept);
    while (piece < count) {
      const std::uint64_t end = at_array(pieces[piece], position).end;
      if (next == end) {
        if (++piece < count) next = at_array(pieces[piece], position).begin;
        continue;
      }
      const Source source = nearest_source(m, {next, end});
      plan::Step step = copy_step(plan::Purpose::call, within(buffer, to + (next - position)), {}, source.bytes);
      step.to.label = m.label;  // wherever the message gets it from
      if (source.slot.valid()) {
        Memory& from = memory_of(source.slot);
        if (const Obstacle o = busy(from, {source.position, source.position + source.bytes}, Mode::reads)) return o;
        step.from = at(from, source.position);
      } else {
        step.kind = plan::Step::Kind::fill;
        step.purpose = plan::Purpose::detour;
        step.fill = source.fill;
        if (step.fill.pattern_bytes == 0) step.fill.pattern_bytes = 1;  // nobody has written it: zeros
        step.phase = source.phase;
      }
      execute(step);
      next += source.bytes;
    }
    return {};
  });
}

void Engine::write_in(Memory& m, std::uint64_t position, const ByteRange* pieces, std::size_t count,
                      TransitBuffer& buffer, const std::byte* from) {
  if (count == 0) return;
  Transaction t(*this);
  t.launch_follows();
  const Pieces written(m, position, pieces, count, Access::overwrite, most_single_pieces(m));
  bool shared = true;
  const Kept kept(m);
  t.run([&] {
    expect_not_freed(kept);
    // Nobody wants anything of what only this array holds.
    shared = (m.flags.load() & Memory::is_exclusive) == 0 || !is_resident(&m);
    return shared ? meet(written.begin(), written.size()) : quiesce(m);
  });
  if (shared) directory_.prepare_write(m.slot, written.begin()->range, written.size());  // nobody forgets what is written
  plan::Step step = copy_step(plan::Purpose::call, at(m, position),
                              within(buffer, from), 0);
  step.pieces = pieces;
  step.piece_count = count;
  try {
    execute(step);
  } catch (...) {  // nobody knows which pieces have arrived
    for (const Requirement& r : written) note_refused(m, r.range);
    throw;
  }
  for (const Requirement& r : written) {
    if (shared) note_written(m, r.range);  // I2
  }
  keep_maps_short(t, m);
}

bool Engine::write_in_together(Memory& m, ByteRange range, TransitBuffer* const* buffers, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    if (buffers[i]->block == nullptr || buffers[i]->block != buffers[0]->block) return false;
  }
  struct Note {  // also of a transfer that is under way when something fails behind it (I6); nobody else uses the buffers
    TransitBuffer* const* buffers;
    std::size_t count;
    ~Note() {
      for (std::size_t i = 1; i < count; ++i) {
        buffers[i]->last_use = buffers[0]->last_use;
      }
    }
  } const note{buffers, count};
  const ByteRange whole{0, range.size()};
  write_in(m, range.begin, &whole, 1, *buffers[0], buffers[0]->address);
  return true;
}

}  // namespace semcache::engine
