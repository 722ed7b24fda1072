// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <string>
#include <string_view>
#include <vector>

/// What users write into variables and files.
namespace semcache::runtime {

/// Returns the text for a message, with control characters made visible and the length bounded.
[[nodiscard]] std::string quoted(std::string_view text);
/// Removes blanks at either end. They come from shell scripts and job files, and never carry meaning.
[[nodiscard]] std::string_view trimmed(std::string_view text);
/// Returns what lies between the commas, without blanks at either end. A comma at the end has an empty item behind it.
[[nodiscard]] std::vector<std::string_view> items_of(std::string_view text);

}  // namespace semcache::runtime
