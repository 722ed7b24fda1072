// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <fakes/random.hpp>
#include <semcache/policy/read_ahead.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace semcache::policy {
namespace {

using Use = ReadAhead::Use;
using Reason = ReadAhead::Reason;

constexpr std::uint64_t page = 4096;
/// The prices of a fault, in bytes: of the emulated device and of a GPU.
constexpr std::uint64_t cheap = 64 * 1024;
constexpr std::uint64_t dear = 1024 * 1024;

/// One access of the host.
struct Access {
  std::uint64_t page_number;
  Use use = Use::read;
};
using Pattern = std::vector<Access>;

/// A host array whose pages are all stale (or, if not, fresh and not to be written), and what its accesses cost.
class Model {
 public:
  Model(std::uint64_t pages, std::uint64_t fault_bytes, bool stale = true, std::uint64_t page_bytes = page, bool sweep_expected = false)
      : fault_bytes_(fault_bytes), page_bytes_(page_bytes), stale_(pages, stale), permits_(pages, stale ? 0 : 1) {
    phase_.bytes = pages * page_bytes;
    phase_.page_bytes = page_bytes;
    phase_.fault_bytes = fault_bytes;
    phase_.stale_bytes = stale ? phase_.bytes : 0;
    phase_.closed_bytes = phase_.bytes;
    phase_.sweep_expected = sweep_expected;
    ahead_.begin(phase_);
  }

  /// False if the page was open.
  bool access(Access a) {
    const int needed = a.use == Use::read ? 1 : 2;
    const bool stale = stale_first_ ? touched_.insert_read(a.page_number, permits_.size()) : false;
    if (stale) page_by_page_ += page_bytes_;  // it comes over
    if (touched_.insert(a.page_number, needed, permits_.size()))
      page_by_page_ += fault_bytes_ + (needed == 2 ? page_bytes_ : 0);
    (needed == 2 ? writes_ : reads_) = true;
    if (permits_[a.page_number] >= needed) return false;

    ByteRange open{a.page_number, a.page_number + 1};
    while (open.begin > 0 && permits_[open.begin - 1] >= needed) --open.begin;
    while (open.end < permits_.size() && permits_[open.end] >= needed) ++open.end;
    plan_ = ahead_.next({a.use, a.page_number * page_bytes_ + 8, {open.begin * page_bytes_, open.end * page_bytes_}});
    EXPECT_LE(plan_.range.begin, a.page_number * page_bytes_);
    EXPECT_GE(plan_.range.end, (a.page_number + 1) * page_bytes_);
    EXPECT_LE(plan_.range.end, phase_.bytes);
    ++faults;
    for (std::uint64_t p = plan_.range.begin / page_bytes_; p < plan_.range.end / page_bytes_; ++p) {
      if (stale_[p]) bytes += page_bytes_;
      stale_[p] = false;
      if (needed == 2 && permits_[p] < 2) bytes += page_bytes_;  // it goes back
      permits_[p] = std::max(permits_[p], needed);
    }
    return true;
  }

  [[nodiscard]] std::uint64_t cost() const { return faults * fault_bytes_ + bytes; }
  [[nodiscard]] std::uint64_t page_by_page() const { return page_by_page_; }
  /// All of it for reading, all of it for writing, at the first fault of either kind.
  [[nodiscard]] std::uint64_t whole() const {
    return (reads_ + writes_) * fault_bytes_ + phase_.stale_bytes + (writes_ ? phase_.closed_bytes : 0);
  }
  [[nodiscard]] const ReadAhead::Plan& plan() const { return plan_; }
  [[nodiscard]] ReadAhead& ahead() { return ahead_; }

  std::uint64_t faults = 0;
  std::uint64_t bytes = 0;

