// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/base/addresses.hpp>
#include <semcache/platform/platform.hpp>

#include <atomic>
#include <mutex>
#include <vector>

namespace semcache::platform {

using base::number;
using base::pointer;

/// Controls host pages through mmap, mprotect, madvise and /proc/self/mem.
class LinuxPlatform : public Platform {
 public:
  LinuxPlatform();
  ~LinuxPlatform() override;

  std::uint64_t page_bytes() const noexcept override { return page_bytes_; }
  std::uint64_t mapping_limit() const noexcept override { return mapping_limit_; }
  std::uint64_t mapping_count() const override;
  std::uintptr_t lowest_address() const noexcept override { return lowest_address_; }
  void write_unused(std::byte* to, const std::byte* from, std::uint64_t bytes, Protection protection) override;
  std::byte* reserve(std::uint64_t& bytes) override { return reserve_addresses(bytes); }
  void release(std::byte* base, std::uint64_t bytes) noexcept override;
  bool protect(std::byte* address, std::uint64_t bytes, Protection protection) noexcept override;
  std::string why_not_adoptable(const std::byte* address, std::uint64_t bytes) const override;
  bool is_mapped(const std::byte* address, std::uint64_t bytes) const noexcept override;
  Protection protection_at(const std::byte* address) const noexcept override;
  void discard(std::byte* address, std::uint64_t bytes) noexcept override;
  void advise_huge(std::byte* address, std::uint64_t bytes) noexcept override;
  void write_behind(std::byte* to, const std::byte* from, std::uint64_t bytes) override;
  void read_behind(std::byte* to, const std::byte* from, std::uint64_t bytes) override;
  std::byte* lock_pages(std::byte* address, std::uint64_t bytes, const std::function<bool(std::byte*)>& lock) override;
  void forget_locked(std::byte* address, std::uint64_t bytes) noexcept override;
  Mapped classify(const void* pointer) const noexcept override;
  bool read(const void* from, void* to, std::uint64_t bytes) const noexcept override;
  HostBlock heap_block(const void* begin) const noexcept override;
  HostBlock heap_around(const void* inside) const noexcept override;
  std::string describe(const void* pointer) const override;

 protected:
  /// Moves the pages of [from, from + bytes) to `to`, mapping by mapping, because mremap requires that. The source addresses stay
  /// mapped, without pages. Returns how many bytes were moved, which is less than `bytes` where the system refused to go on.
  [[nodiscard]] static std::uint64_t move_pages(std::uintptr_t from, std::uintptr_t to, std::uint64_t bytes);

 private:
  struct Range {
    std::uintptr_t begin;
    std::uintptr_t end;
    Mapped is;
  };

  /// Does the stack of the calling thread overlap [begin, end)?
  [[nodiscard]] static bool is_on_this_stack(std::uintptr_t begin, std::uintptr_t end) noexcept;
  int memory_file();
  void refresh_constants() const;

  const std::uint64_t page_bytes_;
  const std::uint64_t mapping_limit_;
  const std::uintptr_t lowest_address_;

  /// (process << 32) | (descriptor + 1); 0: not open. It is one atomic word and needs no lock, because in a forked child another
  /// thread's lock may be held for ever. The child replaces its parent's descriptor, which still reaches the parent's memory.
  std::atomic<std::uint64_t> memory_file_{0};

  mutable std::mutex constants_mutex_;               ///< guards the members below
  mutable std::vector<Range> constants_;             ///< ranges of loaded objects in which no handles lie; sorted, disjoint
  mutable std::uint64_t objects_seen_ = ~std::uint64_t{0};  ///< the dynamic linker's count of loads and unloads, for `constants_`
};

}  // namespace semcache::platform
