// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
//
// Programs that know nothing of SemCache: they call BLAS, do with their memory what programs do, and print what they see. check_programs.py
// runs each with and without semcache-run, and compares.
#include "programs.hpp"

#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

extern "C" {
void cblas_dgemm(int, int, int, int, int, int, double, const double*, int, const double*, int, double, double*, int);
void cblas_zgemm(int, int, int, int, int, int, const void*, const void*, int, const void*, int, const void*, void*, int);
void cblas_zaxpy(int, const void*, const void*, int, void*, int);
void daxpy_(const int*, const double*, const double*, const int*, double*, const int*);
double ddot_(const int*, const double*, const int*, const double*, const int*);
void drotm_(const int*, double*, const int*, double*, const int*, const double*);
bool xerbla_throws = false;
/// Takes the place of the library's, which ends the program.
[[gnu::visibility("default")]] void xerbla_(const char* routine, const int* argument, std::size_t length) {
  std::printf("xerbla: %.*s argument %d\n", static_cast<int>(std::min<std::size_t>(length, 6)), routine, *argument);
  if (xerbla_throws) throw std::invalid_argument("argument " + std::to_string(*argument));
}
}

namespace {

using namespace programs;

/// Calls the function from a place far down in the stack.
[[gnu::noinline]] void on_deep_stack(const std::function<void()>& function) {
  volatile char room[30000];
  room[0] = room[29999] = 0;
  function();
  room[1] = room[0];
}

// --- memory ----------------------------------------------------------------------------------------------------------

void freed_dies() {
  double *const a = matrix(1), *const b = matrix(2), *const c = matrix(3);
  product(a, b, c);
  std::free(c);
  std::free(b);
  std::printf("%g\n", a[5]);
  std::free(a);
}

void reused_address() {
  for (int seed : {1, 10}) {
    double *const a = matrix(seed), *const b = matrix(seed + 1), *const c = matrix(seed + 2);
    product(a, b, c);
    show("product", c);
    std::free(a);
    std::free(b);
    std::free(c);
  }
}

void realloc_grows() {
  double *const a = matrix(1), *const b = matrix(2), *c = matrix(3);
  product(a, b, c);
  c = static_cast<double*>(std::realloc(c, 5 * bytes));
  std::memset(c + count, 1, 4 * bytes);
  show("grown", c, 5 * bytes);
}

void realloc_to_small() {
  double *const a = matrix(1), *const b = matrix(2), *c = matrix(3);
  product(a, b, c);
  c = static_cast<double*>(std::realloc(c, 4000));
  show("small", c, 4000);
  c = static_cast<double*>(std::realloc(c, bytes));
  show("large again", c, 4000);
  std::free(c);
}

/// The address space of the process, and its resident memory, in bytes.
std::pair<long, long> sizes() {
  long all = 0, resident = 0;
  if (std::FILE* const f = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(f, "%ld %ld", &all, &resident) != 2) std::abort();
    std::fclose(f);
  }
  return {all * ::sysconf(_SC_PAGESIZE), resident * ::sysconf(_SC_PAGESIZE)};
}
long resident() { return sizes().second >> 20; }
long address_space() { return sizes().first; }

void sparse_calloc() {
  const std::size_t huge = std::size_t{8} << 30;
  auto* const p = static_cast<char*>(std::calloc(huge, 1));
  const long before = resident();
  for (std::size_t at = 0; at < huge; at += huge / 16) p[at] = 1;
  std::printf("%d %d less than 64 MiB: %d\n", p[huge / 16], p[huge / 16 + 1], resident() - before < 64);
  std::free(p);
}

void allocation_functions() {
  void* p = nullptr;
  for (const std::size_t alignment : {std::size_t{64}, std::size_t{4096}, std::size_t{1} << 22}) {
    std::printf("%d ", ::posix_memalign(&p, alignment, bytes));
    std::printf("%d ", reinterpret_cast<std::uintptr_t>(p) % alignment == 0);
    std::memset(p, 1, bytes);
    std::free(p);
    p = std::aligned_alloc(alignment, 4 * bytes);
    std::printf("%d ", reinterpret_cast<std::uintptr_t>(p) % alignment == 0);
    std::free(p);
    p = ::memalign(alignment, bytes);
    std::printf("%d %d\n", reinterpret_cast<std::uintptr_t>(p) % alignment == 0, ::malloc_usable_size(p) >= bytes);
    std::free(p);
  }
  std::printf("wrong alignment %d\n", ::posix_memalign(&p, 24, bytes));
  errno = 0;
  volatile std::size_t most = PTRDIFF_MAX;
  void* const too_large = std::malloc(most);
  std::printf("too large %d %d\n", too_large == nullptr, errno == ENOMEM);
  volatile std::size_t half = SIZE_MAX / 2;
  void* const overflow = std::calloc(half, 3);
  std::printf("overflow %d\n", overflow == nullptr);
  auto* const zeros = static_cast<char*>(std::calloc(bytes, 1));
  std::printf("zeros %d\n", static_cast<int>(std::count(zeros, zeros + bytes, 0)));
  std::free(zeros);
  std::free(nullptr);
  void* const none = std::realloc(nullptr, bytes);
  std::printf("realloc of nothing %d\n", none != nullptr);
  auto* const grown = static_cast<char*>(::reallocarray(none, 3, bytes));
  grown[3 * bytes - 1] = 1;
  void* const valloced = ::valloc(bytes);
  std::memset(valloced, 1, bytes);
  std::free(valloced);
  errno = 5;
  std::free(grown);
  std::printf("errno %d\n", errno);
}

