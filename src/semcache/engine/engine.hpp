// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/base/types.hpp>
#include <semcache/engine/copies.hpp>
#include <semcache/engine/foreign_io.hpp>
#include <semcache/engine/foreign_uses.hpp>

/// Carries out what the directory asks for: in order, asynchronously, traced.
namespace semcache::engine {

/// The parts of the engine, put together, and what they do for the runtime.
///
/// Threads: every public member, any thread. Members take the lock themselves; none waits for a transfer while it
/// holds it. Errors: strong guarantee (I9) as far as content is concerned: evictions made on the way stay made.
class Engine : base::Uncopied {
 public:
  Engine(std::vector<std::unique_ptr<device::Device>> devices, std::unique_ptr<platform::Platform> platform,
         trace::Recorder& recorder, const Options& options);
  ~Engine();

  // --- memory ------------------------------------------------------------------------------------------------------
  Memory* allocate_device(std::uint32_t device, const char* label, std::uint64_t bytes) {
    return lifetimes_.allocate_device(device, label, bytes);
  }
  /// @param announced  the program announces every access of the host: its pages stay open
  Memory* allocate_host(const char* label, std::uint64_t bytes, Memory* partner, bool announced = false) {
    return lifetimes_.allocate_host(label, bytes, partner, announced);
  }
  /// Waits for uses of it; on the emulated device, whose kernels may free arrays themselves, one that a running launch pins
  /// is freed when that ends.
  void deallocate(Memory* memory) noexcept { lifetimes_.deallocate(memory); }
  /// The live memory whose data contains `p`; nullptr for foreign addresses. No lock.
  [[nodiscard]] Memory* find(const void* p) const noexcept { return s_.find(p); }
  [[nodiscard]] Memory* find_device(const void* p) const noexcept { return s_.find_device(p); }
  /// Could memory of ours be among [first, last]? No lock.
  [[nodiscard]] bool overlaps(const std::byte* first, const std::byte* last) const noexcept { return s_.overlaps(first, last); }
  [[nodiscard]] bool in_any_arena(const void* p) const noexcept { return s_.in_any_arena(p); }
  [[nodiscard]] bool in_device_arena(const void* p) const noexcept { return s_.in_device_arena(p); }
  [[nodiscard]] std::byte* host_arena() const noexcept { return s_.host->base(); }
  [[nodiscard]] std::uint64_t host_arena_bytes() const noexcept { return s_.host->bytes(); }
  [[nodiscard]] std::byte* device_arena(std::uint32_t d) const noexcept { return s_.devices[d]->memory->base(); }
  [[nodiscard]] std::uint64_t device_arena_bytes(std::uint32_t d) const noexcept { return s_.devices[d]->memory->bytes(); }
  /// Of the live array at `p`; nullptr for other addresses. No lock.
  [[nodiscard]] const char* label_of(const void* p) const noexcept { return s_.label_of(p); }
  /// Of the first device: how much of it is memory of which faults are to be served.
  [[nodiscard]] std::uint64_t guarded_arena_bytes() const noexcept { return s_.options.device_faults ? device_arena_bytes(0) : 0; }

  // --- queues ------------------------------------------------------------------------------------------------------
  /// @param leased  `retire_queue` must be called once more before the queue is given up
  QueueIndex adopt_queue(std::uint32_t device, void* native, std::shared_ptr<void> owner, bool leased = false);
  void retire_queue(std::uint32_t device, QueueIndex queue) noexcept;
  /// See `Queues::others_are_told_of`: told by `others_submit`. Called before the first queue is adopted.
  void others_are_told_of(bool told) noexcept;
  /// Somebody else is about to call the driver: who waits for our launches so far does not wait for what comes behind this call.
  /// @param fenced  the call is a fence of this stream, and separates the launches of this one alone
  void others_submit(std::optional<void*> fenced) noexcept;
  /// Is there anything for `others_submit` to do? No lock.
  [[nodiscard]] bool any_unrecorded() const noexcept {
    return std::any_of(s_.devices.begin(), s_.devices.end(), [](const auto& d) { return d->queues->any_unrecorded(); });
  }

  // --- copies ------------------------------------------------------------------------------------------------------
  void copy(void* to, const void* from, std::uint64_t bytes) { copies_.copy(to, from, bytes); }
  void fill(Memory& memory, std::uint64_t position, std::uint64_t bytes, const directory::Fill& fill) {
    copies_.fill(memory, position, bytes, fill);
  }
  /// A kernel has written the pattern to the whole range: the value is known, the slot holds it.
  void filled(Memory& memory, std::uint64_t position, std::uint64_t bytes, const directory::Fill& fill) {
    copies_.filled(memory, position, bytes, fill);
  }

