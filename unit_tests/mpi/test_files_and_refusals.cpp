// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <mpi/support.hpp>

#include <cstdlib>

#include <unistd.h>

using namespace mpi_test;

namespace {

constexpr std::size_t n = 2000;
int value(std::size_t i) { return 3 * static_cast<int>(i) + 1; }

/// A file of this process alone.
class File {
 public:
  File() {
    path_ = (std::getenv("TMPDIR") != nullptr ? std::string(std::getenv("TMPDIR")) : std::string("/tmp")) +
            "/semcache_mpi_file_" + std::to_string(::getpid());
    MPI_File_open(MPI_COMM_SELF, path_.c_str(), MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                  MPI_INFO_NULL, &file_);
  }
  ~File() { MPI_File_close(&file_); }
  operator MPI_File() const { return file_; }  // NOLINT

 private:
  std::string path_;
  MPI_File file_ = MPI_FILE_NULL;
};

TEST(MpiFiles, WrittenFromAndReadIntoTrackedMemory) {
  const File file;
  const auto x = Array<int>::on_device("x", n);
  write_on_device(x, 0, n, &value);
  const auto mirror = Array<int>::on_host("mirror", n);
  for (std::size_t i = 0; i < n; ++i) mirror[i] = -1;
  const auto count = static_cast<int>(n);
  const Since since("x");

  MPI_File_write(file, x.data(), 1000, MPI_INT, MPI_STATUS_IGNORE);
  MPI_Request request;
  MPI_File_iwrite_at(file, 4000, x.data() + 1000, 600, MPI_INT, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  EXPECT_EQ(since.to_host(), 1600 * sizeof(int));

  // The file is shorter than the array.
  MPI_Status status;
  int got = 0;
  MPI_File_read_at(file, 0, mirror.data(), count, MPI_INT, &status);
  MPI_Get_count(&status, MPI_INT, &got);
  EXPECT_EQ(got, 1600);
  EXPECT_EQ(host_content(mirror), expected<int>(n, [](std::size_t i) { return i < 1600 ? value(i) : -1; }));

  write_on_device(x, 0, n, [](std::size_t) { return 0; });
  MPI_File_iread_at(file, 40, x.data() + 5, 20, MPI_INT, &request);
  EXPECT_EQ(device_content(x)[5], 0);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  EXPECT_EQ(device_content(x),
            expected<int>(n, [](std::size_t i) { return i >= 5 && i < 25 ? value(10 + i - 5) : 0; }));
}

TEST(MpiFiles, PackedAndUnpacked) {
  const auto x = Array<int>::on_device("x", n);
  write_on_device(x, 0, n, &value);
  const auto packed = Array<char>::on_device("packed", 4 * n);
  write_on_device(packed, 0, 4 * n, [](std::size_t) { return 9; });
  int position = 100;

  MPI_Pack(x.data() + 7, 50, MPI_INT, packed.data(), static_cast<int>(packed.size()), &position, MPI_COMM_WORLD);
  EXPECT_EQ(position, 300);
  EXPECT_EQ(device_content(packed)[99], 9);
  EXPECT_EQ(device_content(packed)[300], 9);
  position = 100;
  std::vector<int> got(50);
  MPI_Unpack(packed.data(), static_cast<int>(packed.size()), &position, got.data(), 50, MPI_INT, MPI_COMM_WORLD);
  EXPECT_EQ(got, expected<int>(50, [](std::size_t i) { return value(7 + i); }));

  MPI_Reduce_local(got.data(), x.data(), 50, MPI_INT, MPI_SUM);
  EXPECT_EQ(device_content(x),
            expected<int>(n, [](std::size_t i) { return i < 50 ? value(i) + value(7 + i) : value(i); }));
}

TEST(MpiFiles, PackedAndUnpackedForOthers) {
  const auto x = Array<int>::on_device("x", n);
  write_on_device(x, 0, n, &value);
  const auto packed = Array<char>::on_host("packed", 4 * n);
  for (std::size_t i = 0; i < 4 * n; ++i) packed[i] = 9;
  const auto size = static_cast<MPI_Aint>(packed.size());
  const Since since("x");
  MPI_Aint position = 100;

  MPI_Pack_external("external32", x.data() + 7, 50, MPI_INT, packed.data(), size, &position);
  EXPECT_EQ(position, 300);
  EXPECT_EQ(since.to_host(), 50 * sizeof(int));
  const std::vector<char> bytes = host_content(packed);
  EXPECT_EQ(bytes[99], 9);
  EXPECT_EQ(std::vector<char>(bytes.begin() + 100, bytes.begin() + 104),
            (std::vector<char>{0, 0, 0, static_cast<char>(value(7))}))
      << "the byte first that counts most";
  EXPECT_EQ(bytes[300], 9);
  position = 100;
  write_on_device(x, 0, n, [](std::size_t) { return 0; });
  MPI_Unpack_external("external32", packed.data(), size, &position, x.data() + 1, 50, MPI_INT);
  EXPECT_EQ(position, 300);
  EXPECT_EQ(device_content(x), expected<int>(n, [](std::size_t i) { return i >= 1 && i < 51 ? value(7 + i - 1) : 0; }));
  EXPECT_EQ(since.to_device(), 50 * sizeof(int));
}

TEST(MpiFiles, OfPackedBytesThoseOfTheCallMove) {
  const ReturnErrors returned;
  const auto packed = Array<char>::on_device("packed", 1 << 18);
  write_on_device(packed, 0, packed.size(), [](std::size_t) { return 9; });
  const auto size = static_cast<int>(packed.size());
  const std::vector<int> sent = expected<int>(50, &value);
  std::vector<int> got(50, 0);
  int position = 100;
  MPI_Aint place = 1000;
  const Since since("packed");

  MPI_Pack(sent.data(), 50, MPI_INT, packed.data(), size, &position, MPI_COMM_WORLD);
  MPI_Pack_external("external32", sent.data(), 50, MPI_INT, packed.data(), size, &place);
  EXPECT_EQ(since.to_host(), 0u);
  EXPECT_EQ(since.to_device(), 2 * 200u);
  position = 100;
  place = 1000;
  for (std::size_t i = 0; i < 50; ++i) {
    MPI_Unpack(packed.data(), size, &position, &got[i], 1, MPI_INT, MPI_COMM_WORLD);
  }
  EXPECT_EQ(got, sent);
  EXPECT_EQ(since.to_host(), 200u);
  MPI_Unpack_external("external32", packed.data(), size, &place, got.data(), 50, MPI_INT);
  EXPECT_EQ(got, sent);
  EXPECT_EQ(since.to_host(), 2 * 200u);

  // What does not fit changes nothing.
  position = size - 10;
  EXPECT_NE(MPI_Pack(sent.data(), 50, MPI_INT, packed.data(), size, &position, MPI_COMM_WORLD), MPI_SUCCESS);
  EXPECT_NE(MPI_Unpack(packed.data(), size, &position, got.data(), 50, MPI_INT, MPI_COMM_WORLD), MPI_SUCCESS);
  EXPECT_EQ(device_content(packed)[packed.size() - 10], 9);
}

TEST(MpiFiles, PackingWithoutAPositionIsTheLibrarysError) {
  const ReturnErrors returned;
  const auto x = Array<int>::on_device("x", n);
  int plain = 0;
  for (int* const in : {x.data(), &plain}) {
    char out[100] = {};
    EXPECT_NE(MPI_Pack(in, 1, MPI_INT, out, 100, nullptr, MPI_COMM_WORLD), MPI_SUCCESS);
    EXPECT_NE(MPI_Unpack(out, 100, nullptr, in, 1, MPI_INT, MPI_COMM_WORLD), MPI_SUCCESS);
    EXPECT_NE(MPI_Pack_external("external32", in, 1, MPI_INT, out, 100, nullptr), MPI_SUCCESS);
    EXPECT_NE(MPI_Unpack_external("external32", out, 100, nullptr, in, 1, MPI_INT), MPI_SUCCESS);
  }
}

void expect_refused(int code, const char* text) {
  ASSERT_NE(code, MPI_SUCCESS);
  EXPECT_NE(text_of(code).find("SemCache"), std::string::npos) << text_of(code);
  EXPECT_NE(text_of(code).find(text), std::string::npos) << text_of(code);
}

TEST(MpiRefusals, AWindowOverTrackedMemory) {
  const ReturnErrors returned;
  for (const bool on_device : {false, true}) {
    const auto x = on_device ? Array<int>::on_device("x", n) : Array<int>::on_host("x", n);
    MPI_Win window = MPI_WIN_NULL;
    expect_refused(MPI_Win_create(x.data() + 3, 40, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &window), "MPI_Win_allocate");
    EXPECT_EQ(window, MPI_WIN_NULL);
  }
}

TEST(MpiRefusals, OneSidedCallsWithTrackedOrigins) {
  const auto x = Array<int>::on_device("x", n);
  write_on_device(x, 0, n, &value);
  int* base = nullptr;
  MPI_Win window;
  MPI_Win_allocate(4000, 4, MPI_INFO_NULL, MPI_COMM_SELF, &base, &window);
  MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN);
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
  int* const t = x.data();
  MPI_Request request;
  const char* const why = "one-sided";

  expect_refused(MPI_Put(t, 1, MPI_INT, 0, 0, 1, MPI_INT, window), why);
  expect_refused(MPI_Get(t, 1, MPI_INT, 0, 0, 1, MPI_INT, window), why);
  expect_refused(MPI_Accumulate(t, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, window), why);
  expect_refused(MPI_Get_accumulate(base, 1, MPI_INT, t, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, window), why);
  expect_refused(MPI_Fetch_and_op(base, t, MPI_INT, 0, 0, MPI_SUM, window), why);
  expect_refused(MPI_Compare_and_swap(base, t, base, MPI_INT, 0, 0, window), why);
  expect_refused(MPI_Rput(t, 1, MPI_INT, 0, 0, 1, MPI_INT, window, &request), why);
  expect_refused(MPI_Rget(t, 1, MPI_INT, 0, 0, 1, MPI_INT, window, &request), why);
  expect_refused(MPI_Raccumulate(t, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, window, &request), why);
  expect_refused(MPI_Rget_accumulate(t, 1, MPI_INT, base, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, window, &request),
                 why);

  // By an absolute address.
  MPI_Aint address = 0;
  MPI_Get_address(t, &address);
  const int one = 1;
  MPI_Datatype absolute;
  MPI_Type_create_hindexed(1, &one, &address, MPI_INT, &absolute);
  MPI_Type_commit(&absolute);
  expect_refused(MPI_Put(MPI_BOTTOM, 1, absolute, 0, 0, 1, MPI_INT, window), why);
  MPI_Type_free(&absolute);

  MPI_Win_unlock(0, window);
  MPI_Win_free(&window);
  EXPECT_EQ(device_content(x), expected<int>(n, &value));
}

TEST(MpiRefusals, OrdinaryMemoryGoesOnWorkingOneSided) {
  int* base = nullptr;
  MPI_Win window;
  MPI_Win_allocate(4, 4, MPI_INFO_NULL, MPI_COMM_SELF, &base, &window);
  const int seven = 7;
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
  MPI_Put(&seven, 1, MPI_INT, 0, 0, 1, MPI_INT, window);
  MPI_Win_unlock(0, window);
  EXPECT_EQ(*base, 7);
  MPI_Win_free(&window);
}

#if MPI_VERSION >= 4
TEST(MpiRefusals, CallsOfMpi4) {
  const ReturnErrors returned;
  const auto x = Array<int>::on_device("x", n);
  write_on_device(x, 0, n, &value);
  const MPI_Comm world = MPI_COMM_WORLD;
  const char* const why = "MPI 4";
  int* const t = x.data();
  int plain = 5;
  MPI_Request request;
  expect_refused(MPI_Send_c(t, 1, MPI_INT, 0, 0, world), why);
  expect_refused(MPI_Irecv_c(t, 1, MPI_INT, 0, 0, world, &request), why);
  expect_refused(MPI_Isendrecv(&plain, 1, MPI_INT, 0, 0, t, 1, MPI_INT, 0, 0, world, &request), why);
  expect_refused(MPI_Psend_init(t, 2, 1, MPI_INT, 0, 0, world, MPI_INFO_NULL, &request), why);
  expect_refused(MPI_Bcast_c(t, 1, MPI_INT, 0, world), why);
  expect_refused(MPI_Iallreduce_c(MPI_IN_PLACE, t, 1, MPI_INT, MPI_SUM, world, &request), why);
  expect_refused(MPI_Gather_init_c(&plain, 1, MPI_INT, t, 1, MPI_INT, 0, world, MPI_INFO_NULL, &request), why);
  EXPECT_EQ(MPI_Bcast_c(&plain, 1, MPI_INT, 0, world), MPI_SUCCESS);
  EXPECT_EQ(device_content(x), expected<int>(n, &value));
}
#endif

TEST(MpiRefusals, MemoryForMpisOwnUse) {
  const ReturnErrors returned;
  const auto x = Array<int>::on_host("x", n);
  expect_refused(MPI_Buffer_attach(x.data(), 1000), "attached");
}

TEST(MpiRefusals, SplitCollectiveFileAccess) {
  const File file;  // errors of files are returned unless asked otherwise
  const auto x = Array<int>::on_host("x", n);
  expect_refused(MPI_File_write_all_begin(file, x.data(), 1, MPI_INT), "split");
  expect_refused(MPI_File_read_at_all_begin(file, 0, x.data(), 1, MPI_INT), "split");
}

}  // namespace
