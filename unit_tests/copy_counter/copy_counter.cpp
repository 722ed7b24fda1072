// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors

/// Counts every copy that the CUDA driver carries out for a process, whoever asked for it: the witness against which the
/// runtime's own report is tested. Loaded by the driver itself:
///
///   CUDA_INJECTION64_PATH=libsemcache_copy_counter.so COPY_COUNTER_FILE=counts.%p.json ./program
///
/// Writes {"h2d_bytes", "h2d_count", "d2h_bytes", …} at exit. %p is the process id. Uses CUPTI's callbacks: a copy is
/// counted when it is submitted. Memsets are not counted: their pattern is an argument of the call, nothing is copied.
/// What is not seen: copies inside CUDA graphs (nobody here makes any) and pages of managed memory.
#include <cupti.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

struct Count {
  std::atomic<std::uint64_t> bytes{0};
  std::atomic<std::uint64_t> count{0};
  void add(std::size_t n) {
    bytes += n;
    ++count;
  }
};
Count h2d, d2h, d2d, other;

bool on_device(CUdeviceptr p) {
  unsigned type = 0;
  return cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p) == CUDA_SUCCESS && type == CU_MEMORYTYPE_DEVICE;
}

/// Of a copy that says what kind of memory it means, or leaves it to the address.
bool on_device(CUmemorytype type, CUdeviceptr p) {
  return type == CU_MEMORYTYPE_DEVICE || type == CU_MEMORYTYPE_ARRAY || (type == CU_MEMORYTYPE_UNIFIED && on_device(p));
}

void add(bool to_device, bool from_device, std::size_t n) {
  (to_device ? (from_device ? d2d : h2d) : (from_device ? d2h : other)).add(n);
}

void add_generic(CUdeviceptr to, CUdeviceptr from, std::size_t n) { add(on_device(to), on_device(from), n); }

/// Rows of a matrix or a block.
template <class Copy>
void add_rows(const Copy& c, std::size_t rows) {
  add(on_device(c.dstMemoryType, c.dstDevice), on_device(c.srcMemoryType, c.srcDevice), c.WidthInBytes * rows);
}

template <class Parameters>
const Parameters& as(const CUpti_CallbackData* data) {
  return *static_cast<const Parameters*>(data->functionParams);
}

