// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include "blocks.hpp"

#include <cstddef>
#include <cstdint>

/// Freed blocks that stay adopted, and so page-locked, for later blocks of like size. There are none before a call has been offloaded, and none
/// in a forked child but for those that its parent had. Threads: any.
namespace semcache::blas::kept {

/// Takes a block that the program has freed, which `blocks::take` has returned. Its content dies. It is kept if a call has used it on the device,
/// and otherwise unmapped. Where more bytes are kept than may be (SEMCACHE_BLAS_KEEP), the blocks that were freed first are unmapped.
void put(const blocks::Block& block) noexcept;
/// Returns a kept block that serves for this size (`blocks::serves`), and notes it. Its content is anything. @return nullptr: there is none
[[nodiscard]] void* get(std::size_t bytes, std::size_t alignment) noexcept;
/// Unmaps all kept blocks, because memory is short or the program wants it back. @return whether there was any
bool give_back() noexcept;
/// Returns how many blocks have served again since the last call of this function.
[[nodiscard]] std::uint64_t take_count() noexcept;

}  // namespace semcache::blas::kept
