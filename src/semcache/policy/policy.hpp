// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/base/topology.hpp>
#include <semcache/base/types.hpp>

#include <cstdint>
#include <tuple>

/// Choices that do not affect correctness: pure functions and small state machines.
namespace semcache::policy {

/// Where a value is saved that is about to lose its last holder, and that an array (the wanter) still wants (I4).
enum class SavePlace : std::uint8_t {
  wanter,             ///< the wanter's memory in the space where the value is, as an eager copy would have done
  snapshot_beside,    ///< new memory in the same space
  wanters_host_side,
  snapshot_on_host,
};
struct SaveChoices {
  bool on_host = false;             ///< the value is on the host
  bool wanter_is_clean = false;     ///< the wanter's memory in the same space may be overwritten, and can be overwritten now
  bool room_for_snapshot = false;   ///< there is room for a snapshot in the same space
  bool host_side_is_clean = false;  ///< the wanter's host side may be overwritten, and can be overwritten now
};
/// Returns the first place, in the order of `SavePlace`, that is possible. So no byte crosses the link while there is room in the
/// same space. Pure.
[[nodiscard]] SavePlace place_of_save(const SaveChoices& choices) noexcept;

/// What a link between devices carries. The order of magnitude matters.
inline constexpr double bytes_between_devices_a_second = 3e11;
/// Returns about how long a copy takes: other links than those between devices carry less by as much as the topology has them cost more. Pure.
[[nodiscard]] double seconds_of_copy(const Topology& topology, SpaceId from, SpaceId to, std::uint64_t bytes) noexcept;

/// Device memory of a derived value that nobody uses now.
struct SpareMemory {
  bool has_copy = false;       ///< other memory holds all of its content, too
  std::uint64_t bytes = 0;
  double seconds_to_make = 0;  ///< to compute the value again
  double seconds_of_copy = 0;  ///< of its bytes between host and device, in one direction
};
/// How such memory is evicted, in the order in which it leaves.
enum class LeavesAs : std::uint8_t {
  copy,        ///< nothing is lost
  made_again,  ///< its content is forgotten, because it is computed in less time than it takes to the host and back
  array,       ///< when it is its turn by age, beside arrays; its content is saved on the host, as an array's is
};
[[nodiscard]] LeavesAs leaves_as(const SpareMemory& memory) noexcept;
/// The order in which spare memory leaves: by how it does, then by the seconds that each byte of room costs. Pure.
using SpareOrder = std::tuple<LeavesAs, double>;
[[nodiscard]] SpareOrder order_of(const SpareMemory& memory) noexcept;

/// Returns how large the blocks of an array are that are mapped and evicted one by one; 0: the array is one block. A smaller block
/// leaves more of the other content where it is when some must leave, a larger one costs fewer calls of the driver. Pure.
/// @param device_block_bytes  the least size at which the driver's calls cost little beside the transfer of their bytes
[[nodiscard]] std::uint64_t block_bytes(std::uint64_t array_bytes, std::uint64_t device_block_bytes) noexcept;

/// Forecasts whether the host will ask for the whole array again once a kernel has written it. The answer is yes after the host
/// has done so twice, each time after exactly one writing launch; the transfer can then start right behind the kernel. A forecast
/// that fails costs one transfer and doubles the number of times that the next forecast needs. Large arrays are never forecast,
/// because there the duration of the transfer counts, not its start.
class FetchForecast {
 public:
  static constexpr std::uint64_t largest_bytes = 1024 * 1024;

  /// @param needed  how many times make a habit: 1 where the program has announced that it will ask again
  explicit FetchForecast(std::uint32_t needed = 2) noexcept : needed_(needed) {}

  /// Notes that the host asked for the whole array, `writes` writing launches after it asked last.
  void fetched(std::uint32_t writes) noexcept;
  /// Returns whether the host is expected to ask again after the next writing launch.
  [[nodiscard]] bool fetch_follows() const noexcept { return streak_ >= needed_; }

 private:
  std::uint32_t streak_ = 0;
  std::uint32_t needed_;
};

/// Learns whether the host reads a mirror after each copy to it. If so, the copy itself brings the content, because a read that
/// causes a page fault costs more than the transfer. This is for small copies only, where the duration of the transfer does not
/// count. A read of content that a copy has brought is not noticed. So after some such copies one copy is left to the fault, as a
/// check. If that copy is read, twice as many copies are brought before the next check. If not, the habit is over, and the next
/// habit takes twice as many copies to form.
class ReadHabit {
 public:
  static constexpr std::uint64_t largest_bytes = 64 * 1024;

  /// Notes that the mirror is copied to. @return whether its content is to be brought at once
  [[nodiscard]] bool copied() noexcept;
  /// Notes that a fault has asked for the mirror's content.
  void read() noexcept { read_ = true; }

 private:
  static constexpr std::uint8_t most_behind_a_look = 64;
  static constexpr std::uint16_t most_needed = 32768;

  // There is one object for each mirror, so the fields are small.
  std::uint16_t needed_ = 8;  ///< how many successive copies must be read to make a habit
  std::uint16_t streak_ = 0;  ///< successive copies that were left to the fault and read
  std::uint8_t brought_ = 0;  ///< how many copies are brought after the last check
  std::uint8_t left_ = 0;     ///< how many of these are not over yet
  bool read_ = false;         ///< a fault has asked for the content since the last copy
};

}  // namespace semcache::policy
