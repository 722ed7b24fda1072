// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/base/addresses.hpp>
#include <semcache/engine/adoption.hpp>

#include <string>

namespace semcache::engine {
namespace {

std::string text_of_range(const std::string& label, const std::byte* address, std::uint64_t bytes) {
  return "'" + label + "' (" + std::to_string(bytes) + " bytes at " + base::text_of(address) + ")";
}

}  // namespace

void Adoption::expect_not_tracked(const std::byte* address, std::uint64_t bytes, const std::string& refused) const {
  const std::byte* const last = address + bytes - 1;
  const auto overlaps = [&](const std::byte* base, std::uint64_t size) { return address < base + size && last >= base; };
  SEMCACHE_EXPECTS(!overlaps(s_.host->base(), s_.host->bytes()) &&
                       !overlaps(s_.device_addresses->base(), s_.device_addresses->bytes()),
                   refused + "it is memory of SemCache's own, which is tracked already. Adopt memory of the program's own");
  if (const auto other = s_.adopted.overlapping(address, bytes); other != s_.adopted.ranges.end()) {
    throw UsageError(refused + "it overlaps " + text_of_range(other->second.label, other->first, other->second.bytes) +
                     ", which is adopted. Release that first, or adopt ranges that share no byte");
  }
}

void Adoption::expect_ordinary(const std::byte* address, std::uint64_t bytes, const std::string& refused) const {
  constexpr std::uint64_t step = std::uint64_t{1} << 20;
  for (std::uint64_t at = 0;; at += std::min(step, bytes - 1 - at)) {
    SEMCACHE_EXPECTS(!s_.home().device->knows_host_memory(address + at),
                     refused + "the driver knows it, because it is page-locked (cudaHostRegister, cudaMallocHost). The driver's transfers "
                               "pass over the protection of its pages, so they would not be noticed. Unregister it, or use it as it is");
    if (at == bytes - 1) break;
  }
  const std::string why = s_.platform->why_not_adoptable(address, bytes);
  SEMCACHE_EXPECTS(why.empty(), refused + "it is " + why + ". Adopt private memory that can be read and written: from malloc, from an "
                                          "anonymous mmap, or static data. Copy other memory without adopting it");
}

void Adoption::adopt(std::byte* address, std::uint64_t bytes, const char* given_label) {
  const std::string label = given_label != nullptr ? given_label : "";
  const std::string refused = "cannot adopt " + text_of_range(label, address, bytes) + ": ";
  SEMCACHE_EXPECTS(address != nullptr, refused + "the address is a null pointer");
  SEMCACHE_EXPECTS(bytes > 0, refused + "a range of 0 bytes has no content. Adopt at least one byte");
  SEMCACHE_EXPECTS(base::number(address) < base::end_of_addresses && bytes < base::end_of_addresses - base::number(address),
                   refused + "the range ends behind the last address that a program can have. Check its size");
  Transaction t(transactions_);
  expect_not_tracked(address, bytes, refused);
  t.unlocked([&] { expect_ordinary(address, bytes, refused); });
  expect_not_tracked(address, bytes, refused);  // another thread may have adopted it meanwhile
  const trace::LabelId name = s_.recorder.intern(label.c_str());
  const auto added = s_.adopted.ranges.emplace(address, AdoptedMemory::Range{bytes, label, nullptr}).first;
  added->second.number = ++adoptions_;
  const ByteRange pages = s_.adopted.pages_of(address, bytes);
  std::byte* const body = static_cast<std::byte*>(base::pointer(pages.begin));
  bool watched = false;
  try {
    watched = !pages.empty() && s_.options.notices && s_.surroundings.watch(body, pages.size());
    if (pages.empty() || (s_.options.notices && !watched)) {
      s_.recorder.count(trace::Event::opened, name);
      if (!pages.empty() && !warned_open_.exchange(true)) {
        base::raw_log("the adopted memory '%s' (and further such memory) is copied at every copy, because this tracker notices no "
                      "accesses to it. SEMCACHE_TRACKER=mprotect does", label.c_str());
      }
      return;
    }
    Arrays::NewMemory m = arrays_.new_adopted(label.c_str(), body, pages.size());
    m->edge_before = static_cast<std::uint16_t>(body - address);
    m->edge_behind = static_cast<std::uint16_t>(address + bytes - (body + pages.size()));
    m->datum = s_.directory.add_datum(m->bytes);
    arrays_.bind(*m, s_.directory.add_slot(m->datum, host_space));
    s_.directory.write(m->slot, m->all());
    m->announced = !s_.options.notices;
    if (m->announced) s_.directory.mark_changing(m->slot);
    lifetimes_.count_adopted(m->bytes);
    added->second.body = m.release();
  } catch (...) {
    if (watched) s_.surroundings.unwatch(body, pages.size());
    s_.adopted.ranges.erase(added);
    throw;
  }
}

void Adoption::release(std::byte* address) {
  Transaction t(transactions_);
  const auto found = s_.adopted.ranges.find(address);
  SEMCACHE_EXPECTS(found != s_.adopted.ranges.end() && !found->second.leaving,
                   "cannot release " + base::text_of(address) + ": no adopted range begins there, or it has been released already. "
                                                                "Give the address with which it was adopted");
  AdoptedMemory::Range& range = found->second;
  Memory* const body = range.body;
  if (body != nullptr) {
    range.leaving = true;  // while the lock is given up, another thread may release it, too
    const base::AtEnd stays([&] { range.leaving = false; });
    std::byte* const pages = body->address;
    const std::uint64_t bytes = body->bytes;
    bool unmapped = false;
    t.unlocked([&] { unmapped = !s_.platform->is_mapped(pages, bytes); });
    SEMCACHE_EXPECTS(body->snapshot() || s_.directory.slots(body->datum).size() == 1,
                     "cannot release " + base::text_of(address) + ": there is an ArrayPart or a HostPart of it. Destroy that first");
    if (unmapped) expect_unwanted(*body);
    // What the program does to the memory next is a write of all of it, of which nobody is told.
    t.run([&]() -> Obstacle {
      if (!unmapped && !body->snapshot()) {
        if (const Obstacle o = host_access_.open_pages(*body, body->all(), Access::write)) return o;
      }
      return lifetimes_.free_adopted(*body);
    });
    s_.surroundings.unwatch(pages, bytes);
  }
  s_.adopted.ranges.erase(found);
}

void Adoption::expect_unwanted(const Memory& m) const {
  base::Vector<directory::LastHeld> lost;
  s_.directory.last_held(m.slot, m.all(), directory::Wanters::itself_too, lost);
  if (!lost.empty()) {
    base::fatal("'%s' at %p was unmapped while it was adopted, and other arrays want content that only it held: call semcache_release "
                "before free or munmap", s_.name(m), static_cast<void*>(m.address));
  }
  base::raw_log("'%s' at %p was unmapped while it was adopted: its content is lost. Call semcache_release before free or munmap",
                s_.name(m), static_cast<void*>(m.address));
}

void Adoption::end() noexcept {
  const Transaction t(transactions_);
  for (auto next = s_.adopted.ranges.begin(); next != s_.adopted.ranges.end();) {
    const auto range = next++;
    if (range->second.leaving) continue;  // the thread that releases it goes on with it
    if (const Memory* const m = range->second.body) s_.surroundings.unwatch(m->address, m->bytes);
    s_.adopted.ranges.erase(range);
  }
}

const std::byte* Adoption::end_of_open(const std::byte* address) const {
  const Look look(transactions_);
  const auto range = s_.adopted.overlapping(address, 1);
  return range == s_.adopted.ranges.end() || range->second.body != nullptr ? nullptr : range->first + range->second.bytes;
}

std::optional<std::pair<const std::byte*, AdoptedMemory::Range>> Adoption::find(const std::byte* address) const {
  const Look look(transactions_);
  const auto range = s_.adopted.overlapping(address, 1);
  if (range == s_.adopted.ranges.end()) return {};
  return *range;
}

}  // namespace semcache::engine
