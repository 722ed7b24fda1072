// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/directory/directory.hpp>

#include <algorithm>
#include <climits>
#include <utility>

namespace semcache::directory {
namespace {

std::int64_t displacement(std::uint64_t position, ValueRef ref) {
  return static_cast<std::int64_t>(position) - static_cast<std::int64_t>(ref.offset);
}

/// Returns where bytes [offset, offset + bytes) of a value lie for a use at displacement `delta`, clipped to `size`.
ByteRange positions(std::int64_t delta, std::uint64_t offset, std::uint64_t bytes, std::uint64_t size) {
  ByteRange inside;
  for_each_inside(Region(ByteRange{offset, offset + bytes}), delta, size, [&](const Region& r) { inside = r.hull(); });
  return inside;
}

/// Returns which bytes of a value `piece` of a map is, whose first byte has the reference `ref`.
Region offsets_of(const Region& piece, ValueRef ref) {
  return piece.moved(-displacement(piece.begin, ref));
}

/// Returns whether all these bytes of a value lie in a map of `size` bytes, for a use at displacement `delta`.
bool lies_inside(const Region& offsets, std::int64_t delta, std::uint64_t size) {
  const ByteRange hull = offsets.hull();
  return positions(delta, hull.begin, hull.size(), size).size() == hull.size();
}

/// Visits the parts at which `map` has these bytes of value `id` with displacement `delta`.
template <class Visit>
void for_each_match(const ExtentMap& map, std::int64_t delta, ValueId id, const Region& offsets, Visit&& visit) {
  for_each_inside(offsets, delta, map.size(), [&](const Region& where) {
    map.for_each(where, [&](const Region& piece, ValueRef ref) {
      if (ref.id == id && displacement(piece.begin, ref) == delta) visit(piece);
    });
  });
}

/// Returns whether `map` has any of these bytes of value `id` with displacement `delta`.
/// @pre some extent of `map` has this value and displacement
bool matches(const ExtentMap& map, std::int64_t delta, ValueId id, const Region& offsets) {
  bool any = false;
  if (map.uniform() != nullptr) {
    for_each_inside(offsets, delta, map.size(), [&](const Region&) { any = true; });
  } else {
    for_each_match(map, delta, id, offsets, [&](const Region&) { any = true; });
  }
  return any;
}

/// Removes `cut` from every piece.
template <class Piece>
void subtract(base::Vector<Piece>& pieces, const Region& cut) {
  for (std::size_t i = 0; i < pieces.size();) {
    if (!pieces[i].range.hull().overlaps(cut.hull())) {
      ++i;
      continue;
    }
    const Piece whole = pieces[i];
    pieces.erase(pieces.begin() + static_cast<std::ptrdiff_t>(i));
    for_each_difference(whole.range, cut, [&](const Region& rest) {
      Piece part = whole;
      part.range = rest;
      pieces.insert(pieces.begin() + static_cast<std::ptrdiff_t>(i), part);
      ++i;
    });
  }
}

struct Piece {
  Region range;
};

}  // namespace

// --- arrays and memory ---------------------------------------------------------------------------------------------

/// Returns the number of an entry that is not in use; it is still listed as free. The free list has room for all entries, so
/// giving a number back never fails.
template <class Entry>
static std::uint32_t unused_entry(base::Vector<Entry>& entries, base::Vector<std::uint32_t>& free) {
  if (free.empty()) {
    if (free.capacity() <= entries.size()) free.reserve(2 * entries.size() + 1);
    entries.emplace_back();
    free.push_back(static_cast<std::uint32_t>(entries.size() - 1));
  }
  return free.back();
}

DatumId Directory::add_datum(std::uint64_t bytes) {
  ExtentMap wanted(bytes, {undefined_value, 0});
  const std::uint32_t index = unused_entry(data_, free_data_);
  free_data_.pop_back();
  data_[index].wanted = std::move(wanted);
  data_[index].slots.clear();
  data_[index].within.reset();
  data_[index].live = true;
  return DatumId{index};
}

SlotId Directory::add_snapshot(SpaceId space, const Region& saved) {
  ExtentMap held(saved.end() - saved.begin, {no_value, 0});
  if (!saved.is_range()) held = *held.shaped(saved.pitch, 1);
  const std::uint32_t index = unused_entry(slots_, free_slots_);
  for (base::Vector<Touched>* const list : {&touched_, &taken_}) base::make_room(*list, slots_.size() - list->size());
  free_slots_.pop_back();
  Slot& s = slots_[index];
  s.held = std::move(held);
  s.datum = DatumId{};
  s.space = space;
  s.live = true;
  s.changing = false;
  s.part = false;
  return SlotId{index};
}

SlotId Directory::add_slot(DatumId datum, SpaceId space, Content content) {
  Datum& d = data_[datum.value];
  base::make_room(d.slots, 1);
  if (d.within != nullptr) base::make_room(*d.within, 1);
  ExtentMap held(size(datum), {content == Content::zeros ? zeros_value : no_value, 0});
  if (pitch(datum) != one_column) held = *held.shaped(pitch(datum), 1);
  const SlotId slot = add_snapshot(space, {});
  slots_[slot.value].held = std::move(held);
  slots_[slot.value].datum = datum;
  d.slots.push_back(slot);
  if (d.within != nullptr) d.within->push_back({0, size(datum)});
  return slot;
}

SlotId Directory::add_part(DatumId datum, SpaceId space, ByteRange within) {
  Datum& d = data_[datum.value];
  if (d.within == nullptr) {
    auto all = base::make_owned<base::Vector<ByteRange>>();
    all->assign(d.slots.size(), {0, size(datum)});
    d.within = std::move(all);
  }
  const SlotId slot = add_slot(datum, space);
  slots_[slot.value].part = true;
  d.within->back() = within;
  return slot;
}

void Directory::detach(SlotId slot) noexcept {
  Slot& s = slots_[slot.value];
  if (!s.datum.valid()) return;
  Datum& d = data_[s.datum.value];
  const auto at = std::find(d.slots.begin(), d.slots.end(), slot);
  if (d.within != nullptr) d.within->erase(d.within->begin() + (at - d.slots.begin()));
  d.slots.erase(at);
  s.datum = DatumId{};
  s.changing = false;
}

void Directory::remove_slot(SlotId slot) noexcept {
  drop(slot);
  touch(slot, {0, size(slot)});  // the slot's number will be used again
  detach(slot);
  slots_[slot.value].live = false;
  free_slots_.push_back(slot.value);
}

void Directory::forget(DatumId datum) noexcept {
  if (size(datum) > 0) set_wanted(datum, ByteRange{0, size(datum)}, {undefined_value, 0});
}

void Directory::remove_datum(DatumId datum) noexcept {
  forget(datum);
  data_[datum.value].live = false;
  free_data_.push_back(datum.value);
}

SlotId Directory::slot_in(DatumId datum, SpaceId space) const {
  for (const SlotId s : data_[datum.value].slots) {
    if (slots_[s.value].space == space && !slots_[s.value].part) return s;
  }
  return {};
}

// --- questions -----------------------------------------------------------------------------------------------------

void Directory::stale(SlotId slot, const Region& range, base::Vector<Region>& out) const {
  if (!datum(slot).valid()) return;
  all_of(slot, range, [&](const Region& part, ValueRef wanted, ValueRef held) {
    if (wanted.id != undefined_value && held != wanted) append(out, part);
    return true;
  });
}

std::uint64_t Directory::find_stale(SlotId slot, const Region& range) const {
  const Slot& s = slots_[slot.value];
  if (!s.datum.valid() || range.empty()) return nowhere;
  const ExtentMap& map = data_[s.datum.value].wanted;
  if (const ValueRef *wanted = map.uniform(), *held = s.held.uniform(); wanted != nullptr && held != nullptr)
    return wanted->id == undefined_value || *held == *wanted ? nowhere : range.begin;
  std::uint64_t at = nowhere;
  (void)all_of(slot, range, [&](const Region& part, ValueRef wanted, ValueRef held) {
    if (wanted.id != undefined_value && held != wanted) at = part.begin;
    return at == nowhere;
  });
  return at;
}

bool Directory::sole(SlotId slot, const Region& piece, ValueRef ref) const {
  const Value& v = values_.at(ref.id);
  if (v.fill.pattern_bytes != 0) return false;
  const Region offsets = offsets_of(piece, ref);
  if (v.is_watched()) {
    for (const ByteRange w : *v.watched) {
      if (may_overlap(w, offsets)) return false;
    }
  }
  if (v.holders.size() == 1 && v.wanters.size() == 1) return true;
  const DatumId datum = slots_[slot.value].datum;
  const std::int64_t here = displacement(piece.begin, ref);
  const bool nobody_holds = v.holders.all_of(offsets.hull(), [&](const Use& u) {
    if (u.owner == slot.value && u.delta == here) return true;
    return !matches(slots_[u.owner].held, u.delta, ref.id, offsets);
  });
  return nobody_holds && v.wanters.all_of(offsets.hull(), [&](const Use& u) {
    if (u.owner == datum.value && u.delta == here) return true;
    return !matches(data_[u.owner].wanted, u.delta, ref.id, offsets);
  });
}

void Directory::shared(SlotId slot, const Region& piece, ValueRef ref, base::Vector<Region>& out) const {
  constexpr std::size_t many = 64;
  const Value& v = values_.at(ref.id);
  const Region offsets = offsets_of(piece, ref);
  bool all = v.fill.pattern_bytes != 0;
  const std::size_t first = out.size();
  const std::int64_t here = displacement(piece.begin, ref);
  if (v.is_watched()) {
    for (const ByteRange w : *v.watched) {
      if (!may_overlap(w, offsets)) continue;
      all = all || !piece.is_range();
      if (!all) out.push_back(Region(intersect(w, offsets.hull())).moved(here));
    }
  }
  const DatumId datum = slots_[slot.value].datum;
  const auto add = [&](const ExtentMap& map, const Use& u) {
    for_each_match(map, u.delta, ref.id, offsets, [&](const Region& at) {
      out.push_back(at.moved(here - u.delta));
      all = all || out.back() == piece || out.size() - first > many;
    });
  };
  all = all || !v.holders.all_of(offsets.hull(), [&](const Use& u) {
    if (u.owner != slot.value || u.delta != here) add(slots_[u.owner].held, u);
    return !all;
  });
  all = all || !v.wanters.all_of(offsets.hull(), [&](const Use& u) {
    if (u.owner != datum.value || u.delta != here) add(data_[u.owner].wanted, u);
    return !all;
  });
  if (!all) return;
  out.resize(first);
  out.push_back(piece);
}

std::uint64_t Directory::find_shared(SlotId slot, const Region& range) const {
  const Slot& s = slots_[slot.value];
  if (!s.datum.valid()) return range.begin;
  if (range.empty()) return nowhere;
  const auto exclusive = [&](const Region& part, ValueRef wanted, ValueRef held) {
    return wanted.is_number() && held == wanted && sole(slot, part, wanted);
  };
  const ExtentMap& map = data_[s.datum.value].wanted;
  if (const ValueRef *wanted = map.uniform(), *held = s.held.uniform(); wanted != nullptr && held != nullptr)
    return exclusive(range, wanted->advanced(range.begin), held->advanced(range.begin)) ? nowhere : range.begin;
  std::uint64_t at = nowhere;
  (void)all_of(slot, range, [&](const Region& part, ValueRef wanted, ValueRef held) {
    if (!exclusive(part, wanted, held)) at = part.begin;
    return at == nowhere;
  });
  return at;
}

bool Directory::defined(DatumId datum, const Region& range) const {
  return !wanted(datum).all_of(range, [](const Region&, ValueRef ref) { return !ref.is_number(); });
}

Step Directory::next_fetch(SlotId slot, const Region& range, const Topology& topology, SpaceId first) const {
  Step step;
  const Slot& s = slots_[slot.value];
  if (!s.datum.valid()) return step;
  const ValueRef* const all_wanted = data_[s.datum.value].wanted.uniform();
  const ValueRef* const all_held = s.held.uniform();
  Region piece;
  ValueRef ref;
  if (all_wanted != nullptr && all_held != nullptr) {
    if (*all_held == *all_wanted || all_wanted->id == undefined_value) return step;
    piece = range.is_range() ? Region(intersect(range.hull(), {0, s.held.size()})) : s.held.takes(range) ? range : Region(range.column(0));
    ref = all_wanted->advanced(piece.begin);
  } else {
    // The first stale piece that is one extent in the wanted map, with the pieces behind it that are one region with it.
    base::Vector<Region> pieces;
    all_of(slot, range, [&](const Region& part, ValueRef here, ValueRef held) {
      if (here.id == undefined_value || held == here) return true;
      if (pieces.empty()) {
        ref = here;
      } else if (here != ref.advanced(part.begin - pieces.front().begin)) {
        return false;
      }
      append(pieces, part);
      return pieces.size() == 1;
    });
    if (!pieces.empty()) piece = pieces.front();
  }
  if (piece.empty()) return step;

  const Value& v = values_.at(ref.id);
  const Region offsets = offsets_of(piece, ref);
  step.to = slot;
  step.where = piece;
  step.value = ref;
  step.fill = v.fill;
  if (v.fill.pattern_bytes != 0) return step;

  unsigned best_cost = 0;
  std::uint64_t nearest = piece.width;  // bytes until some holder begins, where none holds the first byte
  const auto cost = [&](SpaceId from) { return 2 * topology.copy_cost(from, s.space) + (from == first ? 0 : 1); };
  const unsigned least = std::min(cost(s.space), cost(host_space)) - (first.valid() ? 1 : 0);
  const auto offer = [&](const Use& u, std::uint64_t position, const Region& where) {
    const Slot& h = slots_[u.owner];
    const unsigned c = cost(h.space) + (h.changing ? UINT_MAX / 2 : 0);  // what changes comes last; of several such, the nearest
    if (step.from.valid() && (c > best_cost || (c == best_cost && where.size() <= step.where.size()))) return;
    best_cost = c;
    step.from = SlotId{u.owner};
    step.from_position = position;
    step.where = where;
  };
  (void)v.holders.all_of(offsets.hull(), [&](const Use& u) {
    if (step.from.valid() && best_cost <= least && step.where.size() == piece.size()) return false;  // no holder is better
    const ExtentMap& held = slots_[u.owner].held;
    // The common case: another slot has all of it.
    if (held.uniform() != nullptr && u.owner != slot.value && lies_inside(offsets, u.delta, held.size())) {
      offer(u, static_cast<std::uint64_t>(static_cast<std::int64_t>(ref.offset) + u.delta), piece);
      return true;
    }
    for_each_match(held, u.delta, ref.id, offsets, [&](const Region& at) {
      Region where = at.moved(static_cast<std::int64_t>(piece.begin) - static_cast<std::int64_t>(ref.offset) - u.delta);
      if (where.begin != piece.begin) {
        nearest = std::min(nearest, where.begin - piece.begin);
        return;
      }
      if (u.owner == slot.value) {  // a copy within the slot must not overlap itself
        const std::uint64_t distance = at.begin > piece.begin ? at.begin - piece.begin : piece.begin - at.begin;
        if (distance == 0) return;
        where = Region(ByteRange{where.begin, where.begin + std::min(where.width, distance)});
      }
      offer(u, at.begin, s.held.takes(where) ? where : Region(where.column(0)));
    });
    return true;
  });
  // Without a holder the value is lost: `from` is invalid, there is no fill, and the engine ends the process (I8).
  if (!step.from.valid()) step.where = Region(ByteRange{piece.begin, piece.begin + nearest});
  return step;
}

void Directory::last_held(SlotId slot, const Region& range, Wanters wanters, base::Vector<LastHeld>& out,
                          const base::Vector<Region>& together) const {
  struct Wanted {
    Region range;  // offsets in the value
    DatumId wanter;
    std::int64_t delta;
  };
  const Slot& s = slots_[slot.value];
  s.held.for_each(range, [&](const Region& piece, ValueRef ref) {
    if (!ref.is_number()) return;
    const Value& v = values_.at(ref.id);
    if (v.fill.pattern_bytes != 0 || v.wanters.empty()) return;
    const Region all = offsets_of(piece, ref);
    const std::int64_t here = displacement(piece.begin, ref);
    // The common case: only this slot's own datum wants it, here, and is about to want something else.
    if (wanters == Wanters::itself_too && v.wanters.size() == 1 && v.wanters[0].owner == s.datum.value && v.wanters[0].delta == here) return;
    base::Vector<Wanted> wanted;
    const auto find = [&](const auto& self, const Region& offsets) -> void {
      // The next most common case: some other slot holds all of it, in one extent.
      const bool is_lost = v.holders.all_of(offsets.hull(), [&](const Use& u) {
        const ExtentMap& map = slots_[u.owner].held;
        const bool has_all =
            u.owner != slot.value && !slots_[u.owner].changing && map.uniform() != nullptr && lies_inside(offsets, u.delta, map.size());
        return !has_all;
      });
      if (!is_lost) return;

      base::Vector<Wanted> found;
      // Each piece is compared with each other. So where there are many, the halves of the bytes are looked at apart.
      const auto are_many = [&] {
        const auto is_range = [](const Wanted& w) { return w.range.is_range(); };
        return found.size() > scanned_ && offsets.is_range() && std::all_of(found.begin(), found.end(), is_range);
      };
      const auto find_in_halves = [&] {
        const std::uint64_t middle = offsets.begin + offsets.size() / 2;
        self(self, ByteRange{offsets.begin, middle});
        self(self, ByteRange{middle, offsets.end()});
      };
      std::uint64_t bytes = 0;  // in all of `found`
      (void)v.wanters.all_of(offsets.hull(), [&](const Use& u) {
        for_each_match(data_[u.owner].wanted, u.delta, ref.id, offsets, [&](const Region& at) {
          base::Vector<Wanted> parts{{at, DatumId{u.owner}, u.delta}};
          if (wanters == Wanters::itself_too && u.owner == s.datum.value && u.delta == here) subtract(parts, range);
          for (Wanted& part : parts) {
            part.range = part.range.moved(-u.delta);
            base::Vector<Wanted> rest{part};
            for (const Wanted& known : found) subtract(rest, known.range);
            for (const Wanted& r : rest) bytes += r.range.size();
            found.insert(found.end(), rest.begin(), rest.end());
          }
        });
        return bytes < offsets.size() && !are_many();  // thousands of data may want the same bytes
      });
      if (are_many()) return find_in_halves();
      (void)v.holders.all_of(offsets.hull(), [&](const Use& u) {
        if (u.owner != slot.value && slots_[u.owner].changing) return true;
        for_each_match(slots_[u.owner].held, u.delta, ref.id, offsets, [&](const Region& at) {
          base::Vector<Piece> parts{{at}};
          if (u.owner == slot.value) subtract(parts, range);
          for (std::size_t i = 0; u.owner == slot.value && !parts.empty() && i < together.size(); ++i) subtract(parts, together[i]);
          for (const Piece& part : parts) subtract(found, part.range.moved(-u.delta));
        });
        return !found.empty() && !are_many();
      });
      if (are_many()) return find_in_halves();
      wanted.insert(wanted.end(), found.begin(), found.end());
    };
    find(find, all);
    std::sort(wanted.begin(), wanted.end(),
              [](const Wanted& a, const Wanted& b) { return a.range.begin < b.range.begin; });
    // What one datum wants at one displacement is a region again where it can be one.
    base::Vector<Wanted> whole;
    for (const Wanted& w : wanted) {
      const bool alike = !whole.empty() && whole.back().wanter == w.wanter && whole.back().delta == w.delta;
      if (!alike || !join(whole.back().range, w.range, all.pitch)) whole.push_back(w);
    }
    for (const Wanted& w : whole) {
      out.push_back({w.range.moved(here), ref.advanced(w.range.begin - ref.offset), w.wanter,
                     static_cast<std::uint64_t>(static_cast<std::int64_t>(w.range.begin) + w.delta)});
    }
  });
}

bool Directory::needed(SlotId snapshot) const {
  return !held(snapshot).all_of(ByteRange{0, size(snapshot)}, [&](const Region& piece, ValueRef ref) {
    if (!ref.is_number()) return true;
    const Region offsets = offsets_of(piece, ref);
    return values_.at(ref.id).wanters.all_of(offsets.hull(), [&](const Use& u) {
      return !matches(data_[u.owner].wanted, u.delta, ref.id, offsets);
    });
  });
}

Fill Directory::fill_of(ValueId value) const {
  const Value* v = values_.find(value);
  return v == nullptr ? Fill{} : v->fill;
}

std::uint64_t Directory::memory_bytes() const {
  std::uint64_t sum = data_.capacity() * sizeof(Datum) + slots_.capacity() * sizeof(Slot);
  for (const Datum& d : data_) sum += d.wanted.memory_bytes();
  for (const Slot& s : slots_) sum += s.held.memory_bytes();
  values_.for_each([&](ValueId, const Value& v) {
    sum += sizeof(v) + v.holders.memory_bytes() + v.wanters.memory_bytes() + 2 * sizeof(void*);
  });
  return sum;
}

// --- events --------------------------------------------------------------------------------------------------------

void Directory::prepare_commit(const Step& step) { prepare_held(step.to, step.where, step.value); }

void Directory::commit(const Step& step) {
  prepare_commit(step);
  set_held(step.to, step.where, step.value);
}

bool Directory::kept_among_its_slots(const Datum& datum) const {
  const ValueRef* wanted = datum.wanted.uniform();
  if (wanted == nullptr || !wanted->is_number()) return false;
  const Value& v = values_.at(wanted->id);
  if (v.fill.pattern_bytes != 0 || v.wanters.size() != 1 || v.is_watched()) return false;
  const DatumId here{v.wanters[0].owner};
  for (const Use& u : v.holders) {
    const Slot& s = slots_[u.owner];
    if (s.datum != here || u.delta != v.wanters[0].delta || s.held.uniform() == nullptr) return false;
  }
  return true;
}

template <class Where>
void Directory::prepare_write(SlotId slot, const Where& where, std::size_t values) {
  Slot& s = slots_[slot.value];
  Datum& d = data_[s.datum.value];
  for (ExtentMap* const map : {&d.wanted, &s.held}) map->make_room(where);
  values_.make_room(values);
  if (kept_among_its_slots(d)) prepare_use(&Value::holders, *d.wanted.uniform());
}
void Directory::prepare_write(SlotId slot, const Region& region) { prepare_write(slot, region, 1); }
void Directory::prepare_write(SlotId slot, const base::Vector<Region>& regions) { prepare_write(slot, regions, regions.size()); }

void Directory::write(SlotId slot, const Region& range) {
  if (range.empty() || exclusive(slot, range)) return;
  prepare_write(slot, range);
  const DatumId datum = slots_[slot.value].datum;
  // The whole array is written, and its value is used by this datum and its slots only: the number stays, and the other slots
  // lose it.
  if (const Datum& d = data_[datum.value]; range.size() == d.wanted.size() && kept_among_its_slots(d)) {
    const ValueRef kept = *d.wanted.uniform();
    set_held(slot, range, kept);
    for (const SlotId s : d.slots) {
      const ValueRef* held = slots_[s.value].held.uniform();
      if (s != slot && held != nullptr && *held == kept) set_held(s, range, {former_value, 0});
    }
    return;
  }
  // A neighbouring value that only this slot holds and only this datum wants may grow over the range. Nothing outside can tell
  // one number from two, and the maps stay short.
  const auto grown = [&](std::uint64_t neighbour, std::int64_t distance) -> ValueRef {
    const ValueRef ref = held(slot).at(neighbour);
    if (!ref.is_number() || wanted(datum).at(neighbour) != ref) return {};
    const Value& v = values_.at(ref.id);
    if (v.fill.pattern_bytes != 0 || v.holders.size() != 1 || v.wanters.size() != 1 || v.is_watched()) return {};
    const std::int64_t offset = static_cast<std::int64_t>(ref.offset) + distance;
    return offset < 0 ? ValueRef{} : ValueRef{ref.id, static_cast<std::uint64_t>(offset)};
  };
  ValueRef ref;
  if (range.is_range() && range.begin > 0) ref = grown(range.begin - 1, 1);
  if (range.is_range() && !ref.is_number() && range.end() < size(slot)) ref = grown(range.end(), -static_cast<std::int64_t>(range.size()));
  if (!ref.is_number()) {
    renumber(slot, range);
    return;
  }
  set_wanted(datum, range, ref);
  set_held(slot, range, ref);
}

void Directory::renumber(SlotId slot, const Region& range) {
  if (range.empty()) return;
  prepare_write(slot, range);
  ValueRef ref = new_value();
  ref.offset = range.begin;
  set_wanted(slots_[slot.value].datum, range, ref);
  set_held(slot, range, ref);
}

void Directory::fill(DatumId datum, const Region& range, const Fill& fill) {
  if (range.empty()) return;
  data_[datum.value].wanted.make_room(range);
  values_.make_room(1);
  // Of new memory a datum has one slot at most, on the host: the first use of a value never fails.
  SlotId zeros;
  base::Vector<Region> unwritten;
  for (const SlotId slot : data_[datum.value].slots) {
    if (!fill.is_zero() || zeros.valid()) break;
    held(slot).for_each(range, [&](const Region& piece, ValueRef held) {
      if (held.id == zeros_value) unwritten.push_back(piece);
    });
    if (unwritten.empty()) continue;
    zeros = slot;
    slots_[slot.value].held.make_room(unwritten);
  }
  const ValueRef ref = new_value(fill);
  set_wanted(datum, range, ref);
  for (const Region& piece : unwritten) set_held(zeros, piece, ref.advanced(piece.begin - range.begin));
}

LinkResult Directory::link(DatumId to, const Region& there, DatumId from, const Region& what, std::size_t most) {
  base::Vector<ExtentMap::Extent> pieces;
  std::size_t cut = 0;  // columns that are extents of their own
  bool fits = true;
  const auto collect = [&](const Region& source, const Region& target) {
    wanted(from).all_of(source, [&](const Region& piece, ValueRef ref) {
      const Region moved = piece.moved(static_cast<std::int64_t>(target.begin) - static_cast<std::int64_t>(source.begin));
      if (!wanted(to).takes(moved)) cut += moved.columns;
      fits = cut <= most;
      if (!fits) return false;
      for_each_in_shape(moved, pitch(to), [&](const Region& part) {
        pieces.push_back({part, ref.advanced(part.begin - moved.begin)});
      });
      return true;
    });
  };
  if (there.pitch == what.pitch) {
    collect(what, there);
  } else {
    cut = there.columns;
    fits = cut <= most;
    for (std::uint64_t c = 0; fits && c < there.columns; ++c) collect(what.column(c), there.column(c));
  }
  if (!fits) return LinkResult::too_fine;
  const bool same = std::all_of(pieces.begin(), pieces.end(), [&](const ExtentMap::Extent& e) {
    return wanted(to).all_of(e.where, [&](const Region& piece, ValueRef ref) { return ref == e.at(piece.begin); });
  });
  if (same) return LinkResult::unchanged;
  if (pieces.size() == 1) {
    data_[to.value].wanted.make_room(pieces.front().where);
  } else {
    base::Vector<Region> where;
    for (const ExtentMap::Extent& e : pieces) where.push_back(e.where);
    data_[to.value].wanted.make_room(where);
  }
  // The new uses are counted first. So nothing can fail afterwards, and in a copy within one array no fill is forgotten because
  // it is overwritten before it is copied.
  std::size_t counted = 0;
  const base::AtEnd forget([&] {
    while (counted > 0) count(&Value::wanters, to.value, pieces[--counted], -1);
  });
  for (; counted < pieces.size(); ++counted) {
    prepare_use(&Value::wanters, pieces[counted].ref);
    count(&Value::wanters, to.value, pieces[counted], +1);
  }
  for (const auto& e : pieces) set_wanted(to, e.where, e.ref);
  return LinkResult::linked;
}

bool Directory::shape(DatumId datum, std::uint64_t pitch, std::size_t most) {
  Datum& d = data_[datum.value];
  if (d.wanted.pitch() == pitch) return true;
  base::Vector<ExtentMap> maps;
  maps.reserve(1 + d.slots.size());
  const auto add = [&](const ExtentMap& map) {
    auto other = map.shaped(pitch, most);
    if (other) maps.push_back(std::move(*other));
    return other.has_value();
  };
  if (!add(d.wanted)) return false;
  for (const SlotId s : d.slots) {
    if (!add(slots_[s.value].held)) return false;
  }
  const auto exchange = [&](Uses Value::*uses, std::uint32_t owner, ExtentMap& map, ExtentMap& other) {
    other.for_each_extent([&](const ExtentMap::Extent& e) { count(uses, owner, e, +1); });
    map.for_each_extent([&](const ExtentMap::Extent& e) { count(uses, owner, e, -1); });
    std::swap(map, other);
  };
  exchange(&Value::wanters, datum.value, d.wanted, maps[0]);
  for (std::size_t i = 0; i < d.slots.size(); ++i) exchange(&Value::holders, d.slots[i].value, slots_[d.slots[i].value].held, maps[i + 1]);
  return true;
}

void Directory::drop(SlotId slot, const Region& range) {
  if (range.empty()) return;
  prepare_held(slot, range, {no_value, 0});
  set_held(slot, range, {no_value, 0});
}

void Directory::drop(SlotId slot) noexcept {
  if (size(slot) > 0) set_held(slot, ByteRange{0, size(slot)}, {no_value, 0});
}

void Directory::restore(SlotId slot, const base::Vector<ExtentMap::Extent>& earlier) {
  const DatumId datum = slots_[slot.value].datum;
  for (const auto& e : earlier) {
    if (!e.ref.is_number() || values_.find(e.ref.id) == nullptr) continue;
    base::Vector<Region> parts;
    all_of(slot, e.where, [&](const Region& part, ValueRef wanted, ValueRef held) {
      if (wanted.id == undefined_value || held == wanted) append(parts, part);
      return true;
    });
    for (const Region& part : parts) {
      const ValueRef ref = e.at(part.begin);
      prepare_wanted(datum, part, ref);
      prepare_held(slot, part, ref);
      set_wanted(datum, part, ref);
      set_held(slot, part, ref);
    }
  }
}

void Directory::watch(const base::Vector<ExtentMap::Extent>& extents) {
  std::size_t watched = 0;
  const base::AtEnd undone([&] {
    if (watched < extents.size()) unwatch(extents, watched);
  });
  for (; watched < extents.size(); ++watched) {
    const ExtentMap::Extent& e = extents[watched];
    if (Value* value = values_.find(e.ref.id)) {
      if (value->watched == nullptr) value->watched = base::make_owned<base::Vector<ByteRange>>();
      value->watched->push_back(offsets_of(e.where, e.ref).hull());
      touch_holders(e.ref, e.where.hull().size());
    }
  }
}

void Directory::unwatch(const base::Vector<ExtentMap::Extent>& extents, std::size_t first_ones) noexcept {
  for (std::size_t i = 0; i < first_ones; ++i) {
    const ExtentMap::Extent& e = extents[i];
    if (Value* value = values_.find(e.ref.id)) {
      auto& watched = *value->watched;
      watched.erase(std::find(watched.begin(), watched.end(), offsets_of(e.where, e.ref).hull()));
      touch_holders(e.ref, e.where.hull().size());
    }
  }
}

const base::Vector<Directory::Touched>& Directory::take_touched() noexcept {
  taken_.clear();
  taken_.swap(touched_);
  for (const Touched& t : taken_) slots_[t.slot.value].touched = untouched;
  return taken_;
}

// --- bookkeeping ---------------------------------------------------------------------------------------------------

ValueRef Directory::new_value(Fill fill) {
  const ValueId id = values_.add();
  values_.find(id)->fill = fill;
  return {id, 0};
}

void Directory::prepare_use(Uses Value::*uses, ValueRef ref) {
  if (ref.is_number()) (values_.find(ref.id)->*uses).make_room(scanned_);
}

void Directory::prepare_wanted(DatumId datum, const Region& range, ValueRef ref) {
  data_[datum.value].wanted.make_room(range);
  prepare_use(&Value::wanters, ref);
}

void Directory::prepare_held(SlotId slot, const Region& range, ValueRef ref) {
  slots_[slot.value].held.make_room(range);
  prepare_use(&Value::holders, ref);
}

void Directory::count(Uses Value::*uses, std::uint32_t owner, const ExtentMap::Extent& extent, int change) noexcept {
  if (!extent.ref.is_number()) return;
  Value* value = values_.find(extent.ref.id);
  Uses& list = value->*uses;
  const std::int64_t delta = extent.displacement();
  const auto place = [&](std::uint32_t of, ValueId id, std::size_t at) -> Places::Place* {
    for (Places::Place& p : places_of(uses, of).known) {
      if (p.value == id && p.at == at) return &p;
    }
    return nullptr;
  };
  Places& places = places_of(uses, owner);
  const auto size = [&] { return uses == &Value::wanters ? data_[owner].wanted.size() : slots_[owner].held.size(); };
  std::size_t at = list.size();
  std::uint32_t known = 0;
  for (const Places::Place& p : places.known) {
    if (p.value != undefined_value) ++known;
    if (p.value == extent.ref.id && list[p.at].delta == delta) at = p.at;
  }
  if (at == list.size() && known != places.uses) at = list.find(owner, delta, size());  // a use whose place is not known, or none
  if (at == list.size()) {
    list.add({owner, 1, delta, size()});
    ++places.uses;
    if (Places::Place* const unused = place(owner, undefined_value, 0)) *unused = {extent.ref.id, static_cast<std::uint32_t>(at)};
    return;
  }
  if (!list.add_extents(at, change)) return;
  --places.uses;
  if (Places::Place* const former = place(owner, extent.ref.id, at)) *former = {};
  const std::size_t last = list.size();
  if (at != last) {  // the last use has taken its place
    if (Places::Place* const moved = place(list[at].owner, extent.ref.id, last)) moved->at = static_cast<std::uint32_t>(at);
  }
  if (value->holders.empty() && value->wanters.empty()) values_.erase(extent.ref.id);
}

void Directory::touch(SlotId slot, ByteRange range) noexcept {
  if (range.empty()) return;
  Slot& s = slots_[slot.value];
  if (s.touched != untouched) {
    ByteRange& hull = touched_[s.touched].range;
    hull = {std::min(hull.begin, range.begin), std::max(hull.end, range.end)};
    return;
  }
  s.touched = static_cast<std::uint32_t>(touched_.size());
  touched_.push_back({slot, range});
}

/// Returns whether all these bytes of the value are wanted at two places, not counting what the datum `but` wants. If so, no
/// holder is exclusive and every snapshot is needed, whatever `but` wants. Reads only the first few wanters, so a value that
/// thousands of data want costs no more than one that a few want.
bool Directory::wanted_twice(const Value& v, ByteRange offsets, DatumId but) const noexcept {
  constexpr std::size_t few = 4;
  unsigned found = 0;
  for (std::size_t i = 0; i < v.wanters.size() && i < few; ++i) {
    const Use& u = v.wanters[i];
    const ExtentMap& map = data_[u.owner].wanted;
    if (u.owner == but.value || map.uniform() == nullptr) continue;
    if (positions(u.delta, offsets.begin, offsets.size(), map.size()).size() == offsets.size()) ++found;
  }
  return found >= 2;
}

void Directory::touch_holders(ValueRef ref, std::uint64_t bytes, DatumId wants) noexcept {
  if (!ref.is_number()) return;
  const Value* value = values_.find(ref.id);
  const ByteRange offsets{ref.offset, ref.offset + bytes};
  if (value == nullptr || wanted_twice(*value, offsets, wants)) return;
  (void)value->holders.all_of(offsets, [&](const Use& u) {
    touch(SlotId{u.owner}, u.positions(offsets));
    return true;
  });
}

void Directory::set_wanted(DatumId datum, const Region& range, ValueRef ref) noexcept {
  Datum& d = data_[datum.value];
  ++d.changes;
  // Former and future holders may become, or cease to be, the only ones concerned.
  d.wanted.for_each(range, [&](const Region& piece, ValueRef old) { touch_holders(old, piece.hull().size(), datum); });
  d.wanted.assign(range, ref, [&](const ExtentMap::Extent& e, int change) {
    count(&Value::wanters, datum.value, e, change);
  });
  touch_holders(ref, range.hull().size(), datum);
  for (std::size_t i = 0; i < d.slots.size(); ++i) {
    touch(d.slots[i], d.within == nullptr ? range.hull() : intersect(range.hull(), (*d.within)[i]));
  }
}

void Directory::set_held(SlotId slot, const Region& range, ValueRef ref) noexcept {
  Slot& s = slots_[slot.value];
  if (const ValueRef* old = s.held.uniform(); old != nullptr && range.size() == s.held.size()) {
    if (*old == ref) return;
    touch_holders(*old, range.size());
  } else {
    s.held.for_each(range, [&](const Region& piece, ValueRef former) { touch_holders(former, piece.hull().size()); });
  }
  s.held.assign(range, ref, [&](const ExtentMap::Extent& e, int change) {
    count(&Value::holders, slot.value, e, change);
  });
  touch_holders(ref, range.hull().size());
  touch(slot, range.hull());
}

}  // namespace semcache::directory
