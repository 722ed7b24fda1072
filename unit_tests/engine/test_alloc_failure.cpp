// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "calls.hpp"

#include <fakes/lent_block.hpp>

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

/// I9 where the host has no memory: every allocation of every call of the engine fails once. Afterwards the call has worked, or
/// it has failed and all content is what it was; the directory and the pages agree, and everything goes on.
namespace semcache::fakes {
namespace {

const char* running = "";
long failing = 0;

[[noreturn]] void say_where(const char* message) {
  std::fprintf(stderr, "%s\n(%s, allocation %ld)\n", message, running, failing);
  std::abort();
}

void check(const Machine::Options& options) {
  base::set_fatal_handler(&say_where);
  for (const Scenario& scenario : scenarios()) {
    bool fired = true;
    for (long k = 0; fired; ++k) {
      SCOPED_TRACE(std::string(scenario.name) + ", allocation " + std::to_string(k));
      running = scenario.name;
      failing = k;
      World w(options);
      w.arm(k);
      scenario.call(w);
      fired = w.fired();
      w.disarm();
      if (!w.ended) {
        w.expect_content("behind the call");
        w.go_on();
      }
      if (::testing::Test::HasFailure()) return;
    }
  }
}

/// A fault has nobody to report to. In a process of its own, which may end: with a message, or served.
void check_faults(const Machine::Options& options) {
  for (const bool writes : {false, true}) {
    for (int which = 0; which < 4; ++which) {
      for (long k = 0;; ++k) {
        int pipe_ends[2];
        ASSERT_EQ(::pipe(pipe_ends), 0);
        const pid_t child = ::fork();
        if (child == 0) {
          ::dup2(pipe_ends[1], 2);
          base::set_fatal_handler([](const char* message) {
            (void)!::write(2, message, std::strlen(message));
            ::_exit(3);
          });
          World w(options);
          w.copy(w.d3, w.h3);
          Array* const arrays[] = {&w.h1, &w.h2, &w.pair_h, options.engine.device_faults ? &w.d3 : &w.hs};
          Array& a = *arrays[which];
          w.arm(k);
          std::byte* const address = a.memory->address + 3 * page;
          const auto kind = writes ? platform::FaultKind::write : platform::FaultKind::read;
          const bool served = w.attempt([&] { (void)w.e().host_access.serve(address, kind); });
          const bool fired = w.fired();
          w.disarm();
          w.expect_content("behind the fault");
          w.go_on();
          ::_exit(::testing::Test::HasFailure() || !served ? 1 : fired ? 0 : 77);
        }
        ::close(pipe_ends[1]);
        std::string said;
        char buffer[512];
        for (ssize_t n; (n = ::read(pipe_ends[0], buffer, sizeof buffer)) > 0;) said.append(buffer, static_cast<std::size_t>(n));
        ::close(pipe_ends[0]);
        int status = 0;
        ::waitpid(child, &status, 0);
        ASSERT_TRUE(WIFEXITED(status)) << "array " << which << ", allocation " << k << ": " << said;
        if (WEXITSTATUS(status) == 77) break;
        if (WEXITSTATUS(status) == 3) {
          EXPECT_NE(said.find("array' at 0x"), std::string::npos) << said;
          EXPECT_NE(said.find("no memory"), std::string::npos) << said;
        } else {
          ASSERT_EQ(WEXITSTATUS(status), 0) << "array " << which << ", allocation " << k << ": " << said;
        }
      }
    }
  }
}

/// The first of a set needs nothing new, because its neighbour has its granule; the memory of the second is what fails.
/// What finds nothing to do takes no memory: no allocation is tried.
TEST(AllocFailure, ReadyLaunchesAndAccessesAllocateNothing) {
  Program p;
  char stream;
  Memory& host = p.on_host(4096);
  Memory& read = p.on_device(4096);
  Memory& written = p.on_device(4096);
  p.host_write(host, host.all(), 1);
  for (Memory* m : {&read, &written}) {
    p.kernel_write(&stream, *m, m->all(), 2);
    p.launch(&stream, {{m, true}}, [] {});  // the flags of what a launch wrote are set behind it
  }
  const engine::QueueIndex queue = p.queue(&stream);
  const engine::Operand operands[] = {{&read, false}, {&written, true}};
  const FailingMemory fails(0);
  for (int i = 0; i < 100; ++i) {
    EXPECT_FALSE(p.engine().launches.begin_launch(queue, operands, 2));
    (void)p.engine().launches.end_launch(queue, operands, 2);
    p.engine().access(host, host.all(), Access::read_write);
  }
  EXPECT_EQ(FailingMemory::left(), 0);
}

TEST(AllocFailure, OfASetOfWhichOneSharesItsNeighboursGranule) {
  for (long k = 0, fired = 1; fired != 0; ++k) {
    Program p;
    Memory& neighbour = p.on_device(4096);
    Memory& shares = p.on_device(4096);
    Memory& large = p.on_device(64 * 4096);
    p.kernel_write(nullptr, neighbour, neighbour.all(), 1);
    p.device().synchronize_device();
    const engine::Operand both[] = {{&shares, true}, {&large, true}};
    const engine::QueueIndex q = p.queue(nullptr);
    {
      const FailingMemory failing(k);
      try {
        p.engine().launches.begin_launch(q, both, 2);
        p.engine().launches.end_launch(q, both, 2);
      } catch (const std::bad_alloc&) {
      }
      fired = FailingMemory::left() < 0 ? 1 : 0;
    }
    try {
      p.engine().audit();
    } catch (const std::exception& e) {
      ADD_FAILURE() << "allocation " << k << ": " << e.what();
      return;
    }
    p.kernel_write(nullptr, large, large.all(), 2);
    p.expect_device(neighbour, 1);
  }
}

/// There is never memory to list a new staging buffer: an error, not an endless loop.
TEST(AllocFailure, OfEveryListingOfAStagingBuffer) {
  Program::Options o = Program::defaults();
  o.device.registers_host = false;
  Program p(o);
  Memory& d = p.on_device(4096);
  Memory& h = p.on_host(4096);
  p.kernel_write(nullptr, d, d.all(), 1);
  p.copy(h, d);
  p.device().synchronize_device();
  int tries = 0;
  std::function<void()> again = [&] {
    if (++tries == 100) return;
    p.device().while_in(FakeDevice::call_staging, again);
    allocations_until_failure = 0;
  };
  p.device().while_in(FakeDevice::call_staging, again);
  try {
    p.engine().access(h, h.all(), Access::read);
  } catch (const std::bad_alloc&) {
  }
  allocations_until_failure = -1;
  p.device().while_in(FakeDevice::call_staging, [] {});
  EXPECT_LT(tries, 3) << "it is allocated again and again";
  p.expect_host(h, 1);
}

/// Every allocation of a call that adopts memory, copies to or from it, or releases it fails once.
void check_adopted(const Program::Options& options) {
  const auto mixed = [](std::uint64_t bytes, std::uint64_t seed) {
    Bytes out(bytes);
    for (std::uint64_t i = 0; i < bytes; ++i) out[i] = Machine::mix(seed, i);
    return out;
  };
  enum Call { adopts, copies_in, copies_out, releases, settles };
  for (const Call call : {adopts, copies_in, copies_out, releases, settles}) {
    bool fired = true;
    for (long k = 0; fired; ++k) {
      SCOPED_TRACE("call " + std::to_string(call) + ", allocation " + std::to_string(k));
      Program p(options);
      const std::uint64_t page_bytes = p.platform().page_bytes(), bytes = 5 * page_bytes;
      Memory& d = p.on_device(bytes);
      Memory& to = p.on_device(bytes);
      p.kernel_write(nullptr, d, d.all(), 1);
      p.kernel_write(nullptr, to, to.all(), 2);
      LentBlock block(p, bytes, 100, nullptr);
      block.write({0, bytes}, 3);
      std::function<void()> body = [&] { block.release(); };
      if (call == adopts) {
        block.release();
        body = [&] { block.adopt_again(); };
      } else if (call == copies_in) {
        body = [&] { p.engine().copies.copy(block.address(), d.address, bytes); };
      } else if (call == copies_out) {
        body = [&] { p.engine().copies.copy(to.address, block.address(), bytes); };
      } else {
        p.engine().copies.copy(block.address(), d.address, bytes);
        p.engine().copies.copy(to.address, block.address(), bytes);
        p.kernel_write(nullptr, d, d.all(), 4);
        if (call == settles) body = [&] { p.engine().host_access.settle_and_open(); };
      }
      const bool pending = call == releases || call == settles;
      bool worked = true;
      {
        const FailingMemory failing(k);
        try {
          body();
        } catch (const std::bad_alloc&) {
          worked = false;
        } catch (const Error&) {
          worked = false;
        }
        fired = FailingMemory::left() < 0;
      }
      p.engine().audit();
      EXPECT_EQ(block.adopted(), worked ? call != releases : call != adopts);
      if (worked || call != copies_in) {
        EXPECT_EQ(block.content(), mixed(bytes, pending || (call == copies_in && worked) ? 1 : 3));
      }
      p.expect_device(d, pending ? 4 : 1);
      if (worked || call != copies_out) p.expect_device(to, pending ? 1 : call == copies_out && worked ? 3 : 2);
      if (!worked) body();  // now there is memory
      p.engine().audit();
      if (block.adopted()) block.release();
      std::memset(block.address(), 0, bytes);
      p.expect_device(to, pending ? 1 : call == copies_out ? 3 : 2);
      if (::testing::Test::HasFailure()) return;
    }
  }
}

TEST(AllocFailure, OfAdoptedMemory) {
  check_adopted(Program::defaults());
  check_adopted(Program::emulated());
}

/// The first adoption makes the table.
TEST(AllocFailure, OfTheFirstAdoption) {
  for (long k = 0, fired = 1; fired != 0; ++k) {
    struct Watches : engine::Surroundings {
      bool watch(const std::byte*, std::uint64_t) override {
        ++watched;
        return true;
      }
      void unwatch(const std::byte*, std::uint64_t) noexcept override { --watched; }
      int watched = 0;
    } watches;
    Program::Options o = Program::defaults();
    o.engine.surroundings = &watches;
    Program p(o);
    alignas(65536) static std::byte block[4 * 65536];
    p.platform().lend(block, sizeof block);
    {
      const FailingMemory failing(k);
      try {
        p.engine().adoption.adopt(block + 1, sizeof block - 1, "adopted");
      } catch (const std::bad_alloc&) {
      }
      fired = FailingMemory::left() < 0 ? 1 : 0;
    }
    p.engine().audit();
    const bool adopted = !p.engine().state().adopted.ranges.empty();
    EXPECT_EQ(p.engine().state().find(block + sizeof block / 2) != nullptr, adopted);
    EXPECT_EQ(p.engine().state().adopted.any(), adopted);
    EXPECT_EQ(watches.watched, adopted ? 1 : 0);
    if (!adopted) p.engine().adoption.adopt(block + 1, sizeof block - 1, "adopted");
    p.engine().adoption.release(block + 1);
    p.platform().take_back(block);
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(AllocFailure, Gpu) { check(gpu()); }
TEST(AllocFailure, GpuWithLittleMemory) { check(with_little_memory(gpu())); }
TEST(AllocFailure, GpuInBlocks) { check(in_blocks(gpu())); }
TEST(AllocFailure, GpuStaged) {
  Machine::Options o = gpu();
  o.device.registers_host = false;
  o.engine.check_writes = true;
  check(o);
}
/// Six devices have more queues than lie near (`timeline::near_queues`).
TEST(AllocFailure, SixGpus) {
  Machine::Options o = gpu();
  o.devices = 6;
  o.device.arena_bytes *= 6;
  check(o);
}
TEST(AllocFailure, Faults) {
  check_faults(gpu());
  check_faults(guarded());
}
TEST(AllocFailure, Emulated) { check(emulated()); }
TEST(AllocFailure, Guarded) { check(guarded()); }
TEST(AllocFailure, GuardedWithLittleMemory) { check(with_little_memory(guarded())); }
TEST(AllocFailure, GuardedInBlocks) { check(in_blocks(guarded())); }
TEST(AllocFailure, Checked) {
  Machine::Options o = emulated();
  o.engine.check = true;
  check(o);
}
TEST(AllocFailure, WriteThrough) {
  Machine::Options o = guarded();
  o.engine.protocol = engine::Protocol::write_through;
  check(o);
}

/// What serves the page faults of a GPU's arrays asks malloc for nothing. (unit_tests/runtime does the same with real faults, on the emulated
/// device.)
void expect_faults_without_malloc(const Program::Options& options) {
  constexpr std::uint64_t pages = 32;
  static char keys[2];
  const std::uint32_t last = options.devices - 1;
  const FakeDevice::Stream stream{&keys[last], last};
  Program p(options);
  Memory& d = p.on_device(pages * page, last);
  Memory& h = p.on_host(pages * page, &d);
  Memory& first = p.on_device(pages * page);
  Memory& mirror = p.on_host(pages * page);
  const auto touch = [&](Memory& m, bool write, const char* what) {
    const std::uint64_t faults = p.faults.load();
    for (std::uint64_t i = 0; i < pages; i += 3) {
      const unsigned long before = malloc_calls;
      p.touch_page(m.address + i * 13 % pages * page, write);
      EXPECT_EQ(malloc_calls, before) << what << ", " << i;
    }
    EXPECT_GT(p.faults.load(), faults) << what;
  };
  p.kernel_write(stream, d, d.all(), 1);
  touch(h, false, "reads");
  p.kernel_write(stream, d, d.all(), 2);
  touch(h, true, "writes");
  p.host_write(mirror, mirror.all(), 3);
  p.copy(first, mirror);
  touch(mirror, true, "writes that save what a device wants");
  p.kernel_write(stream, d, d.all(), 4);
  p.copy(first, d);
  p.copy(mirror, first);
  touch(mirror, false, "reads of what is on the last device");
  p.expect_device(d, d.all(), 4, stream);
}

TEST(FaultMemory, OfAGPU) { expect_faults_without_malloc(gpu()); }
TEST(FaultMemory, OfAGPUThatStages) {
  Program::Options o = gpu();
  o.device.registers_host = false;
  expect_faults_without_malloc(o);
}
TEST(FaultMemory, OfTwoGPUs) {
  for (const bool peer_access : {true, false}) {
    Program::Options o = gpu();
    o.devices = 2;
    o.device.peer_access = peer_access;
    expect_faults_without_malloc(o);
  }
}
TEST(FaultMemory, OfAnEmulatedDevice) { expect_faults_without_malloc(emulated()); }

}  // namespace
}  // namespace semcache::fakes
