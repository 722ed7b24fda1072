// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include "cuda_support.hpp"
#include "gpu_kernels.hpp"

#include <cusparse.h>

#include <stdexcept>
#include <string>

namespace linalg_miniapps {

inline void expect(cusparseStatus_t status, const char* call) {
  if (status == CUSPARSE_STATUS_SUCCESS) return;
  throw std::runtime_error(std::string(call) + ": " + cusparseGetErrorName(status) + " (" + cusparseGetErrorString(status) + ")");
}

/// A matrix of the first device as cuSPARSE knows it, with a vector x and a vector y.
class CusparseMatrix {
 public:
  CusparseMatrix(const DeviceRows& a, const double* x, double* y, cudaStream_t stream) {
    LINALG_EXPECT(cudaSetDevice(0));
    LINALG_EXPECT(cusparseCreate(&handle_));
    LINALG_EXPECT(cusparseSetStream(handle_, stream));
    LINALG_EXPECT(cusparseCreateConstCsr(&matrix_, a.rows, a.rows, a.entries, a.row_pointers, a.columns, a.values, CUSPARSE_INDEX_32I,
                                         CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_64F));
    LINALG_EXPECT(cusparseCreateConstDnVec(&x_, a.rows, x, CUDA_R_64F));
    LINALG_EXPECT(cusparseCreateDnVec(&y_, a.rows, y, CUDA_R_64F));
    std::size_t bytes = 0;
    LINALG_EXPECT(cusparseSpMV_bufferSize(handle_, as_it_is, &one_, matrix_, x_, &zero_, y_, CUDA_R_64F, algorithm, &bytes));
    buffer_ = DeviceArray<char>(0, static_cast<std::int64_t>(bytes));
  }
  ~CusparseMatrix() {
    if (y_ != nullptr) (void)cusparseDestroyDnVec(y_);
    if (x_ != nullptr) (void)cusparseDestroyDnVec(x_);
    if (matrix_ != nullptr) (void)cusparseDestroySpMat(matrix_);
    if (handle_ != nullptr) (void)cusparseDestroy(handle_);
  }
  CusparseMatrix(const CusparseMatrix&) = delete;
  CusparseMatrix& operator=(const CusparseMatrix&) = delete;

  /// Lets cuSPARSE study the matrix, so that later products may take less time.
  void study() {
    LINALG_EXPECT(cusparseSpMV_preprocess(handle_, as_it_is, &one_, matrix_, x_, &zero_, y_, CUDA_R_64F, algorithm, buffer_.data()));
  }
  /// y = A x, by the default algorithm
  void multiply() const {
    LINALG_EXPECT(cusparseSpMV(handle_, as_it_is, &one_, matrix_, x_, &zero_, y_, CUDA_R_64F, algorithm, buffer_.data()));
  }

 private:
  static constexpr cusparseOperation_t as_it_is = CUSPARSE_OPERATION_NON_TRANSPOSE;
  static constexpr cusparseSpMVAlg_t algorithm = CUSPARSE_SPMV_ALG_DEFAULT;
  static constexpr double one_ = 1.0, zero_ = 0.0;
  cusparseHandle_t handle_ = nullptr;
  cusparseConstSpMatDescr_t matrix_ = nullptr;
  cusparseConstDnVecDescr_t x_ = nullptr;
  cusparseDnVecDescr_t y_ = nullptr;
  DeviceArray<char> buffer_;
};

}  // namespace linalg_miniapps
