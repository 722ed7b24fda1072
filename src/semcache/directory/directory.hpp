// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/base/own_memory.hpp>
#include <semcache/base/topology.hpp>
#include <semcache/base/types.hpp>
#include <semcache/directory/region_map.hpp>
#include <semcache/directory/uses.hpp>
#include <semcache/directory/value_table.hpp>

#include <array>
#include <cstdint>
#include <string>
#include <utility>

/// Which content every byte of every array must have, and which memory physically holds it. The directory never touches memory:
/// it answers with steps, and the engine reports the steps that it has carried out. README.md defines the words (value, datum,
/// slot, ...) and the invariants I1..I9.
namespace semcache::directory {

/// The known content of a value, a repeated pattern: any slot makes it in place.
struct Fill {
  std::array<std::uint8_t, 16> pattern{};
  std::uint32_t pattern_bytes = 0;  ///< 1, 2, 4, 8 or 16; 0 if the value is no fill
  [[nodiscard]] bool is_zero() const noexcept {
    for (std::uint32_t i = 0; i < pattern_bytes; ++i) {
      if (pattern[i] != 0) return false;
    }
    return pattern_bytes != 0;
  }
};

/// What memory that is new to the directory contains.
enum class Content : std::uint8_t { unknown, zeros };

/// One movement that makes bytes of a slot hold a value.
struct Step {
  SlotId to;
  Region where;  ///< of `to`
  SlotId from;   ///< invalid if the bytes are made in place from `fill`
  std::uint64_t from_position = 0;  ///< of the first byte in `from`; the columns lie there as in `to`
  ValueRef value;                   ///< of the first byte
  Fill fill;
  /// Where the bytes come from.
  [[nodiscard]] Region source() const noexcept {
    return where.moved(static_cast<std::int64_t>(from_position) - static_cast<std::int64_t>(where.begin));
  }
};

/// Which data give up what they want when a slot's bytes lose their content (`Directory::last_held`). `others`: no datum does, so
/// the slot's own datum counts as a wanter. `itself_too`: the slot's own datum is about to want something else for these bytes (a
/// write), so what it wants there does not count.
enum class Wanters : std::uint8_t { others, itself_too };

/// Bytes for which a slot is the last holder of a value that some datum wants.
struct LastHeld {
  Region where;
  ValueRef value;  ///< of the first byte
  DatumId wanter;  ///< one of the data that want it
  std::uint64_t wanter_position = 0;  ///< of the first byte; the columns lie there as in the slot
};

enum class LinkResult : std::uint8_t {
  unchanged,  ///< the destination wanted this content already: the copy is redundant
  linked,
  too_fine,   ///< too many columns would be extents of their own: nothing has changed
};

/// The state of all data, slots and values.
///
/// @pre Regions lie inside their datum or slot. Those of events are byte ranges, or have the pitch of the map that the event
///      changes (`shape`); `link` and the questions take any.
/// @throws std::bad_alloc only; the call has then changed nothing (I9), because every event makes room before its first change
/// and cannot fail afterwards. The `prepare_` members make that room early, for an event that must not fail after the bytes have
/// moved.
/// Threads: the caller serialises all calls (the engine's lock).
class Directory {
 public:
  /// @param scanned  so many uses of a value are looked at one by one; more of them get an index (`Uses`). At least 1
  explicit Directory(std::size_t scanned = 32) : scanned_(scanned) {}

