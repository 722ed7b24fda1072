// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/trace/detail/report_file.hpp>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>

namespace semcache::trace::detail {
namespace {

std::string reason() { return std::strerror(errno); }

std::string append(const std::string& path, const std::string& content, int flags) {
  const int file = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | flags);
  if (file < 0) return reason();
  const std::string why = write_all(file, content);
  ::close(file);
  return why;
}

/// Would writing so much make a file larger than the process may make files (`ulimit -f`)? The signal of such a write ends a program.
bool exceeds_size_limit(int file, std::size_t bytes) {
  rlimit limit{};
  struct stat now {};
  if (::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return false;
  if (::fstat(file, &now) != 0 || !S_ISREG(now.st_mode)) return false;
  const off_t begin = (::fcntl(file, F_GETFL) & O_APPEND) != 0 ? now.st_size : ::lseek(file, 0, SEEK_CUR);
  return static_cast<rlim_t>(begin) + bytes > limit.rlim_cur;
}

/// Gives a file that replaces `old` permissions with which only users that could read `old` can read it.
/// @return empty, or the reason why this failed
std::string take_over_permissions(int file, const struct stat& old) {
  mode_t mode = old.st_mode & 0777;
  if (::fchown(file, static_cast<uid_t>(-1), old.st_gid) != 0) mode &= ~static_cast<mode_t>(070);
  return ::fchmod(file, mode) == 0 ? std::string() : reason();
}

}  // namespace

std::string write_all(int file, const std::string& content) {
  if (exceeds_size_limit(file, content.size())) return std::strerror(EFBIG);
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
  const bool stream = path.rfind("/dev/", 0) == 0 || path.rfind("/proc/", 0) == 0;  // links here are the system's own
  const bool exists = (stream ? ::stat(path.c_str(), &now) : ::lstat(path.c_str(), &now)) == 0;
  if (exists && S_ISDIR(now.st_mode)) return std::strerror(EISDIR);
  if (exists && S_ISLNK(now.st_mode)) return "it is a symbolic link, which is not followed; name the file itself";
  if (exists && stream) return append(path, content, 0);
  if (exists && !S_ISREG(now.st_mode)) return append(path, content, O_NOFOLLOW);

  // Processes on other hosts may share the folder, so a file that exists may be another process's.
  constexpr int attempts = 100;
  std::string temporary;
  int file = -1;
  for (int i = 0; file < 0 && i < attempts; ++i) {
    temporary = path + ".tmp" + std::to_string(::getpid()) + "-" + std::to_string(i);
    file = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, exists ? 0600 : 0666);
    if (file < 0 && errno != EEXIST) return reason();
  }
  if (file < 0) return reason();

  std::string why = exists ? take_over_permissions(file, now) : std::string();
  if (why.empty()) why = write_all(file, content);
  // Some file systems report a full disk only here.
  if (::close(file) != 0 && why.empty()) why = reason();
  if (why.empty() && std::rename(temporary.c_str(), path.c_str()) != 0) why = reason();
  if (!why.empty()) ::unlink(temporary.c_str());
  return why;
}

}  // namespace semcache::trace::detail
