// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/kokkos/capture.hpp>

#include <semcache/base/addresses.hpp>

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

/// True for words that may be addresses. Extents and other small numbers are not.
class LooksLikePointer {
 public:
  explicit LooksLikePointer(std::uintptr_t lowest = runtime::lowest_pointer()) noexcept : lowest_(lowest) {}
  bool operator()(std::uintptr_t word) const noexcept { return word - lowest_ < base::end_of_addresses - lowest_; }

 private:
  std::uintptr_t lowest_;
};

/// Gives threads numbers and tells which of them have ended. A number contains a place in a table, in which the thread enters its
/// number and from which it removes it when it ends. Numbers are never used again, so a thread has ended when its place no longer
/// holds its number.
class ThreadNumbers {
 public:
  /// Returns this thread's number; 0 if there are too many threads, or if this one is about to end.
  static std::uint64_t mine() noexcept {
    if (__builtin_expect(detail::thread_number == 0, 0)) enter();
    return detail::thread_number == left ? 0 : detail::thread_number;
  }
  static bool has_ended(std::uint64_t number) noexcept {
    return places_[number % places].load(std::memory_order_acquire) != number;
  }

  [[gnu::cold, gnu::noinline]] static void enter() noexcept;

 private:
  static constexpr std::uint64_t places = 1024, left = ~std::uint64_t{0};
  struct Leave {
    ~Leave() {
      places_[detail::thread_number % places].store(0, std::memory_order_release);
      detail::thread_number = left;
    }
    void touch() noexcept {}
  };

  static inline std::atomic<std::uint64_t> places_[places];
  static inline std::atomic<std::uint64_t> next_{1};
};

void ThreadNumbers::enter() noexcept {
  for (std::uint64_t place = 0; place < places; ++place) {
    std::uint64_t nobody = 0;
    const std::uint64_t number = next_.fetch_add(1, std::memory_order_relaxed) * places + place;
    if (!places_[place].compare_exchange_strong(nobody, number)) continue;
    detail::thread_number = number;
    thread_local Leave leave;
    leave.touch();
    return;
  }
  detail::thread_number = left;
}

/// A buffer for words: few lie in the object itself, many on the heap. Ends the process if the host has no memory.
class Words {
 public:
  explicit Words(std::size_t count) noexcept : words_(count <= most ? inlined_ : new (std::nothrow) std::uintptr_t[count]) {
    if (!words_) base::fatal("out of host memory while a kernel of %zu bytes was prepared. Free memory of the host", count * word_bytes);
  }
  ~Words() {
    if (words_ != inlined_) delete[] words_;
  }
  Words(const Words&) = delete;
  Words& operator=(const Words&) = delete;
  [[nodiscard]] std::uintptr_t* begin() noexcept { return words_; }

 private:
  static constexpr std::size_t most = 64;
  std::uintptr_t* words_;
  std::uintptr_t inlined_[most];
};

bool hold_pointers(const std::uintptr_t* words, std::size_t count) noexcept {
  return std::any_of(words, words + count, LooksLikePointer());
}

}  // namespace

__thread CaptureList* open_capture_list = nullptr;

__thread std::uint64_t detail::thread_number = 0;

void CaptureList::free_captures() noexcept { std::free(captures_); }

bool CaptureMemo::belongs_to(std::uint64_t thread) noexcept {
  std::uint64_t known = owner.load(std::memory_order_relaxed);
  if (known == thread) return thread != 0;
  return thread != 0 && (known == 0 || ThreadNumbers::has_ended(known)) && owner.compare_exchange_strong(known, thread);
}

bool CaptureMemo::fits(const std::uintptr_t* word, const void* functor, std::size_t words) const noexcept {
  if (count == 0) return false;
  const LooksLikePointer looks_like_pointer(lowest_pointer);
  for (std::size_t i = 0; i < words; ++i) {
    const std::uintptr_t now = word_at(static_cast<const unsigned char*>(functor) + i * word_bytes);
    if ((handles >> i & 1) != 0 ? now != word[i] : looks_like_pointer(now)) return false;
  }
  return runtime::are_current(operands, count, epoch);
}

void detail::give_number() noexcept { ThreadNumbers::enter(); }

