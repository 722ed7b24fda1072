// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "program.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <string>
#include <future>
#include <thread>
#include <vector>

/// An attempt that met an obstacle is made anew: what it had done is neither lost nor done again, and what another thread did
/// meanwhile is seen.
namespace semcache::fakes {
namespace {

using engine::Memory;
using engine::Operand;

char streams[8];

/// Writing an array back uses it. Each attempt goes on with the array that the last one had begun with.
TEST(Transactions, AnEvictionWritesOneArrayBack) {
  for (const auto kind : {device::DeviceKind::cuda, device::DeviceKind::emulated}) {
    for (const bool two_sided : {false, true}) {
      SCOPED_TRACE(std::string(two_sided ? "two-sided, " : "") + device::to_string(kind));
      Program::Options o = Program::defaults();
      o.device.kind = kind;
      o.device.asynchronous = kind != device::DeviceKind::emulated;
      o.engine.device_memory_bytes = 8 * 65536;
      Program p(o);
      std::vector<Memory*> arrays;
      for (int i = 0; i < 9; ++i) {
        arrays.push_back(&p.on_device(65000));
        if (two_sided) (void)p.on_host(65000, arrays.back());
      }
      for (std::uint64_t i = 0; i < 8; ++i) p.kernel_write(&streams[0], *arrays[i], arrays[i]->all(), i + 1);
      const Counters before = p.counters();
      p.kernel_write(&streams[0], *arrays[8], arrays[8]->all(), 100);
      EXPECT_EQ(p.counters().evictions - before.evictions, 1u);
      EXPECT_EQ(p.counters().written_back.count - before.written_back.count, 1u);
      EXPECT_EQ(arrays[0]->flags.load() & Memory::resident, 0u) << "the one that was used longest ago goes";
      for (std::uint64_t i = 0; i < 8; ++i) p.expect_device(*arrays[i], i + 1);
    }
  }
}

/// Near the kernel's limit on mappings a copy opens its mirror, and waits on the way. Another thread's copy opens it meanwhile.
TEST(Transactions, ACopyFromAMirrorThatAnotherThreadOpensIsMadeAtTheCall) {
  constexpr std::uint64_t size = 64 * 1024;
  Program::Options o = Program::defaults();
  o.device.finds_races = false;
  Program p(o);
  p.platform().watch({});
  Memory& from = p.on_device(size);
  Memory& first = p.on_device(size);
  Memory& second = p.on_device(size);
  Memory& mirror = p.on_host(size);
  p.kernel_write(&streams[0], from, from.all(), 1);
  p.copy(mirror, from);
  p.platform().set_mapping_limit(0);
  bool moved = false;
  p.when_unlocked([&] {
    moved = true;
    std::thread([&] { p.copy(second, mirror); }).join();
  });
  p.copy(first, mirror);
  ASSERT_TRUE(moved);
  ASSERT_TRUE(mirror.open);
  for (std::uint64_t i = 0; i < size; ++i) mirror.address[i] = Machine::mix(7, i);  // nobody notices
  p.expect_device(first, 1);
  p.expect_device(second, 1);
}

/// With write-through a large copy to a mirror is submitted at the call, and the mirror's pages stay closed until it has landed.
/// That holds as well while another thread waits for its own small copy to other pages of the mirror, which stay readable.
TEST(Transactions, ACopyIsNotTakenForTheOneThatAnotherThreadWaitsFor) {
  constexpr std::uint64_t small = 64 * 1024;
  constexpr std::uint64_t large = 128 * 1024;
  static_assert(small <= policy::ReadHabit::largest_bytes && large > policy::ReadHabit::largest_bytes);
  Program::Options o = Program::defaults();
  o.device.finds_races = false;
  o.engine.protocol = engine::Protocol::write_through;
  Program p(o);
  Memory& first = p.on_device(small);
  Memory& second = p.on_device(large);
  Memory& mirror = p.on_host(small + large);
  const auto copy_and_read = [&](Memory& from, std::uint64_t position, std::uint64_t seed) {
    std::vector<std::byte> seen(from.bytes);
    p.engine().copies.copy(mirror.address + position, from.address, from.bytes);
    p.host_read(mirror, {position, position + from.bytes}, seen.data());
    Program::expect(seen, from.all(), seed, "host");
  };
  bool moved = false;
  for (std::uint64_t round = 1; round <= 40 && !moved; ++round) {
    p.kernel_write(&streams[0], first, first.all(), round);
    p.kernel_write(&streams[0], second, second.all(), 1000 + round);
    p.when_unlocked([&] {
      if (Program::protection(p, mirror, 0) == platform::Protection::none) return;  // this copy leaves its content to the fault
      moved = true;
      std::thread([&] { copy_and_read(second, small, 1000 + round); }).join();
    });
    copy_and_read(first, 0, round);
    p.when_unlocked(nullptr);
    if (!moved) copy_and_read(second, small, 1000 + round);
  }
  EXPECT_TRUE(moved) << "no copy has waited for its content at the call";
}

// --- delays -------------------------------------------------------------------------------------------------------------

/// A random program on one stream, with saved copies, evictions and sweeps. Nothing in it asks how far the device is.
Counters counters_of_program(std::uint64_t seed, unsigned eagerness, bool staged) {
  constexpr int arrays = 6;
  constexpr std::uint64_t size = 12 * 4096;
  Program::Options o = Program::defaults();
  o.device.eagerness = eagerness;
  o.device.seed = seed + eagerness;
  o.device.registers_host = !staged;
  o.engine.device_memory_bytes = 3 * 65536;
  Program p(o);
  Random random(seed);
  std::vector<Memory*> d, h;
  for (int i = 0; i < arrays; ++i) {
    d.push_back(&p.on_device(size));
    h.push_back(&p.on_host(size, i % 2 == 0 ? d.back() : nullptr));
  }
  for (std::uint64_t move = 1; move <= 300; ++move) {
    Memory& on_device = *d[random.below(arrays)];
    Memory& on_host = *h[random.below(arrays)];
    const std::uint64_t begin = random.below(12) * 4096;
    const ByteRange range{begin, begin + 1 + random.below(size - begin)};
    std::vector<std::byte> seen(range.size());
    switch (random.below(9)) {
      case 0: p.kernel_write(&streams[0], on_device, on_device.all(), move); break;
      case 1: p.copy(on_host, on_device); break;
      case 2: p.copy(on_device, on_host); break;
      case 3: p.copy(on_device, *d[random.below(arrays)]); break;
      case 4: p.copy(on_host, *h[random.below(arrays)]); break;
      case 5: p.host_write(on_host, range, move); break;
      case 6: p.host_read(on_host, range, seen.data()); break;
      case 7: p.fill(on_device, static_cast<std::uint8_t>(move)); break;
      case 8: p.kernel_write(&streams[0], on_device, range, move); break;
    }
  }
  return p.counters();
}

/// All of them, in the order of their declaration.
std::vector<std::uint64_t> numbers(const Counters& c) {
  std::vector<std::uint64_t> all(sizeof c / sizeof(std::uint64_t));
  std::memcpy(all.data(), &c, sizeof c);
  return all;
}

/// Counts are promised to be exact: a fast device and a slow one give the same.
TEST(Transactions, CountsDoNotDependOnDelays) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    for (const bool staged : {false, true}) {
      const Counters slow = counters_of_program(seed, 0, staged);
      EXPECT_GT(slow.evictions, 0u);
      EXPECT_GT(slow.saved_link.count + slow.saved_device.count, 0u);
      for (const unsigned eagerness : {5u, 30u, 100u}) {
        EXPECT_EQ(numbers(counters_of_program(seed, eagerness, staged)), numbers(slow)) << "seed " << seed << ", eagerness " << eagerness;
      }
    }
  }
}

