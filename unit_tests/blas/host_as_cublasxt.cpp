// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors

/// What gemm_chain calls of CUDA's runtime and of cuBLASXt: the host computes, and each call leaves a line in a file.
#include <cstddef>
#include <cstdio>
#include <cstdlib>

namespace {

int handle_of_all = 0;

template <class... Values>
int note(const char* text, Values... values) {
  std::FILE* const file = std::fopen(std::getenv("TEST_BLAS_XT_CALLS"), "a");
  if (file == nullptr) std::abort();
  std::fprintf(file, text, values...);
  std::fclose(file);
  return 0;
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

int cudaHostRegister(void*, std::size_t bytes, unsigned flags) { return note("register %zu %u\n", bytes, flags); }
int cublasXtCreate(void** handle) {
  *handle = &handle_of_all;
  return std::getenv("TEST_BLAS_XT_NO_GPU") != nullptr ? 1 : note("create\n");
}
int cublasXtDeviceSelect(void* handle, int count, int* devices) {
  return handle != &handle_of_all || count != 1 || devices[0] != 0 ? 7 : note("first device\n");
}
int cublasXtSetBlockDim(void* handle, int block) { return handle != &handle_of_all ? 7 : note("block %d\n", block); }
int cublasXtSetPinningMemMode(void* handle, int mode) { return handle != &handle_of_all ? 7 : note("pinning %d\n", mode); }
int cublasXtDgemm(void* handle, int trans_a, int trans_b, std::size_t m, std::size_t n, std::size_t k, const double* alpha, const double* a, std::size_t lda,
                  const double* b, std::size_t ldb, const double* beta, double* c, std::size_t ldc) {
  if (handle != &handle_of_all || trans_a != 0 || trans_b != 0 || *alpha != 1 || *beta != 0) return 7;
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t i = 0; i < m; ++i) c[j * ldc + i] = 0;
    for (std::size_t l = 0; l < k; ++l) {
      for (std::size_t i = 0; i < m; ++i) c[j * ldc + i] += a[l * lda + i] * b[j * ldb + l];
    }
  }
  return note("gemm %zu\n", n);
}

}  // extern "C"
#pragma GCC visibility pop
