// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

// The tests of Kokkos' algorithms say Kokkos::DefaultExecutionSpace. They mean TEST_EXECSPACE, and all headers of Kokkos,
// which mean the default one, come before.
#include <Kokkos_Core.hpp>
#include <Kokkos_Random.hpp>
#include <Kokkos_Sort.hpp>
#include <Kokkos_StdAlgorithms.hpp>

namespace Kokkos {
using UpstreamExecutionSpace = TEST_EXECSPACE;
}
#define DefaultExecutionSpace UpstreamExecutionSpace
