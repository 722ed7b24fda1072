// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
//
// Programs that use their memory, threads and processes as they may, at the worst moments. check_programs.py runs them as those of programs.cpp.
#include "fork_handlers.hpp"
#include "programs.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstring>
#include <thread>
#include <vector>

extern "C" double ddot_(const int*, const double*, const int*, const double*, const int*);

namespace programs {
namespace {

/// Calls `compute` again and again in another thread while this one carries out `work`.
template <class Compute, class Work>
void while_computing(const Compute& compute, const Work& work) {
  std::atomic<bool> stop{false};
  std::atomic<int> calls{0};
  std::thread other([&] {
    for (; !stop; ++calls) compute();
  });
  while (calls == 0) std::this_thread::yield();
  work();
  stop = true;
  other.join();
}

double* target = nullptr;

int temporary_file() {
  char name[] = "/tmp/test_blas_XXXXXX";
  const int file = ::mkstemp(name);
  ::unlink(name);
  return file;
}

/// A file gets memory that goes beyond the operands of a call that is under way.
void io_while_computing() {
  double *const block = mapped(4 * small_bytes), *const b = block + small_count, *const c = block + 3 * small_count;
  fill(block, 1, 4 * small_count);
  double* const room = matrix(2, 4 * small_count);
  const int file = temporary_file();
  const std::size_t written = 3 * small_bytes - 8;  // not the result
  while_computing([&] { small_product(b, b + small_count / 2, c); }, [&] {
    for (int i = 0; i < 50; ++i) {
      if (::pwrite(file, block, written, 0) != static_cast<ssize_t>(written)) std::perror("pwrite");
      std::memset(block, i, 64);  // in front of all operands
      if (::pread(file, room, written, 0) != static_cast<ssize_t>(written)) std::perror("pread");
    }
  });
  show("written", room, written);
  show("product", c, small_bytes);
}

/// Calls change mappings beside the operands of a call that is under way, in the same block. Then the block ends, and another takes its place.
void mappings_while_computing() {
  for (int round = 0; round < 3; ++round) {
    const bool block = round != 1;  // a mapping of the program's own, in the second round
    auto* const all = block ? static_cast<double*>(std::aligned_alloc(4096, 4 * small_bytes)) : mapped(4 * small_bytes);
    double *const b = all + small_count, *const c = all + 3 * small_count;
    fill(all, round + 1, 4 * small_count);
    while_computing([&] { small_product(b, b + small_count / 2, c); }, [&] {
      for (int i = 0; i < 20; ++i) {
        ::mprotect(all, small_bytes, PROT_READ);
        ::mprotect(all, small_bytes, PROT_READ | PROT_WRITE);
        ::madvise(all, small_bytes / 2, MADV_DONTNEED);
      }
      if (!block) ::munmap(all, small_bytes / 2);
    });
    show("rest", all + small_count / 2, small_bytes / 2);
    show("product", c, small_bytes);
    small_product(b, c, all + small_count / 2);
    small_product(b, all + small_count / 2, c);
    if (block) std::free(all);
    else ::munmap(all + small_count / 4, 4 * small_bytes - small_bytes / 2);
  }
}

/// Calls that end or move mappings, and fail: what the device has written is there afterwards.
void mappings_that_fail() {
  double *const a = small_matrix(1), *const b = small_matrix(2);
  alignas(4096) static double in_static[small_count];
  double *all = nullptr, *c = nullptr;
  const auto bytes_of = [](double* at) { return reinterpret_cast<char*>(at); };
  const auto check = [&](const char* what, const std::function<bool()>& fails) {
    all = mapped(3 * small_bytes);
    c = all + small_count;
    fill(c, 4, small_count);
    small_product(a, b, c);
    std::printf("%s fails %d ", what, fails());
    show("", c, small_bytes);
    small_product(b, c, a);  // the memory is used on
    show("used on", a, small_bytes);
    fill(a, 1, small_count);
    ::munmap(all, 3 * small_bytes);
  };
  check("munmap at an odd address", [&] { return ::munmap(bytes_of(c) + 1, small_bytes) != 0; });
  check("munmap of nothing", [&] { return ::munmap(c, 0) != 0; });
  check("munmap of everything", [&] { return ::munmap(c, SIZE_MAX / 4096 * 4096) != 0; });
  check("mmap of no file", [&] { return ::mmap(c, small_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, -1, 0) == MAP_FAILED; });
  check("mmap of a folder", [&] {
    const int folder = ::open("/tmp", O_RDONLY);
    const bool failed = ::mmap(c, small_bytes, PROT_READ, MAP_PRIVATE | MAP_FIXED, folder, 0) == MAP_FAILED;
    ::close(folder);
    return failed;
  });
  check("mmap where something is", [&] {
    return ::mmap(c, small_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == MAP_FAILED;
  });
  check("mremap to an odd address", [&] {
    return ::mremap(all, small_bytes, small_bytes, MREMAP_MAYMOVE | MREMAP_FIXED, bytes_of(c) + 8) == MAP_FAILED;
  });
  check("mremap onto itself", [&] { return ::mremap(c, small_bytes, small_bytes, MREMAP_MAYMOVE | MREMAP_FIXED, c + 512) == MAP_FAILED; });
  check("mremap too large", [&] { return ::mremap(c, small_bytes, std::size_t{1} << 60, MREMAP_MAYMOVE) == MAP_FAILED; });
  check("mremap without room", [&] { return ::mremap(c, small_bytes, 2 * small_bytes, 0) == MAP_FAILED; });
  check("madvise at an odd address", [&] { return ::madvise(bytes_of(c) + 1, 4096, MADV_DONTNEED) != 0; });
  check("mprotect with odd rights", [&] { return ::mprotect(c, small_bytes, 0x7777) != 0; });
  // Queries of the heap's end.
  fill(in_static, 3, small_count);
  small_product(a, b, in_static);
  std::printf("brk %d %d %d\n", ::brk(nullptr), ::sbrk(0) != nullptr, ::brk(reinterpret_cast<void*>(4096)));
  show("static", in_static, small_bytes);
}

/// Calls that change what a mapping is, or what it has.
void mappings_change() {
  double *const a = small_matrix(1), *const b = small_matrix(2);
  const auto check = [&](const char* what, const std::function<int(double*)>& change) {
    double* const c = mapped(small_bytes);
    fill(c, 4, small_count);
    small_product(a, b, c);
    std::printf("%s %d ", what, change(c));
    show("", c, small_bytes);
    small_product(b, a, c);
    show("used on", c, small_bytes);
    ::munmap(c, small_bytes);
  };
  check("MADV_DONTNEED", [](double* c) { return ::madvise(c, small_bytes, MADV_DONTNEED); });
  check("MADV_DONTNEED_LOCKED", [](double* c) { return ::madvise(c, small_bytes, 24); });
  check("MADV_POPULATE_READ", [](double* c) { return ::madvise(c, small_bytes, 22); });
  check("MADV_POPULATE_WRITE", [](double* c) { return ::madvise(c, small_bytes, 23); });
  check("pkey_mprotect", [](double* c) {
    ::pkey_mprotect(c, small_bytes, PROT_READ, -1);
    return ::mprotect(c, small_bytes, PROT_READ | PROT_WRITE);
  });
  check("mlock", [](double* c) { return ::mlock(c, 16384) | ::munlock(c, 16384); });
  check("mlock2", [](double* c) { return ::mlock2(c, 16384, 0) | ::munlock(c, 16384); });
  check("mlock2 on fault", [](double* c) { return ::mlock2(c, 16384, MLOCK_ONFAULT) | ::munlock(c, 16384); });
  const int segment = ::shmget(IPC_PRIVATE, small_bytes, IPC_CREAT | 0600);
  check("shmat", [&](double* c) { return ::shmat(segment, c, SHM_REMAP) == c; });
  ::shmctl(segment, IPC_RMID, nullptr);
}

/// Memory ends in a way that nobody can notice, and other memory of the program lies at its address.
void unseen_ends() {
  double *const a = small_matrix(1), *const b = small_matrix(2), *const d = small_matrix(3);
  double* const c = mapped(small_bytes);
  small_product(a, b, c);
  ::syscall(SYS_munmap, c, small_bytes);
  double* const again = static_cast<double*>(::mmap(c, small_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  std::printf("the same place %d\n", again == c);
  fill(again, 5, small_count);
  small_product(again, b, d);
  show("again", again, small_bytes);
  show("product", d, small_bytes);
}

/// Threads with the smallest stack read results, and compute.
void small_stacks() {
  double *const a = small_matrix(1), *const b = small_matrix(2), *const c = small_matrix(3);
  target = c;
  for (const std::size_t size : {std::size_t{PTHREAD_STACK_MIN}, std::size_t{65536}}) {
    small_product(a, b, c);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, size);
    pthread_t thread;
    const auto read = [](void* at) -> void* { return *static_cast<double*>(at) = static_cast<double*>(at)[999] + 1, nullptr; };
    const auto compute = [](void* at) -> void* { return small_product(static_cast<double*>(at), static_cast<double*>(at), target), nullptr; };
    if (::pthread_create(&thread, &attributes, size < 65536 ? +read : +compute, size < 65536 ? c : a) == 0) ::pthread_join(thread, nullptr);
    show("c", c, small_bytes);
  }
}

/// Many matrices, each in pages of its own. By hand 80000: more than the kernel has mappings for.
void very_many_matrices() {
  constexpr int rows = 24;
  std::vector<double*> all;
  const char* const given = std::getenv("TEST_BLAS_MATRICES");
  for (int i = 0; i < (given == nullptr ? 2000 : std::atoi(given)); ++i) all.push_back(matrix(i, rows * rows));
  errno = 7;
  for (std::size_t i = 2; i < all.size(); ++i) gemm('N', 'N', rows, rows, rows, 0.03, all[i - 1], rows, all[i - 2], rows, 0.1, all[i], rows);
  std::printf("errno %d\n", errno);
  for (std::size_t i = 0; i < all.size(); i += 333) show("one", all[i], rows * rows * 8);
  for (double* m : all) std::free(m);
}

/// A block whose first page nobody may touch, and one of which a part is read only.
void guard_pages() {
  auto* const block = static_cast<double*>(std::aligned_alloc(4096, 4 * small_bytes));
  double *const a = block + 512, *const b = a + small_count, *const c = b + small_count;
  fill(a, 1, 2 * small_count);
  ::mprotect(block, 4096, PROT_NONE);
  small_product(a, b, c);
  show("guarded", c, small_bytes);
  ::mprotect(block, 4096 + small_bytes, PROT_READ);
  small_product(a, c, b);
  small_product(a, b, c);
  show("read only", c, small_bytes);
  ::mprotect(block, 4096 + small_bytes, PROT_READ | PROT_WRITE);
  small_product(c, b, a);
  show("writable again", a, small_bytes);
  std::free(block);
}

/// Stacks in the midst of blocks: of threads, and of coroutines.
ucontext_t main_context, coroutine;
int arguments[3];
void on_stack(int seed) {
  double a[small_count / 4], b[small_count / 4], c[small_count / 4];  // 128 KiB each
  fill(a, seed, small_count / 4);
  fill(b, seed + 1, small_count / 4);
  std::thread([&, result = &c[0]] { gemm('N', 'N', 128, 128, 128, 1, a, 128, b, 128, 0, result, 128); }).join();
  show("stack", c, sizeof c);
}
void coroutine_body(int one, int two, int three) {
  arguments[0] = one, arguments[1] = two, arguments[2] = three;
  on_stack(two);
  ::swapcontext(&coroutine, &main_context);
  on_stack(three);
}
void pooled_stacks() {
  constexpr std::size_t stack_bytes = std::size_t{1} << 20;
  auto* const pool = static_cast<double*>(std::malloc(stack_bytes + 4 * small_bytes));
  double *const b = pool, *const c = pool + small_count, *const d = pool + 2 * small_count + stack_bytes / 8;
  auto* const stack = reinterpret_cast<char*>(pool + 2 * small_count);
  fill(b, 3, small_count);
  small_product(b, b, c);
  small_product(b, c, d);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstack(&attributes, reinterpret_cast<char*>((reinterpret_cast<std::uintptr_t>(stack) + 4095) / 4096 * 4096), stack_bytes - 4096);
  pthread_t thread;
  const auto body = [](void*) -> void* { return on_stack(5), nullptr; };
  if (::pthread_create(&thread, &attributes, body, nullptr) == 0) ::pthread_join(thread, nullptr);
  show("c", c, small_bytes);

  auto* const other = static_cast<char*>(std::malloc(stack_bytes + 2 * small_bytes));
  auto* const e = reinterpret_cast<double*>(other + stack_bytes);
  small_product(b, c, e);
  ::getcontext(&coroutine);
  coroutine.uc_stack.ss_sp = other;
  coroutine.uc_stack.ss_size = stack_bytes;
  coroutine.uc_link = &main_context;
  ::makecontext(&coroutine, reinterpret_cast<void (*)()>(&coroutine_body), 3, 11, 12, 13);
  ::swapcontext(&main_context, &coroutine);
  small_product(b, e, d);
  ::swapcontext(&main_context, &coroutine);
  std::printf("%d %d %d\n", arguments[0], arguments[1], arguments[2]);
  show("d", d, small_bytes);
  std::free(other);
  std::free(pool);
}

double* pool = nullptr;
std::atomic<bool> is_stack{false};
std::thread stack_maker;
void make_stack() {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  std::printf("has become a stack %d\n", ::pthread_attr_setstack(&attributes, pool + 4 * small_count, 4 * small_bytes));
  is_stack = true;
}
/// A part of a block becomes a stack while a call makes the block an operand. Its content is sent at each call from then on.
void stack_while_adopted() {
  pool = static_cast<double*>(std::malloc(8 * small_bytes));
  fill(pool, 1, 8 * small_count);
  double *const a = pool, *const b = pool + small_count, *const c = pool + 2 * small_count;
  small_product(small_matrix(4), small_matrix(5), small_matrix(6));  // the device starts
  when_maps_are_read([] {
    stack_maker = std::thread(&make_stack);
    for (int i = 0; i < 200 && !is_stack; ++i) ::usleep(1000);  // it may have to wait for the call
  });
  small_product(a, b, c);
  if (stack_maker.joinable()) stack_maker.join();
  else make_stack();
  for (int i = 0; i < 3; ++i) small_product(a, b, c, 1);
  std::free(pool);
}

/// Libraries whose handlers run while others fork: they allocate and free.
void fork_with_handlers() {
  double *const a = small_matrix(1), *const b = small_matrix(2), *const c = small_matrix(3);
  handlers_allocate(true);
  for (int i = 0; i < 3; ++i) {
    small_product(a, b, c);
    handlers_get(small_matrix(i), small_matrix(i));
    small_product(a, c, handlers_block());
    const pid_t child = ::fork();
    if (child == 0) {
      show("child", c, small_bytes);
      small_product(a, b, c);
      std::fflush(stdout);
      ::_exit(digest(c, small_bytes) % 100);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    std::printf("%d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
  }
  handlers_allocate(false);
  show("parent", c, small_bytes);
}

double *of_thread_a, *of_thread_b, *of_thread_c;
/// What a thread does for which handlers of fork() wait, as OpenBLAS' do for its threads: it maps and ends memory, and calls BLAS.
void work_of_waited_thread() {
  void* const mapped = ::mmap(nullptr, small_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  std::memset(mapped, 1, small_bytes);
  ::munmap(mapped, small_bytes);
  double* const d = small_matrix(7);
  small_product(of_thread_a, of_thread_b, d);
  small_product(d, of_thread_b, of_thread_c);
  std::free(d);
  std::free(of_thread_a);  // which may be adopted
  of_thread_a = small_matrix(1);
}

/// Libraries whose handlers wait for threads of theirs. In the first fork the thread's call is the first one of the process.
void fork_waits_for_threads() {
  of_thread_a = small_matrix(1), of_thread_b = small_matrix(2), of_thread_c = small_matrix(3);
  handlers_wait_for(&work_of_waited_thread);
  for (int i = 0; i < 4; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      double* const c = small_matrix(4);
      small_product(of_thread_a, of_thread_b, c);
      std::_Exit(digest(c, small_bytes) == digest(c, small_bytes) && digest(of_thread_c, small_bytes) != 0 ? 3 : 4);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    std::printf("%d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
    small_product(of_thread_a, of_thread_b, of_thread_c);
    show("product", of_thread_c, small_bytes);
  }
  handlers_wait_for(nullptr);
}

/// The status of a child that this thread makes, and that ends at once.
int child_that_ends() {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(3);
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

double* of_child;
/// Handlers that fork themselves, in a thread for which they wait and in the child, where they also change mappings of operands.
void forks_in_handlers() {
  double *const a = small_matrix(1), *const b = small_matrix(2), *const c = small_matrix(3);
  of_child = small_matrix(4);
  for (int i = 0; i < 3; ++i) {
    if (i > 0) small_product(a, b, of_child);
    static std::atomic<int> ended{0};
    handlers_wait_for([] {
      static thread_local bool within = false;  // its own fork has the same handlers
      static std::atomic<int> depth{0};
      if (within || depth.fetch_add(1) > 0) return;
      within = true;
      ended += child_that_ends() == 3 ? 1 : 0;
      depth = 0;
    });
    handler_calls_in_child([] {
      handler_calls_in_child(nullptr);
      handlers_wait_for(nullptr);
      const auto page = (reinterpret_cast<std::uintptr_t>(of_child) + 4095) / 4096 * 4096;
      ::mprotect(reinterpret_cast<void*>(page), 4096, PROT_READ | PROT_WRITE);
      if (child_that_ends() != 3) ::_exit(5);
    });
    const pid_t child = ::fork();
    if (child == 0) {
      const std::uint64_t found = digest(of_child, small_bytes);
      std::free(of_child);
      ::_exit(static_cast<int>(found % 100));
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    std::printf("%d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
    handlers_wait_for(nullptr);
    handler_calls_in_child(nullptr);
    std::printf("in handlers: %d\n", ended.exchange(0));
    small_product(a, of_child, c);
    show("product", c, small_bytes);
  }
}

/// A signal's handler forks, wherever it has interrupted the program.
void forks_in_signal_handlers() {
  double *const a = small_matrix(1), *const b = small_matrix(2), *const c = small_matrix(3);
  static std::atomic<int> ended{0};
  struct sigaction action {};
  action.sa_handler = [](int) {
    const int error = errno;
    ended += child_that_ends() == 3 ? 1 : 0;
    errno = error;
  };
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGALRM, &action, nullptr);
  const itimerval often{{0, 700}, {0, 700}};
  ::setitimer(ITIMER_REAL, &often, nullptr);
  while (ended < 1500) {
    void* volatile block = std::malloc(8192);  // volatile, or the compiler leaves both out
    std::free(block);
  }
  const itimerval never{};
  ::setitimer(ITIMER_REAL, &never, nullptr);
  small_product(a, b, c);
  show("product", c, small_bytes);
}

/// Forks while another thread's first call starts the device.
void fork_while_starting() {
  double *const a = small_matrix(1), *const b = small_matrix(2), *const c = small_matrix(3), *const d = small_matrix(4), *const e = small_matrix(5),
         *const f = small_matrix(6);
  std::atomic<bool> done{false};
  std::thread first([&] {
    threads_start_slowly();
    small_product(a, b, c);
    done = true;
  });
  for (bool last = false; !last;) {
    last = done;
    std::vector<pid_t> children;
    for (int i = 0; i < 4; ++i) {
      children.push_back(::fork());
      if (children.back() == 0) {
        small_product(d, e, f);
        std::_Exit(3);
      }
    }
    for (const pid_t child : children) {
      int status = 0;
      ::waitpid(child, &status, 0);
      if (!WIFEXITED(status) || WEXITSTATUS(status) != 3) std::printf("a child ended with status %d\n", status);
    }
  }
  first.join();
  show("product", c, small_bytes);
}

/// A module and its BLAS are unloaded and loaded again, and find another place.
void modules_come_and_go() {
  double *const a = small_matrix(1), *const b = small_matrix(2), *const c = small_matrix(3), *const d = small_matrix(4);
  for (int i = 0; i < 4; ++i) {
    void* const file = ::dlopen(TEST_BLAS_MODULE, RTLD_NOW | RTLD_LOCAL);
    reinterpret_cast<void (*)(std::int64_t, const double*, const double*, double*, double*)>(::dlsym(file, "module_chain"))(100, a, b, c, d);
    show("chain", c, 80000);
    Dl_info other;
    if (::dladdr(::dlsym(file, "dgemm_64_"), &other) == 0) std::abort();
    void* const place = i % 2 == 0 ? other.dli_fbase : nullptr;
    ::dlclose(file);
    if (place == nullptr) continue;
    const bool taken = ::mmap(place, 16384, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == place;
    std::printf("its place is taken %d\n", taken);
  }
}

/// A thread computes while this one loads a library, and waits for it there.
void waiting_constructor() {
  double *const a = small_matrix(1), *const b = small_matrix(2), *const c = small_matrix(3);
  small_product(a, b, c);
  ::alarm(60);  // or it would wait for ever
  std::printf("loaded %d\n", ::dlopen(TEST_BLAS_WAITING_MODULE, RTLD_NOW) != nullptr);
  ::alarm(0);
  show("product", c, small_bytes);
}

// --- threads that end ------------------------------------------------------------------------------------------------------

/// Runs the function in a thread, and cancels it after a while.
void cancel(const char* what, void* (*function)(void*), void* argument, int microseconds) {
  pthread_t thread;
  void* result = nullptr;
  if (::pthread_create(&thread, nullptr, function, argument) != 0) std::abort();
  ::usleep(static_cast<unsigned>(microseconds));
  ::pthread_cancel(thread);
  ::pthread_join(thread, &result);
  if (microseconds == 20000) std::printf("%s: cancelled %d\n", what, result == PTHREAD_CANCELED);
}

int ends[2];
/// Threads are cancelled in calls, and while they wait for input.
void cancelled_threads() {
  double *const a = small_matrix(1), *const b = small_matrix(2), *const c = small_matrix(3);
  target = a;
  small_product(a, b, c);
  if (::pipe(ends) != 0) std::abort();
  cancel("read", [](void* to) -> void* { return ::read(ends[0], to, 1000) == 0 ? to : nullptr; }, c, 20000);
  cancel("readv", [](void* to) -> void* {
    const iovec part{to, 1000};
    return ::readv(ends[0], &part, 1) == 0 ? to : nullptr;
  }, c, 20000);
  char small[100];
  cancel("readv of other memory", [](void* to) -> void* {
    const iovec part{to, 100};
    return ::readv(ends[0], &part, 1) == 0 ? to : nullptr;
  }, small, 20000);
  for (int i = 0; i < 20; ++i) {
    cancel("product", [](void* to) -> void* {
      for (;;) {
        small_product(target, target, static_cast<double*>(to), 1);
        ::pthread_testcancel();
      }
    }, c, i == 0 ? 20000 : 997 * i);
  }
  small_product(a, b, c);
  show("product", c, small_bytes);
}

// --- ends of processes -----------------------------------------------------------------------------------------------------

double* at_end = nullptr;
/// Functions that run at the end of the process, and compute.
void late_calls() {
  at_end = small_matrix(4);
  std::atexit([] {
    small_product(at_end, at_end, at_end + 0, 0);
    show("late", at_end, small_bytes);
    double *const a = small_matrix(1), *const b = small_matrix(2), *const c = small_matrix(3);
    small_product(a, b, c);
    show("later", c, small_bytes);
    std::free(c);
    at_end = static_cast<double*>(std::realloc(at_end, 2 * small_bytes));
    show("moved", at_end, small_bytes);
  });
  double *const a = small_matrix(1), *const b = small_matrix(2), *const c = small_matrix(3);
  small_product(a, b, c);
  small_product(b, c, at_end);
}

/// Two threads end the process, one a while after the other.
void ended_twice() {
  double *const a = small_matrix(1), *const b = small_matrix(2), *const c = small_matrix(3);
  small_product(a, b, c);
  const int none = 0, one = 1;
  double sum = 0;
  for (int i = 0; i < 3000000; ++i) sum += ddot_(&none, a, &one, b, &one);
  std::printf("%g\n", sum);
  std::fflush(stdout);
  std::thread([] {
    const char* const given = std::getenv("TEST_BLAS_DELAY");
    ::usleep(given == nullptr ? 5000000 : static_cast<unsigned>(std::atoi(given)));
    std::exit(0);
  }).detach();
  std::exit(0);
}

/// The process ends while other threads compute.
void end_while_computing() {
  for (int t = 0; t < 3; ++t) {
    std::thread([t] {
      double *const a = small_matrix(t), *const b = small_matrix(2), *const c = small_matrix(3);
      for (;;) {
        small_product(a, b, c, 1);
        small_product(a, c, b);
        c[5] = 1;
      }
    }).detach();
  }
  ::usleep(50000);
  std::printf("the end\n");
}

// --- everything at once ----------------------------------------------------------------------------------------------------

std::atomic<int> ticks{0};
/// What a thread has: matrices of 32 to 95 rows, in memory of all kinds.
class Worker {
 public:
  explicit Worker(unsigned seed) : state_(seed * 2654435761u + 1) {
    for (Piece& p : pieces_) make(p);
  }
  ~Worker() {
    for (Piece& p : pieces_) end(p);
  }
  void step() {
    Piece& p = pieces_[next(pieces)];
    switch (next(16)) {
      case 0: end(p); make(p); break;
      case 1: resize(p); break;
      case 2: through_file(p); break;
      case 3: if (p.kind == Kind::mapping) lock(p); break;
      case 4: if (p.kind == Kind::mapping) drop(p); break;
      case 5: std::memmove(p.memory + 1, p.memory, p.bytes() - 8); break;
      case 6: look(p); break;
      case 7: if (next(8) == 0) in_child(p); break;
      default: compute(); break;
    }
  }
  [[nodiscard]] std::uint64_t result() {
    for (const Piece& p : pieces_) look(p);
    return sum_;
  }

 private:
  static constexpr unsigned pieces = 6;
  enum class Kind { heap, aligned, mapping };
  struct Piece {
    Kind kind;
    int rows;
    double* memory;
    [[nodiscard]] std::size_t elements() const { return static_cast<std::size_t>(rows) * static_cast<std::size_t>(rows); }
    [[nodiscard]] std::size_t bytes() const { return elements() * sizeof(double); }
  };
  unsigned next(unsigned below) {
    state_ = state_ * 1664525u + 1013904223u;
    return (state_ >> 8) % below;
  }
  void make(Piece& p) {
    p.kind = static_cast<Kind>(next(3));
    p.rows = static_cast<int>(32 + next(64));
    if (p.kind == Kind::heap) p.memory = static_cast<double*>(std::malloc(p.bytes()));
    else if (p.kind == Kind::aligned) p.memory = static_cast<double*>(std::aligned_alloc(4096, (p.bytes() + 4095) / 4096 * 4096));
    else p.memory = mapped(p.bytes());
    fill(p.memory, static_cast<int>(next(9)), p.elements());
  }
  static void end(Piece& p) {
    if (p.kind == Kind::mapping) ::munmap(p.memory, p.bytes());
    else std::free(p.memory);
  }
  void resize(Piece& p) {
    const Piece before = p;
    p.rows = static_cast<int>(32 + next(64));
    if (p.kind == Kind::mapping) p.memory = static_cast<double*>(::mremap(p.memory, before.bytes(), p.bytes(), MREMAP_MAYMOVE));
    else p.memory = static_cast<double*>(std::realloc(p.memory, p.bytes())), p.kind = Kind::heap;
    if (p.elements() > before.elements()) fill(p.memory + before.elements(), 3, p.elements() - before.elements());
  }
  void through_file(const Piece& p) {
    const int file = temporary_file();
    if (::pwrite(file, p.memory, p.bytes(), 0) != static_cast<ssize_t>(p.bytes())) std::printf("pwrite: %s\n", std::strerror(errno));
    if (::pread(file, p.memory, p.bytes() / 2, 64) != static_cast<ssize_t>(p.bytes() / 2)) std::printf("pread: %s\n", std::strerror(errno));
    ::close(file);
  }
  static void lock(const Piece& p) {
    ::mprotect(p.memory, p.bytes(), PROT_READ);
    ::mprotect(p.memory, p.bytes(), PROT_READ | PROT_WRITE);
  }
  void drop(const Piece& p) {
    ::madvise(p.memory, p.bytes(), MADV_DONTNEED);
    p.memory[next(static_cast<unsigned>(p.elements()))] = 1;
  }
  void in_child(const Piece& p) {
    const auto expected = static_cast<int>(digest(p.memory, p.bytes()) % 100);
    const pid_t child = ::fork();
    if (child == 0) ::_exit(static_cast<int>(digest(p.memory, p.bytes()) % 100));
    int status = 0;
    while (::waitpid(child, &status, 0) < 0) {
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status) != expected) std::printf("a child ended with status %d\n", status);
  }
  void look(const Piece& p) { sum_ = sum_ * 31 + digest(p.memory, p.bytes()); }
  void compute() {
    const Piece &a = pieces_[next(pieces)], &b = pieces_[next(pieces)], &c = pieces_[next(pieces)];
    const int size = std::min({a.rows, b.rows, c.rows});
    if (c.memory == a.memory || c.memory == b.memory) return;
    gemm('N', next(2) == 0 ? 'N' : 'T', size, size, size, 1e-2, a.memory, a.rows, b.memory, b.rows, next(2) * 0.5, c.memory, c.rows);
    for (double* at = c.memory; at < c.memory + c.elements(); at += 7 + next(900)) {
      if (!(std::fabs(*at) < 1e3)) *at = 1;
    }
  }
  unsigned state_;
  std::uint64_t sum_ = 0;
  std::array<Piece, pieces> pieces_;
};

void everything_at_once() {
  struct sigaction tick {};
  tick.sa_handler = [](int) { ++ticks; };
  tick.sa_flags = SA_RESTART;
  ::sigaction(SIGALRM, &tick, nullptr);
  const itimerval often{{0, 5000}, {0, 5000}};
  ::setitimer(ITIMER_REAL, &often, nullptr);
  const char* const given = std::getenv("TEST_BLAS_SEED");  // for longer runs by hand
  const unsigned seed = given == nullptr ? 0 : static_cast<unsigned>(std::atoi(given));
  std::array<std::uint64_t, 4> results{};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < results.size(); ++t) {
    threads.emplace_back([t, seed, &results] {
      Worker worker(t + 4 * seed);
      for (int i = 0; i < 600; ++i) worker.step();
      results[t] = worker.result();
    });
  }
  for (std::thread& t : threads) t.join();
  const itimerval never{};
  ::setitimer(ITIMER_REAL, &never, nullptr);
  show("results", results.data(), sizeof results);
}

}  // namespace

const Programs attacks = {
    {"waiting_constructor", &waiting_constructor},
    {"guard_pages", &guard_pages},
    {"modules_come_and_go", &modules_come_and_go},
    {"cancelled_threads", &cancelled_threads},
    {"late_calls", &late_calls},
    {"end_while_computing", &end_while_computing},
    {"ended_twice", &ended_twice},
    {"everything_at_once", &everything_at_once},
    {"unseen_ends", &unseen_ends},
    {"small_stacks", &small_stacks},
    {"very_many_matrices", &very_many_matrices},
    {"fork_while_starting", &fork_while_starting},
    {"fork_waits_for_threads", &fork_waits_for_threads},
    {"fork_with_handlers", &fork_with_handlers},
    {"forks_in_handlers", &forks_in_handlers},
    {"forks_in_signal_handlers", &forks_in_signal_handlers},
    {"io_while_computing", &io_while_computing},
    {"mappings_change", &mappings_change},
    {"pooled_stacks", &pooled_stacks},
    {"stack_while_adopted", &stack_while_adopted},
    {"mappings_that_fail", &mappings_that_fail},
    {"mappings_while_computing", &mappings_while_computing},
};

}  // namespace programs
