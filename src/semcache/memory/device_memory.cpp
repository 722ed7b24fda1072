// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/base/room.hpp>
#include <semcache/memory/device_memory.hpp>

#include <set>
#include <string>

namespace semcache::memory {
namespace {

constexpr std::uint64_t least_alignment = 512;

}  // namespace

Arena DeviceMemory::reserve(device::Device& device) {
  constexpr std::uint64_t least = std::uint64_t{1} << 36, most = std::uint64_t{1} << 46;  // less than processors address
  std::uint64_t bytes = std::clamp(std::min(device.total_memory_bytes(), most) * 4, least, most);
  bytes = round_up(std::min(bytes, share_of_addresses()), large_alignment);
  std::byte* const base = device.reserve(bytes);
  try {
    // The first granule stays free: a header in front of the first array has an address of its own.
    return Arena(base, bytes, least_alignment, {large_alignment, bytes});
  } catch (...) {
    device.release(base, bytes);
    throw;
  }
}

DeviceMemory::DeviceMemory(device::Device& device, std::uint32_t index, std::uint64_t budget_bytes)
    : device_(device),
      index_(index),
      granule_bytes_(device.granularity_bytes()),
      budget_bytes_(budget_bytes != 0 ? budget_bytes : device.free_memory_bytes() / 10 * 9),
      arena_(reserve(device)) {}  // last: nothing fails behind it

DeviceMemory::~DeviceMemory() {
  for (auto s = segments_.begin(); s != segments_.end();) s = give_back(s);
  device_.release(arena_.base(), arena_.bytes());
}

void DeviceMemory::place(Memory& m, const char* label, std::uint64_t alignment) {
  const auto at = arena_.allocate(m, std::max(alignment, least_alignment));
  if (!at) {
    throw OutOfMemory("the device's reserved addresses (" + std::to_string(arena_.bytes()) + " bytes) are exhausted: " +
                          std::to_string(m.bytes) + " bytes asked for '" + label +
                          "'. Free arrays that are no longer used, or raise the limit on virtual memory (ulimit -v).",
                      m.bytes, arena_.bytes());
  }
  arena_.enter(m, *at);
}

void DeviceMemory::give_back(Memory& m) noexcept {
  arena_.forget(m);
  const std::uint64_t at = arena_.range_of(m).begin;
  arena_.release(m.bytes, {at, at + m.reserved_bytes});
}

ByteRange DeviceMemory::granules(const Memory& m) const noexcept {
  if (m.bytes == 0) return {};
  const ByteRange range = arena_.range_of(m);
  return {round_down(range.begin, granule_bytes_), round_up(range.end, granule_bytes_)};
}

std::uint64_t DeviceMemory::missing_bytes(ByteRange range) const {
  std::uint64_t missing = range.size();
  for (auto s = first_behind(segments_, range.begin); s != segments_.end() && s->first < range.end; ++s) {
    missing -= intersect({s->second.begin, s->second.end}, range).size();
  }
  return missing;
}

DeviceMemory::Need DeviceMemory::need_of(const std::vector<Memory*>& set) const {
  std::vector<ByteRange> own;
  for (const Memory* m : set) {
    if (m->bytes > 0) own.push_back(granules(*m));
  }
  std::sort(own.begin(), own.end(), [](ByteRange a, ByteRange b) { return a.begin < b.begin; });
  Need need;
  for (std::size_t i = 0; i < own.size();) {  // neighbours may share a granule
    ByteRange run = own[i];
    for (++i; i < own.size() && own[i].begin <= run.end; ++i) run.end = std::max(run.end, own[i].end);
    need.total += run.size();
    need.missing += missing_bytes(run);
  }
  return need;
}

DeviceMemory::Segments::iterator DeviceMemory::give_back(Segments::iterator s) noexcept {
  device_.unmap(arena_.base() + s->second.begin, s->second.end - s->second.begin);
  mapped_bytes_ -= s->second.end - s->second.begin;
  return segments_.erase(s);
}

void DeviceMemory::map(Memory& m, Reach reach) {
  const ByteRange range = granules(m);
  // What it shares with neighbours is mapped apart: the rest can be given back while they stay.
  const ByteRange data = arena_.range_of(m);
  const ByteRange alone{round_up(data.begin, granule_bytes_), round_down(data.end, granule_bytes_)};
  const auto map = [&](std::uint64_t begin, std::uint64_t end) {
    const auto segment = segments_.emplace(begin, Segment{begin, end, 0}).first;
    try {
      if (reach == Reach::closed) {
        device_.map_closed(arena_.base() + begin, end - begin);
      } else {
        device_.map(arena_.base() + begin, end - begin);
      }
    } catch (...) {
      segments_.erase(segment);
      throw;
    }
    if (reach == Reach::nowhere) device_.set_accessible(arena_.base() + begin, end - begin, false);
    mapped_bytes_ += end - begin;
  };
  try {
    for (std::uint64_t at = range.begin; at < range.end;) {
      const auto next = first_behind(segments_, at);
      if (next != segments_.end() && next->first <= at) {
        at = next->second.end;
        continue;
      }
      const std::uint64_t end = at < alone.begin ? alone.begin : at < alone.end ? alone.end : range.end;
      const std::uint64_t stop = next == segments_.end() ? end : std::min(end, next->first);
      map(at, stop);
      at = stop;
    }
  } catch (...) {
    for (auto s = segments_.lower_bound(range.begin); s != segments_.end() && s->first < range.end;) {
      s = s->second.residents == 0 ? give_back(s) : std::next(s);
    }
    throw;
  }
  for (auto s = first_behind(segments_, range.begin); s != segments_.end() && s->first < range.end; ++s) ++s->second.residents;
  m.flags.fetch_or(Memory::resident);
  if ((m.listed_by_age & bit()) != 0) return;
  m.listed_by_age |= bit();
  by_age_.push_back({m.recently.load(), &m});
  std::push_heap(by_age_.begin(), by_age_.end());
}

void DeviceMemory::unmap(Memory& m) noexcept {
  m.flags.fetch_and(~Memory::resident);
  const ByteRange range = granules(m);
  for (auto s = first_behind(segments_, range.begin); s != segments_.end() && s->first < range.end;) {
    s = --s->second.residents == 0 ? give_back(s) : std::next(s);
  }
}

Memory* DeviceMemory::victim(MayLeave may_leave, const void* context) noexcept {
  const bool begun = begun_ != nullptr && begun_->recently.load() == begun_used_ && is_mapped(*begun_) && may_leave(context, *begun_);
  return begun ? begun_ : longest_unused(may_leave, context);
}

Memory* DeviceMemory::longest_unused(MayLeave may_leave, const void* context) noexcept {
  const auto at = [&](std::size_t i) { return by_age_.begin() + static_cast<std::ptrdiff_t>(i); };
  Memory* found = nullptr;
  std::size_t end = by_age_.size();  // behind it lies what may not leave
  while (found == nullptr && end > 0) {
    std::pop_heap(by_age_.begin(), at(end));
    Aged& oldest = by_age_[--end];
    Memory& m = *oldest.memory;
    if (!is_mapped(m)) {
      m.listed_by_age &= ~bit();
      oldest = by_age_.back();
      by_age_.pop_back();
    } else if (const std::uint64_t used = m.recently.load(); used != oldest.used) {
      oldest.used = used;
      std::push_heap(by_age_.begin(), at(++end));
    } else if (may_leave(context, m)) {
      found = &m;
    }
  }
  while (end < by_age_.size()) std::push_heap(by_age_.begin(), at(++end));
  return found;
}

void DeviceMemory::set_accessible(const Memory& m, bool accessible) noexcept {
  const ByteRange range = granules(m);
  if (!range.empty()) device_.set_accessible(arena_.base() + range.begin, range.size(), accessible);
}

void DeviceMemory::make_room_for(std::size_t arrays) {
  base::make_room_for(by_age_, arrays);
}

std::string DeviceMemory::audit(const std::vector<const Memory*>& arrays) const {
  std::set<const Memory*> listed;
  for (const Aged& a : by_age_) {
    if (!listed.insert(a.memory).second) return "an array is listed twice among what is mapped";
  }
  std::map<std::uint64_t, std::uint32_t> residents;
  std::uint64_t snapshots = 0;
  for (const Memory* m : arrays) {
    if (m->space != device_space(index_)) continue;
    if (m->counted_snapshot) snapshots += m->bytes;
    if (!is_mapped(*m)) continue;
    if (missing_bytes(*m) != 0) return "an array is called resident, but memory is missing";
    if (listed.count(m) != 1) return "an array is mapped, but could not be evicted";
    const ByteRange range = granules(*m);
    for (auto s = first_behind(segments_, range.begin); s != segments_.end() && s->first < range.end; ++s) ++residents[s->first];
  }
  std::uint64_t mapped = 0;
  for (const auto& [begin, s] : segments_) {
    mapped += s.end - s.begin;
    if (s.residents == 0 || s.residents != residents[begin]) {
      return "a mapping counts " + std::to_string(s.residents) + " residents instead of " + std::to_string(residents[begin]);
    }
  }
  if (mapped != mapped_bytes_ || mapped > budget_bytes_) {
    return std::to_string(mapped) + " bytes of device memory are mapped, " + std::to_string(mapped_bytes_) + " are counted, " +
           std::to_string(budget_bytes_) + " is the budget";
  }
  if (snapshots != snapshot_bytes) {
    return "saved copies have " + std::to_string(snapshots) + " bytes of the device, not " + std::to_string(snapshot_bytes);
  }
  return {};
}

}  // namespace semcache::memory
