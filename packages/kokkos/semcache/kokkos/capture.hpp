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

/// Finds out which tracked arrays a kernel uses. Kokkos copies the functor into the pattern's closure while allocation tracking
/// is disabled. A data handle whose copy constructor checks that flag therefore sees exactly the views that the kernel
/// captures.
namespace semcache {
class Space;
}

namespace semcache::kokkos {

class CaptureList;

/// The list of the closure that this thread is constructing; nullptr if it constructs none. It is `__thread` because a
/// `thread_local` variable would add the call of a wrapper to each copy of a handle.
extern SEMCACHE_API __thread CaptureList* open_capture_list;

/// The captures of the last functor of a type, kept for the next one because most launches repeat an earlier one. A memo
/// belongs to one thread. Each functor type has memos for eight threads. A further thread gets the memo of a thread that has ended,
/// and has none until then. (Memos for every thread would grow the stack of every thread by all functor types.)
///
/// There are memos only of functors whose words describe their captures: every handle lies in the functor itself and is copied
/// from there, and no other word of the copy looks like a pointer. (nvcc's host copy of a lambda is an exception, because it
/// has the same handles.) A memo that fits saves the picture (see CaptureList) and the look-up of arrays. It does not save the
/// recording: only the copying of handles tells which of them the closure's copy really has, because a flag in the functor may
/// switch one off. A copy constructor that makes a bare pointer of a number, nullptr in one launch and an address in the next,
/// is not noticed.
struct alignas(64) CaptureMemo {
  static constexpr std::size_t most_threads = 8;  ///< of one functor type that have memos at the same time
  static constexpr std::size_t most_words = 64;
  static constexpr std::size_t most_operands = runtime::Launch::most_known;

  std::atomic<std::uint64_t> owner;  ///< number of the thread; 0: no owner yet
  std::uint64_t handles;           ///< bit i: word i of the functor belongs to a handle
  std::uint64_t epoch;             ///< of the runtime that knows the operands
  std::uintptr_t lowest_pointer;   ///< in that runtime
  std::uint32_t written;  ///< how often the memo has been begun
  std::uint32_t count;    ///< of operands, one for each capture; 0: the memo holds for no functor
  runtime::KnownOperand operands[most_operands];

  /// Returns whether the thread owns the memo. A thread takes a memo that has no owner or whose owner has ended.
  [[nodiscard]] bool belongs_to(std::uint64_t thread) noexcept;
  /// Returns whether the memo holds for this functor: its handles are the same, and no other word looks like a pointer, even one
  /// that had the same value before, because its use may have been switched off then.
  [[nodiscard]] bool fits(const std::uintptr_t* word, const void* functor, std::size_t words) const noexcept;
};

namespace detail {
/// The calling thread's number for memos (`ThreadNumbers` in capture.cpp); 0: it has none yet.
extern SEMCACHE_API __thread std::uint64_t thread_number;
[[gnu::cold]] SEMCACHE_API void give_number() noexcept;
/// Returns which of a functor type's memos the calling thread may have.
[[nodiscard]] inline std::size_t memo_of_this_thread() noexcept {
  if (__builtin_expect(thread_number == 0, 0)) give_number();
  return thread_number % CaptureMemo::most_threads;
}
}  // namespace detail

/// A memo and the words of the functor that it was made of.
template <std::size_t Words>
struct MemoWithWords {
  CaptureMemo memo;
  std::uintptr_t word[Words];
};

/// The memos of a functor type. The visibility is hidden because two libraries may have different types of the same name.
template <class Functor>
struct __attribute__((visibility("hidden"))) MemoOf {
  static constexpr std::size_t words = sizeof(Functor) / sizeof(std::uintptr_t);
  using Kept = MemoWithWords<words>;
  static_assert(sizeof(Kept) > 0, "nvcc calls the type incomplete in the next line unless it has been used before");
  static inline Kept kept[CaptureMemo::most_threads]{};
  [[nodiscard]] static Kept& of_this_thread() noexcept { return kept[detail::memo_of_this_thread()]; }
};

/// Returns whether the last word of the functor is a pointer to the host copy that nvcc keeps of an extended lambda. No kernel
/// follows this pointer.
template <class Functor>
constexpr bool ends_with_host_copy() {
#if defined(__CUDACC_EXTENDED_LAMBDA__)
  return __nv_is_extended_host_device_lambda_closure_type(Functor);
#else
  return false;
#endif
}

namespace detail {
/// Makes the bytes zero and returns `memory`. It is not inline because the compiler would drop stores that come before the
/// lifetime of an object in the same place.
SEMCACHE_API void* blank(void* memory, std::size_t bytes) noexcept;
}  // namespace detail

/// The views of results that a reducer holds. A kernel writes the memory of a result, but follows no pointer that lies there.
class SEMCACHE_API ResultWords {
 public:
  template <class Reducer>
  [[gnu::visibility("hidden")]] explicit ResultWords(const Reducer& reducer) {
    // The copy is made on blank memory, as pictures are, so that padding is zero.
    alignas(Reducer) alignas(std::uintptr_t) unsigned char memory[sizeof(Reducer)];
    auto* copy = ::new (detail::blank(memory, sizeof(Reducer))) Reducer(reducer);
    add_of(*copy);
    look_at(memory, sizeof(Reducer));
    copy->~Reducer();
  }
  /// Returns whether the reducer has no other words that look like pointers.
  [[nodiscard]] bool are_all() const noexcept { return are_all_; }
  /// Makes those of the `count` words zero that are views or addresses of these results.
  void wipe_out(std::uintptr_t* words, std::size_t count) const noexcept;