 private:
  /// What page by page would have opened.
  struct Touched {
    std::vector<int> level;
    bool insert(std::uint64_t p, int needed, std::size_t pages) {
      level.resize(pages, 0);
      if (level[p] >= needed) return false;
      level[p] = needed;
      return true;
    }
    bool insert_read(std::uint64_t p, std::size_t pages) {
      level.resize(pages, 0);
      return level[p] == 0;
    }
  };

  std::uint64_t fault_bytes_;
  std::uint64_t page_bytes_;
  ReadAhead::Phase phase_;
  ReadAhead ahead_;
  ReadAhead::Plan plan_;
  std::vector<bool> stale_;
  std::vector<int> permits_;
  bool stale_first_ = !stale_.empty() && stale_[0];
  Touched touched_;
  std::uint64_t page_by_page_ = 0;
  bool reads_ = false;
  bool writes_ = false;
};

std::string text(const Pattern& pattern) {
  std::string out;
  for (const Access a : pattern) out += std::to_string(a.page_number) + (a.use == Use::read ? " " : "w ");
  return out;
}

bool within(std::uint64_t cost, std::uint64_t best) { return 10 * cost <= 21 * best; }

/// The pattern's cost is at most 2.1 times the better one, at its end and at every place where it might end.
void expect_within_bound(Model& m, const Pattern& pattern, const std::string& name) {
  if (testing::Test::HasFailure()) return;  // the first one is enough
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    m.access(pattern[i]);
    if (within(m.cost(), std::min(m.page_by_page(), m.whole()))) continue;
    ADD_FAILURE() << name << ", access " << i << " (page " << pattern[i].page_number << "): cost " << m.cost() << " ("
                  << m.faults << " faults, " << m.bytes << " bytes), page by page " << m.page_by_page() << ", whole "
                  << m.whole() << (pattern.size() < 100 ? "\n" + text(pattern) : "");
    return;
  }
}

void expect_within_bound(std::uint64_t pages, const Pattern& pattern, const std::string& name) {
  for (const std::uint64_t fault_bytes : {std::uint64_t{0}, page, cheap, dear}) {
    for (const bool stale : {true, false}) {
      if (!stale && pattern.front().use == Use::read) continue;  // everything is open
      Model m(pages, fault_bytes, stale);
      expect_within_bound(m, pattern, name + ", a fault costs " + std::to_string(fault_bytes));
    }
  }
}

// --- the bound -------------------------------------------------------------------------------------------------------

/// Every order of accesses to a small array, whoever reads and whoever writes.
void every_order(std::uint64_t pages, bool writes, const std::function<void(const Pattern&)>& check) {
  Pattern pattern;
  const std::function<void()> extend = [&] {
    bool longest = true;
    for (std::uint64_t p = 0; p < pages; ++p) {
      if (std::any_of(pattern.begin(), pattern.end(), [p](Access a) { return a.page_number == p; })) continue;
      longest = false;
      for (const Use use : {Use::read, Use::write}) {
        if (use == Use::write && !writes) continue;
        pattern.push_back({p, use});
        extend();
        pattern.pop_back();
      }
    }
    if (longest) check(pattern);  // its beginnings are checked with it
  };
  extend();
}

TEST(ReadAheadBound, HoldsForEveryOrderOfReadsOfASmallArray) {
  for (std::uint64_t pages = 1; pages <= 7; ++pages) {
    every_order(pages, false, [&](const Pattern& pattern) {
      for (const std::uint64_t fault_pages : {0, 1, 2, 3, 5, 16}) {
        for (const std::uint64_t page_bytes : {page, std::uint64_t{16384}}) {
          Model m(pages, fault_pages * page_bytes, true, page_bytes);
          expect_within_bound(m, pattern, "a fault costs " + std::to_string(fault_pages) + " pages");
        }
      }
    });
  }
}

