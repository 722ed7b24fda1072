// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
//
// The file that SEMCACHE_TRACE makes a program write: its figures are those of the report.
#include <semcache/runtime/runtime.hpp>
#include <semcache/semcache.hpp>
#include <semcache/trace/recorder.hpp>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace semcache::runtime {
namespace {

using nlohmann::json;
constexpr std::size_t bytes = std::size_t{256} * 1024;

class RuntimeTimeline : public ::testing::Test {
 protected:
  RuntimeTimeline() {
    ::setenv("SEMCACHE_TRACE", (folder_ / "t-%p.json").c_str(), 1);
    ::unsetenv("SEMCACHE_TRACE_SPANS");
  }
  ~RuntimeTimeline() override {
    finalize();
    ::unsetenv("SEMCACHE_TRACE");
    std::filesystem::remove_all(folder_);
  }
  /// Ends the runtime, and reads what it has written.
  json end() {
    counters_ = statistics().total;
    finalize();
    std::ifstream file(folder_ / ("t-" + std::to_string(::getpid()) + ".json"));
    EXPECT_TRUE(file.good());
    return json::parse(file);
  }
  static Traffic sum(const json& file, const char* kind, const std::string& from, const std::string& to) {
    Traffic t;
    for (const json& e : file["traceEvents"]) {
      if (e["ph"] != "X" || e["args"]["kind"] != kind || e["args"].value("from", from) != from || e["args"].value("to", to) != to) continue;
      t += {e["args"]["bytes"], 1};
    }
    return t;
  }
  /// Counts the spans of a kind, and of one kernel if `name` is given. A launch is drawn twice: on its thread, and on its device.
  static std::size_t count(const json& file, const char* kind, const std::string& name = {}) {
    std::size_t n = 0;
    for (const json& e : file["traceEvents"]) n += e["ph"] == "X" && e["args"]["kind"] == kind && (name.empty() || e["name"] == name) ? 1 : 0;
    return n;
  }

  /// Runs a program of copies, launches and page faults, whose arrays do not fit a device together, and ends the runtime. Returns all that its report
  /// counts, a line each; at the end stands what the program computed.
  static std::string figures_of_a_program() {
    ::setenv("SEMCACHE_DEVICE_MEMORY", "1M", 1);
    const QueueId queue = queue_of(nullptr);
    constexpr int arrays = 6;
    std::vector<unsigned char*> devices, hosts;
    for (int a = 0; a < arrays; ++a) {
      const std::string name = "A" + std::to_string(a);
      devices.push_back(static_cast<unsigned char*>(allocate_device(name.c_str(), bytes)));
      hosts.push_back(static_cast<unsigned char*>(allocate_host((name + "_mirror").c_str(), bytes)));
    }
    for (int round = 0; round < 4; ++round) {
      for (int a = 0; a < arrays; ++a) {
        for (std::size_t i = 0; i < bytes; i += 1000) hosts[a][i] = static_cast<unsigned char>(a + round);
        copy(devices[a], hosts[a], bytes, {});
        if (round % 2 == 1) copy(devices[a], hosts[a], bytes, {});  // moves nothing
        const Capture written{devices[a], nullptr, 0, true, false};
        const Launch launch(queue, "adds one", &written, 1);
        for (std::size_t i = 0; i < bytes; ++i) ++devices[a][i];
      }
      copy(devices[0], devices[arrays - 1], bytes, {});
      const Capture read{devices[0], nullptr, 0, false, false};
      { const Launch launch(queue, "reads", &read, 1); }
      for (int a = 0; a < arrays; ++a) copy(hosts[a], devices[a], bytes, {});
    }
    std::uint64_t sum = 0;
    for (const unsigned char* const host : hosts) {
      for (std::size_t i = 0; i < bytes; ++i) sum = sum * 31 + host[i];
    }
    for (int a = 0; a < arrays; ++a) {
      deallocate(hosts[a]);
      deallocate(devices[a]);
    }
    const Statistics s = statistics();
    std::string all = figures("in total", s.total);
    all += "launches " + std::to_string(s.total.launches) + ", unknown " + std::to_string(s.total.unknown_launches) + ", waits " +
           std::to_string(s.total.device_waits) + '\n';
    std::map<std::string, std::string> labels;
    for (const NamedCounters& label : s.labels) labels[label.name] = figures(label.name, label.counters);
    for (const auto& [name, text] : labels) all += text;
    finalize();
    ::unsetenv("SEMCACHE_DEVICE_MEMORY");
    return all + "computed " + std::to_string(sum) + '\n';
  }

