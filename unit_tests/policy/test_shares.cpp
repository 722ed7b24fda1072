// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/policy/shares.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

// What is wrong with cuts that a program makes itself.
namespace semcache::policy {
namespace {

const ShareRules rules{10, 8, 3};

TEST(Shares, ThatCoverTheResultOnceAreRight) {
  EXPECT_EQ(flaw_of({{2, {0, 10, 0, 8}}}, rules), "");
  EXPECT_EQ(flaw_of({{0, {0, 4, 0, 8}}, {1, {4, 10, 0, 3}}, {2, {4, 10, 3, 8}}}, rules), "");
  // They touch at borders and at a corner, in any order.
  EXPECT_EQ(flaw_of({{0, {5, 10, 4, 8}}, {1, {0, 5, 0, 4}}, {1, {5, 10, 0, 4}}, {2, {0, 5, 4, 8}}}, rules), "");
}

TEST(Shares, ThatOverlapAreNamed) {
  EXPECT_EQ(flaw_of({{0, {0, 6, 0, 8}}, {1, {5, 10, 0, 8}}}, rules),
            "share 0, [0, 6) x [0, 8), and share 1, [5, 10) x [0, 8), overlap. Give each element to one share");
  EXPECT_EQ(flaw_of({{0, {0, 10, 0, 4}}, {1, {0, 10, 3, 8}}}, rules),
            "share 0, [0, 10) x [0, 4), and share 1, [0, 10) x [3, 8), overlap. Give each element to one share");
  EXPECT_EQ(flaw_of({{0, {0, 10, 0, 8}}, {1, {4, 5, 4, 5}}}, rules),
            "share 0, [0, 10) x [0, 8), and share 1, [4, 5) x [4, 5), overlap. Give each element to one share");
}

TEST(Shares, AMissingElementIsNamed) {
  EXPECT_EQ(flaw_of({}, rules), "the element in row 0 and column 0 of the result, which has 10 x 8, is in no share. Give each element to one share");
  EXPECT_EQ(flaw_of({{0, {0, 10, 0, 5}}, {1, {0, 7, 5, 8}}}, rules),
            "the element in row 7 and column 5 of the result, which has 10 x 8, is in no share. Give each element to one share");
}

TEST(Shares, EachIsCheckedForItself) {
  const auto flaw = [](const Share& share, ShareForm form = ShareForm::rectangles, std::uint64_t grain = 1) {
    ShareRules r = rules;
    r.form = form;
    r.grain = grain;
    return flaw_of({share}, r);
  };
  EXPECT_EQ(flaw({3, {0, 10, 0, 8}}), "share 0 is for device 3, but the process uses 3, counted from 0");
  EXPECT_EQ(flaw({0, {4, 4, 0, 8}}), "share 0 is [4, 4) x [0, 8), which is empty. Leave it out");
  EXPECT_EQ(flaw({0, {0, 11, 0, 8}}), "share 0 is [0, 11) x [0, 8), which leaves the result of 10 x 8 elements");
  EXPECT_EQ(flaw({0, {0, 10, 0, 9}}), "share 0 is [0, 10) x [0, 9), which leaves the result of 10 x 8 elements");
  EXPECT_EQ(flaw({0, {0, 9, 0, 8}}, ShareForm::columns),
            "share 0 is [0, 9) x [0, 8), but this call is cut by columns. Give each share all 10 rows");
  for (const ShareForm form : {ShareForm::rows, ShareForm::run_of_rows}) {
    EXPECT_EQ(flaw({0, {0, 10, 0, 7}}, form), "share 0 is [0, 10) x [0, 7), but this call is cut by rows. Give each share all 8 columns");
  }
  EXPECT_EQ(flaw({0, {3, 10, 0, 8}}, ShareForm::rectangles, 4),
            "share 0 begins at row 3, but this call is cut between blocks. Begin it at a multiple of 4");
}

TEST(Shares, OneForEachDeviceWhereTheCallTakesNoMore) {
  const std::vector<Share> two{{1, {0, 5, 0, 8}}, {1, {5, 10, 0, 8}}};
  ShareRules r = rules;
  EXPECT_EQ(flaw_of(two, r), "");
  r.form = ShareForm::run_of_rows;
  EXPECT_EQ(flaw_of(two, r), "share 1 is the second one for device 1, but this call takes one for each device. Join them");
}

}  // namespace
}  // namespace semcache::policy
