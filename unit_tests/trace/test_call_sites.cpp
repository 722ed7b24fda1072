// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
//
// Compiled with debug information: what is counted is counted for the statement of the program that it happened for.
#include <semcache/trace/detail/call_stack.hpp>
#include <semcache/trace/detail/symbol.hpp>
#include <semcache/trace/recorder.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <thread>
#include <vector>

using namespace semcache::trace;
using semcache::NamedCounters;
using semcache::Traffic;

#define NOT_INLINED [[gnu::noinline, gnu::noclone]]
// Behind a last call: else it is a jump, and its caller has left the stack.
#define STAYS asm volatile("")

// Stand-ins for the layers between a program and the runtime.
namespace Kokkos {
template <class T>
NOT_INLINED void deep_copy(Recorder& recorder, T bytes) {
  recorder.moved(Kind::h2d, {}, bytes);
  STAYS;
}
template <class T>
inline void deep_copy_inlined(Recorder& recorder, T bytes) {
  deep_copy(recorder, bytes);
}
}  // namespace Kokkos
extern "C" {
NOT_INLINED void MPI_Send_of_ours(Recorder& recorder) {
  Kokkos::deep_copy(recorder, 5u);
  STAYS;
}
// The program's own, whatever they look like.
NOT_INLINED void mpi_exchange(Recorder& recorder) {
  Kokkos::deep_copy(recorder, 6u);
  STAYS;
}
}
namespace Kokkos_like {
NOT_INLINED void cooperate(Recorder& recorder) {
  Kokkos::deep_copy(recorder, 8u);
  STAYS;
}
}  // namespace Kokkos_like

namespace {

int line_of_first = 0, line_of_second = 0;

NOT_INLINED void first(Recorder& recorder) {
  line_of_first = __LINE__ + 1;
  Kokkos::deep_copy(recorder, 64u);
  STAYS;
}
NOT_INLINED void second(Recorder& recorder) {
  line_of_second = __LINE__ + 1;
  std::invoke([&] { Kokkos::deep_copy_inlined(recorder, 7u); });
  STAYS;
}
NOT_INLINED void third(Recorder& recorder) {
  MPI_Send_of_ours(recorder);
  STAYS;
}
NOT_INLINED void fifth(Recorder& recorder) {
  mpi_exchange(recorder);
  STAYS;
}
NOT_INLINED void fourth(Recorder& recorder) {
  recorder.unknown_launch("functor");
  STAYS;
}

struct CallSites : testing::Test {
  void SetUp() override {
#ifndef SEMCACHE_HAVE_BACKTRACE
    GTEST_SKIP() << "built without libbacktrace: functions of a program have no names";
#endif
  }
  static RecorderOptions options(std::size_t stacks = 100) {
    RecorderOptions o;
    o.call_sites = true;
    o.max_stacks = stacks;
    return o;
  }
  /// The one site whose name has `part`; an empty one if there is none or more.
  static NamedCounters site(const Recorder& recorder, const std::string& part) {
    std::vector<NamedCounters> found;
    std::string all;
    for (const NamedCounters& n : recorder.snapshot().call_sites) {
      all += n.name + "\n";
      if (n.name.find(part) != std::string::npos) found.push_back(n);
    }
    EXPECT_EQ(found.size(), 1u) << part << " among\n" << all;
    return found.size() == 1 ? found[0] : NamedCounters{};
  }
};

}  // namespace

TEST_F(CallSites, AreTheProgramsOwnStatements) {
  Recorder recorder(options());

  first(recorder);
  second(recorder);
  third(recorder);
  fourth(recorder);
  fifth(recorder);
  Kokkos_like::cooperate(recorder);
  std::thread([&] {
    Kokkos::deep_copy(recorder, 9u);
    STAYS;
  }).join();

  EXPECT_EQ(recorder.snapshot().call_sites.size(), 7u);
  EXPECT_EQ(site(recorder, " in mpi_exchange").counters.h2d, (Traffic{6, 1}));
  EXPECT_EQ(site(recorder, " in Kokkos_like::cooperate").counters.h2d, (Traffic{8, 1}));
  EXPECT_EQ(site(recorder, ":" + std::to_string(__LINE__ - 7) + " in ").counters.h2d, (Traffic{9, 1}));
  EXPECT_EQ(site(recorder, "test_call_sites.cpp:" + std::to_string(line_of_first) + " in ").counters.h2d,
            (Traffic{64, 1}));
  EXPECT_EQ(site(recorder, "test_call_sites.cpp:" + std::to_string(line_of_second) + " in ").counters.h2d, (Traffic{7, 1}));
  EXPECT_EQ(site(recorder, "third").counters.h2d, (Traffic{5, 1}));
  EXPECT_EQ(site(recorder, "fourth").counters.unknown_launches, 1u);
}

TEST_F(CallSites, AreOneHoweverTheyAreReached) {
  Recorder recorder(options());
  const std::function<void(int)> from_a_depth = [&](int depth) {
    if (depth > 0) {
      from_a_depth(depth - 1);
    } else {
      first(recorder);
    }
  };

  for (int depth = 0; depth < 5; ++depth) from_a_depth(depth);

  EXPECT_EQ(site(recorder, "first").counters.h2d, (Traffic{5 * 64, 5}));
}

TEST_F(CallSites, BeyondTheBoundAreSummed) {
  Recorder recorder(options(1));

  first(recorder);
  second(recorder);
  third(recorder);

  EXPECT_EQ(site(recorder, "first").counters.h2d, (Traffic{64, 1}));
  EXPECT_EQ(site(recorder, "(other call sites)").counters.h2d, (Traffic{12, 2}));
}

TEST_F(CallSites, AreNotCountedUnlessAskedFor) {
  Recorder recorder;

  first(recorder);

  EXPECT_TRUE(recorder.snapshot().call_sites.empty());
}

TEST_F(CallSites, OfAServedAccessAreWhereItWasMade) {
  Recorder recorder(options());
  const auto inside_first = reinterpret_cast<const char*>(&first) + 1;

  {
    const AccessScope scope(inside_first);
    second(recorder);
    recorder.count(Event::host_faults, {});
  }
  {
    const AccessScope scope(nullptr);
    second(recorder);
  }
  second(recorder);

  const NamedCounters known = site(recorder, "host access: test_call_sites.cpp:");
  EXPECT_NE(known.name.find("first"), std::string::npos) << known.name;
  EXPECT_EQ(known.counters.h2d, (Traffic{7, 1}));
  EXPECT_EQ(known.counters.host_faults, 1u);
  std::size_t unknown = 0;
  for (const NamedCounters& n : recorder.snapshot().call_sites) unknown += n.name == "host access" ? n.counters.h2d.count : 0;
  EXPECT_EQ(unknown, 1u);
  EXPECT_EQ(site(recorder, ":" + std::to_string(line_of_second) + " in ").counters.h2d, (Traffic{7, 1}));
}

TEST_F(CallSites, InNoLoadedObjectAreNumbers) {
  detail::CallStack stack;
  stack.addresses[0] = 0x1230;
  stack.depth = 1;

  EXPECT_EQ(detail::describe(stack), "0x1230");
}

TEST_F(CallSites, InAStrippedProgramAreAllCalls) {
  detail::CallStack stack;
  stack.addresses = {0x1230, 0x4560};
  stack.depth = 2;

  EXPECT_EQ(detail::describe(stack), "0x1230 < 0x4560");
}
