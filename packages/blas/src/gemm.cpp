// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
//
// The wrappers of gemm. Each interface only says what its arguments mean.
#include "call.hpp"
#include "host_library.hpp"
#include "library.hpp"

#include <algorithm>
#include <cctype>

namespace semcache::blas {
namespace {

using linalg::Scalar;

/// C = alpha op(A) op(B) + beta C, in column-major order.
struct Gemm {
  char transpose_a = 'N', transpose_b = 'N';  ///< N, T or C
  std::int64_t m = 0, n = 0, k = 0;
  double alpha = 0, beta = 0;
  const double* a = nullptr;
  std::int64_t lda = 0;
  const double* b = nullptr;
  std::int64_t ldb = 0;
  double* c = nullptr;
  std::int64_t ldc = 0;
};

bool is_letter(char letter) noexcept { return letter == 'N' || letter == 'T' || letter == 'C'; }

Call describe(const Gemm& g) noexcept {
  const bool ta = g.transpose_a != 'N', tb = g.transpose_b != 'N';
  const std::int64_t rows_a = ta ? g.k : g.m, rows_b = tb ? g.n : g.k;
  Call call;
  const auto at_least = [](std::int64_t leading, std::int64_t rows) { return leading >= std::max<std::int64_t>(1, rows); };
  if (!is_letter(g.transpose_a) || !is_letter(g.transpose_b) || g.m < 0 || g.n < 0 || g.k < 0 || !at_least(g.lda, rows_a) ||
      !at_least(g.ldb, rows_b) || !at_least(g.ldc, g.m)) {
    call.refused = Verdict::wrong_arguments;
    return call;
  }
  const bool reads_inputs = g.alpha != 0 && g.k != 0;
  if (g.m == 0 || g.n == 0 || (!reads_inputs && g.beta == 1) || g.c == nullptr || (reads_inputs && (g.a == nullptr || g.b == nullptr))) {
    call.refused = Verdict::nothing_to_compute;
    return call;
  }
  if (std::max({g.m, g.n, g.k, g.lda, g.ldb, g.ldc}) > INT32_MAX) {
    call.refused = Verdict::too_large;
    return call;
  }
  const auto number = [](std::int64_t n) { return static_cast<std::uint64_t>(n); };
  const std::uint64_t k = reads_inputs ? number(g.k) : 0, m = number(g.m), n = number(g.n);
  constexpr std::uint32_t bytes = sizeof(double);
  call.operations = 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(std::max<std::uint64_t>(k, 1));
  call.count = 3;
  call.operands[0] = {g.a, ta ? k : m, ta ? m : k, number(g.lda), bytes, Access::read};
  call.operands[1] = {g.b, tb ? n : k, tb ? k : n, number(g.ldb), bytes, Access::read};
  call.operands[2] = {g.c, m, n, number(g.ldc), bytes, g.beta == 0 ? Access::overwrite : Access::read_write};
  return call;
}

/// `host` calls the routine of the caller's library, with the program's other arguments.
template <class Host>
class GemmRoutines final : public Routines {
 public:
  GemmRoutines(const Gemm& g, const Host& host) noexcept : g_(g), host_(host) {}
  void on_host(const void* const* at) const override {
    host_(static_cast<const double*>(at[0]), static_cast<const double*>(at[1]), const_cast<double*>(static_cast<const double*>(at[2])));
  }
  void on_gpu(const runtime::Stream& stream, const void* const* at) const override {
    const auto number = [](std::int64_t n) { return static_cast<std::int32_t>(n); };
    const std::int64_t k = g_.alpha == 0 ? 0 : g_.k;  // A and B are not read then
    linalg::cublas().gemm(stream, Scalar::d, g_.transpose_a, g_.transpose_b, number(g_.m), number(g_.n), number(k), &g_.alpha, at[0],
                          number(g_.lda), at[1], number(g_.ldb), &g_.beta, const_cast<void*>(at[2]), number(g_.ldc));
  }

