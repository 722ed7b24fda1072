// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "program.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

/// Copies of parts of matrices: which bytes cross, how long the maps become, and which requests are refused.
namespace semcache::fakes {
namespace {

using engine::Memory;
using Columns = engine::Copies::Columns;

char stream;

/// A column-major matrix of bytes on the device and a mirror of it. The device has the content of write 1, the host that of write 2.
struct Matrix : Program {
  static Options roomy() {
    Options o = defaults();
    o.engine.device_memory_bytes = 128u << 20;
    return o;
  }
  Matrix(std::uint64_t rows, std::uint64_t columns, const Options& options = roomy())
      : Program(options), rows(rows), columns(columns), d(on_device(rows * columns)), h(on_host(rows * columns)) {
    kernel_write(&stream, d, d.all(), 1);
    host_write(h, h.all(), 2);
    before = counters();
  }
  /// Copies rows [first, last) of some columns to the same place.
  void copy_part(Memory& to, Memory& from, std::uint64_t first, std::uint64_t last, std::uint64_t column = 0, std::uint64_t count = 0) {
    const std::uint64_t at = column * rows + first;
    engine().copies.copy(to.address + at, from.address + at, Columns{last - first, count == 0 ? columns : count, rows, rows});
  }
  [[nodiscard]] std::size_t extents(const Memory& m) { return engine().state().directory.wanted(m.datum).extent_count(); }
  /// Returns the extents of the longest map of the array: of what it wants, or of what one of its slots holds.
  [[nodiscard]] std::size_t longest_map(const Memory& m) {
    const directory::Directory& directory = engine().state().directory;
    std::size_t longest = extents(m);
    for (const SlotId slot : directory.slots(m.datum)) longest = std::max(longest, directory.held(slot).extent_count());
    return longest;
  }
  [[nodiscard]] std::uint64_t h2d() { return counters().h2d.bytes - before.h2d.bytes; }
  [[nodiscard]] std::uint64_t d2h() { return counters().d2h.bytes - before.d2h.bytes; }
  [[nodiscard]] std::uint64_t hulls() { return counters().hulls; }
  /// Expects that rows [first, last) have the content of write `part`, and the other rows that of write `rest`.
  void expect_rows(Memory& m, std::uint64_t first, std::uint64_t last, std::uint64_t part, std::uint64_t rest) {
    std::vector<std::byte> seen(m.bytes);
    if (m.on_host()) {
      host_read(m, m.all(), seen.data());
    } else {
      seen = device_content(&stream, m);
    }
    for (std::uint64_t i = 0; i < m.bytes; ++i) {
      const bool in = i % rows >= first && i % rows < last;
      ASSERT_EQ(seen[i], mix(in ? part : rest, i)) << "row " << i % rows << " of column " << i / rows;
    }
  }

