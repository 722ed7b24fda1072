// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <kokkos/support.hpp>

#include <Kokkos_DynRankView.hpp>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <tuple>

// What an observer of launches is told of a kernel and of the Views that it captured, and that nothing else changes by it.
namespace kokkos_launch_observer {
using namespace test;
namespace policy = semcache::policy;
namespace runtime = semcache::runtime;

struct ToldView {
  std::string label;
  policy::CapturedView view;
};
struct ToldLaunch {
  std::string kernel;
  std::uint32_t device;
  std::vector<ToldView> views;
  bool complete;
};

/// Keeps what it is told.
class Notes : public policy::LaunchObserver {
 public:
  void observe(const policy::ObservedLaunch& launch) override {
    ToldLaunch told{runtime::kernel_name(launch.kernel), launch.device, {}, launch.complete};
    for (std::size_t v = 0; v < launch.count; ++v) told.views.push_back({launch.views[v].label, launch.views[v]});
    const std::lock_guard<std::mutex> guard(mutex_);
    launches.push_back(told);
  }
  std::vector<ToldLaunch> launches;

 private:
  std::mutex mutex_;
};

/// Observes launches while it lives.
struct Observing {
  Observing() { runtime::observe_launches(notes); }
  ~Observing() { runtime::observe_launches(nullptr); }
  Observing(const Observing&) = delete;
  Observing& operator=(const Observing&) = delete;
  [[nodiscard]] const ToldLaunch& only() const {
    EXPECT_EQ(notes->launches.size(), 1u);
    static const ToldLaunch none{};
    return notes->launches.empty() ? none : notes->launches.front();
  }
  std::shared_ptr<Notes> notes = std::make_shared<Notes>();
};

template <class View>
struct Hold {
  View view;
  KOKKOS_FUNCTION void operator()(int) const {}
};
template <class View>
void launch_with(const View& view) {
  Kokkos::parallel_for("hold", Range(0, 1), Hold<View>{view});
}

/// Returns whether the launch was reported to use no other arrays, as far as that can be told.
bool is_complete(const ToldLaunch& launch) { return launch.complete || numbers_look_like_pointers; }

/// Views on mdspan have handles that do not know their Views' types.
constexpr bool shapes_are_known = !SEMCACHE_KOKKOS_MDSPAN_VIEW;

template <class View>
void expect_shape(const policy::ViewShape& shape, const View& view) {
  if (!shapes_are_known) {
    EXPECT_EQ(shape.rank, policy::ViewShape::unknown_rank);
    return;
  }
  const auto rank = static_cast<std::int32_t>(std::size_t(View::rank));
  ASSERT_EQ(shape.rank, rank);
  std::size_t strides[9] = {};
  view.stride(strides);
  for (std::int32_t d = 0; d < 8; ++d) {
    EXPECT_EQ(shape.extents[d], d < rank ? view.extent(d) : 0) << d;
    EXPECT_EQ(shape.strides[d], d < rank ? strides[d] : 0) << d;
  }
}

/// Launches a kernel that captures the View, which begins `offset` elements behind the begin of its array.
template <class View>
void expect_told(const View& view, const char* label, std::size_t offset = 0) {
  const Observing observing;
  for (int again = 0; again < 2; ++again) launch_with(view);
  ASSERT_EQ(observing.notes->launches.size(), 2u) << label;
  using Element = typename View::value_type;
  for (const ToldLaunch& launch : observing.notes->launches) {
    EXPECT_TRUE(is_complete(launch)) << label;
    ASSERT_EQ(launch.views.size(), 1u) << label;
    const policy::CapturedView& told = launch.views[0].view;
    EXPECT_EQ(launch.views[0].label, label);
    EXPECT_EQ(told.offset_bytes, offset * sizeof(Element)) << label;
    EXPECT_EQ(static_cast<const char*>(told.array) + told.offset_bytes, static_cast<const void*>(view.data())) << label;
    EXPECT_EQ(told.element_bytes, sizeof(Element)) << label;
    EXPECT_EQ(told.writable, !std::is_const<Element>::value) << label;
    expect_shape(told.shape, view);
  }
}

struct Cell {
  double values[3];
};

template <class Layout>
void expect_every_rank() {
  using Kokkos::View;
  expect_told(View<double, Layout, Device>("0"), "0");
  expect_told(View<double*, Layout, Device>("1", 7), "1");
  expect_told(View<double**, Layout, Device>("2", 7, 3), "2");
  expect_told(View<float***, Layout, Device>("3", 7, 3, 2), "3");
  expect_told(View<char****, Layout, Device>("4", 7, 3, 2, 5), "4");
  expect_told(View<int*****, Layout, Device>("5", 7, 3, 2, 5, 1), "5");
  expect_told(View<int******, Layout, Device>("6", 7, 3, 2, 5, 1, 2), "6");
  expect_told(View<int*******, Layout, Device>("7", 7, 3, 2, 5, 1, 2, 3), "7");
  expect_told(View<int********, Layout, Device>("8", 7, 3, 2, 5, 1, 2, 3, 4), "8");
  expect_told(View<double[5], Layout, Device>("static 1"), "static 1");
  expect_told(View<double[5][4], Layout, Device>("static 2"), "static 2");
  expect_told(View<double[5][4][3], Layout, Device>("static 3"), "static 3");
  expect_told(View<double* [4], Layout, Device>("mixed 2", 6), "mixed 2");
  expect_told(View<double** [4], Layout, Device>("mixed 3", 6, 5), "mixed 3");
}

}  // namespace kokkos_launch_observer
using namespace kokkos_launch_observer;

