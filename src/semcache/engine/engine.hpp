// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/base/patience.hpp>
#include <semcache/device/device.hpp>
#include <semcache/directory/directory.hpp>
#include <semcache/engine/obstacle.hpp>
#include <semcache/engine/operand.hpp>
#include <semcache/engine/pending_copies.hpp>
#include <semcache/engine/requirement.hpp>
#include <semcache/engine/surroundings.hpp>
#include <semcache/memory/device_memory.hpp>
#include <semcache/memory/ends.hpp>
#include <semcache/memory/host_memory.hpp>
#include <semcache/memory/mappings.hpp>
#include <semcache/memory/staging.hpp>
#include <semcache/memory/transit.hpp>
#include <semcache/pages/host_pages.hpp>
#include <semcache/plan/step.hpp>
#include <semcache/platform/per_thread.hpp>
#include <semcache/platform/platform.hpp>
#include <semcache/timeline/queues.hpp>
#include <semcache/trace/recorder.hpp>

#include <chrono>
#include <deque>
#include <exception>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

/// Carries out what the directory asks for: in order, asynchronously, traced. Owns memory, queues and page states.
namespace semcache::engine {

using memory::DeviceMemory;
using memory::HostMemory;
using memory::Known;
using memory::LookupTable;
using memory::Memory;
using memory::PageState;
using memory::Staging;
using memory::TransitBlock;
using memory::TransitBuffer;
using pages::Flight;
using pages::Flights;
using pages::HostPages;
using timeline::Clock;
using timeline::first_program_queue;
using timeline::max_queues;
using timeline::Mode;
using timeline::mode_of;
using timeline::QueueIndex;
using timeline::Queues;
using timeline::unknown_queue;

enum class Protocol : std::uint8_t { write_back, write_through, off };

struct Options {
  Protocol protocol = Protocol::write_back;
  std::uint64_t device_memory_bytes = 0;  ///< budget per device; 0: nine tenths of what is free at the start
  unsigned snapshot_share_percent = 25;   ///< of the budget, for copy-on-write snapshots
  bool check = false;
  bool check_writes = false;
  bool notices = true;  ///< the tracker notices host accesses; false: pages are never protected
  /// It also notices the program's accesses to the memory of an emulated device, whose pages are protected then.
  bool device_faults = false;
  /// Addresses for host arrays; 0: 256 GiB, but at most a quarter of what a limit on addresses leaves.
  std::uint64_t host_address_bytes = 0;
  std::uint64_t registration_bytes = 64 * 1024 * 1024;  ///< host pages are page-locked in pieces of this size
  /// Nobody waits longer for a thread that may be waiting for him.
  std::chrono::seconds patience{60};
  Surroundings* surroundings = nullptr;  ///< nullptr: nothing is known; outlives the engine
  plan::Observer* observer = nullptr;    ///< sees every step; outlives the engine
};

/// A call of somebody else's to the driver, while it is made.
struct ForeignCall {
  struct Use : Known {
    Use(Memory& m, bool writes, bool marked_writing, bool said) noexcept
        : Known(m), writable(writes), used_writing(marked_writing), announced(said) {}
    bool writable;     ///< its content
    bool used_writing; ///< whoever uses the array next waits for it as for a write
    bool announced;
    bool both_sides = false;     ///< the call uses the host's side, too: a write counts when the call is made
  };
  std::vector<Use> uses;  ///< of device memory; pinned
  /// Of those that use both sides: what they hold is about to be overwritten, and counts for nobody (`Directory::mark_changing`).
  std::vector<SlotId> overwritten;
};

/// Threads: every public member, any thread. Members take the lock themselves; none waits for a transfer while it
/// holds it. Errors: strong guarantee (I9) as far as content is concerned: evictions made on the way stay made.
class Engine {
 public:
  Engine(std::vector<std::unique_ptr<device::Device>> devices, std::unique_ptr<platform::Platform> platform,
         trace::Recorder& recorder, const Options& options);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // --- memory ------------------------------------------------------------------------------------------------------
  Memory* allocate_device(std::uint32_t device, const char* label, std::uint64_t bytes);
  /// @param announced  the program announces every access of the host: its pages stay open
  Memory* allocate_host(const char* label, std::uint64_t bytes, Memory* partner, bool announced = false);
  /// Waits for uses of it; on the emulated device, whose kernels may free arrays themselves, one that a running launch pins
  /// is freed when that ends.
  void deallocate(Memory* memory) noexcept;
  /// The live memory whose data contains `p`; nullptr for foreign addresses. No lock.
  [[nodiscard]] Memory* find(const void* p) const noexcept;
  [[nodiscard]] Memory* find_device(const void* p) const noexcept;
  /// Could memory of ours be among [first, last]? No lock.
  [[nodiscard]] bool overlaps(const std::byte* first, const std::byte* last) const noexcept {
    const auto reaches = [&](const std::byte* base, std::uint64_t bytes) { return first < base + bytes && last >= base; };
    return reaches(host_->base(), host_->bytes()) ||
           std::any_of(devices_.begin(), devices_.end(), [&](const auto& d) { return reaches(d->memory->base(), d->memory->bytes()); });
  }
  [[nodiscard]] bool in_any_arena(const void* p) const noexcept;
  [[nodiscard]] bool in_device_arena(const void* p) const noexcept;
  [[nodiscard]] std::byte* host_arena() const noexcept { return host_->base(); }
  [[nodiscard]] std::uint64_t host_arena_bytes() const noexcept { return host_->bytes(); }
  [[nodiscard]] std::byte* device_arena(std::uint32_t d) const noexcept { return devices_[d]->memory->base(); }
  [[nodiscard]] std::uint64_t device_arena_bytes(std::uint32_t d) const noexcept { return devices_[d]->memory->bytes(); }
  /// Of the live array at `p`; nullptr for other addresses. No lock.
  [[nodiscard]] const char* label_of(const void* p) const noexcept {
    const Memory* m = find(p);
    return m != nullptr && m->live ? recorder_.name(m->label) : nullptr;
  }
  /// Of the first device: how much of it is memory of which faults are to be served.
  [[nodiscard]] std::uint64_t guarded_arena_bytes() const noexcept { return options_.device_faults ? device_arena_bytes(0) : 0; }

