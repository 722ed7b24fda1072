// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/runtime/runtime.hpp>
#include <semcache/semcache.hpp>
#include <semcache/tasks/tasks.hpp>

#include <gtest/gtest.h>

#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

// What all devices read passes from each to the next. Emulated devices have a machine's times here: what a device sends to others takes one line, so
// it sends to one at a time.
namespace semcache::tasks {
namespace {

constexpr std::uint64_t mib = std::uint64_t{1} << 20;

enum class HostLink { of_each_device, of_all_together };

/// A process with so many devices. A vector of so many bytes goes from device to device in a second, and from the host in `host_seconds`.
class Machine {
 public:
  Machine(std::uint32_t devices, std::uint64_t bytes, std::uint64_t host_seconds, HostLink link = HostLink::of_each_device)
      : devices_(devices), elements_(bytes / sizeof(double)) {
    std::ofstream out(file_);
    if (link == HostLink::of_all_together) {
      out << "shared = host 0";
      for (std::uint32_t to = 1; to < devices; ++to) out << ", host " << to;
      out << "\n";
    }
    out << "peer = " << bytes << "\nlink = " << bytes / host_seconds << "\n";
    for (std::uint32_t from = 0; from < devices && devices > 2; ++from) {
      out << "shared = ";
      for (std::uint32_t to = 0, first = 1; to < devices; ++to) {
        if (to == from) continue;
        out << (first != 0 ? "" : ", ") << from << " " << to;
        first = 0;
      }
      out << "\n";
    }
    out.close();
    ::setenv("SEMCACHE_EMULATED_MACHINE", file_.c_str(), 1);
    use_devices(static_cast<int>(devices));
  }
  ~Machine() {
    finalize();
    ::unsetenv("SEMCACHE_EMULATED_MACHINE");
    std::remove(file_.c_str());
  }
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  /// A task on each device reads the whole vector. @return how long that takes
  [[nodiscard]] double read_everywhere(const double* vector) const {
    std::vector<policy::Task> cut;
    for (std::uint32_t d = 0; d < devices_; ++d) cut.push_back({d, 1, {{0, {0, elements_, 0, 1}, Access::read}}});
    const double before = statistics().virtual_time->seconds;
    std::uint32_t done = 0;
    run(cut, {{vector, elements_, 1, elements_, sizeof(double)}}, [&](const runtime::Stream&, const policy::Task& task, const Operand* at) {
      const auto* const seen = static_cast<const double*>(at[0].data);
      std::uint64_t wrong = 0;
      for (std::uint64_t i = 0; i < elements_; ++i) wrong += seen[i] == static_cast<double>(i) ? 0u : 1u;
      EXPECT_EQ(wrong, 0u) << "device " << task.device;
      ++done;
    });
    EXPECT_EQ(done, devices_);
    return statistics().virtual_time->seconds - before;
  }

 private:
  const std::uint32_t devices_;
  const std::uint64_t elements_;
  const std::string file_ = ::testing::TempDir() + "machine_" + std::to_string(::getpid()) + ".txt";
};

void fill(double* x, std::uint64_t bytes) {
  for (std::uint64_t i = 0; i < bytes / sizeof(double); ++i) x[i] = static_cast<double>(i);
}

TEST(Chains, WhatOneDeviceHasReachesAllInAboutOneTransfer) {
  constexpr std::uint64_t bytes = 64 * mib;
  for (const std::uint32_t devices : {2u, 3u, 4u, 8u}) {
    const Machine machine(devices, bytes, 1);
    for (const std::uint32_t owner : {0u, devices - 1}) {
      auto* const x = static_cast<double*>(runtime::allocate_device("x", bytes, owner));
      {
        const runtime::LibraryUse all{x, bytes, Access::overwrite};
        const runtime::Launch launch(lane(owner, 0).queue, &all, 1);
        fill(x, bytes);
      }
      const Statistics before = statistics();
      const double seconds = machine.read_everywhere(x);
      const Statistics s = statistics();
      const auto pieces = static_cast<double>(policy::pieces_of_chain(bytes, devices));
      EXPECT_NEAR(seconds, (pieces + devices - 2) / pieces, 0.02) << devices << " devices; from one to the others in turn it takes " << devices - 1;
      EXPECT_EQ(s.total.between_devices.bytes - before.total.between_devices.bytes, (devices - 1) * bytes);
      EXPECT_EQ(s.total.h2d.bytes - before.total.h2d.bytes, 0u);
      runtime::deallocate(x);
    }
  }
}

/// Each device gets a share over its own link, and passes it on while the rest of it arrives.
TEST(Chains, WhatTheHostHasCrossesOneLinkAndReachesTheOthersMeanwhile) {
  constexpr std::uint64_t host_seconds = 8;
  struct Case {
    std::uint32_t devices;
    std::uint64_t bytes;
  };
  for (const Case& c : {Case{2, 64 * mib}, {3, 96 * mib}, {4, 192 * mib}}) {
    const Machine machine(c.devices, c.bytes, host_seconds);
    auto* const x = static_cast<double*>(runtime::allocate_host("x", c.bytes));
    fill(x, c.bytes);
    const double seconds = machine.read_everywhere(x);
    const Statistics s = statistics();
    EXPECT_EQ(s.total.h2d.bytes, c.bytes) << "each byte crosses one link to the host, once";
    EXPECT_EQ(s.total.between_devices.bytes, (c.devices - 1) * c.bytes);
    const double share = 1.0 / c.devices, others = c.devices - 1;
    const auto pieces = static_cast<double>(policy::pieces_of_chain(c.bytes / c.devices, c.devices, c.devices));
    EXPECT_EQ(pieces > 1, c.devices > 2);
    EXPECT_NEAR(seconds, host_seconds * share + others * share / pieces, 0.05) << c.devices << " devices, " << pieces << " pieces";
    runtime::deallocate(x);
  }
}

/// Each byte crosses the one link once, and the rest of the way costs no more than the last pieces.
TEST(Chains, WhatCrossesALinkThatAllDevicesShareCrossesItOnce) {
  constexpr std::uint64_t host_seconds = 8;
  struct Case {
    std::uint32_t devices;
    std::uint64_t bytes;
  };
  for (const Case& c : {Case{2, 64 * mib}, {3, 96 * mib}, {4, 192 * mib}}) {
    const Machine machine(c.devices, c.bytes, host_seconds, HostLink::of_all_together);
    auto* const x = static_cast<double*>(runtime::allocate_host("x", c.bytes));
    fill(x, c.bytes);
    const double seconds = machine.read_everywhere(x);
    const Statistics s = statistics();
    EXPECT_EQ(s.total.h2d.bytes, c.bytes);
    EXPECT_EQ(s.total.between_devices.bytes, (c.devices - 1) * c.bytes);
    const double share = 1.0 / c.devices, others = c.devices - 1;
    const auto pieces = static_cast<double>(policy::pieces_of_chain(c.bytes / c.devices, c.devices, c.devices));
    EXPECT_NEAR(seconds, host_seconds + others * share / pieces, 0.05) << c.devices << " devices, " << pieces << " pieces";
    runtime::deallocate(x);
  }
}

}  // namespace
}  // namespace semcache::tasks
