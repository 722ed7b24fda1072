// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/base/error.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace semcache::engine {
class Engine;
}
namespace semcache::platform {
class Platform;
}

namespace semcache::runtime {

/// The memory of an array, ours or the host's.
struct ArrayBlock {
  const void* begin = nullptr;
  std::size_t bytes = 0;
};

/// Recognises a framework's handle of an array by its first two words; its third word belongs to it, too, and says nothing.
/// False: they are none. Called with any words.
using RecogniseHandle = bool (*)(std::uintptr_t first, std::uintptr_t second, ArrayBlock& block) noexcept;
SEMCACHE_API void recognise_handles(RecogniseHandle recognise) noexcept;

/// Copies bytes that may be inaccessible or not mapped at all. False: some of them could not be read.
[[nodiscard]] SEMCACHE_API bool read(const void* from, void* to, std::size_t bytes) noexcept;

/// Does it point to code or constants?
[[nodiscard]] SEMCACHE_API bool is_constant(const void* pointer) noexcept;

/// Where the words of a functor lead a kernel, beyond the handles that it captured.
///
/// Memory that the device reaches is looked through as it is at that moment: blocks of the heap, and arrays that a handle
/// there owns, down to `most_levels`, `most_blocks` and `most_bytes`. What the device cannot reach leads nowhere. All else
/// (stacks, variables of the program, device memory of others) may lead anywhere: then the launch is unknown.
/// Threads: one at a time.
class SEMCACHE_API Leads {
 public:
  static constexpr std::size_t most_levels = 8;
  static constexpr std::size_t most_blocks = 256;
  static constexpr std::size_t most_bytes = 1u << 20;

  /// The object that a part of the functor was copied from: pointers into it lead to what the copy has, too.
  struct Original {
    const void* address;
    std::size_t bytes;
    std::size_t position;  ///< of its copy
  };

  /// @param words      the functor's, those of captured handles zero
  /// @param copy       where it lies: its words again, with those of handles, and what it owns is alive
  void follow(const std::uintptr_t* words, std::size_t count, const void* copy, const Original* originals, std::size_t original_count) noexcept;

  /// The same among the arrays of this engine. @param lowest_address  smaller numbers are none  @throws std::bad_alloc
  void follow_in(engine::Engine& engine, std::uintptr_t lowest_address, const std::uintptr_t* words, std::size_t count,
                 const void* copy, const Original* originals, std::size_t original_count);

  /// Raw pointers to arrays of ours, device arrays and mirrors.
  [[nodiscard]] const std::vector<const void*>& arrays() const noexcept { return arrays_; }
  [[nodiscard]] bool lead_anywhere() const noexcept { return doubt_ != nullptr; }
  /// Why they do, for reports: where in the functor the way begins, and what lies at its end. Slow.
  [[nodiscard]] std::string reason(const platform::Platform& platform) const;

 private:
  friend class Follower;
  std::vector<const void*> arrays_;
  const char* doubt_ = nullptr;
  const char* remedy_ = nullptr;
  bool points_ = false;              ///< what lies at the end is to be named
  std::size_t position_ = 0;         ///< of the word in the functor where the way begins
  std::size_t level_ = 0;            ///< blocks on the way
  const void* pointer_ = nullptr;    ///< at its end
};

}  // namespace semcache::runtime
