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

// ---- gemv: line 184

Routine gemv_routines[] = {Routine("BLAS sgemv"), Routine("BLAS dgemv"), Routine("BLAS cgemv"), Routine("BLAS zgemv")};

struct Gemv : Arguments {
  char trans = 0;
  std::int64_t m = 0;
  std::int64_t n = 0;
  Value alpha;
  const void* a = nullptr;
  std::int64_t lda = 0;
  const void* x = nullptr;
  std::int64_t incx = 0;
  Value beta;
  const void* y = nullptr;
  std::int64_t incy = 0;
};

void describe(Gemv& g, Call& call) noexcept {
  call.routine = &gemv_routines[g.type];
  call.at = {g.a, g.x, g.y};
  const std::int64_t nx = (g.trans == 'N' ? g.n : g.m);
  const std::int64_t ny = (g.trans == 'N' ? g.m : g.n);
  if (g.refused != Verdict::on_device ||
      !(one_of(g.trans, "NTC")) ||
      !(g.m >= 0) ||
      !(g.n >= 0) ||
      !(g.incx != 0) ||
      !(g.incy != 0) ||
      g.lda < max_of(1, g.m)) {
    return refuse(call, Verdict::wrong_arguments);
  }
  if (((g.m == 0 || g.n == 0) || g.alpha == 0)) return refuse(call, Verdict::nothing_to_compute);
  if (g.passes) return refuse(call, Verdict::no_routine);
  if (!all_fit({g.m, g.n, g.lda, g.incx, g.incy})) return refuse(call, Verdict::too_large);
  call.operations = (is_complex[g.type] ? 4.0 : 1.0) * (((2 * as_double(g.m)) * as_double(g.n)));
  add(call, matrix(g.a, g.m, g.n, g.lda, bytes_of_scalar[g.type], Access::read));
  add(call, vector(g.x, nx, g.incx, bytes_of_scalar[g.type], Access::read));
  add(call, vector(g.y, ny, g.incy, bytes_of_scalar[g.type], g.beta == 0 ? Access::overwrite : Access::read_write));
  check_addresses(call);
}

void gemv_on_gpu(void* arguments, const runtime::Stream& stream, const void* const* at) {
  auto& g = *static_cast<Gemv*>(arguments);
  static linalg::CublasRoutine routines[] = {linalg::CublasRoutine("cublasSgemv_v2"), linalg::CublasRoutine("cublasDgemv_v2"), linalg::CublasRoutine("cublasCgemv_v2"), linalg::CublasRoutine("cublasZgemv_v2")};
  routines[g.type](stream, code_of(g.trans), as_int(g.m), as_int(g.n), g.alpha.at(), at[0], as_int(g.lda), at[1], as_int(g.incx), g.beta.at(),
    at[2], as_int(g.incy));
  g.on_gpu = true;
}

template <class P, class Int>
void wrap_dgemv_(AnyFunction host, const char* trans, const Int* m, const Int* n, const typename P::scalar* alpha, const typename P::scalar* a,
    const Int* lda, const typename P::scalar* x, const Int* incx, const typename P::scalar* beta, typename P::scalar* y, const Int* incy) {
  using Host = void(const char*, const Int*, const Int*, const typename P::scalar*, const typename P::scalar*, const Int*,
    const typename P::scalar*, const Int*, const typename P::scalar*, typename P::scalar*, const Int*, std::size_t);
  auto* const routine = reinterpret_cast<Host*>(host);
  if (is_within_call()) return routine(trans, m, n, alpha, a, lda, x, incx, beta, y, incy, 1);
  if (any_null(trans, m, n, alpha, lda, incx, beta, incy)) {
    const PassedThrough within(gemv_routines[P::type], Verdict::nothing_to_compute);
    return routine(trans, m, n, alpha, a, lda, x, incx, beta, y, incy, 1);
  }
  const char trans_copy = *trans;
  const Int m_copy = *m;
  const Int n_copy = *n;
  const typename P::scalar alpha_copy = coefficient<typename P::scalar>(alpha);
  const Int lda_copy = *lda;
  const Int incx_copy = *incx;
  const typename P::scalar beta_copy = coefficient<typename P::scalar>(beta);
  const Int incy_copy = *incy;
  Gemv g;
  g.type = P::type;
  g.trans = upper(trans_copy);
  g.m = m_copy;
  g.n = n_copy;
  g.alpha = Value(alpha_copy);
  g.a = a;
  g.lda = lda_copy;
  g.x = x;
  g.incx = incx_copy;
  g.beta = Value(beta_copy);
  g.y = y;
  g.incy = incy_copy;
  const auto on_host = [&](const void* const* at) {
    routine(&trans_copy, &m_copy, &n_copy, handed<const typename P::scalar*>(alpha_copy), place<const typename P::scalar>(at[0]), &lda_copy,
        place<const typename P::scalar>(at[1]), &incx_copy, handed<const typename P::scalar*>(beta_copy), place<typename P::scalar>(at[2]),
        &incy_copy, 1);
    g.on_gpu = false;
  };
  Call call;
  describe(g, call);
  carry_out(call, Wrapped(g, Emulation::by_host, &gemv_on_gpu, on_host));
}

template <class P, class Int>
void wrap_cblas_dgemv(AnyFunction host, int order, int trans, Int m, Int n, typename P::value alpha, const typename P::scalar* a, Int lda,
    const typename P::scalar* x, Int incx, typename P::value beta, typename P::scalar* y, Int incy) {
  using Host = void(int, int, Int, Int, typename P::value, const typename P::scalar*, Int, const typename P::scalar*, Int, typename P::value,
    typename P::scalar*, Int);
  auto* const routine = reinterpret_cast<Host*>(host);
  if (is_within_call()) return routine(order, trans, m, n, alpha, a, lda, x, incx, beta, y, incy);
  if (any_null(alpha, beta)) {
    const PassedThrough within(gemv_routines[P::type], Verdict::nothing_to_compute);
    return routine(order, trans, m, n, alpha, a, lda, x, incx, beta, y, incy);
  }
  const typename P::scalar alpha_copy = coefficient<typename P::scalar>(alpha);
  const typename P::scalar beta_copy = coefficient<typename P::scalar>(beta);
  Gemv g;
  g.type = P::type;
  g.trans = letter_of_CBLAS_TRANSPOSE(trans);
  g.m = m;
  g.n = n;
  g.alpha = Value(alpha_copy);
  g.a = a;
  g.lda = lda;
  g.x = x;
  g.incx = incx;
  g.beta = Value(beta_copy);
  g.y = y;
  g.incy = incy;
  if (!((order == 101 || order == 102))) g.refused = Verdict::wrong_arguments;
  if (((order == 101 && g.trans == 'C') && is_complex[g.type])) g.passes = true;
  if ((order == 101 && g.trans == 'C')) g.trans = flipped(g.trans, 'C', 'T');
  if (order == 101) {
    g.trans = flipped(g.trans, 'N', 'T');
    std::swap(g.m, g.n);
  }
  const auto on_host = [&](const void* const* at) {
    routine(order, trans, m, n, handed<typename P::value>(alpha_copy), place<const typename P::scalar>(at[0]), lda,
        place<const typename P::scalar>(at[1]), incx, handed<typename P::value>(beta_copy), place<typename P::scalar>(at[2]), incy);
    g.on_gpu = false;
  };
  Call call;
  describe(g, call);
  carry_out(call, Wrapped(g, Emulation::by_host, &gemv_on_gpu, on_host));
}

// ---- gbmv: line 201

Routine gbmv_routines[] = {Routine("BLAS sgbmv"), Routine("BLAS dgbmv"), Routine("BLAS cgbmv"), Routine("BLAS zgbmv")};

struct Gbmv : Arguments {
  char trans = 0;
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t kl = 0;
  std::int64_t ku = 0;
  Value alpha;
  const void* a = nullptr;
  std::int64_t lda = 0;
  const void* x = nullptr;
  std::int64_t incx = 0;
  Value beta;
  const void* y = nullptr;
  std::int64_t incy = 0;
};

void describe(Gbmv& g, Call& call) noexcept {
  call.routine = &gbmv_routines[g.type];
  call.at = {g.a, g.x, g.y};
  const std::int64_t nx = (g.trans == 'N' ? g.n : g.m);
  const std::int64_t ny = (g.trans == 'N' ? g.m : g.n);
  if (g.refused != Verdict::on_device ||
      !(one_of(g.trans, "NTC")) ||
      !(g.m >= 0) ||
      !(g.n >= 0) ||
      !(g.kl >= 0) ||
      !(g.ku >= 0) ||
      !(g.incx != 0) ||
      !(g.incy != 0) ||
      g.lda < max_of(1, (g.kl + g.ku + 1))) {
    return refuse(call, Verdict::wrong_arguments);
  }
  if (((g.m == 0 || g.n == 0) || g.alpha == 0)) return refuse(call, Verdict::nothing_to_compute);
  if (g.passes) return refuse(call, Verdict::no_routine);
  if (!all_fit({g.m, g.n, g.kl, g.ku, g.lda, g.incx, g.incy})) return refuse(call, Verdict::too_large);
  call.operations = (is_complex[g.type] ? 4.0 : 1.0) * (((2 * as_double(g.n)) * ((as_double(g.kl) + as_double(g.ku)) + 1)));
  add(call, matrix(g.a, (g.kl + g.ku + 1), g.n, g.lda, bytes_of_scalar[g.type], Access::read));
  add(call, vector(g.x, nx, g.incx, bytes_of_scalar[g.type], Access::read));
  add(call, vector(g.y, ny, g.incy, bytes_of_scalar[g.type], g.beta == 0 ? Access::overwrite : Access::read_write));
  check_addresses(call);
}

void gbmv_on_gpu(void* arguments, const runtime::Stream& stream, const void* const* at) {
  auto& g = *static_cast<Gbmv*>(arguments);
  static linalg::CublasRoutine routines[] = {linalg::CublasRoutine("cublasSgbmv_v2"), linalg::CublasRoutine("cublasDgbmv_v2"), linalg::CublasRoutine("cublasCgbmv_v2"), linalg::CublasRoutine("cublasZgbmv_v2")};
  routines[g.type](stream, code_of(g.trans), as_int(g.m), as_int(g.n), as_int(g.kl), as_int(g.ku), g.alpha.at(), at[0], as_int(g.lda), at[1],
    as_int(g.incx), g.beta.at(), at[2], as_int(g.incy));
  g.on_gpu = true;
}

template <class P, class Int>
void wrap_dgbmv_(AnyFunction host, const char* trans, const Int* m, const Int* n, const Int* kl, const Int* ku, const typename P::scalar* alpha,
    const typename P::scalar* a, const Int* lda, const typename P::scalar* x, const Int* incx, const typename P::scalar* beta,
    typename P::scalar* y, const Int* incy) {
  using Host = void(const char*, const Int*, const Int*, const Int*, const Int*, const typename P::scalar*, const typename P::scalar*, const Int*,
    const typename P::scalar*, const Int*, const typename P::scalar*, typename P::scalar*, const Int*, std::size_t);
  auto* const routine = reinterpret_cast<Host*>(host);
  if (is_within_call()) return routine(trans, m, n, kl, ku, alpha, a, lda, x, incx, beta, y, incy, 1);
  if (any_null(trans, m, n, kl, ku, alpha, lda, incx, beta, incy)) {
    const PassedThrough within(gbmv_routines[P::type], Verdict::nothing_to_compute);
    return routine(trans, m, n, kl, ku, alpha, a, lda, x, incx, beta, y, incy, 1);
  }
  const char trans_copy = *trans;
  const Int m_copy = *m;
  const Int n_copy = *n;
  const Int kl_copy = *kl;
  const Int ku_copy = *ku;
  const typename P::scalar alpha_copy = coefficient<typename P::scalar>(alpha);
  const Int lda_copy = *lda;
  const Int incx_copy = *incx;
  const typename P::scalar beta_copy = coefficient<typename P::scalar>(beta);
  const Int incy_copy = *incy;
  Gbmv g;
  g.type = P::type;
  g.trans = upper(trans_copy);
  g.m = m_copy;
  g.n = n_copy;
  g.kl = kl_copy;
  g.ku = ku_copy;
  g.alpha = Value(alpha_copy);
  g.a = a;
  g.lda = lda_copy;
  g.x = x;
  g.incx = incx_copy;
  g.beta = Value(beta_copy);
  g.y = y;
  g.incy = incy_copy;
  const auto on_host = [&](const void* const* at) {
    routine(&trans_copy, &m_copy, &n_copy, &kl_copy, &ku_copy, handed<const typename P::scalar*>(alpha_copy),
        place<const typename P::scalar>(at[0]), &lda_copy, place<const typename P::scalar>(at[1]), &incx_copy,
        handed<const typename P::scalar*>(beta_copy), place<typename P::scalar>(at[2]), &incy_copy, 1);
    g.on_gpu = false;
  };
  Call call;
  describe(g, call);
  carry_out(call, Wrapped(g, Emulation::by_host, &gbmv_on_gpu, on_host));
}

template <class P, class Int>
void wrap_cblas_dgbmv(AnyFunction host, int order, int trans, Int m, Int n, Int kl, Int ku, typename P::value alpha, const typename P::scalar* a,
    Int lda, const typename P::scalar* x, Int incx, typename P::value beta, typename P::scalar* y, Int incy) {
  using Host = void(int, int, Int, Int, Int, Int, typename P::value, const typename P::scalar*, Int, const typename P::scalar*, Int,
    typename P::value, typename P::scalar*, Int);
  auto* const routine = reinterpret_cast<Host*>(host);
  if (is_within_call()) return routine(order, trans, m, n, kl, ku, alpha, a, lda, x, incx, beta, y, incy);
  if (any_null(alpha, beta)) {
    const PassedThrough within(gbmv_routines[P::type], Verdict::nothing_to_compute);
    return routine(order, trans, m, n, kl, ku, alpha, a, lda, x, incx, beta, y, incy);
  }
  const typename P::scalar alpha_copy = coefficient<typename P::scalar>(alpha);
  const typename P::scalar beta_copy = coefficient<typename P::scalar>(beta);
  Gbmv g;
  g.type = P::type;
  g.trans = letter_of_CBLAS_TRANSPOSE(trans);
  g.m = m;
  g.n = n;
  g.kl = kl;
  g.ku = ku;
  g.alpha = Value(alpha_copy);
  g.a = a;
  g.lda = lda;
  g.x = x;
  g.incx = incx;
  g.beta = Value(beta_copy);
  g.y = y;
  g.incy = incy;
  if (!((order == 101 || order == 102))) g.refused = Verdict::wrong_arguments;
  if (((order == 101 && g.trans == 'C') && is_complex[g.type])) g.passes = true;
  if ((order == 101 && g.trans == 'C')) g.trans = flipped(g.trans, 'C', 'T');
  if (order == 101) {
    g.trans = flipped(g.trans, 'N', 'T');
    std::swap(g.m, g.n);
    std::swap(g.kl, g.ku);
  }
  const auto on_host = [&](const void* const* at) {
    routine(order, trans, m, n, kl, ku, handed<typename P::value>(alpha_copy), place<const typename P::scalar>(at[0]), lda,
        place<const typename P::scalar>(at[1]), incx, handed<typename P::value>(beta_copy), place<typename P::scalar>(at[2]), incy);
    g.on_gpu = false;
  };
  Call call;
  describe(g, call);
  carry_out(call, Wrapped(g, Emulation::by_host, &gbmv_on_gpu, on_host));
}

// ---- symv: line 216

Routine symv_routines[] = {Routine("BLAS ssymv"), Routine("BLAS dsymv"), Routine(""), Routine("")};

struct Symv : Arguments {
  char uplo = 0;
  std::int64_t n = 0;
  Value alpha;
  const void* a = nullptr;
  std::int64_t lda = 0;
  const void* x = nullptr;
  std::int64_t incx = 0;
  Value beta;
  const void* y = nullptr;
  std::int64_t incy = 0;
};

void describe(Symv& g, Call& call) noexcept {
  call.routine = &symv_routines[g.type];
  call.at = {g.a, g.x, g.y};
  if (g.refused != Verdict::on_device ||
      !(one_of(g.uplo, "UL")) ||
      !(g.n >= 0) ||
      !(g.incx != 0) ||
      !(g.incy != 0) ||
      g.lda < max_of(1, g.n)) {
    return refuse(call, Verdict::wrong_arguments);
  }
  if ((g.n == 0 || g.alpha == 0)) return refuse(call, Verdict::nothing_to_compute);
  if (g.passes) return refuse(call, Verdict::no_routine);
  if (!all_fit({g.n, g.lda, g.incx, g.incy})) return refuse(call, Verdict::too_large);
  call.operations = (is_complex[g.type] ? 4.0 : 1.0) * (((2 * as_double(g.n)) * as_double(g.n)));
  add(call, triangle(g.uplo, matrix(g.a, g.n, g.n, g.lda, bytes_of_scalar[g.type], Access::read)));
  add(call, vector(g.x, g.n, g.incx, bytes_of_scalar[g.type], Access::read));
  add(call, vector(g.y, g.n, g.incy, bytes_of_scalar[g.type], g.beta == 0 ? Access::overwrite : Access::read_write));
  check_addresses(call);
}

void symv_on_gpu(void* arguments, const runtime::Stream& stream, const void* const* at) {
  auto& g = *static_cast<Symv*>(arguments);
  static linalg::CublasRoutine routines[] = {linalg::CublasRoutine("cublasSsymv_v2"), linalg::CublasRoutine("cublasDsymv_v2"), linalg::CublasRoutine(""), linalg::CublasRoutine("")};
  routines[g.type](stream, code_of(g.uplo), as_int(g.n), g.alpha.at(), at[0], as_int(g.lda), at[1], as_int(g.incx), g.beta.at(), at[2],
    as_int(g.incy));
  g.on_gpu = true;
}

template <class P, class Int>
void wrap_dsymv_(AnyFunction host, const char* uplo, const Int* n, const typename P::scalar* alpha, const typename P::scalar* a, const Int* lda,
    const typename P::scalar* x, const Int* incx, const typename P::scalar* beta, typename P::scalar* y, const Int* incy) {
  using Host = void(const char*, const Int*, const typename P::scalar*, const typename P::scalar*, const Int*, const typename P::scalar*,
    const Int*, const typename P::scalar*, typename P::scalar*, const Int*, std::size_t);
  auto* const routine = reinterpret_cast<Host*>(host);
  if (is_within_call()) return routine(uplo, n, alpha, a, lda, x, incx, beta, y, incy, 1);
  if (any_null(uplo, n, alpha, lda, incx, beta, incy)) {
    const PassedThrough within(symv_routines[P::type], Verdict::nothing_to_compute);
    return routine(uplo, n, alpha, a, lda, x, incx, beta, y, incy, 1);
  }
  const char uplo_copy = *uplo;
  const Int n_copy = *n;
  const typename P::scalar alpha_copy = coefficient<typename P::scalar>(alpha);
  const Int lda_copy = *lda;
  const Int incx_copy = *incx;
  const typename P::scalar beta_copy = coefficient<typename P::scalar>(beta);
  const Int incy_copy = *incy;
  Symv g;
  g.type = P::type;
  g.uplo = upper(uplo_copy);
  g.n = n_copy;
  g.alpha = Value(alpha_copy);
  g.a = a;
  g.lda = lda_copy;
  g.x = x;
  g.incx = incx_copy;
  g.beta = Value(beta_copy);
  g.y = y;
  g.incy = incy_copy;
  const auto on_host = [&](const void* const* at) {
    routine(&uplo_copy, &n_copy, handed<const typename P::scalar*>(alpha_copy), place<const typename P::scalar>(at[0]), &lda_copy,
        place<const typename P::scalar>(at[1]), &incx_copy, handed<const typename P::scalar*>(beta_copy), place<typename P::scalar>(at[2]),
        &incy_copy, 1);
    g.on_gpu = false;
  };
  Call call;
  describe(g, call);
  carry_out(call, Wrapped(g, Emulation::by_host, &symv_on_gpu, on_host));
}

template <class P, class Int>
void wrap_cblas_dsymv(AnyFunction host, int order, int uplo, Int n, typename P::value alpha, const typename P::scalar* a, Int lda,
    const typename P::scalar* x, Int incx, typename P::value beta, typename P::scalar* y, Int incy) {
  using Host = void(int, int, Int, typename P::value, const typename P::scalar*, Int, const typename P::scalar*, Int, typename P::value,
    typename P::scalar*, Int);
  auto* const routine = reinterpret_cast<Host*>(host);
  if (is_within_call()) return routine(order, uplo, n, alpha, a, lda, x, incx, beta, y, incy);
  if (any_null(alpha, beta)) {
    const PassedThrough within(symv_routines[P::type], Verdict::nothing_to_compute);
    return routine(order, uplo, n, alpha, a, lda, x, incx, beta, y, incy);
  }
  const typename P::scalar alpha_copy = coefficient<typename P::scalar>(alpha);
  const typename P::scalar beta_copy = coefficient<typename P::scalar>(beta);
  Symv g;
  g.type = P::type;
  g.uplo = letter_of_CBLAS_UPLO(uplo);
  g.n = n;
  g.alpha = Value(alpha_copy);
  g.a = a;
  g.lda = lda;
  g.x = x;
  g.incx = incx;
  g.beta = Value(beta_copy);
  g.y = y;
  g.incy = incy;
  if (!((order == 101 || order == 102))) g.refused = Verdict::wrong_arguments;
  if (order == 101) g.uplo = flipped(g.uplo, 'U', 'L');
  const auto on_host = [&](const void* const* at) {
    routine(order, uplo, n, handed<typename P::value>(alpha_copy), place<const typename P::scalar>(at[0]), lda,
        place<const typename P::scalar>(at[1]), incx, handed<typename P::value>(beta_copy), place<typename P::scalar>(at[2]), incy);
    g.on_gpu = false;
  };
  Call call;
  describe(g, call);
  carry_out(call, Wrapped(g, Emulation::by_host, &symv_on_gpu, on_host));
}

// ---- hemv: line 229

Routine hemv_routines[] = {Routine(""), Routine(""), Routine("BLAS chemv"), Routine("BLAS zhemv")};

struct Hemv : Arguments {
  char uplo = 0;
  std::int64_t n = 0;
  Value alpha;
  const void* a = nullptr;
  std::int64_t lda = 0;
  const void* x = nullptr;
  std::int64_t incx = 0;
  Value beta;
  const void* y = nullptr;
  std::int64_t incy = 0;
};

void describe(Hemv& g, Call& call) noexcept {
  call.routine = &hemv_routines[g.type];
  call.at = {g.a, g.x, g.y};
  if (g.refused != Verdict::on_device ||
      !(one_of(g.uplo, "UL")) ||
      !(g.n >= 0) ||
      !(g.incx != 0) ||
      !(g.incy != 0) ||
      g.lda < max_of(1, g.n)) {
    return refuse(call, Verdict::wrong_arguments);
  }
  if ((g.n == 0 || g.alpha == 0)) return refuse(call, Verdict::nothing_to_compute);
  if (g.passes) return refuse(call, Verdict::no_routine);
  if (!all_fit({g.n, g.lda, g.incx, g.incy})) return refuse(call, Verdict::too_large);
  call.operations = (is_complex[g.type] ? 4.0 : 1.0) * (((2 * as_double(g.n)) * as_double(g.n)));
  add(call, triangle(g.uplo, matrix(g.a, g.n, g.n, g.lda, bytes_of_scalar[g.type], Access::read)));
  add(call, vector(g.x, g.n, g.incx, bytes_of_scalar[g.type], Access::read));
  add(call, vector(g.y, g.n, g.incy, bytes_of_scalar[g.type], g.beta == 0 ? Access::overwrite : Access::read_write));
  check_addresses(call);
}

void hemv_on_gpu(void* arguments, const runtime::Stream& stream, const void* const* at) {
  auto& g = *static_cast<Hemv*>(arguments);
  static linalg::CublasRoutine routines[] = {linalg::CublasRoutine(""), linalg::CublasRoutine(""), linalg::CublasRoutine("cublasChemv_v2"), linalg::CublasRoutine("cublasZhemv_v2")};
  routines[g.type](stream, code_of(g.uplo), as_int(g.n), g.alpha.at(), at[0], as_int(g.lda), at[1], as_int(g.incx), g.beta.at(), at[2],
    as_int(g.incy));
  g.on_gpu = true;
}

template <class P, class Int>
void wrap_zhemv_(AnyFunction host, const char* uplo, const Int* n, const typename P::scalar* alpha, const typename P::scalar* a, const Int* lda,
    const typename P::scalar* x, const Int* incx, const typename P::scalar* beta, typename P::scalar* y, const Int* incy) {
  using Host = void(const char*, const Int*, const typename P::scalar*, const typename P::scalar*, const Int*, const typename P::scalar*,
    const Int*, const typename P::scalar*, typename P::scalar*, const Int*, std::size_t);
  auto* const routine = reinterpret_cast<Host*>(host);
  if (is_within_call()) return routine(uplo, n, alpha, a, lda, x, incx, beta, y, incy, 1);
  if (any_null(uplo, n, alpha, lda, incx, beta, incy)) {
    const PassedThrough within(hemv_routines[P::type], Verdict::nothing_to_compute);
    return routine(uplo, n, alpha, a, lda, x, incx, beta, y, incy, 1);
  }
  const char uplo_copy = *uplo;
  const Int n_copy = *n;
  const typename P::scalar alpha_copy = coefficient<typename P::scalar>(alpha);
  const Int lda_copy = *lda;
  const Int incx_copy = *incx;
  const typename P::scalar beta_copy = coefficient<typename P::scalar>(beta);
  const Int incy_copy = *incy;
  Hemv g;
  g.type = P::type;
  g.uplo = upper(uplo_copy);
  g.n = n_copy;
  g.alpha = Value(alpha_copy);
  g.a = a;
  g.lda = lda_copy;
  g.x = x;
  g.incx = incx_copy;
  g.beta = Value(beta_copy);
  g.y = y;
  g.incy = incy_copy;
  const auto on_host = [&](const void* const* at) {
    routine(&uplo_copy, &n_copy, handed<const typename P::scalar*>(alpha_copy), place<const typename P::scalar>(at[0]), &lda_copy,
        place<const typename P::scalar>(at[1]), &incx_copy, handed<const typename P::scalar*>(beta_copy), place<typename P::scalar>(at[2]),
        &incy_copy, 1);
    g.on_gpu = false;
  };
  Call call;
  describe(g, call);
  carry_out(call, Wrapped(g, Emulation::by_host, &hemv_on_gpu, on_host));
}

template <class P, class Int>
void wrap_cblas_zhemv(AnyFunction host, int order, int uplo, Int n, typename P::value alpha, const typename P::scalar* a, Int lda,
    const typename P::scalar* x, Int incx, typename P::value beta, typename P::scalar* y, Int incy) {
  using Host = void(int, int, Int, typename P::value, const typename P::scalar*, Int, const typename P::scalar*, Int, typename P::value,
    typename P::scalar*, Int);
  auto* const routine = reinterpret_cast<Host*>(host);
  if (is_within_call()) return routine(order, uplo, n, alpha, a, lda, x, incx, beta, y, incy);
  if (any_null(alpha, beta)) {
    const PassedThrough within(hemv_routines[P::type], Verdict::nothing_to_compute);
    return routine(order, uplo, n, alpha, a, lda, x, incx, beta, y, incy);
  }
  const typename P::scalar alpha_copy = coefficient<typename P::scalar>(alpha);
  const typename P::scalar beta_copy = coefficient<typename P::scalar>(beta);
  Hemv g;
  g.type = P::type;
  g.uplo = letter_of_CBLAS_UPLO(uplo);
  g.n = n;
  g.alpha = Value(alpha_copy);
  g.a = a;
  g.lda = lda;
  g.x = x;
  g.incx = incx;
  g.beta = Value(beta_copy);
  g.y = y;
  g.incy = incy;
  if (!((order == 101 || order == 102))) g.refused = Verdict::wrong_arguments;
  if (order == 101) g.passes = true;
  const auto on_host = [&](const void* const* at) {
    routine(order, uplo, n, handed<typename P::value>(alpha_copy), place<const typename P::scalar>(at[0]), lda,
        place<const typename P::scalar>(at[1]), incx, handed<typename P::value>(beta_copy), place<typename P::scalar>(at[2]), incy);
    g.on_gpu = false;
  };
  Call call;
  describe(g, call);
  carry_out(call, Wrapped(g, Emulation::by_host, &hemv_on_gpu, on_host));
}

// ---- sbmv: line 242

Routine sbmv_routines[] = {Routine("BLAS ssbmv"), Routine("BLAS dsbmv"), Routine(""), Routine("")};

struct Sbmv : Arguments {
  char uplo = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  Value alpha;
  const void* a = nullptr;
  std::int64_t lda = 0;
  const void* x = nullptr;
  std::int64_t incx = 0;
  Value beta;
  const void* y = nullptr;
  std::int64_t incy = 0;
};

void describe(Sbmv& g, Call& call) noexcept {
  call.routine = &sbmv_routines[g.type];
  call.at = {g.a, g.x, g.y};
  if (g.refused != Verdict::on_device ||
      !(one_of(g.uplo, "UL")) ||
      !(g.n >= 0) ||
      !(g.incx != 0) ||
      !(g.k >= 0) ||
      !(g.incy != 0) ||
      g.lda < max_of(1, (g.k + 0 + 1))) {
    return refuse(call, Verdict::wrong_arguments);
  }
  if ((g.n == 0 || g.alpha == 0)) return refuse(call, Verdict::nothing_to_compute);
  if (g.passes) return refuse(call, Verdict::no_routine);
  if (!all_fit({g.n, g.k, g.lda, g.incx, g.incy})) return refuse(call, Verdict::too_large);
  call.operations = (is_complex[g.type] ? 4.0 : 1.0) * (((4 * as_double(g.n)) * (as_double(g.k) + 1)));
  add(call, matrix(g.a, (g.k + 0 + 1), g.n, g.lda, bytes_of_scalar[g.type], Access::read));
  add(call, vector(g.x, g.n, g.incx, bytes_of_scalar[g.type], Access::read));
  add(call, vector(g.y, g.n, g.incy, bytes_of_scalar[g.type], g.beta == 0 ? Access::overwrite : Access::read_write));
  check_addresses(call);
}

void sbmv_on_gpu(void* arguments, const runtime::Stream& stream, const void* const* at) {
  auto& g = *static_cast<Sbmv*>(arguments);
  static linalg::CublasRoutine routines[] = {linalg::CublasRoutine("cublasSsbmv_v2"), linalg::CublasRoutine("cublasDsbmv_v2"), linalg::CublasRoutine(""), linalg::CublasRoutine("")};
  routines[g.type](stream, code_of(g.uplo), as_int(g.n), as_int(g.k), g.alpha.at(), at[0], as_int(g.lda), at[1], as_int(g.incx), g.beta.at(),
    at[2], as_int(g.incy));
  g.on_gpu = true;
}

