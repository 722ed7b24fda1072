// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors

/// The variants with copies placed by hand.
///
/// `manual` is the best placement that we know. The system is copied to the device once, only the halo crosses in each
/// iteration, hidden behind the interior rows, and the solution is copied back once. With --exchange device MPI gets the
/// device's addresses, and the program does not copy the halo.
///
/// `whole-vector` does what upstream's Kokkos version does where MPI is not CUDA-aware: before each product the whole
/// direction is copied to the host and back, with the halo.
#include <minife/cg_loop.hpp>
#include <minife/halo.hpp>
#include <minife/hand_arrays.hpp>

namespace minife {
namespace {

enum class Exchanged { halo, whole_vector };

template <class Offset, Exchanged exchanged>
class ManualSteps {
  using Types = KernelTypes<HandSpaces::Exec, HandSpaces::DeviceMemory, Offset>;
  using K = Kernels<Types>;

 public:
  explicit ManualSteps(const SolveRequest& request)
      : n_(extents_of(request.grid)),
        on_device_(exchanged == Exchanged::halo && request.exchange == Exchange::device),
        pairs_(request.grid, exchanged == Exchanged::halo ? Mirrors::exchanged : Mirrors::direction_too),
        a_(pairs_.device()),
        halo_(request.grid, request.comm) {
    if (on_device_) {
      halo_.bind(a_.send_buffer.data(), a_.external.data());
    } else {
      halo_.bind(pairs_.send_buffer.host.data(), pairs_.external.host.data());
    }
    assemble(request.grid, pairs_.host_system(), report_assembly, &request.progress);
    link_.to_device(pairs_.values.device, pairs_.values.host);
    link_.to_device(pairs_.columns.device, pairs_.columns.host);
    link_.to_device(pairs_.offsets.device, pairs_.offsets.host);
    link_.to_device(pairs_.send_entries.device, pairs_.send_entries.host);
    link_.to_device(pairs_.rhs.device, pairs_.rhs.host);
    link_.kernels_after_copies();
  }

  void start_direction() { K::start_direction(link_.kernels(), a_, n_); }

  void begin_exchange() {
    if (!halo_.needed()) return;
    halo_.post_receives();
    link_.copies_after_kernels();  // the direction must be complete before it is packed
    if constexpr (exchanged == Exchanged::whole_vector) {
      exchange_whole_vector();
      return;
    }
    K::pack(link_.copies(), a_, n_);
    if (!on_device_) link_.to_host(pairs_.send_buffer.host, pairs_.send_buffer.device);
  }
  void multiply_interior() { K::multiply_interior(link_.kernels(), a_, n_); }
  void finish_exchange() {
    if (!halo_.needed() || exchanged == Exchanged::whole_vector) return;
    link_.wait_for_copies();
    halo_.post_sends();
    halo_.wait();
    if (on_device_) return;
    link_.to_device(pairs_.external.device, pairs_.external.host);
    link_.kernels_after_copies();
  }
  void multiply_boundary() { K::multiply_boundary(link_.kernels(), a_, n_); }

  double initial_residual() { return delivered(K::initial_residual(link_.kernels(), a_, n_)); }
  void next_direction(double beta) { K::next_direction(link_.kernels(), a_, n_, beta); }
  double curvature() { return delivered(K::curvature(link_.kernels(), a_, n_)); }
  double advance(double alpha) { return delivered(K::advance(link_.kernels(), a_, n_, alpha)); }
  void advance_solution(double alpha) { K::advance_solution(link_.kernels(), a_, n_, alpha); }

  void wait() { link_.wait_for_kernels(); }
  [[nodiscard]] Tally tally() const { return link_.tally(); }

  const double* solution_on_host() {
    link_.copies_after_kernels();
    link_.to_host(pairs_.solution.host, pairs_.solution.device);
    link_.wait_for_copies();
    return pairs_.solution.host.data();
  }

 private:
  void exchange_whole_vector() {
    link_.to_host(pairs_.direction.host, pairs_.direction.device);
    link_.wait_for_copies();
    for (std::int32_t i = 0; i < n_.sent_entries; ++i) {
      pairs_.send_buffer.host(i) = pairs_.direction.host(pairs_.send_entries.host(i));
    }
    halo_.post_sends();
    halo_.wait();
    link_.to_device(pairs_.direction.device, pairs_.direction.host);
    link_.to_device(pairs_.external.device, pairs_.external.host);
    link_.kernels_after_copies();
  }

  double delivered(double result) {
    link_.count_result();
    return result;
  }

  Extents n_;
  bool on_device_;
  HandLink link_;
  HandArrays<Types> pairs_;
  DeviceArrays<Types> a_;
  Halo halo_;
};

template <class Offset, Exchanged exchanged>
SolveResult run(const SolveRequest& request) {
  const double start = seconds_now();
  ManualSteps<Offset, exchanged> steps(request);
  SolveResult result = iterate(steps, request, start);
  request.inspect(steps.solution_on_host());
  result.bytes = bytes_of<Offset>(request.grid);
  result.total = steps.tally();
  return result;
}

}  // namespace

SolveResult solve_manual(const SolveRequest& request) {
  return needs_wide_offsets(request.grid.nonzeros()) ? run<std::int64_t, Exchanged::halo>(request)
                                                     : run<std::int32_t, Exchanged::halo>(request);
}
SolveResult solve_whole_vector(const SolveRequest& request) {
  return needs_wide_offsets(request.grid.nonzeros()) ? run<std::int64_t, Exchanged::whole_vector>(request)
                                                     : run<std::int32_t, Exchanged::whole_vector>(request);
}

}  // namespace minife
