// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <mpi/support.hpp>

#include <functional>

using namespace mpi_test;

extern "C" {
extern int mpi_fortran_bottom_;
extern int mpi_fortran_in_place_;
void mpi_send_(void*, MPI_Fint*, MPI_Fint*, MPI_Fint*, MPI_Fint*, MPI_Fint*, MPI_Fint*);
void mpi_irecv_(void*, MPI_Fint*, MPI_Fint*, MPI_Fint*, MPI_Fint*, MPI_Fint*, MPI_Fint*, MPI_Fint*);
void mpi_wait_(MPI_Fint*, MPI_Fint*, MPI_Fint*);
void mpi_start_(MPI_Fint*, MPI_Fint*);
void mpi_waitall_(MPI_Fint*, MPI_Fint*, MPI_Fint*, MPI_Fint*);
void mpi_request_free_(MPI_Fint*, MPI_Fint*);
void mpi_initialized_(MPI_Fint*, MPI_Fint*);  // the library's own: else nothing asks for the library
void mpi_sendrecv_(void*, MPI_Fint*, MPI_Fint*, MPI_Fint*, MPI_Fint*, void*, MPI_Fint*, MPI_Fint*, MPI_Fint*, MPI_Fint*,
                   MPI_Fint*, MPI_Fint*, MPI_Fint*);
void mpi_bcast_(void*, MPI_Fint*, MPI_Fint*, MPI_Fint*, MPI_Fint*, MPI_Fint*);
void mpi_allreduce_(void*, void*, MPI_Fint*, MPI_Fint*, MPI_Fint*, MPI_Fint*, MPI_Fint*);
void mpi_gather_(void*, MPI_Fint*, MPI_Fint*, void*, MPI_Fint*, MPI_Fint*, MPI_Fint*, MPI_Fint*, MPI_Fint*);
void mpi_ialltoallv_(void*, MPI_Fint*, MPI_Fint*, MPI_Fint*, void*, MPI_Fint*, MPI_Fint*, MPI_Fint*, MPI_Fint*,
                     MPI_Fint*, MPI_Fint*);
}

