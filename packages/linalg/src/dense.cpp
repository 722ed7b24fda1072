// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "library.hpp"

#include <semcache/linalg/dense.hpp>
#include <semcache/linalg/spread.hpp>

#include <semcache/tasks/tasks.hpp>

#include <algorithm>
#include <limits>
#include <string>
#include <type_traits>

namespace semcache::linalg {

namespace {

using policy::Task;
using tasks::Matrix;
using tasks::Operand;

// What GPUs of the day do; only the order of magnitude matters (`policy::devices_that_pay`).
constexpr double flops_per_second = 5e13;
constexpr double bytes_per_second = 3e12;

template <class T>
constexpr double flops_of_product = std::is_floating_point_v<T> ? 2.0 : 8.0;

void expect_size(const char* routine, const char* name, std::int64_t size) {
  SEMCACHE_EXPECTS(size >= 0 && size <= std::numeric_limits<std::int32_t>::max(),
                   std::string("linalg::") + routine + ": " + name + " is " + std::to_string(size) + "; it must be between 0 and 2147483647");
}

/// Checks an operand's leading dimension, and describes the operand.
Matrix matrix(const char* routine, const char* name, const void* data, std::int64_t rows, std::int64_t columns, std::int64_t leading,
              std::size_t element_bytes) {
  expect_size(routine, "a leading dimension", leading);
  SEMCACHE_EXPECTS(leading >= std::max<std::int64_t>(1, rows),
                   std::string("linalg::") + routine + ": the leading dimension of " + name + " is " + std::to_string(leading) +
                       ", but it has " + std::to_string(rows) + " rows: it must be at least max(1, rows)");
  return {data, static_cast<std::uint64_t>(rows), static_cast<std::uint64_t>(columns), static_cast<std::uint64_t>(leading),
          static_cast<std::uint32_t>(element_bytes)};
}

std::size_t devices_for(const Options& o, double seconds_on_one) {
  (void)runtime::device_ordinal(0);  // starts the runtime
  const auto all = static_cast<std::size_t>(device_count());
  return policy::devices_that_pay(o.spread, seconds_on_one, o.devices == 0 ? all : std::min(o.devices, all));
}

std::uint64_t rows_of(const Rectangle& r) noexcept { return r.row_end - r.row_begin; }
std::uint64_t columns_of(const Rectangle& r) noexcept { return r.column_end - r.column_begin; }

/// For each share of a product, the device that holds most of what only this share uses: its part of the result, and of the operand that is cut.
std::vector<std::uint32_t> devices_of_shares(const policy::Product& p, const policy::Grid& grid, const std::vector<Matrix>& operands) {
  const std::vector<policy::Run> rows = policy::cut_evenly(p.m, grid.rows), columns = policy::cut_evenly(p.n, grid.columns);
  std::vector<Rectangle> results, inputs;
  const bool by_columns = columns.size() > 1;
  for (const policy::Run& c : columns) {
    for (const policy::Run& r : rows) {
      results.push_back({r.begin, r.end, c.begin, c.end});
      const Rectangle of_b = p.transpose_b ? Rectangle{c.begin, c.end, 0, p.k} : Rectangle{0, p.k, c.begin, c.end};
      const Rectangle of_a = p.transpose_a ? Rectangle{0, p.k, r.begin, r.end} : Rectangle{r.begin, r.end, 0, p.k};
      inputs.push_back(by_columns ? of_b : of_a);
    }
  }
  std::vector<std::vector<std::uint64_t>> held = tasks::held_bytes(operands[by_columns ? 1 : 0], inputs);
  if (p.reads_c) {
    const std::vector<std::vector<std::uint64_t>> of_c = tasks::held_bytes(operands[2], results);
    for (std::size_t s = 0; s < held.size(); ++s) {
      for (std::size_t d = 0; d < held[s].size(); ++d) held[s][d] += of_c[s][d];
    }
  }
  return policy::assign(held);
}

/// Tasks of fewer columns than this do not use a GPU well.
constexpr std::uint64_t least_columns = 512;

}  // namespace

template <class T>
void gemm(Transpose transpose_a, Transpose transpose_b, std::int64_t m, std::int64_t n, std::int64_t k, T alpha, const T* a, std::int64_t lda,
          const T* b, std::int64_t ldb, T beta, T* c, std::int64_t ldc) {
  expect_size("gemm", "m", m);
  expect_size("gemm", "n", n);
  expect_size("gemm", "k", k);
  const bool ta = transpose_a != Transpose::no, tb = transpose_b != Transpose::no;
  if (alpha == T(0)) k = 0;  // A and B are not read then
  std::vector<Matrix> operands{matrix("gemm", "A", a, ta ? k : m, ta ? m : k, lda, sizeof(T)),
                               matrix("gemm", "B", b, tb ? n : k, tb ? k : n, ldb, sizeof(T)),
                               matrix("gemm", "C", c, m, n, ldc, sizeof(T))};
  if (m == 0 || n == 0 || (k == 0 && beta == T(1))) return;
  const policy::Product product{operands[2].rows, operands[2].columns, static_cast<std::uint64_t>(k), ta, tb, beta != T(0)};
  const Options o = options();
  const double flops = flops_of_product<T> * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(std::max<std::int64_t>(k, 1));
  const policy::Grid grid = policy::grid_of(product, devices_for(o, flops / flops_per_second));
  const std::uint64_t columns_of_share = (product.n + grid.columns - 1) / grid.columns;
  const std::size_t pieces = o.pieces != 0 ? o.pieces : static_cast<std::size_t>(std::clamp<std::uint64_t>(columns_of_share / least_columns, 1, 8));
  const std::vector<Task> cut = policy::cut(product, grid, devices_of_shares(product, grid, operands), pieces, tasks::lanes_of_device);
  Library& compute = library();
  tasks::run(cut, operands, [&](const runtime::Stream& stream, const Task& task, const Operand* at) {
    const Rectangle& result = task.parts[2].where;
    compute.gemm(stream, scalar_of<T>, static_cast<char>(transpose_a), static_cast<char>(transpose_b),
                 static_cast<std::int32_t>(rows_of(result)), static_cast<std::int32_t>(columns_of(result)), static_cast<std::int32_t>(k),
                 &alpha, at[0].data, static_cast<std::int32_t>(std::max<std::uint64_t>(at[0].leading, k == 0 ? operands[0].leading : 1)),
                 at[1].data, static_cast<std::int32_t>(std::max<std::uint64_t>(at[1].leading, k == 0 ? operands[1].leading : 1)), &beta,
                 at[2].data, static_cast<std::int32_t>(at[2].leading));
  });
}

template <class T>
void axpby(std::int64_t n, T alpha, const T* x, T beta, T* y) {
  SEMCACHE_EXPECTS(n >= 0, "linalg::axpby: n is " + std::to_string(n) + "; it must not be negative");
  if (n == 0) return;
  const auto count = static_cast<std::uint64_t>(n);
  const std::vector<Matrix> operands{{x, count, 1, count, sizeof(T)}, {y, count, 1, count, sizeof(T)}};
  const Options o = options();
  const std::size_t devices = devices_for(o, 3.0 * sizeof(T) * static_cast<double>(n) / bytes_per_second);
  // Where the vectors lie already, otherwise evenly; on lines of the cache, so that no two devices write one.
  std::vector<policy::Held> runs;
  if (beta != T(0)) runs = policy::cut_as_held(count, tasks::held_elements(operands[1]), devices);
  if (runs.empty()) runs = policy::cut_as_held(count, tasks::held_elements(operands[0]), devices);
  if (runs.empty()) {
    constexpr std::uint64_t line = 256 / sizeof(T);
    for (const policy::Run& r : policy::cut_evenly(count, devices, count / devices >= line ? line : 1)) {
      runs.push_back({r, static_cast<std::uint32_t>(runs.size())});
    }
  }
  const std::vector<Task> cut = policy::cut(runs, {Access::read, beta == T(0) ? Access::overwrite : Access::read_write});
  Library& compute = library();
  tasks::run(cut, operands, [&](const runtime::Stream& stream, const Task& task, const Operand* at) {
    const std::uint64_t all = rows_of(task.parts[1].where);
    constexpr std::uint64_t most = std::uint64_t{1} << 30;  // the library's sizes have 32 bits
    for (std::uint64_t done = 0; done < all; done += most) {
      const auto some = static_cast<std::int32_t>(std::min(most, all - done));
      const T* const from = static_cast<const T*>(at[0].data) + done;
      T* const to = static_cast<T*>(at[1].data) + done;
      if (beta == T(0)) {
        compute.copy(stream, scalar_of<T>, some, from, to);
        if (alpha != T(1)) compute.scal(stream, scalar_of<T>, some, &alpha, to);
      } else {
        if (beta != T(1)) compute.scal(stream, scalar_of<T>, some, &beta, to);
        compute.axpy(stream, scalar_of<T>, some, &alpha, from, to);
      }
    }
  });
}

#define SEMCACHE_LINALG_INSTANTIATE(T)                                                                                                       \
  template SEMCACHE_API void gemm(Transpose, Transpose, std::int64_t, std::int64_t, std::int64_t, T, const T*, std::int64_t, const T*,       \
                                  std::int64_t, T, T*, std::int64_t);                                                                        \
  template SEMCACHE_API void axpby(std::int64_t, T, const T*, T, T*);
SEMCACHE_LINALG_INSTANTIATE(float)
SEMCACHE_LINALG_INSTANTIATE(double)
SEMCACHE_LINALG_INSTANTIATE(std::complex<float>)
SEMCACHE_LINALG_INSTANTIATE(std::complex<double>)

}  // namespace semcache::linalg
