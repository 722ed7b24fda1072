// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <kokkos/support.hpp>

#include <array>
#include <cstdio>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <variant>

// Classes whose kernels capture all of their members: what lies beside a View moves no other array, and what leads to
// arrays is found, by launches that are repeated, too.
namespace kokkos_members {
using namespace test;

constexpr int n = 1000;

/// A bystander that is equal on both sides: an unknown launch would bring it back.
struct Bystander {
  Bystander() {
    iota(device);
    Kokkos::deep_copy(host, device);
    semcache::access(host, semcache::Access::read);
  }
  [[nodiscard]] std::uint64_t bytes_back() const {
    const Since since;
    Kokkos::deep_copy(host, device);
    semcache::access(host, semcache::Access::read);
    return since.d2h();
  }
  Vector device{"bystander", n};
  semcache::kokkos::host_mirror_t<Vector> host = Kokkos::create_mirror_view(device);
};

template <class Member>
struct Solver {
  Member member;
  Vector u;
  KOKKOS_FUNCTION void operator()(int i) const { u(i) += 1; }
};

template <class Member>
void check_harmless(const Member& member) {
  const Bystander bystander;
  const Solver<Member> solver{member, Vector("u", n)};
  const auto host = Kokkos::create_mirror_view(solver.u);
  const Since since;
  for (int round = 1; round <= 3; ++round) {
    Kokkos::parallel_for("step", Range(0, n), solver);
    Kokkos::deep_copy(host, solver.u);
    EXPECT_EQ(host(n - 1), round);
    if (!numbers_look_like_pointers) EXPECT_EQ(bystander.bytes_back(), 0u);
  }
  if (!numbers_look_like_pointers) EXPECT_EQ(since.unknown(), 0u) << unknown_names();
}

/// Behind what somebody asked for a block of the heap may hold what was there before, and that may lead anywhere: of several
/// members that are made one after the other, one at least leads nowhere.
template <class Make>
void expect_one_of_several(const Make& make) {
  const Bystander bystander;
  std::list<decltype(make())> members;
  std::uint64_t unknown = 1, back = 1;
  for (int k = 0; k < 20 && (unknown != 0 || back != 0); ++k) {
    for (int j = 0; j <= k; ++j) members.push_back(make());  // the last one lies in a block that was not in use a moment ago
    const Solver<decltype(make())> solver{members.back(), Vector("u", n)};
    const Since since;
    Kokkos::parallel_for("step", Range(0, n), solver);
    unknown = since.unknown();
    EXPECT_EQ(on_host(solver.u)(n - 1), 1);
    back = bystander.bytes_back();
  }
  EXPECT_EQ(back, 0u);
  EXPECT_EQ(unknown, 0u) << unknown_names();
}

std::string reason_of_unknown(const char* name) {
  for (const auto& entry : semcache::statistics().unknown_launch_names) {
    if (entry.name.find(name) != std::string::npos) return entry.reason;
  }
  return "none";
}

struct Tree {
  double value = 1;
  std::unique_ptr<Tree> left, right;
};
std::shared_ptr<Tree> tree(int depth) {
  auto root = std::make_shared<Tree>();
  Tree* at = root.get();
  for (int k = 0; k < depth; ++k) {
    at->left = std::make_unique<Tree>();
    at->right = std::make_unique<Tree>();
    at = at->right.get();
  }
  return root;
}

/// Points into itself, and into the original after a copy.
struct Cursor {
  double numbers[4] = {1, 2, 3, 4};
  const double* at = numbers + 2;
};

}  // namespace kokkos_members
using namespace kokkos_members;

KOKKOS_TEST(KokkosMembers, StringsLeadNowhere) {
  check_harmless(std::string("hydro"));  // lies in the functor itself
  check_harmless(std::string(100, 'x'));
  check_harmless(std::string());
  check_harmless(std::array<std::string, 3>{"a", std::string(50, 'b'), "c"});
  check_harmless(std::optional<std::string>("optional"));
}

KOKKOS_TEST(KokkosMembers, VectorsOfNumbersLeadNowhere) {
  check_harmless(std::vector<double>(100, 1.5));
  check_harmless(std::vector<int>(6, 1));  // fills its block of the heap
  expect_one_of_several([] { return std::vector<int>(3, 1); });
  check_harmless(std::vector<double>());
  check_harmless(std::vector<std::string>{"one", std::string(100, 'x')});
}

