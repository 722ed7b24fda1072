// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "children.hpp"

#include "undisturbed.hpp"  // of packages/syscalls

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <mutex>
#include <new>
#include <utility>

namespace semcache::blas::children {
namespace {

/// A descriptor of this library's. The program may close it, and get its number for a file of its own, so each use looks at what the number means.
struct End {
  int file = -1;
  dev_t device = 0;
  ino_t inode = 0;

  [[nodiscard]] bool is_one_of(int number) const noexcept {
    struct stat found {};
    return number >= 0 && ::fstat(number, &found) == 0 && S_ISFIFO(found.st_mode) && found.st_dev == device && found.st_ino == inode;
  }
  [[nodiscard]] bool is_open() const noexcept { return file >= 0 && is_one_of(file); }
};

std::mutex mutex;
End reading;                    ///< the pipe, where this process waits for its end
std::atomic<bool> some{false};  ///< is there one?
/// What the child will have, while this thread forks.
[[gnu::tls_model("initial-exec")]] thread_local End given;
[[gnu::tls_model("initial-exec")]] thread_local int depth = 0;  ///< forks of this thread within each other, in handlers: their children share `given`

void close(End end) noexcept {
  if (end.is_open()) ::close(end.file);
}

/// Programs count on low numbers: a new file gets the lowest one. So the pipe's are below the limit of select(), or of the process.
/// @param number  is closed  @return the new number; -1 if there is none
int moved_up(int number) noexcept {
  struct rlimit limit {};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  const int least = static_cast<int>(std::min<rlim_t>(limit.rlim_cur, 1024)) * 7 / 8;
  const int high = number < 0 ? -1 : ::fcntl(number, F_DUPFD_CLOEXEC, least);
  if (number >= 0) ::close(number);
  return high;
}

End end_at(int number) noexcept {
  struct stat found {};
  return number < 0 || ::fstat(number, &found) != 0 ? End{} : End{number, found.st_dev, found.st_ino};
}

void make_pipe() noexcept {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return;
  const End read = end_at(moved_up(ends[0])), write = end_at(moved_up(ends[1]));
  if (read.file < 0 || write.file < 0) {
    close(read);
    close(write);
    return;
  }
  reading = read;
  given = write;
}

/// One more end of the pipe.
void open_again() noexcept {
  char name[32];
  std::snprintf(name, sizeof name, "/proc/self/fd/%d", reading.file);
  const int number = moved_up(::open(name, O_WRONLY | O_NONBLOCK | O_CLOEXEC));
  if (reading.is_one_of(number)) given = {number, reading.device, reading.inode};
  else if (number >= 0) ::close(number);
}

}  // namespace

void before_fork() noexcept {
  if (depth++ > 0) return;
  const syscalls::Uncancelled uncancelled;
  const std::lock_guard<std::mutex> lock(mutex);
  if (reading.is_open()) {
    open_again();
  } else {
    reading = {};
    make_pipe();
  }
  some = reading.file >= 0;
}

void after_fork() noexcept {
  if (--depth > 0) return;
  const syscalls::Uncancelled uncancelled;
  close(std::exchange(given, {}));
}

void in_child() noexcept {
  const syscalls::Uncancelled uncancelled;
  new (&mutex) std::mutex;  // a thread of the parent may have had it
  close(std::exchange(reading, {}));
  some = false;
  depth = 0;
  given = {};  // open until the child ends
}

bool any_lives() noexcept {
  if (!some.load(std::memory_order_relaxed)) return false;
  const syscalls::Uncancelled uncancelled;
  const std::lock_guard<std::mutex> lock(mutex);
  if (reading.is_open()) {
    pollfd end{reading.file, 0, 0};
    constexpr timespec now{};
    // poll() is interposed here.
    if (::syscall(SYS_ppoll, &end, 1, &now, nullptr, 0) != 1 || (end.revents & POLLHUP) == 0) return true;
    ::close(reading.file);
  }
  reading = {};
  some = false;
  return false;
}

}  // namespace semcache::blas::children
