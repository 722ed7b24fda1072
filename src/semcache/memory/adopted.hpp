// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/memory/lookup_table.hpp>
#include <semcache/memory/memory.hpp>

#include <atomic>
#include <map>
#include <string>

namespace semcache::memory {

/// Memory of the program's own (from malloc, static, from mmap) that it has lent: *adopted ranges*. Of each range, the *body* is
/// those pages that lie in it as a whole. They are a `Memory`, as a mirror is. The *edges* are what is left in front of the body
/// and behind it, less than a page each, on pages that may hold other data. They are never protected, so they are ordinary memory
/// of the program, and no object represents them. A range without a whole page is all edge.
///
/// Threads: any for `any`, `find`, `find_near`, `next` and `overlaps`, also in signal handlers; the rest is guarded by the engine's
/// lock.
class AdoptedMemory : base::Uncopied {
 public:
  struct Range {
    std::uint64_t bytes = 0;
    std::string label;
    Memory* body = nullptr;  ///< nullptr: the range has no whole page, or accesses to it cannot be noticed
    bool leaving = false;    ///< a thread is releasing it
    std::uint64_t number = 0;  ///< tells this adoption from all others
  };
  using Ranges = std::map<const std::byte*, Range>;  ///< by the first byte

  explicit AdoptedMemory(std::uint64_t page_bytes) noexcept : page_bytes_(page_bytes) {}
  ~AdoptedMemory();

  /// Is there any body? A load.
  [[nodiscard]] bool any() const noexcept { return bodies_.load(std::memory_order_acquire) != 0; }
  /// Returns the body that holds `p`; nullptr if there is none.
  [[nodiscard]] Memory* find(const void* p) const noexcept;
  /// Returns the body at `p` or, where there is none, the first one behind it that begins before `end`; nullptr if there is none.
  [[nodiscard]] Memory* next(const void* p, const void* end) const noexcept;
  /// Is any byte of [first, last] in a range that has a body?
  [[nodiscard]] bool overlaps(const std::byte* first, const std::byte* last) const noexcept {
    return any() && (next(first, last + 1) != nullptr || find_near(first) != nullptr || find_near(last) != nullptr);
  }
  /// Returns the body of the range that holds `p`, also where `p` is in an edge; nullptr if there is none.
  [[nodiscard]] Memory* find_near(const void* p) const noexcept;

  /// Enters the body in the table, so that `find` finds it.
  /// @throws std::bad_alloc  the caller must call `forget` all the same
  void enter(Memory& body);
  void forget(const Memory& body) noexcept;
  /// Returns the whole pages of [address, address + bytes), as numbers of addresses; empty if there are none.
  [[nodiscard]] ByteRange pages_of(const std::byte* address, std::uint64_t bytes) const noexcept;
  /// Returns the range that overlaps [address, address + bytes); the end of `ranges` if there is none.
  [[nodiscard]] Ranges::const_iterator overlapping(const std::byte* address, std::uint64_t bytes) const noexcept;

  Ranges ranges;

 private:
  /// The table has two levels: regions of 1 GiB, each with a table of its own, which is made at the region's first use and kept.
  static constexpr std::uint64_t region_bytes = std::uint64_t{1} << 30;
  using Region = std::atomic<LookupTable*>;
  template <class Visit>
  void for_each_part(const Memory& body, const Visit& visit) const;

  const std::uint64_t page_bytes_;
  std::atomic<std::size_t> bodies_{0};
  std::atomic<Region*> regions_{nullptr};
};

}  // namespace semcache::memory
