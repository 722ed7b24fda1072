// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
//
// A program of two processes that calls BLAS and MPI, and knows nothing of SemCache. It prints what both see. With TEST_BLAS_LATE it is not linked to
// a BLAS, but loads the one that is named as its argument once MPI has begun.
#include "programs.hpp"

#include <dlfcn.h>
#include <mpi.h>

namespace {

using namespace programs;

int rank, peer;

using Gemm = decltype(dgemm_);
#ifdef TEST_BLAS_LATE
Gemm* find_gemm(const char* library) {
  if (::dlopen(library, RTLD_NOW | RTLD_GLOBAL) == nullptr) std::abort();
  return reinterpret_cast<Gemm*>(::dlsym(RTLD_DEFAULT, "dgemm_"));
}
#else
Gemm* find_gemm(const char*) { return &dgemm_; }
#endif
Gemm* computes;

void compute(const double* left, const double* right, double* to) {
  const double one = 1, zero = 0;
  computes("N", "N", &n, &n, &n, &one, left, &n, right, &n, &zero, to, &n, 1, 1);
}

/// The first process prints what both have.
void show_both(const char* what, const double* m) {
  std::uint64_t both[2] = {}, mine = digest(m, bytes);
  MPI_Gather(&mine, 1, MPI_UINT64_T, both, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
  for (int r = 0; r < 2 && rank == 0; ++r) std::printf("%s of %d: %016llx\n", what, r, static_cast<unsigned long long>(both[r]));
}

}  // namespace

int main(int argument_count, char** arguments) {
  MPI_Init(&argument_count, &arguments);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  peer = 1 - rank;
  int early = rank;
  MPI_Bcast(&early, 1, MPI_INT, 0, MPI_COMM_WORLD);  // before there is a BLAS: nothing is tracked yet
  computes = find_gemm(argument_count > 1 ? arguments[1] : nullptr);

  double *const a = matrix(1 + rank), *const b = matrix(3), *const c = matrix(4), *const d = matrix(5), *const e = matrix(6);
  compute(a, b, c);
  compute(b, a, d);
  // A hundred numbers of each other's C replace some of D. All of C and D is on the device.
  MPI_Sendrecv(c + 1001, 100, MPI_DOUBLE, peer, 0, d + 2003, 100, MPI_DOUBLE, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  // All of each other's D replaces E, while the device computes.
  MPI_Request requests[2];
  MPI_Irecv(e, static_cast<int>(count), MPI_DOUBLE, peer, 1, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(d, static_cast<int>(count), MPI_DOUBLE, peer, 1, MPI_COMM_WORLD, &requests[1]);
  compute(a, a, c);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  compute(d, e, a);
  // The sum of ten numbers of A becomes a part of B.
  MPI_Allreduce(a + 50, b + 70, 10, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  compute(a, b, c);
  show_both("C", c);
  MPI_Finalize();
}
