// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <fakes/failing_memory.hpp>
#include <fakes/hook.hpp>
#include <fakes/page_bytes.hpp>
#include <semcache/platform/platform.hpp>

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace semcache::fakes {

/// Host pages with a protection table of their own. The memory itself is always accessible; the test that plays the program asks
/// `allows` before each access, as the processor would. Works under every sanitizer.
class FakePlatform final : public platform::Platform {
 public:
  struct Options {
    std::uint64_t page_bytes = fakes::page_bytes();
    std::uint64_t arena_bytes = 16384 * fakes::page_bytes();
    std::uint64_t mapping_limit = 1u << 20;
  };
  using Failure = std::function<void(const std::string&)>;
  /// Called for each access that the engine makes past the protection, with (address, bytes, writes).
  using Watch = std::function<void(const std::byte*, std::uint64_t, bool)>;

  FakePlatform(const Options& options, Failure fail) : options_(options), fail_(std::move(fail)) {}
  ~FakePlatform() override {
    if (base_ != nullptr) fail_("the platform's addresses were never given back");
  }
  void watch(Watch watch) { watch_ = std::move(watch); }
  void set_mapping_limit(std::uint64_t limit) { options_.mapping_limit = limit; }

  [[nodiscard]] std::uint64_t page_bytes() const noexcept override { return options_.page_bytes; }
  [[nodiscard]] std::uint64_t mapping_limit() const noexcept override { return options_.mapping_limit; }

  [[nodiscard]] std::byte* reserve(std::uint64_t& bytes) override {
    if (may_fail) may_fail("reserve");
    if (base_ != nullptr) fail_("the platform has one arena");
    bytes = options_.arena_bytes;
    constexpr std::uint64_t alignment = 2u << 20;
    mapping_bytes_ = bytes + alignment;
    mapping_ = ::mmap(nullptr, mapping_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapping_ == MAP_FAILED) throw SystemError("mmap");
    base_ = reinterpret_cast<std::byte*>(round_up(reinterpret_cast<std::uintptr_t>(mapping_), alignment));
    bytes_ = bytes;
    table_ = Table(base_, bytes, options_.page_bytes, platform::Protection::none);
    return base_;
  }
  void release(std::byte* base, std::uint64_t bytes) noexcept override {
    if (base != base_ || bytes != bytes_) fail_("the platform got back what it never gave");
    ::munmap(mapping_, mapping_bytes_);
    base_ = nullptr;
  }
  [[nodiscard]] bool protect(std::byte* address, std::uint64_t bytes, platform::Protection protection) noexcept override {
    Table& table = table_of(address, bytes);
    if (!table.contains(address, bytes) || table.offset(address) % options_.page_bytes != 0 ||
        bytes % options_.page_bytes != 0 || bytes == 0) {
      fail_("protect: not whole pages of the arena");
      return true;
    }
    expect_in_place(address, bytes);
    ++protect_calls;
    if (refuse_protect && refuse_protect(address, bytes, protection)) return false;
    for (std::uint64_t at = 0; at < bytes; at += options_.page_bytes) table.page(address + at).store(protection);
    return true;
  }
  void discard(std::byte* address, std::uint64_t bytes) noexcept override {
    if (!table_.contains(address, bytes) || table_.offset(address) % options_.page_bytes != 0 ||
        bytes % options_.page_bytes != 0) {
      fail_("discard: not whole pages of the arena");
    }
    if (bytes >= (std::uint64_t{1} << 20)) slow("discard");
    expect_in_place(address, bytes);
    if (watch_) watch_(address, bytes, true);
    std::memset(address, 0, bytes);
  }
  /// Called before each call that takes long: looking at the process's mappings, and moving pages.
  Hook<const char*> slow;
  [[nodiscard]] std::string why_not_adoptable(const std::byte* address, std::uint64_t bytes) const override {
    slow("why_not_adoptable");
    const auto begin = reinterpret_cast<std::uintptr_t>(address), page = static_cast<std::uintptr_t>(options_.page_bytes);
    const std::uintptr_t first = (begin + page - 1) / page * page, last = (begin + bytes) / page * page;
    if (first >= last) return "";
    const std::byte* const pages = address + (first - begin);
    const Table& table = table_of(pages, last - first);
    return &table != &table_ && &table != &second_ ? "" : "not lent";
  }
  [[nodiscard]] bool is_mapped(const std::byte*, std::uint64_t) const noexcept override {
    slow("is_mapped");
    return lent_is_mapped;
  }
  [[nodiscard]] platform::Protection protection_at(const std::byte* address) const noexcept override { return protection(address); }
  void advise_huge(std::byte*, std::uint64_t) noexcept override {}
  /// Locks the pages under their own address. Until `lock` returns they count as moved elsewhere: any use of them fails the test.
  [[nodiscard]] std::byte* lock_pages(std::byte* address, std::uint64_t bytes, const std::function<bool(std::byte*)>& lock) override {
    slow("lock_pages");
    const auto closed = [&] {
      bool all = true;
      for (std::uint64_t at = 0; at < bytes; at += options_.page_bytes) all = all && protection(address + at) == platform::Protection::none;
      return all;
    };
    if (!closed()) fail_("lock_pages: accessible pages");
    {
      const FailuresPaused paused;
      const std::lock_guard guard(moved_mutex_);
      moved_.emplace_back(address, bytes);
    }
    if (while_locking) std::exchange(while_locking, nullptr)();
    const bool locked = lock(address);
    if (!closed()) fail_("lock_pages: somebody has opened the pages meanwhile");
    const std::lock_guard guard(moved_mutex_);
    moved_.erase(std::find(moved_.begin(), moved_.end(), std::pair(address, bytes)));
    return locked ? address : nullptr;
  }
  void write_behind(std::byte* to, const std::byte* from, std::uint64_t bytes) override {
    if (may_fail) may_fail("write_behind");
    if (bytes > 0 && (!allows(from, false) || !allows(from + bytes - 1, false))) fail_("write_behind: from closed pages");
    copy(to, from, bytes);
  }
  void write_unused(std::byte* to, const std::byte* from, std::uint64_t bytes, platform::Protection protection) override {
    written_unused += bytes;
    for (std::uint64_t at = 0; at < bytes; at += options_.page_bytes) {
      if (table_.page(to + at).load() != protection) fail_("write_unused: another protection than the pages have");
    }
    write_behind(to, from, bytes);
  }
  void read_behind(std::byte* to, const std::byte* from, std::uint64_t bytes) override {
    if (may_fail) may_fail("read_behind");
    if (bytes > 0 && (!allows(to, true) || !allows(to + bytes - 1, true))) fail_("read_behind: to closed pages");
    copy(to, from, bytes);
  }
  [[nodiscard]] Mapped classify(const void*) const noexcept override { return Mapped::yes; }
  [[nodiscard]] bool read(const void* from, void* to, std::uint64_t bytes) const noexcept override {
    std::memcpy(to, from, bytes);
    return true;
  }
  [[nodiscard]] HostBlock heap_block(const void* begin) const noexcept override {
    const HostBlock block = heap_around(begin);
    return block.begin == reinterpret_cast<std::uintptr_t>(begin) ? block : HostBlock{};
  }
  [[nodiscard]] HostBlock heap_around(const void* inside) const noexcept override {
    for (const HostBlock& block : heap) {
      if (reinterpret_cast<std::uintptr_t>(inside) - block.begin < block.bytes) return block;
    }
    return {};
  }

  // --- for the test that plays the program ---------------------------------------------------------------------------
  std::vector<HostBlock> heap;
  /// Adds whole pages of the program's own memory that may be adopted.
  void lend(const std::byte* base, std::uint64_t bytes) {
    lent_.emplace_back(base, bytes, options_.page_bytes, platform::Protection::read_write);
  }
  /// Ends that. The pages must be open.
  void take_back(const std::byte* base) {
    const auto lent = std::find_if(lent_.begin(), lent_.end(), [&](const Table& t) { return t.base == base; });
    for (const State& s : lent->states) {
      if (s.load() != platform::Protection::read_write) fail_("adopted pages are given back closed");
    }
    lent_.erase(lent);
  }
  /// Opens all lent pages, as if they had been mapped anew.
  void open_lent() {
    for (Table& t : lent_) {
      for (State& s : t.states) s.store(platform::Protection::read_write);
    }
  }
  /// Is lent memory mapped? The test may say no.
  bool lent_is_mapped = true;
  /// Adds a device's memory to the pages that are protected here. @pre no thread has used it
  void also_protect(const std::byte* base, std::uint64_t bytes) {
    second_ = Table(base, bytes, options_.page_bytes, platform::Protection::none);
  }
  /// A device has mapped memory there, whose pages permit this much.
  void mapped(const std::byte* address, std::uint64_t bytes, platform::Protection protection) {
    for (std::uint64_t at = 0; at < bytes; at += options_.page_bytes) second_.page(address + at).store(protection);
  }
  [[nodiscard]] platform::Protection protection(const std::byte* address) const {
    return table_of(address, 1).page(address).load();
  }
  /// Must a device's driver meet the page page-locked only? Lent pages are ordinary memory to it while they are open.
  [[nodiscard]] bool owns(const std::byte* address) const {
    if (table_.contains(address, 1)) return true;
    const Table& t = table_of(address, 1);
    return &t != &table_ && &t != &second_ && t.page(address).load() != platform::Protection::read_write;
  }
  [[nodiscard]] bool allows(const std::byte* address, bool write) const {
    if (!table_of(address, 1).contains(address, 1)) return true;
    return protection(address) >= (write ? platform::Protection::read_write : platform::Protection::read);
  }
  std::uint64_t protect_calls = 0;
  std::uint64_t written_unused = 0;  ///< bytes
  /// The next copy past a protection of more bytes than this copies this many bytes, and is then refused.
  std::optional<std::uint64_t> refused_after;
  /// Called once, while pages are being page-locked.
  std::function<void()> while_locking;
  /// Called before each call that may throw; it may throw itself.
  std::function<void(const char*)> may_fail;
  /// Called by `protect`; returns true if the call meets the kernel's limit on mappings.
  std::function<bool(const std::byte*, std::uint64_t, platform::Protection)> refuse_protect;

 private:
  void expect_in_place(const std::byte* address, std::uint64_t bytes) {
    const std::lock_guard guard(moved_mutex_);
    for (const auto& [begin, size] : moved_) {
      if (address < begin + size && begin < address + bytes) fail_("pages are used while they are being page-locked");
    }
  }
  void copy(std::byte* to, const std::byte* from, std::uint64_t bytes) {
    expect_in_place(to, bytes);
    expect_in_place(from, bytes);
    const bool refused = refused_after && *refused_after < bytes;
    if (refused) bytes = *std::exchange(refused_after, std::nullopt);
    if (watch_) {
      watch_(to, bytes, true);
      watch_(from, bytes, false);
    }
    if (bytes > 0) std::memcpy(to, from, bytes);
    if (refused) throw SystemError("a copy is refused half-way");
  }

  using State = std::atomic<platform::Protection>;
  struct Table {
    Table() = default;
    Table(const std::byte* b, std::uint64_t n, std::uint64_t page, platform::Protection first)
        : base(b), bytes(n), page_bytes(page), states(n / page) {
      for (State& s : states) s.store(first);
    }
    [[nodiscard]] bool contains(const std::byte* a, std::uint64_t n) const { return a >= base && a + n <= base + bytes; }
    [[nodiscard]] std::uint64_t offset(const std::byte* a) const { return static_cast<std::uint64_t>(a - base); }
    [[nodiscard]] State& page(const std::byte* a) { return states[offset(a) / page_bytes]; }
    [[nodiscard]] const State& page(const std::byte* a) const { return states[offset(a) / page_bytes]; }
    const std::byte* base = nullptr;
    std::uint64_t bytes = 0;
    std::uint64_t page_bytes = 1;
    std::vector<State> states;
  };

  /// Returns the table of the pages; the arena's if there is none.
  [[nodiscard]] const Table& table_of(const std::byte* address, std::uint64_t bytes) const {
    for (const Table& t : lent_) {
      if (t.contains(address, bytes)) return t;
    }
    return second_.contains(address, bytes) ? second_ : table_;
  }
  [[nodiscard]] Table& table_of(const std::byte* address, std::uint64_t bytes) {
    return const_cast<Table&>(std::as_const(*this).table_of(address, bytes));
  }

  Options options_;
  Failure fail_;
  Watch watch_;
  void* mapping_ = nullptr;
  std::uint64_t mapping_bytes_ = 0;
  std::byte* base_ = nullptr;
  std::uint64_t bytes_ = 0;
  Table table_;
  Table second_;
  std::list<Table> lent_;
  std::mutex moved_mutex_;
  std::vector<std::pair<std::byte*, std::uint64_t>> moved_;  ///< pages that `lock_pages` is locking
};

}  // namespace semcache::fakes
