// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <mpi/support.hpp>

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <memory>

using namespace mpi_test;

namespace {

constexpr int rows = 24;
constexpr int columns = 40;
constexpr std::size_t n = rows * columns;
const MPI_Comm world = MPI_COMM_WORLD;

/// A derived datatype of ints and the elements that it uses, in the order of its typemap.
class Type {
 public:
  explicit Type(MPI_Datatype type) : type_(type) { MPI_Type_commit(&type_); }
  ~Type() { MPI_Type_free(&type_); }
  Type(const Type&) = delete;
  Type& operator=(const Type&) = delete;
  operator MPI_Datatype() const { return type_; }  // NOLINT
  /// What the library itself does with `count` of them: the places of a plain array that a receive fills.
  [[nodiscard]] std::vector<bool> places(int count) const {
    int bytes = 0;
    int position = 0;
    MPI_Pack_size(count, type_, world, &bytes);
    const std::vector<char> packed(static_cast<std::size_t>(bytes), 1);
    std::vector<int> plain(n, 0);
    MPI_Unpack(packed.data(), bytes, &position, plain.data(), count, type_, world);
    std::vector<bool> used(n);
    for (std::size_t i = 0; i < n; ++i) used[i] = plain[i] != 0;
    return used;
  }

 private:
  MPI_Datatype type_;
};

MPI_Datatype vector_of(int count, int length, int stride) {
  MPI_Datatype type;
  MPI_Type_vector(count, length, stride, MPI_INT, &type);
  return type;
}

/// Every way to make a datatype. `check(type, count, name)`.
void for_each_type(const std::function<void(const Type&, int, const char*)>& check) {
  MPI_Datatype made, inner;
  const int lengths[] = {3, 0, 1, 7};
  const int places[] = {50, 0, 2, 400};
  const MPI_Aint addresses[] = {200, 0, 8, 1600};
  check(Type(vector_of(rows, 1, columns)), 1, "vector");
  check(Type(vector_of(5, 3, 11)), 3, "vectors");
  MPI_Type_contiguous(17, MPI_INT, &made);
  check(Type(made), 5, "contiguous");
  MPI_Type_create_hvector(4, 5, 100, MPI_INT, &made);
  check(Type(made), 2, "hvector");
  MPI_Type_indexed(4, lengths, places, MPI_INT, &made);
  check(Type(made), 1, "indexed");
  MPI_Type_create_hindexed(4, lengths, addresses, MPI_INT, &made);
  check(Type(made), 2, "hindexed");
  MPI_Type_create_indexed_block(4, 2, places, MPI_INT, &made);
  check(Type(made), 2, "indexed block");
  MPI_Type_create_hindexed_block(4, 2, addresses, MPI_INT, &made);
  check(Type(made), 2, "hindexed block");
  const int block_lengths[] = {1, 3};
  const MPI_Aint block_places[] = {32, 0};  // not in the order of their addresses
  const MPI_Datatype kinds[] = {MPI_INT, MPI_FLOAT};
  MPI_Type_create_struct(2, block_lengths, block_places, kinds, &made);
  check(Type(made), 4, "struct");
  const int sizes[] = {rows, columns};
  const int parts[] = {7, 11};
  const int starts[] = {3, 5};
  MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_C, MPI_INT, &made);
  check(Type(made), 1, "subarray C");
  MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_FORTRAN, MPI_INT, &made);
  check(Type(made), 1, "subarray Fortran");
  const int box[] = {4, 6, 8};
  const int box_parts[] = {2, 3, 4};
  const int box_starts[] = {1, 2, 3};
  MPI_Type_create_subarray(3, box, box_parts, box_starts, MPI_ORDER_C, MPI_INT, &made);
  check(Type(made), 2, "subarray of three dimensions");
  const int spread[] = {MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_BLOCK};
  const int arguments[] = {2, MPI_DISTRIBUTE_DFLT_DARG};
  const int processes[] = {2, 1};
  MPI_Type_create_darray(2, 1, 2, sizes, spread, arguments, processes, MPI_ORDER_C, MPI_INT, &made);
  check(Type(made), 1, "darray");
  MPI_Type_create_darray(2, 1, 2, sizes, spread, arguments, processes, MPI_ORDER_C, MPI_INT, &inner);
  MPI_Type_contiguous(1, inner, &made);  // only the whole is committed
  MPI_Type_free(&inner);
  check(Type(made), 1, "part that is a darray");
  inner = vector_of(3, 2, 5);
  MPI_Type_create_resized(inner, 0, 200, &made);
  MPI_Type_free(&inner);
  check(Type(made), 3, "resized");
  inner = vector_of(3, 2, 5);
  MPI_Type_dup(inner, &made);
  MPI_Type_free(&inner);
  check(Type(made), 2, "dup");
  inner = vector_of(2, 2, 5);
  MPI_Type_vector(3, 2, 4, inner, &made);
  MPI_Type_free(&inner);
  check(Type(made), 2, "vector of vectors");
  MPI_Type_create_resized(MPI_INT, 0, 8, &made);
  check(Type(made), 400, "many pieces");
}

