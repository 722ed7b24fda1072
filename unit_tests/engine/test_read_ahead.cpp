// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <engine/program.hpp>
#include <fakes/random.hpp>

#include <algorithm>
#include <set>

/// What faults of the host cost, in phases between kernels. The policy alone: unit_tests/policy.
namespace semcache::fakes {
namespace {

using engine::Memory;

char stream;
constexpr std::uint64_t page = 4096;
constexpr std::uint64_t pages = 256;
constexpr std::uint64_t size = pages * page;

/// A device array and its host side. Each step: a kernel writes, the host does something, a kernel reads.
struct Steps : Program {
  explicit Steps(device::DeviceKind kind)
      : Program(options(kind)), device_array(on_device(size)), host(on_host(size, &device_array)) {
    fault_bytes = kind == device::DeviceKind::emulated ? 64 * 1024 : 1024 * 1024;
  }
  static Options options(device::DeviceKind kind) {
    Options o = defaults();
    o.device.kind = kind;
    o.platform.page_bytes = page;  // the counts are of these
    if (kind == device::DeviceKind::emulated) o.device.asynchronous = false;
    return o;
  }
  void kernel() {
    kernel_write(&stream, device_array, device_array.all(), ++seed);
    begin = counters();
    faults = 0;
    read.clear();
    written.clear();
  }
  void reads(std::uint64_t number) {
    expect_host(host, {number * page + 8, number * page + 16}, written.count(number) != 0 ? 7 : seed);
    if (written.count(number) == 0) read.insert(number);
  }
  void writes(std::uint64_t number) {
    host_write(host, {number * page, (number + 1) * page}, 7);
    if (unknown && written.count(number) == 0) read.insert(number);  // taken for a read first
    written.insert(number);
  }
  /// A kernel takes what the host has written.
  void back() {
    std::vector<std::byte> seen = device_content(&stream, device_array);
    for (const std::uint64_t number : written) {
      ASSERT_EQ(seen[number * page + 5], mix(7, number * page + 5));
    }
  }
  [[nodiscard]] std::uint64_t d2h() const { return counters().d2h.bytes - begin.d2h.bytes; }
  [[nodiscard]] std::uint64_t h2d() const { return counters().h2d.bytes - begin.h2d.bytes; }
  [[nodiscard]] std::uint64_t lost() const { return counters().read_ahead_lost.bytes - begin.read_ahead_lost.bytes; }
  [[nodiscard]] std::uint64_t write_ahead() const { return counters().write_ahead.bytes - begin.write_ahead.bytes; }

  void expect_within_bound(const char* what) const {
    std::set<std::uint64_t> touched = read;
    touched.insert(written.begin(), written.end());
    const std::uint64_t cost = faults * fault_bytes + d2h() + h2d();
    const std::uint64_t page_by_page =
        (read.size() + written.size()) * fault_bytes + (touched.size() + written.size()) * page;
    const std::uint64_t whole = (!read.empty() + !written.empty()) * fault_bytes + size + (written.empty() ? 0 : size);
    EXPECT_LE(10 * cost, 21 * std::min(page_by_page, whole)) << what << ": " << faults << " faults";
  }

