// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <engine/program.hpp>

#include <optional>

/// Kernels that the framework waits for itself, as it does for reductions: what that wait shows is not asked again.
namespace semcache::fakes {
namespace {

using engine::Memory;
using engine::TransitBuffer;

constexpr std::uint64_t size = 20000;
char streams[2];
void* const stream_a = &streams[0];
void* const stream_b = &streams[1];

/// A message that has arrived in the array.
struct Arrival {
  Arrival(Program& program, Memory& m) : p(program), buffer(p.engine().buffers.take(size, base::Side::host)) {
    for (std::uint64_t i = 0; i < size; ++i) buffer->address[i] = Machine::mix(7, i);
    const ByteRange all = m.all();
    p.engine().foreign_io.write_in(m, 0, &all, 1, *buffer, buffer->address);
  }
  ~Arrival() { p.engine().buffers.give(buffer); }
  Arrival(const Arrival&) = delete;
  Arrival& operator=(const Arrival&) = delete;
  /// How often somebody must be asked before the next message may come.
  std::uint64_t questions() const {
    const std::uint64_t before = p.device().questions;
    p.engine().foreign_io.settle_buffer(*buffer);
    return p.device().questions - before;
  }
  Program& p;
  TransitBuffer* buffer;
};

struct AwaitedLaunches : testing::Test {
  /// A stream is ordered behind what is under way when it is made known, so both are known before messages come.
  AwaitedLaunches() {
    for (void* stream : {stream_a, stream_b}) (void)p.queue(stream);
  }
  Program p;
  Memory& d = p.on_device(size);
  Memory& other = p.on_device(size);
};

TEST_F(AwaitedLaunches, TellOfTheTransfersTheyWaitedFor) {
  const Arrival arrival(p, d);
  p.launch_and_wait(stream_a, {{&d, false}}, [] {});
  EXPECT_EQ(arrival.questions(), 0u);
}

/// Of streams beyond those that are followed the engine knows one number for all.
TEST_F(AwaitedLaunches, TellNothingOfOtherStreamsThatNobodyFollows) {
  const auto unfollowed = [&](void* stream, Memory& m, std::function<void()> body, bool awaited) {
    const engine::Operand operand{&m, true};
    p.engine().launches.begin_launch(engine::unknown_queue, &operand, 1);
    const engine::Clock before = p.engine().launches.submitted_before(engine::unknown_queue);
    p.device().launch(stream, Machine::touches({operand}), std::move(body));
    if (awaited) p.device().synchronize_stream(stream);
    const std::uint64_t number = p.engine().launches.end_launch(engine::unknown_queue, &operand, 1);
    if (awaited) p.engine().launches.launch_awaited(engine::unknown_queue, before, number);
  };
  std::byte* const base = d.address;
  unfollowed(stream_a, d, [base] {
    for (std::uint64_t i = 0; i < size; ++i) base[i] = Machine::mix(3, i);
  }, false);
  unfollowed(stream_b, other, [] {}, true);
  Memory& host = p.on_host(size);
  p.copy(host, d);
  p.expect_host(host, 3);
}

TEST_F(AwaitedLaunches, TellOfKernelsBeforeThem) {
  const Arrival arrival(p, d);
  p.launch(stream_a, {{&d, false}}, [] {});
  p.launch_and_wait(stream_a, {{&other, true}}, [] {});
  EXPECT_EQ(arrival.questions(), 0u);
}

TEST_F(AwaitedLaunches, TellNothingOfTransfersThatTheyDidNotWaitFor) {
  const Arrival arrival(p, d);
  p.launch_and_wait(stream_a, {{&other, true}}, [] {});
  EXPECT_GT(arrival.questions(), 0u);
}

TEST_F(AwaitedLaunches, TellNothingOfOtherStreams) {
  const Arrival arrival(p, d);
  p.launch(stream_b, {{&d, false}}, [] {});
  p.launch_and_wait(stream_a, {{&other, true}}, [] {});
  EXPECT_GT(arrival.questions(), 0u);
}

TEST_F(AwaitedLaunches, TellNothingOfKernelsThatAnotherThreadLaunchedAfterTheWait) {
  Memory& h = p.on_host(size, &d);
  p.launch_and_wait(stream_a, {{&other, true}}, [] {}, [&] { p.kernel_write(stream_a, d, d.all(), 1); });
  p.expect_host(h, 1);  // ordered behind that kernel, or the device finds a race
}

TEST_F(AwaitedLaunches, WithoutOperandsTellNothingOfKernelsThatAnotherThreadLaunchedAfterTheWait) {
  Memory& h = p.on_host(size, &d);
  p.launch_and_wait(stream_a, {}, [] {}, [&] { p.kernel_write(stream_a, d, d.all(), 1); });
  p.expect_host(h, 1);
}

TEST_F(AwaitedLaunches, TellNothingOfATransferThatAnotherThreadOrderedAfterTheWait) {
  std::optional<Arrival> arrival;
  p.launch_and_wait(stream_a, {{&other, true}}, [] {}, [&] {
    arrival.emplace(p, d);
    p.launch(stream_a, {{&d, false}}, [] {});
  });
  EXPECT_GT(arrival->questions(), 0u);
}

TEST(AwaitedResults, ComeWithoutAnOrderBehindThem) {
  const auto operations_of_fetch = [](bool awaited) {
    Program p;
    Memory& d = p.on_device(size);
    Memory& h = p.on_host(size, &d);
    const auto body = [base = d.address] {
      for (std::uint64_t i = 0; i < size; ++i) base[i] = Machine::mix(3, i);
    };
    if (awaited) {
      p.launch_and_wait(stream_a, {{&d, true}}, body);
    } else {
      p.launch(stream_a, {{&d, true}}, body);
    }
    const std::uint64_t before = p.device().operations();
    p.expect_host(h, 3);
    return p.device().operations() - before;
  };
  EXPECT_EQ(operations_of_fetch(false) - operations_of_fetch(true), 2u) << "an event and a wait for it";
}

}  // namespace
}  // namespace semcache::fakes
