// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/tasks/tasks.hpp>

#include <algorithm>
#include <iterator>
#include <map>
#include <tuple>
#include <utility>

namespace semcache::tasks {

namespace {

using policy::Run;
using policy::Task;
using policy::TaskPart;

bool contains(const Rectangle& outer, const Rectangle& inner) noexcept {
  return outer.row_begin <= inner.row_begin && inner.row_end <= outer.row_end && outer.column_begin <= inner.column_begin &&
         inner.column_end <= outer.column_end;
}
std::uint64_t elements(const Rectangle& r) noexcept { return r.empty() ? 0 : (r.row_end - r.row_begin) * (r.column_end - r.column_begin); }
Rectangle hull(const Rectangle& a, const Rectangle& b) noexcept {
  if (a.empty()) return b;
  if (b.empty()) return a;
  return {std::min(a.row_begin, b.row_begin), std::max(a.row_end, b.row_end), std::min(a.column_begin, b.column_begin),
          std::max(a.column_end, b.column_end)};
}
bool before(const Rectangle& a, const Rectangle& b) noexcept {
  return std::tuple(a.column_begin, a.row_begin, a.column_end, a.row_end) < std::tuple(b.column_begin, b.row_begin, b.column_end, b.row_end);
}
bool same(const Rectangle& a, const Rectangle& b) noexcept { return contains(a, b) && contains(b, a); }

/// What one device uses of one operand, in memory there.
struct Place {
  Rectangle where;
  runtime::Tile tile;
};

/// The bytes of a rectangle of a matrix, for the calls of the runtime.
struct Bytes {
  const std::byte* first;
  std::size_t width, columns, pitch;
};
Bytes bytes_of(const Matrix& m, const Rectangle& r) noexcept {
  const std::uint64_t e = m.element_bytes;
  return {static_cast<const std::byte*>(m.data) + (r.column_begin * m.leading + r.row_begin) * e, (r.row_end - r.row_begin) * e,
          r.column_end - r.column_begin, m.leading * e};
}

/// The places of a call, for each device and operand.
class Places {
 public:
  Places(const std::vector<Task>& tasks, const std::vector<Matrix>& operands) : operands_(operands) {
    std::map<Key, std::vector<Rectangle>> used;
    std::map<std::uint32_t, std::uint64_t> bytes;  // by device
    for (const Task& t : tasks) {
      for (const TaskPart& p : t.parts) {
        if (p.where.empty()) continue;
        if (p.together.empty()) {
          used[{t.device, p.operand}].push_back(p.where);
        } else if (add({t.device, p.operand}, p.together)) {
          bytes[t.device] += elements(p.together) * operands_[p.operand].element_bytes;
        }
      }
    }
    // One place for all parts of an operand on a device, if they fill it, and if all such places fit the device together.
    std::map<Key, Rectangle> filled;
    for (auto& [key, parts] : used) {
      std::sort(parts.begin(), parts.end(), before);
      Rectangle all;
      std::uint64_t sum = 0;
      for (std::size_t i = 0; i < parts.size(); ++i) {
        all = hull(all, parts[i]);
        if (i == 0 || !same(parts[i], parts[i - 1])) sum += elements(parts[i]);
      }
      if (elements(all) <= sum) filled[key] = all;
      bytes[key.first] += elements(all) * operands_[key.second].element_bytes;
    }
    for (const auto& [key, parts] : used) {
      const auto all = filled.find(key);
      const std::uint64_t budget = runtime::device_budget(key.first);  // each place takes whole pages of the device
      const bool together = all != filled.end() && bytes[key.first] <= budget - budget / 8;
      for (const Rectangle& where : parts) (void)add(key, together ? all->second : where);
    }
  }

  [[nodiscard]] Operand operand(std::uint32_t device, const TaskPart& part) const {
    const Matrix& m = operands_[part.operand];
    const Place& p = place(device, part);
    const std::uint64_t leading = leading_of(p, m);
    return {at(p, m, part.where), leading};
  }
  [[nodiscard]] runtime::LibraryUse use(std::uint32_t device, const TaskPart& part) const {
    return use_of(place(device, part), operands_[part.operand], part.where, part.mode);
  }

