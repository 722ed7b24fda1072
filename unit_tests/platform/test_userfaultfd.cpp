// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <fakes/random.hpp>
#include <platform/fake_driver.hpp>
#include <platform/toy_server.hpp>

#include <gtest/gtest.h>

#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csetjmp>
#include <cstring>
#include <string>
#include <thread>

/// Part of ThreadSanitizer, where the program is made with it.
extern "C" __attribute__((weak)) void __tsan_init();

namespace semcache::platform::testing {
namespace {

/// Why the system has no userfaultfd for this process; empty: it has.
const std::string& refusal() {
  static const std::string why = [] {
    try {
      (void)make_userfaultfd_pages(1);
      return std::string();
    } catch (const ConfigurationError& e) {
      return std::string(e.what());
    }
  }();
  return why;
}

class Server : public ToyServer {
 public:
  explicit Server(unsigned patience_s = 20) : ToyServer(make_userfaultfd_pages(patience_s)) {}
};

const char* toy_label(const void*) { return "toy array"; }

class Userfaultfd : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!refusal().empty()) GTEST_SKIP() << refusal();
    set_label_lookup(&toy_label);
  }
  void TearDown() override { set_label_lookup(nullptr); }
};
using UserfaultfdDeathTest = Userfaultfd;  // in forked children, where each starts its own server

// --- the platform ----------------------------------------------------------------------------------------------------

class UserfaultfdPages : public Userfaultfd {
 protected:
  static constexpr std::uint64_t page = 4096;
  static constexpr std::uint64_t huge = std::uint64_t{2} << 20;

  void SetUp() override {
    Userfaultfd::SetUp();
    if (IsSkipped()) return;
    platform_ = make_userfaultfd_pages(20).platform;
    bytes_ = 4 * huge;
    base_ = platform_->reserve(bytes_);
  }
  void TearDown() override {
    if (platform_ != nullptr) platform_->release(base_, bytes_);
    Userfaultfd::TearDown();
  }
  [[nodiscard]] static std::byte content(std::uint64_t i) { return static_cast<std::byte>(i / page * 7 + i); }
  void write_all() {
    for (std::uint64_t i = 0; i < bytes_; ++i) base_[i] = content(i);
  }
  [[nodiscard]] std::vector<std::byte> behind(std::uint64_t begin, std::uint64_t size) {
    std::vector<std::byte> out(size);
    platform_->read_behind(out.data(), base_ + begin, size);
    return out;
  }
  [[nodiscard]] bool keeps_content() {
    const std::vector<std::byte> seen = behind(0, bytes_);
    for (std::uint64_t i = 0; i < bytes_; ++i) {
      if (seen[i] != content(i)) return false;
    }
    return true;
  }
  /// In memory at the program's addresses.
  [[nodiscard]] std::uint64_t resident(std::uint64_t begin, std::uint64_t size) const {
    std::vector<unsigned char> in_memory(size / page);
    EXPECT_EQ(::mincore(base_ + begin, size, in_memory.data()), 0);
    std::uint64_t n = 0;
    for (const unsigned char c : in_memory) n += c & 1U;
    return n;
  }

  std::unique_ptr<Platform> platform_;
  std::byte* base_ = nullptr;
  std::uint64_t bytes_ = 0;
};

TEST_F(UserfaultfdPages, EveryProtectionKeepsTheContent) {
  write_all();
  for (const std::uint64_t size : {page, 5 * page, huge, 3 * huge}) {
    for (const Protection p : {Protection::none, Protection::read, Protection::none, Protection::read_write,
                               Protection::read, Protection::read_write, Protection::none, Protection::read_write}) {
      ASSERT_TRUE(platform_->protect(base_ + page, size, p));
      ASSERT_TRUE(keeps_content()) << size;
    }
  }
}

