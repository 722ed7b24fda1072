// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <kokkos/support.hpp>

// Under SEMCACHE_DEVICE_MEMORY=64M: what does not fit is refused with a message that names what there is, and leaves
// everything as it was; what fits by turns goes on.
namespace kokkos_budget {
using namespace test;

constexpr std::uint64_t budget = 64u << 20;
constexpr int n = 3 << 20;  // 24 MiB: two fit at once, three do not

/// Sum of first + i for i < n, exact in double.
double expected_sum(double first) { return n * first + n * (n - 1.0) / 2; }

void add(const Vector& a, const Vector& b, const Vector& c) {
  Kokkos::parallel_for("add", Range(0, n), KOKKOS_LAMBDA(int i) { c(i) = a(i) + b(i); });
}

constexpr const char* native_launches_stay =
    "this Kokkos makes reductions look like native launches, whose arrays are not evicted by the next one";

void expect_names(const std::string& text, std::initializer_list<const char*> labels) {
  EXPECT_NE(text.find(std::to_string(budget)), std::string::npos) << text;
  EXPECT_NE(text.find("SEMCACHE_DEVICE_MEMORY"), std::string::npos) << text;
  const std::size_t list = text.find("Live arrays:");
  ASSERT_NE(list, std::string::npos) << text;
  for (const char* label : labels) {
    EXPECT_NE(text.find("'" + std::string(label) + "'", list), std::string::npos) << label << " in: " << text;
  }
}

/// What must be the same after a refusal. (Evictions on the way are allowed, and counted.)
struct State {
  State() : now(semcache::statistics()) {}
  semcache::Statistics now;
};
void expect_unchanged(const State& before) {
  const semcache::Statistics now = semcache::statistics();
  EXPECT_EQ(now.live_device_bytes, before.now.live_device_bytes);
  EXPECT_EQ(now.live_host_bytes, before.now.live_host_bytes);
  EXPECT_EQ(now.snapshot_bytes, before.now.snapshot_bytes);
  EXPECT_EQ(now.total.unknown_launches, before.now.total.unknown_launches);
  EXPECT_LE(now.mapped_device_bytes, budget);
}

}  // namespace kokkos_budget
using namespace kokkos_budget;

KOKKOS_TEST(KokkosBudget, ALaunchThatNeedsMoreIsRefusedByNameAndChangesNothing) {
  if (reductions_are_native_too) GTEST_SKIP() << native_launches_stay;
  Vector a("first operand", n), b("second operand", n), c("result", n), bystander("bystander", 1000);
  auto hb = Kokkos::create_mirror_view(b);
  iota(a, 1);
  iota(c, 3);
  iota(bystander, 7);
  for (int i = 0; i < n; ++i) hb(i) = 2 + i;
  Kokkos::deep_copy(b, hb);  // pending
  const State before;

  try {
    add(a, b, c);
    FAIL() << "72 MiB at once must be refused";
  } catch (const semcache::OutOfMemory& e) {
    expect_names(e.what(), {"first operand", "second operand", "result", "bystander"});
    const std::string text = e.what();
    EXPECT_EQ(text.rfind("the kernel 'kokkos_budget::add(", 0), 0u) << text;
    EXPECT_NE(text.find("3 arrays are needed at once, " + std::to_string(3 * sizeof(double) * n) + " bytes in all"),
              std::string::npos) << text;
    EXPECT_NE(text.find("Raise the budget"), std::string::npos) << text;
    EXPECT_GE(e.requested_bytes(), 3 * sizeof(double) * n);
    EXPECT_EQ(e.budget_bytes(), budget);
  }

  expect_unchanged(before);
  EXPECT_EQ(sum(a), expected_sum(1));
  EXPECT_EQ(sum(b), expected_sum(2));
  EXPECT_EQ(sum(c), expected_sum(3));
  EXPECT_EQ(hb(n - 1), 2.0 + n - 1);
  // Less at once, and the program goes on; the refused launch holds no view.
  add(a, b, b);
  EXPECT_EQ(sum(b), expected_sum(1) + expected_sum(2));
  EXPECT_EQ(sum(bystander), 1000 * 7 + 1000 * 999 / 2.0);
  EXPECT_EQ(a.use_count(), 1);
  c = Vector();
  EXPECT_EQ(semcache::statistics().live_device_bytes, before.now.live_device_bytes - sizeof(double) * n);
}

