// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "program.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

/// Copies that the system refuses half-way: what was overwritten by then must not be taken for what was there before (I8).
namespace semcache::fakes {
namespace {

using engine::Memory;

const std::uint64_t page = page_bytes();
const std::uint64_t size = 3 * page;
const ByteRange part{page / 2, 2 * page + page / 2};  // is overwritten
char stream;
constexpr std::uint64_t former = 1, message = 2;

/// What is known of the destination before.
enum class Before {
  held_elsewhere_too,
  held_here_alone,
  wanted_by_another,  ///< and held here alone
  held_elsewhere,
  front_held_elsewhere_too,  ///< the rest here alone
  never_written,
};
constexpr Before every_state[] = {Before::held_elsewhere_too, Before::held_here_alone, Before::wanted_by_another,
                                  Before::held_elsewhere, Before::front_held_elsewhere_too, Before::never_written};

/// A destination, and another array that may know its content.
struct Refused : Program {
  Refused(const Options& options, bool on_the_host, Before before)
      : Program(options), to(on_the_host ? on_host(size) : on_device(size)), other(on_device(size)), state(before) {
    switch (before) {
      case Before::held_elsewhere_too:
        copy_all(other, written(to, former));
        device_content(&stream, other);
        break;
      case Before::held_here_alone:
        written(to, former);
        break;
      case Before::wanted_by_another:
        copy_all(other, written(to, former));
        break;
      case Before::held_elsewhere:
        written(to, message + 1);
        copy_all(to, written(other, former));
        break;
      case Before::front_held_elsewhere_too:
        known = {0, size / 2};
        written(to, former);
        engine().copies.copy(other.address, to.address, known.size());
        device_content(&stream, other);
        break;
      case Before::never_written:
        break;
    }
  }
  Memory& written(Memory& m, std::uint64_t seed) {
    if (m.on_host()) {
      engine().access(m, m.all(), Access::overwrite);
      host_write(m, m.all(), seed);
    } else {
      kernel_write(&stream, m, m.all(), seed);
    }
    return m;
  }
  void copy_all(Memory& a, Memory& b) { engine().copies.copy(a.address, b.address, size); }
  std::vector<std::byte> content(Memory& m) {
    if (m.on_host()) engine().access(m, m.all(), Access::read);
    return m.on_host() ? host_content(m) : device_content(&stream, m);
  }
  template <class Call>
  void refuse_after(std::uint64_t bytes, Call call) {
    platform().refused_after = bytes;
    EXPECT_THROW(call(), Error);
    EXPECT_FALSE(platform().refused_after) << "nothing was copied";
    platform().refused_after.reset();
    engine().audit();
  }
  /// Every byte is the former one or the message's, wherever it is read, and what it was before can be had again.
  void expect_truth(ByteRange overwritten = part) {
    engine().audit();
    if (state != Before::never_written) {
      const std::vector<std::byte> here = content(to);
      for (std::uint64_t i = 0; i < size; ++i) {
        const bool as_before = here[i] == mix(former, i);
        ASSERT_TRUE(as_before || (overwritten.contains({i, i + 1}) && here[i] == mix(message, i))) << "byte " << i;
      }
      Memory& there = on_device(size);
      copy_all(there, to);
      ASSERT_EQ(here, content(there));
      if (state != Before::held_here_alone) {
        expect(content(other), known, former, "the other array");
        engine().copies.copy(to.address, other.address, known.size());
        expect(content(to), known, former, "the destination, given back its content,");
      }
    }
    fill(to, 0);
    ASSERT_EQ(content(to), std::vector<std::byte>(size));
  }
  Memory& to;
  Memory& other;
  Before state;
  ByteRange known{0, size};  ///< what the other array has of it
};

std::vector<std::byte> bytes_of(std::uint64_t seed) {
  std::vector<std::byte> all(size);
  for (std::uint64_t i = 0; i < size; ++i) all[i] = Machine::mix(seed, i);
  return all;
}

/// `check` for each state of the destination and each number of bytes that are copied all the same.
template <class Check>
void for_each_refusal(std::uint64_t bytes, Check check) {
  for (const Before before : every_state) {
    for (const std::uint64_t copied : {std::uint64_t{0}, page / 4, page + page / 2, bytes - 1}) {
      if (copied >= bytes) continue;
      SCOPED_TRACE("state " + std::to_string(static_cast<int>(before)) + ", " + std::to_string(copied) + " bytes");
      check(before, copied);
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(RefusedCopies, FromForeignMemory) {
  const std::vector<std::byte> foreign = bytes_of(message);
  for (const bool on_the_host : {true, false}) {
    for_each_refusal(part.size(), [&](Before before, std::uint64_t copied) {
      Refused r(Program::guarded(), on_the_host, before);
      if (!on_the_host) r.copy_all(r.on_host(size), r.to);
      if (!on_the_host && r.platform().allows(r.to.address, true)) return;  // open pages: the processor copies, as a program does
      r.refuse_after(copied, [&] { r.engine().copies.copy(r.to.address + part.begin, foreign.data() + part.begin, part.size()); });
      r.expect_truth();
    });
  }
}

TEST(RefusedCopies, AtTheCall) {
  for_each_refusal(part.size(), [&](Before before, std::uint64_t copied) {
    Refused r(Program::guarded(), true, before);
    Memory& from = r.on_host(size);
    r.written(from, message);
    r.engine().host_access.expose(from);  // copies with it happen at the call
    r.refuse_after(copied, [&] { r.engine().copies.copy(r.to.address + part.begin, from.address + part.begin, part.size()); });
    r.expect_truth();
  });
}

TEST(RefusedCopies, OfMessages) {
  const ByteRange pieces[] = {{0, page}, {page + page / 4, 2 * page + page / 4}};
  for (const bool on_the_host : {true, false}) {
    for (const std::size_t which : {0u, 1u}) {
      for_each_refusal(page, [&](Before before, std::uint64_t copied) {
        Refused r(Program::guarded(), on_the_host, before);
        if (!on_the_host) r.copy_all(r.on_host(size), r.to);
        const std::vector<std::byte> sent = bytes_of(message);
        engine::TransitBuffer* const buffer = r.engine().buffers.take(size, base::Side::host);
        std::memcpy(buffer->address, sent.data(), size);
        const auto deliver = [&] {
          r.engine().foreign_io.write_in(r.to, part.begin, pieces, 2, *buffer, buffer->address + part.begin);
        };
        // The second piece, too.
        std::uint64_t calls = 0;
        r.platform().may_fail = [&](const char* what) {
          if (std::string(what) == "write_behind" && calls++ == which) r.platform().refused_after = copied;
        };
        try {
          deliver();
        } catch (const Error&) {
        }
        r.platform().may_fail = nullptr;
        r.platform().refused_after.reset();
        r.engine().buffers.give(buffer);
        r.expect_truth({part.begin, part.begin + pieces[1].end});
      });
    }
  }
}

TEST(RefusedCopies, OverWhatIsStillToBeCopiedWithinTheArray) {
  const std::vector<std::byte> foreign = bytes_of(message);
  for (const std::uint64_t copied : {std::uint64_t{0}, page / 2, page + 1}) {
    Program p;
    Memory& h = p.on_host(size);
    p.host_write(h, h.all(), former);
    p.engine().copies.copy(h.address + page, h.address, page);
    p.platform().refused_after = copied;
    EXPECT_THROW(p.engine().copies.copy(h.address, foreign.data(), 2 * page), SystemError);
    p.engine().audit();

    const std::vector<std::byte> now = p.host_content(h);

    for (std::uint64_t i = page; i < 2 * page; ++i) {
      ASSERT_TRUE(now[i] == Machine::mix(former, i - page) || now[i] == Machine::mix(message, i)) << i;
    }
    Program::expect({now.begin() + static_cast<std::ptrdiff_t>(2 * page), now.end()}, {2 * page, size}, former, "behind it");
  }
}

TEST(RefusedCopies, OfPatternsAtTheCall) {
  for (const std::uint64_t copied : {std::uint64_t{0}, page / 4, page + page / 2, part.size() - 1}) {
    Program::Options o = Program::defaults();
    o.device.kind = device::DeviceKind::emulated;
    o.device.asynchronous = false;
    o.engine.protocol = engine::Protocol::off;
    o.engine.notices = false;
    Program p(o);
    Memory& d = p.on_device(size);
    Memory& h = p.on_host(size, &d);
    p.kernel_write(&stream, d, d.all(), former);
    p.engine().access(h, h.all(), Access::read);
    directory::Fill f;
    f.pattern[0] = 5;
    f.pattern_bytes = 1;
    p.platform().refused_after = std::min<std::uint64_t>(copied, 64 * 1024 - 1);  // patterns are written in pieces
    EXPECT_THROW(p.engine().copies.fill(h, part.begin, part.size(), f), SystemError);
    p.engine().audit();
    p.engine().access(h, h.all(), Access::read);
    const std::vector<std::byte> here = p.host_content(h);
    for (std::uint64_t i = 0; i < size; ++i) {
      ASSERT_TRUE(here[i] == Machine::mix(former, i) || (part.contains({i, i + 1}) && here[i] == std::byte{5})) << i;
    }
    ASSERT_EQ(here, p.device_content(&stream, d)) << copied << " bytes";
  }
}

}  // namespace
}  // namespace semcache::fakes
