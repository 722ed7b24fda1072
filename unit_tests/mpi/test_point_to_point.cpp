// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <mpi/support.hpp>

#include <cerrno>

#include <sys/prctl.h>
#include <sys/uio.h>
#include <unistd.h>

using namespace mpi_test;

namespace {

constexpr std::size_t n = 5 * 512 + 7;  // some pages and a bit
constexpr std::size_t halo = 33;
constexpr std::uint64_t halo_bytes = halo * sizeof(double);
const MPI_Comm world = MPI_COMM_WORLD;

double value(int rank, std::size_t i) { return 1000.0 * rank + static_cast<double>(i); }
double mine(std::size_t i) { return value(rank_of(), i); }
double lefts(std::size_t i) { return value(left(), i); }

/// A vector on the device whose first `halo` elements come from the left and whose last ones go to the right.
struct Ring {
  Ring() { write_on_device(x, 0, n, mine); }
  [[nodiscard]] static std::vector<double> exchanged() {
    return expected<double>(n, [](std::size_t i) { return i < halo ? lefts(n - halo + i) : mine(i); });
  }
  Array<double> x = Array<double>::on_device("x", n);
  double* const from_left = x.data();
  double* const to_right = x.data() + n - halo;
};

/// Gets `halo` elements from the left, in ordinary memory.
class Incoming {
 public:
  Incoming() { MPI_Irecv(got_.data(), halo, MPI_DOUBLE, left(), 0, world, &request_); }
  std::vector<double> content() {
    MPI_Wait(&request_, MPI_STATUS_IGNORE);
    return got_;
  }

