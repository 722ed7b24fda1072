// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/runtime/runtime.hpp>
#include <semcache/semcache.hpp>

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

// What an adapter tells the observer of launches, and what the observer gets of it.
namespace semcache::runtime {
namespace {

struct Notes final : policy::LaunchObserver {
  void observe(const policy::ObservedLaunch& launch) override {
    ++calls;
    complete = launch.complete;
    views.assign(launch.views, launch.views + launch.count);
  }
  int calls = 0;
  bool complete = false;
  std::vector<policy::CapturedView> views;
};

constexpr HandleType of_doubles{24, 0, sizeof(double), false, nullptr};
constexpr HandleType of_views{24, 0, 24, true, nullptr};
constexpr std::size_t n = 100;

policy::ViewShape columns(std::uint64_t rows, std::uint64_t columns, std::uint64_t stride) {
  policy::ViewShape shape;
  shape.rank = 2;
  shape.extents[0] = rows;
  shape.extents[1] = columns;
  shape.strides[0] = 1;
  shape.strides[1] = stride;
  return shape;
}

class ObservedLaunches : public testing::Test {
 protected:
  ObservedLaunches() : array(static_cast<double*>(allocate_device("array", n * sizeof(double)))) { observe_launches(notes); }
  ~ObservedLaunches() override {
    observe_launches(nullptr);
    deallocate(array);
  }
  void tell(const Capture& capture, const policy::ViewShape& shape) const {
    tell_observer(queue_of(nullptr), "kernel", &capture, 1, nullptr, &shape, 1);
  }
  [[nodiscard]] Capture at(std::size_t element) const { return {array + element, nullptr, &of_doubles, true, false}; }

  double* array;
  std::shared_ptr<Notes> notes = std::make_shared<Notes>();
};

TEST_F(ObservedLaunches, AViewThatEndsWithItsArrayHasAShape) {
  tell(at(10), columns(9, 10, 9));
  ASSERT_EQ(notes->views.size(), 1u);
  const policy::CapturedView& view = notes->views[0];
  EXPECT_EQ(view.label, std::string("array"));
  EXPECT_EQ(view.array, array);
  EXPECT_EQ(view.array_bytes, n * sizeof(double));
  EXPECT_EQ(view.offset_bytes, 10 * sizeof(double));
  EXPECT_EQ(view.element_bytes, sizeof(double));
  EXPECT_TRUE(view.writable);
  EXPECT_EQ(view.shape.rank, 2);
  EXPECT_EQ(view.shape.extents[1], 10u);
  EXPECT_TRUE(notes->complete);
}

TEST_F(ObservedLaunches, AShapeThatLeavesTheArrayIsNotBelieved) {
  const std::uint64_t largest = ~std::uint64_t{0};
  for (const policy::ViewShape& shape : {columns(9, 10, 10), columns(10, 10, 9), columns(2, 2, largest), columns(largest, 1, 1)}) {
    tell(at(10), shape);
    ASSERT_EQ(notes->views.size(), 1u);
    EXPECT_EQ(notes->views[0].shape.rank, policy::ViewShape::unknown_rank);
    EXPECT_EQ(notes->views[0].shape.extents[0], 0u);
    EXPECT_EQ(notes->views[0].offset_bytes, 10 * sizeof(double));
  }
}

TEST_F(ObservedLaunches, CapturesWithoutShapesAndOutsideOfArrays) {
  double elsewhere = 0;
  const Capture captures[] = {at(0), {nullptr, nullptr, &of_doubles, true, false}, {array + 3, nullptr, nullptr, false, false}};
  tell_observer(queue_of(nullptr), "kernel", captures, 3, nullptr, nullptr, 0);
  ASSERT_EQ(notes->views.size(), 2u);
  EXPECT_TRUE(notes->complete) << "a View that is null leads nowhere";
  EXPECT_EQ(notes->views[0].shape.rank, policy::ViewShape::unknown_rank);
  EXPECT_EQ(notes->views[1].element_bytes, 0u);
  EXPECT_FALSE(notes->views[1].writable);
  const Capture foreign{&elsewhere, nullptr, &of_doubles, true, false};
  tell_observer(queue_of(nullptr), "kernel", &foreign, 1, nullptr, nullptr, 0);
  EXPECT_TRUE(notes->views.empty());
  EXPECT_FALSE(notes->complete);
  const Capture views{array, nullptr, &of_views, true, true};
  tell_observer(queue_of(nullptr), "kernel", &views, 1, nullptr, nullptr, 0);
  EXPECT_EQ(notes->views.size(), 1u);
  EXPECT_FALSE(notes->complete) << "its elements may lead anywhere";
}

TEST_F(ObservedLaunches, KnownOperandsAreNotCurrentWhileLaunchesAreObserved) {
  KnownOperand operand;
  ASSERT_TRUE(identify(at(0), operand));
  EXPECT_TRUE(launches_are_observed());
  EXPECT_FALSE(are_current(&operand, 1, epoch()));
  observe_launches(nullptr);
  EXPECT_FALSE(launches_are_observed());
  EXPECT_TRUE(are_current(&operand, 1, epoch()));
  tell(at(0), {});
  EXPECT_EQ(notes->calls, 0);
}

TEST_F(ObservedLaunches, AForkedChildIsRefused) {
  const pid_t child = ::fork();
  if (child == 0) {
    try {
      observe_launches(nullptr);
    } catch (const UsageError&) {
      ::_exit(7);
    } catch (...) {
    }
    ::_exit(1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7) << status;
}

TEST_F(ObservedLaunches, TheObserverStaysAcrossTheEndOfTheRuntime) {
  deallocate(array);
  finalize();
  array = static_cast<double*>(allocate_device("array", n * sizeof(double)));
  tell(at(0), {});
  EXPECT_EQ(notes->calls, 1);
  EXPECT_EQ(notes->views.size(), 1u);
}

}  // namespace
}  // namespace semcache::runtime
