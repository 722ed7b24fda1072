// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/kokkos/capture.hpp>
#include <semcache/kokkos/deep_copy.hpp>

namespace semcache::kokkos::detail {

/// A View is [handle][mapping ..]. The first word of the mapping (in rank-1 views an empty stride in front of the extents) is
/// never initialised and may hold an old address, so it belongs to the handle and does not count as a pointer.
constexpr std::uint32_t bytes_of_handle = sizeof(Kokkos::Impl::SharedAllocationTracker) + sizeof(void*) + sizeof(std::size_t);

/// What the handle of a View of these elements tells: not the shape, because the type of the mapping is not part of the handle's. The
/// visibility is hidden as that of MemoOf.
template <class Element>
struct __attribute__((visibility("hidden"))) HandleOf {
  static constexpr runtime::HandleType type{bytes_of_handle, 0, sizeof(Element), HoldsHandles<Element>::value, nullptr};
};

/// The handle of Views that are built on mdspan, for memory in semcache::Space and HostMirrorSpace. It has the interface of
/// Kokkos' handle, and its copies are noticed.
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

  KOKKOS_FUNCTION NoticedHandle(const tracker_type& tracker, pointer data) : m_tracker(tracker), m_handle(data) {
    expect_handles_in<MemorySpace>(data);
  }

  KOKKOS_FUNCTION pointer get() const noexcept { return m_handle; }
  KOKKOS_FUNCTION explicit operator pointer() const noexcept { return m_handle; }
  KOKKOS_FUNCTION const tracker_type& tracker() const noexcept { return m_tracker; }

  bool has_record() const { return m_tracker.has_record(); }
  auto* get_record() const { return m_tracker.template get_record<memory_space>(); }
  int use_count() const noexcept { return m_tracker.use_count(); }
  std::string get_label() const { return m_tracker.template get_label<memory_space>(); }

 protected:
  // The names are those of Kokkos' handle, whose conversions read the members.
  tracker_type m_tracker;
  pointer m_handle = nullptr;

  void adopt(Kokkos::Impl::SharedAllocationRecord<void, void>* record) {
    m_tracker.assign_allocated_record_to_uninitialized(record);
    m_handle = static_cast<pointer>(get_record()->data());
    expect_handles_in<MemorySpace>(m_handle);
  }

 private:
  KOKKOS_FUNCTION void notice([[maybe_unused]] const NoticedHandle& source) const noexcept {
    SEMCACHE_KOKKOS_ON_HOST(
        if constexpr (std::is_same_v<MemorySpace, Space>) record_copy(
            m_handle, this, &source, &HandleOf<std::remove_const_t<T>>::type, !std::is_const_v<T>);
        else record_mirror_copy(this, &source, &recognised_words<bytes_of_handle>);)
  }

};

template <class From, class To>
inline constexpr bool handle_converts = std::is_convertible_v<From (*)[], To (*)[]>;

/// Marks the handles of unmanaged views: they refer to memory of this space and do not own it.
template <class MemorySpace>
struct Unowned {
  using memory_space = MemorySpace;
};

/// Kokkos' SpaceAwareAccessor around an accessor without state, with a handle that owns nothing and whose copies are noticed.
template <class MemorySpace, class Nested>
struct NoticedAccessor {
  using nested_accessor_type = Nested;
  using element_type = typename Nested::element_type;
  using reference = typename Nested::reference;
  using data_handle_type = Kokkos::Impl::ReferenceCountedDataHandle<element_type, Unowned<MemorySpace>>;
  using memory_space = MemorySpace;

  KOKKOS_DEFAULTED_FUNCTION constexpr NoticedAccessor() = default;
  template <class OtherSpace, class OtherNested,
            std::enable_if_t<Kokkos::Impl::MemorySpaceAccess<MemorySpace, OtherSpace>::assignable &&
                                 std::is_constructible_v<Nested, OtherNested>,
                             int> = 0>
  KOKKOS_FUNCTION constexpr NoticedAccessor(  // NOLINT: as Kokkos' accessor
      const Kokkos::Impl::SpaceAwareAccessor<OtherSpace, OtherNested>&) noexcept {}
  KOKKOS_FUNCTION NoticedAccessor(const Nested&) {}  // NOLINT: as Kokkos' accessor
  KOKKOS_FUNCTION explicit operator Nested() const { return nested_acc; }
  KOKKOS_FUNCTION constexpr const Nested& nested_accessor() const noexcept { return nested_acc; }

