// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "program.hpp"

#include <semcache/engine/preparation.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

/// A task of a library call that writes an array itself, not a tile, on a lane. Who uses the array afterwards is ordered behind it, also when
/// a kernel of the program has been ordered behind it before.
namespace semcache::fakes {
namespace {

using engine::Memory;
using engine::Operand;
using engine::QueueIndex;
using engine::Requirement;

constexpr std::uint64_t bytes = 16 * 4096;
char lane;
char streams[4];

Program::Options with_devices(unsigned count) {
  Program::Options o = Program::defaults();
  o.devices = count;
  o.device.eagerness = 0;  // work is carried out when somebody waits for it, and not before
  return o;
}

void expect_content(const Memory& d, std::uint64_t seed) {
  for (std::uint64_t i = 0; i < bytes; ++i) ASSERT_EQ(d.address[i], Machine::mix(seed, i)) << "byte " << i << " is stale";
}

/// A program whose task has written an array in place, and perhaps a kernel of the default stream that has read the array behind that.
struct Written : Program {
  explicit Written(bool is_read, unsigned devices = 1) : Program(with_devices(devices)), d(on_device(bytes)) {
    if (devices > 1) (void)queue(&streams[1], 1);
    for (int i = 0; i < 2; ++i) {
      kernel_write({&streams[0], 0}, d, d.all(), 1);
      device().synchronize_device();
    }
    const Operand written{&d, true};
    const QueueIndex q = engine().adopt_lane(0, &lane, {});
    engine().launches.begin_launch(q, &written, 1);
    device().launch(Stream{&lane, 0}, Machine::touches({written}), [this] {
      for (std::uint64_t i = 0; i < bytes; ++i) d.address[i] = Machine::mix(2, i);
    });
    engine().launches.end_launch(q, &written, 1);
    EXPECT_TRUE(d.ordered);
    if (is_read) launch({&streams[0], 0}, {{&d, false}}, [this] { expect_content(d, 2); });
  }
  /// A kernel that the engine was not told of with its operands.
  void raw_kernel(Stream stream, bool writes = false) {
    device().launch(stream, {{d.address, bytes, writes}}, [this, writes] {
      if (!writes) return expect_content(d, 2);
      for (std::uint64_t i = 0; i < bytes; ++i) d.address[i] = Machine::mix(3, i);
    });
    device().synchronize_stream(stream);
    device().synchronize_device();
  }

