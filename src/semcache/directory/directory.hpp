// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/base/topology.hpp>
#include <semcache/directory/region_map.hpp>
#include <semcache/directory/value_table.hpp>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

/// Which content every byte of every array must have, and which memory physically holds it. Touches nothing: it
/// answers with plans, and is told what was carried out. See README.md for the words and the invariants I1..I9.
namespace semcache::directory {

/// A value with known content: any slot makes it itself.
struct Fill {
  std::array<std::uint8_t, 16> pattern{};
  std::uint32_t pattern_bytes = 0;  ///< 1, 2, 4, 8 or 16; 0: not a fill
  [[nodiscard]] bool is_zero() const noexcept {
    for (std::uint32_t i = 0; i < pattern_bytes; ++i) {
      if (pattern[i] != 0) return false;
    }
    return pattern_bytes != 0;
  }
};

/// Of memory that is new to the directory.
enum class Content : std::uint8_t { unknown, zeros };

/// One movement that makes bytes of a slot hold a value.
struct Step {
  SlotId to;
  Region where;  ///< of `to`
  SlotId from;   ///< invalid: made in place from `fill`
  std::uint64_t from_position = 0;  ///< of the first byte in `from`; the columns lie there as in `to`
  ValueRef value;                   ///< of the first byte
  Fill fill;
  /// Where the bytes come from.
  [[nodiscard]] Region source() const noexcept {
    return where.moved(static_cast<std::int64_t>(from_position) - static_cast<std::int64_t>(where.begin));
  }
};

/// Whose wishes count when a slot's bytes lose what they hold: of all but its own datum in the same place, or of that, too.
enum class Wanters : std::uint8_t { others, itself_too };

/// Bytes of a slot that are the last holder of a value somebody wants.
struct LastHeld {
  Region where;
  ValueRef value;  ///< of the first byte
  DatumId wanter;  ///< one of those who want it
  std::uint64_t wanter_position = 0;  ///< of the first byte; the columns lie there as in the slot
};

enum class LinkResult : std::uint8_t {
  unchanged,  ///< the destination wanted this content already: the redundant copy
  linked,
};

/// Contract: the caller serialises all calls (the engine's lock). Ranges must lie inside their datum or slot.
/// A call that throws (bad_alloc only) has changed nothing (I9): every event makes room first and cannot fail afterwards.
/// The `prepare_` members make that room early, for an event that must not fail when the bytes have moved already.
class Directory {
 public:
  // --- arrays and memory -------------------------------------------------------------------------------------------
  [[nodiscard]] DatumId add_datum(std::uint64_t bytes);
  /// A slot of `datum` in `space`, of the datum's size, holding nothing.
  /// @param content  what the memory holds, if that is known
  [[nodiscard]] SlotId add_slot(DatumId datum, SpaceId space, Content content = Content::unknown);
  /// Memory that belongs to no array: a saved value. Its positions are those of a region that begins at 0 and has the shape of `saved`.
  [[nodiscard]] SlotId add_snapshot(SpaceId space, const Region& saved);
  /// The datum, and so its slots, are to be regions of this pitch, in bytes (`one_column`: byte ranges): regions of that pitch are one
  /// extent then. Nothing else changes. A datum whose maps are of one extent each, or without a shape, always changes it.
  /// @return false: not done, because a map would have more than `most` extents  @throws std::bad_alloc
  bool shape(DatumId datum, std::uint64_t pitch, std::size_t most);
  [[nodiscard]] std::uint64_t pitch(DatumId datum) const { return data_[datum.value].wanted.pitch(); }
  [[nodiscard]] std::uint64_t pitch(SlotId slot) const { return slots_[slot.value].held.pitch(); }
  /// The slot leaves its datum and lives on as a snapshot: its memory becomes the saved value, nothing moves.
  void detach(SlotId slot) noexcept;
  /// The program changes this memory and says so later (an announced host side): the slot is the source of a fetch only
  /// where nobody else has the value, and nobody is saved by it from being the last holder.
  void mark_changing(SlotId slot, bool changing = true) { slots_[slot.value].changing = changing; }
  [[nodiscard]] bool changing(SlotId slot) const { return slots_[slot.value].changing; }
  /// Forgets a slot; the engine has saved what it held last (I4).
  void remove_slot(SlotId slot) noexcept;
  /// Forgets a datum (its slots are removed or detached before) and what it wanted.
  void remove_datum(DatumId datum) noexcept;

