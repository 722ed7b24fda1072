// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/kokkos/records.hpp>
#include <semcache/kokkos/sync_state.hpp>

#include <cstdint>

/// Arrays that have a device side and a host side, by either side's address.
namespace semcache::tpetra {

/// Which array with two sides. Sides with equal numbers belong together. One word, which kernels may capture.
struct ArrayId {
  std::uint64_t number = 0;  ///< 0: memory that is no side of one that was made here

  [[nodiscard]] bool exists() const noexcept { return number != 0; }
  /// Accesses of the host are noticed: the sides are always equal.
  [[nodiscard]] bool is_noticed() const noexcept { return (number & 1) != 0; }
};

struct ArraySides {
  ArrayId id;
  kokkos::SyncState flags;  ///< one for all DualViews of the array
};

/// The array that `address`, of either side, is in. Threads: any.
[[nodiscard]] SEMCACHE_API ArraySides array_at(const void* address);

struct HostSide {
  ArraySides array;
  std::byte* address = nullptr;  ///< what `device` is on the host
  Kokkos::Impl::SharedAllocationTracker owner;
};

/// The host side of the array that `device` is in; made now if it has none. It lives while somebody owns it.
/// Without an address if `device` is not in the cache's memory, or the array has a host side that was not made here
/// (semcache::DualView's).
/// @throws OutOfMemory. Threads: any.
[[nodiscard]] SEMCACHE_API HostSide host_side_of(const void* device);

/// The host's view of what `device` is a view of, extents and strides alike. @pre `side` is that of device.data()
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
