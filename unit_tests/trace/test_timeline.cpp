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

DeviceSpan device_span(DeviceSpan::Kind kind, std::uint64_t begin, std::uint64_t end, std::uint32_t cause = 0) {
  DeviceSpan s;
  s.kind = kind;
  s.begin_ns = begin;
  s.end_ns = end;
  s.cause = cause;
  return s;
}
json gpu_timeline(const Recorder& recorder) { return timeline(recorder, {{"a GPU"}, "cuda", false, true}); }

/// A GPU may carry out a copy in several pieces, long after it was submitted. It stays one span, with the bytes that were counted.
TEST(Timeline, ACopyHasTheTimesOfTheGpuThatCarriedItOut) {
  Recorder recorder(with_spans(100));
  Span copy = span(Span::Kind::copy, 1000, 2000, 4096, recorder.intern("A"));
  copy.to = 1;
  copy.cause = recorder.span_log()->next_cause();
  recorder.note(copy);
  recorder.span_log()->add(device_span(DeviceSpan::Kind::copy, 18000, 30000, copy.cause));
  recorder.span_log()->add(device_span(DeviceSpan::Kind::copy, 10000, 20000, copy.cause));
  const json file = gpu_timeline(recorder);
  EXPECT_EQ(file["otherData"]["transfer_times"], "carried out");
  const std::vector<json> spans = spans_of(file);
  ASSERT_EQ(spans.size(), 1u);
  EXPECT_DOUBLE_EQ(spans[0]["ts"], 10);
  EXPECT_DOUBLE_EQ(spans[0]["dur"], 20);
  EXPECT_DOUBLE_EQ(spans[0]["args"]["submitted"], 1);
  EXPECT_EQ(spans[0]["args"]["bytes"], 4096);
  EXPECT_EQ(row_of(file, spans[0]), "host to device 0");
}

TEST(Timeline, ACopyWithoutTheTimesOfAGpuSaysSo) {
  Recorder recorder(with_spans(100));
  const auto note = [&](Span::Kind kind, std::uint64_t begin, std::uint8_t to) {
    Span s = span(kind, begin, begin + 500, 4096, recorder.intern("A"));
    s.to = to;
    s.cause = recorder.span_log()->next_cause();
    recorder.note(s);
    return s.cause;
  };
  recorder.span_log()->add(device_span(DeviceSpan::Kind::copy, 1200, 1400, note(Span::Kind::copy, 1000, 1)));
  note(Span::Kind::copy, 2000, 1);
  note(Span::Kind::fill, 3000, 1);
  note(Span::Kind::fill, 4000, 0);  // of the host's memory, by the host
  std::map<double, bool> submitted;
  for (const json& s : spans_of(gpu_timeline(recorder))) submitted[s["ts"]] = s["args"].value("times", "") == "submitted";
  EXPECT_EQ(submitted, (std::map<double, bool>{{1.2, false}, {2, true}, {3, true}, {4, false}}));
  for (const json& s : spans_of(timeline(recorder))) EXPECT_EQ(s["args"].count("times"), 0u) << "there are no times of a GPU";
}

TEST(Timeline, AKernelHasTheNameOfItsLaunchAndARowOfItsDevice) {
  Recorder recorder(with_spans(100));
  SpanLog& log = *recorder.span_log();
  Span launch = span(Span::Kind::launch, 1000, 2000);
  launch.to = 2;
  launch.name = log.name("axpy");
  launch.cause = log.next_cause();
  log.add(launch);
  DeviceSpan kernel = device_span(DeviceSpan::Kind::kernel, 3000, 7000, launch.cause);
  kernel.device = 1;
  kernel.stream = 13;
  kernel.name = log.name("_Z12of_a_wrapperi");
  log.add(kernel);
  kernel.cause = 0;  // of other code
  log.add(kernel);
  Span of_library = launch;
  of_library.name = log.name(SpanLog::library_routine);
  of_library.cause = log.next_cause();
  log.add(of_library);
  kernel.cause = of_library.cause;
  kernel.name = log.name("gemm_of_the_vendor");
  log.add(kernel);
  const json file = gpu_timeline(recorder);
  std::map<std::string, json> by_name;
  for (const json& s : spans_of(file)) {
    if (s["cat"] == "kernel") by_name[s["name"]] = s;
  }
  ASSERT_EQ(by_name.size(), 3u);
  ASSERT_EQ(by_name.count("axpy"), 1u);
  EXPECT_EQ(by_name.count("gemm_of_the_vendor"), 1u) << "a library tells no name of its launches, so its kernels keep theirs";
  ASSERT_EQ(by_name.count("of_a_wrapper(int)"), 1u);
  EXPECT_EQ(row_of(file, by_name["axpy"]), "device 1");
  EXPECT_EQ(by_name["axpy"]["args"]["stream"], 13);
  EXPECT_EQ(by_name["axpy"]["args"]["kind"], "kernel");
  EXPECT_DOUBLE_EQ(by_name["axpy"]["dur"], 4);
}

