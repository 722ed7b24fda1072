// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
//
// Files, packing and local reductions.
#include "call.hpp"
#include "layer.hpp"

#include <algorithm>

using namespace semcache::mpi;

const char semcache::mpi::files_and_packing_part = 0;

namespace {

constexpr Message::Place host = Message::Place::host;

/// Returns where the next bytes of a packed buffer are, at most `bytes` of them.
Blocks next(MPI_Aint position, MPI_Aint bytes, MPI_Aint buffer_bytes) {
  return {{position, std::min(bytes, buffer_bytes - position), MPI_BYTE}};
}
/// Returns whether the next byte of a packed buffer is tracked. This is checked first, because asking for the size of what
/// follows costs a call. Returns false for a missing type, about which the library reports the error.
bool concerns_next(const void* packed, MPI_Aint position, MPI_Datatype type) {
  if (type == MPI_DATATYPE_NULL) return false;
  const Block next{position, 1, MPI_BYTE};
  return Call::concerns(packed, &next, 1);
}

}  // namespace

extern "C" {

#define SEMCACHE_UNPACK(...) __VA_ARGS__
// Defines a call for files. at: (MPI_Offset o,) or (); o: (o,) or (); plan: the function of Call for the buffer `b`.
#define SEMCACHE_FILE_CALL(name, const_, at, o, plan)                                                                \
  int MPI_File_##name(MPI_File file, SEMCACHE_UNPACK at const_ void* b, int n, MPI_Datatype t, MPI_Status* status) { \
    MPI_Status own;                                                                                                  \
    if (status == MPI_STATUS_IGNORE) status = &own;                                                                  \
    return run("MPI_File_" #name, file, Call(host), status, [&](Call& c) { b = c.plan(b, n, t); },                   \
               [&] { return PMPI_File_##name(file, SEMCACHE_UNPACK o b, n, t, status); });                           \
  }
#define SEMCACHE_FILE_START(name, const_, at, o, plan)                                                                 \
  int MPI_File_##name(MPI_File file, SEMCACHE_UNPACK at const_ void* b, int n, MPI_Datatype t, MPI_Request* request) { \
    return start("MPI_File_" #name, file, Call(host), request, Completes::as_file_access,                              \
                 [&](Call& c) { b = c.plan(b, n, t); },                                                                \
                 [&] { return PMPI_File_##name(file, SEMCACHE_UNPACK o b, n, t, request); });                          \
  }
#define SEMCACHE_AT (MPI_Offset o,)
#define SEMCACHE_O (o,)
SEMCACHE_FILE_CALL(read, , (), (), writes)
SEMCACHE_FILE_CALL(read_all, , (), (), writes)
SEMCACHE_FILE_CALL(read_shared, , (), (), writes)
SEMCACHE_FILE_CALL(read_ordered, , (), (), writes)
SEMCACHE_FILE_CALL(read_at, , SEMCACHE_AT, SEMCACHE_O, writes)
SEMCACHE_FILE_CALL(read_at_all, , SEMCACHE_AT, SEMCACHE_O, writes)
SEMCACHE_FILE_CALL(write, const, (), (), reads)
SEMCACHE_FILE_CALL(write_all, const, (), (), reads)
SEMCACHE_FILE_CALL(write_shared, const, (), (), reads)
SEMCACHE_FILE_CALL(write_ordered, const, (), (), reads)
SEMCACHE_FILE_CALL(write_at, const, SEMCACHE_AT, SEMCACHE_O, reads)
SEMCACHE_FILE_CALL(write_at_all, const, SEMCACHE_AT, SEMCACHE_O, reads)
SEMCACHE_FILE_START(iread, , (), (), writes)
SEMCACHE_FILE_START(iread_all, , (), (), writes)
SEMCACHE_FILE_START(iread_shared, , (), (), writes)
SEMCACHE_FILE_START(iread_at, , SEMCACHE_AT, SEMCACHE_O, writes)
SEMCACHE_FILE_START(iread_at_all, , SEMCACHE_AT, SEMCACHE_O, writes)
SEMCACHE_FILE_START(iwrite, const, (), (), reads)
SEMCACHE_FILE_START(iwrite_all, const, (), (), reads)
SEMCACHE_FILE_START(iwrite_shared, const, (), (), reads)
SEMCACHE_FILE_START(iwrite_at, const, SEMCACHE_AT, SEMCACHE_O, reads)
SEMCACHE_FILE_START(iwrite_at_all, const, SEMCACHE_AT, SEMCACHE_O, reads)
#undef SEMCACHE_O
#undef SEMCACHE_AT
#undef SEMCACHE_FILE_START
#undef SEMCACHE_FILE_CALL
#undef SEMCACHE_UNPACK

// Where the position is missing, the calls below pass through, and the library reports the error.

int MPI_Pack(const void* in, int n, MPI_Datatype t, void* out, int out_bytes, int* position, MPI_Comm comm) {
  if (position == nullptr) return PMPI_Pack(in, n, t, out, out_bytes, position, comm);
  const int begin = *position;
  return run_and_count(
      "MPI_Pack", comm, Call(host),
      [&](Call& c) {
        in = c.reads(in, n, t);
        int bytes = 0;
        if (comm != MPI_COMM_NULL && concerns_next(out, begin, t) && PMPI_Pack_size(n, t, comm, &bytes) == MPI_SUCCESS) {
          out = c.writes(out, next(begin, bytes, out_bytes));
        }
      },
      [&] { return PMPI_Pack(in, n, t, out, out_bytes, position, comm); },
      [&] { return static_cast<std::uint64_t>(*position - begin); });
}

int MPI_Pack_external(const char form[], const void* in, int n, MPI_Datatype t, void* out, MPI_Aint out_bytes,
                      MPI_Aint* position) {
  if (position == nullptr) return PMPI_Pack_external(form, in, n, t, out, out_bytes, position);
  const MPI_Aint begin = *position;
  return run_and_count(
      "MPI_Pack_external", MPI_COMM_WORLD, Call(host),
      [&](Call& c) {
        in = c.reads(in, n, t);
        MPI_Aint bytes = 0;
        if (concerns_next(out, begin, t) && PMPI_Pack_external_size(form, n, t, &bytes) == MPI_SUCCESS) {
          out = c.writes(out, next(begin, bytes, out_bytes));
        }
      },
      [&] { return PMPI_Pack_external(form, in, n, t, out, out_bytes, position); },
      [&] { return static_cast<std::uint64_t>(*position - begin); });
}

int MPI_Unpack(const void* in, int in_bytes, int* position, void* out, int n, MPI_Datatype t, MPI_Comm comm) {
  if (position == nullptr) return PMPI_Unpack(in, in_bytes, position, out, n, t, comm);
  return run("MPI_Unpack", comm, Call(host), nullptr,
             [&](Call& c) {
               int bytes = 0;
               if (comm != MPI_COMM_NULL && concerns_next(in, *position, t) && PMPI_Pack_size(n, t, comm, &bytes) == MPI_SUCCESS) {
                 in = c.reads(in, next(*position, bytes, in_bytes));
               }
               out = c.writes(out, n, t);
             },
             [&] { return PMPI_Unpack(in, in_bytes, position, out, n, t, comm); });
}

int MPI_Unpack_external(const char form[], const void* in, MPI_Aint in_bytes, MPI_Aint* position, void* out, int n,
                        MPI_Datatype t) {
  if (position == nullptr) return PMPI_Unpack_external(form, in, in_bytes, position, out, n, t);
  return run("MPI_Unpack_external", MPI_COMM_WORLD, Call(host), nullptr,
             [&](Call& c) {
               MPI_Aint bytes = 0;
               if (concerns_next(in, *position, t) && PMPI_Pack_external_size(form, n, t, &bytes) == MPI_SUCCESS) {
                 in = c.reads(in, next(*position, bytes, in_bytes));
               }
               out = c.writes(out, n, t);
             },
             [&] { return PMPI_Unpack_external(form, in, in_bytes, position, out, n, t); });
}

int MPI_Reduce_local(const void* in, void* inout, int n, MPI_Datatype t, MPI_Op op) {
  return run("MPI_Reduce_local", MPI_COMM_WORLD, Call(host), nullptr,
             [&](Call& c) {
               in = c.reads(in, n, t);
               inout = c.updates(inout, n, t);
             },
             [&] { return PMPI_Reduce_local(in, inout, n, t, op); });
}

}  // extern "C"
