// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/engine/dual_views.hpp>

#include <algorithm>
#include <cstring>

namespace semcache::engine {

void DualViews::pair(Memory& device, Memory& host) { pairs_.push_back({&device, &host}); }

void DualViews::note_host_write(const Memory& host) noexcept {
  for (Pair& p : pairs_) {
    if (p.host != &host || p.state != Pair::State::same) continue;
    p.state = Pair::State::host_is_newer;
    p.written = trace::Place::here();
  }
}

void DualViews::note_copy(const Memory* to, const Memory* from) noexcept {
  for (Pair& p : pairs_) {
    if (p.host == to && p.state == Pair::State::used_without_sync) tell(p);
    if (p.host == to || p.host == from) p.state = Pair::State::same;  // what the host has written is overwritten, or was needed
  }
}

Obstacle DualViews::look_at(const Operand* operands, std::size_t count) {
  for (Pair& p : pairs_) {
    const auto is_device = [&](const Operand& o) { return o.memory == p.device; };
    if (p.state != Pair::State::host_is_newer || std::none_of(operands, operands + count, is_device)) continue;
    if (const Obstacle o = hazards_.uses_of(*p.device)) return o;
    if (const Obstacle o = hazards_.uses_of(*p.host)) return o;
    if (!State::is_resident(*p.device, p.device->all()) || !differ(*p.device, *p.host)) continue;
    p.state = Pair::State::used_without_sync;
    p.used = trace::Place::here();
  }
  return {};
}

/// Tells whether the sides differ where both hold what is wanted.
bool DualViews::differ(Memory& device, Memory& host) {
  std::vector<std::byte> there = executor_.content_of(device, device.all());
  std::vector<std::byte> here = executor_.content_of(host, host.all());
  for (const Memory* side : {&device, &host}) {
    for (const Region& stale : s_.stale(side->slot, side->all())) {
      const ByteRange range = stale.hull();
      std::memset(there.data() + range.begin, 0, range.size());
      std::memset(here.data() + range.begin, 0, range.size());
    }
  }
  return there != here;
}

void DualViews::leave(const Memory& m) noexcept {
  for (std::size_t i = 0; i < pairs_.size();) {
    if (pairs_[i].device != &m && pairs_[i].host != &m) {
      ++i;
      continue;
    }
    if (pairs_[i].state == Pair::State::used_without_sync) tell(pairs_[i]);
    pairs_.erase(pairs_.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

void DualViews::tell(Pair& p) noexcept {
  base::raw_log("SEMCACHE_CHECK: perhaps a sync is missing: '%s' was written (%s), then a kernel (%s) used '%s', the device side of this "
                "Kokkos::DualView, which had other content, and nothing has taken what was written. Call modify_host() and sync_device(), or use "
                "semcache::DualView", s_.name(*p.host), p.written.text().c_str(), p.used.text().c_str(), s_.name(*p.device));
}

}  // namespace semcache::engine
