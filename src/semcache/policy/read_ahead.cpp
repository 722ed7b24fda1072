// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/policy/read_ahead.hpp>

#include <algorithm>
#include <new>

namespace semcache::policy {

/// Returns whether one more fault, with everything fetched, would cost more than 2.1 times the whole array at once.
bool ReadAhead::too_many_faults(Use use) const noexcept {
  const std::uint64_t all = phase_.stale_bytes + (use == Use::write ? phase_.closed_bytes : 0);
  const std::uint64_t windows = phase_.bytes / last_chunk_bytes;  // giving the whole array may take so many more faults
  return 10 * ((faults_ + 1 + windows) * phase_.fault_bytes + all) > 21 * (phase_.fault_bytes + all);
}

ReadAhead::Direction ReadAhead::continues(const Sweep& s, const Fault& fault, std::uint64_t page) const noexcept {
  if (s.use != fault.use) return Direction::unknown;
  if (s.direction != Direction::down && s.last.end >= fault.open.begin && s.last.end <= page) return Direction::up;
  const std::uint64_t page_end = page + phase_.page_bytes;
  if (s.direction != Direction::up && s.last.begin >= page_end && s.last.begin <= fault.open.end)
    return Direction::down;
  return Direction::unknown;
}

/// Returns the sweep that the fault continues. If there are several, prefers one that goes up, and among those the one used last.
ReadAhead::Sweep* ReadAhead::find(const Fault& fault, std::uint64_t page) noexcept {
  Sweep* found = nullptr;
  Direction way = Direction::unknown;
  for (Sweep& s : sweeps_) {
    const Direction d = continues(s, fault, page);
    if (d == Direction::unknown || (way == Direction::up && d == Direction::down)) continue;
    if (found != nullptr && way == d && s.used < found->used) continue;
    found = &s;
    way = d;
  }
  return found;
}

/// Adds a sweep, in the place of the sweep used longest ago if there are too many or no more memory.
/// @return nullptr if there is no memory for a single sweep
ReadAhead::Sweep* ReadAhead::add(Use use) noexcept {
  Sweep* place = nullptr;
  if (sweeps_.size() < most_sweeps) {
    try {
      place = &sweeps_.emplace_back();
    } catch (const std::bad_alloc&) {
    }
  }
  if (place == nullptr) {
    if (sweeps_.empty()) return nullptr;
    place = &*std::min_element(sweeps_.begin(), sweeps_.end(),
                               [](const Sweep& a, const Sweep& b) { return a.used < b.used; });
    unshown_ += place->unshown;
  }
  *place = Sweep{};
  place->use = use;
  return place;
}

/// Returns the size of the next chunk, including the faulting page, before `paid` or `earned` limits it.
std::uint64_t ReadAhead::chunk_for(const Sweep& s) const noexcept {
  const std::uint64_t page = phase_.page_bytes;
  // A page that is opened for writing counts as written. So beyond this page a writer never gets more than what it has written in
  // order, this page included.
  if (s.use == Use::write) return s.continued == 0 ? page : page + s.through + page;
  return round_up(s.continued == 0 ? std::max(first_chunk_bytes, page) : s.chunk * growth, page);
}

/// Returns as much of `chunk` as the faults so far have paid for: 1.1 times their price.
std::uint64_t ReadAhead::paid(Use use, std::uint64_t chunk) noexcept {
  const std::uint64_t price = use == Use::write ? 2 : 1;  // bytes opened for writing cross the link in both directions
  ++unbelieved_faults_;
  const std::uint64_t allowed = unbelieved_faults_ * phase_.fault_bytes / 10 * 11;
  const std::uint64_t left = allowed > unbelieved_ahead_ ? (allowed - unbelieved_ahead_) / price : 0;
  const std::uint64_t ahead = std::min(chunk - phase_.page_bytes, round_down(left, phase_.page_bytes));
  unbelieved_ahead_ += ahead * price;
  return phase_.page_bytes + ahead;
}

/// Returns the part of the array that is given by one fault once the whole array is given.
ByteRange ReadAhead::window(std::uint64_t page) const noexcept {
  const std::uint64_t begin = round_down(page, last_chunk_bytes);
  return {begin, std::min(begin + last_chunk_bytes, phase_.bytes)};
}

/// Returns as much of `chunk` as a believed sweep has earned: a quarter of what its pages would have cost one by one.
std::uint64_t ReadAhead::earned(const Sweep& s, std::uint64_t chunk) const noexcept {
  const std::uint64_t page = phase_.page_bytes;
  const std::uint64_t ahead = s.through / page * (phase_.fault_bytes + page) / 4;
  return std::min(chunk, page + round_down(ahead, page));
}

ReadAhead::Plan ReadAhead::next(const Fault& fault) noexcept {
  const std::uint64_t page = round_down(fault.position, phase_.page_bytes);
  ++faults_;
  latest_ = SIZE_MAX;
  Sweep* sweep = find(fault, page);
  if (sweep != nullptr) sweep->unshown = 0;
  const bool again = phase_.sweep_expected && fault.use == Use::read && page == 0 && !has_read();
  if (takes_whole(fault.use)) return {window(page), Reason::whole};

  const bool continued = sweep != nullptr;
  if (continued) {
    sweep->direction = continues(*sweep, fault, page);
    ++sweep->continued;
  } else {
    sweep = add(fault.use);
    if (sweep == nullptr) return {{page, std::min(page + phase_.page_bytes, phase_.bytes)}, Reason::first};
    sweep->first = page;
    if (again) return {give_again(*sweep), Reason::again};
  }
  return {give(*sweep, page), continued ? Reason::sweep : Reason::first};
}

bool ReadAhead::takes_whole(Use use) noexcept {
  Kind& kind = kinds_[static_cast<int>(use)];
  kind.whole = kind.whole || (kind.faulted && too_many_faults(use));
  kind.faulted = true;
  for (Sweep& s : sweeps_) {  // sweeps that continue will not fault again, so their use cannot be shown
    if (kind.whole && s.continued > 0) s.unshown = 0;
  }
  return kind.whole;
}

/// Clips what is opened to the end of a large page, unless little would be left of it. The kernel uses a large page where all of
/// it may be written, and small pages, with a fault for each, where only a part may be written.
void ReadAhead::end_on_large_page(ByteRange& given, std::uint64_t page) noexcept {
  const std::uint64_t least = given.size() / 4;
  if (given.begin == page) {
    const std::uint64_t end = round_down(given.end, large_page_bytes);
    if (end >= given.begin + least) given.end = end;
  } else {
    const std::uint64_t begin = round_up(given.begin, large_page_bytes);
    if (begin + least <= given.end) given.begin = begin;
  }
}

/// Gives the next chunk to a sweep that is new, or that is continued at `page`.
ByteRange ReadAhead::give(Sweep& s, std::uint64_t page) noexcept {
  std::uint64_t chunk = std::min(chunk_for(s), last_chunk_bytes);
  chunk = s.continued < believed_after ? paid(s.use, chunk) : earned(s, chunk);
  const std::uint64_t page_end = page + phase_.page_bytes;
  const std::uint64_t below = page_end > chunk ? page_end - chunk : 0;
  s.last = s.direction == Direction::down ? ByteRange{below, page_end} : ByteRange{page, page + chunk};
  if (s.use == Use::write) end_on_large_page(s.last, page);
  s.chunk = chunk;
  s.through += s.last.size();
  s.used = faults_;
  latest_ = static_cast<std::size_t>(&s - sweeps_.data());
  return {s.last.begin, std::min(s.last.end, phase_.bytes)};
}

/// Gives the first quarter of the array to a sweep that is expected.
ByteRange ReadAhead::give_again(Sweep& s) noexcept {
  const std::uint64_t quarter = phase_.bytes / 4;
  const std::uint64_t unit = quarter >= large_page_bytes ? std::max(large_page_bytes, phase_.page_bytes) : phase_.page_bytes;
  s.direction = Direction::up;
  s.continued = believed_after;
  s.chunk = std::min(round_up(std::max(quarter, first_chunk_bytes), unit), last_chunk_bytes);
  s.last = {0, s.chunk};
  s.through = s.chunk;
  s.used = faults_;
  latest_ = static_cast<std::size_t>(&s - sweeps_.data());
  return {0, std::min(s.chunk, phase_.bytes)};
}

bool ReadAhead::swept_all() const noexcept {
  const Sweep* one = nullptr;
  for (const Sweep& s : sweeps_) {
    if (s.use != Use::read) continue;
    if (one != nullptr) return false;
    one = &s;
  }
  return one != nullptr && one->first == 0 && one->direction != Direction::down && one->last.end >= phase_.bytes && phase_.stale_bytes == phase_.bytes &&
         !kinds_[static_cast<int>(Use::read)].whole;
}

void ReadAhead::fetched_ahead(std::uint64_t bytes) noexcept {
  if (latest_ < sweeps_.size()) sweeps_[latest_].unshown = bytes;
}

std::uint64_t ReadAhead::end() noexcept {
  std::uint64_t unshown = unshown_;
  for (const Sweep& s : sweeps_) unshown += s.unshown;
  *this = ReadAhead{};
  return unshown;
}

}  // namespace semcache::policy
