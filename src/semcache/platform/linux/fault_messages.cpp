// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/platform/linux/fault_messages.hpp>
#include <semcache/platform/linux/thread_state.hpp>
#include <semcache/platform/platform.hpp>

#include <atomic>

namespace semcache::platform::detail {

void die_in_runtime(const void* address) noexcept {
  base::fatal(
      "SemCache's own code touched array '%s' at %p while its page was protected: this cannot be served. If a "
      "callback or an allocator of the program ran inside a SemCache call, let it call semcache::access(view, ...) "
      "beforehand; otherwise please report it",
      label_of(address), address);
}

void die_in_driver(const void* address) noexcept {
  base::fatal(
      "the GPU driver itself touched array '%s' at %p, whose content is not in host memory: this cannot be served. "
      "Call semcache::access(view, ...) before handing the pointer to the driver",
      label_of(address), address);
}

void die_in_child(const void* address) noexcept {
  base::fatal(
      "a forked child touched array '%s' at %p, whose content was not in host memory at the fork: it is out of the "
      "child's reach. Call semcache::settle(view) before fork(), or exec() in the child",
      label_of(address), address);
}

void die_impatient(const void* address, unsigned patience_s) noexcept {
  base::fatal(
      "an access to array '%s' at %p was not served for %u s. Either work that it waits for does not finish, or the "
      "access was made by a library that holds the GPU driver's locks, or by a child made without fork(): call "
      "semcache::access(view, ...) before handing the pointer to it",
      label_of(address), address, patience_s);
}

void mention_long_work(const void* address, unsigned patience_s) noexcept {
  static std::atomic<bool> said{false};
  if (said.exchange(true)) return;
  base::raw_log(
      "an access to array '%s' at %p has waited for %u s and goes on waiting, because work that it needs (a kernel, a launch, a "
      "large copy) is under way. If that work waits for this thread, call semcache::access(view, ...) before it is started",
      label_of(address), address, patience_s);
}

void mention_device_memory(const void* address) noexcept {
  if (const char* label = tracked_label(address)) {
    base::raw_log("the device memory of '%s' at %p is used outside a kernel that captured it. Announce such uses with "
                  "semcache::access(view, mode), or use the view's mirror", label, address);
  }
}

}  // namespace semcache::platform::detail