KOKKOS_TEST(KokkosBudget, AReductionThatNeedsMoreIsRefusedToo) {
  if (reductions_are_native_too) GTEST_SKIP() << native_launches_stay;
  Vector a("first operand", n), b("second operand", n), c("third operand", n);
  iota(a, 1);
  iota(b, 2);
  iota(c, 3);
  double result = 0;
  EXPECT_THROW(Kokkos::parallel_reduce(
                   "dot", Range(0, n), KOKKOS_LAMBDA(int i, double& update) { update += a(i) + b(i) + c(i); }, result),
               semcache::OutOfMemory);
  EXPECT_EQ(sum(a) + sum(b) + sum(c), expected_sum(1) + expected_sum(2) + expected_sum(3));
}

KOKKOS_TEST(KokkosBudget, AnArrayLargerThanAllIsRefusedWhenAKernelNeedsAllOfIt) {
  if (reductions_are_native_too) GTEST_SKIP() << native_launches_stay;
  Vector a("the small one", n);
  auto h = Kokkos::create_mirror_view(a);
  iota(a);
  Kokkos::deep_copy(h, a);
  constexpr std::size_t more = budget / sizeof(double) + 100;
  const Vector large("the large one", more);
  const auto large_h = Kokkos::create_mirror_view(large);
  const State before;

  try {
    Kokkos::parallel_for("all", Range(0, 10), KOKKOS_LAMBDA(int i) { large(i) = 1; });
    FAIL() << "more than the budget must be refused";
  } catch (const semcache::OutOfMemory& e) {
    EXPECT_NE(std::string(e.what()).find("'the large one'"), std::string::npos) << e.what();
    expect_names(e.what(), {"the small one"});
  }

  expect_unchanged(before);
  Kokkos::deep_copy(large_h, large);
  EXPECT_EQ(large_h(0), 0.0);
  EXPECT_EQ(large_h(more - 1), 0.0);
  EXPECT_EQ(h(n - 1), n - 1.0);
  EXPECT_EQ(sum(a), expected_sum(0));
  Kokkos::resize(a, n + 10);
  EXPECT_EQ(sum(a), expected_sum(0));
}

KOKKOS_TEST(KokkosBudget, MoreThanTheBudgetByTurnsIsRight) {
  if (reductions_are_native_too) GTEST_SKIP() << native_launches_stay;
  constexpr int arrays = 6;
  std::vector<Vector> all;
  for (int k = 0; k < arrays; ++k) all.emplace_back("array" + std::to_string(k), n);
  const Since since;
  const std::uint64_t evictions = semcache::statistics().total.evictions;

  for (int k = 0; k < arrays; ++k) iota(all[k], k);
  for (int k = 0; k + 1 < arrays; ++k) add(all[k], all[k + 1], all[k]);

  for (int k = 0; k + 1 < arrays; ++k) EXPECT_EQ(sum(all[k]), expected_sum(k) + expected_sum(k + 1)) << k;
  EXPECT_EQ(sum(all[arrays - 1]), expected_sum(arrays - 1));
  EXPECT_GE(semcache::statistics().total.evictions - evictions, 2u * arrays);
  EXPECT_LE(semcache::statistics().mapped_device_bytes, budget);
  EXPECT_EQ(since.unknown(), 0u);
}