// --- page-locking, which takes milliseconds --------------------------------------------------------------------------------

struct PageLocking : testing::Test {
  static constexpr std::uint64_t size = 16 * 4096;
  static Program::Options options() {
    Program::Options o = Program::defaults();
    o.device.finds_races = false;
    return o;
  }
  void SetUp() override {
    p.platform().watch({});
    p.host_write(h, h.all(), 1);
    p.copy(d, h);
  }
  /// Something that another thread does while the pages of `h` are being page-locked, for the kernel that reads `d`.
  template <class Move>
  void meanwhile(const Move& move) {
    p.platform().while_locking = [&, move] {
      other = std::thread([&, move] {
        move();
        done = true;
      });
      for (int i = 0; i < 200 && !done; ++i) std::this_thread::sleep_for(std::chrono::microseconds(100));
      done_meanwhile = done;
    };
    p.expect_device(d, 1);
    ASSERT_TRUE(other.joinable()) << "nothing was page-locked";
    other.join();
    EXPECT_EQ(p.device().host_registrations(), registered);
  }
  Program p{options()};
  Memory& d = p.on_device(size);
  Memory& h = p.on_host(size);
  std::size_t registered = 1;
  std::thread other;
  std::atomic<bool> done{false};
  bool done_meanwhile = false;
};

TEST_F(PageLocking, KeepsNobodyWaitingWhoUsesOtherArrays) {
  Memory& other_d = p.on_device(size);
  Memory& other_h = p.on_host(size);
  p.kernel_write(&streams[0], other_d, other_d.all(), 7);
  p.copy(other_h, other_d);
  meanwhile([&] { p.expect_host(other_h, 7); });
  EXPECT_TRUE(done_meanwhile) << "another thread waited for the engine's lock";
}

TEST_F(PageLocking, KeepsReadersOfItsPagesWaiting) {
  meanwhile([&] { p.expect_host(h, 1); });
  EXPECT_FALSE(done_meanwhile);
}

