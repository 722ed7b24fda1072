// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/platform/linux/thread_state.hpp>
#include <semcache/platform/platform.hpp>

#include <linux/membarrier.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <new>

namespace semcache::platform {
namespace detail {
namespace {

constexpr int nobody = 0;
constexpr int changing_hands = -1;

/// States by thread number, with open addressing. A place that had an owner never becomes free again, because a search ends at
/// the first free one. Another thread takes it over when its owner has ended and no place is free.
struct Table {
  static constexpr unsigned places = 1024;
  struct alignas(64) Place {
    std::atomic<int> owner{nobody};
    ThreadState state;
  };
  Place place[places];
  std::atomic<Table*> next{nullptr};

  [[nodiscard]] Place& at(int thread, unsigned step) noexcept {
    return place[(static_cast<unsigned>(thread) + step) % places];
  }
};
Table first_table;

bool has_ended(int thread) noexcept {
  const int saved = errno;
  const bool ended = ::syscall(SYS_tgkill, ::getpid(), thread, 0) != 0 && errno == ESRCH;
  errno = saved;
  return ended;
}

/// Returns the state of a thread; nullptr where it has none.
ThreadState* find(int thread) noexcept {
  for (Table* table = &first_table; table != nullptr; table = table->next.load(std::memory_order_acquire)) {
    for (unsigned step = 0; step < Table::places; ++step) {
      Table::Place& place = table->at(thread, step);
      const int owner = place.owner.load(std::memory_order_acquire);
      if (owner == thread) return &place.state;
      if (owner == nobody) return nullptr;
    }
  }
  return nullptr;
}

void reset(ThreadState& state) noexcept { new (&state) ThreadState; }

/// Returns a state for a thread; nullptr where all places belong to living threads.
ThreadState* claim_in(Table& table, int thread) noexcept {
  for (unsigned step = 0; step < Table::places; ++step) {
    Table::Place& place = table.at(thread, step);
    int owner = nobody;
    if (place.owner.compare_exchange_strong(owner, thread) || owner == thread) return &place.state;
  }
  for (unsigned step = 0; step < Table::places; ++step) {
    Table::Place& place = table.at(thread, step);
    int owner = place.owner.load();
    if (owner == changing_hands || !has_ended(owner) || !place.owner.compare_exchange_strong(owner, changing_hands)) continue;
    reset(place.state);
    place.owner.store(thread, std::memory_order_release);
    return &place.state;
  }
  return nullptr;
}

/// Returns the next table, and makes it if there is none. The memory comes from mmap: the handler allocates nothing else.
Table* table_behind(Table& last) noexcept {
  if (Table* const next = last.next.load(std::memory_order_acquire)) return next;
  void* const room = ::mmap(nullptr, sizeof(Table), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (room == MAP_FAILED)
    base::fatal("no memory to remember another thread's state (mmap: error %d): use fewer threads at a time, or raise the limit "
                "on memory or mappings (vm.max_map_count)", errno);
  Table* const made = new (room) Table;
  Table* next = nullptr;
  if (last.next.compare_exchange_strong(next, made)) return made;
  ::munmap(room, sizeof(Table));  // another thread was faster
  return next;
}

ThreadState& claim(int thread) noexcept {
  for (Table* table = &first_table;; table = table_behind(*table)) {
    if (ThreadState* const state = claim_in(*table, thread)) return *state;
  }
}

/// The state that the calling thread has found before.
thread_local ThreadState* known = nullptr;

ThreadState& known_state() noexcept {
  if (known == nullptr) known = &thread_state();
  return *known;
}

void deepen(int scopes) noexcept {
  std::atomic<int>& depth = known_state().runtime_depth;
  depth.store(depth.load(std::memory_order_relaxed) + scopes, std::memory_order_relaxed);
}

/// In a forked child only the calling thread is left, and it has another number.
void after_fork_in_child() {
  const int depth = known != nullptr ? known->runtime_depth.load(std::memory_order_relaxed) : 0;
  const int calls = known != nullptr ? known->calls.load(std::memory_order_relaxed) : 0;
  const std::atomic<const void*>* const holdings = known != nullptr ? known->holdings.load() : nullptr;
  for (Table* table = &first_table; table != nullptr; table = table->next.load()) {
    for (Table::Place& place : table->place) {
      if (place.owner.load(std::memory_order_relaxed) == nobody) continue;
      place.owner.store(nobody, std::memory_order_relaxed);
      reset(place.state);
    }
  }
  if (known == nullptr) return;
  known = &thread_state();
  known->runtime_depth.store(depth, std::memory_order_relaxed);
  known->calls.store(calls, std::memory_order_relaxed);
  known->holdings.store(holdings);
}

std::atomic<LabelLookup> label_lookup{nullptr};

/// Will `others_call` fence the processors of all threads, so that a call begins without a fence?
std::atomic<bool> others_fence{false};

bool membarrier(int command) noexcept {
  const int saved = errno;
  const bool done = ::syscall(SYS_membarrier, command, 0, 0) == 0;
  errno = saved;
  return done;
}
/// The kernel fences a process's threads only after it has been asked to be ready for it.
bool prepare_fences() noexcept { return membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED); }
/// Lets the processor of each thread of the process carry out a fence.
void fence_all_threads() noexcept {
  if (membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED)) return;
  if (prepare_fences() && membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED)) return;
  // A filter of system calls has been installed since. When this sleep ends, all stores that are older than it have left their processors.
  ::usleep(10'000);
}

void untell() noexcept { thread_state().holdings.store(nullptr); }

/// Has a thread's holdings cleared when the thread ends, or ends the process. No thread-local object does so: for its destructor the C library takes
/// the loader's lock, which may be held by a thread that waits for this one. @throws std::bad_alloc
void untell_at_end() {
  static const pthread_key_t key = [] {
    pthread_key_t made{};
    if (::pthread_key_create(&made, [](void*) { untell(); }) != 0 || std::atexit(&untell) != 0) throw std::bad_alloc();
    return made;
  }();
  if (::pthread_setspecific(key, &first_table) != 0) throw std::bad_alloc();  // the value only must not be null
}

}  // namespace

ThreadState& thread_state() noexcept {
  const int thread = static_cast<int>(::syscall(SYS_gettid));
  ThreadState* const found = find(thread);
  return found != nullptr ? *found : claim(thread);
}

const void* holdings_of(int id) noexcept {
  const ThreadState* const state = find(id);
  const std::atomic<const void*>* const holdings = state != nullptr ? state->holdings.load() : nullptr;
  return holdings != nullptr ? holdings->load(std::memory_order_acquire) : nullptr;
}

bool is_inside(int id) noexcept {
  const ThreadState* const state = find(id);
  return state != nullptr && state->runtime_depth.load() > 0;
}

void follow_forks() { at_fork<nullptr, nullptr, &after_fork_in_child>(); }

const char* tracked_label(const void* address) noexcept {
  const LabelLookup lookup = label_lookup.load(std::memory_order_acquire);
  return lookup != nullptr ? lookup(address) : nullptr;
}

const char* label_of(const void* address) noexcept {
  const char* const label = tracked_label(address);
  return label != nullptr ? label : "(no label)";
}

}  // namespace detail

