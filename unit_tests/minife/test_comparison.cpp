// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors

#include <minife/comparison.hpp>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using namespace minife;
using nlohmann::json;

/// A consistent report: 2 ranks, 100 nonzeros, 3 iterations, 4 products.
json report(const std::string& variant, std::uint64_t h2d, std::uint64_t d2h) {
  return {{"schema_version", 1},
          {"variant", variant},
          {"ranks", 2},
          {"elements", {1, 2, 3}},
          {"rows", 10},
          {"nonzeros", 100},
          {"iterations", 3},
          {"device", {{"kind", "emulated"}}},
          {"residual_history", {3.0, 2.0, 1e-17}},
          {"final_residual_norm", 1e-17},
          {"setup_seconds", 0.5},
          {"cg_seconds", 0.25},
          {"verified", true},
          {"unknown_launches", 0},
          {"host_faults", 0},
          {"avoided", {{"bytes", 0}}},
          {"cg_transfers", {{"h2d_bytes", 0}, {"d2h_bytes", 0}}},
          {"transfers", {{"h2d_bytes", h2d}, {"h2d_count", 1}, {"d2h_bytes", d2h}, {"d2h_count", 1}}},
          {"problem",
           {{"externals", 5},
            {"sent_entries", 5},
            {"products", 4},
            {"matrix_bytes", 1300},
            {"rhs_bytes", 80},
            {"start_bytes", 80},
            {"solution_bytes", 80}}}};
}

class ComparisonOf : public ::testing::Test {
 protected:
  // Upper bounds: h2d 1300 + 160 + 8*5*4 = 1620, d2h 80 + 160 + 64*3 = 432.
  json naive = report("naive", 15400, 4400);
  json manual = report("manual", 1540, 240);
  json semcache = report("semcache", 1540, 240);

  [[nodiscard]] std::vector<std::string> wrong() const {
    std::vector<std::string> texts;
    for (const Check& c : Comparison({naive, manual, semcache}).checks()) {
      if (!c.passed) texts.push_back(c.text);
    }
    return texts;
  }
  void expect_only(const std::string& part) const {
    const std::vector<std::string> texts = wrong();
    ASSERT_EQ(texts.size(), 1U) << (texts.empty() ? part : texts[0]);
    EXPECT_NE(texts[0].find(part), std::string::npos) << texts[0];
  }
};

TEST_F(ComparisonOf, ConsistentReportsHolds) { EXPECT_TRUE(wrong().empty()); }

TEST_F(ComparisonOf, TakesReportsInAnyOrder) {
  EXPECT_TRUE(all_passed(Comparison({semcache, naive, manual}).checks()));
}

TEST_F(ComparisonOf, FindsAHistoryThatDiffersInTheLastBit) {
  semcache["residual_history"][1] = std::nextafter(2.0, 3.0);
  expect_only("bit-identical");
}

TEST_F(ComparisonOf, FindsAnotherNumberOfIterations) {
  naive["iterations"] = 4;
  expect_only("same iterations");
}

TEST_F(ComparisonOf, FindsAByteTooMuchAndTooFew) {
  manual["transfers"]["h2d_bytes"] = 1621;
  naive["transfers"]["h2d_bytes"] = 16210;
  expect_only("manual h2d bytes: 1621 <= 1620");
  manual["transfers"]["h2d_bytes"] = 1540;
  semcache["transfers"]["h2d_bytes"] = 799;
  expect_only("semcache h2d bytes: 799 >= 800");
  semcache["transfers"]["h2d_bytes"] = 1542;
  expect_only("1.001 of manual");
}

TEST_F(ComparisonOf, FindsTooMuchComingBack) {
  semcache["transfers"]["d2h_bytes"] = 241;
  expect_only("semcache d2h bytes: 241 <= 240 (1.001 of manual)");
  semcache["transfers"]["d2h_bytes"] = 433;
  manual["transfers"]["d2h_bytes"] = 433;
  naive["transfers"]["d2h_bytes"] = 4330;
  EXPECT_EQ(wrong().size(), 2U);
}

TEST_F(ComparisonOf, FindsANaiveThatIsNot) {
  naive["transfers"]["d2h_bytes"] = 2399;
  expect_only("naive d2h bytes");
}

TEST_F(ComparisonOf, FindsUnknownLaunchesAndFailedVerification) {
  semcache["unknown_launches"] = 1;
  expect_only("unknown launches");
  semcache["unknown_launches"] = 0;
  manual["verified"] = false;
  expect_only("manual agrees with the analytic solution");
}

TEST_F(ComparisonOf, RefusesAMissingVariantOrField) {
  EXPECT_THROW(Comparison({naive, manual}), std::invalid_argument);
  EXPECT_THROW(Comparison({naive, manual, manual, semcache}), std::invalid_argument);
  semcache.erase("unknown_launches");
  EXPECT_THROW((void)Comparison({naive, manual, semcache}).checks(), std::invalid_argument);
}

TEST_F(ComparisonOf, TableNamesEveryVariant) {
  const std::string table = Comparison({naive, manual, semcache}).table();
  for (const char* word : {"naive", "manual", "semcache", "15400", "240"}) {
    EXPECT_NE(table.find(word), std::string::npos) << word;
  }
}

class ComparisonOfBelos : public ::testing::Test {
 protected:
  json manual = belos("manual");
  json semcache = belos("semcache");

