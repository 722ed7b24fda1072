// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors

/// The patterns of miniapps/um_microbenchmarks as a stock Kokkos program: with a copy wherever a cautious programmer places one.
/// stock_patterns NAME runs one of them and checks its values. There is no part of SemCache in this program.
#include <Kokkos_Core.hpp>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace {

using Exec = Kokkos::DefaultExecutionSpace;
using View = Kokkos::View<double*, Exec>;
constexpr int n = 4096, many = 160 * n;

/// A view and a mirror of it, which has memory of its own also where the view is on the host.
struct Array {
  Array(const char* label, int size) : device(std::string(label), static_cast<std::size_t>(size)), host(Kokkos::create_mirror(device)) {}
  void upload() const { Kokkos::deep_copy(device, host); }
  void download() const { Kokkos::deep_copy(host, device); }
  void count_up() const {
    for (std::size_t i = 0; i < host.extent(0); ++i) host(i) = static_cast<double>(i);
  }
  /// Is each element factor * i + first?
  [[nodiscard]] bool is(double factor, double first) const {
    bool right = true;
    for (std::size_t i = 0; i < host.extent(0); ++i) right = right && host(i) == factor * static_cast<double>(i) + first;
    return right;
  }
  View device;
  decltype(Kokkos::create_mirror(std::declval<View>())) host;  // Kokkos 5 names the type otherwise than Kokkos 4
};

void change(const char* name, const View& a, double factor, double add) {
  Kokkos::parallel_for(name, Kokkos::RangePolicy<Exec>(0, static_cast<int>(a.extent(0))), KOKKOS_LAMBDA(int i) { a(i) = factor * a(i) + add; });
  Kokkos::fence();
}

bool automem() {
  const Array y("y", n);
  y.count_up();
  y.upload();
  change("automem", y.device, 2, 0);
  y.download();
  return y.is(2, 0);
}

bool nokernel() {
  const Array y("y", n);
  y.count_up();
  y.upload();
  y.download();
  return y.is(1, 0);
}

bool readonly_const() {
  const Array y("y", n), out("out", n);
  y.count_up();
  for (int twice = 0; twice < 2; ++twice) {
    y.upload();
    const View from = y.device, to = out.device;
    Kokkos::parallel_for("readonly_const", Kokkos::RangePolicy<Exec>(0, n), KOKKOS_LAMBDA(int i) { to(i) = from(i) + 1; });
    Kokkos::fence();
  }
  y.download();
  out.download();
  return y.is(1, 0) && out.is(1, 1);
}

bool readonly_writable() {
  const Array y("y", n);
  y.count_up();
  y.upload();
  const View writable = y.device;
  const bool condition = n < 0;
  Kokkos::parallel_for("readonly_writable", Kokkos::RangePolicy<Exec>(0, n), KOKKOS_LAMBDA(int i) {
    if (condition) writable(i) = -1;
  });
  Kokkos::fence();
  y.download();
  return y.is(1, 0);
}

bool multivars() {
  const Array y("y", n), z("z", many);
  y.count_up();
  z.count_up();
  y.upload();
  z.upload();
  change("multivars", y.device, 2, 0);
  y.download();
  z.download();
  return y.is(2, 0) && z.is(1, 0);
}

bool privmem() {
  const Array p("p", n);
  p.upload();
  change("privmem write", p.device, 0, 3);
  change("privmem change", p.device, 2, 0);
  p.download();
  return p.is(0, 6);
}

bool sparse_read() {
  const Array a("a", n);
  change("sparse_read", a.device, 0, 5);
  a.download();
  bool right = true;
  for (std::size_t i = 0; i < n; i += 512) right = right && a.host(i) == 5;
  return right;
}

bool six_reads() {
  const Array a("a", n);
  change("six_reads", a.device, 0, 7);
  bool right = true;
  for (int sweep = 0; sweep < 6; ++sweep) {
    a.download();
    right = a.is(0, 7) && right;
  }
  return right;
}

bool mirror_loop() {
  const Array a("a", n);
  bool right = true;
  for (int round = 1; round <= 10; ++round) {
    change("mirror_loop", a.device, 1, round);
    a.download();
    right = right && a.host(0) == round * (round + 1) / 2;
    a.upload();
  }
  return right;
}

/// Saves an array, changes it and takes it back: the content returns unchanged, and the copy is needed.
bool restore() {
  const Array a("a", n);
  change("first", a.device, 0, 1);
  a.download();
  change("second", a.device, 1, 1);
  a.upload();
  return a.is(0, 1);
}

/// A hundred thousand views, each copied twice without a change between.
bool many_views() {
  const std::vector<Array> all = [] {
    std::vector<Array> made;
    for (int i = 0; i < 100'000; ++i) made.emplace_back("one of many", 1);
    return made;
  }();
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].host(0) = static_cast<double>(i + 1);
    all[i].upload();
  }
  for (const Array& a : all) a.upload();
  all.back().download();
  return all.back().host(0) == 100'000;
}

/// Copies between layouts, where equal bytes are no equal contents and the bytes of equal contents differ.
bool layouts() {
  Kokkos::View<double**, Kokkos::LayoutLeft, Kokkos::HostSpace> left("left", 20, 30);
  Kokkos::View<double**, Kokkos::LayoutRight, Kokkos::HostSpace> right("right", 20, 30);
  for (int i = 0; i < 600; ++i) left.data()[i] = right.data()[i] = i;
  bool differ = false;
  Kokkos::deep_copy(right, left);
  Kokkos::deep_copy(right, left);
  for (int i = 0; i < 20; ++i) {
    for (int k = 0; k < 30; ++k) differ = differ || left(i, k) != right(i, k);
  }
  return !differ;
}

/// Copies a part of the rows, with gaps in both views: the second copy changes nothing, though the gaps differ.
bool gaps() {
  Kokkos::View<double**, Kokkos::LayoutRight, Kokkos::HostSpace> from("from", 20, 30), to("to", 20, 30);
  for (int i = 0; i < 600; ++i) from.data()[i] = i;
  const auto a = Kokkos::subview(from, Kokkos::ALL(), std::make_pair(0, 10)), b = Kokkos::subview(to, Kokkos::ALL(), std::make_pair(0, 10));
  Kokkos::deep_copy(b, a);
  Kokkos::deep_copy(b, a);
  return to(19, 9) == 19 * 30 + 9 && to(19, 10) == 0;
}

constexpr struct {
  const char* name;
  bool (*run)();
} patterns[] = {{"automem", automem},     {"nokernel", nokernel},       {"readonly_const", readonly_const}, {"readonly_writable", readonly_writable},
                {"multivars", multivars}, {"privmem", privmem},         {"sparse_read", sparse_read},       {"six_reads", six_reads},
                {"restore", restore},     {"mirror_loop", mirror_loop}, {"layouts", layouts},               {"gaps", gaps},
                {"many_views", many_views}};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return std::fputs("stock_patterns NAME\n", stderr), 2;
  const Kokkos::ScopeGuard kokkos;
  for (const auto& p : patterns) {
    if (std::strcmp(p.name, argv[1]) != 0) continue;
    const bool right = p.run();
    std::printf("%s: %s\n", p.name, right ? "right" : "WRONG");
    return right ? EXIT_SUCCESS : EXIT_FAILURE;
  }
  std::fprintf(stderr, "stock_patterns: there is no pattern %s\n", argv[1]);
  return 2;
}
