// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "device_addresses.hpp"

#include <mpi.h>
// Open MPI's extensions; other libraries have no such header, or say nothing of CUDA in it.
#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif

namespace semcache::mpi {

bool library_takes_device_addresses() {
#if defined(MPIX_CUDA_AWARE_SUPPORT)
  return MPIX_Query_cuda_support() == 1;
#else
  return false;
#endif
}

}  // namespace semcache::mpi