TEST(ReadAheadBound, HoldsForEveryOrderOfReadsAndWritesOfASmallArray) {
  for (std::uint64_t pages = 1; pages <= 5; ++pages) {
    every_order(pages, true, [&](const Pattern& pattern) {
      for (const std::uint64_t fault_pages : {0, 1, 2, 3, 5, 16}) {
        for (const bool stale : {true, false}) {
          Model m(pages, fault_pages * page, stale);
          expect_within_bound(m, pattern, "a fault costs " + std::to_string(fault_pages) + " pages");
        }
      }
    });
  }
}

TEST(ReadAheadBound, HoldsForTwoPointsAtAnyDistance) {
  constexpr std::uint64_t pages = 4096;
  for (std::uint64_t distance = 1; distance < pages; ++distance) {
    for (const Use use : {Use::read, Use::write}) {
      expect_within_bound(pages, {{0, use}, {distance, use}}, "up by " + std::to_string(distance));
      expect_within_bound(pages, {{pages - 1, use}, {pages - 1 - distance, use}},
                          "down by " + std::to_string(distance));
    }
  }
}

TEST(ReadAheadBound, HoldsForAnyStride) {
  constexpr std::uint64_t pages = 8192;
  for (std::uint64_t stride = 1; stride < pages; stride += stride < 300 ? 1 : 97) {
    for (const Use use : {Use::read, Use::write}) {
      Pattern up;
      for (std::uint64_t p = 0; p < pages; p += stride) up.push_back({p, use});
      expect_within_bound(pages, up, "stride " + std::to_string(stride));
      expect_within_bound(pages, {up.rbegin(), up.rend()}, "stride " + std::to_string(stride) + " down");
    }
  }
}

TEST(ReadAheadBound, HoldsForColumnsOfAMatrix) {
  for (const std::uint64_t row : {2, 4, 5, 8, 16, 20, 64, 100}) {  // pages
    const std::uint64_t rows = 8192 / row;
    Pattern pattern;
    for (std::uint64_t column = 0; column < row; ++column) {
      for (std::uint64_t r = 0; r < rows; ++r) pattern.push_back({r * row + column});
    }
    expect_within_bound(rows * row, pattern, "rows of " + std::to_string(row) + " pages");
  }
}

TEST(ReadAheadBound, HoldsForGhostRows) {
  for (const std::uint64_t row : {1, 2, 3, 4, 8, 16, 40}) {
    for (const std::uint64_t ghosts : {1, 2, 3}) {
      const std::uint64_t rows = 4096 / row;
      Pattern pattern;
      for (std::uint64_t j = 0; j < row; ++j) {
        for (std::uint64_t q = 0; q < ghosts; ++q) {
          pattern.push_back({(rows - 2 * ghosts + q) * row + j, Use::read});
          pattern.push_back({q * row + j, Use::write});
          pattern.push_back({(2 * ghosts - 1 - q) * row + j, Use::read});
          pattern.push_back({(rows - 1 - q) * row + j, Use::write});
        }
      }
      expect_within_bound(rows * row, pattern,
                          std::to_string(ghosts) + " ghost rows of " + std::to_string(row) + " pages");
    }
  }
}

TEST(ReadAheadBound, HoldsForRandomAccesses) {
  fakes::Random random(23);
  for (int round = 0; round < 300; ++round) {
    const std::uint64_t pages = 1 + random.below(std::uint64_t{1} << (1 + random.below(14)));
    const unsigned written = random.chance(50) ? 0 : static_cast<unsigned>(random.below(100));
    Pattern pattern;
    for (std::uint64_t i = 1 + random.below(2 * pages); i > 0; --i) {
      pattern.push_back({random.below(pages), random.chance(written) ? Use::write : Use::read});
    }
    expect_within_bound(pages, pattern, std::to_string(pages) + " pages, round " + std::to_string(round));
  }
}

