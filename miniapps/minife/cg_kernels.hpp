// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

/// The device kernels of the conjugate gradient solver. All variants use them, however they move their data. The arithmetic
/// and its order are therefore the same, so the variants agree bit by bit on one kind of device.
///
/// Views that a kernel only reads are captured as views of const. From that semcache (and the reader) knows that they are not
/// written.
#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstdint>
#include <type_traits>

namespace minife {

/// The types of one variant: where kernels run and where their arrays are.
template <class ExecutionSpace, class MemorySpace, class OffsetType>
struct KernelTypes {
  using Exec = ExecutionSpace;
  using Offset = OffsetType;
  using Device = Kokkos::Device<ExecutionSpace, MemorySpace>;
  using Real = Kokkos::View<double*, Device>;
  using ConstReal = Kokkos::View<const double*, Device>;
  using Index = Kokkos::View<std::int32_t*, Device>;
  using ConstIndex = Kokkos::View<const std::int32_t*, Device>;
  using Offsets = Kokkos::View<OffsetType*, Device>;
  using ConstOffsets = Kokkos::View<const OffsetType*, Device>;
};

/// The extents of a rank's arrays.
struct Extents {
  std::int32_t rows = 0;
  std::int32_t interior_rows = 0;
  std::int32_t externals = 0;
  std::int32_t sent_entries = 0;
};

/// The device sides of all arrays that the kernels use.
template <class Types>
struct DeviceArrays {
  typename Types::Real values;
  typename Types::Index columns;
  typename Types::Offsets offsets;
  typename Types::Index send_entries;
  typename Types::Real rhs;          // b
  typename Types::Real solution;     // x
  typename Types::Real direction;    // p
  typename Types::Real product;      // A p
  typename Types::Real residual;     // r
  typename Types::Real send_buffer;  // p at send_entries
  typename Types::Real external;     // p at the external columns
};

namespace detail {

#ifdef KOKKOS_ENABLE_CUDA
template <class Exec>
inline constexpr bool on_gpu = std::is_base_of_v<Kokkos::Cuda, Exec>;
#else
template <class Exec>
inline constexpr bool on_gpu = false;
#endif

inline constexpr int team_threads = 256;
/// Lanes that share a row of the matrix on a GPU. 4 lanes are the fastest on an H200 (100^3 elements); more lanes are slower.
inline constexpr int lanes_per_row = 4;
inline constexpr int rows_per_team = team_threads / lanes_per_row;
/// The largest number of partial sums. It fixes the order of summation for functors of all types, so variants cannot differ.
inline constexpr std::int32_t partial_sums = 1024;

/// Returns the number of rows that a team sums up.
KOKKOS_INLINE_FUNCTION constexpr std::int64_t rows_per_sum(std::int64_t count) {
  return (count / partial_sums + team_threads) / team_threads * team_threads;
}

template <class Exec>
using Range = Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int32_t>>;

// Integers in functors are 64 bits wide, because semcache searches functors for words that might be pointers, and padding, or
// two integers in one word, can look like a pointer.

template <class Body>
struct Each {
  Body body;
  KOKKOS_INLINE_FUNCTION void operator()(std::int32_t i) const { body(i); }
};

template <class Body>
struct SumOverRange {
  using value_type = double;
  Body body;
  KOKKOS_INLINE_FUNCTION void operator()(std::int32_t i, double& sum) const { sum += body(i); }
};

template <class Body, class Member>
struct SumOverTeams {
  using value_type = double;
  Body body;
  std::int64_t count;
  KOKKOS_INLINE_FUNCTION void operator()(const Member& team, double& sum) const {
    const std::int64_t chunk = rows_per_sum(count);
    const std::int64_t begin = team.league_rank() * chunk;
    const std::int64_t end = begin + chunk < count ? begin + chunk : count;
    double partial = 0;
    Kokkos::parallel_reduce(
        Kokkos::TeamThreadRange(team, static_cast<std::int32_t>(begin), static_cast<std::int32_t>(end)),
        [&](std::int32_t i, double& s) { s += body(i); }, partial);
    Kokkos::single(Kokkos::PerTeam(team), [&]() { sum += partial; });
  }
};

template <class Exec, class Body>
void for_each(const char* name, const Exec& exec, std::int32_t begin, std::int32_t end, const Body& body) {
  if (end > begin) Kokkos::parallel_for(name, Range<Exec>(exec, begin, end), Each<Body>{body});
}

/// Returns the sum of body(i) over 0 <= i < count, in an order that depends only on `count` and the kind of device.
template <class Exec, class Body>
double sum(const char* name, const Exec& exec, std::int32_t count, const Body& body) {
  double result = 0;
  if constexpr (on_gpu<Exec>) {
    using Policy = Kokkos::TeamPolicy<Exec>;
    const std::int64_t chunk = rows_per_sum(count);
    const int teams = static_cast<int>((count + chunk - 1) / chunk);
    Kokkos::parallel_reduce(name, Policy(exec, teams, team_threads),
                            SumOverTeams<Body, typename Policy::member_type>{body, count}, result);
  } else {
    Kokkos::parallel_reduce(name, Range<Exec>(exec, 0, count), SumOverRange<Body>{body}, result);
  }
  return result;
}

// --- bodies ------------------------------------------------------------------------------------------------------

template <class T>
struct Copy {
  typename T::ConstReal from;
  typename T::Real to;
  KOKKOS_INLINE_FUNCTION void operator()(std::int32_t i) const { to(i) = from(i); }
};

template <class T>
struct Gather {
  typename T::ConstIndex entries;
  typename T::ConstReal from;
  typename T::Real to;
  KOKKOS_INLINE_FUNCTION void operator()(std::int32_t i) const { to(i) = from(entries(i)); }
};

/// The values of p by column, for rows whose columns are all local.
template <class T>
struct LocalColumns {
  typename T::ConstReal x;
  KOKKOS_INLINE_FUNCTION double operator()(std::int32_t column) const { return x(column); }
};

/// The values of p by column, for all rows: columns below `rows` are local, the others are external.
template <class T>
struct LocalAndExternalColumns {
  typename T::ConstReal x;
  typename T::ConstReal external;
  std::int64_t rows;
  KOKKOS_INLINE_FUNCTION double operator()(std::int32_t column) const {
    return column < rows ? x(column) : external(static_cast<std::int32_t>(column - rows));
  }
};

template <class T, class Columns>
struct MultiplyRow {
  typename T::ConstReal values;
  typename T::ConstIndex columns;
  typename T::ConstOffsets offsets;
  Columns at;
  typename T::Real y;
  KOKKOS_INLINE_FUNCTION void operator()(std::int32_t row) const {
    double sum = 0;
    const typename T::Offset end = offsets(row + 1);
    for (typename T::Offset k = offsets(row); k < end; ++k) sum += values(k) * at(columns(k));
    y(row) = sum;
  }
};

template <class T, class Columns, class Member>
struct MultiplyRowsOfTeam {
  MultiplyRow<T, Columns> matrix;
  std::int64_t begin;
  std::int64_t end;
  KOKKOS_INLINE_FUNCTION void operator()(const Member& team) const {
    const auto first = static_cast<std::int32_t>(begin + std::int64_t{team.league_rank()} * rows_per_team);
    const auto last = static_cast<std::int32_t>(first + rows_per_team < end ? first + rows_per_team : end);
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, first, last), [&](std::int32_t row) {
      const typename T::Offset start = matrix.offsets(row);
      const int length = static_cast<int>(matrix.offsets(row + 1) - start);
      double total = 0;
      Kokkos::parallel_reduce(
          Kokkos::ThreadVectorRange(team, length),
          [&](int k, double& s) { s += matrix.values(start + k) * matrix.at(matrix.columns(start + k)); }, total);
      Kokkos::single(Kokkos::PerThread(team), [&]() { matrix.y(row) = total; });
    });
  }
};

