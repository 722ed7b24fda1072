// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <kokkos/support.hpp>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <sstream>
#include <utility>

/// Programs whose host code, kernels, copies, fills and resizes come in random order, beside plain host code that does the same. A number says what a
/// program does, and a failure names it: `SEMCACHE_TEST_FIRST_PROGRAM=<number>` begins with it.
namespace kokkos_random_programs {
using namespace test;

using DualMatrix = semcache::DualView<double**, Left, Device>;
using Mirror = semcache::kokkos::host_mirror_t<Matrix>;
using HostMatrix = Kokkos::View<double**, Left, Kokkos::HostSpace>;
using ConstMatrix = Kokkos::View<const double**, Left, Device>;
using Strided = Kokkos::View<double**, Kokkos::LayoutStride, Device>;
using Between = Kokkos::pair<int, int>;

/// What an array must hold.
class Content {
 public:
  Content() = default;
  Content(int rows, int columns) : rows_(rows), columns_(columns), values_(static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns)) {}
  int rows() const { return rows_; }
  int columns() const { return columns_; }
  bool is_empty() const { return values_.empty(); }
  double& at(int row, int column) {
    return values_[static_cast<std::size_t>(column) * static_cast<std::size_t>(rows_) + static_cast<std::size_t>(row)];
  }

 private:
  int rows_ = 0, columns_ = 0;
  std::vector<double> values_;
};

struct Rectangle {
  int row, column, rows, columns;
  int size() const { return rows * columns; }
  int row_of(int k) const { return row + k % rows; }  ///< of element k in the order of its columns
  int column_of(int k) const { return column + k / rows; }
  template <class Body>
  void for_each(const Body& body) const {
    for (int j = column; j < column + columns; ++j) {
      for (int i = row; i < row + rows; ++i) body(i, j);
    }
  }
};

/// One datum with two sides (`dual`), or a device array with two mirrors, or memory of the host that SemCache does not know.
struct Array {
  enum class Kind { dual, with_mirrors, host_alone };
  Kind kind = Kind::dual;
  std::uint32_t device = 0;
  DualMatrix dual;
  Matrix matrix;
  Mirror mirror[2];
  HostMatrix host;
  Content content, of_mirror[2];
};

/// A side of an array: what a program names in a statement.
struct Side {
  Array* array;
  int number;  ///< 0: the device's; 1, 2: the host's
  bool on_device() const { return number == 0; }
  Content& content() const { return array->kind == Array::Kind::with_mirrors && number > 0 ? array->of_mirror[number - 1] : array->content; }
  Matrix device_view() const { return array->kind == Array::Kind::dual ? Matrix(array->dual.view_device()) : array->matrix; }
  Exec exec() const { return semcache::on(array->device); }
  /// Calls `body` with the view of this side.
  template <class Body>
  void with_view(const Body& body) const {
    if (on_device()) return body(device_view());
    if (array->kind == Array::Kind::dual) return body(array->dual.view_host());
    if (array->kind == Array::Kind::with_mirrors) return body(array->mirror[number - 1]);
    body(array->host);
  }
};

struct Overwrite {
  Matrix a;
  Rectangle r;
  double value;
  KOKKOS_INLINE_FUNCTION void operator()(int k) const { a(r.row + k % r.rows, r.column + k / r.rows) = value + k; }
};
struct Change {
  Matrix a;
  Rectangle r;
  double factor, value;
  KOKKOS_INLINE_FUNCTION void operator()(int k) const {
    double& x = a(r.row + k % r.rows, r.column + k / r.rows);
    x = factor * x + value;
  }
};
struct ChangeStrided {
  Strided a;
  int rows;
  double factor, value;
  KOKKOS_INLINE_FUNCTION void operator()(int k) const { a(k % rows, k / rows) = factor * a(k % rows, k / rows) + value; }
};
struct TakeFrom {
  Matrix a;
  ConstMatrix b;
  Rectangle r;
  double value;
  KOKKOS_INLINE_FUNCTION void operator()(int k) const {
    const int i = r.row + k % r.rows, j = r.column + k / r.rows;
    a(i, j) = b(i, j) + value;
  }
};
struct Sum {
  ConstMatrix a;
  Rectangle r;
  KOKKOS_INLINE_FUNCTION void operator()(int k, double& sum) const { sum += a(r.row + k % r.rows, r.column + k / r.rows); }
};

