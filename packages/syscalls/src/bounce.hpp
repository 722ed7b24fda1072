// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/runtime/runtime.hpp>

#include <cstddef>

namespace semcache::syscalls {

/// Returns whether any of the buffer is in a mirror, that is, in a tracked array of the host. Async-signal-safe; takes a few nanoseconds, and
/// as many for each page of a buffer in which adopted memory begins late.
[[nodiscard]] bool is_mirror(const void* address, std::size_t bytes) noexcept;
/// The same for a buffer that the call fills.
[[nodiscard]] bool is_mirror(void* address, std::size_t bytes) noexcept;

/// Private memory that the kernel gets in place of (part of) a mirror during one call. A buffer with adopted memory in it may have bytes of no
/// mirror, too: they are copied as they are. Its functions throw what the functions
/// of runtime::ForeignIo throw.
class Bounce {
 public:
  explicit Bounce(std::size_t bytes);
  ~Bounce();
  Bounce(const Bounce&) = delete;
  Bounce& operator=(const Bounce&) = delete;

  [[nodiscard]] char* data() const noexcept { return reinterpret_cast<char*>(transit_.address); }
  /// Copies `bytes` bytes of the mirror's content to `at`, which is in this memory. They are there when the function returns.
  void from_mirror(const void* mirror, std::size_t bytes, char* at) const;
  void from_mirror(const void* mirror, std::size_t bytes) const { from_mirror(mirror, bytes, data()); }
  /// Makes the `bytes` bytes at `at` the mirror's new content.
  void to_mirror(void* mirror, std::size_t bytes, const char* at) const;
  void to_mirror(void* mirror, std::size_t bytes) const { to_mirror(mirror, bytes, data()); }

 private:
  runtime::Transit transit_;
};

/// Returns the errno for the exception that is being handled.
[[nodiscard]] int error_of_exception() noexcept;

}  // namespace semcache::syscalls