namespace {

constexpr std::size_t n = 1000;
int value(std::size_t i) { return 3 * static_cast<int>(i) + 1; }

struct Arguments {
  MPI_Fint ten = 10, zero = 0, me = rank_of();
  MPI_Fint integer = MPI_Type_c2f(MPI_INT), sum = MPI_Op_c2f(MPI_SUM);
  MPI_Fint world = MPI_Comm_c2f(MPI_COMM_WORLD), self = MPI_Comm_c2f(MPI_COMM_SELF);
  MPI_Fint request = 0, error = -1;
  MPI_Fint status[sizeof(MPI_Status) / sizeof(MPI_Fint)] = {};
};

TEST(MpiFortran, CallsWithTrackedMemoryAreRefused) {
  const ReturnErrors returned;
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  const auto x = Array<int>::on_device("x", n);
  write_on_device(x, 0, n, &value);
  std::vector<int> plain(n, 5);
  Arguments a;
  MPI_Aint address = 0;
  MPI_Get_address(x.data(), &address);
  const int ten = 10;
  MPI_Datatype absolute;
  MPI_Type_create_hindexed(1, &ten, &address, MPI_INT, &absolute);
  MPI_Type_commit(&absolute);
  MPI_Fint one = 1;
  MPI_Fint at_address = MPI_Type_c2f(absolute);
  int* const t = x.data();
  int* const p = plain.data();
  const std::pair<const char*, std::function<void()>> calls[] = {
      {"send", [&] { mpi_send_(t, &a.ten, &a.integer, &a.me, &a.zero, &a.world, &a.error); }},
      {"send from an absolute address",
       [&] { mpi_send_(&mpi_fortran_bottom_, &one, &at_address, &a.me, &a.zero, &a.world, &a.error); }},
      {"irecv", [&] { mpi_irecv_(t, &a.ten, &a.integer, &a.me, &a.zero, &a.world, &a.request, &a.error); }},
      {"sendrecv",
       [&] {
         mpi_sendrecv_(p, &a.ten, &a.integer, &a.me, &a.zero, t, &a.ten, &a.integer, &a.me, &a.zero, &a.world, a.status,
                       &a.error);
       }},
      {"bcast", [&] { mpi_bcast_(t, &a.ten, &a.integer, &a.zero, &a.world, &a.error); }},
      {"allreduce", [&] { mpi_allreduce_(p, t, &a.ten, &a.integer, &a.sum, &a.world, &a.error); }},
      {"allreduce in place",
       [&] { mpi_allreduce_(&mpi_fortran_in_place_, t, &a.ten, &a.integer, &a.sum, &a.world, &a.error); }},
      {"gather", [&] { mpi_gather_(p, &a.ten, &a.integer, t, &a.ten, &a.integer, &a.zero, &a.self, &a.error); }},
      {"ialltoallv",
       [&] {
         mpi_ialltoallv_(t, &a.ten, &a.zero, &a.integer, p, &a.ten, &a.zero, &a.integer, &a.self, &a.request, &a.error);
       }},
  };
  for (const auto& [name, call] : calls) {
    a.error = MPI_SUCCESS;
    call();
    EXPECT_NE(text_of(a.error).find("Fortran"), std::string::npos) << name << ": " << text_of(a.error);
  }
  MPI_Type_free(&absolute);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
  EXPECT_EQ(device_content(x), expected<int>(n, &value));
  EXPECT_EQ(plain, std::vector<int>(n, 5));
}

TEST(MpiFortran, RequestsOfCCallsAreRefused) {
  const ReturnErrors returned;
  const auto x = Array<int>::on_device("x", n);
  write_on_device(x, 0, n, &value);
  std::vector<int> sent(n, 8);
  Arguments a;
  MPI_Request receive, send;
  MPI_Irecv(x.data(), n, MPI_INT, rank_of(), 0, MPI_COMM_WORLD, &receive);
  MPI_Send(sent.data(), n, MPI_INT, rank_of(), 0, MPI_COMM_WORLD);
  MPI_Send_init(x.data(), n, MPI_INT, rank_of(), 1, MPI_COMM_WORLD, &send);
  MPI_Fint requests[] = {MPI_Request_c2f(receive), MPI_Request_c2f(send)};
  MPI_Fint two = 2;
  MPI_Fint statuses[2 * sizeof(MPI_Status) / sizeof(MPI_Fint)] = {};
  const std::function<void()> calls[] = {
      [&] { mpi_wait_(&requests[0], statuses, &a.error); },
      [&] { mpi_waitall_(&two, requests, statuses, &a.error); },
      [&] { mpi_start_(&requests[1], &a.error); },
      [&] { mpi_request_free_(&requests[1], &a.error); },
  };
  for (const auto& call : calls) {
    a.error = MPI_SUCCESS;
    call();
    EXPECT_NE(text_of(a.error).find("Fortran"), std::string::npos) << text_of(a.error);
  }
  EXPECT_EQ(MPI_Wait(&receive, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(device_content(x), sent);
  EXPECT_EQ(MPI_Request_free(&send), MPI_SUCCESS);
}

TEST(MpiFortran, OrdinaryMemoryGoesOnWorking) {
  Arguments a;
  MPI_Fint initialized = 0;
  mpi_initialized_(&initialized, &a.error);
  EXPECT_NE(initialized, 0);
  std::vector<int> sent(10, 7), got(10), sum(10, 2);
  mpi_irecv_(got.data(), &a.ten, &a.integer, &a.me, &a.zero, &a.world, &a.request, &a.error);
  EXPECT_EQ(a.error, MPI_SUCCESS);
  mpi_send_(sent.data(), &a.ten, &a.integer, &a.me, &a.zero, &a.world, &a.error);
  EXPECT_EQ(a.error, MPI_SUCCESS);
  mpi_wait_(&a.request, a.status, &a.error);
  EXPECT_EQ(got, sent);
  mpi_allreduce_(&mpi_fortran_in_place_, sum.data(), &a.ten, &a.integer, &a.sum, &a.world, &a.error);
  EXPECT_EQ(sum, std::vector<int>(10, 2 * size_of()));
}

}  // namespace
