// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/trace/detail/wording.hpp>

#include <cstdio>
#include <iterator>

namespace semcache::trace::detail {

std::string human(std::uint64_t bytes) {
  static constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes == 0) return "0";
  auto scaled = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; scaled >= 1024.0 && unit + 1 < std::size(units); ++unit) scaled /= 1024.0;
  char text[32];
  std::snprintf(text, sizeof text, unit == 0 ? "%.0f %s" : scaled < 10 ? "%.2f %s" : "%.1f %s", scaled, units[unit]);
  return text;
}

std::string shown(const std::string& name, std::size_t longest) {
  std::size_t kept = name.size();
  if (kept > longest) {  // cut before a character, never within one
    for (kept = longest - 3; kept > 0 && (static_cast<unsigned char>(name[kept]) & 0xc0) == 0x80; --kept) {
    }
  }
  std::string out = kept < name.size() ? name.substr(0, kept) + "..." : name;
  for (char& c : out) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return out;
}

}  // namespace semcache::trace::detail