/// A fill may be a kernel or a fill of the driver's: it is drawn where it was carried out. What nobody asked the runtime for is not counted as its
/// copy.
TEST(Timeline, AFillIsDrawnOnItsDeviceAndOtherCodesCopiesApart) {
  Recorder recorder(with_spans(100));
  Span fill = span(Span::Kind::fill, 1000, 2000, 64, recorder.intern("zeros"));
  fill.to = 1;
  fill.cause = recorder.span_log()->next_cause();
  recorder.note(fill);
  recorder.span_log()->add(device_span(DeviceSpan::Kind::kernel, 5000, 6000, fill.cause));
  DeviceSpan other = device_span(DeviceSpan::Kind::copy, 7000, 8000);
  other.bytes = 99;
  recorder.span_log()->add(other);
  const json file = gpu_timeline(recorder);
  const std::vector<json> spans = spans_of(file);
  ASSERT_EQ(spans.size(), 2u);
  EXPECT_EQ(spans[0]["name"], "zeros");
  EXPECT_DOUBLE_EQ(spans[0]["ts"], 5);
  EXPECT_EQ(row_of(file, spans[0]), "device 0");
  EXPECT_EQ(spans[1]["cat"], "other");
  EXPECT_EQ(spans[1]["args"]["bytes"], 99);
  EXPECT_EQ(row_of(file, spans[1]), "device 0, other copies and fills");
}

TEST(Timeline, KernelsBeyondTheNumberAreCounted) {
  Recorder recorder(with_spans(3));
  for (std::uint64_t i = 0; i < 5; ++i) recorder.span_log()->add(device_span(DeviceSpan::Kind::kernel, i, i + 1));
  recorder.span_log()->add(device_span(DeviceSpan::Kind::fill, 9, 10));
  const json file = gpu_timeline(recorder);
  EXPECT_EQ(spans_of(file).size(), 3u);
  EXPECT_EQ(file["otherData"]["dropped"]["kernel"], 2);
  EXPECT_EQ(file["otherData"]["dropped"]["other"], 1);
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

TEST(Timeline, ANameIsItsTextNotItsAddress) {
  Recorder recorder(with_spans(1));
  SpanLog& log = *recorder.span_log();
  char text[] = "first";
  const std::uint32_t first = log.name(text);
  EXPECT_EQ(log.name(text), first);
  text[0] = 'F';
  EXPECT_NE(log.name(text), first);
  text[0] = 'f';
  EXPECT_EQ(log.name(text), first);
  EXPECT_EQ(log.name("first"), first);
  EXPECT_EQ(log.name(nullptr), log.name(""));
}

TEST(Timeline, NamesHaveAnyLengthAndNumber) {
  Recorder recorder(with_spans(1));
  SpanLog& log = *recorder.span_log();
  std::vector<std::string> names;
  for (std::size_t length = 0; length < 300; ++length) names.emplace_back(length, 'x');
  std::vector<std::uint32_t> numbers;
  for (const std::string& name : names) numbers.push_back(log.name(name.c_str()));
  for (int again = 0; again < 2; ++again) {
    for (std::size_t i = 0; i < names.size(); ++i) EXPECT_EQ(log.name(names[i].c_str()), numbers[i]) << i;
  }
  const std::vector<std::string> all = log.names();
  ASSERT_EQ(all.size(), names.size());
  for (std::size_t i = 0; i < names.size(); ++i) EXPECT_EQ(all[numbers[i] - 1], names[i]);
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
