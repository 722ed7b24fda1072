// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

/// Where the arrays of the hand-placed variants are, and the copies between the two sides: `HandSpaces` and `HandLink`.
/// With CUDA: stock Kokkos, nothing of ours. Without: semcache's emulated device with its protocol switched off, which
/// then copies what deep_copy says when it says so, and counts.
#include <Kokkos_Core.hpp>

#ifdef KOKKOS_ENABLE_CUDA
#include <minife/hand_link_cuda.hpp>
#else
#include <minife/hand_link_emulated.hpp>
#endif
