// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "program.hpp"

#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <optional>
#include <thread>
#include <vector>

/// Parts of arrays with memory of their own on the host (`Lifetimes::allocate_host_part`), and their uses (`HostUses`).
namespace semcache::fakes {
namespace {

using engine::Memory;
using engine::Operand;
using engine::Requirement;

const std::uint64_t page = page_bytes();
const std::uint64_t lead = page / 4;  ///< the leading dimension of the arrays, matrices of bytes with 64 columns
char streams[2];

/// The calling thread has a use of every part on the host under way, or a launch of every array.
struct InUse : engine::Surroundings {
  bool in_launch() const noexcept override { return on; }
  bool in_launch_of(const Memory& m) const noexcept override { return on && m.on_host(); }
  bool on = false;
};

struct Shared : Program {
  static Options options(unsigned devices = 1) {
    Options o = defaults();
    o.devices = devices;
    o.engine.device_memory_bytes = 64 * page + (4u << 20);
    return o;
  }
  explicit Shared(const Options& given = options(), std::uint64_t bytes = 16 * page)
      : Program(given), d(on_device(bytes)), h(on_host(bytes, &d)) {
    if (given.engine.notices) {
      host_write(h, h.all(), 1);
    } else {
      engine().access(h, h.all(), Access::overwrite);
      for (std::uint64_t i = 0; i < bytes; ++i) h.address[i] = mix(1, i);
    }
    before = counters();
  }
  ~Shared() {
    for (Memory* m : parts) engine().lifetimes.deallocate(m);
    engine().audit();
  }
  Memory& part(const Region& where) { return part(d, where); }
  Memory& part(Memory& of, const Region& where) {
    parts.push_back(engine().lifetimes.allocate_host_part(of, where));
    return *parts.back();
  }
  void free_part() {
    engine().lifetimes.deallocate(parts.back());
    parts.pop_back();
  }
  static std::uint64_t position(const Memory& m, std::uint64_t i) { return m.layout.begin + i / m.layout.width * m.layout.pitch + i % m.layout.width; }
  /// Uses the part as the host's processor does. It sees what is returned, and writes each byte with mix(seed, position in the array), if
  /// seed > 0.
  std::vector<std::byte> use(Memory& m, Access mode, std::uint64_t seed = 0) {
    const Requirement all{&m, m.layout, mode};
    engine().host_uses.begin(&all, 1);
    device().check_host_access(m.address, m.bytes, writes(mode));
    std::vector<std::byte> seen(m.address, m.address + m.bytes);
    for (std::uint64_t i = 0; i < m.bytes && seed > 0; ++i) m.address[i] = mix(seed, position(m, i));
    engine().host_uses.end(&all, 1);
    engine().audit();
    return seen;
  }
  void expect_part(const Memory& m, const std::vector<std::byte>& seen, std::uint64_t seed) {
    for (std::uint64_t i = 0; i < seen.size(); ++i) ASSERT_EQ(seen[i], mix(seed, position(m, i))) << i;
  }
  /// Expects that the bytes of `inside` are those of write `in`, and the others those of write `out`.
  static void expect_all(const std::vector<std::byte>& seen, const Region& inside, std::uint64_t in, std::uint64_t out) {
    for (std::uint64_t i = 0; i < seen.size(); ++i) ASSERT_EQ(seen[i], mix(overlap(inside, Region(i, i + 1)) ? in : out, i)) << i;
  }
  Memory& d;
  Memory& h;
  std::vector<Memory*> parts;
  Counters before;
};

const Region upper(0, lead / 2, 64, lead), lower(lead / 2, lead / 2, 64, lead);

TEST(HostParts, TakeTheirBytesFromADeviceAndGiveThemBack) {
  Shared p;
  p.kernel_write(&streams[0], p.d, p.d.all(), 2);
  p.before = p.counters();
  Memory& half = p.part(lower);
  EXPECT_EQ(half.bytes, 8 * page);
  p.expect_part(half, p.use(half, Access::read), 2);
  EXPECT_EQ(p.counters().d2h.bytes - p.before.d2h.bytes, 8 * page) << "the part alone";
  p.expect_part(half, p.use(half, Access::read_write, 3), 2);
  EXPECT_EQ(p.counters().d2h.bytes - p.before.d2h.bytes, 8 * page) << "nothing again";
  EXPECT_EQ(p.engine().state().directory.wanted(p.d.datum).extent_count(), 2u) << "the half and the rest";
  Shared::expect_all(p.device_content(&streams[0], p.d), lower, 3, 2);
  EXPECT_EQ(p.counters().h2d.bytes - p.before.h2d.bytes, 8 * page) << "and the part alone goes back";
  Shared::expect_all(p.host_content(p.h), lower, 3, 2);
}

TEST(HostParts, TakeTheirBytesFromAMirrorWithoutAnyDeviceMemory) {
  Shared p;
  Memory& half = p.part(upper);
  p.expect_part(half, p.use(half, Access::read_write, 2), 1);
  Shared::expect_all(p.host_content(p.h), upper, 2, 1);
  const Counters now = p.counters();
  EXPECT_EQ(now.h2d.bytes + now.d2h.bytes + now.d2d.bytes, 0u);
  EXPECT_EQ(now.h2h.bytes, 2 * 8 * page) << "to the part and back";
  EXPECT_EQ(p.device().mapped_bytes(), 0u);
  EXPECT_FALSE(engine::State::is_resident(p.d));
}

TEST(HostParts, OfAMirrorThatIsAnArrayOfItsOwn) {
  Shared p;
  Memory& alone = p.on_host(4 * page);
  p.host_write(alone, alone.all(), 5);
  Memory& m = p.part(alone, Region(100, page + 200));
  p.expect_part(m, p.use(m, Access::write, 6), 5);
  Shared::expect_all(p.host_content(alone), Region(100, page + 200), 6, 5);
}

TEST(HostParts, ThatAreOverwrittenAreNotFetched) {
  Shared p;
  p.kernel_write(&streams[0], p.d, p.d.all(), 2);
  Memory& half = p.part(upper);
  const std::uint64_t fetched = p.counters().d2h.bytes;
  (void)p.use(half, Access::overwrite, 3);
  EXPECT_EQ(p.counters().d2h.bytes, fetched);
  Shared::expect_all(p.host_content(p.h), upper, 3, 2);
}

TEST(HostParts, SeeWhatWasWrittenElsewhereMeanwhile) {
  Shared p;
  Memory& half = p.part(upper);
  (void)p.use(half, Access::read_write, 2);
  p.kernel_write(&streams[0], p.d, p.d.all(), 3);
  p.expect_part(half, p.use(half, Access::read), 3);
  p.host_write(p.h, {3 * lead + 1, 3 * lead + 2}, 4);
  EXPECT_EQ(p.use(half, Access::read)[3 * (lead / 2) + 1], Machine::mix(4, 3 * lead + 1));
  p.fill(p.d, 7);
  EXPECT_EQ(p.use(half, Access::read)[5], std::byte{7});
  EXPECT_EQ(p.counters().filled.bytes, half.bytes) << "made in place";
  Memory& other = p.on_device(16 * page);
  p.kernel_write(&streams[0], other, other.all(), 5);
  p.copy(p.d, other);
  p.expect_part(half, p.use(half, Access::read), 5);
}

TEST(HostParts, AndPartsOnDevicesAreOneArray) {
  Shared p(Shared::options(2));
  Memory& on_device = *p.engine().lifetimes.allocate_part(1, p.d, upper);
  p.parts.push_back(&on_device);
  Memory& left = p.part(Region(0, lead * 32));
  const Operand operand{&on_device, true};
  Requirement all{&on_device, upper, Access::read_write};
  const engine::QueueIndex q = p.queue(&streams[1], 1);
  (void)p.use(left, Access::read_write, 2);
  (void)p.engine().launches.begin_launch(q, &operand, 1, {&all, 1});
  p.device().launch({&streams[1], 1}, Machine::touches({operand}), [base = on_device.address] {
    for (std::uint64_t i = 0; i < upper.size(); ++i) base[i] = Machine::mix(3, i / upper.width * upper.pitch + i % upper.width);
  });
  p.engine().launches.end_launch(q, &operand, 1);
  const std::vector<std::byte> seen = p.use(left, Access::read);
  for (std::uint64_t i = 0; i < seen.size(); ++i) ASSERT_EQ(seen[i], Machine::mix(i % lead < lead / 2 ? 3 : 2, i)) << i;
}

// I4, I7: a pending copy has the content of the call.
TEST(HostParts, SaveWhatPendingCopiesWantBeforeTheyAreWritten) {
  for (const bool in_part : {true, false}) {  // where the content is at the copy
    Shared p;
    Memory& copy = p.on_device(16 * page);
    Memory& half = p.part(upper);
    if (in_part) (void)p.use(half, Access::overwrite, 2);
    p.copy(copy, p.d);
    (void)p.use(half, Access::read_write, 3);
    Shared::expect_all(p.device_content(&streams[0], copy), upper, in_part ? 2 : 1, 1);
    Shared::expect_all(p.host_content(p.h), upper, 3, 1);
  }
}

TEST(HostParts, BecomeTheSavedCopyWhenTheyAreFreed) {
  Shared p;
  Memory& half = p.part(upper);
  (void)p.use(half, Access::overwrite, 2);
  Statistics s;
  p.engine().add_to(s);
  EXPECT_EQ(s.live_host_bytes, 24 * page);
  EXPECT_EQ(s.snapshot_bytes, 0u);
  p.free_part();
  Statistics after;
  p.engine().add_to(after);
  EXPECT_EQ(after.live_host_bytes, 16 * page);
  EXPECT_EQ(after.snapshot_bytes, 8 * page);
  EXPECT_EQ(p.counters().saved_host.bytes, 0u) << "nothing moves";
  Shared::expect_all(p.host_content(p.h), upper, 2, 1);
  p.engine().audit();
}

TEST(HostParts, AreFreedWhenTheirUseEnds) {
  Shared p;
  Memory& half = p.part(upper);
  const Requirement all{&half, upper, Access::read_write};
  p.engine().host_uses.begin(&all, 1);
  p.free_part();
  for (std::uint64_t i = 0; i < half.bytes; ++i) half.address[i] = Machine::mix(2, Shared::position(half, i));
  p.engine().host_uses.end(&all, 1);
  Shared::expect_all(p.host_content(p.h), upper, 2, 1);
  EXPECT_TRUE(p.engine().state().host_uses.empty());
}

TEST(HostParts, AreRefusedWhereThereCanBeNone) {
  Shared p;
  Memory& half = p.part(upper);
  auto& lifetimes = p.engine().lifetimes;
  EXPECT_THROW((void)lifetimes.allocate_host_part(p.d, Region()), UsageError);
  EXPECT_THROW((void)lifetimes.allocate_host_part(p.d, Region(15 * page, 17 * page)), UsageError);
  EXPECT_THROW((void)lifetimes.allocate_host_part(p.d, Region(0, 100, 3, 50)), UsageError);
  EXPECT_THROW((void)lifetimes.allocate_host_part(half, Region(0, page)), UsageError) << "a part of a part";
  EXPECT_EQ(p.engine().state().find(half.address), nullptr) << "it is found by no address";
}

TEST(HostParts, AreUsedOnlyAsParts) {
  Shared p(Shared::options(2));
  Memory& on_device = *p.engine().lifetimes.allocate_part(1, p.d, upper);
  p.parts.push_back(&on_device);
  for (Memory* m : {&p.d, &p.h, &on_device}) {
    const Requirement all{m, m->positions(), Access::read};
    EXPECT_THROW(p.engine().host_uses.begin(&all, 1), UsageError);
  }
  Memory& half = p.part(upper);
  const Operand operand{&half, false};
  EXPECT_THROW((void)p.engine().launches.begin_launch(p.queue(&streams[0]), &operand, 1), UsageError) << "a kernel does not reach it";
}

TEST(HostParts, OfAnArrayThatHasBeenFreedAreRefused) {
  Shared p;
  Memory& other = p.on_device(4 * page);
  p.kernel_write(&streams[0], other, other.all(), 2);
  Memory& m = p.part(other, Region(0, page));
  (void)p.use(m, Access::read);
  p.free(other);
  try {
    (void)p.use(m, Access::read);
    FAIL();
  } catch (const UsageError& e) {
    EXPECT_NE(std::string(e.what()).find("after the array has been freed"), std::string::npos) << e.what();
  }
  p.engine().audit();
}

/// Another thread frees what a call has named, while the call waits, and makes another one, which gets the same object.
TEST(HostParts, ThatAreFreedMeanwhileAreNotTakenForOthers) {
  Shared p;
  p.kernel_write(&streams[0], p.d, p.d.all(), 2);
  Memory* part = &p.part(upper);
  p.when_unlocked([&] {
    p.free_part();
    EXPECT_EQ(&p.part(lower), part) << "the object is used again";
  });
  const Requirement all{part, upper, Access::read};
  EXPECT_THROW(p.engine().host_uses.begin(&all, 1), UsageError) << "the transfer to it was waited for";
  p.expect_part(*part, p.use(*part, Access::read), 2);

  const std::uint64_t large = std::uint64_t{2} << 20;
  Memory* array = p.engine().lifetimes.allocate_device(0, "array", large);
  p.when_unlocked([&] {  // while memory is page-locked
    p.engine().lifetimes.deallocate(array);
    Memory* const next = p.engine().lifetimes.allocate_device(0, "another array", large);
    EXPECT_EQ(next, array) << "the object is used again";
  });
  EXPECT_THROW((void)p.engine().lifetimes.allocate_host_part(*array, Region(0, large)), UsageError);
  p.engine().lifetimes.deallocate(array);
}

TEST(HostParts, OfOneArrayAreNotWrittenInTwoPlacesByOneUse) {
  Shared p;
  Memory& top = p.part(upper);
  Memory& left = p.part(Region(0, lead * 32));
  Memory& bottom = p.part(lower);
  const auto begin = [&](Memory& one, Access mode, Memory& two, Access other) {
    const Requirement uses[] = {{&one, one.layout, mode}, {&two, two.layout, other}};
    p.engine().host_uses.begin(uses, 2);
    p.engine().host_uses.end(uses, 2);
  };
  EXPECT_THROW(begin(top, Access::read, left, Access::read_write), UsageError);
  EXPECT_THROW(begin(top, Access::overwrite, left, Access::read), UsageError);
  EXPECT_THROW(begin(top, Access::write, top, Access::read), UsageError);
  begin(top, Access::read, left, Access::read);
  begin(top, Access::read_write, bottom, Access::overwrite);
  p.expect_host(p.h, {0, lead / 2}, 1);
  EXPECT_TRUE(p.engine().state().host_uses.empty());
}

/// What the thread asks for that has a use under way is refused where it conflicts with that use, and nowhere else.
TEST(HostUses, RefuseTheirThreadWhatConflicts) {
  InUse own;
  Program::Options o = Shared::options();
  o.engine.surroundings = &own;
  Shared p(o);
  Memory& other = p.on_device(16 * page);
  p.kernel_write(&streams[0], other, other.all(), 9);
  Memory& half = p.part(upper);
  Memory& same = p.part(Region(0, lead / 2, 32, lead));
  std::vector<std::byte> bytes(page);
  memory::TransitBuffer* const message = p.engine().buffers.take(page, base::Side::host);
  const ByteRange piece{0, 64};
  const auto launch = [&](const Region& where, Access mode) { p.launch_parts(&streams[0], {{&p.d, where, mode}}, 8); };
  const auto again = [&](Access mode) { (void)p.use(same, mode); };
  struct Case {
    const char* what;
    bool writes;
    std::function<void()> access;
  };
  const Case cases[] = {
      {"a launch that reads", false, [&] { (void)launch(p.d.all(), Access::read); }},
      {"a launch that writes", true, [&] { p.kernel_write(&streams[0], p.d, p.d.all(), 8); }},
      {"a launch that overwrites", true, [&] { launch(upper, Access::overwrite); }},
      {"an unknown launch", true, [&] {
         std::vector<Operand> all;
         const engine::QueueIndex q = p.queue(&streams[0]);
         p.engine().launches.begin_unknown_launch(q, all);
         p.engine().launches.end_launch(q, all.data(), all.size());
       }},
      {"a copy from the array", false, [&] { p.copy(other, p.d); }},
      {"a copy to the array", true, [&] { p.copy(p.d, other); }},
      {"a copy to untracked memory", false, [&] { p.engine().copies.copy(bytes.data(), p.d.address, page); }},
      {"a copy from untracked memory", true, [&] { p.engine().copies.copy(p.d.address, bytes.data(), page); }},
      {"a copy of columns", true, [&] { p.engine().copies.copy(p.d.address, other.address, {8, 20, lead, lead}); }},
      {"a fill", true, [&] { p.fill(p.d, 3); }},
      {"a read of the mirror", false, [&] { p.engine().access(p.h, {0, page}, Access::read); }},
      {"a write of the mirror", true, [&] { p.engine().access(p.h, {0, page}, Access::write); }},
      {"an overwrite of the mirror", true, [&] { p.engine().access(p.h, p.h.all(), Access::overwrite); }},
      {"an announced overwrite", true, [&] { p.engine().access(p.d, p.d.all(), Access::overwrite); }},
      {"a message that leaves", false, [&] {
         p.engine().foreign_io.read_out(p.d, 0, &piece, 1, *message, message->address);
         p.engine().foreign_io.settle_buffer(*message);
       }},
      {"a message that arrives", true, [&] { p.engine().foreign_io.write_in(p.d, 0, &piece, 1, *message, message->address); }},
      {"another use that reads", false, [&] { again(Access::read); }},
      {"another use that writes", true, [&] { again(Access::read_write); }},
  };
  for (const Case& c : cases) {
    for (const bool writes : {false, true}) {
      const std::uint64_t seed = 100 + static_cast<std::uint64_t>(&c - cases) * 2 + writes;
      p.kernel_write(&streams[0], p.d, p.d.all(), seed);
      const Requirement all{&half, upper, writes ? Access::read_write : Access::read};
      p.engine().host_uses.begin(&all, 1);
      own.on = true;
      const bool conflicts = c.writes || writes;
      std::string said;
      try {
        c.access();
      } catch (const UsageError& e) {
        said = e.what();
      }
      EXPECT_EQ(said.find("in use on the host") != std::string::npos, conflicts) << c.what << (writes ? " beside a write: " : ": ") << said;
      own.on = false;
      p.expect_part(half, {half.address, half.address + half.bytes}, seed);
      for (std::uint64_t i = 0; i < half.bytes && writes; ++i) half.address[i] = Machine::mix(seed + 1000, Shared::position(half, i));
      p.engine().host_uses.end(&all, 1);
      p.engine().audit();
      if (!conflicts) continue;  // I9: nothing else has changed
      Shared::expect_all(p.host_content(p.h), upper, writes ? seed + 1000 : seed, seed);
      Shared::expect_all(p.device_content(&streams[0], p.d), upper, writes ? seed + 1000 : seed, seed);
    }
  }
  p.engine().buffers.give(message);
}

TEST(HostUses, LetOtherBytesBe) {
  InUse own;
  Program::Options o = Shared::options();
  o.engine.surroundings = &own;
  Shared p(o);
  p.kernel_write(&streams[0], p.d, p.d.all(), 2);
  Memory& half = p.part(upper);
  const Requirement all{&half, upper, Access::read_write};
  p.engine().host_uses.begin(&all, 1);
  own.on = true;
  p.launch_parts(&streams[0], {{&p.d, lower, Access::read_write}}, 3);
  p.launch_parts(&streams[0], {{&p.d, Region(3 * lead / 4, 7, 30, 2 * lead), Access::read}});
  Memory& rest = p.part(lower);
  p.expect_part(rest, p.use(rest, Access::read), 3);
  own.on = false;
  for (std::uint64_t i = 0; i < half.bytes; ++i) half.address[i] = Machine::mix(4, Shared::position(half, i));
  p.engine().host_uses.end(&all, 1);
  Shared::expect_all(p.host_content(p.h), upper, 4, 3);
}

/// A fault of another thread that would also read ahead what is in use is served for its page alone: the use's thread may wait for it.
TEST(HostUses, LetFaultsOfOtherBytesBe) {
  for (const bool writes : {false, true}) {
    Shared p;
    p.kernel_write(&streams[0], p.d, p.d.all(), 2);
    p.expect_host(p.h, {0, 1}, 2);  // reading ahead goes forward from here
    Memory& m = p.part(ByteRange{3 * page, 16 * page});
    const Requirement all{&m, m.layout, writes ? Access::read_write : Access::read};
    p.engine().host_uses.begin(&all, 1);
    bool waited = false;
    int left = 1000;  // waits for transfers
    std::function<void()> ends = [&] {
      if (left-- > 0) return p.when_unlocked(ends);
      waited = true;
      p.engine().host_uses.end(&all, 1);
    };
    p.when_unlocked(ends);
    if (writes) p.expect_host(p.h, {page, page + 1}, 2);
    else p.host_write(p.h, {2 * page, 2 * page + 1}, 2);
    p.when_unlocked(nullptr);
    EXPECT_FALSE(waited);
    if (!waited) p.engine().host_uses.end(&all, 1);
    p.expect_host(p.h, {2 * page, 16 * page}, 2);
  }
}

/// A thread that waits for a use goes on when it ends, also where the use's thread begins another one at once that is in nobody's way.
TEST(HostUses, AreWaitedForNoLongerThanTheyLast) {
  Program::Options o = Shared::options();
  o.engine.patience = std::chrono::seconds(0);
  Shared p(o);
  p.kernel_write(&streams[0], p.d, p.d.all(), 2);
  Memory& half = p.part(upper);
  const Requirement all{&half, upper, Access::read_write}, reads{&half, upper, Access::read};
  p.engine().host_uses.begin(&all, 1);
  p.when_unlocked([&] {
    for (std::uint64_t i = 0; i < half.bytes; ++i) half.address[i] = Machine::mix(3, Shared::position(half, i));
    p.engine().host_uses.end(&all, 1);
    p.engine().host_uses.begin(&reads, 1);
  });
  p.expect_host(p.h, {0, lead / 2}, 3);
  p.engine().host_uses.end(&reads, 1);
}

/// Uses that follow each other without a gap let a thread go first that waits for their end.
TEST(HostUses, GiveWay) {
  Shared p;
  p.kernel_write(&streams[0], p.d, p.d.all(), 2);
  Memory& half = p.part(upper);
  const Requirement all{&half, upper, Access::read};
  std::atomic<bool> written{false};
  std::atomic<int> uses{0};
  std::vector<std::thread> readers;
  for (int i = 0; i < 8; ++i) {
    readers.emplace_back([&] {  // there is a use under way nearly always
      while (!written) {
        p.engine().host_uses.begin(&all, 1);
        ++uses;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        p.engine().host_uses.end(&all, 1);
      }
    });
  }
  while (uses < 20) std::this_thread::yield();
  p.launch_parts(&streams[0], {{&p.d, ByteRange{0, page}, Access::read_write}}, 3);
  written = true;
  for (std::thread& t : readers) t.join();
  p.expect_host(p.h, {0, page}, 3);
}

/// Two parts that are written in one use have the same content, which a third array wants.
TEST(HostUses, OfTwoPartsSaveWhatOthersWant) {
  for (const Access mode : {Access::read_write, Access::overwrite}) {
    Shared p;
    Memory& old = p.on_device(16 * page);
    Memory& wants = p.on_device(16 * page);
    Memory& first = p.part(p.d, p.d.all());
    Memory& second = p.part(old, old.all());
    (void)p.use(first, Access::overwrite, 2);
    p.copy(old, p.d);
    p.copy(wants, p.d);
    p.expect_part(second, p.use(second, Access::read), 2);
    const Requirement both[] = {{&first, first.layout, mode}, {&second, second.layout, mode}};
    p.engine().host_uses.begin(both, 2);
    for (Memory* m : {&first, &second}) std::memset(m->address, 9, m->bytes);
    p.engine().host_uses.end(both, 2);
    p.engine().audit();
    Shared::expect_all(p.device_content(&streams[0], wants), {}, 0, 2);
    for (Memory* m : {&first, &second}) EXPECT_EQ(p.use(*m, Access::read), std::vector<std::byte>(m->bytes, std::byte{9}));
  }
}

/// A use that waits for, or is refused because of, one part has not touched the others: they hold what they held, for everybody.
TEST(HostUses, OfTwoPartsTouchNoneBeforeAllAreFree) {
  for (const bool refused : {false, true}) {
    InUse own;
    Program::Options o = Shared::options();
    if (refused) o.engine.surroundings = &own;
    Shared p(o);
    Memory& other = p.on_device(16 * page);
    p.kernel_write(&streams[0], other, other.all(), 5);
    Memory& first = p.part(upper);
    Memory& second = p.part(other, upper);
    Memory& same = p.part(other, upper);
    const Requirement reads{&same, upper, Access::read};
    const Requirement both[] = {{&first, upper, Access::overwrite}, {&second, upper, Access::overwrite}};
    p.engine().host_uses.begin(&reads, 1);
    if (refused) {
      own.on = true;
      EXPECT_THROW(p.engine().host_uses.begin(both, 2), UsageError);
      own.on = false;
      Shared::expect_all(p.device_content(&streams[0], p.d), {}, 0, 1);
      p.engine().host_uses.end(&reads, 1);
    } else {
      p.when_unlocked([&] {
        Shared::expect_all(p.host_content(p.h), {}, 0, 1);
        p.engine().host_uses.end(&reads, 1);
      });
    }
    p.engine().host_uses.begin(both, 2);
    for (Memory* m : {&first, &second}) std::memset(m->address, 9, m->bytes);
    p.engine().host_uses.end(both, 2);
    EXPECT_EQ(p.use(first, Access::read), std::vector<std::byte>(first.bytes, std::byte{9}));
  }
}

/// The limit holds for the whole wait, also where other uses end meanwhile.
TEST(HostUses, DoNotWaitForEachOtherLongerWhereOthersEnd) {
  struct OwnIsAnother : engine::Surroundings {
    bool in_launch() const noexcept override { return limited; }
    std::atomic<bool> limited{false};
  } own;
  Program::Options o = Shared::options();
  o.engine.surroundings = &own;
  o.engine.patience = std::chrono::seconds(1);
  Shared p(o);
  Memory& half = p.part(upper);
  Memory& same = p.part(upper);
  Memory& other = p.part(lower);
  const Requirement all{&half, upper, Access::read_write}, rest{&other, lower, Access::read};
  p.engine().host_uses.begin(&all, 1);
  std::atomic<bool> over{false};
  std::thread ends([&] {
    while (!over) {
      p.engine().host_uses.begin(&rest, 1);
      p.engine().host_uses.end(&rest, 1);
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  });
  own.limited = true;
  EXPECT_THROW((void)p.use(same, Access::read), SystemError);
  own.limited = false;
  over = true;
  ends.join();
  p.engine().host_uses.end(&all, 1);
}

/// What is refused because of a use of this thread is refused before the first piece of it is made.
TEST(HostUses, OfAThreadAreInTheWayOfAWholeCopyAndMessage) {
  InUse own;
  Program::Options o = Shared::options();
  o.engine.surroundings = &own;
  o.device.block_bytes = o.device.granularity_bytes = 2 * page;
  o.engine.device_memory_bytes = 8 * page;
  Shared p(o);
  Memory& last = p.part(ByteRange{15 * page, 16 * page});
  std::vector<std::byte> bytes(16 * page, std::byte{7});
  memory::TransitBuffer* const message = p.engine().buffers.take(16 * page, base::Side::host);
  std::memset(message->address, 7, 16 * page);
  const ByteRange piece{0, 16 * page};
  for (const bool writes : {false, true}) {
    const Requirement all{&last, last.layout, writes ? Access::read_write : Access::read};
    p.engine().host_uses.begin(&all, 1);
    own.on = true;
    if (writes) {
      EXPECT_THROW(p.engine().copies.copy(bytes.data(), p.d.address, bytes.size()), UsageError);
      EXPECT_EQ(bytes, std::vector<std::byte>(bytes.size(), std::byte{7}));
    }
    EXPECT_THROW(p.engine().copies.copy(p.d.address, bytes.data(), bytes.size()), UsageError);
    EXPECT_THROW(p.engine().foreign_io.write_in(p.d, 0, &piece, 1, *message, message->address), UsageError);
    own.on = false;
    p.engine().host_uses.end(&all, 1);
    Shared::expect_all(p.host_content(p.h), {}, 0, 1);
  }
  p.engine().buffers.give(message);
}

/// A copy that can be linked only if its source gets a new number is made at the call where a use reads the source.
TEST(HostUses, ThatReadAreNotInTheWayOfACopyFromACutArray) {
  InUse own;
  Program::Options o = Shared::options();
  o.engine.surroundings = &own;
  Shared p(o);
  p.launch_parts(&streams[0], {{&p.d, upper, Access::overwrite}}, 2);
  Memory& to = p.on_device(16 * page);
  Memory& m = p.part(ByteRange{0, page});
  const Requirement all{&m, m.layout, Access::read};
  for (const bool in_use : {false, true}) {
    if (in_use) p.engine().host_uses.begin(&all, 1);
    own.on = in_use;
    EXPECT_NO_THROW(p.engine().copies.copy(to.address + 3, p.d.address + 1, 15 * page));
    own.on = false;
    if (in_use) p.engine().host_uses.end(&all, 1);
    const std::vector<std::byte> seen = p.device_content(&streams[0], to);
    for (std::uint64_t i = 1; i < 15 * page; ++i) ASSERT_EQ(seen[i + 2], Machine::mix(i % lead < lead / 2 ? 2 : 1, i)) << i;
  }
}

/// Maps that have become long are shortened when no use needs them as they are.
TEST(HostUses, AreNotWaitedForToShortenMaps) {
  Shared p;
  p.kernel_write(&streams[0], p.d, p.d.all(), 2);
  (void)p.host_content(p.h);  // the host has everything, too, so each write gets a number of its own
  Memory& half = p.part(upper);
  const auto extents = [&] { return p.engine().state().directory.wanted(p.d.datum).extent_count(); };
  const auto crumbs = [&](std::uint64_t seed) {
    for (std::uint64_t c = 0; c < 64; ++c) p.launch_parts(&streams[0], {{&p.d, ByteRange{c * lead + lead / 2, c * lead + lead / 2 + 7}, Access::read_write}}, seed);
  };
  const Requirement all{&half, upper, Access::read};
  p.engine().host_uses.begin(&all, 1);
  bool waited = false;
  p.when_unlocked([&] {
    waited = true;
    p.engine().host_uses.end(&all, 1);
  });
  crumbs(3);
  crumbs(4);
  EXPECT_FALSE(waited);
  EXPECT_GT(extents(), 64u);
  p.expect_part(half, {half.address, half.address + half.bytes}, 2);
  p.when_unlocked(nullptr);
  if (!waited) p.engine().host_uses.end(&all, 1);
  p.launch_parts(&streams[0], {{&p.d, ByteRange{3, 4}, Access::read_write}}, 2);
  EXPECT_LE(extents(), 64u);
  p.expect_host(p.h, {0, lead / 2}, 2);
  p.expect_host(p.h, {lead / 2, lead / 2 + 7}, 4);
}

/// Another thread's access waits, and is carried out when the use has ended.
TEST(HostUses, AreWaitedForByOtherThreads) {
  for (const bool writes : {false, true}) {
    Shared p;
    p.kernel_write(&streams[0], p.d, p.d.all(), 2);
    Memory& half = p.part(upper);
    const Requirement all{&half, upper, writes ? Access::read_write : Access::read};
    p.engine().host_uses.begin(&all, 1);
    bool ended = false;
    p.when_unlocked([&] {  // the other thread, while this one waits
      for (std::uint64_t i = 0; i < half.bytes && writes; ++i) half.address[i] = Machine::mix(3, Shared::position(half, i));
      ended = true;
      p.engine().host_uses.end(&all, 1);
    });
    p.launch_parts(&streams[0], {{&p.d, ByteRange{0, 2 * page}, Access::read_write}}, 4);
    EXPECT_TRUE(ended);
    const std::vector<std::byte> seen = p.host_content(p.h);
    for (std::uint64_t i = 0; i < seen.size(); ++i) {
      ASSERT_EQ(seen[i], Machine::mix(i < 2 * page ? 4 : writes && i % lead < lead / 2 ? 3 : 2, i)) << i;
    }
  }
}

/// Two threads wait for each other's uses: the wait of a thread that has a use itself is limited.
TEST(HostUses, DoNotWaitForEachOtherForEver) {
  struct OwnIsAnother : engine::Surroundings {
    bool in_launch() const noexcept override { return true; }
  } own;
  Program::Options o = Shared::options();
  o.engine.surroundings = &own;
  o.engine.patience = std::chrono::seconds(0);
  Shared p(o);
  Memory& half = p.part(upper);
  Memory& same = p.part(upper);
  const Requirement all{&half, upper, Access::read_write};
  p.engine().host_uses.begin(&all, 1);
  EXPECT_THROW((void)p.use(same, Access::read), SystemError);
  p.engine().host_uses.end(&all, 1);
  p.expect_part(same, p.use(same, Access::read), 1);
}

/// Large parts are page-locked, so the device copies from and to them while the host goes on.
TEST(HostParts, ThatArePageLockedAreNotChangedUnderATransfer) {
  const std::uint64_t large = std::uint64_t{3} << 20;
  Program::Options o = Shared::options();
  o.engine.device_memory_bytes = 16u << 20;
  Shared p(o, large);
  p.kernel_write(&streams[0], p.d, p.d.all(), 2);
  for (const Region& where : {Region(4096 + 8, large), Region(64, 6000, 256, 12000)}) {
    Memory& m = p.part(where);
    EXPECT_TRUE(m.from_pool);
    p.expect_part(m, p.use(m, Access::read), 2);
    (void)p.use(m, Access::overwrite, 3);
    std::vector<std::byte> seen;
    p.kernel_read(&streams[0], p.d, seen);  // the transfer from the part is under way
    (void)p.use(m, Access::overwrite, 4);   // checks that nothing in flight uses the memory
    p.device().synchronize_device();
    Shared::expect_all(seen, where, 3, 2);
    p.kernel_read(&streams[0], p.d, seen);
    p.free_part();  // waits for the transfer
    p.device().synchronize_device();
    Shared::expect_all(seen, where, 4, 2);
    p.kernel_write(&streams[0], p.d, p.d.all(), 2);
  }
}

TEST(HostParts, AreAsOthersWithoutNoticesAndUnderChecks) {
  for (const engine::Protocol protocol : {engine::Protocol::off, engine::Protocol::write_through, engine::Protocol::write_back}) {
    Program::Options o = protocol == engine::Protocol::write_back ? Program::guarded() : Shared::options();
    o.engine.protocol = protocol;
    o.engine.notices = protocol != engine::Protocol::off;
    o.engine.check = protocol == engine::Protocol::write_back;
    Shared p(o);
    p.kernel_write(&streams[0], p.d, p.d.all(), 2);
    Memory& half = p.part(upper);
    p.expect_part(half, p.use(half, Access::read_write, 3), 2);
    if (protocol == engine::Protocol::write_through) {
      EXPECT_TRUE(p.engine().state().directory.fresh(p.h.slot, upper)) << "the mirror has it at the end of the use";
    }
    Shared::expect_all(p.device_content(&streams[0], p.d), upper, 3, 2);
    p.engine().access(p.h, p.h.all(), Access::read);
    Shared::expect_all(p.host_content(p.h), upper, 3, 2);
  }
}

/// With write-through, the mirror is up to date behind the end of a use, also where a launch wrote beside the part meanwhile.
TEST(HostUses, WriteThroughWhatLaunchesWroteMeanwhile) {
  Program::Options o = Shared::options();
  o.engine.protocol = engine::Protocol::write_through;
  Shared p(o);
  p.kernel_write(&streams[0], p.d, p.d.all(), 2);
  Memory& half = p.part(upper);
  const Requirement all{&half, upper, Access::read_write};
  p.engine().host_uses.begin(&all, 1);
  p.launch_parts(&streams[0], {{&p.d, lower, Access::read_write}}, 3);
  for (std::uint64_t i = 0; i < half.bytes; ++i) half.address[i] = Machine::mix(4, Shared::position(half, i));
  p.engine().host_uses.end(&all, 1);
  EXPECT_TRUE(p.engine().state().directory.fresh(p.h.slot, p.h.all()));
  Shared::expect_all(p.host_content(p.h), upper, 4, 3);
}

/// Without notices nobody knows what is in a mirror that is an array of its own.
TEST(HostParts, OfMirrorsWithProtocolOffAreRefused) {
  Program::Options o = Shared::options();
  o.engine.protocol = engine::Protocol::off;
  o.engine.notices = false;
  Shared p(o);
  Memory& alone = p.on_host(4 * page);
  EXPECT_THROW((void)p.engine().lifetimes.allocate_host_part(alone, alone.all()), UsageError);
  EXPECT_THROW((void)p.engine().lifetimes.allocate_part(0, alone, alone.all()), UsageError);
  // Of one whose accesses the program has promised to announce there are.
  Memory& promised = *p.engine().lifetimes.allocate_host("promised", 4 * page, nullptr, base::Accesses::announced);
  Memory& part = *p.engine().lifetimes.allocate_part(0, promised, promised.all());
  p.kernel_write(&streams[0], part, part.all(), 3);
  p.engine().access(promised, promised.all(), Access::read);
  p.expect_host(promised, 3);
  p.engine().access(promised, promised.all(), Access::overwrite);
  p.host_write(promised, promised.all(), 4);
  p.launch_parts(&streams[0], {{&part, part.all(), Access::read_write}}, 5);
  p.engine().access(promised, promised.all(), Access::read);
  p.expect_host(promised, 5);
  p.engine().lifetimes.deallocate(&part);
  p.engine().lifetimes.deallocate(&promised);
}

TEST(HostParts, OfAnArrayLargerThanTheBudget) {
  Program::Options o = Shared::options();
  o.device.block_bytes = o.device.granularity_bytes = 2 * page;
  o.engine.device_memory_bytes = 8 * page;
  Shared p(o);
  Memory& m = p.part(Region(page, 13 * page));
  p.expect_part(m, p.use(m, Access::read_write, 2), 1);
  p.launch_parts(&streams[0], {{&p.d, ByteRange{0, 4 * page}, Access::read_write}}, 3);
  const std::vector<std::byte> seen = p.use(m, Access::read);
  for (std::uint64_t i = 0; i < seen.size(); ++i) ASSERT_EQ(seen[i], Machine::mix(page + i < 4 * page ? 3 : 2, page + i)) << i;
}

}  // namespace
}  // namespace semcache::fakes
