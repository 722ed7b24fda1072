// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "contents.hpp"
#include "ledger.hpp"
#include "next_tool.hpp"
#include "options.hpp"
#include "report.hpp"
#include "tools_interface.hpp"

#include <semcache/base/addresses.hpp>

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <list>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>

namespace semcache::advisor {
namespace {

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// Everything of one run of Kokkos.
struct Advisor {
  explicit Advisor(std::uint64_t version) { circumstances.interface_version = version; }

  std::mutex mutex;  ///< of all that follows and changes
  Ledger ledger;
  Circumstances circumstances;
  Clock::time_point start = Clock::now();
  bool reported = false;
  std::atomic<std::uint64_t> nanoseconds{0};  ///< that callbacks took, summed over threads
  const Options options = read_options();
  const bool reads_memory = *why_no_host_memory() == '\0';

  void report(bool finalized) {
    const std::lock_guard<std::mutex> lock(mutex);
    if (std::exchange(reported, true)) return;
    circumstances.finalized = finalized;
    circumstances.program_seconds = seconds_since(start);
    circumstances.advisor_seconds = 1e-9 * static_cast<double>(nanoseconds.load());
    write_reports(ledger, circumstances, options);
  }
};

/// Null before Kokkos starts, after the report, and in a forked child, which has only one of the threads and reports nothing.
std::atomic<Advisor*> advisor{nullptr};

/// A call of deep_copy that is under way on this thread. They are not nested. An exception may end one without its end being
/// announced; the next one takes its place.
struct UnderWay {
  Copy copy;
  Clock::time_point start;
};
thread_local std::optional<UnderWay> under_way;

/// Calls `work` with the advisor, adds its time to the advisor's own, and lets no exception out into the program.
template <class Work>
void serve(const Work& work) noexcept {
  Advisor* const a = advisor.load(std::memory_order_acquire);
  if (a == nullptr) return;
  const Clock::time_point start = Clock::now();
  try {
    work(*a);
    a->nanoseconds += static_cast<std::uint64_t>((Clock::now() - start) / std::chrono::nanoseconds(1));
  } catch (const std::exception& e) {
    if (advisor.exchange(nullptr) != nullptr) base::raw_log("the advisor stops, and the program goes on: %s", e.what());
  }
}

bool is_scalar(const char* label) { return std::strcmp(label, "Scalar") == 0 || std::strcmp(label, "(none)") == 0; }

/// Kokkos announces fills, and copies into a variable, as copies of which one side is the variable, with a label of its own.
Kind kind_of(Ledger& ledger, const Copy& copy, const char* to_label, const char* from_label) {
  const void *const to = copy.to.address, *const from = copy.from.address;
  if (copy.bytes == 0 || to == nullptr || from == nullptr) return Kind::nothing;
  if (to == from) return Kind::itself;
  if (is_scalar(from_label) && copy.from.memory == Memory::host && !ledger.allocation_has(from)) return Kind::fill;
  if (is_scalar(to_label) && copy.to.memory == Memory::host && !ledger.allocation_has(to)) return Kind::scalar;
  return Kind::copy;
}

void wait_for_devices(const Copy& copy) noexcept {
  wait_for_device(copy.to.memory, copy.to.address);
  wait_for_device(copy.from.memory, copy.from.address);
}

bool is_between_views(const Copy& copy) noexcept { return copy.kind == Kind::copy || copy.kind == Kind::itself; }

bool is_examined(const Advisor& a, const Copy& copy) noexcept {
  return is_between_views(copy) && a.reads_memory && copy.bytes <= a.options.largest_bytes && copy.to.memory != Memory::other &&
         copy.from.memory != Memory::other;
}

Memory memory_in(const SpaceHandle& space) { return memory_of(std::string_view(space.name, ::strnlen(space.name, sizeof space.name))); }

void classify(Advisor& a, Copy& copy, const char* to_label, const char* from_label) {
  const std::lock_guard<std::mutex> lock(a.mutex);
  copy.kind = kind_of(a.ledger, copy, to_label, from_label);
  copy.to.label = a.ledger.label_of(to_label, copy.to.address);
  copy.from.label = a.ledger.label_of(from_label, copy.from.address);
  a.circumstances.saw_device |= of_driver(copy.to.memory) || of_driver(copy.from.memory);
}

void look_before(const Advisor& a, Copy& copy) {
  if (!is_between_views(copy)) return;
  copy.site = trace::detail::current_stack();
  if (!is_examined(a, copy)) return;
  if (copy.kind == Kind::copy) copy.to_before = digest_of(copy.to.memory, copy.to.address, copy.bytes);
  copy.from_before = digest_of(copy.from.memory, copy.from.address, copy.bytes);
}

void look_after(Advisor& a, Copy& copy) {
  if (copy.kind == Kind::copy && copy.way == Way::kernels && is_examined(a, copy)) copy.to_after = digest_of(copy.to.memory, copy.to.address, copy.bytes);
  const std::lock_guard<std::mutex> lock(a.mutex);
  a.ledger.copied(copy);
}

/// A kernel or an allocation within a copy shows that it is not carried out byte by byte. @return false: there is no copy
bool is_in_copy() noexcept {
  if (under_way) under_way->copy.way = Way::kernels;
  return under_way.has_value();
}

void begin_kernel(const char* name) {
  if (is_in_copy()) return;
  serve([name](Advisor& a) {
    const std::lock_guard<std::mutex> lock(a.mutex);
    a.ledger.launched(name);
  });
}

void report(bool finalized) noexcept {
  if (Advisor* const a = advisor.exchange(nullptr)) a->report(finalized);
}

void start(std::uint64_t interface_version) noexcept {
  try {
    static const int once = [] {
      ::pthread_atfork(nullptr, nullptr, [] { advisor.store(nullptr); });
      return std::atexit([] { report(false); });
    }();
    (void)once;
    if (const char* const why = why_no_host_memory(); *why != '\0') {
      base::raw_log("the advisor counts copies and compares no contents: %s", why);
    }
    // Never destroyed: other threads may be in a callback, and the last report is written while the process ends.
    static std::list<Advisor>& all = *new std::list<Advisor>;
    advisor.store(&all.emplace_back(interface_version));
  } catch (const std::exception& e) {
    base::raw_log("the advisor does not start, and the program goes on: %s", e.what());
  }
}

}  // namespace
}  // namespace semcache::advisor

