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
  return !__builtin_mul_overflow(view.shape.span(), view.element_bytes, &bytes) && view.offset_bytes <= view.array_bytes &&
         bytes <= view.array_bytes - view.offset_bytes;
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

std::string kernel_name(const char* type_name) { return trace::Recorder::readable(type_name); }

void tell_observer(QueueId queue, const char* name, const Capture* captures, std::size_t count, const Leads* leads,
                   const policy::ViewShape* shapes, std::size_t shape_count) {
  const Presence presence;
  Runtime* const r = running();
  bool& is_in_observer = platform::per_thread<ObservingThread>().is_in_observer;
  if (r == nullptr || is_in_observer) return;
  std::shared_ptr<policy::LaunchObserver> observer;
  std::vector<policy::CapturedView> views;
  bool complete = leads == nullptr || !leads->lead_anywhere();
  {
    const Call call;
    {
      Observation& o = observation();
      const std::lock_guard<std::mutex> guard(o.mutex);
      observer = o.observer;
    }
    if (observer == nullptr) return;
    const auto add = [&](const void* pointer, const HandleType* type, Access mode, const policy::ViewShape& shape) {
      const Memory* const m = live_on_device(*r, pointer);
      complete = complete && (m != nullptr ? !m->holds_handles.load(std::memory_order_relaxed) : pointer == nullptr);
      if (m == nullptr) return;
      policy::CapturedView view{};
      view.label = r->recorder.name(m->label);
      view.array = m->address;
      view.array_bytes = m->bytes;
      if (type != nullptr) {
        view.offset_bytes = static_cast<std::uint64_t>(static_cast<const std::byte*>(pointer) - m->address);
        view.element_bytes = type->element_bytes;
      }
      view.writable = writes(mode);
      view.shape = shape;
      if (!fits(view)) view.shape = {};
      views.push_back(view);
    };
    for (std::size_t c = 0; c < count; ++c) {
      add(captures[c].pointer, captures[c].type, captures[c].writable ? Access::read_write : Access::read, c < shape_count ? shapes[c] : policy::ViewShape{});
      complete = complete && !captures[c].holds_handles;
    }
    if (leads != nullptr) {
      for (const void* pointer : leads->arrays()) add(pointer, nullptr, Access::read_write, {});
    }
  }
  const std::uint32_t device = r->engine->state().queues->device_of(index_of(queue));
  is_in_observer = true;
  const base::AtEnd leaves([&]() noexcept { is_in_observer = false; });
  observer->observe({name, device, views.data(), views.size(), complete});
}

}  // namespace semcache::runtime
