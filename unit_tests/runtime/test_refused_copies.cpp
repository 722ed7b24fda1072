// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
//
// Copies from memory of the program that ends earlier than they do, as the system refuses them.
#include <semcache/runtime/runtime.hpp>
#include <semcache/semcache.hpp>

#include <gtest/gtest.h>

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

namespace semcache::runtime {
namespace {

TEST(RefusedCopies, TheMirrorHasItsFormerContentBehindThem) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t bytes = 3 * page;
  const QueueId queue = queue_of(nullptr);
  void* const room = ::mmap(nullptr, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(room, MAP_FAILED);
  unsigned char* const end = static_cast<unsigned char*>(room) + 3 * page;
  std::fill(static_cast<unsigned char*>(room), end, static_cast<unsigned char>(9));
  ASSERT_EQ(::mprotect(end, page, PROT_NONE), 0);
  for (const std::size_t readable : {std::size_t{0}, page / 3, page + page / 2, bytes - 1}) {
    auto* const host = static_cast<unsigned char*>(allocate_host("host", bytes));
    auto* const device = static_cast<unsigned char*>(allocate_device("device", bytes));
    std::fill_n(host, bytes, static_cast<unsigned char>(5));
    copy(device, host, bytes, queue);
    settle(device);

    EXPECT_THROW(copy(host, end - readable, bytes, queue), SystemError);

    copy(host, device, bytes, queue);  // elided where the mirror is believed to have it
    EXPECT_EQ(std::count(host, host + bytes, 5), static_cast<std::ptrdiff_t>(bytes)) << readable << " bytes can be read";
    deallocate(device);
    deallocate(host);
  }
  ::munmap(room, 4 * page);
}

}  // namespace
}  // namespace semcache::runtime
