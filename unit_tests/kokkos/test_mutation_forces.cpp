// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <kokkos/mutations.hpp>

// After a public bug of a molecular dynamics program: forces are computed on the device, a fix on the host adds to them,
// and the integrator on the device uses them; one sync was missing between the two.
namespace kokkos_mutation_forces {
using namespace test;

struct Forces {
  template <class Tag>
  Result operator()(Tag, Annotations& note) const {
    const int n = 512;
    using Dual = DualOf<Tag, double*>;
    Dual x("x", n), f("f", n);
    note.modify_host(0, x);
    for (int i = 0; i < n; ++i) x.view_host()(i) = i % 17;
    for (int step = 0; step < 4; ++step) {
      note.sync_device(1, x);
      auto xd = x.view_device();
      auto fd = f.view_device();
      Kokkos::parallel_for("force", Range(0, n), KOKKOS_LAMBDA(int i) { fd(i) = -0.5 * xd(i); });
      note.modify_device(2, f);

      note.sync_host(3, f);  // the one that was missing
      for (int i = 0; i < n; i += 3) f.view_host()(i) += 0.25;
      note.modify_host(4, f);

      note.sync_device(5, f);
      Kokkos::parallel_for("integrate", Range(0, n), KOKKOS_LAMBDA(int i) { xd(i) += 0.5 * fd(i); });
      note.modify_device(6, x);
    }
    note.sync_host(7, x);
    Result result(n);
    for (int i = 0; i < n; ++i) result[i] = x.view_host()(i);
    return result;
  }
};

}  // namespace kokkos_mutation_forces
using namespace kokkos_mutation_forces;

KOKKOS_TEST(KokkosDualViewMutation, ForcesOfADynamicsProgram) { check_mutants(8, Forces()); }
