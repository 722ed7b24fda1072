// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/runtime/leads.hpp>

#include <semcache/base/addresses.hpp>
#include <semcache/runtime/lifetime.hpp>

#include <algorithm>
#include <atomic>
#include <new>

namespace semcache::runtime {
namespace {

constexpr std::size_t word_bytes = sizeof(std::uintptr_t);

std::atomic<RecogniseHandle> recognise_handle{nullptr};

using base::number;
using base::pointer;

/// Returns whether the words are equal but for the lowest bit: in a handle's word that holds the address of its record, this bit
/// tells whether the handle owns a share of the record.
bool same(std::uintptr_t word, std::uintptr_t other) noexcept { return (word | 1) == (other | 1); }

}  // namespace

/// One search through the memory to which a functor leads. Allocates, and reads memory only by means that cannot fault.
///
/// A word is loose if an object that was freed may have left it there, or another object may own it. A loose word counts if it
/// leads to arrays; it never makes the launch unknown. Loose words are followed last.
class Follower {
 public:
  Follower(engine::Engine& engine, std::uintptr_t lowest_address, Leads& leads)
      : engine_(engine), lowest_address_(lowest_address), leads_(leads) {}

  void follow(const std::uintptr_t* words, std::size_t count, const void* copy,
              const Leads::Original* originals, std::size_t original_count) {
    copy_ = {number(copy), count * word_bytes, {0, 0}};
    for (const Leads::Original* o = originals; o != originals + original_count; ++o) {
      originals_.push_back({number(o->address), o->bytes, {o->position, 0}});
    }
    states_of_originals_.assign(originals_.size(), Original::untouched);
    for (std::size_t i = 0; i < count && !doubts();) {
      i += word(words + i, count - i, copy_.begin + i * word_bytes, {i * word_bytes, 0});
    }
    settle();
    certain_ = false;  // doubts about loose words are ignored
    for (std::size_t l = 0; l < loose_.size() && !doubts(); ++l) {
      const std::uintptr_t loose = loose_[l].word;
      (void)word(&loose, 1, 0, loose_[l].way);
      settle();
    }
  }

 private:
  /// The path from the functor to a word.
  struct Way {
    std::size_t position;  ///< the byte of the functor where the path begins
    std::size_t level;     ///< blocks on the path
  };
  struct Block {
    std::uintptr_t begin;
    std::size_t bytes;
    Way way;
    std::size_t followed = bytes;  ///< words beyond this many bytes are loose
    [[nodiscard]] bool holds(std::uintptr_t word) const noexcept { return word - begin < bytes; }
  };
  /// A word that is followed later, when more blocks are known.
  struct Pending {
    std::uintptr_t word;
    Way way;
  };

  [[nodiscard]] bool looks_like_pointer(std::uintptr_t word) const noexcept {
    return word >= lowest_address_ && word < base::end_of_addresses;
  }
  /// Is the address in an arena, or in adopted memory?
  [[nodiscard]] bool may_be_array(const void* p) const noexcept {
    return engine_.state().in_any_arena(p) || engine_.state().adopted.find_near(p) != nullptr;
  }
  [[nodiscard]] bool doubts() const noexcept { return leads_.lead_anywhere(); }
  /// Searches all blocks, originals and pending pointers, including those that are found meanwhile.
  void settle() {
    look_through_blocks();
    for (std::size_t o = 0; o < originals_.size() && !doubts(); ++o) {
      if (states_of_originals_[o] == Original::meant) {
        states_of_originals_[o] = Original::looked_through;
        look_through_original(originals_[o]);
      }
    }
    look_through_blocks();
    while (looked_around_ < pending_.size() && !doubts()) {
      look_around(pending_[looked_around_++]);
      look_through_blocks();
    }
  }

