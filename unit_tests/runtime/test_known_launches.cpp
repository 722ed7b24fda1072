// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/memory/memory.hpp>
#include <semcache/runtime/runtime.hpp>
#include <semcache/semcache.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <utility>
#include <vector>

namespace semcache::runtime {
namespace {

constexpr std::size_t n = 1000;

std::uint32_t pins(const KnownOperand& operand) { return operand.memory->pins.load(); }

/// A device array and its host side, zero at first.
struct Array {
  int* device;
  int* host;
  Array()
      : device(static_cast<int*>(allocate_device("array", n * sizeof(int)))),
        host(static_cast<int*>(allocate_host("array", n * sizeof(int), device))) {
    std::fill_n(host, n, 0);
  }
  ~Array() { free(); }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;
  void free() {
    deallocate(std::exchange(host, nullptr));
    deallocate(std::exchange(device, nullptr));
  }
  [[nodiscard]] KnownOperand known(std::size_t at, bool writable) const {
    KnownOperand operand;
    EXPECT_TRUE(identify({device + at, nullptr, 0, writable, false}, operand));
    return operand;
  }
};

/// What was remembered of a functor, told as the Kokkos package tells it.
struct Known {
  std::array<KnownOperand, Launch::most_known> operands{};
  std::size_t count = 0;
  std::uint64_t epoch = runtime::epoch();
  void add(KnownOperand operand) {
    EXPECT_TRUE(operand.repeats) << "until somebody has looked";
    operand.repeats = std::any_of(operands.begin(), operands.begin() + count,
                                  [&](const KnownOperand& o) { return o.memory == operand.memory; });
    operands[count++] = operand;
  }
};

std::uint64_t unknown_launches() { return statistics().total.unknown_launches; }

TEST(KnownLaunches, PinEachArrayOnceAndFetchWhatTheyWrite) {
  std::mt19937 random(1);
  const auto below = [&](std::size_t end) { return static_cast<std::size_t>(random() % end); };
  for (int round = 1; round <= 500; ++round) {
    std::array<Array, 4> arrays;
    Known known;
    std::array<std::size_t, Launch::most_known> which{};
    for (std::size_t count = 1 + below(Launch::most_known); known.count < count;) {
      which[known.count] = below(arrays.size());
      known.add(arrays[which[known.count]].known(below(n), below(2) == 0));
    }
    const auto used = static_cast<std::uint32_t>(random());
    const std::size_t beside = below(arrays.size());
    const Capture result{arrays[beside].device, nullptr, 0, below(2) == 0, false};
    std::array<bool, 4> captured{}, written{};
    for (std::size_t i = 0; i < known.count; ++i) {
      if ((used >> i & 1) == 0) continue;
      captured[which[i]] = true;
      written[which[i]] = written[which[i]] || known.operands[i].writable;
    }
    captured[beside] = true;
    written[beside] = written[beside] || result.writable;

    const std::uint64_t unknown = unknown_launches();
    {
      const Launch launch(queue_of(nullptr), "kernel", known.operands.data(), known.count, used, known.epoch, &result, 1);
      for (std::size_t a = 0; a < arrays.size(); ++a) {
        ASSERT_EQ(pins(arrays[a].known(0, false)), captured[a] ? 1u : 0u) << "round " << round;
        if (written[a]) std::fill_n(arrays[a].device, n, round);
      }
    }
    EXPECT_EQ(unknown_launches(), unknown);
    for (std::size_t a = 0; a < arrays.size(); ++a) {
      ASSERT_EQ(pins(arrays[a].known(0, false)), 0u) << "round " << round;
      ASSERT_EQ(arrays[a].host[n / 2], written[a] ? round : 0) << "round " << round;
    }
  }
}

TEST(KnownLaunches, OfAFreedArrayAreUnknown) {
  Array stays, goes;
  Known known;
  known.add(stays.known(0, false));
  known.add(goes.known(0, true));
  goes.free();
  const Array took_its_place;
  for (const std::uint32_t used : {1u, 2u, 3u}) {
    const std::uint64_t unknown = unknown_launches();
    stays.host[0] = static_cast<int>(used);  // an array that needs something done has pins of its own
    {
      const Launch launch(queue_of(nullptr), "kernel", known.operands.data(), known.count, used, known.epoch, nullptr, 0);
      EXPECT_EQ(pins(stays.known(0, false)), 1u);
    }
    EXPECT_EQ(unknown_launches() - unknown, used == 1 ? 0u : 1u) << "what is not used does not matter";
    EXPECT_EQ(pins(stays.known(0, false)), 0u);
  }
}

/// A functor is remembered by a launch that found all that it uses by its captures.
TEST(KnownLaunches, AreNotRememberedThemselves) {
  const Array array;
  const int foreign = 0;
  const Capture capture{array.device, nullptr, 0, true, false}, elsewhere{&foreign, nullptr, 0, false, false};
  const Capture null{nullptr, nullptr, 0, false, false};
  const auto of_captures = [](const std::vector<Capture>& captures) {
    return Launch(queue_of(nullptr), "kernel", captures.data(), captures.size()).follows_from_captures();
  };
  EXPECT_TRUE(of_captures({}));
  EXPECT_TRUE(of_captures({capture, null}));
  EXPECT_FALSE(of_captures({capture, elsewhere}));
  Known known;
  known.add(array.known(0, true));
  for (const Capture* result : {&capture, &elsewhere}) {
    EXPECT_FALSE(Launch(queue_of(nullptr), "kernel", known.operands.data(), known.count, 1, known.epoch, result, 1)
                     .follows_from_captures());
  }
  const LibraryUse use{array.device, sizeof(int), Access::read};
  EXPECT_FALSE(Launch(queue_of(nullptr), &use, 1).follows_from_captures());
}

TEST(KnownLaunches, WithMoreCapturesThanAnybodyRemembersAreRefused) {
  const Array array;
  const std::vector<KnownOperand> many(Launch::most_known + 1, array.known(0, true));
  EXPECT_THROW(Launch(queue_of(nullptr), "kernel", many.data(), many.size(), ~0u, epoch(), nullptr, 0), UsageError);
  EXPECT_EQ(pins(many[0]), 0u);
}

}  // namespace
}  // namespace semcache::runtime
