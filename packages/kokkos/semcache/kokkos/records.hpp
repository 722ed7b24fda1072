// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/kokkos/deep_copy.hpp>
#include <semcache/kokkos/lifetime.hpp>

/// Kokkos' allocation records of both spaces. They are the variant for memory that the host cannot access, because this variant
/// reads and writes its header by DeepCopy. DeepCopy keeps the header in host memory of the runtime, so no header lies on the
/// device or on a protected page.
#if SEMCACHE_KOKKOS_RECORD_MACRO
KOKKOS_IMPL_HOST_INACCESSIBLE_SHARED_ALLOCATION_SPECIALIZATION(semcache::Space);
KOKKOS_IMPL_HOST_INACCESSIBLE_SHARED_ALLOCATION_SPECIALIZATION(semcache::HostMirrorSpace);
#else
namespace semcache::kokkos::detail {

/// Returns the space from which to allocate for an instance.
template <class E>
Space beside(const E& exec, const Space& space) {
  return space.beside(exec);
}
template <class E>
const HostMirrorSpace& beside(const E&, const HostMirrorSpace& space) {
  return space;
}

/// The base of the records before Kokkos 4.3, which has no macro for them.
template <class MemorySpace>
class RecordBase : public Kokkos::Impl::HostInaccessibleSharedAllocationRecordCommon<MemorySpace> {
  using common = Kokkos::Impl::HostInaccessibleSharedAllocationRecordCommon<MemorySpace>;
  using root = Kokkos::Impl::SharedAllocationRecord<void, void>;
  using header_type = Kokkos::Impl::SharedAllocationHeader;

 protected:
  MemorySpace m_space;

  RecordBase(const MemorySpace& space, const std::string& label, std::size_t bytes, typename root::function_type dealloc,
             [[maybe_unused]] root* tracking_root)
      : common(
#ifdef KOKKOS_ENABLE_DEBUG
            tracking_root,
#endif
            Kokkos::Impl::checked_allocation_with_header(space, label, bytes), sizeof(header_type) + bytes, dealloc
#if SEMCACHE_KOKKOS_RECORD_LABEL
            ,
            label
#endif
            ),
        m_space(space) {}

  /// Writes the header. It must be called from the constructors of the record itself, because Kokkos casts `this` to the record
  /// to fill the header.
  void write_header(const std::string& label) {
    header_type header;
    std::memset(static_cast<void*>(&header), 0, sizeof header);
    this->_fill_host_accessible_header_info(header, label);
    Kokkos::Impl::DeepCopy<MemorySpace, Kokkos::HostSpace>(root::m_alloc_ptr, &header, sizeof header);
  }

  ~RecordBase() {
    header_type header;
    Kokkos::Impl::DeepCopy<Kokkos::HostSpace, MemorySpace>(&header, root::m_alloc_ptr, sizeof header);
    m_space.deallocate(header.label(), root::m_alloc_ptr, root::m_alloc_size, root::m_alloc_size - sizeof header);
  }
};

}  // namespace semcache::kokkos::detail

namespace Kokkos {
namespace Impl {
#ifdef KOKKOS_ENABLE_DEBUG
#define SEMCACHE_KOKKOS_ROOT(RECORD) static inline SharedAllocationRecord<void, void> s_root_record;
#define SEMCACHE_KOKKOS_ROOT_ADDRESS &s_root_record
#else
#define SEMCACHE_KOKKOS_ROOT(RECORD)
#define SEMCACHE_KOKKOS_ROOT_ADDRESS nullptr
#endif
#define SEMCACHE_KOKKOS_RECORD(SPACE)                                                                             \
  template <>                                                                                                     \
  class SharedAllocationRecord<SPACE, void> : public semcache::kokkos::detail::RecordBase<SPACE> {                \
    friend class SharedAllocationRecordCommon<SPACE>;                                                             \
    friend class HostInaccessibleSharedAllocationRecordCommon<SPACE>;                                             \
    using base = semcache::kokkos::detail::RecordBase<SPACE>;                                                     \
    using root = SharedAllocationRecord<void, void>;                                                              \
    SEMCACHE_KOKKOS_ROOT(SPACE)                                                                                   \
                                                                                                                  \
   protected:                                                                                                     \
    SharedAllocationRecord(const SPACE& space, const std::string& label, const std::size_t bytes,                 \
                           const root::function_type dealloc = &base::deallocate)                                 \
        : base(space, label, bytes, dealloc, SEMCACHE_KOKKOS_ROOT_ADDRESS) {                                      \
      this->write_header(label);                                                                                  \
    }                                                                                                             \
    template <class E>                                                                                            \
    SharedAllocationRecord(const E& exec, const SPACE& space, const std::string& label, const std::size_t bytes,  \
                           const root::function_type dealloc = &base::deallocate)                                 \
        : base(semcache::kokkos::detail::beside(exec, space), label, bytes, dealloc, SEMCACHE_KOKKOS_ROOT_ADDRESS) { \
      this->write_header(label);                                                                                  \
    }                                                                                                             \
  };
SEMCACHE_KOKKOS_RECORD(semcache::Space)
SEMCACHE_KOKKOS_RECORD(semcache::HostMirrorSpace)
#undef SEMCACHE_KOKKOS_RECORD
#undef SEMCACHE_KOKKOS_ROOT
#undef SEMCACHE_KOKKOS_ROOT_ADDRESS
}  // namespace Impl
}  // namespace Kokkos
#endif

