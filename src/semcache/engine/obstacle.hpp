// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/memory/memory.hpp>

#include <cstdint>

namespace semcache::engine {

using memory::Memory;

/// The reason why an attempt cannot go on: what must be waited for first. An obstacle of kind `none` converts to false.
///
/// A member that returns an obstacle has not waited. All that it has done so far is complete and noted, so `Transaction` waits
/// for the obstacle and then makes the whole attempt again.
class [[nodiscard]] Obstacle {
 public:
  enum class Kind : std::uint8_t {
    none,
    launches,  ///< launches that pin `memory`, from their check of its flags to their submission, must end their pins
    devices,   ///< all work given to `which` must end; `memory`, if set, is the array for whose use this is asked
    work,      ///< `work` must be done
    moment,    ///< another thread must go on, which it does by itself
    turn,      ///< nothing stands in the way, but other threads may have the lock before more is done
    page_lock, ///< `range` of `memory` must be page-locked
    page_unlock,  ///< the page-locked pages of `memory`, which nothing uses any more, must be unlocked
    staging,   ///< `range.end` bytes of staging memory of device `device` must be allocated
    saved_copy,  ///< `range.end` bytes of page-locked memory for a saved copy on the host must be allocated
    mapping,   ///< the driver must map memory of device `device`, or unmap some
    message,   ///< the memory of `buffer`, for a message, must be allocated
    buffers,   ///< device memory is short, so idle memory of messages there must be given back
    events,    ///< `range.end` events of each device must be idle
  };

  Obstacle() noexcept = default;
  static Obstacle launches(Memory& memory) noexcept { return {Kind::launches, &memory}; }
  static Obstacle whole_devices(DeviceSet which, Memory* user = nullptr) noexcept {
    Obstacle o(Kind::devices, user);
    o.which = which;
    return o;
  }
  static Obstacle mapping(std::uint32_t device) noexcept { return {Kind::mapping, nullptr, {}, {}, device}; }
  static Obstacle staging(std::uint32_t device, std::uint64_t bytes) noexcept { return {Kind::staging, nullptr, {0, bytes}, {}, device}; }
  static Obstacle saved_copy(std::uint64_t bytes) noexcept { return {Kind::saved_copy, nullptr, {0, bytes}}; }
  static Obstacle until(const timeline::Work& done) noexcept { return {Kind::work, nullptr, {}, done}; }
  static Obstacle events(std::size_t count) noexcept { return {Kind::events, nullptr, {0, count}}; }
  static Obstacle moment() noexcept { return {Kind::moment}; }
  static Obstacle turn() noexcept { return {Kind::turn}; }
  static Obstacle page_lock(Memory& host, ByteRange chunk) noexcept { return {Kind::page_lock, &host, chunk}; }
  static Obstacle page_unlock(Memory& host) noexcept { return {Kind::page_unlock, &host}; }
  static Obstacle message(memory::TransitBuffer& buffer) noexcept {
    Obstacle o(Kind::message);
    o.buffer = &buffer;
    return o;
  }
  static Obstacle idle_buffers(std::uint32_t device) noexcept {
    Obstacle o{Kind::buffers};
    o.device = device;
    return o;
  }

  explicit operator bool() const noexcept { return kind != Kind::none; }

  Kind kind = Kind::none;
  Memory* memory = nullptr;
  ByteRange range;
  timeline::Work work;
  std::uint32_t device = 0;
  DeviceSet which = 0;
  memory::TransitBuffer* buffer = nullptr;

 private:
  Obstacle(Kind k, Memory* m = nullptr, ByteRange r = {}, const timeline::Work& w = {}, std::uint32_t d = 0) noexcept
      : kind(k), memory(m), range(r), work(w), device(d) {}
};

}  // namespace semcache::engine
