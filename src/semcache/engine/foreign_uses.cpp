// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/engine/engine.hpp>

/// Kernels, libraries and driver calls outside our launches: announced ones, captures on native spaces, and those of which
/// nobody said a word.
namespace semcache::engine {

/// Has nothing of ours used the array since the last native use? Then what was said of that one holds for further ones.
bool Engine::native_use_goes_on(const Memory& m) noexcept {
  const std::uint64_t at = m.native_use_at.load();
  return at != 0 && at == m.recently.load() && (m.flags.load() & Memory::is_fresh) != 0;
}

void Engine::note_native_use(Memory& m, bool writable) noexcept {
  m.native_use_writes.store(writable);
  m.native_use_at.store(m.recently.load());
}

void Engine::native_capture(Memory& m, bool writable) {
  const UnsubmittedLaunch unsubmitted;
  const bool written_before = native_use_goes_on(m) && m.native_use_writes.load();
  const Operand operand{&m, writable};
  begin_launch(unknown_queue, &operand, 1);
  end_launch(unknown_queue, &operand, 1);
  note_native_use(m, writable || written_before);
  if (options_.check) {
    Lock lock(mutex_);
    keep_reachable(m);
  }
}

void Engine::unannounced_use(Memory& m, bool writable) {
  recorder_.unannounced(m.label);
  native_capture(m, writable);
}

void Engine::foreign_use(Memory& m, bool writable, bool known) {
  const bool announced = native_use_goes_on(m) && (!known || !writable || m.native_use_writes.load());
  if (!announced) return unannounced_use(m, writable);
  writable = m.native_use_writes.load();
  // Noted, and nobody has waited for the device since: whoever does will wait for this use, too.
  if (!unknown_use_pending(device_of(m), m, true)) native_capture(m, writable);
}

void Engine::foreign_host_use(Memory& m, ByteRange range, bool writable) {
  if (m.open) return;
  if (watched(m)) {
    if ((m.flags.load() & (writable ? Memory::host_writable : Memory::host_readable)) != 0) return;
    recorder_.unannounced(m.label);
  }
  // A write may fail, and may be of some of the bytes only: the others stay.
  access(m, range, writable ? Access::read_write : Access::read);
}

void Engine::foreign_pointer_to_host(Memory& m) {
  {
    Lock lock(mutex_);
    if (!m.live || m.snapshot() || m.open) return;
    if (m.announced || directory_.slots(m.datum).size() > 1) {
      // Its pages are not for a device: following the pointer would be one more way to write both sides.
      if (!m.said_unreachable.exchange(true) && !devices_[0]->device->can_reach(m.address)) {
        base::raw_log("a kernel outside semcache::Exec is given a pointer into '%s', the host's side of an array: a GPU that "
                      "follows it reports an illegal address. Give it the device's side", recorder_.name(m.label));
      }
      return;
    }
  }
  recorder_.unannounced(m.label);
  expose(m);
}

void Engine::recorded_in_graph(Memory& m) noexcept {
  if (!m.in_graph.exchange(true)) arrays_in_graphs_.fetch_add(1);
}

void Engine::graph_launch() {
  if (arrays_in_graphs_.load() == 0) return;
  std::vector<Memory*> recorded;
  {
    Lock lock(mutex_);
    for (Memory& m : pool_) {
      if (m.live && !m.snapshot() && !m.freeing && m.in_graph.load()) recorded.push_back(&m);
    }
  }
  for (Memory* m : recorded) {
    if (!m->on_host()) {
      foreign_use(*m, true, false);
    } else {
      foreign_host_use(*m, m->all(), true);
    }
  }
}

}  // namespace semcache::engine
