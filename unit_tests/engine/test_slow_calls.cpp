// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "calls.hpp"

#include <fakes/lent_block.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

/// Whatever takes long is done without the engine's lock: mapping, page-locking, allocating and giving back memory of the driver's, and
/// reading the process's mappings. At each such call another thread gets the lock, in every call of the engine.
namespace semcache::fakes {
namespace {

/// Notes the slow calls that were made with the lock. @pre the machine outlives it
class SlowCalls {
 public:
  explicit SlowCalls(Machine& machine) : machine_(machine) {
    const auto slow = [this](const char* what) { look(what); };
    machine.device().slow = slow;
    machine.platform().slow = slow;
  }
  ~SlowCalls() {
    machine_.device().slow = nullptr;
    machine_.platform().slow = nullptr;
    for (std::future<void>& f : late_) f.wait();
  }
  SlowCalls(const SlowCalls&) = delete;
  SlowCalls& operator=(const SlowCalls&) = delete;
  [[nodiscard]] const std::multiset<std::string>& with_lock() const { return with_lock_; }
  [[nodiscard]] std::size_t seen() const { return seen_; }

 private:
  void look(const char* what) {
    std::future<void> other = std::async(std::launch::async, [this] { (void)machine_.engine().is_used(); });
    const bool free = other.wait_for(std::chrono::milliseconds(300)) == std::future_status::ready;
    const std::lock_guard<std::mutex> lock(mutex_);
    ++seen_;
    if (free) return;
    with_lock_.insert(what);
    late_.push_back(std::move(other));
  }

