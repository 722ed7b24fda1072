// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/runtime/runtime.hpp>
#include <semcache/semcache.hpp>
#include <semcache/trace/report.hpp>

#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

// Programs on two emulated devices (SEMCACHE_DEVICES=2), with and without the model of a machine. Rates are powers of two, so that times
// are compared exactly.
namespace semcache::runtime {
namespace {

constexpr std::size_t bytes = std::size_t{1} << 20;

/// A transfer of an array takes 3 s, a kernel on one array 5 s.
const char* const own_links =
    "link = 1048576     # an array in a second\n"
    "peer = 4194304\n"
    "latency = 2\n"
    "memory = 262144\n"
    "launch = 1\n";

/// Runs a program with a runtime of its own, and returns the statistics at its end. @param machine  nullptr: no model
Statistics run(const char* machine, const std::function<void()>& program) {
  const std::string file = ::testing::TempDir() + "machine_" + std::to_string(::getpid()) + ".txt";
  if (machine != nullptr) {
    std::ofstream(file) << machine;
    ::setenv("SEMCACHE_EMULATED_MACHINE", file.c_str(), 1);
  } else {
    ::unsetenv("SEMCACHE_EMULATED_MACHINE");
  }
  program();
  Statistics s = statistics();
  finalize();
  std::remove(file.c_str());
  return s;
}

double seconds(const std::string& machine, const std::function<void()>& program) { return run(machine.c_str(), program).virtual_time->seconds; }

/// An array with a host side, whose content is the host's.
struct Array {
  explicit Array(std::uint32_t on = 0, int value = 1)
      : device(static_cast<unsigned char*>(allocate_device("array", bytes, on))),
        host(static_cast<unsigned char*>(allocate_host("host side", bytes, device))),
        index(on) {
    std::memset(host, value, bytes);
  }
  ~Array() {
    deallocate(host);
    deallocate(device);
  }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;
  /// A kernel on the array's device.
  void kernel(Access mode, const std::function<void()>& body = [] {}) { kernel(mode, index, body); }
  void kernel(Access mode, std::uint32_t on, const std::function<void()>& body = [] {}) {
    const LibraryUse use{device, bytes, mode};
    const Launch launch(queue_of(reinterpret_cast<void*>(std::uintptr_t{on})), &use, 1);
    body();
  }

