// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/kernels/library_call.hpp>
#include <semcache/kernels/spreading.hpp>

#include <KokkosBlas1_abs.hpp>
#include <KokkosBlas1_axpby.hpp>
#include <KokkosBlas1_dot.hpp>
#include <KokkosBlas1_iamax.hpp>
#include <KokkosBlas1_mult.hpp>
#include <KokkosBlas1_nrm1.hpp>
#include <KokkosBlas1_nrm2.hpp>
#include <KokkosBlas1_nrm2_squared.hpp>
#include <KokkosBlas1_nrm2w.hpp>
#include <KokkosBlas1_nrm2w_squared.hpp>
#include <KokkosBlas1_nrminf.hpp>
#include <KokkosBlas1_reciprocal.hpp>
#include <KokkosBlas1_scal.hpp>
#include <KokkosBlas1_sum.hpp>
#include <KokkosBlas1_update.hpp>

/// Functions of vectors and multivectors. Results may be views on semcache::Device, mirrors, or plain host memory; a result in
/// host memory has arrived when the call returns.
namespace KokkosBlas {
namespace Impl {

// r = f(x), element by element, or one number for each column. The other arguments are a statement that may make the call and return.
#define SEMCACHE_KERNELS_OF_ONE(TYPE, FUNCTION, ...)                                                             \
  template <class R, SEMCACHE_KERNELS_OPERAND(X), int Rank>                                                      \
  struct FUNCTION##_tpl_spec_avail<SEMCACHE_KERNELS_EXEC R, SEMCACHE_KERNELS_VIEW(X), Rank> {                    \
    enum : bool { value = true };                                                                                \
  };                                                                                                             \
  template <class R, SEMCACHE_KERNELS_OPERAND(X), int Rank, bool Instantiated>                                   \
  struct TYPE<SEMCACHE_KERNELS_EXEC R, SEMCACHE_KERNELS_VIEW(X), Rank, true, Instantiated> {                     \
    using X = SEMCACHE_KERNELS_VIEW(X);                                                                          \
    using native =                                                                                               \
        TYPE<SEMCACHE_KERNELS_NATIVE_EXEC semcache::kernels::native_t<R>, semcache::kernels::native_t<X>, Rank>; \
                                                                                                                 \
    template <class... Options>                                                                                  \
    static void FUNCTION(SEMCACHE_KERNELS_PARAMETER const R& r, const X& x, const Options&... options) {         \
      __VA_ARGS__                                                                                                \
      semcache::kernels::LibraryCall(SEMCACHE_KERNELS_INSTANCE).reads(x).overwrites(r, x.size() != 0).run([&] {  \
        auto native_r = semcache::kernels::native(r);                                                            \
        native::FUNCTION(SEMCACHE_KERNELS_ARGUMENT native_r, semcache::kernels::native(x), options...);          \
      });                                                                                                        \
    }                                                                                                            \
  };
SEMCACHE_KERNELS_OF_ONE(Abs, abs, )
SEMCACHE_KERNELS_OF_ONE(Iamax, iamax, )
SEMCACHE_KERNELS_OF_ONE(Nrm1, nrm1, )
SEMCACHE_KERNELS_OF_ONE(Nrm2, nrm2, if (semcache::kernels::spreading::nrm2(SEMCACHE_KERNELS_INSTANCE, r, x, options...)) return;)
SEMCACHE_KERNELS_OF_ONE(Reciprocal, reciprocal, )
SEMCACHE_KERNELS_OF_ONE(Sum, sum, )
#undef SEMCACHE_KERNELS_OF_ONE

template <class R, SEMCACHE_KERNELS_OPERAND(X), int Rank>
struct nrminf_tpl_spec_avail<SEMCACHE_KERNELS_EXEC R, SEMCACHE_KERNELS_VIEW(X), Rank> {
  enum : bool { value = true };
};

/// Kokkos-Kernels' own function accesses the result's elements on the host, which is not possible for a result in a GPU's memory.
/// So such a result is computed in host memory and copied.
template <class R, SEMCACHE_KERNELS_OPERAND(X), int Rank, bool Instantiated>
struct NrmInf<SEMCACHE_KERNELS_EXEC R, SEMCACHE_KERNELS_VIEW(X), Rank, true, Instantiated> {
  using X = SEMCACHE_KERNELS_VIEW(X);
  template <class Result>
  using native = NrmInf<SEMCACHE_KERNELS_NATIVE_EXEC Result, semcache::kernels::native_t<X>, Rank>;

