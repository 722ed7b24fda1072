// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include "library.hpp"

#include <semcache/linalg/spread.hpp>
#include <semcache/tasks/tasks.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

/// What the calls of the package share.
namespace semcache::linalg {

using policy::Task;
using tasks::Matrix;
using tasks::Operand;

// What GPUs of the day do; only the order of magnitude matters (`policy::devices_that_pay`).
inline constexpr double flops_per_second = 5e13;
inline constexpr double bytes_per_second = 3e12;

[[nodiscard]] inline std::uint64_t rows_of(const Rectangle& r) noexcept { return r.row_end - r.row_begin; }
[[nodiscard]] inline std::uint64_t columns_of(const Rectangle& r) noexcept { return r.column_end - r.column_begin; }

template <class T>
[[nodiscard]] Matrix vector_of(const T* data, std::int64_t count) noexcept {
  const auto n = static_cast<std::uint64_t>(count);
  return {data, n, 1, n, sizeof(T)};
}

/// @throws UsageError  the size is negative, or does not fit BLAS' integers
void expect_size(const char* routine, const char* name, std::int64_t size);
/// Describes an operand. @throws UsageError  its leading dimension does not fit it
[[nodiscard]] Matrix matrix(const char* routine, const char* name, const void* data, std::int64_t rows, std::int64_t columns,
                            std::int64_t leading, std::size_t element_bytes);

/// Expects that an operand and the result of a call share no byte: tasks of several devices would read what others write.
/// @throws UsageError  they do
void expect_apart(const char* routine, const char* operand_name, const Matrix& operand, const char* result_name, const Matrix& result);

/// What calls take on one device, all operands there.
template <class T>
[[nodiscard]] double seconds_of_product(double multiplications) noexcept {
  return (std::is_floating_point_v<T> ? 2.0 : 8.0) * multiplications / flops_per_second;
}
template <class T>
[[nodiscard]] double seconds_of_sparse_product(std::uint64_t rows, std::uint64_t entries) noexcept {
  return ((sizeof(T) + 4.0) * static_cast<double>(entries) + 3.0 * sizeof(T) * static_cast<double>(rows)) / bytes_per_second;
}

/// Returns how many devices a call may use. Starts the runtime.
[[nodiscard]] std::size_t devices_at_most(const Options& options);
/// Returns how many devices a call uses that takes so long on one. Starts the runtime.
[[nodiscard]] std::size_t devices_for(const Options& options, double seconds_on_one);

/// The same for a product with matrices, which may lie on devices already.
struct ProductOperand {
  const Matrix* matrix;
  bool whole;  ///< each device needs all of it
  Access mode;
};
[[nodiscard]] std::size_t devices_for(const Options& options, double seconds_on_one, const std::vector<ProductOperand>& operands);

/// Returns how many bytes a task's operands may have on the device: some tasks' fit its budget together, so that the next one's operands arrive while
/// one computes.
[[nodiscard]] std::uint64_t task_bytes(std::uint32_t device);
/// Returns the memory of a device.
[[nodiscard]] policy::Memory memory_of(std::uint32_t device);
/// Returns that of each device.
[[nodiscard]] std::vector<policy::Memory> memory_of_devices();

/// Returns how many tasks a share of so many columns, or rows, is cut into at least.
[[nodiscard]] std::size_t pieces_of_share(const Options& options, std::uint64_t columns);

/// Notes how the rows of a sparse matrix are cut, so that vectors of as many elements are cut in the same way from now on, as long as the runtime
/// and the options are the same.
/// @param around  see `VectorCut`
/// @param bytes  of the matrix
void note_cut(const std::vector<policy::Run>& rows, const std::vector<policy::Run>& around, double bytes);
/// Returns how many devices a product with a sparse matrix of so many rows uses: one where spread calls have lost more than they saved
/// (`policy::SpreadOrHome`), and then its vectors are cut so, too. To be called once for each product.
[[nodiscard]] std::size_t devices_for_sparse(const Options& options, std::uint64_t rows, double seconds_on_one);
/// Counts a call that is spread as a sparse matrix of so many rows is. To be called before it is carried out. On one device nothing is counted.
void note_spread(std::uint64_t rows, std::size_t devices, const std::vector<ProductOperand>& operands, double seconds_on_one);

/// How a vector is cut.
struct VectorCut {
  std::vector<policy::Held> runs;
  const char* why;  ///< for the report
  /// For each device what lies around its run: where the memory for a run has room for that, too, a product with the matrix needs no other memory
  /// for the vector. Empty: nothing is known, or it is much more than the run.
  std::vector<policy::Run> around = {};
  bool follows_matrix = false;  ///< cut as the rows of a sparse matrix
};
/// Cuts a vector for the devices: as the rows were cut of the sparse matrix of as many rows that was used last; else where devices hold it already,
/// if several do in fair shares; else evenly, between blocks (`policy::block_elements`), for as many devices as pay. Where the spread is automatic,
/// the cut is one run where moving the operands costs more than other devices save, or has done so. To be called once for each call, before it is
/// carried out.
/// Where the program has a cut of its own (`own_cut`), that is taken.
/// @param has_content  the content is used, so where it is matters
/// @param seconds_on_one  what the call takes on one device
/// @param operands  all of the call
/// @param grain  a cut of the program's own begins runs at its multiples
[[nodiscard]] VectorCut cut_vector(const char* routine, const Matrix& vector, bool has_content, double seconds_on_one,
                                   const std::vector<ProductOperand>& operands, std::uint64_t grain = 1);
/// Cuts a vector evenly, between blocks, for as many devices as pay.
[[nodiscard]] VectorCut cut_evenly(const Matrix& vector, double seconds_on_one);

/// Counts a call for the report: how it was cut, and why. `note_call` does so if a report is written, and makes no text otherwise.
/// @param shape  "400 x 400 x 400"; for `note_call` a function that returns it
void note_reported_call(const char* routine, Scalar type, const std::string& shape, const std::vector<Task>& cut, const char* why);
template <class Shape>
void note_call(const char* routine, Scalar type, const Shape& shape, const std::vector<Task>& cut, const char* why) {
  if (runtime::reports_library_calls()) note_reported_call(routine, type, shape(), cut, why);
}
/// Why a call uses as many devices as `devices_for` says.
[[nodiscard]] const char* why_so_many(const Options& options) noexcept;

}  // namespace semcache::linalg
