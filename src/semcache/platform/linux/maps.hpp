// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <link.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>

namespace semcache::platform::detail {

/// One line of /proc/self/maps.
struct Mapping {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  bool readable = false;
  bool writable = false;
};

/// Finds the mapping that contains `address`. Returns false where there is none or /proc cannot be read.
/// Async-signal-safe: open, read and close with a small buffer on the caller's stack. Cost: O(mappings).
[[nodiscard]] bool find_mapping(std::uintptr_t address, Mapping& found) noexcept;

/// Reads all of /proc/self/maps. Returns false where that is impossible. @throws std::bad_alloc
[[nodiscard]] bool read_maps(std::string& text);

/// Answers a question about [first, last), a part of one mapping.
using AskedOfMapping = std::function<bool(std::uintptr_t first, std::uintptr_t last)>;
/// Tells by the text of /proc/self/maps why the pages of [begin, end) must not be protected, as `Platform::why_not_adoptable` does, but
/// for the stacks that the text does not name.
/// @param is_data  tells whether the bytes are static data of the program or of a library
/// @param grows_downwards  tells whether the mapping, which can be read and written, is one with MAP_GROWSDOWN
[[nodiscard]] std::string why_not_adoptable(std::string maps, std::uintptr_t begin, std::uintptr_t end, const AskedOfMapping& is_data,
                                            const AskedOfMapping& grows_downwards);

/// A range of addresses that a signal handler may read while it is being replaced. Constant-initialised.
struct AddressRange {
  std::atomic<std::uintptr_t> begin{0};
  std::atomic<std::uintptr_t> end{0};
  [[nodiscard]] bool contains(std::uintptr_t address) const noexcept {
    return begin.load(std::memory_order_acquire) <= address && address < end.load();
  }
  void set(std::uintptr_t first, std::uint64_t bytes) noexcept {
    begin.store(first);
    end.store(first + bytes, std::memory_order_release);
  }
};

/// A segment of a loaded object, by its program headers.
struct Segment {
  const char* file;  ///< the object's file name, without folders
  std::uintptr_t begin;
  std::uintptr_t end;
  std::uint32_t type;
  std::uint32_t flags;
  [[nodiscard]] bool is_of(const char* library) const noexcept {
    return std::strncmp(file, library, std::strlen(library)) == 0;
  }
};
/// Calls visit(segment), which must not throw, for each segment of the process. Takes a lock of the dynamic linker.
template <class Visit>
void for_each_segment(Visit visit) {
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* to) {
        const char* const slash = std::strrchr(info->dlpi_name, '/');
        for (const auto* h = info->dlpi_phdr; h != info->dlpi_phdr + info->dlpi_phnum; ++h) {
          const std::uintptr_t begin = info->dlpi_addr + h->p_vaddr;
          (*static_cast<Visit*>(to))(
              Segment{slash != nullptr ? slash + 1 : info->dlpi_name, begin, begin + h->p_memsz, h->p_type, h->p_flags});
        }
        return 0;
      },
      &visit);
}

}  // namespace semcache::platform::detail
