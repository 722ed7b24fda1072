// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors

/// The variant that offloads kernel by kernel: everything that a kernel reads is copied to the device before it, and
/// everything that it writes is copied back after it.
#include <minife/cg_loop.hpp>
#include <minife/halo.hpp>
#include <minife/hand_arrays.hpp>

namespace minife {
namespace {

template <class Offset>
class NaiveSteps {
  using Types = KernelTypes<HandSpaces::Exec, HandSpaces::DeviceMemory, Offset>;
  using K = Kernels<Types>;

 public:
  explicit NaiveSteps(const SolveRequest& request)
      : n_(extents_of(request.grid)),
        p_(request.grid, Mirrors::all),
        halo_(request.grid, request.comm),
        a_(p_.device()) {
    halo_.bind(p_.send_buffer.host.data(), p_.external.host.data());
    assemble(request.grid, p_.host_system(), report_assembly, &request.progress);
    for (std::int32_t row = 0; row < n_.rows; ++row) p_.solution.host(row) = 0;
  }

  void start_direction() {
    upload(p_.solution);
    K::start_direction(link_.kernels(), a_, n_);
    download(p_.direction);
  }

  void begin_exchange() {
    if (!halo_.needed()) return;
    halo_.post_receives();
    upload(p_.send_entries, p_.direction);
    K::pack(link_.kernels(), a_, n_);
    download(p_.send_buffer);
    halo_.post_sends();
  }
  void multiply_interior() {
    upload(p_.values, p_.columns, p_.offsets, p_.direction);
    K::multiply_interior(link_.kernels(), a_, n_);
    download(p_.product);
  }
  void finish_exchange() {
    if (halo_.needed()) halo_.wait();
  }
  void multiply_boundary() {
    if (n_.rows == n_.interior_rows) return;
    // The whole array is copied back, also the interior rows, so it is copied to the device although the kernel writes only its
    // own part.
    upload(p_.values, p_.columns, p_.offsets, p_.direction, p_.external, p_.product);
    K::multiply_boundary(link_.kernels(), a_, n_);
    download(p_.product);
  }

  double initial_residual() {
    upload(p_.rhs, p_.product);
    const double local = K::initial_residual(link_.kernels(), a_, n_);
    link_.count_result();
    download(p_.residual);
    return local;
  }
  void next_direction(double beta) {
    upload(p_.residual, p_.direction);
    K::next_direction(link_.kernels(), a_, n_, beta);
    download(p_.direction);
  }
  double curvature() {
    upload(p_.direction, p_.product);
    const double local = K::curvature(link_.kernels(), a_, n_);
    link_.count_result();
    return local;
  }
  double advance(double alpha) {
    upload(p_.direction, p_.product, p_.solution, p_.residual);
    const double local = K::advance(link_.kernels(), a_, n_, alpha);
    link_.count_result();
    download(p_.solution);
    download(p_.residual);
    return local;
  }
  void advance_solution(double alpha) {
    upload(p_.direction, p_.solution);
    K::advance_solution(link_.kernels(), a_, n_, alpha);
    download(p_.solution);
  }

  void wait() { link_.wait_for_kernels(); }
  [[nodiscard]] Tally tally() const { return link_.tally(); }
  [[nodiscard]] const double* solution_on_host() const { return p_.solution.host.data(); }

 private:
  template <class... Pairs>
  void upload(Pairs&... pairs) {
    (link_.to_device(pairs.device, pairs.host), ...);
    link_.kernels_after_copies();
  }
  template <class APair>
  void download(APair& pair) {
    link_.copies_after_kernels();
    link_.to_host(pair.host, pair.device);
    link_.wait_for_copies();
  }

  Extents n_;
  HandLink link_;
  HandArrays<Types> p_;
  Halo halo_;
  DeviceArrays<Types> a_;
};

template <class Offset>
SolveResult run(const SolveRequest& request) {
  const double start = seconds_now();
  NaiveSteps<Offset> steps(request);
  SolveResult result = iterate(steps, request, start);
  request.inspect(steps.solution_on_host());
  result.bytes = bytes_of<Offset>(request.grid);
  result.total = steps.tally();
  return result;
}

}  // namespace

SolveResult solve_naive(const SolveRequest& request) {
  return needs_wide_offsets(request.grid.nonzeros()) ? run<std::int64_t>(request) : run<std::int32_t>(request);
}

}  // namespace minife
