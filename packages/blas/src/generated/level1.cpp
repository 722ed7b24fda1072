// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
//
// Written by semcache-gen from blas.h: change that, and generate this file anew.
#include "wrapper.hpp"

namespace semcache::blas {
namespace {

[[maybe_unused]] constexpr bool is_complex[] = {false, false, true, true};
constexpr std::uint32_t bytes_of_scalar[] = {sizeof(float), sizeof(double), sizeof(std::complex<float>), sizeof(std::complex<double>)};
struct s_types {
  static constexpr std::size_t type = 0;
  using scalar = float;
  using real = float;
  using value = float;
};
struct d_types {
  static constexpr std::size_t type = 1;
  using scalar = double;
  using real = double;
  using value = double;
};
struct c_types {
  static constexpr std::size_t type = 2;
  using scalar = std::complex<float>;
  using real = float;
  using value = const void*;
};
struct z_types {
  static constexpr std::size_t type = 3;
  using scalar = std::complex<double>;
  using real = double;
  using value = const void*;
};
struct only_types {
  static constexpr std::size_t type = 0;
};
[[maybe_unused]] char letter_of_CBLAS_TRANSPOSE(int code) noexcept {
  return code == 111 ? 'N' : code == 112 ? 'T' : code == 113 ? 'C' : '?';
}
[[maybe_unused]] char letter_of_CBLAS_UPLO(int code) noexcept {
  return code == 121 ? 'U' : code == 122 ? 'L' : '?';
}
[[maybe_unused]] char letter_of_CBLAS_DIAG(int code) noexcept {
  return code == 131 ? 'N' : code == 132 ? 'U' : '?';
}
[[maybe_unused]] char letter_of_CBLAS_SIDE(int code) noexcept {
  return code == 141 ? 'L' : code == 142 ? 'R' : '?';
}

// ---- axpy: line 42

Routine axpy_routines[] = {Routine("BLAS saxpy"), Routine("BLAS daxpy"), Routine("BLAS caxpy"), Routine("BLAS zaxpy")};

struct Axpy : Arguments {
  std::int64_t n = 0;
  Value alpha;
  const void* x = nullptr;
  std::int64_t incx = 0;
  const void* y = nullptr;
  std::int64_t incy = 0;
};

void describe(Axpy& g, Call& call) noexcept {
  call.routine = &axpy_routines[g.type];
  call.at = {g.x, g.y};
  if (g.refused != Verdict::on_device) {
    return refuse(call, Verdict::wrong_arguments);
  }
  if ((g.n <= 0 || g.alpha == 0)) return refuse(call, Verdict::nothing_to_compute);
  if (g.passes || (g.incx == 0 || g.incy == 0)) return refuse(call, Verdict::no_routine);
  if (!all_fit({g.n, g.incx, g.incy})) return refuse(call, Verdict::too_large);
  call.operations = (is_complex[g.type] ? 4.0 : 1.0) * ((2 * as_double(g.n)));
  add(call, vector(g.x, g.n, g.incx, bytes_of_scalar[g.type], Access::read));
  add(call, vector(g.y, g.n, g.incy, bytes_of_scalar[g.type], Access::read_write));
  check_addresses(call);
}

void axpy_on_gpu(void* arguments, const runtime::Stream& stream, const void* const* at) {
  auto& g = *static_cast<Axpy*>(arguments);
  static linalg::CublasRoutine routines[] = {linalg::CublasRoutine("cublasSaxpy_v2"), linalg::CublasRoutine("cublasDaxpy_v2"), linalg::CublasRoutine("cublasCaxpy_v2"), linalg::CublasRoutine("cublasZaxpy_v2")};
  routines[g.type](stream, as_int(g.n), g.alpha.at(), at[0], as_int(g.incx), at[1], as_int(g.incy));
  g.on_gpu = true;
}

template <class P, class Int>
void wrap_daxpy_(AnyFunction host, const Int* n, const typename P::scalar* alpha, const typename P::scalar* x, const Int* incx,
    typename P::scalar* y, const Int* incy) {
  using Host = void(const Int*, const typename P::scalar*, const typename P::scalar*, const Int*, typename P::scalar*, const Int*);
  auto* const routine = reinterpret_cast<Host*>(host);
  if (is_within_call()) return routine(n, alpha, x, incx, y, incy);
  if (any_null(n, alpha, incx, incy)) {
    const PassedThrough within(axpy_routines[P::type], Verdict::nothing_to_compute);
    return routine(n, alpha, x, incx, y, incy);
  }
  const Int n_copy = *n;
  const typename P::scalar alpha_copy = coefficient<typename P::scalar>(alpha);
  const Int incx_copy = *incx;
  const Int incy_copy = *incy;
  Axpy g;
  g.type = P::type;
  g.n = n_copy;
  g.alpha = Value(alpha_copy);
  g.x = x;
  g.incx = incx_copy;
  g.y = y;
  g.incy = incy_copy;
  if (const SmallCall small(axpy_routines[P::type], (2 * as_double(g.n)), as_double(g.n) * as_double(abs_of(g.incx)) * bytes_of_scalar[P::type] + as_double(g.n) * as_double(abs_of(g.incy)) * bytes_of_scalar[P::type]); small) return routine(n, alpha, x, incx, y, incy);
  const auto on_host = [&](const void* const* at) {
    routine(&n_copy, handed<const typename P::scalar*>(alpha_copy), place<const typename P::scalar>(at[0]), &incx_copy,
        place<typename P::scalar>(at[1]), &incy_copy);
    g.on_gpu = false;
  };
  Call call;
  describe(g, call);
  carry_out(call, Wrapped(g, Emulation::by_host, &axpy_on_gpu, on_host));
}

template <class P, class Int>
void wrap_cblas_daxpy(AnyFunction host, Int n, typename P::value alpha, const typename P::scalar* x, Int incx, typename P::scalar* y, Int incy) {
  using Host = void(Int, typename P::value, const typename P::scalar*, Int, typename P::scalar*, Int);
  auto* const routine = reinterpret_cast<Host*>(host);
  if (is_within_call()) return routine(n, alpha, x, incx, y, incy);
  if (any_null(alpha)) {
    const PassedThrough within(axpy_routines[P::type], Verdict::nothing_to_compute);
    return routine(n, alpha, x, incx, y, incy);
  }
  const typename P::scalar alpha_copy = coefficient<typename P::scalar>(alpha);
  Axpy g;
  g.type = P::type;
  g.n = n;
  g.alpha = Value(alpha_copy);
  g.x = x;
  g.incx = incx;
  g.y = y;
  g.incy = incy;
  if (const SmallCall small(axpy_routines[P::type], (2 * as_double(g.n)), as_double(g.n) * as_double(abs_of(g.incx)) * bytes_of_scalar[P::type] + as_double(g.n) * as_double(abs_of(g.incy)) * bytes_of_scalar[P::type]); small) return routine(n, alpha, x, incx, y, incy);
  const auto on_host = [&](const void* const* at) {
    routine(n, handed<typename P::value>(alpha_copy), place<const typename P::scalar>(at[0]), incx, place<typename P::scalar>(at[1]), incy);
    g.on_gpu = false;
  };
  Call call;
  describe(g, call);
  carry_out(call, Wrapped(g, Emulation::by_host, &axpy_on_gpu, on_host));
}

// ---- scal: line 50

Routine scal_routines[] = {Routine("BLAS sscal"), Routine("BLAS dscal"), Routine("BLAS cscal"), Routine("BLAS zscal")};

struct Scal : Arguments {
  std::int64_t n = 0;
  Value alpha;
  const void* x = nullptr;
  std::int64_t incx = 0;
};

void describe(Scal& g, Call& call) noexcept {
  call.routine = &scal_routines[g.type];
  call.at = {g.x};
  if (g.refused != Verdict::on_device) {
    return refuse(call, Verdict::wrong_arguments);
  }
  if ((g.n <= 0 || g.incx <= 0)) return refuse(call, Verdict::nothing_to_compute);
  if (g.passes) return refuse(call, Verdict::no_routine);
  if (!all_fit({g.n, g.incx})) return refuse(call, Verdict::too_large);
  call.operations = (is_complex[g.type] ? 4.0 : 1.0) * (as_double(g.n));
  add(call, vector(g.x, g.n, g.incx, bytes_of_scalar[g.type], Access::read_write));
  check_addresses(call);
}

void scal_on_gpu(void* arguments, const runtime::Stream& stream, const void* const* at) {
  auto& g = *static_cast<Scal*>(arguments);
  static linalg::CublasRoutine routines[] = {linalg::CublasRoutine("cublasSscal_v2"), linalg::CublasRoutine("cublasDscal_v2"), linalg::CublasRoutine("cublasCscal_v2"), linalg::CublasRoutine("cublasZscal_v2")};
  routines[g.type](stream, as_int(g.n), g.alpha.at(), at[0], as_int(g.incx));
  g.on_gpu = true;
}

template <class P, class Int>
void wrap_dscal_(AnyFunction host, const Int* n, const typename P::scalar* alpha, typename P::scalar* x, const Int* incx) {
  using Host = void(const Int*, const typename P::scalar*, typename P::scalar*, const Int*);
  auto* const routine = reinterpret_cast<Host*>(host);
  if (is_within_call()) return routine(n, alpha, x, incx);
  if (any_null(n, alpha, incx)) {
    const PassedThrough within(scal_routines[P::type], Verdict::nothing_to_compute);
    return routine(n, alpha, x, incx);
  }
  const Int n_copy = *n;
  const typename P::scalar alpha_copy = coefficient<typename P::scalar>(alpha);
  const Int incx_copy = *incx;
  Scal g;
  g.type = P::type;
  g.n = n_copy;
  g.alpha = Value(alpha_copy);
  g.x = x;
  g.incx = incx_copy;
  if (const SmallCall small(scal_routines[P::type], as_double(g.n), as_double(g.n) * as_double(abs_of(g.incx)) * bytes_of_scalar[P::type]); small) return routine(n, alpha, x, incx);
  const auto on_host = [&](const void* const* at) {
    routine(&n_copy, handed<const typename P::scalar*>(alpha_copy), place<typename P::scalar>(at[0]), &incx_copy);
    g.on_gpu = false;
  };
  Call call;
  describe(g, call);
  carry_out(call, Wrapped(g, Emulation::by_host, &scal_on_gpu, on_host));
}

template <class P, class Int>
void wrap_cblas_dscal(AnyFunction host, Int n, typename P::value alpha, typename P::scalar* x, Int incx) {
  using Host = void(Int, typename P::value, typename P::scalar*, Int);
  auto* const routine = reinterpret_cast<Host*>(host);
  if (is_within_call()) return routine(n, alpha, x, incx);
  if (any_null(alpha)) {
    const PassedThrough within(scal_routines[P::type], Verdict::nothing_to_compute);
    return routine(n, alpha, x, incx);
  }
  const typename P::scalar alpha_copy = coefficient<typename P::scalar>(alpha);
  Scal g;
  g.type = P::type;
  g.n = n;
  g.alpha = Value(alpha_copy);
  g.x = x;
  g.incx = incx;
  if (const SmallCall small(scal_routines[P::type], as_double(g.n), as_double(g.n) * as_double(abs_of(g.incx)) * bytes_of_scalar[P::type]); small) return routine(n, alpha, x, incx);
  const auto on_host = [&](const void* const* at) {
    routine(n, handed<typename P::value>(alpha_copy), place<typename P::scalar>(at[0]), incx);
    g.on_gpu = false;
  };
  Call call;
  describe(g, call);
  carry_out(call, Wrapped(g, Emulation::by_host, &scal_on_gpu, on_host));
}

// ---- zdscal: line 58

Routine zdscal_routines[] = {Routine(""), Routine(""), Routine("BLAS csscal"), Routine("BLAS zdscal")};

struct Zdscal : Arguments {
  std::int64_t n = 0;
  Value alpha;
  const void* x = nullptr;
  std::int64_t incx = 0;
};

void describe(Zdscal& g, Call& call) noexcept {
  call.routine = &zdscal_routines[g.type];
  call.at = {g.x};
  if (g.refused != Verdict::on_device) {
    return refuse(call, Verdict::wrong_arguments);
  }
  if ((g.n <= 0 || g.incx <= 0)) return refuse(call, Verdict::nothing_to_compute);
  if (g.passes) return refuse(call, Verdict::no_routine);
  if (!all_fit({g.n, g.incx})) return refuse(call, Verdict::too_large);
  call.operations = (is_complex[g.type] ? 4.0 : 1.0) * (as_double(g.n));
  add(call, vector(g.x, g.n, g.incx, bytes_of_scalar[g.type], Access::read_write));
  check_addresses(call);
}

void zdscal_on_gpu(void* arguments, const runtime::Stream& stream, const void* const* at) {
  auto& g = *static_cast<Zdscal*>(arguments);
  static linalg::CublasRoutine routines[] = {linalg::CublasRoutine(""), linalg::CublasRoutine(""), linalg::CublasRoutine("cublasCsscal_v2"), linalg::CublasRoutine("cublasZdscal_v2")};
  routines[g.type](stream, as_int(g.n), g.alpha.at(), at[0], as_int(g.incx));
  g.on_gpu = true;
}

template <class P, class Int>
void wrap_zdscal_(AnyFunction host, const Int* n, const typename P::real* alpha, typename P::scalar* x, const Int* incx) {
  using Host = void(const Int*, const typename P::real*, typename P::scalar*, const Int*);
  auto* const routine = reinterpret_cast<Host*>(host);
  if (is_within_call()) return routine(n, alpha, x, incx);
  if (any_null(n, alpha, incx)) {
    const PassedThrough within(zdscal_routines[P::type], Verdict::nothing_to_compute);
    return routine(n, alpha, x, incx);
  }
  const Int n_copy = *n;
  const typename P::real alpha_copy = coefficient<typename P::real>(alpha);
  const Int incx_copy = *incx;
  Zdscal g;
  g.type = P::type;
  g.n = n_copy;
  g.alpha = Value(alpha_copy);
  g.x = x;
  g.incx = incx_copy;
  if (const SmallCall small(zdscal_routines[P::type], as_double(g.n), as_double(g.n) * as_double(abs_of(g.incx)) * bytes_of_scalar[P::type]); small) return routine(n, alpha, x, incx);
  const auto on_host = [&](const void* const* at) {
    routine(&n_copy, handed<const typename P::real*>(alpha_copy), place<typename P::scalar>(at[0]), &incx_copy);
    g.on_gpu = false;
  };
  Call call;
  describe(g, call);
  carry_out(call, Wrapped(g, Emulation::by_host, &zdscal_on_gpu, on_host));
}

template <class P, class Int>
void wrap_cblas_zdscal(AnyFunction host, Int n, typename P::real alpha, typename P::scalar* x, Int incx) {
  using Host = void(Int, typename P::real, typename P::scalar*, Int);
  auto* const routine = reinterpret_cast<Host*>(host);
  if (is_within_call()) return routine(n, alpha, x, incx);
  if (any_null(alpha)) {
    const PassedThrough within(zdscal_routines[P::type], Verdict::nothing_to_compute);
    return routine(n, alpha, x, incx);
  }
  const typename P::real alpha_copy = coefficient<typename P::real>(alpha);
  Zdscal g;
  g.type = P::type;
  g.n = n;
  g.alpha = Value(alpha_copy);
  g.x = x;
  g.incx = incx;
  if (const SmallCall small(zdscal_routines[P::type], as_double(g.n), as_double(g.n) * as_double(abs_of(g.incx)) * bytes_of_scalar[P::type]); small) return routine(n, alpha, x, incx);
  const auto on_host = [&](const void* const* at) {
    routine(n, handed<typename P::real>(alpha_copy), place<typename P::scalar>(at[0]), incx);
    g.on_gpu = false;
  };
  Call call;
  describe(g, call);
  carry_out(call, Wrapped(g, Emulation::by_host, &zdscal_on_gpu, on_host));
}

// ---- copy: line 67

Routine copy_routines[] = {Routine("BLAS scopy"), Routine("BLAS dcopy"), Routine("BLAS ccopy"), Routine("BLAS zcopy")};

struct Copy : Arguments {
  std::int64_t n = 0;
  const void* x = nullptr;
  std::int64_t incx = 0;
  const void* y = nullptr;
  std::int64_t incy = 0;
};

void describe(Copy& g, Call& call) noexcept {
  call.routine = &copy_routines[g.type];
  call.at = {g.x, g.y};
  if (g.refused != Verdict::on_device) {
    return refuse(call, Verdict::wrong_arguments);
  }
  if (g.n <= 0) return refuse(call, Verdict::nothing_to_compute);
  if (g.passes || (g.incx == 0 || g.incy == 0)) return refuse(call, Verdict::no_routine);
  if (!all_fit({g.n, g.incx, g.incy})) return refuse(call, Verdict::too_large);
  call.operations = (is_complex[g.type] ? 4.0 : 1.0) * (as_double(g.n));
  add(call, vector(g.x, g.n, g.incx, bytes_of_scalar[g.type], Access::read));
  add(call, vector(g.y, g.n, g.incy, bytes_of_scalar[g.type], Access::overwrite));
  check_addresses(call);
}

void copy_on_gpu(void* arguments, const runtime::Stream& stream, const void* const* at) {
  auto& g = *static_cast<Copy*>(arguments);
  static linalg::CublasRoutine routines[] = {linalg::CublasRoutine("cublasScopy_v2"), linalg::CublasRoutine("cublasDcopy_v2"), linalg::CublasRoutine("cublasCcopy_v2"), linalg::CublasRoutine("cublasZcopy_v2")};
  routines[g.type](stream, as_int(g.n), at[0], as_int(g.incx), at[1], as_int(g.incy));
  g.on_gpu = true;
}

template <class P, class Int>
void wrap_dcopy_(AnyFunction host, const Int* n, const typename P::scalar* x, const Int* incx, typename P::scalar* y, const Int* incy) {
  using Host = void(const Int*, const typename P::scalar*, const Int*, typename P::scalar*, const Int*);
  auto* const routine = reinterpret_cast<Host*>(host);
  if (is_within_call()) return routine(n, x, incx, y, incy);
  if (any_null(n, incx, incy)) {
    const PassedThrough within(copy_routines[P::type], Verdict::nothing_to_compute);
    return routine(n, x, incx, y, incy);
  }
  const Int n_copy = *n;
  const Int incx_copy = *incx;
  const Int incy_copy = *incy;
  Copy g;
  g.type = P::type;
  g.n = n_copy;
  g.x = x;
  g.incx = incx_copy;
  g.y = y;
  g.incy = incy_copy;
  if (const SmallCall small(copy_routines[P::type], as_double(g.n), as_double(g.n) * as_double(abs_of(g.incx)) * bytes_of_scalar[P::type] + as_double(g.n) * as_double(abs_of(g.incy)) * bytes_of_scalar[P::type]); small) return routine(n, x, incx, y, incy);
  const auto on_host = [&](const void* const* at) {
    routine(&n_copy, place<const typename P::scalar>(at[0]), &incx_copy, place<typename P::scalar>(at[1]), &incy_copy);
    g.on_gpu = false;
  };
  Call call;
  describe(g, call);
  carry_out(call, Wrapped(g, Emulation::by_host, &copy_on_gpu, on_host));
}

template <class P, class Int>
void wrap_cblas_dcopy(AnyFunction host, Int n, const typename P::scalar* x, Int incx, typename P::scalar* y, Int incy) {
  using Host = void(Int, const typename P::scalar*, Int, typename P::scalar*, Int);
  auto* const routine = reinterpret_cast<Host*>(host);
  if (is_within_call()) return routine(n, x, incx, y, incy);
  Copy g;
  g.type = P::type;
  g.n = n;
  g.x = x;
  g.incx = incx;
  g.y = y;
  g.incy = incy;
  if (const SmallCall small(copy_routines[P::type], as_double(g.n), as_double(g.n) * as_double(abs_of(g.incx)) * bytes_of_scalar[P::type] + as_double(g.n) * as_double(abs_of(g.incy)) * bytes_of_scalar[P::type]); small) return routine(n, x, incx, y, incy);
  const auto on_host = [&](const void* const* at) {
    routine(n, place<const typename P::scalar>(at[0]), incx, place<typename P::scalar>(at[1]), incy);
    g.on_gpu = false;
  };
  Call call;
  describe(g, call);
  carry_out(call, Wrapped(g, Emulation::by_host, &copy_on_gpu, on_host));
}

// ---- swap: line 76

Routine swap_routines[] = {Routine("BLAS sswap"), Routine("BLAS dswap"), Routine("BLAS cswap"), Routine("BLAS zswap")};

struct Swap : Arguments {
  std::int64_t n = 0;
  const void* x = nullptr;
  std::int64_t incx = 0;
  const void* y = nullptr;
  std::int64_t incy = 0;
};

void describe(Swap& g, Call& call) noexcept {
  call.routine = &swap_routines[g.type];
  call.at = {g.x, g.y};
  if (g.refused != Verdict::on_device) {
    return refuse(call, Verdict::wrong_arguments);
  }
  if (g.n <= 0) return refuse(call, Verdict::nothing_to_compute);
  if (g.passes || (g.incx == 0 || g.incy == 0)) return refuse(call, Verdict::no_routine);
  if (!all_fit({g.n, g.incx, g.incy})) return refuse(call, Verdict::too_large);
  call.operations = (is_complex[g.type] ? 4.0 : 1.0) * (as_double(g.n));
  add(call, vector(g.x, g.n, g.incx, bytes_of_scalar[g.type], Access::read_write));
  add(call, vector(g.y, g.n, g.incy, bytes_of_scalar[g.type], Access::read_write));
  check_addresses(call);
}

void swap_on_gpu(void* arguments, const runtime::Stream& stream, const void* const* at) {
  auto& g = *static_cast<Swap*>(arguments);
  static linalg::CublasRoutine routines[] = {linalg::CublasRoutine("cublasSswap_v2"), linalg::CublasRoutine("cublasDswap_v2"), linalg::CublasRoutine("cublasCswap_v2"), linalg::CublasRoutine("cublasZswap_v2")};
  routines[g.type](stream, as_int(g.n), at[0], as_int(g.incx), at[1], as_int(g.incy));
  g.on_gpu = true;
}

template <class P, class Int>
void wrap_dswap_(AnyFunction host, const Int* n, typename P::scalar* x, const Int* incx, typename P::scalar* y, const Int* incy) {
  using Host = void(const Int*, typename P::scalar*, const Int*, typename P::scalar*, const Int*);
  auto* const routine = reinterpret_cast<Host*>(host);
  if (is_within_call()) return routine(n, x, incx, y, incy);
  if (any_null(n, incx, incy)) {
    const PassedThrough within(swap_routines[P::type], Verdict::nothing_to_compute);
    return routine(n, x, incx, y, incy);
  }
  const Int n_copy = *n;
  const Int incx_copy = *incx;
  const Int incy_copy = *incy;
  Swap g;
  g.type = P::type;
  g.n = n_copy;
  g.x = x;
  g.incx = incx_copy;
  g.y = y;
  g.incy = incy_copy;
  if (const SmallCall small(swap_routines[P::type], as_double(g.n), as_double(g.n) * as_double(abs_of(g.incx)) * bytes_of_scalar[P::type] + as_double(g.n) * as_double(abs_of(g.incy)) * bytes_of_scalar[P::type]); small) return routine(n, x, incx, y, incy);
  const auto on_host = [&](const void* const* at) {
    routine(&n_copy, place<typename P::scalar>(at[0]), &incx_copy, place<typename P::scalar>(at[1]), &incy_copy);
    g.on_gpu = false;
  };
  Call call;
  describe(g, call);
  carry_out(call, Wrapped(g, Emulation::by_host, &swap_on_gpu, on_host));
}

template <class P, class Int>
void wrap_cblas_dswap(AnyFunction host, Int n, typename P::scalar* x, Int incx, typename P::scalar* y, Int incy) {
  using Host = void(Int, typename P::scalar*, Int, typename P::scalar*, Int);
  auto* const routine = reinterpret_cast<Host*>(host);
  if (is_within_call()) return routine(n, x, incx, y, incy);
  Swap g;
  g.type = P::type;
  g.n = n;
  g.x = x;
  g.incx = incx;
  g.y = y;
  g.incy = incy;
  if (const SmallCall small(swap_routines[P::type], as_double(g.n), as_double(g.n) * as_double(abs_of(g.incx)) * bytes_of_scalar[P::type] + as_double(g.n) * as_double(abs_of(g.incy)) * bytes_of_scalar[P::type]); small) return routine(n, x, incx, y, incy);
  const auto on_host = [&](const void* const* at) {
    routine(n, place<typename P::scalar>(at[0]), incx, place<typename P::scalar>(at[1]), incy);
    g.on_gpu = false;
  };
  Call call;
  describe(g, call);
  carry_out(call, Wrapped(g, Emulation::by_host, &swap_on_gpu, on_host));
}

// ---- dot: line 85

Routine dot_routines[] = {Routine("BLAS sdot"), Routine("BLAS ddot"), Routine(""), Routine("")};

struct Dot : Arguments {
  std::int64_t n = 0;
  const void* x = nullptr;
  std::int64_t incx = 0;
  const void* y = nullptr;
  std::int64_t incy = 0;
};

void describe(Dot& g, Call& call) noexcept {
  call.routine = &dot_routines[g.type];
  call.at = {g.x, g.y};
  if (g.refused != Verdict::on_device) {
    return refuse(call, Verdict::wrong_arguments);
  }
  if (g.n <= 0) return refuse(call, Verdict::nothing_to_compute);
  if (g.passes || (g.incx == 0 || g.incy == 0)) return refuse(call, Verdict::no_routine);
  if (!all_fit({g.n, g.incx, g.incy})) return refuse(call, Verdict::too_large);
  call.operations = (is_complex[g.type] ? 4.0 : 1.0) * ((2 * as_double(g.n)));
  add(call, vector(g.x, g.n, g.incx, bytes_of_scalar[g.type], Access::read));
  add(call, vector(g.y, g.n, g.incy, bytes_of_scalar[g.type], Access::read));
  check_addresses(call);
}

void dot_on_gpu(void* arguments, const runtime::Stream& stream, const void* const* at) {
  auto& g = *static_cast<Dot*>(arguments);
  static linalg::CublasRoutine routines[] = {linalg::CublasRoutine("cublasSdot_v2"), linalg::CublasRoutine("cublasDdot_v2"), linalg::CublasRoutine(""), linalg::CublasRoutine("")};
  routines[g.type](stream, as_int(g.n), at[0], as_int(g.incx), at[1], as_int(g.incy), g.result);
  g.on_gpu = true;
}

template <class P, class Int>
typename P::scalar wrap_ddot_(AnyFunction host, const Int* n, const typename P::scalar* x, const Int* incx, const typename P::scalar* y,
    const Int* incy) {
  using Host = typename P::scalar(const Int*, const typename P::scalar*, const Int*, const typename P::scalar*, const Int*);
  auto* const routine = reinterpret_cast<Host*>(host);
  if (is_within_call()) return routine(n, x, incx, y, incy);
  if (any_null(n, incx, incy)) {
    const PassedThrough within(dot_routines[P::type], Verdict::nothing_to_compute);
    return routine(n, x, incx, y, incy);
  }
  const Int n_copy = *n;
  const Int incx_copy = *incx;
  const Int incy_copy = *incy;
  Dot g;
  g.type = P::type;
  g.n = n_copy;
  g.x = x;
  g.incx = incx_copy;
  g.y = y;
  g.incy = incy_copy;
  if (const SmallCall small(dot_routines[P::type], (2 * as_double(g.n)), as_double(g.n) * as_double(abs_of(g.incx)) * bytes_of_scalar[P::type] + as_double(g.n) * as_double(abs_of(g.incy)) * bytes_of_scalar[P::type]); small) return routine(n, x, incx, y, incy);
  alignas(16) typename P::scalar result{};  // cuBLAS writes a complex number at once
  g.result = &result;
  const auto on_host = [&](const void* const* at) {
    result = routine(&n_copy, place<const typename P::scalar>(at[0]), &incx_copy, place<const typename P::scalar>(at[1]), &incy_copy);
    g.on_gpu = false;
  };
  Call call;
  describe(g, call);
  carry_out(call, Wrapped(g, Emulation::by_host, &dot_on_gpu, on_host));
  return result;
}

template <class P, class Int>
typename P::scalar wrap_cblas_ddot(AnyFunction host, Int n, const typename P::scalar* x, Int incx, const typename P::scalar* y, Int incy) {
  using Host = typename P::scalar(Int, const typename P::scalar*, Int, const typename P::scalar*, Int);
  auto* const routine = reinterpret_cast<Host*>(host);
  if (is_within_call()) return routine(n, x, incx, y, incy);
  Dot g;
  g.type = P::type;
  g.n = n;
  g.x = x;
  g.incx = incx;
  g.y = y;
  g.incy = incy;
  if (const SmallCall small(dot_routines[P::type], (2 * as_double(g.n)), as_double(g.n) * as_double(abs_of(g.incx)) * bytes_of_scalar[P::type] + as_double(g.n) * as_double(abs_of(g.incy)) * bytes_of_scalar[P::type]); small) return routine(n, x, incx, y, incy);
  alignas(16) typename P::scalar result{};  // cuBLAS writes a complex number at once
  g.result = &result;
  const auto on_host = [&](const void* const* at) {
    result = routine(n, place<const typename P::scalar>(at[0]), incx, place<const typename P::scalar>(at[1]), incy);
    g.on_gpu = false;
  };
  Call call;
  describe(g, call);
  carry_out(call, Wrapped(g, Emulation::by_host, &dot_on_gpu, on_host));
  return result;
}

// ---- dotu: line 94

Routine dotu_routines[] = {Routine(""), Routine(""), Routine("BLAS cdotu"), Routine("BLAS zdotu")};

struct Dotu : Arguments {
  std::int64_t n = 0;
  const void* x = nullptr;
  std::int64_t incx = 0;
  const void* y = nullptr;
  std::int64_t incy = 0;
};

void describe(Dotu& g, Call& call) noexcept {
  call.routine = &dotu_routines[g.type];
  call.at = {g.x, g.y};
  if (g.refused != Verdict::on_device) {
    return refuse(call, Verdict::wrong_arguments);
  }
  if (g.n <= 0) return refuse(call, Verdict::nothing_to_compute);
  if (g.passes || (g.incx == 0 || g.incy == 0)) return refuse(call, Verdict::no_routine);
  if (!all_fit({g.n, g.incx, g.incy})) return refuse(call, Verdict::too_large);
  call.operations = (is_complex[g.type] ? 4.0 : 1.0) * ((2 * as_double(g.n)));
  add(call, vector(g.x, g.n, g.incx, bytes_of_scalar[g.type], Access::read));
  add(call, vector(g.y, g.n, g.incy, bytes_of_scalar[g.type], Access::read));
  check_addresses(call);
}

void dotu_on_gpu(void* arguments, const runtime::Stream& stream, const void* const* at) {
  auto& g = *static_cast<Dotu*>(arguments);
  static linalg::CublasRoutine routines[] = {linalg::CublasRoutine(""), linalg::CublasRoutine(""), linalg::CublasRoutine("cublasCdotu_v2"), linalg::CublasRoutine("cublasZdotu_v2")};
  routines[g.type](stream, as_int(g.n), at[0], as_int(g.incx), at[1], as_int(g.incy), g.result);
  g.on_gpu = true;
}

template <class P, class Int>
typename P::scalar wrap_zdotu_(AnyFunction host, const Int* n, const typename P::scalar* x, const Int* incx, const typename P::scalar* y,
    const Int* incy) {
  using Host = typename P::scalar(const Int*, const typename P::scalar*, const Int*, const typename P::scalar*, const Int*);
  auto* const routine = reinterpret_cast<Host*>(host);
  if (is_within_call()) return routine(n, x, incx, y, incy);
  if (any_null(n, incx, incy)) {
    const PassedThrough within(dotu_routines[P::type], Verdict::nothing_to_compute);
    return routine(n, x, incx, y, incy);
  }
  const Int n_copy = *n;
  const Int incx_copy = *incx;
  const Int incy_copy = *incy;
  Dotu g;
  g.type = P::type;
  g.n = n_copy;
  g.x = x;
  g.incx = incx_copy;
  g.y = y;
  g.incy = incy_copy;
  if (const SmallCall small(dotu_routines[P::type], (2 * as_double(g.n)), as_double(g.n) * as_double(abs_of(g.incx)) * bytes_of_scalar[P::type] + as_double(g.n) * as_double(abs_of(g.incy)) * bytes_of_scalar[P::type]); small) return routine(n, x, incx, y, incy);
  alignas(16) typename P::scalar result{};  // cuBLAS writes a complex number at once
  g.result = &result;
  const auto on_host = [&](const void* const* at) {
    result = routine(&n_copy, place<const typename P::scalar>(at[0]), &incx_copy, place<const typename P::scalar>(at[1]), &incy_copy);
    g.on_gpu = false;
  };
  Call call;
  describe(g, call);
  carry_out(call, Wrapped(g, Emulation::by_host, &dotu_on_gpu, on_host));
  return result;
}

template <class P, class Int>
void wrap_cblas_zdotu_sub(AnyFunction host, Int n, const typename P::scalar* x, Int incx, const typename P::scalar* y, Int incy,
    typename P::scalar* dotu) {
  using Host = void(Int, const typename P::scalar*, Int, const typename P::scalar*, Int, typename P::scalar*);
  auto* const routine = reinterpret_cast<Host*>(host);
  if (is_within_call()) return routine(n, x, incx, y, incy, dotu);
  if (any_null(dotu)) {
    const PassedThrough within(dotu_routines[P::type], Verdict::nothing_to_compute);
    return routine(n, x, incx, y, incy, dotu);
  }
  Dotu g;
  g.type = P::type;
  g.n = n;
  g.x = x;
  g.incx = incx;
  g.y = y;
  g.incy = incy;
  if (const SmallCall small(dotu_routines[P::type], (2 * as_double(g.n)), as_double(g.n) * as_double(abs_of(g.incx)) * bytes_of_scalar[P::type] + as_double(g.n) * as_double(abs_of(g.incy)) * bytes_of_scalar[P::type]); small) return routine(n, x, incx, y, incy, dotu);
  alignas(16) typename P::scalar result{};  // cuBLAS writes a complex number at once
  g.result = &result;
  const auto on_host = [&](const void* const* at) {
    routine(n, place<const typename P::scalar>(at[0]), incx, place<const typename P::scalar>(at[1]), incy, &result);
    g.on_gpu = false;
  };
  Call call;
  describe(g, call);
  carry_out(call, Wrapped(g, Emulation::by_host, &dotu_on_gpu, on_host));
  *dotu = result;
}

// ---- dotc: line 104

Routine dotc_routines[] = {Routine(""), Routine(""), Routine("BLAS cdotc"), Routine("BLAS zdotc")};

struct Dotc : Arguments {
  std::int64_t n = 0;
  const void* x = nullptr;
  std::int64_t incx = 0;
  const void* y = nullptr;
  std::int64_t incy = 0;
};

void describe(Dotc& g, Call& call) noexcept {
  call.routine = &dotc_routines[g.type];
  call.at = {g.x, g.y};
  if (g.refused != Verdict::on_device) {
    return refuse(call, Verdict::wrong_arguments);
  }
  if (g.n <= 0) return refuse(call, Verdict::nothing_to_compute);
  if (g.passes || (g.incx == 0 || g.incy == 0)) return refuse(call, Verdict::no_routine);
  if (!all_fit({g.n, g.incx, g.incy})) return refuse(call, Verdict::too_large);
  call.operations = (is_complex[g.type] ? 4.0 : 1.0) * ((2 * as_double(g.n)));
  add(call, vector(g.x, g.n, g.incx, bytes_of_scalar[g.type], Access::read));
  add(call, vector(g.y, g.n, g.incy, bytes_of_scalar[g.type], Access::read));
  check_addresses(call);
}

void dotc_on_gpu(void* arguments, const runtime::Stream& stream, const void* const* at) {
  auto& g = *static_cast<Dotc*>(arguments);
  static linalg::CublasRoutine routines[] = {linalg::CublasRoutine(""), linalg::CublasRoutine(""), linalg::CublasRoutine("cublasCdotc_v2"), linalg::CublasRoutine("cublasZdotc_v2")};
  routines[g.type](stream, as_int(g.n), at[0], as_int(g.incx), at[1], as_int(g.incy), g.result);
  g.on_gpu = true;
}

template <class P, class Int>
typename P::scalar wrap_zdotc_(AnyFunction host, const Int* n, const typename P::scalar* x, const Int* incx, const typename P::scalar* y,
    const Int* incy) {
  using Host = typename P::scalar(const Int*, const typename P::scalar*, const Int*, const typename P::scalar*, const Int*);
  auto* const routine = reinterpret_cast<Host*>(host);
  if (is_within_call()) return routine(n, x, incx, y, incy);
  if (any_null(n, incx, incy)) {
    const PassedThrough within(dotc_routines[P::type], Verdict::nothing_to_compute);
    return routine(n, x, incx, y, incy);
  }
  const Int n_copy = *n;
  const Int incx_copy = *incx;
  const Int incy_copy = *incy;
  Dotc g;
  g.type = P::type;
  g.n = n_copy;
  g.x = x;
  g.incx = incx_copy;
  g.y = y;
  g.incy = incy_copy;
  if (const SmallCall small(dotc_routines[P::type], (2 * as_double(g.n)), as_double(g.n) * as_double(abs_of(g.incx)) * bytes_of_scalar[P::type] + as_double(g.n) * as_double(abs_of(g.incy)) * bytes_of_scalar[P::type]); small) return routine(n, x, incx, y, incy);
  alignas(16) typename P::scalar result{};  // cuBLAS writes a complex number at once
  g.result = &result;
  const auto on_host = [&](const void* const* at) {
    result = routine(&n_copy, place<const typename P::scalar>(at[0]), &incx_copy, place<const typename P::scalar>(at[1]), &incy_copy);
    g.on_gpu = false;
  };
  Call call;
  describe(g, call);
  carry_out(call, Wrapped(g, Emulation::by_host, &dotc_on_gpu, on_host));
  return result;
}

template <class P, class Int>
void wrap_cblas_zdotc_sub(AnyFunction host, Int n, const typename P::scalar* x, Int incx, const typename P::scalar* y, Int incy,
    typename P::scalar* dotc) {
  using Host = void(Int, const typename P::scalar*, Int, const typename P::scalar*, Int, typename P::scalar*);
  auto* const routine = reinterpret_cast<Host*>(host);
  if (is_within_call()) return routine(n, x, incx, y, incy, dotc);
  if (any_null(dotc)) {
    const PassedThrough within(dotc_routines[P::type], Verdict::nothing_to_compute);
    return routine(n, x, incx, y, incy, dotc);
  }
  Dotc g;
  g.type = P::type;
  g.n = n;
  g.x = x;
  g.incx = incx;
  g.y = y;
  g.incy = incy;
  if (const SmallCall small(dotc_routines[P::type], (2 * as_double(g.n)), as_double(g.n) * as_double(abs_of(g.incx)) * bytes_of_scalar[P::type] + as_double(g.n) * as_double(abs_of(g.incy)) * bytes_of_scalar[P::type]); small) return routine(n, x, incx, y, incy, dotc);
  alignas(16) typename P::scalar result{};  // cuBLAS writes a complex number at once
  g.result = &result;
  const auto on_host = [&](const void* const* at) {
    routine(n, place<const typename P::scalar>(at[0]), incx, place<const typename P::scalar>(at[1]), incy, &result);
    g.on_gpu = false;
  };
  Call call;
  describe(g, call);
  carry_out(call, Wrapped(g, Emulation::by_host, &dotc_on_gpu, on_host));
  *dotc = result;
}

// ---- dnrm2: line 113

Routine dnrm2_routines[] = {Routine("BLAS snrm2"), Routine("BLAS dnrm2"), Routine("BLAS scnrm2"), Routine("BLAS dznrm2")};

struct Dnrm2 : Arguments {
  std::int64_t n = 0;
  const void* x = nullptr;
  std::int64_t incx = 0;
};

void describe(Dnrm2& g, Call& call) noexcept {
  call.routine = &dnrm2_routines[g.type];
  call.at = {g.x};
  if (g.refused != Verdict::on_device) {
    return refuse(call, Verdict::wrong_arguments);
  }
  if ((g.n <= 0 || g.incx <= 0)) return refuse(call, Verdict::nothing_to_compute);
  if (g.passes) return refuse(call, Verdict::no_routine);
  if (!all_fit({g.n, g.incx})) return refuse(call, Verdict::too_large);
  call.operations = (is_complex[g.type] ? 4.0 : 1.0) * ((2 * as_double(g.n)));
  add(call, vector(g.x, g.n, g.incx, bytes_of_scalar[g.type], Access::read));
  check_addresses(call);
}

void dnrm2_on_gpu(void* arguments, const runtime::Stream& stream, const void* const* at) {
  auto& g = *static_cast<Dnrm2*>(arguments);
  static linalg::CublasRoutine routines[] = {linalg::CublasRoutine("cublasSnrm2_v2"), linalg::CublasRoutine("cublasDnrm2_v2"), linalg::CublasRoutine("cublasScnrm2_v2"), linalg::CublasRoutine("cublasDznrm2_v2")};
  routines[g.type](stream, as_int(g.n), at[0], as_int(g.incx), g.result);
  g.on_gpu = true;
}

template <class P, class Int>
typename P::real wrap_dnrm2_(AnyFunction host, const Int* n, const typename P::scalar* x, const Int* incx) {
  using Host = typename P::real(const Int*, const typename P::scalar*, const Int*);
  auto* const routine = reinterpret_cast<Host*>(host);
  if (is_within_call()) return routine(n, x, incx);
  if (any_null(n, incx)) {
    const PassedThrough within(dnrm2_routines[P::type], Verdict::nothing_to_compute);
    return routine(n, x, incx);
  }
  const Int n_copy = *n;
  const Int incx_copy = *incx;
  Dnrm2 g;
  g.type = P::type;
  g.n = n_copy;
  g.x = x;
  g.incx = incx_copy;
  if (const SmallCall small(dnrm2_routines[P::type], (2 * as_double(g.n)), as_double(g.n) * as_double(abs_of(g.incx)) * bytes_of_scalar[P::type]); small) return routine(n, x, incx);
  alignas(16) typename P::real result{};  // cuBLAS writes a complex number at once
  g.result = &result;
  const auto on_host = [&](const void* const* at) {
    result = routine(&n_copy, place<const typename P::scalar>(at[0]), &incx_copy);
    g.on_gpu = false;
  };
  Call call;
  describe(g, call);
  carry_out(call, Wrapped(g, Emulation::by_host, &dnrm2_on_gpu, on_host));
  return result;
}

template <class P, class Int>
typename P::real wrap_cblas_dnrm2(AnyFunction host, Int n, const typename P::scalar* x, Int incx) {
  using Host = typename P::real(Int, const typename P::scalar*, Int);
  auto* const routine = reinterpret_cast<Host*>(host);
  if (is_within_call()) return routine(n, x, incx);
  Dnrm2 g;
  g.type = P::type;
  g.n = n;
  g.x = x;
  g.incx = incx;
  if (const SmallCall small(dnrm2_routines[P::type], (2 * as_double(g.n)), as_double(g.n) * as_double(abs_of(g.incx)) * bytes_of_scalar[P::type]); small) return routine(n, x, incx);
  alignas(16) typename P::real result{};  // cuBLAS writes a complex number at once
  g.result = &result;
  const auto on_host = [&](const void* const* at) {
    result = routine(n, place<const typename P::scalar>(at[0]), incx);
    g.on_gpu = false;
  };
  Call call;
  describe(g, call);
  carry_out(call, Wrapped(g, Emulation::by_host, &dnrm2_on_gpu, on_host));
  return result;
}

// ---- dasum: line 121

Routine dasum_routines[] = {Routine("BLAS sasum"), Routine("BLAS dasum"), Routine("BLAS scasum"), Routine("BLAS dzasum")};

struct Dasum : Arguments {
  std::int64_t n = 0;
  const void* x = nullptr;
  std::int64_t incx = 0;
};

void describe(Dasum& g, Call& call) noexcept {
  call.routine = &dasum_routines[g.type];
  call.at = {g.x};
  if (g.refused != Verdict::on_device) {
    return refuse(call, Verdict::wrong_arguments);
  }
  if ((g.n <= 0 || g.incx <= 0)) return refuse(call, Verdict::nothing_to_compute);
  if (g.passes) return refuse(call, Verdict::no_routine);
  if (!all_fit({g.n, g.incx})) return refuse(call, Verdict::too_large);
  call.operations = (is_complex[g.type] ? 4.0 : 1.0) * ((2 * as_double(g.n)));
  add(call, vector(g.x, g.n, g.incx, bytes_of_scalar[g.type], Access::read));
  check_addresses(call);
}

void dasum_on_gpu(void* arguments, const runtime::Stream& stream, const void* const* at) {
  auto& g = *static_cast<Dasum*>(arguments);
  static linalg::CublasRoutine routines[] = {linalg::CublasRoutine("cublasSasum_v2"), linalg::CublasRoutine("cublasDasum_v2"), linalg::CublasRoutine("cublasScasum_v2"), linalg::CublasRoutine("cublasDzasum_v2")};
  routines[g.type](stream, as_int(g.n), at[0], as_int(g.incx), g.result);
  g.on_gpu = true;
}

template <class P, class Int>
typename P::real wrap_dasum_(AnyFunction host, const Int* n, const typename P::scalar* x, const Int* incx) {
  using Host = typename P::real(const Int*, const typename P::scalar*, const Int*);
  auto* const routine = reinterpret_cast<Host*>(host);
  if (is_within_call()) return routine(n, x, incx);
  if (any_null(n, incx)) {
    const PassedThrough within(dasum_routines[P::type], Verdict::nothing_to_compute);
    return routine(n, x, incx);
  }
  const Int n_copy = *n;
  const Int incx_copy = *incx;
  Dasum g;
  g.type = P::type;
  g.n = n_copy;
  g.x = x;
  g.incx = incx_copy;
  if (const SmallCall small(dasum_routines[P::type], (2 * as_double(g.n)), as_double(g.n) * as_double(abs_of(g.incx)) * bytes_of_scalar[P::type]); small) return routine(n, x, incx);
  alignas(16) typename P::real result{};  // cuBLAS writes a complex number at once
  g.result = &result;
  const auto on_host = [&](const void* const* at) {
    result = routine(&n_copy, place<const typename P::scalar>(at[0]), &incx_copy);
    g.on_gpu = false;
  };
  Call call;
  describe(g, call);
  carry_out(call, Wrapped(g, Emulation::by_host, &dasum_on_gpu, on_host));
  return result;
}

template <class P, class Int>
typename P::real wrap_cblas_dasum(AnyFunction host, Int n, const typename P::scalar* x, Int incx) {
  using Host = typename P::real(Int, const typename P::scalar*, Int);
  auto* const routine = reinterpret_cast<Host*>(host);
  if (is_within_call()) return routine(n, x, incx);
  Dasum g;
  g.type = P::type;
  g.n = n;
  g.x = x;
  g.incx = incx;
  if (const SmallCall small(dasum_routines[P::type], (2 * as_double(g.n)), as_double(g.n) * as_double(abs_of(g.incx)) * bytes_of_scalar[P::type]); small) return routine(n, x, incx);
  alignas(16) typename P::real result{};  // cuBLAS writes a complex number at once
  g.result = &result;
  const auto on_host = [&](const void* const* at) {
    result = routine(n, place<const typename P::scalar>(at[0]), incx);
    g.on_gpu = false;
  };
  Call call;
  describe(g, call);
  carry_out(call, Wrapped(g, Emulation::by_host, &dasum_on_gpu, on_host));
  return result;
}

// ---- idamax: line 130

Routine idamax_routines[] = {Routine("BLAS isamax"), Routine("BLAS idamax"), Routine("BLAS icamax"), Routine("BLAS izamax")};

struct Idamax : Arguments {
  std::int64_t n = 0;
  const void* x = nullptr;
  std::int64_t incx = 0;
};

void describe(Idamax& g, Call& call) noexcept {
  call.routine = &idamax_routines[g.type];
  call.at = {g.x};
  if (g.refused != Verdict::on_device) {
    return refuse(call, Verdict::wrong_arguments);
  }
  if ((g.n <= 0 || g.incx <= 0)) return refuse(call, Verdict::nothing_to_compute);
  if (g.passes) return refuse(call, Verdict::no_routine);
  if (!all_fit({g.n, g.incx})) return refuse(call, Verdict::too_large);
  call.operations = (is_complex[g.type] ? 4.0 : 1.0) * ((2 * as_double(g.n)));
  add(call, vector(g.x, g.n, g.incx, bytes_of_scalar[g.type], Access::read));
  check_addresses(call);
}

void idamax_on_gpu(void* arguments, const runtime::Stream& stream, const void* const* at) {
  auto& g = *static_cast<Idamax*>(arguments);
  static linalg::CublasRoutine routines[] = {linalg::CublasRoutine("cublasIsamax_v2"), linalg::CublasRoutine("cublasIdamax_v2"), linalg::CublasRoutine("cublasIcamax_v2"), linalg::CublasRoutine("cublasIzamax_v2")};
  routines[g.type](stream, as_int(g.n), at[0], as_int(g.incx), g.result);
  g.on_gpu = true;
}

template <class P, class Int>
Int wrap_idamax_(AnyFunction host, const Int* n, const typename P::scalar* x, const Int* incx) {
  using Host = Int(const Int*, const typename P::scalar*, const Int*);
  auto* const routine = reinterpret_cast<Host*>(host);
  if (is_within_call()) return routine(n, x, incx);
  if (any_null(n, incx)) {
    const PassedThrough within(idamax_routines[P::type], Verdict::nothing_to_compute);
    return routine(n, x, incx);
  }
  const Int n_copy = *n;
  const Int incx_copy = *incx;
  Idamax g;
  g.type = P::type;
  g.n = n_copy;
  g.x = x;
  g.incx = incx_copy;
  if (const SmallCall small(idamax_routines[P::type], (2 * as_double(g.n)), as_double(g.n) * as_double(abs_of(g.incx)) * bytes_of_scalar[P::type]); small) return routine(n, x, incx);
  alignas(16) Int result{};  // cuBLAS writes a complex number at once
  int on_gpu{};
  g.result = &on_gpu;
  const auto on_host = [&](const void* const* at) {
    result = routine(&n_copy, place<const typename P::scalar>(at[0]), &incx_copy);
    g.on_gpu = false;
  };
  Call call;
  describe(g, call);
  carry_out(call, Wrapped(g, Emulation::by_host, &idamax_on_gpu, on_host));
  if (g.on_gpu) result = static_cast<Int>(on_gpu);
  return result;
}

template <class P, class Int>
std::size_t wrap_cblas_idamax(AnyFunction host, Int n, const typename P::scalar* x, Int incx) {
  using Host = std::size_t(Int, const typename P::scalar*, Int);
  auto* const routine = reinterpret_cast<Host*>(host);
  if (is_within_call()) return routine(n, x, incx);
  Idamax g;
  g.type = P::type;
  g.n = n;
  g.x = x;
  g.incx = incx;
  if (const SmallCall small(idamax_routines[P::type], (2 * as_double(g.n)), as_double(g.n) * as_double(abs_of(g.incx)) * bytes_of_scalar[P::type]); small) return routine(n, x, incx);
  alignas(16) std::size_t result{};  // cuBLAS writes a complex number at once
  int on_gpu{};
  g.result = &on_gpu;
  const auto on_host = [&](const void* const* at) {
    result = routine(n, place<const typename P::scalar>(at[0]), incx);
    g.on_gpu = false;
  };
  Call call;
  describe(g, call);
  carry_out(call, Wrapped(g, Emulation::by_host, &idamax_on_gpu, on_host));
  if (g.on_gpu) result = static_cast<std::size_t>((on_gpu - 1));
  return result;
}

// ---- drot: line 140

Routine drot_routines[] = {Routine("BLAS srot"), Routine("BLAS drot"), Routine("BLAS csrot"), Routine("BLAS zdrot")};

struct Drot : Arguments {
  std::int64_t n = 0;
  const void* x = nullptr;
  std::int64_t incx = 0;
  const void* y = nullptr;
  std::int64_t incy = 0;
  Value c;
  Value s;
};

void describe(Drot& g, Call& call) noexcept {
  call.routine = &drot_routines[g.type];
  call.at = {g.x, g.y};
  if (g.refused != Verdict::on_device) {
    return refuse(call, Verdict::wrong_arguments);
  }
  if (g.n <= 0) return refuse(call, Verdict::nothing_to_compute);
  if (g.passes || (g.incx == 0 || g.incy == 0)) return refuse(call, Verdict::no_routine);
  if (!all_fit({g.n, g.incx, g.incy})) return refuse(call, Verdict::too_large);
  call.operations = (is_complex[g.type] ? 4.0 : 1.0) * ((6 * as_double(g.n)));
  add(call, vector(g.x, g.n, g.incx, bytes_of_scalar[g.type], Access::read_write));
  add(call, vector(g.y, g.n, g.incy, bytes_of_scalar[g.type], Access::read_write));
  check_addresses(call);
}

void drot_on_gpu(void* arguments, const runtime::Stream& stream, const void* const* at) {
  auto& g = *static_cast<Drot*>(arguments);
  static linalg::CublasRoutine routines[] = {linalg::CublasRoutine("cublasSrot_v2"), linalg::CublasRoutine("cublasDrot_v2"), linalg::CublasRoutine("cublasCsrot_v2"), linalg::CublasRoutine("cublasZdrot_v2")};
  routines[g.type](stream, as_int(g.n), at[0], as_int(g.incx), at[1], as_int(g.incy), g.c.at(), g.s.at());
  g.on_gpu = true;
}

template <class P, class Int>
void wrap_drot_(AnyFunction host, const Int* n, typename P::scalar* x, const Int* incx, typename P::scalar* y, const Int* incy,
    const typename P::real* c, const typename P::real* s) {
  using Host = void(const Int*, typename P::scalar*, const Int*, typename P::scalar*, const Int*, const typename P::real*,
    const typename P::real*);
  auto* const routine = reinterpret_cast<Host*>(host);
  if (is_within_call()) return routine(n, x, incx, y, incy, c, s);
  if (any_null(n, incx, incy, c, s)) {
    const PassedThrough within(drot_routines[P::type], Verdict::nothing_to_compute);
    return routine(n, x, incx, y, incy, c, s);
  }
  const Int n_copy = *n;
  const Int incx_copy = *incx;
  const Int incy_copy = *incy;
  const typename P::real c_copy = coefficient<typename P::real>(c);
  const typename P::real s_copy = coefficient<typename P::real>(s);
  Drot g;
  g.type = P::type;
  g.n = n_copy;
  g.x = x;
  g.incx = incx_copy;
  g.y = y;
  g.incy = incy_copy;
  g.c = Value(c_copy);
  g.s = Value(s_copy);
  if (const SmallCall small(drot_routines[P::type], (6 * as_double(g.n)), as_double(g.n) * as_double(abs_of(g.incx)) * bytes_of_scalar[P::type] + as_double(g.n) * as_double(abs_of(g.incy)) * bytes_of_scalar[P::type]); small) return routine(n, x, incx, y, incy, c, s);
  const auto on_host = [&](const void* const* at) {
    routine(&n_copy, place<typename P::scalar>(at[0]), &incx_copy, place<typename P::scalar>(at[1]), &incy_copy,
        handed<const typename P::real*>(c_copy), handed<const typename P::real*>(s_copy));
    g.on_gpu = false;
  };
  Call call;
  describe(g, call);
  carry_out(call, Wrapped(g, Emulation::by_host, &drot_on_gpu, on_host));
}

template <class P, class Int>
void wrap_cblas_drot(AnyFunction host, Int n, typename P::scalar* x, Int incx, typename P::scalar* y, Int incy, typename P::real c,
    typename P::real s) {
  using Host = void(Int, typename P::scalar*, Int, typename P::scalar*, Int, typename P::real, typename P::real);
  auto* const routine = reinterpret_cast<Host*>(host);
  if (is_within_call()) return routine(n, x, incx, y, incy, c, s);
  if (any_null(c, s)) {
    const PassedThrough within(drot_routines[P::type], Verdict::nothing_to_compute);
    return routine(n, x, incx, y, incy, c, s);
  }
  const typename P::real c_copy = coefficient<typename P::real>(c);
  const typename P::real s_copy = coefficient<typename P::real>(s);
  Drot g;
  g.type = P::type;
  g.n = n;
  g.x = x;
  g.incx = incx;
  g.y = y;
  g.incy = incy;
  g.c = Value(c_copy);
  g.s = Value(s_copy);
  if (const SmallCall small(drot_routines[P::type], (6 * as_double(g.n)), as_double(g.n) * as_double(abs_of(g.incx)) * bytes_of_scalar[P::type] + as_double(g.n) * as_double(abs_of(g.incy)) * bytes_of_scalar[P::type]); small) return routine(n, x, incx, y, incy, c, s);
  const auto on_host = [&](const void* const* at) {
    routine(n, place<typename P::scalar>(at[0]), incx, place<typename P::scalar>(at[1]), incy, handed<typename P::real>(c_copy),
        handed<typename P::real>(s_copy));
    g.on_gpu = false;
  };
  Call call;
  describe(g, call);
  carry_out(call, Wrapped(g, Emulation::by_host, &drot_on_gpu, on_host));
}

// ---- rotm: line 149

Routine rotm_routines[] = {Routine("BLAS srotm"), Routine("BLAS drotm"), Routine(""), Routine("")};

struct Rotm : Arguments {
  std::int64_t n = 0;
  const void* x = nullptr;
  std::int64_t incx = 0;
  const void* y = nullptr;
  std::int64_t incy = 0;
  const void* param = nullptr;
};

void describe(Rotm& g, Call& call) noexcept {
  call.routine = &rotm_routines[g.type];
  call.at = {g.x, g.y};
  if (g.refused != Verdict::on_device) {
    return refuse(call, Verdict::wrong_arguments);
  }
  if (g.n <= 0) return refuse(call, Verdict::nothing_to_compute);
  if (g.passes || (g.incx == 0 || g.incy == 0)) return refuse(call, Verdict::no_routine);
  if (!all_fit({g.n, g.incx, g.incy})) return refuse(call, Verdict::too_large);
  call.operations = (is_complex[g.type] ? 4.0 : 1.0) * ((6 * as_double(g.n)));
  add(call, vector(g.x, g.n, g.incx, bytes_of_scalar[g.type], Access::read_write));
  add(call, vector(g.y, g.n, g.incy, bytes_of_scalar[g.type], Access::read_write));
  check_addresses(call);
}

void rotm_on_gpu(void* arguments, const runtime::Stream& stream, const void* const* at) {
  auto& g = *static_cast<Rotm*>(arguments);
  static linalg::CublasRoutine routines[] = {linalg::CublasRoutine("cublasSrotm_v2"), linalg::CublasRoutine("cublasDrotm_v2"), linalg::CublasRoutine(""), linalg::CublasRoutine("")};
  routines[g.type](stream, as_int(g.n), at[0], as_int(g.incx), at[1], as_int(g.incy), g.param);
  g.on_gpu = true;
}

template <class P, class Int>
void wrap_drotm_(AnyFunction host, const Int* n, typename P::scalar* x, const Int* incx, typename P::scalar* y, const Int* incy,
    const typename P::scalar* param) {
  using Host = void(const Int*, typename P::scalar*, const Int*, typename P::scalar*, const Int*, const typename P::scalar*);
  auto* const routine = reinterpret_cast<Host*>(host);
  if (is_within_call()) return routine(n, x, incx, y, incy, param);
  if (any_null(n, incx, incy, param)) {
    const PassedThrough within(rotm_routines[P::type], Verdict::nothing_to_compute);
    return routine(n, x, incx, y, incy, param);
  }
  const Int n_copy = *n;
  const Int incx_copy = *incx;
  const Int incy_copy = *incy;
  typename P::scalar param_copy[5];
  std::copy_n(param, 5, param_copy);
  Rotm g;
  g.type = P::type;
  g.n = n_copy;
  g.x = x;
  g.incx = incx_copy;
  g.y = y;
  g.incy = incy_copy;
  g.param = param_copy;
  if (const SmallCall small(rotm_routines[P::type], (6 * as_double(g.n)), as_double(g.n) * as_double(abs_of(g.incx)) * bytes_of_scalar[P::type] + as_double(g.n) * as_double(abs_of(g.incy)) * bytes_of_scalar[P::type]); small) return routine(n, x, incx, y, incy, param);
  const auto on_host = [&](const void* const* at) {
    routine(&n_copy, place<typename P::scalar>(at[0]), &incx_copy, place<typename P::scalar>(at[1]), &incy_copy, param_copy);
    g.on_gpu = false;
  };
  Call call;
  describe(g, call);
  carry_out(call, Wrapped(g, Emulation::by_host, &rotm_on_gpu, on_host));
}

template <class P, class Int>
void wrap_cblas_drotm(AnyFunction host, Int n, typename P::scalar* x, Int incx, typename P::scalar* y, Int incy, const typename P::scalar* param) {
  using Host = void(Int, typename P::scalar*, Int, typename P::scalar*, Int, const typename P::scalar*);
  auto* const routine = reinterpret_cast<Host*>(host);
  if (is_within_call()) return routine(n, x, incx, y, incy, param);
  if (any_null(param)) {
    const PassedThrough within(rotm_routines[P::type], Verdict::nothing_to_compute);
    return routine(n, x, incx, y, incy, param);
  }
  typename P::scalar param_copy[5];
  std::copy_n(param, 5, param_copy);
  Rotm g;
  g.type = P::type;
  g.n = n;
  g.x = x;
  g.incx = incx;
  g.y = y;
  g.incy = incy;
  g.param = param_copy;
  if (const SmallCall small(rotm_routines[P::type], (6 * as_double(g.n)), as_double(g.n) * as_double(abs_of(g.incx)) * bytes_of_scalar[P::type] + as_double(g.n) * as_double(abs_of(g.incy)) * bytes_of_scalar[P::type]); small) return routine(n, x, incx, y, incy, param);
  const auto on_host = [&](const void* const* at) {
    routine(n, place<typename P::scalar>(at[0]), incx, place<typename P::scalar>(at[1]), incy, param_copy);
    g.on_gpu = false;
  };
  Call call;
  describe(g, call);
  carry_out(call, Wrapped(g, Emulation::by_host, &rotm_on_gpu, on_host));
}

// ---- rotg: line 155

Routine rotg_routines[] = {Routine("BLAS srotg"), Routine("BLAS drotg"), Routine("BLAS crotg"), Routine("BLAS zrotg")};

template <class P, class Int>
void wrap_drotg_(AnyFunction host, typename P::scalar* a, typename P::scalar* b, typename P::real* c, typename P::scalar* s) {
  using Host = void(typename P::scalar*, typename P::scalar*, typename P::real*, typename P::scalar*);
  auto* const routine = reinterpret_cast<Host*>(host);
  if (is_within_call()) return routine(a, b, c, s);
  const PassedThrough within(rotg_routines[P::type]);
  return routine(a, b, c, s);
}

template <class P, class Int>
void wrap_cblas_drotg(AnyFunction host, typename P::scalar* a, typename P::scalar* b, typename P::real* c, typename P::scalar* s) {
  using Host = void(typename P::scalar*, typename P::scalar*, typename P::real*, typename P::scalar*);
  auto* const routine = reinterpret_cast<Host*>(host);
  if (is_within_call()) return routine(a, b, c, s);
  const PassedThrough within(rotg_routines[P::type]);
  return routine(a, b, c, s);
}

// ---- rotmg: line 159

Routine rotmg_routines[] = {Routine("BLAS srotmg"), Routine("BLAS drotmg"), Routine(""), Routine("")};

template <class P, class Int>
void wrap_drotmg_(AnyFunction host, typename P::scalar* d1, typename P::scalar* d2, typename P::scalar* x1, const typename P::scalar* y1,
    typename P::scalar* param) {
  using Host = void(typename P::scalar*, typename P::scalar*, typename P::scalar*, const typename P::scalar*, typename P::scalar*);
  auto* const routine = reinterpret_cast<Host*>(host);
  if (is_within_call()) return routine(d1, d2, x1, y1, param);
  const PassedThrough within(rotmg_routines[P::type]);
  return routine(d1, d2, x1, y1, param);
}

template <class P, class Int>
void wrap_cblas_drotmg(AnyFunction host, typename P::scalar* d1, typename P::scalar* d2, typename P::scalar* x1, typename P::scalar y1,
    typename P::scalar* param) {
  using Host = void(typename P::scalar*, typename P::scalar*, typename P::scalar*, typename P::scalar, typename P::scalar*);
  auto* const routine = reinterpret_cast<Host*>(host);
  if (is_within_call()) return routine(d1, d2, x1, y1, param);
  const PassedThrough within(rotmg_routines[P::type]);
  return routine(d1, d2, x1, y1, param);
}

// ---- dcabs1: line 163

Routine dcabs1_routines[] = {Routine(""), Routine(""), Routine("BLAS scabs1"), Routine("BLAS dcabs1")};

template <class P, class Int>
typename P::real wrap_dcabs1_(AnyFunction host, const typename P::scalar* z) {
  using Host = typename P::real(const typename P::scalar*);
  auto* const routine = reinterpret_cast<Host*>(host);
  if (is_within_call()) return routine(z);
  const PassedThrough within(dcabs1_routines[P::type]);
  return routine(z);
}

template <class P, class Int>
typename P::real wrap_cblas_dcabs1(AnyFunction host, const typename P::scalar* z) {
  using Host = typename P::real(const typename P::scalar*);
  auto* const routine = reinterpret_cast<Host*>(host);
  if (is_within_call()) return routine(z);
  const PassedThrough within(dcabs1_routines[P::type]);
  return routine(z);
}

// ---- sdsdot: line 167

Routine sdsdot_routines[] = {Routine("BLAS sdsdot")};

template <class P, class Int>
float wrap_sdsdot_(AnyFunction host, const Int* n, const float* alpha, const float* x, const Int* incx, const float* y, const Int* incy) {
  using Host = float(const Int*, const float*, const float*, const Int*, const float*, const Int*);
  auto* const routine = reinterpret_cast<Host*>(host);
  if (is_within_call()) return routine(n, alpha, x, incx, y, incy);
  const PassedThrough within(sdsdot_routines[P::type]);
  return routine(n, alpha, x, incx, y, incy);
}

template <class P, class Int>
float wrap_cblas_sdsdot(AnyFunction host, Int n, float alpha, const float* x, Int incx, const float* y, Int incy) {
  using Host = float(Int, float, const float*, Int, const float*, Int);
  auto* const routine = reinterpret_cast<Host*>(host);
  if (is_within_call()) return routine(n, alpha, x, incx, y, incy);
  const PassedThrough within(sdsdot_routines[P::type]);
  return routine(n, alpha, x, incx, y, incy);
}

// ---- dsdot: line 171

Routine dsdot_routines[] = {Routine("BLAS dsdot")};

template <class P, class Int>
double wrap_dsdot_(AnyFunction host, const Int* n, const float* x, const Int* incx, const float* y, const Int* incy) {
  using Host = double(const Int*, const float*, const Int*, const float*, const Int*);
  auto* const routine = reinterpret_cast<Host*>(host);
  if (is_within_call()) return routine(n, x, incx, y, incy);
  const PassedThrough within(dsdot_routines[P::type]);
  return routine(n, x, incx, y, incy);
}

template <class P, class Int>
double wrap_cblas_dsdot(AnyFunction host, Int n, const float* x, Int incx, const float* y, Int incy) {
  using Host = double(Int, const float*, Int, const float*, Int);
  auto* const routine = reinterpret_cast<Host*>(host);
  if (is_within_call()) return routine(n, x, incx, y, incy);
  const PassedThrough within(dsdot_routines[P::type]);
  return routine(n, x, incx, y, incy);
}

}  // namespace
}  // namespace semcache::blas

