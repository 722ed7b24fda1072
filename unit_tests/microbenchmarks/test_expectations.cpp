// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
//
// A check that cannot fail proves nothing: each expectation of the microbenchmarks is met by the right counts and
// broken by the counts of a scheme that moves one byte too many or too few.
#include <um_microbenchmarks/output.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <sstream>

namespace {

using namespace microbenchmarks;

constexpr std::uint64_t size = 64 << 20;

Counts right_counts(Name name) {
  const auto touched = static_cast<std::uint64_t>(sparse_indices(size / sizeof(double), false).size());
  Counts c;
  switch (name) {
    case Name::automem: case Name::multivars: c.h2d_bytes = c.d2h_bytes = size; c.host_faults = 2; break;
    case Name::nokernel: case Name::privmem: break;
    case Name::readonly_const: c.h2d_bytes = size; c.host_faults = 1; break;
    case Name::readonly_writable: c.h2d_bytes = c.d2h_bytes = size; break;
    case Name::sparse_read_random: case Name::sparse_read_stride:
      c.d2h_bytes = touched * 16384; c.host_faults = touched; break;
    case Name::sparse_write_random: case Name::sparse_write_stride:
      c.h2d_bytes = c.d2h_bytes = touched * 16384; c.host_faults = 2 * touched; break;
    case Name::six_reads: c.d2h_bytes = size; c.host_faults = 5; break;
    case Name::mirror_loop: c.d2h_bytes = mirror_rounds * 16384; c.host_faults = mirror_rounds; break;
  }
  return c;
}

bool holds(Name name, const Counts& c, bool write_checks = false, bool named = true) {
  const auto checks = expectations(name, size, c, write_checks, named);
  return std::all_of(checks.begin(), checks.end(), [](const Check& check) { return check.holds(); });
}

TEST(Expectations, TheRightCountsHold) {
  for (const Benchmark& b : all_benchmarks()) EXPECT_TRUE(holds(b.id, right_counts(b.id))) << b.name;
}

TEST(Expectations, OneMoreOrLessByteThanMustMoveIsNoticed) {
  for (const Name name : {Name::automem, Name::nokernel, Name::readonly_const, Name::readonly_writable, Name::multivars,
                          Name::privmem, Name::six_reads}) {
    for (std::uint64_t Counts::*field : {&Counts::h2d_bytes, &Counts::d2h_bytes}) {
      Counts c = right_counts(name);
      c.*field += 1;
      EXPECT_FALSE(holds(name, c));
      c = right_counts(name);
      if (c.*field > 0) {
        c.*field -= 1;
        EXPECT_FALSE(holds(name, c));
      }
    }
  }
}

TEST(Expectations, MovingTheWholeArrayForAFewElementsIsNoticed) {
  constexpr std::uint64_t large = 1 << 30;
  for (const Name name : {Name::sparse_read_random, Name::sparse_read_stride, Name::sparse_write_random,
                          Name::sparse_write_stride, Name::mirror_loop}) {
    for (std::uint64_t Counts::*field : {&Counts::h2d_bytes, &Counts::d2h_bytes}) {
      Counts c = right_counts(name);
      c.*field = large;
      const auto checks = expectations(name, large, c, false, true);
      EXPECT_FALSE(std::all_of(checks.begin(), checks.end(), [](const Check& check) { return check.holds(); }));
    }
    Counts many = right_counts(name);
    many.host_faults = 1 << 20;
    EXPECT_FALSE(holds(name, many));
    EXPECT_FALSE(holds(name, Counts{}));
  }
}

TEST(Expectations, AnArrayThatCameBackUnchangedMustBeNamedAndStayPutWhenWritesAreChecked) {
  const Counts moved = right_counts(Name::readonly_writable);
  EXPECT_FALSE(holds(Name::readonly_writable, moved, false, false));
  EXPECT_FALSE(holds(Name::readonly_writable, moved, true, true));

  Counts stayed = moved;
  stayed.d2h_bytes = 0;
  EXPECT_TRUE(holds(Name::readonly_writable, stayed, true, true));
}

TEST(Expectations, CopiesOfLessThanAPageCauseNoFault) {
  const auto holds_with = [](std::uint64_t bytes, std::uint64_t faults) {
    Counts c;
    c.d2h_bytes = mirror_rounds * bytes;
    c.host_faults = faults;
    const auto checks = expectations(Name::mirror_loop, bytes, c, false, true);
    return std::all_of(checks.begin(), checks.end(), [](const Check& check) { return check.holds(); });
  };
  EXPECT_TRUE(holds_with(page_bytes - 8, 0));
  EXPECT_FALSE(holds_with(page_bytes - 8, 1));
  EXPECT_FALSE(holds_with(page_bytes, 0));
  EXPECT_TRUE(holds_with(page_bytes, 1));
}

TEST(Expectations, AnUnknownLaunchIsNoticedEverywhere) {
  for (const Benchmark& b : all_benchmarks()) {
    Counts c = right_counts(b.id);
    c.unknown_launches = 1;
    EXPECT_FALSE(holds(b.id, c)) << b.name;
  }
}

TEST(SparseIndices, AreOnPagesOfTheirOwnAndTheSameInEveryRun) {
  constexpr std::size_t elements = (1 << 30) / sizeof(double), page = page_bytes / sizeof(double);
  for (const bool random : {false, true}) {
    const auto indices = sparse_indices(elements, random);
    std::set<std::size_t> pages;
    for (const std::size_t i : indices) {
      ASSERT_LT(i, elements);
      pages.insert(i / page);
    }
    EXPECT_EQ(pages.size(), sparse_elements);
    EXPECT_EQ(indices, sparse_indices(elements, random));
  }
  EXPECT_EQ(sparse_indices(elements, false)[1] * sizeof(double), std::size_t{1} << 20);  // a stride of 1 MiB
  EXPECT_EQ(sparse_indices(8, true).size(), 1u);
}

std::vector<Outcome> outcomes_with(const Counts& each) {
  std::vector<Outcome> all;
  for (const Benchmark& b : all_benchmarks()) {
    Outcome o;
    o.benchmark = b;
    o.bytes = page_bytes;
    o.semcache.correct = true;
    o.semcache.counts = each;
    all.push_back(o);
  }
  return all;
}

TEST(RedundancyTable, IsDerivedFromTheCounts) {
  Counts none;
  const Redundancy good = redundancy(outcomes_with(none), Scheme::semcache);
  EXPECT_EQ(good.only_stale_to_device, true);
  EXPECT_EQ(good.only_stale_to_host, true);
  EXPECT_EQ(good.no_eager_to_device, true);
  EXPECT_EQ(good.no_eager_to_host, true);

  Counts all;
  all.h2d_bytes = 161 * page_bytes;
  all.d2h_bytes = page_bytes;
  const Redundancy bad = redundancy(outcomes_with(all), Scheme::semcache);
  EXPECT_EQ(bad.only_stale_to_device, false);
  EXPECT_EQ(bad.only_stale_to_host, false);
  EXPECT_EQ(bad.no_eager_to_device, false);
  EXPECT_EQ(bad.no_eager_to_host, false);

  EXPECT_FALSE(redundancy(outcomes_with(all), Scheme::managed).no_eager_to_host.has_value());
  EXPECT_FALSE(redundancy({}, Scheme::semcache).only_stale_to_host.has_value());
}

TEST(Failures, NameTheLine) {
  auto outcomes = outcomes_with(Counts{});
  for (Outcome& o : outcomes) o.checks = expectations(o.benchmark.id, o.bytes, *o.semcache.counts, false, true);
  outcomes.back().semcache.correct = false;
  std::ostringstream text;

  const int failures = print_failures(text, outcomes, true);

  EXPECT_GT(failures, 1);
  EXPECT_NE(text.str().find("wrong: automem: h2d bytes 0, expected 4096\n"), std::string::npos) << text.str();
  EXPECT_NE(text.str().find("wrong: mirror_loop (semcache): a value"), std::string::npos) << text.str();
  EXPECT_EQ(text.str().find("wrong: privmem"), std::string::npos) << text.str();

  std::ostringstream values_only;
  EXPECT_EQ(print_failures(values_only, outcomes, false), 1);
}

}  // namespace
