// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/memory/memory.hpp>

#include <list>

namespace semcache::pages {

using memory::Memory;

/// What is under way on host pages (I6): a transfer between them and a device, or their page-locking.
struct Flight {
  Memory* host = nullptr;  ///< nullptr: staged, so that no page is concerned
  ByteRange range;
  bool to_host = false;          ///< the pages must not even be read meanwhile, unless it is `expected`
  bool expected = false;         ///< to the host, by a copy that waits for it: what can be read stays so
  bool locks_pages = false;      ///< no transfer: another thread ends it
  std::byte* staging = nullptr;  ///< pinned bytes still to be written behind the protection; nullptr: direct
  std::uint64_t staged_bytes = 0;
  timeline::Work work;

  [[nodiscard]] bool keeps_readable() const noexcept { return !to_host || expected; }
  [[nodiscard]] bool concerns(const Memory& m, ByteRange bytes) const noexcept { return host == &m && range.overlaps(bytes); }
};

using Flights = std::list<Flight>;

}  // namespace semcache::pages
