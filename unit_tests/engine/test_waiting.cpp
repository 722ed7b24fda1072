// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "program.hpp"

#include <gtest/gtest.h>

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <functional>
#include <string>
#include <thread>

/// Who waits for the launches of other threads, and who lets whom go first.
namespace semcache::fakes {
namespace {

using device::DriverUse;
using engine::Memory;
using engine::Operand;
using namespace std::chrono_literals;

constexpr std::uint64_t page = 4096;
constexpr std::uint64_t size = 4 * page;
char streams[2];

/// What a test says of its threads.
struct Said final : engine::Surroundings {
  bool in_launch() const noexcept override { return launches; }
  bool in_launch_of(const Memory& m) const noexcept override { return launches && &m == of; }
  platform::Holder help_holder(const Memory& m, const void*& where) override {
    if (&m != of) return platform::Holder::runs;
    where = waits_at;
    return help ? help() : platform::Holder::runs;
  }
  void look_around() noexcept override {
    ++looks;
    if (holds.exchange(false)) with_lock();
  }
  /// The next launch that takes the lock calls `body` while it has the lock.
  void hold_once(std::function<void()> body) {
    with_lock = std::move(body);
    holds = true;
  }

  bool launches = false;
  const Memory* of = nullptr;
  const void* waits_at = nullptr;
  std::function<platform::Holder()> help;
  std::function<void()> with_lock;
  std::atomic<bool> holds{false};
  std::atomic<int> looks{0};
};

/// An array that a kernel has written, and a mirror that wants its content.
struct Waiting : ::testing::Test {
  static Machine::Options options(Said& said) {
    Machine::Options o = Program::defaults();
    o.device.finds_races = false;  // one clock for the host: threads have several
    o.engine.surroundings = &said;
    o.engine.patience = 1s;
    return o;
  }
  Waiting() {
    p.platform().watch({});
    p.kernel_write(&streams[0], d, d.all(), 1);
    p.copy(h, d);
    q = p.queue(&streams[0]);
  }
  void begin() { p.engine().launches.begin_launch(q, &reads, 1); }
  void end() { p.engine().launches.end_launch(q, &reads, 1); }
  /// Another thread reads the mirror; afterwards it waits for the launch under way.
  void start_reader() {
    reader = std::thread([this] { p.expect_host(h, 1); });
    while ((d.flags.load() & Memory::is_fresh) != 0) std::this_thread::yield();
    (void)p.engine().is_used();  // under the lock: it has been given up there
  }

