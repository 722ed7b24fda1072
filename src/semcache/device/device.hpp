// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/base/error.hpp>
#include <semcache/base/types.hpp>
#include <semcache/base/virtual_times.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

/// One device behind one interface: addresses, memory, queues, events, copies. A device does not know the directory.
/// "The arena" is the reserved range of device addresses in which the runtime places the device sides of all tracked arrays.
namespace semcache::device {

/// A point in a queue's work, obtained from `record` and given back with `release`. The value 0 means "no event".
using EventId = std::uint64_t;

/// Whether the kernels of a stream come before those of other streams that have not begun. Devices without priorities ignore it.
enum class StreamPriority : std::uint8_t { ordinary, before_others };

enum class DeviceKind : std::uint8_t { emulated, cuda };
[[nodiscard]] constexpr const char* to_string(DeviceKind k) noexcept {
  return k == DeviceKind::cuda ? "cuda" : "emulated";
}

class Device;

/// Where memory lies.
struct Location {
  Device* device;  ///< on this device; nullptr: on the host
};

/// Contract of every device.
///
/// Threads:   every member may be called from any thread, whatever its current device; none changes the caller's
///            current device or leaves an error behind in the vendor's per-thread error state.
/// Ordering:  operations on one queue happen in the order in which they were submitted. Two queues are ordered only
///            by record/wait. Submitting never waits for earlier work to finish.
/// Errors:    DeviceError with the vendor's name of the error, except where OutOfMemory is stated. Each text names the device.
class Device {
 public:
  virtual ~Device() = default;

  [[nodiscard]] virtual DeviceKind kind() const noexcept = 0;
  [[nodiscard]] virtual std::string name() const = 0;
  /// Returns whether kernels and copies have ended when their call returns, because the calling thread carries them out, in
  /// memory that the host reaches, too. This is the one property of the emulated device that other rooms may ask for.
  [[nodiscard]] bool kernels_run_in_caller() const noexcept { return kind() == DeviceKind::emulated; }
  /// Returns the price of a host fault, in bytes: how much the link carries in the time of one fault (the waiting thread, the
  /// service thread and a small transfer). It is a constant for each kind of device, so that counts are the same in every run.
  /// The emulated device's link is the processor's memory.
  [[nodiscard]] std::uint64_t fault_bytes() const noexcept { return kernels_run_in_caller() ? 64 * 1024 : 1024 * 1024; }
  /// Returns the vendor's number of this device (the CUDA ordinal; emulated devices count from 0).
  [[nodiscard]] virtual int ordinal() const noexcept = 0;
  [[nodiscard]] virtual std::uint64_t total_memory_bytes() const = 0;
  [[nodiscard]] virtual std::uint64_t free_memory_bytes() const = 0;

