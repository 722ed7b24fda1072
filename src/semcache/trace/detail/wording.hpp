// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

/// Figures and names as people read them in reports.
namespace semcache::trace::detail {

inline constexpr std::size_t longest_label = 56;

/// Returns "0", "512 B", "4.00 KiB" or "15.0 GiB": about three digits, for people. Exact bytes are in the totals and in JSON.
[[nodiscard]] std::string human(std::uint64_t bytes);

/// Returns a name on one line, and shortened, because names come from the program.
[[nodiscard]] std::string shown(const std::string& name, std::size_t longest = longest_label);

}  // namespace semcache::trace::detail
