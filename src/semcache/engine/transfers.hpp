// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/base/own_memory.hpp>
#include <semcache/engine/arrays.hpp>

namespace semcache::engine {

/// The bytes that would have to move so that some memory holds what its array wants.
struct Missing {
  std::uint64_t from_host = 0;
  std::uint64_t from_devices[most_devices] = {};  ///< by index; of the memory's own device: copies within it
  std::uint64_t filled = 0;                       ///< known content, which is made in place
};

/// Bytes of an array whose content is on a device.
struct Holder {
  std::uint32_t device;
  Region where;
};

/// Chooses the steps by which content moves, has them carried out one after the other, and reports them to the directory.
///
/// Threads: with the engine's lock. Members that return an obstacle are parts of an attempt (Transaction).
class Transfers : Parts {
 public:
  explicit Transfers(const Parts& parts) noexcept : Parts(parts) {}

  /// Makes the memory hold what its array wants in `range`.
  /// @param first  see `Requirement`
  /// @pre device memory is resident in `range`
  /// @return no obstacle when the memory holds it, or will when the transfers under way have landed; otherwise the first obstacle
  Obstacle make_fresh(Memory& memory, const Region& range, SpaceId first = {});
  /// Returns which bytes of `range` are missing, and where they would come from. Nothing moves. Where some of them have the same value, one
  /// may in fact be copied from the other.
  [[nodiscard]] Missing missing(const Memory& memory, const Region& range) const;
  /// Returns where content of `range` is on devices, in all memory of the array. Content in several places is listed for each.
  [[nodiscard]] std::vector<Holder> holders(const Memory& memory, const Region& range) const;
  /// Why a slot that may be the last holder of a value is about to lose it.
  enum class Loss : std::uint8_t {
    fetch,     ///< another value is fetched to the same bytes
    write,     ///< the array gets a new value there, so values that the array itself wants elsewhere are saved, too
    eviction,  ///< other arrays need its device memory, so values are saved on the host
    freeing,   ///< one side of the array is freed
  };
  /// Saves all values in `range` of which the memory is the last holder and that others want (I4).
  /// @return no obstacle when all are saved; otherwise the first obstacle
  /// @param together  ranges of the memory that lose their values at the same time
  Obstacle save_all(Memory& memory, const Region& range, Loss loss, const base::Vector<Region>& together = {});
  /// Saves one piece, or its first bytes. @return no obstacle when they are saved; otherwise the first obstacle
  Obstacle save(Memory& memory, directory::LastHeld piece, Loss loss);
  /// @return no obstacle when the devices have idle events for so many transfers, so that none is made with the lock
  [[nodiscard]] Obstacle lacking_events(std::size_t transfers) const noexcept;
  [[nodiscard]] std::uint64_t saves() const noexcept { return saves_; }  ///< how many pieces have been saved so far
  /// SEMCACHE_CHECK_WRITES: gives an array that a launch captured as writable, and whose content did not change, its former
  /// number.
  /// @return no obstacle when that is done, or nothing is to be checked; otherwise the first obstacle
  Obstacle check_writes(Memory& memory);
  /// Makes room so that `note_written` cannot fail for this range, until another event of the directory.
  void prepare_written(const Memory& memory, const Region& range);
  /// Notes that `range` of the memory is written: it gets a new value, held there alone (I2). Copies pending for it are dropped.
  /// Columns that are not those of the array's maps get a value each.
  void note_written(Memory& memory, const Region& range);
  /// Counts as dropped the bytes of `range` that were pending, and forgets that they were.
  void count_dropped(const Memory& memory, const Region& range) noexcept {
    if (const std::uint64_t bytes = s_.pending.take(memory.datum, range)) {
      s_.recorder.moved(trace::Kind::dropped, memory.label, bytes);
    }
  }
  /// Counts the stale bytes of `range`, which are about to be made fresh by write-through.
  void count_write_through(const Memory& memory, const Region& range, trace::LabelId label) {
    for (const Region& r : s_.stale(memory.slot, range)) s_.recorder.moved(trace::Kind::write_through, label, r.size());
  }
  /// Notes that a copy to `range` was refused half-way, so that it is unknown which bytes are new. What another slot holds, too,
  /// is dropped here, and is fetched from there again. What only this memory held gets a new value, for the bytes that are there
  /// now.
  void note_refused(Memory& memory, const Region& range) noexcept;
  /// Has a step carried out that overwrites bytes of `range`; if it is refused, notes that (`note_refused`).
  /// @pre what others want of `range` is saved
  void overwrite(Memory& memory, const Region& range, const plan::Step& step);
  /// @return no obstacle when a copy between these spaces does not go through the host, or there are staging memory and events for it; otherwise
  /// the first obstacle
  Obstacle ready_over_host(SpaceId to, SpaceId from, const Region& where);
  /// @param pieces  of the array's host memory, which are transferred one by one; `count` of them
  /// @return no obstacle when these transfers need no staging memory, or there is enough for all; otherwise the first obstacle
  [[nodiscard]] Obstacle staging_for(const Memory& on_device, const Memory& host, const Region* pieces, std::size_t count,
                                     Executor::Direction direction);
  /// @param sizes  of `count` transfers that are to be staged
  /// @return no obstacle when there is staging memory for all; otherwise the first obstacle
  [[nodiscard]] Obstacle staging(const DeviceState& device, const std::uint64_t* sizes, std::size_t count);
  /// Is the array's host side announced, so that the host may change it now and report that later (DualView::modify_host)?
  [[nodiscard]] bool host_side_is_announced(const Memory& memory);

 private:
  /// SEMCACHE_CHECK_WRITES: tells whether the host has written the bytes of this step again with the values that the device has, so that
  /// they need not cross the link. Of columns nothing is known.
  [[nodiscard]] bool is_there_already(Memory& to, Memory& from, const directory::Step& step);
  /// Has the step carried out, and reports it to the directory. If the step is refused, its destination holds nothing (I9).
  void perform(const directory::Step& step, plan::Purpose purpose);
  /// Lands staged flights until the device's staging memory has `more` bytes left, or none of them uses it any more.
  Obstacle relieve_staging(const DeviceState& d, std::uint64_t more);
  [[nodiscard]] bool room_for_snapshot(DeviceState& d, std::uint64_t bytes, Loss loss) const;

  std::uint64_t saves_ = 0;
};

}  // namespace semcache::engine
