// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/base/error.hpp>
#include <semcache/base/room.hpp>
#include <semcache/memory/host_memory.hpp>

#include <algorithm>
#include <string>

namespace semcache::memory {
namespace {

constexpr std::uint64_t usual_bytes = std::uint64_t{256} << 30;
constexpr std::uint64_t usable_step_bytes = 4 * 1024 * 1024;

}  // namespace

HostMemory::HostMemory(platform::Platform& platform, Mappings& mappings, std::uint64_t asked, platform::Protection untouched)
    : Arena(platform, asked != 0 ? round_up(asked, large_alignment) : std::min(usual_bytes, share_of_addresses()),
            platform.page_bytes()),
      platform_(platform),
      mappings_(mappings),
      untouched_(untouched) {
  if (bytes() >= asked) return;
  throw ConfigurationError("the system gave " + std::to_string(bytes()) + " bytes of addresses for host arrays where "
                           "SEMCACHE_HOST_ADDRESSES=" + std::to_string(asked) + " asks for more. Ask for less, or raise the limit "
                           "on virtual memory (ulimit -v).");
}

Memory* HostMemory::before_gap(const std::byte* p) const noexcept {
  const std::uint64_t page = platform_.page_bytes();
  if (!covers(p - page)) return nullptr;
  Memory* const m = find(p - page);
  return m != nullptr && static_cast<std::uint64_t>(p - m->address) < m->pages.size() ? m : nullptr;
}

void HostMemory::throw_exhausted(const char* label, std::uint64_t bytes) const {
  const std::string asked = std::to_string(bytes) + " bytes asked for '" + (label == nullptr ? "" : label) + "'";
  const std::string most = std::to_string(Arena::bytes()) + " bytes";
  const char* const more = "reserve more (SEMCACHE_HOST_ADDRESSES), or raise the limit on virtual memory (ulimit -v).";
  throw OutOfMemory(bytes > Arena::bytes()
                        ? asked + " are more than all the addresses for host arrays, " + most + ". Split the array, " + more
                        : "the host's reserved addresses (" + most + ") are exhausted: " + asked +
                              ". Free mirrors that are no longer used, " + more,
                    bytes, Arena::bytes());
}

/// Makes all addresses up to `end` usable. Pages of untouched mirrors all have the same protection, and so form one mapping:
/// where accesses are noticed they can be read (as zeros), but not written without a fault.
bool HostMemory::make_usable(std::uint64_t end) noexcept {
  if (end <= usable_end_) return true;
  end = std::min(round_up(end, usable_step_bytes), bytes());
  if (!platform_.make_usable(base() + usable_end_, end - usable_end_, untouched_)) return false;
  usable_end_ = end;
  return true;
}

void HostMemory::place(Memory& m, const char* label) {
  release_withheld();
  const std::uint64_t page = platform_.page_bytes();
  // One page more per large block: the last page of a block is the header's address of the array behind it.
  const auto at = allocate(m, page, page);
  if (!at) throw_exhausted(label, m.bytes);
  if (!make_usable(*at + m.reserved_bytes)) {
    Arena::release(m.bytes, {*at, *at + m.reserved_bytes});
    throw SystemError("the system refuses " + std::to_string(m.bytes) + " bytes for the host array '" + label +
                      "'. Free mirrors that are no longer used, or raise the limit on mappings (vm.max_map_count) or, where "
                      "vm.overcommit_memory is 2, on memory (vm.overcommit_ratio).");
  }
  enter(m, *at);
  if (m.bytes >= large_alignment) platform_.advise_huge(m.address, round_down(m.bytes, large_alignment));
}

void HostMemory::give_back(Memory& m, directory::Content content) noexcept {
  bool full = content != directory::Content::zeros && m.pages.size() >= least_full;
  try {
    if (full) base::make_room(full_, 1);
  } catch (const std::bad_alloc&) {
    full = false;
  }
  if (!full && content != directory::Content::zeros) platform_.discard(m.address, m.pages.size());
  forget(m);
  const std::uint64_t at = range_of(m).begin;
  Withheld place{m.address, {at, at + m.reserved_bytes}, m.bytes, std::move(m.pages)};
  if (full) {
    full_.push_back(std::move(place));
  } else {
    release_or_withhold(std::move(place));
  }
}

void HostMemory::discard(const base::Vector<Withheld>& full) const noexcept {
  for (const Withheld& w : full) platform_.discard(w.address, w.pages.size());
}

void HostMemory::release(base::Vector<Withheld> emptied) noexcept {
  for (Withheld& w : emptied) release_or_withhold(std::move(w));
}

void HostMemory::release_or_withhold(Withheld w) noexcept {
  if (open_for_next(w.address, w.pages)) return Arena::release(w.bytes, w.place);
  try {
    withheld_.push_back(std::move(w));
  } catch (const std::bad_alloc&) {
    // The addresses are lost, which has no other consequence.
  }
}

/// Makes the pages readable, as untouched pages are.
/// @return false if the kernel's limit on mappings was met; a further call continues
bool HostMemory::open_for_next(std::byte* address, const directory::BasicExtentMap<PageState>& pages) noexcept {
  bool all = true;
  pages.for_each({0, pages.size()}, [&](ByteRange piece, PageState s) {
    if (s.protection == platform::Protection::read) return;
    all = all && platform_.protect(address + piece.begin, piece.size(), platform::Protection::read);
    mappings_.add(2);
  });
  return all;
}

void HostMemory::release_withheld() noexcept {
  const auto opened = [this](const Withheld& w) {
    if (!open_for_next(w.address, w.pages)) return false;
    Arena::release(w.bytes, w.place);
    return true;
  };
  withheld_.erase(std::remove_if(withheld_.begin(), withheld_.end(), opened), withheld_.end());
}

}  // namespace semcache::memory
