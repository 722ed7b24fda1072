// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/platform/platform.hpp>

namespace semcache::platform {
namespace {

/// Notices no accesses: pages stay open, and programs announce their accesses.
class ExplicitTracker final : public Tracker {
 public:
  const char* name() const noexcept override { return "explicit"; }
  bool notices() const noexcept override { return false; }
  void start(std::byte*, std::uint64_t, Serve) override {}
  void stop() noexcept override {}
};

}  // namespace

std::unique_ptr<Tracker> make_explicit_tracker() { return std::make_unique<ExplicitTracker>(); }

}  // namespace semcache::platform
