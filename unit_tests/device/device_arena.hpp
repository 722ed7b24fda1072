// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/device/device.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace semcache::device::testing {

using Bytes = std::vector<std::byte>;

inline Bytes counting(std::size_t bytes, unsigned seed = 1) {
  Bytes content(bytes);
  std::uint32_t x = seed * 2654435761U + 1;
  for (auto& b : content) {
    x = x * 1664525U + 1013904223U;
    b = static_cast<std::byte>(x >> 24);
  }
  return content;
}

/// Mapped device memory with a queue, for one test; checks that everything is given back.
class Arena {
 public:
  Arena(Device& device, std::uint64_t granules) : device_(device), bytes_(granules * device.granularity_bytes()) {
    reserved_ = std::uint64_t{64} << 20;
    base = device_.reserve(reserved_);
    device_.map(base, bytes_);
    queue = device_.open_queue();
  }
  ~Arena() {
    device_.synchronize_queue(queue);
    device_.close_queue(queue);
    device_.unmap(base, bytes_);
    device_.release(base, reserved_);
  }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  [[nodiscard]] std::uint64_t reserved_bytes() const { return reserved_; }

  [[nodiscard]] Bytes read(std::uint64_t offset, std::uint64_t bytes) const {
    Bytes content(bytes);
    device_.copy_from_device(queue, content.data(), base + offset, bytes);
    device_.synchronize_queue(queue);
    return content;
  }
  void write(std::uint64_t offset, const Bytes& content) const {
    device_.copy_to_device(queue, base + offset, content.data(), content.size());
    device_.synchronize_queue(queue);
  }

  std::byte* base = nullptr;
  QueueId queue;

 private:
  Device& device_;
  std::uint64_t bytes_;
  std::uint64_t reserved_ = 0;
};

}  // namespace semcache::device::testing
