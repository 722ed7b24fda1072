// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/kokkos/bridge.hpp>

namespace semcache {

class Exec;

/// Device memory of the cache: a Kokkos memory space. Views in it are used by kernels on semcache::Exec (and, at the
/// price of a wait, on the native space); host code may not touch their elements.
///
/// Allocation costs address space only; memory is used from the first use on. @throws OutOfMemory
class Space {
 public:
  using memory_space = Space;
  using execution_space = Exec;
  using device_type = Kokkos::Device<Exec, Space>;
  using size_type = kokkos::NativeExec::memory_space::size_type;

  static constexpr const char* name() { return "SemCache"; }

  void* allocate(std::size_t bytes) const { return allocate("[unlabeled]", bytes); }
  /// Memory of the program's own making may hold anything: addresses of other arrays, too (DynamicView's list of its chunks). A
  /// kernel that is led there may use every array.
  void* allocate(const char* label, std::size_t bytes) const {
    void* const address = allocate(label, bytes, bytes);
    runtime::expect_handles(address);
    return address;
  }
  /// As Kokkos' records ask: `total` bytes of which the last `logical` are data.
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

/// Host memory whose pages the cache protects: the mirrors of views in semcache::Space. Host code uses it as any host
/// memory; views of it can be assigned to views in Kokkos::HostSpace (which then are no longer known as mirrors by type,
/// but their pages are).
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
