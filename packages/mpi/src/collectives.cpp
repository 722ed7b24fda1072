// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
//
// Each collective has one plan, which its blocking, non-blocking and persistent forms share. The plan tells which bytes of
// the buffers `s` (sent) and `r` (received) this process reads and writes.
#include "call.hpp"
#include "layer.hpp"

using namespace semcache::mpi;

const char semcache::mpi::collectives_part = 0;

namespace {

/// This process and the processes that it exchanges data with. On an intercommunicator these are the remote group.
struct Group {
  explicit Group(MPI_Comm comm) {
    if (comm == MPI_COMM_NULL) return;  // the call itself reports the error
    int inter = 0;
    PMPI_Comm_test_inter(comm, &inter);
    between_groups = inter != 0;
    PMPI_Comm_rank(comm, &rank);
    PMPI_Comm_size(comm, &local_size);
    size = local_size;
    if (between_groups) PMPI_Comm_remote_size(comm, &size);
  }
  [[nodiscard]] bool is_root(int root) const { return between_groups ? root == MPI_ROOT : root == rank; }
  /// Returns whether this process sends to the root or receives from it.
  [[nodiscard]] bool is_member(int root) const { return !between_groups || root >= 0; }
  bool between_groups = false;
  int rank = 0, size = 0, local_size = 0;
};

/// Returns the number of elements in the blocks of all processes, which lie one behind the other.
MPI_Count all_of(int processes, MPI_Count count) { return processes * count; }
/// Returns all these blocks except block `mine`.
Blocks blocks_without(int mine, int processes, MPI_Count count, MPI_Datatype type) {
  const auto behind = static_cast<MPI_Aint>((mine + 1) * count) * extent_of(type);
  return {{0, mine * count, type}, {behind, (processes - mine - 1) * count, type}};
}
/// Returns one of these blocks.
Blocks block(int which, MPI_Count count, MPI_Datatype type) {
  return {{static_cast<MPI_Aint>(which * count) * extent_of(type), count, type}};
}
/// Returns blocks of different sizes, with displacements in multiples of the type's extent. Returns no blocks where an
/// argument is missing, because then the library reports the error.
Blocks blocks(int processes, const int* counts, const int* displacements, MPI_Datatype type) {
  if (counts == nullptr || displacements == nullptr) return {};
  Blocks all;
  all.reserve(static_cast<std::size_t>(processes));
  const MPI_Aint extent = extent_of(type);
  for (int p = 0; p < processes; ++p) all.push_back({displacements[p] * extent, counts[p], type});
  return all;
}
/// Returns blocks of different types, with displacements in bytes.
template <class Displacement>
Blocks typed_blocks(int processes, const int* counts, const Displacement* displacements, const MPI_Datatype* types) {
  if (counts == nullptr || displacements == nullptr || types == nullptr) return {};
  Blocks all;
  all.reserve(static_cast<std::size_t>(processes));
  for (int p = 0; p < processes; ++p) all.push_back({displacements[p], counts[p], types[p]});
  return all;
}
/// Returns the blocks except one.
Blocks without(int which, Blocks blocks) {
  if (!blocks.empty()) blocks.erase(blocks.begin() + which);
  return blocks;
}
/// Returns one of the blocks.
Blocks only(int which, const Blocks& blocks) {
  return blocks.empty() ? blocks : Blocks{blocks[static_cast<std::size_t>(which)]};
}
MPI_Count sum(int n, const int* counts) {
  MPI_Count total = 0;
  for (int i = 0; i < n; ++i) total += counts[i];
  return total;
}

/// Reductions compute on the buffers, perhaps with an operation of the program's own, so their messages are on the host.
constexpr Message::Place host = Message::Place::host;
constexpr Message::Place anywhere = Message::Place::where_the_content_is;
/// Returns the place of the persistent form.
[[maybe_unused]] constexpr Message::Place fixed(Message::Place place) {
  return place == host ? Message::Place::fixed_on_host : Message::Place::fixed;
}

/// The plan of a reduction in which this process contributes `n` elements and gets the result.
void reduce_all(Call& c, const void*& s, void*& r, MPI_Count n, MPI_Datatype t) {
  if (s == MPI_IN_PLACE) {
    r = c.updates(r, n, t);
  } else {
    s = c.reads(s, n, t);
    r = c.writes(r, n, t);
  }
}

/// The neighbours in the process topology. An absent neighbour is one beyond the edge of a Cartesian grid.
class Neighbours {
 public:
  explicit Neighbours(MPI_Comm comm) {
    if (comm == MPI_COMM_NULL) return;
    int kind = MPI_UNDEFINED;
    PMPI_Topo_test(comm, &kind);
    if (kind == MPI_DIST_GRAPH) {
      int weighted = 0;
      PMPI_Dist_graph_neighbors_count(comm, &in, &out, &weighted);
    } else if (kind == MPI_GRAPH) {
      int rank = 0;
      PMPI_Comm_rank(comm, &rank);
      PMPI_Graph_neighbors_count(comm, rank, &in);
      out = in;
    } else if (kind == MPI_CART) {
      int dimensions = 0;
      PMPI_Cartdim_get(comm, &dimensions);
      in = out = 2 * dimensions;
      for (int d = 0; d < dimensions; ++d) {
        int before = MPI_PROC_NULL, after = MPI_PROC_NULL;
        PMPI_Cart_shift(comm, d, 1, &before, &after);
        if (before == MPI_PROC_NULL) absent_.push_back(2 * d);
        if (after == MPI_PROC_NULL) absent_.push_back(2 * d + 1);
      }
    }
  }
  /// Returns the blocks with those of absent neighbours emptied, because MPI leaves these alone.
  [[nodiscard]] Blocks present(Blocks all) const {
    if (all.empty()) return all;
    for (const int neighbour : absent_) all[static_cast<std::size_t>(neighbour)].count = 0;
    return all;
  }
  /// Does the same for blocks of one size that lie one behind the other.
  [[nodiscard]] Blocks present(int neighbours, MPI_Count count, MPI_Datatype type) const {
    if (absent_.empty()) return block(0, all_of(neighbours, count), type);
    Blocks all;
    for (int i = 0; i < neighbours; ++i) all.push_back(block(i, count, type).front());
    return present(std::move(all));
  }
  /// Returns whether this process sends to any neighbour.
  [[nodiscard]] bool any() const { return static_cast<std::size_t>(out) > absent_.size(); }
  int in = 0, out = 0;

