// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <cstdint>
#include <string>
#include <vector>

/// Readable names of types and code addresses. Slow (symbol tables): for reports only.
namespace semcache::trace::detail {

/// A std::type_info::name() or a linker symbol, demangled; the text itself where it is not a mangled name.
[[nodiscard]] std::string demangled(const char* name);

/// Where code lies.
struct CodePlace {
  std::string object;        ///< file name without folders; empty: in no loaded object
  std::uintptr_t offset = 0; ///< in the object, or the address itself
  [[nodiscard]] std::string text() const;
};
[[nodiscard]] CodePlace place_of(std::uintptr_t address);

/// A function at an address. File and line need debug information.
struct Function {
  std::string symbol;  ///< mangled, or where debug information knows no better as in the source
  std::string file;    ///< empty: not known
  int line = 0;
};
/// The function and those that it is inlined in, innermost first; empty where no symbol is known. With libbacktrace
/// from debug information and symbol tables, without it from the dynamic symbols alone.
[[nodiscard]] std::vector<Function> functions_at(std::uintptr_t address);

}  // namespace semcache::trace::detail
