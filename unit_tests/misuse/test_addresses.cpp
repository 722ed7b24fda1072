// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/runtime/runtime.hpp>
#include <semcache/semcache.h>
#include <semcache/semcache.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

// Every public call with addresses that it cannot take: an error that names them, the same in C and C++, and nothing changes.
namespace semcache {
namespace {

constexpr std::size_t size = 4096;
constexpr std::size_t all = SIZE_MAX;

std::string text(const void* address) { return base::text_of(address); }
bool contains(const std::string& where, const std::string& part) { return where.find(part) != std::string::npos; }

/// What a call says; empty if it returns.
std::string usage_error(const std::function<void()>& call) {
  try {
    call();
  } catch (const UsageError& e) {
    return e.what();
  }
  return {};
}
std::string usage_error(semcache_status status) { return status == SEMCACHE_ERROR_USAGE ? semcache_last_error() : ""; }

class Addresses : public testing::Test {
 protected:
  Addresses() {
    for (std::size_t i = 0; i < size; ++i) host[i] = static_cast<unsigned char>(i);
    runtime::copy(device, host, size, QueueId{});
    for (void* freed : {freed_device, freed_host}) runtime::deallocate(freed);
  }
  ~Addresses() override {
    EXPECT_EQ(device[100], 100) << "nothing has changed";
    EXPECT_EQ(host[100], 100);
    runtime::deallocate(device);
    runtime::deallocate(host);
    finalize();
  }
  unsigned char plain[size] = {};
  unsigned char* device = static_cast<unsigned char*>(runtime::allocate_device("device array", size));
  unsigned char* host = static_cast<unsigned char*>(runtime::allocate_host("host array", size));
  void* freed_device = runtime::allocate_device("freed", size);
  void* freed_host = runtime::allocate_host("freed", size);

