// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors

/// Conjugate gradients for a sparse system (SemCache++, 5.6.3).
#include "run.hpp"

#include <cmath>
#include <limits>
#include <stdexcept>

namespace linalg_miniapps {
namespace {

/// Visits the entries of a matrix row by row: `entry(column, value)`, then `end()`.
template <class Entry, class End>
void visit(const std::string& matrix, std::int64_t n, const Entry& entry, const End& end) {
  if (matrix == "tridiagonal") {
    for (std::int64_t i = 0; i < n; ++i) {
      if (i > 0) entry(i - 1, -1.0);
      entry(i, 2.001);
      if (i + 1 < n) entry(i + 1, -1.0);
      end();
    }
    return;
  }
  for (std::int64_t z = 0; z < n; ++z) {
    for (std::int64_t y = 0; y < n; ++y) {
      for (std::int64_t x = 0; x < n; ++x) {
        const std::int64_t i = (z * n + y) * n + x;
        if (z > 0) entry(i - n * n, -1.0);
        if (y > 0) entry(i - n, -1.0);
        if (x > 0) entry(i - 1, -1.0);
        entry(i, 6.0);
        if (x + 1 < n) entry(i + 1, -1.0);
        if (y + 1 < n) entry(i + n, -1.0);
        if (z + 1 < n) entry(i + n * n, -1.0);
        end();
      }
    }
  }
}

Outcome work(const Options& o, Variant& variant) {
  const bool cube = o.matrix != "tridiagonal";
  const std::int64_t rows = cube ? o.n * o.n * o.n : o.n;
  const std::int64_t entries = cube ? 7 * rows - 6 * o.n * o.n : 3 * rows - 2;
  if (rows >= std::numeric_limits<std::int32_t>::max() || entries > std::numeric_limits<std::int32_t>::max()) {
    throw std::invalid_argument("--n " + std::to_string(o.n) + " gives " + std::to_string(entries) + " entries: there can be 2147483647");
  }
  const auto count = static_cast<std::size_t>(rows);
  const HostArray<std::int32_t> row_pointers(variant, "row pointers", count + 1), columns(variant, "columns", static_cast<std::size_t>(entries));
  const HostArray<double> values(variant, "values", static_cast<std::size_t>(entries)), b(variant, "b", count), x(variant, "x", count);
  std::size_t e = 0, row = 0;
  const auto write = [&](bool pattern) {
    e = row = 0;
    if (pattern) row_pointers[0] = 0;
    b[0] = 0;
    visit(o.matrix, o.n,
          [&](std::int64_t column, double value) {
            if (pattern) columns[e] = static_cast<std::int32_t>(column);
            values[e++] = value;
            b[row] += value;  // so that the solution is 1 everywhere
          },
          [&] {
            ++row;
            if (pattern) row_pointers[row] = static_cast<std::int32_t>(e);
            if (row < count) b[row] = 0;
          });
    for (std::size_t i = 0; i < count; ++i) x[i] = 0;
  };
  const Csr a{rows, rows, entries, row_pointers.data(), columns.data(), values.data()};

  Outcome out;
  out.problem_bytes = 12 * static_cast<std::uint64_t>(entries) + 4 * (count + 1) + 16 * count;
  double rr = 0;
  for (int solve = 0; solve < o.solves; ++solve) {
    write(solve == 0);
    out.seconds.clear();
    out.residuals.clear();
    Iterations iterations(o.iterations, out.seconds, out.residuals);
    rr = o.device_scalars ? variant.cg_with_device_scalars(a, b.data(), x.data(), o.iterations, out.seconds)
                          : variant.cg(a, b.data(), x.data(), iterations);
    if (o.device_scalars) out.residuals.push_back(std::sqrt(rr));
    out.note_solve();
  }
  if (!o.verify) return out;
  // The residual of the recurrence must be that of the solution, computed on the host.
  double squares = 0, scale = 0, sum = 0;
  row = 0;
  visit(o.matrix, o.n, [&](std::int64_t column, double value) { sum += value * x[static_cast<std::size_t>(column)]; },
        [&] {
          squares += (b[row] - sum) * (b[row] - sum);
          scale += b[row] * b[row];
          ++row;
          sum = 0;
        });
  out.error = std::abs(std::sqrt(squares) - std::sqrt(rr)) / std::sqrt(scale);
  out.tolerance = 1e-12;
  return out;
}

}  // namespace
}  // namespace linalg_miniapps

int main(int argc, char** argv) {
  using namespace linalg_miniapps;
  Options defaults;
  defaults.n = 32;
  defaults.iterations = 50;
  defaults.matrix = "7-point";
  constexpr const char* what = "conjugate gradients: --matrix 7-point on a cube of n x n x n points, or tridiagonal of n rows";
  return run(argc, argv, {"cg", what, Kind::sparse, defaults, {"7-point", "tridiagonal"}, &work});
}
