// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/kokkos/compat.hpp>
#include <semcache/runtime/runtime.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

/// Which tracked arrays a kernel uses: Kokkos copies the functor into the pattern's closure while allocation tracking is
/// disabled, so a data handle whose copy constructor looks at that flag sees exactly the views that the kernel captures.
namespace semcache {
class Space;
}

namespace semcache::kokkos {

class CaptureList;

/// The list of the closure that this thread is constructing; nullptr outside. `__thread`: no wrapper call on the hot path.
extern SEMCACHE_API __thread CaptureList* open_capture_list;

/// What the last functor of a type captured, kept for the next one: most launches repeat an earlier one. It belongs to one
/// thread, the first one that launches such functors (thread-local memos would grow the stack of every thread by all functor
/// types); when that thread has ended, to the next one that does.
/// Only of functors that their words describe: every handle lies in the functor itself and is copied from there (but for nvcc's host copy
/// of a lambda, which has the same ones), and no other word of the copy looks like a pointer. It saves the picture and looking arrays up, not the recording: which
/// handles the closure's copy really has, their copying tells (a flag may switch one off). A copy constructor that makes a
/// bare pointer of a number, once nullptr and once another, is not seen through.
struct CaptureMemo {
  static constexpr std::size_t most_words = 64;
  static constexpr std::size_t most_operands = runtime::Launch::most_known;

  std::atomic<std::uint64_t> owner;  ///< number of the thread; 0: nobody yet
  std::uint64_t handles;           ///< words that belong to handles
  std::uint64_t epoch;
  std::uint32_t written;  ///< how often this was
  std::uint32_t count;    ///< of operands, one for each capture; 0: nothing is known
  runtime::KnownOperand operands[most_operands];

  [[nodiscard]] bool belongs_to(std::uint64_t thread) noexcept;
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

namespace detail {
/// Makes the bytes zero. Opaque to the compiler, which would drop it before the lifetime of an object there.
SEMCACHE_API void* blank(void* memory, std::size_t bytes) noexcept;
}  // namespace detail

/// The views of their results that a reducer holds: what lies there is written, not followed.
class SEMCACHE_API ResultWords {
 public:
  template <class Reducer>
  [[gnu::visibility("hidden")]] explicit ResultWords(const Reducer& reducer) {
    // On blank memory, as pictures are taken.
    alignas(Reducer) alignas(std::uintptr_t) unsigned char memory[sizeof(Reducer)];
    auto* copy = ::new (detail::blank(memory, sizeof(Reducer))) Reducer(reducer);
    add_of(*copy);
    look_at(memory, sizeof(Reducer));
    copy->~Reducer();
  }
  /// Has the reducer no other words that look like pointers?
  [[nodiscard]] bool are_all() const noexcept { return are_all_; }
  /// Makes the words zero.
  void wipe_out(std::uintptr_t* words, std::size_t count) const noexcept;

 private:
  template <class Reducer>
  void add_of(const Reducer& reducer) {
    const auto& view = reducer.view();
    static_assert(sizeof view <= sizeof(Result::view), "a view of a reduction's result is larger than expected");
    add(std::addressof(view), sizeof view, view.data());
  }
  /// Several in one, each with its result.
  template <class Space, class... Reducers>
  void add_of(const Kokkos::Impl::CombinedReducer<Space, Reducers...>& reducers) {
    add_all(reducers, std::index_sequence_for<Reducers...>());
  }
  struct Result {
    std::uintptr_t view[8];
    std::size_t words;
    std::uintptr_t data;
  };
  static constexpr std::size_t most = 16;

  template <class Space, class... Reducers, std::size_t... I>
  void add_all(const Kokkos::Impl::CombinedReducer<Space, Reducers...>& reducers, std::index_sequence<I...>) {
    add(std::addressof(reducers.view()), sizeof reducers.view(), reducers.view().data());
    // The only way to a private base class, whose only member is the reducer.
    (add_of(reinterpret_cast<const Reducers&>((const Kokkos::Impl::CombinedReducerStorageImpl<I, Reducers>&)reducers)), ...);
  }
  void add(const void* view, std::size_t bytes, const void* data) noexcept;
  void look_at(const void* reducer, std::size_t bytes) noexcept;

  bool are_all_ = false;
  Result results_[most];
  std::size_t count_ = 0;
};

template <class Functor, class Reducer>
struct FunctorAndReducer {
  FunctorAndReducer(const Functor& f, const Reducer& r) : functor(f), reducer(r) {}
  static constexpr std::size_t position_of_reducer =
      (sizeof(Functor) + alignof(Reducer) - 1) / alignof(Reducer) * alignof(Reducer);
  Functor functor;
  Reducer reducer;
};

/// What a closure captured. A base class of our closures, constructed before the pattern that copies the functor: the
/// list belongs to the closure, so a closure that is never executed leaves nothing behind, and one that is executed
/// twice, or by another thread, finds its captures.
///
/// Where a pattern keeps its copy of the functor is its own secret, therefore we make one more: a picture, taken on blank
/// memory. Its handles say what they point to and where they lie in it; the other words are looked through for pointers
/// that no handle explains, and padding, which would hold anything in the functor itself, is zero. Pointers are followed
/// (runtime::Leads) while the picture is there, and what it owns with it. A reducer that holds more than its result is
/// on the picture, too.
/// Threads: filled by the constructing thread only; afterwards read-only.
class SEMCACHE_API CaptureList {
 public:
  CaptureList() noexcept;
  ~CaptureList();
  CaptureList(const CaptureList&) = delete;
  CaptureList& operator=(const CaptureList&) = delete;

