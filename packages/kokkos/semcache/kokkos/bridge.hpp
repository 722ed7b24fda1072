// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/kokkos/compat.hpp>
#include <semcache/runtime/runtime.hpp>

#include <cstdint>
#include <memory>
#include <utility>

/// The compiled half of the Kokkos package: functions that need not be templates.
namespace semcache::kokkos::detail {

/// Tells the runtime which device Kokkos computes on, and registers a hook so that Kokkos::finalize ends the runtime.
/// @pre called once (see start_once)
/// @throws ConfigurationError SEMCACHE_DEVICE or SEMCACHE_DEVICES contradicts Kokkos
SEMCACHE_API void start(bool native_is_cuda, int ordinal, const char* native_name);

/// Recognises a View by its first two words, [record][data]. The runtime calls it for words of functors and of memory
/// (runtime::recognise_handles).
/// @param block  set to the View's array
/// @return false if the words are not those of a View
SEMCACHE_API bool recognise_view(std::uintptr_t first, std::uintptr_t second, runtime::ArrayBlock& block) noexcept;

/// The side on which a space's memory lies.
enum class Side : std::uint8_t { device, mirror };

/// Allocates [header][data] as Kokkos asks for it, and reports the allocation to Kokkos Tools. Only the data have memory at the
/// returned address; the header lies in host memory (runtime::header_of).
/// @param device   on which of the process's devices; of no account for mirrors
/// @param total    bytes, header included where there is one
/// @param logical  bytes of data; total - logical is the header's size, 0 for an allocation without one
/// @throws OutOfMemory
/// @throws UsageError  the process does not use that device
SEMCACHE_API void* allocate(Side side, std::uint32_t device, const char* space_name, const char* label, std::size_t total,
                            std::size_t logical);
SEMCACHE_API void deallocate(const char* space_name, const char* label, void* address, std::size_t total,
                             std::size_t logical) noexcept;

/// The device of this thread's Execs and Spaces that name none. It is `__thread` because a `thread_local` variable would add the call
/// of a wrapper to each Exec that is made.
extern SEMCACHE_API __thread std::uint32_t default_device;

/// While an object of this class is alive, Execs and Spaces of the thread that name no device are on `device`. So Kokkos' own functions
/// that take neither (resize; deep_copy without an instance) allocate and compute where their views are.
class DefaultDeviceScope {
 public:
  explicit DefaultDeviceScope(std::uint32_t device) noexcept : outer_(std::exchange(default_device, device)) {}
  ~DefaultDeviceScope() { default_device = outer_; }
  DefaultDeviceScope(const DefaultDeviceScope&) = delete;
  DefaultDeviceScope& operator=(const DefaultDeviceScope&) = delete;

 private:
  std::uint32_t outer_;
};

/// While an object of this class is alive, the next mirror that the thread allocates becomes the host side of the datum that
/// begins at `device_address`.
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

/// Carries out Kokkos::Impl::DeepCopy. A copy between tracked and other memory of exactly one allocation header (128 bytes),
/// whose tracked side begins 128 bytes before a live allocation, is Kokkos' own bookkeeping: it writes or reads the header in
/// host memory. All other copies are handed to runtime::copy.
SEMCACHE_API void copy(void* to, const void* from, std::size_t bytes, QueueId queue, bool to_tracked, bool from_tracked);

/// Calls `start` at the first call in the process.
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
