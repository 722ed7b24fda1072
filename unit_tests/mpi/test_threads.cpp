// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <mpi/support.hpp>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

using namespace mpi_test;

namespace {

constexpr std::size_t part = 300;

TEST(MpiThreads, ExchangeOnOneArrayWhileKernelsRunOnIt) {
  int provided = 0;
  MPI_Query_thread(&provided);
  if (provided != MPI_THREAD_MULTIPLE) GTEST_SKIP() << "this MPI library has no MPI_THREAD_MULTIPLE";
  constexpr int threads = 3;
  constexpr int rounds = 60;
  // Every thread has a part that it sends and one that it receives; the last part belongs to the kernels.
  const auto x = Array<int>::on_device("x", (2 * threads + 1) * part);
  const auto side = Array<int>::on_host("x", x.size(), &x);
  write_on_device(x, 0, x.size(), [](std::size_t i) { return rank_of() + static_cast<int>(i); });
  std::atomic<bool> stop{false};
  std::vector<std::thread> team;

  for (int t = 0; t < threads; ++t) {
    team.emplace_back([&, t] {
      const std::size_t sent = 2 * static_cast<std::size_t>(t) * part;
      int* const to_right = (t == 0 ? side : x).data() + sent;
      int* const from_left = (t == 1 ? side : x).data() + sent + part;
      for (int round = 0; round < rounds; ++round) {
        MPI_Request requests[2];
        MPI_Irecv(from_left, part, MPI_INT, left(), t, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(to_right, part, MPI_INT, right(), t, MPI_COMM_WORLD, &requests[1]);
        if (round % 2 == 0) {
          MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        } else {
          for (int done = 0; done < 2;) {
            int flag = 0;
            int index = 0;
            MPI_Testany(2, requests, &index, &flag, MPI_STATUS_IGNORE);
            done += flag;
          }
        }
      }
    });
  }
  std::thread kernels([&] {
    for (int k = 0; !stop; ++k) {
      write_on_device(x, 2 * threads * part, x.size(), [&](std::size_t) { return k; });
      std::this_thread::yield();
    }
  });
  for (std::thread& t : team) t.join();
  stop = true;
  kernels.join();

  const std::vector<int> got = device_content(x);
  for (std::size_t t = 0; t < threads; ++t) {
    for (std::size_t i = 0; i < part; ++i) {
      ASSERT_EQ(got[2 * t * part + i], rank_of() + static_cast<int>(2 * t * part + i));
      ASSERT_EQ(got[(2 * t + 1) * part + i], left() + static_cast<int>(2 * t * part + i)) << "thread " << t;
    }
  }
  EXPECT_EQ(semcache::mpi::pending_requests(), 0u);
}

/// A handle that one thread's call gives back is another thread's before that call returns.
TEST(MpiThreads, HandlesGoFromThreadToThread) {
  int provided = 0;
  MPI_Query_thread(&provided);
  if (provided != MPI_THREAD_MULTIPLE) GTEST_SKIP() << "this MPI library has no MPI_THREAD_MULTIPLE";
  constexpr int large = 1 << 18;
  constexpr int small = 512;
  constexpr int several = 200;
  MPI_Comm ours, others;
  MPI_Comm_dup(MPI_COMM_SELF, &ours);
  MPI_Comm_dup(MPI_COMM_SELF, &others);
  std::atomic<bool> stop{false};
  std::thread other([&] {
    std::vector<double> got(several);
    std::vector<MPI_Request> receives(several), sends(several);
    const double one = 1;
    while (!stop) {
      for (int i = 0; i < several; ++i)
        MPI_Irecv(&got[static_cast<std::size_t>(i)], 1, MPI_DOUBLE, 0, 0, others,
                  &receives[static_cast<std::size_t>(i)]);
      for (MPI_Request& r : sends) MPI_Isend(&one, 1, MPI_DOUBLE, 0, 0, others, &r);
      for (std::size_t i = 0; i < several; ++i) {
        MPI_Wait(&receives[i], MPI_STATUS_IGNORE);
        MPI_Wait(&sends[i], MPI_STATUS_IGNORE);
      }
    }
  });
  const auto first = Array<double>::on_host("first", large);
  const auto second = Array<double>::on_host("second", small);
  for (int round = 1; round <= 60; ++round) {
    const std::vector<double> sent(large, round);
    MPI_Request requests[2];
    MPI_Irecv(first.data(), large, MPI_DOUBLE, 0, 1, ours, &requests[0]);
    MPI_Irecv(second.data(), small, MPI_DOUBLE, 0, 2, ours, &requests[1]);
    MPI_Send(sent.data(), large, MPI_DOUBLE, 0, 1, ours);
    MPI_Send(sent.data(), small, MPI_DOUBLE, 0, 2, ours);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    EXPECT_EQ(first[large - 1], round);
    EXPECT_EQ(second[0], round);
    EXPECT_EQ(second[small - 1], round);
  }
  stop = true;
  other.join();
  MPI_Comm_free(&ours);
  MPI_Comm_free(&others);
}

/// The library has one handle for them.
TEST(MpiThreads, CollectivesThatAreCompleteAtOnceAreTheirOwnThreads) {
  int provided = 0;
  MPI_Query_thread(&provided);
  if (provided != MPI_THREAD_MULTIPLE) GTEST_SKIP() << "this MPI library has no MPI_THREAD_MULTIPLE";
  constexpr int rounds = 500;
  constexpr int many = 1 << 14;
  MPI_Comm alone[2];
  for (MPI_Comm& c : alone) MPI_Comm_dup(MPI_COMM_SELF, &c);
  std::atomic<int> stale{0};
  std::vector<std::thread> threads;
  for (const MPI_Comm c : alone) {
    threads.emplace_back([&stale, c] {
      const auto x = Array<int>::on_host("x", many);
      std::vector<int> sent(many);
      for (int round = 1; round <= rounds; ++round) {
        std::fill(sent.begin(), sent.end(), round);
        MPI_Request request;
        MPI_Iallreduce(sent.data(), x.data(), many, MPI_INT, MPI_SUM, c, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (x[0] != round || x[many - 1] != round) ++stale;
      }
    });
  }
  for (std::thread& t : threads) t.join();
  for (MPI_Comm& c : alone) MPI_Comm_free(&c);
  EXPECT_EQ(stale.load(), 0);
}

}  // namespace
