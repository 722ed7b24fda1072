// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <mpi.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace minife {

/// An MPI call has failed. The text names the call and MPI's own explanation.
class MpiError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// @param call  name for the message
/// @throws MpiError unless `code` is MPI_SUCCESS
/// @pre the call's communicator returns errors (MpiSession's does)
void check_mpi(int code, const char* call);

/// Initialises MPI on construction and finalises it on destruction. MPI returns errors instead of ending the program.
class MpiSession {
 public:
  /// @throws MpiError
  MpiSession(int& argc, char**& argv);
  ~MpiSession();
  MpiSession(const MpiSession&) = delete;
  MpiSession& operator=(const MpiSession&) = delete;

  [[nodiscard]] MPI_Comm communicator() const noexcept { return MPI_COMM_WORLD; }
  [[nodiscard]] int rank() const noexcept { return rank_; }
  [[nodiscard]] int ranks() const noexcept { return ranks_; }
  [[nodiscard]] int rank_on_node() const noexcept { return rank_on_node_; }
  [[nodiscard]] int ranks_on_node() const noexcept { return ranks_on_node_; }

 private:
  int rank_ = 0;
  int ranks_ = 1;
  int rank_on_node_ = 0;
  int ranks_on_node_ = 1;
};

/// Returns whether the MPI library takes addresses of device memory.
[[nodiscard]] bool mpi_takes_device_addresses() noexcept;

/// These compute sums, minima and maxima over ranks. The result is the same on every rank. Collective. @throws MpiError
[[nodiscard]] double sum(double value, MPI_Comm comm);
[[nodiscard]] double minimum(double value, MPI_Comm comm);
[[nodiscard]] double maximum(double value, MPI_Comm comm);
void sum_in_place(std::vector<std::uint64_t>& values, MPI_Comm comm);

}  // namespace minife