  // --- queues ------------------------------------------------------------------------------------------------------
  /// @param leased  `retire_queue` must be called once more before the queue is given up
  QueueIndex adopt_queue(std::uint32_t device, void* native, std::shared_ptr<void> owner, bool leased = false);
  void retire_queue(std::uint32_t device, QueueIndex queue) noexcept;
  /// See `Queues::others_are_told_of`: told by `others_submit`. Called before the first queue is adopted.
  void others_are_told_of(bool told) noexcept;
  /// Somebody else is about to call the driver: who waits for our launches so far does not wait for what comes behind this call.
  void others_submit() noexcept;
  /// Is there anything for `others_submit` to do? No lock.
  [[nodiscard]] bool any_unrecorded() const noexcept {
    return std::any_of(devices_.begin(), devices_.end(), [](const auto& d) { return d->queues->any_unrecorded(); });
  }

  // --- copies ------------------------------------------------------------------------------------------------------
  void copy(void* to, const void* from, std::uint64_t bytes);
  void fill(Memory& memory, std::uint64_t position, std::uint64_t bytes, const directory::Fill& fill);
  /// A kernel has written the pattern to the whole range: the value is known, the slot holds it.
  void filled(Memory& memory, std::uint64_t position, std::uint64_t bytes, const directory::Fill& fill);

  // --- accesses ----------------------------------------------------------------------------------------------------
  void access(Memory& memory, ByteRange range, Access mode);
  // Bytes for code that nobody notices (foreign_io.cpp). A piece at [b, e) lies at [position + b, position + e) of the
  // array and at [b, e) behind `to` or `from`, which points into the buffer.
  /// Memory that nobody else uses; on the device's side where asked for. @throws OutOfMemory.
  TransitBuffer* take_buffer(std::uint64_t bytes, bool on_device);
  /// The same for persistent messages of `range` of a device array: side by side with those of its other ranges. nullptr
  /// where the array is too large, or another message has some of these bytes.
  TransitBuffer* take_buffer_beside(Memory& memory, ByteRange range);
  void give_buffer(TransitBuffer* buffer) noexcept;
  /// Afterwards no transfer uses the buffer any more: foreign code may read and write it.
  /// @pre nothing is expected of it
  void settle_buffer(TransitBuffer& buffer);
  /// Do all pieces have their content in this very memory?
  [[nodiscard]] bool valid_here(const Memory& memory, std::uint64_t position, const ByteRange* pieces,
                                std::size_t count) const;
  /// The buffer gets the content that the pieces have now: complete after `settle_buffer`. Exactly they move; a host
  /// array is fresh there afterwards.
  void read_out(Memory& memory, std::uint64_t position, const ByteRange* pieces, std::size_t count, TransitBuffer& buffer,
                std::byte* to);
  /// The next use of the buffer will be a `read_out` with these arguments: what kernels write may be brought beforehand.
  void expect_read_out(Memory& memory, std::uint64_t position, const ByteRange* pieces, std::size_t count,
                       TransitBuffer& buffer, std::byte* to);
  /// The pieces get what the buffer holds, as their new content. The buffer may be given back at once, and written after
  /// `settle_buffer`.
  void write_in(Memory& memory, std::uint64_t position, const ByteRange* pieces, std::size_t count, TransitBuffer& buffer,
                const std::byte* from);
  /// The same for messages that lie side by side in one block and that all have arrived. False: they do not; nothing is done.
  bool write_in_together(Memory& memory, ByteRange range, TransitBuffer* const* buffers, std::size_t count);
  platform::FaultResult serve(std::byte* address, platform::FaultKind kind, const void* instruction = nullptr) noexcept;
  void settle_all();
  /// Copies owed to `range` are made, and nothing in flight uses what they took their content from.
  void settle(Memory& memory, ByteRange range);
  void native_capture(Memory& memory, bool writable) { use_natively(memory, writable, memory.captured_use); }
  /// The same of every array, where one that leads to others was captured.
  void native_capture_of_all();
  // Uses outside our launches (foreign_uses.cpp), before they are made.
  /// Somebody else is about to call the driver. Everything that the call uses becomes valid and pinned, as for a launch on an
  /// unknown queue; what it may write counts as written, unless something else was announced. What a kernel is given may be
  /// written.
  /// @param launches  a kernel or a graph: it may use any array that is listed
  /// @return to be ended when the driver has taken the call's work; nullptr: nothing of ours is used
  [[nodiscard]] std::unique_ptr<ForeignCall> begin_foreign_call(const device::DriverUse* uses, std::size_t count,
                                                                bool launches);
  void end_foreign_call(std::unique_ptr<ForeignCall> call) noexcept;
  /// May this thread's next launch use arrays that are not among its arguments: because a graph, or memory on the device,
  /// holds their addresses?
  [[nodiscard]] bool any_listed() const noexcept { return listed_arrays_.load() != 0 || threads_with_arguments_.load() != 0; }
  /// A kernel holds a raw pointer into a mirror and follows it past any protection: the mirror becomes open, and the device
  /// knows it under its own address.
  void expose(Memory& mirror);

