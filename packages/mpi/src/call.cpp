// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "call.hpp"

#include "device_addresses.hpp"

#include <algorithm>
#include <atomic>
#include <string>

// Weak, because the preloaded library also meets programs without SemCache.
extern "C" __attribute__((weak)) const semcache::runtime::ForeignIo* semcache_foreign_io_1() noexcept;
// Of libsemcache_blas_preload.so, which loads SemCache where this library does not see it, and only once the program has a BLAS: nullptr until then.
extern "C" __attribute__((weak)) const semcache::runtime::ForeignIo* semcache_blas_foreign_io_1() noexcept;

namespace semcache::mpi {
namespace {

constexpr std::size_t alignment = 64;

std::byte* at(const void* address, std::int64_t distance) {
  return reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(address) +
                                      static_cast<std::uintptr_t>(distance));
}

}  // namespace

const runtime::ForeignIo* io() noexcept {
  static std::atomic<const runtime::ForeignIo*> known{nullptr};
  const runtime::ForeignIo* table = known.load(std::memory_order_acquire);
  if (table != nullptr) return table;
  if (semcache_foreign_io_1 != nullptr) table = semcache_foreign_io_1();
  else if (semcache_blas_foreign_io_1 != nullptr) table = semcache_blas_foreign_io_1();
  if (table != nullptr) known.store(table, std::memory_order_release);
  return table;
}

bool uses_device_addresses(std::size_t bytes) {
  if (io() == nullptr) return false;
  switch (io()->device_addresses()) {
    case runtime::DeviceAddresses::always:
      return true;
    case runtime::DeviceAddresses::never:
      return false;
    case runtime::DeviceAddresses::if_library_can:
      break;
  }
  if (bytes < shortest_device_message) return false;
  static const bool can = library_takes_device_addresses();
  return can;
}

// --- messages --------------------------------------------------------------------------------------------------------

Message::Message(const void* address, const UsedBytes& used, const UsedBytes& read, UsedBytes written, Place place)
    : written_(std::move(written)) {
  const Piece hull = used.hull();
  hull_begin_ = hull.begin;
  first_ = at(address, hull.begin);
  const auto bytes = static_cast<std::size_t>(hull.end - hull.begin);
  if (!io()->find(first_, array_) || bytes > static_cast<std::size_t>(array_.address + array_.bytes - first_)) {
    for (const Piece p : used.pieces()) {
      if (io()->find(at(address, p.begin), array_)) break;
    }
    throw UsageError("the " + std::to_string(bytes) + " bytes that the call uses do not lie in one tracked array ('" +
                     (array_.label != nullptr ? array_.label : "?") + "' has " + std::to_string(array_.bytes) +
                     " bytes). Check count and datatype; give every array a call of its own");
  }
  read_ = from_hull(read);
  written_from_hull_ = from_hull(written_);
  written_bytes_ = 0;
  for (const ByteRange piece : written_from_hull_) written_bytes_ += piece.size();
  const bool fixed = place == Place::fixed || place == Place::fixed_on_host;
  const bool may_be_on_device = place == Place::where_the_content_is || place == Place::fixed;
  const bool on_device = may_be_on_device && !array_.on_host && uses_device_addresses(bytes) &&
                         (fixed || read_.empty() || io()->valid_here(first_, read_.data(), read_.size()));
  if (fixed && !on_device && !array_.on_host) transit_ = io()->take_beside(first_, bytes);
  offset_ = 0;
  if (transit_.buffer == nullptr) {
    transit_ = io()->take(bytes + alignment, on_device ? base::Side::device : base::Side::host, first_);
    offset_ = reinterpret_cast<std::uintptr_t>(first_) % alignment;
  }
  try {
    if (fixed) return;
    if (!read_.empty()) io()->read_out(first_, read_.data(), read_.size(), transit_, offset_);
    ready();
  } catch (...) {
    io()->give(transit_);
    throw;
  }
}

Message::Message(Message&& other) noexcept
    : first_(other.first_),
      hull_begin_(other.hull_begin_),
      array_(other.array_),
      read_(std::move(other.read_)),
      written_(std::move(other.written_)),
      written_from_hull_(std::move(other.written_from_hull_)),
      written_bytes_(other.written_bytes_),
      transit_(other.transit_),
      offset_(other.offset_) {
  other.transit_ = {};
}

Message::~Message() { io()->give(transit_); }

void* Message::substitute() const noexcept { return at(transit_.address + offset_, -hull_begin_); }

void Message::start() {
  runtime::TrackedArray now;
  if (io()->find(first_, now))
    array_ = now;  // the program may have allocated another array there while the request was at rest
  if (!read_.empty()) io()->read_out(first_, read_.data(), read_.size(), transit_, offset_);
}

void Message::ready() const { io()->settle(transit_); }

void Message::rest() const {
  if (!read_.empty()) io()->expect(first_, read_.data(), read_.size(), transit_, offset_);
}