KOKKOS_TEST(KokkosMembers, ContainersOfNumbersLeadNowhere) {
  expect_one_of_several([] { return std::map<int, double>{{1, 2.0}, {3, 4.0}, {5, 6.0}}; });
  expect_one_of_several([] { return std::unordered_map<int, double>{{1, 2.0}, {3, 4.0}}; });
  expect_one_of_several([] { return std::list<int>{1, 2, 3}; });
  expect_one_of_several([] { return std::deque<int>(100, 7); });
  expect_one_of_several([] { return std::make_shared<double>(1); });
  expect_one_of_several([] { return std::shared_ptr<std::vector<int>>(new std::vector<int>(10, 3)); });
}

KOKKOS_TEST(KokkosMembers, FilesLeadNowhere) {
  check_harmless(stdout);
  std::FILE* const file = std::tmpfile();
  ASSERT_NE(file, nullptr);
  std::fputs("used", file);
  check_harmless(file);
  std::fclose(file);
}

KOKKOS_TEST(KokkosMembers, HostViewsLeadNowhere) {
  check_harmless(Kokkos::View<double*, Kokkos::HostSpace>("host", 1000));
  check_harmless(Kokkos::View<double, Kokkos::HostSpace>("host"));
  check_harmless(Kokkos::View<int**, Kokkos::LayoutRight, Kokkos::HostSpace>("host", 100, 10));
  const Kokkos::View<int**, Kokkos::LayoutLeft, Kokkos::HostSpace> whole("host", 100, 10);
  check_harmless(Kokkos::subview(whole, Kokkos::ALL(), 3));
  check_harmless(Kokkos::create_mirror_view(Vector("mirrored", n)));
  check_harmless(std::make_shared<Kokkos::View<double*, Kokkos::HostSpace>>("host", 1000));
  check_harmless(std::vector<Kokkos::View<double*, Kokkos::HostSpace>>(3, Kokkos::View<double*, Kokkos::HostSpace>("host", 10)));
}

KOKKOS_TEST(KokkosMembers, CodeLeadsNowhere) {
  check_harmless(static_cast<int (*)(const char*)>(&std::puts));
  check_harmless(static_cast<const char*>("a constant"));
  check_harmless(std::function<double(double)>([](double x) { return x; }));
}

/// A copy is shallow: it points into the original.
KOKKOS_TEST(KokkosMembers, WhatPointsIntoTheFunctorLeadsNowhere) {
  const Bystander bystander;
  Solver<Cursor> solver{{}, Vector("u", n)};
  solver.member.at = solver.member.numbers + 2;
  const Since since;
  Kokkos::parallel_for("step", Range(0, n), solver);
  EXPECT_EQ(bystander.bytes_back(), 0u);
  EXPECT_EQ(since.unknown(), 0u) << unknown_names();
  EXPECT_EQ(on_host(solver.u)(n - 1), 1);
}

#ifndef KOKKOS_ENABLE_CUDA
// On hosts kernels reach all memory: what lies there is looked through, at each launch.
namespace kokkos_members {

/// Lists of few pointers in a block of the heap: what follows the address might be taken for a string's or a vector's words.
struct Bare {
  double** first;
};
struct Counted {
  double** first;
  std::size_t count, room;
};
struct UpToLast {
  double** first;
  double** current;
  double** last;
};
/// The same with lists of lists: nothing but the words behind the first one say how many there are.
struct ListsUpToLast {
  double*** first;
  double*** current;
  double*** last;
};
/// What ends where the array does, and what counts from 1.
struct Backwards {
  double* end;
};
struct FromOne {
  double* before;
};
struct FromMuchBefore {
  double* before;
  std::ptrdiff_t distance;
};
/// A table of addresses in the constants of the program.
struct Table {
  double** const* entries;
};
double* in_a_variable = nullptr;
double** const table[] = {nullptr, nullptr, &in_a_variable};
constexpr std::size_t listed = 3;
std::vector<double*> list_with(double* at_its_end) { return {nullptr, nullptr, at_its_end}; }

template <class Member>
struct AddThrough {
  Member member;
  Vector u;
  void operator()(int i) const {
    u(i) += 1;
    for_each(member, [&](const auto& v) { v[i] += 1; });
  }

