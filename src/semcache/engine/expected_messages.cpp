// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/engine/engine.hpp>

#include <algorithm>

/// Messages of persistent requests: between two of them their memory is nobody's, so the next content can be brought as
/// soon as a kernel has written it, while later kernels run.
namespace semcache::engine {
namespace {

/// Changes with everything that is written into device memory.
std::uint64_t written_by_device(const Memory& m) noexcept {
  std::uint64_t sum = 0;
  for (const Memory::Uses& u : m.uses) sum += u.write.load();
  return sum;
}

}  // namespace

void Engine::expect_read_out(Memory& m, std::uint64_t position, const ByteRange* pieces, std::size_t count,
                             TransitBuffer& buffer, std::byte* to) {
  Lock lock(mutex_);
  expect_nothing(buffer);
  if (m.on_host() || !m.live || m.snapshot() || m.bytes > policy::FetchForecast::largest_bytes) return;
  buffer.expected_pieces.assign(pieces, pieces + count);
  m.expected_in.push_back(&buffer);
  buffer.expected = &m;
  buffer.expected_position = position;
  buffer.expected_at = to;
  // The message is complete, so what launches had to wait for has happened.
  if ((m.flags.load() & Memory::revocable) == Memory::revocable) return;
  if (projection_waits_.load(std::memory_order_relaxed)) {
    revoked_.push_back(&m);  // something has arrived: its launch comes first, and projects
  } else {
    project_device(m);
  }
}

void Engine::expect_nothing(TransitBuffer& buffer) noexcept {
  buffer.brought.reset();
  if (buffer.expected == nullptr) return;
  std::vector<TransitBuffer*>& list = buffer.expected->expected_in;
  list.erase(std::find(list.begin(), list.end(), &buffer));
  buffer.expected = nullptr;
}

bool Engine::brought(const Memory& m, std::uint64_t position, const ByteRange* pieces, std::size_t count,
                     const TransitBuffer& buffer, const std::byte* to) const {
  return buffer.brought == written_by_device(m) && buffer.expected == &m && buffer.expected_position == position &&
         buffer.expected_at == to &&
         std::equal(pieces, pieces + count, buffer.expected_pieces.begin(), buffer.expected_pieces.end()) &&
         fresh_here(m, position, pieces, count);
}

/// After a launch that wrote `m`, if messages always followed it so far.
void Engine::bring_expected(Memory& m) {
  if (m.expected_in.empty() || !m.live || m.snapshot() || m.unfetched_writes.load() != 1) return;
  if (!m.forecast.fetch_follows() || m.write_check || unknown_use_pending(device_of(m), m, true)) return;
  revoke(m);  // the next projection does: kernels follow now that need none
  if (m.pins.load() != 0) return;
  for (TransitBuffer* b : m.expected_in) {  // at most once each: a request may rest for ever
    const ByteRange* const pieces = b->expected_pieces.data();
    const std::size_t count = b->expected_pieces.size();
    if (b->brought || !fresh_here(m, b->expected_position, pieces, count)) continue;
    submit_pieces(m, b->expected_position, pieces, count, *b, b->expected_at);
    b->brought = written_by_device(m);
    for (const ByteRange piece : b->expected_pieces) recorder_.moved(trace::Kind::read_ahead, m.label, piece.size());
  }
}

}  // namespace semcache::engine
