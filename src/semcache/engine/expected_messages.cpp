// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/engine/expected_messages.hpp>

#include <algorithm>
#include <functional>

namespace semcache::engine {
namespace {

/// Returns where an expected message begins in its array.
std::uint64_t begin_of(const TransitBuffer& b) noexcept { return b.expected_position + b.expected_pieces.front().begin; }
/// Returns where it ends there.
std::uint64_t end_of(const TransitBuffer& b) noexcept { return b.expected_position + b.expected_pieces.back().end; }

/// Does message `b` begin where message `a` ends, in the array and in their block?
bool is_continued(const TransitBuffer& a, const TransitBuffer& b) noexcept {
  return a.block != nullptr && a.block == b.block && a.expected_pieces.size() == 1 && b.expected_pieces.size() == 1 &&
         end_of(a) == begin_of(b) &&
         a.expected_at + a.expected_pieces[0].end == b.expected_at + b.expected_pieces[0].begin;
}

}  // namespace

std::uint64_t ExpectedMessages::written_by_device(const Memory& m) const noexcept {
  std::uint64_t sum = 0;
  for (QueueIndex q = 0; q < s_.queues->count(); ++q) sum += s_.last_write(m, q);
  return sum;
}

bool ExpectedMessages::brought(const Memory& m, std::uint64_t position, const ByteRange* pieces, std::size_t count,
                               const TransitBuffer& buffer, const std::byte* to) const {
  return buffer.brought == written_by_device(m) && buffer.expected == &m && buffer.expected_position == position &&
         buffer.expected_at == to &&
         std::equal(pieces, pieces + count, buffer.expected_pieces.begin(), buffer.expected_pieces.end()) &&
         fresh_here(m, position, pieces, count);
}

void ExpectedMessages::expect(Memory& m, std::uint64_t position, const ByteRange* pieces, std::size_t count, TransitBuffer& buffer,
                              std::byte* to) {
  buffer.expect_nothing();
  if (count == 0 || m.on_host() || !m.live || m.snapshot() || m.bytes > policy::FetchForecast::largest_bytes) return;
  buffer.expected_pieces.assign(pieces, pieces + count);
  m.expected_in.push_back(&buffer);
  buffer.expected = &m;
  buffer.expected_position = position;
  buffer.expected_at = to;
  // The message is complete, so the transfer that launches had to wait for is done.
  if ((m.flags.load() & Memory::revocable) == Memory::revocable) return;
  if (s_.projection_waits.load()) {
    projection_.project_later(m);  // something has arrived: the launch that uses it comes first, and its end projects
  } else {
    projection_.project_device(m, s_.directory.touched(m.slot));
  }
}

void ExpectedMessages::bring_expected(Memory& m) {
  if (m.expected_in.empty() || !m.live || m.snapshot()) return;
  const std::uint32_t launches = m.writing_launches.load();
  const auto follows = [&](const TransitBuffer* b) {  // each is brought at most once, because a request may rest for ever
    return !b->brought && b->forecast.fetch_follows() && launches - b->writing_launches_at_fetch.value_or(launches) == 1;
  };
  if (std::none_of(m.expected_in.begin(), m.expected_in.end(), follows)) return;
  if (m.write_check || hazards_.unknown_use_pending(m, Mode::writes)) return;
  projection_.revoke(m);  // its flags can wait for the next projection: the kernels that follow now do not need it
  if (s_.pinned(m)) return;
  due_.clear();
  for (TransitBuffer* b : m.expected_in) {
    if (!follows(b)) continue;
    if (fresh_here(m, b->expected_position, b->expected_pieces.data(), b->expected_pieces.size())) due_.push_back(b);
  }
  // Sorted by block first, so that no message with memory of its own comes between two that lie side by side.
  std::sort(due_.begin(), due_.end(), [](const TransitBuffer* a, const TransitBuffer* b) {
    return a->block != b->block ? std::less<>()(a->block, b->block) : begin_of(*a) < begin_of(*b);
  });
  for (std::size_t first = 0; first < due_.size();) {
    TransitBuffer& b = *due_[first];
    std::size_t next = first + 1;
    while (next < due_.size() && is_continued(*due_[next - 1], *due_[next])) ++next;
    if (transfers_.lacking_events(1)) return;  // the others are brought when they are asked for
    const bool alone = next == first + 1;
    const std::uint64_t begin = b.expected_pieces[0].begin;
    const ByteRange all{begin, begin + (end_of(*due_[next - 1]) - begin_of(b))};  // messages side by side cross in one transfer
    submit_pieces(m, b.expected_position, alone ? b.expected_pieces.data() : &all, alone ? b.expected_pieces.size() : 1, b,
                  b.expected_at);
    for (; first < next; ++first) {
      TransitBuffer& brought = *due_[first];
      brought.last_use = b.last_use;
      brought.brought = written_by_device(m);
      for (const ByteRange piece : brought.expected_pieces) s_.recorder.moved(trace::Kind::read_ahead, m.label, piece.size());
    }
  }
}

bool ExpectedMessages::fresh_here(const Memory& m, std::uint64_t position, const ByteRange* pieces, std::size_t count) const {
  for (std::size_t i = 0; i < count; ++i) {
    const ByteRange range = at_array(pieces[i], position);
    if (!State::is_resident(m, range) || !s_.directory.fresh(m.slot, range)) return false;
  }
  return true;
}

void ExpectedMessages::submit_pieces(Memory& m, std::uint64_t position, const ByteRange* pieces, std::size_t count,
                                     TransitBuffer& buffer, std::byte* to) {
  plan::Step step = copy_step(plan::Purpose::call, within(buffer, to),
                              end_at(m, position), 0);
  step.pieces = pieces;
  step.piece_count = count;
  executor_.execute(step);
}

}  // namespace semcache::engine