// Construction and destruction of the elements of a view in semcache::Space or HostMirrorSpace.
namespace Kokkos {
namespace Impl {
#if SEMCACHE_KOKKOS_INITIALISER_SEES_MEMORY
#define SEMCACHE_KOKKOS_INITIALISER(SPACE, NATIVE_DEVICE, ...)                                                       \
  template <class E, class T>                                                                                       \
  struct ViewValueFunctor<Kokkos::Device<E, SPACE>, T __VA_ARGS__>                                                  \
      : semcache::kokkos::detail::ElementLifetime<                                                                  \
            E, SPACE, T, ViewValueFunctor<semcache::kokkos::detail::NATIVE_DEVICE<E>, T __VA_ARGS__>> {             \
    using semcache::kokkos::detail::ElementLifetime<                                                                \
        E, SPACE, T, ViewValueFunctor<semcache::kokkos::detail::NATIVE_DEVICE<E>, T __VA_ARGS__>>::ElementLifetime; \
  };
#if SEMCACHE_KOKKOS_INITIALISER_IS_SCALAR
// Two specialisations for each space, to outrank Kokkos' own two.
SEMCACHE_KOKKOS_INITIALISER(semcache::Space, native_device_of, , false)
SEMCACHE_KOKKOS_INITIALISER(semcache::Space, native_device_of, , true)
SEMCACHE_KOKKOS_INITIALISER(semcache::HostMirrorSpace, host_device_of, , false)
SEMCACHE_KOKKOS_INITIALISER(semcache::HostMirrorSpace, host_device_of, , true)
#else
SEMCACHE_KOKKOS_INITIALISER(semcache::Space, native_device_of)
SEMCACHE_KOKKOS_INITIALISER(semcache::HostMirrorSpace, host_device_of)
#endif
#undef SEMCACHE_KOKKOS_INITIALISER
#else
// Kokkos 3.4 does not tell the functor which memory it initialises, but the record knows its memory space. So the record's
// `m_destroy` takes the stock functor and does what ElementLifetime does instead.
#define SEMCACHE_KOKKOS_TYPED_RECORD(SPACE)                                                                          \
  template <class E, class T, bool IsScalar>                                                                         \
  class SharedAllocationRecord<SPACE, ViewValueFunctor<E, T, IsScalar>> : public SharedAllocationRecord<SPACE, void> { \
    using root = SharedAllocationRecord<void, void>;                                                                 \
    using stock = ViewValueFunctor<E, T, IsScalar>;                                                                  \
    static void release(root* record) {                                                                              \
      auto* self = static_cast<SharedAllocationRecord*>(static_cast<SharedAllocationRecord<SPACE, void>*>(record));  \
      self->m_destroy.destroy_shared_allocation();                                                                   \
      delete self;                                                                                                   \
    }                                                                                                                \
    SharedAllocationRecord(const SPACE& space, const std::string& label, const std::size_t bytes)                    \
        : SharedAllocationRecord<SPACE, void>(space, label, bytes, &release) {}                                      \
                                                                                                                     \
   public:                                                                                                           \
    semcache::kokkos::detail::ElementLifetime<                                                                       \
        E, SPACE, T, ViewValueFunctor<semcache::kokkos::detail::native_of<E>, T, IsScalar>>                          \
        m_destroy;                                                                                                   \
    static SharedAllocationRecord* allocate(const SPACE& space, const std::string& label, const std::size_t bytes) { \
      return new SharedAllocationRecord(space, label, bytes);                                                        \
    }                                                                                                                \
  };
SEMCACHE_KOKKOS_TYPED_RECORD(semcache::Space)
SEMCACHE_KOKKOS_TYPED_RECORD(semcache::HostMirrorSpace)
#undef SEMCACHE_KOKKOS_TYPED_RECORD
#endif
}  // namespace Impl
}  // namespace Kokkos
