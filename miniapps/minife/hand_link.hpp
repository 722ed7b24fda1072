// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

/// The spaces of the hand-placed variants' arrays (`HandSpaces`) and the copies between the two sides (`HandLink`). With CUDA
/// these are stock Kokkos, without SemCache. Otherwise they use semcache's emulated device with its protocol switched off,
/// which copies at each deep_copy exactly what it names, and counts. In the program minife-stock they are stock Kokkos always.
#include <Kokkos_Core.hpp>

#ifdef KOKKOS_ENABLE_CUDA
#include <minife/hand_link_cuda.hpp>
#elif defined(MINIFE_STOCK)
#include <minife/hand_link_stock.hpp>
#else
#include <minife/hand_link_emulated.hpp>
#endif
