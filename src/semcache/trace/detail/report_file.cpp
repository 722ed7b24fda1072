// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/trace/detail/report_file.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

namespace semcache::trace::detail {
namespace {

std::string reason() { return std::strerror(errno); }

bool starts_with(const std::string& text, const char* prefix) { return text.rfind(prefix, 0) == 0; }

std::string append(const std::string& path, const std::string& content) {
  const int file = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (file < 0) return reason();
  const std::string why = write_all(file, content);
  ::close(file);
  return why;
}

}  // namespace

std::string write_all(int file, const std::string& content) {
  std::size_t done = 0;
  while (done < content.size()) {
    const ssize_t n = ::write(file, content.data() + done, content.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return reason();
    done += static_cast<std::size_t>(n);
  }
  return {};
}

std::string replace_file(const std::string& path, const std::string& content) {
  struct stat now {};
  const bool exists = ::stat(path.c_str(), &now) == 0;
  const bool stream = starts_with(path, "/dev/") || starts_with(path, "/proc/");
  if (exists && S_ISDIR(now.st_mode)) return std::strerror(EISDIR);
  if (exists && (stream || !S_ISREG(now.st_mode))) return append(path, content);

  std::string target = path;
  if (const std::unique_ptr<char, void (*)(void*)> real(exists ? ::realpath(path.c_str(), nullptr) : nullptr, &std::free);
      real) {
    target = real.get();
  }

  // Processes on other hosts may share the folder: a name that exists is somebody else's.
  constexpr int attempts = 100;
  std::string temporary;
  int file = -1;
  for (int i = 0; file < 0 && i < attempts; ++i) {
    temporary = target + ".tmp" + std::to_string(::getpid()) + "-" + std::to_string(i);
    file = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file < 0 && errno != EEXIST) return reason();
  }
  if (file < 0) return reason();

  std::string why = write_all(file, content);
  // Some file systems report a full disk only here.
  if (::close(file) != 0 && why.empty()) why = reason();
  if (why.empty() && std::rename(temporary.c_str(), target.c_str()) != 0) why = reason();
  if (!why.empty()) ::unlink(temporary.c_str());
  return why;
}

}  // namespace semcache::trace::detail