  Counters counters_;

 private:
  static std::string figures(const std::string& name, const Counters& c) {
    std::string text = name + ':';
#define SEMCACHE_APPEND(field) text += " " #field " " + std::to_string(c.field.bytes) + "/" + std::to_string(c.field.count);
    SEMCACHE_TRAFFIC(SEMCACHE_APPEND)
#undef SEMCACHE_APPEND
#define SEMCACHE_APPEND(field) text += " " #field " " + std::to_string(c.field);
    SEMCACHE_EVENTS(SEMCACHE_APPEND)
#undef SEMCACHE_APPEND
    return text + '\n';
  }
  std::filesystem::path folder_ = [] {
    std::string name = (std::filesystem::temp_directory_path() / "semcache-timeline-XXXXXX").string();
    return std::filesystem::path(::mkdtemp(name.data()));
  }();
};

TEST_F(RuntimeTimeline, ItsFiguresAreThoseOfTheReport) {
  const QueueId queue = queue_of(nullptr);
  auto* const device = static_cast<unsigned char*>(allocate_device("A", bytes));
  auto* const host = static_cast<unsigned char*>(allocate_host("A_mirror", bytes));
  auto* const other = static_cast<unsigned char*>(allocate_device("B", bytes));
  const Capture written{device, nullptr, 0, true, false};
  for (int round = 0; round < 3; ++round) {
    std::thread writer([&] { std::fill_n(host, bytes, static_cast<unsigned char>(round)); });
    writer.join();
    copy(device, host, bytes, {});
    {
      const Launch launch(queue, "adds one", &written, 1);
      for (std::size_t i = 0; i < bytes; ++i) ++device[i];
    }
    copy(host, device, bytes, {});
    EXPECT_EQ(host[bytes / 2], round + 1);
    copy(other, device, bytes, {});
    const Capture read{other, nullptr, 0, false, false};
    const Launch launch(queue, "reads", &read, 1);
  }
  deallocate(host);
  deallocate(other);
  deallocate(device);
  const json file = end();
  EXPECT_EQ(file["otherData"]["process"], ::getpid());
  EXPECT_EQ(sum(file, "copy", "host", "device 0"), counters_.h2d);
  EXPECT_EQ(sum(file, "copy", "device 0", "host"), counters_.d2h);
  EXPECT_EQ(sum(file, "copy", "device 0", "device 0"), counters_.d2d);
  EXPECT_GT(counters_.h2d.bytes, 0u);
  EXPECT_GT(counters_.d2h.bytes, 0u);
  EXPECT_GT(counters_.d2d.bytes, 0u);
  EXPECT_GT(counters_.host_faults, 0u);
  EXPECT_EQ(count(file, "fault"), counters_.host_faults);
  EXPECT_EQ(count(file, "launch"), 2 * counters_.launches);
  EXPECT_EQ(count(file, "launch", "adds one"), 6u);
  for (const auto& [kind, dropped] : file["otherData"]["dropped"].items()) EXPECT_EQ(dropped, 0) << kind;
  // A fault is drawn in the row of the thread that made the access, so the writers have rows of their own, which hold nothing else.
  std::set<std::string> rows;
  for (const json& e : file["traceEvents"]) {
    if (e["ph"] == "M" && e["name"] == "thread_name") rows.insert(e["args"]["name"]);
  }
  EXPECT_EQ(rows.count("host thread " + std::to_string(::getpid()) + " (main)"), 1u);
  EXPECT_GE(rows.size(), 1u + 3u + 3u) << "the main thread, the writers, the device, both links";
  bool has_site = false;
  for (const json& e : file["traceEvents"]) has_site = has_site || (e["ph"] == "X" && e["args"]["kind"] == "copy" && e["args"].contains("site"));
  EXPECT_TRUE(has_site);
}

TEST_F(RuntimeTimeline, KeepsAsManySpansAsAreAskedFor) {
  ::setenv("SEMCACHE_TRACE_SPANS", "10", 1);
  const QueueId queue = queue_of(nullptr);
  void* const device = allocate_device("A", bytes);
  const Capture written{device, nullptr, 0, true, false};
  for (int i = 0; i < 50; ++i) const Launch launch(queue, "kernel", &written, 1);
  deallocate(device);
  const json file = end();
  std::uint64_t kept = 0, dropped = 0;
  for (const json& e : file["traceEvents"]) kept += e["ph"] == "X" && e["args"]["kind"] != "launch" ? 2 : e["ph"] == "X" ? 1 : 0;
  for (const auto& [kind, n] : file["otherData"]["dropped"].items()) dropped += n.get<std::uint64_t>();
  EXPECT_EQ(kept, 20u) << "ten spans; a launch is drawn twice";
  EXPECT_GE(dropped, 40u);
}

TEST_F(RuntimeTimeline, AnEvictionIsInIt) {
  ::setenv("SEMCACHE_DEVICE_MEMORY", "1M", 1);
  const QueueId queue = queue_of(nullptr);
  std::vector<void*> arrays;
  for (int i = 0; i < 8; ++i) {
    arrays.push_back(allocate_device("A", bytes));
    const Capture written{arrays.back(), nullptr, 0, true, false};
    const Launch launch(queue, "kernel", &written, 1);
    std::fill_n(static_cast<unsigned char*>(arrays.back()), bytes, static_cast<unsigned char>(i));
  }
  for (void* const a : arrays) deallocate(a);
  const json file = end();
  ::unsetenv("SEMCACHE_DEVICE_MEMORY");
  EXPECT_GT(counters_.evictions, 0u);
  EXPECT_EQ(count(file, "evict"), counters_.evictions);
  EXPECT_EQ(sum(file, "copy", "device 0", "host"), counters_.d2h) << "what was saved before";
}

TEST_F(RuntimeTimeline, BytesTransfersAndFaultsAreTheSameWithoutIt) {
  const std::string with = figures_of_a_program();
  ::unsetenv("SEMCACHE_TRACE");
  const std::string without = figures_of_a_program();
  EXPECT_EQ(with, without);
  const std::string total = without.substr(0, without.find('\n'));
  for (const char* field : {"h2d", "d2h", "d2d", "avoided", "deferred", "host_faults", "evictions"}) {
    EXPECT_EQ(total.find(std::string(" ") + field + " 0"), std::string::npos) << "the program has none of these: " << field;
  }
}

/// Threads that begin each round together, each with arrays and a stream of its own.
TEST_F(RuntimeTimeline, ThreadsThatMoveDataAtOnceHaveALaneEach) {
  constexpr int threads = 4, rounds = 25;
  (void)queue_of(nullptr);
  std::atomic<int> arrived{0};
  std::vector<std::uint32_t> numbers(threads);
  std::vector<std::thread> all;
  for (int t = 0; t < threads; ++t) {
    all.emplace_back([&arrived, &numbers, t] {
      numbers[t] = static_cast<std::uint32_t>(::syscall(SYS_gettid));
      const std::string name = "of thread " + std::to_string(t);
      auto* const device = static_cast<unsigned char*>(allocate_device(name.c_str(), bytes));
      auto* const host = static_cast<unsigned char*>(allocate_host((name + ", mirror").c_str(), bytes));
      const QueueId queue = queue_of(&numbers[t]);
      const Capture written{device, nullptr, 0, true, false};
      for (int round = 0; round < rounds; ++round) {
        for (++arrived; arrived < threads * (round + 1);) std::this_thread::yield();
        host[0] = static_cast<unsigned char>(round + t);
        copy(device, host, bytes, {});
        {
          const Launch launch(queue, name.c_str(), &written, 1);
          ++device[0];
        }
        copy(host, device, bytes, {});
        EXPECT_EQ(host[0], static_cast<unsigned char>(round + t + 1));
      }
      deallocate(host);
      deallocate(device);
    });
  }
  for (std::thread& t : all) t.join();
  const json file = end();

  EXPECT_EQ(sum(file, "copy", "host", "device 0"), counters_.h2d);
  EXPECT_EQ(sum(file, "copy", "device 0", "host"), counters_.d2h);
  EXPECT_EQ(count(file, "fault"), counters_.host_faults);
  std::map<int, std::string> lanes;
  std::map<std::string, std::vector<json>> spans;
  for (const json& e : file["traceEvents"]) {
    if (e["ph"] == "M" && e["name"] == "thread_name") lanes[e["tid"]] = e["args"]["name"];
  }
  for (const json& e : file["traceEvents"]) {
    if (e["ph"] == "X") spans[lanes.at(e["tid"])].push_back(e);
  }
  for (int t = 0; t < threads; ++t) {
    const std::vector<json>& own = spans["host thread " + std::to_string(numbers[t])];
    std::size_t launches = 0, faults = 0;
    for (const json& e : own) {
      launches += e["cat"] == "launch" ? 1 : 0;
      faults += e["cat"] == "fault" ? 1 : 0;
      const std::string name = e["name"];
      EXPECT_TRUE(e["cat"] == "wait" || name.rfind("of thread " + std::to_string(t), 0) == 0) << e;
    }
    EXPECT_EQ(launches, rounds);
    EXPECT_GE(faults, rounds);
  }
  // Viewers draw wrongly what neither lies in its predecessor nor behind it. Times are compared in nanoseconds, which have three digits of a microsecond.
  const auto ns = [](const json& microseconds) { return static_cast<std::int64_t>(microseconds.get<double>() * 1000 + 0.5); };
  for (const auto& [lane, row] : spans) {
    std::vector<std::int64_t> open;
    for (const json& e : row) {
      const std::int64_t begin = ns(e["ts"]), finish = begin + ns(e["dur"]);
      while (!open.empty() && open.back() <= begin) open.pop_back();
      EXPECT_TRUE(open.empty() || finish <= open.back()) << lane << ": " << e;
      open.push_back(finish);
    }
  }
}

/// Whether the disk is full or the file would be larger than the shell allows (`ulimit -f`, whose signal ends a process by default): the program goes on.
TEST_F(RuntimeTimeline, AFullDiskIsOneLineAndChangesNothingElse) {
  const std::string file = std::getenv("SEMCACHE_TRACE");
  ::unsetenv("SEMCACHE_TRACE");
  const std::string without = figures_of_a_program();
  rlimit usual{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &usual), 0);
  for (const auto& [target, reason] : {std::pair(std::string("/dev/full"), "No space left on device"), std::pair(file, "File too large")}) {
    ::setenv("SEMCACHE_TRACE", target.c_str(), 1);
    ::testing::internal::CaptureStderr();
    const rlimit small{8192, usual.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
    const std::string with = figures_of_a_program();
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &usual), 0);
    const std::string said = ::testing::internal::GetCapturedStderr();
    EXPECT_EQ(with, without) << target;
    EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
    EXPECT_NE(said.find(std::string("the timeline could not be written: ") + reason), std::string::npos) << said;
    EXPECT_TRUE(std::filesystem::is_empty(std::filesystem::path(file).parent_path())) << "nothing is left behind";
  }
}

}  // namespace
}  // namespace semcache::runtime
