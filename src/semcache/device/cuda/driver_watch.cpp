// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/device/cuda/kernel_arguments.hpp>
#include <semcache/device/device.hpp>

#if __has_include(<cupti.h>) && defined(SEMCACHE_CUPTI_DIRECTORY)

#include <cupti.h>
#include <dlfcn.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

// cuda.h renames these to their latest versions; programs use the earlier ones, too.
#undef cuGraphAddKernelNode
#undef cuGraphKernelNodeSetParams
#undef cuGraphExecKernelNodeSetParams
#undef cuGraphAddNode
#undef cuMemcpyBatchAsync
#undef cuStreamBeginCapture
#undef cuStreamWaitValue32
#undef cuStreamWaitValue64
#undef cuStreamBatchMemOp
#undef cuCtxSynchronize

/// Callbacks of CUPTI at the driver's calls. The runtime interface and the vendor's libraries end in these, wherever they
/// are linked from, so that every use arrives here before it is made.
namespace semcache::device {
namespace {

using cuda::KernelArguments;
using Kind = DriverUse::Kind;

// --- CUPTI -------------------------------------------------------------------------------------------------------------

struct Cupti {
  decltype(&::cuptiSubscribe) subscribe = nullptr;
  decltype(&::cuptiUnsubscribe) unsubscribe = nullptr;
  decltype(&::cuptiEnableCallback) enable = nullptr;
  decltype(&::cuptiGetResultString) text = nullptr;
  std::string failure;
};

Cupti load() {
  Cupti cupti;
  // The headers' major version: the structures of the calls' parameters are its.
  constexpr int major = CUDA_VERSION / 1000;
  const std::string name = "libcupti.so." + std::to_string(major);
  void* library = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) library = ::dlopen((SEMCACHE_CUPTI_DIRECTORY "/" + name).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    cupti.failure = name + " is not found. Add its directory (of the CUDA toolkit, or extras/CUPTI/lib64 there) to "
                           "LD_LIBRARY_PATH";
    return cupti;
  }
  const auto bind = [&](auto& function, const char* symbol) {
    function = reinterpret_cast<std::decay_t<decltype(function)>>(::dlsym(library, symbol));
    if (function == nullptr) cupti.failure = name + " lacks " + symbol;
  };
  bind(cupti.subscribe, "cuptiSubscribe");
  bind(cupti.unsubscribe, "cuptiUnsubscribe");
  bind(cupti.enable, "cuptiEnableCallback");
  bind(cupti.text, "cuptiGetResultString");
  return cupti;
}

const Cupti& cupti() {
  // Leaked, and the library never closed: callbacks may be under way until the process ends.
  static const Cupti& loaded = *new Cupti(load());
  return loaded;
}

// --- the watch ---------------------------------------------------------------------------------------------------------

struct Watching {
  std::mutex mutex;  ///< starting and ending
  CUpti_SubscriberHandle subscriber = nullptr;
  std::atomic<bool (*)() noexcept> own_work{nullptr};
  std::atomic<DriverObserver*> observer{nullptr};
  std::atomic<bool> telling{false};
  std::atomic<int> under_way{0};  ///< calls that the observer is told of, or of whose end it will be
  struct Range {
    std::atomic<std::uintptr_t> begin{0}, end{0};
  } ranges[2];
  KernelArguments arguments;
  std::atomic<bool> reported_unreadable{false};
};

Watching& watching() {
  static Watching& w = *new Watching;  // callbacks outlive static destructors
  return w;
}

bool is_watched(const Watching& w, std::uintptr_t first, std::uintptr_t last) noexcept {
  for (const auto& range : w.ranges) {
    if (last >= range.begin.load(std::memory_order_relaxed) && first < range.end.load(std::memory_order_relaxed)) return true;
  }
  return false;
}

/// The uses of one call that lie in watched memory.
class Uses {
 public:
  explicit Uses(Watching& w) : watching_(w) {}

