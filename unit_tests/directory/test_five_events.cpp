// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "orders.hpp"

namespace semcache::directory {
namespace {

TEST(DirectoryOrders, EveryOrderOfFiveEventsKeepsEveryValue) { check_every_order(5, 2, of_vectors, Evictions::of_arrays); }
TEST(DirectoryOrders, EveryOrderOfFourEventsInThreeSpacesKeepsEveryValue) { check_every_order(4, 3); }
TEST(DirectoryOrders, EveryOrderOfFourEventsOfMatricesKeepsEveryValue) { check_every_order(4, 2, of_matrices); }
TEST(DirectoryOrders, EveryOrderOfThreeEventsOfMatricesInThreeSpacesKeepsEveryValue) { check_every_order(3, 3, of_matrices); }
TEST(DirectoryOrders, EveryOrderOfFourEventsInFourSpacesKeepsEveryValue) { check_every_order(4, 4); }
TEST(DirectoryOrders, EveryOrderOfFourEventsOfMatricesInFourSpacesKeepsEveryValue) {
  check_every_order(4, 4, of_matrices, Evictions::of_arrays);
}
TEST(DirectoryOrders, EveryOrderOfThreeEventsInFiveSpacesKeepsEveryValue) {
  check_every_order(3, 5);
  check_every_order(3, 5, of_matrices);
}

}  // namespace
}  // namespace semcache::directory