int theirs(std::size_t i, int rank) { return rank * 10000 + static_cast<int>(i) + 1; }

TEST(MpiDatatypes, ExactlyTheUsedBytesAreSent) {
  for_each_type([](const Type& type, int count, const char* name) {
    const auto x = Array<int>::on_device("x", n);
    write_on_device(x, 0, n, [](std::size_t i) { return theirs(i, rank_of()); });
    int bytes = 0;
    MPI_Type_size(type, &bytes);
    const Since since("x");
    std::vector<int> got(n, 0);
    MPI_Request request;
    MPI_Irecv(got.data(), count, type, left(), 0, world, &request);
    MPI_Send(x.data(), count, type, right(), 0, world);
    MPI_Wait(&request, MPI_STATUS_IGNORE);

    const std::vector<bool> used = type.places(count);
    EXPECT_EQ(got, expected<int>(n, [&](std::size_t i) { return used[i] ? theirs(i, left()) : 0; })) << name;
    const std::uint64_t moved = static_cast<std::uint64_t>(bytes) * static_cast<std::uint64_t>(count);
    const auto first = std::find(used.begin(), used.end(), true);
    const auto last = std::find(used.rbegin(), used.rend(), true).base();
    const bool on_device = semcache::mpi::uses_device_addresses(static_cast<std::size_t>(last - first) * sizeof(int));
    EXPECT_EQ(since.to_host(), on_device ? 0 : moved) << name;
    EXPECT_EQ(since.within_device(), on_device ? moved : 0) << name;
  });
}

TEST(MpiDatatypes, OnlyTheUsedBytesAreReceived) {
  for_each_type([](const Type& type, int count, const char* name) {
    std::vector<int> sent = expected<int>(n, [](std::size_t i) { return theirs(i, rank_of()); });
    const std::vector<bool> used = type.places(count);
    for (const bool on_device : {true, false}) {
      const auto x = Array<int>::on_device("x", n);
      const auto side = Array<int>::on_host("x", n, &x);
      write_on_device(x, 0, n, [](std::size_t) { return -1; });
      MPI_Request requests[2];
      MPI_Irecv((on_device ? x : side).data(), count, type, left(), 0, world, &requests[0]);
      // What lies between the pieces belongs to the program until the end.
      write_on_device(x, 0, n, [&](std::size_t i) { return used[i] ? -1 : -2; });
      MPI_Isend(sent.data(), count, type, right(), 0, world, &requests[1]);
      MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);

      const auto after = expected<int>(n, [&](std::size_t i) { return used[i] ? theirs(i, left()) : -2; });
      EXPECT_EQ(device_content(x), after) << name;
      EXPECT_EQ(host_content(side), after) << name;
    }
  });
}

/// Messages of fewer elements than one of the type, into a tracked array and ordinary memory.
void expect_short_messages_as_ordinary(const Type& type, std::initializer_list<int> lengths) {
  for (const int elements : lengths) {
    const auto x = Array<int>::on_device("x", n);
    write_on_device(x, 0, n, [](std::size_t) { return -1; });
    const std::vector<int> sent = expected<int>(12, [](std::size_t i) { return theirs(i, rank_of()); });
    std::vector<int> plain(n, -1);
    MPI_Request requests[4];
    MPI_Irecv(x.data(), 1, type, left(), 0, world, &requests[0]);
    MPI_Irecv(plain.data(), 1, type, left(), 1, world, &requests[1]);
    for (int tag = 0; tag < 2; ++tag)
      MPI_Isend(sent.data(), elements, MPI_INT, right(), tag, world, &requests[2 + tag]);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);

    EXPECT_EQ(device_content(x), plain) << elements;
  }
}