KOKKOS_STOCK_TEST(KokkosLaunchObserver, EveryRankInColumns) { expect_every_rank<Kokkos::LayoutLeft>(); }
KOKKOS_STOCK_TEST(KokkosLaunchObserver, EveryRankInRows) { expect_every_rank<Kokkos::LayoutRight>(); }

KOKKOS_STOCK_TEST(KokkosLaunchObserver, StridedPaddedAndEmpty) {
  const Kokkos::View<double**, Kokkos::LayoutStride, Device> strided("strided", Kokkos::LayoutStride(5, 3, 4, 30));
  expect_told(strided, "strided");
  const Kokkos::View<double***, Left, Device> padded(Kokkos::view_alloc("padded", Kokkos::AllowPadding), 129, 3, 2);
  expect_told(padded, "padded");
  const Matrix empty("empty", 0, 5);
  const Observing observing;
  launch_with(empty);
  EXPECT_EQ(observing.notes->launches.size(), 1u);
}

KOKKOS_STOCK_TEST(KokkosLaunchObserver, Subviews) {
  const Matrix columns("columns", 8, 6);
  const Kokkos::View<double***, Kokkos::LayoutRight, Device> rows("rows", 5, 6, 7);
  const auto some = Kokkos::make_pair(2, 5);
  expect_told(Kokkos::subview(columns, Kokkos::ALL, 3), "columns", 3 * 8);
  expect_told(Kokkos::subview(columns, 2, Kokkos::ALL), "columns", 2);
  expect_told(Kokkos::subview(columns, some, some), "columns", 2 + 2 * 8);
  expect_told(Kokkos::subview(rows, some, 1, Kokkos::ALL), "rows", 2 * 42 + 7);
  expect_told(Kokkos::subview(rows, 4, 5, 6), "rows", 4 * 42 + 5 * 7 + 6);
}

KOKKOS_STOCK_TEST(KokkosLaunchObserver, ElementsAndTraits) {
  using Kokkos::MemoryTraits;
  const Vector v("v", 10);
  expect_told(ConstVector(v), "v");
  expect_told(Kokkos::View<double*, Left, Device, MemoryTraits<Kokkos::Atomic>>(v), "v");
  expect_told(Kokkos::View<double*, Left, Device, Kokkos::MemoryUnmanaged>(v.data() + 4, 3), "v", 4);
  expect_told(Kokkos::View<const double**, Kokkos::LayoutRight, Device, MemoryTraits<Kokkos::RandomAccess | Kokkos::Unmanaged>>(
                  v.data(), 2, 5), "v");
  expect_told(Kokkos::View<Cell**, Device>("cells", 4, 5), "cells");
  expect_told(Kokkos::View<Kokkos::complex<double>*, Device>("complex", 4), "complex");
}