/// Runs of pages in either direction, strides, single pages, several at once: what programs are made of.
Pattern mixture(fakes::Random& random, std::uint64_t pages) {
  struct Walk {
    std::uint64_t at;
    std::int64_t step;
    std::uint64_t left;
    Use use;
  };
  std::vector<Walk> walks(1 + random.below(6));
  Pattern pattern;
  for (std::uint64_t i = random.below(2 * pages) + 1; i > 0; --i) {
    Walk& w = walks[random.below(walks.size())];
    if (w.left == 0) {
      const auto step = static_cast<std::int64_t>(random.chance(70) ? 1 : 1 + random.below(20));
      w = {random.below(pages), random.chance(50) ? step : -step, random.below(1 + (pages >> random.below(8))) + 1,
           random.chance(30) ? Use::write : Use::read};
    }
    pattern.push_back({w.at, w.use});
    w.at = (w.at + pages + static_cast<std::uint64_t>(w.step + static_cast<std::int64_t>(pages))) % pages;
    --w.left;
  }
  return pattern;
}

TEST(ReadAheadBound, HoldsForMixturesOfWalks) {
  fakes::Random random(42);
  for (int round = 0; round < 600; ++round) {
    const std::uint64_t pages = 32 + random.below(std::uint64_t{1} << (6 + random.below(8)));
    expect_within_bound(pages, mixture(random, pages),
                        std::to_string(pages) + " pages, round " + std::to_string(round));
  }
}

/// Who knows the sizes of the chunks can land on the end of each and use one page of it. Then nothing but the whole array
/// bounds the cost, and it does whatever the pattern.
TEST(ReadAheadBound, WhoPlaysAgainstItPaysForTheWholeArrayAtMost) {
  for (const std::uint64_t fault_bytes : {page, cheap, dear}) {
    for (const std::uint64_t pages : {100, 1000, 10000, 100000}) {
      for (const Use use : {Use::read, Use::write}) {
        Model m(pages, fault_bytes);
        for (std::uint64_t at = 0; at < pages; at = m.plan().range.end / page) {
          m.access({at, use});
          ASSERT_TRUE(within(m.cost(), m.whole())) << pages << " pages, fault " << m.faults;
          // As long as nobody believes in a sweep, page by page is a bound, too.
          if (m.faults <= ReadAhead::believed_after) {
            ASSERT_TRUE(within(m.cost(), m.page_by_page())) << m.faults;
          }
        }
      }
      // Always the farthest from what is open: no two faults lie side by side.
      Model far(pages, fault_bytes);
      for (std::uint64_t step = pages; step > 0; step /= 2) {
        for (std::uint64_t at = 0; at < pages; at += step) {
          far.access({at, Use::read});
          ASSERT_TRUE(within(far.cost(), std::min(far.whole(), far.page_by_page()))) << pages << " pages, page " << at;
        }
      }
      // Each fault below the one before, and not beside what is open: every chunk lies in front of an open page.
      Model down(pages, fault_bytes);
      for (std::uint64_t start = 0; start < 2; ++start) {
        for (std::uint64_t at = pages - 1 - start; at >= 2; at -= 2) {
          down.access({at, Use::read});
          ASSERT_TRUE(within(down.cost(), std::min(down.whole(), down.page_by_page())))
              << pages << " pages, page " << at;
        }
      }
    }
  }
}

// --- sweeps ----------------------------------------------------------------------------------------------------------

std::uint64_t faults_of_sweep(std::uint64_t size, bool ascending, Use use, std::uint64_t fault_bytes) {
  Model m(size / page, fault_bytes);
  const std::uint64_t pages = size / page;
  for (std::uint64_t i = 0; i < pages; ++i) m.access({ascending ? i : pages - 1 - i, use});
  EXPECT_EQ(m.bytes, use == Use::read ? size : 2 * size);
  return m.faults;
}