  struct Pointer {
    double* data;
    double& operator[](int i) const { return data[i]; }
  };
  template <class Body>
  static void for_each(const Vector& v, const Body& body) {
    if (v.data() != nullptr) body(Pointer{v.data()});
  }
  template <class Body>
  static void for_each(double* data, const Body& body) {
    if (data != nullptr) body(Pointer{data});
  }
  template <class T, class Body>
  static void for_each(const std::shared_ptr<T>& p, const Body& body) {
    if (p) for_each(*p, body);
  }
  template <class T, class Body>
  static void for_each(const std::optional<T>& p, const Body& body) {
    if (p) for_each(*p, body);
  }
  template <class T, class Body>
  static void for_each(const std::vector<T>& list, const Body& body) {
    for (const T& one : list) for_each(one, body);
  }
  template <class T, std::size_t N, class Body>
  static void for_each(const std::array<T, N>& list, const Body& body) {
    for (const T& one : list) for_each(one, body);
  }
  template <class T, std::size_t N, class... More, class Body>
  static void for_each(const Kokkos::Array<T, N, More...>& list, const Body& body) {
    for (std::size_t k = 0; k < N; ++k) for_each(list[k], body);
  }
  template <class K, class T, class Body>
  static void for_each(const std::map<K, T>& list, const Body& body) {
    for (const auto& one : list) for_each(one.second, body);
  }
  template <class A, class B, class Body>
  static void for_each(const Kokkos::pair<A, B>& p, const Body& body) {
    for_each(p.first, body);
    for_each(p.second, body);
  }
  template <class A, class B, class Body>
  static void for_each(const std::tuple<A, B>& p, const Body& body) {
    for_each(std::get<0>(p), body);
    for_each(std::get<1>(p), body);
  }
  template <class Body>
  static void for_each(const Bare& list, const Body& body) {
    for (std::size_t k = 0; k < listed; ++k) for_each(list.first[k], body);
  }
  template <class Body>
  static void for_each(const Counted& list, const Body& body) {
    for_each(Bare{list.first}, body);
  }
  template <class Body>
  static void for_each(const UpToLast& list, const Body& body) {
    for_each(Bare{list.first}, body);
  }
  template <class Body>
  static void for_each(const ListsUpToLast& lists, const Body& body) {
    for (double*** list = lists.first; list <= lists.last; ++list) {
      if (*list != nullptr) for_each(**list, body);
    }
  }
  template <class Body>
  static void for_each(const Backwards& array, const Body& body) {
    for_each(array.end - n, body);
  }
  template <class Body>
  static void for_each(const FromOne& array, const Body& body) {
    for_each(array.before + 1, body);
  }
  template <class Body>
  static void for_each(const FromMuchBefore& array, const Body& body) {
    for_each(array.before + array.distance, body);
  }
  template <class Body>
  static void for_each(const Table& entries, const Body& body) {
    for_each(*entries.entries[2], body);
  }
  template <class... T, class Body>
  static void for_each(const std::variant<T...>& v, const Body& body) {
    std::visit([&](const auto& one) { for_each(one, body); }, v);
  }
};

/// `make` makes a member that leads to the array; nothing else is told of the array, and no page comes to the rescue
/// where the device tracker is off. Right, in any case; `exactly`: and no other array was moved.
enum class Found { at_least, exactly };  // the heap may hold what was there before
template <class Make>
void check_found(const Make& make, Found found = Found::at_least) {
  const Bystander bystander;
  const Vector x("x", n);
  const auto host = Kokkos::create_mirror_view(x);
  const Vector u("u", n);
  iota(x);
  const auto member = make(x);
  const Since since;
  for (int round = 1; round <= 3; ++round) {
    for (int i = 0; i < n; ++i) host(i) = 100 * round;
    Kokkos::deep_copy(x, host);
    Kokkos::parallel_for("add", Range(0, n), AddThrough<std::decay_t<decltype(member)>>{member, u});
    Kokkos::deep_copy(host, x);
    ASSERT_EQ(host(n - 1), 100 * round + 1) << "round " << round;
    if (found == Found::exactly) {
      EXPECT_EQ(bystander.bytes_back(), 0u);
    }
  }
  if (found == Found::exactly) {
    EXPECT_EQ(since.unknown(), 0u) << unknown_names();
  }
}

}  // namespace kokkos_members

KOKKOS_TEST(KokkosMembers, ViewsInContainersAreFound) {
  check_found([](const Vector& x) { return Kokkos::Array<Vector, 2>{{x, Vector()}}; }, Found::exactly);
  check_found([](const Vector& x) { return std::array<Vector, 2>{x, Vector()}; }, Found::exactly);
  check_found([](const Vector& x) { return std::optional<Vector>(x); }, Found::exactly);
  check_found([](const Vector& x) { return std::tuple<Vector, double*>(x, nullptr); }, Found::exactly);
  check_found([](const Vector& x) { return Kokkos::pair<Vector, Vector>(Vector(), x); }, Found::exactly);
  check_found([](const Vector& x) { return std::variant<double*, Vector>(x); });
  check_found([](const Vector& x) { return std::vector<Vector>{Vector(), x}; });
  check_found([](const Vector& x) { return std::map<int, Vector>{{1, x}, {2, Vector()}}; });
}

