// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/base/error.hpp>
#include <semcache/base/types.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace semcache::trace {

/// An interned label. Stable for the life of its Recorder.
using LabelId = StrongId<struct LabelTag>;

/// Something that took time: it has a beginning and an end, as spans of tracing tools have.
struct Span {
  enum class Kind : std::uint8_t {
    copy,    ///< of content from one memory to another, or within one
    fill,    ///< of memory with a pattern
    map,     ///< memory was put behind addresses of a device
    evict,   ///< memory of a device was given back, because other content needs room
    fault,   ///< a host access to a protected page was served
    launch,  ///< from the beginning of a launch until it was submitted; where kernels run in their caller, until it ended
    wait,    ///< a host thread waited for the device, or for another thread
    kernel,  ///< a GPU carried out a kernel (`DeviceSpan`)
    other,   ///< a GPU carried out a copy or a fill that no copy or fill above stands for (`DeviceSpan`)
  };
  static constexpr std::size_t kinds = static_cast<std::size_t>(Kind::other) + 1;

  std::uint64_t begin_ns = 0, end_ns = 0;  ///< since the log was made
  std::uint64_t bytes = 0;
  const char* reason = nullptr;  ///< a literal of this library; may be null
  LabelId label;                 ///< of the array; invalid: none
  std::uint32_t name = 0;        ///< of a launch: see `SpanLog::name`
  std::uint32_t site = 0;        ///< the statement of the program: see `Recorder::note`; 0: not known
  std::uint32_t thread = 0;      ///< see `SpanLog::this_thread`
  std::uint32_t queue = 0;       ///< of a launch
  std::uint32_t cause = 0;       ///< a GPU's work that was submitted in this span has the same number (`DeviceSpan::cause`); 0: none has
  std::uint8_t from = 0, to = 0; ///< memories: 0 is the host, otherwise a device's index and 1; of a launch `to` is its device
  Kind kind = Kind::copy;
};

/// Something that a GPU carried out, with the GPU's times.
struct DeviceSpan {
  enum class Kind : std::uint8_t { kernel, copy, fill };

  std::uint64_t begin_ns = 0, end_ns = 0;  ///< since the log was made
  std::uint64_t bytes = 0;                 ///< of a copy or fill
  std::uint32_t cause = 0;                 ///< see `Span`; 0: not known
  std::uint32_t name = 0;                  ///< of a kernel: see `SpanLog::name`
  std::uint32_t stream = 0;                ///< the driver's number of it
  std::uint8_t device = 0;                 ///< its index
  Kind kind = Kind::kernel;
};

/// Keeps spans in memory, up to a number; further ones are counted, by kind, and dropped. No call fails: where memory is missing, a span
/// is dropped, too.
/// Threads: any. Each span is kept once.
class SEMCACHE_API SpanLog : base::Uncopied {
 public:
  explicit SpanLog(std::size_t most);
  ~SpanLog();

  /// Returns the time since the log was made.
  [[nodiscard]] std::uint64_t now_ns() const noexcept {
    return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - begin_).count());
  }
  /// Returns the time since the log was made of a time by the system's steady clock; 0 for earlier ones.
  [[nodiscard]] std::uint64_t since_begin_ns(std::uint64_t steady_ns) const noexcept {
    const auto begin = static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(begin_.time_since_epoch()).count());
    return steady_ns > begin ? steady_ns - begin : 0;
  }
  /// Returns when the log was made, in nanoseconds of the system's clock (since 1970).
  [[nodiscard]] std::uint64_t begin_unix_ns() const noexcept { return begin_unix_ns_; }
  /// Returns the kernel's number of the calling thread.
  [[nodiscard]] static std::uint32_t this_thread() noexcept;
  /// The name of launches for routines of libraries, which tell none.
  static constexpr const char* library_routine = "library routine";
  /// Returns a number for the name of a launch; the same for equal names. 0: there are too many, or there is no memory.
  /// Cost: a comparison of the text where the same text was asked for lately, otherwise a lock and a look-up.
  [[nodiscard]] std::uint32_t name(const char* text) noexcept;
  void add(const Span& span) noexcept;
  /// Adds what a GPU carried out; up to as many as there may be spans.
  void add(const DeviceSpan& span) noexcept;
  /// Returns a number for the cause of what will be submitted now. Never 0.
  [[nodiscard]] std::uint32_t next_cause() noexcept {
    const std::uint32_t cause = causes_.fetch_add(1, std::memory_order_relaxed);
    return cause != 0 ? cause : next_cause();
  }
  /// Counts so many spans that could not be kept.
  void drop(Span::Kind kind, std::uint64_t count) noexcept { dropped_[static_cast<std::size_t>(kind)].fetch_add(count, std::memory_order_relaxed); }

  /// Returns the spans that are complete, in the order of their ends for each thread. @throws std::bad_alloc
  [[nodiscard]] std::vector<Span> spans() const;
  /// Returns what GPUs carried out, in no order. @throws std::bad_alloc
  [[nodiscard]] std::vector<DeviceSpan> device_spans() const;
  /// Returns the names so far; `names()[n - 1]` is number n. @throws std::bad_alloc
  [[nodiscard]] std::vector<std::string> names() const;
  /// Returns how many spans of each kind were dropped.
  [[nodiscard]] std::array<std::uint64_t, Span::kinds> dropped() const noexcept;

 private:
  struct Chunk;
  using Names = std::unordered_map<std::string, std::uint32_t>;
  static constexpr std::size_t chunk_spans = 1024;
  static constexpr std::size_t most_names = 65536;

  // Each launch uses the members up to `causes_`, so they lie on one cache line.
  alignas(64) const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  const std::uint64_t begin_unix_ns_;
  const std::size_t most_;
  std::vector<std::atomic<Chunk*>> chunks_;
  std::atomic<std::uint64_t> next_{0};
  std::atomic<std::uint32_t> causes_{1};
  std::array<std::atomic<std::uint64_t>, Span::kinds> dropped_{};
  mutable std::mutex device_mutex_;
  std::vector<DeviceSpan> device_spans_;
  mutable std::mutex names_mutex_;
  Names names_;
  /// Names that were asked for lately, by the address of the text that asked. They are nodes of `names_`, which stay where they are.
  std::array<std::atomic<const Names::value_type*>, 64> recent_{};
};

}  // namespace semcache::trace
