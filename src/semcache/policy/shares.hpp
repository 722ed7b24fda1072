// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/policy/decomposition.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

/// Cuts that a program makes itself: what they look like, and what is wrong with one. Everything here is a pure function of its arguments.
namespace semcache::policy {

/// A part of a call's result that one device computes, in elements.
struct Share {
  std::uint32_t device = 0;
  Rectangle where;
};
/// Which shares a call takes.
enum class ShareForm : std::uint8_t {
  rectangles,   ///< any
  columns,      ///< each has all rows
  rows,         ///< each has all columns
  run_of_rows,  ///< the same, and each device has one share at most
};
/// What the shares of a call must be like.
struct ShareRules {
  std::uint64_t rows = 0, columns = 0;  ///< of the result, which the shares cover together, each element once
  std::size_t devices = 0;              ///< they are numbered from 0 on
  ShareForm form = ShareForm::rectangles;
  std::uint64_t grain = 1;  ///< each share begins at a row that is a multiple of this
};
/// Returns what is wrong with the shares, with the values concerned and the remedy: "share 3 is for device 5, but ..."; empty: nothing is.
[[nodiscard]] SEMCACHE_API std::string flaw_of(const std::vector<Share>& shares, const ShareRules& rules);

/// Cuts a product by its shares, and each share into tasks. @param blockings  for each share, without leads
[[nodiscard]] SEMCACHE_API std::vector<Task> cut(const Product& product, const std::vector<Share>& shares, const std::vector<Blocking>& blockings,
                                                 std::uint32_t lanes);

}  // namespace semcache::policy
