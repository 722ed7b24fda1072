// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <mpi/support.hpp>

#include <functional>

#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif

using namespace mpi_test;

namespace {

constexpr std::size_t n = 3000;  // of each buffer: more than any call uses
constexpr int block = 70;
const MPI_Comm world = MPI_COMM_WORLD;

std::vector<int> blocks_of_different_sizes() {
  std::vector<int> counts;
  for (int p = 0; p < size_of(); ++p) counts.push_back(20 + 7 * p);
  return counts;
}
std::vector<int> places_with_gaps() {
  std::vector<int> places;
  for (int p = 0; p < size_of(); ++p) places.push_back(5 + 60 * p);
  return places;
}

enum class Form { blocking, nonblocking, persistent };
/// A collective call on a send and a receive buffer, to its end.
using Call = std::function<void(const int* s, int* r, Form form)>;
struct Named {
  const char* name;
  Call call;
};

void complete(MPI_Request request) { MPI_Wait(&request, MPI_STATUS_IGNORE); }
/// The content of each start counts.
void start_twice(MPI_Request request) {
  for (int i = 0; i < 2; ++i) {
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  MPI_Request_free(&request);
}

#if MPI_VERSION >= 4
#define PERSISTENT(name) MPI_##name
#elif defined(OMPI_HAVE_MPI_EXT_PCOLLREQ)
#define PERSISTENT(name) MPIX_##name
#endif
#ifdef PERSISTENT
constexpr Form forms[] = {Form::blocking, Form::nonblocking, Form::persistent};
#define MAKE_PERSISTENT(name, comm, ...) PERSISTENT(name##_init)(__VA_ARGS__, comm, MPI_INFO_NULL, &request)
#else
constexpr Form forms[] = {Form::blocking, Form::nonblocking};
#define MAKE_PERSISTENT(...) FAIL() << "this library has none"
#endif
#define ALL_FORMS(form, call, icall, comm, ...) \
  if (form == Form::blocking) {                 \
    MPI_##call(__VA_ARGS__, comm);              \
    return;                                     \
  }                                             \
  MPI_Request request = MPI_REQUEST_NULL;       \
  if (form == Form::nonblocking) {              \
    MPI_##icall(__VA_ARGS__, comm, &request);   \
    complete(request);                          \
  } else {                                      \
    MAKE_PERSISTENT(call, comm, __VA_ARGS__);   \
    start_twice(request);                       \
  }

// name, blocking call, non-blocking call, arguments but the communicator.
#define CALL(title, call, icall, ...)                                                                                 \
  {title, [](const int* s, int* r, Form form) {                                                                       \
     (void)s, (void)r;                                                                                                \
     const int size = size_of(), rank = rank_of(), root = size - 1;                                                   \
     const bool at_root = rank == root;                                                                               \
     const std::vector<int> counts = blocks_of_different_sizes(), places = places_with_gaps();                        \
     const std::vector<int> equal_counts(counts.size(), counts[0]);                                                   \
     const std::vector<int> byte_places = expected<int>(places.size(), [&](std::size_t i) { return 4 * places[i]; }); \
     const std::vector<MPI_Datatype> types(static_cast<std::size_t>(size), MPI_INT);                                  \
     const int* const c = counts.data();                                                                              \
     const int* const e = equal_counts.data();                                                                        \
     const int* const d = places.data();                                                                              \
     const int* const bytes = byte_places.data();                                                                     \
     const MPI_Datatype* const t = types.data();                                                                      \
     (void)rank, (void)root, (void)at_root, (void)c, (void)e, (void)d, (void)bytes, (void)t;                          \
     ALL_FORMS(form, call, icall, world, __VA_ARGS__)                                                                 \
   }}

std::vector<Named> calls() {
  return {
      CALL("Bcast", Bcast, Ibcast, r, block, MPI_INT, root),
      CALL("Gather", Gather, Igather, s, block, MPI_INT, r, block, MPI_INT, root),
      CALL("Gather in place", Gather, Igather, at_root ? MPI_IN_PLACE : s, block, MPI_INT, r, block, MPI_INT, root),
      CALL("Gatherv", Gatherv, Igatherv, s, c[rank], MPI_INT, r, c, d, MPI_INT, root),
      CALL("Gatherv in place", Gatherv, Igatherv, at_root ? MPI_IN_PLACE : s, c[rank], MPI_INT, r, c, d, MPI_INT, root),
      CALL("Scatter", Scatter, Iscatter, s, block, MPI_INT, r, block, MPI_INT, root),
      CALL("Scatter in place", Scatter, Iscatter, s, block, MPI_INT, at_root ? MPI_IN_PLACE : r, block, MPI_INT, root),
      CALL("Scatterv", Scatterv, Iscatterv, s, c, d, MPI_INT, r, c[rank], MPI_INT, root),
      CALL("Scatterv in place", Scatterv, Iscatterv, s, c, d, MPI_INT, at_root ? MPI_IN_PLACE : r, c[rank], MPI_INT,
           root),
      CALL("Allgather", Allgather, Iallgather, s, block, MPI_INT, r, block, MPI_INT),
      CALL("Allgather in place", Allgather, Iallgather, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, r, block, MPI_INT),
      CALL("Allgatherv", Allgatherv, Iallgatherv, s, c[rank], MPI_INT, r, c, d, MPI_INT),
      CALL("Allgatherv in place", Allgatherv, Iallgatherv, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, r, c, d, MPI_INT),
      CALL("Alltoall", Alltoall, Ialltoall, s, block, MPI_INT, r, block, MPI_INT),
      CALL("Alltoallv", Alltoallv, Ialltoallv, s, e, d, MPI_INT, r, e, d, MPI_INT),
      CALL("Alltoallw", Alltoallw, Ialltoallw, s, e, bytes, t, r, e, bytes, t),
      CALL("Reduce", Reduce, Ireduce, s, r, block, MPI_INT, MPI_SUM, root),
      CALL("Reduce in place", Reduce, Ireduce, at_root ? MPI_IN_PLACE : s, r, block, MPI_INT, MPI_SUM, root),
      CALL("Allreduce", Allreduce, Iallreduce, s, r, block, MPI_INT, MPI_SUM),
      CALL("Allreduce in place", Allreduce, Iallreduce, MPI_IN_PLACE, r, block, MPI_INT, MPI_SUM),
      CALL("Scan", Scan, Iscan, s, r, block, MPI_INT, MPI_SUM),
      CALL("Scan in place", Scan, Iscan, MPI_IN_PLACE, r, block, MPI_INT, MPI_SUM),
      CALL("Exscan", Exscan, Iexscan, s, r, block, MPI_INT, MPI_SUM),
      CALL("Exscan in place", Exscan, Iexscan, MPI_IN_PLACE, r, block, MPI_INT, MPI_SUM),
      CALL("Reduce_scatter", Reduce_scatter, Ireduce_scatter, s, r, c, MPI_INT, MPI_SUM),
      CALL("Reduce_scatter_block", Reduce_scatter_block, Ireduce_scatter_block, s, r, block, MPI_INT, MPI_SUM),
      {"Alltoall in place", [](const int*, int* r, Form) {
         MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, r, block, MPI_INT, world);
       }},
      {"Reduce_scatter in place", [](const int*, int* r, Form) {
         MPI_Reduce_scatter(MPI_IN_PLACE, r, blocks_of_different_sizes().data(), MPI_INT, MPI_SUM, world);
       }},
      {"Reduce_scatter_block in place", [](const int*, int* r, Form) {
         MPI_Reduce_scatter_block(MPI_IN_PLACE, r, block, MPI_INT, MPI_SUM, world);
       }},
  };
}

int sent_value(std::size_t i) { return 100000 * rank_of() + static_cast<int>(i); }
int old_value(std::size_t i) { return -100000 * rank_of() - static_cast<int>(i); }

/// A buffer of the program, somewhere, whose content is elsewhere where it can be.
class Buffer {
 public:
  enum class Place { plain, device, mirror };
  Buffer(Place place, const char* label, int (*value)(std::size_t)) : place_(place), plain_(expected<int>(n, value)) {
    if (place == Place::plain) return;
    device_.emplace_back(Array<int>::on_device(label, n));
    write_on_device(device_[0], 0, n, value);
    if (place == Place::device) return;
    mirror_.emplace_back(Array<int>::on_host(label, n));
    semcache::runtime::copy(mirror_[0].data(), device_[0].data(), n * sizeof(int), {});
  }
  [[nodiscard]] int* data() {
    return place_ == Place::plain ? plain_.data() : place_ == Place::device ? device_[0].data() : mirror_[0].data();
  }
  [[nodiscard]] std::vector<int> content() const {
    if (place_ == Place::plain) return plain_;
    return place_ == Place::device ? device_content(device_[0]) : host_content(mirror_[0]);
  }

