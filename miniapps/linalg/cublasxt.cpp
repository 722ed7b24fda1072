// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "cuda_variants.hpp"
#include "cuda_support.hpp"

#include <cublasXt.h>

#include <numeric>
#include <stdexcept>

namespace linalg_miniapps {

namespace {

/// cuBLASXt keeps nothing between calls: each call cuts its matrices, which are in host memory, into square blocks, and moves those.
class CublasXt : public Variant {
 public:
  CublasXt(int devices, int block) : devices_(expect_devices("--variant cublasxt", devices, most_devices)) {
    LINALG_EXPECT(cublasXtCreate(&handle_));
    std::vector<int> ids(static_cast<std::size_t>(devices_));
    std::iota(ids.begin(), ids.end(), 0);
    LINALG_EXPECT(cublasXtDeviceSelect(handle_, devices_, ids.data()));
    if (block > 0) LINALG_EXPECT(cublasXtSetBlockDim(handle_, block));
  }
  ~CublasXt() override { (void)cublasXtDestroy(handle_); }
  void* allocate_host(const char*, std::size_t bytes) override { return allocate_page_locked(bytes); }
  void deallocate_host(void* data) noexcept override { free_page_locked(data); }

  std::unique_ptr<GemmSum> gemm_sum(std::int64_t n, const double* a, const double* b, const double* c, double* d) override {
    return std::make_unique<Products>(handle_, n, a, b, c, d);
  }
  void jacobi(std::int64_t, const double*, const double*, double*, Iterations&) override { refuse(); }
  double cg(const Csr&, const double*, double*, Iterations&) override { refuse(); }
  Facts facts() override { return facts_of(devices_, std::nullopt); }

 private:
  static constexpr int most_devices = 16;
  [[noreturn]] static void refuse() { throw std::logic_error("--variant cublasxt has products of matrices only"); }

  class Products : public GemmSum {
   public:
    Products(cublasXtHandle_t handle, std::int64_t n, const double* a, const double* b, const double* c, double* d)
        : handle_(handle), n_(static_cast<std::size_t>(n)), a_(a), b_(b), c_(c), d_(d) {}
    void start() override {
      multiply(b_, 0.0);
      if (c_ != nullptr) multiply(c_, 1.0);
    }
    std::size_t await(std::size_t) override { return n_ * n_; }  // calls of cuBLASXt return when they are done

   private:
    void multiply(const double* right, double beta) const {
      const double one = 1.0;
      LINALG_EXPECT(cublasXtDgemm(handle_, CUBLAS_OP_N, CUBLAS_OP_N, n_, n_, n_, &one, a_, n_, right, n_, &beta, d_, n_));
    }
    cublasXtHandle_t handle_;
    std::size_t n_;
    const double *a_, *b_, *c_;
    double* d_;
  };

  int devices_;
  cublasXtHandle_t handle_ = nullptr;
};

}  // namespace

std::unique_ptr<Variant> make_cublasxt(int devices, int block) { return std::make_unique<CublasXt>(devices, block); }

}  // namespace linalg_miniapps