  // --- addresses and memory --------------------------------------------------------------------------------------
  /// Returns the unit of `map` and `unmap`, the granule: a power of two.
  [[nodiscard]] virtual std::uint64_t granularity_bytes() const noexcept = 0;
  /// Returns the least number of bytes, in whole granules, for which mapping and unmapping cost little beside a transfer of as many.
  [[nodiscard]] virtual std::uint64_t block_bytes() const noexcept { return granularity_bytes(); }
  /// Reserves addresses without memory behind them, aligned to 2 MiB at least.
  /// @param bytes  how many are wanted; set to how many were reserved. That may be fewer: the size is halved until the call
  ///   succeeds.
  /// @throws DeviceError, SystemError  no addresses can be reserved
  [[nodiscard]] virtual std::byte* reserve(std::uint64_t& bytes) = 0;
  virtual void release(std::byte* base, std::uint64_t bytes) noexcept = 0;
  /// Puts memory behind reserved addresses (multiples of the granularity). The content is unspecified.
  /// @throws OutOfMemory  nothing is mapped then
  virtual void map(std::byte* address, std::uint64_t bytes) = 0;
  /// Maps as `map` does, but leaves memory that the host could reach inaccessible to it. The room that sets the protection of
  /// these pages opens them later, so there is no time at which an access could go unnoticed.
  virtual void map_closed(std::byte* address, std::uint64_t bytes) { map(address, bytes); }
  /// Puts memory of another device, or of the host, behind reserved addresses of this device: kernels and copies of this device use it as
  /// its own. A device's memory counts as that device's, and the host's counts as no device's. Otherwise as `map`, which it is where the
  /// location is this device. `unmap` of this device undoes it.
  /// @pre a device at `location` is of the same kind, was told of this one (`share_with`), and outlives the mapping
  /// @throws OutOfMemory  the location has too little memory; nothing is mapped then
  /// @throws DeviceError  memory cannot lie there: this device does not reach the other one, or the driver refuses memory of the host; nothing
  ///   is mapped then
  virtual void map_on(Location location, std::byte* address, std::uint64_t bytes) = 0;
  /// Takes away the memory of exactly one earlier `map` of `bytes` bytes at `from`, as `unmap` does, and puts as much behind `to`, as `map`
  /// does. It may be the same memory, which spares the driver making and clearing it. If it throws, neither place has memory.
  virtual void move(std::byte* from, std::byte* to, std::uint64_t bytes) {
    unmap(from, bytes);
    map(to, bytes);
  }
  /// Puts the memory of exactly one earlier `map` or `map_on` of `bytes` bytes at `of` behind `address`, too: what is written at one of the two
  /// places is then read at the other, by later work that is ordered behind it. The memory counts once. Each place is unmapped by itself, in any
  /// order, and the memory is given back with the last one. Either place may be the `of` of further calls.
  /// @pre all uses of `of` have ended, and it is accessible
  /// @throws OutOfMemory, DeviceError  there is no memory behind `address` then, and `of` is as it was
  virtual void map_same(std::byte* address, std::byte* of, std::uint64_t bytes) = 0;
  /// Undoes exactly one earlier `map`, `map_on` or `map_same`. The caller has ordered all uses before it. The addresses stay reserved.
  virtual void unmap(std::byte* address, std::uint64_t bytes) noexcept = 0;
  /// Makes mapped pages of emulated devices inaccessible, but to launches that have captured their array (SEMCACHE_CHECK=1), or accessible
  /// again. Other devices ignore it.
  virtual void set_accessible(std::byte* /*address*/, std::uint64_t /*bytes*/, bool /*accessible*/) noexcept {}

  // --- several devices ---------------------------------------------------------------------------------------------
  enum class PeerUse : std::uint8_t { permitted, refused };
  /// Tells the device which others are used beside it. If permitted, memory that is mapped from now on can be used by kernels and
  /// copies of those that reach this device (`reaches`). To be called once, before anything is mapped. The others outlive their use
  /// here.
  virtual void share_with(const std::vector<Device*>& /*others*/, PeerUse /*use*/) {}
  /// Returns whether kernels and copies on queues of this device can use memory of `other` (peer access).
  [[nodiscard]] virtual bool reaches(const Device& /*other*/) const noexcept { return true; }
  /// Returns whether work submitted to this native stream is work of this device. The null stream is every device's.
  [[nodiscard]] virtual bool owns_stream(void* /*native*/) const noexcept { return true; }

  /// Announces several calls by this thread, until as many calls of `leave`: preparations that each call would repeat are then
  /// made once. Never fails. Pairs may be nested.
  virtual void enter() noexcept {}
  virtual void leave() noexcept {}

