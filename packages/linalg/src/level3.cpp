// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "own_cut.hpp"
#include "stand_ins.hpp"

#include <semcache/linalg/dense.hpp>
#include <semcache/policy/level3.hpp>

#include <algorithm>
#include <initializer_list>
#include <string>
#include <type_traits>

/// BLAS level 3 but for gemm. All calls go through `carry_out`; `policy::Level3` describes how they are cut.
namespace semcache::linalg {

namespace {

using policy::Independent;
using policy::Level3;

struct Choice {
  char letter;
  const char* name;
};
constexpr Choice transpose_no{'N', "Transpose::no"}, transpose_yes{'T', "Transpose::yes"}, transpose_conjugate{'C', "Transpose::conjugate"};

void expect_choice(const char* routine, const char* name, char value, std::initializer_list<Choice> choices) {
  std::string allowed;
  for (const Choice& c : choices) {
    if (c.letter == value) return;
    allowed += (allowed.empty() ? "" : " or ") + std::string(c.name);
  }
  const bool is_letter = (value >= 'A' && value <= 'Z') || (value >= 'a' && value <= 'z');
  throw UsageError(std::string("linalg::") + routine + ": " + name + " is " +
                   (is_letter ? std::string("'") + value + "'" : std::to_string(static_cast<int>(value))) + "; it must be " + allowed);
}
void expect_side(const char* routine, Side side) {
  expect_choice(routine, "the side", static_cast<char>(side), {{'L', "Side::left"}, {'R', "Side::right"}});
}
void expect_triangle(const char* routine, Triangle triangle) {
  expect_choice(routine, "the triangle", static_cast<char>(triangle), {{'U', "Triangle::upper"}, {'L', "Triangle::lower"}});
}

/// For each share of a call, the device that holds most of what only this share uses. (Others may use some inputs of a triangle, too.)
std::vector<std::uint32_t> devices_of_shares(const Level3& call, const std::vector<policy::Run>& shares, const std::vector<Matrix>& operands,
                                             const std::vector<std::uint32_t>& among) {
  std::vector<std::uint32_t> in_order(shares.size());
  for (std::uint32_t s = 0; s < in_order.size(); ++s) in_order[s] = s;
  const std::vector<Task> whole = policy::cut(call, shares, in_order, 1, std::vector<std::uint64_t>(shares.size(), UINT64_MAX), 1);
  std::vector<std::vector<std::uint64_t>> held(shares.size());
  for (std::size_t part = call.is_triangle() ? 0 : 1; part < whole.front().parts.size(); ++part) {  // every share needs all of A
    std::vector<Rectangle> parts;
    for (const Task& t : whole) parts.push_back(t.parts[part].mode == Access::overwrite ? Rectangle{} : t.parts[part].where);
    const std::vector<std::vector<std::uint64_t>> of_part = tasks::held_bytes(operands[whole.front().parts[part].operand], parts);
    for (std::size_t s = 0; s < held.size(); ++s) {
      held[s].resize(of_part[s].size(), 0);
      for (std::size_t d = 0; d < of_part[s].size(); ++d) held[s][d] += of_part[s][d];
    }
  }
  return policy::assign(held, among);
}

/// The devices that have room for all of A, and for one column or row of each other operand.
std::vector<std::uint32_t> devices_with_room(const Level3& call, std::uint64_t element_bytes) {
  const std::uint64_t of_a = call.is_triangle() ? 0 : call.k * call.k * element_bytes;
  const std::uint64_t line = (call.independent == Independent::rows ? call.n : call.m) * element_bytes;
  return policy::devices_with_room(memory_of_devices(), {of_a, of_a == 0 ? 0 : line, call.inputs == 0 || of_a == 0 ? 0 : line});
}

/// Cuts a call whose result is not empty, and runs its tasks. @param body  computes a task: (library, stream, task, operands)
template <class Body>
void carry_out(const char* routine, Scalar type, const Level3& call, std::vector<Matrix> operands, double seconds_on_one, const Body& body) {
  const Options o = options();
  constexpr const char* names[] = {"A", "B", "C"};
  const std::uint32_t first_cut = call.is_triangle() ? 0 : 1;  // the triangle of a matrix that is not cut may lie beside another one
  for (std::uint32_t i = first_cut; i < call.result() && call.k > 0; ++i) expect_apart(routine, names[i], operands[i], "C", operands[call.result()]);
  std::vector<ProductOperand> of_product;
  std::vector<OperandUse> uses;
  for (std::uint32_t i = 0; i < operands.size(); ++i) {
    const bool is_result = i == call.result();
    if (!is_result && call.k == 0) continue;  // it is not read
    const Access mode = !is_result ? Access::read : call.reads_result ? Access::read_write : Access::overwrite;
    of_product.push_back({&operands[i], call.is_triangle() ? !is_result : i == 0, mode});
    // A block on the diagonal has elements of the other triangle, which keep their content.
    uses.push_back({&operands[i], is_result && call.is_triangle() ? Access::read_write : mode});
  }
  StandIns stand_ins(uses);
  const bool by_rows = call.independent == Independent::rows;
  const std::vector<Share> own = own_cut(o, routine, operands[call.result()], by_rows ? ShareForm::rows : ShareForm::columns, of_product);
  std::vector<policy::Run> shares;
  std::vector<std::uint32_t> device_of_share;
  for (const Share& s : own) {
    shares.push_back(by_rows ? policy::Run{s.where.row_begin, s.where.row_end} : policy::Run{s.where.column_begin, s.where.column_end});
    device_of_share.push_back(s.device);
  }
  if (own.empty()) {
    const std::vector<std::uint32_t> able = devices_with_room(call, operands[0].element_bytes);
    shares = policy::shares_of(call, std::min(able.size(), devices_for(o, seconds_on_one, of_product)));
    device_of_share = devices_of_shares(call, shares, operands, able);
  }
  const std::size_t pieces = pieces_of_share(o, ((by_rows ? call.m : call.n) + shares.size() - 1) / shares.size());
  std::vector<std::uint64_t> room;
  for (const std::uint32_t device : device_of_share) room.push_back(task_bytes(device) / operands[0].element_bytes * 3);
  const std::vector<Task> cut = policy::cut(call, shares, device_of_share, pieces, room, tasks::lanes_of_device);
  note_call(routine, type, [&] { return std::to_string(call.m) + " x " + std::to_string(call.n) + " x " + std::to_string(call.k); }, cut,
            own.empty() ? why_so_many(o) : why_own_cut);
  Library& compute = library();
  tasks::run(cut, operands, [&](const runtime::Stream& stream, const Task& task, const Operand* at) { body(compute, stream, task, at); });
  stand_ins.write_back();
}

std::int32_t size(std::uint64_t n) noexcept { return static_cast<std::int32_t>(n); }
double multiplications(std::int64_t a, std::int64_t b, std::int64_t c) noexcept {
  return static_cast<double>(a) * static_cast<double>(b) * static_cast<double>(std::max<std::int64_t>(c, 1));
}

/// The result becomes beta times itself, by a product of no terms.
template <class T>
void scale(Library& compute, const runtime::Stream& stream, const Rectangle& where, const T& beta, const Operand& at) {
  const T none(0);
  compute.gemm(stream, scalar_of<T>, 'N', 'N', size(rows_of(where)), size(columns_of(where)), 0, &none, nullptr, size(rows_of(where)), nullptr, 1,
                 &beta, at.data, size(at.leading));
}

template <class T>
void symmetric_product(const char* routine, bool hermitian, Side side, Triangle triangle, std::int64_t m, std::int64_t n, T alpha, const T* a,
                       std::int64_t lda, const T* b, std::int64_t ldb, T beta, T* c, std::int64_t ldc) {
  expect_side(routine, side);
  expect_triangle(routine, triangle);
  expect_size(routine, "m", m);
  expect_size(routine, "n", n);
  const bool left = side == Side::left;
  const std::int64_t order = left ? m : n;
  const std::vector<Matrix> operands{matrix(routine, "A", a, order, order, lda, sizeof(T)), matrix(routine, "B", b, m, n, ldb, sizeof(T)),
                                     matrix(routine, "C", c, m, n, ldc, sizeof(T))};
  if (m == 0 || n == 0 || (alpha == T(0) && beta == T(1))) return;
  const Level3 call{left ? Independent::columns : Independent::rows, operands[2].rows, operands[2].columns,
                    alpha == T(0) ? 0 : operands[0].rows, 1, false, beta != T(0)};
  const double seconds = seconds_of_product<T>(multiplications(m, n, order));
  const auto body = [&](Library& compute, const runtime::Stream& stream, const Task& task, const Operand* at) {
    const Rectangle& result = task.parts[2].where;
    if (call.k == 0) return scale(compute, stream, result, beta, at[2]);
    compute.symm(stream, scalar_of<T>, hermitian, static_cast<char>(side), static_cast<char>(triangle), size(rows_of(result)),
                   size(columns_of(result)), &alpha, at[0].data, size(at[0].leading), at[1].data, size(at[1].leading), &beta, at[2].data,
                   size(at[2].leading));
  };
  carry_out(routine, scalar_of<T>, call, operands, seconds, body);
}

template <class T>
void triangular(const char* routine, decltype(&Library::trsm) routine_of_library, Side side, Triangle triangle, Transpose transpose,
                Diagonal diagonal, std::int64_t m, std::int64_t n, T alpha, const T* a, std::int64_t lda, T* b, std::int64_t ldb) {
  expect_side(routine, side);
  expect_triangle(routine, triangle);
  expect_choice(routine, "the transpose", static_cast<char>(transpose), {transpose_no, transpose_yes, transpose_conjugate});
  expect_choice(routine, "the diagonal", static_cast<char>(diagonal), {{'N', "Diagonal::non_unit"}, {'U', "Diagonal::unit"}});
  expect_size(routine, "m", m);
  expect_size(routine, "n", n);
  const bool left = side == Side::left;
  const std::int64_t order = left ? m : n;
  const std::vector<Matrix> operands{matrix(routine, "A", a, order, order, lda, sizeof(T)), matrix(routine, "B", b, m, n, ldb, sizeof(T))};
  if (m == 0 || n == 0) return;
  const Level3 call{left ? Independent::columns : Independent::rows, operands[1].rows, operands[1].columns,
                    alpha == T(0) ? 0 : operands[0].rows, 0, false, alpha != T(0)};
  const double seconds = seconds_of_product<T>(multiplications(m, n, order)) / 2;
  const auto body = [&](Library& compute, const runtime::Stream& stream, const Task& task, const Operand* at) {
    const Rectangle& result = task.parts[1].where;
    if (call.k == 0) return scale(compute, stream, result, T(0), at[1]);
    (compute.*routine_of_library)(stream, scalar_of<T>, static_cast<char>(side), static_cast<char>(triangle), static_cast<char>(transpose),
                         static_cast<char>(diagonal), size(rows_of(result)), size(columns_of(result)), &alpha, at[0].data, size(at[0].leading),
                         at[1].data, size(at[1].leading));
  };
  carry_out(routine, scalar_of<T>, call, operands, seconds, body);
}

/// syrk, herk, syr2k and her2k. Where Hermitian, beta is real, and without B alpha is, too.
template <class T>
void update(const char* routine, bool hermitian, Triangle triangle, Transpose transpose, std::int64_t n, std::int64_t k, T alpha,
            std::initializer_list<const T*> inputs, std::initializer_list<std::int64_t> leading, T beta, T* c, std::int64_t ldc) {
  expect_triangle(routine, triangle);
  const auto letter = static_cast<char>(transpose);
  if (hermitian) {
    expect_choice(routine, "the transpose", letter, {transpose_no, transpose_conjugate});
  } else if (std::is_floating_point_v<T>) {
    expect_choice(routine, "the transpose", letter, {transpose_no, transpose_yes, transpose_conjugate});
  } else {
    expect_choice(routine, "the transpose", letter, {transpose_no, transpose_yes});
  }
  expect_size(routine, "n", n);
  expect_size(routine, "k", k);
  const bool transposed = transpose != Transpose::no, two = inputs.size() == 2;
  std::vector<Matrix> operands;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    operands.push_back(matrix(routine, i == 0 ? "A" : "B", inputs.begin()[i], transposed ? k : n, transposed ? n : k, leading.begin()[i], sizeof(T)));
  }
  operands.push_back(matrix(routine, "C", c, n, n, ldc, sizeof(T)));
  if (alpha == T(0)) k = 0;  // the inputs are not read then
  if (n == 0 || (k == 0 && beta == T(1))) return;
  const auto order = static_cast<std::uint64_t>(n);
  const Level3 call{triangle == Triangle::lower ? Independent::columns_of_lower : Independent::columns_of_upper, order, order,
                    static_cast<std::uint64_t>(k), static_cast<std::uint32_t>(inputs.size()), transposed, beta != T(0)};
  // A real number lies where its complex one begins.
  const char crossed = hermitian ? 'C' : 'T', first = transposed ? crossed : 'N', second = transposed ? 'N' : crossed;
  T alpha_of_second = alpha;
  if constexpr (!std::is_floating_point_v<T>) alpha_of_second = hermitian ? std::conj(alpha) : alpha;
  const T one(1);
  const double seconds = seconds_of_product<T>(multiplications(n, n, k)) / (two ? 1 : 2);
  const auto body = [&](Library& compute, const runtime::Stream& stream, const Task& task, const Operand* at) {
    // For each input the rows that belong to the columns of the result, and those that belong to its rows; the block on the diagonal; the rest.
    const std::size_t block = inputs.size() * 2, rest = block + 1;
    // Leading dimensions fit although no input is used.
    const auto leading_of = [&](std::size_t part) {
      return size(std::max(at[part].leading, k == 0 ? operands[task.parts[part].operand].leading : 1));
    };
    if (const Rectangle& c_block = task.parts[block].where; !c_block.empty()) {
      const std::int32_t columns = size(columns_of(c_block));
      if (two) {
        compute.syr2k(stream, scalar_of<T>, hermitian, static_cast<char>(triangle), first, columns, size(call.k), &alpha, at[0].data, leading_of(0),
                      at[2].data, leading_of(2), &beta, at[block].data, size(at[block].leading));
      } else {
        compute.syrk(stream, scalar_of<T>, hermitian, static_cast<char>(triangle), first, columns, size(call.k), &alpha, at[0].data, leading_of(0),
                     &beta, at[block].data, size(at[block].leading));
      }
    }
    const Rectangle& c_rest = task.parts[rest].where;
    if (c_rest.empty()) return;
    const auto product = [&](std::size_t of_rows, std::size_t of_columns, const T& factor, const T& factor_of_c) {
      compute.gemm(stream, scalar_of<T>, first, second, size(rows_of(c_rest)), size(columns_of(c_rest)), size(call.k), &factor, at[of_rows].data,
                   leading_of(of_rows), at[of_columns].data, leading_of(of_columns), &factor_of_c, at[rest].data, size(at[rest].leading));
    };
    if (two) {
      product(1, 2, alpha, beta);
      product(3, 0, alpha_of_second, one);
    } else {
      product(1, 0, alpha, beta);
    }
  };
  carry_out(routine, scalar_of<T>, call, operands, seconds, body);
}

}  // namespace