  // --- arrays and memory -------------------------------------------------------------------------------------------
  [[nodiscard]] DatumId add_datum(std::uint64_t bytes);
  /// Adds a slot of `datum` in `space`. It has the datum's size and holds no value.
  /// @param content  what the memory contains, if that is known
  [[nodiscard]] SlotId add_slot(DatumId datum, SpaceId space, Content content = Content::unknown);
  /// Adds a slot whose memory has room for a part of the datum only. Its positions are those of the datum. The caller asks for no other
  /// bytes to be there. A datum may have several such slots in one space.
  /// @param within  in which positions that part lies
  [[nodiscard]] SlotId add_part(DatumId datum, SpaceId space, ByteRange within);
  /// Adds memory that belongs to no datum and is to hold a saved value. Its positions are those of a region that begins at 0 and has
  /// the width, columns and pitch of `saved`.
  [[nodiscard]] SlotId add_snapshot(SpaceId space, const Region& saved);
  /// Gives the maps of the datum and of its slots a shape (`RegionMap`), so that a region of that pitch is one extent. The content of
  /// the maps stays. Maps without a shape, and maps of one extent, take any shape.
  /// @param pitch  in bytes; `one_column`: no shape
  /// @return false if a map would have more than `most` extents, or if more than 64 columns would become extents of their own; then
  ///         nothing has changed
  bool shape(DatumId datum, std::uint64_t pitch, std::size_t most);
  [[nodiscard]] std::uint64_t pitch(DatumId datum) const { return data_[datum.value].wanted.pitch(); }
  [[nodiscard]] std::uint64_t pitch(SlotId slot) const { return slots_[slot.value].held.pitch(); }
  /// Takes the slot from its datum and keeps it as a snapshot: its memory becomes the saved copy, and no byte moves.
  void detach(SlotId slot) noexcept;
  /// Marks memory that the program changes before it announces the change (an announced host side). Such a slot is the source of
  /// a fetch only where no other slot has the value, and it does not relieve another slot of being the last holder.
  void mark_changing(SlotId slot) { slots_[slot.value].changing = true; }
  void mark_unchanging(SlotId slot) { slots_[slot.value].changing = false; }
  [[nodiscard]] bool changing(SlotId slot) const { return slots_[slot.value].changing; }
  /// Forgets a slot. @pre the engine has saved the values of which the slot was the last holder (I4)
  void remove_slot(SlotId slot) noexcept;
  /// Forgets what a datum wanted, so that nothing need be saved for it. It counts as never written.
  void forget(DatumId datum) noexcept;
  /// Forgets a datum and what it wanted. @pre its slots have been removed or detached
  void remove_datum(DatumId datum) noexcept;
  /// Returns whether a datum exists. @param datum  one that `add_datum` has returned
  [[nodiscard]] bool live(DatumId datum) const { return data_[datum.value].live; }

  [[nodiscard]] std::uint64_t size(DatumId datum) const { return data_[datum.value].wanted.size(); }
  [[nodiscard]] std::uint64_t size(SlotId slot) const { return slots_[slot.value].held.size(); }
  /// Returns how many changes there have been of what the datum wants.
  [[nodiscard]] std::uint64_t changes(DatumId datum) const { return data_[datum.value].changes; }
  [[nodiscard]] SpaceId space(SlotId slot) const { return slots_[slot.value].space; }
  [[nodiscard]] DatumId datum(SlotId slot) const { return slots_[slot.value].datum; }
  [[nodiscard]] const base::Vector<SlotId>& slots(DatumId datum) const { return data_[datum.value].slots; }
  /// Returns the slot of `datum` in `space` that has room for all of it; invalid if there is none.
  [[nodiscard]] SlotId slot_in(DatumId datum, SpaceId space) const;

