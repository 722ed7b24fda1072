// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/kokkos/capture.hpp>
#include <semcache/kokkos/deep_copy.hpp>

namespace semcache::kokkos::detail {

constexpr std::uint32_t words_before_extents = sizeof(Kokkos::Impl::SharedAllocationTracker) + sizeof(void*);
constexpr std::uint32_t bytes_of_handle = words_before_extents + sizeof(std::size_t);

/// The extents and strides in a View of these Traits.
template <class Traits>
using offset_of_view = Kokkos::Impl::ViewOffset<typename Traits::dimension, typename Traits::array_layout, void>;

/// Reads the shape of a View, [tracker][handle][extents], that has such extents.
template <class Offset>
void read_shape(const void* view, policy::ViewShape& shape) noexcept {
  Offset offset;
  std::memcpy(static_cast<void*>(&offset), static_cast<const char*>(view) + words_before_extents, sizeof offset);
  constexpr auto rank = static_cast<std::size_t>(Offset::dimension_type::rank);
  std::uint64_t strides[policy::ViewShape::most_dimensions + 1];  // Kokkos puts the span behind the strides
  offset.stride(strides);
  shape.rank = static_cast<std::int32_t>(rank);
  for (std::size_t d = 0; d < rank; ++d) {
    shape.extents[d] = offset.m_dim.extent(d);
    shape.strides[d] = strides[d];
  }
}

/// What the handle of a View of these elements, with such extents, tells. The visibility is hidden as that of MemoOf.
template <class Element, class Offset>
struct __attribute__((visibility("hidden"))) HandleOf {
  static constexpr auto reader() noexcept -> void (*)(const void*, policy::ViewShape&) noexcept {
    if constexpr (is_strided_layout<typename Offset::array_layout>)
      return &read_shape<Offset>;
    else
      return nullptr;
  }
  static constexpr runtime::HandleType type{bytes_of_handle, words_before_extents + sizeof(Offset), sizeof(Element),
                                            HoldsHandles<Element>::value, reader()};
};

/// The handle of Views that are built on ViewMapping. It behaves like the T* that it replaces, and its copies are noticed.
///
/// A View is [tracker][handle][extents]. The words around the handle belong to the handle: extents that are all static leave
/// their word uninitialised, and it must not count as a pointer.
/// Views with MemoryTraits Restrict or Aligned keep Kokkos' plain pointer, because Kokkos' specialisations for them admit no
/// other handle. Kernels that capture such a view are unknown launches, which is safe.
/// @tparam Offset  the View's extents, which tell its shape
template <class T, class MemorySpace, class Offset>
class NoticedPointer {
 public:
  KOKKOS_FUNCTION NoticedPointer() : pointer_(nullptr) {}
  KOKKOS_FUNCTION NoticedPointer(T* pointer) : pointer_(pointer) { expect_handles_in<MemorySpace>(pointer); }  // NOLINT: replaces a T*
  KOKKOS_FUNCTION NoticedPointer(const NoticedPointer& other) : pointer_(other.pointer_) { notice(other); }
  KOKKOS_FUNCTION NoticedPointer(NoticedPointer&& other) noexcept : pointer_(other.pointer_) { notice(other); }
  KOKKOS_DEFAULTED_FUNCTION NoticedPointer& operator=(const NoticedPointer&) = default;
  KOKKOS_DEFAULTED_FUNCTION NoticedPointer& operator=(NoticedPointer&&) = default;

  KOKKOS_FUNCTION operator T*() const { return pointer_; }  // NOLINT: replaces a T*
  template <class Index>
  KOKKOS_FUNCTION T& operator[](Index i) const {
    return pointer_[i];
  }

 private:
  KOKKOS_FUNCTION void notice([[maybe_unused]] const NoticedPointer& source) const noexcept {
    SEMCACHE_KOKKOS_ON_HOST(
        constexpr std::size_t before = sizeof(Kokkos::Impl::SharedAllocationTracker);
        const void* const place = reinterpret_cast<const char*>(this) - before;
        const void* const from = reinterpret_cast<const char*>(&source) - before;
        if constexpr (std::is_same<MemorySpace, Space>::value)
            record_copy(pointer_, place, from, &HandleOf<std::remove_const_t<T>, Offset>::type, !std::is_const<T>::value);
        else record_mirror_copy(place, from, &recognised_words<bytes_of_handle>);)
  }