TEST_F(UserfaultfdPages, ClosedPagesAreNotAtTheProgramsAddress) {
  write_all();
  ASSERT_TRUE(platform_->protect(base_, bytes_, Protection::none));
  EXPECT_EQ(resident(0, bytes_), 0u);
  ASSERT_TRUE(platform_->protect(base_, 3 * page, Protection::read));
  EXPECT_EQ(resident(0, bytes_), 3u);
  EXPECT_EQ(base_[2 * page], content(2 * page));
}

TEST_F(UserfaultfdPages, PagesThatNobodyWroteTakeNoMemory) {
  for (const Protection p : {Protection::read, Protection::none, Protection::read, Protection::read_write}) {
    ASSERT_TRUE(platform_->protect(base_, bytes_, p));
    EXPECT_EQ(behind(page + 5, 3 * page), std::vector<std::byte>(3 * page));
    EXPECT_EQ(resident(huge, huge), 0u);
  }
  EXPECT_EQ(base_[5], std::byte{0});
  base_[5] = std::byte{1};
}

TEST_F(UserfaultfdPages, MappingsThatTheKernelKeepsApartAreOneRange) {
  platform_->advise_huge(base_ + huge, huge);
  write_all();
  for (const Protection p : {Protection::read, Protection::none, Protection::read, Protection::none,
                             Protection::read_write, Protection::read}) {
    ASSERT_TRUE(platform_->protect(base_ + page, 3 * huge, p));
    ASSERT_TRUE(keeps_content());
  }
}

TEST_F(UserfaultfdPages, MemoryOutsideTheArenaIsReadAndWrittenToo) {
  std::vector<std::byte> elsewhere(3 * page, std::byte{1});
  const std::vector<std::byte> written(page, std::byte{2});
  platform_->write_behind(elsewhere.data() + 100, written.data(), page);
  std::vector<std::byte> seen(2 * page);
  platform_->read_behind(seen.data(), elsewhere.data() + 100, 2 * page);
  EXPECT_EQ(std::count(seen.begin(), seen.end(), std::byte{2}), static_cast<std::ptrdiff_t>(page));
  EXPECT_EQ(seen[page - 1], std::byte{2});
  EXPECT_EQ(seen[page], std::byte{1});
}

TEST_F(UserfaultfdPages, APageLockIsRefusedAndChangesNothing) {
  write_all();
  ASSERT_TRUE(platform_->protect(base_, huge, Protection::none));
  EXPECT_EQ(platform_->lock_pages(base_, huge, [](std::byte*) { return true; }), nullptr);
  EXPECT_TRUE(keeps_content());
}

/// Any order of operations against an array that is simply written.
TEST_F(UserfaultfdPages, AnyOrderOfOperations) {
  fakes::Random random(20261121);
  std::vector<std::byte> model(bytes_);
  std::vector<Protection> states(bytes_ / page, Protection::read_write);
  const auto some_range = [&](std::uint64_t unit) {
    const std::uint64_t units = bytes_ / unit;
    const std::uint64_t most = random.chance(20) ? units : std::min<std::uint64_t>(units, 20 * page / unit);
    const std::uint64_t size = 1 + random.below(most);
    const std::uint64_t begin = random.below(units - size + 1);
    return ByteRange{begin * unit, (begin + size) * unit};
  };
  for (int step = 0; step < 3000; ++step) {
    switch (random.below(6)) {
      case 0:
      case 1: {
        const ByteRange r = some_range(page);
        const auto p = static_cast<Protection>(random.below(3));
        ASSERT_TRUE(platform_->protect(base_ + r.begin, r.size(), p));
        std::fill(states.begin() + static_cast<std::ptrdiff_t>(r.begin / page),
                  states.begin() + static_cast<std::ptrdiff_t>(r.end / page), p);
        break;
      }
      case 2: {
        const ByteRange r = some_range(1);
        std::vector<std::byte> bytes(r.size());
        for (std::byte& b : bytes) b = static_cast<std::byte>(random.next());
        platform_->write_behind(base_ + r.begin, bytes.data(), r.size());
        std::copy(bytes.begin(), bytes.end(), model.begin() + static_cast<std::ptrdiff_t>(r.begin));
        break;
      }
      case 3: {
        const ByteRange r = some_range(page);
        platform_->discard(base_ + r.begin, r.size());
        std::fill(model.begin() + static_cast<std::ptrdiff_t>(r.begin), model.begin() + static_cast<std::ptrdiff_t>(r.end),
                  std::byte{0});
        break;
      }
      case 4: {
        const ByteRange r = some_range(1);
        const std::vector<std::byte> seen = behind(r.begin, r.size());
        ASSERT_TRUE(std::equal(seen.begin(), seen.end(), model.begin() + static_cast<std::ptrdiff_t>(r.begin))) << step;
        break;
      }
      default: {  // the program's own access
        const std::uint64_t at = random.below(bytes_);
        if (states[at / page] != Protection::read_write) break;
        ASSERT_EQ(base_[at], model[at]) << step;
        base_[at] = model[at] = static_cast<std::byte>(random.next());
      }
    }
  }
  EXPECT_EQ(behind(0, bytes_), model);
}