  // --- launches ----------------------------------------------------------------------------------------------------
  /// Everything captured becomes valid, resident and pinned. `operands` has no memory twice.
  /// @param overwritten  bytes of each operand that are certain to be written before they are read: not fetched, and of
  ///                     unknown content if the launch fails after all. nullptr: none
  void begin_launch(QueueIndex queue, const Operand* operands, std::size_t count, const ByteRange* overwritten = nullptr);
  /// As if every noticed array had been captured as writable. Pins nothing; the queue remembers.
  void begin_unknown_launch(QueueIndex queue, std::vector<Operand>& operands);
  /// Instead of `end_launch`, of a launch whose kernel is not submitted after all.
  void cancel_launch(const Operand* operands, std::size_t count) noexcept;
  /// The kernel is submitted. Returns its number on the queue; 0: it uses nothing and has none.
  std::uint64_t end_launch(QueueIndex queue, const Operand* operands, std::size_t count) noexcept;
  /// For `launch_awaited`: between `begin_launch` and the kernel's submission. No lock.
  [[nodiscard]] Clock submitted_before(QueueIndex queue) const noexcept;
  /// After `end_launch` of a kernel that somebody has waited for: nobody need ask the driver again. No lock.
  /// @param number  what `end_launch` returned
  void launch_awaited(QueueIndex queue, Clock before, std::uint64_t number) noexcept;

  /// A kernel of ours may run from now on, until `kernel_ends`: what faults meanwhile may be its use of what it did not capture.
  void kernel_starts() noexcept {
    if (options_.device_faults) kernels_.fetch_add(1, std::memory_order_relaxed);
  }
  void kernel_ends() noexcept {
    if (options_.device_faults) kernels_.fetch_sub(1, std::memory_order_relaxed);
  }

  [[nodiscard]] platform::Platform& platform() noexcept { return *platform_; }
  [[nodiscard]] const platform::Platform& platform() const noexcept { return *platform_; }
  [[nodiscard]] device::Device& device(std::uint32_t d) noexcept { return *devices_[d]->device; }
  /// Is work for this queue recorded in a graph of the program's, so that nobody knows when it runs? Not known of the unknown
  /// queue: false. @throws DeviceError
  [[nodiscard]] bool is_recording(QueueIndex queue);
  [[nodiscard]] std::uint32_t device_count() const noexcept { return static_cast<std::uint32_t>(devices_.size()); }
  void add_to(Statistics& statistics) const;
  /// The directory and every page state agree with each other (tests, audit). Ends the process if not.
  void audit();
  /// exit() has begun: the driver may be gone already, so a fault that cannot be served leaves its thread waiting for the
  /// end instead of ending the process its own way.
  void process_ends() noexcept { process_ends_.store(true); }
  /// Everything on the host valid and accessible, for pointers that outlive the runtime.
  /// @throws std::bad_alloc  some are not; the others are
  void open_everything();
  [[nodiscard]] bool any_live() const;

 private:
  class Transaction;
  class Look;

  /// While a thread settles handles for a launch outside our sight, that launch is not submitted yet: waiting for the
  /// device does not show that the uses noted for it are over.
  struct UnsubmittedLaunch {
    UnsubmittedLaunch() noexcept : outer(here().unsubmitted) { here().unsubmitted = this; }
    ~UnsubmittedLaunch() { here().unsubmitted = outer; }
    UnsubmittedLaunch(const UnsubmittedLaunch&) = delete;
    UnsubmittedLaunch& operator=(const UnsubmittedLaunch&) = delete;
    UnsubmittedLaunch* outer;
    std::uint64_t waited = 0;  ///< uses up to this one need no further wait now
  };
  /// What the calling thread is at.
  struct Thread {
    UnsubmittedLaunch* unsubmitted = nullptr;
    /// Of a thread that is in a driver's call: it may hold what another's launch waits for, so it never waits for that without end.
    base::Patience* in_driver_call = nullptr;
    const std::byte* served_address = nullptr;  ///< the access whose fault it serves
  };
  [[nodiscard]] static Thread& here() noexcept { return platform::per_thread<Thread>(); }

  /// An array that a transaction goes on with after a wait: each attempt looks at this before anything else.
  struct Kept : Known {
    explicit Kept(Memory& m) noexcept : Known(m), label(m.label) {}
    trace::LabelId label;
  };
  /// For the array that a caller named: first of all in each attempt. @throws UsageError
  void expect_not_freed(const Kept& array) const;

