// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "managed_counter.hpp"

#include <cuda_runtime_api.h>
#include <cupti.h>

#include <cstdlib>
#include <mutex>

namespace microbenchmarks {
namespace {

constexpr std::size_t buffer_bytes = 1 << 20;
std::mutex counted_mutex;
Counts counted;

void CUPTIAPI give_buffer(std::uint8_t** buffer, std::size_t* size, std::size_t* most_records) {
  // CUPTI needs an alignment of 8 bytes, which malloc gives. With a null buffer it drops records.
  *buffer = static_cast<std::uint8_t*>(std::malloc(buffer_bytes));
  *size = *buffer == nullptr ? 0 : buffer_bytes;
  *most_records = 0;
}

void CUPTIAPI take_buffer(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t valid) {
  CUpti_Activity* record = nullptr;
  const std::lock_guard lock(counted_mutex);
  while (valid > 0 && cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) {
    if (record->kind != CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER) continue;
    // The leading fields are the same in every version of the record.
    const auto* counter = reinterpret_cast<const CUpti_ActivityUnifiedMemoryCounter2*>(record);
    switch (counter->counterKind) {
      case CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_HTOD: counted.h2d_bytes += counter->value; break;
      case CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOH: counted.d2h_bytes += counter->value; break;
      case CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_CPU_PAGE_FAULT_COUNT: ++counted.host_faults; break;
      default: break;
    }
  }
  std::free(buffer);
}

bool configure(int device, bool enable) {
  CUpti_ActivityUnifiedMemoryCounterConfig config[3] = {};
  const CUpti_ActivityUnifiedMemoryCounterKind kinds[3] = {
      CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_HTOD,
      CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOH,
      CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_CPU_PAGE_FAULT_COUNT};
  for (int i = 0; i < 3; ++i) {
    config[i].scope = CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_SCOPE_PROCESS_SINGLE_DEVICE;
    config[i].kind = kinds[i];
    config[i].deviceId = static_cast<std::uint32_t>(device);
    config[i].enable = enable ? 1 : 0;
  }
  return cuptiActivityConfigureUnifiedMemoryCounter(config, 3) == CUPTI_SUCCESS;
}

}  // namespace

void ManagedCounter::start() {
  int device = 0;
  counting_ = cudaDeviceSynchronize() == cudaSuccess && cudaGetDevice(&device) == cudaSuccess &&
              cuptiActivityRegisterCallbacks(give_buffer, take_buffer) == CUPTI_SUCCESS && configure(device, true) &&
              cuptiActivityEnable(CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER) == CUPTI_SUCCESS;
  if (!counting_) return;
  (void)cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  const std::lock_guard lock(counted_mutex);
  counted = {};
}

std::optional<Counts> ManagedCounter::stop() {
  if (!counting_) return std::nullopt;
  counting_ = false;
  const bool flushed = cudaDeviceSynchronize() == cudaSuccess &&
                       cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED) == CUPTI_SUCCESS;
  (void)cuptiActivityDisable(CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER);
  if (!flushed) return std::nullopt;
  const std::lock_guard lock(counted_mutex);
  return counted;
}

}  // namespace microbenchmarks
