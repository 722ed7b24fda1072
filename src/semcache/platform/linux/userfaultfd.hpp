// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/base/own_memory.hpp>
#include <semcache/base/types.hpp>

#include <cstdint>
#include <string>

namespace semcache::platform::detail {

/// Throws because userfaultfd cannot be used. @throws ConfigurationError  with the reason, and a remedy where there is one
[[noreturn]] void refuse_userfaultfd(const std::string& why);

/// The kernel's userfaultfd: a thread that touches an absent or write-protected page of a watched range, directly or within a
/// system call, sleeps in the kernel until it is woken, and the holder of the descriptor receives a report.
/// Members that return `int` return 0 or the system's error. Threads: any.
class Userfaultfd : base::Uncopied {
 public:
  struct Fault {
    std::uintptr_t address = 0;
    bool writes = false;
    int thread = 0;  ///< the kernel's number of the thread
  };

  /// @throws ConfigurationError  the system refuses, or the kernel is too old; the text has reason and remedy
  Userfaultfd();
  ~Userfaultfd() { forget(); }

  /// Returns the descriptor, which becomes readable when a thread has faulted.
  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
  /// Appends all faults that have not been taken yet. Does not wait. @throws SystemError  the descriptor cannot be read
  void take(base::Vector<Fault>& faults);

  [[nodiscard]] int watch(std::uintptr_t begin, std::uint64_t bytes) noexcept;
  /// Ends the watch of a range. Also makes its write-protected pages writable, and wakes threads that sleep there.
  [[nodiscard]] int unwatch(std::uintptr_t begin, std::uint64_t bytes) noexcept;
  /// Write-protects the pages that are present; absent ones stay absent.
  [[nodiscard]] int write_protect(std::uintptr_t begin, std::uint64_t bytes) noexcept;
  /// Makes absent pages present and write-protected, with the content at `from`, in one step each. Wakes no thread.
  [[nodiscard]] int copy(std::uintptr_t to, const void* from, std::uint64_t bytes) noexcept;
  void wake(std::uintptr_t begin, std::uint64_t bytes) noexcept;

  /// Closes the descriptor. To be called in a forked child, where the descriptor still reaches the parent's memory.
  void forget() noexcept;

 private:
  int descriptor_ = -1;
};

}  // namespace semcache::platform::detail
