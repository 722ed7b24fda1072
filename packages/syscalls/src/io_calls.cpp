// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
//
// The C library's input and output on protected mirrors. When the kernel accesses a protected page, the call fails with EFAULT
// instead of raising a fault that could be served. So the kernel gets private memory: a write sends the mirror's content from
// there, and after a read exactly the bytes that arrived become the mirror's new content.
#include "bounce.hpp"
#include "next.hpp"

#include <cxxabi.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <vector>

using namespace semcache::syscalls;

namespace {

constexpr std::size_t chunk_bytes = std::size_t{8} << 20;

bool is_regular_file(int file) noexcept {
  struct stat status;
  return ::fstat(file, &status) == 0 && S_ISREG(status.st_mode);
}

bool always() noexcept { return true; }

/// Fills `bytes` bytes of a mirror from a source, a chunk at a time. `get(to, n, done)` returns what `read` returns.
/// @param insist  whether to go on after a full chunk, because the source does not block once it has delivered something
/// @return what `read` returns; bytes that arrived before an error count as success
template <class Get>
ssize_t fill(void* mirror, std::size_t bytes, bool insist, Get&& get) {
  std::size_t done = 0;
  try {
    const Bounce bounce(std::min(bytes, chunk_bytes));
    do {
      const std::size_t n = std::min(bytes - done, chunk_bytes);
      const ssize_t got = get(bounce.data(), n, done);
      if (got < 0) return done > 0 ? static_cast<ssize_t>(done) : got;
      const int error = errno;
      bounce.to_mirror(static_cast<char*>(mirror) + done, std::min(static_cast<std::size_t>(got), n));
      errno = error;
      done += static_cast<std::size_t>(got);
      if (static_cast<std::size_t>(got) != n) break;
    } while (insist && done < bytes);
    return static_cast<ssize_t>(done);
  } catch (const abi::__forced_unwind&) {  // the thread is cancelled in the call
    throw;
  } catch (...) {
    if (done > 0) return static_cast<ssize_t>(done);
    errno = error_of_exception();
    return -1;
  }
}

/// Writes `bytes` bytes of a mirror to a sink, a chunk at a time. `put(from, n, done)` returns what `write` returns.
/// @return what `write` returns; bytes that were written before an error count as success
template <class Put>
ssize_t drain(const void* mirror, std::size_t bytes, Put&& put) {
  std::size_t done = 0;
  try {
    const Bounce bounce(std::min(bytes, chunk_bytes));
    do {
      const std::size_t n = std::min(bytes - done, chunk_bytes);
      const int error = errno;
      bounce.from_mirror(static_cast<const char*>(mirror) + done, n);
      errno = error;
      const ssize_t put_bytes = put(bounce.data(), n, done);
      if (put_bytes < 0) return done > 0 ? static_cast<ssize_t>(done) : put_bytes;
      done += static_cast<std::size_t>(put_bytes);
      if (static_cast<std::size_t>(put_bytes) != n) break;
    } while (done < bytes);
    return static_cast<ssize_t>(done);
  } catch (const abi::__forced_unwind&) {  // the thread is cancelled in the call
    throw;
  } catch (...) {
    if (done > 0) return static_cast<ssize_t>(done);
    errno = error_of_exception();
    return -1;
  }
}

/// The next buffers of a vectored call, with at most `chunk_bytes` bytes of mirrors among them.
class Portion {
 public:
  /// Begins at byte `begin` of buffer `first`.
  Portion(const iovec* vectors, int count, int first, std::size_t begin) {
    for (int i = first; i < count && mirror_bytes_ < chunk_bytes; ++i, begin = 0) {
      iovec v{static_cast<char*>(vectors[i].iov_base) + begin, vectors[i].iov_len - begin};
      const bool mirror = v.iov_len > 0 && is_mirror(v.iov_base, v.iov_len);
      if (mirror) {
        v.iov_len = std::min(v.iov_len, chunk_bytes - mirror_bytes_);
        mirror_bytes_ += v.iov_len;
      }
      parts_.push_back({v, mirror});
      bytes_ += v.iov_len;
    }
  }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

