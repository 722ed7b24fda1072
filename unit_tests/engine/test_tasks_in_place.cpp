// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "program.hpp"

#include <semcache/engine/preparation.hpp>

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

/// A task of a library call that writes an array itself, not a tile, on a lane. Who uses the array afterwards is ordered behind it, also when
/// a kernel of the program has been ordered behind it before.
namespace semcache::fakes {
namespace {

using engine::Memory;
using engine::Operand;
using engine::QueueIndex;

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
