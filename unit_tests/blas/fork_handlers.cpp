// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "fork_handlers.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cstdarg>
#include <cstdlib>
#include <cstring>
#include <thread>

namespace {

bool active = false;
std::atomic<bool> slow{false};
std::atomic<void (*)()> reads_maps{nullptr};
void (*waited_for)() = nullptr;
void (*in_child)() = nullptr;
double *block = nullptr, *small_block = nullptr;

/// Frees what there is, and allocates blocks of both classes.
void handle() {
  if (!active) return;
  std::free(block);
  std::free(small_block);
  block = static_cast<double*>(std::malloc(3 << 20));
  small_block = static_cast<double*>(std::malloc(300 << 10));
  std::memset(block, 1, 3 << 20);
  std::memset(small_block, 1, 300 << 10);
}
void wait_for_thread() {
  if (waited_for != nullptr) std::thread(waited_for).join();
}
[[gnu::constructor]] void register_handlers() {
  ::pthread_atfork(&handle, &handle, &handle);
  ::pthread_atfork(&wait_for_thread, &wait_for_thread, [] {
    if (in_child != nullptr) in_child();
  });
}

}  // namespace

void handlers_allocate(bool they_do) { active = they_do; }
void handlers_get(double* b, double* s) {
  std::free(block);
  std::free(small_block);
  block = b;
  small_block = s;
}
double* handlers_block() { return block; }
void handlers_wait_for(void (*function)()) { waited_for = function; }
void handler_calls_in_child(void (*function)()) { in_child = function; }
void threads_start_slowly() { slow = true; }
void when_maps_are_read(void (*function)()) { reads_maps = function; }

extern "C" [[gnu::visibility("default")]] int open(const char* path, int flags, ...) {
  static const auto next = reinterpret_cast<decltype(&open)>(::dlsym(RTLD_NEXT, "open"));
  std::va_list more;
  va_start(more, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(more, mode_t) : 0;
  va_end(more);
  if (std::strcmp(path, "/proc/self/maps") == 0) {
    if (void (*const function)() = reads_maps.exchange(nullptr)) function();
  }
  return next(path, flags, mode);
}

extern "C" [[gnu::visibility("default")]] int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*function)(void*),
                                                             void* argument) {
  static const auto next = reinterpret_cast<decltype(&pthread_create)>(::dlsym(RTLD_NEXT, "pthread_create"));
  if (slow) ::usleep(100000);
  return next(thread, attributes, function, argument);
}