  static void nrminf(SEMCACHE_KERNELS_PARAMETER const R& r, const X& x) {
    semcache::kernels::LibraryCall(SEMCACHE_KERNELS_INSTANCE).reads(x).overwrites(r, x.size() != 0).run([&] {
      auto native_r = semcache::kernels::native(r);
      using NativeR = decltype(native_r);
      if constexpr (Kokkos::SpaceAccessibility<Kokkos::HostSpace, typename NativeR::memory_space>::accessible) {
        native<NativeR>::nrminf(SEMCACHE_KERNELS_ARGUMENT native_r, semcache::kernels::native(x));
      } else {
        using HostR = Kokkos::View<typename R::non_const_data_type, Kokkos::LayoutLeft, Kokkos::HostSpace>;
        if constexpr (R::rank == 0) {
          const HostR found("norm");
          native<HostR>::nrminf(SEMCACHE_KERNELS_ARGUMENT found, semcache::kernels::native(x));
          Kokkos::deep_copy(SEMCACHE_KERNELS_ARGUMENT native_r, found());
        } else {
          const HostR found("norms", r.extent(0));
          native<HostR>::nrminf(SEMCACHE_KERNELS_ARGUMENT found, semcache::kernels::native(x));
          for (std::size_t j = 0; j < r.extent(0); ++j) {
            Kokkos::deep_copy(SEMCACHE_KERNELS_ARGUMENT Kokkos::subview(native_r, j), found(j));
          }
        }
      }
    });
  }
};

template <class R, SEMCACHE_KERNELS_OPERAND(X), int Rank>
struct nrm2w_tpl_spec_avail<SEMCACHE_KERNELS_EXEC R, SEMCACHE_KERNELS_VIEW(X), Rank> {
  enum : bool { value = true };
};

template <class R, SEMCACHE_KERNELS_OPERAND(X), int Rank, bool Instantiated>
struct Nrm2w<SEMCACHE_KERNELS_EXEC R, SEMCACHE_KERNELS_VIEW(X), Rank, true, Instantiated> {
  using X = SEMCACHE_KERNELS_VIEW(X);
  using native =
      Nrm2w<SEMCACHE_KERNELS_NATIVE_EXEC semcache::kernels::native_t<R>, semcache::kernels::native_t<X>, Rank>;

  static void nrm2w(SEMCACHE_KERNELS_PARAMETER const R& r, const X& x, const X& weights, const bool& take_root) {
    semcache::kernels::LibraryCall(SEMCACHE_KERNELS_INSTANCE).reads(x, weights).overwrites(r, x.size() != 0).run([&] {
      native::nrm2w(SEMCACHE_KERNELS_ARGUMENT semcache::kernels::native(r), semcache::kernels::native(x),
                    semcache::kernels::native(weights), take_root);
    });
  }
};

template <class R, SEMCACHE_KERNELS_OPERAND(X), SEMCACHE_KERNELS_OPERAND(Y), int RankX, int RankY>
struct dot_tpl_spec_avail<SEMCACHE_KERNELS_EXEC R, SEMCACHE_KERNELS_VIEW(X), SEMCACHE_KERNELS_VIEW(Y), RankX, RankY> {
  enum : bool { value = true };
};

template <class R, SEMCACHE_KERNELS_OPERAND(X), SEMCACHE_KERNELS_OPERAND(Y), int RankX, int RankY, bool Instantiated>
struct Dot<SEMCACHE_KERNELS_EXEC R, SEMCACHE_KERNELS_VIEW(X), SEMCACHE_KERNELS_VIEW(Y), RankX, RankY, true,
           Instantiated> {
  using X = SEMCACHE_KERNELS_VIEW(X);
  using Y = SEMCACHE_KERNELS_VIEW(Y);
  using native = Dot<SEMCACHE_KERNELS_NATIVE_EXEC semcache::kernels::native_t<R>, semcache::kernels::native_t<X>,
                     semcache::kernels::native_t<Y>, RankX, RankY>;

  static void dot(SEMCACHE_KERNELS_PARAMETER const R& r, const X& x, const Y& y) {
    if (semcache::kernels::spreading::dot(SEMCACHE_KERNELS_INSTANCE, r, x, y)) return;
    semcache::kernels::LibraryCall(SEMCACHE_KERNELS_INSTANCE).reads(x, y).overwrites(r, x.size() != 0).run([&] {
      auto native_r = semcache::kernels::native(r);  // not const: the BLAS variant of Kokkos-Kernels 3 takes it so
      native::dot(SEMCACHE_KERNELS_ARGUMENT native_r, semcache::kernels::native(x), semcache::kernels::native(y));
    });
  }
};

#if !SEMCACHE_KERNELS_INSTANCES
/// Kokkos-Kernels 3 does not use a library where `dot` returns the product. Here it may, if the sum has the type of the result.
template <class R, SEMCACHE_KERNELS_OPERAND(X), SEMCACHE_KERNELS_OPERAND(Y)>
struct DotSpecialAccumulator<R, SEMCACHE_KERNELS_VIEW(X), SEMCACHE_KERNELS_VIEW(Y), false> {
  using X = SEMCACHE_KERNELS_VIEW(X);
  using Y = SEMCACHE_KERNELS_VIEW(Y);
  using native_x = semcache::kernels::native_t<X>;
  using native_y = semcache::kernels::native_t<Y>;
  using special = DotSpecialAccumulator<R, native_x, native_y>;
  using native =
      std::conditional_t<std::is_same<typename special::RV_Result, R>::value, Dot<R, native_x, native_y>, special>;