  /// Calls `all(vectors, count)` with private memory in place of the mirrors. Returns its result.
  template <class All>
  ssize_t run(bool reads, All&& all) const {
    const Bounce bounce(mirror_bytes_);
    std::vector<iovec> substitutes;
    char* free = bounce.data();
    for (const Part& p : parts_) {
      iovec v = p.vector;
      if (p.mirror) {
        v.iov_base = free;
        if (!reads) bounce.from_mirror(p.vector.iov_base, v.iov_len, free);
        free += v.iov_len;
      }
      substitutes.push_back(v);
    }
    const ssize_t result = all(substitutes.data(), static_cast<int>(substitutes.size()));
    std::size_t rest = result > 0 && reads ? static_cast<std::size_t>(result) : 0;
    const int error = errno;
    for (std::size_t i = 0; i < parts_.size() && rest > 0; ++i) {
      const iovec& v = parts_[i].vector;
      const std::size_t n = std::min(rest, v.iov_len);
      if (parts_[i].mirror) bounce.to_mirror(v.iov_base, n, static_cast<char*>(substitutes[i].iov_base));
      rest -= n;
    }
    errno = error;
    return result;
  }

 private:
  struct Part {
    iovec vector;
    bool mirror;
  };
  std::vector<Part> parts_;
  std::size_t bytes_ = 0, mirror_bytes_ = 0;
};

/// Makes a vectored call, a portion at a time. `all(vectors, count, done)` makes the call itself, after `done` bytes.
/// @param insist  returns whether to go on after a full portion, because the file does not block once it has delivered
///                something
template <class All, class Insist>
ssize_t vectored(const iovec* vectors, int count, bool reads, All&& all, Insist&& insist) {
  bool any = false;
  for (int i = 0; i < count; ++i) any = any || (vectors[i].iov_len > 0 && is_mirror(vectors[i].iov_base, vectors[i].iov_len));
  if (!any) return all(vectors, count, 0);
  std::size_t done = 0;
  int first = 0;
  std::size_t begin = 0;  // in buffer `first`
  try {
    do {
      const Portion portion(vectors, count, first, begin);
      const ssize_t n = portion.run(reads, [&](const iovec* v, int k) { return all(v, k, done); });
      if (n < 0) return done > 0 ? static_cast<ssize_t>(done) : n;
      done += static_cast<std::size_t>(n);
      if (static_cast<std::size_t>(n) != portion.bytes()) break;
      for (begin += portion.bytes(); first < count && begin >= vectors[first].iov_len; ++first) {
        begin -= vectors[first].iov_len;
      }
    } while (first < count && insist());
    return static_cast<ssize_t>(done);
  } catch (const abi::__forced_unwind&) {  // the thread is cancelled in the call
    throw;
  } catch (...) {
    if (done > 0) return static_cast<ssize_t>(done);
    errno = error_of_exception();
    return -1;
  }
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

// --- files and pipes ------------------------------------------------------------------------------------------------

ssize_t read(int file, void* to, size_t bytes) {
  if (!is_mirror(to, bytes)) return SEMCACHE_NEXT(read)(file, to, bytes);
  return fill(to, bytes, is_regular_file(file),
              [&](char* b, size_t n, size_t) { return SEMCACHE_NEXT(read)(file, b, n); });
}
ssize_t write(int file, const void* from, size_t bytes) {
  if (!is_mirror(from, bytes)) return SEMCACHE_NEXT(write)(file, from, bytes);
  return drain(from, bytes, [&](const char* b, size_t n, size_t) { return SEMCACHE_NEXT(write)(file, b, n); });
}

#define SEMCACHE_POSITIONED(suffix, offset_type)                                                               \
  ssize_t pread##suffix(int file, void* to, size_t bytes, offset_type at) {                                    \
    if (!is_mirror(to, bytes)) return SEMCACHE_NEXT(pread##suffix)(file, to, bytes, at);                              \
    return fill(to, bytes, true, [&](char* b, size_t n, size_t done) {                                         \
      return SEMCACHE_NEXT(pread##suffix)(file, b, n, at + static_cast<offset_type>(done));                    \
    });                                                                                                        \
  }                                                                                                            \
  ssize_t pwrite##suffix(int file, const void* from, size_t bytes, offset_type at) {                           \
    if (!is_mirror(from, bytes)) return SEMCACHE_NEXT(pwrite##suffix)(file, from, bytes, at);                         \
    return drain(from, bytes, [&](const char* b, size_t n, size_t done) {                                      \
      return SEMCACHE_NEXT(pwrite##suffix)(file, b, n, at + static_cast<offset_type>(done));                   \
    });                                                                                                        \
  }                                                                                                            \
  ssize_t preadv##suffix(int file, const iovec* vectors, int count, offset_type at) {                          \
    return vectored(                                                                                           \
        vectors, count, true,                                                                                  \
        [&](const iovec* v, int n, std::size_t done) {                                                         \
          return SEMCACHE_NEXT(preadv##suffix)(file, v, n, at + static_cast<offset_type>(done));               \
        },                                                                                                     \
        always);                                                                                               \
  }                                                                                                            \
  ssize_t pwritev##suffix(int file, const iovec* vectors, int count, offset_type at) {                         \
    return vectored(                                                                                           \
        vectors, count, false,                                                                                 \
        [&](const iovec* v, int n, std::size_t done) {                                                         \
          return SEMCACHE_NEXT(pwritev##suffix)(file, v, n, at + static_cast<offset_type>(done));              \
        },                                                                                                     \
        always);                                                                                               \
  }
SEMCACHE_POSITIONED(, off_t)
SEMCACHE_POSITIONED(64, off64_t)
#undef SEMCACHE_POSITIONED

// With flags; an offset of -1 is the file's own position, which moves on by itself.
#define SEMCACHE_WITH_FLAGS(suffix, offset_type)                                                                                                  \
  ssize_t preadv##suffix(int file, const iovec* vectors, int count, offset_type at, int flags) {                                                  \
    return vectored(                                                                                                                              \
        vectors, count, true,                                                                                                                     \
        [&](const iovec* v, int n, std::size_t done) {                                                                                            \
          return SEMCACHE_NEXT(preadv##suffix)(file, v, n, at == -1 ? at : at + static_cast<offset_type>(done), flags);                           \
        },                                                                                                                                        \
        [&] { return at != -1 || is_regular_file(file); });                                                                                       \
  }                                                                                                                                               \
  ssize_t pwritev##suffix(int file, const iovec* vectors, int count, offset_type at, int flags) {                                                 \
    return vectored(                                                                                                                              \
        vectors, count, false,                                                                                                                    \
        [&](const iovec* v, int n, std::size_t done) {                                                                                            \
          return SEMCACHE_NEXT(pwritev##suffix)(file, v, n, at == -1 ? at : at + static_cast<offset_type>(done), flags);                          \
        },                                                                                                                                        \
        always);                                                                                                                                  \
  }
SEMCACHE_WITH_FLAGS(2, off_t)
SEMCACHE_WITH_FLAGS(64v2, off64_t)
#undef SEMCACHE_WITH_FLAGS

ssize_t readv(int file, const iovec* vectors, int count) {
  return vectored(
      vectors, count, true, [&](const iovec* v, int n, std::size_t) { return SEMCACHE_NEXT(readv)(file, v, n); },
      [&] { return is_regular_file(file); });
}
ssize_t writev(int file, const iovec* vectors, int count) {
  return vectored(
      vectors, count, false, [&](const iovec* v, int n, std::size_t) { return SEMCACHE_NEXT(writev)(file, v, n); },
      always);
}

// --- streams --------------------------------------------------------------------------------------------------------

#define SEMCACHE_STREAM(suffix)                                                          \
  size_t fread##suffix(void* to, size_t size, size_t count, FILE* file) {                \
    if (size == 0 || count > SIZE_MAX / size || !is_mirror(to, size * count)) {                        \
      return SEMCACHE_NEXT(fread##suffix)(to, size, count, file);                        \
    }                                                                                    \
    const ssize_t got = fill(to, size * count, true, [&](char* b, size_t n, size_t) {    \
      return static_cast<ssize_t>(SEMCACHE_NEXT(fread##suffix)(b, 1, n, file));          \
    });                                                                                  \
    return got < 0 ? 0 : static_cast<size_t>(got) / size;                                \
  }                                                                                      \
  size_t fwrite##suffix(const void* from, size_t size, size_t count, FILE* file) {       \
    if (size == 0 || count > SIZE_MAX / size || !is_mirror(from, size * count)) {                      \
      return SEMCACHE_NEXT(fwrite##suffix)(from, size, count, file);                     \
    }                                                                                    \
    const ssize_t put = drain(from, size * count, [&](const char* b, size_t n, size_t) { \
      return static_cast<ssize_t>(SEMCACHE_NEXT(fwrite##suffix)(b, 1, n, file));         \
    });                                                                                  \
    return put < 0 ? 0 : static_cast<size_t>(put) / size;                                \
  }
SEMCACHE_STREAM()
SEMCACHE_STREAM(_unlocked)
#undef SEMCACHE_STREAM

// --- sockets --------------------------------------------------------------------------------------------------------

ssize_t recv(int socket, void* to, size_t bytes, int flags) {
  if (!is_mirror(to, bytes)) return SEMCACHE_NEXT(recv)(socket, to, bytes, flags);
  return fill(to, bytes, (flags & MSG_WAITALL) != 0 && (flags & MSG_PEEK) == 0,
              [&](char* b, size_t n, size_t) { return SEMCACHE_NEXT(recv)(socket, b, n, flags); });
}
ssize_t send(int socket, const void* from, size_t bytes, int flags) {
  if (!is_mirror(from, bytes)) return SEMCACHE_NEXT(send)(socket, from, bytes, flags);
  return drain(from, bytes, [&](const char* b, size_t n, size_t) { return SEMCACHE_NEXT(send)(socket, b, n, flags); });
}
ssize_t recvfrom(int socket, void* to, size_t bytes, int flags, sockaddr* address, socklen_t* length) {
  if (!is_mirror(to, bytes)) return SEMCACHE_NEXT(recvfrom)(socket, to, bytes, flags, address, length);
  return fill(to, bytes, false,
              [&](char* b, size_t n, size_t) { return SEMCACHE_NEXT(recvfrom)(socket, b, n, flags, address, length); });
}
ssize_t sendto(int socket, const void* from, size_t bytes, int flags, const sockaddr* address, socklen_t length) {
  if (!is_mirror(from, bytes)) return SEMCACHE_NEXT(sendto)(socket, from, bytes, flags, address, length);
  return drain(from, bytes, [&](const char* b, size_t n, size_t) {
    return SEMCACHE_NEXT(sendto)(socket, b, n, flags, address, length);
  });
}

/// A message is one portion, because a datagram cannot be sent in pieces. What a stream takes or brings at once may be less.
ssize_t sendmsg(int socket, const msghdr* message, int flags) {
  return vectored(
      message->msg_iov, static_cast<int>(message->msg_iovlen), false,
      [&](const iovec* v, int n, std::size_t) {
        msghdr m = *message;
        m.msg_iov = const_cast<iovec*>(v);
        m.msg_iovlen = static_cast<std::size_t>(n);
        return SEMCACHE_NEXT(sendmsg)(socket, &m, flags);
      },
      [] { return false; });
}
ssize_t recvmsg(int socket, msghdr* message, int flags) {
  return vectored(
      message->msg_iov, static_cast<int>(message->msg_iovlen), true,
      [&](const iovec* v, int n, std::size_t) {
        msghdr m = *message;
        m.msg_iov = const_cast<iovec*>(v);
        m.msg_iovlen = static_cast<std::size_t>(n);
        const ssize_t got = SEMCACHE_NEXT(recvmsg)(socket, &m, flags);
        m.msg_iov = message->msg_iov;
        m.msg_iovlen = message->msg_iovlen;
        *message = m;
        return got;
      },
      [] { return false; });
}

// --- calls of programs that were compiled with _FORTIFY_SOURCE ------------------------------------------------------

[[noreturn]] void __chk_fail();

ssize_t __read_chk(int file, void* to, size_t bytes, size_t room) {
  if (bytes > room) __chk_fail();
  return read(file, to, bytes);
}
ssize_t __pread_chk(int file, void* to, size_t bytes, off_t at, size_t room) {
  if (bytes > room) __chk_fail();
  return pread(file, to, bytes, at);
}
ssize_t __pread64_chk(int file, void* to, size_t bytes, off64_t at, size_t room) {
  if (bytes > room) __chk_fail();
  return pread64(file, to, bytes, at);
}
ssize_t __recv_chk(int socket, void* to, size_t bytes, size_t room, int flags) {
  if (bytes > room) __chk_fail();
  return recv(socket, to, bytes, flags);
}
ssize_t __recvfrom_chk(int socket, void* to, size_t bytes, size_t room, int flags, sockaddr* address,
                       socklen_t* length) {
  if (bytes > room) __chk_fail();
  return recvfrom(socket, to, bytes, flags, address, length);
}
size_t __fread_chk(void* to, size_t room, size_t size, size_t count, FILE* file) {
  if (size != 0 && count > room / size) __chk_fail();
  return fread(to, size, count, file);
}
size_t __fread_unlocked_chk(void* to, size_t room, size_t size, size_t count, FILE* file) {
  if (size != 0 && count > room / size) __chk_fail();
  return fread_unlocked(to, size, count, file);
}

}  // extern "C"
#pragma GCC visibility pop
