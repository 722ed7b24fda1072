// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "pieces.hpp"

#include "call.hpp"

#include <semcache/tasks/tasks.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace semcache::blas {
namespace {

using policy::Run;
using policy::Task;

/// Returns what memory the device has. Each call needs it, so a thread remembers it as long as the runtime lives.
policy::Memory memory_of(std::uint32_t device) {
  struct Known {
    std::uint64_t epoch = 0;  ///< of the runtime to which the device belongs
    std::uint32_t device = 0;
    policy::Memory memory;
  };
  [[gnu::tls_model("initial-exec")]] static thread_local Known known;
  if (const std::uint64_t epoch = runtime::epoch(); known.epoch != epoch || known.device != device) {
    known = {epoch, device, {runtime::device_budget(device), runtime::device_page_bytes(device)}};
  }
  return known.memory;
}

/// With more pieces the host is faster.
constexpr double most_tasks = 20000;

/// A product is cut as those of packages/linalg are.
std::vector<Task> cut_product(const Call& call, std::uint32_t device) {
  const Operand &a = call.operands[0], &result = call.operands[2];
  const bool transpose_a = call.cut.operands[0].rows == Size::terms, transpose_b = call.cut.operands[1].rows == Size::columns;
  const policy::Product product{result.rows, result.columns, a.empty() ? 0 : call.cut.size(Size::terms), transpose_a, transpose_b,
                                result.mode != Access::overwrite};
  // One piece computes while the next one's operands arrive; tasks of fewer columns do not use a GPU well.
  constexpr std::uint64_t least_columns = 512, most_pieces = 16;
  const std::size_t pieces = std::clamp<std::uint64_t>(product.n / least_columns, 1, most_pieces);
  const policy::Blocking blocking = policy::blocking_that_fits(product, pieces, memory_of(device), result.element_bytes);
  if (static_cast<double>(blocking.rows) * static_cast<double>(blocking.columns) * static_cast<double>(blocking.terms) > most_tasks) return {};
  return policy::cut(product, {}, {device}, {blocking}, 2);
}

/// Other calls are cut along one size. What does not have it stays on the device.
std::vector<Task> cut_along(Size size, const Call& call, std::uint32_t device) {
  const std::uint64_t count = call.cut.size(size);
  std::uint64_t stays = 0, passes = 0;  // bytes
  for (std::size_t i = 0; i < call.count; ++i) {
    const Stored& s = call.cut.operands[i];
    (s.rows == size || s.columns == size ? passes : stays) += call.operands[i].bytes();
  }
  // Room for the operands of three pieces, of which the part that stays is needed once.
  const std::uint64_t room = policy::bytes_of_task(memory_of(device)) * 3;
  const std::uint64_t most = room > stays && count > 0 ? (room - stays) / 3 / (passes / count + 1) : 0;
  if (most == 0 || static_cast<double>(count) / static_cast<double>(most) > most_tasks) return {};
  std::vector<Task> tasks;
  std::uint32_t lane = 0;
  for (const Run& r : policy::cut_to_fit({0, count}, most)) {
    Task t{device, lane, {}};
    for (std::uint32_t i = 0; i < call.count; ++i) {
      const Operand& o = call.operands[i];
      const Stored& s = call.cut.operands[i];
      Rectangle where{0, o.rows, 0, o.columns};
      if (s.rows == size) where.row_begin = r.begin, where.row_end = r.end;
      if (s.columns == size) where.column_begin = r.begin, where.column_end = r.end;
      const bool adds = size == Size::terms && r.begin > 0 && writes(o.mode);
      t.parts.push_back({i, where, adds ? Access::read_write : o.mode});
    }
    tasks.push_back(std::move(t));
    if (size != Size::terms) lane = 1 - lane;  // those that add to the same result come one after the other
  }
  return tasks;
}

/// @return none where the call cannot be cut, or not enough
std::vector<Task> cut(const Call& call, std::uint32_t device) {
  const auto may = [&](Size size) { return call.cut.size(size) > 0; };
  if (may(Size::rows) && may(Size::columns)) return cut_product(call, device);
  for (const Size size : {Size::columns, Size::rows, Size::terms}) {
    if (may(size)) return cut_along(size, call, device);
  }
  return {};
}

/// What the routine's arguments are for a task.
Piece piece_of(const Call& call, const Task& task, const tasks::Operand* at) {
  Piece piece;
  for (std::size_t size = 0; size < cut_sizes; ++size) piece.sizes[size] = static_cast<std::int64_t>(call.cut.sizes[size]);
  for (std::size_t i = 0; i < call.count; ++i) {
    const Operand& o = call.operands[i];
    const Rectangle& r = task.parts[i].where;
    if (o.empty()) continue;  // it is not read
    piece.leading[i] = static_cast<std::int64_t>(at[i].leading);
    const auto note = [&](Size size, std::uint64_t begin, std::uint64_t end) {
      if (size == Size::whole) return;
      piece.sizes[static_cast<std::size_t>(size)] = static_cast<std::int64_t>(end - begin);
      if (size == Size::terms && begin > 0) piece.adds = true;
    };
    note(call.cut.operands[i].rows, r.row_begin, r.row_end);
    note(call.cut.operands[i].columns, r.column_begin, r.column_end);
  }
  return piece;
}

}  // namespace

bool fit_together(const Call& call, std::uint32_t device) {
  const policy::Memory memory = memory_of(device);
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < call.count; ++i) {
    // It may begin anywhere in a page.
    if (const std::uint64_t span = call.operands[i].span(); span > 0) bytes += (span + memory.page - 1) / memory.page * memory.page + memory.page;
  }
  return bytes <= memory.budget;
}

bool compute_in_pieces(const Call& call, const Routines& routines, const std::array<tasks::Matrix, most_operands>& operands, std::uint32_t device,
                       std::size_t& done) {
  const std::vector<Task> list = cut(call, device);
  if (list.empty()) return false;
  const base::AtEnd restored([&] { routines.take(nullptr); });
  tasks::run(list, {operands.begin(), operands.begin() + static_cast<std::ptrdiff_t>(call.count)},
             [&](const runtime::Stream& stream, const Task& task, const tasks::Operand* parts) {
               const Piece piece = piece_of(call, task, parts);
               std::array<const void*, most_operands> at{};
               for (std::size_t i = 0; i < call.count; ++i) at[i] = parts[i].data;
               routines.take(&piece);
               if (runtime::devices_are_emulated()) routines.on_emulated(stream, at.data());
               else routines.on_gpu(stream, at.data());
               ++done;
             });
  return true;
}

}  // namespace semcache::blas
