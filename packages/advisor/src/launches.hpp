// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include "names.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace semcache::advisor {

/// The program's latest launches of kernels, by name.
class Launches {
 public:
  void add(std::uint32_t name) noexcept { latest_[count_++ % latest_.size()] = name; }
  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }

  /// Adds the names of the launches since `count` was `since` to `names`, each once and the latest first, until there are `most`.
  void names_since(std::uint64_t since, std::vector<std::uint32_t>& names, std::size_t most) const {
    const std::uint64_t first = std::max(since, count_ - std::min<std::uint64_t>(count_, latest_.size()));
    for (std::uint64_t i = count_; i-- > first && names.size() < most;) {
      const std::uint32_t name = latest_[i % latest_.size()];
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  }

 private:
  std::array<std::uint32_t, 64> latest_{};
  std::uint64_t count_ = 0;
};

}  // namespace semcache::advisor