  // --- questions ---------------------------------------------------------------------------------------------------
  /// Returns whether the slot holds what its datum wants on all of `range`. Bytes never written are fresh everywhere.
  [[nodiscard]] bool fresh(SlotId slot, const Region& range) const { return find_stale(slot, range) == nowhere; }
  /// Returns whether all of `range` is fresh and defined, held and wanted nowhere else, and neither a fill nor watched. The slot
  /// may then change without a change of the directory.
  [[nodiscard]] bool exclusive(SlotId slot, const Region& range) const { return find_shared(slot, range) == nowhere; }
  static constexpr std::uint64_t nowhere = UINT64_MAX;
  /// Returns the first position of a piece of `range` that is not fresh, or `nowhere`.
  [[nodiscard]] std::uint64_t find_stale(SlotId slot, const Region& range) const;
  /// Returns the first position of a piece of `range` that is not exclusive as a whole, or `nowhere`.
  [[nodiscard]] std::uint64_t find_shared(SlotId slot, const Region& range) const;
  /// Appends to `out` pieces of `piece`, perhaps overlapping, that are together the bytes on which it is not exclusive. Where there are
  /// very many, that is all of it.
  /// @pre the slot holds, and its datum wants, `ref` and what follows it on all of `piece`
  void shared(SlotId slot, const Region& piece, ValueRef ref, base::Vector<Region>& out) const;
  /// Returns whether the datum wants a value at any byte of `range`. Bytes never written have none.
  [[nodiscard]] bool defined(DatumId datum, const Region& range) const;
  /// Appends the stale pieces of `range` to `out`, in the order of `RegionMap::for_each`.
  void stale(SlotId slot, const Region& range, base::Vector<Region>& out) const;
  /// Returns the step that makes the first stale piece of `range` fresh, from the cheapest slot that holds the wanted value. The
  /// caller carries the step out, calls `commit` and asks again, because one step may be the source of the next. Source and
  /// destination of a step never overlap.
  /// @param first  of slots at the same cost, one in this space is taken; invalid: it does not matter
  /// @return `where` is empty if all of `range` is fresh. If `from` is invalid and `fill` is empty, no slot holds the value any more.
  [[nodiscard]] Step next_fetch(SlotId slot, const Region& range, const Topology& topology, SpaceId first = {}) const;
  /// Appends to `out` the pieces of `range` for which this slot is the last holder of a value that some datum wants. Slots that
  /// are marked as changing do not count as other holders.
  /// @param wanters  `itself_too` if the slot's own datum is about to want something else where the bytes lie. What that datum
  ///                 wants at another displacement still counts, even inside `range`, because an overwrite of the range may fail
  ///                 half-way.
  /// @param together  ranges of the slot that lose their content at the same time; what the slot holds there is no other holder
  void last_held(SlotId slot, const Region& range, Wanters wanters, base::Vector<LastHeld>& out,
                 const base::Vector<Region>& together = {}) const;
  /// Returns whether any datum wants (part of) what the snapshot holds.
  [[nodiscard]] bool needed(SlotId snapshot) const;
  /// Return which value each byte of a datum must have, and which value each byte of a slot has.
  [[nodiscard]] const ExtentMap& wanted(DatumId datum) const { return data_[datum.value].wanted; }
  [[nodiscard]] const ExtentMap& held(SlotId slot) const { return slots_[slot.value].held; }
  /// Returns whether `test(Region part, ValueRef wanted, ValueRef held)` holds for all parts of `range` that are one extent in
  /// both maps. Asks in the order of `RegionMap::all_of`, up to the first part for which it does not hold. @pre the slot belongs to
  /// a datum
  template <class Test>
  bool all_of(SlotId slot, const Region& range, Test&& test) const {
    return wanted(datum(slot)).all_of(range, [&](const Region& piece, ValueRef first) {
      return held(slot).all_of(piece, [&](const Region& part, ValueRef there) {
        return test(part, first.advanced(part.begin - piece.begin), there);
      });
    });
  }
  /// Returns the known content of a value; `pattern_bytes` is 0 if the value is no fill.
  [[nodiscard]] Fill fill_of(ValueId value) const;
  [[nodiscard]] std::uint64_t memory_bytes() const;
  /// Returns the first contradiction found in the whole structure, or an empty string. Contradictions are: extents that are not
  /// maximal, use counts that differ from those of the maps, and a wanted value that is no fill and that no slot holds (I4).
  /// The cost is linear in the size of the structure.
  [[nodiscard]] std::string audit() const;

