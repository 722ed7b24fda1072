// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "program.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

/// Every call of each of three devices fails once, in each operation that needs that device: the error names the device, no content
/// changes, and the same operation then succeeds.
namespace semcache::fakes {
namespace {

using engine::Memory;
using Columns = engine::Copies::Columns;
using Stream = FakeDevice::Stream;

const std::uint64_t page = page_bytes();
const std::uint64_t size = 5 * page + 96;
char keys[4];
Stream stream(std::uint32_t device) { return {&keys[device], device}; }

/// Three devices, and what the bytes of their arrays must be.
struct Three : Program {
  using Content = std::function<std::byte(std::uint64_t)>;

  explicit Three(const Options& options) : Program(options) {}
  static Content written(std::uint64_t seed) {
    return [seed](std::uint64_t i) { return mix(seed, i); };
  }
  Memory& array(std::uint32_t device, std::uint64_t seed) {
    Memory& m = on_device(size, device);
    overwrite(m, seed);
    return m;
  }
  Memory& mirror(std::uint64_t seed, Memory* partner = nullptr) {
    Memory& m = on_host(size, partner);
    host_write(m, m.all(), seed);
    content[&m] = written(seed);
    if (partner != nullptr) content[partner] = written(seed);
    return m;
  }
  void overwrite(Memory& m, std::uint64_t seed) {
    kernel_write(stream(m.space.value - 1), m, m.all(), seed);
    content[&m] = written(seed);
  }
  void becomes(Memory& to, Memory& from) {
    copy(to, from);
    content[&to] = content[&from];
  }
  /// Lets a kernel of this device read the array.
  void use(Memory& m, std::uint32_t device) {
    launch(stream(device), {{&m, false}}, [] {});
  }
  void expect_content() {
    for (const auto& [m, expected] : content) {
      const std::vector<std::byte> all = m->on_host() ? host_content(*m) : device_content(stream(m->space.value - 1), *m);
      for (std::uint64_t i = 0; i < m->bytes; ++i) {
        ASSERT_EQ(all[i], expected(i)) << "byte " << i << (m->on_host() ? " on the host" : " on device " + std::to_string(m->space.value - 1));
      }
    }
  }

