// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/kokkos/compat.hpp>
#include <semcache/runtime/runtime.hpp>

#include <cstdint>
#include <cstring>

/// Which tracked arrays a kernel uses: Kokkos copies the functor into the pattern's closure while allocation tracking is
/// disabled, so a data handle whose copy constructor looks at that flag sees exactly the views that the kernel captures.
namespace semcache::kokkos {

class CaptureList;

/// The list of the closure that this thread is constructing; nullptr outside. `__thread`: no wrapper call on the hot path.
extern SEMCACHE_API __thread CaptureList* open_capture_list;

/// What a closure captured. A base class of our closures, constructed before the pattern that copies the functor: the
/// list belongs to the closure, so a closure that is never executed leaves nothing behind, and one that is executed
/// twice, or by another thread, finds its captures.
///
/// The scan for pointers that no handle explains reads a snapshot of the functor's bytes: where a pattern keeps its copy
/// is its own secret, but all copies have the same words.
/// Threads: filled by the constructing thread only; afterwards read-only.
class SEMCACHE_API CaptureList {
 public:
  /// Opens the list for the functor in [functor, functor + bytes). `functor` may be nullptr: nothing will be scanned,
  /// for functors whose views are all named by `add`.
  CaptureList(const void* functor, std::size_t bytes) noexcept;
  ~CaptureList();
  CaptureList(const CaptureList&) = delete;
  CaptureList& operator=(const CaptureList&) = delete;

  /// Ends the recording. Idempotent.
  void close() noexcept {
    if (open_capture_list != this) return;
    open_capture_list = outer_;
    if (snapshot_bytes_ >= 2 * sizeof(std::uintptr_t)) explain_small_host_views();
  }

  /// Adds one handle. `source` is where the copied handle lies: inside the functor it explains the words there.
  void add(const void* pointer, const void* source, std::uint32_t source_bytes, bool writable, bool holds_handles) noexcept;

  /// Forgets the snapshot: all views of this functor are named by `add`.
  void trust() noexcept { snapshot_bytes_ = 0; }

  /// The launch of this closure's kernel: alive while the kernel is submitted.
  /// @throws OutOfMemory as runtime::Launch
  [[nodiscard]] runtime::Launch launch(QueueId queue, const char* name) const {
    return runtime::Launch(queue, name, captures_, count_, snapshot_bytes_ ? snapshot_ : nullptr, snapshot_bytes_);
  }

 private:
  static constexpr std::size_t inline_captures = 8;
  static constexpr std::size_t inline_snapshot = 256;

  void grow() noexcept;
  /// Containers carry small views of plain host memory (UnorderedMap its size). A view whose whole allocation holds no
  /// word that looks like a pointer leads nowhere: its words are harmless.
  void explain_small_host_views() noexcept;

  CaptureList* outer_;
  const unsigned char* functor_;
  std::size_t snapshot_bytes_;
  unsigned char* snapshot_;
  runtime::Capture* captures_;
  std::size_t count_ = 0;
  std::size_t capacity_ = inline_captures;
  runtime::Capture inline_captures_[inline_captures];
  alignas(16) unsigned char inline_snapshot_[inline_snapshot];
};

namespace detail {

/// True for element types that may contain handles themselves, or pointers to them: a View of Views.
template <class T>
struct HoldsHandles : std::integral_constant<bool, !std::is_trivially_copyable<T>::value || Kokkos::is_view<T>::value> {};
template <class T>
struct HoldsHandles<T*> : std::true_type {};
template <class T>
struct HoldsHandles<Kokkos::complex<T>> : std::false_type {};

/// Called by every handle copy; noexcept, because Kokkos 3.4 switches tracking without RAII.
inline void record_copy(const void* pointer, const void* source, std::uint32_t source_bytes, bool writable,
                        bool holds_handles) noexcept {
  if (Kokkos::Impl::SharedAllocationRecord<void, void>::tracking_enabled()) return;
  if (CaptureList* list = open_capture_list) {
    list->add(pointer, source, source_bytes, writable, holds_handles);
  } else if (pointer != nullptr) {
    // A launch on a native space: nobody will open a Launch for it.
    runtime::native_capture({pointer, nullptr, 0, writable, holds_handles});
  }
}

/// The same for handles of host mirrors: kernels cannot use them (the page tracker serves them if they do), the words
/// only have to be recognised.
inline void record_mirror_copy(const void* source, std::uint32_t source_bytes) noexcept {
  if (Kokkos::Impl::SharedAllocationRecord<void, void>::tracking_enabled()) return;
  if (CaptureList* list = open_capture_list) list->add(nullptr, source, source_bytes, false, false);
}

}  // namespace detail
}  // namespace semcache::kokkos
