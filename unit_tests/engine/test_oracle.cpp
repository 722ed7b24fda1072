// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "oracle.hpp"

#include <gtest/gtest.h>

#include <malloc.h>

#include <cstdio>
#include <cstdlib>

/// Random programs against one flat array per datum. Every configuration makes 84,000 moves or more of its seeds together, but for that of
/// large arrays; one case makes a million in a single program. SEMCACHE_ORACLE_MOVES: moves per case (a longer run); SEMCACHE_ORACLE_SEED: one seed
/// only (that a failure printed); SEMCACHE_ORACLE_SEEDS: seeds per case; SEMCACHE_ORACLE_CALLS: which calls may fail.
namespace semcache::fakes {
namespace {

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 0);
}

/// The expected content of large arrays comes and goes with each move. The allocator keeps that memory, because the kernel would clear its
/// pages each time, which takes longer than the move.
[[maybe_unused]] const bool memory_is_kept =
    mallopt(M_MMAP_THRESHOLD, 32 << 20) != 0 && mallopt(M_TRIM_THRESHOLD, 1 << 30) != 0 && mallopt(M_TOP_PAD, 64 << 20) != 0;

std::uint64_t moves_per_case() { return from_environment("SEMCACHE_ORACLE_MOVES", 84000); }
std::uint64_t seeds_per_case() { return from_environment("SEMCACHE_ORACLE_SEEDS", 3); }

/// @param first  the seeds are its multiples; of even ones pages are small, of multiples of three granules; but for every fourth one, the
///               second, memory is evicted by block
void run(Oracle::Options options, const char* what, std::uint64_t moves, std::uint64_t seeds = seeds_per_case(),
         std::uint64_t first = 7919) {
  const std::uint64_t only = from_environment("SEMCACHE_ORACLE_SEED", 0);
  for (std::uint64_t s = 1; s <= (only != 0 ? 1 : seeds); ++s) {
    options.seed = only != 0 ? only : s * first;
    options.page_bytes = options.seed % 2 == 0 ? page_bytes() / 4 : page_bytes();
    options.granularity_bytes = options.seed % 3 == 0 ? page_bytes() : std::max<std::uint64_t>(16384, page_bytes());
    options.blocks = options.seed % 4 != 2;
    options.failing = static_cast<unsigned>(from_environment("SEMCACHE_ORACLE_CALLS", options.failing));
    Oracle oracle(options);
    const bool right = oracle.run(moves);
    const Counters c = oracle.counters();
    std::printf("%s seed %llu: %llu moves, %llu faults, %llu evictions, h2d %llu d2h %llu d2d %llu saved %llu, refused %llu, "
                "injected %llu, steps %llu\n",
                what, static_cast<unsigned long long>(options.seed), static_cast<unsigned long long>(moves),
                static_cast<unsigned long long>(c.host_faults), static_cast<unsigned long long>(c.evictions),
                static_cast<unsigned long long>(c.h2d.count), static_cast<unsigned long long>(c.d2h.count),
                static_cast<unsigned long long>(c.d2d.count),
                static_cast<unsigned long long>(c.saved_link.count + c.saved_device.count + c.saved_host.count),
                static_cast<unsigned long long>(oracle.refused()), static_cast<unsigned long long>(oracle.injected()),
                static_cast<unsigned long long>(oracle.steps()));
    if (!right) return;
  }
}

TEST(Oracle, WriteBack) { run({}, "write-back", moves_per_case()); }

/// What piles up slowly: numbers, events, fragments of addresses. Small pages and granules: a move is short.
TEST(Oracle, AMillionMovesOfOneProgram) {
  Oracle::Options o;
  o.failures = Oracle::Failures::at_random;
  o.budget_bytes = 8 * page_bytes();
  run(o, "million", 12 * moves_per_case(), 1, 6);
}

TEST(Oracle, WriteBackStaged) {
  Oracle::Options o;
  o.registers_host = false;
  run(o, "staged", moves_per_case());
}

TEST(Oracle, WriteBackWithFailures) {
  Oracle::Options o;
  o.failures = Oracle::Failures::at_random;
  run(o, "failures", moves_per_case());
}

