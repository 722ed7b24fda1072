// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <minife/local_grid.hpp>

#include <mpi.h>

#include <vector>

namespace minife {

/// The messages of one halo exchange, between host buffers. Call once each per product: post_receives and post_sends in
/// either order, then wait. Collective among neighbours. All throw MpiError.
class Halo {
 public:
  /// @param grid  must outlive the object
  Halo(const LocalGrid& grid, MPI_Comm comm);

  /// False if there is nobody to exchange with: the other calls then do nothing.
  [[nodiscard]] bool needed() const noexcept { return !grid_->neighbours().empty(); }
  /// @param external  grid.externals() values, not to be touched until wait() returns
  void post_receives(double* external);
  /// @param sent  grid.sent_entries() values, not to be written until wait() returns
  void post_sends(const double* sent);
  /// Returns when everything sent may be overwritten and everything received may be read.
  void wait();

 private:
  const LocalGrid* grid_;
  MPI_Comm comm_;
  std::vector<MPI_Request> requests_;
};

}  // namespace minife
