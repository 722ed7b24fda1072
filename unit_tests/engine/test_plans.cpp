// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "program.hpp"

#include <gtest/gtest.h>

#include <cstdio>

/// Which steps the engine makes: a table of what had happened before, what is asked for, and the plan that follows.
namespace semcache::fakes {
namespace {

using engine::Memory;

char stream_key;
void* const stream = &stream_key;
constexpr std::uint64_t page = 4096;
constexpr std::uint64_t size = 4 * page;

struct Log final : plan::Observer {
  void done(const plan::Step& step) noexcept override { steps.push_back(plan::to_string(step, *recorder)); }
  void refused(const plan::Step& step) noexcept override { steps.push_back("refused: " + plan::to_string(step, *recorder)); }
  const trace::Recorder* recorder = nullptr;
  std::vector<std::string> steps;
};

/// A and B: a device array and its mirror each, of 16 KiB. The device has room for two arrays and a half.
struct World {
  explicit World(bool large = true) : machine(options(large), [](const std::string& text) { ADD_FAILURE() << text; }) {
    log.recorder = &machine.recorder();
    a = machine.engine().lifetimes.allocate_device(0, "A", size);
    a_host = machine.engine().lifetimes.allocate_host("A_host", size, nullptr);
    b = machine.engine().lifetimes.allocate_device(0, "B", size);
    b_host = machine.engine().lifetimes.allocate_host("B_host", size, nullptr);
  }
  ~World() {
    for (Memory* m : {a, a_host, b, b_host}) machine.engine().lifetimes.deallocate(m);
    machine.engine().audit();
  }
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  Machine::Options options(bool large) {
    Machine::Options o;
    o.device.eagerness = 0;
    o.platform.page_bytes = page;
    o.device.granularity_bytes = page;
    o.engine.registration_bytes = 16 * page;
    o.engine.device_memory_bytes = large ? 64 * size : 6 * page;
    o.engine.observer = &log;
    return o;
  }
  void kernel_writes(Memory& m) { machine.kernel_write(stream, m, m.all(), ++seed); }
  void kernel_reads(Memory& m) {
    machine.launch(stream, {{&m, false}}, [] {});
  }
  void host_writes(Memory& m, ByteRange range) { machine.host_write(m, range, ++seed); }
  void host_reads(Memory& m, ByteRange range) {
    std::vector<std::byte> seen(range.size());
    machine.host_read(m, range, seen.data());
  }
  void copy(Memory& to, Memory& from) { machine.copy(to, from); }
  void fill(Memory& m, ByteRange range, std::uint8_t byte) {
    directory::Fill f;
    f.pattern[0] = byte;
    f.pattern_bytes = 1;
    machine.engine().copies.fill(m, range.begin, range.size(), f);
  }
  Log log;
  Machine machine;
  std::uint64_t seed = 0;
  Memory *a = nullptr, *a_host = nullptr, *b = nullptr, *b_host = nullptr;
};

struct Case {
  const char* what;
  std::function<void(World&)> before;
  std::function<void(World&)> asked;
  std::vector<std::string> plan;
  bool room = true;  ///< for everything; false: the device's budget is six pages
};

const Case cases[] = {
    {"a kernel writes a new array", [](World&) {}, [](World& w) { w.kernel_writes(*w.a); },
     {"map 16384 bytes, 'A'[0] on device 0"}},
    {"a kernel reads what the host has written a page of", [](World& w) { w.host_writes(*w.a_host, {0, 8}); w.copy(*w.a, *w.a_host); },
     [](World& w) { w.kernel_reads(*w.a); },
     {"map 16384 bytes, 'A'[0] on device 0",
      "copy 4096 bytes, 'A'[0] on device 0 <- 'A_host'[0] on host (fetch)"}},
    {"the same kernel again", [](World& w) { w.host_writes(*w.a_host, {0, 8}); w.copy(*w.a, *w.a_host); w.kernel_reads(*w.a); },
     [](World& w) { w.kernel_reads(*w.a); }, {}},
    {"a copy of what a kernel has written", [](World& w) { w.kernel_writes(*w.a); },
     [](World& w) { w.copy(*w.a_host, *w.a); },
     {"protect 20480 bytes, 'A_host'[0] on host: no access"}},
    {"the host reads eight bytes of such a copy", [](World& w) { w.kernel_writes(*w.a); w.copy(*w.a_host, *w.a); },
     [](World& w) { w.host_reads(*w.a_host, {100, 108}); },
     {"copy 16384 bytes, 'A_host'[0] on host <- 'A'[0] on device 0 (fetch)",
      "protect 20480 bytes, 'A_host'[0] on host: read"}},
    {"the copy back, which changes nothing", [](World& w) { w.kernel_writes(*w.a); w.copy(*w.a_host, *w.a); w.host_reads(*w.a_host, {0, size}); },
     [](World& w) { w.copy(*w.a, *w.a_host); w.kernel_reads(*w.a); }, {}},
    {"a kernel overwrites what a mirror has still to get, with room for saved copies",
     [](World& w) { w.kernel_writes(*w.a); w.copy(*w.a_host, *w.a); }, [](World& w) { w.kernel_writes(*w.a); },
     {"allocate 16384 bytes, saved copy of 'A'[0] on device 0",
      "map 16384 bytes, saved copy of 'A'[0] on device 0",
      "copy 16384 bytes, saved copy of 'A'[0] on device 0 <- 'A'[0] on device 0 (save)"}},
    {"and with none", [](World& w) { w.kernel_writes(*w.a); w.copy(*w.a_host, *w.a); }, [](World& w) { w.kernel_writes(*w.a); },
     {"copy 16384 bytes, 'A_host'[0] on host <- 'A'[0] on device 0 (save)"}, false},
    {"a kernel overwrites what another device array wants, whose memory is there",
     [](World& w) { w.kernel_writes(*w.a); w.kernel_writes(*w.b); w.copy(*w.b, *w.a); }, [](World& w) { w.kernel_writes(*w.a); },
     {"copy 16384 bytes, 'B'[0] on device 0 <- 'A'[0] on device 0 (save)"}},
    {"the host overwrites a page that a device array wants", [](World& w) { w.host_writes(*w.a_host, {0, size}); w.copy(*w.a, *w.a_host); },
     [](World& w) { w.host_writes(*w.a_host, {0, 8}); },
     {"allocate 4096 bytes, saved copy of 'A_host'[0] on host",
      "copy 4096 bytes, saved copy of 'A_host'[0] on host <- 'A_host'[0] on host (save)",
      "protect 4096 bytes, 'A_host'[0] on host: read and write"}},
    {"a kernel needs room", [](World& w) { w.kernel_writes(*w.a); }, [](World& w) { w.kernel_writes(*w.b); },
     {"allocate 16384 bytes, saved copy of 'A'[0] on host",
      "copy 16384 bytes, saved copy of 'A'[0] on host <- 'A'[0] on device 0 (write back)",
      "evict 16384 bytes, 'A'[0] on device 0",
      "map 16384 bytes, 'B'[0] on device 0"}, false},
    {"a fill", [](World& w) { w.kernel_writes(*w.a); }, [](World& w) { w.fill(*w.a, {page, 2 * page}, 7); }, {}},
    {"a kernel reads a filled page", [](World& w) { w.kernel_writes(*w.a); w.fill(*w.a, {page, 2 * page}, 7); },
     [](World& w) { w.kernel_reads(*w.a); },
     {"fill 4096 bytes, 'A'[4096] on device 0"}},
    {"an array is freed that a mirror has still to be copied from", [](World& w) { w.kernel_writes(*w.a); w.copy(*w.a_host, *w.a); },
     [](World& w) { w.machine.engine().lifetimes.deallocate(std::exchange(w.a, nullptr)); }, {}},
    {"the host reads what was saved by that", [](World& w) {
       w.kernel_writes(*w.a);
       w.copy(*w.a_host, *w.a);
       w.machine.engine().lifetimes.deallocate(std::exchange(w.a, nullptr));
     },
     [](World& w) { w.host_reads(*w.a_host, {0, size}); },
     {"copy 16384 bytes, 'A_host'[0] on host <- saved copy of 'A'[0] on device 0 (fetch)",
      "protect 20480 bytes, 'A_host'[0] on host: read"}},
    {"a copy to memory of the program's", [](World& w) { w.kernel_writes(*w.a); },
     [](World& w) {
       std::vector<std::byte> out(100);
       w.machine.engine().copies.copy(out.data(), w.a->address + 50, out.size());
     },
     {"copy 100 bytes, memory of somebody else on host <- 'A'[50] on device 0 (call)"}},
    {"a message of two pieces leaves a device array", [](World& w) { w.kernel_writes(*w.a); },
     [](World& w) {
       engine::TransitBuffer* const buffer = w.machine.engine().buffers.take(page, base::Side::host);
       const ByteRange pieces[] = {{0, 8}, {100, 108}};
       w.machine.engine().foreign_io.read_out(*w.a, 4, pieces, 2, *buffer, buffer->address);
       w.machine.engine().foreign_io.settle_buffer(*buffer);
       w.machine.engine().buffers.give(buffer);
     },
     {"copy 8 bytes, memory of somebody else on host <- 'A'[4] on device 0 (call)",
      "copy 8 bytes, memory of somebody else on host <- 'A'[104] on device 0 (call)"}},
};

TEST(Plans, AsInTheTable) {
  for (const Case& c : cases) {
    SCOPED_TRACE(c.what);
    World w(c.room);
    c.before(w);
    w.log.steps.clear();
    c.asked(w);
    std::vector<std::string> made = w.log.steps;
    EXPECT_EQ(made, c.plan);
    if (made != c.plan) {
      std::printf("%s:\n", c.what);
      for (const std::string& step : made) std::printf("      \"%s\",\n", step.c_str());
    }
    w.machine.device().synchronize_device();
  }
}

}  // namespace
}  // namespace semcache::fakes
