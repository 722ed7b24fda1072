// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <minife/local_grid.hpp>

#include <mpi.h>

#include <vector>

namespace minife {

/// The messages of one halo exchange, as persistent requests. Call `bind` once; then, for each product, call post_receives
/// and post_sends in either order, then wait. Collective among neighbours. All functions throw MpiError.
class Halo {
 public:
  /// @param grid  must outlive the object
  Halo(const LocalGrid& grid, MPI_Comm comm) : grid_(&grid), comm_(comm) {}
  /// @pre MPI is not finalised
  ~Halo();
  Halo(const Halo&) = delete;
  Halo& operator=(const Halo&) = delete;

  /// Returns whether there are neighbours. Without neighbours the other calls do nothing.
  [[nodiscard]] bool needed() const noexcept { return !grid_->neighbours().empty(); }
  /// Sets the buffers of all exchanges. They must outlive the object.
  /// @param sent      grid.sent_entries() values, not to be written between post_sends and wait
  /// @param external  grid.externals() values, not to be touched between post_receives and wait
  void bind(const double* sent, double* external);
  void post_receives();
  void post_sends();
  /// Waits until the sent values may be overwritten and the received values may be read.
  void wait();

 private:
  const LocalGrid* grid_;
  MPI_Comm comm_;
  std::vector<MPI_Request> requests_;  ///< receives, then as many sends
};

}  // namespace minife
