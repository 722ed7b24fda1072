// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/engine/launches.hpp>

#include <utility>

namespace semcache::engine {

/// Serves accesses by the host's processors: page faults, announcements, and settling. It also keeps below the kernel's limit on
/// mappings. Threads: any, except members that take a transaction or return an obstacle.
class HostAccess : Parts {
 public:
  explicit HostAccess(const Parts& parts) noexcept : Parts(parts) {}

  /// Serves an announced use of host memory. Columns are served with the other bytes of their own pages, if they are few or begin a whole
  /// number of pages apart. Columns less than a page apart, and many others, are served with all bytes between them, which is counted.
  void access(Memory& memory, const Region& where, Access mode);
  /// Begins to bring bytes to the host, and waits for no kernel. Their pages stay as they are.
  void prefetch(Memory& memory, ByteRange range);
  /// Serves a page fault. Ends the process with a message if the access cannot be served (I8).
  platform::FaultResult serve(std::byte* address, platform::FaultKind kind, const void* instruction = nullptr) noexcept;
  /// Notes that exit() has begun. The driver may have ended already, so a fault that cannot be served from now on leaves its
  /// thread waiting for the process's end instead of ending the process with a message.
  void process_ends() noexcept { process_ends_.store(true); }
  /// Opens a mirror into which a kernel holds a raw pointer, because the kernel follows the pointer past any protection. The
  /// device then knows the mirror under its own address. An announced mirror, or the host side of a two-sided datum, is only made
  /// valid and accessible as a whole.
  void expose(Memory& mirror);
  /// Carries out all pending copies, to mirrors and to mapped device memory, and waits for all flights.
  void settle_all();
  /// Does the same for a debugger, which may have stopped any thread anywhere: leaves out what cannot be settled soon.
  /// @throws SystemError  something is left out; the text names it
  void settle_all_soon();
  /// Makes all host arrays that have content valid, readable and writable, and not page-locked. They count as written by the host.
  void settle_and_open();
  /// Makes everything on the host valid and accessible for good, for pointers that outlive the runtime.
  /// @throws std::bad_alloc  some arrays are not; the others are
  void open_everything();

  /// Runs `open_pages` in the transaction. Does nothing more if the array is freed meanwhile.
  /// @param least  what suffices if a use on the host stands in the way of the rest, or a thread that waits for this access; empty: nothing
  ///               less than `range`
  void host_access(Transaction& transaction, Memory& memory, ByteRange range, Access mode, ByteRange least = {});
  /// @return no obstacle when the bytes are valid and accessible on the host, and no transfer is in the way; otherwise the first
  /// obstacle
  Obstacle open_pages(Memory& memory, ByteRange range, Access mode);
  /// Does the same for the pages of columns.
  /// @param pages  the whole pages in which `where` lies: columns, or byte ranges that do not touch
  Obstacle open_columns(Memory& memory, const Region& where, const base::Vector<Region>& pages, Access mode);
  /// @return no obstacle when the mirror is open, and the device knows it under its own address; otherwise the first obstacle
  Obstacle open_for_device(Memory& mirror);
  /// Makes a mirror open: it is valid, accessible and never protected again, and copies to and from it are carried out at the
  /// call.
  /// @param reason  for the warning, which is given once
  /// @return no obstacle when the mirror is open; otherwise the first obstacle
  Obstacle open_mirror(Memory& memory, const char* reason);
  /// Notes that the host asked for `range`. When it has asked for the whole array, at once or piece after piece, the forecast
  /// gets the number of launches that wrote the array since the last time.
  void note_fetch(Memory& host, ByteRange range);

 private:
  /// @return no obstacle when the array is fresh, in what is mapped of it, and accessible, or when it has been freed; otherwise the first
  /// obstacle
  Obstacle settle(Memory& memory, const Kept& kept);
  /// @return no obstacle when what is mapped of the device memory is fresh; otherwise the first obstacle
  Obstacle make_mapped_fresh(Memory& memory);
  /// Ends the process, because the kernel refuses to open the pages.
  [[noreturn]] void die_closed(const Memory& memory) const noexcept;
  /// Visits all live arrays, one after the other, each in a transaction of its own.
  template <class Visit>
  void for_each_array(const Visit& visit);
  /// Returns the range that a fault at `position` makes valid and opens, and counts what lies beyond the faulting page.
  [[nodiscard]] ByteRange plan_fault(Memory& host, std::uint64_t position, Access mode);
  /// Counts what a fault on `page` makes valid, or opens for writing, beyond that page. Returns how many bytes of it are fetched.
  std::uint64_t count_ahead(Memory& host, ByteRange page, ByteRange range, Access mode);
  /// Tells the read-ahead policy what the new host phase begins with.
  void begin_host_phase(Memory& host);
  platform::FaultResult serve(std::byte* address, platform::FaultKind kind, const void* instruction, const char*& label);
  /// Returns the whole pages on which the columns lie, for `open_columns`; none if the columns are to be served with all between them.
  base::Vector<Region> pages_of_columns(Memory& memory, const Region& where);
  /// Serves a fault on guarded device memory.
  platform::FaultResult serve_device(Transaction& transaction, Memory& memory, platform::FaultKind kind, const void* address,
                                     const void* instruction);

  struct DeviceFault {
    const void* address = nullptr;
    const void* instruction = nullptr;
    Memory* memory = nullptr;
  };
  DeviceFault last_faults_[2];       ///< the fault that was served last, and the one before it
  unsigned alternating_faults_ = 0;  ///< so many times the same two faults came in turn
  bool warned_open_ = false;
  bool warned_protected_ = false;
  std::atomic<bool> process_ends_{false};
};

}  // namespace semcache::engine
