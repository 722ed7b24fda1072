// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/kernels/compat.hpp>

#ifdef SEMCACHE_ENABLE_LINALG
#include <semcache/linalg.hpp>
#endif

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>

/// Calls on all devices of the process. A process with several devices hands the calls for which that pays to packages/linalg; all others, and
/// those that it does not take, stay on the instance's device. Each function here returns whether it has made the call.
namespace semcache::kernels::spreading {

#ifdef SEMCACHE_ENABLE_LINALG

/// Returns whether packages/linalg may make calls on the instance: those on other devices than Kokkos' own (semcache::on) stay there, and a stream
/// from which a graph is recorded gets the error that it gets with one device. With SEMCACHE_SPREAD=always packages/linalg makes the calls of a
/// process with a single device, too, so that sums have the same bits on any number of devices.
inline bool may_spread(const Exec& exec) {
  const int devices = device_count();
  if (devices == 0) return false;
  const policy::Spread spread = runtime::spread();
  return (devices > 1 ? spread != policy::Spread::never : spread == policy::Spread::always) && kokkos::detail::device_of_instance(exec) == 0 &&
         !runtime::is_recording(kokkos::detail::queue_of(exec));
}
/// Returns whether a call that packages/linalg would make on so many devices is left to the native library.
inline bool is_better_at_home(std::size_t devices) { return devices == 1 && runtime::spread() != policy::Spread::always; }

/// Counts a call that stays on one device, for the report. Only calls that might have used all devices are counted. Returns false.
inline bool at_home(const char* routine, const char* why) {
  if (runtime::reports_library_calls()) runtime::note_library_call(std::string(routine) + " of Kokkos-Kernels: on the instance's device, " + why);
  return false;
}
constexpr const char* does_not_pay = "because more devices do not pay";
constexpr const char* overlaps = "because its result shares memory with an operand";
constexpr const char* has_strides = "because an operand has gaps in both directions, or 2^31 elements in a row";
constexpr const char* is_untracked = "because an operand is in no array of SemCache";
constexpr const char* is_conjugate = "because BLAS has no conjugate of a matrix that is not transposed, as these layouts need";
constexpr const char* other_types = "because of its operands' ranks, scalars, or coefficients that are views";

/// The scalars of BLAS, as packages/linalg names them; void for others.
template <class T>
struct Scalar {
  using type = std::conditional_t<std::is_same<T, float>::value || std::is_same<T, double>::value, T, void>;
};
template <class R>
struct Scalar<Kokkos::complex<R>> {
  using type = std::conditional_t<std::is_same<R, float>::value || std::is_same<R, double>::value, std::complex<R>, void>;
};
template <class T>
using scalar_t = typename Scalar<std::remove_const_t<T>>::type;

template <class View>
using scalar_of = scalar_t<typename View::value_type>;
/// Whether all of these views have elements of one such type.
template <class First, class... Rest>
constexpr bool have_one_scalar = !std::is_void<scalar_of<First>>::value && (std::is_same<scalar_of<First>, scalar_of<Rest>>::value && ...);

/// A coefficient as packages/linalg takes it.
template <class T, class Coefficient>
[[nodiscard]] T number(const Coefficient& c) {
  if constexpr (std::is_convertible<Coefficient, T>::value) return static_cast<T>(c);
  else return T(c.real(), c.imag());  // Kokkos::complex
}
template <class Coefficient, class T>
constexpr bool is_number = std::is_convertible<Coefficient, T>::value || std::is_same<scalar_t<Coefficient>, T>::value;

template <class View>
[[nodiscard]] auto data_of(const View& v) {
  using T = scalar_of<View>;
  using Element = std::conditional_t<std::is_const<typename View::value_type>::value, const T, T>;
  return reinterpret_cast<Element*>(v.data());
}
/// Whether both share memory, or may.
template <class X, class Y>
[[nodiscard]] bool overlap(const X& x, const Y& y) {
  const auto* const first_x = reinterpret_cast<const char*>(x.data());
  const auto* const first_y = reinterpret_cast<const char*>(y.data());
  return first_x < first_y + kokkos::detail::reach(y) * sizeof(typename Y::value_type) &&
         first_y < first_x + kokkos::detail::reach(x) * sizeof(typename X::value_type);
}
template <class View>
[[nodiscard]] bool is_contiguous_vector(const View& v) {
  return v.extent(0) <= std::size_t(std::numeric_limits<std::int32_t>::max()) && (v.stride(0) == 1 || v.extent(0) < 2);
}

/// Whether all of them lie in arrays that SemCache keeps coherent. Views may also be made of any address.
template <class... Views>
[[nodiscard]] bool are_tracked(const Views&... views) {
  return (is_tracked(views.data()) && ...);
}

/// A view of rank 2 as a column-major matrix, or as its transpose.
struct Layout {
  bool known = false;
  bool transposed = false;
  std::int64_t leading = 1;
};
template <class View>
[[nodiscard]] Layout layout_of(const View& v) {
  Layout l;
  constexpr std::size_t most = std::numeric_limits<std::int32_t>::max();
  const std::size_t rows = v.extent(0), columns = v.extent(1);
  if (rows > most || columns > most) return l;
  if (v.stride(0) == 1 || rows < 2) {
    const std::size_t leading = columns < 2 ? rows : v.stride(1);
    l = {leading <= most && leading >= rows, false, std::int64_t(std::max<std::size_t>(leading, 1))};
  } else if (v.stride(1) == 1 || columns < 2) {
    const std::size_t leading = v.stride(0);
    l = {leading <= most && leading >= columns, true, std::int64_t(std::max<std::size_t>(leading, 1))};
  }
  return l;
}

/// What is done to an operand that is kept as its transpose, or not: `op` as Kokkos-Kernels names it. Returns false for the conjugate of a
/// complex matrix that is not transposed, which BLAS lacks.
template <class T>
[[nodiscard]] bool operation(char op, bool kept_transposed, linalg::Transpose& is) {
  const bool conjugate = (op == 'C' || op == 'c' || op == 'H' || op == 'h') && !std::is_floating_point<T>::value;  // gemv has both
  const bool transpose = (op != 'N' && op != 'n') != kept_transposed;
  if (conjugate && !transpose) return false;
  is = !transpose ? linalg::Transpose::no : conjugate ? linalg::Transpose::conjugate : linalg::Transpose::yes;
  return true;
}

/// C = alpha op(A) op(B) + beta C.
template <class Alpha, class A, class B, class Beta, class C>
bool gemm(const Exec& exec, char op_a, char op_b, const Alpha& alpha, const A& a, const B& b, const Beta& beta, const C& c) {
  if constexpr (have_one_scalar<A, B, C>) {
    using T = scalar_of<C>;
    if (!may_spread(exec)) return false;
    if (!are_tracked(a, b, c)) return at_home("gemm", is_untracked);
    if (overlap(a, c) || overlap(b, c)) return at_home("gemm", overlaps);
    const Layout of_a = layout_of(a), of_b = layout_of(b), of_c = layout_of(c);
    if (!of_a.known || !of_b.known || !of_c.known) return at_home("gemm", has_strides);
    const std::int64_t m = c.extent(0), n = c.extent(1), k = op_a == 'N' || op_a == 'n' ? a.extent(1) : a.extent(0);
    if (is_better_at_home(linalg::devices_of_product<T>(double(m) * double(n) * double(k)))) return at_home("gemm", does_not_pay);
    // Where C is kept as its transpose, that is op(B)' op(A)'.
    linalg::Transpose ta{}, tb{};
    if (!operation<T>(op_a, of_a.transposed != of_c.transposed, ta) || !operation<T>(op_b, of_b.transposed != of_c.transposed, tb)) {
      return at_home("gemm", is_conjugate);
    }
    if (of_c.transposed) {
      linalg::gemm<T>(tb, ta, n, m, k, number<T>(alpha), data_of(b), of_b.leading, data_of(a), of_a.leading, number<T>(beta), data_of(c),
                      of_c.leading);
    } else {
      linalg::gemm<T>(ta, tb, m, n, k, number<T>(alpha), data_of(a), of_a.leading, data_of(b), of_b.leading, number<T>(beta), data_of(c),
                      of_c.leading);
    }
    return true;
  }
  return may_spread(exec) && at_home("gemm", other_types);
}

/// `trmm` or `trsm` of packages/linalg, with a triangular A on either side. Where B is kept as its transpose, the other side of A is meant, and
/// where A is, its other triangle.
template <class Routine, class Alpha, class A, class B>
bool triangular(const char* name, const Routine& routine, const Exec& exec, char side, char uplo, char op, char diagonal, const Alpha& alpha,
                const A& a, const B& b) {
  if constexpr (have_one_scalar<A, B>) {
    using T = scalar_of<B>;
    if (!may_spread(exec) || b.size() == 0) return false;
    if (!are_tracked(a, b)) return at_home(name, is_untracked);
    if (overlap(a, b)) return at_home(name, overlaps);
    const Layout of_a = layout_of(a), of_b = layout_of(b);
    if (!of_a.known || !of_b.known) return at_home(name, has_strides);
    linalg::Transpose is{};
    if (!operation<T>(op, of_a.transposed != of_b.transposed, is)) return at_home(name, is_conjugate);
    const double multiplications = double(b.extent(0)) * double(b.extent(1)) * double(a.extent(0)) / 2;
    if (is_better_at_home(linalg::devices_of_product<T>(multiplications))) return at_home(name, does_not_pay);
    const bool left = (side == 'L' || side == 'l') != of_b.transposed, upper = (uplo == 'U' || uplo == 'u') != of_a.transposed;
    const std::int64_t rows = of_b.transposed ? b.extent(1) : b.extent(0), columns = of_b.transposed ? b.extent(0) : b.extent(1);
    routine(left ? linalg::Side::left : linalg::Side::right, upper ? linalg::Triangle::upper : linalg::Triangle::lower, is,
            diagonal == 'U' || diagonal == 'u' ? linalg::Diagonal::unit : linalg::Diagonal::non_unit, rows, columns, number<T>(alpha), data_of(a),
            of_a.leading, data_of(b), of_b.leading);
    return true;
  }
  return may_spread(exec) && at_home(name, other_types);
}
template <class... Arguments>
bool trmm(const Exec& exec, const Arguments&... arguments) {
  return triangular("trmm", [](const auto&... all) { linalg::trmm(all...); }, exec, arguments...);
}
template <class... Arguments>
bool trsm(const Exec& exec, const Arguments&... arguments) {
  return triangular("trsm", [](const auto&... all) { linalg::trsm(all...); }, exec, arguments...);
}

/// y = alpha op(A) x + beta y.
template <class Alpha, class A, class X, class Beta, class Y>
bool gemv(const Exec& exec, char op, const Alpha& alpha, const A& a, const X& x, const Beta& beta, const Y& y) {
  if constexpr (have_one_scalar<A, X, Y>) {
    using T = scalar_of<Y>;
    if (!may_spread(exec) || a.size() == 0) return false;
    if (!are_tracked(a, x, y)) return at_home("gemv", is_untracked);
    if (overlap(a, y) || overlap(x, y)) return at_home("gemv", overlaps);
    const Layout of_a = layout_of(a);
    if (!of_a.known || !is_contiguous_vector(x) || !is_contiguous_vector(y)) return at_home("gemv", has_strides);
    linalg::Transpose is{};
    if (!operation<T>(op, of_a.transposed, is)) return at_home("gemv", is_conjugate);
    const double bytes = double(sizeof(T)) * double(a.size());
    if (is_better_at_home(linalg::devices_of_vectors<T>(data_of(y), y.extent(0), bytes))) return at_home("gemv", does_not_pay);
    const std::int64_t rows = of_a.transposed ? a.extent(1) : a.extent(0), columns = of_a.transposed ? a.extent(0) : a.extent(1);
    linalg::gemv<T>(is, rows, columns, number<T>(alpha), data_of(a), of_a.leading, data_of(x), number<T>(beta), data_of(y));
    return true;
  }
  return may_spread(exec) && at_home("gemv", other_types);
}

/// y = alpha x + beta y. Coefficients that are views stay at home.
template <class Alpha, class X, class Beta, class Y>
bool axpby(const Exec& exec, const Alpha& alpha, const X& x, const Beta& beta, const Y& y) {
  if constexpr (X::rank == 1 && Y::rank == 1 && have_one_scalar<X, Y>) {
    using T = scalar_of<Y>;
    if constexpr (is_number<Alpha, T> && is_number<Beta, T>) {
      const T factor = number<T>(alpha);
      // Kokkos-Kernels does not read x where its coefficient is zero.
      if (!may_spread(exec) || factor == T(0) || y.extent(0) == 0) return false;
      if (!are_tracked(x, y)) return at_home("axpby", is_untracked);
      if (overlap(x, y)) return at_home("axpby", overlaps);
      if (!is_contiguous_vector(x) || !is_contiguous_vector(y)) return at_home("axpby", has_strides);
      const std::int64_t n = y.extent(0);
      const bool reads_y = number<T>(beta) != T(0);
      if (is_better_at_home(linalg::devices_of_vectors<T>(reads_y ? data_of(y) : const_cast<T*>(data_of(x)), n, 3.0 * sizeof(T) * double(n)))) {
        return at_home("axpby", does_not_pay);
      }
      linalg::axpby<T>(n, factor, data_of(x), number<T>(beta), data_of(y));
      return true;
    }
  }
  return may_spread(exec) && at_home("axpby", other_types);
}

/// r = alpha x.
template <class R, class Alpha, class X>
bool scal(const Exec& exec, const R& r, const Alpha& alpha, const X& x) {
  if constexpr (X::rank == 1 && R::rank == 1 && have_one_scalar<R, X>) {
    using T = scalar_of<R>;
    if constexpr (is_number<Alpha, T>) {
      // By zero it clears the result, whatever that was.
      const T factor = number<T>(alpha);
      if (!may_spread(exec) || factor == T(0) || r.extent(0) == 0) return false;
      if (!are_tracked(x, r)) return at_home("scal", is_untracked);
      const bool in_place = static_cast<const void*>(r.data()) == static_cast<const void*>(x.data());
      if (!in_place && overlap(r, x)) return at_home("scal", overlaps);
      if (!is_contiguous_vector(x) || !is_contiguous_vector(r)) return at_home("scal", has_strides);
      const std::int64_t n = r.extent(0);
      if (is_better_at_home(linalg::devices_of_vectors<T>(const_cast<T*>(data_of(x)), n, 2.0 * sizeof(T) * double(n)))) {
        return at_home("scal", does_not_pay);
      }
      if (in_place) linalg::scal<T>(n, factor, data_of(r));
      else linalg::axpby<T>(n, factor, data_of(x), T(0), data_of(r));
      return true;
    }
  }
  return may_spread(exec) && at_home("scal", other_types);
}

/// Stores a number where the program wants it: in host memory, in a mirror, or on the device.
template <class R, class T>
void store(const Exec& exec, const R& r, const T& value) {
  using Result = typename R::non_const_value_type;
  Result result;
  if constexpr (std::is_convertible<T, Result>::value) result = static_cast<Result>(value);
  else result = Result(value.real(), value.imag());
  if constexpr (std::is_same<typename R::memory_space, Space>::value) Kokkos::deep_copy(exec, r, result);
  else r() = result;
}
/// Whether `store` can: a result of rank 0, which the host reaches or which lies in our space.
template <class R>
constexpr bool is_storable = R::rank == 0 && (std::is_same<typename R::memory_space, Space>::value ||
                                              Kokkos::SpaceAccessibility<Kokkos::HostSpace, typename R::memory_space>::accessible);

template <class T, class X, class Y>
bool dots_spread(const char* routine, const Exec& exec, const X& x, const Y& y) {
  if (!may_spread(exec) || x.extent(0) != y.extent(0) || x.extent(0) == 0) return false;
  if (!are_tracked(x, y)) return at_home(routine, is_untracked);
  if (!is_contiguous_vector(x) || !is_contiguous_vector(y)) return at_home(routine, has_strides);
  const std::int64_t n = x.extent(0);
  const double bytes = 2.0 * sizeof(T) * double(n);
  return !is_better_at_home(linalg::devices_of_vectors<T>(const_cast<T*>(data_of(x)), n, bytes)) || at_home(routine, does_not_pay);
}

/// r = sum of conj(x) y.
template <class R, class X, class Y>
bool dot(const Exec& exec, const R& r, const X& x, const Y& y) {
  if constexpr (X::rank == 1 && Y::rank == 1 && have_one_scalar<X, Y>) {
    if constexpr (is_storable<R>) {
      using T = scalar_of<X>;
      if constexpr (std::is_same<scalar_of<R>, T>::value) {
        if (!dots_spread<T>("dot", exec, x, y)) return false;
        store(exec, r, linalg::dot<T>(x.extent(0), data_of(x), data_of(y)));
        return true;
      }
    }
  }
  return may_spread(exec) && at_home("dot", other_types);
}

/// r = |x|, or its square.
template <class R, class X>
bool nrm2(const Exec& exec, const R& r, const X& x, bool take_root) {
  if constexpr (X::rank == 1 && have_one_scalar<X>) {
    if constexpr (is_storable<R>) {
      using T = scalar_of<X>;
      using Real = linalg::RealOf<T>;
      if constexpr (std::is_same<std::remove_const_t<typename R::value_type>, Real>::value) {
        if (!dots_spread<T>("nrm2", exec, x, x)) return false;
        const Real square = std::real(linalg::dot<T>(x.extent(0), data_of(x), data_of(x)));
        // BLAS scales elements whose squares are beyond the type's range.
        using Limits = std::numeric_limits<Real>;
        if (take_root && !(square >= Limits::min() / Limits::epsilon() && square <= Limits::max())) {
          return at_home("nrm2", "because its elements' squares are beyond the type's range");
        }
        store(exec, r, take_root ? std::sqrt(square) : square);
        return true;
      }
    }
  }
  return may_spread(exec) && at_home("nrm2", other_types);
}

/// y = alpha A x + beta y, of a CRS matrix with row pointers of 32 or 64 bits and columns of 32 bits. x and y are vectors or multivectors.
template <class Alpha, class Matrix, class X, class Beta, class Y>
bool spmv(const Exec& exec, char mode, const Alpha& alpha, const Matrix& a, const X& x, const Beta& beta, const Y& y) {
  using Values = typename Matrix::values_type;
  if constexpr (static_cast<int>(X::rank) == static_cast<int>(Y::rank) && have_one_scalar<Values, X, Y>) {
    using T = scalar_of<Y>;
    using Size = typename Matrix::non_const_size_type;
    if constexpr ((sizeof(Size) == 4 || sizeof(Size) == 8) && sizeof(typename Matrix::non_const_ordinal_type) == 4 && is_number<Alpha, T> &&
                  is_number<Beta, T>) {
      const bool plain = mode == 'N' || mode == 'n' || (std::is_floating_point<T>::value && (mode == 'C' || mode == 'c'));
      const std::int64_t rows = a.numRows(), columns = a.numCols(), entries = a.nnz();
      if (!may_spread(exec) || rows == 0 || std::int64_t(y.extent(0)) < rows || std::int64_t(x.extent(0)) < columns) return false;
      if (!plain) return at_home("spmv", "because the matrix is transposed or conjugate");
      if (entries > std::numeric_limits<std::int32_t>::max()) return at_home("spmv", "because it has more than 2^31 - 1 entries");
      if (!are_tracked(a.values, a.graph.row_map, a.graph.entries, x, y)) return at_home("spmv", is_untracked);
      if (overlap(x, y)) return at_home("spmv", overlaps);
      using Offset = std::conditional_t<sizeof(Size) == 4, std::int32_t, std::int64_t>;
      const linalg::Csr<T, Offset> matrix{rows, columns, entries, reinterpret_cast<const Offset*>(a.graph.row_map.data()),
                                          reinterpret_cast<const std::int32_t*>(a.graph.entries.data()), data_of(a.values)};
      if constexpr (X::rank == 1) {
        if (!is_contiguous_vector(x) || !is_contiguous_vector(y)) return at_home("spmv", has_strides);
        if (is_better_at_home(linalg::devices_of_sparse_product<T>(rows, entries))) return at_home("spmv", does_not_pay);
        linalg::spmv<T, Offset>(number<T>(alpha), matrix, data_of(x), number<T>(beta), data_of(y));
      } else {
        const Layout of_x = layout_of(x), of_y = layout_of(y);
        if (!of_x.known || !of_y.known) return at_home("spmv", has_strides);
        if (of_x.transposed || of_y.transposed) return at_home("spmv", "because a multivector is kept by rows");
        if (y.extent(1) != x.extent(1) || y.extent(1) == 0) return false;
        // Kokkos-Kernels reads neither A nor x then. With vectors it does not come here.
        if (number<T>(alpha) == T(0)) return at_home("spmv", "because alpha is zero");
        if (is_better_at_home(linalg::devices_of_sparse_product<T>(rows, entries, y.extent(1)))) return at_home("spmv", does_not_pay);
        linalg::spmm<T, Offset>(y.extent(1), number<T>(alpha), matrix, data_of(x), of_x.leading, number<T>(beta), data_of(y), of_y.leading);
      }
      return true;
    }
  }
  return may_spread(exec) && at_home("spmv", "because of its operands' ranks or scalars, or columns of 64 bits");
}

#else  // without packages/linalg

#define SEMCACHE_KERNELS_AT_HOME(FUNCTION)      \
  template <class... Arguments>                 \
  constexpr bool FUNCTION(const Arguments&...) { \
    return false;                               \
  }
SEMCACHE_KERNELS_AT_HOME(gemm)
SEMCACHE_KERNELS_AT_HOME(gemv)
SEMCACHE_KERNELS_AT_HOME(trmm)
SEMCACHE_KERNELS_AT_HOME(trsm)
SEMCACHE_KERNELS_AT_HOME(axpby)
SEMCACHE_KERNELS_AT_HOME(scal)
SEMCACHE_KERNELS_AT_HOME(dot)
SEMCACHE_KERNELS_AT_HOME(nrm2)
SEMCACHE_KERNELS_AT_HOME(spmv)
#undef SEMCACHE_KERNELS_AT_HOME

#endif

}  // namespace semcache::kernels::spreading
