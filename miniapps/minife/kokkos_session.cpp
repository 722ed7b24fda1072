// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors

#include <minife/kokkos_session.hpp>

#include <semcache/runtime/configuration.hpp>
#include <semcache/runtime/runtime.hpp>
#include <semcache/semcache.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <cstdlib>
#include <vector>

#ifdef KOKKOS_ENABLE_CUDA
#include <minife/cuda_stream.hpp>
#endif

namespace minife {
namespace {

#ifdef KOKKOS_ENABLE_CUDA
int device_for(const MpiSession& mpi) {
  int devices = 0;
  check_cuda(cudaGetDeviceCount(&devices), "cudaGetDeviceCount (Kokkos was built with CUDA)");
  if (devices == 0) {
    throw std::runtime_error("Kokkos was built with CUDA, but no GPU is visible. Use a Kokkos without CUDA.");
  }
  return mpi.rank_on_node() % devices;
}
#else
int device_for(const MpiSession&) { return -1; }
#endif

void initialize_kokkos(int device) {
#if KOKKOS_VERSION >= 30700
  Kokkos::InitializationSettings settings;
  if (device >= 0) settings.set_device_id(device);
  settings.set_disable_warnings(true);
#else
  Kokkos::InitArguments settings;
  settings.device_id = device;
  settings.disable_warnings = true;
#endif
  Kokkos::initialize(settings);
}

}  // namespace

KokkosSession::KokkosSession(const MpiSession& mpi) { initialize_kokkos(device_for(mpi)); }
KokkosSession::~KokkosSession() { Kokkos::finalize(); }

std::string KokkosSession::take_devices(const MpiSession& mpi, int count) const {
#ifdef KOKKOS_ENABLE_CUDA
  int there = 0;
  check_cuda(cudaGetDeviceCount(&there), "cudaGetDeviceCount");
  const std::string of = there == 1 ? " GPU is visible" : " GPUs are visible";
  const std::string remedy = "Ask for fewer, use fewer ranks on a node, or let each rank see all GPUs (CUDA_VISIBLE_DEVICES).";
#else
  const int there = semcache::runtime::max_devices;
  const std::string of = " emulated devices are the most";
  const std::string remedy = "Ask for fewer, or use fewer ranks.";
#endif
  const int ranks = mpi.ranks_on_node();
  if (std::int64_t{ranks} * count > there) {
    return "--devices-per-rank " + std::to_string(count) + ": " + std::to_string(ranks) + (ranks == 1 ? " rank needs " : " ranks on a node need ") +
           std::to_string(std::int64_t{ranks} * count) + " devices, and " + std::to_string(there) + of + ". " + remedy;
  }
  std::vector<int> devices;
  for (int i = 0; i < count; ++i) devices.push_back(mpi.rank_on_node() + i * ranks);
  semcache::use_devices(devices);
  return {};
}

DeviceInfo KokkosSession::device(const MpiSession& mpi, std::uint32_t number, int of_each) const {
  DeviceInfo info;
  int current = 0;
#ifdef KOKKOS_ENABLE_CUDA
  check_cuda(cudaGetDevice(&current), "cudaGetDevice");
  if (number != 0) current = semcache::runtime::device_ordinal(number);
  cudaDeviceProp properties{};
  check_cuda(cudaGetDeviceProperties(&properties, current), "cudaGetDeviceProperties");
  int devices = 1;
  check_cuda(cudaGetDeviceCount(&devices), "cudaGetDeviceCount");
  info.kind = "cuda";
  info.name = properties.name;
  // The first ranks of a node take a GPU each, or several, and the other ranks share these.
  info.count = static_cast<int>(sum(mpi.rank_on_node() < devices ? of_each : 0, mpi.communicator()));
#else
  const semcache::Statistics s = semcache::statistics();
  info.kind = "emulated";
  info.name = number < s.devices.size() ? s.devices[number].name : s.device_name;
  current = semcache::runtime::device_ordinal(number);
  info.count = mpi.ranks() * of_each;
#endif
  info.of_rank.resize(static_cast<std::size_t>(mpi.ranks()));
  check_mpi(MPI_Allgather(&current, 1, MPI_INT, info.of_rank.data(), 1, MPI_INT, mpi.communicator()), "MPI_Allgather");
  return info;
}

bool device_is_emulated() noexcept {
#ifdef KOKKOS_ENABLE_CUDA
  return false;
#else
  return true;
#endif
}

void switch_protocol_off() {
  (void)semcache::runtime::read_configuration([](const char* name) { return std::getenv(name); });
  setenv("SEMCACHE_PROTOCOL", semcache::runtime::to_string(semcache::runtime::Protocol::off), 1);
}

void end_runtime_and_trace_the_next(const std::string& file) {
  semcache::finalize();
  if (file.empty()) {
    unsetenv("SEMCACHE_TRACE");
  } else {
    setenv("SEMCACHE_TRACE", file.c_str(), 1);
  }
}

}  // namespace minife