  const std::uint64_t rows;
  const std::uint64_t columns;
  Memory& d;
  Memory& h;
  Counters before;
};

TEST(Regions, HalfOfTheRowsIsOneExtentAndMovesItsBytesAlone) {
  const std::uint64_t page = page_bytes();
  Matrix p(2 * page, 20);

  p.copy_part(p.d, p.h, 0, page);

  EXPECT_EQ(p.extents(p.d), 2u) << "the half and the rest";
  EXPECT_EQ(p.h2d(), 0u) << "nobody has asked for the content yet";
  p.expect_rows(p.d, 0, page, 2, 1);
  EXPECT_EQ(p.h2d(), page * 20);
  EXPECT_EQ(p.counters().h2d.count - p.before.h2d.count, 1u);

  p.kernel_write(&stream, p.d, p.d.all(), 3);
  p.copy_part(p.h, p.d, 0, page);
  EXPECT_EQ(p.extents(p.h), 2u);
  p.expect_rows(p.h, 0, page, 3, 2);
  EXPECT_EQ(p.d2h(), page * 20);
  EXPECT_EQ(p.hulls(), 0u);
}

TEST(Regions, AfterAWriteOnTheHostItsPageCrosses) {
  const std::uint64_t page = page_bytes();
  Matrix p(4 * page, 10);
  p.copy_part(p.d, p.h, 0, 2 * page);
  (void)p.device_content(&stream, p.d);
  const std::uint64_t moved = p.h2d();

  p.host_write(p.h, {3 * p.rows + page + 5, 3 * p.rows + page + 6}, 4);
  p.copy_part(p.d, p.h, 0, 2 * page);
  (void)p.device_content(&stream, p.d);

  EXPECT_EQ(p.h2d() - moved, page);
}

TEST(Regions, ATilingIsAnExtentForEachTile) {
  const std::uint64_t tile = 64;
  Matrix p(8 * tile, 8 * tile);
  for (std::uint64_t i = 0; i < 8; ++i) {
    for (std::uint64_t j = 0; j < 8; ++j) {
      if ((i + j) % 2 == 0) p.copy_part(p.d, p.h, i * tile, (i + 1) * tile, j * tile, tile);
    }
  }
  EXPECT_EQ(p.extents(p.d), 64u);
  const std::vector<std::byte> seen = p.device_content(&stream, p.d);
  for (std::uint64_t k = 0; k < p.d.bytes; ++k) {
    const bool from_host = (k % p.rows / tile + k / p.rows / tile) % 2 == 0;
    ASSERT_EQ(seen[k], Machine::mix(from_host ? 2 : 1, k));
  }
  EXPECT_EQ(p.h2d(), p.d.bytes / 2);
  EXPECT_EQ(p.hulls(), 0u);
}

TEST(Regions, OfLeadingDimensionsThatArePagesOrNot) {
  const std::uint64_t page = page_bytes();
  for (const std::uint64_t rows : {page, page + page / 2, page / 2, page - 1, page + 1, std::uint64_t{100}, std::uint64_t{2}}) {
    SCOPED_TRACE(rows);
    Matrix p(rows, 30);
    p.copy_part(p.h, p.d, 0, rows / 2);
    p.expect_rows(p.h, 0, rows / 2, 1, 2);
    p.copy_part(p.d, p.h, rows / 2, rows);
    p.expect_rows(p.d, rows / 2, rows, 2, 1);
  }
}

TEST(Regions, TouchOverlapAndAreOneElement) {
  Matrix p(300, 40);
  p.copy_part(p.d, p.h, 0, 100);
  p.copy_part(p.d, p.h, 100, 150);  // touches
  p.copy_part(p.d, p.h, 120, 200);  // overlaps
  EXPECT_EQ(p.extents(p.d), 2u) << "together they are one part";
  p.expect_rows(p.d, 0, 200, 2, 1);
  p.copy_part(p.d, p.h, 250, 251, 7, 1);
  const std::vector<std::byte> seen = p.device_content(&stream, p.d);
  EXPECT_EQ(seen[7 * 300 + 250], Machine::mix(2, 7 * 300 + 250));
  EXPECT_EQ(seen[7 * 300 + 251], Machine::mix(1, 7 * 300 + 251));
  EXPECT_EQ(p.h2d(), 200 * 40 + 1u);
}

TEST(Regions, TheSameBytesUnderTwoLeadingDimensions) {
  Matrix p(128, 64);
  p.copy_part(p.d, p.h, 0, 64);
  // Read as a matrix of 64 columns of 96 bytes, whose first 48 rows are copied back from the device.
  Memory& back = p.on_host(p.d.bytes);
  p.host_write(back, back.all(), 5);
  p.engine().copies.copy(back.address, p.d.address, Columns{48, 64, 96, 96});
  std::vector<std::byte> seen(back.bytes);
  p.host_read(back, back.all(), seen.data());
  for (std::uint64_t i = 0; i < back.bytes; ++i) {
    const std::uint64_t seed = i >= 64 * 96 || i % 96 >= 48 ? 5 : i % 128 < 64 ? 2 : 1;
    ASSERT_EQ(seen[i], Machine::mix(seed, i)) << i;
  }
}

TEST(Regions, OfOtherPitchesAreRearranged) {
  Program p;
  Memory& a = p.on_device(100 * 50);
  Memory& b = p.on_host(130 * 50);
  p.kernel_write(&stream, a, a.all(), 1);
  p.host_write(b, b.all(), 2);

  p.engine().copies.copy(b.address + 7, a.address + 11, Columns{60, 50, 130, 100});

  std::vector<std::byte> seen(b.bytes);
  p.host_read(b, b.all(), seen.data());
  for (std::uint64_t i = 0; i < b.bytes; ++i) {
    const std::uint64_t column = i / 130, row = i % 130;
    const bool in = row >= 7 && row < 67;
    ASSERT_EQ(seen[i], in ? Machine::mix(1, column * 100 + row - 7 + 11) : Machine::mix(2, i)) << i;
  }
}

/// An ordinary copy of a matrix that is cut gives the destination the same few extents.
TEST(Regions, TheWholeOfACutMatrixIsCopiedAsItIsCut) {
  Matrix p(256, 2000);
  p.copy_part(p.d, p.h, 0, 128);
  Memory& other = p.on_device(p.d.bytes);
  p.copy(other, p.d);
  EXPECT_EQ(p.extents(other), 2u);
  p.expect_rows(other, 0, 128, 2, 1);
  EXPECT_EQ(p.counters().h2d.count - p.before.h2d.count, 1u);
}

/// Host writes in stripes across the tiles of a matrix keep the maps short, also those of what is copied from: every other page is written, and
/// the copy of its tile closes it again.
TEST(Regions, StripesAcrossTilesKeepTheMapsShort) {
  const std::uint64_t page = page_bytes(), tiles = 4;
  Matrix p(tiles * page, 160);
  p.audit_every(50);
  p.copy_part(p.d, p.h, 0, 2 * page);
  p.copy_part(p.h, p.d, 0, tiles * page);
  const std::size_t most = engine::Shapes::most_extents(p.h.bytes);
  std::size_t longest = 0;
  std::vector<std::uint64_t> written;
  for (std::uint64_t k = 0; k < tiles; ++k) {
    for (std::uint64_t c = k % 2; c < p.columns; c += 2) {
      written.push_back(c * p.rows + k * page + c);
      p.host_write(p.h, {written.back(), written.back() + 1}, 6);
      p.copy_part(p.d, p.h, k * page, (k + 1) * page, c, 1);
      longest = std::max({longest, p.longest_map(p.h), p.longest_map(p.d)});
    }
  }
  EXPECT_LE(longest, most);
  // Each page that was written, and each between two of them, would be an extent. (Maps of large pages are short in any case.)
  if (page == 4096) {
    EXPECT_GT(tiles * p.columns, 2 * most);
  }
  std::vector<std::byte> seen = p.device_content(&stream, p.d);
  for (const std::uint64_t at : written) {
    ASSERT_EQ(seen[at], Machine::mix(6, at));
    seen[at] = Machine::mix(at % p.rows < 2 * page ? 2 : 1, at);
  }
  for (std::uint64_t i = 0; i < p.d.bytes; ++i) ASSERT_EQ(seen[i], Machine::mix(i % p.rows < 2 * page ? 2 : 1, i)) << i;
  EXPECT_EQ(p.hulls(), 0u);
}

/// A part that only few of the maps' shapes can take is written with what lies between its columns.
TEST(Regions, ManyColumnsOfAForeignPitchAreWrittenAsTheirHull) {
  Matrix p(64, 200);
  for (std::uint64_t i = 0; i < 40; ++i) p.copy_part(p.d, p.h, i, i + 1, i * 2, 100);  // the maps are cut too often for another shape
  const std::vector<std::byte> was = p.device_content(&stream, p.d);
  EXPECT_EQ(p.hulls(), 0u) << "few columns at a time";

  std::vector<std::byte> plain(90 * 100);
  for (std::uint64_t i = 0; i < plain.size(); ++i) plain[i] = Machine::mix(7, i);
  p.engine().copies.copy(p.d.address + 5, plain.data(), Columns{30, 90, 90, 100});
  EXPECT_EQ(p.hulls(), 1u);
  EXPECT_EQ(p.recorder().of(p.d.label).hulls, 1u);

  const std::vector<std::byte> seen = p.device_content(&stream, p.d);
  for (std::uint64_t i = 0; i < p.d.bytes; ++i) {
    const bool in = i >= 5 && i < 5 + 90 * 90 && (i - 5) % 90 < 30;
    ASSERT_EQ(seen[i], in ? Machine::mix(7, (i - 5) / 90 * 100 + (i - 5) % 90) : was[i]) << i;
  }
}

TEST(Regions, ALaunchOfManyColumnsOfAForeignPitchUsesTheirHull) {
  Matrix p(64, 200);
  for (std::uint64_t i = 0; i < 40; ++i) p.copy_part(p.d, p.h, i, i + 1, i * 2, 100);
  const std::vector<std::byte> was = p.device_content(&stream, p.d);
  for (const std::uint64_t columns : {64u, 65u}) {
    const Region used(5, 30, columns, 90);
    p.launch_parts(&stream, {{&p.d, used, Access::overwrite}}, 7);
    EXPECT_EQ(p.hulls(), columns > 64 ? 1u : 0u) << columns;
    const std::vector<std::byte> seen = p.device_content(&stream, p.d);
    for (std::uint64_t i = 0; i < p.d.bytes; ++i) {
      ASSERT_EQ(seen[i], i >= used.begin && i < used.end() && (i - 5) % 90 < 30 ? Machine::mix(7, i) : was[i]) << i;
    }
  }
}

TEST(Regions, AnAnnouncedPartOfAMirrorMovesItsPagesAlone) {
  const std::uint64_t page = page_bytes();
  for (const Access mode : {Access::read, Access::read_write, Access::overwrite}) {
    SCOPED_TRACE(static_cast<int>(mode));
    Matrix p(4 * page, 12);
    p.copy(p.h, p.d);

    p.engine().access(p.h, Region(page, page + 100, 12, p.rows), mode);

    EXPECT_EQ(p.d2h(), mode == Access::overwrite ? (page - 100) * 12 : 2 * page * 12) << "whole pages";
    const auto open = mode == Access::read ? platform::Protection::read : platform::Protection::read_write;
    for (std::uint64_t c = 0; c < 12; ++c) {
      EXPECT_EQ(Matrix::protection(p, p.h, c * p.rows), platform::Protection::none);
      EXPECT_EQ(Matrix::protection(p, p.h, c * p.rows + page), open);
      EXPECT_EQ(Matrix::protection(p, p.h, c * p.rows + 2 * page), open);
      EXPECT_EQ(Matrix::protection(p, p.h, c * p.rows + 3 * page), platform::Protection::none);
    }
    EXPECT_LE(p.extents(p.h), 3u);
    if (mode != Access::overwrite) p.expect_host(p.h, 1);
  }
}

TEST(Regions, AnAnnouncedPartStaysOpenWhileAnotherIsFetched) {
  const std::uint64_t page = page_bytes();
  for (const std::uint64_t columns : {8u, 300u}) {
    Matrix p(4 * page, columns);
    p.copy(p.h, p.d);
    p.engine().access(p.h, Region(0, page, columns, p.rows), Access::read);
    p.engine().access(p.h, Region(2 * page, page, columns, p.rows), Access::read);
    for (std::uint64_t c = 0; c < columns; ++c) {
      ASSERT_EQ(Matrix::protection(p, p.h, c * p.rows), platform::Protection::read) << "column " << c << " of " << columns;
      ASSERT_EQ(Matrix::protection(p, p.h, c * p.rows + 2 * page), platform::Protection::read);
    }
  }
}

/// A vector that no columns fit gets the content of a cut matrix lazily all the same, so a refused copy changes nothing.
TEST(Regions, ACutMatrixIsCopiedLazilyToWhereItsColumnsDoNotFit) {
  Matrix p(256, 2000);
  p.copy_part(p.d, p.h, 0, 128);
  Memory& other = p.on_device(p.d.bytes + 100);
  p.kernel_write(&stream, other, other.all(), 3);
  const Counters before = p.counters();
  p.engine().copies.copy(other.address + 100, p.d.address, p.d.bytes);
  EXPECT_EQ(p.counters().deferred.bytes - before.deferred.bytes, p.d.bytes);
  const std::vector<std::byte> seen = p.device_content(&stream, other);
  for (std::uint64_t i = 0; i < p.d.bytes; ++i) ASSERT_EQ(seen[100 + i], Machine::mix(i % 256 < 128 ? 2 : 1, i)) << i;
  EXPECT_EQ(seen[99], Machine::mix(3, 99));
}

/// Narrow columns at another distance are one transfer at the call, not one each.
TEST(Regions, ARowToAVectorIsOneTransfer) {
  Matrix p(300, 50);
  Memory& v = p.on_host(50);
  p.engine().copies.copy(v.address, p.d.address + 7, Columns{1, 50, 1, 300});
  EXPECT_EQ(p.counters().d2h.count - p.before.d2h.count, 1u);
  EXPECT_EQ(p.d2h(), 50u);
  std::vector<std::byte> seen(50);
  p.host_read(v, v.all(), seen.data());
  for (std::uint64_t i = 0; i < 50; ++i) EXPECT_EQ(seen[i], Machine::mix(1, i * 300 + 7));
}

TEST(Regions, AnAnnouncedPartWithoutPagesBetweenIsTheHull) {
  Matrix p(300, 12);
  p.copy(p.h, p.d);
  p.engine().access(p.h, Region(0, 100, 12, 300), Access::overwrite);
  EXPECT_GE(p.d2h(), 11 * 300 + 100u) << "nothing is overwritten unread";
  EXPECT_EQ(p.hulls(), 1u);
  EXPECT_EQ(p.recorder().of(p.h.label).hulls, 1u);
  p.expect_host(p.h, 1);
}

/// Columns that begin a page and a half apart: each has pages of its own, of which the first and the last are one more column's in places.
TEST(Regions, AnAnnouncedPartOfColumnsAPageAndAHalfApartMovesTheirPagesAlone) {
  const std::uint64_t page = page_bytes(), columns = 6;
  struct Part {
    std::uint64_t first, width;
    std::vector<std::uint64_t> pages;  ///< those on which it lies
  };
  for (const Part& part : {Part{page / 8, page / 4, {0, 1, 3, 4, 6, 7}}, Part{page / 4, page / 2, {0, 1, 2, 3, 4, 5, 6, 7, 8}}}) {
    for (const Access mode : {Access::read, Access::read_write, Access::overwrite}) {
      SCOPED_TRACE(std::to_string(part.width) + " bytes, mode " + std::to_string(static_cast<int>(mode)));
      Matrix p(page + page / 2, columns + 2);
      p.copy(p.h, p.d);
      const Region where(part.first, part.width, columns, p.rows);

      p.engine().access(p.h, where, mode);

      EXPECT_EQ(p.d2h(), part.pages.size() * page - (mode == Access::overwrite ? where.size() : 0));
      EXPECT_EQ(p.hulls(), 0u);
      const auto open = mode == Access::read ? platform::Protection::read : platform::Protection::read_write;
      for (std::uint64_t i = 0; i * page < p.h.bytes; ++i) {
        const bool is_in = std::count(part.pages.begin(), part.pages.end(), i) != 0;
        EXPECT_EQ(Matrix::protection(p, p.h, i * page), is_in ? open : platform::Protection::none) << "page " << i;
      }
      // What the program writes then is all that the device lacks, with what lies on the same pages.
      for (std::uint64_t c = 0; c < columns && mode != Access::read; ++c) p.host_write(p.h, where.column(c), 5);
      const std::vector<std::byte> seen = p.host_content(p.h);
      p.copy(p.d, p.h);
      EXPECT_EQ(p.device_content(&stream, p.d), seen);
      EXPECT_EQ(p.h2d(), mode == Access::read ? 0 : part.pages.size() * page);
      for (std::uint64_t i = 0; i < p.h.bytes; ++i) {
        const std::uint64_t row = i % p.rows;
        const bool written = mode != Access::read && i < columns * p.rows && row >= part.first && row < part.first + part.width;
        ASSERT_EQ(seen[i], Machine::mix(written ? 5 : 1, i)) << i;
      }
    }
  }
}

TEST(Regions, OfAnnouncedColumnsAPageAndAHalfApartMoreThan64AreTheirHull) {
  const std::uint64_t page = page_bytes();
  for (const std::uint64_t columns : {64u, 65u}) {
    SCOPED_TRACE(columns);
    Matrix p(page + page / 2, 70);
    p.copy(p.h, p.d);
    p.engine().access(p.h, Region(page / 8, page / 4, columns, p.rows), Access::read);
    const std::uint64_t pages = columns == 64 ? 64 : 65 + 65 / 2;  // two of three, or all up to that of the last column
    EXPECT_EQ(p.d2h(), pages * page);
    EXPECT_EQ(p.hulls(), columns == 64 ? 0u : 1u);
    p.expect_host(p.h, 1);
  }
}

/// The last page of the array has bytes behind its end.
TEST(Regions, AnAnnouncedPartMayEndOnTheLastPage) {
  const std::uint64_t page = page_bytes(), rows = page + page / 2;
  for (const Access mode : {Access::read, Access::overwrite}) {
    Matrix p(rows, 5);
    p.copy(p.h, p.d);
    p.engine().access(p.h, Region(page, page / 2, 5, rows), mode);
    const std::uint64_t on_pages = 4 * page + page / 2;  // pages 1, 2, 4, 5, and the half of page 7
    EXPECT_EQ(p.d2h(), mode == Access::read ? on_pages : on_pages - 5 * (page / 2));
    if (mode == Access::read) p.expect_host(p.h, 1);
  }
}

TEST(Regions, ThatCannotBeAreRefusedAndNothingChanges) {
  Matrix p(100, 20);
  const auto refused = [&](std::uint64_t at, const Columns& what, const char* text) {
    try {
      p.engine().copies.copy(p.d.address + at, p.h.address + at, what);
      ADD_FAILURE() << "not refused: " << text;
    } catch (const UsageError& e) {
      EXPECT_NE(std::string(e.what()).find(text), std::string::npos) << e.what();
    }
  };
  refused(0, {101, 20, 100, 200}, "they overlap");
  refused(0, {50, 21, 100, 100}, "leaves");
  refused(60, {50, 20, 100, 100}, "leaves");
  refused(0, {50, UINT64_MAX / 10, 100, 100}, "no memory is that large");
  refused(0, {8, 3, UINT64_MAX / 2, UINT64_MAX / 2}, "leaves");
  try {
    p.engine().copies.copy(p.d.address + 10, p.d.address, Columns{50, 20, 100, 100});
    ADD_FAILURE() << "source and destination overlap";
  } catch (const UsageError&) {
  }
  p.expect_device(p.d, 1);
  p.expect_host(p.h, 2);
}

TEST(Regions, OfOneArrayThatDoNotOverlap) {
  Matrix p(100, 20);
  p.engine().copies.copy(p.d.address + 50, p.d.address, Columns{50, 20, 100, 100});
  const std::vector<std::byte> seen = p.device_content(&stream, p.d);
  for (std::uint64_t i = 0; i < p.d.bytes; ++i) ASSERT_EQ(seen[i], Machine::mix(1, i % 100 < 50 ? i : i - 50)) << i;
}

TEST(Regions, WithoutTheProtocolAreCopiedAtTheCall) {
  Program::Options o = Program::defaults();
  o.engine.protocol = engine::Protocol::off;
  Matrix p(300, 10, o);
  p.copy_part(p.d, p.h, 0, 100);
  EXPECT_EQ(p.h2d(), 1000u);
  p.expect_rows(p.d, 0, 100, 2, 1);
}

}  // namespace
}  // namespace semcache::fakes
