// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/base/types.hpp>
#include <semcache/platform/linux/maps.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

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

}  // namespace semcache::platform::detail
