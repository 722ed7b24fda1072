// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/runtime/runtime.hpp>

#include <cstddef>

namespace semcache::syscalls {

/// Is the address in a tracked array of the host? Async-signal-safe, a few nanoseconds.
[[nodiscard]] bool is_mirror(const void* address) noexcept;
[[nodiscard]] bool is_mirror(void* address) noexcept;  ///< of a buffer that holds nothing yet

/// Private memory that stands in for (part of) a mirror during one call. @throws what ForeignIo throws
class Bounce {
 public:
  explicit Bounce(std::size_t bytes);
  ~Bounce();
  Bounce(const Bounce&) = delete;
  Bounce& operator=(const Bounce&) = delete;

  [[nodiscard]] char* data() const noexcept { return reinterpret_cast<char*>(transit_.address); }
  /// Copies the mirror's content to `at`, which lies in this memory.
  void from_mirror(const void* mirror, std::size_t bytes, char* at) const;
  void from_mirror(const void* mirror, std::size_t bytes) const { from_mirror(mirror, bytes, data()); }
  /// Makes what is at `at` the mirror's content.
  void to_mirror(void* mirror, std::size_t bytes, const char* at) const;
  void to_mirror(void* mirror, std::size_t bytes) const { to_mirror(mirror, bytes, data()); }

 private:
  runtime::Transit transit_;
};

/// The errno of the exception that is being handled.
[[nodiscard]] int error_of_exception() noexcept;

}  // namespace semcache::syscalls
