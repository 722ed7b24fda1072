// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "call.hpp"
#include "layer.hpp"

using namespace semcache::mpi;

const char semcache::mpi::point_to_point_part = 0;

namespace {

/// Returns what MPI gets for a send buffer. A message to MPI_PROC_NULL needs no content, so its buffer passes through.
const void* sent(Call& call, const void* b, int n, MPI_Datatype type, int to) {
  return to == MPI_PROC_NULL ? b : call.reads(b, n, type);
}
/// Returns what MPI gets for a receive buffer. A receive from MPI_PROC_NULL brings nothing. Its buffer passes through, so
/// that its request, which Open MPI may share among all requests that are complete at once, is not entered in the registry.
void* received(Call& call, void* b, int n, MPI_Datatype type, int from) {
  return from == MPI_PROC_NULL ? b : call.writes(b, n, type);
}
/// Returns what MPI gets for the buffer of a matched receive.
void* matched(Call& call, void* b, int n, MPI_Datatype type, const MPI_Message* message) {
  return message != nullptr && *message == MPI_MESSAGE_NO_PROC ? b : call.writes(b, n, type);
}

}  // namespace

extern "C" {

// Defines the blocking, the non-blocking and the persistent call of one mode of sending.
#define SEMCACHE_SEND(blocking, nonblocking, persistent)                                                              \
  int MPI_##blocking(const void* b, int n, MPI_Datatype t, int to, int tag, MPI_Comm comm) {                          \
    return run("MPI_" #blocking, comm, Call(), nullptr, [&](Call& c) { b = sent(c, b, n, t, to); },                   \
               [&] { return PMPI_##blocking(b, n, t, to, tag, comm); });                                              \
  }                                                                                                                   \
  int MPI_##nonblocking(const void* b, int n, MPI_Datatype t, int to, int tag, MPI_Comm comm, MPI_Request* request) { \
    return start("MPI_" #nonblocking, comm, Call(), request, Completes::as_message,                                   \
                 [&](Call& c) { b = sent(c, b, n, t, to); },                                                          \
                 [&] { return PMPI_##nonblocking(b, n, t, to, tag, comm, request); });                                \
  }                                                                                                                   \
  int MPI_##persistent(const void* b, int n, MPI_Datatype t, int to, int tag, MPI_Comm comm, MPI_Request* request) {  \
    return start("MPI_" #persistent, comm, Call(Message::Place::fixed), request, Completes::as_message_again_and_again, \
                 [&](Call& c) { b = sent(c, b, n, t, to); },                                                          \
                 [&] { return PMPI_##persistent(b, n, t, to, tag, comm, request); });                                 \
  }
SEMCACHE_SEND(Send, Isend, Send_init)
SEMCACHE_SEND(Ssend, Issend, Ssend_init)
SEMCACHE_SEND(Bsend, Ibsend, Bsend_init)
SEMCACHE_SEND(Rsend, Irsend, Rsend_init)
#undef SEMCACHE_SEND

int MPI_Recv(void* b, int n, MPI_Datatype t, int from, int tag, MPI_Comm comm, MPI_Status* status) {
  MPI_Status own;
  if (status == MPI_STATUS_IGNORE) status = &own;
  return run("MPI_Recv", comm, Call(), status, [&](Call& c) { b = received(c, b, n, t, from); },
             [&] { return PMPI_Recv(b, n, t, from, tag, comm, status); });
}

int MPI_Irecv(void* b, int n, MPI_Datatype t, int from, int tag, MPI_Comm comm, MPI_Request* request) {
  return start("MPI_Irecv", comm, Call(), request, Completes::as_message,
               [&](Call& c) { b = received(c, b, n, t, from); },
               [&] { return PMPI_Irecv(b, n, t, from, tag, comm, request); });
}

int MPI_Recv_init(void* b, int n, MPI_Datatype t, int from, int tag, MPI_Comm comm, MPI_Request* request) {
  return start("MPI_Recv_init", comm, Call(Message::Place::fixed), request, Completes::as_message_again_and_again,
               [&](Call& c) { b = received(c, b, n, t, from); },
               [&] { return PMPI_Recv_init(b, n, t, from, tag, comm, request); });
}

int MPI_Mrecv(void* b, int n, MPI_Datatype t, MPI_Message* message, MPI_Status* status) {
  MPI_Status own;
  if (status == MPI_STATUS_IGNORE) status = &own;
  return run("MPI_Mrecv", MPI_COMM_WORLD, Call(), status, [&](Call& c) { b = matched(c, b, n, t, message); },
             [&] { return PMPI_Mrecv(b, n, t, message, status); });
}

int MPI_Imrecv(void* b, int n, MPI_Datatype t, MPI_Message* message, MPI_Request* request) {
  return start("MPI_Imrecv", MPI_COMM_WORLD, Call(), request, Completes::as_message,
               [&](Call& c) { b = matched(c, b, n, t, message); },
               [&] { return PMPI_Imrecv(b, n, t, message, request); });
}

int MPI_Sendrecv(const void* s, int sn, MPI_Datatype st, int to, int stag, void* r, int rn, MPI_Datatype rt, int from,
                 int rtag, MPI_Comm comm, MPI_Status* status) {
  MPI_Status own;
  if (status == MPI_STATUS_IGNORE) status = &own;
  return run("MPI_Sendrecv", comm, Call(), status,
             [&](Call& c) {
               s = sent(c, s, sn, st, to);
               r = received(c, r, rn, rt, from);
             },
             [&] { return PMPI_Sendrecv(s, sn, st, to, stag, r, rn, rt, from, rtag, comm, status); });
}

int MPI_Sendrecv_replace(void* b, int n, MPI_Datatype t, int to, int stag, int from, int rtag, MPI_Comm comm,
                         MPI_Status* status) {
  MPI_Status own;
  if (status == MPI_STATUS_IGNORE) status = &own;
  return run("MPI_Sendrecv_replace", comm, Call(), status,
             [&](Call& c) {
               if (to == MPI_PROC_NULL) {
                 b = received(c, b, n, t, from);
               } else if (from == MPI_PROC_NULL) {
                 b = const_cast<void*>(c.reads(b, n, t));
               } else {
                 b = c.updates(b, n, t);
               }
             },
             [&] { return PMPI_Sendrecv_replace(b, n, t, to, stag, from, rtag, comm, status); });
}

}  // extern "C"