void CUPTIAPI callback(void*, CUpti_CallbackDomain, CUpti_CallbackId id, const CUpti_CallbackData* data) {
  if (data->callbackSite != CUPTI_API_ENTER) return;
  switch (id) {
    case CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoD_v2:
    case CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoD_v2_ptds: h2d.add(as<cuMemcpyHtoD_v2_params>(data).ByteCount); break;
    case CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoDAsync_v2:
    case CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoDAsync_v2_ptsz: h2d.add(as<cuMemcpyHtoDAsync_v2_params>(data).ByteCount); break;
    case CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoH_v2:
    case CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoH_v2_ptds: d2h.add(as<cuMemcpyDtoH_v2_params>(data).ByteCount); break;
    case CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoHAsync_v2:
    case CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoHAsync_v2_ptsz: d2h.add(as<cuMemcpyDtoHAsync_v2_params>(data).ByteCount); break;
    case CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoD_v2:
    case CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoD_v2_ptds: d2d.add(as<cuMemcpyDtoD_v2_params>(data).ByteCount); break;
    case CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoDAsync_v2:
    case CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoDAsync_v2_ptsz: d2d.add(as<cuMemcpyDtoDAsync_v2_params>(data).ByteCount); break;
    case CUPTI_DRIVER_TRACE_CBID_cuMemcpy:
    case CUPTI_DRIVER_TRACE_CBID_cuMemcpy_ptds: {
      const auto& p = as<cuMemcpy_params>(data);
      add_generic(p.dst, p.src, p.ByteCount);
      break;
    }
    case CUPTI_DRIVER_TRACE_CBID_cuMemcpyAsync:
    case CUPTI_DRIVER_TRACE_CBID_cuMemcpyAsync_ptsz: {
      const auto& p = as<cuMemcpyAsync_params>(data);
      add_generic(p.dst, p.src, p.ByteCount);
      break;
    }
    case CUPTI_DRIVER_TRACE_CBID_cuMemcpyPeer:
    case CUPTI_DRIVER_TRACE_CBID_cuMemcpyPeer_ptds: {
      const auto& p = as<cuMemcpyPeer_params>(data);
      add_generic(p.dstDevice, p.srcDevice, p.ByteCount);
      break;
    }
    case CUPTI_DRIVER_TRACE_CBID_cuMemcpyPeerAsync:
    case CUPTI_DRIVER_TRACE_CBID_cuMemcpyPeerAsync_ptsz: {
      const auto& p = as<cuMemcpyPeerAsync_params>(data);
      add_generic(p.dstDevice, p.srcDevice, p.ByteCount);
      break;
    }
    case CUPTI_DRIVER_TRACE_CBID_cuMemcpy2D_v2:
    case CUPTI_DRIVER_TRACE_CBID_cuMemcpy2D_v2_ptds:
    case CUPTI_DRIVER_TRACE_CBID_cuMemcpy2DUnaligned_v2:
    case CUPTI_DRIVER_TRACE_CBID_cuMemcpy2DUnaligned_v2_ptds:
    case CUPTI_DRIVER_TRACE_CBID_cuMemcpy2DAsync_v2:
    case CUPTI_DRIVER_TRACE_CBID_cuMemcpy2DAsync_v2_ptsz: {  // the same first parameter
      const CUDA_MEMCPY2D& c = *as<cuMemcpy2D_v2_params>(data).pCopy;
      add_rows(c, c.Height);
      break;
    }
    case CUPTI_DRIVER_TRACE_CBID_cuMemcpy3D_v2:
    case CUPTI_DRIVER_TRACE_CBID_cuMemcpy3D_v2_ptds:
    case CUPTI_DRIVER_TRACE_CBID_cuMemcpy3DAsync_v2:
    case CUPTI_DRIVER_TRACE_CBID_cuMemcpy3DAsync_v2_ptsz: {
      const CUDA_MEMCPY3D& c = *as<cuMemcpy3D_v2_params>(data).pCopy;
      add_rows(c, c.Height * c.Depth);
      break;
    }
    case CUPTI_DRIVER_TRACE_CBID_cuMemcpy3DPeer:
    case CUPTI_DRIVER_TRACE_CBID_cuMemcpy3DPeer_ptds:
    case CUPTI_DRIVER_TRACE_CBID_cuMemcpy3DPeerAsync:
    case CUPTI_DRIVER_TRACE_CBID_cuMemcpy3DPeerAsync_ptsz: {
      const CUDA_MEMCPY3D_PEER& c = *as<cuMemcpy3DPeer_params>(data).pCopy;
      add_rows(c, c.Height * c.Depth);
      break;
    }
    default:
      // Arrays, batches, and what later drivers have: counted without bytes, so that no copy goes unnoticed.
      if (std::strncmp(data->functionName, "cuMemcpy", 8) == 0) other.add(0);
      break;
  }
}

void write_counts() {
  std::string path = std::getenv("COPY_COUNTER_FILE") != nullptr ? std::getenv("COPY_COUNTER_FILE") : "/dev/stderr";
  if (const auto at = path.find("%p"); at != std::string::npos) path.replace(at, 2, std::to_string(getpid()));
  std::FILE* file = std::fopen(path.c_str(), "w");
  if (file == nullptr) {
    std::fprintf(stderr, "copy counter: cannot write %s\n", path.c_str());
    return;
  }
  const auto n = [](const std::atomic<std::uint64_t>& v) { return static_cast<unsigned long long>(v.load()); };
  std::fprintf(file,
               "{\"h2d_bytes\": %llu, \"h2d_count\": %llu, \"d2h_bytes\": %llu, \"d2h_count\": %llu, \"d2d_bytes\": %llu, "
               "\"d2d_count\": %llu, \"other_bytes\": %llu, \"other_count\": %llu}\n",
               n(h2d.bytes), n(h2d.count), n(d2h.bytes), n(d2h.count), n(d2d.bytes), n(d2d.count), n(other.bytes),
               n(other.count));
  std::fclose(file);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
  CUpti_SubscriberHandle subscriber;
  if (cuptiSubscribe(&subscriber, reinterpret_cast<CUpti_CallbackFunc>(&callback), nullptr) != CUPTI_SUCCESS ||
      cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API) != CUPTI_SUCCESS) {
    std::fprintf(stderr, "copy counter: CUPTI cannot be enabled\n");
    return 0;
  }
  std::atexit(&write_counts);
  return 1;
}
