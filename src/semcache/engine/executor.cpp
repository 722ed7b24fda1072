// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/engine/executor.hpp>

#include <semcache/device/activities.hpp>

#include <algorithm>
#include <array>
#include <cstring>

namespace semcache::engine {

using directory::Fill;
using plan::Step;

/// Fills host memory that belongs to no array with the pattern.
static void repeat(std::byte* to, std::uint64_t n, const Fill& fill, std::uint64_t phase) noexcept {
  for (std::uint64_t i = 0; i < n; ++i) to[i] = static_cast<std::byte>(fill.pattern[(phase + i) % fill.pattern_bytes]);
}

void Executor::note_span(const Step& step, std::uint64_t begin_ns, std::uint32_t cause) noexcept {
  using trace::Span;
  if (step.purpose == plan::Purpose::detour) return;  // the copy that it is part of has a span
  Span span;
  switch (step.kind) {
    case Step::Kind::copy: span.kind = Span::Kind::copy; break;
    case Step::Kind::fill: span.kind = Span::Kind::fill; break;
    case Step::Kind::map: span.kind = Span::Kind::map; break;
    case Step::Kind::evict: span.kind = Span::Kind::evict; break;
    case Step::Kind::allocate:
    case Step::Kind::protect:
    case Step::Kind::release: return;
  }
  span.begin_ns = begin_ns;
  span.cause = cause;
  span.end_ns = s_.recorder.span_log()->now_ns();
  span.bytes = step.kind == Step::Kind::copy || step.kind == Step::Kind::fill ? step.total_bytes() : step.bytes;
  if (step.kind == Step::Kind::copy) span.reason = plan::to_string(step.purpose);
  span.label = span.kind == Span::Kind::copy || span.kind == Span::Kind::fill ? plan::counted(step).label : step.to.label;
  span.from = static_cast<std::uint8_t>(step.from.space.value);
  span.to = static_cast<std::uint8_t>(step.to.space.value);
  s_.recorder.note(span);
}

void Executor::execute(Step step) {
  step.over_host = step.kind == Step::Kind::copy && !s_.topology.linked(step.from.space, step.to.space);
  const Began began = begin();
  try {
    s_.recorder.span_log() == nullptr ? carry_out(step) : carry_out_caused(step, began.cause);
  } catch (...) {
    refused(step);
    throw;
  }
  finish(step, began);
}

Executor::Began Executor::begin() const noexcept {
  trace::SpanLog* const log = s_.recorder.span_log();
  return log == nullptr ? Began{0, 0} : Began{log->now_ns(), log->next_cause()};
}

void Executor::finish(const Step& step, Began began) {
  if (const plan::Counted counted = plan::counted(step); counted.count > 0) {
    const std::uint64_t bytes = step.total_bytes();
    for (std::size_t i = 0; i < counted.count; ++i) {
      s_.recorder.moved(counted.kinds[i], counted.label, bytes);
    }
    if (step.kind == Step::Kind::copy && step.from.space != step.to.space) {
      const std::uint32_t from = step.from.space.value, to = step.to.space.value;
      if (step.over_host) {
        s_.recorder.crossed(from, host_space.value, bytes);
        s_.recorder.crossed(host_space.value, to, bytes);
      } else {
        s_.recorder.crossed(from, to, bytes);
      }
    }
  }
  if (s_.recorder.span_log() != nullptr) note_span(step, began.at_ns, began.cause);
  tell(step);
}

void Executor::carry_out_caused(const Step& step, std::uint32_t cause) {
  const device::ActivityCause of_this_step(cause);
  carry_out(step);
}

void Executor::carry_out(const Step& step) {
  Memory* const to = step.to.slot.valid() ? &s_.memory_of(step.to.slot) : nullptr;
  switch (step.kind) {
    case Step::Kind::copy:
      if (to != nullptr) to->write_check.reset();
      return copy_bytes(step);
    case Step::Kind::fill:
      if (to == nullptr) return repeat(step.to.address, step.bytes, step.fill, step.phase);
      to->write_check.reset();
      for (std::uint64_t c = 0; c < step.columns; ++c) {
        fill_in_place(*to, step.to.position + c * step.to.pitch, step.bytes, step.fill, step.phase + c * step.phase_pitch);
      }
      return;
    case Step::Kind::map:
      s_.device_of(*to).memory->note_mapped({to, to->blocks.at(step.to.position)});
      return projection_.set_reachable(*to, projection_.is_reachable(*to));
    case Step::Kind::evict:
      close_for_unmapping(*to);
      s_.device_of(*to).memory->unmap(ArrayBlock{to, to->blocks.at(step.to.position)});
      projection_.note_perhaps_unready(*to);
      return s_.recorder.count(trace::Event::evictions, to->label);
    case Step::Kind::allocate:
    case Step::Kind::protect:
    case Step::Kind::release:
      return;  // these are carried out elsewhere and reported by `tell`
  }
}

void Executor::copy_bytes(const Step& step) {
  Memory* const to = step.to.slot.valid() ? &s_.memory_of(step.to.slot) : nullptr;
  Memory* const from = step.from.slot.valid() ? &s_.memory_of(step.from.slot) : nullptr;
  const bool to_host = step.to.space == host_space;
  const bool from_host = step.from.space == host_space;
  // The source must not change before its bytes are taken. If the destination belongs to no array, the caller waits for the copy
  // instead.
  if (to != nullptr && from != nullptr) freeze(*from, step.region(step.from));
  if (to_host && from_host) {
    copy_on_host(step, to, from);
  } else if (to != nullptr && from != nullptr && to_host != from_host) {
    copy_across(step, to_host ? *to : *from, to_host ? *from : *to);
  } else if (step.over_host && !s_.home().device->kernels_run_in_caller()) {
    copy_over_host(step, to, from);
  } else {
    copy_by_queue(step, to, from);
  }
  const bool leaves = to == nullptr || (step.to.space != step.from.space && !to->snapshot());
  if (from != nullptr && !from_host && leaves) from->flags.fetch_or(Memory::read_elsewhere);
}

void Executor::copy_on_host(const Step& step, Memory* to, Memory* from) {
  const auto copy = [&](ByteRange piece, std::uint64_t to_column, std::uint64_t from_column) {
    std::byte* const target = step.to.address + to_column + piece.begin;
    const std::byte* const source = step.from.address + from_column + piece.begin;
    if ((step.to.in_buffer && permits(source, piece.size(), platform::Protection::read)) ||
        (step.from.in_buffer && permits(target, piece.size(), platform::Protection::read_write))) {
      std::memcpy(target, source, piece.size());
    } else if (step.from.in_buffer) {
      write_arrival(*to, {step.to.position + to_column + piece.begin, step.to.position + to_column + piece.end}, source);
    } else if (from != nullptr && to != nullptr) {
      copy_behind(target, source, piece.size());
    } else if (from != nullptr) {
      s_.platform->read_behind(target, source, piece.size());
    } else {
      s_.platform->write_behind(target, source, piece.size());
    }
  };
  step.for_each_piece([&](ByteRange piece) {
    step.for_each_column([&](std::uint64_t to_column, std::uint64_t from_column) { copy(piece, to_column, from_column); });
  });
}

/// Is device memory mapped at either end from the first byte of the columns to the last one? Otherwise drivers refuse a copy of columns.
bool Executor::are_mapped_together(const Step& step) const {
  const auto mapped = [&](const plan::End& end) {
    return !end.slot.valid() || State::is_resident(s_.memory_of(end.slot), step.region(end).hull());
  };
  return mapped(step.to) && mapped(step.from);
}

/// Makes later work on `queue` start behind the last use of memory that belongs to no array. Of such memory one use is noted, and other
/// parts of it may have been used on the queues of other devices.
void Executor::order_last_use(QueueIndex queue, const plan::End& end) {
  if (end.last_use != nullptr) s_.queues->order(queue, end.last_use->queue, end.last_use->position);
}

/// Copies directly from one side to the other, on a queue of the device. @pre neither side is an array's host memory
void Executor::copy_by_queue(const Step& step, Memory* to, Memory* from) {
  const bool to_host = step.to.space == host_space;
  const bool from_host = step.from.space == host_space;
  DeviceState& d = *s_.devices[(to_host ? step.from.space : step.to.space).value - 1];
  const QueueIndex queue = from_host ? d.to_device_queue : to_host ? d.to_host_queue : d.within_queue;
  using Direction = device::Device::Direction;
  const Direction direction = from_host ? Direction::to_device : to_host ? Direction::from_device : Direction::within_device;
  const Region read = from != nullptr ? step.used(step.from) : Region();
  const Region written = to != nullptr ? step.used(step.to) : Region();
  if (from != nullptr) order_queue(queue, *from, read, Mode::reads, Behind::all);
  if (to != nullptr) order_queue(queue, *to, written, Mode::writes, Behind::all);
  order_last_use(queue, step.from);
  order_last_use(queue, step.to);
  if (to == nullptr || from == nullptr) s_.queues->separate(queue);  // users of the other side wait for this copy alone
  bool submitted = false;
  const base::AtEnd note([&] {  // also when a later piece is refused, because the earlier ones are under way (I6)
    if (!submitted) return;
    timeline::Work work;
    if (from != nullptr) work = note_use(queue, *from, read, Mode::reads);
    if (to != nullptr) work = note_use(queue, *to, written, Mode::writes);
    if (from == nullptr && to == nullptr) work = {queue, s_.queues->begin_position(queue)};
    for (timeline::Work* const user : {step.to.last_use, step.from.last_use}) {
      if (user != nullptr) *user = work;
    }
  });
  if (step.columns > 1 && !s_.options.device_faults && are_mapped_together(step)) {
    d.device->copy_columns(s_.queues->id(queue), direction, step.to.address, step.to.pitch, step.from.address, step.from.pitch, step.bytes,
                           step.columns);
    submitted = true;
    return;
  }
  step.for_each_piece([&](ByteRange piece) {
    step.for_each_column([&](std::uint64_t to_column, std::uint64_t from_column) {
      copy_by_device(d, queue, direction, step.to.address + to_column + piece.begin, step.from.address + from_column + piece.begin,
                     piece.size());
      submitted = true;
    });
    if (s_.options.device_faults) note_copy_in_place(queue, step, piece);
  });
}

void Executor::copy_and_wait(const Step& step, Mapped columns) const {
  const bool to_host = step.to.space == host_space;
  const DeviceState& d = s_.device_of(to_host ? step.from.space : step.to.space);
  device::Device& by = *d.device;
  const Direction direction = to_host ? Direction::from_device : Direction::to_device;
  const plan::End& to = step.to;
  const plan::End& from = step.from;
  try {
    if (step.columns > 1 && columns == Mapped::together) {
      by.copy_columns(d.pageable_copies, direction, to.address, to.pitch, from.address, from.pitch, step.bytes, step.columns);
    } else {
      by.device::Device::copy_columns(d.pageable_copies, direction, to.address, to.pitch, from.address, from.pitch, step.bytes, step.columns);  // one by one
    }
  } catch (...) {
    Queues::wait_for_queue(by, d.pageable_copies);
    throw;
  }
  Queues::wait_for_queue(by, d.pageable_copies);
}

/// Copies between two devices that do not reach each other, through two staging buffers of the destination's device: while one part
/// arrives, the next one leaves.
void Executor::copy_over_host(const Step& step, Memory* to, Memory* from) {
  DeviceState& d = s_.device_of(step.to.space);
  DeviceState& source = s_.device_of(step.from.space);
  const QueueIndex out = source.to_host_queue, in = d.to_device_queue;
  if (from != nullptr) order_queue(out, *from, step.used(step.from), Mode::reads, Behind::all);
  if (to != nullptr) order_queue(in, *to, step.used(step.to), Mode::writes, Behind::all);
  order_last_use(out, step.from);
  order_last_use(in, step.to);
  forget_finished_flights();  // earlier copies of this kind
  s_.queues->separate(out);
  s_.queues->separate(in);
  const auto note = [&](QueueIndex queue, Memory* m, Mode mode, const plan::End& end) {
    s_.queues->note_submitter(queue);
    const timeline::Work work =
        m != nullptr ? note_use(queue, *m, step.used(end), mode) : timeline::Work{queue, s_.queues->begin_position(queue)};
    if (end.last_use != nullptr) *end.last_use = work;
    return work;
  };
  // The flights keep the buffers until the copies are done, also of those parts that precede one that is refused.
  Flights flights(2);
  const std::uint64_t buffer_bytes = std::min(step.total_bytes(), over_host_bytes);
  const base::AtEnd list([&] { s_.flights.splice(s_.flights.end(), flights); });
  for (auto flight = flights.begin(); flight != flights.end();) {
    flight->staging_device = d.index;
    flight->staging = d.staging->take(buffer_bytes);
    flight->staged_bytes = buffer_bytes;
    flight->where = ByteRange{0, buffer_bytes};
    flight = step.total_bytes() > buffer_bytes ? std::next(flight) : flights.erase(std::next(flight), flights.end());
  }
  auto flight = flights.begin();
  using Direction = device::Device::Direction;
  const bool together = are_mapped_together(step);
  const auto submit = [&](DeviceState& by, QueueIndex queue, Direction direction, std::byte* target, std::uint64_t to_pitch,
                          const std::byte* origin, std::uint64_t from_pitch, std::uint64_t width, std::uint64_t columns) {
    if (columns > 1 && together) {
      return by.device->copy_columns(s_.queues->id(queue), direction, target, to_pitch, origin, from_pitch, width, columns);
    }
    by.device->device::Device::copy_columns(s_.queues->id(queue), direction, target, to_pitch, origin, from_pitch, width, columns);  // one by one
  };
  const auto copy_part = [&](std::uint64_t to_offset, std::uint64_t from_offset, std::uint64_t width, std::uint64_t columns) {
    s_.queues->order(out, flight->work.queue, flight->work.position);  // the buffer's former part has left it
    submit(source, out, Direction::from_device, flight->staging, width, step.from.address + from_offset, step.from.pitch, width, columns);
    flight->work = note(out, from, Mode::reads, step.from);
    s_.queues->order(in, out, flight->work.position);
    submit(d, in, Direction::to_device, step.to.address + to_offset, step.to.pitch, flight->staging, width, width, columns);
    flight->work = note(in, to, Mode::writes, step.to);
    if (++flight == flights.end()) flight = flights.begin();
  };
  step.for_each_piece([&](ByteRange piece) {
    if (piece.empty()) return;
    const std::uint64_t together = std::max<std::uint64_t>(1, buffer_bytes / piece.size());
    for (std::uint64_t c = 0; c < step.columns; c += together) {
      for (std::uint64_t at = piece.begin; at < piece.end; at += buffer_bytes) {
        copy_part(c * step.to.pitch + at, c * step.from.pitch + at, std::min(buffer_bytes, piece.end - at), std::min(together, step.columns - c));
      }
    }
  });
}

std::size_t Executor::parts_over_host(const Region& where) noexcept {
  const std::uint64_t buffer_bytes = std::min(where.size(), over_host_bytes);
  if (where.empty()) return 0;
  const std::uint64_t together = std::max<std::uint64_t>(1, buffer_bytes / where.width);
  return (where.columns + together - 1) / together * ((where.width + buffer_bytes - 1) / buffer_bytes);
}

bool Executor::goes_directly(const Memory& host, const Region& where, Direction direction) const {
  // Drivers read small sources with the processor (up to 24 KiB were seen), so a small source must be accessible to go directly.
  constexpr std::uint64_t surely_by_the_copy_engine = 64 * 1024;
  const bool locked = s_.pages->locked(host, where.hull());
  // Large saved copies are ordinary memory only where the driver has refused page-locked memory, so it would refuse as much for staging.
  if (direction == Direction::from_device) return locked || (host.owns_allocation && where.size() > Staging::piece_bytes);
  const bool other_name = s_.pages->device_name(host, where.begin) != host.address + where.begin;
  return locked && (other_name ? where.width >= surely_by_the_copy_engine : s_.pages->permit(host, where.hull(), platform::Protection::read));
}

/// Copies between an array's host memory and an array's device memory `m`.
void Executor::copy_across(const Step& step, Memory& host, Memory& m) {
  const bool to_host = step.to.space == host_space;
  const Direction direction = to_host ? Direction::from_device : Direction::to_device;
  const plan::End& on_host = to_host ? step.to : step.from;
  const Region where(on_host.position, step.bytes, step.columns, on_host.pitch);
  DeviceState& d = s_.device_of(m);
  const QueueIndex queue = to_host ? d.to_host_queue : d.to_device_queue;
  const Mode mode = to_host ? Mode::reads : Mode::writes;
  const Region on_device = step.region(to_host ? step.from : step.to);
  order_queue(queue, m, on_device, mode, Behind::all);
  if (d.device->kernels_run_in_caller()) {
    projection_.set_reachable(m, true);
    step.for_each_column([&](std::uint64_t to_column, std::uint64_t from_column) {
      copy_behind(step.to.address + to_column, step.from.address + from_column, step.bytes);
    });
    note_copy_in_place(queue, step, {0, step.bytes});
    projection_.set_reachable(m, false);
    note_use(queue, m, on_device, mode);
    return;
  }
  Flights flights(1);  // made before the transfer, because listing it must not fail
  Flight& flight = flights.front();
  flight.where = where;
  flight.to_host = to_host;
  flight.expected = to_host && here().bringing == &host;
  std::byte* other = s_.pages->device_name(host, where.begin);
  std::uint64_t other_pitch = on_host.pitch;
  const bool direct = goes_directly(host, where, direction);
  s_.queues->separate(queue);
  if (to_host || direct) flight.host = &host;  // a thread that would write these pages waits for the flight
  if (!direct) {
    flight.staging = other = d.staging->take(where.size());
    flight.staged_bytes = where.size();
    flight.staging_device = d.index;
    other_pitch = step.bytes;
  }
  try {
    const QueueId id = s_.queues->id(queue);
    for (std::uint64_t c = 0; c < step.columns && !to_host && !direct; ++c) {
      s_.platform->read_behind(other + c * step.bytes, step.from.address + c * step.from.pitch, step.bytes);
    }
    std::byte* const target = to_host ? other : step.to.address;
    const std::byte* const origin = to_host ? step.from.address : other;
    const std::uint64_t to_pitch = to_host ? other_pitch : step.to.pitch, from_pitch = to_host ? step.from.pitch : other_pitch;
    if (step.columns > 1 && are_mapped_together(step)) {
      d.device->copy_columns(id, direction, target, to_pitch, origin, from_pitch, step.bytes, step.columns);
    } else {
      d.device->device::Device::copy_columns(id, direction, target, to_pitch, origin, from_pitch, step.bytes, step.columns);  // one by one
    }
  } catch (...) {
    if (!direct) d.staging->give(other, where.size());
    throw;
  }
  flight.work = note_use(queue, m, on_device, mode);
  s_.flights.splice(s_.flights.end(), flights);
  if (s_.flights.size() > 64) forget_finished_flights(Flown::any);
}

bool Executor::permits(const std::byte* address, std::uint64_t n, platform::Protection needed) const {
  const Memory* m = s_.find(address);
  if (m == nullptr) return true;  // the program's memory, or a saved copy in ordinary memory
  if (!m->on_host()) return !s_.guarded(*m) || m->access >= needed;
  const auto position = static_cast<std::uint64_t>(address - m->address);
  return s_.pages->permit(*m, {position, position + n}, needed);
}

void Executor::copy_behind(std::byte* to, const std::byte* from, std::uint64_t n) {
  if (to + n <= from || from + n <= to) {
    if (permits(to, n, platform::Protection::read_write)) return s_.platform->read_behind(to, from, n);
    if (permits(from, n, platform::Protection::read)) return s_.platform->write_behind(to, from, n);
  }
  const std::uint64_t most = std::min<std::uint64_t>(n, 1024 * 1024);
  if (detour_.size() < most) detour_.resize(most);
  for (std::uint64_t done = 0; done < n; done += most) {
    const std::uint64_t part = std::min<std::uint64_t>(most, n - done);
    const std::uint64_t at = from < to ? n - done - part : done;  // backwards if needed, because the ranges may overlap
    s_.platform->read_behind(detour_.data(), from + at, part);
    s_.platform->write_behind(to + at, detour_.data(), part);
  }
}

void Executor::note_copy_in_place(QueueIndex queue, const Step& step, ByteRange piece) noexcept {
  if (!s_.virtual_time || piece.empty() || step.columns == 0) return;
  const std::uint64_t pitch = step.to.space == host_space ? step.to.pitch : step.from.pitch;
  s_.device_of(queue).device->note_copy(s_.queues->id(queue), step.to.address + piece.begin, step.from.address + piece.begin,
                                        piece.size() * step.columns, piece.size() + (step.columns - 1) * pitch);
}

void Executor::copy_by_device(DeviceState& d, QueueIndex queue, device::Device::Direction direction, std::byte* to, const std::byte* from,
                              std::uint64_t n) {
  if (!s_.options.device_faults) return d.device->copy(s_.queues->id(queue), direction, to, from, n);
  if (permits(to, n, platform::Protection::read_write) && permits(from, n, platform::Protection::read)) {
    std::memmove(to, from, n);
  } else {
    copy_behind(to, from, n);
  }
}

void Executor::fill_in_place(Memory& to, std::uint64_t position, std::uint64_t n, const Fill& fill, std::uint64_t phase) {
  Fill turned = fill;
  for (std::uint32_t i = 0; i < fill.pattern_bytes; ++i) {
    turned.pattern[i] = fill.pattern[(i + phase) % fill.pattern_bytes];
  }
  const auto* pattern = reinterpret_cast<const std::byte*>(turned.pattern.data());
  base::Vector<std::byte> buffer;
  const auto prepare_buffer = [&] {  // called before anything is overwritten, because it may fail
    buffer.resize(std::min<std::uint64_t>(round_up(n, 16), 64 * 1024));
    for (std::size_t i = 0; i < buffer.size(); ++i) buffer[i] = pattern[i % fill.pattern_bytes];
  };
  const auto write = [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t at = begin; at < end;) {
      const std::uint64_t skip = (at - position) % fill.pattern_bytes;
      const std::uint64_t part = std::min<std::uint64_t>(buffer.size() - skip, end - at);
      s_.platform->write_behind(to.address + at, buffer.data() + skip, part);
      at += part;
    }
  };
  if (!to.on_host()) {
    DeviceState& d = s_.device_of(to);
    const Region where = ByteRange{position, position + n};
    order_queue(d.within_queue, to, where, Mode::writes, Behind::all);
    const QueueId queue = s_.queues->id(d.within_queue);
    const std::uint64_t whole = round_down(n, fill.pattern_bytes);
    // The use is also noted when a later fill is refused, because the earlier ones are under way (I6).
    const base::AtEnd note([&] { note_use(d.within_queue, to, where, Mode::writes); });
    if (!permits(to.address, n, platform::Protection::read_write)) {
      prepare_buffer();
      write(position, position + n);
      if (s_.virtual_time) d.device->note_kernel(queue, n);
      return;
    }
    if (whole > 0) d.device->fill(queue, to.address + position, whole, pattern, fill.pattern_bytes);
    for (std::uint64_t i = whole; i < n; ++i) d.device->fill(queue, to.address + position + i, 1, pattern + (i - whole), 1);
    return;
  }
  prepare_buffer();
  ByteRange untouched{position + n, position + n};  // pages that are discarded: then they read as zero, without memory
  if (fill.is_zero() && !to.owns_allocation && !to.adopted) {
    const std::uint64_t end = position + n == to.bytes ? s_.pages->span(to).end : round_down(position + n, s_.page_bytes);
    const ByteRange pages{round_up(position, s_.page_bytes), end};
    if (!pages.empty() && !s_.pages->any_locked(to, pages)) {
      s_.platform->discard(to.address + pages.begin, pages.size());
      untouched = pages;
    }
  }
  write(position, untouched.begin);
  write(untouched.end, position + n);
}

