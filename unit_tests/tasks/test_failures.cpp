// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/runtime/runtime.hpp>
#include <semcache/semcache.hpp>
#include <semcache/tasks/tasks.hpp>

#include <fakes/fake_runtime.hpp>

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace semcache::tasks {
namespace {

using fakes::FakeWorld;
using fakes::world;
using policy::Task;

constexpr std::uint32_t devices = fakes::devices_of_runtime;
constexpr std::uint64_t share = 1 << 12, n = devices * share;

/// y = y + x by a task on each device, of which each adds the first element of x, too.
class Sum {
 public:
  Sum() {
    use_devices(static_cast<int>(devices));
    for (double** a : {&x, &y}) *a = static_cast<double*>(runtime::allocate_host("operand", n * sizeof(double)));
    set();
  }
  ~Sum() {
    for (double* const a : {x, y}) runtime::deallocate(a);
    finalize();
    world = nullptr;
  }
  Sum(const Sum&) = delete;
  Sum& operator=(const Sum&) = delete;
  void set() const {
    for (std::uint64_t i = 0; i < n; ++i) {
      x[i] = static_cast<double>(i) + 1;
      y[i] = 1;
    }
  }
  void compute() const {
    std::vector<Task> cut;
    for (std::uint32_t d = 0; d < devices; ++d) {
      const Rectangle part{d * share, (d + 1) * share, 0, 1};
      cut.push_back({d, 0, {{0, {0, n, 0, 1}, Access::read}, {1, part, Access::read_write}}});
    }
    run(cut, {{x, n, 1, n, 8}, {y, n, 1, n, 8}}, [](const runtime::Stream&, const Task& t, const Operand* at) {
      world->may_fail(FakeWorld::call_fill, "kernel", t.device);
      const auto* const all_x = static_cast<const double*>(at[0].data);
      for (std::uint64_t i = 0; i < share; ++i) {
        static_cast<double*>(at[1].data)[i] += all_x[t.parts[1].where.row_begin + i] + all_x[0];
      }
    });
  }
  /// What y has become where the task of this element has been carried out.
  [[nodiscard]] static double done(std::uint64_t i) { return static_cast<double>(i) + 3; }

  double *x = nullptr, *y = nullptr;
};

struct Kind {
  const char* name;
  unsigned calls;
  unsigned expected;  ///< of these some fail on each device at least
};

/// Makes each call in turn fail, on each device. Returns how many have made the sum fail.
void each_fails(const Kind& k, bool again_on_devices) {
  for (std::uint32_t failing = 0; failing < devices; ++failing) {
    std::set<std::string> failed;
    std::uint64_t errors = 0;
    for (std::uint64_t call = 1;; ++call) {
      SCOPED_TRACE(std::string(k.name) + ", call " + std::to_string(call) + " of device " + std::to_string(failing));
      const Sum sum;
      if (again_on_devices) sum.compute(), sum.set();  // places and queues are there, and the content is not
      world->fail_call(call, k.calls, failing);
      bool ended = true;
      try {
        sum.compute();
      } catch (const Error& e) {
        ended = false;
        ++errors;
        EXPECT_NE(std::string(e.what()).find("device " + std::to_string(failing)), std::string::npos) << e.what();
      }
      const bool pending = world->failure_pending();
      world->fail_call(0, 0);
      if (!pending) failed.insert(world->failed);
      for (std::uint64_t i = 0; i < n; ++i) ASSERT_EQ(sum.x[i], static_cast<double>(i) + 1) << "what is read stays intact";
      for (std::uint64_t s = 0; s < devices; ++s) {
        const bool done = sum.y[s * share] != 1;
        if (ended) {
          EXPECT_TRUE(done);
        }
        for (std::uint64_t i = s * share; i < (s + 1) * share; ++i) ASSERT_EQ(sum.y[i], done ? Sum::done(i) : 1.0) << i;
      }
      sum.set();
      ASSERT_NO_THROW(sum.compute()) << "the same call succeeds afterwards";
      for (std::uint64_t i = 0; i < n; ++i) ASSERT_EQ(sum.y[i], Sum::done(i)) << i;
      if (pending) break;  // there are no more calls
    }
    EXPECT_GE(failed.size(), 1U) << k.name << " of device " << failing << ": none was made";
    EXPECT_GE(errors, k.expected) << k.name << " of device " << failing;
  }
}

TEST(TasksFailures, EachCallOfEachDeviceFailsOnce) {
  const Kind kinds[] = {{"memory", FakeWorld::call_map, 1},
                        {"staging memory", FakeWorld::call_staging, 0},
                        {"copies", FakeWorld::call_copy, 1},
                        {"events", FakeWorld::call_record | FakeWorld::call_wait, 1},
                        {"streams", FakeWorld::call_adopt, 1},
                        {"kernels", FakeWorld::call_fill, 1}};
  for (const Kind& k : kinds) {
    each_fails(k, false);
    if (HasFatalFailure()) return;
  }
}

TEST(TasksFailures, EachCallOfEachDeviceFailsOnceWhereEarlierCallsHaveLeftTheirPlaces) {
  each_fails({"copies", FakeWorld::call_copy, 1}, true);
  if (!HasFatalFailure()) each_fails({"events", FakeWorld::call_record | FakeWorld::call_wait, 1}, true);
}

}  // namespace
}  // namespace semcache::tasks
