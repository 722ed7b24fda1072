// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/base/types.hpp>
#include <semcache/device/device.hpp>
#include <semcache/policy/policy.hpp>
#include <semcache/timeline/uses.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

namespace semcache::memory {

struct Memory;

/// Page-locked memory for the persistent messages of one small device array, laid out as the array is: messages that lie
/// side by side there cross in one transfer.
struct TransitBlock : base::Uncopied {
  TransitBlock(device::Device& d, std::uint64_t size) : device(d), address(d.allocate_staging(size)) {}
  ~TransitBlock() { device.deallocate_staging(address); }
  device::Device& device;
  std::byte* const address;
  std::vector<ByteRange> taken;  ///< by a message each, of the array
};

/// Private memory for bytes on their way between an array and code that nobody notices.
struct TransitBuffer : base::Uncopied {
  explicit TransitBuffer(device::Device& d) noexcept : device(d) {}
  ~TransitBuffer();
  void allocate();  ///< @throws OutOfMemory
  void expect_nothing() noexcept;
  device::Device& device;
  std::byte* address = nullptr;
  std::uint64_t bytes = 0;
  std::shared_ptr<TransitBlock> block;  ///< whose bytes `place` these are; none: memory of its own
  ByteRange place;
  bool on_device = false;
  bool pooled = true;                ///< the device's (page-locked on the host), to be used again; else ordinary memory
  timeline::Work last_use;           ///< the last transfer that uses it
  /// What it is expected to be asked for next (`expect_read_out`); nullptr: nothing is known.
  Memory* expected = nullptr;
  std::uint64_t expected_position = 0;
  std::vector<ByteRange> expected_pieces;
  std::byte* expected_at = nullptr;
  std::optional<std::uint64_t> brought;  ///< it is there, as it was after this much had been written (`written_by_device`)
  policy::FetchForecast forecast{1};     ///< only what a persistent request has announced is forecast
  std::optional<std::uint32_t> writing_launches_at_fetch;  ///< of the array; none: it was not asked for yet
};

}  // namespace semcache::memory
