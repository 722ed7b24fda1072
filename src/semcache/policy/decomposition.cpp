// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/policy/decomposition.hpp>

#include <algorithm>
#include <tuple>
#include <utility>

namespace semcache::policy {

bool fit_together(const Memory& memory, std::initializer_list<std::uint64_t> parts) noexcept {
  std::uint64_t pages = 0;
  for (const std::uint64_t bytes : parts) pages += bytes == 0 ? 0 : (bytes + memory.page - 1) / memory.page + 1;
  return pages <= memory.budget / memory.page;
}

std::uint64_t bytes_of_task(const Memory& memory) noexcept {
  const std::uint64_t beside = 6 * memory.page;
  const std::uint64_t alone = memory.budget > beside ? (memory.budget - beside) / 2 : 0;
  return std::min(memory.budget / 3, std::max(alone, memory.page / 2));
}

std::vector<Run> cut_evenly(std::uint64_t count, std::size_t pieces, std::uint64_t grain) {
  std::vector<Run> runs;
  const std::uint64_t grains = (count + grain - 1) / grain;
  const std::uint64_t parts = std::min<std::uint64_t>(pieces, grains);
  // The first `more` runs get one grain more than the others.
  const std::uint64_t each = parts > 0 ? grains / parts : 0;
  const std::uint64_t more = parts > 0 ? grains % parts : 0;
  std::uint64_t begin = 0;
  for (std::uint64_t i = 0; i < parts; ++i) {
    const std::uint64_t end = std::min(count, begin + (each + (i < more ? 1 : 0)) * grain);
    runs.push_back({begin, end});
    begin = end;
  }
  return runs;
}

std::uint64_t block_elements(std::uint64_t count) noexcept {
  std::uint64_t block = 1;
  while (block < 4096 && block * 2 * 64 <= count) block *= 2;
  return block;
}

std::vector<Held> cut_as_held(std::uint64_t count, std::vector<Held> held, std::size_t devices, double most_of_fair_share) {
  std::sort(held.begin(), held.end(), [](const Held& a, const Held& b) {
    return std::tuple(a.run.begin, b.run.end, a.device) < std::tuple(b.run.begin, a.run.end, b.device);
  });
  std::vector<Held> runs;
  std::uint64_t done = 0;
  // Each step takes the run that holds the next element: of the same device as before if possible, else the one that reaches furthest.
  while (done < count) {
    const Held* best = nullptr;
    for (const Held& h : held) {
      if (h.run.begin > done || h.run.end <= done) continue;
      const bool goes_on = !runs.empty() && runs.back().device == h.device;
      if (goes_on || best == nullptr || h.run.end > best->run.end) best = &h;
      if (goes_on) break;
    }
    if (best == nullptr) return {};
    const std::uint64_t end = std::min(count, best->run.end);
    if (!runs.empty() && runs.back().device == best->device) {
      runs.back().run.end = end;
    } else {
      runs.push_back({{done, end}, best->device});
      if (runs.size() > devices) return {};
    }
    done = end;
  }
  const double most = most_of_fair_share * static_cast<double>(count) / static_cast<double>(devices);
  std::vector<bool> has(devices, false);
  for (const Held& h : runs) {
    if (h.device >= devices || has[h.device] || static_cast<double>(h.run.size()) > most) return {};
    has[h.device] = true;
  }
  return runs;
}

std::vector<std::uint32_t> assign(const std::vector<std::vector<std::uint64_t>>& held) {
  struct Pair {
    std::uint64_t bytes;
    std::size_t run;
    std::size_t device;
  };
  std::vector<Pair> pairs;
  std::size_t devices = held.size();
  for (std::size_t r = 0; r < held.size(); ++r) {
    devices = std::max(devices, held[r].size());
    for (std::size_t d = 0; d < held[r].size(); ++d) {
      if (held[r][d] > 0) pairs.push_back({held[r][d], r, d});
    }
  }
  std::sort(pairs.begin(), pairs.end(),
            [](const Pair& a, const Pair& b) { return std::tuple(b.bytes, a.run, a.device) < std::tuple(a.bytes, b.run, b.device); });
  constexpr std::uint32_t none = UINT32_MAX;
  std::vector<std::uint32_t> device_of(held.size(), none);
  std::vector<bool> taken(devices, false);
  for (const Pair& p : pairs) {
    if (device_of[p.run] != none || taken[p.device]) continue;
    device_of[p.run] = static_cast<std::uint32_t>(p.device);
    taken[p.device] = true;
  }
  for (std::size_t r = 0; r < held.size(); ++r) {
    if (device_of[r] != none) continue;
    // A run's own place in the order first, so that equal cuts of different arrays meet.
    std::size_t d = taken[r] ? static_cast<std::size_t>(std::find(taken.begin(), taken.end(), false) - taken.begin()) : r;
    device_of[r] = static_cast<std::uint32_t>(d);
    taken[d] = true;
  }
  return device_of;
}

std::string text_of(const std::vector<Task>& tasks) {
  std::string text;
  const auto range = [](std::uint64_t begin, std::uint64_t end) { return "[" + std::to_string(begin) + ", " + std::to_string(end) + ")"; };
  for (const Task& t : tasks) {
    text += "device " + std::to_string(t.device) + ", lane " + std::to_string(t.lane) + ":";
    for (std::size_t i = 0; i < t.parts.size(); ++i) {
      const TaskPart& p = t.parts[i];
      const char* const does = p.mode == Access::read ? " reads " : p.mode == Access::overwrite ? " overwrites " : " updates ";
      text += (i == 0 ? "" : ",") + std::string(does) + std::to_string(p.operand) + " " + range(p.where.row_begin, p.where.row_end) + " x " +
              range(p.where.column_begin, p.where.column_end);
    }
    text += "\n";
  }
  return text;
}

Grid grid_of(const Product& p, std::size_t devices) {
  const auto columns = static_cast<std::size_t>(std::min<std::uint64_t>(devices, p.n));
  const auto rows = static_cast<std::size_t>(std::min<std::uint64_t>(devices, p.m));
  if (columns == 0 || rows == 0) return {};
  // Cut by columns, every device needs A; cut by rows, B. A cut that uses more devices comes first.
  if (columns != rows) return columns > rows ? Grid{1, columns} : Grid{rows, 1};
  return p.m <= p.n ? Grid{1, columns} : Grid{rows, 1};
}

Grid pieces_that_fit(const Product& p, const Grid& shares, std::size_t columns, std::uint64_t most_elements) {
  const std::uint64_t m = (p.m + shares.rows - 1) / shares.rows, n = (p.n + shares.columns - 1) / shares.columns;
  Grid pieces{1, std::max<std::size_t>(1, columns)};
  const auto part = [](std::uint64_t size, std::size_t count) { return (size + count - 1) / count; };
  const auto fits = [&] {
    const std::uint64_t r = part(m, pieces.rows), c = part(n, pieces.columns);
    return r * p.k + p.k * c + r * c <= most_elements;
  };
  constexpr std::uint64_t least_columns = 64;  // narrower products would take longer than their operands
  while (!fits() && part(n, pieces.columns) > least_columns) pieces.columns *= 2;
  while (!fits() && pieces.rows < m) pieces.rows *= 2;
  while (!fits() && pieces.columns < n) pieces.columns *= 2;
  return pieces;
}

std::vector<Run> cut_to_fit(const Run& run, std::uint64_t most, std::uint64_t grain) {
  const std::uint64_t pieces = most == 0 ? run.size() : (run.size() + most - 1) / most;
  std::vector<Run> cut = cut_evenly(run.size(), static_cast<std::size_t>(pieces), grain <= most ? grain : 1);
  for (Run& r : cut) r = {r.begin + run.begin, r.end + run.begin};
  return cut;
}

std::vector<Task> cut(const Product& p, const Grid& grid, const std::vector<std::uint32_t>& devices, const Grid& pieces, std::uint32_t lanes, const Lead& lead) {
  const auto rectangle = [](Run rows, Run columns) { return Rectangle{rows.begin, rows.end, columns.begin, columns.end}; };
  const auto of_a = [&](Run rows, Run terms) { return p.transpose_a ? rectangle(terms, rows) : rectangle(rows, terms); };
  const auto of_b = [&](Run terms, Run columns) { return p.transpose_b ? rectangle(columns, terms) : rectangle(terms, columns); };
  const Run inner{0, p.k};
  std::vector<std::vector<Task>> of_share;
  for (const Run& c : cut_evenly(p.n, grid.columns)) {
    for (const Run& r : cut_evenly(p.m, grid.rows)) {
      std::vector<Task>& tasks = of_share.emplace_back();
      for (const Run& some_rows : cut_evenly(r.size(), pieces.rows)) {
        const Run rows{r.begin + some_rows.begin, r.begin + some_rows.end};
        std::vector<Run> by_columns = cut_evenly(c.size(), pieces.columns);
        const bool leads = lead.pieces > 0 && lead.panels > 1 && by_columns.size() >= lead.pieces && !p.transpose_a;
        if (leads) {
          by_columns[lead.pieces - 1].begin = by_columns.front().begin;
          by_columns.erase(by_columns.begin(), by_columns.begin() + static_cast<std::ptrdiff_t>(lead.pieces - 1));
        }
        for (std::size_t piece = 0; piece < by_columns.size(); ++piece) {
          const Run columns{c.begin + by_columns[piece].begin, c.begin + by_columns[piece].end};
          const Rectangle all_of_a = of_a(rows, inner);
          for (const Run& terms : leads && piece == 0 ? cut_evenly(p.k, lead.panels) : std::vector<Run>{inner}) {
            const bool reads_c = p.reads_c || terms.begin > 0;
            tasks.push_back({devices[of_share.size() - 1],
                             static_cast<std::uint32_t>(piece) % lanes,
                             {{0, of_a(rows, terms), Access::read, leads ? all_of_a : Rectangle{}},
                              {1, of_b(inner, columns), Access::read},
                              {2, rectangle(rows, columns), reads_c ? Access::read_write : Access::overwrite}}});
          }
        }
      }
    }
  }
  return in_turn(std::move(of_share));
}

std::vector<Task> in_turn(std::vector<std::vector<Task>> shares) {
  std::size_t most = 0;
  for (const std::vector<Task>& share : shares) most = std::max(most, share.size());
  std::vector<Task> tasks;
  for (std::size_t i = 0; i < most; ++i) {
    for (std::vector<Task>& share : shares) {
      if (i < share.size()) tasks.push_back(std::move(share[i]));
    }
  }
  return tasks;
}

std::vector<Task> cut(const std::vector<Held>& runs, const std::vector<Access>& operands) {
  std::vector<Task> tasks;
  for (const Held& h : runs) {
    Task t;
    t.device = h.device;
    for (std::size_t i = 0; i < operands.size(); ++i) t.parts.push_back({static_cast<std::uint32_t>(i), {h.run.begin, h.run.end, 0, 1}, operands[i]});
    tasks.push_back(std::move(t));
  }
  return tasks;
}

}  // namespace semcache::policy
