// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "stand_ins.hpp"

#include <semcache/base/addresses.hpp>

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <string>
#include <utility>

namespace semcache::linalg {

namespace {

std::byte* at(std::uint64_t address) noexcept { return static_cast<std::byte*>(base::pointer(address)); }

/// Calls `visit(Region)` for the parts of a region that lie in a range: at most three. All are by addresses.
template <class Visit>
void for_each_part(const Region& region, const ByteRange& in, const Visit& visit) {
  const auto begin = static_cast<std::int64_t>(in.begin);
  for_each_inside(region, -begin, in.size(), [&](const Region& part) { visit(part.moved(begin)); });
}
template <class Visit>
void for_each_column(const Region& region, const Visit& visit) {
  for (std::uint64_t c = 0; c < region.columns; ++c) visit(region.column(c));
}

/// Copies a region whose first byte is at `from`. The distance between columns stays the same.
void copy_region(std::byte* to, const std::byte* from, const Region& region) {
  runtime::copy_2d(to, region.pitch, from, region.pitch, region.width, region.columns, runtime::queue_of(nullptr));
}

/// Bytes of ordinary memory in an adopted range, and what the stand-in has of them.
class Edge {
 public:
  explicit Edge(ByteRange addresses) : where_(addresses) {
    // Edges have less than a page each, and a range without a whole page has less than two. A larger one is all of a large range.
    constexpr std::uint64_t two_large_pages = 2 * 65536;
    if (where_.size() > two_large_pages) return;
    held_.resize(where_.size());
    is_held_.resize(where_.size(), false);
  }
  [[nodiscard]] const ByteRange& where() const noexcept { return where_; }

  /// Copies a part of the edge to `to` in the stand-in, unless the stand-in has the same bytes.
  void send(const Region& part, std::byte* to) {
    if (!is_remembered()) return copy_region(to, at(part.begin), part);
    if (is_same(part)) return;
    forget(part);
    for_each_column(part, [&](const ByteRange& c) { std::memcpy(held(c), at(c.begin), c.size()); });
    copy_region(to, held({part.begin, part.begin}), part);
    mark(part, true);
  }
  /// Copies the part from the stand-in.
  void bring_back(const Region& part, const std::byte* from) {
    copy_region(at(part.begin), from, part);
    if (!is_remembered()) return;
    for_each_column(part, [&](const ByteRange& c) { std::memcpy(held(c), at(c.begin), c.size()); });
    mark(part, true);
  }
  /// Notes that the stand-in gets other bytes.
  void forget(const Region& part) noexcept { mark(part, false); }

 private:
  [[nodiscard]] bool is_remembered() const noexcept { return !held_.empty(); }
  [[nodiscard]] std::byte* held(const ByteRange& bytes) noexcept { return held_.data() + (bytes.begin - where_.begin); }
  [[nodiscard]] bool is_same(const Region& part) noexcept {
    bool same = true;
    for_each_column(part, [&](const ByteRange& c) {
      const auto first = is_held_.begin() + static_cast<std::ptrdiff_t>(c.begin - where_.begin);
      same = same && std::all_of(first, first + static_cast<std::ptrdiff_t>(c.size()), [](char held) { return held != 0; }) &&
             std::memcmp(held(c), at(c.begin), c.size()) == 0;
    });
    return same;
  }
  void mark(const Region& part, bool held) noexcept {
    if (!is_remembered()) return;
    for_each_column(part, [&](const ByteRange& c) {
      std::fill_n(is_held_.begin() + static_cast<std::ptrdiff_t>(c.begin - where_.begin), c.size(), static_cast<char>(held));
    });
  }
  ByteRange where_;              ///< by addresses
  std::vector<std::byte> held_;  ///< what the stand-in has; empty: nothing is remembered
  std::vector<char> is_held_;    ///< by byte: whether `held_` is known
};

}  // namespace

/// The device array that stands for an adopted range. Threads: any, where no two use the same bytes and one of them writes.
class StandIn : base::Uncopied {
 public:
  /// @throws OutOfMemory
  explicit StandIn(const runtime::AdoptedRange& range) : begin_(base::number(range.address)), number_(range.number), epoch_(runtime::epoch()) {
    body_ = {begin_ + range.body.begin, begin_ + range.body.end};
    for (const ByteRange& edge : {ByteRange{begin_, body_.begin}, ByteRange{body_.end, begin_ + range.bytes}}) {
      if (!edge.empty()) edges_.emplace_back(edge);
    }
    constexpr std::uint64_t alignment = 512;  // of arrays; operands are aligned there as they are in the range
    const std::uint64_t in_front = begin_ % alignment;
    const std::string label = range.label.empty() ? "stand-in (linalg)" : "stand-in of " + range.label + " (linalg)";
    array_ = static_cast<std::byte*>(runtime::allocate_device(label.c_str(), in_front + range.bytes));
    first_ = array_ + in_front;
  }
  ~StandIn() {
    if (epoch_ == runtime::epoch()) runtime::deallocate(array_);
  }
  [[nodiscard]] bool begins_at(const void* address) const noexcept { return begin_ == base::number(address); }
  [[nodiscard]] bool is_of(const runtime::AdoptedRange& range) const noexcept {
    return begins_at(range.address) && number_ == range.number && epoch_ == runtime::epoch();
  }
  /// Returns where the byte of an address lies in the array.
  [[nodiscard]] std::byte* place_of(std::uint64_t address) const noexcept { return first_ + static_cast<std::int64_t>(address - begin_); }

