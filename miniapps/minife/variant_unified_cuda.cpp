// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors

/// The variant in CUDA managed memory: both sides have one address, and pages migrate when they are touched. Only the waits are
/// placed by hand.
#include <minife/cg_loop.hpp>
#include <minife/cuda_stream.hpp>
#include <minife/halo.hpp>
#include <minife/pack_instance.hpp>

#include <stdexcept>

namespace minife {
namespace {

/// Refuses a system that needs more managed memory than the GPU has free, because that can hang the GPU. Collective.
void require_room(const SolveRequest& request, const SystemBytes& system) {
  int devices = 1;
  check_cuda(cudaGetDeviceCount(&devices), "cudaGetDeviceCount");
  MPI_Comm node = MPI_COMM_NULL;
  check_mpi(MPI_Comm_split_type(request.comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node), "MPI_Comm_split_type");
  int ranks_here = 1;
  check_mpi(MPI_Comm_size(node, &ranks_here), "MPI_Comm_size");
  check_mpi(MPI_Comm_free(&node), "MPI_Comm_free");
  const int sharing = (ranks_here + devices - 1) / devices;

  const auto halo = static_cast<std::uint64_t>(request.grid.externals() + request.grid.sent_entries());
  const std::uint64_t needed = system.matrix + 5 * system.rhs + halo * sizeof(double);
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
  check_cuda(cudaMemGetInfo(&free_bytes, &total_bytes), "cudaMemGetInfo");
  // No rank allocates before all ranks have read the free memory.
  check_mpi(MPI_Barrier(request.comm), "MPI_Barrier");
  if (needed > free_bytes / static_cast<std::size_t>(sharing)) {
    throw std::invalid_argument("--variant unified: this rank needs " + std::to_string(needed) +
                                " bytes of managed memory, but its GPU has " + std::to_string(free_bytes) +
                                " bytes free for " + std::to_string(sharing) +
                                " rank(s). Use a smaller mesh, more GPUs, or another variant.");
  }
}

template <class Offset>
class UnifiedSteps {
  using Exec = Kokkos::Cuda;
  using Types = KernelTypes<Exec, Kokkos::CudaUVMSpace, Offset>;
  using K = Kernels<Types>;

 public:
  explicit UnifiedSteps(const SolveRequest& request) : n_(extents_of(request.grid)), halo_(request.grid, request.comm) {
    const auto rows = static_cast<std::size_t>(n_.rows);
    const auto nonzeros = static_cast<std::size_t>(request.grid.nonzeros());
    const auto sent = static_cast<std::size_t>(n_.sent_entries);
    a_.values = allocate<typename Types::Real>("values", nonzeros);
    a_.columns = allocate<typename Types::Index>("columns", nonzeros);
    a_.offsets = allocate<typename Types::Offsets>("offsets", rows + 1);
    a_.send_entries = allocate<typename Types::Index>("send_entries", sent);
    a_.rhs = allocate<typename Types::Real>("rhs", rows);
    a_.solution = typename Types::Real("solution", rows);
    a_.direction = allocate<typename Types::Real>("direction", rows);
    a_.product = allocate<typename Types::Real>("product", rows);
    a_.residual = allocate<typename Types::Real>("residual", rows);
    a_.send_buffer = allocate<typename Types::Real>("send_buffer", sent);
    a_.external = allocate<typename Types::Real>("external", static_cast<std::size_t>(n_.externals));
    Kokkos::fence();
    halo_.bind(a_.send_buffer.data(), a_.external.data());
    assemble(request.grid,
             SystemArrays<Offset>{a_.values.data(), a_.columns.data(), a_.offsets.data(), a_.rhs.data(),
                                  a_.send_entries.data()},
             report_assembly, &request.progress);
  }

  void start_direction() { K::start_direction(exec_, a_, n_); }
  void begin_exchange() {
    if (!halo_.needed()) return;
    halo_.post_receives();
    event_.order(exec_.cuda_stream(), pack_.get().cuda_stream());
    K::pack(pack_.get(), a_, n_);
  }
  void multiply_interior() { K::multiply_interior(exec_, a_, n_); }
  void finish_exchange() {
    if (!halo_.needed()) return;
    pack_.get().fence();
    halo_.post_sends();
    halo_.wait();
  }
  void multiply_boundary() { K::multiply_boundary(exec_, a_, n_); }
  double initial_residual() { return K::initial_residual(exec_, a_, n_); }
  void next_direction(double beta) { K::next_direction(exec_, a_, n_, beta); }
  double curvature() { return K::curvature(exec_, a_, n_); }
  double advance(double alpha) { return K::advance(exec_, a_, n_, alpha); }
  void advance_solution(double alpha) { K::advance_solution(exec_, a_, n_, alpha); }
  void wait() { exec_.fence(); }
  /// Returns zeros, because the driver does not report how many pages it moves.
  [[nodiscard]] static Tally tally() { return {}; }
  [[nodiscard]] const double* solution_on_host() const { return a_.solution.data(); }

 private:
  template <class View>
  static View allocate(const char* label, std::size_t size) {
    return View(Kokkos::view_alloc(Kokkos::WithoutInitializing, std::string(label)), size);
  }

  Extents n_;
  Exec exec_;
  PackInstance<Exec> pack_;
  CudaEvent event_;
  DeviceArrays<Types> a_;
  Halo halo_;
};

template <class Offset>
SolveResult run(const SolveRequest& request) {
  const double start = seconds_now();
  const SystemBytes bytes = bytes_of<Offset>(request.grid);
  require_room(request, bytes);
  UnifiedSteps<Offset> steps(request);
  SolveResult result = iterate(steps, request, start);
  request.inspect(steps.solution_on_host());
  result.bytes = bytes;
  result.total = steps.tally();
  return result;
}

}  // namespace

std::string why_unified_is_unavailable() { return {}; }

SolveResult solve_unified(const SolveRequest& request) {
  return needs_wide_offsets(request.grid.nonzeros()) ? run<std::int64_t>(request) : run<std::int32_t>(request);
}

}  // namespace minife