 private:
  Place place_;
  std::vector<int> plain_;
  std::vector<Array<int>> device_, mirror_;
};

TEST(MpiCollectives, AgreeWithOrdinaryMemory) {
  for (const Named& named : calls()) {
    // Open MPI 4.1 takes the displacements of a single process for elements.
    if (size_of() == 1 && std::string(named.name) == "Alltoallw") continue;
    for (const Form form : forms) {
      Buffer plain_sent(Buffer::Place::plain, "s", &sent_value);
      Buffer plain_got(Buffer::Place::plain, "r", &old_value);
      named.call(plain_sent.data(), plain_got.data(), form);
      for (const auto sent_place : {Buffer::Place::plain, Buffer::Place::device, Buffer::Place::mirror}) {
        for (const auto got_place : {Buffer::Place::plain, Buffer::Place::device, Buffer::Place::mirror}) {
          Buffer sent(sent_place, "s", &sent_value);
          Buffer got(got_place, "r", &old_value);
          named.call(sent.data(), got.data(), form);
          ASSERT_EQ(got.content(), plain_got.content())
              << named.name << ", form " << static_cast<int>(form) << " from " << static_cast<int>(sent_place) << " to "
              << static_cast<int>(got_place);
          ASSERT_EQ(sent.content(), plain_sent.content()) << named.name;
        }
      }
    }
  }
  EXPECT_EQ(semcache::mpi::pending_requests(), 0u);
}

TEST(MpiCollectives, MoveTheUsedRangesAlone) {
  const auto s = Array<int>::on_device("s", n);
  const auto r = Array<int>::on_device("r", n);
  write_on_device(s, 0, n, &sent_value);
  write_on_device(r, 0, n, &old_value);
  const Since sent("s");
  const Since got("r");
  const std::uint64_t one = block * sizeof(int);
  const auto all = one * static_cast<std::uint64_t>(size_of());

  MPI_Allreduce(s.data(), r.data(), block, MPI_INT, MPI_SUM, world);  // reductions are computed on the host
  EXPECT_EQ(sent.to_host(), one);
  EXPECT_EQ(got.to_device(), one);
  MPI_Allreduce(MPI_IN_PLACE, r.data(), block, MPI_INT, MPI_SUM, world);
  EXPECT_EQ(got.to_host(), one);
  EXPECT_EQ(got.to_device(), 2 * one);
  const int root = size_of() - 1;
  const std::vector<int> counts(static_cast<std::size_t>(size_of()), block);
  const std::vector<int> places = expected<int>(counts.size(), [](std::size_t i) { return block * i; });
  const void* const mine = rank_of() == root ? MPI_IN_PLACE : s.data() + 1000;
  const std::pair<const char*, std::function<void()>> in_place[] = {
      {"Allgather", [&] { MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, r.data(), block, MPI_INT, world); }},
      {"Allgatherv",
       [&] {
         MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, r.data(), counts.data(), places.data(), MPI_INT, world);
       }},
      {"Gather", [&] { MPI_Gather(mine, block, MPI_INT, r.data(), block, MPI_INT, root, world); }},
      {"Gatherv",
       [&] { MPI_Gatherv(mine, block, MPI_INT, r.data(), counts.data(), places.data(), MPI_INT, root, world); }},
  };
  for (const auto& [name, call] : in_place) {
    write_on_device(r, 0, n, &old_value);
    const Since gathered("r");
    call();
    const bool here = std::string(name).find("All") == 0 || rank_of() == root;
    if (semcache::mpi::uses_device_addresses(all)) {
      EXPECT_EQ(gathered.over_link(), 0u) << name;
      EXPECT_EQ(gathered.within_device(), here ? all : 0) << name;
    } else {
      EXPECT_EQ(gathered.to_host(), here ? one : 0) << name << ": its own block";
      EXPECT_EQ(gathered.to_device(), here ? all - one : 0) << name << ": the others'";
    }
  }
}

