// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <engine/program.hpp>
#include <fakes/random.hpp>

#include <memory>

namespace semcache::fakes {
namespace {

using engine::Memory;
using engine::TransitBuffer;

char stream_a;
const std::uint64_t page = page_bytes();
const std::uint64_t size = 5 * page + 100;

TEST(ForeignIo, ExactlyThePiecesCrossAndAreComplete) {
  Program p;
  Memory& d = p.on_device(size);
  p.kernel_write(&stream_a, d, d.all(), 1);
  TransitBuffer* buffer = p.engine().buffers.take(size, base::Side::host);
  const ByteRange pieces[] = {{10, 20}, {3000, 7001}};

  p.engine().foreign_io.read_out(d, 5, pieces, 2, *buffer, buffer->address);
  p.engine().foreign_io.settle_buffer(*buffer);

  for (const ByteRange r : pieces) {
    for (std::uint64_t i = r.begin; i < r.end; ++i) ASSERT_EQ(buffer->address[i], Machine::mix(1, 5 + i)) << i;
  }
  EXPECT_EQ(p.counters().d2h.bytes, 10u + 4001u);
  p.engine().buffers.give(buffer);
}

TEST(ForeignIo, I4AReaderElsewhereKeepsWhatWasOverwritten) {
  Program p;
  Memory& d = p.on_device(size);
  Memory& h = p.on_host(size);
  p.kernel_write(&stream_a, d, d.all(), 1);
  p.copy(h, d);
  TransitBuffer* buffer = p.engine().buffers.take(size, base::Side::host);
  for (std::uint64_t i = 0; i < 100; ++i) buffer->address[i] = Machine::mix(2, 1000 + i);
  const ByteRange piece{0, 100};

  p.engine().foreign_io.write_in(d, 1000, &piece, 1, *buffer, buffer->address);
  p.engine().buffers.give(buffer);

  p.expect_host(h, 1);
  p.expect_device(d, {0, 1000}, 1, &stream_a);
  p.expect_device(d, {1000, 1100}, 2, &stream_a);
  p.expect_device(d, {1100, size}, 1, &stream_a);
}

TEST(ForeignIo, ABufferIsWrittenAgainOnlyAfterItWasRead) {
  Program p;
  Memory& d = p.on_device(size);
  TransitBuffer* buffer = p.engine().buffers.take(size, base::Side::host);
  for (std::uint64_t round = 1; round <= 5; ++round) {
    p.engine().foreign_io.settle_buffer(*buffer);
    for (std::uint64_t i = 0; i < size; ++i) buffer->address[i] = Machine::mix(round, i);
    const ByteRange piece = d.all();
    p.engine().foreign_io.write_in(d, 0, &piece, 1, *buffer, buffer->address);  // nothing happens before somebody waits
  }
  p.expect_device(d, 5);
  p.engine().buffers.give(buffer);
}

TEST(ForeignIo, BuffersAreReusedAndTheirMemoryIsBounded) {
  Program p;
  Memory& d = p.on_device(size);
  const ByteRange piece = d.all();
  TransitBuffer* first = p.engine().buffers.take(size, base::Side::host);
  std::byte* const address = first->address;
  p.engine().buffers.give(first);
  TransitBuffer* again = p.engine().buffers.take(size, base::Side::host);
  EXPECT_EQ(again->address, address);
  for (std::uint64_t i = 0; i < size; ++i) again->address[i] = Machine::mix(1, i);
  p.engine().foreign_io.write_in(d, 0, &piece, 1, *again, again->address);
  p.engine().buffers.give(again);

  TransitBuffer* other = p.engine().buffers.take(size, base::Side::host);
  EXPECT_NE(other->address, address) << "the device has not read it yet";
  p.engine().buffers.give(other);
  p.expect_device(d, 1);
  constexpr std::uint64_t large = 60u << 20;
  for (int i = 0; i < 6; ++i) {
    std::vector<TransitBuffer*> taken;
    for (int k = 0; k < 5; ++k) taken.push_back(p.engine().buffers.take(large, base::Side::host));
    for (TransitBuffer* b : taken) p.engine().buffers.give(b);
  }
  const std::uint64_t kept = p.engine().buffers.idle_bytes(host_space);
  EXPECT_EQ(kept, 4 * large);
  p.engine().buffers.give(p.engine().buffers.take(300u << 20, base::Side::host));
  EXPECT_EQ(p.engine().buffers.idle_bytes(host_space), kept) << "others leave for a buffer that is not kept";
}

/// What a persistent send is to the engine: the same pieces in the same buffer, again and again.
struct Repeated {
  Program& p;
  Memory& m;
  std::uint64_t position;
  std::vector<ByteRange> pieces;
  TransitBuffer* buffer;