template <class T>
struct InitialResidual {
  typename T::ConstReal rhs;
  typename T::ConstReal product;
  typename T::Real residual;
  KOKKOS_INLINE_FUNCTION double operator()(std::int32_t i) const {
    const double r = rhs(i) - product(i);
    residual(i) = r;
    return r * r;
  }
};

template <class T>
struct NextDirection {
  typename T::ConstReal residual;
  typename T::Real direction;
  double beta;
  KOKKOS_INLINE_FUNCTION void operator()(std::int32_t i) const { direction(i) = residual(i) + beta * direction(i); }
};

template <class T>
struct Dot {
  typename T::ConstReal a;
  typename T::ConstReal b;
  KOKKOS_INLINE_FUNCTION double operator()(std::int32_t i) const { return a(i) * b(i); }
};

template <class T>
struct Advance {
  typename T::ConstReal direction;
  typename T::ConstReal product;
  typename T::Real solution;
  typename T::Real residual;
  double alpha;
  KOKKOS_INLINE_FUNCTION double operator()(std::int32_t i) const {
    solution(i) += alpha * direction(i);
    const double r = residual(i) - alpha * product(i);
    residual(i) = r;
    return r * r;
  }
};

template <class T>
struct AdvanceSolution {
  typename T::ConstReal direction;
  typename T::Real solution;
  double alpha;
  KOKKOS_INLINE_FUNCTION void operator()(std::int32_t i) const { solution(i) += alpha * direction(i); }
};

