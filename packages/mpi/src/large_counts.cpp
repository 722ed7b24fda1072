// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
//
// The calls of MPI 4 with counts beyond 2^31, which are refused on tracked memory. Where a process need not give valid counts
// and types, only the buffer's address is checked.
#include "layer.hpp"
#include "refused.hpp"

using namespace semcache::mpi;

const char semcache::mpi::large_counts_part = 0;

#ifdef SEMCACHE_MPI_HAS_Send_c

extern "C" {

#define SEMCACHE_UNPACK(...) __VA_ARGS__
#define SEMCACHE_LARGE(name, target, parameters, arguments, is_tracked) \
  SEMCACHE_REFUSED(name##_c, target, mpi_4, parameters, arguments, is_tracked)
// The form that takes a request behind the other arguments.
#define SEMCACHE_LARGE_START(name, parameters, arguments, is_tracked)                    \
  SEMCACHE_LARGE(name, comm, (SEMCACHE_UNPACK parameters, MPI_Request* request),         \
                 (SEMCACHE_UNPACK arguments, request), is_tracked)

// --- from one to one ------------------------------------------------------------------------------------------------

#define SEMCACHE_PARAMETERS const void* b, MPI_Count n, MPI_Datatype t, int to, int tag, MPI_Comm comm
#define SEMCACHE_SEND(name, start, init)                                                          \
  SEMCACHE_LARGE(name, comm, (SEMCACHE_PARAMETERS), (b, n, t, to, tag, comm), used(b, n, t))      \
  SEMCACHE_LARGE_START(start, (SEMCACHE_PARAMETERS), (b, n, t, to, tag, comm), used(b, n, t))     \
  SEMCACHE_LARGE_START(init, (SEMCACHE_PARAMETERS), (b, n, t, to, tag, comm), used(b, n, t))
SEMCACHE_SEND(Send, Isend, Send_init)
SEMCACHE_SEND(Ssend, Issend, Ssend_init)
SEMCACHE_SEND(Bsend, Ibsend, Bsend_init)
SEMCACHE_SEND(Rsend, Irsend, Rsend_init)
#undef SEMCACHE_SEND
#undef SEMCACHE_PARAMETERS

#define SEMCACHE_PARAMETERS void* b, MPI_Count n, MPI_Datatype t, int from, int tag, MPI_Comm comm
SEMCACHE_LARGE(Recv, comm, (SEMCACHE_PARAMETERS, MPI_Status* status), (b, n, t, from, tag, comm, status), used(b, n, t))
SEMCACHE_LARGE_START(Irecv, (SEMCACHE_PARAMETERS), (b, n, t, from, tag, comm), used(b, n, t))
SEMCACHE_LARGE_START(Recv_init, (SEMCACHE_PARAMETERS), (b, n, t, from, tag, comm), used(b, n, t))
#undef SEMCACHE_PARAMETERS
SEMCACHE_LARGE(Mrecv, MPI_COMM_WORLD, (void* b, MPI_Count n, MPI_Datatype t, MPI_Message* m, MPI_Status* status),
  (b, n, t, m, status), used(b, n, t))
SEMCACHE_LARGE(Imrecv, MPI_COMM_WORLD, (void* b, MPI_Count n, MPI_Datatype t, MPI_Message* m, MPI_Request* request),
  (b, n, t, m, request), used(b, n, t))

#define SEMCACHE_PARAMETERS                                                                                      \
  const void *s, MPI_Count sn, MPI_Datatype st, int to, int stag, void *r, MPI_Count rn, MPI_Datatype rt, int from, \
    int rtag, MPI_Comm comm
SEMCACHE_LARGE(Sendrecv, comm, (SEMCACHE_PARAMETERS, MPI_Status* status),
  (s, sn, st, to, stag, r, rn, rt, from, rtag, comm, status), used(s, sn, st) || used(r, rn, rt))
SEMCACHE_LARGE_START(Isendrecv, (SEMCACHE_PARAMETERS), (s, sn, st, to, stag, r, rn, rt, from, rtag, comm),
  used(s, sn, st) || used(r, rn, rt))
#undef SEMCACHE_PARAMETERS
#define SEMCACHE_PARAMETERS void *b, MPI_Count n, MPI_Datatype t, int to, int stag, int from, int rtag, MPI_Comm comm
SEMCACHE_LARGE(Sendrecv_replace, comm, (SEMCACHE_PARAMETERS, MPI_Status* status),
  (b, n, t, to, stag, from, rtag, comm, status), used(b, n, t))
SEMCACHE_LARGE_START(Isendrecv_replace, (SEMCACHE_PARAMETERS), (b, n, t, to, stag, from, rtag, comm), used(b, n, t))
#undef SEMCACHE_PARAMETERS
SEMCACHE_LARGE(Buffer_attach, MPI_COMM_WORLD, (void* b, MPI_Count n), (b, n), tracked(b))

// --- collectives: blocking, non-blocking, persistent ----------------------------------------------------------------

#define SEMCACHE_COLLECTIVE(name, start, parameters, arguments, is_tracked)                                      \
  SEMCACHE_LARGE(name, comm, parameters, arguments, is_tracked)                                                  \
  SEMCACHE_LARGE_START(start, parameters, arguments, is_tracked)                                                 \
  SEMCACHE_LARGE(name##_init, comm, (SEMCACHE_UNPACK parameters, MPI_Info info, MPI_Request* request),           \
                 (SEMCACHE_UNPACK arguments, info, request), is_tracked)
// s, r: the buffers; an appended n, d or t names their count, displacement and type.
#define SEMCACHE_S const void *s, MPI_Count sn, MPI_Datatype st
#define SEMCACHE_R void *r, MPI_Count rn, MPI_Datatype rt
#define SEMCACHE_SV const void *s, const MPI_Count sn[], const MPI_Aint sd[], MPI_Datatype st
#define SEMCACHE_RV void *r, const MPI_Count rn[], const MPI_Aint rd[], MPI_Datatype rt
#define SEMCACHE_SW const void *s, const MPI_Count sn[], const MPI_Aint sd[], const MPI_Datatype st[]
#define SEMCACHE_RW void *r, const MPI_Count rn[], const MPI_Aint rd[], const MPI_Datatype rt[]
SEMCACHE_COLLECTIVE(Bcast, Ibcast, (void* b, MPI_Count n, MPI_Datatype t, int root, MPI_Comm comm),
  (b, n, t, root, comm), used(b, n, t))
SEMCACHE_COLLECTIVE(Gather, Igather, (SEMCACHE_S, SEMCACHE_R, int root, MPI_Comm comm),
  (s, sn, st, r, rn, rt, root, comm), tracked(s) || tracked(r))
SEMCACHE_COLLECTIVE(Gatherv, Igatherv, (SEMCACHE_S, SEMCACHE_RV, int root, MPI_Comm comm),
  (s, sn, st, r, rn, rd, rt, root, comm), tracked(s) || tracked(r))
SEMCACHE_COLLECTIVE(Scatter, Iscatter, (SEMCACHE_S, SEMCACHE_R, int root, MPI_Comm comm),
  (s, sn, st, r, rn, rt, root, comm), tracked(s) || tracked(r))
SEMCACHE_COLLECTIVE(Scatterv, Iscatterv, (SEMCACHE_SV, SEMCACHE_R, int root, MPI_Comm comm),
  (s, sn, sd, st, r, rn, rt, root, comm), tracked(s) || tracked(r))
#define SEMCACHE_AMONG_ALL(name, start)                                                        \
  SEMCACHE_COLLECTIVE(name, start, (SEMCACHE_S, SEMCACHE_R, MPI_Comm comm),                    \
    (s, sn, st, r, rn, rt, comm), used(s, sn, st) || used(r, rn, rt))
SEMCACHE_AMONG_ALL(Allgather, Iallgather)
SEMCACHE_AMONG_ALL(Alltoall, Ialltoall)
SEMCACHE_AMONG_ALL(Neighbor_allgather, Ineighbor_allgather)
SEMCACHE_AMONG_ALL(Neighbor_alltoall, Ineighbor_alltoall)
#undef SEMCACHE_AMONG_ALL
#define SEMCACHE_AMONG_ALL(name, start)                                                        \
  SEMCACHE_COLLECTIVE(name, start, (SEMCACHE_S, SEMCACHE_RV, MPI_Comm comm),                   \
    (s, sn, st, r, rn, rd, rt, comm), used(s, sn, st) || tracked(r))
SEMCACHE_AMONG_ALL(Allgatherv, Iallgatherv)
SEMCACHE_AMONG_ALL(Neighbor_allgatherv, Ineighbor_allgatherv)
#undef SEMCACHE_AMONG_ALL
#define SEMCACHE_AMONG_ALL(name, start, sent, received)                                        \
  SEMCACHE_COLLECTIVE(name, start, (sent, received, MPI_Comm comm),                            \
    (s, sn, sd, st, r, rn, rd, rt, comm), tracked(s) || tracked(r))
SEMCACHE_AMONG_ALL(Alltoallv, Ialltoallv, SEMCACHE_SV, SEMCACHE_RV)
SEMCACHE_AMONG_ALL(Alltoallw, Ialltoallw, SEMCACHE_SW, SEMCACHE_RW)
SEMCACHE_AMONG_ALL(Neighbor_alltoallv, Ineighbor_alltoallv, SEMCACHE_SV, SEMCACHE_RV)
SEMCACHE_AMONG_ALL(Neighbor_alltoallw, Ineighbor_alltoallw, SEMCACHE_SW, SEMCACHE_RW)
#undef SEMCACHE_AMONG_ALL
#undef SEMCACHE_RW
#undef SEMCACHE_SW
#undef SEMCACHE_RV
#undef SEMCACHE_SV
#undef SEMCACHE_R
#undef SEMCACHE_S
SEMCACHE_COLLECTIVE(Reduce, Ireduce,
  (const void* s, void* r, MPI_Count n, MPI_Datatype t, MPI_Op op, int root, MPI_Comm comm),
  (s, r, n, t, op, root, comm), tracked(s) || tracked(r))
#define SEMCACHE_REDUCTION(name, start)                                                                          \
  SEMCACHE_COLLECTIVE(name, start, (const void* s, void* r, MPI_Count n, MPI_Datatype t, MPI_Op op, MPI_Comm comm), \
    (s, r, n, t, op, comm), used(s, n, t) || used(r, n, t))
SEMCACHE_REDUCTION(Allreduce, Iallreduce)
SEMCACHE_REDUCTION(Scan, Iscan)
SEMCACHE_REDUCTION(Exscan, Iexscan)
SEMCACHE_REDUCTION(Reduce_scatter_block, Ireduce_scatter_block)
#undef SEMCACHE_REDUCTION
SEMCACHE_COLLECTIVE(Reduce_scatter, Ireduce_scatter,
  (const void* s, void* r, const MPI_Count n[], MPI_Datatype t, MPI_Op op, MPI_Comm comm),
  (s, r, n, t, op, comm), tracked(s) || tracked(r))
#undef SEMCACHE_COLLECTIVE

// --- one-sided ------------------------------------------------------------------------------------------------------

SEMCACHE_LARGE(Win_create, comm, (void* base, MPI_Aint size, MPI_Aint unit, MPI_Info info, MPI_Comm comm, MPI_Win* w),
  (base, size, unit, info, comm, w), tracked(base))
#define SEMCACHE_ORIGIN MPI_Count n, MPI_Datatype t
#define SEMCACHE_TARGET int rank, MPI_Aint at, MPI_Count tn, MPI_Datatype tt
// The forms without and with a request.
#define SEMCACHE_ONE_SIDED(name, start, parameters, arguments, is_tracked)                                       \
  SEMCACHE_LARGE(name, w, parameters, arguments, is_tracked)                                                     \
  SEMCACHE_LARGE(start, w, (SEMCACHE_UNPACK parameters, MPI_Request* request),                                   \
                 (SEMCACHE_UNPACK arguments, request), is_tracked)
SEMCACHE_ONE_SIDED(Put, Rput, (const void* o, SEMCACHE_ORIGIN, SEMCACHE_TARGET, MPI_Win w),
  (o, n, t, rank, at, tn, tt, w), used(o, n, t))
SEMCACHE_ONE_SIDED(Get, Rget, (void* o, SEMCACHE_ORIGIN, SEMCACHE_TARGET, MPI_Win w), (o, n, t, rank, at, tn, tt, w),
  used(o, n, t))
SEMCACHE_ONE_SIDED(Accumulate, Raccumulate, (const void* o, SEMCACHE_ORIGIN, SEMCACHE_TARGET, MPI_Op op, MPI_Win w),
  (o, n, t, rank, at, tn, tt, op, w), used(o, n, t))
SEMCACHE_ONE_SIDED(Get_accumulate, Rget_accumulate,
  (const void* o, SEMCACHE_ORIGIN, void* r, MPI_Count rn, MPI_Datatype rt, SEMCACHE_TARGET, MPI_Op op, MPI_Win w),
  (o, n, t, r, rn, rt, rank, at, tn, tt, op, w), (op != MPI_NO_OP && used(o, n, t)) || used(r, rn, rt))
#undef SEMCACHE_ONE_SIDED
#undef SEMCACHE_TARGET
#undef SEMCACHE_ORIGIN

// --- files and packing ----------------------------------------------------------------------------------------------

// The forms without and with an offset. last: the parameters behind the datatype, in parentheses; argument: their names.
#define SEMCACHE_FILE(name, constant, last, argument)                                                            \
  SEMCACHE_LARGE(File_##name, f, (MPI_File f, constant void* b, MPI_Count n, MPI_Datatype t SEMCACHE_UNPACK last), \
    (f, b, n, t SEMCACHE_UNPACK argument), used(b, n, t))
#define SEMCACHE_FILE_AT(name, constant, last, argument)                                                         \
  SEMCACHE_LARGE(File_##name, f,                                                                                 \
    (MPI_File f, MPI_Offset o, constant void* b, MPI_Count n, MPI_Datatype t SEMCACHE_UNPACK last),              \
    (f, o, b, n, t SEMCACHE_UNPACK argument), used(b, n, t))
#define SEMCACHE_FILES(read, constant)                                                      \
  SEMCACHE_FILE(read, constant, (, MPI_Status* status), (, status))                         \
  SEMCACHE_FILE(read##_all, constant, (, MPI_Status* status), (, status))                   \
  SEMCACHE_FILE(read##_shared, constant, (, MPI_Status* status), (, status))                \
  SEMCACHE_FILE(read##_ordered, constant, (, MPI_Status* status), (, status))               \
  SEMCACHE_FILE_AT(read##_at, constant, (, MPI_Status* status), (, status))                 \
  SEMCACHE_FILE_AT(read##_at_all, constant, (, MPI_Status* status), (, status))             \
  SEMCACHE_FILE(i##read, constant, (, MPI_Request* request), (, request))                   \
  SEMCACHE_FILE(i##read##_all, constant, (, MPI_Request* request), (, request))             \
  SEMCACHE_FILE(i##read##_shared, constant, (, MPI_Request* request), (, request))          \
  SEMCACHE_FILE_AT(i##read##_at, constant, (, MPI_Request* request), (, request))           \
  SEMCACHE_FILE_AT(i##read##_at_all, constant, (, MPI_Request* request), (, request))       \
  SEMCACHE_FILE(read##_all_begin, constant, (), ())                                         \
  SEMCACHE_FILE(read##_ordered_begin, constant, (), ())                                     \
  SEMCACHE_FILE_AT(read##_at_all_begin, constant, (), ())
SEMCACHE_FILES(read, )
SEMCACHE_FILES(write, const)
#undef SEMCACHE_FILES
#undef SEMCACHE_FILE_AT
#undef SEMCACHE_FILE

SEMCACHE_LARGE(Pack, comm,
  (const void* in, MPI_Count n, MPI_Datatype t, void* out, MPI_Count bytes, MPI_Count* position, MPI_Comm comm),
  (in, n, t, out, bytes, position, comm), used(in, n, t) || tracked(out))
SEMCACHE_LARGE(Unpack, comm,
  (const void* in, MPI_Count bytes, MPI_Count* position, void* out, MPI_Count n, MPI_Datatype t, MPI_Comm comm),
  (in, bytes, position, out, n, t, comm), tracked(in) || used(out, n, t))
SEMCACHE_LARGE(Pack_external, MPI_COMM_WORLD,
  (const char form[], const void* in, MPI_Count n, MPI_Datatype t, void* out, MPI_Count bytes, MPI_Count* position),
  (form, in, n, t, out, bytes, position), used(in, n, t) || tracked(out))
SEMCACHE_LARGE(Unpack_external, MPI_COMM_WORLD,
  (const char form[], const void* in, MPI_Count bytes, MPI_Count* position, void* out, MPI_Count n, MPI_Datatype t),
  (form, in, bytes, position, out, n, t), tracked(in) || used(out, n, t))
SEMCACHE_LARGE(Reduce_local, MPI_COMM_WORLD, (const void* in, void* inout, MPI_Count n, MPI_Datatype t, MPI_Op op),
  (in, inout, n, t, op), used(in, n, t) || used(inout, n, t))

#undef SEMCACHE_LARGE_START
#undef SEMCACHE_LARGE
#undef SEMCACHE_UNPACK

}  // extern "C"

#endif