namespace kokkos_launch_observer {
struct AddRows {
  int rows;
  Kokkos::View<const double**, Kokkos::LayoutRight, Device> from;
  double factor;
  Vector to;
  ConstVector again;
  KOKKOS_FUNCTION void operator()(int i) const {
    if (i < rows) to(i) += factor * from(i, 1) + again(i);
  }
};
struct RowSums {
  using execution_space = Exec;
  Kokkos::View<const double**, Kokkos::LayoutRight, Device> from;
  KOKKOS_FUNCTION void operator()(const Member& team, double& sum) const { sum += from(team.league_rank(), 0); }
};
const policy::CapturedView* find(const ToldLaunch& launch, const std::string& label, bool writable) {
  for (const ToldView& v : launch.views) {
    if (v.label == label && v.view.writable == writable) return &v.view;
  }
  return nullptr;
}
}  // namespace kokkos_launch_observer

KOKKOS_STOCK_TEST(KokkosLaunchObserver, AFunctorWithSeveralViews) {
  const Kokkos::View<double**, Kokkos::LayoutRight, Device> from("from", 4, 3);
  const Vector to("to", 9);
  const AddRows add{4, from, 2, to, ConstVector(to.data() + 5, 4)};
  Kokkos::parallel_for("add", Range(0, 4), add);  // the observer comes when the launch is known already
  const Observing observing;
  Kokkos::parallel_for("add", Range(0, 4), add);
  const ToldLaunch& launch = observing.only();
  EXPECT_NE(launch.kernel.find("AddRows"), std::string::npos) << launch.kernel;
  EXPECT_EQ(launch.device, 0u);
  EXPECT_TRUE(is_complete(launch));
  ASSERT_EQ(launch.views.size(), 3u);
  const auto* matrix = find(launch, "from", false);
  const auto* written = find(launch, "to", true);
  const auto* read = find(launch, "to", false);
  ASSERT_TRUE(matrix && written && read);
  expect_shape(matrix->shape, add.from);
  expect_shape(written->shape, add.to);
  expect_shape(read->shape, add.again);
  EXPECT_EQ(read->offset_bytes, 40u);
  EXPECT_EQ(read->array, written->array);
  EXPECT_EQ(read->array_bytes, 72u);
  EXPECT_NE(read->array, matrix->array);
}

KOKKOS_STOCK_TEST(KokkosLaunchObserver, ALambda) {
  const Vector x("x", 10), y("y", 10);
  const ConstVector from = x;
  const double factor = 2;
  const Observing observing;
  Kokkos::parallel_for("axpy", Range(0, 10), KOKKOS_LAMBDA(int i) { y(i) += factor * from(i); });
  const ToldLaunch& launch = observing.only();
  EXPECT_TRUE(is_complete(launch));
  ASSERT_EQ(launch.views.size(), 2u);
  const auto* read = find(launch, "x", false);
  const auto* written = find(launch, "y", true);
  ASSERT_TRUE(read && written);
  expect_shape(read->shape, from);
  expect_shape(written->shape, y);
}