TEST_F(PageLocking, KeepsWritersOfItsPagesWaiting) {
  meanwhile([&] { p.host_write(h, {4096, 8192}, 2); });
  EXPECT_FALSE(done_meanwhile);
  p.expect_device(d, 1);
}

TEST_F(PageLocking, KeepsWhoFreesThemWaiting) {
  registered = 0;
  meanwhile([&] { p.engine().lifetimes.deallocate(&h); });
  EXPECT_FALSE(done_meanwhile);
  p.expect_device(d, 1);
}

TEST_F(PageLocking, KeepsACopyOverItsPagesWaiting) {
  Memory& source = p.on_host(size);
  p.host_write(source, source.all(), 3);
  meanwhile([&] { p.copy(h, source); });
  p.expect_host(h, 3);
}

TEST_F(PageLocking, NeedsNoStagingMemory) {
  p.expect_device(d, 1);
  EXPECT_EQ(p.device().staging_bytes(), 0u);
}

TEST_F(PageLocking, LeavesPagesReadableThatWereReadable) {
  p.expect_device(d, 1);
  EXPECT_EQ(p.device().host_registrations(), 1u);
  const Counters before = p.counters();
  p.expect_host(h, 1);
  EXPECT_EQ(p.counters().host_faults - before.host_faults, 0u);
}

/// The host side goes, and its device side is evicted into it meanwhile.
TEST(PageLockingEnds, WithoutBeginningAnewMeanwhile) {
  constexpr std::uint64_t size = 16 * 4096;
  Program::Options o = PageLocking::options();
  o.engine.device_memory_bytes = size + 65536;
  Program p(o);
  p.platform().watch({});
  Memory& d = p.on_device(size);
  Memory* const h = p.engine().lifetimes.allocate_host("host side", size, &d);
  Memory& other = p.on_device(size);
  p.host_write(*h, h->all(), 1);
  p.expect_device(d, 1);
  ASSERT_EQ(p.device().host_registrations(), 1u);
  p.kernel_write(&streams[0], d, d.all(), 2);
  bool moved = false;
  p.device().while_in(FakeDevice::call_register, [&] {
    moved = true;
    std::thread([&] { p.kernel_write(&streams[0], other, other.all(), 3); }).join();
  });
  p.engine().lifetimes.deallocate(h);
  EXPECT_TRUE(moved);
  EXPECT_EQ(p.device().host_registrations(), 0u);
  p.expect_device(d, 2);
  p.expect_device(other, 3);
}

/// A mirror is made ready for a child process, and another thread frees it meanwhile.
TEST(PageLockingEnds, BeforeTheMemoryIsGivenBack) {
  constexpr std::uint64_t size = 16 * 4096;
  Program p(PageLocking::options());
  p.platform().watch({});
  Memory& d = p.on_device(size);
  Memory* const h = p.engine().lifetimes.allocate_host("host side", size, &d);
  p.host_write(*h, h->all(), 1);
  p.expect_device(d, 1);
  ASSERT_EQ(p.device().host_registrations(), 1u);
  std::future<void> frees;
  p.device().while_in(FakeDevice::call_register, [&] {
    frees = std::async(std::launch::async, [&] { p.engine().lifetimes.deallocate(h); });
    EXPECT_EQ(frees.wait_for(std::chrono::milliseconds(100)), std::future_status::timeout) << "its pages are being unlocked";
  });
  p.engine().host_access.settle_and_open();
  ASSERT_TRUE(frees.valid());
  frees.get();
  EXPECT_EQ(p.device().host_registrations(), 0u);
  p.expect_device(d, 1);
}

/// It is tried once for each host phase.
TEST_F(PageLocking, ThatIsRefusedIsTriedAgainWhenThePagesHaveClosed) {
  p.device().fail_call(1, FakeDevice::call_register);
  p.expect_device(d, 1);
  EXPECT_EQ(p.device().host_registrations(), 0u);
  EXPECT_TRUE(h.lock_refused);
  p.host_write(h, h.all(), 2);
  p.copy(d, h);
  p.expect_device(d, 2);
  EXPECT_EQ(p.device().host_registrations(), 1u);
}

// --- the driver maps, and allocates page-locked memory: that takes long, too -------------------------------------------------