 private:
  template <class Reducer>
  void add_of(const Reducer& reducer) {
    const auto& view = reducer.view();
    static_assert(sizeof view <= sizeof(Result::view), "a view of a reduction's result is larger than expected");
    add(std::addressof(view), sizeof view, view.data());
  }
  /// For a reducer that combines several, each with its own result.
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
    // The reducer is the only member of a private base class, and this cast is the only way to it.
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

#if defined(__NVCC_DIAG_PRAGMA_SUPPORT__)
#pragma nv_diagnostic push
#pragma nv_diag_suppress 1407  // a member for a functor without linkage is hidden anyway
#endif
/// The list of what a closure captured. It is a base class of the closures on semcache::Exec, constructed before the native
/// pattern that copies the functor. The list belongs to the closure: a closure that is never executed leaves nothing behind,
/// and one that is executed twice, or by another thread, finds its captures.
///
/// The place of the pattern's own copy of the functor is not known, so the list makes one more copy on blank memory: the
/// *picture*. Handles record what they point to and where they lie in the picture. All other words of the picture are searched
/// for pointers that belong to no handle. Padding, which could hold anything in the functor itself, is zero in the picture.
/// While launches are observed, the shapes of Views are read from it, too.
/// Pointers are followed (runtime::Leads) while the picture, and with it what the picture owns, is alive. A reducer that holds
/// more than its result is part of the picture.
/// Threads: only the constructing thread fills the list; afterwards it is read-only.
class SEMCACHE_API CaptureList {
 public:
  CaptureList() noexcept : outer_(open_capture_list) { open_capture_list = this; }
  ~CaptureList() {
    if (open_capture_list == this) open_capture_list = outer_;
    if (captures_ != inline_captures_) free_captures();
  }
  CaptureList(const CaptureList&) = delete;
  CaptureList& operator=(const CaptureList&) = delete;