template <class P, class Int>
void wrap_dsbmv_(AnyFunction host, const char* uplo, const Int* n, const Int* k, const typename P::scalar* alpha, const typename P::scalar* a,
    const Int* lda, const typename P::scalar* x, const Int* incx, const typename P::scalar* beta, typename P::scalar* y, const Int* incy) {
  using Host = void(const char*, const Int*, const Int*, const typename P::scalar*, const typename P::scalar*, const Int*,
    const typename P::scalar*, const Int*, const typename P::scalar*, typename P::scalar*, const Int*, std::size_t);
  auto* const routine = reinterpret_cast<Host*>(host);
  if (is_within_call()) return routine(uplo, n, k, alpha, a, lda, x, incx, beta, y, incy, 1);
  if (any_null(uplo, n, k, alpha, lda, incx, beta, incy)) {
    const PassedThrough within(sbmv_routines[P::type], Verdict::nothing_to_compute);
    return routine(uplo, n, k, alpha, a, lda, x, incx, beta, y, incy, 1);
  }
  const char uplo_copy = *uplo;
  const Int n_copy = *n;
  const Int k_copy = *k;
  const typename P::scalar alpha_copy = coefficient<typename P::scalar>(alpha);
  const Int lda_copy = *lda;
  const Int incx_copy = *incx;
  const typename P::scalar beta_copy = coefficient<typename P::scalar>(beta);
  const Int incy_copy = *incy;
  Sbmv g;
  g.type = P::type;
  g.uplo = upper(uplo_copy);
  g.n = n_copy;
  g.k = k_copy;
  g.alpha = Value(alpha_copy);
  g.a = a;
  g.lda = lda_copy;
  g.x = x;
  g.incx = incx_copy;
  g.beta = Value(beta_copy);
  g.y = y;
  g.incy = incy_copy;
  const auto on_host = [&](const void* const* at) {
    routine(&uplo_copy, &n_copy, &k_copy, handed<const typename P::scalar*>(alpha_copy), place<const typename P::scalar>(at[0]), &lda_copy,
        place<const typename P::scalar>(at[1]), &incx_copy, handed<const typename P::scalar*>(beta_copy), place<typename P::scalar>(at[2]),
        &incy_copy, 1);
    g.on_gpu = false;
  };
  Call call;
  describe(g, call);
  carry_out(call, Wrapped(g, Emulation::by_host, &sbmv_on_gpu, on_host));
}

template <class P, class Int>
void wrap_cblas_dsbmv(AnyFunction host, int order, int uplo, Int n, Int k, typename P::value alpha, const typename P::scalar* a, Int lda,
    const typename P::scalar* x, Int incx, typename P::value beta, typename P::scalar* y, Int incy) {
  using Host = void(int, int, Int, Int, typename P::value, const typename P::scalar*, Int, const typename P::scalar*, Int, typename P::value,
    typename P::scalar*, Int);
  auto* const routine = reinterpret_cast<Host*>(host);
  if (is_within_call()) return routine(order, uplo, n, k, alpha, a, lda, x, incx, beta, y, incy);
  if (any_null(alpha, beta)) {
    const PassedThrough within(sbmv_routines[P::type], Verdict::nothing_to_compute);
    return routine(order, uplo, n, k, alpha, a, lda, x, incx, beta, y, incy);
  }
  const typename P::scalar alpha_copy = coefficient<typename P::scalar>(alpha);
  const typename P::scalar beta_copy = coefficient<typename P::scalar>(beta);
  Sbmv g;
  g.type = P::type;
  g.uplo = letter_of_CBLAS_UPLO(uplo);
  g.n = n;
  g.k = k;
  g.alpha = Value(alpha_copy);
  g.a = a;
  g.lda = lda;
  g.x = x;
  g.incx = incx;
  g.beta = Value(beta_copy);
  g.y = y;
  g.incy = incy;
  if (!((order == 101 || order == 102))) g.refused = Verdict::wrong_arguments;
  if (order == 101) g.uplo = flipped(g.uplo, 'U', 'L');
  const auto on_host = [&](const void* const* at) {
    routine(order, uplo, n, k, handed<typename P::value>(alpha_copy), place<const typename P::scalar>(at[0]), lda,
        place<const typename P::scalar>(at[1]), incx, handed<typename P::value>(beta_copy), place<typename P::scalar>(at[2]), incy);
    g.on_gpu = false;
  };
  Call call;
  describe(g, call);
  carry_out(call, Wrapped(g, Emulation::by_host, &sbmv_on_gpu, on_host));
}

// ---- hbmv: line 255

Routine hbmv_routines[] = {Routine(""), Routine(""), Routine("BLAS chbmv"), Routine("BLAS zhbmv")};

struct Hbmv : Arguments {
  char uplo = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  Value alpha;
  const void* a = nullptr;
  std::int64_t lda = 0;
  const void* x = nullptr;
  std::int64_t incx = 0;
  Value beta;
  const void* y = nullptr;
  std::int64_t incy = 0;
};

void describe(Hbmv& g, Call& call) noexcept {
  call.routine = &hbmv_routines[g.type];
  call.at = {g.a, g.x, g.y};
  if (g.refused != Verdict::on_device ||
      !(one_of(g.uplo, "UL")) ||
      !(g.n >= 0) ||
      !(g.incx != 0) ||
      !(g.k >= 0) ||
      !(g.incy != 0) ||
      g.lda < max_of(1, (g.k + 0 + 1))) {
    return refuse(call, Verdict::wrong_arguments);
  }
  if ((g.n == 0 || g.alpha == 0)) return refuse(call, Verdict::nothing_to_compute);
  if (g.passes) return refuse(call, Verdict::no_routine);
  if (!all_fit({g.n, g.k, g.lda, g.incx, g.incy})) return refuse(call, Verdict::too_large);
  call.operations = (is_complex[g.type] ? 4.0 : 1.0) * (((4 * as_double(g.n)) * (as_double(g.k) + 1)));
  add(call, matrix(g.a, (g.k + 0 + 1), g.n, g.lda, bytes_of_scalar[g.type], Access::read));
  add(call, vector(g.x, g.n, g.incx, bytes_of_scalar[g.type], Access::read));
  add(call, vector(g.y, g.n, g.incy, bytes_of_scalar[g.type], g.beta == 0 ? Access::overwrite : Access::read_write));
  check_addresses(call);
}

void hbmv_on_gpu(void* arguments, const runtime::Stream& stream, const void* const* at) {
  auto& g = *static_cast<Hbmv*>(arguments);
  static linalg::CublasRoutine routines[] = {linalg::CublasRoutine(""), linalg::CublasRoutine(""), linalg::CublasRoutine("cublasChbmv_v2"), linalg::CublasRoutine("cublasZhbmv_v2")};
  routines[g.type](stream, code_of(g.uplo), as_int(g.n), as_int(g.k), g.alpha.at(), at[0], as_int(g.lda), at[1], as_int(g.incx), g.beta.at(),
    at[2], as_int(g.incy));
  g.on_gpu = true;
}

template <class P, class Int>
void wrap_zhbmv_(AnyFunction host, const char* uplo, const Int* n, const Int* k, const typename P::scalar* alpha, const typename P::scalar* a,
    const Int* lda, const typename P::scalar* x, const Int* incx, const typename P::scalar* beta, typename P::scalar* y, const Int* incy) {
  using Host = void(const char*, const Int*, const Int*, const typename P::scalar*, const typename P::scalar*, const Int*,
    const typename P::scalar*, const Int*, const typename P::scalar*, typename P::scalar*, const Int*, std::size_t);
  auto* const routine = reinterpret_cast<Host*>(host);
  if (is_within_call()) return routine(uplo, n, k, alpha, a, lda, x, incx, beta, y, incy, 1);
  if (any_null(uplo, n, k, alpha, lda, incx, beta, incy)) {
    const PassedThrough within(hbmv_routines[P::type], Verdict::nothing_to_compute);
    return routine(uplo, n, k, alpha, a, lda, x, incx, beta, y, incy, 1);
  }
  const char uplo_copy = *uplo;
  const Int n_copy = *n;
  const Int k_copy = *k;
  const typename P::scalar alpha_copy = coefficient<typename P::scalar>(alpha);
  const Int lda_copy = *lda;
  const Int incx_copy = *incx;
  const typename P::scalar beta_copy = coefficient<typename P::scalar>(beta);
  const Int incy_copy = *incy;
  Hbmv g;
  g.type = P::type;
  g.uplo = upper(uplo_copy);
  g.n = n_copy;
  g.k = k_copy;
  g.alpha = Value(alpha_copy);
  g.a = a;
  g.lda = lda_copy;
  g.x = x;
  g.incx = incx_copy;
  g.beta = Value(beta_copy);
  g.y = y;
  g.incy = incy_copy;
  const auto on_host = [&](const void* const* at) {
    routine(&uplo_copy, &n_copy, &k_copy, handed<const typename P::scalar*>(alpha_copy), place<const typename P::scalar>(at[0]), &lda_copy,
        place<const typename P::scalar>(at[1]), &incx_copy, handed<const typename P::scalar*>(beta_copy), place<typename P::scalar>(at[2]),
        &incy_copy, 1);
    g.on_gpu = false;
  };
  Call call;
  describe(g, call);
  carry_out(call, Wrapped(g, Emulation::by_host, &hbmv_on_gpu, on_host));
}

template <class P, class Int>
void wrap_cblas_zhbmv(AnyFunction host, int order, int uplo, Int n, Int k, typename P::value alpha, const typename P::scalar* a, Int lda,
    const typename P::scalar* x, Int incx, typename P::value beta, typename P::scalar* y, Int incy) {
  using Host = void(int, int, Int, Int, typename P::value, const typename P::scalar*, Int, const typename P::scalar*, Int, typename P::value,
    typename P::scalar*, Int);
  auto* const routine = reinterpret_cast<Host*>(host);
  if (is_within_call()) return routine(order, uplo, n, k, alpha, a, lda, x, incx, beta, y, incy);
  if (any_null(alpha, beta)) {
    const PassedThrough within(hbmv_routines[P::type], Verdict::nothing_to_compute);
    return routine(order, uplo, n, k, alpha, a, lda, x, incx, beta, y, incy);
  }
  const typename P::scalar alpha_copy = coefficient<typename P::scalar>(alpha);
  const typename P::scalar beta_copy = coefficient<typename P::scalar>(beta);
  Hbmv g;
  g.type = P::type;
  g.uplo = letter_of_CBLAS_UPLO(uplo);
  g.n = n;
  g.k = k;
  g.alpha = Value(alpha_copy);
  g.a = a;
  g.lda = lda;
  g.x = x;
  g.incx = incx;
  g.beta = Value(beta_copy);
  g.y = y;
  g.incy = incy;
  if (!((order == 101 || order == 102))) g.refused = Verdict::wrong_arguments;
  if (order == 101) g.passes = true;
  const auto on_host = [&](const void* const* at) {
    routine(order, uplo, n, k, handed<typename P::value>(alpha_copy), place<const typename P::scalar>(at[0]), lda,
        place<const typename P::scalar>(at[1]), incx, handed<typename P::value>(beta_copy), place<typename P::scalar>(at[2]), incy);
    g.on_gpu = false;
  };
  Call call;
  describe(g, call);
  carry_out(call, Wrapped(g, Emulation::by_host, &hbmv_on_gpu, on_host));
}

// ---- spmv: line 268

Routine spmv_routines[] = {Routine("BLAS sspmv"), Routine("BLAS dspmv"), Routine(""), Routine("")};

struct Spmv : Arguments {
  char uplo = 0;
  std::int64_t n = 0;
  Value alpha;
  const void* ap = nullptr;
  const void* x = nullptr;
  std::int64_t incx = 0;
  Value beta;
  const void* y = nullptr;
  std::int64_t incy = 0;
};

void describe(Spmv& g, Call& call) noexcept {
  call.routine = &spmv_routines[g.type];
  call.at = {g.ap, g.x, g.y};
  if (g.refused != Verdict::on_device ||
      !(one_of(g.uplo, "UL")) ||
      !(g.n >= 0) ||
      !(g.incx != 0) ||
      !(g.incy != 0)) {
    return refuse(call, Verdict::wrong_arguments);
  }
  if ((g.n == 0 || g.alpha == 0)) return refuse(call, Verdict::nothing_to_compute);
  if (g.passes) return refuse(call, Verdict::no_routine);
  if (!all_fit({g.n, g.incx, g.incy})) return refuse(call, Verdict::too_large);
  call.operations = (is_complex[g.type] ? 4.0 : 1.0) * (((2 * as_double(g.n)) * as_double(g.n)));
  add(call, packed(g.ap, g.n, bytes_of_scalar[g.type], Access::read));
  add(call, vector(g.x, g.n, g.incx, bytes_of_scalar[g.type], Access::read));
  add(call, vector(g.y, g.n, g.incy, bytes_of_scalar[g.type], g.beta == 0 ? Access::overwrite : Access::read_write));
  check_addresses(call);
}

void spmv_on_gpu(void* arguments, const runtime::Stream& stream, const void* const* at) {
  auto& g = *static_cast<Spmv*>(arguments);
  static linalg::CublasRoutine routines[] = {linalg::CublasRoutine("cublasSspmv_v2"), linalg::CublasRoutine("cublasDspmv_v2"), linalg::CublasRoutine(""), linalg::CublasRoutine("")};
  routines[g.type](stream, code_of(g.uplo), as_int(g.n), g.alpha.at(), at[0], at[1], as_int(g.incx), g.beta.at(), at[2], as_int(g.incy));
  g.on_gpu = true;
}

template <class P, class Int>
void wrap_dspmv_(AnyFunction host, const char* uplo, const Int* n, const typename P::scalar* alpha, const typename P::scalar* ap,
    const typename P::scalar* x, const Int* incx, const typename P::scalar* beta, typename P::scalar* y, const Int* incy) {
  using Host = void(const char*, const Int*, const typename P::scalar*, const typename P::scalar*, const typename P::scalar*, const Int*,
    const typename P::scalar*, typename P::scalar*, const Int*, std::size_t);
  auto* const routine = reinterpret_cast<Host*>(host);
  if (is_within_call()) return routine(uplo, n, alpha, ap, x, incx, beta, y, incy, 1);
  if (any_null(uplo, n, alpha, incx, beta, incy)) {
    const PassedThrough within(spmv_routines[P::type], Verdict::nothing_to_compute);
    return routine(uplo, n, alpha, ap, x, incx, beta, y, incy, 1);
  }
  const char uplo_copy = *uplo;
  const Int n_copy = *n;
  const typename P::scalar alpha_copy = coefficient<typename P::scalar>(alpha);
  const Int incx_copy = *incx;
  const typename P::scalar beta_copy = coefficient<typename P::scalar>(beta);
  const Int incy_copy = *incy;
  Spmv g;
  g.type = P::type;
  g.uplo = upper(uplo_copy);
  g.n = n_copy;
  g.alpha = Value(alpha_copy);
  g.ap = ap;
  g.x = x;
  g.incx = incx_copy;
  g.beta = Value(beta_copy);
  g.y = y;
  g.incy = incy_copy;
  const auto on_host = [&](const void* const* at) {
    routine(&uplo_copy, &n_copy, handed<const typename P::scalar*>(alpha_copy), place<const typename P::scalar>(at[0]),
        place<const typename P::scalar>(at[1]), &incx_copy, handed<const typename P::scalar*>(beta_copy), place<typename P::scalar>(at[2]),
        &incy_copy, 1);
    g.on_gpu = false;
  };
  Call call;
  describe(g, call);
  carry_out(call, Wrapped(g, Emulation::by_host, &spmv_on_gpu, on_host));
}

template <class P, class Int>
void wrap_cblas_dspmv(AnyFunction host, int order, int uplo, Int n, typename P::value alpha, const typename P::scalar* ap,
    const typename P::scalar* x, Int incx, typename P::value beta, typename P::scalar* y, Int incy) {
  using Host = void(int, int, Int, typename P::value, const typename P::scalar*, const typename P::scalar*, Int, typename P::value,
    typename P::scalar*, Int);
  auto* const routine = reinterpret_cast<Host*>(host);
  if (is_within_call()) return routine(order, uplo, n, alpha, ap, x, incx, beta, y, incy);
  if (any_null(alpha, beta)) {
    const PassedThrough within(spmv_routines[P::type], Verdict::nothing_to_compute);
    return routine(order, uplo, n, alpha, ap, x, incx, beta, y, incy);
  }
  const typename P::scalar alpha_copy = coefficient<typename P::scalar>(alpha);
  const typename P::scalar beta_copy = coefficient<typename P::scalar>(beta);
  Spmv g;
  g.type = P::type;
  g.uplo = letter_of_CBLAS_UPLO(uplo);
  g.n = n;
  g.alpha = Value(alpha_copy);
  g.ap = ap;
  g.x = x;
  g.incx = incx;
  g.beta = Value(beta_copy);
  g.y = y;
  g.incy = incy;
  if (!((order == 101 || order == 102))) g.refused = Verdict::wrong_arguments;
  if (order == 101) g.uplo = flipped(g.uplo, 'U', 'L');
  const auto on_host = [&](const void* const* at) {
    routine(order, uplo, n, handed<typename P::value>(alpha_copy), place<const typename P::scalar>(at[0]), place<const typename P::scalar>(at[1]),
        incx, handed<typename P::value>(beta_copy), place<typename P::scalar>(at[2]), incy);
    g.on_gpu = false;
  };
  Call call;
  describe(g, call);
  carry_out(call, Wrapped(g, Emulation::by_host, &spmv_on_gpu, on_host));
}

// ---- hpmv: line 281

Routine hpmv_routines[] = {Routine(""), Routine(""), Routine("BLAS chpmv"), Routine("BLAS zhpmv")};

struct Hpmv : Arguments {
  char uplo = 0;
  std::int64_t n = 0;
  Value alpha;
  const void* ap = nullptr;
  const void* x = nullptr;
  std::int64_t incx = 0;
  Value beta;
  const void* y = nullptr;
  std::int64_t incy = 0;
};

void describe(Hpmv& g, Call& call) noexcept {
  call.routine = &hpmv_routines[g.type];
  call.at = {g.ap, g.x, g.y};
  if (g.refused != Verdict::on_device ||
      !(one_of(g.uplo, "UL")) ||
      !(g.n >= 0) ||
      !(g.incx != 0) ||
      !(g.incy != 0)) {
    return refuse(call, Verdict::wrong_arguments);
  }
  if ((g.n == 0 || g.alpha == 0)) return refuse(call, Verdict::nothing_to_compute);
  if (g.passes) return refuse(call, Verdict::no_routine);
  if (!all_fit({g.n, g.incx, g.incy})) return refuse(call, Verdict::too_large);
  call.operations = (is_complex[g.type] ? 4.0 : 1.0) * (((2 * as_double(g.n)) * as_double(g.n)));
  add(call, packed(g.ap, g.n, bytes_of_scalar[g.type], Access::read));
  add(call, vector(g.x, g.n, g.incx, bytes_of_scalar[g.type], Access::read));
  add(call, vector(g.y, g.n, g.incy, bytes_of_scalar[g.type], g.beta == 0 ? Access::overwrite : Access::read_write));
  check_addresses(call);
}

void hpmv_on_gpu(void* arguments, const runtime::Stream& stream, const void* const* at) {
  auto& g = *static_cast<Hpmv*>(arguments);
  static linalg::CublasRoutine routines[] = {linalg::CublasRoutine(""), linalg::CublasRoutine(""), linalg::CublasRoutine("cublasChpmv_v2"), linalg::CublasRoutine("cublasZhpmv_v2")};
  routines[g.type](stream, code_of(g.uplo), as_int(g.n), g.alpha.at(), at[0], at[1], as_int(g.incx), g.beta.at(), at[2], as_int(g.incy));
  g.on_gpu = true;
}

template <class P, class Int>
void wrap_zhpmv_(AnyFunction host, const char* uplo, const Int* n, const typename P::scalar* alpha, const typename P::scalar* ap,
    const typename P::scalar* x, const Int* incx, const typename P::scalar* beta, typename P::scalar* y, const Int* incy) {
  using Host = void(const char*, const Int*, const typename P::scalar*, const typename P::scalar*, const typename P::scalar*, const Int*,
    const typename P::scalar*, typename P::scalar*, const Int*, std::size_t);
  auto* const routine = reinterpret_cast<Host*>(host);
  if (is_within_call()) return routine(uplo, n, alpha, ap, x, incx, beta, y, incy, 1);
  if (any_null(uplo, n, alpha, incx, beta, incy)) {
    const PassedThrough within(hpmv_routines[P::type], Verdict::nothing_to_compute);
    return routine(uplo, n, alpha, ap, x, incx, beta, y, incy, 1);
  }
  const char uplo_copy = *uplo;
  const Int n_copy = *n;
  const typename P::scalar alpha_copy = coefficient<typename P::scalar>(alpha);
  const Int incx_copy = *incx;
  const typename P::scalar beta_copy = coefficient<typename P::scalar>(beta);
  const Int incy_copy = *incy;
  Hpmv g;
  g.type = P::type;
  g.uplo = upper(uplo_copy);
  g.n = n_copy;
  g.alpha = Value(alpha_copy);
  g.ap = ap;
  g.x = x;
  g.incx = incx_copy;
  g.beta = Value(beta_copy);
  g.y = y;
  g.incy = incy_copy;
  const auto on_host = [&](const void* const* at) {
    routine(&uplo_copy, &n_copy, handed<const typename P::scalar*>(alpha_copy), place<const typename P::scalar>(at[0]),
        place<const typename P::scalar>(at[1]), &incx_copy, handed<const typename P::scalar*>(beta_copy), place<typename P::scalar>(at[2]),
        &incy_copy, 1);
    g.on_gpu = false;
  };
  Call call;
  describe(g, call);
  carry_out(call, Wrapped(g, Emulation::by_host, &hpmv_on_gpu, on_host));
}

template <class P, class Int>
void wrap_cblas_zhpmv(AnyFunction host, int order, int uplo, Int n, typename P::value alpha, const typename P::scalar* ap,
    const typename P::scalar* x, Int incx, typename P::value beta, typename P::scalar* y, Int incy) {
  using Host = void(int, int, Int, typename P::value, const typename P::scalar*, const typename P::scalar*, Int, typename P::value,
    typename P::scalar*, Int);
  auto* const routine = reinterpret_cast<Host*>(host);
  if (is_within_call()) return routine(order, uplo, n, alpha, ap, x, incx, beta, y, incy);
  if (any_null(alpha, beta)) {
    const PassedThrough within(hpmv_routines[P::type], Verdict::nothing_to_compute);
    return routine(order, uplo, n, alpha, ap, x, incx, beta, y, incy);
  }
  const typename P::scalar alpha_copy = coefficient<typename P::scalar>(alpha);
  const typename P::scalar beta_copy = coefficient<typename P::scalar>(beta);
  Hpmv g;
  g.type = P::type;
  g.uplo = letter_of_CBLAS_UPLO(uplo);
  g.n = n;
  g.alpha = Value(alpha_copy);
  g.ap = ap;
  g.x = x;
  g.incx = incx;
  g.beta = Value(beta_copy);
  g.y = y;
  g.incy = incy;
  if (!((order == 101 || order == 102))) g.refused = Verdict::wrong_arguments;
  if (order == 101) g.passes = true;
  const auto on_host = [&](const void* const* at) {
    routine(order, uplo, n, handed<typename P::value>(alpha_copy), place<const typename P::scalar>(at[0]), place<const typename P::scalar>(at[1]),
        incx, handed<typename P::value>(beta_copy), place<typename P::scalar>(at[2]), incy);
    g.on_gpu = false;
  };
  Call call;
  describe(g, call);
  carry_out(call, Wrapped(g, Emulation::by_host, &hpmv_on_gpu, on_host));
}

// ---- trmv: line 294

Routine trmv_routines[] = {Routine("BLAS strmv"), Routine("BLAS dtrmv"), Routine("BLAS ctrmv"), Routine("BLAS ztrmv")};

struct Trmv : Arguments {
  char uplo = 0;
  char trans = 0;
  char diag = 0;
  std::int64_t n = 0;
  const void* a = nullptr;
  std::int64_t lda = 0;
  const void* x = nullptr;
  std::int64_t incx = 0;
};

void describe(Trmv& g, Call& call) noexcept {
  call.routine = &trmv_routines[g.type];
  call.at = {g.a, g.x};
  if (g.refused != Verdict::on_device ||
      !(one_of(g.uplo, "UL")) ||
      !(one_of(g.trans, "NTC")) ||
      !(one_of(g.diag, "NU")) ||
      !(g.n >= 0) ||
      !(g.incx != 0) ||
      g.lda < max_of(1, g.n)) {
    return refuse(call, Verdict::wrong_arguments);
  }
  if (g.n == 0) return refuse(call, Verdict::nothing_to_compute);
  if (g.passes) return refuse(call, Verdict::no_routine);
  if (!all_fit({g.n, g.lda, g.incx})) return refuse(call, Verdict::too_large);
  call.operations = (is_complex[g.type] ? 4.0 : 1.0) * ((as_double(g.n) * as_double(g.n)));
  add(call, triangle(g.uplo, matrix(g.a, g.n, g.n, g.lda, bytes_of_scalar[g.type], Access::read)));
  add(call, vector(g.x, g.n, g.incx, bytes_of_scalar[g.type], Access::read_write));
  check_addresses(call);
}

void trmv_on_gpu(void* arguments, const runtime::Stream& stream, const void* const* at) {
  auto& g = *static_cast<Trmv*>(arguments);
  static linalg::CublasRoutine routines[] = {linalg::CublasRoutine("cublasStrmv_v2"), linalg::CublasRoutine("cublasDtrmv_v2"), linalg::CublasRoutine("cublasCtrmv_v2"), linalg::CublasRoutine("cublasZtrmv_v2")};
  routines[g.type](stream, code_of(g.uplo), code_of(g.trans), code_of(g.diag), as_int(g.n), at[0], as_int(g.lda), at[1], as_int(g.incx));
  g.on_gpu = true;
}

template <class P, class Int>
void wrap_dtrmv_(AnyFunction host, const char* uplo, const char* trans, const char* diag, const Int* n, const typename P::scalar* a,
    const Int* lda, typename P::scalar* x, const Int* incx) {
  using Host = void(const char*, const char*, const char*, const Int*, const typename P::scalar*, const Int*, typename P::scalar*, const Int*,
    std::size_t, std::size_t, std::size_t);
  auto* const routine = reinterpret_cast<Host*>(host);
  if (is_within_call()) return routine(uplo, trans, diag, n, a, lda, x, incx, 1, 1, 1);
  if (any_null(uplo, trans, diag, n, lda, incx)) {
    const PassedThrough within(trmv_routines[P::type], Verdict::nothing_to_compute);
    return routine(uplo, trans, diag, n, a, lda, x, incx, 1, 1, 1);
  }
  const char uplo_copy = *uplo;
  const char trans_copy = *trans;
  const char diag_copy = *diag;
  const Int n_copy = *n;
  const Int lda_copy = *lda;
  const Int incx_copy = *incx;
  Trmv g;
  g.type = P::type;
  g.uplo = upper(uplo_copy);
  g.trans = upper(trans_copy);
  g.diag = upper(diag_copy);
  g.n = n_copy;
  g.a = a;
  g.lda = lda_copy;
  g.x = x;
  g.incx = incx_copy;
  const auto on_host = [&](const void* const* at) {
    routine(&uplo_copy, &trans_copy, &diag_copy, &n_copy, place<const typename P::scalar>(at[0]), &lda_copy, place<typename P::scalar>(at[1]),
        &incx_copy, 1, 1, 1);
    g.on_gpu = false;
  };
  Call call;
  describe(g, call);
  carry_out(call, Wrapped(g, Emulation::by_host, &trmv_on_gpu, on_host));
}

template <class P, class Int>
void wrap_cblas_dtrmv(AnyFunction host, int order, int uplo, int trans, int diag, Int n, const typename P::scalar* a, Int lda,
    typename P::scalar* x, Int incx) {
  using Host = void(int, int, int, int, Int, const typename P::scalar*, Int, typename P::scalar*, Int);
  auto* const routine = reinterpret_cast<Host*>(host);
  if (is_within_call()) return routine(order, uplo, trans, diag, n, a, lda, x, incx);
  Trmv g;
  g.type = P::type;
  g.uplo = letter_of_CBLAS_UPLO(uplo);
  g.trans = letter_of_CBLAS_TRANSPOSE(trans);
  g.diag = letter_of_CBLAS_DIAG(diag);
  g.n = n;
  g.a = a;
  g.lda = lda;
  g.x = x;
  g.incx = incx;
  if (!((order == 101 || order == 102))) g.refused = Verdict::wrong_arguments;
  if (((order == 101 && g.trans == 'C') && is_complex[g.type])) g.passes = true;
  if ((order == 101 && g.trans == 'C')) g.trans = flipped(g.trans, 'C', 'T');
  if (order == 101) {
    g.trans = flipped(g.trans, 'N', 'T');
    g.uplo = flipped(g.uplo, 'U', 'L');
  }
  const auto on_host = [&](const void* const* at) {
    routine(order, uplo, trans, diag, n, place<const typename P::scalar>(at[0]), lda, place<typename P::scalar>(at[1]), incx);
    g.on_gpu = false;
  };
  Call call;
  describe(g, call);
  carry_out(call, Wrapped(g, Emulation::by_host, &trmv_on_gpu, on_host));
}

// ---- tbmv: line 309

Routine tbmv_routines[] = {Routine("BLAS stbmv"), Routine("BLAS dtbmv"), Routine("BLAS ctbmv"), Routine("BLAS ztbmv")};

struct Tbmv : Arguments {
  char uplo = 0;
  char trans = 0;
  char diag = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  const void* a = nullptr;
  std::int64_t lda = 0;
  const void* x = nullptr;
  std::int64_t incx = 0;
};

void describe(Tbmv& g, Call& call) noexcept {
  call.routine = &tbmv_routines[g.type];
  call.at = {g.a, g.x};
  if (g.refused != Verdict::on_device ||
      !(one_of(g.uplo, "UL")) ||
      !(one_of(g.trans, "NTC")) ||
      !(one_of(g.diag, "NU")) ||
      !(g.n >= 0) ||
      !(g.incx != 0) ||
      !(g.k >= 0) ||
      g.lda < max_of(1, (g.k + 0 + 1))) {
    return refuse(call, Verdict::wrong_arguments);
  }
  if (g.n == 0) return refuse(call, Verdict::nothing_to_compute);
  if (g.passes) return refuse(call, Verdict::no_routine);
  if (!all_fit({g.n, g.k, g.lda, g.incx})) return refuse(call, Verdict::too_large);
  call.operations = (is_complex[g.type] ? 4.0 : 1.0) * (((2 * as_double(g.n)) * (as_double(g.k) + 1)));
  add(call, matrix(g.a, (g.k + 0 + 1), g.n, g.lda, bytes_of_scalar[g.type], Access::read));
  add(call, vector(g.x, g.n, g.incx, bytes_of_scalar[g.type], Access::read_write));
  check_addresses(call);
}

void tbmv_on_gpu(void* arguments, const runtime::Stream& stream, const void* const* at) {
  auto& g = *static_cast<Tbmv*>(arguments);
  static linalg::CublasRoutine routines[] = {linalg::CublasRoutine("cublasStbmv_v2"), linalg::CublasRoutine("cublasDtbmv_v2"), linalg::CublasRoutine("cublasCtbmv_v2"), linalg::CublasRoutine("cublasZtbmv_v2")};
  routines[g.type](stream, code_of(g.uplo), code_of(g.trans), code_of(g.diag), as_int(g.n), as_int(g.k), at[0], as_int(g.lda), at[1],
    as_int(g.incx));
  g.on_gpu = true;
}