  Said said;
  Program p{options(said)};
  Memory& d = p.on_device(size);
  Memory& h = p.on_host(size);
  engine::QueueIndex q{};
  Operand reads{&d, false};
  std::thread reader;
};

TEST_F(Waiting, ALaunchLetsGoFirstWhoWaitsForItsOperands) {
  begin();
  start_reader();
  end();
  begin();
  EXPECT_EQ(p.device().copied.from_device, size) << "the reader has had its turn";
  end();
  reader.join();
}

TEST_F(Waiting, SoDoesALaunchThatMayUseAnything) {
  begin();
  start_reader();
  end();
  std::vector<Operand> all;
  p.engine().launches.begin_unknown_launch(q, all);
  EXPECT_EQ(p.device().copied.from_device, size);
  p.engine().launches.end_launch(q, all.data(), all.size());
  reader.join();
}

TEST_F(Waiting, ALaunchOutsideOurSightLetsGoFirstWhoWaitsForTheDevice) {
  p.engine().foreign_uses.native_capture(d, timeline::Mode::reads);  // somebody's kernel may use it: who wants its content waits for the device
  std::thread other;
  std::atomic<bool> captured{false};
  p.device().meanwhile = [&] {  // while the reader waits
    other = std::thread([&] {
      p.engine().foreign_uses.native_capture(d, timeline::Mode::reads);
      captured = true;
    });
    for (int i = 0; i < 20; ++i) {
      std::this_thread::sleep_for(1ms);
      EXPECT_FALSE(captured);
    }
  };
  p.expect_host(h, 1);
  other.join();
}

TEST_F(Waiting, ALaunchOfOtherArraysDoesNotWait) {
  Memory& other = p.on_device(size);
  begin();
  start_reader();
  const Operand writes{&other, true};
  for (int i = 0; i < 100; ++i) {
    p.engine().launches.begin_launch(q, &writes, 1);
    p.engine().access(other, other.all(), Access::read);  // so that the next one looks closer, and sets flags anew
    p.engine().launches.end_launch(q, &writes, 1);
    ASSERT_EQ(d.flags.load() & Memory::is_fresh, 0u) << "the next launch would not look closer";
  }
  EXPECT_EQ(p.device().copied.from_device, 0u);
  end();
  reader.join();
}

TEST_F(Waiting, ALaunchWithinALaunchDoesNotWait) {
  begin();
  start_reader();
  said.launches = true;
  begin();
  EXPECT_EQ(p.device().copied.from_device, 0u);
  end();
  said.launches = false;
  end();
  reader.join();
}

TEST_F(Waiting, AKernelThatWaitsForAnotherThreadsLaunchGetsIt) {
  begin();
  start_reader();
  begin();  // of another thread: after the patience
  EXPECT_EQ(p.device().copied.from_device, 0u);
  end();
  end();
  reader.join();
}

TEST_F(Waiting, LaunchesThatLookCloserLookAround) {
  const int before = said.looks;
  begin();
  start_reader();
  end();
  reader.join();
  EXPECT_EQ(said.looks, before);
  p.engine().access(d, d.all(), Access::read);  // takes flags away
  Memory& stale = p.on_device(size);
  const Operand writes{&stale, true};
  p.engine().launches.begin_launch(q, &writes, 1);
  p.engine().launches.end_launch(q, &writes, 1);
  EXPECT_GT(said.looks, before);
}

TEST_F(Waiting, TheFaultOfTheHolderIsServedFirst) {
  Memory& other = p.on_host(size);
  p.kernel_write(&streams[0], d, d.all(), 2);
  p.copy(other, d);
  begin();
  said.of = &d;
  int helped = 0;
  Memory& independent = p.on_host(size);
  said.help = [&] {
    // The thread of the launch waits for something else. Its launch ends when it has got that.
    if (++helped > 1) return platform::Holder::runs;
    p.host_write(independent, independent.all(), 5);
    end();
    return platform::Holder::was_helped;
  };
  p.expect_host(other, 2);
  EXPECT_EQ(helped, 1);
  p.expect_host(independent, 5);
  p.expect_host(h, 1);
}

using WaitingDeathTest = Waiting;

TEST_F(WaitingDeathTest, WhoWaitsForEachOtherEnds) {
  begin();
  said.of = &d;
  said.waits_at = h.address + 8;
  said.help = [] { return platform::Holder::waits_for_the_same; };
  EXPECT_DEATH(p.expect_host(h, 1),
               "access to 'host array' .*'device array', which a kernel uses.*access to 'host array' .*"
               "neither can go on.*semcache::access");
  end();
  said.help = nullptr;
  p.expect_host(h, 1);
}

TEST_F(Waiting, AFaultDoesNotWaitForWhatItWouldReadAhead) {
  constexpr std::uint64_t swept = 41 * page;
  Memory& other = p.on_device(swept);
  Memory& both = p.on_host(swept + size);
  p.kernel_write(&streams[0], other, other.all(), 3);
  p.engine().copies.copy(both.address, other.address, swept);
  p.engine().copies.copy(both.address + swept, d.address, size);
  begin();
  said.of = &d;
  said.waits_at = both.address;
  said.help = [] { return platform::Holder::waits_for_the_same; };
  p.expect_host(both, {0, swept}, 3);
  said.help = nullptr;
  end();
  std::vector<std::byte> rest(size);
  p.host_read(both, {swept, swept + size}, rest.data());
  Program::expect(rest, {0, size}, 1, "host");
}

TEST_F(Waiting, AFaultDoesNotWaitForShorterMaps) {
  constexpr std::uint64_t pages = 400;
  Memory& large = p.on_host(pages * page);
  p.engine().copies.copy(large.address + (pages - 4) * page, d.address, size);
  begin();
  said.of = &d;
  said.waits_at = large.address;
  said.help = [] { return platform::Holder::waits_for_the_same; };
  for (std::uint64_t at = 0; at + 8 < pages; at += 2) p.host_write(large, {at * page, at * page + 1}, at);
  said.help = nullptr;
  end();
  std::vector<std::byte> rest(size);
  p.host_read(large, {(pages - 4) * page, pages * page}, rest.data());
  Program::expect(rest, {0, size}, 1, "host");
}

TEST_F(Waiting, WhoWaitsToSaveMakesNoCopyBeforeItCan) {
  Memory& wanter = p.on_device(size);
  p.copy(wanter, d);
  begin();
  std::thread writer([this] { p.kernel_write(&streams[0], d, d.all(), 2); });
  while (d.awaited == 0) {
    (void)p.engine().is_used();
    std::this_thread::yield();
  }
  for (int i = 0; i < 20; ++i) {
    std::this_thread::sleep_for(1ms);
    Statistics s;
    p.engine().add_to(s);
    ASSERT_LE(s.snapshot_bytes, size) << "saved copies pile up";
  }
  end();
  writer.join();
  p.expect_host(h, 1);
}

TEST_F(Waiting, WhatWouldWaitForItsOwnLaunchIsRefused) {
  begin();
  said.launches = true;
  said.of = &d;
  EXPECT_THROW(p.engine().access(h, h.all(), Access::read), UsageError);
  said.launches = false;
  end();
  p.expect_host(h, 1);
}

// --- the lock itself ---------------------------------------------------------------------------------------------------

/// Returns whether the thread sleeps, as a thread does that waits for a lock.
bool sleeps(pid_t thread) {
  std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/stat");
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const std::size_t name_ends = text.rfind(") ");
  return name_ends != std::string::npos && text[name_ends + 2] == 'S';
}

/// Counts launches until the first step is made.
struct UntilFirstStep final : plan::Observer {
  explicit UntilFirstStep(Said& s) : said(s) {}
  void done(const plan::Step&) noexcept override {
    if (looks < 0) looks = said.looks.load();
  }
  void refused(const plan::Step&) noexcept override {}
  Said& said;
  std::atomic<int> looks{0};
};

/// Launches that need the lock, without a pause between them: a thread that serves a fault has to wake up first when it gets the lock, so they
/// would take it again before.
TEST(WaitingForTheLock, AFaultComesBeforeFurtherLaunches) {
  for (int round = 0; round < 20; ++round) {
    Said said;
    UntilFirstStep until(said);
    Machine::Options o = Waiting::options(said);
    o.engine.check = true;  // so that every launch takes the lock
    o.engine.observer = &until;
    Program p(o);
    p.platform().watch({});
    Memory& d = p.on_device(size);
    Memory& h = p.on_host(size);
    Memory& launched = p.on_device(size);
    // The first fault gets staging memory, and the next locks the mirror's pages. Each gives the engine's lock up for it, so that launches may come
    // first. The last need not.
    for (const std::uint64_t seed : {3, 4, 1}) {
      p.kernel_write(&streams[0], d, d.all(), seed);
      p.copy(h, d);
      if (seed != 1) p.expect_host(h, seed);
    }
    p.kernel_write(&streams[0], launched, launched.all(), 2);
    p.device().synchronize_device();
    const engine::QueueIndex q = p.queue(&streams[0]);

    const pid_t reader = ::gettid();
    std::atomic<bool> may_read{false}, stop{false};
    int looks_at_fault = 0;
    std::thread launcher([&] {
      const Operand reads{&launched, false};
      while (!stop) {
        p.engine().launches.begin_launch(q, &reads, 1);
        p.engine().launches.end_launch(q, &reads, 1);
      }
    });
    while (said.looks < 10) std::this_thread::yield();
    // The launch that has the lock keeps it until the reader waits for it.
    said.hold_once([&] {
      may_read = true;
      // On its way to the lock it may sleep for a moment where another thread has something else that it needs.
      for (int asleep = 0; asleep < 5; asleep = sleeps(reader) ? asleep + 1 : 0) std::this_thread::sleep_for(1ms);
      looks_at_fault = said.looks.load();
      until.looks = -1;
    });
    while (!may_read) std::this_thread::yield();
    p.expect_host(h, 1);
    stop = true;
    launcher.join();
    EXPECT_EQ(until.looks - looks_at_fault, 0) << "launches had the lock before the fault";
  }
}

// --- from within a driver's call -------------------------------------------------------------------------------------

/// A raw kernel that uses a device array whose content must come from the one that a launch uses.
struct WaitingInADriversCall : Waiting {
  WaitingInADriversCall() { p.copy(target, d); }
  void raw_kernel() {
    const DriverUse use{target.address, 0, DriverUse::Kind::argument, 0};
    p.engine().foreign_uses.end_foreign_call(p.engine().foreign_uses.begin_foreign_call(&use, 1, engine::ForeignCall::Kind::launch));
  }
  Memory& target = p.on_device(size);
};

TEST_F(WaitingInADriversCall, ALaunchThatNeverGetsToItsSubmissionEndsTheWait) {
  p.device().tells_idle = true;
  p.device().synchronize_device();
  begin();
  EXPECT_THROW(raw_kernel(), SystemError);
  end();
  raw_kernel();
  p.expect_host(h, 1);
}

TEST_F(WaitingInADriversCall, ALaunchWhoseKernelRunsIsWaitedFor) {
  p.device().tells_idle = true;
  p.device().synchronize_device();
  begin();
  p.device().launch(&streams[0], {{d.address, size, false}}, [] {});
  std::thread kernel([this] {
    std::this_thread::sleep_for(2500ms);  // of a patience of one second
    p.device().synchronize_device();
    end();
  });
  EXPECT_NO_THROW(raw_kernel());
  kernel.join();
  p.expect_host(h, 1);
}

}  // namespace
}  // namespace semcache::fakes
