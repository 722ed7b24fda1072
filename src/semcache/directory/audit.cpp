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

/// One look at the whole structure. Each member returns whether it has found no contradiction; `wrong` has the text otherwise.
class Directory::Audit {
 public:
  explicit Audit(const Directory& directory) : d_(directory) {}
  bool maps_are_whole();
  bool uses_are_counted();
  bool uses_are_at_their_places();
  bool wanted_bytes_are_held();
  bool parts_hold_their_range();
  std::string wrong;

 private:
  using Key = std::tuple<ValueId, std::uint32_t, std::int64_t>;
  using Counts = std::map<Key, std::uint32_t>;
  template <class Owner>
  void collect(const Owner& of, const ExtentMap& map, const char* what, std::uint32_t owner, Counts& uses);
  static base::Vector<std::uint32_t> count_by_owner(std::size_t owners, const Counts& uses);
  void look_at_places(const Places& places, std::uint32_t owner, const base::Vector<std::uint32_t>& uses, Uses Value::*list);
  [[nodiscard]] bool is_held(const ExtentMap::Extent& wanted) const;

  const Directory& d_;
  Counts holders_;
  Counts wanters_;
};

bool Directory::Audit::maps_are_whole() {
  for (std::uint32_t s = 0; s < d_.slots_.size(); ++s) collect(d_.slots_[s], d_.slots_[s].held, "slot", s, holders_);
  for (std::uint32_t d = 0; d < d_.data_.size(); ++d) collect(d_.data_[d], d_.data_[d].wanted, "datum", d, wanters_);
  return wrong.empty();
}

template <class Owner>
void Directory::Audit::collect(const Owner& of, const ExtentMap& map, const char* what, std::uint32_t owner, Counts& uses) {
  map.for_each_extent([&](const ExtentMap::Extent& e) {
    if (!e.ref.is_number()) return;
    if (!of.live) wrong = at(what, owner, e) + ": it was removed";
    if (d_.values_.find(e.ref.id) == nullptr) wrong = at(what, owner, e) + ": the value is forgotten";
    ++uses[{e.ref.id, owner, e.displacement()}];
  });
  std::uint64_t bytes = 0;
  const base::Vector<ExtentMap::Extent> all = map.extents(Region(ByteRange{0, map.size()}));
  for (std::size_t i = 0; i < all.size() && wrong.empty(); ++i) {
    bytes += all[i].where.size();
    if (i == 0 || !all[i].where.is_range() || map.pitch() != one_column) continue;
    if (all[i - 1].at(all[i].where.begin) == all[i].ref) wrong = at(what, owner, all[i]) + ": not maximal";
  }
  if (bytes != map.size() && of.live) wrong = std::string(what) + " " + std::to_string(owner) + ": its extents are not all of it";
}

bool Directory::Audit::uses_are_counted() {
  std::size_t counted_holders = 0;
  std::size_t counted_wanters = 0;
  d_.values_.for_each([&](ValueId id, const Value& v) {
    if (v.holders.empty() && v.wanters.empty()) wrong = "value " + std::to_string(id) + " has no use";
    counted_holders += v.holders.size();
    counted_wanters += v.wanters.size();
    for (const auto& [list, uses] : {std::pair{&v.holders, &holders_}, {&v.wanters, &wanters_}}) {
      if (!list->is_right(d_.scanned_)) wrong = "value " + std::to_string(id) + ": the index of its uses is wrong";
      for (const Use& u : *list) {
        const auto found = uses->find({id, u.owner, u.delta});
        if (found == uses->end() || found->second != u.extents) {
          wrong = "value " + std::to_string(id) + ": a use of " + std::to_string(u.owner) + " is counted wrongly";
        }
      }
    }
  });
  if (wrong.empty() && (counted_holders != holders_.size() || counted_wanters != wanters_.size())) wrong = "a use is not counted";
  return wrong.empty();
}

base::Vector<std::uint32_t> Directory::Audit::count_by_owner(std::size_t owners, const Counts& uses) {
  base::Vector<std::uint32_t> counts(owners, 0);
  for (const auto& use : uses) ++counts[std::get<1>(use.first)];
  return counts;
}

bool Directory::Audit::uses_are_at_their_places() {
  const base::Vector<std::uint32_t> of_slots = count_by_owner(d_.slots_.size(), holders_);
  for (std::uint32_t s = 0; s < d_.slots_.size(); ++s) look_at_places(d_.slots_[s].places, s, of_slots, &Value::holders);
  const base::Vector<std::uint32_t> of_data = count_by_owner(d_.data_.size(), wanters_);
  for (std::uint32_t d = 0; d < d_.data_.size(); ++d) look_at_places(d_.data_[d].places, d, of_data, &Value::wanters);
  return wrong.empty();
}

