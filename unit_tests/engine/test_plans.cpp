// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "program.hpp"

#include <fakes/lent_block.hpp>

#include <gtest/gtest.h>

#include <cstdio>
#include <memory>

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

/// How much memory a device has, and what is mapped and evicted at once.
enum class Room { for_everything, six_pages, six_pages_in_blocks_of_two };

/// A and B: a device array and its mirror each, of 16 KiB.
struct World {
  explicit World(Room room = Room::for_everything) : machine(options(room), [](const std::string& text) { ADD_FAILURE() << text; }) {
    log.recorder = &machine.recorder();
    a = machine.engine().lifetimes.allocate_device(0, "A", size);
    a_host = machine.engine().lifetimes.allocate_host("A_host", size, nullptr);
    b = machine.engine().lifetimes.allocate_device(0, "B", size);
    b_host = machine.engine().lifetimes.allocate_host("B_host", size, nullptr);
  }
  ~World() {
    for (Memory* m : {tile, host_part}) machine.engine().lifetimes.deallocate(m);
    lent.reset();
    for (Memory* m : {a, a_host, b, b_host}) machine.engine().lifetimes.deallocate(m);
    machine.engine().audit();
  }
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  Machine::Options options(Room room) {
    Machine::Options o;
    o.device.eagerness = 0;
    o.platform.page_bytes = page;
    o.device.granularity_bytes = page;
    o.engine.registration_bytes = 16 * page;
    if (room == Room::six_pages_in_blocks_of_two) o.device.block_bytes = 2 * page;
    o.engine.device_memory_bytes = room == Room::for_everything ? 64 * size : 6 * page;
    o.engine.observer = &log;
    return o;
  }
  void kernel_writes(Memory& m) { machine.kernel_write(stream, m, m.all(), ++seed); }
  void kernel_reads(Memory& m) {
    machine.launch(stream, {{&m, false}}, [] {});
  }
  /// A kernel that uses some of the bytes of an array, or of a tile.
  void kernel_uses(Memory& m, const Region& where, Access mode) {
    const engine::Operand operand{&m, writes(mode)};
    engine::Requirement used{&m, where, mode};
    const engine::QueueIndex q = machine.queue(stream);
    const bool in_part = machine.engine().launches.begin_launch(q, &operand, 1, {&used, 1});
    machine.device().launch(stream, {}, [] {});
    machine.engine().launches.end_launch(q, &operand, 1, all_devices, {&used, in_part ? 1u : 0u});
  }
  /// The tile of the first half of each page of A.
  void make_tile() { tile = machine.engine().lifetimes.allocate_part(0, *a, halves); }
  /// The host's part, of the same bytes.
  void make_host_part() { host_part = machine.engine().lifetimes.allocate_host_part(*a, halves); }
  void host_uses_part(Access mode) {
    const engine::Requirement used{host_part, halves, mode};
    machine.engine().host_uses.begin(&used, 1);
    machine.engine().host_uses.end(&used, 1);
  }
  /// Adopts 16 KiB in pages of its own, and 100 bytes in front of them and behind.
  void adopt() { lent = std::make_unique<LentBlock>(machine, 100 + size + 100, 100, "lent"); }
  /// Copies between A and all of the adopted memory that its size permits, from the first byte on.
  void copy_to_lent() { machine.engine().copies.copy(lent->address(), a->address, size); }
  void copy_from_lent() { machine.engine().copies.copy(a->address, lent->address(), size); }
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
  static inline const Region halves{0, page / 2, 4, page};
  Memory *tile = nullptr, *host_part = nullptr;
  std::unique_ptr<LentBlock> lent;
  Memory *a = nullptr, *a_host = nullptr, *b = nullptr, *b_host = nullptr;
};

