// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/base/addresses.hpp>
#include <semcache/memory/arena.hpp>

#include <algorithm>

namespace semcache::memory {

/// So many addresses one arena takes at most, where they are limited: the rest stays the program's.
inline std::uint64_t share_of_addresses() { return std::max(base::addresses_left() / 4, large_alignment); }

}  // namespace semcache::memory
