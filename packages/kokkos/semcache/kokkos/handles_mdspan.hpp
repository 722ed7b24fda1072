// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/kokkos/capture.hpp>
#include <semcache/kokkos/deep_copy.hpp>

namespace semcache::kokkos::detail {

/// The handle of Views built on mdspan, for our memory: Kokkos' interface, with copies that are noticed.
template <class T, class MemorySpace>
class NoticedHandle {
  using tracker_type = Kokkos::Impl::SharedAllocationTracker;

 public:
  using value_type = T;
  using pointer = T*;
  using reference = T&;
  using memory_space = MemorySpace;

  KOKKOS_DEFAULTED_FUNCTION NoticedHandle() = default;
  KOKKOS_FUNCTION NoticedHandle(const NoticedHandle& other) : m_tracker(other.m_tracker), m_handle(other.m_handle) {
    notice(other);
  }
  KOKKOS_FUNCTION NoticedHandle(NoticedHandle&& other) noexcept
      : m_tracker(static_cast<tracker_type&&>(other.m_tracker)), m_handle(other.m_handle) {
    notice(other);
  }
  KOKKOS_DEFAULTED_FUNCTION NoticedHandle& operator=(const NoticedHandle&) = default;
  KOKKOS_DEFAULTED_FUNCTION NoticedHandle& operator=(NoticedHandle&&) = default;

  KOKKOS_FUNCTION NoticedHandle(const tracker_type& tracker, pointer data) : m_tracker(tracker), m_handle(data) {}

  KOKKOS_FUNCTION pointer get() const noexcept { return m_handle; }
  KOKKOS_FUNCTION explicit operator pointer() const noexcept { return m_handle; }
  KOKKOS_FUNCTION const tracker_type& tracker() const noexcept { return m_tracker; }

  bool has_record() const { return m_tracker.has_record(); }
  auto* get_record() const { return m_tracker.template get_record<memory_space>(); }
  int use_count() const noexcept { return m_tracker.use_count(); }
  std::string get_label() const { return m_tracker.template get_label<memory_space>(); }

 protected:
  // Named as in Kokkos' handle, whose conversions read them.
  tracker_type m_tracker;
  pointer m_handle = nullptr;

  void adopt(Kokkos::Impl::SharedAllocationRecord<void, void>* record) {
    m_tracker.assign_allocated_record_to_uninitialized(record);
    m_handle = static_cast<pointer>(get_record()->data());
  }

 private:
  /// A View is [handle][mapping ..]; the mapping's first word (an empty stride, never initialised, in front of the
  /// extents of rank-1 views) holds whatever lay there before: it must not count as a pointer.
  static constexpr std::uint32_t explained_bytes = sizeof(tracker_type) + sizeof(pointer) + sizeof(std::size_t);

  KOKKOS_FUNCTION void notice([[maybe_unused]] const NoticedHandle& source) const noexcept {
    SEMCACHE_KOKKOS_ON_HOST(
        if constexpr (std::is_same_v<MemorySpace, Space>) record_copy(
            m_handle, this, &source, explained_bytes, !std::is_const_v<T>, HoldsHandles<std::remove_const_t<T>>::value);
        else record_mirror_copy(this, &source, explained_bytes);)
  }

};

template <class From, class To>
inline constexpr bool handle_converts = std::is_convertible_v<From (*)[], To (*)[]>;

}  // namespace semcache::kokkos::detail

