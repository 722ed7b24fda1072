// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/base/own_memory.hpp>
#include <semcache/base/region.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace semcache::memory {

/// The blocks of one array's device memory. A block is what is mapped and evicted at once. The object notes which blocks are mapped, and
/// when each was used last.
///
/// A block's index counts from the array's begin. Borders between blocks are borders of granules, so no two arrays share a granule
/// across such a border.
/// Threads: with the engine's lock.
class Blocks {
 public:
  struct Block {
    bool mapped = false;
    bool asked = false;       ///< its memory has been asked for, so it is not evicted
    std::uint16_t listed = 0; ///< listed in the heaps of mapped blocks, one bit for each device; also kept while no array has the block
  };

  /// Begins anew, for an array of `bytes` bytes. No block is mapped.
  /// @param block_bytes  of each block, a multiple of the granule; 0: the array is one block
  /// @param skew  how many bytes of its first granule lie in front of the array
  /// @throws std::bad_alloc  nothing has changed
  void begin(std::uint64_t bytes, std::uint64_t block_bytes, std::uint64_t skew) {
    const std::size_t count = block_bytes == 0 ? 1 : static_cast<std::size_t>((skew + bytes - 1) / block_bytes + 1);
    if (count > 1) {
      if (many_ == nullptr) many_ = std::make_unique<Many>();
      if (many_->others.size() < count - 1) many_->others.resize(count - 1);
      many_->used.assign(count, 0);
      many_->each = block_bytes;
      many_->skew = skew;
      many_->mapped = many_->asked = 0;
      many_->partly = many_->wholly = 0;
    }
    count_ = static_cast<std::uint32_t>(count);
    bytes_ = bytes;
    for (std::size_t i = 0; i < count; ++i) at_index(i).mapped = at_index(i).asked = false;
  }

  [[nodiscard]] std::size_t count() const noexcept { return count_; }
  [[nodiscard]] const Block& operator[](std::size_t i) const noexcept { return i == 0 ? first_ : many_->others[i - 1]; }
  /// Notes in which heaps the block is listed.
  void set_listed(std::size_t i, std::uint16_t devices) noexcept { at_index(i).listed = devices; }
  /// Returns which bytes of the array's memory the block has.
  [[nodiscard]] ByteRange range(std::size_t i) const noexcept {
    if (count_ == 1) return {0, bytes_};
    return {i == 0 ? 0 : i * many_->each - many_->skew, std::min(bytes_, (i + 1) * many_->each - many_->skew)};
  }
  /// Returns the block that has the byte at this position of the array's memory.
  [[nodiscard]] std::size_t at(std::uint64_t position) const noexcept {
    return count_ == 1 ? 0 : static_cast<std::size_t>((position + many_->skew) / many_->each);
  }
  /// Calls `visit(index)` for each block that has bytes of the region, in order.
  template <class Visit>
  void for_each(const Region& where, const Visit& visit) const {
    if (count_ == 1) return visit(std::size_t{0});
    if (where.empty()) return;
    std::size_t next = 0;
    const auto visit_range = [&](ByteRange r) {
      const std::size_t last = at(r.end - 1);
      for (next = std::max(next, at(r.begin)); next <= last; ++next) visit(next);
    };
    // Between columns that are less than a block apart, no block is left out.
    if (where.pitch <= many_->each) return visit_range(where.hull());
    for (std::uint64_t c = 0; c < where.columns; ++c) visit_range(where.column(c));
  }
  /// Calls `visit(ByteRange)` for ranges that are these blocks together, as long as they can be.
  template <class Visit>
  void for_each_range_around(const Region& where, const Visit& visit) const {
    ByteRange run;
    for_each(where, [&](std::size_t i) {
      const ByteRange next = range(i);
      if (!run.empty() && run.end != next.begin) visit(std::exchange(run, next));
      run = {run.empty() ? next.begin : run.begin, next.end};
    });
    if (!run.empty()) visit(run);
  }
  template <class Test>
  [[nodiscard]] bool all_of(const Region& where, const Test& test) const {
    bool all = true;
    for_each(where, [&](std::size_t i) { all = all && test((*this)[i]); });
    return all;
  }

  // --- what is mapped ----------------------------------------------------------------------------------------------
  void set_mapped(std::size_t i, bool mapped) noexcept {
    if (count_ > 1) many_->mapped += (mapped ? 1u : 0u) - (at_index(i).mapped ? 1u : 0u);
    at_index(i).mapped = mapped;
  }
  void set_asked(std::size_t i, bool asked) noexcept {
    if (count_ > 1) many_->asked += (asked ? 1u : 0u) - (at_index(i).asked ? 1u : 0u);
    at_index(i).asked = asked;
  }
  [[nodiscard]] bool all_mapped() const noexcept { return count_ == 1 ? first_.mapped : many_->mapped == count_; }
  [[nodiscard]] bool any_mapped() const noexcept { return count_ == 1 ? first_.mapped : many_->mapped > 0; }
  [[nodiscard]] bool any_asked() const noexcept { return count_ == 1 ? first_.asked : many_->asked > 0; }
  /// Are all blocks mapped that have bytes of the region?
  [[nodiscard]] bool mapped(const Region& where) const {
    return all_mapped() || (any_mapped() && all_of(where, [](const Block& b) { return b.mapped; }));
  }
  /// Calls `visit(ByteRange)` for each range of the array's memory that is mapped, as long as it can be.
  template <class Visit>
  void for_each_mapped_range(const Visit& visit) const {
    for (std::size_t i = 0; i < count_ && any_mapped();) {
      const std::size_t first = i;
      while (i < count_ && (*this)[i].mapped) ++i;
      if (i > first) visit(ByteRange{range(first).begin, range(i - 1).end});
      if (i < count_) ++i;
    }
  }

  // --- when they were used -----------------------------------------------------------------------------------------
  /// Notes a use of a part of the array. Uses of the whole array are noted in `Memory::recently` alone, which needs no lock.
  /// @param recently  `Memory::recently`; it must be set to `now` afterwards
  void note_use(const Region& where, std::uint64_t now, std::uint64_t recently) {
    if (count_ == 1) return;
    if (recently != many_->partly) many_->wholly = recently;
    many_->partly = now;
    for_each(where, [&](std::size_t i) { many_->used[i] = now; });
  }
  /// Returns the engine's clock at the block's last use. @param recently  `Memory::recently`
  [[nodiscard]] std::uint64_t used(std::size_t i, std::uint64_t recently) const noexcept {
    return count_ == 1 || recently != many_->partly ? recently : std::max(many_->used[i], many_->wholly);
  }

 private:
  /// What an array of several blocks has besides. An object that has had several blocks keeps this.
  struct Many {
    std::uint64_t each = 0;  ///< bytes of a block
    std::uint64_t skew = 0;
    std::uint32_t mapped = 0;
    std::uint32_t asked = 0;
    std::uint64_t partly = 0;         ///< the clock at the last use of a part, if no use of the whole array has followed
    std::uint64_t wholly = 0;         ///< the clock at the last use of the whole array before that
    base::Vector<Block> others;        ///< all blocks but the first; perhaps more than the array has
    base::Vector<std::uint64_t> used;  ///< the clock at the last use of a part that has bytes in the block
  };
  [[nodiscard]] Block& at_index(std::size_t i) noexcept { return i == 0 ? first_ : many_->others[i - 1]; }

  std::uint64_t bytes_ = 0;
  std::uint32_t count_ = 1;
  Block first_;
  std::unique_ptr<Many> many_;
};

}  // namespace semcache::memory
