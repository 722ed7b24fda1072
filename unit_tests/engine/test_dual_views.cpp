// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "program.hpp"

#include <chrono>
#include <cstring>
#include <functional>
#include <string>
#include <thread>

// What SEMCACHE_CHECK suspects of the two sides of a DualView, and what SEMCACHE_CHECK_WRITES finds of uploads. (With Kokkos:
// unit_tests/kokkos/test_dual_view_watch.cpp.)
namespace semcache::fakes {
namespace {

char stream;

Program::Options checked() {
  Program::Options o = Program::defaults();
  o.engine.check = true;
  return o;
}
Program::Options comparing() {
  Program::Options o = Program::defaults();
  o.engine.check_writes = true;
  return o;
}

/// A device array and a mirror with the content of write 1, of which the engine is told that they are the sides of a DualView.
struct Sides : Program {
  explicit Sides(const Options& o) : Program(o), d(on_device(8192)), h(on_host(8192)) {
    host_write(h, h.all(), 1);
    copy(d, h);
    expect_device(d, 1);
    engine().lifetimes.note_dual_view(d, h);
  }
  /// What is said when the mirror is overwritten.
  std::string said() {
    testing::internal::CaptureStderr();
    copy(h, d);
    return testing::internal::GetCapturedStderr();
  }
  engine::Memory& d;
  engine::Memory& h;
};

TEST(DualViews, ASyncThatIsPerhapsMissingIsNamed) {
  Sides p(checked());
  p.host_write(p.h, {0, 8}, 2);
  p.expect_device(p.d, 1);  // by a kernel
  EXPECT_NE(p.said().find("perhaps a sync is missing: 'host array'"), std::string::npos);
}
TEST(DualViews, NothingIsSaidAfterASync) {
  Sides p(checked());
  p.host_write(p.h, {0, 8}, 2);
  p.copy(p.d, p.h);
  p.expect_device(p.d, {0, 8}, 2);
  EXPECT_EQ(p.said(), "");
}
TEST(DualViews, NothingIsSaidWhereTheSidesAreEqual) {
  Sides p(checked());
  p.kernel_write(&stream, p.d, p.d.all(), 2);  // still under way when the sides are compared
  p.host_write(p.h, p.h.all(), 2);
  p.expect_device(p.d, 2);
  EXPECT_EQ(p.said(), "");
}

TEST(CheckWrites, HostWritesOfEqualValuesAreNotMoved) {
  Sides p(comparing());
  const Counters before = p.counters();
  p.host_write(p.h, p.h.all(), 1);
  p.copy(p.d, p.h);
  p.expect_device(p.d, 1);
  EXPECT_EQ(p.counters().h2d.bytes, before.h2d.bytes);
  EXPECT_EQ(p.counters().rewritten.bytes, 8192u);
  p.host_write(p.h, {100, 101}, 2);
  p.copy(p.d, p.h);
  p.expect_device(p.d, {100, 101}, 2);
  EXPECT_GT(p.counters().h2d.bytes, before.h2d.bytes);
  EXPECT_EQ(p.counters().rewritten.bytes, 8192u);
}
/// The device's content is compared when the kernel that makes it is done.
TEST(CheckWrites, HostWritesOfWhatAKernelIsStillMakingAreCompared) {
  Sides p(comparing());
  p.kernel_write(&stream, p.d, p.d.all(), 2);
  p.host_write(p.h, p.h.all(), 1);
  p.copy(p.d, p.h);
  p.expect_device(p.d, 1);
}

/// Kernels that only read the array need not have ended before its content is compared, so kernels that follow each other without end keep
/// nobody waiting.
TEST(CheckWrites, ReadingKernelsWithoutEndDoNotKeepAHostReadWaiting) {
  Program::Options o = comparing();
  o.engine.patience = std::chrono::seconds(0);  // launches let a waiting thread go first, which is this one
  Program p(o);
  engine::Memory& d = p.on_device(8192);
  engine::Memory& h = p.on_host(8192, &d);
  p.host_write(h, h.all(), 1);
  p.launch(&stream, {{&d, true}}, [] {});  // captured as writable
  int launches = 0;
  const std::function<void()> one_more = [&] {
    if (++launches > 20) return;
    p.launch(&stream, {{&d, false}}, [] {});
    p.when_unlocked(one_more);
  };
  p.launch(&stream, {{&d, false}}, [] {});
  p.when_unlocked(one_more);
  p.expect_host(h, 1);
  p.when_unlocked(nullptr);
  EXPECT_GE(launches, 1);
  EXPECT_LE(launches, 3);
}
/// A launch on a part writes in place, and is not noted before it has been submitted.
TEST(CheckWrites, AreNotDigestedUnderALaunchOnAPart) {
  Sides p(comparing());
  const engine::Operand operand{&p.d, true};
  engine::Requirement part{&p.d, ByteRange{0, 4096}, Access::read_write};
  const engine::QueueIndex q = p.queue(&stream);
  ASSERT_TRUE(p.engine().launches.begin_launch(q, &operand, 1, {&part, 1}));
  p.device().launch(&stream, Machine::touches({operand}, {part}), [base = p.d.address] { std::memset(base, 7, 4096); });
  std::thread other([&] { p.launch(&stream, {{&p.d, true}}, [] {}); });  // the device reports what is not ordered
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  p.engine().launches.end_launch(q, &operand, 1, all_devices, {&part, 1});
  other.join();
  p.device().synchronize_device();
}

}  // namespace
}  // namespace semcache::fakes