template <class T, class Columns>
void multiply(const char* name, const typename T::Exec& exec, const DeviceArrays<T>& a, std::int32_t begin,
              std::int32_t end, const Columns& at) {
  const MultiplyRow<T, Columns> row{a.values, a.columns, a.offsets, at, a.product};
  if (end <= begin) return;
  if constexpr (on_gpu<typename T::Exec>) {
    using Policy = Kokkos::TeamPolicy<typename T::Exec>;
    const int teams = static_cast<int>((std::int64_t{end} - begin + rows_per_team - 1) / rows_per_team);
    Kokkos::parallel_for(name, Policy(exec, teams, rows_per_team, lanes_per_row),
                         MultiplyRowsOfTeam<T, Columns, typename Policy::member_type>{row, begin, end});
  } else {
    for_each(name, exec, begin, end, row);
  }
}

}  // namespace detail

/// The kernels by name. Each one is submitted to the given instance, in order. A kernel that returns a sum waits for it and
/// returns this rank's part.
template <class T>
struct Kernels {
  using Exec = typename T::Exec;
  using Arrays = DeviceArrays<T>;

  /// p := x
  static void start_direction(const Exec& exec, const Arrays& a, const Extents& n) {
    detail::for_each("minife::start_direction", exec, 0, n.rows, detail::Copy<T>{a.solution, a.direction});
  }
  /// send buffer := p at the entries to be sent
  static void pack(const Exec& exec, const Arrays& a, const Extents& n) {
    detail::for_each("minife::pack", exec, 0, n.sent_entries,
                     detail::Gather<T>{a.send_entries, a.direction, a.send_buffer});
  }
  /// (A p) in the rows without external columns
  static void multiply_interior(const Exec& exec, const Arrays& a, const Extents& n) {
    detail::multiply("minife::multiply_interior", exec, a, 0, n.interior_rows, detail::LocalColumns<T>{a.direction});
  }
  /// (A p) in the other rows
  static void multiply_boundary(const Exec& exec, const Arrays& a, const Extents& n) {
    detail::multiply("minife::multiply_boundary", exec, a, n.interior_rows, n.rows,
                     detail::LocalAndExternalColumns<T>{a.direction, a.external, n.rows});
  }
  /// r := b - A p; returns r.r
  [[nodiscard]] static double initial_residual(const Exec& exec, const Arrays& a, const Extents& n) {
    return detail::sum("minife::initial_residual", exec, n.rows,
                       detail::InitialResidual<T>{a.rhs, a.product, a.residual});
  }
  /// p := r + beta p
  static void next_direction(const Exec& exec, const Arrays& a, const Extents& n, double beta) {
    detail::for_each("minife::next_direction", exec, 0, n.rows,
                     detail::NextDirection<T>{a.residual, a.direction, beta});
  }
  /// returns p.(A p)
  [[nodiscard]] static double curvature(const Exec& exec, const Arrays& a, const Extents& n) {
    return detail::sum("minife::curvature", exec, n.rows, detail::Dot<T>{a.direction, a.product});
  }
  /// x += alpha p, r -= alpha A p; returns r.r
  [[nodiscard]] static double advance(const Exec& exec, const Arrays& a, const Extents& n, double alpha) {
    return detail::sum("minife::advance", exec, n.rows,
                       detail::Advance<T>{a.direction, a.product, a.solution, a.residual, alpha});
  }
  /// x += alpha p, in the last iteration, after which the residual is not needed
  static void advance_solution(const Exec& exec, const Arrays& a, const Extents& n, double alpha) {
    detail::for_each("minife::advance_solution", exec, 0, n.rows,
                     detail::AdvanceSolution<T>{a.direction, a.solution, alpha});
  }
};

}  // namespace minife
