// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/runtime/driver_uses.hpp>

#include <cstdio>

namespace semcache::runtime {

std::unique_ptr<DriverUses> DriverUses::start(engine::Engine& engine, std::string& why_not) {
  std::unique_ptr<DriverUses> uses(new DriverUses(engine));
  why_not = device::watch_cuda_driver({uses.get(),
                                       {{engine.state().host->base(), engine.state().host->bytes()},
                                        {engine.state().home().memory->base(), engine.state().home().memory->bytes()}},
                                       [] () noexcept { return prepares_launch() || platform::inside_runtime(); }});
  if (!why_not.empty()) {
    uses.reset();
  } else {
    engine.others_are_told_of(true);
  }
  return uses;
}

void DriverUses::others_submit(std::optional<void*> fenced) noexcept {
  const platform::RuntimeScope scope;
  engine_.others_submit(fenced);
}

void* DriverUses::before(const device::DriverUse* uses, std::size_t count, bool launches) noexcept {
  const platform::RuntimeScope scope;
  try {
    return engine_.foreign_uses.begin_foreign_call(uses, count, launches).release();
  } catch (const std::exception& e) {
    char labels[512] = "";  // there may be no memory
    std::size_t length = 0;
    for (std::size_t i = 0; i < count && length < sizeof labels; ++i) {
      const char* const label = engine_.state().label_of(uses[i].address);
      length += static_cast<std::size_t>(std::snprintf(labels + length, sizeof labels - length, "%s'%s'", i == 0 ? "" : ", ",
                                                       label != nullptr ? label : "?"));
    }
    base::fatal("%s used outside semcache::Exec (a kernel, library or copy of the driver's) cannot be made valid: %s. Announce "
                "such uses with semcache::access before, which reports this as an error",
                count == 0 ? "arrays that a graph or a list on the device refers to and that are" : labels, e.what());
  }
}

void DriverUses::after(void* call) noexcept {
  const platform::RuntimeScope scope;
  engine_.foreign_uses.end_foreign_call(std::unique_ptr<engine::ForeignCall>(static_cast<engine::ForeignCall*>(call)));
}

}  // namespace semcache::runtime
