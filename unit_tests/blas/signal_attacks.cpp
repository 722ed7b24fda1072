// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
//
// Attacks by signals: handlers of all kinds, that read results and jump, and masks.
#include "programs.hpp"

#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <thread>

namespace programs {
namespace {

sigjmp_buf back;
volatile sig_atomic_t crashes = 0;
volatile double seen = 0;
double* dumped = nullptr;
void jump_back(int) {
  crashes = crashes + 1;
  siglongjmp(back, 1);
}
void* closed_page() {
  static void* const closed = ::mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return closed;
}
/// Touches memory that nobody may touch. The handler jumps back.
void touch_forbidden() {
  if (sigsetjmp(back, 1) == 0) *static_cast<volatile char*>(closed_page()) = 1;
}
/// Does so in a child. Tells how that ends.
void touch_in_child(const char* what) {
  std::fflush(stdout);
  const pid_t child = ::fork();
  if (child == 0) {
    touch_forbidden();
    ::_exit(7);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  std::printf("%s: %s %d\n", what, WIFEXITED(status) ? "ended with" : "signal", WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
}
void tell_handler(const char* what) {
  struct sigaction now {};
  ::sigaction(SIGSEGV, nullptr, &now);
  std::printf("%s: default %d, ours %d, once %d, defers %d, restarts %d\n", what, now.sa_handler == SIG_DFL, now.sa_handler == &jump_back,
              (now.sa_flags & SA_RESETHAND) != 0, (now.sa_flags & SA_NODEFER) == 0, (now.sa_flags & SA_RESTART) != 0);
}

/// Handlers that are called once, and all names by which a handler is installed.
void handlers_of_all_kinds() {
  double *const a = small_matrix(1), *const b = small_matrix(2), *const c = small_matrix(3);
  small_product(a, b, c);
  struct sigaction once {};
  once.sa_handler = &jump_back;
  once.sa_flags = static_cast<int>(SA_RESETHAND);
  for (int i = 0; i < 2; ++i) {
    ::sigaction(SIGSEGV, &once, nullptr);
    tell_handler("once");
    touch_in_child("first");
    touch_forbidden();
    tell_handler("after");
    touch_in_child("second");
    std::printf("%g\n", c[100 * (i + 1)]);
    small_product(a, b, c, 1);
  }
  const auto find = [](const char* name) { return reinterpret_cast<sighandler_t (*)(int, sighandler_t)>(::dlsym(RTLD_DEFAULT, name)); };
  for (const char* name : {"signal", "bsd_signal", "ssignal", "sysv_signal", "__sysv_signal", "sigset"}) {
    const auto install = find(name);
    std::printf("%s returns the default %d\n", name, install(SIGSEGV, &jump_back) == SIG_DFL);
    tell_handler(name);
    small_product(b, a, c);
    show("product", c, small_bytes);
    touch_in_child(name);
    touch_forbidden();
    tell_handler("after");
    ::signal(SIGSEGV, SIG_DFL);
    small_product(a, b, c);
    ::sigignore(SIGSEGV);
    show("ignored", c, small_bytes);
    touch_in_child("ignored");
    ::signal(SIGSEGV, SIG_DFL);
  }
  std::printf("crashes %d\n", static_cast<int>(crashes));
}

/// Every way to block SIGSEGV, which must not keep results from coming home.
void blocked_signals() {
  double *const a = small_matrix(1), *const b = small_matrix(2), *const c = small_matrix(3);
  small_product(a, b, c);
  ::sighold(SIGSEGV);
  show("sighold", c, small_bytes);
  small_product(a, b, c);
  ::sigset(SIGSEGV, SIG_HOLD);
  show("sigset", c, small_bytes);
  small_product(a, b, c);
  const auto by_mask = [](const char* name) { return reinterpret_cast<int (*)(int)>(::dlsym(RTLD_DEFAULT, name)); };
  by_mask("sigblock")(-1);
  show("sigblock", c, small_bytes);
  small_product(a, b, c);
  by_mask("sigsetmask")(-1);
  show("sigsetmask", c, small_bytes);
  by_mask("sigsetmask")(0);
  small_product(a, b, c);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  sigset_t all;
  sigfillset(&all);
  pthread_attr_setsigmask_np(&attributes, &all);
  pthread_t thread;
  const auto look = [](void* at) -> void* { return show("of a thread", at, small_bytes), nullptr; };
  if (::pthread_create(&thread, &attributes, look, c) == 0) ::pthread_join(thread, nullptr);
}

/// Every way to wait with a signal mask. The handler that ends the wait reads a result.
void waits_with_masks() {
  double *const a = small_matrix(1), *const b = small_matrix(2), *const c = small_matrix(3);
  static double* read = nullptr;
  read = c;
  struct sigaction action {};
  action.sa_handler = [](int) { show("in the handler", read, small_bytes); };
  ::sigaction(SIGUSR1, &action, nullptr);
  sigset_t user, others;
  sigemptyset(&user);
  sigaddset(&user, SIGUSR1);
  sigfillset(&others);
  sigdelset(&others, SIGUSR1);
  ::pthread_sigmask(SIG_BLOCK, &user, nullptr);
  const int epoll = ::epoll_create1(0);
  epoll_event event{};
  const timespec long_time{10, 0};
  const auto check = [&](const char* what, const std::function<int()>& wait) {
    small_product(a, b, c, 1e-3);
    ::raise(SIGUSR1);
    const int result = wait();
    std::printf("%s %d, interrupted %d\n", what, result, errno == EINTR);
  };
  check("ppoll", [&] { return ::ppoll(nullptr, 0, &long_time, &others); });
  check("pselect", [&] { return ::pselect(0, nullptr, nullptr, nullptr, &long_time, &others); });
  check("epoll_pwait", [&] { return ::epoll_pwait(epoll, &event, 1, 10000, &others); });
  check("epoll_pwait2", [&] { return ::epoll_pwait2(epoll, &event, 1, &long_time, &others); });
  check("sigsuspend", [&] { return ::sigsuspend(&others); });
}

/// What the kernel reads and fills lies on a page of a result.
void masks_beside_results() {
  struct Beside {
    double in_front[8], c[small_count];
    sigset_t set, before;
    stack_t stack, old_stack;
    timespec time;
    timeval other_time;
    pollfd file;
    epoll_event event;
    fd_set files;
  };
  auto* const block = static_cast<Beside*>(std::calloc(1, sizeof(Beside)));
  double *const a = small_matrix(1), *const b = small_matrix(2), *const c = block->c;
  int ends[2];
  if (::pipe(ends) != 0 || ::write(ends[1], "x", 1) != 1) std::abort();
  const int epoll = ::epoll_create1(0);
  const auto prepare = [&] {
    sigemptyset(&block->set);
    sigaddset(&block->set, SIGUSR2);
    block->time = {5, 0};
    block->other_time = {5, 0};
    block->file = {ends[0], POLLIN, 0};
    block->event.events = EPOLLIN;
    block->event.data.fd = 77;
    FD_ZERO(&block->files);
    FD_SET(ends[0], &block->files);
  };
  const auto check = [&](const char* what, const std::function<int()>& call) {
    prepare();
    small_product(a, b, c, 1e-3);
    errno = 0;
    const int result = call();
    std::printf("%s %d errno %d", what, result, errno);
    std::printf(" set %d stack %d file %d event %d\n", sigismember(&block->before, SIGUSR2), block->old_stack.ss_flags, block->file.revents,
                block->event.data.fd);
  };
  check("sigprocmask", [&] { return ::sigprocmask(SIG_BLOCK, &block->set, &block->before); });
  check("pthread_sigmask", [&] { return ::pthread_sigmask(SIG_UNBLOCK, &block->set, &block->before); });
  check("sigaltstack", [&] { return ::sigaltstack(nullptr, &block->old_stack); });
  check("sigaltstack of both", [&] {
    block->stack = block->old_stack;
    small_product(a, b, c, 1e-3);
    return ::sigaltstack(&block->stack, &block->old_stack);
  });
  check("epoll_ctl", [&] {
    epoll_event event = block->event;
    event.data.fd = 88;
    return ::epoll_ctl(epoll, EPOLL_CTL_ADD, ends[0], &event);
  });
  check("poll", [&] { return ::poll(&block->file, 1, 5000); });
  check("ppoll", [&] { return ::ppoll(&block->file, 1, &block->time, &block->set); });
  check("select", [&] { return ::select(ends[0] + 1, &block->files, nullptr, nullptr, &block->other_time); });
  check("pselect", [&] { return ::pselect(ends[0] + 1, &block->files, nullptr, nullptr, &block->time, &block->set); });
  check("epoll_wait", [&] { return ::epoll_wait(epoll, &block->event, 1, 5000); });
  check("epoll_pwait", [&] { return ::epoll_pwait(epoll, &block->event, 1, 5000, &block->set); });
  check("epoll_pwait2", [&] { return ::epoll_pwait2(epoll, &block->event, 1, &block->time, &block->set); });
  show("result", c, small_bytes);
}

/// A stack for signals lies in a block, between operands, where there was a result before. Handlers on it read results, and jump back.
void alternate_stacks() {
  constexpr std::size_t stack_count = 8 * small_count / 16;
  auto* const block = static_cast<double*>(std::aligned_alloc(4096, 3 * small_bytes + stack_count * 8));
  double *const a = block, *const b = a + small_count, *const c = b + small_count + stack_count;
  fill(block, 1, 3 * small_count + stack_count);
  small_product(a, b, c);
  double* const stack = b + small_count;
  gemm('N', 'N', 128, 128, 128, 1, a, 128, b, 128, 0, stack + stack_count - 128 * 128, 128);
  stack_t now{}, before{};
  now.ss_sp = stack;
  now.ss_size = stack_count * 8;
  ::sigaltstack(nullptr, &before);
  std::printf("disabled %d, sets %d", (before.ss_flags & SS_DISABLE) != 0, ::sigaltstack(&now, nullptr));
  ::sigaltstack(nullptr, &before);
  std::printf(", is it %d\n", before.ss_sp == now.ss_sp && before.ss_size == now.ss_size);
  dumped = c;
  struct sigaction action {};
  action.sa_flags = SA_ONSTACK | static_cast<int>(SA_NODEFER);
  action.sa_handler = [](int number) {
    double room[1000];
    fill(room, number, 1000);
    show("on the other stack", room, sizeof room);
    show("result", dumped, small_bytes);
    if (number == SIGSEGV) siglongjmp(back, 1);
  };
  ::sigaction(SIGUSR1, &action, nullptr);
  ::sigaction(SIGSEGV, &action, nullptr);
  for (int i = 0; i < 3; ++i) {
    small_product(a, b, c, 1e-3);
    ::raise(SIGUSR1);
    small_product(b, a, c, 1e-3);
    touch_forbidden();
  }
  now.ss_flags = SS_DISABLE;
  std::printf("disables %d\n", ::sigaltstack(&now, nullptr));
  show("block", b, small_bytes);
  std::free(block);
}

/// A handler of SIGSEGV that lets the signal in again, and leaves by a jump that keeps the mask as it is then.
void unblocking_handler() {
  double *const a = small_matrix(1), *const b = small_matrix(2), *const c = small_matrix(3);
  dumped = c;
  struct sigaction action {};
  action.sa_handler = [](int) {
    crashes = crashes + 1;
    sigset_t crash;
    sigemptyset(&crash);
    sigaddset(&crash, SIGSEGV);
    if (crashes % 2 == 0) ::sigprocmask(SIG_UNBLOCK, &crash, nullptr);
    else ::pthread_sigmask(SIG_UNBLOCK, &crash, nullptr);
    seen = dumped[static_cast<std::size_t>(crashes) * 4099 % small_count];
    siglongjmp(back, 1);
  };
  ::sigaction(SIGSEGV, &action, nullptr);
  for (int i = 0; i < 6; ++i) {
    small_product(a, b, c, 1e-3);
    if (sigsetjmp(back, 0) == 0) *static_cast<volatile char*>(closed_page()) = 1;
    small_product(b, a, c, 1e-3);
    std::thread([] {
      if (sigsetjmp(back, 0) == 0) *static_cast<volatile char*>(closed_page()) = 1;
      show("in a thread", dumped, small_bytes);
    }).join();
    sigset_t now;
    ::pthread_sigmask(SIG_BLOCK, nullptr, &now);
    std::printf("%g, blocked %d\n", static_cast<double>(seen), sigismember(&now, SIGSEGV));
  }
  show("product", c, small_bytes);
  std::printf("crashes %d\n", static_cast<int>(crashes));
}

/// A child that shares the memory until it ends or becomes another program puts its own signals back.
void vforked_child() {
  double *const a = small_matrix(1), *const b = small_matrix(2), *const c = small_matrix(3);
  small_product(a, b, c);
  struct sigaction action {};
  action.sa_handler = &jump_back;
  ::sigaction(SIGSEGV, &action, nullptr);
  const pid_t child = ::vfork();
  if (child == 0) {
    ::signal(SIGSEGV, SIG_DFL);
    ::execl("/bin/true", "true", nullptr);
    ::_exit(1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  std::printf("child %d\n", WEXITSTATUS(status));
  tell_handler("parent");
  touch_forbidden();
  show("product", c, small_bytes);
  std::printf("crashes %d\n", static_cast<int>(crashes));
}

double* results[2];
volatile sig_atomic_t alarms = 0, jumps = 0;
/// Handlers of a clock read results, and jump out of whatever is under way.
void clock_handlers() {
  double *const a = small_matrix(1), *const b = small_matrix(2);
  for (double*& r : results) r = small_matrix(3);
  struct sigaction tick {};
  tick.sa_handler = [](int) {
    alarms = alarms + 1;
    seen = results[alarms % 2][static_cast<std::size_t>(alarms) * 8191 % small_count];
    if (alarms % 8 != 0 || jumps >= 8) return;
    jumps = jumps + 1;
    siglongjmp(back, 1);
  };
  ::sigaction(SIGALRM, &tick, nullptr);
  if (sigsetjmp(back, 1) == 0) {
    const itimerval often{{0, 1997}, {0, 1997}};
    ::setitimer(ITIMER_REAL, &often, nullptr);
  }
  while (alarms < 100) {
    small_product(a, b, results[0], 1);
    small_product(a, b, results[1]);
  }
  const itimerval never{};
  ::setitimer(ITIMER_REAL, &never, nullptr);
  std::printf("jumps %d\n", static_cast<int>(jumps));
  small_product(a, b, results[0]);
  show("result", results[0], small_bytes);
  // Others are let in: mappings change, and a child is made.
  ::mprotect(reinterpret_cast<void*>((reinterpret_cast<std::uintptr_t>(results[0]) + 4095) / 4096 * 4096), 4096, PROT_READ);
  std::fflush(stdout);
  if (const pid_t child = ::fork(); child == 0) ::_exit(0);
  else ::waitpid(child, nullptr, 0);
  show("result", results[0], small_bytes);
}

/// A handler that is not called for faults within itself reads a result, and jumps back.
void reading_handler() {
  double *const a = small_matrix(1), *const b = small_matrix(2), *const c = small_matrix(3);
  dumped = c;
  struct sigaction action {};
  action.sa_handler = [](int) {
    show("in the handler", dumped, small_bytes);
    siglongjmp(back, 1);
  };
  ::sigaction(SIGSEGV, &action, nullptr);
  for (int i = 0; i < 3; ++i) {
    small_product(a, b, c, 1);
    touch_forbidden();
  }
  action.sa_handler = [](int) {
    static const char text[] = "once\n";
    if (::write(STDOUT_FILENO, text, sizeof text - 1) > 0) *static_cast<volatile char*>(closed_page()) = 1;  // it crashes itself
  };
  ::sigaction(SIGSEGV, &action, nullptr);
  touch_in_child("a handler that crashes");
}

sem_t answers;
std::atomic<bool> stopped{false};

/// A garbage collector stops all threads by signals, wherever they are, and goes on when each has answered: one that allocates and frees, and one
/// that calls BLAS.
void stops_all_threads() {
  ::sem_init(&answers, 0, 0);
  struct sigaction action {};
  ::sigfillset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  action.sa_handler = [](int) {
    const int error = errno;
    sigset_t all_but_one;
    ::sigfillset(&all_but_one);
    ::sigdelset(&all_but_one, SIGUSR2);
    ::sem_post(&answers);
    while (stopped) ::sigsuspend(&all_but_one);
    ::sem_post(&answers);
    errno = error;
  };
  ::sigaction(SIGUSR1, &action, nullptr);
  action.sa_handler = [](int) {};
  ::sigaction(SIGUSR2, &action, nullptr);
  std::atomic<bool> over{false};
  std::thread threads[] = {std::thread([&] {
                             while (!over) {
                               void* volatile const block = std::malloc(bytes);
                               std::free(block);
                             }
                           }),
                           std::thread([&] {
                             double *const a = matrix(1), *const b = matrix(2), *const c = matrix(3);
                             while (!over) gemm('N', 'N', 300, 1, 300, 1, a, 300, b, 300, 0, c, 300);
                           })};
  const auto all_answer = [] {
    timespec until{};
    ::clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 20;
    for (int i = 0; i < 2;) {
      if (::sem_timedwait(&answers, &until) == 0) {
        ++i;
      } else if (errno != EINTR) {
        static const char text[] = "a thread does not answer\n";  // not by printf, which allocates
        ::_exit(::write(STDOUT_FILENO, text, sizeof text - 1) > 0 ? 1 : 2);
      }
    }
  };
  ::usleep(100000);  // the device starts
  for (int i = 0; i < 4000; ++i) {
    stopped = true;
    for (std::thread& t : threads) ::pthread_kill(t.native_handle(), SIGUSR1);
    all_answer();
    stopped = false;
    for (std::thread& t : threads) ::pthread_kill(t.native_handle(), SIGUSR2);
    all_answer();
    ::usleep(50);
  }
  over = true;
  for (std::thread& t : threads) t.join();
  std::printf("all answered\n");
}

}  // namespace

const Programs signal_attacks = {
    {"blocked_signals", &blocked_signals},
    {"clock_handlers", &clock_handlers},
    {"handlers_of_all_kinds", &handlers_of_all_kinds},
    {"masks_beside_results", &masks_beside_results},
    {"stops_all_threads", &stops_all_threads},
    {"reading_handler", &reading_handler},
    {"alternate_stacks", &alternate_stacks},
    {"unblocking_handler", &unblocking_handler},
    {"vforked_child", &vforked_child},
    {"waits_with_masks", &waits_with_masks},
};

}  // namespace programs
