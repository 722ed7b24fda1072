// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "program.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <functional>
#include <future>
#include <thread>
#include <vector>

/// Copies between arrays on a GPU and ordinary memory of the program's, which are made without the engine's lock.
namespace semcache::fakes {
namespace {

using engine::Memory;

char stream;
constexpr std::uint64_t page = 4096;

/// An array that a kernel has written, in a device's memory that has room for it or for three others.
struct Crowded {
  explicit Crowded(std::chrono::nanoseconds patience = Program::defaults().engine.patience) : p(options(patience)) {
    p.kernel_write(&stream, copied, copied.all(), 1);
  }
  static Program::Options options(std::chrono::nanoseconds patience) {
    Program::Options o = Program::defaults();
    o.device.granularity_bytes = page;
    o.engine.device_memory_bytes = 4 * page;
    o.engine.patience = std::chrono::duration_cast<decltype(o.engine.patience)>(patience);
    return o;
  }
  /// A kernel that uses the others.
  void launch(engine::QueueIndex q) {
    const engine::Operand operands[] = {{others[0], true}, {others[1], true}, {others[2], true}};
    (void)p.engine().launches.begin_launch(q, operands, 3);
    p.engine().launches.end_launch(q, operands, 3);
  }
  /// A copy of the array to ordinary memory, during which another thread launches that kernel.
  /// @param expected  what the launch has come to when the copy has waited for it so long
  void copy_beside(const std::function<void()>& launching, std::chrono::milliseconds wait, std::future_status expected) {
    p.device().slow = [&](const char* what) {
      if (std::strcmp(what, "a copy of pageable memory") != 0 || other.valid()) return;
      other = std::async(std::launch::async, launching);
      EXPECT_EQ(other.wait_for(wait), expected);
    };
    p.engine().copies.copy(target.data(), copied.address, page);
    p.device().slow = nullptr;
    ASSERT_TRUE(other.valid());
  }

