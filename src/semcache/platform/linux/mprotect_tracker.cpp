// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/platform/linux/driver_text.hpp>
#include <semcache/platform/linux/fault_desk.hpp>
#include <semcache/platform/linux/fault_messages.hpp>
#include <semcache/platform/linux/maps.hpp>
#include <semcache/platform/linux/service_thread.hpp>
#include <semcache/platform/linux/signal_chain.hpp>
#include <semcache/platform/linux/signal_stack.hpp>
#include <semcache/platform/linux/thread_state.hpp>
#include <semcache/platform/per_thread.hpp>
#include <semcache/platform/platform.hpp>

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <utility>

namespace semcache::platform {
namespace {

using detail::FaultContext;
using detail::FaultDesk;
using detail::thread_state;

enum class Outcome { repeat, refuse };

/// Everything that the handler reads. It is global, because a signal handler has no other way to it; there is one service thread
/// per process. Constant-initialised and never destroyed, so that a handler that stays chained stays harmless.
struct Shared : detail::Running {
  std::atomic<unsigned> patience_s{0};
  FaultDesk desk;
  detail::DriverText driver;
};
Shared shared;

std::uintptr_t page_bytes() noexcept { return static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE)); }

/// Decides on a fault that the service declined. The page may be open because another thread's fault opened it.
/// @param came_back  it was refused before, and another handler returned it
Outcome refused(const void* pointer, std::uintptr_t instruction, bool came_back) noexcept {
  if (came_back) return Outcome::refuse;
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  detail::ThreadState& thread = thread_state();
  const bool again = thread.refused_address == address && thread.refused_instruction == instruction;
  thread.refused_address = address;
  thread.refused_instruction = instruction;
  thread.refusals = again ? thread.refusals + 1 : 1;
  if (thread.refusals <= detail::most_refusals) return Outcome::repeat;
  thread.refusals = 0;
  return Outcome::refuse;
}

/// Resolves a fault in a forked child, where no thread serves. Readable pages hold valid data (I5), so that a write needs only
/// the permission; the child's memory is its own. Pages that were stale at the fork stay out of reach.
Outcome resolve_in_child(void* pointer, const FaultContext& fault, bool came_back) noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  detail::Mapping mapping;
  if (!detail::find_mapping(address, mapping)) return Outcome::refuse;
  if (!mapping.readable) detail::die_of_touch(detail::By::child, pointer);
  if (mapping.writable || fault.kind == FaultKind::read) return refused(pointer, fault.instruction, came_back);
  std::uintptr_t begin = round_down(address, page_bytes()), end = begin + page_bytes();
  for (const detail::AddressRange& arena : shared.arenas) {
    if (!arena.contains(address)) continue;
    begin = std::max(mapping.begin, arena.begin.load());
    end = std::min(mapping.end, arena.end.load());
  }
  // The program's own pages beside watched ones may have the same protection for a reason of the program's.
  while (begin > mapping.begin && shared.pages.watches(begin - page_bytes())) begin -= page_bytes();
  while (end < mapping.end && shared.pages.watches(end)) end += page_bytes();
  if (::mprotect(reinterpret_cast<void*>(begin), end - begin, PROT_READ | PROT_WRITE) != 0)
    base::fatal("a forked child could not open array '%s' at %p for writing: mprotect failed with error %d; raise "
                "vm.max_map_count, or call exec() in the child",
                detail::label_of(pointer), pointer, errno);
  return Outcome::repeat;
}

