// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/engine/arrays.hpp>

#include <exception>

namespace semcache::engine {

/// What has to move, one step after the other, and what the directory is told of it.
///
/// Threads: with the engine's lock. Members that return an obstacle are parts of an attempt (Transaction).
class Transfers : Parts {
 public:
  explicit Transfers(const Parts& parts) noexcept : Parts(parts) {}

  /// None: the memory holds what its array wants there, or will when the transfers that are under way have landed.
  /// @pre device memory is resident
  Obstacle make_fresh(Memory& memory, ByteRange range);
  /// What takes a value from its last holder.
  enum class Loss : std::uint8_t {
    fetch,     ///< another value comes to where it lies
    write,     ///< the array gets a new value where it lies: what the array itself wants there goes, too
    eviction,  ///< its device memory is needed: saved copies go to the host
    freeing,   ///< one side of the array is freed
  };
  /// None: what the memory was the last holder of in `range`, and others want, is saved.
  /// @param together  ranges of the memory that lose their values at the same time
  Obstacle save_all(Memory& memory, ByteRange range, Loss loss, const std::vector<ByteRange>& together = {});
  Obstacle save(Memory& memory, const directory::LastHeld& piece, Loss loss);
  [[nodiscard]] std::uint64_t saves() const noexcept { return saves_; }  ///< so far
  /// SEMCACHE_CHECK_WRITES: a view captured as writable whose content did not change keeps its number.
  Obstacle check_writes(Memory& memory);
  /// `range` of the memory is written there: a new value (I2). What was pending for it is dropped.
  void note_written(Memory& memory, ByteRange range);
  void count_dropped(const Memory& memory, ByteRange range) noexcept {
    if (const std::uint64_t bytes = s_.pending.take(memory.datum, range)) {
      s_.recorder.moved(trace::Kind::dropped, memory.label, bytes);
    }
  }
  /// The stale bytes are about to be made fresh because the program writes through.
  void count_write_through(const Memory& memory, ByteRange range, trace::LabelId label) {
    for (const ByteRange r : s_.stale(memory.slot, range)) s_.recorder.moved(trace::Kind::write_through, label, r.size());
  }
  /// What is also held elsewhere comes from there again. What only this memory had is what lies there now: a new value.
  void note_refused(Memory& memory, ByteRange range) noexcept;
  /// May the host use the array now, and say so later (DualView::modify_host)?
  [[nodiscard]] bool host_side_is_announced(const Memory& memory);

 private:
  /// The bytes move, and the directory is told.
  void perform(const directory::Step& step, plan::Purpose purpose);
  /// None: there is staging memory for a transfer between the two, if it needs some.
  [[nodiscard]] Obstacle staging_for(const Memory& on_device, const Memory& host, ByteRange range, bool to_host) const;
  [[nodiscard]] bool room_for_snapshot(DeviceState& d, std::uint64_t bytes, Loss loss) const;

  std::uint64_t saves_ = 0;
};

/// While one lives, `range` of the memory is overwritten, of which others have what they want. Where an exception ends that,
/// nobody knows which bytes are new.
struct NoteIfRefused {
  Transfers& transfers;
  Memory& memory;
  ByteRange range;
  int before = std::uncaught_exceptions();
  ~NoteIfRefused() {
    if (std::uncaught_exceptions() > before) transfers.note_refused(memory, range);
  }
};

}  // namespace semcache::engine
