// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "report.hpp"

#include "kept.hpp"
#include "process.hpp"

#include <semcache/runtime/runtime.hpp>
#include <semcache/trace/report.hpp>

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <mutex>
#include <string>

namespace semcache::blas {
namespace {

std::atomic<Routine*> called{nullptr};  // a list
std::atomic<pid_t> counting_process{0};  // a forked child inherits the counts, and does not report them

}  // namespace

struct Counts {
  static void list(Routine& routine) noexcept {
    if (routine.listed_.exchange(true)) return;
    routine.next_ = called.load(std::memory_order_acquire);
    while (!called.compare_exchange_weak(routine.next_, &routine, std::memory_order_acq_rel)) {
    }
  }
  /// Calls `visit(text, count)` for the calls so far, and forgets them.
  template <class Visit>
  static void take(const Visit& visit) {
    for (Routine* r = called.load(std::memory_order_acquire); r != nullptr; r = r->next_) {
      for (std::size_t v = 0; v < verdicts; ++v) {
        const std::uint64_t n = r->counts_[v].exchange(0);
        if (n > 0) visit(std::string(r->name_) + " " + text_of(static_cast<Verdict>(v)), n);
      }
    }
  }
};

namespace {

/// Is this the process that semcache-run has started, and not one that it has made? Has none of these written a report meanwhile?
bool is_to_say_that_there_was_none(const char* target) {
  const char* const started = ::secure_getenv("_SEMCACHE_BLAS_PROCESS");  // the process, and the time in seconds
  long process = 0;
  long long time = 0;
  if (started == nullptr || std::sscanf(started, "%ld:%lld", &process, &time) != 2 || process != ::getpid()) return false;
  struct stat file {};
  return ::stat(trace::expand_report_path(target, trace::this_process(-1)).c_str(), &file) != 0 || !S_ISREG(file.st_mode) || file.st_mtime < time;
}

/// Writes the report of a process without a device. With one, the runtime writes it.
[[gnu::destructor]] void report_without_device() {
  const char* const target = ::secure_getenv("SEMCACHE_REPORT");
  if (target == nullptr || *target == '\0' || runtime::epoch() > 0) return;
  try {
    if (!trace::why_no_report_target(target).empty()) return;
    Statistics s;
    if (counting_process != 0 && counting_process != ::getpid()) return;
    Counts::take([&](const std::string& what, std::uint64_t n) { s.library_calls.push_back({what, n}); });
    if (s.library_calls.empty()) {
      if (!is_to_say_that_there_was_none(target)) return;
      s.library_calls.push_back({"no BLAS call was seen", 1});
    }
    s.device_kind = "none";
    s.tracker = s.device_tracker = s.protocol = "none";
    trace::write_report(s, target, -1);
  } catch (...) {  // no memory for the report
  }
}

}  // namespace

void count(Routine& routine, Verdict verdict) noexcept {
  if (counting_process.load(std::memory_order_relaxed) == 0) counting_process = ::getpid();
  if (!routine.listed_.load(std::memory_order_relaxed)) Counts::list(routine);
  routine.counts_[static_cast<std::size_t>(verdict)].fetch_add(1, std::memory_order_relaxed);
}

void give_counts_to_runtime() noexcept {
  if (counting_process != ::getpid() || !runtime::reports_library_calls()) return;
  static std::mutex mutex;  // two threads may end the process: the second one writes the report when the first one's counts are there
  const std::lock_guard<std::mutex> lock(mutex);
  try {
    Counts::take([](const std::string& what, std::uint64_t n) { runtime::note_library_call(what, n); });
    if (const std::uint64_t n = kept::take_count(); n > 0) runtime::note_library_call("malloc: a freed block that was kept", n);
  } catch (...) {  // no memory: the report lacks them
  }
}

}  // namespace semcache::blas
