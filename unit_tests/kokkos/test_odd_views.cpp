// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <kokkos/support.hpp>

#include <cstring>

// Views that begin anywhere, have elements of odd widths, or nothing in them.
namespace kokkos_odd_views {
using namespace test;

using Bytes = Kokkos::View<std::uint8_t*, Left, Device>;
constexpr int page = 4096;
constexpr int n = 5 * page + 13;

struct Odd {
  std::uint8_t bytes[3];
};

KOKKOS_INLINE_FUNCTION std::uint8_t content(int i) { return static_cast<std::uint8_t>(i * 7 + i / 251); }

void fill_on_device(const Bytes& v) {
  Kokkos::parallel_for("bytes", Range(0, v.extent(0)), KOKKOS_LAMBDA(int i) { v(i) = content(i); });
}

void add_one(const Kokkos::View<std::uint8_t*, Left, Device, Kokkos::MemoryUnmanaged>& v) {
  Kokkos::parallel_for("add", Range(0, v.extent(0)), KOKKOS_LAMBDA(int i) { v(i) += 1; });
}

}  // namespace kokkos_odd_views
using namespace kokkos_odd_views;

KOKKOS_STOCK_TEST(KokkosOddViews, SubviewsAtOddOffsetsAreCopiedByteByByte) {
  Bytes from("from", n), to("to", n);
  fill_on_device(from);
  auto h = Kokkos::create_mirror_view(to);
  std::vector<std::uint8_t> expected(n, 0);
  Kokkos::deep_copy(h, to);
  // From and to offsets that share no alignment, lengths around pages; device to device and by way of the mirror.
  const int pieces[][3] = {
      {1, 0, page}, {page - 1, 3, 2}, {0, page + 1, page - 1}, {7, 2 * page - 5, 2 * page + 9}, {n - 1, n - 1, 1}};
  for (const auto& piece : pieces) {
    const auto source = Kokkos::make_pair(piece[0], piece[0] + piece[2]);
    const auto target = Kokkos::make_pair(piece[1], piece[1] + piece[2]);
    Kokkos::deep_copy(Kokkos::subview(to, target), Kokkos::subview(from, source));
    for (int i = 0; i < piece[2]; ++i) expected[piece[1] + i] = content(piece[0] + i);
    Kokkos::deep_copy(Kokkos::subview(h, target), Kokkos::subview(to, target));
    for (int i = 0; i < n; ++i) ASSERT_EQ(h(i), expected[i]) << i << " after " << piece[0] << " " << piece[1];
  }
}

KOKKOS_STOCK_TEST(KokkosOddViews, AHostAccessAcrossTwoPagesFaultsOnEither) {
  Bytes device("device", n);
  auto h = Kokkos::create_mirror_view(device);
  for (const int fresh : {0, 1, 2}) {  // the first page, the second, neither
    fill_on_device(device);
    Kokkos::deep_copy(h, device);
    if (fresh < 2) semcache::access(h.data() + fresh * page, page, semcache::Access::read_write);

    std::uint64_t word;
    std::memcpy(&word, h.data() + page - 3, sizeof word);
    std::uint8_t seen[8];
    std::memcpy(seen, &word, sizeof word);
    for (int i = 0; i < 8; ++i) EXPECT_EQ(seen[i], content(page - 3 + i)) << fresh;

    word = ~word;
    std::memcpy(h.data() + page - 3, &word, sizeof word);
    Kokkos::deep_copy(device, h);
    auto back = on_host(device);
    for (int i = page - 5; i < page + 7; ++i) {
      const bool changed = i >= page - 3 && i < page + 5;
      EXPECT_EQ(back(i), changed ? static_cast<std::uint8_t>(~content(i)) : content(i)) << fresh << " " << i;
    }
  }
}

KOKKOS_STOCK_TEST(KokkosOddViews, AMisalignedUnmanagedViewIsTheArrayItLiesIn) {
  Bytes device("device", n);
  auto h = Kokkos::create_mirror_view(device);
  for (int i = 0; i < n; ++i) h(i) = content(i);
  Kokkos::deep_copy(device, h);

  add_one(Kokkos::View<std::uint8_t*, Left, Device, Kokkos::MemoryUnmanaged>(device.data() + page + 1, page + 1));

  Kokkos::deep_copy(h, device);
  for (int i = 0; i < n; ++i) {
    const bool added = i > page && i <= 2 * page + 1;
    ASSERT_EQ(h(i), static_cast<std::uint8_t>(content(i) + (added ? 1 : 0))) << i;
  }
}

KOKKOS_STOCK_TEST(KokkosOddViews, ElementsOfThreeBytesStraddlePages) {
  Kokkos::View<Odd*, Left, Device> device("device", n), copy("copy", n);
  auto h = Kokkos::create_mirror_view(device);
  for (int i = 0; i < n; ++i) h(i) = Odd{{content(3 * i), content(3 * i + 1), content(3 * i + 2)}};
  Kokkos::deep_copy(device, h);
  Kokkos::deep_copy(Kokkos::subview(copy, Kokkos::make_pair(1, n)),
                    Kokkos::subview(device, Kokkos::make_pair(0, n - 1)));
  auto back = on_host(copy);
  for (int i = 1; i < n; ++i) ASSERT_EQ(std::memcmp(&back(i), &h(i - 1), sizeof(Odd)), 0) << i;
}

