// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors

/// Measures what products and sums of vectors and multivectors cost on semcache::Device. They are compared with Kokkos-Kernels
/// on the native device, with BLAS called directly (on hosts), and with Kokkos-Kernels' own kernels on semcache::Exec, which
/// would run without SemCache::kernels. Rounds are interleaved in one run.
#include <semcache/kernels.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#ifdef BENCHMARK_CALLS_BLAS
extern "C" {
void dgemm_(const char*, const char*, const int*, const int*, const int*, const double*, const double*, const int*,
            const double*, const int*, const double*, double*, const int*);
void dgemv_(const char*, const int*, const int*, const double*, const double*, const int*, const double*, const int*,
            const double*, double*, const int*);
double ddot_(const int*, const double*, const int*, const double*, const int*);
double dnrm2_(const int*, const double*, const int*);
void daxpy_(const int*, const double*, const double*, const int*, double*, const int*);
void dscal_(const int*, const double*, double*, const int*);
}
#define BLAS(...) Body([&] { __VA_ARGS__; })
#else
#define BLAS(...) Body()
#endif

namespace {

using Clock = std::chrono::steady_clock;
using Body = std::function<void()>;
using Left = Kokkos::LayoutLeft;

struct Settings {
  int rows = 100000;
  int columns = 4;
  int rounds = 21;
  double milliseconds = 3;
};

double seconds(const Body& body, long calls) {
  const auto start = Clock::now();
  for (long i = 0; i < calls; ++i) body();
  Kokkos::fence();
  return std::chrono::duration<double>(Clock::now() - start).count() / double(calls);
}

struct Case {
  std::string name;
  Body ours, native, blas, generic;  ///< empty where there is no such implementation
};

/// Prints the time of one call and the medians of the rounds' ratios ours / other, with quartiles.
void measure(const Settings& settings, const Case& c) {
  seconds(c.ours, 1);
  long calls = 1;
  while (seconds(c.ours, calls) * double(calls) < settings.milliseconds * 1e-3) calls *= 2;
  const std::vector<const Body*> others{&c.native, &c.blas, &c.generic};
  std::vector<std::vector<double>> ratios(others.size());
  std::vector<double> times;
  for (int round = 0; round < settings.rounds; ++round) {
    const double ours = seconds(c.ours, calls);
    times.push_back(ours);
    for (std::size_t o = 0; o < others.size(); ++o) {
      if (*others[o]) ratios[o].push_back(ours / seconds(*others[o], std::max(1L, o == 2 ? calls / 16 : calls)));
    }
  }
  std::sort(times.begin(), times.end());
  std::printf("%-34s %11.3f us", c.name.c_str(), times[times.size() / 2] * 1e6);
  for (auto& r : ratios) {
    if (r.empty()) {
      std::printf("  %22s", "-");
      continue;
    }
    std::sort(r.begin(), r.end());
    std::printf("  %6.3f [%6.3f,%6.3f]", r[r.size() / 2], r[r.size() / 4], r[r.size() * 3 / 4]);
  }
  std::printf("\n");
  std::fflush(stdout);
}

template <class Device>
struct Arrays {
  using Vector = Kokkos::View<double*, Left, Device>;
  using Multivector = Kokkos::View<double**, Left, Device>;
  using Csr = KokkosSparse::CrsMatrix<double, int, Device, void, int>;

  Arrays(int rows, int columns)
      : a("a", rows, columns),
        b("b", rows, columns),
        c("c", rows, columns),
        square("square", columns, columns),
        big_a("big_a", side, side),
        big_b("big_b", side, side),
        big_c("big_c", side, side),
        x("x", rows),
        y("y", rows),
        small("small", columns),
        matrix(stencil(rows)) {
    for (const auto& m : {a, b, c, square, big_a, big_b, big_c}) Kokkos::deep_copy(m, 1e-3);
    for (const auto& v : {x, y, small}) Kokkos::deep_copy(v, 1e-3);
  }

