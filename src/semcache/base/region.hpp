// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/base/types.hpp>

#include <algorithm>
#include <cstdint>

namespace semcache {

/// Bytes of an array: `columns` runs of `width` bytes, each of which begins `pitch` bytes behind the one before. Of a column-major matrix
/// this is a rectangle; a plain byte range is a region of one column.
///
/// Positions are relative to whatever the context names (a datum, a slot, a value), as those of `ByteRange`.
struct Region {
  std::uint64_t begin = 0;    ///< position of the first byte
  std::uint64_t width = 0;    ///< bytes of a column
  std::uint64_t columns = 1;
  std::uint64_t pitch = 0;    ///< from one column to the next; 0 where there is one column

  constexpr Region() noexcept = default;
  constexpr Region(ByteRange r) noexcept : begin(r.begin), width(r.size()) {}  // NOLINT: a range is a region
  /// The byte range [first, last).
  constexpr Region(std::uint64_t first, std::uint64_t last) noexcept : Region(ByteRange{first, last}) {}
  /// Columns that touch each other are one column. @pre columns == 1, or width <= pitch
  constexpr Region(std::uint64_t first, std::uint64_t column_bytes, std::uint64_t count, std::uint64_t distance) noexcept
      : begin(first),
        width(count > 1 && column_bytes == distance ? column_bytes * count : column_bytes),
        columns(count > 1 && column_bytes == distance ? 1 : count),
        pitch(count > 1 && column_bytes != distance ? distance : 0) {}

  /// The same, but columns that touch each other stay columns.
  [[nodiscard]] static constexpr Region apart(std::uint64_t first, std::uint64_t column_bytes, std::uint64_t count,
                                              std::uint64_t distance) noexcept {
    Region r;
    r.begin = first;
    r.width = column_bytes;
    r.columns = count;
    r.pitch = count > 1 ? distance : 0;
    return r;
  }

  [[nodiscard]] constexpr bool empty() const noexcept { return width == 0 || columns == 0; }
  [[nodiscard]] constexpr std::uint64_t size() const noexcept { return width * columns; }
  [[nodiscard]] constexpr bool is_range() const noexcept { return columns == 1; }
  [[nodiscard]] constexpr std::uint64_t end() const noexcept { return empty() ? begin : begin + (columns - 1) * pitch + width; }
  /// The smallest byte range that contains the region.
  [[nodiscard]] constexpr ByteRange hull() const noexcept { return {begin, end()}; }
  [[nodiscard]] constexpr ByteRange column(std::uint64_t i) const noexcept {
    return {begin + i * pitch, begin + i * pitch + width};
  }
  /// The same bytes, `distance` further on.
  [[nodiscard]] constexpr Region moved(std::int64_t distance) const noexcept {
    Region r = *this;
    r.begin = static_cast<std::uint64_t>(static_cast<std::int64_t>(begin) + distance);
    return r;
  }
  /// Columns [first, first + count) of it.
  [[nodiscard]] constexpr Region some_columns(std::uint64_t first, std::uint64_t count) const noexcept {
    return {begin + first * pitch, width, count, pitch};
  }
  friend constexpr bool operator==(const Region& a, const Region& b) noexcept {
    return a.begin == b.begin && a.width == b.width && a.columns == b.columns && a.pitch == b.pitch;
  }
  friend constexpr bool operator!=(const Region& a, const Region& b) noexcept { return !(a == b); }
};

/// Do columns of a width, `pitch` apart, lie in the first `size` bytes behind their first byte? Right for all numbers, however large.
/// @pre columns == 1, or 0 < pitch
[[nodiscard]] constexpr bool columns_fit(std::uint64_t width, std::uint64_t columns, std::uint64_t pitch, std::uint64_t size) noexcept {
  return width <= size && (columns == 1 || (size - width) / pitch >= columns - 1);
}

/// Adds `next` to a region in front of it where both together are a region: ranges that touch, or columns at one distance. Two ranges
/// become columns only if they begin `pitch` bytes apart.
/// @return false  they are no region; nothing has changed
constexpr bool join(Region& region, const Region& next, std::uint64_t pitch = 0) noexcept {
  if (region.is_range() && next.is_range() && region.end() == next.begin) {
    region.width += next.width;
    return true;
  }
  if (region.width != next.width || next.begin <= region.begin) return false;
  const std::uint64_t distance = next.begin - region.some_columns(region.columns - 1, 1).begin;
  const bool at_it = (region.is_range() || region.pitch == distance) && (next.is_range() || next.pitch == distance);
  if (!at_it || (region.is_range() && next.is_range() && distance != pitch)) return false;
  region = Region(region.begin, region.width, region.columns + next.columns, distance);
  return true;
}

/// Appends the region, or adds it to the last one (`join`).
template <class Regions>
void append(Regions& regions, const Region& next) {
  if (regions.empty() || !join(regions.back(), next)) regions.push_back(next);
}

/// A rectangle of a grid whose columns have a fixed number of bytes: rows [row_begin, row_end) of columns [column_begin, column_end).
struct Rectangle {
  std::uint64_t row_begin = 0;
  std::uint64_t row_end = 0;
  std::uint64_t column_begin = 0;
  std::uint64_t column_end = 0;

