// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/kokkos/exec.hpp>

#ifdef KOKKOS_ENABLE_CUDA

#include <map>
#include <mutex>
#include <string>

namespace semcache::kokkos::detail {

void refuse_shared_handle(int ordinal) {
  throw UsageError("an instance on CUDA device " + std::to_string(ordinal) + " uses the null stream, cudaStreamLegacy or cudaStreamPerThread, "
                   "whose handle every device has. Give it a stream of its own, or use semcache::on");
}

#if SEMCACHE_KOKKOS_SEVERAL_GPUS
namespace {

void expect(cudaError_t result, const char* call, int ordinal) {
  if (result == cudaSuccess) return;
  throw DeviceError(std::string(call) + " on CUDA device " + std::to_string(ordinal) + ": " + cudaGetErrorString(result));
}

}  // namespace

/// The calling thread's device stays what it was.
Kokkos::Cuda new_cuda_instance(int ordinal) {
  int before = 0;
  expect(cudaGetDevice(&before), "cudaGetDevice", ordinal);
  struct Restore {
    ~Restore() { (void)cudaSetDevice(device); }
    int device;
  } const restore{before};
  expect(cudaSetDevice(ordinal), "cudaSetDevice", ordinal);
  cudaStream_t stream = nullptr;
  expect(cudaStreamCreate(&stream), "cudaStreamCreate", ordinal);
  return Kokkos::Cuda(stream, Kokkos::Impl::ManageStream::yes);
}

namespace {

struct Instance {
  Exec exec;
  std::uint64_t epoch;  ///< of the runtime that has its lease
};
struct Instances {
  std::mutex mutex;
  std::map<int, Instance> by_ordinal;
};
/// Never destroyed: a program that ends without Kokkos::finalize must not call the driver at its exit.
Instances& instances() {
  static auto* const all = new Instances;
  return *all;
}

}  // namespace

Exec exec_on_gpu(int ordinal) {
  Instances& all = instances();
  const std::lock_guard<std::mutex> lock(all.mutex);
  auto found = all.by_ordinal.find(ordinal);
  if (found == all.by_ordinal.end()) found = all.by_ordinal.emplace(ordinal, Instance{Exec(new_cuda_instance(ordinal)), runtime::epoch()}).first;
  Instance& instance = found->second;
  if (instance.epoch != runtime::epoch()) instance = {Exec(instance.exec.native()), runtime::epoch()};  // a lease of this runtime
  return instance.exec;
}

void give_up_cuda_instances() {
  Instances& all = instances();
  const std::lock_guard<std::mutex> lock(all.mutex);
  all.by_ordinal.clear();
}
#else
Kokkos::Cuda new_cuda_instance(int ordinal) {
  const std::string version = std::to_string(KOKKOS_VERSION / 10000) + "." + std::to_string(KOKKOS_VERSION / 100 % 100);
  throw UsageError("semcache::on: this is Kokkos " + version + ", which computes on one GPU per process, and CUDA device " + std::to_string(ordinal) +
                   " is another one. Use Kokkos 4.3 or newer, or one process per GPU.");
}

Exec exec_on_gpu(int ordinal) { return Exec(new_cuda_instance(ordinal)); }
void give_up_cuda_instances() {}
#endif

}  // namespace semcache::kokkos::detail

#endif
