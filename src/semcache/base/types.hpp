// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace semcache {

/// How a caller is about to use bytes.
///
/// `read`        the bytes are only read.
/// `write`       some of the bytes may be written; bytes that are not written keep their content.
/// `read_write`  both.
/// `overwrite`   every byte of the range will be written before it is read: nothing is fetched.
enum class Access : std::uint8_t { read, write, read_write, overwrite };

[[nodiscard]] constexpr bool writes(Access a) noexcept { return a != Access::read; }
[[nodiscard]] constexpr bool needs_content(Access a) noexcept { return a != Access::overwrite; }

/// A half-open range of byte positions, relative to an object that the context names (a datum, a slot, a value).
struct ByteRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;

  [[nodiscard]] constexpr std::uint64_t size() const noexcept { return end > begin ? end - begin : 0; }
  [[nodiscard]] constexpr bool empty() const noexcept { return end <= begin; }
  [[nodiscard]] constexpr bool contains(ByteRange o) const noexcept { return begin <= o.begin && o.end <= end; }
  [[nodiscard]] constexpr bool overlaps(ByteRange o) const noexcept { return begin < o.end && o.begin < end; }
  friend constexpr bool operator==(ByteRange a, ByteRange b) noexcept { return a.begin == b.begin && a.end == b.end; }
  friend constexpr bool operator!=(ByteRange a, ByteRange b) noexcept { return !(a == b); }
};

[[nodiscard]] constexpr ByteRange intersect(ByteRange a, ByteRange b) noexcept {
  return {std::max(a.begin, b.begin), std::min(a.end, b.end)};
}

/// Appends `piece` to `pieces`, or extends the last piece if that ends where `piece` begins.
template <class Pieces>
void append(Pieces& pieces, ByteRange piece) {
  if (!pieces.empty() && pieces.back().end == piece.begin) {
    pieces.back().end = piece.end;
  } else {
    pieces.push_back(piece);
  }
}

/// Return `n` rounded down or up to a multiple of `unit` (`unit` > 0).
[[nodiscard]] constexpr std::uint64_t round_down(std::uint64_t n, std::uint64_t unit) noexcept { return n / unit * unit; }
[[nodiscard]] constexpr std::uint64_t round_up(std::uint64_t n, std::uint64_t unit) noexcept {
  return (n + unit - 1) / unit * unit;
}

namespace base {

/// On which side of the link between host and devices memory lies.
enum class Side : std::uint8_t { host, device };

/// How the runtime learns that the host uses a mirror: it watches the pages, or the program announces every use.
enum class Accesses : std::uint8_t { watched, announced };

/// Base of classes whose objects are neither copied nor moved.
class Uncopied {
 public:
  Uncopied(const Uncopied&) = delete;
  Uncopied& operator=(const Uncopied&) = delete;

 protected:
  Uncopied() = default;
  ~Uncopied() = default;
};

/// Calls `last` when the scope of the object ends, also when an exception ends it.
template <class Last>
class AtEnd : Uncopied {
 public:
  explicit AtEnd(const Last& last) : last_(last) {}
  ~AtEnd() { last_(); }

 private:
  const Last last_;
};

}  // namespace base

/// Integers that identify objects. Identifiers of different kinds do not convert into each other.
template <class Tag>
struct StrongId {
  std::uint32_t value = UINT32_MAX;

  [[nodiscard]] constexpr bool valid() const noexcept { return value != UINT32_MAX; }
  friend constexpr bool operator==(StrongId a, StrongId b) noexcept { return a.value == b.value; }
  friend constexpr bool operator!=(StrongId a, StrongId b) noexcept { return a.value != b.value; }
  friend constexpr bool operator<(StrongId a, StrongId b) noexcept { return a.value < b.value; }
};

/// A tracked array.
using DatumId = StrongId<struct DatumTag>;
/// Memory that can hold (part of) a datum in one space.
using SlotId = StrongId<struct SlotTag>;
/// The space that a slot's memory is in: space 0 is the host, space k > 0 is device k - 1.
using SpaceId = StrongId<struct SpaceTag>;
/// A queue, on which work is carried out in order: a stream, or one of the runtime's own transfer queues.
using QueueId = StrongId<struct QueueTag>;

inline constexpr SpaceId host_space{0};
[[nodiscard]] constexpr SpaceId device_space(std::uint32_t device) noexcept { return SpaceId{device + 1}; }

}  // namespace semcache
