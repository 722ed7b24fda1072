// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/kokkos/spaces.hpp>
#include <semcache/tasks/lanes.hpp>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>
#include <vector>

namespace semcache {
namespace kokkos::detail {

#ifdef KOKKOS_ENABLE_CUDA
/// @throws UsageError  always: an instance on that GPU was given a stream whose handle every GPU has
[[noreturn]] SEMCACHE_API void refuse_shared_handle(int ordinal);

/// The lease of a stream by one Exec instance, shared by the instance's copies. When the last copy is destroyed the lease
/// tells the runtime, because the stream may be destroyed afterwards. Several instances may lease the same stream.
/// Where the runtime notices by itself that a stream is destroyed, there is no such object, because each launch would pay for the
/// copies of the pointer to it.
class QueueLease {
 public:
  explicit QueueLease(void* stream) : queue_(runtime::lease_queue(stream)), epoch_(runtime::epoch()) {}
  ~QueueLease() {
    if (epoch_ == runtime::epoch()) runtime::retire_queue(queue_);
  }
  QueueLease(const QueueLease&) = delete;
  QueueLease& operator=(const QueueLease&) = delete;

  /// Returns a new lease of the instance's stream; nullptr where the stream itself has the lease, and for the default instance, which
  /// lives until Kokkos::finalize.
  template <class Native>
  static QueueLease* of(const Native& native) {
    if (native.impl_internal_space_instance() == Native().impl_internal_space_instance()) return nullptr;
    start_once();
    void* const stream = native.cuda_stream();
    // The null stream, cudaStreamLegacy and cudaStreamPerThread name a stream of whichever device is current.
    if (reinterpret_cast<std::uintptr_t>(stream) <= 2 && native.cuda_device() != Native().cuda_device()) refuse_shared_handle(native.cuda_device());
    auto lease = std::make_unique<QueueLease>(stream);
    if (!runtime::leave_lease(lease->queue_)) return lease.release();
    lease->epoch_ = 0;  // it is no longer the object's
    return nullptr;
  }

 private:
  QueueId queue_;
  std::uint64_t epoch_;
};

/// Returns a new instance on the GPU of this number, with a stream of its own. Kokkos destroys the stream with the instance's last copy.
/// @throws UsageError   this Kokkos cannot compute on several GPUs
/// @throws DeviceError  the driver refuses a stream
[[nodiscard]] SEMCACHE_API Kokkos::Cuda new_cuda_instance(int ordinal);
/// Gives up the instances of `exec_on_gpu`. Called by Kokkos::finalize after the runtime has ended, because the streams may end with them.
SEMCACHE_API void give_up_cuda_instances();
#endif

/// The number of the emulated device on which an instance of a host space computes.
struct EmulatedDevice {
  std::uint32_t number = 0;
};

/// What an Exec has besides its native instance: on a GPU the lease of its stream, whose device the driver knows, on hosts the number
/// of its device.
#ifdef KOKKOS_ENABLE_CUDA
using SharedLease =
    std::conditional_t<native_is_device, Kokkos::Impl::HostSharedPtr<QueueLease>, EmulatedDevice>;
#else
using SharedLease = EmulatedDevice;
#endif

/// Returns the lease for an Exec that is made of a native instance. `Lease` is SharedLease.
template <class Lease, class Native>
[[nodiscard]] Lease lease_of([[maybe_unused]] const Native& native) {
#ifdef KOKKOS_ENABLE_CUDA
  if constexpr (!std::is_same<Lease, EmulatedDevice>::value) return Lease(QueueLease::of(native));
#endif
  return Lease();
}

}  // namespace kokkos::detail

/// Returns an instance whose kernels run on device `device` of the process. 0 is Kokkos' own device, so on(0) is Exec(). All calls for
/// one device return the same instance, which lives until Kokkos::finalize; partition_space(on(1), 1, 1) makes instances beside it.
/// Starts the runtime, unless `device` is 0.
///
/// Kernels on it best use arrays of that device (semcache::Space(device)). A kernel that captures an array of another device
/// reaches it by the link between the two (`peer_launches` in the report), and is refused with UsageError where there is none.
/// @throws UsageError  the process uses fewer devices (SEMCACHE_DEVICES, use_devices); or this is CUDA with a Kokkos older than 4.3
/// Threads: any.
[[nodiscard]] Exec on(std::uint32_t device);

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