template <class P, class Int>
void wrap_dtbmv_(AnyFunction host, const char* uplo, const char* trans, const char* diag, const Int* n, const Int* k, const typename P::scalar* a,
    const Int* lda, typename P::scalar* x, const Int* incx) {
  using Host = void(const char*, const char*, const char*, const Int*, const Int*, const typename P::scalar*, const Int*, typename P::scalar*,
    const Int*, std::size_t, std::size_t, std::size_t);
  auto* const routine = reinterpret_cast<Host*>(host);
  if (is_within_call()) return routine(uplo, trans, diag, n, k, a, lda, x, incx, 1, 1, 1);
  if (any_null(uplo, trans, diag, n, k, lda, incx)) {
    const PassedThrough within(tbmv_routines[P::type], Verdict::nothing_to_compute);
    return routine(uplo, trans, diag, n, k, a, lda, x, incx, 1, 1, 1);
  }
  const char uplo_copy = *uplo;
  const char trans_copy = *trans;
  const char diag_copy = *diag;
  const Int n_copy = *n;
  const Int k_copy = *k;
  const Int lda_copy = *lda;
  const Int incx_copy = *incx;
  Tbmv g;
  g.type = P::type;
  g.uplo = upper(uplo_copy);
  g.trans = upper(trans_copy);
  g.diag = upper(diag_copy);
  g.n = n_copy;
  g.k = k_copy;
  g.a = a;
  g.lda = lda_copy;
  g.x = x;
  g.incx = incx_copy;
  const auto on_host = [&](const void* const* at) {
    routine(&uplo_copy, &trans_copy, &diag_copy, &n_copy, &k_copy, place<const typename P::scalar>(at[0]), &lda_copy,
        place<typename P::scalar>(at[1]), &incx_copy, 1, 1, 1);
    g.on_gpu = false;
  };
  Call call;
  describe(g, call);
  carry_out(call, Wrapped(g, Emulation::by_host, &tbmv_on_gpu, on_host));
}

template <class P, class Int>
void wrap_cblas_dtbmv(AnyFunction host, int order, int uplo, int trans, int diag, Int n, Int k, const typename P::scalar* a, Int lda,
    typename P::scalar* x, Int incx) {
  using Host = void(int, int, int, int, Int, Int, const typename P::scalar*, Int, typename P::scalar*, Int);
  auto* const routine = reinterpret_cast<Host*>(host);
  if (is_within_call()) return routine(order, uplo, trans, diag, n, k, a, lda, x, incx);
  Tbmv g;
  g.type = P::type;
  g.uplo = letter_of_CBLAS_UPLO(uplo);
  g.trans = letter_of_CBLAS_TRANSPOSE(trans);
  g.diag = letter_of_CBLAS_DIAG(diag);
  g.n = n;
  g.k = k;
  g.a = a;
  g.lda = lda;
  g.x = x;
  g.incx = incx;
  if (!((order == 101 || order == 102))) g.refused = Verdict::wrong_arguments;
  if (((order == 101 && g.trans == 'C') && is_complex[g.type])) g.passes = true;
  if ((order == 101 && g.trans == 'C')) g.trans = flipped(g.trans, 'C', 'T');
  if (order == 101) {
    g.trans = flipped(g.trans, 'N', 'T');
    g.uplo = flipped(g.uplo, 'U', 'L');
  }
  const auto on_host = [&](const void* const* at) {
    routine(order, uplo, trans, diag, n, k, place<const typename P::scalar>(at[0]), lda, place<typename P::scalar>(at[1]), incx);
    g.on_gpu = false;
  };
  Call call;
  describe(g, call);
  carry_out(call, Wrapped(g, Emulation::by_host, &tbmv_on_gpu, on_host));
}

// ---- tpmv: line 324

Routine tpmv_routines[] = {Routine("BLAS stpmv"), Routine("BLAS dtpmv"), Routine("BLAS ctpmv"), Routine("BLAS ztpmv")};

struct Tpmv : Arguments {
  char uplo = 0;
  char trans = 0;
  char diag = 0;
  std::int64_t n = 0;
  const void* ap = nullptr;
  const void* x = nullptr;
  std::int64_t incx = 0;
};

void describe(Tpmv& g, Call& call) noexcept {
  call.routine = &tpmv_routines[g.type];
  call.at = {g.ap, g.x};
  if (g.refused != Verdict::on_device ||
      !(one_of(g.uplo, "UL")) ||
      !(one_of(g.trans, "NTC")) ||
      !(one_of(g.diag, "NU")) ||
      !(g.n >= 0) ||
      !(g.incx != 0)) {
    return refuse(call, Verdict::wrong_arguments);
  }
  if (g.n == 0) return refuse(call, Verdict::nothing_to_compute);
  if (g.passes) return refuse(call, Verdict::no_routine);
  if (!all_fit({g.n, g.incx})) return refuse(call, Verdict::too_large);
  call.operations = (is_complex[g.type] ? 4.0 : 1.0) * ((as_double(g.n) * as_double(g.n)));
  add(call, packed(g.ap, g.n, bytes_of_scalar[g.type], Access::read));
  add(call, vector(g.x, g.n, g.incx, bytes_of_scalar[g.type], Access::read_write));
  check_addresses(call);
}

void tpmv_on_gpu(void* arguments, const runtime::Stream& stream, const void* const* at) {
  auto& g = *static_cast<Tpmv*>(arguments);
  static linalg::CublasRoutine routines[] = {linalg::CublasRoutine("cublasStpmv_v2"), linalg::CublasRoutine("cublasDtpmv_v2"), linalg::CublasRoutine("cublasCtpmv_v2"), linalg::CublasRoutine("cublasZtpmv_v2")};
  routines[g.type](stream, code_of(g.uplo), code_of(g.trans), code_of(g.diag), as_int(g.n), at[0], at[1], as_int(g.incx));
  g.on_gpu = true;
}

template <class P, class Int>
void wrap_dtpmv_(AnyFunction host, const char* uplo, const char* trans, const char* diag, const Int* n, const typename P::scalar* ap,
    typename P::scalar* x, const Int* incx) {
  using Host = void(const char*, const char*, const char*, const Int*, const typename P::scalar*, typename P::scalar*, const Int*, std::size_t,
    std::size_t, std::size_t);
  auto* const routine = reinterpret_cast<Host*>(host);
  if (is_within_call()) return routine(uplo, trans, diag, n, ap, x, incx, 1, 1, 1);
  if (any_null(uplo, trans, diag, n, incx)) {
    const PassedThrough within(tpmv_routines[P::type], Verdict::nothing_to_compute);
    return routine(uplo, trans, diag, n, ap, x, incx, 1, 1, 1);
  }
  const char uplo_copy = *uplo;
  const char trans_copy = *trans;
  const char diag_copy = *diag;
  const Int n_copy = *n;
  const Int incx_copy = *incx;
  Tpmv g;
  g.type = P::type;
  g.uplo = upper(uplo_copy);
  g.trans = upper(trans_copy);
  g.diag = upper(diag_copy);
  g.n = n_copy;
  g.ap = ap;
  g.x = x;
  g.incx = incx_copy;
  const auto on_host = [&](const void* const* at) {
    routine(&uplo_copy, &trans_copy, &diag_copy, &n_copy, place<const typename P::scalar>(at[0]), place<typename P::scalar>(at[1]), &incx_copy, 1,
        1, 1);
    g.on_gpu = false;
  };
  Call call;
  describe(g, call);
  carry_out(call, Wrapped(g, Emulation::by_host, &tpmv_on_gpu, on_host));
}

template <class P, class Int>
void wrap_cblas_dtpmv(AnyFunction host, int order, int uplo, int trans, int diag, Int n, const typename P::scalar* ap, typename P::scalar* x,
    Int incx) {
  using Host = void(int, int, int, int, Int, const typename P::scalar*, typename P::scalar*, Int);
  auto* const routine = reinterpret_cast<Host*>(host);
  if (is_within_call()) return routine(order, uplo, trans, diag, n, ap, x, incx);
  Tpmv g;
  g.type = P::type;
  g.uplo = letter_of_CBLAS_UPLO(uplo);
  g.trans = letter_of_CBLAS_TRANSPOSE(trans);
  g.diag = letter_of_CBLAS_DIAG(diag);
  g.n = n;
  g.ap = ap;
  g.x = x;
  g.incx = incx;
  if (!((order == 101 || order == 102))) g.refused = Verdict::wrong_arguments;
  if (((order == 101 && g.trans == 'C') && is_complex[g.type])) g.passes = true;
  if ((order == 101 && g.trans == 'C')) g.trans = flipped(g.trans, 'C', 'T');
  if (order == 101) {
    g.trans = flipped(g.trans, 'N', 'T');
    g.uplo = flipped(g.uplo, 'U', 'L');
  }
  const auto on_host = [&](const void* const* at) {
    routine(order, uplo, trans, diag, n, place<const typename P::scalar>(at[0]), place<typename P::scalar>(at[1]), incx);
    g.on_gpu = false;
  };
  Call call;
  describe(g, call);
  carry_out(call, Wrapped(g, Emulation::by_host, &tpmv_on_gpu, on_host));
}

// ---- trsv: line 337

Routine trsv_routines[] = {Routine("BLAS strsv"), Routine("BLAS dtrsv"), Routine("BLAS ctrsv"), Routine("BLAS ztrsv")};

struct Trsv : Arguments {
  char uplo = 0;
  char trans = 0;
  char diag = 0;
  std::int64_t n = 0;
  const void* a = nullptr;
  std::int64_t lda = 0;
  const void* x = nullptr;
  std::int64_t incx = 0;
};

void describe(Trsv& g, Call& call) noexcept {
  call.routine = &trsv_routines[g.type];
  call.at = {g.a, g.x};
  if (g.refused != Verdict::on_device ||
      !(one_of(g.uplo, "UL")) ||
      !(one_of(g.trans, "NTC")) ||
      !(one_of(g.diag, "NU")) ||
      !(g.n >= 0) ||
      !(g.incx != 0) ||
      g.lda < max_of(1, g.n)) {
    return refuse(call, Verdict::wrong_arguments);
  }
  if (g.n == 0) return refuse(call, Verdict::nothing_to_compute);
  if (g.passes) return refuse(call, Verdict::no_routine);
  if (!all_fit({g.n, g.lda, g.incx})) return refuse(call, Verdict::too_large);
  call.operations = (is_complex[g.type] ? 4.0 : 1.0) * ((as_double(g.n) * as_double(g.n)));
  add(call, triangle(g.uplo, matrix(g.a, g.n, g.n, g.lda, bytes_of_scalar[g.type], Access::read)));
  add(call, vector(g.x, g.n, g.incx, bytes_of_scalar[g.type], Access::read_write));
  check_addresses(call);
}

void trsv_on_gpu(void* arguments, const runtime::Stream& stream, const void* const* at) {
  auto& g = *static_cast<Trsv*>(arguments);
  static linalg::CublasRoutine routines[] = {linalg::CublasRoutine("cublasStrsv_v2"), linalg::CublasRoutine("cublasDtrsv_v2"), linalg::CublasRoutine("cublasCtrsv_v2"), linalg::CublasRoutine("cublasZtrsv_v2")};
  routines[g.type](stream, code_of(g.uplo), code_of(g.trans), code_of(g.diag), as_int(g.n), at[0], as_int(g.lda), at[1], as_int(g.incx));
  g.on_gpu = true;
}

template <class P, class Int>
void wrap_dtrsv_(AnyFunction host, const char* uplo, const char* trans, const char* diag, const Int* n, const typename P::scalar* a,
    const Int* lda, typename P::scalar* x, const Int* incx) {
  using Host = void(const char*, const char*, const char*, const Int*, const typename P::scalar*, const Int*, typename P::scalar*, const Int*,
    std::size_t, std::size_t, std::size_t);
  auto* const routine = reinterpret_cast<Host*>(host);
  if (is_within_call()) return routine(uplo, trans, diag, n, a, lda, x, incx, 1, 1, 1);
  if (any_null(uplo, trans, diag, n, lda, incx)) {
    const PassedThrough within(trsv_routines[P::type], Verdict::nothing_to_compute);
    return routine(uplo, trans, diag, n, a, lda, x, incx, 1, 1, 1);
  }
  const char uplo_copy = *uplo;
  const char trans_copy = *trans;
  const char diag_copy = *diag;
  const Int n_copy = *n;
  const Int lda_copy = *lda;
  const Int incx_copy = *incx;
  Trsv g;
  g.type = P::type;
  g.uplo = upper(uplo_copy);
  g.trans = upper(trans_copy);
  g.diag = upper(diag_copy);
  g.n = n_copy;
  g.a = a;
  g.lda = lda_copy;
  g.x = x;
  g.incx = incx_copy;
  const auto on_host = [&](const void* const* at) {
    routine(&uplo_copy, &trans_copy, &diag_copy, &n_copy, place<const typename P::scalar>(at[0]), &lda_copy, place<typename P::scalar>(at[1]),
        &incx_copy, 1, 1, 1);
    g.on_gpu = false;
  };
  Call call;
  describe(g, call);
  carry_out(call, Wrapped(g, Emulation::by_host, &trsv_on_gpu, on_host));
}

template <class P, class Int>
void wrap_cblas_dtrsv(AnyFunction host, int order, int uplo, int trans, int diag, Int n, const typename P::scalar* a, Int lda,
    typename P::scalar* x, Int incx) {
  using Host = void(int, int, int, int, Int, const typename P::scalar*, Int, typename P::scalar*, Int);
  auto* const routine = reinterpret_cast<Host*>(host);
  if (is_within_call()) return routine(order, uplo, trans, diag, n, a, lda, x, incx);
  Trsv g;
  g.type = P::type;
  g.uplo = letter_of_CBLAS_UPLO(uplo);
  g.trans = letter_of_CBLAS_TRANSPOSE(trans);
  g.diag = letter_of_CBLAS_DIAG(diag);
  g.n = n;
  g.a = a;
  g.lda = lda;
  g.x = x;
  g.incx = incx;
  if (!((order == 101 || order == 102))) g.refused = Verdict::wrong_arguments;
  if (((order == 101 && g.trans == 'C') && is_complex[g.type])) g.passes = true;
  if ((order == 101 && g.trans == 'C')) g.trans = flipped(g.trans, 'C', 'T');
  if (order == 101) {
    g.trans = flipped(g.trans, 'N', 'T');
    g.uplo = flipped(g.uplo, 'U', 'L');
  }
  const auto on_host = [&](const void* const* at) {
    routine(order, uplo, trans, diag, n, place<const typename P::scalar>(at[0]), lda, place<typename P::scalar>(at[1]), incx);
    g.on_gpu = false;
  };
  Call call;
  describe(g, call);
  carry_out(call, Wrapped(g, Emulation::by_host, &trsv_on_gpu, on_host));
}

// ---- tbsv: line 352

Routine tbsv_routines[] = {Routine("BLAS stbsv"), Routine("BLAS dtbsv"), Routine("BLAS ctbsv"), Routine("BLAS ztbsv")};

struct Tbsv : Arguments {
  char uplo = 0;
  char trans = 0;
  char diag = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  const void* a = nullptr;
  std::int64_t lda = 0;
  const void* x = nullptr;
  std::int64_t incx = 0;
};

void describe(Tbsv& g, Call& call) noexcept {
  call.routine = &tbsv_routines[g.type];
  call.at = {g.a, g.x};
  if (g.refused != Verdict::on_device ||
      !(one_of(g.uplo, "UL")) ||
      !(one_of(g.trans, "NTC")) ||
      !(one_of(g.diag, "NU")) ||
      !(g.n >= 0) ||
      !(g.incx != 0) ||
      !(g.k >= 0) ||
      g.lda < max_of(1, (g.k + 0 + 1))) {
    return refuse(call, Verdict::wrong_arguments);
  }
  if (g.n == 0) return refuse(call, Verdict::nothing_to_compute);
  if (g.passes) return refuse(call, Verdict::no_routine);
  if (!all_fit({g.n, g.k, g.lda, g.incx})) return refuse(call, Verdict::too_large);
  call.operations = (is_complex[g.type] ? 4.0 : 1.0) * (((2 * as_double(g.n)) * (as_double(g.k) + 1)));
  add(call, matrix(g.a, (g.k + 0 + 1), g.n, g.lda, bytes_of_scalar[g.type], Access::read));
  add(call, vector(g.x, g.n, g.incx, bytes_of_scalar[g.type], Access::read_write));
  check_addresses(call);
}

void tbsv_on_gpu(void* arguments, const runtime::Stream& stream, const void* const* at) {
  auto& g = *static_cast<Tbsv*>(arguments);
  static linalg::CublasRoutine routines[] = {linalg::CublasRoutine("cublasStbsv_v2"), linalg::CublasRoutine("cublasDtbsv_v2"), linalg::CublasRoutine("cublasCtbsv_v2"), linalg::CublasRoutine("cublasZtbsv_v2")};
  routines[g.type](stream, code_of(g.uplo), code_of(g.trans), code_of(g.diag), as_int(g.n), as_int(g.k), at[0], as_int(g.lda), at[1],
    as_int(g.incx));
  g.on_gpu = true;
}

template <class P, class Int>
void wrap_dtbsv_(AnyFunction host, const char* uplo, const char* trans, const char* diag, const Int* n, const Int* k, const typename P::scalar* a,
    const Int* lda, typename P::scalar* x, const Int* incx) {
  using Host = void(const char*, const char*, const char*, const Int*, const Int*, const typename P::scalar*, const Int*, typename P::scalar*,
    const Int*, std::size_t, std::size_t, std::size_t);
  auto* const routine = reinterpret_cast<Host*>(host);
  if (is_within_call()) return routine(uplo, trans, diag, n, k, a, lda, x, incx, 1, 1, 1);
  if (any_null(uplo, trans, diag, n, k, lda, incx)) {
    const PassedThrough within(tbsv_routines[P::type], Verdict::nothing_to_compute);
    return routine(uplo, trans, diag, n, k, a, lda, x, incx, 1, 1, 1);
  }
  const char uplo_copy = *uplo;
  const char trans_copy = *trans;
  const char diag_copy = *diag;
  const Int n_copy = *n;
  const Int k_copy = *k;
  const Int lda_copy = *lda;
  const Int incx_copy = *incx;
  Tbsv g;
  g.type = P::type;
  g.uplo = upper(uplo_copy);
  g.trans = upper(trans_copy);
  g.diag = upper(diag_copy);
  g.n = n_copy;
  g.k = k_copy;
  g.a = a;
  g.lda = lda_copy;
  g.x = x;
  g.incx = incx_copy;
  const auto on_host = [&](const void* const* at) {
    routine(&uplo_copy, &trans_copy, &diag_copy, &n_copy, &k_copy, place<const typename P::scalar>(at[0]), &lda_copy,
        place<typename P::scalar>(at[1]), &incx_copy, 1, 1, 1);
    g.on_gpu = false;
  };
  Call call;
  describe(g, call);
  carry_out(call, Wrapped(g, Emulation::by_host, &tbsv_on_gpu, on_host));
}

template <class P, class Int>
void wrap_cblas_dtbsv(AnyFunction host, int order, int uplo, int trans, int diag, Int n, Int k, const typename P::scalar* a, Int lda,
    typename P::scalar* x, Int incx) {
  using Host = void(int, int, int, int, Int, Int, const typename P::scalar*, Int, typename P::scalar*, Int);
  auto* const routine = reinterpret_cast<Host*>(host);
  if (is_within_call()) return routine(order, uplo, trans, diag, n, k, a, lda, x, incx);
  Tbsv g;
  g.type = P::type;
  g.uplo = letter_of_CBLAS_UPLO(uplo);
  g.trans = letter_of_CBLAS_TRANSPOSE(trans);
  g.diag = letter_of_CBLAS_DIAG(diag);
  g.n = n;
  g.k = k;
  g.a = a;
  g.lda = lda;
  g.x = x;
  g.incx = incx;
  if (!((order == 101 || order == 102))) g.refused = Verdict::wrong_arguments;
  if (((order == 101 && g.trans == 'C') && is_complex[g.type])) g.passes = true;
  if ((order == 101 && g.trans == 'C')) g.trans = flipped(g.trans, 'C', 'T');
  if (order == 101) {
    g.trans = flipped(g.trans, 'N', 'T');
    g.uplo = flipped(g.uplo, 'U', 'L');
  }
  const auto on_host = [&](const void* const* at) {
    routine(order, uplo, trans, diag, n, k, place<const typename P::scalar>(at[0]), lda, place<typename P::scalar>(at[1]), incx);
    g.on_gpu = false;
  };
  Call call;
  describe(g, call);
  carry_out(call, Wrapped(g, Emulation::by_host, &tbsv_on_gpu, on_host));
}

// ---- tpsv: line 367

Routine tpsv_routines[] = {Routine("BLAS stpsv"), Routine("BLAS dtpsv"), Routine("BLAS ctpsv"), Routine("BLAS ztpsv")};

struct Tpsv : Arguments {
  char uplo = 0;
  char trans = 0;
  char diag = 0;
  std::int64_t n = 0;
  const void* ap = nullptr;
  const void* x = nullptr;
  std::int64_t incx = 0;
};

void describe(Tpsv& g, Call& call) noexcept {
  call.routine = &tpsv_routines[g.type];
  call.at = {g.ap, g.x};
  if (g.refused != Verdict::on_device ||
      !(one_of(g.uplo, "UL")) ||
      !(one_of(g.trans, "NTC")) ||
      !(one_of(g.diag, "NU")) ||
      !(g.n >= 0) ||
      !(g.incx != 0)) {
    return refuse(call, Verdict::wrong_arguments);
  }
  if (g.n == 0) return refuse(call, Verdict::nothing_to_compute);
  if (g.passes) return refuse(call, Verdict::no_routine);
  if (!all_fit({g.n, g.incx})) return refuse(call, Verdict::too_large);
  call.operations = (is_complex[g.type] ? 4.0 : 1.0) * ((as_double(g.n) * as_double(g.n)));
  add(call, packed(g.ap, g.n, bytes_of_scalar[g.type], Access::read));
  add(call, vector(g.x, g.n, g.incx, bytes_of_scalar[g.type], Access::read_write));
  check_addresses(call);
}

void tpsv_on_gpu(void* arguments, const runtime::Stream& stream, const void* const* at) {
  auto& g = *static_cast<Tpsv*>(arguments);
  static linalg::CublasRoutine routines[] = {linalg::CublasRoutine("cublasStpsv_v2"), linalg::CublasRoutine("cublasDtpsv_v2"), linalg::CublasRoutine("cublasCtpsv_v2"), linalg::CublasRoutine("cublasZtpsv_v2")};
  routines[g.type](stream, code_of(g.uplo), code_of(g.trans), code_of(g.diag), as_int(g.n), at[0], at[1], as_int(g.incx));
  g.on_gpu = true;
}

template <class P, class Int>
void wrap_dtpsv_(AnyFunction host, const char* uplo, const char* trans, const char* diag, const Int* n, const typename P::scalar* ap,
    typename P::scalar* x, const Int* incx) {
  using Host = void(const char*, const char*, const char*, const Int*, const typename P::scalar*, typename P::scalar*, const Int*, std::size_t,
    std::size_t, std::size_t);
  auto* const routine = reinterpret_cast<Host*>(host);
  if (is_within_call()) return routine(uplo, trans, diag, n, ap, x, incx, 1, 1, 1);
  if (any_null(uplo, trans, diag, n, incx)) {
    const PassedThrough within(tpsv_routines[P::type], Verdict::nothing_to_compute);
    return routine(uplo, trans, diag, n, ap, x, incx, 1, 1, 1);
  }
  const char uplo_copy = *uplo;
  const char trans_copy = *trans;
  const char diag_copy = *diag;
  const Int n_copy = *n;
  const Int incx_copy = *incx;
  Tpsv g;
  g.type = P::type;
  g.uplo = upper(uplo_copy);
  g.trans = upper(trans_copy);
  g.diag = upper(diag_copy);
  g.n = n_copy;
  g.ap = ap;
  g.x = x;
  g.incx = incx_copy;
  const auto on_host = [&](const void* const* at) {
    routine(&uplo_copy, &trans_copy, &diag_copy, &n_copy, place<const typename P::scalar>(at[0]), place<typename P::scalar>(at[1]), &incx_copy, 1,
        1, 1);
    g.on_gpu = false;
  };
  Call call;
  describe(g, call);
  carry_out(call, Wrapped(g, Emulation::by_host, &tpsv_on_gpu, on_host));
}

template <class P, class Int>
void wrap_cblas_dtpsv(AnyFunction host, int order, int uplo, int trans, int diag, Int n, const typename P::scalar* ap, typename P::scalar* x,
    Int incx) {
  using Host = void(int, int, int, int, Int, const typename P::scalar*, typename P::scalar*, Int);
  auto* const routine = reinterpret_cast<Host*>(host);
  if (is_within_call()) return routine(order, uplo, trans, diag, n, ap, x, incx);
  Tpsv g;
  g.type = P::type;
  g.uplo = letter_of_CBLAS_UPLO(uplo);
  g.trans = letter_of_CBLAS_TRANSPOSE(trans);
  g.diag = letter_of_CBLAS_DIAG(diag);
  g.n = n;
  g.ap = ap;
  g.x = x;
  g.incx = incx;
  if (!((order == 101 || order == 102))) g.refused = Verdict::wrong_arguments;
  if (((order == 101 && g.trans == 'C') && is_complex[g.type])) g.passes = true;
  if ((order == 101 && g.trans == 'C')) g.trans = flipped(g.trans, 'C', 'T');
  if (order == 101) {
    g.trans = flipped(g.trans, 'N', 'T');
    g.uplo = flipped(g.uplo, 'U', 'L');
  }
  const auto on_host = [&](const void* const* at) {
    routine(order, uplo, trans, diag, n, place<const typename P::scalar>(at[0]), place<typename P::scalar>(at[1]), incx);
    g.on_gpu = false;
  };
  Call call;
  describe(g, call);
  carry_out(call, Wrapped(g, Emulation::by_host, &tpsv_on_gpu, on_host));
}

// ---- ger: line 380

Routine ger_routines[] = {Routine("BLAS sger"), Routine("BLAS dger"), Routine(""), Routine("")};

struct Ger : Arguments {
  std::int64_t m = 0;
  std::int64_t n = 0;
  Value alpha;
  const void* x = nullptr;
  std::int64_t incx = 0;
  const void* y = nullptr;
  std::int64_t incy = 0;
  const void* a = nullptr;
  std::int64_t lda = 0;
};

void describe(Ger& g, Call& call) noexcept {
  call.routine = &ger_routines[g.type];
  call.at = {g.x, g.y, g.a};
  if (g.refused != Verdict::on_device ||
      !(g.m >= 0) ||
      !(g.n >= 0) ||
      !(g.incx != 0) ||
      !(g.incy != 0) ||
      g.lda < max_of(1, g.m)) {
    return refuse(call, Verdict::wrong_arguments);
  }
  if (((g.m == 0 || g.n == 0) || g.alpha == 0)) return refuse(call, Verdict::nothing_to_compute);
  if (g.passes) return refuse(call, Verdict::no_routine);
  if (!all_fit({g.m, g.n, g.incx, g.incy, g.lda})) return refuse(call, Verdict::too_large);
  call.operations = (is_complex[g.type] ? 4.0 : 1.0) * (((2 * as_double(g.m)) * as_double(g.n)));
  add(call, vector(g.x, g.m, g.incx, bytes_of_scalar[g.type], Access::read));
  add(call, vector(g.y, g.n, g.incy, bytes_of_scalar[g.type], Access::read));
  add(call, matrix(g.a, g.m, g.n, g.lda, bytes_of_scalar[g.type], Access::read_write));
  check_addresses(call);
}

void ger_on_gpu(void* arguments, const runtime::Stream& stream, const void* const* at) {
  auto& g = *static_cast<Ger*>(arguments);
  static linalg::CublasRoutine routines[] = {linalg::CublasRoutine("cublasSger_v2"), linalg::CublasRoutine("cublasDger_v2"), linalg::CublasRoutine(""), linalg::CublasRoutine("")};
  routines[g.type](stream, as_int(g.m), as_int(g.n), g.alpha.at(), at[0], as_int(g.incx), at[1], as_int(g.incy), at[2], as_int(g.lda));
  g.on_gpu = true;
}

template <class P, class Int>
void wrap_dger_(AnyFunction host, const Int* m, const Int* n, const typename P::scalar* alpha, const typename P::scalar* x, const Int* incx,
    const typename P::scalar* y, const Int* incy, typename P::scalar* a, const Int* lda) {
  using Host = void(const Int*, const Int*, const typename P::scalar*, const typename P::scalar*, const Int*, const typename P::scalar*,
    const Int*, typename P::scalar*, const Int*);
  auto* const routine = reinterpret_cast<Host*>(host);
  if (is_within_call()) return routine(m, n, alpha, x, incx, y, incy, a, lda);
  if (any_null(m, n, alpha, incx, incy, lda)) {
    const PassedThrough within(ger_routines[P::type], Verdict::nothing_to_compute);
    return routine(m, n, alpha, x, incx, y, incy, a, lda);
  }
  const Int m_copy = *m;
  const Int n_copy = *n;
  const typename P::scalar alpha_copy = coefficient<typename P::scalar>(alpha);
  const Int incx_copy = *incx;
  const Int incy_copy = *incy;
  const Int lda_copy = *lda;
  Ger g;
  g.type = P::type;
  g.m = m_copy;
  g.n = n_copy;
  g.alpha = Value(alpha_copy);
  g.x = x;
  g.incx = incx_copy;
  g.y = y;
  g.incy = incy_copy;
  g.a = a;
  g.lda = lda_copy;
  const auto on_host = [&](const void* const* at) {
    routine(&m_copy, &n_copy, handed<const typename P::scalar*>(alpha_copy), place<const typename P::scalar>(at[0]), &incx_copy,
        place<const typename P::scalar>(at[1]), &incy_copy, place<typename P::scalar>(at[2]), &lda_copy);
    g.on_gpu = false;
  };
  Call call;
  describe(g, call);
  carry_out(call, Wrapped(g, Emulation::by_host, &ger_on_gpu, on_host));
}

template <class P, class Int>
void wrap_cblas_dger(AnyFunction host, int order, Int m, Int n, typename P::value alpha, const typename P::scalar* x, Int incx,
    const typename P::scalar* y, Int incy, typename P::scalar* a, Int lda) {
  using Host = void(int, Int, Int, typename P::value, const typename P::scalar*, Int, const typename P::scalar*, Int, typename P::scalar*, Int);
  auto* const routine = reinterpret_cast<Host*>(host);
  if (is_within_call()) return routine(order, m, n, alpha, x, incx, y, incy, a, lda);
  if (any_null(alpha)) {
    const PassedThrough within(ger_routines[P::type], Verdict::nothing_to_compute);
    return routine(order, m, n, alpha, x, incx, y, incy, a, lda);
  }
  const typename P::scalar alpha_copy = coefficient<typename P::scalar>(alpha);
  Ger g;
  g.type = P::type;
  g.m = m;
  g.n = n;
  g.alpha = Value(alpha_copy);
  g.x = x;
  g.incx = incx;
  g.y = y;
  g.incy = incy;
  g.a = a;
  g.lda = lda;
  std::size_t at_x = 0;
  std::size_t at_y = 1;
  if (!((order == 101 || order == 102))) g.refused = Verdict::wrong_arguments;
  if (order == 101) {
    std::swap(g.m, g.n);
    std::swap(g.x, g.y);
    std::swap(at_x, at_y);
    std::swap(g.incx, g.incy);
  }
  const auto on_host = [&](const void* const* at) {
    routine(order, m, n, handed<typename P::value>(alpha_copy), place<const typename P::scalar>(at[at_x]), incx,
        place<const typename P::scalar>(at[at_y]), incy, place<typename P::scalar>(at[2]), lda);
    g.on_gpu = false;
  };
  Call call;
  describe(g, call);
  carry_out(call, Wrapped(g, Emulation::by_host, &ger_on_gpu, on_host));
}

