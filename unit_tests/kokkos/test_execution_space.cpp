// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <kokkos/support.hpp>

#include <array>
#include <type_traits>

// What programs ask of any execution space.
namespace kokkos_space {
using namespace test;
using Native = Exec::native_type;

static_assert(Kokkos::is_execution_space<Exec>::value && Kokkos::is_memory_space<Space>::value);

#if SEMCACHE_KOKKOS_PARTITION_SPACE
template <class Parts>
struct Shape {
  static constexpr std::size_t of = 0;
};
template <class E, std::size_t N>
struct Shape<std::array<E, N>> {
  static constexpr std::size_t of = N;
};

/// Code for any execution space.
template <class E>
auto halves(const E& exec) {
  return Kokkos::Experimental::partition_space(exec, 1, 1);
}
static_assert(Shape<decltype(halves(Exec()))>::of == Shape<decltype(halves(Native()))>::of);
static_assert(std::is_same<decltype(halves(Exec()))::value_type, Exec>::value);
#endif

struct AddThree {
  Vector to;
  ConstVector a, b, c;
  KOKKOS_FUNCTION void operator()(int i) const { to(i) += a(i) + b(i) + c(i); }
};
}  // namespace kokkos_space
using namespace kokkos_space;

// Not the launches: where one ends and the next one begins, nobody says.
KOKKOS_TEST(KokkosSpace, KernelsOnTheNativeSpaceCountWhatTheyCapture) {
  const AddThree functor{Vector("to", 10), Vector("a", 10), Vector("b", 10), Vector("c", 10)};
  const Since since;
  for (int i = 0; i < 10; ++i) Kokkos::parallel_for(Kokkos::RangePolicy<Native>(0, 10), functor);
  EXPECT_EQ(since.native(), 40u);
  EXPECT_EQ(since.launches(), 0u);
}

#if SEMCACHE_KOKKOS_PARTITION_SPACE
KOKKOS_STOCK_TEST(KokkosSpace, PartitionsAreWhatKokkosMakes) {
  const auto parts = halves(Exec());
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[0] == parts[1], halves(Native())[0] == halves(Native())[1]);
  const auto weighted = Kokkos::Experimental::partition_space(Exec(), std::vector<float>{1, 2, 3});
  EXPECT_EQ(weighted.size(), 3u);
  Vector x("x", 10);
  Kokkos::parallel_for(Kokkos::RangePolicy<Exec>(parts[1], 0, 10), KOKKOS_LAMBDA(int i) { x(i) = i; });
  parts[1].fence();
  EXPECT_EQ(sum(x), 45);
}
#endif

#if SEMCACHE_KOKKOS_IMPL_PARTITION_SPACE
// As templates see it that were compiled before ours: with weights of any type.
template <class Weight>
void expect_partitions() {
  using namespace Kokkos::Experimental::Impl;
  const auto parts = impl_partition_space<Exec, Weight>(Exec(), {1, 1});
  const auto native = Kokkos::Experimental::partition_space(Native(), std::vector<Weight>{1, 1});
  EXPECT_EQ(parts[0] == parts[1], native[0] == native[1]);
}
KOKKOS_STOCK_TEST(KokkosSpace, PartitionsMadeByGenericCodeHaveAnyWeights) {
  expect_partitions<int>();
  expect_partitions<unsigned>();
  expect_partitions<long>();
  expect_partitions<std::size_t>();
  expect_partitions<float>();
  expect_partitions<double>();
}
#endif
