// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/base/addresses.hpp>
#include <semcache/base/types.hpp>

#include <atomic>
#include <cstdint>

namespace semcache::platform::detail {

/// Pages outside the arenas whose faults are served as well: any number of ranges, anywhere.
/// Threads: any. Signal handlers may call `at`, which takes no lock and never waits. The memory is kept until the process ends,
/// because a handler may be reading it.
class WatchedPages : base::Uncopied {
 public:
  enum class State : std::uint8_t {
    never = 0,
    watched = 1,
    was_watched = 2,  ///< the watch has ended, and a fault that was raised before may still be on its way to the handler
  };
  constexpr WatchedPages() noexcept = default;

  [[nodiscard]] State at(std::uintptr_t address) const noexcept {
    const auto* const top = top_.load(std::memory_order_acquire);
    if (top == nullptr || address >= base::end_of_addresses) return State::never;
    const Leaf* const leaf = top[address / leaf_bytes].load(std::memory_order_acquire);
    if (leaf == nullptr) return State::never;
    const std::uint64_t unit = address % leaf_bytes / unit_bytes;
    return static_cast<State>(leaf->words[unit / units_per_word].load(std::memory_order_acquire) >> (unit % units_per_word * 2) & 3);
  }
  [[nodiscard]] bool watches(std::uintptr_t address) const noexcept { return at(address) == State::watched; }

  /// Sets the state of whole pages. Changes to `was_watched` of pages that were watched before need no memory.
  /// @throws std::bad_alloc  nothing has changed
  void set(std::uintptr_t begin, std::uint64_t bytes, State state);

 private:
  static constexpr std::uint64_t unit_bytes = 4096;  // no processor has smaller pages
  static constexpr std::uint64_t leaf_bytes = std::uint64_t{1} << 30;
  static constexpr std::uint64_t units_per_word = 32;
  struct Leaf {
    std::atomic<std::uint64_t> words[leaf_bytes / unit_bytes / units_per_word];  // two bits for each unit
  };
  std::atomic<std::atomic<Leaf*>*> top_{nullptr};
};

}  // namespace semcache::platform::detail
