// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include "benchmarks.hpp"

#include <iosfwd>
#include <string>
#include <vector>

namespace microbenchmarks {

/// One benchmark's outcome.
struct Outcome {
  Benchmark benchmark;
  std::uint64_t bytes = 0;
  Measurement semcache;
  std::vector<Check> checks;
  std::optional<Measurement> managed;
  std::string managed_note;  ///< why managed memory was not run
};

/// Which redundant transfers a scheme makes, each said by the benchmarks that show it. Nothing: those were not run.
struct Redundancy {
  std::optional<bool> only_stale_to_device;  ///< no copy of what the device has already
  std::optional<bool> only_stale_to_host;    ///< no copy of what the host has already
  std::optional<bool> no_eager_to_device;    ///< no copy that no kernel asked for
  std::optional<bool> no_eager_to_host;      ///< no copy that the host did not ask for
};
enum class Scheme : std::uint8_t { semcache, managed };
[[nodiscard]] Redundancy redundancy(const std::vector<Outcome>& outcomes, Scheme scheme);

void print_table(std::ostream& out, const std::vector<Outcome>& outcomes);
/// @throws std::runtime_error  the file cannot be written
void write_json(const std::string& path, const std::vector<Outcome>& outcomes, const std::string& device_kind,
                const std::string& device_name, const std::string& protocol);
/// Prints each line that does not hold. @return how many
[[nodiscard]] int print_failures(std::ostream& out, const std::vector<Outcome>& outcomes, bool with_counts);

}  // namespace microbenchmarks
