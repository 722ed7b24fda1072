// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include "call.hpp"

namespace semcache::mpi {

/// Returns whether the call uses tracked memory of this buffer.
inline bool used(const void* buffer, MPI_Count count, MPI_Datatype type) {
  return buffer != MPI_IN_PLACE && Call::concerns(buffer, count, type);
}

}  // namespace semcache::mpi

// Defines a call that is refused where `is_tracked`, a condition on its arguments, holds, and passes through otherwise.
#define SEMCACHE_REFUSED(name, target, refusal, parameters, arguments, is_tracked)  \
  int MPI_##name parameters {                                                       \
    if (is_tracked) return refuse(target, Refusal::refusal, "MPI_" #name, nullptr); \
    return PMPI_##name arguments;                                                   \
  }
