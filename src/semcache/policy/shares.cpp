// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/policy/shares.hpp>

#include <algorithm>
#include <set>
#include <utility>

namespace semcache::policy {

namespace {

std::string range(std::uint64_t begin, std::uint64_t end) { return "[" + std::to_string(begin) + ", " + std::to_string(end) + ")"; }
std::string text_of(const Rectangle& r) { return range(r.row_begin, r.row_end) + " x " + range(r.column_begin, r.column_end); }

bool overlap(const Rectangle& a, const Rectangle& b) noexcept {
  return a.row_begin < b.row_end && b.row_begin < a.row_end && a.column_begin < b.column_end && b.column_begin < a.column_end;
}

/// What is wrong with one share, whatever the others are.
std::string flaw_of(const Share& s, const ShareRules& rules) {
  const Rectangle& r = s.where;
  if (s.device >= rules.devices) {
    return "is for device " + std::to_string(s.device) + ", but the process uses " + std::to_string(rules.devices) + ", counted from 0";
  }
  if (r.empty()) return "is " + text_of(r) + ", which is empty. Leave it out";
  if (r.row_end > rules.rows || r.column_end > rules.columns) {
    return "is " + text_of(r) + ", which leaves the result of " + std::to_string(rules.rows) + " x " + std::to_string(rules.columns) + " elements";
  }
  if (rules.form == ShareForm::columns && r.row_end - r.row_begin < rules.rows) {
    return "is " + text_of(r) + ", but this call is cut by columns. Give each share all " + std::to_string(rules.rows) + " rows";
  }
  if ((rules.form == ShareForm::rows || rules.form == ShareForm::run_of_rows) && r.column_end - r.column_begin < rules.columns) {
    return "is " + text_of(r) + ", but this call is cut by rows. Give each share all " + std::to_string(rules.columns) + " columns";
  }
  if (r.row_begin % rules.grain != 0) {
    return "begins at row " + std::to_string(r.row_begin) + ", but this call is cut between blocks. Begin it at a multiple of " +
           std::to_string(rules.grain);
  }
  return {};
}

/// Returns an element that is in no share, by its row and column. One of them begins a gap, where others end.
/// @pre there is one
std::pair<std::uint64_t, std::uint64_t> missing_element(const std::vector<Share>& shares, const ShareRules& rules) {
  std::set<std::uint64_t> rows{0}, columns{0};
  for (const Share& s : shares) {
    rows.insert(s.where.row_end);
    columns.insert(s.where.column_end);
  }
  for (const std::uint64_t column : columns) {
    for (const std::uint64_t row : rows) {
      const Rectangle element{row, row + 1, column, column + 1};
      const auto has_it = [&](const Share& s) { return overlap(s.where, element); };
      if (row < rules.rows && column < rules.columns && std::none_of(shares.begin(), shares.end(), has_it)) return {row, column};
    }
  }
  return {};  // not reached
}

}  // namespace

std::string flaw_of(const std::vector<Share>& shares, const ShareRules& rules) {
  const auto name = [](std::size_t i) { return "share " + std::to_string(i); };
  std::uint64_t elements = 0;
  std::vector<bool> has_share(rules.devices, false);
  std::vector<std::size_t> by_column(shares.size());
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const Share& s = shares[i];
    if (const std::string flaw = flaw_of(s, rules); !flaw.empty()) return name(i) + " " + flaw;
    if (rules.form == ShareForm::run_of_rows && has_share[s.device]) {
      return name(i) + " is the second one for device " + std::to_string(s.device) + ", but this call takes one for each device. Join them";
    }
    has_share[s.device] = true;
    elements += (s.where.row_end - s.where.row_begin) * (s.where.column_end - s.where.column_begin);
    by_column[i] = i;
  }
  const auto column_of = [&](std::size_t i) { return shares[i].where.column_begin; };
  std::sort(by_column.begin(), by_column.end(), [&](std::size_t a, std::size_t b) { return column_of(a) < column_of(b); });
  for (std::size_t i = 0; i < by_column.size(); ++i) {
    const Rectangle& one = shares[by_column[i]].where;
    for (std::size_t k = i + 1; k < by_column.size() && column_of(by_column[k]) < one.column_end; ++k) {
      if (!overlap(one, shares[by_column[k]].where)) continue;
      const auto [first, second] = std::minmax(by_column[i], by_column[k]);
      return name(first) + ", " + text_of(shares[first].where) + ", and " + name(second) + ", " + text_of(shares[second].where) +
             ", overlap. Give each element to one share";
    }
  }
  if (elements == rules.rows * rules.columns) return {};
  const auto [row, column] = missing_element(shares, rules);
  return "the element in row " + std::to_string(row) + " and column " + std::to_string(column) + " of the result, which has " +
         std::to_string(rules.rows) + " x " + std::to_string(rules.columns) + ", is in no share. Give each element to one share";
}

}  // namespace semcache::policy