TEST(MpiCollectives, ANonBlockingOneIsANewValueAtCompletion) {
  const auto s = Array<int>::on_device("s", n);
  const auto r = Array<int>::on_device("r", n);
  write_on_device(s, 0, n, &sent_value);
  write_on_device(r, 0, n, &old_value);
  MPI_Request request;

  MPI_Iallreduce(s.data(), r.data(), block, MPI_INT, MPI_MAX, world, &request);
  write_on_device(s, 0, n, [](std::size_t) { return 1 << 30; });
  // Of one process it is complete at once.
  if (size_of() > 1) {
    EXPECT_EQ(device_content(r), expected<int>(n, &old_value));
  }
  MPI_Wait(&request, MPI_STATUS_IGNORE);

  EXPECT_EQ(device_content(r), expected<int>(n, [](std::size_t i) {
              return i < block ? 100000 * (size_of() - 1) + static_cast<int>(i) : old_value(i);
            }));
}

#ifdef PERSISTENT
TEST(MpiCollectives, PersistentOnesTakeTheContentOfEachStart) {
  const auto s = Array<int>::on_device("s", n);
  const auto r = Array<int>::on_device("r", n);
  MPI_Request requests[2];
  const int root = size_of() - 1;
  PERSISTENT(Allreduce_init)(s.data(), r.data(), block, MPI_INT, MPI_MAX, world, MPI_INFO_NULL, &requests[0]);
  PERSISTENT(Bcast_init)(s.data() + 1000, block, MPI_INT, root, world, MPI_INFO_NULL, &requests[1]);
  const std::uint64_t one = block * sizeof(int);
  for (int round = 1; round <= 3; ++round) {
    write_on_device(s, 0, n, [&](std::size_t i) { return round * sent_value(i); });
    write_on_device(r, 0, n, &old_value);
    const Since from("s");
    const Since to("r");
    MPI_Startall(2, requests);
    write_on_device(s, 0, block, [](std::size_t) { return 1 << 30; });
    EXPECT_EQ(device_content(r), expected<int>(n, &old_value)) << "a new value before completion";
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);  // at rest: completes at once, and brings nothing

    const std::vector<int> got = device_content(s);
    for (std::size_t i = 0; i < block; ++i) {
      EXPECT_EQ(device_content(r)[i], round * (100000 * (size_of() - 1) + static_cast<int>(i)));
      EXPECT_EQ(got[1000 + i], round * (100000 * root + 1000 + static_cast<int>(i)));
    }
    EXPECT_EQ(got[1000 + block], round * sent_value(1000 + block));
    EXPECT_EQ(to.to_host(), 0u);
    EXPECT_EQ(to.to_device(), one);
    if (!semcache::mpi::uses_device_addresses(one)) {
      EXPECT_EQ(from.to_host(), rank_of() == root ? 2 * one : one);
      EXPECT_EQ(from.to_device(), rank_of() == root ? 0 : one);
    }
  }
  EXPECT_EQ(semcache::mpi::pending_requests(), 2u);
  for (MPI_Request& request : requests) MPI_Request_free(&request);
  EXPECT_EQ(semcache::mpi::pending_requests(), 0u);
}
#endif

