// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/kokkos/compat.hpp>
#include <semcache/runtime/runtime.hpp>

#include <cstdint>
#include <memory>

/// The compiled half of the Kokkos package: what need not be a template.
namespace semcache::kokkos::detail {

/// Tells the runtime which device Kokkos computes on and lets Kokkos::finalize end it; first call only.
/// @throws ConfigurationError SEMCACHE_DEVICE or SEMCACHE_DEVICES contradicts Kokkos
SEMCACHE_API void start(bool native_is_cuda, int ordinal, const char* native_name);

/// Are these the first two words of a View, [record][data]? Then its array. For runtime::recognise_handles.
SEMCACHE_API bool recognise_view(std::uintptr_t first, std::uintptr_t second, runtime::ArrayBlock& block) noexcept;

/// Where a space's memory lies.
enum class Side : std::uint8_t { device, mirror };

/// Kokkos asks for [header][data]; only the data exist (the header is runtime::header_of). Sends the tools' event.
/// @param total    bytes, header included where there is one
/// @param logical  bytes of data; total - logical is the header's size, 0 for an allocation without one
SEMCACHE_API void* allocate(Side side, const char* space_name, const char* label, std::size_t total, std::size_t logical);
SEMCACHE_API void deallocate(const char* space_name, const char* label, void* address, std::size_t total,
                             std::size_t logical) noexcept;

/// While alive, the thread's next mirror becomes the host side of the datum that starts at `device_address`.
class SEMCACHE_API PartnerScope {
 public:
  PartnerScope(const void* device_address, bool announced) noexcept;
  ~PartnerScope();
  PartnerScope(const PartnerScope&) = delete;
  PartnerScope& operator=(const PartnerScope&) = delete;

 private:
  const void* outer_;
  bool outer_announced_;
};

/// Kokkos::Impl::DeepCopy ends here. Copies of exactly one allocation header, whose tracked side starts 128 bytes before
/// a live allocation, are Kokkos' own book-keeping and are served from host memory.
SEMCACHE_API void copy(void* to, const void* from, std::size_t bytes, QueueId queue, bool to_tracked, bool from_tracked);

#ifdef KOKKOS_ENABLE_CUDA
inline void start_once() {
  static const bool started = [] {
    if constexpr (native_is_device)
      start(true, NativeExec().cuda_device(), NativeExec::name());
    else
      start(false, 0, NativeExec::name());
    return true;
  }();
  (void)started;
}
#else
inline void start_once() {
  static const bool started = (start(false, 0, NativeExec::name()), true);
  (void)started;
}
#endif

}  // namespace semcache::kokkos::detail
