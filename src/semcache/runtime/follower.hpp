// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/base/addresses.hpp>
#include <semcache/engine/engine.hpp>
#include <semcache/runtime/leads.hpp>

namespace semcache::runtime {

/// One look through what a functor leads to. Allocates; touches nothing but by reads that cannot fault.
class Follower {
 public:
  Follower(engine::Engine& engine, std::uintptr_t lowest_address, Leads& leads)
      : engine_(engine), lowest_address_(lowest_address), leads_(leads) {}

  void follow(const std::uintptr_t* words, std::size_t count, const void* copy, const Leads::Original* originals, std::size_t original_count);

 private:
  /// How one got to a word.
  struct Way {
    std::size_t position;  ///< where in the functor it begins
    std::size_t level;     ///< blocks on it
  };
  struct Block {
    std::uintptr_t begin;
    std::size_t bytes;
    Way way;
    std::size_t followed = bytes;  ///< words behind that many bytes may be anything: they are loose
    [[nodiscard]] bool holds(std::uintptr_t word) const noexcept { return word - begin < bytes; }
  };
  /// A word that is looked at when all others have been.
  struct Pending {
    std::uintptr_t word;
    Way way;
  };

  [[nodiscard]] bool looks_like_pointer(std::uintptr_t word) const noexcept {
    return word >= lowest_address_ && word < base::end_of_addresses;
  }
  [[nodiscard]] bool doubts() const noexcept { return leads_.lead_anywhere(); }
  void settle();
  std::size_t word(const std::uintptr_t* words, std::size_t left, std::uintptr_t at, Way way);
  void address(const std::uintptr_t* words, std::size_t left, Way way);
  [[nodiscard]] std::size_t extent_of_container(const std::uintptr_t* words, std::size_t left,
                                                platform::Platform::HostBlock block) const noexcept;
  [[nodiscard]] static bool is_short_string(const std::uintptr_t* words, std::size_t left, std::uintptr_t address) noexcept;
  void add_block(std::uintptr_t begin, std::size_t bytes, std::size_t followed, std::uintptr_t word, Way way);
  void arena_pointer(std::uintptr_t word, Way way);
  void constant(std::uintptr_t word, Way way);
  [[nodiscard]] bool inside_a_block(std::uintptr_t word) const noexcept;
  [[nodiscard]] bool ends_a_block(std::uintptr_t word) const noexcept;
  [[nodiscard]] bool read(const Block& block);
  void look_through_blocks();
  void look_around(Pending middle);
  void look_through(Block block);
  void look_through_original(const Block& original);
  void doubt(std::uintptr_t word, Way way, const char* what, const char* remedy) noexcept;

  engine::Engine& engine_;
  const std::uintptr_t lowest_address_;
  Leads& leads_;
  Block copy_{};
  std::vector<Block> originals_;
  enum class Original : std::uint8_t { untouched, meant, looked_through };
  std::vector<Original> states_of_originals_;
  std::vector<Block> blocks_;
  std::size_t looked_through_ = 0;
  std::vector<Pending> pending_;  ///< pointers into the middle of something
  std::size_t looked_around_ = 0;
  std::vector<Pending> loose_;  ///< words that may be anything, left by somebody else: where they lead to arrays, it counts
  bool certain_ = true;         ///< no loose word is being followed
  std::vector<std::uintptr_t> content_;  ///< of the block being looked through
  std::size_t bytes_ = 0;
};

}  // namespace semcache::runtime
