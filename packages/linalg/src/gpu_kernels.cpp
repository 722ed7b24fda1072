// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "gpu_kernels.hpp"

#include "loading.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <utility>

namespace semcache::linalg::gpu {

namespace {

constexpr const char* source =
#include "gpu_kernels_text.inc"  // CMake makes it of gpu_kernels.cuh
    ;
constexpr std::uint64_t threads = 128;  // of a thread block, as in the kernels
// How many rows of a sparse matrix a thread block multiplies: about as many entries of either kind.
constexpr std::uint64_t rows_of_block = 512, long_rows_of_block = 128;
constexpr std::uint64_t entries_of_long_row = 12;
constexpr std::uint64_t weight_of_block = 8192, weight_of_row = 16;  // where they are not about equally long, as in the kernels

// What the headers of CUDA declare.
using Program = struct _nvrtcProgram*;
using Module = struct CUmod_st*;
using Function = struct CUfunc_st*;
constexpr int success = 0;                                            // CUDA_SUCCESS, NVRTC_SUCCESS
constexpr int capability_major = 75, capability_minor = 76;           // CUdevice_attribute
constexpr const char* nvrtc_names[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so"};
constexpr const char* driver_names[] = {"libcuda.so.1"};

/// NVIDIA's compiler for kernels at run time.
struct Nvrtc {
  int (*create)(Program*, const char*, const char*, int, const char* const*, const char* const*) = nullptr;
  int (*compile)(Program, int, const char* const*) = nullptr;
  int (*destroy)(Program*) = nullptr;
  int (*log_size)(Program, std::size_t*) = nullptr;
  int (*log)(Program, char*) = nullptr;
  int (*cubin_size)(Program, std::size_t*) = nullptr;
  int (*cubin)(Program, char*) = nullptr;
  const char* (*error_text)(int) = nullptr;

  Nvrtc() {
    constexpr const char* what = "NVRTC, which compiles the kernels of semcache_linalg,";
    void* const file = load(what, nvrtc_names, "Install CUDA's libraries (the package cuda-nvrtc), or put their folder into LD_LIBRARY_PATH");
    find(file, what, create, "nvrtcCreateProgram");
    find(file, what, compile, "nvrtcCompileProgram");
    find(file, what, destroy, "nvrtcDestroyProgram");
    find(file, what, log_size, "nvrtcGetProgramLogSize");
    find(file, what, log, "nvrtcGetProgramLog");
    find(file, what, cubin_size, "nvrtcGetCUBINSize");
    find(file, what, cubin, "nvrtcGetCUBIN");
    find(file, what, error_text, "nvrtcGetErrorString");
  }
};
const Nvrtc& nvrtc() {
  static const Nvrtc loaded;
  return loaded;
}

struct Driver {
  int (*get_device)(int*) = nullptr;
  int (*get_attribute)(int*, int, int) = nullptr;
  int (*load_module)(Module*, const void*) = nullptr;
  int (*get_function)(Function*, Module, const char*) = nullptr;
  int (*unload_module)(Module) = nullptr;
  int (*synchronize)() = nullptr;
  int (*launch)(Function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**, void**) = nullptr;
  int (*error_name)(int, const char**) = nullptr;

  Driver() {
    constexpr const char* what = "the CUDA driver";
    void* const file = load(what, driver_names, "Install NVIDIA's driver");
    find(file, what, get_device, "cuCtxGetDevice");
    find(file, what, get_attribute, "cuDeviceGetAttribute");
    find(file, what, load_module, "cuModuleLoadData");
    find(file, what, get_function, "cuModuleGetFunction");
    find(file, what, unload_module, "cuModuleUnload");
    find(file, what, synchronize, "cuCtxSynchronize");
    find(file, what, launch, "cuLaunchKernel");
    find(file, what, error_name, "cuGetErrorName");
  }
};

enum class Routine : std::uint8_t { axpby, axpby_of_quotients, sum, block_dots, spmv, spmm, spmv_uneven, spmm_uneven };
constexpr const char* routine_names[] = {"axpby", "axpby_of_quotients", "sum",         "block_dots",
                                         "spmv",  "spmm",               "spmv_uneven", "spmm_uneven"};

void unload_all() noexcept;

/// The kernels, compiled once for each architecture, and loaded once onto each device of a runtime, whose end may end the device's context.
class Kernels {
 public:
  Kernels() { runtime::before_end(&unload_all); }
  /// @param arguments  addresses of the kernel's parameters in host memory, which are read before the call returns
  void launch(const runtime::Stream& stream, Routine routine, Scalar type, std::uint64_t blocks, void** arguments) {
    const char* const name = routine_names[static_cast<std::size_t>(routine)];
    const Function function = functions(stream, name)[static_cast<std::size_t>(routine)][static_cast<std::size_t>(type)];
    expect(driver_.launch(function, static_cast<unsigned>(blocks), 1, 1, static_cast<unsigned>(threads), 1, 1, 0, stream.native, arguments, nullptr),
           "cuLaunchKernel", name, stream);
  }
  /// The runtime ends: its devices may be others in the next one, and their contexts new.
  void unload() noexcept {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& [device, loaded] : loaded_) {
      const runtime::OnDevice on(device);
      if (driver_.synchronize() == success) (void)driver_.unload_module(loaded.module);
    }
    loaded_.clear();
  }

 private:
  using Functions = std::array<std::array<Function, 4>, std::size(routine_names)>;  // by routine and type
  struct Loaded {
    Module module = nullptr;
    Functions functions{};
  };

  /// Returns those of a device, whose context is current.
  Functions functions(const runtime::Stream& stream, const char* routine) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto known = loaded_.find(stream.device);
    if (known != loaded_.end()) return known->second.functions;

    int device = 0, major = 0, minor = 0;
    expect(driver_.get_device(&device), "cuCtxGetDevice", routine, stream);
    expect(driver_.get_attribute(&major, capability_major, device), "cuDeviceGetAttribute", routine, stream);
    expect(driver_.get_attribute(&minor, capability_minor, device), "cuDeviceGetAttribute", routine, stream);
    std::vector<char>& code = code_[{major, minor}];
    if (code.empty()) code = compile("sm_" + std::to_string(major) + std::to_string(minor));
    Loaded loaded;
    Functions& found = loaded.functions;
    expect(driver_.load_module(&loaded.module, code.data()), "cuModuleLoadData", routine, stream);
    for (std::size_t r = 0; r < found.size(); ++r) {
      for (std::size_t t = 0; t < found[r].size(); ++t) {
        const std::string name = std::string(routine_names[r]) + '_' + "sdcz"[t];
        expect(driver_.get_function(&found[r][t], loaded.module, name.c_str()), "cuModuleGetFunction", routine, stream);
      }
    }
    loaded_.emplace(stream.device, loaded);
    return found;
  }
  void expect(int status, const char* call, const char* routine, const runtime::Stream& stream) const {
    if (status == success) return;
    const char* name = nullptr;
    if (driver_.error_name(status, &name) != success || name == nullptr) name = "unknown CUDA error";
    throw DeviceError(std::string(routine) + " on device " + std::to_string(stream.device) + ": " + name + " in " + call);
  }