struct Mapping : testing::Test {
  static constexpr std::uint64_t size = 16 * 4096;
  static Program::Options options() {
    Program::Options o = Program::defaults();
    o.device.finds_races = false;
    o.engine.device_memory_bytes = 3 * size + 65536;
    return o;
  }
  void SetUp() override { p.kernel_write(&streams[0], resident, resident.all(), 1); }
  /// Something that another thread does while the driver is in a call that `call` makes.
  template <class Call, class Move>
  void meanwhile(const Call& call, const Move& move, FakeDevice::Call in = FakeDevice::call_map) {
    p.device().while_in(in, [&, move] {
      other = std::thread([&, move] {
        move();
        done = true;
      });
      for (int i = 0; i < 200 && !done; ++i) std::this_thread::sleep_for(std::chrono::microseconds(100));
      done_meanwhile = done;
      stayed = (resident.flags.load() & Memory::resident) != 0;
    });
    call();
    ASSERT_TRUE(other.joinable()) << "the driver was not called";
    other.join();
    p.engine().audit();
  }
  void use_what_is_there() {
    const Operand operand{&resident, false};
    const engine::QueueIndex q = p.queue(&streams[1]);
    p.engine().launches.begin_launch(q, &operand, 1);
    p.engine().launches.end_launch(q, &operand, 1);
    p.engine().lifetimes.deallocate(p.engine().lifetimes.allocate_device(0, "another", size));
  }
  void launch_on(Memory& m, std::uint64_t seed) { p.kernel_write(&streams[0], m, m.all(), seed); }
  Program p{options()};
  Memory& resident = p.on_device(size);
  Memory& d = p.on_device(size);
  std::thread other;
  std::atomic<bool> done{false};
  bool done_meanwhile = false;
  bool stayed = false;
};

TEST_F(Mapping, KeepsNobodyWaitingWhoNeedsNone) {
  meanwhile([&] { launch_on(d, 2); }, [&] { use_what_is_there(); });
  EXPECT_TRUE(done_meanwhile) << "another thread waited for the engine's lock";
  p.expect_device(d, 2);
}

TEST_F(Mapping, NorDoesStagingMemory) {
  Memory& h = p.on_host(4096);
  Memory& small = p.on_device(4096);
  launch_on(small, 5);
  p.copy(h, small);
  meanwhile([&] { p.expect_host(h, 5); }, [&] { use_what_is_there(); }, FakeDevice::call_staging);
  EXPECT_TRUE(done_meanwhile);
}

/// An evicted device side is written to its host side, which nobody has used.
TEST(MappingUnderABudget, NorDoesStagingMemoryOfWhatIsSaved) {
  Program::Options o = Mapping::options();
  o.engine.device_memory_bytes = 4 * o.device.granularity_bytes;
  Program p(o);
  Memory& small = p.on_device(4096);
  Memory& h = p.on_host(4096, &small);
  (void)p.on_device(4 * o.device.granularity_bytes);  // the next one shares no granule with the small one
  Memory& large = p.on_device(3 * o.device.granularity_bytes + 8192);
  p.kernel_write(&streams[0], small, small.all(), 5);
  bool done = false;
  p.device().while_in(FakeDevice::call_staging, [&] {
    std::thread([&] { p.engine().lifetimes.deallocate(p.engine().lifetimes.allocate_device(0, "another", 4096)); }).join();
    done = true;
  });
  p.kernel_write(&streams[0], large, large.all(), 6);
  EXPECT_TRUE(done);
  EXPECT_EQ(p.counters().evictions, 1u);
  p.expect_host(h, 5);
}

TEST_F(Mapping, NorDoesMemoryOfMessages) {
  memory::TransitBuffer* buffer = nullptr;
  meanwhile([&] { buffer = p.engine().buffers.take(size, base::Side::host); }, [&] { use_what_is_there(); }, FakeDevice::call_staging);
  EXPECT_TRUE(done_meanwhile);
  p.engine().buffers.give(buffer);
}

/// Both have looked for it, and there was none.
TEST_F(Mapping, NorDoesABlockThatTwoMessagesShare) {
  memory::TransitBuffer *first = nullptr, *second = nullptr;
  meanwhile([&] { first = p.engine().buffers.take_beside(resident, {0, 4096}); },
            [&] { second = p.engine().buffers.take_beside(resident, {4096, 8192}); }, FakeDevice::call_staging);
  EXPECT_TRUE(done_meanwhile);
  ASSERT_NE(first, nullptr);
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(first->block, second->block);
  p.engine().buffers.give(first);
  p.engine().buffers.give(second);
  EXPECT_EQ(p.device().staging_bytes(), 0u);
}

TEST_F(Mapping, KeepsWhoNeedsSomeWaiting) {
  Memory& third = p.on_device(4096);
  meanwhile([&] { launch_on(d, 2); }, [&] { p.engine().copies.settle(third, third.all()); });
  EXPECT_FALSE(done_meanwhile);
  EXPECT_NE(third.flags.load() & Memory::resident, 0u);
  p.expect_device(d, 2);
}

TEST_F(Mapping, EndsForAnArrayThatIsFreedMeanwhile) {
  Memory* const freed = p.engine().lifetimes.allocate_device(0, "freed", size);
  meanwhile([&] { EXPECT_THROW(p.engine().copies.settle(*freed, freed->all()), UsageError); }, [&] { p.engine().lifetimes.deallocate(freed); });
  EXPECT_TRUE(done_meanwhile) << "nothing of it is used";
  launch_on(d, 3);
  p.expect_device(d, 3);
  Statistics s;
  p.engine().add_to(s);
  EXPECT_EQ(s.mapped_device_bytes, p.device().mapped_bytes());
}

