// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

// TestScatterView.hpp takes a hundred times as many elements for a GPU, and any space that it does not know is one. On the
// emulated device they took more time than all other programs together. The test takes the smaller number in debug builds of
// Kokkos; all headers of Kokkos, to which the macro means more, come before.
#include <Kokkos_ScatterView.hpp>
#if !defined(KOKKOS_ENABLE_CUDA) && !defined(KOKKOS_ENABLE_DEBUG)
#define KOKKOS_ENABLE_DEBUG
#endif
