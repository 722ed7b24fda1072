// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/kokkos/compat.hpp>
#include <semcache/runtime/runtime.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>

/// Which tracked arrays a kernel uses: Kokkos copies the functor into the pattern's closure while allocation tracking is
/// disabled, so a data handle whose copy constructor looks at that flag sees exactly the views that the kernel captures.
namespace semcache::kokkos {

class CaptureList;

/// The list of the closure that this thread is constructing; nullptr outside. `__thread`: no wrapper call on the hot path.
extern SEMCACHE_API __thread CaptureList* open_capture_list;

/// What the last functor of a type captured, kept for the next one: most launches repeat an earlier one. It belongs to the
/// first thread that launches such functors (thread-local memos would grow the stack of every thread by all functor types).
/// Only of functors that their words describe: every handle lies in the functor itself and is copied from there, and
/// no other word of the copy looks like a pointer. It saves the picture and looking arrays up, not the recording: which
/// handles the closure's copy really has, their copying tells (a flag may switch one off). A copy constructor that makes a
/// bare pointer of a number, once nullptr and once another, is not seen through.
struct CaptureMemo {
  static constexpr std::size_t most_words = 64;
  static constexpr std::size_t most_operands = runtime::Launch::most_known;

  std::atomic<const void*> owner;  ///< `open_capture_list` of the thread
  std::uint64_t handles;           ///< words that belong to handles
  std::uint64_t epoch;
  std::uint32_t written;  ///< how often this was
  std::uint32_t count;    ///< of operands, one for each capture; 0: nothing is known
  runtime::KnownOperand operands[most_operands];

  [[nodiscard]] bool belongs_to(const void* thread) noexcept;
  /// Handles must be the same; no other word may be a pointer (even one that was there before: it may have been switched off).
  [[nodiscard]] bool fits(const std::uintptr_t* word, const void* functor, std::size_t words) const noexcept;
};

/// Hidden: libraries that know nothing of each other may have types of one name.
template <class Functor>
struct __attribute__((visibility("hidden"))) MemoOf {
  static constexpr std::size_t words = sizeof(Functor) / sizeof(std::uintptr_t);
  static inline CaptureMemo memo{};
  static inline std::uintptr_t word[words]{};
};

/// nvcc keeps a host copy of an extended lambda behind a pointer in its last word, which no kernel follows.
template <class Functor>
constexpr bool ends_with_host_copy() {
#if defined(__CUDACC_EXTENDED_LAMBDA__)
  return __nv_is_extended_host_device_lambda_closure_type(Functor);
#else
  return false;
#endif
}

/// What a closure captured. A base class of our closures, constructed before the pattern that copies the functor: the
/// list belongs to the closure, so a closure that is never executed leaves nothing behind, and one that is executed
/// twice, or by another thread, finds its captures.
///
/// Where a pattern keeps its copy of the functor is its own secret, therefore we make one more: a picture, taken on blank
/// memory. Its handles say what they point to and where they lie in it, and are wiped out; the other words are looked
/// through for pointers that no handle explains, and padding, which would hold anything in the functor itself, is zero.
/// Threads: filled by the constructing thread only; afterwards read-only.
class SEMCACHE_API CaptureList {
 public:
  CaptureList() noexcept;
  ~CaptureList();
  CaptureList(const CaptureList&) = delete;
  CaptureList& operator=(const CaptureList&) = delete;

  // Hidden, as MemoOf: what is made for a functor of this library must not stand for another one of that name.
  template <class Functor>
  [[gnu::visibility("hidden")]] void take_picture_of(const Functor& functor) {
    if constexpr (sizeof(Functor) >= sizeof(void*)) {
      if constexpr (alignof(Functor) <= picture_alignment) {
        using Memo = MemoOf<Functor>;
        if constexpr (Memo::words <= CaptureMemo::most_words) {
          constexpr std::size_t words = Memo::words - (ends_with_host_copy<Functor>() ? 1 : 0);
          if (remembers(Memo::memo, Memo::word, std::addressof(functor), words)) return;
        }
        copy_on_blank(functor);
      } else {
        watch_copies_of(std::addressof(functor), sizeof(Functor));
      }
      if constexpr (ends_with_host_copy<Functor>()) explain(sizeof(Functor) - sizeof(void*), sizeof(void*));
    }
  }

