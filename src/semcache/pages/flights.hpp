// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/base/own_memory.hpp>
#include <semcache/memory/memory.hpp>

namespace semcache::pages {

using memory::Memory;

/// Work in flight on host pages (I6): a transfer between them and a device, or their page-locking.
struct Flight {
  Memory* host = nullptr;  ///< nullptr if the transfer is staged and concerns no page
  Region where;                  ///< the bytes of the host's memory
  bool to_host = false;          ///< a transfer to the host: the pages must not even be read meanwhile, unless it is `expected`
  bool expected = false;         ///< to the host, by a copy at the call that waits for it: readable pages stay readable
  bool locks_pages = false;      ///< page-locking, which another thread ends; no transfer
  bool unlocks_pages = false;    ///< the end of page-locking, besides: the pages may be open
  std::byte* staging = nullptr;  ///< page-locked bytes still to be written behind the protection; nullptr for a direct transfer
  std::uint64_t staged_bytes = 0;
  std::uint32_t staging_device = 0;  ///< the device whose staging memory it is
  timeline::Work work;

  [[nodiscard]] bool keeps_readable() const noexcept { return !to_host || expected; }
  [[nodiscard]] bool concerns(const Memory& m, ByteRange bytes) const noexcept { return host == &m && where.hull().overlaps(bytes); }
};

using Flights = base::List<Flight>;

}  // namespace semcache::pages
