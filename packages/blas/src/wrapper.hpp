// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include "call.hpp"
#include "cublas.hpp"
#include "forms.hpp"
#include "host_library.hpp"
#include "sizes.hpp"

#include <algorithm>
#include <complex>
#include <cstring>
#include <initializer_list>
#include <optional>
#include <type_traits>
#include <utility>

/// What the sources that semcache-gen writes are made of.
namespace semcache::blas {

/// A coefficient of some precision. Its number is not looked at before a condition needs it: where arguments are wrong it may be anything, and
/// raise floating-point exceptions that the program can see.
class Value {
 public:
  Value() = default;
  template <class T>
  explicit Value(T number) noexcept : parts_(1), part_bytes_(sizeof number) {
    std::memcpy(bytes_, &number, sizeof number);
  }
  template <class T>
  explicit Value(const std::complex<T>& number) noexcept : parts_(2), part_bytes_(sizeof(T)) {
    std::memcpy(bytes_, &number, sizeof number);
  }
  /// Returns where the number is, for libraries.
  [[nodiscard]] const void* at() const noexcept { return bytes_; }
  template <class T>
  [[nodiscard]] T as() const noexcept {
    T number;
    std::memcpy(&number, bytes_, sizeof number);
    return number;
  }
  void become_one() noexcept {
    if (part_bytes_ == sizeof(float)) *this = parts_ == 2 ? Value(std::complex<float>(1)) : Value(1.0F);
    else *this = parts_ == 2 ? Value(std::complex<double>(1)) : Value(1.0);
  }
  void conjugate() noexcept {
    if (parts_ != 2) return;
    if (part_bytes_ == sizeof(float)) *this = Value(std::conj(as<std::complex<float>>()));
    else *this = Value(std::conj(as<std::complex<double>>()));
  }
  friend bool operator==(const Value& v, double number) noexcept {
    if (v.part_bytes_ == sizeof(float)) return v.as<std::complex<float>>() == static_cast<float>(number);
    return v.as<std::complex<double>>() == number;
  }
  friend bool operator!=(const Value& v, double number) noexcept { return !(v == number); }