template <class T>
void symm(Side side, Triangle triangle, std::int64_t m, std::int64_t n, T alpha, const T* a, std::int64_t lda, const T* b, std::int64_t ldb,
          T beta, T* c, std::int64_t ldc) {
  symmetric_product("symm", false, side, triangle, m, n, alpha, a, lda, b, ldb, beta, c, ldc);
}
template <class Real>
void hemm(Side side, Triangle triangle, std::int64_t m, std::int64_t n, std::complex<Real> alpha, const std::complex<Real>* a, std::int64_t lda,
          const std::complex<Real>* b, std::int64_t ldb, std::complex<Real> beta, std::complex<Real>* c, std::int64_t ldc) {
  symmetric_product("hemm", true, side, triangle, m, n, alpha, a, lda, b, ldb, beta, c, ldc);
}
template <class T>
void trmm(Side side, Triangle triangle, Transpose transpose, Diagonal diagonal, std::int64_t m, std::int64_t n, T alpha, const T* a,
          std::int64_t lda, T* b, std::int64_t ldb) {
  triangular("trmm", &Library::trmm, side, triangle, transpose, diagonal, m, n, alpha, a, lda, b, ldb);
}
template <class T>
void trsm(Side side, Triangle triangle, Transpose transpose, Diagonal diagonal, std::int64_t m, std::int64_t n, T alpha, const T* a,
          std::int64_t lda, T* b, std::int64_t ldb) {
  triangular("trsm", &Library::trsm, side, triangle, transpose, diagonal, m, n, alpha, a, lda, b, ldb);
}
template <class T>
void syrk(Triangle triangle, Transpose transpose, std::int64_t n, std::int64_t k, T alpha, const T* a, std::int64_t lda, T beta, T* c,
          std::int64_t ldc) {
  update<T>("syrk", false, triangle, transpose, n, k, alpha, {a}, {lda}, beta, c, ldc);
}
template <class Real>
void herk(Triangle triangle, Transpose transpose, std::int64_t n, std::int64_t k, Real alpha, const std::complex<Real>* a, std::int64_t lda,
          Real beta, std::complex<Real>* c, std::int64_t ldc) {
  update<std::complex<Real>>("herk", true, triangle, transpose, n, k, alpha, {a}, {lda}, beta, c, ldc);
}
template <class T>
void syr2k(Triangle triangle, Transpose transpose, std::int64_t n, std::int64_t k, T alpha, const T* a, std::int64_t lda, const T* b,
           std::int64_t ldb, T beta, T* c, std::int64_t ldc) {
  update<T>("syr2k", false, triangle, transpose, n, k, alpha, {a, b}, {lda, ldb}, beta, c, ldc);
}
template <class Real>
void her2k(Triangle triangle, Transpose transpose, std::int64_t n, std::int64_t k, std::complex<Real> alpha, const std::complex<Real>* a,
           std::int64_t lda, const std::complex<Real>* b, std::int64_t ldb, Real beta, std::complex<Real>* c, std::int64_t ldc) {
  update<std::complex<Real>>("her2k", true, triangle, transpose, n, k, alpha, {a, b}, {lda, ldb}, beta, c, ldc);
}

