// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "device_addresses.hpp"

#include "mpi_api.hpp"

namespace semcache::mpi {

bool library_takes_device_addresses() {
#if defined(MPIX_CUDA_AWARE_SUPPORT)
  return MPIX_Query_cuda_support() == 1;
#else
  return false;
#endif
}

}  // namespace semcache::mpi
