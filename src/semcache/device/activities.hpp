// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/base/error.hpp>
#include <semcache/base/types.hpp>
#include <semcache/platform/per_thread.hpp>

#include <cstdint>
#include <string>

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

/// While the object lives, what the calling thread submits is told with this cause. Causes are known only while the driver is watched
/// (`watch_cuda_driver`). Objects of a thread are destroyed in the reverse order of their beginnings.
class ActivityCause : base::Uncopied {
 public:
  explicit ActivityCause(std::uint32_t cause) noexcept : outer_(of_this_thread()) { of_this_thread() = cause; }
  ~ActivityCause() { of_this_thread() = outer_; }
  [[nodiscard]] static std::uint32_t& of_this_thread() noexcept { return platform::per_thread<Innermost>().cause; }

 private:
  struct Innermost {
    std::uint32_t cause = 0;
  };
  std::uint32_t outer_;
};

/// From now on tells the observer what the GPUs of this process carry out. Only one part of a process can be told; a profiler may be it.
/// @return an empty text; else the reason why nothing can be told
[[nodiscard]] SEMCACHE_API std::string observe_cuda_activities(ActivityObserver& observer);
/// Tells what has ended so far. To be called when the devices have no work under way.
SEMCACHE_API void flush_cuda_activities() noexcept;
/// Ends it: the observer is called no more. Does nothing where nobody observes.
SEMCACHE_API void ignore_cuda_activities() noexcept;

}  // namespace semcache::device