// ---- geru: line 393

Routine geru_routines[] = {Routine(""), Routine(""), Routine("BLAS cgeru"), Routine("BLAS zgeru")};

struct Geru : Arguments {
  std::int64_t m = 0;
  std::int64_t n = 0;
  Value alpha;
  const void* x = nullptr;
  std::int64_t incx = 0;
  const void* y = nullptr;
  std::int64_t incy = 0;
  const void* a = nullptr;
  std::int64_t lda = 0;
};

void describe(Geru& g, Call& call) noexcept {
  call.routine = &geru_routines[g.type];
  call.at = {g.x, g.y, g.a};
  if (g.refused != Verdict::on_device ||
      !(g.m >= 0) ||
      !(g.n >= 0) ||
      !(g.incx != 0) ||
      !(g.incy != 0) ||
      g.lda < max_of(1, g.m)) {
    return refuse(call, Verdict::wrong_arguments);
  }
  if (((g.m == 0 || g.n == 0) || g.alpha == 0)) return refuse(call, Verdict::nothing_to_compute);
  if (g.passes) return refuse(call, Verdict::no_routine);
  if (!all_fit({g.m, g.n, g.incx, g.incy, g.lda})) return refuse(call, Verdict::too_large);
  call.operations = (is_complex[g.type] ? 4.0 : 1.0) * (((2 * as_double(g.m)) * as_double(g.n)));
  add(call, vector(g.x, g.m, g.incx, bytes_of_scalar[g.type], Access::read));
  add(call, vector(g.y, g.n, g.incy, bytes_of_scalar[g.type], Access::read));
  add(call, matrix(g.a, g.m, g.n, g.lda, bytes_of_scalar[g.type], Access::read_write));
  check_addresses(call);
}

void geru_on_gpu(void* arguments, const runtime::Stream& stream, const void* const* at) {
  auto& g = *static_cast<Geru*>(arguments);
  static linalg::CublasRoutine routines[] = {linalg::CublasRoutine(""), linalg::CublasRoutine(""), linalg::CublasRoutine("cublasCgeru_v2"), linalg::CublasRoutine("cublasZgeru_v2")};
  routines[g.type](stream, as_int(g.m), as_int(g.n), g.alpha.at(), at[0], as_int(g.incx), at[1], as_int(g.incy), at[2], as_int(g.lda));
  g.on_gpu = true;
}

template <class P, class Int>
void wrap_zgeru_(AnyFunction host, const Int* m, const Int* n, const typename P::scalar* alpha, const typename P::scalar* x, const Int* incx,
    const typename P::scalar* y, const Int* incy, typename P::scalar* a, const Int* lda) {
  using Host = void(const Int*, const Int*, const typename P::scalar*, const typename P::scalar*, const Int*, const typename P::scalar*,
    const Int*, typename P::scalar*, const Int*);
  auto* const routine = reinterpret_cast<Host*>(host);
  if (is_within_call()) return routine(m, n, alpha, x, incx, y, incy, a, lda);
  if (any_null(m, n, alpha, incx, incy, lda)) {
    const PassedThrough within(geru_routines[P::type], Verdict::nothing_to_compute);
    return routine(m, n, alpha, x, incx, y, incy, a, lda);
  }
  const Int m_copy = *m;
  const Int n_copy = *n;
  const typename P::scalar alpha_copy = coefficient<typename P::scalar>(alpha);
  const Int incx_copy = *incx;
  const Int incy_copy = *incy;
  const Int lda_copy = *lda;
  Geru g;
  g.type = P::type;
  g.m = m_copy;
  g.n = n_copy;
  g.alpha = Value(alpha_copy);
  g.x = x;
  g.incx = incx_copy;
  g.y = y;
  g.incy = incy_copy;
  g.a = a;
  g.lda = lda_copy;
  const auto on_host = [&](const void* const* at) {
    routine(&m_copy, &n_copy, handed<const typename P::scalar*>(alpha_copy), place<const typename P::scalar>(at[0]), &incx_copy,
        place<const typename P::scalar>(at[1]), &incy_copy, place<typename P::scalar>(at[2]), &lda_copy);
    g.on_gpu = false;
  };
  Call call;
  describe(g, call);
  carry_out(call, Wrapped(g, Emulation::by_host, &geru_on_gpu, on_host));
}

template <class P, class Int>
void wrap_cblas_zgeru(AnyFunction host, int order, Int m, Int n, typename P::value alpha, const typename P::scalar* x, Int incx,
    const typename P::scalar* y, Int incy, typename P::scalar* a, Int lda) {
  using Host = void(int, Int, Int, typename P::value, const typename P::scalar*, Int, const typename P::scalar*, Int, typename P::scalar*, Int);
  auto* const routine = reinterpret_cast<Host*>(host);
  if (is_within_call()) return routine(order, m, n, alpha, x, incx, y, incy, a, lda);
  if (any_null(alpha)) {
    const PassedThrough within(geru_routines[P::type], Verdict::nothing_to_compute);
    return routine(order, m, n, alpha, x, incx, y, incy, a, lda);
  }
  const typename P::scalar alpha_copy = coefficient<typename P::scalar>(alpha);
  Geru g;
  g.type = P::type;
  g.m = m;
  g.n = n;
  g.alpha = Value(alpha_copy);
  g.x = x;
  g.incx = incx;
  g.y = y;
  g.incy = incy;
  g.a = a;
  g.lda = lda;
  std::size_t at_x = 0;
  std::size_t at_y = 1;
  if (!((order == 101 || order == 102))) g.refused = Verdict::wrong_arguments;
  if (order == 101) {
    std::swap(g.m, g.n);
    std::swap(g.x, g.y);
    std::swap(at_x, at_y);
    std::swap(g.incx, g.incy);
  }
  const auto on_host = [&](const void* const* at) {
    routine(order, m, n, handed<typename P::value>(alpha_copy), place<const typename P::scalar>(at[at_x]), incx,
        place<const typename P::scalar>(at[at_y]), incy, place<typename P::scalar>(at[2]), lda);
    g.on_gpu = false;
  };
  Call call;
  describe(g, call);
  carry_out(call, Wrapped(g, Emulation::by_host, &geru_on_gpu, on_host));
}

// ---- gerc: line 406

Routine gerc_routines[] = {Routine(""), Routine(""), Routine("BLAS cgerc"), Routine("BLAS zgerc")};

struct Gerc : Arguments {
  std::int64_t m = 0;
  std::int64_t n = 0;
  Value alpha;
  const void* x = nullptr;
  std::int64_t incx = 0;
  const void* y = nullptr;
  std::int64_t incy = 0;
  const void* a = nullptr;
  std::int64_t lda = 0;
};

void describe(Gerc& g, Call& call) noexcept {
  call.routine = &gerc_routines[g.type];
  call.at = {g.x, g.y, g.a};
  if (g.refused != Verdict::on_device ||
      !(g.m >= 0) ||
      !(g.n >= 0) ||
      !(g.incx != 0) ||
      !(g.incy != 0) ||
      g.lda < max_of(1, g.m)) {
    return refuse(call, Verdict::wrong_arguments);
  }
  if (((g.m == 0 || g.n == 0) || g.alpha == 0)) return refuse(call, Verdict::nothing_to_compute);
  if (g.passes) return refuse(call, Verdict::no_routine);
  if (!all_fit({g.m, g.n, g.incx, g.incy, g.lda})) return refuse(call, Verdict::too_large);
  call.operations = (is_complex[g.type] ? 4.0 : 1.0) * (((2 * as_double(g.m)) * as_double(g.n)));
  add(call, vector(g.x, g.m, g.incx, bytes_of_scalar[g.type], Access::read));
  add(call, vector(g.y, g.n, g.incy, bytes_of_scalar[g.type], Access::read));
  add(call, matrix(g.a, g.m, g.n, g.lda, bytes_of_scalar[g.type], Access::read_write));
  check_addresses(call);
}

void gerc_on_gpu(void* arguments, const runtime::Stream& stream, const void* const* at) {
  auto& g = *static_cast<Gerc*>(arguments);
  static linalg::CublasRoutine routines[] = {linalg::CublasRoutine(""), linalg::CublasRoutine(""), linalg::CublasRoutine("cublasCgerc_v2"), linalg::CublasRoutine("cublasZgerc_v2")};
  routines[g.type](stream, as_int(g.m), as_int(g.n), g.alpha.at(), at[0], as_int(g.incx), at[1], as_int(g.incy), at[2], as_int(g.lda));
  g.on_gpu = true;
}

template <class P, class Int>
void wrap_zgerc_(AnyFunction host, const Int* m, const Int* n, const typename P::scalar* alpha, const typename P::scalar* x, const Int* incx,
    const typename P::scalar* y, const Int* incy, typename P::scalar* a, const Int* lda) {
  using Host = void(const Int*, const Int*, const typename P::scalar*, const typename P::scalar*, const Int*, const typename P::scalar*,
    const Int*, typename P::scalar*, const Int*);
  auto* const routine = reinterpret_cast<Host*>(host);
  if (is_within_call()) return routine(m, n, alpha, x, incx, y, incy, a, lda);
  if (any_null(m, n, alpha, incx, incy, lda)) {
    const PassedThrough within(gerc_routines[P::type], Verdict::nothing_to_compute);
    return routine(m, n, alpha, x, incx, y, incy, a, lda);
  }
  const Int m_copy = *m;
  const Int n_copy = *n;
  const typename P::scalar alpha_copy = coefficient<typename P::scalar>(alpha);
  const Int incx_copy = *incx;
  const Int incy_copy = *incy;
  const Int lda_copy = *lda;
  Gerc g;
  g.type = P::type;
  g.m = m_copy;
  g.n = n_copy;
  g.alpha = Value(alpha_copy);
  g.x = x;
  g.incx = incx_copy;
  g.y = y;
  g.incy = incy_copy;
  g.a = a;
  g.lda = lda_copy;
  const auto on_host = [&](const void* const* at) {
    routine(&m_copy, &n_copy, handed<const typename P::scalar*>(alpha_copy), place<const typename P::scalar>(at[0]), &incx_copy,
        place<const typename P::scalar>(at[1]), &incy_copy, place<typename P::scalar>(at[2]), &lda_copy);
    g.on_gpu = false;
  };
  Call call;
  describe(g, call);
  carry_out(call, Wrapped(g, Emulation::by_host, &gerc_on_gpu, on_host));
}

template <class P, class Int>
void wrap_cblas_zgerc(AnyFunction host, int order, Int m, Int n, typename P::value alpha, const typename P::scalar* x, Int incx,
    const typename P::scalar* y, Int incy, typename P::scalar* a, Int lda) {
  using Host = void(int, Int, Int, typename P::value, const typename P::scalar*, Int, const typename P::scalar*, Int, typename P::scalar*, Int);
  auto* const routine = reinterpret_cast<Host*>(host);
  if (is_within_call()) return routine(order, m, n, alpha, x, incx, y, incy, a, lda);
  if (any_null(alpha)) {
    const PassedThrough within(gerc_routines[P::type], Verdict::nothing_to_compute);
    return routine(order, m, n, alpha, x, incx, y, incy, a, lda);
  }
  const typename P::scalar alpha_copy = coefficient<typename P::scalar>(alpha);
  Gerc g;
  g.type = P::type;
  g.m = m;
  g.n = n;
  g.alpha = Value(alpha_copy);
  g.x = x;
  g.incx = incx;
  g.y = y;
  g.incy = incy;
  g.a = a;
  g.lda = lda;
  std::size_t at_x = 0;
  std::size_t at_y = 1;
  if (!((order == 101 || order == 102))) g.refused = Verdict::wrong_arguments;
  if (order == 101) g.passes = true;
  if (order == 101) {
    std::swap(g.m, g.n);
    std::swap(g.x, g.y);
    std::swap(at_x, at_y);
    std::swap(g.incx, g.incy);
  }
  const auto on_host = [&](const void* const* at) {
    routine(order, m, n, handed<typename P::value>(alpha_copy), place<const typename P::scalar>(at[at_x]), incx,
        place<const typename P::scalar>(at[at_y]), incy, place<typename P::scalar>(at[2]), lda);
    g.on_gpu = false;
  };
  Call call;
  describe(g, call);
  carry_out(call, Wrapped(g, Emulation::by_host, &gerc_on_gpu, on_host));
}

// ---- syr: line 420

Routine syr_routines[] = {Routine("BLAS ssyr"), Routine("BLAS dsyr"), Routine(""), Routine("")};

struct Syr : Arguments {
  char uplo = 0;
  std::int64_t n = 0;
  Value alpha;
  const void* x = nullptr;
  std::int64_t incx = 0;
  const void* a = nullptr;
  std::int64_t lda = 0;
};

void describe(Syr& g, Call& call) noexcept {
  call.routine = &syr_routines[g.type];
  call.at = {g.x, g.a};
  if (g.refused != Verdict::on_device ||
      !(one_of(g.uplo, "UL")) ||
      !(g.n >= 0) ||
      !(g.incx != 0) ||
      g.lda < max_of(1, g.n)) {
    return refuse(call, Verdict::wrong_arguments);
  }
  if ((g.n == 0 || g.alpha == 0)) return refuse(call, Verdict::nothing_to_compute);
  if (g.passes) return refuse(call, Verdict::no_routine);
  if (!all_fit({g.n, g.incx, g.lda})) return refuse(call, Verdict::too_large);
  call.operations = (is_complex[g.type] ? 4.0 : 1.0) * ((as_double(g.n) * as_double(g.n)));
  add(call, vector(g.x, g.n, g.incx, bytes_of_scalar[g.type], Access::read));
  add(call, triangle(g.uplo, matrix(g.a, g.n, g.n, g.lda, bytes_of_scalar[g.type], Access::read_write)));
  check_addresses(call);
}

void syr_on_gpu(void* arguments, const runtime::Stream& stream, const void* const* at) {
  auto& g = *static_cast<Syr*>(arguments);
  static linalg::CublasRoutine routines[] = {linalg::CublasRoutine("cublasSsyr_v2"), linalg::CublasRoutine("cublasDsyr_v2"), linalg::CublasRoutine(""), linalg::CublasRoutine("")};
  routines[g.type](stream, code_of(g.uplo), as_int(g.n), g.alpha.at(), at[0], as_int(g.incx), at[1], as_int(g.lda));
  g.on_gpu = true;
}

template <class P, class Int>
void wrap_dsyr_(AnyFunction host, const char* uplo, const Int* n, const typename P::scalar* alpha, const typename P::scalar* x, const Int* incx,
    typename P::scalar* a, const Int* lda) {
  using Host = void(const char*, const Int*, const typename P::scalar*, const typename P::scalar*, const Int*, typename P::scalar*, const Int*,
    std::size_t);
  auto* const routine = reinterpret_cast<Host*>(host);
  if (is_within_call()) return routine(uplo, n, alpha, x, incx, a, lda, 1);
  if (any_null(uplo, n, alpha, incx, lda)) {
    const PassedThrough within(syr_routines[P::type], Verdict::nothing_to_compute);
    return routine(uplo, n, alpha, x, incx, a, lda, 1);
  }
  const char uplo_copy = *uplo;
  const Int n_copy = *n;
  const typename P::scalar alpha_copy = coefficient<typename P::scalar>(alpha);
  const Int incx_copy = *incx;
  const Int lda_copy = *lda;
  Syr g;
  g.type = P::type;
  g.uplo = upper(uplo_copy);
  g.n = n_copy;
  g.alpha = Value(alpha_copy);
  g.x = x;
  g.incx = incx_copy;
  g.a = a;
  g.lda = lda_copy;
  const auto on_host = [&](const void* const* at) {
    routine(&uplo_copy, &n_copy, handed<const typename P::scalar*>(alpha_copy), place<const typename P::scalar>(at[0]), &incx_copy,
        place<typename P::scalar>(at[1]), &lda_copy, 1);
    g.on_gpu = false;
  };
  Call call;
  describe(g, call);
  carry_out(call, Wrapped(g, Emulation::by_host, &syr_on_gpu, on_host));
}

template <class P, class Int>
void wrap_cblas_dsyr(AnyFunction host, int order, int uplo, Int n, typename P::value alpha, const typename P::scalar* x, Int incx,
    typename P::scalar* a, Int lda) {
  using Host = void(int, int, Int, typename P::value, const typename P::scalar*, Int, typename P::scalar*, Int);
  auto* const routine = reinterpret_cast<Host*>(host);
  if (is_within_call()) return routine(order, uplo, n, alpha, x, incx, a, lda);
  if (any_null(alpha)) {
    const PassedThrough within(syr_routines[P::type], Verdict::nothing_to_compute);
    return routine(order, uplo, n, alpha, x, incx, a, lda);
  }
  const typename P::scalar alpha_copy = coefficient<typename P::scalar>(alpha);
  Syr g;
  g.type = P::type;
  g.uplo = letter_of_CBLAS_UPLO(uplo);
  g.n = n;
  g.alpha = Value(alpha_copy);
  g.x = x;
  g.incx = incx;
  g.a = a;
  g.lda = lda;
  if (!((order == 101 || order == 102))) g.refused = Verdict::wrong_arguments;
  if (order == 101) g.uplo = flipped(g.uplo, 'U', 'L');
  const auto on_host = [&](const void* const* at) {
    routine(order, uplo, n, handed<typename P::value>(alpha_copy), place<const typename P::scalar>(at[0]), incx, place<typename P::scalar>(at[1]),
        lda);
    g.on_gpu = false;
  };
  Call call;
  describe(g, call);
  carry_out(call, Wrapped(g, Emulation::by_host, &syr_on_gpu, on_host));
}

// ---- her: line 431

Routine her_routines[] = {Routine(""), Routine(""), Routine("BLAS cher"), Routine("BLAS zher")};

struct Her : Arguments {
  char uplo = 0;
  std::int64_t n = 0;
  Value alpha;
  const void* x = nullptr;
  std::int64_t incx = 0;
  const void* a = nullptr;
  std::int64_t lda = 0;
};

void describe(Her& g, Call& call) noexcept {
  call.routine = &her_routines[g.type];
  call.at = {g.x, g.a};
  if (g.refused != Verdict::on_device ||
      !(one_of(g.uplo, "UL")) ||
      !(g.n >= 0) ||
      !(g.incx != 0) ||
      g.lda < max_of(1, g.n)) {
    return refuse(call, Verdict::wrong_arguments);
  }
  if ((g.n == 0 || g.alpha == 0)) return refuse(call, Verdict::nothing_to_compute);
  if (g.passes) return refuse(call, Verdict::no_routine);
  if (!all_fit({g.n, g.incx, g.lda})) return refuse(call, Verdict::too_large);
  call.operations = (is_complex[g.type] ? 4.0 : 1.0) * ((as_double(g.n) * as_double(g.n)));
  add(call, vector(g.x, g.n, g.incx, bytes_of_scalar[g.type], Access::read));
  add(call, triangle(g.uplo, matrix(g.a, g.n, g.n, g.lda, bytes_of_scalar[g.type], Access::read_write)));
  check_addresses(call);
}

void her_on_gpu(void* arguments, const runtime::Stream& stream, const void* const* at) {
  auto& g = *static_cast<Her*>(arguments);
  static linalg::CublasRoutine routines[] = {linalg::CublasRoutine(""), linalg::CublasRoutine(""), linalg::CublasRoutine("cublasCher_v2"), linalg::CublasRoutine("cublasZher_v2")};
  routines[g.type](stream, code_of(g.uplo), as_int(g.n), g.alpha.at(), at[0], as_int(g.incx), at[1], as_int(g.lda));
  g.on_gpu = true;
}

template <class P, class Int>
void wrap_zher_(AnyFunction host, const char* uplo, const Int* n, const typename P::real* alpha, const typename P::scalar* x, const Int* incx,
    typename P::scalar* a, const Int* lda) {
  using Host = void(const char*, const Int*, const typename P::real*, const typename P::scalar*, const Int*, typename P::scalar*, const Int*,
    std::size_t);
  auto* const routine = reinterpret_cast<Host*>(host);
  if (is_within_call()) return routine(uplo, n, alpha, x, incx, a, lda, 1);
  if (any_null(uplo, n, alpha, incx, lda)) {
    const PassedThrough within(her_routines[P::type], Verdict::nothing_to_compute);
    return routine(uplo, n, alpha, x, incx, a, lda, 1);
  }
  const char uplo_copy = *uplo;
  const Int n_copy = *n;
  const typename P::real alpha_copy = coefficient<typename P::real>(alpha);
  const Int incx_copy = *incx;
  const Int lda_copy = *lda;
  Her g;
  g.type = P::type;
  g.uplo = upper(uplo_copy);
  g.n = n_copy;
  g.alpha = Value(alpha_copy);
  g.x = x;
  g.incx = incx_copy;
  g.a = a;
  g.lda = lda_copy;
  const auto on_host = [&](const void* const* at) {
    routine(&uplo_copy, &n_copy, handed<const typename P::real*>(alpha_copy), place<const typename P::scalar>(at[0]), &incx_copy,
        place<typename P::scalar>(at[1]), &lda_copy, 1);
    g.on_gpu = false;
  };
  Call call;
  describe(g, call);
  carry_out(call, Wrapped(g, Emulation::by_host, &her_on_gpu, on_host));
}

template <class P, class Int>
void wrap_cblas_zher(AnyFunction host, int order, int uplo, Int n, typename P::real alpha, const typename P::scalar* x, Int incx,
    typename P::scalar* a, Int lda) {
  using Host = void(int, int, Int, typename P::real, const typename P::scalar*, Int, typename P::scalar*, Int);
  auto* const routine = reinterpret_cast<Host*>(host);
  if (is_within_call()) return routine(order, uplo, n, alpha, x, incx, a, lda);
  if (any_null(alpha)) {
    const PassedThrough within(her_routines[P::type], Verdict::nothing_to_compute);
    return routine(order, uplo, n, alpha, x, incx, a, lda);
  }
  const typename P::real alpha_copy = coefficient<typename P::real>(alpha);
  Her g;
  g.type = P::type;
  g.uplo = letter_of_CBLAS_UPLO(uplo);
  g.n = n;
  g.alpha = Value(alpha_copy);
  g.x = x;
  g.incx = incx;
  g.a = a;
  g.lda = lda;
  if (!((order == 101 || order == 102))) g.refused = Verdict::wrong_arguments;
  if (order == 101) g.passes = true;
  const auto on_host = [&](const void* const* at) {
    routine(order, uplo, n, handed<typename P::real>(alpha_copy), place<const typename P::scalar>(at[0]), incx, place<typename P::scalar>(at[1]),
        lda);
    g.on_gpu = false;
  };
  Call call;
  describe(g, call);
  carry_out(call, Wrapped(g, Emulation::by_host, &her_on_gpu, on_host));
}

// ---- spr: line 442

Routine spr_routines[] = {Routine("BLAS sspr"), Routine("BLAS dspr"), Routine(""), Routine("")};

struct Spr : Arguments {
  char uplo = 0;
  std::int64_t n = 0;
  Value alpha;
  const void* x = nullptr;
  std::int64_t incx = 0;
  const void* ap = nullptr;
};

void describe(Spr& g, Call& call) noexcept {
  call.routine = &spr_routines[g.type];
  call.at = {g.x, g.ap};
  if (g.refused != Verdict::on_device ||
      !(one_of(g.uplo, "UL")) ||
      !(g.n >= 0) ||
      !(g.incx != 0)) {
    return refuse(call, Verdict::wrong_arguments);
  }
  if ((g.n == 0 || g.alpha == 0)) return refuse(call, Verdict::nothing_to_compute);
  if (g.passes) return refuse(call, Verdict::no_routine);
  if (!all_fit({g.n, g.incx})) return refuse(call, Verdict::too_large);
  call.operations = (is_complex[g.type] ? 4.0 : 1.0) * ((as_double(g.n) * as_double(g.n)));
  add(call, vector(g.x, g.n, g.incx, bytes_of_scalar[g.type], Access::read));
  add(call, packed(g.ap, g.n, bytes_of_scalar[g.type], Access::read_write));
  check_addresses(call);
}

void spr_on_gpu(void* arguments, const runtime::Stream& stream, const void* const* at) {
  auto& g = *static_cast<Spr*>(arguments);
  static linalg::CublasRoutine routines[] = {linalg::CublasRoutine("cublasSspr_v2"), linalg::CublasRoutine("cublasDspr_v2"), linalg::CublasRoutine(""), linalg::CublasRoutine("")};
  routines[g.type](stream, code_of(g.uplo), as_int(g.n), g.alpha.at(), at[0], as_int(g.incx), at[1]);
  g.on_gpu = true;
}

template <class P, class Int>
void wrap_dspr_(AnyFunction host, const char* uplo, const Int* n, const typename P::scalar* alpha, const typename P::scalar* x, const Int* incx,
    typename P::scalar* ap) {
  using Host = void(const char*, const Int*, const typename P::scalar*, const typename P::scalar*, const Int*, typename P::scalar*, std::size_t);
  auto* const routine = reinterpret_cast<Host*>(host);
  if (is_within_call()) return routine(uplo, n, alpha, x, incx, ap, 1);
  if (any_null(uplo, n, alpha, incx)) {
    const PassedThrough within(spr_routines[P::type], Verdict::nothing_to_compute);
    return routine(uplo, n, alpha, x, incx, ap, 1);
  }
  const char uplo_copy = *uplo;
  const Int n_copy = *n;
  const typename P::scalar alpha_copy = coefficient<typename P::scalar>(alpha);
  const Int incx_copy = *incx;
  Spr g;
  g.type = P::type;
  g.uplo = upper(uplo_copy);
  g.n = n_copy;
  g.alpha = Value(alpha_copy);
  g.x = x;
  g.incx = incx_copy;
  g.ap = ap;
  const auto on_host = [&](const void* const* at) {
    routine(&uplo_copy, &n_copy, handed<const typename P::scalar*>(alpha_copy), place<const typename P::scalar>(at[0]), &incx_copy,
        place<typename P::scalar>(at[1]), 1);
    g.on_gpu = false;
  };
  Call call;
  describe(g, call);
  carry_out(call, Wrapped(g, Emulation::by_host, &spr_on_gpu, on_host));
}

template <class P, class Int>
void wrap_cblas_dspr(AnyFunction host, int order, int uplo, Int n, typename P::value alpha, const typename P::scalar* x, Int incx,
    typename P::scalar* ap) {
  using Host = void(int, int, Int, typename P::value, const typename P::scalar*, Int, typename P::scalar*);
  auto* const routine = reinterpret_cast<Host*>(host);
  if (is_within_call()) return routine(order, uplo, n, alpha, x, incx, ap);
  if (any_null(alpha)) {
    const PassedThrough within(spr_routines[P::type], Verdict::nothing_to_compute);
    return routine(order, uplo, n, alpha, x, incx, ap);
  }
  const typename P::scalar alpha_copy = coefficient<typename P::scalar>(alpha);
  Spr g;
  g.type = P::type;
  g.uplo = letter_of_CBLAS_UPLO(uplo);
  g.n = n;
  g.alpha = Value(alpha_copy);
  g.x = x;
  g.incx = incx;
  g.ap = ap;
  if (!((order == 101 || order == 102))) g.refused = Verdict::wrong_arguments;
  if (order == 101) g.uplo = flipped(g.uplo, 'U', 'L');
  const auto on_host = [&](const void* const* at) {
    routine(order, uplo, n, handed<typename P::value>(alpha_copy), place<const typename P::scalar>(at[0]), incx, place<typename P::scalar>(at[1]));
    g.on_gpu = false;
  };
  Call call;
  describe(g, call);
  carry_out(call, Wrapped(g, Emulation::by_host, &spr_on_gpu, on_host));
}

// ---- hpr: line 453

Routine hpr_routines[] = {Routine(""), Routine(""), Routine("BLAS chpr"), Routine("BLAS zhpr")};

struct Hpr : Arguments {
  char uplo = 0;
  std::int64_t n = 0;
  Value alpha;
  const void* x = nullptr;
  std::int64_t incx = 0;
  const void* ap = nullptr;
};

void describe(Hpr& g, Call& call) noexcept {
  call.routine = &hpr_routines[g.type];
  call.at = {g.x, g.ap};
  if (g.refused != Verdict::on_device ||
      !(one_of(g.uplo, "UL")) ||
      !(g.n >= 0) ||
      !(g.incx != 0)) {
    return refuse(call, Verdict::wrong_arguments);
  }
  if ((g.n == 0 || g.alpha == 0)) return refuse(call, Verdict::nothing_to_compute);
  if (g.passes) return refuse(call, Verdict::no_routine);
  if (!all_fit({g.n, g.incx})) return refuse(call, Verdict::too_large);
  call.operations = (is_complex[g.type] ? 4.0 : 1.0) * ((as_double(g.n) * as_double(g.n)));
  add(call, vector(g.x, g.n, g.incx, bytes_of_scalar[g.type], Access::read));
  add(call, packed(g.ap, g.n, bytes_of_scalar[g.type], Access::read_write));
  check_addresses(call);
}

void hpr_on_gpu(void* arguments, const runtime::Stream& stream, const void* const* at) {
  auto& g = *static_cast<Hpr*>(arguments);
  static linalg::CublasRoutine routines[] = {linalg::CublasRoutine(""), linalg::CublasRoutine(""), linalg::CublasRoutine("cublasChpr_v2"), linalg::CublasRoutine("cublasZhpr_v2")};
  routines[g.type](stream, code_of(g.uplo), as_int(g.n), g.alpha.at(), at[0], as_int(g.incx), at[1]);
  g.on_gpu = true;
}

template <class P, class Int>
void wrap_zhpr_(AnyFunction host, const char* uplo, const Int* n, const typename P::real* alpha, const typename P::scalar* x, const Int* incx,
    typename P::scalar* ap) {
  using Host = void(const char*, const Int*, const typename P::real*, const typename P::scalar*, const Int*, typename P::scalar*, std::size_t);
  auto* const routine = reinterpret_cast<Host*>(host);
  if (is_within_call()) return routine(uplo, n, alpha, x, incx, ap, 1);
  if (any_null(uplo, n, alpha, incx)) {
    const PassedThrough within(hpr_routines[P::type], Verdict::nothing_to_compute);
    return routine(uplo, n, alpha, x, incx, ap, 1);
  }
  const char uplo_copy = *uplo;
  const Int n_copy = *n;
  const typename P::real alpha_copy = coefficient<typename P::real>(alpha);
  const Int incx_copy = *incx;
  Hpr g;
  g.type = P::type;
  g.uplo = upper(uplo_copy);
  g.n = n_copy;
  g.alpha = Value(alpha_copy);
  g.x = x;
  g.incx = incx_copy;
  g.ap = ap;
  const auto on_host = [&](const void* const* at) {
    routine(&uplo_copy, &n_copy, handed<const typename P::real*>(alpha_copy), place<const typename P::scalar>(at[0]), &incx_copy,
        place<typename P::scalar>(at[1]), 1);
    g.on_gpu = false;
  };
  Call call;
  describe(g, call);
  carry_out(call, Wrapped(g, Emulation::by_host, &hpr_on_gpu, on_host));
}