 private:
  std::vector<int> absent_;
};

}  // namespace

extern "C" {

#define SEMCACHE_UNPACK(...) __VA_ARGS__
// Defines the blocking and the non-blocking form of a collective. `parameters` and `arguments` are in parentheses, without
// info and request. The last argument is the plan, a compound statement that uses the Call `c`. A plan reads only those
// arguments that are significant at this process.
#define SEMCACHE_BLOCKING_AND_NOT(blocking, nonblocking, place, parameters, arguments, ...)                        \
  int MPI_##blocking(SEMCACHE_UNPACK parameters) {                                                                 \
    return run("MPI_" #blocking, comm, Call(place), nullptr, [&](Call& c) __VA_ARGS__,                             \
               [&] { return PMPI_##blocking arguments; });                                                         \
  }                                                                                                                \
  int MPI_##nonblocking(SEMCACHE_UNPACK parameters, MPI_Request* request) {                                        \
    return start("MPI_" #nonblocking, comm, Call(place), request, Completes::as_a_whole, [&](Call& c) __VA_ARGS__, \
                 [&] { return PMPI_##nonblocking(SEMCACHE_UNPACK arguments, request); });                          \
  }
#define SEMCACHE_PERSISTENT(prefix, blocking, place, parameters, arguments, ...)                     \
  int prefix##_##blocking##_init(SEMCACHE_UNPACK parameters, MPI_Info info, MPI_Request* request) {  \
    return start(#prefix "_" #blocking "_init", comm, Call(fixed(place)), request,                   \
                 Completes::as_a_whole_again_and_again, [&](Call& c) __VA_ARGS__, [&] {              \
                   return P##prefix##_##blocking##_init(SEMCACHE_UNPACK arguments, info, request);   \
                 });                                                                                 \
  }
// Persistent collectives are part of MPI 4. Earlier versions of Open MPI have them as an extension (MPIX_*_init).
#ifdef SEMCACHE_MPI_HAS_Bcast_init
#define SEMCACHE_PERSISTENT_OF_MPI_4(...) SEMCACHE_PERSISTENT(MPI, __VA_ARGS__)
#else
#define SEMCACHE_PERSISTENT_OF_MPI_4(...)
#endif
#ifdef OMPI_HAVE_MPI_EXT_PCOLLREQ
#define SEMCACHE_PERSISTENT_OF_OPEN_MPI(...) SEMCACHE_PERSISTENT(MPIX, __VA_ARGS__)
#else
#define SEMCACHE_PERSISTENT_OF_OPEN_MPI(...)
#endif
#define SEMCACHE_COLLECTIVE(blocking, nonblocking, place, parameters, arguments, ...)                 \
  SEMCACHE_BLOCKING_AND_NOT(blocking, nonblocking, place, parameters, arguments, __VA_ARGS__)         \
  SEMCACHE_PERSISTENT_OF_MPI_4(blocking, place, parameters, arguments, __VA_ARGS__)                   \
  SEMCACHE_PERSISTENT_OF_OPEN_MPI(blocking, place, parameters, arguments, __VA_ARGS__)

// --- one block for all ----------------------------------------------------------------------------------------------

SEMCACHE_COLLECTIVE(Bcast, Ibcast, anywhere, (void* b, int n, MPI_Datatype t, int root, MPI_Comm comm),
  (b, n, t, root, comm), {
    const Group g(comm);
    if (g.is_root(root)) {
      b = const_cast<void*>(c.reads(b, n, t));
    } else if (g.is_member(root)) {
      b = c.writes(b, n, t);
    }
  })
SEMCACHE_COLLECTIVE(Gather, Igather, anywhere,
  (const void* s, int sn, MPI_Datatype st, void* r, int rn, MPI_Datatype rt, int root, MPI_Comm comm),
  (s, sn, st, r, rn, rt, root, comm), {
    const Group g(comm);
    const bool in_place = s == MPI_IN_PLACE;
    if (!in_place && g.is_member(root)) s = c.reads(s, sn, st);
    if (g.is_root(root) && in_place) {  // some algorithms touch the root's own block
      r = c.updates(r, block(0, all_of(g.size, rn), rt), block(g.rank, rn, rt),
                    blocks_without(g.rank, g.size, rn, rt));
    } else if (g.is_root(root)) {
      r = c.writes(r, all_of(g.size, rn), rt);
    }
  })
SEMCACHE_COLLECTIVE(Gatherv, Igatherv, anywhere,
  (const void* s, int sn, MPI_Datatype st, void* r, const int rn[], const int rd[], MPI_Datatype rt, int root,
   MPI_Comm comm),
  (s, sn, st, r, rn, rd, rt, root, comm), {
    const Group g(comm);
    const bool in_place = s == MPI_IN_PLACE;
    if (!in_place && g.is_member(root)) s = c.reads(s, sn, st);
    if (g.is_root(root) && in_place) {
      const Blocks all = blocks(g.size, rn, rd, rt);
      r = c.updates(r, all, only(g.rank, all), without(g.rank, all));
    } else if (g.is_root(root)) {
      r = c.writes(r, blocks(g.size, rn, rd, rt));
    }
  })
SEMCACHE_COLLECTIVE(Scatter, Iscatter, anywhere,
  (const void* s, int sn, MPI_Datatype st, void* r, int rn, MPI_Datatype rt, int root, MPI_Comm comm),
  (s, sn, st, r, rn, rt, root, comm), {
    const Group g(comm);
    const bool in_place = r == MPI_IN_PLACE;
    if (g.is_root(root)) s = c.reads(s, all_of(g.size, sn), st);
    if (!in_place && g.is_member(root)) r = c.writes(r, rn, rt);
  })
SEMCACHE_COLLECTIVE(Scatterv, Iscatterv, anywhere,
  (const void* s, const int sn[], const int sd[], MPI_Datatype st, void* r, int rn, MPI_Datatype rt, int root,
   MPI_Comm comm),
  (s, sn, sd, st, r, rn, rt, root, comm), {
    const Group g(comm);
    const bool in_place = r == MPI_IN_PLACE;
    if (g.is_root(root)) s = c.reads(s, blocks(g.size, sn, sd, st));
    if (!in_place && g.is_member(root)) r = c.writes(r, rn, rt);
  })

// --- a block for each -----------------------------------------------------------------------------------------------

SEMCACHE_COLLECTIVE(Allgather, Iallgather, anywhere,
  (const void* s, int sn, MPI_Datatype st, void* r, int rn, MPI_Datatype rt, MPI_Comm comm),
  (s, sn, st, r, rn, rt, comm), {
    const Group g(comm);
    if (s == MPI_IN_PLACE) {
      r = c.updates(r, block(0, all_of(g.size, rn), rt), block(g.rank, rn, rt),
                    blocks_without(g.rank, g.size, rn, rt));
    } else {
      s = c.reads(s, sn, st);
      r = c.writes(r, all_of(g.size, rn), rt);
    }
  })
SEMCACHE_COLLECTIVE(Allgatherv, Iallgatherv, anywhere,
  (const void* s, int sn, MPI_Datatype st, void* r, const int rn[], const int rd[], MPI_Datatype rt, MPI_Comm comm),
  (s, sn, st, r, rn, rd, rt, comm), {
    const Group g(comm);
    if (s == MPI_IN_PLACE) {
      const Blocks all = blocks(g.size, rn, rd, rt);
      r = c.updates(r, all, only(g.rank, all), without(g.rank, all));
    } else {
      s = c.reads(s, sn, st);
      r = c.writes(r, blocks(g.size, rn, rd, rt));
    }
  })
SEMCACHE_COLLECTIVE(Alltoall, Ialltoall, anywhere,
  (const void* s, int sn, MPI_Datatype st, void* r, int rn, MPI_Datatype rt, MPI_Comm comm),
  (s, sn, st, r, rn, rt, comm), {
    const Group g(comm);
    if (s == MPI_IN_PLACE) {
      r = c.updates(r, all_of(g.size, rn), rt);
    } else {
      s = c.reads(s, all_of(g.size, sn), st);
      r = c.writes(r, all_of(g.size, rn), rt);
    }
  })
SEMCACHE_COLLECTIVE(Alltoallv, Ialltoallv, anywhere,
  (const void* s, const int sn[], const int sd[], MPI_Datatype st, void* r, const int rn[], const int rd[],
   MPI_Datatype rt, MPI_Comm comm),
  (s, sn, sd, st, r, rn, rd, rt, comm), {
    const Group g(comm);
    const Blocks received = blocks(g.size, rn, rd, rt);
    if (s == MPI_IN_PLACE) {
      r = c.updates(r, received);
    } else {
      s = c.reads(s, blocks(g.size, sn, sd, st));
      r = c.writes(r, received);
    }
  })
SEMCACHE_COLLECTIVE(Alltoallw, Ialltoallw, anywhere,
  (const void* s, const int sn[], const int sd[], const MPI_Datatype st[], void* r, const int rn[], const int rd[],
   const MPI_Datatype rt[], MPI_Comm comm),
  (s, sn, sd, st, r, rn, rd, rt, comm), {
    const Group g(comm);
    const Blocks received = typed_blocks(g.size, rn, rd, rt);
    if (s == MPI_IN_PLACE) {
      r = c.updates(r, received);
    } else {
      s = c.reads(s, typed_blocks(g.size, sn, sd, st));
      r = c.writes(r, received);
    }
  })

// --- reductions -----------------------------------------------------------------------------------------------------

SEMCACHE_COLLECTIVE(Reduce, Ireduce, host,
  (const void* s, void* r, int n, MPI_Datatype t, MPI_Op op, int root, MPI_Comm comm), (s, r, n, t, op, root, comm), {
    const Group g(comm);
    if (s == MPI_IN_PLACE) {
      r = c.updates(r, n, t);
    } else {
      if (g.is_member(root)) s = c.reads(s, n, t);
      if (g.is_root(root)) r = c.writes(r, n, t);
    }
  })
SEMCACHE_COLLECTIVE(Allreduce, Iallreduce, host,
  (const void* s, void* r, int n, MPI_Datatype t, MPI_Op op, MPI_Comm comm), (s, r, n, t, op, comm),
  { reduce_all(c, s, r, n, t); })
SEMCACHE_COLLECTIVE(Scan, Iscan, host,
  (const void* s, void* r, int n, MPI_Datatype t, MPI_Op op, MPI_Comm comm), (s, r, n, t, op, comm),
  { reduce_all(c, s, r, n, t); })
SEMCACHE_COLLECTIVE(Exscan, Iexscan, host,
  (const void* s, void* r, int n, MPI_Datatype t, MPI_Op op, MPI_Comm comm), (s, r, n, t, op, comm), {
    const Group g(comm);
    if (g.rank == 0) {  // nothing is reduced for the first process, so its result buffer stays unchanged
      if (s == MPI_IN_PLACE) {
        r = const_cast<void*>(c.reads(r, n, t));
      } else {
        s = c.reads(s, n, t);
      }
    } else {
      reduce_all(c, s, r, n, t);
    }
  })
SEMCACHE_COLLECTIVE(Reduce_scatter, Ireduce_scatter, host,
  (const void* s, void* r, const int rn[], MPI_Datatype t, MPI_Op op, MPI_Comm comm), (s, r, rn, t, op, comm), {
    const Group g(comm);
    if (rn == nullptr) return;
    const MPI_Count all = sum(g.local_size, rn);
    if (s == MPI_IN_PLACE) {
      r = c.updates(r, block(0, all, t), block(0, all, t), block(0, rn[g.rank], t));
    } else {
      s = c.reads(s, all, t);
      r = c.writes(r, rn[g.rank], t);
    }
  })
SEMCACHE_COLLECTIVE(Reduce_scatter_block, Ireduce_scatter_block, host,
  (const void* s, void* r, int rn, MPI_Datatype t, MPI_Op op, MPI_Comm comm), (s, r, rn, t, op, comm), {
    const Group g(comm);
    const MPI_Count all = all_of(g.local_size, rn);
    if (s == MPI_IN_PLACE) {
      r = c.updates(r, block(0, all, t), block(0, all, t), block(0, rn, t));
    } else {
      s = c.reads(s, all, t);
      r = c.writes(r, rn, t);
    }
  })

// --- neighbours -----------------------------------------------------------------------------------------------------

SEMCACHE_COLLECTIVE(Neighbor_allgather, Ineighbor_allgather, anywhere,
  (const void* s, int sn, MPI_Datatype st, void* r, int rn, MPI_Datatype rt, MPI_Comm comm),
  (s, sn, st, r, rn, rt, comm), {
    const Neighbours n(comm);
    if (n.any()) s = c.reads(s, sn, st);
    r = c.writes(r, n.present(n.in, rn, rt));
  })
SEMCACHE_COLLECTIVE(Neighbor_allgatherv, Ineighbor_allgatherv, anywhere,
  (const void* s, int sn, MPI_Datatype st, void* r, const int rn[], const int rd[], MPI_Datatype rt, MPI_Comm comm),
  (s, sn, st, r, rn, rd, rt, comm), {
    const Neighbours n(comm);
    if (n.any()) s = c.reads(s, sn, st);
    r = c.writes(r, n.present(blocks(n.in, rn, rd, rt)));
  })
SEMCACHE_COLLECTIVE(Neighbor_alltoall, Ineighbor_alltoall, anywhere,
  (const void* s, int sn, MPI_Datatype st, void* r, int rn, MPI_Datatype rt, MPI_Comm comm),
  (s, sn, st, r, rn, rt, comm), {
    const Neighbours n(comm);
    s = c.reads(s, n.present(n.out, sn, st));
    r = c.writes(r, n.present(n.in, rn, rt));
  })
SEMCACHE_COLLECTIVE(Neighbor_alltoallv, Ineighbor_alltoallv, anywhere,
  (const void* s, const int sn[], const int sd[], MPI_Datatype st, void* r, const int rn[], const int rd[],
   MPI_Datatype rt, MPI_Comm comm),
  (s, sn, sd, st, r, rn, rd, rt, comm), {
    const Neighbours n(comm);
    s = c.reads(s, n.present(blocks(n.out, sn, sd, st)));
    r = c.writes(r, n.present(blocks(n.in, rn, rd, rt)));
  })
SEMCACHE_COLLECTIVE(Neighbor_alltoallw, Ineighbor_alltoallw, anywhere,
  (const void* s, const int sn[], const MPI_Aint sd[], const MPI_Datatype st[], void* r, const int rn[],
   const MPI_Aint rd[], const MPI_Datatype rt[], MPI_Comm comm),
  (s, sn, sd, st, r, rn, rd, rt, comm), {
    const Neighbours n(comm);
    s = c.reads(s, n.present(typed_blocks(n.out, sn, sd, st)));
    r = c.writes(r, n.present(typed_blocks(n.in, rn, rd, rt)));
  })

#undef SEMCACHE_COLLECTIVE
#undef SEMCACHE_BLOCKING_AND_NOT
#undef SEMCACHE_PERSISTENT_OF_OPEN_MPI
#undef SEMCACHE_PERSISTENT_OF_MPI_4
#undef SEMCACHE_PERSISTENT
#undef SEMCACHE_UNPACK

}  // extern "C"
