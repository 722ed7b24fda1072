// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/policy/level3.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

namespace semcache::policy {

namespace {

/// So many tasks' operands are to fit a device together.
constexpr std::uint64_t tasks_at_once = 3;

/// The part of a triangle that a task computes: a rectangle of these rows and columns, and the block on the diagonal that these columns have.
struct Block {
  Run columns;
  Run rows;  ///< if there is the block on the diagonal, they begin at its end, or end at its beginning; empty: the block alone
  bool diagonal;
};

bool is_lower(const Level3& call) noexcept { return call.independent == Independent::columns_of_lower; }

std::uint64_t elements_of(const Level3& call, const Block& b) noexcept {
  const std::uint64_t columns = b.columns.size(), rows = b.rows.size();
  return call.inputs * call.k * (columns + rows) + columns * (rows + (b.diagonal ? columns : 0));
}

/// Cuts a block in halves, the longer side first, until its pieces have at most `most` elements, or cannot be cut.
void cut_to_fit(const Level3& call, const Block& b, std::uint64_t most, std::vector<Block>& pieces) {
  const bool lower = is_lower(call);
  if (elements_of(call, b) <= most) {
    pieces.push_back(b);
  } else if (b.rows.size() > b.columns.size() || (b.columns.size() == 1 && b.rows.size() > (b.diagonal ? 0u : 1u))) {
    // The half that lies at the diagonal stays with the block there. It is empty where there is one row.
    const std::uint64_t middle = b.rows.begin + (b.rows.size() + (lower ? 0 : 1)) / 2;
    const Run first{b.rows.begin, middle}, second{middle, b.rows.end};
    cut_to_fit(call, {b.columns, lower ? first : second, b.diagonal}, most, pieces);
    cut_to_fit(call, {b.columns, lower ? second : first, false}, most, pieces);
  } else if (b.columns.size() > 1) {
    const std::uint64_t middle = b.columns.begin + b.columns.size() / 2;
    const Run first{b.columns.begin, middle}, second{middle, b.columns.end};
    // What lies between the blocks on the diagonal of both halves belongs to the rectangle of one of them.
    const bool between = b.diagonal;
    cut_to_fit(call, {first, between && lower ? Run{middle, b.rows.end} : b.rows, b.diagonal}, most, pieces);
    cut_to_fit(call, {second, between && !lower ? Run{b.rows.begin, middle} : b.rows, b.diagonal}, most, pieces);
  } else {
    pieces.push_back(b);
  }
}

Task task_of(const Level3& call, const Block& b) {
  Task t;
  const auto add = [&](std::uint32_t operand, const Rectangle& where, Access mode) {
    t.parts.push_back({operand, where.empty() ? Rectangle{} : where, mode});
  };
  for (std::uint32_t i = 0; i < call.inputs; ++i) {
    for (const Run& r : {b.columns, b.rows}) {
      add(i, call.transposed ? Rectangle{0, call.k, r.begin, r.end} : Rectangle{r.begin, r.end, 0, call.k}, Access::read);
    }
  }
  const Rectangle diagonal{b.columns.begin, b.columns.end, b.columns.begin, b.columns.end};
  // The other triangle of the block keeps its content, so the block is not overwritten, whether or not the call reads its result.
  add(call.result(), b.diagonal ? diagonal : Rectangle{}, call.reads_result || b.columns.size() > 1 ? Access::read_write : Access::overwrite);
  add(call.result(), {b.rows.begin, b.rows.end, b.columns.begin, b.columns.end}, call.reads_result ? Access::read_write : Access::overwrite);
  return t;
}

/// The tasks of columns of a triangle.
std::vector<Task> tasks_of_triangle(const Level3& call, const Run& share, std::size_t pieces, std::uint64_t elements) {
  const bool lower = is_lower(call);
  // Where one element's terms do not fit a device, cutting does not help, and the call fails at its first task.
  const bool can_fit = elements_of(call, {{0, 1}, {0, 1}, false}) <= elements;
  std::vector<Block> blocks;
  for (const Run& columns : cut_by_area(share, call.n, call.independent, pieces)) {
    const Run beside = lower ? Run{columns.end, call.n} : Run{0, columns.begin};  // nvcc 13.0 crashes where this stands in the braces below
    cut_to_fit(call, {columns, beside, true}, can_fit ? elements / tasks_at_once : UINT64_MAX, blocks);
  }
  std::vector<Task> tasks;
  for (const Block& b : blocks) tasks.push_back(task_of(call, b));
  return tasks;
}

/// The tasks of columns, or rows, of a result all of which are independent.
std::vector<Task> tasks_of_rectangle(const Level3& call, const Run& share, std::size_t pieces, std::uint64_t elements) {
  const bool by_columns = call.independent == Independent::columns;
  const std::uint64_t of_a = call.k * call.k;
  const std::uint64_t of_line = std::max<std::uint64_t>(1, (by_columns ? call.m : call.n) + call.inputs * call.k);
  std::uint64_t count = pieces;
  // Where A does not fit a device, cutting does not help, and the call fails at its first task.
  if (of_a <= elements) {
    const std::uint64_t lines = std::max<std::uint64_t>(1, (elements - of_a) / tasks_at_once / of_line);
    count = std::max(count, (share.size() + lines - 1) / lines);
  }
  std::vector<Task> tasks;
  for (const Run& some : cut_evenly(share.size(), static_cast<std::size_t>(count))) {
    const Run r{share.begin + some.begin, share.begin + some.end};
    const auto part = [&](std::uint64_t other) {
      const Rectangle where = by_columns ? Rectangle{0, other, r.begin, r.end} : Rectangle{r.begin, r.end, 0, other};
      return where.empty() ? Rectangle{} : where;
    };
    Task t;
    t.parts.push_back({0, Rectangle{0, call.k, 0, call.k}, Access::read});
    for (std::uint32_t i = 1; i <= call.inputs; ++i) t.parts.push_back({i, part(call.k), Access::read});
    t.parts.push_back({call.result(), part(by_columns ? call.m : call.n), call.reads_result ? Access::read_write : Access::overwrite});
    tasks.push_back(std::move(t));
  }
  return tasks;
}

}  // namespace

std::vector<Run> cut_by_area(const Run& columns, std::uint64_t order, Independent triangle, std::size_t pieces) {
  const bool lower = triangle == Independent::columns_of_lower;
  std::vector<Run> runs;
  // The area from the triangle's tip to a column is half the square of their distance.
  const auto square = [&](std::uint64_t column) {
    const auto distance = static_cast<double>(lower ? order - column : column);
    return distance * distance;
  };
  const double at_begin = square(columns.begin), at_end = square(columns.end);
  std::uint64_t begin = columns.begin;
  for (std::size_t i = 1; i <= pieces && begin < columns.end; ++i) {
    std::uint64_t end = columns.end;
    if (i < pieces) {
      const double share = static_cast<double>(i) / static_cast<double>(pieces);
      const auto distance = static_cast<std::uint64_t>(std::lround(std::sqrt(at_begin + share * (at_end - at_begin))));
      end = std::clamp(lower ? order - std::min(order, distance) : distance, begin, columns.end);
    }
    if (end > begin) runs.push_back({begin, end});
    begin = end;
  }
  return runs;
}

std::vector<Run> shares_of(const Level3& call, std::size_t devices) {
  if (call.is_triangle()) return cut_by_area({0, call.n}, call.n, call.independent, devices);
  return cut_evenly(call.independent == Independent::columns ? call.n : call.m, devices);
}

std::vector<Task> cut(const Level3& call, const std::vector<Run>& shares, const std::vector<std::uint32_t>& devices, std::size_t pieces,
                      const std::vector<std::uint64_t>& elements, std::uint32_t lanes) {
  std::vector<std::vector<Task>> of_share;
  for (std::size_t s = 0; s < shares.size(); ++s) {
    std::vector<Task> tasks = call.is_triangle() ? tasks_of_triangle(call, shares[s], std::max<std::size_t>(1, pieces), elements[s])
                                                 : tasks_of_rectangle(call, shares[s], std::max<std::size_t>(1, pieces), elements[s]);
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      tasks[i].device = devices[s];
      tasks[i].lane = static_cast<std::uint32_t>(i) % lanes;
    }
    of_share.push_back(std::move(tasks));
  }
  return in_turn(std::move(of_share));
}

}  // namespace semcache::policy
