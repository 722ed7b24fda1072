// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/device/activities.hpp>
#include <semcache/engine/engine.hpp>
#include <semcache/runtime/configuration.hpp>
#include <semcache/runtime/runtime.hpp>

#include <atomic>
#include <memory>

/// A process has one runtime at a time: from the first use of any function to `finalize`, or to the end of the process.
namespace semcache::runtime {

/// One lifetime of the runtime: from the first use to `finalize`.
struct Runtime {
  Configuration configuration;
  trace::Recorder recorder;
  std::unique_ptr<platform::Tracker> tracker;
  std::unique_ptr<engine::Surroundings> threads;
  std::unique_ptr<engine::Engine> engine;
  std::unique_ptr<device::DriverObserver> driver_uses;  ///< nullptr: the driver's calls are not watched
  std::unique_ptr<device::ActivityObserver> device_times;  ///< nullptr: there is no timeline, or it has no times of devices
  std::atomic<std::uint64_t> faults{0}, fault_ns{0};  ///< see fault_cost()
  std::uintptr_t lowest_address = 0;
  Runtime* ended_before = nullptr;  ///< an earlier runtime that has ended and is kept for arrays that were alive then

  explicit Runtime(const Configuration& c) : configuration(c), recorder(options_of(c)) {}

 private:
  [[nodiscard]] static trace::RecorderOptions options_of(const Configuration& c) noexcept {
    trace::RecorderOptions o;
    o.call_sites = !c.report.empty();
    o.spans = c.trace.empty() ? 0 : c.trace_spans;
    return o;
  }
};

extern std::atomic<Runtime*> current;
extern std::atomic<std::uint64_t> starts;
/// The runtime that ended last among those that are kept for arrays that outlive them.
extern std::atomic<Runtime*> ended;
/// Set in a forked child, because the service thread and the device's context stayed with the parent, and a lock may have been
/// held at the fork. The child can read fresh pages and call exec; everything else is refused or ignored.
extern std::atomic<bool> forked;
/// A thread ends the runtime: others do not begin calls.
extern std::atomic<bool> ending;
/// There is an observer of launches.
extern std::atomic<bool> observed;
/// How often a queue may have lost its stream, whose address may then name another stream.
extern std::atomic<std::uint64_t> retired_queues;

/// Starts the runtime, or returns the one that another thread has started meanwhile. @throws ConfigurationError and others
[[nodiscard]] Runtime* start();
/// Returns the vendor's numbers of the runtime's devices, the first one in front.
[[nodiscard]] std::vector<int> ordinals_of(const Runtime& r);
/// Returns "device 1" or "devices 0, 2".
[[nodiscard]] std::string text_of_devices(const std::vector<int>& ordinals);

struct ChosenDevices {
  std::vector<int> ordinals;  ///< the first is home: the device on which the program's own framework computes
  std::string warning;        ///< one line for the user; empty: none
};
/// Chooses the devices on which the configuration, the program's own framework and the machine agree. Calls nothing of a device.
///
/// A list: exactly these devices. A device that the framework has forced must be among them and comes first; otherwise the first of
/// the list is home. A count n (default 1): process r of the node has the run of n devices that begins at r * n, modulo `visible`.
/// The framework's device comes first; if it is not in the run, the run begins at it instead.
/// @param framework  nullptr: the program has none, or has not called `use_framework_device` yet
/// @param visible    the number of devices of this kind; 0: none, so that making the first device reports the reason
/// @throws ConfigurationError  they do not agree, a device does not exist, or there are more or fewer budgets than devices; the text
///                             names both
[[nodiscard]] ChosenDevices choose_devices(const Configuration& configuration, const FrameworkDevice* framework,
                                           device::DeviceKind kind, int visible);
/// Makes the devices that `choose_devices` chooses, in that order, and writes its warning to stderr.
/// @param framework  as in `choose_devices`
/// @throws ConfigurationError  as `choose_devices`; SEMCACHE_DEVICE contradicts the framework  @throws DeviceError
[[nodiscard]] std::vector<std::unique_ptr<device::Device>> make_devices(const Configuration& configuration,
                                                                       const FrameworkDevice* framework);
[[noreturn]] void refuse_forked();
/// Claims the process for this copy of the runtime. Two copies in one process (static in two plugins) would each believe that
/// they own every page fault.
/// @throws ConfigurationError  another copy was started in this process
void refuse_second_copy();
/// Keeps a plugin that holds this copy loaded after it is closed, because the runtime's handlers and threads cannot be removed.
void stay_loaded();

/// Returns the running runtime, or nullptr if none runs; always nullptr in a forked child. It may be used while the caller has a
/// `Presence` that began before.
[[nodiscard]] inline Runtime* running() noexcept {
  return forked.load(std::memory_order_relaxed) ? nullptr : current.load(std::memory_order_acquire);
}
/// Returns the running runtime in the same way, and starts it if none runs. @throws UsageError in a forked child, ConfigurationError
[[nodiscard]] inline Runtime& runtime() {
  if (forked.load(std::memory_order_relaxed)) refuse_forked();
  Runtime* const r = current.load(std::memory_order_acquire);
  return r != nullptr ? *r : *start();
}
/// A call of the program's. The runtime stays while it lasts (`Presence`); what `running` has returned before may have been destroyed.
/// The thread's faults are not served meanwhile (`RuntimeScope`).
class Call : base::Uncopied {
  const Presence presence_;
  const platform::RuntimeScope scope_;
};

/// Names a queue of this runtime, so that a later runtime does not take it for one of its own.
[[nodiscard]] inline QueueId id_of(engine::QueueIndex queue) noexcept {
  static_assert(engine::unknown_queue == 0 && timeline::max_queues <= 0x100);
  const auto epoch = static_cast<std::uint32_t>(starts.load(std::memory_order_relaxed));
  return QueueId{queue == engine::unknown_queue ? 0 : epoch << 8 | queue};
}
/// Returns whether the queue is one of this runtime's, and not the unknown one.
[[nodiscard]] inline bool is_current(QueueId queue) noexcept {
  const auto epoch = static_cast<std::uint32_t>(starts.load(std::memory_order_relaxed));
  return queue.valid() && queue.value != 0 && queue.value >> 8 == (epoch & 0xff'ffff);
}
/// Returns the queue's index; that of the unknown queue if the queue is one of a runtime that has ended.
[[nodiscard]] inline engine::QueueIndex index_of(QueueId queue) noexcept {
  return is_current(queue) ? queue.value & 0xff : engine::unknown_queue;
}

[[nodiscard]] Statistics statistics_of(Runtime& r);
/// Makes the object that answers the engine's questions about the launches and faults of threads.
[[nodiscard]] std::unique_ptr<engine::Surroundings> threads_of(platform::Tracker& tracker);
/// Returns whether the calling thread has prepared a launch that is not submitted yet.
[[nodiscard]] bool prepares_launch() noexcept;
/// Starts the driver watch, which reports the calls of other code to the driver. Returns nullptr if it cannot be started, and
/// sets `why_not`.
[[nodiscard]] std::unique_ptr<device::DriverObserver> start_driver_uses(engine::Engine& engine, std::string& why_not);
/// Starts to note in the timeline when GPUs carry out kernels and copies. Returns nullptr if it cannot be started, and sets `why_not`.
[[nodiscard]] std::unique_ptr<device::ActivityObserver> start_device_times(Runtime& r, std::string& why_not);
/// Waits for the devices, and for what is still to be noted of their work.
void finish_device_times(Runtime& r) noexcept;
/// Returns the live array that holds the address; nullptr if there is none.
[[nodiscard]] inline engine::Memory* array_at(const Runtime& r, const void* address) noexcept {
  engine::Memory* const m = r.engine->state().find(address);
  return m != nullptr && m->live && !m->snapshot() && !m->part ? m : nullptr;
}
/// Returns the live device array that holds the address; nullptr if there is none.
[[nodiscard]] inline engine::Memory* live_on_device(const Runtime& r, const void* pointer) noexcept {
  engine::Memory* const m = r.engine->state().find_device(pointer);
  return m != nullptr && m->live && !m->part ? m : nullptr;
}
/// Returns the array that outlived its runtime and holds the address; nullptr if there is none.
[[nodiscard]] engine::Memory* outlived(const void* address) noexcept;

/// A range of bytes in an adopted range that is not all in its body.
struct InAdopted {
  engine::Memory* body = nullptr;  ///< nullptr: the adopted range has no body
  ByteRange inside;                ///< the bytes of the range that lie in the body; empty if none does
  std::uint64_t position = 0;      ///< of the first of these in the body
};
/// Returns whether [address, address + bytes) begins in an adopted range, and not all of it lies in the body. The program's own accesses
/// to what lies outside the body are always right, and copies there are made at the call.
/// @throws UsageError  it begins there, but leaves the adopted range
[[nodiscard]] bool find_adopted(const Runtime& r, const void* address, std::size_t bytes, InAdopted& found);

/// Asks the function that `lock_pages_only_if` was given.
[[nodiscard]] bool pages_may_be_locked() noexcept;
/// Calls the functions that wait for releases (`before_release`). Call it without a `Call`.
void tell_of_release(const void* address);

using FunctionForDebuggers = void (*)();
/// Returns the functions that debuggers call by their names.
[[nodiscard]] const FunctionForDebuggers* functions_for_debuggers() noexcept;

struct Located {
  engine::Memory* memory;
  std::uint64_t position;
};
/// Returns the live array that holds [address, address + bytes), and the position in it. @throws UsageError  no array holds it
[[nodiscard]] Located locate(Runtime& r, const void* address, std::size_t bytes);
[[noreturn]] void refuse_recorded();
/// Refuses work on a queue from whose stream the program records a graph, because the runtime cannot know when the graph runs.
/// @throws UsageError  a graph is recorded from the queue's stream
inline void refuse_recording(QueueId queue) {
  if (device::graphs_being_recorded.load(std::memory_order_relaxed) != 0 && is_recording(queue)) refuse_recorded();
}

}  // namespace semcache::runtime