  Repeated(Program& program, Memory& memory, std::uint64_t at, std::vector<ByteRange> what, base::Side side)
      : p(program), m(memory), position(at), pieces(std::move(what)), buffer(p.engine().buffers.take(size, side)) {}
  ~Repeated() { p.engine().buffers.give(buffer); }
  Repeated(const Repeated&) = delete;
  Repeated& operator=(const Repeated&) = delete;

  void start() {
    p.engine().foreign_io.read_out(m, position, pieces.data(), pieces.size(), *buffer, buffer->address);
    p.engine().foreign_io.settle_buffer(*buffer);
  }
  void rest() {
    p.engine().foreign_io.expect_read_out(m, position, pieces.data(), pieces.size(), *buffer, buffer->address);
  }
  /// The first byte that is not `content(position in the array)`; none: size.
  template <class Content>
  std::uint64_t first_wrong(Content&& content) const {
    for (const ByteRange r : pieces) {
      for (std::uint64_t i = r.begin; i < r.end; ++i) {
        if (buffer->address[i] != content(position + i)) return position + i;
      }
    }
    return size;
  }
  void expect(std::uint64_t seed) const {
    EXPECT_EQ(first_wrong([&](std::uint64_t i) { return Machine::mix(seed, i); }), size) << "of content " << seed;
  }
};

TEST(ForeignIo, WhatMessagesAlwaysTakeIsBroughtBehindItsKernel) {
  for (const bool on_device : {false, true}) {
    Program p;
    Memory& d = p.on_device(size);
    Repeated left(p, d, 0, {{0, 500}}, on_device ? base::Side::device : base::Side::host);
    Repeated right(p, d, 900, {{0, 100}, {200, 1000}}, on_device ? base::Side::device : base::Side::host);
    const auto moved = [&] { return on_device ? p.counters().d2d : p.counters().d2h; };
    for (std::uint64_t round = 1; round <= 10; ++round) {
      p.kernel_write(&stream_a, d, d.all(), round);
      EXPECT_EQ(moved().bytes, 1400 * (round == 1 ? 0 : round)) << "round " << round;  // once is enough
      for (Repeated* r : {&left, &right}) r->start();
      for (Repeated* r : {&left, &right}) r->expect(round);
      for (Repeated* r : {&left, &right}) r->rest();
      EXPECT_EQ(moved().bytes, 1400 * round);
    }
    EXPECT_EQ(p.counters().read_ahead.bytes, 9 * 1400u);
  }
}

/// Of an announced array the host's messages ask as its own uses do.
TEST(ForeignIo, WhatMessagesOfTheHostAlwaysTakeIsSentBehindItsKernel) {
  Program p;
  Memory& d = p.on_device(size);
  Memory* const h = p.engine().lifetimes.allocate_host("buffer", size, &d, base::Accesses::announced);
  TransitBuffer* const buffer = p.engine().buffers.take(size, base::Side::host);
  const ByteRange piece{0, size};
  for (std::uint64_t round = 1; round <= 10; ++round) {
    p.kernel_write(&stream_a, d, d.all(), round);
    p.engine().foreign_io.read_out(*h, 0, &piece, 1, *buffer, buffer->address);
    p.engine().foreign_io.settle_buffer(*buffer);
    EXPECT_EQ(buffer->address[100], Machine::mix(round, 100));
  }
  EXPECT_EQ(p.counters().read_ahead.bytes, 8 * size);
  p.engine().buffers.give(buffer);
  p.engine().lifetimes.deallocate(h);
}

/// A message that is under way has its own bytes, whatever was expected of its memory before.
TEST(ForeignIo, NothingIsBroughtToAMessageThatIsUnderWay) {
  Program p;
  Memory& d = p.on_device(size);
  Repeated message(p, d, 0, {{0, 1000}}, base::Side::host);
  for (std::uint64_t round = 1; round <= 4; ++round) {
    p.kernel_write(&stream_a, d, d.all(), round);
    message.start();
    message.rest();
  }
  p.engine().foreign_uses.native_capture(d, timeline::Mode::reads);  // so nothing is brought behind this kernel
  p.kernel_write(&stream_a, d, d.all(), 5);
  message.start();  // and is not complete yet
  for (std::uint64_t round = 6; round <= 8; ++round) p.kernel_write(&stream_a, d, d.all(), round);
  p.device().synchronize_device();
  message.expect(5);
}

/// What a message overwrites is not fetched before.
TEST(ForeignIo, AnArrivalFetchesNothing) {
  Program p;
  Memory& d = p.on_device(size);
  Memory& h = p.on_host(size);
  p.host_write(h, h.all(), 1);
  p.copy(d, h);
  TransitBuffer* const buffer = p.engine().buffers.take(size, base::Side::host);
  const ByteRange piece{0, 1000};
  p.engine().foreign_io.write_in(d, 0, &piece, 1, *buffer, buffer->address);
  EXPECT_EQ(p.counters().h2d.bytes, piece.size());
  p.engine().buffers.give(buffer);
}

/// More pieces than the maps should hold are one range, in which what lies between them keeps its content.
TEST(ForeignIo, ManyPiecesLeaveWhatLiesBetweenThem) {
  for (const bool in : {true, false}) {
    Program p;
    Memory& d = p.on_device(size);
    Memory& h = p.on_host(size);
    p.host_write(h, h.all(), 1);
    p.copy(d, h);
    std::vector<ByteRange> pieces;
    for (std::uint64_t i = 0; i < 200; ++i) pieces.push_back({20 * i, 20 * i + 10});
    TransitBuffer* const buffer = p.engine().buffers.take(size, base::Side::host);
    Memory& m = in ? d : h;
    if (in) {
      for (std::uint64_t i = 0; i < size; ++i) buffer->address[i] = Machine::mix(2, i);
      p.engine().foreign_io.write_in(m, 0, pieces.data(), pieces.size(), *buffer, buffer->address);
      const std::vector<std::byte> seen = p.device_content(&stream_a, d);
      for (std::uint64_t i = 0; i < size; ++i) {
        ASSERT_EQ(seen[i], Machine::mix(i < 4000 && i % 20 < 10 ? 2 : 1, i)) << i;
      }
      Statistics s;
      p.engine().add_to(s);
      EXPECT_LT(s.directory_bytes, 64 * 1024u);
    } else {
      p.kernel_write(&stream_a, d, d.all(), 3);
      p.copy(h, d);
      p.engine().foreign_io.read_out(m, 0, pieces.data(), pieces.size(), *buffer, buffer->address);
      p.engine().foreign_io.settle_buffer(*buffer);
      for (const ByteRange r : pieces) ASSERT_EQ(buffer->address[r.begin], Machine::mix(3, r.begin));
      EXPECT_EQ(p.counters().d2h.count, 1u) << "one transfer for all";
    }
    EXPECT_EQ(p.counters().hulls, 1u);
    EXPECT_EQ(p.recorder().of(m.label).hulls, 1u);
    p.engine().buffers.give(buffer);
    p.expect_host(h, in ? 1 : 3);
  }
}

TEST(ForeignIo, AsManyPiecesAsTheMapsHoldAreNoHull) {
  for (const bool in : {true, false}) {
    for (const std::size_t count : {64u, 65u}) {
      Program p;
      Memory& h = p.on_host(size);
      p.host_write(h, h.all(), 1);
      std::vector<ByteRange> pieces;
      for (std::uint64_t i = 0; i < count; ++i) pieces.push_back({20 * i, 20 * i + 10});
      TransitBuffer* const buffer = p.engine().buffers.take(size, base::Side::host);
      for (std::uint64_t i = 0; in && i < size; ++i) buffer->address[i] = Machine::mix(2, i);
      if (in) {
        p.engine().foreign_io.write_in(h, 0, pieces.data(), count, *buffer, buffer->address);
      } else {
        p.engine().foreign_io.read_out(h, 0, pieces.data(), count, *buffer, buffer->address);
      }
      EXPECT_EQ(p.counters().hulls, size / 19200 < 64 && count > 64 ? 1u : 0u) << count << (in ? " arrive" : " leave");
      p.engine().buffers.give(buffer);
    }
  }
}

TEST(ForeignIo, RequestsThatTakeTurnsBehindTheirOwnKernelsAreNotBroughtForEachOther) {
  Program p;
  Memory& d = p.on_device(size);
  Repeated red(p, d, 0, {{0, 1000}}, base::Side::host), black(p, d, 1000, {{0, 1000}}, base::Side::host);
  constexpr std::uint64_t rounds = 20;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    for (Repeated* r : {&red, &black}) {
      const std::uint64_t seed = 2 * round + (r == &black);
      p.kernel_write(&stream_a, d, d.all(), seed);
      r->start();
      r->expect(seed);
      r->rest();
    }
  }
  EXPECT_LE(p.counters().d2h.bytes, (2 * rounds + 2) * 1000);  // a forecast that fails is made once for each
}

TEST(ForeignIo, WhatWasBroughtIsNotSentOnceAnybodyWroteTheArray) {
  for (const bool on_device : {false, true}) {
    for (int writer = 0; writer < 6; ++writer) {
      Program p;
      Memory& d = p.on_device(size);
      Memory& h = p.on_host(size, &d);
      Memory& other = p.on_device(size);
      Repeated message(p, d, 100, {{0, 2000}}, on_device ? base::Side::device : base::Side::host);
      for (std::uint64_t round = 1; round <= 3; ++round) {
        message.start();
        message.rest();
        p.kernel_write(&stream_a, d, d.all(), round);
      }
      ASSERT_GT(p.counters().read_ahead.bytes, 0u);
      switch (writer) {
        case 0: p.kernel_write(&stream_a, d, d.all(), 77); break;
        case 1: p.host_write(h, h.all(), 77); break;
        case 2:
          p.kernel_write(&stream_a, other, other.all(), 77);
          p.copy(d, other);
          break;
        case 3: {
          TransitBuffer* arriving = p.engine().buffers.take(size, base::Side::host);
          for (std::uint64_t i = 0; i < size; ++i) arriving->address[i] = Machine::mix(77, i);
          const ByteRange all = d.all();
          p.engine().foreign_io.write_in(d, 0, &all, 1, *arriving, arriving->address);
          p.engine().buffers.give(arriving);
          break;
        }
        case 4: {  // the host wrote, and a kernel fetched it
          p.host_write(h, h.all(), 77);
          p.expect_device(d, 77);
          break;
        }
        case 5: {
          directory::Fill f;
          f.pattern_bytes = 1;
          f.pattern[0] = 9;
          p.engine().copies.fill(d, 0, size, f);
          break;
        }
      }
      message.start();
      if (writer < 5) {
        message.expect(77);
      } else {
        EXPECT_EQ(message.first_wrong([](std::uint64_t) { return std::byte{9}; }), size);
      }
    }
  }
}

TEST(ForeignIo, AMessageThatRestsForEverIsBroughtOnce) {
  Program p;
  Memory& d = p.on_device(size);
  Memory& h = p.on_host(size, &d);
  Repeated message(p, d, 0, {{0, size}}, base::Side::host);
  for (std::uint64_t round = 1; round <= 3; ++round) {
    p.kernel_write(&stream_a, d, d.all(), round);
    message.start();
    message.rest();
  }
  const std::uint64_t before = p.counters().read_ahead.count;
  for (std::uint64_t round = 10; round < 60; ++round) {
    p.kernel_write(&stream_a, d, d.all(), round);
    p.engine().access(h, h.all(), Access::read);
  }
  EXPECT_LE(p.counters().read_ahead.count - before, 1u);
  message.start();
  message.expect(59);
}

TEST(ForeignIo, AnArrayMayGoBeforeTheMessageThatRests) {
  Program p;
  auto* d = p.engine().lifetimes.allocate_device(0, "short-lived", size);
  TransitBuffer* buffer = p.engine().buffers.take(size, base::Side::host);
  const ByteRange all = d->all();
  p.engine().foreign_io.expect_read_out(*d, 0, &all, 1, *buffer, buffer->address);
  p.engine().lifetimes.deallocate(d);
  EXPECT_EQ(buffer->expected, nullptr);
  p.engine().buffers.give(buffer);
}

constexpr std::uint64_t idle_limit = 256u << 20;

TEST(ForeignIo, IdleMemoryIsBounded) {
  Program p;
  std::vector<TransitBuffer*> taken;
  for (int i = 0; i < 100; ++i) taken.push_back(p.engine().buffers.take(page, i % 2 == 0 ? base::Side::device : base::Side::host));
  for (TransitBuffer* b : taken) p.engine().buffers.give(b);
  taken.clear();
  // Each of these is as much as many of those.
  for (int i = 0; i < 12; ++i) taken.push_back(p.engine().buffers.take(60u << 20, i % 2 == 0 ? base::Side::device : base::Side::host));
  for (TransitBuffer* b : taken) p.engine().buffers.give(b);

  EXPECT_LE(p.device().staging_bytes() + p.device().allocated_bytes(), idle_limit);
  const std::uint64_t kept = p.device().allocated_bytes();
  p.engine().buffers.give(p.engine().buffers.take(idle_limit + page, base::Side::device));
  EXPECT_EQ(p.device().allocated_bytes(), kept) << "too large to be kept";
}

TEST(ForeignIo, IdleMemoryGoesWhenArraysNeedIt) {
  Program::Options options = Program::defaults();
  options.engine.device_memory_bytes = 32 * page;
  Program p(options);
  Memory& first = p.on_device(16 * page);
  Memory& second = p.on_device(12 * page);
  const ByteRange piece = first.all();
  p.kernel_write(&stream_a, first, piece, 1);
  TransitBuffer* buffer = p.engine().buffers.take(first.bytes, base::Side::device);
  TransitBuffer* on_host = p.engine().buffers.take(first.bytes, base::Side::host);
  p.engine().foreign_io.read_out(first, 0, &piece, 1, *buffer, buffer->address);
  p.engine().foreign_io.settle_buffer(*buffer);
  p.engine().foreign_io.write_in(first, 0, &piece, 1, *buffer, buffer->address);  // the device still reads it
  p.engine().buffers.give(buffer);
  p.engine().buffers.give(on_host);
  const std::uint64_t of_the_host = p.device().staging_bytes();
  ASSERT_EQ(p.device().allocated_bytes(), first.bytes);

  p.kernel_write(&stream_a, second, second.all(), 2);

  EXPECT_EQ(p.device().allocated_bytes(), 0u);
  EXPECT_EQ(p.device().staging_bytes(), of_the_host);
  EXPECT_EQ(p.counters().evictions, 0u);
  p.expect_device(first, first.all(), 1, &stream_a);
  p.expect_device(second, second.all(), 2, &stream_a);
}

TEST(ForeignIo, IdleMemoryGoesWhenTheDeviceHasNoMore) {
  for (const unsigned call : {FakeDevice::call_allocate, FakeDevice::call_staging, FakeDevice::call_map}) {
    const bool on_device = call != FakeDevice::call_staging;
    Program p;
    Memory& d = p.on_device(size);
    p.engine().buffers.give(p.engine().buffers.take(page, on_device ? base::Side::device : base::Side::host));
    p.device().fail_call(1, call);
    if (call == FakeDevice::call_map) {
      p.kernel_write(&stream_a, d, d.all(), 1);
    } else {
      p.engine().buffers.give(p.engine().buffers.take(100 * page, on_device ? base::Side::device : base::Side::host));
    }
    EXPECT_FALSE(p.device().failure_pending());
    EXPECT_EQ(p.device().allocated_bytes() + p.device().staging_bytes(), call == FakeDevice::call_map ? 0 : 100 * page);
  }
}

/// As those of MPI_Waitall: nobody waits for one before the next is submitted.
TEST(ForeignIo, SeveralArrivalsInOneArrayAreUnderWayTogether) {
  for (const bool on_device : {false, true}) {
    Program p;
    Memory& d = p.on_device(size);
    p.kernel_write(&stream_a, d, d.all(), 1);
    p.device().synchronize_stream(&stream_a);
    const ByteRange piece{0, page};
    for (std::uint64_t k = 0; k < 3; ++k) {
      TransitBuffer* buffer = p.engine().buffers.take(page, on_device ? base::Side::device : base::Side::host);
      for (std::uint64_t i = 0; i < page; ++i) buffer->address[i] = Machine::mix(2, k * page + i);
      p.engine().foreign_io.write_in(d, k * page, &piece, 1, *buffer, buffer->address);
      p.engine().buffers.give(buffer);
    }
    for (std::uint64_t k = 0; k < 3; ++k) EXPECT_EQ(d.address[k * page + 5], Machine::mix(1, k * page + 5)) << k;
    p.expect_device(d, {0, 3 * page}, 2, &stream_a);
    p.expect_device(d, {3 * page, size}, 1, &stream_a);
  }
}

/// A program whose arrays are used by kernels, the host and strangers in turn, against flat arrays of bytes.
class ForeignIoOracle {
 public:
  ForeignIoOracle(std::uint64_t seed, const Program::Options& options) : random_(seed), p_(options) {
    device_a_ = &p_.on_device(size);
    device_b_ = &p_.on_device(size);
    mirror_ = &p_.on_host(size);
    two_sided_ = &p_.on_device(size);
    host_side_ = &p_.on_host(size, two_sided_);
    content_[0] = content_[1] = content_[2] = content_[3] = Bytes(size);
    for (Memory* m : {device_a_, device_b_, mirror_, two_sided_}) p_.fill(*m, 0);
    messages_.push_back(std::make_unique<Repeated>(p_, *device_a_, 0, std::vector<ByteRange>{{0, 3000}}, base::Side::host));
    messages_.push_back(std::make_unique<Repeated>(p_, *device_a_, 50, std::vector<ByteRange>{{5, 9}, {77, 5000}}, base::Side::device));
    messages_.push_back(std::make_unique<Repeated>(p_, *two_sided_, 1, std::vector<ByteRange>{{0, size - 1}}, base::Side::host));
    messages_.push_back(std::make_unique<Repeated>(p_, *mirror_, 1, std::vector<ByteRange>{{0, 100}}, base::Side::host));
  }

