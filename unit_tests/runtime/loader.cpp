// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
//
// A running program that knows nothing of SemCache and loads plugins that use it.
#include <dlfcn.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

namespace {

constexpr std::size_t bytes = 3 * 65536;
constexpr int threads = 8;

[[noreturn]] void die(const char* what, const char* why) {
  std::printf("%s: %s\n", what, why);
  std::fflush(stdout);
  std::_Exit(1);
}

struct Plugin {
  explicit Plugin(const char* path) : handle(::dlopen(path, RTLD_NOW | RTLD_LOCAL)) {
    if (handle == nullptr) die("dlopen", ::dlerror());
    stale_mirror = reinterpret_cast<unsigned char* (*)(std::size_t, int)>(::dlsym(handle, "plugin_stale_mirror"));
    error = reinterpret_cast<const char* (*)()>(::dlsym(handle, "plugin_error"));
    if (stale_mirror == nullptr || error == nullptr) die("dlsym", ::dlerror());
  }
  [[nodiscard]] volatile unsigned char* mirror(int value) const {
    volatile unsigned char* const m = stale_mirror(bytes, value);
    if (m == nullptr) die("the plugin", error());
    return m;
  }
  void* handle;
  unsigned char* (*stale_mirror)(std::size_t, int);
  const char* (*error)();
};

void expect(const volatile unsigned char* mirror, int value) {
  for (std::size_t i = 0; i < bytes; i += 1024) {
    if (mirror[i] != value) die("a mirror", "another value than the kernel's");
  }
}

/// Threads that are older than the plugin fault, use its interface, and fault when it has been closed.
int load(const char* path) {
  std::atomic<const Plugin*> loaded{nullptr};
  volatile unsigned char* mirrors[threads] = {};
  std::atomic<int> ready{0};
  std::atomic<bool> closed{false};
  std::vector<std::thread> older;
  for (int t = 0; t < threads; ++t) {
    older.emplace_back([&, t] {
      while (loaded.load() == nullptr) std::this_thread::yield();
      expect(mirrors[t], t);  // the thread's first step into the plugin is its fault
      mirrors[t][0] = 77;
      volatile unsigned char* const own = loaded.load()->mirror(10 + t);
      expect(own, 10 + t);
      volatile unsigned char* const later = loaded.load()->mirror(20 + t);
      ready.fetch_add(1);
      while (!closed.load()) std::this_thread::yield();
      expect(later, 20 + t);
    });
  }
  const Plugin plugin(path);
  for (int t = 0; t < threads; ++t) mirrors[t] = plugin.mirror(t);
  loaded.store(&plugin);
  while (ready.load() < threads) std::this_thread::yield();
  ::dlclose(plugin.handle);
  closed.store(true);
  for (std::thread& t : older) t.join();
  std::printf("loaded\n");
  return 0;
}

int load_two(const char* first, const char* second) {
  const Plugin a(first);
  const Plugin b(second);
  expect(a.mirror(1), 1);
  if (b.stale_mirror(bytes, 2) != nullptr) {
    std::printf("two\n");
    return 0;
  }
  std::printf("refused: %s\n", b.error());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2) return load(argv[1]);
  if (argc == 3) return load_two(argv[1], argv[2]);
  return 2;
}
