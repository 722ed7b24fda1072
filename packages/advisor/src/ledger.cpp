// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "ledger.hpp"

#include <semcache/base/addresses.hpp>

#include <algorithm>

namespace semcache::advisor {
namespace {

Direction direction_of(Memory to, Memory from) noexcept {
  if (to == Memory::other || from == Memory::other) return Direction::other;
  if (on_host(to)) return on_host(from) ? Direction::h2h : Direction::d2h;
  return on_host(from) ? Direction::h2d : Direction::d2d;
}

std::pair<Place, Place> in_order(Place a, Place b) { return a < b ? std::pair(a, b) : std::pair(b, a); }

}  // namespace

void Ledger::allocated(std::uintptr_t address, std::uint64_t bytes, std::string_view label) {
  allocations_.add(address, bytes, labels_.number_of(label));
}

void Ledger::freed(std::uintptr_t address) {
  Allocation* const a = allocations_.at(address);
  if (a == nullptr) return;
  end_of_unused(*a);
  allocations_.remove(address);
}

void Ledger::launched(std::string_view kernel) {
  constexpr std::string_view initialisation = "Kokkos::View::initialization";  // reads no array
  if (kernel.substr(0, initialisation.size()) != initialisation) launches_.add(kernels_.number_of(kernel));
}

std::uint32_t Ledger::label_of(std::string_view label, const void* address) {
  if (!label.empty()) return labels_.number_of(label);
  const Allocation* const a = allocations_.find(base::number(address)).allocation;
  return a != nullptr && !labels_.text_of(a->label).empty() ? a->label : labels_.number_of("(no label)");
}

bool Ledger::allocation_has(const void* address) { return allocations_.find(base::number(address)).allocation != nullptr; }

void Ledger::copied(const Copy& copy) {
  if (copy.kind == Kind::nothing) {
    ++empty_copies_;
    return;
  }
  if (copy.kind == Kind::itself) {
    copied_onto_itself(copy);
    return;
  }
  const Allocations::Found to = allocations_.find(base::number(copy.to.address));
  const Allocations::Found from = allocations_.find(base::number(copy.from.address));
  if (from.allocation != nullptr && copy.kind != Kind::fill) from.allocation->unused = {};  // this copy uses it
  if (to.allocation != nullptr) {
    const Unused& u = to.allocation->unused;
    const bool covered = to.place.offset <= u.offset && u.offset + u.bytes <= to.place.offset + copy.bytes && copy.way == Way::bytes;
    if (covered) end_of_unused(*to.allocation);
  }
  if (copy.kind == Kind::fill) {
    fills_.add(copy.bytes, copy.seconds);
  } else if (copy.kind == Kind::scalar) {
    scalars_.add(copy.bytes, copy.seconds);
  } else {
    Statement& s = statement_of(copy);
    s.copies.add(copy.bytes, copy.seconds);
    const Changed changed = examine(copy, s, to, from);
    if (changed == Changed::perhaps && to.allocation != nullptr && copy.to.memory == Memory::device) {
      const auto number = static_cast<std::uint32_t>(&s - statements_.data());
      to.allocation->unused = {to.place.offset, copy.bytes, launches_.count(), number, copy.seconds};
    }
  }
  for (Allocation* const a : {to.allocation, from.allocation}) {
    if (a != nullptr) a->used = true;
  }
}

Ledger::Changed Ledger::examine(const Copy& copy, Statement& s, const Allocations::Found& to, const Allocations::Found& from) {
  const std::optional<Digest>& after = copy.way == Way::bytes ? copy.from_before : copy.to_after;
  if (copy.way == Way::bytes ? !copy.to_before || !copy.from_before : !copy.to_before || !copy.to_after) {
    s.not_examined.add(copy.bytes, copy.seconds);
  }
  const bool unchanged = copy.to_before && after && *copy.to_before == *after;
  const bool untouched = to.allocation != nullptr && !to.allocation->used;

  Last& last = last_between(to.place, from.place);
  const bool returned = last.content && copy.from_before && last.to == from.place && last.bytes == copy.bytes && *last.content == *copy.from_before;
  if (returned) s.round_trips.add(copy.bytes, copy.seconds);
  if (returned && !unchanged) s.restored.add(copy.bytes, copy.seconds);
  if (unchanged) {
    (untouched ? s.fresh : s.redundant).add(copy.bytes, copy.seconds);
    s.launches_between += launches_.count() - last.launches;
    launches_.names_since(last.launches, s.kernels, kernels_shown);
  }
  last = {to.place, copy.bytes, launches_.count(), after};
  return unchanged ? Changed::no : Changed::perhaps;
}

Ledger::Last& Ledger::last_between(Place to, Place from) {
  if (pairs_.size() >= most_pairs) {
    pairs_.clear();
    ++histories_dropped_;
  }
  return pairs_[in_order(to, from)];
}

void Ledger::copied_onto_itself(const Copy& copy) {
  ++empty_copies_;
  Statement& s = statement_of(copy);
  s.shared.add(copy.bytes, copy.seconds);
  const Place place = allocations_.find(base::number(copy.to.address)).place;
  Last& last = last_between(place, place);
  if (copy.from_before && last.content && last.bytes == copy.bytes && *last.content == *copy.from_before) {
    s.shared_same.add(copy.bytes, copy.seconds);
    s.launches_between += launches_.count() - last.launches;
    launches_.names_since(last.launches, s.kernels, kernels_shown);
  }
  last = {place, copy.bytes, launches_.count(), copy.from_before};
}

void Ledger::end_of_unused(Allocation& allocation) {
  const Unused u = std::exchange(allocation.unused, {});
  if (u.bytes != 0 && u.launches == launches_.count()) statements_[u.statement].unused.add(u.bytes, u.seconds);
}

std::uint32_t Ledger::site_of(const trace::detail::CallStack& stack) {
  if (const auto found = sites_.find(stack); found != sites_.end()) return found->second;
  if (stacks_.size() >= most_sites) return other_sites;
  stacks_.push_back(stack);
  return sites_[stack] = static_cast<std::uint32_t>(stacks_.size() - 1);
}

std::string Ledger::site(std::uint32_t number) const {
  return number < stacks_.size() ? trace::detail::describe(stacks_[number]) : "(other call sites)";
}

Statement& Ledger::statement_of(const Copy& copy) {
  const Direction direction = direction_of(copy.to.memory, copy.from.memory);
  auto key = std::tuple(copy.to.label, copy.from.label, site_of(copy.site), direction);
  if (statements_.size() >= most_statements && statement_numbers_.count(key) == 0) key = {UINT32_MAX, UINT32_MAX, other_sites, direction};
  const auto [found, is_new] = statement_numbers_.try_emplace(key, static_cast<std::uint32_t>(statements_.size()));
  if (is_new) {
    Statement s;
    std::tie(s.to, s.from, s.site, s.direction) = key;
    statements_.push_back(s);
  }
  return statements_[found->second];
}

}  // namespace semcache::advisor
