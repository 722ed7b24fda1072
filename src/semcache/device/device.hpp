// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/base/error.hpp>
#include <semcache/base/types.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

/// One device behind one interface: addresses, memory, queues, events, copies. Knows no directory.
namespace semcache::device {

/// A point in a queue's work. Obtained from `record`, given back with `release`. Value 0 is "no event".
using EventId = std::uint64_t;

enum class DeviceKind : std::uint8_t { emulated, cuda };
[[nodiscard]] constexpr const char* to_string(DeviceKind k) noexcept {
  return k == DeviceKind::cuda ? "cuda" : "emulated";
}

/// Contract of every device.
///
/// Threads:   every member may be called from any thread, whatever its current device; none changes the caller's
///            current device or leaves an error behind in the vendor's per-thread error state.
/// Ordering:  operations on one queue happen in the order in which they were submitted. Two queues are ordered only
///            by record/wait. Submitting never waits for earlier work to finish.
/// Errors:    DeviceError with the vendor's name of the error, except where OutOfMemory is stated.
class Device {
 public:
  virtual ~Device() = default;

  [[nodiscard]] virtual DeviceKind kind() const noexcept = 0;
  [[nodiscard]] virtual std::string name() const = 0;
  /// The one difference of the emulated device that matters elsewhere: kernels and copies are over when their call returns, because the
  /// caller makes them, in memory that the host reaches, too.
  [[nodiscard]] bool kernels_run_in_caller() const noexcept { return kind() == DeviceKind::emulated; }
  /// The price of a host fault: the bytes that the link carries in the time that one takes, with the thread that waits for it, the thread
  /// that serves it and a small transfer. A constant for each kind of device, so that counts are the same in every run. The emulated
  /// device's link is the processor's memory.
  [[nodiscard]] std::uint64_t fault_bytes() const noexcept { return kernels_run_in_caller() ? 64 * 1024 : 1024 * 1024; }
  /// The vendor's number of this device (CUDA ordinal; 0.. for emulated ones).
  [[nodiscard]] virtual int ordinal() const noexcept = 0;
  [[nodiscard]] virtual std::uint64_t total_memory_bytes() const = 0;
  [[nodiscard]] virtual std::uint64_t free_memory_bytes() const = 0;

  // --- addresses and memory --------------------------------------------------------------------------------------
  /// Unit of map and unmap; a power of two.
  [[nodiscard]] virtual std::uint64_t granularity_bytes() const noexcept = 0;
  /// Reserves addresses without memory behind them. May return less than asked for (halved until it succeeds);
  /// `bytes` is updated. Aligned to 2 MiB at least. @throws DeviceError, SystemError  nothing can be reserved
  [[nodiscard]] virtual std::byte* reserve(std::uint64_t& bytes) = 0;
  virtual void release(std::byte* base, std::uint64_t bytes) noexcept = 0;
  /// Puts memory behind reserved addresses (multiples of the granularity). Its content is unspecified.
  /// @throws OutOfMemory; nothing is mapped then.
  virtual void map(std::byte* address, std::uint64_t bytes) = 0;
  /// The same of memory that the host could reach, which whoever protects it opens: there is no moment at which it is open.
  virtual void map_closed(std::byte* address, std::uint64_t bytes) { map(address, bytes); }
  /// Gives back exactly one earlier `map`. The caller has ordered all uses before. The addresses stay reserved.
  virtual void unmap(std::byte* address, std::uint64_t bytes) noexcept = 0;
  /// Emulated devices can make mapped pages inaccessible outside launches (SEMCACHE_CHECK=1); others ignore it.
  virtual void set_accessible(std::byte* /*address*/, std::uint64_t /*bytes*/, bool /*accessible*/) noexcept {}

  /// Several calls by this thread follow, up to as many calls of `leave`: what each would have to look after is looked
  /// after once. Never fails; pairs may be nested.
  virtual void enter() noexcept {}
  virtual void leave() noexcept {}

