// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include "mpi_api.hpp"

namespace semcache::mpi {

/// Whose error handler hears of a failure of ours.
class ErrorTarget {
 public:
  ErrorTarget(MPI_Comm comm) : kind_(Kind::communicator), comm_(comm) {}  // NOLINT: every call converts
  ErrorTarget(MPI_Win window) : kind_(Kind::window), window_(window) {}   // NOLINT
  ErrorTarget(MPI_File file) : kind_(Kind::file), file_(file) {}          // NOLINT
  [[nodiscard]] bool is(MPI_Comm comm) const noexcept { return kind_ == Kind::communicator && comm_ == comm; }
  /// Ends the program, throws or returns, as the handler does. @return `code`
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

/// What SemCache cannot do, each with an MPI error code and text of its own.
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

/// Writes `what` (nullptr: the refusal's own text) to stderr and raises the error. @return its code
int refuse(const ErrorTarget& target, Refusal refusal, const char* call, const char* what);

}  // namespace semcache::mpi
