// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/device/device.hpp>
#include <semcache/memory/mappings.hpp>
#include <semcache/pages/flights.hpp>
#include <semcache/plan/step.hpp>

namespace semcache::pages {

using memory::PageState;

/// The pages of mirrors: what they permit, and which of them the device reaches directly. A page permits no more than the strictest
/// demand of the bytes on it (I5); it is relaxed only where an access asks for it.
///
/// Threads: with the engine's lock, but for `lock` and `unlock`. Errors: where a member returns false, the kernel's limit on mappings was met.
class HostPages {
 public:
  struct Options {
    bool notices = true;                   ///< accesses of the host are noticed; false: pages are never protected
    std::uint64_t registration_bytes = 0;  ///< pages are page-locked in chunks of this size
  };
  /// @param locks  the device whose driver page-locks
  /// @param observer  sees each change of a protection; nullptr: nobody does
  HostPages(platform::Platform& platform, memory::Mappings& mappings, device::Device& locks, const directory::Directory& directory,
            const Flights& flights, trace::Recorder& recorder, plan::Observer* observer, const Options& options)
      : platform_(platform),
        mappings_(mappings),
        locks_(locks),
        directory_(directory),
        flights_(flights),
        recorder_(recorder),
        observer_(observer),
        options_(options),
        page_bytes_(platform.page_bytes()) {}

  /// Are accesses of the host noticed, because the pages are protected?
  [[nodiscard]] bool watched(const Memory& m) const noexcept { return options_.notices && !m.open && !m.announced; }
  /// Its pages, from 0 on.
  [[nodiscard]] ByteRange span(const Memory& m) const noexcept { return {0, round_up(m.bytes, page_bytes_)}; }
  /// The pages on which the bytes lie.
  [[nodiscard]] ByteRange around(const Memory& m, ByteRange bytes) const noexcept {
    return intersect({round_down(bytes.begin, page_bytes_), round_up(bytes.end, page_bytes_)}, span(m));
  }
  [[nodiscard]] bool permit(const Memory& m, ByteRange bytes, platform::Protection needed) const;

  // --- protection ---
  /// Closes what the directory and the flights demand, in `range`.
  void project(Memory& m, ByteRange range) noexcept;
  /// False if the pages could not be relaxed; tightening always succeeds. @throws std::bad_alloc
  bool protect(Memory& m, ByteRange pages, platform::Protection protection);
  /// At most two more extents of the page map, at the ends of `pages`. @throws std::bad_alloc
  bool relax(Memory& m, ByteRange pages, platform::Protection wanted);
  /// Pages that are about to be a transfer's source can no longer change unnoticed. @throws std::bad_alloc
  void freeze(Memory& m, ByteRange range);
  /// Pages of the mirror close, or it is freed: what was fetched ahead, and no fault showed its use, is counted.
  void end_phase(Memory& m) noexcept;

  // --- page-locking ---
  /// Transfers reach all these bytes directly.
  [[nodiscard]] bool locked(const Memory& m, ByteRange range) const noexcept;
  [[nodiscard]] bool any_locked(const Memory& m, ByteRange range) const noexcept;
  /// What the device calls a position.
  [[nodiscard]] std::byte* device_name(const Memory& m, std::uint64_t position) const noexcept;
  /// The first chunk of `range` that is to be page-locked before a transfer of `range` between it and a device; empty: there is none. Only
  /// pages with content are worth it (a side is allocated only when it is used), and only those that the host does not write just now: the
  /// transfer uses the whole chunk, or none of its pages can be written.
  [[nodiscard]] ByteRange worth_locking(const Memory& m, ByteRange range) const;
  /// Page-locking takes milliseconds. So it is begun and ended with the engine's lock, and done without it: nobody looks at the chunk
  /// meanwhile, which is inaccessible where it is watched. The device gets to know watched pages under another name than the program:
  /// what the program itself asks the driver to copy meets their protection (I8).
  /// @return for `end_lock`: what could be read of it  @throws std::bad_alloc
  [[nodiscard]] std::vector<ByteRange> begin_lock(Memory& m, ByteRange chunk);
  /// @return what the device calls it; nullptr: refused
  [[nodiscard]] std::byte* lock(const Memory& m, ByteRange chunk) const;
  void end_lock(Memory& m, ByteRange chunk, std::byte* name, const std::vector<ByteRange>& readable) noexcept;
  /// The device is to know all page-locked pages under the program's names. @pre no transfer uses them
  void forget_other_names(Memory& m) noexcept;
  /// Needs no lock of the engine's. @param names  what `Memory::locked` was  @pre no transfer uses the pages
  void unlock(const Memory& m, const std::vector<std::byte*>& names) const noexcept;
  /// The end of the chunk in which the position lies.
  [[nodiscard]] std::uint64_t chunk_end(std::uint64_t position) const noexcept {
    return round_down(position, options_.registration_bytes) + options_.registration_bytes;
  }

  /// The host, or a transfer, has put something there.
  static void mark_used(Memory& m, ByteRange range) noexcept;

 private:
  void tighten(Memory& m, ByteRange range);

  platform::Platform& platform_;
  memory::Mappings& mappings_;
  device::Device& locks_;
  const directory::Directory& directory_;
  const Flights& flights_;
  trace::Recorder& recorder_;
  plan::Observer* observer_;
  Options options_;
  std::uint64_t page_bytes_;
};

}  // namespace semcache::pages
