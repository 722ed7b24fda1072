// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "support.hpp"

#include <semcache/kernels/triangular.hpp>
#include <semcache/semcache.hpp>

#include <cmath>
#include <string>

using namespace test;

namespace {

/// Solves op(A) X = B, or X op(A) = B, and multiplies X by op(A) again, for a triangle of ones and twos: exact in integers.
template <class View>
void expect_triangular(const char* what) {
  for (const char side : {'L', 'R'}) {
    for (const char uplo : {'U', 'L'}) {
      for (const char op : {'N', 'T', 'C'}) {
        const std::size_t order = side == 'L' ? 12 : 9;
        const View a("a", order, order), b("b", 12, 9);
        const auto ha = Kokkos::create_mirror_view(a), hb = Kokkos::create_mirror_view(b);
        for (std::size_t i = 0; i < order; ++i) {
          for (std::size_t j = 0; j < order; ++j) {
            const bool inside = uplo == 'U' ? i <= j : i >= j;
            ha(i, j) = !inside ? std::nan("") : i == j ? 1 : (i + j) % 3 == 0 ? 1 : 0;
          }
        }
        for (std::size_t i = 0; i < 12; ++i) {
          for (std::size_t j = 0; j < 9; ++j) hb(i, j) = entry(i, j, 3);
        }
        Kokkos::deep_copy(a, ha);
        Kokkos::deep_copy(b, hb);
        const std::string where = std::string(what) + side + uplo + op;
        KokkosBlas::trmm(&side, &uplo, &op, "N", 2.0, a, b);
        if (semcache::runtime::spread() == semcache::policy::Spread::always) {
          EXPECT_EQ(devices_of(b), semcache::device_count()) << where;
        }
        const Host product = elements(b);
        for (std::size_t i = 0; i < 12; ++i) {
          for (std::size_t j = 0; j < 9; ++j) {
            double sum = 0;
            for (std::size_t l = 0; l < order; ++l) {
              const std::size_t row = side == 'L' ? i : l, column = side == 'L' ? l : j;
              const double element = op == 'N' ? ha(row, column) : ha(column, row);
              if (!std::isnan(element)) sum += element * (side == 'L' ? hb(l, j) : hb(i, l));
            }
            ASSERT_EQ(product(i, j), 2 * sum) << where << i << ' ' << j;
          }
        }
        KokkosBlas::trsm(&side, &uplo, &op, "N", 0.5, a, b);
        const Host solved = elements(b);
        for (std::size_t i = 0; i < 12; ++i) {
          for (std::size_t j = 0; j < 9; ++j) ASSERT_EQ(solved(i, j), hb(i, j)) << where << i << ' ' << j;
        }
      }
    }
  }
}

}  // namespace

KOKKOS_TEST(Dense, TriangularProductsAndSolutions) {
  expect_triangular<Matrix>("left ");
  expect_triangular<RightMatrix>("right ");
}
