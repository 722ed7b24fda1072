// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <kokkos/mutations.hpp>

#include <thread>

// Kernels on the host's execution space and two host threads on disjoint halves, between kernels on the device.
namespace kokkos_mutation_host_kernels {
using namespace test;

struct HostKernels {
  template <class Tag>
  Result operator()(Tag, Annotations& note) const {
    const int n = 8192;
    using Dual = DualOf<Tag, double*>;
    Dual u("u", n), v("v", n);
    auto ud = u.view_device();
    auto vd = v.view_device();
    Kokkos::parallel_for("start", Range(0, n), KOKKOS_LAMBDA(int i) { ud(i) = i; });
    note.modify_device(0, u);
    for (int round = 0; round < 3; ++round) {
      note.sync_host(1, u);
      auto uh = u.view_host();
      Kokkos::parallel_for("host", Kokkos::RangePolicy<Kokkos::DefaultHostExecutionSpace>(0, n),
                           [=](int i) { uh(i) *= 1.5; });
      Kokkos::DefaultHostExecutionSpace().fence();
      note.modify_host(2, u);
      note.sync_device(3, u);
      Kokkos::parallel_for("device", Range(0, n), KOKKOS_LAMBDA(int i) { vd(i) = ud(i) + vd(i); });
      note.modify_device(4, v);
      note.sync_host(5, v);
      auto vh = v.view_host();
      const auto half = [=](int begin, int end) {
        for (int i = begin; i < end; ++i) vh(i) += 1;
      };
      std::thread first(half, 0, n / 2), second(half, n / 2, n);
      first.join();
      second.join();
      note.modify_host(6, v);
      note.sync_device(7, v);
    }
    Kokkos::parallel_for("end", Range(0, n), KOKKOS_LAMBDA(int i) { ud(i) = vd(i); });
    note.modify_device(8, u);
    note.sync_host(9, u);
    Result result(n);
    for (int i = 0; i < n; ++i) result[i] = u.view_host()(i);
    return result;
  }
};

}  // namespace kokkos_mutation_host_kernels
using namespace kokkos_mutation_host_kernels;

KOKKOS_TEST(KokkosDualViewMutation, HostKernelsAndTwoHostThreads) { check_mutants(10, HostKernels()); }