bool CaptureList::remembers(CaptureMemo& memo, std::uintptr_t* word, const void* functor, std::size_t words) noexcept {
  if (!memo.belongs_to(ThreadNumbers::mine())) return false;
  if (memo.fits(word, functor, words)) {
    // The memo is copied, because another closure may be constructed before this one runs.
    known_count_ = memo.count;
    epoch_ = memo.epoch;
    constexpr std::size_t few = 4;  // are copied without a call
    std::memcpy(known_, memo.operands, few * sizeof known_[0]);
    if (memo.count > few) std::memcpy(known_ + few, memo.operands + few, (memo.count - few) * sizeof known_[0]);
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
  memo.lowest_pointer = runtime::lowest_pointer();
  written_ = ++memo.written;
  memo_ = &memo;
  thread_ = ThreadNumbers::mine();
  original_ = static_cast<const unsigned char*>(functor);
  described_ = true;
}

void CaptureList::write_memo(const runtime::Launch& launch) const noexcept {
  if (thread_ != ThreadNumbers::mine() || memo_->written != written_) return;
  // Results are no part of the functor, so a closure that has some (count_ > recorded_) is not remembered.
  if (!described_ || count_ != recorded_ || !launch.follows_from_captures()) return;
  memo_->handles = 0;
  std::uint32_t operands = 0;
  for (std::size_t c = 0; c < count_; ++c) {
    if (captures_[c].pointer != nullptr) {
      if (operands == CaptureMemo::most_operands || !runtime::identify(captures_[c], memo_->operands[operands])) return;
      runtime::KnownOperand& operand = memo_->operands[operands];
      operand.repeats = std::any_of(memo_->operands, &operand, [&](const auto& o) { return o.memory == operand.memory; });
      ++operands;
    }
    const std::size_t at = position_of(captures_[c]), bytes = captures_[c].type->bytes;
    for (std::size_t i = at / word_bytes; i * word_bytes < at + bytes && i < CaptureMemo::most_words; ++i)
      memo_->handles |= std::uint64_t{1} << i;
  }
  memo_->count = operands;
}

void* CaptureList::blank(void* memory, std::size_t bytes) noexcept {
  image_ = static_cast<const unsigned char*>(detail::blank(memory, bytes));
  image_bytes_ = bytes;
  recording_ = Recording::by_place;
  return memory;
}

void CaptureList::analyse(const Subject& subject, std::size_t host_copy) noexcept {
  recording_ = Recording::off;
  if (runtime::launches_are_observed()) read_shapes();
  const std::size_t count = image_bytes_ / word_bytes;
  Words copied(count);
  std::uintptr_t* const words = copied.begin();
  std::memcpy(words, image_, count * word_bytes);
  // Words that are explained become zero. Words that remain and look like pointers are followed.
  const auto explain = [&](std::size_t position, std::size_t bytes) {
    const std::size_t end = std::min(count, (position + bytes + word_bytes - 1) / word_bytes);
    for (std::size_t i = position / word_bytes; i < end; ++i) words[i] = 0;
  };
  // The last word that counts as a handle's belongs to its View. Behind a handle without a View (`data_handle()`) another object
  // has its word there, which is followed if it points to a tracked array.
  const auto explain_handle = [&](std::size_t position, std::size_t bytes) {
    const std::size_t last = (position + bytes) / word_bytes - 1;
    const std::uintptr_t word = last < count ? words[last] : 0;
    explain(position, bytes);
    if (LooksLikePointer()(word) && is_tracked(reinterpret_cast<const void*>(word))) words[last] = word;  // NOLINT: a word of a functor
  };
  for (std::size_t c = 0; c < count_; ++c) {
    if (captures_[c].handle) explain_handle(position_of(captures_[c]), captures_[c].type->bytes);
  }
  explain(host_copy, word_bytes);
  if (subject.results) {
    const Original& holder = subject.originals[subject.count - 1];
    const std::size_t begin = holder.position / word_bytes;
    subject.results->wipe_out(words + begin, std::min(count - begin, holder.bytes / word_bytes));
  }
  if (!hold_pointers(words, count)) return;
  described_ = false;
  leads_.reset(new (std::nothrow) runtime::Leads);
  if (!leads_) base::fatal("out of host memory while a kernel of %zu bytes was prepared. Free memory of the host", image_bytes_);
  leads_->follow(words, count, image_, subject.originals, subject.count);
}

void CaptureList::read_shapes() noexcept {
  shapes_.reset(new (std::nothrow) policy::ViewShape[count_]);
  if (!shapes_) base::fatal("out of host memory while a kernel with %zu views was prepared. Free memory of the host", count_);
  shape_count_ = count_;
  for (std::size_t c = 0; c < count_; ++c) {
    const runtime::Capture& capture = captures_[c];
    const bool is_read = capture.pointer && capture.handle && capture.type->read_shape &&
                         position_of(capture) + capture.type->view_bytes <= image_bytes_;
    if (is_read) capture.type->read_shape(capture.handle, shapes_[c]);
  }
}

std::size_t CaptureList::position_of(const runtime::Capture& capture) const noexcept {
  return static_cast<std::size_t>(static_cast<const unsigned char*>(capture.handle) - image_);
}

void* detail::blank(void* memory, std::size_t bytes) noexcept { return std::memset(memory, 0, bytes); }

void ResultWords::add(const void* view, std::size_t bytes, const void* data) noexcept {
  if (count_ == most) return;  // the words of further results are followed like others
  Result& result = results_[count_++];
  result.words = bytes / word_bytes;
  std::memcpy(result.view, view, result.words * word_bytes);
  result.data = reinterpret_cast<std::uintptr_t>(data);
}

void ResultWords::wipe_out(std::uintptr_t* words, std::size_t count) const noexcept {
  for (const Result* r = results_; r != results_ + count_; ++r) {
    const std::size_t data_at = static_cast<std::size_t>(std::find(r->view, r->view + r->words, r->data) - r->view);
    for (std::size_t i = 0; i < count; ++i) {
      if (words[i] == 0 || words[i] != r->data) continue;
      words[i] = 0;
      // If this is a copy of the whole view, all its words become zero, because those behind the address may be uninitialised.
      // The words in front of the address tell; the lowest bit of the record's address may differ.
      if (i < data_at || i - data_at + r->words > count) continue;
      std::uintptr_t* const view = words + (i - data_at);
      const bool is_view = std::equal(view, words + i, r->view, [](auto a, auto b) { return (a | 1) == (b | 1); });
      if (is_view) std::fill_n(view, r->words, 0);
    }
  }
}

void ResultWords::look_at(const void* reducer, std::size_t bytes) noexcept {
  const std::size_t count = bytes / word_bytes;
  Words words(count);
  std::memcpy(words.begin(), reducer, count * word_bytes);
  wipe_out(words.begin(), count);
  are_all_ = !hold_pointers(words.begin(), count);
}

void CaptureList::grow() noexcept {
  // A list never drops entries, because a missed view would be silently stale (I8).
  const std::size_t capacity = capacity_ * 4;
  auto* larger = static_cast<runtime::Capture*>(std::malloc(capacity * sizeof(runtime::Capture)));
  if (!larger) base::fatal("out of host memory while a kernel with more than %zu views was prepared. Free memory of the host", count_);
  std::memcpy(larger, captures_, count_ * sizeof(runtime::Capture));
  if (captures_ != inline_captures_) std::free(captures_);
  captures_ = larger;
  capacity_ = capacity;
}

namespace detail {

namespace {

[[gnu::noinline]] void record_any_copy(const void* pointer, const void* place, const void* source, const runtime::HandleType* type,
                                       bool writable) noexcept {
  if (CaptureList* list = open_capture_list) {
    list->notice(pointer, place, source, type, writable);
  } else if (pointer != nullptr) {
    // This is a launch on a native space, for which there will be no runtime::Launch.
    runtime::native_capture({pointer, nullptr, type, writable, type->holds_handles});
  }
}

}  // namespace

void record_untracked_copy(const void* pointer, const void* place, const void* source, const runtime::HandleType* type,
                           bool writable) noexcept {
  CaptureList* const list = open_capture_list;
  if (list != nullptr && list->is_next_known(pointer, writable)) return;  // the usual case
  record_any_copy(pointer, place, source, type, writable);
}

}  // namespace detail
}  // namespace semcache::kokkos
