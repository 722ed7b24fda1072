// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/platform/linux/maps.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace semcache::platform::detail {
namespace {

/// Takes "begin-end rwxp ..." apart, one character at a time, so that lines may straddle reads.
class LineParser {
 public:
  /// True when `c` completed the part of a line that matters.
  bool feed(char c, Mapping& mapping) noexcept {
    const int at = part_;
    if (c == '\n') {
      *this = LineParser();
    } else if (at < readable) {
      const bool ends = c == '-' || c == ' ';
      part_ += ends ? 1 : 0;
      if (!ends) bound_[at] = bound_[at] * 16 + static_cast<std::uintptr_t>(c >= 'a' ? c - 'a' + 10 : c - '0');
    } else if (at == readable) {
      readable_ = c == 'r';
      part_ = writable;
    } else if (at == writable) {
      mapping = {bound_[0], bound_[1], readable_, c == 'w'};
      part_ = rest;
    }
    return at == writable && c != '\n';
  }

 private:
  enum Part { begin, end, readable, writable, rest };
  int part_ = begin;
  std::uintptr_t bound_[2] = {};
  bool readable_ = false;
};

}  // namespace

bool find_mapping(std::uintptr_t address, Mapping& found) noexcept {
  const int saved = errno;
  const int file = ::open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  bool hit = false;
  if (file >= 0) {
    char buffer[512];  // small: this runs on the stacks of faulting threads
    LineParser parser;
    bool more = true;
    while (more) {
      const ssize_t n = ::read(file, buffer, sizeof buffer);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) break;
      for (ssize_t i = 0; i < n && more; ++i) {
        Mapping mapping;
        if (!parser.feed(buffer[i], mapping) || mapping.end <= address) continue;
        hit = mapping.begin <= address;
        if (hit) found = mapping;
        more = false;  // sorted by address: nothing later can match
      }
    }
    ::close(file);
  }
  errno = saved;
  return hit;
}

}  // namespace semcache::platform::detail
