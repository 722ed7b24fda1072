// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include "undisturbed.hpp"  // of packages/syscalls

#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <new>
#include <utility>

/// Memory for the records of this library, which must not come from malloc, and calls that pass over those that this library interposes.
namespace semcache::blas {
namespace own {

inline void* map(std::size_t bytes) noexcept {
  const long at = ::syscall(SYS_mmap, nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return at == -1 ? nullptr : reinterpret_cast<void*>(at);
}
inline void unmap(void* at, std::size_t bytes) noexcept { (void)::syscall(SYS_munmap, at, bytes); }
inline void* remap(void* at, std::size_t bytes, std::size_t now) noexcept {
  const long to = ::syscall(SYS_mremap, at, bytes, now, MREMAP_MAYMOVE);
  return to == -1 ? nullptr : reinterpret_cast<void*>(to);
}
inline void advise(void* at, std::size_t bytes, int advice) noexcept { (void)::syscall(SYS_madvise, at, bytes, advice); }

}  // namespace own

/// The lock of all records. A thread that forks holds it from our handler before to the one after, and passes meanwhile: handlers of other
/// libraries may run in between where this library was loaded later than they, and they allocate and free. A signal handler that forks may have
/// interrupted its thread while that had the lock, or was about to get it: the thread has it, or goes on, in both processes.
class RecordsMutex {
 public:
  void lock() noexcept {
    if (of_thread_.forks > 0) return;
    of_thread_.wants = true;
    mutex_.lock();
  }
  void unlock() noexcept {
    if (of_thread_.forks > 0) return;
    mutex_.unlock();
    of_thread_.wants = false;
  }
  void hold_for_fork() noexcept {
    if (of_thread_.forks++ == 0 && !of_thread_.wants) mutex_.lock();
  }
  /// @pre this thread has called `hold_for_fork` once more
  void let_go_after_fork() noexcept {
    if (--of_thread_.forks == 0 && !of_thread_.wants) mutex_.unlock();
  }
  /// In a child whose parent did not hold it, because this library was loaded while it forked: another thread may have had it.
  void of_nobody_in_child() noexcept {
    if (!of_thread_.wants) new (&mutex_) std::mutex;
  }
  /// Returns how many forks of this thread, each in a handler of the one before, hold it.
  [[nodiscard]] static int forks_of_this_thread() noexcept { return of_thread_.forks; }

 private:
  struct OfThread {
    int forks;   ///< those within each other that hold it
    bool wants;  ///< it has the lock, or waits for it
  };
  // It is read within malloc, so its access must not allocate.
  [[gnu::tls_model("initial-exec")]] static inline thread_local OfThread of_thread_{0, false};
  std::mutex mutex_;
};
inline RecordsMutex records_mutex;

/// Has the lock of all records. Meanwhile no handler of the program interrupts this thread: a signal may stop it for long, as garbage collectors do, and
/// other threads, which wait for the lock with their signals blocked, could not be stopped then.
class RecordsLock {
 public:
  explicit RecordsLock(RecordsMutex& mutex) noexcept : mutex_(mutex) {
    if (signals_blocked == 0) syscalls::change_mask(SIG_BLOCK, syscalls::all_but_faults, &before_);
    mutex_.lock();
  }
  ~RecordsLock() {
    mutex_.unlock();
    if (signals_blocked == 0) syscalls::change_mask(SIG_SETMASK, before_, nullptr);
  }
  RecordsLock(const RecordsLock&) = delete;
  RecordsLock& operator=(const RecordsLock&) = delete;

  /// While it lives, this thread's signals are blocked anyway.
  struct Blocked {
    Blocked() noexcept { ++signals_blocked; }
    ~Blocked() { --signals_blocked; }
    Blocked(const Blocked&) = delete;
    Blocked& operator=(const Blocked&) = delete;
  };

 private:
  [[gnu::tls_model("initial-exec")]] static inline thread_local int signals_blocked = 0;
  RecordsMutex& mutex_;
  syscalls::Signals before_ = 0;
};

/// Hands out the nodes of one map, from pages of their own. The records' lock is held.
template <class T>
struct OwnNodes {
  using value_type = T;
  union Node {
    Node* next;
    alignas(T) unsigned char bytes[sizeof(T)];
  };
  static inline Node* free_nodes = nullptr;

  OwnNodes() noexcept = default;
  template <class U>
  OwnNodes(const OwnNodes<U>&) noexcept {}
  T* allocate(std::size_t) {
    if (free_nodes == nullptr) {
      constexpr std::size_t bytes = 64 * 1024;
      auto* const nodes = static_cast<Node*>(own::map(bytes));
      if (nodes == nullptr) throw std::bad_alloc();
      for (std::size_t i = 0; i < bytes / sizeof(Node); ++i) free_nodes = new (&nodes[i]) Node{free_nodes};
    }
    Node* const node = free_nodes;
    free_nodes = node->next;
    return reinterpret_cast<T*>(node);
  }
  void deallocate(T* memory, std::size_t) noexcept {
    free_nodes = new (memory) Node{free_nodes};
  }
  friend bool operator==(const OwnNodes&, const OwnNodes&) noexcept { return true; }
  friend bool operator!=(const OwnNodes&, const OwnNodes&) noexcept { return false; }
};

/// Records that are made at their first use, under the lock, and live as long as the process, because blocks are freed after its statics have
/// ended. For objects of static storage alone: no constructor runs at the start, where malloc is called already.
template <class T>
class Lasting {
 public:
  [[nodiscard]] T& get() noexcept {
    if (!made_) {
      new (storage_) T;
      made_ = true;
    }
    return *std::launder(reinterpret_cast<T*>(storage_));
  }

 private:
  alignas(T) unsigned char storage_[sizeof(T)];
  bool made_;  // zero
};

}  // namespace semcache::blas
