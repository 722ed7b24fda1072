// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "pattern.hpp"

#include <semcache/linalg/sparse.hpp>

#include <limits>
#include <string>

namespace semcache::linalg {

template <class T, class Offset>
void spmv(T alpha, const Csr<T, Offset>& a, const T* x, T beta, T* y) {
  SEMCACHE_EXPECTS(a.rows >= 0 && a.columns >= 0 && a.entries >= 0,
                   "linalg::spmv: a matrix of " + std::to_string(a.rows) + " rows, " + std::to_string(a.columns) + " columns and " +
                       std::to_string(a.entries) + " entries: none of these may be negative");
  SEMCACHE_EXPECTS(a.entries <= std::numeric_limits<std::int32_t>::max(), "linalg::spmv: a matrix of " + std::to_string(a.entries) +
                                                                            " entries: it may have 2147483647. Cut it by rows into several matrices");
  if (a.rows == 0) return;
  const auto rows = static_cast<std::uint64_t>(a.rows);
  const std::int64_t entries = a.entries;
  const std::size_t devices = devices_of_sparse_product<T>(rows, static_cast<std::uint64_t>(entries));
  const std::shared_ptr<const Pattern> pattern =
      pattern_of({a.row_pointers, sizeof(Offset), a.column_indices, rows, static_cast<std::uint64_t>(a.columns), entries}, devices,
                 task_bytes() / (sizeof(T) + sizeof(std::int32_t)));
  const std::int32_t* row_pointers;
  if constexpr (sizeof(Offset) == sizeof(std::int32_t)) row_pointers = a.row_pointers;
  else row_pointers = pattern->row_pointers->data();
  const std::vector<Matrix> operands{vector_of(row_pointers, a.rows + 1), vector_of(a.column_indices, entries), vector_of(a.values, entries),
                                     vector_of(y, a.rows), vector_of(x, a.columns)};
  note_cut(pattern->rows);
  std::vector<Task> cut;
  for (const Pattern::Share& s : pattern->shares) {
    const Rectangle of_entries{s.entries.begin, s.entries.end, 0, 1};
    const policy::Run& around = pattern->around[s.device];
    Task task{s.device, static_cast<std::uint32_t>(cut.size()) % tasks::lanes_of_device,
              {{0, {s.rows.begin, s.rows.end + 1, 0, 1}, Access::read}, {1, of_entries, Access::read}, {2, of_entries, Access::read},
               {3, {s.rows.begin, s.rows.end, 0, 1}, beta == T(0) ? Access::overwrite : Access::read_write}}};
    for (const policy::Run& r : s.needed) {
      task.parts.push_back({4, {r.begin, r.end, 0, 1}, Access::read, {around.begin, around.end, 0, 1}});
    }
    cut.push_back(std::move(task));
  }
  note_call("spmv", scalar_of<T>, [&] { return std::to_string(rows) + " rows, " + std::to_string(entries) + " entries"; }, cut, why_so_many(options()));
  Library& compute = library();
  tasks::run(cut, operands, [&](const runtime::Stream& stream, const Task& task, const Operand* at) {
    // Rows, columns and entries keep their numbers, so the addresses are those of the first ones of all, which may lie in front of the memory.
    const auto base = [&](std::size_t part) {
      const auto* const first = static_cast<const T*>(at[part].data);
      return first == nullptr ? nullptr : first - task.parts[part].where.row_begin;
    };
    const auto* const columns = static_cast<const std::int32_t*>(at[1].data);
    compute.spmv(stream, scalar_of<T>, rows_of(task.parts[3].where), &alpha, static_cast<const std::int32_t*>(at[0].data),
                 columns == nullptr ? nullptr : columns - task.parts[1].where.row_begin, base(2), rows_of(task.parts[2].where),
                 task.parts.size() > 4 ? base(4) : nullptr, &beta, at[3].data);
  });
}

#define SEMCACHE_LINALG_INSTANTIATE(T)                                                        \
  template SEMCACHE_API void spmv(T, const Csr<T, std::int32_t>&, const T*, T, T*); \
  template SEMCACHE_API void spmv(T, const Csr<T, std::int64_t>&, const T*, T, T*);
SEMCACHE_LINALG_INSTANTIATE(float)
SEMCACHE_LINALG_INSTANTIATE(double)
SEMCACHE_LINALG_INSTANTIATE(std::complex<float>)
SEMCACHE_LINALG_INSTANTIATE(std::complex<double>)

}  // namespace semcache::linalg
