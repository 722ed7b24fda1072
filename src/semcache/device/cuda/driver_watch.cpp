// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/device/cuda/kernel_arguments.hpp>
#include <semcache/device/device.hpp>

#if __has_include(<cupti.h>) && defined(SEMCACHE_CUPTI_DIRECTORY)

#include <semcache/device/cuda/cupti.hpp>

#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

// cuda.h renames these to their latest versions, but programs use the earlier ones, too.
#undef cuGraphAddKernelNode
#undef cuGraphKernelNodeSetParams
#undef cuGraphExecKernelNodeSetParams
#undef cuGraphAddNode
#undef cuMemcpyBatchAsync
#undef cuStreamBeginCapture
#undef cuStreamWaitValue32
#undef cuStreamWaitValue64
#undef cuStreamBatchMemOp
#undef cuStreamDestroy
#undef cuCtxSynchronize

/// The driver watch, by callbacks of CUPTI at the driver's calls. The runtime interface and the vendor's libraries end in these
/// calls, wherever they are linked from, so that every use is reported here before the driver carries it out.
namespace semcache::device {
namespace {

using cuda::Cupti;
using cuda::KernelArguments;
using Kind = DriverUse::Kind;

// --- the watch ---------------------------------------------------------------------------------------------------------

struct Watching {
  std::mutex mutex;  ///< held while a watch starts or ends
  CUpti_SubscriberHandle subscriber = nullptr;
  std::atomic<bool (*)() noexcept> own_work{nullptr};
  std::atomic<DriverObserver*> observer{nullptr};
  std::atomic<bool> telling{false};
  std::atomic<int> under_way{0};  ///< calls that are being reported, or whose end will be reported
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

/// Returns the stream that a call means in whose variant nullptr names the default stream of the thread.
CUstream or_of_the_thread(CUstream stream) noexcept { return stream == nullptr ? CU_STREAM_PER_THREAD : stream; }
bool is_capturing(CUstream stream) noexcept { return cuda::is_capturing(cuda::driver_api(), stream); }

/// A call's two callbacks share a word. It is the pointer that the observer's `after` gets, or one of these.
constexpr std::uint64_t nothing = 0, begins_recording = 1, ends_recording = 2;

/// Collects the uses of one call that lie in watched memory.
class Uses {
 public:
  Uses(Watching& w, const char* kernel) : name(kernel), watching_(w) {}

  const char* const name;  ///< the kernel's name, in calls that launch one
  CUstream stream = nullptr;  ///< the stream to which the call submits; nullptr: the default stream, or not known
  CUstream ended = nullptr;   ///< the stream that the call destroys
  std::uint64_t shared = nothing;

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
  /// Adds the words of a small copy. Large arguments of kernels are copied to the device before the kernel starts, as are lists
  /// of arrays.
  void words_of(const void* from, std::uint64_t n) {
    constexpr std::uint64_t largest_list = 32 * 1024;
    if (n < sizeof(std::uintptr_t) || n > largest_list || !list_.empty()) return;
    // The operating system makes this copy, because the address may be invalid: the driver has not checked it yet.
    std::vector<std::byte> data(n);
    const iovec to{data.data(), n}, source{const_cast<void*>(from), n};
    if (::process_vm_readv(::getpid(), &to, 1, &source, 1, 0) != static_cast<ssize_t>(n)) return;
    cuda::for_each_word(data.data(), n, [this](auto... at) { word(at..., Kind::listed); });
  }
  void kernel(CUfunction f, void** parameters, void** extra, const char* called) {
    launches_ = true;
    if (watching_.arguments.for_each(f, parameters, extra, [this](auto... at) { word(at..., Kind::argument); })) return;
    if (watching_.reported_unreadable.exchange(true)) return;
    base::raw_log("the driver does not tell the parameters of kernel '%s': what it uses is not noticed (nor of further ones "
                  "of its kind). Announce it with semcache::access", called == nullptr ? "?" : called);
  }
  void graph() noexcept { launches_ = graph_ = true; }
  void unloaded() noexcept { watching_.arguments.forget(); }
  void recorded() {
    launches_ = false;
    for (DriverUse& use : list_) use.kind = Kind::recorded;
  }

