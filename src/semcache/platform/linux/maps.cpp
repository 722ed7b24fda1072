// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/base/addresses.hpp>
#include <semcache/base/types.hpp>
#include <semcache/platform/linux/maps.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <utility>

namespace semcache::platform::detail {

namespace {

/// Calls `visit(mapping)` for the mappings in the order of their addresses, until it returns false.
template <class Visit>
void for_each_mapping(const Visit& visit) noexcept {
  const int saved = errno;
  const int file = ::open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (file >= 0) {
    char buffer[512];  // small, because this runs on the stacks of faulting threads
    // Parses "begin-end rwxp ..." one character at a time, so that lines may straddle reads.
    enum Part { begin, end, readable, writable, rest };
    int part = begin;
    std::uintptr_t bound[2] = {};
    bool can_read = false;
    for (bool more = true; more;) {
      const ssize_t n = ::read(file, buffer, sizeof buffer);
      if (n < 0 && errno == EINTR) continue;
      more = n > 0;
      for (ssize_t i = 0; i < n && more; ++i) {
        const char c = buffer[i];
        if (c == '\n') {
          part = begin;
          bound[begin] = bound[end] = 0;
        } else if (part < readable && c != '-' && c != ' ') {
          bound[part] = bound[part] * 16 + static_cast<std::uintptr_t>(c >= 'a' ? c - 'a' + 10 : c - '0');
        } else if (part < rest) {
          if (part == readable) can_read = c == 'r';
          if (part == writable) more = visit(Mapping{bound[begin], bound[end], can_read, c == 'w'});
          ++part;
        }
      }
    }
    ::close(file);
  }
  errno = saved;
}

}  // namespace

bool find_mapping(std::uintptr_t address, Mapping& found) noexcept {
  bool hit = false;
  for_each_mapping([&](const Mapping& m) {
    if (m.end <= address) return true;
    hit = m.begin <= address;  // no later one can hold the address
    if (hit) found = m;
    return false;
  });
  return hit;
}

bool read_maps(std::string& text) {
  const int file = ::open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  const base::AtEnd close([&] { ::close(file); });
  for (;;) {
    char buffer[4096];
    const ssize_t n = ::read(file, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return n == 0;
    text.append(buffer, static_cast<std::size_t>(n));
  }
}

std::string why_not_adoptable(std::string maps, std::uintptr_t begin, std::uintptr_t end, const AskedOfMapping& is_data,
                              const AskedOfMapping& grows_downwards) {
  std::uintptr_t expected = begin;
  for (std::size_t line = 0, behind = 0; line < maps.size() && expected < end; line = behind) {
    behind = std::min(maps.find('\n', line), maps.size() - 1) + 1;
    maps[behind - 1] = '\0';  // sscanf reads a text to its end before it begins
    unsigned long long first = 0, last = 0, inode = 0;
    char access[5] = "", name[256] = "";
    if (std::sscanf(maps.c_str() + line, "%llx-%llx %4s %*s %*s %llu%*[ ]%255[^\n]", &first, &last, access, &inode, name) < 4) break;
    if (last <= expected) continue;
    if (first > expected) break;
    const std::string called = name[0] != '\0' ? std::string(" (") + name + ")" : "";
    const std::string there = " at " + base::text_of(base::pointer(expected)) + called;
    const std::uintptr_t from = std::max<std::uintptr_t>(first, begin), to = std::min<std::uintptr_t>(last, end);
    const bool is_file = inode != 0 && !is_data(from, to);
    if (std::strncmp(name, "[stack", 6) == 0) return "on a stack";
    if (is_file && std::strstr(name, "hugepage") != nullptr) return "in huge pages that were asked for (hugetlb)" + there;
    if (access[3] != 'p') return "in memory that may be shared with other processes" + there;
    if (access[0] != 'r' || access[1] != 'w') return "in memory that cannot be read and written" + there;
    if (access[2] == 'x') return "in memory that may be executed" + there;
    if (is_file) return "in a mapped file" + there;
    if (grows_downwards(from, to)) return "in memory that grows downwards (MAP_GROWSDOWN), as a stack does" + there;
    expected = last;
  }
  return expected < end ? std::string("where nothing is mapped, at ") + base::text_of(base::pointer(expected)) : std::string();
}

}  // namespace semcache::platform::detail
