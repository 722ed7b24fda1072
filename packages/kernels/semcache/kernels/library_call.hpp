// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/kernels/native_views.hpp>
#include <semcache/kernels/vendor_handles.hpp>
#include <semcache/kokkos/announce.hpp>

namespace semcache::kernels {

/// Returns whether a coefficient is known to be zero.
template <class T>
[[nodiscard]] bool is_zero(const T& coefficient) {
  if constexpr (Kokkos::is_view<T>::value)
    return false;  // its elements are not read here
  else
    return coefficient == T(0);
}

/// One call of a native library on views in memory of SemCache. The caller lists what the call uses, then `run` makes the call
/// inside a launch.
/// Ordering: as for a kernel on the instance. Threads: as for the instance.
class LibraryCall {
 public:
  explicit LibraryCall(const Exec& exec) : exec_(exec) {}

  /// Lists operands that the call only reads. Coefficients may be views or scalars; scalars are ignored.
  template <class... Operands>
  LibraryCall& reads(const Operands&... operands) {
    (use(operands, Access::read), ...);
    return *this;
  }
  /// Lists an operand that the call reads and writes.
  template <class Operand>
  LibraryCall& writes(const Operand& operand) {
    use(operand, Access::read_write);
    return *this;
  }
  /// Lists an operand that the call writes. It is not fetched if it is `unread`, and contiguous or a matrix with contiguous columns
  /// or rows.
  /// @param unread  the call writes every element without having read it
  template <class Operand>
  LibraryCall& overwrites(const Operand& operand, bool unread = true) {
    use(operand, unread && (operand.span_is_contiguous() || use_of(operand, Access::overwrite).columns > 1) ? Access::overwrite
                                                                                                           : Access::read_write);
    return *this;
  }

  /// Calls `body` inside a launch that uses the listed operands. Afterwards a result in a mirror has arrived.
  /// @throws OutOfMemory  the operands exceed the budget
  /// @throws DeviceError  a library of the vendor makes no handle on the instance's GPU
  template <class Body>
  void run(Body&& body) {
#ifdef SEMCACHE_KERNELS_VENDOR_HANDLES
    detail::VendorHandles* const handles = detail::VendorHandlesOfGpus::instance().of(exec_);
#endif
    const runtime::Launch launch(kokkos::detail::queue_of(exec_), uses_, count_);
    {
#ifdef SEMCACHE_KERNELS_VENDOR_HANDLES
      const detail::VendorHandlesInUse in_use(handles);
#endif
      body();
    }
    if (writes_mirror_) exec_.fence();
  }

 private:
  /// Returns the bytes of a view as a use: the columns (or rows) of a matrix where they are contiguous; otherwise all bytes from the first
  /// element to the last.
  template <class Operand>
  static runtime::LibraryUse use_of(const Operand& operand, Access mode) {
    constexpr std::size_t element = sizeof(typename Operand::value_type);
    runtime::LibraryUse use{operand.data(), kokkos::detail::reach(operand) * element, mode};
    if constexpr (unsigned(Operand::rank) == 2) {
      const unsigned column = operand.stride(0) <= operand.stride(1) ? 0 : 1, other = 1 - column;
      const std::size_t bytes = operand.extent(column) * element, pitch = operand.stride(other) * element;
      if (use.bytes > 0 && operand.stride(column) == 1 && pitch > bytes) {
        use.bytes = bytes;
        use.columns = operand.extent(other);
        use.pitch = pitch;
      }
    }
    return use;
  }
  template <class Operand>
  void use([[maybe_unused]] const Operand& operand, [[maybe_unused]] Access mode) {
    if constexpr (Kokkos::is_view<Operand>::value) {
      const std::size_t bytes = kokkos::detail::reach(operand) * sizeof(typename Operand::value_type);
      if (bytes == 0) return;
      if constexpr (std::is_same<typename Operand::memory_space, Space>::value) {
        uses_[count_++] = use_of(operand, mode);
      } else if (is_tracked(operand.data())) {
        // This is host memory. The library or the driver accesses it without regard to the protection of its pages, so the
        // access is announced now.
        semcache::access(operand.data(), bytes, mode == Access::overwrite && !operand.span_is_contiguous() ? Access::write : mode);
        writes_mirror_ = writes_mirror_ || semcache::writes(mode);
      }
    }
  }

  Exec exec_;
  runtime::LibraryUse uses_[runtime::Launch::most_uses];
  std::size_t count_ = 0;
  bool writes_mirror_ = false;
};

}  // namespace semcache::kernels