TEST(Oracle, EveryCallFailsInTurn) {
  Oracle::Options o;
  o.failures = Oracle::Failures::in_turn;
  run(o, "in turn", moves_per_case() / 3);
  o.check_writes = true;
  o.registers_host = false;
  run(o, "in turn, staged", moves_per_case() / 3);
}

TEST(Oracle, EveryCallFailsInTurnWithoutTheProtocol) {
  Oracle::Options o;
  o.failures = Oracle::Failures::in_turn;
  o.protocol = engine::Protocol::off;
  run(o, "in turn, off", moves_per_case() / 3);
}

TEST(Oracle, EveryCallFailsInTurnOfAnEmulatedDevice) {
  Oracle::Options o;
  o.failures = Oracle::Failures::in_turn;
  o.emulated = true;
  run(o, "in turn, emulated", moves_per_case() / 3);
}

TEST(Oracle, PlentyOfDeviceMemory) {
  Oracle::Options o;
  o.budget_bytes = 8u << 20;
  o.failures = Oracle::Failures::at_random;
  run(o, "plenty", moves_per_case());
}

TEST(Oracle, AdoptedMemory) {
  Oracle::Options o;
  o.adopts = true;
  run(o, "adopted", moves_per_case() / 2);
  o.failures = Oracle::Failures::at_random;
  run(o, "adopted, failures", moves_per_case() / 2);
  o.failures = Oracle::Failures::none;
  o.few_mappings = true;
  run(o, "adopted, few mappings", moves_per_case() / 3);
}

TEST(Oracle, AdoptedMemoryWhereEveryCallFailsInTurn) {
  Oracle::Options o;
  o.adopts = true;
  o.failures = Oracle::Failures::in_turn;
  run(o, "adopted, in turn", moves_per_case() / 3);
}

TEST(Oracle, AdoptedMemoryOnSeveralDevices) {
  Oracle::Options o;
  o.adopts = true;
  o.devices = 2;
  run(o, "adopted, two devices", moves_per_case() / 2);
  o.protocol = engine::Protocol::write_through;
  run(o, "adopted, two devices, write-through", moves_per_case() / 3);
  o.protocol = engine::Protocol::write_back;
  o.devices = 3;
  o.peer_access = false;
  o.failures = Oracle::Failures::at_random;
  run(o, "adopted, three devices, no peer access, failures", moves_per_case() / 3);
  o.devices = 4;
  o.peer_access = true;
  run(o, "adopted, four devices, failures", moves_per_case() / 3);
  o.peer_access = false;
  o.devices = 2;
  o.failures = Oracle::Failures::in_turn;
  run(o, "adopted, two devices, in turn", moves_per_case() / 3);
}

TEST(Oracle, EmulatedAdoptedMemory) {
  Oracle::Options o;
  o.adopts = true;
  o.emulated = true;
  run(o, "adopted, emulated", moves_per_case() / 3);
  o.device_faults = true;
  run(o, "adopted, guarded", moves_per_case() / 3);
  o.device_faults = false;
  o.protocol = engine::Protocol::off;
  run(o, "adopted, off", moves_per_case() / 3);
  o.protocol = engine::Protocol::write_through;
  run(o, "adopted, write-through", moves_per_case() / 3);
}

TEST(Oracle, CheckWrites) {
  Oracle::Options o;
  o.check_writes = true;
  run(o, "check-writes", moves_per_case());
}

/// SEMCACHE_CHECK=1: no launch takes the short way, and copies that are elided are compared.
TEST(Oracle, Check) {
  Oracle::Options o;
  o.check = true;
  run(o, "check", moves_per_case());
}

/// And an array in device memory is accessible to launches and announced uses of it alone, which the fake device enforces.
TEST(Oracle, CheckEmulated) {
  Oracle::Options o;
  o.check = true;
  o.emulated = true;
  run(o, "check-emulated", moves_per_case());
}

