// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "program.hpp"

#include <string>

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

}  // namespace
}  // namespace semcache::fakes
