// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/runtime/runtime.hpp>

#include "library.hpp"

#include <string>
#include <vector>

/// Kernels of our own for CUDA GPUs (gpu_kernels.cuh). NVRTC compiles them for the GPU at hand at first use, which takes a second or two; NVRTC and
/// the driver are loaded by dlopen, so that the package builds without CUDA. The routines do as their namesakes in Library.
namespace semcache::linalg::gpu {

/// @throws ConfigurationError  NVRTC or the driver cannot be loaded; the text names the files that were looked for, and the remedy
/// @throws DeviceError  the kernels cannot be compiled or launched; the text names the routine and the device, and has NVRTC's log
void axpby(const runtime::Stream& stream, Scalar type, std::uint64_t n, const void* alpha, const void* x, const void* beta, void* y);
void axpby_of_quotients(const runtime::Stream& stream, Scalar type, std::uint64_t n, const void* alpha, const Quotient& of_alpha, const void* x,
                        const void* beta, const Quotient& of_beta, void* y);
void sum(const runtime::Stream& stream, Scalar type, std::uint64_t count, const void* numbers, void* result);
void block_dots(const runtime::Stream& stream, Scalar type, std::uint64_t n, std::uint64_t block, const void* x, const void* y, void* sums);
void spmv(const runtime::Stream& stream, Scalar type, std::uint64_t rows, const void* alpha, const std::int32_t* row_pointers,
          const std::int32_t* columns, const void* values, std::uint64_t entries, RowLengths lengths, const void* x, const void* beta, void* y);
void spmm(const runtime::Stream& stream, Scalar type, std::uint64_t rows, std::int32_t vectors, const void* alpha, const std::int32_t* row_pointers,
          const std::int32_t* columns, const void* values, std::uint64_t entries, RowLengths lengths, const void* x, std::uint64_t leading_x,
          const void* beta, void* y, std::uint64_t leading_y);
/// Are rows [begin, end) of a sparse matrix about equally long? If not, thread blocks get about equally many entries instead of equally many rows.
/// Pure. @pre row pointers do not descend
[[nodiscard]] RowLengths lengths_of(const std::int32_t* row_pointers, std::uint64_t begin, std::uint64_t end) noexcept;

/// Compiles the kernels, which needs no GPU. @param architecture  as NVRTC names it: "sm_90"  @return  the GPU's code (a cubin)
/// @throws ConfigurationError  NVRTC cannot be loaded  @throws DeviceError  they cannot be compiled
[[nodiscard]] std::vector<char> compile(const std::string& architecture);

}  // namespace semcache::linalg::gpu