  void run(int moves) {
    for (int i = 0; i < moves && !testing::Test::HasFailure(); ++i) {
      switch (random_.below(8)) {
        case 0:
          kernel();
          break;
        case 1:
          host_write();
          break;
        case 2:
          copy();
          break;
        case 3:
          fill(any());
          break;
        case 4:
          leaves();
          break;
        case 5:
          arrives();
          break;
        case 6:
          starts();
          break;
        case 7:  // a habit, and perhaps something else in between
          for (int round = 0; round < 3; ++round) {
            Memory& m = messages_[0]->m;
            const std::uint64_t seed = random_.next();
            p_.kernel_write(&stream_a, m, m.all(), seed);
            for (std::uint64_t b = 0; b < size; ++b) content(m)[b] = Machine::mix(seed, b);
            if (random_.chance(20)) copy();
            if (random_.chance(20)) host_write();
            starts(0);
          }
          break;
      }
    }
    for (Memory* m : {device_a_, device_b_, two_sided_}) expect_same(p_.device_content(&stream_a, *m), *m, "device");
    for (Memory* m : {mirror_, host_side_}) expect_same(p_.host_content(*m), *m, "host");
  }

 private:
  using Bytes = std::vector<std::byte>;

  Memory& any() {
    Memory* const all[] = {device_a_, device_b_, mirror_, two_sided_, host_side_};
    return *all[random_.below(5)];
  }
  Bytes& content(const Memory& m) {
    return content_[&m == device_a_ ? 0 : &m == device_b_ ? 1 : &m == mirror_ ? 2 : 3];
  }
  ByteRange range() {
    const std::uint64_t a = random_.below(size), b = random_.below(size);
    return {std::min(a, b), std::max(a, b) + 1};
  }
  void kernel() {
    Memory* const devices[] = {device_a_, device_b_, two_sided_};
    Memory& m = *devices[random_.below(3)];
    const ByteRange r = range();
    const std::uint64_t seed = random_.next();
    p_.kernel_write(&stream_a, m, r, seed);
    for (std::uint64_t i = r.begin; i < r.end; ++i) content(m)[i] = Machine::mix(seed, i);
  }
  void host_write() {
    Memory& m = random_.chance(50) ? *mirror_ : *host_side_;
    const ByteRange r = range();
    const std::uint64_t seed = random_.next();
    p_.host_write(m, r, seed);
    for (std::uint64_t i = r.begin; i < r.end; ++i) content(m)[i] = Machine::mix(seed, i);
  }
  void copy() {
    Memory& to = any();
    Memory& from = any();
    if (&content(to) == &content(from)) return;
    p_.copy(to, from);
    content(to) = content(from);
  }
  void fill(Memory& m) {
    directory::Fill f;
    f.pattern_bytes = 4;
    for (std::uint32_t i = 0; i < f.pattern_bytes; ++i) f.pattern[i] = static_cast<std::uint8_t>(random_.next());
    const std::uint64_t at = random_.below(size / 4) * 4;
    p_.engine().copies.fill(m, at, size - at, f);
    for (std::uint64_t i = at; i < size; ++i) content(m)[i] = std::byte{f.pattern[(i - at) % 4]};
  }
  /// Ascending pieces of [0, size - at).
  std::vector<ByteRange> pieces(std::uint64_t at) {
    std::vector<ByteRange> out;
    const std::uint64_t step = random_.chance(20) ? 1 + random_.below(60) : 1 + random_.below(size);
    std::uint64_t begin = random_.below(step);
    while (begin < size - at && out.size() < 300) {
      out.push_back({begin, std::min(size - at, begin + 1 + random_.below(step))});
      begin = out.back().end + random_.below(step);
    }
    return out;
  }
  TransitBuffer* take(const Memory& m) {
    return p_.engine().buffers.take(size, !m.on_host() && random_.chance(50) ? base::Side::device : base::Side::host);
  }
  void leaves() {
    Memory& m = any();
    const std::uint64_t at = random_.below(size);
    const std::vector<ByteRange> parts = pieces(at);
    TransitBuffer* buffer = take(m);
    p_.engine().foreign_io.read_out(m, at, parts.data(), parts.size(), *buffer, buffer->address);
    p_.engine().foreign_io.settle_buffer(*buffer);
    for (const ByteRange r : parts) {
      for (std::uint64_t i = r.begin; i < r.end; ++i) {
        if (buffer->address[i] == content(m)[at + i]) continue;
        ADD_FAILURE() << "byte " << at + i << " left with another content";
        return;
      }
    }
    p_.engine().buffers.give(buffer);
  }
  void starts(std::size_t which) {
    Repeated& message = *messages_[which];
    message.start();
    const std::uint64_t wrong = message.first_wrong([&](std::uint64_t i) { return content(message.m)[i]; });
    if (wrong != size) ADD_FAILURE() << "byte " << wrong << " started with another content";
    message.rest();
  }
  void starts() { starts(static_cast<std::size_t>(random_.below(messages_.size()))); }
  void arrives() {
    Memory& m = any();
    const std::uint64_t at = random_.below(size);
    const std::vector<ByteRange> parts = pieces(at);
    TransitBuffer* buffer = take(m);
    p_.engine().foreign_io.settle_buffer(*buffer);
    const std::uint64_t seed = random_.next();
    for (std::uint64_t i = 0; i < size; ++i) buffer->address[i] = Machine::mix(seed, i);
    p_.engine().foreign_io.write_in(m, at, parts.data(), parts.size(), *buffer, buffer->address);
    for (const ByteRange r : parts) {
      for (std::uint64_t i = r.begin; i < r.end; ++i) content(m)[at + i] = Machine::mix(seed, i);
    }
    p_.engine().buffers.give(buffer);
  }
  void expect_same(const Bytes& seen, const Memory& m, const char* where) {
    for (std::uint64_t i = 0; i < size; ++i) {
      if (seen[i] == content(m)[i]) continue;
      ADD_FAILURE() << where << ": byte " << i << " is wrong";
      return;
    }
  }

