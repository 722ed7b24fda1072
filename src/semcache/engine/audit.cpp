// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/engine/engine.hpp>

#include <set>
#include <string>

namespace semcache::engine {

using directory::ValueRef;
using platform::Protection;

namespace {

/// Looks at the parts of the engine's state, and ends the process with a message if two of them do not agree. With the engine's lock.
class Audit : Parts {
 public:
  explicit Audit(const Parts& parts) : Parts(parts), unwanted_(projection_.perhaps_unwanted().begin(), projection_.perhaps_unwanted().end()) {
    for (const auto& t : s_.directory.touched()) touched_.insert(t.slot.value);
  }
  void look_at_memory(Memory& m);
  void look_at_counts();
  void look_at_flights();

 private:
  void look_at_lists(const Memory& m);
  void look_at_host_memory(const Memory& m);
  void look_at_pages(const Memory& mirror);
  void expect_at_most(Protection most, const Memory& mirror, ByteRange bytes, const char* why);
  void look_at_device_memory(Memory& m);
  void look_at_guarded_pages(const Memory& m);
  void look_at_flags(const Memory& m);
  void look_at_transfers(const Memory& m);

  const std::set<const Memory*> unwanted_;
  std::set<std::uint32_t> touched_;
  base::Vector<Memory*> live_;
  std::uint64_t host_snapshots_ = 0;
};

void Audit::look_at_memory(Memory& m) {
  live_.push_back(&m);
  look_at_lists(m);
  if (m.on_host()) {
    look_at_host_memory(m);
  } else {
    look_at_device_memory(m);
  }
}

void Audit::look_at_lists(const Memory& m) {
  if (!m.slot.valid() || s_.by_slot.at(m.slot.value) != &m) base::fatal("audit: '%s' is not its slot's memory", s_.name(m));
  const bool listed = unwanted_.count(&m) != 0;
  if (m.perhaps_unwanted != listed || (listed && !m.snapshot())) {
    base::fatal("audit: '%s': a saved copy and the list of those that are perhaps unwanted disagree", s_.name(m));
  }
  if (m.snapshot() && !listed && !m.freeing && !s_.directory.needed(m.slot) && touched_.count(m.slot.value) == 0) {
    base::fatal("audit: '%s': nobody wants the saved copy, and nobody will look", s_.name(m));
  }
}

void Audit::look_at_host_memory(const Memory& m) {
  if (m.owns_allocation && m.counted_snapshot) host_snapshots_ += m.bytes;
  if (m.owns_allocation && !m.freeing && m.counted_snapshot != m.snapshot()) {
    base::fatal("audit: '%s' is counted wrongly as a saved copy", s_.name(m));
  }
  if (!m.snapshot() && s_.watched(m)) look_at_pages(m);
}

/// I5, extent by extent: no page permits more than the strictest demand of the bytes on it.
void Audit::look_at_pages(const Memory& m) {
  const auto expect_each_at_most = [&](Protection most, const Region& piece, const char* why) {
    for (std::uint64_t c = 0; c < piece.columns; ++c) expect_at_most(most, m, piece.column(c), why);
  };
  s_.directory.all_of(m.slot, m.all(), [&](const Region& part, ValueRef wanted, ValueRef held) {
    if (wanted.id == directory::undefined_value) expect_each_at_most(Protection::read, part, "never written");
    else if (held != wanted) expect_each_at_most(Protection::none, part, "stale");
    return true;
  });
  m.pages.for_each(s_.pages->span(m), [&](ByteRange pages, PageState s) {
    if (s.protection != Protection::read_write) return;
    for (std::uint64_t at = pages.begin; at < pages.end; at += s_.page_bytes) {
      const ByteRange content = intersect({at, at + s_.page_bytes}, m.all());
      if (!s_.directory.exclusive(m.slot, content)) expect_at_most(Protection::read, m, content, "not exclusively the host's");
    }
  });
}

void Audit::expect_at_most(Protection most, const Memory& m, ByteRange bytes, const char* why) {
  m.pages.for_each(s_.pages->around(m, bytes), [&](ByteRange pages, PageState s) {
    if (s.protection > most) {
      base::fatal("audit: I5: pages [%llu, %llu) of '%s' have protection %d, but bytes [%llu, %llu) are %s",
                  static_cast<unsigned long long>(pages.begin), static_cast<unsigned long long>(pages.end), s_.name(m),
                  static_cast<int>(s.protection), static_cast<unsigned long long>(bytes.begin), static_cast<unsigned long long>(bytes.end), why);
    }
  });
}

void Audit::look_at_device_memory(Memory& m) {
  if (!m.freeing && m.counted_snapshot != m.snapshot()) base::fatal("audit: '%s' is counted wrongly as a saved copy", s_.name(m));
  for (std::size_t i = 0; i < m.blocks.count() && m.bytes > 0; ++i) {
    if (m.blocks[i].mapped) continue;
    s_.directory.held(m.slot).for_each(m.blocks.count() == 1 ? m.positions() : Region(m.blocks.range(i)), [&](const Region&, ValueRef held) {
      if (held.is_number()) base::fatal("audit: '%s' holds a value, but has no memory", s_.name(m));
    });
  }
  if (s_.guarded(m) && !m.freeing) look_at_guarded_pages(m);
  if (m.snapshot()) return;
  if (!m.part && !m.perhaps_unready && !ready({&m, true})) base::fatal("audit: launches that may use any array believe that '%s' is ready", s_.name(m));
  look_at_flags(m);
}

void Audit::look_at_guarded_pages(const Memory& m) {
  // A kernel finds its pages open to its end, so the pages of pinned memory are not checked.
  const bool idle = !s_.pinned(m);
  if (idle && m.access != Protection::none && (!State::is_resident(m) || m.snapshot() || !s_.directory.fresh(m.slot, m.positions()))) {
    base::fatal("audit: I5: the program can use the device memory of '%s', which is stale", s_.name(m));
  }
  if (idle && m.access == Protection::read_write && !s_.directory.exclusive(m.slot, m.positions())) {
    base::fatal("audit: I5: the program can write the device memory of '%s', which others share", s_.name(m));
  }
  for (std::size_t i = 0; idle && m.opened_in_part && !m.snapshot() && !s_.projection_waits.load() && i < m.in_part->opened.size(); ++i) {
    const Memory::InPart::Opened& part = m.in_part->opened[i];
    const Region content = memory::positions_at(m, intersect(part.pages, {0, m.bytes}));
    if (!s_.directory.fresh(m.slot, content) || !State::is_resident(m, content)) {
      base::fatal("audit: I5: the program can use a part of the device memory of '%s', which is stale", s_.name(m));
    }
    if (part.writable && !s_.directory.exclusive(m.slot, content)) {
      base::fatal("audit: I5: the program can write a part of the device memory of '%s', which others share", s_.name(m));
    }
  }
  const std::uint32_t flags = m.flags.load();
  const Protection least = (flags & Memory::is_exclusive) != 0 ? Protection::read_write
                           : (flags & Memory::is_fresh) != 0   ? Protection::read
                                                               : Protection::none;
  if (m.access < least) base::fatal("audit: I5: launches believe that the pages of '%s' are open", s_.name(m));
}

void Audit::look_at_flags(const Memory& m) {
  const std::uint32_t flags = m.flags.load();
  if ((flags & Memory::is_fresh) != 0 && !s_.directory.fresh(m.slot, m.positions())) {
    base::fatal("audit: I1: launches believe that '%s' is fresh", s_.name(m));
  }
  if ((flags & Memory::is_exclusive) != 0 && m.bytes > 0 && !s_.directory.exclusive(m.slot, m.positions())) {
    base::fatal("audit: I2: launches believe that only '%s' holds its content", s_.name(m));
  }
  if ((flags & Memory::idle) != 0) look_at_transfers(m);
  if (m.snapshot() || !s_.directory.touched(m.slot).empty()) return;
  constexpr std::uint64_t nowhere = directory::Directory::nowhere;
  if (m.exception_at == Memory::not_looked_at) return;
  const bool exclusive = m.exception_at == nowhere, fresh = exclusive || !m.exception_is_stale;
  if (fresh != s_.directory.fresh(m.slot, m.positions())) {
    base::fatal("audit: I1: a projection has found all of '%s' %s, and was told of no change since", s_.name(m),
                fresh ? "fresh" : "not to be fresh");
  }
  if (fresh && m.bytes > 0 && exclusive != s_.directory.exclusive(m.slot, m.positions())) {
    base::fatal("audit: I2: a projection has found all of '%s' %s, and was told of no change since", s_.name(m),
                exclusive ? "exclusive" : "not to be exclusive");
  }
}

/// Transfers that only read are not checked: only launches that write wait for them, and these need the flag `unread`.
void Audit::look_at_transfers(const Memory& m) {
  for (QueueIndex q = 1; q < s_.queues->count(); ++q) {
    const std::uint64_t at = m.uses.last_write(q);
    if (!s_.queues->engine_orders(q) || at == 0 || s_.queues->done(q, at)) continue;
    for (QueueIndex p = 1; p < s_.queues->count(); ++p) {
      if (s_.queues->device_of(p) == s_.device_index(m) && s_.queues->relies_on_flags(p) && !s_.queues->ordered(p, q, at)) {
        base::fatal("audit: I6: launches on queue %u need not wait, but a transfer to '%s', or a task that writes it, is in flight", p, s_.name(m));
      }
    }
  }
}

void Audit::look_at_counts() {
  for (const auto& d : s_.devices) {
    if (const std::string wrong = d->memory->audit(live_); !wrong.empty()) base::fatal("audit: device %u: %s", d->index, wrong.c_str());
  }
  if (host_snapshots_ != arrays_.host_snapshot_bytes()) base::fatal("audit: saved copies on the host are counted wrongly");
}

void Audit::look_at_flights() {
  for (const Flight& f : s_.flights) {
    if (f.host == nullptr) continue;
    if (!f.host->live || f.where.end() > f.host->bytes) base::fatal("audit: I6: a transfer's host memory has been freed");
    if (f.host->snapshot() || f.unlocks_pages || !s_.watched(*f.host)) continue;
    for (std::uint64_t c = 0; c < f.where.columns; ++c) {
      if (!s_.pages->permit_at_most(*f.host, f.where.column(c), f.keeps_readable() ? Protection::read : Protection::none)) {
        base::fatal("audit: I6: the pages of '%s' are open under a transfer", s_.name(*f.host));
      }
    }
  }
}

}  // namespace

/// Ends the process with a message if directory, flags, page states, mappings and counts do not agree, which they do whenever no
/// thread has the lock. (Of an array that is being freed only some are checked.)
void Engine::audit() {
  const Look look(transactions_);
  if (const std::string wrong = s_.directory.audit(); !wrong.empty()) base::fatal("audit: %s", wrong.c_str());
  if (!s_.pending.agree_with_directory()) base::fatal("audit: copies are pending for data that do not exist");
  Audit audit(parts_);
  for (Memory& m : s_.pool) {
    if (m.live) audit.look_at_memory(m);
  }
  audit.look_at_counts();
  audit.look_at_flights();
}

}  // namespace semcache::engine
