// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "orders.hpp"

namespace semcache::directory {
namespace {

TEST(DirectoryOrders, EveryOrderOfFiveEventsKeepsEveryValue) { check_every_order(5); }
TEST(DirectoryOrders, EveryOrderOfFourEventsInThreeSpacesKeepsEveryValue) { check_every_order(4, 3); }
TEST(DirectoryOrders, EveryOrderOfFourEventsOfMatricesKeepsEveryValue) { check_every_order(4, 2, of_matrices); }
TEST(DirectoryOrders, EveryOrderOfThreeEventsOfMatricesInThreeSpacesKeepsEveryValue) { check_every_order(3, 3, of_matrices); }

}  // namespace
}  // namespace semcache::directory