  unsigned char* const device;
  unsigned char* const host;
  const std::uint32_t index;
};

TEST(VirtualTime, ThereIsNoneWithoutAMachine) {
  const Statistics s = run(nullptr, [] { Array().kernel(Access::read); });
  EXPECT_FALSE(s.virtual_time.has_value());
  EXPECT_EQ(trace::text_report(s, {}).find("virtual"), std::string::npos);
}

TEST(VirtualTime, AFetchTakesTheLatencyAndItsBytes) {
  EXPECT_EQ(seconds("latency = 2\nlink = 1048576", [] { Array().kernel(Access::read); }), 3);
  EXPECT_EQ(seconds("latency = 2\nlink 0 = 524288", [] { Array().kernel(Access::read); }), 4);
  EXPECT_EQ(seconds("latency = 2\nlink 0 host = 1", [] { Array().kernel(Access::read); }), 2) << "the other direction";
  EXPECT_EQ(seconds("latency = 2\nlink = 1048576", [] { Array().kernel(Access::overwrite); }), 0) << "nothing moves";
}

TEST(VirtualTime, WhatIsThereAlreadyIsNotFetchedAgain) {
  EXPECT_EQ(seconds("latency = 2\nlink = 1048576", [] {
    Array a;
    a.kernel(Access::read);
    a.kernel(Access::read);
  }), 3);
}

TEST(VirtualTime, AKernelBeginsBehindItsFetchAndTheHostReadsBehindTheKernel) {
  const Statistics s = run(own_links, [] {
    Array a;
    a.kernel(Access::read_write, [&] { std::memset(a.device, 2, bytes); });
    EXPECT_EQ(statistics().virtual_time->seconds, 3 + 5);
    EXPECT_EQ(std::count(a.host, a.host + bytes, 2), static_cast<std::ptrdiff_t>(bytes));
  });
  EXPECT_EQ(s.total.d2h.bytes, bytes);
  const auto faults = static_cast<double>(s.total.d2h.count);  // each fetches a chunk
  EXPECT_GT(faults, 1);
  EXPECT_EQ(s.virtual_time->seconds, 3 + 5 + 2 * faults + 1);
}

TEST(VirtualTime, AnAnnouncedReadIsOneTransferThatTheHostWaitsFor) {
  EXPECT_EQ(seconds(own_links, [] {
    Array a, b;
    a.kernel(Access::overwrite);
    access(a.host, bytes, Access::read);
    b.kernel(Access::read);
  }), 5 + 3 + 3 + 5) << "b is fetched when the host has got a";
}

TEST(VirtualTime, FetchesOverLinksOfTheirOwnOverlapAndOverASharedOneTheyDoNot) {
  const auto program = [] {
    Array a(0), b(1);
    a.kernel(Access::read);
    b.kernel(Access::read);
  };
  EXPECT_EQ(seconds(own_links, program), 3 + 5);
  EXPECT_EQ(seconds(std::string(own_links) + "shared = host 0, host 1\n", program), 3 + 3 + 5);
  EXPECT_EQ(seconds(std::string(own_links) + "shared = 0 host, 1 host\n", program), 3 + 5);
  EXPECT_EQ(seconds(std::string(own_links) + "link 1 = 65536\n", program), 2 + 16 + 5);
}

TEST(VirtualTime, AFetchOverlapsAnotherArraysKernel) {
  EXPECT_EQ(seconds(own_links, [] {
    Array a, b;
    a.kernel(Access::read);  // 3 + 5
    b.kernel(Access::read);  // fetched meanwhile, until 6
  }), 3 + 5 + 5);
}

TEST(VirtualTime, AnotherDevicesValueComesOverThePeerLink) {
  const auto program = [] {
    Array a(0);
    auto* const other = static_cast<unsigned char*>(allocate_device("other", bytes, 1));
    a.kernel(Access::overwrite, [&] { std::memset(a.device, 3, bytes); });  // until 5
    copy(other, a.device, bytes, {});
    {
      const LibraryUse use{other, bytes, Access::read};
      const Launch launch(queue_of(reinterpret_cast<void*>(std::uintptr_t{1})), &use, 1);
      EXPECT_EQ(other[bytes - 1], 3);
    }
    deallocate(other);
  };
  const Statistics s = run(own_links, program);
  EXPECT_EQ(s.virtual_time->seconds, 5 + 2.25 + 5);
  EXPECT_EQ(s.total.between_devices.bytes, bytes);
  ::setenv("SEMCACHE_PEER_ACCESS", "off", 1);
  EXPECT_EQ(seconds(own_links, program), 5 + 3 + 3 + 5);
  ::unsetenv("SEMCACHE_PEER_ACCESS");
}

TEST(VirtualTime, AFillTakesItsBytesOfTheMemory) {
  EXPECT_EQ(seconds(own_links, [] {
    auto* const device = static_cast<unsigned char*>(allocate_device("device", bytes));
    const unsigned char nine = 9;
    fill(device, bytes, &nine, 1, {});
    {
      const LibraryUse use{device, bytes, Access::read};
      const Launch launch(queue_of(nullptr), &use, 1);
      EXPECT_EQ(device[bytes - 1], 9);
    }
    deallocate(device);
  }), 5 + 5);
}

TEST(VirtualTime, APartIsFetchedAndChargedAlone) {
  EXPECT_EQ(seconds(own_links, [] {
    Array a;
    const LibraryUse use{a.device, bytes / 4, Access::read};
    const Launch launch(queue_of(nullptr), &use, 1);
  }), 2.25 + 2);
}

TEST(VirtualTime, ATransferWaitsForTheKernelOnItsPartAndForNoLaterOne) {
  EXPECT_EQ(seconds(own_links, [] {
    Array a(0), b(1);
    const auto kernel = [&](std::size_t begin, std::size_t n) {
      const LibraryUse use{a.device + begin, n, Access::overwrite};
      const Launch launch(queue_of(nullptr), &use, 1);
    };
    kernel(0, bytes / 4);              // until 2
    kernel(bytes / 4, bytes / 4 * 3);  // until 6
    access(a.host, bytes / 4, Access::read);
    b.kernel(Access::read);
  }), 2 + 2.25 + 3 + 5);
}

TEST(VirtualTime, AKernelThatTheProgramHasWaitedForHoldsUpTheHost) {
  const auto program = [](bool waits) {
    return [waits] {
      Array a(0), b(1);
      {
        const LibraryUse use{a.device, bytes, Access::overwrite};
        Launch launch(queue_of(nullptr), &use, 1);
        if (!waits) return b.kernel(Access::overwrite);
        launch.before_wait();
        launch.after_wait();
      }
      b.kernel(Access::overwrite);
    };
  };
  EXPECT_EQ(seconds(own_links, program(false)), 5);
  EXPECT_EQ(seconds(own_links, program(true)), 5 + 5);
}

TEST(VirtualTime, ColumnsAreOneTransfer) {
  constexpr std::size_t pitch = bytes / 16;
  EXPECT_EQ(seconds(own_links, [] {
    Array a, b;
    a.kernel(Access::read);  // until 8
    std::memset(b.host, 5, bytes);
    copy_2d(a.device, pitch, b.host, pitch, pitch / 2, 16, {});
    a.kernel(Access::read, [&] {
      EXPECT_EQ(a.device[15 * pitch], 5);
      EXPECT_EQ(a.device[15 * pitch + pitch / 2], 1);
    });
  }), 8 + 2.5 + 5);
}

TEST(VirtualTime, AnEvictionIsWaitedForBeforeItsMemoryIsUsed) {
  ::setenv("SEMCACHE_DEVICE_MEMORY", "1M", 1);
  const Statistics s = run(own_links, [] {
    Array a, b, c(1);
    a.kernel(Access::overwrite);  // until 5
    b.kernel(Access::overwrite);
    c.kernel(Access::read);
  });
  ::unsetenv("SEMCACHE_DEVICE_MEMORY");
  EXPECT_EQ(s.total.written_back.bytes, bytes);
  const auto blocks = static_cast<double>(s.total.d2h.count);
  EXPECT_EQ(s.virtual_time->seconds, 5 + (2 * blocks + 1) + (3 + 5)) << "c is fetched when the host has seen a leave";
}

/// Whether there is a machine or not, the same bytes move, and they are right.
TEST(VirtualTime, CountsAndContentAreThoseWithoutAMachine) {
  unsigned sum = 0;
  const auto program = [&] {
    std::vector<std::unique_ptr<Array>> arrays;
    for (int i = 0; i < 6; ++i) arrays.push_back(std::make_unique<Array>(static_cast<std::uint32_t>(i % 2), i));
    for (int round = 0; round < 20; ++round) {
      for (auto& a : arrays) {
        a->kernel(Access::read_write, [&] {
          for (std::size_t i = 0; i < bytes; i += 64) ++a->device[i];
        });
      }
      Array& a = *arrays[static_cast<std::size_t>(round) % arrays.size()];
      Array& b = *arrays[static_cast<std::size_t>(round + 1) % arrays.size()];
      copy(a.host, b.device, bytes, {});
      a.host[64] = static_cast<unsigned char>(b.host[128] + 1);
      copy(b.device, a.device, bytes, {});
    }
    sum = 0;
    for (auto& a : arrays) {
      for (std::size_t i = 0; i < bytes; i += 64) sum = sum * 31 + a->host[i];
    }
  };
  for (const char* const memory : {"0", "2M"}) {
    ::setenv("SEMCACHE_DEVICE_MEMORY", memory, 1);
    Statistics with = run(own_links, program);
    const unsigned sum_with = sum;
    const Statistics without = run(nullptr, program);
    EXPECT_EQ(sum_with, sum) << memory;
    EXPECT_NE(sum, 0u);
    EXPECT_EQ(with.total.evictions > 0, std::string(memory) == "2M");
    EXPECT_GT(with.virtual_time->seconds, 0);
    with.virtual_time.reset();
    EXPECT_EQ(trace::json_report(with, {}), trace::json_report(without, {})) << memory;
  }
  ::unsetenv("SEMCACHE_DEVICE_MEMORY");
}

TEST(VirtualTime, TheSameProgramTakesTheSameTimeAgain) {
  const auto program = [] {
    Array a(0), b(1), c(0);
    for (int i = 0; i < 50; ++i) {
      a.kernel(Access::read_write);
      copy(b.device, a.device, bytes, {});
      b.kernel(Access::read_write);
      if (i % 7 == 0) access(b.host, bytes, Access::read_write);
      c.kernel(Access::read);
    }
  };
  const double once = seconds(own_links, program);
  EXPECT_GT(once, 50 * 10);
  EXPECT_EQ(seconds(own_links, program), once);
}

TEST(VirtualTime, TheReportTellsIt) {
  const Statistics s = run(own_links, [] {
    Array a(1);
    a.kernel(Access::read);
  });
  const std::string text = trace::text_report(s, {});
  EXPECT_NE(text.find("virtual_seconds                                 8\n"), std::string::npos) << text;
  EXPECT_NE(text.find("busy: host to device 1"), std::string::npos) << text;
  EXPECT_EQ(text.find("busy: host to device 0"), std::string::npos) << text;
  const std::string json = trace::json_report(s, {});
  EXPECT_NE(json.find("\"virtual_seconds\": 8.0"), std::string::npos) << json;
  EXPECT_NE(json.find("\"virtual_devices\""), std::string::npos) << json;
  EXPECT_NE(json.find("\"name\": \"host to device 1\",\n      \"busy_seconds\": 3.0"), std::string::npos) << json;
}

}  // namespace
}  // namespace semcache::runtime
