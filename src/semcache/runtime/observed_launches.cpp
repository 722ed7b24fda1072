// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/platform/per_thread.hpp>
#include <semcache/runtime/lifetime.hpp>

#include <mutex>
#include <utility>
#include <vector>

/// The observer of launches, and what it is told.
namespace semcache::runtime {

using engine::Memory;

std::atomic<bool> observed{false};

namespace {

/// Never destroyed, because threads may launch kernels while the process ends.
struct Observation {
  std::mutex mutex;
  std::shared_ptr<policy::LaunchObserver> observer;
};
Observation& observation() {
  static Observation& only = *new Observation;
  return only;
}

struct ObservingThread {
  bool is_in_observer = false;
};

/// Returns whether the View lies in its array. A handle that a functor holds without its View has other words around it.
bool fits(const policy::CapturedView& view) noexcept {
  std::uint64_t bytes;
  return !__builtin_mul_overflow(view.shape.span(), view.element_bytes, &bytes) && bytes <= view.array_bytes - view.offset_bytes;
}

}  // namespace

void observe_launches(std::shared_ptr<policy::LaunchObserver> observer) {
  if (forked.load(std::memory_order_relaxed)) refuse_forked();
  Observation& o = observation();
  const std::lock_guard<std::mutex> guard(o.mutex);
  observed.store(observer != nullptr, std::memory_order_relaxed);
  o.observer.swap(observer);
  // `observer` is a parameter, so the former one ends after the lock has been given up.
}

bool launches_are_observed() noexcept { return observed.load(std::memory_order_relaxed); }

void tell_observer(QueueId queue, const char* name, const Capture* captures, std::size_t count, const policy::ViewShape* shapes,
                   std::size_t shape_count, bool complete) {
  Runtime* const r = running();
  bool& is_in_observer = platform::per_thread<ObservingThread>().is_in_observer;
  if (r == nullptr || is_in_observer) return;
  std::shared_ptr<policy::LaunchObserver> observer;
  std::vector<policy::CapturedView> views;
  {
    const platform::RuntimeScope scope;
    {
      Observation& o = observation();
      const std::lock_guard<std::mutex> guard(o.mutex);
      observer = o.observer;
    }
    if (observer == nullptr) return;
    views.reserve(count);
    for (std::size_t c = 0; c < count; ++c) {
      const Capture& capture = captures[c];
      const Memory* const m = live_on_device(*r, capture.pointer);
      if (m == nullptr) continue;
      policy::CapturedView view{};
      view.label = r->recorder.name(m->label);
      view.array = m->address;
      view.array_bytes = m->bytes;
      view.offset_bytes = static_cast<std::uint64_t>(static_cast<const std::byte*>(capture.pointer) - m->address);
      view.element_bytes = capture.type != nullptr ? capture.type->element_bytes : 0;
      view.writable = capture.writable;
      if (c < shape_count) view.shape = shapes[c];
      if (!fits(view)) view.shape = {};
      views.push_back(view);
      complete = complete && !capture.holds_handles && !m->holds_handles.load(std::memory_order_relaxed);
    }
  }
  const std::uint32_t device = queue.valid() ? r->engine->state().queues->device_of(queue.value) : 0;
  is_in_observer = true;
  const base::AtEnd leaves([&]() noexcept { is_in_observer = false; });
  observer->observe({name, device, views.data(), views.size(), complete});
}

}  // namespace semcache::runtime
