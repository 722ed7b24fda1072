// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <fakes/machine.hpp>

#include <sys/mman.h>

namespace semcache::fakes {

/// A block of the program's own memory that is adopted while the object lives: `bytes` bytes that begin `front` bytes before a page.
/// All memory around them, on the first page and on the last one, keeps a mark.
class LentBlock {
 public:
  LentBlock(Machine& machine, std::uint64_t bytes, std::uint64_t front, const char* label = "adopted") : machine_(machine), bytes_(bytes) {
    const std::uint64_t page = machine.platform().page_bytes();
    mapped_bytes_ = round_up(bytes + 3 * page, page);
    block_ = static_cast<std::byte*>(::mmap(nullptr, mapped_bytes_ + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    lent_ = block_ + (round_up(reinterpret_cast<std::uintptr_t>(block_), page) - reinterpret_cast<std::uintptr_t>(block_));
    address_ = lent_ + page - front;
    std::memset(block_, 0x5a, mapped_bytes_ + page);
    machine.platform().lend(lent_, mapped_bytes_);
    machine.engine().adoption.adopt(address_, bytes, label);
    body_ = machine.engine().state().adopted.next(address_, address_ + bytes);
  }
  ~LentBlock() {
    try {
      if (adopted()) release();
    } catch (const std::exception& e) {
      machine_.fail(std::string("adopted memory cannot be released: ") + e.what());
    }
    machine_.platform().take_back(lent_);
    const auto is_marked = [](std::byte b) { return b == std::byte{0x5a}; };
    const std::byte* const end = block_ + mapped_bytes_;
    if (!std::all_of(static_cast<const std::byte*>(block_), static_cast<const std::byte*>(address_), is_marked) ||
        !std::all_of(static_cast<const std::byte*>(address_ + bytes_), end, is_marked)) {
      machine_.fail("memory beside an adopted range has changed");
    }
    ::munmap(block_, mapped_bytes_ + machine_.platform().page_bytes());
  }
  LentBlock(const LentBlock&) = delete;
  LentBlock& operator=(const LentBlock&) = delete;

  [[nodiscard]] std::byte* address() const { return address_; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  /// Returns the memory of its whole pages; nullptr if it has none.
  [[nodiscard]] engine::Memory* body() const { return body_; }
  [[nodiscard]] bool adopted() const { return machine_.engine().state().adopted.ranges.count(address_) != 0; }
  /// @throws the errors of `Adoption::release`
  void release() {
    machine_.engine().adoption.release(address_);
    body_ = nullptr;
  }
  void adopt_again() {
    machine_.engine().adoption.adopt(address_, bytes_, "adopted again");
    body_ = machine_.engine().state().adopted.next(address_, address_ + bytes_);
  }
  /// The program reads, or writes with `mix(seed, position)`, a range of it.
  void read(ByteRange range, std::byte* out) {
    each(range, false, [&](std::uint64_t i) { out[i - range.begin] = address_[i]; });
  }
  void write(ByteRange range, std::uint64_t seed) {
    each(range, true, [&](std::uint64_t i) { address_[i] = Machine::mix(seed, i); });
  }
  [[nodiscard]] std::vector<std::byte> content() {
    std::vector<std::byte> out(bytes_);
    read({0, bytes_}, out.data());
    return out;
  }
  /// The position of the body in the range.
  [[nodiscard]] std::uint64_t front() const { return body_ == nullptr ? 0 : static_cast<std::uint64_t>(body_->address - address_); }

 private:
  template <class Use>
  void each(ByteRange range, bool write, const Use& use) {
    const std::uint64_t page = machine_.platform().page_bytes();
    for (std::uint64_t i = range.begin; i < range.end; ++i) {
      if (i == range.begin || reinterpret_cast<std::uintptr_t>(address_ + i) % page == 0) machine_.touch_page(address_ + i, write);
      use(i);
    }
  }

  Machine& machine_;
  const std::uint64_t bytes_;
  std::uint64_t mapped_bytes_ = 0;
  std::byte* block_ = nullptr;
  std::byte* lent_ = nullptr;
  std::byte* address_ = nullptr;
  engine::Memory* body_ = nullptr;
};

}  // namespace semcache::fakes