KOKKOS_TEST(KokkosMembers, ViewsBehindPointersAreFound) {
  check_found([](const Vector& x) { return std::make_shared<Vector>(x); });
  check_found([](const Vector& x) { return std::shared_ptr<Vector>(new Vector(x)); });
  check_found([](const Vector& x) { return std::make_shared<std::vector<std::shared_ptr<Vector>>>(1, std::make_shared<Vector>(x)); });
  check_found([](const Vector& x) {
    return std::make_shared<Vector>(Kokkos::View<double*, Left, Device, Kokkos::MemoryUnmanaged>(x.data(), n));
  });
  check_found([](const Vector& x) { return std::make_shared<Vector>(Kokkos::subview(x, std::make_pair(0, n))); });
}

KOKKOS_TEST(KokkosMembers, RawPointersInSmallBlocksAreFound) {
  std::vector<double*> list;
  check_found([&](const Vector& x) { return list = list_with(x.data()), Bare{list.data()}; });
  check_found([&](const Vector& x) { return list = list_with(x.data()), Counted{list.data(), listed, listed}; });
  check_found([&](const Vector& x) { return list = list_with(x.data()), Counted{list.data(), listed, 20}; });
  check_found([&](const Vector& x) {
    return list = list_with(x.data()), UpToLast{list.data(), list.data(), list.data() + listed - 1};
  });
}

/// A list that ends with its last element looks like a vector that could hold more.
KOKKOS_TEST(KokkosMembers, RawPointersInListsOfListsAreFound) {
  std::vector<double*> list;
  std::vector<double**> lists;
  check_found([&](const Vector& x) {
    list = {x.data()};
    lists = {nullptr, nullptr, list.data()};
    return ListsUpToLast{lists.data(), lists.data(), lists.data() + listed - 1};
  });
}

KOKKOS_TEST(KokkosMembers, RawPointersBesideTheArrayAreFound) {
  check_found([](const Vector& x) { return Backwards{x.data() + n}; }, Found::exactly);
  check_found([](const Vector& x) { return FromOne{x.data() - 1}; }, Found::exactly);
  check_found([](const Vector& x) { return std::vector<FromOne>{{x.data() - 1}}; });
  check_found([](const Vector& x) { return FromMuchBefore{x.data() - 20, 20}; });
}

KOKKOS_TEST(KokkosMembers, RawPointersBehindConstantsAreFound) {
  check_found([](const Vector& x) { return in_a_variable = x.data(), Table{table}; });
  in_a_variable = nullptr;
}

/// Objects with virtual functions have a pointer to constants, too: it leads nowhere.
namespace kokkos_members {
struct Law {
  virtual ~Law() = default;
  virtual double at(double x) const { return x; }
};
struct Square final : Law {
  double factor = 2;
  double at(double x) const override { return factor * x * x; }
};
}  // namespace kokkos_members
KOKKOS_TEST(KokkosMembers, VirtualFunctionsLeadNowhere) {
  check_harmless(Square());
  expect_one_of_several([] { return std::shared_ptr<Law>(new Square()); });
}

KOKKOS_TEST(KokkosMembers, RawPointersInContainersAreFound) {
  check_found([](const Vector& x) { return x.data(); }, Found::exactly);
  check_found([](const Vector& x) { return std::vector<double*>{nullptr, x.data()}; });
  check_found([](const Vector& x) { return std::vector<std::vector<double*>>{{}, {x.data()}}; });
  check_found([](const Vector& x) { return std::make_shared<double*>(x.data()); });
  check_found([](const Vector& x) { return std::map<std::string, double*>{{"x", x.data()}, {"none", nullptr}}; });
}

/// A View captured by reference, within an object of the heap: the numbers beside it could be sizes of blocks.
KOKKOS_TEST(KokkosMembers, AViewBetweenNumbersIsFound) {
  struct Cell {
    std::size_t front = 0, number;
    Vector v;
    std::size_t numbers[128];
  };
  for (const std::size_t number : {48, 512}) {
    for (const std::size_t others : {std::size_t{48}, std::size_t{49}, std::size_t{1000000000}}) {
      const auto cell = std::make_unique<Cell>();
      cell->number = number;
      for (std::size_t& other : cell->numbers) other = others;
      cell->v = Vector("v", n);
      const Vector captured = cell->v;
      const Vector& referred = cell->v;
      const auto host = Kokkos::create_mirror_view(captured);
      Kokkos::parallel_for(Range(0, n), [captured](int i) { captured(i) = 1; });
      for (int i = 0; i < n; ++i) host(i) = i;
      Kokkos::deep_copy(captured, host);
      Kokkos::parallel_for(Range(0, n), [&referred](int i) { referred(i) += 1; });
      Kokkos::deep_copy(host, captured);
      EXPECT_EQ(host(n - 1), n) << number << ", " << others;
    }
  }
}

