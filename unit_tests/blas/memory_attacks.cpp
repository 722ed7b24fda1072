// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
//
// What programs do with the memory of operands: it grows, ends, changes its kind, belongs to libraries and threads that end, and rows of matrices are
// exchanged between calls.
#include "programs.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <utility>
#include <vector>

extern char** environ;

namespace programs {
namespace {

constexpr std::size_t page = 4096;

void show_small(const char* what, const double* m) { show(what, m, small_bytes); }

/// HPL's pattern: the device updates a matrix, the host exchanges rows, the device updates again. TEST_BLAS_SWAPS: how many rows, and in how many of
/// the 512 columns.
void row_swaps() {
  constexpr int rows = 2048, columns = 512, width = 32;
  int swaps = 0, of_columns = 0;
  if (const char* const given = std::getenv("TEST_BLAS_SWAPS")) std::sscanf(given, "%d %d", &swaps, &of_columns);
  constexpr std::size_t elements = std::size_t{rows} * columns;
  double *const a = matrix(1, elements), *const x = matrix(2, std::size_t{rows} * width), *const y = matrix(3, std::size_t{width} * columns);
  const auto update = [&] { gemm('N', 'N', rows, columns, width, -1, x, rows, y, width, 1, a, rows); };
  update();
  for (int j = 0; j < of_columns; ++j) {
    for (int i = 0; i < swaps; ++i) std::swap(a[i + std::size_t{rows} * j], a[(i * 617 + 700) % rows + std::size_t{rows} * j]);
  }
  update();
  show("exchanged rows", a, elements * sizeof *a);
}

// ---- blocks

void growing_blocks() {
  const double *const a = small_matrix(1), *const b = small_matrix(2);
  for (int round = 0; round < 2; ++round) {
    std::size_t elements = 64;
    auto* c = static_cast<double*>(std::malloc(elements * sizeof(double)));
    fill(c, 3, elements);
    while (elements < 3 * count) {
      const std::size_t more = elements + elements / 2;
      c = static_cast<double*>(std::realloc(c, more * sizeof(double)));
      fill(c + elements, round, more - elements);
      elements = more;
      const int rows = std::min(small_n, static_cast<int>(elements / small_n));
      if (rows > 0) gemm('N', 'N', rows, small_n, small_n, 1, a, small_n, b, small_n, 0.5, c, rows);
    }
    show("grown", c, elements * sizeof(double));
    while (elements > 64) {
      elements /= 2;
      c = static_cast<double*>(std::realloc(c, elements * sizeof(double)));
      const int rows = std::min(small_n, static_cast<int>(elements / small_n));
      if (rows > 0) gemm('N', 'T', rows, small_n, small_n, 1e-3, a, small_n, b, small_n, 0.5, c, rows);
    }
    show("shrunk", c, elements * sizeof(double));
    std::free(c);
  }
}

void aligned_blocks() {
  const double *const a = small_matrix(1), *const b = small_matrix(2);
  for (const std::size_t alignment : {std::size_t{64}, page, std::size_t{1} << 16, std::size_t{1} << 21, std::size_t{1} << 26}) {
    void* at = nullptr;
    if (::posix_memalign(&at, alignment, small_bytes + 3 * page) != 0) std::abort();
    std::printf("aligned: %d\n", reinterpret_cast<std::uintptr_t>(at) % alignment == 0);
    for (const std::size_t inside : {0, 1, 7, 511, 513}) {  // operands that begin within the block
      auto* const c = static_cast<double*>(at) + inside;
      fill(c, 4, small_count);
      small_product(a, b, c, 1);
      show_small("inside", c);
    }
    std::printf("usable: %d\n", ::malloc_usable_size(at) >= small_bytes + 3 * page);
    std::free(at);
  }
}

void sparse_operands() {
  constexpr std::size_t rows = std::size_t{1} << 17, columns = 256;  // 256 MiB, of which 1024 rows are touched
  auto* const a = static_cast<double*>(std::calloc(rows * columns, sizeof(double)));
  const double* const b = small_matrix(2);
  double* const c = matrix(3, 1024 * columns);
  for (std::size_t j = 0; j < columns; ++j) a[j * rows + 99] = static_cast<double>(j);
  gemm('N', 'N', 1024, columns, columns, 1, a, rows, b, small_n, 0, c, 1024);
  show("product", c, 1024 * columns * sizeof(double));
  gemm('N', 'N', 64, columns, columns, 1, c, 1024, b, small_n, 0, a + rows / 2, rows);
  double sum = 0;
  for (std::size_t j = 0; j < columns; ++j) sum += a[j * rows + rows / 2] + a[j * rows + rows / 2 + 64];
  std::printf("%a\n", sum);
  std::free(a);
}

void exchanged_operands() {
  double *a = matrix(1), *b = matrix(2), *c = matrix(3);
  for (int i = 0; i < 6; ++i) {
    product(a, b, c);
    for (std::size_t j = 0; j < count; j += 5003) c[j] = i;
    std::swap(a, c);
    if (i % 3 == 0) std::swap(a, b);
  }
  show("a", a);
  show("b", b);
  show("c", c);
}

// ---- mappings

/// Calls `change(c)` for a result, which is a mapping or a block, and shows it before and after a further product.
template <class Change>
void changes(const char* what, const Change& change) {
  for (const bool block : {false, true}) {
    double *const a = small_matrix(1), *const b = small_matrix(2);
    void* aligned = nullptr;
    if (block && ::posix_memalign(&aligned, page, small_bytes) != 0) std::abort();
    double* const c = block ? static_cast<double*>(aligned) : mapped(small_bytes);
    small_product(a, b, c);
    change(c);
    show_small(what, c);
    small_product(a, b, c, 0.5);
    small_product(c, b, a);
    show_small("product", a);
    if (block) std::free(c);
    else ::munmap(c, small_bytes);
  }
}

void advised_operands() {
  changes("half dropped", [](double* c) { std::printf("%d\n", ::madvise(c, small_bytes / 2, MADV_DONTNEED)); });
  changes("pages dropped", [](double* c) {
    for (std::size_t i = 0; i < small_count; i += 16 * page / sizeof *c) std::printf("%d", ::madvise(c + i, page, MADV_DONTNEED));
    std::printf("\n");
  });
  changes("wrong range", [](double* c) { std::printf("%d\n", ::madvise(reinterpret_cast<char*>(c) + 1, page, MADV_DONTNEED)); });
  changes("synchronised", [](double* c) { std::printf("%d\n", ::msync(c, small_bytes, MS_SYNC)); });
  changes("huge pages", [](double* c) { (void)::madvise(c, small_bytes, MADV_HUGEPAGE); });
}

void protected_operands() {
  changes("read-only", [](double* c) {
    std::printf("%d", ::mprotect(c, small_bytes, PROT_READ));
    std::printf(" %a", c[77]);
    std::printf(" %d\n", ::mprotect(c, small_bytes, PROT_READ | PROT_WRITE));
  });
  changes("inaccessible", [](double* c) {
    std::printf("%d", ::mprotect(c + 4 * page / sizeof *c, 8 * page, PROT_NONE));
    std::printf(" %a", c[77]);
    std::printf(" %d\n", ::mprotect(c + 4 * page / sizeof *c, 8 * page, PROT_READ | PROT_WRITE));
  });
  changes("locked", [](double* c) { std::printf("%d %d\n", ::mlock(c, small_bytes), ::munlock(c, small_bytes)); });
}

void mapped_over() {
  constexpr int over = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
  changes("all", [](double* c) { std::printf("%d\n", ::mmap(c, small_bytes, PROT_READ | PROT_WRITE, over, -1, 0) == c); });
  changes("the middle", [](double* c) {
    double* const middle = c + small_count / 2;
    std::printf("%d\n", ::mmap(middle, 4 * page, PROT_READ | PROT_WRITE, over, -1, 0) == middle);
  });
  changes("by another mapping", [](double* c) {
    double* const other = mapped(8 * page);
    fill(other, 9, 8 * page / sizeof *other);
    std::printf("%d\n", ::mremap(other, 8 * page, 8 * page, MREMAP_MAYMOVE | MREMAP_FIXED, c + small_count / 4) == c + small_count / 4);
  });
  double *const a = small_matrix(1), *const b = small_matrix(2), *const c = mapped(small_bytes);
  small_product(a, b, c);
  constexpr int dontunmap = 4;
  auto* const moved = static_cast<double*>(::mremap(c, small_bytes, small_bytes, MREMAP_MAYMOVE | dontunmap));
  if (moved == MAP_FAILED) return (void)std::printf("this kernel does not leave a mapping where it was\n");
  show_small("moved", moved);
  show_small("left", c);
  small_product(moved, b, c);
  show_small("used again", c);
}

// ---- processes, threads, libraries

int run_child(pid_t child) {
  int status = -1;
  return child > 0 && ::waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void started_programs() {
  double *const a = matrix(1), *const b = matrix(2), *const c = matrix(3);
  product(a, b, c);
  const pid_t child = ::vfork();
  if (child == 0) {
    ::execl("/bin/sh", "sh", "-c", "exit 7", nullptr);
    ::_exit(1);
  }
  std::printf("vfork: %d\n", run_child(child));
  product(b, c, a);
  char shell[] = "/bin/sh", option[] = "-c", script[] = "exit 8", *const arguments[] = {shell, option, script, nullptr};
  pid_t spawned = 0;
  std::printf("posix_spawn: %d", ::posix_spawn(&spawned, shell, nullptr, nullptr, arguments, environ));
  std::printf(" %d\n", run_child(spawned));
  std::printf("exec that fails: %d\n", ::execl("/no/such/program", "x", nullptr));
  std::printf("system: %d\n", WEXITSTATUS(std::system("exit 9")));
  show("a", a);
  show("c", c);
}

void fork_in_threads() {
  double *const a = matrix(1), *const b = matrix(2), *const c = matrix(3);
  product(a, b, c);
  std::atomic<bool> ends{false};
  std::vector<std::thread> threads;
  std::atomic<std::uint64_t> sum{0};
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&, t] {
      double* const d = small_matrix(t);
      do {
        small_product(a + t * small_n, b, d);
        const pid_t child = ::fork();
        if (child == 0) ::_exit(digest(c, bytes) == digest(c, bytes) && d[5] == d[5] ? 3 : 4);
        sum += run_child(child) != 3 ? 1 : 0;
      } while (!ends);
      std::free(d);
    });
  }
  for (int i = 0; i < 4; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      product(c, b, a);
      ::_exit(digest(a, bytes) % 100);
    }
    std::printf("child %d\n", run_child(child));
  }
  ends = true;
  for (std::thread& t : threads) t.join();
  std::printf("children that ended otherwise: %d\n", static_cast<int>(sum));
  show("c", c);
}

