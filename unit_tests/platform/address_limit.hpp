// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>

namespace semcache::platform::testing {

/// How many bytes of addresses the process has; 0: the kernel does not say. A sanitizer has terabytes from the start.
inline std::uint64_t address_bytes() {
  std::uint64_t pages = 0;
  if (!(std::ifstream("/proc/self/statm") >> pages)) return 0;
  return pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

/// Leaves the process so many addresses beyond those that it has. For processes that end soon.
inline bool limit_addresses(std::uint64_t beyond_bytes) {
  const rlim_t bytes = address_bytes() + beyond_bytes;
  const rlimit limit{bytes, bytes};
  return bytes > beyond_bytes && ::setrlimit(RLIMIT_AS, &limit) == 0;
}

/// The same until its end.
class FewAddresses {
 public:
  explicit FewAddresses(std::uint64_t beyond_bytes) {
    ::getrlimit(RLIMIT_AS, &before_);
    const rlim_t bytes = address_bytes() + beyond_bytes;
    const rlimit limit{bytes < before_.rlim_max ? bytes : before_.rlim_max, before_.rlim_max};
    ::setrlimit(RLIMIT_AS, &limit);
  }
  ~FewAddresses() { ::setrlimit(RLIMIT_AS, &before_); }
  FewAddresses(const FewAddresses&) = delete;
  FewAddresses& operator=(const FewAddresses&) = delete;

 private:
  rlimit before_{};
};

}  // namespace semcache::platform::testing
