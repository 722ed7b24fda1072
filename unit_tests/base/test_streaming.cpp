// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/base/streaming.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

namespace semcache::base {
namespace {

TEST(CopyPastCaches, CopiesTheseBytesAndNoOthers) {
  constexpr std::byte untouched{0xee};
  std::vector<std::byte> source(1024);
  for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<std::byte>(i * 7 % 251);
  for (std::size_t to = 0; to < 70; ++to) {
    for (std::size_t from = 0; from < 20; from += 3) {
      for (const std::size_t bytes : {0, 1, 15, 16, 63, 64, 65, 127, 128, 200, 512, 700}) {
        std::vector<std::byte> target(1024, untouched);
        copy_past_caches(target.data() + to, source.data() + from, bytes);
        for (std::size_t i = 0; i < target.size(); ++i) {
          const std::byte expected = i >= to && i < to + bytes ? source[from + i - to] : untouched;
          ASSERT_EQ(target[i], expected) << "byte " << i << " of a copy of " << bytes << " bytes to " << to << " from " << from;
        }
      }
    }
  }
}

}  // namespace
}  // namespace semcache::base
