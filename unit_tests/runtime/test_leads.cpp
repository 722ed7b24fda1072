// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <fakes/lent_block.hpp>
#include <semcache/runtime/leads.hpp>

#include <gtest/gtest.h>

// Where the words of a functor lead, on a heap of the test's making.
namespace {

using namespace semcache;

std::uintptr_t number(const void* p) { return reinterpret_cast<std::uintptr_t>(p); }

class LeadsOnAFakeHeap : public ::testing::Test {
 protected:
  void follow(std::initializer_list<std::uintptr_t> words) {
    leads = {};
    leads.follow_in(machine.engine(), 4096, words.begin(), words.size(), words.begin(), nullptr, 0);
  }
  void add_block(const std::uintptr_t* begin, std::size_t words) {
    machine.platform().heap.push_back({number(begin), words * sizeof *begin, false});
  }

  fakes::Machine machine{{}, [](const std::string& text) { ADD_FAILURE() << text; }};
  engine::Memory* const array = machine.engine().lifetimes.allocate_device(0, "array", 4096);
  runtime::Leads leads;
};

/// Some allocators put one block right behind the other: the first one's end, which containers keep, is the second one.
TEST_F(LeadsOnAFakeHeap, ABlockThatBeginsWhereAnotherEndsIsLookedThrough) {
  const std::uintptr_t memory[4] = {0, 0, number(array->address), 0};
  add_block(memory, 2);
  add_block(memory + 2, 2);

  follow({number(memory), number(memory + 2)});

  EXPECT_EQ(leads.arrays(), std::vector<const void*>{array->address});
  EXPECT_FALSE(leads.lead_anywhere());
  machine.engine().lifetimes.deallocate(array);
}

/// A pointer to adopted memory, also to its edges, leads to its body.
TEST_F(LeadsOnAFakeHeap, AdoptedMemoryIsAnArray) {
  const std::uint64_t page = machine.platform().page_bytes();
  const fakes::LentBlock block(machine, 4 * page, 100);
  for (const std::uint64_t at : {std::uint64_t{0}, 2 * page, block.bytes() - 1}) {
    follow({number(block.address() + at)});
    EXPECT_EQ(leads.arrays(), std::vector<const void*>{block.body()->address}) << "at " << at;
    EXPECT_FALSE(leads.lead_anywhere());
  }
  machine.engine().lifetimes.deallocate(array);
}

TEST_F(LeadsOnAFakeHeap, TheEndOfABlockLeadsNowhere) {
  const std::uintptr_t memory[2] = {0, 0};
  add_block(memory, 2);

  follow({number(memory), number(memory + 2)});

  EXPECT_TRUE(leads.arrays().empty());
  EXPECT_FALSE(leads.lead_anywhere());
  machine.engine().lifetimes.deallocate(array);
}

}  // namespace
