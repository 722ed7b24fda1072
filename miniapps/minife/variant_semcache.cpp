// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors

/// The variant in which the program moves no data: it has no copy, sync, modify, fence or announcement for that. The arrays are
/// semcache::DualViews, of which the host reads and writes one side and kernels use the other. MPI gets the address of either
/// side (--exchange), through SemCache::mpi. Which of the process's devices has the arrays and the kernels is named once (--device).
#include <minife/cg_loop.hpp>
#include <minife/halo.hpp>
#include <minife/statistics_tally.hpp>

#include <semcache/kokkos.hpp>

namespace minife {
namespace {

template <class Offset>
class SemcacheSteps {
  using Exec = semcache::Device::execution_space;
  using Types = KernelTypes<Exec, semcache::Device::memory_space, Offset>;
  using K = Kernels<Types>;
  template <class T>
  using Array = semcache::DualView<T*, semcache::Device>;

 public:
  explicit SemcacheSteps(const SolveRequest& request)
      : n_(extents_of(request.grid)),
        exec_(semcache::on(request.device)),
        values_(on(request, "values"), static_cast<std::size_t>(request.grid.nonzeros())),
        columns_(on(request, "columns"), static_cast<std::size_t>(request.grid.nonzeros())),
        offsets_(on(request, "offsets"), static_cast<std::size_t>(n_.rows) + 1),
        send_entries_(on(request, "send_entries"), static_cast<std::size_t>(n_.sent_entries)),
        rhs_(on(request, "rhs"), static_cast<std::size_t>(n_.rows)),
        solution_(on(request, "solution"), static_cast<std::size_t>(n_.rows)),
        direction_(on(request, "direction"), static_cast<std::size_t>(n_.rows)),
        product_(on(request, "product"), static_cast<std::size_t>(n_.rows)),
        residual_(on(request, "residual"), static_cast<std::size_t>(n_.rows)),
        // The host uses these only in MPI calls, which SemCache::mpi notices, so their pages need no protection.
        send_buffer_(semcache::announced, on(request, "send_buffer"), static_cast<std::size_t>(n_.sent_entries)),
        external_(semcache::announced, on(request, "external"), static_cast<std::size_t>(n_.externals)),
        a_{values_.view_device(),   columns_.view_device(),  offsets_.view_device(),     send_entries_.view_device(),
           rhs_.view_device(),      solution_.view_device(), direction_.view_device(),   product_.view_device(),
           residual_.view_device(), send_buffer_.view_device(), external_.view_device()},
        halo_(request.grid, request.comm) {
    if (request.exchange == Exchange::device) {
      halo_.bind(send_buffer_.view_device().data(), external_.view_device().data());
    } else {
      halo_.bind(send_buffer_.view_host().data(), external_.view_host().data());
    }
    const SystemArrays<Offset> host{values_.view_host().data(), columns_.view_host().data(),
                                    offsets_.view_host().data(), rhs_.view_host().data(),
                                    send_entries_.view_host().data()};
    assemble(request.grid, host, report_assembly, &request.progress);
  }

  void start_direction() { K::start_direction(exec_, a_, n_); }

  void begin_exchange() {
    if (!halo_.needed()) return;
    halo_.post_receives();
    // On the same instance as the kernels that write the direction, because instances are unordered. The host's read waits for
    // this kernel only, so the interior rows still hide the exchange.
    K::pack(exec_, a_, n_);
  }
  void multiply_interior() { K::multiply_interior(exec_, a_, n_); }
  void finish_exchange() {
    if (!halo_.needed()) return;
    halo_.post_sends();
    halo_.wait();
  }
  void multiply_boundary() { K::multiply_boundary(exec_, a_, n_); }

  double initial_residual() { return K::initial_residual(exec_, a_, n_); }
  void next_direction(double beta) { K::next_direction(exec_, a_, n_, beta); }
  double curvature() { return K::curvature(exec_, a_, n_); }
  double advance(double alpha) { return K::advance(exec_, a_, n_, alpha); }
  void advance_solution(double alpha) { K::advance_solution(exec_, a_, n_, alpha); }

  /// Waits for the clock's sake. No data movement depends on it.
  void wait() { exec_.fence(); }
  [[nodiscard]] static Tally tally() { return tally_of_statistics(); }
  /// Returns on which of the process's devices the matrix lies.
  [[nodiscard]] std::uint32_t device() const { return semcache::runtime::device_of(values_.view_device().data()); }
  [[nodiscard]] const double* solution_on_host() const { return solution_.view_host().data(); }

 private:
  /// The properties of an array on the device that was asked for.
  static auto on(const SolveRequest& request, const char* label) {
    return Kokkos::view_alloc(semcache::Space(request.device), std::string(label));
  }

  Extents n_;
  Exec exec_;
  Array<double> values_;
  Array<std::int32_t> columns_;
  Array<Offset> offsets_;
  Array<std::int32_t> send_entries_;
  Array<double> rhs_;
  Array<double> solution_;
  Array<double> direction_;
  Array<double> product_;
  Array<double> residual_;
  Array<double> send_buffer_;
  Array<double> external_;
  DeviceArrays<Types> a_;
  Halo halo_;
};

template <class Offset>
SolveResult run(const SolveRequest& request) {
  const double start = seconds_now();
  SemcacheSteps<Offset> steps(request);
  SolveResult result = iterate(steps, request, start);
  request.inspect(steps.solution_on_host());
  result.bytes = bytes_of<Offset>(request.grid);
  result.total = steps.tally();
  result.device = steps.device();
  return result;
}

}  // namespace

std::string why_semcache_is_misconfigured(std::uint32_t device) {
  const Kokkos::View<char*, semcache::Device> starts_the_runtime("minife start", 1);
  const semcache::Statistics statistics = semcache::statistics();
  const auto devices = static_cast<std::uint32_t>(semcache::device_count());
  if (device >= devices) {
    return "--device " + std::to_string(device) + ": this process uses " + std::to_string(devices) +
           (devices == 1 ? " device, number 0" : " devices, numbers 0 to " + std::to_string(devices - 1)) +
           ". Set SEMCACHE_DEVICES=" + std::to_string(device + 1ul) + ", or name another device.";
  }
  try {
    (void)semcache::on(device);
  } catch (const semcache::UsageError& e) {
    return "--device " + std::to_string(device) + ": " + e.what();
  }
  if (statistics.tracker != "explicit") return {};
  return std::string(statistics.protocol == "off" ? "SEMCACHE_PROTOCOL=off" : "SEMCACHE_TRACKER=explicit") +
         ": nobody notices that the host assembles the system, and the semcache variant does not announce it, so "
         "kernels would see zeros. Unset the variable, or use --variant manual.";
}

SolveResult solve_semcache(const SolveRequest& request) {
  return needs_wide_offsets(request.grid.nonzeros()) ? run<std::int64_t>(request) : run<std::int32_t>(request);
}

}  // namespace minife
