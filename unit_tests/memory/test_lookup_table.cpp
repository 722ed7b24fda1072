// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/memory/lookup_table.hpp>
#include <semcache/memory/memory.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstdint>

namespace semcache::memory {
namespace {

constexpr std::uint64_t granule = LookupTable::granule_bytes, unit = 4096;

/// Addresses that nobody reads.
std::byte* at(std::uint64_t offset) { return reinterpret_cast<std::byte*>((std::uintptr_t{1} << 40) + offset); }  // NOLINT

struct Table {
  LookupTable table{at(0), 16 * granule, unit};
  std::array<Memory, 3> memories;
  Memory *a = &memories[0], *b = &memories[1], *c = &memories[2];
  void expect(Memory* memory, std::uint64_t begin, std::uint64_t end) const {
    for (std::uint64_t p = begin; p < end; p += unit / 2) ASSERT_EQ(table.find(at(p)), memory) << p;
    ASSERT_EQ(table.find(at(end - 1)), memory);
  }
};

TEST(LookupTable, IsEmptyAtFirstAndBeyondItsEnds) {
  Table x;
  x.expect(nullptr, 0, 16 * granule);
  EXPECT_EQ(x.table.find(at(0) - 1), nullptr);
  EXPECT_EQ(x.table.find(at(16 * granule)), nullptr);
  EXPECT_EQ(x.table.find(nullptr), nullptr);
}

TEST(LookupTable, WholeGranulesAndThePartBehindThem) {
  Table x;
  const std::uint64_t bytes = 2 * granule + 3 * unit + 5;  // the unit that it begins counts
  x.table.set(at(granule), bytes, x.a);
  x.expect(nullptr, 0, granule);
  x.expect(x.a, granule, 3 * granule + 4 * unit);
  x.expect(nullptr, 3 * granule + 4 * unit, 5 * granule);
  x.table.set(at(granule), bytes, nullptr);
  x.expect(nullptr, 0, 5 * granule);
}

TEST(LookupTable, SeveralInOneGranuleInAnyOrder) {
  Table x;
  x.table.set(at(0), 2 * unit, x.a);  // alone at first
  x.expect(nullptr, 2 * unit, granule);
  x.table.set(at(2 * unit), granule - 2 * unit, x.b);
  x.expect(x.a, 0, 2 * unit);
  x.expect(x.b, 2 * unit, granule);
  x.table.set(at(0), 2 * unit, nullptr);
  x.expect(nullptr, 0, 2 * unit);
  x.expect(x.b, 2 * unit, granule);
  x.table.set(at(unit), unit, x.c);
  x.table.set(at(2 * unit), granule - 2 * unit, nullptr);
  x.expect(nullptr, 0, unit);
  x.expect(x.c, unit, 2 * unit);
  x.expect(nullptr, 2 * unit, granule);
}

TEST(LookupTable, AWholeGranuleIsSharedLater) {
  Table x;
  x.table.set(at(granule), granule, x.a);
  x.table.set(at(granule), granule, nullptr);
  x.table.set(at(granule + unit), granule, x.b);  // across a boundary
  x.table.set(at(2 * granule + unit), granule, x.c);
  x.expect(nullptr, granule, granule + unit);
  x.expect(x.b, granule + unit, 2 * granule + unit);
  x.expect(x.c, 2 * granule + unit, 3 * granule + unit);
  x.expect(nullptr, 3 * granule + unit, 4 * granule);
  x.table.set(at(granule + unit), granule, nullptr);
  x.expect(nullptr, granule, 2 * granule + unit);
  x.expect(x.c, 2 * granule + unit, 3 * granule + unit);
}

// An array that could not be entered for want of memory is removed all the same.
TEST(LookupTable, RemovingWhatWasNeverEnteredTakesNothingAway) {
  Table x;
  x.table.set(at(0), 2 * unit, x.a);
  x.table.set(at(2 * unit), unit, nullptr);
  x.table.set(at(granule), granule, nullptr);
  x.expect(x.a, 0, 2 * unit);
  x.expect(nullptr, 2 * unit, 2 * granule);
}

}  // namespace
}  // namespace semcache::memory
