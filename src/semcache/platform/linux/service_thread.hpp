// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/platform/linux/maps.hpp>
#include <semcache/platform/linux/thread_state.hpp>
#include <semcache/platform/linux/watched_pages.hpp>

#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <functional>
#include <iterator>
#include <string>

/// What those trackers share that have a service thread and a handler of SIGSEGV.
namespace semcache::platform::detail {

/// Starts a service thread. It blocks all signals but those that report its own errors. It may run wherever the process's cpuset
/// permits, because its creator may be bound to a processor that it keeps busy while other threads wait for the service.
/// @param run  must not throw
/// @throws SystemError
[[nodiscard]] pthread_t start_service_thread(const char* name, std::function<void()> run);

/// How often an access that the server declines is repeated before it counts as a real crash: when several threads fault on one
/// page, all but the first find it already open.
inline constexpr int most_refusals = 16;

/// Returns whether the signal is the kernel's report of an access against a page's protection; no other signal can be ours.
inline bool is_against_protection(int signal, const siginfo_t* info) noexcept {
  return signal == SIGSEGV && info != nullptr && info->si_code == SEGV_ACCERR;
}

/// State of the one tracker of its kind that is started, for its signal handler. Constant-initialised.
struct Running {
  AddressRange arenas[2];           ///< the mirrors' arena, and a second one
  AddressRange former[16];          ///< arenas of trackers that have stopped, the latest ones
  std::size_t next_former = 0;
  WatchedPages pages;               ///< what is watched besides
  std::atomic<bool> taken{false};   ///< a tracker is started
  std::atomic<bool> forked{false};  ///< this process is a child of the process that has the service thread

  [[nodiscard]] bool contain(const void* pointer) const noexcept {
    const auto address = reinterpret_cast<std::uintptr_t>(pointer);
    return arenas[0].contains(address) || arenas[1].contains(address) || pages.watches(address);
  }
  /// Returns whether the address was watched once. A fault that was raised before the end of that may still be on its way to the handler.
  [[nodiscard]] bool contained(const void* pointer) const noexcept {
    const auto address = reinterpret_cast<std::uintptr_t>(pointer);
    for (const AddressRange& arena : former) {
      if (arena.contains(address)) return true;
    }
    return pages.at(address) == WatchedPages::State::was_watched;
  }
  void replace_arenas(const std::byte* first, std::uint64_t first_bytes, const std::byte* second, std::uint64_t second_bytes) noexcept {
    // An arena is known to `contained` before `contain` forgets it.
    for (const AddressRange& arena : arenas) {
      if (arena.begin != arena.end) former[next_former++ % std::size(former)].set(arena.begin, arena.end - arena.begin);
    }
    arenas[0].set(reinterpret_cast<std::uintptr_t>(first), first_bytes);
    arenas[1].set(reinterpret_cast<std::uintptr_t>(second), second_bytes);
  }
  /// Marks that a tracker is started. @throws UsageError  another one is started already
  void take(const std::string& kind) {
    follow_forks();
    if (taken.exchange(true) && !forked.load())
      throw UsageError("another " + kind + " tracker runs in this process; there can be one at a time");
  }
  void after_fork_in_child() noexcept {
    if (taken.load()) forked.store(true, std::memory_order_release);
  }
};

}  // namespace semcache::platform::detail