 private:
  std::size_t parts_ = 1;
  std::size_t part_bytes_ = sizeof(double);
  // As cuBLAS reads complex numbers: 16 bytes at once. The imaginary part of a real number is zero.
  alignas(2 * sizeof(double)) unsigned char bytes_[2 * sizeof(double)] = {};
};

/// What the arguments of all routines have in common.
struct Arguments {
  std::size_t type = 0;                   ///< the precision
  Verdict refused = Verdict::on_device;   ///< wrong_arguments, if that is known already
  bool passes = false;                    ///< the device's library has no such case
  void* result = nullptr;                 ///< where the device's library leaves a number
  bool on_gpu = false;                    ///< it has done so
};

// ---- arguments

inline char upper(char letter) noexcept { return letter >= 'a' && letter <= 'z' ? static_cast<char>(letter - 'a' + 'A') : letter; }
inline bool one_of(char letter, const char* letters) noexcept { return letter != '\0' && std::strchr(letters, letter) != nullptr; }
inline char flipped(char letter, char one, char other) noexcept { return letter == one ? other : letter == other ? one : letter; }
template <class A, class B>
std::common_type_t<A, B> max_of(A a, B b) noexcept {
  return a < b ? b : a;
}
template <class A, class B>
std::common_type_t<A, B> min_of(A a, B b) noexcept {
  return b < a ? b : a;
}
inline std::int64_t abs_of(std::int64_t a) noexcept { return a < 0 ? -a : a; }
inline double as_double(std::int64_t n) noexcept { return static_cast<double>(n); }
inline std::uint64_t as_size(std::int64_t n) noexcept { return static_cast<std::uint64_t>(std::max<std::int64_t>(n, 0)); }
inline std::int32_t as_int(std::int64_t n) noexcept { return static_cast<std::int32_t>(n); }
inline bool all_fit(std::initializer_list<std::int64_t> numbers) noexcept {
  return std::all_of(numbers.begin(), numbers.end(), [](std::int64_t n) { return n >= -INT32_MAX && n <= INT32_MAX; });
}

/// An integer of a symbol's parameter, by value or by address. Its size is known when the host's library is: by value it comes in a register or a
/// place of 64 bits either way.
template <class Int>
Int integer(std::int64_t number) noexcept {
  return static_cast<Int>(number);
}
template <class Int>
const Int* integer(const void* number) noexcept {
  return static_cast<const Int*>(number);
}

/// Is one of these a null pointer? The host's routine may not look at it: a size is zero, or another argument is wrong.
template <class... Argument>
bool any_null([[maybe_unused]] const Argument&... arguments) noexcept {
  const auto is_null = [](const auto& argument) {
    if constexpr (std::is_pointer_v<std::decay_t<decltype(argument)>>) return argument == nullptr;
    else return false;
  };
  return (is_null(arguments) || ...);
}

/// A coefficient that is handed over by value, or by address.
template <class T>
T coefficient(T number) noexcept {
  return number;
}
template <class T>
T coefficient(const T* number) noexcept {
  return *number;
}
template <class T>
T coefficient(const void* number) noexcept {
  return *static_cast<const T*>(number);
}
template <class Handed, class T>
Handed handed(const T& copy) noexcept {
  if constexpr (std::is_pointer_v<Handed>) return &copy;
  else return copy;
}
template <class T>
T* place(const void* at) noexcept {
  return static_cast<T*>(const_cast<void*>(at));
}

/// cuBLAS' numbers for BLAS' letters. Letters of different parameters may have the same.
inline int code_of(char letter) noexcept { return letter == 'C' ? 2 : letter == 'T' || letter == 'R' || letter == 'U' ? 1 : 0; }

// ---- the description of a call

inline Operand matrix(const void* at, std::int64_t rows, std::int64_t columns, std::int64_t leading, std::size_t bytes, Access mode) noexcept {
  const auto number = [](std::int64_t n) { return static_cast<std::uint64_t>(std::max<std::int64_t>(n, 0)); };
  return {at, number(rows), number(columns), number(leading), static_cast<std::uint32_t>(bytes), mode};
}
/// A negative increment leads backwards from the last element to the first byte, so it makes no difference here.
inline Operand vector(const void* at, std::int64_t elements, std::int64_t increment, std::size_t bytes, Access mode) noexcept {
  const std::int64_t step = abs_of(increment);
  return step == 1 ? matrix(at, elements, 1, elements, bytes, mode) : matrix(at, 1, elements, step, bytes, mode);
}
inline Operand packed(const void* at, std::int64_t n, std::size_t bytes, Access mode) noexcept {
  return vector(at, n * (n + 1) / 2, 1, bytes, mode);
}
inline Operand triangle(char letter, Operand operand) noexcept {
  operand.part = letter == 'U' ? Part::upper : Part::lower;
  return operand;
}

/// Says that the device's routine has an operand in another form. @param form  which outlives the call
inline Operand formed(const Operand& operand, Form& form, const Form& what) noexcept {
  form = what;
  Operand o = operand;
  o.form = &form;
  return o;
}

inline void add(Call& call, const Operand& operand) noexcept { call.operands[call.count++] = operand; }
inline void refuse(Call& call, Verdict why) noexcept { call.refused = why; }
/// Refuses operands at null.
inline void check_addresses(Call& call) noexcept {
  for (std::size_t i = 0; i < call.count; ++i) {
    if (call.operands[i].address == nullptr && !call.operands[i].empty()) call.refused = Verdict::nothing_to_compute;
  }
}

// ---- carrying it out

/// Who computes on emulated devices: the host's routine, or the same function as on GPUs.
enum class Emulation : std::uint8_t { by_host, by_device_routine };

/// Computes a call by functions that its wrapper has.
class Wrapped final : public Routines {
 public:
  using OnGpu = void(void* arguments, const runtime::Stream& stream, const void* const* at);
  /// @param host  calls the routine of the caller's library; it outlives this object, as the arguments do
  template <class A, class Host>
  Wrapped(A& arguments, Emulation emulation, OnGpu* gpu, const Host& host) noexcept
      : arguments_(&arguments), emulation_(emulation), on_gpu_(gpu), host_(&host),
        on_host_([](const void* h, const void* const* at) { (*static_cast<const Host*>(h))(at); }) {}
  /// @param take  gives arguments of the call those of a piece; it outlives this object, too
  template <class A, class Host, class Take>
  Wrapped(A& arguments, Emulation emulation, OnGpu* gpu, const Host& host, const Take& take) noexcept : Wrapped(arguments, emulation, gpu, host) {
    take_ = &take;
    on_take_ = [](const void* t, const Piece* piece) { (*static_cast<const Take*>(t))(piece); };
  }
  void on_host(const void* const* at) const override { on_host_(host_, at); }
  void take(const Piece* piece) const override {
    if (on_take_ != nullptr) on_take_(take_, piece);
  }
  void on_gpu(const runtime::Stream& stream, const void* const* at) const override { on_gpu_(arguments_, stream, at); }
  void on_emulated(const runtime::Stream& stream, const void* const* at) const override {
    if (emulation_ == Emulation::by_host) on_host(at);
    else on_gpu(stream, at);
  }

 private:
  void* arguments_;
  Emulation emulation_;
  OnGpu* on_gpu_;
  const void* host_;
  void (*on_host_)(const void* host, const void* const* at);
  const void* take_ = nullptr;
  void (*on_take_)(const void* take, const Piece* piece) = nullptr;
};

/// Counts a call that is passed on as it is. While it lives, the thread is in a routine.
class PassedThrough {
 public:
  explicit PassedThrough(Routine& routine, Verdict why = Verdict::no_routine) noexcept { enter_passed_through(routine, why); }
  ~PassedThrough() { leave_passed_through(); }
  PassedThrough(const PassedThrough&) = delete;
  PassedThrough& operator=(const PassedThrough&) = delete;
};

/// Passes on a call that is too small for any device, unless devices are to compute all calls: a call of ten elements takes no longer than its
/// description. It is counted. While this object lives, the thread is in a routine.
class SmallCall {
 public:
  SmallCall(Routine& routine, double operations, double bytes) noexcept : small_(enter_small(routine, operations, bytes)) {}
  ~SmallCall() {
    if (small_) leave_passed_through();
  }
  explicit operator bool() const noexcept { return small_; }
  SmallCall(const SmallCall&) = delete;
  SmallCall& operator=(const SmallCall&) = delete;

 private:
  bool small_;
};

#define SEMCACHE_CALLER __builtin_return_address(0)

}  // namespace semcache::blas