void freed_by_other_threads() {
  double *const a = matrix(1), *const b = matrix(2);
  std::vector<std::thread> threads;
  std::vector<std::uint64_t> digests(4);
  for (std::size_t t = 0; t < digests.size(); ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 10; ++i) {
        double* c = matrix(static_cast<int>(t));
        product(a, b, c, 1);
        if (i % 2 == 0) digests[t] += digest(c, bytes);
        std::thread([c] { std::free(c); }).join();
      }
    });
  }
  for (std::thread& t : threads) t.join();
  show("digests", digests.data(), digests.size() * 8);
}

// --- freed blocks that are kept --------------------------------------------------------------------------------------

/// Frees three matrices, which then were used by a call.
void use_and_free() {
  double *const a = matrix(1), *const b = matrix(2), *const c = matrix(3);
  product(a, b, c);
  for (double* const m : {a, b, c}) std::free(m);
}

/// The first ones that are freed are kept in the room of the last ones, and only for requests of like size.
void kept_blocks_serve() {
  use_and_free();
  use_and_free();
  auto* const smaller = static_cast<char*>(std::malloc(bytes - bytes / 16));
  auto* const much_smaller = static_cast<char*>(std::malloc(bytes - bytes / 4));
  auto* const larger = static_cast<char*>(std::malloc(bytes + 1));
  void* aligned = nullptr;
  std::printf("%d\n", ::posix_memalign(&aligned, 4096, bytes));
  auto* const zeros = static_cast<char*>(std::calloc(bytes, 1));
  std::printf("%d\n", static_cast<int>(std::count(zeros, zeros + bytes, 0)));
  for (char* const m : {smaller, much_smaller, larger, static_cast<char*>(aligned)}) std::memset(m, 1, bytes / 2);
  double* const c = matrix(5);
  product(static_cast<double*>(std::memcpy(aligned, c, bytes)), matrix(6), c);
  show("product", c);
  use_and_free();
}

/// Each function of the C library that gets memory has what kept blocks took. The limit leaves as much again as half of them.
void kept_blocks_when_memory_is_short() {
  const std::size_t size = 3 * bytes;
  const std::function<void*()> functions[] = {
      [] { return std::malloc(size); },
      [] { return std::calloc(size, 1); },
      [] { return std::realloc(std::malloc(100), size); },
      [] { return std::realloc(std::malloc(bytes), size); },
      [] { return std::aligned_alloc(4096, size); },
      [] { return ::memalign(4096, size); },
      [] {
        void* at = nullptr;
        return ::posix_memalign(&at, 4096, size) == 0 ? at : nullptr;
      },
      [] { return static_cast<void*>(mapped(size)); },
  };
  ::mallopt(M_MMAP_THRESHOLD, 1 << 20);
  use_and_free();  // starts the device
  for (const auto& get : functions) {
    (void)::malloc_trim(0);
    const rlim_t most = static_cast<rlim_t>(address_space()) + size + size / 2;
    use_and_free();
    const rlimit limit{most, RLIM_INFINITY}, unlimited{RLIM_INFINITY, RLIM_INFINITY};
    if (::setrlimit(RLIMIT_AS, &limit) != 0) std::abort();
    void* const at = get();
    if (::setrlimit(RLIMIT_AS, &unlimited) != 0) std::abort();
    std::printf("%d\n", at != nullptr);
  }
  use_and_free();
  (void)::malloc_trim(0);
  show("after malloc_trim", matrix(4));
}

void kept_blocks_and_processes() {
  std::atexit([] {
    double* const m = matrix(10);
    show("when the runtime has ended", m);
    std::free(m);
  });
  use_and_free();
  std::fflush(stdout);
  if (const pid_t child = ::fork(); child == 0) {
    for (int i = 0; i < 2; ++i) {
      double* const m = matrix(7);
      show("child", m);
      product(m, m, matrix(8));
      std::free(m);
    }
    std::fflush(stdout);
    ::_exit(0);
  } else {
    ::waitpid(child, nullptr, 0);
  }
  double* const c = matrix(3);
  product(matrix(1), matrix(2), c);
  show("parent", c);
  std::atexit([] {
    double* const m = matrix(9);
    show("at the end", m);
    std::free(m);
  });
  use_and_free();
}

