// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
//
// Work of the host's processor on parts of arrays, with real threads and page faults, in a process whose patience is one second
// (SEMCACHE_FAULT_TIMEOUT=1, by the test's environment).
#include <semcache/runtime/runtime.hpp>
#include <semcache/semcache.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace semcache::runtime {
namespace {

using namespace std::chrono_literals;
constexpr std::size_t rows = 1000, columns = 100, n = rows * columns;

/// A column-major matrix on the device with a host side; element i is i at first.
struct Matrix {
  Matrix()
      : device(static_cast<double*>(allocate_device("matrix", n * sizeof(double)))),
        host(static_cast<double*>(allocate_host("matrix mirror", n * sizeof(double), device))) {
    for (std::size_t i = 0; i < n; ++i) host[i] = static_cast<double>(i);
  }
  ~Matrix() { free(); }
  void free() {
    deallocate(std::exchange(host, nullptr));
    deallocate(std::exchange(device, nullptr));
  }
  Matrix(const Matrix&) = delete;
  Matrix& operator=(const Matrix&) = delete;
  [[nodiscard]] HostPart part(std::size_t first_row, std::size_t count) const {
    return HostPart(device + first_row, count * sizeof(double), columns, rows * sizeof(double));
  }
  /// A kernel adds one to all elements.
  void add_one() const {
    const Capture written{device, nullptr, 0, true, false};
    const Launch launch(queue_of(nullptr), "add one", &written, 1);
    for (std::size_t i = 0; i < n; ++i) device[i] += 1;
  }
  double* device;
  double* host;
};

template <class Body>
std::string error_of(const Body& body) {
  try {
    body();
  } catch (const Error& e) {
    return e.what();
  }
  return {};
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// Doubles the elements of a part.
void twice(const HostPart& part, std::size_t count) {
  const HostUse use{{&part, Access::read_write}};
  auto* const x = static_cast<double*>(part.data());
  for (std::size_t i = 0; i < count; ++i) x[i] *= 2;
}

TEST(HostParts, AShareOfTheHostBesideAShareOfTheDevice) {
  const Matrix a;
  const HostPart upper = a.part(0, rows / 2);
  const ArrayPart lower(a.device + rows / 2, rows / 2 * sizeof(double), columns, rows * sizeof(double), 0);
  for (int round = 0; round < 3; ++round) {
    const HostUse use{{&upper, Access::read_write}};
    {  // the device works meanwhile
      const LibraryUse part{lower.data(), rows / 2 * columns * sizeof(double), Access::read_write};
      const Launch launch(queue_of(nullptr), &part, 1);
      auto* const x = static_cast<double*>(lower.data());
      for (std::size_t i = 0; i < rows / 2 * columns; ++i) x[i] *= 3;
    }
    auto* const x = static_cast<double*>(upper.data());
    for (std::size_t i = 0; i < rows / 2 * columns; ++i) x[i] *= 2;
  }
  for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(a.host[i], static_cast<double>(i) * (i % rows < rows / 2 ? 8 : 27)) << i;
  const std::uint64_t half = n / 2 * sizeof(double);
  const Statistics s = statistics();
  EXPECT_EQ(s.total.h2d.bytes, half) << "each share moves once";
  EXPECT_EQ(s.total.d2h.bytes, half);
}

TEST(HostParts, TheThreadThatUsesThemIsRefusedWhatConflicts) {
  const Matrix a;
  const HostPart upper = a.part(0, rows / 2);
  {
    const HostUse use{{&upper, Access::read}};
    const std::string said = error_of([&] { a.add_one(); });
    EXPECT_TRUE(contains(said, "this thread has a part of 'matrix' in use on the host")) << said;
    const HostPart same = a.part(0, 10);
    EXPECT_EQ(error_of([&] { const HostUse inner{{&same, Access::read}}; }), "") << "both read";
    EXPECT_TRUE(contains(error_of([&] { twice(same, 1); }), "End the use first"));
    EXPECT_EQ(static_cast<double*>(upper.data())[7], 7);
  }
  a.add_one();
  twice(upper, rows / 2 * columns);
  for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(a.host[i], (static_cast<double>(i) + 1) * (i % rows < rows / 2 ? 2 : 1)) << i;
}

/// Other threads wait for the end of the use: a launch, and an access that a page fault notices.
TEST(HostParts, OtherThreadsWait) {
  for (const bool launches : {true, false}) {
    const Matrix a, b;
    b.add_one();
    const HostPart upper = a.part(0, rows / 2);
    std::atomic<bool> done{false};
    std::thread other;
    double seen = 0;
    {
      const HostUse use{{&upper, Access::read_write}};
      other = std::thread([&] {
        if (launches) {
          a.add_one();
        } else {
          seen = const_cast<const volatile double*>(a.host)[3];
        }
        done = true;
      });
      std::this_thread::sleep_for(launches ? 100ms : 1500ms);  // a fault may wait longer than SEMCACHE_FAULT_TIMEOUT for work under way
      EXPECT_FALSE(done) << "it waits";
      EXPECT_EQ(const_cast<const volatile double*>(b.host)[9], 10) << "a fault of the use itself is served meanwhile";
      for (std::size_t i = 0; i < rows / 2 * columns; ++i) static_cast<double*>(upper.data())[i] = 5;
    }
    other.join();
    if (launches) {
      EXPECT_EQ(a.host[3], 6);
    } else {
      EXPECT_EQ(seen, 5);
    }
  }
}

TEST(HostParts, TwoThreadsThatWaitForEachOtherGetAnError) {
  const Matrix a, b;
  const HostPart of_a = a.part(0, 10), of_b = b.part(0, 10);
  std::atomic<int> begun{0}, refused{0}, added{0};
  const auto use = [&](const HostPart& mine, const Matrix& other) {
    const HostUse using_it{{&mine, Access::read_write}};
    ++begun;
    while (begun < 2) std::this_thread::yield();
    const std::string said = error_of([&] { other.add_one(); });
    if (contains(said, "neither can go on")) ++refused;
    if (said.empty()) ++added;
  };
  std::thread first([&] { use(of_a, b); });
  std::thread second([&] { use(of_b, a); });
  first.join();
  second.join();
  EXPECT_GE(refused, 1) << "when one gives up, the other may go on";
  EXPECT_EQ(refused + added, 2);
  EXPECT_EQ(a.host[n - 1] + b.host[n - 1], 2.0 * (n - 1) + added);
}

void read_the_mirror_of_what_is_written() {
  const Matrix a;
  const HostPart upper = a.part(0, rows / 2);
  const HostUse use{{&upper, Access::read_write}};
  (void)const_cast<const volatile double*>(a.host)[3];
}

TEST(HostParts, AnAccessToTheMirrorOfWhatTheThreadWritesEndsTheProcess) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_DEATH(read_the_mirror_of_what_is_written(), "conflicts with the use of a part of 'matrix' on the host.*neither can go on");
}

TEST(HostParts, LiveNoLongerThanTheirArrayAndTheirRuntime) {
  auto a = std::make_unique<Matrix>();
  auto part = std::make_unique<HostPart>(a->device, 80, 1, 0);
  {
    const HostUse use{{part.get(), Access::overwrite}};
    auto* const x = static_cast<double*>(part->data());
    part.reset();
    for (int i = 0; i < 10; ++i) x[i] = 9;  // the memory stays until the use ends
  }
  EXPECT_EQ(a->host[9], 9);
  EXPECT_EQ(a->host[10], 10);
  part = std::make_unique<HostPart>(a->device, 80, 1, 0);
  a->free();
  EXPECT_TRUE(contains(error_of([&] { twice(*part, 1); }), "after the array has been freed"));
  part.reset();
  a = std::make_unique<Matrix>();
  part = std::make_unique<HostPart>(a->host, 80, 1, 0);
  finalize();
  EXPECT_TRUE(contains(error_of([&] { twice(*part, 1); }), "before the last semcache::finalize"));
}

TEST(HostParts, AreRefusedByName) {
  const Matrix a;
  double foreign[4] = {};
  EXPECT_TRUE(contains(error_of([&] { const HostPart p(foreign, 8, 1, 0); }), "in no tracked array"));
  EXPECT_TRUE(contains(error_of([&] { const HostPart p(a.device, 0, 1, 0); }), "it is empty"));
  EXPECT_TRUE(contains(error_of([&] { const HostPart p(a.device + n - 1, 8, 2, 8); }), "leaves the array"));
  EXPECT_TRUE(contains(error_of([&] { const HostUse use{{nullptr, Access::read}}; }), "is null"));
  const HostPart part(a.device, 8, 1, 0);
  const std::vector<HostPartUse> many(HostUse::most_uses + 1, HostPartUse{&part, Access::read});
  EXPECT_TRUE(contains(error_of([&] { const HostUse use(many.data(), many.size()); }), "9 parts"));
  EXPECT_EQ(error_of([&] { const HostUse use(many.data(), HostUse::most_uses); }), "");
  const HostUse none(nullptr, 0);
}

TEST(HostIsListed, ByTheVariableOrTheProgram) {
  finalize();
  ::setenv("SEMCACHE_DEVICES", "0,host,2", 1);
  EXPECT_TRUE(host_is_listed());
  EXPECT_EQ(device_count(), 2) << "it is no device";
  finalize();
  use_devices({1, 0});
  EXPECT_FALSE(host_is_listed());
  finalize();
  use_devices({the_host, 3});
  EXPECT_TRUE(host_is_listed());
  EXPECT_EQ(device_count(), 1);
  EXPECT_EQ(device_ordinal(0), 3);
  finalize();
  EXPECT_TRUE(contains(error_of([] { use_devices({the_host}); }), "the host alone"));
  EXPECT_TRUE(contains(error_of([] { use_devices({the_host, 0, the_host}); }), "the host appears twice"));
  EXPECT_TRUE(host_is_listed()) << "the refused calls changed nothing";
  finalize();
  ::unsetenv("SEMCACHE_DEVICES");
  use_devices(1);
  EXPECT_FALSE(host_is_listed());
}

}  // namespace
}  // namespace semcache::runtime
