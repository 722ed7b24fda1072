// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "support.hpp"

#include <KokkosBlas.hpp>

// Kokkos-Kernels really takes the specialisations, and they really end in the native library.
namespace {
using namespace test;

using Unmanaged = Kokkos::MemoryTraits<Kokkos::Unmanaged>;
using C1 = Kokkos::View<const double*, Left, Device, Unmanaged>;
using V1 = Kokkos::View<double*, Left, Device, Unmanaged>;
using C2 = Kokkos::View<const double**, Left, Device, Unmanaged>;
using V2 = Kokkos::View<double**, Left, Device, Unmanaged>;
using S2 = Kokkos::View<const double**, Kokkos::LayoutStride, Device, Unmanaged>;
using R0 = Kokkos::View<double, Left, Kokkos::HostSpace, Unmanaged>;
using R1 = Kokkos::View<double*, Left, Device, Unmanaged>;

#if SEMCACHE_KERNELS_INSTANCES
#define IS_CHOSEN(FUNCTION, ...) static_assert(FUNCTION##_tpl_spec_avail<Exec, __VA_ARGS__>::value)
#else
#define IS_CHOSEN(FUNCTION, ...) static_assert(FUNCTION##_tpl_spec_avail<__VA_ARGS__>::value)
#endif
using namespace KokkosBlas::Impl;
IS_CHOSEN(gemm, C2, C2, V2);
IS_CHOSEN(gemm, S2, C2, V2);
IS_CHOSEN(gemv, C2, C1, V1);
IS_CHOSEN(dot, R0, C1, C1);
IS_CHOSEN(dot, R1, C2, C2);
IS_CHOSEN(dot, R1, C2, C1);
IS_CHOSEN(nrm1, R1, C2);
IS_CHOSEN(nrm2, R0, C1);
IS_CHOSEN(nrm2, R1, C2);
IS_CHOSEN(nrm2w, R1, C2);
IS_CHOSEN(nrminf, R1, C2);
IS_CHOSEN(sum, R1, C2);
IS_CHOSEN(abs, V2, C2);
IS_CHOSEN(reciprocal, V2, C2);
IS_CHOSEN(axpby, double, C1, double, V1);
IS_CHOSEN(axpby, double, C2, double, V2);
IS_CHOSEN(axpby, C1, C2, C1, V2);
IS_CHOSEN(scal, V2, double, C2);
IS_CHOSEN(scal, V2, C1, C2);
IS_CHOSEN(update, C2, C2, V2);
IS_CHOSEN(mult, V2, C1, C2);
#undef IS_CHOSEN

int kernels_begun = 0;
void count(const char*, const std::uint32_t, std::uint64_t*) { ++kernels_begun; }

}  // namespace

#if defined(KOKKOSKERNELS_ENABLE_TPL_BLAS) || defined(KOKKOSKERNELS_ENABLE_TPL_CUBLAS)
KOKKOS_TEST(Chosen, ProductsAreTheLibrarys) {
  const Matrix a("a", 60, 60), b("b", 60, 60), c("c", 60, 60);
  const Vector x("x", 60), y("y", 60);
  namespace Tools = Kokkos::Tools::Experimental;
  Tools::set_begin_parallel_for_callback(count);
  Tools::set_begin_parallel_reduce_callback(count);
  kernels_begun = 0;
  const Since since;
  KokkosBlas::gemm("N", "N", 1.0, a, b, 0.0, c);
  KokkosBlas::gemv("T", 1.0, a, x, 0.0, y);
  Tools::set_callbacks(Tools::EventSet{});
  EXPECT_EQ(kernels_begun, 0);
  EXPECT_EQ(since.launches(), 2u);
  EXPECT_EQ(since.unknown(), 0u);
  EXPECT_EQ(since.native(), 0u);
}
#endif

KOKKOS_TEST(Chosen, PathsOfGenericKernelsAreTheNativeSpaces) {
  using namespace KokkosKernels::Impl;
  EXPECT_EQ(kk_get_exec_space_type<Exec>(), kk_get_exec_space_type<Exec::native_type>());
#if SEMCACHE_KERNELS_INSTANCES
  EXPECT_EQ(is_gpu_exec_space_v<Exec>, is_gpu_exec_space_v<Exec::native_type>);
#else
  EXPECT_EQ(kk_is_gpu_exec_space<Exec>(), kk_is_gpu_exec_space<Exec::native_type>());
#endif
}
