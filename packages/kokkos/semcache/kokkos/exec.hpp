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
/// The lease of a stream by one Exec instance, shared by the instance's copies. When the last copy is destroyed the lease
/// tells the runtime, because the stream may be destroyed afterwards. Several instances may lease the same stream.
class QueueLease {
 public:
  explicit QueueLease(void* stream) : queue_(runtime::lease_queue(stream)), epoch_(runtime::epoch()) {}
  ~QueueLease() {
    if (epoch_ == runtime::epoch()) runtime::retire_queue(queue_);
  }
  QueueLease(const QueueLease&) = delete;
  QueueLease& operator=(const QueueLease&) = delete;

  /// Returns a new lease of the instance's stream; nullptr for the default instance, which lives until Kokkos::finalize, and
  /// for host spaces.
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

/// A Kokkos execution space: the native execution space with semcache::Space as its memory space. It inherits everything
/// from the native space. SemCache notices every kernel that is launched on it, and the views that the kernel captured.
///
/// Copies share the instance, as for the native space. A stream given to an instance must live until the last copy of the
/// instance is destroyed. An Exec that is sliced to its base class is the native instance, so a library call that takes a
/// Kokkos::Cuda accepts an Exec; kernels on the slice are launches on the native space.
/// Ordering: as for the native instance. Threads: as for the native instance.
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
  /// Takes what the native space's constructors take: a cudaStream_t, Kokkos::NewInstance.
  template <class First, class... Rest,
            class = std::enable_if_t<!std::is_base_of<native_type, std::decay_t<First>>::value &&
                                     std::is_constructible<native_type, First, Rest...>::value>>
  explicit Exec(First&& first, Rest&&... rest)
      : native_type(std::forward<First>(first), std::forward<Rest>(rest)...) {
    lease();
  }

  /// Makes an instance from its two parts, for classes that keep a native instance anyway and need not keep a second one.
  Exec(const native_type& native, const kokkos::detail::SharedLease& lease) : native_type(native), lease_(lease) {}

  Exec(const Exec&) = default;
  /// Assigns the lease first: the old lease must end before the old native instance, which keeps the leased stream alive.
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

/// The device that a program names once: kernels run on semcache::Exec, views lie in semcache::Space.
using Device = Kokkos::Device<Exec, Space>;

namespace kokkos::detail {

/// Returns the stream by which the runtime knows an instance of the native space; nullptr for host spaces.
[[nodiscard]] inline void* stream_of([[maybe_unused]] const NativeExec& native) {
#ifdef KOKKOS_ENABLE_CUDA
  // `cuda_stream()` would set the device first.
  if constexpr (native_is_device) return native.impl_internal_space_instance()->m_stream;
#endif
  return nullptr;
}

/// Returns the runtime's queue of an execution space instance. The runtime cannot know the order of work on a host space
/// beside a real device: such an instance is fenced, and the result is the invalid queue, which means behind all work so far.
template <class E>
[[nodiscard]] QueueId queue_of(const E& exec) {
  start_once();
#ifdef KOKKOS_ENABLE_CUDA
  if constexpr (std::is_base_of<Kokkos::Cuda, E>::value && native_is_device)
    return runtime::queue_of(stream_of(exec));
  else if constexpr (native_is_device) {
    exec.fence();
    return QueueId{};
  }
#endif
  (void)exec;
  return runtime::queue_of(nullptr);
}

/// Converts instances of the native space into instances of Exec.
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
/// Overloads for Exec, because Kokkos' generic function only copies the instance: without them each part would silently be
/// the same instance. They return what this version of Kokkos returns for its own spaces: a vector or, where the weights are
/// function arguments, an array.
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
// For generic code that calls Kokkos' implementation directly.
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
