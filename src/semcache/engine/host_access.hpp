// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/engine/launches.hpp>

namespace semcache::engine {

/// What the host's processors come to: faults, announcements, the kernel's limit on mappings. Threads: any, but for the members that
/// take a transaction, or return an obstacle.
class HostAccess : Parts {
 public:
  explicit HostAccess(const Parts& parts) noexcept : Parts(parts) {}

  /// An announced use of host memory.
  void access(Memory& memory, ByteRange range, Access mode);
  platform::FaultResult serve(std::byte* address, platform::FaultKind kind, const void* instruction = nullptr) noexcept;
  /// exit() has begun: the driver may have ended already, so a fault that cannot be served leaves its thread waiting for the
  /// end instead of ending the process its own way.
  void process_ends() noexcept { process_ends_.store(true); }
  /// A kernel holds a raw pointer into a mirror and follows it past any protection: the mirror becomes open, and the device
  /// knows it under its own address.
  void expose(Memory& mirror);
  void settle_all();
  /// Everything on the host valid and accessible, for pointers that outlive the runtime.
  /// @throws std::bad_alloc  some are not; the others are
  void open_everything();

  /// Nothing is done where the array is freed meanwhile.
  void host_access(Transaction& transaction, Memory& memory, ByteRange range, Access mode);
  /// None: the bytes are valid and accessible on the host, and no transfer is in the way.
  Obstacle open_pages(Memory& memory, ByteRange range, Access mode);
  /// None: the mirror is open, and the device knows it under its own address.
  Obstacle open_for_device(Memory& mirror);
  /// None: the mirror is valid, accessible and never protected again; copies with it happen at the call.
  Obstacle open_mirror(Memory& memory, const char* reason);
  /// The maps of an array must stay small against the array: beyond a bound it is settled and numbered anew.
  void keep_maps_short(Transaction& transaction, Memory& memory) noexcept;
  /// The host asked for the whole array, at once or piece after piece: after how many launches that wrote it?
  void note_fetch(Memory& host, ByteRange range);

 private:
  [[noreturn]] void die_closed(const Memory& memory) const noexcept;
  /// Of those that live, one after the other, each in a transaction of its own.
  template <class Visit>
  void for_each_array(const Visit& visit);
  /// The pages that a fault at `position` makes valid and opens; counts those beyond the faulting one.
  [[nodiscard]] ByteRange plan_fault(Memory& host, std::uint64_t position, Access mode);
  std::uint64_t count_ahead(Memory& host, ByteRange page, ByteRange range, Access mode);
  void begin_host_phase(Memory& host);
  platform::FaultResult serve(std::byte* address, platform::FaultKind kind, const void* instruction, const char*& label);
  platform::FaultResult serve_device(Transaction& transaction, Memory& memory, platform::FaultKind kind, const void* address,
                                     const void* instruction);

  struct DeviceFault {
    const void* address = nullptr;
    const void* instruction = nullptr;
    Memory* memory = nullptr;
  };
  DeviceFault last_faults_[2];       ///< served last, and before
  unsigned alternating_faults_ = 0;  ///< the same two in turn, so often
  bool warned_open_ = false;
  std::atomic<bool> process_ends_{false};
};

}  // namespace semcache::engine
