// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "cuda_libraries.hpp"
#include "gemm_chain.hpp"

#include <cstdlib>
#include <new>
#include <stdexcept>
#include <string_view>

namespace gemm_chain {
namespace {

/// What the headers of CUDA's runtime and of cuBLASXt declare.
struct Functions {
  int (*register_host)(void*, std::size_t, unsigned) = nullptr;
  int (*create)(void**) = nullptr;
  int (*select_devices)(void*, int, int*) = nullptr;
  int (*set_block)(void*, int) = nullptr;
  int (*set_pinning)(void*, int) = nullptr;
  int (*gemm)(void*, int, int, std::size_t, std::size_t, std::size_t, const double*, const double*, std::size_t, const double*, std::size_t,
              const double*, double*, std::size_t) = nullptr;

  Functions() {
    cuda::find(cuda::load_runtime(), register_host, "cudaHostRegister");
    void* const blas = cuda::load_blas();
    cuda::find(blas, create, "cublasXtCreate");
    cuda::find(blas, select_devices, "cublasXtDeviceSelect");
    cuda::find(blas, set_block, "cublasXtSetBlockDim");
    cuda::find(blas, set_pinning, "cublasXtSetPinningMemMode");
    cuda::find(blas, gemm, "cublasXtDgemm");
  }
};

/// Each product is one call of cuBLASXt on memory from malloc. It brings blocks of all operands to the GPU, and those of the result back.
class CublasXt : public Variant {
 public:
  CublasXt(std::int64_t block, Pinning pinning) : block_(block), pinning_(pinning) {
    int first = 0;
    cuda::expect(functions_.create(&handle_), "cublasXtCreate");
    cuda::expect(functions_.select_devices(handle_, 1, &first), "cublasXtDeviceSelect");
    cuda::expect(functions_.set_block(handle_, static_cast<int>(block_)), "cublasXtSetBlockDim");
    pin(pinning_ == Pinning::per_call);
  }
  double* allocate(std::size_t bytes) override {
    void* const memory = std::malloc(bytes);
    if (memory == nullptr) throw std::bad_alloc();
    if (pinning_ == Pinning::once) cuda::expect(functions_.register_host(memory, bytes, 0), "cudaHostRegister");
    return static_cast<double*>(memory);
  }
  /// Small operands may share a page, which can be page-locked once.
  void start(const double* left, const double* right, double* to) override {
    pin(false);
    multiply(start_n, left, right, to);
    pin(pinning_ == Pinning::per_call);
  }
  void chain(std::int64_t n, double* const (&host)[matrices]) override {
    multiply(n, host[a], host[b], host[c]);
    multiply(n, host[b], host[c], host[d]);
    multiply(n, host[c], host[d], host[e]);
  }
  bool counts_moves() const override { return false; }
  std::string device() const override { return "cuda"; }

 private:
  void pin(bool each_call) { cuda::expect(functions_.set_pinning(handle_, each_call ? 1 : 0), "cublasXtSetPinningMemMode"); }
  void multiply(std::int64_t n, const double* left, const double* right, double* to) {
    const auto size = static_cast<std::size_t>(n);
    const double one = 1, zero = 0;
    cuda::expect(functions_.gemm(handle_, 0, 0, size, size, size, &one, left, size, right, size, &zero, to, size), "cublasXtDgemm");
  }

  std::int64_t block_;
  Pinning pinning_;
  Functions functions_;
  void* handle_ = nullptr;
};

}  // namespace

std::unique_ptr<Variant> make_cublasxt(std::int64_t block, Pinning pinning) {
  const char* const kind = std::getenv("SEMCACHE_DEVICE");
  if (kind != nullptr && std::string_view(kind) == "emulated") {
    throw std::runtime_error("the variant cublasxt needs a GPU: cuBLASXt cannot compute on an emulated device. Unset SEMCACHE_DEVICE");
  }
  try {
    return std::make_unique<CublasXt>(block, pinning);
  } catch (const std::runtime_error& e) {
    throw std::runtime_error(std::string("the variant cublasxt needs a GPU, and cuBLASXt: ") + e.what());
  }
}

}  // namespace gemm_chain
