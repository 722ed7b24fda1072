// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <mpi/support.hpp>
#include <semcache/linalg.hpp>
#include <semcache/semcache.hpp>

#include <set>

using namespace mpi_test;

// Messages from and to arrays whose parts lie on several devices, because a library call has computed them there. The environment says how many
// devices there are (SEMCACHE_DEVICES=3 SEMCACHE_SPREAD=always).
namespace {

constexpr std::int64_t n = 30000;
const MPI_Comm world = MPI_COMM_WORLD;

double value(int rank, std::int64_t i) { return 1000.0 * rank + static_cast<double>(i); }

std::size_t devices_of(const Array<double>& x) {
  std::set<std::uint32_t> devices;
  for (const semcache::runtime::HeldBytes& h : semcache::runtime::holders(x.data(), x.bytes())) devices.insert(h.device);
  return devices.size();
}
/// An array of twice the rank's values, a part of which each device has computed.
Array<double> spread(bool on_host) {
  Array<double> x = on_host ? Array<double>::on_host("x", n) : Array<double>::on_device("x", n);
  if (on_host) {
    for (std::int64_t i = 0; i < n; ++i) x[static_cast<std::size_t>(i)] = value(rank_of(), i);
  } else {
    write_on_device(x, 0, n, [](std::size_t i) { return value(rank_of(), static_cast<std::int64_t>(i)); });
  }
  semcache::linalg::scal(n, 2.0, x.data());
  EXPECT_EQ(devices_of(x), static_cast<std::size_t>(semcache::device_count()));
  return x;
}

TEST(MpiOfSpreadArrays, SendWhatAllDevicesHave) {
  for (const bool on_host : {false, true}) {
    const Array<double> x = spread(on_host), y = Array<double>::on_device("y", n);
    MPI_Sendrecv(x.data(), n, MPI_DOUBLE, right(), 1, y.data(), n, MPI_DOUBLE, left(), 1, world, MPI_STATUS_IGNORE);
    const std::vector<double> got = device_content(y);
    for (std::int64_t i = 0; i < n; ++i) ASSERT_EQ(got[static_cast<std::size_t>(i)], 2 * value(left(), i)) << i;
  }
}

// The bytes lie on both sides of the border between two devices' parts.
TEST(MpiOfSpreadArrays, ReceiveIntoTheMiddleAndGoOn) {
  constexpr std::int64_t first = n / 3 - 40, count = 80;
  for (const bool on_host : {false, true}) {
    const Array<double> x = spread(on_host);
    std::vector<double> sent(count, rank_of() + 0.5);
    MPI_Sendrecv(sent.data(), count, MPI_DOUBLE, right(), 1, x.data() + first, count, MPI_DOUBLE, left(), 1, world, MPI_STATUS_IGNORE);
    semcache::linalg::scal(n, 2.0, x.data());
    std::vector<double> got(n);
    semcache::runtime::copy(got.data(), x.data(), x.bytes(), semcache::runtime::queue_of(nullptr));
    for (std::int64_t i = 0; i < n; ++i) {
      const bool received = i >= first && i < first + count;
      ASSERT_EQ(got[static_cast<std::size_t>(i)], received ? 2 * (left() + 0.5) : 4 * value(rank_of(), i)) << i;
    }
  }
}

}  // namespace
