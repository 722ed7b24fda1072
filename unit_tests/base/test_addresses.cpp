// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/base/addresses.hpp>

#include <gtest/gtest.h>

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>

namespace semcache::base {
namespace {

std::uint64_t place_near(std::uint64_t hint, std::uint64_t bytes) {
  void* const got = ::mmap(reinterpret_cast<void*>(hint), bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (got == MAP_FAILED) return 0;
  ::munmap(got, bytes);
  return reinterpret_cast<std::uint64_t>(got);
}

TEST(Addresses, EndWhereTheKernelPlacesNothingMoreUnasked) {
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const std::uint64_t unasked = place_near(0, page);
  EXPECT_GT(unasked, 0u);
  EXPECT_LT(unasked, end_of_addresses);
  const std::uint64_t asked = place_near(end_of_addresses - 64 * page, page);
  if (asked < end_of_addresses / 2) {
    GTEST_SKIP() << "this kernel, or the emulator, has addresses up to " << std::hex << asked << " only";
  }
  EXPECT_LT(asked, end_of_addresses);
}

TEST(AddressesDeathTest, ThatAreLeftUnderALimit) {
  if (std::getenv("SEMCACHE_TEST_EMULATOR") != nullptr) GTEST_SKIP() << "qemu-user obeys no limit on addresses";
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer has more addresses than any limit leaves";
#endif
  rlimit now{};
  ASSERT_EQ(::getrlimit(RLIMIT_AS, &now), 0);
  if (now.rlim_cur == RLIM_INFINITY) {
    EXPECT_EQ(addresses_left(), UINT64_MAX);
  }
  const auto limited = [] {
    constexpr std::uint64_t limit = std::uint64_t{1} << 46;  // a sanitizer has terabytes
    const rlimit some{limit, limit};
    if (::setrlimit(RLIMIT_AS, &some) != 0) _exit(2);
    const std::uint64_t before = addresses_left();
    constexpr std::uint64_t taken = std::uint64_t{1} << 30;
    if (::mmap(nullptr, taken, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) == MAP_FAILED) _exit(3);
    const std::uint64_t after = addresses_left();
    _exit(before < limit && before - after >= taken && before - after < 2 * taken ? 0 : 4);
  };
  EXPECT_EXIT(limited(), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace semcache::base