 private:
  const Gemm& g_;
  const Host& host_;
};

template <class Host>
void gemm(const Gemm& g, const Host& host) noexcept {
  carry_out(describe(g), GemmRoutines<Host>(g, host));
}

template <class Int>
using Fortran = void(const char*, const char*, const Int*, const Int*, const Int*, const double*, const double*, const Int*, const double*,
                     const Int*, const double*, double*, const Int*, std::size_t, std::size_t);

template <class Int>
void fortran_gemm(HostFunction& function, const void* caller, const char* transpose_a, const char* transpose_b, const Int* m, const Int* n,
                  const Int* k, const double* alpha, const double* a, const Int* lda, const double* b, const Int* ldb, const double* beta, double* c,
                  const Int* ldc) noexcept {
  auto* const host = function.of<Fortran<Int>>(caller);
  const auto call_host = [&](const double* a_at, const double* b_at, double* c_at) {
    host(transpose_a, transpose_b, m, n, k, alpha, a_at, lda, b_at, ldb, beta, c_at, ldc, 1, 1);
  };
  if (is_within_call()) return call_host(a, b, c);
  const auto letter = [](const char* text) { return static_cast<char>(std::toupper(static_cast<unsigned char>(*text))); };
  gemm(Gemm{letter(transpose_a), letter(transpose_b), *m, *n, *k, *alpha, *beta, a, *lda, b, *ldb, c, *ldc}, call_host);
}

template <class Int>
using C = void(int, int, int, Int, Int, Int, double, const double*, Int, const double*, Int, double, double*, Int);

template <class Int>
void c_gemm(HostFunction& function, const void* caller, int order, int transpose_a, int transpose_b, Int m, Int n, Int k, double alpha,
            const double* a, Int lda, const double* b, Int ldb, double beta, double* c, Int ldc) noexcept {
  auto* const host = function.of<C<Int>>(caller);
  const auto call_host = [&](const double* a_at, const double* b_at, double* c_at) {
    host(order, transpose_a, transpose_b, m, n, k, alpha, a_at, lda, b_at, ldb, beta, c_at, ldc);
  };
  if (is_within_call()) return call_host(a, b, c);
  constexpr int row_major = 101, column_major = 102;  // CBLAS_ORDER; its CBLAS_TRANSPOSE counts from 111
  const auto letter = [](int transpose) { return transpose >= 111 && transpose <= 113 ? "NTC"[transpose - 111] : '?'; };
  if (order == row_major) {
    // The transposed product, of which all matrices are column-major.
    const auto call_swapped = [&](const double* b_at, const double* a_at, double* c_at) { call_host(a_at, b_at, c_at); };
    return gemm(Gemm{letter(transpose_b), letter(transpose_a), n, m, k, alpha, beta, b, ldb, a, lda, c, ldc}, call_swapped);
  }
  gemm(Gemm{order == column_major ? letter(transpose_a) : '?', letter(transpose_b), m, n, k, alpha, beta, a, lda, b, ldb, c, ldc}, call_host);
}

}  // namespace
}  // namespace semcache::blas

#define SEMCACHE_BLAS_FORTRAN_DGEMM(name, Int)                                                                                                  \
  void name(const char* transpose_a, const char* transpose_b, const Int* m, const Int* n, const Int* k, const double* alpha, const double* a,   \
            const Int* lda, const double* b, const Int* ldb, const double* beta, double* c, const Int* ldc) {                                   \
    static semcache::blas::HostFunction host(#name);                                                                                            \
    semcache::blas::fortran_gemm<Int>(host, __builtin_return_address(0), transpose_a, transpose_b, m, n, k, alpha, a, lda, b, ldb, beta, c,     \
                                      ldc);                                                                                                     \
  }
#define SEMCACHE_BLAS_C_DGEMM(name, Int)                                                                                                        \
  void name(int order, int transpose_a, int transpose_b, Int m, Int n, Int k, double alpha, const double* a, Int lda, const double* b, Int ldb, \
            double beta, double* c, Int ldc) {                                                                                                  \
    static semcache::blas::HostFunction host(#name);                                                                                            \
    semcache::blas::c_gemm<Int>(host, __builtin_return_address(0), order, transpose_a, transpose_b, m, n, k, alpha, a, lda, b, ldb, beta, c,    \
                                ldc);                                                                                                           \
  }

#pragma GCC visibility push(default)
extern "C" {
SEMCACHE_BLAS_FORTRAN_DGEMM(dgemm_, std::int32_t)
SEMCACHE_BLAS_FORTRAN_DGEMM(dgemm_64_, std::int64_t)
SEMCACHE_BLAS_FORTRAN_DGEMM(scipy_dgemm_64_, std::int64_t)
SEMCACHE_BLAS_C_DGEMM(cblas_dgemm, std::int32_t)
SEMCACHE_BLAS_C_DGEMM(cblas_dgemm64_, std::int64_t)
SEMCACHE_BLAS_C_DGEMM(scipy_cblas_dgemm64_, std::int64_t)
}
#pragma GCC visibility pop