  Driver driver_;
  std::mutex mutex_;
  std::map<std::pair<int, int>, std::vector<char>> code_;      // by compute capability
  std::map<std::uint32_t, Loaded> loaded_;                     // by the runtime's number of the device
};

Kernels& kernels() {
  // Never destroyed, because static objects that are destroyed later may still call it.
  static Kernels* const all = new Kernels;
  return *all;
}
void unload_all() noexcept { kernels().unload(); }

}  // namespace

std::vector<char> compile(const std::string& architecture) {
  const Nvrtc& api = nvrtc();
  Program program = nullptr;
  // No product is fused but where the source says so: each GPU then rounds alike.
  const std::string option = "--gpu-architecture=" + architecture;
  const char* const options[] = {option.c_str(), "--std=c++17", "--fmad=false"};
  std::vector<char> code;
  std::string log;
  std::size_t size = 0;
  int status = api.create(&program, source, "semcache_linalg.cu", 0, nullptr, nullptr);
  if (status == success) {
    status = api.compile(program, static_cast<int>(std::size(options)), options);
    if (status != success && api.log_size(program, &size) == success) {
      log.resize(size);
      if (api.log(program, log.data()) != success) log.clear();
    }
    if (status == success) status = api.cubin_size(program, &size);
    if (status == success) {
      code.resize(size);
      status = api.cubin(program, code.data());
    }
    api.destroy(&program);
  }
  if (status != success) {
    throw DeviceError("the kernels of semcache_linalg cannot be compiled for " + architecture + ": " + api.error_text(status) +
                      ". Another version of NVRTC may know this GPU. The log of this one:\n" + log.c_str());
  }
  return code;
}

namespace {
/// How many thread blocks add two vectors: as many elements for a thread as in the kernel.
std::uint64_t thread_blocks_of_sum(std::uint64_t n, Scalar type) {
  const std::uint64_t of_thread_block = threads * (type == Scalar::s || type == Scalar::d ? 8 : 4);
  return (n + of_thread_block - 1) / of_thread_block;
}
}  // namespace

void axpby(const runtime::Stream& stream, Scalar type, std::uint64_t n, const void* alpha, const void* x, const void* beta, void* y) {
  if (n == 0) return;
  unsigned long long elements = n;
  void* arguments[] = {&elements, const_cast<void*>(alpha), &x, const_cast<void*>(beta), &y};
  kernels().launch(stream, Routine::axpby, type, thread_blocks_of_sum(n, type), arguments);
}

void axpby_of_quotients(const runtime::Stream& stream, Scalar type, std::uint64_t n, const void* alpha, const Quotient& of_alpha, const void* x,
                        const void* beta, const Quotient& of_beta, void* y) {
  if (n == 0) return;
  unsigned long long elements = n;
  Quotient a = of_alpha, b = of_beta;
  void* arguments[] = {&elements, const_cast<void*>(alpha), &a.numerator,   &a.denominator, &x,
                       const_cast<void*>(beta), &b.numerator, &b.denominator, &y};
  kernels().launch(stream, Routine::axpby_of_quotients, type, thread_blocks_of_sum(n, type), arguments);
}

