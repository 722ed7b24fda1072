// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/mpi.hpp>
#include <semcache/runtime/runtime.hpp>
#include <semcache/semcache.hpp>

#include <mpi.h>

#include <cstdio>
#include <numeric>
#include <vector>

/// A message to the own process, from an array on the device into one of the host's, through the installed layer.
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  constexpr int count = 100000;
  constexpr std::size_t bytes = count * sizeof(int);
  std::vector<int> content(count);
  std::iota(content.begin(), content.end(), 1);

  void* device = semcache::runtime::allocate_device("device", bytes);
  auto* host = static_cast<int*>(semcache::runtime::allocate_host("host", bytes));
  semcache::runtime::copy(device, content.data(), bytes, {});

  MPI_Request requests[2];
  MPI_Irecv(host, count, MPI_INT, 0, 0, MPI_COMM_SELF, &requests[0]);
  const std::size_t pending = semcache::mpi::pending_requests();  // 0: the program's calls pass by the layer
  MPI_Isend(device, count, MPI_INT, 0, 0, MPI_COMM_SELF, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  const std::size_t left = semcache::mpi::pending_requests();
  const bool same = std::vector<int>(host, host + count) == content;

  semcache::runtime::deallocate(device);
  semcache::runtime::deallocate(host);
  semcache::finalize();
  MPI_Finalize();
  if (same && pending == 1 && left == 0) return 0;
  std::fprintf(stderr, "same content: %d, pending: %zu, left: %zu\n", same, pending, left);
  return 1;
}
