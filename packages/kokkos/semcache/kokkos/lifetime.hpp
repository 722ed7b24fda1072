// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/kokkos/capture.hpp>
#include <semcache/kokkos/deep_copy.hpp>

#include <cstring>
#include <memory>
#include <new>
#include <typeinfo>

namespace semcache::kokkos::detail {

template <class E>
using native_of = std::conditional_t<std::is_same<E, Exec>::value, NativeExec, E>;

template <class E>
using native_device_of = Kokkos::Device<native_of<E>, typename native_of<E>::memory_space>;
template <class E>
using host_device_of = Kokkos::Device<E, Kokkos::HostSpace>;

/// True for elements of a width that runtime::fill accepts as a pattern.
template <class T>
inline constexpr bool is_pattern_width =
    sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8 || sizeof(T) == 16;

/// True for elements that value-initialisation fills with zero bytes.
template <class T>
inline constexpr bool is_born_zero =
    std::is_trivially_default_constructible<T>::value && std::is_trivially_copyable<T>::value;

/// True for elements whose default value can be made on the host and copied as bytes (Kokkos::complex).
template <class T>
inline constexpr bool is_born_known = !is_born_zero<T> && std::is_trivially_copyable<T>::value &&
                                      std::is_nothrow_default_constructible<T>::value && is_pattern_width<T>;

/// Makes `count` elements a fill with the bytes of `value`. No memory is written.
template <class T>
void fill_with(T* pointer, std::size_t count, const T& value, QueueId queue) {
  static_assert(std::is_trivially_copyable<T>::value && is_pattern_width<T>, "not a pattern");
  runtime::fill(const_cast<std::remove_const_t<T>*>(pointer), count * sizeof(T), std::addressof(value), sizeof(T), queue);
}
/// Makes the bytes a fill with zeros. The pattern is one byte, so that it does for elements of any width.
inline void fill_with_zero(void* pointer, std::size_t bytes, QueueId queue) {
  const unsigned char zero = 0;
  runtime::fill(pointer, bytes, &zero, 1, queue);
}

/// The body of ZeroMemset for semcache::Exec.
/// @param natively  called with the native instance to zero memory that cannot be tracked
/// @throws UsageError  the memory is tracked, and its array has been freed
template <class Natively>
void zero(const Exec& exec, void* pointer, std::size_t bytes, const Natively& natively) {
  if (bytes == 0) return;
  if (semcache_foreign_io_1()->overlaps(pointer, pointer)) return fill_with_zero(pointer, bytes, queue_of(exec));
  natively(static_cast<const NativeExec&>(exec));
}

/// Constructs and destroys the elements of one allocation. Where their initial content is known it becomes a fill, and no byte
/// is written on either side. Otherwise Kokkos' own functor for native memory constructs and destroys them on the native space,
/// inside a launch that names the array. It must be the native space: with an execution space that Kokkos does not know, the
/// functor would silently not run destructors on the device.
///
/// @tparam E            execution space of the view
/// @tparam MemorySpace  Space or HostMirrorSpace
/// @tparam Stock        Kokkos' functor for native memory
template <class E, class MemorySpace, class T, class Stock>
class ElementLifetime {
 public:
  ElementLifetime() = default;
  ElementLifetime(const E& exec, T* pointer, std::size_t count, std::string label)
      : pointer_(pointer), count_(count), exec_(exec), ordered_(true), label_(std::move(label)) {}
  ElementLifetime(T* pointer, std::size_t count, std::string label)
      : pointer_(pointer), count_(count), label_(std::move(label)) {}

  /// Takes over array and label from the stock functor of Kokkos 3.4. The functor has an instance but does not tell whether the
  /// caller gave it, so the instance is not taken over.
  template <class Functor, class = decltype(std::declval<Functor&>().construct_shared_allocation(),
                                            std::declval<Functor&>().ptr),
            class = std::enable_if_t<!std::is_base_of<ElementLifetime, Functor>::value>>
  ElementLifetime& operator=(Functor functor) {
    pointer_ = functor.ptr;
    count_ = functor.n;
    label_ = functor.name;
    return *this;
  }

  void construct_shared_allocation() {
    if (count_ == 0) return;
    expect_handles_in<MemorySpace>(pointer_);  // for views whose handles are Kokkos' own and do not do it
    if constexpr (is_born_zero<T>) {
      fill_with_zero(pointer_, count_ * sizeof(T), queue());
    } else if constexpr (is_born_known<T>) {
      fill_with(pointer_, count_, T(), queue());
    } else {
      run(Elements::begin, [](Stock& stock) { stock.construct_shared_allocation(); });
    }
  }

  void destroy_shared_allocation() {
    if constexpr (!std::is_trivially_destructible<T>::value) {
      if (count_ != 0) run(Elements::end, [](Stock& stock) { stock.destroy_shared_allocation(); });
    }
  }

 private:
  [[nodiscard]] QueueId queue() const { return ordered_ ? queue_of(exec_) : QueueId{}; }

  enum class Elements : std::uint8_t { begin, end };

  /// Runs Kokkos' functor. Elements that are destroyed may hold views, and their destructors may do anything to these, so the
  /// array is a capture of the launch. Elements that are constructed hold no views yet and use their own array alone.
  /// It runs on the array's device, unless the program has given an instance.
  template <class Body>
  void run(Elements elements, const Body& body) {
    std::uint32_t device = 0;
    if constexpr (std::is_same<E, Exec>::value) {
      if (!ordered_) device = runtime::device_of(pointer_);
      if (device != 0) exec_ = on(device);
    }
    Stock stock = [&] {
      if constexpr (std::is_constructible<Stock, T*, std::size_t, std::string>::value) {
        if (!ordered_ && device == 0) return Stock(pointer_, count_, label_);
      }
      return Stock(static_cast<const native_of<E>&>(exec_), pointer_, count_, label_);
    }();
    if constexpr (std::is_same<MemorySpace, Space>::value) {
      const auto launch = [&](auto&&... what) {
        runtime::Launch launch(queue_of(exec_), what...);
        enter_kernel();
        body(stock);
        leave_kernel();
      };
      const runtime::Capture capture{pointer_, nullptr, 0, true, HoldsHandles<T>::value};
      const runtime::LibraryUse use{pointer_, count_ * sizeof(T), Access::read_write};
      if (elements == Elements::end) {
        launch(typeid(Stock).name(), &capture, 1);
      } else {
        launch(&use, 1);
      }
    } else {
      body(stock);
    }
    if (device != 0) exec_.fence();
  }

  T* pointer_ = nullptr;
  std::size_t count_ = 0;
  E exec_{};
  bool ordered_ = false;
  std::string label_;
};

}  // namespace semcache::kokkos::detail
