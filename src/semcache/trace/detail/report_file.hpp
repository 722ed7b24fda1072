// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <string>

namespace semcache::trace::detail {

/// Writes everything to an open file. @return empty, or why not
[[nodiscard]] std::string write_all(int file, const std::string& content);

/// Makes `content` the content of the file: a reader sees the old file or the whole new one, which permits nobody more than
/// the old one did. What is not a regular file (a pipe, /dev/stdout) is appended to instead: it must not be replaced.
/// A symbolic link is refused, but the system's own below /dev and /proc: who may write in the folder could lead us anywhere.
/// @return empty, or why not (nothing is left behind then)
[[nodiscard]] std::string replace_file(const std::string& path, const std::string& content);

}  // namespace semcache::trace::detail