  /// Returns a matrix with seven entries in each row.
  static Csr stencil(int rows) {
    const Kokkos::View<int*, Device> row_map("row_map", rows + 1), entries("entries", 7 * rows);
    const Vector values("values", 7 * rows);
    const auto map = Kokkos::create_mirror_view(row_map);
    const auto columns = Kokkos::create_mirror_view(entries);
    for (int i = 0; i <= rows; ++i) map(i) = 7 * i;
    const int offsets[] = {-100, -10, -1, 0, 1, 10, 100};
    for (int i = 0; i < rows; ++i)
      for (int j = 0; j < 7; ++j) columns(7 * i + j) = std::min(std::max(i + offsets[j], 0), rows - 1);
    Kokkos::deep_copy(row_map, map);
    Kokkos::deep_copy(entries, columns);
    Kokkos::deep_copy(values, 1e-3);
    return {"stencil", rows, rows, 7 * rows, values, row_map, entries};
  }

  static constexpr int side = 300;
  Multivector a, b, c, square, big_a, big_b, big_c;
  Vector x, y, small;
  Csr matrix;
};

using Ours = Arrays<semcache::Device>;
using Native = Arrays<semcache::kernels::NativeDevice>;

/// Calls Kokkos-Kernels' own kernel, which would run without SemCache::kernels.
template <class M>
void generic_gemm(const char* ta, const char* tb, const M& a, const M& b, double beta, const M& c) {
  using Unmanaged = Kokkos::MemoryTraits<Kokkos::Unmanaged>;
  using In = Kokkos::View<const double**, Left, semcache::Device, Unmanaged>;
  using Out = Kokkos::View<double**, Left, semcache::Device, Unmanaged>;
  const semcache::Exec exec;
  (void)exec;
  KokkosBlas::Impl::GEMM<SEMCACHE_KERNELS_EXEC In, In, Out, false, false>::gemm(
#if SEMCACHE_KERNELS_INSTANCES
      exec,
#endif
      ta, tb, 1.0, In(a), In(b), beta, Out(c));
}

void run(const Settings& settings) {
  const Ours o(settings.rows, settings.columns);
  const Native n(settings.rows, settings.columns);
  [[maybe_unused]] const int rows = settings.rows, columns = settings.columns, side = Ours::side, one = 1;
  [[maybe_unused]] const double unit = 1, nothing = 0, tiny = 1e-9, factor = 1 + 1e-9;
  [[maybe_unused]] double sink = 0;
  const auto both = [](auto&& body, const auto& arrays) { return Body([body, &arrays] { body(arrays); }); };
  std::vector<Case> cases;
  const auto add = [&](const std::string& name, auto&& body, Body direct, Body generic = {}) {
    cases.push_back({name, both(body, o), both(body, n), std::move(direct), std::move(generic)});
  };

  add(
      "gemm T N, tall times tall", [](const auto& v) { KokkosBlas::gemm("T", "N", 1.0, v.a, v.b, 0.0, v.square); },
      BLAS(dgemm_("T", "N", &columns, &columns, &rows, &unit, n.a.data(), &rows, n.b.data(), &rows, &nothing,
                  n.square.data(), &columns)),
      [&] { generic_gemm("T", "N", o.a, o.b, 0.0, o.square); });
  add(
      "gemm N N, tall times small", [](const auto& v) { KokkosBlas::gemm("N", "N", 1.0, v.a, v.square, 0.0, v.c); },
      BLAS(dgemm_("N", "N", &rows, &columns, &columns, &unit, n.a.data(), &rows, n.square.data(), &columns, &nothing,
                  n.c.data(), &rows)),
      [&] { generic_gemm("N", "N", o.a, o.square, 0.0, o.c); });
  add(
      "gemm N N, square", [](const auto& v) { KokkosBlas::gemm("N", "N", 1.0, v.big_a, v.big_b, 0.0, v.big_c); },
      BLAS(dgemm_("N", "N", &side, &side, &side, &unit, n.big_a.data(), &side, n.big_b.data(), &side, &nothing,
                  n.big_c.data(), &side)),
      [&] { generic_gemm("N", "N", o.big_a, o.big_b, 0.0, o.big_c); });
  add(
      "gemv T", [](const auto& v) { KokkosBlas::gemv("T", 1.0, v.a, v.x, 0.0, v.small); },
      BLAS(dgemv_("T", &rows, &columns, &unit, n.a.data(), &rows, n.x.data(), &one, &nothing, n.small.data(), &one)));
  add(
      "gemv N", [](const auto& v) { KokkosBlas::gemv("N", 1.0, v.a, v.small, 0.0, v.y); },
      BLAS(dgemv_("N", &rows, &columns, &unit, n.a.data(), &rows, n.small.data(), &one, &nothing, n.y.data(), &one)));
  add(
      "dot", [](const auto& v) { (void)KokkosBlas::dot(v.x, v.y); },
      BLAS(sink = sink + ddot_(&rows, n.x.data(), &one, n.y.data(), &one)));
  add(
      "dots of multivectors", [](const auto& v) { KokkosBlas::dot(v.small, v.a, v.b); },
      BLAS(for (int j = 0; j < columns; ++j) sink = sink + ddot_(&rows, &n.a(0, j), &one, &n.b(0, j), &one)));
  add(
      "nrm2", [](const auto& v) { (void)KokkosBlas::nrm2(v.x); }, BLAS(sink = sink + dnrm2_(&rows, n.x.data(), &one)));
  add(
      "nrm2 of a multivector", [](const auto& v) { KokkosBlas::nrm2(v.small, v.a); },
      BLAS(for (int j = 0; j < columns; ++j) sink = sink + dnrm2_(&rows, &n.a(0, j), &one)));
  add(
      "axpy", [](const auto& v) { KokkosBlas::axpby(1e-9, v.x, 1.0, v.y); },
      BLAS(daxpy_(&rows, &tiny, n.x.data(), &one, n.y.data(), &one)));
  add(
      "axpy of multivectors", [](const auto& v) { KokkosBlas::axpby(1e-9, v.a, 1.0, v.b); },
      BLAS(for (int j = 0; j < columns; ++j) daxpy_(&rows, &tiny, &n.a(0, j), &one, &n.b(0, j), &one)));
  add(
      "scal of a multivector", [](const auto& v) { KokkosBlas::scal(v.c, 1 + 1e-9, v.c); },
      BLAS(for (int j = 0; j < columns; ++j) dscal_(&rows, &factor, &n.c(0, j), &one)));
  add("update of multivectors", [](const auto& v) { KokkosBlas::update(1e-9, v.a, 1e-9, v.b, 1.0, v.c); }, {});
  add("spmv", [](const auto& v) { KokkosSparse::spmv("N", 1.0, v.matrix, v.x, 0.0, v.y); }, {});
  add("spmv of a multivector", [](const auto& v) { KokkosSparse::spmv("N", 1.0, v.matrix, v.a, 0.0, v.c); }, {});

  std::printf(
      "%d rows, %d columns, medians and quartiles of %d rounds; the last column: our time over that of "
      "Kokkos-Kernels' kernels\n%-34s %14s  %22s  %22s  %22s\n",
      rows, columns, settings.rounds, "", "a call", "/ native", "/ BLAS", "/ kernels");
  for (const Case& c : cases) measure(settings, c);
  std::printf("unknown launches: %llu\n",
              static_cast<unsigned long long>(semcache::statistics().total.unknown_launches));
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Kokkos-Kernels on semcache::Device against native devices and BLAS"};
  Settings settings;
  app.add_option("--rows", settings.rows)->check(CLI::Range(1, 100000000))->capture_default_str();
  app.add_option("--columns", settings.columns, "of multivectors")->check(CLI::Range(1, 1000))->capture_default_str();
  app.add_option("--rounds", settings.rounds)->check(CLI::Range(3, 1001))->capture_default_str();
  app.add_option("--milliseconds", settings.milliseconds, "of one round")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  const Kokkos::ScopeGuard guard(argc, argv);
  run(settings);
  return 0;
}
