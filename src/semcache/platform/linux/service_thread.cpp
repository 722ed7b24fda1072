// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/platform/linux/service_thread.hpp>

#include <semcache/base/error.hpp>

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>
#include <memory>
#include <string>
#include <utility>

namespace semcache::platform::detail {

namespace {

struct Start {
  const char* name;
  std::function<void()> run;
};

void* begin(void* argument) noexcept {
  const std::unique_ptr<Start> start(static_cast<Start*>(argument));
  // Asks for every processor that a kernel can have; the kernel takes those of the cpuset. A sandbox may refuse this without
  // harm.
  constexpr unsigned most_processors = 8192;
  unsigned char all[most_processors / 8];
  std::memset(all, 0xff, sizeof all);
  (void)::syscall(SYS_sched_setaffinity, 0, sizeof all, all);
  ::pthread_setname_np(::pthread_self(), start->name);
  start->run();
  return nullptr;
}

}  // namespace

pthread_t start_service_thread(const char* name, std::function<void()> run) {
  std::unique_ptr<Start> start(new Start{name, std::move(run)});
  sigset_t blocked, before;
  sigfillset(&blocked);
  for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS}) sigdelset(&blocked, own);
  ::pthread_sigmask(SIG_SETMASK, &blocked, &before);
  pthread_t thread;
  const int error = ::pthread_create(&thread, nullptr, &begin, start.get());
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (error != 0) {
    throw SystemError(std::string("the thread that serves page faults could not be started: ") + std::strerror(error) +
                      ". Raise the limit on threads (ulimit -u) or on memory");
  }
  (void)start.release();
  return thread;
}

}  // namespace semcache::platform::detail
