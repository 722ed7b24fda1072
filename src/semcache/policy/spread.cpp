// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/policy/spread.hpp>

#include <algorithm>

namespace semcache::policy {

std::size_t devices_that_pay(Spread spread, double seconds_on_one, std::size_t devices) noexcept {
  constexpr double least_seconds = 50e-6;
  if (spread == Spread::never || devices < 2) return 1;
  if (spread == Spread::always) return devices;
  return static_cast<std::size_t>(std::clamp(seconds_on_one / least_seconds, 1.0, static_cast<double>(devices)));
}

}  // namespace semcache::policy