  // --- queues and events -----------------------------------------------------------------------------------------
  /// Opens a queue of the runtime's own, for transfers.
  [[nodiscard]] virtual QueueId open_queue() = 0;
  /// Makes a native stream of the device, for kernels; its last owner destroys it. Emulated devices: the key of a stream.
  [[nodiscard]] virtual std::shared_ptr<void> new_stream(StreamPriority /*priority*/) { return std::make_shared<char>('\0'); }
  /// Wraps a native stream (CUDA: cudaStream_t; emulated: any key) in a queue. `owner` is kept until `close_queue`, which returns it: its deleter is
  /// foreign code, which perhaps destroys a stream, so the caller lets go of it without its locks.
  [[nodiscard]] virtual QueueId adopt_queue(void* native, std::shared_ptr<void> owner) = 0;
  virtual std::shared_ptr<void> close_queue(QueueId queue) noexcept = 0;
  [[nodiscard]] virtual EventId record(QueueId queue) = 0;
  /// Makes events until so many are idle, because making one takes long: as many calls of `record` then make none. Never fails; `record` makes
  /// the events that are missing.
  virtual void keep_idle_events(std::size_t /*count*/) noexcept {}
  /// Returns whether fewer events are idle, and `keep_idle_events` would help.
  [[nodiscard]] virtual bool lacks_events(std::size_t /*count*/) const noexcept { return false; }
  /// Orders later work on `queue` behind `event`, which may be another device's of the same kind. Does not block.
  virtual void wait(QueueId queue, EventId event) = 0;
  [[nodiscard]] virtual bool complete(EventId event) = 0;
  /// Blocks the caller until `event` has happened.
  virtual void synchronize(EventId event) = 0;
  virtual void release(EventId event) noexcept = 0;
  virtual void synchronize_queue(QueueId queue) = 0;
  /// Returns whether all work on `queue` has ended. Also returns false where asking would cost no less than waiting.
  [[nodiscard]] virtual bool queue_idle(QueueId) { return false; }
  /// Blocks the caller until all work submitted to the device, by any thread or library, is done.
  virtual void synchronize_device() = 0;

  // --- transfers: submitted to `queue`; the caller keeps source and destination untouched until they are done -----
  virtual void copy_to_device(QueueId queue, std::byte* device, const std::byte* host, std::uint64_t bytes) = 0;
  virtual void copy_from_device(QueueId queue, std::byte* host, const std::byte* device, std::uint64_t bytes) = 0;
  /// Either end may also be memory of another device that this one reaches.
  virtual void copy_within_device(QueueId queue, std::byte* to, const std::byte* from, std::uint64_t bytes) = 0;
  enum class Direction : std::uint8_t { to_device, from_device, within_device };
  /// Makes the copy above that is named by `direction`.
  void copy(QueueId queue, Direction direction, std::byte* to, const std::byte* from, std::uint64_t bytes) {
    switch (direction) {
      case Direction::to_device: return copy_to_device(queue, to, from, bytes);
      case Direction::from_device: return copy_from_device(queue, to, from, bytes);
      case Direction::within_device: return copy_within_device(queue, to, from, bytes);
    }
  }
  /// Copies `columns` runs of `width` bytes each, which begin `to_pitch` and `from_pitch` bytes apart. Otherwise as the copies above. If
  /// it throws, nothing of it is under way any more.
  virtual void copy_columns(QueueId queue, Direction direction, std::byte* to, std::uint64_t to_pitch, const std::byte* from,
                            std::uint64_t from_pitch, std::uint64_t width, std::uint64_t columns) {
    for (std::uint64_t c = 0; c < columns; ++c) {
      try {
        copy(queue, direction, to + c * to_pitch, from + c * from_pitch, width);
      } catch (...) {
        try {
          if (c > 0) synchronize_queue(queue);
        } catch (...) {  // the device is lost
        }
        throw;
      }
    }
  }
  /// Fills memory with repetitions of `pattern` (`pattern_bytes` of 1, 2, 4, 8 or 16; `bytes` is a multiple of it).
  virtual void fill(QueueId queue, std::byte* to, std::uint64_t bytes, const std::byte* pattern,
                    std::uint32_t pattern_bytes) = 0;
  /// Returns a 64-bit digest of the content after earlier work on `queue`; blocks. Equal contents have equal digests.
  [[nodiscard]] virtual std::uint64_t digest(QueueId queue, const std::byte* device, std::uint64_t bytes) = 0;

  /// Allocates memory outside the arena, for messages, of a kind that other processes' drivers can map. Memory that is not given
  /// back outlives the device, as staging memory does, because a message may still be under way.
  /// @throws OutOfMemory
  [[nodiscard]] virtual std::byte* allocate(std::uint64_t bytes) = 0;
  /// Frees memory of `allocate`. The caller has ordered all uses before it. May wait for the device.
  virtual void deallocate(std::byte* address) noexcept = 0;