  // --- accesses ----------------------------------------------------------------------------------------------------
  void access(Memory& memory, ByteRange range, Access mode) {
    if (range.empty()) return;
    return memory.on_host() ? host_access_.access(memory, range, mode) : foreign_uses_.access(memory, range, mode);
  }
  // Bytes for code that nobody notices (foreign_io.cpp). A piece at [b, e) lies at [position + b, position + e) of the
  // array and at [b, e) behind `to` or `from`, which points into the buffer.
  /// Memory that nobody else uses; on the device's side where asked for. @throws OutOfMemory.
  TransitBuffer* take_buffer(std::uint64_t bytes, bool on_device) { return foreign_io_.take_buffer(bytes, on_device); }
  /// The same for persistent messages of `range` of a device array: side by side with those of its other ranges. nullptr
  /// where the array is too large, or another message has some of these bytes.
  TransitBuffer* take_buffer_beside(Memory& memory, ByteRange range) { return foreign_io_.take_buffer_beside(memory, range); }
  void give_buffer(TransitBuffer* buffer) noexcept { foreign_io_.give_buffer(buffer); }
  /// Afterwards no transfer uses the buffer any more: foreign code may read and write it.
  /// @pre nothing is expected of it
  void settle_buffer(TransitBuffer& buffer) { foreign_io_.settle_buffer(buffer); }
  /// Do all pieces have their content in this very memory?
  [[nodiscard]] bool valid_here(const Memory& memory, std::uint64_t position, const ByteRange* pieces, std::size_t count) const {
    return foreign_io_.valid_here(memory, position, pieces, count);
  }
  /// The buffer gets the content that the pieces have now: complete after `settle_buffer`. Exactly they move; a host
  /// array is fresh there afterwards.
  void read_out(Memory& memory, std::uint64_t position, const ByteRange* pieces, std::size_t count, TransitBuffer& buffer,
                std::byte* to) {
    foreign_io_.read_out(memory, position, pieces, count, buffer, to);
  }
  /// The next use of the buffer will be a `read_out` with these arguments: what kernels write may be brought beforehand.
  void expect_read_out(Memory& memory, std::uint64_t position, const ByteRange* pieces, std::size_t count,
                       TransitBuffer& buffer, std::byte* to) {
    foreign_io_.expect_read_out(memory, position, pieces, count, buffer, to);
  }
  /// The pieces get what the buffer holds, as their new content. The buffer may be given back at once, and written after
  /// `settle_buffer`.
  void write_in(Memory& memory, std::uint64_t position, const ByteRange* pieces, std::size_t count, TransitBuffer& buffer,
                const std::byte* from) {
    foreign_io_.write_in(memory, position, pieces, count, buffer, from);
  }
  /// The same for messages that lie side by side in one block and that all have arrived. False: they do not; nothing is done.
  bool write_in_together(Memory& memory, ByteRange range, TransitBuffer* const* buffers, std::size_t count) {
    return foreign_io_.write_in_together(memory, range, buffers, count);
  }
  platform::FaultResult serve(std::byte* address, platform::FaultKind kind, const void* instruction = nullptr) noexcept {
    return host_access_.serve(address, kind, instruction);
  }
  void settle_all() { host_access_.settle_all(); }
  /// Copies that are pending for `range` are made, and nothing in flight uses what they took their content from.
  void settle(Memory& memory, ByteRange range) { copies_.settle(memory, range); }
  void native_capture(Memory& memory, bool writable) { foreign_uses_.native_capture(memory, writable); }
  /// The same of every array, where one that leads to others was captured.
  void native_capture_of_all() { foreign_uses_.native_capture_of_all(); }
  // Uses outside our launches (foreign_uses.cpp), before they are made.
  /// Somebody else is about to call the driver. Everything that the call uses becomes valid and pinned, as for a launch on an
  /// unknown queue; what it may write counts as written, unless something else was announced. What a kernel is given may be
  /// written.
  /// @param launches  a kernel or a graph: it may use any array that is listed
  /// @return to be ended when the driver has taken the call's work; nullptr: nothing of ours is used
  [[nodiscard]] std::unique_ptr<ForeignCall> begin_foreign_call(const device::DriverUse* uses, std::size_t count,
                                                                bool launches) {
    return foreign_uses_.begin_foreign_call(uses, count, launches);
  }
  void end_foreign_call(std::unique_ptr<ForeignCall> call) noexcept { foreign_uses_.end_foreign_call(std::move(call)); }
  /// May this thread's next launch use arrays that are not among its arguments: because a graph, or memory on the device,
  /// holds their addresses?
  [[nodiscard]] bool any_listed() const noexcept { return foreign_uses_.any_listed(); }
  /// A kernel holds a raw pointer into a mirror and follows it past any protection: the mirror becomes open, and the device
  /// knows it under its own address.
  void expose(Memory& mirror) { host_access_.expose(mirror); }