template <class P, class Int>
void wrap_cblas_zhpr(AnyFunction host, int order, int uplo, Int n, typename P::real alpha, const typename P::scalar* x, Int incx,
    typename P::scalar* ap) {
  using Host = void(int, int, Int, typename P::real, const typename P::scalar*, Int, typename P::scalar*);
  auto* const routine = reinterpret_cast<Host*>(host);
  if (is_within_call()) return routine(order, uplo, n, alpha, x, incx, ap);
  if (any_null(alpha)) {
    const PassedThrough within(hpr_routines[P::type], Verdict::nothing_to_compute);
    return routine(order, uplo, n, alpha, x, incx, ap);
  }
  const typename P::real alpha_copy = coefficient<typename P::real>(alpha);
  Hpr g;
  g.type = P::type;
  g.uplo = letter_of_CBLAS_UPLO(uplo);
  g.n = n;
  g.alpha = Value(alpha_copy);
  g.x = x;
  g.incx = incx;
  g.ap = ap;
  if (!((order == 101 || order == 102))) g.refused = Verdict::wrong_arguments;
  if (order == 101) g.passes = true;
  const auto on_host = [&](const void* const* at) {
    routine(order, uplo, n, handed<typename P::real>(alpha_copy), place<const typename P::scalar>(at[0]), incx, place<typename P::scalar>(at[1]));
    g.on_gpu = false;
  };
  Call call;
  describe(g, call);
  carry_out(call, Wrapped(g, Emulation::by_host, &hpr_on_gpu, on_host));
}

// ---- syr2: line 464

Routine syr2_routines[] = {Routine("BLAS ssyr2"), Routine("BLAS dsyr2"), Routine(""), Routine("")};

struct Syr2 : Arguments {
  char uplo = 0;
  std::int64_t n = 0;
  Value alpha;
  const void* x = nullptr;
  std::int64_t incx = 0;
  const void* y = nullptr;
  std::int64_t incy = 0;
  const void* a = nullptr;
  std::int64_t lda = 0;
};

void describe(Syr2& g, Call& call) noexcept {
  call.routine = &syr2_routines[g.type];
  call.at = {g.x, g.y, g.a};
  if (g.refused != Verdict::on_device ||
      !(one_of(g.uplo, "UL")) ||
      !(g.n >= 0) ||
      !(g.incx != 0) ||
      !(g.incy != 0) ||
      g.lda < max_of(1, g.n)) {
    return refuse(call, Verdict::wrong_arguments);
  }
  if ((g.n == 0 || g.alpha == 0)) return refuse(call, Verdict::nothing_to_compute);
  if (g.passes) return refuse(call, Verdict::no_routine);
  if (!all_fit({g.n, g.incx, g.incy, g.lda})) return refuse(call, Verdict::too_large);
  call.operations = (is_complex[g.type] ? 4.0 : 1.0) * (((2 * as_double(g.n)) * as_double(g.n)));
  add(call, vector(g.x, g.n, g.incx, bytes_of_scalar[g.type], Access::read));
  add(call, vector(g.y, g.n, g.incy, bytes_of_scalar[g.type], Access::read));
  add(call, triangle(g.uplo, matrix(g.a, g.n, g.n, g.lda, bytes_of_scalar[g.type], Access::read_write)));
  check_addresses(call);
}

void syr2_on_gpu(void* arguments, const runtime::Stream& stream, const void* const* at) {
  auto& g = *static_cast<Syr2*>(arguments);
  static linalg::CublasRoutine routines[] = {linalg::CublasRoutine("cublasSsyr2_v2"), linalg::CublasRoutine("cublasDsyr2_v2"), linalg::CublasRoutine(""), linalg::CublasRoutine("")};
  routines[g.type](stream, code_of(g.uplo), as_int(g.n), g.alpha.at(), at[0], as_int(g.incx), at[1], as_int(g.incy), at[2], as_int(g.lda));
  g.on_gpu = true;
}

template <class P, class Int>
void wrap_dsyr2_(AnyFunction host, const char* uplo, const Int* n, const typename P::scalar* alpha, const typename P::scalar* x, const Int* incx,
    const typename P::scalar* y, const Int* incy, typename P::scalar* a, const Int* lda) {
  using Host = void(const char*, const Int*, const typename P::scalar*, const typename P::scalar*, const Int*, const typename P::scalar*,
    const Int*, typename P::scalar*, const Int*, std::size_t);
  auto* const routine = reinterpret_cast<Host*>(host);
  if (is_within_call()) return routine(uplo, n, alpha, x, incx, y, incy, a, lda, 1);
  if (any_null(uplo, n, alpha, incx, incy, lda)) {
    const PassedThrough within(syr2_routines[P::type], Verdict::nothing_to_compute);
    return routine(uplo, n, alpha, x, incx, y, incy, a, lda, 1);
  }
  const char uplo_copy = *uplo;
  const Int n_copy = *n;
  const typename P::scalar alpha_copy = coefficient<typename P::scalar>(alpha);
  const Int incx_copy = *incx;
  const Int incy_copy = *incy;
  const Int lda_copy = *lda;
  Syr2 g;
  g.type = P::type;
  g.uplo = upper(uplo_copy);
  g.n = n_copy;
  g.alpha = Value(alpha_copy);
  g.x = x;
  g.incx = incx_copy;
  g.y = y;
  g.incy = incy_copy;
  g.a = a;
  g.lda = lda_copy;
  const auto on_host = [&](const void* const* at) {
    routine(&uplo_copy, &n_copy, handed<const typename P::scalar*>(alpha_copy), place<const typename P::scalar>(at[0]), &incx_copy,
        place<const typename P::scalar>(at[1]), &incy_copy, place<typename P::scalar>(at[2]), &lda_copy, 1);
    g.on_gpu = false;
  };
  Call call;
  describe(g, call);
  carry_out(call, Wrapped(g, Emulation::by_host, &syr2_on_gpu, on_host));
}

template <class P, class Int>
void wrap_cblas_dsyr2(AnyFunction host, int order, int uplo, Int n, typename P::value alpha, const typename P::scalar* x, Int incx,
    const typename P::scalar* y, Int incy, typename P::scalar* a, Int lda) {
  using Host = void(int, int, Int, typename P::value, const typename P::scalar*, Int, const typename P::scalar*, Int, typename P::scalar*, Int);
  auto* const routine = reinterpret_cast<Host*>(host);
  if (is_within_call()) return routine(order, uplo, n, alpha, x, incx, y, incy, a, lda);
  if (any_null(alpha)) {
    const PassedThrough within(syr2_routines[P::type], Verdict::nothing_to_compute);
    return routine(order, uplo, n, alpha, x, incx, y, incy, a, lda);
  }
  const typename P::scalar alpha_copy = coefficient<typename P::scalar>(alpha);
  Syr2 g;
  g.type = P::type;
  g.uplo = letter_of_CBLAS_UPLO(uplo);
  g.n = n;
  g.alpha = Value(alpha_copy);
  g.x = x;
  g.incx = incx;
  g.y = y;
  g.incy = incy;
  g.a = a;
  g.lda = lda;
  if (!((order == 101 || order == 102))) g.refused = Verdict::wrong_arguments;
  if (order == 101) g.uplo = flipped(g.uplo, 'U', 'L');
  const auto on_host = [&](const void* const* at) {
    routine(order, uplo, n, handed<typename P::value>(alpha_copy), place<const typename P::scalar>(at[0]), incx,
        place<const typename P::scalar>(at[1]), incy, place<typename P::scalar>(at[2]), lda);
    g.on_gpu = false;
  };
  Call call;
  describe(g, call);
  carry_out(call, Wrapped(g, Emulation::by_host, &syr2_on_gpu, on_host));
}

// ---- her2: line 477

Routine her2_routines[] = {Routine(""), Routine(""), Routine("BLAS cher2"), Routine("BLAS zher2")};

struct Her2 : Arguments {
  char uplo = 0;
  std::int64_t n = 0;
  Value alpha;
  const void* x = nullptr;
  std::int64_t incx = 0;
  const void* y = nullptr;
  std::int64_t incy = 0;
  const void* a = nullptr;
  std::int64_t lda = 0;
};

void describe(Her2& g, Call& call) noexcept {
  call.routine = &her2_routines[g.type];
  call.at = {g.x, g.y, g.a};
  if (g.refused != Verdict::on_device ||
      !(one_of(g.uplo, "UL")) ||
      !(g.n >= 0) ||
      !(g.incx != 0) ||
      !(g.incy != 0) ||
      g.lda < max_of(1, g.n)) {
    return refuse(call, Verdict::wrong_arguments);
  }
  if ((g.n == 0 || g.alpha == 0)) return refuse(call, Verdict::nothing_to_compute);
  if (g.passes) return refuse(call, Verdict::no_routine);
  if (!all_fit({g.n, g.incx, g.incy, g.lda})) return refuse(call, Verdict::too_large);
  call.operations = (is_complex[g.type] ? 4.0 : 1.0) * (((2 * as_double(g.n)) * as_double(g.n)));
  add(call, vector(g.x, g.n, g.incx, bytes_of_scalar[g.type], Access::read));
  add(call, vector(g.y, g.n, g.incy, bytes_of_scalar[g.type], Access::read));
  add(call, triangle(g.uplo, matrix(g.a, g.n, g.n, g.lda, bytes_of_scalar[g.type], Access::read_write)));
  check_addresses(call);
}

void her2_on_gpu(void* arguments, const runtime::Stream& stream, const void* const* at) {
  auto& g = *static_cast<Her2*>(arguments);
  static linalg::CublasRoutine routines[] = {linalg::CublasRoutine(""), linalg::CublasRoutine(""), linalg::CublasRoutine("cublasCher2_v2"), linalg::CublasRoutine("cublasZher2_v2")};
  routines[g.type](stream, code_of(g.uplo), as_int(g.n), g.alpha.at(), at[0], as_int(g.incx), at[1], as_int(g.incy), at[2], as_int(g.lda));
  g.on_gpu = true;
}

template <class P, class Int>
void wrap_zher2_(AnyFunction host, const char* uplo, const Int* n, const typename P::scalar* alpha, const typename P::scalar* x, const Int* incx,
    const typename P::scalar* y, const Int* incy, typename P::scalar* a, const Int* lda) {
  using Host = void(const char*, const Int*, const typename P::scalar*, const typename P::scalar*, const Int*, const typename P::scalar*,
    const Int*, typename P::scalar*, const Int*, std::size_t);
  auto* const routine = reinterpret_cast<Host*>(host);
  if (is_within_call()) return routine(uplo, n, alpha, x, incx, y, incy, a, lda, 1);
  if (any_null(uplo, n, alpha, incx, incy, lda)) {
    const PassedThrough within(her2_routines[P::type], Verdict::nothing_to_compute);
    return routine(uplo, n, alpha, x, incx, y, incy, a, lda, 1);
  }
  const char uplo_copy = *uplo;
  const Int n_copy = *n;
  const typename P::scalar alpha_copy = coefficient<typename P::scalar>(alpha);
  const Int incx_copy = *incx;
  const Int incy_copy = *incy;
  const Int lda_copy = *lda;
  Her2 g;
  g.type = P::type;
  g.uplo = upper(uplo_copy);
  g.n = n_copy;
  g.alpha = Value(alpha_copy);
  g.x = x;
  g.incx = incx_copy;
  g.y = y;
  g.incy = incy_copy;
  g.a = a;
  g.lda = lda_copy;
  const auto on_host = [&](const void* const* at) {
    routine(&uplo_copy, &n_copy, handed<const typename P::scalar*>(alpha_copy), place<const typename P::scalar>(at[0]), &incx_copy,
        place<const typename P::scalar>(at[1]), &incy_copy, place<typename P::scalar>(at[2]), &lda_copy, 1);
    g.on_gpu = false;
  };
  Call call;
  describe(g, call);
  carry_out(call, Wrapped(g, Emulation::by_host, &her2_on_gpu, on_host));
}

template <class P, class Int>
void wrap_cblas_zher2(AnyFunction host, int order, int uplo, Int n, typename P::value alpha, const typename P::scalar* x, Int incx,
    const typename P::scalar* y, Int incy, typename P::scalar* a, Int lda) {
  using Host = void(int, int, Int, typename P::value, const typename P::scalar*, Int, const typename P::scalar*, Int, typename P::scalar*, Int);
  auto* const routine = reinterpret_cast<Host*>(host);
  if (is_within_call()) return routine(order, uplo, n, alpha, x, incx, y, incy, a, lda);
  if (any_null(alpha)) {
    const PassedThrough within(her2_routines[P::type], Verdict::nothing_to_compute);
    return routine(order, uplo, n, alpha, x, incx, y, incy, a, lda);
  }
  const typename P::scalar alpha_copy = coefficient<typename P::scalar>(alpha);
  Her2 g;
  g.type = P::type;
  g.uplo = letter_of_CBLAS_UPLO(uplo);
  g.n = n;
  g.alpha = Value(alpha_copy);
  g.x = x;
  g.incx = incx;
  g.y = y;
  g.incy = incy;
  g.a = a;
  g.lda = lda;
  if (!((order == 101 || order == 102))) g.refused = Verdict::wrong_arguments;
  if (order == 101) g.passes = true;
  const auto on_host = [&](const void* const* at) {
    routine(order, uplo, n, handed<typename P::value>(alpha_copy), place<const typename P::scalar>(at[0]), incx,
        place<const typename P::scalar>(at[1]), incy, place<typename P::scalar>(at[2]), lda);
    g.on_gpu = false;
  };
  Call call;
  describe(g, call);
  carry_out(call, Wrapped(g, Emulation::by_host, &her2_on_gpu, on_host));
}

// ---- spr2: line 490

Routine spr2_routines[] = {Routine("BLAS sspr2"), Routine("BLAS dspr2"), Routine(""), Routine("")};

struct Spr2 : Arguments {
  char uplo = 0;
  std::int64_t n = 0;
  Value alpha;
  const void* x = nullptr;
  std::int64_t incx = 0;
  const void* y = nullptr;
  std::int64_t incy = 0;
  const void* ap = nullptr;
};

void describe(Spr2& g, Call& call) noexcept {
  call.routine = &spr2_routines[g.type];
  call.at = {g.x, g.y, g.ap};
  if (g.refused != Verdict::on_device ||
      !(one_of(g.uplo, "UL")) ||
      !(g.n >= 0) ||
      !(g.incx != 0) ||
      !(g.incy != 0)) {
    return refuse(call, Verdict::wrong_arguments);
  }
  if ((g.n == 0 || g.alpha == 0)) return refuse(call, Verdict::nothing_to_compute);
  if (g.passes) return refuse(call, Verdict::no_routine);
  if (!all_fit({g.n, g.incx, g.incy})) return refuse(call, Verdict::too_large);
  call.operations = (is_complex[g.type] ? 4.0 : 1.0) * (((2 * as_double(g.n)) * as_double(g.n)));
  add(call, vector(g.x, g.n, g.incx, bytes_of_scalar[g.type], Access::read));
  add(call, vector(g.y, g.n, g.incy, bytes_of_scalar[g.type], Access::read));
  add(call, packed(g.ap, g.n, bytes_of_scalar[g.type], Access::read_write));
  check_addresses(call);
}

void spr2_on_gpu(void* arguments, const runtime::Stream& stream, const void* const* at) {
  auto& g = *static_cast<Spr2*>(arguments);
  static linalg::CublasRoutine routines[] = {linalg::CublasRoutine("cublasSspr2_v2"), linalg::CublasRoutine("cublasDspr2_v2"), linalg::CublasRoutine(""), linalg::CublasRoutine("")};
  routines[g.type](stream, code_of(g.uplo), as_int(g.n), g.alpha.at(), at[0], as_int(g.incx), at[1], as_int(g.incy), at[2]);
  g.on_gpu = true;
}

template <class P, class Int>
void wrap_dspr2_(AnyFunction host, const char* uplo, const Int* n, const typename P::scalar* alpha, const typename P::scalar* x, const Int* incx,
    const typename P::scalar* y, const Int* incy, typename P::scalar* ap) {
  using Host = void(const char*, const Int*, const typename P::scalar*, const typename P::scalar*, const Int*, const typename P::scalar*,
    const Int*, typename P::scalar*, std::size_t);
  auto* const routine = reinterpret_cast<Host*>(host);
  if (is_within_call()) return routine(uplo, n, alpha, x, incx, y, incy, ap, 1);
  if (any_null(uplo, n, alpha, incx, incy)) {
    const PassedThrough within(spr2_routines[P::type], Verdict::nothing_to_compute);
    return routine(uplo, n, alpha, x, incx, y, incy, ap, 1);
  }
  const char uplo_copy = *uplo;
  const Int n_copy = *n;
  const typename P::scalar alpha_copy = coefficient<typename P::scalar>(alpha);
  const Int incx_copy = *incx;
  const Int incy_copy = *incy;
  Spr2 g;
  g.type = P::type;
  g.uplo = upper(uplo_copy);
  g.n = n_copy;
  g.alpha = Value(alpha_copy);
  g.x = x;
  g.incx = incx_copy;
  g.y = y;
  g.incy = incy_copy;
  g.ap = ap;
  const auto on_host = [&](const void* const* at) {
    routine(&uplo_copy, &n_copy, handed<const typename P::scalar*>(alpha_copy), place<const typename P::scalar>(at[0]), &incx_copy,
        place<const typename P::scalar>(at[1]), &incy_copy, place<typename P::scalar>(at[2]), 1);
    g.on_gpu = false;
  };
  Call call;
  describe(g, call);
  carry_out(call, Wrapped(g, Emulation::by_host, &spr2_on_gpu, on_host));
}

template <class P, class Int>
void wrap_cblas_dspr2(AnyFunction host, int order, int uplo, Int n, typename P::value alpha, const typename P::scalar* x, Int incx,
    const typename P::scalar* y, Int incy, typename P::scalar* ap) {
  using Host = void(int, int, Int, typename P::value, const typename P::scalar*, Int, const typename P::scalar*, Int, typename P::scalar*);
  auto* const routine = reinterpret_cast<Host*>(host);
  if (is_within_call()) return routine(order, uplo, n, alpha, x, incx, y, incy, ap);
  if (any_null(alpha)) {
    const PassedThrough within(spr2_routines[P::type], Verdict::nothing_to_compute);
    return routine(order, uplo, n, alpha, x, incx, y, incy, ap);
  }
  const typename P::scalar alpha_copy = coefficient<typename P::scalar>(alpha);
  Spr2 g;
  g.type = P::type;
  g.uplo = letter_of_CBLAS_UPLO(uplo);
  g.n = n;
  g.alpha = Value(alpha_copy);
  g.x = x;
  g.incx = incx;
  g.y = y;
  g.incy = incy;
  g.ap = ap;
  if (!((order == 101 || order == 102))) g.refused = Verdict::wrong_arguments;
  if (order == 101) g.uplo = flipped(g.uplo, 'U', 'L');
  const auto on_host = [&](const void* const* at) {
    routine(order, uplo, n, handed<typename P::value>(alpha_copy), place<const typename P::scalar>(at[0]), incx,
        place<const typename P::scalar>(at[1]), incy, place<typename P::scalar>(at[2]));
    g.on_gpu = false;
  };
  Call call;
  describe(g, call);
  carry_out(call, Wrapped(g, Emulation::by_host, &spr2_on_gpu, on_host));
}

// ---- hpr2: line 503

Routine hpr2_routines[] = {Routine(""), Routine(""), Routine("BLAS chpr2"), Routine("BLAS zhpr2")};

struct Hpr2 : Arguments {
  char uplo = 0;
  std::int64_t n = 0;
  Value alpha;
  const void* x = nullptr;
  std::int64_t incx = 0;
  const void* y = nullptr;
  std::int64_t incy = 0;
  const void* ap = nullptr;
};

void describe(Hpr2& g, Call& call) noexcept {
  call.routine = &hpr2_routines[g.type];
  call.at = {g.x, g.y, g.ap};
  if (g.refused != Verdict::on_device ||
      !(one_of(g.uplo, "UL")) ||
      !(g.n >= 0) ||
      !(g.incx != 0) ||
      !(g.incy != 0)) {
    return refuse(call, Verdict::wrong_arguments);
  }
  if ((g.n == 0 || g.alpha == 0)) return refuse(call, Verdict::nothing_to_compute);
  if (g.passes) return refuse(call, Verdict::no_routine);
  if (!all_fit({g.n, g.incx, g.incy})) return refuse(call, Verdict::too_large);
  call.operations = (is_complex[g.type] ? 4.0 : 1.0) * (((2 * as_double(g.n)) * as_double(g.n)));
  add(call, vector(g.x, g.n, g.incx, bytes_of_scalar[g.type], Access::read));
  add(call, vector(g.y, g.n, g.incy, bytes_of_scalar[g.type], Access::read));
  add(call, packed(g.ap, g.n, bytes_of_scalar[g.type], Access::read_write));
  check_addresses(call);
}

void hpr2_on_gpu(void* arguments, const runtime::Stream& stream, const void* const* at) {
  auto& g = *static_cast<Hpr2*>(arguments);
  static linalg::CublasRoutine routines[] = {linalg::CublasRoutine(""), linalg::CublasRoutine(""), linalg::CublasRoutine("cublasChpr2_v2"), linalg::CublasRoutine("cublasZhpr2_v2")};
  routines[g.type](stream, code_of(g.uplo), as_int(g.n), g.alpha.at(), at[0], as_int(g.incx), at[1], as_int(g.incy), at[2]);
  g.on_gpu = true;
}

template <class P, class Int>
void wrap_zhpr2_(AnyFunction host, const char* uplo, const Int* n, const typename P::scalar* alpha, const typename P::scalar* x, const Int* incx,
    const typename P::scalar* y, const Int* incy, typename P::scalar* ap) {
  using Host = void(const char*, const Int*, const typename P::scalar*, const typename P::scalar*, const Int*, const typename P::scalar*,
    const Int*, typename P::scalar*, std::size_t);
  auto* const routine = reinterpret_cast<Host*>(host);
  if (is_within_call()) return routine(uplo, n, alpha, x, incx, y, incy, ap, 1);
  if (any_null(uplo, n, alpha, incx, incy)) {
    const PassedThrough within(hpr2_routines[P::type], Verdict::nothing_to_compute);
    return routine(uplo, n, alpha, x, incx, y, incy, ap, 1);
  }
  const char uplo_copy = *uplo;
  const Int n_copy = *n;
  const typename P::scalar alpha_copy = coefficient<typename P::scalar>(alpha);
  const Int incx_copy = *incx;
  const Int incy_copy = *incy;
  Hpr2 g;
  g.type = P::type;
  g.uplo = upper(uplo_copy);
  g.n = n_copy;
  g.alpha = Value(alpha_copy);
  g.x = x;
  g.incx = incx_copy;
  g.y = y;
  g.incy = incy_copy;
  g.ap = ap;
  const auto on_host = [&](const void* const* at) {
    routine(&uplo_copy, &n_copy, handed<const typename P::scalar*>(alpha_copy), place<const typename P::scalar>(at[0]), &incx_copy,
        place<const typename P::scalar>(at[1]), &incy_copy, place<typename P::scalar>(at[2]), 1);
    g.on_gpu = false;
  };
  Call call;
  describe(g, call);
  carry_out(call, Wrapped(g, Emulation::by_host, &hpr2_on_gpu, on_host));
}

template <class P, class Int>
void wrap_cblas_zhpr2(AnyFunction host, int order, int uplo, Int n, typename P::value alpha, const typename P::scalar* x, Int incx,
    const typename P::scalar* y, Int incy, typename P::scalar* ap) {
  using Host = void(int, int, Int, typename P::value, const typename P::scalar*, Int, const typename P::scalar*, Int, typename P::scalar*);
  auto* const routine = reinterpret_cast<Host*>(host);
  if (is_within_call()) return routine(order, uplo, n, alpha, x, incx, y, incy, ap);
  if (any_null(alpha)) {
    const PassedThrough within(hpr2_routines[P::type], Verdict::nothing_to_compute);
    return routine(order, uplo, n, alpha, x, incx, y, incy, ap);
  }
  const typename P::scalar alpha_copy = coefficient<typename P::scalar>(alpha);
  Hpr2 g;
  g.type = P::type;
  g.uplo = letter_of_CBLAS_UPLO(uplo);
  g.n = n;
  g.alpha = Value(alpha_copy);
  g.x = x;
  g.incx = incx;
  g.y = y;
  g.incy = incy;
  g.ap = ap;
  if (!((order == 101 || order == 102))) g.refused = Verdict::wrong_arguments;
  if (order == 101) g.passes = true;
  const auto on_host = [&](const void* const* at) {
    routine(order, uplo, n, handed<typename P::value>(alpha_copy), place<const typename P::scalar>(at[0]), incx,
        place<const typename P::scalar>(at[1]), incy, place<typename P::scalar>(at[2]));
    g.on_gpu = false;
  };
  Call call;
  describe(g, call);
  carry_out(call, Wrapped(g, Emulation::by_host, &hpr2_on_gpu, on_host));
}

}  // namespace
}  // namespace semcache::blas

using namespace semcache::blas;  // NOLINT(google-build-using-namespace): of this file, which has nothing else