  /// While one lives, `range` of the memory is overwritten, of which others have what they want. Where an exception ends that,
  /// nobody knows which bytes are new.
  struct NoteIfRefused {
    Engine& engine;
    Memory& memory;
    ByteRange range;
    int before = std::uncaught_exceptions();
    ~NoteIfRefused() {
      if (std::uncaught_exceptions() > before) engine.note_refused(memory, range);
    }
  };

  struct DeviceState {
    std::uint32_t index = 0;
    std::unique_ptr<device::Device> device;
    std::unique_ptr<DeviceMemory> memory;
    std::unique_ptr<Staging> staging;
    std::unique_ptr<Queues> queues;
    QueueIndex to_device_queue = 0, to_host_queue = 0, within_queue = 0;
    /// Stands in a launch that may use any array for all that need nothing done when it begins: its pins and its uses are theirs, if
    /// they are older than `everything.since`, when the last such launch began.
    Memory everything;
  };

  [[nodiscard]] bool in_everything(const Memory& m) const noexcept { return !m.on_host() && m.since < everything(m).since; }
  [[nodiscard]] Memory& everything(const Memory& m) const noexcept { return devices_[device_index(m)]->everything; }
  [[nodiscard]] bool pinned(const Memory& m) const noexcept {
    return m.pins.load() != 0 || (in_everything(m) && everything(m).pins.load() != 0);
  }
  /// Positions on a queue of the device memory's last use, and of the last one that may have written it.
  [[nodiscard]] std::uint64_t last_use(const Memory& m, QueueIndex q) const noexcept {
    return std::max(m.on(q).use.load(), in_everything(m) ? everything(m).on(q).use.load() : 0);
  }
  [[nodiscard]] std::uint64_t last_write(const Memory& m, QueueIndex q) const noexcept {
    return std::max(m.on(q).write.load(), in_everything(m) ? everything(m).on(q).write.load() : 0);
  }

  // engine.cpp: memory objects, projection
  Memory* new_memory(SpaceId space, const char* label, std::uint64_t bytes);
  void recycle(Memory& memory) noexcept;
  [[nodiscard]] Memory& memory_of(SlotId slot) { return *by_slot_[slot.value]; }
  void bind(Memory& memory, SlotId slot);
  Obstacle free_array(Memory& memory);
  /// Nobody wants the array itself any more; copies of it may still be wanted elsewhere (I4).
  void leave_datum(Memory& memory) noexcept;
  /// Its memory becomes a saved value: nothing moves. The addresses are not reused until it is read or dropped.
  void keep_as_saved_copy(Memory& memory) noexcept;
  Obstacle save_before_leaving(Memory& memory);
  void place_on_device(Memory& memory);
  void release_place(Memory& memory) noexcept;
  void project() noexcept;
  /// The same at the end of the next launch, while the device is busy, if only flags of device arrays are to be set anew:
  /// until then they say less than they could, and launches look closer.
  void project_soon() noexcept;
  /// `range` of the memory is written there: a new value (I2). What it was owed is dropped.
  void note_written(Memory& memory, ByteRange range);
  void count_dropped(const Memory& memory, ByteRange range) noexcept {
    if (const std::uint64_t bytes = pending_.take(memory.datum, range)) recorder_.moved(trace::Kind::dropped, memory.label, bytes);
  }
  /// Launches look closer from now on, until the next projection.
  void revoke(Memory& device_memory) noexcept {
    device_memory.flags.fetch_and(~Memory::revocable);
    note_perhaps_unready(device_memory);
    project_later(device_memory);
  }
  void project_later(Memory& m) noexcept {
    if (!std::exchange(m.awaits_projection, true)) revoked_.push_back(&m);  // there is room for all
  }
  void project_device(Memory& memory) noexcept;
  /// Some of its flags are not set.
  void note_perhaps_unready(Memory& m) noexcept {
    if (!std::exchange(m.perhaps_unready, true)) unready_.push_back(&m);  // there is room for all
  }
  /// Are the pages of this device memory protected by its state, so that the program's own accesses are noticed?
  [[nodiscard]] bool guarded(const Memory& m) const noexcept { return options_.device_faults && !m.on_host() && m.bytes > 0; }
  /// Guarded pages permit what the state does, from now on: a kernel, or somebody who announced it, is about to use them.
  void open_guarded(Memory& memory);
  void protect_guarded(Memory& memory, platform::Protection protection) noexcept;
  /// The kernel's limit on mappings is near.
  void stop_guarding(const Memory& memory) noexcept;
  [[noreturn]] void die_closed(const Memory& memory) const noexcept;
  /// Frees the saved copies that nobody wants any more.
  void collect_orphans() noexcept;
  void note_perhaps_unwanted(Memory& saved) noexcept;
  void forget_perhaps_unwanted(Memory& saved) noexcept;
  void add_device(std::unique_ptr<device::Device> device);
  /// @throws DeviceError  see `Queues::retire`
  void end_queue(Transaction& transaction, DeviceState& d, QueueIndex queue);
  [[nodiscard]] bool put_off(Memory& m) noexcept;
  void free_put_off() noexcept;
  void destroy(Memory& memory) noexcept;
  [[nodiscard]] std::uint64_t page() const noexcept { return page_bytes_; }
  [[nodiscard]] bool watched(const Memory& m) const noexcept { return pages_->watched(m); }
  [[nodiscard]] std::string describe_live_buffers(std::uint32_t device) const;
  /// The first device: Kokkos' own, where the program's queues are.
  [[nodiscard]] DeviceState& home() const noexcept { return *devices_.front(); }
  DeviceState& device_of(const Memory& m) { return *devices_[m.space.value - 1]; }
  [[nodiscard]] static std::uint32_t device_index(const Memory& m) noexcept { return m.space.value - 1; }

