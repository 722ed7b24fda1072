// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/base/addresses.hpp>
#include <semcache/memory/adopted.hpp>

#include <algorithm>
#include <iterator>
#include <memory>

namespace semcache::memory {
namespace {

constexpr std::uint64_t count_of_regions(std::uint64_t region_bytes) noexcept { return base::end_of_addresses / region_bytes; }

std::byte* at(std::uint64_t address) noexcept { return static_cast<std::byte*>(base::pointer(address)); }

}  // namespace

AdoptedMemory::~AdoptedMemory() {
  Region* const regions = regions_.load();
  for (std::uint64_t i = 0; regions != nullptr && i < count_of_regions(region_bytes); ++i) {
    delete regions[i].load(std::memory_order_relaxed);
  }
  std::free(static_cast<void*>(regions));
}

Memory* AdoptedMemory::find(const void* p) const noexcept {
  const Region* const regions = any() ? regions_.load(std::memory_order_acquire) : nullptr;
  if (regions == nullptr || base::number(p) >= base::end_of_addresses) return nullptr;
  const LookupTable* const table = regions[base::number(p) / region_bytes].load(std::memory_order_acquire);
  return table != nullptr ? table->find(p) : nullptr;
}

Memory* AdoptedMemory::next(const void* p, const void* end) const noexcept {
  const Region* const regions = any() ? regions_.load(std::memory_order_acquire) : nullptr;
  const std::uint64_t last = std::min<std::uint64_t>(base::number(end), base::end_of_addresses);
  for (std::uint64_t from = base::number(p); regions != nullptr && from < last; from = round_down(from, region_bytes) + region_bytes) {
    const LookupTable* const table = regions[from / region_bytes].load(std::memory_order_acquire);
    Memory* const m = table != nullptr ? table->next(at(from), at(last)) : nullptr;
    if (m != nullptr) return m;
  }
  return nullptr;
}

Memory* AdoptedMemory::find_near(const void* p) const noexcept {
  if (!any()) return nullptr;
  const auto* const b = static_cast<const std::byte*>(p);
  if (Memory* const m = find(p)) return m;
  Memory* m = find(b + page_bytes_);
  if (m != nullptr && m->address > b && static_cast<std::uint64_t>(m->address - b) <= m->edge_before) return m;
  m = find(b - page_bytes_);
  return m != nullptr && m->address + m->bytes <= b && b < m->address + m->bytes + m->edge_behind ? m : nullptr;
}

/// Calls `visit(address, bytes)` for the part of the body in each region.
template <class Visit>
void AdoptedMemory::for_each_part(const Memory& body, const Visit& visit) const {
  const std::uint64_t end = base::number(body.address) + body.bytes;
  for (std::uint64_t from = base::number(body.address); from < end;) {
    const std::uint64_t stop = std::min(end, round_down(from, region_bytes) + region_bytes);
    visit(from, stop - from);
    from = stop;
  }
}

void AdoptedMemory::enter(Memory& body) {
  if (regions_.load() == nullptr) {
    // calloc gives zero pages that appear when they are used.
    void* const regions = std::calloc(count_of_regions(region_bytes), sizeof(Region));
    if (regions == nullptr) throw std::bad_alloc();
    regions_.store(static_cast<Region*>(regions), std::memory_order_release);
  }
  bodies_.fetch_add(1, std::memory_order_release);
  for_each_part(body, [&](std::uint64_t from, std::uint64_t bytes) {
    Region& region = regions_.load()[from / region_bytes];
    if (region.load() == nullptr) {
      auto table = std::make_unique<LookupTable>(at(round_down(from, region_bytes)), region_bytes, page_bytes_);
      region.store(table.release(), std::memory_order_release);
    }
    region.load()->set(at(from), bytes, &body);
  });
}

void AdoptedMemory::forget(const Memory& body) noexcept {
  if (regions_.load() == nullptr) return;  // it was never entered
  for_each_part(body, [&](std::uint64_t from, std::uint64_t bytes) {
    LookupTable* const table = regions_.load()[from / region_bytes].load();
    if (table != nullptr) table->set(at(from), bytes, nullptr);
  });
  bodies_.fetch_sub(1, std::memory_order_release);
}

ByteRange AdoptedMemory::pages_of(const std::byte* address, std::uint64_t bytes) const noexcept {
  const std::uint64_t begin = round_up(base::number(address), page_bytes_);
  const std::uint64_t end = round_down(base::number(address) + bytes, page_bytes_);
  return begin < end ? ByteRange{begin, end} : ByteRange{};
}

AdoptedMemory::Ranges::const_iterator AdoptedMemory::overlapping(const std::byte* address, std::uint64_t bytes) const noexcept {
  const auto behind = ranges.lower_bound(address + bytes);
  if (behind == ranges.begin()) return ranges.end();
  const auto last = std::prev(behind);
  return last->first + last->second.bytes > address ? last : ranges.end();
}

}  // namespace semcache::memory