void Executor::order_queue(QueueIndex queue, Memory& m, const Region& where, Mode mode, Behind behind) {
  const auto counts = [&](QueueIndex q) { return behind == Behind::all || s_.queues->engine_orders(q); };
  for (QueueIndex q = 1; q < s_.queues->count(); ++q) {
    if (!counts(q)) continue;
    if (const std::uint64_t at = s_.last_conflict(m, q, mode); at != 0) s_.queues->order(queue, q, at);
  }
  const base::Vector<timeline::PartialUse>& parts = m.uses.parts();
  for (auto use = parts.rbegin(); use != parts.rend(); ++use) {  // the latest first: it may make an event for the others superfluous
    if (!counts(use->queue) || (mode == Mode::reads && use->mode == Mode::reads)) continue;
    if (may_overlap(use->where, where)) s_.queues->order(queue, use->queue, use->position);
  }
}

timeline::Work Executor::note_use(QueueIndex queue, Memory& m, const Region& where, Mode mode) noexcept {
  s_.queues->note_submitter(queue);
  const std::uint64_t at = s_.queues->begin_position(queue);
  note_use(queue, m, where, mode, at, s_.clock.fetch_add(1, std::memory_order_relaxed));
  return {queue, at};
}

void Executor::note_use(QueueIndex queue, Memory& m, const Region& where, Mode mode, std::uint64_t at, std::uint64_t now) noexcept {
  if (where.is_range() && where.width == m.bytes) return note_use(queue, m, mode, at, now);
  m.flags.fetch_or(Memory::used_in_part);
  m.uses.note(timeline::PartialUse{where, queue, mode, at}, [this](QueueIndex q, std::uint64_t position) { return s_.queues->done(q, position); });
  m.note_recent(where, now);
}

