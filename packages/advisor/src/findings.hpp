// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include "ledger.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace semcache::advisor {

enum class What : std::uint8_t {
  redundant,   ///< certain: the destination had the content
  round_trip,  ///< certain: the content came back unchanged; where the destination had it still, the copy is also redundant
  fresh,       ///< possible: as redundant, in memory that no copy had used
  unused,      ///< possible: overwritten or freed before anything that Kokkos announces used it
  shared,      ///< possible: of a view onto itself and unchanged, so that it moved nothing here and would be redundant on a GPU
};
[[nodiscard]] const char* to_string(What what) noexcept;
[[nodiscard]] constexpr bool is_certain(What what) noexcept { return what == What::redundant || what == What::round_trip; }
[[nodiscard]] const char* to_string(Direction direction) noexcept;

/// Something that one statement of the program did and need not have done.
struct Finding {
  What what = What::redundant;
  const Statement* statement = nullptr;
  Tally tally;
};

/// Returns the findings, those with the most bytes first.
[[nodiscard]] std::vector<Finding> findings_of(const Ledger& ledger);

/// Returns the sum over all statements.
[[nodiscard]] Tally sum(const Ledger& ledger, Tally Statement::*tally);

/// Returns all copies that the finding is a part of.
[[nodiscard]] const Tally& copies_at(const Finding& finding) noexcept;

/// Returns a sentence or two that tell what happened and what to do.
[[nodiscard]] std::string advice(const Ledger& ledger, const Finding& finding, const std::string& site);

/// Returns under which condition SemCache would not move the bytes of a finding.
[[nodiscard]] const char* condition(What what) noexcept;

}  // namespace semcache::advisor