TEST(MpiDatatypes, AShortMessageFillsThePiecesInTheirOrder) {
  const Type type(vector_of(6, 2, 9));
  expect_short_messages_as_ordinary(type, {1, 3, 8});
}

/// The library's own order of a type that we know by trial.
TEST(MpiDatatypes, AShortMessageFillsADistributedArrayInItsOrder) {
  const MPI_Aint backwards[] = {sizeof(int), 0};
  MPI_Datatype inner, made;
  MPI_Type_create_hindexed_block(2, 1, backwards, MPI_INT, &inner);
  const int sizes[] = {4, 2}, processes[] = {1, 1};
  const int spread[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_BLOCK};
  const int arguments[] = {MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG};
  MPI_Type_create_darray(1, 0, 2, sizes, spread, arguments, processes, MPI_ORDER_C, inner, &made);
  MPI_Type_free(&inner);
  const Type type(made);
  expect_short_messages_as_ordinary(type, {1, 3, 4});
}

TEST(MpiDatatypes, PairsWithAGapKeepTheirGap) {
  struct Pair {
    short value;
    short gap;
    int index;
  };
  static_assert(sizeof(Pair) == 8);
  const auto x = Array<Pair>::on_device("pairs", 100);
  kernel(x, true, [](Pair* p) {
    for (int i = 0; i < 100; ++i) p[i] = {1, 7, 2};
  });
  std::vector<Pair> sent(100);
  for (int i = 0; i < 100; ++i) sent[static_cast<std::size_t>(i)] = {static_cast<short>(left() + i), 0, i};
  MPI_Allreduce(sent.data(), x.data(), 100, MPI_SHORT_INT, MPI_MINLOC, MPI_COMM_SELF);

  const std::vector<Pair> got = device_content(x);
  for (int i = 0; i < 100; ++i) {
    const Pair& p = got[static_cast<std::size_t>(i)];
    EXPECT_EQ(p.value, left() + i);
    EXPECT_EQ(p.gap, 7);
    EXPECT_EQ(p.index, i);
  }
}

TEST(MpiDatatypes, AbsoluteAddressesInsideOneArray) {
  const auto x = Array<int>::on_device("x", n);
  write_on_device(x, 0, n, [](std::size_t i) { return theirs(i, rank_of()); });
  MPI_Aint place = 0;
  MPI_Get_address(x.data() + 30, &place);
  const int length = 10;
  MPI_Datatype made;
  MPI_Type_create_hindexed(1, &length, &place, MPI_INT, &made);
  const Type type(made);
  std::vector<int> got(length);
  MPI_Request request;
  MPI_Irecv(got.data(), length, MPI_INT, left(), 0, world, &request);

  MPI_Send(MPI_BOTTOM, 1, type, right(), 0, world);

  MPI_Wait(&request, MPI_STATUS_IGNORE);
  EXPECT_EQ(got, expected<int>(length, [](std::size_t i) { return theirs(30 + i, left()); }));
}

TEST(MpiDatatypes, OneMessageFromSeveralArraysIsAnError) {
  const ReturnErrors returned;
  const auto x = Array<int>::on_host("x", n);
  std::vector<int> plain(n);
  MPI_Aint places[2];
  MPI_Get_address(plain.data(), &places[0]);
  MPI_Get_address(x.data(), &places[1]);
  const int lengths[2] = {1, 1};
  MPI_Datatype made;
  MPI_Type_create_hindexed(2, lengths, places, MPI_INT, &made);
  const Type type(made);

  EXPECT_NE(MPI_Send(MPI_BOTTOM, 1, type, right(), 0, world), MPI_SUCCESS);
}

/// One integer of ordinary memory, at the buffer's address, and then ten of an array.
MPI_Datatype behind_a_header(const int* header, const int* array) {
  MPI_Aint places[2];
  MPI_Get_address(header, &places[0]);
  MPI_Get_address(array, &places[1]);
  const int lengths[2] = {1, 10};
  const MPI_Aint distances[2] = {0, places[1] - places[0]};
  const MPI_Datatype types[2] = {MPI_INT, MPI_INT};
  MPI_Datatype made;
  MPI_Type_create_struct(2, lengths, distances, types, &made);
  return made;
}