KOKKOS_STOCK_TEST(KokkosLaunchObserver, ReductionsScansAndTeams) {
  const Kokkos::View<double**, Kokkos::LayoutRight, Device> from("from", 4, 3);
  const Vector v("v", 10);
  const ConstVector c = v;
  const Kokkos::View<double, Device> result("result");
  double sum = 0;
  const Observing observing;
  auto& told = observing.notes->launches;
  Kokkos::parallel_reduce("to a scalar", Range(0, 10), KOKKOS_LAMBDA(int i, double& s) { s += c(i); }, sum);
  Kokkos::parallel_reduce("to a view", Range(0, 10), KOKKOS_LAMBDA(int i, double& s) { s += c(i); }, result);
  Kokkos::parallel_reduce("maximum", Range(0, 10), KOKKOS_LAMBDA(int i, double& s) { s = s < c(i) ? c(i) : s; },
                          Kokkos::Max<double>(sum));
  Kokkos::parallel_reduce("of teams", Team(4, 1), RowSums{from}, sum);
  Kokkos::parallel_for("blocks", Kokkos::MDRangePolicy<Exec, Kokkos::Rank<2>>({0, 0}, {4, 3}),
                       KOKKOS_LAMBDA(int i, int j) { from(i, j) += 1; });
  Kokkos::parallel_for("teams", Team(4, 1), KOKKOS_LAMBDA(const Member& team) { from(team.league_rank(), 0) += 1; });
  Kokkos::parallel_scan("scan", Range(0, 10), KOKKOS_LAMBDA(int i, double& s, bool last) {
    s += 1;
    if (last) v(i) = s;
  });
  ASSERT_EQ(told.size(), 7u);
  for (const std::size_t k : {0u, 2u}) {
    ASSERT_EQ(told[k].views.size(), 1u) << k;
    expect_shape(told[k].views[0].view.shape, c);
  }
  ASSERT_EQ(told[1].views.size(), 2u);
  const auto* into = find(told[1], "result", true);
  ASSERT_TRUE(into);
  EXPECT_EQ(into->element_bytes, 8u);
  EXPECT_EQ(into->shape.rank, policy::ViewShape::unknown_rank);
  for (const std::size_t k : {3u, 4u, 5u}) {
    ASSERT_EQ(told[k].views.size(), 1u) << k;
    EXPECT_EQ(told[k].views[0].view.writable, k != 3) << k;
    expect_shape(told[k].views[0].view.shape, from);
  }
  ASSERT_EQ(told[6].views.size(), 1u);
  expect_shape(told[6].views[0].view.shape, v);
}

KOKKOS_TEST(KokkosLaunchObserver, KernelsThatPointersLeadElsewhere) {
  const Vector v("v", 10), hidden("hidden", 10);
  double* const bare = hidden.data() + 3;
  const double number = 1;
  const Observing observing;
  auto& told = observing.notes->launches;
  Kokkos::parallel_for(Range(0, 7), KOKKOS_LAMBDA(int i) { v(i) = bare[i]; });
  Kokkos::parallel_for(Range(0, 1), KOKKOS_LAMBDA(int) { (void)number; });
  launch_with(Kokkos::View<Vector*, Device>("of views", 3));
  ASSERT_GE(told.size(), 3u);
  EXPECT_TRUE(is_complete(told[0]));
  ASSERT_EQ(told[0].views.size(), 2u);
  const auto* view = find(told[0], "v", true);
  const auto* pointed = find(told[0], "hidden", true);
  ASSERT_TRUE(view && pointed);
  expect_shape(view->shape, v);
  EXPECT_EQ(pointed->offset_bytes, 0u);
  EXPECT_EQ(pointed->element_bytes, 0u);
  EXPECT_EQ(pointed->shape.rank, policy::ViewShape::unknown_rank);
  EXPECT_TRUE(is_complete(told[1]));
  EXPECT_TRUE(told[1].views.empty());
  const auto of_views = std::find_if(told.begin() + 2, told.end(), [](const ToldLaunch& l) { return find(l, "of views", true); });
  ASSERT_NE(of_views, told.end());
  EXPECT_FALSE(of_views->complete);
}