RuntimeScope::RuntimeScope() noexcept { detail::deepen(1); }
RuntimeScope::~RuntimeScope() { detail::deepen(-1); }

void let_others_fence() noexcept {
  if (detail::prepare_fences()) detail::others_fence.store(true);
}

int begin_call() noexcept {
  std::atomic<int>& calls = detail::known_state().calls;
  const int before = calls.load(std::memory_order_relaxed);
  calls.store(before + 1, std::memory_order_relaxed);
  if (detail::others_fence.load(std::memory_order_relaxed)) {
    std::atomic_signal_fence(std::memory_order_seq_cst);
  } else {
    std::atomic_thread_fence(std::memory_order_seq_cst);
  }
  return before;
}

void end_call() noexcept {
  std::atomic<int>& calls = detail::known_state().calls;
  calls.store(calls.load(std::memory_order_relaxed) - 1, std::memory_order_release);
}

int calls_under_way() noexcept { return detail::known_state().calls.load(std::memory_order_relaxed); }

bool others_call() noexcept {
  if (detail::others_fence.load()) {
    detail::fence_all_threads();
  } else {
    std::atomic_thread_fence(std::memory_order_seq_cst);
  }
  const detail::ThreadState& own = detail::known_state();
  for (detail::Table* table = &detail::first_table; table != nullptr; table = table->next.load(std::memory_order_acquire)) {
    for (const detail::Table::Place& place : table->place) {
      if (&place.state == &own || place.state.calls.load() == 0) continue;
      const int owner = place.owner.load(std::memory_order_acquire);
      if (owner > detail::nobody && !detail::has_ended(owner)) return true;
    }
  }
  return false;
}

void tell_holdings(const std::atomic<const void*>* holdings) {
  detail::untell_at_end();
  detail::known_state().holdings.store(holdings);
}

bool inside_runtime() noexcept {
  const detail::ThreadState& thread = detail::known_state();
  return thread.runtime_depth.load(std::memory_order_relaxed) > 0 || thread.is_service;
}

void set_label_lookup(LabelLookup lookup) noexcept { detail::label_lookup.store(lookup, std::memory_order_release); }

}  // namespace semcache::platform
