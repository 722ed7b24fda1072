// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "fixture.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdint>
#include <fstream>
#include <functional>
#include <mutex>
#include <numeric>
#include <random>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

/// Calls that the program cuts itself (`Options::cut`): whatever the cut is, the result is that of the package's own one. Numbers are small integers,
/// so that sums have the same bits in any order.
namespace semcache::linalg {
namespace {

constexpr std::int64_t n = 60, k = 40;
constexpr Transpose no = Transpose::no;

/// A sparse matrix of n rows and columns: the diagonal, and entries far from it.
struct Sparse {
  Sparse() : row_pointers(n + 1, Where::host), columns(3 * n, Where::host), values(3 * n, Where::host) {
    for (std::int32_t i = 0; i < n; ++i) {
      row_pointers.data()[i] = 3 * i;
      for (std::int32_t e = 0; e < 3; ++e) {
        columns.data()[3 * i + e] = static_cast<std::int32_t>((i + e * 17) % n);
        values.data()[3 * i + e] = 1 + i % 5 - e;
      }
    }
    row_pointers.data()[n] = 3 * n;
  }
  [[nodiscard]] Csr<double> csr() const { return {n, n, 3 * n, row_pointers.data(), columns.data(), values.data()}; }
  Array<std::int32_t> row_pointers, columns;
  Array<double> values;
};

/// The operands of all calls, and the results one after the other.
struct Calls {
  Calls() : a(n * n, Where::host), b(n * n, Where::host), c(n * n, Where::host), x(n, Where::host), y(n, Where::host) {
    for (std::int64_t i = 0; i < n * n; ++i) {
      a.data()[i] = static_cast<double>(i % 7 - 3);
      b.data()[i] = static_cast<double>(i % 5 - 2);
      c.data()[i] = static_cast<double>(i % 3);
    }
    for (std::int64_t i = 0; i < n; ++i) {
      a.data()[i * (n + 1)] = 1;  // a diagonal of ones
      x.data()[i] = static_cast<double>(i % 11 - 5);
      y.data()[i] = static_cast<double>(i % 4);
    }
  }
  void note(const Array<double>& result) {
    const std::vector<double> content = result.get();
    results.insert(results.end(), content.begin(), content.end());
  }
  std::vector<double> all() {
    const Csr<double> matrix = sparse.csr();
    gemm(no, no, n, n, k, 2.0, a.data(), n, b.data(), n, 1.0, c.data(), n), note(c);
    gemm(Transpose::yes, Transpose::yes, n, n, k, 1.0, a.data(), n, b.data(), n, 0.0, c.data(), n), note(c);
    symm(Side::left, Triangle::lower, n, n, 1.0, a.data(), n, b.data(), n, 0.0, c.data(), n), note(c);
    symm(Side::right, Triangle::upper, n, n, 1.0, a.data(), n, b.data(), n, 1.0, c.data(), n), note(c);
    syrk(Triangle::lower, no, n, k, 1.0, b.data(), n, 1.0, c.data(), n), note(c);
    syr2k(Triangle::upper, Transpose::yes, n, k, 1.0, a.data(), n, b.data(), n, 0.0, c.data(), n), note(c);
    trmm(Side::left, Triangle::upper, no, Diagonal::unit, n, n, 1.0, a.data(), n, b.data(), n), note(b);
    gemv(no, n, n, 1.0, a.data(), n, x.data(), 1.0, y.data()), note(y);
    gemv(Transpose::yes, n, n, 1.0, a.data(), n, x.data(), 0.0, y.data()), note(y);
    axpby(n, 2.0, x.data(), 1.0, y.data()), note(y);
    scal(n, 2.0, y.data()), note(y);
    results.push_back(dot(n, x.data(), y.data()));
    DeviceScalar<double> sum;
    dot(n, x.data(), x.data(), sum);
    axpby(n, Factor<double>(sum, sum), x.data(), 1.0, y.data()), note(y);
    spmv(1.0, matrix, x.data(), 1.0, y.data()), note(y);
    spmm(2, 1.0, matrix, b.data(), n, 0.0, c.data(), n), note(c);
    spmv(1.0, matrix, x.data(), 0.0, y.data()), note(y);
    return results;
  }
  Array<double> a, b, c, x, y;
  Sparse sparse;
  std::vector<double> results;
};

using Random = std::mt19937;
/// Cuts [0, count) at random multiples of the grain.
std::vector<policy::Run> runs(std::uint64_t count, std::uint64_t grain, std::size_t most, Random& random) {
  std::set<std::uint64_t> borders{0, count};
  for (std::size_t i = 1; i < most; ++i) borders.insert(random() % count / grain * grain);
  std::vector<policy::Run> all;
  for (auto b = borders.begin(); std::next(b) != borders.end(); ++b) all.push_back({*b, *std::next(b)});
  return all;
}
std::vector<Share> random_cut(const CallToCut& call, Random& random) {
  const policy::ShareRules& rules = call.shares;
  const auto any = [&] { return static_cast<std::uint32_t>(random() % rules.devices); };
  const bool by_columns = rules.form == ShareForm::columns || rules.form == ShareForm::rectangles, by_rows = rules.form != ShareForm::columns;
  std::vector<std::uint32_t> devices(rules.devices);
  std::iota(devices.begin(), devices.end(), 0U);
  std::shuffle(devices.begin(), devices.end(), random);
  const bool one_each = rules.form == ShareForm::run_of_rows;
  std::vector<Share> shares;
  for (const policy::Run& c : runs(rules.columns, 1, by_columns ? 1 + random() % 4 : 1, random)) {
    for (const policy::Run& r : runs(rules.rows, rules.grain, one_each ? rules.devices : by_rows ? 1 + random() % 4 : 1, random)) {
      shares.push_back({one_each ? devices[shares.size()] : any(), {r.begin, r.end, c.begin, c.end}});
    }
  }
  std::shuffle(shares.begin(), shares.end(), random);
  return shares;
}

class LinalgOwnCut : public LinalgTest<> {
 protected:
  static void cut_by(CutFunction cut) { set_options({Spread::automatic, 0, 0, 0, policy::least_seconds_of_device, std::move(cut)}); }
  static std::vector<double> results(int devices) {
    std::vector<double> all;
    on_devices(devices, [&] { all = Calls().all(); });
    return all;
  }
};

TEST_F(LinalgOwnCut, AnyCutOfAnyCallGivesTheSameResults) {
  const std::vector<double> right = results(1);
  Random random(21);
  for (int devices = 1; devices <= 8; ++devices) {
    for (int round = 0; round < 3; ++round) {
      std::set<std::string> asked;
      cut_by([&](const CallToCut& call) {
        asked.insert(call.routine);
        return random_cut(call, random);
      });
      const std::vector<double> all = results(devices);
      ASSERT_EQ(all.size(), right.size());
      for (std::size_t i = 0; i < all.size(); ++i) ASSERT_EQ(all[i], right[i]) << devices << " devices, number " << i;
      EXPECT_EQ(asked, (std::set<std::string>{"axpby", "dot", "gemm", "gemv", "scal", "spmm", "spmv", "symm", "syr2k", "syrk", "trmm"}));
    }
  }
}

TEST_F(LinalgOwnCut, SharesLargerThanTheMemoryAreCutFurther) {
  const Setting budget("SEMCACHE_DEVICE_MEMORY", "640K");
  constexpr std::int64_t large = 300;
  on_devices(2, [] {
    Array<double> a(large * large, Where::host), b(large * large, Where::host), c(large * large, Where::host);
    std::fill(a.data(), a.data() + large * large, 1.0);
    std::fill(b.data(), b.data() + large * large, 2.0);
    cut_by([](const CallToCut& call) {
      return std::vector<Share>{{1, {0, 100, 0, call.shares.columns}}, {0, {100, call.shares.rows, 0, call.shares.columns}}};
    });
    gemm(no, no, large, large, large, 1.0, a.data(), large, b.data(), large, 0.0, c.data(), large);
    EXPECT_EQ(c.get(), std::vector<double>(large * large, 2.0 * large));
  });
}

TEST_F(LinalgOwnCut, ResultsAreWhereTheProgramWantsThemAndItIsToldWhatLiesWhere) {
  on_devices(4, [] {
    Calls calls;
    std::vector<CallToCut> asked;
    cut_by([&](const CallToCut& call) {
      asked.push_back(call);
      return std::vector<Share>{{3, {0, n, 0, 20}}, {1, {0, n, 20, n}}};
    });
    gemm(no, no, n, n, k, 1.0, calls.a.data(), n, calls.b.data(), n, 0.0, calls.c.data(), n);
    std::set<std::uint32_t> first, rest;
    for (const runtime::HeldBytes& h : runtime::holders(calls.c.data(), 20 * n * sizeof(double))) first.insert(h.device);
    for (const runtime::HeldBytes& h : runtime::holders(calls.c.data() + 20 * n, 40 * n * sizeof(double))) rest.insert(h.device);
    EXPECT_EQ(first, (std::set<std::uint32_t>{3}));
    EXPECT_EQ(rest, (std::set<std::uint32_t>{1}));
    gemm(no, no, n, n, k, 1.0, calls.a.data(), n, calls.b.data(), n, 1.0, calls.c.data(), n);
    ASSERT_EQ(asked.size(), 2u);
    const CallToCut& call = asked.back();
    EXPECT_EQ(call.shares.form, ShareForm::rectangles);
    EXPECT_EQ(call.memory.size(), 4u);
    EXPECT_EQ(call.memory[0].budget, runtime::device_budget(0));
    ASSERT_EQ(call.operands.size(), 3u);
    EXPECT_EQ(call.operands[0].columns, static_cast<std::uint64_t>(k));
    EXPECT_EQ(call.operands[2].mode, Access::read_write);
    EXPECT_EQ(asked.front().operands[2].mode, Access::overwrite);
    EXPECT_EQ(asked.front().operands[0].held, std::vector<std::uint64_t>(4, 0));
    EXPECT_EQ(call.operands[2].held, (std::vector<std::uint64_t>{0, 40 * n * sizeof(double), 0, 20 * n * sizeof(double)}));
    EXPECT_EQ(call.operands[0].held, (std::vector<std::uint64_t>{0, k * n * sizeof(double), 0, k * n * sizeof(double)}));
  });
}

/// Where the program's function returns nothing, vectors are cut as the matrix is that it has cut.
TEST_F(LinalgOwnCut, VectorsFollowASparseMatrixThatTheProgramHasCut) {
  on_devices(3, [] {
    Calls calls;
    cut_by([&](const CallToCut& call) {
      if (std::string(call.routine) != "spmv") return std::vector<Share>();
      return std::vector<Share>{{2, {0, 20, 0, 1}}, {0, {20, n, 0, 1}}};
    });
    spmv(1.0, calls.sparse.csr(), calls.x.data(), 0.0, calls.y.data());
    scal(n, 2.0, calls.y.data());
    std::set<std::uint32_t> first, rest;
    for (const runtime::HeldBytes& h : runtime::holders(calls.y.data(), 20 * sizeof(double))) first.insert(h.device);
    for (const runtime::HeldBytes& h : runtime::holders(calls.y.data() + 20, 40 * sizeof(double))) rest.insert(h.device);
    EXPECT_EQ(first, (std::set<std::uint32_t>{2}));
    EXPECT_EQ(rest, (std::set<std::uint32_t>{0}));
  });
}

TEST_F(LinalgOwnCut, ACutThatIsNoneOfTheCallIsRefusedByNameAndNothingChanges) {
  struct Case {
    std::vector<Share> shares;
    const char* why;
  };
  const Case cases[] = {
      {{{0, {0, n, 0, 30}}, {2, {0, n, 30, n}}}, "share 1 is for device 2, but the process uses 2, counted from 0"},
      {{{0, {0, n, 0, 30}}, {1, {0, n, 30, n + 1}}}, "share 1 is [0, 60) x [30, 61), which leaves the result of 60 x 60 elements"},
      {{{0, {0, n, 0, 30}}, {1, {0, n, 30, 30}}}, "share 1 is [0, 60) x [30, 30), which is empty"},
      {{{0, {0, n, 0, 31}}, {1, {0, n, 30, n}}}, "share 0, [0, 60) x [0, 31), and share 1, [0, 60) x [30, 60), overlap"},
      {{{1, {0, n, 0, n}}, {0, {5, 6, 7, 8}}}, "share 0, [0, 60) x [0, 60), and share 1, [5, 6) x [7, 8), overlap"},
      {{{0, {0, n, 0, 30}}, {1, {0, 59, 30, n}}}, "the element in row 59 and column 30 of the result, which has 60 x 60, is in no share"},
      {{{0, {1, n, 0, n}}}, "the element in row 0 and column 0 of the result"},
      {{{0, {0, 30, 0, 30}}, {1, {30, n, 30, n}}, {0, {0, 30, 30, n}}}, "the element in row 30 and column 0 of the result"},
  };
  on_devices(2, [&] {
    Calls calls;
    const std::vector<double> before = calls.c.get();
    const auto expect_refused = [&](const std::vector<Share>& shares, const char* routine, const std::string& why,
                                    const std::function<void()>& call) {
      cut_by([&](const CallToCut&) { return shares; });
      try {
        call();
        ADD_FAILURE() << "not refused: " << why;
      } catch (const UsageError& error) {
        const std::string text = error.what(), begin = "linalg::" + std::string(routine) + ": the program's own cut (Options::cut) is refused: ";
        EXPECT_NE(text.find(begin), std::string::npos) << text;
        EXPECT_NE(text.find(why), std::string::npos) << text;
      }
    };
    for (const Case& c : cases) {
      expect_refused(c.shares, "gemm", c.why, [&] { gemm(no, no, n, n, k, 2.0, calls.a.data(), n, calls.b.data(), n, 1.0, calls.c.data(), n); });
    }
    expect_refused({{0, {0, 30, 0, n}}, {1, {30, n, 0, n}}}, "symm", "this call is cut by columns. Give each share all 60 rows", [&] {
      symm(Side::left, Triangle::lower, n, n, 1.0, calls.a.data(), n, calls.b.data(), n, 0.0, calls.c.data(), n);
    });
    expect_refused({{0, {0, n, 0, 30}}, {1, {0, n, 30, n}}}, "symm", "this call is cut by rows. Give each share all 60 columns", [&] {
      symm(Side::right, Triangle::lower, n, n, 1.0, calls.a.data(), n, calls.b.data(), n, 0.0, calls.c.data(), n);
    });
    expect_refused({{0, {0, 20, 0, 1}}, {1, {20, 40, 0, 1}}, {0, {40, n, 0, 1}}}, "spmv",
                   "share 2 is the second one for device 0, but this call takes one for each device. Join them",
                   [&] { spmv(1.0, calls.sparse.csr(), calls.x.data(), 0.0, calls.y.data()); });
    const char* const in_a_block = "share 1 begins at row 1, but this call is cut between blocks. Begin it at a multiple of 8";
    expect_refused({{0, {0, 1, 0, 1}}, {1, {1, 1000, 0, 1}}}, "dot", in_a_block, [&] {
      const Array<double> vector(1000, Where::host);
      (void)dot(1000, vector.data(), vector.data());
    });
    EXPECT_EQ(calls.c.get(), before);
    cut_by([](const CallToCut&) -> std::vector<Share> { throw std::runtime_error("none today"); });
    EXPECT_THROW(scal(n, 2.0, calls.x.data()), std::runtime_error);
    EXPECT_EQ(calls.x.data()[0], -5.0);
  });
}

TEST_F(LinalgOwnCut, TheReportSaysThatTheProgramHasCut) {
  const std::string file = ::testing::TempDir() + "own_cut_" + std::to_string(::getpid()) + ".txt";
  {
    const Setting report("SEMCACHE_REPORT", file.c_str());
    on_devices(2, [] {
      Calls calls;
      cut_by([](const CallToCut&) { return std::vector<Share>{{1, {0, n, 0, 1}}}; });
      scal(n, 2.0, calls.x.data());
    });
  }
  std::stringstream text;
  text << std::ifstream(file).rdbuf();
  EXPECT_NE(text.str().find("scal d, 60 elements: 1 task on device 1, cut by the program"), std::string::npos) << text.str();
  std::remove(file.c_str());
}

}  // namespace
}  // namespace semcache::linalg
