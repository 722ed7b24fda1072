// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <sys/mman.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>

extern "C" {
void dgemm_(const char*, const char*, const int*, const int*, const int*, const double*, const double*, const int*, const double*, const int*,
            const double*, double*, const int*, std::size_t, std::size_t);
}

/// What the programs under test share.
namespace programs {

using Programs = std::map<std::string, std::function<void()>>;
extern const Programs attacks, first_calls, memory_attacks, signal_attacks;  ///< of the files of these names

constexpr int n = 512;  // a matrix has 2 MiB
constexpr std::size_t count = std::size_t{n} * n, bytes = count * sizeof(double);
constexpr int small_n = 256;  // a matrix has 512 KiB
constexpr std::size_t small_count = std::size_t{small_n} * small_n, small_bytes = small_count * sizeof(double);

inline void gemm(char ta, char tb, int m, int columns, int k, double alpha, const double* a, int lda, const double* b, int ldb, double beta, double* c,
                 int ldc) {
  dgemm_(&ta, &tb, &m, &columns, &k, &alpha, a, &lda, b, &ldb, &beta, c, &ldc, 1, 1);
}
inline void product(const double* a, const double* b, double* c, double beta = 0) { gemm('N', 'N', n, n, n, 1, a, n, b, n, beta, c, n); }
inline void small_product(const double* a, const double* b, double* c, double beta = 0) {
  gemm('N', 'N', small_n, small_n, small_n, 1, a, small_n, b, small_n, beta, c, small_n);
}

inline std::uint64_t digest(const void* data, std::size_t size) {
  std::uint64_t h = 1469598103934665603u;
  for (std::size_t i = 0; i < size; ++i) h = (h ^ static_cast<const unsigned char*>(data)[i]) * 1099511628211u;
  return h;
}
inline void show(const char* what, const void* data, std::size_t size = bytes) {
  std::printf("%s %016llx\n", what, static_cast<unsigned long long>(digest(data, size)));
}
inline void fill(double* m, int seed, std::size_t elements = count) {
  for (std::size_t i = 0; i < elements; ++i) m[i] = std::sin(static_cast<double>(i % 10007) * seed + seed);
}
inline double* matrix(int seed, std::size_t elements = count) {
  auto* const m = static_cast<double*>(std::malloc(elements * sizeof(double)));
  fill(m, seed, elements);
  return m;
}
inline double* small_matrix(int seed) { return matrix(seed, small_count); }
inline double* mapped(std::size_t size) {
  void* const at = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return at == MAP_FAILED ? nullptr : static_cast<double*>(at);
}

}  // namespace programs