  // waiting.cpp
  void wait(Transaction& transaction, const Obstacle& obstacle);
  /// While a fault is served: what it waits for is held by a thread that waits for it.
  struct NeitherCanGoOn : SystemError {
    using SystemError::SystemError;
  };
  /// A moment, or until one has got what its thread waits for. @throws NeitherCanGoOn
  void wait_for_launches(Transaction& transaction, Memory& memory);
  void wait_for_launches_a_moment(Transaction& transaction, Memory& memory);
  void wait_for_device(Transaction& transaction, std::uint32_t device);
  void lock_pages(Transaction& transaction, Memory& host, ByteRange chunk);
  /// Afterwards what was submitted to the queue last is done. It cannot be taken back, so where an event fails the queue is
  /// waited for, and then the device. @throws DeviceError  the device is lost
  void complete(Transaction& transaction, const timeline::Work& work);
  /// All transfers, and those of `memory`; in the same way.
  void complete_transfers(Transaction& transaction, Memory& memory);
  /// None: it is known to be done.
  [[nodiscard]] Obstacle not_done(const timeline::Work& work) const noexcept;
  [[nodiscard]] bool unknown_use_pending(const Memory& m, Mode mode) const;
  /// None: a transfer may use the device memory. Its flags are revoked, no launch is between its check and its submission, and no
  /// use is pending of which nobody knows the end.
  Obstacle quiesce(Memory& memory);
  /// None: a transfer may read these bytes, or write them (writing). Of device memory the whole is looked at (`quiesce`).
  Obstacle busy(Memory& memory, ByteRange range, Mode mode);
  /// None: no transfer under way reads or writes these host pages (writing), or writes them (reading).
  Obstacle flights_of(Memory& host, ByteRange range, Mode mode);
  /// None: all chunks of these host pages that are worth page-locking for a transfer are page-locked.
  Obstacle directly_reached(Memory& host, ByteRange range);
  /// None: nothing on any queue uses the memory.
  Obstacle uses_of(Memory& memory);
  /// None: no transfer uses the device memory.
  Obstacle transfers_of(const Memory& memory) const noexcept;
  /// None: no work on the queues below `end` uses the device memory.
  Obstacle uses_on(const Memory& memory, QueueIndex end) const noexcept;
  /// None: the transfer has landed, and is forgotten.
  Obstacle land(Flights::iterator flight);
  Obstacle land_all();

  // transfers.cpp: what has to move, one step after the other
  /// None: all of them are met, at once. Each is resident, has its content, and what others want of content that will be overwritten
  /// is saved. No work that is known reads or writes what they concern; kernels of launches that follow are ordered by `pin` instead.
  /// @pre none of the arrays is freed
  Obstacle meet(const Requirement* requirements, std::size_t count);
  Obstacle meet(Memory& memory, ByteRange range, Access mode) {
    const Requirement requirement{&memory, range, mode};
    return meet(&requirement, 1);
  }
  /// @pre device memory is resident
  Obstacle make_fresh(Memory& memory, ByteRange range);
  /// What takes a value from its last holder.
  enum class Loss : std::uint8_t {
    fetch,     ///< another value comes to where it lies
    write,     ///< the array gets a new value where it lies: what the array itself wants there goes, too
    eviction,  ///< its device memory is needed: saved copies go to the host
    freeing,   ///< one side of the array is freed
  };
  /// What the memory is the last holder of in `range` and others want, is saved.
  /// @param together  ranges of the memory that lose their values at the same time
  Obstacle save_all(Memory& memory, ByteRange range, Loss loss, const std::vector<ByteRange>& together = {});
  Obstacle save(Memory& memory, const directory::LastHeld& piece, Loss loss);
  /// The bytes move, and the directory is told.
  void perform(const directory::Step& step, plan::Purpose purpose);

