// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
//
// The Fortran calls are refused on tracked memory, because they do not pass through the C interface that the layer defines,
// and a request that a Fortran call makes is completed by another Fortran call. All arguments are addresses, in mpi_f08, too.
#include "call.hpp"
#include "layer.hpp"
#include "pending.hpp"

#include <cstdio>
#include <cstdlib>

#include <dlfcn.h>

using namespace semcache::mpi;

const char semcache::mpi::fortran_part = 0;

// The addresses that Open MPI's Fortran interface passes for MPI_BOTTOM and MPI_IN_PLACE.
extern "C" {
extern __attribute__((weak)) int mpi_fortran_bottom_;
extern __attribute__((weak)) int mpi_fortran_in_place_;
}

namespace {

MPI_Fint value(const void* argument) { return *static_cast<const MPI_Fint*>(argument); }
ErrorTarget comm(const void* handle) { return MPI_Comm_f2c(value(handle)); }
ErrorTarget file(const void* handle) { return MPI_File_f2c(value(handle)); }
ErrorTarget window(const void* handle) { return MPI_Win_f2c(value(handle)); }

/// Returns whether the buffer's address is tracked, for calls whose other arguments need not be valid in every process.
bool used(const void* buffer) { return tracked(buffer); }
/// Returns whether the call uses tracked memory of the buffer.
bool used(const void* buffer, const void* count, const void* type) {
  if (buffer == &mpi_fortran_in_place_) return false;
  const MPI_Datatype t = MPI_Type_f2c(value(type));
  if (t == MPI_Datatype{}) return tracked(buffer);  // the library reports an error
  return Call::concerns(buffer == &mpi_fortran_bottom_ ? MPI_BOTTOM : buffer, value(count), t);
}

/// Returns the entry of the first of these requests that a C call has made on tracked memory, or nullptr.
PendingPtr pending(int count, const void* requests) {
  const auto* const handles = static_cast<const MPI_Fint*>(requests);
  for (int i = 0; i < count && pending_requests() != 0; ++i) {
    if (PendingPtr entry = pending_of(MPI_Request_f2c(handles[i]))) return entry;
  }
  return nullptr;
}

/// Returns the MPI library's own function, also where a C program has loaded the library's Fortran part locally, for its own
/// use. Ends the process if there is none.
void* of_library(const char* name) {
  if (void* found = ::dlsym(RTLD_DEFAULT, name)) return found;
  for (const char* library : {"libmpi_mpifh.so.40", "libmpi_usempif08.so.40"}) {
    void* const loaded = ::dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
    void* const found = loaded != nullptr ? ::dlsym(loaded, name) : nullptr;
    if (found != nullptr) return found;
  }
  std::fprintf(stderr, "semcache: %s: MPI's Fortran library is not loaded. Link the program to it (mpifort does)\n", name);
  std::abort();
}

}  // namespace

