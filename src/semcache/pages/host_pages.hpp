// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/base/own_memory.hpp>
#include <semcache/device/device.hpp>
#include <semcache/memory/mappings.hpp>
#include <semcache/pages/demands.hpp>
#include <semcache/pages/flights.hpp>
#include <semcache/plan/step.hpp>

namespace semcache::pages {

using memory::PageState;

/// What `HostPages` works with.
struct PagesContext {
  platform::Platform& platform_;
  memory::Mappings& mappings_;
  device::Device& locks_;  ///< the device whose driver page-locks
  const directory::Directory& directory_;
  const Flights& flights_;
  trace::Recorder& recorder_;
  plan::Observer* observer_;          ///< sees each change of a protection; nullptr for none
  bool notices_;                      ///< the host's accesses are noticed; if false, pages are never protected
  std::uint64_t registration_bytes_;  ///< pages are page-locked in chunks of this size
  std::uint64_t page_bytes_ = platform_.page_bytes();
};

/// The pages of mirrors: what they permit, and which of them the device reaches directly. A page permits no more than the strictest
/// demand of the bytes on it (I5), and is relaxed only where an access asks for it.
///
/// Threads: with the engine's lock, except `lock` and `unlock`.
/// Errors: `protect` and `relax` return false if the kernel's limit on mappings was met.
class HostPages : PagesContext {
 public:
  explicit HostPages(const PagesContext& context) noexcept : PagesContext(context) {}

  /// Returns whether the host's accesses to the mirror are noticed, because its pages are protected.
  [[nodiscard]] bool watched(const Memory& m) const noexcept { return notices_ && !m.open && !m.announced && !m.owns_allocation; }
  /// Returns the mirror's pages, as bytes from position 0 on.
  [[nodiscard]] ByteRange span(const Memory& m) const noexcept { return {0, round_up(m.bytes, page_bytes_)}; }
  /// Returns the pages on which the bytes lie.
  [[nodiscard]] ByteRange around(const Memory& m, ByteRange bytes) const noexcept {
    return intersect({round_down(bytes.begin, page_bytes_), round_up(bytes.end, page_bytes_)}, span(m));
  }
  /// Returns whether all pages of `bytes` permit `needed`.
  [[nodiscard]] bool permit(const Memory& m, ByteRange bytes, platform::Protection needed) const;

  // --- protection ---
  /// Makes the pages of `range` as strict as the directory and the flights demand.
  void project(Memory& m, ByteRange range) noexcept;
  /// Gives `pages` the protection. Tightening succeeds, if need be by giving the whole array the strictest
  /// protection, or the process ends.
  /// @return false if the pages could not be relaxed  @throws std::bad_alloc
  bool protect(Memory& m, ByteRange pages, platform::Protection protection);
  /// Relaxes those of `pages` that permit less than `wanted`. The page map gets at most two more extents, at the ends of `pages`.
  /// @return false if the pages could not be relaxed  @throws std::bad_alloc
  bool relax(Memory& m, ByteRange pages, platform::Protection wanted);
  /// Closes the pages of these bytes for writing, because they are about to be the source of a transfer. @throws std::bad_alloc
  void freeze(Memory& m, const Region& where);
  /// Do the pages of these bytes all permit no more than `most`?
  [[nodiscard]] bool permit_at_most(const Memory& m, ByteRange bytes, platform::Protection most) const;
  /// Ends the host phase, because pages of the mirror close or it is freed. Counts the bytes that were fetched ahead and whose
  /// use no fault has shown.
  void end_phase(Memory& m) noexcept;

  // --- page-locking ---
  /// Returns whether all of `range` is page-locked, so that transfers reach it directly.
  [[nodiscard]] bool locked(const Memory& m, ByteRange range) const noexcept;
  /// Returns whether any of `range` is page-locked.
  [[nodiscard]] bool any_locked(const Memory& m, ByteRange range) const noexcept;
  /// Returns the address under which the device knows a position.
  [[nodiscard]] std::byte* device_name(const Memory& m, std::uint64_t position) const noexcept;
  /// Returns the first chunk of `range` that is to be page-locked before a transfer of `range` between it and a device; empty if
  /// there is none. A chunk of noticed pages is worth it if it has content (otherwise locking would allocate its pages), and if
  /// the host is not writing it just now: the transfer uses the whole chunk, or none of the pages beside the transfer can be written. Of other
  /// pages, one of the two is enough: content, or a transfer of the whole chunk.
  [[nodiscard]] ByteRange worth_locking(const Memory& m, ByteRange range) const;
  /// Begins to page-lock a chunk. Page-locking takes milliseconds, so it is begun and ended with the engine's lock, and done
  /// without it. Nothing uses the chunk meanwhile, and it is inaccessible where it is watched. The device knows watched pages
  /// under another address than the program, so a copy that the program itself asks the driver for meets their protection (I8).
  /// @return the pages that could be read, for `end_lock`  @throws std::bad_alloc
  [[nodiscard]] base::Vector<ByteRange> begin_lock(Memory& m, ByteRange chunk);
  /// Page-locks the chunk. Threads: without the engine's lock.
  /// @return the address under which the device knows it; nullptr if that was refused
  [[nodiscard]] std::byte* lock(const Memory& m, ByteRange chunk) const;
  /// Notes what `lock` returned, and opens those of the readable pages that are still fresh.
  void end_lock(Memory& m, ByteRange chunk, std::byte* name, const base::Vector<ByteRange>& readable) noexcept;
  /// Does the device know any pages of the array under another address than the program?
  [[nodiscard]] bool has_other_names(const Memory& m) const noexcept;
  /// Unlocks pages. Threads: any. @param names  the former content of `Memory::locked`  @pre no transfer uses the pages
  void unlock(const Memory& m, const base::Vector<std::byte*>& names) const noexcept;
  /// Returns the end of the chunk in which the position lies.
  [[nodiscard]] std::uint64_t chunk_begin(std::uint64_t position) const noexcept { return round_down(position, registration_bytes_); }
  [[nodiscard]] std::uint64_t chunk_end(std::uint64_t position) const noexcept {
    return round_down(position, registration_bytes_) + registration_bytes_;
  }

  /// Notes that the host, or a transfer, has put something there.
  static void mark_used(Memory& m, ByteRange range) noexcept;

 private:
  void tighten(Memory& m, ByteRange range);
  template <class Visit>
  void for_each_demand(const Memory& m, ByteRange content, const Visit& visit) const;
  void demand_columns(const Memory& m, ByteRange content, Demands& demands) const;
  /// Closes those of `pages` that permit more than `most`. @throws std::bad_alloc
  void restrict_to(Memory& m, ByteRange pages, platform::Protection most);
  /// The same for the pages of those bytes of `where` that lie in `content`.
  void restrict_columns(Memory& m, const Region& where, ByteRange content, platform::Protection most);
};

}  // namespace semcache::pages
