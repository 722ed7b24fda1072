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

/// Pages of the host: reserving, protecting, reaching behind a protection, and noticing accesses.
namespace semcache::platform {

enum class Protection : std::uint8_t { none, read, read_write };

/// Reserves addresses that nobody can access and for which the process is charged nothing. May return less than asked for, halved until
/// it succeeds; `bytes` is updated. Aligned to 2 MiB. @throws SystemError
[[nodiscard]] SEMCACHE_API std::byte* reserve_addresses(std::uint64_t& bytes);

/// Contract of the host's memory. Threads: any. None of these touches the program's pages through their addresses.
class Platform {
 public:
  virtual ~Platform() = default;

  [[nodiscard]] virtual std::uint64_t page_bytes() const noexcept = 0;
  /// Most separate mappings that page protection may cause before mirrors become open (half of the kernel's limit).
  [[nodiscard]] virtual std::uint64_t mapping_limit() const noexcept = 0;
  /// Mappings of the process now; 0 where that is not known. Costs milliseconds.
  [[nodiscard]] virtual std::uint64_t mapping_count() const { return 0; }
  /// Numbers below are no addresses of data: 4 MiB, where ELF programs begin and below which no kernel places anything
  /// unasked, or the lowest mapping when the platform was made.
  [[nodiscard]] virtual std::uintptr_t lowest_address() const noexcept { return 0x10000; }
  /// See `reserve_addresses`.
  [[nodiscard]] virtual std::byte* reserve(std::uint64_t& bytes) = 0;
  virtual void release(std::byte* base, std::uint64_t bytes) noexcept = 0;
  /// The next of the reserved addresses, in ascending order, are used from now on: memory appears there at first touch and
  /// reads as zero. False where the system refuses (nothing changed that anybody notices).
  [[nodiscard]] virtual bool make_usable(std::byte* address, std::uint64_t bytes, Protection protection) noexcept {
    return protect(address, bytes, protection);
  }
  /// Sets the protection of whole pages. False when the kernel's limit on mappings was met (nothing changed then).
  [[nodiscard]] virtual bool protect(std::byte* address, std::uint64_t bytes, Protection protection) noexcept = 0;
  /// Drops the memory behind pages; they read as zero afterwards.
  virtual void discard(std::byte* address, std::uint64_t bytes) noexcept = 0;
  /// Asks for huge pages behind a large array.
  virtual void advise_huge(std::byte* address, std::uint64_t bytes) noexcept = 0;
  /// Reads or writes the program's pages whatever their protection, without opening them to other threads.
  virtual void write_behind(std::byte* to, const std::byte* from, std::uint64_t bytes) = 0;
  /// As write_behind, for pages that nobody has used yet (their content is lost) and whose protection is `protection`:
  /// huge pages can back them, which write_behind never gets. Slower only for less than a huge page.
  virtual void write_unused(std::byte* to, const std::byte* from, std::uint64_t bytes, Protection /*protection*/) {
    write_behind(to, from, bytes);
  }
  virtual void read_behind(std::byte* to, const std::byte* from, std::uint64_t bytes) = 0;
  /// Is lock_pages ever worth asking?
  [[nodiscard]] virtual bool locks_pages() const noexcept { return true; }
  /// Page-locks inaccessible pages so that a driver reaches them, but nobody else past their protection: `lock` sees them
  /// at another address, where they are accessible until it returns. Then they are where they were, inaccessible, and the
  /// other address stays reserved, without pages: it is what the driver calls them. A driver that is given the pages' own
  /// address knows nothing of them, and meets their protection as the program does.
  /// Nobody else uses, protects or gives back these pages meanwhile. Threads: any, for other pages.
  /// @return that address; nullptr where `lock` refuses or the system cannot (nothing has changed then)
  [[nodiscard]] virtual std::byte* lock_pages(std::byte* address, std::uint64_t bytes,
                                              const std::function<bool(std::byte*)>& lock) = 0;
  /// Gives back what lock_pages returned, after the driver has forgotten it.
  virtual void forget_locked(std::byte* /*address*/, std::uint64_t /*bytes*/) noexcept {}
  /// Is the page of `pointer` mapped in this process, and could it be written (heap, stack, globals)?
  /// The program's text and constants answer `constant`: they hold no arrays, but perhaps addresses of variables. All that the C and
  /// C++ libraries have answers `no_handles`.
  enum class Mapped : std::uint8_t { no, no_handles, constant, yes };
  [[nodiscard]] virtual Mapped classify(const void* pointer) const noexcept = 0;
  /// Is it text or a constant, whoever has it?
  [[nodiscard]] bool is_constant(const void* pointer) const noexcept {
    const Mapped mapped = classify(pointer);
    return mapped == Mapped::constant || mapped == Mapped::no_handles;
  }
  /// Copies bytes that may be inaccessible or not mapped at all. False: some of them could not be read.
  [[nodiscard]] virtual bool read(const void* /*from*/, void* /*to*/, std::uint64_t /*bytes*/) const noexcept { return false; }
  struct HostBlock {
    std::uintptr_t begin = 0;
    std::uint64_t bytes = 0;  ///< 0: there is none
    bool leads_nowhere = false;  ///< it is free, or a FILE
  };
  /// The block of the heap that begins there, with what `malloc` has added to it; none where the heap does not tell.
  [[nodiscard]] virtual HostBlock heap_block(const void* /*begin*/) const noexcept { return {}; }
  /// The block that holds the address, and perhaps others around: where that is in doubt it is never less.
  [[nodiscard]] virtual HostBlock heap_around(const void* /*inside*/) const noexcept { return {}; }
  /// What lies at `pointer`, for messages: "the stack", "'table' of ./program". Slow.
  [[nodiscard]] virtual std::string describe(const void* /*pointer*/) const { return "memory"; }
};

enum class FaultKind : std::uint8_t { read, write, unknown };
enum class FaultResult : std::uint8_t {
  served,      ///< the access can be repeated
  not_ours,    ///< not a tracked page, or a page whose protection already permits the access: a real crash
};

/// What a thread has told that it keeps from others until it goes on (`tell_holdings`): is what is asked for among it?
using Holds = std::function<bool(const void* holdings)>;
/// Of a thread that holds what somebody waits for.
enum class Holder : std::uint8_t {
  runs,                ///< as far as faults are concerned
  was_helped,          ///< it waited for a fault, which has been served
  waits_for_the_same,  ///< its own fault is the one, or one that waits for the one, that is being served: neither can go on
};

/// Notices accesses to protected pages. Replaceable: mprotect + SIGSEGV, userfaultfd, explicit only.
///
/// `serve` runs on the tracker's service thread (signals blocked); it may allocate, lock and wait for transfers.
/// It throws nothing. A fault outside [arena, arena + arena_bytes) goes to the handler that was installed before.
class Tracker {
 public:
  /// @param instruction  where the access is made; nullptr where the tracker does not know
  using Serve = std::function<FaultResult(std::byte* address, FaultKind kind, const void* instruction)>;
  virtual ~Tracker() = default;
  [[nodiscard]] virtual const char* name() const noexcept = 0;
  /// False: pages are never protected; every host access must be announced.
  [[nodiscard]] virtual bool notices() const noexcept = 0;
  virtual void start(std::byte* arena, std::uint64_t arena_bytes, Serve serve) = 0;
  /// Within `serve`, which waits for what some thread holds. Faults are served one after the other: where that thread waits for
  /// one itself, it comes first.
  /// @param where  set with `waits_for_the_same`: the address that the thread waits for
  [[nodiscard]] virtual Holder help_holder(const Holds& /*holds*/, const void*& /*where*/) { return Holder::runs; }
  /// Before `start`: faults in a second arena, which is protected by the program that owns it, are served as well.
  /// False: this tracker cannot.
  virtual bool also_watch(std::byte* /*arena*/, std::uint64_t /*arena_bytes*/) noexcept { return false; }
  /// Puts its signal handler, if it has one, back over any that was installed since, and chains that. Threads: any, not in
  /// handlers. Cost: a system call.
  virtual void stay_on_top() noexcept {}
  /// Restores handlers (where ours is still the installed one) and joins the service thread. Idempotent.
  virtual void stop() noexcept = 0;
};

/// Marks that this thread is inside the runtime: a fault now cannot be served and ends the process with a message
/// that says so, instead of a hang. Nests.
class SEMCACHE_API RuntimeScope {
 public:
  RuntimeScope() noexcept;
  ~RuntimeScope();
  RuntimeScope(const RuntimeScope&) = delete;
  RuntimeScope& operator=(const RuntimeScope&) = delete;
};

/// Is the calling thread inside one, or the tracker's own?
[[nodiscard]] SEMCACHE_API bool inside_runtime() noexcept;

/// From now on `*holdings` is what the calling thread holds (nullptr: nothing); as long as the thread lives. Known to `Holds`.
SEMCACHE_API void tell_holdings(const std::atomic<const void*>* holdings);

/// Names the array at a faulting address for messages (label, or nullptr); allocation-free, async-signal-safe.
using LabelLookup = const char* (*)(const void* address);
SEMCACHE_API void set_label_lookup(LabelLookup lookup) noexcept;

[[nodiscard]] SEMCACHE_API std::unique_ptr<Platform> make_linux_platform();
/// SIGSEGV and mprotect. @param patience_s  a fault not served for so long ends the process with a message
///                                          (a fault inside the driver can never be served), never in a hang.
[[nodiscard]] SEMCACHE_API std::unique_ptr<Tracker> make_mprotect_tracker(unsigned patience_s);
/// Pages and who notices accesses to them, where these belong together. The tracker is stopped before the platform
/// ends.
struct Pages {
  std::unique_ptr<Platform> platform;
  std::unique_ptr<Tracker> tracker;
};
/// userfaultfd: what the kernel does for a thread (read, write, send ...) is noticed and served, too.
/// @throws ConfigurationError  the system refuses it; the text says why and how it is permitted
[[nodiscard]] SEMCACHE_API Pages make_userfaultfd_pages(unsigned patience_s);
/// Nothing is noticed: programs announce host accesses with semcache::access.
[[nodiscard]] SEMCACHE_API std::unique_ptr<Tracker> make_explicit_tracker();

}  // namespace semcache::platform
