// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/tasks/tasks.hpp>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

namespace semcache::tasks {

namespace {

using policy::Run;
using policy::Task;
using policy::TaskPart;

/// What one device fetches of a large part before the next device does: about a millisecond of a link's time.
constexpr std::uint64_t piece_bytes = std::uint64_t(64) << 20;

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

/// What one device uses of one operand, in memory there.
class Place {
 public:
  enum class Room { enough, scarce };
  /// @param room  scarce: the parts that the device uses of all operands do not fit it together
  Place(const Matrix& m, const Rectangle& where, std::uint32_t device, Room room) : where_(where), tile_(tile_of(m, where, device)) {
    // The tile is the array itself, if that lies on the device. A kernel that uses some rows of it needs all that lies between them, too.
    const Bytes b = bytes_of(m, where);
    const std::uint64_t hull = (b.columns - 1) * b.pitch + b.width, bytes = b.columns * b.width;
    if (room == Room::scarce && tile_.data() == b.first && hull > bytes + bytes / 8) apart_.emplace(b.first, b.width, b.columns, b.pitch, device);
  }
  [[nodiscard]] const Rectangle& where() const noexcept { return where_; }
  [[nodiscard]] std::byte* data() const noexcept { return static_cast<std::byte*>(apart_ ? apart_->data() : tile_.data()); }
  /// Elements from one column to the next.
  [[nodiscard]] std::uint64_t leading(const Matrix& m) const noexcept {
    const bool one_column = where_.column_end - where_.column_begin <= 1;
    return apart_ || one_column ? where_.row_end - where_.row_begin : tile_.pitch() / m.element_bytes;
  }

 private:
  static runtime::Tile tile_of(const Matrix& m, const Rectangle& where, std::uint32_t device) {
    const Bytes b = bytes_of(m, where);
    return {runtime::Tile::Part{b.first, b.width, b.columns, b.pitch, m.element_bytes}, device};
  }
  Rectangle where_;
  runtime::Tile tile_;
  std::optional<runtime::ArrayPart> apart_;
};

/// What a task of one device uses of an operand, and the rectangle whose place has it.
struct Need {
  Rectangle where;
  Rectangle around;  ///< `where` itself, if it has a place of its own
};
struct Before {
  bool operator()(const Rectangle& a, const Rectangle& b) const noexcept { return before(a, b); }
};
using Rectangles = std::set<Rectangle, Before>;

/// Positions of a vector: disjoint runs with gaps between them, by their begin.
class Runs {
 public:
  /// Calls `visit(begin, end)` for each gap in the run.
  template <class Visit>
  void for_each_gap(const Run& run, Visit&& visit) const {
    std::uint64_t at = run.begin;
    for (auto r = first_behind(run.begin); r != ends_.end() && r->first < run.end; ++r) {
      if (r->first > at) visit(at, r->first);
      at = std::max(at, r->second);
    }
    if (at < run.end) visit(at, run.end);
  }
  void add(Run run) {
    for (auto r = first_behind(run.begin); r != ends_.end() && r->first <= run.end; r = ends_.erase(r)) {
      run = {std::min(run.begin, r->first), std::max(run.end, r->second)};
    }
    ends_[run.begin] = run.end;
  }

 private:
  using Ends = std::map<std::uint64_t, std::uint64_t>;
  /// The first run that does not end before the position.
  [[nodiscard]] Ends::const_iterator first_behind(std::uint64_t position) const {
    auto r = ends_.upper_bound(position);
    return r != ends_.begin() && std::prev(r)->second >= position ? std::prev(r) : r;
  }
  Ends ends_;
};

/// The places of a call, for each device and operand. Each question takes a time that is logarithmic in the number of places.
class Places {
 public:
  Places(const std::vector<Task>& tasks, const std::vector<Matrix>& operands) : operands_(operands) {
    std::map<Key, Rectangles> used;
    std::map<std::uint32_t, std::uint64_t> bytes;  // by device
    for (const Task& t : tasks) {
      for (const TaskPart& p : t.parts) {
        if (p.where.empty()) continue;
        if (p.together.empty()) {
          used[{t.device, p.operand}].insert(p.where);
        } else if (add({t.device, p.operand}, p.together, Place::Room::enough)) {
          bytes[t.device] += elements(p.together) * operands_[p.operand].element_bytes;
        }
      }
    }
    // One place for all parts of an operand on a device, if they fill it, and if all such places fit the device together.
    std::map<Key, Rectangle> filled;
    for (const auto& [key, parts] : used) {
      Rectangle all;
      std::uint64_t sum = 0;
      for (const Rectangle& part : parts) {
        all = hull(all, part);
        sum += elements(part);
      }
      if (elements(all) <= sum) filled[key] = all;
      bytes[key.first] += elements(all) * operands_[key.second].element_bytes;
    }
    for (const auto& [key, parts] : used) {
      const auto all = filled.find(key);
      const std::uint64_t budget = runtime::device_budget(key.first);  // each place takes whole pages of the device
      const bool fit = bytes[key.first] <= budget - budget / 8;
      if (all != filled.end() && fit) {
        (void)add(key, all->second, Place::Room::enough);
        of_all_[key] = all->second;
      } else {
        for (const Rectangle& where : parts) (void)add(key, where, fit ? Place::Room::enough : Place::Room::scarce);
      }
    }
  }