/// A launch is not kept waiting for what leaves; but it is the only one that knows of it.
TEST_F(Mapping, ForALaunchEndsWithWhatHasLeftMeanwhile) {
  Memory* const freed = p.engine().lifetimes.allocate_device(0, "freed", size);
  p.kernel_write(&streams[0], *freed, freed->all(), 1);
  p.device().synchronize_device();
  meanwhile([&] { launch_on(d, 2); }, [&] { p.engine().lifetimes.deallocate(freed); });
  EXPECT_TRUE(done_meanwhile);
  Statistics s;
  p.engine().add_to(s);
  EXPECT_EQ(s.mapped_device_bytes, p.device().mapped_bytes()) << "what was freed is still the driver's to give back";
}

/// The launch may wait for something else before that, and for long.
TEST_F(Mapping, ForALaunchEndsWithWhatHasLeftBeforeItWaitsForAnythingElse) {
  Memory* const freed = p.engine().lifetimes.allocate_device(0, "freed", size);
  Memory& h = p.on_host(size);
  p.kernel_write(&streams[0], *freed, freed->all(), 1);
  p.device().synchronize_device();
  p.host_write(h, h.all(), 2);
  p.copy(d, h);
  bool waits = false;
  p.device().while_in(FakeDevice::call_map, [&] {
    std::thread([&] { p.engine().lifetimes.deallocate(freed); }).join();
    p.platform().while_locking = [&] {
      waits = true;
      Statistics s;
      p.engine().add_to(s);
      EXPECT_EQ(s.mapped_device_bytes, p.device().mapped_bytes()) << "what was freed is still mapped";
    };
  });
  const Operand reads{&d, false};
  const engine::QueueIndex q = p.queue(&streams[0]);
  p.engine().launches.begin_launch(q, &reads, 1);
  p.engine().launches.end_launch(q, &reads, 1);
  EXPECT_TRUE(waits);
  p.expect_device(d, 2);
}

/// Two threads that need more than there is together do not take from each other what both have waited for.
TEST_F(Mapping, NobodyTakesTheRestOfTheSetMeanwhile) {
  Memory& third = p.on_device(2 * size);
  const Operand both[] = {{&resident, true}, {&d, true}};
  const engine::QueueIndex q = p.queue(&streams[0]);
  meanwhile(
      [&] {
        p.engine().launches.begin_launch(q, both, 2);
        p.engine().launches.end_launch(q, both, 2);
      },
      [&] {
        try {
          p.engine().copies.settle(third, third.all());
        } catch (const OutOfMemory&) {  // the launch uses all
        }
      });
  EXPECT_TRUE(stayed);
}

/// The last array goes while its memory is mapped: the engine is used until that ends.
TEST(MappingOfTheLastArray, IsNotTheEnd) {
  Program p(Mapping::options());
  Memory* const last = p.engine().lifetimes.allocate_device(0, "last", 4096);
  bool used = false;
  p.device().while_in(FakeDevice::call_map, [&] {
    std::thread([&] { p.engine().lifetimes.deallocate(last); }).join();
    used = p.engine().is_used();
  });
  EXPECT_THROW(p.engine().copies.settle(*last, last->all()), UsageError);
  EXPECT_TRUE(used);
  EXPECT_FALSE(p.engine().is_used());
}

/// So is it while a call does anything else without the lock, also where the call concerns no array.
TEST(Ending, WaitsForEveryCallThatHasGivenUpTheLock) {
  Program p(Mapping::options());
  int looks = 0;
  const std::function<void()> look = [&] {
    ++looks;
    EXPECT_TRUE(p.engine().is_used());
    p.when_unlocked(look);
  };
  const auto expect_used_in = [&](const char* what, const auto& call) {
    SCOPED_TRACE(what);
    EXPECT_FALSE(p.engine().is_used());
    looks = 0;
    p.when_unlocked(look);
    call();
    p.when_unlocked(nullptr);
    EXPECT_GT(looks, 0);
    EXPECT_FALSE(p.engine().is_used());
  };
  const engine::QueueIndex q = p.engine().adopt_queue(0, &streams[1], {}, engine::Engine::Lease::one_more);
  expect_used_in("the end of a queue", [&] { p.engine().retire_queue(q); });
  for (const bool on_device : {false, true}) {
    memory::TransitBuffer* buffer = nullptr;
    expect_used_in("taking memory for a message", [&] { buffer = p.engine().buffers.take(4096, on_device ? base::Side::device : base::Side::host); });
    p.engine().buffers.give(buffer);
  }
  memory::TransitBuffer* const large = p.engine().buffers.take(257u << 20, base::Side::host);
  expect_used_in("giving back memory that is not kept", [&] { p.engine().buffers.give(large); });
  std::byte* const foreign = p.device().allocate(4096);
  std::vector<std::byte> ordinary(4096);
  for (const bool refused : {false, true}) {
    if (refused) p.device().fail_call(1, FakeDevice::call_synchronize);
    expect_used_in("a copy between memory of others", [&] { p.engine().copies.copy(foreign, ordinary.data(), 4096); });
    EXPECT_EQ(looks, 1);
  }
  p.device().deallocate(foreign);
}

