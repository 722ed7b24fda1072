// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/kokkos/capture.hpp>

#include <semcache/base/addresses.hpp>

#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace semcache::kokkos {
namespace {

constexpr std::size_t word_bytes = sizeof(std::uintptr_t);

std::uintptr_t word_at(const unsigned char* bytes) noexcept {
  std::uintptr_t word;
  std::memcpy(&word, bytes, word_bytes);
  return word;
}

/// Extents and other small numbers do not.
class LooksLikePointer {
 public:
  bool operator()(std::uintptr_t word) const noexcept { return word - lowest_ < base::end_of_addresses - lowest_; }

 private:
  std::uintptr_t lowest_ = runtime::lowest_pointer();
};

/// Reads a word that may not be mapped; false also where the kernel refuses the call.
bool read_if_mapped(std::uintptr_t address, std::uintptr_t& word) noexcept {
  iovec to{&word, word_bytes};
  iovec from{reinterpret_cast<void*>(address), word_bytes};  // NOLINT: an address found in a functor
  return ::process_vm_readv(::getpid(), &to, 1, &from, 1, 0) == static_cast<ssize_t>(word_bytes);
}

/// True if (tracker, data) are those of a view on a whole small allocation in plain host memory without pointers in it.
bool is_small_host_view(std::uintptr_t tracker, std::uintptr_t data, const LooksLikePointer& looks_like_pointer) noexcept {
  constexpr std::size_t small = 64;
  const std::uintptr_t record_address = tracker & ~std::uintptr_t{1};
  std::uintptr_t header_record = 0;
  // Kokkos' header in front of the data names the record, which names the data: no accident does both.
  if (!read_if_mapped(data - runtime::header_bytes, header_record) || header_record != record_address) return false;
  const auto* record = reinterpret_cast<const Kokkos::Impl::SharedAllocationRecord<void, void>*>(record_address);
  if (reinterpret_cast<std::uintptr_t>(record->data()) != data || record->size() > small) return false;
  // Allocations are rounded up to words: the last half word may hold anything, and only makes a pointer by accident.
  const auto* bytes = reinterpret_cast<const unsigned char*>(data);
  std::uintptr_t ignored = 0;
  for (std::size_t i = 0; i + word_bytes <= record->size(); i += word_bytes) {
    const std::uintptr_t word = word_at(bytes + i);
    if (!looks_like_pointer(word) || word % word_bytes != 0) continue;
    // Device arrays are seldom mapped for the processor.
    if (is_tracked(reinterpret_cast<const void*>(word)) || read_if_mapped(word, ignored)) return false;  // NOLINT
  }
  return true;
}

}  // namespace

__thread CaptureList* open_capture_list = nullptr;

CaptureList::CaptureList() noexcept : outer_(open_capture_list) { open_capture_list = this; }

CaptureList::~CaptureList() {
  if (open_capture_list == this) open_capture_list = outer_;
  if (captures_ != inline_captures_) std::free(captures_);
  if (picture_ != inline_picture_) std::free(picture_);
}

bool CaptureMemo::belongs_to(const void* thread) noexcept {
  const void* known = owner.load(std::memory_order_relaxed);
  return known == thread || (known == nullptr && owner.compare_exchange_strong(known, thread));
}

bool CaptureMemo::fits(const std::uintptr_t* word, const void* functor, std::size_t words) const noexcept {
  if (count == 0) return false;
  const LooksLikePointer looks_like_pointer;
  for (std::size_t i = 0; i < words; ++i) {
    const std::uintptr_t now = word_at(static_cast<const unsigned char*>(functor) + i * word_bytes);
    if ((handles >> i & 1) != 0 ? now != word[i] : looks_like_pointer(now)) return false;
  }
  return runtime::are_current(operands, count, epoch);
}

bool CaptureList::remembers(CaptureMemo& memo, std::uintptr_t* word, const void* functor, std::size_t words) noexcept {
  if (!memo.belongs_to(&open_capture_list)) return false;
  if (memo.fits(word, functor, words)) {
    // Copied: before this closure runs, another one may be constructed.
    known_count_ = memo.count;
    epoch_ = memo.epoch;
    std::memcpy(known_, memo.operands, memo.count * sizeof known_[0]);
    recording_ = Recording::known;
    return true;
  }
  std::memcpy(word, functor, words * word_bytes);
  begin_memo(memo, functor);
  return false;
}

void CaptureList::begin_memo(CaptureMemo& memo, const void* functor) noexcept {
  memo.count = 0;
  memo.epoch = runtime::epoch();
  written_ = ++memo.written;
  memo_ = &memo;
  thread_ = &open_capture_list;
  original_ = static_cast<const unsigned char*>(functor);
  described_ = true;
}