void Directory::Audit::look_at_places(const Places& places, std::uint32_t owner, const base::Vector<std::uint32_t>& uses,
                                      Uses Value::*list) {
  if (places.uses != uses[owner]) wrong = "the uses of " + std::to_string(owner) + " are counted wrongly";
  for (const Places::Place& p : places.known) {
    if (p.value == undefined_value) continue;
    const Value* const v = d_.values_.find(p.value);
    if (v == nullptr || p.at >= (v->*list).size() || (v->*list)[p.at].owner != owner) {
      wrong = "a use of " + std::to_string(owner) + " is not at its place";
    }
  }
}

/// I4: every wanted byte is held by some slot, or has a known content (a fill).
bool Directory::Audit::wanted_bytes_are_held() {
  for (std::uint32_t d = 0; d < d_.data_.size(); ++d) {
    for (const ExtentMap::Extent& e : d_.wanted(DatumId{d}).extents(ByteRange{0, d_.data_[d].wanted.size()})) {
      if (e.ref.is_number() && d_.values_.at(e.ref.id).fill.pattern_bytes == 0 && !is_held(e)) {
        wrong = at("datum", d, e) + ": no slot holds all of it (I4)";
        return false;
      }
    }
  }
  return true;
}

bool Directory::Audit::is_held(const ExtentMap::Extent& wanted) const {
  const auto offset = [](const Region& where, ValueRef ref) {
    return where.moved(static_cast<std::int64_t>(ref.offset) - static_cast<std::int64_t>(where.begin));
  };
  base::Vector<Region> missing{offset(wanted.where, wanted.ref)};
  for (const Use& u : d_.values_.at(wanted.ref.id).holders) {
    if (missing.empty()) break;
    const ExtentMap& held = d_.slots_[u.owner].held;
    held.for_each(Region(ByteRange{0, held.size()}), [&](const Region& where, ValueRef ref) {
      if (ref.id != wanted.ref.id) return;
      base::Vector<Region> rest;
      for (const Region& m : missing) for_each_difference(m, offset(where, ref), [&](const Region& r) { rest.push_back(r); });
      missing.swap(rest);
    });
  }
  return missing.empty();
}

/// A part holds nothing outside its range, because it is not told of changes there.
bool Directory::Audit::parts_hold_their_range() {
  for (std::uint32_t i = 0; i < d_.data_.size(); ++i) {
    const Datum& d = d_.data_[i];
    if (d.within == nullptr) continue;
    if (d.within->size() != d.slots.size()) wrong = "datum " + std::to_string(i) + " has ranges for other slots than its own";
    for (std::size_t k = 0; wrong.empty() && k < d.slots.size(); ++k) {
      const ExtentMap& held = d_.held(d.slots[k]);
      held.for_each(Region(ByteRange{0, held.size()}), [&](const Region& where, ValueRef ref) {
        if (ref.is_number() && !(*d.within)[k].contains(where.hull())) wrong = at("slot", d.slots[k].value, {where, ref}) + ": outside its part";
      });
    }
  }
  return wrong.empty();
}

bool UseIndex::is_right(const base::Vector<Use>& list) const noexcept {
  std::size_t linked = 0;
  for (std::size_t b = 0; b < buckets_.size(); ++b) {
    const bool right = all_in_ring(buckets_[b], [&](std::uint32_t at) {
      const Link& link = links_[at];
      return linked++ < list.size() && at < list.size() && link.behind < list.size() && links_[link.behind].before == at && bucket(link.key) == b &&
             link.key == key_of(list[at].delta, list[at].size);
    });
    if (!right) return false;
  }
  std::size_t counted = 0;
  for (const Level& l : levels_) {
    const auto has_it = [&](const Use& u) { return level_of(key_of(u.delta, u.size)) == l.level; };
    if (l.uses != static_cast<std::size_t>(std::count_if(list.begin(), list.end(), has_it))) return false;
    counted += l.uses;
  }
  return linked == list.size() && counted == list.size();
}

bool Uses::is_right(std::size_t scanned) const noexcept {
  return index_ == nullptr ? list_.size() <= std::max<std::size_t>(1, scanned) : index_->is_right(list_);
}

std::string Directory::audit() const {
  Audit audit(*this);
  (void)(audit.maps_are_whole() && audit.parts_hold_their_range() && audit.uses_are_counted() && audit.uses_are_at_their_places() &&
         audit.wanted_bytes_are_held());
  return audit.wrong;
}

}  // namespace semcache::directory
