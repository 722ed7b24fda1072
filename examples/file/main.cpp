// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
// Shows: a file is read into a mirror, and a kernel's result is written from one, by the system's calls without any announcement.
// Prints: a sum over the file that the kernel's result was written to.
// Run: cmake ... as the others, then LD_PRELOAD=PREFIX/lib/libsemcache_syscalls.so build/file
#include <semcache/kokkos.hpp>

#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

static void must(bool done, const char* what) {
  if (done) return;
  std::perror(what);  // "Bad address": libsemcache_syscalls.so was not preloaded
  std::exit(1);
}

static void transform(int file) {
  const int n = 100000;
  const ssize_t bytes = n * sizeof(int);
  const Kokkos::View<int*, semcache::Device> x("x", n);
  const auto x_host = Kokkos::create_mirror_view(x);
  Kokkos::deep_copy(x_host, x);  // the copy is pending: none of x_host's pages is readable now

  must(pread(file, x_host.data(), bytes, 0) == bytes, "read into the mirror");
  Kokkos::deep_copy(x, x_host);
  Kokkos::parallel_for(
      "double", Kokkos::RangePolicy<semcache::Exec>(0, n), KOKKOS_LAMBDA(int i) { x(i) *= 2; });
  Kokkos::deep_copy(x_host, x);
  must(pwrite(file, x_host.data(), bytes, 0) == bytes, "write from the mirror");
}

int main(int argc, char** argv) {
  const Kokkos::ScopeGuard guard(argc, argv);
  std::vector<int> content(100000);
  std::iota(content.begin(), content.end(), 1);
  const ssize_t bytes = content.size() * sizeof(int);
  char name[] = "numbers-XXXXXX";
  const int file = mkstemp(name);
  must(file >= 0 && unlink(name) == 0 && write(file, content.data(), bytes) == bytes, "make a file");

  transform(file);

  must(pread(file, content.data(), bytes, 0) == bytes, "read the result");
  std::printf("the file's sum is %lld\n", std::accumulate(content.begin(), content.end(), 0LL));
}
