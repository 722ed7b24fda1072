// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/base/own_memory.hpp>
#include <semcache/base/room.hpp>
#include <semcache/engine/operand.hpp>
#include <semcache/engine/parts.hpp>

#include <utility>

namespace semcache::engine {

/// Writes the directory's state to what launches and the host's processors read: the flags of device memory, and the protection
/// of pages. A flag promises no more than the directory's state allows (I5, I6). It may promise less; launches then take the
/// lock.
///
/// Threads: with the engine's lock, except `waits`.
class Projection : Parts {
 public:
  explicit Projection(const Parts& parts) noexcept : Parts(parts) {}

  /// Projects everything that has changed.
  void project() noexcept;
  /// Leaves the projection to the end of the next launch, when the device is busy, if only flags of few device arrays are to be
  /// set anew; otherwise projects at once. Until then the flags promise less than they could, and launches take the lock.
  void project_soon() noexcept;
  /// Projects one array in device memory: its flags, and its page protection where it is guarded.
  /// @param changed  where the directory's state of its content may have changed since it was projected last
  void project_device(Memory& memory, ByteRange changed) noexcept;
  /// Has all of an array in device memory the content that launches need which use it as a whole?
  [[nodiscard]] bool holds(Memory& memory, Mode mode) const noexcept {
    return permitted(memory, s_.directory.touched(memory.slot)) >=
           (mode == Mode::writes ? platform::Protection::read_write : platform::Protection::read);
  }
  /// Opens those of `pages` of a mirror that permit less than `wanted`, as `HostPages::relax`. Projects before, because launches read the flags
  /// of the array's other sides without the lock. @return false if the pages could not be opened  @throws std::bad_alloc
  [[nodiscard]] bool relax(Memory& mirror, ByteRange pages, platform::Protection wanted) {
    project();
    return s_.pages->relax(mirror, pages, wanted);
  }
  /// Clears the flags, so that launches on the array take the lock until the next projection.
  void revoke(Memory& device_memory) noexcept {
    device_memory.flags.fetch_and(~Memory::revocable);
    note_perhaps_unready(device_memory);
    project_later(device_memory);
  }
  /// Lists the array for the next projection.
  void project_later(Memory& m) noexcept {
    if (!std::exchange(m.awaits_projection, true)) revoked_.push_back(&m);  // there is room for all
  }
  /// Lists the array as one that may not be ready, because some of its flags are not set.
  void note_perhaps_unready(Memory& m) noexcept {
    if (!std::exchange(m.perhaps_unready, true)) unready_.push_back(&m);  // there is room for all
  }
  /// Returns the arrays in device memory that may need something done before a launch uses them. All others are ready.
  [[nodiscard]] base::Vector<Memory*>& perhaps_unready() noexcept { return unready_; }

  // --- device memory that the host reaches ---
  /// Opens guarded pages as far as the array's state permits, because a kernel or an announced use is about to access them.
  void open_guarded(Memory& memory);
  /// Opens the guarded pages of a part that is used. They stay open while a launch pins the array, and while all their content is fresh,
  /// or exclusive if they can be written. @throws std::bad_alloc
  /// @param where  bytes of the memory whose content is as the use needs it
  void open_part(Memory& memory, const Region& where, Mode mode);
  /// Can the program read the guarded page at this address now?
  [[nodiscard]] bool permits_reads(const Memory& memory, const void* address) const noexcept;
  /// Gives the pages of a guarded array this protection; where the kernel's limit on mappings is near, opens all guarded memory
  /// for good.
  void protect_guarded(Memory& memory, platform::Protection protection) noexcept;
  /// Opens what is mapped of a guarded array, at the end of the runtime.
  void open_mapped(Memory& memory) noexcept;
  /// Opens all mapped device memory; its uses are no longer noticed. Ends the process where the kernel refuses.
  /// @param memory  the array that the message names then
  void open_all_guarded(const Memory& memory) noexcept;
  /// SEMCACHE_CHECK=1 on emulated devices, where an array's device pages are accessible to launches that use it and to our own copies
  /// only: opens the pages, or closes them unless a launch that uses the array is under way.
  void set_reachable(Memory& memory, bool reachable) noexcept;
  /// Does the array stay accessible now, whoever closes it?
  [[nodiscard]] bool is_reachable(const Memory& memory) const noexcept;
  /// Opens what a launch uses, under SEMCACHE_CHECK=1. @pre it is pinned and resident
  void open_for_launch(const Operand* operands, std::size_t count) noexcept;
  /// Ends that. To be called before the pins end, because the memory may be another array's afterwards.
  void close_after_launch(const Operand* operands, std::size_t count) noexcept;
  /// The array stays accessible, because a kernel whose end the engine cannot see may use it.
  void keep_reachable(Memory& memory) noexcept;

  // --- saved copies whose value may be wanted no more: new ones, those that the directory has touched since they were last
  // --- checked, and those that are wanted no more but are still in use
  void note_perhaps_unwanted(Memory& saved) noexcept;
  void forget_perhaps_unwanted(Memory& saved) noexcept;
  [[nodiscard]] const base::Vector<Memory*>& perhaps_unwanted() const noexcept { return unwanted_; }

  /// Makes room in the lists for so many arrays, so that listing them cannot fail. @throws std::bad_alloc
  void make_room_for(std::size_t arrays) {
    for (base::Vector<Memory*>* const list : {&revoked_, &projecting_, &unwanted_, &unready_}) base::make_room_for(*list, arrays);
  }

 private:
  void set_all_reachable(bool reachable) noexcept;
  /// Returns what the directory permits for all of an array in device memory, knowing what the last projection found.
  /// @param changed  where that may have changed since
  [[nodiscard]] platform::Protection permitted(Memory& memory, ByteRange changed) const noexcept;
  /// So many parts stay open at most, because each projection of their array looks at all of them.
  static constexpr std::size_t most_opened = 64;
  /// May the pages that are opened in part stay open?
  [[nodiscard]] bool parts_stay_open(const Memory& memory) const noexcept;
  /// Opens all guarded memory for good, because the kernel's limit on mappings is near.
  void stop_guarding(const Memory& memory) noexcept;

  base::Vector<Memory*> revoked_;     ///< arrays whose flags are computed anew at the next projection; each is listed once
  base::Vector<Memory*> projecting_;  ///< working memory of `project`
  base::Vector<Memory*> unwanted_;    ///< see `perhaps_unwanted`
  base::Vector<Memory*> unready_;     ///< see `perhaps_unready`
};

}  // namespace semcache::engine
