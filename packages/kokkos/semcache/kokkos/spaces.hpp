// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/kokkos/bridge.hpp>

namespace semcache {

class Exec;

namespace kokkos::detail {
/// Returns on which of the process's devices the kernels of an instance run; the thread's default for instances of host spaces.
template <class E>
[[nodiscard]] std::uint32_t device_of_instance(const E& exec);
}  // namespace kokkos::detail

/// A Kokkos memory space: device memory that SemCache keeps coherent. Kernels on semcache::Exec use views in it, and so do
/// kernels on the native space, at the price of a wait. Host code must not access their elements.
///
/// An allocation takes address space only; an array takes memory from its first use on. A Space that is default-constructed allocates
/// on the device of the instance that an allocation is given, else on device 0, which is Kokkos' own.
/// @throws OutOfMemory  from allocate: addresses are exhausted, or the array alone exceeds the budget
/// @throws UsageError   from allocate: the process does not use that device
class Space {
 public:
  using memory_space = Space;
  using execution_space = Exec;
  using device_type = Kokkos::Device<Exec, Space>;
  using size_type = kokkos::NativeExec::memory_space::size_type;

  Space() = default;
  /// A Space that allocates on device `device` of the process, for view_alloc(Space(1), label).
  explicit Space(std::uint32_t device) noexcept : device_(device) {}

  static constexpr const char* name() { return "SemCache"; }

  /// Returns this Space; one that names no device becomes one on the device of the instance.
  template <class E>
  [[nodiscard]] Space beside(const E& exec) const {
    return device_ != unnamed ? *this : Space(kokkos::detail::device_of_instance(exec));
  }

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
    const std::uint32_t device = device_ != unnamed ? device_ : kokkos::detail::default_device;
    return kokkos::detail::allocate(kokkos::detail::Side::device, device, name(), label, total, logical);
  }
  template <class E>
  void* allocate(const E& exec, std::size_t bytes) const {
    return beside(exec).allocate("[unlabeled]", bytes);
  }
  template <class E>
  void* allocate(const E& exec, const char* label, std::size_t bytes) const {
    return beside(exec).allocate(label, bytes);
  }
  template <class E>
  void* allocate(const E& exec, const char* label, std::size_t total, std::size_t logical) const {
    return beside(exec).allocate(label, total, logical);
  }
  void deallocate(void* address, std::size_t bytes) const { deallocate("[unlabeled]", address, bytes, bytes); }
  void deallocate(const char* label, void* address, std::size_t bytes) const { deallocate(label, address, bytes, bytes); }
  void deallocate(const char* label, void* address, std::size_t total, std::size_t logical) const {
    kokkos::detail::deallocate(name(), label, address, total, logical);
  }

 private:
  static constexpr std::uint32_t unnamed = ~std::uint32_t{0};
  std::uint32_t device_ = unnamed;
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
    return kokkos::detail::allocate(kokkos::detail::Side::mirror, 0, name(), label, total, logical);
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
