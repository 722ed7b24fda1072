// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "cuda_variants.hpp"

#include "block_sums.hpp"
#include "calls.hpp"
#include "gpu_kernels.hpp"
#include "hand_tuned.hpp"

namespace linalg_miniapps {

namespace {

constexpr int most_devices = 16;

class HandTuned : public Variant {
 public:
  explicit HandTuned(int devices) : devices_(expect_devices("--variant hand-tuned", devices, most_devices)) {}
  void* allocate_host(const char*, std::size_t bytes) override { return allocate_page_locked(bytes); }
  void deallocate_host(void* data) noexcept override { free_page_locked(data); }

  std::unique_ptr<GemmSum> gemm_sum(std::int64_t n, const double* a, const double* b, const double* c, double* d) override {
    return hand_tuned_gemm_sum(devices_, copies_, n, a, b, c, d);
  }
  void jacobi(std::int64_t n, const double* a, const double* b, double* x, Iterations& iterations) override {
    hand_tuned_jacobi(devices_, copies_, n, a, b, x, iterations);
  }
  double cg(const Csr& a, const double* b, double* x, Iterations& iterations) override {
    return hand_tuned_cg(devices_, copies_, a, b, x, iterations);
  }
  Facts facts() override { return facts_of(devices_, copies_.moved()); }

 private:
  int devices_;
  Copies copies_;
};

/// Managed memory moves when it is touched, and the program gives no hints. Nobody counts what moves.
class Unified : public Calls {
 public:
  explicit Unified(int devices) : device_(expect_devices("--variant unified", devices, 1) - 1), stream_(device_), blas_(device_, stream_) {}
  ~Unified() override { deallocate_host(sums_); }

  void* allocate_host(const char*, std::size_t bytes) override {
    void* data = nullptr;
    LINALG_EXPECT(cudaMallocManaged(&data, bytes, cudaMemAttachGlobal));
    return data;
  }
  void deallocate_host(void* data) noexcept override { (void)cudaFree(data); }

  void multiply(std::int64_t n, const double* a, const double* b, double* c) override {
    const double one = 1.0, zero = 0.0;
    const int size = static_cast<int>(n);
    LINALG_EXPECT(cublasDgemm(blas_, CUBLAS_OP_N, CUBLAS_OP_N, size, size, size, &one, a, size, b, size, &zero, c, size));
  }
  void multiply(std::int64_t n, double alpha, const double* a, const double* x, double beta, double* y) override {
    const int size = static_cast<int>(n);
    LINALG_EXPECT(cublasDgemv(blas_, CUBLAS_OP_N, size, size, &alpha, a, size, x, 1, &beta, y, 1));
  }
  void multiply(const Csr& a, const double* x, double* y) override {
    launch_spmv(stream_, {a.rows, a.entries, a.row_pointers, a.column_indices, a.values}, x, y);
  }
  void add(std::int64_t n, double alpha, const double* x, double beta, double* y) override {
    launch_axpby(stream_, n, alpha, x, beta, y);
  }
  double dot(std::int64_t n, const double* x, const double* y) override {
    const std::int64_t block = elements_of_sum(n), blocks = (n + block - 1) / block;
    if (blocks > room_) {
      wait();
      deallocate_host(std::exchange(sums_, nullptr));
      sums_ = static_cast<double*>(allocate_host("sums of blocks", static_cast<std::size_t>(blocks) * sizeof(double)));
      room_ = blocks;
    }
    launch_block_dots(stream_, n, block, x, y, sums_);
    wait();
    return sum_of({sums_, sums_ + blocks});
  }
  void wait() override { stream_.wait(); }
  Facts facts() override { return facts_of(1, std::nullopt); }

 private:
  int device_;
  Stream stream_;
  Blas blas_;
  double* sums_ = nullptr;
  std::int64_t room_ = 0;
};

}  // namespace

std::string why_no_cuda_variants() { return ""; }
std::unique_ptr<Variant> make_hand_tuned(int devices) { return std::make_unique<HandTuned>(devices); }
std::unique_ptr<Variant> make_unified(int devices) { return std::make_unique<Unified>(devices); }

}  // namespace linalg_miniapps