  // --- events ------------------------------------------------------------------------------------------------------
  /// Makes room so that neither `commit(step)` nor `drop` of the bytes that the step makes can fail until the next event.
  void prepare_commit(const Step& step);
  /// Makes room so that `write` cannot fail for the region, or for these regions one after the other, until another event.
  void prepare_write(SlotId slot, const Region& region);
  void prepare_write(SlotId slot, const base::Vector<Region>& regions);
  /// Notes that the slot holds the value of the step. @pre the step has been carried out, or will be before the bytes are used
  void commit(const Step& step);
  /// Notes that `range` has been written in this slot: the datum wants a new value there, which this slot alone holds (I2).
  /// A number that nothing outside the slot can tell from a new one is kept.
  void write(SlotId slot, const Region& range);
  /// Gives the content of `range` one new number instead of those that it had, which keeps the maps short.
  /// @pre the slot physically holds the wanted content
  void renumber(SlotId slot, const Region& range);
  /// Makes `range` of the datum a known pattern. No slot need hold it. Memory that has not been written yet, and that the system gave
  /// filled with zeros, holds a fill of zeros at once. @pre `range` is a byte range, or its pitch is a multiple of the pattern
  void fill(DatumId datum, const Region& range, const Fill& fill);
  /// Carries out a deep_copy in the wanted maps: from now on `to` wants at `there` what `from` wants at `what` (I7), column by column.
  /// @pre both regions have the same width and the same number of columns; their pitches may differ
  /// @param most  how many columns may become extents of their own: where the two pitches differ, or where a region that has one
  ///              displacement has another pitch than the map of `to`
  LinkResult link(DatumId to, const Region& there, DatumId from, const Region& what, std::size_t most = SIZE_MAX);
  /// Notes that the memory of `range` has lost its content, or is about to (eviction, freeing, a failed copy).
  void drop(SlotId slot, const Region& range);
  /// Notes the same for the whole slot. Never fails.
  void drop(SlotId slot) noexcept;
  /// Watches the values of `extents` until `unwatch`: their content stays as it is, because every write to them makes a new
  /// value, even where only one slot holds them.
  void watch(const base::Vector<ExtentMap::Extent>& extents);
  void unwatch(const base::Vector<ExtentMap::Extent>& extents) noexcept { unwatch(extents, extents.size()); }
  /// Gives bytes back the numbers in `earlier`, after their content was found to be still that of `earlier`. This happens where the
  /// slot is fresh and the number is still in use; stale bytes keep what was written later in another slot. The numbers come back piece by
  /// piece, so after a failure the later pieces keep their new ones.
  /// @pre `earlier` has been watched since; no other datum wants what the slot holds now
  void restore(SlotId slot, const base::Vector<ExtentMap::Extent>& earlier);

  /// A slot whose freshness or exclusiveness may have changed, or a snapshot that perhaps no datum wants any more, with the hull
  /// of the bytes concerned.
  struct Touched {
    SlotId slot;
    ByteRange range;
  };
  /// Returns what was touched since the last call, and begins a new list. The result is valid until the next call.
  [[nodiscard]] const base::Vector<Touched>& take_touched() noexcept;
  [[nodiscard]] bool any_touched() const noexcept { return !touched_.empty(); }
  /// Returns where the slot was touched since the last `take_touched`.
  [[nodiscard]] ByteRange touched(SlotId slot) const noexcept {
    const std::uint32_t at = slots_[slot.value].touched;
    return at == untouched ? ByteRange{} : touched_[at].range;
  }
  /// Returns what was touched since the last `take_touched`, without taking it.
  [[nodiscard]] const base::Vector<Touched>& touched() const noexcept { return touched_; }

 private:
  class Audit;
  struct Value {
    Uses holders;
    Uses wanters;
    Fill fill;
    base::Owned<base::Vector<ByteRange>> watched;  ///< offsets; none before some are watched