  KOKKOS_FUNCTION constexpr reference access(const data_handle_type& handle, std::size_t i) const noexcept {
    Kokkos::Impl::runtime_check_memory_access_violation<memory_space>(
        "Kokkos::SpaceAwareAccessor ERROR: attempt to access inaccessible memory space");
    return nested_acc.access(handle.get(), i);
  }
  KOKKOS_FUNCTION constexpr data_handle_type offset(const data_handle_type& handle, std::size_t i) const noexcept {
    return data_handle_type(handle.get() + i);
  }

  // The name is that of Kokkos' accessor, whose conversions read the member.
  SEMCACHE_KOKKOS_NO_UNIQUE_ADDRESS Nested nested_acc;
};

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

/// The handle of unmanaged views. Its copies are noticed, too, but it owns nothing and has no label. Kokkos recognises by its
/// name that it is no plain pointer.
template <class ElementType, class MemorySpace>
class ReferenceCountedDataHandle<ElementType, semcache::kokkos::detail::Unowned<MemorySpace>>
    : public semcache::kokkos::detail::NoticedHandle<ElementType, MemorySpace> {
  using base = semcache::kokkos::detail::NoticedHandle<ElementType, MemorySpace>;
  template <class, class>
  friend class ReferenceCountedDataHandle;

 public:
  using typename base::pointer;
  KOKKOS_DEFAULTED_FUNCTION ReferenceCountedDataHandle() = default;
  template <class Other, class = std::enable_if_t<semcache::kokkos::detail::handle_converts<Other, ElementType>>>
  KOKKOS_FUNCTION ReferenceCountedDataHandle(Other* data)  // NOLINT: replaces a pointer
      : base(SharedAllocationTracker(), data) {}
  template <class Other, class OtherSpace,
            class = std::enable_if_t<semcache::kokkos::detail::handle_converts<Other, ElementType>>>
  KOKKOS_FUNCTION ReferenceCountedDataHandle(const ReferenceCountedDataHandle<Other, OtherSpace>& other)  // NOLINT
      : ReferenceCountedDataHandle(other.get()) {}
  KOKKOS_FUNCTION operator pointer() const noexcept { return base::get(); }  // NOLINT: replaces a pointer
};

/// Kokkos' accessors of unmanaged views have plain pointers as handles. These have handles whose copies are noticed.
#define SEMCACHE_KOKKOS_ACCESSOR(SPACE, NESTED)                                                                       \
  template <class ElementType>                                                                                        \
  struct SpaceAwareAccessor<SPACE, NESTED<ElementType>>                                                               \
      : semcache::kokkos::detail::NoticedAccessor<SPACE, NESTED<ElementType>> {                                       \
    using semcache::kokkos::detail::NoticedAccessor<SPACE, NESTED<ElementType>>::NoticedAccessor;                     \
    using offset_policy = SpaceAwareAccessor;                                                                         \
  };
SEMCACHE_KOKKOS_ACCESSOR(semcache::Space, default_accessor)
SEMCACHE_KOKKOS_ACCESSOR(semcache::Space, AtomicAccessorRelaxed)
SEMCACHE_KOKKOS_ACCESSOR(semcache::HostMirrorSpace, default_accessor)
SEMCACHE_KOKKOS_ACCESSOR(semcache::HostMirrorSpace, AtomicAccessorRelaxed)
#undef SEMCACHE_KOKKOS_ACCESSOR

}  // namespace Impl
}  // namespace Kokkos

namespace semcache::kokkos::detail {
static_assert(sizeof(Kokkos::View<int, Kokkos::HostSpace>) >= sizeof(NoticedHandle<int, Space>) + sizeof(std::size_t),
              "the word behind a handle belongs to its View");
}  // namespace semcache::kokkos::detail
