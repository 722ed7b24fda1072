// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/policy/decomposition.hpp>
#include <semcache/tasks/lanes.hpp>

#include <cstdint>
#include <functional>
#include <vector>

/// Carries out library calls that have been cut into tasks (`policy::cut`), on all devices of the process. README.md explains it.
namespace semcache::tasks {

/// An operand of a call: a column-major matrix in an array, or a vector as a matrix of one column.
struct Matrix {
  const void* data = nullptr;      ///< its first element, in an array of any device or of the host
  std::uint64_t rows = 0;
  std::uint64_t columns = 0;
  std::uint64_t leading = 0;       ///< elements from one column to the next
  std::uint32_t element_bytes = 0;
};

/// A part of an operand, on the device of the task that uses it.
struct Operand {
  void* data;             ///< the first element of the part
  std::uint64_t leading;  ///< elements from one column of the part to the next
};

/// Submits a task's kernels to `stream`. `operands[i]` belongs to `task.parts[i]`. On emulated devices it computes before it returns.
using Body = std::function<void(const runtime::Stream& stream, const policy::Task& task, const Operand* operands)>;

/// Carries out the tasks of one call. The content that a task needs comes to its device: bytes that several devices need cross the
/// host's link once, and reach the others from there. Results stay where they are computed. On GPUs the call returns before the tasks are
/// done.
///
/// Ordering: a task comes behind all work that was submitted before the call and uses the same bytes, and before all later work that does.
/// Tasks of one call must not use bytes that another one of them writes, but for tasks of one device, which come in the order of the list then.
/// @param operands  by number (`policy::TaskPart::operand`). Every part that a task uses lies in its operand
/// @throws UsageError   an operand is in no array, or a part leaves it; nothing has changed
/// @throws OutOfMemory  the text names the device. Tasks before the one that failed may have been carried out; every array has
///                      either its former content or that which such tasks have given it, except for bytes that the failed task was to overwrite
/// Threads: any.
SEMCACHE_API void run(const std::vector<policy::Task>& tasks, const std::vector<Matrix>& operands, const Body& body);

/// Returns, for each run of columns (or of elements, where the matrix has one column), how many bytes of it each device holds now.
[[nodiscard]] SEMCACHE_API std::vector<std::vector<std::uint64_t>> held_bytes(const Matrix& matrix, const std::vector<Rectangle>& parts);
/// Returns which elements of a vector devices hold now, for `policy::cut_as_held`.
[[nodiscard]] SEMCACHE_API std::vector<policy::Held> held_elements(const Matrix& vector);

}  // namespace semcache::tasks
