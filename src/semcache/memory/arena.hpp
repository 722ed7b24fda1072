// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/memory/address_space.hpp>
#include <semcache/memory/lookup_table.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

namespace semcache::memory {

/// The bytes in front of an array that contain no other data, so that a header there has addresses of its own.
inline constexpr std::uint64_t header_gap_bytes = 128;
/// Arrays that are not small begin at multiples of this, and own all addresses up to the next multiple.
inline constexpr std::uint64_t large_alignment = LookupTable::granule_bytes;

/// Returns how many bytes of addresses one arena takes at most: a quarter of what a limit on virtual memory leaves. The rest
/// stays with the program.
[[nodiscard]] std::uint64_t share_of_addresses();

/// Reserved addresses that arrays get and give back, and a table of which array lies where.
/// Threads: guarded by the engine's lock, except `find`, `covers` and what never changes.
class Arena : base::Uncopied {
 public:
  /// @param owner  the platform or a device, which reserves the addresses, and takes them back at the end
  /// @param bytes  how many are wanted, a multiple of `large_alignment`; there may be fewer
  /// @param unit  the granularity of the table in bytes: no two arrays share a unit
  template <class Owner>
  Arena(Owner& owner, std::uint64_t bytes, std::uint64_t unit)
      : bytes_(bytes),
        base_(owner.reserve(bytes_), [&owner, this](std::byte* first) { owner.release(first, bytes_); }),
        table_(base(), bytes_, unit) {
    // The first granule stays free, so that a header in front of the first array has addresses of its own.
    large_.donate({large_alignment, bytes_});
  }

  /// @param base  addresses that somebody else has reserved for longer than the arena lives, at a multiple of `large_alignment`
  Arena(std::byte* base, std::uint64_t bytes, std::uint64_t unit)
      : bytes_(bytes), base_(base, [](std::byte*) {}), table_(base, bytes_, unit) {
    large_.donate({large_alignment, bytes_});
  }

  [[nodiscard]] std::byte* base() const noexcept { return base_.get(); }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] bool covers(const void* p) const noexcept { return table_.covers(p); }
  /// Returns the memory whose data contains `p`, or nullptr. Threads: any.
  [[nodiscard]] Memory* find(const void* p) const noexcept { return table_.find(p); }
  [[nodiscard]] ByteRange range_of(const Memory& memory) const noexcept;

  /// Takes addresses for an array of `m.bytes` and a gap behind it, at a multiple of `alignment` (a power of two), and sets
  /// `m.reserved_bytes`.
  /// @param in_front  how many bytes more a large array gets (for the header of the array behind it)
  /// @return the offset; nothing if there are no addresses left
  /// @throws std::bad_alloc
  [[nodiscard]] std::optional<std::uint64_t> allocate(Memory& m, std::uint64_t alignment, std::uint64_t in_front = 0);
  /// Sets the array's address and enters it in the table, so that `find` finds it.
  /// @throws std::bad_alloc  the caller must call `forget` all the same
  void enter(Memory& m, std::uint64_t offset);
  /// Removes the array from the table.
  void forget(const Memory& m) noexcept;
  /// Gives back the addresses `place` of an array of `array_bytes` bytes.
  void release(std::uint64_t array_bytes, ByteRange place) noexcept;

 private:
  [[nodiscard]] std::optional<std::uint64_t> allocate_small(std::uint64_t bytes, std::uint64_t alignment);

  std::uint64_t bytes_;
  std::shared_ptr<std::byte> base_;
  LookupTable table_;
  AddressSpace large_, small_;
};

}  // namespace semcache::memory