  // --- host memory for transfers ---------------------------------------------------------------------------------
  /// Allocates staging memory: page-locked host memory (plain memory on emulated devices). @throws OutOfMemory
  [[nodiscard]] virtual std::byte* allocate_staging(std::uint64_t bytes) = 0;
  virtual void deallocate_staging(std::byte* address) noexcept = 0;
  /// Page-locks existing, accessible host pages so that transfers reach them directly, whatever their protection is later.
  /// Returns false if the device cannot (emulated devices never can); transfers are then staged.
  [[nodiscard]] virtual bool register_host(std::byte* /*address*/, std::uint64_t /*bytes*/) noexcept { return false; }
  virtual void unregister_host(std::byte* /*address*/) noexcept {}

  // --- virtual time: emulated devices with the model of a machine; other devices have none and ignore the rest -----
  /// Returns the times so far of all devices that share the model.
  [[nodiscard]] virtual std::optional<VirtualTimes> virtual_times() const { return std::nullopt; }
  /// Notes a copy on `queue` that the caller has carried out itself (`kernels_run_in_caller`), instead of calling a copy above.
  /// @param host_span  how many bytes of host memory it has used, from the first to the last
  virtual void note_copy(QueueId /*queue*/, const std::byte* /*to*/, const std::byte* /*from*/, std::uint64_t /*bytes*/,
                         std::uint64_t /*host_span*/) noexcept {}
  /// Notes a kernel, or a fill that the caller has carried out itself. @param bytes  how many bytes of the device's memory it has used
  virtual void note_kernel(QueueId /*queue*/, std::uint64_t /*bytes*/) noexcept {}
  /// Lets the host wait until these bytes of its memory have arrived, and if it writes them, until they have left, too.
  virtual void host_needs(const std::byte* /*host*/, std::uint64_t /*bytes*/, Access /*mode*/) noexcept {}