  /// Finds which operands several devices read in common. Of these each byte crosses the host's link once, and reaches the other devices from
  /// there.
  void find_shared(const std::vector<Task>& tasks) {
    for (std::uint32_t operand = 0; operand < operands_.size(); ++operand) {
      Needs needs;
      bool written = false;
      for (const Task& t : tasks) {
        for (const TaskPart& p : t.parts) {
          if (p.operand != operand || p.where.empty()) continue;
          written = written || writes(p.mode);
          std::vector<Rectangle>& of = needs[t.device];
          if (std::none_of(of.begin(), of.end(), [&](const Rectangle& r) { return same(r, p.where); })) of.push_back(p.where);
        }
      }
      if (written || needs.size() < 2) continue;
      const std::vector<Rectangle>& first = needs.begin()->second;
      const bool same_for_all = std::all_of(needs.begin(), needs.end(), [&](const auto& n) {
        return std::equal(n.second.begin(), n.second.end(), first.begin(), first.end(), same);
      });
      if (same_for_all) {
        for (const auto& need : needs) common_[operand].push_back(need.first);
      } else if (operands_[operand].columns == 1 && some_overlap(needs) && !is_held(operand)) {
        bring_in_turn(operand, needs);
      }
    }
  }
  /// Called before each task. What all devices need of an operand, and this task is the first to use, is brought now: each device brings a share.
  void bring_shared(const Task& task) {
    for (const TaskPart& p : task.parts) {
      const auto devices = common_.find(p.operand);
      if (devices == common_.end() || p.where.empty()) continue;
      std::vector<Rectangle>& met = met_[p.operand];
      if (std::any_of(met.begin(), met.end(), [&](const Rectangle& r) { return same(r, p.where); })) continue;
      met.push_back(p.where);
      if (!is_on_a_device(p.operand, p.where)) bring_evenly(p.operand, p.where, devices->second);
    }
  }

 private:
  using Key = std::pair<std::uint32_t, std::uint32_t>;  // device, operand
  using Needs = std::map<std::uint32_t, std::vector<Rectangle>>;

  [[nodiscard]] bool is_on_a_device(std::uint32_t operand, const Rectangle& where) const {
    const Matrix& m = operands_[operand];
    const std::vector<std::uint64_t> held = held_bytes(m, {where}).front();
    return std::any_of(held.begin(), held.end(), [&](std::uint64_t bytes) { return bytes >= elements(where) * m.element_bytes; });
  }
  /// Is each element of the vector on some device?
  [[nodiscard]] bool is_held(std::uint32_t operand) const {
    std::vector<policy::Held> held = held_elements(operands_[operand]);
    std::sort(held.begin(), held.end(), [](const auto& a, const auto& b) { return a.run.begin < b.run.begin; });
    std::uint64_t done = 0;
    for (const policy::Held& h : held) {
      if (h.run.begin > done) return false;
      done = std::max(done, h.run.end);
    }
    return done >= operands_[operand].rows;
  }
  /// Fetches a rectangle to a device, on its first lane.
  void fetch(std::uint32_t device, std::uint32_t operand, const Rectangle& where) const {
    const std::vector<Place>& places = places_.at({device, operand});
    const auto at = std::find_if(places.begin(), places.end(), [&](const Place& p) { return contains(p.where, where); });
    const runtime::LibraryUse use = use_of(*at, operands_[operand], where, Access::read);
    const runtime::Launch launch(lane(device, 0).queue, &use, 1);  // of no kernel
  }
  /// Do parts of different devices overlap?
  [[nodiscard]] static bool some_overlap(const Needs& needs) noexcept {
    for (auto a = needs.begin(); a != needs.end(); ++a) {
      for (auto b = std::next(a); b != needs.end(); ++b) {
        for (const Rectangle& r : a->second) {
          if (std::any_of(b->second.begin(), b->second.end(), [&](const Rectangle& other) { return !common(r, other).empty(); })) return true;
        }
      }
    }
    return false;
  }
  /// All devices need the same: each brings a share.
  void bring_evenly(std::uint32_t operand, const Rectangle& where, const std::vector<std::uint32_t>& devices) const {
    const bool by_columns = where.column_end - where.column_begin > 1;
    const std::uint64_t count = by_columns ? where.column_end - where.column_begin : where.row_end - where.row_begin;
    auto device = devices.begin();
    for (const Run& r : policy::cut_evenly(count, devices.size())) {
      Rectangle share = where;
      (by_columns ? share.column_end : share.row_end) = (by_columns ? share.column_begin : share.row_begin) + r.end;
      (by_columns ? share.column_begin : share.row_begin) += r.begin;
      fetch(*device++, operand, share);
    }
  }
  /// The devices need parts of a vector that overlap: each brings of its parts what those before it have not brought.
  void bring_in_turn(std::uint32_t operand, const Needs& needs) const {
    std::vector<Run> brought;  // in ascending order, with gaps between them
    for (const auto& [device, parts] : needs) {
      for (const Rectangle& part : parts) {
        std::uint64_t at = part.row_begin;
        for (const Run& b : brought) {
          if (b.end <= at || b.begin >= part.row_end) continue;
          if (b.begin > at) fetch(device, operand, {at, b.begin, 0, 1});
          at = b.end;
        }
        if (at < part.row_end) fetch(device, operand, {at, part.row_end, 0, 1});
      }
      for (const Rectangle& part : parts) {
        Run all{part.row_begin, part.row_end};
        std::vector<Run> next;
        for (const Run& b : brought) {
          if (b.end < all.begin || b.begin > all.end) {
            next.push_back(b);
          } else {
            all = {std::min(all.begin, b.begin), std::max(all.end, b.end)};
          }
        }
        next.insert(std::find_if(next.begin(), next.end(), [&](const Run& b) { return b.begin > all.begin; }), all);
        brought.swap(next);
      }
    }
  }

