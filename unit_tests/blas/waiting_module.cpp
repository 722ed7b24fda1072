// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
//
// A library whose constructor waits for a thread that computes, and calls the C library. attacks.cpp loads it.
#include "programs.hpp"

#include <pthread.h>
#include <signal.h>
#include <sys/uio.h>
#include <unistd.h>

#include <thread>

extern "C" {
void daxpy_(const int*, const double*, const double*, const int*, double*, const int*);
void cblas_daxpy(int, double, const double*, int, double*, int);
}

namespace {

using namespace programs;

void compute() {
  double *const a = small_matrix(1), *const b = small_matrix(2), *const c = small_matrix(3);
  const int one = 1;
  const double alpha = 0.5;
  small_product(a, b, c);
  daxpy_(&small_n, &alpha, a, &one, c, &one);
  cblas_daxpy(100, 0.25, b, 1, c, 1);
  show("computed while it is loaded", c, small_bytes);
  int ends[2];
  if (::pipe(ends) != 0) std::abort();
  iovec part{c, 4000};
  std::printf("%zd", ::writev(ends[1], &part, 1));
  std::printf(" %zd\n", ::readv(ends[0], &part, 1));
  double* const more = mapped(small_bytes);
  fill(more, 4, small_count);
  small_product(a, more, c);
  std::printf("%d", ::mprotect(more, small_bytes, PROT_READ));
  std::printf(" %d", ::mlock(more, 4096) | ::munlock(more, 4096));
  std::printf(" %d", ::madvise(more, small_bytes, MADV_DONTNEED));
  std::printf(" %d\n", ::munmap(more, small_bytes));
  struct sigaction now {};
  std::printf("%d", ::sigaction(SIGUSR2, nullptr, &now));
  sigset_t none;
  sigemptyset(&none);
  std::printf(" %d\n", ::pthread_sigmask(SIG_BLOCK, &none, nullptr));
  show("product", c, small_bytes);
  std::free(a);
}

[[gnu::constructor]] void wait() { std::thread(&compute).join(); }

}  // namespace
