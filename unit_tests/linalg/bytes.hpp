// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/semcache.hpp>

#include <cstdint>
#include <ostream>

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

}  // namespace semcache::test
