// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/kernels.hpp>

#include <KokkosBlas.hpp>

#include <cstdio>

/// A product twice: its operand moves once, and no launch is unknown.
static int run() {
  using Multivector = Kokkos::View<double**, Kokkos::LayoutLeft, semcache::Device>;
  constexpr int rows = 10000;
  const Multivector v("v", rows, 2);
  const Multivector product("product", 2, 2);
  const auto v_host = Kokkos::create_mirror_view(v);
  for (int i = 0; i < rows; ++i) {
    v_host(i, 0) = 1;
    v_host(i, 1) = 2;
  }
  Kokkos::deep_copy(v, v_host);
  for (int round = 0; round < 2; ++round) KokkosBlas::gemm("T", "N", 1.0, v, v, 0.0, product);
  const auto product_host = Kokkos::create_mirror_view(product);
  Kokkos::deep_copy(product_host, product);
  const double found = product_host(0, 1);
  const semcache::Counters c = semcache::statistics().total;
  if (found == 2 * rows && c.h2d.bytes == 2 * rows * sizeof(double) && c.unknown_launches == 0) return 0;
  std::fprintf(stderr, "found %g, moved %llu bytes, %llu unknown launches\n", found,
               static_cast<unsigned long long>(c.h2d.bytes), static_cast<unsigned long long>(c.unknown_launches));
  return 1;
}

int main(int argc, char** argv) {
  Kokkos::initialize(argc, argv);
  const int code = run();
  Kokkos::finalize();
  return code;
}
