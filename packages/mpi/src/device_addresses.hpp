// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

namespace semcache::mpi {

/// Does the MPI library say that it takes device addresses ("CUDA-aware")? False where it does not say.
[[nodiscard]] bool library_takes_device_addresses();

}  // namespace semcache::mpi