TEST(MpiDatatypes, AnArrayReachedFromOrdinaryMemoryIsAnError) {
  const ReturnErrors returned;
  const auto x = Array<int>::on_device("x", n);
  const auto side = Array<int>::on_host("x", n, &x);
  write_on_device(x, 0, n, [](std::size_t) { return 77; });
  for (std::size_t i = 0; i < n; ++i) side[i] = theirs(i, rank_of());  // the device's copy is older
  const auto header = std::make_unique<int>(42);
  std::vector<int> plain(2 * 11, 5);
  const int ordinary = 0;
  for (const int* const target : {x.data(), side.data()}) {
    const Type direct(behind_a_header(header.get(), target));
    MPI_Datatype dup, twice;
    MPI_Type_dup(direct, &dup);
    // The second element alone leads into the array.
    MPI_Aint from = 0, to = 0;
    MPI_Get_address(header.get(), &from);
    MPI_Get_address(target, &to);
    MPI_Type_create_resized(MPI_INT, 0, to - from, &twice);
    const Type indirect(dup), repeated(twice);
    const std::pair<MPI_Datatype, int> messages[] = {{direct, 1}, {indirect, 1}, {repeated, 2}};
    for (const auto& [type, count] : messages) {
      const int sent = MPI_Sendrecv(header.get(), count, type, rank_of(), 0, plain.data(), 11, MPI_INT, rank_of(), 0,
                                    world, MPI_STATUS_IGNORE);
      EXPECT_NE(text_of(sent).find("SemCache"), std::string::npos) << text_of(sent);
      const int got = MPI_Sendrecv(&ordinary, 1, MPI_INT, rank_of(), 0, header.get(), count, type, rank_of(), 0, world,
                                   MPI_STATUS_IGNORE);
      EXPECT_NE(text_of(got).find("SemCache"), std::string::npos) << text_of(got);
    }
  }
  EXPECT_EQ(*header, 42);
  EXPECT_EQ(host_content(side), expected<int>(n, [](std::size_t i) { return theirs(i, rank_of()); }));
}

/// Open MPI 4.1 uses other bytes than such a type names, and gives it wrong extents.
TEST(MpiDatatypes, ATypeThatTheLibraryGetsWrongIsRefusedElseRight) {
  const ReturnErrors returned;
  const auto x = Array<int>::on_device("x", n);
  const Type backwards(vector_of(4, 1, -1));
  MPI_Datatype nothing, made;
  MPI_Type_contiguous(0, MPI_INT, &nothing);
  const int lengths[] = {1, 1};
  const MPI_Aint places[] = {8, 4};
  const MPI_Datatype kinds[] = {MPI_INT, nothing};
  MPI_Type_create_struct(2, lengths, places, kinds, &made);
  MPI_Type_free(&nothing);
  const Type with_empty(made);
  for (const MPI_Datatype type : {MPI_Datatype(backwards), MPI_Datatype(with_empty)}) {
    write_on_device(x, 0, n, [](std::size_t i) { return theirs(i, rank_of()); });
    auto plain = expected<int>(n, [](std::size_t i) { return theirs(i, rank_of()); });
    const std::vector<int> before = plain;
    const int code = MPI_Sendrecv(x.data() + 100, 3, type, rank_of(), 0, x.data() + 200, 3, type, rank_of(), 0, world,
                                  MPI_STATUS_IGNORE);
    if (code == MPI_SUCCESS) {
      MPI_Sendrecv(plain.data() + 100, 3, type, rank_of(), 0, plain.data() + 200, 3, type, rank_of(), 0, world,
                   MPI_STATUS_IGNORE);
      EXPECT_EQ(device_content(x), plain);
    } else {
      EXPECT_NE(text_of(code).find("SemCache"), std::string::npos) << text_of(code);
      EXPECT_EQ(device_content(x), before);
    }
  }
}

TEST(MpiDatatypes, AFreedTypesHandleMayNameAnotherTypeLater) {
  const auto x = Array<int>::on_device("x", n);
  write_on_device(x, 0, n, [](std::size_t i) { return theirs(i, rank_of()); });
  for (int stride = 2; stride < 12; ++stride) {
    const Type type(vector_of(10, 1, stride));
    std::vector<int> got(10);
    MPI_Request request;
    MPI_Irecv(got.data(), 10, MPI_INT, left(), 0, world, &request);
    MPI_Send(x.data(), 1, type, right(), 0, world);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    EXPECT_EQ(got,
              expected<int>(10, [&](std::size_t i) { return theirs(i * static_cast<std::size_t>(stride), left()); }));
  }
}

}  // namespace
