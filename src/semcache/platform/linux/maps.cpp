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
    if (c == '\n') {
      *this = LineParser();
      return false;
    }
    switch (field_) {
      case Field::begin:
        if (c == '-') {
          begin_ = number_;
          number_ = 0;
          field_ = Field::end;
        } else {
          number_ = number_ * 16 + digit(c);
        }
        return false;
      case Field::end:
        if (c == ' ') {
          field_ = Field::readable;
        } else {
          number_ = number_ * 16 + digit(c);
        }
        return false;
      case Field::readable:
        readable_ = c == 'r';
        field_ = Field::writable;
        return false;
      case Field::writable:
        mapping = {begin_, number_, readable_, c == 'w'};
        field_ = Field::rest;
        return true;
      case Field::rest:
        return false;
    }
    return false;
  }

 private:
  enum class Field { begin, end, readable, writable, rest };

  static std::uintptr_t digit(char c) noexcept {
    return static_cast<std::uintptr_t>(c >= 'a' ? c - 'a' + 10 : c - '0');
  }

  Field field_ = Field::begin;
  std::uintptr_t number_ = 0;
  std::uintptr_t begin_ = 0;
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
