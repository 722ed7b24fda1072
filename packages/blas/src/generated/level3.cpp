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

// ---- gemm: line 522

Routine gemm_routines[] = {Routine("BLAS sgemm"), Routine("BLAS dgemm"), Routine("BLAS cgemm"), Routine("BLAS zgemm")};

struct Gemm : Arguments {
  char transa = 0;
  char transb = 0;
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  Value alpha;
  const void* a = nullptr;
  std::int64_t lda = 0;
  const void* b = nullptr;
  std::int64_t ldb = 0;
  Value beta;
  const void* c = nullptr;
  std::int64_t ldc = 0;
};

void describe(Gemm& g, Call& call) noexcept {
  call.routine = &gemm_routines[g.type];
  call.at = {g.a, g.b, g.c};
  if (g.refused != Verdict::on_device ||
      !(one_of(g.transa, "NTC")) ||
      !(one_of(g.transb, "NTC")) ||
      !(g.m >= 0) ||
      !(g.n >= 0) ||
      !(g.k >= 0) ||
      g.lda < max_of(1, (g.transa != 'N' ? g.k : g.m)) ||
      g.ldb < max_of(1, (g.transb != 'N' ? g.n : g.k)) ||
      g.ldc < max_of(1, g.m)) {
    return refuse(call, Verdict::wrong_arguments);
  }
  if (((g.m == 0 || g.n == 0) || ((g.alpha == 0 || g.k == 0) && g.beta == 1))) return refuse(call, Verdict::nothing_to_compute);
  if (g.passes) return refuse(call, Verdict::no_routine);
  if (!all_fit({g.m, g.n, g.k, g.lda, g.ldb, g.ldc})) return refuse(call, Verdict::too_large);
  call.operations = (is_complex[g.type] ? 4.0 : 1.0) * ((((2 * as_double(g.m)) * as_double(g.n)) * max_of(as_double(g.k), 1)));
  add(call, (g.alpha == 0 || g.k == 0) ? Operand() : matrix(g.a, (g.transa != 'N' ? g.k : g.m), (g.transa != 'N' ? g.m : g.k), g.lda, bytes_of_scalar[g.type], Access::read));
  add(call, (g.alpha == 0 || g.k == 0) ? Operand() : matrix(g.b, (g.transb != 'N' ? g.n : g.k), (g.transb != 'N' ? g.k : g.n), g.ldb, bytes_of_scalar[g.type], Access::read));
  add(call, matrix(g.c, g.m, g.n, g.ldc, bytes_of_scalar[g.type], g.beta == 0 ? Access::overwrite : Access::read_write));
  call.cut = {{as_size(g.m), as_size(g.n), as_size(g.k)}, {stored(Size::rows, Size::terms, g.transa != 'N'),
    stored(Size::terms, Size::columns, g.transb != 'N'), stored(Size::rows, Size::columns, false)}};
  check_addresses(call);
}

void gemm_on_gpu(void* arguments, const runtime::Stream& stream, const void* const* at) {
  auto& g = *static_cast<Gemm*>(arguments);
  static linalg::CublasRoutine routines[] = {linalg::CublasRoutine("cublasSgemm_v2"), linalg::CublasRoutine("cublasDgemm_v2"), linalg::CublasRoutine("cublasCgemm_v2"), linalg::CublasRoutine("cublasZgemm_v2")};
  routines[g.type](stream, code_of(g.transa), code_of(g.transb), as_int(g.m), as_int(g.n), as_int((g.alpha == 0 ? 0 : g.k)), g.alpha.at(), at[0],
    as_int(g.lda), at[1], as_int(g.ldb), g.beta.at(), at[2], as_int(g.ldc));
  g.on_gpu = true;
}

void become(Gemm& g, const Piece& piece) noexcept {
  g.m = piece.size(Size::rows);
  g.n = piece.size(Size::columns);
  g.k = piece.size(Size::terms);
  if (piece.adds) g.beta.become_one();
  if (piece.leading[0] != 0) g.lda = piece.leading[0];
  if (piece.leading[1] != 0) g.ldb = piece.leading[1];
  if (piece.leading[2] != 0) g.ldc = piece.leading[2];
}

template <class P, class Int>
void wrap_dgemm_(AnyFunction host, const char* transa, const char* transb, const Int* m, const Int* n, const Int* k,
    const typename P::scalar* alpha, const typename P::scalar* a, const Int* lda, const typename P::scalar* b, const Int* ldb,
    const typename P::scalar* beta, typename P::scalar* c, const Int* ldc) {
  using Host = void(const char*, const char*, const Int*, const Int*, const Int*, const typename P::scalar*, const typename P::scalar*, const Int*,
    const typename P::scalar*, const Int*, const typename P::scalar*, typename P::scalar*, const Int*, std::size_t, std::size_t);
  auto* const routine = reinterpret_cast<Host*>(host);
  if (is_within_call()) return routine(transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, 1, 1);
  if (any_null(transa, transb, m, n, k, alpha, lda, ldb, beta, ldc)) {
    const PassedThrough within(gemm_routines[P::type], Verdict::nothing_to_compute);
    return routine(transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, 1, 1);
  }
  const char transa_copy = *transa;
  const char transb_copy = *transb;
  Int m_copy = *m;
  Int n_copy = *n;
  Int k_copy = *k;
  const typename P::scalar alpha_copy = coefficient<typename P::scalar>(alpha);
  Int lda_copy = *lda;
  Int ldb_copy = *ldb;
  typename P::scalar beta_copy = coefficient<typename P::scalar>(beta);
  Int ldc_copy = *ldc;
  Gemm g;
  g.type = P::type;
  g.transa = upper(transa_copy);
  g.transb = upper(transb_copy);
  g.m = m_copy;
  g.n = n_copy;
  g.k = k_copy;
  g.alpha = Value(alpha_copy);
  g.a = a;
  g.lda = lda_copy;
  g.b = b;
  g.ldb = ldb_copy;
  g.beta = Value(beta_copy);
  g.c = c;
  g.ldc = ldc_copy;
  const auto on_host = [&](const void* const* at) {
    routine(&transa_copy, &transb_copy, &m_copy, &n_copy, &k_copy, handed<const typename P::scalar*>(alpha_copy),
        place<const typename P::scalar>(at[0]), &lda_copy, place<const typename P::scalar>(at[1]), &ldb_copy,
        handed<const typename P::scalar*>(beta_copy), place<typename P::scalar>(at[2]), &ldc_copy, 1, 1);
    g.on_gpu = false;
  };
  std::optional<Gemm> whole;
  const auto take = [&](const Piece* piece) {
    if (!whole) whole = g;
    g = *whole;
    if (piece != nullptr) become(g, *piece);
    Gemm part = g;
    m_copy = static_cast<Int>(part.m);
    n_copy = static_cast<Int>(part.n);
    k_copy = static_cast<Int>(part.k);
    lda_copy = static_cast<Int>(part.lda);
    ldb_copy = static_cast<Int>(part.ldb);
    beta_copy = part.beta.template as<typename P::scalar>();
    ldc_copy = static_cast<Int>(part.ldc);
  };
  Call call;
  describe(g, call);
  carry_out(call, Wrapped(g, Emulation::by_host, &gemm_on_gpu, on_host, take));
}