/// Blocks that others must not get: one that children do not have, and one that was a stack.
void blocks_that_are_not_kept() {
  double *const a = matrix(1), *const b = matrix(2), *const c = matrix(3);
  product(a, b, c);
  ::madvise(a, bytes, MADV_DONTFORK);
  product(a, b, c);
  std::free(a);
  const stack_t stack{b, 0, bytes}, none{nullptr, SS_DISABLE, 0};
  ::sigaltstack(&stack, nullptr);
  ::sigaltstack(&none, nullptr);
  product(c, c, matrix(2));
  std::free(b);
  double *const d = matrix(3), *const e = matrix(4);
  std::fflush(stdout);
  if (const pid_t child = ::fork(); child == 0) {
    show("child", d);
    show("child", e);
    std::fflush(stdout);
    ::_exit(0);
  } else {
    int status = -1;
    ::waitpid(child, &status, 0);
    std::printf("%d\n", status);
  }
}

/// Threads pass blocks to each other while they compute.
void kept_blocks_of_threads() {
  std::mutex mutex;
  std::vector<double*> passed;
  std::vector<std::uint64_t> digests(4);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < digests.size(); ++t) {
    threads.emplace_back([&, t] {
      double *const a = matrix(1), *const b = matrix(2);
      for (int i = 0; i < 12; ++i) {
        double* const c = matrix(static_cast<int>(t) + 3);
        product(a, b, c, 1);
        if (i % 3 == 0) digests[t] += digest(c, bytes);
        const std::lock_guard<std::mutex> lock(mutex);
        passed.push_back(c);
        if (passed.size() > 2) {
          std::free(passed.front());
          passed.erase(passed.begin());
        }
      }
      std::free(a);
      std::free(b);
    });
  }
  for (std::thread& t : threads) t.join();
  show("digests", digests.data(), digests.size() * 8);
}

// --- memory that is adopted in place: blocks below 1 MiB, statics, mappings ----------------------------------------------

void chain_in_place() {
  double *const a = small_matrix(1), *const b = small_matrix(2), *const c = small_matrix(3);
  for (int i = 0; i < 4; ++i) {
    small_product(a, b, c);
    small_product(b, c, a);
  }
  show("a", a, small_bytes);
  std::free(b);
  std::free(c);
}

alignas(4096) double static_a[small_count], static_b[small_count], static_c[small_count];
void statics() {
  for (std::size_t i = 0; i < small_count; ++i) static_a[i] = std::sin(static_cast<double>(i)), static_b[i] = std::cos(static_cast<double>(i));
  for (int i = 0; i < 4; ++i) {
    small_product(static_a, static_b, static_c);
    small_product(static_b, static_c, static_a);
  }
  show("statics", static_a, small_bytes);
}

/// Neighbours on the pages of an operand's ends, and a lock among them.
void neighbours() {
  struct Pair {
    double before[3];
    double a[small_count];
    double between[5];
    double c[small_count];
    double behind[7];
  };
  auto* const p = static_cast<Pair*>(std::calloc(1, sizeof(Pair)));
  double* const b = small_matrix(2);
  std::copy_n(small_matrix(1), small_count, p->a);
  bool stop = false;
  std::mutex mutex;
  std::thread other([&] {
    for (;;) {
      const std::lock_guard<std::mutex> lock(mutex);
      if (stop) return;
      p->before[1] += 1;
      p->between[2] += 1;
      p->behind[0] += 1;
    }
  });
  for (int i = 0; i < 10; ++i) {
    small_product(p->a, b, p->c);
    small_product(p->c, b, p->a);
    p->a[i] = 1;
  }
  {
    const std::lock_guard<std::mutex> lock(mutex);
    stop = true;
  }
  other.join();
  show("a", p->a, small_bytes);
  std::printf("%d\n", p->before[1] == p->between[2] && p->between[2] == p->behind[0]);
}

/// Blocks that come and go at the same addresses, with other data.
void reused_small() {
  double* const a = small_matrix(1);
  for (int i = 0; i < 20; ++i) {
    double *b = small_matrix(i), *const c = small_matrix(3);
    small_product(a, b, c);
    if (i % 3 == 0) b = static_cast<double*>(std::realloc(b, small_bytes + 8 * i));
    if (i % 3 == 1) c[i] = b[i];
    small_product(b, c, a);
    a[0] = 1;
    for (std::size_t k = 0; k < small_count; ++k) a[k] = std::fmod(a[k], 3);
    std::free(c);
    std::free(b);
  }
  show("a", a, small_bytes);
}