Outcome resolve(void* pointer, const void* context, bool came_back) noexcept {
  FaultContext fault = context != nullptr ? detail::read_fault_context(context) : FaultContext();
  fault.thread = static_cast<int>(::syscall(SYS_gettid));
  if (shared.forked.load(std::memory_order_acquire)) return resolve_in_child(pointer, fault, came_back);

  const detail::ThreadState& thread = thread_state();
  const std::atomic<const void*>* const told = thread.holdings.load(std::memory_order_relaxed);
  const void* const holdings = told != nullptr ? told->load(std::memory_order_relaxed) : nullptr;
  if (thread.is_service) detail::die_of_touch(detail::By::service, pointer);
  if (thread.runtime_depth > 0) detail::die_in_runtime(pointer, context);
  if (shared.driver.made(fault)) detail::die_of_touch(detail::By::driver, pointer);

  const unsigned patience_s = shared.patience_s.load(std::memory_order_relaxed);
  using Answer = FaultDesk::Answer;
  const Answer answer = shared.desk.post_and_wait(pointer, fault, holdings, patience_s, &detail::mention_long_work);
  if (answer == Answer::in_driver) detail::die_of_touch(detail::By::driver, pointer);
  if (answer == Answer::too_late) detail::die_impatient(pointer, patience_s);
  if (answer != Answer::served) return refused(pointer, fault.instruction, came_back);
  thread_state().refusals = 0;
  return Outcome::repeat;
}

/// Bytes of a signal stack that this handler needs besides the kernel's frame. Messages are written on another stack.
#if defined(__OPTIMIZE__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
constexpr std::size_t least_room = 384;
#else
constexpr std::size_t least_room = 8192;
#endif

/// Handles the fault without allocation or lock, and preserves errno.
__attribute__((noinline)) void handle_with_room(int signal, siginfo_t* info, void* context) {
  const int saved = errno;
  const bool came_back = detail::was_passed_on(context, __builtin_frame_address(0));
  bool done = false;
  if (detail::is_against_protection(signal, info)) {
    if (shared.contain(info->si_addr)) {
      done = resolve(info->si_addr, context, came_back) == Outcome::repeat;
    } else if (shared.contained(info->si_addr)) {
      // The page may have been opened, and the watch or the whole runtime may have ended, between the access and here.
      const FaultContext fault = context != nullptr ? detail::read_fault_context(context) : FaultContext();
      done = refused(info->si_addr, fault.instruction, came_back) == Outcome::repeat;
    } else {
      detail::mention_device_memory(info->si_addr);
    }
  }
  if (!done) detail::pass_on(signal, info, context);
  errno = saved;
}

/// Runs on the stack of the faulting thread, which may be a signal stack hardly larger than the kernel's frame. So it measures
/// the room before any larger frame is made, and nothing that it calls is bound at its first call (-fno-plt), because binding
/// takes kilobytes. AddressSanitizer is off, because it calls such a function in front of every function that does not return.
__attribute__((no_sanitize_address)) void handle_fault(int signal, siginfo_t* info, void* context) {
  if (detail::is_against_protection(signal, info) && context != nullptr) {
    const stack_t& stack = detail::signal_stack(context);
    const std::size_t room = detail::room_on(stack, __builtin_frame_address(0));
    if (room != detail::other_stack) {
      const bool ours = shared.contain(info->si_addr);
      const bool overrun = !ours && detail::behind(stack, info->si_addr);
      if ((ours || overrun) && room < least_room) detail::die_on_small_stack(info->si_addr);
      if (overrun) detail::die_of_overrun(info->si_addr, context);
    }
  }
  handle_with_room(signal, info, context);
}

void after_fork_in_child() { shared.after_fork_in_child(); }

class MprotectTracker final : public Tracker {
 public:
  explicit MprotectTracker(unsigned patience_s) : patience_s_(std::max(patience_s, 1U)) {}
  ~MprotectTracker() override { stop(); }

  const char* name() const noexcept override { return "mprotect"; }
  bool notices() const noexcept override { return true; }
  void start(std::byte* arena, std::uint64_t arena_bytes, Serve serve) override;
  bool also_watch(std::byte* arena, std::uint64_t arena_bytes) noexcept override {
    second_ = arena;
    second_bytes_ = arena_bytes;
    return true;
  }
  bool watch(const std::byte* pages, std::uint64_t bytes) override {
    shared.pages.set(reinterpret_cast<std::uintptr_t>(pages), bytes, detail::WatchedPages::State::watched);
    return true;
  }
  void unwatch(const std::byte* pages, std::uint64_t bytes) noexcept override {
    shared.pages.set(reinterpret_cast<std::uintptr_t>(pages), bytes, detail::WatchedPages::State::was_watched);
  }
  Holder help_holder(const Holds& holds, const void*& where) override;
  void stay_on_top() noexcept override;
  void stop() noexcept override;

