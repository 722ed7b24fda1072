# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SPDX-FileCopyrightText: The SemCache contributors
#
# The core needs no other package, but programs inside Trilinos use it through Kokkos. So a build that enables SemCache alone also
# gets Kokkos, with all its parts (in Trilinos 13 they are packages of their own, and Kokkos itself requires its core only).
set(semcache_needs Kokkos)
foreach(part IN LISTS Kokkos_SUBPACKAGES)
  list(APPEND semcache_needs Kokkos${part})
endforeach()
tribits_package_define_dependencies(
  LIB_REQUIRED_PACKAGES ${semcache_needs}
  LIB_OPTIONAL_PACKAGES KokkosKernels Tpetra
  TEST_OPTIONAL_PACKAGES Belos
  LIB_OPTIONAL_TPLS MPI CUDA)
