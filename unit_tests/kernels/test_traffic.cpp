// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "support.hpp"

// Exactly what is missing moves, when somebody wants it.
namespace traffic {
using namespace test;

/// An array whose content the host has just written to its mirror.
struct Pair2 {
  Matrix device;
  semcache::kokkos::host_mirror_t<Matrix> host;

  Pair2(const std::string& label, std::size_t rows, std::size_t columns, int seed)
      : device(label, rows, columns), host(Kokkos::create_mirror(device)) {
    write(seed);
  }
  void write(int seed) const {
    for (std::size_t j = 0; j < host.extent(1); ++j)
      for (std::size_t i = 0; i < host.extent(0); ++i) host(i, j) = entry(i, j, seed);
    Kokkos::deep_copy(device, host);
  }
  [[nodiscard]] std::size_t bytes() const { return device.span() * sizeof(double); }
};

inline double element_of_product(const Pair2& a, const Pair2& b, std::size_t i, std::size_t j) {
  double sum = 0;
  for (std::size_t l = 0; l < a.host.extent(1); ++l) sum += a.host(i, l) * b.host(l, j);
  return sum;
}

}  // namespace traffic
using namespace traffic;

KOKKOS_TEST(Traffic, OperandsOnceResultWhenRead) {
  const Pair2 a("a", 64, 32, 1), b("b", 32, 16, 2), c("c", 64, 16, 3);
  const double expected = element_of_product(a, b, 5, 7);
  {
    const Since since;
    KokkosBlas::gemm("N", "N", 1.0, a.device, b.device, 0.0, c.device);
    EXPECT_EQ(since.h2d(), a.bytes() + b.bytes());  // nobody reads what c held
    EXPECT_EQ(since.d2h(), 0u);
  }
  {
    const Since since;
    for (int i = 0; i < 10; ++i) KokkosBlas::gemm("N", "N", 1.0, a.device, b.device, 0.0, c.device);
    EXPECT_EQ(since.link(), 0u);
    EXPECT_EQ(since.d2d(), 0u);
  }
  const Since since;
  Kokkos::deep_copy(c.host, c.device);
  EXPECT_EQ(since.link(), 0u);
  EXPECT_EQ(c.host(5, 7), expected);
  EXPECT_EQ(since.d2h(), c.bytes());
  EXPECT_EQ(since.h2d(), 0u);
}

KOKKOS_TEST(Traffic, AResultThatIsAddedToIsFetched) {
  const Pair2 a("a", 64, 32, 1), b("b", 32, 16, 2), c("c", 64, 16, 3);
  const double expected = element_of_product(a, b, 5, 7) + c.host(5, 7);
  const Since since;
  KokkosBlas::gemm("N", "N", 1.0, a.device, b.device, 1.0, c.device);
  EXPECT_EQ(since.h2d(), a.bytes() + b.bytes() + c.bytes());
  EXPECT_EQ(elements(c.device)(5, 7), expected);
}

KOKKOS_TEST(Traffic, OnlyTheOverwrittenColumnsAreNotFetched) {
  const Pair2 a("a", 64, 32, 1), b("b", 32, 16, 2), parent("parent", 64, 40, 3);
  const double before = parent.host(3, 9), behind = parent.host(3, 26), expected = element_of_product(a, b, 5, 7);
  const Since since;
  KokkosBlas::gemm("N", "N", 1.0, a.device, b.device, 0.0, Kokkos::subview(parent.device, Kokkos::ALL, Pair(10, 26)));
  EXPECT_EQ(since.h2d(), a.bytes() + b.bytes() + parent.bytes() - 64 * 16 * sizeof(double));
  const Host found = elements(parent.device);
  EXPECT_EQ(found(3, 9), before);
  EXPECT_EQ(found(3, 26), behind);
  EXPECT_EQ(found(5, 17), expected);
}