  void bytes(std::uintptr_t first, std::uint64_t n, Kind kind) {
    if (n == 0 || first == 0 || !is_watched(watching_, first, first + (n - 1))) return;
    list_.push_back({reinterpret_cast<const void*>(first), n, kind, 0});
  }
  void read(const void* from, std::uint64_t n) { bytes(reinterpret_cast<std::uintptr_t>(from), n, Kind::read); }
  void read(CUdeviceptr from, std::uint64_t n) { bytes(from, n, Kind::read); }
  void write(const void* to, std::uint64_t n) { bytes(reinterpret_cast<std::uintptr_t>(to), n, Kind::write); }
  void write(CUdeviceptr to, std::uint64_t n) { bytes(to, n, Kind::write); }
  void word(std::uintptr_t w, std::uintptr_t in_front, Kind kind) {
    if (is_watched(watching_, w, w)) list_.push_back({reinterpret_cast<const void*>(w), 0, kind, in_front});
  }
  /// A kernel's arguments are copied to the device before it starts where they are large, as are lists of arrays.
  void words_of(const void* from, std::uint64_t n) {
    constexpr std::uint64_t largest_list = 32 * 1024;
    if (n < sizeof(std::uintptr_t) || n > largest_list || !list_.empty()) return;
    // By the kernel: the driver has not judged the address yet.
    std::vector<std::byte> data(n);
    const iovec to{data.data(), n}, source{const_cast<void*>(from), n};
    if (::process_vm_readv(::getpid(), &to, 1, &source, 1, 0) != static_cast<ssize_t>(n)) return;
    cuda::for_each_word(data.data(), n, [this](auto... at) { word(at..., Kind::listed); });
  }
  void kernel(CUfunction f, void** parameters, void** extra, const char* name) {
    launches_ = true;
    if (watching_.arguments.for_each(f, parameters, extra, [this](auto... at) { word(at..., Kind::argument); })) return;
    if (watching_.reported_unreadable.exchange(true)) return;
    base::raw_log("the driver does not tell the parameters of kernel '%s': what it uses is not noticed (nor of further ones "
                  "of its kind). Announce it with semcache::access", name == nullptr ? "?" : name);
  }
  void recorded() {
    launches_ = false;
    for (DriverUse& use : list_) use.kind = Kind::recorded;
  }

  void graph() noexcept { launches_ = true; }

  [[nodiscard]] const std::vector<DriverUse>& list() const noexcept { return list_; }
  [[nodiscard]] bool launches() const noexcept { return launches_; }

