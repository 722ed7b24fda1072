// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "decision.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>

using namespace semcache::blas;

namespace {

/// A product of N x N matrices that are all on the host, of a process whose device runs.
Facts product(double n) {
  Facts f;
  f.operations = 2 * n * n * n;
  f.missing_on_device = static_cast<std::uint64_t>(16 * n * n);
  f.result_bytes = static_cast<std::uint64_t>(8 * n * n);
  f.device_runs = true;
  return f;
}

}  // namespace

TEST(BlasDecision, TheUsersWordHolds) {
  Facts f = product(4);
  f.asked = Offload::always;
  EXPECT_EQ(Verdict::on_device, decide(f).verdict);
  f = product(20000);
  f.asked = Offload::never;
  EXPECT_EQ(Verdict::off, decide(f).verdict);
}

TEST(BlasDecision, WorkMustPayForTheMissingBytes) {
  EXPECT_EQ(Verdict::too_little_work, decide(product(32)).verdict);
  EXPECT_EQ(Verdict::on_device, decide(product(4096)).verdict);
  Facts cached = product(100);
  EXPECT_EQ(Verdict::too_little_work, decide(cached).verdict);
  cached.operations *= 4;
  cached.missing_on_device = 0;
  EXPECT_EQ(Verdict::on_device, decide(cached).verdict);
}

TEST(BlasDecision, BytesThatTheHostLacksCountAgainstIt) {
  Facts f = product(32);
  f.missing_on_device = 0;
  f.missing_on_host = 8 << 20;
  EXPECT_EQ(Verdict::on_device, decide(f).verdict);
}

TEST(BlasDecision, ResultsThatTheHostReadsCostTheirWayHome) {
  Facts f;
  f.device_runs = true;
  f.operations = 1e8;  // one millisecond on the host
  f.result_bytes = 30 << 20;
  EXPECT_EQ(Verdict::on_device, decide(f).verdict);
  f.results_went_home = true;
  EXPECT_EQ(Verdict::results_go_home, decide(f).verdict);
}

TEST(BlasDecision, ADeviceStartsOnceTheHostHasSpentAsLong) {
  Facts f = product(4096);
  f.device_runs = false;
  EXPECT_EQ(Verdict::not_started_yet, decide(f).verdict);
  f.host_seconds = 10;
  EXPECT_EQ(Verdict::on_device, decide(f).verdict);
}

TEST(BlasDecision, ADeviceThatHasCostMoreThanItSavedComputesNoMore) {
  Facts f = product(4096);
  const Rates r;
  f.lost_seconds = r.loss_seconds;
  EXPECT_EQ(Verdict::on_device, decide(f).verdict);
  f.lost_seconds = 1;
  EXPECT_EQ(Verdict::has_lost, decide(f).verdict);
  f.host_seconds = 20;  // the loss is a small share of that
  EXPECT_EQ(Verdict::on_device, decide(f).verdict);
  f.host_seconds = 0;
  f.asked = Offload::always;
  EXPECT_EQ(Verdict::on_device, decide(f).verdict);
}

TEST(BlasDecision, WhatTheDeviceLosesIsMeasuredByTheHostsFastestCall) {
  Account a;
  a.host_computed(1e9, 0.1);
  a.host_computed(5e9, 0.1);
  a.host_computed(1e6, 1e-6);  // too short to tell anything
  EXPECT_DOUBLE_EQ(0.200001, a.host_seconds());
  a.device_computed(1e12, 1e9, 3);  // libraries start in the first one
  EXPECT_EQ(0, a.lost_seconds(0));
  a.device_computed(5e10, 1e9, 0.25);  // the host would have taken a second
  EXPECT_DOUBLE_EQ(-0.75, a.lost_seconds(0));
  a.device_computed(1e3, 1e9, 0.5);  // a hundredth, for the bytes alone
  EXPECT_DOUBLE_EQ(-0.26, a.lost_seconds(0));
}

TEST(BlasDecision, OfWhatWasGainedALittleMayBeLostAgain) {
  Account a;
  const Rates r;
  for (int i = 0; i < 100; ++i) a.device_computed(10 * r.host_operations, 1, 1);  // the host would have taken ten seconds
  EXPECT_DOUBLE_EQ(-r.credit_seconds, a.lost_seconds(1));
  EXPECT_DOUBLE_EQ(-r.credit_seconds + 2, a.lost_seconds(3));  // page faults have taken two seconds more
  EXPECT_DOUBLE_EQ(1, a.lost_seconds(4 + r.credit_seconds - 2));
}

