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
    mapping,   ///< the driver is to map memory of the device of `work`, or to unmap some
    buffers,   ///< memory is short: that of messages which nobody uses now is given back, on the device or on the host
  };

  Obstacle() noexcept = default;
  static Obstacle launches(Memory& memory) noexcept {
    Obstacle o(Kind::launches);
    o.memory = &memory;
    return o;
  }
  static Obstacle whole_device(std::uint32_t device, Memory* user = nullptr) noexcept {
    Obstacle o(Kind::device);
    o.work.device = device;
    o.memory = user;
    return o;
  }
  static Obstacle mapping(std::uint32_t device) noexcept {
    Obstacle o(Kind::mapping);
    o.work.device = device;
    return o;
  }
  static Obstacle until(const timeline::Work& done) noexcept {
    Obstacle o(Kind::work);
    o.work = done;
    return o;
  }
  static Obstacle moment() noexcept { return Obstacle(Kind::moment); }
  static Obstacle page_lock(Memory& host, ByteRange chunk) noexcept {
    Obstacle o(Kind::page_lock);
    o.memory = &host;
    o.range = chunk;
    return o;
  }
  static Obstacle page_unlock(Memory& host) noexcept {
    Obstacle o(Kind::page_unlock);
    o.memory = &host;
    return o;
  }
  static Obstacle idle_buffers(bool on_device) noexcept {
    Obstacle o(Kind::buffers);
    o.on_device = on_device;
    return o;
  }

  explicit operator bool() const noexcept { return kind != Kind::none; }

  Kind kind = Kind::none;
  bool on_device = false;
  timeline::Work work;
  Memory* memory = nullptr;
  ByteRange range;

 private:
  explicit Obstacle(Kind k) noexcept : kind(k) {}
};

}  // namespace semcache::engine