TEST(Oracle, ArraysOfSeveralRegistrationChunks) {
  Oracle::Options o;
  o.registration_pages = 2;
  o.failures = Oracle::Failures::at_random;
  run(o, "chunks", moves_per_case());
}

/// Arrays beyond a huge page, where addresses are found and untouched pages are written in another way. Each move
/// touches a thousand times the bytes, so there are fewer of them: 6,300 of three seeds take about a minute of a processor, so 84,000 would take about
/// 13 minutes.
TEST(Oracle, LargeArrays) {
  Oracle::Options o;
  o.large = true;
  o.budget_bytes = 12u << 20;
  o.registration_pages = 384;  // no divisor of any size
  run(o, "large", moves_per_case() / 40);
}

TEST(Oracle, TwoDevices) {
  Oracle::Options o;
  o.devices = 2;
  run(o, "two devices", moves_per_case());
}

TEST(Oracle, FourDevicesWithFailures) {
  Oracle::Options o;
  o.devices = 4;
  o.failures = Oracle::Failures::at_random;
  run(o, "four devices", moves_per_case());
}

TEST(Oracle, ThreeDevicesThatDoNotReachEachOther) {
  Oracle::Options o;
  o.devices = 3;
  o.peer_access = false;
  o.failures = Oracle::Failures::at_random;
  run(o, "apart", moves_per_case());
}

/// Plenty of memory: arrays are ready for launches on their own device, while transfers use them.
TEST(Oracle, DevicesWithPlentyOfMemory) {
  Oracle::Options o;
  o.devices = 2;
  o.budget_bytes = 8u << 20;
  o.failures = Oracle::Failures::at_random;
  run(o, "devices with plenty", moves_per_case());
}

/// Little memory: each device evicts what the others and the host still want.
TEST(Oracle, DevicesWithLittleMemory) {
  Oracle::Options o;
  o.devices = 3;
  o.budget_bytes = std::max<std::uint64_t>(4 * 16384, 6 * page_bytes());
  o.check_writes = true;
  run(o, "devices with little", moves_per_case());
  o.check_writes = false;
  o.peer_access = false;
  o.registers_host = false;
  run(o, "devices with little, apart, staged", moves_per_case() / 2);
}

TEST(Oracle, EveryCallFailsInTurnOnTwoDevices) {
  Oracle::Options o;
  o.devices = 2;
  o.failures = Oracle::Failures::in_turn;
  run(o, "in turn, two devices", moves_per_case() / 3);
  o.peer_access = false;
  run(o, "in turn, apart", moves_per_case() / 3);
}

TEST(Oracle, EveryCallFailsInTurnOnFourDevices) {
  Oracle::Options o;
  o.devices = 4;
  o.failures = Oracle::Failures::in_turn;
  run(o, "in turn, four devices", moves_per_case() / 3);
}

TEST(Oracle, EmulatedDevices) {
  Oracle::Options o;
  o.devices = 2;
  o.emulated = true;
  o.device_faults = true;
  run(o, "two emulated devices", moves_per_case());
}

TEST(Oracle, FewMappings) {
  Oracle::Options o;
  o.few_mappings = true;
  run(o, "few-mappings", moves_per_case());
}

TEST(Oracle, WriteThrough) {
  Oracle::Options o;
  o.protocol = engine::Protocol::write_through;
  o.failures = Oracle::Failures::at_random;
  run(o, "write-through", moves_per_case());
}

TEST(Oracle, ProtocolOff) {
  Oracle::Options o;
  o.protocol = engine::Protocol::off;
  run(o, "off", moves_per_case());
}

TEST(Oracle, Emulated) {
  Oracle::Options o;
  o.emulated = true;
  run(o, "emulated", moves_per_case());
}

/// With uses of device memory that nobody announces.
TEST(Oracle, EmulatedDeviceFaults) {
  Oracle::Options o;
  o.emulated = true;
  o.device_faults = true;
  run(o, "device-faults", moves_per_case());
  o.check_writes = true;
  o.failures = Oracle::Failures::at_random;
  run(o, "device-faults, check-writes, failures", moves_per_case());
}

}  // namespace
}  // namespace semcache::fakes
