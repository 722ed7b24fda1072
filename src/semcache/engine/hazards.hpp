// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/engine/executor.hpp>
#include <semcache/engine/obstacle.hpp>

namespace semcache::engine {

/// Finds the work that an access must wait for: read after write, write after read, write after write (I6). Each question is
/// answered by the obstacle to be waited for, or by no obstacle if there is no such work or it is known to be done.
///
/// Threads: with the engine's lock. No member waits.
class Hazards : Parts {
 public:
  explicit Hazards(const Parts& parts) noexcept : Parts(parts) {}

  /// @return no obstacle when the work is known to be done; otherwise the work
  [[nodiscard]] Obstacle not_done(const timeline::Work& work) const noexcept;
  /// @return no obstacle when the last device work that uses the buffer is known to be done; otherwise that work
  [[nodiscard]] Obstacle user_of(const TransitBuffer& buffer) const noexcept;
  /// Has the device memory a use on the unknown queue (for reading: a write) that is not known to be over?
  [[nodiscard]] bool unknown_use_pending(const Memory& m, Mode mode) const;
  /// @return no obstacle when launches on known queues can be ordered behind the work that writes the memory; otherwise what must be waited for
  [[nodiscard]] Obstacle computing(Memory& m) const {
    return unknown_use_pending(m, Mode::reads) ? Obstacle::whole_devices(m.unknown_on.load(), &m) : Obstacle();
  }
  /// Prepares device memory for use by a transfer: revokes its flags, so that later launches take the lock, and checks that no
  /// launch pins it (is between its check and its submission) and that no use by other code is pending.
  /// @return no obstacle when a transfer may be submitted; otherwise what must be waited for first
  Obstacle quiesce(Memory& memory);
  [[nodiscard]] Obstacle kernels_of_others(const Memory& memory) const noexcept;
  /// @return no obstacle when a transfer may read these bytes, or write them (`Mode::writes`); otherwise what must be waited for
  /// first. Device memory is checked as a whole (`quiesce`)
  Obstacle busy(Memory& memory, const Region& where, Mode mode);
  /// @return no obstacle when an access of this mode to these positions of the datum's content conflicts with no use of a part by the host's
  /// processor that is under way: it does not write what that use reads or writes, or read what that use writes. Otherwise such a use
  [[nodiscard]] Obstacle host_uses_of(DatumId datum, const Region& where, Mode mode) const;
  /// Lands the flights that are done.
  /// @return no obstacle when no flight on these host pages is under way (for `Mode::reads`: none to the host); otherwise what
  /// must be waited for first
  Obstacle flights_of(Memory& host, const Region& where, Mode mode);
  /// @return no obstacle when all chunks of these host pages that are worth page-locking for a transfer are page-locked;
  /// otherwise the flight on the first chunk that is not, or its page-locking. Chunks of which the transfer uses less than a quarter
  /// are not worth it
  Obstacle directly_reached(Memory& host, const Region& where);
  /// @return no obstacle when no work on any queue uses the memory; otherwise the first such work
  Obstacle uses_of(Memory& memory);
  /// @return no obstacle when no work is under way with which an access of this mode to these bytes of device memory conflicts; otherwise the
  /// first such work. @param where  of the memory
  Obstacle conflicts_with(const Memory& memory, const Region& where, Mode mode) const noexcept;
  /// @return no obstacle when no work is under way that writes these bytes of device memory; otherwise such work. While a thread waits for it,
  /// launches that use the memory let that thread go first. @param where  of the memory
  Obstacle writers_of(Memory& memory, const Region& where) const noexcept;
  Obstacle writers_of(Memory& memory) const noexcept { return writers_of(memory, ByteRange{0, memory.bytes}); }
  /// @return no obstacle when none of our transfers uses the device memory; otherwise the first one
  Obstacle transfers_of(const Memory& memory) const noexcept;
  /// The same for transfers and tasks.
  Obstacle transfers_and_tasks_of(const Memory& memory) const noexcept;
  /// Ends a flight whose work is done: writes a staged arrival to its pages, gives back the staging memory, and erases the
  /// flight.
  /// @return no obstacle when the flight has landed, and is erased; otherwise what must be waited for first
  Obstacle land(Flights::iterator flight);
  /// @return no obstacle when all flights have landed; otherwise the first that has not
  Obstacle land_all();

 private:
  /// @return no obstacle when no use of this memory, a part on the host, is under way that conflicts with a transfer of this mode; otherwise that
  [[nodiscard]] Obstacle host_uses_of(Memory& part, Mode mode) const;
  /// @param counts(queue)  returns whether uses on the queue count
  /// @return no obstacle when no such use of the device memory is under way; otherwise the first one
  template <class Counts>
  Obstacle uses_on(const Memory& memory, const Counts& counts) const noexcept;
};

}  // namespace semcache::engine