  // The visibility is hidden as that of MemoOf, because another library may have another functor of the same name.
  /// Takes a picture of the functor and finds its pointers, unless a memo of it fits.
  /// @param results  results of the reducer, of which the functor may hold copies; or nullptr
  template <class Functor>
  [[gnu::visibility("hidden")]] void take_picture_of(const Functor& functor, const ResultWords* results = nullptr) {
    if constexpr (sizeof(Functor) >= sizeof(void*)) {
      using Memo = MemoOf<Functor>;
      if constexpr (Memo::words <= CaptureMemo::most_words) {
        constexpr std::size_t words = Memo::words - (ends_with_host_copy<Functor>() ? 1 : 0);
        typename Memo::Kept& kept = Memo::of_this_thread();
        if (remembers(kept.memo, kept.word, std::addressof(functor), words)) return;
      }
      const Original original{std::addressof(functor), sizeof(Functor), 0};
      copy_on_blank<Functor, Functor>({&original, 1, results}, functor);
    }
  }
  /// Does the same for a functor that comes with a reducer. Kokkos' own reducers hold only their results, so the functor alone
  /// is on the picture then; functors of Kokkos' algorithms hold one more copy of the reducer.
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
  void close() noexcept {
    if (open_capture_list != this) return;
    open_capture_list = outer_;
    recording_ = Recording::off;
    recorded_ = count_;
  }

  /// Adds an array that no handle recorded: a result, or a view of a KnownFunctor.
  void add(const void* pointer, const runtime::HandleType* type, bool writable, bool holds_handles) noexcept {
    if (pointer) append(pointer, nullptr, type, writable, holds_handles);
  }
  /// Returns whether handles must call `notice`.
  [[nodiscard]] bool recording() const noexcept { return recording_ != Recording::off; }
  /// Records the copy of a handle.
  /// @param place   address of the View that the copy lies in
  /// @param source  address of the View whose handle was copied
  void notice(const void* pointer, const void* place, const void* source, const runtime::HandleType* type, bool writable) noexcept {
    if (recording_ == Recording::known) {
      if (!is_known(pointer, writable) && pointer) append(pointer, nullptr, type, writable, type->holds_handles);
      return;
    }
    if (recording_ == Recording::off) return;
    const auto* at = static_cast<const unsigned char*>(place);
    const bool inside = at >= image_ && at + type->bytes <= image_ + image_bytes_;
    if (!inside && has_host_copy_ && is_in_image(pointer, type, writable)) return;
    described_ = described_ && inside && static_cast<const unsigned char*>(source) - original_ == at - image_;
    if (!pointer && !inside) return;
    append(pointer, inside ? at : nullptr, type, writable, type->holds_handles);
  }

  /// Returns whether the copied handle is the next known capture, and marks that capture as used. Nothing else is to be recorded
  /// then.
  [[nodiscard]] bool is_next_known(const void* pointer, bool writable) noexcept {
    const std::uint32_t i = next_known_;
    if (recording_ != Recording::known || known_[i].pointer != pointer || known_[i].writable != writable) return false;
    used_ |= std::uint32_t{1} << i;
    next_known_ = i + 1 < known_count_ ? i + 1 : 0;
    return true;
  }

  /// Tells the observer of launches, if there is one, of the launch that `launch` is about to begin. A closure that has found its
  /// captures in a memo was constructed without an observer.
  /// @throws what the observer throws, std::bad_alloc
  void tell_observer(QueueId queue, const char* name) const {
    if (__builtin_expect(known_count_ == 0 && runtime::launches_are_observed(), 0))
      runtime::tell_observer(queue, name, captures_, count_, leads_.get(), shapes_.get(), shape_count_);
  }

  /// Begins the launch of this closure's kernel. The result must be alive while the kernel is submitted.
  /// @throws OutOfMemory, UsageError  as runtime::Launch
  [[nodiscard]] runtime::Launch launch(QueueId queue, const char* name) const {
    if (__builtin_expect(known_count_ != 0, 1))
      return runtime::Launch(queue, name, known_, known_count_, used_, epoch_, captures_, count_);
    return runtime::Launch(queue, name, captures_, count_, leads_.get());
  }
  /// Keeps the captures for the next functor of this type, if its words describe them and `launch` used no other arrays.
  void remember(const runtime::Launch& launch) const noexcept {
    if (__builtin_expect(memo_ != nullptr, 0)) write_memo(launch);
  }

