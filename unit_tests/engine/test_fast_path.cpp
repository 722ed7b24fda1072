// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "program.hpp"

#include <gtest/gtest.h>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <thread>

/// A check that finds nothing to do takes no lock of others and makes no system call: a thread that may make none (the
/// kernel ends it at the first) does it while another one is inside the engine.
namespace semcache::fakes {
namespace {

using engine::Memory;
using engine::Operand;
using engine::Requirement;

const std::uint64_t size = page_bytes();
char stream;
char lane;

/// A place where a thread stays until it is let go.
class Gate {
 public:
  void stay() {
    std::unique_lock lock(mutex_);
    reached_ = true;
    changed_.notify_all();
    changed_.wait(lock, [this] { return open_; });
  }
  void wait_until_reached() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return reached_; });
  }
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool reached_ = false, open_ = false;
};

/// This thread may end itself, and make no other system call. False: the system does not permit that.
bool forbid_system_calls() {
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_THREAD),
  };
  const sock_fprog program{sizeof filter / sizeof filter[0], filter};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/// Has `body` come to its end without a system call?
template <class Body>
bool ends_without_system_call(const Body& body) {
  std::atomic<bool> permitted{true}, ended{false};
  std::thread thread([&] {
    if (!forbid_system_calls()) {
      permitted.store(false);
      return;
    }
    body();
    ended.store(true);
    ::syscall(SYS_exit, 0);  // of the thread; the library's way out makes other calls
  });
  thread.join();
  EXPECT_TRUE(permitted.load()) << "this system forbids seccomp";
  return ended.load();
}

struct FastPath : testing::Test {
  void SetUp() override {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "a sanitizer's own system calls end the thread";
#endif
    bool permitted = false;
    std::thread([&] {
      permitted = forbid_system_calls();
      if (permitted) ::syscall(SYS_exit, 0);
    }).join();
    if (!permitted) GTEST_SKIP() << "this system does not permit a seccomp filter";
    for (int i = 0; i < 500; ++i) {
      p.on_device(size);
      p.on_host(size);
    }
    p.host_write(host, host.all(), 1);
    p.kernel_write(&stream, device, device.all(), 2);
    p.launch(&stream, {{&device, true}}, [] {});  // the flags of what a launch wrote are set behind it
    queue = p.queue(&stream);
  }
  void access() { p.engine().access(host, host.all(), Access::read_write); }
  void launch() {
    const Operand operand{&device, true};
    p.engine().launches.begin_launch(queue, &operand, 1);
    p.engine().launches.end_launch(queue, &operand, 1);
  }

  /// Makes the tile ready for tasks that use all of it: a task does what is needed, with the lock, until the next one needs nothing.
  void prepare(Memory& tile, Access mode) {
    for (int i = 0; i < 3; ++i) {
      const Operand operand{&tile, writes(mode)};
      Requirement part{&tile, tile.all(), mode};
      const bool in_part = p.engine().launches.begin_launch(lane_queue, &operand, 1, {&part, 1});
      p.engine().launches.end_launch(lane_queue, &operand, 1, all_devices, {&part, in_part ? 1u : 0u});
    }
  }
  /// A task on a lane that uses all of a tile.
  void task(Memory& tile, Access mode) {
    const Operand operand{&tile, writes(mode)};
    Requirement part{&tile, tile.all(), mode};
    const bool in_part = p.engine().launches.begin_launch(lane_queue, &operand, 1, {&part, 1});
    EXPECT_EQ(in_part, false) << "the lock was needed";
    p.engine().launches.end_launch(lane_queue, &operand, 1);
  }

  Program p;
  Memory& host = p.on_host(size);
  Memory& device = p.on_device(size);
  engine::QueueIndex queue{};
  engine::QueueIndex lane_queue = p.engine().adopt_lane(0, &lane, {});
};

TEST_F(FastPath, TheTestSeesSystemCalls) {
  EXPECT_FALSE(ends_without_system_call([] { ::syscall(SYS_getppid); }));
}

TEST_F(FastPath, NeedsNoSystemCallAndNobodysLock) {
  Memory& source = p.on_device(size);
  Memory& stale = p.on_host(size);
  Memory& other = p.on_host(size);
  p.kernel_write(&stream, source, source.all(), 3);
  p.copy(stale, source);
  Memory& matrix = p.on_host(size);
  p.host_write(matrix, matrix.all(), 4);
  Memory& tile = p.engine().tiles.acquire(0, matrix, matrix.all());
  prepare(tile, Access::overwrite);
  Gate gate;
  p.platform().refuse_protect = [&](const std::byte*, std::uint64_t, platform::Protection) {
    gate.stay();
    return false;
  };
  std::thread inside([&] { p.engine().access(other, other.all(), Access::write); });
  gate.wait_until_reached();

  EXPECT_TRUE(ends_without_system_call([this] {
    for (int i = 0; i < 1000; ++i) access();
  }));
  EXPECT_TRUE(ends_without_system_call([this] {
    for (int i = 0; i < 1000; ++i) launch();
  }));
  EXPECT_TRUE(ends_without_system_call([&] {
    for (const Access mode : {Access::read, Access::read_write, Access::overwrite}) {
      for (int i = 0; i < 1000; ++i) task(tile, mode);
    }
  }));
  EXPECT_FALSE(ends_without_system_call([&] { p.engine().access(stale, stale.all(), Access::read); })) << "the lock was free";

  gate.open();
  inside.join();
  p.platform().refuse_protect = nullptr;
  p.engine().tiles.release(tile);
}

}  // namespace
}  // namespace semcache::fakes
