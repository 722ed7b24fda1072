// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/platform/linux/thread_state.hpp>
#include <semcache/platform/platform.hpp>

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <map>
#include <mutex>

namespace semcache::platform {
namespace detail {
namespace {

// The attribute keeps the storage in the block that every thread has from its start, in shared libraries too.
__attribute__((tls_model("initial-exec"))) thread_local ThreadState state_of_this_thread;

std::atomic<LabelLookup> label_lookup{nullptr};

constexpr unsigned places_inside = 512;
std::atomic<int> inside[places_inside];
std::atomic<bool> inside_listed{false};

void enter(ThreadState& thread) noexcept {
  if (thread.id == 0) thread.id = static_cast<int>(::syscall(SYS_gettid));
  for (unsigned i = 0; i < places_inside; ++i) {
    const unsigned at = (static_cast<unsigned>(thread.id) + i) % places_inside;
    int free = 0;
    if (!inside[at].compare_exchange_strong(free, thread.id)) continue;
    thread.place_inside = static_cast<int>(at);
    return;
  }
}

void leave(ThreadState& thread) noexcept {
  inside[thread.place_inside].store(0);
  thread.place_inside = -1;
}

}  // namespace

namespace {

/// Of all threads, by number; never destroyed.
struct Told {
  std::mutex mutex;
  std::map<int, const std::atomic<const void*>*> holdings;
};
Told& told() {
  static Told* const all = new Told;
  return *all;
}

/// Takes its thread's holdings away when the thread ends.
struct Untell {
  int id = 0;
  ~Untell() {
    if (id == 0) return;
    thread_state().holdings = nullptr;
    const std::lock_guard<std::mutex> lock(told().mutex);
    told().holdings.erase(id);
  }
};
thread_local Untell untell;

}  // namespace

const void* holdings_of(int id) {
  const std::lock_guard<std::mutex> lock(told().mutex);
  const auto found = told().holdings.find(id);
  return found == told().holdings.end() ? nullptr : found->second->load(std::memory_order_acquire);
}

ThreadState& thread_state() noexcept { return state_of_this_thread; }

void list_threads_inside(bool on) noexcept { inside_listed.store(on); }

bool is_inside(int id) noexcept {
  for (const std::atomic<int>& place : inside)
    if (place.load() == id) return true;
  return false;
}

const char* tracked_label(const void* address) noexcept {
  const LabelLookup lookup = label_lookup.load(std::memory_order_acquire);
  return lookup != nullptr ? lookup(address) : nullptr;
}

const char* label_of(const void* address) noexcept {
  const char* const label = tracked_label(address);
  return label != nullptr ? label : "(no label)";
}

}  // namespace detail

RuntimeScope::RuntimeScope() noexcept {
  detail::ThreadState& thread = detail::thread_state();
  if (thread.runtime_depth++ == 0 && detail::inside_listed.load(std::memory_order_relaxed)) detail::enter(thread);
}

RuntimeScope::~RuntimeScope() {
  detail::ThreadState& thread = detail::thread_state();
  if (--thread.runtime_depth == 0 && thread.place_inside >= 0) detail::leave(thread);
}

void tell_holdings(const std::atomic<const void*>* holdings) {
  detail::untell.id = static_cast<int>(::syscall(SYS_gettid));
  const std::lock_guard<std::mutex> lock(detail::told().mutex);
  detail::told().holdings[detail::untell.id] = holdings;
  detail::thread_state().holdings = holdings;
}

bool inside_runtime() noexcept {
  const detail::ThreadState& thread = detail::thread_state();
  return thread.runtime_depth > 0 || thread.is_service;
}

void set_label_lookup(LabelLookup lookup) noexcept { detail::label_lookup.store(lookup, std::memory_order_release); }

}  // namespace semcache::platform