namespace Kokkos {
namespace Impl {

#define SEMCACHE_KOKKOS_HANDLE(SPACE)                                                                                  \
  template <class ElementType>                                                                                        \
  class ReferenceCountedDataHandle<ElementType, SPACE>                                                                \
      : public semcache::kokkos::detail::NoticedHandle<ElementType, SPACE> {                                          \
    using base = semcache::kokkos::detail::NoticedHandle<ElementType, SPACE>;                                         \
    template <class, class>                                                                                           \
    friend class ReferenceCountedDataHandle;                                                                          \
    template <class, class, class>                                                                                    \
    friend class ReferenceCountedAccessor;                                                                            \
                                                                                                                      \
   public:                                                                                                            \
    using value_type = ElementType;                                                                                   \
    using typename base::memory_space;                                                                                \
    using typename base::pointer;                                                                                     \
    KOKKOS_DEFAULTED_FUNCTION ReferenceCountedDataHandle() = default;                                                 \
    explicit ReferenceCountedDataHandle(SharedAllocationRecord<void, void>* record) { this->adopt(record); }          \
    KOKKOS_FUNCTION ReferenceCountedDataHandle(const SharedAllocationTracker& tracker, pointer data)                  \
        : base(tracker, data) {}                                                                                      \
    template <class Other, class = std::enable_if_t<semcache::kokkos::detail::handle_converts<Other, ElementType>>>   \
    KOKKOS_FUNCTION ReferenceCountedDataHandle(Other* data) : base(SharedAllocationTracker(), data) {}                \
    template <class Other, class = std::enable_if_t<semcache::kokkos::detail::handle_converts<Other, ElementType>>>   \
    KOKKOS_FUNCTION ReferenceCountedDataHandle(const ReferenceCountedDataHandle& other, Other* data)                  \
        : base(other.tracker(), data) {}                                                                              \
    template <class Other, class OtherSpace,                                                                          \
              class = std::enable_if_t<                                                                               \
                  semcache::kokkos::detail::handle_converts<Other, ElementType> &&                                    \
                  SpaceAccessibility<SPACE, typename OtherSpace::memory_space>::assignable>>                          \
    KOKKOS_FUNCTION ReferenceCountedDataHandle(const ReferenceCountedDataHandle<Other, OtherSpace>& other)            \
        : base(other.tracker(), other.get()) {}                                                                       \
    KOKKOS_FUNCTION friend bool operator==(const ReferenceCountedDataHandle& left, const value_type* right) {         \
      return left.get() == right;                                                                                     \
    }                                                                                                                 \
    KOKKOS_FUNCTION friend bool operator==(const value_type* left, const ReferenceCountedDataHandle& right) {         \
      return left == right.get();                                                                                     \
    }                                                                                                                 \
  };
SEMCACHE_KOKKOS_HANDLE(semcache::Space)
SEMCACHE_KOKKOS_HANDLE(semcache::HostMirrorSpace)
#undef SEMCACHE_KOKKOS_HANDLE

/// Unmanaged views would have a plain pointer.
template <class Traits>
struct AccessorFromViewTraits<
    Traits, std::enable_if_t<semcache::kokkos::detail::is_tracked_space<typename Traits::memory_space> &&
                             Traits::memory_traits::is_unmanaged && !Traits::memory_traits::is_atomic>> {
  using type = CheckedReferenceCountedAccessor<typename Traits::value_type, typename Traits::memory_space>;
};

/// So would unmanaged atomic views, whose AccessorFromViewTraits cannot be outranked; but the accessor in it can.
template <class ElementType, class MemoryScope>
struct SpaceAwareAccessor<semcache::Space, AtomicAccessorRelaxed<ElementType, MemoryScope>> {
  using nested_accessor_type = AtomicAccessorRelaxed<ElementType, MemoryScope>;
  using element_type = ElementType;
  using reference = typename nested_accessor_type::reference;
  using data_handle_type = ReferenceCountedDataHandle<ElementType, semcache::Space>;
  using offset_policy = SpaceAwareAccessor;
  using memory_space = semcache::Space;

  KOKKOS_DEFAULTED_FUNCTION constexpr SpaceAwareAccessor() = default;
  template <class OtherSpace, class OtherNested,
            std::enable_if_t<MemorySpaceAccess<semcache::Space, OtherSpace>::assignable &&
                                 (std::is_constructible_v<nested_accessor_type, OtherNested> ||
                                  std::is_constructible_v<default_accessor<ElementType>, OtherNested> ||
                                  IsReferenceCountedAccessor<OtherNested>::value),
                             int> = 0>
  KOKKOS_FUNCTION constexpr SpaceAwareAccessor(const SpaceAwareAccessor<OtherSpace, OtherNested>&) noexcept {}
  KOKKOS_FUNCTION SpaceAwareAccessor(const nested_accessor_type&) {}
  KOKKOS_FUNCTION explicit operator nested_accessor_type() const { return {}; }
  KOKKOS_FUNCTION constexpr nested_accessor_type nested_accessor() const noexcept { return {}; }

  KOKKOS_FUNCTION constexpr reference access(const data_handle_type& handle, std::size_t i) const noexcept {
    runtime_check_memory_access_violation<memory_space>(
        "Kokkos::SpaceAwareAccessor ERROR: attempt to access inaccessible memory space");
    return nested_accessor_type{}.access(handle.get(), i);
  }
  KOKKOS_FUNCTION constexpr data_handle_type offset(const data_handle_type& handle, std::size_t i) const noexcept {
    return data_handle_type{handle, handle.get() + i};
  }
};

}  // namespace Impl
}  // namespace Kokkos

namespace semcache::kokkos::detail {
static_assert(sizeof(Kokkos::View<int, Kokkos::HostSpace>) >= sizeof(NoticedHandle<int, Space>) + sizeof(std::size_t),
              "the word behind a handle belongs to its View");
}  // namespace semcache::kokkos::detail
