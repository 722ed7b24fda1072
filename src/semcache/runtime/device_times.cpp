// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/runtime/lifetime.hpp>

#include <semcache/device/activities.hpp>

#include <algorithm>
#include <utility>
#include <vector>

namespace semcache::runtime {
namespace {

/// Adds what the GPUs of the runtime carry out to the timeline.
class DeviceTimes final : public device::ActivityObserver, base::Uncopied {
 public:
  DeviceTimes(trace::SpanLog& log, std::vector<int> ordinals) : log_(log), ordinals_(std::move(ordinals)) {}
  ~DeviceTimes() override { device::ignore_cuda_activities(); }

  void carried_out(const device::DeviceActivity& a) noexcept override {
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
  void lost(std::uint64_t activities) noexcept override { log_.drop(trace::Span::Kind::kernel, activities); }

 private:
  trace::SpanLog& log_;
  const std::vector<int> ordinals_;
};

}  // namespace

std::unique_ptr<device::ActivityObserver> start_device_times(Runtime& r, std::string& why_not) {
  auto times = std::make_unique<DeviceTimes>(*r.recorder.span_log(), ordinals_of(r));
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
}

}  // namespace semcache::runtime
