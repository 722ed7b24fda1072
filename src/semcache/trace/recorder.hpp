// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/trace/span_log.hpp>
#include <semcache/trace/statistics.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

/// Counters and labels of what the runtime did, and reports of them (report.hpp).
namespace semcache::trace {

/// The fields of Counters that have bytes, in the order of reports. Two calls count a byte that belongs to two fields ("in
/// h2d/d2h too").
#define SEMCACHE_TRAFFIC(X)                                                                                            \
  X(h2d) X(d2h) X(d2d) X(h2h) X(filled) X(saved_link) X(saved_device) X(saved_host) X(avoided) X(deferred) X(dropped)  \
  X(write_through) X(read_ahead) X(unchanged) X(written_back) X(write_ahead) X(read_ahead_lost) X(between_devices)  \
  X(rewritten)
/// The fields without bytes that labels and call sites have.
#define SEMCACHE_EVENTS(X) \
  X(host_faults) X(evictions) X(opened) X(exposed) X(unannounced) X(uncaptured) X(changed) X(peer_launches) X(hulls)

#define SEMCACHE_NAME(name) name,
enum class Kind : std::uint8_t { SEMCACHE_TRAFFIC(SEMCACHE_NAME) };
/// `opened` counts mirrors that became open, and `exposed` those of them into which a kernel holds a raw pointer. `unannounced`
/// counts uses that the program neither captured nor announced and that were noticed before they took place, and `uncaptured` those
/// of them that took place while a kernel of semcache::Exec ran. `changed` counts arrays that were captured as writable and that
/// SEMCACHE_CHECK_WRITES=1 found changed. `peer_launches` counts, for each array, the launches that use it from another device than
/// its own. `hulls` counts uses of strided columns, and messages of many pieces, that needed what lies between them, too.
enum class Event : std::uint8_t { SEMCACHE_EVENTS(SEMCACHE_NAME) };
#undef SEMCACHE_NAME
inline constexpr std::size_t traffic_kinds = static_cast<std::size_t>(Kind::rewritten) + 1;
inline constexpr std::size_t events = static_cast<std::size_t>(Event::hulls) + 1;

struct RecorderOptions {
  bool call_sites = false;               ///< count per statement of the program (SEMCACHE_REPORT is set)
  std::size_t max_labels = 262144;       ///< further distinct labels share the name "(further labels)"
  std::size_t max_counted_labels = 16384; ///< labels with counters of their own; the others share "(other labels)"
  std::size_t max_names = 4096;          ///< unknown launches' names
  std::size_t max_stacks = 16384;        ///< call stacks; several may belong to one call site
  std::size_t max_calls = 1024;          ///< texts of library calls; the others share "(other calls)"
  std::size_t spans = 0;                 ///< spans that are kept (SEMCACHE_TRACE is set); 0: there is no log of spans
};

/// Counts. The noexcept members never fail: where memory for a label's counters is missing, only the totals grow.
///
/// Threads:   any. Every figure is exact. Several figures agree with each other in a snapshot if the thread that counts them
///            together holds a lock that the caller of `snapshot` holds too.
/// Cost:      launch(): one uncontended atomic increment. moved(), count(): a few increments; with call sites also a walk over
///            the call stack (some microseconds), a short lock and one hash look-up.
class SEMCACHE_API Recorder : base::Uncopied {
 public:
  explicit Recorder(RecorderOptions options = {});
  ~Recorder();

  /// Returns the id of a label; equal texts give equal ids. An empty label reads "(unlabelled)". @throws std::bad_alloc.
  [[nodiscard]] LabelId intern(std::string_view label);
  /// Returns the label's text, valid as long as the Recorder; "(no label)" for an invalid id. Async-signal-safe.
  [[nodiscard]] const char* name(LabelId label) const noexcept;

  /// Adds to one field of the totals, of the label (unless invalid) and of the call site. The call site is the statement of
  /// the program that this thread executes, or whose access it serves (AccessScope).
  void moved(Kind kind, LabelId label, std::uint64_t bytes, std::uint64_t count = 1) noexcept;
  /// Does the same for an event without bytes.
  void count(Event event, LabelId label) noexcept;
  /// Counts a copy from one memory to another one. @param from, to  0: the host; otherwise a device's index and 1
  void crossed(std::uint32_t from, std::uint32_t to, std::uint64_t bytes) noexcept;
  /// Whether `library_call` counts: only where call sites are counted, because the texts cost time.
  [[nodiscard]] bool counts_library_calls() const noexcept { return options_.call_sites; }
  /// Counts library calls by the text that says how they were cut, and why.
  void library_call(std::string_view what, std::uint64_t times = 1) noexcept;
  /// Counts a launch, known or unknown.
  void launch() noexcept { launches_.fetch_add(1, std::memory_order_relaxed); }
  /// Returns the log of spans; nullptr: there is none.
  [[nodiscard]] SpanLog* span_log() const noexcept { return span_log_.get(); }
  /// Adds a span to the log, with the number of this thread and the statement of the program, as `moved` finds it. @pre there is a log
  void note(Span span) noexcept;
  /// Returns the statements of spans; number n is `sites()[n - 1]`. @throws std::bad_alloc
  [[nodiscard]] std::vector<std::string> sites() const;
  /// Counts an unknown launch, in addition to launch().
  /// @param type_name  std::type_info::name() of the functor, or any text; copied; may be null
  /// @return true for the first launch of this name: the caller then passes the reason to explain_unknown_launch
  bool unknown_launch(const char* type_name) noexcept;
  /// Sets the reason why the launches of this name are unknown.
  void explain_unknown_launch(const char* type_name, std::string reason) noexcept;
  /// Returns a launch's name as reports show it.
  [[nodiscard]] static std::string readable(const char* type_name);
  void native_capture() noexcept { native_captures_.fetch_add(1, std::memory_order_relaxed); }
  void device_wait() noexcept { device_waits_.fetch_add(1, std::memory_order_relaxed); }

