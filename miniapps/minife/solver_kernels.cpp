// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors

/// The solver that consists of calls of Kokkos-Kernels alone. It has no kernel of its own and names no device: where the process has
/// several, the calls use all of them by themselves.
#include <semcache/kernels.hpp>  // before Kokkos-Kernels' own headers

#include <minife/cg_loop.hpp>
#include <minife/halo.hpp>
#include <minife/statistics_tally.hpp>

#include <KokkosBlas.hpp>
#include <KokkosSparse_CrsMatrix.hpp>
#include <KokkosSparse_spmv.hpp>

#include <semcache/kokkos.hpp>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>

namespace minife {
namespace {

// Calls on several devices take offsets and columns of 32 bits.
using Offset = std::int32_t;
using Matrix = KokkosSparse::CrsMatrix<double, std::int32_t, semcache::Device, void, Offset>;
using Vector = Kokkos::View<double*, semcache::Device>;

class KernelsSteps {
  template <class T>
  using Array = semcache::DualView<T*, semcache::Device>;

 public:
  explicit KernelsSteps(const SolveRequest& request)
      : n_(extents_of(request.grid)),
        values_("values", static_cast<std::size_t>(request.grid.nonzeros())),
        columns_("columns", static_cast<std::size_t>(request.grid.nonzeros())),
        offsets_("offsets", static_cast<std::size_t>(n_.rows) + 1),
        send_entries_("send_entries", static_cast<std::size_t>(n_.sent_entries)),
        send_offsets_("send_offsets", static_cast<std::size_t>(n_.sent_entries) + 1),
        send_ones_("send_ones", static_cast<std::size_t>(n_.sent_entries)),
        rhs_("rhs", static_cast<std::size_t>(n_.rows)),
        solution_("solution", static_cast<std::size_t>(n_.rows)),
        // The host uses these only in MPI calls, which SemCache::mpi notices, so their pages need no protection.
        direction_(semcache::announced, "direction", static_cast<std::size_t>(n_.rows) + static_cast<std::size_t>(n_.externals)),
        send_buffer_(semcache::announced, "send_buffer", static_cast<std::size_t>(n_.sent_entries)),
        product_("product", static_cast<std::size_t>(n_.rows)),
        residual_("residual", static_cast<std::size_t>(n_.rows)),
        all_columns_(direction_.view_device()),
        own_columns_(Kokkos::subview(all_columns_, std::make_pair(std::size_t{0}, static_cast<std::size_t>(n_.rows)))),
        matrix_("matrix", n_.rows, n_.rows + n_.externals, static_cast<Offset>(request.grid.nonzeros()), values_.view_device(),
                offsets_.view_device(), columns_.view_device()),
        selection_("selection", n_.sent_entries, n_.rows, n_.sent_entries, send_ones_.view_device(), send_offsets_.view_device(),
                   send_entries_.view_device()),
        halo_(request.grid, request.comm) {
    if (request.exchange == Exchange::device) {
      halo_.bind(send_buffer_.view_device().data(), all_columns_.data() + n_.rows);
    } else {
      halo_.bind(send_buffer_.view_host().data(), direction_.view_host().data() + n_.rows);
    }
    const SystemArrays<Offset> host{values_.view_host().data(), columns_.view_host().data(), offsets_.view_host().data(),
                                    rhs_.view_host().data(), send_entries_.view_host().data()};
    assemble(request.grid, host, report_assembly, &request.progress);
    std::fill_n(send_ones_.view_host().data(), n_.sent_entries, 1.0);
    std::iota(send_offsets_.view_host().data(), send_offsets_.view_host().data() + n_.sent_entries + 1, 0);
  }

  /// p := x
  void start_direction() { KokkosBlas::axpby(1.0, solution_.view_device(), 0.0, own_columns_); }

