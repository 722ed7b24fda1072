// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors

/// Counts every copy that the CUDA driver carries out for a process, whoever asked for it: the witness against which the
/// runtime's own report is tested. Loaded by the driver itself:
///
///   CUDA_INJECTION64_PATH=libsemcache_copy_counter.so SEMCACHE_COPY_COUNTS=counts.%p.json ./program
///
/// Writes {"h2d_bytes", "h2d_count", "d2h_bytes", …} at exit. %p is the process id. Uses CUPTI's activity records.
#include <cupti.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

struct Count {
  std::atomic<std::uint64_t> bytes{0};
  std::atomic<std::uint64_t> count{0};
};
Count h2d, d2h, d2d, other;

constexpr std::size_t buffer_bytes = 4 * 1024 * 1024;

void CUPTIAPI give_buffer(std::uint8_t** buffer, std::size_t* size, std::size_t* max_records) {
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(8, buffer_bytes));
  *size = buffer_bytes;
  *max_records = 0;
}

void CUPTIAPI take_buffer(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t valid) {
  CUpti_Activity* record = nullptr;
  while (cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) {
    if (record->kind != CUPTI_ACTIVITY_KIND_MEMCPY) continue;
    // The fields used here are at the same place in all versions of this record.
    const auto* copy = reinterpret_cast<const CUpti_ActivityMemcpy6*>(record);
    Count& c = copy->copyKind == CUPTI_ACTIVITY_MEMCPY_KIND_HTOD   ? h2d
               : copy->copyKind == CUPTI_ACTIVITY_MEMCPY_KIND_DTOH ? d2h
               : copy->copyKind == CUPTI_ACTIVITY_MEMCPY_KIND_DTOD ? d2d
                                                                   : other;
    c.bytes += copy->bytes;
    ++c.count;
  }
  std::free(buffer);
}

void write_counts() {
  cuptiActivityFlushAll(1);
  std::string path = std::getenv("SEMCACHE_COPY_COUNTS") != nullptr ? std::getenv("SEMCACHE_COPY_COUNTS") : "/dev/stderr";
  if (const auto at = path.find("%p"); at != std::string::npos) path.replace(at, 2, std::to_string(getpid()));
  std::FILE* file = std::fopen(path.c_str(), "w");
  if (file == nullptr) {
    std::fprintf(stderr, "copy counter: cannot write %s\n", path.c_str());
    return;
  }
  const auto n = [](const std::atomic<std::uint64_t>& v) { return static_cast<unsigned long long>(v.load()); };
  std::fprintf(file,
               "{\"h2d_bytes\": %llu, \"h2d_count\": %llu, \"d2h_bytes\": %llu, \"d2h_count\": %llu, \"d2d_bytes\": %llu, "
               "\"d2d_count\": %llu, \"other_bytes\": %llu, \"other_count\": %llu}\n",
               n(h2d.bytes), n(h2d.count), n(d2h.bytes), n(d2h.count), n(d2d.bytes), n(d2d.count), n(other.bytes),
               n(other.count));
  std::fclose(file);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
  if (cuptiActivityRegisterCallbacks(&give_buffer, &take_buffer) != CUPTI_SUCCESS ||
      cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMCPY) != CUPTI_SUCCESS) {
    std::fprintf(stderr, "copy counter: CUPTI cannot be enabled\n");
    return 0;
  }
  std::atexit(&write_counts);
  return 1;
}