  // executor.cpp
  /// The one way to change memory of arrays. Counts it, and tells the observer.
  void execute(const plan::Step& step);
  void carry_out(const plan::Step& step);
  void tell(const plan::Step& step) noexcept {
    if (options_.observer != nullptr) options_.observer->done(step);
  }
  [[nodiscard]] static plan::End at(const Memory& memory, std::uint64_t position) noexcept { return memory::end_at(memory, position); }
  /// Memory that is no array's. @param last_use  set to the work that uses it
  /// @param label  of the array whose bytes these are
  [[nodiscard]] static plan::End elsewhere(SpaceId space, const void* address, timeline::Work* last_use = nullptr,
                                           trace::LabelId label = {}) noexcept;
  [[nodiscard]] static plan::End within(TransitBuffer& buffer, const std::byte* address) noexcept;
  [[nodiscard]] static plan::Step copy_step(plan::Purpose purpose, const plan::End& to, const plan::End& from,
                                            std::uint64_t bytes) noexcept;
  [[nodiscard]] static plan::Step step_of(plan::Step::Kind kind, const Memory& memory) noexcept;
  void copy_bytes(const plan::Step& step);
  void copy_on_host(const plan::Step& step, Memory* to, Memory* from);
  void copy_by_queue(const plan::Step& step, Memory* to, Memory* from);
  static void repeat(std::byte* to, std::uint64_t bytes, const directory::Fill& fill, std::uint64_t phase) noexcept;
  void copy_to_device(Memory& to, std::uint64_t to_position, Memory& from, std::uint64_t from_position, std::uint64_t n);
  void copy_to_host(Memory& to, std::uint64_t to_position, Memory& from, std::uint64_t from_position, std::uint64_t n);
  /// SEMCACHE_CHECK=1 on emulated devices: device pages are accessible during launches and our own copies only.
  void set_reachable(Memory& memory, bool reachable) noexcept;
  void set_all_reachable(bool reachable) noexcept;
  void keep_reachable(Memory& memory) noexcept;
  /// What was copied to the memory's datum is owed where none of its slots holds it.
  void note_pending(const Memory& memory, ByteRange range) noexcept;
  /// What it was owed is dropped where it wants something else now. @param earlier  what it wanted
  void count_replaced(const Memory& memory, const std::vector<directory::ExtentMap::Extent>& earlier) noexcept;
  /// SEMCACHE_CHECK=1: a copy is about to be elided; do both sides really have the same bytes?
  Obstacle check_elided(Memory& to, std::uint64_t to_position, Memory& from, std::uint64_t from_position, std::uint64_t n);
  /// Whatever the protection of either side: it is given up to nobody, not even for a moment.
  void copy_behind(std::byte* to, const std::byte* from, std::uint64_t n);
  /// Can this thread, which has the lock, use the bytes as it is? Protections change under the lock alone.
  [[nodiscard]] bool permits(const std::byte* address, std::uint64_t bytes, platform::Protection needed) const;
  using CopyOfDevice = void (device::Device::*)(QueueId, std::byte*, const std::byte*, std::uint64_t);
  /// A copy that the device makes, in its queue; behind the protection of its pages where it has one.
  void copy_by_device(DeviceState& d, QueueIndex queue, CopyOfDevice copy, std::byte* to, const std::byte* from, std::uint64_t n);
  /// Of what the array holds now.
  [[nodiscard]] std::uint64_t digest_of(Memory& memory);
  void fill_in_place(Memory& to, std::uint64_t position, std::uint64_t n, const directory::Fill& fill,
                     std::uint64_t phase);
  enum class Behind : std::uint8_t { transfers, all };
  /// Later work on the queue starts behind the uses of the memory: by transfers of ours, or all that are known.
  void order_queue(DeviceState& d, QueueIndex queue, Memory& memory, Mode mode, Behind behind);
  timeline::Work note_use(DeviceState& d, QueueIndex queue, Memory& memory, Mode mode) noexcept;
  /// One piece of work, number `at` of its queue, that uses several memories.
  static void note_use(QueueIndex queue, Memory& memory, Mode mode, std::uint64_t at, std::uint64_t now) noexcept;
  void poll_flights() noexcept;
  void forget_finished_flights();
  /// Writes a staged arrival behind the protection of its pages.
  void write_arrival(Memory& host, ByteRange range, const std::byte* bytes);
  /// Pages that are about to be a transfer's source can no longer change unnoticed.
  void freeze(Memory& host, ByteRange range);
  Obstacle check_writes(Memory& memory);

  // residency.cpp
  /// All of the set at once, of one device. @throws OutOfMemory
  Obstacle make_resident(DeviceState& d, const std::vector<Memory*>& set);
  /// Of those that are in device memory, each device's at once. @param array_at  for each index up to `count`; nullptr: none
  template <class ArrayAt>
  Obstacle make_resident(std::size_t count, const ArrayAt& array_at) {
    bool resident = true;
    for (std::size_t i = 0; i < count; ++i) resident = resident && is_resident(array_at(i));
    if (resident) return {};
    for (auto& d : devices_) {
      std::vector<Memory*> set;
      for (std::size_t i = 0; i < count; ++i) {
        Memory* const m = array_at(i);
        if (m != nullptr && m->space == device_space(d->index)) set.push_back(m);
      }
      if (const Obstacle o = make_resident(*d, set)) return o;
    }
    return {};
  }
  [[nodiscard]] static bool is_resident(const Memory* m) noexcept {
    return m == nullptr || m->on_host() || (m->flags.load() & Memory::resident) != 0;
  }
  Obstacle make_resident(Memory& memory) {
    return make_resident(1, [&](std::size_t) { return &memory; });
  }
  /// @param evicted  false: there is nothing that could go
  Obstacle evict_one(DeviceState& d, const std::vector<Memory*>& keep, bool& evicted);
  [[nodiscard]] bool may_leave(const DeviceState& d, const Memory& memory, const std::vector<Memory*>& keep) const noexcept;
  Obstacle evict(Memory& memory);
  void map_memory(Memory& memory);
  void unmap_memory(Memory& memory) noexcept;
  [[noreturn]] void throw_out_of_memory(const DeviceState& d, const std::vector<Memory*>& set, std::uint64_t need) const;
  Memory* new_snapshot(SpaceId space, std::uint64_t bytes, trace::LabelId label);
  [[nodiscard]] bool room_for_snapshot(DeviceState& d, std::uint64_t bytes, Loss loss) const;