/// The launch after a shared_ptr has gained its View is another launch.
KOKKOS_TEST(KokkosMembers, AViewThatASharedPointerGains) {
  const Vector a("a", n), b("b", n), u("u", n);
  const auto host = Kokkos::create_mirror_view(b);
  iota(b);
  const auto shared = std::make_shared<Vector>();
  const AddThrough<std::shared_ptr<Vector>> f{shared, u};
  for (int round = 1; round <= 3; ++round) {
    *shared = Vector();
    Kokkos::parallel_for(Range(0, n), f);
    *shared = a;
    Kokkos::parallel_for(Range(0, n), f);
    for (int i = 0; i < n; ++i) host(i) = 100 * round;
    Kokkos::deep_copy(b, host);
    *shared = b;
    Kokkos::parallel_for(Range(0, n), f);
    Kokkos::deep_copy(host, b);
    EXPECT_EQ(host(n - 1), 100 * round + 1);
  }
}

/// As is one after a vector has grown.
KOKKOS_TEST(KokkosMembers, AListThatGrows) {
  const Vector u("u", n);
  std::vector<Vector> owner;
  const auto list = std::make_shared<std::vector<double*>>();
  const AddThrough<std::shared_ptr<std::vector<double*>>> f{list, u};
  for (int round = 1; round <= 20; ++round) {
    owner.emplace_back("x", n);
    Kokkos::deep_copy(owner.back(), -1.0);
    const auto host = Kokkos::create_mirror_view(owner.back());
    for (int i = 0; i < n; ++i) host(i) = round;
    Kokkos::deep_copy(owner.back(), host);
    list->push_back(owner.back().data());
    Kokkos::parallel_for(Range(0, n), f);
    Kokkos::deep_copy(host, owner.back());
    ASSERT_EQ(host(n - 1), round + 1);
  }
}

namespace kokkos_members {
struct OnTheStack {
  const Vector* view;
  Vector u;
  void operator()(int i) const { (*view)(i) += u(i) + 1; }
};
struct InAVariable {
  Vector* const* view;
  Vector u;
  void operator()(int i) const { (**view)(i) += u(i) + 1; }
};
struct FarAway {
  std::shared_ptr<Tree> tree;
  Vector u;
  void operator()(int i) const { u(i) += tree->value; }
};
struct Large {
  std::vector<double> numbers;
  Vector u;
  void operator()(int i) const { u(i) += numbers[0]; }
};
struct OfViews {
  Kokkos::View<Vector*, Device> views;
  void operator()(int i) const { views(0)(i) += 1; }
};
Vector* variable = nullptr;
}  // namespace kokkos_members

/// What stays unknown says why, and what helps.
KOKKOS_TEST(KokkosMembers, WhatStaysUnknownIsNamed) {
  const Vector x("x", n), u("u", n);
  const auto expect_reason = [](const char* name, std::initializer_list<const char*> parts) {
    const std::string reason = reason_of_unknown(name);
    for (const char* part : parts) EXPECT_NE(reason.find(part), std::string::npos) << name << ": " << reason;
  };
  Kokkos::parallel_for(Range(0, n), OnTheStack{&x, u});
  expect_reason("OnTheStack", {"byte 0 ", "the stack", "by value"});
  Vector copy = x;
  variable = &copy;
  Kokkos::parallel_for(Range(0, n), InAVariable{&variable, u});
  expect_reason("InAVariable", {"byte 0 ", "a variable of ", "by value"});
  variable = nullptr;
  Kokkos::parallel_for(Range(0, n), FarAway{tree(100), u});
  expect_reason("FarAway", {"8 blocks", "more memory than is looked through"});
  Kokkos::parallel_for(Range(0, n), Large{std::vector<double>(1 << 20, 1.0), u});
  expect_reason("Large", {"byte 0 ", "more memory than is looked through"});
  Kokkos::parallel_for(Range(0, 0), OfViews{Kokkos::View<Vector*, Device>("views of views", 1)});
  expect_reason("OfViews", {"'views of views'", "holds views"});
  EXPECT_EQ(on_host(x)(0), 2);
}
#endif