  Machine& machine_;
  std::mutex mutex_;
  std::multiset<std::string> with_lock_;
  std::vector<std::future<void>> late_;
  std::size_t seen_ = 0;
};

std::string text_of(const std::multiset<std::string>& calls) {
  std::string text;
  for (const std::string& c : calls) text += c + " ";
  return text;
}

void check(const Machine::Options& options) {
  std::size_t seen = 0;
  for (const Scenario& scenario : scenarios()) {
    SCOPED_TRACE(scenario.name);
    World w(options);
    w.use_natively();
    const SlowCalls calls(w.machine());
    scenario.call(w);
    EXPECT_EQ(text_of(calls.with_lock()), "");
    seen += calls.seen();
  }
  EXPECT_GT(seen, 0u);
}

TEST(SlowCalls, Gpu) { check(gpu()); }
TEST(SlowCalls, GpuWithLittleMemory) { check(with_little_memory(gpu())); }
TEST(SlowCalls, GpuInBlocks) { check(in_blocks(gpu())); }
TEST(SlowCalls, GpuWhosePagesAreNotLocked) {
  Machine::Options o = gpu();
  o.device.registers_host = false;
  check(o);
}
TEST(SlowCalls, Guarded) { check(with_little_memory(guarded())); }

TEST(SlowCalls, AdoptingAndReleasing) {
  Program p;
  const SlowCalls calls(p);
  {
    LentBlock a(p, 4 * page, 100);
    Memory& d = p.on_device(a.bytes());
    p.engine().copies.copy(d.address, a.address(), a.bytes());
  }
  EXPECT_EQ(text_of(calls.with_lock()), "");
  EXPECT_GT(calls.seen(), 1u);
}

/// A mirror whose pages take long to give back to the system.
TEST(SlowCalls, FreeingALargeMirror) {
  Machine::Options o = gpu();
  o.device.arena_bytes = o.platform.arena_bytes = 64u << 20;
  Program p(o);
  Memory& m = p.on_host(4 << 20);
  p.host_write(m, m.all(), 1);
  const SlowCalls calls(p);
  p.free(m);
  EXPECT_EQ(text_of(calls.with_lock()), "");
  EXPECT_GE(calls.seen(), 1u) << "the pages were not given back";
  const Memory& next = p.on_host(4 << 20);
  const Bytes zeros(next.bytes);
  Bytes seen(next.bytes, std::byte{1});
  p.host_read(next, next.all(), seen.data());
  EXPECT_EQ(seen, zeros) << "an earlier array's content";
}

/// What a device has been given has not happened until somebody waits for it, so no event can be given back.
Machine::Options slow_gpu() {
  Machine::Options o = gpu();
  o.device.eagerness = 0;
  o.device.arena_bytes = o.platform.arena_bytes = 64u << 20;
  o.engine.device_memory_bytes = 48u << 20;
  return o;
}

/// Mirrors of so many bytes are copied without staging memory.
constexpr std::uint64_t unstaged = 64 * 1024;

/// A launch with these operands. @return the slow calls that were made with the lock
std::string slow_calls_of_launch(Program& p, const std::vector<engine::Operand>& operands, std::uint32_t device = 0) {
  const engine::QueueIndex q = p.queue(&streams[device], device);
  const SlowCalls calls(p);
  (void)p.engine().launches.begin_launch(q, operands.data(), operands.size());
  (void)p.engine().launches.end_launch(q, operands.data(), operands.size(), all_devices);
  return text_of(calls.with_lock());
}

/// More transfers in one attempt than there are idle events.
TEST(SlowCalls, ALaunchOnManyStaleArrays) {
  constexpr std::size_t many = 300;
  Program p(slow_gpu());
  std::vector<engine::Operand> operands;
  std::vector<engine::Memory*> mirrors;
  const auto write = [&](std::size_t i, std::uint64_t seed) { p.host_write(*mirrors[i], mirrors[i]->all(), seed); };
  for (std::size_t i = 0; i < many; ++i) {
    operands.push_back({&p.on_device(unstaged), false});
    mirrors.push_back(&p.on_host(unstaged, operands.back().memory));
    write(i, i);
    p.expect_device(*operands.back().memory, i);  // so the mirror is page-locked, and few events have been made
  }
  for (std::size_t i = 0; i < many; ++i) write(i, many + i);
  EXPECT_EQ(slow_calls_of_launch(p, operands), "");
  for (std::size_t i = 0; i < many; ++i) p.expect_device(*operands[i].memory, many + i);
}

/// A message of many pieces that lie on the device is brought piece by piece.
TEST(SlowCalls, AMessageOfManyPieces) {
  constexpr std::uint64_t many = 200;
  Program p(slow_gpu());
  engine::Memory& d = p.on_device(many * page);
  p.kernel_write(stream, d, d.all(), 1);
  std::vector<ByteRange> pieces;
  for (std::uint64_t i = 0; i < many; ++i) pieces.push_back({i * page, i * page + 100});
  memory::TransitBuffer* const buffer = p.engine().buffers.take(d.bytes, base::Side::host);
  const SlowCalls calls(p);
  p.engine().foreign_io.read_out(d, 0, pieces.data(), pieces.size(), *buffer, buffer->address);
  EXPECT_EQ(text_of(calls.with_lock()), "");
  p.engine().foreign_io.settle_buffer(*buffer);
  for (const ByteRange& piece : pieces) {
    for (std::uint64_t at = piece.begin; at < piece.end; ++at) ASSERT_EQ(buffer->address[at], Machine::mix(1, at)) << at;
  }
  p.engine().buffers.give(buffer);
}

/// Neither memory is an array's, and the devices do not reach each other.
TEST(SlowCalls, ACopyBetweenMemoryOfOthersOverTheHost) {
  constexpr std::uint64_t bytes = 9u << 20;
  Machine::Options o = slow_gpu();
  o.devices = 2;
  o.device.peer_access = false;
  Program p(o);
  std::byte* const from = p.device().allocate(bytes);
  std::byte* const to = p.device(1).allocate(bytes);
  std::memset(from, 7, bytes);
  {
    const SlowCalls calls(p);
    p.engine().copies.copy(to, from, bytes);
    EXPECT_EQ(text_of(calls.with_lock()), "");
    EXPECT_GE(calls.seen(), 1u);
  }
  EXPECT_EQ(std::memcmp(to, from, bytes), 0);
  p.device().deallocate(from);
  p.device(1).deallocate(to);
}

/// Whoever owns a stream destroys it when its queue has ended.
TEST(SlowCalls, TheEndOfAStreamWithAnOwner) {
  Program p;
  const SlowCalls calls(p);
  bool destroyed = false;
  std::shared_ptr<void> owner(&destroyed, [&](void*) {
    destroyed = true;
    p.device().slow("the owner's destruction");
  });
  const engine::QueueIndex q = p.engine().adopt_queue(0, &streams[2], std::move(owner));
  p.engine().retire_queue(q);
  EXPECT_TRUE(destroyed);
  EXPECT_EQ(text_of(calls.with_lock()), "");
}

/// The processor copies and fills with the lock, but not for long.
TEST(SlowCalls, LargeCopiesAndFillsOnTheHost) {
  constexpr std::uint64_t bytes = 40u << 20;
  Machine::Options o = gpu();
  o.platform.arena_bytes = 512u << 20;
  Program p(o);
  engine::Memory& from = p.on_host(bytes);
  engine::Memory& to = p.on_host(bytes);
  p.host_write(from, from.all(), 1);
  for (const bool filled : {false, true}) {
    int turns = 0;
    const std::function<void()> count = [&] {
      ++turns;
      p.when_unlocked(count);
    };
    p.when_unlocked(count);
    if (filled) p.fill(to, 9);
    else p.copy(to, from);
    p.engine().access(to, to.all(), Access::read);
    p.when_unlocked(nullptr);
    EXPECT_GE(turns, 2) << (filled ? "a fill" : "a copy");
    if (!filled) p.expect_host(to, 1);
  }
}

/// A copy between devices that do not reach each other goes in parts, and each part is ordered behind the one before.
TEST(SlowCalls, ALargeCopyOverTheHost) {
  constexpr std::uint64_t parts = 100;
  Machine::Options o = slow_gpu();
  o.devices = 2;
  o.device.peer_access = false;
  o.device.arena_bytes = o.engine.device_memory_bytes = std::uint64_t{1} << 30;
  Program p(o);
  const std::uint64_t width = (2u << 20) + page;  // more than half of what goes at once, so that each column is a part
  const std::uint64_t pitch = width + page;
  Memory& from = p.on_device(parts * pitch);
  Memory& to = p.on_device(parts * (pitch + page), 1);
  for (std::uint64_t c : {std::uint64_t{0}, parts - 1}) p.kernel_write(stream, from, {c * pitch, c * pitch + page}, 1 + c);
  {
    const SlowCalls calls(p);
    p.engine().copies.copy(to.address, from.address, {width, parts, pitch + page, pitch});  // at the call, because of the pitches
    EXPECT_EQ(text_of(calls.with_lock()), "");
  }
  for (std::uint64_t c : {std::uint64_t{0}, parts - 1}) {
    const ByteRange there{c * (pitch + page), c * (pitch + page) + page};
    const std::vector<std::byte> seen = p.device_content({&streams[1], 1}, to, there);
    for (std::uint64_t i = 0; i < page; ++i) ASSERT_EQ(seen[i], Machine::mix(1 + c, c * pitch + i));
  }
}

/// Every fault and transfer looks at what is on its way, so saved copies that have arrived do not stay listed.
TEST(SlowCalls, ManySmallSavedCopies) {
  Machine::Options o = gpu();
  o.device.eagerness = 100;
  o.device.arena_bytes = o.platform.arena_bytes = 64u << 20;
  o.engine.device_memory_bytes = 64 * page;
  Program p(o);
  std::vector<engine::Memory*> arrays;
  for (std::size_t i = 0; i < 400; ++i) {
    arrays.push_back(&p.on_device(page));
    p.kernel_write(stream, *arrays.back(), arrays.back()->all(), i);
  }
  p.device().synchronize_device();
  EXPECT_LE(p.engine().state().flights.size(), 66u);
  for (std::size_t i = 0; i < arrays.size(); ++i) p.expect_device(*arrays[i], i);
}

/// More staging memory, and more memory of saved copies, than is kept.
TEST(SlowCalls, GivingBackWhatIsNotKept) {
  constexpr std::uint64_t large = 1 << 20;
  constexpr std::size_t many = 40;
  Machine::Options o = gpu();
  o.device.arena_bytes = o.platform.arena_bytes = 256u << 20;
  o.engine.device_memory_bytes = 3 * large;
  Program p(o);
  std::vector<Memory*> wants;
  for (std::size_t i = 0; i < many; ++i) {
    Memory& d = p.on_device(large);
    Memory& mirror = p.on_device(large);
    p.kernel_write(stream, d, d.all(), i);
    p.copy(mirror, d);
    p.free(d);  // becomes a saved copy, which the next one evicts
    wants.push_back(&mirror);
  }
  const std::uint64_t before = p.device().staging_bytes();
  EXPECT_GE(before, (many - 8) * large);
  const SlowCalls calls(p);
  for (Memory* m : wants) p.free(*m);
  p.engine().host_access.settle_all();
  p.device().synchronize_device();
  p.engine().host_access.settle_all();
  EXPECT_LT(p.device().staging_bytes(), before);
  EXPECT_LE(p.device().staging_bytes(), 34 * large) << "32 are kept";
  EXPECT_EQ(text_of(calls.with_lock()), "");
}

}  // namespace
}  // namespace semcache::fakes
