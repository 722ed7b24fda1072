// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "process.hpp"

#include "children.hpp"
#include "interposed.hpp"
#include "own_pages.hpp"
#include "report.hpp"

#include <semcache/base/error.hpp>
#include <semcache/device/device.hpp>
#include <semcache/runtime/runtime.hpp>

#include <pthread.h>
#include <stdlib.h>
#include <sys/single_threaded.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <thread>

// The C library's lock of the list of all open files, which may not be there.
extern "C" {
[[gnu::weak]] void _IO_list_lock();       // NOLINT(bugprone-reserved-identifier)
[[gnu::weak]] void _IO_list_unlock();     // NOLINT(bugprone-reserved-identifier)
[[gnu::weak]] void _IO_list_resetlock();  // NOLINT(bugprone-reserved-identifier)
}

namespace semcache::blas {
namespace {

const char* value_of(const char* name) noexcept {
  const char* const text = ::secure_getenv(name);
  return text == nullptr || *text == '\0' ? nullptr : text;
}

/// Reads a number with K, M, G or T for powers of 1024. @return false if it is none
bool read_number(const char* text, std::size_t& number) noexcept {
  char* end = nullptr;
  if (*text < '0' || *text > '9') return false;
  const unsigned long long digits = std::strtoull(text, &end, 10);
  int shift = 0;
  if (*end != '\0') {
    const char* const letter = std::strchr("KMGT", *end);
    if (letter == nullptr || end[1] != '\0') return false;
    shift = 10 * static_cast<int>(letter - "KMGT" + 1);
  }
  if (digits > (SIZE_MAX >> shift)) return false;
  number = static_cast<std::size_t>(digits) << shift;
  return true;
}

/// The children of a process inherit its variables, so a wrong value ends none of them: it has no effect.
Settings read_settings() noexcept {
  Settings s;
  if (const char* const text = value_of("SEMCACHE_BLAS_OFFLOAD")) {
    if (std::strcmp(text, "always") == 0) s.offload = Offload::always;
    else if (std::strcmp(text, "never") == 0) s.offload = Offload::never;
    else if (std::strcmp(text, "auto") != 0) base::raw_log("SEMCACHE_BLAS_OFFLOAD=\"%s\" has no effect: it is not auto, always or never", text);
  }
  if (const char* const text = value_of("SEMCACHE_BLAS_MALLOC"); text != nullptr && !read_number(text, s.large_block)) {
    base::raw_log("SEMCACHE_BLAS_MALLOC=\"%s\" has no effect: it is no whole number, such as 4096 or 1M", text);
  }
  if (s.large_block != 0) s.large_block = std::max<std::size_t>(s.large_block, 4096);  // a block has whole pages
  if (const char* const text = value_of("SEMCACHE_BLAS_GUARD"); text != nullptr && !read_number(text, s.guard_pages)) {
    base::raw_log("SEMCACHE_BLAS_GUARD=\"%s\" has no effect: it is no whole number, such as 16", text);
  }
  struct sysinfo machine {};
  if (::sysinfo(&machine) == 0) s.kept_bytes = machine.totalram / 8 * machine.mem_unit;
  if (const char* const text = value_of("SEMCACHE_BLAS_KEEP"); text != nullptr && !read_number(text, s.kept_bytes)) {
    base::raw_log("SEMCACHE_BLAS_KEEP=\"%s\" has no effect: it is no whole number, such as 0 or 4G", text);
  }
  return s;
}

enum class Device : int { not_asked, starting, runs, none, failed, own_semcache };
std::atomic<Device> state{Device::not_asked};
std::atomic<bool> in_child{false};
/// The runtime has started, or begun to.
std::atomic<bool> started{false};
/// Held while the device starts. The thread that starts it may fork meanwhile: drivers do.
std::recursive_timed_mutex start_mutex;
/// How long other threads wait for a start, which takes less. But it may wait for the loader, whose lock a thread has in a library's constructor, and that
/// one may wait for the start.
constexpr std::chrono::seconds start_patience{10};
/// How many forks are under way. Meanwhile no call uses the device, and calls do not wait for ever: a library's handler may wait for the thread that
/// calls.
std::atomic<int> forks{0};
struct ForksOfThread {
  int counted = 0;   ///< in `forks`
  int files = 0;     ///< that have the C library's lock of open files
  int settled = 0;   ///< for which `before_fork` has run
  int late = 0;      ///< the number of the one for which `last_before_fork` did that, the outermost being number 1; 0: none
};
[[gnu::tls_model("initial-exec")]] thread_local ForksOfThread of_thread;
/// Calls that use the device share it. It prefers who wants it alone, so that calls in other threads cannot keep them waiting for ever.
constexpr pthread_rwlock_t open_lock = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
pthread_rwlock_t uses = open_lock;
/// A thread that adopts may come here again, in functions of the C library that the device's driver calls.
std::recursive_mutex adoptions;
enum class Here : std::uint8_t { outside, uses, alone };
[[gnu::tls_model("initial-exec")]] thread_local Here here = Here::outside;
pid_t forking = 0;  ///< the process that forks
std::atomic<pid_t> process{::getpid()};

/// Other libraries' handlers may free memory in the child before ours has run.
bool is_child() noexcept {
  return in_child.load(std::memory_order_relaxed) || (RecordsMutex::forks_of_this_thread() > 0 && started && ::getpid() != forking);
}

void fork_begins() noexcept {
  ++of_thread.counted;
  forks.fetch_add(1);
}
void fork_ends() noexcept {
  --of_thread.counted;
  forks.fetch_sub(1);
  if (of_thread.counted == 0 && is_child()) forks = 0;  // a signal's handler may have forked between the two counts
}

/// To be called when no further start can begin.
void wait_for_start() noexcept {
  const Undisturbed undisturbed;
  const std::unique_lock<std::recursive_timed_mutex> none_starts(start_mutex, start_patience);
}

/// Everything comes home before a fork, because the child has no device. It stays there until the fork is over, because no call uses the device.
void bring_all_home() {
  if (is_child()) return;
  const Alone alone;
  try {
    runtime::settle_and_open();
  } catch (const std::exception& e) {
    base::raw_log("before fork(): some memory of BLAS operands stays on the device, and the child cannot use it: %s", e.what());
  }
  children::before_fork();
}

/// These are registered when the device starts, so that they run before those of the device's library.
void before_fork() {
  fork_begins();
  bring_all_home();
  ++of_thread.settled;
}
void after_fork() {
  children::after_fork();
  --of_thread.settled;
  fork_ends();
}
void after_fork_in_child() {
  children::in_child();
  --of_thread.settled;
  fork_ends();
}

/// The records of a child are in order. Nobody else's handler may run while they are locked, because it may wait for a thread that maps memory, as
/// OpenBLAS' does. So these handlers are registered before all others: the system calls them last before a fork, and first after it. They have the C
/// library's lock of all files before, too, as a fork takes it: who has a file locked may allocate.
void last_before_fork() noexcept {
  forking = ::getpid();
  fork_begins();
  if (of_thread.counted == 1) wait_for_start();  // it does not come from our fork()
  const int number = RecordsMutex::forks_of_this_thread() + 1;
  if (device_runs() && of_thread.settled < number) {  // the device has started since the fork began
    bring_all_home();
    ++of_thread.settled;
    of_thread.late = number;
  }
  // A fork leaves this lock alone where there is one thread: a signal's handler that forks may have interrupted who has it.
  if (_IO_list_lock != nullptr && __libc_single_threaded == 0) {
    _IO_list_lock();
    ++of_thread.files;
  }
  records_mutex.hold_for_fork();
}
/// Ends what `last_before_fork` has begun. @return false if that has not run in this thread: this library was loaded while it forked
bool first_after(void (*children_after)()) noexcept {
  const int number = RecordsMutex::forks_of_this_thread();
  if (number == 0) return false;
  records_mutex.let_go_after_fork();
  if (of_thread.late == number) {
    children_after();
    --of_thread.settled;
    of_thread.late = 0;
  }
  fork_ends();
  return true;
}
void first_after_fork() noexcept {
  if (!first_after(&children::after_fork) || of_thread.files == 0) return;
  --of_thread.files;
  _IO_list_unlock();
}
void first_in_child() noexcept {
  if (started) in_child = true;
  process = ::getpid();
  // What other threads of the parent had is nobody's.
  forks = of_thread.counted;
  new (&start_mutex) std::recursive_timed_mutex;
  new (&adoptions) std::recursive_mutex;
  uses = open_lock;
  here = Here::outside;
  if (!first_after(&children::in_child)) return records_mutex.of_nobody_in_child();
  if (of_thread.files == 0) return;
  _IO_list_resetlock();
  for (int outer = --of_thread.files; outer > 0; --outer) _IO_list_lock();  // of forks within whose handlers this one was
}

bool contains_semcache() noexcept {
  return syscalls::next_symbol("semcache_foreign_io_1") != nullptr;
}

void at_end() noexcept { give_counts_to_runtime(); }

void start() {
  const char* const kind = value_of("SEMCACHE_DEVICE");
  if ((kind == nullptr || std::strcmp(kind, "auto") == 0) && device::cuda_device_count() == 0) {
    state = Device::none;
    return;
  }
  started = true;
  (void)runtime::device_ordinal(0);  // starts the runtime
  // Handlers run in the reverse order of their registration: before the runtime writes its report.
  std::atexit([] { at_end(); });
  runtime::before_end(&at_end);
  // Later than the handlers of the device's library, which then run in a process that is quiet.
  ::pthread_atfork(&before_fork, &after_fork, &after_fork_in_child);
  runtime::lock_pages_only_if([]() noexcept { return !children::any_lives(); });
  state = Device::runs;
}

Verdict verdict_of(Device device) noexcept {
  switch (device) {
    case Device::none: return Verdict::no_device;
    case Device::failed: return Verdict::failed;
    case Device::own_semcache: return Verdict::own_semcache;
    default: return Verdict::not_started_yet;
  }
}

}  // namespace

bool is_vforked_child() noexcept { return process.load(std::memory_order_relaxed) != ::getpid(); }

const Settings& settings() noexcept {
  static const Settings s = read_settings();
  return s;
}

bool process_forks() noexcept { return forks.load(std::memory_order_relaxed) != 0; }

bool forks_end_within(double seconds) noexcept {
  if (of_thread.counted > 0) return false;
  const auto begin = std::chrono::steady_clock::now();
  while (process_forks()) {
    if (std::chrono::steady_clock::now() - begin >= std::chrono::duration<double>(seconds)) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  return true;
}

bool device_runs() noexcept { return state.load(std::memory_order_acquire) == Device::runs; }

bool device_is_there(Start how, Verdict& why_not) noexcept {
  if (is_child()) {
    why_not = Verdict::in_child;
    return false;
  }
  if (how == Start::if_needed && state.load(std::memory_order_acquire) == Device::not_asked) {
    const Undisturbed undisturbed;
    const std::unique_lock<std::recursive_timed_mutex> lock(start_mutex, start_patience);
    if (!lock.owns_lock() || process_forks()) {
      why_not = lock.owns_lock() ? Verdict::process_forks : Verdict::not_started_yet;
      return false;
    }
    if (state == Device::not_asked) {
      try {
        if (contains_semcache()) state = Device::own_semcache;
        else start();
      } catch (const std::exception& e) {
        give_up(e.what());
      }
    }
  }
  const Device now = state.load(std::memory_order_acquire);
  why_not = verdict_of(now);
  return now == Device::runs;
}

void give_up(const char* why) noexcept {
  state = Device::failed;
  base::raw_log("BLAS calls stay on the host from now on: %s", why);
}

Adoption::Adoption() noexcept { adoptions.lock(); }
Adoption::~Adoption() { adoptions.unlock(); }

void wait_for_adoptions() noexcept {
  // Who is in a call that uses the device may be waited for by a thread that adopts.
  if (!device_runs() || is_child() || here != Here::outside) return;
  const Undisturbed undisturbed;
  const Adoption others;
}

bool adopt(const blocks::Block& block) {
  const Adoption adoption;
  blocks::Block now;
  if (!blocks::find(block.address, now) || now.stack) return false;
  if (now.adopted_in == runtime::epoch()) return now.noticed;
  try {
    runtime::adopt(now.address, now.bytes, "malloc");
  } catch (const UsageError&) {  // the program has page-locked it, say
    return false;
  }
  const bool noticed = runtime::notices_host_accesses(now.address);
  if (blocks::was_adopted(now.address, runtime::epoch(), noticed)) return noticed;
  runtime::release(now.address);  // it has become a stack meanwhile
  return false;
}

bool release(std::byte* first, std::size_t bytes, Last content) noexcept {
  if (is_child() || device_count() == 0) return true;
  const Undisturbed undisturbed;
  try {
    const std::size_t page = blocks::page_bytes();
    const std::uintptr_t begin = (reinterpret_cast<std::uintptr_t>(first) + page - 1) / page * page;
    const std::uintptr_t end = reinterpret_cast<std::uintptr_t>(first + bytes) / page * page;
    if (content == Last::dies && begin < end) access(reinterpret_cast<void*>(begin), end - begin, Access::overwrite);
    runtime::release(first);
    return true;
  } catch (const std::exception& e) {
    base::raw_log("%zu bytes at %p stay allocated, because SemCache cannot release them: %s", bytes, static_cast<void*>(first), e.what());
    return false;
  }
}

bool release(const blocks::Block& block, Last content) noexcept {
  return !is_adopted(block) || release(block.address, block.bytes, content);
}

bool is_adopted(const blocks::Block& block) noexcept {
  return block.adopted_in != 0 && block.adopted_in == runtime::epoch() && !is_child() && device_count() > 0;
}

bool let_content_die(const blocks::Block& block) noexcept {
  if (!is_adopted(block)) return false;
  const Undisturbed undisturbed;
  try {
    access(block.address, block.bytes, Access::overwrite);
    return true;
  } catch (const std::exception&) {  // the block ends then, or whoever ends it says why it cannot
    return false;
  }
}

bool release_blocks_in(std::byte* first, std::size_t bytes) noexcept {
  blocks::Block block;
  if (!blocks::find_adopted_in(first, bytes, block)) return true;
  const Alone alone;
  while (blocks::find_adopted_in(first, bytes, block)) {
    if (!release(block, Last::comes_home)) return false;
    blocks::was_released(block.address);
  }
  return true;
}

DeviceUse::DeviceUse() noexcept : mine_(here == Here::outside && !is_child()) {
  if (!mine_) return;
  ::pthread_rwlock_rdlock(&uses);
  here = Here::uses;
}
DeviceUse::~DeviceUse() {
  if (!mine_ || is_child()) return;
  here = Here::outside;
  ::pthread_rwlock_unlock(&uses);
}

Alone::Alone() noexcept : mine_(here == Here::outside && !is_child()) {
  if (!mine_) return;
  ::pthread_rwlock_wrlock(&uses);
  here = Here::alone;
}
Alone::~Alone() {
  if (!mine_ || is_child()) return;
  here = Here::outside;
  ::pthread_rwlock_unlock(&uses);
}

}  // namespace semcache::blas

#pragma GCC visibility push(default)
extern "C" {

// While the device starts, only the thread that starts it can fork. This is no handler of fork(), because the start adds such handlers itself.
pid_t fork() noexcept {
  using namespace semcache::blas;
  fork_begins();
  wait_for_start();
  const pid_t child = SEMCACHE_NEXT(fork)();
  fork_ends();
  return child;
}

/// For libsemcache_blas_preload.so, which registers the handlers before this library is loaded: last before a fork, first after it, first in the child.
void semcache_blas_at_fork(int when) noexcept {
  if (when == 0) semcache::blas::last_before_fork();
  if (when == 1) semcache::blas::first_after_fork();
  if (when == 2) semcache::blas::first_in_child();
}

/// What pthread_atfork calls. @param object  of the caller; its handlers end with it
int __register_atfork(void (*before)(), void (*in_parent)(), void (*in_child)(), void* object) noexcept;  // NOLINT(bugprone-reserved-identifier)

}

namespace semcache::blas {
namespace {

/// Registers the handlers that have to be the first ones.
[[gnu::constructor]] void be_first_at_forks() noexcept {
  static std::atomic<bool> registered{false};
  if (semcache_blas_next != nullptr || registered.exchange(true)) return;
  (void)SEMCACHE_NEXT(__register_atfork)(&last_before_fork, &first_after_fork, &first_in_child, nullptr);
}

}  // namespace
}  // namespace semcache::blas

int __register_atfork(void (*before)(), void (*in_parent)(), void (*in_child)(), void* object) noexcept {
  semcache::blas::be_first_at_forks();
  return SEMCACHE_NEXT(__register_atfork)(before, in_parent, in_child, object);
}
#pragma GCC visibility pop
