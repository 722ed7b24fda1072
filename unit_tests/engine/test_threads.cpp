// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "program.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

/// Real threads over the fakes; made for ThreadSanitizer. Each thread has arrays and a stream of its own; all read one.
namespace semcache::fakes {
namespace {

using engine::Memory;

constexpr std::uint64_t size = 5 * 4096;
char streams[8];

void stress(bool little_memory) {
  Machine::Options o = Program::defaults();
  o.device.eagerness = 20;
  o.device.finds_races = false;  // one clock for the host: threads have several
  o.engine.device_memory_bytes = little_memory ? 8 * 32768 : 8u << 20;
  std::atomic<int> wrong{0};
  Machine p(o, [&](const std::string& text) {
    ++wrong;
    std::fprintf(stderr, "%s\n", text.c_str());
  });
  p.platform().watch({});
  Memory* const shared = p.engine().lifetimes.allocate_device(0, "shared", size);
  Memory* const shared_host = p.engine().lifetimes.allocate_host("shared host", size, shared);
  p.host_write(*shared_host, shared_host->all(), 99);

  const auto expect = [&](const std::vector<std::byte>& seen, std::uint64_t seed) {
    for (std::uint64_t i = 0; i < size; ++i) {
      if (seen[i] != Machine::mix(seed, i)) {
        ++wrong;
        return;
      }
    }
  };
  const auto program = [&](int me) {
    void* const stream = &streams[me];
    Random random(static_cast<std::uint64_t>(me) + 1);
    const char* moves = std::getenv("SEMCACHE_THREAD_MOVES");
    for (int n = moves == nullptr ? 150 : std::atoi(moves); n > 0; --n) {
      Memory* const d = p.engine().lifetimes.allocate_device(0, "mine", size);
      Memory* const h = p.engine().lifetimes.allocate_host("my host", size, random.chance(50) ? d : nullptr);
      const bool pair = h->datum == d->datum;
      for (int step = 0; step < 6; ++step) {
        const std::uint64_t seed = random.next();
        const engine::QueueIndex q = p.queue(stream);
        const auto kernel = [&](Memory& m, bool writes, std::vector<std::byte>* out) {
          const engine::Operand operands[] = {{&m, writes}};
          for (;;) {
            try {
              p.engine().launches.begin_launch(q, operands, 1);
              break;
            } catch (const OutOfMemory&) {  // the other threads' arrays are in use just now
              std::this_thread::yield();
            }
          }
          std::byte* const base = m.address;
          p.device().launch(stream, {{base, size, writes}}, [base, seed, out] {
            for (std::uint64_t i = 0; out == nullptr && i < size; ++i) base[i] = Machine::mix(seed, i);
            if (out != nullptr) std::memcpy(out->data(), base, size);
          });
          p.engine().launches.end_launch(q, operands, 1);
        };
        std::vector<std::byte> seen(size);
        if (random.chance(50)) {
          kernel(*d, true, nullptr);
          if (!pair) p.copy(*h, *d);
          p.engine().access(*h, h->all(), Access::read);
          std::memcpy(seen.data(), h->address, size);
        } else {
          p.engine().access(*h, h->all(), Access::overwrite);
          for (std::uint64_t i = 0; i < size; ++i) h->address[i] = Machine::mix(seed, i);
          if (!pair) p.copy(*d, *h);
          kernel(*d, false, &seen);
          p.device().synchronize_stream(stream);
        }
        expect(seen, seed);
        if (random.chance(30)) {
          kernel(*shared, false, &seen);
          p.device().synchronize_stream(stream);
          expect(seen, 99);
        }
        if (random.chance(30)) {
          p.engine().access(*shared_host, shared_host->all(), Access::read);
          std::memcpy(seen.data(), shared_host->address, size);
          expect(seen, 99);
        }
        if (random.chance(10)) p.engine().copies.copy(seen.data(), d->address, size);
      }
      if (random.chance(50)) {
        p.engine().lifetimes.deallocate(d);
        p.engine().lifetimes.deallocate(h);
      } else {
        p.engine().lifetimes.deallocate(h);
        p.engine().lifetimes.deallocate(d);
      }
    }
  };
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) threads.emplace_back(program, t);
  for (std::thread& t : threads) t.join();
  p.engine().audit();
  p.engine().lifetimes.deallocate(shared_host);
  p.engine().lifetimes.deallocate(shared);
  EXPECT_EQ(wrong.load(), 0);
}

TEST(Threads, DisjointArraysAndASharedReadOnlyOne) { stress(false); }
TEST(Threads, UnderMemoryPressure) { stress(true); }

/// New streams get queues for which arrays have no room yet, while other threads launch, with and without the lock, on queues for which
/// they have.
TEST(Threads, StreamsComeWhileOthersLaunch) {
  Machine::Options o = Program::defaults();
  o.device.finds_races = false;
  std::atomic<int> wrong{0};
  Machine p(o, [&](const std::string& text) {
    ++wrong;
    std::fprintf(stderr, "%s\n", text.c_str());
  });
  static char handles[timeline::max_queues];
  constexpr int early = 20, late = 80, launches = 3000;
  Memory* const array = p.engine().lifetimes.allocate_device(0, "array", size);
  const auto launch_on = [&](void* stream, int times) {
    const engine::QueueIndex q = p.queue(stream);
    const engine::Operand operands[] = {{array, false}};
    for (int k = 0; k < times; ++k) {
      p.engine().launches.begin_launch(q, operands, 1);
      p.device().launch(stream, {{array->address, size, false}}, [] {});
      p.engine().launches.end_launch(q, operands, 1);
    }
    return q;
  };
  for (int i = 0; i < early; ++i) (void)launch_on(&handles[i], 1);
  ASSERT_GE(p.queue(&handles[early - 1]), timeline::near_queues);
  std::vector<std::thread> threads;
  for (const int mine : {0, early - 1}) {
    threads.emplace_back([&, mine] {
      const engine::QueueIndex q = launch_on(&handles[mine], launches);
      if (array->on(q).last() != launches + 1) ++wrong;
    });
  }
  for (int i = early; i < late; ++i) {
    const engine::QueueIndex q = launch_on(&handles[i], 2);
    if (array->on(q).last() != 2) ++wrong;
  }
  for (std::thread& t : threads) t.join();
  EXPECT_GE(p.queue(&handles[late - 1]), 5 * timeline::piece_queues);
  p.engine().audit();
  p.engine().lifetimes.deallocate(array);
  EXPECT_EQ(wrong.load(), 0);
}

/// Two arrays of this size need more than two of the fake device's granules each.
constexpr std::uint64_t array_bytes = 20 * 1024;

Program::Options with_memory(std::uint64_t bytes) {
  Program::Options o = Program::defaults();
  o.device.finds_races = false;
  o.engine.device_memory_bytes = bytes;
  return o;
}

void sleep_ms() { std::this_thread::sleep_for(std::chrono::milliseconds(1)); }

TEST(Threads, AnArrayIsFreedWhileItIsEvicted) {
  Program p(with_memory(32 * 1024));
  p.platform().watch({});
  Memory* const victim = p.engine().lifetimes.allocate_device(0, "victim", array_bytes);
  Memory& other = p.on_device(array_bytes);
  Memory& source = p.on_host(array_bytes);
  (void)p.queue(&streams[0]);
  p.host_write(source, source.all(), 1);
  p.copy(*victim, source);
  std::thread freer;
  // Runs when the evicting thread waits for it.
  p.launch(&streams[1], {{victim, false}}, [&] {
    const std::uint32_t before = victim->incarnation.load();
    freer = std::thread([&] { p.engine().lifetimes.deallocate(victim); });
    for (int i = 0; i < 2000 && victim->incarnation.load() == before; ++i) sleep_ms();
    for (int i = 0; i < 20; ++i) sleep_ms();  // it waits for this kernel, too
  });

  p.kernel_write(&streams[0], other, other.all(), 2);

  ASSERT_TRUE(freer.joinable());
  freer.join();
  p.engine().audit();
  p.expect_device(other, other.all(), 2, &streams[0]);
}

TEST(Threads, MemoryThatAnotherThreadIsFreeingIsWaitedFor) {
  Program p(with_memory(32 * 1024));
  p.platform().watch({});
  Memory* const leaving = p.engine().lifetimes.allocate_device(0, "leaving", array_bytes);
  Memory& other = p.on_device(array_bytes);
  const engine::QueueIndex q = p.queue(&streams[0]);
  std::thread launcher;
  std::atomic<bool> done{false};
  std::string refused;
  p.launch(&streams[1], {{leaving, true}}, [&] {  // runs when deallocate waits for it
    launcher = std::thread([&] {
      const engine::Operand operand{&other, true};
      try {
        p.engine().launches.begin_launch(q, &operand, 1);
        p.engine().launches.end_launch(q, &operand, 1);
      } catch (const OutOfMemory& e) {
        refused = e.what();
      }
      done = true;
    });
    for (int i = 0; i < 50 && !done; ++i) sleep_ms();
  });

  p.engine().lifetimes.deallocate(leaving);

  ASSERT_TRUE(launcher.joinable());
  launcher.join();
  EXPECT_EQ(refused, "");
}

TEST(Threads, CopiesFromOrdinaryMemoryWhileOthersEvict) {
  Program::Options o = with_memory(4 * 16 * 1024);
  o.device.eagerness = 20;
  std::atomic<int> wrong{0};
  Machine p(o, [&](const std::string& text) {
    if (++wrong == 1) std::fprintf(stderr, "%s\n", text.c_str());
  });
  p.platform().watch({});
  Memory* arrays[4];
  for (Memory*& m : arrays) m = p.engine().lifetimes.allocate_device(0, "array", array_bytes);
  std::atomic<bool> stop{false};
  const auto launch = [&](Memory& m, void* stream, bool writes) {
    const engine::QueueIndex q = p.queue(stream);
    const engine::Operand operands[] = {{&m, writes}};
    for (;;) {
      try {
        p.engine().launches.begin_launch(q, operands, 1);
        break;
      } catch (const OutOfMemory&) {
        std::this_thread::yield();
      }
    }
    p.device().launch(stream, {{m.address, array_bytes, writes}}, [] {});
    p.engine().launches.end_launch(q, operands, 1);
  };
  std::thread reader([&] {
    while (!stop) launch(*arrays[0], &streams[0], false);
  });
  std::thread writer([&] {
    for (int i = 0; !stop; ++i) launch(*arrays[1 + i % 3], &streams[1], true);
  });
  std::vector<std::byte> ordinary(array_bytes);
  for (int i = 0; i < 2000 && wrong == 0; ++i) {
    try {
      p.engine().copies.copy(arrays[0]->address, ordinary.data(), array_bytes);
    } catch (const OutOfMemory&) {  // the other threads' arrays are in use just now
    }
  }
  stop = true;
  reader.join();
  writer.join();
  EXPECT_EQ(wrong.load(), 0);
  for (Memory* m : arrays) p.engine().lifetimes.deallocate(m);
}

}  // namespace
}  // namespace semcache::fakes
