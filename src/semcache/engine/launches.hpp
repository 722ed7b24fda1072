// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/engine/expected_messages.hpp>
#include <semcache/engine/lifetimes.hpp>
#include <semcache/engine/preparation.hpp>
#include <semcache/engine/shapes.hpp>

namespace semcache::engine {

/// Does what is needed before and after a kernel of the framework (Kokkos). Threads: any.
class Launches : Parts {
 public:
  explicit Launches(const Parts& parts) noexcept : Parts(parts) {}

  /// Makes all captured arrays valid and resident, and pins them.
  /// @param operands  no memory occurs twice
  /// @param parts  the parts that are used of operands that are not used as a whole. Only these bytes are fetched. Parts of mode
  /// `overwrite` are not, and their content is unknown if the launch fails after all. Parts that the directory cannot follow are
  /// replaced by larger ones
  /// @return whether `end_launch` is to be given the parts. If not, every operand was ready as a whole, and so counts as used as a whole:
  /// that needs no lock
  [[gnu::hot]] bool begin_launch(QueueIndex queue, const Operand* operands, std::size_t count, const OperandParts& parts = {});
  /// Does the same as if every noticed array had been captured as writable. @param operands  is set to what is pinned
  void begin_unknown_launch(QueueIndex queue, std::vector<Operand>& operands);
  /// Ends a launch whose kernel is not submitted after all; called instead of `end_launch`.
  void cancel_launch(const Operand* operands, std::size_t count) noexcept;
  /// Notes that the kernel is submitted, and unpins its operands.
  /// @return the kernel's number on the queue; 0: it uses no array and has no number
  /// @param devices  those that may carry out a kernel on the unknown queue
  /// @param parts  see `begin_launch`
  [[gnu::hot]] std::uint64_t end_launch(QueueIndex queue, const Operand* operands, std::size_t count, DeviceSet devices = all_devices,
                           const OperandParts& parts = {}) noexcept;
  /// Returns the `before` of `launch_awaited`. To be called between `begin_launch` and the kernel's submission. No lock.
  [[nodiscard]] Clock submitted_before(QueueIndex queue) const noexcept;
  /// Notes that a kernel has been waited for, so that the driver need not be asked again about it and what came before it. To be
  /// called after `end_launch`. No lock.
  /// @param number  what `end_launch` returned
  void launch_awaited(QueueIndex queue, Clock before, std::uint64_t number) noexcept;
  /// Waits until all work that has been submitted to the queue so far is done.
  void wait_for(QueueIndex queue);
  /// Is work for this queue recorded in a graph of the program's, so that it is unknown when it runs? Returns false for the
  /// unknown queue, of which this cannot be found out. @throws DeviceError
  [[nodiscard]] bool is_recording(QueueIndex queue);
  /// Notes that a kernel of ours may run from now on until `kernel_ends`. A fault on guarded memory meanwhile may be the kernel's
  /// use of an array that it did not capture.
  void kernel_starts() noexcept {
    if (s_.options.device_faults) s_.kernels.fetch_add(1, std::memory_order_relaxed);
  }
  void kernel_ends() noexcept {
    if (s_.options.device_faults) s_.kernels.fetch_sub(1, std::memory_order_relaxed);
  }

  // --- for the other parts ---
  /// Orders a launch behind the transfers of its operands, or waits for these transfers if its queue is unknown, and pins the
  /// operands, so that they stay where they are. @pre `prepare` met no obstacle, and the transaction has not waited since
  void pin(Transaction& transaction, QueueIndex queue, const Operand* operands, std::size_t count, const OperandParts& parts = {});
  /// Ends the pins of the operands, and frees arrays whose freeing was put off until then. Every pin ends here. Without the lock.
  void unpin(const Operand* operands, std::size_t count) noexcept;
  /// The same within a transaction, which gives up the lock meanwhile.
  void unpin(Transaction& transaction, const Operand* operands, std::size_t count) noexcept;
  /// Notes that a kernel may have written the memory, where it writes. @return whether an event is to be recorded right behind it
  [[nodiscard]] static bool note_written(Memory& memory, Mode mode) noexcept;
  enum class Follow : std::uint8_t { without_event, with_event };
  /// Does what a launch leaves to be done: projections, an event behind it where kernels run on their own, transfers that are expected to be
  /// asked for next, and write-through.
  void follow_launch(QueueIndex queue, const Operand* operands, std::size_t count, Follow how) noexcept;

