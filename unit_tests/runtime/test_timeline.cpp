// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
//
// The file that SEMCACHE_TRACE makes a program write: its figures are those of the report.
#include <semcache/runtime/runtime.hpp>
#include <semcache/semcache.hpp>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
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

  Counters counters_;

 private:
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

}  // namespace
}  // namespace semcache::runtime