/// What the rest of the set has is given back once.
TEST_F(Mapping, EndsForASetOfWhichOneIsFreedMeanwhile) {
  Memory* const freed = p.engine().lifetimes.allocate_device(0, "freed", size);
  p.kernel_write(&streams[0], *freed, freed->all(), 1);
  Memory& neighbour = p.on_device(4096);
  p.kernel_write(&streams[0], neighbour, neighbour.all(), 4);
  const Operand both[] = {{freed, true}, {&d, true}};
  const engine::QueueIndex q = p.queue(&streams[0]);
  meanwhile([&] { EXPECT_THROW(p.engine().launches.begin_launch(q, both, 2), UsageError); }, [&] { p.engine().lifetimes.deallocate(freed); });
  p.expect_device(neighbour, 4);
  launch_on(d, 3);
  p.expect_device(d, 3);
}

/// The driver's own error, of a mapping that nobody can do without, and the budget as before at the next occasion.
TEST_F(Mapping, ThatIsRefusedOnceIsAskedForAgain) {
  p.device().fail_call(1, FakeDevice::call_map);
  const Operand both[] = {{&resident, true}, {&d, true}};
  const engine::QueueIndex q = p.queue(&streams[0]);
  EXPECT_THROW(p.engine().launches.begin_launch(q, both, 2), OutOfMemory);
  p.engine().audit();
  p.engine().launches.begin_launch(q, both, 2);
  p.engine().launches.end_launch(q, both, 2);
  EXPECT_EQ(p.counters().evictions, 0u);
}

/// A write saves what another array wants, in device memory that is being mapped. Each time somebody's launch pins the array meanwhile,
/// and something is freed before that launch ends.
TEST(MappingOfASavedCopy, IsNotDoneAgainWhileItsArrayIsPinned) {
  constexpr std::uint64_t size = 16 * 4096;
  Program::Options o = Program::defaults();
  o.device.finds_races = false;
  o.engine.device_memory_bytes = 64 * size;
  Program p(o);
  Memory& wants = p.on_device(size);
  Memory& m = p.on_device(size);
  p.kernel_write(&streams[0], m, m.all(), 1);
  p.device().synchronize_device();
  p.copy(wants, m);
  const Operand read{&m, false};
  const engine::QueueIndex q = p.queue(&streams[1]);
  int times = 0;
  std::function<void()> again = [&] {
    if (++times == 20) return;
    std::thread([&] { p.engine().launches.begin_launch(q, &read, 1); }).join();
    p.when_unlocked([&] {
      std::thread([&] {
        p.engine().launches.end_launch(q, &read, 1);
        p.engine().lifetimes.deallocate(p.engine().lifetimes.allocate_device(0, "another", size));
      }).join();
      p.device().while_in(FakeDevice::call_map, again);
    });
  };
  p.device().while_in(FakeDevice::call_map, again);
  p.kernel_write(&streams[0], m, m.all(), 2);
  p.device().while_in(FakeDevice::call_map, [] {});
  EXPECT_EQ(times, 1) << "memory for the copy is mapped again and again";
  p.expect_device(wants, 1);
}

/// What comes closed to the host, because uses of it are noticed, is open when that has ended meanwhile.
TEST(MappingOfGuardedMemory, IsOpenWhenUsesAreNoLongerNoticed) {
  constexpr std::uint64_t size = 16 * 4096;
  Program::Options o = Program::guarded();
  o.device.finds_races = false;
  Program p(o);
  Memory& written = p.on_device(size);
  Memory& other = p.on_device(size);
  Memory& d = p.on_device(size);
  p.kernel_write(&streams[0], written, written.all(), 1);
  p.device().while_in(FakeDevice::call_map, [&] {
    std::thread([&] {
      p.platform().refuse_protect = [](const std::byte*, std::uint64_t, platform::Protection to) {
        return to != platform::Protection::read_write;
      };
      p.copy(other, written);
    }).join();
  });
  p.kernel_write(&streams[0], d, d.all(), 2);
  EXPECT_EQ(p.engine().state().guarded_arena_bytes(), 0u);
  EXPECT_EQ(Program::protection(p, written, 0), platform::Protection::read_write);
  EXPECT_EQ(Program::protection(p, d, 0), platform::Protection::read_write) << "nobody serves faults of it";
}

