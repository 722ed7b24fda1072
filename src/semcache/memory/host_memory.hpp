// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/base/types.hpp>
#include <semcache/memory/arena.hpp>
#include <semcache/memory/mappings.hpp>
#include <semcache/memory/memory.hpp>
#include <semcache/platform/platform.hpp>

#include <vector>

namespace semcache::memory {

/// Addresses for host arrays, and pages behind them. Guarded by the engine's lock, except `find`.
class HostMemory : base::Uncopied {
 public:
  /// @param asked_bytes  of addresses; 0: 256 GiB, but at most a quarter of what a limit on addresses leaves
  /// @param untouched    what pages permit that nobody has used yet
  /// @throws ConfigurationError  there are fewer addresses than asked for
  HostMemory(platform::Platform& platform, Mappings& mappings, std::uint64_t asked_bytes, platform::Protection untouched);
  ~HostMemory();

  [[nodiscard]] std::byte* base() const noexcept { return arena_.base(); }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return arena_.bytes(); }
  [[nodiscard]] bool covers(const void* p) const noexcept { return arena_.covers(p); }
  /// The memory whose data contains `p`, or nullptr. No lock.
  [[nodiscard]] Memory* find(const void* p) const noexcept { return arena_.find(p); }
  /// The mirror whose gap to the next one holds `p`; nullptr: there is none.
  [[nodiscard]] Memory* before_gap(const std::byte* p) const noexcept;

  /// @throws OutOfMemory, SystemError, std::bad_alloc  `give_back` it where it has an address then
  void place(Memory& m, const char* label);
  /// @throws OutOfMemory  it could never be placed
  void expect_fits(const char* label, std::uint64_t bytes) const {
    if (bytes > arena_.bytes()) throw_exhausted(label, bytes);
  }
  /// Nobody uses it any more. Its addresses are kept back while the kernel, at its limit on mappings, does not let its pages be opened:
  /// their next owner would take them for readable.
  void give_back(Memory& m) noexcept;

 private:
  /// A place that is kept back.
  struct Withheld {
    std::byte* address;
    ByteRange place;
    std::uint64_t bytes;  ///< of the array
    directory::BasicExtentMap<PageState> pages;
  };
  static Arena reserve(platform::Platform& platform, std::uint64_t asked_bytes);
  [[noreturn]] void throw_exhausted(const char* label, std::uint64_t bytes) const;
  [[nodiscard]] bool make_usable(std::uint64_t end) noexcept;
  [[nodiscard]] bool open_for_next(std::byte* address, const directory::BasicExtentMap<PageState>& pages) noexcept;
  void release_withheld() noexcept;

  platform::Platform& platform_;
  Mappings& mappings_;
  const platform::Protection untouched_;
  Arena arena_;
  std::uint64_t usable_end_ = 0;  ///< nobody can access what lies behind, and nothing is charged for it
  std::vector<Withheld> withheld_;
};

}  // namespace semcache::memory
