// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "contents.hpp"
#include "driver.hpp"

#include <semcache/base/addresses.hpp>

#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <mutex>

namespace semcache::advisor {
namespace {

constexpr std::size_t host_piece = 16 << 10;  // stays in the processor's cache, and fits on small stacks of threads

/// Reads by a system call, which fails where an access would fault: the range may be longer than the memory (a copy between views
/// with gaps names one length for both sides), protected, or freed by another thread meanwhile.
bool read_host(unsigned char* to, std::uintptr_t from, std::size_t bytes) noexcept {
  iovec here{to, bytes}, there{base::pointer(from), bytes};
  return ::process_vm_readv(::getpid(), &here, 1, &there, 1, 0) == static_cast<ssize_t>(bytes);
}

template <class Read>
std::optional<Digest> digest_in_pieces(std::uintptr_t address, std::uint64_t bytes, unsigned char* piece, std::size_t piece_bytes,
                                       const Read& read) noexcept {
  DigestSum sum;
  for (std::uint64_t done = 0; done < bytes;) {
    const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(piece_bytes, bytes - done));
    if (!read(piece, address + done, n)) return std::nullopt;
    sum.add(piece, n);
    done += n;
  }
  return sum.digest();
}

}  // namespace

const char* why_no_host_memory() noexcept {
  const unsigned char byte = 1;
  unsigned char read = 0;
  if (read_host(&read, base::number(&byte), 1) && read == byte) return "";
  return errno == EPERM || errno == ENOSYS ? "the system refuses process_vm_readv (a container's seccomp rules, mostly)"
                                           : "process_vm_readv failed";
}

void wait_for_device(Memory memory, const void* address) noexcept {
  if (of_driver(memory) || memory == Memory::pinned) Driver::loaded().wait(address);
}

std::optional<Digest> digest_of(Memory memory, const void* address, std::uint64_t bytes) noexcept {
  const std::uintptr_t at = base::number(address);
  if (on_host(memory)) {
    std::array<unsigned char, host_piece> piece;
    return digest_in_pieces(at, bytes, piece.data(), piece.size(), read_host);
  }
  if (!of_driver(memory)) return std::nullopt;
  static std::mutex one_at_a_time;
  const std::lock_guard<std::mutex> lock(one_at_a_time);
  const Driver& driver = Driver::loaded();
  const Driver::Context context(driver, address);
  const Driver::Staging staging = driver.staging();
  if (staging.memory == nullptr) return std::nullopt;
  return digest_in_pieces(at, bytes, staging.memory, staging.bytes,
                          [&](unsigned char* to, std::uintptr_t from, std::size_t n) { return driver.read(to, from, n); });
}

}  // namespace semcache::advisor
