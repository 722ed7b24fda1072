// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
//
// Whole programs: how they begin and end. Exit status 0 if everything was right. Linked without the layer it is the
// program that the preloaded layer is tried on.
#include <semcache/device/device.hpp>
#include <semcache/runtime/runtime.hpp>
#include <semcache/semcache.hpp>

#include <mpi.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

// Weak: an MPI library may have no Fortran part.
extern "C" __attribute__((weak)) void mpi_bcast_(void*, MPI_Fint*, MPI_Fint*, MPI_Fint*, MPI_Fint*, MPI_Fint*);

namespace {

namespace runtime = semcache::runtime;

constexpr int n = 5000;
constexpr int halo = 100;
int rank, size;

[[noreturn]] void fail(int line, const char* what) {
  std::fprintf(stderr, "program.cpp:%d: rank %d: not so: %s\n", line, rank, what);
  std::_Exit(1);
}
#define CHECK(condition)                          \
  do {                                            \
    if (!(condition)) fail(__LINE__, #condition); \
  } while (0)

int left() { return (rank + size - 1) % size; }
int right() { return (rank + 1) % size; }

/// An array on the device that a kernel has written, and its stale mirror.
struct Arrays {
  Arrays()
      : device(static_cast<int*>(runtime::allocate_device("device", n * sizeof(int)))),
        mirror(static_cast<int*>(runtime::allocate_host("mirror", n * sizeof(int)))) {
    write(1000 * rank);
    runtime::copy(mirror, device, n * sizeof(int), {});
  }
  void write(int first) const {
    const runtime::Capture capture{device, nullptr, 0, true, false};
    const runtime::Launch launch(runtime::queue_of(nullptr), "write", &capture, 1);
    for (int i = 0; i < n; ++i) device[i] = first + i;
  }
  [[nodiscard]] std::vector<int> on_device() const {
    const runtime::Capture capture{device, nullptr, 0, false, false};
    const runtime::Launch launch(runtime::queue_of(nullptr), "read", &capture, 1);
    return {device, device + n};
  }
  void free() const {
    runtime::deallocate(mirror);
    runtime::deallocate(device);
  }
  int* device;
  int* mirror;
};

/// The last elements of the mirror go to the right, into the first ones of the device array.
void exchange(const Arrays& a) {
  const semcache::Counters before = semcache::statistics().total;
  MPI_Request request;
  MPI_Irecv(a.device, halo, MPI_INT, left(), 0, MPI_COMM_WORLD, &request);
  MPI_Send(a.mirror + n - halo, halo, MPI_INT, right(), 0, MPI_COMM_WORLD);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  const semcache::Counters after = semcache::statistics().total;
  CHECK(after.d2h.bytes - before.d2h.bytes == halo * sizeof(int));
  CHECK(after.h2d.bytes - before.h2d.bytes == halo * sizeof(int));
  CHECK(after.host_faults == before.host_faults);
  const std::vector<int> got = a.on_device();
  for (int i = 0; i < n; ++i)
    CHECK(got[static_cast<std::size_t>(i)] == (i < halo ? 1000 * left() + n - halo + i : 1000 * rank + i));
}

void semcache_ends_first() {
  const Arrays a;
  exchange(a);
  a.free();
  semcache::finalize();
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
}

void mpi_ends_first() {
  const Arrays a;
  exchange(a);
  MPI_Finalize();
  a.write(7);
  CHECK(a.mirror[0] == 1000 * rank);
  runtime::copy(a.mirror, a.device, n * sizeof(int), {});
  CHECK(a.mirror[n - 1] == 7 + n - 1);
  a.free();
  semcache::finalize();
}

/// The runtime starts before MPI, and a message outlives it.
void messages_outlive_the_runtime() {
  const Arrays a;
  MPI_Request requests[2];
  MPI_Irecv(a.mirror + 10, halo, MPI_INT, left(), 0, MPI_COMM_WORLD, &requests[0]);
  MPI_Send_init(a.device, halo, MPI_INT, right(), 0, MPI_COMM_WORLD, &requests[1]);
  MPI_Start(&requests[1]);
  semcache::finalize();
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  MPI_Request_free(&requests[1]);
  for (int i = 0; i < n; ++i)
    CHECK(a.mirror[i] == (i >= 10 && i < 10 + halo ? 1000 * left() + i - 10 : 1000 * rank + i));
  // Ordinary memory from now on.
  MPI_Bcast(a.mirror, n, MPI_INT, 0, MPI_COMM_WORLD);
  CHECK(a.mirror[0] == 0);
  MPI_Finalize();
}

void forks() {
  const Arrays a;
  semcache::settle(a.mirror, n * sizeof(int));
  MPI_Request request;
  MPI_Irecv(a.mirror, halo, MPI_INT, left(), 0, MPI_COMM_WORLD, &request);
  const pid_t child = ::fork();
  CHECK(child >= 0);
  if (child == 0) {
    for (int i = 0; i < n; ++i) {
      if (a.mirror[i] != 1000 * rank + i) ::_exit(1);
    }
    a.mirror[5] = -1;
    ::_exit(0);
  }
  int status = 0;
  CHECK(::waitpid(child, &status, 0) == child && status == 0);
  MPI_Send(a.device + n - halo, halo, MPI_INT, right(), 0, MPI_COMM_WORLD);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  for (int i = 0; i < n; ++i) CHECK(a.mirror[i] == (i < halo ? 1000 * left() + n - halo + i : 1000 * rank + i));
  a.free();
  semcache::finalize();
  MPI_Finalize();
}

/// The others wait for it, and are ended by the launcher.
void one_rank_dies() {
  const Arrays a;
  exchange(a);
  if (rank == size - 1) std::abort();
  MPI_Recv(a.device, n, MPI_INT, size - 1, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/// The same, when nothing that it could still do is done, and the others are busy with everything that we do.
void one_rank_is_killed() {
  const Arrays a;
  std::thread([&] {
    for (int round = 0;; ++round) {
      const Arrays own;
      runtime::copy(own.mirror, own.device, n * sizeof(int), {});
      own.mirror[round % n] = round;
      own.free();
    }
  }).detach();
  for (int round = 0;; ++round) {
    if (round == 20 && rank == size - 1) std::raise(SIGKILL);
    a.write(1000 * rank);
    MPI_Request request;
    MPI_Irecv(a.device, halo, MPI_INT, left(), 0, MPI_COMM_WORLD, &request);
    MPI_Send(a.mirror + n - halo, halo, MPI_INT, right(), 0, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
}

/// An error of ours, with the error handler that programs have unless they ask for another.
void one_rank_is_refused() {
  const Arrays a;
  exchange(a);
  MPI_Win window;
  if (rank == size - 1) MPI_Win_create(a.mirror, n, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  MPI_Recv(a.device, n, MPI_INT, size - 1, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/// A call as a Fortran compiler makes it.
void fortran_is_refused() {
  const Arrays a;
  MPI_Fint count = n, type = MPI_Type_c2f(MPI_INT), root = 0, world = MPI_Comm_c2f(MPI_COMM_WORLD), error = MPI_SUCCESS;
  mpi_bcast_(a.device, &count, &type, &root, &world, &error);
}

/// exit() with a receive under way.
void exits() {
  const Arrays a;
  MPI_Request request;
  MPI_Irecv(a.device, halo, MPI_INT, rank, 0, MPI_COMM_WORLD, &request);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Cancel(&request);
  MPI_Finalize();
  std::exit(0);
}

}  // namespace

/// Without Kokkos nobody else chooses the device.
void takes_the_device_of_its_local_rank() {
  MPI_Comm node;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
  int local_rank = -1;
  MPI_Comm_rank(node, &local_rank);
  MPI_Comm_free(&node);
  const Arrays a;
  const semcache::Statistics s = semcache::statistics();
  const int devices = s.device_kind == "cuda" ? semcache::device::cuda_device_count() : size;
  CHECK(s.device_ordinal == local_rank % devices);
  a.free();
  MPI_Finalize();
}

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const struct {
    const char* name;
    void (*run)();
  } programs[] = {{"semcache_ends_first", &semcache_ends_first},
                  {"mpi_ends_first", &mpi_ends_first},
                  {"messages_outlive_the_runtime", &messages_outlive_the_runtime},
                  {"forks", &forks},
                  {"one_rank_dies", &one_rank_dies},
                  {"one_rank_is_killed", &one_rank_is_killed},
                  {"one_rank_is_refused", &one_rank_is_refused},
                  {"fortran_is_refused", &fortran_is_refused},
                  {"takes_the_device_of_its_local_rank", &takes_the_device_of_its_local_rank},
                  {"exits", &exits}};
  for (const auto& program : programs) {
    if (argc == 2 && std::strcmp(argv[1], program.name) == 0) {
      program.run();
      return 0;
    }
  }
  std::fprintf(stderr, "which program?\n");
  return 2;
}
