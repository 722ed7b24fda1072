// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
//
// A program that calls routines of all levels and precisions with operands of a few MiB, one call after the other on the same data, and prints what
// it sees. check_programs.py runs it with and without semcache-run, and compares.
#include <algorithm>
#include <atomic>
#include <complex>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

using Complex = std::complex<double>;
using Single = std::complex<float>;

extern "C" {
double ddot_(const int*, const double*, const int*, const double*, const int*);
double dznrm2_(const int*, const Complex*, const int*);
int idamax_(const int*, const double*, const int*);
void dscal_(const int*, const double*, double*, const int*);
void zswap_(const int*, Complex*, const int*, Complex*, const int*);
void drotm_(const int*, double*, const int*, double*, const int*, const double*);
void dsyrk_(const char*, const char*, const int*, const int*, const double*, const double*, const int*, const double*, double*, const int*);
void ssyrk_(const char*, const char*, const int*, const int*, const float*, const float*, const int*, const float*, float*, const int*);
void cblas_daxpy(int, double, const double*, int, double*, int);
void cblas_ccopy(int, const void*, int, void*, int);
void cblas_zdotc_sub(int, const void*, int, const void*, int, void*);
std::size_t cblas_izamax(int, const void*, int);
void cblas_dgemv(int, int, int, int, double, const double*, int, const double*, int, double, double*, int);
void cblas_zgbmv(int, int, int, int, int, int, const void*, const void*, int, const void*, int, const void*, void*, int);
void cblas_zhemv(int, int, int, const void*, const void*, int, const void*, int, const void*, void*, int);
void cblas_dspr2(int, int, int, double, const double*, int, const double*, int, double*);
void cblas_dtrsv(int, int, int, int, int, const double*, int, double*, int);
void cblas_zgerc(int, int, int, const void*, const void*, int, const void*, int, void*, int);
void cblas_sger(int, int, int, float, const float*, int, const float*, int, float*, int);
void cblas_zher2k(int, int, int, int, int, const void*, const void*, int, const void*, int, double, void*, int);
void cblas_csymm(int, int, int, int, int, const void*, const void*, int, const void*, int, const void*, void*, int);
void cblas_dsyrk(int, int, int, int, int, double, const double*, int, double, double*, int);
void cblas_ztrmm(int, int, int, int, int, int, int, const void*, const void*, int, void*, int);
void cblas_dtrsm(int, int, int, int, int, int, int, double, const double*, int, double*, int);
void cblas_dgemm(int, int, int, int, int, int, double, const double*, int, const double*, int, double, double*, int);
}