  // launches.cpp
  Obstacle prepare(const Operand* operands, std::size_t count, const ByteRange* overwritten);
  void pin(Transaction& transaction, QueueIndex queue, const Operand* operands, std::size_t count);
  /// The one end of every pin: what is to be freed behind it goes. Without the lock.
  void unpin(const Operand* operands, std::size_t count) noexcept;
  void unpin(Transaction& transaction, const Operand* operands, std::size_t count) noexcept;
  void give_way(Transaction& transaction, const Operand* operands, std::size_t count);
  static void ask_for_transfers(DeviceState& d, QueueIndex queue, const Memory& operand);
  /// Nothing need be done for this operand.
  [[nodiscard]] static bool ready(const Operand& operand) noexcept;
  enum class Arrays : std::uint8_t { unready, all };
  /// What a launch that may use any array uses: itself, or as a part of everything.
  void list_everything(Arrays which, std::vector<Operand>& operands);
  /// What a launch leaves to be done. @param recorded  the device whose queue gets an event behind it; nullptr: none
  void follow_launch(QueueIndex queue, const Operand* operands, std::size_t count, DeviceState* recorded) noexcept;
  void fetch_ahead(Memory& written);

  // foreign_uses.cpp
  struct HostUse : Known {
    HostUse(Memory& m, ByteRange bytes, bool writes, bool from_kernel) noexcept
        : Known(m), range(bytes), writable(writes), pointer(from_kernel) {}
    ByteRange range;
    bool writable;
    bool pointer;  ///< a kernel's
    bool counted = false;   ///< as one that nobody announced
    bool served = false;    ///< its pages were not as it needs them
  };
  /// It does until something of ours uses the array, or copies anything: who wants the content since would get what is
  /// written under an announcement of reads.
  [[nodiscard]] bool holds(const Memory::Announcement& announcement, const Memory& memory) const noexcept {
    const std::uint64_t at = announcement.at.load();
    return at != 0 && at == memory.recently.load() && announcement.links.load() == links_.load() &&
           !(in_everything(memory) && (everything(memory).pins.load() != 0 || at <= everything(memory).recently.load()));
  }
  void use_natively(Memory& memory, bool writable, Memory::Announcement& announcement);
  void list(Memory& memory);
  static void add_use(ForeignCall& call, const ForeignCall::Use& use);
  [[nodiscard]] ForeignCall::Use unless_announced(Memory& memory, bool writable, bool known);
  void add_every_array(ForeignCall& call);
  /// Nothing need be done for it.
  [[nodiscard]] bool is_right(const HostUse& use) const noexcept;
  Obstacle make_right(HostUse& use);
  /// A kernel outside our launches holds a raw pointer into a mirror.
  Obstacle pointer_to_host(HostUse& use);

  // foreign_io.cpp
  struct Source {
    SlotId slot;             ///< invalid: made of `fill`, or never written
    std::uint64_t position;
    std::uint64_t bytes;
    directory::Fill fill;
    std::uint64_t phase;     ///< of the pattern at its first byte
  };
  [[nodiscard]] Source nearest_source(const Memory& memory, ByteRange range) const;
  void read_from_device(Transaction& transaction, Memory& memory, std::uint64_t position, const ByteRange* pieces, std::size_t count,
                        TransitBuffer& buffer, std::byte* to);
  /// Copies from memory that is mapped and fresh there, behind what writes it.
  void submit_pieces(Memory& memory, std::uint64_t position, const ByteRange* pieces, std::size_t count,
                     TransitBuffer& buffer, std::byte* to);
  // expected_messages.cpp
  /// Changes with everything that is written into device memory.
  [[nodiscard]] std::uint64_t written_by_device(const Memory& memory) const noexcept;
  void bring_expected(Memory& memory);
  [[nodiscard]] bool brought(const Memory& memory, std::uint64_t position, const ByteRange* pieces, std::size_t count,
                             const TransitBuffer& buffer, const std::byte* to) const;
  [[nodiscard]] bool fresh_here(const Memory& memory, std::uint64_t position, const ByteRange* pieces,
                                std::size_t count) const;
  static void expect_nothing(TransitBuffer& buffer) noexcept;
  [[nodiscard]] Obstacle user_of(const TransitBuffer& buffer) const noexcept;
  using Buffers = std::vector<std::unique_ptr<TransitBuffer>>;
  std::unique_ptr<TransitBuffer> no_longer_idle(Buffers::iterator which) noexcept;
  /// Somebody else needs the memory. False if there was none.
  bool release_idle_buffers(Transaction& transaction, bool on_device) noexcept;
  void free_buffer(Transaction& transaction, std::unique_ptr<TransitBuffer> buffer) noexcept;