  /// Makes the default instance, which is on device 0 (see semcache::on), and within a DefaultDeviceScope on the scope's device.
  Exec() {
    if (__builtin_expect(kokkos::detail::default_device != 0, 0)) *this = on(kokkos::detail::default_device);
  }
  Exec(const native_type& native)  // NOLINT: Kokkos code passes native instances
      : native_type(native), lease_(kokkos::detail::lease_of<kokkos::detail::SharedLease>(native)) {}
  /// Takes what the native space's constructors take: a cudaStream_t, Kokkos::NewInstance.
  template <class First, class... Rest,
            class = std::enable_if_t<!std::is_base_of<native_type, std::decay_t<First>>::value &&
                                     std::is_constructible<native_type, First, Rest...>::value>>
  explicit Exec(First&& first, Rest&&... rest)
      : native_type(std::forward<First>(first), std::forward<Rest>(rest)...),
        lease_(kokkos::detail::lease_of<kokkos::detail::SharedLease>(native())) {}

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

  /// Waits for all work on the instance, and for all tasks of library calls on any device (semcache/tasks), which belong to no instance.
  /// @param name  a label for Kokkos' tools, from Kokkos 3.5 on
  template <class... Name>
  void fence(Name&&... name) const {
    native_type::fence(std::forward<Name>(name)...);
    tasks::wait();
  }

  [[nodiscard]] const native_type& native() const { return *this; }
  [[nodiscard]] const kokkos::detail::SharedLease& shared_lease() const { return lease_; }

 private:
  kokkos::detail::SharedLease lease_;
};

/// The device that a program names once: kernels run on semcache::Exec, views lie in semcache::Space.
using Device = Kokkos::Device<Exec, Space>;

namespace kokkos::detail {

/// Returns the stream by which the runtime knows an instance (runtime::queue_of), from the two parts of an Exec.
template <class Native, class Lease>
[[nodiscard]] void* stream_of([[maybe_unused]] const Native& native, [[maybe_unused]] const Lease& lease) {
  if constexpr (std::is_same<Lease, EmulatedDevice>::value) {
    return reinterpret_cast<void*>(std::uintptr_t{lease.number});  // NOLINT: no address; see runtime::queue_of
  } else {
    return native.impl_internal_space_instance()->m_stream;  // `cuda_stream()` would set the device first
  }
}
[[nodiscard]] inline void* stream_of(const Exec& exec) { return stream_of(exec.native(), exec.shared_lease()); }

/// Returns the runtime's queue of an execution space instance. The runtime cannot know the order of work on a host space
/// beside a real device: such an instance is fenced, and the result is the invalid queue, which means behind all work so far.
template <class E>
[[nodiscard]] QueueId queue_of(const E& exec) {
  start_once();
  if constexpr (std::is_base_of<Exec, E>::value) {
    return runtime::queue_of(stream_of(exec));
  } else if constexpr (native_is_device && std::is_base_of<NativeExec, E>::value) {
    return runtime::queue_of(stream_of(static_cast<const NativeExec&>(exec), SharedLease()));
  } else if constexpr (native_is_device) {
    exec.fence();
    return QueueId{};
  } else {
    return runtime::queue_of(nullptr);
  }
}

/// Returns on which of the process's devices an instance computes, from the two parts of an Exec.
template <class Native, class Lease>
[[nodiscard]] std::uint32_t device_of_parts([[maybe_unused]] const Native& native, [[maybe_unused]] const Lease& lease) {
  if constexpr (std::is_same<Lease, EmulatedDevice>::value) {
    return lease.number;
  } else {
    start_once();
    return runtime::device_of_stream(stream_of(native, lease));
  }
}

template <class E>
std::uint32_t device_of_instance(const E& exec) {
  if constexpr (std::is_base_of<Exec, E>::value) {
    return device_of_parts(exec.native(), exec.shared_lease());
  } else if constexpr (native_is_device && std::is_base_of<NativeExec, E>::value) {
    return device_of_parts(static_cast<const NativeExec&>(exec), SharedLease());
  } else {
    (void)exec;
    return default_device;
  }
}

/// Makes an Exec of a part of the native instance of `whole`, which is on the same device.
[[nodiscard]] inline Exec as_exec([[maybe_unused]] const Exec& whole, const NativeExec& part) {
  if constexpr (native_is_device) return Exec(part);
  return Exec(part, whole.shared_lease());
}
/// Returns the instances of Exec for the parts of the native instance of `whole`.
inline std::vector<Exec> as_exec(const Exec& whole, const std::vector<NativeExec>& parts) {
  std::vector<Exec> instances;
  instances.reserve(parts.size());
  for (const NativeExec& part : parts) instances.push_back(as_exec(whole, part));
  return instances;
}
template <std::size_t N>
std::array<Exec, N> as_exec(const Exec& whole, const std::array<NativeExec, N>& parts) {
  std::array<Exec, N> instances;
  std::transform(parts.begin(), parts.end(), instances.begin(), [&](const NativeExec& part) { return as_exec(whole, part); });
  return instances;
}

#ifdef KOKKOS_ENABLE_CUDA
/// Returns the instance on the GPU of this number, the same at each call. It lives until Kokkos::finalize.
/// @throws UsageError, DeviceError  as `new_cuda_instance`
[[nodiscard]] SEMCACHE_API Exec exec_on_gpu(int ordinal);
#endif

template <class Lease>
[[nodiscard]] Exec exec_on([[maybe_unused]] std::uint32_t device, [[maybe_unused]] int ordinal) {
#ifdef KOKKOS_ENABLE_CUDA
  if constexpr (!std::is_same<Lease, EmulatedDevice>::value)
    return exec_on_gpu(ordinal);
  else
#endif
    return Exec(NativeExec(), Lease{device});
}

/// True if instances of the native space can be compared (from Kokkos 4.0 on).
template <class Native, class = void>
inline constexpr bool are_comparable = false;
template <class Native>
inline constexpr bool are_comparable<Native, std::void_t<decltype(std::declval<const Native&>() == std::declval<const Native&>())>> = true;

}  // namespace kokkos::detail

