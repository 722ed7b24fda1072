// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "layer.hpp"

using namespace semcache::mpi;

/// The symbol that the linker is made to look for (`--undefined` in CMakeLists.txt).
extern "C" {
extern const char* const semcache_mpi_layer[];
const char* const semcache_mpi_layer[] = {&point_to_point_part, &collectives_part, &completion_part,
                                          &files_and_packing_part, &fortran_part, &large_counts_part, &refused_part};
}
