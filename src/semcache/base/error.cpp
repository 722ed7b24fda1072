// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/base/error.hpp>

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace semcache::base {
namespace {

constexpr std::size_t message_size = 1024;

void write_line(const char* text) noexcept {
  const int saved = errno;
  std::size_t left = std::strlen(text);
  while (left > 0) {
    const ssize_t n = ::write(STDERR_FILENO, text, left);
    if (n <= 0) break;
    text += n;
    left -= static_cast<std::size_t>(n);
  }
  errno = saved;
}

void format_line(char (&line)[message_size], const char* format, va_list arguments) noexcept {
  static constexpr char prefix[] = "semcache: ";
  std::memcpy(line, prefix, sizeof prefix);
  const int n = std::vsnprintf(line + sizeof prefix - 1, message_size - sizeof prefix - 1, format, arguments);
  std::size_t end = sizeof prefix - 1 + (n < 0 ? 0 : static_cast<std::size_t>(n));
  if (end > message_size - 2) end = message_size - 2;
  line[end] = '\n';
  line[end + 1] = '\0';
}

void abort_with(const char* message) {
  write_line(message);
  std::abort();
}

std::atomic<FatalHandler> fatal_handler{&abort_with};

}  // namespace

FatalHandler set_fatal_handler(FatalHandler handler) noexcept {
  return fatal_handler.exchange(handler ? handler : &abort_with);
}

void fatal(const char* format, ...) noexcept {
  char line[message_size];
  va_list arguments;
  va_start(arguments, format);
  format_line(line, format, arguments);
  va_end(arguments);
  fatal_handler.load()(line);
  std::abort();
}

std::string text_of(const void* address) {
  char text[2 + 2 * sizeof address + 1];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(reinterpret_cast<std::uintptr_t>(address)));
  return text;
}

void raw_log(const char* format, ...) noexcept {
  char line[message_size];
  va_list arguments;
  va_start(arguments, format);
  format_line(line, format, arguments);
  va_end(arguments);
  write_line(line);
}

}  // namespace semcache::base
