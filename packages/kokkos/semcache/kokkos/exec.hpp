// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/kokkos/spaces.hpp>

#include <algorithm>
#include <array>
#include <vector>

namespace semcache {
namespace kokkos::detail {

#ifdef KOKKOS_ENABLE_CUDA
/// Tells the runtime when the last copy of an instance is gone: its stream may be destroyed then. Several instances may
/// share a stream.
class QueueLease {
 public:
  explicit QueueLease(void* stream) : queue_(runtime::lease_queue(stream)), epoch_(runtime::epoch()) {}
  ~QueueLease() {
    if (epoch_ == runtime::epoch()) runtime::retire_queue(queue_);
  }
  QueueLease(const QueueLease&) = delete;
  QueueLease& operator=(const QueueLease&) = delete;

  /// nullptr for the default instance, which ends with Kokkos, and for host spaces.
  template <class Native>
  static QueueLease* of(const Native& native) {
    if constexpr (native_is_device) {
      if (native.impl_internal_space_instance() == Native().impl_internal_space_instance()) return nullptr;
      start_once();
      return new QueueLease(native.cuda_stream());
    } else {
      return nullptr;
    }
  }

 private:
  QueueId queue_;
  std::uint64_t epoch_;
};
using SharedLease = Kokkos::Impl::HostSharedPtr<QueueLease>;
#else
struct SharedLease {};
#endif

}  // namespace kokkos::detail

/// The native execution space with semcache::Space as its memory space: everything is borrowed, and every kernel
/// launched on it is noticed with the views that it captured.
///
/// Copies share the instance, as for the native space; a stream given to an instance must live until the last copy is
/// gone. A slice is the native instance: library calls that want a
/// Kokkos::Cuda take it. Kernels on a slice are launches on the native space.
/// Ordering: as the native instance. Threads: as the native instance.
class Exec : public kokkos::NativeExec {
 public:
  using native_type = kokkos::NativeExec;
  using execution_space = Exec;
  using memory_space = Space;
  using device_type = Kokkos::Device<Exec, Space>;
  using array_layout = native_type::array_layout;
  using size_type = native_type::size_type;
  using scratch_memory_space = native_type::scratch_memory_space;

  Exec() = default;
  Exec(const native_type& native) : native_type(native) { lease(); }  // NOLINT: Kokkos code passes native instances
  /// From whatever the native space's instances are made of: a cudaStream_t, Kokkos::NewInstance.
  template <class First, class... Rest,
            class = std::enable_if_t<!std::is_base_of<native_type, std::decay_t<First>>::value &&
                                     std::is_constructible<native_type, First, Rest...>::value>>
  explicit Exec(First&& first, Rest&&... rest)
      : native_type(std::forward<First>(first), std::forward<Rest>(rest)...) {
    lease();
  }

  /// An instance again, from its parts: who keeps a native instance anyway need not keep a second one.
  Exec(const native_type& native, const kokkos::detail::SharedLease& lease) : native_type(native), lease_(lease) {}

  Exec(const Exec&) = default;
  /// The lease first: its stream lives as long as the native instance.
  Exec& operator=(const Exec& other) {
    lease_ = other.lease_;
    native_type::operator=(other);
    return *this;
  }

  static const char* name() { return "SemCache"; }

  [[nodiscard]] const native_type& native() const { return *this; }
  [[nodiscard]] const kokkos::detail::SharedLease& shared_lease() const { return lease_; }

