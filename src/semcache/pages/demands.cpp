// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/pages/demands.hpp>

#include <algorithm>

namespace semcache::pages {

using platform::Protection;

void Demands::add(ByteRange bytes, Protection most) {
  ByteRange pages{round_down(bytes.begin, page_bytes_), round_up(bytes.end, page_bytes_)};
  if (!runs_.empty() && runs_.back().pages.end > pages.begin) {  // the first page is shared with the previous run
    Run& last = runs_.back();
    if (most < last.most) {
      if (last.pages.begin >= pages.begin) {
        last.most = most;
      } else {
        last.pages.end = pages.begin;
        runs_.push_back({pages, most});
        return;
      }
    }
    pages.begin = last.pages.end;
    if (pages.empty()) return;
  }
  if (!runs_.empty() && runs_.back().most == most && runs_.back().pages.end == pages.begin) {
    runs_.back().pages.end = pages.end;
  } else {
    runs_.push_back({pages, most});
  }
}

void Demands::restrict_to(ByteRange pages, Protection most) {
  base::Vector<Run> split;
  for (const Run& run : runs_) {
    const ByteRange inside = intersect(run.pages, pages);
    if (inside.empty()) {
      split.push_back(run);
      continue;
    }
    if (run.pages.begin < inside.begin) split.push_back({{run.pages.begin, inside.begin}, run.most});
    split.push_back({inside, std::min(run.most, most)});
    if (inside.end < run.pages.end) split.push_back({{inside.end, run.pages.end}, run.most});
  }
  runs_.swap(split);
}

}  // namespace semcache::pages