  static json belos(const std::string& variant) {
    json r = report(variant, 1540, 240);
    r["solver"] = "belos";
    r["residual_history"] = {3.0, 2.0, 1.0, 1e-17};
    r["solution"] = {{"minimum", 0.0}, {"maximum", 1.0}, {"mean", 0.25}};
    // 5 values each way in each of 3 iterations.
    r["cg_transfers"] = {{"h2d_bytes", variant == "manual" ? 0 : 120}, {"d2h_bytes", variant == "manual" ? 0 : 120}};
    return r;
  }
  void expect_only(const std::string& part) const {
    std::string wrong;
    for (const Check& c : check_belos({manual, semcache})) {
      if (!c.passed) wrong += c.text + "\n";
    }
    EXPECT_NE(wrong.find(part), std::string::npos) << wrong;
    EXPECT_EQ(std::count(wrong.begin(), wrong.end(), '\n'), 1) << wrong;
  }
};

TEST_F(ComparisonOfBelos, HoldsForRoundedNorms) {
  EXPECT_TRUE(all_passed(check_belos({semcache, manual})));
  semcache["residual_history"][1] = 2.0 + 1e-12;
  EXPECT_TRUE(all_passed(check_belos({manual, semcache})));
}

TEST_F(ComparisonOfBelos, FindsNormsBeyondRounding) {
  semcache["residual_history"][1] = 2.0 + 1e-9;
  expect_only("the first norms");
  semcache["residual_history"][1] = 2.0;
  for (json* r : {&manual, &semcache}) (*r)["residual_history"] = std::vector<double>(12, 3.0);
  semcache["residual_history"][11] = 3.0001;
  expect_only("relative to the first");
  semcache["residual_history"] = std::vector<double>(11, 3.0);
  expect_only("of one length");
}

/// Its sums may cross the tolerance an iteration or two earlier or later.
TEST_F(ComparisonOfBelos, PermitsTwoIterationsOnAGpuOnly) {
  const auto iterations = [&](int n) {
    semcache["iterations"] = n;
    semcache["residual_history"] = std::vector<double>(static_cast<std::size_t>(n) + 1, 3.0);
    semcache["cg_transfers"] = {{"h2d_bytes", 40 * n}, {"d2h_bytes", 40 * n}};
  };
  manual["residual_history"] = std::vector<double>(4, 3.0);
  iterations(4);
  EXPECT_FALSE(all_passed(check_belos({manual, semcache})));
  semcache["device"]["kind"] = "cuda";
  for (const int n : {1, 2, 3, 4, 5}) {
    iterations(n);
    EXPECT_TRUE(all_passed(check_belos({manual, semcache}))) << n;
  }
  iterations(6);
  EXPECT_FALSE(all_passed(check_belos({manual, semcache})));
}

TEST_F(ComparisonOfBelos, FindsTheLastBitOfSumsThatAreTheSame) {
  EXPECT_TRUE(all_passed(check_belos({manual, semcache}, true)));
  semcache["residual_history"][0] = std::nextafter(3.0, 4.0);
  EXPECT_FALSE(all_passed(check_belos({manual, semcache}, true)));
  semcache["residual_history"][0] = 3.0;
  semcache["residual_history"][2] = std::nextafter(1.0, 2.0);
  EXPECT_FALSE(all_passed(check_belos({manual, semcache}, true)));
}

TEST_F(ComparisonOfBelos, FindsAByteBesideTheHalo) {
  semcache["cg_transfers"]["h2d_bytes"] = 121;
  expect_only("h2d bytes");
  semcache["cg_transfers"] = {{"h2d_bytes", 120}, {"d2h_bytes", 119}};
  expect_only("d2h bytes");
}

TEST_F(ComparisonOfBelos, FindsAnotherSolutionAndUnknownLaunches) {
  semcache["solution"]["mean"] = 0.2500001;
  expect_only("mean");
  semcache["solution"]["mean"] = 0.25;
  semcache["unknown_launches"] = 1;
  expect_only("unknown launches");
}

TEST_F(ComparisonOfBelos, RefusesTheOwnSolversReportAndAMissingVariant) {
  EXPECT_THROW((void)check_belos({manual}), std::invalid_argument);
  EXPECT_THROW((void)check_belos({manual, manual}), std::invalid_argument);
  EXPECT_TRUE(is_of_belos(manual));
  EXPECT_FALSE(is_of_belos(report("manual", 1, 2)));
  manual["solver"] = "cg";
  expect_only("same solver");
}

TEST(Expectation, ComparesNumbers) {
  const json r = report("manual", 1, 2);
  EXPECT_TRUE(check_expectation(r, "rows=10").passed);
  EXPECT_FALSE(check_expectation(r, "rows=11").passed);
  EXPECT_TRUE(check_expectation(r, "residual_history/0=3.001~1e-3").passed);
  EXPECT_FALSE(check_expectation(r, "residual_history/0=3.1~1e-3").passed);
  EXPECT_TRUE(check_expectation(r, "residual_history/-1<2.22e-16").passed);
  EXPECT_FALSE(check_expectation(r, "residual_history/1<2.22e-16").passed);
  for (const char* bad : {"rows", "=3", "rows=", "rows=many", "nosuch=1", "residual_history/9=1"}) {
    EXPECT_THROW((void)check_expectation(r, bad), std::invalid_argument) << bad;
  }
}

}  // namespace