void Executor::write_arrival(Memory& m, ByteRange range, const std::byte* bytes) {
  // Whole huge pages that have not been used yet are written by `write_unused`, so that huge pages can back them. The bytes
  // between them are written in place.
  constexpr std::uint64_t unit = LookupTable::granule_bytes;
  enum class Pages : std::uint8_t { used, unused };
  const auto write = [&](ByteRange part, Pages pages) {
    if (part.empty()) return;
    const std::byte* from = bytes + (part.begin - range.begin);
    if (pages == Pages::unused) {
      s_.platform->write_unused(m.address + part.begin, from, part.size(),
                              s_.watched(m) ? m.pages.at(part.begin).protection : platform::Protection::read_write);
      s_.mappings.add(2);
    } else {
      s_.platform->write_behind(m.address + part.begin, from, part.size());
    }
  };
  const bool page_locked = s_.pages->locked(m, range);
  ByteRange run{range.begin, range.begin};
  bool run_unused = false;
  for (std::uint64_t at = range.begin; at < range.end;) {
    const std::uint64_t stop = std::min(range.end, round_down(at, unit) + unit);
    bool unused = !page_locked && stop - at == unit && at / unit < m.used.size() && m.used[at / unit] == 0;
    if (unused) {
      const PageState first = m.pages.at(at);
      const PageState before = m.pages.at(run.begin);
      m.pages.for_each({at, stop}, [&](ByteRange, PageState s) { unused = unused && s == first; });
      if (unused && run_unused && before != first) {
        write(run, Pages::unused);
        run = {at, at};
      }
    }
    if (unused != run_unused) {
      write(run, run_unused ? Pages::unused : Pages::used);
      run = {at, at};
      run_unused = unused;
    }
    run.end = stop;
    at = stop;
  }
  write(run, run_unused ? Pages::unused : Pages::used);
  HostPages::mark_used(m, range);
}