  /// Ends the recording. Idempotent.
  void close() noexcept;

  /// Adds an array that the functor does not hold as a handle: a result, the views of a functor that we know.
  void add(const void* pointer, bool writable, bool holds_handles) noexcept {
    if (pointer) append(pointer, nullptr, 0, writable, holds_handles);
  }
  /// False: handles need not call `notice`.
  [[nodiscard]] bool recording() const noexcept { return recording_ != Recording::off; }
  /// Called by handles. `place`, `source`: where the copy and the copied handle lie.
  void notice(const void* pointer, const void* place, const void* source, std::uint32_t bytes, bool writable,
              bool holds_handles) noexcept {
    if (recording_ == Recording::known) {
      if (!is_known(pointer, writable) && pointer) append(pointer, nullptr, 0, writable, holds_handles);
      return;
    }
    if (recording_ == Recording::off) return;
    const auto* at = static_cast<const unsigned char*>(recording_ == Recording::by_place ? place : source);
    const bool inside = at >= origin_ && at + bytes <= origin_ + picture_bytes_;
    described_ = described_ && inside && static_cast<const unsigned char*>(source) - original_ == at - origin_;
    if (!pointer && !inside) return;
    append(pointer, inside ? picture_ + (at - origin_) : nullptr, bytes, writable, holds_handles);
  }

  /// The copied handle is the known capture whose turn it is: nothing else is to be noticed.
  [[nodiscard]] bool is_next_known(const void* pointer, bool writable) noexcept {
    const std::uint32_t i = next_known_;
    if (recording_ != Recording::known || known_[i].pointer != pointer || known_[i].writable != writable) return false;
    used_ |= std::uint32_t{1} << i;
    next_known_ = i + 1 < known_count_ ? i + 1 : 0;
    return true;
  }

  /// Forgets the picture: all views of this functor are named by `add`.
  void trust() noexcept {
    picture_bytes_ = count_ = 0;
    suspicious_ = false;
  }

  /// The launch of this closure's kernel: alive while the kernel is submitted.
  /// @throws OutOfMemory as runtime::Launch
  [[nodiscard]] runtime::Launch launch(QueueId queue, const char* name) const {
    if (__builtin_expect(known_count_ != 0, 1))
      return runtime::Launch(queue, name, known_, known_count_, used_, epoch_, captures_, count_);
    return runtime::Launch(queue, name, captures_, count_, suspicious_ ? picture_ : nullptr, picture_bytes_);
  }
  /// For the next functor of this type.
  void remember(const runtime::Launch& launch) const noexcept;

 private:
  static constexpr std::size_t inline_captures = 8;
  static constexpr std::size_t inline_picture = 256;
  static constexpr std::size_t picture_alignment = 16;
  enum class Recording : std::uint8_t { off, by_place, by_source, known };

