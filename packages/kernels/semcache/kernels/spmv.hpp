// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/kernels/library_call.hpp>
#include <semcache/kernels/spreading.hpp>

#include <KokkosSparse_CrsMatrix.hpp>
#include <KokkosSparse_spmv.hpp>

#include <cstdint>
#include <string>
#include <utility>

/// Products of a sparse matrix with a vector or a multivector. The native calls use the public function of Kokkos-Kernels,
/// because it avoids its libraries where they cannot do the product.
namespace semcache::kernels::detail {

template <class Scalar, class Ordinal, class Traits, class Size>
using NativeMatrix = KokkosSparse::CrsMatrix<Scalar, Ordinal, NativeDevice, Traits, Size>;

template <class Scalar, class Ordinal, class Traits, class Size>
NativeMatrix<Scalar, Ordinal, Traits, Size> native_matrix(
    const KokkosSparse::CrsMatrix<Scalar, Ordinal, Device, Traits, Size>& a) {
  return {std::string(),          a.numRows(), a.numCols(), a.nnz(), native(a.values), native(a.graph.row_map),
          native(a.graph.entries)};
}

/// Announces what a product y = alpha * op(a) * x + beta * y uses, and calls `body`.
/// @param body  the native call
template <class Matrix, class X, class Coefficient, class Y, class Body>
void product(const Exec& exec, const char mode[], const Matrix& a, const X& x, const Coefficient& beta, const Y& y,
             Body&& body) {
  const bool plain = mode[0] == KokkosSparse::NoTranspose[0] || mode[0] == KokkosSparse::Conjugate[0];
  // The result may have more rows than the product, and those keep their content.
  const bool whole = y.extent(0) == static_cast<std::size_t>(plain ? a.numRows() : a.numCols());
  LibraryCall(exec)
      .reads(a.values, a.graph.row_map, a.graph.entries, x)
      .overwrites(y, whole && is_zero(beta))
      .run(body);
}

#if SEMCACHE_KERNELS_INSTANCES
/// A handle of the native space, which keeps the library's description of the matrix. It is stored where Kokkos-Kernels stores
/// such descriptions: in the program's handle on semcache::Exec.
template <class Scalar, class Offset, class Ordinal>
struct NativeHandle : KokkosSparse::Impl::TPL_SpMV_Data<Exec> {
  using type = KokkosSparse::Impl::SPMVHandleImpl<NativeExec, NativeExec::memory_space, Scalar, Offset, Ordinal>;

  NativeHandle(const Exec& exec, KokkosSparse::SPMVAlgorithm algorithm)
      : KokkosSparse::Impl::TPL_SpMV_Data<Exec>(exec), device(kokkos::detail::device_of_instance(exec)), handle(algorithm) {}

  /// Returns the native handle in `place`, with the options of `ours`. Makes it if there is none on the instance's device.
  template <class Handle>
  static type* of(const Exec& exec, const Handle& ours, KokkosSparse::Impl::TPL_SpMV_Data<Exec>*& place) {
    if (place != nullptr && static_cast<NativeHandle*>(place)->device != kokkos::detail::device_of_instance(exec)) {
      delete std::exchange(place, nullptr);
    }
    if (place == nullptr) place = new NativeHandle(exec, ours.get_algorithm());
    type& native = static_cast<NativeHandle*>(place)->handle;
    native.team_size = ours.team_size;
    native.vector_length = ours.vector_length;
    native.rows_per_thread = ours.rows_per_thread;
    native.force_static_schedule = ours.force_static_schedule;
    native.force_dynamic_schedule = ours.force_dynamic_schedule;
    return &native;
  }

  std::uint32_t device;
  type handle;
};
#endif

}  // namespace semcache::kernels::detail

