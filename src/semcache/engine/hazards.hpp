// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/engine/executor.hpp>
#include <semcache/engine/obstacle.hpp>

namespace semcache::engine {

/// Which work stands in the way of an access: read after write, write after read, write after write (I6). Each question is answered by
/// the obstacle that is to be waited for; none: there is no such work, or it is known to be done.
///
/// Threads: with the engine's lock. Nobody waits here.
class Hazards : Parts {
 public:
  explicit Hazards(const Parts& parts) noexcept : Parts(parts) {}

  /// None: it is known to be done.
  [[nodiscard]] Obstacle not_done(const timeline::Work& work) const noexcept;
  [[nodiscard]] Obstacle user_of(const TransitBuffer& buffer) const noexcept;
  [[nodiscard]] bool unknown_use_pending(const Memory& m, Mode mode) const;
  /// None: a transfer may use the device memory. Its flags are revoked, no launch is between its check and its submission, and no
  /// use is pending of which nobody knows the end.
  Obstacle quiesce(Memory& memory);
  /// None: a transfer may read these bytes, or write them (writing). Of device memory the whole is looked at (`quiesce`).
  Obstacle busy(Memory& memory, ByteRange range, Mode mode);
  /// None: no transfer under way reads or writes these host pages (writing), or writes them (reading).
  Obstacle flights_of(Memory& host, ByteRange range, Mode mode);
  /// None: all chunks of these host pages that are worth page-locking for a transfer are page-locked.
  Obstacle directly_reached(Memory& host, ByteRange range);
  /// None: nothing on any queue uses the memory.
  Obstacle uses_of(Memory& memory);
  /// None: no transfer uses the device memory.
  Obstacle transfers_of(const Memory& memory) const noexcept;
  /// None: the transfer has landed, and is forgotten.
  Obstacle land(Flights::iterator flight);
  Obstacle land_all();

 private:
  /// None: no work on the queues below `end` uses the device memory.
  Obstacle uses_on(const Memory& memory, QueueIndex end) const noexcept;
};

}  // namespace semcache::engine
