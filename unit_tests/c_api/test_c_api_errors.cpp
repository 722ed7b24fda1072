// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
//
// The C interface over a runtime that fails on request: whatever is thrown becomes a status and a text.
#include <semcache/runtime/runtime.hpp>
#include <semcache/semcache.h>

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <iterator>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

/// What the runtime below does when it is called.
std::function<void()> behaviour = [] {};
std::string called;
semcache::Access mode{};
bool queue_was_valid = true;
std::vector<int> devices_asked;

void call(const char* name) {
  called = name;
  behaviour();
}

}  // namespace

namespace semcache {
void access(const void*, std::size_t, Access m) {
  mode = m;
  call("access");
}
void access_2d(const void*, std::size_t, std::size_t, std::size_t, Access m) {
  mode = m;
  call("access 2d");
}
void prefetch(const void*, std::size_t) { call("prefetch"); }
void settle(const void*, std::size_t) { call("settle range"); }
void settle() { call("settle all"); }
Statistics statistics() {
  call("statistics");
  Statistics s;
  std::uint64_t n = 0;
  for (Traffic* t : {&s.total.h2d, &s.total.d2h, &s.total.d2d, &s.total.h2h, &s.total.filled, &s.total.saved_link,
                     &s.total.saved_device, &s.total.saved_host, &s.total.avoided, &s.total.deferred, &s.total.dropped,
                     &s.total.write_through, &s.total.read_ahead, &s.total.unchanged}) {
    t->bytes = ++n;
    t->count = ++n;
  }
  for (std::uint64_t* f : {&s.total.host_faults, &s.total.evictions, &s.total.launches, &s.total.unknown_launches,
                           &s.total.native_captures, &s.total.device_waits, &s.total.opened, &s.live_device_bytes,
                           &s.live_host_bytes, &s.mapped_device_bytes, &s.snapshot_bytes, &s.directory_bytes,
                           &s.total.unannounced}) {
    *f = ++n;
  }
  for (Traffic* t : {&s.total.written_back, &s.total.write_ahead, &s.total.read_ahead_lost}) {
    t->bytes = ++n;
    t->count = ++n;
  }
  for (std::uint64_t* f : {&s.total.exposed, &s.total.uncaptured, &s.total.changed, &s.device_budget_bytes}) *f = ++n;
  s.total.between_devices = {n + 1, n + 2};
  s.total.peer_launches = n + 3;
  s.total.rewritten = {n + 4, n + 5};
  s.total.hulls = n + 6;
  return s;
}
bool is_tracked(const void* address) noexcept { return address != nullptr; }
void finalize() { call("finalize"); }
void use_devices(int count) {
  devices_asked = {-count};
  call("use devices");
}
void use_devices(const std::vector<int>& devices) {
  devices_asked = devices;
  call("use devices");
}
int device_count() noexcept { return 7; }
namespace runtime {
void* allocate_device(const char* label, std::size_t, std::uint32_t) {
  EXPECT_NE(label, nullptr);
  call("allocate_device");
  return &called;
}
void* allocate_host(const char* label, std::size_t, const void*, base::Accesses) {
  EXPECT_NE(label, nullptr);
  call("allocate_host");
  return &called;
}
void deallocate(void*) noexcept { called = "deallocate"; }
void adopt(void*, std::size_t, const char*) { call("adopt"); }
void release(void*) { call("release"); }
void copy(void*, const void*, std::size_t, QueueId queue) {
  queue_was_valid = queue.valid();
  call("copy");
}
void copy_2d(void*, std::size_t, const void*, std::size_t, std::size_t, std::size_t, QueueId queue) {
  queue_was_valid = queue.valid();
  call("copy 2d");
}
}  // namespace runtime
}  // namespace semcache

