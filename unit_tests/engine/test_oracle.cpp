// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "oracle.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

/// Random programs against one flat array per datum: over all cases, a million moves per seed. SEMCACHE_ORACLE_MOVES:
/// moves per case (a longer run); SEMCACHE_ORACLE_SEED: one seed only (the one that a failure printed);
/// SEMCACHE_ORACLE_SEEDS: seeds per case.
namespace semcache::fakes {
namespace {

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 0);
}

void run(Oracle::Options options, const char* what, std::uint64_t divisor = 1) {
  const std::uint64_t moves = from_environment("SEMCACHE_ORACLE_MOVES", 84000) / divisor;
  const std::uint64_t seeds = from_environment("SEMCACHE_ORACLE_SEEDS", 3);
  const std::uint64_t only = from_environment("SEMCACHE_ORACLE_SEED", 0);
  for (std::uint64_t s = 1; s <= (only != 0 ? 1 : seeds); ++s) {
    options.seed = only != 0 ? only : s * 7919;
    options.page_bytes = options.seed % 2 == 0 ? 1024 : 4096;
    options.granularity_bytes = options.seed % 3 == 0 ? 4096 : 16384;
    Oracle oracle(options);
    const bool right = oracle.run(moves);
    const Counters c = oracle.counters();
    std::printf("%s seed %llu: %llu moves, %llu faults, %llu evictions, h2d %llu d2h %llu d2d %llu saved %llu, refused %llu, "
                "injected %llu\n",
                what, static_cast<unsigned long long>(options.seed), static_cast<unsigned long long>(moves),
                static_cast<unsigned long long>(c.host_faults), static_cast<unsigned long long>(c.evictions),
                static_cast<unsigned long long>(c.h2d.count), static_cast<unsigned long long>(c.d2h.count),
                static_cast<unsigned long long>(c.d2d.count),
                static_cast<unsigned long long>(c.saved_link.count + c.saved_device.count + c.saved_host.count),
                static_cast<unsigned long long>(oracle.refused()), static_cast<unsigned long long>(oracle.injected()));
    if (!right) return;
  }
}

TEST(Oracle, WriteBack) { run({}, "write-back"); }

TEST(Oracle, WriteBackStaged) {
  Oracle::Options o;
  o.registers_host = false;
  run(o, "staged");
}

TEST(Oracle, WriteBackWithFailures) {
  Oracle::Options o;
  o.failures = true;
  run(o, "failures");
}

TEST(Oracle, PlentyOfDeviceMemory) {
  Oracle::Options o;
  o.budget_bytes = 8u << 20;
  o.failures = true;
  run(o, "plenty");
}

TEST(Oracle, CheckWrites) {
  Oracle::Options o;
  o.check_writes = true;
  run(o, "check-writes");
}

/// SEMCACHE_CHECK=1: no launch takes the short way, and copies that are elided are compared.
TEST(Oracle, Check) {
  Oracle::Options o;
  o.check = true;
  run(o, "check");
}

/// And device memory is inaccessible outside launches and announced uses, which the fake device enforces.
TEST(Oracle, CheckEmulated) {
  Oracle::Options o;
  o.check = true;
  o.emulated = true;
  run(o, "check-emulated");
}

TEST(Oracle, ArraysOfSeveralRegistrationChunks) {
  Oracle::Options o;
  o.registration_pages = 2;
  o.failures = true;
  run(o, "chunks");
}

/// Arrays beyond a huge page, where addresses are found and untouched pages are written in another way. Each move
/// touches a thousand times the bytes, so there are fewer of them.
TEST(Oracle, LargeArrays) {
  Oracle::Options o;
  o.large = true;
  o.budget_bytes = 12u << 20;
  o.registration_pages = 384;  // no divisor of any size
  run(o, "large", 60);
}

TEST(Oracle, FewMappings) {
  Oracle::Options o;
  o.few_mappings = true;
  run(o, "few-mappings");
}

TEST(Oracle, WriteThrough) {
  Oracle::Options o;
  o.protocol = engine::Protocol::write_through;
  o.failures = true;
  run(o, "write-through");
}

TEST(Oracle, ProtocolOff) {
  Oracle::Options o;
  o.protocol = engine::Protocol::off;
  run(o, "off");
}

TEST(Oracle, Emulated) {
  Oracle::Options o;
  o.emulated = true;
  run(o, "emulated");
}

}  // namespace
}  // namespace semcache::fakes
