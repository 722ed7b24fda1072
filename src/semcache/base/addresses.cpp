// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/base/addresses.hpp>

#include <link.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>

namespace semcache::base {

std::uint64_t first_number(const char* file, const char* format) noexcept {
  unsigned long long n = 0;
  if (std::FILE* const opened = std::fopen(file, "re")) {
    if (std::fscanf(opened, format, &n) != 1) n = 0;
    std::fclose(opened);
  }
  return n;
}

std::uint64_t addresses_left() noexcept {
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return UINT64_MAX;
  const std::uint64_t used = first_number("/proc/self/statm", "%llu") * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
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
