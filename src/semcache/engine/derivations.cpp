// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/engine/derivations.hpp>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

namespace semcache::engine {

namespace {

/// Are these the same values, in parts of arrays that may lie elsewhere?
bool are_same(const Derivation::Input& a, const Derivation::Input& b) noexcept {
  const auto at = [](const Derivation::Input& i, const directory::ExtentMap::Extent& e) { return e.where.begin - i.where.begin; };
  const auto same_shape = [](const Region& x, const Region& y) {
    return x.width == y.width && x.columns == y.columns && (x.columns == 1 || x.pitch == y.pitch);
  };
  return same_shape(a.where, b.where) &&
         std::equal(a.values.begin(), a.values.end(), b.values.begin(), b.values.end(), [&](const auto& x, const auto& y) {
           return x.ref == y.ref && at(a, x) == at(b, y) && same_shape(x.where, y.where);
         });
}

}  // namespace

/// Notes what the array wants. Equal content is in equal extents: in one, if all bytes of the part are of one value, in their order there.
void Derivations::note_values(Derivation::Input& input) const {
  const DatumId datum = input.array.memory->datum;
  input.values = s_.directory.wanted(datum).extents(input.where);
  input.changes = s_.directory.changes(datum);
  if (input.values.size() < 2) return;
  const directory::ExtentMap::Extent first = input.values.front();
  const bool uniform = first.ref.is_number() && std::all_of(input.values.begin(), input.values.end(), [&](const auto& e) {
    return e.ref.id == first.ref.id && e.displacement() == first.displacement();
  });
  if (!uniform) return;
  const std::uint64_t ahead = first.where.begin - input.where.begin;
  input.values.assign(1, {input.where, directory::ValueRef{first.ref.id, first.ref.offset - ahead}});
}

/// Do the inputs still have the values of which it was made?
bool Derivations::holds_now(const Derivation& d) const {
  return std::all_of(d.inputs.begin(), d.inputs.end(), [&](const Derivation::Input& input) {
    if (input.array.freed()) return false;
    Derivation::Input now{input.array, input.where, {}, {}};
    note_values(now);
    return are_same(input, now);
  });
}

/// Is the content worth being kept on the host?
bool Derivations::is_dear(const Derivation& d) const {
  const Memory& m = *d.places.front();
  const double seconds = policy::seconds_of_copy(s_.topology, m.space, host_space, m.bytes);
  return policy::leaves_as({false, m.bytes, m.seconds_to_make, seconds}) == policy::LeavesAs::array;
}

/// Has an eviction forgotten the content, or a part of it, or taken it to the host, where it is not worth being kept? Or has a user written it?
bool Derivations::is_lost(const Derivation& d) const {
  const auto is_there = [&](const Memory* m) { return State::is_resident(*m) && s_.directory.fresh(m->slot, m->positions()); };
  if (d.users == 0 && !is_dear(d) && std::none_of(d.places.begin(), d.places.end(), is_there)) return true;
  return s_.directory.changes(d.places.front()->datum) != d.changes;
}

Derivation* Derivations::find(const Derivation& wanted) noexcept {
  for (Derivation& d : all_) {
    if (d.computed && d.function == wanted.function && d.parameters == wanted.parameters && d.inputs.size() == wanted.inputs.size() &&
        std::equal(d.inputs.begin(), d.inputs.end(), wanted.inputs.begin(), are_same) && !is_lost(d)) {
      return &d;
    }
  }
  return nullptr;
}

void Derivations::set_spare(Derivation& d, bool spare) noexcept {
  for (Memory* m : d.places) s_.device_of(*m).memory->set_spare(*m, spare);
}

Derivations::Use Derivations::use(Derivation& d, Memory& memory) noexcept {
  ++d.users;
  set_spare(d, false);
  return {&d, &memory, d.computed};
}

/// Returns the first obstacle to a step for the inputs' device sides; none if it has been taken for all.
template <class Step>
Obstacle Derivations::for_sides(const Derivation& d, const Step& step) {
  for (const Derivation::Input& input : d.inputs) {
    SEMCACHE_EXPECTS(!input.array.freed(), "an array of which '" + d.function + "' is to be derived has been freed meanwhile");
    for (const SlotId slot : s_.directory.slots(input.array.memory->datum)) {
      Memory& m = s_.memory_of(slot);
      if (m.on_host()) continue;
      if (const Obstacle o = step(m)) return o;
    }
  }
  return {};
}

/// Fixes the inputs' values: launches that may still write under the present numbers are waited for, and writes from now on get new ones.
Obstacle Derivations::watch(Derivation& d) {
  if (const Obstacle o = for_sides(d, [this](Memory& m) { return hazards_.quiesce(m); })) return o;
  for (Derivation::Input& input : d.inputs) {
    note_values(input);
    input.watch = std::make_unique<directory::Watch>(s_.directory, input.values);
  }
  return {};
}

void Derivations::drop_useless() noexcept {
  drop_if([this](const Derivation& d) {
    try {
      return !d.computed || is_lost(d) || !holds_now(d);
    } catch (const std::bad_alloc&) {
      return false;  // not known: the value stays
    }
  });
}

void Derivations::leave(const Memory& array) noexcept {
  if (!any_.load(std::memory_order_relaxed)) return;
  const Transaction t(transactions_);
  drop_if([&](const Derivation& d) {
    return std::any_of(d.inputs.begin(), d.inputs.end(), [&](const auto& input) { return input.array.memory == &array; });
  });
}

/// Drops spare values. Their memory is freed when nothing uses it any more.
template <class IsUseless>
void Derivations::drop_if(const IsUseless& is_useless) noexcept {
  for (auto next = all_.begin(); next != all_.end();) {
    const auto d = next++;
    // A kernel that uses memory of an emulated device must find it open until the launch ends.
    if (d->users > 0 || std::any_of(d->places.begin(), d->places.end(), [this](const Memory* m) { return s_.pinned(*m); })) continue;
    if (!is_useless(*d)) continue;
    set_spare(*d, false);
    for (Memory* m : d->places) lifetimes_.abandon(*m);
    all_.erase(d);
  }
}

Derivations::Use Derivations::acquire(const std::string& function, const std::vector<std::byte>& parameters,
                                      const std::vector<Requirement>& inputs, std::uint64_t bytes, std::uint32_t device) {
  Transaction t(transactions_);
  List wanted(1);
  Derivation& d = wanted.front();
  d.function = function;
  d.parameters = parameters;
  for (const Requirement& input : inputs) {
    const Memory& m = *input.memory;
    SEMCACHE_EXPECTS(m.live && !m.freeing && !m.snapshot(), "an array of which '" + function + "' is to be derived has been freed");
    d.inputs.push_back({Known(*input.memory), input.range, {}, {}});
  }
  const auto on_the_device = [&](const Memory* m) { return m->space == device_space(device); };
  const auto find_it = [&]() -> Derivation* {
    for (Derivation::Input& input : d.inputs) {
      shapes_.shape(*input.array.memory, input.where);
      note_values(input);
    }
    if (!are_noticed(d)) return nullptr;
    Derivation* const found = find(d);
    if (found == nullptr) return nullptr;
    const std::uint64_t had = found->places.front()->bytes;
    SEMCACHE_EXPECTS(had == bytes, "'" + function + "' of the same inputs and parameters had " + std::to_string(had) + " bytes, and now has " +
                                       std::to_string(bytes) + ". A function's result depends on its inputs and parameters alone");
    return found;
  };
  // A launch that has changed nothing leaves the inputs their numbers (SEMCACHE_CHECK_WRITES).
  t.run([&] { return for_sides(d, [this](Memory& m) { return transfers_.check_writes(m); }); });
  if (Derivation* const found = find_it()) {
    auto place = std::find_if(found->places.begin(), found->places.end(), on_the_device);
    if (place == found->places.end()) {
      found->places.reserve(found->places.size() + 1);
      found->places.push_back(lifetimes_.new_derived(device, function.c_str(), bytes, found->places.front()));
      place = std::prev(found->places.end());
    }
    return use(*found, **place);
  }
  drop_useless();
  d.places.reserve(1);
  d.places.push_back(lifetimes_.new_derived(device, function.c_str(), bytes, nullptr));
  try {
    t.run([&] { return watch(d); });
  } catch (...) {
    lifetimes_.abandon(*d.places.front());
    throw;
  }
  all_.splice(all_.end(), wanted);
  any_.store(true);
  return use(all_.back(), *d.places.front());
}

void Derivations::note_computed(Derivation& d, double seconds_to_make) {
  SEMCACHE_EXPECTS(std::isfinite(seconds_to_make) && seconds_to_make >= 0,
                   "'" + d.function + "' is noted to take " + std::to_string(seconds_to_make) +
                       " seconds to compute. Give an estimate of at least 0, or none");
  const Transaction t(transactions_);
  if (d.computed) return;
  const Memory& place = *d.places.front();
  SEMCACHE_EXPECTS(!s_.pinned(place), "'" + d.function + "' is noted as computed before the launch that computes it has ended: others could use "
                                      "it before it is there. End the launch first");
  d.watch = std::make_unique<directory::Watch>(s_.directory, s_.directory.wanted(place.datum).extents(place.positions()));
  d.changes = s_.directory.changes(place.datum);
  for (Memory* m : d.places) m->seconds_to_make = static_cast<float>(seconds_to_make);
  // Numbers come back where content is copied back, so it does not suffice that they are the same as before.
  const auto unchanged = [this](const Derivation::Input& input) {
    return !input.array.freed() && s_.directory.changes(input.array.memory->datum) == input.changes;
  };
  d.computed = s_.directory.defined(place.datum, place.positions()) && std::all_of(d.inputs.begin(), d.inputs.end(), unchanged) &&
               are_noticed(d) && find(d) == nullptr;
}

/// Is the content of the inputs known, and is every change of it noticed?
bool Derivations::are_noticed(const Derivation& d) const {
  return s_.options.protocol != Protocol::off && std::all_of(d.inputs.begin(), d.inputs.end(), [&](const Derivation::Input& input) {
           if (input.array.memory->announced) return false;  // the program may have written it, and announces that later
           const auto& slots = s_.directory.slots(input.array.memory->datum);
           return std::none_of(slots.begin(), slots.end(), [&](SlotId slot) { return s_.memory_of(slot).open; }) &&
                  std::all_of(input.values.begin(), input.values.end(), [](const auto& e) { return e.ref.is_number(); });
         });
}

void Derivations::release(Derivation& d) noexcept {
  const Transaction t(transactions_);
  end_use(d);
}

void Derivations::end_use(Derivation& d) noexcept {
  if (--d.users > 0) return;
  set_spare(d, true);
  if (!d.computed || is_lost(d)) drop_useless();
}

std::uint64_t Derivations::spare_bytes() const noexcept {
  std::uint64_t bytes = 0;
  for (const Derivation& d : all_) {
    for (const Memory* m : d.places) bytes += m->spare && State::is_resident(*m) ? m->bytes : 0;
  }
  return bytes;
}

}  // namespace semcache::engine