  Program p;
  Memory& copied = p.on_device(page);
  Memory* others[3] = {&p.on_device(page), &p.on_device(page), &p.on_device(page)};
  std::vector<std::byte> target = std::vector<std::byte>(page);
  std::future<void> other;
};

TEST(PageableCopies, SmallOnesUseTheSameStagingMemory) {
  Program p;
  Memory& d = p.on_device(page);
  const std::vector<std::byte> source(64, std::byte{7});
  for (int i = 0; i < 200; ++i) p.engine().copies.copy(d.address, source.data(), source.size());
  EXPECT_LE(p.engine().state().flights.size(), 1u);
  EXPECT_LE(p.device().staging_bytes(), 2 * page);
  EXPECT_EQ(p.device_content(&stream, d)[63], std::byte{7});
}

TEST(PageableCopies, LargeOnesAndColumnsArriveWhole) {
  Program::Options o = Program::defaults();
  o.device.arena_bytes = o.engine.device_memory_bytes = 128u << 20;
  Program p(o);
  Memory& d = p.on_device((9u << 20) + 100);
  std::vector<std::byte> source(d.bytes);
  for (std::uint64_t i = 0; i < d.bytes; ++i) source[i] = Machine::mix(3, i);
  const Counters before = p.counters();
  p.engine().copies.copy(d.address, source.data(), d.bytes);
  std::memset(source.data(), 0, source.size());  // the program may change the source behind the call
  p.expect_device(d, 3);
  EXPECT_EQ(p.counters().h2d.bytes - before.h2d.bytes, d.bytes);
  std::vector<std::byte> target(d.bytes);
  p.engine().copies.copy(target.data(), d.address, d.bytes);
  for (std::uint64_t i = 0; i < d.bytes; ++i) ASSERT_EQ(target[i], Machine::mix(3, i)) << i;
  EXPECT_EQ(p.counters().d2h.bytes - before.d2h.bytes, d.bytes);
  // Columns far apart: what is staged at once is their bytes, not the memory from the first to the last one.
  const std::uint64_t pitch = 128 * 1024, width = 96 * 1024, columns = 65;
  const std::uint64_t transfers = p.counters().h2d.count;
  p.engine().copies.copy(d.address, target.data(), {width, columns, pitch, pitch});
  EXPECT_EQ(p.counters().h2d.count - transfers, 4u) << "6 MiB in pieces of 2";
}

/// Where the bytes are saved that such a copy overwrites depends on the transfers of the mirror that wants them. It must not depend on how far those are.
TEST(PageableCopies, SaveWhatTheyOverwriteInOnePlaceWhateverHasArrived) {
  constexpr std::uint64_t size = 64 * page;
  const auto saved_on_the_host = [](bool has_arrived) {
    Program::Options o = Program::defaults();
    o.engine.device_memory_bytes = 8 * size;
    o.engine.snapshot_share_percent = 0;  // none on the device
    Program p(o);
    Memory &d = p.on_device(size), &other = p.on_device(size), &h = p.on_host(size);
    for (std::uint64_t seed = 10; seed < 14; ++seed) {  // its pages get locked
      p.host_write(h, h.all(), seed);
      p.copy(other, h);
      p.kernel_write(&stream, other, {0, page}, seed + 10);
      p.device().synchronize_device();
      p.copy(h, other);
      std::vector<std::byte> seen(size);
      p.host_read(h, h.all(), seen.data());
    }
    p.host_write(h, h.all(), 3);
    p.copy(other, h);
    p.kernel_write(&stream, other, {0, page}, 4);  // a transfer of the mirror's pages is under way
    p.kernel_write(&stream, d, d.all(), 5);
    if (has_arrived) p.device().synchronize_device();
    p.copy(h, d);
    const std::vector<std::byte> ordinary(size, std::byte{7});
    p.engine().copies.copy(d.address, ordinary.data(), size);
    Statistics s{};
    p.engine().add_to(s);
    p.expect_host(h, 5);
    return s.snapshot_bytes;
  };
  EXPECT_EQ(saved_on_the_host(true), saved_on_the_host(false));
}

/// Launches of which nobody can tell what they use count as writes of every array. A series of them without end keeps a copy waiting for one of them.
TEST(PageableCopies, UnknownLaunchesWithoutEndDoNotKeepACopyWaiting) {
  Program::Options o = Program::defaults();
  o.engine.patience = std::chrono::seconds(0);  // launches let a waiting thread go first, which is this one
  Program p(o);
  Memory& d = p.on_device(page);
  p.kernel_write(&stream, d, d.all(), 1);
  (void)p.queue(&stream);
  const auto launch = [&] {
    const engine::Operand operand{&d, false};
    const engine::QueueIndex q = p.queue(&stream);
    (void)p.engine().launches.begin_launch(q, &operand, 1);
    p.device().launch(&stream, Machine::touches({operand}), [] {});
    p.engine().launches.end_launch(q, &operand, 1);
  };
  int launches = 0;
  const std::function<void()> one_more = [&] {
    if (++launches > 20) return;
    launch();
    p.when_unlocked(one_more);
  };
  launch();
  p.when_unlocked(one_more);
  std::vector<std::byte> target(page);
  p.engine().copies.copy(target.data(), d.address, page);
  p.when_unlocked(nullptr);
  Program::expect(target, d.all(), 1, "ordinary memory");
  EXPECT_LE(launches, 6);
}

/// An array that is being copied to ordinary memory cannot leave the device. Whoever needs the room waits for the copy's end.
TEST(PageableCopies, WhoNeedsTheRoomWaits) {
  Crowded c;
  const auto launching = [&] {
    // As inside a call of the driver, where nobody waits for launches, because these may wait for this thread.
    base::Patience patience(std::chrono::seconds(60));
    engine::here().in_driver_call = &patience;
    const base::AtEnd outside([] { engine::here().in_driver_call = nullptr; });
    c.launch(c.p.queue(&stream));
  };
  c.copy_beside(launching, std::chrono::milliseconds(100), std::future_status::timeout);
  EXPECT_NO_THROW(c.other.get());
  Program::expect(c.target, c.copied.all(), 1, "ordinary memory");
  c.p.expect_device(c.copied, 1);
}

/// Others may copy without a pause, so whoever needs room that they keep waits no longer than for launches.
TEST(PageableCopies, WhoNeedsTheRoomWaitsForAWhile) {
  Crowded c(std::chrono::seconds(0));
  c.copy_beside([&] { c.launch(c.p.queue(&stream)); }, std::chrono::seconds(20), std::future_status::ready);
  EXPECT_THROW(c.other.get(), OutOfMemory);
  Program::expect(c.target, c.copied.all(), 1, "ordinary memory");
}

/// Where the driver locks no memory, it copies ordinary memory itself.
TEST(PageableCopies, NeedNoPageLockedMemory) {
  Program::Options o = Program::defaults();
  o.device.arena_bytes = o.engine.device_memory_bytes = 64u << 20;
  Program p(o);
  Memory& d = p.on_device((9u << 20) + 100);
  std::vector<std::byte> source(d.bytes);
  for (std::uint64_t i = 0; i < d.bytes; ++i) source[i] = Machine::mix(5, i);
  const Counters before = p.counters();
  p.device().fail_call(1, FakeDevice::call_staging);
  p.engine().copies.copy(d.address, source.data(), d.bytes);
  std::memset(source.data(), 0, source.size());
  p.expect_device(d, 5);
  EXPECT_EQ(p.counters().h2d.bytes - before.h2d.bytes, d.bytes);
}

/// A thread inside a call of the driver gives up waiting for launches after a while, because they may wait for this thread. A copy does not, and may
/// take longer.
TEST(PageableCopies, ACallOfTheDriverWaitsForTheirEnd) {
  Program::Options o = Program::defaults();
  o.engine.patience = std::chrono::seconds(0);
  Program p(o);
  p.device().tells_idle = true;
  constexpr std::uint64_t bytes = 65536;  // the largest page that tests use: a copy to a mirror of less than a page is not put off
  Memory& d = p.on_device(bytes);
  Memory& wants = p.on_host(bytes);
  p.kernel_write(&stream, d, d.all(), 1);
  p.copy(wants, d);  // so the call must save what the array holds
  p.device().synchronize_device();
  std::vector<std::byte> target(bytes);
  std::future<void> other;
  p.device().slow = [&](const char* what) {
    if (std::strcmp(what, "a copy of pageable memory") != 0 || other.valid()) return;
    other = std::async(std::launch::async, [&] {
      device::DriverUse write{};
      write.address = d.address;
      write.bytes = bytes;
      write.kind = device::DriverUse::Kind::write;
      engine::ForeignStream where;
      where.devices = 1;
      if (auto call = p.engine().foreign_uses.begin_foreign_call(&write, 1, engine::ForeignCall::Kind::transfer, where)) {
        p.engine().foreign_uses.end_foreign_call(std::move(call));
      }
    });
    EXPECT_EQ(other.wait_for(std::chrono::milliseconds(100)), std::future_status::timeout);
  };
  p.engine().copies.copy(target.data(), d.address, bytes);
  p.device().slow = nullptr;
  ASSERT_TRUE(other.valid());
  EXPECT_NO_THROW(other.get());
  Program::expect(target, d.all(), 1, "ordinary memory");
}

/// Pins end without the engine's lock, so a copy may end at any moment of the search for memory that may leave. A thread inside a call of the
/// driver, which waits for no launch, finds room whenever it asks, as long as only copies stand in its way.
TEST(PageableCopies, ThatEndDuringASearchForRoomLeaveIt) {
  Crowded c;
  std::atomic<bool> over{false};
  c.other = std::async(std::launch::async, [&] {
    const base::AtEnd ended([&] { over = true; });
    base::Patience patience(std::chrono::seconds(60));
    engine::here().in_driver_call = &patience;
    const base::AtEnd outside([] { engine::here().in_driver_call = nullptr; });
    const engine::QueueIndex q = c.p.queue(&stream);
    for (int i = 0; i < 5000; ++i) c.launch(q);
  });
  do {  // once at least: the other thread may have been faster
    c.p.engine().copies.copy(c.target.data(), c.copied.address, page);
  } while (!over);
  EXPECT_NO_THROW(c.other.get());
  Program::expect(c.target, c.copied.all(), 1, "ordinary memory");
}

/// What others want of the destination is saved once, before its first byte is overwritten (I9).
TEST(PageableCopies, SaveWhatOthersWantAtOnce) {
  Program::Options o = Program::defaults();
  o.device.arena_bytes = o.engine.device_memory_bytes = 64u << 20;
  Program p(o);
  Memory& d = p.on_device(9u << 20);
  Memory& wants = p.on_device(d.bytes);
  p.kernel_write(&stream, d, d.all(), 1);
  p.copy(wants, d);
  const std::vector<std::byte> source(d.bytes, std::byte{9});
  const Counters before = p.counters();
  p.engine().copies.copy(d.address, source.data(), d.bytes);
  EXPECT_EQ(p.counters().saved_device.count - before.saved_device.count, 1u);
  EXPECT_EQ(p.counters().saved_device.bytes - before.saved_device.bytes, d.bytes);
  p.expect_device(wants, 1);
}

/// The array is freed while the copy waits before its first piece, and its object is another array's when the wait ends.
TEST(PageableCopies, OfAFreedArrayLeaveOthersAlone) {
  Program::Options o = Program::defaults();
  o.device.arena_bytes = o.engine.device_memory_bytes = 64u << 20;
  Program p(o);
  engine::Lifetimes& lifetimes = p.engine().lifetimes;
  Memory* const freed = lifetimes.allocate_device(0, "freed", 9u << 20);
  Memory* const part = lifetimes.allocate_host_part(*freed, Region(0, page));
  const engine::Requirement use{part, Region(0, page), Access::overwrite};
  p.engine().host_uses.begin(&use, 1);
  const std::vector<std::byte> source(freed->bytes);
  Memory* other = nullptr;
  int times = 0;
  const std::function<void()> move = [&] {
    if (++times < 2) return p.when_unlocked(move);
    std::thread([&] {
      p.engine().host_uses.end(&use, 1);
      lifetimes.deallocate(part);
      lifetimes.deallocate(freed);
      (void)p.on_device(page);  // it has the part's object
      other = &p.on_device(page);
      p.kernel_write(&stream, *other, other->all(), 7);
      p.copy(p.on_device(page), *other);
    }).join();
  };
  p.when_unlocked(move);
  EXPECT_THROW(p.engine().copies.copy(freed->address, source.data(), source.size()), UsageError);
  ASSERT_EQ(other, freed);
  EXPECT_EQ(p.counters().saved_device.bytes, 0u);
  p.expect_device(*other, 7);
}

}  // namespace
}  // namespace semcache::fakes
