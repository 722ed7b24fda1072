// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include "operand.hpp"

#include <semcache/runtime/runtime.hpp>

#include <array>
#include <optional>

/// Operands that the device's routine has in another form than the program: by columns instead of rows, side by side instead of linked.
namespace semcache::blas {

/// A form of an operand, which transformations on the device make of its value, and its value of it.
struct Form {
  /// @param arguments  of the call  @param stream  the native one; null on an emulated device
  using Transformation = void(const void* arguments, void* stream, const void* from, void* to);
  const char* name = "";  ///< of the forward transformation: the same name and parameters give the same form of the same value
  const void* arguments = nullptr;
  Transformation* forward = nullptr;
  Transformation* reverse = nullptr;
  std::uint64_t bytes = 0;
  std::array<std::int64_t, 8> parameters{};  ///< what else the form depends on
};

/// An operand in its form, for the time of a call. Source: SemCache, 4.4 and 6 (semantic links; transformations).
/// The form of an input is computed once for each value (`runtime::DerivedValue`). A form that the routine has written is transformed back on the
/// device, at once: that is the operand's value. The form itself stays as what is derived from it.
class Formed : base::Uncopied {
 public:
  /// Makes the form of an operand that is read. @param value  the operand on the device  @param datum  its address for `runtime::DerivedValue`
  /// @throws OutOfMemory, DeviceError
  Formed(const Operand& operand, const runtime::Stream& stream, const void* value, const void* datum);
  ~Formed();
  /// Returns where the routine finds it.
  [[nodiscard]] void* at() const noexcept { return written_ != nullptr ? written_ : form_->data(); }
  [[nodiscard]] runtime::LibraryUse use() const noexcept { return {at(), bytes(), of_.mode}; }
  /// Gives the operand the value that the routine has written in its form.
  void reverse();

 private:
  [[nodiscard]] std::size_t bytes() const noexcept { return static_cast<std::size_t>(of_.form->bytes); }
  [[nodiscard]] runtime::LibraryUse value(Access mode) const noexcept { return {value_, of_.width(), mode, of_.columns, of_.pitch()}; }
  void derive();
  void copy(void* to, const void* from) const;
  const Operand& of_;
  const runtime::Stream& stream_;
  const void* value_;
  const void* datum_;
  std::optional<runtime::DerivedValue> form_;
  void* written_ = nullptr;  ///< a device array, for a form that the routine writes
};

}  // namespace semcache::blas