 private:
  bool launches_ = false;  ///< a kernel or graph
  Watching& watching_;
  std::vector<DriverUse> list_;  ///< as a rule empty, without memory
};

/// From the first to the last byte.
std::uint64_t hull(std::uint64_t width, std::uint64_t pitch, std::uint64_t rows) {
  return width == 0 || rows == 0 ? 0 : (rows - 1) * pitch + width;
}

/// What a copy of either kind reads and writes, once the hulls of its two ends are known.
template <class Copy>
void strided(Uses& uses, const Copy& c, std::uint64_t from, std::uint64_t from_bytes, std::uint64_t to, std::uint64_t to_bytes) {
  if (c.srcMemoryType == CU_MEMORYTYPE_HOST) uses.read(static_cast<const std::byte*>(c.srcHost) + from, from_bytes);
  if (c.srcMemoryType == CU_MEMORYTYPE_DEVICE || c.srcMemoryType == CU_MEMORYTYPE_UNIFIED) {
    uses.read(c.srcDevice + from, from_bytes);
  }
  if (c.dstMemoryType == CU_MEMORYTYPE_HOST) uses.write(static_cast<const std::byte*>(c.dstHost) + to, to_bytes);
  if (c.dstMemoryType == CU_MEMORYTYPE_DEVICE || c.dstMemoryType == CU_MEMORYTYPE_UNIFIED) {
    uses.write(c.dstDevice + to, to_bytes);
  }
}

template <class Copy>  // CUDA_MEMCPY2D
void copy_2d(Uses& uses, const Copy* copy) {
  if (copy == nullptr) return;
  const Copy& c = *copy;
  const std::uint64_t from = c.srcXInBytes + c.srcY * c.srcPitch;
  const std::uint64_t to = c.dstXInBytes + c.dstY * c.dstPitch;
  // Copies of one row may leave the pitch zero.
  const std::uint64_t from_bytes = hull(c.WidthInBytes, c.srcPitch, c.Height);
  const std::uint64_t to_bytes = hull(c.WidthInBytes, c.dstPitch, c.Height);
  strided(uses, c, from, from_bytes, to, to_bytes);
}

template <class Copy>  // CUDA_MEMCPY3D, CUDA_MEMCPY3D_PEER
void copy_3d(Uses& uses, const Copy* copy) {
  if (copy == nullptr) return;
  const Copy& c = *copy;
  const auto first = [](std::uint64_t x, std::uint64_t y, std::uint64_t z, std::uint64_t pitch, std::uint64_t height) {
    return x + (y + z * height) * pitch;
  };
  const auto bytes = [&](std::uint64_t pitch, std::uint64_t height) {
    const std::uint64_t layer = hull(c.WidthInBytes, pitch, c.Height);
    return layer == 0 || c.Depth == 0 ? 0 : (c.Depth - 1) * height * pitch + layer;
  };
  const std::uint64_t from = first(c.srcXInBytes, c.srcY, c.srcZ, c.srcPitch, c.srcHeight);
  const std::uint64_t to = first(c.dstXInBytes, c.dstY, c.dstZ, c.dstPitch, c.dstHeight);
  const std::uint64_t from_bytes = bytes(c.srcPitch, c.srcHeight);
  const std::uint64_t to_bytes = bytes(c.dstPitch, c.dstHeight);
  strided(uses, c, from, from_bytes, to, to_bytes);
}

void copies(Uses& uses, const CUdeviceptr* to, const CUdeviceptr* from, const std::size_t* bytes, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    uses.read(from[i], bytes[i]);
    uses.write(to[i], bytes[i]);
  }
}

template <class Parameters>  // CUDA_KERNEL_NODE_PARAMS of any version
void kernel_node(Uses& uses, const Parameters* p) {
  if (p == nullptr) return;
  CUfunction f = p->func;
  if constexpr (sizeof(Parameters) > sizeof(CUDA_KERNEL_NODE_PARAMS_v1)) {
    if (f == nullptr) f = reinterpret_cast<CUfunction>(p->kern);
  }
  if (f != nullptr) uses.kernel(f, p->kernelParams, p->extra, nullptr);
}

template <class Parameters>
void fill_node(Uses& uses, const Parameters* p) {
  if (p != nullptr) uses.write(p->dst, hull(p->width * p->elementSize, p->pitch, std::max<std::size_t>(p->height, 1)));
}

void graph_node(Uses& uses, const CUgraphNodeParams* p) {
  if (p == nullptr) return;
  if (p->type == CU_GRAPH_NODE_TYPE_KERNEL) kernel_node(uses, &p->kernel);
  if (p->type == CU_GRAPH_NODE_TYPE_MEMCPY) copy_3d(uses, &p->memcpy.copyParams);
  if (p->type == CU_GRAPH_NODE_TYPE_MEMSET) fill_node(uses, &p->memset);
}

// --- the driver's calls ------------------------------------------------------------------------------------------------

// Each with what happens at its call: `p` are its parameters. The variants for a default stream of each thread have the
// same ones.

