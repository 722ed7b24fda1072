// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/kokkos/strided_copy.hpp>

#include <algorithm>

namespace semcache::kokkos::detail {

namespace {

/// Calls `visit(to_offset, from_offset, width, columns)` for the groups of columns that are the elements.
/// @return false  they would be more than 64 groups, or overlap; nothing has been visited
template <class Visit>
bool for_each_group(const StridedElements& elements, const Visit& visit) {
  constexpr std::uint64_t most_groups = 64;
  using Dimension = StridedElements::Dimension;
  Dimension by_stride[StridedElements::most_dimensions];
  Dimension* const end = std::copy_if(elements.dimension, elements.dimension + elements.dimensions, by_stride,
                                      [](const Dimension& d) { return d.extent != 1; });
  // By insertion: std::sort of so few elements draws a false warning from g++ 12.
  const auto before = [](const Dimension& a, const Dimension& b) { return a.to_stride < b.to_stride; };
  for (Dimension* d = by_stride; d != end; ++d) std::rotate(std::upper_bound(by_stride, d, *d, before), d, d + 1);

  const Dimension* next = by_stride;
  std::uint64_t width = elements.element_bytes;
  for (; next != end && next->to_stride == width && next->from_stride == width; ++next) width *= next->extent;
  const Dimension columns = next != end ? *next++ : Dimension{1, width, width};
  if (columns.to_stride < width || columns.from_stride < width) return false;
  std::uint64_t groups = 1;
  for (const Dimension* d = next; d != end; ++d) {
    if (d->to_stride == 0 || d->extent > most_groups) return false;
    groups *= d->extent;
    if (groups > most_groups) return false;
  }

  for (std::uint64_t k = 0; k < groups; ++k) {
    std::uint64_t rest = k, to_offset = 0, from_offset = 0;
    for (const Dimension* d = next; d != end; ++d) {
      to_offset += rest % d->extent * d->to_stride;
      from_offset += rest % d->extent * d->from_stride;
      rest /= d->extent;
    }
    visit(to_offset, from_offset, width, columns);
  }
  return true;
}

struct Groups {
  std::uint64_t number = 0;  ///< 0: they are more than 64, or overlap
  std::uint64_t width = 0;   ///< bytes of a column
};
Groups count(const StridedElements& elements) {
  Groups groups;
  (void)for_each_group(elements, [&](std::uint64_t, std::uint64_t, std::uint64_t width, const StridedElements::Dimension&) {
    ++groups.number;
    groups.width = width;
  });
  return groups;
}

}  // namespace

bool are_few_groups(const StridedElements& elements) {
  const Groups groups = count(elements);
  return groups.number == 1 || groups.width > elements.element_bytes;
}

void copy_columns(void* to, const void* from, const StridedElements& elements, QueueId queue) {
  (void)for_each_group(elements, [&](std::uint64_t to_offset, std::uint64_t from_offset, std::uint64_t width,
                                      const StridedElements::Dimension& columns) {
    runtime::copy_2d(static_cast<std::byte*>(to) + to_offset, columns.to_stride, static_cast<const std::byte*>(from) + from_offset,
                     columns.from_stride, width, columns.extent, queue);
  });
}

bool access_columns(const void* address, const StridedElements& elements, Access mode) {
  // A call of several announcements that fails must not have given up what the first ones overwrite.
  if (mode == Access::overwrite && count(elements).number != 1) mode = Access::write;
  return for_each_group(elements, [&](std::uint64_t offset, std::uint64_t, std::uint64_t width,
                                      const StridedElements::Dimension& columns) {
    semcache::access_2d(static_cast<const std::byte*>(address) + offset, columns.to_stride, width, columns.extent, mode);
  });
}

}  // namespace semcache::kokkos::detail