TEST(ReadAhead, ASweepCostsLogarithmicallyManyFaults) {
  for (const std::uint64_t fault_bytes : {cheap, dear}) {
    for (const bool ascending : {true, false}) {
      for (std::uint64_t size = page; size <= std::uint64_t{1} << 28; size *= 2) {
        std::uint64_t bound = 2;
        for (std::uint64_t reached = ReadAhead::first_chunk_bytes; reached < size; reached *= 2) ++bound;
        EXPECT_LE(faults_of_sweep(size, ascending, Use::read, fault_bytes), bound)
            << size << (ascending ? " up" : " down");
        EXPECT_LE(faults_of_sweep(size, ascending, Use::write, fault_bytes), bound)
            << size << (ascending ? " up" : " down");
      }
    }
  }
}

/// The chunks of a sweep, in pages.
std::vector<std::uint64_t> chunks_of_sweep(Use use, std::uint64_t fault_bytes) {
  Model m(16384, fault_bytes);
  std::vector<std::uint64_t> chunks;
  for (std::uint64_t i = 0; i < 16384; ++i) {
    if (m.access({i, use})) chunks.push_back(m.plan().range.size() / page);
  }
  return chunks;
}

TEST(ReadAhead, ASweepIsGivenLargerAndLargerChunks) {
  // Until it is believed it gets what its faults have paid for: 1.1 times 64 KiB each.
  EXPECT_EQ(chunks_of_sweep(Use::read, cheap), (std::vector<std::uint64_t>{4, 16, 35, 140, 560, 2240, 8960, 4429}));
  EXPECT_EQ(chunks_of_sweep(Use::read, dear), (std::vector<std::uint64_t>{4, 16, 64, 256, 1024, 4096, 10924}));
  // As much as it has written in order, up to the end of a large page where it reaches one.
  EXPECT_EQ(chunks_of_sweep(Use::write, cheap),
            (std::vector<std::uint64_t>{1, 3, 6, 12, 24, 48, 96, 192, 130, 512, 1024, 2048, 4096, 8192}));
}

TEST(ReadAhead, AWriteThatReachesBeyondALargePageEndsWithOne) {
  const std::uint64_t large = ReadAhead::large_page_bytes / page;
  for (const bool ascending : {true, false}) {
    Model m(64 * large, cheap);
    std::uint64_t beyond = 0;
    for (std::uint64_t i = 0; i < 64 * large; ++i) {
      if (!m.access({ascending ? i : 64 * large - 1 - i, Use::write})) continue;
      const ByteRange given = m.plan().range;
      if (given.begin / ReadAhead::large_page_bytes == (given.end - 1) / ReadAhead::large_page_bytes) continue;
      EXPECT_EQ((ascending ? given.end : given.begin) % ReadAhead::large_page_bytes, 0u);
      ++beyond;
    }
    EXPECT_GE(beyond, 4u);
  }
}

TEST(ReadAhead, AWriteOpensAtMostAsMuchAsItsSweepHasFaultedThrough) {
  constexpr std::uint64_t parts = 20, part = (1 << 16) + 128;  // no writer ends where another one begins
  struct Writer {
    std::uint64_t at = 0;
    std::uint64_t through = 0;  // pages
  };
  Model m(parts * part, cheap);
  fakes::Random random(3);
  std::vector<Writer> writers(parts);
  for (int step = 0; step < 1000; ++step) {
    const std::uint64_t which = random.below(parts);
    Writer& w = writers[which];
    if (w.at >= part) continue;
    if (random.chance(5)) w = {w.at + 1 + random.below(1000), 0};  // goes on elsewhere
    if (w.at >= part || !m.access({which * part + w.at, Use::write})) continue;
    const std::uint64_t pages = m.plan().range.size() / page;
    EXPECT_EQ(m.plan().reason, w.through == 0 ? Reason::first : Reason::sweep);
    EXPECT_LE(pages - 1, w.through == 0 ? 0 : w.through + 1);
    w.through += pages;
    w.at += pages;
  }
  EXPECT_GT(m.faults, 100u);
}