void mappings_end() {
  double *const a = small_matrix(1), *const b = small_matrix(2);
  double* c = mapped(small_bytes);
  small_product(a, b, c);
  small_product(b, a, c);
  ::munmap(c, small_bytes);  // its content is never seen
  for (int i = 0; i < 3; ++i) {
    c = mapped(small_bytes);
    small_product(a, b, c);
    show("mapped", c, small_bytes);
    small_product(b, a, c);
    ::munmap(c, small_bytes / 2);
    show("half", c + small_count / 2, small_bytes / 2);
    ::munmap(c + small_count / 2, small_bytes / 2);
  }
}

void mappings_move() {
  double *const a = small_matrix(1), *const b = small_matrix(2);
  double* c = mapped(small_bytes);
  small_product(a, b, c);
  c = static_cast<double*>(::mremap(c, small_bytes, 64 * small_bytes, MREMAP_MAYMOVE));
  show("moved", c, small_bytes);
  small_product(b, c, a);
  show("used there", a, small_bytes);
  double* const d = mapped(small_bytes);
  small_product(a, b, d);
  ::madvise(d, small_bytes, MADV_DONTNEED);
  std::printf("dropped: %g %g\n", d[0], d[small_count - 1]);
  small_product(a, b, d);
  ::mprotect(d, small_bytes, PROT_READ);
  show("read-only", d, small_bytes);
  ::mprotect(d, small_bytes, PROT_READ | PROT_WRITE);
  small_product(a, b, d);
  (void)::mmap(d, small_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  std::printf("mapped anew: %g %g\n", d[0], d[small_count - 1]);
  small_product(a, b, d);
  show("product", d, small_bytes);
}

void shared_mappings() {
  double *const a = small_matrix(1), *const b = small_matrix(2);
  auto* const c = static_cast<double*>(::mmap(nullptr, small_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  small_product(a, b, c);
  std::fflush(stdout);
  if (const pid_t child = ::fork(); child == 0) {
    c[0] = 5;
    ::_exit(0);
  } else {
    ::waitpid(child, nullptr, 0);
  }
  small_product(b, c, a);
  show("shared", a, small_bytes);
}

/// Calls the function in a thread whose stack is a block of the heap.
void on_heap_stack(std::size_t size, void (*function)()) {
  void* const memory = std::aligned_alloc(4096, size);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstack(&attributes, memory, size);
  pthread_t thread;
  const auto call = [](void* f) -> void* { return reinterpret_cast<void (*)()>(f)(), nullptr; };
  if (pthread_create(&thread, &attributes, call, reinterpret_cast<void*>(function)) == 0) pthread_join(thread, nullptr);
  std::free(memory);
}

/// Operands on stacks: of the program, of a thread, and on a block of the heap that is a thread's stack.
void stacks() {
  const auto work = [] {
    double a[small_count / 4], b[small_count / 4], c[small_count / 4];  // 128 KiB each
    for (std::size_t i = 0; i < small_count / 4; ++i) a[i] = static_cast<double>(i % 7), b[i] = static_cast<double>(i % 5);
    for (int i = 0; i < 3; ++i) {
      gemm('N', 'N', 128, 128, 128, 1, a, 128, b, 128, 0, c, 128);
      gemm('N', 'N', 128, 128, 128, 1e-3, b, 128, c, 128, 0, a, 128);
    }
    show("stack", a, sizeof a);
  };
  work();
  std::thread(work).join();
  on_heap_stack(std::size_t{900} << 10, work);
}

/// Overlapping operands of different sizes in one block, one after the other.
void growing_operands() {
  double *const a = small_matrix(1), *const b = small_matrix(2), *const c = small_matrix(3);
  for (int size : {100, 150, 120, 200, 240}) {
    gemm('N', 'N', size, size, size, 0.1, a + 11, small_n, b + 600, size, 0.5, c, size);
    gemm('N', 'T', size, size, 30, 0.1, c + 64, size, b, size, 0, a + 5, small_n);
  }
  show("a", a, small_bytes);
  show("c", c, small_bytes);
}

void many_small_matrices() {
  std::vector<double*> all;
  for (int i = 0; i < 3000; ++i) all.push_back(matrix(i, 40 * 40));
  for (std::size_t i = 2; i < all.size(); ++i) gemm('N', 'N', 40, 40, 40, 0.03, all[i - 1], 40, all[i - 2], 40, 0.1, all[i], 40);
  show("last", all.back(), 40 * 40 * 8);
  for (double* m : all) std::free(m);
}

// --- arguments -------------------------------------------------------------------------------------------------------

void nothing_to_compute() {
  double *const a = matrix(1), *const b = matrix(2), *const c = matrix(3);
  gemm('N', 'N', 0, n, n, 1, a, n, b, n, 0, c, n);
  gemm('N', 'N', n, 0, n, 1, a, n, b, n, 0, c, n);
  gemm('N', 'N', n, n, 0, 1, a, n, b, n, 1, c, n);
  gemm('N', 'N', n, n, n, 0, a, n, b, n, 1, c, n);
  gemm('N', 'N', 0, 0, 0, 1, nullptr, 1, nullptr, 1, 0, nullptr, 1);
  gemm('N', 'N', 0, n, n, 1, nullptr, n, nullptr, n, 0, nullptr, n);
  show("unchanged", c);
}

void wrong_arguments() {
  double *const a = matrix(1), *const b = matrix(2), *const c = matrix(3);
  gemm('X', 'N', n, n, n, 1, a, n, b, n, 0, c, n);
  gemm('N', 'Y', n, n, n, 1, a, n, b, n, 0, c, n);
  gemm('N', 'N', -1, n, n, 1, a, n, b, n, 0, c, n);
  gemm('N', 'N', n, n, n, 1, a, n - 1, b, n, 0, c, n);
  gemm('T', 'N', n, n, n, 1, a, n - 1, b, n, 0, c, n);
  gemm('N', 'N', n, n, n, 1, a, n, b, n, 0, c, 3);
  show("unchanged", c);
}

/// The program's xerbla throws, past the library and its wrapper. Calls from further down in the stack are offloaded afterwards.
void throwing_xerbla() {
  double *const a = matrix(1), *const b = matrix(2), *const c = matrix(3);
  const int one = 1;
  xerbla_throws = true;
  const auto caught = [](const char* what, const std::function<void()>& call) {
    try {
      call();
    } catch (const std::exception& e) {
      std::printf("%s: %s, uncaught %d\n", what, e.what(), std::uncaught_exceptions());
    }
  };
  for (int i = 0; i < 3; ++i) {
    caught("dgemm", [&] { gemm('X', 'N', n, n, n, 1, a, n, b, n, 0, c, n); });
    on_deep_stack([&] { product(a, b, c); });
    caught("a null pointer", [&] { dgemm_("N", "X", &one, &one, &one, nullptr, a, &one, a, &one, nullptr, a, &one, 1, 1); });
    on_deep_stack([&] { product(b, c, a); });
    std::thread([&] { caught("in a thread", [&] { gemm('N', 'N', n, n, n, 1, a, 3, b, n, 0, c, n); }); }).join();
  }
  show("product", a);
}

/// Null pointers in the place of numbers that a routine does not look at, because a size is zero or another argument is wrong.
void null_numbers() {
  double* const a = matrix(1);
  const int none = 0, one = 1, negative = -1;
  dgemm_("N", "N", &none, &one, &one, nullptr, a, &one, a, &one, nullptr, a, &one, 1, 1);
  dgemm_("X", "N", &one, &one, &one, nullptr, a, &one, a, &one, nullptr, a, &one, 1, 1);
  dgemm_("N", "N", &negative, &one, &one, nullptr, a, &one, a, &one, nullptr, a, &one, 1, 1);
  cblas_zgemm(102, 111, 111, 0, 1, 1, nullptr, a, 1, a, 1, nullptr, a, 1);
  cblas_zaxpy(0, nullptr, nullptr, 1, nullptr, 1);
  daxpy_(&none, nullptr, nullptr, nullptr, nullptr, nullptr);
  drotm_(&none, nullptr, nullptr, nullptr, nullptr, nullptr);
  std::printf("%g\n", ddot_(&none, nullptr, nullptr, nullptr, nullptr));
  show("unchanged", a);
}

void overlapping() {
  double *const a = matrix(1), *const b = matrix(2);
  product(a, b, a, 1);  // whatever the library makes of it
  show("overlapping", b);
}

/// Sub-matrices, transposes, leading dimensions, both orders of C, several operands in one block.
void all_shapes() {
  double* const all = matrix(4, 3 * count);
  double* const result = matrix(5);
  for (const char ta : {'N', 'T', 'c'}) {
    for (const char tb : {'n', 'T', 'C'}) {
      for (const double beta : {0.0, 1.0, -0.5}) {
        gemm(ta, tb, 100, 70, 90, 0.7, all + 7, n, all + count + 13, n, beta, result + 3, n);
        gemm(ta, tb, 33, 70, 20, 0.7, all + 7, n + 1, all + 101, n, beta, all + 2 * count + 5, n);
      }
    }
  }
  for (const int order : {101, 102}) {
    for (const int ta : {111, 112}) {
      for (const int tb : {111, 113}) cblas_dgemm(order, ta, tb, 60, 80, 50, 1.5, result + 9, 200, all + 1, 199, 0.5, all + 2 * count, 128);
    }
  }
  gemm('N', 'N', n, n, n, 0, nullptr, n, nullptr, n, 0.5, result, n);
  gemm('N', 'N', n, 1, n, 1, all, n, all + count, n, 0, result, n);
  show("block", all, 3 * bytes);
  show("result", result);
}

void small_on_stack() {
  double a[64], b[64], c[64];
  for (int i = 0; i < 64; ++i) a[i] = i, b[i] = 2 * i;
  gemm('N', 'N', 8, 8, 8, 1, a, 8, b, 8, 0, c, 8);
  show("stack", c, sizeof c);
}

void nan_and_beta_zero() {
  double *const a = matrix(1), *const b = matrix(2), *const c = matrix(3);
  std::fill(c, c + count, std::numeric_limits<double>::quiet_NaN());
  product(a, b, c, 0);
  std::printf("NaN in C is not read: %d\n", std::none_of(c, c + count, [](double v) { return std::isnan(v); }));
  a[7] = std::numeric_limits<double>::infinity();
  b[9] = std::numeric_limits<double>::quiet_NaN();
  product(a, b, c, 1);
  std::printf("%d\n", static_cast<int>(std::count_if(c, c + count, [](double v) { return std::isfinite(v); })));
}

// --- processes, threads, files -----------------------------------------------------------------------------------------

void fork_uses_operands() {
  double *const a = matrix(1), *const b = matrix(2), *const c = matrix(3);
  product(a, b, c);
  for (int i = 0; i < 3; ++i) {
    std::fflush(stdout);
    const pid_t child = ::fork();
    if (child == 0) {
      show("child", c);
      product(b, c, a);
      show("computed by the child", a);
      std::free(b);
      double* const more = matrix(7);
      product(a, c, more);
      show("more of the child", more);
      std::fflush(stdout);
      ::_exit(3);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    std::printf("%d\n", WEXITSTATUS(status));
    product(b, c, a);
    std::swap(a[1], c[1]);
  }
  show("parent", a);
}

void threads_with_tiles() {
  double *const a = matrix(1), *const b = matrix(2), *const c = matrix(3);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([=] {
      double* const tile = c + std::size_t{static_cast<std::size_t>(t)} * n * (n / 4);
      for (int i = 0; i < 8; ++i) gemm('N', 'N', n, n / 4, n, 1e-2, a, n, b + (tile - c), n, 0.5, tile, n);
    });
  }
  for (std::thread& t : threads) t.join();
  show("tiles", c);
}

/// Threads take turns: each computes from the result of the one before it, which is in another stream, and overwrites what that one reads.
void threads_in_turn() {
  double* const m[] = {matrix(1), matrix(2), matrix(3)};
  std::mutex mutex;
  std::condition_variable passed;
  int turn = 0;
  constexpr int threads = 6, rounds = 5;
  std::vector<std::thread> all;
  for (int t = 0; t < threads; ++t) {
    all.emplace_back([&, t] {
      for (int round = 0; round < rounds; ++round) {
        std::unique_lock<std::mutex> lock(mutex);
        const int mine = round * threads + t;
        passed.wait(lock, [&] { return turn == mine; });
        gemm('N', 'N', n, n, n, 0.06, m[mine % 3], n, m[(mine + 1) % 3], n, 0, m[(mine + 2) % 3], n);
        if (mine % 7 == 0) m[mine % 3][mine] = mine;
        turn = mine + 1;
        passed.notify_all();
      }
    });
  }
  for (std::thread& t : all) t.join();
  for (const double* const result : m) show("in turn", result);
}

void input_and_output() {
  double *const a = matrix(1), *const b = matrix(2), *const c = matrix(3);
  std::FILE* const file = std::tmpfile();
  product(a, b, c);
  std::printf("%zu\n", std::fwrite(c, 1, bytes, file));
  std::rewind(file);
  product(b, c, a);
  std::printf("%zu\n", std::fread(a, 1, bytes, file));
  product(a, b, c);
  show("read", a);
  int ends[2];
  if (::pipe(ends) != 0) std::abort();
  std::thread reader([&] {
    std::size_t done = 0;
    while (done < bytes) {
      const ssize_t got = ::read(ends[0], reinterpret_cast<char*>(a) + done, bytes - done);
      if (got <= 0) break;
      done += static_cast<std::size_t>(got);
    }
  });
  std::size_t sent = 0;
  while (sent < bytes) {
    const ssize_t put = ::write(ends[1], reinterpret_cast<const char*>(c) + sent, bytes - sent);
    if (put <= 0) break;
    sent += static_cast<std::size_t>(put);
  }
  reader.join();
  std::printf("%zu %d\n", sent, std::memcmp(a, c, bytes));
  product(a, b, c);
  show("product", c);
}

// --- libraries -----------------------------------------------------------------------------------------------------------

/// A module that has brought a BLAS of its own, with other names.
void local_library() {
  double *const a = matrix(1), *const b = matrix(2), *const c = matrix(3), *const d = matrix(4);
  void* const file = ::dlopen(TEST_BLAS_MODULE, RTLD_NOW | RTLD_LOCAL);
  if (file == nullptr) {
    std::printf("%s\n", ::dlerror());
    std::abort();
  }
  const auto chain = reinterpret_cast<void (*)(std::int64_t, const double*, const double*, double*, double*)>(::dlsym(file, "module_chain"));
  chain(160, a, b, c, d);
  show("chain of the module", c);
  product(a, b, c);  // by the program's own
  show("product of the program", c);
}

/// Modules go to the library that the loader has chosen for them: one that is there for all when they come, or their own.
void which_library() {
  const auto tell = [](void* module) {
    double results[2] = {};
    reinterpret_cast<void (*)(double*)>(::dlsym(module, "call_both"))(results);
    std::printf("dgemm_ %g, daxpy_64_ %g\n", results[0], results[1]);
  };
  void* const module = ::dlopen(TEST_BLAS_CALLING_MODULE, RTLD_NOW | RTLD_LOCAL);
  tell(module);
  if (::dlopen(TEST_BLAS_THIRD, RTLD_NOW | RTLD_GLOBAL) == nullptr) std::abort();
  tell(module);
  tell(::dlopen(TEST_BLAS_LATE_CALLING_MODULE, RTLD_NOW | RTLD_LOCAL));
}

// --- signals -------------------------------------------------------------------------------------------------------------

sigjmp_buf back;
volatile sig_atomic_t crashes = 0, late_crashes = 0;
const double* read_by_handler = nullptr;
volatile double seen = 0;

void jump_out(int, siginfo_t*, void*) {
  crashes = crashes + 1;
  siglongjmp(back, 1);
}
void jump_out_late(int) {
  late_crashes = late_crashes + 1;
  siglongjmp(back, 1);
}
void read_result(int) { seen = read_by_handler[count / 2]; }
/// Touches memory that nobody may touch. Its handler jumps back.
void touch_forbidden() {
  static void* const closed = ::mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (sigsetjmp(back, 1) == 0) *static_cast<volatile char*>(closed) = 1;
}

void signal_handlers() {
  double *const a = matrix(1), *const b = matrix(2), *const c = matrix(3);
  struct sigaction action {}, before {};
  action.sa_sigaction = &jump_out;
  action.sa_flags = SA_SIGINFO;
  sigfillset(&action.sa_mask);
  ::sigaction(SIGSEGV, &action, nullptr);
  touch_forbidden();
  product(a, b, c);
  touch_forbidden();
  show("a handler from before", c);
  product(a, c, b);
  struct sigaction late {};
  late.sa_handler = &jump_out_late;
  ::sigaction(SIGSEGV, &late, &before);
  std::printf("%d\n", before.sa_sigaction == &jump_out);
  touch_forbidden();
  show("a handler from after", b);
  product(a, b, c);
  std::printf("%d\n", ::signal(SIGSEGV, SIG_DFL) == &jump_out_late);
  show("no handler", c);
  ::sigaction(SIGSEGV, &before, nullptr);
  product(a, b, c);
  touch_forbidden();
  ::sigaction(SIGSEGV, nullptr, &before);
  std::printf("%d %d %d\n", before.sa_sigaction == &jump_out, static_cast<int>(crashes), static_cast<int>(late_crashes));

  sigset_t all;
  sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
  show("signals are blocked", c);
  sigset_t none;
  sigemptyset(&none);
  ::pthread_sigmask(SIG_SETMASK, &none, nullptr);

  product(a, b, c);
  read_by_handler = c;
  std::vector<char> stack(64 * 1024);
  const stack_t other{stack.data(), 0, stack.size()};
  ::sigaltstack(&other, nullptr);
  struct sigaction user {};
  user.sa_handler = &read_result;
  user.sa_flags = SA_ONSTACK;
  sigfillset(&user.sa_mask);
  ::sigaction(SIGUSR1, &user, nullptr);
  ::raise(SIGUSR1);
  std::printf("%g\n", static_cast<double>(seen));
}

void real_crash() {
  double *const a = matrix(1), *const b = matrix(2), *const c = matrix(3);
  product(a, b, c);
  show("product", c);
  std::fflush(stdout);
  *static_cast<volatile char*>(::mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) = 1;
}

/// A thread whose stack is a large block of the heap, and operands there.
void large_stack() {
  on_heap_stack(std::size_t{8} << 20, [] {
    double a[small_count], b[small_count], c[small_count];
    for (std::size_t i = 0; i < small_count; ++i) a[i] = static_cast<double>(i % 7), b[i] = static_cast<double>(i % 5);
    small_product(a, b, c);
    double* inner = c;
    std::thread([&] { small_product(b, inner, a); }).join();
    show("stack", a, sizeof a);
  });
}

/// Buffers that go beyond the operands in them, in calls that take them at once.
void io_beyond_operands() {
  double *const block = matrix(1, 3 * small_count), *const b = small_matrix(2), *const c = block + small_count;
  char name[] = "/tmp/test_blas_XXXXXX";
  const int file = ::mkstemp(name);
  ::unlink(name);
  const std::size_t all = 3 * small_bytes;
  small_product(block, b, c);
  std::printf("pwrite %zd\n", ::pwrite(file, block, all, 0));
  small_product(block, b, c);
  const iovec parts[] = {{block, small_bytes + 800}, {block + small_count + 100, 2 * small_bytes - 800}};
  std::printf("pwritev2 %zd\n", ::pwritev2(file, parts, 2, static_cast<off_t>(all), 0));
  small_product(b, block, c);
  std::printf("pread %zd\n", ::pread(file, c + 5, small_bytes, 64));
  show("read", block, all);
  small_product(b, block, c);
  std::printf("preadv2 %zd\n", ::preadv2(file, parts, 2, 0, 0));
  show("read", block, all);
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) != 0) std::abort();
  small_product(b, block, c);
  iovec message[] = {{c, 50000}, {b, 20000}};
  msghdr header{};
  header.msg_iov = message;
  header.msg_iovlen = 2;
  std::printf("sendmsg %zd\n", ::sendmsg(ends[0], &header, 0));
  small_product(block, b, c);
  std::printf("recvmsg %zd\n", ::recvmsg(ends[1], &header, 0));
  show("received", c, small_bytes);
  show("b", b, small_bytes);
}

const Programs all_programs = {
    {"io_beyond_operands", &io_beyond_operands},
    {"local_library", &local_library},
    {"which_library", &which_library},
    {"signal_handlers", &signal_handlers},
    {"real_crash", &real_crash},
    {"large_stack", &large_stack},
    {"freed_dies", &freed_dies},
    {"reused_address", &reused_address},
    {"realloc_grows", &realloc_grows},
    {"realloc_to_small", &realloc_to_small},
    {"sparse_calloc", &sparse_calloc},
    {"allocation_functions", &allocation_functions},
    {"freed_by_other_threads", &freed_by_other_threads},
    {"kept_blocks_serve", &kept_blocks_serve},
    {"kept_blocks_when_memory_is_short", &kept_blocks_when_memory_is_short},
    {"kept_blocks_and_processes", &kept_blocks_and_processes},
    {"blocks_that_are_not_kept", &blocks_that_are_not_kept},
    {"kept_blocks_of_threads", &kept_blocks_of_threads},
    {"chain_in_place", &chain_in_place},
    {"statics", &statics},
    {"neighbours", &neighbours},
    {"reused_small", &reused_small},
    {"mappings_end", &mappings_end},
    {"mappings_move", &mappings_move},
    {"shared_mappings", &shared_mappings},
    {"stacks", &stacks},
    {"growing_operands", &growing_operands},
    {"many_small_matrices", &many_small_matrices},
    {"nothing_to_compute", &nothing_to_compute},
    {"wrong_arguments", &wrong_arguments},
    {"null_numbers", &null_numbers},
    {"throwing_xerbla", &throwing_xerbla},
    {"overlapping", &overlapping},
    {"all_shapes", &all_shapes},
    {"small_on_stack", &small_on_stack},
    {"nan_and_beta_zero", &nan_and_beta_zero},
    {"fork_uses_operands", &fork_uses_operands},
    {"threads_with_tiles", &threads_with_tiles},
    {"threads_in_turn", &threads_in_turn},
    {"input_and_output", &input_and_output},
};

}  // namespace

int main(int argument_count, char** arguments) {
  const std::string name = argument_count > 1 ? arguments[1] : "";
  for (const Programs* of : {&all_programs, &attacks, &first_calls, &memory_attacks, &signal_attacks}) {
    if (const auto program = of->find(name); program != of->end()) {
      program->second();
      return 0;
    }
  }
  for (const Programs* of : {&all_programs, &attacks, &first_calls, &memory_attacks, &signal_attacks}) {
    for (const auto& p : *of) std::printf("%s\n", p.first.c_str());
  }
  return 2;
}