namespace kokkos::detail {
/// Returns the parts of an instance on the device of that instance: Kokkos makes them on the current device.
template <class Parts>
Parts beside([[maybe_unused]] const Exec& exec, Parts parts) {
#ifdef KOKKOS_ENABLE_CUDA
  if constexpr (native_is_device) {
    const int ordinal = exec.native().cuda_device();
    for (NativeExec& part : parts) {
      if (part.cuda_device() != ordinal) part = new_cuda_instance(ordinal);
    }
  }
#endif
  return parts;
}
}  // namespace kokkos::detail

inline Exec on(std::uint32_t device) {
  if (device == 0) return {kokkos::NativeExec(), kokkos::detail::SharedLease()};
  kokkos::detail::start_once();
  return kokkos::detail::exec_on<kokkos::detail::SharedLease>(device, runtime::device_ordinal(device));
}

/// Instances on different devices differ, also where one native instance serves several emulated devices.
template <class E, std::enable_if_t<std::is_same<E, Exec>::value && kokkos::detail::are_comparable<typename E::native_type>, int> = 0>
[[nodiscard]] bool operator==(const E& left, const E& right) {
  return left.native() == right.native() &&
         kokkos::detail::device_of_instance(left) == kokkos::detail::device_of_instance(right);
}
template <class E, std::enable_if_t<std::is_same<E, Exec>::value && kokkos::detail::are_comparable<typename E::native_type>, int> = 0>
[[nodiscard]] bool operator!=(const E& left, const E& right) {
  return !(left == right);
}

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
  return semcache::kokkos::detail::as_exec(exec, semcache::kokkos::detail::beside(exec, Kokkos::Experimental::partition_space(exec.native(), weights...)));
#else
  return std::vector<semcache::Exec>(sizeof...(weights), exec);
#endif
}
template <class Weight>
std::vector<semcache::Exec> partition_space(const semcache::Exec& exec, const std::vector<Weight>& weights) {
#if SEMCACHE_KOKKOS_PARTITION_SPACE
  return semcache::kokkos::detail::as_exec(exec, semcache::kokkos::detail::beside(exec, Kokkos::Experimental::partition_space(exec.native(), weights)));
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