class Program {
 public:
  explicit Program(unsigned number) : number_(number), random_(number) {
    for (int count = 3 + below(6); count > 0; --count) arrays_.push_back(make());
  }

  /// Runs so many statements, and then looks at all arrays. @return why it has failed; empty if it has not
  std::string run(int statements) {
    for (step_ = 0; step_ < statements && wrong_.empty(); ++step_) statement();
    for (const auto& a : arrays_) {
      for (int number = a->kind == Array::Kind::host_alone ? 1 : 0; number <= (a->kind == Array::Kind::with_mirrors ? 2 : 1); ++number) {
        const Side s{a.get(), number};
        look(s, all_of(s.content()));
      }
    }
    return wrong_;
  }

 private:
  int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  bool one_in(int n) { return below(n) == 0; }
  std::pair<int, int> some_extents() {
    static constexpr std::pair<int, int> all[] = {{1, 1}, {7, 3}, {513, 2}, {100, 40}, {1000, 9}, {3000, 1}, {64, 64}, {512, 8}, {0, 5}};
    return all[below(9)];
  }
  std::unique_ptr<Array> make() {
    using Kind = Array::Kind;
    static constexpr Kind kinds[] = {Kind::dual, Kind::dual, Kind::with_mirrors, Kind::with_mirrors, Kind::host_alone};
    auto a = std::make_unique<Array>();
    a->kind = kinds[below(5)];
    a->device = static_cast<std::uint32_t>(below(semcache::device_count()));
    const auto [rows, columns] = some_extents();
    a->content = Content(rows, columns);
    const auto where = Kokkos::view_alloc(semcache::Space(a->device), std::string("array"));
    if (a->kind == Array::Kind::dual) a->dual = DualMatrix(where, rows, columns);
    if (a->kind == Array::Kind::host_alone) a->host = HostMatrix("host alone", rows, columns);
    if (a->kind == Array::Kind::with_mirrors) {
      a->matrix = Matrix(where, rows, columns);
      make_mirrors(*a);
    }
    return a;
  }
  static void make_mirrors(Array& a) {
    a.mirror[0] = Kokkos::create_mirror_view(a.matrix);
    a.mirror[1] = Kokkos::create_mirror(a.matrix);
    for (int m : {0, 1}) {
      a.of_mirror[m] = Content(a.content.rows(), a.content.columns());
      all_of(a.content).for_each([&](int i, int j) { a.mirror[m](i, j) = 0; });
    }
  }
  static Rectangle all_of(const Content& c) { return {0, 0, c.rows(), c.columns()}; }
  /// Returns all columns half of the time.
  Rectangle some_columns(const Content& c) {
    if (c.is_empty() || one_in(2)) return all_of(c);
    const int column = below(c.columns());
    return {0, column, c.rows(), 1 + below(c.columns() - column)};
  }
  Rectangle part_of(int rows, int columns) {
    if (rows == 0 || columns == 0 || one_in(3)) return {0, 0, rows, columns};
    const int row = one_in(3) ? 0 : below(rows), column = below(columns);
    if (one_in(4)) return {row, column, 1, 1};
    return {row, column, row == 0 && one_in(2) ? rows : 1 + below(rows - row), 1 + below(columns - column)};
  }
  Side some_side() {
    Array* const a = arrays_[static_cast<std::size_t>(below(static_cast<int>(arrays_.size())))].get();
    return {a, a->kind == Array::Kind::host_alone ? 1 : below(a->kind == Array::Kind::dual ? 2 : 3)};
  }
  /// Returns false if the side that came up is not of the device.
  bool on_some_device(Side& s) {
    s = some_side();
    return s.on_device() && !s.content().is_empty();
  }

