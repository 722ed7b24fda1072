// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "dual_view_watch.hpp"

#include <semcache/kokkos/exec.hpp>

// Kokkos_Core.hpp of newer versions does not declare the list of execution spaces.
#if KOKKOS_VERSION >= 30700
#define KOKKOS_IMPL_PUBLIC_INCLUDE
#include <impl/Kokkos_ExecSpaceManager.hpp>
#undef KOKKOS_IMPL_PUBLIC_INCLUDE
#endif

#include <cstring>
#include <memory>
#include <ostream>
#include <string>
#include <utility>

namespace semcache::kokkos::detail {
namespace {

static_assert(sizeof(Kokkos::Impl::SharedAllocationHeader) == runtime::header_bytes,
              "this Kokkos has another allocation header than the runtime serves");

thread_local const void* partner_of_next_mirror = nullptr;
thread_local bool next_mirror_is_announced = false;

#if KOKKOS_VERSION < 30700
using RegisteredSpace = Kokkos::Impl::ExecSpaceInitializerBase;
using Settings = Kokkos::InitArguments;
#else
using RegisteredSpace = Kokkos::Impl::ExecSpaceBase;
using Settings = Kokkos::InitializationSettings;
#endif

/// Kokkos::fence calls it, so that it waits for the tasks of library calls, too. Which of the members are virtual depends on the version.
class TasksOfDevices : public RegisteredSpace {
 public:
  void initialize(const Settings&) {}
  void finalize() {}
  [[maybe_unused]] void finalize(const bool) {}
  [[maybe_unused]] void fence() { tasks::wait(); }
  [[maybe_unused]] void fence(const std::string&) { tasks::wait(); }
  void static_fence(const std::string&) { tasks::wait(); }
  void print_configuration(std::ostream&, bool) {}
};

}  // namespace

__thread std::uint32_t default_device = 0;

void start(bool native_is_cuda, int ordinal, const char* native_name) {
  // The runtime keeps the pointer: the text must outlive it.
  static const std::string framework = "Kokkos " + std::to_string(KOKKOS_VERSION / 10000) + "." +
                                       std::to_string(KOKKOS_VERSION / 100 % 100) + " (" + native_name + ")";
  runtime::FrameworkDevice device;
  device.kind_forced = true;
  device.kind = native_is_cuda ? device::DeviceKind::cuda : device::DeviceKind::emulated;
  device.ordinal = ordinal;
  device.framework = framework.c_str();
  runtime::use_framework_device(device);
  runtime::recognise_handles(&recognise_view);
  watch_dual_views();
  // Kokkos calls the hooks in reverse order.
#ifdef KOKKOS_ENABLE_CUDA
  if (native_is_cuda) Kokkos::push_finalize_hook(&give_up_cuda_instances);
#endif
  Kokkos::push_finalize_hook([] { semcache::finalize(); });
  Kokkos::Impl::ExecSpaceManager::get_instance().register_space_factory("900_SemCache", std::make_unique<TasksOfDevices>());
}

void* allocate(Side side, std::uint32_t device, const char* space_name, const char* label, std::size_t total,
               std::size_t logical) {
  // A view without elements has an allocation, too, which has its label.
  const std::size_t bytes = logical != 0 ? logical : 1;
  void* data = nullptr;
  if (side == Side::device) {
    data = runtime::allocate_device(label, bytes, device);
  } else {
    const void* partner = std::exchange(partner_of_next_mirror, nullptr);
    const bool announced = std::exchange(next_mirror_is_announced, false);
    data = runtime::allocate_host(label, bytes, partner, announced ? base::Accesses::announced : base::Accesses::watched);
  }
  note_allocation(side, data, bytes);
  void* address = static_cast<char*>(data) - (total - logical);
  if (Kokkos::Profiling::profileLibraryLoaded())
    Kokkos::Profiling::allocateData(Kokkos::Tools::make_space_handle(space_name), label, address, logical);
  return address;
}

void deallocate(const char* space_name, const char* label, void* address, std::size_t total,
                std::size_t logical) noexcept {
  if (!address) return;
  if (Kokkos::Profiling::profileLibraryLoaded())
    Kokkos::Profiling::deallocateData(Kokkos::Tools::make_space_handle(space_name), label, address, logical);
  runtime::deallocate(static_cast<char*>(address) + (total - logical));
}

PartnerScope::PartnerScope(const void* device_address, bool announced) noexcept
    : outer_(std::exchange(partner_of_next_mirror, device_address)),
      outer_announced_(std::exchange(next_mirror_is_announced, announced)) {}
PartnerScope::~PartnerScope() {
  partner_of_next_mirror = outer_;
  next_mirror_is_announced = outer_announced_;
}

void copy(void* to, const void* from, std::size_t bytes, QueueId queue, bool to_tracked, bool from_tracked) {
  if (bytes == 0) return;
  if (bytes == runtime::header_bytes && to_tracked != from_tracked) {
    if (to_tracked) {
      if (void* header = runtime::header_of(static_cast<char*>(to) + runtime::header_bytes)) {
        std::memcpy(header, from, bytes);
        return;
      }
    } else if (const void* header = runtime::header_of(static_cast<const char*>(from) + runtime::header_bytes)) {
      std::memcpy(to, header, bytes);
      return;
    }
  }
  runtime::copy(to, from, bytes, queue);
}

}  // namespace semcache::kokkos::detail