  // --- queues and events -----------------------------------------------------------------------------------------
  /// A queue of the runtime's own, for transfers.
  [[nodiscard]] virtual QueueId open_queue() = 0;
  /// Wraps a native stream (CUDA: cudaStream_t; emulated: any key). `owner` is kept until `close_queue`.
  [[nodiscard]] virtual QueueId adopt_queue(void* native, std::shared_ptr<void> owner) = 0;
  virtual void close_queue(QueueId queue) noexcept = 0;
  [[nodiscard]] virtual EventId record(QueueId queue) = 0;
  /// Later work on `queue` starts after `event`.
  virtual void wait(QueueId queue, EventId event) = 0;
  [[nodiscard]] virtual bool complete(EventId event) = 0;
  /// Blocks the caller until `event` has happened.
  virtual void synchronize(EventId event) = 0;
  virtual void release(EventId event) noexcept = 0;
  virtual void synchronize_queue(QueueId queue) = 0;
  /// Has everything on `queue` happened? False also where asking costs no less than waiting.
  [[nodiscard]] virtual bool queue_idle(QueueId) { return false; }
  /// Blocks the caller until everything submitted to the device, by anybody, is done.
  virtual void synchronize_device() = 0;

  // --- transfers: submitted to `queue`, source and destination untouched by others until they are done -----------
  virtual void copy_to_device(QueueId queue, std::byte* device, const std::byte* host, std::uint64_t bytes) = 0;
  virtual void copy_from_device(QueueId queue, std::byte* host, const std::byte* device, std::uint64_t bytes) = 0;
  virtual void copy_within_device(QueueId queue, std::byte* to, const std::byte* from, std::uint64_t bytes) = 0;
  enum class Direction : std::uint8_t { to_device, from_device, within_device };
  /// Copies `columns` runs of `width` bytes each; runs begin `to_pitch` and `from_pitch` bytes apart. Otherwise as the copies above, of
  /// which this makes one for each column unless the device has a copy of its own for it.
  virtual void copy_columns(QueueId queue, Direction direction, std::byte* to, std::uint64_t to_pitch, const std::byte* from,
                            std::uint64_t from_pitch, std::uint64_t width, std::uint64_t columns) {
    for (std::uint64_t c = 0; c < columns; ++c, to += to_pitch, from += from_pitch) {
      switch (direction) {
        case Direction::to_device: copy_to_device(queue, to, from, width); break;
        case Direction::from_device: copy_from_device(queue, to, from, width); break;
        case Direction::within_device: copy_within_device(queue, to, from, width); break;
      }
    }
  }
  /// Repeats `pattern` (`pattern_bytes` of 1, 2, 4, 8 or 16; `bytes` a multiple of it).
  virtual void fill(QueueId queue, std::byte* to, std::uint64_t bytes, const std::byte* pattern,
                    std::uint32_t pattern_bytes) = 0;
  /// A 64-bit digest of the content after earlier work on `queue`; blocks. Equal content, equal digest.
  [[nodiscard]] virtual std::uint64_t digest(QueueId queue, const std::byte* device, std::uint64_t bytes) = 0;

  /// Memory beside the arena, for messages: of a kind that other processes' drivers can map. What is not given back
  /// outlives the device, as staging memory does: a message may still be under way.
  /// @throws OutOfMemory.
  [[nodiscard]] virtual std::byte* allocate(std::uint64_t bytes) = 0;
  /// The caller has ordered all uses before. May wait for the device.
  virtual void deallocate(std::byte* address) noexcept = 0;

  // --- host memory for transfers ---------------------------------------------------------------------------------
  /// Page-locked host memory (plain memory on emulated devices). @throws OutOfMemory.
  [[nodiscard]] virtual std::byte* allocate_staging(std::uint64_t bytes) = 0;
  virtual void deallocate_staging(std::byte* address) noexcept = 0;
  /// Page-locks existing, accessible host pages so that transfers reach them directly, whatever their protection
  /// later. False if the device cannot (emulated ones never can): transfers are then staged.
  [[nodiscard]] virtual bool register_host(std::byte* /*address*/, std::uint64_t /*bytes*/) noexcept { return false; }
  virtual void unregister_host(std::byte* /*address*/) noexcept {}

