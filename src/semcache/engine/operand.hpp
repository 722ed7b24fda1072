// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

namespace semcache::memory {
struct Memory;
}

namespace semcache::engine {

using memory::Memory;

/// An array that a launch uses; `writable` if the launch may write it.
struct Operand {
  Memory* memory;
  bool writable;
};

}  // namespace semcache::engine