using namespace semcache::advisor;

// The advisor comes first, but for the begin of a copy, so that the time of another tool is not the copy's.
#define SEMCACHE_ADVISOR_FORWARD(name, arguments)                               \
  do {                                                                          \
    if (next_tool().name != nullptr) next_tool().name arguments;                \
  } while (0)

void kokkosp_init_library(int sequence, std::uint64_t version, std::uint32_t devices, void* infos) {
  start(version);
  SEMCACHE_ADVISOR_FORWARD(init_library, (sequence, version, devices, infos));
}

void kokkosp_request_tool_settings(std::uint32_t number, ToolSettings* settings) {
  // The advisor waits itself, where it must. A tool behind it that does not ask may rely on Kokkos' default.
  if (!next_tool().loaded) settings->requires_global_fencing = false;
  SEMCACHE_ADVISOR_FORWARD(request_tool_settings, (number, settings));
}

void kokkosp_finalize_library() {
  report(true);
  SEMCACHE_ADVISOR_FORWARD(finalize_library, ());
}

#define SEMCACHE_ADVISOR_BEGIN_KERNEL(kind)                                                                     \
  void kokkosp_begin_parallel_##kind(const char* name, std::uint32_t device, std::uint64_t* kernel) {           \
    begin_kernel(name);                                                                                         \
    SEMCACHE_ADVISOR_FORWARD(begin_parallel_##kind, (name, device, kernel));                                    \
  }
SEMCACHE_ADVISOR_BEGIN_KERNEL(for)
SEMCACHE_ADVISOR_BEGIN_KERNEL(reduce)
SEMCACHE_ADVISOR_BEGIN_KERNEL(scan)

void kokkosp_allocate_data(SpaceHandle space, const char* label, const void* address, std::uint64_t bytes) {
  (void)is_in_copy();
  serve([=](Advisor& a) {
    const std::lock_guard<std::mutex> lock(a.mutex);
    a.ledger.allocated(semcache::base::number(address), bytes, label);
  });
  SEMCACHE_ADVISOR_FORWARD(allocate_data, (space, label, address, bytes));
}

