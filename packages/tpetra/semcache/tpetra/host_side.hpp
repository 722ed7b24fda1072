// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/kokkos/records.hpp>
#include <semcache/kokkos/sync_state.hpp>

#include <cstdint>

/// Finds arrays that have a device side and a host side by the address of either side.
namespace semcache::tpetra {

/// Identifies an array with two sides. Sides with equal numbers belong together. It is one word, which kernels may capture.
struct ArrayId {
  std::uint64_t number = 0;  ///< 0: the memory is no side of an array whose host side was made here

  [[nodiscard]] bool exists() const noexcept { return number != 0; }
  /// Returns whether the host's accesses are noticed, so that the two sides are always equal.
  [[nodiscard]] bool is_noticed() const noexcept { return (number & 1) != 0; }
};

struct ArraySides {
  ArrayId id;
  kokkos::SyncState flags;  ///< shared by all DualViews of the array
};

/// Returns the array that `address`, on either side, is in. Without such an array the id does not exist. Threads: any.
[[nodiscard]] SEMCACHE_API ArraySides array_at(const void* address);

struct HostSide {
  ArraySides array;
  std::byte* address = nullptr;                 ///< the host side's address for the given device address
  Kokkos::Impl::SharedAllocationTracker owner;  ///< shares the ownership of the host side
};

/// Returns the host side of the array that the address `device` is in, and makes it if the array has none. The host side
/// lives as long as it has an owner.
/// @return a host side without an address if `device` is not in the cache's device memory, or if the array has a host side
///         that was not made here (that of a semcache::DualView)
/// @throws OutOfMemory
/// Threads: any.
[[nodiscard]] SEMCACHE_API HostSide host_side_of(const void* device);

/// Returns a host view of what `device` views, with the same extents and strides. @pre `side` is host_side_of(device.data())
template <class Host, class Device>
Host view_of(const HostSide& side, const Device& device) {
  Host host;
  auto& map = const_cast<std::decay_t<decltype(host.impl_map())>&>(host.impl_map());
  map.m_impl_handle = reinterpret_cast<typename Host::pointer_type>(side.address);
  map.m_impl_offset = device.impl_map().m_impl_offset;
  const_cast<Kokkos::Impl::SharedAllocationTracker&>(host.impl_track()) = side.owner;
  return host;
}

}  // namespace semcache::tpetra