KOKKOS_TEST(KokkosBudget, AnArrayGivesWayWhileASmallNeighbourIsInUse) {
  if (reductions_are_native_too) GTEST_SKIP() << native_launches_stay;
  constexpr int most = 5 << 20;  // 40 MiB: one fits
  const Vector large("large", most - 100), small("its neighbour", 16), other("other", most - 100);
  Kokkos::parallel_for("first", Range(0, most - 100), KOKKOS_LAMBDA(int i) { large(i) = i; });
  Kokkos::parallel_for("small", Range(0, 16), KOKKOS_LAMBDA(int i) { small(i) = i; });

  Kokkos::parallel_for("both", Range(0, most - 100), KOKKOS_LAMBDA(int i) { other(i) = small(i % 16); });

  EXPECT_LE(semcache::statistics().mapped_device_bytes, budget);
  const auto h = Kokkos::create_mirror_view(large);
  Kokkos::deep_copy(h, large);
  EXPECT_EQ(h(most - 101), most - 101.0);
}

/// What the host writes without a word must not come back as the device side's content.
KOKKOS_TEST(KokkosBudget, AnEvictedSideOfAnAnnouncedDualViewIsNotReadBackFromTheHost) {
  if (reductions_are_native_too) GTEST_SKIP() << native_launches_stay;
  semcache::DualView<double*, Device> dual(semcache::announced, "dual", n);
  const auto host = dual.view_host();
  for (int i = 0; i < n; ++i) host(i) = i;
  dual.modify_host();
  dual.sync_device();
  for (int i = 0; i < n; ++i) host(i) = -1;  // the next content

  const Vector a("a", n), b("b", n);
  add(a, b, a);
  EXPECT_EQ(sum(dual.view_device()), expected_sum(0));

  dual.modify_host();
  dual.sync_device();
  EXPECT_EQ(sum(dual.view_device()), -1.0 * n);
}

/// A raw use that was announced may begin at any time: its array stays, and the message says what lets it go.
KOKKOS_TEST(KokkosBudget, AnnouncedArraysStayUntilALaunchNeedsTheirRoom) {
  if (reductions_are_native_too) GTEST_SKIP() << native_launches_stay;
  const Vector a("a", n), b("b", n), c("c", n);
  semcache::access(a, semcache::Access::overwrite);
  semcache::access(b, semcache::Access::overwrite);
  try {
    semcache::access(c, semcache::Access::read_write);
    FAIL() << "72 MiB at once must be refused";
  } catch (const semcache::OutOfMemory& e) {
    const std::string text = e.what();
    EXPECT_NE(text.find("1 array is needed at once"), std::string::npos) << text;
    EXPECT_NE(text.find("beside arrays that are in use and cannot leave"), std::string::npos) << text;
    const std::size_t held = text.find("Announced with semcache::access");
    ASSERT_NE(held, std::string::npos) << text;
    EXPECT_NE(text.find("'a'", held), std::string::npos) << text;
    EXPECT_NE(text.find("'b'", held), std::string::npos) << text;
  }
  iota(c, 1);
  semcache::access(c, semcache::Access::read_write);
  EXPECT_EQ(sum(c), expected_sum(1));
}

/// What may use everything cannot run where everything does not fit: the message says why it asks for so much.
KOKKOS_TEST(KokkosBudget, AnUnknownLaunchThatNeedsMoreSaysThatItIsUnknown) {
  if (reductions_are_native_too) GTEST_SKIP() << native_launches_stay;
  const Vector a("a", n), b("b", n), c("c", n), small("small", 16);
  const Kokkos::View<Vector*, semcache::Device> views(Kokkos::view_alloc("views", Kokkos::WithoutInitializing), 1);
  const auto filled = Kokkos::create_mirror(views);
  filled(0) = small;
  Kokkos::deep_copy(views, filled);
  const State before;
  const std::uint64_t launches = before.now.total.launches;

  try {
    Kokkos::parallel_for("by views", Range(0, 16), KOKKOS_LAMBDA(int i) { views(0)(i) = i; });
    FAIL() << "72 MiB at once must be refused";
  } catch (const semcache::OutOfMemory& e) {
    EXPECT_NE(std::string(e.what()).find("nobody can tell"), std::string::npos) << e.what();
    expect_names(e.what(), {"a", "b", "c", "small"});
  }

  expect_unchanged(before);
  EXPECT_EQ(semcache::statistics().total.launches, launches) << "it did not run";
}