  /// Does the memo hold for this functor? If it may, but does not: a new one begins. Out of line, as everything that is not
  /// the functor's own: code that lies together is fast.
  [[nodiscard]] bool remembers(CaptureMemo& memo, std::uintptr_t* word, const void* functor, std::size_t words) noexcept;
  template <class Functor>
  [[gnu::noinline, gnu::visibility("hidden")]] void copy_on_blank(const Functor& functor) {
    // The calls are opaque to the compiler: it must neither drop the blanking before the lifetime of the copy nor the
    // bytes after it.
    auto* copy = ::new (blank(sizeof(Functor))) Functor(functor);
    develop();
    copy->~Functor();
  }
  /// Handles are copied in the same order each time.
  [[nodiscard]] bool is_known(const void* pointer, bool writable) noexcept {
    for (std::uint32_t tried = 0; tried < known_count_; ++tried) {
      if (is_next_known(pointer, writable)) return true;
      next_known_ = next_known_ + 1 < known_count_ ? next_known_ + 1 : 0;
    }
    return false;
  }
  void begin_memo(CaptureMemo& memo, const void* functor) noexcept;
  void* blank(std::size_t bytes) noexcept;
  void develop() noexcept;
  void watch_copies_of(const void* functor, std::size_t bytes) noexcept;
  void explain(std::size_t position, std::uint32_t bytes) noexcept;
  [[nodiscard]] bool holds_pointers() const noexcept;
  /// Containers carry small views of plain host memory (UnorderedMap its size). A view whose whole allocation holds no
  /// word that looks like a pointer leads nowhere: its words are harmless.
  void explain_small_host_views() noexcept;
  void append(const void* pointer, const void* handle, std::uint32_t bytes, bool writable, bool holds_handles) noexcept {
    if (count_ == capacity_) grow();
    captures_[count_++] = runtime::Capture{pointer, handle, handle ? bytes : 0, writable, holds_handles};
  }
  void grow() noexcept;

  CaptureList* outer_;
  Recording recording_ = Recording::off;
  bool suspicious_ = true;  ///< the picture holds words that may be pointers; until it is closed: perhaps
  bool described_ = false;  ///< by its words: a memo of it holds
  std::uint32_t written_ = 0;
  std::uint32_t known_count_ = 0;  ///< a memo fits: no picture was taken
  std::uint32_t used_ = 0;         ///< which of the known captures the closure's copy has
  std::uint32_t next_known_ = 0;
  std::uint64_t epoch_ = 0;
  CaptureMemo* memo_ = nullptr;   ///< to be written
  const void* thread_ = nullptr;  ///< whose memo that is
  const unsigned char* original_ = nullptr;
  std::size_t recorded_ = 0;  ///< captures that the functor's handles recorded
  const unsigned char* origin_ = nullptr;  ///< what positions are counted from: the picture or the watched functor
  std::size_t picture_bytes_ = 0;
  unsigned char* picture_ = inline_picture_;
  runtime::Capture* captures_ = inline_captures_;
  std::size_t count_ = 0;
  std::size_t capacity_ = inline_captures;
  runtime::KnownOperand known_[CaptureMemo::most_operands];
  runtime::Capture inline_captures_[inline_captures];
  alignas(picture_alignment) unsigned char inline_picture_[inline_picture];
};

namespace detail {

/// True for element types that may contain handles themselves, or pointers to them: a View of Views.
template <class T>
struct HoldsHandles : std::integral_constant<bool, !std::is_trivially_copyable<T>::value || Kokkos::is_view<T>::value> {};
template <class T>
struct HoldsHandles<T*> : std::true_type {};
template <class T>
struct HoldsHandles<Kokkos::complex<T>> : std::false_type {};

/// A handle is copied while tracking is disabled. Out of line: functors copy several, and code that lies apart is slow.
SEMCACHE_API void record_untracked_copy(const void* pointer, const void* place, const void* source, std::uint32_t bytes,
                                        bool writable, bool holds_handles) noexcept;

/// Called by every handle copy; noexcept, because Kokkos 3.4 switches tracking without RAII.
inline void record_copy(const void* pointer, const void* place, const void* source, std::uint32_t bytes, bool writable,
                        bool holds_handles) noexcept {
  if (__builtin_expect(!Kokkos::Impl::SharedAllocationRecord<void, void>::tracking_enabled(), 1))
    record_untracked_copy(pointer, place, source, bytes, writable, holds_handles);
}

/// The same for handles of host mirrors: kernels cannot use them (the page tracker serves them if they do), the words
/// only have to be recognised.
inline void record_mirror_copy(const void* place, const void* source, std::uint32_t bytes) noexcept {
  if (Kokkos::Impl::SharedAllocationRecord<void, void>::tracking_enabled()) return;
  if (CaptureList* list = open_capture_list; list && list->recording())
    list->notice(nullptr, place, source, bytes, false, false);
}

}  // namespace detail
}  // namespace semcache::kokkos
