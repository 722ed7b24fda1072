// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors

/// The advisor's library by its callbacks: what is certain, what is possible, and GPU memory behind a fake driver.
#include "advisor_driver.hpp"
#include "tool.hpp"

#include <numeric>
#include <vector>

namespace semcache::test {
namespace {

using Bytes = std::vector<unsigned char>;

Bytes counted(std::size_t n, unsigned char first = 1) {
  Bytes b(n);
  std::iota(b.begin(), b.end(), first);
  return b;
}

std::uint64_t found(const Json& report, const char* what, const char* key = "count") { return sum_of(report, what, key); }

TEST(Advisor, OneDifferentByteIsNoRedundantCopy) {
  for (const std::size_t n : {std::size_t{1}, std::size_t{7}, std::size_t{8}, std::size_t{4099}, std::size_t{65536}, std::size_t{65537}, std::size_t{300001}}) {
    for (const std::size_t at : {std::size_t{0}, n / 2, n - 1}) {
      const Bytes from = counted(n);
      Bytes to = from;
      Session s;
      s.copy(to.data(), from.data(), n);
      to[at] ^= 0x10;
      s.copy(to.data(), from.data(), n);

      const Json r = s.report();
      EXPECT_EQ(found(r, "redundant"), 1u) << n << " bytes, byte " << at;
      EXPECT_EQ(r["advisor"]["copies"]["count"], 2);
    }
  }
}

TEST(Advisor, ExchangedWordsAreADifferentContent) {
  Bytes from = counted(64), to = from;
  std::swap_ranges(to.begin(), to.begin() + 8, to.begin() + 8);
  Session s;
  s.copy(to.data(), from.data(), from.size());

  EXPECT_EQ(found(s.report(), "redundant"), 0u);
}

TEST(Advisor, ACopyByKernelsIsJudgedByWhatItLeaves) {
  Bytes from = counted(600), to = from;
  Session s;
  s.begin(to.data(), from.data(), 600);  // equal bytes, but the elements are in another order
  s.kernel("Kokkos::ViewCopy-2D");
  std::reverse(to.begin(), to.end());
  s.end();
  s.begin(to.data(), from.data(), 600);  // different bytes, and nothing changes
  s.kernel("Kokkos::ViewCopy-2D");
  s.end();

  const Json r = s.report();
  EXPECT_EQ(found(r, "redundant"), 1u);
  EXPECT_EQ(r["advisor"]["launches"], 0);
}

TEST(Advisor, ContentThatWasThereByChanceIsPossibleOnly) {
  Bytes from = counted(100), to = from, later = from, source = from;
  Session s;
  s.allocate("to", to.data(), 100);
  s.copy(to.data(), from.data(), 100);  // no copy has brought anything to this memory
  s.copy(to.data(), from.data(), 100);
  s.allocate("later", later.data(), 100);
  s.kernel();  // may have written it, or not
  s.copy(later.data(), from.data(), 100);
  s.allocate("source", source.data(), 100);
  s.copy(to.data(), source.data(), 100);  // whoever copies from memory means what is there
  s.copy(source.data(), to.data(), 100);

  const Json r = s.report();
  EXPECT_EQ(found(r, "fresh"), 2u);
  EXPECT_EQ(found(r, "redundant"), 3u);
  EXPECT_EQ(r["advisor"]["saves"]["certain"]["count"], 3);
  EXPECT_EQ(r["advisor"]["saves"]["possible"]["count"], 2);
}

TEST(Advisor, AdviceIsStructuredAndARoundTripThatRestoredIsWorthNothing) {
  Bytes a = counted(100), b(100);
  Session s;
  s.allocate("a", a.data(), 100);
  s.allocate("b", b.data(), 100);
  s.copy(b.data(), a.data(), 100);
  s.copy(a.data(), b.data(), 100);  // redundant, and a round trip
  s.copy(b.data(), a.data(), 100);  // so is this
  a[5] ^= 1;
  s.copy(a.data(), b.data(), 100);  // restores

  const Json r = s.report();
  const Json& items = r["advice_items"];
  ASSERT_EQ(items.size(), r["advice"].size());
  std::uint64_t redundant = 0, returned = 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    EXPECT_EQ(items[i]["text"], r["advice"][i]);
    EXPECT_EQ(items[i]["certainty"], "certain");
    EXPECT_EQ(items[i]["call_site"], r["advisor"]["findings"][i]["call_site"]);
    EXPECT_EQ(items[i]["labels"][0]["name"], "to");
    (items[i]["kind"] == "redundant" ? redundant : returned) += items[i].value("bytes", std::uint64_t{0});
    if (items[i].contains("bytes")) {
      EXPECT_EQ(items[i]["direction"], "h2h");
      EXPECT_GT(items[i]["seconds"].get<double>(), 0);
      EXPECT_FALSE(items[i]["condition"].get<std::string>().empty());
    }
  }
  EXPECT_EQ(redundant, 200u);
  EXPECT_EQ(returned, 200u);
  EXPECT_EQ(found(r, "round trip", "bytes"), 300u);
}

/// A build for the host has one memory for a view and its mirror.
TEST(Advisor, ACopyOntoItselfWouldBeRedundantOnAGpuIfNothingHasChanged) {
  Bytes a = counted(100), b(50);
  Session s;
  s.allocate("a", a.data(), 100);
  s.copy(a.data(), a.data(), 100);
  s.kernel("changes nothing");
  s.copy(a.data(), a.data(), 100);  // unchanged
  a[99] ^= 1;
  s.copy(a.data(), a.data(), 100);
  s.copy(a.data(), a.data(), 50);   // of another length, so nothing is known
  s.deallocate("a", a.data(), 100);
  s.allocate("again", a.data(), 100);
  s.copy(a.data(), a.data(), 50);   // of another array
  s.copy(b.data(), a.data(), 50);   // carried out

  const Json r = s.report();
  const Json& a_key = r["advisor"];
  EXPECT_EQ(a_key["onto_itself"]["bytes"], 400);
  EXPECT_EQ(a_key["onto_itself"]["count"], 5);
  EXPECT_EQ(a_key["onto_itself"]["unchanged"]["bytes"], 100);
  EXPECT_EQ(a_key["empty_copies"], 5);
  EXPECT_EQ(a_key["copies"]["bytes"], 50);
  EXPECT_EQ(a_key["saves"]["possible"]["bytes"], 0);  // in this run nothing was moved
  ASSERT_EQ(a_key["findings"].size(), 1u);
  const Json& finding = a_key["findings"][0];
  EXPECT_EQ(finding["what"], "shared");
  EXPECT_EQ(finding["certainty"], "possible");
  EXPECT_EQ(finding["of"]["count"], 1);  // at this statement
  EXPECT_EQ(finding["kernels_between"], Json::array({"changes nothing"}));
  EXPECT_EQ(r["labels"].size(), 1u);
}

TEST(Advisor, MemoryThatIsGivenOutAgainHasNoPast) {
  Bytes a = counted(100), b(100);
  Session s;
  s.allocate("a", a.data(), 100);
  s.allocate("b", b.data(), 100);
  s.copy(b.data(), a.data(), 100);
  s.deallocate("b", b.data(), 100);
  s.allocate("other", b.data(), 100);
  s.kernel();
  s.copy(a.data(), b.data(), 100);  // the same bytes, but of another array: no round trip

  const Json r = s.report();
  EXPECT_EQ(found(r, "round trip"), 0u);
  EXPECT_EQ(found(r, "redundant"), 1u);
}

TEST(Advisor, PartsOfAnArrayAreItsOwn) {
  Bytes a = counted(200), b(200);
  Session s;
  s.allocate("a", a.data(), 200);
  s.allocate("b", b.data(), 200);
  s.copy(b.data(), a.data(), 100);
  s.copy(b.data() + 100, a.data() + 100, 100);
  s.copy(a.data() + 100, b.data() + 100, 100);

  const Json r = s.report();
  EXPECT_EQ(found(r, "round trip"), 1u);
  EXPECT_EQ(found(r, "redundant"), 1u);
}

TEST(Advisor, ALabelOfAnUnmanagedPartIsThatOfItsArray) {
  Bytes a = counted(1000), b(1000);
  Session s;
  s.allocate("whole", b.data(), 1000);
  s.copy(b.data(), a.data(), 1000);
  for (int twice = 0; twice < 2; ++twice) {
    Tool::loaded().begin_copy(space("Host"), "", b.data() + 160, space("Host"), "", a.data() + 160, 100);
    Tool::loaded().end_copy();
  }

  const Json r = s.report();
  EXPECT_EQ(sum_of(r, "redundant", "count", "whole"), 2u);
  EXPECT_EQ(r["advisor"]["findings"][0]["from"], "(no label)");
}

TEST(Advisor, FillsAndVariablesAreNotReadAsArrays) {
  double value = 3;
  std::vector<double> view(1000);
  Session s;
  Tool& t = Tool::loaded();
  t.begin_copy(space("Host"), "view", view.data(), space("Host"), "Scalar", &value, 8000);
  t.end_copy();
  t.begin_copy(space("Host"), "view", view.data(), space("Host"), "(none)", &value, 8000);
  t.end_copy();
  t.begin_copy(space("Host"), "Scalar", &value, space("Host"), "view", view.data(), 8);
  t.end_copy();

  const Json r = s.report();
  EXPECT_EQ(r["total"]["filled"]["bytes"], 16000);
  EXPECT_EQ(r["advisor"]["scalars"]["count"], 1);
  EXPECT_EQ(r["advisor"]["copies"]["count"], 0);
}

TEST(Advisor, ReadsADevicesMemoryThroughItsDriver) {
  constexpr std::size_t n = (20 << 20) + 5;  // several pieces
  unsigned char* const device = fake_device_memory();
  const Bytes host = counted(n);
  const int waits = fake_device_waits();
  const auto upload = [&](Session& s) {
    s.begin(device, host.data(), n, "Cuda", "Host");
    std::memcpy(fake_device_content(device), host.data(), n);
    s.end();
  };
  Session s;
  s.allocate("d", device, n, "Cuda");
  upload(s);
  s.kernel();
  upload(s);                                  // redundant
  fake_device_content(device)[n - 1] ^= 1;    // a kernel changes it
  s.kernel();
  upload(s);

  const Json r = s.report();
  EXPECT_EQ(found(r, "redundant"), 1u);
  EXPECT_EQ(found(r, "redundant", "bytes"), n);
  EXPECT_EQ(r["total"]["h2d"]["bytes"], 3 * n);
  EXPECT_EQ(r["device"]["kind"], "cuda");
  EXPECT_EQ(r["advisor"]["not_examined"]["count"], 0);
  EXPECT_EQ(fake_device_waits() - waits, 6);  // before and after each copy
  EXPECT_EQ(fake_device_contexts(), 0);
}

TEST(Advisor, WhatNoKernelCouldUseWasMovedForNothingPerhaps) {
  constexpr std::size_t n = 4096;
  unsigned char* const device = fake_device_memory();
  const Bytes one = counted(n, 1), two = counted(n, 2);
  std::memset(fake_device_content(device), 0, 2 * n);
  const auto upload = [&](Session& s, const Bytes& from) {
    s.begin(device, from.data(), n, "Cuda", "Host");
    std::memcpy(fake_device_content(device), from.data(), n);
    s.end();
  };
  Session s;
  s.allocate("d", device, n, "Cuda");
  upload(s, one);
  upload(s, two);  // overwrites what nothing used
  s.kernel();
  upload(s, one);
  s.begin(device + n, device, n, "Cuda", "Cuda");  // uses it
  s.end();
  upload(s, two);
  s.deallocate("d", device, n, "Cuda");  // frees what nothing used

  const Json r = s.report();
  EXPECT_EQ(found(r, "unused"), 2u);
  EXPECT_EQ(found(r, "redundant"), 0u);
  EXPECT_EQ(r["advisor"]["saves"]["possible"]["bytes"], 2 * n);
}

TEST(Advisor, UnknownSpacesAreCountedAndNotRead) {
  Bytes a = counted(100), b = a;
  Session s;
  s.begin(a.data(), b.data(), 100, "SemCache", "Host");
  s.end();
  s.begin(a.data(), b.data(), 100, "HIP", "HIPHostPinned");
  s.end();

  const Json r = s.report();
  EXPECT_EQ(r["advisor"]["findings"], Json::array());
  EXPECT_EQ(r["advisor"]["not_examined"]["count"], 2);
  EXPECT_EQ(r["total"]["other"]["bytes"], 200);
}

TEST(Advisor, AsksKokkosForNoFences) {
  ToolSettings settings{};
  settings.requires_global_fencing = true;
  Tool::loaded().settings(1, &settings);

  EXPECT_FALSE(settings.requires_global_fencing);
}

}  // namespace
}  // namespace semcache::test
