// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "decision.hpp"

#include <gtest/gtest.h>

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

TEST(BlasDecision, ThePlanCanBePrinted) {
  EXPECT_EQ("on the host: SEMCACHE_BLAS_OFFLOAD=never (host 0 s, device 2e-05 s)", [] {
    Facts f;
    f.asked = Offload::never;
    return decide(f).text();
  }());
  for (std::size_t v = 0; v < verdicts; ++v) EXPECT_STRNE("?", text_of(static_cast<Verdict>(v))) << v;
}
