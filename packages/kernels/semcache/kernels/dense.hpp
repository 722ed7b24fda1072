// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/kernels/library_call.hpp>
#include <semcache/kernels/spreading.hpp>

#include <KokkosBlas2_gemv.hpp>
#include <KokkosBlas3_gemm.hpp>

/// Products of dense matrices and vectors.
namespace KokkosBlas {
namespace Impl {

template <SEMCACHE_KERNELS_OPERAND(A), SEMCACHE_KERNELS_OPERAND(B), SEMCACHE_KERNELS_OPERAND(C)>
struct gemm_tpl_spec_avail<SEMCACHE_KERNELS_EXEC SEMCACHE_KERNELS_VIEW(A), SEMCACHE_KERNELS_VIEW(B),
                           SEMCACHE_KERNELS_VIEW(C)> {
  enum : bool { value = true };
};

template <SEMCACHE_KERNELS_OPERAND(A), SEMCACHE_KERNELS_OPERAND(B), SEMCACHE_KERNELS_OPERAND(C), bool Instantiated>
struct GEMM<SEMCACHE_KERNELS_EXEC SEMCACHE_KERNELS_VIEW(A), SEMCACHE_KERNELS_VIEW(B), SEMCACHE_KERNELS_VIEW(C), true,
            Instantiated> {
  using A = SEMCACHE_KERNELS_VIEW(A);
  using B = SEMCACHE_KERNELS_VIEW(B);
  using C = SEMCACHE_KERNELS_VIEW(C);
  using native = GEMM<SEMCACHE_KERNELS_NATIVE_EXEC semcache::kernels::native_t<A>, semcache::kernels::native_t<B>,
                      semcache::kernels::native_t<C>>;

  static void gemm(SEMCACHE_KERNELS_PARAMETER const char transpose_a[], const char transpose_b[],
                   typename A::const_value_type& alpha, const A& a, const B& b, typename C::const_value_type& beta,
                   const C& c) {
    if (semcache::kernels::spreading::gemm(SEMCACHE_KERNELS_INSTANCE, transpose_a[0], transpose_b[0], alpha, a, b, beta, c)) return;
    semcache::kernels::LibraryCall(SEMCACHE_KERNELS_INSTANCE)
        .reads(a, b)
        .overwrites(c, semcache::kernels::is_zero(beta))
        .run([&] {
          native::gemm(SEMCACHE_KERNELS_ARGUMENT transpose_a, transpose_b, alpha, semcache::kernels::native(a),
                       semcache::kernels::native(b), beta, semcache::kernels::native(c));
        });
  }
};

template <SEMCACHE_KERNELS_OPERAND(A), SEMCACHE_KERNELS_OPERAND(X), SEMCACHE_KERNELS_OPERAND(Y)>
struct gemv_tpl_spec_avail<SEMCACHE_KERNELS_EXEC SEMCACHE_KERNELS_VIEW(A), SEMCACHE_KERNELS_VIEW(X),
                           SEMCACHE_KERNELS_VIEW(Y)> {
  enum : bool { value = true };
};

template <SEMCACHE_KERNELS_OPERAND(A), SEMCACHE_KERNELS_OPERAND(X), SEMCACHE_KERNELS_OPERAND(Y), bool Instantiated>
struct GEMV<SEMCACHE_KERNELS_EXEC SEMCACHE_KERNELS_VIEW(A), SEMCACHE_KERNELS_VIEW(X), SEMCACHE_KERNELS_VIEW(Y), true,
            Instantiated> {
  using A = SEMCACHE_KERNELS_VIEW(A);
  using X = SEMCACHE_KERNELS_VIEW(X);
  using Y = SEMCACHE_KERNELS_VIEW(Y);
  using native = GEMV<SEMCACHE_KERNELS_NATIVE_EXEC semcache::kernels::native_t<A>, semcache::kernels::native_t<X>,
                      semcache::kernels::native_t<Y>>;

  static void gemv(SEMCACHE_KERNELS_PARAMETER const char transpose[], typename A::const_value_type& alpha, const A& a,
                   const X& x, typename Y::const_value_type& beta, const Y& y) {
    if (semcache::kernels::spreading::gemv(SEMCACHE_KERNELS_INSTANCE, transpose[0], alpha, a, x, beta, y)) return;
    // BLAS returns at once where the product has no terms, and then does not write the result. Kernels of Kokkos-Kernels 3.4 multiply the old
    // result of a transposed product by zero, so what lies there must not be NaN.
    const bool plain = transpose[0] == 'N' || transpose[0] == 'n';
    const bool unread = semcache::kernels::is_zero(beta) && a.size() != 0 && (SEMCACHE_KERNELS_INSTANCES || plain);
    semcache::kernels::LibraryCall(SEMCACHE_KERNELS_INSTANCE).reads(a, x).overwrites(y, unread).run([&] {
      native::gemv(SEMCACHE_KERNELS_ARGUMENT transpose, alpha, semcache::kernels::native(a),
                   semcache::kernels::native(x), beta, semcache::kernels::native(y));
    });
  }
};

}  // namespace Impl
}  // namespace KokkosBlas