/// Synchronous ones, and what does the same in `p.hStream`.
#define SEMCACHE_TRANSFERS(X)                                                                                          \
  X(cuMemcpyHtoD_v2, cuMemcpyHtoDAsync_v2, { uses.read(p.srcHost, p.ByteCount);                                        \
      uses.write(p.dstDevice, p.ByteCount); uses.words_of(p.srcHost, p.ByteCount); })                                  \
  X(cuMemcpyDtoH_v2, cuMemcpyDtoHAsync_v2, { uses.read(p.srcDevice, p.ByteCount);                                      \
      uses.write(p.dstHost, p.ByteCount); })                                                                           \
  X(cuMemcpyDtoD_v2, cuMemcpyDtoDAsync_v2, { uses.read(p.srcDevice, p.ByteCount);                                      \
      uses.write(p.dstDevice, p.ByteCount); })                                                                         \
  X(cuMemcpyHtoA_v2, cuMemcpyHtoAAsync_v2, { uses.read(p.srcHost, p.ByteCount); })                                     \
  X(cuMemcpyAtoH_v2, cuMemcpyAtoHAsync_v2, { uses.write(p.dstHost, p.ByteCount); })                                    \
  X(cuMemcpy, cuMemcpyAsync, { uses.read(p.src, p.ByteCount); uses.write(p.dst, p.ByteCount); })                       \
  X(cuMemcpyPeer, cuMemcpyPeerAsync, { uses.read(p.srcDevice, p.ByteCount); uses.write(p.dstDevice, p.ByteCount); })   \
  X(cuMemcpy2D_v2, cuMemcpy2DAsync_v2, { copy_2d(uses, p.pCopy); })                                                    \
  X(cuMemcpy3D_v2, cuMemcpy3DAsync_v2, { copy_3d(uses, p.pCopy); })                                                    \
  X(cuMemcpy3DPeer, cuMemcpy3DPeerAsync, { copy_3d(uses, p.pCopy); })                                                  \
  X(cuMemsetD8_v2, cuMemsetD8Async, { uses.write(p.dstDevice, p.N); })                                                 \
  X(cuMemsetD16_v2, cuMemsetD16Async, { uses.write(p.dstDevice, 2 * p.N); })                                           \
  X(cuMemsetD32_v2, cuMemsetD32Async, { uses.write(p.dstDevice, 4 * p.N); })                                           \
  X(cuMemsetD2D8_v2, cuMemsetD2D8Async, { uses.write(p.dstDevice, hull(p.Width, p.dstPitch, p.Height)); })             \
  X(cuMemsetD2D16_v2, cuMemsetD2D16Async, { uses.write(p.dstDevice, hull(2 * p.Width, p.dstPitch, p.Height)); })       \
  X(cuMemsetD2D32_v2, cuMemsetD2D32Async, { uses.write(p.dstDevice, hull(4 * p.Width, p.dstPitch, p.Height)); })

#define SEMCACHE_SYNCHRONOUS_CALLS(X)                                                                                  \
  X(cuMemcpyDtoA_v2, { uses.read(p.srcDevice, p.ByteCount); })                                                         \
  X(cuMemcpyAtoD_v2, { uses.write(p.dstDevice, p.ByteCount); })                                                        \
  X(cuMemcpy2DUnaligned_v2, { copy_2d(uses, p.pCopy); })

#define SEMCACHE_STREAM_CALLS(X)                                                                                       \
  X(cuLaunchKernel, { uses.kernel(p.f, p.kernelParams, p.extra, name); })                                              \
  X(cuLaunchCooperativeKernel, { uses.kernel(p.f, p.kernelParams, nullptr, name); })                                   \
  SEMCACHE_BATCHES(X)

#if CUDA_VERSION >= 13000
#define SEMCACHE_BATCHES(X)                                                                                            \
  X(cuMemcpyBatchAsync, { copies(uses, p.dsts, p.srcs, p.sizes, p.count); })                                           \
  X(cuMemcpyBatchAsync_v2, { copies(uses, p.dsts, p.srcs, p.sizes, p.count); })
#else
#define SEMCACHE_BATCHES(X)
#endif