  [[nodiscard]] Operand operand(std::uint32_t device, const TaskPart& part) const {
    const Matrix& m = operands_[part.operand];
    const Place& p = place(device, part.operand, need(device, part));
    return {at(p, m, part.where), p.leading(m)};
  }
  [[nodiscard]] runtime::LibraryUse use(std::uint32_t device, const TaskPart& part) const {
    return use_of(place(device, part.operand, need(device, part)), operands_[part.operand], part.where, part.mode);
  }

  /// Finds which operands several devices read in common. Of these each byte crosses the host's link once, and reaches the other devices from
  /// there.
  void find_shared(const std::vector<Task>& tasks) {
    for (std::uint32_t operand = 0; operand < operands_.size(); ++operand) {
      Needs needs;
      std::map<std::uint32_t, Rectangles> met;  // by device
      bool written = false;
      for (const Task& t : tasks) {
        for (const TaskPart& p : t.parts) {
          if (p.operand != operand || p.where.empty()) continue;
          written = written || writes(p.mode);
          if (met[t.device].insert(p.where).second) needs[t.device].push_back(need(t.device, p));
          if (!p.together.empty()) around_[{t.device, operand}].emplace(p.where, p.together);
        }
      }
      if (written || needs.size() < 2) continue;
      std::vector<std::uint32_t> alike = largest_group(needs);
      const bool is_vector = operands_[operand].columns == 1;
      if (alike.size() == needs.size() || (!is_vector && alike.size() > 1)) {
        common_[operand] = std::move(alike);
      } else if (is_vector && some_overlap(needs) && !is_held(operand)) {
        bring_in_turn(operand, needs);
      }
    }
  }
  /// Called before each task. What several devices need of an operand, and this task is the first of theirs to use, is brought now: each of these
  /// devices brings a share. More than two pass large parts on, each to the next.
  void bring_shared(const Task& task) {
    for (const TaskPart& p : task.parts) {
      const auto found = common_.find(p.operand);
      if (found == common_.end() || p.where.empty()) continue;
      const std::vector<std::uint32_t>& devices = found->second;
      if (std::find(devices.begin(), devices.end(), task.device) == devices.end() || !met_[p.operand].insert(p.where).second) continue;
      bring_to_all(p, devices);
    }
  }
  /// Brings what the first task of each device reads, where that is large, a piece for each device in turn. A launch protects the host's pages of all
  /// that it fetches before it returns, and meanwhile the links of the other devices would have nothing to carry.
  void begin_on_all_links(const std::vector<Task>& tasks) const {
    std::map<std::uint32_t, std::vector<std::pair<TaskPart, Rectangle>>> pieces;  // by device, with the parts that they belong to
    std::set<std::uint32_t> begun;
    for (const Task& t : tasks) {
      if (!begun.insert(t.device).second) continue;
      for (const TaskPart& p : t.parts) {
        if (writes(p.mode) || common_.count(p.operand) > 0 || bytes(p) < 2 * piece_bytes || is_on_a_device(p.operand, p.where)) continue;
        for (const Rectangle& piece : cut(p.where, (bytes(p) + piece_bytes - 1) / piece_bytes)) pieces[t.device].emplace_back(p, piece);
      }
    }
    if (pieces.size() < 2) return;
    for (std::size_t turn = 0, left = pieces.size(); left > 0; ++turn) {
      left = 0;
      for (const auto& [device, of_device] : pieces) {
        if (turn >= of_device.size()) continue;
        const auto& [part, piece] = of_device[turn];
        fetch(device, part.operand, need(device, part), piece);
        ++left;
      }
    }
  }

