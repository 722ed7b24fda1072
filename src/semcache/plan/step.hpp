// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/base/region.hpp>
#include <semcache/directory/directory.hpp>
#include <semcache/platform/platform.hpp>
#include <semcache/timeline/uses.hpp>
#include <semcache/trace/recorder.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

/// What the engine does to memory, as values that can be printed, logged and replayed. README.md has an overview.
namespace semcache::plan {

/// Why a step is made. It decides how the step is counted.
enum class Purpose : std::uint8_t {
  fetch,       ///< an access needs the bytes there
  save,        ///< a wanted value is about to lose its last holder (I4)
  write_back,  ///< the same, because an array is evicted, or the value is the array's own content
  call,        ///< the program has asked for these bytes now: a copy at the call, or a message
  detour,      ///< part of such a copy, through memory of the engine's own; not counted
};

/// Returns the purpose as a word or two: "fetch", "write back". The text is a literal.
[[nodiscard]] const char* to_string(Purpose purpose) noexcept;

/// One end of a copy: memory of a slot, or other memory (the program's, or a buffer of the engine).
struct End {
  SpaceId space;
  SlotId slot;                        ///< invalid for other memory
  std::uint64_t position = 0;         ///< of the first byte in the slot's memory
  std::byte* address = nullptr;       ///< of the first byte, as the program knows it
  trace::LabelId label;               ///< of the slot's array
  timeline::Work* last_use = nullptr; ///< for other memory: where the executor notes the work that uses it
  bool saved_copy = false;            ///< the slot is a saved copy and belongs to no array
  bool in_buffer = false;             ///< for other memory: it is a buffer of the engine, so no access to it faults
  std::uint64_t pitch = 0;            ///< bytes from one column to the next, where a step has several
};

/// One thing that is done to memory. The executor (`engine::Executor`) carries out nothing else.
struct Step {
  enum class Kind : std::uint8_t {
    allocate,  ///< `to` is a slot from now on; host memory is readable, device memory is not mapped yet
    map,       ///< device memory is put behind addresses of the slot, a block's; its content is undefined
    copy,      ///< `pieces` of `from` are copied to `to`
    fill,      ///< a pattern is written to [0, bytes) of `to`
    protect,   ///< pages of `to` get a protection
    evict,     ///< the device memory of a block of the slot is given back, because other content needs room
    release,   ///< the slot, its memory and its addresses are given back
  };
  Kind kind = Kind::copy;
  Purpose purpose = Purpose::fetch;
  End to;
  End from;
  std::uint64_t bytes = 0;            ///< allocate: the slot's size; map, evict: the block's bytes, and protect: bytes of pages, from `to.position` on
  const ByteRange* pieces = nullptr;  ///< copy: ranges relative to both first bytes; nullptr for [0, bytes)
  std::size_t piece_count = 0;
  bool over_host = false;             ///< copy between devices that do not reach each other: through the host's memory
  std::uint64_t columns = 1;          ///< copy, fill: so many columns of `bytes` bytes each; then there are no pieces
  directory::Fill fill{};
  std::uint64_t phase = 0;            ///< the pattern's phase at the first byte
  std::uint64_t phase_pitch = 0;      ///< fill: by how much the phase at the first byte of a column is ahead of the column before
  platform::Protection protection = platform::Protection::none;
  bool zeros = false;                 ///< allocate: the memory holds zeros

  /// Calls `visit(ByteRange)` for each piece, in order.
  template <class Visit>
  void for_each_piece(Visit&& visit) const {
    if (pieces == nullptr && bytes > 0) visit(ByteRange{0, bytes});
    for (std::size_t i = 0; i < piece_count; ++i) visit(pieces[i]);
  }
  /// Returns the bytes of all pieces.
  [[nodiscard]] std::uint64_t total_bytes() const {
    std::uint64_t sum = 0;
    for_each_piece([&](ByteRange piece) { sum += piece.size(); });
    return sum * columns;
  }
  /// Calls `visit(to, from)` for each column, with its distance from the first byte at either end.
  template <class Visit>
  void for_each_column(Visit&& visit) const {
    for (std::uint64_t c = 0; c < columns; ++c) visit(c * to.pitch, c * from.pitch);
  }
  /// Returns the bytes of an end's memory that the columns are. @pre no pieces
  [[nodiscard]] Region region(const End& end) const noexcept { return {end.position, bytes, columns, end.pitch}; }
  /// Returns the bytes of an end's memory that the copy uses: its columns, or the hull of its pieces.
  [[nodiscard]] Region used(const End& end) const {
    if (pieces == nullptr) return region(end);
    ByteRange hull;
    for_each_piece([&](ByteRange piece) {
      if (!piece.empty()) hull = hull.empty() ? piece : ByteRange{std::min(hull.begin, piece.begin), std::max(hull.end, piece.end)};
    });
    return ByteRange{end.position + hull.begin, end.position + hull.end};
  }
};

/// The fields of `trace::Counters` to which a step adds its bytes.
struct Counted {
  trace::Kind kinds[4] = {};
  std::size_t count = 0;
  trace::LabelId label;  ///< the array that they are counted for
};
[[nodiscard]] Counted counted(const Step& step) noexcept;

/// Returns the step as text with the labels of `recorder`, such as
/// "copy 4096 bytes, 'A'[0] on device 0 <- 'A_mirror'[0] on host (fetch)".
[[nodiscard]] std::string to_string(const Step& step, const trace::Recorder& recorder);

/// Sees every step, in the order in which the steps are made.
/// Threads: called with the engine's lock, so it may neither wait nor call the engine.
class Observer {
 public:
  virtual ~Observer() = default;
  /// Called when the step has been submitted to its queue, or is done. Later steps, and the program, see its effect. If `from` is
  /// no slot, its bytes can be read now.
  virtual void done(const Step& step) noexcept = 0;
  /// Called when the step has failed: what it would have changed may be changed in part.
  virtual void refused(const Step& step) noexcept = 0;
};

}  // namespace semcache::plan