  static void dot(const typename special::RV_Result& r, const X& x, const Y& y) {
    if (semcache::kernels::spreading::dot(SEMCACHE_KERNELS_INSTANCE, r, x, y)) return;
    semcache::kernels::LibraryCall(SEMCACHE_KERNELS_INSTANCE).reads(x, y).overwrites(r).run([&] {
      auto native_r = r;
      native::dot(native_r, semcache::kernels::native(x), semcache::kernels::native(y));
    });
  }
};
#endif

template <class A, SEMCACHE_KERNELS_OPERAND(X), class B, SEMCACHE_KERNELS_OPERAND(Y), int Rank>
struct axpby_tpl_spec_avail<SEMCACHE_KERNELS_EXEC A, SEMCACHE_KERNELS_VIEW(X), B, SEMCACHE_KERNELS_VIEW(Y), Rank> {
  enum : bool { value = true };
};

template <class A, SEMCACHE_KERNELS_OPERAND(X), class B, SEMCACHE_KERNELS_OPERAND(Y), int Rank, bool Instantiated>
struct Axpby<SEMCACHE_KERNELS_EXEC A, SEMCACHE_KERNELS_VIEW(X), B, SEMCACHE_KERNELS_VIEW(Y), Rank, true, Instantiated> {
  using X = SEMCACHE_KERNELS_VIEW(X);
  using Y = SEMCACHE_KERNELS_VIEW(Y);

  static void axpby(SEMCACHE_KERNELS_PARAMETER const A& a, const X& x, const B& b, const Y& y) {
    if (semcache::kernels::spreading::axpby(SEMCACHE_KERNELS_INSTANCE, a, x, b, y)) return;
    const auto run = [&](auto native_x, auto native_y) {
      using native = Axpby<SEMCACHE_KERNELS_NATIVE_EXEC semcache::kernels::native_t<A>, decltype(native_x),
                           semcache::kernels::native_t<B>, decltype(native_y), decltype(native_y)::rank>;
      native::axpby(SEMCACHE_KERNELS_ARGUMENT semcache::kernels::native(a), native_x, semcache::kernels::native(b),
                    native_y);
    };
    semcache::kernels::LibraryCall(SEMCACHE_KERNELS_INSTANCE)
        .reads(a, x, b)
        .overwrites(y, semcache::kernels::is_zero(b))
        .run([&] { semcache::kernels::with_native<A, B>(run, x, y); });
  }
};

template <class R, class A, SEMCACHE_KERNELS_OPERAND(X), int Rank>
struct scal_tpl_spec_avail<SEMCACHE_KERNELS_EXEC R, A, SEMCACHE_KERNELS_VIEW(X), Rank> {
  enum : bool { value = true };
};

template <class R, class A, SEMCACHE_KERNELS_OPERAND(X), int Rank, bool Instantiated>
struct Scal<SEMCACHE_KERNELS_EXEC R, A, SEMCACHE_KERNELS_VIEW(X), Rank, true, Instantiated> {
  using X = SEMCACHE_KERNELS_VIEW(X);

