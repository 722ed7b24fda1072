// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/pages/demands.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

/// Pages permit no more than what is demanded of the strictest byte on them. Pages have ten bytes here.
namespace semcache::pages {
namespace {

using platform::Protection;
constexpr Protection closed = Protection::none, readable = Protection::read, writable = Protection::read_write;

std::string text(const base::Vector<Demands::Run>& runs) {
  std::string out;
  for (const Demands::Run& run : runs) {
    out += "[" + std::to_string(run.pages.begin) + ", " + std::to_string(run.pages.end) + ") " +
           (run.most == closed ? "closed" : run.most == readable ? "readable" : "writable") + "; ";
  }
  return out;
}

struct Row {
  const char* what;
  base::Vector<Demands::Run> demanded;  ///< of bytes
  base::Vector<Demands::Run> flights;   ///< of pages, afterwards
  const char* expected;
};

TEST(Demands, AreThoseOfTheStrictestByteOnAPage) {
  const Row rows[] = {
      {"nothing is demanded", {}, {}, ""},
      {"a byte demands it for its page", {{{12, 13}, readable}}, {}, "[10, 20) readable; "},
      {"neighbours that demand the same are one run", {{{0, 10}, readable}, {{10, 30}, readable}}, {}, "[0, 30) readable; "},
      {"neighbours that differ are two", {{{0, 10}, writable}, {{10, 30}, closed}}, {}, "[0, 10) writable; [10, 30) closed; "},
      {"a shared page is as strict as the later run", {{{0, 15}, writable}, {{15, 30}, closed}}, {}, "[0, 10) writable; [10, 30) closed; "},
      {"a shared page is as strict as the earlier run", {{{0, 15}, closed}, {{15, 30}, writable}}, {}, "[0, 20) closed; [20, 30) writable; "},
      {"a run within one page makes it stricter", {{{0, 4}, writable}, {{4, 6}, closed}, {{6, 10}, readable}}, {}, "[0, 10) closed; "},
      {"a run within one page changes nothing where it is laxer", {{{0, 4}, closed}, {{4, 10}, writable}}, {}, "[0, 10) closed; "},
      {"three runs on one page, and the page behind", {{{0, 12}, writable}, {{12, 14}, readable}, {{14, 25}, closed}}, {},
       "[0, 10) writable; [10, 30) closed; "},
      {"a flight closes the pages under it", {{{0, 40}, writable}}, {{{10, 20}, closed}},
       "[0, 10) writable; [10, 20) closed; [20, 40) writable; "},
      {"a flight relaxes nothing", {{{0, 40}, closed}}, {{{10, 20}, readable}}, "[0, 10) closed; [10, 20) closed; [20, 40) closed; "},
      {"a flight beyond what is demanded demands nothing there", {{{0, 20}, readable}}, {{{10, 40}, closed}},
       "[0, 10) readable; [10, 20) closed; "},
      {"two flights on one page", {{{0, 20}, writable}}, {{{0, 10}, readable}, {{0, 20}, closed}},
       "[0, 10) closed; [10, 20) closed; "},
  };
  for (const Row& row : rows) {
    Demands demands(10);
    for (const Demands::Run& run : row.demanded) demands.add(run.pages, run.most);
    for (const Demands::Run& flight : row.flights) demands.restrict_to(flight.pages, flight.most);
    EXPECT_EQ(text(demands.runs()), row.expected) << row.what;
  }
}

TEST(Demands, AgreeWithALookAtEachByte) {
  std::uint64_t random = 1;
  const auto next = [&](std::uint64_t n) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    return (random >> 33) % n;
  };
  for (int round = 0; round < 2000; ++round) {
    Demands demands(10);
    std::vector<Protection> pages(10, writable);
    std::vector<bool> demanded(10, false);
    for (std::uint64_t at = next(20); at < 100;) {
      const std::uint64_t end = std::min<std::uint64_t>(100, at + 1 + next(23));
      const Protection most = std::vector<Protection>{closed, readable, writable}[next(3)];
      demands.add({at, end}, most);
      for (std::uint64_t b = at; b < end; ++b) {
        pages[b / 10] = std::min(pages[b / 10], most);
        demanded[b / 10] = true;
      }
      at = end;
    }
    for (int flights = 0; flights < 2; ++flights) {
      const std::uint64_t first = next(10), last = first + 1 + next(10 - first);
      const Protection most = next(2) == 0 ? closed : readable;
      demands.restrict_to({first * 10, last * 10}, most);
      for (std::uint64_t p = first; p < last; ++p) pages[p] = std::min(pages[p], most);
    }
    std::vector<bool> seen(10, false);
    for (const Demands::Run& run : demands.runs()) {
      for (std::uint64_t p = run.pages.begin / 10; p < run.pages.end / 10; ++p) {
        ASSERT_EQ(run.most, pages[p]) << round << ", page " << p << ": " << text(demands.runs());
        ASSERT_FALSE(seen[p]) << round << ": " << text(demands.runs());
        seen[p] = true;
      }
    }
    ASSERT_EQ(seen, demanded) << round;
  }
}

}  // namespace
}  // namespace semcache::pages
