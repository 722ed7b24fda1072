// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/memory/address_space.hpp>
#include <semcache/memory/lookup_table.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>

namespace semcache::memory {

/// No other data lies in so many bytes in front of an array: a header there has addresses of its own.
inline constexpr std::uint64_t header_gap_bytes = 128;
/// Arrays that are not small begin at multiples of it, and have all addresses up to the next one.
inline constexpr std::uint64_t large_alignment = LookupTable::granule_bytes;

/// So many addresses one arena takes at most, where they are limited: the rest stays the program's.
[[nodiscard]] std::uint64_t share_of_addresses();

/// Reserved addresses, which arrays get and give back, and which array lies where. Guarded by the engine's lock, except `find`.
class Arena {
 public:
  /// @param base  of `bytes` addresses, a multiple of `large_alignment` as `bytes` is; the caller gives them back
  /// @param unit  no two arrays share so many bytes
  /// @param free  which of them arrays may have
  Arena(std::byte* base, std::uint64_t bytes, std::uint64_t unit, ByteRange free) : base_(base), bytes_(bytes), table_(base, bytes, unit) {
    large_.donate(free);
  }

  [[nodiscard]] std::byte* base() const noexcept { return base_; }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] bool covers(const void* p) const noexcept { return table_.covers(p); }
  /// The memory whose data contains `p`, or nullptr. No lock.
  [[nodiscard]] Memory* find(const void* p) const noexcept { return table_.find(p); }
  [[nodiscard]] ByteRange range_of(const Memory& memory) const noexcept;

  /// Addresses for an array of `m.bytes`, at a multiple of `alignment` (a power of two), and a gap behind it.
  /// @param in_front  of a large one: so many bytes more
  /// @return the offset; none: there are no addresses left. `m.reserved_bytes` is set
  /// @throws std::bad_alloc
  [[nodiscard]] std::optional<std::uint64_t> allocate(Memory& m, std::uint64_t alignment, std::uint64_t in_front = 0);
  /// The array lies there, and is found, from now on. @throws std::bad_alloc  it is to be `forget`ten all the same
  void enter(Memory& m, std::uint64_t offset);
  /// It is found no more.
  void forget(const Memory& m) noexcept;
  /// The addresses of an array of so many bytes can be given to others.
  void release(std::uint64_t array_bytes, ByteRange place) noexcept;

 private:
  [[nodiscard]] std::optional<std::uint64_t> allocate_small(std::uint64_t bytes, std::uint64_t alignment);

  std::byte* base_;
  std::uint64_t bytes_;
  LookupTable table_;
  AddressSpace large_, small_;
};

}  // namespace semcache::memory
