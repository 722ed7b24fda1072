// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/device/cuda/driver_api.hpp>
#include <semcache/device/detail/digest.hpp>
#include <semcache/device/device.hpp>
#include <semcache/platform/per_thread.hpp>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

/// The binary of kernels.cu for all architectures that the toolkit knows; the build makes this array.
extern "C" const unsigned long long semcache_cuda_kernels[];

namespace semcache::device {
namespace {

constexpr std::uint64_t address_alignment = std::uint64_t{2} << 20;
/// The addresses that are requested from the driver. Words of a kernel's arguments count as pointers where they look like
/// addresses, and two 32-bit numbers side by side can look like one. The driver's own choice is so low (13 GiB) that the second
/// number need only be 3. The upper half here is a number that programs hardly ever have.
constexpr std::uint64_t usual_addresses = std::uint64_t{0x4d3a} << 32;
constexpr std::uint64_t addresses_of_one_device = std::uint64_t{1} << 40;
constexpr unsigned threads_per_block = 256;

CUdeviceptr number(const std::byte* p) { return reinterpret_cast<CUdeviceptr>(p); }
std::byte* pointer(CUdeviceptr n) { return reinterpret_cast<std::byte*>(n); }
EventId to_id(CUevent event) { return reinterpret_cast<EventId>(event); }
CUevent to_event(EventId id) { return reinterpret_cast<CUevent>(id); }

/// Returns the permission for kernels and copies of the device to use memory.
CUmemAccessDesc access_of(CUdevice device) {
  CUmemAccessDesc access = {};
  access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  access.location.id = device;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  return access;
}

CUmemAllocationProp memory_at(CUmemLocationType type, int id) {
  CUmemAllocationProp memory = {};
  memory.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  memory.location.type = type;
  memory.location.id = id;
  return memory;
}
CUmemAllocationProp memory_of(CUdevice device) { return memory_at(CU_MEM_LOCATION_TYPE_DEVICE, device); }

// Enumerators that cuda.h has from CUDA 12.2 on. An older driver refuses them.
constexpr int node_of_host = 3;    // CU_MEM_LOCATION_TYPE_HOST_NUMA
constexpr int nearest_node = 134;  // CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID

using Ranges = std::unordered_map<std::byte*, std::uint64_t>;  ///< bytes of each range, by its begin

bool inside(const Ranges& ranges, const void* pointer) {
  const auto p = reinterpret_cast<std::uintptr_t>(pointer);
  return std::any_of(ranges.begin(), ranges.end(), [p](const auto& range) {
    const auto begin = reinterpret_cast<std::uintptr_t>(range.first);
    return begin <= p && p < begin + range.second;
  });
}

/// Returns whether the driver ended before us because the process is ending. Nothing is left to give back then.
bool driver_has_ended(CUresult result) {
  return result == CUDA_ERROR_DEINITIALIZED || result == CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

/// The device that this thread has entered, how often, and whether that changed the thread's context.
struct Entered {
  const Device* device = nullptr;
  unsigned depth = 0;
  bool pushed = false;
};

// For functions that may throw: makes the context current, or throws.
#define SEMCACHE_CUDA_CURRENT_FOR(kind) \
  const kind current(*this);            \
  check(current.result(), "cuCtxPushCurrent")
#define SEMCACHE_CUDA_CURRENT() SEMCACHE_CUDA_CURRENT_FOR(Current)
#define SEMCACHE_CUDA_SUBMITS() SEMCACHE_CUDA_CURRENT_FOR(Context)

/// One CUDA device, through the driver interface and the primary context (the one that the CUDA runtime and Kokkos
/// use). Every call makes that context current and restores the caller's, so it works in threads that never used CUDA or use
/// another device. No lock is held during a call of the driver that may wait, except for that of digests, which
/// are made one at a time.
class CudaDevice final : public Device {
 public:
  explicit CudaDevice(int ordinal) : api_(cuda::driver_api()), ordinal_(ordinal) {
    if (!api_.failure.empty()) {
      throw DeviceError("CUDA device " + std::to_string(ordinal) + ": " + api_.failure + ". Install a driver that fits the GPU, or compute "
                        "without a GPU (SEMCACHE_DEVICE=emulated)");
    }
    check(api_.cuDeviceGet(&device_, ordinal), "cuDeviceGet");
    check(api_.cuDevicePrimaryCtxRetain(&context_, device_), "cuDevicePrimaryCtxRetain");
    try {
      set_up();
    } catch (...) {
      tear_down();
      throw;
    }
  }

  ~CudaDevice() override { tear_down(); }

  DeviceKind kind() const noexcept override { return DeviceKind::cuda; }
  std::string name() const override { return name_; }
  int ordinal() const noexcept override { return ordinal_; }
  std::uint64_t total_memory_bytes() const override { return total_bytes_; }
  std::uint64_t free_memory_bytes() const override {
    SEMCACHE_CUDA_CURRENT();
    std::size_t free = 0;
    std::size_t total = 0;
    check(api_.cuMemGetInfo(&free, &total), "cuMemGetInfo");
    return free;
  }

  // --- addresses and memory -----------------------------------------------------------------------------------------
  std::uint64_t granularity_bytes() const noexcept override { return granularity_bytes_; }
  /// 32 MiB: each handle costs the driver 25 to 50 us besides what clearing its memory takes, and from 128 MiB on the driver's calls wait
  /// for transfers under way.
  std::uint64_t block_bytes() const noexcept override { return 16 * granularity_bytes_; }
  std::byte* reserve(std::uint64_t& bytes) override {
    SEMCACHE_EXPECTS(bytes > 0, "CUDA device: 0 bytes of addresses asked for");
    SEMCACHE_CUDA_CURRENT();
    const std::uint64_t unit = std::max(address_alignment, granularity_bytes_);
    const std::uint64_t largest = std::uint64_t{1} << 46;
    CUresult result = CUDA_ERROR_INVALID_VALUE;
    for (std::uint64_t size = round_up(std::min(bytes, largest), unit); size >= unit; size = round_down(size / 2, unit)) {
      CUdeviceptr address = 0;
      const CUdeviceptr wish = usual_addresses + static_cast<unsigned>(ordinal_) * addresses_of_one_device;
      result = api_.cuMemAddressReserve(&address, size, unit, wish, 0);
      if (result != CUDA_SUCCESS) result = api_.cuMemAddressReserve(&address, size, unit, 0, 0);
      if (result != CUDA_SUCCESS) continue;
      bytes = size;
      return note(reservations_, address, size, [&] { return api_.cuMemAddressFree(address, size); });
    }
    check(result, "cuMemAddressReserve");
    throw DeviceError("CUDA device " + std::to_string(ordinal_) + ": no addresses");
  }

  void release(std::byte* base, std::uint64_t bytes) noexcept override {
    if (base == nullptr || bytes == 0) return;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      reservations_.erase(base);
    }
    const Current current(*this);
    log(api_.cuMemAddressFree(number(base), bytes), "cuMemAddressFree");
  }

  void share_with(const std::vector<Device*>& others, PeerUse use) override {
    for (Device* const other : others) {
      SEMCACHE_CHECK(other->kind() == DeviceKind::cuda);
      others_.push_back(static_cast<const CudaDevice*>(other));
      if (use == PeerUse::permitted && other->reaches(*this)) users_.push_back(access_of(others_.back()->device_));
    }
  }
  bool reaches(const Device& other) const noexcept override {
    if (&other == this) return true;
    int can = 0;
    return other.kind() == DeviceKind::cuda &&
           api_.cuDeviceCanAccessPeer(&can, device_, static_cast<const CudaDevice&>(other).device_) == CUDA_SUCCESS && can != 0;
  }
  bool owns_stream(void* native) const noexcept override {
    const cuda::CaptureAllowed allowed;
    CUcontext context = nullptr;
    return api_.cuStreamGetCtx(static_cast<CUstream>(native), &context) == CUDA_SUCCESS && context == context_;
  }

  void map(std::byte* address, std::uint64_t bytes) override {
    expect_granules(address, bytes);
    SEMCACHE_CUDA_CURRENT();
    put_behind(address, bytes, make_memory(bytes), users_);
  }

  void map_on(Location location, std::byte* address, std::uint64_t bytes) override {
    if (location.device == this) return map(address, bytes);
    expect_granules(address, bytes);
    if (location.device == nullptr) {
      SEMCACHE_CUDA_CURRENT();
      return put_behind(address, bytes, make_memory_of_host(bytes), users_);
    }
    SEMCACHE_EXPECTS(location.device->kind() == DeviceKind::cuda, "CUDA device: map of memory on a device of another kind");
    const auto& owner = static_cast<const CudaDevice&>(*location.device);
    if (!owner.may_be_used_by(device_))
      throw DeviceError("CUDA device " + std::to_string(ordinal_) + ": memory of CUDA device " + std::to_string(owner.ordinal_) + " cannot lie "
                        "behind its addresses, because it does not reach that device (no peer access). Map memory of a device that it reaches, "
                        "or of the host");
    SEMCACHE_CUDA_CURRENT();
    put_behind(address, bytes, owner.make_memory(bytes), owner.users_);
  }

  void move(std::byte* from, std::byte* to, std::uint64_t bytes) override {
    SEMCACHE_CUDA_CURRENT();
    CUmemGenericAllocationHandle handle = 0;
    const CUresult retained = api_.cuMemRetainAllocationHandle(&handle, from);
    log(api_.cuMemUnmap(number(from), bytes), "cuMemUnmap");
    check(retained, "cuMemRetainAllocationHandle");
    put_behind(to, bytes, handle, users_);
  }

  void map_same(std::byte* address, std::byte* of, std::uint64_t bytes) override {
    SEMCACHE_CUDA_CURRENT();
    CUmemGenericAllocationHandle handle = 0;
    check(api_.cuMemRetainAllocationHandle(&handle, of), "cuMemRetainAllocationHandle");
    CUmemAllocationProp memory = {};
    const CUresult known = api_.cuMemGetAllocationPropertiesFromHandle(&memory, handle);
    const CudaDevice* owner = this;  // also of the host's memory
    for (const CudaDevice* const other : others_) {
      if (memory.location.type == CU_MEM_LOCATION_TYPE_DEVICE && memory.location.id == other->device_) owner = other;
    }
    if (known != CUDA_SUCCESS) log(api_.cuMemRelease(handle), "cuMemRelease");
    check(known, "cuMemGetAllocationPropertiesFromHandle");
    put_behind(address, bytes, handle, owner->users_);
  }

 private:
  void expect_granules(const std::byte* address, std::uint64_t bytes) const {
    SEMCACHE_EXPECTS(bytes % granularity_bytes_ == 0 && number(address) % granularity_bytes_ == 0,
                     "CUDA device: map of a range that is not a multiple of the granularity");
  }
  [[nodiscard]] bool may_be_used_by(CUdevice device) const {
    return std::any_of(users_.begin(), users_.end(), [device](const CUmemAccessDesc& user) { return user.location.id == device; });
  }

  /// Makes memory of this device. @throws OutOfMemory
  [[nodiscard]] CUmemGenericAllocationHandle make_memory(std::uint64_t bytes) const {
    SEMCACHE_CUDA_CURRENT();
    const CUmemAllocationProp memory = memory_of(device_);
    CUmemGenericAllocationHandle handle = 0;
    check(api_.cuMemCreate(&handle, bytes, &memory, 0), "cuMemCreate", bytes);
    return handle;
  }

  /// Makes memory of the host, on the node that is nearest to this device. The driver gives it page-locked.
  [[nodiscard]] CUmemGenericAllocationHandle make_memory_of_host(std::uint64_t bytes) const {
    int node = -1;
    const CUresult known = api_.cuDeviceGetAttribute(&node, static_cast<CUdevice_attribute>(nearest_node), device_);
    if (known != CUDA_SUCCESS || node < 0) node = 0;  // a host without nodes
    const CUmemAllocationProp memory = memory_at(static_cast<CUmemLocationType>(node_of_host), node);
    CUmemGenericAllocationHandle handle = 0;
    const CUresult result = api_.cuMemCreate(&handle, bytes, &memory, 0);
    if (result == CUDA_SUCCESS) return handle;
    const std::string what = "CUDA device " + std::to_string(ordinal_) + " (" + name_ + "): " + std::to_string(bytes) +
                             " bytes of the host's memory (node " + std::to_string(node) + ") cannot lie behind its addresses: " +
                             cuda::error_text(api_, result, "cuMemCreate");
    if (result == CUDA_ERROR_OUT_OF_MEMORY) throw OutOfMemory(what + ". Free memory of the host", bytes, 0);
    throw DeviceError(what + ". Use a driver of CUDA 12.2 or later that may allocate there (a container can forbid it), or map memory of a device");
  }

  /// Maps the memory for the users, and gives up the handle. If that fails, the memory is given back.
  void put_behind(std::byte* address, std::uint64_t bytes, CUmemGenericAllocationHandle handle, const std::vector<CUmemAccessDesc>& users) {
    CUresult result = api_.cuMemMap(number(address), bytes, 0, handle, 0);
    // From here on the mapping keeps the memory alive, and unmapping gives it back.
    log(api_.cuMemRelease(handle), "cuMemRelease");
    check(result, "cuMemMap");

    result = api_.cuMemSetAccess(number(address), bytes, users.data(), users.size());
    if (result == CUDA_SUCCESS) return;
    log(api_.cuMemUnmap(number(address), bytes), "cuMemUnmap");
    check(result, "cuMemSetAccess", bytes);
  }

 public:
  void unmap(std::byte* address, std::uint64_t bytes) noexcept override {
    const Current current(*this);
    log(api_.cuMemUnmap(number(address), bytes), "cuMemUnmap");
  }

  // --- queues and events --------------------------------------------------------------------------------------------
  QueueId open_queue() override {
    SEMCACHE_CUDA_CURRENT();
    // Copies within the device are kernels. At the program's priority they would start only after its last large kernel.
    int least = 0;
    int greatest = 0;
    check(api_.cuCtxGetStreamPriorityRange(&least, &greatest), "cuCtxGetStreamPriorityRange");
    CUstream stream = nullptr;
    check(api_.cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, greatest), "cuStreamCreateWithPriority");
    return add_queue({true, true, stream, {}});
  }