KOKKOS_TEST(KokkosLaunchObserver, AFillNeedsNoKernelAndAnElementwiseCopyHasNoShape) {
  const Matrix left("left", 5, 4);
  const Kokkos::View<double**, Kokkos::LayoutRight, Device> right("right", 5, 4);
  const Observing observing;
  auto& told = observing.notes->launches;
  Kokkos::deep_copy(left, 2.0);
  EXPECT_TRUE(told.empty());
  Kokkos::deep_copy(right, left);
  ASSERT_EQ(told.size(), 1u);
  const auto* from = find(told[0], "left", false);
  const auto* to = find(told[0], "right", true);
  ASSERT_TRUE(from && to);
  for (const auto* v : {from, to}) {
    EXPECT_EQ(v->element_bytes, 8u);
    EXPECT_EQ(v->shape.rank, policy::ViewShape::unknown_rank);
  }
}

KOKKOS_TEST(KokkosLaunchObserver, ADynRankViewHasRankSeven) {
  const Kokkos::DynRankView<double, Left, Device> v("dynamic", 5, 4);
  const Observing observing;
  launch_with(v);
  const ToldLaunch& launch = observing.only();
  ASSERT_EQ(launch.views.size(), 1u);
  const policy::ViewShape& shape = launch.views[0].view.shape;
  if (!shapes_are_known) return;
  ASSERT_EQ(shape.rank, 7);
  EXPECT_EQ(shape.extents[0], 5u);
  EXPECT_EQ(shape.extents[1], 4u);
  for (int d = 2; d < 7; ++d) EXPECT_EQ(shape.extents[d], 1u) << d;
  EXPECT_EQ(shape.strides[1], 5u);
}

#ifndef KOKKOS_ENABLE_CUDA
namespace kokkos_launch_observer {
struct HoldList {
  std::vector<Vector> views;
  void operator()(int) const {}
};
#if !SEMCACHE_KOKKOS_MDSPAN_VIEW
/// A handle without its View: the words around it are others.
struct HoldHandle {
  std::uint64_t before = 0;
  Kokkos::Impl::ViewDataHandle<Vector::traits>::handle_type handle;
  std::uint64_t behind;
  void operator()(int) const {}
};
#endif
}  // namespace kokkos_launch_observer

TEST(KokkosLaunchObserver, AViewOnTheHeapHasNoShape) {
  const Vector v("v", 10);
  const Observing observing;
  Kokkos::parallel_for(Range(0, 1), HoldList{{v}});
  const ToldLaunch& launch = observing.only();
  EXPECT_TRUE(is_complete(launch));
  ASSERT_GE(launch.views.size(), 1u);
  EXPECT_EQ(launch.views[0].view.element_bytes, 8u);
  EXPECT_EQ(launch.views[0].view.shape.rank, policy::ViewShape::unknown_rank);
}

#if !SEMCACHE_KOKKOS_MDSPAN_VIEW
TEST(KokkosLaunchObserver, AHandleWithoutAViewHasNoShapeThatLeavesItsArray) {
  const Vector v("v", 10);
  using Handle = decltype(HoldHandle::handle);
  const Observing observing;
  for (const std::uint64_t behind : {std::uint64_t{11}, ~std::uint64_t{0}}) {
    Kokkos::parallel_for(Range(0, 1), HoldHandle{0, Handle(v.data()), behind});
    ASSERT_EQ(observing.notes->launches.back().views.size(), 1u);
    EXPECT_EQ(observing.notes->launches.back().views[0].view.shape.rank, policy::ViewShape::unknown_rank) << behind;
  }
}
#endif
#endif

