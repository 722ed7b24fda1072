// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <Kokkos_Core.hpp>

#include <gtest/gtest.h>

#ifdef KOKKOS_ENABLE_CUDA
#include <dlfcn.h>
#endif

#include <string>

/// A vendor's library that knows nothing of us and is given `view.data()`. On a GPU it is cuBLAS, found at run time, so
/// that nothing links to it and tests skip themselves where there is none. Elsewhere plain functions stand for it.
namespace test {

#ifdef KOKKOS_ENABLE_CUDA
/// Works on a stream of its own: calls return before their work is done.
class VendorLibrary {
 public:
  VendorLibrary() {
    for (const char* name : {"libcublas.so.13", "libcublas.so.12", "libcublas.so"}) {
      if (library_ == nullptr) library_ = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
    }
    if (library_ == nullptr) {
      missing_ = std::string("no cuBLAS: ") + ::dlerror();
      return;
    }
    find(create_, "cublasCreate_v2");
    find(destroy_, "cublasDestroy_v2");
    find(set_stream_, "cublasSetStream_v2");
    find(axpy_, "cublasDaxpy_v2");
    find(gemm_, "cublasDgemm_v2");
    find(gemm_ex_, "cublasGemmEx");
    find(set_vector_, "cublasSetVector");
    find(get_vector_, "cublasGetVector");
    if (!missing_.empty()) return;
    succeeds(create_(&handle_), "cublasCreate");
    EXPECT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess);
    succeeds(set_stream_(handle_, stream_), "cublasSetStream");
  }
  ~VendorLibrary() {
    if (handle_ == nullptr) return;
    cudaStreamSynchronize(stream_);
    destroy_(handle_);
    cudaStreamDestroy(stream_);
  }
  VendorLibrary(const VendorLibrary&) = delete;
  VendorLibrary& operator=(const VendorLibrary&) = delete;

  /// Why it cannot be used; empty if it can.
  [[nodiscard]] const std::string& missing() const { return missing_; }

  /// y += alpha x
  void axpy(int count, double alpha, const double* x, double* y) const {
    succeeds(axpy_(handle_, count, &alpha, x, 1, y, 1), "cublasDaxpy");
  }
  /// c = a b, square, column-major
  void multiply(int size, const double* a, const double* b, double* c) const {
    const double one = 1, zero = 0;
    succeeds(gemm_(handle_, 0, 0, size, size, size, &one, a, size, b, size, &zero, c, size), "cublasDgemm");
  }
  /// The same in half precision, where tensor cores do it.
  void multiply_half(int size, const void* a, const void* b, void* c) const {
    const float one = 1, zero = 0;
    constexpr int half = 2, sums_in_float = 68, any_algorithm = -1;  // CUDA_R_16F, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT
    succeeds(gemm_ex_(handle_, 0, 0, size, size, size, &one, a, half, size, b, half, size, &zero, c, half, size,
                      sums_in_float, any_algorithm), "cublasGemmEx");
  }
  [[nodiscard]] cudaError_t wait() const { return cudaStreamSynchronize(stream_); }

  void set_vector(int count, const double* host, double* device) const {
    succeeds(set_vector_(count, sizeof(double), host, 1, device, 1), "cublasSetVector");
  }
  void get_vector(int count, const double* device, double* host) const {
    succeeds(get_vector_(count, sizeof(double), device, 1, host, 1), "cublasGetVector");
  }

 private:
  template <class Function>
  void find(Function& function, const char* name) {
    function = reinterpret_cast<Function>(::dlsym(library_, name));
    if (function == nullptr) missing_ = std::string("this cuBLAS has no ") + name;
  }
  static void succeeds(int status, const char* call) { EXPECT_EQ(status, 0) << call; }

  void* library_ = nullptr;  // never closed: cuBLAS has threads and exit handlers of its own
  void* handle_ = nullptr;
  cudaStream_t stream_ = nullptr;
  std::string missing_;
  int (*create_)(void**) = nullptr;
  int (*destroy_)(void*) = nullptr;
  int (*set_stream_)(void*, cudaStream_t) = nullptr;
  int (*axpy_)(void*, int, const double*, const double*, int, double*, int) = nullptr;
  int (*gemm_)(void*, int, int, int, int, int, const double*, const double*, int, const double*, int, const double*,
               double*, int) = nullptr;
  int (*gemm_ex_)(void*, int, int, int, int, int, const void*, const void*, int, int, const void*, int, int, const void*,
                  void*, int, int, int, int) = nullptr;
  int (*set_vector_)(int, int, const void*, int, void*, int) = nullptr;
  int (*get_vector_)(int, int, const void*, int, void*, int) = nullptr;
};
#else
class VendorLibrary {
 public:
  [[nodiscard]] std::string missing() const { return {}; }
  void axpy(int count, double alpha, const double* x, double* y) const {
    for (int i = 0; i < count; ++i) y[i] += alpha * x[i];
  }
  void multiply(int size, const double* a, const double* b, double* c) const {
    for (int j = 0; j < size; ++j) {
      for (int i = 0; i < size; ++i) {
        double sum = 0;
        for (int k = 0; k < size; ++k) sum += a[i + k * size] * b[k + j * size];
        c[i + j * size] = sum;
      }
    }
  }
  [[nodiscard]] int wait() const { return 0; }
};
#endif

}  // namespace test
