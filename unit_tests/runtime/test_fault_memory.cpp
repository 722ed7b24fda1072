// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
//
// Nothing that serves a page fault calls the program's malloc: the C library's functions are replaced by ones that count, while a thread of
// this program waits for a fault, the calls of all threads.
#include <semcache/runtime/runtime.hpp>
#include <semcache/semcache.hpp>

#include <gtest/gtest.h>

#include <execinfo.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

constexpr std::size_t most_calls = 256;
constexpr int most_frames = 24;
std::atomic<bool> counting{false};
std::atomic<std::size_t> calls{0};
struct Call {
  std::size_t bytes;
  int count;
  void* frames[most_frames];
};
Call noted[most_calls];

void note(std::size_t bytes) noexcept {
  if (!counting.load(std::memory_order_relaxed)) return;
  static thread_local bool nested = false;
  if (nested) return;
  nested = true;
  if (const std::size_t at = calls.fetch_add(1); at < most_calls) {
    noted[at].bytes = bytes;
    noted[at].count = ::backtrace(noted[at].frames, most_frames);
  }
  nested = false;
}

}  // namespace

extern "C" {
// The C library's own functions, under the names that it keeps for replacements.
void* __libc_malloc(std::size_t bytes);                             // NOLINT
void* __libc_calloc(std::size_t n, std::size_t bytes);              // NOLINT
void* __libc_realloc(void* old, std::size_t bytes);                 // NOLINT
void* __libc_memalign(std::size_t alignment, std::size_t bytes);    // NOLINT
void __libc_free(void* p);                                          // NOLINT

void* malloc(std::size_t bytes) {
  note(bytes);
  return __libc_malloc(bytes);
}
void* calloc(std::size_t n, std::size_t bytes) {
  note(n * bytes);
  return __libc_calloc(n, bytes);
}
void* realloc(void* old, std::size_t bytes) {
  note(bytes);
  return __libc_realloc(old, bytes);
}
void* memalign(std::size_t alignment, std::size_t bytes) {
  note(bytes);
  return __libc_memalign(alignment, bytes);
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) { return memalign(alignment, bytes); }
int posix_memalign(void** out, std::size_t alignment, std::size_t bytes) {
  *out = memalign(alignment, bytes);
  return *out == nullptr ? ENOMEM : 0;
}
void free(void* p) { __libc_free(p); }
}

