# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SPDX-FileCopyrightText: The SemCache contributors
#
# The core needs nothing, but in Trilinos it is Kokkos' programs that use it: who enables SemCache alone gets Kokkos,
# with all its parts (in Trilinos 13 they are packages of their own, and Kokkos itself asks for its core only).
set(semcache_needs Kokkos)
foreach(part IN LISTS Kokkos_SUBPACKAGES)
  list(APPEND semcache_needs Kokkos${part})
endforeach()
tribits_package_define_dependencies(
  LIB_REQUIRED_PACKAGES ${semcache_needs}
  LIB_OPTIONAL_PACKAGES KokkosKernels Tpetra
  TEST_OPTIONAL_PACKAGES Belos
  LIB_OPTIONAL_TPLS MPI CUDA)
