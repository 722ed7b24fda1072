// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors

#include <minife/halo.hpp>
#include <minife/mpi_support.hpp>

namespace minife {
namespace {
constexpr int halo_tag = 1;
}

Halo::Halo(const LocalGrid& grid, MPI_Comm comm) : grid_(&grid), comm_(comm) {
  requests_.reserve(2 * grid.neighbours().size());
}

void Halo::post_receives(double* external) {
  for (const Neighbour& n : grid_->neighbours()) {
    MPI_Request request = MPI_REQUEST_NULL;
    check_mpi(MPI_Irecv(external + n.receive_begin, static_cast<int>(n.receive.count()), MPI_DOUBLE, n.rank, halo_tag,
                        comm_, &request),
              "MPI_Irecv");
    requests_.push_back(request);
  }
}

void Halo::post_sends(const double* sent) {
  for (const Neighbour& n : grid_->neighbours()) {
    MPI_Request request = MPI_REQUEST_NULL;
    check_mpi(MPI_Isend(sent + n.send_begin, static_cast<int>(n.send.count()), MPI_DOUBLE, n.rank, halo_tag, comm_,
                        &request),
              "MPI_Isend");
    requests_.push_back(request);
  }
}

void Halo::wait() {
  check_mpi(MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE), "MPI_Waitall");
  requests_.clear();
}

}  // namespace minife
