// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <kokkos/support.hpp>

#include <Kokkos_DualView.hpp>

#include <functional>
#include <string>

// Under SEMCACHE_CHECK=1: a sync of a stock Kokkos::DualView that is perhaps missing is named, and nothing else is.
namespace kokkos_dual_view_watch {
using namespace test;

using Stock = Kokkos::DualView<double*, Device>;
constexpr int n = 1000;

void write_on_host(const Stock& dual, double value) {
  for (int i = 0; i < n; ++i) dual.view_host()(i) = value;
}
void double_on_device(const Vector& a) {
  Kokkos::parallel_for("double", Range(0, a.extent(0)), KOKKOS_LAMBDA(int i) { a(i) *= 2; });
}

/// Returns what a program writes to stderr.
std::string said_by(const std::function<void()>& program) {
  testing::internal::CaptureStderr();
  program();
  Kokkos::fence();
  return testing::internal::GetCapturedStderr();
}

}  // namespace kokkos_dual_view_watch
using namespace kokkos_dual_view_watch;

KOKKOS_TEST(KokkosDualViewWatch, AForgottenSyncToTheDeviceIsNamedWhenTheDualViewIsFreed) {
  double on_device = -1;
  const std::string said = said_by([&] {
    Stock x("x", n);
    write_on_host(x, 3);
    on_device = sum(x.view_device());
  });
  EXPECT_EQ(on_device, 0) << "the error of this program, of which the test is about";
  EXPECT_NE(said.find("perhaps a sync is missing: 'x_mirror' was written (host access"), std::string::npos) << said;
  EXPECT_NE(said.find("used 'x', the device side"), std::string::npos) << said;
  EXPECT_EQ(said.find("perhaps", said.find("perhaps") + 1), std::string::npos) << "it is printed once: " << said;
}

KOKKOS_TEST(KokkosDualViewWatch, ItIsNamedWhenTheHostSideIsOverwritten) {
  const Stock x("x", n);
  EXPECT_EQ(said_by([&] {
              write_on_host(x, 3);
              const Stock copy = x;
              copy.view_device().extent(0);
              double_on_device(copy.view_device());
            }),
            "");
  EXPECT_NE(said_by([&] { Kokkos::deep_copy(x.view_host(), x.view_device()); }).find("'x_mirror' was written"), std::string::npos);
  EXPECT_EQ(x.view_host()(7), 0);
}

KOKKOS_TEST(KokkosDualViewWatch, ModifyWithoutSyncIsNamed) {
  EXPECT_NE(said_by([&] {
              Stock x("x", n);
              write_on_host(x, 3);
              x.modify_host();
              double_on_device(x.view_device());
            }).find("'x_mirror' was written"),
            std::string::npos);
}

KOKKOS_TEST(KokkosDualViewWatch, TheSecondOfTwoDualViewsIsNamedAlone) {
  const std::string said = said_by([&] {
    Stock right("right", n), wrong("wrong", n);
    write_on_host(right, 3);
    write_on_host(wrong, 3);
    right.modify_host();
    right.sync_device();
    double_on_device(right.view_device());
    double_on_device(wrong.view_device());
  });
  EXPECT_NE(said.find("'wrong_mirror' was written"), std::string::npos) << said;
  EXPECT_EQ(said.find("right"), std::string::npos) << said;
}

KOKKOS_TEST(KokkosDualViewWatch, ProgramsThatSyncAreNotNamed) {
  EXPECT_EQ(said_by([&] {
              Stock x("x", n);
              for (int step = 1; step < 4; ++step) {
                write_on_host(x, step);
                x.modify_host();
                x.sync_device();
                double_on_device(x.view_device());
                x.modify_device();
                x.sync_host();
                EXPECT_EQ(x.view_host()(n - 1), 2.0 * step);
              }
            }),
            "");
}

KOKKOS_TEST(KokkosDualViewWatch, AHostThatPreparesTheNextStepIsNotNamed) {
  EXPECT_EQ(said_by([&] {
              Stock x("x", n);
              write_on_host(x, 1);
              Kokkos::deep_copy(x.view_device(), x.view_host());
              write_on_host(x, 5);  // for the next step
              double_on_device(x.view_device());
              Kokkos::deep_copy(x.view_device(), x.view_host());
              EXPECT_EQ(sum(x.view_device()), 5.0 * n);
            }),
            "");
}

KOKKOS_TEST(KokkosDualViewWatch, EqualContentIsNotNamed) {
  EXPECT_EQ(said_by([&] {
              Stock x("x", n);
              write_on_host(x, 0);
              EXPECT_EQ(sum(x.view_device()), 0);
            }),
            "");
}

KOKKOS_TEST(KokkosDualViewWatch, WhatIsCopiedElsewhereIsNotNamed) {
  EXPECT_EQ(said_by([&] {
              Stock x("x", n);
              const Vector other("other", n);
              write_on_host(x, 3);
              EXPECT_EQ(sum(x.view_device()), 0);
              Kokkos::deep_copy(other, x.view_host());
              EXPECT_EQ(sum(other), 3.0 * n);
            }),
            "");
}

KOKKOS_TEST(KokkosDualViewWatch, AViewAndItsMirrorAreNoDualView) {
  EXPECT_EQ(said_by([&] {
              const Stock first("first", n);  // its flags say nothing of what comes later
              const Vector x("x", n);
              const auto h = Kokkos::create_mirror_view(x);
              for (int i = 0; i < n; ++i) h(i) = 3;
              EXPECT_EQ(sum(x), 0);
            }),
            "");
}