  [[nodiscard]] std::uint64_t size(DatumId datum) const { return data_[datum.value].wanted.size(); }
  [[nodiscard]] std::uint64_t size(SlotId slot) const { return slots_[slot.value].held.size(); }
  [[nodiscard]] SpaceId space(SlotId slot) const { return slots_[slot.value].space; }
  [[nodiscard]] DatumId datum(SlotId slot) const { return slots_[slot.value].datum; }
  [[nodiscard]] const std::vector<SlotId>& slots(DatumId datum) const { return data_[datum.value].slots; }
  /// The slot of `datum` in `space`; invalid if there is none.
  [[nodiscard]] SlotId slot_in(DatumId datum, SpaceId space) const;

  // --- questions ---------------------------------------------------------------------------------------------------
  /// held = wanted on all of `range` (bytes never written are fresh everywhere).
  [[nodiscard]] bool fresh(SlotId slot, const Region& range) const;
  /// Fresh, defined, held nowhere else and wanted by nobody else: it may change without anybody noticing.
  [[nodiscard]] bool exclusive(SlotId slot, const Region& range) const;
  /// Is any byte of `range` wanted with a content (not never-written)?
  [[nodiscard]] bool defined(DatumId datum, const Region& range) const;
  /// The stale pieces of `range`, ascending, appended to `out`.
  void stale(SlotId slot, const Region& range, std::vector<Region>& out) const;
  /// How to make the first stale piece of `range` hold what is wanted; bytes = 0 if all is fresh.
  /// Plan, carry out, `commit`, ask again: a step may be the source of the next. One step never overlaps itself.
  [[nodiscard]] Step next_fetch(SlotId slot, const Region& range, const Topology& topology) const;
  /// Pieces of `range` of which this slot is the last holder and that somebody wants; appended to `out`. Slots that are
  /// marked as changing do not count as other holders.
  /// @param wanters  itself_too: the slot's own datum is about to want something else where the bytes lie. (What it wants elsewhere
  ///                 counts, inside `range`, too: who overwrites the range may fail half-way.)
  /// @param together  ranges that lose their content at the same time: what the slot holds there is no other holder either
  void last_held(SlotId slot, const Region& range, Wanters wanters, std::vector<LastHeld>& out,
                 const std::vector<Region>& together = {}) const;
  /// Does anybody want (part of) what the snapshot holds?
  [[nodiscard]] bool needed(SlotId snapshot) const;
  [[nodiscard]] ValueRef wanted_at(DatumId datum, std::uint64_t position) const {
    return data_[datum.value].wanted.at(position);
  }
  [[nodiscard]] ValueRef held_at(SlotId slot, std::uint64_t position) const { return slots_[slot.value].held.at(position); }
  template <class Visit>
  void for_each_wanted(DatumId datum, const Region& range, Visit&& visit) const {
    data_[datum.value].wanted.for_each(range, visit);
  }
  template <class Visit>
  void for_each_held(SlotId slot, const Region& range, Visit&& visit) const {
    slots_[slot.value].held.for_each(range, visit);
  }
  /// Known content of a value; pattern_bytes = 0 if it is not a fill.
  [[nodiscard]] Fill fill_of(ValueId value) const;
  [[nodiscard]] std::size_t extent_count(DatumId datum) const { return data_[datum.value].wanted.extent_count(); }
  [[nodiscard]] std::uint64_t memory_bytes() const;
  /// The first contradiction found in the whole structure: extents that are not maximal, use counts that are not the
  /// maps', a wanted value that nobody holds and that is no fill (I4). Empty if there is none. Linear cost.
  [[nodiscard]] std::string audit() const;

  // --- events ------------------------------------------------------------------------------------------------------
  /// Until the next event `commit` of this step cannot fail, nor `drop` of what it makes.
  void prepare_commit(const Step& step);
  /// Until another event `write` cannot fail, for so many ranges of the slot. @param range  the only one, or all of them
  void prepare_write(SlotId slot, const Region& range, std::size_t ranges = 1);
  /// A step is carried out (or is certain to be, before anybody looks): the slot holds the value.
  void commit(const Step& step);
  /// `range` of the slot is written there: the datum gets a new value, held by this slot alone (I2).
  void write(SlotId slot, const Region& range);
  /// Gives `range` one new number whatever numbers it had (the slot holds it physically): keeps the maps short.
  void renumber(SlotId slot, const Region& range);
  /// `range` of the datum is a known pattern from now on; no slot need hold it (but memory that nobody has written yet holds
  /// zeros already). Pattern phase 0 at range.begin.
  void fill(DatumId datum, const Region& range, const Fill& fill);
  /// deep_copy: from now on `to` wants `there` what `from` wants at `what` (I7). @pre width and columns are the same
  LinkResult link(DatumId to, const Region& there, DatumId from, const Region& what);
  /// The memory of `range` lost its content (evicted, or about to be).
  void drop(SlotId slot, const Region& range);
  /// All of it was. Never fails.
  void drop(SlotId slot) noexcept;
  /// The values of `extents` keep their content until `unwatch`: whoever changes them, even alone, makes a new value.
  void watch(const std::vector<ExtentMap::Extent>& extents);
  void unwatch(const std::vector<ExtentMap::Extent>& extents) noexcept { unwatch(extents, extents.size()); }
  /// `range` of the slot was found to have the content that `earlier` numbers it with: gives it back that number where
  /// the slot is fresh (what was wanted later, from elsewhere, stays) and the number is still in use.
  /// @pre `earlier` was watched since; nobody else wants what the slot holds now
  void restore(SlotId slot, const Region& range, const std::vector<ExtentMap::Extent>& earlier);
  [[nodiscard]] std::vector<ExtentMap::Extent> wanted_extents(DatumId datum, const Region& range) const {
    return data_[datum.value].wanted.extents(range);
  }

