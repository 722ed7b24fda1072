// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/engine/engine.hpp>
#include <semcache/runtime/configuration.hpp>
#include <semcache/runtime/runtime.hpp>

#include <atomic>
#include <memory>

/// One runtime at a time: from the first use of anything to `finalize`, or to the end of the process.
namespace semcache::runtime {

/// One lifetime of the runtime: from the first use to `finalize`.
struct Runtime {
  Configuration configuration;
  trace::Recorder recorder;
  std::unique_ptr<platform::Tracker> tracker;
  std::unique_ptr<engine::Surroundings> threads;
  std::unique_ptr<engine::Engine> engine;
  std::unique_ptr<device::DriverObserver> driver_uses;  ///< nullptr: nobody tells of the driver's calls
  std::uintptr_t lowest_address = 0;
  Runtime* ended_before = nullptr;  ///< ended too, and kept for the arrays that were alive then

  Runtime(const Configuration& c, const trace::RecorderOptions& options) : configuration(c), recorder(options) {}
};

extern std::atomic<Runtime*> current;
extern std::atomic<std::uint64_t> starts;
/// Kept for arrays that outlive their runtime; the one that ended last.
extern std::atomic<Runtime*> ended;
/// Set in a forked child: the service thread and the device's context stayed with the parent, and a lock may have been
/// held. Fresh pages can be read there, and exec called; everything else is refused or ignored.
extern std::atomic<bool> forked;
/// Streams whose address may be used again.
extern std::atomic<std::uint64_t> retired_queues;

[[nodiscard]] Runtime* start();
/// The devices that the variables, the program's own framework and the machine agree on.
/// @param framework  nullptr: the program has none, or has not said so yet
/// @throws ConfigurationError  they do not agree; it names both
[[nodiscard]] std::vector<std::unique_ptr<device::Device>> make_devices(const Configuration& configuration,
                                                                       const FrameworkDevice* framework);
[[noreturn]] void refuse_forked();

/// The running runtime, or nullptr; never in a forked child.
[[nodiscard]] inline Runtime* running() noexcept {
  return forked.load(std::memory_order_relaxed) ? nullptr : current.load(std::memory_order_acquire);
}
/// The running runtime; it is started if there is none. @throws UsageError in a forked child, ConfigurationError
[[nodiscard]] inline Runtime& runtime() {
  if (forked.load(std::memory_order_relaxed)) refuse_forked();
  Runtime* const r = current.load(std::memory_order_acquire);
  return r != nullptr ? *r : *start();
}
[[nodiscard]] Statistics statistics_of(Runtime& r);
/// What the engine may ask of the launches and faults of threads.
[[nodiscard]] std::unique_ptr<engine::Surroundings> threads_of(platform::Tracker& tracker);
/// Has this thread prepared a launch that is not submitted yet?
[[nodiscard]] bool prepares_launch() noexcept;
/// Starts to be told of what others ask the driver for. nullptr: it cannot be done, and why not.
[[nodiscard]] std::unique_ptr<device::DriverObserver> start_driver_uses(engine::Engine& engine, std::string& why_not);
/// The array that holds the address; nullptr: none.
[[nodiscard]] inline engine::Memory* array_at(const Runtime& r, const void* address) noexcept {
  engine::Memory* const m = r.engine->state().find(address);
  return m != nullptr && m->live && !m->snapshot() ? m : nullptr;
}
/// The array that outlived its runtime and holds the address; nullptr: none.
[[nodiscard]] engine::Memory* outlived(const void* address) noexcept;

struct Located {
  engine::Memory* memory;
  std::uint64_t position;
};
/// The live array that [address, address + bytes) lies in. @throws UsageError
[[nodiscard]] Located locate(Runtime& r, const void* address, std::size_t bytes);
/// Of a graph that the program records from a stream nobody knows when it runs. @throws UsageError
void refuse_recording(Runtime& r, QueueId queue);

}  // namespace semcache::runtime
