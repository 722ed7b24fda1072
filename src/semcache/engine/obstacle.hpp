// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/memory/memory.hpp>

#include <cstdint>

namespace semcache::engine {

using memory::Memory;

/// Why an attempt cannot go on: what has to be waited for first. A member that returns one has waited for nothing, and what
/// it has done so far is right and noted, so the whole attempt is made anew after the wait (`Transaction`).
class [[nodiscard]] Obstacle {
 public:
  enum class Kind : std::uint8_t {
    none,
    launches,  ///< that pin `memory`: between their check and their submission
    device,    ///< everything that was given to the device of `work`; who asks uses `memory`, if that is set
    work,      ///< `work`
    moment,    ///< another thread, which ends by itself
    page_lock, ///< `range` of `memory` is to be page-locked
    page_unlock,  ///< nothing uses the pages of `memory` any more, which are page-locked
    staging,   ///< `range.end` bytes of staging memory of the device of `work`
    mapping,   ///< the driver is to map memory of the device of `work`, or to unmap some
    buffers,   ///< memory is short: that of messages which nobody uses now is given back, on the device or on the host
  };

  Obstacle() noexcept = default;
  static Obstacle launches(Memory& memory) noexcept { return {Kind::launches, &memory}; }
  static Obstacle whole_device(std::uint32_t device, Memory* user = nullptr) noexcept {
    return {Kind::device, user, {}, {device, {}, {}}};
  }
  static Obstacle mapping(std::uint32_t device) noexcept { return {Kind::mapping, nullptr, {}, {device, {}, {}}}; }
  static Obstacle staging(std::uint32_t device, std::uint64_t bytes) noexcept {
    return {Kind::staging, nullptr, {0, bytes}, {device, {}, {}}};
  }
  static Obstacle until(const timeline::Work& done) noexcept { return {Kind::work, nullptr, {}, done}; }
  static Obstacle moment() noexcept { return {Kind::moment}; }
  static Obstacle page_lock(Memory& host, ByteRange chunk) noexcept { return {Kind::page_lock, &host, chunk}; }
  static Obstacle page_unlock(Memory& host) noexcept { return {Kind::page_unlock, &host}; }
  static Obstacle idle_buffers(bool on_device) noexcept { return {Kind::buffers, nullptr, {}, {}, on_device}; }

  explicit operator bool() const noexcept { return kind != Kind::none; }

  Kind kind = Kind::none;
  Memory* memory = nullptr;
  ByteRange range;
  timeline::Work work;
  bool on_device = false;

 private:
  Obstacle(Kind k, Memory* m = nullptr, ByteRange r = {}, const timeline::Work& w = {}, bool d = false) noexcept
      : kind(k), memory(m), range(r), work(w), on_device(d) {}
};

}  // namespace semcache::engine