// --- what does not change -------------------------------------------------------------------------------------------
namespace kokkos_launch_observer {
struct Counts {
  std::uint64_t launches, unknown, h2d, d2h, d2d, h2d_count, d2h_count, faults, filled;
  double result;
  [[nodiscard]] auto all() const { return std::tie(launches, unknown, h2d, d2h, d2d, h2d_count, d2h_count, faults, filled, result); }
};

template <int test>
struct AddTo {
  ConstVector from;
  Vector to;
  KOKKOS_FUNCTION void operator()(int i) const { to(i) += from(i); }
};

/// A small program whose launches are partly known, and which moves content in both directions.
Counts run_program() {
  constexpr int n = 5000;
  const Vector a("a", n), b("b", n), unused("unused", n);
  const auto host = Kokkos::create_mirror_view(a);
  const Since since;
  double result = 0;
  for (int k = 1; k <= 4; ++k) {
    for (int i = 0; i < n; ++i) host(i) = k;
    Kokkos::deep_copy(a, host);
    for (int again = 0; again < 3; ++again) Kokkos::parallel_for("add", Range(0, n), AddTo<0>{a, b});
    double total = 0;
    Kokkos::parallel_reduce("sum", Range(0, n), KOKKOS_LAMBDA(int i, double& s) { s += b(i); }, total);
    Kokkos::deep_copy(host, b);
    result += host(n - 1) + total;
  }
  return {since.launches(), since.unknown(), since.h2d(), since.d2h(), since.d2d(), since.h2d_count(), since.d2h_count(),
          since.faults(), since.filled(), result};
}
}  // namespace kokkos_launch_observer

KOKKOS_STOCK_TEST(KokkosLaunchObserver, NothingElseChangesByIt) {
  run_program();  // habits form
  const Counts before = run_program();
  Counts observed{};
  std::size_t told = 0;
  {
    const Observing observing;
    observed = run_program();
    told = observing.notes->launches.size();
  }
  const Counts after = run_program();
  EXPECT_EQ(observed.all(), before.all());
  EXPECT_EQ(after.all(), before.all());
  EXPECT_EQ(told, before.launches);
}

/// A launch that is known stays known while nobody observes, and becomes known again when nobody observes any more.
KOKKOS_STOCK_TEST(KokkosLaunchObserver, KnownLaunchesAreUsedWhileNobodyObserves) {
  const Vector a("a", 10), b("b", 10);
  const AddTo<1> add{a, b};  // one object, because Views may have words that nobody has initialised
  const auto launch = [&] { Kokkos::parallel_for("add", Range(0, 10), add); };
  const auto& memo = semcache::kokkos::MemoOf<AddTo<1>>::of_this_thread().memo;
  for (int k = 0; k < 3; ++k) launch();
  EXPECT_EQ(memo.written, 1u);
  EXPECT_EQ(memo.count, 2u);
  {
    const Observing observing;
    launch();
    launch();
    EXPECT_EQ(memo.written, 3u) << "each launch is looked at anew";
    EXPECT_EQ(observing.notes->launches.size(), 2u);
  }
  for (int k = 0; k < 3; ++k) launch();
  EXPECT_EQ(memo.written, 3u);
  EXPECT_EQ(memo.count, 2u);
}

// --- the observer itself --------------------------------------------------------------------------------------------
namespace kokkos_launch_observer {
template <class Function>
class Calling : public policy::LaunchObserver {
 public:
  explicit Calling(Function function) : function_(std::move(function)) {}
  void observe(const policy::ObservedLaunch& launch) override { function_(launch); }

 private:
  Function function_;
};
template <class Function>
void observe_by(Function function) {
  runtime::observe_launches(std::make_shared<Calling<Function>>(std::move(function)));
}
struct Refused : std::runtime_error {
  using std::runtime_error::runtime_error;
};
void set_to(const Vector& v, double value) {
  Kokkos::parallel_for("set", Range(0, v.extent(0)), KOKKOS_LAMBDA(int i) { v(i) = value; });
}
}  // namespace kokkos_launch_observer

KOKKOS_STOCK_TEST(KokkosLaunchObserver, AnObserverThatThrowsRefusesTheLaunch) {
  const Vector v("v", 10);
  set_to(v, 1);
  observe_by([](const policy::ObservedLaunch&) { throw Refused("not this one"); });
  const Since since;
  EXPECT_THROW(set_to(v, 2), Refused);
  // The result's mirror keeps its content, too.
  const Kokkos::View<double, HostMirrorSpace> result("result");
  result() = 5;
  const ConstVector c = v;
  EXPECT_THROW(Kokkos::parallel_reduce(Range(0, 10), KOKKOS_LAMBDA(int i, double& s) { s += c(i); }, result), Refused);
  EXPECT_EQ(result(), 5);
  runtime::observe_launches(nullptr);
  EXPECT_EQ(since.launches(), 0u);
  EXPECT_EQ(sum(v), 10);
  set_to(v, 3);
  EXPECT_EQ(sum(v), 30);
}

