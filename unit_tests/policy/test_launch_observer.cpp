// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/policy/launch_observer.hpp>

#include <gtest/gtest.h>

#include <limits>

namespace semcache::policy {
namespace {

constexpr std::uint64_t largest = std::numeric_limits<std::uint64_t>::max();

TEST(ViewShape, SpanIsFromTheFirstToTheLastElement) {
  EXPECT_EQ((ViewShape{0, {}, {}}.span()), 1u);
  EXPECT_EQ((ViewShape{1, {7}, {1}}.span()), 7u);
  EXPECT_EQ((ViewShape{1, {7}, {3}}.span()), 19u);
  EXPECT_EQ((ViewShape{2, {4, 3}, {1, 10}}.span()), 24u);
  EXPECT_EQ((ViewShape{8, {2, 2, 2, 2, 2, 2, 2, 2}, {128, 64, 32, 16, 8, 4, 2, 1}}.span()), 256u);
  EXPECT_EQ((ViewShape{2, {5, 1}, {0, largest}}.span()), 1u);
}

TEST(ViewShape, WithoutElementsThereIsNoSpan) {
  EXPECT_EQ((ViewShape{2, {0, 3}, {1, 5}}.span()), 0u);
  EXPECT_EQ((ViewShape{2, {largest, 0}, {largest, 1}}.span()), 0u);
}

TEST(ViewShape, ASpanThatIsTooLargeIsTheLargestNumber) {
  EXPECT_EQ((ViewShape{1, {largest}, {1}}.span()), largest);
  EXPECT_EQ((ViewShape{1, {largest}, {2}}.span()), largest);
  EXPECT_EQ((ViewShape{2, {largest, 2}, {1, 2}}.span()), largest);
  EXPECT_EQ((ViewShape{3, {std::uint64_t{1} << 40, std::uint64_t{1} << 40, 2}, {1, std::uint64_t{1} << 40, 1}}.span()), largest);
}

}  // namespace
}  // namespace semcache::policy