void CaptureList::remember(const runtime::Launch& launch) const noexcept {
  if (memo_ == nullptr || thread_ != &open_capture_list || memo_->written != written_) return;
  // Results are no part of the functor.
  if (!described_ || suspicious_ || count_ != recorded_ || !launch.follows_from_captures()) return;
  memo_->handles = 0;
  std::uint32_t operands = 0;
  for (std::size_t c = 0; c < count_; ++c) {
    if (captures_[c].pointer != nullptr) {
      if (operands == CaptureMemo::most_operands || !runtime::identify(captures_[c], memo_->operands[operands])) return;
      runtime::KnownOperand& operand = memo_->operands[operands];
      operand.repeats = std::any_of(memo_->operands, &operand, [&](const auto& o) { return o.memory == operand.memory; });
      ++operands;
    }
    const auto at = static_cast<std::size_t>(static_cast<const unsigned char*>(captures_[c].handle) - picture_);
    for (std::size_t i = at / word_bytes; i * word_bytes < at + captures_[c].handle_bytes && i < CaptureMemo::most_words; ++i)
      memo_->handles |= std::uint64_t{1} << i;
  }
  memo_->count = operands;
}

void* CaptureList::blank(std::size_t bytes) noexcept {
  if (bytes > inline_picture) {
    picture_ = static_cast<unsigned char*>(std::malloc(bytes));
    if (!picture_) base::fatal("out of host memory while a kernel of %zu bytes was prepared", bytes);
  }
  std::memset(picture_, 0, bytes);
  picture_bytes_ = bytes;
  origin_ = picture_;
  recording_ = Recording::by_place;
  return picture_;
}

void CaptureList::develop() noexcept { recording_ = Recording::off; }

void CaptureList::watch_copies_of(const void* functor, std::size_t bytes) noexcept {
  std::memcpy(blank(bytes), functor, bytes);
  origin_ = static_cast<const unsigned char*>(functor);
  recording_ = Recording::by_source;
}

void CaptureList::close() noexcept {
  if (open_capture_list != this) return;
  open_capture_list = outer_;
  recording_ = Recording::off;
  recorded_ = count_;
  if (known_count_ != 0) return;
  // What handles explain becomes zero: whatever is left and looks like a pointer is looked at.
  for (std::size_t c = 0; c < count_; ++c) {
    if (captures_[c].handle)
      explain(static_cast<std::size_t>(static_cast<const unsigned char*>(captures_[c].handle) - picture_),
              captures_[c].handle_bytes);
  }
  suspicious_ = holds_pointers();
  if (!suspicious_) return;
  described_ = false;
  explain_small_host_views();
  suspicious_ = holds_pointers();
}

bool CaptureList::holds_pointers() const noexcept {
  const LooksLikePointer looks_like_pointer;
  for (std::size_t i = 0; i + word_bytes <= picture_bytes_; i += word_bytes) {
    if (looks_like_pointer(word_at(picture_ + i))) return true;
  }
  return false;
}

void CaptureList::explain(std::size_t position, std::uint32_t bytes) noexcept {
  const std::size_t end = std::min(picture_bytes_, (position + bytes + word_bytes - 1) / word_bytes * word_bytes);
  // A loop over words where one fits: memset is a call.
  for (; position + word_bytes <= end; position += word_bytes) {
    constexpr std::uintptr_t nothing = 0;
    std::memcpy(picture_ + position, &nothing, word_bytes);
  }
  std::memset(picture_ + position, 0, end - position);
}

void CaptureList::explain_small_host_views() noexcept {
  const LooksLikePointer looks_like_pointer;
  // A View is [tracker][data][extent or nothing]: with rank 0 the third word is never initialised, but copied.
  for (std::size_t i = 0; i + 3 * word_bytes <= picture_bytes_; i += word_bytes) {
    const std::uintptr_t tracker = word_at(picture_ + i);
    const std::uintptr_t data = word_at(picture_ + i + word_bytes);
    if (!looks_like_pointer(tracker) || !looks_like_pointer(data) || data % word_bytes != 0) continue;
    if (is_small_host_view(tracker, data, looks_like_pointer)) explain(i, 3 * word_bytes);
  }
}

void CaptureList::grow() noexcept {
  // Lists never drop entries: a missed view would be silently stale (I8).
  const std::size_t capacity = capacity_ * 4;
  auto* larger = static_cast<runtime::Capture*>(std::malloc(capacity * sizeof(runtime::Capture)));
  if (!larger) base::fatal("out of host memory while a kernel with more than %zu views was prepared", count_);
  std::memcpy(larger, captures_, count_ * sizeof(runtime::Capture));
  if (captures_ != inline_captures_) std::free(captures_);
  captures_ = larger;
  capacity_ = capacity;
}

namespace detail {

namespace {

[[gnu::noinline]] void record_any_copy(const void* pointer, const void* place, const void* source, std::uint32_t bytes,
                                       bool writable, bool holds_handles) noexcept {
  if (CaptureList* list = open_capture_list) {
    list->notice(pointer, place, source, bytes, writable, holds_handles);
  } else if (pointer != nullptr) {
    // A launch on a native space: nobody will open a Launch for it.
    runtime::native_capture({pointer, nullptr, 0, writable, holds_handles});
  }
}

}  // namespace

void record_untracked_copy(const void* pointer, const void* place, const void* source, std::uint32_t bytes, bool writable,
                           bool holds_handles) noexcept {
  CaptureList* const list = open_capture_list;
  if (list != nullptr && list->is_next_known(pointer, writable)) return;  // as a rule
  record_any_copy(pointer, place, source, bytes, writable, holds_handles);
}

}  // namespace detail
}  // namespace semcache::kokkos