  // host_access.cpp, copies.cpp
  /// Of those that live, one after the other, each in a transaction of its own.
  template <class Visit>
  void for_each_array(const Visit& visit);
  /// Nothing is done where the array is freed meanwhile.
  void host_access(Transaction& transaction, Memory& memory, ByteRange range, Access mode);
  Obstacle open_pages(Memory& memory, ByteRange range, Access mode);
  /// The pages that a fault at `position` makes valid and opens; counts those beyond the faulting one.
  [[nodiscard]] ByteRange plan_fault(Memory& host, std::uint64_t position, Access mode);
  std::uint64_t count_ahead(Memory& host, ByteRange page, ByteRange range, Access mode);
  void begin_host_phase(Memory& host);
  platform::FaultResult serve(std::byte* address, platform::FaultKind kind, const void* instruction, const char*& label);
  platform::FaultResult serve_device(Transaction& transaction, Memory& memory, platform::FaultKind kind, const void* address,
                                     const void* instruction);
  void note_fetch(Memory& host, ByteRange range);
  /// What is also held elsewhere comes from there again. What only this memory had is what lies there now: a new value.
  void note_refused(Memory& memory, ByteRange range) noexcept;
  [[nodiscard]] SpaceId space_at(const void* elsewhere) const noexcept;
  void copy_from_open(Transaction& transaction, Memory& to, std::uint64_t position, const void* from, std::uint64_t n);
  void copy_to_open(Transaction& transaction, void* to, Memory& from, std::uint64_t position, std::uint64_t n);
  /// The maps of an array must stay small against the array: beyond a bound it is settled and numbered anew.
  void keep_maps_short(Transaction& transaction, Memory& memory) noexcept;
  /// The mirror is valid, accessible and never protected again; copies with it happen at the call.
  Obstacle open_for_device(Memory& mirror);
  Obstacle open_mirror(Memory& memory, const char* reason);
  [[nodiscard]] bool host_side_is_announced(const Memory& memory);
  Obstacle finish_write_checks(const Memory& memory);
  [[nodiscard]] static bool shifts(const Memory& to, std::uint64_t to_position, const Memory& from, std::uint64_t from_position,
                                   std::uint64_t n) noexcept;
  [[nodiscard]] bool link(Transaction& transaction, Memory& to, std::uint64_t to_position, Memory& from,
                          std::uint64_t from_position, std::uint64_t n);
  void settle_early(Transaction& transaction, Memory& to, ByteRange range, Memory& from) noexcept;
  void settle_copy(Transaction& transaction, Memory& to, ByteRange range);
  void copy_now(Transaction& transaction, Memory& to, std::uint64_t to_position, Memory& from, std::uint64_t from_position,
                std::uint64_t n);

  /// The engine's lock: for transactions, and for who only looks.
  [[nodiscard]] std::unique_lock<std::mutex> lock() const { return std::unique_lock<std::mutex>(mutex_); }
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<DeviceState>> devices_;
  std::unique_ptr<platform::Platform> platform_;
  trace::Recorder& recorder_;
  Options options_;
  Surroundings nothing_known_;
  Surroundings& surroundings_;
  std::uint64_t page_bytes_;
  memory::Mappings mappings_;
  std::unique_ptr<HostMemory> host_;
  directory::Directory directory_;
  PendingCopies pending_;
  std::deque<Memory> pool_;  ///< `free_memories_`, `unwanted_`, `revoked_` and `projecting_` have room for all of them
  std::vector<Memory*> free_memories_;
  std::vector<Memory*> by_slot_;
  /// Saved copies that perhaps nobody wants any more: those that are new, and those that the directory has touched since they
  /// were looked at; and those that nobody wants, but that are in use.
  std::vector<Memory*> unwanted_;
  std::vector<Memory*> unready_;  ///< device memory that may need something done before a launch uses it; whoever is not listed is ready
  std::vector<Memory*> put_off_;                ///< to be freed when their launches have ended
  std::atomic<std::size_t> put_off_count_{0};
  std::vector<Memory*> revoked_;  ///< flags to be computed anew at the next projection; each once
  std::vector<Memory*> projecting_;  ///< room for `project`
  std::atomic<bool> projection_waits_{false};  ///< for the end of a launch
  std::uint64_t projection_ = 0;  ///< projections so far
  Flights flights_;  ///< what is under way
  std::unique_ptr<HostPages> pages_;
  std::atomic<std::uint64_t> clock_{1};
  std::vector<Memory*> listed_;
  std::atomic<std::size_t> listed_arrays_{0};  ///< how many these are
  /// By thread: arrays whose addresses it has copied to a device, as arguments of its next launch.
  std::map<std::thread::id, std::vector<ForeignCall::Use>> arguments_;
  std::atomic<std::size_t> threads_with_arguments_{0};
  std::atomic<std::uint64_t> links_{0};        ///< copies and fills so far: others may want what an array holds since
  std::uint32_t running_launches_ = 0;  ///< counted under SEMCACHE_CHECK only
  std::atomic<std::uint32_t> kernels_{0};  ///< launches under way, where uses of device memory fault (Options::device_faults)
  std::uint64_t live_device_bytes_ = 0;
  std::uint64_t live_host_bytes_ = 0;
  std::uint64_t host_snapshot_bytes_ = 0;
  std::atomic<bool> process_ends_{false};
  struct DeviceFault {
    const void* address = nullptr;
    const void* instruction = nullptr;
    Memory* memory = nullptr;
  };
  DeviceFault last_faults_[2];       ///< served last, and before
  unsigned alternating_faults_ = 0;  ///< the same two in turn, so often
  bool warned_open_ = false;
  std::vector<TransitBuffer*> due_;  ///< of `bring_expected`
  std::vector<std::byte> detour_;    ///< of `copy_behind`
  std::size_t buffers_taken_ = 0;  ///< that will be idle again
  Buffers idle_buffers_;  // last: given back before the devices go
  std::uint64_t idle_host_bytes_ = 0;
  std::uint64_t idle_device_bytes_ = 0;
};

}  // namespace semcache::engine