TEST_F(UserfaultfdPages, TheKernelsLimitOnMappingsIsFalseAndChangesNothing) {
  if (__tsan_init != nullptr) GTEST_SKIP() << "ThreadSanitizer itself ends where no mapping is left";
  const std::uint64_t limit = 2 * platform_->mapping_limit();
  if (limit > 200'000) GTEST_SKIP() << "vm.max_map_count is " << limit << ": too many mappings to make in a test";
  for (const Protection to : {Protection::none, Protection::read}) {
    const auto other = make_userfaultfd_pages(20).platform;
    std::uint64_t wide = (limit + 64) * 2 * page;
    const std::uint64_t asked = wide;
    std::byte* const many = other->reserve(wide);
    ASSERT_GE(wide, asked);
    std::uint64_t refused = 0;
    for (std::uint64_t i = 0; i + 8 < wide / page; i += 2) {
      many[i * page] = std::byte{3};
      if (!other->protect(many + i * page, page, to)) {
        refused = i;
        break;
      }
    }
    ASSERT_GT(refused, limit / 2);
    EXPECT_EQ(many[refused * page], std::byte{3});
    many[refused * page] = std::byte{4};  // still open
    EXPECT_FALSE(other->protect(many + (refused + 4) * page, 3 * page, to));
    std::byte seen{};
    other->read_behind(&seen, many + (refused - 2) * page, 1);
    EXPECT_EQ(seen, std::byte{3});
    other->release(many, wide);
  }
}

// --- served faults ---------------------------------------------------------------------------------------------------

TEST_F(Userfaultfd, ServesReadsAndWrites) {
  Server server;
  server.start();
  server.make_stale(3);
  server.make_stale(5);

  EXPECT_EQ(*server.word(3), Server::content(3));
  *server.word(3) = 7;
  *server.word(5, 1) = 8;

  EXPECT_EQ(*server.word(3), 7U);
  EXPECT_EQ(*server.word(5), Server::content(5));
  EXPECT_EQ(*server.word(5, 1), 8U);
  EXPECT_EQ(server.reads, 1);
  EXPECT_EQ(server.writes, 2);
  EXPECT_TRUE(server.tracker().notices());
  EXPECT_STREQ(server.tracker().name(), "userfaultfd");
}

TEST_F(Userfaultfd, ReadOnlyPagesThatNobodyWroteReadAsZeroWithoutTheServer) {
  Server server;
  server.start();
  for (std::uint64_t p = 0; p < 8; ++p) server.set(p, Protection::read);
  for (std::uint64_t p = 0; p < 8; ++p) EXPECT_EQ(*server.word(p, p), 0U);
  EXPECT_EQ(server.served, 0);

  *server.word(3) = 1;  // read before
  server.set(9, Protection::read);
  *server.word(9) = 2;  // never touched before
  EXPECT_EQ(server.writes, 2);
  EXPECT_EQ(*server.word(3), 1U);
  EXPECT_EQ(*server.word(9), 2U);
}

TEST_F(Userfaultfd, SystemCallsAreServed) {
  Server server;
  server.start();
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);

  server.make_stale(0);
  EXPECT_EQ(::write(ends[1], const_cast<std::uint64_t*>(server.word(0)), 8), 8);
  server.make_stale(1);
  EXPECT_EQ(::read(ends[0], const_cast<std::uint64_t*>(server.word(1, 1)), 8), 8);
  EXPECT_EQ(*server.word(1, 1), Server::content(0));
  EXPECT_EQ(*server.word(1), Server::content(1));

  server.set(2, Protection::read);
  EXPECT_EQ(::write(ends[1], const_cast<std::uint64_t*>(server.word(1)), 8), 8);
  EXPECT_EQ(::read(ends[0], const_cast<std::uint64_t*>(server.word(2)), 8), 8);
  EXPECT_EQ(*server.word(2), Server::content(1));

  EXPECT_EQ(server.served, 3);
  EXPECT_EQ(server.writes, 2);
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST_F(Userfaultfd, ManyThreadsOnOnePageAreAllServedOnce) {
  Server server;
  server.start();
  constexpr int threads = 100;
  for (int round = 0; round < 20; ++round) {
    server.make_stale(1);
    server.served = 0;
    std::atomic<int> ready{0};
    std::atomic<int> right{0};
    std::vector<std::thread> all;
    for (int t = 0; t < threads; ++t)
      all.emplace_back([&] {
        ++ready;
        while (ready < threads) std::this_thread::yield();
        if (*server.word(1) == Server::content(1)) ++right;
      });
    for (auto& thread : all) thread.join();

    EXPECT_EQ(right, threads);
    EXPECT_EQ(server.served, 1);
  }
}

TEST_F(Userfaultfd, ReadersAndWritersOnManyPagesMakeProgressAndLoseNothing) {
  Server server;
  server.start();
  constexpr unsigned threads = 6;
  std::atomic<bool> go_on{true};
  std::atomic<int> lost{0};
  std::vector<std::thread> all;
  for (unsigned t = 0; t < threads; ++t)
    all.emplace_back([&, t] {
      std::vector<std::uint64_t> last(Server::pages);
      for (unsigned i = 1; go_on || i < Server::pages; ++i) {
        const std::uint64_t p = i % Server::pages;
        if (*server.word(p, 1 + t) != last[p]) ++lost;
        *server.word(p, 1 + t) = last[p] = i;
      }
    });
  // Read-only and back: whoever writes while that happens either comes first or is noticed.
  for (unsigned i = 0; i < 5000; ++i) server.set(i % Server::pages, Protection::read);
  go_on = false;
  for (auto& thread : all) thread.join();

  EXPECT_EQ(lost, 0);
  EXPECT_GT(server.served, 0);
}

TEST_F(Userfaultfd, ManyFaultsAtOneInstructionAreAllServed) {
  Server server;
  server.start();
  for (int i = 0; i < 1000; ++i) {
    server.make_stale(2);
    ASSERT_EQ(*server.word(2), Server::content(2));
  }
  EXPECT_EQ(server.served, 1000);
}

TEST_F(Userfaultfd, ASignalMayInterruptAWaitingThread) {
  if (__tsan_init != nullptr) GTEST_SKIP() << "ThreadSanitizer puts signals off until a call that it knows";
  static std::atomic<int> signals{0};
  struct sigaction action {};
  action.sa_handler = [](int) { ++signals; };
  struct sigaction before {};
  ::sigaction(SIGUSR1, &action, &before);
  Server server;
  const pthread_t reader = ::pthread_self();
  server.before = [&](std::byte*) {
    if (signals.load() > 0) return;
    ::pthread_kill(reader, SIGUSR1);
    while (signals.load() == 0) std::this_thread::yield();  // the handler runs in the middle of the access
  };
  server.start();
  server.make_stale(0);
  EXPECT_EQ(*server.word(0), Server::content(0));
  EXPECT_EQ(signals, 1);
  ::sigaction(SIGUSR1, &before, nullptr);
}

TEST_F(Userfaultfd, HasSeveralLifetimes) {
  Server server;
  for (int life = 1; life <= 3; ++life) {
    server.start();
    server.make_stale(6);
    server.set(7, Protection::read);
    EXPECT_EQ(*server.word(6), Server::content(6));
    EXPECT_EQ(*server.word(7), 0U);
    server.make_stale(6);
    server.stop();
    server.stop();
    EXPECT_EQ(server.served, life);
    // Nobody serves: protected pages are closed, and nobody waits for ever.
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    EXPECT_EQ(::write(ends[1], const_cast<std::uint64_t*>(server.word(6)), 8), -1);
    EXPECT_EQ(errno, EFAULT);
    EXPECT_EQ(::write(ends[1], const_cast<std::uint64_t*>(server.word(7)), 8), 8);
    EXPECT_EQ(::read(ends[0], const_cast<std::uint64_t*>(server.word(7)), 8), -1);
    EXPECT_EQ(errno, EFAULT);
    ::close(ends[0]);
    ::close(ends[1]);
  }
  Server another;
  another.start();
  another.make_stale(1);
  EXPECT_EQ(*another.word(1), Server::content(1));
}

TEST_F(Userfaultfd, StopRestoresWhatWasInstalled) {
  struct sigaction before;
  ::sigaction(SIGSEGV, nullptr, &before);
  Server server;
  server.start();
  server.stop();
  struct sigaction after;
  ::sigaction(SIGSEGV, nullptr, &after);
  EXPECT_EQ(after.sa_sigaction, before.sa_sigaction);
  EXPECT_EQ(after.sa_flags, before.sa_flags);
}

TEST_F(Userfaultfd, OneAtATime) {
  Server first;
  Server second;
  first.start();

  EXPECT_THROW(second.start(), UsageError);

  first.stop();
  second.start();
  second.make_stale(0);
  EXPECT_EQ(*second.word(0), Server::content(0));
}

TEST_F(Userfaultfd, AfterARuntimeScopeFaultsAreServedAgain) {
  Server server;
  server.start();
  server.make_stale(0);
  { const RuntimeScope scope; }

  EXPECT_EQ(*server.word(0), Server::content(0));
}

TEST_F(Userfaultfd, TheRuntimeMayReadWhatIsReadable) {
  Server server;
  server.start();
  server.set(1, Protection::read);  // absent: the kernel asks all the same
  const RuntimeScope scope;
  EXPECT_EQ(*server.word(1), 0U);
}

TEST_F(Userfaultfd, TheOtherSideOfACopyMayFault) {
  Server server;
  server.start();
  const auto at = [&](std::uint64_t index) { return server.base() + index * Server::page; };
  for (std::uint64_t p = 0; p < 8; ++p) server.set(p, Protection::read);
  server.make_stale(8);
  server.platform().write_behind(at(8), at(0), Server::page);  // absent: only a service thread makes it present
  server.platform().write_behind(at(1), at(2), Server::page);
  server.platform().write_behind(at(9), at(3), Server::page);
  server.platform().read_behind(at(10), at(4), Server::page);
  server.platform().read_behind(at(5), at(9), Server::page);
  EXPECT_EQ(server.writes, 1);
}

TEST_F(Userfaultfd, ALongQueueIsNoReasonToEnd) {
  // 8 faults of 0.3 s each with a patience of 1 s: the last one waits for 2.4 s, but all the time others are served.
  Server server(1);
  server.before = [](std::byte*) { std::this_thread::sleep_for(std::chrono::milliseconds(300)); };
  server.start();
  std::vector<std::thread> all;
  for (unsigned t = 0; t < 8; ++t) server.make_stale(t);
  for (unsigned t = 0; t < 8; ++t) all.emplace_back([&, t] { (void)*server.word(t); });
  for (auto& thread : all) thread.join();

  EXPECT_EQ(server.served, 8);
}

// --- what is nobody's ------------------------------------------------------------------------------------------------

sigjmp_buf jump;
void* volatile seen_address = nullptr;

void jump_out(int, siginfo_t* info, void*) {
  seen_address = info->si_addr;
  siglongjmp(jump, 1);
}

void print_address(int, siginfo_t* info, void*) {
  std::fprintf(stderr, "crashed at %p\n", info->si_addr);
  _exit(9);
}

struct Installed {
  explicit Installed(void (*handler)(int, siginfo_t*, void*)) {
    struct sigaction action {};
    action.sa_sigaction = handler;
    action.sa_flags = SA_SIGINFO;
    ::sigaction(SIGSEGV, &action, &before);
  }
  ~Installed() { ::sigaction(SIGSEGV, &before, nullptr); }
  struct sigaction before {};
};

bool faults(volatile std::uint64_t* address) {
  if (sigsetjmp(jump, 1) != 0) return true;
  (void)*address;
  return false;
}

/// A server that declines everything; page 2 is closed.
struct Declining : Server {
  Declining() {
    tracker().start(base(), pages * page, [](std::byte*, FaultKind) { return FaultResult::not_ours; });
    set(2, Protection::none);
  }
};

TEST_F(Userfaultfd, WhatTheServerDeclinesIsASegmentationFaultWithItsAddress) {
  const Installed earlier(&jump_out);
  Declining server;

  EXPECT_TRUE(faults(server.word(2, 3)));

  EXPECT_EQ(seen_address, server.word(2, 3));
  server.stop();
}

TEST_F(Userfaultfd, WhatTheServerDeclinesIsAnErrorOfASystemCall) {
  Declining server;
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  EXPECT_EQ(::write(ends[1], const_cast<std::uint64_t*>(server.word(2)), 8), -1);
  EXPECT_EQ(errno, EFAULT);
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST_F(UserfaultfdDeathTest, ARealSegmentationFaultIsOne) {
  EXPECT_EXIT(
      {
        Server server;
        server.start();
        *reinterpret_cast<volatile int*>(0x4240) = 1;
      },
      ::testing::KilledBySignal(SIGSEGV), "");
}

TEST_F(UserfaultfdDeathTest, ARealSegmentationFaultKeepsItsAddress) {
  EXPECT_EXIT(
      {
        const Installed earlier(&print_address);
        Server server;
        server.start();
        *reinterpret_cast<volatile int*>(0x4240) = 1;
      },
      ::testing::ExitedWithCode(9), "crashed at 0x4240");
}

TEST_F(UserfaultfdDeathTest, AFaultThatIsDeclinedCrashes) {
  EXPECT_EXIT(
      {
        Declining server;
        (void)*server.word(2);
      },
      ::testing::KilledBySignal(SIGSEGV), "");
}

TEST_F(UserfaultfdDeathTest, AFaultInsideTheRuntimeNamesTheArray) {
  EXPECT_EXIT(
      {
        Server server;
        server.start();
        server.make_stale(0);
        const RuntimeScope outer;
        { const RuntimeScope inner; }
        (void)*server.word(0);
      },
      ::testing::KilledBySignal(SIGABRT), "SemCache's own code.*'toy array'.*semcache::access");
}

TEST_F(UserfaultfdDeathTest, AFaultOfTheServiceThreadNamesTheArray) {
  EXPECT_EXIT(
      {
        Server server;
        server.before = [&](std::byte*) { (void)*server.word(1); };
        server.start();
        server.make_stale(0);
        server.make_stale(1);
        (void)*server.word(0);
      },
      ::testing::KilledBySignal(SIGABRT), "SemCache's own code.*'toy array'");
}

TEST_F(UserfaultfdDeathTest, AFaultThatIsNotServedEndsWithAMessage) {
  EXPECT_EXIT(
      {
        Server server(1);
        server.before = [](std::byte*) { ::pause(); };
        server.start();
        server.make_stale(0);
        (void)*server.word(0);
      },
      ::testing::KilledBySignal(SIGABRT), "'toy array'.*not served for 1 s");
}

TEST_F(UserfaultfdDeathTest, ASystemCallThatIsNotServedEndsWithAMessage) {
  EXPECT_EXIT(
      {
        Server server(1);
        server.before = [](std::byte*) { ::pause(); };
        server.start();
        server.make_stale(0);
        // Into the file of the message itself, whose lock it holds.
        if (::write(2, const_cast<std::uint64_t*>(server.word(0)), 8) < 0) ::pause();
      },
      ::testing::KilledBySignal(SIGABRT), "'toy array'.*not served for 1 s");
}

TEST_F(UserfaultfdDeathTest, AFaultInsideTheDriverEndsAtOnceWithAMessage) {
  EXPECT_EXIT(
      {
        const FakeDriver driver;
        Server server(60);
        server.start();
        server.make_stale(0);
        (void)driver.read(reinterpret_cast<const volatile int*>(server.word(0)));
      },
      ::testing::KilledBySignal(SIGABRT), "GPU driver itself.*'toy array'.*semcache::access");
}

#if defined(__x86_64__)  // elsewhere the system does not tell where a leaf returns to: the patience ends it
TEST_F(UserfaultfdDeathTest, ACopyByTheDriverThroughTheCLibraryIsTheDriver) {
  EXPECT_EXIT(
      {
        const FakeDriver driver;
        Server server(60);
        server.start();
        server.make_stale(0);
        char to[256];
        // Not memcpy: sanitizers put their own in front of it.
        driver.copy(to, const_cast<std::uint64_t*>(server.word(0)), sizeof to, &::mempcpy);
      },
      ::testing::KilledBySignal(SIGABRT), "GPU driver itself.*'toy array'");
}
#endif

TEST_F(Userfaultfd, ACopyByTheProgramThroughTheCLibraryIsServed) {
  const FakeDriver driver;
  Server server;
  server.start();
  server.make_stale(0);
  std::uint64_t to[32];

  std::memcpy(to, const_cast<std::uint64_t*>(server.word(0)), sizeof to);

  EXPECT_EQ(to[31], Server::content(0));
}

// --- fork ------------------------------------------------------------------------------------------------------------

template <class Body>
int status_of(pid_t child, const Body& body) {
  if (child == 0) {
    body();
    _exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return status;
}

template <class Body>
int status_of_child(const Body& body) {
  return status_of(::fork(), body);
}

/// A child of which no library hears.
template <class Body>
int status_of_bare_child(const Body& body) {
  return status_of(static_cast<pid_t>(::syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr)), body);
}

bool ended_well(int status) { return WIFEXITED(status) && WEXITSTATUS(status) == 0; }

TEST_F(Userfaultfd, AForkedChildUsesFreshDataAndTheParentGoesOn) {
  Server server;
  server.start();
  for (std::uint64_t p = 0; p < 4; ++p) {
    server.make_stale(p);
    (void)*server.word(p);  // fresh and read-only
  }
  server.make_stale(5);
  server.set(6, Protection::read);  // never written: zeros
  *server.word(7) = 7;
  const int served = server.served;

  const auto child = [&] {
    if (*server.word(1) != Server::content(1)) _exit(1);
    int ends[2];
    if (::pipe(ends) != 0 || ::write(ends[1], const_cast<std::uint64_t*>(server.word(2)), 8) != 8) _exit(2);
    if (::read(ends[0], const_cast<std::uint64_t*>(server.word(1, 1)), 8) != 8) _exit(3);
    *server.word(1) = 77;  // read-only, but the child's own
    *server.word(2) = 78;
    *server.word(7) = 79;
    if (*server.word(1) != 77 || *server.word(1, 1) != Server::content(2) || *server.word(2) != 78) _exit(4);
    if (*server.word(3) != Server::content(3) || *server.word(6) != 0 || *server.word(7) != 79) _exit(5);
  };
  int status = status_of_child(child);
  EXPECT_TRUE(ended_well(status)) << WEXITSTATUS(status);
  status = status_of_bare_child(child);
  EXPECT_TRUE(ended_well(status)) << WEXITSTATUS(status);

  EXPECT_EQ(server.served, served);
  EXPECT_EQ(*server.word(1), Server::content(1));
  EXPECT_EQ(*server.word(7), 7U);
  EXPECT_EQ(*server.word(5), Server::content(5));  // the parent is still served
  *server.word(1) = 5;
  EXPECT_EQ(*server.word(1), 5U);
}

TEST_F(Userfaultfd, AForkedChildCanExitWithoutWaitingForThreadsItDoesNotHave) {
  Server server;
  server.start();
  EXPECT_TRUE(ended_well(status_of_child([&] { server.stop(); })));
  EXPECT_TRUE(ended_well(status_of_bare_child([&] { server.stop(); })));
  server.make_stale(0);
  EXPECT_EQ(*server.word(0), Server::content(0));
}

TEST_F(UserfaultfdDeathTest, AStaleReadInAForkedChildEndsWithAMessage) {
  Server server;
  server.start();
  server.make_stale(0);
  for (std::uint64_t p = 2; p < 5; ++p) server.make_stale(p);
  (void)*server.word(3);

  // The death test's own child is the forked child.
  EXPECT_EXIT((void)*server.word(0), ::testing::KilledBySignal(SIGABRT), "forked child.*'toy array'.*settle");
  EXPECT_EXIT((void)(*server.word(4) = 1), ::testing::KilledBySignal(SIGABRT), "forked child.*'toy array'.*settle");
  EXPECT_EXIT(_exit(*server.word(3) == Server::content(3) ? 7 : 8), ::testing::ExitedWithCode(7), "");

  EXPECT_EQ(*server.word(0), Server::content(0));
}

TEST_F(Userfaultfd, AStaleReadInABareChildIsACrashAndNoZero) {
  Server server;
  server.start();
  server.make_stale(0);
  for (std::uint64_t p = 2; p < 5; ++p) server.make_stale(p);
  (void)*server.word(3);

  for (const std::uint64_t p : {0, 2, 4}) {
    const int status = status_of_bare_child([&] {
      ::signal(SIGSEGV, SIG_DFL);
      (void)*server.word(p);
    });
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV) << p << ": " << status;
  }
  EXPECT_EQ(*server.word(0), Server::content(0));
}

TEST_F(Userfaultfd, WhileOthersFaultAChildSeesWhatIsFresh) {
  Server server;
  server.start();
  server.make_stale(0);
  (void)*server.word(0);
  std::atomic<bool> go_on{true};
  std::thread others([&] {
    for (std::uint64_t i = 0; go_on; ++i) {
      server.make_stale(1 + i % 8);
      if (*server.word(1 + i % 8) != Server::content(1 + i % 8)) std::abort();
    }
  });
  for (int k = 0; k < 50; ++k) {
    const int status = status_of_child([&] {
      if (*server.word(0) != Server::content(0)) _exit(1);
    });
    EXPECT_TRUE(ended_well(status)) << k;
  }
  go_on = false;
  others.join();
}

}  // namespace
}  // namespace semcache::platform::testing
