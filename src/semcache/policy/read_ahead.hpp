// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/base/own_memory.hpp>
#include <semcache/base/types.hpp>

#include <cstdint>
#include <vector>

namespace semcache::policy {

/// Decides how much to transfer, or to open for writing, when a page of a host array faults. With cost = faults x F + bytes /
/// link rate, a host phase (from the closing of pages to the next closing of pages) costs at most 2.1 times the better of two
/// alternatives: page by page, and the whole array at once. README.md proves this and explains the one exception.
///
/// It is a state machine without a clock, a measurement or chance, so equal faults give equal plans.
class ReadAhead {
 public:
  static constexpr std::uint64_t first_chunk_bytes = 16 * 1024;
  static constexpr std::uint64_t last_chunk_bytes = 256 * 1024 * 1024;
  static constexpr std::uint64_t large_page_bytes = 2 * 1024 * 1024;
  static constexpr std::uint64_t growth = 4;
  /// How many faults must have continued a sweep, each at the end of the previous chunk, before the sweep grows without being
  /// paid for by faults.
  static constexpr unsigned believed_after = 3;
  static constexpr std::size_t most_sweeps = 256;

  enum class Use : std::uint8_t { read, write };
  enum class Reason : std::uint8_t {
    first,  ///< the fault continues no sweep
    sweep,  ///< the fault lies at the end of what a sweep has been given
    whole,  ///< the whole array is given, because one more fault could exceed the bound
    again,  ///< a sweep begins that the phases before had, too (`SweepHabit`)
  };

  /// The state at the beginning of a host phase.
  struct Phase {
    std::uint64_t bytes = 0;  ///< size of the array
    std::uint64_t page_bytes = 4096;
    std::uint64_t fault_bytes = 0;   ///< the price of a fault: the bytes that the link carries in the same time
    std::uint64_t stale_bytes = 0;   ///< bytes that a read of the whole array would fetch
    std::uint64_t closed_bytes = 0;  ///< bytes of pages that may not be written
    bool sweep_expected = false;     ///< see `SweepHabit`
  };
  struct Fault {
    Use use = Use::read;
    std::uint64_t position = 0;
    /// The faulting page, and the adjoining pages on either side that permit `use` already.
    ByteRange open;
  };
  struct Plan {
    /// The range to be made valid and accessible for the fault's use. It contains the faulting page, lies inside the array, and
    /// begins and ends at page boundaries (or at the array's end).
    ByteRange range;
    Reason reason = Reason::first;
  };

  /// Returns whether the phase has had a fault.
  [[nodiscard]] bool begun() const noexcept { return faults_ > 0; }
  /// Sets the state at the beginning of the phase. @pre !begun()
  void begin(const Phase& phase) noexcept { phase_ = phase; }
  /// Returns what to give to a fault.
  [[nodiscard]] Plan next(const Fault& fault) noexcept;
  /// Notes how many bytes the last plan fetched beyond its page, if a later fault can show whether they were used.
  void fetched_ahead(std::uint64_t bytes) noexcept;
  /// Returns whether the phase has had a fault that reads.
  [[nodiscard]] bool has_read() const noexcept { return kinds_[static_cast<int>(Use::read)].faulted; }
  /// Returns whether all of the array was stale, and one sweep has read it from its first page to its end.
  [[nodiscard]] bool swept_all() const noexcept;
  /// Ends the phase, because pages have closed. @return the bytes that were fetched ahead and whose use no fault has shown
  std::uint64_t end() noexcept;

 private:
  enum class Direction : std::uint8_t { unknown, up, down };
  struct Sweep {
    Use use = Use::read;
    Direction direction = Direction::unknown;
    ByteRange last;             ///< what its last fault was given
    std::uint64_t chunk = 0;    ///< the size of `last` before clipping
    std::uint64_t through = 0;  ///< sum of all bytes that its faults were given
    std::uint64_t unshown = 0;  ///< bytes that its last fault fetched ahead, and whose use no later fault has shown
    std::uint64_t used = 0;     ///< number of its last fault, for choosing the sweep to forget
    std::uint64_t first = 0;    ///< the page of its first fault
    unsigned continued = 0;     ///< how many faults have continued it
  };

  struct Kind {
    bool faulted = false;  ///< there was a fault of this use
    bool whole = false;    ///< the whole array is given at once
  };

  [[nodiscard]] bool too_many_faults(Use use) const noexcept;
  [[nodiscard]] bool takes_whole(Use use) noexcept;
  [[nodiscard]] ByteRange give(Sweep& sweep, std::uint64_t page) noexcept;
  [[nodiscard]] ByteRange give_again(Sweep& sweep) noexcept;
  static void end_on_large_page(ByteRange& given, std::uint64_t page) noexcept;
  [[nodiscard]] Direction continues(const Sweep& sweep, const Fault& fault, std::uint64_t page) const noexcept;
  [[nodiscard]] Sweep* find(const Fault& fault, std::uint64_t page) noexcept;
  [[nodiscard]] Sweep* add(Use use) noexcept;
  [[nodiscard]] std::uint64_t chunk_for(const Sweep& sweep) const noexcept;
  [[nodiscard]] std::uint64_t paid(Use use, std::uint64_t chunk) noexcept;
  [[nodiscard]] std::uint64_t earned(const Sweep& sweep, std::uint64_t chunk) const noexcept;
  [[nodiscard]] ByteRange window(std::uint64_t page) const noexcept;

  Phase phase_;
  base::Vector<Sweep> sweeps_;
  std::size_t latest_ = SIZE_MAX;  ///< the sweep of the last plan
  std::uint64_t faults_ = 0;
  std::uint64_t unbelieved_faults_ = 0;  ///< faults of sweeps that were not believed yet
  std::uint64_t unbelieved_ahead_ = 0;  ///< bytes that these faults may have cost beyond their pages
  std::uint64_t unshown_ = 0;           ///< `unshown` of sweeps that have been forgotten
  Kind kinds_[2];                       ///< by use
};

/// Learns whether the host sweeps over an array in each phase. After two phases in a row in each of which one sweep has read all of the stale array, the
/// next one is expected, too: its first fault gets a quarter of the array, and its second one the rest, as far as a link's time permits. A sweep that does
/// not go on is seen at the end of its phase, and ends the habit. So at most a quarter of an array is fetched in vain for two phases that needed all of it.
class SweepHabit {
 public:
  /// Notes that a phase ends. @pre `phase` has had faults
  void phase_ends(const ReadAhead& phase) noexcept {
    if (phase.has_read()) sweeps_ = phase.swept_all() ? static_cast<std::uint8_t>(sweeps_ + (sweeps_ < needed)) : std::uint8_t{0};
  }
  [[nodiscard]] bool sweep_follows() const noexcept { return sweeps_ >= needed; }

 private:
  static constexpr std::uint8_t needed = 2;
  std::uint8_t sweeps_ = 0;  ///< how many phases in a row had a sweep; not more than are needed
};

}  // namespace semcache::policy