void Message::deliver(std::uint64_t bytes) const {
  if (written_.empty() || bytes == 0) return;
  if (!io()->still_there(array_)) {
    throw UsageError("the array of " + std::to_string(array_.bytes) + " bytes that the call receives into was freed while the "
                     "call was under way. Keep it until the call is complete");
  }
  if (bytes >= written_bytes_) {
    io()->write_in(first_, written_from_hull_.data(), written_from_hull_.size(), transit_, offset_);
    return;
  }
  UsedBytes arrived = written_;
  arrived.cut(bytes);
  const std::vector<ByteRange> pieces = from_hull(arrived);
  io()->write_in(first_, pieces.data(), pieces.size(), transit_, offset_);
}

bool Message::is_one_piece(std::uint64_t bytes, Arrival& arrival) const {
  if (written_from_hull_.size() != 1 || bytes == 0 || !io()->still_there(array_)) return false;
  const ByteRange piece = written_from_hull_[0];
  arrival = {first_ + piece.begin, std::min(bytes, piece.size()), transit_.address + offset_ + piece.begin, &transit_};
  return piece.begin == 0 && offset_ == 0;
}

std::vector<ByteRange> Message::from_hull(const UsedBytes& bytes) const {
  std::vector<ByteRange> out;
  out.reserve(bytes.pieces().size());
  for (const Piece p : bytes.pieces()) {
    out.push_back({static_cast<std::uint64_t>(p.begin - hull_begin_), static_cast<std::uint64_t>(p.end - hull_begin_)});
  }
  return out;
}

// --- calls -----------------------------------------------------------------------------------------------------------

namespace {

/// Returns whether any piece of the block begins in a tracked array. Consecutive pieces that begin in one page are checked
/// once.
bool any_piece_tracked(const void* buffer, const Block& b) {
  constexpr std::uintptr_t page = 4096;
  const auto pieces = pieces_of(b.type);
  const MPI_Aint extent = extent_of(b.type);
  std::uintptr_t seen = UINTPTR_MAX;
  for (MPI_Count i = 0; i < b.count; ++i) {
    for (const Piece p : *pieces) {
      const std::byte* const first = at(buffer, b.displacement + i * extent + p.begin);
      if (reinterpret_cast<std::uintptr_t>(first) / page == seen) continue;
      seen = reinterpret_cast<std::uintptr_t>(first) / page;
      if (tracked(first)) return true;
    }
  }
  return false;
}

}  // namespace

bool Call::concerns(const void* buffer, const Block* blocks, std::size_t count) {
  if (io() == nullptr) return false;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  bool derived = false;
  Piece hull{0, 0};
  MPI_Aint extent = 0;
  for (const Block* b = blocks; b != blocks + count; ++b) {
    if (b->count <= 0 || b->type == MPI_DATATYPE_NULL) continue;  // the library reports an error
    if (b->type != type) {  // usually all blocks have one type
      type = b->type;
      derived = is_derived(type);
      hull = derived ? hull_of(type) : Piece{0, 0};
      extent = derived ? extent_of(type) : 0;
    }
    if (!derived) {
      if (tracked(at(buffer, b->displacement))) return true;
      continue;
    }
    if (hull.begin == hull.end) continue;
    // A derived type may begin and end in different arrays, so both ends are checked.
    const MPI_Aint last = static_cast<MPI_Aint>(b->count - 1) * extent;
    const std::byte* const begin = at(buffer, b->displacement + std::min<MPI_Aint>(last, 0) + hull.begin);
    const std::byte* const end = at(buffer, b->displacement + std::max<MPI_Aint>(last, 0) + hull.end - 1);
    if (!io()->overlaps(begin, end)) continue;
    if (tracked(begin) || tracked(end) || (!is_part_of_one_array(type) && any_piece_tracked(buffer, *b))) return true;
  }
  return false;
}

const void* Call::read(const void* buffer, const UsedBytes& used) {
  if (used.empty()) return buffer;
  return messages_.emplace_back(buffer, used, used, UsedBytes(), place_).substitute();
}

void* Call::write(void* buffer, const UsedBytes& used) {
  if (used.empty()) return buffer;
  return messages_.emplace_back(buffer, used, UsedBytes(), used, place_).substitute();
}

void* Call::update(void* buffer, const UsedBytes& used, const UsedBytes& read, const UsedBytes& written) {
  if (used.empty()) return buffer;
  return messages_.emplace_back(buffer, used, read, written, place_).substitute();
}

bool Call::receives() const noexcept {
  for (const Message& m : messages_) {
    if (m.receives()) return true;
  }
  return false;
}

bool Call::is_one_piece(std::uint64_t bytes, Arrival& arrival) const {
  return messages_.size() == 1 && messages_[0].is_one_piece(bytes, arrival);
}

void Call::start() {
  for (Message& m : messages_) m.start();
}

void Call::ready() const {
  for (const Message& m : messages_) m.ready();
}

void Call::rest() const {
  for (const Message& m : messages_) m.rest();
}

void Call::deliver(std::uint64_t bytes) const {
  for (const Message& m : messages_) m.deliver(bytes);
}

std::uint64_t received_bytes(const MPI_Status& status) {
  MPI_Count bytes = 0;
  if (PMPI_Get_elements_x(&status, MPI_BYTE, &bytes) != MPI_SUCCESS || bytes < 0) return 0;
  return static_cast<std::uint64_t>(bytes);
}

}  // namespace semcache::mpi