 private:
  using Key = std::pair<std::uint32_t, std::uint32_t>;  // device, operand
  using Needs = std::map<std::uint32_t, std::vector<Need>>;

  [[nodiscard]] bool is_on_a_device(std::uint32_t operand, const Rectangle& where) const { return !holders_of(operand, where).empty(); }
  /// The devices that hold all of the rectangle.
  [[nodiscard]] std::vector<std::uint32_t> holders_of(std::uint32_t operand, const Rectangle& where) const {
    const Matrix& m = operands_[operand];
    const std::vector<std::uint64_t> held = held_bytes(m, {where}).front();
    std::vector<std::uint32_t> holders;
    for (std::uint32_t device = 0; device < held.size(); ++device) {
      if (held[device] >= elements(where) * m.element_bytes) holders.push_back(device);
    }
    return holders;
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
  /// Fetches a part of what a task needs to a device, on its first lane.
  void fetch(std::uint32_t device, std::uint32_t operand, const Need& need, const Rectangle& where,
             std::uint32_t source = runtime::LibraryUse::any_device) const {
    runtime::LibraryUse use = use_of(place(device, operand, need), operands_[operand], where, Access::read);
    use.source = source;
    const runtime::Launch launch(lane(device, 0).queue, &use, 1);  // of no kernel
  }
  /// The devices that need the same parts in the same order, as most others do.
  [[nodiscard]] static std::vector<std::uint32_t> largest_group(const Needs& needs) {
    std::vector<std::uint32_t> largest;
    for (const auto& first : needs) {
      std::vector<std::uint32_t> group;
      for (const auto& other : needs) {
        const bool alike = std::equal(first.second.begin(), first.second.end(), other.second.begin(), other.second.end(),
                                      [](const Need& a, const Need& b) { return same(a.where, b.where); });
        if (alike) group.push_back(other.first);
      }
      if (group.size() > largest.size()) largest = std::move(group);
    }
    return largest;
  }
  /// Do parts of different devices overlap? The parts are of a vector.
  [[nodiscard]] static bool some_overlap(const Needs& needs) {
    std::vector<policy::Held> parts;
    for (const auto& [device, of_device] : needs) {
      for (const Need& n : of_device) parts.push_back({{n.where.row_begin, n.where.row_end}, device});
    }
    std::sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.run.begin < b.run.begin; });
    policy::Held furthest{{0, 0}, UINT32_MAX};  // of the parts so far
    std::uint64_t of_others = 0;                // where the parts of other devices than that end
    for (const policy::Held& p : parts) {
      if (p.run.begin < (p.device == furthest.device ? of_others : furthest.run.end)) return true;
      if (p.run.end <= furthest.run.end) continue;
      if (p.device != furthest.device) of_others = furthest.run.end;
      furthest = p;
    }
    return false;
  }
  [[nodiscard]] std::uint64_t bytes(const TaskPart& part) const { return elements(part.where) * operands_[part.operand].element_bytes; }
  /// Cuts the rectangle evenly by its columns, or by its rows if it is one column.
  /// @return at most `most` rectangles, none of them empty
  [[nodiscard]] static std::vector<Rectangle> cut(const Rectangle& where, std::uint64_t most) {
    const bool by_columns = where.column_end - where.column_begin > 1;
    const std::uint64_t count = by_columns ? where.column_end - where.column_begin : where.row_end - where.row_begin;
    std::vector<Rectangle> all;
    for (const Run& r : policy::cut_evenly(count, most)) {
      Rectangle& one = all.emplace_back(where);
      (by_columns ? one.column_end : one.row_end) = (by_columns ? one.column_begin : one.row_begin) + r.end;
      (by_columns ? one.column_begin : one.row_begin) += r.begin;
    }
    return all;
  }
  /// All of these devices need the same: each brings a share, unless some device has all of it. Then it passes around: each device gets it from the
  /// one before it, in pieces, so that no device sends it to all others in turn. Where that does not pay, the tasks fetch it.
  void bring_to_all(const TaskPart& part, std::vector<std::uint32_t> ring) const {
    const std::vector<std::uint32_t> holders = holders_of(part.operand, part.where);
    const auto has_all = [&](std::uint32_t device) { return std::find(holders.begin(), holders.end(), device) != holders.end(); };
    if (!holders.empty() && std::none_of(ring.begin(), ring.end(), has_all)) ring.insert(ring.begin(), holders.front());
    struct Chain {
      std::size_t first;  ///< where in the ring it begins
      std::vector<Rectangle> pieces;
    };
    std::vector<Chain> chains;
    const std::vector<Rectangle> shares = holders.empty() ? cut(part.where, ring.size()) : std::vector<Rectangle>{part.where};
    const std::size_t pieces = policy::pieces_of_chain(bytes(part) / shares.size(), ring.size(), shares.size());
    const auto first = holders.empty() ? std::size_t{0} : static_cast<std::size_t>(std::find_if(ring.begin(), ring.end(), has_all) - ring.begin());
    for (const Rectangle& share : shares) chains.push_back({first + chains.size(), cut(share, pieces)});
    const std::size_t steps = pieces > 1 ? ring.size() : 1;
    for (std::size_t piece = 0; piece < pieces; ++piece) {
      for (std::size_t step = 0; step < steps; ++step) {
        for (const Chain& c : chains) {
          const std::uint32_t device = ring[(c.first + step) % ring.size()];
          if (piece >= c.pieces.size() || has_all(device)) continue;
          const std::uint32_t before = step > 0 ? ring[(c.first + step - 1) % ring.size()] : runtime::LibraryUse::any_device;
          fetch(device, part.operand, common_need(device, part), c.pieces[piece], before);
        }
      }
    }
  }
  /// The devices need parts of a vector that overlap: each brings of its parts what those before it have not brought.
  void bring_in_turn(std::uint32_t operand, const Needs& needs) const {
    Runs brought;
    for (const auto& [device, parts] : needs) {
      for (const Need& n : parts) {
        brought.for_each_gap({n.where.row_begin, n.where.row_end},
                             [&, to = device](std::uint64_t begin, std::uint64_t end) { fetch(to, operand, n, {begin, end, 0, 1}); });
      }
      for (const Need& n : parts) brought.add({n.where.row_begin, n.where.row_end});
    }
  }

