// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "library.hpp"

#include <cstdlib>

// The Fortran interface, which every BLAS has. Complex numbers are passed by address, as all arguments are.
#define SEMCACHE_LINALG_DECLARE(letter)                                                                                                    \
  void letter##gemm_(const char*, const char*, const std::int32_t*, const std::int32_t*, const std::int32_t*, const void*, const void*,    \
                     const std::int32_t*, const void*, const std::int32_t*, const void*, void*, const std::int32_t*, std::size_t,          \
                     std::size_t);                                                                                                         \
  void letter##axpy_(const std::int32_t*, const void*, const void*, const std::int32_t*, void*, const std::int32_t*);                      \
  void letter##scal_(const std::int32_t*, const void*, void*, const std::int32_t*);                                                        \
  void letter##copy_(const std::int32_t*, const void*, const std::int32_t*, void*, const std::int32_t*);
extern "C" {
SEMCACHE_LINALG_DECLARE(s)
SEMCACHE_LINALG_DECLARE(d)
SEMCACHE_LINALG_DECLARE(c)
SEMCACHE_LINALG_DECLARE(z)
}
#undef SEMCACHE_LINALG_DECLARE

namespace semcache::linalg {

namespace {

#define SEMCACHE_LINALG_BY_TYPE(type, routine, ...)     \
  switch (type) {                                       \
    case Scalar::s: return s##routine##_(__VA_ARGS__);  \
    case Scalar::d: return d##routine##_(__VA_ARGS__);  \
    case Scalar::c: return c##routine##_(__VA_ARGS__);  \
    case Scalar::z: return z##routine##_(__VA_ARGS__);  \
  }

class HostBlas : public Library {
 public:
  void gemm(const runtime::Stream&, Scalar type, char transpose_a, char transpose_b, std::int32_t m, std::int32_t n, std::int32_t k,
            const void* alpha, const void* a, std::int32_t lda, const void* b, std::int32_t ldb, const void* beta, void* c,
            std::int32_t ldc) override {
    SEMCACHE_LINALG_BY_TYPE(type, gemm, &transpose_a, &transpose_b, &m, &n, &k, alpha, a, &lda, b, &ldb, beta, c, &ldc, 1, 1)
  }
  void axpy(const runtime::Stream&, Scalar type, std::int32_t n, const void* alpha, const void* x, void* y) override {
    SEMCACHE_LINALG_BY_TYPE(type, axpy, &n, alpha, x, &one_, y, &one_)
  }
  void scal(const runtime::Stream&, Scalar type, std::int32_t n, const void* alpha, void* x) override {
    SEMCACHE_LINALG_BY_TYPE(type, scal, &n, alpha, x, &one_)
  }
  void copy(const runtime::Stream&, Scalar type, std::int32_t n, const void* x, void* y) override {
    SEMCACHE_LINALG_BY_TYPE(type, copy, &n, x, &one_, y, &one_)
  }

 private:
  const std::int32_t one_ = 1;
};
#undef SEMCACHE_LINALG_BY_TYPE

}  // namespace

Library& host_blas() {
  static HostBlas blas;
  return blas;
}

Library& library() { return runtime::devices_are_emulated() ? host_blas() : cublas(); }

}  // namespace semcache::linalg
