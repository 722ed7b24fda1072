// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/runtime/lifetime.hpp>

#include <cstdio>

namespace semcache::runtime {
namespace {

/// Prepares tracked memory for calls of other code to the driver, right before the driver carries them out: memory whose use the
/// program did not announce becomes valid, and counts as used. Ends the process with a message if this is impossible (I8),
/// because a driver call of other code has no way to report it.
class DriverUses final : public device::DriverObserver, base::Uncopied {
 public:
  explicit DriverUses(engine::Engine& engine) : engine_(engine) {}
  ~DriverUses() override {
    engine_.set_others_are_told(false);
    device::unwatch_cuda_driver();
  }

  void* before(const device::DriverCall& call) noexcept override {
    const platform::RuntimeScope scope;
    const device::DriverUse* const uses = call.uses;
    const std::size_t count = call.count;
    try {
      const auto kind = call.launches ? engine::ForeignCall::Kind::launch : engine::ForeignCall::Kind::transfer;
      return engine_.foreign_uses.begin_foreign_call(uses, count, kind, stream_of(call)).release();
    } catch (const std::exception& e) {
      char labels[512] = "";  // a fixed buffer, because host memory may be exhausted
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

  void after(void* call) noexcept override {
    const platform::RuntimeScope scope;
    engine_.foreign_uses.end_foreign_call(std::unique_ptr<engine::ForeignCall>(static_cast<engine::ForeignCall*>(call)));
  }

  void others_submit(std::optional<void*> fenced) noexcept override {
    const platform::RuntimeScope scope;
    engine_.others_submit(fenced);
  }

  void stream_ends(void* stream) noexcept override {
    if (platform::inside_runtime()) return;  // our own stream, or one that ends while its queue is closed
    const platform::RuntimeScope scope;
    if (engine_.stream_ends(stream)) retired_queues.fetch_add(1, std::memory_order_release);
  }

  [[nodiscard]] bool wants_others() const noexcept override { return engine_.any_unrecorded(); }
  [[nodiscard]] bool wants_launches() const noexcept override { return engine_.foreign_uses.any_listed(); }

 private:
  [[nodiscard]] engine::ForeignStream stream_of(const device::DriverCall& call) const noexcept {
    if (call.stream != nullptr) return {engine_.queue_of_others(call.stream), call.stream, all_devices};
    for (const auto& d : engine_.state().devices) {
      if (call.ordinal >= 0 && d->device->ordinal() == call.ordinal) return {engine::unknown_queue, nullptr, DeviceSet{1} << d->index};
    }
    return {};
  }

  engine::Engine& engine_;
};

}  // namespace

std::unique_ptr<device::DriverObserver> start_driver_uses(engine::Engine& engine, std::string& why_not) {
  auto uses = std::make_unique<DriverUses>(engine);
  why_not = device::watch_cuda_driver({uses.get(),
                                       {{engine.state().host->base(), engine.state().host->bytes()},
                                        {engine.state().device_addresses->base(), engine.state().device_addresses->bytes()}},
                                       [] () noexcept { return prepares_launch() || platform::inside_runtime(); }});
  if (!why_not.empty()) return nullptr;
  engine.set_others_are_told(true);
  return uses;
}

}  // namespace semcache::runtime
