// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "findings.hpp"

#include <algorithm>

namespace semcache::advisor {

const char* to_string(What what) noexcept {
  switch (what) {
    case What::redundant: return "redundant";
    case What::round_trip: return "round trip";
    case What::fresh: return "fresh";
    case What::unused: return "unused";
    case What::shared: return "shared";
  }
  return "";
}

const char* to_string(Direction direction) noexcept {
  switch (direction) {
    case Direction::h2d: return "h2d";
    case Direction::d2h: return "d2h";
    case Direction::d2d: return "d2d";
    case Direction::h2h: return "h2h";
    case Direction::other: return "other";
  }
  return "";
}

std::vector<Finding> findings_of(const Ledger& ledger) {
  std::vector<Finding> found;
  for (const Statement& s : ledger.statements()) {
    const auto add = [&](What what, const Tally& tally) {
      if (tally.count > 0) found.push_back({what, &s, tally});
    };
    add(What::redundant, s.redundant);
    add(What::round_trip, s.round_trips);
    add(What::fresh, s.fresh);
    add(What::unused, s.unused);
    add(What::shared, s.shared_same);
  }
  std::stable_sort(found.begin(), found.end(), [](const Finding& a, const Finding& b) { return a.tally.bytes > b.tally.bytes; });
  return found;
}

Tally sum(const Ledger& ledger, Tally Statement::*tally) {
  Tally all;
  for (const Statement& s : ledger.statements()) all += s.*tally;
  return all;
}

const Tally& copies_at(const Finding& finding) noexcept { return finding.what == What::shared ? finding.statement->shared : finding.statement->copies; }

std::string advice(const Ledger& ledger, const Finding& finding, const std::string& site) {
  const Statement& s = *finding.statement;
  const std::string to = "\"" + ledger.label(s.to) + "\"", from = "\"" + ledger.label(s.from) + "\"";
  const std::uint64_t all = copies_at(finding).count;
  const std::string times = std::to_string(finding.tally.count) + " of " + std::to_string(all);
  const std::string of_copies = times + (all == 1 ? " copy" : " copies") + " from " + from + " to " + to + " (" + site + ")";
  switch (finding.what) {
    case What::redundant:
      return "In " + of_copies + " the destination had the content already. Copy only when the source has changed; SemCache sees that by itself.";
    case What::round_trip: {
      const std::string restored = std::to_string(s.restored.count) + " of them brought back what the destination had lost meanwhile.";
      return "In " + of_copies + " the content had come from the destination and was unchanged. " +
             (s.restored.count == 0 ? "The destination had it still, so the copy is not needed." : restored);
    }
    case What::fresh:
      return "In " + of_copies + " the destination had the content already, in memory that no copy had used since it was allocated: its "
             "initial value, a kernel's result, or chance.";
    case What::unused:
      return "In " + of_copies + " the content was overwritten or freed before a kernel or a copy of Kokkos could use it. It was moved for "
             "nothing, unless a library or a kernel outside Kokkos has used it.";
    case What::shared:
      return "In " + of_copies + " nothing was moved, because both sides are the same memory, and the content had not changed since the copy "
             "before. In a build for a GPU the destination would have had it.";
  }
  return {};
}

const char* condition(What what) noexcept {
  switch (what) {
    case What::redundant: return "where no kernel has captured the destination as writable since the copy before";
    case What::round_trip: return "these copies are redundant, too, and are to be counted once";
    case What::fresh: return "where the content is no chance";
    case What::unused: return "where nothing outside Kokkos has used it";
    case What::shared: return "in a build for a GPU; nothing was moved in this run";
  }
  return "";
}

}  // namespace semcache::advisor
