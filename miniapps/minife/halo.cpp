// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors

#include <minife/halo.hpp>
#include <minife/mpi_support.hpp>

namespace minife {
namespace {

constexpr int halo_tag = 1;

void start(std::vector<MPI_Request>& requests, std::size_t first, std::size_t count) {
  if (count > 0) check_mpi(MPI_Startall(static_cast<int>(count), requests.data() + first), "MPI_Startall");
}

}  // namespace

Halo::~Halo() {
  for (MPI_Request& r : requests_) {
    if (r != MPI_REQUEST_NULL) MPI_Request_free(&r);
  }
}

void Halo::bind(const double* sent, double* external) {
  for (const Neighbour& n : grid_->neighbours()) {
    check_mpi(MPI_Recv_init(external + n.receive_begin, static_cast<int>(n.receive.count()), MPI_DOUBLE, n.rank, halo_tag,
                            comm_, &requests_.emplace_back(MPI_REQUEST_NULL)),
              "MPI_Recv_init");
  }
  for (const Neighbour& n : grid_->neighbours()) {
    check_mpi(MPI_Send_init(sent + n.send_begin, static_cast<int>(n.send.count()), MPI_DOUBLE, n.rank, halo_tag, comm_,
                            &requests_.emplace_back(MPI_REQUEST_NULL)),
              "MPI_Send_init");
  }
}

void Halo::post_receives() { start(requests_, 0, requests_.size() / 2); }

void Halo::post_sends() { start(requests_, requests_.size() / 2, requests_.size() / 2); }

void Halo::wait() {
  check_mpi(MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE), "MPI_Waitall");
}

}  // namespace minife
