// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

/// C = AB, D = BC, E = CD, of which the processor reads E (SemCache, figures 1.1 and 4.4), in column-major matrices of n x n doubles.
namespace gemm_chain {

/// When cuBLASXt's operands are page-locked: never, by each call for itself (cublasXtSetPinningMemMode), or once, before the clock starts.
enum class Pinning : std::uint8_t { none, per_call, once };

struct Options {
  std::string variant = "write-back";
  std::int64_t n = 512;
  int rounds = 1;
  bool rewrite = false;  ///< the host writes A and B anew before each round behind the first
  bool start = false;    ///< make a small product before the clock starts, so that no round has the start of the device and its libraries
  bool verify = false;
  std::int64_t block = 2048;            ///< of cuBLASXt: rows and columns that cross at once
  std::string pinning = "per-call";  ///< of cuBLASXt: none, per-call, once
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
  double start_seconds = 0;             ///< of the start that `Options::start` asks for: device, libraries, and a small product
  double error = 0;                     ///< relative, found by `--verify`
  std::optional<Moved> moved;           ///< nothing: unknown, because a library moves what it needs
  std::string device = "host";
};

enum Name { a, b, c, d, e };
inline constexpr int matrices = 5;
inline constexpr std::int64_t page_elements = 4096 / sizeof(double);
/// A matrix of the first product has 2 KiB. It holds no whole page, so SemCache sends it at each call, whatever its settings.
inline constexpr std::int64_t start_n = 16;
inline constexpr std::uint64_t start_bytes = start_n * start_n * sizeof(double);

/// A way to compute the chain, with the host's matrices where it wants them.
class Variant {
 public:
  virtual ~Variant() = default;
  [[nodiscard]] virtual double* allocate(std::size_t bytes) = 0;
  /// Computes `to` = `left` `right`, of `start_n` rows and columns, as the chain's products are computed. Counts nothing.
  virtual void start(const double* left, const double* right, double* to) = 0;
  /// Computes the products. The host may read E afterwards.
  virtual void chain(std::int64_t n, double* const (&host)[matrices]) = 0;
  /// The host has written all of a matrix.
  virtual void host_has_written(Name) {}
  /// The host is about to read `count` elements of a matrix from `first` on, which lie in one page.
  virtual void host_will_read(Name, double* /*host*/, std::int64_t /*first*/, std::int64_t /*count*/) {}
  [[nodiscard]] virtual Moved moved() const { return {}; }
  /// Does `moved` know what has moved?
  [[nodiscard]] virtual bool counts_moves() const { return true; }
  [[nodiscard]] virtual std::string device() const { return "host"; }
};

/// Calls dgemm_ on memory from malloc, and nothing else: SemCache's variants are this one under semcache-run.
[[nodiscard]] std::unique_ptr<Variant> make_plain();
/// The variants whose copies are placed by hand: hand-tuned, hand-tuned-overlapped, hand-tuned-pageable,
/// copy-every-call, page.
/// @throws std::runtime_error  there is no GPU, and the emulated device was not asked for
[[nodiscard]] std::unique_ptr<Variant> make_by_hand(const std::string& name);
/// Calls cublasXtDgemm on memory from malloc, with blocks of so many rows and columns, on the first GPU.
/// @throws std::runtime_error  there is no GPU, or no cuBLASXt
[[nodiscard]] std::unique_ptr<Variant> make_cublasxt(std::int64_t block, Pinning pinning);

/// Makes a variant, and runs its rounds in this process.
[[nodiscard]] Outcome run_here(const Options& options, const std::function<std::unique_ptr<Variant>()>& make);
/// Runs this program once more under semcache-run, which is at `runner`, and reads what SemCache says of it.
/// @throws std::runtime_error  it failed, or its products were not offloaded; the text has SemCache's reason
[[nodiscard]] Outcome run_under_semcache(const Options& options, const std::string& runner);

[[nodiscard]] std::string to_json(const Options& options, const Outcome& outcome);
inline constexpr double tolerance(std::int64_t n) noexcept { return 10 * static_cast<double>(n) * 2.3e-16; }

}  // namespace gemm_chain
