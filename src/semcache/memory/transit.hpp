// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/base/own_memory.hpp>
#include <semcache/base/types.hpp>
#include <semcache/device/device.hpp>
#include <semcache/policy/policy.hpp>
#include <semcache/timeline/uses.hpp>

#include <cstddef>
#include <memory>
#include <optional>

namespace semcache::memory {

struct Memory;

/// Page-locked memory for the persistent messages of one small device array. It is laid out as the array is, so messages that lie
/// side by side in the array cross in one transfer.
struct TransitBlock : base::Uncopied {
  TransitBlock(device::Device& d, std::uint64_t size) : device(d), address(d.allocate_staging(size)) {}
  ~TransitBlock() { device.deallocate_staging(address); }
  device::Device& device;
  std::byte* const address;
  base::Vector<ByteRange> taken;  ///< ranges of the array, each taken by one message
};

/// Private memory for bytes in transit between an array and code whose accesses are not noticed (MPI, system calls).
struct TransitBuffer : base::Uncopied {
  /// @param where  the device's own space, or the host for page-locked memory of the device's
  TransitBuffer(device::Device& d, SpaceId where) noexcept : device(d), space(where) {}
  [[nodiscard]] bool on_device() const noexcept { return space != host_space; }
  void allocate();  ///< @throws OutOfMemory
  /// Forgets what the buffer was expected to be asked for, and what has been brought for that.
  void expect_nothing() noexcept;
  device::Device& device;
  const SpaceId space;
  std::shared_ptr<std::byte> memory;  ///< its own; nullptr before `allocate`, and if it has a block
  std::byte* address = nullptr;
  std::uint64_t bytes = 0;
  std::shared_ptr<TransitBlock> block;  ///< the block in which it has the range `place`; nullptr if it has its own memory
  ByteRange place;
  timeline::Work last_use;           ///< the last transfer that uses it
  /// The array whose content is expected to be read into this buffer next (`ForeignIo::expect_read_out`); nullptr if none is
  /// known.
  Memory* expected = nullptr;
  std::uint64_t expected_position = 0;
  base::Vector<ByteRange> expected_pieces;
  std::byte* expected_at = nullptr;
  /// The expected content is in the buffer, as it was when `ExpectedMessages::written_by_device` had this value.
  std::optional<std::uint64_t> brought;
  policy::FetchForecast forecast{1};     ///< only the messages that a persistent request has announced are forecast
  /// The array's `writing_launches` when the message was last asked for; nothing if it has not been asked for yet.
  std::optional<std::uint32_t> writing_launches_at_fetch;
};

}  // namespace semcache::memory
