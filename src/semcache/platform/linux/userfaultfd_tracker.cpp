// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/platform/linux/driver_text.hpp>
#include <semcache/platform/linux/fault_desk.hpp>
#include <semcache/platform/linux/fault_messages.hpp>
#include <semcache/platform/linux/service_thread.hpp>
#include <semcache/platform/linux/signal_chain.hpp>
#include <semcache/platform/linux/thread_state.hpp>
#include <semcache/platform/linux/userfaultfd_platform.hpp>
#include <semcache/platform/per_thread.hpp>

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace semcache::platform {
namespace {

using detail::thread_state;
using detail::Userfaultfd;

/// How often the second thread checks a service thread that is busy.
constexpr auto look_around = base::Patience::slice;

/// State that the signal handler reads. Constant-initialised, never destroyed.
struct Shared : detail::Running {
  std::atomic<bool> dying{false};   ///< a message is being written
};
Shared shared;

/// Handles SIGSEGV. Accesses to the arena arrive here only if they were declined, or, in a forked child, if the page was stale.
void handle_fault(int signal, siginfo_t* info, void* context) {
  const int saved = errno;
  if (detail::is_against_protection(signal, info)) {
    if (shared.contain(info->si_addr)) {
      if (shared.forked.load(std::memory_order_acquire)) detail::die_of_touch(detail::By::child, info->si_addr);
      while (shared.dying.load()) ::pause();
    } else {
      detail::mention_device_memory(info->si_addr);
    }
  }
  detail::pass_on(signal, info, context);
  errno = saved;
}

void after_fork_in_child() { shared.after_fork_in_child(); }

/// The kernel's line about where a thread sleeps; "" where it cannot be read. It is read without malloc, because faults are served with it.
struct Sleep {
  explicit Sleep(int thread) noexcept {
    char path[64];
    (void)std::snprintf(path, sizeof path, "/proc/self/task/%d/syscall", thread);
    const int file = ::open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return;
    ssize_t n = 0;
    do n = ::read(file, line, sizeof line - 1);
    while (n < 0 && errno == EINTR);
    line[std::max<ssize_t>(n, 0)] = '\0';
    ::close(file);
  }
  /// Does the thread run? A signal may have taken it out of its fault; then it runs, sooner or later.
  [[nodiscard]] bool runs() const noexcept { return std::strncmp(line, "running", 7) == 0; }
  char line[256] = {};
};

/// Finds instruction and stack of a thread that sleeps in a page fault of its own, not in a system call's. Returns false where
/// they are not known.
bool where_it_sleeps(int thread, detail::FaultContext& context) {
  Sleep sleep(thread);
  for (int tries = 1; tries < 100 && sleep.runs(); ++tries) sleep = Sleep(thread);  // the report comes before the thread sleeps
  unsigned long stack = 0;
  unsigned long instruction = 0;
  if (std::sscanf(sleep.line, "-1 %lx %lx", &stack, &instruction) != 2) return false;
  context.instruction = instruction;
  context.return_address = detail::return_address_at(stack);
  return true;
}

class UserfaultfdTracker final : public Tracker {
 public:
  UserfaultfdTracker(UserfaultfdPlatform& pages, unsigned patience_s)
      : pages_(pages), patience_s_(std::max(patience_s, 1U)) {}
  ~UserfaultfdTracker() override { stop(); }

  const char* name() const noexcept override { return "userfaultfd"; }
  bool notices() const noexcept override { return true; }
  void start(std::byte* arena, std::uint64_t arena_bytes, Serve serve) override;
  Holder help_holder(const Holds& holds, const void*& where) override;
  void stop() noexcept override;

 private:
  using Fault = Userfaultfd::Fault;
  using Lock = std::unique_lock<std::mutex>;

  void serve_faults() noexcept;
  void look_after_service() noexcept;
  void take();
  [[nodiscard]] bool next(Fault& fault);
  void begin(const Fault& fault);
  void end();
  void answer(const Fault& fault);
  void wake(const Fault& fault) noexcept {
    pages_.faults().wake(round_down(fault.address, pages_.page_bytes()), pages_.page_bytes());
  }
  static FaultKind kind(const Fault& fault) { return fault.writes ? FaultKind::write : FaultKind::read; }

  UserfaultfdPlatform& pages_;  ///< outlives the time between start and stop
  const unsigned patience_s_;
  Serve serve_;
  detail::DriverText driver_;
  std::vector<pthread_t> threads_;  ///< the service thread, and the one that checks it
  pid_t owner_ = 0;  ///< the process that has the threads
  int stop_event_ = -1;
  bool started_ = false;

  std::mutex mutex_;  ///< guards the members below
  std::condition_variable changed_;
  base::Vector<Fault> taken_;
  base::Deque<Fault> waiting_;
  base::Vector<Fault> served_;  ///< each but the first is served within the service of the one before, which waits for its thread
  std::uint64_t steps_ = 0;     ///< how many services of faults have begun, plus how many have ended
  bool looked_after_ = false;
  bool stopping_ = false;
  int service_id_ = 0;
};

void UserfaultfdTracker::start(std::byte* arena, std::uint64_t arena_bytes, Serve serve) {
  SEMCACHE_EXPECTS(serve != nullptr && arena != nullptr && arena_bytes > 0, "a tracker needs an arena and a server");
  SEMCACHE_EXPECTS(!started_, "this tracker is started already");
  SEMCACHE_EXPECTS(pages_.faults().descriptor() >= 0, "the pages are those of this process's parent");
  detail::at_fork<nullptr, nullptr, &after_fork_in_child>();
  shared.take(name());
  stop_event_ = ::eventfd(0, EFD_CLOEXEC);
  if (stop_event_ < 0) {
    const int error = errno;
    shared.taken.store(false);
    throw SystemError(std::string("the tracker could not be started (eventfd: ") + std::strerror(error) + "). Raise the limit on open files (ulimit -n)");
  }
  serve_ = std::move(serve);
  owner_ = ::getpid();
  stopping_ = looked_after_ = false;
  steps_ = 0;
  served_.clear();
  service_id_ = 0;
  driver_.refresh();
  shared.replace_arenas(arena, arena_bytes, nullptr, 0);
  shared.forked.store(false, std::memory_order_release);
  threads_.clear();
  started_ = true;
  pages_.watch_again();
  try {
    detail::install_handler(&handle_fault);
    threads_.reserve(2);
    threads_.push_back(detail::start_service_thread("semcache-fault", [this] { serve_faults(); }));
    threads_.push_back(detail::start_service_thread("semcache-care", [this] { look_after_service(); }));
  } catch (...) {
    stop();
    throw;
  }
}

void UserfaultfdTracker::stop() noexcept {
  if (!started_) return;
  started_ = false;
  // In a forked child the threads and the pages are the parent's, so there is no thread to join.
  if (!shared.forked.load() && ::getpid() == owner_) {
    {
      const Lock lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_all();
    (void)::eventfd_write(stop_event_, 1);
    for (const pthread_t thread : threads_) ::pthread_join(thread, nullptr);
    ::close(stop_event_);
    pages_.stop_watching();
    serve_ = nullptr;
  }
  detail::retire_handler();
  shared.taken.store(false);
}

/// Takes the kernel's reports; `mutex_` is held. Threads at pages that may be accessed as they are need no server, and are woken.
void UserfaultfdTracker::take() {
  taken_.clear();
  pages_.faults().take(taken_);
  for (const Fault& fault : taken_) {
    if (pages_.permits(fault.address, kind(fault))) {
      wake(fault);
      continue;
    }
    const auto* const address = reinterpret_cast<const void*>(fault.address);
    if (fault.thread == service_id_) detail::die_of_touch(detail::By::service, address);
    if (detail::is_inside(fault.thread)) detail::die_in_runtime(address, nullptr);
    waiting_.push_back(fault);
  }
}

bool UserfaultfdTracker::next(Fault& fault) {
  for (;;) {
    {
      const Lock lock(mutex_);
      take();
      if (!waiting_.empty()) {
        fault = waiting_.front();
        waiting_.pop_front();
        begin(fault);
        if (!std::exchange(looked_after_, true)) changed_.notify_all();
        return true;
      }
      if (stopping_) return false;
    }
    pollfd events[2] = {{pages_.faults().descriptor(), POLLIN, 0}, {stop_event_, POLLIN, 0}};
    (void)::poll(events, 2, -1);
  }
}

/// Notes that the service of a fault begins; `mutex_` is held.
void UserfaultfdTracker::begin(const Fault& fault) {
  served_.push_back(fault);
  ++steps_;
}

void UserfaultfdTracker::end() {
  const Lock lock(mutex_);
  served_.pop_back();
  ++steps_;
}

Holder UserfaultfdTracker::help_holder(const Holds& holds, const void*& where) {
  const auto holder = [&](const Fault& fault) {
    const void* const holdings = detail::holdings_of(fault.thread);
    return holdings != nullptr && !Sleep(fault.thread).runs() && holds(holdings);
  };
  Fault fault;
  {
    const Lock lock(mutex_);
    take();
    const auto served = std::find_if(served_.begin(), served_.end(), holder);
    if (served != served_.end()) {
      where = reinterpret_cast<const void*>(served->address);
      return Holder::waits_for_the_same;
    }
    const auto waiting = std::find_if(waiting_.begin(), waiting_.end(), holder);
    if (waiting == waiting_.end()) return Holder::runs;
    fault = *waiting;
    waiting_.erase(waiting);
    begin(fault);
  }
  answer(fault);
  end();
  return Holder::was_helped;
}

void UserfaultfdTracker::answer(const Fault& fault) {
  // Other threads may have opened the page meanwhile, and closed it again.
  for (int refusals = 0; !pages_.permits(fault.address, kind(fault));) {
    driver_.refresh();
    detail::FaultContext context;
    if (driver_.loaded() && where_it_sleeps(fault.thread, context) && driver_.made(context))
      detail::die_of_touch(detail::By::driver, reinterpret_cast<const void*>(fault.address));
    auto* const address = reinterpret_cast<std::byte*>(fault.address);
    int& served = per_thread<ServedThread>().number;
    const int outer = std::exchange(served, fault.thread);  // serving nests (`help_holder`)
    const base::AtEnd restored([&] { served = outer; });
    const FaultResult result = shared.contain(address) ? serve_(address, kind(fault), nullptr) : FaultResult::not_ours;
    if (result == FaultResult::served) break;
    if (++refusals <= detail::most_refusals) continue;
    pages_.decline(fault.address);
    break;
  }
  wake(fault);
}

void UserfaultfdTracker::serve_faults() noexcept {
  thread_state().is_service = true;
  {
    const Lock lock(mutex_);
    service_id_ = static_cast<int>(::syscall(SYS_gettid));
  }
  Fault fault;
  while (next(fault)) {
    answer(fault);
    end();
  }
  thread_state().is_service = false;  // another thread may get this thread's number
}

/// Checks the patience for threads that sleep in the kernel, because these cannot read the clock. The service thread may be one
/// of them.
void UserfaultfdTracker::look_after_service() noexcept {
  Lock lock(mutex_);
  while (!stopping_) {
    changed_.wait(lock, [&] { return looked_after_ || stopping_; });
    std::uint64_t seen = steps_;
    detail::SignsOfLife signs(patience_s_);
    while (looked_after_ && !stopping_) {
      if (changed_.wait_for(lock, look_around, [&] { return stopping_; })) break;
      pages_.forgive();
      const bool idle = served_.empty();
      if (idle && steps_ == seen) looked_after_ = false;  // no fault for a while
      seen = steps_;
      const detail::SignsOfLife::Seen life = signs.look(seen);
      if (idle) continue;
      take();  // the service thread checks `waiting_` before it sleeps
      const auto* const address = reinterpret_cast<const void*>(served_.back().address);
      if (life == detail::SignsOfLife::Seen::silence) {
        // A system call that sleeps there may hold a lock of the file that the message is written to. So it ends with EFAULT first.
        shared.dying.store(true);
        pages_.decline(served_.back().address);
        wake(served_.back());
        detail::die_impatient(address, patience_s_);
      } else if (life == detail::SignsOfLife::Seen::long_work) {
        lock.unlock();  // for the same reason: writing the message may block
        detail::mention_long_work(address, patience_s_);
        lock.lock();
      }
    }
  }
}

}  // namespace

Pages make_userfaultfd_pages(unsigned patience_s) {
  auto platform = std::make_unique<UserfaultfdPlatform>();
  auto tracker = std::make_unique<UserfaultfdTracker>(*platform, patience_s);
  return {std::move(platform), std::move(tracker)};
}

}  // namespace semcache::platform