  /// Slots whose freshness or exclusiveness may have changed, and snapshots that nobody may want any more, with the hull of the
  /// bytes.
  struct Touched {
    SlotId slot;
    ByteRange range;
  };
  /// What was touched since the last call; valid until the next one.
  [[nodiscard]] const std::vector<Touched>& take_touched() noexcept;
  [[nodiscard]] bool any_touched() const noexcept { return !touched_.empty(); }
  /// The same, to be taken later.
  [[nodiscard]] const std::vector<Touched>& touched() const noexcept { return touched_; }

 private:
  /// All extents of one owner that see a value at the same displacement (position = offset + delta).
  struct Use {
    std::uint32_t owner;
    std::int64_t delta;
    std::uint32_t extents;
  };
  struct Value {
    std::vector<Use> holders;
    std::vector<Use> wanters;
    Fill fill;
    std::vector<ByteRange> watched;  ///< offsets

    Value() {  // the first of either never fails
      holders.reserve(1);
      wanters.reserve(1);
    }
    void clear() noexcept {
      holders.clear();
      wanters.clear();
      watched.clear();
      fill = {};
    }
  };
  /// Of an owner: how many uses it has, and of up to two of them the place in the value's list. Most owners have one, and two while
  /// that changes, so their uses are found at once in a list of thousands.
  struct Places {
    struct Place {
      ValueId value = undefined_value;  ///< undefined: none
      std::uint32_t at = 0;
    };
    Place known[2];
    std::uint32_t uses = 0;
  };
  struct Datum {
    ExtentMap wanted{0, {}};
    std::vector<SlotId> slots;
    Places places;
    bool live = false;
  };
  struct Slot {
    ExtentMap held{0, {}};
    Places places;
    DatumId datum;
    SpaceId space;
    bool live = false;
    bool changing = false;
    std::uint32_t touched = untouched;  ///< its place in touched_
  };
  static constexpr std::uint32_t untouched = UINT32_MAX;

  ValueRef new_value(Fill fill = {});
  /// Afterwards the two below cannot fail with the same arguments. (All of a map, and no number: they never do.)
  void prepare_wanted(DatumId datum, const Region& range, ValueRef ref);
  void prepare_held(SlotId slot, const Region& range, ValueRef ref);
  void set_wanted(DatumId datum, const Region& range, ValueRef ref) noexcept;
  void set_held(SlotId slot, const Region& range, ValueRef ref) noexcept;
  void prepare_use(std::vector<Use> Value::*uses, ValueRef ref);
  void count(std::vector<Use> Value::*uses, std::uint32_t owner, const ExtentMap::Extent& extent, int change) noexcept;
  [[nodiscard]] Places& places_of(std::vector<Use> Value::*uses, std::uint32_t owner) noexcept {
    return uses == &Value::wanters ? data_[owner].places : slots_[owner].places;
  }
  void unwatch(const std::vector<ExtentMap::Extent>& extents, std::size_t first_ones) noexcept;
  void touch(SlotId slot, ByteRange range) noexcept;
  /// @param wants  of this datum are about to change, or have changed; invalid: nobody's
  void touch_holders(ValueRef ref, std::uint64_t bytes, DatumId wants = {}) noexcept;
  [[nodiscard]] bool wanted_twice(const Value& value, ByteRange offsets, DatumId but) const noexcept;
  [[nodiscard]] bool sole(SlotId slot, const Region& piece, ValueRef ref) const;
  /// Does the datum want one value that nobody but its own slots holds, nobody else wants, and nobody watches?
  [[nodiscard]] bool kept_among_its_slots(const Datum& datum) const;

  std::vector<Datum> data_;
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_data_;
  std::vector<std::uint32_t> free_slots_;
  ValueTable<Value> values_;
  std::vector<Touched> touched_;  // as `taken_`, it has room for every slot
  std::vector<Touched> taken_;
};

}  // namespace semcache::directory
