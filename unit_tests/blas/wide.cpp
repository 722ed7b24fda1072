// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
//
// A program whose BLAS has integers of 64 bits under the names of those with 32.
#include <sys/mman.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <vector>

using Int = std::int64_t;

extern "C" {
void dgemm_(const char*, const char*, const Int*, const Int*, const Int*, const double*, const double*, const Int*, const double*, const Int*,
            const double*, double*, const Int*, std::size_t, std::size_t);
void cblas_dgemm(int, int, int, Int, Int, Int, double, const double*, Int, const double*, Int, double, double*, Int);
double ddot_(const Int*, const double*, const Int*, const double*, const Int*);
double cblas_ddot(Int, const double*, Int, const double*, Int);
Int idamax_(const Int*, const double*, const Int*);
}

int main() {
  const Int n = 200, one = 1, back = -1, all = n * n;
  const double alpha = 0.5, beta = 0.25;
  std::vector<double> a(static_cast<std::size_t>(all)), b(a), c(a);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = std::sin(static_cast<double>(i)), b[i] = std::cos(static_cast<double>(i));
  dgemm_("N", "T", &n, &n, &n, &alpha, a.data(), &n, b.data(), &n, &beta, c.data(), &n, 1, 1);
  cblas_dgemm(102, 111, 111, n, n, n, alpha, c.data(), n, b.data(), n, beta, a.data(), n);
  std::printf("%.17g %.17g\n", ddot_(&all, a.data(), &one, c.data(), &back), cblas_ddot(all, a.data(), -1, c.data(), 1));
  std::printf("%lld\n", static_cast<long long>(idamax_(&all, a.data(), &one)));
  // An increment beyond 32 bits, in pages that nobody fills.
  const Int huge = (Int{1} << 32) + 5;
  const std::size_t bytes = static_cast<std::size_t>(huge) * sizeof(double);
  auto* const x = static_cast<double*>(::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  x[0] = 3;
  x[huge - 1] = 4;
  const Int step = huge - 1, two = 2;
  std::printf("%g %lld\n", ddot_(&two, x, &step, x, &step), static_cast<long long>(idamax_(&two, x, &step)));
}
