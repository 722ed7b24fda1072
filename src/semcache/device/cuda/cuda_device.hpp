// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/device/cuda/driver_api.hpp>
#include <semcache/device/device.hpp>

#include <mutex>
#include <unordered_map>
#include <vector>

namespace semcache::device {

/// One CUDA device, through the driver interface and the primary context (the one that the CUDA runtime and Kokkos
/// use). Every call makes that context current and puts the caller's back, so it works in threads that never touched
/// CUDA or use another device. No lock is held during a call of the driver that may wait.
class CudaDevice final : public Device {
 public:
  explicit CudaDevice(int ordinal);
  ~CudaDevice() override;

  DeviceKind kind() const noexcept override { return DeviceKind::cuda; }
  std::string name() const override { return name_; }
  int ordinal() const noexcept override { return ordinal_; }
  std::uint64_t total_memory_bytes() const override { return total_bytes_; }
  std::uint64_t free_memory_bytes() const override;

  std::uint64_t granularity_bytes() const noexcept override { return granularity_bytes_; }
  std::byte* reserve(std::uint64_t& bytes) override;
  void release(std::byte* base, std::uint64_t bytes) noexcept override;
  void map(std::byte* address, std::uint64_t bytes) override;
  void unmap(std::byte* address, std::uint64_t bytes) noexcept override;
  void set_accessible(std::byte*, std::uint64_t, bool) noexcept override {}

  QueueId open_queue() override;
  QueueId adopt_queue(void* native, std::shared_ptr<void> owner) override;
  void close_queue(QueueId queue) noexcept override;
  EventId record(QueueId queue) override;
  void wait(QueueId queue, EventId event) override;
  bool complete(EventId event) override;
  void synchronize(EventId event) override;
  void release(EventId event) noexcept override;
  void synchronize_queue(QueueId queue) override;
  [[nodiscard]] bool queue_idle(QueueId queue) override;
  void enter() noexcept override;
  void leave() noexcept override;
  void synchronize_device() override;

  void copy_to_device(QueueId queue, std::byte* device, const std::byte* host, std::uint64_t bytes) override;
  void copy_from_device(QueueId queue, std::byte* host, const std::byte* device, std::uint64_t bytes) override;
  void copy_within_device(QueueId queue, std::byte* to, const std::byte* from, std::uint64_t bytes) override;
  void fill(QueueId queue, std::byte* to, std::uint64_t bytes, const std::byte* pattern,
            std::uint32_t pattern_bytes) override;
  std::uint64_t digest(QueueId queue, const std::byte* device, std::uint64_t bytes) override;

  std::byte* allocate(std::uint64_t bytes) override;
  void deallocate(std::byte* address) noexcept override;
  std::byte* allocate_staging(std::uint64_t bytes) override;
  void deallocate_staging(std::byte* address) noexcept override;
  bool register_host(std::byte* address, std::uint64_t bytes) noexcept override;
  void unregister_host(std::byte* address) noexcept override;
  bool is_recording(QueueId queue) const override;
  bool is_foreign_device_pointer(const void* pointer) const noexcept override;
  bool can_reach(const void* pointer) const noexcept override;

 private:
  class Context;
  void refuse_recording(CUstream stream, const char* call) const;
  class Current;
  struct Queue {
    bool open = false;
    bool ours = false;  ///< created here, destroyed here
    CUstream stream = nullptr;
    std::shared_ptr<void> owner;
  };
  /// Where one digest is summed up: 8 bytes on the device, always left zero, and 8 of mapped host memory.
  struct Scratch {
    CUdeviceptr sum = 0;
    unsigned long long* host = nullptr;
  };

  void set_up();
  void tear_down() noexcept;
  void check(CUresult result, const char* call) const;
  void log(CUresult result, const char* call) const noexcept;
  [[noreturn]] void throw_out_of_memory(const char* call, std::uint64_t bytes) const;
  [[nodiscard]] unsigned memory_type(const void* pointer) const noexcept;
  [[nodiscard]] CUstream stream_of(QueueId queue) const;
  [[nodiscard]] CUstream stream_of_locked(QueueId queue) const;
  QueueId add_queue(Queue queue);
  void launch(CUfunction kernel, std::uint64_t items, CUstream stream, void** arguments);
  [[nodiscard]] Scratch take_scratch(CUstream stream);

  const cuda::DriverApi& api_;
  const int ordinal_;
  CUdevice device_ = 0;
  CUcontext context_ = nullptr;
  std::string name_;
  std::uint64_t total_bytes_ = 0;
  std::uint64_t granularity_bytes_ = 0;
  unsigned most_blocks_ = 1;

  CUmodule module_ = nullptr;
  CUfunction fill_aligned_ = nullptr;
  CUfunction fill_bytes_ = nullptr;
  CUfunction digest_ = nullptr;
  CUfunction digest_finish_ = nullptr;

  bool reaches_pageable_ = false;  ///< kernels can follow pointers into ordinary host memory

  mutable std::mutex mutex_;  ///< guards what follows
  std::vector<Queue> queues_;
  std::vector<CUevent> idle_events_;
  std::vector<Scratch> idle_scratch_;
  std::unordered_map<std::byte*, std::uint64_t> reservations_;
  std::unordered_map<std::byte*, std::uint64_t> allocations_;
  std::size_t staging_buffers_ = 0;
};

}  // namespace semcache::device