  Random random_;
  Program p_;
  Memory *device_a_, *device_b_, *mirror_, *two_sided_, *host_side_;
  std::vector<std::unique_ptr<Repeated>> messages_;
  Bytes content_[4];
};

TEST(ForeignIo, RandomProgramsAgreeWithFlatArrays) {
  for (std::uint64_t seed = 1; seed <= 60 && !testing::Test::HasFailure(); ++seed) {
    for (const auto kind : {device::DeviceKind::cuda, device::DeviceKind::emulated}) {
      Program::Options options = Program::defaults();
      options.device.kind = kind;
      options.device.asynchronous = kind == device::DeviceKind::cuda;
      options.device.seed = seed;
      options.device.eagerness = seed % 3 == 0 ? 0 : 30;
      if (seed % 5 == 0) options.engine.protocol = engine::Protocol::write_through;
      // In every other program not all arrays fit the device.
      if (seed % 2 == 0) options.engine.device_memory_bytes = 20 * page;
      SCOPED_TRACE("seed " + std::to_string(seed));
      ForeignIoOracle(seed, options).run(60);
    }
  }
}

/// Persistent messages of ranges of one array, as a halo's to several neighbours.
struct Beside {
  Program& p;
  Memory& m;
  std::vector<ByteRange> ranges;
  std::vector<TransitBuffer*> buffers;

