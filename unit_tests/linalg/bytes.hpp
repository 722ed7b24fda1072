// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/semcache.hpp>

#include <cstdint>
#include <cstdlib>
#include <ostream>
#include <string>

namespace semcache::test {

/// What has moved: to devices, to the host, and from one device to another.
struct Bytes {
  std::uint64_t h2d, d2h, between;
  friend bool operator==(const Bytes& a, const Bytes& b) { return a.h2d == b.h2d && a.d2h == b.d2h && a.between == b.between; }
  friend Bytes operator-(const Bytes& a, const Bytes& b) { return {a.h2d - b.h2d, a.d2h - b.d2h, a.between - b.between}; }
  friend std::ostream& operator<<(std::ostream& out, const Bytes& b) {
    return out << "h2d " << b.h2d << ", d2h " << b.d2h << ", between devices " << b.between;
  }
};
inline Bytes moved() {
  const Statistics s = statistics();
  return {s.total.h2d.bytes, s.total.d2h.bytes, s.total.between_devices.bytes};
}

/// Do bytes go from one device to another as such? Without peer access they go over the host, and count twice.
inline bool bytes_go_between_devices() {
  const char* const peer_access = std::getenv("SEMCACHE_PEER_ACCESS");
  return peer_access == nullptr || std::string(peer_access) != "off";
}

}  // namespace semcache::test
