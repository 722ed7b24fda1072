// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/base/error.hpp>
#include <semcache/base/types.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

/// Pages of the host: reserving addresses, protecting pages, reading and writing past a protection, and noticing accesses.
/// "The arena" is the reserved range of addresses in which the runtime places the host sides (mirrors) of all tracked arrays.
namespace semcache::platform {

enum class Protection : std::uint8_t { none, read, read_write };

/// Reserves addresses that no thread can access; the process is charged no memory for them. They are aligned to 2 MiB.
/// @param bytes  how many are wanted; set to how many were reserved. That may be fewer: the size is halved until the system
///   agrees.
/// @throws SystemError
[[nodiscard]] SEMCACHE_API std::byte* reserve_addresses(std::uint64_t& bytes);

/// Contract of the host's memory. Threads: any. No member accesses the program's pages through the program's own addresses.
class Platform {
 public:
  virtual ~Platform() = default;

  [[nodiscard]] virtual std::uint64_t page_bytes() const noexcept = 0;
  /// Returns how many separate mappings page protection may cause before mirrors become open: half of the kernel's limit.
  [[nodiscard]] virtual std::uint64_t mapping_limit() const noexcept = 0;
  /// Returns how many mappings the process has now; 0 where that is not known. Cost: milliseconds.
  [[nodiscard]] virtual std::uint64_t mapping_count() const { return 0; }
  /// Returns the smallest number that can be an address of data. On Linux that is 4 MiB (ELF programs begin there, and no kernel
  /// places anything below unasked), or the address of the lowest mapping at the platform's construction, whichever is smaller.
  [[nodiscard]] virtual std::uintptr_t lowest_address() const noexcept { return 0x10000; }
  /// Reserves the arena's addresses; see `reserve_addresses`.
  [[nodiscard]] virtual std::byte* reserve(std::uint64_t& bytes) = 0;
  virtual void release(std::byte* base, std::uint64_t bytes) noexcept = 0;
  /// Makes reserved addresses usable. Calls must follow each other in ascending order of addresses. Memory appears at the first
  /// touch and reads as zero. Returns false where the system refuses; no effect of the call is visible then.
  [[nodiscard]] virtual bool make_usable(std::byte* address, std::uint64_t bytes, Protection protection) noexcept {
    return protect(address, bytes, protection);
  }
  /// Sets the protection of whole pages. Returns false, and has changed nothing, when the kernel's limit on mappings was met. A
  /// failure after which the protection is unknown ends the process (I8).
  [[nodiscard]] virtual bool protect(std::byte* address, std::uint64_t bytes, Protection protection) noexcept = 0;
  /// Tells why pages of [address, address + bytes), memory of the program's own, must not be protected; an empty text if they may.
  /// They may be private memory of the process alone, which can be read and written and not executed: from malloc, from an anonymous
  /// mmap, or the static data of a program or library. The result is "what is there", for a message. Cost: O(mappings).
  [[nodiscard]] virtual std::string why_not_adoptable(const std::byte* /*address*/, std::uint64_t /*bytes*/) const {
    return "on a platform that protects its own memory only";
  }
  /// Is every page of [address, address + bytes) mapped? Returns true where that is not known. Whole pages.
  [[nodiscard]] virtual bool is_mapped(const std::byte* /*address*/, std::uint64_t /*bytes*/) const noexcept { return true; }
  /// Returns what the page at `address` permits now, whoever has set it; `read_write` where that is not known. Cost: O(mappings).
  [[nodiscard]] virtual Protection protection_at(const std::byte* /*address*/) const noexcept { return Protection::read_write; }
  /// Drops the memory behind pages. They read as zero afterwards.
  virtual void discard(std::byte* address, std::uint64_t bytes) noexcept = 0;
  /// Asks the system for huge pages behind a large array. A refusal has no effect.
  virtual void advise_huge(std::byte* address, std::uint64_t bytes) noexcept = 0;
  /// Writes to the program's pages whatever their protection (`read_behind` reads), without opening them to other threads.
  virtual void write_behind(std::byte* to, const std::byte* from, std::uint64_t bytes) = 0;
  /// Writes as `write_behind` does, to pages that have not been used yet (their content is lost) and whose protection is
  /// `protection`. Huge pages can back the result, which `write_behind` never achieves. It is slower only for less than a huge
  /// page.
  virtual void write_unused(std::byte* to, const std::byte* from, std::uint64_t bytes, Protection /*protection*/) {
    write_behind(to, from, bytes);
  }
  virtual void read_behind(std::byte* to, const std::byte* from, std::uint64_t bytes) = 0;
  /// Returns false where `lock_pages` refuses every call.
  [[nodiscard]] virtual bool locks_pages() const noexcept { return true; }
  /// Page-locks inaccessible pages so that a driver reaches them, while their protection still holds for everything else. `lock`
  /// gets the pages at another address, where they are accessible until it returns. Then the pages are back at their own address,
  /// inaccessible. The other address stays reserved, without pages: it is the name by which the driver knows them. A driver that
  /// is given the pages' own address does not recognise them, and meets their protection as the program does.
  /// @pre no other thread uses, protects or frees these pages during the call. Threads: any, for other pages.
  /// @return the other address; nullptr where `lock` refuses or the system cannot do it (nothing has changed then)
  [[nodiscard]] virtual std::byte* lock_pages(std::byte* address, std::uint64_t bytes,
                                              const std::function<bool(std::byte*)>& lock) = 0;
  /// Frees an address that `lock_pages` returned. The driver must have unregistered it before.
  virtual void forget_locked(std::byte* /*address*/, std::uint64_t /*bytes*/) noexcept {}
  /// The answers of `classify`: `no`, where no page is mapped; `constant` for text and constants of the program and its
  /// libraries, which hold no arrays but perhaps addresses of variables; `no_handles` for everything inside the C and C++
  /// libraries; `yes` for memory that can be written (heap, stack, globals), and where the answer is not known.
  enum class Mapped : std::uint8_t { no, no_handles, constant, yes };
  [[nodiscard]] virtual Mapped classify(const void* pointer) const noexcept = 0;
  /// Returns whether the pointer leads to text or a constant, or to anything inside the C and C++ libraries.
  [[nodiscard]] bool is_constant(const void* pointer) const noexcept {
    const Mapped mapped = classify(pointer);
    return mapped == Mapped::constant || mapped == Mapped::no_handles;
  }
  /// Copies bytes that may be inaccessible or not mapped at all. Returns false where some of them could not be read.
  [[nodiscard]] virtual bool read(const void* /*from*/, void* /*to*/, std::uint64_t /*bytes*/) const noexcept { return false; }
  struct HostBlock {
    std::uintptr_t begin = 0;
    std::uint64_t bytes = 0;  ///< 0: no block was found
    bool leads_nowhere = false;  ///< the block is free, or a FILE: pointers in it lead to no array
  };
  /// Returns the block of the heap that begins at the address, with the bytes by which `malloc` has rounded its size up; an empty
  /// block where none begins there or the heap does not record its blocks. Where the address is that of a member within a block, numbers of the program in
  /// front of it and behind it may be taken for a block's: then the result is less than the block, and `heap_around` covers all of it.
  [[nodiscard]] virtual HostBlock heap_block(const void* /*begin*/) const noexcept { return {}; }
  /// Returns the block of the heap that holds the address. In doubt the result covers neighbouring blocks too; it is never less
  /// than the block.
  [[nodiscard]] virtual HostBlock heap_around(const void* /*inside*/) const noexcept { return {}; }
  /// Describes for messages what memory `pointer` leads to: "the stack", "'table' of ./program". Slow.
  [[nodiscard]] virtual std::string describe(const void* /*pointer*/) const { return "memory"; }
};

enum class FaultKind : std::uint8_t { read, write, unknown };
enum class FaultResult : std::uint8_t {
  served,      ///< the access can be repeated
  not_ours,    ///< not a tracked page, or a page whose protection already permits the access: a real crash
};

/// Asks about the holdings that a thread published with `tell_holdings`, that is, what the thread keeps from others until it
/// continues. Returns whether these include what is waited for.
using Holds = std::function<bool(const void* holdings)>;
/// The state of a thread that holds what a fault's service waits for.
enum class Holder : std::uint8_t {
  runs,                ///< the thread does not wait for a fault
  was_helped,          ///< the thread waited for a fault, which has now been served
  waits_for_the_same,  ///< the thread waits for the fault that is being served, or for one whose service waits for it: a deadlock
};

/// The thread whose access the calling thread serves (`Tracker::Serve`).
struct ServedThread {
  int number = 0;  ///< the kernel's number of it; 0: none is served, or the tracker does not know
};

/// Notices accesses to protected pages. Implementations: mprotect with SIGSEGV, userfaultfd, and one for explicit announcements.
///
/// `serve` runs on the tracker's service thread (signals blocked). It may allocate, lock and wait for transfers, and it must not
/// throw. A fault outside [arena, arena + arena_bytes), and outside what is watched besides, goes to the signal handler that was
/// installed before.
class Tracker {
 public:
  /// Meanwhile `per_thread<ServedThread>()` names the thread that made the access.
  /// @param instruction  the address of the instruction that made the access; nullptr where the tracker does not know it
  using Serve = std::function<FaultResult(std::byte* address, FaultKind kind, const void* instruction)>;
  virtual ~Tracker() = default;
  [[nodiscard]] virtual const char* name() const noexcept = 0;
  /// Returns false where pages are never protected, so that every host access must be announced.
  [[nodiscard]] virtual bool notices() const noexcept = 0;
  virtual void start(std::byte* arena, std::uint64_t arena_bytes, Serve serve) = 0;
  /// Called within `serve`, when it waits for something that another thread holds. Faults are served one after the other; if the
  /// holding thread waits for a fault itself, this call serves that fault first.
  /// @param where  set with `waits_for_the_same`: the address that the holding thread waits for
  [[nodiscard]] virtual Holder help_holder(const Holds& /*holds*/, const void*& /*where*/) { return Holder::runs; }
  /// To be called before `start`: faults in a second arena, whose owner protects it, are then served as well. Returns false where
  /// this tracker cannot do that.
  virtual bool also_watch(std::byte* /*arena*/, std::uint64_t /*arena_bytes*/) noexcept { return false; }
  /// From now on faults in these pages, which lie outside the arenas, are served as well. Any number of ranges may be watched.
  /// Returns false where this tracker cannot do that. @throws std::bad_alloc
  [[nodiscard]] virtual bool watch(const std::byte* /*pages*/, std::uint64_t /*bytes*/) { return false; }
  /// Ends that. @pre the pages are accessible, and are not protected any more
  virtual void unwatch(const std::byte* /*pages*/, std::uint64_t /*bytes*/) noexcept {}
  /// Reinstalls the tracker's signal handler, if it has one, over any handler that was installed since; our handler then chains
  /// to that one. Threads: any, not in signal handlers. Cost: a system call.
  virtual void stay_on_top() noexcept {}
  /// Restores the earlier handlers (where ours is still the installed one) and joins the service thread. Idempotent.
  virtual void stop() noexcept = 0;
};

/// Marks that this thread is inside the runtime for as long as the object lives. A fault of the thread cannot be served
/// meanwhile: it ends the process with a message that gives this reason, instead of a hang. Nests.
class SEMCACHE_API RuntimeScope : base::Uncopied {
 public:
  RuntimeScope() noexcept;
  ~RuntimeScope();
};

/// Returns whether the calling thread is inside a `RuntimeScope`, or is the tracker's service thread.
[[nodiscard]] SEMCACHE_API bool inside_runtime() noexcept;

/// Counts a call of the program's on the calling thread, until `end_call`, so that other threads learn of it by `others_call`. A thread
/// that stores a flag and then asks `others_call` does not miss a call that has not seen the flag.
/// @return how many calls of the thread were under way before. Cost: a fence, or a few instructions after `let_others_fence`
[[nodiscard]] SEMCACHE_API int begin_call() noexcept;
SEMCACHE_API void end_call() noexcept;
/// Returns how many calls of the calling thread are under way.
[[nodiscard]] SEMCACHE_API int calls_under_way() noexcept;
/// Returns whether another thread has a call under way. Cost: a look at each thread that was ever in a call, and some microseconds for the fences.
[[nodiscard]] SEMCACHE_API bool others_call() noexcept;
/// From now on `others_call` has the kernel fence all threads' processors, where it can (membarrier), and `begin_call` needs no fence.
SEMCACHE_API void let_others_fence() noexcept;

/// Publishes what the calling thread holds: from now on `*holdings` (nullptr: nothing), until the thread ends or calls again.
/// Trackers pass it to `Holds`.
SEMCACHE_API void tell_holdings(const std::atomic<const void*>* holdings);

/// Returns the label of the array at a faulting address for messages, or nullptr. Must be allocation-free and async-signal-safe.
using LabelLookup = const char* (*)(const void* address);
SEMCACHE_API void set_label_lookup(LabelLookup lookup) noexcept;

[[nodiscard]] SEMCACHE_API std::unique_ptr<Platform> make_linux_platform();
/// Makes the tracker that uses SIGSEGV and mprotect.
/// @param patience_s  a fault that is not served for so many seconds ends the process with a message, never in a hang (a fault
///                    inside the driver can never be served)
[[nodiscard]] SEMCACHE_API std::unique_ptr<Tracker> make_mprotect_tracker(unsigned patience_s);
/// A platform and a tracker that belong together. The tracker must be stopped before the platform is destroyed.
struct Pages {
  std::unique_ptr<Platform> platform;
  std::unique_ptr<Tracker> tracker;
};
/// Makes pages watched by userfaultfd. Accesses by the kernel on behalf of a thread (read, write, send ...) are noticed and
/// served, too.
/// @throws ConfigurationError  the system refuses userfaultfd; the text gives the reason, and how it is permitted
[[nodiscard]] SEMCACHE_API Pages make_userfaultfd_pages(unsigned patience_s);
/// Makes a tracker that notices nothing: programs announce their host accesses with semcache::access.
[[nodiscard]] SEMCACHE_API std::unique_ptr<Tracker> make_explicit_tracker();

}  // namespace semcache::platform
