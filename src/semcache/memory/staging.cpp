// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/memory/staging.hpp>

#include <algorithm>
#include <iterator>
#include <new>

namespace semcache::memory {

Staging::Free::const_iterator Staging::fitting(std::uint64_t bytes) const noexcept {
  const auto it = free_.lower_bound(bytes);
  return it != free_.end() && it->first <= most_for(bytes) ? it : free_.end();
}

std::uint64_t Staging::lacking(const std::uint64_t* sizes, std::size_t count) const {
  base::Vector<const Buffer*> taken;
  for (std::size_t i = 0; i < count; ++i) {
    auto it = fitting(sizes[i]);
    while (it != free_.end() && std::find(taken.begin(), taken.end(), &it->second) != taken.end()) ++it;
    if (it == free_.end() || it->first > most_for(sizes[i])) return sizes[i];
    taken.push_back(&it->second);
  }
  return 0;
}

std::byte* Staging::take(std::uint64_t bytes) {
  const auto it = fitting(bytes);
  std::byte* const buffer = it == free_.end() ? allocate(bytes) : free_.extract(it).mapped().release();
  in_use_ += round_up(bytes, page_bytes_);
  return buffer;
}

void Staging::add(std::byte* buffer, std::uint64_t bytes) {
  // In front of others of its size: the buffer that was used last is taken first, so that few take turns, whose pages the processor knows.
  free_.emplace_hint(free_.lower_bound(bytes), bytes, Buffer(buffer, {&device_}));
}

void Staging::give(std::byte* buffer, std::uint64_t bytes) noexcept {
  in_use_ -= round_up(bytes, page_bytes_);
  try {
    add(buffer, bytes);
  } catch (const std::bad_alloc&) {  // `add` has given it back to the device
  }
}

Staging::Free Staging::take_surplus() noexcept {
  Free surplus;
  while (has_surplus()) surplus.insert(free_.extract(std::prev(free_.end())));
  return surplus;
}

}  // namespace semcache::memory
