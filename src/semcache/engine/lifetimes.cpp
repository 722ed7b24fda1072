// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/engine/lifetimes.hpp>

#include <algorithm>
#include <string>

namespace semcache::engine {

Arrays::NewMemory Lifetimes::new_on_device(std::uint32_t device, const char* label, std::uint64_t bytes, const Region& layout) {
  DeviceState& d = *s_.devices.at(device);
  const auto expect_at_most = [&](std::uint64_t at_once, std::uint64_t most, const std::string& what, const char* remedy) {
    if (at_once <= most) return;
    throw OutOfMemory("array '" + std::string(label == nullptr ? "" : label) + "' of " + std::to_string(bytes) +
                          " bytes is larger than " + what + std::to_string(most) + " bytes" + remedy + " Live arrays:\n" +
                          arrays_.describe_live_buffers(device),
                      bytes, most);
  };
  // Of an array in blocks, one block must fit.
  const std::uint64_t block = layout.empty() ? policy::block_bytes(bytes, d.device->block_bytes()) : 0;
  expect_at_most(block != 0 ? block : bytes, d.memory->budget_bytes(), s_.budget_of(d) + " of ",
                 " (SEMCACHE_DEVICE_MEMORY). Raise the budget, or split the array.");
  expect_at_most(bytes, d.memory->bytes(), "all the addresses for device arrays, ", ". Split the array.");
  Arrays::NewMemory m = arrays_.new_memory(device_space(device), label, bytes);
  m->layout = layout;
  arrays_.place_on_device(*m);
  return m;
}

Memory* Lifetimes::allocate_device(std::uint32_t device, const char* label, std::uint64_t bytes) {
  const Transaction t(transactions_);
  Arrays::NewMemory m = new_on_device(device, label, bytes);
  m->datum = s_.directory.add_datum(bytes);
  arrays_.bind(*m, s_.directory.add_slot(m->datum, m->space));
  live_device_bytes_ += bytes;
  return m.release();
}

void Lifetimes::expect_part(const Memory& array, const Region& where) const {
  SEMCACHE_EXPECTS(array.live && !array.snapshot() && !array.freeing && !array.part, "a part of an array that has been freed, or of a part. Name the address of a "
                                                                                    "live array");
  SEMCACHE_EXPECTS(s_.options.protocol != Protocol::off || !array.on_host() || array.promised,
                   std::string("a part of the mirror '") + s_.name(array) + "' with SEMCACHE_PROTOCOL=off, where the accesses of the program to "
                   "mirrors are not noticed. Use an array of semcache::Space");
  SEMCACHE_EXPECTS(!array.open, std::string("a part of '") + s_.name(array) + "', whose host accesses are not noticed any more (a kernel holds a "
                                "pointer into it, or the kernel's limit on mappings is near). Use an array of semcache::Space");
  const std::uint64_t rest = array.bytes - std::min(array.bytes, where.begin);
  SEMCACHE_EXPECTS(!where.empty() && (where.is_range() || where.pitch >= where.width) &&
                       columns_fit(where.width, where.columns, where.pitch, rest),
                   "a part of " + std::to_string(where.columns) + " columns of " + std::to_string(where.width) + " bytes, " +
                       std::to_string(where.pitch) + " bytes apart, at offset " + std::to_string(where.begin) + " of '" + s_.name(array) +
                       "' of " + std::to_string(array.bytes) + " bytes: it is empty, its columns overlap, or it leaves the array");
}

Memory* Lifetimes::allocate_host_part(Memory& array, const Region& where) {
  Transaction t(transactions_);
  const Kept kept(array);
  t.run([&] {
    s_.expect_not_freed(kept);
    expect_part(array, where);
    return arrays_.room_on_host(where.size());
  });
  Arrays::NewMemory m = arrays_.new_memory(host_space, s_.name(array), where.size());
  m->layout = where;
  arrays_.place_on_host(*m, "hold a part of");
  return bind_part(std::move(m), array.datum);
}

Memory* Lifetimes::allocate_part(std::uint32_t device, const Memory& array, const Region& where) {
  const Transaction t(transactions_);
  expect_part(array, where);
  Arrays::NewMemory m = new_on_device(device, s_.name(array), where.size(), where);
  return bind_part(std::move(m), array.datum);
}

Memory* Lifetimes::new_derived(std::uint32_t device, const char* label, std::uint64_t bytes, const Memory* like) {
  SEMCACHE_EXPECTS(bytes > 0, "a derived value ('" + std::string(label) + "') of 0 bytes. Give it at least one");
  Arrays::NewMemory m = new_on_device(device, label, bytes, Region(ByteRange{0, bytes}));
  s_.device_of(*m).memory->note_derived(*m);
  if (like != nullptr) m->seconds_to_make = like->seconds_to_make;
  return bind_part(std::move(m), like != nullptr ? like->datum : s_.directory.add_datum(bytes));
}

void Lifetimes::abandon(Memory& m) noexcept {
  if (!m.derived) live_device_bytes_ -= m.bytes;
  projection_.revoke(m);
  keep_as_saved_copy(m);
}

Memory* Lifetimes::bind_part(Arrays::NewMemory m, DatumId datum) {
  m->part = true;
  m->since = Memory::never;
  m->datum = datum;
  m->in_part = base::make_owned<Memory::InPart>();
  arrays_.bind(*m, s_.directory.add_part(m->datum, m->space, m->all()));
  if (!m->derived) (m->on_host() ? live_host_bytes_ : live_device_bytes_) += m->bytes;
  return m.release();
}

Memory* Lifetimes::allocate_host(const char* label, std::uint64_t bytes, Memory* partner, base::Accesses accesses) {
  const bool announced = accesses == base::Accesses::announced;
  const Transaction t(transactions_);
  if (partner != nullptr) {
    SEMCACHE_EXPECTS(partner->live && !partner->snapshot() && !partner->on_host(),
                     "the partner of a host side must be a live device array");
    SEMCACHE_EXPECTS(partner->bytes == bytes, "host side of " + std::to_string(bytes) + " bytes for device array '" +
                                                  s_.name(*partner) + "' of " +
                                                  std::to_string(partner->bytes) + " bytes: sizes must agree");
    SEMCACHE_EXPECTS(!s_.directory.slot_in(partner->datum, host_space).valid(),
                     std::string("device array '") + s_.name(*partner) + "' has a host side already. An array has one; free that first");
  }
  s_.host->expect_fits(label, bytes);
  Arrays::NewMemory m = arrays_.new_memory(host_space, label, bytes);
  s_.host->place(*m, s_.name(*m));
  m->datum = partner != nullptr ? partner->datum : s_.directory.add_datum(bytes);
  // The pages are new, so they hold zeros. The directory relies on that only where every write to them is noticed.
  const bool zeros = s_.options.notices && !announced;
  arrays_.bind(*m, s_.directory.add_slot(m->datum, host_space, zeros ? directory::Content::zeros : directory::Content::unknown));
  // Under SEMCACHE_CHECK an announced host side is protected all the same, and so it is where the kernel's limit on mappings
  // keeps its pages from being opened. Without a tracker, all host memory is treated as announced.
  m->announced = !s_.options.notices || (announced && !s_.options.check &&
                                       s_.pages->protect(*m, s_.pages->span(*m), platform::Protection::read_write));
  m->promised = announced;
  live_host_bytes_ += bytes;
  if (m->announced) s_.directory.mark_changing(m->slot);
  if (partner != nullptr) s_.pages->project(*m, m->all());
  return m.release();
}

/// Puts off the freeing of memory that a launch pins, if the launch's thread runs the kernel itself (emulated device), and of a part, which
/// goes with its array and may be in use by a launch of this thread.
/// @return false if the array can be freed at once
bool Lifetimes::put_off(Memory& m) noexcept {
  if (m.freeing && std::find(s_.put_off.begin(), s_.put_off.end(), &m) != s_.put_off.end()) {
    base::raw_log("'%s' at %p is freed already, and goes when the launch that uses it ends. Nothing is done; free it once",
                  s_.name(m), static_cast<void*>(m.address));
    return true;
  }
  if (!s_.pinned(m) || (!m.part && !m.on_host() && !s_.device_of(m).device->kernels_run_in_caller())) return false;
  s_.put_off.push_back(&m);
  s_.put_off_count.store(s_.put_off.size());
  if (s_.pinned(m)) {
    m.incarnation.fetch_add(1);
    m.freeing = true;
    return true;
  }
  s_.put_off.pop_back();  // the launch has ended, and may not have seen the list
  s_.put_off_count.store(s_.put_off.size());
  return false;
}

void Lifetimes::free_all_put_off() noexcept {
  const platform::RuntimeScope scope;
  // One transaction frees them all: when the last array is freed, the engine may be destroyed as soon as the lock is free.
  Transaction t(transactions_);
  for (;;) {
    // The last one first: a kernel may have freed thousands, and so none of the others is moved.
    const auto at = std::find_if(s_.put_off.rbegin(), s_.put_off.rend(), [this](const Memory* m) { return !s_.pinned(*m); });
    if (at == s_.put_off.rend()) return;
    Memory& ready = **at;
    s_.put_off.erase(std::prev(at.base()));
    s_.put_off_count.store(s_.put_off.size());
    ready.freeing = false;  // it is freed as any other
    deallocate(t, ready);
  }
}

void Lifetimes::note_dual_view(Memory& device, Memory& host) {
  const Transaction t(transactions_);
  if (s_.options.check && device.live && host.live) dual_views_.pair(device, host);
}

void Lifetimes::deallocate(Memory* memory) noexcept {
  if (memory == nullptr) return;
  Transaction t(transactions_);
  if (!memory->live || memory->snapshot()) {
    base::raw_log("'%s' is freed by two threads at once: it has been freed already. Nothing is done; free it once", s_.name(*memory));
    return;
  }
  deallocate(t, *memory);
}

void Lifetimes::deallocate(Transaction& t, Memory& m) noexcept {
  if (put_off(m)) return;
  ++s_.frees;
  const base::AtEnd freed([this] { --s_.frees; });
  (m.on_host() ? live_host_bytes_ : live_device_bytes_) -= m.bytes;
  dual_views_.leave(m);
  m.incarnation.fetch_add(1);
  try {
    t.run([&] { return free_array(m); });
  } catch (const OutOfMemory&) {  // content that other arrays want stays where it is
    keep_as_saved_copy(m);
  } catch (const std::bad_alloc&) {
    keep_as_saved_copy(m);
  } catch (const std::exception& e) {
    base::fatal("freeing '%s' failed: %s", s_.name(m), e.what());
  }
}

Obstacle Lifetimes::free_adopted(Memory& m) {
  const std::uint64_t bytes = m.bytes;
  const Obstacle o = free_array(m);
  if (!o && m.live) base::fatal("I4: others still want what only '%s' holds, which is given back to the program", s_.name(m));
  if (!o) live_host_bytes_ -= bytes;
  return o;
}

Obstacle Lifetimes::free_array(Memory& m) {
  // Each attempt checks this anew: while the lock is given up, another thread may free the other side, or use this one.
  if (!m.snapshot() && (m.part || s_.directory.slots(m.datum).size() == 1)) leave_datum(m);
  if (!m.snapshot()) {
    // The other side lives on, so it must get everything that only this side holds.
    if (const Obstacle o = hazards_.busy(m, m.positions(), Mode::writes)) return o;
    if (const Obstacle o = save_before_leaving(m)) return o;
    if (const Obstacle o = hazards_.uses_of(m)) return o;
  }
  m.freeing = true;  // until it is listed as a saved copy, or freed
  if (const Obstacle o = hazards_.busy(m, m.positions(), Mode::writes)) return o;
  if (m.snapshot()) {
    base::Vector<directory::LastHeld> last;
    s_.directory.last_held(m.slot, m.positions(), directory::Wanters::others, last);
    if (!last.empty()) {
      keep_as_saved_copy(m);
      return {};
    }
  }
  if (const Obstacle o = hazards_.uses_of(m)) return o;
  if (!m.locked.empty()) return Obstacle::page_unlock(m);
  arrays_.destroy(m);
  return {};
}

void Lifetimes::leave_datum(Memory& m) noexcept {
  const DatumId datum = m.datum;
  m.incarnation.fetch_add(1);
  m.freeing = true;
  m.write_check.reset();
  s_.directory.detach(m.slot);
  if (s_.directory.slots(datum).empty()) arrays_.remove_datum(datum, m.label);
  m.datum = DatumId{};
}

void Lifetimes::keep_as_saved_copy(Memory& m) noexcept {
  if (!m.snapshot()) leave_datum(m);
  m.freeing = false;
  // Launches that begin from now on do not use the memory. So it leaves `everything`, and keeps the uses of that as its own.
  if (s_.in_everything(m) && s_.everything(m).pins.load() == 0) {
    for (QueueIndex q = 1; q < s_.queues->count(); ++q) m.uses.note(q, s_.last_use(m, q), Mode::writes);
    m.since = Memory::never;
  }
  projection_.note_perhaps_unwanted(m);
  if (m.owns_allocation) arrays_.count_saved_on_host(m);
  if (!m.on_host()) {
    m.counted_snapshot = true;
    m.snapshot_bytes = 0;
    m.blocks.for_each_mapped_range([&](ByteRange mapped) { m.snapshot_bytes += mapped.size(); });
    s_.device_of(m).memory->snapshot_bytes += m.snapshot_bytes;
    projection_.protect_guarded(m, platform::Protection::none);
  }
}

Obstacle Lifetimes::save_before_leaving(Memory& m) {
  const SlotId host = s_.directory.slot_in(m.datum, host_space);
  if (!transfers_.host_side_is_announced(m) || host == m.slot) return transfers_.save_all(m, m.positions(), Transfers::Loss::freeing);
  // Values that other arrays want must not have their last holder in memory that the host writes before it announces the write.
  // Values that only this array itself wants may stay there.
  if (const Obstacle o = transfers_.save_all(m, m.positions(), Transfers::Loss::write)) return o;
  for (base::Vector<directory::LastHeld> last;; last.clear()) {
    {
      s_.directory.mark_unchanging(host);
      const base::AtEnd marked([&] { s_.directory.mark_changing(host); });
      s_.directory.last_held(m.slot, m.positions(), directory::Wanters::others, last);
    }
    if (last.empty()) return {};
    if (const Obstacle o = transfers_.save(m, last.front(), Transfers::Loss::freeing)) return o;
  }
}

}  // namespace semcache::engine
