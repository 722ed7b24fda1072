// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
//
// What does not compile, one case a macro. Without any it compiles.
#include <semcache/kokkos.hpp>

#include <Kokkos_Graph.hpp>

using semcache::Exec;

struct Nothing {
  KOKKOS_FUNCTION void operator()(int) const {}
};

#ifdef REFUSE_WORK_GRAPH
void work_graph(const Kokkos::WorkGraphPolicy<Exec>& policy) { Kokkos::parallel_for(policy, Nothing()); }
#endif

#ifdef REFUSE_GRAPH
void graph() {
  Kokkos::Experimental::create_graph<Exec>(
      [](const auto& root) { root.then_parallel_for(Kokkos::RangePolicy<Exec>(0, 1), Nothing()); });
}
#endif

#ifdef REFUSE_NATIVE_ALGORITHM
#include <Kokkos_StdAlgorithms.hpp>

void native_algorithm(const Kokkos::View<double*, semcache::Device>& x) {
  Kokkos::Experimental::fill(Exec::native_type(), x, 1.0);
}
#endif

#ifdef REFUSE_DUAL_VIEW_WITHOUT_A_DEVICE
semcache::DualView<double*> without_a_device("without", 1);
#endif