void kokkosp_deallocate_data(SpaceHandle space, const char* label, const void* address, std::uint64_t bytes) {
  serve([=](Advisor& a) {
    const std::lock_guard<std::mutex> lock(a.mutex);
    a.ledger.freed(semcache::base::number(address));
  });
  SEMCACHE_ADVISOR_FORWARD(deallocate_data, (space, label, address, bytes));
}

void kokkosp_begin_deep_copy(SpaceHandle to_space, const char* to_label, const void* to, SpaceHandle from_space, const char* from_label,
                             const void* from, std::uint64_t bytes) {
  SEMCACHE_ADVISOR_FORWARD(begin_deep_copy, (to_space, to_label, to, from_space, from_label, from, bytes));
  under_way.reset();
  if (advisor.load() == nullptr) return;
  Copy copy;
  copy.to = {memory_in(to_space), to, 0};
  copy.from = {memory_in(from_space), from, 0};
  copy.bytes = bytes;
  serve([&](Advisor& a) { classify(a, copy, to_label, from_label); });
  if (is_between_views(copy)) wait_for_devices(copy);
  serve([&](Advisor& a) { look_before(a, copy); });
  under_way = UnderWay{copy, Clock::now()};
}

void kokkosp_end_deep_copy() {
  if (under_way) {
    Copy copy = under_way->copy;
    if (copy.kind == Kind::copy) wait_for_devices(copy);
    copy.seconds = seconds_since(under_way->start);
    under_way.reset();
    serve([&](Advisor& a) { look_after(a, copy); });
  }
  SEMCACHE_ADVISOR_FORWARD(end_deep_copy, ());
}

// What the advisor has no use for.
#define SEMCACHE_ADVISOR_PASS_ON(name, parameters, arguments) \
  void kokkosp_##name parameters { SEMCACHE_ADVISOR_FORWARD(name, arguments); }
SEMCACHE_ADVISOR_PASS_ON(provide_tool_programming_interface, (std::uint32_t number, ToolProgrammingInterface actions), (number, actions))
SEMCACHE_ADVISOR_PASS_ON(parse_args, (int count, char** arguments), (count, arguments))
SEMCACHE_ADVISOR_PASS_ON(print_help, (char* program), (program))
SEMCACHE_ADVISOR_PASS_ON(end_parallel_for, (std::uint64_t kernel), (kernel))
SEMCACHE_ADVISOR_PASS_ON(end_parallel_reduce, (std::uint64_t kernel), (kernel))
SEMCACHE_ADVISOR_PASS_ON(end_parallel_scan, (std::uint64_t kernel), (kernel))
SEMCACHE_ADVISOR_PASS_ON(push_profile_region, (const char* name), (name))
SEMCACHE_ADVISOR_PASS_ON(pop_profile_region, (), ())
SEMCACHE_ADVISOR_PASS_ON(create_profile_section, (const char* name, std::uint32_t* section), (name, section))
SEMCACHE_ADVISOR_PASS_ON(start_profile_section, (std::uint32_t section), (section))
SEMCACHE_ADVISOR_PASS_ON(stop_profile_section, (std::uint32_t section), (section))
SEMCACHE_ADVISOR_PASS_ON(destroy_profile_section, (std::uint32_t section), (section))
SEMCACHE_ADVISOR_PASS_ON(profile_event, (const char* name), (name))
SEMCACHE_ADVISOR_PASS_ON(begin_fence, (const char* name, std::uint32_t device, std::uint64_t* fence), (name, device, fence))
SEMCACHE_ADVISOR_PASS_ON(end_fence, (std::uint64_t fence), (fence))
SEMCACHE_ADVISOR_PASS_ON(dual_view_sync, (const char* label, const void* address, bool is_device), (label, address, is_device))
SEMCACHE_ADVISOR_PASS_ON(dual_view_modify, (const char* label, const void* address, bool is_device), (label, address, is_device))
SEMCACHE_ADVISOR_PASS_ON(declare_metadata, (const char* key, const char* value), (key, value))