TEST(ReadAhead, ManySweepsAtOnceDoNotDisturbEachOther) {
  constexpr std::uint64_t pages = 65536;
  for (const std::uint64_t sweeps : {2, 3, 16, 128}) {
    for (const Use use : {Use::read, Use::write}) {
      for (const bool ascending : {true, false}) {
        Model m(pages, cheap);
        const std::uint64_t part = pages / sweeps;
        for (std::uint64_t i = 0; i < part; ++i) {
          for (std::uint64_t s = 0; s < sweeps; ++s) m.access({s * part + (ascending ? i : part - 1 - i), use});
        }
        std::uint64_t bound = 2;
        for (std::uint64_t reached = ReadAhead::first_chunk_bytes; reached < part * page; reached *= 2) ++bound;
        EXPECT_LE(m.faults, sweeps * bound) << sweeps << (ascending ? " up" : " down");
      }
    }
  }
}

TEST(ReadAhead, TwoSweepsAtOnceDoNotDisturbEachOther) {
  constexpr std::uint64_t pages = (std::uint64_t{256} << 20) / page;
  Model m(pages, cheap);
  for (std::uint64_t i = 0; i < pages / 2; ++i) {
    m.access({i});
    m.access({pages / 2 + i});
  }
  EXPECT_LE(m.faults, 24u);  // 12 of each
}

TEST(ReadAhead, AReaderAndAWriterOfTheSamePagesAreSweepsBoth) {
  constexpr std::uint64_t pages = 16384;
  Model m(pages, cheap);
  for (std::uint64_t i = 0; i < pages; ++i) {
    m.access({i, Use::read});
    m.access({i, Use::write});
  }
  EXPECT_LE(m.faults, 2 * 14u);
  EXPECT_EQ(m.bytes, 2 * pages * page);
}

// --- what is no sweep --------------------------------------------------------------------------------------------------

TEST(ReadAhead, AStridedReaderGetsOneSmallChunkAtATime) {
  constexpr std::uint64_t pages = (std::uint64_t{1} << 30) / page;
  Model m(pages, cheap);
  for (std::uint64_t at = 0; at < pages; at += 256) {
    m.access({at});
    EXPECT_EQ(m.plan().range.size(), ReadAhead::first_chunk_bytes);
  }
}

TEST(ReadAhead, ARandomReaderGetsOneSmallChunkAtATime) {
  fakes::Random random(11);
  constexpr std::uint64_t pages = (std::uint64_t{1} << 30) / page;
  Model m(pages, cheap);
  for (int i = 0; i < 1024; ++i) m.access({random.below(pages)});
  EXPECT_LE(m.bytes, 1024 * 20 * std::uint64_t{1024});
}

void expect_plan(const Model& m, ByteRange range, Reason reason) {
  EXPECT_EQ(m.plan().range.begin, range.begin);
  EXPECT_EQ(m.plan().range.end, range.end);
  EXPECT_EQ(m.plan().reason, reason);
}

TEST(ReadAhead, WhatLiesNearButNotAtTheEndIsNoSweep) {
  for (const std::uint64_t second : {5, 6, 8, 20}) {  // the first chunk is pages 0 to 3 of 64
    Model m(64, cheap);
    m.access({0});
    m.access({second});
    expect_plan(m, {second * page, (second + 4) * page}, Reason::first);
  }
  Model m(64, cheap);
  m.access({0});
  m.access({4});
  expect_plan(m, {16384, 81920}, Reason::sweep);
}

TEST(ReadAhead, PagesThatAreOpenAlreadyDoNotEndASweep) {
  Model m(256, cheap);
  m.access({8});  // pages 8 to 11
  m.access({0});
  m.access({4});  // 4 to 19
  EXPECT_EQ(m.plan().reason, Reason::sweep);
  m.access({24});
  m.access({20});  // 20 and more: open to 27
  EXPECT_EQ(m.plan().reason, Reason::sweep);
}