  /// Follows the first of the words, and further ones that belong to the same object.
  /// @param left  how many words follow, this one included
  /// @param at  the address of the words; 0 for loose words
  /// @return how many words have been dealt with
  std::size_t word(const std::uintptr_t* words, std::size_t left, std::uintptr_t at, Way way) {
    const std::uintptr_t word = *words;
    if (!looks_like_pointer(word)) return 1;
    if (is_short_string(words, left, at)) {
      // An object of another type may look like a string, and have pointers where a string has characters.
      loose_.push_back({words[2], way});
      loose_.push_back({words[3], way});
      return 4;
    }
    if (left >= 2 && looks_like_pointer(words[1])) {
      ArrayBlock array;
      const RecogniseHandle recognise = recognise_handle.load(std::memory_order_relaxed);
      if (recognise != nullptr && recognise(word, words[1], array)) {
        if (may_be_array(array.begin)) {
          const engine::Memory* const adopted = engine_.state().adopted.find_near(array.begin);
          leads_.arrays_.push_back(adopted != nullptr ? adopted->address : array.begin);
        } else if (array.bytes != 0 && engine_.state().home().device->can_reach(array.begin)) {
          add_block(number(array.begin), array.bytes, array.bytes, words[1], way);
        }
        if (left < 3) return 2;
        loose_.push_back({words[2], way});  // this word may belong to another object
        return 3;
      }
    }
    if (may_be_array(pointer(word))) {
      arena_pointer(word, way);
      return 1;
    }
    // A word with the lowest bits set is no address to follow: it is a handle's word with its record, while objects that hold
    // handles are aligned.
    if (word % word_bytes == 0) address(words, left, way);
    return 1;
  }

  void address(const std::uintptr_t* words, std::size_t left, Way way) {
    const std::uintptr_t word = *words;
    if (copy_.holds(word)) return;
    if (inside_a_block(word)) return;
    for (std::size_t o = 0; o < originals_.size(); ++o) {
      if (originals_[o].holds(word)) {
        if (states_of_originals_[o] == Original::untouched) states_of_originals_[o] = Original::meant;
        return;
      }
    }
    const platform::Platform& platform = *engine_.state().platform;
    if (!engine_.state().home().device->can_reach(pointer(word))) return;
    if (engine_.state().foreign_space_at(pointer(word)) != host_space) {
      return doubt(word, way, "to device memory of somebody else's", "hold it in semcache::Space");
    }
    switch (platform.classify(pointer(word))) {
      case platform::Platform::Mapped::no:
      case platform::Platform::Mapped::no_handles: return;
      case platform::Platform::Mapped::constant: return constant(word, way);
      case platform::Platform::Mapped::yes: break;
    }
    const platform::Platform::HostBlock block = platform.heap_block(pointer(word));
    if (block.leads_nowhere) return;
    if (block.bytes != 0) {
      const std::size_t extent = extent_of_container(words, left, block);
      if (extent == 0) follow_behind(block, way);
      return add_block(block.begin, block.bytes, extent != 0 ? extent : block.bytes, word, way);
    }
    if (ends_a_block(word) || !certain_) return;
    pending_.push_back({word, way});
  }

  /// Returns how many bytes of a heap block a vector or a string uses, as the words after its pointer state. The rest of the
  /// block may hold words of an earlier owner. Returns 0 if the words are not those of a vector or a string.
  [[nodiscard]] std::size_t extent_of_container(const std::uintptr_t* words, std::size_t left,
                                                platform::Platform::HostBlock block) const noexcept {
    constexpr std::size_t most_added = 24, longest_short_string = 15;
    if (left < 3 || words[0] != block.begin || words[1] > words[2]) return 0;
    const auto is_extent = [&](std::size_t bytes) { return bytes <= block.bytes && block.bytes - bytes < most_added; };
    if (words[0] <= words[1] && is_extent(words[2] - words[0])) return words[2] - words[0];
    const std::size_t string = words[2] + 1;
    char end = 1;
    if (words[2] > longest_short_string && is_extent(string) &&
        engine_.state().platform->read(pointer(words[0] + words[1]), &end, 1) && end == 0) {
      return string;
    }
    return 0;
  }

  /// Returns whether the words are a std::string that holds its characters itself, in two words after its pointer and its length;
  /// the characters do not fill them.
  [[nodiscard]] static bool is_short_string(const std::uintptr_t* words, std::size_t left, std::uintptr_t address) noexcept {
    return left >= 4 && words[0] == address + 2 * word_bytes && words[1] < 16;
  }

  void add_block(std::uintptr_t begin, std::size_t bytes, std::size_t followed, std::uintptr_t word, Way way) {
    for (const Block& block : blocks_) {
      if (block.begin == begin && block.bytes >= bytes) return;
    }
    bytes_ += bytes;
    if (bytes_ > Leads::most_bytes || blocks_.size() >= Leads::most_blocks || way.level >= Leads::most_levels) {
      return doubt(word, way, "to more memory than is looked through",
                   "capture the members that the kernel needs, not the object that holds them");
    }
    blocks_.push_back({begin, bytes, {way.position, way.level + 1}, followed});
  }

