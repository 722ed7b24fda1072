// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/kernels/native_views.hpp>

namespace semcache::kernels {

template <class T>
[[nodiscard]] bool is_zero(const T& coefficient) {
  if constexpr (Kokkos::is_view<T>::value)
    return false;  // who knows
  else
    return coefficient == T(0);
}

/// One call of a native library on views of ours: says what it uses, then runs it between the steps of a launch.
/// Ordering: as a kernel on the instance. Threads: as the instance.
class LibraryCall {
 public:
  explicit LibraryCall(const Exec& exec) : exec_(exec) {}

  /// Coefficients may be views or scalars: scalars are no use.
  template <class... Operands>
  LibraryCall& reads(const Operands&... operands) {
    (use(operands, Access::read), ...);
    return *this;
  }
  template <class Operand>
  LibraryCall& writes(const Operand& operand) {
    use(operand, Access::read_write);
    return *this;
  }
  /// @param unread  the call writes every element without having read it
  template <class Operand>
  LibraryCall& overwrites(const Operand& operand, bool unread = true) {
    use(operand, unread && operand.span_is_contiguous() ? Access::overwrite : Access::read_write);
    return *this;
  }

  /// @throws OutOfMemory  the operands exceed the budget
  template <class Body>
  void run(Body&& body) {
    const runtime::Launch launch(kokkos::detail::queue_of(exec_), uses_, count_);
    body();
    if (writes_mirror_) exec_.fence();
  }

 private:
  template <class Operand>
  void use([[maybe_unused]] const Operand& operand, [[maybe_unused]] Access mode) {
    if constexpr (Kokkos::is_view<Operand>::value) {
      const std::size_t bytes = operand.span() * sizeof(typename Operand::value_type);
      if (bytes == 0) return;
      if constexpr (std::is_same<typename Operand::memory_space, Space>::value) {
        uses_[count_++] = {operand.data(), bytes, mode};
      } else if (is_tracked(operand.data())) {
        // Host memory: the library or the driver accesses it now, past the protection of its pages.
        semcache::access(operand.data(), bytes, mode);
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
