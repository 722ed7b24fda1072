// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "arrays.hpp"

#include <fakes/fake_runtime.hpp>
#include <semcache/linalg.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <string>

/// Calls of which each allocation, event and stream of each device fails once. (unit_tests/tasks does the same with copies and kernels.)
namespace semcache::linalg {
namespace {

using fakes::FakeWorld;
using fakes::world;
using test::Array;
using test::Where;

constexpr std::int64_t n = 96;

/// The operands of all calls. The matrix with entries is a unit matrix.
struct Operands {
  Operands()
      : a(n * n, Where::host), b(n * n, Where::host), c(n * n, Where::host), rows(n * n + 1, Where::host), columns(n * n, Where::host) {
    set();
  }
  void set() {
    a.set(of_a());
    b.set(of_b());
    c.set(of_c());
    for (std::int32_t i = 0; i <= n * n; ++i) rows.data()[i] = i;
    for (std::int32_t i = 0; i < n * n; ++i) columns.data()[i] = i;
  }
  static std::vector<double> of_a() { return std::vector<double>(n * n, 2.0); }
  static std::vector<double> of_b() { return std::vector<double>(n * n, 3.0); }
  static std::vector<double> of_c() { return std::vector<double>(n * n, 5.0); }
  [[nodiscard]] Csr<double> unit() const { return {n * n, n * n, n * n, rows.data(), columns.data(), a.data()}; }
  Array<double> a, b, c;
  Array<std::int32_t> rows, columns;
};

struct Case {
  const char* name;
  std::function<void(const Operands&)> call;
  double result;  ///< each element of c
};
const Case cases[] = {
    {"axpby", [](const Operands& o) { axpby(n * n, 1.0, o.b.data(), 2.0, o.c.data()); }, 13},
    {"gemm",
     [](const Operands& o) { gemm(Transpose::no, Transpose::no, n, n, n, 1.0, o.a.data(), n, o.b.data(), n, 1.0, o.c.data(), n); },
     5 + 6 * n},
    {"symm", [](const Operands& o) { symm(Side::left, Triangle::lower, n, n, 1.0, o.a.data(), n, o.b.data(), n, 1.0, o.c.data(), n); }, 5 + 6 * n},
    {"spmv", [](const Operands& o) { spmv(1.0, o.unit(), o.b.data(), 1.0, o.c.data()); }, 11},
};

void each_fails(const Case& c, const char* name, unsigned calls) {
  for (std::uint32_t failing = 0; failing < fakes::devices_of_runtime; ++failing) {
    std::uint64_t errors = 0;
    bool more = true;  // calls
    for (std::uint64_t call = 1; more; ++call) {
      SCOPED_TRACE(std::string(c.name) + ", " + name + ", call " + std::to_string(call) + " of device " + std::to_string(failing));
      use_devices(static_cast<int>(fakes::devices_of_runtime));
      {
        Operands o;
        world->fail_call(call, calls, failing);
        bool ended = true;
        try {
          c.call(o);
        } catch (const Error& e) {
          ended = false;
          ++errors;
          EXPECT_NE(std::string(e.what()).find("device " + std::to_string(failing)), std::string::npos) << e.what();
        }
        more = !world->failure_pending();
        world->fail_call(0, 0);
        EXPECT_EQ(o.a.get(), Operands::of_a()) << "what is read stays intact";
        EXPECT_EQ(o.b.get(), Operands::of_b());
        for (const double v : o.c.get()) ASSERT_TRUE(v == c.result || (!ended && v == 5.0)) << v;
        o.set();
        ASSERT_NO_THROW(c.call(o)) << "the same call succeeds afterwards";
        EXPECT_EQ(o.c.get(), std::vector<double>(n * n, c.result));
      }
      finalize();
    }
    EXPECT_GE(errors, 1U) << c.name << ", " << name << " of device " << failing;
  }
}

TEST(LinalgFailures, EachCallOfEachDeviceFailsOnce) {
  fakes::kind_of_devices = device::DeviceKind::emulated;
  set_options({Spread::always, 0, 2});
  for (const Case& c : cases) {
    each_fails(c, "memory", FakeWorld::call_map);
    each_fails(c, "streams", FakeWorld::call_adopt);
    each_fails(c, "events", FakeWorld::call_record | FakeWorld::call_wait);
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace semcache::linalg
