// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/device/device.hpp>
#include <semcache/engine/operand.hpp>
#include <semcache/runtime/leads.hpp>
#include <semcache/semcache.hpp>

#include <array>
#include <memory>
#include <string>

namespace semcache::memory {
struct TransitBuffer;
}

/// What adapters (packages/*) call. The runtime starts at first use and ends with semcache::finalize.
/// Threads: any, unless stated. Addresses stay valid and stable from allocate to deallocate.
namespace semcache::runtime {

struct Runtime;

/// Which device the program's own framework computes on; asked when the runtime starts.
/// kind_forced: the framework can only use this kind (Kokkos without CUDA: emulated; with CUDA: cuda).
struct FrameworkDevice {
  bool kind_forced = false;
  device::DeviceKind kind = device::DeviceKind::emulated;
  int ordinal = 0;
  const char* framework = "this program";  ///< for messages: "Kokkos 4.7 (Cuda)"
};
/// Tells the runtime before its first use. Later calls must agree (ConfigurationError naming both otherwise).
SEMCACHE_API void use_framework_device(const FrameworkDevice& device);

// --- memory ------------------------------------------------------------------------------------------------------
/// A device array of `bytes` bytes, aligned to 512; its content is undefined and costs no memory until used.
/// @param label copied. @throws OutOfMemory when addresses are exhausted or `bytes` alone exceeds the budget.
[[nodiscard]] SEMCACHE_API void* allocate_device(const char* label, std::size_t bytes);
/// A host mirror, page aligned; its content is undefined and costs no memory until used.
/// @param partner  nullptr: a datum of its own. Else the first byte of a device array: the mirror becomes the host
///                 side of that same datum (semcache::DualView), sizes must agree (UsageError).
/// @param announced  every access of the host to it is announced with semcache::access: its pages are not protected
///                 (but for SEMCACHE_CHECK=1), and an access that is not announced is not noticed.
[[nodiscard]] SEMCACHE_API void* allocate_host(const char* label, std::size_t bytes, const void* partner = nullptr,
                                               bool announced = false);
/// Frees what either of the above returned. Transfers and copies that still need the content are ordered before.
/// Safe after finalize and at process exit (addresses of an ended runtime are ignored). Never throws.
SEMCACHE_API void deallocate(void* address) noexcept;

/// 128 bytes of host memory that belong to the allocation starting at `address` (frameworks' headers), zeroed at
/// allocation; nullptr if `address` is not the first byte of a live allocation. Frameworks that think of a header in
/// front of the data use address - 128 .. address: no other allocation ever lies there.
inline constexpr std::size_t header_bytes = 128;
[[nodiscard]] SEMCACHE_API void* header_of(const void* address) noexcept;

/// False where nobody notices accesses to the host array at `address` (SEMCACHE_TRACKER=explicit, SEMCACHE_PROTOCOL=off,
/// arrays allocated as announced): DualView's modify and sync are announcements then. Foreign addresses: false.
[[nodiscard]] SEMCACHE_API bool notices_host_accesses(const void* address);
/// False also for foreign addresses.
[[nodiscard]] SEMCACHE_API bool are_sides_of_one_array(const void* device, const void* host);
/// Makes the array of `address` valid where it is, at once: afterwards nothing in flight uses what that took.
/// @throws OutOfMemory, UsageError
SEMCACHE_API void settle(const void* address);

// --- queues ------------------------------------------------------------------------------------------------------
/// The queue of a native stream (CUDA: cudaStream_t; host-backed execution spaces: nullptr). Registers it on first use;
/// `owner` (may be null) keeps the stream alive until the runtime ends or `retire_queue`.
/// ~10 ns when the calling thread asked for the same stream last.
[[nodiscard]] SEMCACHE_API QueueId queue_of(void* native_stream, const std::shared_ptr<void>& owner = {});
/// The same; the queue is kept until `retire_queue` was called as often as this.
[[nodiscard]] SEMCACHE_API QueueId lease_queue(void* native_stream);
/// The stream may be destroyed afterwards, if nobody else has leased it.
SEMCACHE_API void retire_queue(QueueId queue) noexcept;
/// How often the runtime has been started: a QueueId means something in its own epoch only.
[[nodiscard]] SEMCACHE_API std::uint64_t epoch() noexcept;

// --- copies ------------------------------------------------------------------------------------------------------
/// deep_copy of `bytes` bytes: lazy between noticed slots, at the call where a side is open (I7 in either case).
/// Untracked addresses are open host memory (or foreign device memory where `foreign_device` says so).
/// @param queue  the instance in whose order the content is taken; invalid: all work so far.
/// After return the source may be changed and the destination read, on the host and (later work of) the queue.
/// @throws UsageError  a graph is recorded from the queue's stream (`fill`, too)
SEMCACHE_API void copy(void* to, const void* from, std::size_t bytes, QueueId queue);

/// Makes the range a known pattern without touching memory in any space. `pattern_bytes` in {1,2,4,8,16}.
SEMCACHE_API void fill(void* to, std::size_t bytes, const void* pattern, std::uint32_t pattern_bytes, QueueId queue);

/// Counts a transfer that the framework itself made over the link (a reduction's result read back).
SEMCACHE_API void count_external_transfer(bool to_host, std::uint64_t bytes) noexcept;

/// Smaller numbers in a functor are no addresses (platform::Platform::lowest_address).
[[nodiscard]] SEMCACHE_API std::uintptr_t lowest_pointer() noexcept;

// --- launches ----------------------------------------------------------------------------------------------------
/// One view handle that was copied into a closure.
struct Capture {
  const void* pointer;         ///< anywhere inside a tracked array; other pointers are ignored
  const void* handle;          ///< address of the handle copy, or nullptr
  std::uint32_t handle_bytes;  ///< size of the handle copy
  bool writable;
  bool holds_handles;          ///< the element type may itself contain handles (View of Views)
};

/// A kernel that is given the array by a bare pointer may find others there.
SEMCACHE_API void expect_handles(const void* array) noexcept;

/// What a launch found a capture to be, for the next launch of the same functor with the same handles.
struct KnownOperand {
  const void* pointer;
  engine::Memory* memory;
  std::uint32_t incarnation;  ///< of the memory
  bool writable;
  bool repeats;               ///< an operand before it may lie in the same memory
};

/// Sets `repeats`, because it does not know the operands before it. False where no array lies there.
[[nodiscard]] SEMCACHE_API bool identify(const Capture& capture, KnownOperand& operand) noexcept;

/// Are these arrays still what they were in a launch of epoch `epoch`? About 2 ns each.
[[nodiscard]] SEMCACHE_API bool are_current(const KnownOperand* operands, std::size_t count, std::uint64_t epoch) noexcept;

/// What a library call does with a device array.
struct LibraryUse {
  const void* pointer;  ///< first byte of the bytes used; addresses outside device arrays are ignored
  std::size_t bytes;
  Access mode;  ///< `overwrite`: the call writes all of them without having read them, so they are not fetched
};

/// A kernel on a noticed queue. The constructor makes everything captured valid, physically present and pinned; the
/// kernel is then submitted by the caller; the destructor unpins and remembers (queue, position).
///
/// @param leads  where the functor leads beyond its handles; arrays found there count as written. nullptr: nowhere. Leads that may
///        end anywhere make the launch unknown (it may read and write every noticed array), and so does a capture that holds
///        handles itself.
/// @throws OutOfMemory  the captured set does not fit the budget; the text names kernel, set, sizes, their sum and budget; nothing
///                      changed.
/// @throws UsageError   a graph is recorded from the queue's stream (as far as the driver is watched); nothing changed.
class SEMCACHE_API Launch : base::Uncopied {
 public:
  Launch(QueueId queue, const char* name, const Capture* captures, std::size_t count, const Leads* leads = nullptr);
  /// Of a functor whose captures are known from epoch `epoch`, and `captures` beside it. Unknown if they are not current.
  /// @param used  which of the known ones it has
  Launch(QueueId queue, const char* name, const KnownOperand* known, std::size_t known_count, std::uint32_t used,
         std::uint64_t epoch, const Capture* captures, std::size_t count);
  /// Of a library's routine, of which all uses are known. At most `most_uses`. If it throws, what was to be overwritten may
  /// be lost.
  Launch(QueueId queue, const LibraryUse* uses, std::size_t count);
  ~Launch();

