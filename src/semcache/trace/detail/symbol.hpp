// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <cstdint>
#include <string>
#include <vector>

/// Readable names of types and code addresses. Slow (symbol tables): for reports only.
namespace semcache::trace::detail {

/// Demangles a std::type_info::name() or a linker symbol; returns the text itself if it is not a mangled name.
[[nodiscard]] std::string demangled(const char* name);

/// The place of a code address: a loaded object, and the offset in it.
struct CodePlace {
  std::string object;        ///< file name without folders; empty: the address is in no loaded object
  std::uintptr_t offset = 0; ///< in the object; without an object, and in a program that is not relocated, the address itself
  [[nodiscard]] std::string text() const;
};
[[nodiscard]] CodePlace place_of(std::uintptr_t address);

/// A function at an address. File and line need debug information.
struct Function {
  std::string symbol;  ///< mangled, or as in the source if the debug information has no mangled name
  std::string file;    ///< empty: not known
  int line = 0;
};
/// Returns the function at the address and those in which it is inlined, innermost first; empty if no symbol is known. With
/// libbacktrace the names come from debug information and symbol tables, without it from the dynamic symbols alone.
[[nodiscard]] std::vector<Function> functions_at(std::uintptr_t address);

}  // namespace semcache::trace::detail
