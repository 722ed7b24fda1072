// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/memory/staging.hpp>

#include <iterator>
#include <new>

namespace semcache::memory {

Staging::Free::const_iterator Staging::fitting(std::uint64_t bytes) const noexcept {
  const auto it = free_.lower_bound(bytes);
  return it != free_.end() && it->first <= 4 * round_up(bytes, page_bytes_) ? it : free_.end();
}

bool Staging::has(std::uint64_t bytes, unsigned count) const noexcept {
  const auto first = fitting(bytes);
  if (first == free_.end() || count == 1) return first != free_.end();
  const auto second = std::next(first);
  return second != free_.end() && second->first <= 4 * round_up(bytes, page_bytes_);
}

std::byte* Staging::take(std::uint64_t bytes) {
  const auto it = fitting(bytes);
  std::byte* const buffer = it == free_.end() ? allocate(bytes) : free_.extract(it).mapped().release();
  in_use_ += bytes;
  return buffer;
}

void Staging::add(std::byte* buffer, std::uint64_t bytes) {
  free_.emplace(bytes, Buffer(buffer, {&device_}));
}

void Staging::give(std::byte* buffer, std::uint64_t bytes) noexcept {
  in_use_ -= bytes;
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