 private:
  static constexpr std::size_t inline_captures = 8;
  enum class Recording : std::uint8_t { off, by_place, known };
  using Original = runtime::Leads::Original;
  /// The objects that a picture is taken of.
  struct Subject {
    const Original* originals;
    std::size_t count;
    const ResultWords* results;  ///< results that the last original (as a rule a reducer) may hold; or nullptr
  };

  /// Returns whether the memo holds for this functor. If the memo belongs to this thread but does not hold, a new one begins.
  /// This function is out of line, as is all code that does not depend on the functor's type, because code in one place is
  /// fast.
  [[nodiscard, gnu::hot]] bool remembers(CaptureMemo& memo, std::uintptr_t* word, const void* functor, std::size_t words) noexcept;
  template <class Copy, class Functor, class... Originals>
  [[gnu::noinline, gnu::visibility("hidden")]] void copy_on_blank(const Subject& subject, const Originals&... originals) {
    constexpr std::size_t host_copy = ends_with_host_copy<Functor>() ? sizeof(Functor) - sizeof(void*) : sizeof(Copy);
    has_host_copy_ = ends_with_host_copy<Functor>();
    alignas(Copy) alignas(std::uintptr_t) unsigned char memory[sizeof(Copy)];
    // `blank` and `analyse` are out of line, because the compiler must drop neither the blanking before the lifetime of the copy
    // nor the copy's bytes.
    auto* copy = ::new (blank(memory, sizeof(Copy))) Copy(originals...);
    // A type that is copied as bytes has the padding of the original, too.
    if constexpr (std::is_trivially_copyable<Copy>::value) SEMCACHE_KOKKOS_CLEAR_PADDING(copy);
    analyse(subject, host_copy);
    copy->~Copy();
  }
  /// Returns whether the copied handle is one of the known captures. The search begins at the next one, because handles are
  /// copied in the same order each time.
  [[nodiscard]] bool is_known(const void* pointer, bool writable) noexcept {
    for (std::uint32_t tried = 0; tried < known_count_; ++tried) {
      if (is_next_known(pointer, writable)) return true;
      next_known_ = next_known_ + 1 < known_count_ ? next_known_ + 1 : 0;
    }
    return false;
  }
  /// Returns whether the picture has a handle like this one. After the handles of a lambda, nvcc copies them once more to the
  /// host copy, and those need no record of their own.
  [[nodiscard]] bool is_in_image(const void* pointer, const runtime::HandleType* type, bool writable) const noexcept {
    for (const runtime::Capture* c = captures_; c != captures_ + count_; ++c) {
      if (c->handle && c->pointer == pointer && c->writable == writable && c->holds_handles == type->holds_handles) return true;
    }
    return false;
  }
  void begin_memo(CaptureMemo& memo, const void* functor) noexcept;
  [[gnu::cold]] void write_memo(const runtime::Launch& launch) const noexcept;
  [[gnu::cold]] void free_captures() noexcept;
  void* blank(void* memory, std::size_t bytes) noexcept;
  /// Searches the picture for pointers that belong to no handle, and follows them.
  /// @param host_copy  position of nvcc's pointer in the picture; the picture's size if there is none
  void analyse(const Subject& subject, std::size_t host_copy) noexcept;
  /// Reads the shapes of the Views that were recorded, while the picture is alive.
  void read_shapes() noexcept;
  [[nodiscard]] std::size_t position_of(const runtime::Capture& capture) const noexcept;
  void append(const void* pointer, const void* handle, const runtime::HandleType* type, bool writable, bool holds_handles) noexcept {
    if (count_ == capacity_) grow();
    captures_[count_++] = runtime::Capture{pointer, handle, type, writable, holds_handles};
  }
  void grow() noexcept;