#define SEMCACHE_GRAPH_CALLS(X)                                                                                        \
  X(cuGraphAddKernelNode, { kernel_node(uses, p.nodeParams); })                                                        \
  X(cuGraphAddKernelNode_v2, { kernel_node(uses, p.nodeParams); })                                                     \
  X(cuGraphKernelNodeSetParams, { kernel_node(uses, p.nodeParams); })                                                  \
  X(cuGraphKernelNodeSetParams_v2, { kernel_node(uses, p.nodeParams); })                                               \
  X(cuGraphExecKernelNodeSetParams, { kernel_node(uses, p.nodeParams); })                                              \
  X(cuGraphExecKernelNodeSetParams_v2, { kernel_node(uses, p.nodeParams); })                                           \
  X(cuGraphAddMemcpyNode, { copy_3d(uses, p.copyParams); })                                                           \
  X(cuGraphMemcpyNodeSetParams, { copy_3d(uses, p.nodeParams); })                                                     \
  X(cuGraphExecMemcpyNodeSetParams, { copy_3d(uses, p.copyParams); })                                                 \
  X(cuGraphAddMemsetNode, { fill_node(uses, p.memsetParams); })                                                        \
  X(cuGraphMemsetNodeSetParams, { fill_node(uses, p.nodeParams); })                                                    \
  X(cuGraphExecMemsetNodeSetParams, { fill_node(uses, p.memsetParams); })                                              \
  X(cuGraphAddNode, { graph_node(uses, p.nodeParams); })                                                               \
  X(cuGraphAddNode_v2, { graph_node(uses, p.nodeParams); })                                                            \
  X(cuGraphNodeSetParams, { graph_node(uses, p.nodeParams); })                                                         \
  X(cuGraphExecNodeSetParams, { graph_node(uses, p.nodeParams); })

/// What uses none of our memory, but a stream may wait for it, or behind it, without end; and the program's own fences, behind which
/// it may submit such a thing.
#define SEMCACHE_WAITS(X)                                                                                               \
  X(cuStreamWaitEvent) X(cuStreamAddCallback) X(cuLaunchHostFunc) X(cuStreamWaitValue32) X(cuStreamWaitValue64)          \
  X(cuStreamWaitValue32_v2) X(cuStreamWaitValue64_v2) X(cuStreamBatchMemOp) X(cuStreamBatchMemOp_v2)                    \
  X(cuWaitExternalSemaphoresAsync) X(cuMemAllocAsync) X(cuMemAllocFromPoolAsync) X(cuMemFreeAsync) X(cuEventRecord)      \
  X(cuEventRecordWithFlags) X(cuStreamSynchronize)
#if CUDA_VERSION >= 13000
#define SEMCACHE_WAITS_OF_CONTEXTS(X) X(cuCtxSynchronize_v2) X(cuCtxWaitEvent) X(cuGreenCtxWaitEvent)
#else
#define SEMCACHE_WAITS_OF_CONTEXTS(X)
#endif
#define SEMCACHE_OTHER_WAITS(X)                                                                                         \
  X(cuLaunchCooperativeKernelMultiDevice) X(cuLaunch) X(cuLaunchGrid) X(cuLaunchGridAsync) X(cuCtxSynchronize)           \
  X(cuEventSynchronize) SEMCACHE_WAITS_OF_CONTEXTS(X)

#define SEMCACHE_UNLOADS(X)                                                                                             \
  X(cuModuleUnload) X(cuLibraryUnload) X(cuCtxDestroy_v2) X(cuDevicePrimaryCtxReset_v2) X(cuDevicePrimaryCtxRelease_v2)

#if CUDA_VERSION >= 12030
#define SEMCACHE_RECORDINGS(X) X(cuStreamBeginCapture) X(cuStreamBeginCapture_v2) X(cuStreamBeginCaptureToGraph)
#else
#define SEMCACHE_RECORDINGS(X) X(cuStreamBeginCapture) X(cuStreamBeginCapture_v2)
#endif

