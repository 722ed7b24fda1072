// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "block_sums.hpp"
#include "library.hpp"

#include <algorithm>
#include <complex>
#include <cstddef>
#include <cstdint>

// The Fortran interface, which every BLAS has. Complex numbers are passed by address, as all arguments are.
#define SEMCACHE_LINALG_DECLARE_SYMMETRIC(letter, kind)                                                                                    \
  void letter##kind##mm_(const char*, const char*, const std::int32_t*, const std::int32_t*, const void*, const void*,                     \
                         const std::int32_t*, const void*, const std::int32_t*, const void*, void*, const std::int32_t*, std::size_t,      \
                         std::size_t);                                                                                                     \
  void letter##kind##rk_(const char*, const char*, const std::int32_t*, const std::int32_t*, const void*, const void*,                     \
                         const std::int32_t*, const void*, void*, const std::int32_t*, std::size_t, std::size_t);                          \
  void letter##kind##r2k_(const char*, const char*, const std::int32_t*, const std::int32_t*, const void*, const void*,                    \
                          const std::int32_t*, const void*, const std::int32_t*, const void*, void*, const std::int32_t*, std::size_t,     \
                          std::size_t);
#define SEMCACHE_LINALG_DECLARE(letter)                                                                                                    \
  void letter##gemm_(const char*, const char*, const std::int32_t*, const std::int32_t*, const std::int32_t*, const void*, const void*,    \
                     const std::int32_t*, const void*, const std::int32_t*, const void*, void*, const std::int32_t*, std::size_t,          \
                     std::size_t);                                                                                                         \
  SEMCACHE_LINALG_DECLARE_SYMMETRIC(letter, sy)                                                                                            \
  void letter##trmm_(const char*, const char*, const char*, const char*, const std::int32_t*, const std::int32_t*, const void*,            \
                     const void*, const std::int32_t*, void*, const std::int32_t*, std::size_t, std::size_t, std::size_t, std::size_t);    \
  void letter##trsm_(const char*, const char*, const char*, const char*, const std::int32_t*, const std::int32_t*, const void*,            \
                     const void*, const std::int32_t*, void*, const std::int32_t*, std::size_t, std::size_t, std::size_t, std::size_t);    \
  void letter##gemv_(const char*, const std::int32_t*, const std::int32_t*, const void*, const void*, const std::int32_t*, const void*,     \
                     const std::int32_t*, const void*, void*, const std::int32_t*, std::size_t);
extern "C" {
SEMCACHE_LINALG_DECLARE(s)
SEMCACHE_LINALG_DECLARE(d)
SEMCACHE_LINALG_DECLARE(c)
SEMCACHE_LINALG_DECLARE(z)
SEMCACHE_LINALG_DECLARE_SYMMETRIC(c, he)
SEMCACHE_LINALG_DECLARE_SYMMETRIC(z, he)
}
#undef SEMCACHE_LINALG_DECLARE
#undef SEMCACHE_LINALG_DECLARE_SYMMETRIC

