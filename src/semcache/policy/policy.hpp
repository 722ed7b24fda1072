// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/base/types.hpp>

#include <cstdint>

/// Choices that are no question of correctness: pure functions and small state machines.
namespace semcache::policy {

/// Where a value is copied to that is about to lose its last holder, and that an array (the wanter) still wants (I4).
enum class SavePlace : std::uint8_t {
  wanter,             ///< the wanter's memory in the space where the value is: what an eager copy would have done
  snapshot_beside,    ///< new memory in the same space
  wanters_host_side,
  snapshot_on_host,
};
struct SaveChoices {
  bool on_host = false;             ///< the value is
  bool wanter_is_clean = false;     ///< the wanter's memory there may be overwritten, and can be now
  bool room_for_snapshot = false;   ///< in the same space
  bool host_side_is_clean = false;
};
/// The first of them, in this order, that can be: no byte crosses the link while there is room beside. Pure.
[[nodiscard]] SavePlace place_of_save(const SaveChoices& choices) noexcept;

/// Will the host ask for the whole array again once a kernel has written it? After two times that it did so behind exactly
/// one writing launch, the answer is yes, and the transfer can start right behind the kernel. A forecast that fails costs
/// one transfer and doubles what the next one needs. Large arrays are never forecast: there the transfer's time counts,
/// not its start.
class FetchForecast {
 public:
  static constexpr std::uint64_t largest_bytes = 1024 * 1024;

  /// @param needed  times that make a habit: one where the program has said that it will ask again
  explicit FetchForecast(std::uint32_t needed = 2) noexcept : needed_(needed) {}

  /// The host asked for the whole array, `writes` writing launches after it did last.
  void fetched(std::uint32_t writes) noexcept;
  [[nodiscard]] bool fetch_follows() const noexcept { return streak_ >= needed_; }

 private:
  std::uint32_t streak_ = 0;
  std::uint32_t needed_;
};

/// Does the host read a mirror each time that it has been copied to? Then the content is brought by the copy itself: a read that
/// comes as a page fault costs more than the transfer. Small copies only, where the transfer's time does not count. Nobody
/// learns whether what was brought by the copy is read. So after some of them one copy is left to the fault: if it is read, twice
/// as many are brought before the next look; if not, the habit is over, and the next one takes twice as long to make.
class ReadHabit {
 public:
  static constexpr std::uint64_t largest_bytes = 64 * 1024;

  /// The mirror is copied to. @return whether its content is to be brought at once
  [[nodiscard]] bool copied() noexcept;
  /// A fault read it.
  void read() noexcept { read_ = true; }

 private:
  static constexpr std::uint8_t most_behind_a_look = 64;
  static constexpr std::uint16_t most_needed = 32768;

  // There is one for each mirror.
  std::uint16_t needed_ = 8;  ///< copies behind each other that are read make a habit
  std::uint16_t streak_ = 0;  ///< copies that were left to the fault and read
  std::uint8_t brought_ = 0;  ///< behind the last look
  std::uint8_t left_ = 0;     ///< of these
  bool read_ = false;
};

}  // namespace semcache::policy
