// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "orders.hpp"

namespace semcache::directory {
namespace {

TEST(DirectoryOrders, EveryOrderOfFiveEventsKeepsEveryValue) { check_every_order(5); }
TEST(DirectoryOrders, EveryOrderOfFourEventsInThreeSpacesKeepsEveryValue) { check_every_order(4, 3); }

}  // namespace
}  // namespace semcache::directory
