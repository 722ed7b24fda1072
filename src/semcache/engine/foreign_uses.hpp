// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/base/own_memory.hpp>
#include <semcache/engine/host_access.hpp>

#include <map>
#include <optional>
#include <thread>

namespace semcache::engine {

/// Where the work of other code's call is carried out.
struct ForeignStream {
  QueueIndex queue = unknown_queue;  ///< of a launch whose stream has a handle of its own (`Engine::queue_of_others`)
  void* native = nullptr;            ///< that handle
  DeviceSet devices = all_devices;   ///< on the unknown queue: the devices that may carry it out
};

/// A call to the driver by code outside the runtime, while it is made.
struct ForeignCall {
  enum class Kind : std::uint8_t {
    transfer,  ///< it copies or fills bytes
    launch,    ///< it launches a kernel or a graph, which may use any listed array
  };
  struct Use : Known {
    bool writable;     ///< the call may change the content
    bool used_writing; ///< later uses of the array wait for the call as for a write
    bool announced;    ///< an announcement covers this use
    std::vector<Requirement> parts;  ///< the bytes that it uses; empty: all of the array
    base::Vector<Memory::InPart::Announced> announced_parts;  ///< the announcements that cover it, where these are of parts
    /// The array is used in the announced parts alone, because all of it would not fit. Whatever else is mapped of it is fresh, too.
    bool confined = false;
    bool both_sides = false;     ///< the call uses the host side, too, so a write is noted only when the call is made
    /// Returns the bytes that the call may change.
    [[nodiscard]] base::Vector<Region> written() const {
      if (parts.empty() && writable) return {memory->positions()};
      base::Vector<Region> regions;
      for (const Requirement& part : parts) {
        if (writes(part.mode)) regions.push_back(part.range);
      }
      return regions;
    }
  };
  Kind kind = Kind::transfer;
  QueueIndex queue = unknown_queue;  ///< the one in whose order all its work is carried out
  DeviceSet devices = all_devices;   ///< see `ForeignStream`
  Queues::Call on_queue;             ///< keeps the queue; ends with the engine's lock held
  std::vector<Use> uses;  ///< of device memory, which is pinned
  std::vector<Operand> operands;  ///< the pins
  /// For each slot in `uses` with `both_sides` whose content the call is about to overwrite: while this lives, what the slot holds
  /// does not count as saved there (`Directory::mark_changing`). It ends with the engine's lock held.
  std::vector<std::shared_ptr<directory::Directory>> overwritten;
};

/// Serves kernels, libraries and driver calls outside our launches: captures on native spaces, announced uses, and uses that are
/// not announced. Threads: any.
class ForeignUses : Parts {
 public:
  explicit ForeignUses(const Parts& parts) noexcept : Parts(parts) {}

  /// Serves an announced use of device memory. Of the rest of the array nothing is fetched.
  void access(Memory& memory, const Region& where, Access mode);
  /// Prepares an array whose handle is captured for a launch on a native space.
  void native_capture(Memory& memory, Mode mode) { use_natively(memory, memory.all(), mode, memory.captured_use); }
  /// Prepares every array, because an array that leads to others was captured.
  void native_capture_of_all();
  /// To be called before other code calls the driver. Makes everything that the call uses valid, and pins it, as for a launch.
  /// What the call may write counts as written, unless an announcement states otherwise. A kernel may write
  /// all arrays whose addresses it is given.
  /// @param where  where the work is carried out. On the unknown queue the transfers of what the call uses are waited for here, and whoever needs that later waits for the
  ///               devices; otherwise the queue is ordered, as for our own launches.
  /// @return for `end_foreign_call`, when the driver has taken the call's work; nullptr: the call uses no device memory of ours
  [[nodiscard]] std::unique_ptr<ForeignCall> begin_foreign_call(const device::DriverUse* uses, std::size_t count, ForeignCall::Kind kind,
                                                                const ForeignStream& where = {});
  /// Notes the writes of the call, gives the call its position on its queue, and unpins its arrays.
  void end_foreign_call(std::unique_ptr<ForeignCall> call) noexcept;
  /// May this thread's next launch use arrays that are not among its arguments, because a graph or memory on the device holds
  /// their addresses?
  [[nodiscard]] bool any_listed() const noexcept { return s_.listed_arrays.load() != 0 || here().arguments_of == s_.serial; }

