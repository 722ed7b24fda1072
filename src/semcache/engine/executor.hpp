// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/device/activities.hpp>
#include <semcache/engine/projection.hpp>
#include <semcache/engine/steps.hpp>

namespace semcache::engine {

/// Carries out steps. This is the only way to change memory of arrays, and the only place where devices and the platform are
/// asked to move bytes of arrays. Each step is counted, and the observer sees it.
///
/// Threads: with the engine's lock.
class Executor : Parts {
 public:
  explicit Executor(const Parts& parts) noexcept : Parts(parts) {}

  /// Carries out the step, or submits it to its queue.
  /// @throws DeviceError, SystemError, OutOfMemory  the step is refused; a part of the destination may have changed
  void execute(plan::Step step);
  /// Carries out a copy between a device and pageable memory of the program's, and waits for it.
  /// @param without_lock(copy)  gives up the lock, calls `copy()` and takes the lock back
  /// @pre nothing that is under way conflicts with the copy, and the device memory stays where it is until it is done
  /// @throws DeviceError, OutOfMemory  a part of the destination may have changed; nothing of the copy is under way
  template <class WithoutLock>
  void execute_and_wait(const plan::Step& step, const WithoutLock& without_lock) {
    const Mapped together = are_mapped_together(step) ? Mapped::together : Mapped::one_by_one;
    const Began began = begin();
    try {
      without_lock([&] {
        const device::ActivityCause of_this_step(began.cause);
        copy_and_wait(step, together);
      });
    } catch (...) {
      refused(step);
      throw;
    }
    finish(step, began);
  }
  /// Shows the observer a step that another part has carried out.
  void tell(const plan::Step& step) noexcept {
    if (s_.options.observer != nullptr) s_.options.observer->done(step);
  }
  enum class Behind : std::uint8_t { transfers_and_tasks, all };
  /// Makes later work on `queue` start behind earlier uses of these bytes: those by transfers and tasks, or all known ones.
  /// @param mode  what the later work does; work that reads is ordered behind writes only
  void order_queue(QueueIndex queue, Memory& memory, const Region& where, Mode mode, Behind behind);
  /// Gives work that was just submitted to `queue` its number there, and notes that it uses these bytes.
  timeline::Work note_use(QueueIndex queue, Memory& memory, const Region& where, Mode mode) noexcept;
  /// Notes that work number `at` of the queue uses these bytes. To be called for each region that one piece of work uses.
  void note_use(QueueIndex queue, Memory& memory, const Region& where, Mode mode, std::uint64_t at, std::uint64_t now) noexcept;
  /// The same for the whole memory. Threads: any.
  static void note_use(QueueIndex queue, Memory& memory, Mode mode, std::uint64_t at, std::uint64_t now) noexcept {
    memory.uses.note(queue, at, mode);
    memory.recently.store(now, std::memory_order_relaxed);
  }
  /// Writes bytes that have arrived in staging memory, or in a buffer, to host pages past their protection.
  void write_arrival(Memory& host, ByteRange range, const std::byte* bytes);
  /// The size of the staging buffers of a copy between devices that do not reach each other.
  static constexpr std::uint64_t over_host_bytes = std::uint64_t{4} << 20;
  /// In how many parts such a copy goes.
  [[nodiscard]] static std::size_t parts_over_host(const Region& where) noexcept;
  /// Ends a flight whose work is done: writes a staged arrival to its pages, gives back the staging memory, and erases the flight.
  void end(Flights::iterator flight);
  /// Which flights are ended. Where a value is saved depends on the flights of arrays, and counts must not depend on delays: so they are ended only
  /// where there are very many.
  enum class Flown : std::uint8_t { of_no_array, any };
  /// Ends flights that are known to be done, except arrivals that concern pages; it asks the driver, and does not wait.
  void forget_finished_flights(Flown which = Flown::of_no_array) noexcept;
  using Direction = device::Device::Direction;
  /// Can a transfer between these pages and a device do without staging memory?
  [[nodiscard]] bool goes_directly(const Memory& host, const Region& where, Direction direction) const;
  /// Closes pages for writing that are about to be the source of a copy, so that they can no longer change unnoticed.
  void freeze(Memory& memory, const Region& where);
  /// Returns a digest of the content that the device memory has now. Waits for the digest with the lock, and for nothing else.
  /// @pre nothing in flight uses the memory
  [[nodiscard]] std::uint64_t digest_of(Memory& memory);
  /// Returns what the memory holds now, for checks. What crosses the link for it is not counted.
  /// @pre device memory is resident in `range`, and nothing in flight uses it
  [[nodiscard]] std::vector<std::byte> content_of(Memory& memory, ByteRange range);
  /// Closes the array's pages and gives back the device memory behind its addresses, however short a time that was mapped.
  void unmap_memory(Memory& memory) noexcept;

 private:
  /// What the log of spans needs of a step.
  struct Began {
    std::uint64_t at_ns;
    std::uint32_t cause;
  };
  [[nodiscard]] Began begin() const noexcept;
  void refused(const plan::Step& step) noexcept {
    if (s_.options.observer != nullptr) s_.options.observer->refused(step);
  }
  /// Counts a step that has been carried out or submitted.
  void finish(const plan::Step& step, Began began);
  /// Is device memory mapped from the first column to the last one?
  enum class Mapped : std::uint8_t { one_by_one, together };
  void copy_and_wait(const plan::Step& step, Mapped columns) const;
  /// Adds the step to the log of spans, where steps of its kind have spans. @pre there is a log
  [[gnu::cold]] void note_span(const plan::Step& step, std::uint64_t begin_ns, std::uint32_t cause) noexcept;
  void close_for_unmapping(Memory& memory) noexcept;
  void carry_out(const plan::Step& step);
  /// Carries it out, and lets a GPU's record of it name the cause.
  [[gnu::cold]] void carry_out_caused(const plan::Step& step, std::uint32_t cause);
  void copy_bytes(const plan::Step& step);
  void copy_on_host(const plan::Step& step, Memory* to, Memory* from);
  void copy_by_queue(const plan::Step& step, Memory* to, Memory* from);
  void copy_across(const plan::Step& step, Memory& host, Memory& device);
  [[nodiscard]] bool are_mapped_together(const plan::Step& step) const;
  void order_last_use(QueueIndex queue, const plan::End& end);
  void copy_over_host(const plan::Step& step, Memory* to, Memory* from);
  /// Copies past the protection of either side. The protection stays in force for all other threads meanwhile.
  void copy_behind(std::byte* to, const std::byte* from, std::uint64_t n);
  /// Do the protections of the pages allow this thread to use the bytes directly? The answer holds as long as it has the lock,
  /// because protections change under the lock alone.
  [[nodiscard]] bool permits(const std::byte* address, std::uint64_t bytes, platform::Protection needed) const;
  /// Tells the device of a piece of each column that the processor has copied in its place.
  void note_copy_in_place(QueueIndex queue, const plan::Step& step, ByteRange piece) noexcept;
  /// Has the device make a copy, in `queue`; past the protection of its pages where device memory is guarded.
  void copy_by_device(DeviceState& d, QueueIndex queue, device::Device::Direction direction, std::byte* to, const std::byte* from, std::uint64_t n);
  void fill_in_place(Memory& to, std::uint64_t position, std::uint64_t n, const directory::Fill& fill,
                     std::uint64_t phase);

  base::Vector<std::byte> detour_;  ///< buffer of `copy_behind`
};

}  // namespace semcache::engine
