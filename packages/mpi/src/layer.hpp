// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

/// The parts of the layer, one symbol for each source file with MPI calls. layer.cpp names all of them, so a program that
/// links the static library gets all parts or none.
namespace semcache::mpi {
extern const char point_to_point_part;
extern const char collectives_part;
extern const char completion_part;
extern const char files_and_packing_part;
extern const char fortran_part;
extern const char large_counts_part;
extern const char refused_part;
}  // namespace semcache::mpi