  /// Makes the mirror of an array that has been written fresh (`Protocol::write_through`).
  /// @throws DeviceError, OutOfMemory, SystemError  the mirror is as it was
  void write_through(Transaction& transaction, const Memory& written);

 private:
  /// The same as `begin_launch` for a task. It needs no lock if all its operands are used as wholes and ready (`ready_for_task`).
  [[gnu::noinline]] bool begin_task(QueueIndex queue, const Operand* operands, std::size_t count, const OperandParts& parts);
  /// Returns whether nothing need be done for this tile before a task on the queue uses all of it. Flags alone do not tell that of tiles, because
  /// the engine orders all that uses one: each use with which the task conflicts must be known to be done, or the queue must be behind it already. No lock.
  /// @pre the tile is pinned
  [[nodiscard]] bool ready_for_task(QueueIndex queue, const Operand& operand) const noexcept;
  /// What `begin_launch` does for operands that are not ready as they are. The code of launches whose operands are ready (`gnu::hot`) lies together
  /// and apart from all other code, because at each launch the driver's own code has displaced it from the processor's first caches.
  [[gnu::cold, gnu::noinline]] bool begin_unready_launch(QueueIndex queue, const Operand* operands, std::size_t count, const OperandParts& parts);
  struct Noted {
    std::uint64_t at;  ///< the position of the launch on its queue; 0: it has none
    bool record;       ///< an event is to be recorded right behind it
  };
  /// Notes what a launch uses.
  Noted note_uses(QueueIndex queue, const Operand* operands, std::size_t count, DeviceSet devices, const OperandParts& parts) noexcept;
  /// The same with the lock, which a launch that uses parts needs.
  [[gnu::cold, gnu::noinline]] Noted note_uses_of_parts(QueueIndex queue, const Operand* operands, std::size_t count, DeviceSet devices,
                                                        const OperandParts& parts) noexcept;
  enum class Listed : std::uint8_t { unready, all };
  /// Lists the operands of a launch that may use any array: all arrays, or those that are not ready and `DeviceState::everything`
  /// for the others.
  /// @param queue  of the launch; arrays that its device cannot reach are left out, if it is known
  void list_everything(Listed which, QueueIndex queue, std::vector<Operand>& operands);
  /// Checks that no operand that is a part of an array has bytes that the launch also uses elsewhere, where it writes them.
  /// @throws UsageError  it does
  void expect_apart(const Operand* operands, std::size_t count, const OperandParts& parts) const;
  /// Checks that a kernel on the device of `space` can use the operands that lie on other devices.
  /// @throws UsageError  it cannot, for want of peer access
  void expect_reached(SpaceId space, const Operand* operands, std::size_t count) const;
  void widen_ended_uses(Memory& memory) noexcept;
  Obstacle order_kernels(const Operand* operands, std::size_t count);
  /// Where blocks are to be mapped, brings what is used block by block, so that the driver maps one while the content of another is under
  /// way. That saves time only: nothing is ready for the launch by it.
  void bring_by_block(Transaction& transaction, const Operand* operands, std::size_t count, const OperandParts& parts);
  void open_pages(const Operand& operand, const OperandParts& parts);
  /// Notes that work number `at` of the unknown queue uses the operand on these devices; on another queue, that it uses the operand's parts, or
  /// all of it.
  [[gnu::cold, gnu::noinline]] void note_other_use(QueueIndex queue, const Operand& operand, DeviceSet devices, const OperandParts& parts,
                                                   std::uint64_t at, std::uint64_t now) noexcept;
  /// SEMCACHE_CHECK: closes what the launch was given, before its pins end.
  [[gnu::cold]] void close_checked(const Operand* operands, std::size_t count) noexcept;
  [[gnu::cold]] void note_kernel(QueueIndex queue, const Operand* operands, std::size_t count, const OperandParts& parts, Follow how) noexcept;
  void give_way(Transaction& transaction, const Operand* operands, std::size_t count);
  /// Starts the transfer of a result for which the host is expected to ask.
  void fetch_ahead(Memory& written);
};

}  // namespace semcache::engine