void Executor::end(Flights::iterator flight) {
  if (flight->staging != nullptr) {
    const Region& where = flight->where;
    for (std::uint64_t c = 0; c < where.columns && flight->to_host; ++c) {
      const std::byte* const arrived = flight->staging + c * where.width;
      if (flight->host->owns_allocation) {
        std::memcpy(flight->host->address + where.column(c).begin, arrived, where.width);
      } else {
        write_arrival(*flight->host, where.column(c), arrived);
      }
    }
    s_.devices[flight->staging_device]->staging->give(flight->staging, flight->staged_bytes);
  }
  s_.flights.erase(flight);
}

void Executor::forget_finished_flights(Flown which) noexcept {
  try {
    std::array<bool, max_queues> behind{};  // the queue's later flights need not be asked for
    for (auto next = s_.flights.begin(); next != s_.flights.end();) {
      const auto flight = next++;
      // The processor must copy a staged arrival. A thread that waits for it does so, where it does not concern a saved copy.
      const bool arrives = flight->to_host && flight->staging != nullptr;
      const bool of_array = flight->host != nullptr && !flight->host->snapshot();
      if (flight->locks_pages || (of_array && (arrives || which == Flown::of_no_array))) continue;
      const QueueIndex queue = flight->work.queue;
      behind[queue] = behind[queue] || !s_.queues->reached(queue, flight->work.position);
      if (!behind[queue]) end(flight);
    }
  } catch (const std::exception&) {  // a thread that needs a flight waits for it, and gets the error
  }
}