  /// @return false if there is this place already
  bool add(const Key& key, const Rectangle& where) {
    std::vector<Place>& places = places_[key];
    if (std::any_of(places.begin(), places.end(), [&](const Place& p) { return same(p.where, where); })) return false;
    const Bytes b = bytes_of(operands_[key.second], where);
    places.push_back({where, runtime::Tile(b.first, b.width, b.columns, b.pitch, key.first, operands_[key.second].element_bytes)});
    return true;
  }
  [[nodiscard]] const Place& place(std::uint32_t device, const TaskPart& part) const {
    const std::vector<Place>& places = places_.at({device, part.operand});
    const Rectangle& around = part.together.empty() ? part.where : part.together;
    return *std::find_if(places.begin(), places.end(), [&](const Place& p) { return contains(p.where, around); });
  }
  [[nodiscard]] static std::uint64_t leading_of(const Place& p, const Matrix& m) noexcept {
    return p.where.column_end - p.where.column_begin > 1 ? p.tile.pitch() / m.element_bytes : p.where.row_end - p.where.row_begin;
  }
  [[nodiscard]] static void* at(const Place& p, const Matrix& m, const Rectangle& r) noexcept {
    const std::uint64_t elements = (r.column_begin - p.where.column_begin) * leading_of(p, m) + (r.row_begin - p.where.row_begin);
    return static_cast<std::byte*>(p.tile.data()) + elements * m.element_bytes;
  }
  [[nodiscard]] static runtime::LibraryUse use_of(const Place& p, const Matrix& m, const Rectangle& r, Access mode) noexcept {
    return {at(p, m, r), (r.row_end - r.row_begin) * m.element_bytes, mode, r.column_end - r.column_begin, leading_of(p, m) * m.element_bytes};
  }

  const std::vector<Matrix>& operands_;
  std::map<Key, std::vector<Place>> places_;
  std::map<std::uint32_t, std::vector<std::uint32_t>> common_;  ///< by operand, the devices that all read the same of it
  std::map<std::uint32_t, std::vector<Rectangle>> met_;         ///< by operand, what tasks so far use of it
};

}  // namespace

void run(const std::vector<Task>& tasks, const std::vector<Matrix>& operands, const Body& body) {
  Places places(tasks, operands);
  places.find_shared(tasks);
  for (const Task& t : tasks) {
    places.bring_shared(t);
    std::vector<Operand> here;
    std::vector<runtime::LibraryUse> uses;
    for (const TaskPart& p : t.parts) {
      if (p.where.empty()) {
        here.push_back({nullptr, 1});
        continue;
      }
      here.push_back(places.operand(t.device, p));
      uses.push_back(places.use(t.device, p));
    }
    const runtime::Stream stream = lane(t.device, t.lane);
    // Noted when the launch has ended, also by an error: a thread that waits before does not wait for this task.
    const base::AtEnd noted([] { note_submitted(); });
    const runtime::Launch launch(stream.queue, uses.data(), uses.size());
    const runtime::OnDevice on(t.device);
    body(stream, t, here.data());
  }
}

std::vector<std::vector<std::uint64_t>> held_bytes(const Matrix& m, const std::vector<Rectangle>& parts) {
  std::vector<std::vector<std::uint64_t>> all;
  const auto devices = static_cast<std::size_t>(device_count());
  for (const Rectangle& r : parts) {
    std::vector<std::uint64_t>& of = all.emplace_back(devices, 0);
    if (r.empty()) continue;
    const Bytes b = bytes_of(m, r);
    for (const runtime::HeldBytes& h : runtime::holders(b.first, b.width, b.columns, b.pitch)) of[h.device] += h.where.size();
  }
  return all;
}

std::vector<policy::Held> held_elements(const Matrix& vector) {
  std::vector<policy::Held> held;
  if (vector.rows == 0) return held;
  for (const runtime::HeldBytes& h : runtime::holders(vector.data, vector.rows * vector.element_bytes)) {
    for (std::uint64_t c = 0; c < h.where.columns; ++c) {
      const ByteRange r = h.where.column(c);
      held.push_back({{(r.begin + vector.element_bytes - 1) / vector.element_bytes, r.end / vector.element_bytes}, h.device});
    }
  }
  return held;
}

}  // namespace semcache::tasks
