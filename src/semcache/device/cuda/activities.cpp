// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/device/activities.hpp>

#if __has_include(<cupti.h>) && defined(SEMCACHE_CUPTI_DIRECTORY)

#include <semcache/device/cuda/cupti.hpp>
#include <semcache/device/cuda/driver_api.hpp>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <type_traits>

/// Activities, by CUPTI's records of them. CUPTI fills buffers of ours, and hands them back from a thread of its own.
namespace semcache::device {
namespace {

using cuda::Cupti;
using cuda::cupti;

constexpr CUpti_ActivityKind kinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY2,
                                        CUPTI_ACTIVITY_KIND_MEMSET};
constexpr std::size_t buffer_bytes = std::size_t{1} << 20;
constexpr std::size_t kept_causes = std::size_t{1} << 18;

struct Activities {
  std::mutex mutex;                      ///< held while the observer is called
  ActivityObserver* observer = nullptr;
  std::atomic<bool> observed{false};
  /// The causes of the last calls to the driver: place n % kept_causes has that of call n, and n. CUPTI tells an activity long before so many others
  /// have been submitted.
  std::unique_ptr<std::atomic<std::uint64_t>[]> causes;
};
Activities& activities() {
  static Activities& a = *new Activities;  // CUPTI's thread outlives static destructors
  return a;
}

std::uint64_t CUPTIAPI steady_ns() {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count());
}

std::uint32_t cause_of(const Activities& a, std::uint32_t correlation) noexcept {
  const std::uint64_t call_and_cause = a.causes[correlation % kept_causes].load(std::memory_order_relaxed);
  return call_and_cause >> 32 == correlation ? static_cast<std::uint32_t>(call_and_cause) : 0;
}

/// @tparam Record  one of CUPTI's records, of a version that the records of later ones begin with
template <class Record>
DeviceActivity activity_of(const Activities& a, const CUpti_Activity* record, DeviceActivity::Kind kind) noexcept {
  const auto& r = *reinterpret_cast<const Record*>(record);
  DeviceActivity activity{};
  activity.kind = kind;
  activity.begin_ns = r.start;
  activity.end_ns = r.end;
  activity.ordinal = static_cast<int>(r.deviceId);
  activity.stream = r.streamId;
  activity.cause = cause_of(a, r.correlationId);
  if constexpr (std::is_same_v<Record, CUpti_ActivityKernel9>) {
    activity.name = r.name;
  } else {
    activity.bytes = r.bytes;
  }
  return activity;
}

void tell(Activities& a, const CUpti_Activity* record) noexcept {
  using Kind = DeviceActivity::Kind;
  DeviceActivity activity{};
  switch (record->kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: activity = activity_of<CUpti_ActivityKernel9>(a, record, Kind::kernel); break;
    case CUPTI_ACTIVITY_KIND_MEMCPY: activity = activity_of<CUpti_ActivityMemcpy5>(a, record, Kind::copy); break;
    case CUPTI_ACTIVITY_KIND_MEMCPY2: activity = activity_of<CUpti_ActivityMemcpyPtoP4>(a, record, Kind::copy); break;
    case CUPTI_ACTIVITY_KIND_MEMSET: activity = activity_of<CUpti_ActivityMemset4>(a, record, Kind::fill); break;
    default: return;
  }
  // A record without times is one of a GPU that does not tell them.
  if (activity.begin_ns != 0 && activity.end_ns >= activity.begin_ns) a.observer->carried_out(activity);
}

void CUPTIAPI give_buffer(std::uint8_t** buffer, std::size_t* bytes, std::size_t* most_records) {
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(8, buffer_bytes));
  *bytes = *buffer == nullptr ? 0 : buffer_bytes;
  *most_records = 0;  // as many as there is room for
}

void CUPTIAPI take_buffer(CUcontext context, std::uint32_t stream, std::uint8_t* buffer, std::size_t, std::size_t valid_bytes) {
  Activities& a = activities();
  {
    const std::lock_guard<std::mutex> lock(a.mutex);
    if (a.observer != nullptr) {
      CUpti_Activity* record = nullptr;
      while (valid_bytes > 0 && cupti().next_record(buffer, valid_bytes, &record) == CUPTI_SUCCESS) tell(a, record);
      std::size_t lost = 0;
      if (cupti().dropped_records(context, stream, &lost) == CUPTI_SUCCESS && lost > 0) a.observer->lost(lost);
    }
  }
  std::free(buffer);
}

void disable_all(const Cupti& c) noexcept {
  for (const CUpti_ActivityKind kind : kinds) (void)c.disable_activity(kind);
}

}  // namespace

void cuda::note_cause(std::uint32_t correlation) noexcept {
  Activities& a = activities();
  const std::uint32_t cause = ActivityCause::of_this_thread();
  if (cause == 0 || !a.observed.load(std::memory_order_acquire)) return;
  a.causes[correlation % kept_causes].store(std::uint64_t{correlation} << 32 | cause, std::memory_order_relaxed);
}

std::string observe_cuda_activities(ActivityObserver& observer) {
  if (!cuda::driver_api().failure.empty()) return cuda::driver_api().failure;
  const Cupti& c = cupti();
  if (!c.failure.empty()) return c.failure;
  Activities& a = activities();
  {
    const std::lock_guard<std::mutex> lock(a.mutex);
    if (a.causes == nullptr) a.causes.reset(new std::atomic<std::uint64_t>[kept_causes]());  // never freed: a call may be under way
    a.observer = &observer;
  }
  CUptiResult result = c.register_clock(&steady_ns);
  if (result == CUPTI_SUCCESS) result = c.register_callbacks(&give_buffer, &take_buffer);
  for (const CUpti_ActivityKind kind : kinds) {
    if (result == CUPTI_SUCCESS) result = c.enable_activity(kind);
  }
  if (result == CUPTI_SUCCESS) {
    a.observed.store(true);
    return {};
  }
  disable_all(c);
  const std::lock_guard<std::mutex> lock(a.mutex);
  a.observer = nullptr;
  return "CUPTI refuses it (" + c.text_of(result) + ")";
}

void flush_cuda_activities() noexcept {
  if (activities().observed.load()) (void)cupti().flush(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
}

void ignore_cuda_activities() noexcept {
  Activities& a = activities();
  if (!a.observed.exchange(false)) return;
  disable_all(cupti());
  const std::lock_guard<std::mutex> lock(a.mutex);
  a.observer = nullptr;
}

}  // namespace semcache::device

#else

namespace semcache::device {

std::string observe_cuda_activities(ActivityObserver&) { return "SemCache was built without CUPTI (a part of the CUDA toolkit)"; }
void flush_cuda_activities() noexcept {}
void ignore_cuda_activities() noexcept {}

}  // namespace semcache::device

#endif