void Executor::close_for_unmapping(Memory& m) noexcept {
  m.flags.fetch_and(~Memory::revocable);  // first, so that no launch comes to closed pages without the lock
  projection_.protect_guarded(m, platform::Protection::none);  // neighbours may keep the granules mapped
  m.access = platform::Protection::none;
}

void Executor::unmap_memory(Memory& m) noexcept {
  close_for_unmapping(m);
  s_.device_of(m).memory->unmap(m);
  projection_.note_perhaps_unready(m);
}

void Executor::freeze(Memory& m, const Region& where) {
  // Device memory has been quiesced (`Hazards::quiesce`), so its flags are cleared and it has no pins.
  if (m.access == platform::Protection::read_write || m.opened_in_part) {
    projection_.protect_guarded(m, std::min(m.access, platform::Protection::read));
  }
  if (m.on_host()) s_.pages->freeze(m, where);
}

std::uint64_t Executor::digest_of(Memory& m) {
  const base::TakesTime work;  // it computes with the lock, for which faults wait
  const DeviceState& d = s_.device_of(m);
  std::vector<std::byte> copy;
  if (!permits(m.address, m.bytes, platform::Protection::read)) {
    copy.resize(m.bytes);
    s_.platform->read_behind(copy.data(), m.address, m.bytes);
  }
  return d.device->digest(d.checks.valid() ? d.checks : s_.queues->id(d.within_queue), copy.empty() ? m.address : copy.data(), m.bytes);
}

std::vector<std::byte> Executor::content_of(Memory& m, ByteRange range) {
  const base::TakesTime work;  // as above
  std::vector<std::byte> bytes(range.size());
  const std::byte* const from = m.address + range.begin;
  if (m.on_host()) {
    s_.platform->read_behind(bytes.data(), from, range.size());
    return bytes;
  }
  projection_.set_reachable(m, true);
  const base::AtEnd unreachable([&] { projection_.set_reachable(m, false); });
  if (permits(from, range.size(), platform::Protection::read)) {
    const DeviceState& d = s_.device_of(m);
    const QueueId queue = d.checks.valid() ? d.checks : s_.queues->id(d.to_host_queue);
    d.device->copy_from_device(queue, bytes.data(), from, range.size());
    s_.queues->wait_for_queue(*d.device, queue);
  } else {
    s_.platform->read_behind(bytes.data(), from, range.size());
  }
  return bytes;
}

}  // namespace semcache::engine