  T* pointer_;
};

/// The same for atomic views: Kokkos' handle around a pointer whose copies are noticed.
template <class Traits, class MemorySpace>
class NoticedAtomicPointer {
 public:
  using value_type = typename Traits::value_type;

  KOKKOS_FUNCTION NoticedAtomicPointer() {}
  KOKKOS_FUNCTION NoticedAtomicPointer(value_type* pointer) : pointer_(pointer) {}  // NOLINT: replaces a pointer
  KOKKOS_FUNCTION operator value_type*() const { return pointer_; }                 // NOLINT: replaces a pointer
  template <class Index>
  KOKKOS_FUNCTION Kokkos::Impl::AtomicDataElement<Traits> operator[](const Index& i) const {
    return Kokkos::Impl::AtomicDataElement<Traits>(static_cast<value_type*>(pointer_) + i,
                                                   Kokkos::Impl::AtomicViewConstTag());
  }

 private:
  NoticedPointer<value_type, MemorySpace, offset_of_view<Traits>> pointer_;
};

/// The base of AtomicViewDataHandle for memory that is not tracked, with exactly the interface of Kokkos' class.
template <class Traits>
class PlainAtomicPointer {
 public:
  typename Traits::value_type* ptr;

  KOKKOS_FUNCTION PlainAtomicPointer() : ptr(nullptr) {}
  KOKKOS_FUNCTION PlainAtomicPointer(typename Traits::value_type* pointer) : ptr(pointer) {}  // NOLINT
  KOKKOS_FUNCTION operator typename Traits::value_type*() const { return ptr; }              // NOLINT
  template <class Index>
  KOKKOS_FUNCTION Kokkos::Impl::AtomicDataElement<Traits> operator[](const Index& i) const {
    return Kokkos::Impl::AtomicDataElement<Traits>(ptr + i, Kokkos::Impl::AtomicViewConstTag());
  }
};

template <class Traits>
using atomic_pointer =
    std::conditional_t<is_tracked_space<typename Traits::memory_space>,
                       NoticedAtomicPointer<Traits, typename Traits::memory_space>, PlainAtomicPointer<Traits>>;

}  // namespace semcache::kokkos::detail

namespace Kokkos {
namespace Impl {

template <class Traits>
struct ViewDataHandle<
    Traits, std::enable_if_t<semcache::kokkos::detail::is_tracked_space<typename Traits::memory_space> &&
                             std::is_same<typename Traits::specialize, void>::value && !Traits::memory_traits::is_aligned &&
                             !Traits::memory_traits::is_restrict && !Traits::memory_traits::is_atomic>> {
  using value_type = typename Traits::value_type;
  using handle_type = semcache::kokkos::detail::NoticedPointer<value_type, typename Traits::memory_space,
                                                               semcache::kokkos::detail::offset_of_view<Traits>>;
  using return_type = value_type&;
  using track_type = SharedAllocationTracker;

  KOKKOS_FUNCTION static handle_type assign(value_type* pointer, const track_type&) { return handle_type(pointer); }
  KOKKOS_FUNCTION static handle_type assign(value_type* pointer, std::size_t offset) {
    return handle_type(pointer + offset);
  }
};

/// The handle of atomic views for all memory spaces. It is the only class of Kokkos that can be specialised for this, because
/// Kokkos' ViewDataHandle of atomic views cannot be outranked.
template <class DataType, class... Properties>
class AtomicViewDataHandle<Kokkos::ViewTraits<DataType, Properties...>>
    : public semcache::kokkos::detail::atomic_pointer<Kokkos::ViewTraits<DataType, Properties...>> {
 public:
  using semcache::kokkos::detail::atomic_pointer<Kokkos::ViewTraits<DataType, Properties...>>::atomic_pointer;
  using base = semcache::kokkos::detail::atomic_pointer<Kokkos::ViewTraits<DataType, Properties...>>;
  KOKKOS_DEFAULTED_FUNCTION AtomicViewDataHandle() = default;
  KOKKOS_FUNCTION AtomicViewDataHandle(typename Kokkos::ViewTraits<DataType, Properties...>::value_type* pointer)  // NOLINT
      : base(pointer) {}
};

}  // namespace Impl
}  // namespace Kokkos

namespace semcache::kokkos::detail {
static_assert(sizeof(Kokkos::View<int, Kokkos::HostSpace>) >= bytes_of_handle,
              "the words around a handle belong to its View");
}  // namespace semcache::kokkos::detail