/// Each round writes every second eighth first, and then the others: a transfer for each, of one chunk.
TEST(PageLockingOfChunks, ComesToChunksOfSeveralValues) {
  Program p;
  const std::uint64_t page = p.platform().page_bytes();
  Memory& d = p.on_device(64 * page);
  Memory& h = p.on_host(64 * page);
  for (std::uint64_t round = 1; round <= 3; ++round) {
    for (const std::uint64_t half : {0u, 1u}) {
      for (std::uint64_t b = half * 8; b < 64; b += 16) {
        p.engine().access(h, {b * page, (b + 8) * page}, Access::overwrite);
        p.host_write(h, {b * page, (b + 8) * page}, round);
      }
    }
    p.copy(d, h);
    p.expect_device(d, round);
    EXPECT_EQ(p.device().host_registrations(), 1u) << round;
  }
}

TEST(PageLockingOfChunks, ComesToAllOfThemWhereAKernelHoldsAPointer) {
  Program::Options o = Program::defaults();
  for (const bool foreign : {false, true}) {
    o.engine.registration_bytes = 4 * o.platform.page_bytes;
    Program p(o);
    Memory& h = p.on_host(16 * o.platform.page_bytes);
    p.host_write(h, h.all(), 1);
    if (foreign) {
      const device::DriverUse use{h.address, 0, device::DriverUse::Kind::argument, 0};
      auto call = p.engine().foreign_uses.begin_foreign_call(&use, 1, engine::ForeignCall::Kind::launch);
      if (call != nullptr) p.engine().foreign_uses.end_foreign_call(std::move(call));
    } else {
      p.engine().host_access.expose(h);
    }
    EXPECT_TRUE(h.open);
    EXPECT_EQ(p.device().host_registrations(), 4u) << foreign;
    EXPECT_EQ(p.counters().unannounced, foreign ? 1u : 0u);
  }
}

/// What stands for all arrays is pinned by one launch after the other without an end.
TEST(Transactions, WhatIsFreedUnderLaunchesThatUseAllArraysGoesWithTheOneThatUsesIt) {
  Program p(Program::emulated());
  Memory* const m = p.engine().lifetimes.allocate_device(0, "array", 16384);
  (void)p.on_device(16384);
  const engine::QueueIndex queues[] = {p.queue(&streams[0]), p.queue(&streams[1])};
  std::vector<Operand> operands[2];
  const auto begin = [&](int i) { p.engine().launches.begin_unknown_launch(queues[i], operands[i]); };
  const auto end = [&](int i) { p.engine().launches.end_launch(queues[i], operands[i].data(), operands[i].size()); };
  for (int i = 0; i < 2; ++i) {
    begin(0);
    end(0);
  }
  begin(0);
  p.engine().lifetimes.deallocate(m);
  EXPECT_TRUE(m->live) << "a launch uses it";
  begin(1);
  end(0);
  EXPECT_FALSE(m->live);
  begin(0);
  end(1);
  end(0);
}

/// A launch that may use any array begins while another one does. What stands for all arrays has the pins of one of them only, so
/// an array that is younger than the first one is free when the second one has ended.
TEST(Transactions, OfLaunchesThatUseAllArraysOnePinsWhatStandsForThem) {
  constexpr std::uint64_t size = 16384;
  Program::Options o = Program::defaults();
  o.device.finds_races = false;
  o.device.registers_host = false;
  Program p(o);
  const engine::QueueIndex queues[] = {p.queue(&streams[0]), p.queue(&streams[1])};
  Memory& d = p.on_device(size);
  Memory& h = p.on_host(size);
  p.kernel_write(&streams[0], d, d.all(), 1);
  p.host_write(h, h.all(), 2);
  p.copy(d, h);
  std::vector<Operand> operands[2];
  const auto begin = [&](int i) { p.engine().launches.begin_unknown_launch(queues[i], operands[i]); };
  const auto end = [&](int i) { p.engine().launches.end_launch(queues[i], operands[i].data(), operands[i].size()); };
  Memory* young = nullptr;
  p.when_unlocked([&] {  // while page-locking is tried, which others would wait for
    p.when_unlocked([&] {
      std::thread([&] {
        begin(0);
        young = p.engine().lifetimes.allocate_device(0, "young", size);
      }).join();
    });
  });
  begin(1);
  ASSERT_NE(young, nullptr) << "the second launch has waited for nothing";
  EXPECT_EQ(p.engine().state().home().everything.pins.load(), 1u);
  end(1);
  EXPECT_FALSE(p.engine().state().pinned(*young)) << "no launch under way uses it";
  end(0);
  p.engine().lifetimes.deallocate(young);
  p.expect_device(d, 2);
}

