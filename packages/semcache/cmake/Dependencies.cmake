# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SPDX-FileCopyrightText: The SemCache contributors
tribits_package_define_dependencies(
  LIB_OPTIONAL_PACKAGES Kokkos KokkosKernels Tpetra
  TEST_OPTIONAL_PACKAGES Belos
  LIB_OPTIONAL_TPLS MPI CUDA)