KOKKOS_STOCK_TEST(KokkosOddViews, ZeroSizedSubviewsReachNobodysNeighbour) {
  // The empty subview at the end of one array begins where another may begin.
  std::vector<Bytes> arrays;
  for (int k = 0; k < 20; ++k) {
    arrays.emplace_back("array", 512 - 128);  // as close as arrays can be
    fill_on_device(arrays.back());
  }
  std::vector<decltype(Kokkos::create_mirror_view(arrays[0]))> mirrors;
  for (const Bytes& a : arrays) {
    mirrors.push_back(Kokkos::create_mirror_view(a));
    Kokkos::deep_copy(mirrors.back(), a);
    semcache::access(mirrors.back(), semcache::Access::read);
  }
  const Since since;
  for (const Bytes& a : arrays) {
    const int size = static_cast<int>(a.extent(0));
    const auto nothing = Kokkos::subview(a, Kokkos::make_pair(size, size));
    ASSERT_EQ(nothing.extent(0), 0u);
    add_one(nothing);
    Kokkos::deep_copy(nothing, nothing);
    Kokkos::deep_copy(nothing, std::uint8_t{1});
    EXPECT_NO_THROW(semcache::access(nothing, semcache::Access::read_write));
  }
  // Nobody's mirror became stale by it, but those whose own array was named.
  EXPECT_EQ(since.link(), 0u);
  for (std::size_t k = 0; k < arrays.size(); ++k) {
    for (int i = 0; i < 512 - 128; ++i) ASSERT_EQ(mirrors[k](i), content(i));
    auto back = on_host(arrays[k]);
    for (int i = 0; i < 512 - 128; ++i) ASSERT_EQ(back(i), content(i));
  }
}

KOKKOS_STOCK_TEST(KokkosOddViews, OfRankTwoWithAnEmptyExtent) {
  Matrix m("m", 0, 5);
  Kokkos::View<double**, Left, Device> other("other", 5, 0);
  auto h = Kokkos::create_mirror_view(m);
  Kokkos::deep_copy(h, m);
  Kokkos::deep_copy(m, h);
  Kokkos::deep_copy(other, 1.0);
  EXPECT_NO_THROW(semcache::access(m, semcache::Access::overwrite));
  EXPECT_NO_THROW(semcache::settle(h));
  Kokkos::resize(m, 4, 5);
  Kokkos::resize(other, 0, 0);
  EXPECT_EQ(on_host(m)(3, 4), 0.0);
}

KOKKOS_TEST(KokkosOddViews, ViewsInNativeMemoryAreMadeZeroByTheNativeSpace) {
  using Memory = Exec::native_type::memory_space;
  const Kokkos::View<double*, Left, Memory> owner("owner", 100);
  const Kokkos::View<double*, Left, Kokkos::Device<Exec, Memory>, Kokkos::MemoryUnmanaged> native(owner.data(), 100);
  const Since since;
  const auto expect_all = [&](double value) {
    Kokkos::fence();
    const auto host = on_host(owner);
    for (std::size_t i = 0; i < host.extent(0); ++i) ASSERT_EQ(host(i), value) << i;
  };
  for (const bool with_instance : {false, true}) {
    Kokkos::deep_copy(native, 3.0);
    expect_all(3);
    if (with_instance) {
      Kokkos::deep_copy(Exec(), native, 0.0);
    } else {
      Kokkos::deep_copy(native, 0.0);
    }
    expect_all(0);
  }
  EXPECT_EQ(since.filled(), 0u);
}

/// What Kokkos' ZeroMemset does on semcache::Exec, of which versions before 3.5 have none.
KOKKOS_TEST(KokkosOddViews, OnlyMemoryThatCannotBeTrackedIsZeroedNatively) {
  const auto zeroed_natively = [](void* memory, std::size_t bytes) {
    bool natively = false;
    semcache::kokkos::detail::zero(Exec(), memory, bytes, [&](const Exec::native_type&) { natively = true; });
    return natively;
  };
  double ordinary = 1;
  EXPECT_TRUE(zeroed_natively(&ordinary, sizeof ordinary));
  EXPECT_FALSE(zeroed_natively(&ordinary, 0));
  Vector ours("ours", 100);
  Kokkos::deep_copy(ours, 5.0);
  EXPECT_FALSE(zeroed_natively(ours.data(), 50 * sizeof(double)));
  EXPECT_EQ(on_host(ours)(49), 0);
  EXPECT_EQ(on_host(ours)(50), 5);
  void* const address = ours.data();
  ours = Vector();
  EXPECT_THROW((void)zeroed_natively(address, sizeof(double)), semcache::UsageError) << "it has been freed";
}
