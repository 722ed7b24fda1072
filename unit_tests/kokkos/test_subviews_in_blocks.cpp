// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <kokkos/support.hpp>

// Under SEMCACHE_DEVICE_MEMORY=2M SEMCACHE_DEVICE_TRACKER=off: a subview whose bytes lie in two blocks of an array's device memory, of which
// one is evicted.
namespace kokkos_subviews_in_blocks {
using namespace test;

constexpr std::size_t block = 64 * 1024;            // of an emulated device
constexpr int in_block = block / sizeof(double);    // elements
constexpr int n = 20 * in_block;                    // so large an array begins with a block
constexpr int half = 1000;                          // elements of the subview on each side of the border
constexpr int first = 3 * in_block - half, last = 3 * in_block + half;  // blocks 2 and 3
constexpr std::size_t bytes = sizeof(double) * (last - first);
const auto piece = Kokkos::make_pair(first, last);

using Piece = Kokkos::View<double*, Left, Device>;

/// What element `i` holds after `adds` kernels on the subview.
double expected(int i, int adds) { return 3.0 * i + (i >= first && i < last ? adds : 0); }

void add_one(const Piece& v) {
  Kokkos::parallel_for("add one", Range(0, v.extent(0)), KOKKOS_LAMBDA(int i) { v(i) += 1; });
}

template <class Host>
void expect_all(const Host& host, int adds) {
  int wrong = 0;
  for (int i = 0; i < n; ++i) wrong += host(i) != expected(i, adds);
  EXPECT_EQ(wrong, 0);
}

struct Arrays {
  Arrays() : whole("whole", n), host(Kokkos::create_mirror_view(whole)), part(Kokkos::subview(whole, piece)) {
    for (int i = 0; i < n; ++i) host(i) = expected(i, 0);
    Kokkos::deep_copy(whole, host);
    semcache::access(whole, semcache::Access::read);
  }
  Vector whole;
  semcache::kokkos::host_mirror_t<Vector> host;
  Piece part;
};

/// How many bytes of a block's content are on the device.
std::uint64_t on_device(const Vector& v, int b) {
  std::uint64_t held = 0;
  for (const auto& h : semcache::runtime::holders(v.data() + b * in_block, block)) held += h.where.size();
  return held;
}

std::uint64_t evictions() { return semcache::statistics().total.evictions; }

}  // namespace kokkos_subviews_in_blocks
using namespace kokkos_subviews_in_blocks;

KOKKOS_TEST(KokkosSubviewsInBlocks, AKernelAndCopiesAcrossTheBorder) {
  const Arrays a;
  const auto host_part = Kokkos::subview(a.host, piece);
  Since since;

  add_one(a.part);
  EXPECT_EQ(since.link(), 0u) << "the device has it all";
  Kokkos::deep_copy(host_part, a.part);
  semcache::access(host_part, semcache::Access::read);
  EXPECT_EQ(since.d2h(), bytes);
  expect_all(a.host, 1);
  EXPECT_EQ(since.d2h(), bytes) << "the rest is what the host holds already";

  for (int i = 0; i < last - first; ++i) host_part(i) += 1;
  since = Since();
  Kokkos::deep_copy(a.part, host_part);
  Kokkos::deep_copy(a.part, host_part);  // redundant; compared by digests under SEMCACHE_CHECK
  add_one(a.part);
  EXPECT_EQ(since.h2d(), bytes);
  EXPECT_EQ(sum(a.part), [] {
    double all = 0;
    for (int i = first; i < last; ++i) all += expected(i, 3);
    return all;
  }());
  Kokkos::deep_copy(a.host, a.whole);
  expect_all(a.host, 3);
}

/// Evicts block 2, and in the second round block 3, where the subview's two halves lie.
KOKKOS_TEST(KokkosSubviewsInBlocks, OneOfTheTwoBlocksIsEvicted) {
  constexpr int others = 13 * in_block - half;  // they need 13 blocks: with those of the whole array one more than there is memory for
  for (const int leaving : {2, 3}) {
    const Arrays a;
    const Vector other("other", others);
    add_one(a.part);
    for (int b = 0; b < 20; ++b) {  // all other blocks are used later than the one that is to leave
      const auto in = Kokkos::subview(a.whole, Kokkos::make_pair(b * in_block, (b + 1) * in_block));
      if (b != leaving) semcache::access(in, semcache::Access::read);
    }
    const std::uint64_t before = evictions();
    Since since;

    Kokkos::parallel_for("needs room", Range(0, others), KOKKOS_LAMBDA(int i) { other(i) = i; });
    EXPECT_EQ(evictions() - before, 1u) << leaving;
    EXPECT_EQ(since.d2h(), block) << "the kernel may have written all of the array";

    since = Since();
    for (const int b : {2, 3}) EXPECT_EQ(on_device(a.whole, b), b == leaving ? 0u : block) << leaving;
    add_one(a.part);
    EXPECT_EQ(since.h2d(), block) << leaving;
    since = Since();
    const auto host_part = Kokkos::subview(a.host, piece);
    Kokkos::deep_copy(host_part, a.part);
    semcache::access(host_part, semcache::Access::read);
    EXPECT_EQ(since.d2h(), bytes);
    expect_all(a.host, 2);
    Kokkos::deep_copy(a.host, a.whole);
    expect_all(a.host, 2);
  }
}
