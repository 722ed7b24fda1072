// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace semcache {

#if defined(_WIN32)
#error "SemCache needs a POSIX system"
#endif
#define SEMCACHE_API __attribute__((visibility("default")))

/// Base of everything that SemCache throws. The state of the runtime is as it was before the call (I9).
struct SEMCACHE_API Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The caller broke a precondition: an address that is not tracked, a range outside its array, a null pointer.
struct SEMCACHE_API UsageError : Error {
  using Error::Error;
};

/// A configuration variable or option has a value that cannot be used. The text names variable, value and remedy.
struct SEMCACHE_API ConfigurationError : Error {
  using Error::Error;
};

/// Memory of a space is exhausted and nothing more can be evicted. The text lists the live buffers with their labels.
class SEMCACHE_API OutOfMemory : public Error {
 public:
  OutOfMemory(const std::string& what, std::uint64_t requested_bytes, std::uint64_t budget_bytes)
      : Error(what), requested_bytes_(requested_bytes), budget_bytes_(budget_bytes) {}
  [[nodiscard]] std::uint64_t requested_bytes() const noexcept { return requested_bytes_; }
  [[nodiscard]] std::uint64_t budget_bytes() const noexcept { return budget_bytes_; }

 private:
  std::uint64_t requested_bytes_;
  std::uint64_t budget_bytes_;
};

/// The device's driver reported a failure. The text carries the driver's name of the error and the call.
struct SEMCACHE_API DeviceError : Error {
  using Error::Error;
};

/// The operating system refused a call (mapping, protection, signal handler).
struct SEMCACHE_API SystemError : Error {
  using Error::Error;
};

namespace base {

/// A function that ends a process whose state is broken or would be silently stale (I8). The default writes `message` to stderr
/// with write(2) and aborts. Tests replace it; a replacement must not return.
using FatalHandler = void (*)(const char* message);
/// Replaces the fatal handler; nullptr restores the default. @return the handler before
SEMCACHE_API FatalHandler set_fatal_handler(FatalHandler handler) noexcept;

/// Ends the process through the fatal handler. Formats into a fixed buffer: allocation-free, async-signal-safe
/// for %s %d %u %x %p %lu %llu %zu (vsnprintf without floating point).
[[noreturn]] SEMCACHE_API void fatal(const char* format, ...) noexcept __attribute__((format(printf, 1, 2)));

/// Returns the address as text, such as "0x7f0012345000", for messages that may allocate.
[[nodiscard]] SEMCACHE_API std::string text_of(const void* address);

/// Writes one line to stderr by write(2), with the prefix "semcache: ". Allocation-free; for handlers, destructors, noexcept
/// code.
SEMCACHE_API void raw_log(const char* format, ...) noexcept __attribute__((format(printf, 1, 2)));

}  // namespace base
}  // namespace semcache

/// Checks an invariant of the runtime, in every build. A broken invariant ends the process, because continuing could be silently
/// stale (I8).
#define SEMCACHE_CHECK(condition)                                                                             \
  do {                                                                                                        \
    if (!(condition)) ::semcache::base::fatal("broken invariant: %s (%s:%d)", #condition, __FILE__, __LINE__); \
  } while (0)

/// Checks a precondition of the caller, in every build; throws UsageError with `message` (a std::string expression).
#define SEMCACHE_EXPECTS(condition, message)                         \
  do {                                                               \
    if (!(condition)) throw ::semcache::UsageError(message);         \
  } while (0)
