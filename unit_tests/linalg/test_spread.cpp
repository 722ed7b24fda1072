// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "fixture.hpp"

#include <semcache/tasks/tasks.hpp>

#include <gtest/gtest.h>

#include <cstdio>
#include <functional>
#include <set>
#include <string>
#include <unistd.h>
#include <utility>

/// Whether and where calls on vectors are spread, and what the report says of it.
namespace semcache::linalg {
namespace {

std::uint64_t between_devices() { return statistics().total.between_devices.bytes; }
template <class T>
std::set<std::uint32_t> devices_of(const Array<T>& a) {
  std::set<std::uint32_t> devices;
  for (const runtime::HeldBytes& h : runtime::holders(a.data(), a.count() * sizeof(T))) devices.insert(h.device);
  return devices;
}
/// A kernel of other code on one device.
void kernel(std::uint32_t device, const Array<double>& a, Access mode, const std::function<void(double&)>& body) {
  const runtime::LibraryUse use{a.data(), a.count() * sizeof(double), mode};
  const runtime::OnDevice on(device);
  const runtime::Launch launch(tasks::lane(device, 1).queue, &use, 1);
  for (std::size_t i = 0; i < a.count(); ++i) body(a.data()[i]);
}
void add_one(std::uint32_t device, const Array<double>& a) {
  kernel(device, a, Access::read_write, [](double& v) { v += 1; });
}

constexpr std::int64_t n = 20000;

class LinalgSpread : public LinalgTest<> {
 protected:
  LinalgSpread() : LinalgTest({Spread::automatic, 0, 0, 0, 1e-12}) {}  // small as they are, the vectors are worth all devices
};

/// Each case changes an operand by a kernel on one device, and makes a call that uses it: the bytes between devices are those of one device, which
/// are none, from the first call on.
TEST_F(LinalgSpread, NothingMovesWhereAKernelAndACallUseTheSameVectorInTurn) {
  struct Case {
    const char* name;
    std::function<void(std::uint32_t, const Array<double>&, const Array<double>&)> step;
  };
  const Case cases[] = {
      {"axpby, which writes what the kernel writes",
       [](std::uint32_t home, const Array<double>& x, const Array<double>& y) { add_one(home, y), axpby(n, 1.0, x.data(), 1.0, y.data()); }},
      {"axpby, which reads what the kernel writes",
       [](std::uint32_t home, const Array<double>& x, const Array<double>& y) { add_one(home, x), axpby(n, 1.0, x.data(), 1.0, y.data()); }},
      {"axpby, whose result the kernel writes and it does not read",
       [](std::uint32_t home, const Array<double>& x, const Array<double>& y) { add_one(home, y), axpby(n, 1.0, x.data(), 0.0, y.data()); }},
      {"scal", [](std::uint32_t home, const Array<double>&, const Array<double>& y) { add_one(home, y), scal(n, 2.0, y.data()); }},
      {"dot", [](std::uint32_t home, const Array<double>& x, const Array<double>& y) { add_one(home, y), (void)dot(n, x.data(), y.data()); }},
  };
  for (const Case& c : cases) {
    for (const int devices : {2, 3}) {
      const auto last = static_cast<std::uint32_t>(devices - 1);
      for (const std::uint32_t home : {0U, last}) {
        SCOPED_TRACE(std::string(c.name) + ", " + std::to_string(devices) + " devices, kernels on " + std::to_string(home));
        on_devices(devices, [&] {
          const Where where = home == 0 ? Where::home : Where::last_device;
          Array<double> x(n, where), y(n, where);
          for (const Array<double>* a : {&x, &y}) kernel(home, *a, Access::overwrite, [](double& v) { v = 1; });
          for (int i = 0; i < 30; ++i) c.step(home, x, y);
          EXPECT_EQ(between_devices(), 0U);
        });
      }
    }
  }
}

TEST_F(LinalgSpread, NothingMovesWhereAKernelChangesTheMatrixOrTheVectorOfAProduct) {
  constexpr std::int64_t m = 200;
  for (const bool changes_a : {true, false}) {
    for (const double beta : {0.0, 1.0}) {
      SCOPED_TRACE(std::string(changes_a ? "A" : "x") + ", beta " + std::to_string(beta));
      on_devices(2, [&] {
        Array<double> a(m * m, Where::home), x(m, Where::home), y(m, Where::home);
        for (const Array<double>* one : {&a, &x, &y}) kernel(0, *one, Access::overwrite, [](double& v) { v = 1; });
        double expected = 1;
        for (int i = 0; i < 30; ++i) {
          add_one(0, changes_a ? a : x);
          gemv(Transpose::no, m, m, 1.0, a.data(), m, x.data(), beta, y.data());
          expected = m * (i + 2.0) + beta * expected;
        }
        EXPECT_EQ(between_devices(), 0U);
        EXPECT_EQ(y.get(), std::vector<double>(m, expected));
      });
    }
  }
}

/// Here the loop begins with vectors that calls have spread, so some bytes move until the calls have come home, and then none.
TEST_F(LinalgSpread, CallsComeHomeWhereAKernelBeginsToUseWhatWasSpread) {
  for (const Access of_kernel : {Access::read, Access::read_write}) {
    SCOPED_TRACE(of_kernel == Access::read ? "reads" : "changes");
    on_devices(2, [&] {
      Array<double> x(n, Where::home), y(n, Where::home);
      x.set(std::vector<double>(n, 1.0));
      y.set(std::vector<double>(n, 1.0));
      const Options automatic = options();
      set_options({Spread::always, 0, 0});
      axpby(n, 1.0, x.data(), 1.0, y.data());
      set_options(automatic);
      EXPECT_EQ(devices_of(y).size(), 2U);
      std::uint64_t behind_ten = 0;
      for (int i = 0; i < 60; ++i) {
        kernel(0, y, of_kernel, [](double&) {});
        axpby(n, 1.0, x.data(), 1.0, y.data());
        if (i == 9) behind_ten = between_devices();
      }
      EXPECT_GT(behind_ten, 0U);
      EXPECT_EQ(between_devices(), behind_ten);
      EXPECT_EQ(y.get(), std::vector<double>(n, 62.0));
    });
  }
  on_devices(2, [] {  // of a dot product, the vector that decides has been spread, and the other one is the kernel's
    Array<double> x(n, Where::host), y(n, Where::home);
    x.set(std::vector<double>(n, 1.0));
    scal(n, 1.0, x.data());
    std::uint64_t behind_ten = 0;
    for (int i = 0; i < 60; ++i) {
      kernel(0, y, Access::overwrite, [&](double& v) { v = i; });
      EXPECT_EQ(dot(n, x.data(), y.data()), 1.0 * n * i);
      if (i == 9) behind_ten = between_devices();
    }
    EXPECT_EQ(between_devices(), behind_ten);
  });
}

/// A loop of calls alone is spread: at once where the host has the data, much later where a device has them; and then it moves nothing.
TEST_F(LinalgSpread, LoopsOfCallsAloneAreSpread) {
  for (const Where where : {Where::host, Where::home}) {
    SCOPED_TRACE(where == Where::host ? "from the host" : "from a device");
    on_devices(2, [&] {
      Array<double> x(n, where), y(n, where);
      if (where == Where::host) {
        for (Array<double>* a : {&x, &y}) a->set(std::vector<double>(n, 1.0));
      } else {
        for (const Array<double>* a : {&x, &y}) kernel(0, *a, Access::overwrite, [](double& v) { v = 1; });
      }
      int calls = 0;
      do axpby(n, 0.0, x.data(), 1.0, y.data()); while (++calls < 5000 && devices_of(y).size() == 1);
      if (where == Where::host) {
        EXPECT_EQ(calls, 1);
        EXPECT_EQ(between_devices(), 0U);
      } else {
        EXPECT_GT(calls, 100);
        EXPECT_LT(calls, 5000);
      }
      for (int i = 0; i < 3; ++i) axpby(n, 0.0, x.data(), 1.0, y.data());
      const std::uint64_t before = between_devices();
      for (int i = 0; i < 200; ++i) {
        axpby(n, 0.0, x.data(), 1.0, y.data());
        EXPECT_EQ(dot(n, x.data(), y.data()), 1.0 * n);
      }
      EXPECT_EQ(between_devices(), before);
      EXPECT_EQ(devices_of(y).size(), 2U);
    });
  }
}

/// What has little work is computed where its vector is.
TEST_F(LinalgSpread, ASmallCallGoesToTheDeviceThatHasItsVector) {
  set_options({Spread::automatic, 0, 0});
  on_devices(3, [] {
    Array<double> x(n, Where::last_device), y(n, Where::last_device);
    for (const Array<double>* a : {&x, &y}) kernel(2, *a, Access::overwrite, [](double& v) { v = 1; });
    axpby(n, 1.0, x.data(), 1.0, y.data());
    EXPECT_EQ(dot(n, x.data(), y.data()), 2.0 * n);
    EXPECT_EQ(between_devices(), 0U);
    EXPECT_EQ(statistics().total.h2d.bytes, 0U);
  });
}

/// The vectors of a sparse matrix are cut as the matrix is, and come home without another product, too.
TEST_F(LinalgSpread, VectorsOfAMatrixComeHomeWithoutAnotherProduct) {
  on_devices(2, [] {
    Array<std::int32_t> rows(n + 1, Where::host), columns(n, Where::host);
    Array<double> values(n, Where::host), x(n, Where::home), y(n, Where::home);
    for (std::int32_t i = 0; i <= n; ++i) rows.data()[i] = i;
    for (std::int32_t i = 0; i < n; ++i) columns.data()[i] = i;
    for (Array<double>* a : {&values, &x}) a->set(std::vector<double>(n, 1.0));
    spmv(1.0, {n, n, n, rows.data(), columns.data(), values.data()}, x.data(), 0.0, y.data());
    EXPECT_EQ(devices_of(y).size(), 2U);
    std::uint64_t behind_twenty = 0;
    for (int i = 0; i < 60; ++i) {
      add_one(0, y);
      axpby(n, 1.0, x.data(), 1.0, y.data());
      if (i == 19) behind_twenty = between_devices();
    }
    EXPECT_GT(behind_twenty, n * 8U);
    EXPECT_EQ(between_devices(), behind_twenty);
    EXPECT_EQ(y.get(), std::vector<double>(n, 121.0));
  });
}

/// Runs calls with a report, and returns the texts of the calls in it.
std::set<std::string> reported(int devices, const std::function<void()>& program) {
  const std::string file = ::testing::TempDir() + "spread_" + std::to_string(::getpid()) + ".json";
  const Setting report("SEMCACHE_REPORT", file.c_str());
  std::set<std::string> texts;
  for (const auto& c : on_devices(devices, program).library_calls) texts.insert(c.what);
  std::remove(file.c_str());
  return texts;
}

TEST_F(LinalgSpread, TheReportSaysWhyACallWasCutSo) {
  using Texts = std::set<std::string>;
  const auto scaled = [](const Array<double>& x) { scal(static_cast<std::int64_t>(x.count()), 1.0, x.data()); };
  const auto on_host = [&] {
    Array<double> x(1000, Where::host);
    x.set(std::vector<double>(1000, 1.0));
    scaled(x);
  };
  set_options({Spread::always, 0, 0});
  EXPECT_EQ(reported(2, on_host), Texts{"scal d, 1000 elements: 2 tasks on 2 devices, spread always"});
  set_options({Spread::never, 0, 0});
  EXPECT_EQ(reported(2, on_host), Texts{"scal d, 1000 elements: 1 task on device 0, spread never"});
  set_options({Spread::automatic, 0, 0});
  EXPECT_EQ(reported(2, on_host), Texts{"scal d, 1000 elements: 1 task on device 0, as many devices as pay"});
  EXPECT_EQ(reported(2, [&] {
              Array<double> x(1000, Where::host);
              x.set(std::vector<double>(1000, 1.0));
              tasks::run({{1, 0, {{0, {0, 496, 0, 1}, Access::read_write}}}, {0, 0, {{0, {496, 1000, 0, 1}, Access::read_write}}}},
                         {{x.data(), 1000, 1, 1000, 8}}, [](const runtime::Stream&, const policy::Task&, const tasks::Operand*) {});
              scaled(x);
            }),
            Texts{"scal d, 1000 elements: 2 tasks on 2 devices, where the vector lies"});
  set_options({Spread::automatic, 0, 0, 0, 1e-12});
  EXPECT_EQ(reported(2, [&] {
              Array<std::int32_t> rows(1001, Where::host), columns(1000, Where::host);
              Array<double> values(1000, Where::host), x(1000, Where::host), y(1000, Where::host);
              for (std::int32_t i = 0; i <= 1000; ++i) rows.data()[i] = i;
              for (std::int32_t i = 0; i < 1000; ++i) columns.data()[i] = i;
              for (Array<double>* a : {&values, &x}) a->set(std::vector<double>(1000, 1.0));
              spmv(1.0, {1000, 1000, 1000, rows.data(), columns.data(), values.data()}, x.data(), 0.0, y.data());
              scaled(y);
            }),
            (Texts{"spmv d, 1000 rows, 1000 entries: 2 tasks on 2 devices, as many devices as pay",
                   "scal d, 1000 elements: 2 tasks on 2 devices, as the sparse matrix of as many rows"}));
}

}  // namespace
}  // namespace semcache::linalg
