// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/runtime/device_times.hpp>

#include <semcache/platform/platform.hpp>
#include <semcache/runtime/lifetime.hpp>

#include <algorithm>
#include <utility>
#include <vector>

namespace semcache::runtime {

DeviceTimes::DeviceTimes(trace::SpanLog& log, std::vector<int> ordinals, TracedKernels kernels, device::ActivitySwitch& activities)
    : log_(log), ordinals_(std::move(ordinals)), switch_(activities), all_(kernels == TracedKernels::all) {
  note_spell(log.now_ns());
}

DeviceTimes::~DeviceTimes() { device::ignore_cuda_activities(); }

void DeviceTimes::carried_out(const device::DeviceActivity& a) noexcept {
  using Kind = trace::DeviceSpan::Kind;
  trace::DeviceSpan span;
  span.device = static_cast<std::uint8_t>(std::find(ordinals_.begin(), ordinals_.end(), a.ordinal) - ordinals_.begin());
  if (span.device == ordinals_.size()) return;  // of a GPU that the runtime does not use
  switch (a.kind) {
    case device::DeviceActivity::Kind::kernel: span.kind = Kind::kernel; break;
    case device::DeviceActivity::Kind::copy: span.kind = Kind::copy; break;
    case device::DeviceActivity::Kind::fill: span.kind = Kind::fill; break;
  }
  span.begin_ns = log_.since_begin_ns(a.begin_ns);
  span.end_ns = log_.since_begin_ns(a.end_ns);
  span.bytes = a.bytes;
  span.cause = a.cause;
  span.stream = a.stream;
  if (a.name != nullptr) span.name = log_.name(a.name);
  log_.add(span);
}

void DeviceTimes::note_spell(std::uint64_t now_ns) noexcept {
  spell_began_ns_ = now_ns;
  needs_ = switch_.needs();
  launches_.store(0, std::memory_order_relaxed);
}

void DeviceTimes::begin_spell(std::uint64_t now_ns) noexcept {
  const platform::RuntimeScope scope;
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock || !is_off()) return;  // another thread has begun it
  switch_.turn_on();
  if (is_off()) off_until_ns_.store(now_ns + policy::timed_launches::cycle_ns, std::memory_order_relaxed);  // it failed, and is tried again then
  note_spell(now_ns);
}

void DeviceTimes::end_spell(std::uint64_t now_ns) noexcept {
  const platform::RuntimeScope scope;
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock || launches_.load(std::memory_order_relaxed) <= policy::timed_launches::spell_launches) return;  // another thread has ended it
  const std::uint64_t pause_ns = policy::timed_launches::pause_ns(now_ns > spell_began_ns_ ? now_ns - spell_began_ns_ : 0);
  // Where copies come between the launches they would end the pause, and to turn the profiler on and off takes longer than to leave it on.
  const bool copies_came = switch_.needs() != needs_;
  note_spell(now_ns);
  if (pause_ns == 0 || copies_came || all_.load()) {
    launches_.store(1, std::memory_order_relaxed);  // the launch that has ended the spell is the first one of the next
    return;
  }
  off_until_ns_.store(now_ns + pause_ns, std::memory_order_relaxed);
  switch_.turn_off();
}

void DeviceTimes::finish() noexcept {
  all_.store(true);
  const std::lock_guard lock(mutex_);  // no spell ends or begins any more
  untimed_ns_ = switch_.off_ns();
  switch_.reset();
}

std::unique_ptr<DeviceTimes> start_device_times(Runtime& r, std::string& why_not) {
  auto times = std::make_unique<DeviceTimes>(*r.recorder.span_log(), ordinals_of(r), r.configuration.trace_kernels, device::cuda_activity_switch());
  why_not = device::observe_cuda_activities(*times);
  if (!why_not.empty()) times.reset();
  return times;
}

void finish_device_times(Runtime& r) noexcept {
  if (r.device_times == nullptr) return;
  for (const auto& d : r.engine->state().devices) {
    try {
      d->device->synchronize_device();
    } catch (const std::exception&) {  // the device is lost; what it did until then is told
    }
  }
  device::flush_cuda_activities();
  r.device_times->finish();
}

}  // namespace semcache::runtime
