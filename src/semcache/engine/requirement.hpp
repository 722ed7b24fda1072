// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/memory/memory.hpp>

namespace semcache::engine {

using memory::Memory;

/// What an access needs before it uses bytes of an array.
struct Requirement {
  Memory* memory;   ///< the array, and the place where the bytes are used: this memory's
  ByteRange range;
  Access mode;      ///< `overwrite` needs no content; all but `read` take from nobody what he wants of the former content
};

}  // namespace semcache::engine
