// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/engine/transaction.hpp>

#include <string>
#include <utility>

namespace semcache::engine {

static const char* to_string(Obstacle::Kind kind) noexcept {
  switch (kind) {
    case Obstacle::Kind::none: return "nothing";
    case Obstacle::Kind::launches: return "launches of other threads";
    case Obstacle::Kind::devices: return "devices";
    case Obstacle::Kind::work: return "work on a queue";
    case Obstacle::Kind::moment: return "another thread";
    case Obstacle::Kind::turn: return "other threads' turn";
    case Obstacle::Kind::page_lock: return "page-locking";
    case Obstacle::Kind::page_unlock: return "the end of page-locking";
    case Obstacle::Kind::staging: return "staging memory";
    case Obstacle::Kind::saved_copy: return "memory for a saved copy";
    case Obstacle::Kind::mapping: return "mapping of device memory";
    case Obstacle::Kind::message: return "memory for a message";
    case Obstacle::Kind::buffers: return "buffers";
    case Obstacle::Kind::events: return "events";
  }
  return "?";
}

void Transactions::wait(Transaction& t, const Obstacle& o) {
  if (o.memory != nullptr) ++o.memory->awaited;  // meanwhile launches that use it let this thread go first
  ++s_.waiting;
  const base::AtEnd awaited([&] {
    --s_.waiting;
    if (o.memory != nullptr) --o.memory->awaited;
  });
  const trace::Timed timed(s_.recorder, trace::Span::Kind::wait, to_string(o.kind), o.memory != nullptr ? o.memory->label : trace::LabelId());
  switch (o.kind) {
    case Obstacle::Kind::none:
      return;
    case Obstacle::Kind::launches:
      return wait_for_launches(t, *o.memory);
    case Obstacle::Kind::devices:
      return wait_for_devices(t, o.which);
    case Obstacle::Kind::work: {
      const Queues::Wait wait = s_.queues->wait_for(o.work.queue, o.work.position);
      return t.unlocked([&] { wait(); });
    }
    case Obstacle::Kind::moment:
      return t.unlocked(timeline::wait_a_moment);
    case Obstacle::Kind::turn:
      // A thread that sleeps at the lock has to wake up first.
      return t.unlocked([this] {
        if (waiters_.load(std::memory_order_relaxed) > 0) timeline::wait_a_moment();
      });
    case Obstacle::Kind::events:
      // Other threads may record some before this one does.
      return t.unlocked([&] { keep_idle_events(o.range.end + timeline::max_queues); });
    case Obstacle::Kind::page_lock:
      return lock_pages(t, *o.memory, o.range);
    case Obstacle::Kind::page_unlock: {
      Flights flights(o.memory->freeing ? 0 : 1);  // other threads go on with a mirror that is not freed, or free it, and wait for this flight
      for (Flight& f : flights) {
        f.locks_pages = f.unlocks_pages = f.to_host = true;
        f.host = o.memory;
        f.where = o.memory->all();
      }
      const auto listed = flights.begin();
      const bool any = !flights.empty();
      s_.flights.splice(s_.flights.end(), flights);
      const base::AtEnd ended([&] {
        if (any) s_.flights.erase(listed);
      });
      const base::Vector<std::byte*> names = std::exchange(o.memory->locked, {});
      return t.unlocked([&] { s_.pages->unlock(*o.memory, names); });
    }
    case Obstacle::Kind::staging: {
      Staging& staging = *s_.devices[o.device]->staging;
      std::byte* buffer = nullptr;
      t.unlocked([&] { buffer = staging.allocate(o.range.end); });
      return staging.add(buffer, o.range.end);
    }
    case Obstacle::Kind::saved_copy: {
      std::byte* buffer = nullptr;
      try {
        t.unlocked([&] { buffer = s_.home().staging->allocate(o.range.end); });
      } catch (const OutOfMemory&) {
        s_.lock_saved_copies = false;
        return;
      }
      return s_.saved_on_host->add(buffer, o.range.end);
    }
    case Obstacle::Kind::mapping:
      if (s_.devices[o.device]->memory->working()) return t.unlocked(timeline::wait_a_moment);
      if (const std::exception_ptr error = map_and_unmap(t, *s_.devices[o.device])) std::rethrow_exception(error);
      return;
    case Obstacle::Kind::message:
      try {
        return t.unlocked([&] { o.buffer->allocate(); });
      } catch (const OutOfMemory&) {
        if (!buffers_.release_idle(t, o.buffer->space)) throw;
      }
      return;
    case Obstacle::Kind::buffers:
      (void)buffers_.release_idle(t, device_space(o.device));
  }
}

void Transactions::lock_pages(Transaction& t, Memory& m, ByteRange chunk) {
  const auto flight = s_.flights.emplace(s_.flights.end());  // it keeps transfers, faults and freeing waiting
  flight->locks_pages = flight->to_host = true;
  std::optional<base::Vector<ByteRange>> readable;
  std::byte* name = nullptr;
  const base::AtEnd ended([&] {
    s_.flights.erase(flight);
    if (readable) s_.pages->end_lock(m, chunk, name, *readable);
  });
  readable = s_.pages->begin_lock(m, chunk);
  flight->host = &m;
  flight->where = chunk;
  t.unlocked([&] { name = s_.pages->lock(m, chunk); });
}

std::exception_ptr Transactions::map_and_unmap(Transaction& t, DeviceState& d) {
  using Reach = DeviceMemory::Reach;
  const Reach reach = s_.options.device_faults ? Reach::closed : Reach::open;
  std::exception_ptr error;
  // A thread that frees memory while this one calls the driver leaves the unmapping to this one. Nothing is asked for meanwhile,
  // so each repetition only unmaps, and there are no more of them than there are mapped arrays.
  do {
    DeviceMemory::Chores chores;
    d.memory->begin_chores(chores);  // from now on threads that need memory mapped wait
    {
      const base::AtEnd told([&] {
        d.memory->end_chores(chores, s_.options.check ? Reach::nowhere : Reach::open);
        for (const auto& a : chores.asked) executor_.execute(step_of(plan::Step::Kind::map, a.block));
      });
      t.unlocked([&] { d.memory->carry_out(chores, reach); });
    }
    // Uses of device memory have ceased to be noticed meanwhile. Memory that came closed is opened here, and nowhere else.
    if (reach == Reach::closed && !s_.options.device_faults && !chores.asked.empty()) {
      projection_.open_all_guarded(*chores.asked.front().block.memory);
    }
    if (chores.error != nullptr) error = chores.error;
  } while (d.memory->any_chores());
  return error;
}

void Transactions::end_mappings(Transaction& t) noexcept {
  for (auto& d : s_.devices) {
    // If another thread is telling the driver, that thread tells it of the rest as well.
    if (d->memory->any_chores() && !d->memory->working()) (void)map_and_unmap(t, *d);
  }
}

void Transactions::give_back_memory(Transaction& t) noexcept {
  if (here().served_address != nullptr) return;  // the program's thread waits for the fault
  if (s_.host->has_full()) {
    base::Vector<HostMemory::Withheld> full = s_.host->take_full();
    t.unlocked([&] { s_.host->discard(full); });
    s_.host->release(std::move(full));
  }
  if (s_.queues->any_owner_left()) {
    base::Vector<std::shared_ptr<void>> owners = s_.queues->take_owners_left();
    t.unlocked([&] { owners.clear(); });
  }
  const auto give_back = [&](Staging& staging) {
    if (!staging.has_surplus()) return;
    Staging::Free surplus = staging.take_surplus();
    t.unlocked([&] { surplus.clear(); });
  };
  for (auto& d : s_.devices) give_back(*d->staging);
  if (s_.saved_on_host != nullptr) give_back(*s_.saved_on_host);
}

void Transactions::wait_for_devices(Transaction& t, DeviceSet which) {
  const std::uint64_t at = s_.queues->position(unknown_queue);
  s_.recorder.device_wait();
  t.unlocked([&] { s_.queues->wait_for_devices(which); });
  UnsubmittedLaunch* const own = here().unsubmitted;
  if (own == nullptr) return s_.queues->note_unknown_done(which, at);
  for (std::uint32_t d = 0; d < most_devices; ++d) {
    if ((which >> d & 1) != 0) own->waited[d] = at;
  }
}

/// Waits until no launch pins the memory any more, or it has been freed. Such a launch is being submitted (on a host-backed
/// execution space: is running). It ends by itself, unless its thread waits for this one. That happens in three cases: it is this
/// thread's own launch, its thread waits for a page fault (which is served first, unless it is the fault that waits here), or its
/// thread needs what is held by a driver's call that this thread is in.
void Transactions::wait_for_launches(Transaction& t, Memory& m) {
  // The pins are checked again here, not in a new attempt, because an attempt may be long and other threads want the lock.
  const Known seen(m);  // it may be a saved copy
  // A use by the host's processor lasts as long as the program likes. Its thread may wait for a use that this thread has under way.
  const bool limited = m.on_host() && s_.surroundings.in_launch();
  if (limited && std::exchange(t.awaits_end_of_, &m) != &m) t.patience_.emplace(s_.options.patience);
  const std::uint64_t ended = s_.ended_host_uses;
  do {
    if (limited && t.patience_->over()) {
      throw SystemError(std::string("a part of '") + s_.name(m) + "' is in use on the host by another thread (runtime::HostUse), which perhaps "
                        "waits for what this thread uses: neither can go on. End the use before waiting for another");
    }
    const Transaction::Less before = t.less_;
    wait_for_launches_a_moment(t, m);
    if (t.less_ != before) return;  // what is asked for from now on may not need this memory
    // The uses that are left may conflict with nothing that this thread wants.
  } while (!seen.freed() && s_.pinned(m) && s_.ended_host_uses == ended);
  if (!s_.pinned(m)) t.awaits_end_of_ = nullptr;
}

void Transactions::wait_for_launches_a_moment(Transaction& t, Memory& m) {
  if (s_.surroundings.in_launch_of(m) || (s_.in_everything(m) && s_.surroundings.in_launch_of(s_.everything(m)))) {
    if (m.on_host()) {
      throw UsageError(std::string("this thread has a part of '") + s_.name(m) + "' in use on the host (runtime::HostUse), and asks for an access "
                       "that conflicts with it: it would wait for its own end. End the use first");
    }
    throw UsageError(std::string("a kernel, or what is called while it is launched, asks for content that is in '") +
                     s_.name(m) + "', which the kernel itself uses: it would wait for its own end. Ask for it with "
                     "semcache::access(view, ...) before the launch");
  }
  if (here().in_driver_call != nullptr && here().in_driver_call->over()) {
    // Copies to ordinary memory end their pins by themselves, however long they take.
    if (s_.copies_that_pin == 0 && !s_.queues->any_at_work()) {
      throw SystemError(std::string("a launch of another thread uses '") + s_.name(m) + "' and does not get to its submission: it perhaps waits "
                        "for this call of the driver. Announce the use with semcache::access before the call");
    }
    here().in_driver_call->restart();
  }
  platform::Holder holder = platform::Holder::runs;
  const void* where = nullptr;
  t.unlocked([&] {
    if (here().served_address != nullptr) holder = s_.surroundings.help_holder(m, where);
    if (holder == platform::Holder::runs) timeline::wait_a_moment();
  });
  if (holder != platform::Holder::waits_for_the_same) return;
  if (t.less_ == Transaction::Less::possible) {
    t.less_ = Transaction::Less::asked;
    return;
  }
  const auto array_at = [this](const void* address) {
    const char* const name = s_.label_of(address);
    return std::string("'") + (name != nullptr ? name : "?") + "' at " + base::text_of(address);
  };
  if (m.on_host()) {
    throw SystemError("an access to " + array_at(here().served_address) + " conflicts with the use of a part of '" + s_.name(m) +
                      "' on the host (runtime::HostUse), and the thread that has it in use waits for its own access to " + array_at(where) +
                      ": neither can go on. End the use before the array is accessed elsewhere");
  }
  throw SystemError("an access to " + array_at(here().served_address) + " needs content that is in '" + s_.name(m) +
                    "', which a kernel uses, and the kernel's thread waits for its own access to " + array_at(where) +
                    ": neither can go on. Call semcache::access(view, ...) before the launch for what the kernel reads or "
                    "writes besides its captures");
}

void Transactions::complete(Transaction& t, const timeline::Work& work) {
  try {
    t.wait(hazards_.not_done(work));
  } catch (const std::exception&) {
    t.unlocked([&] { s_.queues->wait_for_queue(work.queue); });
  }
}

void Transactions::complete_transfers(Transaction& t, Memory& m) {
  const Kept kept(m);
  const auto transfers = [&]() -> Obstacle {
    if (const Obstacle o = hazards_.land_all()) return o;
    return kept.freed() || m.on_host() ? Obstacle() : hazards_.transfers_of(m);
  };
  try {
    t.run(transfers);
  } catch (const std::exception&) {
    t.unlocked([&] { s_.queues->wait_for_devices(all_devices); });
    t.run(transfers);
  }
}

void Transactions::end_queue(Transaction& t, QueueIndex queue) {
  std::optional<Clock> submitted = s_.queues->begin_retiring(queue);
  if (!submitted) return;
  for (;;) {
    try {
      t.unlocked([&] { s_.queues->wait_for_device_of(queue); });
    } catch (...) {
      s_.queues->give_up_retiring(queue);
      throw;
    }
    if ((*submitted)[queue] == s_.queues->position(queue)) break;
    submitted = s_.queues->submitted_to_device_of(queue);  // a thread that has remembered the queue has used it meanwhile
  }
  s_.queues->end_retiring(queue, *submitted);
}

}  // namespace semcache::engine
