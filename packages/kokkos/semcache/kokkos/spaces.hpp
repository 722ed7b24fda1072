// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/kokkos/bridge.hpp>

namespace semcache {

class Exec;

/// A Kokkos memory space: device memory that SemCache keeps coherent. Kernels on semcache::Exec use views in it, and so do
/// kernels on the native space, at the price of a wait. Host code must not access their elements.
///
/// An allocation takes address space only; an array takes memory from its first use on.
/// @throws OutOfMemory  from allocate: addresses are exhausted, or the array alone exceeds the budget
class Space {
 public:
  using memory_space = Space;
  using execution_space = Exec;
  using device_type = Kokkos::Device<Exec, Space>;
  using size_type = kokkos::NativeExec::memory_space::size_type;

  static constexpr const char* name() { return "SemCache"; }

  void* allocate(std::size_t bytes) const { return allocate("[unlabeled]", bytes); }
  /// For memory that the program allocates by hand. It may hold anything, also addresses of other arrays (a DynamicView's list of
  /// chunks), so a kernel that a pointer leads to this memory counts as one that may use every array.
  void* allocate(const char* label, std::size_t bytes) const {
    void* const address = allocate(label, bytes, bytes);
    runtime::expect_handles(address);
    return address;
  }
  /// Allocates for Kokkos' allocation records: `total` bytes, of which the last `logical` are data.
  void* allocate(const char* label, std::size_t total, std::size_t logical) const {
    kokkos::detail::start_once();
    return kokkos::detail::allocate(kokkos::detail::Side::device, name(), label, total, logical);
  }
  template <class E>
  void* allocate(const E&, std::size_t bytes) const {
    return allocate("[unlabeled]", bytes);
  }
  template <class E>
  void* allocate(const E&, const char* label, std::size_t bytes) const {
    return allocate(label, bytes);
  }
  template <class E>
  void* allocate(const E&, const char* label, std::size_t total, std::size_t logical) const {
    return allocate(label, total, logical);
  }
  void deallocate(void* address, std::size_t bytes) const { deallocate("[unlabeled]", address, bytes, bytes); }
  void deallocate(const char* label, void* address, std::size_t bytes) const { deallocate(label, address, bytes, bytes); }
  void deallocate(const char* label, void* address, std::size_t total, std::size_t logical) const {
    kokkos::detail::deallocate(name(), label, address, total, logical);
  }
};

/// A Kokkos memory space for the mirrors of views in semcache::Space: host memory whose pages SemCache protects. Host code
/// uses it like any host memory. Views in it can be assigned to views in Kokkos::HostSpace; the type of such a view no longer
/// tells that it is a mirror, but SemCache still recognises it by its address.
class HostMirrorSpace {
 public:
  using memory_space = HostMirrorSpace;
  using execution_space = Kokkos::DefaultHostExecutionSpace;
  using device_type = Kokkos::Device<execution_space, HostMirrorSpace>;
  using size_type = std::size_t;

  static constexpr const char* name() { return "SemCacheHostMirror"; }

  void* allocate(std::size_t bytes) const { return allocate("[unlabeled]", bytes, bytes); }
  void* allocate(const char* label, std::size_t bytes) const { return allocate(label, bytes, bytes); }
  void* allocate(const char* label, std::size_t total, std::size_t logical) const {
    kokkos::detail::start_once();
    return kokkos::detail::allocate(kokkos::detail::Side::mirror, name(), label, total, logical);
  }
  template <class E>
  void* allocate(const E&, std::size_t bytes) const {
    return allocate("[unlabeled]", bytes, bytes);
  }
  template <class E>
  void* allocate(const E&, const char* label, std::size_t bytes) const {
    return allocate(label, bytes, bytes);
  }
  template <class E>
  void* allocate(const E&, const char* label, std::size_t total, std::size_t logical) const {
    return allocate(label, total, logical);
  }
  void deallocate(void* address, std::size_t bytes) const { deallocate("[unlabeled]", address, bytes, bytes); }
  void deallocate(const char* label, void* address, std::size_t bytes) const { deallocate(label, address, bytes, bytes); }
  void deallocate(const char* label, void* address, std::size_t total, std::size_t logical) const {
    kokkos::detail::deallocate(name(), label, address, total, logical);
  }
};

}  // namespace semcache