  /// Returns whether work for this queue is being recorded in a graph instead of being carried out.
  [[nodiscard]] virtual bool is_recording(QueueId /*queue*/) const { return false; }
  /// Returns whether the pointer leads to device memory that this device did not allocate; false when unknown. Callers ask it
  /// about the words of a closure.
  [[nodiscard]] virtual bool is_foreign_device_pointer(const void* /*pointer*/) const noexcept { return false; }
  /// Returns whether a kernel could follow this pointer; true when unknown. Emulated devices reach all of the host's memory. A
  /// GPU reaches its own, managed and page-locked memory, and pageable memory only where its driver supports that.
  [[nodiscard]] virtual bool can_reach(const void* /*pointer*/) const noexcept { return true; }
  /// Returns whether the driver knows the address as memory of the host, because somebody has page-locked it: the driver's transfers then
  /// pass over every protection of its pages.
  [[nodiscard]] virtual bool knows_host_memory(const void* /*pointer*/) const noexcept { return false; }
};

/// One use of memory in a call that the program, or a library, is about to make to the vendor's driver.
struct DriverUse {
  enum class Kind : std::uint8_t {
    read, write,  ///< bytes of a transfer, on the device or on the host; for strided transfers all from the first to the last
    argument,     ///< a word of a kernel's arguments
    listed,       ///< a word in a small copy to a device: perhaps a list of arrays, or a kernel's arguments (where these are large)
    recorded,     ///< any of these, in work that a graph records and runs later
  };
  const void* address;
  std::uint64_t bytes;     ///< 0: the address is a word that was found
  Kind kind;
  std::uintptr_t in_front;  ///< the word before it in the same arguments; 0: none
};

/// A call to the driver.
struct DriverCall {
  const DriverUse* uses;  ///< those of its uses that lie in the watched ranges
  std::size_t count;
  bool launches = false;  ///< it launches a kernel or a graph, which may also use memory that was listed or recorded before
  /// The stream in whose order all work of a launch is carried out; nullptr where the stream has no handle of its own (the default
  /// streams), where a graph is recorded from it, and for calls that launch nothing.
  void* stream = nullptr;
  int ordinal = -1;  ///< of the GPU that carries out a launched kernel; -1: not known, or of several
};

/// Receives calls to the driver, on the thread that makes them. It may call the driver itself.
class DriverObserver {
 public:
  virtual ~DriverObserver() = default;
  /// Called before the driver carries out a call that uses watched memory.
  /// @return a pointer that is handed to `after`; nullptr: `after` is not called
  [[nodiscard]] virtual void* before(const DriverCall& call) noexcept = 0;
  /// Called when the driver has taken the call's work.
  virtual void after(void* call) noexcept = 0;
  /// If `wants_others`: called, ahead of `before`, for each call outside the runtime's own work that submits work, waits, or
  /// begins to record a stream, whatever memory it uses.
  /// @param fenced  the stream, where the call does nothing but wait for it
  virtual void others_submit(std::optional<void*> fenced) noexcept = 0;
  /// Called before the driver destroys a stream, also one of the runtime's own. Afterwards its handle may be that of another stream.
  virtual void stream_ends(void* stream) noexcept = 0;
  [[nodiscard]] virtual bool wants_others() const noexcept = 0;
  /// Returns whether `before` shall also be called for launches of which no use lies in the ranges.
  [[nodiscard]] virtual bool wants_launches() const noexcept = 0;
};

struct DriverWatch {
  DriverObserver* observer;
  struct Range {
    const std::byte* begin;
    std::uint64_t bytes;
  } ranges[2];                     ///< only uses inside them are reported
  /// Returns whether the calling thread does the runtime's own work, which is not reported. May be called at any time, also after
  /// the end of the watch.
  bool (*own_work)() noexcept;
};

/// Starts a driver watch: from now on `watch.observer` is called. One watch at a time per process. Uses are found in launches of
/// kernels (each aligned word of their arguments), copies, fills and nodes of graphs, also in those that the vendor's libraries
/// make. Uses through pointers behind pointers are not found. CUDA: works by callbacks of CUPTI, which serves one subscriber per
/// process.
/// @return an empty text; else the reason why the watch cannot be started
[[nodiscard]] SEMCACHE_API std::string watch_cuda_driver(const DriverWatch& watch);
/// Ends the watch. Waits until the driver has taken the calls that were reported; afterwards the observer is called no more.
SEMCACHE_API void unwatch_cuda_driver() noexcept;

/// How many graphs the program records from streams now, as far as `watch_cuda_driver` has seen the recordings begin.
extern __attribute__((visibility("hidden"))) std::atomic<unsigned> graphs_being_recorded;

/// What the emulated devices of a runtime share: the virtual clock that follows a model of a machine.
class EmulatedMachine;
struct MachineModel;
/// @param ordinals  the devices that will be made with it, in their order
[[nodiscard]] SEMCACHE_API std::shared_ptr<EmulatedMachine> make_emulated_machine(const MachineModel& model, const std::vector<int>& ordinals);

/// Makes a device of this machine. @throws ConfigurationError where the backend was not built, DeviceError where it fails
/// @param memory_bytes  emulated devices: the memory of each device (0: a quarter of the host's)
/// @param machine       emulated devices: keeps their virtual time; nullptr: they have none
[[nodiscard]] SEMCACHE_API std::unique_ptr<Device> make_emulated_device(int ordinal, std::uint64_t memory_bytes,
                                                                        std::shared_ptr<EmulatedMachine> machine = nullptr);
[[nodiscard]] SEMCACHE_API std::unique_ptr<Device> make_cuda_device(int ordinal);
/// Returns the number of GPUs; 0 where CUDA was not built in, no driver is present or no GPU is visible.
[[nodiscard]] SEMCACHE_API int cuda_device_count() noexcept;

/// Enters a device (`Device::enter`) for as long as the object lives.
class Visit : base::Uncopied {
 public:
  explicit Visit(Device& device) noexcept : device_(device) { device_.enter(); }
  ~Visit() { device_.leave(); }

 private:
  Device& device_;
};

}  // namespace semcache::device
