// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/directory/directory.hpp>

#include <algorithm>
#include <map>
#include <tuple>

/// The audit computes use counts and holders anew from the maps alone, and compares them with what the directory keeps.
namespace semcache::directory {
namespace {

std::string at(const char* what, std::uint32_t owner, const ExtentMap::Extent& e) {
  return std::string(what) + " " + std::to_string(owner) + " [" + std::to_string(e.where.begin) + ", " + std::to_string(e.where.end()) +
         ") value " + std::to_string(e.ref.id) + "+" + std::to_string(e.ref.offset);
}

}  // namespace

std::string Directory::audit() const {
  using Key = std::tuple<ValueId, std::uint32_t, std::int64_t>;
  std::map<Key, std::uint32_t> holders;
  std::map<Key, std::uint32_t> wanters;
  std::string wrong;
  const auto collect = [&](const auto& of, const ExtentMap& map, const char* what, std::uint32_t owner, std::map<Key, std::uint32_t>& uses) {
    const auto check = [&](const ExtentMap::Extent& e) {
      if (!e.ref.is_number()) return;
      if (!of.live) wrong = at(what, owner, e) + ": it was removed";
      if (values_.find(e.ref.id) == nullptr) wrong = at(what, owner, e) + ": the value is forgotten";
      ++uses[{e.ref.id, owner, e.displacement()}];
    };
    map.for_each_extent(check);
    std::uint64_t bytes = 0;
    base::Vector<ExtentMap::Extent> all = map.extents(Region(ByteRange{0, map.size()}));
    for (std::size_t i = 0; i < all.size() && wrong.empty(); ++i) {
      bytes += all[i].where.size();
      if (i == 0 || !all[i].where.is_range() || map.pitch() != one_column) continue;
      if (all[i - 1].at(all[i].where.begin) == all[i].ref) wrong = at(what, owner, all[i]) + ": not maximal";
    }
    if (bytes != map.size() && of.live) wrong = std::string(what) + " " + std::to_string(owner) + ": its extents are not all of it";
  };
  for (std::uint32_t s = 0; s < slots_.size(); ++s) collect(slots_[s], slots_[s].held, "slot", s, holders);
  for (std::uint32_t d = 0; d < data_.size(); ++d) collect(data_[d], data_[d].wanted, "datum", d, wanters);
  if (!wrong.empty()) return wrong;

  std::size_t counted_holders = 0;
  std::size_t counted_wanters = 0;
  values_.for_each([&](ValueId id, const Value& v) {
    if (v.holders.empty() && v.wanters.empty()) wrong = "value " + std::to_string(id) + " has no use";
    counted_holders += v.holders.size();
    counted_wanters += v.wanters.size();
    for (const auto& [list, uses] : {std::pair{&v.holders, &holders}, {&v.wanters, &wanters}}) {
      for (const Use& u : *list) {
        const auto found = uses->find({id, u.owner, u.delta});
        if (found == uses->end() || found->second != u.extents) {
          wrong = "value " + std::to_string(id) + ": a use of " + std::to_string(u.owner) + " is counted wrongly";
        }
      }
    }
  });
  if (!wrong.empty()) return wrong;
  if (counted_holders != holders.size() || counted_wanters != wanters.size()) return "a use is not counted";

  const auto count_by_owner = [](std::size_t owners, const std::map<Key, std::uint32_t>& uses) {
    base::Vector<std::uint32_t> counts(owners, 0);
    for (const auto& use : uses) ++counts[std::get<1>(use.first)];
    return counts;
  };
  const auto check_places = [&](const Places& places, std::uint32_t owner, const base::Vector<std::uint32_t>& uses,
                                base::Vector<Use> Value::*list) {
    if (places.uses != uses[owner]) wrong = "the uses of " + std::to_string(owner) + " are counted wrongly";
    for (const Places::Place& p : places.known) {
      if (p.value == undefined_value) continue;
      const Value* const v = values_.find(p.value);
      if (v == nullptr || p.at >= (v->*list).size() || (v->*list)[p.at].owner != owner) {
        wrong = "a use of " + std::to_string(owner) + " is not at its place";
      }
    }
  };
  const base::Vector<std::uint32_t> of_slots = count_by_owner(slots_.size(), holders);
  for (std::uint32_t s = 0; s < slots_.size(); ++s) check_places(slots_[s].places, s, of_slots, &Value::holders);
  const base::Vector<std::uint32_t> of_data = count_by_owner(data_.size(), wanters);
  for (std::uint32_t d = 0; d < data_.size(); ++d) check_places(data_[d].places, d, of_data, &Value::wanters);
  if (!wrong.empty()) return wrong;

  // I4: every wanted byte is held by some slot, or has a known content (a fill).
  for (std::uint32_t d = 0; d < data_.size(); ++d) {
    for (const ExtentMap::Extent& e : wanted(DatumId{d}).extents(ByteRange{0, data_[d].wanted.size()})) {
      if (!e.ref.is_number() || values_.at(e.ref.id).fill.pattern_bytes != 0) continue;
      const auto offset = [](const Region& where, ValueRef ref) {
        return where.moved(static_cast<std::int64_t>(ref.offset) - static_cast<std::int64_t>(where.begin));
      };
      base::Vector<Region> missing{offset(e.where, e.ref)};
      for (const Use& u : values_.at(e.ref.id).holders) {
        if (missing.empty()) break;
        slots_[u.owner].held.for_each(Region(ByteRange{0, slots_[u.owner].held.size()}), [&](const Region& where, ValueRef ref) {
          if (ref.id != e.ref.id) return;
          base::Vector<Region> rest;
          for (const Region& m : missing) for_each_difference(m, offset(where, ref), [&](const Region& r) { rest.push_back(r); });
          missing.swap(rest);
        });
      }
      if (!missing.empty()) return at("datum", d, e) + ": no slot holds all of it (I4)";
    }
  }
  return {};
}

}  // namespace semcache::directory