  std::shared_ptr<void> new_stream(StreamPriority priority) override {
    SEMCACHE_CUDA_CURRENT();
    int least = 0;
    int greatest = 0;
    check(api_.cuCtxGetStreamPriorityRange(&least, &greatest), "cuCtxGetStreamPriorityRange");
    CUstream stream = nullptr;
    check(api_.cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, priority == StreamPriority::before_others ? greatest : 0), "cuStreamCreateWithPriority");
    return {static_cast<void*>(stream), [this](void* made) {
              const Current current(*this);
              log(api_.cuStreamDestroy(static_cast<CUstream>(made)), "cuStreamDestroy");
            }};
  }
  QueueId adopt_queue(void* native, std::shared_ptr<void> owner) override {
    // A cudaStream_t is a CUstream; nullptr is the legacy default stream.
    return add_queue({true, false, static_cast<CUstream>(native), std::move(owner)});
  }

  std::shared_ptr<void> close_queue(QueueId queue) noexcept override {
    Queue closed;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      SEMCACHE_CHECK(queue.value < queues_.size() && queues_[queue.value].open);
      std::swap(closed, queues_[queue.value]);
    }
    if (closed.ours) {
      const Current current(*this);
      log(api_.cuStreamDestroy(closed.stream), "cuStreamDestroy");
    }
    return std::move(closed.owner);
  }

  EventId record(QueueId queue) override {
    const CUstream stream = stream_of(queue);
    SEMCACHE_CUDA_SUBMITS();
    refuse_recording(stream, "cuEventRecord");
    CUevent event = nullptr;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (!idle_events_.empty()) {
        event = idle_events_.back();
        idle_events_.pop_back();
        idle_event_count_.store(idle_events_.size(), std::memory_order_relaxed);
      }
    }
    if (event == nullptr) check(api_.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING), "cuEventCreate");
    if (const CUresult result = api_.cuEventRecord(event, stream); result != CUDA_SUCCESS) {
      release(to_id(event));
      check(result, "cuEventRecord");
    }
    return to_id(event);
  }

  void keep_idle_events(std::size_t count) noexcept override {
    std::size_t idle = idle_event_count_.load(std::memory_order_relaxed);
    if (idle >= count) return;
    const Current current(*this);
    bool refused = current.result() != CUDA_SUCCESS;
    for (; !refused && idle < count; ++idle) {
      CUevent event = nullptr;
      refused = api_.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS || !keep(event);
    }
    events_refused_.store(refused, std::memory_order_relaxed);
  }

  bool lacks_events(std::size_t count) const noexcept override {
    return idle_event_count_.load(std::memory_order_relaxed) < count && !events_refused_.load(std::memory_order_relaxed);
  }

  void wait(QueueId queue, EventId event) override {
    if (event == 0) return;
    const CUstream stream = stream_of(queue);
    SEMCACHE_CUDA_SUBMITS();
    check(api_.cuStreamWaitEvent(stream, to_event(event), 0), "cuStreamWaitEvent");
  }

  bool complete(EventId event) override {
    if (event == 0) return true;
    SEMCACHE_CUDA_CURRENT();
    return has_ended(api_.cuEventQuery(to_event(event)), "cuEventQuery");
  }

  void synchronize(EventId event) override {
    if (event == 0) return;
    SEMCACHE_CUDA_CURRENT();
    check(api_.cuEventSynchronize(to_event(event)), "cuEventSynchronize");
  }

  void release(EventId event) noexcept override {
    if (event != 0) (void)keep(to_event(event));
  }

  void synchronize_queue(QueueId queue) override {
    const CUstream stream = stream_of(queue);
    SEMCACHE_CUDA_CURRENT();
    refuse_recording(stream, "cuStreamSynchronize");
    check(api_.cuStreamSynchronize(stream), "cuStreamSynchronize");
  }

  [[nodiscard]] bool queue_idle(QueueId queue) override {
    const CUstream stream = stream_of(queue);
    SEMCACHE_CUDA_CURRENT();
    refuse_recording(stream, "cuStreamQuery");
    return has_ended(api_.cuStreamQuery(stream), "cuStreamQuery");
  }

  void enter() noexcept override {
    auto& entered = platform::per_thread<Entered>();
    if (entered.device == this) {
      ++entered.depth;
      return;
    }
    if (entered.device != nullptr) return;  // inside another device, each call makes its own context current
    CUcontext now = nullptr;
    if (api_.cuCtxGetCurrent(&now) != CUDA_SUCCESS) return;
    const bool push = now != context_;
    if (push && api_.cuCtxPushCurrent(context_) != CUDA_SUCCESS) return;
    entered = {this, 1, push};
  }

  void leave() noexcept override {
    auto& entered = platform::per_thread<Entered>();
    if (entered.device != this || --entered.depth > 0) return;
    CUcontext ignored = nullptr;
    if (entered.pushed) (void)api_.cuCtxPopCurrent(&ignored);
    entered = {};
  }

  void synchronize_device() override {
    SEMCACHE_CUDA_CURRENT();
    check(api_.cuCtxSynchronize(), "cuCtxSynchronize");
  }

  // --- transfers ----------------------------------------------------------------------------------------------------
  void copy_to_device(QueueId queue, std::byte* device, const std::byte* host, std::uint64_t bytes) override {
    copy(api_.cuMemcpyHtoDAsync, "cuMemcpyHtoDAsync", queue, number(device), host, bytes);
  }
  void copy_from_device(QueueId queue, std::byte* host, const std::byte* device, std::uint64_t bytes) override {
    copy(api_.cuMemcpyDtoHAsync, "cuMemcpyDtoHAsync", queue, host, number(device), bytes);
  }
  void copy_within_device(QueueId queue, std::byte* to, const std::byte* from, std::uint64_t bytes) override {
    copy(api_.cuMemcpyDtoDAsync, "cuMemcpyDtoDAsync", queue, number(to), number(from), bytes);
  }
  void copy_columns(QueueId queue, Direction direction, std::byte* to, std::uint64_t to_pitch, const std::byte* from, std::uint64_t from_pitch,
                    std::uint64_t width, std::uint64_t columns) override {
    constexpr std::uint64_t largest_pitch = INT32_MAX;  // of the driver's copies
    if (columns < 2 || std::max(to_pitch, from_pitch) > largest_pitch) {
      return Device::copy_columns(queue, direction, to, to_pitch, from, from_pitch, width, columns);
    }
    CUDA_MEMCPY2D what{};
    what.WidthInBytes = width;
    what.Height = columns;
    what.dstPitch = to_pitch;
    what.srcPitch = from_pitch;
    if (direction == Direction::from_device) {
      what.dstMemoryType = CU_MEMORYTYPE_HOST;
      what.dstHost = to;
    } else {
      what.dstMemoryType = CU_MEMORYTYPE_DEVICE;
      what.dstDevice = number(to);
    }
    if (direction == Direction::to_device) {
      what.srcMemoryType = CU_MEMORYTYPE_HOST;
      what.srcHost = from;
    } else {
      what.srcMemoryType = CU_MEMORYTYPE_DEVICE;
      what.srcDevice = number(from);
    }
    const CUstream stream = stream_of(queue);
    SEMCACHE_CUDA_SUBMITS();
    const CUresult result = api_.cuMemcpy2DAsync(&what, stream);
    // The driver may refuse pitches within a device that are not its own.
    if (result == CUDA_ERROR_INVALID_VALUE && direction == Direction::within_device) {
      return Device::copy_columns(queue, direction, to, to_pitch, from, from_pitch, width, columns);
    }
    check(result, "cuMemcpy2DAsync");
  }

  void fill(QueueId queue, std::byte* to, std::uint64_t bytes, const std::byte* pattern, std::uint32_t pattern_bytes) override {
    SEMCACHE_EXPECTS(
        pattern_bytes > 0 && 16 % pattern_bytes == 0 && bytes % pattern_bytes == 0,
        "CUDA device: fill of " + std::to_string(bytes) + " bytes with a pattern of " + std::to_string(pattern_bytes));
    const CUstream stream = stream_of(queue);
    if (bytes == 0) return;
    alignas(16) unsigned char unit[16];
    for (std::uint32_t i = 0; i < sizeof unit; i += pattern_bytes) std::memcpy(unit + i, pattern, pattern_bytes);
    // The shortest period decides, not the size of the caller's pattern: zeros of any type are bytes.
    const auto repeats = [&unit](std::size_t period) {
      return std::memcmp(unit, unit + period, sizeof unit - period) == 0;
    };

    SEMCACHE_CUDA_SUBMITS();
    if (repeats(1)) {
      check(api_.cuMemsetD8Async(number(to), unit[0], bytes, stream), "cuMemsetD8Async");
    } else if (number(to) % 4 == 0 && bytes % 4 == 0 && repeats(4)) {
      unsigned value;
      std::memcpy(&value, unit, sizeof value);
      check(api_.cuMemsetD32Async(number(to), value, bytes / sizeof value, stream), "cuMemsetD32Async");
    } else {
      CUdeviceptr address = number(to);
      void* arguments[] = {&address, &bytes, unit};
      launch(fill_, address % 16 == 0 ? bytes / 16 : bytes, stream, arguments);
    }
  }

  std::uint64_t digest(QueueId queue, const std::byte* device, std::uint64_t bytes) override {
    const CUstream stream = stream_of(queue);
    SEMCACHE_CUDA_CURRENT();
    const std::lock_guard<std::mutex> lock(digest_mutex_);
    std::uint64_t sum = 0;
    if (digest_sum_ == 0) check(api_.cuMemAlloc(&digest_sum_, sizeof sum), "cuMemAlloc");
    check(api_.cuMemsetD8Async(digest_sum_, 0, sizeof sum, stream), "cuMemsetD8Async");
    CUdeviceptr address = number(device);
    void* arguments[] = {&address, &bytes, &digest_sum_};
    launch(digest_, bytes / 8, stream, arguments);
    check(api_.cuMemcpyDtoHAsync(&sum, digest_sum_, sizeof sum, stream), "cuMemcpyDtoHAsync");
    check(api_.cuStreamSynchronize(stream), "cuStreamSynchronize");
    return detail::digest_finish(sum, bytes);
  }

  // --- memory beside the arena --------------------------------------------------------------------------------------
  std::byte* allocate(std::uint64_t bytes) override {
    SEMCACHE_CUDA_CURRENT();
    CUdeviceptr address = 0;
    // cuMemAlloc, because the handles that MPI libraries use can share neither mapped memory nor a pool's with other processes.
    const std::uint64_t taken = std::max<std::uint64_t>(bytes, 1);
    check(api_.cuMemAlloc(&address, taken), "cuMemAlloc", bytes);
    return note(allocations_, address, taken, [&] { return api_.cuMemFree(address); });
  }

  void deallocate(std::byte* address) noexcept override {
    if (address == nullptr) return;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      SEMCACHE_CHECK(allocations_.erase(address) == 1);
    }
    const Current current(*this);
    log(api_.cuMemFree(number(address)), "cuMemFree");
  }

  // --- host memory --------------------------------------------------------------------------------------------------
  std::byte* allocate_staging(std::uint64_t bytes) override {
    SEMCACHE_CUDA_CURRENT();
    void* address = nullptr;
    const CUresult result = api_.cuMemHostAlloc(&address, std::max<std::uint64_t>(bytes, 1), CU_MEMHOSTALLOC_PORTABLE);
    if (result == CUDA_ERROR_OUT_OF_MEMORY)
      throw OutOfMemory("CUDA device " + std::to_string(ordinal_) + ": the host has no page-locked memory for a staging buffer of " +
                            std::to_string(bytes) + " bytes. Free memory of the host",
                        bytes, 0);
    check(result, "cuMemHostAlloc");
    const std::lock_guard<std::mutex> lock(mutex_);
    ++staging_buffers_;
    return static_cast<std::byte*>(address);
  }

  void deallocate_staging(std::byte* address) noexcept override {
    if (address == nullptr) return;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      SEMCACHE_CHECK(staging_buffers_ > 0);
      --staging_buffers_;
    }
    const Current current(*this);
    log(api_.cuMemFreeHost(address), "cuMemFreeHost");
  }

  bool register_host(std::byte* address, std::uint64_t bytes) noexcept override {
    const Current current(*this);
    return current.result() == CUDA_SUCCESS &&
           api_.cuMemHostRegister(address, bytes, CU_MEMHOSTREGISTER_PORTABLE) == CUDA_SUCCESS;
  }

  void unregister_host(std::byte* address) noexcept override {
    const Current current(*this);
    log(api_.cuMemHostUnregister(address), "cuMemHostUnregister");
  }

  bool is_recording(QueueId queue) const override {
    const CUstream stream = stream_of(queue);
    const Current current(*this);
    return cuda::is_capturing(api_, stream);
  }

  bool is_foreign_device_pointer(const void* pointer) const noexcept override {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (inside(reservations_, pointer) || inside(allocations_, pointer)) return false;
    }
    const Current current(*this);
    if (current.result() != CUDA_SUCCESS || memory_type(pointer) != CU_MEMORYTYPE_DEVICE) return false;
    // Memory of a device that the process uses, too, is that device's business.
    int ordinal = ordinal_;
    (void)api_.cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, reinterpret_cast<CUdeviceptr>(pointer));
    return std::none_of(others_.begin(), others_.end(), [ordinal](const CudaDevice* other) { return other->ordinal_ == ordinal; });
  }

  bool knows_host_memory(const void* pointer) const noexcept override {
    const Current current(*this);
    return current.result() == CUDA_SUCCESS && memory_type(pointer) == CU_MEMORYTYPE_HOST;
  }

  bool can_reach(const void* pointer) const noexcept override {
    if (reaches_pageable_) return true;
    const Current current(*this);
    return current.result() != CUDA_SUCCESS || memory_type(pointer) != 0;
  }

 private:
  /// Keeps an event for later use. @return false if there is no memory to list it: it has been destroyed
  bool keep(CUevent event) noexcept {
    try {
      const std::lock_guard<std::mutex> lock(mutex_);
      idle_events_.push_back(event);
      idle_event_count_.store(idle_events_.size(), std::memory_order_relaxed);
      return true;
    } catch (const std::exception&) {
      const Current current(*this);
      log(api_.cuEventDestroy(event), "cuEventDestroy");
      return false;
    }
  }

  /// Makes the primary context current for the lifetime of the object, which is enough to submit work. Costs one query where the
  /// context is current already.
  class Context : base::Uncopied {
   public:
    explicit Context(const CudaDevice& device) noexcept : api_(device.api_) {
      if (platform::per_thread<Entered>().device == &device) return;
      CUcontext now = nullptr;
      result_ = api_.cuCtxGetCurrent(&now);
      if (result_ != CUDA_SUCCESS || now == device.context_) return;
      result_ = api_.cuCtxPushCurrent(device.context_);
      pushed_ = result_ == CUDA_SUCCESS;
    }
    ~Context() {
      CUcontext ignored = nullptr;
      if (pushed_) (void)api_.cuCtxPopCurrent(&ignored);
    }

    [[nodiscard]] CUresult result() const noexcept { return result_; }

   private:
    const cuda::DriverApi& api_;
    CUresult result_ = CUDA_SUCCESS;
    bool pushed_ = false;
  };

  /// Makes the primary context current for calls other than submissions, and permits them while a graph is recorded.
  class Current : public Context {
   public:
    using Context::Context;

   private:
    const cuda::CaptureAllowed allowed_;
  };

  /// Throws where the call would become part of a graph of the program's, or end its recording, instead of reporting when the
  /// queue's work is done.
  void refuse_recording(CUstream stream, const char* call) const {
    if (graphs_being_recorded.load(std::memory_order_relaxed) == 0) return;
    const cuda::CaptureAllowed allowed;
    if (!cuda::is_capturing(api_, stream)) return;
    throw DeviceError("CUDA device " + std::to_string(ordinal_) + ": " + call + " on a stream from which a graph is recorded. Wait "
                      "until the recording has ended");
  }

  struct Queue {
    bool open = false;
    bool ours = false;  ///< this device created the stream and destroys it
    CUstream stream = nullptr;
    std::shared_ptr<void> owner;
  };

  void set_up() {
    SEMCACHE_CUDA_CURRENT();
    char name[256] = {};
    check(api_.cuDeviceGetName(name, sizeof name - 1, device_), "cuDeviceGetName");
    name_ = name;
    check(api_.cuDeviceTotalMem(&total_bytes_, device_), "cuDeviceTotalMem");
    const auto attribute = [this](CUdevice_attribute which) {
      int value = 0;
      check(api_.cuDeviceGetAttribute(&value, which, device_), "cuDeviceGetAttribute");
      return value;
    };
    if (attribute(CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED) == 0)
      throw DeviceError("CUDA device " + std::to_string(ordinal_) + " (" + name_ + ") has no virtual memory management (cuMemMap), which SemCache "
                        "needs. Use another GPU or driver, or compute without a GPU (SEMCACHE_DEVICE=emulated)");
    reaches_pageable_ = attribute(CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS) != 0;
    most_blocks_ = 8 * static_cast<unsigned>(std::max(attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT), 1));

    users_.push_back(access_of(device_));
    const CUmemAllocationProp memory = memory_of(device_);
    check(api_.cuMemGetAllocationGranularity(&granularity_bytes_, &memory, CU_MEM_ALLOC_GRANULARITY_MINIMUM),
          "cuMemGetAllocationGranularity");

    check(api_.cuModuleLoadData(&module_, semcache_cuda_kernels), "cuModuleLoadData");
    check(api_.cuModuleGetFunction(&fill_, module_, "semcache_fill"), "cuModuleGetFunction");
    check(api_.cuModuleGetFunction(&digest_, module_, "semcache_digest"), "cuModuleGetFunction");
  }

  void tear_down() noexcept {
    if (context_ == nullptr) return;
    {
      const Current current(*this);
      if (current.result() == CUDA_SUCCESS && api_.cuCtxSynchronize() == CUDA_SUCCESS) {
        for (const Queue& queue : queues_)
          if (queue.open && queue.ours) (void)api_.cuStreamDestroy(queue.stream);
        for (const CUevent event : idle_events_) (void)api_.cuEventDestroy(event);
        if (digest_sum_ != 0) (void)api_.cuMemFree(digest_sum_);
        if (module_ != nullptr) (void)api_.cuModuleUnload(module_);
      }
    }
    // Releasing the context's last use would free memory that messages under way still need.
    if (allocations_.empty() && staging_buffers_ == 0) (void)api_.cuDevicePrimaryCtxRelease(device_);
    context_ = nullptr;
  }

  /// Throws unless the call succeeded. @param asked  bytes that the call allocates; 0: none
  void check(CUresult result, const char* call, std::uint64_t asked = 0) const {
    if (result == CUDA_SUCCESS) return;
    if (result != CUDA_ERROR_OUT_OF_MEMORY || asked == 0)
      throw DeviceError("CUDA device " + std::to_string(ordinal_) + ": " + cuda::error_text(api_, result, call));
    std::size_t free = 0;
    std::size_t total = 0;
    (void)api_.cuMemGetInfo(&free, &total);
    throw OutOfMemory("CUDA device " + std::to_string(ordinal_) + " (" + name_ + "): " + call + " of " +
                          std::to_string(asked) + " bytes: out of memory, " + std::to_string(free) + " of " +
                          std::to_string(total) + " bytes are free. Other code may hold the rest: lower SEMCACHE_DEVICE_MEMORY, or free some",
                      asked, total_bytes_);
  }

  /// Returns the answer of a call that asks whether work has ended.
  [[nodiscard]] bool has_ended(CUresult result, const char* call) const {
    if (result != CUDA_ERROR_NOT_READY) check(result, call);
    return result == CUDA_SUCCESS;
  }

  void log(CUresult result, const char* call) const noexcept {
    if (result == CUDA_SUCCESS || driver_has_ended(result)) return;
    const char* name = nullptr;
    if (api_.cuGetErrorName(result, &name) != CUDA_SUCCESS || name == nullptr) name = "unknown CUDA error";
    base::raw_log("CUDA device %d: %s in %s", ordinal_, name, call);
  }

  /// Returns the type of memory of a pointer; 0 where the driver does not know the pointer.
  [[nodiscard]] unsigned memory_type(const void* pointer) const noexcept {
    unsigned type = 0;
    const CUresult result =
        api_.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, reinterpret_cast<CUdeviceptr>(pointer));
    return result == CUDA_SUCCESS ? type : 0;
  }

  [[nodiscard]] CUstream stream_of(QueueId queue) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    SEMCACHE_EXPECTS(queue.value < queues_.size() && queues_[queue.value].open,
                     "CUDA device " + std::to_string(ordinal_) + ": queue " + std::to_string(queue.value) + " is not open");
    return queues_[queue.value].stream;
  }

  /// Notes a range. @param give_back  called where there is no memory to note the range
  template <class GiveBack>
  std::byte* note(Ranges& ranges, CUdeviceptr begin, std::uint64_t bytes, GiveBack&& give_back) {
    try {
      const std::lock_guard<std::mutex> lock(mutex_);
      ranges.emplace(pointer(begin), bytes);
    } catch (...) {
      (void)give_back();
      throw;
    }
    return pointer(begin);
  }

  QueueId add_queue(Queue queue) {
    const std::lock_guard<std::mutex> lock(mutex_);
    auto place = std::find_if(queues_.begin(), queues_.end(), [](const Queue& q) { return !q.open; });
    if (place == queues_.end()) place = queues_.emplace(place);
    *place = std::move(queue);
    return QueueId{static_cast<std::uint32_t>(place - queues_.begin())};
  }

  template <class Copy, class To, class From>
  void copy(Copy submit, const char* call, QueueId queue, To to, From from, std::uint64_t bytes) {
    const CUstream stream = stream_of(queue);
    if (bytes == 0) return;
    SEMCACHE_CUDA_SUBMITS();
    check(submit(to, from, bytes, stream), call);
  }

  void launch(CUfunction kernel, std::uint64_t items, CUstream stream, void** arguments) {
    const std::uint64_t blocks = std::max<std::uint64_t>(round_up(items, threads_per_block) / threads_per_block, 1);
    check(api_.cuLaunchKernel(kernel, static_cast<unsigned>(std::min<std::uint64_t>(blocks, most_blocks_)), 1, 1,
                              threads_per_block, 1, 1, 0, stream, arguments, nullptr),
          "cuLaunchKernel");
  }

  const cuda::DriverApi& api_;
  const int ordinal_;
  CUdevice device_ = 0;
  CUcontext context_ = nullptr;
  std::string name_;
  std::size_t total_bytes_ = 0;
  std::size_t granularity_bytes_ = 0;
  unsigned most_blocks_ = 1;

  CUmodule module_ = nullptr;
  CUfunction fill_ = nullptr;
  CUfunction digest_ = nullptr;

  std::vector<const CudaDevice*> others_;  ///< the devices that are used beside this one
  std::vector<CUmemAccessDesc> users_;     ///< the devices that may use memory mapped here, this one first
  bool reaches_pageable_ = false;  ///< kernels can follow pointers into ordinary host memory

  std::mutex digest_mutex_;  ///< one digest at a time; guards the member below
  CUdeviceptr digest_sum_ = 0;

  mutable std::mutex mutex_;  ///< guards the members below
  std::vector<Queue> queues_;
  std::vector<CUevent> idle_events_;
  std::atomic<std::size_t> idle_event_count_{0};  ///< of `idle_events_`, for those who do not have the lock
  std::atomic<bool> events_refused_{false};       ///< the driver has refused to make the last one
  Ranges reservations_;
  Ranges allocations_;
  std::size_t staging_buffers_ = 0;
};

}  // namespace

std::atomic<unsigned> graphs_being_recorded{0};

std::unique_ptr<Device> make_cuda_device(int ordinal) { return std::make_unique<CudaDevice>(ordinal); }

int cuda_device_count() noexcept {
  try {
    const cuda::DriverApi& api = cuda::driver_api();
    int count = 0;
    if (!api.failure.empty() || api.cuDeviceGetCount(&count) != CUDA_SUCCESS) return 0;
    return count;
  } catch (const std::exception&) {
    return 0;
  }
}

}  // namespace semcache::device
