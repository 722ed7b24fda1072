// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/trace/timeline_file.hpp>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace semcache::trace;
using nlohmann::json;

RecorderOptions with_spans(std::size_t most) {
  RecorderOptions o;
  o.spans = most;
  return o;
}

Span span(Span::Kind kind, std::uint64_t begin, std::uint64_t end, std::uint64_t bytes = 0, LabelId label = {}) {
  Span s;
  s.kind = kind;
  s.begin_ns = begin;
  s.end_ns = end;
  s.bytes = bytes;
  s.label = label;
  return s;
}

json timeline(const Recorder& recorder, const TimelineFacts& facts = {{"a device"}, "emulated", true}) {
  return json::parse(timeline_json(recorder, facts, {17, "here", 3}));
}
std::vector<json> spans_of(const json& file) {
  std::vector<json> all;
  for (const json& e : file["traceEvents"]) {
    if (e["ph"] == "X") all.push_back(e);
  }
  return all;
}
/// The name of the row in which a span is drawn.
std::string row_of(const json& file, const json& span) {
  for (const json& e : file["traceEvents"]) {
    if (e["ph"] == "M" && e["name"] == "thread_name" && e["tid"] == span["tid"]) return e["args"]["name"];
  }
  return "none";
}

TEST(Timeline, SaysWhoWroteItAndWhatEachSpanIs) {
  Recorder recorder(with_spans(100));
  const LabelId a = recorder.intern("A");
  Span copy = span(Span::Kind::copy, 1500, 4750, 4096, a);
  copy.to = 1;
  copy.reason = "fetch";
  recorder.note(copy);
  const json file = timeline(recorder);
  const json& facts = file["otherData"];
  EXPECT_EQ(facts["semcache_timeline"], 1);
  EXPECT_EQ(facts["process"], 17);
  EXPECT_EQ(facts["host"], "here");
  EXPECT_EQ(facts["rank"], 3);
  EXPECT_EQ(facts["devices"], json({"a device"}));
  EXPECT_EQ(facts["dropped"]["copy"], 0);
  const std::vector<json> spans = spans_of(file);
  ASSERT_EQ(spans.size(), 1u);
  EXPECT_EQ(spans[0]["name"], "A");
  EXPECT_EQ(spans[0]["cat"], "copy");
  EXPECT_DOUBLE_EQ(spans[0]["ts"], 1.5);
  EXPECT_DOUBLE_EQ(spans[0]["dur"], 3.25);
  EXPECT_EQ(spans[0]["args"]["bytes"], 4096);
  EXPECT_EQ(spans[0]["args"]["reason"], "fetch");
  EXPECT_EQ(spans[0]["args"]["from"], "host");
  EXPECT_EQ(spans[0]["args"]["to"], "device 0");
  EXPECT_EQ(row_of(file, spans[0]), "host to device 0");
}

TEST(Timeline, LabelsMayHoldAnything) {
  Recorder recorder(with_spans(100));
  const std::string texts[] = {"<script>alert('\"')</script>", "line\nbreak\\", "\xff\xfe no UTF-8", std::string(3000, 'x')};
  for (const std::string& text : texts) recorder.note(span(Span::Kind::fault, 1, 2, 1, recorder.intern(text)));
  const std::vector<json> spans = spans_of(timeline(recorder));
  ASSERT_EQ(spans.size(), 4u);
  EXPECT_EQ(spans[0]["name"], texts[0]);
  EXPECT_EQ(spans[1]["name"], texts[1]);
  EXPECT_NE(spans[2]["name"].get<std::string>().find("no UTF-8"), std::string::npos);
}

/// What overlaps on a device or a link is drawn in several rows, because a viewer expects spans of a row to lie in each other or apart.
TEST(Timeline, SpansThatOverlapOnALinkGetRowsOfTheirOwn) {
  Recorder recorder(with_spans(100));
  for (const auto& [begin, end] : {std::pair(0, 10), std::pair(5, 15), std::pair(12, 20), std::pair(10, 11)}) {
    Span s = span(Span::Kind::copy, static_cast<std::uint64_t>(begin), static_cast<std::uint64_t>(end), 1);
    s.from = 1;
    recorder.note(s);
  }
  const json file = timeline(recorder);
  std::map<std::string, std::vector<std::pair<double, double>>> rows;
  for (const json& s : spans_of(file)) rows[row_of(file, s)].emplace_back(s["ts"], s["ts"].get<double>() + s["dur"].get<double>());
  EXPECT_EQ(rows.size(), 2u);
  for (auto& [name, spans] : rows) {
    EXPECT_EQ(name.substr(0, 16), "device 0 to host");
    std::sort(spans.begin(), spans.end());
    for (std::size_t i = 1; i < spans.size(); ++i) EXPECT_LE(spans[i - 1].second, spans[i].first);
  }
}

TEST(Timeline, FurtherSpansAreCountedByKind) {
  Recorder recorder(with_spans(5));
  for (int i = 0; i < 4; ++i) recorder.note(span(Span::Kind::fault, 1, 2));
  for (int i = 0; i < 3; ++i) recorder.note(span(Span::Kind::copy, 1, 2));
  const json file = timeline(recorder);
  EXPECT_EQ(spans_of(file).size(), 5u);
  EXPECT_EQ(file["otherData"]["dropped"]["copy"], 2);
  EXPECT_EQ(file["otherData"]["dropped"]["fault"], 0);
}

TEST(Timeline, EachSpanOfEachThreadIsKeptOnce) {
  constexpr std::uint64_t threads = 4, each = 3000;
  Recorder recorder(with_spans(threads * each));
  std::vector<std::thread> all;
  for (std::uint64_t t = 0; t < threads; ++t) {
    all.emplace_back([&recorder, t] {
      for (std::uint64_t i = 0; i < each; ++i) {
        SpanLog& log = *recorder.span_log();
        Span s = span(Span::Kind::launch, t * each + i, t * each + i + 1);
        s.name = log.name(i % 2 == 0 ? "even" : "odd");
        s.thread = SpanLog::this_thread();
        log.add(s);
      }
    });
  }
  for (std::thread& t : all) t.join();
  std::vector<std::uint64_t> begins;
  std::map<std::uint32_t, std::uint64_t> of_thread;
  for (const Span& s : recorder.span_log()->spans()) {
    begins.push_back(s.begin_ns);
    ++of_thread[s.thread];
  }
  std::sort(begins.begin(), begins.end());
  ASSERT_EQ(begins.size(), threads * each);
  for (std::uint64_t i = 0; i < begins.size(); ++i) ASSERT_EQ(begins[i], i);
  EXPECT_EQ(of_thread.size(), threads);
  for (const auto& [thread, count] : of_thread) EXPECT_EQ(count, each) << thread;
  EXPECT_EQ(recorder.span_log()->names().size(), 2u);
}

TEST(Timeline, WithoutALogNothingIsTimed) {
  Recorder recorder;
  EXPECT_EQ(recorder.span_log(), nullptr);
  const Timed timed(recorder, Span::Kind::wait, "nothing", {});
}

TEST(Timeline, AFileThatCannotBeWrittenIsOneLine) {
  const Recorder recorder(with_spans(1));
  ::testing::internal::CaptureStderr();
  EXPECT_FALSE(write_timeline(recorder, {}, "/no/such/folder/t.json", 0));
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("the timeline could not be written"), std::string::npos) << said;
  EXPECT_NE(said.find("/no/such/folder/t.json"), std::string::npos) << said;
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1);
}

}  // namespace
