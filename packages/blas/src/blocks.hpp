// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

/// Large blocks of the program's heap (class (a) in README.md): pages of our own, with nothing foreign on them. Their records lie elsewhere, in
/// memory that is mapped for them. Nothing here calls malloc. Threads: any; a forked child may go on.
namespace semcache::blas::blocks {

struct Block {
  std::byte* address = nullptr;
  std::size_t bytes = 0;             ///< whole pages
  std::size_t asked = 0;             ///< so many bytes the program has asked for; all of the block once it has used more (`is_used_beyond`)
  std::uint64_t adopted_in = 0;      ///< the epoch of the runtime that has adopted it; 0: none
  bool noticed = false;              ///< the runtime that has adopted it notices accesses to it
  bool written_by_device = false;    ///< a call has written it on a device
  bool stack = false;                ///< a stack lies in it: it is not adopted
  bool changed = false;              ///< the program has changed its mapping: nobody else may get it
};

[[nodiscard]] std::size_t page_bytes() noexcept;

/// Returns whether the block, whatever it was, can be one of `bytes` bytes: it is as large, and at most an eighth larger.
[[nodiscard]] bool serves(const Block& block, std::size_t bytes) noexcept;

enum class Content : std::uint8_t { any, zero };
/// Maps a block of at least `bytes` bytes. Its content is zero, and takes no memory before it is touched.
/// @param alignment  a power of two
/// @return nullptr, and errno is ENOMEM
[[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment, Content content) noexcept;
/// Unmaps a block that `take` has returned.
void unmap(const Block& block) noexcept;

/// Gives a block that `take` has returned another size, perhaps at another address, and notes it.
/// @return nullptr, errno is ENOMEM, and the block is noted as it was
[[nodiscard]] void* remap(Block block, std::size_t bytes) noexcept;

/// Returns whether there are blocks; one load.
[[nodiscard]] bool any() noexcept;
/// Finds the block that holds the address.
[[nodiscard]] bool find(const void* address, Block& block) noexcept;
/// Finds those of several addresses, with one look at the records. @param addresses  null ones are not looked for
/// @param found  empty before, and where there is no block
void find(const void* const* addresses, std::size_t count, std::optional<Block>* found) noexcept;
/// Counts the changes of what `are_adopted` looks at. Who reads the number before `find`, and the same number again while it keeps releases out
/// (`DeviceUse`), need not ask `are_adopted`: the blocks are what `find` has said, or what `was_adopted` has made of them before.
[[nodiscard]] std::uint64_t changes() noexcept;
/// Finds the block that begins at the address, and strikes it off the records.
[[nodiscard]] bool take(const void* address, Block& block) noexcept;
/// Finds an adopted block that overlaps these bytes.
[[nodiscard]] bool find_adopted_in(const std::byte* first, std::size_t bytes, Block& block) noexcept;
/// Notes that the block that begins at the address is adopted in this epoch. @return false if it has ended, or a stack lies in it
/// @param noticed  whether accesses to it are noticed
bool was_adopted(const void* address, std::uint64_t epoch, bool noticed) noexcept;
/// Returns whether the blocks that begin at these addresses are adopted in this epoch, accesses to them are noticed, and no stack lies in any of them.
[[nodiscard]] bool are_adopted(const std::byte* const* addresses, std::size_t count, std::uint64_t epoch) noexcept;
/// Notes that it is not adopted any more.
void was_released(const void* address) noexcept;
/// Notes that a call has written it on a device.
void was_written(const void* address) noexcept;
/// Notes that the program uses more of it than it had asked for. From now on all of it counts as asked for, so that there are two sizes at most.
void is_used_beyond(const void* address) noexcept;
/// Notes that a stack lies in the blocks that overlap these bytes.
void is_stack(const std::byte* first, std::size_t bytes) noexcept;
/// Notes that the program changes the mappings of the blocks that overlap these bytes.
void are_changed(const std::byte* first, std::size_t bytes) noexcept;
/// Notes a block. @return false if there is no memory for its record
bool note(const Block& block) noexcept;

}  // namespace semcache::blas::blocks
