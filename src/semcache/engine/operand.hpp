// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/base/region.hpp>
#include <semcache/timeline/clock.hpp>

#include <cstddef>

namespace semcache::memory {
struct Memory;
}

namespace semcache::engine {

using memory::Memory;
using timeline::Clock;

/// An array that a launch uses; `writable` if the launch may write it.
struct Operand {
  Memory* memory;
  bool writable;
};

/// What an access needs before it uses bytes of an array: the bytes must be present in this memory, as the mode demands.
struct Requirement {
  Memory* memory = nullptr;  ///< the array's memory in the space where the bytes are used
  Region range;
  Access mode = Access::read;  ///< `overwrite` needs no content; all modes but `read` save what others want of the former content
  SpaceId first = {};          ///< of devices that have the content and are equally near, it comes from this one; invalid: from any
};

/// What a launch uses of its operands. An operand of which no part is listed is used as a whole.
struct OperandParts {
  Requirement* first = nullptr;
  std::size_t count = 0;
  [[nodiscard]] Requirement* begin() const noexcept { return first; }
  [[nodiscard]] Requirement* end() const noexcept { return first + count; }
  [[nodiscard]] bool has(const Memory& memory) const noexcept {
    for (const Requirement& part : *this) {
      if (part.memory == &memory) return true;
    }
    return false;
  }
};

}  // namespace semcache::engine
