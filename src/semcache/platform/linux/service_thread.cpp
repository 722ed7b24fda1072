// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/platform/linux/service_thread.hpp>

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>

namespace semcache::platform::detail {

void begin_service_thread(const char* name) noexcept {
  // Of every processor that a kernel can have; it takes those that the cpuset has. Where a sandbox refuses, nothing is lost.
  constexpr unsigned most_processors = 8192;
  unsigned char all[most_processors / 8];
  std::memset(all, 0xff, sizeof all);
  (void)::syscall(SYS_sched_setaffinity, 0, sizeof all, all);
  ::pthread_setname_np(::pthread_self(), name);
}

}  // namespace semcache::platform::detail
