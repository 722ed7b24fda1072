// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <string>

namespace semcache::trace::detail {

/// Writes everything to an open file. @return empty, or the reason why the content could not be written
[[nodiscard]] std::string write_all(int file, const std::string& content);

/// Makes `content` the content of the file. A reader sees the old file or the whole new one, whose permissions are no wider than
/// those of the old one. A file that is not regular (a pipe, /dev/stdout) must not be replaced, so `content` is appended to it.
/// Symbolic links are refused, because another user who may write in the folder could direct the report to any file; the system's
/// own links below /dev and /proc are followed.
/// @return empty, or the reason why the file could not be written (nothing is left behind then)
[[nodiscard]] std::string replace_file(const std::string& path, const std::string& content);

}  // namespace semcache::trace::detail