 private:
  void serve_faults() noexcept;
  void serve(const FaultDesk::Posted& fault) noexcept;

  const unsigned patience_s_;
  std::byte* second_ = nullptr;
  std::uint64_t second_bytes_ = 0;
  Serve serve_;
  pthread_t service_{};
  pid_t owner_ = 0;  ///< the process that has the service thread
  bool started_ = false;
};

void MprotectTracker::start(std::byte* arena, std::uint64_t arena_bytes, Serve serve) {
  SEMCACHE_EXPECTS(serve != nullptr && arena != nullptr && arena_bytes > 0, "a tracker needs an arena and a server");
  SEMCACHE_EXPECTS(!started_ || shared.forked.load(), "this tracker is started already");
  detail::at_fork<nullptr, nullptr, &after_fork_in_child>();
  shared.take(name());
  serve_ = std::move(serve);
  if (shared.forked.exchange(false)) {
    shared.desk.forget();
    base::TakesTime::forget();
  }
  shared.desk.open();
  owner_ = ::getpid();
  shared.patience_s.store(patience_s_);
  shared.driver.refresh();
  shared.replace_arenas(arena, arena_bytes, second_, second_bytes_);

  try {
    detail::install_handler(&handle_fault);
    service_ = detail::start_service_thread("semcache-fault", [this] { serve_faults(); });
  } catch (...) {
    shared.desk.close();
    detail::retire_handler();
    shared.taken.store(false);
    throw;
  }
  started_ = true;
}

void MprotectTracker::stay_on_top() noexcept {
  const detail::Found found = detail::keep_on_top(&handle_fault);
  if (found == detail::Found::on_top) return;
  static std::atomic<bool> said{false};
  if (said.exchange(true)) return;
  base::raw_log(
      "a SIGSEGV handler was installed over SemCache's, %s. Accesses to arrays whose content is elsewhere go to "
      "such a handler until SemCache notices it, at the next allocation or a later copy or launch: install it "
      "before the first use of SemCache, or not at all (Boost.Test: --catch_system_errors=no)",
      found == detail::Found::put_back ? "which is back on top and calls the other one for all that is not its own"
                                       : "by ever other ones, and stays there");
}

void MprotectTracker::stop() noexcept {
  if (!started_) return;
  started_ = false;
  // In a forked child the thread is the parent's, so there is none to join.
  if (!shared.forked.load() && ::getpid() == owner_) {
    shared.desk.request_close();
    ::pthread_join(service_, nullptr);
    shared.desk.close();
    serve_ = nullptr;
  }
  detail::retire_handler();
  shared.taken.store(false);
}

void MprotectTracker::serve_faults() noexcept {
  shared.desk.begin_service();
  thread_state().is_service = true;
  FaultDesk::Posted fault;
  while (shared.desk.next(fault)) serve(fault);
  thread_state().is_service = false;  // another thread may get this thread's number
}

void MprotectTracker::serve(const FaultDesk::Posted& fault) noexcept {
  shared.driver.refresh();
  FaultDesk::Answer answer = FaultDesk::Answer::in_driver;
  if (!shared.driver.made(fault.context)) {
    int& served = per_thread<ServedThread>().number;
    const int outer = std::exchange(served, fault.context.thread);  // serving nests (`help_holder`)
    const FaultResult result = serve_(static_cast<std::byte*>(fault.address), fault.context.kind,
                                      reinterpret_cast<const void*>(fault.context.instruction));
    served = outer;
    answer = result == FaultResult::served ? FaultDesk::Answer::served : FaultDesk::Answer::not_ours;
  }
  shared.desk.answer(fault, answer);
}

Holder MprotectTracker::help_holder(const Holds& holds, const void*& where) {
  where = shared.desk.taken_of(holds);
  if (where != nullptr) return Holder::waits_for_the_same;
  FaultDesk::Posted fault;
  if (!shared.desk.next_of(holds, fault)) return Holder::runs;
  serve(fault);
  return Holder::was_helped;
}

}  // namespace

std::unique_ptr<Tracker> make_mprotect_tracker(unsigned patience_s) {
  return std::make_unique<MprotectTracker>(patience_s);
}

}  // namespace semcache::platform
