// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <string>

/// Readable names of types and code addresses. Slow (symbol tables): for reports only.
namespace semcache::trace::detail {

/// A std::type_info::name() or a linker symbol, demangled; the text itself where it is not a mangled name.
[[nodiscard]] std::string demangled(const char* name);

/// The call that returns to `address`: "function(args)+0x1c (program+0x4a1c)". Without a symbol, the part in
/// parentheses alone, which `addr2line -Cfe program 0x4a1c` resolves; an address of no loaded object as a number.
[[nodiscard]] std::string describe_code_address(const void* address);

}  // namespace semcache::trace::detail