 private:
  void lease() {
#ifdef KOKKOS_ENABLE_CUDA
    lease_ = kokkos::detail::SharedLease(kokkos::detail::QueueLease::of(native()));
#endif
  }
  kokkos::detail::SharedLease lease_;
};

/// What a program names once: kernels on semcache::Exec, views in semcache::Space.
using Device = Kokkos::Device<Exec, Space>;

namespace kokkos::detail {

/// What names an instance of the native space to the runtime: its stream; nullptr on hosts.
[[nodiscard]] inline void* stream_of([[maybe_unused]] const NativeExec& native) {
#ifdef KOKKOS_ENABLE_CUDA
  // Not `cuda_stream()`, which sets the device first.
  if constexpr (native_is_device) return native.impl_internal_space_instance()->m_stream;
#endif
  return nullptr;
}

/// The runtime's queue for an execution space instance; the invalid queue for instances whose order the runtime cannot
/// know (a host space beside a real device): work so far.
template <class E>
[[nodiscard]] QueueId queue_of(const E& exec) {
  start_once();
#ifdef KOKKOS_ENABLE_CUDA
  if constexpr (std::is_base_of<Kokkos::Cuda, E>::value && native_is_device)
    return runtime::queue_of(exec.cuda_stream());
  else if constexpr (native_is_device) {
    exec.fence();
    return QueueId{};
  }
#endif
  (void)exec;
  return runtime::queue_of(nullptr);
}

/// Instances of the native space as instances of Exec.
inline std::vector<Exec> as_exec(const std::vector<NativeExec>& parts) { return {parts.begin(), parts.end()}; }
template <std::size_t N>
std::array<Exec, N> as_exec(const std::array<NativeExec, N>& parts) {
  std::array<Exec, N> instances;
  std::copy(parts.begin(), parts.end(), instances.begin());
  return instances;
}

}  // namespace kokkos::detail
}  // namespace semcache

namespace Kokkos {
namespace Tools {
namespace Experimental {
template <>
struct DeviceTypeTraits<semcache::Exec> {
  static constexpr DeviceType id = DeviceTypeTraits<semcache::kokkos::NativeExec>::id;
#if SEMCACHE_KOKKOS_TOOLS_DEVICE_ID
  static int device_id(const semcache::Exec& exec) {
    return DeviceTypeTraits<semcache::kokkos::NativeExec>::device_id(exec);
  }
#endif
};
}  // namespace Experimental
}  // namespace Tools

namespace Experimental {
/// Without these a "partition" would be the same instance again, silently (overloads for Exec: the generic function only
/// copies). They return what this version of Kokkos does: a vector, or for weights that are counted here an array.
template <class... Weights>
auto partition_space(const semcache::Exec& exec, Weights... weights) {
#if SEMCACHE_KOKKOS_PARTITION_SPACE
  return semcache::kokkos::detail::as_exec(Kokkos::Experimental::partition_space(exec.native(), weights...));
#else
  return std::vector<semcache::Exec>(sizeof...(weights), exec);
#endif
}
template <class Weight>
std::vector<semcache::Exec> partition_space(const semcache::Exec& exec, const std::vector<Weight>& weights) {
#if SEMCACHE_KOKKOS_PARTITION_SPACE
  return semcache::kokkos::detail::as_exec(Kokkos::Experimental::partition_space(exec.native(), weights));
#else
  return std::vector<semcache::Exec>(weights.size(), exec);
#endif
}
#if SEMCACHE_KOKKOS_IMPL_PARTITION_SPACE
// For generic code that calls the implementation.
namespace Impl {
#define SEMCACHE_KOKKOS_PARTITION(WEIGHT)                                                                             \
  template <>                                                                                                         \
  inline std::vector<semcache::Exec> impl_partition_space<semcache::Exec, WEIGHT>(                                    \
      const semcache::Exec& exec, const std::vector<WEIGHT>& weights) {                                               \
    return Kokkos::Experimental::partition_space(exec, weights);                                                      \
  }
SEMCACHE_KOKKOS_PARTITION(int)
SEMCACHE_KOKKOS_PARTITION(unsigned)
SEMCACHE_KOKKOS_PARTITION(long)
SEMCACHE_KOKKOS_PARTITION(unsigned long)
SEMCACHE_KOKKOS_PARTITION(float)
SEMCACHE_KOKKOS_PARTITION(double)
#undef SEMCACHE_KOKKOS_PARTITION
}  // namespace Impl
#endif
}  // namespace Experimental
}  // namespace Kokkos
