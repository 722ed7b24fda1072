// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
//
// Programs that use their memory, threads and processes as they may, at the worst moments. check_programs.py runs them as those of programs.cpp.
#include "programs.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace programs {
namespace {

/// Calls `compute` again and again in another thread while this one carries out `work`.
template <class Compute, class Work>
void while_computing(const Compute& compute, const Work& work) {
  std::atomic<bool> stop{false};
  std::atomic<int> calls{0};
  std::thread other([&] {
    for (; !stop; ++calls) compute();
  });
  while (calls == 0) std::this_thread::yield();
  work();
  stop = true;
  other.join();
}

int temporary_file() {
  char name[] = "/tmp/test_blas_XXXXXX";
  const int file = ::mkstemp(name);
  ::unlink(name);
  return file;
}

/// A file gets memory that goes beyond the operands of a call that is under way.
void io_while_computing() {
  double *const block = mapped(4 * small_bytes), *const b = block + small_count, *const c = block + 3 * small_count;
  fill(block, 1, 4 * small_count);
  double* const room = matrix(2, 4 * small_count);
  const int file = temporary_file();
  const std::size_t written = 3 * small_bytes - 8;  // not the result
  while_computing([&] { small_product(b, b + small_count / 2, c); }, [&] {
    for (int i = 0; i < 50; ++i) {
      if (::pwrite(file, block, written, 0) != static_cast<ssize_t>(written)) std::perror("pwrite");
      std::memset(block, i, 64);  // in front of all operands
      if (::pread(file, room, written, 0) != static_cast<ssize_t>(written)) std::perror("pread");
    }
  });
  show("written", room, written);
  show("product", c, small_bytes);
}

}  // namespace

const Programs attacks = {
    {"io_while_computing", &io_while_computing},
};

}  // namespace programs