/// How many files are open whose numbers are below those that libraries take.
int low_files() {
  int found = 0;
  for (int file = 0; file < 500; ++file) found += ::fcntl(file, F_GETFD) >= 0 ? 1 : 0;
  return found;
}

/// How many pipes a child of fork() has that the program has not made. Elsewhere there are none; where calls are offloaded there is one, which shows
/// that the child lives.
void pipes_of_children() {
  double *const a = matrix(1), *const b = matrix(2), *const c = matrix(3);
  product(a, b, c);
  const auto pipes = [] {
    int found = 0;
    for (int file = 0; file < 5000; ++file) {
      struct stat status {};
      found += ::fstat(file, &status) == 0 && S_ISFIFO(status.st_mode) && file > 2 ? 1 : 0;
    }
    return found;
  };
  const int before = pipes();
  const pid_t child = ::fork();
  if (child == 0) ::_exit(pipes() - before);
  std::printf("more in the child: %d\n", run_child(child));
  product(b, c, a);
  const pid_t other = ::fork();
  if (other == 0) ::_exit(pipes() - before);
  std::printf("more in another one: %d\n", run_child(other));
}

/// Children that stay, become daemons, or begin other programs; and a program that closes files that are not its own, and opens others instead. (It
/// leaves those with low numbers alone, because SemCache needs its own.)
void children_of_all_kinds() {
  double *const a = matrix(1), *const b = matrix(2), *const c = matrix(3);
  product(a, b, c);
  const int before = low_files();
  int until[2];
  if (::pipe(until) != 0) std::abort();
  std::vector<pid_t> children;
  for (int i = 0; i < 6; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      if (i % 3 == 1) {
        for (int file = 3; file < 5000; ++file) {
          if (file != until[0]) ::close(file);
        }
      }
      ::close(until[1]);
      char byte = 0;
      const bool ended = ::read(until[0], &byte, 1) == 0;
      product(b, c, a);
      if (i % 3 == 2) ::execl("/bin/sh", "sh", "-c", "exit 7", nullptr);
      ::_exit(ended ? digest(a, bytes) % 100 : 1);
    }
    children.push_back(child);
    std::printf("more files: %d\n", low_files() - before);
    product(b, c, a);
    show("a", a);
    if (i == 3) {
      for (int file = 500; file < 5000; ++file) ::close(file);
      for (int file = 880; file < 1020; ++file) ::dup2(1, file);  // the program's own
    }
    product(a, b, c);
    show("c", c);
  }
  ::close(until[1]);
  for (const pid_t child : children) std::printf("child %d\n", run_child(child));
  ::close(until[0]);
  int own = 0;
  for (int file = 880; file < 1020; ++file) own += ::close(file) == 0 ? 1 : 0;
  std::printf("files of the program's own: %d\n", own);
  for (int i = 0; i < 300; ++i) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(3);
    if (run_child(child) != 3) std::printf("child %d\n", i);
  }
  std::printf("more files: %d\n", low_files() - before);
  int many = 0;
  for (int file = 500; file < 5000; ++file) many += ::fcntl(file, F_GETFD) >= 0 ? 1 : 0;
  std::printf("many other files: %d\n", many > 1);
}