namespace semcache::runtime {
namespace {

using Byte = unsigned char;
const std::size_t page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
constexpr std::size_t pages = 64;  // of each array

/// Expects that nobody asks malloc for memory while `touch` runs, which must raise page faults.
template <class Touch>
void expect_none(const char* what, const Touch& touch) {
  const auto faults = [] { return statistics().total.host_faults + statistics().total.unannounced; };
  const std::uint64_t before = faults();
  calls.store(0);
  counting.store(true);
  touch();
  counting.store(false);
  EXPECT_GT(faults(), before) << what << " raises no fault";
  EXPECT_EQ(calls.load(), 0u) << what;
  for (std::size_t i = 0; i < std::min(calls.load(), most_calls); ++i) {
    std::fprintf(stderr, "%zu bytes are asked for by\n", noted[i].bytes);
    ::backtrace_symbols_fd(noted[i].frames, noted[i].count, 2);
  }
}

void read(const Byte* at) { (void)*const_cast<const volatile Byte*>(at); }
void write(Byte* at) { *const_cast<volatile Byte*>(at) = 1; }
void read_all(const Byte* array) {
  for (std::size_t i = 0; i < pages; ++i) read(array + i * page);
}
void write_all(Byte* array) {
  for (std::size_t i = 0; i < pages; ++i) write(array + i * page);
}
/// In no order that reading ahead could use.
template <class Use>
void scattered(Byte* array, const Use& use) {
  for (std::size_t i = 0; i < pages; i += 3) use(array + i * 37 % pages * page);
}

QueueId queue_of_device(std::uint32_t device) { return queue_of(reinterpret_cast<void*>(std::uintptr_t{device})); }
void copy_all(Byte* to, const Byte* from) { copy(to, from, pages * page, queue_of(nullptr)); }
/// A kernel of the array's device writes all of it.
void overwrite(Byte* array, int value) {
  const LibraryUse use{array, pages * page, Access::read_write};
  const Launch launch(queue_of_device(device_of(array)), &use, 1);
  std::memset(array, value, pages * page);
}

bool is_set(const char* variable, const char* value) {
  const char* const text = std::getenv(variable);
  return text != nullptr && std::strcmp(text, value) == 0;
}
bool userfaultfd() { return is_set("SEMCACHE_TRACKER", "userfaultfd"); }

/// An array of a device with a mirror.
struct Pair {
  explicit Pair(std::uint32_t on = 0)
      : device(static_cast<Byte*>(allocate_device("device", pages * page, on))),
        host(static_cast<Byte*>(allocate_host("mirror", pages * page, device))) {
    overwrite(device, 1);
  }
  ~Pair() {
    deallocate(host);
    deallocate(device);
  }
  Pair(const Pair&) = delete;
  Pair& operator=(const Pair&) = delete;
  Byte* const device;
  Byte* const host;
};

/// A mirror of no array.
struct Mirror {
  Mirror() : host(static_cast<Byte*>(allocate_host("mirror", pages * page))) { std::memset(host, 1, pages * page); }
  ~Mirror() { deallocate(host); }
  Mirror(const Mirror&) = delete;
  Mirror& operator=(const Mirror&) = delete;
  Byte* const host;
};

/// The first test of the process, and so the first fault.
TEST(FaultMemory, AFirstReadAndAFirstWrite) {
  const Pair a, b;
  expect_none("a first read", [&] { read(a.host + 5 * page); });
  expect_none("another read", [&] { read(a.host + 30 * page); });
  expect_none("a write behind a read", [&] { write(a.host + 5 * page); });
  expect_none("a first write", [&] { write(b.host + 7 * page); });
}

TEST(FaultMemory, SweepsThatAreReadAhead) {
  const Pair a;
  expect_none("a sweep", [&] { read_all(a.host); });
  overwrite(a.device, 2);
  expect_none("a sweep that writes", [&] { write_all(a.host); });
  overwrite(a.device, 3);
  expect_none("a sweep downwards", [&] {
    for (std::size_t i = pages; i-- > 0;) read(a.host + i * page);
  });
}

TEST(FaultMemory, ScatteredAccesses) {
  const Pair a;
  expect_none("scattered reads", [&] { scattered(a.host, read); });
  overwrite(a.device, 2);
  expect_none("scattered writes", [&] { scattered(a.host, write); });
  overwrite(a.device, 3);
  expect_none("scattered writes again", [&] { scattered(a.host, write); });
}

/// So many parts are in use that not all of them are remembered apart.
TEST(FaultMemory, AnArrayWhosePiecesWereCopied) {
  const Pair a;
  Byte* mirrors[pages];
  for (std::size_t i = 0; i < pages; ++i) {
    mirrors[i] = static_cast<Byte*>(allocate_host("mirror of a piece", 512));
    copy(mirrors[i], a.device + i * page, 512, queue_of(nullptr));
  }
  expect_none("reads", [&] { scattered(a.host, read); });
  for (Byte* const m : mirrors) deallocate(m);
}

TEST(FaultMemory, AdoptedMemory) {
  if (userfaultfd()) GTEST_SKIP() << "it is not watched";
  auto* const own = static_cast<Byte*>(std::aligned_alloc(page, pages * page));
  std::memset(own, 1, pages * page);
  adopt(own, pages * page, "adopted");
  {
    const Pair a;
    copy_all(own, a.device);
    expect_none("a read", [&] { read(own + 5 * page); });
    expect_none("a write", [&] { write(own + 5 * page); });
    expect_none("a sweep", [&] { read_all(own); });
    copy_all(a.device, own);
    expect_none("a write that saves what is wanted", [&] { write(own + 9 * page); });
    expect_none("scattered writes that save what is wanted", [&] { scattered(own, write); });
  }
  release(own);
  std::free(own);
}

TEST(FaultMemory, ContentThatIsSaved) {
  const Mirror h;
  const Pair a, b;
  copy_all(a.device, h.host);
  expect_none("a write", [&] { write(h.host + 5 * page); });
  expect_none("scattered writes", [&] { scattered(h.host, write); });
  copy_all(b.device, a.device);
  expect_none("a sweep that writes", [&] { write_all(a.host); });
  const Mirror other;
  copy_all(other.host, h.host);
  expect_none("writes to the source of a mirror", [&] { scattered(h.host, write); });
  expect_none("reads of saved content", [&] { read_all(other.host); });
}

/// What would be read ahead lies in an array that the kernel of the faulting thread uses, so that neither could go on: the fault is served for
/// its page alone.
TEST(FaultMemory, ReadingAheadThatIsGivenUp) {
  const Pair used, other;
  const Mirror h;
  overwrite(used.device, 2);
  overwrite(other.device, 3);
  copy_all(h.host, used.device);
  copy(h.host, other.device, page, queue_of(nullptr));
  const LibraryUse use{used.device, pages * page, Access::read};
  {
    const Launch launch(queue_of_device(device_of(used.device)), &use, 1);
    expect_none("a read whose read-ahead is given up", [&] { read(h.host); });
  }
  EXPECT_EQ(h.host[0], 3);
  EXPECT_EQ(h.host[page], 2);
}

TEST(FaultMemory, AFill) {
  const Pair a;
  const Byte nine = 9;
  fill(a.device, pages * page, &nine, 1, queue_of(nullptr));
  expect_none("reads", [&] { scattered(a.host, read); });
  expect_none("writes", [&] { scattered(a.host, write); });
}

/// Unannounced uses of the emulated device's memory.
TEST(FaultMemory, MemoryOfTheDevice) {
  if (is_set("SEMCACHE_DEVICE_TRACKER", "off") || userfaultfd()) GTEST_SKIP() << "it is not watched";
  const Pair a, b;
  write_all(a.host);
  expect_none("a read", [&] { read(a.device + 5 * page); });
  expect_none("a write", [&] { write(a.device + 5 * page); });
  copy_all(b.device, a.device);
  expect_none("a write that saves what is wanted", [&] { write(a.device + 9 * page); });
}

TEST(FaultMemory, SeveralDevices) {
  (void)device_ordinal(0);
  const auto last = static_cast<std::uint32_t>(device_count()) - 1;
  const Pair a, b(last);
  overwrite(b.device, 2);
  expect_none("a read of the last device's content", [&] { read_all(b.host); });
  copy_all(a.device, b.device);
  expect_none("a read of what the first wants of the last", [&] { read_all(a.host); });
  overwrite(a.device, 3);
  copy_all(b.device, a.device);
  expect_none("a write that saves what the last wants of the first", [&] { scattered(a.host, write); });
  expect_none("a read of it", [&] { read_all(b.host); });
}

}  // namespace
}  // namespace semcache::runtime

/// The first call of `backtrace` loads a library.
int main(int argc, char** argv) {
  void* frames[most_frames];
  (void)::backtrace(frames, most_frames);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
