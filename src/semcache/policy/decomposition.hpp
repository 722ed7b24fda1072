// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/base/error.hpp>
#include <semcache/base/region.hpp>
#include <semcache/base/types.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

/// How a library call is cut into tasks, each of which one device carries out. Everything here is a pure function of its arguments.
/// Source: SemCache++, 5.5.1 (decomposition and scheduling).
///
/// Rows, columns and rectangles are in elements of a column-major matrix. A vector is a matrix of one column.
namespace semcache::policy {

/// The elements [begin, end) of something that is cut: columns, rows, or a vector's elements.
struct Run {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  [[nodiscard]] constexpr std::uint64_t size() const noexcept { return end > begin ? end - begin : 0; }
  friend constexpr bool operator==(const Run& a, const Run& b) noexcept { return a.begin == b.begin && a.end == b.end; }
};

/// The memory of a device that the operands of one task may take.
struct Memory {
  std::uint64_t budget = 0;
  std::uint64_t page = 1;  ///< memory is counted in whole pages of so many bytes
};
/// Do parts of so many bytes fit together? Each may begin anywhere in a page, so it may take a page more than its bytes do.
[[nodiscard]] SEMCACHE_API bool fit_together(const Memory& memory, std::initializer_list<std::uint64_t> parts) noexcept;
/// Returns the devices that have room for parts of so many bytes, which no cut of a call makes smaller: the others are left out. All devices, where
/// none has.
[[nodiscard]] SEMCACHE_API std::vector<std::uint32_t> devices_with_room(const std::vector<Memory>& memory,
                                                                        std::initializer_list<std::uint64_t> parts);
/// Returns how many bytes the operands of a task may have, so that three tasks' fit together, or one task's where memory is short. Three operands take
/// up to two pages each beside their bytes, and memory that an earlier call has left for a part may be twice as large.
[[nodiscard]] SEMCACHE_API std::uint64_t bytes_of_task(const Memory& memory) noexcept;
/// The same where one task's operands are to fit, but not three tasks'.
[[nodiscard]] SEMCACHE_API std::uint64_t bytes_of_one_task(const Memory& memory) noexcept;

/// Cuts [0, count) into at most `pieces` runs, none of them empty, whose sizes differ by at most one grain. All begin at multiples of `grain`.
[[nodiscard]] SEMCACHE_API std::vector<Run> cut_evenly(std::uint64_t count, std::size_t pieces, std::uint64_t grain = 1);

/// Returns the elements of a block of vectors of `count` elements: a power of two, at most 4096, so that there are at least 64 blocks. Sums over
/// a vector add one number for each block, in an order that the count of blocks alone decides, and cuts lie between blocks. So a sum has the same
/// bits on any number of devices.
[[nodiscard]] SEMCACHE_API std::uint64_t block_elements(std::uint64_t count) noexcept;

/// Cuts the rows of a sparse matrix into at most `pieces` runs, none of them empty, of about equally many non-zeros. All begin at multiples of
/// `grain`.
/// @param row_pointers    rows + 1 of them, not descending: row i has the entries [row_pointers[i], row_pointers[i + 1])
/// @param entries_of_row  a row counts as so many entries more than it has
template <class Index>
[[nodiscard]] std::vector<Run> cut_by_entries(const Index* row_pointers, std::uint64_t rows, std::size_t pieces, std::uint64_t grain,
                                              std::uint64_t entries_of_row = 0) {
  std::vector<Run> runs;
  const auto before = [&](const Index& row) {
    return static_cast<std::uint64_t>(row - row_pointers[0]) + entries_of_row * static_cast<std::uint64_t>(&row - row_pointers);
  };
  const auto all = static_cast<double>(before(row_pointers[rows]));
  for (std::size_t i = 1; i <= pieces; ++i) {
    const std::uint64_t begin = runs.empty() ? 0 : runs.back().end;
    std::uint64_t end = rows;
    if (i < pieces) {
      const auto wanted = static_cast<std::uint64_t>(all * static_cast<double>(i) / static_cast<double>(pieces));
      const Index* const found =
          std::lower_bound(row_pointers, row_pointers + rows, wanted, [&](const Index& row, std::uint64_t entries) { return before(row) < entries; });
      const auto at = static_cast<std::uint64_t>(found - row_pointers);
      end = std::min(rows, (at + grain / 2) / grain * grain);
    }
    if (end > begin) runs.push_back({begin, end});
  }
  return runs;
}

/// Cuts runs into pieces of at most `most` elements, each a multiple of `grain` if that is less.
[[nodiscard]] SEMCACHE_API std::vector<Run> cut_to_fit(const Run& run, std::uint64_t most, std::uint64_t grain = 1);

/// A run whose present content a device holds.
struct Held {
  Run run;
  std::uint32_t device;
};
/// Cuts [0, count) at the borders of what devices hold already, so that nothing needs to move: one run for each of the `devices` devices at
/// most, in ascending order.
/// @param held  any order; runs of different devices may overlap, and then one of them is taken
/// @return nothing where no such cut is fair: some elements are held by no device, a device would have several runs, or more than
///         `most_of_fair_share` times its fair share
[[nodiscard]] SEMCACHE_API std::vector<Held> cut_as_held(std::uint64_t count, std::vector<Held> held, std::size_t devices, double most_of_fair_share = 1.5);

/// Assigns runs to devices, one to each, so that much of what the runs need is held already.
/// @param held  for each run, the bytes that each device holds of it. There are no more runs than devices
/// @return for each run its device. Runs of which nothing is held get the devices in order
/// @param among  to these devices only, ascending
[[nodiscard]] SEMCACHE_API std::vector<std::uint32_t> assign(const std::vector<std::vector<std::uint64_t>>& held);
[[nodiscard]] SEMCACHE_API std::vector<std::uint32_t> assign(const std::vector<std::vector<std::uint64_t>>& held,
                                                             const std::vector<std::uint32_t>& among);

/// Returns into how many pieces something is cut that passes in a chain: from one device to the next, which passes each piece on when it has it. The
/// last device then has all of it after about one transfer and one piece for each device between, instead of one transfer for each device. Smaller
/// pieces arrive earlier, but each costs a transfer's latency, and the host the time to submit it.
/// @param devices  in the chain, the one that has it among them
/// @param chains   so many are under way at once, of which each begins at another device
/// @return 1 where a chain does not pay: for two devices, and for few bytes
[[nodiscard]] SEMCACHE_API std::size_t pieces_of_chain(std::uint64_t bytes, std::size_t devices, std::size_t chains = 1) noexcept;

/// What a task uses of an operand of the call.
struct TaskPart {
  std::uint32_t operand = 0;  ///< its number in the call
  Rectangle where;            ///< of its elements
  Access mode = Access::read;
  /// Lies around `where`, and tells that all parts with the same rectangle are to lie in one piece of memory, at their distances; empty: as it
  /// comes. Only what the parts use moves there.
  Rectangle together = {};
};
/// A piece of a call, which one device carries out.
struct Task {
  std::uint32_t device = 0;
  std::uint32_t lane = 0;  ///< tasks of one device and lane are carried out in order, those of different lanes side by side
  std::vector<TaskPart> parts;
};
/// Returns one line for each task, for reports and tests: "device 1, lane 0: reads 0 [0, 4) x [0, 2), overwrites 2 [0, 4) x [0, 2)".
[[nodiscard]] SEMCACHE_API std::string text_of(const std::vector<Task>& tasks);

/// The product C = alpha op(A) op(B) + beta C, of m x k and k x n matrices. Its operands are 0 (A), 1 (B) and 2 (C).
struct Product {
  std::uint64_t m = 0, n = 0, k = 0;
  bool transpose_a = false;
  bool transpose_b = false;
  bool reads_c = true;  ///< false where beta is zero
};
/// How many pieces the rows and the columns of a result are cut into.
struct Grid {
  std::size_t rows = 1;
  std::size_t columns = 1;
};
/// Returns the grid for a product on so many devices: columns of the result, or rows where there are more of these. If there are too few of either for
/// all devices, the other one is cut. Square matrices cut by columns bring (p + 1) n^2 elements to p devices, and D = AB + AC (p + 2) n^2 (by rows
/// (2 p + 1) n^2). From four devices on, a grid of rows and columns would bring no more, and often fewer: 2 x 2 brings 4 n^2 instead of 5 n^2 for one
/// product, and 6 n^2 as columns do for D = AB + AC. Columns are taken all the same. A run of them is contiguous, so a sum of two results, which is cut
/// as a vector, moves nothing. And each byte crosses the host's link once in either cut: what a grid saves are copies between devices. A program that
/// wants grids cuts itself (linalg::Options::cut).
[[nodiscard]] SEMCACHE_API Grid grid_of(const Product& product, std::size_t devices);
/// Returns the product that the largest share computes.
[[nodiscard]] SEMCACHE_API Product share_of(const Product& product, const Grid& shares) noexcept;
/// How the tasks begin that a share by columns is cut into. While most of A is still on its way, the first ones can compute with what is there.
struct Lead {
  std::size_t pieces = 0;  ///< so many of the first pieces are one; 0: no lead
  std::size_t panels = 1;  ///< and this one is cut into so many tasks along the sums: each uses some columns of A, and adds to what the last one has
                           ///< left. A is not transposed
};
/// What of a task's operands the next tasks use, too. So it need not move again.
enum class Stays : std::uint8_t {
  rows_of_a,     ///< of op(A): all columns of the result for some rows come one after the other
  columns_of_b,  ///< of op(B): all rows of the result for some columns
  part_of_c,     ///< each task adds some terms of the sums
};
/// How a share of a product is cut into tasks.
struct Blocking {
  std::size_t rows = 1;     ///< so many pieces of rows,
  std::size_t columns = 1;  ///< columns,
  std::size_t terms = 1;    ///< and terms of the sums, at most
  Stays stays = Stays::rows_of_a;
  /// Only where there is one piece of rows, and of terms. Its tasks have all of op(B)'s columns as their part, of which they use the rows that belong to
  /// their columns of A; all of its tasks but the first read C.
  Lead lead = {};
};
/// Returns how a share is cut, so that what a task needs fits the memory, with room for the next tasks' operands to arrive. If all of op(A) fits, it
/// stays, and there are at least as many pieces by columns as asked for. Otherwise the blocking is taken that brings the fewest elements to the
/// device. That are about 4 m n k / sqrt(e) of A and B where e elements have room there and each size of the product is much larger than sqrt(e):
/// nearly square parts of C stay, and short pieces of A's columns and B's rows pass by.
/// @param least_pieces  so many tasks at least, so that one computes while the next one's operands arrive
/// @return as many pieces as there are elements, if even one column and row do not fit
[[nodiscard]] SEMCACHE_API Blocking blocking_that_fits(const Product& share, std::size_t least_pieces, const Memory& memory,
                                                       std::uint64_t element_bytes);
/// Cuts a product into a grid of shares, one for each device, and each share into tasks.
/// @param devices    for each share, by columns first, its device; a device may have none
/// @param blockings  for each share
/// @param lanes      of each device. Tasks that add to the same part of C have the same one
[[nodiscard]] SEMCACHE_API std::vector<Task> cut(const Product& product, const Grid& grid, const std::vector<std::uint32_t>& devices,
                                                 const std::vector<Blocking>& blockings, std::uint32_t lanes);

/// Puts the tasks of several shares in one order: one task of each share in turn, so that all devices begin at once.
[[nodiscard]] SEMCACHE_API std::vector<Task> in_turn(std::vector<std::vector<Task>> shares);

/// Cuts a function of vectors of one length, element by element, into one task for each run. Each operand's part has the run's elements.
[[nodiscard]] SEMCACHE_API std::vector<Task> cut(const std::vector<Held>& runs, const std::vector<Access>& operands);

}  // namespace semcache::policy