  void send(const Region& where) {
    for_each_part(where, body_, [&](const Region& part) { copy_region(place_of(part.begin), at(part.begin), part); });
    const std::lock_guard<std::mutex> lock(mutex_);
    for_each_in_edges(where, [&](Edge& edge, const Region& part) { edge.send(part, place_of(part.begin)); });
  }
  void bring_back(const Region& where) {
    {  // first, because it can fail
      const std::lock_guard<std::mutex> lock(mutex_);
      for_each_in_edges(where, [&](Edge& edge, const Region& part) { edge.bring_back(part, place_of(part.begin)); });
    }
    for_each_part(where, body_, [&](const Region& part) { copy_region(at(part.begin), place_of(part.begin), part); });
  }
  void forget(const Region& where) noexcept {
    const std::lock_guard<std::mutex> lock(mutex_);
    for_each_in_edges(where, [](Edge& edge, const Region& part) { edge.forget(part); });
  }

 private:
  template <class Visit>
  void for_each_in_edges(const Region& where, const Visit& visit) {
    for (Edge& edge : edges_) for_each_part(where, edge.where(), [&](const Region& part) { visit(edge, part); });
  }
  const std::uint64_t begin_;   ///< the address of the range
  const std::uint64_t number_;  ///< of the adoption
  const std::uint64_t epoch_;
  ByteRange body_;              ///< by addresses
  std::byte* array_ = nullptr;
  std::byte* first_ = nullptr;  ///< the first byte of the range in it
  std::mutex mutex_;            ///< of the edges: two calls may read the same bytes
  std::vector<Edge> edges_;
};

namespace {

constexpr std::size_t most_kept = 64;

struct Kept {
  std::mutex mutex;
  std::condition_variable call_has_ended;
  std::vector<std::shared_ptr<StandIn>> stand_ins;  ///< the one that was used last is the last
  std::vector<const StandIns::Use*> under_way;      ///< of calls that have not ended
};
Kept& kept() {
  static Kept* const k = new Kept;  // the runtime may end after the program's statics
  return *k;
}

/// Drops those stand-ins of which `is_dropped(stand_in)` is true.
template <class IsDropped>
void drop(const IsDropped& is_dropped) noexcept {
  std::vector<std::shared_ptr<StandIn>> dropped;  // whose arrays are freed outside the lock
  Kept& k = kept();
  const std::lock_guard<std::mutex> lock(k.mutex);
  const auto rest = std::stable_partition(k.stand_ins.begin(), k.stand_ins.end(), [&](const auto& s) { return !is_dropped(*s); });
  dropped.assign(std::make_move_iterator(rest), std::make_move_iterator(k.stand_ins.end()));
  k.stand_ins.erase(rest, k.stand_ins.end());
}
void drop_all() noexcept {
  drop([](const StandIn&) { return true; });
}
void drop_of(const void* address) noexcept {
  drop([&](const StandIn& s) { return s.begins_at(address); });
}

/// Returns the stand-in of the range, which is made where there is none. @throws OutOfMemory
std::shared_ptr<StandIn> stand_in_of(const runtime::AdoptedRange& range) {
  std::vector<std::shared_ptr<StandIn>> dropped;  // whose arrays are freed outside the lock
  Kept& k = kept();
  const std::lock_guard<std::mutex> lock(k.mutex);
  const auto found = std::find_if(k.stand_ins.begin(), k.stand_ins.end(), [&](const auto& s) { return s->is_of(range); });
  if (found != k.stand_ins.end()) {
    std::rotate(found, found + 1, k.stand_ins.end());
    return k.stand_ins.back();
  }
  runtime::before_end(&drop_all);
  runtime::before_release(&drop_of);
  k.stand_ins.push_back(std::make_shared<StandIn>(range));
  if (k.stand_ins.size() > most_kept) {
    dropped.push_back(std::move(k.stand_ins.front()));
    k.stand_ins.erase(k.stand_ins.begin());
  }
  return k.stand_ins.back();
}

bool conflict(const StandIns::Use& a, const StandIns::Use& b) noexcept {
  return (writes(a.mode) || writes(b.mode)) && may_overlap(a.where, b.where);
}

/// Returns the bytes of a part of a matrix, by addresses.
Region region_of(const Matrix& m, const Rectangle& part) noexcept {
  const std::uint64_t e = m.element_bytes;
  return {base::number(m.data) + (part.column_begin * m.leading + part.row_begin) * e, rows_of(part) * e, columns_of(part), m.leading * e};
}
/// Returns the range from the first byte to the last. Of a region that is larger than any memory: as much as no range has, for an error that says so.
ByteRange hull_of(const Region& r) noexcept {
  const bool fits = columns_fit(r.width, r.columns, std::max<std::uint64_t>(r.pitch, 1), base::end_of_addresses);
  return fits ? r.hull() : ByteRange{r.begin, r.begin + base::end_of_addresses};
}
ByteRange hull(const ByteRange& a, const ByteRange& b) noexcept {
  return a.empty() ? b : ByteRange{std::min(a.begin, b.begin), std::max(a.end, b.end)};
}

}  // namespace

StandIns::StandIns(const std::vector<OperandUse>& uses) {
  for (const OperandUse& use : uses) {
    Matrix& m = *use.matrix;
    const auto for_each_part_of_use = [&](const auto& visit) {
      if (use.parts.empty()) visit(Rectangle{0, m.rows, 0, m.columns});
      for (const Rectangle& part : use.parts) visit(part);
    };
    ByteRange all;
    for_each_part_of_use([&](const Rectangle& part) {
      if (!part.empty()) all = hull(all, hull_of(region_of(m, part)));
    });
    if (all.empty()) continue;
    const auto range = runtime::adopted_range(at(all.begin), all.size());
    if (!range) continue;
    const std::shared_ptr<StandIn> stand_in = stand_in_of(*range);
    for_each_part_of_use([&](const Rectangle& part) {
      if (!part.empty()) uses_.push_back({stand_in, region_of(m, part), use.mode});
    });
    m.data = stand_in->place_of(base::number(m.data));
  }
  if (uses_.empty()) return;
  {
    Kept& k = kept();
    std::unique_lock<std::mutex> lock(k.mutex);
    k.call_has_ended.wait(lock, [&] {
      return std::none_of(uses_.begin(), uses_.end(), [&](const Use& mine) {
        return std::any_of(k.under_way.begin(), k.under_way.end(), [&](const Use* other) { return conflict(mine, *other); });
      });
    });
    k.under_way.reserve(k.under_way.size() + uses_.size());
    for (const Use& u : uses_) k.under_way.push_back(&u);
  }
  try {
    for (const Use& u : uses_) {
      if (needs_content(u.mode)) u.stand_in->send(u.where);
    }
  } catch (...) {
    leave();
    throw;
  }
  for (const Use& u : uses_) {
    if (writes(u.mode)) u.stand_in->forget(u.where);
  }
}

void StandIns::leave() noexcept {
  Kept& k = kept();
  const std::lock_guard<std::mutex> lock(k.mutex);
  const auto is_mine = [&](const Use* u) { return std::any_of(uses_.begin(), uses_.end(), [&](const Use& mine) { return &mine == u; }); };
  k.under_way.erase(std::remove_if(k.under_way.begin(), k.under_way.end(), is_mine), k.under_way.end());
  k.call_has_ended.notify_all();
}

StandIns::~StandIns() {
  if (!uses_.empty()) leave();
}

void StandIns::write_back() {
  for (const Use& u : uses_) {
    if (writes(u.mode)) u.stand_in->bring_back(u.where);
  }
}

}  // namespace semcache::linalg
