// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/base/types.hpp>

#include <cstdint>
#include <vector>

namespace semcache::policy {

/// How much to bring over, or to open for writing, when a page of a host array faults. With cost = faults x F + bytes / link
/// rate, a host phase (from the moment when pages close to the moment when some close again) costs at most 2.1 times the
/// better of page by page and the whole array at once: README.md says why, and what the one exception is.
///
/// It is a state machine without a clock, a measurement or chance: equal faults give equal plans.
class ReadAhead {
 public:
  static constexpr std::uint64_t first_chunk_bytes = 16 * 1024;
  static constexpr std::uint64_t last_chunk_bytes = 256 * 1024 * 1024;
  static constexpr std::uint64_t large_page_bytes = 2 * 1024 * 1024;
  static constexpr std::uint64_t growth = 4;
  /// Faults that must have continued a sweep, one at the end of the other, before its growth is not paid for by faults.
  static constexpr unsigned believed_after = 3;
  static constexpr std::size_t most_sweeps = 256;

  enum class Use : std::uint8_t { read, write };
  enum class Reason : std::uint8_t {
    first,  ///< continues nothing
    sweep,  ///< lies at the end of what a sweep has been given
    whole,  ///< the faults have cost as much as the whole array
  };

  /// What a host phase begins with.
  struct Phase {
    std::uint64_t bytes = 0;  ///< of the array
    std::uint64_t page_bytes = 4096;
    std::uint64_t fault_bytes = 0;   ///< the price of a fault: what the link carries in the same time
    std::uint64_t stale_bytes = 0;   ///< a read of the whole array would fetch them
    std::uint64_t closed_bytes = 0;  ///< of pages that may not be written
  };
  struct Fault {
    Use use = Use::read;
    std::uint64_t position = 0;
    /// The faulting page and the pages on either side, without a gap, that permit `use` already.
    ByteRange open;
  };
  struct Plan {
    /// To be made valid, and accessible for the fault's use. Contains the faulting page, lies inside the array, begins
    /// and ends on pages (or at the array's end).
    ByteRange range;
    Reason reason = Reason::first;
  };

  [[nodiscard]] bool begun() const noexcept { return faults_ > 0; }
  /// @pre !begun()
  void begin(const Phase& phase) noexcept { phase_ = phase; }
  [[nodiscard]] Plan next(const Fault& fault) noexcept;
  /// What the last plan fetched beyond its page, if a later fault can show whether that was used.
  void fetched_ahead(std::uint64_t bytes) noexcept;
  /// Pages have closed: everything begins anew. Returns the bytes that were fetched ahead, and no fault showed their use.
  std::uint64_t end() noexcept;

 private:
  enum class Direction : std::uint8_t { unknown, up, down };
  struct Sweep {
    Use use = Use::read;
    Direction direction = Direction::unknown;
    ByteRange last;             ///< what its last fault was given
    std::uint64_t chunk = 0;    ///< the size of that before clipping
    std::uint64_t through = 0;  ///< all that its faults were given, one behind the other
    std::uint64_t unshown = 0;  ///< fetched ahead by the last fault
    std::uint64_t used = 0;     ///< for choosing the sweep to forget
    unsigned continued = 0;
  };

  struct Kind {
    bool faulted = false;
    bool whole = false;  ///< the whole array is opened at once
  };

  [[nodiscard]] bool too_many_faults(Use use) const noexcept;
  [[nodiscard]] bool takes_whole(Use use) noexcept;
  [[nodiscard]] ByteRange give(Sweep& sweep, std::uint64_t page) noexcept;
  static void end_on_large_page(ByteRange& given, std::uint64_t page) noexcept;
  [[nodiscard]] Direction continues(const Sweep& sweep, const Fault& fault, std::uint64_t page) const noexcept;
  [[nodiscard]] Sweep* find(const Fault& fault, std::uint64_t page) noexcept;
  [[nodiscard]] Sweep* add(Use use) noexcept;
  [[nodiscard]] std::uint64_t chunk_for(const Sweep& sweep) const noexcept;
  [[nodiscard]] std::uint64_t paid(Use use, std::uint64_t chunk) noexcept;
  [[nodiscard]] std::uint64_t earned(const Sweep& sweep, std::uint64_t chunk) const noexcept;
  [[nodiscard]] ByteRange window(std::uint64_t page) const noexcept;

  Phase phase_;
  std::vector<Sweep> sweeps_;
  std::size_t latest_ = SIZE_MAX;  ///< the sweep of the last plan
  std::uint64_t faults_ = 0;
  std::uint64_t unbelieved_faults_ = 0;
  std::uint64_t unbelieved_ahead_ = 0;  ///< bytes that these may have cost beyond their pages
  std::uint64_t unshown_ = 0;           ///< of sweeps that are forgotten
  Kind kinds_[2];                       ///< by use
};

}  // namespace semcache::policy