  /// Around a wait for the kernel that the framework makes itself, whose end is known then at no cost. The first one before
  /// the kernel is submitted, the second one behind the wait.
  void before_wait() noexcept;
  void after_wait() noexcept { awaited_ = waits_; }

  /// Were the arrays that this launch uses the captured ones, all of them and no others?
  [[nodiscard]] bool follows_from_captures() const noexcept { return follows_from_captures_; }

  static constexpr std::size_t most_uses = 8;
  static constexpr std::size_t most_known = 12;

 private:
  static constexpr std::size_t inline_pins = 24;
  static constexpr std::size_t most_queues = 16;
  void grow(std::size_t capacity);
  void add(engine::Memory* memory, bool writable);
  /// @param name  the kernel's, for messages; nullptr: a library's routine
  void begin(const char* name, const ByteRange* overwritten = nullptr);
  template <class Reason>
  void begin_unknown(const char* name, const Reason& reason);
  void enter();
  void has_begun(Runtime& runtime) noexcept;
  void leave() noexcept;
  friend struct LaunchesOfThread;

  QueueId queue_;
  const Launch* outer_ = nullptr;  ///< of the same thread
  bool begun_ = false;
  bool follows_from_captures_ = true;
  bool waits_ = false;    ///< `before_` is known
  bool awaited_ = false;
  std::size_t count_ = 0;
  std::size_t capacity_ = inline_pins;
  engine::Operand* pins_ = inline_;
  engine::Operand inline_[inline_pins];
  std::unique_ptr<engine::Operand[]> grown_;  ///< what did not fit there
  std::array<std::uint64_t, most_queues> before_;  ///< what had been submitted before the wait
};

/// After a launch that filled the whole contiguous range with a pattern (a framework's fill kernel): its value is
/// known from now on, in any space. Call between construction and destruction of the Launch, after submitting.
SEMCACHE_API void filled_by_kernel(void* to, std::size_t bytes, const void* pattern, std::uint32_t pattern_bytes);

/// A handle was copied for a launch outside semcache::Exec (a native space): makes the array valid for any stream now.
/// Ends the process with a message if it cannot (I8): a native launch has no way to report. Counted.
SEMCACHE_API void native_capture(const Capture& capture) noexcept;

// --- bytes for code that nobody notices: MPI, system calls ---------------------------------------------------------
struct TrackedArray {
  std::byte* address = nullptr;
  std::size_t bytes = 0;
  bool on_host = false;
  const char* label = nullptr;  ///< as long as the runtime runs
  const engine::Memory* memory = nullptr;
  std::uint32_t incarnation = 0;  ///< another array may be at the same place later
  std::uint64_t epoch = 0;
};

/// Private memory for a message. Never protected, moved or written by anybody but its taker.
struct Transit {
  std::byte* address = nullptr;
  bool on_device = false;
  memory::TransitBuffer* buffer = nullptr;
  std::uint64_t epoch = 0;
};

enum class DeviceAddresses : std::uint8_t { never, if_library_can, always };

/// What libraries call that stand between the program and somebody whom nobody notices. One table behind one symbol, so
/// that a preloaded library works in every program, with and without SemCache.
///
/// A piece at [b, e) lies at [b, e) behind `address` in the array and behind `transit.address + offset` in the message.
/// @throws UsageError  a piece is not inside the one tracked array that holds `address`
/// @throws OutOfMemory
struct ForeignIo {
  /// The tracked array that holds `address`; false: there is none. A few nanoseconds, no lock.
  bool (*find)(const void* address, TrackedArray& array) noexcept;
  /// Not freed since it was found. Also when its runtime has ended meanwhile: nobody knows then.
  bool (*still_there)(const TrackedArray& array) noexcept;
  /// Nothing reads or writes it but who took it. @param on_device  a wish: without room there it is host memory
  Transit (*take)(std::size_t bytes, bool on_device);
  /// At any time after the last use by the taker, also after the runtime's end.
  void (*give)(const Transit& transit) noexcept;
  /// Before the taker reads what `read_out` brings, or writes what `write_in` took: waits for what they left under way.
  void (*settle)(const Transit& transit);
  /// Is the content in the very memory that `address` names?
  bool (*valid_here)(const void* address, const ByteRange* pieces, std::size_t count);
  /// The message gets the content that the pieces have now; exactly the bytes that are missing cross the link. Complete
  /// after `settle`.
  void (*read_out)(const void* address, const ByteRange* pieces, std::size_t count, const Transit& transit,
                   std::size_t offset);
  /// The message rests until it is asked for by `read_out` with these arguments: its content may be brought beforehand.
  /// Nothing happens where the array is gone.
  void (*expect)(const void* address, const ByteRange* pieces, std::size_t count, const Transit& transit,
                 std::size_t offset) noexcept;
  /// The pieces get the message as their new content, after all work so far and before all later work.
  void (*write_in)(void* address, const ByteRange* pieces, std::size_t count, const Transit& transit, std::size_t offset);
  /// May messages be in the device's memory? (SEMCACHE_MPI_CUDA)
  DeviceAddresses (*device_addresses)();
  /// Could any byte of [first, last] be tracked? False: none is, and nobody need look closer. Two comparisons or so.
  bool (*overlaps)(const void* first, const void* last) noexcept;
  /// Memory for persistent messages of these bytes of a device array, at an offset of 0: what lies side by side in the array
  /// does so here, and crosses the link at once. No buffer: there is none, `take` has others.
  Transit (*take_beside)(const void* first, std::size_t bytes);
  /// `write_in` of messages that `take_beside` gave and whose `bytes` bytes lie side by side. False: they do not, and nothing
  /// is done.
  bool (*write_in_together)(void* first, std::size_t bytes, const Transit* const* transits, std::size_t count);
};

}  // namespace semcache::runtime

extern "C" {
/// The 1 is the version of the table. Preloaded libraries refer to it weakly: a program may have no SemCache.
SEMCACHE_API const semcache::runtime::ForeignIo* semcache_foreign_io_1() noexcept;
}