namespace {

class CInterfaceErrors : public testing::Test {
 protected:
  ~CInterfaceErrors() override { behaviour = [] {}; }
};

struct Throw {
  semcache_status expected;
  std::string text;
  std::function<void()> what;
};

std::vector<Throw> everything_thrown() {
  return {
      {SEMCACHE_ERROR_USAGE, "u", [] { throw semcache::UsageError("u"); }},
      {SEMCACHE_ERROR_CONFIGURATION, "c", [] { throw semcache::ConfigurationError("c"); }},
      {SEMCACHE_ERROR_OUT_OF_MEMORY, "o", [] { throw semcache::OutOfMemory("o", 1, 2); }},
      {SEMCACHE_ERROR_DEVICE, "d", [] { throw semcache::DeviceError("d"); }},
      {SEMCACHE_ERROR_SYSTEM, "s", [] { throw semcache::SystemError("s"); }},
      {SEMCACHE_ERROR_INTERNAL, "e", [] { throw semcache::Error("e"); }},
      {SEMCACHE_ERROR_INTERNAL, "l", [] { throw std::logic_error("l"); }},
      {SEMCACHE_ERROR_OUT_OF_MEMORY, "host memory is exhausted", [] { throw std::bad_alloc(); }},
      {SEMCACHE_ERROR_INTERNAL, "an exception of an unknown type", [] { throw 42; }},
  };
}

TEST_F(CInterfaceErrors, EveryFunctionTurnsEveryExceptionIntoItsStatusAndText) {
  char bytes[64];
  const int devices[] = {0, 2};
  void* result = bytes;
  semcache_statistics_t s{};
  s.size = sizeof s;
  const std::vector<std::pair<const char*, std::function<semcache_status()>>> functions = {
      {"access", [&] { return semcache_access(bytes, 8, SEMCACHE_READ); }},
      {"prefetch", [&] { return semcache_prefetch(bytes, 8); }},
      {"settle range", [&] { return semcache_settle(bytes, 8); }},
      {"settle all", [&] { return semcache_settle_all(); }},
      {"statistics", [&] { return semcache_statistics(&s); }},
      {"allocate_device", [&] { return semcache_allocate_device("a", 8, &result); }},
      {"allocate_device", [&] { return semcache_allocate_on_device("a", 8, 1, &result); }},
      {"allocate_host", [&] { return semcache_allocate_host("a", 8, nullptr, &result); }},
      {"adopt", [&] { return semcache_adopt(bytes, 8, "a"); }},
      {"release", [&] { return semcache_release(bytes); }},
      {"copy", [&] { return semcache_copy(bytes, bytes + 8, 8); }},
      {"access 2d", [&] { return semcache_access_2d(bytes, 4, 2, 2, SEMCACHE_READ); }},
      {"copy 2d", [&] { return semcache_copy_2d(bytes, 4, bytes + 8, 4, 2, 2); }},
      {"use devices", [&] { return semcache_use_devices(devices, 2); }},
      {"use devices", [&] { return semcache_use_devices(nullptr, 2); }},
      {"finalize", [&] { return semcache_finalize(); }},
  };

  for (const auto& [name, function] : functions) {
    for (const Throw& thrown : everything_thrown()) {
      behaviour = thrown.what;
      result = bytes;
      EXPECT_EQ(function(), thrown.expected) << name << " " << thrown.text;
      EXPECT_EQ(called, name);
      EXPECT_EQ(semcache_last_error(), thrown.text) << name;
      if (called.rfind("allocate", 0) == 0) {
        EXPECT_EQ(result, nullptr) << name;
      }
    }
    behaviour = [] {};
    EXPECT_EQ(function(), SEMCACHE_SUCCESS) << name;
  }
}

TEST_F(CInterfaceErrors, TheTextBelongsToItsThreadAndSurvivesSuccess) {
  behaviour = [] { throw semcache::UsageError("mine"); };
  ASSERT_EQ(semcache_settle_all(), SEMCACHE_ERROR_USAGE);

  std::thread([] {
    EXPECT_STREQ(semcache_last_error(), "");
    EXPECT_EQ(semcache_copy(nullptr, nullptr, 1), SEMCACHE_ERROR_USAGE);
    EXPECT_NE(std::string(semcache_last_error()), "mine");
  }).join();
  behaviour = [] {};
  ASSERT_EQ(semcache_settle_all(), SEMCACHE_SUCCESS);

  EXPECT_STREQ(semcache_last_error(), "mine");
}

TEST_F(CInterfaceErrors, AVeryLongTextIsCutAndSaysSo) {
  behaviour = [] { throw semcache::UsageError(std::string(100000, 'x')); };
  ASSERT_EQ(semcache_settle_all(), SEMCACHE_ERROR_USAGE);

  const std::string text = semcache_last_error();
  EXPECT_EQ(text.size(), 4095u);
  EXPECT_EQ(text.substr(text.size() - 6), "xx ...");
}

TEST_F(CInterfaceErrors, ModesReachTheRuntimeAndOthersDoNot) {
  char byte = 0;
  const std::pair<semcache_access_mode, semcache::Access> modes[] = {
      {SEMCACHE_READ, semcache::Access::read},
      {SEMCACHE_WRITE, semcache::Access::write},
      {SEMCACHE_READ_WRITE, semcache::Access::read_write},
      {SEMCACHE_OVERWRITE, semcache::Access::overwrite}};
  for (const auto& [c, cpp] : modes) {
    EXPECT_EQ(semcache_access(&byte, 1, c), SEMCACHE_SUCCESS);
    EXPECT_EQ(mode, cpp);
  }

  called.clear();
  for (int bad : {-1, 4, 1000000}) {
    EXPECT_EQ(semcache_access(&byte, 1, bad), SEMCACHE_ERROR_USAGE) << bad;
    EXPECT_NE(std::string(semcache_last_error()).find(std::to_string(bad)), std::string::npos);
  }
  EXPECT_EQ(called, "");
}

TEST_F(CInterfaceErrors, NullArgumentsAreUsageErrorsThatReachNobody) {
  char bytes[8] = {};
  called.clear();

  EXPECT_EQ(semcache_statistics(nullptr), SEMCACHE_ERROR_USAGE);
  EXPECT_EQ(semcache_allocate_device("a", 8, nullptr), SEMCACHE_ERROR_USAGE);
  EXPECT_EQ(semcache_allocate_host("a", 8, nullptr, nullptr), SEMCACHE_ERROR_USAGE);
  EXPECT_EQ(semcache_copy(nullptr, bytes, 8), SEMCACHE_ERROR_USAGE);
  EXPECT_EQ(semcache_copy(bytes, nullptr, 8), SEMCACHE_ERROR_USAGE);
  EXPECT_EQ(semcache_copy(nullptr, nullptr, 0), SEMCACHE_SUCCESS);
  EXPECT_EQ(semcache_copy_2d(nullptr, 8, bytes, 8, 4, 2), SEMCACHE_ERROR_USAGE);
  EXPECT_EQ(semcache_copy_2d(bytes, 8, nullptr, 8, 4, 2), SEMCACHE_ERROR_USAGE);
  EXPECT_EQ(semcache_copy_2d(nullptr, 8, nullptr, 8, 0, 2), SEMCACHE_SUCCESS);
  semcache_deallocate(nullptr);
  EXPECT_EQ(called, "");

  void* result = nullptr;
  EXPECT_EQ(semcache_allocate_device(nullptr, 8, &result), SEMCACHE_SUCCESS);
  EXPECT_EQ(result, &called);
  EXPECT_EQ(semcache_is_tracked(nullptr), 0);
  EXPECT_EQ(semcache_is_tracked(bytes), 1);
}

TEST_F(CInterfaceErrors, DevicesAreAListOrANumber) {
  const int devices[] = {3, 0, 2};
  EXPECT_EQ(semcache_use_devices(devices, 2), SEMCACHE_SUCCESS);
  EXPECT_EQ(devices_asked, (std::vector<int>{3, 0}));
  EXPECT_EQ(semcache_use_devices(devices, 0), SEMCACHE_SUCCESS);
  EXPECT_EQ(devices_asked, std::vector<int>{}) << "the runtime refuses it";
  EXPECT_EQ(semcache_use_devices(nullptr, 2), SEMCACHE_SUCCESS);
  EXPECT_EQ(devices_asked, std::vector<int>{-2});
  EXPECT_EQ(semcache_device_count(), 7);

  called.clear();
  for (const int* list : {devices, static_cast<const int*>(nullptr)}) {
    for (const std::size_t count : {std::size_t{65}, std::size_t{SIZE_MAX}}) {
      EXPECT_EQ(semcache_use_devices(list, count), SEMCACHE_ERROR_CONFIGURATION);
      EXPECT_NE(std::string(semcache_last_error()).find(std::to_string(count)), std::string::npos) << semcache_last_error();
    }
  }
  EXPECT_EQ(called, "") << "so many numbers are not read";
}

TEST_F(CInterfaceErrors, ACopyIsOrderedAfterAllWork) {
  char bytes[16] = {};
  queue_was_valid = true;

  ASSERT_EQ(semcache_copy(bytes, bytes + 8, 8), SEMCACHE_SUCCESS);

  EXPECT_FALSE(queue_was_valid);
}

TEST_F(CInterfaceErrors, EveryFigureArrivesInItsField) {
  semcache_statistics_t s{};
  s.size = sizeof s;
  ASSERT_EQ(semcache_statistics(&s), SEMCACHE_SUCCESS);

  // The runtime above numbers the fields in the order in which both structs declare them.
  std::uint64_t figures[(sizeof s - offsetof(semcache_statistics_t, h2d)) / sizeof(std::uint64_t)];
  std::memcpy(figures, &s.h2d, sizeof figures);
  // native_captures and native_launches are two names of one figure.
  const std::size_t second_name = (offsetof(semcache_statistics_t, native_captures) - offsetof(semcache_statistics_t, h2d)) / sizeof(std::uint64_t);
  for (std::size_t i = 0; i < std::size(figures); ++i) {
    EXPECT_EQ(figures[i], i < second_name ? i + 1 : i == second_name ? s.native_launches : i) << i;
  }
  EXPECT_EQ(s.size, sizeof s);
  EXPECT_EQ(std::size(figures), 58u);
}

TEST_F(CInterfaceErrors, AnOlderOrNewerCallersStructIsRespected) {
  struct Newer {
    semcache_statistics_t known;
    std::uint64_t added;
  } newer{};
  newer.known.size = sizeof newer;
  newer.added = 77;
  ASSERT_EQ(semcache_statistics(&newer.known), SEMCACHE_SUCCESS);
  EXPECT_EQ(newer.known.size, sizeof newer.known);
  EXPECT_EQ(newer.known.unannounced, 41u);
  EXPECT_EQ(newer.added, 77u);

  semcache_statistics_t older;
  std::memset(static_cast<void*>(&older), 0xee, sizeof older);
  older.size = offsetof(semcache_statistics_t, d2d);
  ASSERT_EQ(semcache_statistics(&older), SEMCACHE_SUCCESS);
  EXPECT_EQ(older.size, offsetof(semcache_statistics_t, d2d));
  EXPECT_EQ(older.d2h.count, 4u);
  EXPECT_EQ(older.d2d.bytes, 0xeeeeeeeeeeeeeeeeull);

  for (const std::size_t size : {std::size_t{0}, sizeof(std::size_t), offsetof(semcache_statistics_t, d2h) - 1}) {
    older.size = size;
    EXPECT_EQ(semcache_statistics(&older), SEMCACHE_ERROR_USAGE) << size;
    EXPECT_EQ(older.size, size);
  }
}

TEST_F(CInterfaceErrors, EveryStatusHasAName) {
  for (int s = SEMCACHE_SUCCESS; s <= SEMCACHE_ERROR_INTERNAL; ++s) {
    EXPECT_STRNE(semcache_status_name(s), "unknown status") << s;
  }
  EXPECT_STREQ(semcache_status_name(7), "unknown status");
}

}  // namespace
