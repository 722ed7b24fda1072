// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "bounce.hpp"

#include <cerrno>
#include <exception>
#include <new>

// Weak, because the preloaded library also meets programs without SemCache.
extern "C" __attribute__((weak)) const semcache::runtime::ForeignIo* semcache_foreign_io_1() noexcept;
/// A library that adopts parts of the program's arrays (packages/blas) opens those that overlap a buffer, because the buffer goes beyond them.
extern "C" __attribute__((weak, visibility("hidden"))) void semcache_open_beyond(const void* address, std::size_t bytes) noexcept;

namespace semcache::syscalls {
namespace {

const runtime::ForeignIo* io() noexcept { return semcache_foreign_io_1 != nullptr ? semcache_foreign_io_1() : nullptr; }

}  // namespace

bool is_mirror(const void* address, std::size_t bytes) noexcept {
  runtime::TrackedArray array;
  if (io() == nullptr) return false;
  const auto* const first = static_cast<const std::byte*>(address);
  const bool found = io()->find(address, array) && array.on_host;
  if (semcache_open_beyond == nullptr || (found && bytes <= static_cast<std::size_t>(array.address + array.bytes - first))) return found;
  semcache_open_beyond(address, bytes);
  return false;
}

bool is_mirror(void* address, std::size_t bytes) noexcept { return is_mirror(static_cast<const void*>(address), bytes); }

Bounce::Bounce(std::size_t bytes) : transit_(io()->take(bytes, base::Side::host)) {}

Bounce::~Bounce() { io()->give(transit_); }

void Bounce::from_mirror(const void* mirror, std::size_t bytes, char* at) const {
  const ByteRange piece{0, bytes};
  io()->read_out(mirror, &piece, 1, transit_, static_cast<std::size_t>(at - data()));
  io()->settle(transit_);
}

void Bounce::to_mirror(void* mirror, std::size_t bytes, const char* at) const {
  if (bytes == 0) return;
  const ByteRange piece{0, bytes};
  io()->write_in(mirror, &piece, 1, transit_, static_cast<std::size_t>(at - data()));
}

int error_of_exception() noexcept {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return ENOMEM;
  } catch (...) {
    return EFAULT;  // the kernel's error for a range that leaves the program's memory
  }
}

}  // namespace semcache::syscalls
