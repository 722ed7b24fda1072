// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <kokkos/mutations.hpp>

// Columns of a block are used apart (subviews share the parent's flags), and the block grows.
namespace kokkos_mutation_subviews {
using namespace test;

struct Block {
  template <class Tag>
  Result operator()(Tag, Annotations& note) const {
    const int n = 256;
    using Dual = DualOf<Tag, double**>;
    Dual block("block", n, 2);
    auto left = Kokkos::subview(block, Kokkos::ALL(), std::make_pair(0, 1));
    auto right = Kokkos::subview(block, Kokkos::ALL(), std::make_pair(1, 2));
    for (int i = 0; i < n; ++i) {
      left.view_host()(i, 0) = i;
      right.view_host()(i, 0) = -i;
    }
    note.modify_host(0, block);
    note.sync_device(1, block);
    auto l = left.view_device();
    auto r = right.view_device();
    Kokkos::parallel_for("left", Range(0, n), KOKKOS_LAMBDA(int i) { l(i, 0) = 2 * l(i, 0) + r(i, 0); });
    note.modify_device(2, block);
    note.sync_host(3, block);
    for (int i = 0; i < n; ++i) right.view_host()(i, 0) += left.view_host()(i, 0);
    note.modify_host(4, block);
    note.sync_device(5, block);

    block.resize(n, 3);
    auto d = block.view_device();
    Kokkos::parallel_for("sum", Range(0, n), KOKKOS_LAMBDA(int i) { d(i, 2) = d(i, 0) + d(i, 1); });
    note.modify_device(6, block);
    note.sync_host(7, block);
    Result result;
    for (int j = 0; j < 3; ++j)
      for (int i = 0; i < n; ++i) result.push_back(block.view_host()(i, j));
    return result;
  }
};

}  // namespace kokkos_mutation_subviews
using namespace kokkos_mutation_subviews;

KOKKOS_TEST(KokkosDualViewMutation, SubviewsAndResize) { check_mutants(8, Block()); }