  std::map<Memory*, Content> content;
  Memory* a = nullptr;
  Memory* b = nullptr;
  Memory* h = nullptr;
  std::vector<std::byte> foreign = std::vector<std::byte>(size, std::byte{7});
};

struct Case {
  const char* name;
  Three::Options options;
  std::function<void(Three&)> prepare;
  std::function<void(Three&)> operation;
};

Three::Options three() {
  Three::Options o = Program::defaults();
  o.devices = 3;
  return o;
}
Three::Options apart() {
  Three::Options o = three();
  o.device.peer_access = false;
  return o;
}
Three::Options staged(Three::Options o = three()) {
  o.device.registers_host = false;
  return o;
}
Three::Options checking_writes() {
  Three::Options o = three();
  o.engine.check_writes = true;
  return o;
}
/// The device has room for two arrays and no more.
Three::Options full(std::uint32_t device) {
  Three::Options o = three();
  o.engine.device_budgets = std::vector<std::uint64_t>(3, 4u << 20);
  o.engine.device_budgets[device] = 2 * round_up(size, o.device.granularity_bytes);
  return o;
}
std::string text_of(std::uint32_t device) { return "device " + std::to_string(device); }

/// Returns operations that need `device`, some of them beside one or two of the others.
std::vector<Case> cases(std::uint32_t device) {
  const std::uint32_t next = (device + 1) % 3, last = (device + 2) % 3;
  const auto from_host = [device](Three& p) {
    p.h = &p.mirror(1);
    p.b = &p.on_device(size, device);
    p.becomes(*p.b, *p.h);
  };
  const auto from_device = [](std::uint32_t source, std::uint32_t target) {
    return [=](Three& p) {
      p.a = &p.array(source, 1);
      p.b = &p.array(target, 2);
      p.becomes(*p.b, *p.a);
    };
  };
  const auto to_host = [device](Three& p) {
    p.b = &p.on_device(size, device);
    p.h = &p.mirror(1, p.b);
    p.overwrite(*p.b, 2);
    p.content[p.h] = Three::written(2);
  };
  const auto use_on = [](std::uint32_t user) { return [=](Three& p) { p.use(*p.b, user); }; };
  const auto read_on_host = [](Three& p) { p.engine().access(*p.h, p.h->all(), Access::read); };
  const auto nothing = [](Three&) {};
  return {
      {"an allocation", three(), nothing, [device](Three& p) { (void)p.on_device(size, device); }},
      {"the first kernel on a stream", three(), nothing, [device](Three& p) { (void)p.queue(&keys[3], device); }},
      {"a kernel that needs the host's content", three(), from_host, use_on(device)},
      {"the same, staged", staged(), from_host, use_on(device)},
      {"a kernel that needs another device's content", three(), from_device(last, device), use_on(device)},
      {"a kernel of another device that needs its content", three(), from_device(device, next), use_on(next)},
      {"to it without peer access", apart(), from_device(last, device), use_on(device)},
      {"from it without peer access", apart(), from_device(device, next), use_on(next)},
      {"a kernel of another device that uses its array", three(), from_host, use_on(next)},
      {"a kernel that needs a fill", three(),
       [device](Three& p) {
         p.b = &p.on_device(size, device);
         p.fill(*p.b, 9);
         p.content[p.b] = [](std::uint64_t) { return std::byte{9}; };
       },
       use_on(device)},
      {"a kernel that overwrites what another device wants", three(), from_device(device, next), [](Three& p) { p.overwrite(*p.a, 3); }},
      {"a kernel for which another array must leave", full(device),
       [device](Three& p) {
         p.a = &p.array(device, 1);
         p.b = &p.array(device, 2);
         p.h = &p.mirror(3);
         p.becomes(*p.a, *p.h);
         p.a = &p.on_device(size, device);
       },
       [](Three& p) { p.overwrite(*p.a, 4); }},
      {"a read of the host", three(), to_host, read_on_host},
      {"a read of the host, staged", staged(), to_host, read_on_host},
      {"settling everything", three(), to_host, [](Three& p) { p.engine().host_access.settle_all(); }},
      {"a copy to memory of the program's own", three(), to_host,
       [](Three& p) {
         p.engine().copies.copy(p.foreign.data(), p.b->address, size);
         for (std::uint64_t i = 0; i < size; ++i) ASSERT_EQ(p.foreign[i], Machine::mix(2, i));
       }},
      {"a copy from memory of the program's own", three(), to_host,
       [](Three& p) {
         p.engine().copies.copy(p.b->address, p.foreign.data(), size);
         p.content[p.b] = p.content[p.h] = [](std::uint64_t) { return std::byte{7}; };
       }},
      {"columns", three(),
       [device](Three& p) {
         p.h = &p.mirror(1);
         p.b = &p.array(device, 2);
       },
       [device](Three& p) {
         p.engine().copies.copy(p.b->address, p.h->address, Columns{page / 2, 5, page, page});
         p.content[p.b] = [](std::uint64_t i) { return Machine::mix(i < 5 * page && i % page < page / 2 ? 1 : 2, i); };
         p.use(*p.b, device);
       }},
      {"a message from memory of the device to memory of the device", three(),
       [device](Three& p) {
         p.a = &p.array(device, 1);
         p.b = &p.array(device, 2);
       },
       [](Three& p) {
         engine::TransitBuffer* const buffer = p.engine().buffers.take(size, base::Side::device, p.a);
         const base::AtEnd given([&] { p.engine().buffers.give(buffer); });
         const ByteRange all = p.a->all();
         p.engine().foreign_io.read_out(*p.a, 0, &all, 1, *buffer, buffer->address);
         p.engine().foreign_io.write_in(*p.b, 0, &all, 1, *buffer, buffer->address);
         p.content[p.b] = Three::written(1);
       }},
      {"a kernel that may write, whose writes are checked", checking_writes(), from_host, [](Three& p) { p.overwrite(*p.b, 2); }},
      {"a read of the host behind a kernel of other code", three(),
       [to_host, device](Three& p) {
         to_host(p);
         p.engine().foreign_uses.native_capture(*p.b, timeline::Mode::writes);
         p.device().launch(stream(device), {}, [] {});
       },
       read_on_host},
  };
}

/// Runs the operation, whose k-th call of the device fails. Returns false if it makes fewer calls.
bool run_with_failure(const Case& c, std::uint32_t device, std::uint64_t k, bool once_more, std::set<std::string>& failed) {
  Three p(c.options);
  c.prepare(p);
  p.device().fail_call(k, FakeDevice::call_all, device);
  std::string error;
  try {
    c.operation(p);
  } catch (const Error& e) {
    error = e.what();
  }
  const bool happened = !p.device().failure_pending();
  p.device().fail_call(0, 0);
  SCOPED_TRACE(p.device().failed + " fails: " + (error.empty() ? "no error" : error));
  EXPECT_TRUE(happened || error.empty());
  EXPECT_TRUE(error.empty() || error.find(text_of(device)) != std::string::npos);
  p.engine().audit();
  if (!error.empty()) failed.insert(p.device().failed);
  if (!error.empty() && once_more) {
    EXPECT_NO_THROW(c.operation(p));
  }
  p.expect_content();
  return happened;
}

/// The first device page-locks the host's pages for all; where it refuses, copies pass through staging, without an error.
void expect_each_call_survived(std::uint32_t device) {
  std::set<std::string> failed;
  for (const Case& c : cases(device)) {
    SCOPED_TRACE(c.name);
    for (std::uint64_t k = 1;; ++k) {
      SCOPED_TRACE(k);
      const bool happened = run_with_failure(c, device, k, false, failed);
      if (!happened || testing::Test::HasFailure()) break;
      (void)run_with_failure(c, device, k, true, failed);
    }
    if (testing::Test::HasFailure()) return;
  }
  const std::set<std::string> all{"adopt_queue", "allocate", "allocate_staging", "complete", "copy_from_device", "copy_to_device", "copy_within_device",
                                  "digest", "fill", "map", "record", "synchronize", "synchronize_device", "synchronize_queue", "wait"};
  EXPECT_EQ(failed, all) << "calls that an operation has not survived";
}

TEST(FailingDevices, EachCallOfTheFirstDeviceFailsOnce) { expect_each_call_survived(0); }
TEST(FailingDevices, EachCallOfTheSecondDeviceFailsOnce) { expect_each_call_survived(1); }
TEST(FailingDevices, EachCallOfTheThirdDeviceFailsOnce) { expect_each_call_survived(2); }

/// Makes an engine while the k-th call of the device fails. Returns false if it makes fewer calls.
bool make_engine_with_failure(std::uint32_t device, std::uint64_t k) {
  const auto found = [](const std::string& text) { ADD_FAILURE() << text; };
  std::vector<std::unique_ptr<device::Device>> devices;
  auto home = std::make_unique<FakeDevice>(FakeDevice::Options(), found);
  FakeDevice& world = *home;
  devices.push_back(std::move(home));
  while (devices.size() < 3) devices.push_back(std::make_unique<FakePeer>(world));
  trace::Recorder recorder;
  world.fail_call(k, FakeDevice::call_all, device);
  try {
    engine::Engine made(std::move(devices), std::make_unique<FakePlatform>(FakePlatform::Options(), found), recorder, {});
    EXPECT_TRUE(world.failure_pending());
    return false;
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find(text_of(device)), std::string::npos) << e.what();
    return true;
  }
}

/// Queues of its own, and what an engine asks a device while it is made.
TEST(FailingDevices, EachCallWhileAnEngineIsMade) {
  for (std::uint32_t device = 0; device < 3; ++device) {
    SCOPED_TRACE(device);
    std::uint64_t k = 1;
    while (make_engine_with_failure(device, k)) ++k;
    EXPECT_GT(k, 3u) << "no queue was made";
  }
}

}  // namespace
}  // namespace semcache::fakes
