// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include "mpi_api.hpp"

namespace semcache::mpi {

/// The communicator, window or file at whose error handler the layer raises an error.
class ErrorTarget {
 public:
  ErrorTarget(MPI_Comm comm) : kind_(Kind::communicator), comm_(comm) {}  // NOLINT: every call converts
  ErrorTarget(MPI_Win window) : kind_(Kind::window), window_(window) {}   // NOLINT
  ErrorTarget(MPI_File file) : kind_(Kind::file), file_(file) {}          // NOLINT
  [[nodiscard]] bool is(MPI_Comm comm) const noexcept { return kind_ == Kind::communicator && comm_ == comm; }
  /// Calls the error handler with `code`. Depending on the handler, this ends the program, throws, or returns `code`.
  int raise(int code) const;

 private:
  enum class Kind { communicator, window, file };
  Kind kind_;
  union {
    MPI_Comm comm_;
    MPI_Win window_;
    MPI_File file_;
  };
};

/// The reasons why the layer refuses a call. Each one has an MPI error code and a text of its own.
enum class Refusal {
  failed,
  one_sided,
  window_memory,
  attached_buffer,
  split_file_access,
  fortran,
  mpi_4,
  free_pending_receive,
  start_active
};

/// Writes `what`, or the refusal's own text where `what` is nullptr, to stderr and raises the error at `target`.
/// @return the refusal's error code
int refuse(const ErrorTarget& target, Refusal refusal, const char* call, const char* what);

}  // namespace semcache::mpi
