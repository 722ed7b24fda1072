// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/base/error.hpp>
#include <semcache/policy/policy.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace semcache::policy {

/// Whether library calls use several devices.
enum class Spread : std::uint8_t {
  automatic,  ///< where it pays
  always,     ///< as many devices as there is work for
  never,      ///< one device
};
/// A device more costs the host some launches and transfers, so each must have work for so long.
inline constexpr double least_seconds_of_device = 50e-6;
/// Returns how many of `devices` devices a call uses. Pure.
/// @param seconds_on_one  what the call takes on one device, all operands there
/// @param least_seconds  that each device must have work for
[[nodiscard]] SEMCACHE_API std::size_t devices_that_pay(Spread spread, double seconds_on_one, std::size_t devices,
                                                        double least_seconds = least_seconds_of_device) noexcept;

/// Where the content of an operand is.
struct HeldOperand {
  std::uint64_t bytes = 0;                ///< of the operand
  std::vector<std::uint64_t> on_devices;  ///< so many of these each device holds now
  bool whole = false;                     ///< each device of a call needs all of it; otherwise its share
  bool is_read = true;
  bool is_written = false;
};
/// Returns the bytes that each of `devices` devices gets from others at most, on average, if a call is spread over them. Where a device holds the
/// former content of a result, its new content goes back there, because it is where the program used it last.
[[nodiscard]] SEMCACHE_API double bytes_between_devices(const std::vector<HeldOperand>& operands, std::size_t devices) noexcept;
/// Returns which of `devices` devices holds most of the operands: the first of these, if several do. Pure.
[[nodiscard]] SEMCACHE_API std::uint32_t home_of(const std::vector<HeldOperand>& operands, std::size_t devices);
/// Is a call better made on the device `home` alone than on the first `devices` devices? So it is where moving the operands takes longer than the
/// other devices save. Pure.
[[nodiscard]] SEMCACHE_API bool is_better_at_home(const std::vector<HeldOperand>& operands, double seconds_on_one, std::size_t devices,
                                                  std::uint32_t home);
/// The same as `devices_that_pay` for a call whose operands may lie on devices already: one where moving them takes longer than the other devices
/// save. So a loop in which a kernel on one device and a library call write the same array does not move it to and fro. Content on the host
/// has the same way to any device, and does not matter.
[[nodiscard]] SEMCACHE_API std::size_t devices_that_pay(Spread spread, double seconds_on_one, std::size_t devices,
                                                        const std::vector<HeldOperand>& operands,
                                                        double least_seconds = least_seconds_of_device) noexcept;

/// Whether the calls on a sparse matrix and its vectors, or on vectors of one size, are spread, from what that has cost so far. Their operands move
/// to and fro where kernels on one device use the vectors between the calls, and the matrix, which is large, is where it was used last. So the calls
/// come home to one device when moving vectors has cost more than the other devices saved, by as much as it costs to bring the matrix there. They are
/// spread again, to try, when the other devices would have saved a hundred times as much. So a program loses at most some per cent of its time by
/// either.
class SpreadOrHome {
 public:
  [[nodiscard]] bool is_home() const noexcept { return home_; }
  /// Are calls spread to try whether that pays, because it may have been wrong that they were made at home?
  [[nodiscard]] bool is_trial() const noexcept { return trial_; }
  /// Calls are made at home from now on, because their operands are there.
  void go_home() noexcept {
    home_ = true;
    trial_ = false;
    sum_ = 0;
  }
  /// Counts a call that is spread.
  /// @param moving  the seconds that its operands take from device to device
  /// @param saved  the seconds that the other devices save
  /// @param coming_home  the seconds that the matrix takes to one device
  void count_spread(double moving, double saved, double coming_home) noexcept {
    sum_ = std::max(0.0, sum_ + moving - saved);
    if (sum_ > coming_home) go_home();
  }
  /// Counts a call that is made at home. @param saved  the seconds that other devices would have saved
  void count_home(double saved, double coming_home) noexcept {
    sum_ += saved;
    if (sum_ <= 100 * coming_home) return;
    home_ = false;
    trial_ = true;
    sum_ = 0;
  }

 private:
  bool home_ = false;
  bool trial_ = false;
  double sum_ = 0;  ///< while spread: the seconds lost, at least 0; at home: those that could have been saved
};
/// Returns the operand without what all of `devices` devices hold beyond their shares: they have fetched that for calls that are spread, too. What
/// one device alone has fetched, other code may have used there, and may fetch again.
[[nodiscard]] SEMCACHE_API HeldOperand without_common_copies(HeldOperand operand, std::size_t devices) noexcept;
/// Returns the seconds that the operands of a call that is spread over several devices take from device to device: what a device lacks of what it reads,
/// and what devices have fetched of a result since it was made last, because they may well fetch it again.
[[nodiscard]] SEMCACHE_API double seconds_of_moving(const std::vector<HeldOperand>& operands, std::size_t devices) noexcept;

}  // namespace semcache::policy