  Beside(Program& program, Memory& memory, std::vector<ByteRange> what) : p(program), m(memory), ranges(std::move(what)) {
    for (const ByteRange r : ranges) buffers.push_back(p.engine().buffers.take_beside(m, r));
  }
  ~Beside() {
    for (TransitBuffer* b : buffers) p.engine().buffers.give(b);
  }
  Beside(const Beside&) = delete;
  Beside& operator=(const Beside&) = delete;

  void start() {
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      const ByteRange all{0, ranges[i].size()};
      p.engine().foreign_io.read_out(m, ranges[i].begin, &all, 1, *buffers[i], buffers[i]->address);
    }
    for (TransitBuffer* b : buffers) p.engine().foreign_io.settle_buffer(*b);
  }
  void rest() {
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      const ByteRange all{0, ranges[i].size()};
      p.engine().foreign_io.expect_read_out(m, ranges[i].begin, &all, 1, *buffers[i], buffers[i]->address);
    }
  }
  void expect(std::uint64_t seed) const {
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      for (std::uint64_t k = 0; k < ranges[i].size(); ++k) {
        ASSERT_EQ(buffers[i]->address[k], Machine::mix(seed, ranges[i].begin + k)) << "message " << i << " of content " << seed;
      }
    }
  }
};

TEST(ForeignIo, ExpectedMessagesThatLieSideBySideAreOneTransfer) {
  Program p;
  Memory& d = p.on_device(size);
  Beside messages(p, d, {{3000, 5000}, {0, 1000}, {1000, 3000}, {6000, 7000}});
  for (std::uint64_t round = 1; round <= 8; ++round) {
    const Counters before = p.counters();

    p.kernel_write(&stream_a, d, d.all(), round);
    messages.start();

    messages.expect(round);
    if (round > 4) {  // nobody knows at first that messages always follow
      EXPECT_EQ(p.counters().d2h.count - before.d2h.count, 2u) << "[0, 5000) and [6000, 7000)";
    }
    EXPECT_EQ(p.counters().d2h.bytes - before.d2h.bytes, 6000u);
    messages.rest();
  }
}

