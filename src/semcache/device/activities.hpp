// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/base/error.hpp>
#include <semcache/base/types.hpp>
#include <semcache/platform/per_thread.hpp>

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <utility>

/// What GPUs carried out, and when, for the timeline (SEMCACHE_TRACE).
namespace semcache::device {

/// A kernel, a copy or a fill that a GPU has carried out, whoever submitted it.
struct DeviceActivity {
  enum class Kind : std::uint8_t { kernel, copy, fill };
  Kind kind;
  std::uint64_t begin_ns, end_ns;  ///< by the system's steady clock, as the driver converts the GPU's times
  std::uint64_t bytes;             ///< of a copy or fill
  const char* name;                ///< of a kernel, as the linker knows it; nullptr for others. It need not outlive the call of the observer
  int ordinal;                     ///< of the GPU
  std::uint32_t stream;            ///< the driver's number of the stream
  std::uint32_t cause;             ///< see `ActivityCause`; 0: none, or not known
};

/// Receives activities some time after they ended, on any thread, one call at a time.
class ActivityObserver {
 public:
  virtual ~ActivityObserver() = default;
  virtual void carried_out(const DeviceActivity& activity) noexcept = 0;
  /// So many activities are not told, because there was no memory for them.
  virtual void lost(std::uint64_t activities) noexcept = 0;
};

/// Are activities told that are submitted from now on?
enum class Activities : std::uint8_t { told, left_out };

/// While the object lives, the calling thread is in a callback of the profiler, which is not asked for anything then.
class InCallback : base::Uncopied {
 public:
  InCallback() noexcept { ++of_this_thread(); }
  ~InCallback() { --of_this_thread(); }
  [[nodiscard]] static bool here() noexcept { return of_this_thread() > 0; }

 private:
  struct Depth {
    int depth = 0;
  };
  [[nodiscard]] static int& of_this_thread() noexcept { return platform::per_thread<Depth>().depth; }
};

/// Turns the telling of activities off and on, because it delays what submits them. Work that shall be told turns it on, and keeps it on.
/// Threads: any.
class ActivitySwitch : base::Uncopied {
 public:
  /// @param set  carries it out; false: that failed. It is called by one thread at a time
  explicit ActivitySwitch(std::function<bool(Activities)> set) : set_(std::move(set)) {}
  [[nodiscard]] Activities now() const noexcept { return now_.load(std::memory_order_relaxed); }
  /// Does nothing while somebody needs activities.
  void turn_off() noexcept;
  void turn_on() noexcept;
  /// From now on, and until `need_no_more`, what the calling thread submits shall be told. It waits for nobody: where another thread turns the switch at
  /// the time, or in a callback of the profiler, the work may be left out.
  void need() noexcept;
  void need_no_more() noexcept { needed_.fetch_sub(1); }
  /// Returns how often somebody needed activities.
  [[nodiscard]] std::uint64_t needs() const noexcept { return needs_.load(std::memory_order_relaxed); }
  /// Returns for how long they have been left out so far, all in all.
  [[nodiscard]] std::uint64_t off_ns() noexcept;
  /// From now on they count as told, and nothing is carried out: nobody observes, or somebody else does.
  void reset() noexcept;

 private:
  void try_to_turn_on() noexcept;
  const std::function<bool(Activities)> set_;
  std::mutex mutex_;  ///< held while `set_` is called; guards what follows up to `now_`
  std::uint64_t off_ns_ = 0, off_since_ns_ = 0;
  // Who turns it off, and who needs it, write their own word first and then read the other's: one of them sees both.
  std::atomic<Activities> now_{Activities::told};
  std::atomic<int> needed_{0};
  std::atomic<std::uint64_t> needs_{0};
};
/// The switch of `observe_cuda_activities`. It stays on while nobody observes.
[[nodiscard]] SEMCACHE_API ActivitySwitch& cuda_activity_switch() noexcept;

/// While the object lives, what the calling thread submits is told with this cause. Causes are known only while the driver is watched
/// (`watch_cuda_driver`). Objects of a thread are destroyed in the reverse order of their beginnings.
class ActivityCause : base::Uncopied {
 public:
  /// @param cause  0: none, as where there is no timeline; otherwise it needs activities (`ActivitySwitch::need`)
  explicit ActivityCause(std::uint32_t cause) noexcept : outer_(of_this_thread()), cause_(cause) {
    of_this_thread() = cause;
    if (cause_ != 0) cuda_activity_switch().need();
  }
  ~ActivityCause() {
    if (cause_ != 0) cuda_activity_switch().need_no_more();
    of_this_thread() = outer_;
  }
  /// A launch sets this itself, and turns nothing on.
  [[nodiscard]] static std::uint32_t& of_this_thread() noexcept { return platform::per_thread<Innermost>().cause; }

 private:
  struct Innermost {
    std::uint32_t cause = 0;
  };
  const std::uint32_t outer_, cause_;
};

/// From now on tells the observer what the GPUs of this process carry out. Only one part of a process can be told; a profiler may be it.
/// @return an empty text; else the reason why nothing can be told
[[nodiscard]] SEMCACHE_API std::string observe_cuda_activities(ActivityObserver& observer);
/// Carries out what `cuda_activity_switch` says. @return false if that failed, or nobody observes
[[nodiscard]] bool set_cuda_activities(Activities activities) noexcept;
/// Tells what has ended so far. To be called when the devices have no work under way.
SEMCACHE_API void flush_cuda_activities() noexcept;
/// Ends it: the observer is called no more. Does nothing where nobody observes.
SEMCACHE_API void ignore_cuda_activities() noexcept;

}  // namespace semcache::device