TEST(MpiCollectives, BetweenTwoGroups) {
  if (size_of() < 2) GTEST_SKIP() << "one process cannot be two groups";
  const int side = rank_of() % 2;
  MPI_Comm mine, both;
  MPI_Comm_split(world, side, rank_of(), &mine);
  MPI_Intercomm_create(mine, 0, world, 1 - side, 9, &both);
  const auto x = Array<int>::on_device("x", n);
  write_on_device(x, 0, n, &sent_value);

  // The first process of side 0 sends to all of side 1.
  const int root = side == 1 ? 0 : rank_of() == 0 ? MPI_ROOT : MPI_PROC_NULL;
  MPI_Bcast(x.data(), block, MPI_INT, root, both);
  EXPECT_EQ(device_content(x)[3], side == 1 ? 3 : sent_value(3));

  int theirs = 0;
  MPI_Comm_remote_size(both, &theirs);
  const auto all = Array<int>::on_device("all", n);
  MPI_Allgather(x.data() + 1000, block, MPI_INT, all.data(), block, MPI_INT, both);
  const std::vector<int> got = device_content(all);
  for (int p = 0; p < theirs; ++p) {
    EXPECT_EQ(got[static_cast<std::size_t>(p * block)], 100000 * (2 * p + 1 - side) + 1000);
  }

  const std::vector<int> counts(static_cast<std::size_t>(theirs), 30);
  const std::vector<int> places = expected<int>(counts.size(), [](std::size_t i) { return 5 + 60 * i; });
  const std::vector<int> byte_places = expected<int>(counts.size(), [&](std::size_t i) { return 4 * places[i]; });
  const std::vector<MPI_Datatype> types(counts.size(), MPI_INT);
  const std::vector<int> shares(static_cast<std::size_t>(size_of(mine)), block);
  const int *const c = counts.data(), *const d = places.data(), *const bytes = byte_places.data();
  const MPI_Datatype* const t = types.data();
#define BETWEEN(call, icall, ...) \
  {#call, [&](const int* s, int* r, Form form) { (void)s, (void)r; ALL_FORMS(form, call, icall, both, __VA_ARGS__) }}
  const std::vector<Named> calls = {
      BETWEEN(Bcast, Ibcast, r, block, MPI_INT, root),
      BETWEEN(Gather, Igather, s, block, MPI_INT, r, block, MPI_INT, root),
      BETWEEN(Gatherv, Igatherv, s, 30, MPI_INT, r, c, d, MPI_INT, root),
      BETWEEN(Scatter, Iscatter, s, block, MPI_INT, r, block, MPI_INT, root),
      BETWEEN(Scatterv, Iscatterv, s, c, d, MPI_INT, r, 30, MPI_INT, root),
      BETWEEN(Allgather, Iallgather, s, block, MPI_INT, r, block, MPI_INT),
      BETWEEN(Allgatherv, Iallgatherv, s, 30, MPI_INT, r, c, d, MPI_INT),
      BETWEEN(Alltoall, Ialltoall, s, block, MPI_INT, r, block, MPI_INT),
      BETWEEN(Alltoallv, Ialltoallv, s, c, d, MPI_INT, r, c, d, MPI_INT),
      BETWEEN(Alltoallw, Ialltoallw, s, c, bytes, t, r, c, bytes, t),
      BETWEEN(Reduce, Ireduce, s, r, block, MPI_INT, MPI_SUM, root),
      BETWEEN(Allreduce, Iallreduce, s, r, block, MPI_INT, MPI_SUM),
      BETWEEN(Reduce_scatter, Ireduce_scatter, s, r, shares.data(), MPI_INT, MPI_SUM),
      BETWEEN(Reduce_scatter_block, Ireduce_scatter_block, s, r, block, MPI_INT, MPI_SUM),
  };
#undef BETWEEN
  for (const Named& named : calls) {
    for (const Form form : forms) {
      Buffer plain_sent(Buffer::Place::plain, "s", &sent_value), plain_got(Buffer::Place::plain, "r", &old_value);
      Buffer sent(Buffer::Place::mirror, "s", &sent_value), got(Buffer::Place::device, "r", &old_value);
      named.call(plain_sent.data(), plain_got.data(), form);
      named.call(sent.data(), got.data(), form);
      EXPECT_EQ(got.content(), plain_got.content()) << named.name << ", form " << static_cast<int>(form);
    }
  }
  MPI_Comm_free(&both);
  MPI_Comm_free(&mine);
}

void exchange_with_neighbours(int wraps_around) {
  const int sizes[] = {size_of()};
  const int periodic[] = {wraps_around};
  MPI_Comm ring;
  MPI_Cart_create(world, 1, sizes, periodic, 0, &ring);
  const int counts[] = {block, block};
  const int places[] = {10, 500};
  const MPI_Aint byte_places[] = {40, 2000};
  const MPI_Datatype types[] = {MPI_INT, MPI_INT};
  const std::vector<Named> calls = {
      {"allgather",
       [&](const int* s, int* r, Form form) {
         ALL_FORMS(form, Neighbor_allgather, Ineighbor_allgather, ring, s, block, MPI_INT, r, block, MPI_INT)
       }},
      {"allgatherv",
       [&](const int* s, int* r, Form form) {
         ALL_FORMS(form, Neighbor_allgatherv, Ineighbor_allgatherv, ring, s, block, MPI_INT, r, counts, places, MPI_INT)
       }},
      {"alltoall",
       [&](const int* s, int* r, Form form) {
         ALL_FORMS(form, Neighbor_alltoall, Ineighbor_alltoall, ring, s, block, MPI_INT, r, block, MPI_INT)
       }},
      {"alltoallv",
       [&](const int* s, int* r, Form form) {
         ALL_FORMS(form, Neighbor_alltoallv, Ineighbor_alltoallv, ring, s, counts, places, MPI_INT, r, counts, places,
                   MPI_INT)
       }},
      {"alltoallw",
       [&](const int* s, int* r, Form form) {
         ALL_FORMS(form, Neighbor_alltoallw, Ineighbor_alltoallw, ring, s, counts, byte_places, types, r, counts,
                   byte_places, types)
       }},
  };
  for (const Named& named : calls) {
    for (const Form form : forms) {
      Buffer plain_sent(Buffer::Place::plain, "s", &sent_value), plain_got(Buffer::Place::plain, "r", &old_value);
      Buffer sent(Buffer::Place::device, "s", &sent_value), got(Buffer::Place::mirror, "r", &old_value);
      named.call(plain_sent.data(), plain_got.data(), form);
      named.call(sent.data(), got.data(), form);
      EXPECT_EQ(got.content(), plain_got.content()) << named.name << ", form " << static_cast<int>(form);
    }
  }
  MPI_Comm_free(&ring);
}
TEST(MpiCollectives, AmongNeighbours) { exchange_with_neighbours(1); }
/// Blocks of neighbours that do not exist stay what they are.
TEST(MpiCollectives, OfNeighboursAtAnEdge) { exchange_with_neighbours(0); }

TEST(MpiCollectives, OfNeighboursAtAnEdgeMoveTheBlocksOfThoseThatExist) {
  const int sizes[] = {size_of()};
  const int periodic[] = {0};
  MPI_Comm line;
  MPI_Cart_create(world, 1, sizes, periodic, 0, &line);
  const auto neighbours = static_cast<std::uint64_t>((rank_of() > 0) + (rank_of() < size_of() - 1));
  const std::uint64_t one = block * sizeof(int);
  const int counts[] = {block, block};
  const int places[] = {10, 500};
  const auto s = Array<int>::on_device("s", n);
  const auto r = Array<int>::on_device("r", n);
  write_on_device(s, 0, n, &sent_value);
  const struct {
    std::uint64_t sent;
    std::function<void()> call;
  } calls[] = {
      {neighbours > 0 ? one : 0,
       [&] { MPI_Neighbor_allgather(s.data(), block, MPI_INT, r.data(), block, MPI_INT, line); }},
      {neighbours * one,
       [&] { MPI_Neighbor_alltoallv(s.data(), counts, places, MPI_INT, r.data(), counts, places, MPI_INT, line); }},
  };
  for (const auto& c : calls) {
    write_on_device(r, 0, n, &old_value);
    const Since from("s");
    const Since to("r");
    c.call();
    EXPECT_EQ(from.to_host() + from.within_device(), c.sent);
    EXPECT_EQ(to.to_host(), 0u);
    EXPECT_EQ(to.to_device() + to.within_device(), neighbours * one);
  }
  MPI_Comm_free(&line);
}

int errors_raised = 0;
void count_errors(MPI_Comm*, int*, ...) { ++errors_raised; }

TEST(MpiCollectives, AnErrorOfTheProgramIsRaisedOnce) {
  MPI_Errhandler handler;
  MPI_Comm_create_errhandler(&count_errors, &handler);
  MPI_Comm_set_errhandler(world, handler);
  const auto x = Array<int>::on_device("x", n);
  int plain[10] = {};
  int position = 0;
  const MPI_Comm none = MPI_COMM_NULL;
  const std::function<int()> calls[] = {
      [&] { return MPI_Bcast(plain, 1, MPI_INT, 0, none); },
      [&] { return MPI_Bcast(x.data(), 1, MPI_INT, 0, none); },
      [&] { return MPI_Gather(plain, 1, MPI_INT, x.data(), 1, MPI_INT, 0, none); },
      [&] { return MPI_Alltoall(plain, 1, MPI_INT, plain + 1, 1, MPI_INT, none); },
      [&] { return MPI_Send(x.data(), 1, MPI_DATATYPE_NULL, rank_of(), 0, world); },
      [&] { return MPI_Pack(plain, 1, MPI_DATATYPE_NULL, x.data(), 8, &position, world); },
      [&] { return MPI_Unpack(x.data(), 8, &position, plain, 1, MPI_DATATYPE_NULL, world); },
  };
  for (const auto& call : calls) {
    errors_raised = 0;
    EXPECT_NE(call(), MPI_SUCCESS);
    EXPECT_EQ(errors_raised, 1);
  }
  MPI_Comm_set_errhandler(world, MPI_ERRORS_ARE_FATAL);
  MPI_Errhandler_free(&handler);
}

TEST(MpiCollectives, APendingRequestCannotBeFreed) {
  if (size_of() < 2) GTEST_SKIP() << "it would be complete at once";
  const ReturnErrors returned;
  constexpr std::size_t many = 500000;  // too many to be sent without the receiver
  const auto x = Array<int>::on_device("x", many);
  write_on_device(x, 0, many, &sent_value);
  if (rank_of() != 0) MPI_Barrier(world);
  MPI_Request request;
  MPI_Ibcast(x.data(), many, MPI_INT, 0, world, &request);
  if (rank_of() == 0) {
    const MPI_Request before = request;
    int error_class = MPI_SUCCESS;
    MPI_Error_class(MPI_Request_free(&request), &error_class);
    EXPECT_EQ(error_class, MPI_ERR_REQUEST);
    EXPECT_EQ(request, before);
    MPI_Barrier(world);
  }
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  EXPECT_EQ(device_content(x), expected<int>(many, [](std::size_t i) { return static_cast<int>(i); }));
  EXPECT_EQ(semcache::mpi::pending_requests(), 0u);
}

/// A device array and its host side. Who takes one for ordinary memory gets old bytes, or leaves them on the other.
class TwoSided {
 public:
  /// The content is on the host, the device's copy is older.
  explicit TwoSided(int (*value)(std::size_t)) {
    write_on_device(device, 0, n, [](std::size_t) { return 77; });
    for (std::size_t i = 0; i < n; ++i) host[i] = value(i);
  }
  [[nodiscard]] std::vector<int> content() const {
    const std::vector<int> out = host_content(host);
    EXPECT_EQ(device_content(device), out);
    return out;
  }
  Array<int> device = Array<int>::on_device("both", n);
  Array<int> host = Array<int>::on_host("both", n, &device);
};

/// `count` ints at an absolute address.
class AtAddress {
 public:
  AtAddress(const int* first, int count) {
    MPI_Aint address = 0;
    MPI_Get_address(first, &address);
    MPI_Type_create_hindexed(1, &count, &address, MPI_INT, &type_);
    MPI_Type_commit(&type_);
  }
  ~AtAddress() { MPI_Type_free(&type_); }
  AtAddress(const AtAddress&) = delete;
  AtAddress& operator=(const AtAddress&) = delete;
  operator MPI_Datatype() const { return type_; }  // NOLINT

 private:
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

/// `got` has `blocks` from every process at `places`, all else is as it was.
void expect_blocks(const TwoSided& got, const std::vector<int>& places, int (*value)(int from, std::size_t i)) {
  std::vector<int> after = expected<int>(n, &old_value);
  for (std::size_t p = 0; p < places.size(); ++p) {
    for (std::size_t i = 0; i < block; ++i)
      after[static_cast<std::size_t>(places[p]) + i] = value(static_cast<int>(p), i);
  }
  EXPECT_EQ(got.content(), after);
}
int of(int from, std::size_t i) { return 100000 * from + static_cast<int>(i); }

TEST(MpiCollectives, BuffersNamedByAbsoluteAddresses) {
  const int root = size_of() - 1;
  for (const bool nonblocking : {false, true}) {
    const TwoSided x(&sent_value);
    const AtAddress type(x.device.data(), block);
    MPI_Request request = MPI_REQUEST_NULL;
    if (nonblocking) {
      MPI_Ibcast(MPI_BOTTOM, 1, type, root, world, &request);
    } else {
      MPI_Bcast(MPI_BOTTOM, 1, type, root, world);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    EXPECT_EQ(x.content(), expected<int>(n, [&](std::size_t i) { return i < block ? of(root, i) : sent_value(i); }));
  }

  const TwoSided sent(&sent_value), got(&old_value);
  const AtAddress from(sent.device.data(), block), to(got.device.data(), block);
  std::vector<int> all(static_cast<std::size_t>(size_of() * block));
  MPI_Gather(MPI_BOTTOM, 1, from, all.data(), block, MPI_INT, root, world);
  for (int p = 0; p < size_of() && rank_of() == root; ++p) {
    EXPECT_EQ(all[static_cast<std::size_t>(p * block) + 3], of(p, 3));
  }
  for (int& i : all) i = of(rank_of(), 5);
  MPI_Scatter(all.data(), block, MPI_INT, MPI_BOTTOM, 1, to, root, world);
  expect_blocks(got, {0}, [](int, std::size_t) { return of(size_of() - 1, 5); });
}

TEST(MpiCollectives, BlocksWhoseBuffersAddressIsOutsideTheArray) {
  // Displacements counted from one, as a translation from Fortran has them.
  const int root = size_of() - 1;
  const std::vector<int> counts(static_cast<std::size_t>(size_of()), block);
  std::vector<int> places;  // in the array
  std::vector<int> from_one;
  for (int p = 0; p < size_of(); ++p) {
    places.push_back(block * p);
    from_one.push_back(block * p + 1);
  }
  const std::vector<int> sent = expected<int>(block, &sent_value);
  {
    const TwoSided got(&old_value);
    MPI_Gatherv(sent.data(), block, MPI_INT, got.device.data() - 1, counts.data(), from_one.data(), MPI_INT, root,
                world);
    expect_blocks(got, rank_of() == root ? places : std::vector<int>(), &of);
  }
  {
    const TwoSided got(&old_value);
    MPI_Request request;
    MPI_Iallgatherv(sent.data(), block, MPI_INT, got.host.data() - 1, counts.data(), from_one.data(), MPI_INT, world,
                    &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    expect_blocks(got, places, &of);
  }
  {
    const TwoSided x(&sent_value), got(&old_value);
    MPI_Alltoallv(x.device.data() - 1, counts.data(), from_one.data(), MPI_INT, got.device.data() - 1, counts.data(),
                  from_one.data(), MPI_INT, world);
    expect_blocks(got, places, [](int from, std::size_t i) {
      return of(from, static_cast<std::size_t>(rank_of() * block) + i);
    });
  }
}

/// Open MPI has one request for all that is complete at once.
TEST(MpiCollectives, RequestsThatShareAHandle) {
  const auto s = Array<int>::on_device("s", n);
  const auto first = Array<int>::on_device("first", n);
  const auto second = Array<int>::on_device("second", n);
  write_on_device(s, 0, n, &sent_value);
  MPI_Request requests[4];
  int plain = 5;
  MPI_Irecv(&plain, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &requests[0]);
  MPI_Iallreduce(s.data(), first.data(), block, MPI_INT, MPI_SUM, MPI_COMM_SELF, &requests[1]);
  MPI_Isend(&plain, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &requests[2]);
  EXPECT_EQ(MPI_Request_free(&requests[2]), MPI_SUCCESS);
  MPI_Iallreduce(s.data() + block, second.data(), block, MPI_INT, MPI_SUM, MPI_COMM_SELF, &requests[3]);
  MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);

  EXPECT_EQ(device_content(first)[3], sent_value(3));
  EXPECT_EQ(device_content(second)[3], sent_value(block + 3));
  EXPECT_EQ(semcache::mpi::pending_requests(), 0u);
}

}  // namespace