TEST(ForeignIo, AMessageThatOverlapsThemDoesNotSeparateThem) {
  Program p;
  Memory& d = p.on_device(size);
  Beside messages(p, d, {{0, 1000}, {1000, 3000}});
  Repeated corner(p, d, 900, {{0, 200}}, base::Side::host);
  for (std::uint64_t round = 1; round <= 8; ++round) {
    const Counters before = p.counters();

    p.kernel_write(&stream_a, d, d.all(), round);
    messages.start();
    corner.start();

    messages.expect(round);
    corner.expect(round);
    if (round > 4) {
      EXPECT_EQ(p.counters().d2h.count - before.d2h.count, 2u);
    }
    messages.rest();
    corner.rest();
  }
}

TEST(ForeignIo, MessagesThatArriveSideBySideAreOneTransfer) {
  Program p;
  Memory& d = p.on_device(size);
  p.kernel_write(&stream_a, d, d.all(), 1);
  Beside messages(p, d, {{0, 1000}, {1000, 3000}, {3000, 5000}});
  for (std::uint64_t round = 2; round <= 4; ++round) {
    for (TransitBuffer* b : messages.buffers) p.engine().foreign_io.settle_buffer(*b);
    for (std::size_t i = 0; i < messages.ranges.size(); ++i) {
      const ByteRange r = messages.ranges[i];
      for (std::uint64_t k = r.begin; k < r.end; ++k) messages.buffers[i]->address[k - r.begin] = Machine::mix(round, k);
    }
    const Counters before = p.counters();

    EXPECT_TRUE(p.engine().foreign_io.write_in_together(d, {0, 5000}, messages.buffers.data(), 3));

    EXPECT_EQ(p.counters().h2d.count - before.h2d.count, 1u);
    EXPECT_EQ(p.counters().h2d.bytes - before.h2d.bytes, 5000u);
    p.expect_device(d, {0, 5000}, round, &stream_a);
    p.expect_device(d, {5000, size}, 1, &stream_a);
  }
}