  Memory& d;
};

class TasksInPlaceOfBothKinds : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Tasks, TasksInPlaceOfBothKinds, testing::Bool(),
                         [](const auto& info) { return info.param ? "ReadByAKernelBefore" : "NotReadBefore"; });

TEST_P(TasksInPlaceOfBothKinds, PrecedeAKernelOnANewStream) {
  Written p(GetParam());
  p.launch({&streams[1], 0}, {{&p.d, false}}, [&p] { expect_content(p.d, 2); });
  p.device().synchronize_stream({&streams[1], 0});
  p.device().synchronize_device();
}

TEST_P(TasksInPlaceOfBothKinds, PrecedeAKernelOfAnotherDevice) {
  Written p(GetParam(), 2);
  p.launch({&streams[1], 1}, {{&p.d, false}}, [&p] { expect_content(p.d, 2); });
  p.device(1).synchronize_device();
  p.device().synchronize_device();
}

TEST_P(TasksInPlaceOfBothKinds, PrecedeAnUnknownLaunchOfAnotherDevice) {
  Written p(GetParam(), 2);
  const QueueIndex q = p.queue(&streams[1], 1);
  std::vector<Operand> operands;
  p.engine().launches.begin_unknown_launch(q, operands);
  p.device().launch(Program::Stream{&streams[1], 1}, {{p.d.address, bytes, false}}, [&p] { expect_content(p.d, 2); });
  p.engine().launches.end_launch(q, operands.data(), operands.size());
  p.device(1).synchronize_device();
  p.device().synchronize_device();
}

TEST_P(TasksInPlaceOfBothKinds, PrecedeAnAnnouncedRead) {
  Written p(GetParam());
  p.engine().access(p.d, p.d.all(), Access::read);
  p.raw_kernel({&streams[2], 0});
}

TEST_P(TasksInPlaceOfBothKinds, PrecedeAnAnnouncedOverwrite) {
  Written p(GetParam());
  p.engine().access(p.d, p.d.all(), Access::overwrite);
  p.raw_kernel({&streams[0], 0}, true);  // the program orders its own kernels
  expect_content(p.d, 3);
}

TEST_P(TasksInPlaceOfBothKinds, PrecedeAKernelOfOtherCode) {
  Written p(GetParam());
  device::DriverUse use{};
  use.address = p.d.address;
  use.kind = device::DriverUse::Kind::write;
  engine::ForeignStream where;
  where.native = &streams[3];
  where.queue = p.engine().queue_of_others(&streams[3]);
  where.devices = 1;
  auto call = p.engine().foreign_uses.begin_foreign_call(&use, 1, engine::ForeignCall::Kind::launch, where);
  p.device().launch(Program::Stream{&streams[3], 0}, {{p.d.address, bytes, false}}, [&p] { expect_content(p.d, 2); });
  if (call) p.engine().foreign_uses.end_foreign_call(std::move(call));
  p.device().synchronize_stream({&streams[3], 0});
  p.device().synchronize_device();
}

TEST_P(TasksInPlaceOfBothKinds, PrecedeACopyByTheDriver) {
  Written p(GetParam());
  device::DriverUse use{};
  use.address = p.d.address;
  use.bytes = bytes;
  use.kind = device::DriverUse::Kind::read;
  engine::ForeignStream where;
  where.devices = 1;
  auto call = p.engine().foreign_uses.begin_foreign_call(&use, 1, engine::ForeignCall::Kind::transfer, where);
  p.raw_kernel({&streams[3], 0});
  if (call) p.engine().foreign_uses.end_foreign_call(std::move(call));
}

/// From its preparation to its end the task is pinned and not noted, and another thread may compute the flags meanwhile.
TEST(TasksInPlace, KeepLaunchesOffTheFlagsWhileTheyAreSubmitted) {
  Program p(with_devices(1));
  Memory& d = p.on_device(bytes);
  for (int i = 0; i < 2; ++i) {
    p.kernel_write({&streams[0], 0}, d, d.all(), 1);
    p.device().synchronize_device();
  }
  const Operand written{&d, true};
  const QueueIndex q = p.engine().adopt_lane(0, &lane, {});
  p.engine().launches.begin_launch(q, &written, 1);
  p.engine().host_access.settle_all();
  EXPECT_FALSE(engine::ready({&d, false}));
  p.device().launch(Program::Stream{&lane, 0}, Machine::touches({written}), [] {});
  p.engine().launches.end_launch(q, &written, 1);
  p.device().synchronize_device();
}

/// The end of a task notes it, and then takes its pin away, without the lock. Another thread that computes the flags at that moment must see
/// the one or the other.
TEST(TasksInPlace, KeepLaunchesOffTheFlagsWhenTheyEndMeanwhile) {
  Program p(with_devices(1));
  p.audit_every(1u << 30);
  Memory& d = p.on_device(bytes);
  const QueueIndex first = p.queue(&streams[0]), lane_queue = p.engine().adopt_lane(0, &lane, {});
  (void)p.queue(&streams[1]);  // it is never ordered behind a task, so launches cannot rely on the flags before the task is done
  p.kernel_write({&streams[0], 0}, d, d.all(), 1);
  p.device().synchronize_device();
  static char others[60];  // many queues, and many uses of parts, so that computing the flags takes long
  for (char& other : others) {
    const Operand operand{&d, false};
    const std::uint64_t at = 64 * static_cast<std::uint64_t>(&other - others);
    const QueueIndex q = p.engine().adopt_lane(0, &other, {});
    Requirement used{&d, ByteRange{at, at + 32}, Access::read};
    const bool in_part = p.engine().launches.begin_launch(q, &operand, 1, {&used, 1});
    p.device().launch(Program::Stream{&other, 0}, {{d.address + at, 32, false}}, [] {});
    p.engine().launches.end_launch(q, &operand, 1, all_devices, {&used, in_part ? 1u : 0u});
    p.engine().launches.wait_for(q);
  }
  std::atomic<bool> over{false};
  std::atomic<std::uint64_t> times{0};
  std::thread computes([&] {
    const Operand read{&d, false};
    while (!over) {
      (void)p.engine().launches.begin_launch(first, &read, 1);
      p.engine().launches.cancel_launch(&read, 1);
      ++times;
    }
  });
  const auto let_it_compute = [&] {
    for (const std::uint64_t now = times; times < now + 3;) std::this_thread::yield();
  };
  const Operand written{&d, true};
  bool relied_on = false;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(3);
  for (int round = 0; !relied_on && std::chrono::steady_clock::now() < end; ++round) {
    (void)p.engine().launches.begin_launch(lane_queue, &written, 1);
    p.device().launch(Program::Stream{&lane, 0}, Machine::touches({written}), [] {});
    let_it_compute();
    for (volatile int wait = round % 64 * 16; wait > 0; wait = wait - 1) {
    }
    p.engine().launches.end_launch(lane_queue, &written, 1);
    let_it_compute();
    relied_on = engine::ready({&d, false});
    p.engine().launches.wait_for(lane_queue);
  }
  over = true;
  computes.join();
  EXPECT_FALSE(relied_on);
}

/// When all is done, launches rely on the flags again.
TEST_P(TasksInPlaceOfBothKinds, AreOrderedNoLongerThanNeedBe) {
  Written p(GetParam());
  (void)p.queue(&streams[1]);
  for (int i = 0; i < 3; ++i) {
    p.launch({&streams[0], 0}, {{&p.d, false}}, [&p] { expect_content(p.d, 2); });
    p.device().synchronize_device();
  }
  EXPECT_FALSE(p.d.ordered);
  EXPECT_TRUE(engine::ready({&p.d, false}));
}

}  // namespace
}  // namespace semcache::fakes