KOKKOS_STOCK_TEST(KokkosLaunchObserver, AnObserverMayUseArraysLaunchAndRemoveItself) {
  const Vector v("v", 10), other("other", 10);
  const auto host = Kokkos::create_mirror_view(v);
  set_to(v, 1);
  int calls = 0;
  observe_by([&](const policy::ObservedLaunch&) {
    ++calls;
    set_to(other, 7);  // is not told of
    Kokkos::deep_copy(host, v);
    EXPECT_EQ(host(9), calls) << "the launch has not begun";
    if (calls == 2) runtime::observe_launches(nullptr);
  });
  for (int k = 2; k <= 5; ++k) set_to(v, k);
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(sum(v), 50);
  EXPECT_EQ(sum(other), 70);
}

KOKKOS_STOCK_TEST(KokkosLaunchObserver, TheNewOneTakesThePlaceOfTheFormer) {
  const Vector v("v", 10);
  const auto first = std::make_shared<Notes>(), second = std::make_shared<Notes>();
  runtime::observe_launches(first);
  set_to(v, 1);
  runtime::observe_launches(second);
  EXPECT_EQ(first.use_count(), 1) << "the former one is given up";
  set_to(v, 2);
  set_to(v, 3);
  runtime::observe_launches(nullptr);
  EXPECT_EQ(second.use_count(), 1);
  set_to(v, 4);
  EXPECT_EQ(first->launches.size(), 1u);
  EXPECT_EQ(second->launches.size(), 2u);
}

namespace kokkos_launch_observer {
/// Ends after its last call.
class Mortal : public policy::LaunchObserver {
 public:
  ~Mortal() override {
    alive_ = false;
    ended.fetch_add(1);
  }
  void observe(const policy::ObservedLaunch& launch) override {
    EXPECT_TRUE(alive_.load());
    EXPECT_EQ(launch.count, 1u);
    const policy::ViewShape& shape = launch.views[0].shape;
    // The shape is not known where the closure was constructed before the observer came.
    if (shape.rank != policy::ViewShape::unknown_rank) {
      EXPECT_EQ(shape.rank, 1);
      EXPECT_EQ(shape.extents[0], 10u);
    }
    calls.fetch_add(1);
    std::this_thread::yield();
    EXPECT_TRUE(alive_.load());
  }
  static inline std::atomic<int> calls{0}, ended{0};

 private:
  std::atomic<bool> alive_{true};
};
}  // namespace kokkos_launch_observer

TEST(KokkosLaunchObserver, IsReplacedAndRemovedWhileOtherThreadsLaunch) {
  if (host_is_threads) GTEST_SKIP() << "Kokkos' Threads takes kernels from the main thread only";
  constexpr int lanes = 3, rounds = 300;
  std::vector<Vector> arrays;
  for (int t = 0; t < lanes; ++t) arrays.emplace_back("of a lane", 10);
  std::atomic<bool> over{false};
  std::atomic<long> launched{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < lanes; ++t) {
    threads.emplace_back([&, t] {
      while (!over.load()) {
        Kokkos::parallel_for(Range(0, 10), Hold<Vector>{arrays[static_cast<std::size_t>(t)]});
        launched.fetch_add(1);
      }
    });
  }
  Mortal::calls = Mortal::ended = 0;
  for (int k = 0; k < rounds; ++k) {
    const long before = launched.load();
    runtime::observe_launches(std::make_shared<Mortal>());
    while (launched.load() < before + lanes) std::this_thread::yield();
    if (k % 2 == 0) runtime::observe_launches(nullptr);
  }
  runtime::observe_launches(nullptr);
  over = true;
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(Mortal::ended.load(), rounds);
  EXPECT_GT(Mortal::calls.load(), 0);
}
