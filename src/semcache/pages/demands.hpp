// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/base/own_memory.hpp>
#include <semcache/base/types.hpp>
#include <semcache/platform/platform.hpp>

#include <cstdint>

namespace semcache::pages {

/// What pages may permit at most: the strictest of the demands of the bytes on them. Pure; no page is touched.
class Demands {
 public:
  struct Run {
    ByteRange pages;
    platform::Protection most;
    friend bool operator==(const Run& a, const Run& b) noexcept { return a.pages == b.pages && a.most == b.most; }
  };

  explicit Demands(std::uint64_t page_bytes) noexcept : page_bytes_(page_bytes) {}

  /// Demands that `bytes` permit no more than `most`. @pre calls come in the order of the bytes; neighbours may share a page
  /// @throws std::bad_alloc
  void add(ByteRange bytes, platform::Protection most);
  /// Demands that those of `pages` that have been added permit no more than `most`. @throws std::bad_alloc
  void restrict_to(ByteRange pages, platform::Protection most);
  /// Returns the runs of pages in order and without overlaps. Neighbouring runs made by `add` have different demands.
  [[nodiscard]] const base::Vector<Run>& runs() const noexcept { return runs_; }

 private:
  std::uint64_t page_bytes_;
  base::Vector<Run> runs_;
};

}  // namespace semcache::pages
