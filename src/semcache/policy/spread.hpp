// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/base/error.hpp>

#include <cstddef>
#include <cstdint>

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

}  // namespace semcache::policy