TEST(BlasDecision, TheHostsSpeedIsTakenForThatOfMachinesOfTheDayUntilItIsKnown) {
  Account a;
  const Rates r;
  a.device_computed(1, 1, 1);
  a.device_computed(r.host_operations, 1, 0.25);
  EXPECT_DOUBLE_EQ(-0.75, a.lost_seconds(0));
}

TEST(BlasDecision, ManySmallCallsOnWhatTheHostLacksBringItHome) {
  Account a;
  Facts f;
  f.device_runs = true;
  f.operations = 100;
  f.missing_on_host = 20 << 20;  // a millisecond on the link
  int on_device = 0;
  Plan plan;
  do {
    f.rented_seconds = a.rented_seconds();
    plan = decide(f);
    a.decided(f, plan);
    on_device += plan.verdict == Verdict::on_device ? 1 : 0;
  } while (plan.verdict == Verdict::on_device && on_device < 1000);
  EXPECT_EQ(Verdict::too_little_work, plan.verdict);
  EXPECT_EQ(53, on_device);  // at 20 us each they have cost as long as the bytes' way home
  EXPECT_LT(a.rented_seconds(), Rates{}.launch_seconds);
  // Bytes that come home for another call pay for themselves alone.
  a.decided(f, decide(f));
  Facts other = f;
  other.missing_on_host = 1 << 20;
  const double before = a.rented_seconds();
  Plan on_host;
  on_host.verdict = Verdict::too_little_work;
  a.decided(other, on_host);
  EXPECT_DOUBLE_EQ(std::max(0.0, before - (1 << 20) / Rates{}.link_bytes), a.rented_seconds());
}

TEST(BlasDecision, CallsThatPayOnTheDeviceAnywayPayNoRent) {
  Account a;
  Facts f;
  f.device_runs = true;
  f.operations = 1e9;  // ten milliseconds on the host
  f.missing_on_host = 1 << 20;
  for (int i = 0; i < 1000; ++i) {
    f.rented_seconds = a.rented_seconds();
    const Plan plan = decide(f);
    EXPECT_EQ(Verdict::on_device, plan.verdict);
    a.decided(f, plan);
  }
  EXPECT_EQ(0, a.rented_seconds());
}

TEST(BlasDecision, WhatPaysAtWorstPaysWhereverTheOperandsAre) {
  std::mt19937 random(1);
  const auto below = [&](double most) { return most * std::pow(10, -8 * std::generate_canonical<double, 32>(random)); };
  int paid = 0, refused = 0;
  for (int i = 0; i < 100000; ++i) {
    const auto read = static_cast<std::uint64_t>(below(1e10)), written = static_cast<std::uint64_t>(below(1e10));
    Facts f;
    f.operations = below(1e14);
    f.device_runs = random() % 2 != 0;
    f.host_seconds = below(100);
    f.lost_seconds = below(10);
    f.rented_seconds = below(10);
    const Facts worst = at_worst(f, read, written);
    f.missing_on_device = read - random() % (read + 1);
    f.missing_on_host = random() % 2 == 0 ? 0 : random() % (read + written + 1);
    f.result_bytes = written;
    f.results_went_home = random() % 2 != 0;
    const Plan plan = decide(f);
    if (decide(worst).verdict != Verdict::on_device) {
      refused += plan.verdict == Verdict::on_device;
      continue;
    }
    ++paid;
    ASSERT_EQ(Verdict::on_device, plan.verdict) << plan.text();
    Account account;
    account.decided(f, plan);
    ASSERT_EQ(0, account.rented_seconds()) << plan.text();
  }
  EXPECT_GT(paid, 1000);
  EXPECT_GT(refused, 1000) << "others pay because of where their operands are";
}

TEST(BlasDecision, ThePlanCanBePrinted) {
  EXPECT_EQ("on the host: SEMCACHE_BLAS_OFFLOAD=never (host 0 s, device 2e-05 s)", [] {
    Facts f;
    f.asked = Offload::never;
    return decide(f).text();
  }());
  for (std::size_t v = 0; v < verdicts; ++v) EXPECT_STRNE("?", text_of(static_cast<Verdict>(v))) << v;
}
