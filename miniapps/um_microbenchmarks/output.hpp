// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include "benchmarks.hpp"

#include <iosfwd>
#include <string>
#include <vector>

namespace microbenchmarks {

/// The outcome of one benchmark.
struct Outcome {
  Benchmark benchmark;
  std::uint64_t bytes = 0;
  Measurement semcache;
  std::vector<Check> checks;
  std::optional<Measurement> managed;
  std::string managed_note;  ///< why managed memory was not run
};

/// Which redundant transfers a scheme avoids. Each answer comes from the benchmarks that show it, and is empty if they were not
/// run.
struct Redundancy {
  std::optional<bool> only_stale_to_device;  ///< makes no copy of values that the device has already
  std::optional<bool> only_stale_to_host;    ///< makes no copy of values that the host has already
  std::optional<bool> no_eager_to_device;    ///< makes no copy that no kernel needs
  std::optional<bool> no_eager_to_host;      ///< makes no copy that the host does not need
};
enum class Scheme : std::uint8_t { semcache, managed };
[[nodiscard]] Redundancy redundancy(const std::vector<Outcome>& outcomes, Scheme scheme);

void print_table(std::ostream& out, const std::vector<Outcome>& outcomes);
/// @throws std::runtime_error  the file cannot be written
void write_json(const std::string& path, const std::vector<Outcome>& outcomes, const std::string& device_kind,
                const std::string& device_name, const std::string& protocol);
/// Prints each line of the check that does not hold. @return their number
[[nodiscard]] int print_failures(std::ostream& out, const std::vector<Outcome>& outcomes, bool with_counts);

}  // namespace microbenchmarks
