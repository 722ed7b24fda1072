// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/tpetra.hpp>

#include <Tpetra_Details_StaticView.hpp>

/// Tpetra's scratch memory, which grows and which Kokkos::finalize frees. It is the only part of Tpetra's library that exists
/// once per memory space and is not a template, so it is defined here for SemCache's spaces.
namespace {

template <class MemorySpace>
void* static_memory(std::size_t bytes) {
  static void* memory = nullptr;
  static std::size_t capacity = 0;
  if (memory != nullptr && bytes <= capacity) return memory;
  if (memory == nullptr) {
    Kokkos::push_finalize_hook([] {
      Kokkos::kokkos_free<MemorySpace>(memory);
      memory = nullptr;
      capacity = 0;
    });
  } else {
    Kokkos::kokkos_free<MemorySpace>(memory);
  }
  capacity = bytes == 0 ? sizeof(double) : bytes;
  memory = Kokkos::kokkos_malloc<MemorySpace>("Tpetra's scratch memory", capacity);
  return memory;
}

}  // namespace

namespace Tpetra {
namespace Details {
namespace Impl {

template <>
void* StaticKokkosAllocation<semcache::Space>::resize(semcache::Space, const std::size_t bytes) {
  return static_memory<semcache::Space>(bytes);
}
template <>
void* StaticKokkosAllocation<semcache::HostMirrorSpace>::resize(semcache::HostMirrorSpace, const std::size_t bytes) {
  return static_memory<semcache::HostMirrorSpace>(bytes);
}

}  // namespace Impl
}  // namespace Details
}  // namespace Tpetra