thread_local double of_thread[3][small_count];

void operands_of_threads() {
  for (int i = 0; i < 6; ++i) {
    std::thread([i] {
      fill(of_thread[0], i, small_count);
      fill(of_thread[1], i + 1, small_count);
      small_product(of_thread[0], of_thread[1], of_thread[2]);
      if (i % 2 == 0) show_small("of a thread", of_thread[2]);
    }).join();
  }
}

/// A library's statics are operands; it is unloaded, and comes again.
void operands_of_modules() {
  const double* const b = small_matrix(2);
  double* const c = small_matrix(3);
  for (int i = 0; i < 4; ++i) {
    void* const module = ::dlopen(TEST_BLAS_STATIC_MODULE, RTLD_NOW | RTLD_LOCAL);
    if (module == nullptr) std::abort();
    auto* const statics = static_cast<double*>(::dlsym(module, "test_blas_statics"));
    std::printf("begins with zeros: %d\n", statics[0] == 0 && statics[2 * small_count - 1] == 0);
    fill(statics, i + 1, small_count);
    small_product(statics, b, statics + small_count);
    small_product(statics + small_count, b, c);
    if (i % 2 == 0) show_small("static", statics + small_count);
    ::dlclose(module);
    show_small("product", c);
  }
}

/// Modules that find the C library's functions, and a BLAS of their own, in front of the program's (RTLD_DEEPBIND). One binds its names when it is
/// loaded, one when it uses them.
void deeply_bound_modules() {
  for (const char* const name : {TEST_BLAS_DEEP_MODULE, TEST_BLAS_DEEP_MODULE_NOW}) {
    void* const module = ::dlopen(name, RTLD_LAZY | RTLD_LOCAL | RTLD_DEEPBIND);
    if (module == nullptr) std::abort();
    const auto in_module = [module](const char* function, auto type) { return reinterpret_cast<decltype(type)>(::dlsym(module, function)); };
    const auto free_there = in_module("deep_free", static_cast<void (*)(void*)>(nullptr));
    const auto free_by_table = in_module("deep_free_by_table", static_cast<void (*)(void*)>(nullptr));
    const auto malloc_there = in_module("deep_malloc", static_cast<void* (*)(std::size_t)>(nullptr));
    const auto realloc_there = in_module("deep_realloc", static_cast<void* (*)(void*, std::size_t)>(nullptr));
    const auto unmap_there = in_module("deep_unmap", static_cast<int (*)(void*, std::size_t)>(nullptr));
    const auto map_there = in_module("deep_map", static_cast<void* (*)(std::size_t)>(nullptr));
    const auto write_there = in_module("deep_write", static_cast<long (*)(int, const void*, std::size_t)>(nullptr));
    const auto read_there = in_module("deep_read", static_cast<long (*)(int, void*, std::size_t)>(nullptr));
    std::printf("calls the BLAS %g\n", in_module("deep_mark", static_cast<double (*)()>(nullptr))());
    double *const a = small_matrix(1), *const b = small_matrix(2), *c = small_matrix(3);
    small_product(a, b, c);
    free_there(a);
    c = static_cast<double*>(realloc_there(c, 3 * small_bytes));
    show_small("of another size", c);
    auto* const d = static_cast<double*>(malloc_there(small_bytes));
    fill(d, 4, small_count);
    auto* e = static_cast<double*>(map_there(small_bytes));
    small_product(d, b, e);
    std::FILE* const file = std::tmpfile();
    std::printf("written %ld\n", write_there(::fileno(file), e, small_bytes));
    if (::lseek(::fileno(file), 0, SEEK_SET) != 0) std::abort();
    small_product(b, d, c);
    std::printf("read %ld\n", read_there(::fileno(file), c, small_bytes));
    show_small("read", c);
    std::fclose(file);
    free_by_table(d);
    small_product(b, b, e);
    std::printf("unmapped %d\n", unmap_there(e, small_bytes));
    e = static_cast<double*>(map_there(small_bytes));
    fill(e, 5, small_count);
    in_module("deep_signals", static_cast<void (*)()>(nullptr))();
    small_product(e, b, c);
    show_small("signals are blocked", c);
    ::signal(SIGSEGV, SIG_DFL);
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    std::free(c);
    std::free(b);
    std::printf("%d\n", ::munmap(e, small_bytes));
  }
}

}  // namespace

const Programs memory_attacks = {
    {"deeply_bound_modules", &deeply_bound_modules},
    {"row_swaps", &row_swaps},
    {"growing_blocks", &growing_blocks},
    {"aligned_blocks", &aligned_blocks},
    {"sparse_operands", &sparse_operands},
    {"exchanged_operands", &exchanged_operands},
    {"advised_operands", &advised_operands},
    {"protected_operands", &protected_operands},
    {"mapped_over", &mapped_over},
    {"started_programs", &started_programs},
    {"children_of_all_kinds", &children_of_all_kinds},
    {"fork_in_threads", &fork_in_threads},
    {"pipes_of_children", &pipes_of_children},
    {"operands_of_threads", &operands_of_threads},
    {"operands_of_modules", &operands_of_modules},
};

}  // namespace programs