using namespace semcache::blas;  // NOLINT(google-build-using-namespace): of this file, which has nothing else

#ifdef __clang__
#pragma clang diagnostic ignored "-Wreturn-type-c-linkage"  // Fortran's functions return complex numbers as C++ does
#endif
#pragma GCC visibility push(default)
extern "C" {
#define SEMCACHE_DAXPY_(symbol, P, Int) \
  static HostFunction host_of_##symbol(#symbol, sizeof(Int)); \
  static const EarlySearch search_for_##symbol(host_of_##symbol); \
  void symbol(const void* n, const P::scalar* alpha, const P::scalar* x, const void* incx, P::scalar* y, const void* incy) { \
    const HostFunction::Found host = host_of_##symbol.of(SEMCACHE_CALLER); \
    if (host.is_wide) return wrap_daxpy_<P, std::int64_t>(host.function, integer<std::int64_t>(n), alpha, x, integer<std::int64_t>(incx), y, \
        integer<std::int64_t>(incy)); \
    return wrap_daxpy_<P, Int>(host.function, integer<Int>(n), alpha, x, integer<Int>(incx), y, integer<Int>(incy)); \
  }
SEMCACHE_DAXPY_(saxpy_, s_types, std::int32_t)
SEMCACHE_DAXPY_(daxpy_, d_types, std::int32_t)
SEMCACHE_DAXPY_(caxpy_, c_types, std::int32_t)
SEMCACHE_DAXPY_(zaxpy_, z_types, std::int32_t)
SEMCACHE_DAXPY_(scipy_saxpy_, s_types, std::int32_t)
SEMCACHE_DAXPY_(scipy_daxpy_, d_types, std::int32_t)
SEMCACHE_DAXPY_(scipy_caxpy_, c_types, std::int32_t)
SEMCACHE_DAXPY_(scipy_zaxpy_, z_types, std::int32_t)
SEMCACHE_DAXPY_(saxpy_64_, s_types, std::int64_t)
SEMCACHE_DAXPY_(daxpy_64_, d_types, std::int64_t)
SEMCACHE_DAXPY_(caxpy_64_, c_types, std::int64_t)
SEMCACHE_DAXPY_(zaxpy_64_, z_types, std::int64_t)
SEMCACHE_DAXPY_(scipy_saxpy_64_, s_types, std::int64_t)
SEMCACHE_DAXPY_(scipy_daxpy_64_, d_types, std::int64_t)
SEMCACHE_DAXPY_(scipy_caxpy_64_, c_types, std::int64_t)
SEMCACHE_DAXPY_(scipy_zaxpy_64_, z_types, std::int64_t)
#define SEMCACHE_CBLAS_DAXPY(symbol, P, Int) \
  static HostFunction host_of_##symbol(#symbol, sizeof(Int)); \
  static const EarlySearch search_for_##symbol(host_of_##symbol); \
  void symbol(std::int64_t n, P::value alpha, const P::scalar* x, std::int64_t incx, P::scalar* y, std::int64_t incy) { \
    const HostFunction::Found host = host_of_##symbol.of(SEMCACHE_CALLER); \
    if (host.is_wide) return wrap_cblas_daxpy<P, std::int64_t>(host.function, integer<std::int64_t>(n), alpha, x, integer<std::int64_t>(incx), y, \
        integer<std::int64_t>(incy)); \
    return wrap_cblas_daxpy<P, Int>(host.function, integer<Int>(n), alpha, x, integer<Int>(incx), y, integer<Int>(incy)); \
  }
SEMCACHE_CBLAS_DAXPY(cblas_saxpy, s_types, std::int32_t)
SEMCACHE_CBLAS_DAXPY(cblas_daxpy, d_types, std::int32_t)
SEMCACHE_CBLAS_DAXPY(cblas_caxpy, c_types, std::int32_t)
SEMCACHE_CBLAS_DAXPY(cblas_zaxpy, z_types, std::int32_t)
SEMCACHE_CBLAS_DAXPY(scipy_cblas_saxpy, s_types, std::int32_t)
SEMCACHE_CBLAS_DAXPY(scipy_cblas_daxpy, d_types, std::int32_t)
SEMCACHE_CBLAS_DAXPY(scipy_cblas_caxpy, c_types, std::int32_t)
SEMCACHE_CBLAS_DAXPY(scipy_cblas_zaxpy, z_types, std::int32_t)
SEMCACHE_CBLAS_DAXPY(cblas_saxpy64_, s_types, std::int64_t)
SEMCACHE_CBLAS_DAXPY(cblas_daxpy64_, d_types, std::int64_t)
SEMCACHE_CBLAS_DAXPY(cblas_caxpy64_, c_types, std::int64_t)
SEMCACHE_CBLAS_DAXPY(cblas_zaxpy64_, z_types, std::int64_t)
SEMCACHE_CBLAS_DAXPY(scipy_cblas_saxpy64_, s_types, std::int64_t)
SEMCACHE_CBLAS_DAXPY(scipy_cblas_daxpy64_, d_types, std::int64_t)
SEMCACHE_CBLAS_DAXPY(scipy_cblas_caxpy64_, c_types, std::int64_t)
SEMCACHE_CBLAS_DAXPY(scipy_cblas_zaxpy64_, z_types, std::int64_t)
#define SEMCACHE_DSCAL_(symbol, P, Int) \
  static HostFunction host_of_##symbol(#symbol, sizeof(Int)); \
  static const EarlySearch search_for_##symbol(host_of_##symbol); \
  void symbol(const void* n, const P::scalar* alpha, P::scalar* x, const void* incx) { \
    const HostFunction::Found host = host_of_##symbol.of(SEMCACHE_CALLER); \
    if (host.is_wide) return wrap_dscal_<P, std::int64_t>(host.function, integer<std::int64_t>(n), alpha, x, integer<std::int64_t>(incx)); \
    return wrap_dscal_<P, Int>(host.function, integer<Int>(n), alpha, x, integer<Int>(incx)); \
  }
SEMCACHE_DSCAL_(sscal_, s_types, std::int32_t)
SEMCACHE_DSCAL_(dscal_, d_types, std::int32_t)
SEMCACHE_DSCAL_(cscal_, c_types, std::int32_t)
SEMCACHE_DSCAL_(zscal_, z_types, std::int32_t)
SEMCACHE_DSCAL_(scipy_sscal_, s_types, std::int32_t)
SEMCACHE_DSCAL_(scipy_dscal_, d_types, std::int32_t)
SEMCACHE_DSCAL_(scipy_cscal_, c_types, std::int32_t)
SEMCACHE_DSCAL_(scipy_zscal_, z_types, std::int32_t)
SEMCACHE_DSCAL_(sscal_64_, s_types, std::int64_t)
SEMCACHE_DSCAL_(dscal_64_, d_types, std::int64_t)
SEMCACHE_DSCAL_(cscal_64_, c_types, std::int64_t)
SEMCACHE_DSCAL_(zscal_64_, z_types, std::int64_t)
SEMCACHE_DSCAL_(scipy_sscal_64_, s_types, std::int64_t)
SEMCACHE_DSCAL_(scipy_dscal_64_, d_types, std::int64_t)
SEMCACHE_DSCAL_(scipy_cscal_64_, c_types, std::int64_t)
SEMCACHE_DSCAL_(scipy_zscal_64_, z_types, std::int64_t)
#define SEMCACHE_CBLAS_DSCAL(symbol, P, Int) \
  static HostFunction host_of_##symbol(#symbol, sizeof(Int)); \
  static const EarlySearch search_for_##symbol(host_of_##symbol); \
  void symbol(std::int64_t n, P::value alpha, P::scalar* x, std::int64_t incx) { \
    const HostFunction::Found host = host_of_##symbol.of(SEMCACHE_CALLER); \
    if (host.is_wide) return wrap_cblas_dscal<P, std::int64_t>(host.function, integer<std::int64_t>(n), alpha, x, integer<std::int64_t>(incx)); \
    return wrap_cblas_dscal<P, Int>(host.function, integer<Int>(n), alpha, x, integer<Int>(incx)); \
  }
SEMCACHE_CBLAS_DSCAL(cblas_sscal, s_types, std::int32_t)
SEMCACHE_CBLAS_DSCAL(cblas_dscal, d_types, std::int32_t)
SEMCACHE_CBLAS_DSCAL(cblas_cscal, c_types, std::int32_t)
SEMCACHE_CBLAS_DSCAL(cblas_zscal, z_types, std::int32_t)
SEMCACHE_CBLAS_DSCAL(scipy_cblas_sscal, s_types, std::int32_t)
SEMCACHE_CBLAS_DSCAL(scipy_cblas_dscal, d_types, std::int32_t)
SEMCACHE_CBLAS_DSCAL(scipy_cblas_cscal, c_types, std::int32_t)
SEMCACHE_CBLAS_DSCAL(scipy_cblas_zscal, z_types, std::int32_t)
SEMCACHE_CBLAS_DSCAL(cblas_sscal64_, s_types, std::int64_t)
SEMCACHE_CBLAS_DSCAL(cblas_dscal64_, d_types, std::int64_t)
SEMCACHE_CBLAS_DSCAL(cblas_cscal64_, c_types, std::int64_t)
SEMCACHE_CBLAS_DSCAL(cblas_zscal64_, z_types, std::int64_t)
SEMCACHE_CBLAS_DSCAL(scipy_cblas_sscal64_, s_types, std::int64_t)
SEMCACHE_CBLAS_DSCAL(scipy_cblas_dscal64_, d_types, std::int64_t)
SEMCACHE_CBLAS_DSCAL(scipy_cblas_cscal64_, c_types, std::int64_t)
SEMCACHE_CBLAS_DSCAL(scipy_cblas_zscal64_, z_types, std::int64_t)
#define SEMCACHE_ZDSCAL_(symbol, P, Int) \
  static HostFunction host_of_##symbol(#symbol, sizeof(Int)); \
  static const EarlySearch search_for_##symbol(host_of_##symbol); \
  void symbol(const void* n, const P::real* alpha, P::scalar* x, const void* incx) { \
    const HostFunction::Found host = host_of_##symbol.of(SEMCACHE_CALLER); \
    if (host.is_wide) return wrap_zdscal_<P, std::int64_t>(host.function, integer<std::int64_t>(n), alpha, x, integer<std::int64_t>(incx)); \
    return wrap_zdscal_<P, Int>(host.function, integer<Int>(n), alpha, x, integer<Int>(incx)); \
  }
SEMCACHE_ZDSCAL_(csscal_, c_types, std::int32_t)
SEMCACHE_ZDSCAL_(zdscal_, z_types, std::int32_t)
SEMCACHE_ZDSCAL_(scipy_csscal_, c_types, std::int32_t)
SEMCACHE_ZDSCAL_(scipy_zdscal_, z_types, std::int32_t)
SEMCACHE_ZDSCAL_(csscal_64_, c_types, std::int64_t)
SEMCACHE_ZDSCAL_(zdscal_64_, z_types, std::int64_t)
SEMCACHE_ZDSCAL_(scipy_csscal_64_, c_types, std::int64_t)
SEMCACHE_ZDSCAL_(scipy_zdscal_64_, z_types, std::int64_t)
#define SEMCACHE_CBLAS_ZDSCAL(symbol, P, Int) \
  static HostFunction host_of_##symbol(#symbol, sizeof(Int)); \
  static const EarlySearch search_for_##symbol(host_of_##symbol); \
  void symbol(std::int64_t n, P::real alpha, P::scalar* x, std::int64_t incx) { \
    const HostFunction::Found host = host_of_##symbol.of(SEMCACHE_CALLER); \
    if (host.is_wide) return wrap_cblas_zdscal<P, std::int64_t>(host.function, integer<std::int64_t>(n), alpha, x, integer<std::int64_t>(incx)); \
    return wrap_cblas_zdscal<P, Int>(host.function, integer<Int>(n), alpha, x, integer<Int>(incx)); \
  }
SEMCACHE_CBLAS_ZDSCAL(cblas_csscal, c_types, std::int32_t)
SEMCACHE_CBLAS_ZDSCAL(cblas_zdscal, z_types, std::int32_t)
SEMCACHE_CBLAS_ZDSCAL(scipy_cblas_csscal, c_types, std::int32_t)
SEMCACHE_CBLAS_ZDSCAL(scipy_cblas_zdscal, z_types, std::int32_t)
SEMCACHE_CBLAS_ZDSCAL(cblas_csscal64_, c_types, std::int64_t)
SEMCACHE_CBLAS_ZDSCAL(cblas_zdscal64_, z_types, std::int64_t)
SEMCACHE_CBLAS_ZDSCAL(scipy_cblas_csscal64_, c_types, std::int64_t)
SEMCACHE_CBLAS_ZDSCAL(scipy_cblas_zdscal64_, z_types, std::int64_t)
#define SEMCACHE_DCOPY_(symbol, P, Int) \
  static HostFunction host_of_##symbol(#symbol, sizeof(Int)); \
  static const EarlySearch search_for_##symbol(host_of_##symbol); \
  void symbol(const void* n, const P::scalar* x, const void* incx, P::scalar* y, const void* incy) { \
    const HostFunction::Found host = host_of_##symbol.of(SEMCACHE_CALLER); \
    if (host.is_wide) return wrap_dcopy_<P, std::int64_t>(host.function, integer<std::int64_t>(n), x, integer<std::int64_t>(incx), y, integer<std::int64_t>(incy)); \
    return wrap_dcopy_<P, Int>(host.function, integer<Int>(n), x, integer<Int>(incx), y, integer<Int>(incy)); \
  }
SEMCACHE_DCOPY_(scopy_, s_types, std::int32_t)
SEMCACHE_DCOPY_(dcopy_, d_types, std::int32_t)
SEMCACHE_DCOPY_(ccopy_, c_types, std::int32_t)
SEMCACHE_DCOPY_(zcopy_, z_types, std::int32_t)
SEMCACHE_DCOPY_(scipy_scopy_, s_types, std::int32_t)
SEMCACHE_DCOPY_(scipy_dcopy_, d_types, std::int32_t)
SEMCACHE_DCOPY_(scipy_ccopy_, c_types, std::int32_t)
SEMCACHE_DCOPY_(scipy_zcopy_, z_types, std::int32_t)
SEMCACHE_DCOPY_(scopy_64_, s_types, std::int64_t)
SEMCACHE_DCOPY_(dcopy_64_, d_types, std::int64_t)
SEMCACHE_DCOPY_(ccopy_64_, c_types, std::int64_t)
SEMCACHE_DCOPY_(zcopy_64_, z_types, std::int64_t)
SEMCACHE_DCOPY_(scipy_scopy_64_, s_types, std::int64_t)
SEMCACHE_DCOPY_(scipy_dcopy_64_, d_types, std::int64_t)
SEMCACHE_DCOPY_(scipy_ccopy_64_, c_types, std::int64_t)
SEMCACHE_DCOPY_(scipy_zcopy_64_, z_types, std::int64_t)
#define SEMCACHE_CBLAS_DCOPY(symbol, P, Int) \
  static HostFunction host_of_##symbol(#symbol, sizeof(Int)); \
  static const EarlySearch search_for_##symbol(host_of_##symbol); \
  void symbol(std::int64_t n, const P::scalar* x, std::int64_t incx, P::scalar* y, std::int64_t incy) { \
    const HostFunction::Found host = host_of_##symbol.of(SEMCACHE_CALLER); \
    if (host.is_wide) return wrap_cblas_dcopy<P, std::int64_t>(host.function, integer<std::int64_t>(n), x, integer<std::int64_t>(incx), y, integer<std::int64_t>(incy)); \
    return wrap_cblas_dcopy<P, Int>(host.function, integer<Int>(n), x, integer<Int>(incx), y, integer<Int>(incy)); \
  }
SEMCACHE_CBLAS_DCOPY(cblas_scopy, s_types, std::int32_t)
SEMCACHE_CBLAS_DCOPY(cblas_dcopy, d_types, std::int32_t)
SEMCACHE_CBLAS_DCOPY(cblas_ccopy, c_types, std::int32_t)
SEMCACHE_CBLAS_DCOPY(cblas_zcopy, z_types, std::int32_t)
SEMCACHE_CBLAS_DCOPY(scipy_cblas_scopy, s_types, std::int32_t)
SEMCACHE_CBLAS_DCOPY(scipy_cblas_dcopy, d_types, std::int32_t)
SEMCACHE_CBLAS_DCOPY(scipy_cblas_ccopy, c_types, std::int32_t)
SEMCACHE_CBLAS_DCOPY(scipy_cblas_zcopy, z_types, std::int32_t)
SEMCACHE_CBLAS_DCOPY(cblas_scopy64_, s_types, std::int64_t)
SEMCACHE_CBLAS_DCOPY(cblas_dcopy64_, d_types, std::int64_t)
SEMCACHE_CBLAS_DCOPY(cblas_ccopy64_, c_types, std::int64_t)
SEMCACHE_CBLAS_DCOPY(cblas_zcopy64_, z_types, std::int64_t)
SEMCACHE_CBLAS_DCOPY(scipy_cblas_scopy64_, s_types, std::int64_t)
SEMCACHE_CBLAS_DCOPY(scipy_cblas_dcopy64_, d_types, std::int64_t)
SEMCACHE_CBLAS_DCOPY(scipy_cblas_ccopy64_, c_types, std::int64_t)
SEMCACHE_CBLAS_DCOPY(scipy_cblas_zcopy64_, z_types, std::int64_t)
#define SEMCACHE_DSWAP_(symbol, P, Int) \
  static HostFunction host_of_##symbol(#symbol, sizeof(Int)); \
  static const EarlySearch search_for_##symbol(host_of_##symbol); \
  void symbol(const void* n, P::scalar* x, const void* incx, P::scalar* y, const void* incy) { \
    const HostFunction::Found host = host_of_##symbol.of(SEMCACHE_CALLER); \
    if (host.is_wide) return wrap_dswap_<P, std::int64_t>(host.function, integer<std::int64_t>(n), x, integer<std::int64_t>(incx), y, integer<std::int64_t>(incy)); \
    return wrap_dswap_<P, Int>(host.function, integer<Int>(n), x, integer<Int>(incx), y, integer<Int>(incy)); \
  }
SEMCACHE_DSWAP_(sswap_, s_types, std::int32_t)
SEMCACHE_DSWAP_(dswap_, d_types, std::int32_t)
SEMCACHE_DSWAP_(cswap_, c_types, std::int32_t)
SEMCACHE_DSWAP_(zswap_, z_types, std::int32_t)
SEMCACHE_DSWAP_(scipy_sswap_, s_types, std::int32_t)
SEMCACHE_DSWAP_(scipy_dswap_, d_types, std::int32_t)
SEMCACHE_DSWAP_(scipy_cswap_, c_types, std::int32_t)
SEMCACHE_DSWAP_(scipy_zswap_, z_types, std::int32_t)
SEMCACHE_DSWAP_(sswap_64_, s_types, std::int64_t)
SEMCACHE_DSWAP_(dswap_64_, d_types, std::int64_t)
SEMCACHE_DSWAP_(cswap_64_, c_types, std::int64_t)
SEMCACHE_DSWAP_(zswap_64_, z_types, std::int64_t)
SEMCACHE_DSWAP_(scipy_sswap_64_, s_types, std::int64_t)
SEMCACHE_DSWAP_(scipy_dswap_64_, d_types, std::int64_t)
SEMCACHE_DSWAP_(scipy_cswap_64_, c_types, std::int64_t)
SEMCACHE_DSWAP_(scipy_zswap_64_, z_types, std::int64_t)
#define SEMCACHE_CBLAS_DSWAP(symbol, P, Int) \
  static HostFunction host_of_##symbol(#symbol, sizeof(Int)); \
  static const EarlySearch search_for_##symbol(host_of_##symbol); \
  void symbol(std::int64_t n, P::scalar* x, std::int64_t incx, P::scalar* y, std::int64_t incy) { \
    const HostFunction::Found host = host_of_##symbol.of(SEMCACHE_CALLER); \
    if (host.is_wide) return wrap_cblas_dswap<P, std::int64_t>(host.function, integer<std::int64_t>(n), x, integer<std::int64_t>(incx), y, integer<std::int64_t>(incy)); \
    return wrap_cblas_dswap<P, Int>(host.function, integer<Int>(n), x, integer<Int>(incx), y, integer<Int>(incy)); \
  }
SEMCACHE_CBLAS_DSWAP(cblas_sswap, s_types, std::int32_t)
SEMCACHE_CBLAS_DSWAP(cblas_dswap, d_types, std::int32_t)
SEMCACHE_CBLAS_DSWAP(cblas_cswap, c_types, std::int32_t)
SEMCACHE_CBLAS_DSWAP(cblas_zswap, z_types, std::int32_t)
SEMCACHE_CBLAS_DSWAP(scipy_cblas_sswap, s_types, std::int32_t)
SEMCACHE_CBLAS_DSWAP(scipy_cblas_dswap, d_types, std::int32_t)
SEMCACHE_CBLAS_DSWAP(scipy_cblas_cswap, c_types, std::int32_t)
SEMCACHE_CBLAS_DSWAP(scipy_cblas_zswap, z_types, std::int32_t)
SEMCACHE_CBLAS_DSWAP(cblas_sswap64_, s_types, std::int64_t)
SEMCACHE_CBLAS_DSWAP(cblas_dswap64_, d_types, std::int64_t)
SEMCACHE_CBLAS_DSWAP(cblas_cswap64_, c_types, std::int64_t)
SEMCACHE_CBLAS_DSWAP(cblas_zswap64_, z_types, std::int64_t)
SEMCACHE_CBLAS_DSWAP(scipy_cblas_sswap64_, s_types, std::int64_t)
SEMCACHE_CBLAS_DSWAP(scipy_cblas_dswap64_, d_types, std::int64_t)
SEMCACHE_CBLAS_DSWAP(scipy_cblas_cswap64_, c_types, std::int64_t)
SEMCACHE_CBLAS_DSWAP(scipy_cblas_zswap64_, z_types, std::int64_t)
#define SEMCACHE_DDOT_(symbol, P, Int) \
  static HostFunction host_of_##symbol(#symbol, sizeof(Int)); \
  static const EarlySearch search_for_##symbol(host_of_##symbol); \
  P::scalar symbol(const void* n, const P::scalar* x, const void* incx, const P::scalar* y, const void* incy) { \
    const HostFunction::Found host = host_of_##symbol.of(SEMCACHE_CALLER); \
    if (host.is_wide) return wrap_ddot_<P, std::int64_t>(host.function, integer<std::int64_t>(n), x, integer<std::int64_t>(incx), y, integer<std::int64_t>(incy)); \
    return wrap_ddot_<P, Int>(host.function, integer<Int>(n), x, integer<Int>(incx), y, integer<Int>(incy)); \
  }
SEMCACHE_DDOT_(sdot_, s_types, std::int32_t)
SEMCACHE_DDOT_(ddot_, d_types, std::int32_t)
SEMCACHE_DDOT_(scipy_sdot_, s_types, std::int32_t)
SEMCACHE_DDOT_(scipy_ddot_, d_types, std::int32_t)
SEMCACHE_DDOT_(sdot_64_, s_types, std::int64_t)
SEMCACHE_DDOT_(ddot_64_, d_types, std::int64_t)
SEMCACHE_DDOT_(scipy_sdot_64_, s_types, std::int64_t)
SEMCACHE_DDOT_(scipy_ddot_64_, d_types, std::int64_t)
#define SEMCACHE_CBLAS_DDOT(symbol, P, Int) \
  static HostFunction host_of_##symbol(#symbol, sizeof(Int)); \
  static const EarlySearch search_for_##symbol(host_of_##symbol); \
  P::scalar symbol(std::int64_t n, const P::scalar* x, std::int64_t incx, const P::scalar* y, std::int64_t incy) { \
    const HostFunction::Found host = host_of_##symbol.of(SEMCACHE_CALLER); \
    if (host.is_wide) return wrap_cblas_ddot<P, std::int64_t>(host.function, integer<std::int64_t>(n), x, integer<std::int64_t>(incx), y, integer<std::int64_t>(incy)); \
    return wrap_cblas_ddot<P, Int>(host.function, integer<Int>(n), x, integer<Int>(incx), y, integer<Int>(incy)); \
  }
SEMCACHE_CBLAS_DDOT(cblas_sdot, s_types, std::int32_t)
SEMCACHE_CBLAS_DDOT(cblas_ddot, d_types, std::int32_t)
SEMCACHE_CBLAS_DDOT(scipy_cblas_sdot, s_types, std::int32_t)
SEMCACHE_CBLAS_DDOT(scipy_cblas_ddot, d_types, std::int32_t)
SEMCACHE_CBLAS_DDOT(cblas_sdot64_, s_types, std::int64_t)
SEMCACHE_CBLAS_DDOT(cblas_ddot64_, d_types, std::int64_t)
SEMCACHE_CBLAS_DDOT(scipy_cblas_sdot64_, s_types, std::int64_t)
SEMCACHE_CBLAS_DDOT(scipy_cblas_ddot64_, d_types, std::int64_t)
#define SEMCACHE_ZDOTU_(symbol, P, Int) \
  static HostFunction host_of_##symbol(#symbol, sizeof(Int)); \
  static const EarlySearch search_for_##symbol(host_of_##symbol); \
  P::scalar symbol(const void* n, const P::scalar* x, const void* incx, const P::scalar* y, const void* incy) { \
    const HostFunction::Found host = host_of_##symbol.of(SEMCACHE_CALLER); \
    if (host.is_wide) return wrap_zdotu_<P, std::int64_t>(host.function, integer<std::int64_t>(n), x, integer<std::int64_t>(incx), y, integer<std::int64_t>(incy)); \
    return wrap_zdotu_<P, Int>(host.function, integer<Int>(n), x, integer<Int>(incx), y, integer<Int>(incy)); \
  }
SEMCACHE_ZDOTU_(cdotu_, c_types, std::int32_t)
SEMCACHE_ZDOTU_(zdotu_, z_types, std::int32_t)
SEMCACHE_ZDOTU_(scipy_cdotu_, c_types, std::int32_t)
SEMCACHE_ZDOTU_(scipy_zdotu_, z_types, std::int32_t)
SEMCACHE_ZDOTU_(cdotu_64_, c_types, std::int64_t)
SEMCACHE_ZDOTU_(zdotu_64_, z_types, std::int64_t)
SEMCACHE_ZDOTU_(scipy_cdotu_64_, c_types, std::int64_t)
SEMCACHE_ZDOTU_(scipy_zdotu_64_, z_types, std::int64_t)
#define SEMCACHE_CBLAS_ZDOTU_SUB(symbol, P, Int) \
  static HostFunction host_of_##symbol(#symbol, sizeof(Int)); \
  static const EarlySearch search_for_##symbol(host_of_##symbol); \
  void symbol(std::int64_t n, const P::scalar* x, std::int64_t incx, const P::scalar* y, std::int64_t incy, P::scalar* dotu) { \
    const HostFunction::Found host = host_of_##symbol.of(SEMCACHE_CALLER); \
    if (host.is_wide) return wrap_cblas_zdotu_sub<P, std::int64_t>(host.function, integer<std::int64_t>(n), x, integer<std::int64_t>(incx), y, \
        integer<std::int64_t>(incy), dotu); \
    return wrap_cblas_zdotu_sub<P, Int>(host.function, integer<Int>(n), x, integer<Int>(incx), y, integer<Int>(incy), dotu); \
  }
SEMCACHE_CBLAS_ZDOTU_SUB(cblas_cdotu_sub, c_types, std::int32_t)
SEMCACHE_CBLAS_ZDOTU_SUB(cblas_zdotu_sub, z_types, std::int32_t)
SEMCACHE_CBLAS_ZDOTU_SUB(scipy_cblas_cdotu_sub, c_types, std::int32_t)
SEMCACHE_CBLAS_ZDOTU_SUB(scipy_cblas_zdotu_sub, z_types, std::int32_t)
SEMCACHE_CBLAS_ZDOTU_SUB(cblas_cdotu_sub64_, c_types, std::int64_t)
SEMCACHE_CBLAS_ZDOTU_SUB(cblas_zdotu_sub64_, z_types, std::int64_t)
SEMCACHE_CBLAS_ZDOTU_SUB(scipy_cblas_cdotu_sub64_, c_types, std::int64_t)
SEMCACHE_CBLAS_ZDOTU_SUB(scipy_cblas_zdotu_sub64_, z_types, std::int64_t)
#define SEMCACHE_ZDOTC_(symbol, P, Int) \
  static HostFunction host_of_##symbol(#symbol, sizeof(Int)); \
  static const EarlySearch search_for_##symbol(host_of_##symbol); \
  P::scalar symbol(const void* n, const P::scalar* x, const void* incx, const P::scalar* y, const void* incy) { \
    const HostFunction::Found host = host_of_##symbol.of(SEMCACHE_CALLER); \
    if (host.is_wide) return wrap_zdotc_<P, std::int64_t>(host.function, integer<std::int64_t>(n), x, integer<std::int64_t>(incx), y, integer<std::int64_t>(incy)); \
    return wrap_zdotc_<P, Int>(host.function, integer<Int>(n), x, integer<Int>(incx), y, integer<Int>(incy)); \
  }
SEMCACHE_ZDOTC_(cdotc_, c_types, std::int32_t)
SEMCACHE_ZDOTC_(zdotc_, z_types, std::int32_t)
SEMCACHE_ZDOTC_(scipy_cdotc_, c_types, std::int32_t)
SEMCACHE_ZDOTC_(scipy_zdotc_, z_types, std::int32_t)
SEMCACHE_ZDOTC_(cdotc_64_, c_types, std::int64_t)
SEMCACHE_ZDOTC_(zdotc_64_, z_types, std::int64_t)
SEMCACHE_ZDOTC_(scipy_cdotc_64_, c_types, std::int64_t)
SEMCACHE_ZDOTC_(scipy_zdotc_64_, z_types, std::int64_t)
#define SEMCACHE_CBLAS_ZDOTC_SUB(symbol, P, Int) \
  static HostFunction host_of_##symbol(#symbol, sizeof(Int)); \
  static const EarlySearch search_for_##symbol(host_of_##symbol); \
  void symbol(std::int64_t n, const P::scalar* x, std::int64_t incx, const P::scalar* y, std::int64_t incy, P::scalar* dotc) { \
    const HostFunction::Found host = host_of_##symbol.of(SEMCACHE_CALLER); \
    if (host.is_wide) return wrap_cblas_zdotc_sub<P, std::int64_t>(host.function, integer<std::int64_t>(n), x, integer<std::int64_t>(incx), y, \
        integer<std::int64_t>(incy), dotc); \
    return wrap_cblas_zdotc_sub<P, Int>(host.function, integer<Int>(n), x, integer<Int>(incx), y, integer<Int>(incy), dotc); \
  }
SEMCACHE_CBLAS_ZDOTC_SUB(cblas_cdotc_sub, c_types, std::int32_t)
SEMCACHE_CBLAS_ZDOTC_SUB(cblas_zdotc_sub, z_types, std::int32_t)
SEMCACHE_CBLAS_ZDOTC_SUB(scipy_cblas_cdotc_sub, c_types, std::int32_t)
SEMCACHE_CBLAS_ZDOTC_SUB(scipy_cblas_zdotc_sub, z_types, std::int32_t)
SEMCACHE_CBLAS_ZDOTC_SUB(cblas_cdotc_sub64_, c_types, std::int64_t)
SEMCACHE_CBLAS_ZDOTC_SUB(cblas_zdotc_sub64_, z_types, std::int64_t)
SEMCACHE_CBLAS_ZDOTC_SUB(scipy_cblas_cdotc_sub64_, c_types, std::int64_t)
SEMCACHE_CBLAS_ZDOTC_SUB(scipy_cblas_zdotc_sub64_, z_types, std::int64_t)
#define SEMCACHE_DNRM2_(symbol, P, Int) \
  static HostFunction host_of_##symbol(#symbol, sizeof(Int)); \
  static const EarlySearch search_for_##symbol(host_of_##symbol); \
  P::real symbol(const void* n, const P::scalar* x, const void* incx) { \
    const HostFunction::Found host = host_of_##symbol.of(SEMCACHE_CALLER); \
    if (host.is_wide) return wrap_dnrm2_<P, std::int64_t>(host.function, integer<std::int64_t>(n), x, integer<std::int64_t>(incx)); \
    return wrap_dnrm2_<P, Int>(host.function, integer<Int>(n), x, integer<Int>(incx)); \
  }
SEMCACHE_DNRM2_(snrm2_, s_types, std::int32_t)
SEMCACHE_DNRM2_(dnrm2_, d_types, std::int32_t)
SEMCACHE_DNRM2_(scnrm2_, c_types, std::int32_t)
SEMCACHE_DNRM2_(dznrm2_, z_types, std::int32_t)
SEMCACHE_DNRM2_(scipy_snrm2_, s_types, std::int32_t)
SEMCACHE_DNRM2_(scipy_dnrm2_, d_types, std::int32_t)
SEMCACHE_DNRM2_(scipy_scnrm2_, c_types, std::int32_t)
SEMCACHE_DNRM2_(scipy_dznrm2_, z_types, std::int32_t)
SEMCACHE_DNRM2_(snrm2_64_, s_types, std::int64_t)
SEMCACHE_DNRM2_(dnrm2_64_, d_types, std::int64_t)
SEMCACHE_DNRM2_(scnrm2_64_, c_types, std::int64_t)
SEMCACHE_DNRM2_(dznrm2_64_, z_types, std::int64_t)
SEMCACHE_DNRM2_(scipy_snrm2_64_, s_types, std::int64_t)
SEMCACHE_DNRM2_(scipy_dnrm2_64_, d_types, std::int64_t)
SEMCACHE_DNRM2_(scipy_scnrm2_64_, c_types, std::int64_t)
SEMCACHE_DNRM2_(scipy_dznrm2_64_, z_types, std::int64_t)
#define SEMCACHE_CBLAS_DNRM2(symbol, P, Int) \
  static HostFunction host_of_##symbol(#symbol, sizeof(Int)); \
  static const EarlySearch search_for_##symbol(host_of_##symbol); \
  P::real symbol(std::int64_t n, const P::scalar* x, std::int64_t incx) { \
    const HostFunction::Found host = host_of_##symbol.of(SEMCACHE_CALLER); \
    if (host.is_wide) return wrap_cblas_dnrm2<P, std::int64_t>(host.function, integer<std::int64_t>(n), x, integer<std::int64_t>(incx)); \
    return wrap_cblas_dnrm2<P, Int>(host.function, integer<Int>(n), x, integer<Int>(incx)); \
  }
SEMCACHE_CBLAS_DNRM2(cblas_snrm2, s_types, std::int32_t)
SEMCACHE_CBLAS_DNRM2(cblas_dnrm2, d_types, std::int32_t)
SEMCACHE_CBLAS_DNRM2(cblas_scnrm2, c_types, std::int32_t)
SEMCACHE_CBLAS_DNRM2(cblas_dznrm2, z_types, std::int32_t)
SEMCACHE_CBLAS_DNRM2(scipy_cblas_snrm2, s_types, std::int32_t)
SEMCACHE_CBLAS_DNRM2(scipy_cblas_dnrm2, d_types, std::int32_t)
SEMCACHE_CBLAS_DNRM2(scipy_cblas_scnrm2, c_types, std::int32_t)
SEMCACHE_CBLAS_DNRM2(scipy_cblas_dznrm2, z_types, std::int32_t)
SEMCACHE_CBLAS_DNRM2(cblas_snrm264_, s_types, std::int64_t)
SEMCACHE_CBLAS_DNRM2(cblas_dnrm264_, d_types, std::int64_t)
SEMCACHE_CBLAS_DNRM2(cblas_scnrm264_, c_types, std::int64_t)
SEMCACHE_CBLAS_DNRM2(cblas_dznrm264_, z_types, std::int64_t)
SEMCACHE_CBLAS_DNRM2(scipy_cblas_snrm264_, s_types, std::int64_t)
SEMCACHE_CBLAS_DNRM2(scipy_cblas_dnrm264_, d_types, std::int64_t)
SEMCACHE_CBLAS_DNRM2(scipy_cblas_scnrm264_, c_types, std::int64_t)
SEMCACHE_CBLAS_DNRM2(scipy_cblas_dznrm264_, z_types, std::int64_t)
#define SEMCACHE_DASUM_(symbol, P, Int) \
  static HostFunction host_of_##symbol(#symbol, sizeof(Int)); \
  static const EarlySearch search_for_##symbol(host_of_##symbol); \
  P::real symbol(const void* n, const P::scalar* x, const void* incx) { \
    const HostFunction::Found host = host_of_##symbol.of(SEMCACHE_CALLER); \
    if (host.is_wide) return wrap_dasum_<P, std::int64_t>(host.function, integer<std::int64_t>(n), x, integer<std::int64_t>(incx)); \
    return wrap_dasum_<P, Int>(host.function, integer<Int>(n), x, integer<Int>(incx)); \
  }
SEMCACHE_DASUM_(sasum_, s_types, std::int32_t)
SEMCACHE_DASUM_(dasum_, d_types, std::int32_t)
SEMCACHE_DASUM_(scasum_, c_types, std::int32_t)
SEMCACHE_DASUM_(dzasum_, z_types, std::int32_t)
SEMCACHE_DASUM_(scipy_sasum_, s_types, std::int32_t)
SEMCACHE_DASUM_(scipy_dasum_, d_types, std::int32_t)
SEMCACHE_DASUM_(scipy_scasum_, c_types, std::int32_t)
SEMCACHE_DASUM_(scipy_dzasum_, z_types, std::int32_t)
SEMCACHE_DASUM_(sasum_64_, s_types, std::int64_t)
SEMCACHE_DASUM_(dasum_64_, d_types, std::int64_t)
SEMCACHE_DASUM_(scasum_64_, c_types, std::int64_t)
SEMCACHE_DASUM_(dzasum_64_, z_types, std::int64_t)
SEMCACHE_DASUM_(scipy_sasum_64_, s_types, std::int64_t)
SEMCACHE_DASUM_(scipy_dasum_64_, d_types, std::int64_t)
SEMCACHE_DASUM_(scipy_scasum_64_, c_types, std::int64_t)
SEMCACHE_DASUM_(scipy_dzasum_64_, z_types, std::int64_t)
#define SEMCACHE_CBLAS_DASUM(symbol, P, Int) \
  static HostFunction host_of_##symbol(#symbol, sizeof(Int)); \
  static const EarlySearch search_for_##symbol(host_of_##symbol); \
  P::real symbol(std::int64_t n, const P::scalar* x, std::int64_t incx) { \
    const HostFunction::Found host = host_of_##symbol.of(SEMCACHE_CALLER); \
    if (host.is_wide) return wrap_cblas_dasum<P, std::int64_t>(host.function, integer<std::int64_t>(n), x, integer<std::int64_t>(incx)); \
    return wrap_cblas_dasum<P, Int>(host.function, integer<Int>(n), x, integer<Int>(incx)); \
  }
SEMCACHE_CBLAS_DASUM(cblas_sasum, s_types, std::int32_t)
SEMCACHE_CBLAS_DASUM(cblas_dasum, d_types, std::int32_t)
SEMCACHE_CBLAS_DASUM(cblas_scasum, c_types, std::int32_t)
SEMCACHE_CBLAS_DASUM(cblas_dzasum, z_types, std::int32_t)
SEMCACHE_CBLAS_DASUM(scipy_cblas_sasum, s_types, std::int32_t)
SEMCACHE_CBLAS_DASUM(scipy_cblas_dasum, d_types, std::int32_t)
SEMCACHE_CBLAS_DASUM(scipy_cblas_scasum, c_types, std::int32_t)
SEMCACHE_CBLAS_DASUM(scipy_cblas_dzasum, z_types, std::int32_t)
SEMCACHE_CBLAS_DASUM(cblas_sasum64_, s_types, std::int64_t)
SEMCACHE_CBLAS_DASUM(cblas_dasum64_, d_types, std::int64_t)
SEMCACHE_CBLAS_DASUM(cblas_scasum64_, c_types, std::int64_t)
SEMCACHE_CBLAS_DASUM(cblas_dzasum64_, z_types, std::int64_t)
SEMCACHE_CBLAS_DASUM(scipy_cblas_sasum64_, s_types, std::int64_t)
SEMCACHE_CBLAS_DASUM(scipy_cblas_dasum64_, d_types, std::int64_t)
SEMCACHE_CBLAS_DASUM(scipy_cblas_scasum64_, c_types, std::int64_t)
SEMCACHE_CBLAS_DASUM(scipy_cblas_dzasum64_, z_types, std::int64_t)
#define SEMCACHE_IDAMAX_(symbol, P, Int) \
  static HostFunction host_of_##symbol(#symbol, sizeof(Int)); \
  static const EarlySearch search_for_##symbol(host_of_##symbol); \
  std::int64_t symbol(const void* n, const P::scalar* x, const void* incx) { \
    const HostFunction::Found host = host_of_##symbol.of(SEMCACHE_CALLER); \
    if (host.is_wide) return wrap_idamax_<P, std::int64_t>(host.function, integer<std::int64_t>(n), x, integer<std::int64_t>(incx)); \
    return wrap_idamax_<P, Int>(host.function, integer<Int>(n), x, integer<Int>(incx)); \
  }
SEMCACHE_IDAMAX_(isamax_, s_types, std::int32_t)
SEMCACHE_IDAMAX_(idamax_, d_types, std::int32_t)
SEMCACHE_IDAMAX_(icamax_, c_types, std::int32_t)
SEMCACHE_IDAMAX_(izamax_, z_types, std::int32_t)
SEMCACHE_IDAMAX_(scipy_isamax_, s_types, std::int32_t)
SEMCACHE_IDAMAX_(scipy_idamax_, d_types, std::int32_t)
SEMCACHE_IDAMAX_(scipy_icamax_, c_types, std::int32_t)
SEMCACHE_IDAMAX_(scipy_izamax_, z_types, std::int32_t)
SEMCACHE_IDAMAX_(isamax_64_, s_types, std::int64_t)
SEMCACHE_IDAMAX_(idamax_64_, d_types, std::int64_t)
SEMCACHE_IDAMAX_(icamax_64_, c_types, std::int64_t)
SEMCACHE_IDAMAX_(izamax_64_, z_types, std::int64_t)
SEMCACHE_IDAMAX_(scipy_isamax_64_, s_types, std::int64_t)
SEMCACHE_IDAMAX_(scipy_idamax_64_, d_types, std::int64_t)
SEMCACHE_IDAMAX_(scipy_icamax_64_, c_types, std::int64_t)
SEMCACHE_IDAMAX_(scipy_izamax_64_, z_types, std::int64_t)
#define SEMCACHE_CBLAS_IDAMAX(symbol, P, Int) \
  static HostFunction host_of_##symbol(#symbol, sizeof(Int)); \
  static const EarlySearch search_for_##symbol(host_of_##symbol); \
  std::size_t symbol(std::int64_t n, const P::scalar* x, std::int64_t incx) { \
    const HostFunction::Found host = host_of_##symbol.of(SEMCACHE_CALLER); \
    if (host.is_wide) return wrap_cblas_idamax<P, std::int64_t>(host.function, integer<std::int64_t>(n), x, integer<std::int64_t>(incx)); \
    return wrap_cblas_idamax<P, Int>(host.function, integer<Int>(n), x, integer<Int>(incx)); \
  }
SEMCACHE_CBLAS_IDAMAX(cblas_isamax, s_types, std::int32_t)
SEMCACHE_CBLAS_IDAMAX(cblas_idamax, d_types, std::int32_t)
SEMCACHE_CBLAS_IDAMAX(cblas_icamax, c_types, std::int32_t)
SEMCACHE_CBLAS_IDAMAX(cblas_izamax, z_types, std::int32_t)
SEMCACHE_CBLAS_IDAMAX(scipy_cblas_isamax, s_types, std::int32_t)
SEMCACHE_CBLAS_IDAMAX(scipy_cblas_idamax, d_types, std::int32_t)
SEMCACHE_CBLAS_IDAMAX(scipy_cblas_icamax, c_types, std::int32_t)
SEMCACHE_CBLAS_IDAMAX(scipy_cblas_izamax, z_types, std::int32_t)
SEMCACHE_CBLAS_IDAMAX(cblas_isamax64_, s_types, std::int64_t)
SEMCACHE_CBLAS_IDAMAX(cblas_idamax64_, d_types, std::int64_t)
SEMCACHE_CBLAS_IDAMAX(cblas_icamax64_, c_types, std::int64_t)
SEMCACHE_CBLAS_IDAMAX(cblas_izamax64_, z_types, std::int64_t)
SEMCACHE_CBLAS_IDAMAX(scipy_cblas_isamax64_, s_types, std::int64_t)
SEMCACHE_CBLAS_IDAMAX(scipy_cblas_idamax64_, d_types, std::int64_t)
SEMCACHE_CBLAS_IDAMAX(scipy_cblas_icamax64_, c_types, std::int64_t)
SEMCACHE_CBLAS_IDAMAX(scipy_cblas_izamax64_, z_types, std::int64_t)
#define SEMCACHE_DROT_(symbol, P, Int) \
  static HostFunction host_of_##symbol(#symbol, sizeof(Int)); \
  static const EarlySearch search_for_##symbol(host_of_##symbol); \
  void symbol(const void* n, P::scalar* x, const void* incx, P::scalar* y, const void* incy, const P::real* c, const P::real* s) { \
    const HostFunction::Found host = host_of_##symbol.of(SEMCACHE_CALLER); \
    if (host.is_wide) return wrap_drot_<P, std::int64_t>(host.function, integer<std::int64_t>(n), x, integer<std::int64_t>(incx), y, integer<std::int64_t>(incy), c, s); \
    return wrap_drot_<P, Int>(host.function, integer<Int>(n), x, integer<Int>(incx), y, integer<Int>(incy), c, s); \
  }
SEMCACHE_DROT_(srot_, s_types, std::int32_t)
SEMCACHE_DROT_(drot_, d_types, std::int32_t)
SEMCACHE_DROT_(csrot_, c_types, std::int32_t)
SEMCACHE_DROT_(zdrot_, z_types, std::int32_t)
SEMCACHE_DROT_(scipy_srot_, s_types, std::int32_t)
SEMCACHE_DROT_(scipy_drot_, d_types, std::int32_t)
SEMCACHE_DROT_(scipy_csrot_, c_types, std::int32_t)
SEMCACHE_DROT_(scipy_zdrot_, z_types, std::int32_t)
SEMCACHE_DROT_(srot_64_, s_types, std::int64_t)
SEMCACHE_DROT_(drot_64_, d_types, std::int64_t)
SEMCACHE_DROT_(csrot_64_, c_types, std::int64_t)
SEMCACHE_DROT_(zdrot_64_, z_types, std::int64_t)
SEMCACHE_DROT_(scipy_srot_64_, s_types, std::int64_t)
SEMCACHE_DROT_(scipy_drot_64_, d_types, std::int64_t)
SEMCACHE_DROT_(scipy_csrot_64_, c_types, std::int64_t)
SEMCACHE_DROT_(scipy_zdrot_64_, z_types, std::int64_t)
#define SEMCACHE_CBLAS_DROT(symbol, P, Int) \
  static HostFunction host_of_##symbol(#symbol, sizeof(Int)); \
  static const EarlySearch search_for_##symbol(host_of_##symbol); \
  void symbol(std::int64_t n, P::scalar* x, std::int64_t incx, P::scalar* y, std::int64_t incy, P::real c, P::real s) { \
    const HostFunction::Found host = host_of_##symbol.of(SEMCACHE_CALLER); \
    if (host.is_wide) return wrap_cblas_drot<P, std::int64_t>(host.function, integer<std::int64_t>(n), x, integer<std::int64_t>(incx), y, integer<std::int64_t>(incy), c, \
        s); \
    return wrap_cblas_drot<P, Int>(host.function, integer<Int>(n), x, integer<Int>(incx), y, integer<Int>(incy), c, s); \
  }
SEMCACHE_CBLAS_DROT(cblas_srot, s_types, std::int32_t)
SEMCACHE_CBLAS_DROT(cblas_drot, d_types, std::int32_t)
SEMCACHE_CBLAS_DROT(cblas_csrot, c_types, std::int32_t)
SEMCACHE_CBLAS_DROT(cblas_zdrot, z_types, std::int32_t)
SEMCACHE_CBLAS_DROT(scipy_cblas_srot, s_types, std::int32_t)
SEMCACHE_CBLAS_DROT(scipy_cblas_drot, d_types, std::int32_t)
SEMCACHE_CBLAS_DROT(scipy_cblas_csrot, c_types, std::int32_t)
SEMCACHE_CBLAS_DROT(scipy_cblas_zdrot, z_types, std::int32_t)
SEMCACHE_CBLAS_DROT(cblas_srot64_, s_types, std::int64_t)
SEMCACHE_CBLAS_DROT(cblas_drot64_, d_types, std::int64_t)
SEMCACHE_CBLAS_DROT(cblas_csrot64_, c_types, std::int64_t)
SEMCACHE_CBLAS_DROT(cblas_zdrot64_, z_types, std::int64_t)
SEMCACHE_CBLAS_DROT(scipy_cblas_srot64_, s_types, std::int64_t)
SEMCACHE_CBLAS_DROT(scipy_cblas_drot64_, d_types, std::int64_t)
SEMCACHE_CBLAS_DROT(scipy_cblas_csrot64_, c_types, std::int64_t)
SEMCACHE_CBLAS_DROT(scipy_cblas_zdrot64_, z_types, std::int64_t)
#define SEMCACHE_DROTM_(symbol, P, Int) \
  static HostFunction host_of_##symbol(#symbol, sizeof(Int)); \
  static const EarlySearch search_for_##symbol(host_of_##symbol); \
  void symbol(const void* n, P::scalar* x, const void* incx, P::scalar* y, const void* incy, const P::scalar* param) { \
    const HostFunction::Found host = host_of_##symbol.of(SEMCACHE_CALLER); \
    if (host.is_wide) return wrap_drotm_<P, std::int64_t>(host.function, integer<std::int64_t>(n), x, integer<std::int64_t>(incx), y, integer<std::int64_t>(incy), \
        param); \
    return wrap_drotm_<P, Int>(host.function, integer<Int>(n), x, integer<Int>(incx), y, integer<Int>(incy), param); \
  }
SEMCACHE_DROTM_(srotm_, s_types, std::int32_t)
SEMCACHE_DROTM_(drotm_, d_types, std::int32_t)
SEMCACHE_DROTM_(scipy_srotm_, s_types, std::int32_t)
SEMCACHE_DROTM_(scipy_drotm_, d_types, std::int32_t)
SEMCACHE_DROTM_(srotm_64_, s_types, std::int64_t)
SEMCACHE_DROTM_(drotm_64_, d_types, std::int64_t)
SEMCACHE_DROTM_(scipy_srotm_64_, s_types, std::int64_t)
SEMCACHE_DROTM_(scipy_drotm_64_, d_types, std::int64_t)
#define SEMCACHE_CBLAS_DROTM(symbol, P, Int) \
  static HostFunction host_of_##symbol(#symbol, sizeof(Int)); \
  static const EarlySearch search_for_##symbol(host_of_##symbol); \
  void symbol(std::int64_t n, P::scalar* x, std::int64_t incx, P::scalar* y, std::int64_t incy, const P::scalar* param) { \
    const HostFunction::Found host = host_of_##symbol.of(SEMCACHE_CALLER); \
    if (host.is_wide) return wrap_cblas_drotm<P, std::int64_t>(host.function, integer<std::int64_t>(n), x, integer<std::int64_t>(incx), y, integer<std::int64_t>(incy), \
        param); \
    return wrap_cblas_drotm<P, Int>(host.function, integer<Int>(n), x, integer<Int>(incx), y, integer<Int>(incy), param); \
  }
SEMCACHE_CBLAS_DROTM(cblas_srotm, s_types, std::int32_t)
SEMCACHE_CBLAS_DROTM(cblas_drotm, d_types, std::int32_t)
SEMCACHE_CBLAS_DROTM(scipy_cblas_srotm, s_types, std::int32_t)
SEMCACHE_CBLAS_DROTM(scipy_cblas_drotm, d_types, std::int32_t)
SEMCACHE_CBLAS_DROTM(cblas_srotm64_, s_types, std::int64_t)
SEMCACHE_CBLAS_DROTM(cblas_drotm64_, d_types, std::int64_t)
SEMCACHE_CBLAS_DROTM(scipy_cblas_srotm64_, s_types, std::int64_t)
SEMCACHE_CBLAS_DROTM(scipy_cblas_drotm64_, d_types, std::int64_t)
#define SEMCACHE_DROTG_(symbol, P, Int) \
  static HostFunction host_of_##symbol(#symbol, sizeof(Int)); \
  static const EarlySearch search_for_##symbol(host_of_##symbol); \
  void symbol(P::scalar* a, P::scalar* b, P::real* c, P::scalar* s) { \
    const HostFunction::Found host = host_of_##symbol.of(SEMCACHE_CALLER); \
    if (host.is_wide) return wrap_drotg_<P, std::int64_t>(host.function, a, b, c, s); \
    return wrap_drotg_<P, Int>(host.function, a, b, c, s); \
  }
SEMCACHE_DROTG_(srotg_, s_types, std::int32_t)
SEMCACHE_DROTG_(drotg_, d_types, std::int32_t)
SEMCACHE_DROTG_(crotg_, c_types, std::int32_t)
SEMCACHE_DROTG_(zrotg_, z_types, std::int32_t)
SEMCACHE_DROTG_(scipy_srotg_, s_types, std::int32_t)
SEMCACHE_DROTG_(scipy_drotg_, d_types, std::int32_t)
SEMCACHE_DROTG_(scipy_crotg_, c_types, std::int32_t)
SEMCACHE_DROTG_(scipy_zrotg_, z_types, std::int32_t)
SEMCACHE_DROTG_(srotg_64_, s_types, std::int64_t)
SEMCACHE_DROTG_(drotg_64_, d_types, std::int64_t)
SEMCACHE_DROTG_(crotg_64_, c_types, std::int64_t)
SEMCACHE_DROTG_(zrotg_64_, z_types, std::int64_t)
SEMCACHE_DROTG_(scipy_srotg_64_, s_types, std::int64_t)
SEMCACHE_DROTG_(scipy_drotg_64_, d_types, std::int64_t)
SEMCACHE_DROTG_(scipy_crotg_64_, c_types, std::int64_t)
SEMCACHE_DROTG_(scipy_zrotg_64_, z_types, std::int64_t)
#define SEMCACHE_CBLAS_DROTG(symbol, P, Int) \
  static HostFunction host_of_##symbol(#symbol, sizeof(Int)); \
  static const EarlySearch search_for_##symbol(host_of_##symbol); \
  void symbol(P::scalar* a, P::scalar* b, P::real* c, P::scalar* s) { \
    const HostFunction::Found host = host_of_##symbol.of(SEMCACHE_CALLER); \
    if (host.is_wide) return wrap_cblas_drotg<P, std::int64_t>(host.function, a, b, c, s); \
    return wrap_cblas_drotg<P, Int>(host.function, a, b, c, s); \
  }
SEMCACHE_CBLAS_DROTG(cblas_srotg, s_types, std::int32_t)
SEMCACHE_CBLAS_DROTG(cblas_drotg, d_types, std::int32_t)
SEMCACHE_CBLAS_DROTG(cblas_crotg, c_types, std::int32_t)
SEMCACHE_CBLAS_DROTG(cblas_zrotg, z_types, std::int32_t)
SEMCACHE_CBLAS_DROTG(scipy_cblas_srotg, s_types, std::int32_t)
SEMCACHE_CBLAS_DROTG(scipy_cblas_drotg, d_types, std::int32_t)
SEMCACHE_CBLAS_DROTG(scipy_cblas_crotg, c_types, std::int32_t)
SEMCACHE_CBLAS_DROTG(scipy_cblas_zrotg, z_types, std::int32_t)
SEMCACHE_CBLAS_DROTG(cblas_srotg64_, s_types, std::int64_t)
SEMCACHE_CBLAS_DROTG(cblas_drotg64_, d_types, std::int64_t)
SEMCACHE_CBLAS_DROTG(cblas_crotg64_, c_types, std::int64_t)
SEMCACHE_CBLAS_DROTG(cblas_zrotg64_, z_types, std::int64_t)
SEMCACHE_CBLAS_DROTG(scipy_cblas_srotg64_, s_types, std::int64_t)
SEMCACHE_CBLAS_DROTG(scipy_cblas_drotg64_, d_types, std::int64_t)
SEMCACHE_CBLAS_DROTG(scipy_cblas_crotg64_, c_types, std::int64_t)
SEMCACHE_CBLAS_DROTG(scipy_cblas_zrotg64_, z_types, std::int64_t)
#define SEMCACHE_DROTMG_(symbol, P, Int) \
  static HostFunction host_of_##symbol(#symbol, sizeof(Int)); \
  static const EarlySearch search_for_##symbol(host_of_##symbol); \
  void symbol(P::scalar* d1, P::scalar* d2, P::scalar* x1, const P::scalar* y1, P::scalar* param) { \
    const HostFunction::Found host = host_of_##symbol.of(SEMCACHE_CALLER); \
    if (host.is_wide) return wrap_drotmg_<P, std::int64_t>(host.function, d1, d2, x1, y1, param); \
    return wrap_drotmg_<P, Int>(host.function, d1, d2, x1, y1, param); \
  }
SEMCACHE_DROTMG_(srotmg_, s_types, std::int32_t)
SEMCACHE_DROTMG_(drotmg_, d_types, std::int32_t)
SEMCACHE_DROTMG_(scipy_srotmg_, s_types, std::int32_t)
SEMCACHE_DROTMG_(scipy_drotmg_, d_types, std::int32_t)
SEMCACHE_DROTMG_(srotmg_64_, s_types, std::int64_t)
SEMCACHE_DROTMG_(drotmg_64_, d_types, std::int64_t)
SEMCACHE_DROTMG_(scipy_srotmg_64_, s_types, std::int64_t)
SEMCACHE_DROTMG_(scipy_drotmg_64_, d_types, std::int64_t)
#define SEMCACHE_CBLAS_DROTMG(symbol, P, Int) \
  static HostFunction host_of_##symbol(#symbol, sizeof(Int)); \
  static const EarlySearch search_for_##symbol(host_of_##symbol); \
  void symbol(P::scalar* d1, P::scalar* d2, P::scalar* x1, P::scalar y1, P::scalar* param) { \
    const HostFunction::Found host = host_of_##symbol.of(SEMCACHE_CALLER); \
    if (host.is_wide) return wrap_cblas_drotmg<P, std::int64_t>(host.function, d1, d2, x1, y1, param); \
    return wrap_cblas_drotmg<P, Int>(host.function, d1, d2, x1, y1, param); \
  }
SEMCACHE_CBLAS_DROTMG(cblas_srotmg, s_types, std::int32_t)
SEMCACHE_CBLAS_DROTMG(cblas_drotmg, d_types, std::int32_t)
SEMCACHE_CBLAS_DROTMG(scipy_cblas_srotmg, s_types, std::int32_t)
SEMCACHE_CBLAS_DROTMG(scipy_cblas_drotmg, d_types, std::int32_t)
SEMCACHE_CBLAS_DROTMG(cblas_srotmg64_, s_types, std::int64_t)
SEMCACHE_CBLAS_DROTMG(cblas_drotmg64_, d_types, std::int64_t)
SEMCACHE_CBLAS_DROTMG(scipy_cblas_srotmg64_, s_types, std::int64_t)
SEMCACHE_CBLAS_DROTMG(scipy_cblas_drotmg64_, d_types, std::int64_t)
#define SEMCACHE_DCABS1_(symbol, P, Int) \
  static HostFunction host_of_##symbol(#symbol, sizeof(Int)); \
  static const EarlySearch search_for_##symbol(host_of_##symbol); \
  P::real symbol(const P::scalar* z) { \
    const HostFunction::Found host = host_of_##symbol.of(SEMCACHE_CALLER); \
    if (host.is_wide) return wrap_dcabs1_<P, std::int64_t>(host.function, z); \
    return wrap_dcabs1_<P, Int>(host.function, z); \
  }
SEMCACHE_DCABS1_(scabs1_, c_types, std::int32_t)
SEMCACHE_DCABS1_(dcabs1_, z_types, std::int32_t)
SEMCACHE_DCABS1_(scipy_scabs1_, c_types, std::int32_t)
SEMCACHE_DCABS1_(scipy_dcabs1_, z_types, std::int32_t)
SEMCACHE_DCABS1_(scabs1_64_, c_types, std::int64_t)
SEMCACHE_DCABS1_(dcabs1_64_, z_types, std::int64_t)
SEMCACHE_DCABS1_(scipy_scabs1_64_, c_types, std::int64_t)
SEMCACHE_DCABS1_(scipy_dcabs1_64_, z_types, std::int64_t)
#define SEMCACHE_CBLAS_DCABS1(symbol, P, Int) \
  static HostFunction host_of_##symbol(#symbol, sizeof(Int)); \
  static const EarlySearch search_for_##symbol(host_of_##symbol); \
  P::real symbol(const P::scalar* z) { \
    const HostFunction::Found host = host_of_##symbol.of(SEMCACHE_CALLER); \
    if (host.is_wide) return wrap_cblas_dcabs1<P, std::int64_t>(host.function, z); \
    return wrap_cblas_dcabs1<P, Int>(host.function, z); \
  }
SEMCACHE_CBLAS_DCABS1(cblas_scabs1, c_types, std::int32_t)
SEMCACHE_CBLAS_DCABS1(cblas_dcabs1, z_types, std::int32_t)
SEMCACHE_CBLAS_DCABS1(scipy_cblas_scabs1, c_types, std::int32_t)
SEMCACHE_CBLAS_DCABS1(scipy_cblas_dcabs1, z_types, std::int32_t)
SEMCACHE_CBLAS_DCABS1(cblas_scabs164_, c_types, std::int64_t)
SEMCACHE_CBLAS_DCABS1(cblas_dcabs164_, z_types, std::int64_t)
SEMCACHE_CBLAS_DCABS1(scipy_cblas_scabs164_, c_types, std::int64_t)
SEMCACHE_CBLAS_DCABS1(scipy_cblas_dcabs164_, z_types, std::int64_t)
#define SEMCACHE_SDSDOT_(symbol, P, Int) \
  static HostFunction host_of_##symbol(#symbol, sizeof(Int)); \
  static const EarlySearch search_for_##symbol(host_of_##symbol); \
  float symbol(const void* n, const float* alpha, const float* x, const void* incx, const float* y, const void* incy) { \
    const HostFunction::Found host = host_of_##symbol.of(SEMCACHE_CALLER); \
    if (host.is_wide) return wrap_sdsdot_<P, std::int64_t>(host.function, integer<std::int64_t>(n), alpha, x, integer<std::int64_t>(incx), y, \
        integer<std::int64_t>(incy)); \
    return wrap_sdsdot_<P, Int>(host.function, integer<Int>(n), alpha, x, integer<Int>(incx), y, integer<Int>(incy)); \
  }
SEMCACHE_SDSDOT_(sdsdot_, only_types, std::int32_t)
SEMCACHE_SDSDOT_(scipy_sdsdot_, only_types, std::int32_t)
SEMCACHE_SDSDOT_(sdsdot_64_, only_types, std::int64_t)
SEMCACHE_SDSDOT_(scipy_sdsdot_64_, only_types, std::int64_t)
#define SEMCACHE_CBLAS_SDSDOT(symbol, P, Int) \
  static HostFunction host_of_##symbol(#symbol, sizeof(Int)); \
  static const EarlySearch search_for_##symbol(host_of_##symbol); \
  float symbol(std::int64_t n, float alpha, const float* x, std::int64_t incx, const float* y, std::int64_t incy) { \
    const HostFunction::Found host = host_of_##symbol.of(SEMCACHE_CALLER); \
    if (host.is_wide) return wrap_cblas_sdsdot<P, std::int64_t>(host.function, integer<std::int64_t>(n), alpha, x, integer<std::int64_t>(incx), y, \
        integer<std::int64_t>(incy)); \
    return wrap_cblas_sdsdot<P, Int>(host.function, integer<Int>(n), alpha, x, integer<Int>(incx), y, integer<Int>(incy)); \
  }
SEMCACHE_CBLAS_SDSDOT(cblas_sdsdot, only_types, std::int32_t)
SEMCACHE_CBLAS_SDSDOT(scipy_cblas_sdsdot, only_types, std::int32_t)
SEMCACHE_CBLAS_SDSDOT(cblas_sdsdot64_, only_types, std::int64_t)
SEMCACHE_CBLAS_SDSDOT(scipy_cblas_sdsdot64_, only_types, std::int64_t)
#define SEMCACHE_DSDOT_(symbol, P, Int) \
  static HostFunction host_of_##symbol(#symbol, sizeof(Int)); \
  static const EarlySearch search_for_##symbol(host_of_##symbol); \
  double symbol(const void* n, const float* x, const void* incx, const float* y, const void* incy) { \
    const HostFunction::Found host = host_of_##symbol.of(SEMCACHE_CALLER); \
    if (host.is_wide) return wrap_dsdot_<P, std::int64_t>(host.function, integer<std::int64_t>(n), x, integer<std::int64_t>(incx), y, integer<std::int64_t>(incy)); \
    return wrap_dsdot_<P, Int>(host.function, integer<Int>(n), x, integer<Int>(incx), y, integer<Int>(incy)); \
  }
SEMCACHE_DSDOT_(dsdot_, only_types, std::int32_t)
SEMCACHE_DSDOT_(scipy_dsdot_, only_types, std::int32_t)
SEMCACHE_DSDOT_(dsdot_64_, only_types, std::int64_t)
SEMCACHE_DSDOT_(scipy_dsdot_64_, only_types, std::int64_t)
#define SEMCACHE_CBLAS_DSDOT(symbol, P, Int) \
  static HostFunction host_of_##symbol(#symbol, sizeof(Int)); \
  static const EarlySearch search_for_##symbol(host_of_##symbol); \
  double symbol(std::int64_t n, const float* x, std::int64_t incx, const float* y, std::int64_t incy) { \
    const HostFunction::Found host = host_of_##symbol.of(SEMCACHE_CALLER); \
    if (host.is_wide) return wrap_cblas_dsdot<P, std::int64_t>(host.function, integer<std::int64_t>(n), x, integer<std::int64_t>(incx), y, integer<std::int64_t>(incy)); \
    return wrap_cblas_dsdot<P, Int>(host.function, integer<Int>(n), x, integer<Int>(incx), y, integer<Int>(incy)); \
  }
SEMCACHE_CBLAS_DSDOT(cblas_dsdot, only_types, std::int32_t)
SEMCACHE_CBLAS_DSDOT(scipy_cblas_dsdot, only_types, std::int32_t)
SEMCACHE_CBLAS_DSDOT(cblas_dsdot64_, only_types, std::int64_t)
SEMCACHE_CBLAS_DSDOT(scipy_cblas_dsdot64_, only_types, std::int64_t)
}
#pragma GCC visibility pop
