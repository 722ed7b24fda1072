// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/base/room.hpp>
#include <semcache/engine/pageable_copies.hpp>

#include <algorithm>

namespace semcache::engine {

void PageableCopies::make(Transaction& t, Memory& m, const Region& where, Mode mode, const plan::Step& step) {
  base::make_room(s_.host_uses, 1);
  m.pins.fetch_add(1);
  if (mode == Mode::writes) {
    s_.host_uses.push_back({&m, where, true});
  } else {
    m.flags.fetch_or(Memory::read_elsewhere);
  }
  const base::AtEnd ended([&] {
    if (mode == Mode::reads) return;
    const auto is_this = [&](const HostPartInUse& use) { return use.memory == &m && use.where == where; };
    s_.host_uses.erase(std::find_if(s_.host_uses.begin(), s_.host_uses.end(), is_this));
    ++s_.ended_host_uses;
  });
  executor_.execute_and_wait(step, [&](const auto& copy) {
    t.unlocked([&] {
      const base::AtEnd unpin([&] {
        m.pins.fetch_sub(1);
        lifetimes_.free_put_off();
      });
      copy();
    });
  });
}

}  // namespace semcache::engine
