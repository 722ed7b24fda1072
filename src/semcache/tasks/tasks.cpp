// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/tasks/tasks.hpp>

#include <algorithm>
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
bool operator<(const Rectangle& a, const Rectangle& b) noexcept {
  return std::tuple(a.column_begin, a.row_begin, a.column_end, a.row_end) < std::tuple(b.column_begin, b.row_begin, b.column_end, b.row_end);
}
bool same(const Rectangle& a, const Rectangle& b) noexcept { return contains(a, b) && contains(b, a); }

/// What one device uses of one operand, in memory there.
struct Place {
  Rectangle where;
  runtime::Tile tile;
  bool written = false;
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
    std::map<Key, std::vector<std::pair<Rectangle, bool>>> used;
    for (const Task& t : tasks) {
      for (const TaskPart& p : t.parts) {
        if (!p.where.empty()) used[{t.device, p.operand}].push_back({p.where, writes(p.mode)});
      }
    }
    for (auto& [key, parts] : used) {
      std::sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
      // One place for all of them, if they fill it.
      Rectangle all;
      std::uint64_t sum = 0;
      for (std::size_t i = 0; i < parts.size(); ++i) {
        all = hull(all, parts[i].first);
        if (i == 0 || !same(parts[i].first, parts[i - 1].first)) sum += elements(parts[i].first);
      }
      const bool together = elements(all) <= sum;
      for (const auto& [where, written] : parts) add(key, together ? all : where, written);
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

  /// Brings what several devices need in equal shares, one to each of them. So each byte comes from where it is now to one device only, and
  /// then to the others from there.
  void bring_shared() const {
    for (const auto& [key, places] : places_) {
      for (const Place& p : places) {
        if (p.written) continue;
        std::vector<std::pair<std::uint32_t, const Place*>> devices;
        for (const auto& [other, theirs] : places_) {
          if (other.second != key.second) continue;
          const auto found = std::find_if(theirs.begin(), theirs.end(), [&](const Place& q) { return same(q.where, p.where); });
          if (found != theirs.end()) devices.push_back({other.first, &*found});
        }
        if (devices.size() < 2 || devices.front().second != &p) continue;  // the first device does it for all
        const Matrix& m = operands_[key.second];
        const bool by_columns = p.where.column_end - p.where.column_begin > 1;
        const std::uint64_t count = by_columns ? p.where.column_end - p.where.column_begin : p.where.row_end - p.where.row_begin;
        const std::vector<Run> shares = policy::cut_evenly(count, devices.size());
        for (std::size_t i = 0; i < shares.size(); ++i) {
          Rectangle share = p.where;
          (by_columns ? share.column_end : share.row_end) = (by_columns ? share.column_begin : share.row_begin) + shares[i].end;
          (by_columns ? share.column_begin : share.row_begin) += shares[i].begin;
          const runtime::LibraryUse use = use_of(*devices[i].second, m, share, Access::read);
          const runtime::Launch launch(lane(devices[i].first, 0).queue, &use, 1);  // of no kernel: the bytes arrive on the lane
        }
      }
    }
  }

 private:
  using Key = std::pair<std::uint32_t, std::uint32_t>;  // device, operand

  void add(const Key& key, const Rectangle& where, bool written) {
    std::vector<Place>& places = places_[key];
    const auto found = std::find_if(places.begin(), places.end(), [&](const Place& p) { return same(p.where, where); });
    if (found != places.end()) {
      found->written = found->written || written;
      return;
    }
    const Bytes b = bytes_of(operands_[key.second], where);
    places.push_back({where, runtime::Tile(b.first, b.width, b.columns, b.pitch, key.first), written});
  }
  [[nodiscard]] const Place& place(std::uint32_t device, const TaskPart& part) const {
    const std::vector<Place>& places = places_.at({device, part.operand});
    return *std::find_if(places.begin(), places.end(), [&](const Place& p) { return contains(p.where, part.where); });
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
};

}  // namespace

void run(const std::vector<Task>& tasks, const std::vector<Matrix>& operands, const Body& body) {
  const Places places(tasks, operands);
  places.bring_shared();
  for (const Task& t : tasks) {
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
