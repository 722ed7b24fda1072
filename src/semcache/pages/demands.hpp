// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/base/types.hpp>
#include <semcache/platform/platform.hpp>

#include <cstdint>
#include <vector>

namespace semcache::pages {

/// What pages may permit at most: the least that is demanded of a byte on them. Pure; no page is touched.
class Demands {
 public:
  struct Run {
    ByteRange pages;
    platform::Protection most;
    friend bool operator==(const Run& a, const Run& b) noexcept { return a.pages == b.pages && a.most == b.most; }
  };

  explicit Demands(std::uint64_t page_bytes) noexcept : page_bytes_(page_bytes) {}

  /// The bytes permit no more than `most`. Called in the order of the bytes, which may share pages. @throws std::bad_alloc
  void add(ByteRange bytes, platform::Protection most);
  /// Of what was added, these pages permit no more than `most` either. @throws std::bad_alloc
  void restrict_to(ByteRange pages, platform::Protection most);
  /// In order, without overlaps; neighbours that `add` has made differ.
  [[nodiscard]] const std::vector<Run>& runs() const noexcept { return runs_; }

 private:
  std::uint64_t page_bytes_;
  std::vector<Run> runs_;
};

}  // namespace semcache::pages
