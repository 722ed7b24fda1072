// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "own_cut.hpp"
#include "pattern.hpp"
#include "stand_ins.hpp"

#include <semcache/linalg/sparse.hpp>

#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <utility>

namespace semcache::linalg {

namespace {

/// The operands of a product, by the numbers that its tasks have for them: the row pointers of 32 bits, the columns and the values of A; Y; X.
template <class T, class Offset>
std::vector<Matrix> operands_of(const Csr<T, Offset>& a, const std::int32_t* row_pointers, const Matrix& x, const Matrix& y) {
  return {vector_of(row_pointers, a.rows + 1), vector_of(a.column_indices, a.entries), vector_of(a.values, a.entries), y, x};
}

/// Returns which rows of X the shares of a product need.
std::vector<Rectangle> needed_of(const Pattern& pattern, const Matrix& x) {
  std::vector<policy::Run> runs;
  for (const Pattern::Share& s : pattern.shares) runs.insert(runs.end(), s.needed.begin(), s.needed.end());
  std::sort(runs.begin(), runs.end(), [](const policy::Run& a, const policy::Run& b) { return a.begin < b.begin; });
  std::vector<Rectangle> needed;
  for (const policy::Run& r : runs) {
    if (needed.empty() || needed.back().row_end < r.begin) needed.push_back({r.begin, r.end, 0, x.columns});
    needed.back().row_end = std::max(needed.back().row_end, r.end);
  }
  if (needed.empty()) needed.push_back({});  // nothing, not all
  return needed;
}

/// What a product uses of its operands.
std::vector<OperandUse> uses_of(const Pattern& pattern, std::vector<Matrix>& operands, Access of_y) {
  policy::Run entries{UINT64_MAX, 0};
  for (const Pattern::Share& s : pattern.shares) entries = {std::min(entries.begin, s.entries.begin), std::max(entries.end, s.entries.end)};
  const std::vector<Rectangle> used{{entries.begin, entries.end, 0, 1}};
  return {{&operands[0], Access::read},
          {&operands[1], Access::read, used},
          {&operands[2], Access::read, used},
          {&operands[3], of_y},
          {&operands[4], Access::read, needed_of(pattern, operands[4])}};
}

/// A matrix that has been cut.
struct CutMatrix {
  std::shared_ptr<const Pattern> pattern;
  const std::int32_t* row_pointers;  ///< of 32 bits
  bool is_own;                       ///< cut as the program wants
};

/// Y = alpha A X + beta Y, for the columns of X and Y.
template <class T, class Offset>
void multiply(const char* routine, T alpha, const Csr<T, Offset>& a, const CutMatrix& of, const std::vector<Matrix>& operands, T beta) {
  const Pattern& pattern = *of.pattern;
  const Matrix &y = operands[3], &x = operands[4];
  std::vector<Task> cut;
  for (const Pattern::Share& s : pattern.shares) {
    const Rectangle of_entries{s.entries.begin, s.entries.end, 0, 1};
    const policy::Run& around = s.around;
    const bool has_room = !s.is_tight && !pattern.room.empty() && 2 * pattern.room[s.device].size() * y.columns * sizeof(T) <= task_bytes(s.device);
    const policy::Run room = has_room ? pattern.room[s.device] : policy::Run{};
    Task task{s.device, static_cast<std::uint32_t>(cut.size()) % tasks::lanes_of_device,
              {{0, {s.rows.begin, s.rows.end + 1, 0, 1}, Access::read}, {1, of_entries, Access::read}, {2, of_entries, Access::read},
               {3, {s.rows.begin, s.rows.end, 0, y.columns}, beta == T(0) ? Access::overwrite : Access::read_write,
                {room.begin, room.end, 0, y.columns}}}};
    for (const policy::Run& r : s.needed) {
      task.parts.push_back({4, {r.begin, r.end, 0, x.columns}, Access::read, {around.begin, around.end, 0, x.columns}});
    }
    cut.push_back(std::move(task));
  }
  const auto shape = [&] {
    const std::string of_matrix = std::to_string(a.rows) + " rows, " + std::to_string(a.entries) + " entries";
    return x.columns > 1 ? of_matrix + ", " + std::to_string(x.columns) + " columns" : of_matrix;
  };
  note_call(routine, scalar_of<T>, shape, cut, of.is_own ? why_own_cut : why_so_many(options()));
  Library& compute = library();
  tasks::run(cut, operands, [&](const runtime::Stream& stream, const Task& task, const Operand* at) {
    // Rows, columns and entries keep their numbers, so the addresses are those of the first ones of all, which may lie in front of the memory.
    const auto base = [&](std::size_t part) {
      const auto* const first = static_cast<const T*>(at[part].data);
      return first == nullptr ? nullptr : first - task.parts[part].where.row_begin;
    };
    const auto* const of_rows = static_cast<const std::int32_t*>(at[0].data);
    const auto* const first_column = static_cast<const std::int32_t*>(at[1].data);
    const auto* const columns = first_column == nullptr ? nullptr : first_column - task.parts[1].where.row_begin;
    const bool needs_x = task.parts.size() > 4;
    const std::uint64_t rows = rows_of(task.parts[3].where), entries = rows_of(task.parts[2].where);
    if (y.columns == 1) {
      compute.spmv(stream, scalar_of<T>, rows, &alpha, of_rows, columns, base(2), entries, pattern.lengths, needs_x ? base(4) : nullptr, &beta,
                   at[3].data);
    } else {
      compute.spmm(stream, scalar_of<T>, rows, static_cast<std::int32_t>(y.columns), &alpha, of_rows, columns, base(2), entries, pattern.lengths,
                   needs_x ? base(4) : nullptr, needs_x ? at[4].leading : 1, &beta, at[3].data, at[3].leading);
    }
  });
}

/// What both products expect of a matrix.
template <class T, class Offset>
void expect_matrix(const char* routine, const Csr<T, Offset>& a) {
  const std::string name = std::string("linalg::") + routine;
  SEMCACHE_EXPECTS(a.rows >= 0 && a.columns >= 0 && a.entries >= 0,
                   name + ": a matrix of " + std::to_string(a.rows) + " rows, " + std::to_string(a.columns) + " columns and " +
                       std::to_string(a.entries) + " entries: none of these may be negative");
  SEMCACHE_EXPECTS(a.entries <= std::numeric_limits<std::int32_t>::max(),
                   name + ": a matrix of " + std::to_string(a.entries) + " entries: it may have 2147483647. Cut it by rows into several matrices");
}

/// What a product with so many vectors takes on one device.
template <class T, class Offset>
double seconds_of(const Csr<T, Offset>& a, std::uint64_t columns) {
  return seconds_of_sparse_product<T>(static_cast<std::uint64_t>(a.rows), static_cast<std::uint64_t>(a.entries)) * static_cast<double>(columns);
}
void note_product(const CutMatrix& of, const Matrix& x, Access of_y, const Matrix& y, double seconds) {
  if (of.is_own) return;
  const Pattern& pattern = *of.pattern;
  const bool needs_x = std::any_of(pattern.shares.begin(), pattern.shares.end(), [](const Pattern::Share& s) { return !s.needed.empty(); });
  const auto has_rows = [](const policy::Run& r) { return r.size() > 0; };
  const auto devices = static_cast<std::size_t>(std::count_if(pattern.rows.begin(), pattern.rows.end(), has_rows));
  if (needs_x) note_spread(y.rows, devices, {{&x, false, Access::read}, {&y, false, of_y}}, seconds);
}

/// Cuts a matrix for as many devices as pay, or as the program wants.
template <class T, class Offset>
CutMatrix cut_for(const char* routine, const Csr<T, Offset>& a, const Matrix& x, const Matrix& y, Access of_y) {
  const std::uint64_t columns = x.columns;
  const auto rows = static_cast<std::uint64_t>(a.rows);
  // Fewer entries are multiplied in less time than two tasks more take the host.
  constexpr std::uint64_t least_split = std::uint64_t{8} << 20;
  const Options o = options();
  const Matrix values = vector_of(a.values, a.entries);
  // Vectors are cut as the matrix is, and sums of these are cut between blocks.
  const std::vector<Share> own = own_cut(o, routine, y, ShareForm::run_of_rows,
                                         {{&values, false, Access::read}, {&x, false, Access::read}, {&y, false, of_y}},
                                         policy::block_elements(rows));
  const std::size_t devices = own.empty() ? devices_for_sparse(o, rows, seconds_of<T>(a, columns)) : own.size();
  const std::shared_ptr<const Pattern> pattern =
      pattern_of({a.row_pointers, sizeof(Offset), a.column_indices, rows, static_cast<std::uint64_t>(a.columns), a.entries},
                 devices, rows_of_shares(own), memory_of_devices(), sizeof(T), o.spread == Spread::always ? 0 : least_split);
  note_cut(pattern->rows, pattern->room, (sizeof(T) + sizeof(std::int32_t)) * static_cast<double>(a.entries));
  if constexpr (sizeof(Offset) == sizeof(std::int32_t)) return {pattern, a.row_pointers, !own.empty()};
  else return {pattern, pattern->row_pointers->data(), !own.empty()};
}

}  // namespace

template <class T, class Offset>
void spmv(T alpha, const Csr<T, Offset>& a, const T* x, T beta, T* y) {
  expect_matrix("spmv", a);
  if (a.rows == 0) return;
  expect_apart("spmv", "x", vector_of(x, a.columns), "y", vector_of(y, a.rows));
  const Access of_y = beta == T(0) ? Access::overwrite : Access::read_write;
  const CutMatrix cut = cut_for("spmv", a, vector_of(x, a.columns), vector_of(y, a.rows), of_y);
  std::vector<Matrix> operands = operands_of(a, cut.row_pointers, vector_of(x, a.columns), vector_of(y, a.rows));
  StandIns stand_ins(uses_of(*cut.pattern, operands, of_y));
  note_product(cut, operands[4], of_y, operands[3], seconds_of<T>(a, 1));
  multiply("spmv", alpha, a, cut, operands, beta);
  stand_ins.write_back();
}

template <class T, class Offset>
void spmm(std::int64_t columns, T alpha, const Csr<T, Offset>& a, const T* x, std::int64_t ldx, T beta, T* y, std::int64_t ldy) {
  expect_matrix("spmm", a);
  expect_size("spmm", "columns", columns);
  const Matrix given_x = matrix("spmm", "X", x, a.columns, columns, ldx, sizeof(T));
  const Matrix given_y = matrix("spmm", "Y", y, a.rows, columns, ldy, sizeof(T));
  if (a.rows == 0 || columns == 0) return;
  expect_apart("spmm", "X", given_x, "Y", given_y);
  const Access of_y = beta == T(0) ? Access::overwrite : Access::read_write;
  const CutMatrix cut = cut_for("spmm", a, given_x, given_y, of_y);
  const Pattern& pattern = *cut.pattern;
  std::vector<Matrix> operands = operands_of(a, cut.row_pointers, given_x, given_y);
  StandIns stand_ins(uses_of(pattern, operands, of_y));
  const Matrix all_x = operands[4], all_y = operands[3];
  note_product(cut, all_x, of_y, all_y, seconds_of<T>(a, all_x.columns));
  // As many columns at once as a task's memory has room for beside its part of the matrix.
  std::uint64_t at_once = all_x.columns;
  for (const Pattern::Share& s : pattern.shares) {
    const std::uint64_t of_column = std::max<std::uint64_t>(1, pattern.around[s.device].size() + s.rows.size()) * sizeof(T);
    at_once = std::clamp<std::uint64_t>(task_bytes(s.device) / of_column, 1, at_once);
  }
  if (at_once < all_x.columns) {  // none of several products is refused when others have changed Y
    Rectangle of_x{all_x.rows, 0, 0, all_x.columns};
    for (const policy::Run& around : pattern.around) {
      if (around.size() > 0) of_x = {std::min(of_x.row_begin, around.begin), std::max(of_x.row_end, around.end), 0, all_x.columns};
    }
    (void)tasks::held_bytes(all_y, {{0, all_y.rows, 0, all_y.columns}});
    if (of_x.row_begin < of_x.row_end) (void)tasks::held_bytes(all_x, {of_x});
  }
  for (std::uint64_t first = 0; first < all_x.columns; first += at_once) {
    operands[3].columns = operands[4].columns = std::min(at_once, all_x.columns - first);
    operands[3].data = static_cast<const T*>(all_y.data) + first * all_y.leading;
    operands[4].data = static_cast<const T*>(all_x.data) + first * all_x.leading;
    multiply("spmm", alpha, a, cut, operands, beta);
  }
  stand_ins.write_back();
}

#define SEMCACHE_LINALG_INSTANTIATE_FOR(T, Offset)                                                       \
  template SEMCACHE_API void spmv(T, const Csr<T, Offset>&, const T*, T, T*);                            \
  template SEMCACHE_API void spmm(std::int64_t, T, const Csr<T, Offset>&, const T*, std::int64_t, T, T*, std::int64_t);
#define SEMCACHE_LINALG_INSTANTIATE(T)                                                                   \
  SEMCACHE_LINALG_INSTANTIATE_FOR(T, std::int32_t)                                                       \
  SEMCACHE_LINALG_INSTANTIATE_FOR(T, std::int64_t)
SEMCACHE_LINALG_INSTANTIATE(float)
SEMCACHE_LINALG_INSTANTIATE(double)
SEMCACHE_LINALG_INSTANTIATE(std::complex<float>)
SEMCACHE_LINALG_INSTANTIATE(std::complex<double>)

}  // namespace semcache::linalg
