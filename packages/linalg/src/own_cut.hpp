// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include "call.hpp"

#include <vector>

namespace semcache::linalg {

/// Returns the shares of the program's own cut (`Options::cut`), checked, in the order of their first columns and rows; none: the package cuts the
/// call.
/// @param operands  of the call; see `CallToCut`
/// @throws UsageError  the shares are none of this call; the text names the share and the value
[[nodiscard]] std::vector<Share> own_cut(const Options& options, const char* routine, const Matrix& result, ShareForm form,
                                         const std::vector<ProductOperand>& operands, std::uint64_t grain = 1);
inline constexpr const char* why_own_cut = "cut by the program";

/// Returns the rows of shares that have all columns.
[[nodiscard]] std::vector<policy::Held> rows_of_shares(const std::vector<Share>& shares);

}  // namespace semcache::linalg
