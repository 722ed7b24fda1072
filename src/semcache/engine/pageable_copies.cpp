// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/engine/pageable_copies.hpp>

#include <semcache/base/streaming.hpp>

#include <cstring>

namespace semcache::engine {

void PageableCopies::copy(Transaction& t, const plan::Step& step) {
  if (s_.home().device->kernels_run_in_caller()) return executor_.execute(step);
  executor_.execute_and_wait(step, [&](const auto& copy) { t.unlocked(copy); });
}

Flights PageableCopies::stage(Transaction& t, SpaceId device, const std::byte* from, const Region& columns) {
  const DeviceState& d = s_.device_of(device);
  const std::uint64_t bytes = columns.size();
  Flights flights(1);  // listing it must not fail
  Flight& flight = flights.front();
  executor_.forget_finished_flights();  // the buffer of an earlier piece serves again
  t.run([&] { return transfers_.staging(d, &bytes, 1); });
  flight.staging = d.staging->take(bytes);
  flight.staged_bytes = bytes;
  flight.staging_device = d.index;
  flight.where = ByteRange{0, bytes};
  // The device alone reads what is staged. A few bytes reach it sooner by the processor's caches.
  constexpr std::uint64_t few = 256 * 1024, few_in_column = 4 * 1024;
  const bool past_caches = bytes >= few && columns.width >= few_in_column;
  t.unlocked([&] {
    for (std::uint64_t c = 0; c < columns.columns; ++c) {
      std::byte* const to = flight.staging + c * columns.width;
      const std::byte* const column = from + c * columns.pitch;
      if (past_caches) {
        base::copy_past_caches(to, column, columns.width);
      } else {
        std::memcpy(to, column, columns.width);
      }
    }
  });
  return flights;
}

void PageableCopies::read(Transaction& t, Memory& from, const plan::Step& step) {
  from.flags.fetch_or(Memory::read_elsewhere);
  from.pins.fetch_add(1);
  ++s_.copies_that_pin;
  const base::AtEnd unpin([&] {
    t.unlocked([&] {
      from.pins.fetch_sub(1);
      lifetimes_.free_put_off();
    });
    --s_.copies_that_pin;  // last, so that whoever meets the pin knows that it ends
  });
  executor_.execute_and_wait(step, [&](const auto& copy) { t.unlocked(copy); });
}

}  // namespace semcache::engine