namespace KokkosSparse {
namespace Impl {

#if SEMCACHE_KERNELS_INSTANCES

#define SEMCACHE_KERNELS_SPARSE_PARAMETERS                                                         \
  class S, class Offset, class Ordinal, class AScalar, class AOrdinal, class ATraits, class ASize, \
      SEMCACHE_KERNELS_OPERAND(X), SEMCACHE_KERNELS_OPERAND(Y)
#define SEMCACHE_KERNELS_SPARSE_ARGUMENTS                                                       \
  semcache::Exec, SPMVHandleImpl<semcache::Exec, semcache::Space, S, Offset, Ordinal>,          \
      CrsMatrix<AScalar, AOrdinal, semcache::Device, ATraits, ASize>, SEMCACHE_KERNELS_VIEW(X), \
      SEMCACHE_KERNELS_VIEW(Y)

template <SEMCACHE_KERNELS_SPARSE_PARAMETERS>
struct spmv_tpl_spec_avail<SEMCACHE_KERNELS_SPARSE_ARGUMENTS> {
  enum : bool { value = true };
};
template <SEMCACHE_KERNELS_SPARSE_PARAMETERS, bool Integer>
struct spmv_mv_tpl_spec_avail<SEMCACHE_KERNELS_SPARSE_ARGUMENTS, Integer> {
  enum : bool { value = true };
};

// The body for vectors and for multivectors. They differ in the function's name and in where the library's description is kept.
#define SEMCACHE_KERNELS_SPARSE_PRODUCT(FUNCTION, PLACE)                                                             \
  using Handle = SPMVHandleImpl<semcache::Exec, semcache::Space, S, Offset, Ordinal>;                                \
  using Matrix = CrsMatrix<AScalar, AOrdinal, semcache::Device, ATraits, ASize>;                                     \
  using X = SEMCACHE_KERNELS_VIEW(X);                                                                                \
  using Y = SEMCACHE_KERNELS_VIEW(Y);                                                                                \
  using coefficient_type = typename Y::non_const_value_type;                                                         \
                                                                                                                     \
  static void FUNCTION(const semcache::Exec& exec, Handle* handle, const char mode[], const coefficient_type& alpha, \
                       const Matrix& a, const X& x, const coefficient_type& beta, const Y& y) {                      \
    if (semcache::kernels::spreading::spmv(exec, mode[0], alpha, a, x, beta, y)) return;                             \
    auto* inner = semcache::kernels::detail::NativeHandle<S, Offset, Ordinal>::of(exec, *handle, handle->PLACE);     \
    semcache::kernels::detail::product(exec, mode, a, x, beta, y, [&] {                                              \
      KokkosSparse::spmv(exec.native(), inner, mode, alpha, semcache::kernels::detail::native_matrix(a),             \
                         semcache::kernels::native(x), beta, semcache::kernels::native(y));                          \
    });                                                                                                              \
  }
template <SEMCACHE_KERNELS_SPARSE_PARAMETERS, bool Instantiated>
struct SPMV<SEMCACHE_KERNELS_SPARSE_ARGUMENTS, true, Instantiated> {
  SEMCACHE_KERNELS_SPARSE_PRODUCT(spmv, tpl_rank1)
};
template <SEMCACHE_KERNELS_SPARSE_PARAMETERS, bool Integer, bool Instantiated>
struct SPMV_MV<SEMCACHE_KERNELS_SPARSE_ARGUMENTS, Integer, true, Instantiated> {
  SEMCACHE_KERNELS_SPARSE_PRODUCT(spmv_mv, tpl_rank2)
};

#else

#define SEMCACHE_KERNELS_SPARSE_PARAMETERS \
  class AScalar, class AOrdinal, class ATraits, class ASize, SEMCACHE_KERNELS_OPERAND(X), SEMCACHE_KERNELS_OPERAND(Y)
#define SEMCACHE_KERNELS_SPARSE_ARGUMENTS                                                                         \
  AScalar, AOrdinal, semcache::Device, ATraits, ASize, XData, XLayout, semcache::Device, XTraits, YData, YLayout, \
      semcache::Device, YTraits

template <SEMCACHE_KERNELS_SPARSE_PARAMETERS>
struct spmv_tpl_spec_avail<SEMCACHE_KERNELS_SPARSE_ARGUMENTS> {
  enum : bool { value = true };
};
template <SEMCACHE_KERNELS_SPARSE_PARAMETERS>
struct spmv_mv_tpl_spec_avail<SEMCACHE_KERNELS_SPARSE_ARGUMENTS> {
  enum : bool { value = true };
};

template <SEMCACHE_KERNELS_SPARSE_PARAMETERS, bool Instantiated>
struct SPMV<SEMCACHE_KERNELS_SPARSE_ARGUMENTS, true, Instantiated> {
  using Matrix = CrsMatrix<AScalar, AOrdinal, semcache::Device, ATraits, ASize>;
  using X = SEMCACHE_KERNELS_VIEW(X);
  using Y = SEMCACHE_KERNELS_VIEW(Y);
  using coefficient_type = typename Y::non_const_value_type;

  static void spmv(const KokkosKernels::Experimental::Controls& controls, const char mode[],
                   const coefficient_type& alpha, const Matrix& a, const X& x, const coefficient_type& beta,
                   const Y& y) {
    if (semcache::kernels::spreading::spmv(semcache::Exec(), mode[0], alpha, a, x, beta, y)) return;
    // Transposed products scale y by beta first, and BLAS keeps NaN there even if beta is zero. So y is cleared instead.
    const bool cleared = mode[0] != NoTranspose[0] && mode[0] != Conjugate[0] && semcache::kernels::is_zero(beta);
    if (cleared) Kokkos::deep_copy(y, coefficient_type(0));
    const coefficient_type factor = cleared ? coefficient_type(1) : beta;
    semcache::kernels::detail::product(semcache::Exec(), mode, a, x, factor, y, [&] {
      KokkosSparse::spmv(controls, mode, alpha, semcache::kernels::detail::native_matrix(a),
                         semcache::kernels::native(x), factor, semcache::kernels::native(y));
    });
  }
};

template <SEMCACHE_KERNELS_SPARSE_PARAMETERS, bool Integer, bool Instantiated>
struct SPMV_MV<SEMCACHE_KERNELS_SPARSE_ARGUMENTS, Integer, true, Instantiated> {
  using Matrix = CrsMatrix<AScalar, AOrdinal, semcache::Device, ATraits, ASize>;
  using X = SEMCACHE_KERNELS_VIEW(X);
  using Y = SEMCACHE_KERNELS_VIEW(Y);
  using coefficient_type = typename Y::non_const_value_type;

  static void spmv_mv(const char mode[], const coefficient_type& alpha, const Matrix& a, const X& x,
                      const coefficient_type& beta, const Y& y) {
    if (semcache::kernels::spreading::spmv(semcache::Exec(), mode[0], alpha, a, x, beta, y)) return;
    semcache::kernels::detail::product(semcache::Exec(), mode, a, x, beta, y, [&] {
      KokkosSparse::spmv(mode, alpha, semcache::kernels::detail::native_matrix(a), semcache::kernels::native(x), beta,
                         semcache::kernels::native(y));
    });
  }
};

#endif
#undef SEMCACHE_KERNELS_SPARSE_PARAMETERS
#undef SEMCACHE_KERNELS_SPARSE_ARGUMENTS
#undef SEMCACHE_KERNELS_SPARSE_PRODUCT

}  // namespace Impl
}  // namespace KokkosSparse
