// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
//
// Functions that wait for files. Their masks leave SIGSEGV open, and the kernel reads and fills memory of this library's: the program's may be
// protected, or become so while a thread waits, because a result of BLAS lies on the same page.
#include "next.hpp"  // of packages/syscalls
#include "open_mask.hpp"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>

#include <algorithm>
#include <cerrno>

using semcache::blas::Open;

namespace {

constexpr std::size_t most = 64;

/// A copy of what the program has; of more than `most` elements none, and the program's own goes to the kernel.
template <class T>
class Private {
 public:
  Private(T* of, std::size_t count) noexcept : of_(of), count_(of == nullptr || count > most ? 0 : count) { std::copy_n(of, count_, copy_); }
  [[nodiscard]] T* get() noexcept { return count_ == 0 ? of_ : copy_; }
  /// Calls `bring(program's, copied)` for the first elements.
  template <class Bring>
  void bring_back(std::size_t elements, const Bring& bring) const noexcept {
    for (std::size_t i = 0; i < std::min(elements, count_); ++i) bring(of_[i], copy_[i]);
  }

 private:
  T* of_;
  std::size_t count_;
  T copy_[most];
};

/// Calls `wait(files)`. Only what has come is the kernel's to write.
template <class Wait>
int wait_for(pollfd* files, std::size_t count, const Wait& wait) {
  Private<pollfd> own(files, count);
  const int result = wait(own.get());
  own.bring_back(count, [](pollfd& to, const pollfd& from) { to.revents = from.revents; });
  return result;
}

/// Calls `wait(events, count)`. Fewer events than there is room for are right, too.
template <class Wait>
int wait_for(epoll_event* events, int count, const Wait& wait) {
  if (events == nullptr || count <= 0) return wait(events, count);
  epoll_event own[most];
  const int result = wait(own, std::min(count, static_cast<int>(most)));
  if (result > 0) std::copy_n(own, result, events);
  return result;
}

/// Calls `wait(sets...)`.
template <class Wait>
int wait_for(int count, fd_set* read, fd_set* write, fd_set* other, const Wait& wait) {
  const std::size_t words = count <= 0 ? 0 : (static_cast<std::size_t>(count) + 63) / 64;
  const auto words_of = [](fd_set* set) { return reinterpret_cast<long*>(set); };
  const auto set_of = [](long* set) { return reinterpret_cast<fd_set*>(set); };
  Private<long> own[] = {{words_of(read), words}, {words_of(write), words}, {words_of(other), words}};
  const int result = wait(set_of(own[0].get()), set_of(own[1].get()), set_of(own[2].get()));
  if (result < 0) return result;
  for (const Private<long>& set : own) set.bring_back(words, [](long& to, long from) { to = from; });
  return result;
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

int poll(pollfd* files, nfds_t count, int timeout) {
  return wait_for(files, count, [&](pollfd* own) { return SEMCACHE_NEXT(poll)(own, count, timeout); });
}
int ppoll(pollfd* files, nfds_t count, const timespec* timeout, const sigset_t* set) {
  return wait_for(files, count, [&](pollfd* own) { return SEMCACHE_NEXT(ppoll)(own, count, timeout, Open(set).get()); });
}
// What they are in programs that are compiled with _FORTIFY_SOURCE.
int __poll_chk(pollfd* files, nfds_t count, int timeout, std::size_t bytes) {  // NOLINT
  return wait_for(files, count * sizeof(pollfd) > bytes ? 0 : count,
                  [&](pollfd* own) { return SEMCACHE_NEXT(__poll_chk)(own, count, timeout, bytes); });
}
int __ppoll_chk(pollfd* files, nfds_t count, const timespec* timeout, const sigset_t* set, std::size_t bytes) {  // NOLINT
  return wait_for(files, count * sizeof(pollfd) > bytes ? 0 : count,
                  [&](pollfd* own) { return SEMCACHE_NEXT(__ppoll_chk)(own, count, timeout, Open(set).get(), bytes); });
}

int epoll_wait(int epoll, epoll_event* events, int count, int timeout) {
  return wait_for(events, count, [&](epoll_event* own, int room) { return SEMCACHE_NEXT(epoll_wait)(epoll, own, room, timeout); });
}
int epoll_pwait(int epoll, epoll_event* events, int count, int timeout, const sigset_t* set) {
  return wait_for(events, count, [&](epoll_event* own, int room) { return SEMCACHE_NEXT(epoll_pwait)(epoll, own, room, timeout, Open(set).get()); });
}
int epoll_pwait2(int epoll, epoll_event* events, int count, const timespec* timeout, const sigset_t* set) {
  const timespec time = timeout != nullptr ? *timeout : timespec{};
  return wait_for(events, count, [&](epoll_event* own, int room) {
    return SEMCACHE_NEXT(epoll_pwait2)(epoll, own, room, timeout != nullptr ? &time : nullptr, Open(set).get());
  });
}

int select(int count, fd_set* read, fd_set* write, fd_set* other, timeval* timeout) {
  return wait_for(count, read, write, other, [&](fd_set* r, fd_set* w, fd_set* o) { return SEMCACHE_NEXT(select)(count, r, w, o, timeout); });
}
int pselect(int count, fd_set* read, fd_set* write, fd_set* other, const timespec* timeout, const sigset_t* set) {
  return wait_for(count, read, write, other, [&](fd_set* r, fd_set* w, fd_set* o) {
    return SEMCACHE_NEXT(pselect)(count, r, w, o, timeout, Open(set).get());
  });
}

}  // extern "C"
#pragma GCC visibility pop
