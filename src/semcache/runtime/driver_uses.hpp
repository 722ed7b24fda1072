// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/device/device.hpp>
#include <semcache/engine/engine.hpp>

namespace semcache::runtime {

/// Has this thread prepared a launch that is not submitted yet?
[[nodiscard]] bool prepares_launch() noexcept;

/// Makes what others ask the driver for right, before the driver does it: tracked memory that they did not announce becomes
/// valid there and counts as used. Ends the process with a message where it cannot (I8): a driver's call of somebody else's
/// has no way to report.
class DriverUses final : public device::DriverObserver {
 public:
  /// Starts to be told. Empty: it works; else why not.
  [[nodiscard]] static std::unique_ptr<DriverUses> start(engine::Engine& engine, std::string& why_not);
  ~DriverUses() override {
    engine_.others_are_told_of(false);
    device::unwatch_cuda_driver();
  }
  DriverUses(const DriverUses&) = delete;
  DriverUses& operator=(const DriverUses&) = delete;

  void* before(const device::DriverUse* uses, std::size_t count, bool launches) noexcept override;
  void after(void* call) noexcept override;
  void others_submit(std::optional<void*> fenced) noexcept override;
  [[nodiscard]] bool wants_others() const noexcept override { return engine_.any_unrecorded(); }
  [[nodiscard]] bool wants_launches() const noexcept override { return engine_.foreign_uses.any_listed(); }

 private:
  explicit DriverUses(engine::Engine& engine) : engine_(engine) {}

  engine::Engine& engine_;
};

}  // namespace semcache::runtime