  /// The values to be sent are a product, too: with a matrix whose rows have a single 1 each. So each device sends what it has,
  /// and none gathers the direction.
  void begin_exchange() {
    if (!halo_.needed()) return;
    halo_.post_receives();
    KokkosSparse::spmv("N", 1.0, selection_, own_columns_, 0.0, send_buffer_.view_device());
  }
  /// The product is one call for all rows, and so it comes behind the exchange.
  void multiply_interior() {}
  void finish_exchange() {
    if (!halo_.needed()) return;
    halo_.post_sends();
    halo_.wait();
  }
  void multiply_boundary() { KokkosSparse::spmv("N", 1.0, matrix_, all_columns_, 0.0, product_); }

  /// r := b - A p; returns r.r
  double initial_residual() {
    KokkosBlas::axpby(1.0, rhs_.view_device(), 0.0, residual_);
    KokkosBlas::axpby(-1.0, product_, 1.0, residual_);
    return KokkosBlas::dot(residual_, residual_);
  }
  /// p := r + beta p
  void next_direction(double beta) { KokkosBlas::axpby(1.0, residual_, beta, own_columns_); }
  double curvature() { return KokkosBlas::dot(own_columns_, product_); }
  /// x += alpha p, r -= alpha A p; returns r.r
  double advance(double alpha) {
    advance_solution(alpha);
    KokkosBlas::axpby(-alpha, product_, 1.0, residual_);
    return KokkosBlas::dot(residual_, residual_);
  }
  void advance_solution(double alpha) { KokkosBlas::axpby(alpha, own_columns_, 1.0, solution_.view_device()); }

  /// Waits for the clock's sake, on all devices. No data movement depends on it.
  void wait() { semcache::Exec().fence(); }
  [[nodiscard]] static Tally tally() { return tally_of_statistics(); }
  [[nodiscard]] std::uint32_t device() const { return semcache::runtime::device_of(values_.view_device().data()); }
  [[nodiscard]] const double* solution_on_host() const { return solution_.view_host().data(); }
  /// Returns the bytes of the matrix that selects what is sent, beyond those of the columns, which each solver has.
  [[nodiscard]] std::uint64_t selection_bytes() const {
    const auto sent = static_cast<std::uint64_t>(n_.sent_entries);
    return sent == 0 ? 0 : sent * sizeof(double) + (sent + 1) * sizeof(Offset);
  }

 private:
  Extents n_;
  Array<double> values_;
  Array<std::int32_t> columns_;
  Array<Offset> offsets_;
  Array<std::int32_t> send_entries_;
  Array<Offset> send_offsets_;
  Array<double> send_ones_;
  Array<double> rhs_;
  Array<double> solution_;
  Array<double> direction_;  ///< p of the own rows, then of the external columns
  Array<double> send_buffer_;
  Vector product_;
  Vector residual_;
  Vector all_columns_;
  Vector own_columns_;
  Matrix matrix_;
  Matrix selection_;
  Halo halo_;
};

}  // namespace

std::string why_kernels_is_unavailable(Variant variant) {
  if (variant == Variant::semcache) return {};
  return std::string("--solver kernels: --variant ") + name_of(variant) +
         " is one of the program's own solver. Choose --variant semcache, or --solver cg.";
}

std::string why_too_large_for_kernels(std::int64_t most_nonzeros) {
  if (!needs_wide_offsets(most_nonzeros)) return {};
  return "--solver kernels: a rank would have a matrix of " + std::to_string(most_nonzeros) +
         " non-zeros, and 32-bit offsets end at 2147483647. Use more ranks, a smaller mesh, or --solver cg.";
}

SolveResult solve_kernels(const SolveRequest& request) {
  const double start = seconds_now();
  KernelsSteps steps(request);
  SolveResult result = iterate(steps, request, start);
  request.inspect(steps.solution_on_host());
  result.bytes = bytes_of<Offset>(request.grid);
  result.bytes.matrix += steps.selection_bytes();
  result.total = steps.tally();
  result.device = steps.device();
  result.devices = semcache::device_count();
  return result;
}

}  // namespace minife
