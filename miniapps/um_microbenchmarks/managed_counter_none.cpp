// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "managed_counter.hpp"

namespace microbenchmarks {

void ManagedCounter::start() {}
std::optional<Counts> ManagedCounter::stop() { return std::nullopt; }

}  // namespace microbenchmarks