  /// Follows the words behind a block loosely as far as another one may cover both: what was taken for a block may be a part of that one, where numbers of
  /// the program look like the heap's own. An object to which something points is hardly longer than `most_behind`.
  void follow_behind(platform::Platform::HostBlock block, Way way) {
    constexpr std::uintptr_t most_behind = 4096;
    if (!certain_) return;
    const platform::Platform& platform = *engine_.state().platform;
    const platform::Platform::HostBlock around = platform.heap_around(pointer(block.begin));
    const std::uintptr_t begin = block.begin + block.bytes / word_bytes * word_bytes;
    const std::uintptr_t end = std::min(around.begin + around.bytes, begin + most_behind);
    if (end <= begin) return;
    std::vector<std::uintptr_t> behind((end - begin) / word_bytes);
    if (!platform.read(pointer(begin), behind.data(), behind.size() * word_bytes)) return;
    for (const std::uintptr_t word : behind) {
      if (looks_like_pointer(word)) loose_.push_back({word, {way.position, way.level + 1}});
    }
  }

  /// Adds the array into which the pointer points, to whose end it points, or a little in front of which it points, as
  /// `data() - 1` does; no other object lies between arrays. Any other address in the device arena is a doubt if the functor
  /// itself holds it, because the kernel may compute an array's address from it. In blocks such an address is ignored, because it
  /// may belong to an array that has been freed.
  void arena_pointer(std::uintptr_t word, Way way) {
    constexpr std::uintptr_t in_front = header_bytes;
    if (const engine::Memory* const m = engine_.state().adopted.find_near(pointer(word))) return leads_.arrays_.push_back(m->address);
    for (const std::uintptr_t near : {word, word - 1, word + in_front}) {
      const engine::Memory* const m = engine_.state().find(pointer(near));
      const bool is_meant = m != nullptr && m->live && !m->part && word - (number(m->address) - in_front) <= in_front + m->bytes;
      if (is_meant) return leads_.arrays_.push_back(m->address);
    }
    if (way.level == 0 && engine_.state().in_device_arena(pointer(word))) {
      doubt(word, way, "to device memory, but to none of its arrays", "hold a View of the array that is meant");
    }
  }

  /// Examines the words around a pointer to constants. Constants hold no arrays, but a table of pointers, whose length is not
  /// known, may hold addresses of variables that do.
  void constant(std::uintptr_t word, Way way) {
    constexpr std::size_t before = 2, behind = 16;
    const platform::Platform& platform = *engine_.state().platform;
    std::uintptr_t words[before + behind] = {};
    std::size_t count = before + behind;
    while (count > before && !platform.read(pointer(word - before * word_bytes), words, count * word_bytes)) count /= 2;
    const auto is_constant = [&](std::size_t i) { return platform.is_constant(pointer(words[i])); };
    // This is a table of virtual functions: in front of it lie a small offset and the address of the type's description.
    constexpr std::uintptr_t largest_offset = 1u << 20;
    if (words[0] + largest_offset < 2 * largest_offset && (words[1] == 0 || is_constant(1)) && is_constant(2)) return;
    for (std::size_t i = before; i < count && !doubts(); ++i) {
      if (!looks_like_pointer(words[i]) || platform.classify(pointer(words[i])) != platform::Platform::Mapped::yes) continue;
      doubt(words[i], way, "through constants to ", "capture by value what it stands for", Reason::names_memory);
    }
  }

  [[nodiscard]] bool inside_a_block(std::uintptr_t word) const noexcept {
    return std::any_of(blocks_.begin(), blocks_.end(), [&](const Block& block) { return block.holds(word); });
  }

  /// Returns whether the word is the end of a known block. Containers hold such an address; under sanitizers another block may
  /// begin there.
  [[nodiscard]] bool ends_a_block(std::uintptr_t word) const noexcept {
    return std::any_of(blocks_.begin(), blocks_.end(), [&](const Block& block) { return word - block.begin == block.bytes; });
  }

  [[nodiscard]] bool read(const Block& block) {
    content_.resize(block.bytes / word_bytes);
    if (content_.empty() || engine_.state().platform->read(pointer(block.begin), content_.data(), content_.size() * word_bytes)) {
      return true;
    }
    doubt(block.begin, block.way, "to memory that cannot be read", "capture Views instead");
    return false;
  }

  /// Searches all blocks, including those that are found meanwhile.
  void look_through_blocks() {
    while (looked_through_ < blocks_.size() && !doubts()) look_through(blocks_[looked_through_++]);
  }

