// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/base/types.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace semcache::platform::detail {

/// @throws ConfigurationError  with the reason, and perhaps what would help
[[noreturn]] void refuse_userfaultfd(const std::string& why);

/// The kernel's userfaultfd: a thread that touches an absent or write-protected page of a watched range, be it in a
/// system call, sleeps in the kernel until it is woken, and who holds the descriptor is told.
/// Members return 0 or the system's error. Threads: any.
class Userfaultfd : base::Uncopied {
 public:
  struct Fault {
    std::uintptr_t address = 0;
    bool writes = false;
    int thread = 0;  ///< the kernel's number
  };

  /// @throws ConfigurationError  the system refuses, or the kernel is too old; with reason and remedy
  Userfaultfd();
  ~Userfaultfd() { forget(); }

  /// Becomes readable when somebody has faulted.
  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
  /// Adds all faults that nobody has taken yet; does not wait.
  void take(std::vector<Fault>& faults);

  [[nodiscard]] int watch(std::uintptr_t begin, std::uint64_t bytes) noexcept;
  /// Also opens write-protected pages, and wakes who sleeps.
  [[nodiscard]] int unwatch(std::uintptr_t begin, std::uint64_t bytes) noexcept;
  /// Of pages that are present; absent ones stay as they are.
  [[nodiscard]] int write_protect(std::uintptr_t begin, std::uint64_t bytes) noexcept;
  /// Makes absent pages present and write-protected, with the content at `from`, in one step each. Wakes nobody.
  [[nodiscard]] int copy(std::uintptr_t to, const void* from, std::uint64_t bytes) noexcept;
  void wake(std::uintptr_t begin, std::uint64_t bytes) noexcept;

  /// In a forked child: the descriptor reaches the parent's memory.
  void forget() noexcept;

 private:
  int descriptor_ = -1;
};

}  // namespace semcache::platform::detail
