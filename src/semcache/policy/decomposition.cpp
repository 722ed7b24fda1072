// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/policy/decomposition.hpp>
#include <semcache/policy/policy.hpp>
#include <semcache/policy/shares.hpp>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>
#include <tuple>
#include <utility>

namespace semcache::policy {

bool fit_together(const Memory& memory, std::initializer_list<std::uint64_t> parts) noexcept {
  std::uint64_t pages = 0;
  for (const std::uint64_t bytes : parts) pages += bytes == 0 ? 0 : (bytes + memory.page - 1) / memory.page + 1;
  return pages <= memory.budget / memory.page;
}

std::vector<std::uint32_t> devices_with_room(const std::vector<Memory>& memory, std::initializer_list<std::uint64_t> parts) {
  std::vector<std::uint32_t> all(memory.size()), with_room;
  std::iota(all.begin(), all.end(), 0U);
  std::copy_if(all.begin(), all.end(), std::back_inserter(with_room), [&](std::uint32_t d) { return fit_together(memory[d], parts); });
  return with_room.empty() ? all : with_room;
}

std::uint64_t bytes_of_one_task(const Memory& memory) noexcept {
  const std::uint64_t beside = 6 * memory.page;
  return std::max(memory.budget > beside ? (memory.budget - beside) / 2 : 0, memory.page / 2);
}

std::uint64_t bytes_of_task(const Memory& memory) noexcept { return std::min(memory.budget / 3, bytes_of_one_task(memory)); }

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

std::vector<std::uint32_t> assign(const std::vector<std::vector<std::uint64_t>>& held, const std::vector<std::uint32_t>& among) {
  std::vector<std::vector<std::uint64_t>> by_these;
  for (const std::vector<std::uint64_t>& of_run : held) {
    std::vector<std::uint64_t>& some = by_these.emplace_back();
    for (const std::uint32_t d : among) some.push_back(d < of_run.size() ? of_run[d] : 0);
  }
  std::vector<std::uint32_t> devices = assign(by_these);
  for (std::uint32_t& d : devices) d = among[d];
  return devices;
}

std::size_t pieces_of_chain(std::uint64_t bytes, std::size_t devices, std::size_t chains) noexcept {
  if (devices < 3) return 1;
  constexpr double seconds_of_transfer = 6e-6;  // beside its bytes: of a link, and of the host, which submits it
  const double transfers = static_cast<double>(bytes) / (bytes_between_devices_a_second * seconds_of_transfer);
  // With n pieces it takes n + devices - 2 times a piece, with its latency. And the host submits one piece of all chains while one is under way.
  const double fastest = std::sqrt(transfers * static_cast<double>(devices - 2));
  const double submitted = transfers / static_cast<double>(chains * (devices - 1));
  return static_cast<std::size_t>(std::max(1.0, std::min(fastest, submitted)));
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

namespace {

std::uint64_t part(std::uint64_t size, std::uint64_t pieces) noexcept { return (size + pieces - 1) / pieces; }

/// The next number of pieces to try: about a quarter more, and `most` at last.
std::uint64_t more(std::uint64_t pieces, std::uint64_t most) noexcept {
  const std::uint64_t next = pieces + std::max<std::uint64_t>(1, pieces / 4);
  return pieces < most ? std::min(next, most) : next;
}

/// Finds the blocking of a product, not all of whose A fits, that brings the fewest elements to the device.
/// @param several, one  see `blocking_that_fits`: the elements that several tasks may have each, and a single one
Blocking smallest_traffic(const Product& p, std::size_t least_pieces, std::uint64_t several, std::uint64_t one) {
  constexpr double elements_of_launch = 4096;  // a task takes as long as so many elements do over the link
  Blocking best{p.m, p.n, std::max<std::uint64_t>(1, p.k), Stays::part_of_c};
  double least = std::numeric_limits<double>::infinity();
  const auto consider = [&](const Blocking& b) {
    const double of_a = static_cast<double>(p.m) * static_cast<double>(p.k), of_b = static_cast<double>(p.k) * static_cast<double>(p.n);
    const double times_a = b.stays == Stays::rows_of_a ? 1 : static_cast<double>(b.columns);
    const double times_b = b.stays == Stays::columns_of_b ? 1 : static_cast<double>(b.rows);
    const double tasks = static_cast<double>(b.rows) * static_cast<double>(b.columns) * static_cast<double>(b.terms);
    const double cost = of_a * times_a + of_b * times_b + elements_of_launch * tasks;
    if (cost >= least) return;
    least = cost;
    best = b;
  };
  for (std::uint64_t rows = 1; rows <= p.m; rows = more(rows, p.m)) {
    for (std::uint64_t columns = 1; columns <= p.n; columns = more(columns, p.n)) {
      const std::uint64_t r = part(p.m, rows), c = part(p.n, columns);
      if (rows * columns >= least_pieces && r * p.k + p.k * c + r * c <= several) {
        consider({rows, columns, 1, Stays::rows_of_a});
        consider({rows, columns, 1, Stays::columns_of_b});
      }
      // Beside the part of C another one has room, which leaves, and the parts of A and B of three tasks.
      if (p.k == 0 || r * c > one) continue;
      const std::uint64_t terms = std::min(p.k, (one - r * c) * 2 / (3 * (r + c)));
      if (terms > 0) consider({rows, columns, part(p.k, terms), Stays::part_of_c});
    }
  }
  return best;
}

}  // namespace

Product share_of(const Product& p, const Grid& shares) noexcept {
  Product share = p;
  share.m = part(p.m, shares.rows);
  share.n = part(p.n, shares.columns);
  return share;
}

Blocking blocking_that_fits(const Product& p, std::size_t least_pieces, const Memory& memory, std::uint64_t element_bytes) {
  constexpr std::uint64_t least_columns = 64;  // narrower products would take longer than their operands
  const std::uint64_t several = bytes_of_task(memory) / element_bytes;
  Blocking with_all_of_a{1, std::max<std::size_t>(1, least_pieces)};
  const auto columns = [&] { return part(p.n, with_all_of_a.columns); };
  const auto fits = [&] { return p.m * p.k + (p.m + p.k) * columns() <= several; };
  while (!fits() && columns() > least_columns) with_all_of_a.columns *= 2;
  return fits() ? with_all_of_a : smallest_traffic(p, least_pieces, several, bytes_of_one_task(memory) / element_bytes);
}

std::vector<Run> cut_to_fit(const Run& run, std::uint64_t most, std::uint64_t grain) {
  const std::uint64_t pieces = most == 0 ? run.size() : (run.size() + most - 1) / most;
  std::vector<Run> cut = cut_evenly(run.size(), static_cast<std::size_t>(pieces), grain <= most ? grain : 1);
  for (Run& r : cut) r = {r.begin + run.begin, r.end + run.begin};
  return cut;
}

namespace {

Run behind(std::uint64_t begin, const Run& r) noexcept { return {begin + r.begin, begin + r.end}; }

/// The parts of a share's result in the order in which they are computed: rows, columns.
std::vector<std::pair<Run, Run>> parts_in_order(const Run& rows, const Run& columns, const Blocking& blocking) {
  const std::vector<Run> by_rows = cut_evenly(rows.size(), blocking.rows), by_columns = cut_evenly(columns.size(), blocking.columns);
  std::vector<std::pair<Run, Run>> parts;
  const bool columns_stay = blocking.stays == Stays::columns_of_b;
  for (const Run& outer : columns_stay ? by_columns : by_rows) {
    for (const Run& inner : columns_stay ? by_rows : by_columns) {
      parts.emplace_back(behind(rows.begin, columns_stay ? inner : outer), behind(columns.begin, columns_stay ? outer : inner));
    }
  }
  return parts;
}

std::vector<Task> tasks_of_share(const Product& p, const Run& all_rows, const Run& all_columns, std::uint32_t device, const Blocking& blocking,
                                 std::uint32_t lanes) {
  const auto rectangle = [](const Run& rows, const Run& columns) { return Rectangle{rows.begin, rows.end, columns.begin, columns.end}; };
  const auto of_a = [&](const Run& rows, const Run& terms) { return p.transpose_a ? rectangle(terms, rows) : rectangle(rows, terms); };
  const auto of_b = [&](const Run& terms, const Run& columns) { return p.transpose_b ? rectangle(columns, terms) : rectangle(terms, columns); };
  const Run all_terms{0, p.k};
  const Lead& lead = blocking.lead;
  std::vector<std::pair<Run, Run>> parts = parts_in_order(all_rows, all_columns, blocking);
  const bool leads = lead.pieces > 0 && lead.panels > 1 && parts.size() >= lead.pieces && blocking.rows == 1 && blocking.terms == 1 && !p.transpose_a;
  if (leads) {
    parts[lead.pieces - 1].second.begin = all_columns.begin;
    parts.erase(parts.begin(), parts.begin() + static_cast<std::ptrdiff_t>(lead.pieces - 1));
  }
  std::vector<Task> tasks;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto& [rows, columns] = parts[i];
    const bool is_lead = leads && i == 0;
    for (const Run& terms : p.k == 0 ? std::vector<Run>{all_terms} : cut_evenly(p.k, is_lead ? lead.panels : blocking.terms)) {
      const bool reads_c = p.reads_c || terms.begin > 0;
      tasks.push_back({device,
                       static_cast<std::uint32_t>(i) % lanes,
                       {{0, of_a(rows, terms), Access::read, leads ? of_a(rows, all_terms) : Rectangle{}},
                        {1, of_b(is_lead ? all_terms : terms, columns), Access::read},
                        {2, rectangle(rows, columns), reads_c ? Access::read_write : Access::overwrite}}});
    }
  }
  return tasks;
}

}  // namespace

std::vector<Task> cut(const Product& p, const Grid& grid, const std::vector<std::uint32_t>& devices, const std::vector<Blocking>& blockings,
                      std::uint32_t lanes) {
  std::vector<std::vector<Task>> of_share;
  for (const Run& columns : cut_evenly(p.n, grid.columns)) {
    for (const Run& rows : cut_evenly(p.m, grid.rows)) {
      const std::size_t share = of_share.size();
      of_share.push_back(tasks_of_share(p, rows, columns, devices[share], blockings[share], lanes));
    }
  }
  return in_turn(std::move(of_share));
}

std::vector<Task> cut(const Product& p, const std::vector<Share>& shares, const std::vector<Blocking>& blockings, std::uint32_t lanes) {
  std::vector<std::vector<Task>> of_share;
  for (std::size_t s = 0; s < shares.size(); ++s) {
    const Rectangle& r = shares[s].where;
    of_share.push_back(tasks_of_share(p, {r.row_begin, r.row_end}, {r.column_begin, r.column_end}, shares[s].device, blockings[s], lanes));
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