#ifdef __clang__
#pragma clang diagnostic ignored "-Wreturn-type-c-linkage"  // Fortran's functions return complex numbers as C++ does
#endif
#pragma GCC visibility push(default)
extern "C" {
#define SEMCACHE_DGEMV_(symbol, P, Int) \
  static HostFunction host_of_##symbol(#symbol, sizeof(Int)); \
  static const EarlySearch search_for_##symbol(host_of_##symbol); \
  void symbol(const char* trans, const void* m, const void* n, const P::scalar* alpha, const P::scalar* a, const void* lda, const P::scalar* x, \
    const void* incx, const P::scalar* beta, P::scalar* y, const void* incy) { \
    const HostFunction::Found host = host_of_##symbol.of(SEMCACHE_CALLER); \
    if (host.is_wide) return wrap_dgemv_<P, std::int64_t>(host.function, trans, integer<std::int64_t>(m), integer<std::int64_t>(n), alpha, a, integer<std::int64_t>(lda), \
        x, integer<std::int64_t>(incx), beta, y, integer<std::int64_t>(incy)); \
    return wrap_dgemv_<P, Int>(host.function, trans, integer<Int>(m), integer<Int>(n), alpha, a, integer<Int>(lda), x, integer<Int>(incx), beta, y, \
        integer<Int>(incy)); \
  }
SEMCACHE_DGEMV_(sgemv_, s_types, std::int32_t)
SEMCACHE_DGEMV_(dgemv_, d_types, std::int32_t)
SEMCACHE_DGEMV_(cgemv_, c_types, std::int32_t)
SEMCACHE_DGEMV_(zgemv_, z_types, std::int32_t)
SEMCACHE_DGEMV_(scipy_sgemv_, s_types, std::int32_t)
SEMCACHE_DGEMV_(scipy_dgemv_, d_types, std::int32_t)
SEMCACHE_DGEMV_(scipy_cgemv_, c_types, std::int32_t)
SEMCACHE_DGEMV_(scipy_zgemv_, z_types, std::int32_t)
SEMCACHE_DGEMV_(sgemv_64_, s_types, std::int64_t)
SEMCACHE_DGEMV_(dgemv_64_, d_types, std::int64_t)
SEMCACHE_DGEMV_(cgemv_64_, c_types, std::int64_t)
SEMCACHE_DGEMV_(zgemv_64_, z_types, std::int64_t)
SEMCACHE_DGEMV_(scipy_sgemv_64_, s_types, std::int64_t)
SEMCACHE_DGEMV_(scipy_dgemv_64_, d_types, std::int64_t)
SEMCACHE_DGEMV_(scipy_cgemv_64_, c_types, std::int64_t)
SEMCACHE_DGEMV_(scipy_zgemv_64_, z_types, std::int64_t)
#define SEMCACHE_CBLAS_DGEMV(symbol, P, Int) \
  static HostFunction host_of_##symbol(#symbol, sizeof(Int)); \
  static const EarlySearch search_for_##symbol(host_of_##symbol); \
  void symbol(int order, int trans, std::int64_t m, std::int64_t n, P::value alpha, const P::scalar* a, std::int64_t lda, const P::scalar* x, \
    std::int64_t incx, P::value beta, P::scalar* y, std::int64_t incy) { \
    const HostFunction::Found host = host_of_##symbol.of(SEMCACHE_CALLER); \
    if (host.is_wide) return wrap_cblas_dgemv<P, std::int64_t>(host.function, order, trans, integer<std::int64_t>(m), integer<std::int64_t>(n), alpha, a, \
        integer<std::int64_t>(lda), x, integer<std::int64_t>(incx), beta, y, integer<std::int64_t>(incy)); \
    return wrap_cblas_dgemv<P, Int>(host.function, order, trans, integer<Int>(m), integer<Int>(n), alpha, a, integer<Int>(lda), x, \
        integer<Int>(incx), beta, y, integer<Int>(incy)); \
  }
SEMCACHE_CBLAS_DGEMV(cblas_sgemv, s_types, std::int32_t)
SEMCACHE_CBLAS_DGEMV(cblas_dgemv, d_types, std::int32_t)
SEMCACHE_CBLAS_DGEMV(cblas_cgemv, c_types, std::int32_t)
SEMCACHE_CBLAS_DGEMV(cblas_zgemv, z_types, std::int32_t)
SEMCACHE_CBLAS_DGEMV(scipy_cblas_sgemv, s_types, std::int32_t)
SEMCACHE_CBLAS_DGEMV(scipy_cblas_dgemv, d_types, std::int32_t)
SEMCACHE_CBLAS_DGEMV(scipy_cblas_cgemv, c_types, std::int32_t)
SEMCACHE_CBLAS_DGEMV(scipy_cblas_zgemv, z_types, std::int32_t)
SEMCACHE_CBLAS_DGEMV(cblas_sgemv64_, s_types, std::int64_t)
SEMCACHE_CBLAS_DGEMV(cblas_dgemv64_, d_types, std::int64_t)
SEMCACHE_CBLAS_DGEMV(cblas_cgemv64_, c_types, std::int64_t)
SEMCACHE_CBLAS_DGEMV(cblas_zgemv64_, z_types, std::int64_t)
SEMCACHE_CBLAS_DGEMV(scipy_cblas_sgemv64_, s_types, std::int64_t)
SEMCACHE_CBLAS_DGEMV(scipy_cblas_dgemv64_, d_types, std::int64_t)
SEMCACHE_CBLAS_DGEMV(scipy_cblas_cgemv64_, c_types, std::int64_t)
SEMCACHE_CBLAS_DGEMV(scipy_cblas_zgemv64_, z_types, std::int64_t)
#define SEMCACHE_DGBMV_(symbol, P, Int) \
  static HostFunction host_of_##symbol(#symbol, sizeof(Int)); \
  static const EarlySearch search_for_##symbol(host_of_##symbol); \
  void symbol(const char* trans, const void* m, const void* n, const void* kl, const void* ku, const P::scalar* alpha, const P::scalar* a, \
    const void* lda, const P::scalar* x, const void* incx, const P::scalar* beta, P::scalar* y, const void* incy) { \
    const HostFunction::Found host = host_of_##symbol.of(SEMCACHE_CALLER); \
    if (host.is_wide) return wrap_dgbmv_<P, std::int64_t>(host.function, trans, integer<std::int64_t>(m), integer<std::int64_t>(n), integer<std::int64_t>(kl), \
        integer<std::int64_t>(ku), alpha, a, integer<std::int64_t>(lda), x, integer<std::int64_t>(incx), beta, y, integer<std::int64_t>(incy)); \
    return wrap_dgbmv_<P, Int>(host.function, trans, integer<Int>(m), integer<Int>(n), integer<Int>(kl), integer<Int>(ku), alpha, a, \
        integer<Int>(lda), x, integer<Int>(incx), beta, y, integer<Int>(incy)); \
  }
SEMCACHE_DGBMV_(sgbmv_, s_types, std::int32_t)
SEMCACHE_DGBMV_(dgbmv_, d_types, std::int32_t)
SEMCACHE_DGBMV_(cgbmv_, c_types, std::int32_t)
SEMCACHE_DGBMV_(zgbmv_, z_types, std::int32_t)
SEMCACHE_DGBMV_(scipy_sgbmv_, s_types, std::int32_t)
SEMCACHE_DGBMV_(scipy_dgbmv_, d_types, std::int32_t)
SEMCACHE_DGBMV_(scipy_cgbmv_, c_types, std::int32_t)
SEMCACHE_DGBMV_(scipy_zgbmv_, z_types, std::int32_t)
SEMCACHE_DGBMV_(sgbmv_64_, s_types, std::int64_t)
SEMCACHE_DGBMV_(dgbmv_64_, d_types, std::int64_t)
SEMCACHE_DGBMV_(cgbmv_64_, c_types, std::int64_t)
SEMCACHE_DGBMV_(zgbmv_64_, z_types, std::int64_t)
SEMCACHE_DGBMV_(scipy_sgbmv_64_, s_types, std::int64_t)
SEMCACHE_DGBMV_(scipy_dgbmv_64_, d_types, std::int64_t)
SEMCACHE_DGBMV_(scipy_cgbmv_64_, c_types, std::int64_t)
SEMCACHE_DGBMV_(scipy_zgbmv_64_, z_types, std::int64_t)
#define SEMCACHE_CBLAS_DGBMV(symbol, P, Int) \
  static HostFunction host_of_##symbol(#symbol, sizeof(Int)); \
  static const EarlySearch search_for_##symbol(host_of_##symbol); \
  void symbol(int order, int trans, std::int64_t m, std::int64_t n, std::int64_t kl, std::int64_t ku, P::value alpha, const P::scalar* a, \
    std::int64_t lda, const P::scalar* x, std::int64_t incx, P::value beta, P::scalar* y, std::int64_t incy) { \
    const HostFunction::Found host = host_of_##symbol.of(SEMCACHE_CALLER); \
    if (host.is_wide) return wrap_cblas_dgbmv<P, std::int64_t>(host.function, order, trans, integer<std::int64_t>(m), integer<std::int64_t>(n), \
        integer<std::int64_t>(kl), integer<std::int64_t>(ku), alpha, a, integer<std::int64_t>(lda), x, integer<std::int64_t>(incx), beta, y, \
        integer<std::int64_t>(incy)); \
    return wrap_cblas_dgbmv<P, Int>(host.function, order, trans, integer<Int>(m), integer<Int>(n), integer<Int>(kl), integer<Int>(ku), alpha, a, \
        integer<Int>(lda), x, integer<Int>(incx), beta, y, integer<Int>(incy)); \
  }
SEMCACHE_CBLAS_DGBMV(cblas_sgbmv, s_types, std::int32_t)
SEMCACHE_CBLAS_DGBMV(cblas_dgbmv, d_types, std::int32_t)
SEMCACHE_CBLAS_DGBMV(cblas_cgbmv, c_types, std::int32_t)
SEMCACHE_CBLAS_DGBMV(cblas_zgbmv, z_types, std::int32_t)
SEMCACHE_CBLAS_DGBMV(scipy_cblas_sgbmv, s_types, std::int32_t)
SEMCACHE_CBLAS_DGBMV(scipy_cblas_dgbmv, d_types, std::int32_t)
SEMCACHE_CBLAS_DGBMV(scipy_cblas_cgbmv, c_types, std::int32_t)
SEMCACHE_CBLAS_DGBMV(scipy_cblas_zgbmv, z_types, std::int32_t)
SEMCACHE_CBLAS_DGBMV(cblas_sgbmv64_, s_types, std::int64_t)
SEMCACHE_CBLAS_DGBMV(cblas_dgbmv64_, d_types, std::int64_t)
SEMCACHE_CBLAS_DGBMV(cblas_cgbmv64_, c_types, std::int64_t)
SEMCACHE_CBLAS_DGBMV(cblas_zgbmv64_, z_types, std::int64_t)
SEMCACHE_CBLAS_DGBMV(scipy_cblas_sgbmv64_, s_types, std::int64_t)
SEMCACHE_CBLAS_DGBMV(scipy_cblas_dgbmv64_, d_types, std::int64_t)
SEMCACHE_CBLAS_DGBMV(scipy_cblas_cgbmv64_, c_types, std::int64_t)
SEMCACHE_CBLAS_DGBMV(scipy_cblas_zgbmv64_, z_types, std::int64_t)
#define SEMCACHE_DSYMV_(symbol, P, Int) \
  static HostFunction host_of_##symbol(#symbol, sizeof(Int)); \
  static const EarlySearch search_for_##symbol(host_of_##symbol); \
  void symbol(const char* uplo, const void* n, const P::scalar* alpha, const P::scalar* a, const void* lda, const P::scalar* x, const void* incx, \
    const P::scalar* beta, P::scalar* y, const void* incy) { \
    const HostFunction::Found host = host_of_##symbol.of(SEMCACHE_CALLER); \
    if (host.is_wide) return wrap_dsymv_<P, std::int64_t>(host.function, uplo, integer<std::int64_t>(n), alpha, a, integer<std::int64_t>(lda), x, \
        integer<std::int64_t>(incx), beta, y, integer<std::int64_t>(incy)); \
    return wrap_dsymv_<P, Int>(host.function, uplo, integer<Int>(n), alpha, a, integer<Int>(lda), x, integer<Int>(incx), beta, y, \
        integer<Int>(incy)); \
  }
SEMCACHE_DSYMV_(ssymv_, s_types, std::int32_t)
SEMCACHE_DSYMV_(dsymv_, d_types, std::int32_t)
SEMCACHE_DSYMV_(scipy_ssymv_, s_types, std::int32_t)
SEMCACHE_DSYMV_(scipy_dsymv_, d_types, std::int32_t)
SEMCACHE_DSYMV_(ssymv_64_, s_types, std::int64_t)
SEMCACHE_DSYMV_(dsymv_64_, d_types, std::int64_t)
SEMCACHE_DSYMV_(scipy_ssymv_64_, s_types, std::int64_t)
SEMCACHE_DSYMV_(scipy_dsymv_64_, d_types, std::int64_t)
#define SEMCACHE_CBLAS_DSYMV(symbol, P, Int) \
  static HostFunction host_of_##symbol(#symbol, sizeof(Int)); \
  static const EarlySearch search_for_##symbol(host_of_##symbol); \
  void symbol(int order, int uplo, std::int64_t n, P::value alpha, const P::scalar* a, std::int64_t lda, const P::scalar* x, std::int64_t incx, \
    P::value beta, P::scalar* y, std::int64_t incy) { \
    const HostFunction::Found host = host_of_##symbol.of(SEMCACHE_CALLER); \
    if (host.is_wide) return wrap_cblas_dsymv<P, std::int64_t>(host.function, order, uplo, integer<std::int64_t>(n), alpha, a, integer<std::int64_t>(lda), x, \
        integer<std::int64_t>(incx), beta, y, integer<std::int64_t>(incy)); \
    return wrap_cblas_dsymv<P, Int>(host.function, order, uplo, integer<Int>(n), alpha, a, integer<Int>(lda), x, integer<Int>(incx), beta, y, \
        integer<Int>(incy)); \
  }
SEMCACHE_CBLAS_DSYMV(cblas_ssymv, s_types, std::int32_t)
SEMCACHE_CBLAS_DSYMV(cblas_dsymv, d_types, std::int32_t)
SEMCACHE_CBLAS_DSYMV(scipy_cblas_ssymv, s_types, std::int32_t)
SEMCACHE_CBLAS_DSYMV(scipy_cblas_dsymv, d_types, std::int32_t)
SEMCACHE_CBLAS_DSYMV(cblas_ssymv64_, s_types, std::int64_t)
SEMCACHE_CBLAS_DSYMV(cblas_dsymv64_, d_types, std::int64_t)
SEMCACHE_CBLAS_DSYMV(scipy_cblas_ssymv64_, s_types, std::int64_t)
SEMCACHE_CBLAS_DSYMV(scipy_cblas_dsymv64_, d_types, std::int64_t)
#define SEMCACHE_ZHEMV_(symbol, P, Int) \
  static HostFunction host_of_##symbol(#symbol, sizeof(Int)); \
  static const EarlySearch search_for_##symbol(host_of_##symbol); \
  void symbol(const char* uplo, const void* n, const P::scalar* alpha, const P::scalar* a, const void* lda, const P::scalar* x, const void* incx, \
    const P::scalar* beta, P::scalar* y, const void* incy) { \
    const HostFunction::Found host = host_of_##symbol.of(SEMCACHE_CALLER); \
    if (host.is_wide) return wrap_zhemv_<P, std::int64_t>(host.function, uplo, integer<std::int64_t>(n), alpha, a, integer<std::int64_t>(lda), x, \
        integer<std::int64_t>(incx), beta, y, integer<std::int64_t>(incy)); \
    return wrap_zhemv_<P, Int>(host.function, uplo, integer<Int>(n), alpha, a, integer<Int>(lda), x, integer<Int>(incx), beta, y, \
        integer<Int>(incy)); \
  }
SEMCACHE_ZHEMV_(chemv_, c_types, std::int32_t)
SEMCACHE_ZHEMV_(zhemv_, z_types, std::int32_t)
SEMCACHE_ZHEMV_(scipy_chemv_, c_types, std::int32_t)
SEMCACHE_ZHEMV_(scipy_zhemv_, z_types, std::int32_t)
SEMCACHE_ZHEMV_(chemv_64_, c_types, std::int64_t)
SEMCACHE_ZHEMV_(zhemv_64_, z_types, std::int64_t)
SEMCACHE_ZHEMV_(scipy_chemv_64_, c_types, std::int64_t)
SEMCACHE_ZHEMV_(scipy_zhemv_64_, z_types, std::int64_t)
#define SEMCACHE_CBLAS_ZHEMV(symbol, P, Int) \
  static HostFunction host_of_##symbol(#symbol, sizeof(Int)); \
  static const EarlySearch search_for_##symbol(host_of_##symbol); \
  void symbol(int order, int uplo, std::int64_t n, P::value alpha, const P::scalar* a, std::int64_t lda, const P::scalar* x, std::int64_t incx, \
    P::value beta, P::scalar* y, std::int64_t incy) { \
    const HostFunction::Found host = host_of_##symbol.of(SEMCACHE_CALLER); \
    if (host.is_wide) return wrap_cblas_zhemv<P, std::int64_t>(host.function, order, uplo, integer<std::int64_t>(n), alpha, a, integer<std::int64_t>(lda), x, \
        integer<std::int64_t>(incx), beta, y, integer<std::int64_t>(incy)); \
    return wrap_cblas_zhemv<P, Int>(host.function, order, uplo, integer<Int>(n), alpha, a, integer<Int>(lda), x, integer<Int>(incx), beta, y, \
        integer<Int>(incy)); \
  }
SEMCACHE_CBLAS_ZHEMV(cblas_chemv, c_types, std::int32_t)
SEMCACHE_CBLAS_ZHEMV(cblas_zhemv, z_types, std::int32_t)
SEMCACHE_CBLAS_ZHEMV(scipy_cblas_chemv, c_types, std::int32_t)
SEMCACHE_CBLAS_ZHEMV(scipy_cblas_zhemv, z_types, std::int32_t)
SEMCACHE_CBLAS_ZHEMV(cblas_chemv64_, c_types, std::int64_t)
SEMCACHE_CBLAS_ZHEMV(cblas_zhemv64_, z_types, std::int64_t)
SEMCACHE_CBLAS_ZHEMV(scipy_cblas_chemv64_, c_types, std::int64_t)
SEMCACHE_CBLAS_ZHEMV(scipy_cblas_zhemv64_, z_types, std::int64_t)
#define SEMCACHE_DSBMV_(symbol, P, Int) \
  static HostFunction host_of_##symbol(#symbol, sizeof(Int)); \
  static const EarlySearch search_for_##symbol(host_of_##symbol); \
  void symbol(const char* uplo, const void* n, const void* k, const P::scalar* alpha, const P::scalar* a, const void* lda, const P::scalar* x, \
    const void* incx, const P::scalar* beta, P::scalar* y, const void* incy) { \
    const HostFunction::Found host = host_of_##symbol.of(SEMCACHE_CALLER); \
    if (host.is_wide) return wrap_dsbmv_<P, std::int64_t>(host.function, uplo, integer<std::int64_t>(n), integer<std::int64_t>(k), alpha, a, integer<std::int64_t>(lda), \
        x, integer<std::int64_t>(incx), beta, y, integer<std::int64_t>(incy)); \
    return wrap_dsbmv_<P, Int>(host.function, uplo, integer<Int>(n), integer<Int>(k), alpha, a, integer<Int>(lda), x, integer<Int>(incx), beta, y, \
        integer<Int>(incy)); \
  }
SEMCACHE_DSBMV_(ssbmv_, s_types, std::int32_t)
SEMCACHE_DSBMV_(dsbmv_, d_types, std::int32_t)
SEMCACHE_DSBMV_(scipy_ssbmv_, s_types, std::int32_t)
SEMCACHE_DSBMV_(scipy_dsbmv_, d_types, std::int32_t)
SEMCACHE_DSBMV_(ssbmv_64_, s_types, std::int64_t)
SEMCACHE_DSBMV_(dsbmv_64_, d_types, std::int64_t)
SEMCACHE_DSBMV_(scipy_ssbmv_64_, s_types, std::int64_t)
SEMCACHE_DSBMV_(scipy_dsbmv_64_, d_types, std::int64_t)
#define SEMCACHE_CBLAS_DSBMV(symbol, P, Int) \
  static HostFunction host_of_##symbol(#symbol, sizeof(Int)); \
  static const EarlySearch search_for_##symbol(host_of_##symbol); \
  void symbol(int order, int uplo, std::int64_t n, std::int64_t k, P::value alpha, const P::scalar* a, std::int64_t lda, const P::scalar* x, \
    std::int64_t incx, P::value beta, P::scalar* y, std::int64_t incy) { \
    const HostFunction::Found host = host_of_##symbol.of(SEMCACHE_CALLER); \
    if (host.is_wide) return wrap_cblas_dsbmv<P, std::int64_t>(host.function, order, uplo, integer<std::int64_t>(n), integer<std::int64_t>(k), alpha, a, \
        integer<std::int64_t>(lda), x, integer<std::int64_t>(incx), beta, y, integer<std::int64_t>(incy)); \
    return wrap_cblas_dsbmv<P, Int>(host.function, order, uplo, integer<Int>(n), integer<Int>(k), alpha, a, integer<Int>(lda), x, \
        integer<Int>(incx), beta, y, integer<Int>(incy)); \
  }
SEMCACHE_CBLAS_DSBMV(cblas_ssbmv, s_types, std::int32_t)
SEMCACHE_CBLAS_DSBMV(cblas_dsbmv, d_types, std::int32_t)
SEMCACHE_CBLAS_DSBMV(scipy_cblas_ssbmv, s_types, std::int32_t)
SEMCACHE_CBLAS_DSBMV(scipy_cblas_dsbmv, d_types, std::int32_t)
SEMCACHE_CBLAS_DSBMV(cblas_ssbmv64_, s_types, std::int64_t)
SEMCACHE_CBLAS_DSBMV(cblas_dsbmv64_, d_types, std::int64_t)
SEMCACHE_CBLAS_DSBMV(scipy_cblas_ssbmv64_, s_types, std::int64_t)
SEMCACHE_CBLAS_DSBMV(scipy_cblas_dsbmv64_, d_types, std::int64_t)
#define SEMCACHE_ZHBMV_(symbol, P, Int) \
  static HostFunction host_of_##symbol(#symbol, sizeof(Int)); \
  static const EarlySearch search_for_##symbol(host_of_##symbol); \
  void symbol(const char* uplo, const void* n, const void* k, const P::scalar* alpha, const P::scalar* a, const void* lda, const P::scalar* x, \
    const void* incx, const P::scalar* beta, P::scalar* y, const void* incy) { \
    const HostFunction::Found host = host_of_##symbol.of(SEMCACHE_CALLER); \
    if (host.is_wide) return wrap_zhbmv_<P, std::int64_t>(host.function, uplo, integer<std::int64_t>(n), integer<std::int64_t>(k), alpha, a, integer<std::int64_t>(lda), \
        x, integer<std::int64_t>(incx), beta, y, integer<std::int64_t>(incy)); \
    return wrap_zhbmv_<P, Int>(host.function, uplo, integer<Int>(n), integer<Int>(k), alpha, a, integer<Int>(lda), x, integer<Int>(incx), beta, y, \
        integer<Int>(incy)); \
  }
SEMCACHE_ZHBMV_(chbmv_, c_types, std::int32_t)
SEMCACHE_ZHBMV_(zhbmv_, z_types, std::int32_t)
SEMCACHE_ZHBMV_(scipy_chbmv_, c_types, std::int32_t)
SEMCACHE_ZHBMV_(scipy_zhbmv_, z_types, std::int32_t)
SEMCACHE_ZHBMV_(chbmv_64_, c_types, std::int64_t)
SEMCACHE_ZHBMV_(zhbmv_64_, z_types, std::int64_t)
SEMCACHE_ZHBMV_(scipy_chbmv_64_, c_types, std::int64_t)
SEMCACHE_ZHBMV_(scipy_zhbmv_64_, z_types, std::int64_t)
#define SEMCACHE_CBLAS_ZHBMV(symbol, P, Int) \
  static HostFunction host_of_##symbol(#symbol, sizeof(Int)); \
  static const EarlySearch search_for_##symbol(host_of_##symbol); \
  void symbol(int order, int uplo, std::int64_t n, std::int64_t k, P::value alpha, const P::scalar* a, std::int64_t lda, const P::scalar* x, \
    std::int64_t incx, P::value beta, P::scalar* y, std::int64_t incy) { \
    const HostFunction::Found host = host_of_##symbol.of(SEMCACHE_CALLER); \
    if (host.is_wide) return wrap_cblas_zhbmv<P, std::int64_t>(host.function, order, uplo, integer<std::int64_t>(n), integer<std::int64_t>(k), alpha, a, \
        integer<std::int64_t>(lda), x, integer<std::int64_t>(incx), beta, y, integer<std::int64_t>(incy)); \
    return wrap_cblas_zhbmv<P, Int>(host.function, order, uplo, integer<Int>(n), integer<Int>(k), alpha, a, integer<Int>(lda), x, \
        integer<Int>(incx), beta, y, integer<Int>(incy)); \
  }
SEMCACHE_CBLAS_ZHBMV(cblas_chbmv, c_types, std::int32_t)
SEMCACHE_CBLAS_ZHBMV(cblas_zhbmv, z_types, std::int32_t)
SEMCACHE_CBLAS_ZHBMV(scipy_cblas_chbmv, c_types, std::int32_t)
SEMCACHE_CBLAS_ZHBMV(scipy_cblas_zhbmv, z_types, std::int32_t)
SEMCACHE_CBLAS_ZHBMV(cblas_chbmv64_, c_types, std::int64_t)
SEMCACHE_CBLAS_ZHBMV(cblas_zhbmv64_, z_types, std::int64_t)
SEMCACHE_CBLAS_ZHBMV(scipy_cblas_chbmv64_, c_types, std::int64_t)
SEMCACHE_CBLAS_ZHBMV(scipy_cblas_zhbmv64_, z_types, std::int64_t)
#define SEMCACHE_DSPMV_(symbol, P, Int) \
  static HostFunction host_of_##symbol(#symbol, sizeof(Int)); \
  static const EarlySearch search_for_##symbol(host_of_##symbol); \
  void symbol(const char* uplo, const void* n, const P::scalar* alpha, const P::scalar* ap, const P::scalar* x, const void* incx, \
    const P::scalar* beta, P::scalar* y, const void* incy) { \
    const HostFunction::Found host = host_of_##symbol.of(SEMCACHE_CALLER); \
    if (host.is_wide) return wrap_dspmv_<P, std::int64_t>(host.function, uplo, integer<std::int64_t>(n), alpha, ap, x, integer<std::int64_t>(incx), beta, y, \
        integer<std::int64_t>(incy)); \
    return wrap_dspmv_<P, Int>(host.function, uplo, integer<Int>(n), alpha, ap, x, integer<Int>(incx), beta, y, integer<Int>(incy)); \
  }
SEMCACHE_DSPMV_(sspmv_, s_types, std::int32_t)
SEMCACHE_DSPMV_(dspmv_, d_types, std::int32_t)
SEMCACHE_DSPMV_(scipy_sspmv_, s_types, std::int32_t)
SEMCACHE_DSPMV_(scipy_dspmv_, d_types, std::int32_t)
SEMCACHE_DSPMV_(sspmv_64_, s_types, std::int64_t)
SEMCACHE_DSPMV_(dspmv_64_, d_types, std::int64_t)
SEMCACHE_DSPMV_(scipy_sspmv_64_, s_types, std::int64_t)
SEMCACHE_DSPMV_(scipy_dspmv_64_, d_types, std::int64_t)
#define SEMCACHE_CBLAS_DSPMV(symbol, P, Int) \
  static HostFunction host_of_##symbol(#symbol, sizeof(Int)); \
  static const EarlySearch search_for_##symbol(host_of_##symbol); \
  void symbol(int order, int uplo, std::int64_t n, P::value alpha, const P::scalar* ap, const P::scalar* x, std::int64_t incx, P::value beta, \
    P::scalar* y, std::int64_t incy) { \
    const HostFunction::Found host = host_of_##symbol.of(SEMCACHE_CALLER); \
    if (host.is_wide) return wrap_cblas_dspmv<P, std::int64_t>(host.function, order, uplo, integer<std::int64_t>(n), alpha, ap, x, integer<std::int64_t>(incx), beta, y, \
        integer<std::int64_t>(incy)); \
    return wrap_cblas_dspmv<P, Int>(host.function, order, uplo, integer<Int>(n), alpha, ap, x, integer<Int>(incx), beta, y, integer<Int>(incy)); \
  }
SEMCACHE_CBLAS_DSPMV(cblas_sspmv, s_types, std::int32_t)
SEMCACHE_CBLAS_DSPMV(cblas_dspmv, d_types, std::int32_t)
SEMCACHE_CBLAS_DSPMV(scipy_cblas_sspmv, s_types, std::int32_t)
SEMCACHE_CBLAS_DSPMV(scipy_cblas_dspmv, d_types, std::int32_t)
SEMCACHE_CBLAS_DSPMV(cblas_sspmv64_, s_types, std::int64_t)
SEMCACHE_CBLAS_DSPMV(cblas_dspmv64_, d_types, std::int64_t)
SEMCACHE_CBLAS_DSPMV(scipy_cblas_sspmv64_, s_types, std::int64_t)
SEMCACHE_CBLAS_DSPMV(scipy_cblas_dspmv64_, d_types, std::int64_t)
#define SEMCACHE_ZHPMV_(symbol, P, Int) \
  static HostFunction host_of_##symbol(#symbol, sizeof(Int)); \
  static const EarlySearch search_for_##symbol(host_of_##symbol); \
  void symbol(const char* uplo, const void* n, const P::scalar* alpha, const P::scalar* ap, const P::scalar* x, const void* incx, \
    const P::scalar* beta, P::scalar* y, const void* incy) { \
    const HostFunction::Found host = host_of_##symbol.of(SEMCACHE_CALLER); \
    if (host.is_wide) return wrap_zhpmv_<P, std::int64_t>(host.function, uplo, integer<std::int64_t>(n), alpha, ap, x, integer<std::int64_t>(incx), beta, y, \
        integer<std::int64_t>(incy)); \
    return wrap_zhpmv_<P, Int>(host.function, uplo, integer<Int>(n), alpha, ap, x, integer<Int>(incx), beta, y, integer<Int>(incy)); \
  }
SEMCACHE_ZHPMV_(chpmv_, c_types, std::int32_t)
SEMCACHE_ZHPMV_(zhpmv_, z_types, std::int32_t)
SEMCACHE_ZHPMV_(scipy_chpmv_, c_types, std::int32_t)
SEMCACHE_ZHPMV_(scipy_zhpmv_, z_types, std::int32_t)
SEMCACHE_ZHPMV_(chpmv_64_, c_types, std::int64_t)
SEMCACHE_ZHPMV_(zhpmv_64_, z_types, std::int64_t)
SEMCACHE_ZHPMV_(scipy_chpmv_64_, c_types, std::int64_t)
SEMCACHE_ZHPMV_(scipy_zhpmv_64_, z_types, std::int64_t)
#define SEMCACHE_CBLAS_ZHPMV(symbol, P, Int) \
  static HostFunction host_of_##symbol(#symbol, sizeof(Int)); \
  static const EarlySearch search_for_##symbol(host_of_##symbol); \
  void symbol(int order, int uplo, std::int64_t n, P::value alpha, const P::scalar* ap, const P::scalar* x, std::int64_t incx, P::value beta, \
    P::scalar* y, std::int64_t incy) { \
    const HostFunction::Found host = host_of_##symbol.of(SEMCACHE_CALLER); \
    if (host.is_wide) return wrap_cblas_zhpmv<P, std::int64_t>(host.function, order, uplo, integer<std::int64_t>(n), alpha, ap, x, integer<std::int64_t>(incx), beta, y, \
        integer<std::int64_t>(incy)); \
    return wrap_cblas_zhpmv<P, Int>(host.function, order, uplo, integer<Int>(n), alpha, ap, x, integer<Int>(incx), beta, y, integer<Int>(incy)); \
  }
SEMCACHE_CBLAS_ZHPMV(cblas_chpmv, c_types, std::int32_t)
SEMCACHE_CBLAS_ZHPMV(cblas_zhpmv, z_types, std::int32_t)
SEMCACHE_CBLAS_ZHPMV(scipy_cblas_chpmv, c_types, std::int32_t)
SEMCACHE_CBLAS_ZHPMV(scipy_cblas_zhpmv, z_types, std::int32_t)
SEMCACHE_CBLAS_ZHPMV(cblas_chpmv64_, c_types, std::int64_t)
SEMCACHE_CBLAS_ZHPMV(cblas_zhpmv64_, z_types, std::int64_t)
SEMCACHE_CBLAS_ZHPMV(scipy_cblas_chpmv64_, c_types, std::int64_t)
SEMCACHE_CBLAS_ZHPMV(scipy_cblas_zhpmv64_, z_types, std::int64_t)
#define SEMCACHE_DTRMV_(symbol, P, Int) \
  static HostFunction host_of_##symbol(#symbol, sizeof(Int)); \
  static const EarlySearch search_for_##symbol(host_of_##symbol); \
  void symbol(const char* uplo, const char* trans, const char* diag, const void* n, const P::scalar* a, const void* lda, P::scalar* x, \
    const void* incx) { \
    const HostFunction::Found host = host_of_##symbol.of(SEMCACHE_CALLER); \
    if (host.is_wide) return wrap_dtrmv_<P, std::int64_t>(host.function, uplo, trans, diag, integer<std::int64_t>(n), a, integer<std::int64_t>(lda), x, \
        integer<std::int64_t>(incx)); \
    return wrap_dtrmv_<P, Int>(host.function, uplo, trans, diag, integer<Int>(n), a, integer<Int>(lda), x, integer<Int>(incx)); \
  }
SEMCACHE_DTRMV_(strmv_, s_types, std::int32_t)
SEMCACHE_DTRMV_(dtrmv_, d_types, std::int32_t)
SEMCACHE_DTRMV_(ctrmv_, c_types, std::int32_t)
SEMCACHE_DTRMV_(ztrmv_, z_types, std::int32_t)
SEMCACHE_DTRMV_(scipy_strmv_, s_types, std::int32_t)
SEMCACHE_DTRMV_(scipy_dtrmv_, d_types, std::int32_t)
SEMCACHE_DTRMV_(scipy_ctrmv_, c_types, std::int32_t)
SEMCACHE_DTRMV_(scipy_ztrmv_, z_types, std::int32_t)
SEMCACHE_DTRMV_(strmv_64_, s_types, std::int64_t)
SEMCACHE_DTRMV_(dtrmv_64_, d_types, std::int64_t)
SEMCACHE_DTRMV_(ctrmv_64_, c_types, std::int64_t)
SEMCACHE_DTRMV_(ztrmv_64_, z_types, std::int64_t)
SEMCACHE_DTRMV_(scipy_strmv_64_, s_types, std::int64_t)
SEMCACHE_DTRMV_(scipy_dtrmv_64_, d_types, std::int64_t)
SEMCACHE_DTRMV_(scipy_ctrmv_64_, c_types, std::int64_t)
SEMCACHE_DTRMV_(scipy_ztrmv_64_, z_types, std::int64_t)
#define SEMCACHE_CBLAS_DTRMV(symbol, P, Int) \
  static HostFunction host_of_##symbol(#symbol, sizeof(Int)); \
  static const EarlySearch search_for_##symbol(host_of_##symbol); \
  void symbol(int order, int uplo, int trans, int diag, std::int64_t n, const P::scalar* a, std::int64_t lda, P::scalar* x, std::int64_t incx) { \
    const HostFunction::Found host = host_of_##symbol.of(SEMCACHE_CALLER); \
    if (host.is_wide) return wrap_cblas_dtrmv<P, std::int64_t>(host.function, order, uplo, trans, diag, integer<std::int64_t>(n), a, integer<std::int64_t>(lda), x, \
        integer<std::int64_t>(incx)); \
    return wrap_cblas_dtrmv<P, Int>(host.function, order, uplo, trans, diag, integer<Int>(n), a, integer<Int>(lda), x, integer<Int>(incx)); \
  }
SEMCACHE_CBLAS_DTRMV(cblas_strmv, s_types, std::int32_t)
SEMCACHE_CBLAS_DTRMV(cblas_dtrmv, d_types, std::int32_t)
SEMCACHE_CBLAS_DTRMV(cblas_ctrmv, c_types, std::int32_t)
SEMCACHE_CBLAS_DTRMV(cblas_ztrmv, z_types, std::int32_t)
SEMCACHE_CBLAS_DTRMV(scipy_cblas_strmv, s_types, std::int32_t)
SEMCACHE_CBLAS_DTRMV(scipy_cblas_dtrmv, d_types, std::int32_t)
SEMCACHE_CBLAS_DTRMV(scipy_cblas_ctrmv, c_types, std::int32_t)
SEMCACHE_CBLAS_DTRMV(scipy_cblas_ztrmv, z_types, std::int32_t)
SEMCACHE_CBLAS_DTRMV(cblas_strmv64_, s_types, std::int64_t)
SEMCACHE_CBLAS_DTRMV(cblas_dtrmv64_, d_types, std::int64_t)
SEMCACHE_CBLAS_DTRMV(cblas_ctrmv64_, c_types, std::int64_t)
SEMCACHE_CBLAS_DTRMV(cblas_ztrmv64_, z_types, std::int64_t)
SEMCACHE_CBLAS_DTRMV(scipy_cblas_strmv64_, s_types, std::int64_t)
SEMCACHE_CBLAS_DTRMV(scipy_cblas_dtrmv64_, d_types, std::int64_t)
SEMCACHE_CBLAS_DTRMV(scipy_cblas_ctrmv64_, c_types, std::int64_t)
SEMCACHE_CBLAS_DTRMV(scipy_cblas_ztrmv64_, z_types, std::int64_t)
#define SEMCACHE_DTBMV_(symbol, P, Int) \
  static HostFunction host_of_##symbol(#symbol, sizeof(Int)); \
  static const EarlySearch search_for_##symbol(host_of_##symbol); \
  void symbol(const char* uplo, const char* trans, const char* diag, const void* n, const void* k, const P::scalar* a, const void* lda, \
    P::scalar* x, const void* incx) { \
    const HostFunction::Found host = host_of_##symbol.of(SEMCACHE_CALLER); \
    if (host.is_wide) return wrap_dtbmv_<P, std::int64_t>(host.function, uplo, trans, diag, integer<std::int64_t>(n), integer<std::int64_t>(k), a, \
        integer<std::int64_t>(lda), x, integer<std::int64_t>(incx)); \
    return wrap_dtbmv_<P, Int>(host.function, uplo, trans, diag, integer<Int>(n), integer<Int>(k), a, integer<Int>(lda), x, integer<Int>(incx)); \
  }
SEMCACHE_DTBMV_(stbmv_, s_types, std::int32_t)
SEMCACHE_DTBMV_(dtbmv_, d_types, std::int32_t)
SEMCACHE_DTBMV_(ctbmv_, c_types, std::int32_t)
SEMCACHE_DTBMV_(ztbmv_, z_types, std::int32_t)
SEMCACHE_DTBMV_(scipy_stbmv_, s_types, std::int32_t)
SEMCACHE_DTBMV_(scipy_dtbmv_, d_types, std::int32_t)
SEMCACHE_DTBMV_(scipy_ctbmv_, c_types, std::int32_t)
SEMCACHE_DTBMV_(scipy_ztbmv_, z_types, std::int32_t)
SEMCACHE_DTBMV_(stbmv_64_, s_types, std::int64_t)
SEMCACHE_DTBMV_(dtbmv_64_, d_types, std::int64_t)
SEMCACHE_DTBMV_(ctbmv_64_, c_types, std::int64_t)
SEMCACHE_DTBMV_(ztbmv_64_, z_types, std::int64_t)
SEMCACHE_DTBMV_(scipy_stbmv_64_, s_types, std::int64_t)
SEMCACHE_DTBMV_(scipy_dtbmv_64_, d_types, std::int64_t)
SEMCACHE_DTBMV_(scipy_ctbmv_64_, c_types, std::int64_t)
SEMCACHE_DTBMV_(scipy_ztbmv_64_, z_types, std::int64_t)
#define SEMCACHE_CBLAS_DTBMV(symbol, P, Int) \
  static HostFunction host_of_##symbol(#symbol, sizeof(Int)); \
  static const EarlySearch search_for_##symbol(host_of_##symbol); \
  void symbol(int order, int uplo, int trans, int diag, std::int64_t n, std::int64_t k, const P::scalar* a, std::int64_t lda, P::scalar* x, \
    std::int64_t incx) { \
    const HostFunction::Found host = host_of_##symbol.of(SEMCACHE_CALLER); \
    if (host.is_wide) return wrap_cblas_dtbmv<P, std::int64_t>(host.function, order, uplo, trans, diag, integer<std::int64_t>(n), integer<std::int64_t>(k), a, \
        integer<std::int64_t>(lda), x, integer<std::int64_t>(incx)); \
    return wrap_cblas_dtbmv<P, Int>(host.function, order, uplo, trans, diag, integer<Int>(n), integer<Int>(k), a, integer<Int>(lda), x, \
        integer<Int>(incx)); \
  }
SEMCACHE_CBLAS_DTBMV(cblas_stbmv, s_types, std::int32_t)
SEMCACHE_CBLAS_DTBMV(cblas_dtbmv, d_types, std::int32_t)
SEMCACHE_CBLAS_DTBMV(cblas_ctbmv, c_types, std::int32_t)
SEMCACHE_CBLAS_DTBMV(cblas_ztbmv, z_types, std::int32_t)
SEMCACHE_CBLAS_DTBMV(scipy_cblas_stbmv, s_types, std::int32_t)
SEMCACHE_CBLAS_DTBMV(scipy_cblas_dtbmv, d_types, std::int32_t)
SEMCACHE_CBLAS_DTBMV(scipy_cblas_ctbmv, c_types, std::int32_t)
SEMCACHE_CBLAS_DTBMV(scipy_cblas_ztbmv, z_types, std::int32_t)
SEMCACHE_CBLAS_DTBMV(cblas_stbmv64_, s_types, std::int64_t)
SEMCACHE_CBLAS_DTBMV(cblas_dtbmv64_, d_types, std::int64_t)
SEMCACHE_CBLAS_DTBMV(cblas_ctbmv64_, c_types, std::int64_t)
SEMCACHE_CBLAS_DTBMV(cblas_ztbmv64_, z_types, std::int64_t)
SEMCACHE_CBLAS_DTBMV(scipy_cblas_stbmv64_, s_types, std::int64_t)
SEMCACHE_CBLAS_DTBMV(scipy_cblas_dtbmv64_, d_types, std::int64_t)
SEMCACHE_CBLAS_DTBMV(scipy_cblas_ctbmv64_, c_types, std::int64_t)
SEMCACHE_CBLAS_DTBMV(scipy_cblas_ztbmv64_, z_types, std::int64_t)
#define SEMCACHE_DTPMV_(symbol, P, Int) \
  static HostFunction host_of_##symbol(#symbol, sizeof(Int)); \
  static const EarlySearch search_for_##symbol(host_of_##symbol); \
  void symbol(const char* uplo, const char* trans, const char* diag, const void* n, const P::scalar* ap, P::scalar* x, const void* incx) { \
    const HostFunction::Found host = host_of_##symbol.of(SEMCACHE_CALLER); \
    if (host.is_wide) return wrap_dtpmv_<P, std::int64_t>(host.function, uplo, trans, diag, integer<std::int64_t>(n), ap, x, integer<std::int64_t>(incx)); \
    return wrap_dtpmv_<P, Int>(host.function, uplo, trans, diag, integer<Int>(n), ap, x, integer<Int>(incx)); \
  }
SEMCACHE_DTPMV_(stpmv_, s_types, std::int32_t)
SEMCACHE_DTPMV_(dtpmv_, d_types, std::int32_t)
SEMCACHE_DTPMV_(ctpmv_, c_types, std::int32_t)
SEMCACHE_DTPMV_(ztpmv_, z_types, std::int32_t)
SEMCACHE_DTPMV_(scipy_stpmv_, s_types, std::int32_t)
SEMCACHE_DTPMV_(scipy_dtpmv_, d_types, std::int32_t)
SEMCACHE_DTPMV_(scipy_ctpmv_, c_types, std::int32_t)
SEMCACHE_DTPMV_(scipy_ztpmv_, z_types, std::int32_t)
SEMCACHE_DTPMV_(stpmv_64_, s_types, std::int64_t)
SEMCACHE_DTPMV_(dtpmv_64_, d_types, std::int64_t)
SEMCACHE_DTPMV_(ctpmv_64_, c_types, std::int64_t)
SEMCACHE_DTPMV_(ztpmv_64_, z_types, std::int64_t)
SEMCACHE_DTPMV_(scipy_stpmv_64_, s_types, std::int64_t)
SEMCACHE_DTPMV_(scipy_dtpmv_64_, d_types, std::int64_t)
SEMCACHE_DTPMV_(scipy_ctpmv_64_, c_types, std::int64_t)
SEMCACHE_DTPMV_(scipy_ztpmv_64_, z_types, std::int64_t)
#define SEMCACHE_CBLAS_DTPMV(symbol, P, Int) \
  static HostFunction host_of_##symbol(#symbol, sizeof(Int)); \
  static const EarlySearch search_for_##symbol(host_of_##symbol); \
  void symbol(int order, int uplo, int trans, int diag, std::int64_t n, const P::scalar* ap, P::scalar* x, std::int64_t incx) { \
    const HostFunction::Found host = host_of_##symbol.of(SEMCACHE_CALLER); \
    if (host.is_wide) return wrap_cblas_dtpmv<P, std::int64_t>(host.function, order, uplo, trans, diag, integer<std::int64_t>(n), ap, x, integer<std::int64_t>(incx)); \
    return wrap_cblas_dtpmv<P, Int>(host.function, order, uplo, trans, diag, integer<Int>(n), ap, x, integer<Int>(incx)); \
  }
SEMCACHE_CBLAS_DTPMV(cblas_stpmv, s_types, std::int32_t)
SEMCACHE_CBLAS_DTPMV(cblas_dtpmv, d_types, std::int32_t)
SEMCACHE_CBLAS_DTPMV(cblas_ctpmv, c_types, std::int32_t)
SEMCACHE_CBLAS_DTPMV(cblas_ztpmv, z_types, std::int32_t)
SEMCACHE_CBLAS_DTPMV(scipy_cblas_stpmv, s_types, std::int32_t)
SEMCACHE_CBLAS_DTPMV(scipy_cblas_dtpmv, d_types, std::int32_t)
SEMCACHE_CBLAS_DTPMV(scipy_cblas_ctpmv, c_types, std::int32_t)
SEMCACHE_CBLAS_DTPMV(scipy_cblas_ztpmv, z_types, std::int32_t)
SEMCACHE_CBLAS_DTPMV(cblas_stpmv64_, s_types, std::int64_t)
SEMCACHE_CBLAS_DTPMV(cblas_dtpmv64_, d_types, std::int64_t)
SEMCACHE_CBLAS_DTPMV(cblas_ctpmv64_, c_types, std::int64_t)
SEMCACHE_CBLAS_DTPMV(cblas_ztpmv64_, z_types, std::int64_t)
SEMCACHE_CBLAS_DTPMV(scipy_cblas_stpmv64_, s_types, std::int64_t)
SEMCACHE_CBLAS_DTPMV(scipy_cblas_dtpmv64_, d_types, std::int64_t)
SEMCACHE_CBLAS_DTPMV(scipy_cblas_ctpmv64_, c_types, std::int64_t)
SEMCACHE_CBLAS_DTPMV(scipy_cblas_ztpmv64_, z_types, std::int64_t)
#define SEMCACHE_DTRSV_(symbol, P, Int) \
  static HostFunction host_of_##symbol(#symbol, sizeof(Int)); \
  static const EarlySearch search_for_##symbol(host_of_##symbol); \
  void symbol(const char* uplo, const char* trans, const char* diag, const void* n, const P::scalar* a, const void* lda, P::scalar* x, \
    const void* incx) { \
    const HostFunction::Found host = host_of_##symbol.of(SEMCACHE_CALLER); \
    if (host.is_wide) return wrap_dtrsv_<P, std::int64_t>(host.function, uplo, trans, diag, integer<std::int64_t>(n), a, integer<std::int64_t>(lda), x, \
        integer<std::int64_t>(incx)); \
    return wrap_dtrsv_<P, Int>(host.function, uplo, trans, diag, integer<Int>(n), a, integer<Int>(lda), x, integer<Int>(incx)); \
  }
SEMCACHE_DTRSV_(strsv_, s_types, std::int32_t)
SEMCACHE_DTRSV_(dtrsv_, d_types, std::int32_t)
SEMCACHE_DTRSV_(ctrsv_, c_types, std::int32_t)
SEMCACHE_DTRSV_(ztrsv_, z_types, std::int32_t)
SEMCACHE_DTRSV_(scipy_strsv_, s_types, std::int32_t)
SEMCACHE_DTRSV_(scipy_dtrsv_, d_types, std::int32_t)
SEMCACHE_DTRSV_(scipy_ctrsv_, c_types, std::int32_t)
SEMCACHE_DTRSV_(scipy_ztrsv_, z_types, std::int32_t)
SEMCACHE_DTRSV_(strsv_64_, s_types, std::int64_t)
SEMCACHE_DTRSV_(dtrsv_64_, d_types, std::int64_t)
SEMCACHE_DTRSV_(ctrsv_64_, c_types, std::int64_t)
SEMCACHE_DTRSV_(ztrsv_64_, z_types, std::int64_t)
SEMCACHE_DTRSV_(scipy_strsv_64_, s_types, std::int64_t)
SEMCACHE_DTRSV_(scipy_dtrsv_64_, d_types, std::int64_t)
SEMCACHE_DTRSV_(scipy_ctrsv_64_, c_types, std::int64_t)
SEMCACHE_DTRSV_(scipy_ztrsv_64_, z_types, std::int64_t)
#define SEMCACHE_CBLAS_DTRSV(symbol, P, Int) \
  static HostFunction host_of_##symbol(#symbol, sizeof(Int)); \
  static const EarlySearch search_for_##symbol(host_of_##symbol); \
  void symbol(int order, int uplo, int trans, int diag, std::int64_t n, const P::scalar* a, std::int64_t lda, P::scalar* x, std::int64_t incx) { \
    const HostFunction::Found host = host_of_##symbol.of(SEMCACHE_CALLER); \
    if (host.is_wide) return wrap_cblas_dtrsv<P, std::int64_t>(host.function, order, uplo, trans, diag, integer<std::int64_t>(n), a, integer<std::int64_t>(lda), x, \
        integer<std::int64_t>(incx)); \
    return wrap_cblas_dtrsv<P, Int>(host.function, order, uplo, trans, diag, integer<Int>(n), a, integer<Int>(lda), x, integer<Int>(incx)); \
  }
SEMCACHE_CBLAS_DTRSV(cblas_strsv, s_types, std::int32_t)
SEMCACHE_CBLAS_DTRSV(cblas_dtrsv, d_types, std::int32_t)
SEMCACHE_CBLAS_DTRSV(cblas_ctrsv, c_types, std::int32_t)
SEMCACHE_CBLAS_DTRSV(cblas_ztrsv, z_types, std::int32_t)
SEMCACHE_CBLAS_DTRSV(scipy_cblas_strsv, s_types, std::int32_t)
SEMCACHE_CBLAS_DTRSV(scipy_cblas_dtrsv, d_types, std::int32_t)
SEMCACHE_CBLAS_DTRSV(scipy_cblas_ctrsv, c_types, std::int32_t)
SEMCACHE_CBLAS_DTRSV(scipy_cblas_ztrsv, z_types, std::int32_t)
SEMCACHE_CBLAS_DTRSV(cblas_strsv64_, s_types, std::int64_t)
SEMCACHE_CBLAS_DTRSV(cblas_dtrsv64_, d_types, std::int64_t)
SEMCACHE_CBLAS_DTRSV(cblas_ctrsv64_, c_types, std::int64_t)
SEMCACHE_CBLAS_DTRSV(cblas_ztrsv64_, z_types, std::int64_t)
SEMCACHE_CBLAS_DTRSV(scipy_cblas_strsv64_, s_types, std::int64_t)
SEMCACHE_CBLAS_DTRSV(scipy_cblas_dtrsv64_, d_types, std::int64_t)
SEMCACHE_CBLAS_DTRSV(scipy_cblas_ctrsv64_, c_types, std::int64_t)
SEMCACHE_CBLAS_DTRSV(scipy_cblas_ztrsv64_, z_types, std::int64_t)
#define SEMCACHE_DTBSV_(symbol, P, Int) \
  static HostFunction host_of_##symbol(#symbol, sizeof(Int)); \
  static const EarlySearch search_for_##symbol(host_of_##symbol); \
  void symbol(const char* uplo, const char* trans, const char* diag, const void* n, const void* k, const P::scalar* a, const void* lda, \
    P::scalar* x, const void* incx) { \
    const HostFunction::Found host = host_of_##symbol.of(SEMCACHE_CALLER); \
    if (host.is_wide) return wrap_dtbsv_<P, std::int64_t>(host.function, uplo, trans, diag, integer<std::int64_t>(n), integer<std::int64_t>(k), a, \
        integer<std::int64_t>(lda), x, integer<std::int64_t>(incx)); \
    return wrap_dtbsv_<P, Int>(host.function, uplo, trans, diag, integer<Int>(n), integer<Int>(k), a, integer<Int>(lda), x, integer<Int>(incx)); \
  }
SEMCACHE_DTBSV_(stbsv_, s_types, std::int32_t)
SEMCACHE_DTBSV_(dtbsv_, d_types, std::int32_t)
SEMCACHE_DTBSV_(ctbsv_, c_types, std::int32_t)
SEMCACHE_DTBSV_(ztbsv_, z_types, std::int32_t)
SEMCACHE_DTBSV_(scipy_stbsv_, s_types, std::int32_t)
SEMCACHE_DTBSV_(scipy_dtbsv_, d_types, std::int32_t)
SEMCACHE_DTBSV_(scipy_ctbsv_, c_types, std::int32_t)
SEMCACHE_DTBSV_(scipy_ztbsv_, z_types, std::int32_t)
SEMCACHE_DTBSV_(stbsv_64_, s_types, std::int64_t)
SEMCACHE_DTBSV_(dtbsv_64_, d_types, std::int64_t)
SEMCACHE_DTBSV_(ctbsv_64_, c_types, std::int64_t)
SEMCACHE_DTBSV_(ztbsv_64_, z_types, std::int64_t)
SEMCACHE_DTBSV_(scipy_stbsv_64_, s_types, std::int64_t)
SEMCACHE_DTBSV_(scipy_dtbsv_64_, d_types, std::int64_t)
SEMCACHE_DTBSV_(scipy_ctbsv_64_, c_types, std::int64_t)
SEMCACHE_DTBSV_(scipy_ztbsv_64_, z_types, std::int64_t)
#define SEMCACHE_CBLAS_DTBSV(symbol, P, Int) \
  static HostFunction host_of_##symbol(#symbol, sizeof(Int)); \
  static const EarlySearch search_for_##symbol(host_of_##symbol); \
  void symbol(int order, int uplo, int trans, int diag, std::int64_t n, std::int64_t k, const P::scalar* a, std::int64_t lda, P::scalar* x, \
    std::int64_t incx) { \
    const HostFunction::Found host = host_of_##symbol.of(SEMCACHE_CALLER); \
    if (host.is_wide) return wrap_cblas_dtbsv<P, std::int64_t>(host.function, order, uplo, trans, diag, integer<std::int64_t>(n), integer<std::int64_t>(k), a, \
        integer<std::int64_t>(lda), x, integer<std::int64_t>(incx)); \
    return wrap_cblas_dtbsv<P, Int>(host.function, order, uplo, trans, diag, integer<Int>(n), integer<Int>(k), a, integer<Int>(lda), x, \
        integer<Int>(incx)); \
  }
SEMCACHE_CBLAS_DTBSV(cblas_stbsv, s_types, std::int32_t)
SEMCACHE_CBLAS_DTBSV(cblas_dtbsv, d_types, std::int32_t)
SEMCACHE_CBLAS_DTBSV(cblas_ctbsv, c_types, std::int32_t)
SEMCACHE_CBLAS_DTBSV(cblas_ztbsv, z_types, std::int32_t)
SEMCACHE_CBLAS_DTBSV(scipy_cblas_stbsv, s_types, std::int32_t)
SEMCACHE_CBLAS_DTBSV(scipy_cblas_dtbsv, d_types, std::int32_t)
SEMCACHE_CBLAS_DTBSV(scipy_cblas_ctbsv, c_types, std::int32_t)
SEMCACHE_CBLAS_DTBSV(scipy_cblas_ztbsv, z_types, std::int32_t)
SEMCACHE_CBLAS_DTBSV(cblas_stbsv64_, s_types, std::int64_t)
SEMCACHE_CBLAS_DTBSV(cblas_dtbsv64_, d_types, std::int64_t)
SEMCACHE_CBLAS_DTBSV(cblas_ctbsv64_, c_types, std::int64_t)
SEMCACHE_CBLAS_DTBSV(cblas_ztbsv64_, z_types, std::int64_t)
SEMCACHE_CBLAS_DTBSV(scipy_cblas_stbsv64_, s_types, std::int64_t)
SEMCACHE_CBLAS_DTBSV(scipy_cblas_dtbsv64_, d_types, std::int64_t)
SEMCACHE_CBLAS_DTBSV(scipy_cblas_ctbsv64_, c_types, std::int64_t)
SEMCACHE_CBLAS_DTBSV(scipy_cblas_ztbsv64_, z_types, std::int64_t)
#define SEMCACHE_DTPSV_(symbol, P, Int) \
  static HostFunction host_of_##symbol(#symbol, sizeof(Int)); \
  static const EarlySearch search_for_##symbol(host_of_##symbol); \
  void symbol(const char* uplo, const char* trans, const char* diag, const void* n, const P::scalar* ap, P::scalar* x, const void* incx) { \
    const HostFunction::Found host = host_of_##symbol.of(SEMCACHE_CALLER); \
    if (host.is_wide) return wrap_dtpsv_<P, std::int64_t>(host.function, uplo, trans, diag, integer<std::int64_t>(n), ap, x, integer<std::int64_t>(incx)); \
    return wrap_dtpsv_<P, Int>(host.function, uplo, trans, diag, integer<Int>(n), ap, x, integer<Int>(incx)); \
  }
SEMCACHE_DTPSV_(stpsv_, s_types, std::int32_t)
SEMCACHE_DTPSV_(dtpsv_, d_types, std::int32_t)
SEMCACHE_DTPSV_(ctpsv_, c_types, std::int32_t)
SEMCACHE_DTPSV_(ztpsv_, z_types, std::int32_t)
SEMCACHE_DTPSV_(scipy_stpsv_, s_types, std::int32_t)
SEMCACHE_DTPSV_(scipy_dtpsv_, d_types, std::int32_t)
SEMCACHE_DTPSV_(scipy_ctpsv_, c_types, std::int32_t)
SEMCACHE_DTPSV_(scipy_ztpsv_, z_types, std::int32_t)
SEMCACHE_DTPSV_(stpsv_64_, s_types, std::int64_t)
SEMCACHE_DTPSV_(dtpsv_64_, d_types, std::int64_t)
SEMCACHE_DTPSV_(ctpsv_64_, c_types, std::int64_t)
SEMCACHE_DTPSV_(ztpsv_64_, z_types, std::int64_t)
SEMCACHE_DTPSV_(scipy_stpsv_64_, s_types, std::int64_t)
SEMCACHE_DTPSV_(scipy_dtpsv_64_, d_types, std::int64_t)
SEMCACHE_DTPSV_(scipy_ctpsv_64_, c_types, std::int64_t)
SEMCACHE_DTPSV_(scipy_ztpsv_64_, z_types, std::int64_t)
#define SEMCACHE_CBLAS_DTPSV(symbol, P, Int) \
  static HostFunction host_of_##symbol(#symbol, sizeof(Int)); \
  static const EarlySearch search_for_##symbol(host_of_##symbol); \
  void symbol(int order, int uplo, int trans, int diag, std::int64_t n, const P::scalar* ap, P::scalar* x, std::int64_t incx) { \
    const HostFunction::Found host = host_of_##symbol.of(SEMCACHE_CALLER); \
    if (host.is_wide) return wrap_cblas_dtpsv<P, std::int64_t>(host.function, order, uplo, trans, diag, integer<std::int64_t>(n), ap, x, integer<std::int64_t>(incx)); \
    return wrap_cblas_dtpsv<P, Int>(host.function, order, uplo, trans, diag, integer<Int>(n), ap, x, integer<Int>(incx)); \
  }
SEMCACHE_CBLAS_DTPSV(cblas_stpsv, s_types, std::int32_t)
SEMCACHE_CBLAS_DTPSV(cblas_dtpsv, d_types, std::int32_t)
SEMCACHE_CBLAS_DTPSV(cblas_ctpsv, c_types, std::int32_t)
SEMCACHE_CBLAS_DTPSV(cblas_ztpsv, z_types, std::int32_t)
SEMCACHE_CBLAS_DTPSV(scipy_cblas_stpsv, s_types, std::int32_t)
SEMCACHE_CBLAS_DTPSV(scipy_cblas_dtpsv, d_types, std::int32_t)
SEMCACHE_CBLAS_DTPSV(scipy_cblas_ctpsv, c_types, std::int32_t)
SEMCACHE_CBLAS_DTPSV(scipy_cblas_ztpsv, z_types, std::int32_t)
SEMCACHE_CBLAS_DTPSV(cblas_stpsv64_, s_types, std::int64_t)
SEMCACHE_CBLAS_DTPSV(cblas_dtpsv64_, d_types, std::int64_t)
SEMCACHE_CBLAS_DTPSV(cblas_ctpsv64_, c_types, std::int64_t)
SEMCACHE_CBLAS_DTPSV(cblas_ztpsv64_, z_types, std::int64_t)
SEMCACHE_CBLAS_DTPSV(scipy_cblas_stpsv64_, s_types, std::int64_t)
SEMCACHE_CBLAS_DTPSV(scipy_cblas_dtpsv64_, d_types, std::int64_t)
SEMCACHE_CBLAS_DTPSV(scipy_cblas_ctpsv64_, c_types, std::int64_t)
SEMCACHE_CBLAS_DTPSV(scipy_cblas_ztpsv64_, z_types, std::int64_t)
#define SEMCACHE_DGER_(symbol, P, Int) \
  static HostFunction host_of_##symbol(#symbol, sizeof(Int)); \
  static const EarlySearch search_for_##symbol(host_of_##symbol); \
  void symbol(const void* m, const void* n, const P::scalar* alpha, const P::scalar* x, const void* incx, const P::scalar* y, const void* incy, \
    P::scalar* a, const void* lda) { \
    const HostFunction::Found host = host_of_##symbol.of(SEMCACHE_CALLER); \
    if (host.is_wide) return wrap_dger_<P, std::int64_t>(host.function, integer<std::int64_t>(m), integer<std::int64_t>(n), alpha, x, integer<std::int64_t>(incx), y, \
        integer<std::int64_t>(incy), a, integer<std::int64_t>(lda)); \
    return wrap_dger_<P, Int>(host.function, integer<Int>(m), integer<Int>(n), alpha, x, integer<Int>(incx), y, integer<Int>(incy), a, \
        integer<Int>(lda)); \
  }
SEMCACHE_DGER_(sger_, s_types, std::int32_t)
SEMCACHE_DGER_(dger_, d_types, std::int32_t)
SEMCACHE_DGER_(scipy_sger_, s_types, std::int32_t)
SEMCACHE_DGER_(scipy_dger_, d_types, std::int32_t)
SEMCACHE_DGER_(sger_64_, s_types, std::int64_t)
SEMCACHE_DGER_(dger_64_, d_types, std::int64_t)
SEMCACHE_DGER_(scipy_sger_64_, s_types, std::int64_t)
SEMCACHE_DGER_(scipy_dger_64_, d_types, std::int64_t)
#define SEMCACHE_CBLAS_DGER(symbol, P, Int) \
  static HostFunction host_of_##symbol(#symbol, sizeof(Int)); \
  static const EarlySearch search_for_##symbol(host_of_##symbol); \
  void symbol(int order, std::int64_t m, std::int64_t n, P::value alpha, const P::scalar* x, std::int64_t incx, const P::scalar* y, \
    std::int64_t incy, P::scalar* a, std::int64_t lda) { \
    const HostFunction::Found host = host_of_##symbol.of(SEMCACHE_CALLER); \
    if (host.is_wide) return wrap_cblas_dger<P, std::int64_t>(host.function, order, integer<std::int64_t>(m), integer<std::int64_t>(n), alpha, x, \
        integer<std::int64_t>(incx), y, integer<std::int64_t>(incy), a, integer<std::int64_t>(lda)); \
    return wrap_cblas_dger<P, Int>(host.function, order, integer<Int>(m), integer<Int>(n), alpha, x, integer<Int>(incx), y, integer<Int>(incy), a, \
        integer<Int>(lda)); \
  }
SEMCACHE_CBLAS_DGER(cblas_sger, s_types, std::int32_t)
SEMCACHE_CBLAS_DGER(cblas_dger, d_types, std::int32_t)
SEMCACHE_CBLAS_DGER(scipy_cblas_sger, s_types, std::int32_t)
SEMCACHE_CBLAS_DGER(scipy_cblas_dger, d_types, std::int32_t)
SEMCACHE_CBLAS_DGER(cblas_sger64_, s_types, std::int64_t)
SEMCACHE_CBLAS_DGER(cblas_dger64_, d_types, std::int64_t)
SEMCACHE_CBLAS_DGER(scipy_cblas_sger64_, s_types, std::int64_t)
SEMCACHE_CBLAS_DGER(scipy_cblas_dger64_, d_types, std::int64_t)
#define SEMCACHE_ZGERU_(symbol, P, Int) \
  static HostFunction host_of_##symbol(#symbol, sizeof(Int)); \
  static const EarlySearch search_for_##symbol(host_of_##symbol); \
  void symbol(const void* m, const void* n, const P::scalar* alpha, const P::scalar* x, const void* incx, const P::scalar* y, const void* incy, \
    P::scalar* a, const void* lda) { \
    const HostFunction::Found host = host_of_##symbol.of(SEMCACHE_CALLER); \
    if (host.is_wide) return wrap_zgeru_<P, std::int64_t>(host.function, integer<std::int64_t>(m), integer<std::int64_t>(n), alpha, x, integer<std::int64_t>(incx), y, \
        integer<std::int64_t>(incy), a, integer<std::int64_t>(lda)); \
    return wrap_zgeru_<P, Int>(host.function, integer<Int>(m), integer<Int>(n), alpha, x, integer<Int>(incx), y, integer<Int>(incy), a, \
        integer<Int>(lda)); \
  }
SEMCACHE_ZGERU_(cgeru_, c_types, std::int32_t)
SEMCACHE_ZGERU_(zgeru_, z_types, std::int32_t)
SEMCACHE_ZGERU_(scipy_cgeru_, c_types, std::int32_t)
SEMCACHE_ZGERU_(scipy_zgeru_, z_types, std::int32_t)
SEMCACHE_ZGERU_(cgeru_64_, c_types, std::int64_t)
SEMCACHE_ZGERU_(zgeru_64_, z_types, std::int64_t)
SEMCACHE_ZGERU_(scipy_cgeru_64_, c_types, std::int64_t)
SEMCACHE_ZGERU_(scipy_zgeru_64_, z_types, std::int64_t)
#define SEMCACHE_CBLAS_ZGERU(symbol, P, Int) \
  static HostFunction host_of_##symbol(#symbol, sizeof(Int)); \
  static const EarlySearch search_for_##symbol(host_of_##symbol); \
  void symbol(int order, std::int64_t m, std::int64_t n, P::value alpha, const P::scalar* x, std::int64_t incx, const P::scalar* y, \
    std::int64_t incy, P::scalar* a, std::int64_t lda) { \
    const HostFunction::Found host = host_of_##symbol.of(SEMCACHE_CALLER); \
    if (host.is_wide) return wrap_cblas_zgeru<P, std::int64_t>(host.function, order, integer<std::int64_t>(m), integer<std::int64_t>(n), alpha, x, \
        integer<std::int64_t>(incx), y, integer<std::int64_t>(incy), a, integer<std::int64_t>(lda)); \
    return wrap_cblas_zgeru<P, Int>(host.function, order, integer<Int>(m), integer<Int>(n), alpha, x, integer<Int>(incx), y, integer<Int>(incy), a, \
        integer<Int>(lda)); \
  }
SEMCACHE_CBLAS_ZGERU(cblas_cgeru, c_types, std::int32_t)
SEMCACHE_CBLAS_ZGERU(cblas_zgeru, z_types, std::int32_t)
SEMCACHE_CBLAS_ZGERU(scipy_cblas_cgeru, c_types, std::int32_t)
SEMCACHE_CBLAS_ZGERU(scipy_cblas_zgeru, z_types, std::int32_t)
SEMCACHE_CBLAS_ZGERU(cblas_cgeru64_, c_types, std::int64_t)
SEMCACHE_CBLAS_ZGERU(cblas_zgeru64_, z_types, std::int64_t)
SEMCACHE_CBLAS_ZGERU(scipy_cblas_cgeru64_, c_types, std::int64_t)
SEMCACHE_CBLAS_ZGERU(scipy_cblas_zgeru64_, z_types, std::int64_t)
#define SEMCACHE_ZGERC_(symbol, P, Int) \
  static HostFunction host_of_##symbol(#symbol, sizeof(Int)); \
  static const EarlySearch search_for_##symbol(host_of_##symbol); \
  void symbol(const void* m, const void* n, const P::scalar* alpha, const P::scalar* x, const void* incx, const P::scalar* y, const void* incy, \
    P::scalar* a, const void* lda) { \
    const HostFunction::Found host = host_of_##symbol.of(SEMCACHE_CALLER); \
    if (host.is_wide) return wrap_zgerc_<P, std::int64_t>(host.function, integer<std::int64_t>(m), integer<std::int64_t>(n), alpha, x, integer<std::int64_t>(incx), y, \
        integer<std::int64_t>(incy), a, integer<std::int64_t>(lda)); \
    return wrap_zgerc_<P, Int>(host.function, integer<Int>(m), integer<Int>(n), alpha, x, integer<Int>(incx), y, integer<Int>(incy), a, \
        integer<Int>(lda)); \
  }
SEMCACHE_ZGERC_(cgerc_, c_types, std::int32_t)
SEMCACHE_ZGERC_(zgerc_, z_types, std::int32_t)
SEMCACHE_ZGERC_(scipy_cgerc_, c_types, std::int32_t)
SEMCACHE_ZGERC_(scipy_zgerc_, z_types, std::int32_t)
SEMCACHE_ZGERC_(cgerc_64_, c_types, std::int64_t)
SEMCACHE_ZGERC_(zgerc_64_, z_types, std::int64_t)
SEMCACHE_ZGERC_(scipy_cgerc_64_, c_types, std::int64_t)
SEMCACHE_ZGERC_(scipy_zgerc_64_, z_types, std::int64_t)
#define SEMCACHE_CBLAS_ZGERC(symbol, P, Int) \
  static HostFunction host_of_##symbol(#symbol, sizeof(Int)); \
  static const EarlySearch search_for_##symbol(host_of_##symbol); \
  void symbol(int order, std::int64_t m, std::int64_t n, P::value alpha, const P::scalar* x, std::int64_t incx, const P::scalar* y, \
    std::int64_t incy, P::scalar* a, std::int64_t lda) { \
    const HostFunction::Found host = host_of_##symbol.of(SEMCACHE_CALLER); \
    if (host.is_wide) return wrap_cblas_zgerc<P, std::int64_t>(host.function, order, integer<std::int64_t>(m), integer<std::int64_t>(n), alpha, x, \
        integer<std::int64_t>(incx), y, integer<std::int64_t>(incy), a, integer<std::int64_t>(lda)); \
    return wrap_cblas_zgerc<P, Int>(host.function, order, integer<Int>(m), integer<Int>(n), alpha, x, integer<Int>(incx), y, integer<Int>(incy), a, \
        integer<Int>(lda)); \
  }
SEMCACHE_CBLAS_ZGERC(cblas_cgerc, c_types, std::int32_t)
SEMCACHE_CBLAS_ZGERC(cblas_zgerc, z_types, std::int32_t)
SEMCACHE_CBLAS_ZGERC(scipy_cblas_cgerc, c_types, std::int32_t)
SEMCACHE_CBLAS_ZGERC(scipy_cblas_zgerc, z_types, std::int32_t)
SEMCACHE_CBLAS_ZGERC(cblas_cgerc64_, c_types, std::int64_t)
SEMCACHE_CBLAS_ZGERC(cblas_zgerc64_, z_types, std::int64_t)
SEMCACHE_CBLAS_ZGERC(scipy_cblas_cgerc64_, c_types, std::int64_t)
SEMCACHE_CBLAS_ZGERC(scipy_cblas_zgerc64_, z_types, std::int64_t)
#define SEMCACHE_DSYR_(symbol, P, Int) \
  static HostFunction host_of_##symbol(#symbol, sizeof(Int)); \
  static const EarlySearch search_for_##symbol(host_of_##symbol); \
  void symbol(const char* uplo, const void* n, const P::scalar* alpha, const P::scalar* x, const void* incx, P::scalar* a, const void* lda) { \
    const HostFunction::Found host = host_of_##symbol.of(SEMCACHE_CALLER); \
    if (host.is_wide) return wrap_dsyr_<P, std::int64_t>(host.function, uplo, integer<std::int64_t>(n), alpha, x, integer<std::int64_t>(incx), a, \
        integer<std::int64_t>(lda)); \
    return wrap_dsyr_<P, Int>(host.function, uplo, integer<Int>(n), alpha, x, integer<Int>(incx), a, integer<Int>(lda)); \
  }
SEMCACHE_DSYR_(ssyr_, s_types, std::int32_t)
SEMCACHE_DSYR_(dsyr_, d_types, std::int32_t)
SEMCACHE_DSYR_(scipy_ssyr_, s_types, std::int32_t)
SEMCACHE_DSYR_(scipy_dsyr_, d_types, std::int32_t)
SEMCACHE_DSYR_(ssyr_64_, s_types, std::int64_t)
SEMCACHE_DSYR_(dsyr_64_, d_types, std::int64_t)
SEMCACHE_DSYR_(scipy_ssyr_64_, s_types, std::int64_t)
SEMCACHE_DSYR_(scipy_dsyr_64_, d_types, std::int64_t)
#define SEMCACHE_CBLAS_DSYR(symbol, P, Int) \
  static HostFunction host_of_##symbol(#symbol, sizeof(Int)); \
  static const EarlySearch search_for_##symbol(host_of_##symbol); \
  void symbol(int order, int uplo, std::int64_t n, P::value alpha, const P::scalar* x, std::int64_t incx, P::scalar* a, std::int64_t lda) { \
    const HostFunction::Found host = host_of_##symbol.of(SEMCACHE_CALLER); \
    if (host.is_wide) return wrap_cblas_dsyr<P, std::int64_t>(host.function, order, uplo, integer<std::int64_t>(n), alpha, x, integer<std::int64_t>(incx), a, \
        integer<std::int64_t>(lda)); \
    return wrap_cblas_dsyr<P, Int>(host.function, order, uplo, integer<Int>(n), alpha, x, integer<Int>(incx), a, integer<Int>(lda)); \
  }
SEMCACHE_CBLAS_DSYR(cblas_ssyr, s_types, std::int32_t)
SEMCACHE_CBLAS_DSYR(cblas_dsyr, d_types, std::int32_t)
SEMCACHE_CBLAS_DSYR(scipy_cblas_ssyr, s_types, std::int32_t)
SEMCACHE_CBLAS_DSYR(scipy_cblas_dsyr, d_types, std::int32_t)
SEMCACHE_CBLAS_DSYR(cblas_ssyr64_, s_types, std::int64_t)
SEMCACHE_CBLAS_DSYR(cblas_dsyr64_, d_types, std::int64_t)
SEMCACHE_CBLAS_DSYR(scipy_cblas_ssyr64_, s_types, std::int64_t)
SEMCACHE_CBLAS_DSYR(scipy_cblas_dsyr64_, d_types, std::int64_t)
#define SEMCACHE_ZHER_(symbol, P, Int) \
  static HostFunction host_of_##symbol(#symbol, sizeof(Int)); \
  static const EarlySearch search_for_##symbol(host_of_##symbol); \
  void symbol(const char* uplo, const void* n, const P::real* alpha, const P::scalar* x, const void* incx, P::scalar* a, const void* lda) { \
    const HostFunction::Found host = host_of_##symbol.of(SEMCACHE_CALLER); \
    if (host.is_wide) return wrap_zher_<P, std::int64_t>(host.function, uplo, integer<std::int64_t>(n), alpha, x, integer<std::int64_t>(incx), a, \
        integer<std::int64_t>(lda)); \
    return wrap_zher_<P, Int>(host.function, uplo, integer<Int>(n), alpha, x, integer<Int>(incx), a, integer<Int>(lda)); \
  }
SEMCACHE_ZHER_(cher_, c_types, std::int32_t)
SEMCACHE_ZHER_(zher_, z_types, std::int32_t)
SEMCACHE_ZHER_(scipy_cher_, c_types, std::int32_t)
SEMCACHE_ZHER_(scipy_zher_, z_types, std::int32_t)
SEMCACHE_ZHER_(cher_64_, c_types, std::int64_t)
SEMCACHE_ZHER_(zher_64_, z_types, std::int64_t)
SEMCACHE_ZHER_(scipy_cher_64_, c_types, std::int64_t)
SEMCACHE_ZHER_(scipy_zher_64_, z_types, std::int64_t)
#define SEMCACHE_CBLAS_ZHER(symbol, P, Int) \
  static HostFunction host_of_##symbol(#symbol, sizeof(Int)); \
  static const EarlySearch search_for_##symbol(host_of_##symbol); \
  void symbol(int order, int uplo, std::int64_t n, P::real alpha, const P::scalar* x, std::int64_t incx, P::scalar* a, std::int64_t lda) { \
    const HostFunction::Found host = host_of_##symbol.of(SEMCACHE_CALLER); \
    if (host.is_wide) return wrap_cblas_zher<P, std::int64_t>(host.function, order, uplo, integer<std::int64_t>(n), alpha, x, integer<std::int64_t>(incx), a, \
        integer<std::int64_t>(lda)); \
    return wrap_cblas_zher<P, Int>(host.function, order, uplo, integer<Int>(n), alpha, x, integer<Int>(incx), a, integer<Int>(lda)); \
  }
SEMCACHE_CBLAS_ZHER(cblas_cher, c_types, std::int32_t)
SEMCACHE_CBLAS_ZHER(cblas_zher, z_types, std::int32_t)
SEMCACHE_CBLAS_ZHER(scipy_cblas_cher, c_types, std::int32_t)
SEMCACHE_CBLAS_ZHER(scipy_cblas_zher, z_types, std::int32_t)
SEMCACHE_CBLAS_ZHER(cblas_cher64_, c_types, std::int64_t)
SEMCACHE_CBLAS_ZHER(cblas_zher64_, z_types, std::int64_t)
SEMCACHE_CBLAS_ZHER(scipy_cblas_cher64_, c_types, std::int64_t)
SEMCACHE_CBLAS_ZHER(scipy_cblas_zher64_, z_types, std::int64_t)
#define SEMCACHE_DSPR_(symbol, P, Int) \
  static HostFunction host_of_##symbol(#symbol, sizeof(Int)); \
  static const EarlySearch search_for_##symbol(host_of_##symbol); \
  void symbol(const char* uplo, const void* n, const P::scalar* alpha, const P::scalar* x, const void* incx, P::scalar* ap) { \
    const HostFunction::Found host = host_of_##symbol.of(SEMCACHE_CALLER); \
    if (host.is_wide) return wrap_dspr_<P, std::int64_t>(host.function, uplo, integer<std::int64_t>(n), alpha, x, integer<std::int64_t>(incx), ap); \
    return wrap_dspr_<P, Int>(host.function, uplo, integer<Int>(n), alpha, x, integer<Int>(incx), ap); \
  }
SEMCACHE_DSPR_(sspr_, s_types, std::int32_t)
SEMCACHE_DSPR_(dspr_, d_types, std::int32_t)
SEMCACHE_DSPR_(scipy_sspr_, s_types, std::int32_t)
SEMCACHE_DSPR_(scipy_dspr_, d_types, std::int32_t)
SEMCACHE_DSPR_(sspr_64_, s_types, std::int64_t)
SEMCACHE_DSPR_(dspr_64_, d_types, std::int64_t)
SEMCACHE_DSPR_(scipy_sspr_64_, s_types, std::int64_t)
SEMCACHE_DSPR_(scipy_dspr_64_, d_types, std::int64_t)
#define SEMCACHE_CBLAS_DSPR(symbol, P, Int) \
  static HostFunction host_of_##symbol(#symbol, sizeof(Int)); \
  static const EarlySearch search_for_##symbol(host_of_##symbol); \
  void symbol(int order, int uplo, std::int64_t n, P::value alpha, const P::scalar* x, std::int64_t incx, P::scalar* ap) { \
    const HostFunction::Found host = host_of_##symbol.of(SEMCACHE_CALLER); \
    if (host.is_wide) return wrap_cblas_dspr<P, std::int64_t>(host.function, order, uplo, integer<std::int64_t>(n), alpha, x, integer<std::int64_t>(incx), ap); \
    return wrap_cblas_dspr<P, Int>(host.function, order, uplo, integer<Int>(n), alpha, x, integer<Int>(incx), ap); \
  }
SEMCACHE_CBLAS_DSPR(cblas_sspr, s_types, std::int32_t)
SEMCACHE_CBLAS_DSPR(cblas_dspr, d_types, std::int32_t)
SEMCACHE_CBLAS_DSPR(scipy_cblas_sspr, s_types, std::int32_t)
SEMCACHE_CBLAS_DSPR(scipy_cblas_dspr, d_types, std::int32_t)
SEMCACHE_CBLAS_DSPR(cblas_sspr64_, s_types, std::int64_t)
SEMCACHE_CBLAS_DSPR(cblas_dspr64_, d_types, std::int64_t)
SEMCACHE_CBLAS_DSPR(scipy_cblas_sspr64_, s_types, std::int64_t)
SEMCACHE_CBLAS_DSPR(scipy_cblas_dspr64_, d_types, std::int64_t)
#define SEMCACHE_ZHPR_(symbol, P, Int) \
  static HostFunction host_of_##symbol(#symbol, sizeof(Int)); \
  static const EarlySearch search_for_##symbol(host_of_##symbol); \
  void symbol(const char* uplo, const void* n, const P::real* alpha, const P::scalar* x, const void* incx, P::scalar* ap) { \
    const HostFunction::Found host = host_of_##symbol.of(SEMCACHE_CALLER); \
    if (host.is_wide) return wrap_zhpr_<P, std::int64_t>(host.function, uplo, integer<std::int64_t>(n), alpha, x, integer<std::int64_t>(incx), ap); \
    return wrap_zhpr_<P, Int>(host.function, uplo, integer<Int>(n), alpha, x, integer<Int>(incx), ap); \
  }
SEMCACHE_ZHPR_(chpr_, c_types, std::int32_t)
SEMCACHE_ZHPR_(zhpr_, z_types, std::int32_t)
SEMCACHE_ZHPR_(scipy_chpr_, c_types, std::int32_t)
SEMCACHE_ZHPR_(scipy_zhpr_, z_types, std::int32_t)
SEMCACHE_ZHPR_(chpr_64_, c_types, std::int64_t)
SEMCACHE_ZHPR_(zhpr_64_, z_types, std::int64_t)
SEMCACHE_ZHPR_(scipy_chpr_64_, c_types, std::int64_t)
SEMCACHE_ZHPR_(scipy_zhpr_64_, z_types, std::int64_t)
#define SEMCACHE_CBLAS_ZHPR(symbol, P, Int) \
  static HostFunction host_of_##symbol(#symbol, sizeof(Int)); \
  static const EarlySearch search_for_##symbol(host_of_##symbol); \
  void symbol(int order, int uplo, std::int64_t n, P::real alpha, const P::scalar* x, std::int64_t incx, P::scalar* ap) { \
    const HostFunction::Found host = host_of_##symbol.of(SEMCACHE_CALLER); \
    if (host.is_wide) return wrap_cblas_zhpr<P, std::int64_t>(host.function, order, uplo, integer<std::int64_t>(n), alpha, x, integer<std::int64_t>(incx), ap); \
    return wrap_cblas_zhpr<P, Int>(host.function, order, uplo, integer<Int>(n), alpha, x, integer<Int>(incx), ap); \
  }
SEMCACHE_CBLAS_ZHPR(cblas_chpr, c_types, std::int32_t)
SEMCACHE_CBLAS_ZHPR(cblas_zhpr, z_types, std::int32_t)
SEMCACHE_CBLAS_ZHPR(scipy_cblas_chpr, c_types, std::int32_t)
SEMCACHE_CBLAS_ZHPR(scipy_cblas_zhpr, z_types, std::int32_t)
SEMCACHE_CBLAS_ZHPR(cblas_chpr64_, c_types, std::int64_t)
SEMCACHE_CBLAS_ZHPR(cblas_zhpr64_, z_types, std::int64_t)
SEMCACHE_CBLAS_ZHPR(scipy_cblas_chpr64_, c_types, std::int64_t)
SEMCACHE_CBLAS_ZHPR(scipy_cblas_zhpr64_, z_types, std::int64_t)
#define SEMCACHE_DSYR2_(symbol, P, Int) \
  static HostFunction host_of_##symbol(#symbol, sizeof(Int)); \
  static const EarlySearch search_for_##symbol(host_of_##symbol); \
  void symbol(const char* uplo, const void* n, const P::scalar* alpha, const P::scalar* x, const void* incx, const P::scalar* y, const void* incy, \
    P::scalar* a, const void* lda) { \
    const HostFunction::Found host = host_of_##symbol.of(SEMCACHE_CALLER); \
    if (host.is_wide) return wrap_dsyr2_<P, std::int64_t>(host.function, uplo, integer<std::int64_t>(n), alpha, x, integer<std::int64_t>(incx), y, \
        integer<std::int64_t>(incy), a, integer<std::int64_t>(lda)); \
    return wrap_dsyr2_<P, Int>(host.function, uplo, integer<Int>(n), alpha, x, integer<Int>(incx), y, integer<Int>(incy), a, integer<Int>(lda)); \
  }
SEMCACHE_DSYR2_(ssyr2_, s_types, std::int32_t)
SEMCACHE_DSYR2_(dsyr2_, d_types, std::int32_t)
SEMCACHE_DSYR2_(scipy_ssyr2_, s_types, std::int32_t)
SEMCACHE_DSYR2_(scipy_dsyr2_, d_types, std::int32_t)
SEMCACHE_DSYR2_(ssyr2_64_, s_types, std::int64_t)
SEMCACHE_DSYR2_(dsyr2_64_, d_types, std::int64_t)
SEMCACHE_DSYR2_(scipy_ssyr2_64_, s_types, std::int64_t)
SEMCACHE_DSYR2_(scipy_dsyr2_64_, d_types, std::int64_t)
#define SEMCACHE_CBLAS_DSYR2(symbol, P, Int) \
  static HostFunction host_of_##symbol(#symbol, sizeof(Int)); \
  static const EarlySearch search_for_##symbol(host_of_##symbol); \
  void symbol(int order, int uplo, std::int64_t n, P::value alpha, const P::scalar* x, std::int64_t incx, const P::scalar* y, std::int64_t incy, \
    P::scalar* a, std::int64_t lda) { \
    const HostFunction::Found host = host_of_##symbol.of(SEMCACHE_CALLER); \
    if (host.is_wide) return wrap_cblas_dsyr2<P, std::int64_t>(host.function, order, uplo, integer<std::int64_t>(n), alpha, x, integer<std::int64_t>(incx), y, \
        integer<std::int64_t>(incy), a, integer<std::int64_t>(lda)); \
    return wrap_cblas_dsyr2<P, Int>(host.function, order, uplo, integer<Int>(n), alpha, x, integer<Int>(incx), y, integer<Int>(incy), a, \
        integer<Int>(lda)); \
  }
SEMCACHE_CBLAS_DSYR2(cblas_ssyr2, s_types, std::int32_t)
SEMCACHE_CBLAS_DSYR2(cblas_dsyr2, d_types, std::int32_t)
SEMCACHE_CBLAS_DSYR2(scipy_cblas_ssyr2, s_types, std::int32_t)
SEMCACHE_CBLAS_DSYR2(scipy_cblas_dsyr2, d_types, std::int32_t)
SEMCACHE_CBLAS_DSYR2(cblas_ssyr264_, s_types, std::int64_t)
SEMCACHE_CBLAS_DSYR2(cblas_dsyr264_, d_types, std::int64_t)
SEMCACHE_CBLAS_DSYR2(scipy_cblas_ssyr264_, s_types, std::int64_t)
SEMCACHE_CBLAS_DSYR2(scipy_cblas_dsyr264_, d_types, std::int64_t)
#define SEMCACHE_ZHER2_(symbol, P, Int) \
  static HostFunction host_of_##symbol(#symbol, sizeof(Int)); \
  static const EarlySearch search_for_##symbol(host_of_##symbol); \
  void symbol(const char* uplo, const void* n, const P::scalar* alpha, const P::scalar* x, const void* incx, const P::scalar* y, const void* incy, \
    P::scalar* a, const void* lda) { \
    const HostFunction::Found host = host_of_##symbol.of(SEMCACHE_CALLER); \
    if (host.is_wide) return wrap_zher2_<P, std::int64_t>(host.function, uplo, integer<std::int64_t>(n), alpha, x, integer<std::int64_t>(incx), y, \
        integer<std::int64_t>(incy), a, integer<std::int64_t>(lda)); \
    return wrap_zher2_<P, Int>(host.function, uplo, integer<Int>(n), alpha, x, integer<Int>(incx), y, integer<Int>(incy), a, integer<Int>(lda)); \
  }
SEMCACHE_ZHER2_(cher2_, c_types, std::int32_t)
SEMCACHE_ZHER2_(zher2_, z_types, std::int32_t)
SEMCACHE_ZHER2_(scipy_cher2_, c_types, std::int32_t)
SEMCACHE_ZHER2_(scipy_zher2_, z_types, std::int32_t)
SEMCACHE_ZHER2_(cher2_64_, c_types, std::int64_t)
SEMCACHE_ZHER2_(zher2_64_, z_types, std::int64_t)
SEMCACHE_ZHER2_(scipy_cher2_64_, c_types, std::int64_t)
SEMCACHE_ZHER2_(scipy_zher2_64_, z_types, std::int64_t)
#define SEMCACHE_CBLAS_ZHER2(symbol, P, Int) \
  static HostFunction host_of_##symbol(#symbol, sizeof(Int)); \
  static const EarlySearch search_for_##symbol(host_of_##symbol); \
  void symbol(int order, int uplo, std::int64_t n, P::value alpha, const P::scalar* x, std::int64_t incx, const P::scalar* y, std::int64_t incy, \
    P::scalar* a, std::int64_t lda) { \
    const HostFunction::Found host = host_of_##symbol.of(SEMCACHE_CALLER); \
    if (host.is_wide) return wrap_cblas_zher2<P, std::int64_t>(host.function, order, uplo, integer<std::int64_t>(n), alpha, x, integer<std::int64_t>(incx), y, \
        integer<std::int64_t>(incy), a, integer<std::int64_t>(lda)); \
    return wrap_cblas_zher2<P, Int>(host.function, order, uplo, integer<Int>(n), alpha, x, integer<Int>(incx), y, integer<Int>(incy), a, \
        integer<Int>(lda)); \
  }
SEMCACHE_CBLAS_ZHER2(cblas_cher2, c_types, std::int32_t)
SEMCACHE_CBLAS_ZHER2(cblas_zher2, z_types, std::int32_t)
SEMCACHE_CBLAS_ZHER2(scipy_cblas_cher2, c_types, std::int32_t)
SEMCACHE_CBLAS_ZHER2(scipy_cblas_zher2, z_types, std::int32_t)
SEMCACHE_CBLAS_ZHER2(cblas_cher264_, c_types, std::int64_t)
SEMCACHE_CBLAS_ZHER2(cblas_zher264_, z_types, std::int64_t)
SEMCACHE_CBLAS_ZHER2(scipy_cblas_cher264_, c_types, std::int64_t)
SEMCACHE_CBLAS_ZHER2(scipy_cblas_zher264_, z_types, std::int64_t)
#define SEMCACHE_DSPR2_(symbol, P, Int) \
  static HostFunction host_of_##symbol(#symbol, sizeof(Int)); \
  static const EarlySearch search_for_##symbol(host_of_##symbol); \
  void symbol(const char* uplo, const void* n, const P::scalar* alpha, const P::scalar* x, const void* incx, const P::scalar* y, const void* incy, \
    P::scalar* ap) { \
    const HostFunction::Found host = host_of_##symbol.of(SEMCACHE_CALLER); \
    if (host.is_wide) return wrap_dspr2_<P, std::int64_t>(host.function, uplo, integer<std::int64_t>(n), alpha, x, integer<std::int64_t>(incx), y, \
        integer<std::int64_t>(incy), ap); \
    return wrap_dspr2_<P, Int>(host.function, uplo, integer<Int>(n), alpha, x, integer<Int>(incx), y, integer<Int>(incy), ap); \
  }
SEMCACHE_DSPR2_(sspr2_, s_types, std::int32_t)
SEMCACHE_DSPR2_(dspr2_, d_types, std::int32_t)
SEMCACHE_DSPR2_(scipy_sspr2_, s_types, std::int32_t)
SEMCACHE_DSPR2_(scipy_dspr2_, d_types, std::int32_t)
SEMCACHE_DSPR2_(sspr2_64_, s_types, std::int64_t)
SEMCACHE_DSPR2_(dspr2_64_, d_types, std::int64_t)
SEMCACHE_DSPR2_(scipy_sspr2_64_, s_types, std::int64_t)
SEMCACHE_DSPR2_(scipy_dspr2_64_, d_types, std::int64_t)
#define SEMCACHE_CBLAS_DSPR2(symbol, P, Int) \
  static HostFunction host_of_##symbol(#symbol, sizeof(Int)); \
  static const EarlySearch search_for_##symbol(host_of_##symbol); \
  void symbol(int order, int uplo, std::int64_t n, P::value alpha, const P::scalar* x, std::int64_t incx, const P::scalar* y, std::int64_t incy, \
    P::scalar* ap) { \
    const HostFunction::Found host = host_of_##symbol.of(SEMCACHE_CALLER); \
    if (host.is_wide) return wrap_cblas_dspr2<P, std::int64_t>(host.function, order, uplo, integer<std::int64_t>(n), alpha, x, integer<std::int64_t>(incx), y, \
        integer<std::int64_t>(incy), ap); \
    return wrap_cblas_dspr2<P, Int>(host.function, order, uplo, integer<Int>(n), alpha, x, integer<Int>(incx), y, integer<Int>(incy), ap); \
  }
SEMCACHE_CBLAS_DSPR2(cblas_sspr2, s_types, std::int32_t)
SEMCACHE_CBLAS_DSPR2(cblas_dspr2, d_types, std::int32_t)
SEMCACHE_CBLAS_DSPR2(scipy_cblas_sspr2, s_types, std::int32_t)
SEMCACHE_CBLAS_DSPR2(scipy_cblas_dspr2, d_types, std::int32_t)
SEMCACHE_CBLAS_DSPR2(cblas_sspr264_, s_types, std::int64_t)
SEMCACHE_CBLAS_DSPR2(cblas_dspr264_, d_types, std::int64_t)
SEMCACHE_CBLAS_DSPR2(scipy_cblas_sspr264_, s_types, std::int64_t)
SEMCACHE_CBLAS_DSPR2(scipy_cblas_dspr264_, d_types, std::int64_t)
#define SEMCACHE_ZHPR2_(symbol, P, Int) \
  static HostFunction host_of_##symbol(#symbol, sizeof(Int)); \
  static const EarlySearch search_for_##symbol(host_of_##symbol); \
  void symbol(const char* uplo, const void* n, const P::scalar* alpha, const P::scalar* x, const void* incx, const P::scalar* y, const void* incy, \
    P::scalar* ap) { \
    const HostFunction::Found host = host_of_##symbol.of(SEMCACHE_CALLER); \
    if (host.is_wide) return wrap_zhpr2_<P, std::int64_t>(host.function, uplo, integer<std::int64_t>(n), alpha, x, integer<std::int64_t>(incx), y, \
        integer<std::int64_t>(incy), ap); \
    return wrap_zhpr2_<P, Int>(host.function, uplo, integer<Int>(n), alpha, x, integer<Int>(incx), y, integer<Int>(incy), ap); \
  }
SEMCACHE_ZHPR2_(chpr2_, c_types, std::int32_t)
SEMCACHE_ZHPR2_(zhpr2_, z_types, std::int32_t)
SEMCACHE_ZHPR2_(scipy_chpr2_, c_types, std::int32_t)
SEMCACHE_ZHPR2_(scipy_zhpr2_, z_types, std::int32_t)
SEMCACHE_ZHPR2_(chpr2_64_, c_types, std::int64_t)
SEMCACHE_ZHPR2_(zhpr2_64_, z_types, std::int64_t)
SEMCACHE_ZHPR2_(scipy_chpr2_64_, c_types, std::int64_t)
SEMCACHE_ZHPR2_(scipy_zhpr2_64_, z_types, std::int64_t)
#define SEMCACHE_CBLAS_ZHPR2(symbol, P, Int) \
  static HostFunction host_of_##symbol(#symbol, sizeof(Int)); \
  static const EarlySearch search_for_##symbol(host_of_##symbol); \
  void symbol(int order, int uplo, std::int64_t n, P::value alpha, const P::scalar* x, std::int64_t incx, const P::scalar* y, std::int64_t incy, \
    P::scalar* ap) { \
    const HostFunction::Found host = host_of_##symbol.of(SEMCACHE_CALLER); \
    if (host.is_wide) return wrap_cblas_zhpr2<P, std::int64_t>(host.function, order, uplo, integer<std::int64_t>(n), alpha, x, integer<std::int64_t>(incx), y, \
        integer<std::int64_t>(incy), ap); \
    return wrap_cblas_zhpr2<P, Int>(host.function, order, uplo, integer<Int>(n), alpha, x, integer<Int>(incx), y, integer<Int>(incy), ap); \
  }
SEMCACHE_CBLAS_ZHPR2(cblas_chpr2, c_types, std::int32_t)
SEMCACHE_CBLAS_ZHPR2(cblas_zhpr2, z_types, std::int32_t)
SEMCACHE_CBLAS_ZHPR2(scipy_cblas_chpr2, c_types, std::int32_t)
SEMCACHE_CBLAS_ZHPR2(scipy_cblas_zhpr2, z_types, std::int32_t)
SEMCACHE_CBLAS_ZHPR2(cblas_chpr264_, c_types, std::int64_t)
SEMCACHE_CBLAS_ZHPR2(cblas_zhpr264_, z_types, std::int64_t)
SEMCACHE_CBLAS_ZHPR2(scipy_cblas_chpr264_, c_types, std::int64_t)
SEMCACHE_CBLAS_ZHPR2(scipy_cblas_zhpr264_, z_types, std::int64_t)
}
#pragma GCC visibility pop