namespace semcache::linalg {

namespace {

#define SEMCACHE_LINALG_BY_TYPE(type, routine, ...)     \
  switch (type) {                                       \
    case Scalar::s: return s##routine##_(__VA_ARGS__);  \
    case Scalar::d: return d##routine##_(__VA_ARGS__);  \
    case Scalar::c: return c##routine##_(__VA_ARGS__);  \
    case Scalar::z: return z##routine##_(__VA_ARGS__);  \
  }

#define SEMCACHE_LINALG_BY_KIND(type, hermitian, routine, ...)                 \
  if (hermitian) {                                                             \
    return type == Scalar::c ? che##routine##_(__VA_ARGS__) : zhe##routine##_(__VA_ARGS__); \
  }                                                                            \
  SEMCACHE_LINALG_BY_TYPE(type, sy##routine, __VA_ARGS__)

class HostBlas : public Library {
 public:
  void gemm(const runtime::Stream&, Scalar type, char transpose_a, char transpose_b, std::int32_t m, std::int32_t n, std::int32_t k,
            const void* alpha, const void* a, std::int32_t lda, const void* b, std::int32_t ldb, const void* beta, void* c,
            std::int32_t ldc) override {
    SEMCACHE_LINALG_BY_TYPE(type, gemm, &transpose_a, &transpose_b, &m, &n, &k, alpha, a, &lda, b, &ldb, beta, c, &ldc, 1, 1)
  }
  void symm(const runtime::Stream&, Scalar type, bool hermitian, char side, char triangle, std::int32_t m, std::int32_t n, const void* alpha,
            const void* a, std::int32_t lda, const void* b, std::int32_t ldb, const void* beta, void* c, std::int32_t ldc) override {
    SEMCACHE_LINALG_BY_KIND(type, hermitian, mm, &side, &triangle, &m, &n, alpha, a, &lda, b, &ldb, beta, c, &ldc, 1, 1)
  }
  void trmm(const runtime::Stream&, Scalar type, char side, char triangle, char transpose, char diagonal, std::int32_t m, std::int32_t n,
            const void* alpha, const void* a, std::int32_t lda, void* b, std::int32_t ldb) override {
    SEMCACHE_LINALG_BY_TYPE(type, trmm, &side, &triangle, &transpose, &diagonal, &m, &n, alpha, a, &lda, b, &ldb, 1, 1, 1, 1)
  }
  void trsm(const runtime::Stream&, Scalar type, char side, char triangle, char transpose, char diagonal, std::int32_t m, std::int32_t n,
            const void* alpha, const void* a, std::int32_t lda, void* b, std::int32_t ldb) override {
    SEMCACHE_LINALG_BY_TYPE(type, trsm, &side, &triangle, &transpose, &diagonal, &m, &n, alpha, a, &lda, b, &ldb, 1, 1, 1, 1)
  }
  void syrk(const runtime::Stream&, Scalar type, bool hermitian, char triangle, char transpose, std::int32_t n, std::int32_t k,
            const void* alpha, const void* a, std::int32_t lda, const void* beta, void* c, std::int32_t ldc) override {
    SEMCACHE_LINALG_BY_KIND(type, hermitian, rk, &triangle, &transpose, &n, &k, alpha, a, &lda, beta, c, &ldc, 1, 1)
  }
  void syr2k(const runtime::Stream&, Scalar type, bool hermitian, char triangle, char transpose, std::int32_t n, std::int32_t k,
             const void* alpha, const void* a, std::int32_t lda, const void* b, std::int32_t ldb, const void* beta, void* c,
             std::int32_t ldc) override {
    SEMCACHE_LINALG_BY_KIND(type, hermitian, r2k, &triangle, &transpose, &n, &k, alpha, a, &lda, b, &ldb, beta, c, &ldc, 1, 1)
  }
  void gemv(const runtime::Stream&, Scalar type, char transpose, std::int32_t m, std::int32_t n, const void* alpha, const void* a,
            std::int32_t lda, const void* x, const void* beta, void* y) override {
    SEMCACHE_LINALG_BY_TYPE(type, gemv, &transpose, &m, &n, alpha, a, &lda, x, &one_, beta, y, &one_, 1)
  }
  void axpby(const runtime::Stream&, Scalar type, std::uint64_t n, const void* alpha, const void* x, const void* beta, void* y) override {
    with_type(type, [&](auto zero) {
      using T = decltype(zero);
      const T of_x = *static_cast<const T*>(alpha), of_y = *static_cast<const T*>(beta);
      const auto scaled = [](T factor, T v) { return factor == T(1) ? v : factor * v; };
      const T* const from = static_cast<const T*>(x);
      T* const to = static_cast<T*>(y);
      for (std::uint64_t i = 0; i < n; ++i) {
        if (of_y == zero) to[i] = scaled(of_x, from[i]);
        else if (of_x == zero) to[i] = scaled(of_y, to[i]);
        else to[i] = scaled(of_x, from[i]) + scaled(of_y, to[i]);
      }
    });
  }
  void axpby_of_quotients(const runtime::Stream& stream, Scalar type, std::uint64_t n, const void* alpha, const Quotient& of_alpha, const void* x,
                          const void* beta, const Quotient& of_beta, void* y) override {
    with_type(type, [&](auto zero) {
      using T = decltype(zero);
      const auto times = [](T factor, const Quotient& q) {
        return q.numerator == nullptr ? factor : factor * (*static_cast<const T*>(q.numerator) / *static_cast<const T*>(q.denominator));
      };
      const T of_x = times(*static_cast<const T*>(alpha), of_alpha), of_y = times(*static_cast<const T*>(beta), of_beta);
      axpby(stream, type, n, &of_x, x, &of_y, y);
    });
  }
  void sum(const runtime::Stream&, Scalar type, std::uint64_t count, const void* numbers, void* result) override {
    with_type(type, [&](auto zero) { *static_cast<decltype(zero)*>(result) = sum_of(static_cast<const decltype(zero)*>(numbers), count); });
  }
  void block_dots(const runtime::Stream&, Scalar type, std::uint64_t n, std::uint64_t block, const void* x, const void* y, void* sums) override {
    with_type(type, [&](auto zero) {
      using T = decltype(zero);
      for (std::uint64_t b = 0; b * block < n; ++b) {
        T sum = zero;
        for (std::uint64_t i = b * block; i < std::min(n, (b + 1) * block); ++i) {
          sum += conjugate(static_cast<const T*>(x)[i]) * static_cast<const T*>(y)[i];
        }
        static_cast<T*>(sums)[b] = sum;
      }
    });
  }
  void spmv(const runtime::Stream&, Scalar type, std::uint64_t rows, const void* alpha, const std::int32_t* row_pointers,
            const std::int32_t* columns, const void* values, std::uint64_t, RowLengths, const void* x, const void* beta, void* y) override {
    with_type(type, [&](auto zero) {
      using T = decltype(zero);
      const T factor = *static_cast<const T*>(alpha), of_y = *static_cast<const T*>(beta);
      T* const result = static_cast<T*>(y);
      for (std::uint64_t i = 0; i < rows; ++i) {
        T sum = zero;
        for (std::int32_t e = row_pointers[i]; e < row_pointers[i + 1]; ++e) {
          sum += static_cast<const T*>(values)[e] * static_cast<const T*>(x)[columns[e]];
        }
        result[i] = of_y == zero ? factor * sum : factor * sum + of_y * result[i];
      }
    });
  }
  void spmm(const runtime::Stream& stream, Scalar type, std::uint64_t rows, std::int32_t vectors, const void* alpha,
            const std::int32_t* row_pointers, const std::int32_t* columns, const void* values, std::uint64_t entries, RowLengths lengths,
            const void* x, std::uint64_t leading_x, const void* beta, void* y, std::uint64_t leading_y) override {
    with_type(type, [&](auto zero) {
      using T = decltype(zero);
      for (std::int32_t v = 0; v < vectors; ++v) {
        const auto at = static_cast<std::uint64_t>(v);
        // x may lie before its memory, so no pointer into an array is added to.
        const auto own_x = reinterpret_cast<std::uintptr_t>(x) + at * leading_x * sizeof(T);
        spmv(stream, type, rows, alpha, row_pointers, columns, values, entries, lengths, reinterpret_cast<const void*>(own_x), beta,
             static_cast<T*>(y) + at * leading_y);
      }
    });
  }

 private:
  template <class Body>
  static void with_type(Scalar type, const Body& body) {
    switch (type) {
      case Scalar::s: return body(float{});
      case Scalar::d: return body(double{});
      case Scalar::c: return body(std::complex<float>{});
      case Scalar::z: return body(std::complex<double>{});
    }
  }
  template <class T>
  static T conjugate(T v) noexcept { return v; }
  template <class R>
  static std::complex<R> conjugate(const std::complex<R>& v) noexcept { return std::conj(v); }

  const std::int32_t one_ = 1;
};
#undef SEMCACHE_LINALG_BY_KIND
#undef SEMCACHE_LINALG_BY_TYPE

}  // namespace

Library& host_blas() {
  static HostBlas blas;
  return blas;
}

Library& library() { return runtime::devices_are_emulated() ? host_blas() : cublas(); }

}  // namespace semcache::linalg
