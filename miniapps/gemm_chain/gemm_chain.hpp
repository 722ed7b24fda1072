// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

/// C = AB, D = BC, E = CD, of which the processor reads E (SemCache, figures 1.1 and 4.4), in column-major matrices of n x n doubles.
namespace gemm_chain {

struct Options {
  std::string variant = "write-back";
  std::int64_t n = 512;
  int rounds = 1;
  bool rewrite = false;  ///< the host writes A and B anew before each round behind the first
  bool verify = false;
  std::string report;    ///< a file; empty: none
};

/// What has crossed the link, both in bytes and in transfers.
struct Moved {
  std::uint64_t to_device = 0, to_host = 0;
  std::uint64_t to_device_count = 0, to_host_count = 0;
};

struct Outcome {
  std::vector<double> seconds;          ///< of each round: the products, and the reading of E
  std::vector<double> rewrite_seconds;  ///< of the writes to A and B, timed apart
  double error = 0;                     ///< relative, found by `--verify`
  Moved moved;
  std::string device = "host";
};

enum Name { a, b, c, d, e };
inline constexpr int matrices = 5;
inline constexpr std::int64_t page_elements = 4096 / sizeof(double);

/// A way to compute the chain, with the host's matrices where it wants them.
class Variant {
 public:
  virtual ~Variant() = default;
  [[nodiscard]] virtual double* allocate(std::size_t bytes) = 0;
  /// Computes the products. The host may read E afterwards.
  virtual void chain(std::int64_t n, double* const (&host)[matrices]) = 0;
  /// The host has written all of a matrix.
  virtual void host_has_written(Name) {}
  /// The host is about to read `count` elements of a matrix from `first` on, which lie in one page.
  virtual void host_will_read(Name, double* /*host*/, std::int64_t /*first*/, std::int64_t /*count*/) {}
  [[nodiscard]] virtual Moved moved() const { return {}; }
  [[nodiscard]] virtual std::string device() const { return "host"; }
};

/// Calls dgemm_ on memory from malloc, and nothing else: SemCache's variants are this one under semcache-run.
[[nodiscard]] std::unique_ptr<Variant> make_plain();
/// The variants whose copies are placed by hand: hand-tuned, hand-tuned-overlapped, copy-every-call, page.
/// @throws std::runtime_error  there is no GPU, and the emulated device was not asked for
[[nodiscard]] std::unique_ptr<Variant> make_by_hand(const std::string& name);

/// Runs the rounds of a variant in this process.
[[nodiscard]] Outcome run_here(const Options& options, Variant& variant);
/// Runs this program once more under semcache-run, which is at `runner`, and reads what SemCache says of it.
/// @throws std::runtime_error  it failed, or its products were not offloaded; the text has SemCache's reason
[[nodiscard]] Outcome run_under_semcache(const Options& options, const std::string& runner);

[[nodiscard]] std::string to_json(const Options& options, const Outcome& outcome);
inline constexpr double tolerance(std::int64_t n) noexcept { return 10 * static_cast<double>(n) * 2.3e-16; }

}  // namespace gemm_chain
