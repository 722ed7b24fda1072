// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/device/device.hpp>
#include <semcache/platform/platform.hpp>

#include <atomic>
#include <map>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace semcache::device {

/// A device made of host memory of its own, so that a missing copy shows as wrong data on any machine.
///
/// Queues are synchronous: an operation has happened when its submission returns, so every event is complete when it
/// is recorded. Memory is counted as if it were a real device's: `map` and `allocate` fail beyond `memory_bytes`.
class EmulatedDevice final : public Device {
 public:
  EmulatedDevice(int ordinal, std::uint64_t memory_bytes);

  DeviceKind kind() const noexcept override { return DeviceKind::emulated; }
  std::string name() const override;
  int ordinal() const noexcept override { return ordinal_; }
  std::uint64_t total_memory_bytes() const override { return memory_bytes_; }
  std::uint64_t free_memory_bytes() const override;

  std::uint64_t granularity_bytes() const noexcept override { return granularity; }
  std::byte* reserve(std::uint64_t& bytes) override { return platform::reserve_addresses(bytes); }
  void release(std::byte* base, std::uint64_t bytes) noexcept override;
  void map(std::byte* address, std::uint64_t bytes) override;
  void map_closed(std::byte* address, std::uint64_t bytes) override;
  void unmap(std::byte* address, std::uint64_t bytes) noexcept override;
  void set_accessible(std::byte* address, std::uint64_t bytes, bool accessible) noexcept override;

  QueueId open_queue() override;
  QueueId adopt_queue(void* native, std::shared_ptr<void> owner) override;
  void close_queue(QueueId queue) noexcept override;
  EventId record(QueueId queue) override;
  void wait(QueueId queue, EventId event) override;
  bool complete(EventId event) override;
  void synchronize(EventId event) override;
  void release(EventId event) noexcept override;
  void synchronize_queue(QueueId queue) override;
  void synchronize_device() override;

  void copy_to_device(QueueId queue, std::byte* device, const std::byte* host, std::uint64_t bytes) override {
    copy(queue, device, host, bytes);
  }
  void copy_from_device(QueueId queue, std::byte* host, const std::byte* device, std::uint64_t bytes) override {
    copy(queue, host, device, bytes);
  }
  void copy_within_device(QueueId queue, std::byte* to, const std::byte* from, std::uint64_t bytes) override {
    copy(queue, to, from, bytes);
  }
  void fill(QueueId queue, std::byte* to, std::uint64_t bytes, const std::byte* pattern,
            std::uint32_t pattern_bytes) override;
  std::uint64_t digest(QueueId queue, const std::byte* device, std::uint64_t bytes) override;

  std::byte* allocate(std::uint64_t bytes) override;
  void deallocate(std::byte* address) noexcept override;
  std::byte* allocate_staging(std::uint64_t bytes) override;
  void deallocate_staging(std::byte* address) noexcept override;
  bool register_host(std::byte* address, std::uint64_t bytes) noexcept override;
  void unregister_host(std::byte* address) noexcept override;
  bool is_foreign_device_pointer(const void* pointer) const noexcept override;

 private:
  struct Queue {
    bool open = false;
    std::shared_ptr<void> owner;
  };
  class Opened;

  void expect_open(QueueId queue) const;
  QueueId add_queue(std::shared_ptr<void> owner);
  void take_memory(std::uint64_t bytes, const char* what);
  void copy(QueueId queue, std::byte* to, const std::byte* from, std::uint64_t bytes);

  /// 16 pages of 4 KiB; a multiple of the page size wherever pages are at most 64 KiB.
  static constexpr std::uint64_t granularity = std::uint64_t{64} << 10;

  const int ordinal_;
  const std::uint64_t memory_bytes_;
  mutable std::mutex mutex_;  ///< guards what follows
  std::uint64_t used_bytes_ = 0;
  std::vector<Queue> queues_;
  std::unordered_map<std::byte*, std::uint64_t> allocations_;

  std::mutex access_mutex_;                          ///< guards closed_, and the opening of closed pages for a copy
  std::map<std::uintptr_t, std::uintptr_t> closed_;  ///< disjoint ranges [key, value) that are inaccessible
  std::atomic<bool> any_closed_{false};
  std::atomic<EventId> next_event_{1};
};

}  // namespace semcache::device
