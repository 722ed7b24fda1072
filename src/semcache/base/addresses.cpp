// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/base/addresses.hpp>

#include <link.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>

namespace semcache::base {

std::uint64_t addresses_left() noexcept {
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return UINT64_MAX;
  unsigned long long pages = 0;  // stays 0 if /proc does not give the number
  if (std::FILE* const file = std::fopen("/proc/self/statm", "re")) {
    if (std::fscanf(file, "%llu", &pages) != 1) pages = 0;
    std::fclose(file);
  }
  const std::uint64_t used = pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return limit.rlim_cur > used ? limit.rlim_cur - used : 0;
}

std::uint64_t loads_of_objects() noexcept {
  std::uint64_t loads = 0;
  // The iteration stops after the first object, because the linker's counts are the same in each.
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* to) {
        *static_cast<std::uint64_t*>(to) = info->dlpi_adds + info->dlpi_subs;
        return 1;
      },
      &loads);
  return loads;
}

}  // namespace semcache::base