  CaptureList* outer_;
  Recording recording_ = Recording::off;
  bool described_ = false;  ///< the functor's words describe its captures, so a memo is possible
  bool has_host_copy_ = false;  ///< see `ends_with_host_copy`
  std::uint32_t written_ = 0;
  std::uint32_t known_count_ = 0;  ///< captures of the memo that fits; 0 if none does, and a picture was taken
  std::uint32_t used_ = 0;         ///< bit i: the closure's copy has known capture i
  std::uint32_t next_known_ = 0;
  std::uint64_t epoch_ = 0;
  CaptureMemo* memo_ = nullptr;  ///< the memo to be written
  std::uint64_t thread_ = 0;     ///< number of the thread that owns that memo
  const unsigned char* original_ = nullptr;
  std::size_t recorded_ = 0;  ///< captures that the functor's handles recorded
  const unsigned char* image_ = nullptr;  ///< begin of the picture (which may have ended), for positions in it
  std::size_t image_bytes_ = 0;
  std::unique_ptr<runtime::Leads> leads_;  ///< nullptr if the functor has no pointers besides its captures
  std::unique_ptr<policy::ViewShape[]> shapes_;  ///< of the first captures, where launches are observed
  std::size_t shape_count_ = 0;
  runtime::Capture* captures_ = inline_captures_;
  std::size_t count_ = 0;
  std::size_t capacity_ = inline_captures;
  runtime::KnownOperand known_[CaptureMemo::most_operands];
  runtime::Capture inline_captures_[inline_captures];
};
#if defined(__NVCC_DIAG_PRAGMA_SUPPORT__)
#pragma nv_diagnostic pop
#endif

/// True for element types that may hold handles or pointers themselves, as in a View of Views. Kernels that capture a View of
/// such elements may use every array. By default it is true for types that cannot be copied as bytes, for Views and for
/// pointers. Specialise it for a type for which this default is wrong:
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

/// What a bare address of such elements tells. The visibility is hidden as that of MemoOf.
template <class Element>
struct __attribute__((visibility("hidden"))) AddressOf {
  static constexpr runtime::HandleType type{0, 0, sizeof(Element), HoldsHandles<Element>::value, nullptr};
};

/// What words tell that are no pointer for a kernel: they only have to be recognised.
template <std::uint32_t bytes>
inline constexpr runtime::HandleType recognised_words{bytes, 0, 0, false, nullptr};

/// Tells the runtime that a View of these elements has been made, if they may hold handles: a bare pointer to such elements
/// leads a kernel to views, too.
template <class MemorySpace, class T>
KOKKOS_FUNCTION void expect_handles_in([[maybe_unused]] T* elements) {
  SEMCACHE_KOKKOS_ON_HOST(
      if constexpr (std::is_same<MemorySpace, Space>::value && HoldsHandles<std::remove_const_t<T>>::value)
          runtime::expect_handles(elements);)
}

/// Records the copy of a handle that is made while tracking is disabled. It is out of line because functors copy several
/// handles, and inlined copies of this code in many places would be slow.
[[gnu::hot]] SEMCACHE_API void record_untracked_copy(const void* pointer, const void* place, const void* source,
                                                     const runtime::HandleType* type, bool writable) noexcept;

/// Called by every copy of a handle. It is noexcept because Kokkos 3.4 switches tracking on and off without RAII.
inline void record_copy(const void* pointer, const void* place, const void* source, const runtime::HandleType* type,
                        bool writable) noexcept {
  if (__builtin_expect(!Kokkos::Impl::SharedAllocationRecord<void, void>::tracking_enabled(), 1))
    record_untracked_copy(pointer, place, source, type, writable);
}

/// The same for handles of host mirrors. Kernels cannot use mirrors (if one does all the same, the page tracker serves it), so
/// only the words of the handle have to be recognised.
inline void record_mirror_copy(const void* place, const void* source, const runtime::HandleType* type) noexcept {
  if (Kokkos::Impl::SharedAllocationRecord<void, void>::tracking_enabled()) return;
  if (CaptureList* list = open_capture_list; list && list->recording()) list->notice(nullptr, place, source, type, false);
}

}  // namespace detail
}  // namespace semcache::kokkos
