// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/memory/device_memory.hpp>
#include <semcache/policy/policy.hpp>

#include <set>
#include <string>
#include <utility>

namespace semcache::memory {
namespace {

constexpr std::uint64_t least_alignment = 512;

/// Returns how many addresses are wanted for the device's arrays.
std::uint64_t addresses_for(const device::Device& device) {
  constexpr std::uint64_t least = std::uint64_t{1} << 36, most = std::uint64_t{1} << 46;  // less than what processors can address
  return std::clamp(std::min(device.total_memory_bytes(), most) * 4, least, most);
}

}  // namespace

DeviceAddresses::DeviceAddresses(device::Device& reserver, const std::vector<device::Device*>& devices) : reserver_(reserver) {
  std::uint64_t wanted = 0;
  for (const device::Device* device : devices) wanted = std::max(wanted, addresses_for(*device));
  reserved_bytes_ = round_up(std::min(wanted, share_of_addresses() / devices.size()), large_alignment) * devices.size();
  base_ = reserver_.reserve(reserved_bytes_);
  each_ = round_down(reserved_bytes_ / devices.size(), large_alignment);
  bytes_ = each_ * devices.size();
  if (each_ >= 2 * large_alignment) return;
  reserver_.release(base_, reserved_bytes_);
  throw SystemError("there are too few addresses for the arrays of " + std::to_string(devices.size()) + " devices: " +
                    std::to_string(reserved_bytes_) + " bytes. Raise the limit on virtual memory (ulimit -v), or use fewer devices");
}

DeviceMemory::DeviceMemory(device::Device& device, std::uint32_t index, const DeviceAddresses& addresses, std::uint64_t budget_bytes)
    : Arena(addresses.base() + index * addresses.bytes_of_each(), addresses.bytes_of_each(), least_alignment),
      device_(device),
      index_(index),
      granule_bytes_(device.granularity_bytes()),
      budget_bytes_(budget_bytes != 0 ? budget_bytes : device.free_memory_bytes() / 10 * 9) {}

DeviceMemory::~DeviceMemory() {
  for (const Segments* const segments : {&segments_, &chores_.leaving}) {
    for (const auto& [begin, s] : *segments) {
      if (s.there) device_.unmap(base() + begin, s.end - begin);
    }
  }
}

void DeviceMemory::place(Memory& m, const char* label, std::uint64_t alignment) {
  const auto at = allocate(m, std::max(alignment, least_alignment));
  if (!at) {
    throw OutOfMemory("the reserved addresses of device " + std::to_string(index_) + " (" + std::to_string(bytes()) + " bytes) are exhausted: " +
                          std::to_string(m.bytes) + " bytes asked for '" + label +
                          "'. Free arrays that are no longer used, or raise the limit on virtual memory (ulimit -v).",
                      m.bytes, bytes());
  }
  enter(m, *at);
  const std::uint64_t block_bytes = m.layout.empty() ? policy::block_bytes(m.bytes, device_.block_bytes()) : 0;
  m.blocks.begin(m.bytes, block_bytes, *at % granule_bytes_);
}

void DeviceMemory::give_back(Memory& m) noexcept {
  unmap(m);
  Arena::forget(m);
  const std::uint64_t at = range_of(m).begin;
  release(m.bytes, {at, at + m.reserved_bytes});
}

ByteRange DeviceMemory::granules(const ArrayBlock& b) const noexcept {
  const ByteRange own = b.memory->blocks.range(b.index);
  if (own.empty()) return {};
  const std::uint64_t at = range_of(*b.memory).begin;
  return {round_down(at + own.begin, granule_bytes_), round_up(at + own.end, granule_bytes_)};
}

std::uint64_t DeviceMemory::missing_bytes(ByteRange range) const {
  std::uint64_t missing = range.size();
  for (auto s = first_behind(segments_, range.begin); s != segments_.end() && s->first < range.end; ++s) {
    missing -= intersect({s->second.begin, s->second.end}, range).size();
  }
  return missing;
}

DeviceMemory::Need DeviceMemory::need_of(const base::Vector<ArrayBlock>& set) const {
  base::Vector<ByteRange> own;
  for (const ArrayBlock& block : set) {
    if (const ByteRange range = granules(block); !range.empty()) own.push_back(range);
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

void DeviceMemory::ask(const base::Vector<ArrayBlock>& blocks) {
  chores_.asked.reserve(chores_.asked.size() + blocks.size());
  base::make_room(by_age_, chores_.asked.size() + blocks.size());  // so that `note_mapped` cannot fail
  try {
    for (const ArrayBlock& b : blocks) {
      if (b.memory->blocks[b.index].asked) continue;
      if (!is_mapped(b)) ask_for(b);
      b.memory->blocks.set_asked(b.index, true);
      chores_.asked.push_back({b, chores_.coming.size()});
    }
  } catch (...) {
    for (const Chores::Asked& a : std::exchange(chores_.asked, {})) {
      a.block.memory->blocks.set_asked(a.block.index, false);
      if (!is_mapped(a.block)) leave(a.block);
    }
    drop_unneeded(chores_.coming);  // those of the block for which asking has failed
    chores_.coming.clear();
    throw;
  }
}

void DeviceMemory::ask_for(const ArrayBlock& b) {
  const ByteRange range = granules(b);
  // The granules shared with neighbours are mapped apart, so that the others can be given back while the neighbours stay.
  const ByteRange own = b.memory->blocks.range(b.index);
  const std::uint64_t origin = range_of(*b.memory).begin;
  const ByteRange alone{round_up(origin + own.begin, granule_bytes_), round_down(origin + own.end, granule_bytes_)};
  for (std::uint64_t at = range.begin; at < range.end;) {
    const auto next = first_behind(segments_, at);
    if (next != segments_.end() && next->first <= at) {
      at = next->second.end;
      continue;
    }
    const std::uint64_t end = at < alone.begin ? alone.begin : at < alone.end ? alone.end : range.end;
    const std::uint64_t stop = next == segments_.end() ? end : std::min(end, next->first);
    chores_.coming.push_back({at, stop});
    segments_.emplace(at, Segment{at, stop, 0, false});
    mapped_bytes_ += stop - at;
    at = stop;
  }
  for (auto s = first_behind(segments_, range.begin); s != segments_.end() && s->first < range.end; ++s) ++s->second.residents;
}

void DeviceMemory::leave(const ArrayBlock& b) noexcept {
  const ByteRange range = granules(b);
  for (auto next = first_behind(segments_, range.begin); next != segments_.end() && next->first < range.end;) {
    const auto s = next++;
    if (--s->second.residents == 0 && (s->second.there || !working())) drop(s);
  }
}

void DeviceMemory::drop(Segments::iterator s) noexcept {
  mapped_bytes_ -= s->second.end - s->second.begin;
  auto node = segments_.extract(s);
  if (node.mapped().there) chores_.leaving.insert(std::move(node));
}

void DeviceMemory::drop_unneeded(const base::Vector<ByteRange>& coming) noexcept {
  for (const ByteRange range : coming) {
    const auto s = segments_.find(range.begin);
    if (s != segments_.end() && s->second.residents == 0) drop(s);
  }
}

void DeviceMemory::unmap(const ArrayBlock& b) noexcept {
  Memory& m = *b.memory;
  m.flags.fetch_and(~Memory::resident);
  for (Chores* const chores : {&chores_, told_}) {
    if (!m.blocks[b.index].asked || chores == nullptr) continue;
    const auto is_it = [&](const Chores::Asked& a) { return a.block == b; };
    chores->asked.erase(std::remove_if(chores->asked.begin(), chores->asked.end(), is_it), chores->asked.end());
  }
  m.blocks.set_asked(b.index, false);
  m.blocks.set_mapped(b.index, false);
  leave(b);
}

void DeviceMemory::unmap(Memory& m) noexcept {
  for (std::size_t i = 0; i < m.blocks.count() && (m.blocks.any_mapped() || m.blocks.any_asked()); ++i) {
    if (m.blocks[i].mapped || m.blocks[i].asked) unmap(ArrayBlock{&m, i});
  }
}

void DeviceMemory::begin_chores(Chores& chores) noexcept {
  chores = std::exchange(chores_, {});
  told_ = &chores;
}

void DeviceMemory::carry_out(Chores& c, Reach reach) noexcept {
  const auto unmap_the_rest = [&] {
    for (const auto& [begin, s] : std::exchange(c.leaving, {})) device_.unmap(base() + begin, s.end - begin);
  };
  try {
    for (; c.come < c.coming.size(); ++c.come) {
      const ByteRange range = c.coming[c.come];
      std::byte* const to = base() + range.begin;
      const auto there = first_behind(c.leaving, range.begin);
      const bool overlaps = there != c.leaving.end() && there->first < range.end;
      const auto from = overlaps ? there : c.leaving.begin();
      const bool as_large = from != c.leaving.end() && from->second.end - from->first == range.size();
      if (reach == Reach::open && as_large && (!overlaps || from->first == range.begin)) {  // one block takes the place of another
        const std::uint64_t begin = c.leaving.extract(from).key();
        if (begin != range.begin) {
          device_.move(base() + begin, to, range.size());
        } else {
          device_.set_accessible(to, range.size(), true);
        }
        continue;
      }
      unmap_the_rest();  // before anything is mapped, so that there is room
      if (reach == Reach::closed) {
        device_.map_closed(to, range.size());
      } else {
        device_.map(to, range.size());
      }
    }
  } catch (const OutOfMemory&) {
    c.refused = std::current_exception();
  } catch (...) {
    c.error = std::current_exception();
  }
  unmap_the_rest();
}

void DeviceMemory::end_chores(Chores& c, Reach reach) noexcept {
  told_ = nullptr;
  for (std::size_t i = 0; i < c.come; ++i) {
    const ByteRange range = c.coming[i];
    segments_.at(range.begin).there = true;
    if (reach == Reach::nowhere) device_.set_accessible(base() + range.begin, range.size(), false);
  }
  const auto has_no_news = [&](const Chores::Asked& a) {
    a.block.memory->blocks.set_asked(a.block.index, false);
    if (is_mapped(a.block)) return true;
    if (a.coming <= c.come) return false;
    leave(a.block);
    return true;
  };
  c.asked.erase(std::remove_if(c.asked.begin(), c.asked.end(), has_no_news), c.asked.end());
  drop_unneeded(c.coming);  // those of blocks that have been given up meanwhile
  if (c.refused != nullptr) {
    refused_ = c.refused;
    limit_bytes_ = std::min(mapped_bytes_, budget_bytes_);
  } else if (c.come > 0) {
    forget_refusal();
  }
}

void DeviceMemory::note_mapped(const ArrayBlock& b) noexcept {
  Memory& m = *b.memory;
  m.blocks.set_mapped(b.index, true);
  if (m.blocks.all_mapped()) m.flags.fetch_or(Memory::resident);
  if ((m.blocks[b.index].listed & bit()) != 0) return;
  m.blocks.set_listed(b.index, m.blocks[b.index].listed | bit());
  by_age_.push_back({used(b), b});
  std::push_heap(by_age_.begin(), by_age_.end());
}

void DeviceMemory::rethrow_refusal() {
  const std::exception_ptr refused = refused_;
  forget_refusal();
  if (refused != nullptr) std::rethrow_exception(refused);
}

ArrayBlock DeviceMemory::victim(const Question& may_leave, const Describe& describe) noexcept {
  const bool begun = begun_.memory != nullptr && is_mapped(begun_) && used(begun_) == begun_used_ && may_leave(begun_);
  if (begun) return begun_;
  const ArrayBlock spare = first_spare(may_leave, describe);
  return spare.memory != nullptr ? spare : longest_unused(may_leave);
}

ArrayBlock DeviceMemory::first_spare(const Question& may_leave, const Describe& describe) const noexcept {
  ArrayBlock found;
  policy::SpareOrder of_found;
  for (Memory* m : spare_) {
    const policy::SpareMemory described = describe(*m);
    if (policy::leaves_as(described) == policy::LeavesAs::array) continue;
    const policy::SpareOrder order = policy::order_of(described);
    for (std::size_t i = 0; i < m->blocks.count(); ++i) {
      const ArrayBlock block{m, i};
      if (!is_mapped(block) || !may_leave(block)) continue;
      if (found.memory != nullptr && std::tuple(of_found, used(found)) <= std::tuple(order, used(block))) continue;
      found = block;
      of_found = order;
    }
  }
  return found;
}

void DeviceMemory::set_spare(Memory& m, bool spare) noexcept {
  if (std::exchange(m.spare, spare) == spare) return;
  if (spare) {
    spare_.push_back(&m);
  } else {
    spare_.erase(std::find(spare_.begin(), spare_.end(), &m));
  }
}

ArrayBlock DeviceMemory::longest_unused(const Question& may_leave) noexcept {
  const auto at = [&](std::size_t i) { return by_age_.begin() + static_cast<std::ptrdiff_t>(i); };
  ArrayBlock found;
  std::size_t end = by_age_.size();  // blocks that may not be evicted lie behind it
  while (found.memory == nullptr && end > 0) {
    std::pop_heap(by_age_.begin(), at(end));
    Aged& oldest = by_age_[--end];
    const ArrayBlock block = oldest.block;
    if (!is_mapped(block)) {
      Blocks& blocks = block.memory->blocks;
      blocks.set_listed(block.index, static_cast<std::uint16_t>(blocks[block.index].listed & ~bit()));
      oldest = by_age_.back();
      by_age_.pop_back();
    } else if (const std::uint64_t last = used(block); last != oldest.used) {
      oldest.used = last;
      std::push_heap(by_age_.begin(), at(++end));
    } else if (may_leave(block)) {
      found = block;
    }
  }
  while (end < by_age_.size()) std::push_heap(by_age_.begin(), at(++end));
  return found;
}

void DeviceMemory::set_accessible(Memory& m, bool accessible, std::uint64_t page_bytes) noexcept {
  for (std::size_t i = 0; i < m.blocks.count(); ++i) {
    const ByteRange range = m.blocks.range(i);
    if (!m.blocks[i].mapped || range.empty()) continue;
    const std::uint64_t first = round_down(range.begin, page_bytes);
    device_.set_accessible(m.address + first, round_up(range.end, page_bytes) - first, accessible);
  }
}

std::string DeviceMemory::audit(const base::Vector<Memory*>& arrays) const {
  std::set<ArrayBlock> listed;
  for (const Aged& a : by_age_) {
    if (!listed.insert(a.block).second) return "a block is listed twice among what is mapped";
  }
  std::map<std::uint64_t, std::uint32_t> residents;
  std::uint64_t snapshots = 0;
  for (Memory* m : arrays) {
    if (m->space != device_space(index_)) continue;
    if (m->counted_snapshot) snapshots += m->snapshot_bytes;
    if (((m->flags.load() & Memory::resident) != 0) != m->blocks.all_mapped()) return "an array is called resident, but blocks are missing, or the contrary";
    for (std::size_t i = 0; i < m->blocks.count(); ++i) {
      const ArrayBlock block{m, i};
      if (!is_mapped(block) && !m->blocks[i].asked) continue;
      if (missing_bytes(granules(block)) != 0) return "a block is called mapped, but memory is missing";
      if (is_mapped(block) && listed.count(block) != 1) return "a block is mapped, but could not be evicted";
      const ByteRange range = granules(block);
      for (auto s = first_behind(segments_, range.begin); s != segments_.end() && s->first < range.end; ++s) ++residents[s->first];
    }
  }
  std::uint64_t mapped = 0;
  for (const auto& [begin, s] : segments_) {
    mapped += s.end - s.begin;
    if ((s.residents == 0 && s.there) || s.residents != residents[begin]) {
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
