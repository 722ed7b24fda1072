// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/kernels/library_call.hpp>
#include <semcache/kernels/spreading.hpp>

#include <KokkosBlas3_trmm.hpp>
#include <KokkosBlas3_trsm.hpp>

/// Products and solutions with triangular matrices. With Kokkos-Kernels 3.4 a program that calls them includes this header itself, behind
/// <semcache/kernels.hpp>: that version's own headers put the names of KokkosBatched into the global namespace.
namespace KokkosBlas {
namespace Impl {

// B = alpha op(A) B (trmm), or the solution of op(A) X = alpha B (trsm), or with A on the right.
#define SEMCACHE_KERNELS_TRIANGULAR(TYPE, FUNCTION)                                                                                              \
  template <SEMCACHE_KERNELS_OPERAND(A), SEMCACHE_KERNELS_OPERAND(B)>                                                                            \
  struct FUNCTION##_tpl_spec_avail<SEMCACHE_KERNELS_EXEC SEMCACHE_KERNELS_VIEW(A), SEMCACHE_KERNELS_VIEW(B)> {                                   \
    enum : bool { value = true };                                                                                                                \
  };                                                                                                                                             \
  template <SEMCACHE_KERNELS_OPERAND(A), SEMCACHE_KERNELS_OPERAND(B), bool Instantiated>                                                         \
  struct TYPE<SEMCACHE_KERNELS_EXEC SEMCACHE_KERNELS_VIEW(A), SEMCACHE_KERNELS_VIEW(B), true, Instantiated> {                                    \
    using A = SEMCACHE_KERNELS_VIEW(A);                                                                                                          \
    using B = SEMCACHE_KERNELS_VIEW(B);                                                                                                          \
    using native = TYPE<SEMCACHE_KERNELS_NATIVE_EXEC semcache::kernels::native_t<A>, semcache::kernels::native_t<B>>;                            \
                                                                                                                                                 \
    static void FUNCTION(SEMCACHE_KERNELS_PARAMETER const char side[], const char uplo[], const char transpose[], const char diagonal[],         \
                         typename B::const_value_type& alpha, const A& a, const B& b) {                                                          \
      if (semcache::kernels::spreading::FUNCTION(SEMCACHE_KERNELS_INSTANCE, side[0], uplo[0], transpose[0], diagonal[0], alpha, a, b)) return;   \
      semcache::kernels::LibraryCall(SEMCACHE_KERNELS_INSTANCE).reads(a).writes(b).run([&] {                                                     \
        native::FUNCTION(SEMCACHE_KERNELS_ARGUMENT side, uplo, transpose, diagonal, alpha, semcache::kernels::native(a),                         \
                         semcache::kernels::native(b));                                                                                          \
      });                                                                                                                                        \
    }                                                                                                                                            \
  };
SEMCACHE_KERNELS_TRIANGULAR(TRMM, trmm)
SEMCACHE_KERNELS_TRIANGULAR(TRSM, trsm)
#undef SEMCACHE_KERNELS_TRIANGULAR

}  // namespace Impl
}  // namespace KokkosBlas
