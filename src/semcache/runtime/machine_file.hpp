// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/device/emulated/virtual_clock.hpp>

#include <string>
#include <string_view>

namespace semcache::runtime {

/// Reads the text of a machine file (docs/reference/emulated.md): lines `key = value`, with comments behind #.
/// @param name  of the file, for messages
/// @throws ConfigurationError  a line cannot be used; the text names the file, the line, what is wrong and what is accepted
[[nodiscard]] SEMCACHE_API device::MachineModel read_machine(std::string_view text, const std::string& name);

}  // namespace semcache::runtime
