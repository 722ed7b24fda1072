// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/base/error.hpp>

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
/// Returns how many of `devices` devices a call uses. A device more costs the host some launches and transfers, so each must have work for
/// fifty microseconds. Pure.
/// @param seconds_on_one  what the call takes on one device, all operands there
[[nodiscard]] SEMCACHE_API std::size_t devices_that_pay(Spread spread, double seconds_on_one, std::size_t devices) noexcept;

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
/// The same as `devices_that_pay` for a call whose operands may lie on devices already: one where moving them takes longer than the other devices
/// save. So a loop in which a kernel on one device and a library call write the same array does not move it to and fro. Content on the host
/// has the same way to any device, and does not matter.
[[nodiscard]] SEMCACHE_API std::size_t devices_that_pay(Spread spread, double seconds_on_one, std::size_t devices,
                                                        const std::vector<HeldOperand>& operands) noexcept;

}  // namespace semcache::policy