  static void scal(SEMCACHE_KERNELS_PARAMETER const R& r, const A& a, const X& x) {
    if (semcache::kernels::spreading::scal(SEMCACHE_KERNELS_INSTANCE, r, a, x)) return;
    const auto run = [&](auto native_r, auto native_x) {
      using native = Scal<SEMCACHE_KERNELS_NATIVE_EXEC decltype(native_r), semcache::kernels::native_t<A>,
                          decltype(native_x), decltype(native_x)::rank>;
      native::scal(SEMCACHE_KERNELS_ARGUMENT native_r, semcache::kernels::native(a), native_x);
    };
    semcache::kernels::LibraryCall(SEMCACHE_KERNELS_INSTANCE).reads(a, x).overwrites(r).run([&] {
      semcache::kernels::with_native<A>(run, r, x);
    });
  }
};

template <SEMCACHE_KERNELS_OPERAND(X), SEMCACHE_KERNELS_OPERAND(Y), SEMCACHE_KERNELS_OPERAND(Z), int Rank>
struct update_tpl_spec_avail<SEMCACHE_KERNELS_EXEC SEMCACHE_KERNELS_VIEW(X), SEMCACHE_KERNELS_VIEW(Y),
                             SEMCACHE_KERNELS_VIEW(Z), Rank> {
  enum : bool { value = true };
};

template <SEMCACHE_KERNELS_OPERAND(X), SEMCACHE_KERNELS_OPERAND(Y), SEMCACHE_KERNELS_OPERAND(Z), int Rank,
          bool Instantiated>
struct Update<SEMCACHE_KERNELS_EXEC SEMCACHE_KERNELS_VIEW(X), SEMCACHE_KERNELS_VIEW(Y), SEMCACHE_KERNELS_VIEW(Z), Rank,
              true, Instantiated> {
  using X = SEMCACHE_KERNELS_VIEW(X);
  using Y = SEMCACHE_KERNELS_VIEW(Y);
  using Z = SEMCACHE_KERNELS_VIEW(Z);

  static void update(SEMCACHE_KERNELS_PARAMETER const typename X::non_const_value_type& alpha, const X& x,
                     const typename Y::non_const_value_type& beta, const Y& y,
                     const typename Z::non_const_value_type& gamma, const Z& z) {
    const auto run = [&](auto native_x, auto native_y, auto native_z) {
      using native = Update<SEMCACHE_KERNELS_NATIVE_EXEC decltype(native_x), decltype(native_y), decltype(native_z),
                            decltype(native_z)::rank>;
      native::update(SEMCACHE_KERNELS_ARGUMENT alpha, native_x, beta, native_y, gamma, native_z);
    };
    semcache::kernels::LibraryCall(SEMCACHE_KERNELS_INSTANCE)
        .reads(x, y)
        .overwrites(z, semcache::kernels::is_zero(gamma))
        .run([&] { semcache::kernels::with_native<>(run, x, y, z); });
  }
};

template <SEMCACHE_KERNELS_OPERAND(Y), SEMCACHE_KERNELS_OPERAND(A), SEMCACHE_KERNELS_OPERAND(X), int Rank>
struct mult_tpl_spec_avail<SEMCACHE_KERNELS_EXEC SEMCACHE_KERNELS_VIEW(Y), SEMCACHE_KERNELS_VIEW(A),
                           SEMCACHE_KERNELS_VIEW(X), Rank> {
  enum : bool { value = true };
};

template <SEMCACHE_KERNELS_OPERAND(Y), SEMCACHE_KERNELS_OPERAND(A), SEMCACHE_KERNELS_OPERAND(X), int Rank,
          bool Instantiated>
struct Mult<SEMCACHE_KERNELS_EXEC SEMCACHE_KERNELS_VIEW(Y), SEMCACHE_KERNELS_VIEW(A), SEMCACHE_KERNELS_VIEW(X), Rank,
            true, Instantiated> {
  using Y = SEMCACHE_KERNELS_VIEW(Y);
  using A = SEMCACHE_KERNELS_VIEW(A);
  using X = SEMCACHE_KERNELS_VIEW(X);
  using native = Mult<SEMCACHE_KERNELS_NATIVE_EXEC semcache::kernels::native_t<Y>, semcache::kernels::native_t<A>,
                      semcache::kernels::native_t<X>, Rank>;

  static void mult(SEMCACHE_KERNELS_PARAMETER const typename Y::non_const_value_type& gamma, const Y& y,
                   const typename X::non_const_value_type& alpha, const A& a, const X& x) {
    semcache::kernels::LibraryCall(SEMCACHE_KERNELS_INSTANCE)
        .reads(a, x)
        .overwrites(y, semcache::kernels::is_zero(gamma))
        .run([&] {
          native::mult(SEMCACHE_KERNELS_ARGUMENT gamma, semcache::kernels::native(y), alpha,
                       semcache::kernels::native(a), semcache::kernels::native(x));
        });
  }
};

}  // namespace Impl
}  // namespace KokkosBlas
