// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "bounce.hpp"

#include "undisturbed.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <exception>
#include <new>

// Weak, because the preloaded library also meets programs without SemCache.
extern "C" __attribute__((weak)) const semcache::runtime::ForeignIo* semcache_foreign_io_1() noexcept;

namespace semcache::syscalls {
namespace {

const runtime::ForeignIo* io() noexcept { return semcache_foreign_io_1 != nullptr ? semcache_foreign_io_1() : nullptr; }

/// Bytes behind an address that are all of one mirror, or all of the program's other memory, amid which adopted memory begins and ends.
struct Part {
  bool mirror;
  std::size_t bytes;
  runtime::TrackedArray array;  ///< the mirror; its `memory` is nullptr where the buffer has left a mirror for SemCache's own memory
};
Part part_at(const std::byte* at, std::size_t most) noexcept {
  static const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  Part part{};
  // An array is found by its pages, whose last one it may not fill.
  const bool found = io()->find(at, part.array) && at < part.array.address + part.array.bytes;
  const std::size_t bytes = found ? static_cast<std::size_t>(part.array.address + part.array.bytes - at)
                                  : page - reinterpret_cast<std::uintptr_t>(at) % page;
  part.bytes = std::min(most, bytes);
  part.mirror = found ? part.array.on_host : io()->overlaps(at, at + part.bytes - 1);
  if (!found) part.array = {};
  return part;
}

/// Calls `visit(part, offset)` for the parts of a buffer. @return false if `visit` has returned false, which ends it
template <class Visit>
bool for_each_part(const void* buffer, std::size_t bytes, const Visit& visit) {
  for (std::size_t done = 0; done < bytes;) {
    const Part part = part_at(static_cast<const std::byte*>(buffer) + done, bytes - done);
    if (!visit(part, done)) return false;
    done += part.bytes;
  }
  return true;
}

/// Copies a part of a buffer: `by_runtime(piece)` where it is a mirror, `plainly()` where it is in none.
template <class ByRuntime, class Plainly>
void copy_part(const Part& part, const ByRuntime& by_runtime, const Plainly& plainly) {
  if (!part.mirror) return plainly();
  const Undisturbed undisturbed;
  try {
    by_runtime(ByteRange{0, part.bytes});
  } catch (...) {
    if (part.array.memory == nullptr || io()->still_there(part.array)) throw;
    plainly();  // another thread has released it meanwhile, so it is the program's memory again
  }
}

}  // namespace

bool is_mirror(const void* address, std::size_t bytes) noexcept {
  if (io() == nullptr || bytes == 0 || !io()->overlaps(address, static_cast<const std::byte*>(address) + bytes - 1)) return false;
  return !for_each_part(address, bytes, [](const Part& part, std::size_t) { return !part.mirror; });
}

bool is_mirror(void* address, std::size_t bytes) noexcept { return is_mirror(static_cast<const void*>(address), bytes); }

Bounce::Bounce(std::size_t bytes) {
  const Undisturbed undisturbed;
  transit_ = io()->take(bytes, base::Side::host, nullptr);
}

Bounce::~Bounce() {
  const Undisturbed undisturbed;
  io()->give(transit_);
}

void Bounce::from_mirror(const void* mirror, std::size_t bytes, char* at) const {
  for_each_part(mirror, bytes, [&](const Part& part, std::size_t offset) {
    const auto* const from = static_cast<const std::byte*>(mirror) + offset;
    const auto read_out = [&](const ByteRange& piece) {
      io()->read_out(from, &piece, 1, transit_, static_cast<std::size_t>(at - data()) + offset);
      io()->settle(transit_);
    };
    copy_part(part, read_out, [&] { std::memcpy(at + offset, from, part.bytes); });
    return true;
  });
}

void Bounce::to_mirror(void* mirror, std::size_t bytes, const char* at) const {
  for_each_part(mirror, bytes, [&](const Part& part, std::size_t offset) {
    auto* const to = static_cast<std::byte*>(mirror) + offset;
    const auto write_in = [&](const ByteRange& piece) {
      io()->write_in(to, &piece, 1, transit_, static_cast<std::size_t>(at - data()) + offset);
    };
    copy_part(part, write_in, [&] { std::memcpy(to, at + offset, part.bytes); });
    return true;
  });
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