#define SEMCACHE_ID(name) CUPTI_DRIVER_TRACE_CBID_##name

constexpr CUpti_CallbackId watched_calls[] = {
#define SEMCACHE_PTSZ_IDS(name, ...) SEMCACHE_ID(name), SEMCACHE_ID(name##_ptsz),
#define SEMCACHE_PTDS_IDS(name, ...) SEMCACHE_ID(name), SEMCACHE_ID(name##_ptds),
#define SEMCACHE_BOTH_IDS(name, async, body) SEMCACHE_PTDS_IDS(name) SEMCACHE_PTSZ_IDS(async)
#define SEMCACHE_ONE_ID(name, body) SEMCACHE_ID(name),
#define SEMCACHE_BARE_ID(name) SEMCACHE_ID(name),
    SEMCACHE_TRANSFERS(SEMCACHE_BOTH_IDS) SEMCACHE_SYNCHRONOUS_CALLS(SEMCACHE_PTDS_IDS) SEMCACHE_STREAM_CALLS(SEMCACHE_PTSZ_IDS)
        SEMCACHE_GRAPH_CALLS(SEMCACHE_ONE_ID) SEMCACHE_UNLOADS(SEMCACHE_BARE_ID) SEMCACHE_RECORDINGS(SEMCACHE_PTSZ_IDS)
            SEMCACHE_WAITS(SEMCACHE_PTSZ_IDS) SEMCACHE_OTHER_WAITS(SEMCACHE_BARE_ID) SEMCACHE_PTSZ_IDS(cuStreamEndCapture) SEMCACHE_PTSZ_IDS(cuLaunchKernelEx) SEMCACHE_PTSZ_IDS(cuGraphLaunch)};

struct Stream {
  CUstream stream = nullptr;
  bool of_the_thread = false;  ///< nullptr means the thread's default stream
};

bool is_capturing(const Stream& s) noexcept {
  return cuda::is_capturing(cuda::driver_api(), s.stream == nullptr && s.of_the_thread ? CU_STREAM_PER_THREAD : s.stream);
}