  [[nodiscard]] std::vector<const void*> untracked() const { return {nullptr, plain, freed_device, freed_host}; }
};

TEST_F(Addresses, AnnouncementsRefuseWhatNobodyTracks) {
  for (const void* address : untracked()) {
    const std::string said = usage_error([&] { access(address, 8, Access::read); });
    EXPECT_TRUE(contains(said, text(address))) << said;
    EXPECT_EQ(contains(said, "freed"), address == freed_device || address == freed_host) << said;
    EXPECT_EQ(usage_error([&] { settle(address, 8); }), said);
    EXPECT_EQ(usage_error(semcache_access(address, 8, SEMCACHE_READ_WRITE)), said);
    EXPECT_EQ(usage_error(semcache_settle(address, 8)), said);
    EXPECT_EQ(usage_error([&] { runtime::settle(address); }), said);
    EXPECT_FALSE(is_tracked(address));
  }
}

TEST_F(Addresses, AnnouncementsStayInsideOneArray) {
  for (const auto& [begin, bytes] : std::vector<std::pair<unsigned char*, std::size_t>>{
           {device, size + 1}, {device + size - 1, 2}, {device + 1, all}, {host + 1, size}, {host + 1, all}}) {
    const std::string said = usage_error([&, b = begin, n = bytes] { access(b, n, Access::write); });
    EXPECT_TRUE(contains(said, begin >= host && begin < host + size ? "'host array' of 4096" : "'device array' of 4096")) << said;
    EXPECT_TRUE(contains(said, std::to_string(bytes))) << said;
    EXPECT_EQ(usage_error(semcache_access(begin, bytes, SEMCACHE_WRITE)), said);
    EXPECT_EQ(usage_error(semcache_settle(begin, bytes)), said);
  }
}

TEST_F(Addresses, NoBytesAreNoUse) {
  for (const void* address : untracked()) {
    EXPECT_EQ(usage_error([&] { access(address, 0, Access::write); }), "");
    EXPECT_EQ(semcache_access(address, 0, SEMCACHE_WRITE), SEMCACHE_SUCCESS);
    EXPECT_EQ(semcache_settle(address, 0), SEMCACHE_SUCCESS);
    EXPECT_EQ(semcache_copy(const_cast<void*>(address), device, 0), SEMCACHE_SUCCESS);
    EXPECT_EQ(usage_error([&] { runtime::copy(const_cast<void*>(address), device, 0, QueueId{}); }), "");
    EXPECT_EQ(usage_error([&] { runtime::fill(const_cast<void*>(address), 0, "", 1, QueueId{}); }), "");
  }
}

TEST_F(Addresses, AModeThatDoesNotExistIsRefused) {
  EXPECT_TRUE(contains(usage_error([&] { access(device, 8, static_cast<Access>(77)); }), "77"));
  EXPECT_TRUE(contains(usage_error([&] { access(device, 0, static_cast<Access>(4)); }), "4"));
  EXPECT_TRUE(contains(usage_error(semcache_access(device, 8, 77)), "77"));
}

TEST_F(Addresses, CopiesRefuseNullAndFreedArrays) {
  for (void* address : {static_cast<void*>(nullptr), freed_device, freed_host}) {
    for (const bool to : {true, false}) {
      const auto copy = [&] { runtime::copy(to ? address : device, to ? device : address, 8, QueueId{}); };
      const std::string said = usage_error(copy);
      EXPECT_TRUE(contains(said, address == nullptr ? "null" : text(address))) << said;
      EXPECT_TRUE(contains(said, to ? " to " : " from ")) << said;
      EXPECT_NE(usage_error(semcache_copy(to ? address : device, to ? device : address, 8)), "");
    }
  }
}

/// Its content is saved, because the copy has not been made yet: it is nobody's to use all the same.
TEST_F(Addresses, AFreedArrayThatACopyStillNeedsIsFreed) {
  auto* source = static_cast<unsigned char*>(runtime::allocate_host("source", size));
  source[5] = 55;
  runtime::copy(device, source, size, QueueId{});
  runtime::deallocate(source);
  EXPECT_TRUE(contains(usage_error([&] { runtime::copy(plain, source, 8, QueueId{}); }), "freed"));
  EXPECT_TRUE(contains(usage_error([&] { runtime::copy(source, plain, 8, QueueId{}); }), "freed"));
  EXPECT_TRUE(contains(usage_error([&] { access(source, 8, Access::read); }), "freed"));
  runtime::copy(host, device, size, QueueId{});
  EXPECT_EQ(host[5], 55);
  for (std::size_t i = 0; i < size; ++i) host[i] = static_cast<unsigned char>(i);
  runtime::copy(device, host, size, QueueId{});
}

TEST_F(Addresses, CopiesAndFillsStayInsideTheArray) {
  const unsigned char zero = 0;
  for (const std::size_t bytes : {std::size_t{2}, all}) {
    for (unsigned char* array : {device, host}) {
      const std::string label = array == device ? "'device array'" : "'host array'";
      EXPECT_TRUE(contains(usage_error([&] { runtime::copy(array + size - 1, plain, bytes, QueueId{}); }), label));
      EXPECT_TRUE(contains(usage_error([&] { runtime::copy(plain, array + size - 1, bytes, QueueId{}); }), label));
      EXPECT_TRUE(contains(usage_error([&] { runtime::fill(array + size - 1, bytes, &zero, 1, QueueId{}); }), label));
    }
  }
  EXPECT_TRUE(contains(usage_error([&] { runtime::fill(plain, 8, &zero, 1, QueueId{}); }), text(plain)));
  EXPECT_TRUE(contains(usage_error([&] { runtime::fill(device, 8, nullptr, 1, QueueId{}); }), "null"));
  EXPECT_TRUE(contains(usage_error([&] { runtime::fill(device, 8, &zero, 3, QueueId{}); }), "not 3"));
}

TEST_F(Addresses, APartnerIsTheFirstByteOfADeviceArrayOfThatSize) {
  for (void* partner : {static_cast<void*>(plain), static_cast<void*>(device + 1), static_cast<void*>(host), freed_device}) {
    const std::string said = usage_error([&] { (void)runtime::allocate_host("side", size, partner); });
    EXPECT_TRUE(contains(said, text(partner))) << said;
    void* result = plain;
    EXPECT_EQ(usage_error(semcache_allocate_host("side", size, partner, &result)), said);
    EXPECT_EQ(result, nullptr);
  }
  EXPECT_TRUE(contains(usage_error([&] { (void)runtime::allocate_host("side", size - 1, device); }), "sizes must agree"));
  void* const side = runtime::allocate_host("side", size, device);
  EXPECT_TRUE(contains(usage_error([&] { (void)runtime::allocate_host("second", size, device); }), "has a host side already"));
  runtime::deallocate(side);
}

TEST_F(Addresses, TooLargeIsSaidWithTheRemedyThatFits) {
  const auto said = [](const std::function<void()>& call) -> std::string {
    try {
      call();
    } catch (const OutOfMemory& e) {
      return e.what();
    }
    return {};
  };
  for (const std::size_t bytes : {all, all - 200, std::size_t{1} << 62}) {
    const std::string host_text = said([&] { (void)runtime::allocate_host("huge", bytes); });
    EXPECT_TRUE(contains(host_text, std::to_string(bytes)) && contains(host_text, "'huge'") && contains(host_text, "Split")) << host_text;
    const std::string device_text = said([&] { (void)runtime::allocate_device("huge", bytes); });
    EXPECT_TRUE(contains(device_text, std::to_string(bytes)) && contains(device_text, "'huge'") && contains(device_text, "plit the array"))
        << device_text;
    EXPECT_TRUE(contains(device_text, "'device array', not on the device now")) << device_text;
  }
}

TEST_F(Addresses, ArraysWithoutBytesAndWithoutALabel) {
  void* const on_device = runtime::allocate_device(nullptr, 0);
  void* const on_host = runtime::allocate_host(nullptr, 0);
  EXPECT_TRUE(is_tracked(on_device));
  EXPECT_TRUE(is_tracked(on_host));
  access(on_device, 0, Access::write);
  EXPECT_NE(usage_error([&] { access(on_host, 1, Access::read); }), "");
  settle();
  runtime::deallocate(on_host);
  runtime::deallocate(on_device);
}

TEST_F(Addresses, WhatIsFreedWrongStaysAndIsSaid) {
  testing::internal::CaptureStderr();
  for (void* address : {static_cast<void*>(device + 1), static_cast<void*>(host + 1), freed_device, freed_host}) {
    runtime::deallocate(address);
    semcache_deallocate(address);
  }
  const std::string said = testing::internal::GetCapturedStderr();
  for (const void* address : {static_cast<const void*>(device + 1), static_cast<const void*>(freed_host)}) {
    EXPECT_TRUE(contains(said, text(address))) << said;
  }
  testing::internal::CaptureStderr();
  runtime::deallocate(plain);  // perhaps of a runtime that has ended
  runtime::deallocate(nullptr);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_TRUE(is_tracked(device));
}

}  // namespace
}  // namespace semcache
