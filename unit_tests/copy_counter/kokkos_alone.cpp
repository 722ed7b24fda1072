// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors

/// Nothing but Kokkos' own start and end: what the driver copies for it is not the runtime's.
#include <Kokkos_Core.hpp>

int main(int argc, char** argv) {
  Kokkos::initialize(argc, argv);
  Kokkos::finalize();
  return 0;
}