namespace {

enum { rows = 101, columns, no_trans = 111, trans, conj_trans, upper = 121, lower, non_unit = 131, unit, left = 141, right };
constexpr int n = 400, leading = 420;
constexpr std::size_t count = std::size_t{leading} * n;

/// A block of the heap with numbers.
template <class T>
struct Numbers {
  explicit Numbers(unsigned seed, std::size_t elements = count) : size(elements), data(static_cast<T*>(std::malloc(elements * sizeof(T)))) {
    auto* const bytes = reinterpret_cast<std::conditional_t<std::is_same_v<T, float> || std::is_same_v<T, Single>, float, double>*>(data);
    constexpr bool is_complex = sizeof(T) == sizeof(Complex) || std::is_same_v<T, Single>;
    for (std::size_t i = 0; i < elements * (is_complex ? 2 : 1); ++i) {
      bytes[i] = static_cast<std::remove_reference_t<decltype(bytes[0])>>(static_cast<double>((i * 7919 + seed * 104729) % 2003) / 2003 - 0.5);
    }
  }
  ~Numbers() { std::free(data); }
  Numbers(const Numbers&) = delete;
  Numbers& operator=(const Numbers&) = delete;
  operator T*() const { return data; }  // NOLINT(google-explicit-constructor)
  void show(const char* what) const {
    std::uint64_t h = 1469598103934665603u;
    for (std::size_t i = 0; i < size * sizeof(T); ++i) h = (h ^ reinterpret_cast<const unsigned char*>(data)[i]) * 1099511628211u;
    std::printf("%s %016llx\n", what, static_cast<unsigned long long>(h));
  }
  std::size_t size;
  T* data;
};

void level1() {
  const Numbers<double> x(1), y(2);
  const Numbers<Complex> u(3), v(4);
  const Numbers<Single> p(5), q(6);
  const int all = static_cast<int>(count), half = all / 2, third = all / 3, one = 1, two = 2, back = -1, three = 3;
  const double factor = 0.75, h[] = {-1, 0.5, 0.25, -0.125, 2};
  cblas_daxpy(all, 0.5, x, 1, y, 1);
  cblas_daxpy(half, 1.5, y, 2, x, -1);
  dscal_(&third, &factor, y, &three);
  drotm_(&half, x, &two, y, &back, h);
  std::printf("dot %.17g %.17g\n", ddot_(&all, x, &one, y, &one), ddot_(&half, x, &two, y, &back));
  std::printf("amax %d\n", idamax_(&third, y, &three));
  zswap_(&half, u, &two, v, &one);
  Complex dot;
  cblas_zdotc_sub(half, u.data, 1, v.data, -2, &dot);
  std::printf("dotc %.17g %.17g nrm2 %.17g amax %zu\n", dot.real(), dot.imag(), dznrm2_(&all, v, &one), cblas_izamax(half, u.data, 2));
  cblas_ccopy(third, p.data, 3, q.data, -2);
  x.show("x"), y.show("y"), u.show("u"), v.show("v"), q.show("q");
}

void level2() {
  const Numbers<double> a(1), x(2), y(3), packed(4);
  const Numbers<Complex> b(5), u(6), v(7);
  const Numbers<float> s(8), t(9, count + 4000);
  const Complex alpha(0.5, -0.25), beta(0.125, 1);
  for (const int order : {rows, columns}) {
    cblas_dgemv(order, no_trans, n, n - 30, 0.5, a, leading, x, 2, 0.25, y, -3);
    cblas_dgemv(order, trans, n - 7, n, 0.5, a.data + 11, leading, y, 1, 0, x, 1);
    cblas_zgbmv(order, trans, n, n - 9, 3, 5, &alpha, b.data, leading, u.data, -1, &beta, v.data, 2);
    cblas_zgbmv(order, conj_trans, n, n - 9, 3, 5, &alpha, b.data, leading, u.data, -1, &beta, v.data, 2);
    cblas_zhemv(order, lower, n, &alpha, b.data, leading, v.data, 1, &beta, u.data, 1);
    cblas_dspr2(order, upper, n, 0.01, x, 1, y, -1, packed);
    for (int i = 0; i < n; ++i) a[i * leading + i] = 40;
    cblas_dtrsv(order, upper, trans, non_unit, n, a, leading, x, 1);
    cblas_zgerc(order, n - 5, n, &alpha, u.data, 1, v.data, 1, b.data, leading);
    cblas_sger(order, n, n, 0.5F, s, 1, t, -1, t.data + 2000, leading);  // which overlaps
    cblas_sger(order, n - 100, n - 100, 0.5F, t.data + 2000, 1, t, -1, s, leading);
  }
  a.show("a"), x.show("x"), y.show("y"), packed.show("packed"), b.show("b"), u.show("u"), v.show("v"), s.show("s"), t.show("t");
}

void level3() {
  const Numbers<double> a(1), b(2), c(3);
  const Numbers<Complex> u(4), v(5), w(6);
  const Numbers<Single> p(7), q(8), r(9);
  const Complex alpha(0.5, -0.25), beta(0.125, 1);
  const Single half(0.5F, 0.25F), quarter(0.25F, -1.0F);
  for (const int order : {rows, columns}) {
    cblas_dsyrk(order, upper, trans, n - 20, n, 0.01, a, leading, 0.5, c, leading);
    cblas_dsyrk(order, lower, no_trans, 300, 200, 0.01, b, leading, 0, c.data + 5, leading);
    cblas_zher2k(order, lower, conj_trans, n, 150, &alpha, u.data, leading, v.data, leading, 0.5, w.data, leading);
    cblas_csymm(order, right, upper, n - 50, n, &half, p.data, leading, q.data, leading, &quarter, r.data, leading);
    cblas_ztrmm(order, left, lower, conj_trans, unit, 200, n - 3, &alpha, w.data, leading, v.data, leading);
    for (int i = 0; i < n; ++i) a[i * leading + i] = 40;
    cblas_dtrsm(order, right, upper, no_trans, non_unit, 250, 350, 0.5, a, leading, b, leading);
    cblas_dgemm(order, trans, no_trans, 100, 90, 80, 0.01, a, leading, b, leading, 1, c.data + 40, leading);
  }
  // Tiles of one matrix, as a factorisation uses them.
  for (int k = 0; k + 100 < n; k += 100) {
    double* const corner = a.data + static_cast<std::size_t>(k) * leading + k;
    const int rest = n - k - 100;
    cblas_dtrsm(columns, left, lower, no_trans, unit, 100, rest, 1, corner, leading, corner + 100 * leading, leading);
    double* const beside = corner + 100 * leading;
    cblas_dgemm(columns, no_trans, no_trans, rest, rest, 100, -0.001, corner + 100, leading, beside, leading, 1, beside + 100, leading);
  }
  a.show("a"), b.show("b"), c.show("c"), v.show("v"), w.show("w"), r.show("r");
}

/// While one thread's calls write a triangle, another one writes the other triangle.
template <class T, int size, class Rank>
void write_other_triangle(const Rank& rank) {
  const Numbers<T> a(1, size * size), c(2, size * size);
  std::atomic<bool> stop{false};
  std::atomic<long> lost{0};
  std::thread other([&] {
    for (T value = 1; !stop; value = value < 1000 ? value + 1 : 1) {
      for (int column = 1; column < size; column += 9) {
        volatile T& mine = c[column * size + column - 1];  // beside the diagonal
        mine = value;
        std::this_thread::yield();
        if (mine != value) ++lost;
      }
    }
  });
  const char uplo = 'L', op = 'N';
  const int n = size;
  const T alpha = T(1e-3), beta = T(0.5);
  for (int i = 0; i < 2000; ++i) rank(&uplo, &op, &n, &n, &alpha, a, &n, &beta, c, &n);
  stop = true;
  other.join();
  std::printf("lost %ld\n", lost.load());
  for (int column = 0; column < size; ++column) {
    for (int row = 0; row < column; ++row) c[column * size + row] = 0;  // what the other thread had
  }
  c.show("triangle");
}
void other_triangle() {
  write_other_triangle<double, 64>(dsyrk_);
  write_other_triangle<double, 7>(dsyrk_);
}
/// Elements that are smaller than a word, so that the triangles' columns end within one.
void other_triangle_of_floats() {
  write_other_triangle<float, 64>(ssyrk_);
  write_other_triangle<float, 31>(ssyrk_);
  write_other_triangle<float, 7>(ssyrk_);
}

const std::map<std::string, void (*)()> programs = {
    {"level1", &level1},
    {"level2", &level2},
    {"level3", &level3},
    {"other_triangle", &other_triangle},
    {"other_triangle_of_floats", &other_triangle_of_floats},
};

}  // namespace

int main(int argument_count, char** arguments) {
  const auto program = programs.find(argument_count > 1 ? arguments[1] : "");
  if (program == programs.end()) return 2;
  program->second();
  return 0;
}
