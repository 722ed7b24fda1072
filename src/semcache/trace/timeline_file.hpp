// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/trace/recorder.hpp>
#include <semcache/trace/report.hpp>

#include <string>
#include <string_view>
#include <vector>

/// The file of SEMCACHE_TRACE: spans in the Trace Event format of Chromium's tracing, which Perfetto opens. docs/reference/report.md describes it.
namespace semcache::trace {

inline constexpr int timeline_schema_version = 1;

/// What a timeline says of the machine.
struct TimelineFacts {
  std::vector<std::string> devices;    ///< their names, the first one in front
  std::string device_kind;             ///< "emulated" or "cuda"
  bool kernels_run_in_caller = false;  ///< the span of a launch is that of the kernel, too
  bool has_device_times = false;       ///< the log has what the devices carried out (`DeviceSpan`)
};

/// Returns the content of the file. @pre the recorder has a log of spans  @throws std::bad_alloc
[[nodiscard]] SEMCACHE_API std::string timeline_json(const Recorder& recorder, const TimelineFacts& facts, const ReportPlace& place);

/// Writes the timeline to the file that `target` (SEMCACHE_TRACE) names; see `write_report`. Never throws: if the file cannot be written,
/// one line on stderr says why. @return false if it could not be written
SEMCACHE_API bool write_timeline(const Recorder& recorder, const TimelineFacts& facts, std::string_view target, int rank) noexcept;

}  // namespace semcache::trace
