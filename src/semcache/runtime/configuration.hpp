// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/engine/engine.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

/// What the SEMCACHE_* environment variables say. This is the only place that reads them.
namespace semcache::runtime {

enum class DeviceChoice : std::uint8_t { automatic, emulated, cuda };
using engine::Protocol;
enum class TrackerChoice : std::uint8_t { automatic, mprotect, userfaultfd, explicit_only };
/// What may be left to us.
enum class Switch : std::uint8_t { automatic, on, off };

/// As the variables spell them: "auto", "write-back", "explicit" …
[[nodiscard]] SEMCACHE_API const char* to_string(DeviceChoice choice) noexcept;
[[nodiscard]] SEMCACHE_API const char* to_string(Protocol protocol) noexcept;
[[nodiscard]] SEMCACHE_API const char* to_string(TrackerChoice choice) noexcept;

inline constexpr int max_devices = 64;

/// Every variable, checked. An absent or empty variable leaves the default.
/// The engine's options are those of SEMCACHE_PROTOCOL=write-back|write-through|off, SEMCACHE_SNAPSHOT_SHARE=0..100,
/// SEMCACHE_DEVICE_MEMORY and SEMCACHE_HOST_ADDRESSES (bytes, K M G T = powers of 1024; 0: the default), SEMCACHE_CHECK=0|1 and
/// SEMCACHE_CHECK_WRITES=0|1.
struct Configuration : engine::Options {
  DeviceChoice device = DeviceChoice::automatic;  ///< SEMCACHE_DEVICE=auto|emulated|cuda
  /// SEMCACHE_DEVICES=N: how many devices; 0: not said. With a list, its length.
  int device_count = 0;
  /// SEMCACHE_DEVICES=0,2 ("1," for device 1 alone): which devices, in this order, no repetition; empty: not said.
  std::vector<int> device_ordinals;
  TrackerChoice tracker = TrackerChoice::automatic;     ///< SEMCACHE_TRACKER=auto|mprotect|userfaultfd|explicit
  /// SEMCACHE_REPORT: empty: none; "stderr"; else a file name in which %p %h %r are already validated, but not yet
  /// expanded (a forked child expands its own): see trace::write_report.
  std::string report;
  /// SEMCACHE_MPI_CUDA=auto|on|off: may MPI be given device addresses? auto: as the MPI library says, of long messages.
  Switch mpi_cuda = Switch::automatic;
  /// SEMCACHE_DEVICE_TRACKER=auto|on|off: are uses of device memory noticed that nobody announced? auto: where it can be
  /// done, with a message where it cannot; on: an error there.
  Switch device_tracker = Switch::automatic;
  unsigned fault_timeout_s = 60;         ///< SEMCACHE_FAULT_TIMEOUT=1..86400
  /// From the MPI launcher (OMPI_COMM_WORLD_RANK, PMI_RANK, SLURM_PROCID: the first that holds a number); -1: none.
  int mpi_rank = -1;
  /// Rank among the processes of this node, from the launcher (OMPI_COMM_WORLD_LOCAL_RANK, MPI_LOCALRANKID,
  /// MV2_COMM_WORLD_LOCAL_RANK, PALS_LOCAL_RANKID, FLUX_TASK_LOCAL_ID, SLURM_LOCALID); -1: none. Where neither
  /// SEMCACHE_DEVICES nor a framework names a device, the process takes this one, modulo their number.
  int local_rank = -1;
};

/// A getenv: the variable's value or nullptr. The text is copied before the next call.
using Environment = std::function<const char*(const char* name)>;

/// @throws ConfigurationError  a value cannot be used; the text names variable, value and the accepted forms. Or two values exclude
///                             each other; the text names both
/// Threads: any, as far as `environment` allows.
[[nodiscard]] SEMCACHE_API Configuration read_configuration(const Environment& environment);

/// One warning per variable of `environ_entries` ("NAME=value") whose name begins with SEMCACHE_ and is not known,
/// with the closest known name where one is near. A misspelt variable is otherwise silent.
[[nodiscard]] SEMCACHE_API std::vector<std::string> unknown_variable_warnings(
    const std::vector<std::string>& environ_entries);

/// read_configuration of this process; writes the warnings to stderr, one line each. A set-user-id program has the defaults.
/// @throws ConfigurationError as read_configuration.
[[nodiscard]] SEMCACHE_API Configuration read_process_configuration();

}  // namespace semcache::runtime