  // --- launches ----------------------------------------------------------------------------------------------------
  /// Everything captured becomes valid, resident and pinned. `operands` has no memory twice.
  /// @param overwritten  bytes of each operand that are certain to be written before they are read: not fetched, and of
  ///                     unknown content if the launch fails after all. nullptr: none
  void begin_launch(QueueIndex queue, const Operand* operands, std::size_t count, const ByteRange* overwritten = nullptr) {
    launches_.begin_launch(queue, operands, count, overwritten);
  }
  /// As if every noticed array had been captured as writable. @param operands  set: what is pinned
  void begin_unknown_launch(QueueIndex queue, std::vector<Operand>& operands) { launches_.begin_unknown_launch(queue, operands); }
  /// Instead of `end_launch`, of a launch whose kernel is not submitted after all.
  void cancel_launch(const Operand* operands, std::size_t count) noexcept { launches_.cancel_launch(operands, count); }
  /// The kernel is submitted. Returns its number on the queue; 0: it uses nothing and has none.
  std::uint64_t end_launch(QueueIndex queue, const Operand* operands, std::size_t count) noexcept {
    return launches_.end_launch(queue, operands, count);
  }
  /// For `launch_awaited`: between `begin_launch` and the kernel's submission. No lock.
  [[nodiscard]] Clock submitted_before(QueueIndex queue) const noexcept { return launches_.submitted_before(queue); }
  /// After `end_launch` of a kernel that somebody has waited for: nobody need ask the driver again. No lock.
  /// @param number  what `end_launch` returned
  void launch_awaited(QueueIndex queue, const Clock& before, std::uint64_t number) noexcept {
    launches_.launch_awaited(queue, before, number);
  }

  /// A kernel of ours may run from now on, until `kernel_ends`: what faults meanwhile may be its use of what it did not capture.
  void kernel_starts() noexcept {
    if (s_.options.device_faults) s_.kernels.fetch_add(1, std::memory_order_relaxed);
  }
  void kernel_ends() noexcept {
    if (s_.options.device_faults) s_.kernels.fetch_sub(1, std::memory_order_relaxed);
  }

  [[nodiscard]] platform::Platform& platform() noexcept { return *s_.platform; }
  [[nodiscard]] const platform::Platform& platform() const noexcept { return *s_.platform; }
  [[nodiscard]] device::Device& device(std::uint32_t d) noexcept { return *s_.devices[d]->device; }
  /// Is work for this queue recorded in a graph of the program's, so that nobody knows when it runs? Not known of the unknown
  /// queue: false. @throws DeviceError
  [[nodiscard]] bool is_recording(QueueIndex queue) { return launches_.is_recording(queue); }
  [[nodiscard]] std::uint32_t device_count() const noexcept { return static_cast<std::uint32_t>(s_.devices.size()); }
  void add_to(Statistics& statistics) const;
  /// The directory and every page state agree with each other (tests, audit). Ends the process if not.
  void audit();
  /// exit() has begun: the driver may have ended already, so a fault that cannot be served leaves its thread waiting for the
  /// end instead of ending the process its own way.
  void process_ends() noexcept { s_.process_ends.store(true); }
  /// Everything on the host valid and accessible, for pointers that outlive the runtime.
  /// @throws std::bad_alloc  some are not; the others are
  void open_everything() { host_access_.open_everything(); }
  [[nodiscard]] bool any_live() const;

 private:
  State s_;
  Projection projection_{s_};
  Executor executor_{s_, projection_};
  Hazards hazards_{s_, projection_, executor_};
  Arrays arrays_{s_, projection_, executor_, hazards_};
  Transfers transfers_{s_, executor_, hazards_, arrays_};
  Buffers buffers_{s_, hazards_};  // what is idle is given back before the devices go
  Residency residency_{s_, executor_, hazards_, arrays_, transfers_, buffers_};
  Preparation preparation_{s_, executor_, hazards_, transfers_, residency_};
  Transactions transactions_{s_, projection_, executor_, hazards_, arrays_, buffers_};
  Lifetimes lifetimes_{s_, transactions_, projection_, hazards_, arrays_, transfers_};
  ExpectedMessages expected_{s_, projection_, executor_, hazards_};
  Launches launches_{s_, transactions_, projection_, executor_, hazards_, transfers_, preparation_, lifetimes_, expected_};
  HostAccess host_access_{s_, transactions_, projection_, hazards_, transfers_, preparation_, launches_};
  Copies copies_{s_, transactions_, projection_, executor_, hazards_, transfers_, residency_, preparation_, host_access_};
  ForeignIo foreign_io_{s_, transactions_, executor_, hazards_, transfers_, preparation_, buffers_, expected_, host_access_};
  ForeignUses foreign_uses_{s_, transactions_, projection_, executor_, hazards_, transfers_, preparation_, launches_, host_access_};
};

}  // namespace semcache::engine
