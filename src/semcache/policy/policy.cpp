// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/policy/policy.hpp>

namespace semcache::policy {

unsigned copy_cost(SpaceId from, SpaceId to) noexcept {
  if (from == to) return 1;
  if (from != host_space && to != host_space) return 2;
  return 10;
}

void FetchForecast::fetched(std::uint32_t writes) noexcept {
  if (writes == 0) return;  // nothing new: asked for twice
  if (writes == 1) {
    if (streak_ < needed_) ++streak_;
    return;
  }
  if (fetch_follows() && needed_ < 1024) needed_ *= 2;
  streak_ = 0;
}

ByteRange ReadAhead::next(std::uint64_t position, std::uint64_t size, std::uint64_t page_bytes) noexcept {
  const std::uint64_t page = round_down(position, page_bytes);
  ++clock_;
  Stream* stream = nullptr;
  bool ascending = true;
  for (Stream& s : streams_) {
    if (s.chunk == 0) continue;
    if (page >= s.last.end && page < s.last.end + s.chunk) {
      stream = &s;
      break;
    }
    if (page < s.last.begin && page + s.chunk >= s.last.begin) {
      stream = &s;
      ascending = false;
      break;
    }
  }
  if (stream != nullptr) {
    stream->chunk = std::min(stream->chunk * growth, last_chunk_bytes);
  } else {
    stream = &streams_[0];
    for (Stream& s : streams_) {
      if (s.used < stream->used) stream = &s;
    }
    stream->chunk = std::max(first_chunk_bytes, page_bytes);
  }
  stream->used = clock_;
  const std::uint64_t chunk = round_up(stream->chunk, page_bytes);
  ByteRange range;
  if (ascending) {
    range = {page, page + chunk};
  } else {
    range.end = page + page_bytes;
    range.begin = range.end > chunk ? range.end - chunk : 0;
  }
  range.end = std::min(range.end, size);
  stream->last = range;
  return range;
}

}  // namespace semcache::policy