  void wrong(const char* what, double is, double should) {
    if (!wrong_.empty()) return;
    std::ostringstream text;
    text << "program " << number_ << ", statement " << step_ << ": " << what << " is " << is << " instead of " << should;
    wrong_ = text.str();
  }
  void look(const Side& s, const Rectangle& r) {
    Content& c = s.content();
    if (s.on_device() && r.size() > 0) {
      double sum = 0, should = 0;
      Kokkos::parallel_reduce(Range(s.exec(), 0, r.size()), Sum{s.device_view(), r}, sum);
      r.for_each([&](int i, int j) { should += c.at(i, j); });
      if (sum != should) wrong("a sum on the device", sum, should);
    } else if (!s.on_device()) {
      s.with_view([&](const auto& v) {
        r.for_each([&](int i, int j) {
          if (v(i, j) != c.at(i, j)) wrong("an element on the host", v(i, j), c.at(i, j));
        });
      });
    }
  }

  void statement() {
    const int what = below(120);
    if (what >= 100) seldom();
    else if (what < 18) host_writes();
    else if (what < 30) host_or_kernel_reads();
    else if (what < 48) kernel_writes();
    else if (what < 56) kernel_uses_two_arrays();
    else if (what < 76) copies_columns();
    else if (what < 80) copies_a_rectangle();
    else if (what < 85) fills();
    else if (what < 89) resizes();
    else if (what < 92) swaps();
    else if (what < 97) arrays_[static_cast<std::size_t>(below(static_cast<int>(arrays_.size())))] = make();
    else some_side().exec().fence();
  }
  void host_writes() {
    const Side s = some_side();
    Content& c = s.content();
    if (s.on_device() || c.is_empty()) return;
    const Rectangle r = part_of(c.rows(), c.columns());
    const double value = step_;
    const bool by_bytes = one_in(3);
    r.for_each([&](int i, int j) { c.at(i, j) = value + i; });
    s.with_view([&](const auto& v) {
      for (int j = r.column; j < r.column + r.columns; ++j) {
        if (by_bytes) std::memcpy(&v(r.row, j), &c.at(r.row, j), static_cast<std::size_t>(r.rows) * sizeof(double));
        for (int i = r.row; !by_bytes && i < r.row + r.rows; ++i) v(i, j) = value + i;
      }
    });
  }
  void host_or_kernel_reads() {
    const Side s = some_side();
    look(s, part_of(s.content().rows(), s.content().columns()));
  }
  void kernel_writes() {
    Side s{};
    if (!on_some_device(s)) return;
    Content& c = s.content();
    const Rectangle r = part_of(c.rows(), c.columns());
    const double factor = one_in(2) ? 1 : -1, value = below(50);
    const Range range(s.exec(), 0, r.size());
    const int how = below(4);
    if (how == 0) {
      Kokkos::parallel_for(range, Overwrite{s.device_view(), r, value});
      for (int k = 0; k < r.size(); ++k) c.at(r.row_of(k), r.column_of(k)) = value + k;
      return;
    }
    const Between rows(r.row, r.row + r.rows), columns(r.column, r.column + r.columns);
    if (how == 1) Kokkos::parallel_for(range, ChangeStrided{Kokkos::subview(s.device_view(), rows, columns), r.rows, factor, value});
    else Kokkos::parallel_for(range, Change{s.device_view(), r, factor, value});
    r.for_each([&](int i, int j) { c.at(i, j) = factor * c.at(i, j) + value; });
  }
  void kernel_uses_two_arrays() {
    Side a{}, b{};
    if (!on_some_device(a) || !on_some_device(b) || a.array->device != b.array->device) return;
    Content &to = a.content(), &from = b.content();
    const Rectangle r = part_of(std::min(to.rows(), from.rows()), std::min(to.columns(), from.columns()));
    const double value = below(9);
    Kokkos::parallel_for(Range(a.exec(), 0, r.size()), TakeFrom{a.device_view(), b.device_view(), r, value});
    r.for_each([&](int i, int j) { to.at(i, j) = from.at(i, j) + value; });
  }
  /// Copies an array to one of the same extents, or some columns of it.
  void copies_columns() {
    const Side a = some_side(), b = some_side();
    Content &to = a.content(), &from = b.content();
    if (to.rows() != from.rows() || to.columns() != from.columns()) return;
    const Rectangle r = some_columns(to);
    const bool all = r.columns == to.columns();
    const Between columns(r.column, r.column + r.columns);
    a.with_view([&](const auto& x) {
      b.with_view([&](const auto& y) {
        if (all) Kokkos::deep_copy(x, y);
        else Kokkos::deep_copy(Kokkos::subview(x, Kokkos::ALL, columns), Kokkos::subview(y, Kokkos::ALL, columns));
      });
    });
    r.for_each([&](int i, int j) { to.at(i, j) = from.at(i, j); });
  }
  /// Copies a rectangle to another place of another array.
  void copies_a_rectangle() {
    const Side a = some_side(), b = some_side();
    Content &to = a.content(), &from = b.content();
    if (&to == &from || to.is_empty() || from.is_empty()) return;
    const int rows = 1 + below(std::min(to.rows(), from.rows())), columns = 1 + below(std::min(to.columns(), from.columns()));
    const auto place = [&](const Content& c) { return std::pair(below(c.rows() - rows + 1), below(c.columns() - columns + 1)); };
    const auto [row_to, column_to] = place(to);
    const auto [row_from, column_from] = place(from);
    const Between rows_to(row_to, row_to + rows), columns_to(column_to, column_to + columns), rows_from(row_from, row_from + rows),
        columns_from(column_from, column_from + columns);
    a.with_view([&](const auto& x) {
      b.with_view([&](const auto& y) { Kokkos::deep_copy(Kokkos::subview(x, rows_to, columns_to), Kokkos::subview(y, rows_from, columns_from)); });
    });
    for (int j = 0; j < columns; ++j) {
      for (int i = 0; i < rows; ++i) to.at(row_to + i, column_to + j) = from.at(row_from + i, column_from + j);
    }
  }
  void fills() {
    const Side s = some_side();
    Content& c = s.content();
    if (c.is_empty()) return;
    const double value = below(7);
    const Rectangle r = some_columns(c);
    const bool all = r.columns == c.columns();
    s.with_view([&](const auto& v) {
      if (all) Kokkos::deep_copy(v, value);
      else Kokkos::deep_copy(Kokkos::subview(v, Kokkos::ALL, Between(r.column, r.column + r.columns)), value);
    });
    r.for_each([&](int i, int j) { c.at(i, j) = value; });
  }
  void resizes() {
    Array& a = *some_side().array;
    if (a.kind != Array::Kind::dual) return;
    const auto [rows, columns] = some_extents();
    Content now(rows, columns);
    if (one_in(2)) {
      a.dual.realloc(rows, columns);
    } else {
      a.dual.resize(rows, columns);
      Rectangle{0, 0, std::min(rows, a.content.rows()), std::min(columns, a.content.columns())}.for_each(
          [&](int i, int j) { now.at(i, j) = a.content.at(i, j); });
    }
    a.content = std::move(now);
  }
  void seldom() {
    const int what = below(5);
    if (what == 0) host_copies_bytes();
    else if (what == 1) kernel_makes_a_number();
    else if (what == 2) copies_on_an_instance();
    else if (what == 3) uses_part_of_a_dual_view();
    else resizes_a_view();
  }
  void host_copies_bytes() {
    const Side a = some_side(), b = some_side();
    Content &to = a.content(), &from = b.content();
    if (a.on_device() || b.on_device() || &to == &from || to.is_empty() || from.is_empty()) return;
    const int rows = 1 + below(std::min(to.rows(), from.rows())), row = below(to.rows() - rows + 1), column = below(to.columns());
    a.with_view([&](const auto& x) {
      b.with_view([&](const auto& y) { std::memcpy(&x(row, column), &y(0, 0), static_cast<std::size_t>(rows) * sizeof(double)); });
    });
    for (int i = 0; i < rows; ++i) to.at(row + i, column) = from.at(i, 0);
  }
  void kernel_makes_a_number() {
    Side s{};
    if (!on_some_device(s)) return;
    Content& c = s.content();
    const Rectangle r = part_of(c.rows(), c.columns());
    const Kokkos::View<double, Device> result(Kokkos::view_alloc(semcache::Space(s.array->device), std::string("result")));
    Kokkos::parallel_reduce(Range(s.exec(), 0, r.size()), Sum{s.device_view(), r}, result);
    double sum = -1, should = 0;
    Kokkos::deep_copy(sum, result);
    r.for_each([&](int i, int j) { should += c.at(i, j); });
    if (sum != should) wrong("a number that a kernel has made", sum, should);
  }
  void copies_on_an_instance() {
    const Side a = some_side(), b = some_side();
    Content &to = a.content(), &from = b.content();
    if (to.rows() != from.rows() || to.columns() != from.columns() || (!a.on_device() && !b.on_device())) return;
    const Exec exec = (a.on_device() ? a : b).exec();
    a.with_view([&](const auto& x) { b.with_view([&](const auto& y) { Kokkos::deep_copy(exec, x, y); }); });
    exec.fence();
    all_of(to).for_each([&](int i, int j) { to.at(i, j) = from.at(i, j); });
  }
  void uses_part_of_a_dual_view() {
    const Side s = some_side();
    Content& c = s.content();
    if (s.array->kind != Array::Kind::dual || c.is_empty()) return;
    const int column = below(c.columns()), columns = 1 + below(c.columns() - column);
    const double value = below(5);
    const DualMatrix part(s.array->dual, Kokkos::ALL, Between(column, column + columns));
    for (int j = 0; j < columns; ++j) part.view_host()(0, j) += value;
    Kokkos::parallel_for(Range(s.exec(), 0, c.rows() * columns), Change{part.view_device(), {0, 0, c.rows(), columns}, 1, value});
    Rectangle{0, column, c.rows(), columns}.for_each([&](int i, int j) { c.at(i, j) += i == 0 ? 2 * value : value; });
  }
  void resizes_a_view() {
    Array& a = *some_side().array;
    if (a.kind != Array::Kind::with_mirrors || a.device != 0) return;  // the new one is on device 0
    const auto [rows, columns] = some_extents();
    Content now(rows, columns);
    Kokkos::resize(a.matrix, rows, columns);
    Rectangle{0, 0, std::min(rows, a.content.rows()), std::min(columns, a.content.columns())}.for_each(
        [&](int i, int j) { now.at(i, j) = a.content.at(i, j); });
    a.content = std::move(now);
    make_mirrors(a);
  }
  void swaps() {
    Array &a = *some_side().array, &b = *some_side().array;
    if (&a == &b || a.kind != Array::Kind::dual || b.kind != Array::Kind::dual) return;
    std::swap(a, b);
  }

  const unsigned number_;
  std::mt19937 random_;
  std::vector<std::unique_ptr<Array>> arrays_;
  int step_ = 0;
  std::string wrong_;
};

}  // namespace kokkos_random_programs
using namespace kokkos_random_programs;

KOKKOS_TEST(KokkosRandomPrograms, HaveTheResultsOfPlainHostCode) {
  { const Vector starts_the_runtime("start", 1); }
  const char* const asked = std::getenv("SEMCACHE_TEST_FIRST_PROGRAM");
  const unsigned first = asked != nullptr ? static_cast<unsigned>(std::strtoul(asked, nullptr, 10)) : 1;
  for (unsigned number = first; number < first + 100; ++number) ASSERT_EQ(Program(number).run(300), "");
}
