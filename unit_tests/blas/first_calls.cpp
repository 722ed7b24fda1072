// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
//
// What a process has before its first call that is offloaded.
#include "programs.hpp"

#include <dirent.h>

extern "C" double dsdot_(const int*, const float*, const int*, const float*, const int*);

namespace programs {
namespace {

/// Counts what the kernel lists in a folder.
int entries_of(const char* folder) {
  DIR* const open = ::opendir(folder);
  if (open == nullptr) std::abort();
  int found = 0;
  while (const dirent* const entry = ::readdir(open)) found += entry->d_name[0] != '.';
  ::closedir(open);
  return found;
}
int threads() { return entries_of("/proc/self/task"); }
int open_files() { return entries_of("/proc/self/fd"); }

/// Blocks, files and calls of BLAS that all stay on the host: of a routine that no device has, without elements, and with an argument that is wrong.
/// Only the last call is one for a device; on stderr the program says what that has made.
void before_first_offload() {
  std::printf("at first: %d threads, %d files\n", threads(), open_files());
  double *const a = matrix(1), *const b = matrix(2), *const c = matrix(3);
  std::free(std::realloc(matrix(4), 2 * bytes));
  const int four = 4, one = 1;
  const float x[] = {1, 2, 3, 4};
  std::printf("%g\n", dsdot_(&four, x, &one, x, &one));
  gemm('N', 'N', 0, n, n, 1, a, n, b, n, 0, c, n);
  gemm('X', 'N', n, n, n, 1, a, n, b, n, 0, c, n);
  std::FILE* const file = std::tmpfile();
  std::printf("%zu\n", std::fwrite(c, 1, bytes, file));
  std::fclose(file);
  const int threads_before = threads(), files_before = open_files();
  std::printf("before the first call for a device: %d threads, %d files\n", threads_before, open_files());
  product(a, b, c);
  show("product", c);
  std::fprintf(stderr, "more threads: %s\n", threads() > threads_before ? "yes" : "no");
  if (open_files() < files_before) std::abort();
}

}  // namespace

const Programs first_calls = {
    {"before_first_offload", &before_first_offload},
};

}  // namespace programs
