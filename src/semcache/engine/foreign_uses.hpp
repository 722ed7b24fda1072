// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/engine/host_access.hpp>

#include <map>
#include <thread>

namespace semcache::engine {

/// A call of somebody else's to the driver, while it is made.
struct ForeignCall {
  struct Use : Known {
    bool writable;     ///< its content
    bool used_writing; ///< whoever uses the array next waits for it as for a write
    bool announced;
    bool both_sides = false;     ///< the call uses the host's side, too: a write counts when the call is made
  };
  std::vector<Use> uses;  ///< of device memory; pinned
  /// Slots of which nobody takes what they hold for saved, while one lives (`Directory::mark_changing`). It ends with the engine's
  /// lock.
  class Overwritten : base::Uncopied {
   public:
    Overwritten(directory::Directory& d, std::size_t most) : directory_(d) { slots_.reserve(most); }
    ~Overwritten();
    void add(SlotId slot) noexcept;

   private:
    directory::Directory& directory_;
    std::vector<SlotId> slots_;
  };
  /// Of those that use both sides: what they hold is about to be overwritten.
  std::unique_ptr<Overwritten> overwritten;
};

/// Kernels, libraries and driver calls outside our launches: captures on native spaces, announced uses, and those that nobody
/// announced. Threads: any.
class ForeignUses : Parts {
 public:
  explicit ForeignUses(const Parts& parts) noexcept : Parts(parts) {}

  /// An announced use of device memory.
  void access(Memory& memory, ByteRange range, Access mode);
  void native_capture(Memory& memory, bool writable) { use_natively(memory, writable, memory.captured_use); }
  /// The same of every array, where one that leads to others was captured.
  void native_capture_of_all();
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
  [[nodiscard]] bool any_listed() const noexcept { return s_.listed_arrays.load() != 0 || here().arguments_of == serial_; }

 private:
  struct HostUse : Known {
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
    return at != 0 && at == memory.recently.load() && announcement.links.load() == s_.links.load() &&
           !(s_.in_everything(memory) && (s_.everything(memory).pins.load() != 0 || at <= s_.everything(memory).recently.load()));
  }
  void use_natively(Memory& memory, bool writable, Memory::Announcement& announcement);
  void list(Memory& memory);
  [[nodiscard]] ForeignCall::Use unless_announced(Memory& memory, bool writable, bool known);
  void add_every_array(ForeignCall& call);
  /// Nothing need be done for it.
  [[nodiscard]] bool is_right(const HostUse& use) const noexcept;
  Obstacle make_right(HostUse& use);
  /// A kernel outside our launches holds a raw pointer into a mirror.
  Obstacle pointer_to_host(HostUse& use);

  /// By thread: arrays whose addresses it has copied to a device, as arguments of its next launch.
  std::map<std::thread::id, std::vector<ForeignCall::Use>> arguments_;
  static inline std::atomic<std::uint64_t> serials_{0};
  const std::uint64_t serial_ = ++serials_;
};

}  // namespace semcache::engine