  [[nodiscard]] constexpr bool empty() const noexcept { return row_begin >= row_end || column_begin >= column_end; }
  [[nodiscard]] constexpr Region region(std::uint64_t pitch) const noexcept {
    return {column_begin * pitch + row_begin, row_end - row_begin, column_end - column_begin, pitch};
  }
};

[[nodiscard]] constexpr Rectangle common(const Rectangle& a, const Rectangle& b) noexcept {
  return {std::max(a.row_begin, b.row_begin), std::min(a.row_end, b.row_end), std::max(a.column_begin, b.column_begin),
          std::min(a.column_end, b.column_end)};
}

/// The pitch of a grid of one column, which holds every position.
inline constexpr std::uint64_t one_column = UINT64_MAX;

/// Calls `visit(Rectangle)` for rectangles of the grid of `pitch` that are the region together: at most three for a byte range, two for a
/// region of the same pitch, and three for each column of another region.
template <class Visit>
void for_each_rectangle(const Region& r, std::uint64_t pitch, Visit&& visit) {
  const auto visit_range = [&](std::uint64_t begin, std::uint64_t end) {
    if (begin >= end) return;
    if (pitch == one_column) {
      visit(Rectangle{begin, end, 0, 1});
      return;
    }
    const std::uint64_t first = begin / pitch;
    const std::uint64_t last = (end - 1) / pitch;
    const std::uint64_t head = begin - first * pitch;
    const std::uint64_t tail = end - last * pitch;  // 1 to pitch
    if (first == last) {
      visit(Rectangle{head, tail, first, first + 1});
      return;
    }
    if (head > 0) visit(Rectangle{head, pitch, first, first + 1});
    const Rectangle whole{0, pitch, first + (head > 0 ? 1 : 0), last + (tail == pitch ? 1 : 0)};
    if (!whole.empty()) visit(whole);
    if (tail < pitch) visit(Rectangle{0, tail, last, last + 1});
  };
  if (r.is_range()) return visit_range(r.begin, r.begin + r.width);
  if (r.pitch != pitch) {
    for (std::uint64_t c = 0; c < r.columns; ++c) visit_range(r.column(c).begin, r.column(c).end);
    return;
  }
  const std::uint64_t column = r.begin / pitch;
  const std::uint64_t row = r.begin - column * pitch;
  const std::uint64_t row_end = row + r.width;
  visit(Rectangle{row, std::min(row_end, pitch), column, column + r.columns});
  if (row_end > pitch) visit(Rectangle{0, row_end - pitch, column + 1, column + 1 + r.columns});
}

/// Returns false only if the two have no byte in common. Exact for byte ranges and for columns of one pitch; columns of two pitches are
/// compared by their hulls.
[[nodiscard]] constexpr bool may_overlap(const Region& a, const Region& b) noexcept {
  if (a.empty() || b.empty() || !a.hull().overlaps(b.hull())) return false;
  if ((a.is_range() && b.is_range()) || (!a.is_range() && !b.is_range() && a.pitch != b.pitch)) return true;
  const std::uint64_t pitch = a.is_range() ? b.pitch : a.pitch;
  bool overlap = false;
  for_each_rectangle(a, pitch, [&](const Rectangle& one) {
    for_each_rectangle(b, pitch, [&](const Rectangle& other) { overlap = overlap || !common(one, other).empty(); });
  });
  return overlap;
}

/// Calls `visit(Region)` for parts of the region of which each is a byte range or has this pitch: the region itself, or its columns.
template <class Visit>
void for_each_in_shape(const Region& r, std::uint64_t pitch, Visit&& visit) {
  if (r.is_range() || r.pitch == pitch) return visit(r);
  for (std::uint64_t c = 0; c < r.columns; ++c) visit(Region(r.column(c)));
}

/// Calls `visit(Region)` for regions that are `region` without `cut` together.
template <class Visit>
void for_each_difference(const Region& region, const Region& cut, Visit&& visit) {
  if (region.empty()) return;
  if (cut.empty() || !region.hull().overlaps(cut.hull())) {
    visit(region);
    return;
  }
  if (!region.is_range() && !cut.is_range() && region.pitch != cut.pitch) {
    // Columns in front of the cut, or behind it, stay together.
    std::uint64_t first = 0, last = region.columns;
    while (region.column(first).end <= cut.begin) ++first;
    while (last > first && region.column(last - 1).begin >= cut.end()) --last;
    if (first > 0) visit(region.some_columns(0, first));
    for (std::uint64_t c = first; c < last; ++c) for_each_difference(region.column(c), cut, visit);
    if (last < region.columns) visit(region.some_columns(last, region.columns - last));
    return;
  }
  const std::uint64_t pitch = !region.is_range() ? region.pitch : !cut.is_range() ? cut.pitch : one_column;
  Rectangle cuts[3];
  std::size_t count = 0;
  for_each_rectangle(cut, pitch, [&](const Rectangle& r) { cuts[count++] = r; });
  const auto without = [&](const auto& self, const Rectangle& r, std::size_t first) -> void {
    if (r.empty()) return;
    for (; first < count; ++first) {
      const Rectangle inside = common(r, cuts[first]);
      if (inside.empty()) continue;
      self(self, {r.row_begin, r.row_end, r.column_begin, inside.column_begin}, first + 1);
      self(self, {r.row_begin, inside.row_begin, inside.column_begin, inside.column_end}, first + 1);
      self(self, {inside.row_end, r.row_end, inside.column_begin, inside.column_end}, first + 1);
      self(self, {r.row_begin, r.row_end, inside.column_end, r.column_end}, first + 1);
      return;
    }
    visit(r.region(pitch));
  };
  for_each_rectangle(region, pitch, [&](const Rectangle& r) { without(without, r, 0); });
}

/// Returns whether the two have a byte in common. Exact, at a cost of the columns of both where these have two pitches.
[[nodiscard]] inline bool overlap(const Region& a, const Region& b) {
  if (!may_overlap(a, b)) return false;
  std::uint64_t apart = 0;
  for_each_difference(a, b, [&](const Region& r) { apart += r.size(); });
  return apart < a.size();
}

/// Calls `visit(Region)` for the parts of `region`, moved by `distance`, that lie in [0, size).
template <class Visit>
void for_each_inside(const Region& region, std::int64_t distance, std::uint64_t size, Visit&& visit) {
  if (region.empty()) return;
  const auto clipped = [&](ByteRange r) -> ByteRange {
    const std::int64_t begin = static_cast<std::int64_t>(r.begin) + distance;
    const std::int64_t end = static_cast<std::int64_t>(r.end) + distance;
    if (end <= 0) return {};
    return intersect({begin < 0 ? 0 : static_cast<std::uint64_t>(begin), static_cast<std::uint64_t>(end)}, {0, size});
  };
  const ByteRange all = clipped(region.hull());
  if (all.empty()) return;
  if (region.is_range()) {
    visit(Region(all));
  } else if (all.size() == region.hull().size()) {
    visit(region.moved(distance));
  } else {
    // The columns that lie inside as a whole stay together; at most one on each side is cut.
    const std::int64_t begin = static_cast<std::int64_t>(region.begin) + distance;
    const auto columns = [&](std::uint64_t bytes) { return std::min(region.columns, bytes / region.pitch); };
    const std::uint64_t first = begin >= 0 ? 0 : columns(static_cast<std::uint64_t>(-begin) + region.pitch - 1);
    const std::int64_t room = static_cast<std::int64_t>(size) - begin - static_cast<std::int64_t>(region.width);
    const std::uint64_t end = room < 0 ? 0 : columns(static_cast<std::uint64_t>(room) + region.pitch);
    const auto cut = [&](std::uint64_t c) {
      if (const ByteRange r = clipped(region.column(c)); !r.empty()) visit(Region(r));
    };
    if (first > 0) cut(first - 1);
    if (end > first) visit(region.some_columns(first, end - first).moved(distance));
    if (const std::uint64_t next = std::max(first, end); next < region.columns) cut(next);
  }
}

}  // namespace semcache
