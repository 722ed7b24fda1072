// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/engine/buffers.hpp>
#include <semcache/engine/transaction.hpp>

#include <algorithm>

namespace semcache::engine {
namespace {

constexpr std::uint64_t idle_limit_bytes = 256 * 1024 * 1024;

}  // namespace

TransitBuffer* Buffers::take(std::uint64_t bytes, Side where, const Memory* beside) {
  Transaction t(transactions_);
  const bool on_device = where == Side::device;
  const SpaceId space = !on_device ? host_space : beside != nullptr && !beside->on_host() ? beside->space : device_space(s_.home().index);
  auto best = idle_.end();
  for (auto it = idle_.begin(); it != idle_.end(); ++it) {
    const TransitBuffer& b = **it;
    if (b.space != space || b.bytes < bytes || b.bytes / 4 > bytes + s_.page_bytes) continue;
    if (best != idle_.end() && (*best)->bytes <= b.bytes) continue;
    if (s_.queues->reached(b.last_use.queue, b.last_use.position)) best = it;
  }
  if (best != idle_.end()) {
    ++taken_;
    return no_longer_idle(best).release();
  }
  auto buffer = std::make_unique<TransitBuffer>(on_device ? *s_.device_of(space).device : *s_.home().device, space);
  base::make_room(idle_, taken_ + 1);  // so that giving a buffer back never fails
  buffer->bytes = round_up(std::max<std::uint64_t>(bytes, 1), s_.page_bytes);
  ++taken_;
  const base::AtEnd refused([&] { taken_ -= buffer != nullptr ? 1 : 0; });
  t.run([&] { return buffer->address == nullptr ? Obstacle::message(*buffer) : Obstacle(); });
  return buffer.release();
}

TransitBuffer* Buffers::take_beside(Memory& m, ByteRange range) {
  std::shared_ptr<TransitBlock> block, another;  // the driver takes memory back behind the transaction, without the lock
  Transaction t(transactions_);
  if (m.on_host() || !m.live || m.snapshot() || m.bytes > policy::FetchForecast::largest_bytes) return nullptr;
  block = m.transit_block.lock();
  if (block == nullptr) {
    const Kept kept(m);
    const std::uint64_t bytes = round_up(m.bytes, s_.page_bytes);
    try {
      t.unlocked([&] { block = std::make_shared<TransitBlock>(*s_.home().device, bytes); });
    } catch (const OutOfMemory&) {
      return nullptr;  // the caller takes a buffer of its own instead, which makes room
    }
    if (kept.freed()) return nullptr;
    another = m.transit_block.lock();
    if (another != nullptr) block.swap(another);
    m.transit_block = block;
  }
  for (const ByteRange other : block->taken) {
    if (range.overlaps(other)) return nullptr;
  }
  auto buffer = std::make_unique<TransitBuffer>(*s_.home().device, host_space);
  block->taken.push_back(range);
  buffer->address = block->address + range.begin;
  buffer->bytes = range.size();
  buffer->place = range;
  buffer->block = std::move(block);
  return buffer.release();
}

void Buffers::give(TransitBuffer* taken) noexcept {
  std::unique_ptr<TransitBuffer> buffer(taken);
  Transaction t(transactions_);
  t.launch_follows();
  buffer->expect_nothing();
  if (buffer->block != nullptr) return free_buffer(t, std::move(buffer));
  --taken_;
  if (buffer->bytes > idle_limit_bytes) return free_buffer(t, std::move(buffer));  // all others would leave for it
  idle_bytes_ += buffer->bytes;
  idle_.push_back(std::move(buffer));
  while (idle_bytes_ > idle_limit_bytes) {
    free_buffer(t, no_longer_idle(idle_.begin()));  // the one that has been idle longest
  }
}

std::unique_ptr<TransitBuffer> Buffers::no_longer_idle(List::iterator which) noexcept {
  std::unique_ptr<TransitBuffer> buffer = std::move(*which);
  idle_.erase(which);
  idle_bytes_ -= buffer->bytes;
  buffer->forecast = policy::FetchForecast(1);
  buffer->writing_launches_at_fetch.reset();
  return buffer;
}

std::uint64_t Buffers::idle_bytes(SpaceId space) const noexcept {
  std::uint64_t bytes = 0;
  for (const auto& buffer : idle_) bytes += buffer->space == space ? buffer->bytes : 0;
  return bytes;
}

bool Buffers::release_idle(Transaction& t, SpaceId space) noexcept {
  bool any = false;
  for (;;) {
    const auto idle = std::find_if(idle_.begin(), idle_.end(), [&](const auto& buffer) { return buffer->space == space; });
    if (idle == idle_.end()) return any;
    free_buffer(t, no_longer_idle(idle));
    any = true;
  }
}

void Buffers::free_buffer(Transaction& t, std::unique_ptr<TransitBuffer> buffer) noexcept {
  try {
    t.run([&] { return hazards_.user_of(*buffer); });
    if (buffer->block != nullptr) {
      base::Vector<ByteRange>& taken = buffer->block->taken;
      taken.erase(std::find(taken.begin(), taken.end(), buffer->place));
    }
  } catch (const std::exception& e) {
    base::raw_log("the memory of an MPI message is kept, because waiting for its use failed: %s", e.what());
    (void)buffer.release();  // the device may still read it
  }
  t.unlocked([&] { buffer.reset(); });
}

}  // namespace semcache::engine
