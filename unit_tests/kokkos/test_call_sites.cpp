// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <kokkos/support.hpp>

#include <cstdlib>
#include <cstring>

// Which statements of a program cost what: runs with SEMCACHE_REPORT, once more with SEMCACHE_PROTOCOL=off. No debug
// information is needed, only functions that are not inlined and do not end with the call (that would be a jump).
namespace kokkos_call_sites {
using namespace test;
using Mirror = semcache::kokkos::host_mirror_t<Vector>;

constexpr std::uint64_t n = 100000, bytes = n * sizeof(double);

[[gnu::noinline]] void upload(const Vector& x, const Mirror& h) {
  Kokkos::deep_copy(x, h);
  asm volatile("");
}
[[gnu::noinline]] void upload_again(const Vector& x, const Mirror& h) {
  Kokkos::deep_copy(x, h);
  asm volatile("");
}
[[gnu::noinline]] void download(const Mirror& h, const Vector& x) {
  Kokkos::deep_copy(h, x);
  asm volatile("");
}
[[gnu::noinline]] void to_foreign_memory(const Kokkos::View<double*, Left, Kokkos::HostSpace>& h, const Vector& x) {
  Kokkos::deep_copy(h, x);
  asm volatile("");
}
[[gnu::noinline]] void launch(const Vector& x) {
  Kokkos::parallel_for("add", Range(0, n), KOKKOS_LAMBDA(int i) { x(i) += 1; });
  asm volatile("");
}
[[gnu::noinline]] double read_back(const double* h) {
  double sum = 0;
  for (std::uint64_t i = 0; i < n; ++i) sum += h[i];
  return sum;
}

/// The one call site in that function of ours.
semcache::Counters at(const std::string& function) {
  const std::string end = " in kokkos_call_sites::" + function;
  std::vector<semcache::Counters> found;
  std::string all;
  for (const auto& site : semcache::statistics().call_sites) {
    all += site.name + "\n";
    const std::size_t place = site.name.rfind(end);
    if (place != std::string::npos && place + end.size() == site.name.size()) found.push_back(site.counters);
  }
  EXPECT_EQ(found.size(), 1u) << function << " among\n" << all;
  return found.size() == 1 ? found[0] : semcache::Counters{};
}

}  // namespace kokkos_call_sites
using namespace kokkos_call_sites;

KOKKOS_TEST(KokkosCallSites, SayWhatEachStatementCost) {
#ifndef SEMCACHE_HAVE_BACKTRACE
  GTEST_SKIP() << "built without libbacktrace: functions of a program have no names";
#endif
  const char* const protocol = std::getenv("SEMCACHE_PROTOCOL");
  const bool off = protocol != nullptr && std::strcmp(protocol, "off") == 0;
  const Vector x(Kokkos::view_alloc("x", Kokkos::WithoutInitializing), n);
  const Mirror h = Kokkos::create_mirror_view(x);
  const Kokkos::View<double*, Left, Kokkos::HostSpace> foreign("foreign", n);
  Kokkos::deep_copy(h, 1.0);

  upload(x, h);
  upload_again(x, h);
  launch(x);
  download(h, x);
  EXPECT_EQ(read_back(h.data()), 2.0 * n);
  launch(x);
  to_foreign_memory(foreign, x);

  if (off) {
    EXPECT_EQ(at("upload").h2d.bytes, bytes);
    EXPECT_EQ(at("upload_again").h2d.bytes, bytes);
    EXPECT_EQ(at("download").d2h.bytes, bytes);
  } else {
    EXPECT_EQ(at("upload").deferred, (semcache::Traffic{bytes, 1}));
    EXPECT_EQ(at("upload_again").avoided, (semcache::Traffic{bytes, 1}));
    EXPECT_EQ(at("launch").h2d.bytes, bytes);
    EXPECT_EQ(at("download").deferred, (semcache::Traffic{bytes, 1}));
    EXPECT_EQ(at("read_back").d2h.bytes, bytes);
    EXPECT_GT(at("read_back").host_faults, 0u);
  }
  EXPECT_EQ(at("to_foreign_memory").d2h.bytes, bytes);
}