/// Both sides of an array hold what another one wants. A copy from one side to the other, shifted by a little, overwrites it in one side
/// after fetching has overwritten it in the other.
TEST(Transactions, AShiftBetweenSidesThatHoldWhatSomebodyWantsSavesIt) {
  for (const bool emulated : {false, true}) {
    Program p(emulated ? Program::emulated() : Program::defaults());
    constexpr std::uint64_t size = 16 * 4096;
    Memory& d = p.on_device(size);
    Memory& h = p.on_host(size, &d);
    Memory& wants = p.on_device(size);
    Memory& other = p.on_device(size);
    p.host_write(h, h.all(), 1);
    p.expect_device(d, 1);
    p.copy(wants, d);
    p.kernel_write(&streams[0], other, other.all(), 2);
    p.device().synchronize_device();
    p.copy(d, other);
    p.engine().copies.copy(h.address + 8, d.address, size - 8);
    p.engine().audit();
    p.expect_device(wants, 1);
  }
}

/// Of eight threads each has its own arrays; three arrays fit.
void run_threads(device::DeviceKind kind) {
  constexpr std::uint64_t size = 5 * 4096;
  constexpr int threads = 8, rounds = 10, steps = 100, arrays = 3;
  Program::Options o = Program::defaults();
  o.device.kind = kind;
  o.device.eagerness = 20;
  o.device.finds_races = false;
  o.device.asynchronous = kind != device::DeviceKind::emulated;
  o.engine.device_memory_bytes = 3 * 32768;
  std::atomic<int> wrong{0};
  Machine p(o, [&](const std::string& text) {
    if (++wrong < 5) ADD_FAILURE() << text;
  });
  p.platform().watch({});
  const auto again = [](const auto& call) {  // others' arrays may be in use just now
    for (;;) {
      try {
        return call();
      } catch (const OutOfMemory&) {
        std::this_thread::yield();
      }
    }
  };
  const auto program = [&](int me) {
    void* const stream = &streams[me];
    Random random(static_cast<std::uint64_t>(me) + 1);
    for (int round = 0; round < rounds; ++round) {
      Memory* on_device[arrays];
      Memory* on_host[arrays];
      for (int i = 0; i < arrays; ++i) {
        on_device[i] = p.engine().lifetimes.allocate_device(0, "device", size);
        on_host[i] = p.engine().lifetimes.allocate_host("host", size, i == 0 ? on_device[i] : nullptr);
      }
      for (int step = 0; step < steps; ++step) {
        const std::uint64_t seed = random.next();
        const std::size_t which = random.below(arrays);
        Memory& d = *on_device[which];
        Memory& h = *on_host[which];
        const auto expect = [&](const std::byte* seen, const char* what) {
          for (std::uint64_t i = 0; i < size; ++i) {
            if (seen[i] == Machine::mix(seed, i)) continue;
            if (++wrong < 5) ADD_FAILURE() << what << ", byte " << i;
            return;
          }
        };
        const engine::QueueIndex q = p.queue(stream);
        const Operand operand{&d, true};
        again([&] { p.engine().launches.begin_launch(q, &operand, 1); });
        std::byte* const base = d.address;
        p.device().launch(stream, {{base, size, true}}, [base, seed, size] {
          for (std::uint64_t i = 0; i < size; ++i) base[i] = Machine::mix(seed, i);
        });
        p.engine().launches.end_launch(q, &operand, 1);
        if (which != 0) p.copy(h, d);
        if (random.chance(30)) {
          const std::uint64_t at = random.below(size);
          p.touch_page(h.address + at, false);
          if (h.address[at] != Machine::mix(seed, at) && ++wrong < 5) ADD_FAILURE() << "a fault";
        }
        if (random.chance(30)) {
          p.engine().access(h, h.all(), Access::read);
          expect(h.address, "an announced read");
        }
        if (random.chance(20)) again([&] { p.engine().foreign_uses.native_capture(d, timeline::Mode::reads); });
        if (random.chance(20)) {
          std::vector<std::byte> seen(size);
          again([&] { p.engine().copies.copy(seen.data(), d.address, size); });
          expect(seen.data(), "a copy to other memory");
        }
      }
      for (int i = 0; i < arrays; ++i) {
        p.engine().lifetimes.deallocate(random.chance(50) ? std::exchange(on_device[i], nullptr) : std::exchange(on_host[i], nullptr));
        p.engine().lifetimes.deallocate(on_device[i]);
        p.engine().lifetimes.deallocate(on_host[i]);
      }
    }
  };
  std::vector<std::thread> running;
  for (int i = 0; i < threads; ++i) running.emplace_back(program, i);
  for (std::thread& t : running) t.join();
  p.engine().audit();
  EXPECT_EQ(wrong.load(), 0);
}

TEST(Transactions, ManyThreadsWithLittleMemory) { run_threads(device::DeviceKind::cuda); }
TEST(Transactions, ManyThreadsWithLittleMemoryEmulated) { run_threads(device::DeviceKind::emulated); }

}  // namespace
}  // namespace semcache::fakes