/// A mirror holds a value twice, and an array wants it: either place alone could be overwritten, but not both.
TEST(ForeignIo, PiecesThatArriveTogetherAreNoHoldersForEachOther) {
  for (const bool fails : {false, true}) {
    Program p;
    Memory& h = p.on_host(size);
    Memory& d = p.on_device(100);
    p.host_write(h, h.all(), 1);
    p.engine().copies.copy(h.address + 2 * page, h.address, 100);
    std::vector<std::byte> seen(size);
    p.host_read(h, h.all(), seen.data());
    p.engine().copies.copy(d.address, h.address, 100);
    TransitBuffer* const buffer = p.engine().buffers.take(size, base::Side::host);
    const ByteRange pieces[] = {{0, 100}, {2 * page, 2 * page + 100}};
    for (const ByteRange r : pieces) std::memset(buffer->address + r.begin, 7, r.size());

    if (fails) p.device().fail_call(2, FakeDevice::call_platform);
    try {
      p.engine().foreign_io.write_in(h, 0, pieces, 2, *buffer, buffer->address);
    } catch (const Error&) {
      EXPECT_TRUE(fails);
    }
    p.device().fail_call(0, 0);

    p.expect_device(d, 1);
    p.engine().buffers.give(buffer);
  }
}

/// A mirror wants two values: one lies in the first piece, and in the mirror itself where it wants the other, which lies in the second
/// piece. To save that one there overwrites the first one's second holder.
TEST(ForeignIo, WhatASecondPieceSavesMayBeOverTheFirstOnesSecondHolder) {
  for (const bool swapped : {false, true}) {
    Program p;
    Memory& h = p.on_host(6 * page);
    Memory& wants = p.on_host(6 * page);
    p.host_write(wants, wants.all(), 1);
    p.engine().copies.copy(h.address, wants.address + 4 * page, page);
    std::vector<std::byte> seen(page);
    p.host_read(h, {0, page}, seen.data());
    p.host_write(h, {2 * page, 3 * page}, 2);
    p.engine().copies.copy(wants.address, h.address, page);
    p.engine().copies.copy(wants.address + 4 * page, h.address + 2 * page, page);
    TransitBuffer* const buffer = p.engine().buffers.take(6 * page, base::Side::host);
    ByteRange pieces[] = {{0, page}, {2 * page, 3 * page}};
    if (swapped) std::swap(pieces[0], pieces[1]);
    for (const ByteRange r : pieces) std::memset(buffer->address + r.begin, 7, r.size());

    p.engine().foreign_io.write_in(h, 0, pieces, 2, *buffer, buffer->address);

    p.host_read(wants, {0, page}, seen.data());
    for (std::uint64_t i = 0; i < page; ++i) ASSERT_EQ(seen[i], Machine::mix(1, 4 * page + i)) << i;
    p.host_read(wants, {4 * page, 5 * page}, seen.data());
    for (std::uint64_t i = 0; i < page; ++i) ASSERT_EQ(seen[i], Machine::mix(2, 2 * page + i)) << i;
    p.engine().buffers.give(buffer);
  }
}

