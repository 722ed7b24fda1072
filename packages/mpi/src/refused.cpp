// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
//
// Calls that let others read or write memory at times that nobody announces: refused on tracked memory.
#include "call.hpp"
#include "layer.hpp"

using namespace semcache::mpi;

const char semcache::mpi::refused_part = 0;

namespace {

bool used(const void* buffer, MPI_Count count, MPI_Datatype type) { return Call::concerns(buffer, count, type); }

}  // namespace

extern "C" {

// is_tracked: a condition on the arguments.
#define SEMCACHE_REFUSED(name, target, refusal, parameters, arguments, is_tracked)  \
  int MPI_##name parameters {                                                       \
    if (is_tracked) return refuse(target, Refusal::refusal, "MPI_" #name, nullptr); \
    return PMPI_##name arguments;                                                   \
  }

SEMCACHE_REFUSED(Win_create, comm, window_memory,
  (void* base, MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, MPI_Win* w),
  (base, size, unit, info, comm, w), tracked(base))
SEMCACHE_REFUSED(Win_attach, w, window_memory, (MPI_Win w, void* base, MPI_Aint size), (w, base, size), tracked(base))

#define SEMCACHE_TARGET int rank, MPI_Aint at, int tn, MPI_Datatype tt
SEMCACHE_REFUSED(Put, w, one_sided, (const void* o, int n, MPI_Datatype t, SEMCACHE_TARGET, MPI_Win w),
  (o, n, t, rank, at, tn, tt, w), used(o, n, t))
SEMCACHE_REFUSED(Get, w, one_sided, (void* o, int n, MPI_Datatype t, SEMCACHE_TARGET, MPI_Win w),
  (o, n, t, rank, at, tn, tt, w), used(o, n, t))
SEMCACHE_REFUSED(Accumulate, w, one_sided,
  (const void* o, int n, MPI_Datatype t, SEMCACHE_TARGET, MPI_Op op, MPI_Win w),
  (o, n, t, rank, at, tn, tt, op, w), used(o, n, t))
SEMCACHE_REFUSED(Get_accumulate, w, one_sided,
  (const void* o, int n, MPI_Datatype t, void* r, int rn, MPI_Datatype rt, SEMCACHE_TARGET, MPI_Op op, MPI_Win w),
  (o, n, t, r, rn, rt, rank, at, tn, tt, op, w),
  (op != MPI_NO_OP && used(o, n, t)) || used(r, rn, rt))
SEMCACHE_REFUSED(Fetch_and_op, w, one_sided,
  (const void* o, void* r, MPI_Datatype t, int rank, MPI_Aint at, MPI_Op op, MPI_Win w),
  (o, r, t, rank, at, op, w), used(o, 1, t) || used(r, 1, t))
SEMCACHE_REFUSED(Compare_and_swap, w, one_sided,
  (const void* o, const void* compared, void* r, MPI_Datatype t, int rank, MPI_Aint at, MPI_Win w),
  (o, compared, r, t, rank, at, w), used(o, 1, t) || used(compared, 1, t) || used(r, 1, t))
SEMCACHE_REFUSED(Rput, w, one_sided,
  (const void* o, int n, MPI_Datatype t, SEMCACHE_TARGET, MPI_Win w, MPI_Request* request),
  (o, n, t, rank, at, tn, tt, w, request), used(o, n, t))
SEMCACHE_REFUSED(Rget, w, one_sided, (void* o, int n, MPI_Datatype t, SEMCACHE_TARGET, MPI_Win w, MPI_Request* request),
  (o, n, t, rank, at, tn, tt, w, request), used(o, n, t))
SEMCACHE_REFUSED(Raccumulate, w, one_sided,
  (const void* o, int n, MPI_Datatype t, SEMCACHE_TARGET, MPI_Op op, MPI_Win w, MPI_Request* request),
  (o, n, t, rank, at, tn, tt, op, w, request), used(o, n, t))
SEMCACHE_REFUSED(Rget_accumulate, w, one_sided,
  (const void* o, int n, MPI_Datatype t, void* r, int rn, MPI_Datatype rt, SEMCACHE_TARGET, MPI_Op op, MPI_Win w,
   MPI_Request* request),
  (o, n, t, r, rn, rt, rank, at, tn, tt, op, w, request),
  (op != MPI_NO_OP && used(o, n, t)) || used(r, rn, rt))
#undef SEMCACHE_TARGET

SEMCACHE_REFUSED(Buffer_attach, MPI_COMM_WORLD, attached_buffer, (void* b, int n), (b, n), tracked(b))

SEMCACHE_REFUSED(File_read_all_begin, f, split_file_access, (MPI_File f, void* b, int n, MPI_Datatype t),
  (f, b, n, t), used(b, n, t))
SEMCACHE_REFUSED(File_read_ordered_begin, f, split_file_access, (MPI_File f, void* b, int n, MPI_Datatype t),
  (f, b, n, t), used(b, n, t))
SEMCACHE_REFUSED(File_read_at_all_begin, f, split_file_access,
  (MPI_File f, MPI_Offset o, void* b, int n, MPI_Datatype t), (f, o, b, n, t), used(b, n, t))
SEMCACHE_REFUSED(File_write_all_begin, f, split_file_access, (MPI_File f, const void* b, int n, MPI_Datatype t),
  (f, b, n, t), used(b, n, t))
SEMCACHE_REFUSED(File_write_ordered_begin, f, split_file_access, (MPI_File f, const void* b, int n, MPI_Datatype t),
  (f, b, n, t), used(b, n, t))
SEMCACHE_REFUSED(File_write_at_all_begin, f, split_file_access,
  (MPI_File f, MPI_Offset o, const void* b, int n, MPI_Datatype t), (f, o, b, n, t), used(b, n, t))

#undef SEMCACHE_REFUSED

}  // extern "C"