  // Hidden, as MemoOf: what is made for a functor of this library must not stand for another one of that name.
  /// @param results  which the functor may hold, too
  template <class Functor>
  [[gnu::visibility("hidden")]] void take_picture_of(const Functor& functor, const ResultWords* results = nullptr) {
    if constexpr (sizeof(Functor) >= sizeof(void*)) {
      using Memo = MemoOf<Functor>;
      if constexpr (Memo::words <= CaptureMemo::most_words) {
        constexpr std::size_t words = Memo::words - (ends_with_host_copy<Functor>() ? 1 : 0);
        if (remembers(Memo::memo, Memo::word, std::addressof(functor), words)) return;
      }
      const Original original{std::addressof(functor), sizeof(Functor), 0};
      copy_on_blank<Functor, Functor>({&original, 1, results}, functor);
    }
  }
  /// The same of a functor that travels with a reducer. Kokkos' own reducers lead to their result and nowhere else, and functors of
  /// its algorithms hold one more copy.
  template <class Functor, class Reducer>
  [[gnu::visibility("hidden")]] void take_picture_of(const Functor& functor, const Reducer& reducer) {
    const ResultWords results(reducer);
    if (results.are_all()) return take_picture_of(functor, &results);
    using Both = FunctorAndReducer<Functor, Reducer>;
    const Original originals[] = {{std::addressof(functor), sizeof(Functor), 0},
                                  {std::addressof(reducer), sizeof(Reducer), Both::position_of_reducer}};
    copy_on_blank<Both, Functor>({originals, 2, &results}, functor, reducer);
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
    const auto* at = static_cast<const unsigned char*>(place);
    const bool inside = at >= image_ && at + bytes <= image_ + image_bytes_;
    if (!inside && has_host_copy_ && is_in_image(pointer, writable, holds_handles)) return;
    described_ = described_ && inside && static_cast<const unsigned char*>(source) - original_ == at - image_;
    if (!pointer && !inside) return;
    append(pointer, inside ? at : nullptr, bytes, writable, holds_handles);
  }

  /// The copied handle is the known capture whose turn it is: nothing else is to be noticed.
  [[nodiscard]] bool is_next_known(const void* pointer, bool writable) noexcept {
    const std::uint32_t i = next_known_;
    if (recording_ != Recording::known || known_[i].pointer != pointer || known_[i].writable != writable) return false;
    used_ |= std::uint32_t{1} << i;
    next_known_ = i + 1 < known_count_ ? i + 1 : 0;
    return true;
  }


  /// The launch of this closure's kernel: alive while the kernel is submitted.
  /// @throws OutOfMemory as runtime::Launch
  [[nodiscard]] runtime::Launch launch(QueueId queue, const char* name) const {
    if (__builtin_expect(known_count_ != 0, 1))
      return runtime::Launch(queue, name, known_, known_count_, used_, epoch_, captures_, count_);
    return runtime::Launch(queue, name, captures_, count_, leads_.get());
  }
  /// For the next functor of this type.
  void remember(const runtime::Launch& launch) const noexcept;

 private:
  static constexpr std::size_t inline_captures = 8;
  enum class Recording : std::uint8_t { off, by_place, known };
  using Original = runtime::Leads::Original;
  /// What a picture is taken of.
  struct Subject {
    const Original* originals;
    std::size_t count;
    const ResultWords* results;  ///< which the last one, as a rule a reducer, may hold; or nullptr
  };

