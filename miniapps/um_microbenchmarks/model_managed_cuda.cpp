// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "bodies.hpp"
#include "managed_counter.hpp"

#include <cuda_runtime_api.h>

#include <string>

namespace microbenchmarks {
namespace {

/// The model of CUDA managed memory: both sides share one pointer, and the driver moves pages.
class ManagedModel {
 public:
  using Exec = Kokkos::Cuda;
  using Device = Kokkos::Device<Kokkos::Cuda, Kokkos::CudaUVMSpace>;
  using View = Kokkos::View<double*, Device>;
  using ConstView = Kokkos::View<const double*, Device>;

  class Array {
   public:
    Array(const char* label, std::size_t n) : view_(std::string(label), n) {}
    [[nodiscard]] View device() const { return view_; }
    [[nodiscard]] View host() const { return view_; }

   private:
    View view_;
  };

  void start() { counter_.start(); }
  void stop() { counts_ = counter_.stop(); }
  void fence() const { Exec().fence(); }
  [[nodiscard]] std::optional<Counts> counts() const { return counts_; }

 private:
  ManagedCounter counter_;
  std::optional<Counts> counts_;
};

}  // namespace

std::optional<std::string> managed_refusal(std::uint64_t bytes) {
  std::size_t free_bytes = 0, total_bytes = 0;
  if (cudaMemGetInfo(&free_bytes, &total_bytes) != cudaSuccess) return "no GPU";
  // Oversubscribed managed memory can hang the GPU for all processes, so the arrays stay well below the free memory.
  if (bytes > free_bytes / 4) return "managed memory for it would not leave the GPU enough free memory";
  return std::nullopt;
}

Measurement run_managed(Name name, std::size_t elements) {
  ManagedModel model;
  Measurement m;
  m.correct = Bodies<ManagedModel>(model, elements).run(name);
  m.counts = model.counts();
  return m;
}

}  // namespace microbenchmarks
