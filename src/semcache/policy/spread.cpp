// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/policy/spread.hpp>

#include <algorithm>
#include <numeric>

namespace semcache::policy {

std::size_t devices_that_pay(Spread spread, double seconds_on_one, std::size_t devices, double least_seconds) noexcept {
  if (spread == Spread::never || devices < 2) return 1;
  if (spread == Spread::always) return devices;
  return static_cast<std::size_t>(std::clamp(seconds_on_one / least_seconds, 1.0, static_cast<double>(devices)));
}

double bytes_between_devices(const std::vector<HeldOperand>& operands, std::size_t devices) noexcept {
  const auto count = static_cast<double>(devices);
  double sum = 0;
  for (const HeldOperand& o : operands) {
    const double needed = static_cast<double>(o.bytes) / (o.whole ? 1.0 : count);
    double on_devices = 0, lacking = 0;
    for (const std::uint64_t held : o.on_devices) on_devices += static_cast<double>(held);
    for (std::size_t d = 0; d < devices; ++d) {
      const double own = d < o.on_devices.size() ? static_cast<double>(o.on_devices[d]) : 0.0;
      lacking += std::clamp(needed - own, 0.0, on_devices - own);
    }
    sum += lacking * ((o.is_read ? 1.0 : 0.0) + (o.is_written ? 1.0 : 0.0));
  }
  return sum / count;
}

double seconds_of_moving(const std::vector<HeldOperand>& operands, std::size_t devices) noexcept {
  double bytes = 0;
  for (const HeldOperand& o : operands) {
    const double needed = static_cast<double>(o.bytes) / (o.whole ? 1.0 : static_cast<double>(devices));
    const double on_devices = std::accumulate(o.on_devices.begin(), o.on_devices.end(), 0.0);
    double most_lacking = 0;
    for (std::size_t d = 0; d < devices; ++d) {
      const double own = d < o.on_devices.size() ? static_cast<double>(o.on_devices[d]) : 0.0;
      most_lacking = std::max(most_lacking, std::clamp(needed - own, 0.0, on_devices - own));
    }
    if (o.is_read) bytes += most_lacking;
    if (!o.is_written) continue;
    // What a device has lost of its share of a result was fetched, too, and then changed; or a kernel of other code has used it, which may have.
    const double fetched = on_devices - static_cast<double>(o.bytes);
    bytes += std::max({0.0, fetched, o.is_read ? 0.0 : most_lacking});
  }
  return bytes / bytes_between_devices_a_second;
}

HeldOperand without_common_copies(HeldOperand o, std::size_t devices) noexcept {
  if (o.whole || o.on_devices.size() < devices || devices == 0) return o;
  const std::uint64_t share = o.bytes / devices;
  const std::uint64_t least = *std::min_element(o.on_devices.begin(), o.on_devices.begin() + static_cast<std::ptrdiff_t>(devices));
  if (least <= share) return o;
  for (std::size_t d = 0; d < devices; ++d) o.on_devices[d] -= least - share;
  return o;
}

std::uint32_t home_of(const std::vector<HeldOperand>& operands, std::size_t devices) {
  std::vector<double> held(std::max<std::size_t>(devices, 1), 0.0);
  for (const HeldOperand& o : operands) {
    for (std::size_t d = 0; d < std::min(devices, o.on_devices.size()); ++d) held[d] += static_cast<double>(o.on_devices[d]);
  }
  return static_cast<std::uint32_t>(std::max_element(held.begin(), held.end()) - held.begin());
}

bool is_better_at_home(const std::vector<HeldOperand>& operands, double seconds_on_one, std::size_t devices, std::uint32_t home) {
  std::vector<HeldOperand> at_home = operands;
  for (HeldOperand& o : at_home) {
    if (home < o.on_devices.size()) std::swap(o.on_devices[0], o.on_devices[home]);
  }
  const double alone = seconds_on_one + bytes_between_devices(at_home, 1) / bytes_between_devices_a_second;
  const double together = seconds_on_one / static_cast<double>(devices) + bytes_between_devices(operands, devices) / bytes_between_devices_a_second;
  return together >= alone;
}

std::size_t devices_that_pay(Spread spread, double seconds_on_one, std::size_t devices, const std::vector<HeldOperand>& operands,
                             double least_seconds) noexcept {
  const std::size_t enough_work = devices_that_pay(spread, seconds_on_one, devices, least_seconds);
  if (spread != Spread::automatic || enough_work < 2) return enough_work;
  return is_better_at_home(operands, seconds_on_one, enough_work, home_of(operands, devices)) ? 1 : enough_work;
}

}  // namespace semcache::policy
