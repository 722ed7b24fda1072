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

/// The memory of an array: of a tracked one, or of one in other host memory.
struct ArrayBlock {
  const void* begin = nullptr;
  std::size_t bytes = 0;
};

/// Recognises a framework's handle of an array by its first two words. A third word belongs to the handle too, but carries no
/// information. Returns false if the words are no handle. Called with arbitrary words.
using RecogniseHandle = bool (*)(std::uintptr_t first, std::uintptr_t second, ArrayBlock& block) noexcept;
SEMCACHE_API void recognise_handles(RecogniseHandle recognise) noexcept;

/// Copies bytes that may be inaccessible or not mapped at all. Returns false if some of them could not be read.
[[nodiscard]] SEMCACHE_API bool read(const void* from, void* to, std::size_t bytes) noexcept;

/// Returns whether the pointer points to code or constants.
[[nodiscard]] SEMCACHE_API bool is_constant(const void* pointer) noexcept;

/// The memory to which the words of a functor lead a kernel, beyond the handles that the functor captured.
///
/// Memory that the device reaches is searched for pointers as it is at that moment: blocks of the heap, and arrays that a handle
/// there owns, within the bounds `most_levels`, `most_blocks` and `most_bytes`. A pointer that the device cannot follow leads
/// nowhere. Any other pointer (to stacks, variables of the program, device memory of other libraries) may lead anywhere, and
/// the launch is unknown.
/// Threads: one at a time.
class SEMCACHE_API Leads {
 public:
  static constexpr std::size_t most_levels = 8;
  static constexpr std::size_t most_blocks = 256;
  static constexpr std::size_t most_bytes = 1u << 20;

  /// The object from which a part of the functor was copied. Pointers into it lead to the content that the copy has, too.
  struct Original {
    const void* address;
    std::size_t bytes;
    std::size_t position;  ///< of its copy in the functor
  };

  /// Follows all words of a functor. Where memory runs out, the leads may end anywhere.
  /// @param words      the functor's words; those of captured handles are zero
  /// @param copy       the functor itself, with the words of handles; the objects that it owns are alive
  void follow(const std::uintptr_t* words, std::size_t count, const void* copy, const Original* originals, std::size_t original_count) noexcept;

  /// Does the same among the arrays of this engine. @param lowest_address  smaller numbers are no addresses
  /// @throws std::bad_alloc
  void follow_in(engine::Engine& engine, std::uintptr_t lowest_address, const std::uintptr_t* words, std::size_t count,
                 const void* copy, const Original* originals, std::size_t original_count);

  /// Returns the tracked arrays (device arrays and mirrors) to which raw pointers lead.
  [[nodiscard]] const std::vector<const void*>& arrays() const noexcept { return arrays_; }
  [[nodiscard]] bool lead_anywhere() const noexcept { return doubt_.what != nullptr; }
  /// Returns, for reports, why the leads may end anywhere: the byte of the functor where the path begins, the memory at its end,
  /// and a remedy. Empty if they do not. Slow.
  [[nodiscard]] std::string reason(const platform::Platform& platform) const;

 private:
  friend class Follower;
  std::vector<const void*> arrays_;
  struct Doubt {
    const char* what = nullptr;
    const char* remedy = nullptr;
    std::size_t position = 0;         ///< of the word in the functor where the path begins
    std::size_t level = 0;            ///< blocks on the path
    const void* pointer = nullptr;    ///< at the end of the path
    bool describes = false;           ///< `reason` names the memory at the end of the path
  } doubt_;
};

}  // namespace semcache::runtime