 private:
  std::vector<double> got_ = std::vector<double>(halo);
  MPI_Request request_;
};

/// Sends `halo` elements to the right, from ordinary memory.
void send_plain() {
  const std::vector<double> sent = expected<double>(halo, mine);
  MPI_Send(sent.data(), halo, MPI_DOUBLE, right(), 0, world);
}
/// The same, when the receiver blocks first.
struct Outgoing {
  Outgoing() { MPI_Isend(sent.data(), halo, MPI_DOUBLE, right(), 0, world, &request); }
  ~Outgoing() { MPI_Wait(&request, MPI_STATUS_IGNORE); }
  std::vector<double> sent = expected<double>(halo, mine);
  MPI_Request request;
};

TEST(MpiPointToPoint, OfADeviceViewTheHaloMovesAndNothingElse) {
  const Ring ring;
  const Since since("x");

  MPI_Request request;
  MPI_Irecv(ring.from_left, halo, MPI_DOUBLE, left(), 0, world, &request);
  MPI_Send(ring.to_right, halo, MPI_DOUBLE, right(), 0, world);
  MPI_Wait(&request, MPI_STATUS_IGNORE);

  EXPECT_EQ(device_content(ring.x), Ring::exchanged());
  EXPECT_EQ(since.to_host(), semcache::mpi::uses_device_addresses(halo_bytes) ? 0 : halo_bytes);
  EXPECT_EQ(since.to_device(), semcache::mpi::uses_device_addresses(halo_bytes) ? 0 : halo_bytes);
  EXPECT_EQ(since.within_device(), semcache::mpi::uses_device_addresses(halo_bytes) ? 2 * halo_bytes : 0);
}

TEST(MpiPointToPoint, OfAStaleMirrorTheUsedRangeIsFetchedOnce) {
  const Ring ring;
  const auto mirror = Array<double>::on_host("mirror", n);
  semcache::runtime::copy(mirror.data(), ring.x.data(), ring.x.bytes(), {});
  const Since since;

  for (int round = 0; round < 3; ++round) {
    Incoming incoming;
    MPI_Send(mirror.data() + 100, halo, MPI_DOUBLE, right(), 0, world);
    EXPECT_EQ(incoming.content(), expected<double>(halo, [](std::size_t i) { return lefts(100 + i); }));
  }

  EXPECT_EQ(since.to_host(), halo_bytes);
  EXPECT_EQ(since.faults(), 0u);
}

TEST(MpiPointToPoint, AMirrorIsReceivedWithoutFetchingAndReachesTheDeviceExactly) {
  const Ring ring;
  const auto mirror = Array<double>::on_host("mirror", n);
  semcache::runtime::copy(mirror.data(), ring.x.data(), ring.x.bytes(), {});
  {
    const Since since;
    const Outgoing outgoing;
    MPI_Recv(mirror.data() + 700, halo, MPI_DOUBLE, left(), 0, world, MPI_STATUS_IGNORE);
    EXPECT_EQ(since.over_link(), 0u);
  }
  const Since since;

  semcache::runtime::copy(ring.x.data(), mirror.data(), ring.x.bytes(), {});

  EXPECT_EQ(device_content(ring.x),
            expected<double>(n, [](std::size_t i) { return i >= 700 && i < 700 + halo ? lefts(i - 700) : mine(i); }));
  EXPECT_EQ(since.over_link(), halo_bytes);
  EXPECT_EQ(host_content(mirror), device_content(ring.x));
}

TEST(MpiPointToPoint, ADeviceViewWhoseValueIsOnTheHostIsSentFromThere) {
  const auto device = Array<double>::on_device("both", n);
  const auto host = Array<double>::on_host("both", n, &device);
  for (std::size_t i = 0; i < n; ++i) host[i] = mine(i);
  const auto copy = Array<double>::on_device("copy", n);
  semcache::runtime::copy(copy.data(), host.data(), host.bytes(), {});
  const Since since;

  for (const Array<double>* named : {&device, &copy}) {
    Incoming incoming;
    MPI_Send(named->data(), halo, MPI_DOUBLE, right(), 0, world);
    EXPECT_EQ(incoming.content(), expected<double>(halo, lefts));
  }

  EXPECT_EQ(since.over_link(), 0u);
}

TEST(MpiPointToPoint, AFillAndWhatNobodyWroteAreSentWithoutCrossingTheLink) {
  const auto filled = Array<double>::on_device("filled", n);
  const double three = 3;
  semcache::runtime::fill(filled.data(), filled.bytes(), &three, sizeof three, {});
  const auto untouched = Array<double>::on_device("untouched", n);
  const Since since;

  Incoming first;
  MPI_Send(filled.data() + 1, halo, MPI_DOUBLE, right(), 0, world);
  EXPECT_EQ(first.content(), std::vector<double>(halo, 3.0));
  Incoming second;
  MPI_Send(untouched.data(), halo, MPI_DOUBLE, right(), 0, world);
  EXPECT_EQ(second.content().size(), halo);

  EXPECT_EQ(since.over_link(), 0u);
}

TEST(MpiPointToPoint, BothSidesOfOneArrayAgreeAfterAReceive) {
  for (const bool to_device : {false, true}) {
    const auto device = Array<double>::on_device("both", n);
    const auto host = Array<double>::on_host("both", n, &device);
    write_on_device(device, 0, n, [](std::size_t) { return -1; });
    ASSERT_EQ(host[n - 1], -1);
    {
      const Outgoing outgoing;
      MPI_Recv((to_device ? device : host).data() + 5, halo, MPI_DOUBLE, left(), 0, world, MPI_STATUS_IGNORE);
    }
    const auto after = expected<double>(n, [](std::size_t i) { return i >= 5 && i < 5 + halo ? lefts(i - 5) : -1; });
    EXPECT_EQ(host_content(host), after);
    EXPECT_EQ(device_content(device), after);
  }
}

TEST(MpiPointToPoint, EveryModeOfSending) {
  const Ring ring;
  std::vector<char> attached(halo_bytes + MPI_BSEND_OVERHEAD + 64);
  MPI_Buffer_attach(attached.data(), static_cast<int>(attached.size()));
  for (const auto send : {MPI_Send, MPI_Ssend, MPI_Bsend, MPI_Rsend}) {
    Incoming incoming;
    MPI_Barrier(world);  // the receive is posted, as a ready send wants it
    send(ring.x.data(), halo, MPI_DOUBLE, right(), 0, world);
    EXPECT_EQ(incoming.content(), expected<double>(halo, lefts));
  }
  for (const auto start : {MPI_Isend, MPI_Issend, MPI_Ibsend, MPI_Irsend}) {
    Incoming incoming;
    MPI_Barrier(world);
    MPI_Request request;
    start(ring.x.data(), halo, MPI_DOUBLE, right(), 0, world, &request);
    EXPECT_EQ(incoming.content(), expected<double>(halo, lefts));
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  for (const auto make : {MPI_Send_init, MPI_Ssend_init, MPI_Bsend_init, MPI_Rsend_init}) {
    MPI_Request request;
    make(ring.x.data(), halo, MPI_DOUBLE, right(), 0, world, &request);
    for (int round = 2; round <= 3; ++round) {
      write_on_device(ring.x, 0, halo, [&](std::size_t i) { return round * mine(i); });
      Incoming incoming;
      MPI_Barrier(world);
      MPI_Start(&request);
      write_on_device(ring.x, 0, halo, [](std::size_t) { return -1; });
      EXPECT_EQ(incoming.content(), expected<double>(halo, [&](std::size_t i) { return round * lefts(i); }));
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&request);
  }
  void* detached = nullptr;
  int size = 0;
  MPI_Buffer_detach(&detached, &size);
}

TEST(MpiPointToPoint, ReceivesOfMatchedMessages) {
  const auto x = Array<double>::on_device("x", n);
  for (const bool blocking : {true, false}) {
    write_on_device(x, 0, n, [](std::size_t) { return 0; });
    const Outgoing outgoing;
    MPI_Message message;
    if (blocking) {
      MPI_Mprobe(left(), 0, world, &message, MPI_STATUS_IGNORE);
      MPI_Mrecv(x.data() + 1, halo, MPI_DOUBLE, &message, MPI_STATUS_IGNORE);
    } else {
      for (int flag = 0; flag == 0;) MPI_Improbe(left(), 0, world, &flag, &message, MPI_STATUS_IGNORE);
      MPI_Request request;
      MPI_Imrecv(x.data() + 1, halo, MPI_DOUBLE, &message, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    EXPECT_EQ(device_content(x),
              expected<double>(n, [](std::size_t i) { return i >= 1 && i <= halo ? lefts(i - 1) : 0; }));
  }
}

TEST(MpiPointToPoint, AShortMessageChangesOnlyWhatItBrings) {
  for (const bool on_device : {false, true}) {
    const auto x = on_device ? Array<double>::on_device("x", n) : Array<double>::on_host("x", n);
    if (on_device) {
      write_on_device(x, 0, n, [](std::size_t) { return 7; });
    } else {
      for (std::size_t i = 0; i < n; ++i) x[i] = 7;
    }
    const Outgoing outgoing;
    MPI_Status status;
    int count = 0;
    MPI_Recv(x.data(), static_cast<int>(n), MPI_DOUBLE, left(), 0, world, &status);
    MPI_Get_count(&status, MPI_DOUBLE, &count);
    EXPECT_EQ(count, static_cast<int>(halo));
    EXPECT_EQ(on_device ? device_content(x) : host_content(x),
              expected<double>(n, [](std::size_t i) { return i < halo ? lefts(i) : 7; }));
  }
}

TEST(MpiPointToPoint, NothingMovesForNobody) {
  const Ring ring;
  const Since since;
  MPI_Request request;

  MPI_Send(ring.to_right, halo, MPI_DOUBLE, MPI_PROC_NULL, 0, world);
  MPI_Recv(ring.from_left, halo, MPI_DOUBLE, MPI_PROC_NULL, 0, world, MPI_STATUS_IGNORE);
  MPI_Isend(ring.to_right, halo, MPI_DOUBLE, MPI_PROC_NULL, 0, world, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Irecv(ring.from_left, halo, MPI_DOUBLE, MPI_PROC_NULL, 0, world, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Send(ring.to_right, 0, MPI_DOUBLE, right(), 1, world);
  MPI_Recv(ring.from_left, 0, MPI_DOUBLE, left(), 1, world, MPI_STATUS_IGNORE);

  EXPECT_EQ(since.over_link() + since.within_device(), 0u);
  EXPECT_EQ(device_content(ring.x), expected<double>(n, mine));
}

TEST(MpiPointToPoint, SendrecvOfOneArray) {
  const Ring ring;

  MPI_Sendrecv(ring.to_right, halo, MPI_DOUBLE, right(), 0, ring.from_left, halo, MPI_DOUBLE, left(), 0, world,
               MPI_STATUS_IGNORE);
  EXPECT_EQ(device_content(ring.x), Ring::exchanged());

  const auto mirror = Array<double>::on_host("mirror", n);
  for (std::size_t i = 0; i < n; ++i) mirror[i] = mine(i);
  MPI_Sendrecv_replace(mirror.data() + 10, halo, MPI_DOUBLE, right(), 0, left(), 0, world, MPI_STATUS_IGNORE);
  EXPECT_EQ(host_content(mirror),
            expected<double>(n, [](std::size_t i) { return i >= 10 && i < 10 + halo ? lefts(i) : mine(i); }));
}

TEST(MpiPointToPoint, AReceiveSavesWhatOthersStillWant) {
  const Ring ring;
  const auto earlier = Array<double>::on_host("earlier", n);
  semcache::runtime::copy(earlier.data(), ring.x.data(), ring.x.bytes(), {});  // lazy: only x holds it
  const Since since;
  {
    const Outgoing outgoing;
    MPI_Recv(ring.from_left, halo, MPI_DOUBLE, left(), 0, world, MPI_STATUS_IGNORE);
  }
  EXPECT_EQ(since.saved(), halo_bytes);
  EXPECT_EQ(host_content(earlier), expected<double>(n, mine));
}

/// Beyond every library's limit for sending at once: it takes the bytes when the receiver is there, perhaps through the
/// kernel, which no page protection may stop.
TEST(MpiPointToPoint, LargeMessagesWhoseArraysAreOverwrittenMeanwhile) {
  constexpr std::size_t large = 700000;
  const auto x = Array<double>::on_device("x", large);
  const auto side = Array<double>::on_host("x", large, &x);
  const auto got = Array<double>::on_host("got", large);
  const auto also_got = Array<double>::on_device("also got", large);
  write_on_device(x, 0, large, mine);
  MPI_Request requests[4];
  MPI_Irecv(got.data(), large, MPI_DOUBLE, left(), 0, world, &requests[0]);
  MPI_Irecv(also_got.data(), large, MPI_DOUBLE, left(), 1, world, &requests[1]);
  MPI_Isend(x.data(), large, MPI_DOUBLE, right(), 0, world, &requests[2]);
  MPI_Isend(side.data(), large, MPI_DOUBLE, right(), 1, world, &requests[3]);
  write_on_device(x, 0, large, [](std::size_t) { return -1; });
  semcache::runtime::copy(got.data(), x.data(), x.bytes(), {});  // until it arrives

  MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);

  EXPECT_EQ(host_content(got), expected<double>(large, lefts));
  EXPECT_EQ(device_content(also_got), expected<double>(large, lefts));
  EXPECT_EQ(host_content(side), std::vector<double>(large, -1.0));
}

/// Messages that a library may copy from process to process by the kernel, from and into mirrors that are protected.
TEST(MpiPointToPoint, MessagesOfAllSizesBetweenProtectedMirrors) {
  constexpr std::size_t most = 1 << 17;
  const auto x = Array<double>::on_device("x", most);
  const auto from = Array<double>::on_host("from", most);
  const auto to = Array<double>::on_host("to", most);
  for (std::size_t count = 500; count < most; count = 3 * count + 1) {
    write_on_device(x, 0, most, mine);
    semcache::runtime::copy(from.data(), x.data(), x.bytes(), {});
    write_on_device(x, 0, most, [](std::size_t) { return -1; });
    semcache::runtime::copy(to.data(), x.data(), x.bytes(), {});
    const Since since;
    MPI_Request requests[2];
    MPI_Irecv(to.data() + 3, static_cast<int>(count), MPI_DOUBLE, left(), 0, world, &requests[0]);
    MPI_Isend(from.data() + 1, static_cast<int>(count), MPI_DOUBLE, right(), 0, world, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);

    EXPECT_EQ(since.faults(), 0u);
    EXPECT_EQ(host_content(to),
              expected<double>(most, [&](std::size_t i) { return i >= 3 && i < 3 + count ? lefts(i - 2) : -1; }));
  }
}

/// Why MPI gets private memory: what a library would get that copies by the kernel.
TEST(MpiPointToPoint, TheKernelReadsNoOldBytesOfAProtectedMirror) {
  const Ring ring;
  const auto mirror = Array<double>::on_host("mirror", n);
  for (std::size_t i = 0; i < n; ++i) mirror[i] = -1;
  semcache::runtime::copy(ring.x.data(), mirror.data(), mirror.bytes(), {});
  write_on_device(ring.x, 0, n, mine);
  semcache::runtime::copy(mirror.data(), ring.x.data(), mirror.bytes(), {});
  ::prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
  struct {
    long process;
    double* address;
  } here{::getpid(), mirror.data()}, there{};
  MPI_Sendrecv(&here, sizeof here, MPI_BYTE, right(), 0, &there, sizeof there, MPI_BYTE, left(), 0, world,
               MPI_STATUS_IGNORE);

  std::vector<double> got(n);
  const iovec local{got.data(), n * sizeof(double)};
  const iovec remote{there.address, n * sizeof(double)};
  const ssize_t bytes = ::process_vm_readv(static_cast<pid_t>(there.process), &local, 1, &remote, 1, 0);
  const int error = errno;
  MPI_Barrier(world);
  if (bytes < 0 && (error == EPERM || error == ENOSYS)) GTEST_SKIP() << "process_vm_readv is not permitted here";
  if (bytes < 0) {
    EXPECT_EQ(error, EFAULT);
  } else {
    EXPECT_EQ(got, expected<double>(n, lefts));
  }
}

TEST(MpiPointToPoint, ABufferThatLeavesItsArrayIsAnError) {
  const ReturnErrors returned;
  const Ring ring;

  const int code = MPI_Send(ring.x.data() + 1, static_cast<int>(n), MPI_DOUBLE, right(), 0, world);

  EXPECT_NE(code, MPI_SUCCESS);
  EXPECT_NE(text_of(code).find("SemCache"), std::string::npos) << text_of(code);
}

TEST(MpiPointToPoint, ATruncatedMessageIsAnErrorAndChangesNothing) {
  const ReturnErrors returned;
  const auto x = Array<double>::on_device("x", n);
  write_on_device(x, 0, n, mine);
  const Outgoing outgoing;

  EXPECT_NE(MPI_Recv(x.data(), static_cast<int>(halo) - 1, MPI_DOUBLE, left(), 0, world, MPI_STATUS_IGNORE),
            MPI_SUCCESS);

  EXPECT_EQ(device_content(x), expected<double>(n, mine));
}

TEST(MpiPointToPoint, OrdinaryBuffersPassThrough) {
  const Since since;
  for (int i = 0; i < 10; ++i) {
    Incoming incoming;
    send_plain();
    EXPECT_EQ(incoming.content(), expected<double>(halo, lefts));
  }
  EXPECT_EQ(semcache::mpi::pending_requests(), 0u);
  EXPECT_EQ(since.over_link() + since.within_host(), 0u);
}

}  // namespace