#define SEMCACHE_LINALG_INSTANTIATE(T)                                                                                                        \
  template SEMCACHE_API void symm(Side, Triangle, std::int64_t, std::int64_t, T, const T*, std::int64_t, const T*, std::int64_t, T, T*,      \
                                  std::int64_t);                                                                                             \
  template SEMCACHE_API void trmm(Side, Triangle, Transpose, Diagonal, std::int64_t, std::int64_t, T, const T*, std::int64_t, T*,            \
                                  std::int64_t);                                                                                             \
  template SEMCACHE_API void trsm(Side, Triangle, Transpose, Diagonal, std::int64_t, std::int64_t, T, const T*, std::int64_t, T*,            \
                                  std::int64_t);                                                                                             \
  template SEMCACHE_API void syrk(Triangle, Transpose, std::int64_t, std::int64_t, T, const T*, std::int64_t, T, T*, std::int64_t);          \
  template SEMCACHE_API void syr2k(Triangle, Transpose, std::int64_t, std::int64_t, T, const T*, std::int64_t, const T*, std::int64_t, T, T*, \
                                   std::int64_t);
#define SEMCACHE_LINALG_INSTANTIATE_HERMITIAN(R)                                                                                             \
  template SEMCACHE_API void hemm(Side, Triangle, std::int64_t, std::int64_t, std::complex<R>, const std::complex<R>*, std::int64_t,         \
                                  const std::complex<R>*, std::int64_t, std::complex<R>, std::complex<R>*, std::int64_t);                    \
  template SEMCACHE_API void herk(Triangle, Transpose, std::int64_t, std::int64_t, R, const std::complex<R>*, std::int64_t, R,               \
                                  std::complex<R>*, std::int64_t);                                                                           \
  template SEMCACHE_API void her2k(Triangle, Transpose, std::int64_t, std::int64_t, std::complex<R>, const std::complex<R>*, std::int64_t,   \
                                   const std::complex<R>*, std::int64_t, R, std::complex<R>*, std::int64_t);
SEMCACHE_LINALG_INSTANTIATE(float)
SEMCACHE_LINALG_INSTANTIATE(double)
SEMCACHE_LINALG_INSTANTIATE(std::complex<float>)
SEMCACHE_LINALG_INSTANTIATE(std::complex<double>)
SEMCACHE_LINALG_INSTANTIATE_HERMITIAN(float)
SEMCACHE_LINALG_INSTANTIATE_HERMITIAN(double)

}  // namespace semcache::linalg
