// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
//
// A program that begins without a BLAS, and prints whether libsemcache_blas.so is loaded. It makes a thread that blocks all signals, and installs a
// handler that does, before it loads a BLAS and lets them read results.
#include <dlfcn.h>
#include <signal.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

namespace {

constexpr int n = 300;
constexpr std::size_t count = std::size_t{n} * n;
double* result = nullptr;
double sum = 0;

double* matrix(double value) {
  auto* const m = static_cast<double*>(std::malloc(count * sizeof(double)));
  for (std::size_t i = 0; i < count; ++i) m[i] = value + static_cast<double>(i % 7);
  return m;
}

void say_what_is_loaded(const char* when) {
  std::FILE* const maps = std::fopen("/proc/self/maps", "r");
  bool loaded = false;
  for (char line[4096]; std::fgets(line, sizeof line, maps) != nullptr;) loaded |= std::strstr(line, "/libsemcache_blas.so") != nullptr;
  std::fclose(maps);
  std::fprintf(stderr, "%s: %s\n", when, loaded ? "loaded" : "not loaded");
}

void add_up() {
  for (std::size_t i = 0; i < count; ++i) sum += result[i];
}

}  // namespace

int main(int, char** arguments) {
  double* const early = matrix(1);  // whose birth nobody has seen
  struct sigaction action {};
  action.sa_handler = [](int) { add_up(); };
  ::sigfillset(&action.sa_mask);
  ::sigaction(SIGUSR1, &action, nullptr);
  std::atomic<int> step{0};
  std::thread reader([&step] {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, nullptr);
    while (step != 1) std::this_thread::yield();
    add_up();
    step = 2;
  });
  say_what_is_loaded("with a thread");
  void* const other = ::dlopen("libutil.so.1", RTLD_NOW);
  early[5] = 7;
  say_what_is_loaded("with a library");
  void* const blas = ::dlopen(arguments[1], RTLD_NOW | RTLD_GLOBAL);
  if (blas == nullptr || other == nullptr) std::abort();
  double *const a = matrix(2), *const b = matrix(3);
  say_what_is_loaded("with a BLAS");
  result = matrix(0);
  // A name of the program, as modules have it that are loaded for all.
  using Product = void(const char*, const char*, const int*, const int*, const int*, const double*, const double*, const int*, const double*,
                       const int*, const double*, double*, const int*, std::size_t, std::size_t);
  auto* const product = reinterpret_cast<Product*>(::dlsym(RTLD_DEFAULT, "dgemm_"));
  const double one = 1, zero = 0;
  const auto compute = [&](const double* of) { product("N", "N", &n, &n, &n, &one, of, &n, b, &n, &zero, result, &n, 1, 1); };
  compute(a);
  step = 1;
  reader.join();
  std::printf("%a\n", sum);
  compute(early);
  ::raise(SIGUSR1);
  std::printf("%a\n", sum);
  compute(a);
  std::printf("%a\n", result[17]);
}
