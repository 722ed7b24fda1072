// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "benchmarks.hpp"

namespace microbenchmarks {

std::optional<std::string> managed_refusal(std::uint64_t) { return "this build's Kokkos has no CUDA"; }
Measurement run_managed(Name, std::size_t) { return {}; }

}  // namespace microbenchmarks