TEST(ReadAhead, WhenFaultsHaveCostAsMuchAsTheArrayAllOfItIsFetched) {
  Model m(64, dear);  // 256 KiB for half of a fault
  m.access({0});
  EXPECT_EQ(m.plan().range.size(), ReadAhead::first_chunk_bytes);
  m.access({40});
  expect_plan(m, {0, 262144}, Reason::whole);
  m.access({60, Use::write});  // the first of its kind
  expect_plan(m, {245760, 249856}, Reason::first);
  m.access({20, Use::write});
  expect_plan(m, {0, 262144}, Reason::whole);
}

// --- sweeps in phase after phase --------------------------------------------------------------------------------------

/// An array of so many pages in phases, each of which begins with all of it stale.
class Phases {
 public:
  Phases(std::uint64_t pages, std::uint64_t fault_bytes) : pages_(pages), fault_bytes_(fault_bytes) {}
  /// A phase in which the host accesses these pages.
  void phase(const Pattern& pattern) {
    Model m(pages_, fault_bytes_, true, page, habit_.sweep_follows());
    for (const Access a : pattern) m.access(a);
    faults = m.faults;
    bytes = m.bytes;
    cost += m.cost();
    page_by_page += m.page_by_page();
    whole += m.whole();
    if (m.ahead().begun()) habit_.phase_ends(m.ahead());
  }

  std::uint64_t faults = 0, bytes = 0;  ///< of the last phase
  std::uint64_t cost = 0, page_by_page = 0, whole = 0;  ///< of all

 private:
  const std::uint64_t pages_, fault_bytes_;
  SweepHabit habit_;
};

Pattern sweep_of(std::uint64_t begin, std::uint64_t end, Use use = Use::read) {
  Pattern all;
  for (std::uint64_t p = begin; p < end; ++p) all.push_back({p, use});
  return all;
}

TEST(SweepHabit, AThirdSweepInARowTakesTwoFaults) {
  constexpr std::uint64_t pages = 32768;  // 128 MiB
  Phases p(pages, cheap);
  for (int i = 0; i < 2; ++i) {
    p.phase(sweep_of(0, pages));
    EXPECT_EQ(p.faults, 8u) << i;
  }
  for (int i = 0; i < 5; ++i) {
    p.phase(sweep_of(0, pages));
    EXPECT_EQ(p.faults, 2u) << i;
    EXPECT_EQ(p.bytes, pages * page) << i;
  }
}

TEST(SweepHabit, WhatDoesNotGoOnCostsAQuarterOnce) {
  constexpr std::uint64_t pages = 4096;
  Phases p(pages, cheap);
  for (int i = 0; i < 3; ++i) p.phase(sweep_of(0, pages));
  EXPECT_EQ(p.faults, 2u);
  p.phase({{0}});
  EXPECT_EQ(p.bytes, pages / 4 * page);
  p.phase({{0}});
  EXPECT_EQ(p.bytes, ReadAhead::first_chunk_bytes);
  p.phase(sweep_of(0, pages));
  EXPECT_GT(p.faults, 2u) << "a habit needs two sweeps";
  p.phase(sweep_of(0, pages));
  EXPECT_GT(p.faults, 2u);
  p.phase(sweep_of(0, pages));
  EXPECT_EQ(p.faults, 2u);
}

TEST(SweepHabit, OtherWaysToReadAllAreNoHabit) {
  constexpr std::uint64_t pages = 4096;
  Pattern down = sweep_of(0, pages);
  std::reverse(down.begin(), down.end());
  Pattern from_the_middle = sweep_of(pages / 2, pages), two = sweep_of(0, pages);
  for (const Access a : sweep_of(0, pages / 2)) from_the_middle.push_back(a);
  two.insert(two.begin(), {pages / 2});
  for (const Pattern& pattern : {down, from_the_middle, two, sweep_of(0, pages / 4), sweep_of(0, pages, Use::write)}) {
    Phases p(pages, cheap);
    for (int i = 0; i < 3; ++i) p.phase(pattern);
    p.phase({{0}});
    EXPECT_EQ(p.bytes, ReadAhead::first_chunk_bytes);
  }
  Phases p(pages, cheap);
  for (int i = 0; i < 3; ++i) {
    p.phase(sweep_of(0, pages));
    p.phase({});                             // nobody reads
    p.phase({{7, Use::write}, {8, Use::write}});  // nobody reads
  }
  p.phase({{pages / 2}});
  EXPECT_EQ(p.bytes, ReadAhead::first_chunk_bytes) << "the sweep that is expected begins elsewhere";
}

