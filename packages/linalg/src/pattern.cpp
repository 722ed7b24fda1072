// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "pattern.hpp"

#include "gpu_kernels.hpp"
#include "stand_ins.hpp"

#include <algorithm>
#include <mutex>
#include <numeric>
#include <string>
#include <utility>

namespace semcache::linalg {

namespace {

using policy::Run;

constexpr std::size_t most_runs = 4;
constexpr std::size_t most_kept = 32;

/// The content of an array of the program, in host memory: the array itself, if it is a mirror or adopted, otherwise a copy.
template <class T>
class OnHost {
 public:
  OnHost(const T* data, std::size_t count) : data_(data) {
    if (count == 0) return;
    if (runtime::notices_host_accesses(data)) {
      access(data, count * sizeof(T), Access::read);
      return;
    }
    copy_.resize(count);
    runtime::copy(copy_.data(), data, count * sizeof(T), runtime::queue_of(nullptr));
    data_ = copy_.data();
  }
  [[nodiscard]] const T* data() const noexcept { return data_; }

 private:
  const T* data_;
  std::vector<T> copy_;
};

/// Patterns that have been cut. Each belongs to a value derived from the content of the pattern's arrays, so it is found wherever that lies, and
/// not after a change of one byte. The value's memory itself holds nothing.
struct Known {
  std::unique_ptr<runtime::DerivedValue> value;
  std::shared_ptr<const Pattern> pattern;
  std::uint64_t used;
};
struct Cache {
  std::mutex mutex;
  std::uint64_t epoch = 0;
  std::uint64_t uses = 0;
  std::vector<Known> known;
};
Cache& cache() {
  static Cache* const c = new Cache;  // the runtime may end after the program's statics
  return *c;
}

void forget_all() noexcept {
  std::vector<Known> forgotten;  // whose arrays are freed outside the lock
  Cache& all = cache();
  const std::lock_guard<std::mutex> lock(all.mutex);
  forgotten.swap(all.known);
}

/// Returns the row pointers as numbers of 32 bits.
/// @throws UsageError  one of them is negative, or more than `entries`
std::vector<std::int32_t> narrowed(const std::int64_t* row_pointers, std::uint64_t rows, std::int64_t entries) {
  std::vector<std::int32_t> narrow(rows + 1);
  for (std::uint64_t i = 0; i <= rows; ++i) {
    SEMCACHE_EXPECTS(row_pointers[i] >= 0 && row_pointers[i] <= entries,
                     "linalg: a sparse matrix: row pointer " + std::to_string(i) + " is " + std::to_string(row_pointers[i]) +
                         "; it must be from 0 to the number of entries, " + std::to_string(entries));
    narrow[i] = static_cast<std::int32_t>(row_pointers[i]);
  }
  return narrow;
}

/// Joins the runs that have the smallest gaps between them until there are at most `most_runs`.
void join_closest(std::vector<Run>& runs) {
  while (runs.size() > most_runs) {
    std::size_t closest = 1;
    for (std::size_t i = 2; i < runs.size(); ++i) {
      if (runs[i].begin - runs[i - 1].end < runs[closest].begin - runs[closest - 1].end) closest = i;
    }
    runs[closest - 1].end = runs[closest].end;
    runs.erase(runs.begin() + static_cast<std::ptrdiff_t>(closest));
  }
}

/// Returns those of a device's rows that refer to its own columns only: from behind the last row that refers to columns in front of them to the first
/// that refers to columns behind them.
Run inner_rows(const std::int32_t* row_pointers, const std::int32_t* column_indices, const Run& rows) {
  Run inner = rows;
  for (std::uint64_t i = rows.begin; i < rows.end; ++i) {
    for (std::int32_t e = row_pointers[i]; e < row_pointers[i + 1]; ++e) {
      const auto column = static_cast<std::uint64_t>(column_indices[e]);
      if (column < rows.begin) inner.begin = i + 1;
      if (column >= rows.end) inner.end = std::min(inner.end, i);
    }
  }
  return inner;
}

}  // namespace

NarrowRowPointers::NarrowRowPointers(const std::vector<std::int32_t>& content) : epoch_(runtime::epoch()) {
  const std::size_t bytes = content.size() * sizeof(std::int32_t);
  data_ = static_cast<std::int32_t*>(runtime::allocate_device("row pointers of 32 bits (linalg)", bytes));
  try {
    runtime::copy(data_, content.data(), bytes, runtime::queue_of(nullptr));
  } catch (...) {
    runtime::deallocate(data_);
    throw;
  }
}
// The next runtime may have given the address to another array.
NarrowRowPointers::~NarrowRowPointers() {
  if (epoch_ == runtime::epoch()) runtime::deallocate(data_);
}

/// Does each run of `around` contain the one of `runs`, and little more?
static bool lie_close_around(const std::vector<Run>& around, const std::vector<Run>& runs) {
  return std::equal(around.begin(), around.end(), runs.begin(), runs.end(), [](const Run& a, const Run& r) {
    return a.begin <= r.begin && a.end >= r.end && a.size() - r.size() <= r.size() / 8;
  });
}

/// The pieces of a device's rows, and whether they are tight (`Pattern::Share`).
struct Pieces {
  std::vector<Run> rows;
  bool are_tight = false;
  bool fit = true;
};
/// Cuts a device's rows until what a task uses fits its memory. Columns that are none of the matrix are found later.
static Pieces cut_to_fit(const std::int32_t* row_pointers, const std::int32_t* column_indices, const Run& rows, const policy::Memory& memory,
                         std::uint64_t scalar_bytes) {
  const auto has = static_cast<std::uint64_t>(row_pointers[rows.end] - row_pointers[rows.begin]);
  const auto columns_around = [&](const Run& r) {
    if (row_pointers[r.begin] == row_pointers[r.end]) return std::uint64_t{0};
    const auto [least, most] = std::minmax_element(column_indices + row_pointers[r.begin], column_indices + row_pointers[r.end]);
    return static_cast<std::uint64_t>(std::int64_t{*most} - *least) + 1;
  };
  // Smaller parts seldom take two pages. Where a task still does not fit, the device has less memory than a page or two for each operand.
  const std::uint64_t small = memory.page / 8;
  // A row takes as much as an entry: it has a row pointer, and an element of a vector.
  const std::uint64_t bytes_of_matrix = (has + rows.size()) * (scalar_bytes + sizeof(std::int32_t));
  const std::uint64_t most_bytes = std::max<std::uint64_t>(1, policy::bytes_of_task(memory));
  const auto cut = [&](std::uint64_t pieces) {
    std::vector<Run> runs = policy::cut_by_entries(row_pointers + rows.begin, rows.size(), static_cast<std::size_t>(pieces), 1, 1);
    for (Run& r : runs) r = {rows.begin + r.begin, rows.begin + r.end};
    return runs;
  };
  const std::uint64_t first = std::clamp<std::uint64_t>((bytes_of_matrix + most_bytes - 1) / most_bytes, 1, rows.size());
  const std::uint64_t around_all = columns_around(rows);
  for (const bool tight : {false, true}) {
    for (std::uint64_t pieces = first;; pieces = std::min(2 * pieces, rows.size())) {
      std::vector<Run> runs = cut(pieces);
      bool fit = true, all_small = true;
      for (const Run& r : runs) {
        const auto entries = static_cast<std::uint64_t>(row_pointers[r.end] - row_pointers[r.begin]);
        const std::uint64_t of_x = tight ? columns_around(r) : around_all, of_y = tight ? r.size() : rows.size();
        fit = fit && policy::fit_together(memory, {(r.size() + 1) * sizeof(std::int32_t), entries * sizeof(std::int32_t), entries * scalar_bytes,
                                                   of_x * scalar_bytes, of_y * scalar_bytes});
        all_small = all_small && ((entries + r.size()) * scalar_bytes <= small || r.size() == 1);
      }
      if (fit || (tight && (all_small || pieces == rows.size()))) return {std::move(runs), tight, fit};
      if (all_small || pieces == rows.size()) break;
    }
  }
  return {};  // not reached
}

/// The rows of a device, and their pieces.
struct DeviceRows {
  std::uint32_t device;
  Run rows;
  Pieces pieces;
};
/// Shares the rows out to at most so many devices. Those without room for their pieces are left out, if others have.
static std::vector<DeviceRows> share_out(const std::int32_t* row_pointers, const std::int32_t* column_indices, std::uint64_t rows,
                                         std::size_t devices, const std::vector<policy::Memory>& memory, std::uint64_t scalar_bytes) {
  std::vector<std::uint32_t> all(memory.size());
  std::iota(all.begin(), all.end(), 0U);
  for (std::vector<std::uint32_t> able = all;;) {
    const bool has_room = !able.empty();
    if (!has_room) able = all;  // then the call fails, or what it uses takes fewer pages than it may
    std::vector<DeviceRows> shares;
    for (const Run& r : policy::cut_by_entries(row_pointers, rows, std::min(devices, able.size()), policy::block_elements(rows))) {
      const std::uint32_t device = able[shares.size()];
      shares.push_back({device, r, cut_to_fit(row_pointers, column_indices, r, memory[device], scalar_bytes)});
    }
    if (!has_room || std::all_of(shares.begin(), shares.end(), [](const DeviceRows& s) { return s.pieces.fit; })) return shares;
    for (const DeviceRows& s : shares) {
      if (!s.pieces.fit) able.erase(std::find(able.begin(), able.end(), s.device));
    }
  }
}

Pattern cut_pattern(const std::int32_t* row_pointers, const std::int32_t* column_indices, std::uint64_t rows, std::uint64_t columns,
                    std::int64_t entries, std::size_t devices, const std::vector<policy::Held>& own, const std::vector<policy::Memory>& memory,
                    std::uint64_t scalar_bytes, std::uint64_t least_split) {
  SEMCACHE_EXPECTS(row_pointers[0] >= 0 && row_pointers[rows] <= entries,
                   "linalg: a sparse matrix: the row pointers are from " + std::to_string(row_pointers[0]) + " to " +
                       std::to_string(row_pointers[rows]) + "; they must lie between 0 and the number of entries, " + std::to_string(entries));
  for (std::uint64_t i = 0; i < rows; ++i) {
    SEMCACHE_EXPECTS(row_pointers[i] <= row_pointers[i + 1], "linalg: a sparse matrix: row " + std::to_string(i) + " begins at entry " +
                                                                 std::to_string(row_pointers[i]) + " and ends at " +
                                                                 std::to_string(row_pointers[i + 1]) + ": row pointers must not descend");
  }
  Pattern p;
  std::vector<bool> occurs(columns);
  struct Piece {
    std::uint32_t device;
    Run rows;
    bool is_tight;
  };
  std::vector<Piece> cut;
  std::vector<DeviceRows> of_devices;
  for (const policy::Held& h : own) {
    of_devices.push_back({h.device, h.run, cut_to_fit(row_pointers, column_indices, h.run, memory[h.device], scalar_bytes)});
  }
  if (own.empty()) of_devices = share_out(row_pointers, column_indices, rows, devices, memory, scalar_bytes);
  for (const auto& [device, r, pieces] : of_devices) {
    p.rows.resize(std::max<std::size_t>(p.rows.size(), device + 1));
    p.rows[device] = r;
    if (gpu::lengths_of(row_pointers, r.begin, r.end) == RowLengths::different) p.lengths = RowLengths::different;
    const auto has = static_cast<std::uint64_t>(row_pointers[r.end] - row_pointers[r.begin]);
    if (pieces.rows.size() == 1 && of_devices.size() > 1 && rows == columns && has >= least_split) {
      const Run inner = inner_rows(row_pointers, column_indices, r);
      if (2 * inner.size() > r.size()) {
        for (const Run& some : {inner, Run{r.begin, inner.begin}, Run{inner.end, r.end}}) {
          if (some.size() > 0) cut.push_back({device, some, pieces.are_tight});
        }
        continue;
      }
    }
    for (const Run& some : pieces.rows) cut.push_back({device, some, pieces.are_tight});
  }
  p.around.resize(p.rows.size());
  for (const auto& [device, r, is_tight] : cut) {
    Pattern::Share share;
    share.device = device;
    share.is_tight = is_tight;
    share.rows = r;
    share.entries = {static_cast<std::uint64_t>(row_pointers[r.begin]), static_cast<std::uint64_t>(row_pointers[r.end])};
    std::uint64_t first = columns, end = 0;
    for (std::uint64_t e = share.entries.begin; e < share.entries.end; ++e) {
      const std::int32_t c = column_indices[e];
      SEMCACHE_EXPECTS(c >= 0 && static_cast<std::uint64_t>(c) < columns, "linalg: a sparse matrix: entry " + std::to_string(e) + " is in column " +
                                                                              std::to_string(c) + " of a matrix of " + std::to_string(columns) +
                                                                              " columns");
      const auto column = static_cast<std::uint64_t>(c);
      occurs[column] = true;
      first = std::min(first, column);
      end = std::max(end, column + 1);
    }
    std::vector<Run> runs;
    for (std::uint64_t c = first; c < end; ++c) {
      if (!occurs[c]) continue;
      occurs[c] = false;
      if (runs.empty() || runs.back().end != c) runs.push_back({c, c});
      runs.back().end = c + 1;
      // Of a scattered pattern only the largest gaps can stay.
      if (runs.size() > 1024) join_closest(runs);
    }
    join_closest(runs);
    if (!runs.empty()) {
      share.around = {first, end};
      Run& around = p.around[device];
      around = around.size() == 0 ? Run{first, end} : Run{std::min(around.begin, first), std::max(around.end, end)};
    }
    share.needed = std::move(runs);
    p.shares.push_back(std::move(share));
  }
  for (Pattern::Share& share : p.shares) {
    if (!share.is_tight) share.around = p.around[share.device];
  }
  if (of_devices.size() > 1 && rows == columns && lie_close_around(p.around, p.rows)) p.room = p.around;
  return p;
}

std::shared_ptr<const Pattern> pattern_of(const PatternArrays& a, std::size_t devices, const std::vector<policy::Held>& own,
                                          const std::vector<policy::Memory>& memory, std::uint64_t scalar_bytes, std::uint64_t least_split) {
  const auto entries = static_cast<std::size_t>(a.entries);
  Matrix of_rows{a.row_pointers, a.rows + 1, 1, a.rows + 1, static_cast<std::uint32_t>(a.offset_bytes)};
  Matrix of_columns = vector_of(a.column_indices, a.entries);
  const StandIns stand_ins({{&of_rows, Access::read}, {&of_columns, Access::read}});  // the host reads the arrays themselves
  const runtime::DerivedValue::Input inputs[] = {{of_rows.data, (a.rows + 1) * a.offset_bytes}, {of_columns.data, entries * sizeof(std::int32_t)}};
  std::vector<std::uint64_t> parameters{a.rows, a.columns, devices, scalar_bytes, least_split, a.offset_bytes};
  for (const policy::Memory& m : memory) parameters.insert(parameters.end(), {m.budget, m.page});
  for (const policy::Held& h : own) parameters.insert(parameters.end(), {h.device, h.run.begin, h.run.end});
  const std::size_t bytes_of_parameters = parameters.size() * sizeof parameters[0];
  constexpr std::size_t bytes = sizeof(std::uint64_t);
  runtime::before_end(&forget_all);
  constexpr const char* name = "cut of a sparse matrix (linalg)";
  auto value = std::make_unique<runtime::DerivedValue>(name, parameters.data(), bytes_of_parameters, inputs, 2, bytes, 0);
  std::vector<Known> forgotten;  // whose arrays are freed outside the lock
  Cache& all = cache();
  {
    const std::lock_guard<std::mutex> lock(all.mutex);
    if (all.epoch != runtime::epoch()) forgotten.swap(all.known);
    all.epoch = runtime::epoch();
    for (Known& k : all.known) {
      if (!value->is_computed() || k.value->data() != value->data()) continue;
      k.used = ++all.uses;
      return k.pattern;
    }
  }
  const OnHost<std::int32_t> column_indices(a.column_indices, entries);
  const auto cut = [&](const std::int32_t* row_pointers) {
    return cut_pattern(row_pointers, column_indices.data(), a.rows, a.columns, a.entries, devices, own, memory, scalar_bytes, least_split);
  };
  auto found = std::make_shared<Pattern>();
  if (a.offset_bytes == sizeof(std::int32_t)) {
    const OnHost<std::int32_t> row_pointers(static_cast<const std::int32_t*>(a.row_pointers), a.rows + 1);
    *found = cut(row_pointers.data());
  } else {
    const OnHost<std::int64_t> wide(static_cast<const std::int64_t*>(a.row_pointers), a.rows + 1);
    const std::vector<std::int32_t> narrow = narrowed(wide.data(), a.rows, a.entries);
    *found = cut(narrow.data());
    found->row_pointers = std::make_unique<const NarrowRowPointers>(narrow);
  }
  const std::shared_ptr<const Pattern> pattern = std::move(found);
  if (!value->is_computed()) {
    const runtime::LibraryUse whole{value->data(), bytes, Access::overwrite};
    { const runtime::Launch launch(tasks::lane(0, 0).queue, &whole, 1); }  // of no kernel
    value->note_computed();
  }
  // Content that is not known, or not noticed, is never found again. Then nothing is kept.
  const runtime::DerivedValue again(name, parameters.data(), bytes_of_parameters, inputs, 2, bytes, 0);
  if (!again.is_computed() || again.data() != value->data()) return pattern;
  const std::lock_guard<std::mutex> lock(all.mutex);
  all.known.push_back({std::move(value), pattern, ++all.uses});
  if (all.known.size() > most_kept) {
    const auto oldest = std::min_element(all.known.begin(), all.known.end(), [](const Known& x, const Known& y) { return x.used < y.used; });
    forgotten.push_back(std::move(*oldest));
    all.known.erase(oldest);
  }
  return pattern;
}

}  // namespace semcache::linalg
