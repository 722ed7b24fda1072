// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/base/own_memory.hpp>
#include <semcache/base/types.hpp>
#include <semcache/memory/arena.hpp>
#include <semcache/memory/mappings.hpp>
#include <semcache/memory/memory.hpp>
#include <semcache/platform/platform.hpp>

namespace semcache::memory {

/// Addresses for host arrays, and the pages behind them.
/// Threads: guarded by the engine's lock, except `find`, `covers`, `before_gap` and what never changes.
class HostMemory : Arena {
 public:
  /// @param asked_bytes  how many bytes of addresses to reserve; 0 for 256 GiB, but at most a quarter of what a limit on virtual
  ///                     memory leaves
  /// @param untouched    what pages permit that have not been used yet
  /// @throws ConfigurationError  the system gave fewer addresses than asked for
  HostMemory(platform::Platform& platform, Mappings& mappings, std::uint64_t asked_bytes, platform::Protection untouched);

  using Arena::base, Arena::bytes, Arena::covers, Arena::find;
  /// Returns the mirror behind which `p` lies, in the gap to the next mirror; nullptr if there is none.
  [[nodiscard]] Memory* before_gap(const std::byte* p) const noexcept;

  /// Gives the array addresses and usable pages.
  /// @throws OutOfMemory, SystemError, std::bad_alloc  if the array has an address then, the caller must call `give_back`
  void place(Memory& m, const char* label);
  /// @throws OutOfMemory  an array of so many bytes could never be placed
  void expect_fits(const char* label, std::uint64_t bytes) const {
    if (bytes > Arena::bytes()) throw_exhausted(label, bytes);
  }
  /// Takes the array's addresses and pages back. @pre nothing uses the array any more
  /// While the kernel, at its limit on mappings, refuses to open the pages, the addresses are withheld from other arrays, because
  /// their next owner would expect readable pages.
  /// @param content  `zeros`: nothing has been put into the pages, so they need not be emptied for the next owner
  void give_back(Memory& m, directory::Content content) noexcept;

  /// Addresses that no array has, and that none may get yet.
  struct Withheld {
    std::byte* address;
    ByteRange place;
    std::uint64_t bytes;  ///< of the array that had them
    directory::BasicExtentMap<PageState> pages;
  };
  /// The places of large arrays that were given back, which are not emptied yet because that takes long (a millisecond for some megabytes of small
  /// pages). Their owner calls `discard`, for which it needs no lock, and then `release`.
  /// What has fewer bytes is emptied at once.
  static constexpr std::uint64_t least_full = std::uint64_t{1} << 20;
  [[nodiscard]] bool has_full() const noexcept { return !full_.empty(); }
  [[nodiscard]] base::Vector<Withheld> take_full() noexcept { return std::exchange(full_, {}); }
  void discard(const base::Vector<Withheld>& full) const noexcept;
  void release(base::Vector<Withheld> emptied) noexcept;

 private:
  void release_or_withhold(Withheld place) noexcept;
  [[noreturn]] void throw_exhausted(const char* label, std::uint64_t bytes) const;
  [[nodiscard]] bool make_usable(std::uint64_t end) noexcept;
  [[nodiscard]] bool open_for_next(std::byte* address, const directory::BasicExtentMap<PageState>& pages) noexcept;
  void release_withheld() noexcept;

  platform::Platform& platform_;
  Mappings& mappings_;
  const platform::Protection untouched_;
  std::uint64_t usable_end_ = 0;  ///< pages behind it are inaccessible, and the system charges no memory for them
  base::Vector<Withheld> withheld_;  ///< their pages could not be opened
  base::Vector<Withheld> full_;
};

}  // namespace semcache::memory