template <class P, class Int>
void wrap_cblas_dgemm(AnyFunction host, int order, int transa, int transb, Int m, Int n, Int k, typename P::value alpha,
    const typename P::scalar* a, Int lda, const typename P::scalar* b, Int ldb, typename P::value beta, typename P::scalar* c, Int ldc) {
  using Host = void(int, int, int, Int, Int, Int, typename P::value, const typename P::scalar*, Int, const typename P::scalar*, Int,
    typename P::value, typename P::scalar*, Int);
  auto* const routine = reinterpret_cast<Host*>(host);
  if (is_within_call()) return routine(order, transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
  if (any_null(alpha, beta)) {
    const PassedThrough within(gemm_routines[P::type], Verdict::nothing_to_compute);
    return routine(order, transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
  }
  const typename P::scalar alpha_copy = coefficient<typename P::scalar>(alpha);
  typename P::scalar beta_copy = coefficient<typename P::scalar>(beta);
  Gemm g;
  g.type = P::type;
  g.transa = letter_of_CBLAS_TRANSPOSE(transa);
  g.transb = letter_of_CBLAS_TRANSPOSE(transb);
  g.m = m;
  g.n = n;
  g.k = k;
  g.alpha = Value(alpha_copy);
  g.a = a;
  g.lda = lda;
  g.b = b;
  g.ldb = ldb;
  g.beta = Value(beta_copy);
  g.c = c;
  g.ldc = ldc;
  std::size_t at_a = 0;
  std::size_t at_b = 1;
  if (!((order == 101 || order == 102))) g.refused = Verdict::wrong_arguments;
  if (order == 101) {
    std::swap(g.transa, g.transb);
    std::swap(g.m, g.n);
    std::swap(g.a, g.b);
    std::swap(at_a, at_b);
    std::swap(g.lda, g.ldb);
  }
  const auto on_host = [&](const void* const* at) {
    routine(order, transa, transb, m, n, k, handed<typename P::value>(alpha_copy), place<const typename P::scalar>(at[at_a]), lda,
        place<const typename P::scalar>(at[at_b]), ldb, handed<typename P::value>(beta_copy), place<typename P::scalar>(at[2]), ldc);
    g.on_gpu = false;
  };
  std::optional<Gemm> whole;
  const auto take = [&](const Piece* piece) {
    if (!whole) whole = g;
    g = *whole;
    if (piece != nullptr) become(g, *piece);
    Gemm part = g;
    if (order == 101) std::swap(part.lda, part.ldb);
    if (order == 101) std::swap(part.m, part.n);
    m = static_cast<Int>(part.m);
    n = static_cast<Int>(part.n);
    k = static_cast<Int>(part.k);
    lda = static_cast<Int>(part.lda);
    ldb = static_cast<Int>(part.ldb);
    beta_copy = part.beta.template as<typename P::scalar>();
    ldc = static_cast<Int>(part.ldc);
  };
  Call call;
  describe(g, call);
  carry_out(call, Wrapped(g, Emulation::by_host, &gemm_on_gpu, on_host, take));
}

// ---- symm: line 538

Routine symm_routines[] = {Routine("BLAS ssymm"), Routine("BLAS dsymm"), Routine("BLAS csymm"), Routine("BLAS zsymm")};

struct Symm : Arguments {
  char side = 0;
  char uplo = 0;
  std::int64_t m = 0;
  std::int64_t n = 0;
  Value alpha;
  const void* a = nullptr;
  std::int64_t lda = 0;
  const void* b = nullptr;
  std::int64_t ldb = 0;
  Value beta;
  const void* c = nullptr;
  std::int64_t ldc = 0;
};

void describe(Symm& g, Call& call) noexcept {
  call.routine = &symm_routines[g.type];
  call.at = {g.a, g.b, g.c};
  const std::int64_t ka = (g.side == 'L' ? g.m : g.n);
  if (g.refused != Verdict::on_device ||
      !(one_of(g.side, "LR")) ||
      !(one_of(g.uplo, "UL")) ||
      !(g.m >= 0) ||
      !(g.n >= 0) ||
      g.lda < max_of(1, ka) ||
      g.ldb < max_of(1, g.m) ||
      g.ldc < max_of(1, g.m)) {
    return refuse(call, Verdict::wrong_arguments);
  }
  if (((g.m == 0 || g.n == 0) || g.alpha == 0)) return refuse(call, Verdict::nothing_to_compute);
  if (g.passes) return refuse(call, Verdict::no_routine);
  if (!all_fit({g.m, g.n, g.lda, g.ldb, g.ldc})) return refuse(call, Verdict::too_large);
  call.operations = (is_complex[g.type] ? 4.0 : 1.0) * ((((2 * as_double(g.m)) * as_double(g.n)) * as_double(ka)));
  add(call, triangle(g.uplo, matrix(g.a, ka, ka, g.lda, bytes_of_scalar[g.type], Access::read)));
  add(call, matrix(g.b, g.m, g.n, g.ldb, bytes_of_scalar[g.type], Access::read));
  add(call, matrix(g.c, g.m, g.n, g.ldc, bytes_of_scalar[g.type], g.beta == 0 ? Access::overwrite : Access::read_write));
  call.cut = {{g.side == 'R' ? as_size(g.m) : 0, g.side == 'L' ? as_size(g.n) : 0, 0}, {stored(Size::whole, Size::whole, false),
    stored(Size::rows, Size::columns, false), stored(Size::rows, Size::columns, false)}};
  check_addresses(call);
}

void symm_on_gpu(void* arguments, const runtime::Stream& stream, const void* const* at) {
  auto& g = *static_cast<Symm*>(arguments);
  static linalg::CublasRoutine routines[] = {linalg::CublasRoutine("cublasSsymm_v2"), linalg::CublasRoutine("cublasDsymm_v2"), linalg::CublasRoutine("cublasCsymm_v2"), linalg::CublasRoutine("cublasZsymm_v2")};
  routines[g.type](stream, code_of(g.side), code_of(g.uplo), as_int(g.m), as_int(g.n), g.alpha.at(), at[0], as_int(g.lda), at[1], as_int(g.ldb),
    g.beta.at(), at[2], as_int(g.ldc));
  g.on_gpu = true;
}

void become(Symm& g, const Piece& piece) noexcept {
  if (g.side == 'L') g.n = piece.size(Size::columns);
  if (g.side == 'R') g.m = piece.size(Size::rows);
  if (piece.leading[0] != 0) g.lda = piece.leading[0];
  if (piece.leading[1] != 0) g.ldb = piece.leading[1];
  if (piece.leading[2] != 0) g.ldc = piece.leading[2];
}

template <class P, class Int>
void wrap_dsymm_(AnyFunction host, const char* side, const char* uplo, const Int* m, const Int* n, const typename P::scalar* alpha,
    const typename P::scalar* a, const Int* lda, const typename P::scalar* b, const Int* ldb, const typename P::scalar* beta,
    typename P::scalar* c, const Int* ldc) {
  using Host = void(const char*, const char*, const Int*, const Int*, const typename P::scalar*, const typename P::scalar*, const Int*,
    const typename P::scalar*, const Int*, const typename P::scalar*, typename P::scalar*, const Int*, std::size_t, std::size_t);
  auto* const routine = reinterpret_cast<Host*>(host);
  if (is_within_call()) return routine(side, uplo, m, n, alpha, a, lda, b, ldb, beta, c, ldc, 1, 1);
  if (any_null(side, uplo, m, n, alpha, lda, ldb, beta, ldc)) {
    const PassedThrough within(symm_routines[P::type], Verdict::nothing_to_compute);
    return routine(side, uplo, m, n, alpha, a, lda, b, ldb, beta, c, ldc, 1, 1);
  }
  const char side_copy = *side;
  const char uplo_copy = *uplo;
  Int m_copy = *m;
  Int n_copy = *n;
  const typename P::scalar alpha_copy = coefficient<typename P::scalar>(alpha);
  Int lda_copy = *lda;
  Int ldb_copy = *ldb;
  const typename P::scalar beta_copy = coefficient<typename P::scalar>(beta);
  Int ldc_copy = *ldc;
  Symm g;
  g.type = P::type;
  g.side = upper(side_copy);
  g.uplo = upper(uplo_copy);
  g.m = m_copy;
  g.n = n_copy;
  g.alpha = Value(alpha_copy);
  g.a = a;
  g.lda = lda_copy;
  g.b = b;
  g.ldb = ldb_copy;
  g.beta = Value(beta_copy);
  g.c = c;
  g.ldc = ldc_copy;
  const auto on_host = [&](const void* const* at) {
    routine(&side_copy, &uplo_copy, &m_copy, &n_copy, handed<const typename P::scalar*>(alpha_copy), place<const typename P::scalar>(at[0]),
        &lda_copy, place<const typename P::scalar>(at[1]), &ldb_copy, handed<const typename P::scalar*>(beta_copy),
        place<typename P::scalar>(at[2]), &ldc_copy, 1, 1);
    g.on_gpu = false;
  };
  std::optional<Symm> whole;
  const auto take = [&](const Piece* piece) {
    if (!whole) whole = g;
    g = *whole;
    if (piece != nullptr) become(g, *piece);
    Symm part = g;
    m_copy = static_cast<Int>(part.m);
    n_copy = static_cast<Int>(part.n);
    lda_copy = static_cast<Int>(part.lda);
    ldb_copy = static_cast<Int>(part.ldb);
    ldc_copy = static_cast<Int>(part.ldc);
  };
  Call call;
  describe(g, call);
  carry_out(call, Wrapped(g, Emulation::by_host, &symm_on_gpu, on_host, take));
}

template <class P, class Int>
void wrap_cblas_dsymm(AnyFunction host, int order, int side, int uplo, Int m, Int n, typename P::value alpha, const typename P::scalar* a, Int lda,
    const typename P::scalar* b, Int ldb, typename P::value beta, typename P::scalar* c, Int ldc) {
  using Host = void(int, int, int, Int, Int, typename P::value, const typename P::scalar*, Int, const typename P::scalar*, Int, typename P::value,
    typename P::scalar*, Int);
  auto* const routine = reinterpret_cast<Host*>(host);
  if (is_within_call()) return routine(order, side, uplo, m, n, alpha, a, lda, b, ldb, beta, c, ldc);
  if (any_null(alpha, beta)) {
    const PassedThrough within(symm_routines[P::type], Verdict::nothing_to_compute);
    return routine(order, side, uplo, m, n, alpha, a, lda, b, ldb, beta, c, ldc);
  }
  const typename P::scalar alpha_copy = coefficient<typename P::scalar>(alpha);
  const typename P::scalar beta_copy = coefficient<typename P::scalar>(beta);
  Symm g;
  g.type = P::type;
  g.side = letter_of_CBLAS_SIDE(side);
  g.uplo = letter_of_CBLAS_UPLO(uplo);
  g.m = m;
  g.n = n;
  g.alpha = Value(alpha_copy);
  g.a = a;
  g.lda = lda;
  g.b = b;
  g.ldb = ldb;
  g.beta = Value(beta_copy);
  g.c = c;
  g.ldc = ldc;
  if (!((order == 101 || order == 102))) g.refused = Verdict::wrong_arguments;
  if (order == 101) {
    g.side = flipped(g.side, 'L', 'R');
    g.uplo = flipped(g.uplo, 'U', 'L');
    std::swap(g.m, g.n);
  }
  const auto on_host = [&](const void* const* at) {
    routine(order, side, uplo, m, n, handed<typename P::value>(alpha_copy), place<const typename P::scalar>(at[0]), lda,
        place<const typename P::scalar>(at[1]), ldb, handed<typename P::value>(beta_copy), place<typename P::scalar>(at[2]), ldc);
    g.on_gpu = false;
  };
  std::optional<Symm> whole;
  const auto take = [&](const Piece* piece) {
    if (!whole) whole = g;
    g = *whole;
    if (piece != nullptr) become(g, *piece);
    Symm part = g;
    if (order == 101) std::swap(part.m, part.n);
    m = static_cast<Int>(part.m);
    n = static_cast<Int>(part.n);
    lda = static_cast<Int>(part.lda);
    ldb = static_cast<Int>(part.ldb);
    ldc = static_cast<Int>(part.ldc);
  };
  Call call;
  describe(g, call);
  carry_out(call, Wrapped(g, Emulation::by_host, &symm_on_gpu, on_host, take));
}

// ---- hemm: line 554

Routine hemm_routines[] = {Routine(""), Routine(""), Routine("BLAS chemm"), Routine("BLAS zhemm")};

struct Hemm : Arguments {
  char side = 0;
  char uplo = 0;
  std::int64_t m = 0;
  std::int64_t n = 0;
  Value alpha;
  const void* a = nullptr;
  std::int64_t lda = 0;
  const void* b = nullptr;
  std::int64_t ldb = 0;
  Value beta;
  const void* c = nullptr;
  std::int64_t ldc = 0;
};

void describe(Hemm& g, Call& call) noexcept {
  call.routine = &hemm_routines[g.type];
  call.at = {g.a, g.b, g.c};
  const std::int64_t ka = (g.side == 'L' ? g.m : g.n);
  if (g.refused != Verdict::on_device ||
      !(one_of(g.side, "LR")) ||
      !(one_of(g.uplo, "UL")) ||
      !(g.m >= 0) ||
      !(g.n >= 0) ||
      g.lda < max_of(1, ka) ||
      g.ldb < max_of(1, g.m) ||
      g.ldc < max_of(1, g.m)) {
    return refuse(call, Verdict::wrong_arguments);
  }
  if (((g.m == 0 || g.n == 0) || g.alpha == 0)) return refuse(call, Verdict::nothing_to_compute);
  if (g.passes) return refuse(call, Verdict::no_routine);
  if (!all_fit({g.m, g.n, g.lda, g.ldb, g.ldc})) return refuse(call, Verdict::too_large);
  call.operations = (is_complex[g.type] ? 4.0 : 1.0) * ((((2 * as_double(g.m)) * as_double(g.n)) * as_double(ka)));
  add(call, triangle(g.uplo, matrix(g.a, ka, ka, g.lda, bytes_of_scalar[g.type], Access::read)));
  add(call, matrix(g.b, g.m, g.n, g.ldb, bytes_of_scalar[g.type], Access::read));
  add(call, matrix(g.c, g.m, g.n, g.ldc, bytes_of_scalar[g.type], g.beta == 0 ? Access::overwrite : Access::read_write));
  call.cut = {{g.side == 'R' ? as_size(g.m) : 0, g.side == 'L' ? as_size(g.n) : 0, 0}, {stored(Size::whole, Size::whole, false),
    stored(Size::rows, Size::columns, false), stored(Size::rows, Size::columns, false)}};
  check_addresses(call);
}

void hemm_on_gpu(void* arguments, const runtime::Stream& stream, const void* const* at) {
  auto& g = *static_cast<Hemm*>(arguments);
  static linalg::CublasRoutine routines[] = {linalg::CublasRoutine(""), linalg::CublasRoutine(""), linalg::CublasRoutine("cublasChemm_v2"), linalg::CublasRoutine("cublasZhemm_v2")};
  routines[g.type](stream, code_of(g.side), code_of(g.uplo), as_int(g.m), as_int(g.n), g.alpha.at(), at[0], as_int(g.lda), at[1], as_int(g.ldb),
    g.beta.at(), at[2], as_int(g.ldc));
  g.on_gpu = true;
}

void become(Hemm& g, const Piece& piece) noexcept {
  if (g.side == 'L') g.n = piece.size(Size::columns);
  if (g.side == 'R') g.m = piece.size(Size::rows);
  if (piece.leading[0] != 0) g.lda = piece.leading[0];
  if (piece.leading[1] != 0) g.ldb = piece.leading[1];
  if (piece.leading[2] != 0) g.ldc = piece.leading[2];
}

template <class P, class Int>
void wrap_zhemm_(AnyFunction host, const char* side, const char* uplo, const Int* m, const Int* n, const typename P::scalar* alpha,
    const typename P::scalar* a, const Int* lda, const typename P::scalar* b, const Int* ldb, const typename P::scalar* beta,
    typename P::scalar* c, const Int* ldc) {
  using Host = void(const char*, const char*, const Int*, const Int*, const typename P::scalar*, const typename P::scalar*, const Int*,
    const typename P::scalar*, const Int*, const typename P::scalar*, typename P::scalar*, const Int*, std::size_t, std::size_t);
  auto* const routine = reinterpret_cast<Host*>(host);
  if (is_within_call()) return routine(side, uplo, m, n, alpha, a, lda, b, ldb, beta, c, ldc, 1, 1);
  if (any_null(side, uplo, m, n, alpha, lda, ldb, beta, ldc)) {
    const PassedThrough within(hemm_routines[P::type], Verdict::nothing_to_compute);
    return routine(side, uplo, m, n, alpha, a, lda, b, ldb, beta, c, ldc, 1, 1);
  }
  const char side_copy = *side;
  const char uplo_copy = *uplo;
  Int m_copy = *m;
  Int n_copy = *n;
  const typename P::scalar alpha_copy = coefficient<typename P::scalar>(alpha);
  Int lda_copy = *lda;
  Int ldb_copy = *ldb;
  const typename P::scalar beta_copy = coefficient<typename P::scalar>(beta);
  Int ldc_copy = *ldc;
  Hemm g;
  g.type = P::type;
  g.side = upper(side_copy);
  g.uplo = upper(uplo_copy);
  g.m = m_copy;
  g.n = n_copy;
  g.alpha = Value(alpha_copy);
  g.a = a;
  g.lda = lda_copy;
  g.b = b;
  g.ldb = ldb_copy;
  g.beta = Value(beta_copy);
  g.c = c;
  g.ldc = ldc_copy;
  const auto on_host = [&](const void* const* at) {
    routine(&side_copy, &uplo_copy, &m_copy, &n_copy, handed<const typename P::scalar*>(alpha_copy), place<const typename P::scalar>(at[0]),
        &lda_copy, place<const typename P::scalar>(at[1]), &ldb_copy, handed<const typename P::scalar*>(beta_copy),
        place<typename P::scalar>(at[2]), &ldc_copy, 1, 1);
    g.on_gpu = false;
  };
  std::optional<Hemm> whole;
  const auto take = [&](const Piece* piece) {
    if (!whole) whole = g;
    g = *whole;
    if (piece != nullptr) become(g, *piece);
    Hemm part = g;
    m_copy = static_cast<Int>(part.m);
    n_copy = static_cast<Int>(part.n);
    lda_copy = static_cast<Int>(part.lda);
    ldb_copy = static_cast<Int>(part.ldb);
    ldc_copy = static_cast<Int>(part.ldc);
  };
  Call call;
  describe(g, call);
  carry_out(call, Wrapped(g, Emulation::by_host, &hemm_on_gpu, on_host, take));
}

template <class P, class Int>
void wrap_cblas_zhemm(AnyFunction host, int order, int side, int uplo, Int m, Int n, typename P::value alpha, const typename P::scalar* a, Int lda,
    const typename P::scalar* b, Int ldb, typename P::value beta, typename P::scalar* c, Int ldc) {
  using Host = void(int, int, int, Int, Int, typename P::value, const typename P::scalar*, Int, const typename P::scalar*, Int, typename P::value,
    typename P::scalar*, Int);
  auto* const routine = reinterpret_cast<Host*>(host);
  if (is_within_call()) return routine(order, side, uplo, m, n, alpha, a, lda, b, ldb, beta, c, ldc);
  if (any_null(alpha, beta)) {
    const PassedThrough within(hemm_routines[P::type], Verdict::nothing_to_compute);
    return routine(order, side, uplo, m, n, alpha, a, lda, b, ldb, beta, c, ldc);
  }
  const typename P::scalar alpha_copy = coefficient<typename P::scalar>(alpha);
  const typename P::scalar beta_copy = coefficient<typename P::scalar>(beta);
  Hemm g;
  g.type = P::type;
  g.side = letter_of_CBLAS_SIDE(side);
  g.uplo = letter_of_CBLAS_UPLO(uplo);
  g.m = m;
  g.n = n;
  g.alpha = Value(alpha_copy);
  g.a = a;
  g.lda = lda;
  g.b = b;
  g.ldb = ldb;
  g.beta = Value(beta_copy);
  g.c = c;
  g.ldc = ldc;
  if (!((order == 101 || order == 102))) g.refused = Verdict::wrong_arguments;
  if (order == 101) {
    g.side = flipped(g.side, 'L', 'R');
    g.uplo = flipped(g.uplo, 'U', 'L');
    std::swap(g.m, g.n);
  }
  const auto on_host = [&](const void* const* at) {
    routine(order, side, uplo, m, n, handed<typename P::value>(alpha_copy), place<const typename P::scalar>(at[0]), lda,
        place<const typename P::scalar>(at[1]), ldb, handed<typename P::value>(beta_copy), place<typename P::scalar>(at[2]), ldc);
    g.on_gpu = false;
  };
  std::optional<Hemm> whole;
  const auto take = [&](const Piece* piece) {
    if (!whole) whole = g;
    g = *whole;
    if (piece != nullptr) become(g, *piece);
    Hemm part = g;
    if (order == 101) std::swap(part.m, part.n);
    m = static_cast<Int>(part.m);
    n = static_cast<Int>(part.n);
    lda = static_cast<Int>(part.lda);
    ldb = static_cast<Int>(part.ldb);
    ldc = static_cast<Int>(part.ldc);
  };
  Call call;
  describe(g, call);
  carry_out(call, Wrapped(g, Emulation::by_host, &hemm_on_gpu, on_host, take));
}

// ---- syrk: line 569

Routine syrk_routines[] = {Routine("BLAS ssyrk"), Routine("BLAS dsyrk"), Routine("BLAS csyrk"), Routine("BLAS zsyrk")};

struct Syrk : Arguments {
  char uplo = 0;
  char trans = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  Value alpha;
  const void* a = nullptr;
  std::int64_t lda = 0;
  Value beta;
  const void* c = nullptr;
  std::int64_t ldc = 0;
};

void describe(Syrk& g, Call& call) noexcept {
  call.routine = &syrk_routines[g.type];
  call.at = {g.a, g.c};
  if (g.refused != Verdict::on_device ||
      !(one_of(g.uplo, "UL")) ||
      !((one_of(g.trans, "NT") || (g.trans == 'C' && !(is_complex[g.type])))) ||
      !(g.n >= 0) ||
      !(g.k >= 0) ||
      g.lda < max_of(1, (g.trans != 'N' ? g.k : g.n)) ||
      g.ldc < max_of(1, g.n)) {
    return refuse(call, Verdict::wrong_arguments);
  }
  if (((g.n == 0 || g.k == 0) || g.alpha == 0)) return refuse(call, Verdict::nothing_to_compute);
  if (g.passes) return refuse(call, Verdict::no_routine);
  if (!all_fit({g.n, g.k, g.lda, g.ldc})) return refuse(call, Verdict::too_large);
  call.operations = (is_complex[g.type] ? 4.0 : 1.0) * (((as_double(g.n) * as_double(g.n)) * as_double(g.k)));
  add(call, matrix(g.a, (g.trans != 'N' ? g.k : g.n), (g.trans != 'N' ? g.n : g.k), g.lda, bytes_of_scalar[g.type], Access::read));
  add(call, triangle(g.uplo, matrix(g.c, g.n, g.n, g.ldc, bytes_of_scalar[g.type], Access::read_write)));
  call.cut = {{0, 0, as_size(g.k)}, {stored(Size::whole, Size::terms, g.trans != 'N'), stored(Size::whole, Size::whole, false)}};
  check_addresses(call);
}

void syrk_on_gpu(void* arguments, const runtime::Stream& stream, const void* const* at) {
  auto& g = *static_cast<Syrk*>(arguments);
  static linalg::CublasRoutine routines[] = {linalg::CublasRoutine("cublasSsyrk_v2"), linalg::CublasRoutine("cublasDsyrk_v2"), linalg::CublasRoutine("cublasCsyrk_v2"), linalg::CublasRoutine("cublasZsyrk_v2")};
  routines[g.type](stream, code_of(g.uplo), code_of(g.trans), as_int(g.n), as_int(g.k), g.alpha.at(), at[0], as_int(g.lda), g.beta.at(), at[1],
    as_int(g.ldc));
  g.on_gpu = true;
}

void become(Syrk& g, const Piece& piece) noexcept {
  g.k = piece.size(Size::terms);
  if (piece.adds) g.beta.become_one();
  if (piece.leading[0] != 0) g.lda = piece.leading[0];
  if (piece.leading[1] != 0) g.ldc = piece.leading[1];
}

template <class P, class Int>
void wrap_dsyrk_(AnyFunction host, const char* uplo, const char* trans, const Int* n, const Int* k, const typename P::scalar* alpha,
    const typename P::scalar* a, const Int* lda, const typename P::scalar* beta, typename P::scalar* c, const Int* ldc) {
  using Host = void(const char*, const char*, const Int*, const Int*, const typename P::scalar*, const typename P::scalar*, const Int*,
    const typename P::scalar*, typename P::scalar*, const Int*, std::size_t, std::size_t);
  auto* const routine = reinterpret_cast<Host*>(host);
  if (is_within_call()) return routine(uplo, trans, n, k, alpha, a, lda, beta, c, ldc, 1, 1);
  if (any_null(uplo, trans, n, k, alpha, lda, beta, ldc)) {
    const PassedThrough within(syrk_routines[P::type], Verdict::nothing_to_compute);
    return routine(uplo, trans, n, k, alpha, a, lda, beta, c, ldc, 1, 1);
  }
  const char uplo_copy = *uplo;
  const char trans_copy = *trans;
  const Int n_copy = *n;
  Int k_copy = *k;
  const typename P::scalar alpha_copy = coefficient<typename P::scalar>(alpha);
  Int lda_copy = *lda;
  typename P::scalar beta_copy = coefficient<typename P::scalar>(beta);
  Int ldc_copy = *ldc;
  Syrk g;
  g.type = P::type;
  g.uplo = upper(uplo_copy);
  g.trans = upper(trans_copy);
  g.n = n_copy;
  g.k = k_copy;
  g.alpha = Value(alpha_copy);
  g.a = a;
  g.lda = lda_copy;
  g.beta = Value(beta_copy);
  g.c = c;
  g.ldc = ldc_copy;
  const auto on_host = [&](const void* const* at) {
    routine(&uplo_copy, &trans_copy, &n_copy, &k_copy, handed<const typename P::scalar*>(alpha_copy), place<const typename P::scalar>(at[0]),
        &lda_copy, handed<const typename P::scalar*>(beta_copy), place<typename P::scalar>(at[1]), &ldc_copy, 1, 1);
    g.on_gpu = false;
  };
  std::optional<Syrk> whole;
  const auto take = [&](const Piece* piece) {
    if (!whole) whole = g;
    g = *whole;
    if (piece != nullptr) become(g, *piece);
    Syrk part = g;
    k_copy = static_cast<Int>(part.k);
    lda_copy = static_cast<Int>(part.lda);
    beta_copy = part.beta.template as<typename P::scalar>();
    ldc_copy = static_cast<Int>(part.ldc);
  };
  Call call;
  describe(g, call);
  carry_out(call, Wrapped(g, Emulation::by_host, &syrk_on_gpu, on_host, take));
}

template <class P, class Int>
void wrap_cblas_dsyrk(AnyFunction host, int order, int uplo, int trans, Int n, Int k, typename P::value alpha, const typename P::scalar* a,
    Int lda, typename P::value beta, typename P::scalar* c, Int ldc) {
  using Host = void(int, int, int, Int, Int, typename P::value, const typename P::scalar*, Int, typename P::value, typename P::scalar*, Int);
  auto* const routine = reinterpret_cast<Host*>(host);
  if (is_within_call()) return routine(order, uplo, trans, n, k, alpha, a, lda, beta, c, ldc);
  if (any_null(alpha, beta)) {
    const PassedThrough within(syrk_routines[P::type], Verdict::nothing_to_compute);
    return routine(order, uplo, trans, n, k, alpha, a, lda, beta, c, ldc);
  }
  const typename P::scalar alpha_copy = coefficient<typename P::scalar>(alpha);
  typename P::scalar beta_copy = coefficient<typename P::scalar>(beta);
  Syrk g;
  g.type = P::type;
  g.uplo = letter_of_CBLAS_UPLO(uplo);
  g.trans = letter_of_CBLAS_TRANSPOSE(trans);
  g.n = n;
  g.k = k;
  g.alpha = Value(alpha_copy);
  g.a = a;
  g.lda = lda;
  g.beta = Value(beta_copy);
  g.c = c;
  g.ldc = ldc;
  if (!((order == 101 || order == 102))) g.refused = Verdict::wrong_arguments;
  if (!((one_of(g.trans, "NT") || !(is_complex[g.type])))) g.refused = Verdict::wrong_arguments;
  if ((order == 101 && g.trans == 'C')) g.trans = flipped(g.trans, 'C', 'T');
  if (order == 101) {
    g.uplo = flipped(g.uplo, 'U', 'L');
    g.trans = flipped(g.trans, 'N', 'T');
  }
  const auto on_host = [&](const void* const* at) {
    routine(order, uplo, trans, n, k, handed<typename P::value>(alpha_copy), place<const typename P::scalar>(at[0]), lda,
        handed<typename P::value>(beta_copy), place<typename P::scalar>(at[1]), ldc);
    g.on_gpu = false;
  };
  std::optional<Syrk> whole;
  const auto take = [&](const Piece* piece) {
    if (!whole) whole = g;
    g = *whole;
    if (piece != nullptr) become(g, *piece);
    Syrk part = g;
    k = static_cast<Int>(part.k);
    lda = static_cast<Int>(part.lda);
    beta_copy = part.beta.template as<typename P::scalar>();
    ldc = static_cast<Int>(part.ldc);
  };
  Call call;
  describe(g, call);
  carry_out(call, Wrapped(g, Emulation::by_host, &syrk_on_gpu, on_host, take));
}

// ---- herk: line 586

Routine herk_routines[] = {Routine(""), Routine(""), Routine("BLAS cherk"), Routine("BLAS zherk")};

struct Herk : Arguments {
  char uplo = 0;
  char trans = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  Value alpha;
  const void* a = nullptr;
  std::int64_t lda = 0;
  Value beta;
  const void* c = nullptr;
  std::int64_t ldc = 0;
};

void describe(Herk& g, Call& call) noexcept {
  call.routine = &herk_routines[g.type];
  call.at = {g.a, g.c};
  if (g.refused != Verdict::on_device ||
      !(one_of(g.uplo, "UL")) ||
      !(one_of(g.trans, "NC")) ||
      !(g.n >= 0) ||
      !(g.k >= 0) ||
      g.lda < max_of(1, (g.trans != 'N' ? g.k : g.n)) ||
      g.ldc < max_of(1, g.n)) {
    return refuse(call, Verdict::wrong_arguments);
  }
  if (((g.n == 0 || g.k == 0) || g.alpha == 0)) return refuse(call, Verdict::nothing_to_compute);
  if (g.passes) return refuse(call, Verdict::no_routine);
  if (!all_fit({g.n, g.k, g.lda, g.ldc})) return refuse(call, Verdict::too_large);
  call.operations = (is_complex[g.type] ? 4.0 : 1.0) * (((as_double(g.n) * as_double(g.n)) * as_double(g.k)));
  add(call, matrix(g.a, (g.trans != 'N' ? g.k : g.n), (g.trans != 'N' ? g.n : g.k), g.lda, bytes_of_scalar[g.type], Access::read));
  add(call, triangle(g.uplo, matrix(g.c, g.n, g.n, g.ldc, bytes_of_scalar[g.type], Access::read_write)));
  call.cut = {{0, 0, as_size(g.k)}, {stored(Size::whole, Size::terms, g.trans != 'N'), stored(Size::whole, Size::whole, false)}};
  check_addresses(call);
}

void herk_on_gpu(void* arguments, const runtime::Stream& stream, const void* const* at) {
  auto& g = *static_cast<Herk*>(arguments);
  static linalg::CublasRoutine routines[] = {linalg::CublasRoutine(""), linalg::CublasRoutine(""), linalg::CublasRoutine("cublasCherk_v2"), linalg::CublasRoutine("cublasZherk_v2")};
  routines[g.type](stream, code_of(g.uplo), code_of(g.trans), as_int(g.n), as_int(g.k), g.alpha.at(), at[0], as_int(g.lda), g.beta.at(), at[1],
    as_int(g.ldc));
  g.on_gpu = true;
}

void become(Herk& g, const Piece& piece) noexcept {
  g.k = piece.size(Size::terms);
  if (piece.adds) g.beta.become_one();
  if (piece.leading[0] != 0) g.lda = piece.leading[0];
  if (piece.leading[1] != 0) g.ldc = piece.leading[1];
}

template <class P, class Int>
void wrap_zherk_(AnyFunction host, const char* uplo, const char* trans, const Int* n, const Int* k, const typename P::real* alpha,
    const typename P::scalar* a, const Int* lda, const typename P::real* beta, typename P::scalar* c, const Int* ldc) {
  using Host = void(const char*, const char*, const Int*, const Int*, const typename P::real*, const typename P::scalar*, const Int*,
    const typename P::real*, typename P::scalar*, const Int*, std::size_t, std::size_t);
  auto* const routine = reinterpret_cast<Host*>(host);
  if (is_within_call()) return routine(uplo, trans, n, k, alpha, a, lda, beta, c, ldc, 1, 1);
  if (any_null(uplo, trans, n, k, alpha, lda, beta, ldc)) {
    const PassedThrough within(herk_routines[P::type], Verdict::nothing_to_compute);
    return routine(uplo, trans, n, k, alpha, a, lda, beta, c, ldc, 1, 1);
  }
  const char uplo_copy = *uplo;
  const char trans_copy = *trans;
  const Int n_copy = *n;
  Int k_copy = *k;
  const typename P::real alpha_copy = coefficient<typename P::real>(alpha);
  Int lda_copy = *lda;
  typename P::real beta_copy = coefficient<typename P::real>(beta);
  Int ldc_copy = *ldc;
  Herk g;
  g.type = P::type;
  g.uplo = upper(uplo_copy);
  g.trans = upper(trans_copy);
  g.n = n_copy;
  g.k = k_copy;
  g.alpha = Value(alpha_copy);
  g.a = a;
  g.lda = lda_copy;
  g.beta = Value(beta_copy);
  g.c = c;
  g.ldc = ldc_copy;
  const auto on_host = [&](const void* const* at) {
    routine(&uplo_copy, &trans_copy, &n_copy, &k_copy, handed<const typename P::real*>(alpha_copy), place<const typename P::scalar>(at[0]),
        &lda_copy, handed<const typename P::real*>(beta_copy), place<typename P::scalar>(at[1]), &ldc_copy, 1, 1);
    g.on_gpu = false;
  };
  std::optional<Herk> whole;
  const auto take = [&](const Piece* piece) {
    if (!whole) whole = g;
    g = *whole;
    if (piece != nullptr) become(g, *piece);
    Herk part = g;
    k_copy = static_cast<Int>(part.k);
    lda_copy = static_cast<Int>(part.lda);
    beta_copy = part.beta.template as<typename P::real>();
    ldc_copy = static_cast<Int>(part.ldc);
  };
  Call call;
  describe(g, call);
  carry_out(call, Wrapped(g, Emulation::by_host, &herk_on_gpu, on_host, take));
}

template <class P, class Int>
void wrap_cblas_zherk(AnyFunction host, int order, int uplo, int trans, Int n, Int k, typename P::real alpha, const typename P::scalar* a, Int lda,
    typename P::real beta, typename P::scalar* c, Int ldc) {
  using Host = void(int, int, int, Int, Int, typename P::real, const typename P::scalar*, Int, typename P::real, typename P::scalar*, Int);
  auto* const routine = reinterpret_cast<Host*>(host);
  if (is_within_call()) return routine(order, uplo, trans, n, k, alpha, a, lda, beta, c, ldc);
  if (any_null(alpha, beta)) {
    const PassedThrough within(herk_routines[P::type], Verdict::nothing_to_compute);
    return routine(order, uplo, trans, n, k, alpha, a, lda, beta, c, ldc);
  }
  const typename P::real alpha_copy = coefficient<typename P::real>(alpha);
  typename P::real beta_copy = coefficient<typename P::real>(beta);
  Herk g;
  g.type = P::type;
  g.uplo = letter_of_CBLAS_UPLO(uplo);
  g.trans = letter_of_CBLAS_TRANSPOSE(trans);
  g.n = n;
  g.k = k;
  g.alpha = Value(alpha_copy);
  g.a = a;
  g.lda = lda;
  g.beta = Value(beta_copy);
  g.c = c;
  g.ldc = ldc;
  if (!((order == 101 || order == 102))) g.refused = Verdict::wrong_arguments;
  if (order == 101) {
    g.uplo = flipped(g.uplo, 'U', 'L');
    g.trans = flipped(g.trans, 'N', 'C');
  }
  const auto on_host = [&](const void* const* at) {
    routine(order, uplo, trans, n, k, handed<typename P::real>(alpha_copy), place<const typename P::scalar>(at[0]), lda,
        handed<typename P::real>(beta_copy), place<typename P::scalar>(at[1]), ldc);
    g.on_gpu = false;
  };
  std::optional<Herk> whole;
  const auto take = [&](const Piece* piece) {
    if (!whole) whole = g;
    g = *whole;
    if (piece != nullptr) become(g, *piece);
    Herk part = g;
    k = static_cast<Int>(part.k);
    lda = static_cast<Int>(part.lda);
    beta_copy = part.beta.template as<typename P::real>();
    ldc = static_cast<Int>(part.ldc);
  };
  Call call;
  describe(g, call);
  carry_out(call, Wrapped(g, Emulation::by_host, &herk_on_gpu, on_host, take));
}

// ---- syr2k: line 602

Routine syr2k_routines[] = {Routine("BLAS ssyr2k"), Routine("BLAS dsyr2k"), Routine("BLAS csyr2k"), Routine("BLAS zsyr2k")};

struct Syr2k : Arguments {
  char uplo = 0;
  char trans = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  Value alpha;
  const void* a = nullptr;
  std::int64_t lda = 0;
  const void* b = nullptr;
  std::int64_t ldb = 0;
  Value beta;
  const void* c = nullptr;
  std::int64_t ldc = 0;
};

void describe(Syr2k& g, Call& call) noexcept {
  call.routine = &syr2k_routines[g.type];
  call.at = {g.a, g.b, g.c};
  if (g.refused != Verdict::on_device ||
      !(one_of(g.uplo, "UL")) ||
      !((one_of(g.trans, "NT") || (g.trans == 'C' && !(is_complex[g.type])))) ||
      !(g.n >= 0) ||
      !(g.k >= 0) ||
      g.lda < max_of(1, (g.trans != 'N' ? g.k : g.n)) ||
      g.ldb < max_of(1, (g.trans != 'N' ? g.k : g.n)) ||
      g.ldc < max_of(1, g.n)) {
    return refuse(call, Verdict::wrong_arguments);
  }
  if (((g.n == 0 || g.k == 0) || g.alpha == 0)) return refuse(call, Verdict::nothing_to_compute);
  if (g.passes) return refuse(call, Verdict::no_routine);
  if (!all_fit({g.n, g.k, g.lda, g.ldb, g.ldc})) return refuse(call, Verdict::too_large);
  call.operations = (is_complex[g.type] ? 4.0 : 1.0) * ((((2 * as_double(g.n)) * as_double(g.n)) * as_double(g.k)));
  add(call, matrix(g.a, (g.trans != 'N' ? g.k : g.n), (g.trans != 'N' ? g.n : g.k), g.lda, bytes_of_scalar[g.type], Access::read));
  add(call, matrix(g.b, (g.trans != 'N' ? g.k : g.n), (g.trans != 'N' ? g.n : g.k), g.ldb, bytes_of_scalar[g.type], Access::read));
  add(call, triangle(g.uplo, matrix(g.c, g.n, g.n, g.ldc, bytes_of_scalar[g.type], Access::read_write)));
  call.cut = {{0, 0, as_size(g.k)}, {stored(Size::whole, Size::terms, g.trans != 'N'), stored(Size::whole, Size::terms, g.trans != 'N'),
    stored(Size::whole, Size::whole, false)}};
  check_addresses(call);
}

void syr2k_on_gpu(void* arguments, const runtime::Stream& stream, const void* const* at) {
  auto& g = *static_cast<Syr2k*>(arguments);
  static linalg::CublasRoutine routines[] = {linalg::CublasRoutine("cublasSsyr2k_v2"), linalg::CublasRoutine("cublasDsyr2k_v2"), linalg::CublasRoutine("cublasCsyr2k_v2"), linalg::CublasRoutine("cublasZsyr2k_v2")};
  routines[g.type](stream, code_of(g.uplo), code_of(g.trans), as_int(g.n), as_int(g.k), g.alpha.at(), at[0], as_int(g.lda), at[1], as_int(g.ldb),
    g.beta.at(), at[2], as_int(g.ldc));
  g.on_gpu = true;
}

void become(Syr2k& g, const Piece& piece) noexcept {
  g.k = piece.size(Size::terms);
  if (piece.adds) g.beta.become_one();
  if (piece.leading[0] != 0) g.lda = piece.leading[0];
  if (piece.leading[1] != 0) g.ldb = piece.leading[1];
  if (piece.leading[2] != 0) g.ldc = piece.leading[2];
}

template <class P, class Int>
void wrap_dsyr2k_(AnyFunction host, const char* uplo, const char* trans, const Int* n, const Int* k, const typename P::scalar* alpha,
    const typename P::scalar* a, const Int* lda, const typename P::scalar* b, const Int* ldb, const typename P::scalar* beta,
    typename P::scalar* c, const Int* ldc) {
  using Host = void(const char*, const char*, const Int*, const Int*, const typename P::scalar*, const typename P::scalar*, const Int*,
    const typename P::scalar*, const Int*, const typename P::scalar*, typename P::scalar*, const Int*, std::size_t, std::size_t);
  auto* const routine = reinterpret_cast<Host*>(host);
  if (is_within_call()) return routine(uplo, trans, n, k, alpha, a, lda, b, ldb, beta, c, ldc, 1, 1);
  if (any_null(uplo, trans, n, k, alpha, lda, ldb, beta, ldc)) {
    const PassedThrough within(syr2k_routines[P::type], Verdict::nothing_to_compute);
    return routine(uplo, trans, n, k, alpha, a, lda, b, ldb, beta, c, ldc, 1, 1);
  }
  const char uplo_copy = *uplo;
  const char trans_copy = *trans;
  const Int n_copy = *n;
  Int k_copy = *k;
  const typename P::scalar alpha_copy = coefficient<typename P::scalar>(alpha);
  Int lda_copy = *lda;
  Int ldb_copy = *ldb;
  typename P::scalar beta_copy = coefficient<typename P::scalar>(beta);
  Int ldc_copy = *ldc;
  Syr2k g;
  g.type = P::type;
  g.uplo = upper(uplo_copy);
  g.trans = upper(trans_copy);
  g.n = n_copy;
  g.k = k_copy;
  g.alpha = Value(alpha_copy);
  g.a = a;
  g.lda = lda_copy;
  g.b = b;
  g.ldb = ldb_copy;
  g.beta = Value(beta_copy);
  g.c = c;
  g.ldc = ldc_copy;
  const auto on_host = [&](const void* const* at) {
    routine(&uplo_copy, &trans_copy, &n_copy, &k_copy, handed<const typename P::scalar*>(alpha_copy), place<const typename P::scalar>(at[0]),
        &lda_copy, place<const typename P::scalar>(at[1]), &ldb_copy, handed<const typename P::scalar*>(beta_copy),
        place<typename P::scalar>(at[2]), &ldc_copy, 1, 1);
    g.on_gpu = false;
  };
  std::optional<Syr2k> whole;
  const auto take = [&](const Piece* piece) {
    if (!whole) whole = g;
    g = *whole;
    if (piece != nullptr) become(g, *piece);
    Syr2k part = g;
    k_copy = static_cast<Int>(part.k);
    lda_copy = static_cast<Int>(part.lda);
    ldb_copy = static_cast<Int>(part.ldb);
    beta_copy = part.beta.template as<typename P::scalar>();
    ldc_copy = static_cast<Int>(part.ldc);
  };
  Call call;
  describe(g, call);
  carry_out(call, Wrapped(g, Emulation::by_host, &syr2k_on_gpu, on_host, take));
}

template <class P, class Int>
void wrap_cblas_dsyr2k(AnyFunction host, int order, int uplo, int trans, Int n, Int k, typename P::value alpha, const typename P::scalar* a,
    Int lda, const typename P::scalar* b, Int ldb, typename P::value beta, typename P::scalar* c, Int ldc) {
  using Host = void(int, int, int, Int, Int, typename P::value, const typename P::scalar*, Int, const typename P::scalar*, Int, typename P::value,
    typename P::scalar*, Int);
  auto* const routine = reinterpret_cast<Host*>(host);
  if (is_within_call()) return routine(order, uplo, trans, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
  if (any_null(alpha, beta)) {
    const PassedThrough within(syr2k_routines[P::type], Verdict::nothing_to_compute);
    return routine(order, uplo, trans, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
  }
  const typename P::scalar alpha_copy = coefficient<typename P::scalar>(alpha);
  typename P::scalar beta_copy = coefficient<typename P::scalar>(beta);
  Syr2k g;
  g.type = P::type;
  g.uplo = letter_of_CBLAS_UPLO(uplo);
  g.trans = letter_of_CBLAS_TRANSPOSE(trans);
  g.n = n;
  g.k = k;
  g.alpha = Value(alpha_copy);
  g.a = a;
  g.lda = lda;
  g.b = b;
  g.ldb = ldb;
  g.beta = Value(beta_copy);
  g.c = c;
  g.ldc = ldc;
  if (!((order == 101 || order == 102))) g.refused = Verdict::wrong_arguments;
  if (!((one_of(g.trans, "NT") || !(is_complex[g.type])))) g.refused = Verdict::wrong_arguments;
  if ((order == 101 && g.trans == 'C')) g.trans = flipped(g.trans, 'C', 'T');
  if (order == 101) {
    g.uplo = flipped(g.uplo, 'U', 'L');
    g.trans = flipped(g.trans, 'N', 'T');
  }
  const auto on_host = [&](const void* const* at) {
    routine(order, uplo, trans, n, k, handed<typename P::value>(alpha_copy), place<const typename P::scalar>(at[0]), lda,
        place<const typename P::scalar>(at[1]), ldb, handed<typename P::value>(beta_copy), place<typename P::scalar>(at[2]), ldc);
    g.on_gpu = false;
  };
  std::optional<Syr2k> whole;
  const auto take = [&](const Piece* piece) {
    if (!whole) whole = g;
    g = *whole;
    if (piece != nullptr) become(g, *piece);
    Syr2k part = g;
    k = static_cast<Int>(part.k);
    lda = static_cast<Int>(part.lda);
    ldb = static_cast<Int>(part.ldb);
    beta_copy = part.beta.template as<typename P::scalar>();
    ldc = static_cast<Int>(part.ldc);
  };
  Call call;
  describe(g, call);
  carry_out(call, Wrapped(g, Emulation::by_host, &syr2k_on_gpu, on_host, take));
}

// ---- her2k: line 620

Routine her2k_routines[] = {Routine(""), Routine(""), Routine("BLAS cher2k"), Routine("BLAS zher2k")};

struct Her2k : Arguments {
  char uplo = 0;
  char trans = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  Value alpha;
  const void* a = nullptr;
  std::int64_t lda = 0;
  const void* b = nullptr;
  std::int64_t ldb = 0;
  Value beta;
  const void* c = nullptr;
  std::int64_t ldc = 0;
};

void describe(Her2k& g, Call& call) noexcept {
  call.routine = &her2k_routines[g.type];
  call.at = {g.a, g.b, g.c};
  if (g.refused != Verdict::on_device ||
      !(one_of(g.uplo, "UL")) ||
      !(one_of(g.trans, "NC")) ||
      !(g.n >= 0) ||
      !(g.k >= 0) ||
      g.lda < max_of(1, (g.trans != 'N' ? g.k : g.n)) ||
      g.ldb < max_of(1, (g.trans != 'N' ? g.k : g.n)) ||
      g.ldc < max_of(1, g.n)) {
    return refuse(call, Verdict::wrong_arguments);
  }
  if (((g.n == 0 || g.k == 0) || g.alpha == 0)) return refuse(call, Verdict::nothing_to_compute);
  if (g.passes) return refuse(call, Verdict::no_routine);
  if (!all_fit({g.n, g.k, g.lda, g.ldb, g.ldc})) return refuse(call, Verdict::too_large);
  call.operations = (is_complex[g.type] ? 4.0 : 1.0) * ((((2 * as_double(g.n)) * as_double(g.n)) * as_double(g.k)));
  add(call, matrix(g.a, (g.trans != 'N' ? g.k : g.n), (g.trans != 'N' ? g.n : g.k), g.lda, bytes_of_scalar[g.type], Access::read));
  add(call, matrix(g.b, (g.trans != 'N' ? g.k : g.n), (g.trans != 'N' ? g.n : g.k), g.ldb, bytes_of_scalar[g.type], Access::read));
  add(call, triangle(g.uplo, matrix(g.c, g.n, g.n, g.ldc, bytes_of_scalar[g.type], Access::read_write)));
  call.cut = {{0, 0, as_size(g.k)}, {stored(Size::whole, Size::terms, g.trans != 'N'), stored(Size::whole, Size::terms, g.trans != 'N'),
    stored(Size::whole, Size::whole, false)}};
  check_addresses(call);
}

void her2k_on_gpu(void* arguments, const runtime::Stream& stream, const void* const* at) {
  auto& g = *static_cast<Her2k*>(arguments);
  static linalg::CublasRoutine routines[] = {linalg::CublasRoutine(""), linalg::CublasRoutine(""), linalg::CublasRoutine("cublasCher2k_v2"), linalg::CublasRoutine("cublasZher2k_v2")};
  routines[g.type](stream, code_of(g.uplo), code_of(g.trans), as_int(g.n), as_int(g.k), g.alpha.at(), at[0], as_int(g.lda), at[1], as_int(g.ldb),
    g.beta.at(), at[2], as_int(g.ldc));
  g.on_gpu = true;
}

void become(Her2k& g, const Piece& piece) noexcept {
  g.k = piece.size(Size::terms);
  if (piece.adds) g.beta.become_one();
  if (piece.leading[0] != 0) g.lda = piece.leading[0];
  if (piece.leading[1] != 0) g.ldb = piece.leading[1];
  if (piece.leading[2] != 0) g.ldc = piece.leading[2];
}

template <class P, class Int>
void wrap_zher2k_(AnyFunction host, const char* uplo, const char* trans, const Int* n, const Int* k, const typename P::scalar* alpha,
    const typename P::scalar* a, const Int* lda, const typename P::scalar* b, const Int* ldb, const typename P::real* beta, typename P::scalar* c,
    const Int* ldc) {
  using Host = void(const char*, const char*, const Int*, const Int*, const typename P::scalar*, const typename P::scalar*, const Int*,
    const typename P::scalar*, const Int*, const typename P::real*, typename P::scalar*, const Int*, std::size_t, std::size_t);
  auto* const routine = reinterpret_cast<Host*>(host);
  if (is_within_call()) return routine(uplo, trans, n, k, alpha, a, lda, b, ldb, beta, c, ldc, 1, 1);
  if (any_null(uplo, trans, n, k, alpha, lda, ldb, beta, ldc)) {
    const PassedThrough within(her2k_routines[P::type], Verdict::nothing_to_compute);
    return routine(uplo, trans, n, k, alpha, a, lda, b, ldb, beta, c, ldc, 1, 1);
  }
  const char uplo_copy = *uplo;
  const char trans_copy = *trans;
  const Int n_copy = *n;
  Int k_copy = *k;
  const typename P::scalar alpha_copy = coefficient<typename P::scalar>(alpha);
  Int lda_copy = *lda;
  Int ldb_copy = *ldb;
  typename P::real beta_copy = coefficient<typename P::real>(beta);
  Int ldc_copy = *ldc;
  Her2k g;
  g.type = P::type;
  g.uplo = upper(uplo_copy);
  g.trans = upper(trans_copy);
  g.n = n_copy;
  g.k = k_copy;
  g.alpha = Value(alpha_copy);
  g.a = a;
  g.lda = lda_copy;
  g.b = b;
  g.ldb = ldb_copy;
  g.beta = Value(beta_copy);
  g.c = c;
  g.ldc = ldc_copy;
  const auto on_host = [&](const void* const* at) {
    routine(&uplo_copy, &trans_copy, &n_copy, &k_copy, handed<const typename P::scalar*>(alpha_copy), place<const typename P::scalar>(at[0]),
        &lda_copy, place<const typename P::scalar>(at[1]), &ldb_copy, handed<const typename P::real*>(beta_copy), place<typename P::scalar>(at[2]),
        &ldc_copy, 1, 1);
    g.on_gpu = false;
  };
  std::optional<Her2k> whole;
  const auto take = [&](const Piece* piece) {
    if (!whole) whole = g;
    g = *whole;
    if (piece != nullptr) become(g, *piece);
    Her2k part = g;
    k_copy = static_cast<Int>(part.k);
    lda_copy = static_cast<Int>(part.lda);
    ldb_copy = static_cast<Int>(part.ldb);
    beta_copy = part.beta.template as<typename P::real>();
    ldc_copy = static_cast<Int>(part.ldc);
  };
  Call call;
  describe(g, call);
  carry_out(call, Wrapped(g, Emulation::by_host, &her2k_on_gpu, on_host, take));
}

template <class P, class Int>
void wrap_cblas_zher2k(AnyFunction host, int order, int uplo, int trans, Int n, Int k, typename P::value alpha, const typename P::scalar* a,
    Int lda, const typename P::scalar* b, Int ldb, typename P::real beta, typename P::scalar* c, Int ldc) {
  using Host = void(int, int, int, Int, Int, typename P::value, const typename P::scalar*, Int, const typename P::scalar*, Int, typename P::real,
    typename P::scalar*, Int);
  auto* const routine = reinterpret_cast<Host*>(host);
  if (is_within_call()) return routine(order, uplo, trans, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
  if (any_null(alpha, beta)) {
    const PassedThrough within(her2k_routines[P::type], Verdict::nothing_to_compute);
    return routine(order, uplo, trans, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
  }
  const typename P::scalar alpha_copy = coefficient<typename P::scalar>(alpha);
  typename P::real beta_copy = coefficient<typename P::real>(beta);
  Her2k g;
  g.type = P::type;
  g.uplo = letter_of_CBLAS_UPLO(uplo);
  g.trans = letter_of_CBLAS_TRANSPOSE(trans);
  g.n = n;
  g.k = k;
  g.alpha = Value(alpha_copy);
  g.a = a;
  g.lda = lda;
  g.b = b;
  g.ldb = ldb;
  g.beta = Value(beta_copy);
  g.c = c;
  g.ldc = ldc;
  if (!((order == 101 || order == 102))) g.refused = Verdict::wrong_arguments;
  if (order == 101) {
    g.uplo = flipped(g.uplo, 'U', 'L');
    g.trans = flipped(g.trans, 'N', 'C');
    g.alpha.conjugate();
  }
  const auto on_host = [&](const void* const* at) {
    routine(order, uplo, trans, n, k, handed<typename P::value>(alpha_copy), place<const typename P::scalar>(at[0]), lda,
        place<const typename P::scalar>(at[1]), ldb, handed<typename P::real>(beta_copy), place<typename P::scalar>(at[2]), ldc);
    g.on_gpu = false;
  };
  std::optional<Her2k> whole;
  const auto take = [&](const Piece* piece) {
    if (!whole) whole = g;
    g = *whole;
    if (piece != nullptr) become(g, *piece);
    Her2k part = g;
    k = static_cast<Int>(part.k);
    lda = static_cast<Int>(part.lda);
    ldb = static_cast<Int>(part.ldb);
    beta_copy = part.beta.template as<typename P::real>();
    ldc = static_cast<Int>(part.ldc);
  };
  Call call;
  describe(g, call);
  carry_out(call, Wrapped(g, Emulation::by_host, &her2k_on_gpu, on_host, take));
}

// ---- trmm: line 635

Routine trmm_routines[] = {Routine("BLAS strmm"), Routine("BLAS dtrmm"), Routine("BLAS ctrmm"), Routine("BLAS ztrmm")};

struct Trmm : Arguments {
  char side = 0;
  char uplo = 0;
  char transa = 0;
  char diag = 0;
  std::int64_t m = 0;
  std::int64_t n = 0;
  Value alpha;
  const void* a = nullptr;
  std::int64_t lda = 0;
  const void* b = nullptr;
  std::int64_t ldb = 0;
};

void describe(Trmm& g, Call& call) noexcept {
  call.routine = &trmm_routines[g.type];
  call.at = {g.a, g.b};
  const std::int64_t ka = (g.side == 'L' ? g.m : g.n);
  if (g.refused != Verdict::on_device ||
      !(one_of(g.side, "LR")) ||
      !(one_of(g.uplo, "UL")) ||
      !(one_of(g.transa, "NTC")) ||
      !(one_of(g.diag, "NU")) ||
      !(g.m >= 0) ||
      !(g.n >= 0) ||
      g.lda < max_of(1, ka) ||
      g.ldb < max_of(1, g.m)) {
    return refuse(call, Verdict::wrong_arguments);
  }
  if (((g.m == 0 || g.n == 0) || g.alpha == 0)) return refuse(call, Verdict::nothing_to_compute);
  if (g.passes) return refuse(call, Verdict::no_routine);
  if (!all_fit({g.m, g.n, g.lda, g.ldb})) return refuse(call, Verdict::too_large);
  call.operations = (is_complex[g.type] ? 4.0 : 1.0) * (((as_double(g.m) * as_double(g.n)) * as_double(ka)));
  add(call, triangle(g.uplo, matrix(g.a, ka, ka, g.lda, bytes_of_scalar[g.type], Access::read)));
  add(call, matrix(g.b, g.m, g.n, g.ldb, bytes_of_scalar[g.type], Access::read_write));
  call.cut = {{g.side == 'R' ? as_size(g.m) : 0, g.side == 'L' ? as_size(g.n) : 0, 0}, {stored(Size::whole, Size::whole, false),
    stored(Size::rows, Size::columns, false)}};
  check_addresses(call);
}

void trmm_on_gpu(void* arguments, const runtime::Stream& stream, const void* const* at) {
  auto& g = *static_cast<Trmm*>(arguments);
  static linalg::CublasRoutine routines[] = {linalg::CublasRoutine("cublasStrmm_v2"), linalg::CublasRoutine("cublasDtrmm_v2"), linalg::CublasRoutine("cublasCtrmm_v2"), linalg::CublasRoutine("cublasZtrmm_v2")};
  routines[g.type](stream, code_of(g.side), code_of(g.uplo), code_of(g.transa), code_of(g.diag), as_int(g.m), as_int(g.n), g.alpha.at(), at[0],
    as_int(g.lda), at[1], as_int(g.ldb), at[1], as_int(g.ldb));
  g.on_gpu = true;
}

void become(Trmm& g, const Piece& piece) noexcept {
  if (g.side == 'L') g.n = piece.size(Size::columns);
  if (g.side == 'R') g.m = piece.size(Size::rows);
  if (piece.leading[0] != 0) g.lda = piece.leading[0];
  if (piece.leading[1] != 0) g.ldb = piece.leading[1];
}

template <class P, class Int>
void wrap_dtrmm_(AnyFunction host, const char* side, const char* uplo, const char* transa, const char* diag, const Int* m, const Int* n,
    const typename P::scalar* alpha, const typename P::scalar* a, const Int* lda, typename P::scalar* b, const Int* ldb) {
  using Host = void(const char*, const char*, const char*, const char*, const Int*, const Int*, const typename P::scalar*,
    const typename P::scalar*, const Int*, typename P::scalar*, const Int*, std::size_t, std::size_t, std::size_t, std::size_t);
  auto* const routine = reinterpret_cast<Host*>(host);
  if (is_within_call()) return routine(side, uplo, transa, diag, m, n, alpha, a, lda, b, ldb, 1, 1, 1, 1);
  if (any_null(side, uplo, transa, diag, m, n, alpha, lda, ldb)) {
    const PassedThrough within(trmm_routines[P::type], Verdict::nothing_to_compute);
    return routine(side, uplo, transa, diag, m, n, alpha, a, lda, b, ldb, 1, 1, 1, 1);
  }
  const char side_copy = *side;
  const char uplo_copy = *uplo;
  const char transa_copy = *transa;
  const char diag_copy = *diag;
  Int m_copy = *m;
  Int n_copy = *n;
  const typename P::scalar alpha_copy = coefficient<typename P::scalar>(alpha);
  Int lda_copy = *lda;
  Int ldb_copy = *ldb;
  Trmm g;
  g.type = P::type;
  g.side = upper(side_copy);
  g.uplo = upper(uplo_copy);
  g.transa = upper(transa_copy);
  g.diag = upper(diag_copy);
  g.m = m_copy;
  g.n = n_copy;
  g.alpha = Value(alpha_copy);
  g.a = a;
  g.lda = lda_copy;
  g.b = b;
  g.ldb = ldb_copy;
  const auto on_host = [&](const void* const* at) {
    routine(&side_copy, &uplo_copy, &transa_copy, &diag_copy, &m_copy, &n_copy, handed<const typename P::scalar*>(alpha_copy),
        place<const typename P::scalar>(at[0]), &lda_copy, place<typename P::scalar>(at[1]), &ldb_copy, 1, 1, 1, 1);
    g.on_gpu = false;
  };
  std::optional<Trmm> whole;
  const auto take = [&](const Piece* piece) {
    if (!whole) whole = g;
    g = *whole;
    if (piece != nullptr) become(g, *piece);
    Trmm part = g;
    m_copy = static_cast<Int>(part.m);
    n_copy = static_cast<Int>(part.n);
    lda_copy = static_cast<Int>(part.lda);
    ldb_copy = static_cast<Int>(part.ldb);
  };
  Call call;
  describe(g, call);
  carry_out(call, Wrapped(g, Emulation::by_host, &trmm_on_gpu, on_host, take));
}

template <class P, class Int>
void wrap_cblas_dtrmm(AnyFunction host, int order, int side, int uplo, int transa, int diag, Int m, Int n, typename P::value alpha,
    const typename P::scalar* a, Int lda, typename P::scalar* b, Int ldb) {
  using Host = void(int, int, int, int, int, Int, Int, typename P::value, const typename P::scalar*, Int, typename P::scalar*, Int);
  auto* const routine = reinterpret_cast<Host*>(host);
  if (is_within_call()) return routine(order, side, uplo, transa, diag, m, n, alpha, a, lda, b, ldb);
  if (any_null(alpha)) {
    const PassedThrough within(trmm_routines[P::type], Verdict::nothing_to_compute);
    return routine(order, side, uplo, transa, diag, m, n, alpha, a, lda, b, ldb);
  }
  const typename P::scalar alpha_copy = coefficient<typename P::scalar>(alpha);
  Trmm g;
  g.type = P::type;
  g.side = letter_of_CBLAS_SIDE(side);
  g.uplo = letter_of_CBLAS_UPLO(uplo);
  g.transa = letter_of_CBLAS_TRANSPOSE(transa);
  g.diag = letter_of_CBLAS_DIAG(diag);
  g.m = m;
  g.n = n;
  g.alpha = Value(alpha_copy);
  g.a = a;
  g.lda = lda;
  g.b = b;
  g.ldb = ldb;
  if (!((order == 101 || order == 102))) g.refused = Verdict::wrong_arguments;
  if (order == 101) {
    g.side = flipped(g.side, 'L', 'R');
    g.uplo = flipped(g.uplo, 'U', 'L');
    std::swap(g.m, g.n);
  }
  const auto on_host = [&](const void* const* at) {
    routine(order, side, uplo, transa, diag, m, n, handed<typename P::value>(alpha_copy), place<const typename P::scalar>(at[0]), lda,
        place<typename P::scalar>(at[1]), ldb);
    g.on_gpu = false;
  };
  std::optional<Trmm> whole;
  const auto take = [&](const Piece* piece) {
    if (!whole) whole = g;
    g = *whole;
    if (piece != nullptr) become(g, *piece);
    Trmm part = g;
    if (order == 101) std::swap(part.m, part.n);
    m = static_cast<Int>(part.m);
    n = static_cast<Int>(part.n);
    lda = static_cast<Int>(part.lda);
    ldb = static_cast<Int>(part.ldb);
  };
  Call call;
  describe(g, call);
  carry_out(call, Wrapped(g, Emulation::by_host, &trmm_on_gpu, on_host, take));
}

// ---- trsm: line 650

Routine trsm_routines[] = {Routine("BLAS strsm"), Routine("BLAS dtrsm"), Routine("BLAS ctrsm"), Routine("BLAS ztrsm")};

struct Trsm : Arguments {
  char side = 0;
  char uplo = 0;
  char transa = 0;
  char diag = 0;
  std::int64_t m = 0;
  std::int64_t n = 0;
  Value alpha;
  const void* a = nullptr;
  std::int64_t lda = 0;
  const void* b = nullptr;
  std::int64_t ldb = 0;
};

void describe(Trsm& g, Call& call) noexcept {
  call.routine = &trsm_routines[g.type];
  call.at = {g.a, g.b};
  const std::int64_t ka = (g.side == 'L' ? g.m : g.n);
  if (g.refused != Verdict::on_device ||
      !(one_of(g.side, "LR")) ||
      !(one_of(g.uplo, "UL")) ||
      !(one_of(g.transa, "NTC")) ||
      !(one_of(g.diag, "NU")) ||
      !(g.m >= 0) ||
      !(g.n >= 0) ||
      g.lda < max_of(1, ka) ||
      g.ldb < max_of(1, g.m)) {
    return refuse(call, Verdict::wrong_arguments);
  }
  if (((g.m == 0 || g.n == 0) || g.alpha == 0)) return refuse(call, Verdict::nothing_to_compute);
  if (g.passes) return refuse(call, Verdict::no_routine);
  if (!all_fit({g.m, g.n, g.lda, g.ldb})) return refuse(call, Verdict::too_large);
  call.operations = (is_complex[g.type] ? 4.0 : 1.0) * (((as_double(g.m) * as_double(g.n)) * as_double(ka)));
  add(call, triangle(g.uplo, matrix(g.a, ka, ka, g.lda, bytes_of_scalar[g.type], Access::read)));
  add(call, matrix(g.b, g.m, g.n, g.ldb, bytes_of_scalar[g.type], Access::read_write));
  call.cut = {{g.side == 'R' ? as_size(g.m) : 0, g.side == 'L' ? as_size(g.n) : 0, 0}, {stored(Size::whole, Size::whole, false),
    stored(Size::rows, Size::columns, false)}};
  check_addresses(call);
}

void trsm_on_gpu(void* arguments, const runtime::Stream& stream, const void* const* at) {
  auto& g = *static_cast<Trsm*>(arguments);
  static linalg::CublasRoutine routines[] = {linalg::CublasRoutine("cublasStrsm_v2"), linalg::CublasRoutine("cublasDtrsm_v2"), linalg::CublasRoutine("cublasCtrsm_v2"), linalg::CublasRoutine("cublasZtrsm_v2")};
  routines[g.type](stream, code_of(g.side), code_of(g.uplo), code_of(g.transa), code_of(g.diag), as_int(g.m), as_int(g.n), g.alpha.at(), at[0],
    as_int(g.lda), at[1], as_int(g.ldb));
  g.on_gpu = true;
}

void become(Trsm& g, const Piece& piece) noexcept {
  if (g.side == 'L') g.n = piece.size(Size::columns);
  if (g.side == 'R') g.m = piece.size(Size::rows);
  if (piece.leading[0] != 0) g.lda = piece.leading[0];
  if (piece.leading[1] != 0) g.ldb = piece.leading[1];
}

template <class P, class Int>
void wrap_dtrsm_(AnyFunction host, const char* side, const char* uplo, const char* transa, const char* diag, const Int* m, const Int* n,
    const typename P::scalar* alpha, const typename P::scalar* a, const Int* lda, typename P::scalar* b, const Int* ldb) {
  using Host = void(const char*, const char*, const char*, const char*, const Int*, const Int*, const typename P::scalar*,
    const typename P::scalar*, const Int*, typename P::scalar*, const Int*, std::size_t, std::size_t, std::size_t, std::size_t);
  auto* const routine = reinterpret_cast<Host*>(host);
  if (is_within_call()) return routine(side, uplo, transa, diag, m, n, alpha, a, lda, b, ldb, 1, 1, 1, 1);
  if (any_null(side, uplo, transa, diag, m, n, alpha, lda, ldb)) {
    const PassedThrough within(trsm_routines[P::type], Verdict::nothing_to_compute);
    return routine(side, uplo, transa, diag, m, n, alpha, a, lda, b, ldb, 1, 1, 1, 1);
  }
  const char side_copy = *side;
  const char uplo_copy = *uplo;
  const char transa_copy = *transa;
  const char diag_copy = *diag;
  Int m_copy = *m;
  Int n_copy = *n;
  const typename P::scalar alpha_copy = coefficient<typename P::scalar>(alpha);
  Int lda_copy = *lda;
  Int ldb_copy = *ldb;
  Trsm g;
  g.type = P::type;
  g.side = upper(side_copy);
  g.uplo = upper(uplo_copy);
  g.transa = upper(transa_copy);
  g.diag = upper(diag_copy);
  g.m = m_copy;
  g.n = n_copy;
  g.alpha = Value(alpha_copy);
  g.a = a;
  g.lda = lda_copy;
  g.b = b;
  g.ldb = ldb_copy;
  const auto on_host = [&](const void* const* at) {
    routine(&side_copy, &uplo_copy, &transa_copy, &diag_copy, &m_copy, &n_copy, handed<const typename P::scalar*>(alpha_copy),
        place<const typename P::scalar>(at[0]), &lda_copy, place<typename P::scalar>(at[1]), &ldb_copy, 1, 1, 1, 1);
    g.on_gpu = false;
  };
  std::optional<Trsm> whole;
  const auto take = [&](const Piece* piece) {
    if (!whole) whole = g;
    g = *whole;
    if (piece != nullptr) become(g, *piece);
    Trsm part = g;
    m_copy = static_cast<Int>(part.m);
    n_copy = static_cast<Int>(part.n);
    lda_copy = static_cast<Int>(part.lda);
    ldb_copy = static_cast<Int>(part.ldb);
  };
  Call call;
  describe(g, call);
  carry_out(call, Wrapped(g, Emulation::by_host, &trsm_on_gpu, on_host, take));
}

template <class P, class Int>
void wrap_cblas_dtrsm(AnyFunction host, int order, int side, int uplo, int transa, int diag, Int m, Int n, typename P::value alpha,
    const typename P::scalar* a, Int lda, typename P::scalar* b, Int ldb) {
  using Host = void(int, int, int, int, int, Int, Int, typename P::value, const typename P::scalar*, Int, typename P::scalar*, Int);
  auto* const routine = reinterpret_cast<Host*>(host);
  if (is_within_call()) return routine(order, side, uplo, transa, diag, m, n, alpha, a, lda, b, ldb);
  if (any_null(alpha)) {
    const PassedThrough within(trsm_routines[P::type], Verdict::nothing_to_compute);
    return routine(order, side, uplo, transa, diag, m, n, alpha, a, lda, b, ldb);
  }
  const typename P::scalar alpha_copy = coefficient<typename P::scalar>(alpha);
  Trsm g;
  g.type = P::type;
  g.side = letter_of_CBLAS_SIDE(side);
  g.uplo = letter_of_CBLAS_UPLO(uplo);
  g.transa = letter_of_CBLAS_TRANSPOSE(transa);
  g.diag = letter_of_CBLAS_DIAG(diag);
  g.m = m;
  g.n = n;
  g.alpha = Value(alpha_copy);
  g.a = a;
  g.lda = lda;
  g.b = b;
  g.ldb = ldb;
  if (!((order == 101 || order == 102))) g.refused = Verdict::wrong_arguments;
  if (order == 101) {
    g.side = flipped(g.side, 'L', 'R');
    g.uplo = flipped(g.uplo, 'U', 'L');
    std::swap(g.m, g.n);
  }
  const auto on_host = [&](const void* const* at) {
    routine(order, side, uplo, transa, diag, m, n, handed<typename P::value>(alpha_copy), place<const typename P::scalar>(at[0]), lda,
        place<typename P::scalar>(at[1]), ldb);
    g.on_gpu = false;
  };
  std::optional<Trsm> whole;
  const auto take = [&](const Piece* piece) {
    if (!whole) whole = g;
    g = *whole;
    if (piece != nullptr) become(g, *piece);
    Trsm part = g;
    if (order == 101) std::swap(part.m, part.n);
    m = static_cast<Int>(part.m);
    n = static_cast<Int>(part.n);
    lda = static_cast<Int>(part.lda);
    ldb = static_cast<Int>(part.ldb);
  };
  Call call;
  describe(g, call);
  carry_out(call, Wrapped(g, Emulation::by_host, &trsm_on_gpu, on_host, take));
}

}  // namespace
}  // namespace semcache::blas

using namespace semcache::blas;  // NOLINT(google-build-using-namespace): of this file, which has nothing else

#ifdef __clang__
#pragma clang diagnostic ignored "-Wreturn-type-c-linkage"  // Fortran's functions return complex numbers as C++ does
#endif
#pragma GCC visibility push(default)
extern "C" {
#define SEMCACHE_DGEMM_(symbol, P, Int) \
  static HostFunction host_of_##symbol(#symbol, sizeof(Int)); \
  static const EarlySearch search_for_##symbol(host_of_##symbol); \
  void symbol(const char* transa, const char* transb, const void* m, const void* n, const void* k, const P::scalar* alpha, const P::scalar* a, \
    const void* lda, const P::scalar* b, const void* ldb, const P::scalar* beta, P::scalar* c, const void* ldc) { \
    const HostFunction::Found host = host_of_##symbol.of(SEMCACHE_CALLER); \
    if (host.is_wide) return wrap_dgemm_<P, std::int64_t>(host.function, transa, transb, integer<std::int64_t>(m), integer<std::int64_t>(n), integer<std::int64_t>(k), \
        alpha, a, integer<std::int64_t>(lda), b, integer<std::int64_t>(ldb), beta, c, integer<std::int64_t>(ldc)); \
    return wrap_dgemm_<P, Int>(host.function, transa, transb, integer<Int>(m), integer<Int>(n), integer<Int>(k), alpha, a, integer<Int>(lda), b, \
        integer<Int>(ldb), beta, c, integer<Int>(ldc)); \
  }
SEMCACHE_DGEMM_(sgemm_, s_types, std::int32_t)
SEMCACHE_DGEMM_(dgemm_, d_types, std::int32_t)
SEMCACHE_DGEMM_(cgemm_, c_types, std::int32_t)
SEMCACHE_DGEMM_(zgemm_, z_types, std::int32_t)
SEMCACHE_DGEMM_(scipy_sgemm_, s_types, std::int32_t)
SEMCACHE_DGEMM_(scipy_dgemm_, d_types, std::int32_t)
SEMCACHE_DGEMM_(scipy_cgemm_, c_types, std::int32_t)
SEMCACHE_DGEMM_(scipy_zgemm_, z_types, std::int32_t)
SEMCACHE_DGEMM_(sgemm_64_, s_types, std::int64_t)
SEMCACHE_DGEMM_(dgemm_64_, d_types, std::int64_t)
SEMCACHE_DGEMM_(cgemm_64_, c_types, std::int64_t)
SEMCACHE_DGEMM_(zgemm_64_, z_types, std::int64_t)
SEMCACHE_DGEMM_(scipy_sgemm_64_, s_types, std::int64_t)
SEMCACHE_DGEMM_(scipy_dgemm_64_, d_types, std::int64_t)
SEMCACHE_DGEMM_(scipy_cgemm_64_, c_types, std::int64_t)
SEMCACHE_DGEMM_(scipy_zgemm_64_, z_types, std::int64_t)
#define SEMCACHE_CBLAS_DGEMM(symbol, P, Int) \
  static HostFunction host_of_##symbol(#symbol, sizeof(Int)); \
  static const EarlySearch search_for_##symbol(host_of_##symbol); \
  void symbol(int order, int transa, int transb, std::int64_t m, std::int64_t n, std::int64_t k, P::value alpha, const P::scalar* a, \
    std::int64_t lda, const P::scalar* b, std::int64_t ldb, P::value beta, P::scalar* c, std::int64_t ldc) { \
    const HostFunction::Found host = host_of_##symbol.of(SEMCACHE_CALLER); \
    if (host.is_wide) return wrap_cblas_dgemm<P, std::int64_t>(host.function, order, transa, transb, integer<std::int64_t>(m), integer<std::int64_t>(n), \
        integer<std::int64_t>(k), alpha, a, integer<std::int64_t>(lda), b, integer<std::int64_t>(ldb), beta, c, integer<std::int64_t>(ldc)); \
    return wrap_cblas_dgemm<P, Int>(host.function, order, transa, transb, integer<Int>(m), integer<Int>(n), integer<Int>(k), alpha, a, \
        integer<Int>(lda), b, integer<Int>(ldb), beta, c, integer<Int>(ldc)); \
  }
SEMCACHE_CBLAS_DGEMM(cblas_sgemm, s_types, std::int32_t)
SEMCACHE_CBLAS_DGEMM(cblas_dgemm, d_types, std::int32_t)
SEMCACHE_CBLAS_DGEMM(cblas_cgemm, c_types, std::int32_t)
SEMCACHE_CBLAS_DGEMM(cblas_zgemm, z_types, std::int32_t)
SEMCACHE_CBLAS_DGEMM(scipy_cblas_sgemm, s_types, std::int32_t)
SEMCACHE_CBLAS_DGEMM(scipy_cblas_dgemm, d_types, std::int32_t)
SEMCACHE_CBLAS_DGEMM(scipy_cblas_cgemm, c_types, std::int32_t)
SEMCACHE_CBLAS_DGEMM(scipy_cblas_zgemm, z_types, std::int32_t)
SEMCACHE_CBLAS_DGEMM(cblas_sgemm64_, s_types, std::int64_t)
SEMCACHE_CBLAS_DGEMM(cblas_dgemm64_, d_types, std::int64_t)
SEMCACHE_CBLAS_DGEMM(cblas_cgemm64_, c_types, std::int64_t)
SEMCACHE_CBLAS_DGEMM(cblas_zgemm64_, z_types, std::int64_t)
SEMCACHE_CBLAS_DGEMM(scipy_cblas_sgemm64_, s_types, std::int64_t)
SEMCACHE_CBLAS_DGEMM(scipy_cblas_dgemm64_, d_types, std::int64_t)
SEMCACHE_CBLAS_DGEMM(scipy_cblas_cgemm64_, c_types, std::int64_t)
SEMCACHE_CBLAS_DGEMM(scipy_cblas_zgemm64_, z_types, std::int64_t)
#define SEMCACHE_DSYMM_(symbol, P, Int) \
  static HostFunction host_of_##symbol(#symbol, sizeof(Int)); \
  static const EarlySearch search_for_##symbol(host_of_##symbol); \
  void symbol(const char* side, const char* uplo, const void* m, const void* n, const P::scalar* alpha, const P::scalar* a, const void* lda, \
    const P::scalar* b, const void* ldb, const P::scalar* beta, P::scalar* c, const void* ldc) { \
    const HostFunction::Found host = host_of_##symbol.of(SEMCACHE_CALLER); \
    if (host.is_wide) return wrap_dsymm_<P, std::int64_t>(host.function, side, uplo, integer<std::int64_t>(m), integer<std::int64_t>(n), alpha, a, \
        integer<std::int64_t>(lda), b, integer<std::int64_t>(ldb), beta, c, integer<std::int64_t>(ldc)); \
    return wrap_dsymm_<P, Int>(host.function, side, uplo, integer<Int>(m), integer<Int>(n), alpha, a, integer<Int>(lda), b, integer<Int>(ldb), \
        beta, c, integer<Int>(ldc)); \
  }
SEMCACHE_DSYMM_(ssymm_, s_types, std::int32_t)
SEMCACHE_DSYMM_(dsymm_, d_types, std::int32_t)
SEMCACHE_DSYMM_(csymm_, c_types, std::int32_t)
SEMCACHE_DSYMM_(zsymm_, z_types, std::int32_t)
SEMCACHE_DSYMM_(scipy_ssymm_, s_types, std::int32_t)
SEMCACHE_DSYMM_(scipy_dsymm_, d_types, std::int32_t)
SEMCACHE_DSYMM_(scipy_csymm_, c_types, std::int32_t)
SEMCACHE_DSYMM_(scipy_zsymm_, z_types, std::int32_t)
SEMCACHE_DSYMM_(ssymm_64_, s_types, std::int64_t)
SEMCACHE_DSYMM_(dsymm_64_, d_types, std::int64_t)
SEMCACHE_DSYMM_(csymm_64_, c_types, std::int64_t)
SEMCACHE_DSYMM_(zsymm_64_, z_types, std::int64_t)
SEMCACHE_DSYMM_(scipy_ssymm_64_, s_types, std::int64_t)
SEMCACHE_DSYMM_(scipy_dsymm_64_, d_types, std::int64_t)
SEMCACHE_DSYMM_(scipy_csymm_64_, c_types, std::int64_t)
SEMCACHE_DSYMM_(scipy_zsymm_64_, z_types, std::int64_t)
#define SEMCACHE_CBLAS_DSYMM(symbol, P, Int) \
  static HostFunction host_of_##symbol(#symbol, sizeof(Int)); \
  static const EarlySearch search_for_##symbol(host_of_##symbol); \
  void symbol(int order, int side, int uplo, std::int64_t m, std::int64_t n, P::value alpha, const P::scalar* a, std::int64_t lda, \
    const P::scalar* b, std::int64_t ldb, P::value beta, P::scalar* c, std::int64_t ldc) { \
    const HostFunction::Found host = host_of_##symbol.of(SEMCACHE_CALLER); \
    if (host.is_wide) return wrap_cblas_dsymm<P, std::int64_t>(host.function, order, side, uplo, integer<std::int64_t>(m), integer<std::int64_t>(n), alpha, a, \
        integer<std::int64_t>(lda), b, integer<std::int64_t>(ldb), beta, c, integer<std::int64_t>(ldc)); \
    return wrap_cblas_dsymm<P, Int>(host.function, order, side, uplo, integer<Int>(m), integer<Int>(n), alpha, a, integer<Int>(lda), b, \
        integer<Int>(ldb), beta, c, integer<Int>(ldc)); \
  }
SEMCACHE_CBLAS_DSYMM(cblas_ssymm, s_types, std::int32_t)
SEMCACHE_CBLAS_DSYMM(cblas_dsymm, d_types, std::int32_t)
SEMCACHE_CBLAS_DSYMM(cblas_csymm, c_types, std::int32_t)
SEMCACHE_CBLAS_DSYMM(cblas_zsymm, z_types, std::int32_t)
SEMCACHE_CBLAS_DSYMM(scipy_cblas_ssymm, s_types, std::int32_t)
SEMCACHE_CBLAS_DSYMM(scipy_cblas_dsymm, d_types, std::int32_t)
SEMCACHE_CBLAS_DSYMM(scipy_cblas_csymm, c_types, std::int32_t)
SEMCACHE_CBLAS_DSYMM(scipy_cblas_zsymm, z_types, std::int32_t)
SEMCACHE_CBLAS_DSYMM(cblas_ssymm64_, s_types, std::int64_t)
SEMCACHE_CBLAS_DSYMM(cblas_dsymm64_, d_types, std::int64_t)
SEMCACHE_CBLAS_DSYMM(cblas_csymm64_, c_types, std::int64_t)
SEMCACHE_CBLAS_DSYMM(cblas_zsymm64_, z_types, std::int64_t)
SEMCACHE_CBLAS_DSYMM(scipy_cblas_ssymm64_, s_types, std::int64_t)
SEMCACHE_CBLAS_DSYMM(scipy_cblas_dsymm64_, d_types, std::int64_t)
SEMCACHE_CBLAS_DSYMM(scipy_cblas_csymm64_, c_types, std::int64_t)
SEMCACHE_CBLAS_DSYMM(scipy_cblas_zsymm64_, z_types, std::int64_t)
#define SEMCACHE_ZHEMM_(symbol, P, Int) \
  static HostFunction host_of_##symbol(#symbol, sizeof(Int)); \
  static const EarlySearch search_for_##symbol(host_of_##symbol); \
  void symbol(const char* side, const char* uplo, const void* m, const void* n, const P::scalar* alpha, const P::scalar* a, const void* lda, \
    const P::scalar* b, const void* ldb, const P::scalar* beta, P::scalar* c, const void* ldc) { \
    const HostFunction::Found host = host_of_##symbol.of(SEMCACHE_CALLER); \
    if (host.is_wide) return wrap_zhemm_<P, std::int64_t>(host.function, side, uplo, integer<std::int64_t>(m), integer<std::int64_t>(n), alpha, a, \
        integer<std::int64_t>(lda), b, integer<std::int64_t>(ldb), beta, c, integer<std::int64_t>(ldc)); \
    return wrap_zhemm_<P, Int>(host.function, side, uplo, integer<Int>(m), integer<Int>(n), alpha, a, integer<Int>(lda), b, integer<Int>(ldb), \
        beta, c, integer<Int>(ldc)); \
  }
SEMCACHE_ZHEMM_(chemm_, c_types, std::int32_t)
SEMCACHE_ZHEMM_(zhemm_, z_types, std::int32_t)
SEMCACHE_ZHEMM_(scipy_chemm_, c_types, std::int32_t)
SEMCACHE_ZHEMM_(scipy_zhemm_, z_types, std::int32_t)
SEMCACHE_ZHEMM_(chemm_64_, c_types, std::int64_t)
SEMCACHE_ZHEMM_(zhemm_64_, z_types, std::int64_t)
SEMCACHE_ZHEMM_(scipy_chemm_64_, c_types, std::int64_t)
SEMCACHE_ZHEMM_(scipy_zhemm_64_, z_types, std::int64_t)
#define SEMCACHE_CBLAS_ZHEMM(symbol, P, Int) \
  static HostFunction host_of_##symbol(#symbol, sizeof(Int)); \
  static const EarlySearch search_for_##symbol(host_of_##symbol); \
  void symbol(int order, int side, int uplo, std::int64_t m, std::int64_t n, P::value alpha, const P::scalar* a, std::int64_t lda, \
    const P::scalar* b, std::int64_t ldb, P::value beta, P::scalar* c, std::int64_t ldc) { \
    const HostFunction::Found host = host_of_##symbol.of(SEMCACHE_CALLER); \
    if (host.is_wide) return wrap_cblas_zhemm<P, std::int64_t>(host.function, order, side, uplo, integer<std::int64_t>(m), integer<std::int64_t>(n), alpha, a, \
        integer<std::int64_t>(lda), b, integer<std::int64_t>(ldb), beta, c, integer<std::int64_t>(ldc)); \
    return wrap_cblas_zhemm<P, Int>(host.function, order, side, uplo, integer<Int>(m), integer<Int>(n), alpha, a, integer<Int>(lda), b, \
        integer<Int>(ldb), beta, c, integer<Int>(ldc)); \
  }
SEMCACHE_CBLAS_ZHEMM(cblas_chemm, c_types, std::int32_t)
SEMCACHE_CBLAS_ZHEMM(cblas_zhemm, z_types, std::int32_t)
SEMCACHE_CBLAS_ZHEMM(scipy_cblas_chemm, c_types, std::int32_t)
SEMCACHE_CBLAS_ZHEMM(scipy_cblas_zhemm, z_types, std::int32_t)
SEMCACHE_CBLAS_ZHEMM(cblas_chemm64_, c_types, std::int64_t)
SEMCACHE_CBLAS_ZHEMM(cblas_zhemm64_, z_types, std::int64_t)
SEMCACHE_CBLAS_ZHEMM(scipy_cblas_chemm64_, c_types, std::int64_t)
SEMCACHE_CBLAS_ZHEMM(scipy_cblas_zhemm64_, z_types, std::int64_t)
#define SEMCACHE_DSYRK_(symbol, P, Int) \
  static HostFunction host_of_##symbol(#symbol, sizeof(Int)); \
  static const EarlySearch search_for_##symbol(host_of_##symbol); \
  void symbol(const char* uplo, const char* trans, const void* n, const void* k, const P::scalar* alpha, const P::scalar* a, const void* lda, \
    const P::scalar* beta, P::scalar* c, const void* ldc) { \
    const HostFunction::Found host = host_of_##symbol.of(SEMCACHE_CALLER); \
    if (host.is_wide) return wrap_dsyrk_<P, std::int64_t>(host.function, uplo, trans, integer<std::int64_t>(n), integer<std::int64_t>(k), alpha, a, \
        integer<std::int64_t>(lda), beta, c, integer<std::int64_t>(ldc)); \
    return wrap_dsyrk_<P, Int>(host.function, uplo, trans, integer<Int>(n), integer<Int>(k), alpha, a, integer<Int>(lda), beta, c, \
        integer<Int>(ldc)); \
  }
SEMCACHE_DSYRK_(ssyrk_, s_types, std::int32_t)
SEMCACHE_DSYRK_(dsyrk_, d_types, std::int32_t)
SEMCACHE_DSYRK_(csyrk_, c_types, std::int32_t)
SEMCACHE_DSYRK_(zsyrk_, z_types, std::int32_t)
SEMCACHE_DSYRK_(scipy_ssyrk_, s_types, std::int32_t)
SEMCACHE_DSYRK_(scipy_dsyrk_, d_types, std::int32_t)
SEMCACHE_DSYRK_(scipy_csyrk_, c_types, std::int32_t)
SEMCACHE_DSYRK_(scipy_zsyrk_, z_types, std::int32_t)
SEMCACHE_DSYRK_(ssyrk_64_, s_types, std::int64_t)
SEMCACHE_DSYRK_(dsyrk_64_, d_types, std::int64_t)
SEMCACHE_DSYRK_(csyrk_64_, c_types, std::int64_t)
SEMCACHE_DSYRK_(zsyrk_64_, z_types, std::int64_t)
SEMCACHE_DSYRK_(scipy_ssyrk_64_, s_types, std::int64_t)
SEMCACHE_DSYRK_(scipy_dsyrk_64_, d_types, std::int64_t)
SEMCACHE_DSYRK_(scipy_csyrk_64_, c_types, std::int64_t)
SEMCACHE_DSYRK_(scipy_zsyrk_64_, z_types, std::int64_t)
#define SEMCACHE_CBLAS_DSYRK(symbol, P, Int) \
  static HostFunction host_of_##symbol(#symbol, sizeof(Int)); \
  static const EarlySearch search_for_##symbol(host_of_##symbol); \
  void symbol(int order, int uplo, int trans, std::int64_t n, std::int64_t k, P::value alpha, const P::scalar* a, std::int64_t lda, P::value beta, \
    P::scalar* c, std::int64_t ldc) { \
    const HostFunction::Found host = host_of_##symbol.of(SEMCACHE_CALLER); \
    if (host.is_wide) return wrap_cblas_dsyrk<P, std::int64_t>(host.function, order, uplo, trans, integer<std::int64_t>(n), integer<std::int64_t>(k), alpha, a, \
        integer<std::int64_t>(lda), beta, c, integer<std::int64_t>(ldc)); \
    return wrap_cblas_dsyrk<P, Int>(host.function, order, uplo, trans, integer<Int>(n), integer<Int>(k), alpha, a, integer<Int>(lda), beta, c, \
        integer<Int>(ldc)); \
  }
SEMCACHE_CBLAS_DSYRK(cblas_ssyrk, s_types, std::int32_t)
SEMCACHE_CBLAS_DSYRK(cblas_dsyrk, d_types, std::int32_t)
SEMCACHE_CBLAS_DSYRK(cblas_csyrk, c_types, std::int32_t)
SEMCACHE_CBLAS_DSYRK(cblas_zsyrk, z_types, std::int32_t)
SEMCACHE_CBLAS_DSYRK(scipy_cblas_ssyrk, s_types, std::int32_t)
SEMCACHE_CBLAS_DSYRK(scipy_cblas_dsyrk, d_types, std::int32_t)
SEMCACHE_CBLAS_DSYRK(scipy_cblas_csyrk, c_types, std::int32_t)
SEMCACHE_CBLAS_DSYRK(scipy_cblas_zsyrk, z_types, std::int32_t)
SEMCACHE_CBLAS_DSYRK(cblas_ssyrk64_, s_types, std::int64_t)
SEMCACHE_CBLAS_DSYRK(cblas_dsyrk64_, d_types, std::int64_t)
SEMCACHE_CBLAS_DSYRK(cblas_csyrk64_, c_types, std::int64_t)
SEMCACHE_CBLAS_DSYRK(cblas_zsyrk64_, z_types, std::int64_t)
SEMCACHE_CBLAS_DSYRK(scipy_cblas_ssyrk64_, s_types, std::int64_t)
SEMCACHE_CBLAS_DSYRK(scipy_cblas_dsyrk64_, d_types, std::int64_t)
SEMCACHE_CBLAS_DSYRK(scipy_cblas_csyrk64_, c_types, std::int64_t)
SEMCACHE_CBLAS_DSYRK(scipy_cblas_zsyrk64_, z_types, std::int64_t)
#define SEMCACHE_ZHERK_(symbol, P, Int) \
  static HostFunction host_of_##symbol(#symbol, sizeof(Int)); \
  static const EarlySearch search_for_##symbol(host_of_##symbol); \
  void symbol(const char* uplo, const char* trans, const void* n, const void* k, const P::real* alpha, const P::scalar* a, const void* lda, \
    const P::real* beta, P::scalar* c, const void* ldc) { \
    const HostFunction::Found host = host_of_##symbol.of(SEMCACHE_CALLER); \
    if (host.is_wide) return wrap_zherk_<P, std::int64_t>(host.function, uplo, trans, integer<std::int64_t>(n), integer<std::int64_t>(k), alpha, a, \
        integer<std::int64_t>(lda), beta, c, integer<std::int64_t>(ldc)); \
    return wrap_zherk_<P, Int>(host.function, uplo, trans, integer<Int>(n), integer<Int>(k), alpha, a, integer<Int>(lda), beta, c, \
        integer<Int>(ldc)); \
  }
SEMCACHE_ZHERK_(cherk_, c_types, std::int32_t)
SEMCACHE_ZHERK_(zherk_, z_types, std::int32_t)
SEMCACHE_ZHERK_(scipy_cherk_, c_types, std::int32_t)
SEMCACHE_ZHERK_(scipy_zherk_, z_types, std::int32_t)
SEMCACHE_ZHERK_(cherk_64_, c_types, std::int64_t)
SEMCACHE_ZHERK_(zherk_64_, z_types, std::int64_t)
SEMCACHE_ZHERK_(scipy_cherk_64_, c_types, std::int64_t)
SEMCACHE_ZHERK_(scipy_zherk_64_, z_types, std::int64_t)
#define SEMCACHE_CBLAS_ZHERK(symbol, P, Int) \
  static HostFunction host_of_##symbol(#symbol, sizeof(Int)); \
  static const EarlySearch search_for_##symbol(host_of_##symbol); \
  void symbol(int order, int uplo, int trans, std::int64_t n, std::int64_t k, P::real alpha, const P::scalar* a, std::int64_t lda, P::real beta, \
    P::scalar* c, std::int64_t ldc) { \
    const HostFunction::Found host = host_of_##symbol.of(SEMCACHE_CALLER); \
    if (host.is_wide) return wrap_cblas_zherk<P, std::int64_t>(host.function, order, uplo, trans, integer<std::int64_t>(n), integer<std::int64_t>(k), alpha, a, \
        integer<std::int64_t>(lda), beta, c, integer<std::int64_t>(ldc)); \
    return wrap_cblas_zherk<P, Int>(host.function, order, uplo, trans, integer<Int>(n), integer<Int>(k), alpha, a, integer<Int>(lda), beta, c, \
        integer<Int>(ldc)); \
  }
SEMCACHE_CBLAS_ZHERK(cblas_cherk, c_types, std::int32_t)
SEMCACHE_CBLAS_ZHERK(cblas_zherk, z_types, std::int32_t)
SEMCACHE_CBLAS_ZHERK(scipy_cblas_cherk, c_types, std::int32_t)
SEMCACHE_CBLAS_ZHERK(scipy_cblas_zherk, z_types, std::int32_t)
SEMCACHE_CBLAS_ZHERK(cblas_cherk64_, c_types, std::int64_t)
SEMCACHE_CBLAS_ZHERK(cblas_zherk64_, z_types, std::int64_t)
SEMCACHE_CBLAS_ZHERK(scipy_cblas_cherk64_, c_types, std::int64_t)
SEMCACHE_CBLAS_ZHERK(scipy_cblas_zherk64_, z_types, std::int64_t)
#define SEMCACHE_DSYR2K_(symbol, P, Int) \
  static HostFunction host_of_##symbol(#symbol, sizeof(Int)); \
  static const EarlySearch search_for_##symbol(host_of_##symbol); \
  void symbol(const char* uplo, const char* trans, const void* n, const void* k, const P::scalar* alpha, const P::scalar* a, const void* lda, \
    const P::scalar* b, const void* ldb, const P::scalar* beta, P::scalar* c, const void* ldc) { \
    const HostFunction::Found host = host_of_##symbol.of(SEMCACHE_CALLER); \
    if (host.is_wide) return wrap_dsyr2k_<P, std::int64_t>(host.function, uplo, trans, integer<std::int64_t>(n), integer<std::int64_t>(k), alpha, a, \
        integer<std::int64_t>(lda), b, integer<std::int64_t>(ldb), beta, c, integer<std::int64_t>(ldc)); \
    return wrap_dsyr2k_<P, Int>(host.function, uplo, trans, integer<Int>(n), integer<Int>(k), alpha, a, integer<Int>(lda), b, integer<Int>(ldb), \
        beta, c, integer<Int>(ldc)); \
  }
SEMCACHE_DSYR2K_(ssyr2k_, s_types, std::int32_t)
SEMCACHE_DSYR2K_(dsyr2k_, d_types, std::int32_t)
SEMCACHE_DSYR2K_(csyr2k_, c_types, std::int32_t)
SEMCACHE_DSYR2K_(zsyr2k_, z_types, std::int32_t)
SEMCACHE_DSYR2K_(scipy_ssyr2k_, s_types, std::int32_t)
SEMCACHE_DSYR2K_(scipy_dsyr2k_, d_types, std::int32_t)
SEMCACHE_DSYR2K_(scipy_csyr2k_, c_types, std::int32_t)
SEMCACHE_DSYR2K_(scipy_zsyr2k_, z_types, std::int32_t)
SEMCACHE_DSYR2K_(ssyr2k_64_, s_types, std::int64_t)
SEMCACHE_DSYR2K_(dsyr2k_64_, d_types, std::int64_t)
SEMCACHE_DSYR2K_(csyr2k_64_, c_types, std::int64_t)
SEMCACHE_DSYR2K_(zsyr2k_64_, z_types, std::int64_t)
SEMCACHE_DSYR2K_(scipy_ssyr2k_64_, s_types, std::int64_t)
SEMCACHE_DSYR2K_(scipy_dsyr2k_64_, d_types, std::int64_t)
SEMCACHE_DSYR2K_(scipy_csyr2k_64_, c_types, std::int64_t)
SEMCACHE_DSYR2K_(scipy_zsyr2k_64_, z_types, std::int64_t)
#define SEMCACHE_CBLAS_DSYR2K(symbol, P, Int) \
  static HostFunction host_of_##symbol(#symbol, sizeof(Int)); \
  static const EarlySearch search_for_##symbol(host_of_##symbol); \
  void symbol(int order, int uplo, int trans, std::int64_t n, std::int64_t k, P::value alpha, const P::scalar* a, std::int64_t lda, \
    const P::scalar* b, std::int64_t ldb, P::value beta, P::scalar* c, std::int64_t ldc) { \
    const HostFunction::Found host = host_of_##symbol.of(SEMCACHE_CALLER); \
    if (host.is_wide) return wrap_cblas_dsyr2k<P, std::int64_t>(host.function, order, uplo, trans, integer<std::int64_t>(n), integer<std::int64_t>(k), alpha, a, \
        integer<std::int64_t>(lda), b, integer<std::int64_t>(ldb), beta, c, integer<std::int64_t>(ldc)); \
    return wrap_cblas_dsyr2k<P, Int>(host.function, order, uplo, trans, integer<Int>(n), integer<Int>(k), alpha, a, integer<Int>(lda), b, \
        integer<Int>(ldb), beta, c, integer<Int>(ldc)); \
  }
SEMCACHE_CBLAS_DSYR2K(cblas_ssyr2k, s_types, std::int32_t)
SEMCACHE_CBLAS_DSYR2K(cblas_dsyr2k, d_types, std::int32_t)
SEMCACHE_CBLAS_DSYR2K(cblas_csyr2k, c_types, std::int32_t)
SEMCACHE_CBLAS_DSYR2K(cblas_zsyr2k, z_types, std::int32_t)
SEMCACHE_CBLAS_DSYR2K(scipy_cblas_ssyr2k, s_types, std::int32_t)
SEMCACHE_CBLAS_DSYR2K(scipy_cblas_dsyr2k, d_types, std::int32_t)
SEMCACHE_CBLAS_DSYR2K(scipy_cblas_csyr2k, c_types, std::int32_t)
SEMCACHE_CBLAS_DSYR2K(scipy_cblas_zsyr2k, z_types, std::int32_t)
SEMCACHE_CBLAS_DSYR2K(cblas_ssyr2k64_, s_types, std::int64_t)
SEMCACHE_CBLAS_DSYR2K(cblas_dsyr2k64_, d_types, std::int64_t)
SEMCACHE_CBLAS_DSYR2K(cblas_csyr2k64_, c_types, std::int64_t)
SEMCACHE_CBLAS_DSYR2K(cblas_zsyr2k64_, z_types, std::int64_t)
SEMCACHE_CBLAS_DSYR2K(scipy_cblas_ssyr2k64_, s_types, std::int64_t)
SEMCACHE_CBLAS_DSYR2K(scipy_cblas_dsyr2k64_, d_types, std::int64_t)
SEMCACHE_CBLAS_DSYR2K(scipy_cblas_csyr2k64_, c_types, std::int64_t)
SEMCACHE_CBLAS_DSYR2K(scipy_cblas_zsyr2k64_, z_types, std::int64_t)
#define SEMCACHE_ZHER2K_(symbol, P, Int) \
  static HostFunction host_of_##symbol(#symbol, sizeof(Int)); \
  static const EarlySearch search_for_##symbol(host_of_##symbol); \
  void symbol(const char* uplo, const char* trans, const void* n, const void* k, const P::scalar* alpha, const P::scalar* a, const void* lda, \
    const P::scalar* b, const void* ldb, const P::real* beta, P::scalar* c, const void* ldc) { \
    const HostFunction::Found host = host_of_##symbol.of(SEMCACHE_CALLER); \
    if (host.is_wide) return wrap_zher2k_<P, std::int64_t>(host.function, uplo, trans, integer<std::int64_t>(n), integer<std::int64_t>(k), alpha, a, \
        integer<std::int64_t>(lda), b, integer<std::int64_t>(ldb), beta, c, integer<std::int64_t>(ldc)); \
    return wrap_zher2k_<P, Int>(host.function, uplo, trans, integer<Int>(n), integer<Int>(k), alpha, a, integer<Int>(lda), b, integer<Int>(ldb), \
        beta, c, integer<Int>(ldc)); \
  }
SEMCACHE_ZHER2K_(cher2k_, c_types, std::int32_t)
SEMCACHE_ZHER2K_(zher2k_, z_types, std::int32_t)
SEMCACHE_ZHER2K_(scipy_cher2k_, c_types, std::int32_t)
SEMCACHE_ZHER2K_(scipy_zher2k_, z_types, std::int32_t)
SEMCACHE_ZHER2K_(cher2k_64_, c_types, std::int64_t)
SEMCACHE_ZHER2K_(zher2k_64_, z_types, std::int64_t)
SEMCACHE_ZHER2K_(scipy_cher2k_64_, c_types, std::int64_t)
SEMCACHE_ZHER2K_(scipy_zher2k_64_, z_types, std::int64_t)
#define SEMCACHE_CBLAS_ZHER2K(symbol, P, Int) \
  static HostFunction host_of_##symbol(#symbol, sizeof(Int)); \
  static const EarlySearch search_for_##symbol(host_of_##symbol); \
  void symbol(int order, int uplo, int trans, std::int64_t n, std::int64_t k, P::value alpha, const P::scalar* a, std::int64_t lda, \
    const P::scalar* b, std::int64_t ldb, P::real beta, P::scalar* c, std::int64_t ldc) { \
    const HostFunction::Found host = host_of_##symbol.of(SEMCACHE_CALLER); \
    if (host.is_wide) return wrap_cblas_zher2k<P, std::int64_t>(host.function, order, uplo, trans, integer<std::int64_t>(n), integer<std::int64_t>(k), alpha, a, \
        integer<std::int64_t>(lda), b, integer<std::int64_t>(ldb), beta, c, integer<std::int64_t>(ldc)); \
    return wrap_cblas_zher2k<P, Int>(host.function, order, uplo, trans, integer<Int>(n), integer<Int>(k), alpha, a, integer<Int>(lda), b, \
        integer<Int>(ldb), beta, c, integer<Int>(ldc)); \
  }
SEMCACHE_CBLAS_ZHER2K(cblas_cher2k, c_types, std::int32_t)
SEMCACHE_CBLAS_ZHER2K(cblas_zher2k, z_types, std::int32_t)
SEMCACHE_CBLAS_ZHER2K(scipy_cblas_cher2k, c_types, std::int32_t)
SEMCACHE_CBLAS_ZHER2K(scipy_cblas_zher2k, z_types, std::int32_t)
SEMCACHE_CBLAS_ZHER2K(cblas_cher2k64_, c_types, std::int64_t)
SEMCACHE_CBLAS_ZHER2K(cblas_zher2k64_, z_types, std::int64_t)
SEMCACHE_CBLAS_ZHER2K(scipy_cblas_cher2k64_, c_types, std::int64_t)
SEMCACHE_CBLAS_ZHER2K(scipy_cblas_zher2k64_, z_types, std::int64_t)
#define SEMCACHE_DTRMM_(symbol, P, Int) \
  static HostFunction host_of_##symbol(#symbol, sizeof(Int)); \
  static const EarlySearch search_for_##symbol(host_of_##symbol); \
  void symbol(const char* side, const char* uplo, const char* transa, const char* diag, const void* m, const void* n, const P::scalar* alpha, \
    const P::scalar* a, const void* lda, P::scalar* b, const void* ldb) { \
    const HostFunction::Found host = host_of_##symbol.of(SEMCACHE_CALLER); \
    if (host.is_wide) return wrap_dtrmm_<P, std::int64_t>(host.function, side, uplo, transa, diag, integer<std::int64_t>(m), integer<std::int64_t>(n), alpha, a, \
        integer<std::int64_t>(lda), b, integer<std::int64_t>(ldb)); \
    return wrap_dtrmm_<P, Int>(host.function, side, uplo, transa, diag, integer<Int>(m), integer<Int>(n), alpha, a, integer<Int>(lda), b, \
        integer<Int>(ldb)); \
  }
SEMCACHE_DTRMM_(strmm_, s_types, std::int32_t)
SEMCACHE_DTRMM_(dtrmm_, d_types, std::int32_t)
SEMCACHE_DTRMM_(ctrmm_, c_types, std::int32_t)
SEMCACHE_DTRMM_(ztrmm_, z_types, std::int32_t)
SEMCACHE_DTRMM_(scipy_strmm_, s_types, std::int32_t)
SEMCACHE_DTRMM_(scipy_dtrmm_, d_types, std::int32_t)
SEMCACHE_DTRMM_(scipy_ctrmm_, c_types, std::int32_t)
SEMCACHE_DTRMM_(scipy_ztrmm_, z_types, std::int32_t)
SEMCACHE_DTRMM_(strmm_64_, s_types, std::int64_t)
SEMCACHE_DTRMM_(dtrmm_64_, d_types, std::int64_t)
SEMCACHE_DTRMM_(ctrmm_64_, c_types, std::int64_t)
SEMCACHE_DTRMM_(ztrmm_64_, z_types, std::int64_t)
SEMCACHE_DTRMM_(scipy_strmm_64_, s_types, std::int64_t)
SEMCACHE_DTRMM_(scipy_dtrmm_64_, d_types, std::int64_t)
SEMCACHE_DTRMM_(scipy_ctrmm_64_, c_types, std::int64_t)
SEMCACHE_DTRMM_(scipy_ztrmm_64_, z_types, std::int64_t)
#define SEMCACHE_CBLAS_DTRMM(symbol, P, Int) \
  static HostFunction host_of_##symbol(#symbol, sizeof(Int)); \
  static const EarlySearch search_for_##symbol(host_of_##symbol); \
  void symbol(int order, int side, int uplo, int transa, int diag, std::int64_t m, std::int64_t n, P::value alpha, const P::scalar* a, \
    std::int64_t lda, P::scalar* b, std::int64_t ldb) { \
    const HostFunction::Found host = host_of_##symbol.of(SEMCACHE_CALLER); \
    if (host.is_wide) return wrap_cblas_dtrmm<P, std::int64_t>(host.function, order, side, uplo, transa, diag, integer<std::int64_t>(m), integer<std::int64_t>(n), alpha, \
        a, integer<std::int64_t>(lda), b, integer<std::int64_t>(ldb)); \
    return wrap_cblas_dtrmm<P, Int>(host.function, order, side, uplo, transa, diag, integer<Int>(m), integer<Int>(n), alpha, a, integer<Int>(lda), \
        b, integer<Int>(ldb)); \
  }
SEMCACHE_CBLAS_DTRMM(cblas_strmm, s_types, std::int32_t)
SEMCACHE_CBLAS_DTRMM(cblas_dtrmm, d_types, std::int32_t)
SEMCACHE_CBLAS_DTRMM(cblas_ctrmm, c_types, std::int32_t)
SEMCACHE_CBLAS_DTRMM(cblas_ztrmm, z_types, std::int32_t)
SEMCACHE_CBLAS_DTRMM(scipy_cblas_strmm, s_types, std::int32_t)
SEMCACHE_CBLAS_DTRMM(scipy_cblas_dtrmm, d_types, std::int32_t)
SEMCACHE_CBLAS_DTRMM(scipy_cblas_ctrmm, c_types, std::int32_t)
SEMCACHE_CBLAS_DTRMM(scipy_cblas_ztrmm, z_types, std::int32_t)
SEMCACHE_CBLAS_DTRMM(cblas_strmm64_, s_types, std::int64_t)
SEMCACHE_CBLAS_DTRMM(cblas_dtrmm64_, d_types, std::int64_t)
SEMCACHE_CBLAS_DTRMM(cblas_ctrmm64_, c_types, std::int64_t)
SEMCACHE_CBLAS_DTRMM(cblas_ztrmm64_, z_types, std::int64_t)
SEMCACHE_CBLAS_DTRMM(scipy_cblas_strmm64_, s_types, std::int64_t)
SEMCACHE_CBLAS_DTRMM(scipy_cblas_dtrmm64_, d_types, std::int64_t)
SEMCACHE_CBLAS_DTRMM(scipy_cblas_ctrmm64_, c_types, std::int64_t)
SEMCACHE_CBLAS_DTRMM(scipy_cblas_ztrmm64_, z_types, std::int64_t)
#define SEMCACHE_DTRSM_(symbol, P, Int) \
  static HostFunction host_of_##symbol(#symbol, sizeof(Int)); \
  static const EarlySearch search_for_##symbol(host_of_##symbol); \
  void symbol(const char* side, const char* uplo, const char* transa, const char* diag, const void* m, const void* n, const P::scalar* alpha, \
    const P::scalar* a, const void* lda, P::scalar* b, const void* ldb) { \
    const HostFunction::Found host = host_of_##symbol.of(SEMCACHE_CALLER); \
    if (host.is_wide) return wrap_dtrsm_<P, std::int64_t>(host.function, side, uplo, transa, diag, integer<std::int64_t>(m), integer<std::int64_t>(n), alpha, a, \
        integer<std::int64_t>(lda), b, integer<std::int64_t>(ldb)); \
    return wrap_dtrsm_<P, Int>(host.function, side, uplo, transa, diag, integer<Int>(m), integer<Int>(n), alpha, a, integer<Int>(lda), b, \
        integer<Int>(ldb)); \
  }
SEMCACHE_DTRSM_(strsm_, s_types, std::int32_t)
SEMCACHE_DTRSM_(dtrsm_, d_types, std::int32_t)
SEMCACHE_DTRSM_(ctrsm_, c_types, std::int32_t)
SEMCACHE_DTRSM_(ztrsm_, z_types, std::int32_t)
SEMCACHE_DTRSM_(scipy_strsm_, s_types, std::int32_t)
SEMCACHE_DTRSM_(scipy_dtrsm_, d_types, std::int32_t)
SEMCACHE_DTRSM_(scipy_ctrsm_, c_types, std::int32_t)
SEMCACHE_DTRSM_(scipy_ztrsm_, z_types, std::int32_t)
SEMCACHE_DTRSM_(strsm_64_, s_types, std::int64_t)
SEMCACHE_DTRSM_(dtrsm_64_, d_types, std::int64_t)
SEMCACHE_DTRSM_(ctrsm_64_, c_types, std::int64_t)
SEMCACHE_DTRSM_(ztrsm_64_, z_types, std::int64_t)
SEMCACHE_DTRSM_(scipy_strsm_64_, s_types, std::int64_t)
SEMCACHE_DTRSM_(scipy_dtrsm_64_, d_types, std::int64_t)
SEMCACHE_DTRSM_(scipy_ctrsm_64_, c_types, std::int64_t)
SEMCACHE_DTRSM_(scipy_ztrsm_64_, z_types, std::int64_t)
#define SEMCACHE_CBLAS_DTRSM(symbol, P, Int) \
  static HostFunction host_of_##symbol(#symbol, sizeof(Int)); \
  static const EarlySearch search_for_##symbol(host_of_##symbol); \
  void symbol(int order, int side, int uplo, int transa, int diag, std::int64_t m, std::int64_t n, P::value alpha, const P::scalar* a, \
    std::int64_t lda, P::scalar* b, std::int64_t ldb) { \
    const HostFunction::Found host = host_of_##symbol.of(SEMCACHE_CALLER); \
    if (host.is_wide) return wrap_cblas_dtrsm<P, std::int64_t>(host.function, order, side, uplo, transa, diag, integer<std::int64_t>(m), integer<std::int64_t>(n), alpha, \
        a, integer<std::int64_t>(lda), b, integer<std::int64_t>(ldb)); \
    return wrap_cblas_dtrsm<P, Int>(host.function, order, side, uplo, transa, diag, integer<Int>(m), integer<Int>(n), alpha, a, integer<Int>(lda), \
        b, integer<Int>(ldb)); \
  }
SEMCACHE_CBLAS_DTRSM(cblas_strsm, s_types, std::int32_t)
SEMCACHE_CBLAS_DTRSM(cblas_dtrsm, d_types, std::int32_t)
SEMCACHE_CBLAS_DTRSM(cblas_ctrsm, c_types, std::int32_t)
SEMCACHE_CBLAS_DTRSM(cblas_ztrsm, z_types, std::int32_t)
SEMCACHE_CBLAS_DTRSM(scipy_cblas_strsm, s_types, std::int32_t)
SEMCACHE_CBLAS_DTRSM(scipy_cblas_dtrsm, d_types, std::int32_t)
SEMCACHE_CBLAS_DTRSM(scipy_cblas_ctrsm, c_types, std::int32_t)
SEMCACHE_CBLAS_DTRSM(scipy_cblas_ztrsm, z_types, std::int32_t)
SEMCACHE_CBLAS_DTRSM(cblas_strsm64_, s_types, std::int64_t)
SEMCACHE_CBLAS_DTRSM(cblas_dtrsm64_, d_types, std::int64_t)
SEMCACHE_CBLAS_DTRSM(cblas_ctrsm64_, c_types, std::int64_t)
SEMCACHE_CBLAS_DTRSM(cblas_ztrsm64_, z_types, std::int64_t)
SEMCACHE_CBLAS_DTRSM(scipy_cblas_strsm64_, s_types, std::int64_t)
SEMCACHE_CBLAS_DTRSM(scipy_cblas_dtrsm64_, d_types, std::int64_t)
SEMCACHE_CBLAS_DTRSM(scipy_cblas_ctrsm64_, c_types, std::int64_t)
SEMCACHE_CBLAS_DTRSM(scipy_cblas_ztrsm64_, z_types, std::int64_t)
}
#pragma GCC visibility pop
