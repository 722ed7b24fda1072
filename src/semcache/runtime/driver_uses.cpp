// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/runtime/driver_uses.hpp>

namespace semcache::runtime {

using engine::Memory;
using Kind = device::DriverUse::Kind;

__thread unsigned launches_under_way = 0;

namespace {

bool own_work() noexcept { return launches_under_way > 0 || platform::inside_runtime(); }

/// View handles in closures have the word of their record beside the data: on its way to a kernel it has the lowest bit set.
/// What such a handle refers to on the host no kernel follows; frameworks see to that.
bool is_view_handle(const engine::Engine& engine, const device::DriverUse& use) noexcept {
  const auto is_record = [&](std::uintptr_t word) {
    return (word & 1) != 0 && word > engine.platform().lowest_address() && word < (std::uintptr_t{1} << 47);
  };
  return is_record(use.neighbours[0]) || is_record(use.neighbours[1]);
}

}  // namespace

std::unique_ptr<DriverUses> DriverUses::start(engine::Engine& engine, std::string& why_not) {
  std::unique_ptr<DriverUses> uses(new DriverUses(engine));
  why_not = device::watch_cuda_driver({uses.get(),
                                       {{engine.host_arena(), engine.host_arena_bytes()},
                                        {engine.device_arena(0), engine.device_arena_bytes(0)}},
                                       &own_work});
  if (!why_not.empty()) uses.reset();
  return uses;
}

void DriverUses::before(const device::DriverUse& use) {
  Memory* const m = engine_.find(use.address);
  if (m == nullptr || !m->live || m->snapshot()) return;
  switch (use.kind) {
    case Kind::recorded: return engine_.recorded_in_graph(*m);
    case Kind::argument:
      if (!m->on_host()) return engine_.foreign_use(*m, true, false);
      if (!is_view_handle(engine_, use)) engine_.foreign_pointer_to_host(*m);
      return;
    case Kind::read:
    case Kind::write: break;
  }
  const bool writes = use.kind == Kind::write;
  if (!m->on_host()) return engine_.foreign_use(*m, writes, true);
  const auto begin = static_cast<std::uint64_t>(static_cast<const std::byte*>(use.address) - m->address);
  engine_.foreign_host_use(*m, {begin, std::min(m->bytes, begin + use.bytes)}, writes);
}

void DriverUses::before(const device::DriverUse* uses, std::size_t count) noexcept {
  const platform::RuntimeScope scope;
  for (std::size_t i = 0; i < count; ++i) {
    try {
      before(uses[i]);
    } catch (const std::exception& e) {
      base::fatal("'%s' is used outside semcache::Exec and cannot be made valid: %s. Announce such uses with "
                  "semcache::access before, which reports this as an error", engine_.label_of(uses[i].address), e.what());
    }
  }
}

void DriverUses::before_graph() noexcept {
  const platform::RuntimeScope scope;
  try {
    engine_.graph_launch();
  } catch (const std::exception& e) {
    base::fatal("the arrays that a graph of the driver's may use cannot be made valid: %s", e.what());
  }
}

}  // namespace semcache::runtime
