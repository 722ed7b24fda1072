// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/base/addresses.hpp>
#include <semcache/platform/linux/driver_text.hpp>

#include <algorithm>

namespace semcache::platform::detail {
void DriverText::Ranges::add(std::uintptr_t begin, std::uintptr_t end) noexcept {
  const std::size_t n = count_.load(std::memory_order_relaxed);
  if (n == most) return;
  range_[n].set(begin, end - begin);
  count_.store(n + 1, std::memory_order_release);
}

bool DriverText::Ranges::contain(std::uintptr_t address) const noexcept {
  const std::size_t n = count_.load(std::memory_order_acquire);
  return std::any_of(range_, range_ + n, [&](const AddressRange& range) { return range.contains(address); });
}

void DriverText::refresh() noexcept {
  const std::uint64_t objects = base::loads_of_objects();
  if (objects == objects_seen_) return;
  driver_.clear();
  c_library_.clear();
  for_each_segment([this](const Segment& s) noexcept {
    if (s.type != PT_LOAD || (s.flags & PF_X) == 0) return;
    if (s.is_of("libcuda.so")) driver_.add(s.begin, s.end);
    if (s.is_of("libc.so") || s.is_of("libc-2.")) c_library_.add(s.begin, s.end);
  });
  objects_seen_ = objects;
}

bool DriverText::made(const FaultContext& fault) const noexcept {
  return driver_.contain(fault.instruction) ||
         (c_library_.contain(fault.instruction) && driver_.contain(fault.return_address));
}

}  // namespace semcache::platform::detail
