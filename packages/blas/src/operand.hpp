// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/base/types.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

/// What a BLAS call says about its operands, whatever the routine is.
namespace semcache::blas {

/// Which part of an operand a routine uses: of a triangle also its diagonal.
enum class Part : std::uint8_t { all, upper, lower };

struct Form;

/// An operand in column-major order. Its address is the program's, or, in an argument of a kernel, that on the device.
struct Operand {
  const void* address = nullptr;
  std::uint64_t rows = 0;
  std::uint64_t columns = 0;
  std::uint64_t leading = 0;  ///< elements from one column to the next
  std::uint32_t element_bytes = 0;
  Access mode = Access::read;
  Part part = Part::all;
  const Form* form = nullptr;  ///< the device's routine has it in another form

  [[nodiscard]] bool empty() const noexcept { return rows == 0 || columns == 0; }
  [[nodiscard]] std::size_t width() const noexcept { return rows * element_bytes; }   ///< bytes of a column
  [[nodiscard]] std::size_t pitch() const noexcept { return leading * element_bytes; }
  [[nodiscard]] std::size_t bytes() const noexcept { return width() * columns; }      ///< that the call uses
  /// Bytes from the first one used to the last.
  [[nodiscard]] std::size_t span() const noexcept { return empty() ? 0 : pitch() * (columns - 1) + width(); }
  /// Is it many small runs, such as a vector with an increment? Then its hull is described instead, because each run costs time.
  [[nodiscard]] bool is_scattered() const noexcept { return width() < 128 && columns > 16 && pitch() > width() && pitch() <= 65536; }
  [[nodiscard]] std::uintptr_t begin() const noexcept { return reinterpret_cast<std::uintptr_t>(address); }
  [[nodiscard]] std::uintptr_t end() const noexcept { return begin() + span(); }
};

/// Calls `visit(column, first row, end)` for the columns of what a routine may write: other threads may use the other triangle meanwhile.
template <class Visit>
void for_each_column_of_part(const Operand& o, const Visit& visit) {
  for (std::uint64_t c = 0; c < o.columns; ++c) {
    const std::uint64_t first = o.part == Part::lower ? c : 0, end = o.part == Part::upper && c + 1 < o.rows ? c + 1 : o.rows;
    if (first < end) visit(c, first, end);
  }
}

/// Returns whether two operands may share bytes. Parts of one matrix are compared exactly, but for triangles and
/// scattered elements.
[[nodiscard]] inline bool may_overlap(const Operand& a, const Operand& b) noexcept {
  if (a.empty() || b.empty() || a.begin() >= b.end() || b.begin() >= a.end()) return false;
  const auto pitch = static_cast<std::int64_t>(a.pitch());
  if (a.is_scattered() || b.is_scattered() || a.pitch() != b.pitch() || a.width() > a.pitch() || b.width() > b.pitch()) return true;
  // The columns of b begin `within` bytes behind those of a, whose number is larger by `ahead`, and may reach into the next ones.
  const auto distance = static_cast<std::int64_t>(b.begin() - a.begin());
  const std::int64_t within = (distance % pitch + pitch) % pitch, ahead = (distance - within) / pitch;
  const auto number = [](std::uint64_t n) { return static_cast<std::int64_t>(n); };
  const auto meet = [&](std::int64_t first) { return first < number(a.columns) && first + number(b.columns) > 0; };
  return (within < number(a.width()) && meet(ahead)) || (within + number(b.width()) > pitch && meet(ahead + 1));
}

inline constexpr std::size_t most_operands = 6;
using Operands = std::array<Operand, most_operands>;

}  // namespace semcache::blas