/// @return what `after` is to be told; nullptr: nothing
void* look_at(Watching& w, CUpti_CallbackId id, const void* parameters, const char* name) {
  Uses uses(w);
  Stream stream;
  switch (id) {
#define SEMCACHE_SYNCHRONOUS_CASE(call, body)                       \
  case SEMCACHE_ID(call):                                           \
  case SEMCACHE_ID(call##_ptds): {                                  \
    const auto& p = *static_cast<const call##_params*>(parameters); \
    body break;                                                     \
  }
#define SEMCACHE_STREAM_CASE(call, body)                            \
  case SEMCACHE_ID(call):                                           \
  case SEMCACHE_ID(call##_ptsz): {                                  \
    const auto& p = *static_cast<const call##_params*>(parameters); \
    stream = {p.hStream, id == SEMCACHE_ID(call##_ptsz)};           \
    body break;                                                     \
  }
#define SEMCACHE_BOTH_CASES(call, async, body) SEMCACHE_SYNCHRONOUS_CASE(call, body) SEMCACHE_STREAM_CASE(async, body)
    SEMCACHE_TRANSFERS(SEMCACHE_BOTH_CASES)
    SEMCACHE_SYNCHRONOUS_CALLS(SEMCACHE_SYNCHRONOUS_CASE)
    SEMCACHE_STREAM_CALLS(SEMCACHE_STREAM_CASE)
#define SEMCACHE_GRAPH_CASE(call, body)              \
  case SEMCACHE_ID(call): {                          \
    const auto& p = *static_cast<const call##_params*>(parameters); \
    body uses.recorded();                            \
    break;                                           \
  }
    SEMCACHE_GRAPH_CALLS(SEMCACHE_GRAPH_CASE)
#define SEMCACHE_UNLOAD_CASE(call) case SEMCACHE_ID(call):
    SEMCACHE_UNLOADS(SEMCACHE_UNLOAD_CASE)
    w.arguments.forget();
    return nullptr;
    case SEMCACHE_ID(cuLaunchKernelEx):
    case SEMCACHE_ID(cuLaunchKernelEx_ptsz): {
      const auto& p = *static_cast<const cuLaunchKernelEx_params*>(parameters);
      stream = {p.config == nullptr ? nullptr : p.config->hStream, id == SEMCACHE_ID(cuLaunchKernelEx_ptsz)};
      uses.kernel(p.f, p.kernelParams, p.extra, name);
      break;
    }
    case SEMCACHE_ID(cuGraphLaunch):
    case SEMCACHE_ID(cuGraphLaunch_ptsz): uses.graph(); break;
    default: return nullptr;
  }
  if (uses.list().empty() && !uses.launches()) return nullptr;
  w.under_way.fetch_add(1);  // keeps the observer where it is
  void* call = nullptr;
  DriverObserver* const observer = w.telling.load() ? w.observer.load() : nullptr;
  if (observer != nullptr && (!uses.list().empty() || observer->wants_launches())) {
    const cuda::CaptureAllowed allowed;
    if (is_capturing(stream)) uses.recorded();
    call = observer->before(uses.list().data(), uses.list().size(), uses.launches());
  }
  if (call == nullptr) w.under_way.fetch_sub(1);
  return call;
}

// A call's two callbacks share a word: what the observer is handed afterwards, or one of these.
constexpr std::uint64_t nothing = 0, begins_recording = 1, ends_recording = 2;

bool is_capturing(CUpti_CallbackId end_of_capture, const void* parameters) noexcept {
  const auto& p = *static_cast<const cuStreamEndCapture_params*>(parameters);
  return is_capturing({p.hStream, end_of_capture == SEMCACHE_ID(cuStreamEndCapture_ptsz)});
}

void ended_recording() noexcept {
  unsigned known = graphs_being_recorded.load();  // of one that began before the watch nothing is known
  while (known > 0 && !graphs_being_recorded.compare_exchange_weak(known, known - 1)) {
  }
}

/// Counted from before the driver begins to record until after it has ended.
std::uint64_t note_recording(CUpti_CallbackId id, const void* parameters) noexcept {
  switch (id) {
#define SEMCACHE_RECORDING_CASE(call) case SEMCACHE_ID(call): case SEMCACHE_ID(call##_ptsz):
    SEMCACHE_RECORDINGS(SEMCACHE_RECORDING_CASE)
    graphs_being_recorded.fetch_add(1);
    return begins_recording;
    case SEMCACHE_ID(cuStreamEndCapture):
    case SEMCACHE_ID(cuStreamEndCapture_ptsz): return is_capturing(id, parameters) ? ends_recording : nothing;
    default: return nothing;
  }
}

/// Whatever the call is: what comes behind it may wait for the host, or for another stream.
void tell_of_others(Watching& w, CUpti_CallbackId id, const void* parameters) noexcept {
  w.under_way.fetch_add(1);  // keeps the observer where it is
  DriverObserver* const observer = w.telling.load() ? w.observer.load() : nullptr;
  if (observer != nullptr && observer->wants_others()) {
    const cuda::CaptureAllowed allowed;
    std::optional<void*> fenced;
    if (id == SEMCACHE_ID(cuStreamSynchronize)) fenced = static_cast<const cuStreamSynchronize_params*>(parameters)->hStream;
    observer->others_submit(fenced);
  }
  w.under_way.fetch_sub(1);
}

void CUPTIAPI on_call(void*, CUpti_CallbackDomain, CUpti_CallbackId id, const void* data) {
  const auto& call = *static_cast<const CUpti_CallbackData*>(data);
  std::uint64_t& shared = *call.correlationData;  // between the two callbacks of a call
  Watching& w = watching();
  if (call.callbackSite != CUPTI_API_ENTER) {
    if (shared == nothing) return;
    if (shared == begins_recording) {
      if (*static_cast<const CUresult*>(call.functionReturnValue) != CUDA_SUCCESS) ended_recording();
      return;
    }
    if (shared == ends_recording) {
      if (!is_capturing(id, call.functionParams)) ended_recording();
      return;
    }
    w.observer.load()->after(reinterpret_cast<void*>(shared));
    w.under_way.fetch_sub(1);
    return;
  }
  shared = nothing;
  const auto own_work = w.own_work.load(std::memory_order_acquire);
  if (own_work == nullptr || own_work()) return;
  tell_of_others(w, id, call.functionParams);
  shared = note_recording(id, call.functionParams);
  if (shared != nothing) return;
  try {
    shared = reinterpret_cast<std::uint64_t>(look_at(w, id, call.functionParams, call.symbolName));
  } catch (const std::exception& e) {
    base::fatal("a use of device memory outside semcache::Exec cannot be looked at: %s", e.what());
  }
}

}  // namespace

std::string watch_cuda_driver(const DriverWatch& watch) {
  const cuda::DriverApi& api = cuda::driver_api();
  if (!api.failure.empty()) return api.failure;
  if (!KernelArguments::known_to(api)) return "the CUDA driver does not tell what a kernel's parameters are; 12.4 or later does";
  const Cupti& c = cupti();
  if (!c.failure.empty()) return c.failure;
  Watching& w = watching();
  const std::lock_guard<std::mutex> lock(w.mutex);
  SEMCACHE_EXPECTS(w.observer.load() == nullptr, "the driver's calls are watched already");
  for (std::size_t i = 0; i < 2; ++i) {
    const auto begin = reinterpret_cast<std::uintptr_t>(watch.ranges[i].begin);
    w.ranges[i].begin.store(begin);
    w.ranges[i].end.store(begin + watch.ranges[i].bytes);
  }
  w.arguments.forget();  // unloads have not been seen
  w.observer.store(watch.observer);
  w.own_work.store(watch.own_work, std::memory_order_release);
  const auto text = [&](CUptiResult result) {
    const char* said = nullptr;
    return c.text(result, &said) == CUPTI_SUCCESS && said != nullptr ? std::string(said) : std::to_string(result);
  };
  CUptiResult result = c.subscribe(&w.subscriber, &on_call, nullptr);
  if (result == CUPTI_SUCCESS) {
    for (const CUpti_CallbackId id : watched_calls) {
      result = c.enable(1, w.subscriber, CUPTI_CB_DOMAIN_DRIVER_API, id);
      if (result == CUPTI_SUCCESS) continue;
      (void)c.unsubscribe(w.subscriber);
      break;
    }
  }
  if (result == CUPTI_SUCCESS) {
    w.telling.store(true);
    return {};
  }
  w.subscriber = nullptr;
  w.observer.store(nullptr);
  if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED) {
    return "a profiler or debugger has CUPTI's callbacks, which serve one at a time";
  }
  return "CUPTI refuses it (" + text(result) + ")";
}

void unwatch_cuda_driver() noexcept {
  Watching& w = watching();
  const std::lock_guard<std::mutex> lock(w.mutex);
  DriverObserver* const observer = w.observer.load();
  if (observer == nullptr) return;
  // No new ones. The observer stays for those under way: a thread has seen the flag gone, or is counted.
  w.telling.store(false);
  while (w.under_way.load() != 0) std::this_thread::yield();
  w.observer.store(nullptr);
  (void)cupti().unsubscribe(w.subscriber);
  w.subscriber = nullptr;
  graphs_being_recorded.store(0);
}

}  // namespace semcache::device

#else

namespace semcache::device {

std::string watch_cuda_driver(const DriverWatch&) { return "SemCache was built without CUPTI (a part of the CUDA toolkit)"; }
void unwatch_cuda_driver() noexcept {}

}  // namespace semcache::device

#endif
