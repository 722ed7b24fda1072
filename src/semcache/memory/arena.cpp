// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/base/addresses.hpp>
#include <semcache/memory/arena.hpp>
#include <semcache/memory/memory.hpp>

#include <algorithm>

namespace semcache::memory {
namespace {

constexpr std::uint64_t small_limit_bytes = 1024 * 1024;
constexpr std::uint64_t slab_bytes = 4 * 1024 * 1024;

std::uint64_t entered_bytes(const Memory& m) noexcept { return std::max<std::uint64_t>(m.bytes, 1); }

}  // namespace

std::uint64_t share_of_addresses() { return std::max(base::addresses_left() / 4, large_alignment); }

ByteRange Arena::range_of(const Memory& m) const noexcept {
  const auto at = static_cast<std::uint64_t>(m.address - base());
  return {at, at + m.bytes};
}

/// Takes addresses from the slabs of small arrays, and makes one more slab if they are full.
std::optional<std::uint64_t> Arena::allocate_small(std::uint64_t bytes, std::uint64_t alignment) {
  if (const auto at = small_.allocate(bytes, alignment)) return at;
  const auto slab = large_.allocate(slab_bytes, large_alignment);
  if (!slab) return std::nullopt;
  try {
    small_.donate({*slab + alignment, *slab + slab_bytes});  // leaves room for a header in front of the slab's first array
  } catch (...) {
    large_.release({*slab, *slab + slab_bytes});
    throw;
  }
  return small_.allocate(bytes, alignment);
}

std::optional<std::uint64_t> Arena::allocate(Memory& m, std::uint64_t alignment, std::uint64_t in_front) {
  m.reserved_bytes = round_up(entered_bytes(m) + header_gap_bytes, alignment);
  if (m.bytes < small_limit_bytes) return allocate_small(m.reserved_bytes, alignment);
  m.reserved_bytes = round_up(m.reserved_bytes + in_front, large_alignment);
  return large_.allocate(m.reserved_bytes, large_alignment);
}

void Arena::enter(Memory& m, std::uint64_t offset) {
  m.address = base() + offset;
  table_.set(m.address, entered_bytes(m), &m);
}

void Arena::forget(const Memory& m) noexcept { table_.set(m.address, entered_bytes(m), nullptr); }

void Arena::release(std::uint64_t array_bytes, ByteRange place) noexcept {
  (array_bytes < small_limit_bytes ? small_ : large_).release(place);
}

}  // namespace semcache::memory