  /// Follows a pointer into the middle of memory to whose beginning no other pointer led.
  void look_around(Pending middle) {
    if (inside_a_block(middle.word) || ends_a_block(middle.word)) return;
    const platform::Platform::HostBlock block = engine_.state().platform->heap_around(pointer(middle.word));
    if (block.leads_nowhere) return;
    if (block.bytes != 0) return add_block(block.begin, block.bytes, block.bytes, middle.word, middle.way);
    doubt(middle.word, middle.way, "to ", "capture by value what it stands for", Reason::names_memory);
  }

  void look_through(Block block) {
    if (!read(block)) return;
    const std::size_t followed = block.followed / word_bytes;
    std::size_t i = 0;
    while (i < followed && !doubts()) {
      i += word(content_.data() + i, followed - i, block.begin + i * word_bytes, block.way);
    }
    if (!certain_) return;
    for (; i < content_.size(); ++i) {
      if (looks_like_pointer(content_[i])) loose_.push_back({content_[i], block.way});
    }
  }

  /// Follows the words of the original that differ from those of its copy, because the copy's words, handles included, are
  /// followed anyway.
  void look_through_original(const Block& original) {
    if (!read(original)) return;
    std::vector<std::uintptr_t> copied(content_.size());
    if (!engine_.state().platform->read(pointer(copy_.begin + original.way.position), copied.data(), copied.size() * word_bytes)) return;
    for (std::size_t i = 0; i < content_.size() && !doubts(); ++i) {
      if (!same(content_[i], copied[i])) {
        (void)word(content_.data() + i, 1, original.begin + i * word_bytes, {original.way.position + i * word_bytes, 1});
      }
    }
  }

  enum class Reason : std::uint8_t { complete, names_memory };  ///< `names_memory`: a description of the memory follows
  void doubt(std::uintptr_t word, Way way, const char* what, const char* remedy, Reason reason = Reason::complete) noexcept {
    if (!doubts() && certain_) leads_.doubt_ = {what, remedy, way.position, way.level, pointer(word), reason == Reason::names_memory};
  }

  engine::Engine& engine_;
  const std::uintptr_t lowest_address_;
  Leads& leads_;
  Block copy_{};
  std::vector<Block> originals_;
  enum class Original : std::uint8_t { untouched, meant, looked_through };
  std::vector<Original> states_of_originals_;
  std::vector<Block> blocks_;
  std::size_t looked_through_ = 0;
  std::vector<Pending> pending_;  ///< pointers that lead to no known beginning of a block
  std::size_t looked_around_ = 0;
  std::vector<Pending> loose_;
  bool certain_ = true;         ///< no loose word is being followed
  std::vector<std::uintptr_t> content_;  ///< of the block that is searched
  std::size_t bytes_ = 0;
};

void recognise_handles(RecogniseHandle recognise) noexcept { recognise_handle.store(recognise); }

bool read(const void* from, void* to, std::size_t bytes) noexcept {
  const Presence presence;
  const Runtime* r = running();
  return r != nullptr && r->engine->state().platform->read(from, to, bytes);
}

bool is_constant(const void* pointer) noexcept {
  const Presence presence;
  const Runtime* r = running();
  return r != nullptr && r->engine->state().platform->is_constant(pointer);
}

void Leads::follow_in(engine::Engine& engine, std::uintptr_t lowest_address, const std::uintptr_t* words, std::size_t count,
                      const void* copy, const Original* originals, std::size_t original_count) {
  Follower(engine, lowest_address, *this).follow(words, count, copy, originals, original_count);
}

void Leads::follow(const std::uintptr_t* words, std::size_t count, const void* copy,
                   const Original* originals, std::size_t original_count) noexcept {
  const Call call;
  Runtime* r = running();
  if (r == nullptr) return;  // there are no arrays
  try {
    follow_in(*r->engine, r->lowest_address, words, count, copy, originals, original_count);
  } catch (const std::bad_alloc&) {
    doubt_.what = "to more than there is memory to look through";
    doubt_.remedy = "capture the members that the kernel needs, not the object that holds them";
  }
}

std::string Leads::reason(const platform::Platform& platform) const {
  if (!lead_anywhere()) return {};
  const auto& [what, remedy, position, level, pointer, describes] = doubt_;
  std::string text = "the pointer at byte " + std::to_string(position) + " of the functor leads ";
  if (level > 0) text += "through " + std::to_string(level) + (level == 1 ? " block " : " blocks ");
  return text + what + (describes ? platform.describe(pointer) : "") + ": " + remedy;
}

}  // namespace semcache::runtime
