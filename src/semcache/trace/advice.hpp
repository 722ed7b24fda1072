// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/trace/statistics.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace semcache::trace {

/// One kind of cost, and what helps. docs/reference/report.md lists the kinds.
struct Advice {
  using Figure = std::pair<std::uint64_t, std::string>;  ///< a figure, and the label that has it
  enum class Unit : std::uint8_t { bytes, count };

  std::string kind;             ///< does not change, as the wording of `text` may
  std::string text;             ///< for people
  std::vector<Figure> labels;   ///< those that `text` names, largest figure first
  Unit unit = Unit::bytes;      ///< of the figures of `labels`
  std::uint64_t bytes = 0;      ///< that would not move, at most; 0: not known
  std::string direction;        ///< of these bytes, "h2d" or "d2h"; empty: both, or not known
  std::string condition;        ///< under which they would not move
};

/// Returns advice for each kind of cost that the statistics show. Both reports contain it.
[[nodiscard]] SEMCACHE_API std::vector<Advice> advice(const Statistics& statistics);

}  // namespace semcache::trace