KOKKOS_TEST(Traffic, AResultWithGapsIsFetched) {
  const Pair2 a("a", 8, 32, 1), b("b", 32, 16, 2), parent("parent", 64, 16, 3);
  const double above = parent.host(4, 7), below = parent.host(13, 7), expected = element_of_product(a, b, 5, 7);
  const Since since;
  KokkosBlas::gemm("N", "N", 1.0, a.device, b.device, 0.0, Kokkos::subview(parent.device, Pair(5, 13), Kokkos::ALL));
  EXPECT_EQ(since.h2d(), a.bytes() + b.bytes() + parent.bytes());
  const Host found = elements(parent.device);
  EXPECT_EQ(found(4, 7), above);
  EXPECT_EQ(found(13, 7), below);
  EXPECT_EQ(found(10, 7), expected);
}

KOKKOS_TEST(Traffic, OperandsOfOneArrayAreFetchedWithoutTheResult) {
  const Pair2 parent("parent", 16, 48, 3);
  const auto columns = [&](std::size_t begin) {
    return Kokkos::subview(parent.device, Kokkos::ALL, Pair(begin, begin + 16));
  };
  double expected = 0;
  for (std::size_t l = 0; l < 16; ++l) expected += parent.host(2, l) * parent.host(l, 16 + 4);
  const Since since;
  KokkosBlas::gemm("N", "N", 1.0, columns(0), columns(16), 0.0, columns(32));
  EXPECT_EQ(since.h2d(), parent.bytes() / 3 * 2);
  EXPECT_EQ(elements(parent.device)(2, 32 + 4), expected);
}

KOKKOS_TEST(Traffic, DotsReadTheirOperandsOnce) {
  const Pair2 x("x", 100, 3, 1), y("y", 100, 3, 2);
  const Vector r("r", 3);
  const Since since;
  KokkosBlas::dot(r, x.device, y.device);
  KokkosBlas::dot(r, x.device, y.device);
  KokkosBlas::nrm2(r, x.device);
  EXPECT_EQ(since.h2d(), x.bytes() + y.bytes());
  EXPECT_EQ(since.d2h(), 0u);
}

// I4: what somebody else still wants of an overwritten array.
KOKKOS_TEST(Overwritten, CopiesOfTheOldContentKeepIt) {
  const Pair2 a("a", 64, 32, 1), b("b", 32, 16, 2), c("c", 64, 16, 3);
  const Matrix copy("copy", 64, 16);
  const auto mirror = Kokkos::create_mirror(copy);
  KokkosBlas::gemm("N", "N", 1.0, a.device, b.device, 0.0, c.device);
  Kokkos::deep_copy(copy, c.device);
  Kokkos::deep_copy(mirror, c.device);
  const double first = element_of_product(a, b, 5, 7);
  a.write(5);
  KokkosBlas::gemm("N", "N", 1.0, a.device, b.device, 0.0, c.device);
  EXPECT_EQ(mirror(5, 7), first);
  EXPECT_EQ(elements(copy)(5, 7), first);
  EXPECT_EQ(elements(c.device)(5, 7), element_of_product(a, b, 5, 7));
}

// What lies in the memory when it is overwritten unread is not its content: finding it again afterwards means nothing.
KOKKOS_TEST(Overwritten, TheSameResultAgainReplacesWhatTheHostWrote) {
  const Pair2 a("a", 64, 32, 1), b("b", 32, 16, 2), c("c", 64, 16, 3);
  const double expected = element_of_product(a, b, 5, 7);
  KokkosBlas::gemm("N", "N", 1.0, a.device, b.device, 0.0, c.device);
  EXPECT_EQ(elements(c.device)(5, 7), expected);
  c.write(4);
  KokkosBlas::gemm("N", "N", 1.0, a.device, b.device, 0.0, c.device);
  EXPECT_EQ(elements(c.device)(5, 7), expected);
  Kokkos::deep_copy(c.host, c.device);
  EXPECT_EQ(c.host(5, 7), expected);
}
