// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

/// Whether a call runs on a device: a pure function of what is known of the call.
namespace semcache::blas {

enum class Offload : std::uint8_t { automatic, always, never };  ///< SEMCACHE_BLAS_OFFLOAD

/// Where a call runs, and why. The texts of the report belong to these (`text_of`).
enum class Verdict : std::uint8_t {
  on_device,          ///< asked for, or it pays
  in_pieces,          ///< the same; the operands pass through the device's memory, which does not hold all of them
  off,                ///< SEMCACHE_BLAS_OFFLOAD=never
  nothing_to_compute, ///< a size is zero, or an operand is a null pointer
  wrong_arguments,    ///< the host's library tells the program (xerbla)
  no_routine,         ///< the device's library has no such routine, or not for these arguments
  too_large,          ///< a size does not fit the 32 bits of the device's library
  operands_overlap,   ///< the result shares bytes with an input
  too_little_work,    ///< the host is faster, transfers included
  results_go_home,    ///< the host would be slower, but it reads each result
  has_lost,           ///< the host would be slower, but calls on the device and what followed them have taken longer than the host would have
  not_started_yet,    ///< it would pay, but the host has not spent as long yet as a device takes to start
  no_device,          ///< there is no GPU, and the emulated device was not asked for
  no_memory,          ///< the operands do not fit the device
  failed,             ///< the device or its library refused
  in_child,           ///< of a fork
  process_forks,      ///< in another thread
  own_semcache,       ///< the program contains SemCache itself
};
inline constexpr std::size_t verdicts = 18;

/// Returns the words of the report: "on the host: too little work".
[[nodiscard]] const char* text_of(Verdict verdict) noexcept;

/// What is known of a call.
struct Facts {
  Offload asked = Offload::automatic;
  double operations = 0;                     ///< of floating point
  std::uint64_t missing_on_device = 0;       ///< bytes that the device would have to get
  std::uint64_t missing_on_host = 0;         ///< bytes that the host would have to get
  std::uint64_t result_bytes = 0;
  bool results_went_home = false;            ///< the host has read this result after the last call that wrote it
  bool device_runs = false;                  ///< the runtime has started
  double host_seconds = 0;                   ///< that calls have spent on the host which were not too small to be looked at
  double lost_seconds = 0;                   ///< see `Account`
  double rented_seconds = 0;                 ///< the same
};

/// What machines of the day do; only the order of magnitude matters.
struct Rates {
  double host_operations = 1e11;             ///< per second
  double device_operations = 3e13;
  double link_bytes = 2e10;
  double launch_seconds = 2e-5;
  double start_seconds = 0.5;                ///< of a device, its context and its libraries
  double memory_bytes = 1e11;                ///< per second, that the host reads and writes
  double loss_seconds = 0.2;                 ///< that may be lost until calls stay on the host,
  double loss_share = 0.05;                  ///< and this share of what the host has computed
  double credit_seconds = 5;                 ///< of what has been gained before, so much may be lost again
};

/// A decision that can be printed.
struct Plan {
  Verdict verdict = Verdict::on_device;
  double on_host = 0;    ///< seconds that the call is expected to take, transfers included
  double on_device = 0;
  [[nodiscard]] std::string text() const;
};

/// What the calls of a process have taken, and would have taken elsewhere. Threads: any.
class Account {
 public:
  /// The host has computed a call.
  void host_computed(double operations, double seconds) noexcept;
  /// The device has computed one, for which the calling thread took so long. The first one is not counted: libraries start in it.
  void device_computed(double operations, double bytes, double seconds, const Rates& rates = {}) noexcept;
  /// The operands of a call that the host computes have been brought home, for so long.
  void brought_home(double seconds) noexcept;
  /// Takes note of a decision. Some calls pay on the device only because the host lacks their bytes. If many such calls follow each other, it had been
  /// better to bring the bytes home at once: they pay a rent, which ends when it has cost as much as that.
  void decided(const Facts& facts, const Plan& plan, const Rates& rates = {}) noexcept;
  /// Seconds that the host has computed.
  [[nodiscard]] double host_seconds() const noexcept { return host_seconds_.load(std::memory_order_relaxed); }
  /// By how much the calls on the device, and page faults, which have taken `in_faults` seconds so far, have taken longer than the host would have, as
  /// fast as it was in its fastest call. Negative: they were faster. What exceeds the credit is forgotten.
  [[nodiscard]] double lost_seconds(double in_faults, const Rates& rates = {}) noexcept;
  /// The rent that has been paid since bytes came home last.
  [[nodiscard]] double rented_seconds() const noexcept { return rented_seconds_.load(std::memory_order_relaxed); }

 private:
  std::atomic<double> host_seconds_{0}, lost_seconds_{0}, rented_seconds_{0};
  std::atomic<double> fastest_{0};  ///< operations per second of the host's fastest call; 0: not known
  std::atomic<bool> has_computed_{false};  ///< the device has
};

/// Decides by work, by the bytes that are missing on either side, and by where the result was used last.
[[nodiscard]] Plan decide(const Facts& facts, const Rates& rates = {}) noexcept;

/// Returns the facts of a call as they are least in favour of the device: it lacks all bytes that the call reads, and the host lacks none, and reads
/// all results at once. If `decide` prefers the device then, it does so wherever the operands are, and the call pays no rent.
[[nodiscard]] Facts at_worst(Facts facts, std::uint64_t read_bytes, std::uint64_t result_bytes) noexcept;

}  // namespace semcache::blas
