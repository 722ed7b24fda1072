// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

/// The microbenchmarks and what each of them must move. This header needs no Kokkos.
namespace microbenchmarks {

/// The exact counts of what one run moved.
struct Counts {
  std::uint64_t h2d_bytes = 0;
  std::uint64_t d2h_bytes = 0;
  std::uint64_t host_faults = 0;
  std::uint64_t saved_link_bytes = 0;
  std::uint64_t saved_device_bytes = 0;
  std::uint64_t avoided_bytes = 0;
  std::uint64_t unchanged_bytes = 0;
  std::uint64_t unknown_launches = 0;
};

struct Measurement {
  bool correct = false;          ///< all values read were right
  std::optional<Counts> counts;  ///< empty where this build cannot count (managed memory without CUPTI)
};

enum class Name : std::uint8_t {
  automem, nokernel, readonly_const, readonly_writable, multivars, privmem, sparse_read_random, sparse_read_stride,
  sparse_write_random, sparse_write_stride, six_reads, mirror_loop,
};

struct Benchmark {
  Name id;
  const char* name;
  const char* what;
  std::uint64_t default_bytes;
};
[[nodiscard]] const std::vector<Benchmark>& all_benchmarks();

inline constexpr std::size_t page_bytes = 4096;
inline constexpr std::size_t sparse_elements = 1024;
inline constexpr std::size_t unused_pages_factor = 160;  ///< size of z in multivars, as a multiple of y's
inline constexpr int host_sweeps = 6;
inline constexpr int mirror_rounds = 100;

/// Returns the elements that a sparse benchmark touches, each on a page of its own.
[[nodiscard]] std::vector<std::size_t> sparse_indices(std::size_t elements, bool random);

/// One line of `--check`: a figure and the values it may have.
struct Check {
  std::string figure;
  std::uint64_t actual;
  std::uint64_t least;
  std::uint64_t most;
  [[nodiscard]] bool holds() const { return least <= actual && actual <= most; }
};
/// Returns what a run of the benchmark must have moved.
/// @param bytes          size of the array
/// @param write_checks   SEMCACHE_CHECK_WRITES=1
/// @param report_names   the report's advice names the array that came back unchanged (readonly_writable)
[[nodiscard]] std::vector<Check> expectations(Name name, std::uint64_t bytes, const Counts& counts, bool write_checks,
                                              bool report_names);

/// Runs one benchmark on arrays of `elements` doubles.
[[nodiscard]] Measurement run_semcache(Name name, std::size_t elements);

/// Returns why arrays of `bytes` bytes cannot be measured in managed memory here, or nothing if they can.
[[nodiscard]] std::optional<std::string> managed_refusal(std::uint64_t bytes);
[[nodiscard]] Measurement run_managed(Name name, std::size_t elements);

}  // namespace microbenchmarks
