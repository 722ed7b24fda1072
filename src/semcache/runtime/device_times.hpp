// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/device/activities.hpp>
#include <semcache/policy/timed_launches.hpp>
#include <semcache/runtime/configuration.hpp>
#include <semcache/trace/span_log.hpp>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

namespace semcache::runtime {

/// Adds what the GPUs of the runtime carry out to the timeline, and chooses the launches that have times (`policy::timed_launches`).
/// Threads: any.
class DeviceTimes final : public device::ActivityObserver, base::Uncopied {
 public:
  DeviceTimes(trace::SpanLog& log, std::vector<int> ordinals, TracedKernels kernels, device::ActivitySwitch& activities);
  ~DeviceTimes() override;

  void carried_out(const device::DeviceActivity& a) noexcept override;
  void lost(std::uint64_t activities) noexcept override { log_.drop(trace::Span::Kind::kernel, activities); }
  /// To be called for each launch before its work is submitted. @param now_ns  since the log was made
  void work_follows(std::uint64_t now_ns) noexcept {
    if (all_.load(std::memory_order_relaxed)) return;
    if (is_off() && now_ns >= off_until_ns_.load(std::memory_order_relaxed)) begin_spell(now_ns);
    if (!is_off() && launches_.fetch_add(1, std::memory_order_relaxed) + 1 > policy::timed_launches::spell_launches) end_spell(now_ns);
    if (is_off()) untimed_launches_.fetch_add(1, std::memory_order_relaxed);
  }
  /// From now on all launches have times, and the profiler is asked for nothing more: the timeline is written.
  void finish() noexcept;
  /// Returns how many launches were about to be submitted while they had no times.
  [[nodiscard]] std::uint64_t untimed_launches() const noexcept { return untimed_launches_.load(std::memory_order_relaxed); }
  /// Returns for how long nothing had times. @pre `finish` has been called
  [[nodiscard]] std::uint64_t untimed_ns() const noexcept { return untimed_ns_; }

 private:
  [[nodiscard]] bool is_off() const noexcept { return switch_.now() == device::Activities::left_out; }
  void begin_spell(std::uint64_t now_ns) noexcept;
  void end_spell(std::uint64_t now_ns) noexcept;
  void note_spell(std::uint64_t now_ns) noexcept;

  trace::SpanLog& log_;
  const std::vector<int> ordinals_;
  device::ActivitySwitch& switch_;
  std::atomic<bool> all_;
  std::atomic<std::uint32_t> launches_{0};  ///< of the present spell
  std::atomic<std::uint64_t> off_until_ns_{0}, untimed_launches_{0};
  std::mutex mutex_;  ///< guards what follows
  std::uint64_t spell_began_ns_ = 0;
  std::uint64_t needs_ = 0;  ///< of activities, when the spell began
  std::uint64_t untimed_ns_ = 0;
};

}  // namespace semcache::runtime