/// Every sequence of six phases of five kinds: what a habit costs beyond the bounds was needed eight times before.
TEST(SweepHabit, CostsAnEighthOfWhatWasReadBeforeAtMost) {
  constexpr std::uint64_t pages = 1024;
  const std::vector<Pattern> kinds{sweep_of(0, pages), {{0}}, {{pages - 1}}, sweep_of(0, pages / 3), {{0}, {pages / 4}}};
  for (const std::uint64_t fault_bytes : {page, cheap}) {
    std::vector<std::size_t> sequence(6, 0);
    for (bool more = true; more;) {
      Phases p(pages, fault_bytes);
      std::uint64_t sweeps = 0;
      for (const std::size_t kind : sequence) {
        p.phase(kinds[kind]);
        sweeps += kind == 0 ? 1u : 0u;
        ASSERT_LE(10 * p.cost, 21 * p.whole);
        ASSERT_LE(p.cost * 10, 21 * p.page_by_page + 10 * (sweeps / 2 * (pages * page / 4)));
      }
      std::size_t at = 0;
      while (at < sequence.size() && ++sequence[at] == kinds.size()) sequence[at++] = 0;
      more = at < sequence.size();
    }
  }
}

TEST(ReadAhead, BeginsAnewAndSaysWhatNobodyUsed) {
  Model m(1024, cheap);
  ReadAhead& ahead = m.ahead();
  m.access({0});
  ahead.fetched_ahead(3 * page);
  m.access({4});  // the first chunk is used
  ahead.fetched_ahead(15 * page);
  m.access({500});
  ahead.fetched_ahead(3 * page);
  EXPECT_EQ(ahead.end(), 18 * page);
  EXPECT_FALSE(ahead.begun());
  EXPECT_EQ(ahead.end(), 0u);
}

TEST(ReadAhead, ContainsTheFaultingPageAndStaysInsideTheArray) {
  fakes::Random random(5);
  for (int arrays = 0; arrays < 200; ++arrays) {
    ReadAhead ahead;
    ReadAhead::Phase phase;
    const std::uint64_t unit = std::uint64_t{1} << (9 + random.below(8));
    phase.page_bytes = unit;
    phase.bytes = 1 + random.below(std::uint64_t{1} << (10 + random.below(24)));
    phase.fault_bytes = random.below(1 << 20);
    phase.stale_bytes = random.below(phase.bytes);
    phase.closed_bytes = random.below(phase.bytes);
    ahead.begin(phase);
    const std::uint64_t size = phase.bytes;
    std::uint64_t at = random.below(size);
    for (int faults = 0; faults < 200; ++faults) {
      const std::uint64_t begin = round_down(at, unit);
      const ByteRange r = ahead.next({random.chance(30) ? Use::write : Use::read, at, {begin, begin + unit}}).range;

      ASSERT_LE(r.begin, at);
      ASSERT_GT(r.end, at);
      ASSERT_LE(r.end, size);
      ASSERT_EQ(r.begin % unit, 0u);
      ASSERT_TRUE(r.end % unit == 0 || r.end == size);
      ASSERT_LE(r.size(), ReadAhead::last_chunk_bytes);
      at = random.chance(60) && r.end < size  ? r.end
           : random.chance(50) && r.begin > 0 ? r.begin - 1
                                              : random.below(size);
    }
  }
}

}  // namespace
}  // namespace semcache::policy