  [[nodiscard]] const std::vector<DriverUse>& list() const noexcept { return list_; }
  [[nodiscard]] bool launches() const noexcept { return launches_; }
  /// Returns the call with these uses, as the observer gets it.
  [[nodiscard]] DriverCall call() const noexcept {
    DriverCall c{list_.data(), list_.size(), launches_, nullptr, -1};
    if (!launches_) return c;
    // The default streams' handles are the same for each GPU and, some of them, for each thread. They name a stream of the GPU that is
    // current.
    if (reinterpret_cast<std::uintptr_t>(stream) > reinterpret_cast<std::uintptr_t>(CU_STREAM_PER_THREAD)) c.stream = stream;
    CUdevice device = -1;
    if (!graph_ && c.stream == nullptr && cuda::driver_api().cuCtxGetDevice(&device) == CUDA_SUCCESS) c.ordinal = device;
    return c;
  }

 private:
  bool launches_ = false;  ///< the call launches a kernel or graph
  bool graph_ = false;     ///< a graph, whose nodes may be those of several GPUs
  Watching& watching_;
  std::vector<DriverUse> list_;  ///< mostly empty, and then without memory
};

/// Returns the number of bytes from the first to the last byte of strided rows.
std::uint64_t hull(std::uint64_t width, std::uint64_t pitch, std::uint64_t rows) {
  return width == 0 || rows == 0 ? 0 : (rows - 1) * pitch + width;
}

/// Adds one end of a strided copy: `n` bytes from offset `first`, the first byte that the copy reads or writes.
void strided(Uses& uses, Kind kind, CUmemorytype type, const void* host, CUdeviceptr device, std::uint64_t first, std::uint64_t n) {
  if (type == CU_MEMORYTYPE_HOST) uses.bytes(reinterpret_cast<std::uintptr_t>(host) + first, n, kind);
  if (type == CU_MEMORYTYPE_DEVICE || type == CU_MEMORYTYPE_UNIFIED) uses.bytes(device + first, n, kind);
}

template <class Copy>  // CUDA_MEMCPY2D
void copy_2d(Uses& uses, const Copy* c) {
  if (c == nullptr) return;
  const auto end = [&](Kind kind, CUmemorytype type, const void* host, CUdeviceptr device, std::uint64_t first, std::uint64_t pitch) {
    strided(uses, kind, type, host, device, first, hull(c->WidthInBytes, pitch, c->Height));
  };
  // Copies of one row may leave the pitch zero.
  end(Kind::read, c->srcMemoryType, c->srcHost, c->srcDevice, c->srcXInBytes + c->srcY * c->srcPitch, c->srcPitch);
  end(Kind::write, c->dstMemoryType, c->dstHost, c->dstDevice, c->dstXInBytes + c->dstY * c->dstPitch, c->dstPitch);
}

template <class Copy>  // CUDA_MEMCPY3D, CUDA_MEMCPY3D_PEER
void copy_3d(Uses& uses, const Copy* c) {
  if (c == nullptr) return;
  const auto end = [&](Kind kind, CUmemorytype type, const void* host, CUdeviceptr device, std::uint64_t x, std::uint64_t y,
                       std::uint64_t z, std::uint64_t pitch, std::uint64_t height) {
    const std::uint64_t layer = hull(c->WidthInBytes, pitch, c->Height);
    strided(uses, kind, type, host, device, x + (y + z * height) * pitch, hull(layer, height * pitch, c->Depth));
  };
  end(Kind::read, c->srcMemoryType, c->srcHost, c->srcDevice, c->srcXInBytes, c->srcY, c->srcZ, c->srcPitch, c->srcHeight);
  end(Kind::write, c->dstMemoryType, c->dstHost, c->dstDevice, c->dstXInBytes, c->dstY, c->dstZ, c->dstPitch, c->dstHeight);
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

void begins_to_record(Uses& uses, const void*) {
  graphs_being_recorded.fetch_add(1);
  uses.shared = begins_recording;
}

// --- the driver's calls ------------------------------------------------------------------------------------------------

struct Call {
  CUpti_CallbackId id;
  void (*read)(Uses& uses, const void* parameters);  ///< nullptr: the call uses none of our memory
};

#define SEMCACHE_ID(name) CUPTI_DRIVER_TRACE_CBID_##name
/// Defines how a call's parameters `p` are read. The variants for a default stream of each thread have the same parameters.
#define SEMCACHE_CALL(variant, call, ...)                                                                              \
  {SEMCACHE_ID(variant), [](Uses& uses, const void* parameters) {                                                      \
     const auto& p = *static_cast<const call##_params*>(parameters);                                                   \
     __VA_ARGS__;                                                                                                      \
   }}
#define SEMCACHE_SYNCHRONOUS(call, ...) SEMCACHE_CALL(call, call, __VA_ARGS__), SEMCACHE_CALL(call##_ptds, call, __VA_ARGS__)
#define SEMCACHE_QUEUED(call, queue, ...)                                                                              \
  SEMCACHE_CALL(call, call, uses.stream = queue; __VA_ARGS__),                                                         \
  SEMCACHE_CALL(call##_ptsz, call, uses.stream = or_of_the_thread(queue); __VA_ARGS__)
#define SEMCACHE_STREAM(call, ...) SEMCACHE_QUEUED(call, p.hStream, __VA_ARGS__)
/// Defines a synchronous call, and the call that does the same in stream `p.hStream`.
#define SEMCACHE_TRANSFER(call, async, ...) SEMCACHE_SYNCHRONOUS(call, __VA_ARGS__), SEMCACHE_STREAM(async, __VA_ARGS__)
#define SEMCACHE_GRAPH(call, ...) SEMCACHE_CALL(call, call, __VA_ARGS__; uses.recorded())
#define SEMCACHE_UNLOAD(call) {SEMCACHE_ID(call), [](Uses& uses, const void*) { uses.unloaded(); }}
#define SEMCACHE_PTSZ(call, read) {SEMCACHE_ID(call), read}, {SEMCACHE_ID(call##_ptsz), read}
#define SEMCACHE_WAIT(call) SEMCACHE_PTSZ(call, nullptr)
#define SEMCACHE_OTHER_WAIT(call) {SEMCACHE_ID(call), nullptr}

constexpr Call calls[] = {
    SEMCACHE_TRANSFER(cuMemcpyHtoD_v2, cuMemcpyHtoDAsync_v2, uses.read(p.srcHost, p.ByteCount);
                      uses.write(p.dstDevice, p.ByteCount); uses.words_of(p.srcHost, p.ByteCount)),
    SEMCACHE_TRANSFER(cuMemcpyDtoH_v2, cuMemcpyDtoHAsync_v2, uses.read(p.srcDevice, p.ByteCount);
                      uses.write(p.dstHost, p.ByteCount)),
    SEMCACHE_TRANSFER(cuMemcpyDtoD_v2, cuMemcpyDtoDAsync_v2, uses.read(p.srcDevice, p.ByteCount);
                      uses.write(p.dstDevice, p.ByteCount)),
    SEMCACHE_TRANSFER(cuMemcpyHtoA_v2, cuMemcpyHtoAAsync_v2, uses.read(p.srcHost, p.ByteCount)),
    SEMCACHE_TRANSFER(cuMemcpyAtoH_v2, cuMemcpyAtoHAsync_v2, uses.write(p.dstHost, p.ByteCount)),
    SEMCACHE_TRANSFER(cuMemcpy, cuMemcpyAsync, uses.read(p.src, p.ByteCount); uses.write(p.dst, p.ByteCount)),
    SEMCACHE_TRANSFER(cuMemcpyPeer, cuMemcpyPeerAsync, uses.read(p.srcDevice, p.ByteCount); uses.write(p.dstDevice, p.ByteCount)),
    SEMCACHE_TRANSFER(cuMemcpy2D_v2, cuMemcpy2DAsync_v2, copy_2d(uses, p.pCopy)),
    SEMCACHE_TRANSFER(cuMemcpy3D_v2, cuMemcpy3DAsync_v2, copy_3d(uses, p.pCopy)),
    SEMCACHE_TRANSFER(cuMemcpy3DPeer, cuMemcpy3DPeerAsync, copy_3d(uses, p.pCopy)),
    SEMCACHE_TRANSFER(cuMemsetD8_v2, cuMemsetD8Async, uses.write(p.dstDevice, p.N)),
    SEMCACHE_TRANSFER(cuMemsetD16_v2, cuMemsetD16Async, uses.write(p.dstDevice, 2 * p.N)),
    SEMCACHE_TRANSFER(cuMemsetD32_v2, cuMemsetD32Async, uses.write(p.dstDevice, 4 * p.N)),
    SEMCACHE_TRANSFER(cuMemsetD2D8_v2, cuMemsetD2D8Async, uses.write(p.dstDevice, hull(p.Width, p.dstPitch, p.Height))),
    SEMCACHE_TRANSFER(cuMemsetD2D16_v2, cuMemsetD2D16Async, uses.write(p.dstDevice, hull(2 * p.Width, p.dstPitch, p.Height))),
    SEMCACHE_TRANSFER(cuMemsetD2D32_v2, cuMemsetD2D32Async, uses.write(p.dstDevice, hull(4 * p.Width, p.dstPitch, p.Height))),

    SEMCACHE_SYNCHRONOUS(cuMemcpyDtoA_v2, uses.read(p.srcDevice, p.ByteCount)),
    SEMCACHE_SYNCHRONOUS(cuMemcpyAtoD_v2, uses.write(p.dstDevice, p.ByteCount)),
    SEMCACHE_SYNCHRONOUS(cuMemcpy2DUnaligned_v2, copy_2d(uses, p.pCopy)),

    SEMCACHE_STREAM(cuLaunchKernel, uses.kernel(p.f, p.kernelParams, p.extra, uses.name)),
    SEMCACHE_STREAM(cuLaunchCooperativeKernel, uses.kernel(p.f, p.kernelParams, nullptr, uses.name)),
    SEMCACHE_QUEUED(cuLaunchKernelEx, p.config == nullptr ? nullptr : p.config->hStream,
                    uses.kernel(p.f, p.kernelParams, p.extra, uses.name)),
#if CUDA_VERSION >= 13000
    SEMCACHE_STREAM(cuMemcpyBatchAsync, copies(uses, p.dsts, p.srcs, p.sizes, p.count)),
    SEMCACHE_STREAM(cuMemcpyBatchAsync_v2, copies(uses, p.dsts, p.srcs, p.sizes, p.count)),
#endif

    SEMCACHE_GRAPH(cuGraphAddKernelNode, kernel_node(uses, p.nodeParams)),
    SEMCACHE_GRAPH(cuGraphAddKernelNode_v2, kernel_node(uses, p.nodeParams)),
    SEMCACHE_GRAPH(cuGraphKernelNodeSetParams, kernel_node(uses, p.nodeParams)),
    SEMCACHE_GRAPH(cuGraphKernelNodeSetParams_v2, kernel_node(uses, p.nodeParams)),
    SEMCACHE_GRAPH(cuGraphExecKernelNodeSetParams, kernel_node(uses, p.nodeParams)),
    SEMCACHE_GRAPH(cuGraphExecKernelNodeSetParams_v2, kernel_node(uses, p.nodeParams)),
    SEMCACHE_GRAPH(cuGraphAddMemcpyNode, copy_3d(uses, p.copyParams)),
    SEMCACHE_GRAPH(cuGraphMemcpyNodeSetParams, copy_3d(uses, p.nodeParams)),
    SEMCACHE_GRAPH(cuGraphExecMemcpyNodeSetParams, copy_3d(uses, p.copyParams)),
    SEMCACHE_GRAPH(cuGraphAddMemsetNode, fill_node(uses, p.memsetParams)),
    SEMCACHE_GRAPH(cuGraphMemsetNodeSetParams, fill_node(uses, p.nodeParams)),
    SEMCACHE_GRAPH(cuGraphExecMemsetNodeSetParams, fill_node(uses, p.memsetParams)),
    SEMCACHE_GRAPH(cuGraphAddNode, graph_node(uses, p.nodeParams)),
    SEMCACHE_GRAPH(cuGraphAddNode_v2, graph_node(uses, p.nodeParams)),
    SEMCACHE_GRAPH(cuGraphNodeSetParams, graph_node(uses, p.nodeParams)),
    SEMCACHE_GRAPH(cuGraphExecNodeSetParams, graph_node(uses, p.nodeParams)),
    SEMCACHE_STREAM(cuGraphLaunch, uses.graph()),

    SEMCACHE_CALL(cuStreamDestroy, cuStreamDestroy, uses.ended = p.hStream),
    SEMCACHE_CALL(cuStreamDestroy_v2, cuStreamDestroy_v2, uses.ended = p.hStream),

    SEMCACHE_UNLOAD(cuModuleUnload), SEMCACHE_UNLOAD(cuLibraryUnload), SEMCACHE_UNLOAD(cuCtxDestroy_v2),
    SEMCACHE_UNLOAD(cuDevicePrimaryCtxReset_v2), SEMCACHE_UNLOAD(cuDevicePrimaryCtxRelease_v2),

    // A recording counts from before the driver begins it until after the driver has ended it.
    SEMCACHE_PTSZ(cuStreamBeginCapture, &begins_to_record), SEMCACHE_PTSZ(cuStreamBeginCapture_v2, &begins_to_record),
#if CUDA_VERSION >= 12030
    SEMCACHE_PTSZ(cuStreamBeginCaptureToGraph, &begins_to_record),
#endif
    SEMCACHE_STREAM(cuStreamEndCapture, if (is_capturing(uses.stream)) uses.shared = ends_recording),

    // These calls use none of our memory, but a stream may wait without end for them, or for work behind them. The program's own
    // fences are included, because the program may submit such a call behind them.
    SEMCACHE_WAIT(cuStreamWaitEvent), SEMCACHE_WAIT(cuStreamAddCallback), SEMCACHE_WAIT(cuLaunchHostFunc),
    SEMCACHE_WAIT(cuStreamWaitValue32), SEMCACHE_WAIT(cuStreamWaitValue64), SEMCACHE_WAIT(cuStreamWaitValue32_v2),
    SEMCACHE_WAIT(cuStreamWaitValue64_v2), SEMCACHE_WAIT(cuStreamBatchMemOp), SEMCACHE_WAIT(cuStreamBatchMemOp_v2),
    SEMCACHE_WAIT(cuWaitExternalSemaphoresAsync), SEMCACHE_WAIT(cuMemAllocAsync), SEMCACHE_WAIT(cuMemAllocFromPoolAsync),
    SEMCACHE_WAIT(cuMemFreeAsync), SEMCACHE_WAIT(cuEventRecord), SEMCACHE_WAIT(cuEventRecordWithFlags),
    SEMCACHE_WAIT(cuStreamSynchronize),
    SEMCACHE_OTHER_WAIT(cuLaunchCooperativeKernelMultiDevice), SEMCACHE_OTHER_WAIT(cuLaunch), SEMCACHE_OTHER_WAIT(cuLaunchGrid),
    SEMCACHE_OTHER_WAIT(cuLaunchGridAsync), SEMCACHE_OTHER_WAIT(cuCtxSynchronize), SEMCACHE_OTHER_WAIT(cuEventSynchronize),
#if CUDA_VERSION >= 13000
    SEMCACHE_OTHER_WAIT(cuCtxSynchronize_v2), SEMCACHE_OTHER_WAIT(cuCtxWaitEvent), SEMCACHE_OTHER_WAIT(cuGreenCtxWaitEvent),
#endif
};

constexpr auto readers = [] {
  std::array<decltype(Call::read), CUPTI_DRIVER_TRACE_CBID_SIZE> by_id{};
  for (const Call& call : calls) by_id[call.id] = call.read;
  return by_id;
}();

Uses uses_of(Watching& w, CUpti_CallbackId id, const CUpti_CallbackData& call) {
  Uses uses(w, call.symbolName);
  if (readers[id] != nullptr) readers[id](uses, call.functionParams);
  return uses;
}

/// Reports any call to the observer, because work behind the call may wait for the host, or for another stream.
void tell_of_others(DriverObserver& observer, CUpti_CallbackId id, const void* parameters) noexcept {
  if (!observer.wants_others()) return;
  const cuda::CaptureAllowed allowed;
  std::optional<void*> fenced;
  if (id == SEMCACHE_ID(cuStreamSynchronize)) fenced = static_cast<const cuStreamSynchronize_params*>(parameters)->hStream;
  observer.others_submit(fenced);
}

/// Handles the beginning of a call. @return the word that the call's two callbacks share
std::uint64_t begin(Watching& w, DriverObserver* observer, CUpti_CallbackId id, const CUpti_CallbackData& call) {
  Uses uses = uses_of(w, id, call);
  if (uses.ended != nullptr) {
    const cuda::CaptureAllowed allowed;
    if (observer != nullptr) observer->stream_ends(uses.ended);
    return nothing;
  }
  if (observer != nullptr) tell_of_others(*observer, id, call.functionParams);
  if (uses.shared != nothing || observer == nullptr) return uses.shared;
  if (uses.list().empty() && !(uses.launches() && observer->wants_launches())) return nothing;
  const cuda::CaptureAllowed allowed;
  if (is_capturing(uses.stream)) uses.recorded();
  return reinterpret_cast<std::uint64_t>(observer->before(uses.call()));
}

void ended_recording() noexcept {
  unsigned known = graphs_being_recorded.load();  // does not include recordings that began before the watch
  while (known > 0 && !graphs_being_recorded.compare_exchange_weak(known, known - 1)) {
  }
}

void CUPTIAPI on_call(void*, CUpti_CallbackDomain, CUpti_CallbackId id, const void* data) {
  const auto& call = *static_cast<const CUpti_CallbackData*>(data);
  std::uint64_t& shared = *call.correlationData;  // the word that the two callbacks of a call share
  Watching& w = watching();
  if (call.callbackSite != CUPTI_API_ENTER) {
    if (shared == nothing) return;
    if (shared == begins_recording) {
      if (*static_cast<const CUresult*>(call.functionReturnValue) != CUDA_SUCCESS) ended_recording();
      return;
    }
    if (shared == ends_recording) {
      if (uses_of(w, id, call).shared == nothing) ended_recording();
      return;
    }
    const cuda::CaptureAllowed allowed;
    w.observer.load()->after(reinterpret_cast<void*>(shared));
    w.under_way.fetch_sub(1);
    return;
  }
  shared = nothing;
  if (readers[id] != nullptr) cuda::note_cause(call.correlationId);
  const auto own_work = w.own_work.load(std::memory_order_acquire);
  // Streams end while a launch of ours is prepared, too, for example in a library that it calls.
  const bool ends_stream = id == SEMCACHE_ID(cuStreamDestroy) || id == SEMCACHE_ID(cuStreamDestroy_v2);
  if (own_work == nullptr || (!ends_stream && own_work())) return;
  w.under_way.fetch_add(1);  // from here on the observer cannot be removed
  try {
    shared = begin(w, w.telling.load() ? w.observer.load() : nullptr, id, call);
  } catch (const std::exception& e) {
    base::fatal("a use of device memory outside semcache::Exec cannot be looked at: %s. Free memory of the host", e.what());
  }
  if (shared <= ends_recording) w.under_way.fetch_sub(1);
}

}  // namespace

std::string watch_cuda_driver(const DriverWatch& watch) {
  const cuda::DriverApi& api = cuda::driver_api();
  if (!api.failure.empty()) return api.failure;
  if (!KernelArguments::known_to(api)) return "the CUDA driver does not tell what a kernel's parameters are; 12.4 or later does";
  const Cupti& c = cuda::cupti();
  if (!c.failure.empty()) return c.failure;
  Watching& w = watching();
  const std::lock_guard<std::mutex> lock(w.mutex);
  SEMCACHE_EXPECTS(w.observer.load() == nullptr, "the driver's calls are watched already");
  for (std::size_t i = 0; i < 2; ++i) {
    const auto begin = reinterpret_cast<std::uintptr_t>(watch.ranges[i].begin);
    w.ranges[i].begin.store(begin);
    w.ranges[i].end.store(begin + watch.ranges[i].bytes);
  }
  w.arguments.forget();  // earlier unloads have not been seen
  w.observer.store(watch.observer);
  w.own_work.store(watch.own_work, std::memory_order_release);
  CUptiResult result = c.subscribe(&w.subscriber, &on_call, nullptr);
  if (result == CUPTI_SUCCESS) {
    for (const Call& call : calls) {
      result = c.enable(1, w.subscriber, CUPTI_CB_DOMAIN_DRIVER_API, call.id);
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
  return "CUPTI refuses it (" + c.text_of(result) + ")";
}

void unwatch_cuda_driver() noexcept {
  Watching& w = watching();
  const std::lock_guard<std::mutex> lock(w.mutex);
  DriverObserver* const observer = w.observer.load();
  if (observer == nullptr) return;
  // No further call is reported. The observer stays for the calls under way: each thread either sees that `telling` is false, or
  // is counted in `under_way`.
  w.telling.store(false);
  while (w.under_way.load() != 0) std::this_thread::yield();
  w.observer.store(nullptr);
  (void)cuda::cupti().unsubscribe(w.subscriber);
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
