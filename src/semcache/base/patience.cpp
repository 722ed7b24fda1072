// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/base/patience.hpp>

#include <atomic>

namespace semcache::base {
namespace {

std::atomic<std::uint32_t> alive{0};
std::atomic<std::uint32_t> ended_{0};

}  // namespace

TakesTime::TakesTime() noexcept { alive.fetch_add(1, std::memory_order_relaxed); }

TakesTime::~TakesTime() {
  ended_.fetch_add(1, std::memory_order_relaxed);
  alive.fetch_sub(1, std::memory_order_relaxed);
}

bool TakesTime::now() noexcept { return alive.load(std::memory_order_relaxed) != 0; }

void TakesTime::forget() noexcept { alive.store(0); }

std::uint32_t TakesTime::ended() noexcept { return ended_.load(std::memory_order_relaxed); }

}  // namespace semcache::base
