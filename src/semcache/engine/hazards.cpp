// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/engine/hazards.hpp>

#include <cstring>

namespace semcache::engine {

Obstacle Hazards::user_of(const TransitBuffer& buffer) const noexcept {
  return buffer.last_use.queue == unknown_queue ? Obstacle() : not_done(buffer.last_use);
}

Obstacle Hazards::not_done(const timeline::Work& work) const noexcept {
  return s_.queues->done(work.queue, work.position) ? Obstacle() : Obstacle::until(work);
}

bool Hazards::unknown_use_pending(const Memory& m, Mode mode) const {
  const timeline::Use& uses = m.on(unknown_queue);
  const std::uint64_t at = mode == Mode::writes ? uses.last() : uses.write.load();
  return !s_.unknown_use_over(m, at, here().unsubmitted);
}

Obstacle Hazards::quiesce(Memory& m) {
  projection_.revoke(m);
  if (s_.pinned(m)) return Obstacle::launches(m);
  if (unknown_use_pending(m, Mode::writes)) return Obstacle::whole_devices(m.unknown_on.load(), &m);
  return kernels_of_others(m);
}

/// A kernel of other code may wait for another thread. A transfer behind it would keep that thread's transfers waiting, because a device has
/// one queue for each direction. So such kernels are waited for before anything is submitted behind them.
Obstacle Hazards::kernels_of_others(const Memory& m) const noexcept {
  for (QueueIndex q = s_.queues->own_end(); q < s_.queues->count(); ++q) {
    const std::uint64_t last = s_.queues->last_of_others(q);
    if (last == 0) continue;
    // An earlier kernel of other code may lie before the last use.
    const std::uint64_t at = std::min(last, s_.last_use(m, q));
    if (at != 0 && !s_.queues->done(q, at)) return Obstacle::until({q, at});
  }
  return {};
}

Obstacle Hazards::busy(Memory& m, const Region& where, Mode mode) {
  return m.on_host() ? flights_of(m, where, mode) : quiesce(m);
}

Obstacle Hazards::host_uses_of(DatumId datum, const Region& where, Mode mode) const {
  for (const HostPartInUse& use : s_.host_uses) {
    if (use.memory->datum != datum || (mode == Mode::reads && !use.writes)) continue;
    if (overlap(use.memory->layout, where)) return Obstacle::launches(*use.memory);
  }
  return {};
}

Obstacle Hazards::host_uses_of(Memory& part, Mode mode) const {
  for (const HostPartInUse& use : s_.host_uses) {
    if (use.memory == &part && (use.writes || mode == Mode::writes)) return Obstacle::launches(part);
  }
  return {};
}

Obstacle Hazards::flights_of(Memory& host, const Region& where, Mode mode) {
  if (const Obstacle o = host_uses_of(host, mode)) return o;
  const bool side_by_side = !host.layout.is_range() || host.layout.begin != 0;  // its memory is not laid out as its positions
  for (auto next = s_.flights.begin(); next != s_.flights.end();) {
    const auto flight = next++;
    if (flight->host != &host || !(flight->to_host || mode == Mode::writes)) continue;
    if (!side_by_side && !may_overlap(flight->where, where)) continue;
    if (const Obstacle o = land(flight)) return o;
  }
  if (s_.virtual_time) {  // there are no flights: the transfers have ended, but by the virtual clock perhaps not
    const ByteRange bytes = side_by_side ? ByteRange{0, host.bytes} : where.hull();
    s_.home().device->host_needs(host.address + bytes.begin, bytes.size(), mode == Mode::writes ? Access::write : Access::read);
  }
  return {};
}

Obstacle Hazards::land(Flights::iterator flight) {
  if (flight->locks_pages) return Obstacle::moment();
  if (const Obstacle o = not_done(flight->work)) return o;
  executor_.end(flight);
  return {};
}

Obstacle Hazards::land_all() {
  while (!s_.flights.empty()) {
    if (const Obstacle o = land(s_.flights.begin())) return o;
  }
  return {};
}

template <class Counts>
Obstacle Hazards::uses_on(const Memory& m, const Counts& counts) const noexcept {
  for (QueueIndex q = 1; q < s_.queues->count(); ++q) {
    if (!counts(q)) continue;
    if (const Obstacle o = not_done({q, s_.last_use(m, q)})) return o;
  }
  return {};
}

Obstacle Hazards::uses_of(Memory& m) {
  if (m.on_host()) return flights_of(m, m.all(), Mode::writes);
  if (unknown_use_pending(m, Mode::writes)) return Obstacle::whole_devices(m.unknown_on.load());
  return uses_on(m, [](QueueIndex) { return true; });
}

Obstacle Hazards::conflicts_with(const Memory& m, const Region& where, Mode mode) const noexcept {
  if (unknown_use_pending(m, mode)) return Obstacle::whole_devices(m.unknown_on.load());
  for (QueueIndex q = 1; q < s_.queues->count(); ++q) {
    std::uint64_t last = s_.last_conflict(m, q, mode);
    for (const timeline::PartialUse& use : m.uses.parts()) {
      if (mode == Mode::reads && use.mode == Mode::reads) continue;
      if (use.queue == q && may_overlap(use.where, where)) last = std::max(last, use.position);
    }
    if (const Obstacle o = not_done({q, last})) return o;
  }
  return {};
}

Obstacle Hazards::writers_of(Memory& m, const Region& where) const noexcept {
  Obstacle o = conflicts_with(m, where, Mode::reads);
  if (o) o.memory = &m;
  return o;
}

Obstacle Hazards::transfers_of(const Memory& m) const noexcept {
  return uses_on(m, [&](QueueIndex q) { return s_.queues->own(q); });
}

Obstacle Hazards::transfers_and_tasks_of(const Memory& m) const noexcept {
  return uses_on(m, [&](QueueIndex q) { return s_.queues->engine_orders(q); });
}

Obstacle Hazards::directly_reached(Memory& host, const Region& where) {
  if (where.size() < where.hull().size() / 4) return {};
  // Columns use a chunk as a whole, even if less than the distance of two columns is left over at its ends.
  ByteRange used = where.hull();
  if (!where.is_range()) {
    const std::uint64_t gap = where.pitch - where.width;
    used = {used.begin - std::min(gap, used.begin - s_.pages->chunk_begin(used.begin)),
            std::min({used.end + gap, s_.pages->chunk_end(used.end - 1), host.bytes})};
  }
  const ByteRange chunk = s_.pages->worth_locking(host, used);
  if (chunk.empty() || !s_.surroundings.may_lock_pages()) return {};
  const Obstacle o = flights_of(host, chunk, Mode::writes);
  return o ? o : Obstacle::page_lock(host, chunk);
}

}  // namespace semcache::engine
