// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <system_error>

namespace semcache::base {

/// Accepts decimal digits only: no sign, no blanks, no exponent. Returns the error of `std::from_chars`, which is
/// `invalid_argument` also where anything follows the digits.
inline std::errc parse_number(std::string_view text, std::uint64_t& number) noexcept {
  const char* const end = text.data() + text.size();
  const auto [behind, error] = std::from_chars(text.data(), end, number);
  return behind == end ? error : std::errc::invalid_argument;
}

/// Accepts a number, and at most one of K, M, G, T behind it, which stand for powers of 1024. Returns the error as `parse_number` does.
inline std::errc parse_bytes(std::string_view text, std::uint64_t& bytes) noexcept {
  constexpr std::string_view units = "KkMmGgTt";
  const std::size_t unit = text.empty() ? std::string_view::npos : units.find(text.back());
  const std::size_t shift = unit == std::string_view::npos ? 0 : 10 * (unit / 2 + 1);
  if (shift != 0) text.remove_suffix(1);
  std::uint64_t n = 0;
  if (const std::errc error = parse_number(text, n); error != std::errc()) return error;
  if (n > (UINT64_MAX >> shift)) return std::errc::result_out_of_range;
  bytes = n << shift;
  return {};
}

}  // namespace semcache::base
