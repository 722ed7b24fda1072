// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/engine/transaction.hpp>

namespace semcache::engine {

/// Allocates and frees arrays. Threads: any.
class Lifetimes : Parts {
 public:
  explicit Lifetimes(const Parts& parts) noexcept : Parts(parts) {}

  /// @throws OutOfMemory  the array is larger than the device's budget or its addresses  @throws std::bad_alloc
  Memory* allocate_device(std::uint32_t device, const char* label, std::uint64_t bytes);
  /// Makes memory on a device for a part of an array, with its columns side by side. The part is one more place of the array's content:
  /// launches use it as an operand, transfers fill it, and what a launch writes there is the array's content. It is found by no address. It
  /// is to be freed before the array.
  /// @throws UsageError  the array has been freed, is open, or is a part itself; the part is empty or leaves it; or its columns overlap
  /// @throws OutOfMemory, std::bad_alloc  as `allocate_device`
  Memory* allocate_part(std::uint32_t device, const Memory& array, const Region& where);
  /// Makes memory on the host for a part of an array, for work of the host's processor (`HostUses`). It is no mirror: no address leads to it,
  /// its pages are not protected, and it takes no device memory. Otherwise as the other.
  /// @throws UsageError  as `allocate_part`  @throws OutOfMemory, std::bad_alloc  the host has no memory
  Memory* allocate_host_part(Memory& array, const Region& where);
  /// Makes memory on a device for a value that the engine derives from arrays: of content of its own, or for the same content as `like`. It is
  /// used as a part is. Threads: with the engine's lock.
  /// @throws UsageError  it has no bytes  @throws OutOfMemory, std::bad_alloc  as `allocate_device`
  Memory* new_derived(std::uint32_t device, const char* label, std::uint64_t bytes, const Memory* like);
  /// Gives up such memory, or a part of an array on a device, without a wait. Content that an array wants, and that only this memory holds,
  /// stays there as a saved copy. The memory is freed when nothing uses it and nobody wants its content.
  /// Threads: with the engine's lock.  @pre no launch pins it
  void abandon(Memory& part) noexcept;
  /// @param partner  the device array whose host side this is; nullptr: an array of its own
  /// @param accesses  `announced`: the pages are not protected
  /// @throws UsageError  the partner is no live device array, has another size, or has a host side already
  Memory* allocate_host(const char* label, std::uint64_t bytes, Memory* partner, base::Accesses accesses = base::Accesses::watched);
  /// Frees the array after waiting for all uses of it. On the emulated device, whose kernels may free arrays themselves, an array
  /// that a running launch pins is freed when the launch ends; so is a part on the host that is in use there.
  void deallocate(Memory* memory) noexcept;
  /// SEMCACHE_CHECK: notes that two arrays are the sides of a Kokkos::DualView (`DualViews`).
  void note_dual_view(Memory& device, Memory& host);
  /// Frees the arrays whose freeing was put off until launches that have now ended. Called after each end of a pin, without the
  /// lock.
  void free_put_off() noexcept {
    if (s_.put_off_count.load() != 0) free_all_put_off();
  }
  /// Counts the bytes of adopted memory as those of a live array, and no more. (The memory itself is `Adoption`'s.)
  void count_adopted(std::uint64_t bytes) noexcept { live_host_bytes_ += bytes; }
  /// Frees an array as `deallocate` does, as a part of an attempt, and may throw what `deallocate` deals with itself.
  /// @pre nothing that only this array holds is wanted elsewhere  @return no obstacle when it is freed
  Obstacle free_adopted(Memory& body);
  [[nodiscard]] std::uint64_t live_device_bytes() const noexcept { return live_device_bytes_; }
  [[nodiscard]] std::uint64_t live_host_bytes() const noexcept { return live_host_bytes_; }

 private:
  /// Makes the object of an array or part, which has addresses on the device and no slot yet.
  Arrays::NewMemory new_on_device(std::uint32_t device, const char* label, std::uint64_t bytes, const Region& layout = {});
  /// @throws UsageError  there can be no such part of the array
  void expect_part(const Memory& array, const Region& where) const;
  Memory* bind_part(Arrays::NewMemory memory, DatumId datum);
  void deallocate(Transaction& transaction, Memory& memory) noexcept;
  /// @return no obstacle when the array is freed, or has become a saved copy; otherwise the first obstacle
  Obstacle free_array(Memory& memory);
  /// Detaches the memory from its datum, which is not wanted as such any more. Its values may still be wanted elsewhere (I4).
  void leave_datum(Memory& memory) noexcept;
  /// Turns the array's memory into a saved copy; nothing moves. Its addresses are not reused until the value is wanted no more.
  void keep_as_saved_copy(Memory& memory) noexcept;
  /// Saves what only this side of an array holds, before it is freed. @return no obstacle when all is saved; otherwise the first
  /// obstacle
  Obstacle save_before_leaving(Memory& memory);
  /// Returns true if the array is freed later, or has been freed already; false if it can be freed at once.
  [[nodiscard]] bool put_off(Memory& m) noexcept;
  void free_all_put_off() noexcept;

  std::uint64_t live_device_bytes_ = 0;
  std::uint64_t live_host_bytes_ = 0;
};

}  // namespace semcache::engine