    [[nodiscard]] bool is_watched() const noexcept { return watched != nullptr && !watched->empty(); }
    void clear() noexcept {
      holders.clear();
      wanters.clear();
      if (watched != nullptr) watched->clear();
      fill = {};
    }
  };
  /// The uses of one owner: how many there are, and for up to two of them the place in the value's list. Most owners have one
  /// use, or two while it changes, so their uses are found at once even in a list of thousands.
  struct Places {
    struct Place {
      ValueId value = undefined_value;  ///< `undefined_value` if this place is unused
      std::uint32_t at = 0;
    };
    Place known[2];
    std::uint32_t uses = 0;
  };
  struct Datum {
    ExtentMap wanted{0, {}};
    base::Vector<SlotId> slots;
    base::Owned<base::Vector<ByteRange>> within;  ///< in which positions their memory can hold content; none before one of them is a part
    Places places;
    std::uint64_t changes = 0;
    bool live = false;
  };
  struct Slot {
    ExtentMap held{0, {}};
    Places places;
    DatumId datum;
    SpaceId space;
    bool live = false;
    bool changing = false;
    bool part = false;
    std::uint32_t touched = untouched;  ///< its place in touched_
  };
  static constexpr std::uint32_t untouched = UINT32_MAX;

  template <class Where>
  void prepare_write(SlotId slot, const Where& where, std::size_t values);
  ValueRef new_value(Fill fill = {});
  /// Make room so that `set_wanted` and `set_held` cannot fail with the same arguments. (They never fail for a whole map and a
  /// reference that is no number.)
  void prepare_wanted(DatumId datum, const Region& range, ValueRef ref);
  void prepare_held(SlotId slot, const Region& range, ValueRef ref);
  void set_wanted(DatumId datum, const Region& range, ValueRef ref) noexcept;
  void set_held(SlotId slot, const Region& range, ValueRef ref) noexcept;
  void prepare_use(Uses Value::*uses, ValueRef ref);
  void count(Uses Value::*uses, std::uint32_t owner, const ExtentMap::Extent& extent, int change) noexcept;
  [[nodiscard]] Places& places_of(Uses Value::*uses, std::uint32_t owner) noexcept {
    return uses == &Value::wanters ? data_[owner].places : slots_[owner].places;
  }
  void unwatch(const base::Vector<ExtentMap::Extent>& extents, std::size_t first_ones) noexcept;
  void touch(SlotId slot, ByteRange range) noexcept;
  /// Touches all slots that hold any of these bytes of the value.
  /// @param wants  the datum whose wanted map is about to change or has just changed; invalid if none does
  void touch_holders(ValueRef ref, std::uint64_t bytes, DatumId wants = {}) noexcept;
  [[nodiscard]] bool wanted_twice(const Value& value, ByteRange offsets, DatumId but) const noexcept;
  [[nodiscard]] bool sole(SlotId slot, const Region& piece, ValueRef ref) const;
  /// Returns whether the datum wants one single value that only its own slots hold, that no other datum wants, that is no fill
  /// and that is not watched.
  [[nodiscard]] bool kept_among_its_slots(const Datum& datum) const;

  std::size_t scanned_;
  base::Vector<Datum> data_;
  base::Vector<Slot> slots_;
  base::Vector<std::uint32_t> free_data_;
  base::Vector<std::uint32_t> free_slots_;
  ValueTable<Value> values_;
  base::Vector<Touched> touched_;  // like `taken_`, has room for every slot
  base::Vector<Touched> taken_;
};

/// Watches values as long as it lives (`Directory::watch`). Threads: as the directory, which lives longer.
class Watch : base::Uncopied {
 public:
  Watch(Directory& directory, base::Vector<ExtentMap::Extent> values) : directory_(directory), values_(std::move(values)) {
    directory_.watch(values_);
  }
  ~Watch() { directory_.unwatch(values_); }
  [[nodiscard]] const base::Vector<ExtentMap::Extent>& values() const noexcept { return values_; }

 private:
  Directory& directory_;
  base::Vector<ExtentMap::Extent> values_;
};

}  // namespace semcache::directory