 private:
  /// Returns the devices whose work may use the array where the program announces a use: those that reach it.
  [[nodiscard]] DeviceSet users_of(const Memory& memory) const noexcept;
  /// A use of host memory by the call.
  struct HostUse : Known {
    ByteRange range;
    bool writable;
    bool pointer;  ///< a kernel is given a pointer into it
    bool counted = false;   ///< it is counted as a use that was not announced
    bool served = false;    ///< its pages were not as the use needs them
  };
  /// Does the announcement still hold? It does until the runtime uses the array or carries out any copy. If it held longer, a
  /// later reader of the content could get what was written under an announcement of reads only.
  [[nodiscard]] bool holds(const Memory::Announcement& announcement, const Memory& memory) const noexcept {
    const std::uint64_t at = announcement.at.load();
    return at != 0 && at == memory.recently.load() && announcement.links.load() == s_.links.load() &&
           !(s_.in_everything(memory) && (s_.everything(memory).pins.load() != 0 || at <= s_.everything(memory).recently.load()));
  }
  /// Prepares the bytes for a kernel that is not submitted yet and whose submission is not reported, and notes the announcement.
  void use_natively(Memory& memory, const Region& where, Mode mode, Memory::Announcement& announcement);
  /// An announcement that is being made. If an earlier one still holds, it goes on to hold beside it.
  class Announced {
   public:
    Announced(const ForeignUses& uses, Memory::Announcement& announcement, Memory& memory) noexcept
        : announcement_(announcement), memory_(memory), links_(uses.s_.links.load()), held_(uses.holds(announcement, memory)) {
      const bool others = announcement.by.load() != &here() && !uses.s_.unknown_use_over(memory, memory.on(unknown_queue).last());
      by_ = others ? nullptr : &here();
    }
    /// Notes the announcement, when the bytes are ready for the use.
    /// Threads: with the engine's lock, if the bytes are not the whole array.
    void note(const Region& where, Mode mode) const noexcept;

   private:
    Memory::Announcement& announcement_;
    Memory& memory_;
    const std::uint64_t links_;  ///< read first, so that a copy by another thread meanwhile ends the announcement
    const bool held_;
    const void* by_ = nullptr;  ///< nullptr: other threads may have announced uses, too, that are not over
    const bool held_in_part_ = announcement_.in_part.load();
    const bool held_writes_ = held_ && announcement_.writes.load();
  };
  struct Beginning;
  /// Adds what the call does with tracked memory at one address. Lists arrays whose addresses go to where later launches find them.
  void find_use(Beginning& beginning, const device::DriverUse& use);
  /// Adds what a launch uses besides what it shows: arguments that were copied to the device before, listed arrays, and all arrays where
  /// Views lie in one of these.
  void find_uses_of_launch(Beginning& beginning);
  /// Notes an argument of this thread's next launch.
  void expect_argument(const ForeignCall::Use& use);
  /// Confines uses that were announced in parts, where the arrays would not fit as a whole.
  void confine_what_does_not_fit(Beginning& beginning);
  /// Shortens the maps that earlier calls have left long, before the call has pins.
  void keep_maps_short(Transaction& transaction, Beginning& beginning);
  /// Makes everything valid that the call uses. @return no obstacle when that is done; otherwise the first obstacle
  Obstacle prepare(Beginning& beginning);
  /// Lists the array as one that any later launch of other code may use.
  void list(Memory& memory);
  /// Returns the use of an array by a call that is given an address in it: as it was announced, or of the whole array.
  /// @param mode  what the call may do; an announcement is believed
  /// @param address  what the call is given; nullptr: it is not known
  [[nodiscard]] ForeignCall::Use unless_announced(Memory& memory, Mode mode, const void* address = nullptr);
  /// Restricts a use that was announced in parts to the blocks of these parts.
  static void confine(ForeignCall::Use& use);
  /// Can all of the array be mapped at once? Takes the lock.
  [[nodiscard]] bool fits_as_a_whole(Memory& memory);
  /// Returns the use of bytes of an array by a transfer of the driver.
  [[nodiscard]] ForeignCall::Use transfer_of(Memory& memory, ByteRange range, Mode mode);
  /// Counts a use of these bytes as unannounced, unless nothing need be done for it.
  void count_unannounced(const Memory& memory, const Region& range, Mode mode);
  /// Adds all arrays to the call, because it is given Views that lie in an array and may lead to any other.
  void add_every_array(ForeignCall& call);
  /// Returns whether nothing need be done for this use.
  [[nodiscard]] bool is_right(const HostUse& use) const noexcept;
  /// @return no obstacle when the pages are as the use needs them; otherwise the first obstacle
  Obstacle make_right(HostUse& use);
  /// Prepares a mirror for a kernel outside our launches that holds a raw pointer into it.
  /// @return no obstacle when that is done; otherwise the first obstacle
  Obstacle pointer_to_host(HostUse& use);

  /// For each thread, the arrays whose addresses it has copied to a device as arguments of its next launch.
  std::map<std::thread::id, std::vector<ForeignCall::Use>> arguments_;
};

}  // namespace semcache::engine