TEST(ForeignIo, MessagesOfDifferentMemoryDoNotArriveTogether) {
  Program p;
  Memory& d = p.on_device(size);
  Beside one(p, d, {{0, 1000}});
  TransitBuffer* const other = p.engine().buffers.take(1000, base::Side::host);
  TransitBuffer* const both[] = {one.buffers[0], other};

  EXPECT_FALSE(p.engine().foreign_io.write_in_together(d, {0, 2000}, both, 2));

  EXPECT_EQ(p.counters().h2d.count, 0u);
  p.engine().buffers.give(other);
}

TEST(ForeignIo, OnlyOneMessageHasAByteOfABlock) {
  Program p;
  Memory& d = p.on_device(size);
  Memory& h = p.on_host(size);
  Memory& large = p.on_device(policy::FetchForecast::largest_bytes + 1);
  {
    const Beside first(p, d, {{0, 1000}});
    EXPECT_EQ(p.engine().buffers.take_beside(d, {999, 2000}), nullptr);
    const Beside second(p, d, {{1000, 2000}});
    EXPECT_EQ(second.buffers[0]->address, first.buffers[0]->address + 1000);
  }
  const Beside again(p, d, {{999, 2000}});
  EXPECT_NE(again.buffers[0], nullptr);
  EXPECT_EQ(p.engine().buffers.take_beside(h, {0, 1}), nullptr);
  EXPECT_EQ(p.engine().buffers.take_beside(large, {0, 1}), nullptr);
}

}  // namespace
}  // namespace semcache::fakes
