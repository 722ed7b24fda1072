// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <fakes/fake_platform.hpp>
#include <semcache/memory/host_memory.hpp>

#include <gtest/gtest.h>

#include <string>

namespace semcache::memory {
namespace {

/// A framework has its header in front of an array. The addresses there must not belong to anybody else, in front of the first array
/// neither.
TEST(HostMemory, TheHeaderInFrontOfTheFirstArrayHasAddressesOfItsOwn) {
  fakes::FakePlatform platform({}, [](const std::string& text) { ADD_FAILURE() << text; });
  Mappings mappings(platform);
  for (const std::uint64_t bytes : {std::uint64_t{100}, 2 * large_alignment}) {
    HostMemory memory(platform, mappings, 0, platform::Protection::read);
    Memory first;
    first.bytes = bytes;
    memory.place(first, "first array");
    EXPECT_TRUE(memory.covers(first.address - header_gap_bytes)) << "of an array of " << bytes << " bytes";
    EXPECT_EQ(memory.find(first.address), &first);
    first.pages = directory::BasicExtentMap<PageState>(round_up(bytes + header_gap_bytes, platform.page_bytes()), {});
    memory.give_back(first, directory::Content::zeros);
  }
}

}  // namespace
}  // namespace semcache::memory