  /// Is work for this queue recorded in a graph instead of being carried out?
  [[nodiscard]] virtual bool is_recording(QueueId /*queue*/) const { return false; }
  /// Device memory that is not ours (asked for words of a closure). Never throws; false when unknown.
  [[nodiscard]] virtual bool is_foreign_device_pointer(const void* /*pointer*/) const noexcept { return false; }
  /// Could a kernel follow this pointer? True when unknown: emulated devices reach all of the host's memory, a GPU its
  /// own, managed and page-locked memory, and pageable memory only where its driver says so.
  [[nodiscard]] virtual bool can_reach(const void* /*pointer*/) const noexcept { return true; }
};

/// What the program, or a library, is about to ask the vendor's driver for.
struct DriverUse {
  enum class Kind : std::uint8_t {
    read, write,  ///< a transfer's bytes, on the device or on the host; of strided ones all from the first to the last
    argument,     ///< a word of a kernel's arguments
    listed,       ///< a word of little data on its way to a device: a list of arrays, or a kernel's arguments if they are large
    recorded,     ///< any of these, in work that a graph records and runs later
  };
  const void* address;
  std::uint64_t bytes;     ///< 0: a word
  Kind kind;
  std::uintptr_t in_front;  ///< the word in front of it; 0: none
};

/// Is told of calls to the driver by the thread that makes them. May call the driver itself.
class DriverObserver {
 public:
  virtual ~DriverObserver() = default;
  /// Before the driver does it: all uses of the call that lie in the ranges.
  /// @param launches  a kernel or a graph is launched, which may also use what was listed or recorded before
  /// @return handed to `after`, unless nullptr: then that is not called
  [[nodiscard]] virtual void* before(const DriverUse* uses, std::size_t count, bool launches) noexcept = 0;
  /// The driver has taken the call's work.
  virtual void after(void* call) noexcept = 0;
  /// Before any call of somebody else's that submits something, waits, or begins to record a stream, whatever it uses, if
  /// `wants_others`; before `before`.
  /// @param fenced  the call does nothing but wait for this stream
  virtual void others_submit(std::optional<void*> fenced) noexcept = 0;
  [[nodiscard]] virtual bool wants_others() const noexcept = 0;
  /// Is it to be told of launches of which no use lies in the ranges?
  [[nodiscard]] virtual bool wants_launches() const noexcept = 0;
};

struct DriverWatch {
  DriverObserver* observer;
  struct Range {
    const std::byte* begin;
    std::uint64_t bytes;
  } ranges[2];                     ///< only uses inside are told of
  /// Is the calling thread at the runtime's own work, of which nothing is told? Called at any time, after the end too.
  bool (*own_work)() noexcept;
};

/// Starts telling `watch.observer`; one at a time per process. Uses are found in: launches of kernels (each aligned word of
/// their arguments), copies, fills, and nodes of graphs; also those that the vendor's libraries make. Not found: pointers
/// behind pointers. CUDA: callbacks of CUPTI, which serves one subscriber per process.
/// @return empty; else why it cannot be done, and nothing is told
[[nodiscard]] SEMCACHE_API std::string watch_cuda_driver(const DriverWatch& watch);
/// Afterwards the observer is called no more. Waits until what it was told of has been made.
SEMCACHE_API void unwatch_cuda_driver() noexcept;

/// Graphs that the program records from streams right now, as far as `watch_cuda_driver` has seen them begin.
extern __attribute__((visibility("hidden"))) std::atomic<unsigned> graphs_being_recorded;

/// Devices of the machine. @throws ConfigurationError where the backend was not built, DeviceError where it fails.
/// @param memory_bytes  emulated: memory of each device (0: a quarter of the host's)
[[nodiscard]] SEMCACHE_API std::unique_ptr<Device> make_emulated_device(int ordinal, std::uint64_t memory_bytes);
[[nodiscard]] SEMCACHE_API std::unique_ptr<Device> make_cuda_device(int ordinal);
/// 0 where CUDA was not built in, no driver is present or no GPU is visible.
[[nodiscard]] SEMCACHE_API int cuda_device_count() noexcept;

/// Enters a device for as long as it lives.
class Visit : base::Uncopied {
 public:
  explicit Visit(Device& device) noexcept : device_(device) { device_.enter(); }
  ~Visit() { device_.leave(); }

 private:
  Device& device_;
};

}  // namespace semcache::device