  Memory& device_array;
  Memory& host;
  std::uint64_t fault_bytes;
  std::uint64_t seed = 100;
  bool unknown = false;  ///< faults do not say whether they are writes
  Counters begin;
  std::set<std::uint64_t> read, written;  ///< pages; read before they were written, if ever
};

class ReadAheadOfKind : public testing::TestWithParam<device::DeviceKind> {};
INSTANTIATE_TEST_SUITE_P(Kinds, ReadAheadOfKind,
                         testing::Values(device::DeviceKind::emulated, device::DeviceKind::cuda),
                         [](const auto& kind) { return device::to_string(kind.param); });

TEST_P(ReadAheadOfKind, TwoPagesWrittenInEachStepMoveNoOther) {
  Steps s(GetParam());
  for (int step = 0; step < 6; ++step) {
    s.kernel();
    s.writes(10);
    s.writes(14);
    s.back();
    EXPECT_EQ(s.faults, 2u);
    EXPECT_EQ(s.d2h(), 2 * page);
    EXPECT_EQ(s.h2d(), 2 * page);
    EXPECT_EQ(s.write_ahead(), 0u);
    s.expect_within_bound("two pages written");
  }
}

TEST_P(ReadAheadOfKind, TwoPagesReadInEachStepMoveTwoChunksThatAreLost) {
  Steps s(GetParam());
  for (int step = 0; step < 6; ++step) {
    s.kernel();
    s.reads(104);
    s.reads(100);
    EXPECT_EQ(s.faults, 2u);
    EXPECT_EQ(s.d2h(), 8 * page);
    s.expect_within_bound("two pages read");
    s.kernel();
    EXPECT_EQ(s.counters().read_ahead_lost.bytes, (step + 1) * 6 * page);
  }
}

TEST_P(ReadAheadOfKind, AFillThatNobodyReadIsNotLost) {
  Steps s(GetParam());
  s.kernel();
  s.fill(s.device_array, 1);
  s.host_write(s.host, {0, 8}, 7);
  std::byte one[8];
  s.host_read(s.host, {100 * page, 100 * page + 8}, one);
  EXPECT_EQ(s.counters().read_ahead.bytes, 3 * page);
  s.kernel();
  EXPECT_EQ(s.counters().read_ahead_lost.bytes, 0u);
}

TEST_P(ReadAheadOfKind, AFreedArrayTellsWhatItLost) {
  Steps s(GetParam());
  Memory& mirror = s.on_host(size);
  s.kernel();
  s.copy(mirror, s.device_array);
  s.expect_host(mirror, {0, 8}, s.seed);
  EXPECT_EQ(s.lost(), 0u);
  s.free(mirror);
  EXPECT_EQ(s.lost(), 3 * page);
}

TEST_P(ReadAheadOfKind, AWriterBeginsAnewWhenAKernelHasTakenWhatItWrote) {
  Steps s(GetParam());
  s.kernel();
  for (std::uint64_t p = 0; p < 40; ++p) s.writes(p);
  // 1, 3, 6, 12, 24 pages. Where a fault costs as much as the array, the fourth one gets the rest.
  EXPECT_EQ(s.faults, GetParam() == device::DeviceKind::cuda ? 4u : 5u);
  s.back();
  for (int step = 0; step < 8; ++step) {
    s.writes(46);  // where the sweep would have gone on
    const std::uint64_t before = s.h2d();
    s.back();
    EXPECT_EQ(s.h2d() - before, page) << "step " << step;
  }
}

TEST_P(ReadAheadOfKind, AReaderAndWriterOfAllCausesFewFaults) {
  for (const bool up : {true, false}) {
    Steps s(GetParam());
    s.kernel();
    for (std::uint64_t i = 0; i < pages; ++i) {
      const std::uint64_t p = up ? i : pages - 1 - i;
      s.reads(p);
      s.writes(p);
    }
    EXPECT_EQ(s.d2h(), size);
    EXPECT_LE(s.faults, 14u);
    s.back();
    EXPECT_EQ(s.h2d(), size);
    EXPECT_EQ(s.lost(), 0u);
    s.expect_within_bound("sweep");
  }
}

TEST_P(ReadAheadOfKind, PatternsStayWithinTheBoundInEachStep) {
  Steps s(GetParam());
  Random random(17);
  for (int step = 0; step < 300; ++step) {
    s.unknown = random.chance(30);
    s.unknown_faults(s.unknown);
    s.kernel();
    const std::uint64_t base = random.below(pages), stride = 1 + random.below(20);
    const unsigned written = random.chance(50) ? 0 : static_cast<unsigned>(random.below(101));
    const std::uint64_t count = 1 + random.below(random.chance(50) ? 8 : pages);
    const std::uint64_t kind = random.below(4);
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t p = kind == 0   ? (base + i) % pages                // a sweep
                              : kind == 1 ? (base + (pages - 1) * i) % pages  // one downwards
                              : kind == 2 ? (base + stride * i) % pages
                                          : random.below(pages);
      random.chance(written) ? s.writes(p) : s.reads(p);
    }
    s.back();
    s.expect_within_bound("a step");
  }
}

/// A kernel writes, the result is copied to a mirror, and the host reads it.
struct CopiedAndRead : Program {
  const std::uint64_t bytes = std::max<std::uint64_t>(8000, page_bytes());  // below a page it is settled at the call
  explicit CopiedAndRead(device::DeviceKind kind) : Program(of(kind)), device_array(on_device(bytes)), mirror(on_host(bytes)) {}
  static Options of(device::DeviceKind kind) {
    Options o = kind == device::DeviceKind::emulated ? emulated() : defaults();
    if (kind == device::DeviceKind::emulated) o.device.asynchronous = false;
    return o;
  }
  void computed_and_copied() {
    kernel_write(&stream, device_array, device_array.all(), ++seed);
    copy(mirror, device_array);
  }
  Memory& device_array;
  Memory& mirror;
  std::uint64_t seed = 0;
};

TEST_P(ReadAheadOfKind, ACopyBringsWhatTheHostReadsEachTime) {
  CopiedAndRead s(GetParam());
  for (int step = 1; step <= 40; ++step) {
    s.computed_and_copied();
    const bool brought = step > 8 && step != 17 && step != 34;  // two looks
    EXPECT_EQ(s.protection(s, s.mirror, 0) != platform::Protection::none, brought) << step;
    const std::uint64_t before = s.faults;
    s.expect_host(s.mirror, s.seed);
    EXPECT_EQ(s.faults - before, brought ? 0u : 1u) << step;
  }
  EXPECT_EQ(s.counters().d2h.bytes, 40 * s.bytes);
}

TEST_P(ReadAheadOfKind, CopiesThatNobodyReadsAnyMoreAreLazyAgain) {
  CopiedAndRead s(GetParam());
  for (int step = 1; step <= 8; ++step) {
    s.computed_and_copied();
    s.expect_host(s.mirror, s.seed);
  }
  for (int step = 1; step <= 100; ++step) s.computed_and_copied();
  EXPECT_EQ(s.counters().d2h.bytes - s.counters().saved_link.bytes, 16 * s.bytes);  // what is saved before it is overwritten apart
  s.expect_host(s.mirror, s.seed);
}

/// The transfer is under way when waiting for it fails: nobody may read what it has not brought.
TEST(ReadHabit, ACopyThatCannotWaitForWhatItBringsClosesItsPages) {
  for (const bool registers : {false, true}) {
    Program::Options o = Program::defaults();
    o.device.registers_host = registers;
    Program p(o);
    const std::uint64_t bytes = std::max<std::uint64_t>(8000, page_bytes());
    Memory& d = p.on_device(bytes);
    Memory& h = p.on_host(bytes);
    for (std::uint64_t seed = 1; seed <= 8; ++seed) {
      p.kernel_write(&stream, d, d.all(), seed);
      p.copy(h, d);
      p.expect_host(h, seed);
    }
    p.kernel_write(&stream, d, d.all(), 9);
    p.device().fail_call(1, FakeDevice::call_synchronize);
    p.copy(h, d);
    EXPECT_FALSE(p.device().failure_pending());
    p.engine().audit();
    EXPECT_EQ(p.protection(p, h, 0), platform::Protection::none);
    p.expect_host(h, 9);
  }
}

TEST(ReadHabit, ACopyThatCannotBeBroughtStaysLazy) {
  CopiedAndRead s(device::DeviceKind::cuda);
  for (int step = 1; step <= 8; ++step) {
    s.computed_and_copied();
    s.expect_host(s.mirror, s.seed);
  }
  s.device().fail_call(1, FakeDevice::call_copy);
  s.computed_and_copied();
  EXPECT_EQ(s.protection(s, s.mirror, 0), platform::Protection::none);
  s.expect_host(s.mirror, s.seed);
}

}  // namespace
}  // namespace semcache::fakes