#pragma GCC visibility push(default)  // no header declares them
extern "C" {

#define SEMCACHE_PARAMETERS_2 void *a0, void *a1
#define SEMCACHE_PARAMETERS_3 SEMCACHE_PARAMETERS_2, void* a2
#define SEMCACHE_PARAMETERS_4 SEMCACHE_PARAMETERS_3, void* a3
#define SEMCACHE_PARAMETERS_5 SEMCACHE_PARAMETERS_4, void* a4
#define SEMCACHE_PARAMETERS_6 SEMCACHE_PARAMETERS_5, void* a5
#define SEMCACHE_PARAMETERS_7 SEMCACHE_PARAMETERS_6, void* a6
#define SEMCACHE_PARAMETERS_8 SEMCACHE_PARAMETERS_7, void* a7
#define SEMCACHE_PARAMETERS_9 SEMCACHE_PARAMETERS_8, void* a8
#define SEMCACHE_PARAMETERS_10 SEMCACHE_PARAMETERS_9, void* a9
#define SEMCACHE_PARAMETERS_11 SEMCACHE_PARAMETERS_10, void* a10
#define SEMCACHE_PARAMETERS_13 SEMCACHE_PARAMETERS_11, void *a11, void *a12
#define SEMCACHE_ARGUMENTS_2 a0, a1
#define SEMCACHE_ARGUMENTS_3 SEMCACHE_ARGUMENTS_2, a2
#define SEMCACHE_ARGUMENTS_4 SEMCACHE_ARGUMENTS_3, a3
#define SEMCACHE_ARGUMENTS_5 SEMCACHE_ARGUMENTS_4, a4
#define SEMCACHE_ARGUMENTS_6 SEMCACHE_ARGUMENTS_5, a5
#define SEMCACHE_ARGUMENTS_7 SEMCACHE_ARGUMENTS_6, a6
#define SEMCACHE_ARGUMENTS_8 SEMCACHE_ARGUMENTS_7, a7
#define SEMCACHE_ARGUMENTS_9 SEMCACHE_ARGUMENTS_8, a8
#define SEMCACHE_ARGUMENTS_10 SEMCACHE_ARGUMENTS_9, a9
#define SEMCACHE_ARGUMENTS_11 SEMCACHE_ARGUMENTS_10, a10
#define SEMCACHE_ARGUMENTS_13 SEMCACHE_ARGUMENTS_11, a11, a12

#define SEMCACHE_FORTRAN_CALL(name, n, error, target, is_tracked)                                           \
  void name(SEMCACHE_PARAMETERS_##n) {                                                                      \
    if (is_tracked) {                                                                                       \
      const int code = refuse(target, Refusal::fortran, #name, nullptr);                                    \
      if (error != nullptr) *static_cast<MPI_Fint*>(error) = code; /* optional in mpi_f08 */                \
      return;                                                                                               \
    }                                                                                                       \
    static const auto library = reinterpret_cast<void (*)(SEMCACHE_PARAMETERS_##n)>(of_library("p" #name)); \
    library(SEMCACHE_ARGUMENTS_##n);                                                                        \
  }
// n: the number of arguments; error: the last argument; is_tracked: a condition on the other arguments.
#define SEMCACHE_FORTRAN(name, n, error, target, is_tracked)         \
  SEMCACHE_FORTRAN_CALL(mpi_##name##_, n, error, target, is_tracked) \
  SEMCACHE_FORTRAN_CALL(mpi_##name##_f08_, n, error, target, is_tracked)

#define SEMCACHE_SEND(blocking, nonblocking, persistent)           \
  SEMCACHE_FORTRAN(blocking, 7, a6, comm(a5), used(a0, a1, a2))    \
  SEMCACHE_FORTRAN(nonblocking, 8, a7, comm(a5), used(a0, a1, a2)) \
  SEMCACHE_FORTRAN(persistent, 8, a7, comm(a5), used(a0, a1, a2))
SEMCACHE_SEND(send, isend, send_init)
SEMCACHE_SEND(ssend, issend, ssend_init)
SEMCACHE_SEND(bsend, ibsend, bsend_init)
SEMCACHE_SEND(rsend, irsend, rsend_init)
#undef SEMCACHE_SEND
SEMCACHE_FORTRAN(recv, 8, a7, comm(a5), used(a0, a1, a2))
SEMCACHE_FORTRAN(irecv, 8, a7, comm(a5), used(a0, a1, a2))
SEMCACHE_FORTRAN(recv_init, 8, a7, comm(a5), used(a0, a1, a2))
SEMCACHE_FORTRAN(mrecv, 6, a5, MPI_COMM_WORLD, used(a0, a1, a2))
SEMCACHE_FORTRAN(imrecv, 6, a5, MPI_COMM_WORLD, used(a0, a1, a2))
SEMCACHE_FORTRAN(sendrecv, 13, a12, comm(a10), used(a0, a1, a2) || used(a5, a6, a7))
SEMCACHE_FORTRAN(sendrecv_replace, 10, a9, comm(a7), used(a0, a1, a2))

// The blocking form has n arguments, the last of which is `error`. The non-blocking form has m, the last one is `ierror`.
#define SEMCACHE_COLLECTIVE(name, n, error, m, ierror, comm, is_tracked) \
  SEMCACHE_FORTRAN(name, n, error, comm, is_tracked)                     \
  SEMCACHE_FORTRAN(i##name, m, ierror, comm, is_tracked)
SEMCACHE_COLLECTIVE(bcast, 6, a5, 7, a6, comm(a4), used(a0, a1, a2))
SEMCACHE_COLLECTIVE(gather, 9, a8, 10, a9, comm(a7), used(a0) || used(a3))
SEMCACHE_COLLECTIVE(gatherv, 10, a9, 11, a10, comm(a8), used(a0) || used(a3))
SEMCACHE_COLLECTIVE(scatter, 9, a8, 10, a9, comm(a7), used(a0) || used(a3))
SEMCACHE_COLLECTIVE(scatterv, 10, a9, 11, a10, comm(a8), used(a0) || used(a4))
SEMCACHE_COLLECTIVE(allgather, 8, a7, 9, a8, comm(a6), used(a0, a1, a2) || used(a3, a4, a5))
SEMCACHE_COLLECTIVE(allgatherv, 9, a8, 10, a9, comm(a7), used(a0, a1, a2) || used(a3))
SEMCACHE_COLLECTIVE(alltoall, 8, a7, 9, a8, comm(a6), used(a0, a1, a2) || used(a3, a4, a5))
SEMCACHE_COLLECTIVE(alltoallv, 10, a9, 11, a10, comm(a8), used(a0) || used(a4))
SEMCACHE_COLLECTIVE(alltoallw, 10, a9, 11, a10, comm(a8), used(a0) || used(a4))
SEMCACHE_COLLECTIVE(reduce, 8, a7, 9, a8, comm(a6), used(a0, a2, a3) || used(a1))
SEMCACHE_COLLECTIVE(allreduce, 7, a6, 8, a7, comm(a5), used(a0, a2, a3) || used(a1, a2, a3))
SEMCACHE_COLLECTIVE(scan, 7, a6, 8, a7, comm(a5), used(a0, a2, a3) || used(a1, a2, a3))
SEMCACHE_COLLECTIVE(exscan, 7, a6, 8, a7, comm(a5), used(a0, a2, a3) || used(a1, a2, a3))
SEMCACHE_COLLECTIVE(reduce_scatter, 7, a6, 8, a7, comm(a5), used(a0) || used(a1))
SEMCACHE_COLLECTIVE(reduce_scatter_block, 7, a6, 8, a7, comm(a5), used(a0) || used(a1))
SEMCACHE_COLLECTIVE(neighbor_allgather, 8, a7, 9, a8, comm(a6), used(a0, a1, a2) || used(a3, a4, a5))
SEMCACHE_COLLECTIVE(neighbor_allgatherv, 9, a8, 10, a9, comm(a7), used(a0, a1, a2) || used(a3))
SEMCACHE_COLLECTIVE(neighbor_alltoall, 8, a7, 9, a8, comm(a6), used(a0, a1, a2) || used(a3, a4, a5))
SEMCACHE_COLLECTIVE(neighbor_alltoallv, 10, a9, 11, a10, comm(a8), used(a0) || used(a4))
SEMCACHE_COLLECTIVE(neighbor_alltoallw, 10, a9, 11, a10, comm(a8), used(a0) || used(a4))
#undef SEMCACHE_COLLECTIVE

SEMCACHE_FORTRAN(pack, 8, a7, comm(a6), used(a0, a1, a2) || used(a3))
SEMCACHE_FORTRAN(unpack, 8, a7, comm(a6), used(a0) || used(a3, a4, a5))
SEMCACHE_FORTRAN(reduce_local, 6, a5, MPI_COMM_WORLD, used(a0, a2, a3) || used(a1, a2, a3))
SEMCACHE_FORTRAN(win_create, 7, a6, comm(a4), used(a0))
SEMCACHE_FORTRAN(put, 9, a8, window(a7), used(a0, a1, a2))
SEMCACHE_FORTRAN(get, 9, a8, window(a7), used(a0, a1, a2))
SEMCACHE_FORTRAN(accumulate, 10, a9, window(a8), used(a0, a1, a2))

// The forms without and with an offset.
#define SEMCACHE_FILE(name, at)                                    \
  SEMCACHE_FORTRAN(file_##name, 6, a5, file(a0), used(a1, a2, a3)) \
  SEMCACHE_FORTRAN(file_##at, 7, a6, file(a0), used(a2, a3, a4))
SEMCACHE_FILE(read, read_at)
SEMCACHE_FILE(read_all, read_at_all)
SEMCACHE_FILE(iread, iread_at)
SEMCACHE_FILE(iread_all, iread_at_all)
SEMCACHE_FILE(write, write_at)
SEMCACHE_FILE(write_all, write_at_all)
SEMCACHE_FILE(iwrite, iwrite_at)
SEMCACHE_FILE(iwrite_all, iwrite_at_all)
#undef SEMCACHE_FILE

// A request that a C call has made on tracked memory must be started, completed and freed by C calls.
#define SEMCACHE_REQUEST(name, n, error, count, requests) \
  SEMCACHE_FORTRAN(name, n, error, pending(count, requests)->target, pending(count, requests) != nullptr)
SEMCACHE_REQUEST(start, 2, a1, 1, a0)
SEMCACHE_REQUEST(request_free, 2, a1, 1, a0)
SEMCACHE_REQUEST(wait, 3, a2, 1, a0)
SEMCACHE_REQUEST(startall, 3, a2, value(a0), a1)
SEMCACHE_REQUEST(test, 4, a3, 1, a0)
SEMCACHE_REQUEST(request_get_status, 4, a3, 1, a0)
SEMCACHE_REQUEST(waitall, 4, a3, value(a0), a1)
SEMCACHE_REQUEST(testall, 5, a4, value(a0), a1)
SEMCACHE_REQUEST(waitany, 5, a4, value(a0), a1)
SEMCACHE_REQUEST(testany, 6, a5, value(a0), a1)
SEMCACHE_REQUEST(waitsome, 6, a5, value(a0), a1)
SEMCACHE_REQUEST(testsome, 6, a5, value(a0), a1)
#undef SEMCACHE_REQUEST

#undef SEMCACHE_FORTRAN
#undef SEMCACHE_FORTRAN_CALL

}  // extern "C"
#pragma GCC visibility pop