  /// @return false if there is this place already
  bool add(const Key& key, const Rectangle& where, Place::Room room) {
    std::map<Rectangle, Place, Before>& places = places_[key];
    if (places.count(where) > 0) return false;
    places.try_emplace(where, operands_[key.second], where, key.first, room);
    return true;
  }
  /// What a task on the device needs for the part.
  [[nodiscard]] Need need(std::uint32_t device, const TaskPart& part) const {
    if (!part.together.empty()) return {part.where, part.together};
    const auto all = of_all_.find({device, part.operand});
    return {part.where, all != of_all_.end() ? all->second : part.where};
  }
  /// What another device needs of the part. It may have its own memory around that: a small device has less room.
  [[nodiscard]] Need common_need(std::uint32_t device, const TaskPart& part) const {
    if (const auto of = around_.find({device, part.operand}); of != around_.end()) {
      if (const auto found = of->second.find(part.where); found != of->second.end()) return {part.where, found->second};
    }
    return need(device, {part.operand, part.where, part.mode});
  }
  [[nodiscard]] const Place& place(std::uint32_t device, std::uint32_t operand, const Need& need) const {
    return places_.at({device, operand}).at(need.around);
  }
  [[nodiscard]] static void* at(const Place& p, const Matrix& m, const Rectangle& r) noexcept {
    const std::uint64_t elements = (r.column_begin - p.where().column_begin) * p.leading(m) + (r.row_begin - p.where().row_begin);
    return p.data() + elements * m.element_bytes;
  }
  [[nodiscard]] static runtime::LibraryUse use_of(const Place& p, const Matrix& m, const Rectangle& r, Access mode) noexcept {
    return {at(p, m, r), (r.row_end - r.row_begin) * m.element_bytes, mode, r.column_end - r.column_begin, p.leading(m) * m.element_bytes};
  }

  const std::vector<Matrix>& operands_;
  std::map<Key, std::map<Rectangle, Place, Before>> places_;
  std::map<Key, Rectangle> of_all_;                             ///< where all parts that are not `together` have one place
  std::map<std::uint32_t, std::vector<std::uint32_t>> common_;  ///< by operand, the devices that read the same of it
  std::map<Key, std::map<Rectangle, Rectangle, Before>> around_;  ///< where parts are `together`, by part: of the first such task
  std::map<std::uint32_t, Rectangles> met_;                     ///< by operand, what tasks of these devices so far use of it
};

}  // namespace

void run(const std::vector<Task>& tasks, const std::vector<Matrix>& operands, const Body& body) {
  Places places(tasks, operands);
  places.find_shared(tasks);
  places.begin_on_all_links(tasks);
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