  /// Returns the totals, the labels that counted anything, the call sites and the unknown launches. Each list is sorted by bytes
  /// over the link, then by all bytes, then by operations (most first), then by name; names of code are symbolised and demangled.
  /// Leaves the fields that the engine knows (live bytes, device, protocol) at their defaults. @throws std::bad_alloc.
  [[nodiscard]] Statistics snapshot() const;
  /// Returns the totals alone, without allocation.
  [[nodiscard]] Counters totals() const noexcept;
  /// Returns the counters of one label so far; zero for a label that shares "(other labels)".
  [[nodiscard]] Counters of(LabelId label) const noexcept;

 private:
  struct Cells;
  struct LabelEntry;
  struct Names;

  LabelEntry* entry(LabelId label) const noexcept;
  Cells* cells(LabelId label) noexcept;
  void name_call_sites() const;
  template <class Visit>
  void at_call_site(const Visit& visit) noexcept;
  template <class Count>
  void count_call_site(const Count& count) noexcept;

  static constexpr std::size_t chunk_labels = 1024;
  static constexpr std::size_t max_chunks = 1024;

  const RecorderOptions options_;

  // Every thread counts launches at every kernel, so this counter has a cache line of its own.
  alignas(64) std::atomic<std::uint64_t> launches_{0};
  const std::unique_ptr<SpanLog> span_log_;
  alignas(64) std::unique_ptr<Cells> total_;
  struct Links;
  std::unique_ptr<Links> links_;
  std::unique_ptr<Cells> other_labels_;
  std::atomic<std::uint64_t> unknown_launches_{0};
  std::atomic<std::uint64_t> native_captures_{0};
  std::atomic<std::uint64_t> device_waits_{0};

  // The chunks of labels never move, so that `name` needs no lock.
  mutable std::mutex labels_mutex_;
  std::unordered_map<std::string, std::uint32_t> label_ids_;
  struct Chunks {
    ~Chunks();
    std::atomic<LabelEntry*> chunk[max_chunks] = {};
  } chunks_;
  std::uint32_t label_count_ = 0;
  std::atomic<std::size_t> counted_labels_{0};

  std::unique_ptr<Names> names_;  // call sites and unknown launches, under a lock of their own
};

/// Adds a span to the log that lasts as long as the object; does nothing where there is no log.
class SEMCACHE_API Timed : base::Uncopied {
 public:
  Timed(Recorder& recorder, Span::Kind kind, const char* reason, LabelId label) noexcept : recorder_(recorder) {
    if (recorder.span_log() != nullptr) begin(kind, reason, label);
  }
  ~Timed() {
    if (recorder_.span_log() != nullptr) end();
  }

 private:
  void begin(Span::Kind kind, const char* reason, LabelId label) noexcept;
  void end() noexcept;

  Recorder& recorder_;
  Span span_;
};

namespace detail {
struct CallStack;
}

/// The statement of the program that a thread executes, or whose access it serves (AccessScope), for messages.
class SEMCACHE_API Place {
 public:
  /// Costs some microseconds.
  [[nodiscard]] static Place here() noexcept;
  /// Returns "solve.cpp:42 in solve" or the like; "an unknown place" if there was no memory for it. Slow (symbol tables).
  [[nodiscard]] std::string text() const;

 private:
  std::shared_ptr<const detail::CallStack> stack_;
};

/// While such an object lives, this thread serves the access to host memory of another thread, `thread` by the kernel's number of it (0: not
/// known), by the instruction at `instruction` (nullptr: not known).
class SEMCACHE_API AccessScope : base::Uncopied {
 public:
  explicit AccessScope(const void* instruction, int thread = 0) noexcept;
  ~AccessScope();

 private:
  const std::uintptr_t outer_instruction_;  ///< serving nests
  const int outer_thread_;
  const bool nested_;
};

}  // namespace semcache::trace
