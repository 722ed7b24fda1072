// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/platform/linux/linux_platform.hpp>
#include <semcache/platform/linux/userfaultfd.hpp>

namespace semcache::platform {

/// Host pages that userfaultfd watches. Each object has one arena. README.md lists which pages are in which state.
class UserfaultfdPlatform final : public LinuxPlatform {
 public:
  /// @throws ConfigurationError  the system refuses userfaultfd
  UserfaultfdPlatform();
  ~UserfaultfdPlatform() override;

  std::byte* reserve(std::uint64_t& bytes) override;
  void release(std::byte* base, std::uint64_t bytes) noexcept override;
  bool make_usable(std::byte* address, std::uint64_t bytes, Protection protection) noexcept override;
  bool protect(std::byte* address, std::uint64_t bytes, Protection protection) noexcept override;
  void discard(std::byte* address, std::uint64_t bytes) noexcept override;
  void write_behind(std::byte* to, const std::byte* from, std::uint64_t bytes) override;
  void write_unused(std::byte* to, const std::byte* from, std::uint64_t bytes, Protection) override {
    write_behind(to, from, bytes);
  }
  void read_behind(std::byte* to, const std::byte* from, std::uint64_t bytes) override;
  [[nodiscard]] bool locks_pages() const noexcept override { return false; }
  /// Always refuses: a page changes its memory when it is closed and opened, but a driver would go on using the memory that it
  /// locked.
  std::byte* lock_pages(std::byte*, std::uint64_t, const std::function<bool(std::byte*)>&) override { return nullptr; }

  // --- for the tracker ---
  [[nodiscard]] detail::Userfaultfd& faults() noexcept { return userfaultfd_; }
  /// Returns whether the page may be accessed in this way. If so, the page is present afterwards; threads that sleep because of
  /// it have still to be woken.
  [[nodiscard]] bool permits(std::uintptr_t address, FaultKind kind) noexcept;
  /// Makes accesses to the page fail until `forgive`: with a segmentation fault, or with EFAULT in a system call.
  void decline(std::uintptr_t address) noexcept;
  void forgive() noexcept;
  /// Ends the watch, when faults are no longer served. Accesses to protected pages then end in a segmentation fault, and no
  /// thread is left asleep.
  void stop_watching() noexcept;
  void watch_again();

 private:
  struct Piece {
    std::uintptr_t begin;
    std::uintptr_t end;
    Protection protection;
  };
  static void after_fork_in_child();

  [[nodiscard]] bool in_arena(const std::byte* address) const noexcept {
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    return begin_ <= at && at < end_;
  }
  [[nodiscard]] std::uintptr_t aside(std::uintptr_t page) const noexcept { return page - begin_ + aside_; }
  [[nodiscard]] base::Vector<Piece> pieces(std::uintptr_t begin, std::uintptr_t end) const;
  void note(std::uintptr_t begin, std::uintptr_t end, Protection protection);
  [[nodiscard]] int change(const Piece& piece, Protection to);
  void put_aside(std::uintptr_t begin, std::uintptr_t end);
  void bring_back(std::uintptr_t begin, std::uintptr_t end);
  void replace(std::uintptr_t to, const std::byte* from, std::uint64_t bytes);
  [[nodiscard]] base::Vector<Piece> pieces_now(const std::byte* begin, std::uint64_t bytes) const;
  [[nodiscard]] base::Vector<ByteRange> present(std::uintptr_t begin, std::uintptr_t end) const;

  detail::Userfaultfd userfaultfd_;
  const int page_map_;
  std::uintptr_t begin_ = 0;
  std::uintptr_t end_ = 0;                              ///< end of the usable addresses; those behind it are inaccessible
  std::uintptr_t aside_ = 0;                            ///< begin of as many addresses again, which hold closed pages
  base::Map<std::uintptr_t, Protection> protections_;    ///< each entry holds from its address to the next entry
  base::Set<std::uintptr_t> declined_;
  bool stopped_ = false;
};

}  // namespace semcache::platform
