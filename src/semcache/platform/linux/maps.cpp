// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/platform/linux/maps.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace semcache::platform::detail {

bool find_mapping(std::uintptr_t address, Mapping& found) noexcept {
  const int saved = errno;
  const int file = ::open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  bool hit = false;
  if (file >= 0) {
    char buffer[512];  // small, because this runs on the stacks of faulting threads
    // Parses "begin-end rwxp ..." one character at a time, so that lines may straddle reads.
    enum Part { begin, end, readable, writable, rest };
    int part = begin;
    std::uintptr_t bound[2] = {};
    bool can_read = false;
    // Lines are sorted by address: no line behind the first one that ends later can match.
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
          more = part != writable || bound[end] <= address;
          hit = !more && bound[begin] <= address;
          if (hit) found = {bound[begin], bound[end], can_read, c == 'w'};
          ++part;
        }
      }
    }
    ::close(file);
  }
  errno = saved;
  return hit;
}

}  // namespace semcache::platform::detail
