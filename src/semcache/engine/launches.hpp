// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/engine/expected_messages.hpp>
#include <semcache/engine/lifetimes.hpp>
#include <semcache/engine/preparation.hpp>

namespace semcache::engine {

/// Before and after kernels of the framework's. Threads: any.
class Launches : Parts {
 public:
  explicit Launches(const Parts& parts) noexcept : Parts(parts) {}

  /// Everything captured becomes valid, resident and pinned. `operands` has no memory twice.
  /// @param overwritten  bytes of each operand that are certain to be written before they are read: not fetched, and of
  ///                     unknown content if the launch fails after all. nullptr: none
  void begin_launch(QueueIndex queue, const Operand* operands, std::size_t count, const ByteRange* overwritten = nullptr);
  /// As if every noticed array had been captured as writable. @param operands  set: what is pinned
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
  /// Is work for this queue recorded in a graph of the program's, so that nobody knows when it runs? Not known of the unknown
  /// queue: false. @throws DeviceError
  [[nodiscard]] bool is_recording(QueueIndex queue);
  /// A kernel of ours may run from now on, until `kernel_ends`: what faults meanwhile may be its use of what it did not capture.
  void kernel_starts() noexcept {
    if (s_.options.device_faults) s_.kernels.fetch_add(1, std::memory_order_relaxed);
  }
  void kernel_ends() noexcept {
    if (s_.options.device_faults) s_.kernels.fetch_sub(1, std::memory_order_relaxed);
  }

  // --- for uses that are none of these ---
  /// Orders a launch behind the transfers of what it uses, or waits for these where its queue is unknown, and keeps the operands
  /// where they are from now on. @pre `prepare`, and no wait since
  void pin(Transaction& transaction, QueueIndex queue, const Operand* operands, std::size_t count);
  /// The one end of every pin: what is to be freed behind it goes. Without the lock.
  void unpin(const Operand* operands, std::size_t count) noexcept;
  void unpin(Transaction& transaction, const Operand* operands, std::size_t count) noexcept;
  /// What a launch leaves to be done. @param recorded  the device whose queue gets an event behind it; nullptr: none
  void follow_launch(QueueIndex queue, const Operand* operands, std::size_t count, DeviceState* recorded) noexcept;

 private:
  enum class Listed : std::uint8_t { unready, all };
  /// What a launch that may use any array uses: itself, or as a part of everything.
  void list_everything(Listed which, std::vector<Operand>& operands);
  void give_way(Transaction& transaction, const Operand* operands, std::size_t count);
  void fetch_ahead(Memory& written);
};

}  // namespace semcache::engine
