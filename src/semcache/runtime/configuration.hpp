// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/device/emulated/virtual_clock.hpp>
#include <semcache/engine/engine.hpp>
#include <semcache/policy/spread.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

/// The configuration that the SEMCACHE_* environment variables state. Only this part of the runtime reads them.
namespace semcache::runtime {

enum class DeviceChoice : std::uint8_t { automatic, emulated, cuda };
using engine::Protocol;
enum class TrackerChoice : std::uint8_t { automatic, mprotect, userfaultfd, explicit_only };
/// A choice that may be left to the runtime.
enum class Switch : std::uint8_t { automatic, on, off };

/// These return the spelling that the variables use: "auto", "write-back", "explicit" …
[[nodiscard]] SEMCACHE_API const char* to_string(DeviceChoice choice) noexcept;
[[nodiscard]] SEMCACHE_API const char* to_string(Protocol protocol) noexcept;
[[nodiscard]] SEMCACHE_API const char* to_string(TrackerChoice choice) noexcept;

inline constexpr int max_devices = most_devices;

/// The values of all variables, checked. An absent or empty variable leaves the default.
/// The base class has the options that SEMCACHE_PROTOCOL=write-back|write-through|off, SEMCACHE_SNAPSHOT_SHARE=0..100,
/// SEMCACHE_DEVICE_MEMORY (one number for all devices, or a list with one for each) and SEMCACHE_HOST_ADDRESSES (bytes, K M G T =
/// powers of 1024; 0: the default), SEMCACHE_PEER_ACCESS=auto|off, SEMCACHE_CHECK=0|1 and SEMCACHE_CHECK_WRITES=0|1 set.
struct Configuration : engine::Options {
  DeviceChoice device = DeviceChoice::automatic;  ///< SEMCACHE_DEVICE=auto|emulated|cuda
  /// SEMCACHE_DEVICES=N: the number of devices, or the length of a list; 0: not set, which means one device.
  int device_count = 0;
  /// SEMCACHE_DEVICES=0,2 ("1," for device 1 alone): the devices, in this order, without repetition; empty: not set.
  std::vector<int> device_ordinals;
  bool host_listed = false;  ///< SEMCACHE_DEVICES=host,0: the list has the host's processor, too. It is none of the devices
  const char* devices_from = "SEMCACHE_DEVICES";  ///< who asks for the devices, for messages: the variable or `use_devices`
  TrackerChoice tracker = TrackerChoice::automatic;     ///< SEMCACHE_TRACKER=auto|mprotect|userfaultfd|explicit
  /// SEMCACHE_REPORT. Empty: no report; "stderr", "stdout" or "-"; otherwise a file name, whose %p %h %r are validated but not
  /// yet expanded (a forked child expands its own): see trace::write_report.
  std::string report;
  /// SEMCACHE_TRACE. Empty: no timeline; otherwise a file name as in `report`.
  std::string trace;
  std::uint64_t trace_spans = 262144;  ///< SEMCACHE_TRACE_SPANS=1..100000000: how many spans are kept
  /// SEMCACHE_MPI_CUDA=auto|on|off: whether MPI may be given device addresses. auto: for long messages, if the MPI library can
  /// take them.
  Switch mpi_cuda = Switch::automatic;
  /// SEMCACHE_DEVICE_TRACKER=auto|on|off: whether uses of device memory that the program has not announced are noticed. auto:
  /// where this is possible, with a message where it is not; on: an error where it is not possible.
  Switch device_tracker = Switch::automatic;
  /// SEMCACHE_EMULATED_MACHINE=FILE: the content of the file; nothing: emulated devices keep no virtual time.
  std::optional<device::MachineModel> emulated_machine;
  policy::Spread spread = policy::Spread::automatic;  ///< SEMCACHE_SPREAD=auto|always|never: whether library calls use several devices
  unsigned fault_timeout_s = 60;         ///< SEMCACHE_FAULT_TIMEOUT=1..86400
  /// The rank from the MPI launcher (OMPI_COMM_WORLD_RANK, PMI_RANK, SLURM_PROCID: the first that holds a number); -1: none.
  int mpi_rank = -1;
  /// The rank among the processes of this node, from the launcher (OMPI_COMM_WORLD_LOCAL_RANK, MPI_LOCALRANKID,
  /// MV2_COMM_WORLD_LOCAL_RANK, PALS_LOCAL_RANKID, FLUX_TASK_LOCAL_ID, SLURM_LOCALID); -1: none. Where neither a list of devices
  /// nor a framework names a device, the process takes devices by this number: see `choose_devices`.
  int local_rank = -1;
};

/// Returns why the program cannot be given these devices; empty if they are distinct numbers of devices, at least one and at most
/// `max_devices`, with `semcache::the_host` among them or not. Whether they exist shows when the runtime starts.
[[nodiscard]] SEMCACHE_API std::string why_no_list_of_devices(const std::vector<int>& ordinals);
/// Takes `semcache::the_host` out of such a list. Returns whether it was there.
[[nodiscard]] SEMCACHE_API bool take_host_out(std::vector<int>& ordinals);

/// A function like getenv: returns the variable's value or nullptr. The caller copies the text before the next call.
using Environment = std::function<const char*(const char* name)>;

/// Reads and checks all variables.
/// @throws ConfigurationError  a value cannot be used; the text names variable, value and the accepted forms. Or two values
///                             exclude each other; the text names both
/// Threads: any, as far as `environment` allows.
[[nodiscard]] SEMCACHE_API Configuration read_configuration(const Environment& environment);

/// Returns one warning for each variable of `environ_entries` ("NAME=value") whose name begins with SEMCACHE_ and is not known,
/// with the closest known name where one is near. Without it a misspelt variable would have no effect, silently.
[[nodiscard]] SEMCACHE_API std::vector<std::string> unknown_variable_warnings(
    const std::vector<std::string>& environ_entries);

/// Reads the configuration of this process, and writes the warnings to stderr, one line each. A set-user-id program gets the
/// defaults. @throws ConfigurationError  as read_configuration
[[nodiscard]] SEMCACHE_API Configuration read_process_configuration();

}  // namespace semcache::runtime
