// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace semcache::advisor {

/// Numbers for names, of which there are at most `most`. All further ones share a number.
class Names {
 public:
  Names(std::size_t most, const char* others) : most_(most), others_(others) {}

  [[nodiscard]] std::uint32_t number_of(std::string_view name) {
    name = name.substr(0, longest);
    key_.assign(name);  // keeps its memory, so that a known name costs no allocation
    if (const auto found = numbers_.find(key_); found != numbers_.end()) return found->second;
    if (names_.size() >= most_) return shared;
    names_.emplace_back(name);
    return numbers_[key_] = static_cast<std::uint32_t>(names_.size() - 1);
  }
  [[nodiscard]] std::string text_of(std::uint32_t number) const { return number < names_.size() ? names_[number] : others_; }
  [[nodiscard]] std::size_t size() const noexcept { return names_.size(); }

 private:
  static constexpr std::uint32_t shared = UINT32_MAX;
  static constexpr std::size_t longest = 1024;
  std::size_t most_;
  const char* others_;
  std::string key_;
  std::vector<std::string> names_;
  std::unordered_map<std::string, std::uint32_t> numbers_;
};

}  // namespace semcache::advisor
