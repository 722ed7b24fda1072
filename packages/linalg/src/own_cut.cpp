// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "own_cut.hpp"

#include <algorithm>
#include <string>
#include <tuple>

namespace semcache::linalg {

/// Returns how many bytes of an operand each device holds. An operand that touches an edge of adopted memory counts as on the host.
static std::vector<std::uint64_t> held_of(const Matrix& m) {
  try {
    return tasks::held_bytes(m, {{0, m.rows, 0, m.columns}}).front();
  } catch (const UsageError&) {
    return std::vector<std::uint64_t>(static_cast<std::size_t>(device_count()), 0);
  }
}

std::vector<Share> own_cut(const Options& o, const char* routine, const Matrix& result, ShareForm form, const std::vector<ProductOperand>& operands,
                           std::uint64_t grain) {
  if (!o.cut) return {};
  CallToCut call{routine, {result.rows, result.columns, devices_at_most(o), form, grain}, {}, memory_of_devices()};
  for (const ProductOperand& operand : operands) {
    const Matrix& m = *operand.matrix;
    call.operands.push_back({m.rows, m.columns, m.element_bytes, operand.mode, held_of(m)});
  }
  std::vector<Share> shares = o.cut(call);
  if (shares.empty()) return {};
  const std::string flaw = policy::flaw_of(shares, call.shares);
  SEMCACHE_EXPECTS(flaw.empty(), std::string("linalg::") + routine + ": the program's own cut (Options::cut) is refused: " + flaw);
  std::sort(shares.begin(), shares.end(), [](const Share& a, const Share& b) {
    return std::tuple(a.where.column_begin, a.where.row_begin) < std::tuple(b.where.column_begin, b.where.row_begin);
  });
  return shares;
}

std::vector<policy::Held> rows_of_shares(const std::vector<Share>& shares) {
  std::vector<policy::Held> runs;
  for (const Share& s : shares) runs.push_back({{s.where.row_begin, s.where.row_end}, s.device});
  return runs;
}

}  // namespace semcache::linalg
