// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/engine/projection.hpp>
#include <semcache/engine/steps.hpp>

namespace semcache::engine {

/// Carries out steps: the one way to change memory of arrays, and the one place where devices and the platform are asked to move bytes
/// of theirs. It counts each step, and tells the observer.
///
/// Threads: with the engine's lock.
class Executor : Parts {
 public:
  explicit Executor(const Parts& parts) noexcept : Parts(parts) {}

  /// @throws DeviceError, SystemError, OutOfMemory  refused: a part of the destination may have changed
  void execute(const plan::Step& step);
  /// The observer sees a step that somebody else has made.
  void tell(const plan::Step& step) noexcept {
    if (s_.options.observer != nullptr) s_.options.observer->done(step);
  }
  enum class Behind : std::uint8_t { transfers, all };
  /// Later work on the queue starts behind the uses of the memory: by transfers of ours, or all that are known.
  void order_queue(DeviceState& d, QueueIndex queue, Memory& memory, Mode mode, Behind behind);
  timeline::Work note_use(DeviceState& d, QueueIndex queue, Memory& memory, Mode mode) noexcept;
  /// One piece of work, number `at` of its queue, that uses several memories.
  static void note_use(QueueIndex queue, Memory& memory, Mode mode, std::uint64_t at, std::uint64_t now) noexcept;
  /// Writes a staged arrival behind the protection of its pages.
  void write_arrival(Memory& host, ByteRange range, const std::byte* bytes);
  /// Does a transfer between these pages and a device need no staging memory?
  [[nodiscard]] bool goes_directly(const Memory& host, ByteRange range, bool to_host) const;
  /// Pages that are about to be read as a whole can no longer change unnoticed.
  void freeze(Memory& memory, ByteRange range);
  /// Of what the array holds now.
  [[nodiscard]] std::uint64_t digest_of(Memory& memory);
  /// Also where nothing was mapped behind the array's addresses for long.
  void unmap_memory(Memory& memory) noexcept;

 private:
  void carry_out(const plan::Step& step);
  void copy_bytes(const plan::Step& step);
  void copy_on_host(const plan::Step& step, Memory* to, Memory* from);
  void copy_by_queue(const plan::Step& step, Memory* to, Memory* from);
  void copy_across(const plan::Step& step, Memory& host, Memory& device);
  /// Whatever the protection of either side: it is given up to nobody, not even for a moment.
  void copy_behind(std::byte* to, const std::byte* from, std::uint64_t n);
  /// Can this thread, which has the lock, use the bytes as it is? Protections change under the lock alone.
  [[nodiscard]] bool permits(const std::byte* address, std::uint64_t bytes, platform::Protection needed) const;
  using CopyOfDevice = void (device::Device::*)(QueueId, std::byte*, const std::byte*, std::uint64_t);
  /// A copy that the device makes, in its queue; behind the protection of its pages where it has one.
  void copy_by_device(DeviceState& d, QueueIndex queue, CopyOfDevice copy, std::byte* to, const std::byte* from, std::uint64_t n);
  void fill_in_place(Memory& to, std::uint64_t position, std::uint64_t n, const directory::Fill& fill,
                     std::uint64_t phase);
  void forget_finished_flights() noexcept;

  std::vector<std::byte> detour_;  ///< of `copy_behind`
};

}  // namespace semcache::engine
