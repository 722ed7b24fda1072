// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
//
// A module that programs open with RTLD_DEEPBIND. It has a BLAS of its own (marked_blas.cpp), and ends, moves, writes and fills what it is given.
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>

extern "C" void dgemm_(const char*, const char*, const int*, const int*, const int*, const double*, const double*, const int*, const double*,
                       const int*, const double*, double*, const int*, std::size_t, std::size_t);

namespace {

/// As plugins have it, which give the program their functions in a table.
void (*const volatile free_of_table)(void*) = &std::free;
volatile int crashes = 0;

}  // namespace

#pragma GCC visibility push(default)
extern "C" {
/// Which BLAS it calls.
double deep_mark() {
  const int one = 1;
  const double number = 1;
  double result = 0;
  dgemm_("N", "N", &one, &one, &one, &number, &number, &one, &number, &one, &number, &result, &one, 1, 1);
  return result;
}
void deep_free(void* block) { std::free(block); }
void deep_free_by_table(void* block) { free_of_table(block); }
void* deep_malloc(std::size_t bytes) { return std::malloc(bytes); }
void* deep_realloc(void* block, std::size_t bytes) { return std::realloc(block, bytes); }
int deep_unmap(void* at, std::size_t bytes) { return ::munmap(at, bytes); }
void* deep_map(std::size_t bytes) { return ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); }
long deep_write(int file, const void* from, std::size_t bytes) { return ::write(file, from, bytes); }
long deep_read(int file, void* to, std::size_t bytes) { return ::read(file, to, bytes); }
/// Installs a handler, and blocks all signals.
void deep_signals() {
  struct sigaction action {};
  action.sa_handler = [](int) {
    crashes = crashes + 1;
    ::_exit(3);
  };
  ::sigaction(SIGSEGV, &action, nullptr);
  sigset_t all;
  ::sigfillset(&all);
  ::sigprocmask(SIG_BLOCK, &all, nullptr);
}
}
#pragma GCC visibility pop