void sum(const runtime::Stream& stream, Scalar type, std::uint64_t count, const void* numbers, void* result) {
  unsigned long long all = count;
  void* arguments[] = {&all, &numbers, &result};
  kernels().launch(stream, Routine::sum, type, 1, arguments);
}

void block_dots(const runtime::Stream& stream, Scalar type, std::uint64_t n, std::uint64_t block, const void* x, const void* y, void* sums) {
  if (n == 0) return;
  unsigned long long elements = n;
  unsigned length = static_cast<unsigned>(block);
  const std::uint64_t elements_of_thread_block = block < threads ? threads : block;  // several blocks, or one
  void* arguments[] = {&elements, &length, &x, &y, &sums};
  kernels().launch(stream, Routine::block_dots, type, (n + elements_of_thread_block - 1) / elements_of_thread_block, arguments);
}

namespace {
std::uint64_t rows_of_thread_block(std::uint64_t rows, std::uint64_t entries) noexcept {
  return entries > entries_of_long_row * rows ? long_rows_of_block : rows_of_block;
}
std::uint64_t thread_blocks_of_uneven(std::uint64_t rows, std::uint64_t entries) {
  return (entries + rows * weight_of_row + weight_of_block - 1) / weight_of_block;
}
}  // namespace

RowLengths lengths_of(const std::int32_t* row_pointers, std::uint64_t begin, std::uint64_t end) noexcept {
  // A GPU works on some thousand thread blocks at once, and one that is alone gets some four times as much of the memory's rate. So it ends last if
  // it has more than a 256th of all entries. In a small matrix each block has: there it must have many times as many as the others.
  constexpr std::uint64_t most_of_mean = 4, least_share = 256;
  const auto before = [&](std::uint64_t row) { return static_cast<std::uint64_t>(row_pointers[row]); };
  const std::uint64_t entries = before(end) - before(begin), of_block = rows_of_thread_block(end - begin, entries);
  std::uint64_t most = 0;
  for (std::uint64_t row = begin; row < end; row += of_block) most = std::max(most, before(std::min(end, row + of_block)) - before(row));
  const std::uint64_t blocks = (end - begin + of_block - 1) / of_block;
  return most * blocks > most_of_mean * entries && most * least_share > entries ? RowLengths::different : RowLengths::alike;
}

void spmv(const runtime::Stream& stream, Scalar type, std::uint64_t rows, const void* alpha, const std::int32_t* row_pointers,
          const std::int32_t* columns, const void* values, std::uint64_t entries, RowLengths lengths, const void* x, const void* beta, void* y) {
  if (rows == 0) return;
  unsigned long long all_rows = rows;
  if (lengths == RowLengths::different) {
    void* arguments[] = {&all_rows, const_cast<void*>(alpha), &row_pointers, &columns, &values, &x, const_cast<void*>(beta), &y};
    return kernels().launch(stream, Routine::spmv_uneven, type, thread_blocks_of_uneven(rows, entries), arguments);
  }
  const std::uint64_t of_block = rows_of_thread_block(rows, entries);
  int rows_of_this = static_cast<int>(of_block);
  void* arguments[] = {&all_rows, &rows_of_this, const_cast<void*>(alpha), &row_pointers, &columns, &values, &x, const_cast<void*>(beta), &y};
  kernels().launch(stream, Routine::spmv, type, (rows + of_block - 1) / of_block, arguments);
}

void spmm(const runtime::Stream& stream, Scalar type, std::uint64_t rows, std::int32_t vectors, const void* alpha, const std::int32_t* row_pointers,
          const std::int32_t* columns, const void* values, std::uint64_t entries, RowLengths lengths, const void* x, std::uint64_t leading_x,
          const void* beta, void* y, std::uint64_t leading_y) {
  if (rows == 0 || vectors == 0) return;
  unsigned long long all_rows = rows, from_x = leading_x, from_y = leading_y;
  int count = vectors;
  if (lengths == RowLengths::different) {
    void* arguments[] = {&all_rows, const_cast<void*>(alpha), &row_pointers, &columns, &values, &x, const_cast<void*>(beta), &y,
                         &count, &from_x, &from_y};
    return kernels().launch(stream, Routine::spmm_uneven, type, thread_blocks_of_uneven(rows, entries), arguments);
  }
  const std::uint64_t of_block = rows_of_thread_block(rows, entries);
  int rows_of_this = static_cast<int>(of_block);
  void* arguments[] = {&all_rows, &rows_of_this, const_cast<void*>(alpha), &row_pointers, &columns, &values, &x, const_cast<void*>(beta), &y,
                       &count, &from_x, &from_y};
  kernels().launch(stream, Routine::spmm, type, (rows + of_block - 1) / of_block, arguments);
}

}  // namespace semcache::linalg::gpu
