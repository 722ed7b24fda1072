// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
//
// Calls that are refused on tracked memory, above all those that let other processes or the library read or write memory at
// times that the layer does not notice.
#include "call.hpp"
#include "layer.hpp"
#include "refused.hpp"

using namespace semcache::mpi;

const char semcache::mpi::refused_part = 0;

extern "C" {

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

// Calls of MPI 4 that are refused although their older forms are served.
#ifdef SEMCACHE_MPI_HAS_Isendrecv
SEMCACHE_REFUSED(Isendrecv, comm, mpi_4,
  (const void* s, int sn, MPI_Datatype st, int to, int stag, void* r, int rn, MPI_Datatype rt, int from, int rtag,
   MPI_Comm comm, MPI_Request* request),
  (s, sn, st, to, stag, r, rn, rt, from, rtag, comm, request), used(s, sn, st) || used(r, rn, rt))
SEMCACHE_REFUSED(Isendrecv_replace, comm, mpi_4,
  (void* b, int n, MPI_Datatype t, int to, int stag, int from, int rtag, MPI_Comm comm, MPI_Request* request),
  (b, n, t, to, stag, from, rtag, comm, request), used(b, n, t))
#endif
#ifdef SEMCACHE_MPI_HAS_Psend_init
SEMCACHE_REFUSED(Psend_init, comm, mpi_4,
  (const void* b, int parts, MPI_Count n, MPI_Datatype t, int to, int tag, MPI_Comm comm, MPI_Info info,
   MPI_Request* request),
  (b, parts, n, t, to, tag, comm, info, request), used(b, parts * n, t))
SEMCACHE_REFUSED(Precv_init, comm, mpi_4,
  (void* b, int parts, MPI_Count n, MPI_Datatype t, int from, int tag, MPI_Comm comm, MPI_Info info,
   MPI_Request* request),
  (b, parts, n, t, from, tag, comm, info, request), used(b, parts * n, t))
#endif

#undef SEMCACHE_REFUSED

}  // extern "C"
