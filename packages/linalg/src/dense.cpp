// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "own_cut.hpp"
#include "stand_ins.hpp"

#include <semcache/linalg/dense.hpp>

#include <algorithm>
#include <atomic>
#include <numeric>

namespace semcache::linalg {

namespace {

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

/// Where A is so large that its arrival takes as long as some tasks compute, the first of these begin with what is there. If devices hold half of A
/// already, the rest arrives soon.
/// @param p  a share, and all of A
policy::Lead lead_of(const policy::Product& p, const policy::Blocking& pieces, const Options& o, std::uint64_t room, const Matrix& a) {
  constexpr policy::Lead lead{4, 16};
  constexpr std::uint64_t large = std::uint64_t{256} << 20;
  if (p.transpose_a || p.k < 2 || o.panels == 1 || pieces.rows > 1 || pieces.terms > 1 || pieces.columns < 2 * lead.pieces) return {};
  const std::uint64_t columns = (p.n / pieces.columns + 1) * lead.pieces;
  if (p.m * p.k + (p.m + p.k) * columns > room) return {};
  const std::uint64_t bytes = p.m * p.k * a.element_bytes;
  if (o.panels == 0 && bytes < large) return {};
  const std::vector<std::uint64_t> by_device = tasks::held_bytes(a, {{0, a.rows, 0, a.columns}}).front();
  if (std::accumulate(by_device.begin(), by_device.end(), std::uint64_t{0}) >= bytes / 2) return {};
  return {lead.pieces, o.panels == 0 ? lead.panels : o.panels};
}

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
  expect_apart("gemm", "A", operands[0], "C", operands[2]);
  expect_apart("gemm", "B", operands[1], "C", operands[2]);
  const policy::Product product{operands[2].rows, operands[2].columns, static_cast<std::uint64_t>(k), ta, tb, beta != T(0)};
  const Access of_c = beta == T(0) ? Access::overwrite : Access::read_write;
  StandIns stand_ins({{&operands[0], Access::read}, {&operands[1], Access::read}, {&operands[2], of_c}});
  const Options o = options();
  const double multiplications = static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(std::max<std::int64_t>(k, 1));
  const bool by_rows = policy::grid_of(product, devices_at_most(o)).rows > 1;  // then A is cut, otherwise B
  const std::vector<ProductOperand> of_product{{&operands[0], !by_rows, Access::read}, {&operands[1], by_rows, Access::read},
                                               {&operands[2], false, of_c}};
  const std::vector<Share> own = own_cut(o, "gemm", operands[2], ShareForm::rectangles, of_product);
  std::vector<policy::Blocking> blockings;
  const auto add_blocking = [&](const policy::Product& share, std::uint32_t device) -> policy::Blocking& {
    return blockings.emplace_back(policy::blocking_that_fits(share, pieces_of_share(o, share.n), memory_of(device), sizeof(T)));
  };
  // A task fills a device, so two lanes suffice: the next task's first thread blocks run beside the last ones of this task. With more, the tasks
  // would end in any order, and who waits for the first results would wait for the last.
  constexpr std::uint32_t lanes = 2;
  std::vector<Task> cut;
  if (!own.empty()) {
    for (const Share& s : own) {
      policy::Product share = product;
      share.m = rows_of(s.where);
      share.n = columns_of(s.where);
      (void)add_blocking(share, s.device);
    }
    cut = policy::cut(product, own, blockings, lanes);
  } else {
    const policy::Grid grid = policy::grid_of(product, devices_for(o, seconds_of_product<T>(multiplications), of_product));
    const policy::Product share = policy::share_of(product, grid);
    const std::vector<std::uint32_t> device_of_share = devices_of_shares(product, grid, operands);
    for (const std::uint32_t device : device_of_share) {
      policy::Blocking& b = add_blocking(share, device);
      if (grid.rows == 1) b.lead = lead_of(share, b, o, task_bytes(device) / sizeof(T), operands[0]);
    }
    cut = policy::cut(product, grid, device_of_share, blockings, lanes);
  }
  // The first task takes the lane behind that of the last product's last task. Behind that task, on its lane, it would begin after the second one.
  static std::atomic<std::uint32_t> products_end{0};
  const policy::Blocking& first_share = blockings.front();
  const auto pieces_here =
      static_cast<std::uint32_t>(first_share.rows * first_share.columns - (first_share.lead.pieces > 0 ? first_share.lead.pieces - 1 : 0));
  const std::uint32_t first_lane = products_end.fetch_add(pieces_here, std::memory_order_relaxed);
  for (Task& t : cut) t.lane = (t.lane + first_lane) % lanes;
  note_call("gemm", scalar_of<T>, [&] { return std::to_string(m) + " x " + std::to_string(n) + " x " + std::to_string(k); }, cut,
            own.empty() ? why_so_many(o) : why_own_cut);
  Library& compute = library();
  tasks::run(cut, operands, [&](const runtime::Stream& stream, const Task& task, const Operand* at) {
    const Rectangle& result = task.parts[2].where;
    // Some tasks compute some terms of the sums, and add them to what others have computed. The part of B may begin before the first of these.
    const Rectangle &of_a = task.parts[0].where, &in_b = task.parts[1].where;
    const std::uint64_t first = ta ? of_a.row_begin : of_a.column_begin, terms = ta ? rows_of(of_a) : columns_of(of_a);
    const std::uint64_t behind = first - (tb ? in_b.column_begin : in_b.row_begin);
    const T* const of_b = static_cast<const T*>(at[1].data) + (tb ? behind * at[1].leading : behind);
    const T factor = first > 0 ? T(1) : beta;
    compute.gemm(stream, scalar_of<T>, static_cast<char>(transpose_a), static_cast<char>(transpose_b),
                 static_cast<std::int32_t>(rows_of(result)), static_cast<std::int32_t>(columns_of(result)), static_cast<std::int32_t>(terms),
                 &alpha, at[0].data, static_cast<std::int32_t>(std::max<std::uint64_t>(at[0].leading, k == 0 ? operands[0].leading : 1)),
                 of_b, static_cast<std::int32_t>(std::max<std::uint64_t>(at[1].leading, k == 0 ? operands[1].leading : 1)), &factor,
                 at[2].data, static_cast<std::int32_t>(at[2].leading));
  });
  stand_ins.write_back();
}

template <class T>
void gemv(Transpose transpose, std::int64_t m, std::int64_t n, T alpha, const T* a, std::int64_t lda, const T* x, T beta, T* y) {
  expect_size("gemv", "m", m);
  expect_size("gemv", "n", n);
  const bool transposed = transpose != Transpose::no;
  const std::int64_t results = transposed ? n : m, terms = transposed ? m : n;
  std::vector<Matrix> operands{matrix("gemv", "A", a, m, n, lda, sizeof(T)), vector_of(x, terms), vector_of(y, results)};
  if (m == 0 || n == 0) return;  // as BLAS, which leaves y as it is
  expect_apart("gemv", "A", operands[0], "y", operands[2]);
  expect_apart("gemv", "x", operands[1], "y", operands[2]);
  const Access of_y = beta == T(0) ? Access::overwrite : Access::read_write;
  StandIns stand_ins({{&operands[0], Access::read}, {&operands[1], Access::read}, {&operands[2], of_y}});
  const double seconds = sizeof(T) * static_cast<double>(m) * static_cast<double>(n) / bytes_per_second;
  // Results where they are already; each device needs its rows of op(A), and all of x.
  const VectorCut along = cut_vector("gemv", operands[2], beta != T(0), seconds,
                                     {{&operands[0], false, Access::read}, {&operands[1], true, Access::read}, {&operands[2], false, of_y}});
  const std::uint64_t all_terms = operands[1].rows;
  const std::vector<Task> cut = [&] {
    std::vector<Task> list;
    for (const policy::Held& h : along.runs) {
      const std::uint64_t room = task_bytes(h.device) / sizeof(T);
      // Where not even one result and its terms fit, each task adds some terms to what the last one has left.
      const bool fits = policy::fit_together(memory_of(h.device), {all_terms * sizeof(T), all_terms * sizeof(T), sizeof(T)});
      const std::uint64_t terms_of_task = fits ? all_terms : std::clamp<std::uint64_t>(room / 4, 1, all_terms);
      std::uint32_t lane = 0;
      for (const policy::Run& r : policy::cut_to_fit(h.run, room / terms_of_task)) {
        for (const policy::Run& s : policy::cut_to_fit({0, all_terms}, terms_of_task)) {
          const Rectangle of_a = transposed ? Rectangle{s.begin, s.end, r.begin, r.end} : Rectangle{r.begin, r.end, s.begin, s.end};
          list.push_back({h.device, lane, {{0, of_a, Access::read}, {1, {s.begin, s.end, 0, 1}, Access::read},
                                           {2, {r.begin, r.end, 0, 1}, s.begin > 0 ? Access::read_write : of_y}}});
        }
        lane = (lane + 1) % tasks::lanes_of_device;
      }
    }
    return list;
  }();
  note_call("gemv", scalar_of<T>, [&] { return std::to_string(m) + " x " + std::to_string(n); }, cut, along.why);
  Library& compute = library();
  tasks::run(cut, operands, [&](const runtime::Stream& stream, const Task& task, const Operand* at) {
    const Rectangle& of_a = task.parts[0].where;
    const T factor = task.parts[1].where.row_begin > 0 ? T(1) : beta;
    compute.gemv(stream, scalar_of<T>, static_cast<char>(transpose), static_cast<std::int32_t>(rows_of(of_a)),
                 static_cast<std::int32_t>(columns_of(of_a)), &alpha, at[0].data, static_cast<std::int32_t>(at[0].leading), at[1].data, &factor,
                 at[2].data);
  });
  stand_ins.write_back();
}

#define SEMCACHE_LINALG_INSTANTIATE(T)                                                                                                       \
  template SEMCACHE_API void gemm(Transpose, Transpose, std::int64_t, std::int64_t, std::int64_t, T, const T*, std::int64_t, const T*,       \
                                  std::int64_t, T, T*, std::int64_t);                                                                        \
  template SEMCACHE_API void gemv(Transpose, std::int64_t, std::int64_t, T, const T*, std::int64_t, const T*, T, T*);
SEMCACHE_LINALG_INSTANTIATE(float)
SEMCACHE_LINALG_INSTANTIATE(double)
SEMCACHE_LINALG_INSTANTIATE(std::complex<float>)
SEMCACHE_LINALG_INSTANTIATE(std::complex<double>)

}  // namespace semcache::linalg