  /// Does the memo hold for this functor? If it may, but does not: a new one begins. Out of line, as everything that is not
  /// the functor's own: code that lies together is fast.
  [[nodiscard]] bool remembers(CaptureMemo& memo, std::uintptr_t* word, const void* functor, std::size_t words) noexcept;
  template <class Copy, class Functor, class... Originals>
  [[gnu::noinline, gnu::visibility("hidden")]] void copy_on_blank(const Subject& subject, const Originals&... originals) {
    constexpr std::size_t host_copy = ends_with_host_copy<Functor>() ? sizeof(Functor) - sizeof(void*) : sizeof(Copy);
    has_host_copy_ = ends_with_host_copy<Functor>();
    alignas(Copy) alignas(std::uintptr_t) unsigned char memory[sizeof(Copy)];
    // The calls are opaque to the compiler: it must neither drop the blanking before the lifetime of the copy nor the
    // bytes after it.
    auto* copy = ::new (blank(memory, sizeof(Copy))) Copy(originals...);
    // Types that are copied as bytes bring the original's padding along.
    if constexpr (std::is_trivially_copyable<Copy>::value) SEMCACHE_KOKKOS_CLEAR_PADDING(copy);
    analyse(subject, host_copy);
    copy->~Copy();
  }
  /// Handles are copied in the same order each time.
  [[nodiscard]] bool is_known(const void* pointer, bool writable) noexcept {
    for (std::uint32_t tried = 0; tried < known_count_; ++tried) {
      if (is_next_known(pointer, writable)) return true;
      next_known_ = next_known_ + 1 < known_count_ ? next_known_ + 1 : 0;
    }
    return false;
  }
  /// A lambda's handles are copied once more to its host copy, behind those that the kernel uses: these tell nothing new.
  [[nodiscard]] bool is_in_image(const void* pointer, bool writable, bool holds_handles) const noexcept {
    for (const runtime::Capture* c = captures_; c != captures_ + count_; ++c) {
      if (c->handle && c->pointer == pointer && c->writable == writable && c->holds_handles == holds_handles) return true;
    }
    return false;
  }
  void begin_memo(CaptureMemo& memo, const void* functor) noexcept;
  void* blank(void* memory, std::size_t bytes) noexcept;
  /// Looks at the picture. @param host_copy  where nvcc's pointer lies, if it does
  void analyse(const Subject& subject, std::size_t host_copy) noexcept;
  [[nodiscard]] std::size_t position_of(const runtime::Capture& capture) const noexcept;
  void append(const void* pointer, const void* handle, std::uint32_t bytes, bool writable, bool holds_handles) noexcept {
    if (count_ == capacity_) grow();
    captures_[count_++] = runtime::Capture{pointer, handle, handle ? bytes : 0, writable, holds_handles};
  }
  void grow() noexcept;

  CaptureList* outer_;
  Recording recording_ = Recording::off;
  bool described_ = false;  ///< by its words: a memo of it holds
  bool has_host_copy_ = false;  ///< see `ends_with_host_copy`
  std::uint32_t written_ = 0;
  std::uint32_t known_count_ = 0;  ///< a memo fits: no picture was taken
  std::uint32_t used_ = 0;         ///< which of the known captures the closure's copy has
  std::uint32_t next_known_ = 0;
  std::uint64_t epoch_ = 0;
  CaptureMemo* memo_ = nullptr;  ///< to be written
  std::uint64_t thread_ = 0;     ///< whose memo that is
  const unsigned char* original_ = nullptr;
  std::size_t recorded_ = 0;  ///< captures that the functor's handles recorded
  const unsigned char* image_ = nullptr;  ///< the functor's bytes, from which places are counted; nullptr once they have been analysed
  std::size_t image_bytes_ = 0;
  std::unique_ptr<runtime::Leads> leads_;  ///< nullptr: the functor leads nowhere but to its captures
  runtime::Capture* captures_ = inline_captures_;
  std::size_t count_ = 0;
  std::size_t capacity_ = inline_captures;
  runtime::KnownOperand known_[CaptureMemo::most_operands];
  runtime::Capture inline_captures_[inline_captures];
};

/// True for element types that may contain handles themselves, or pointers: a View of Views. Kernels that capture a View of such
/// elements may use every array. Specialise it for a type of which the compiler says too much or too little:
///
///     struct Cell { double* values; };  // can be copied as bytes, but leads to an array
///     template <> struct semcache::kokkos::HoldsHandles<Cell> : std::true_type {};
template <class T>
struct HoldsHandles : std::integral_constant<bool, !std::is_trivially_copyable<T>::value || Kokkos::is_view<T>::value> {};
template <class T>
struct HoldsHandles<T*> : std::true_type {};
template <class T, std::size_t N>
struct HoldsHandles<T[N]> : HoldsHandles<T> {};
template <class T, std::size_t N>
struct HoldsHandles<std::array<T, N>> : HoldsHandles<std::remove_const_t<T>> {};
template <class T, std::size_t N, class... Properties>
struct HoldsHandles<Kokkos::Array<T, N, Properties...>> : HoldsHandles<std::remove_const_t<T>> {};
template <class A, class B>
struct HoldsHandles<Kokkos::pair<A, B>> : std::integral_constant<bool, HoldsHandles<A>::value || HoldsHandles<B>::value> {};
template <class T>
struct HoldsHandles<Kokkos::complex<T>> : std::false_type {};

namespace detail {

/// A View of such elements has been made: bare pointers to them lead to views, too.
template <class MemorySpace, class T>
KOKKOS_FUNCTION void expect_handles_in([[maybe_unused]] T* elements) {
  SEMCACHE_KOKKOS_ON_HOST(
      if constexpr (std::is_same<MemorySpace, Space>::value && HoldsHandles<std::remove_const_t<T>>::value)
          runtime::expect_handles(elements);)
}

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
