// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/base/own_memory.hpp>
#include <semcache/base/region.hpp>
#include <semcache/directory/extent_map.hpp>

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace semcache::directory {

/// Total map from the bytes [0, size) of an array to references to values, as maximal extents. An extent is a region whose bytes all have
/// the same *displacement*: the byte at position p has the reference {value, p - displacement}.
///
/// A map has a *shape*: a pitch, which cuts the bytes into columns of so many bytes; the last column may be shorter. Without a shape all
/// bytes are one column. Extents are rectangles of that grid, so a rectangle of a column-major matrix is one extent where the pitch is
/// the matrix' leading dimension in bytes. Columns that are cut alike lie in a *band*: an extent spans all columns of its band.
/// A tiling by rows is one band of so many extents, a tiling by columns so many bands of one extent.
///
/// Cost: O(log extents) to find, plus the extents touched; a change in the number of extents moves the tail of one array of 48-byte
/// records (a memmove). The common case, one extent, is a handful of loads.
class RegionMap {
 public:
  struct Extent {
    Region where;
    ValueRef ref;  ///< of the first byte
    [[nodiscard]] std::int64_t displacement() const noexcept {
      return static_cast<std::int64_t>(where.begin) - static_cast<std::int64_t>(ref.offset);
    }
    /// The reference of the byte at `position`, which is one of these.
    [[nodiscard]] ValueRef at(std::uint64_t position) const noexcept { return ref.advanced(position - where.begin); }
  };

  RegionMap(std::uint64_t size, ValueRef initial) : size_(size) {
    if (size > 0) records_.push_back({{0, size, 0, 1}, initial});
  }

  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
  /// Bytes from one column to the next; `one_column`: the map has no shape.
  [[nodiscard]] std::uint64_t pitch() const noexcept { return pitch_; }
  [[nodiscard]] std::size_t extent_count() const noexcept { return records_.size(); }
  /// The reference of byte 0 where one extent covers everything, the common case; nullptr otherwise.
  [[nodiscard]] const ValueRef* uniform() const noexcept { return records_.size() == 1 ? &records_.front().ref : nullptr; }
  [[nodiscard]] std::uint64_t memory_bytes() const noexcept { return records_.capacity() * sizeof(Record); }

  /// Returns whether `test(Region piece, ValueRef first)` holds for all of the pieces that are the bytes of `where` together. Asks in
  /// ascending order where the map has no shape or `where` lies in one column, else column by column of bands, up to the first piece
  /// for which it does not hold. `test` must not change this map.
  template <class Test>
  bool all_of(const Region& where, Test&& test) const {
    if (pitch_ == one_column && where.is_range()) {
      const ByteRange range = intersect(where.hull(), {0, size_});
      for (std::size_t i = range.empty() ? records_.size() : find(range.begin, 0); i < records_.size(); ++i) {
        const Record& e = records_[i];
        if (e.at.row_begin >= range.end) break;
        const std::uint64_t begin = std::max(range.begin, e.at.row_begin);
        if (!test(Region(ByteRange{begin, std::min(range.end, e.at.row_end)}), e.ref.advanced(begin - e.at.row_begin))) return false;
      }
      return true;
    }
    bool all = true;
    for_each_rectangle(where.is_range() ? Region(intersect(where.hull(), {0, size_})) : where, pitch_, [&](const Rectangle& r) {
      std::size_t i = all ? find(r.row_begin, r.column_begin) : records_.size();
      while (i < records_.size()) {
        const Record& e = records_[i];
        if (e.at.column_begin >= r.column_end) return;
        if (e.at.row_begin < r.row_end) {
          if (!test_part(e, common(e.at, r), test)) {
            all = false;
            return;
          }
          ++i;
          if (i == records_.size() || records_[i].at.column_begin == e.at.column_begin) continue;
        }
        i = find(r.row_begin, e.at.column_end);  // of the next band
      }
    });
    return all;
  }
  /// Calls `visit(Region piece, ValueRef first)` for the same pieces in the same order. `visit` must not change this map.
  template <class Visit>
  void for_each(const Region& where, Visit&& visit) const {
    all_of(where, [&](const Region& piece, ValueRef first) {
      visit(piece, first);
      return true;
    });
  }

  /// The same as a list.
  [[nodiscard]] base::Vector<Extent> extents(const Region& where) const {
    base::Vector<Extent> pieces;
    for_each(where, [&](const Region& piece, ValueRef first) { pieces.push_back({piece, first}); });
    return pieces;
  }

  [[nodiscard]] ValueRef at(std::uint64_t position) const noexcept {
    const std::uint64_t column = pitch_ == one_column ? 0 : position / pitch_;
    const Record& e = records_[find(position - column * pitch_, column)];
    return e.ref.advanced(position - e.begin(pitch_));
  }

  /// Returns whether `assign` takes the region: it is a byte range, or has the pitch of the map.
  [[nodiscard]] bool takes(const Region& where) const noexcept { return where.is_range() || where.pitch == pitch_; }

  /// Afterwards `assign` cannot fail for `where`. @pre takes(where)
  void make_room(const Region& where) {
    if (where.is_range() && where.width >= size_) return;
    if (pitch_ == one_column) return base::make_room(records_, 2);
    std::size_t longest = 0;  // band
    std::size_t bands = 0;
    for_each_rectangle(where, pitch_, [&](const Rectangle& r) {
      for (std::size_t i = find(0, r.column_begin); i < records_.size() && records_[i].at.column_begin < r.column_end; ++bands) {
        const std::size_t end = band_end(i);
        longest = std::max(longest, end - i);
        i = end;
      }
    });
    // Each rectangle cuts two bands in two, and each band that it meets gets two more extents. At most three rectangles follow each other.
    const std::size_t rectangles = where.is_range() ? 3 : 2;
    base::make_room(records_, rectangles * (2 * (longest + 2 * rectangles) + 2 * (bands + 2 * rectangles)));
  }
  /// Afterwards `assign` cannot fail for these regions, one after the other. @pre the map takes each of them
  void make_room(const base::Vector<Region>& regions) {
    if (pitch_ == one_column) return base::make_room(records_, 2 * regions.size());
    if (regions.size() == 1) return make_room(regions.front());
    // Each region gets a value of its own in a copy, so no extents merge that do not merge in this map.
    RegionMap trial = *this;
    ValueId value = no_value / 2;
    for (const Region& r : regions) {
      trial.make_room(r);
      trial.assign(r, {++value, 0}, [](const Extent&, int) {});
    }
    base::make_room(records_, trial.records_.capacity() - std::min(trial.records_.capacity(), records_.size()));
  }

  /// Gives the bytes of `where` (inside the map, not empty) the displacement that `ref` has at its first byte, merging with neighbours. All
  /// of the map never fails. `count(Extent, +1 or -1)` is told of extents that appear or vanish: of each displacement as many as there are
  /// more or fewer, appearances first. @pre takes(where)
  template <class Count>
  void assign(const Region& where, ValueRef ref, Count&& count) {
    assert(!where.empty() && where.end() <= size_ && takes(where));
    if (where.is_range() && where.width == size_) return assign_all(ref, count);
    for_each_rectangle(where, pitch_, [&](const Rectangle& r) {
      const std::uint64_t ahead = r.column_begin * pitch_ + r.row_begin - where.begin;  // no shape: column 0
      const ValueRef first = ref.advanced(ahead);
      // The last column ends early: it is cut as if it did not.
      Rectangle whole = r;
      if (pitch_ != one_column && r.column_begin * pitch_ + r.row_end == size_) whole.row_end = pitch_;
      assign_rectangle(whole, first, count);
    });
  }

  /// The same map with another shape; none if it would have more than `most` extents, or if more than 64 columns of its extents would
  /// become extents of their own.
  [[nodiscard]] std::optional<RegionMap> shaped(std::uint64_t pitch, std::size_t most) const {
    constexpr std::uint64_t most_cut = 64;
    std::uint64_t cut = 0;
    RegionMap other(size_, {no_value, 0});
    other.pitch_ = pitch;
    if (pitch != one_column && size_ > 0) other.records_.front().at = {0, pitch, 0, (size_ + pitch - 1) / pitch};
    bool fits = true;
    for_each(Region(ByteRange{0, size_}), [&](const Region& piece, ValueRef ref) {
      if (!other.takes(piece)) cut += piece.columns;
      fits = fits && cut <= most_cut;
      for_each_in_shape(piece, pitch, [&](const Region& part) {
        if (!fits) return;
        other.make_room(part);
        other.assign(part, ref.advanced(part.begin - piece.begin), [](const Extent&, int) {});
        fits = other.extent_count() <= most;
      });
    });
    if (!fits) return {};
    return other;
  }
  /// Calls `visit(Extent)` for each extent as it is stored: one for each displacement that `assign` counts.
  template <class Visit>
  void for_each_extent(Visit&& visit) const {
    for (const Record& e : records_) visit(extent(e));
  }

 private:
  /// Sorted by columns, then by rows.
  struct Record {
    Rectangle at;
    ValueRef ref;  ///< of the first byte
    [[nodiscard]] std::uint64_t begin(std::uint64_t pitch) const noexcept { return at.column_begin * pitch + at.row_begin; }
  };
  [[nodiscard]] Extent extent(const Record& e) const noexcept { return {e.at.region(pitch_), e.ref}; }
  [[nodiscard]] ValueRef ref_at(const Record& e, std::uint64_t row, std::uint64_t column) const noexcept {
    return e.ref.advanced((column - e.at.column_begin) * pitch_ + (row - e.at.row_begin));
  }

  /// Index of the first record that has the byte, or lies behind it: in that column below it, or in a later band.
  [[nodiscard]] std::size_t find(std::uint64_t row, std::uint64_t column) const noexcept {
    std::size_t low = 0;
    std::size_t high = records_.size();
    while (low < high) {
      const std::size_t middle = (low + high) / 2;
      const Rectangle& at = records_[middle].at;
      if (at.column_end <= column || (at.column_begin <= column && at.row_end <= row)) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }
  /// Index behind the last record of the band that `i` is in.
  [[nodiscard]] std::size_t band_end(std::size_t i) const noexcept { return find(0, records_[i].at.column_end); }

  template <class Test>
  bool test_part(const Record& e, const Rectangle& part, Test&& test) const {
    if (part.empty()) return true;
    const ValueRef first = ref_at(e, part.row_begin, part.column_begin);
    const Region region = part.region(pitch_);
    if (region.end() <= size_) return test(region, first);
    // The last column ends early.
    if (region.is_range()) return region.begin >= size_ || test(Region(ByteRange{region.begin, size_}), first);
    if (!test(region.some_columns(0, region.columns - 1), first)) return false;
    const ByteRange last = intersect(region.column(region.columns - 1), {0, size_});
    return last.empty() || test(Region(last), first.advanced(last.begin - region.begin));
  }

  template <class Count>
  void assign_all(ValueRef ref, Count&& count) {
    Record all = records_.front();
    all.at = {0, pitch_ == one_column ? size_ : pitch_, 0, records_.back().at.column_end};
    all.ref = ref;
    if (records_.size() == 1) {
      const Record old = records_.front();
      records_.front() = all;
      count(extent(all), +1);
      count(extent(old), -1);
      return;
    }
    count(extent(all), +1);
    for (const Record& e : records_) count(extent(e), -1);
    records_.front() = all;
    records_.resize(1);
  }

  template <class Count>
  void assign_rectangle(const Rectangle& r, ValueRef ref, Count&& count) {
    if (pitch_ != one_column) {
      cut_at(r.column_begin, count);
      cut_at(r.column_end, count);
    }
    std::size_t band = find(0, r.column_begin);
    while (band < records_.size() && records_[band].at.column_begin < r.column_end) {
      const std::uint64_t column = records_[band].at.column_begin;
      assign_in_band(band, r, ref.advanced((column - r.column_begin) * pitch_), count);
      band = band_end(band);
    }
    if (pitch_ == one_column) return;
    merge_bands(r, count);
  }

  /// Afterwards a band begins at `column`.
  template <class Count>
  void cut_at(std::uint64_t column, Count&& count) {
    const std::size_t first = find(0, column);
    if (first == records_.size() || records_[first].at.column_begin == column) return;
    const std::size_t n = band_end(first) - first;
    records_.insert(records_.begin() + static_cast<std::ptrdiff_t>(first + n), n, Record{});
    for (std::size_t i = first; i < first + n; ++i) {
      Record& right = records_[i + n] = records_[i];
      right.ref = ref_at(right, right.at.row_begin, column);
      right.at.column_begin = column;
      records_[i].at.column_end = column;
      count(extent(right), +1);
    }
  }

  /// Neighbouring bands that are cut alike and have the same displacements become one: those of the rectangle, the one in front of it
  /// and the one behind it.
  template <class Count>
  void merge_bands(const Rectangle& r, Count&& count) {
    const auto end_of = [&](std::size_t i) {
      const std::uint64_t column = records_[i].at.column_begin;
      while (i < records_.size() && records_[i].at.column_begin == column) ++i;
      return i;
    };
    std::size_t kept = r.column_begin == 0 ? 0 : find(0, r.column_begin - 1);
    std::size_t kept_end = end_of(kept);
    std::size_t next = kept_end;
    while (next < records_.size() && records_[kept].at.column_end <= r.column_end) {
      const std::size_t next_end = end_of(next);
      bool alike = next_end - next == kept_end - kept;
      for (std::size_t i = 0; alike && i < next_end - next; ++i) {
        const Record& a = records_[kept + i];
        const Record& b = records_[next + i];
        alike = a.at.row_end == b.at.row_end && ref_at(a, a.at.row_begin, b.at.column_begin) == b.ref;
      }
      if (alike) {
        for (std::size_t i = 0; i < next_end - next; ++i) {
          records_[kept + i].at.column_end = records_[next + i].at.column_end;
          count(extent(records_[next + i]), -1);
        }
      } else {
        if (kept_end != next) std::move(records_.begin() + static_cast<std::ptrdiff_t>(next), records_.begin() + static_cast<std::ptrdiff_t>(next_end),
                  records_.begin() + static_cast<std::ptrdiff_t>(kept_end));
        kept = kept_end;
        kept_end += next_end - next;
      }
      next = next_end;
    }
    records_.erase(records_.begin() + static_cast<std::ptrdiff_t>(kept_end), records_.begin() + static_cast<std::ptrdiff_t>(next));
  }

  /// Gives rows of all columns of the band at `band` the reference `ref`, which is that of the first of them.
  template <class Count>
  void assign_in_band(std::size_t band, const Rectangle& rows, ValueRef ref, Count&& count) {
    const std::uint64_t column_begin = records_[band].at.column_begin;
    const std::uint64_t column_end = records_[band].at.column_end;
    const auto in_band = [&](std::size_t i) { return i < records_.size() && records_[i].at.column_begin == column_begin; };
    std::size_t first = find(rows.row_begin, column_begin);
    std::size_t last = first;
    while (in_band(last) && records_[last].at.row_begin < rows.row_end) ++last;

    Record merged[5];
    std::size_t n = 0;
    const auto append = [&](std::uint64_t row_begin, std::uint64_t row_end, ValueRef r) {
      if (n > 0 && ref_at(merged[n - 1], row_begin, column_begin) == r) {
        merged[n - 1].at.row_end = row_end;
      } else {
        merged[n++] = {{row_begin, row_end, column_begin, column_end}, r};
      }
    };
    const Record head = records_[first];
    const Record tail = records_[last - 1];
    if (first > band) {
      --first;
      append(records_[first].at.row_begin, records_[first].at.row_end, records_[first].ref);
    }
    if (head.at.row_begin < rows.row_begin) append(head.at.row_begin, rows.row_begin, head.ref);
    append(rows.row_begin, rows.row_end, ref);
    if (tail.at.row_end > rows.row_end) append(rows.row_end, tail.at.row_end, ref_at(tail, rows.row_end, column_begin));
    if (in_band(last)) {
      append(records_[last].at.row_begin, records_[last].at.row_end, records_[last].ref);
      ++last;
    }

    for (std::size_t i = 0; i < n; ++i) count(extent(merged[i]), +1);
    for (std::size_t i = first; i < last; ++i) count(extent(records_[i]), -1);

    const std::size_t old = last - first;
    const auto at_first = records_.begin() + static_cast<std::ptrdiff_t>(first);
    if (n > old) {
      records_.insert(at_first, n - old, Record{});
    } else {
      records_.erase(at_first, at_first + static_cast<std::ptrdiff_t>(old - n));
    }
    for (std::size_t i = 0; i < n; ++i) records_[first + i] = merged[i];
  }

  base::Vector<Record> records_;
  std::uint64_t size_ = 0;
  std::uint64_t pitch_ = one_column;
};

/// Which value every byte of a datum must have, or of a slot has.
using ExtentMap = RegionMap;

}  // namespace semcache::directory