struct Case {
  const char* what;
  std::function<void(World&)> before;
  std::function<void(World&)> asked;
  std::vector<std::string> plan;
  Room room = Room::for_everything;
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
     {"copy 16384 bytes, 'A_host'[0] on host <- 'A'[0] on device 0 (save)"}, Room::six_pages},
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
      "map 16384 bytes, 'B'[0] on device 0"}, Room::six_pages},
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

    // --- parts of an array. (Host pages are closed and opened again when they are page-locked for a transfer.) ---
    {"a kernel reads two pages of what the host has written", [](World& w) { w.host_writes(*w.a_host, {0, size}); w.copy(*w.a, *w.a_host); },
     [](World& w) { w.kernel_uses(*w.a, ByteRange{page, 3 * page}, Access::read); },
     {"map 16384 bytes, 'A'[0] on device 0",
      "protect 20480 bytes, 'A_host'[0] on host: no access",
      "protect 20480 bytes, 'A_host'[0] on host: read",
      "copy 8192 bytes, 'A'[4096] on device 0 <- 'A_host'[4096] on host (fetch)"}},
    {"a kernel overwrites two pages of it", [](World& w) { w.host_writes(*w.a_host, {0, size}); w.copy(*w.a, *w.a_host); },
     [](World& w) { w.kernel_uses(*w.a, ByteRange{page, 3 * page}, Access::overwrite); },
     {"map 16384 bytes, 'A'[0] on device 0"}},
    {"a kernel reads all behind that", [](World& w) {
       w.host_writes(*w.a_host, {0, size});
       w.copy(*w.a, *w.a_host);
       w.kernel_uses(*w.a, ByteRange{page, 3 * page}, Access::overwrite);
     },
     [](World& w) { w.kernel_reads(*w.a); },
     {"protect 20480 bytes, 'A_host'[0] on host: no access",
      "protect 20480 bytes, 'A_host'[0] on host: read",
      "copy 4096 bytes, 'A'[0] on device 0 <- 'A_host'[0] on host (fetch)",
      "copy 4096 bytes, 'A'[12288] on device 0 <- 'A_host'[12288] on host (fetch)"}},
    {"a kernel overwrites two pages that a mirror has still to get, with no room for saved copies",
     [](World& w) { w.kernel_writes(*w.a); w.copy(*w.a_host, *w.a); },
     [](World& w) { w.kernel_uses(*w.a, ByteRange{page, 3 * page}, Access::overwrite); },
     {"copy 8192 bytes, 'A_host'[4096] on host <- 'A'[4096] on device 0 (save)"}, Room::six_pages},

    // --- tiles, which have the label of their array ---
    {"a tile of what the host has written is read", [](World& w) { w.host_writes(*w.a_host, {0, size}); w.copy(*w.a, *w.a_host); w.make_tile(); },
     [](World& w) { w.kernel_uses(*w.tile, World::halves, Access::read); },
     {"map 8192 bytes, 'A'[0] on device 0",
      "protect 20480 bytes, 'A_host'[0] on host: no access",
      "protect 20480 bytes, 'A_host'[0] on host: read",
      "copy 8192 bytes in 4 columns, 'A'[0] on device 0 <- 'A_host'[0] on host (fetch)"}},
    {"a tile of what a kernel has written is read", [](World& w) { w.kernel_writes(*w.a); w.make_tile(); },
     [](World& w) { w.kernel_uses(*w.tile, World::halves, Access::read); },
     {"map 8192 bytes, 'A'[0] on device 0",
      "copy 8192 bytes in 4 columns, 'A'[0] on device 0 <- 'A'[0] on device 0 (fetch)"}},
    {"a tile is overwritten", [](World& w) { w.kernel_writes(*w.a); w.make_tile(); },
     [](World& w) { w.kernel_uses(*w.tile, World::halves, Access::overwrite); },
     {"map 8192 bytes, 'A'[0] on device 0"}},
    {"a kernel reads the array behind that", [](World& w) { w.kernel_writes(*w.a); w.make_tile(); w.kernel_uses(*w.tile, World::halves, Access::overwrite); },
     [](World& w) { w.kernel_reads(*w.a); },
     {"copy 8192 bytes in 4 columns, 'A'[0] on device 0 <- 'A'[0] on device 0 (fetch)"}},
    {"a mirror of the array is read behind it", [](World& w) {
       w.kernel_writes(*w.a);
       w.make_tile();
       w.kernel_uses(*w.tile, World::halves, Access::overwrite);
       w.copy(*w.a_host, *w.a);
     },
     [](World& w) { w.host_reads(*w.a_host, {0, size}); },
     {"copy 8192 bytes in 4 columns, 'A_host'[0] on host <- 'A'[0] on device 0 (fetch)",
      "copy 8192 bytes in 4 columns, 'A_host'[2048] on host <- 'A'[2048] on device 0 (fetch)",
      "protect 20480 bytes, 'A_host'[0] on host: read"}},
    {"a tile is freed whose content the array wants", [](World& w) { w.kernel_writes(*w.a); w.make_tile(); w.kernel_uses(*w.tile, World::halves, Access::overwrite); },
     [](World& w) { w.machine.engine().lifetimes.deallocate(std::exchange(w.tile, nullptr)); }, {}},

    // --- parts on the host ---
    {"the host reads a part of what a kernel has written", [](World& w) { w.kernel_writes(*w.a); w.make_host_part(); },
     [](World& w) { w.host_uses_part(Access::read); },
     {"copy 8192 bytes in 4 columns, 'A'[0] on host <- 'A'[0] on device 0 (fetch)"}},
    {"the host overwrites a part", [](World& w) { w.kernel_writes(*w.a); w.make_host_part(); },
     [](World& w) { w.host_uses_part(Access::overwrite); }, {}},
    {"a kernel reads the array behind that", [](World& w) { w.kernel_writes(*w.a); w.make_host_part(); w.host_uses_part(Access::overwrite); },
     [](World& w) { w.kernel_reads(*w.a); },
     {"copy 8192 bytes in 4 columns, 'A'[0] on device 0 <- 'A'[0] on host (fetch)"}},

    // --- adopted memory ---
    {"a copy to adopted memory and its front edge", [](World& w) { w.adopt(); w.kernel_writes(*w.a); },
     [](World& w) { w.copy_to_lent(); },
     {"copy 100 bytes, memory of somebody else on host <- 'A'[0] on device 0 (call)",
      "protect 16384 bytes, 'lent'[0] on host: no access"}},
    {"the program reads eight bytes of it", [](World& w) { w.adopt(); w.kernel_writes(*w.a); w.copy_to_lent(); },
     [](World& w) { w.host_reads(*w.lent->body(), {0, 8}); },
     {"copy 16284 bytes, 'lent'[0] on host <- 'A'[100] on device 0 (fetch)",
      "protect 16384 bytes, 'lent'[0] on host: read"}},
    {"a copy from adopted memory and its front edge", [](World& w) { w.adopt(); w.kernel_writes(*w.a); },
     [](World& w) { w.copy_from_lent(); },
     {"copy 100 bytes, 'A'[0] on device 0 <- memory of somebody else on host (call)",
      "protect 16384 bytes, 'lent'[0] on host: read"}},
    {"a kernel reads that", [](World& w) { w.adopt(); w.kernel_writes(*w.a); w.copy_from_lent(); },
     [](World& w) { w.kernel_reads(*w.a); },
     {"protect 16384 bytes, 'lent'[0] on host: no access",
      "protect 16384 bytes, 'lent'[0] on host: read",
      "copy 16284 bytes, 'A'[100] on device 0 <- 'lent'[0] on host (fetch)"}},
    {"a release of adopted memory whose content is on the device", [](World& w) { w.adopt(); w.kernel_writes(*w.a); w.copy_to_lent(); },
     [](World& w) { w.lent->release(); },
     {"copy 16284 bytes, 'lent'[0] on host <- 'A'[100] on device 0 (fetch)",
      "protect 16384 bytes, 'lent'[0] on host: read and write",
      "release 16384 bytes, saved copy of 'lent'[0] on host"}},
    {"a release of adopted memory that an array still wants", [](World& w) { w.adopt(); w.kernel_writes(*w.a); w.copy_from_lent(); },
     [](World& w) { w.lent->release(); },
     {"allocate 16284 bytes, saved copy of 'lent'[0] on host",
      "copy 16284 bytes, saved copy of 'lent'[0] on host <- 'lent'[0] on host (save)",
      "protect 16384 bytes, 'lent'[0] on host: read and write",
      "release 16384 bytes, saved copy of 'lent'[0] on host"}},

    // --- blocks. They end at whole blocks of the device's addresses, and A begins 512 bytes behind one. ---
    {"a kernel reads a page of what the host has written, in blocks of two pages",
     [](World& w) { w.host_writes(*w.a_host, {0, size}); w.copy(*w.a, *w.a_host); },
     [](World& w) { w.kernel_uses(*w.a, ByteRange{3 * page, 4 * page}, Access::read); },
     {"map 8192 bytes, 'A'[7680] on device 0",
      "map 512 bytes, 'A'[15872] on device 0",
      "protect 20480 bytes, 'A_host'[0] on host: no access",
      "protect 20480 bytes, 'A_host'[0] on host: read",
      "copy 4096 bytes, 'A'[12288] on device 0 <- 'A_host'[12288] on host (fetch)"}, Room::six_pages_in_blocks_of_two},
    {"a kernel overwrites two pages of another array, so a block leaves that was used longest ago", [](World& w) { w.kernel_writes(*w.a); },
     [](World& w) { w.kernel_uses(*w.b, ByteRange{page, 3 * page}, Access::overwrite); },
     {"allocate 7680 bytes, saved copy of 'A'[0] on host",
      "copy 7680 bytes, saved copy of 'A'[0] on host <- 'A'[0] on device 0 (write back)",
      "evict 7680 bytes, 'A'[0] on device 0",
      "map 7168 bytes, 'B'[0] on device 0",
      "map 8192 bytes, 'B'[7168] on device 0"}, Room::six_pages_in_blocks_of_two},
    {"a kernel reads a page of what has left",
     [](World& w) { w.kernel_writes(*w.a); w.kernel_uses(*w.b, ByteRange{page, 3 * page}, Access::overwrite); },
     [](World& w) { w.kernel_uses(*w.a, ByteRange{0, page}, Access::read); },
     {"allocate 512 bytes, saved copy of 'A'[0] on host",
      "copy 512 bytes, saved copy of 'A'[0] on host <- 'A'[15872] on device 0 (write back)",
      "evict 512 bytes, 'A'[15872] on device 0",
      "allocate 8192 bytes, saved copy of 'A'[0] on host",
      "copy 8192 bytes, saved copy of 'A'[0] on host <- 'A'[7680] on device 0 (write back)",
      "evict 8192 bytes, 'A'[7680] on device 0",
      "map 7680 bytes, 'A'[0] on device 0",
      "copy 4096 bytes, 'A'[0] on device 0 <- saved copy of 'A'[0] on host (fetch)"}, Room::six_pages_in_blocks_of_two},
    {"a kernel reads a page of what has stayed",
     [](World& w) { w.kernel_writes(*w.a); w.kernel_uses(*w.b, ByteRange{page, 3 * page}, Access::overwrite); },
     [](World& w) { w.kernel_uses(*w.a, ByteRange{2 * page, 3 * page}, Access::read); },
     {}, Room::six_pages_in_blocks_of_two},
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
