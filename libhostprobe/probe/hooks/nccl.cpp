// hooks/nccl.cpp: NCCL's public calls: collectives, sends and receives, groups, and the life of communicators.
//
// Room 2 (probe/). Reached like the driver's functions (routes.h), never exported: NCCL's own calls of its own functions
// (ncclBcast makes an ncclBroadcast) are not the program's and stay unseen, so each call counts once. Runs on the
// program's threads; with the call itself at microseconds, the look-up of the communicator is noise.
#include <cstddef>

#include "format/record.h"
#include "probe/hooks/communicators.h"
#include "probe/hooks/nccl_abi.h"
#include "probe/intercept/routes.h"
#include "probe/record/hook.h"

using namespace hostprobe;
using namespace hostprobe::probe;

#define HP_NCCL_HOOK(name, params, args, l0, l1, l2, l3, l4) \
  HP_ROUTED_HOOK(kNccl, int, kOther, name, params, args, l0, l1, l2, l3, l4)

namespace {

constexpr std::uint64_t kFirstId = 0xcbf29ce484222325u;
constexpr int kNoPeer = -1;
std::atomic<std::uint32_t> g_groups{0};

bool taken(int result) { return result == kNcclSuccess || result == kNcclInProgress; }

// NCCL knows rank and size of a communicator that was not made by rank, once it is ready.
void ask_place(Communicator& communicator, NcclComm handle) {
  using Ask = int (*)(NcclComm, int*);
  static std::atomic<Ask> rank_of{nullptr}, size_of{nullptr};
  if (rank_of.load(std::memory_order_acquire) == nullptr) {
    size_of.store(reinterpret_cast<Ask>(routed_function("ncclCommCount")), std::memory_order_relaxed);
    rank_of.store(reinterpret_cast<Ask>(routed_function("ncclCommUserRank")), std::memory_order_release);
  }
  int rank = -1, size = -1;
  Ask ask_rank = rank_of.load(std::memory_order_acquire), ask_size = size_of.load(std::memory_order_relaxed);
  if (ask_rank == nullptr || ask_size == nullptr || ask_rank(handle, &rank) != 0 || ask_size(handle, &size) != 0)
    return;
  communicator.rank = rank;
  communicator.size = size;
}

// An operation on a communicator. `order` counts what all ranks call in the same order; messages count by themselves.
void fill_operation(Record& rec, int result, NcclComm handle, std::size_t count, int type, int op, int peer,
                    NcclStream stream, bool message) {
  Communicator* communicator = find_communicator(handle);
  if (communicator != nullptr && communicator->size < 0) ask_place(*communicator, handle);
  std::uint32_t sequence = 0;
  if (communicator != nullptr && taken(result))
    sequence =
        (message ? communicator->messages : communicator->collectives).fetch_add(1, std::memory_order_relaxed) + 1;
  rec.a = communicator == nullptr ? 0 : communicator->id;
  rec.b = count;
  rec.c = pack_nccl_call(sequence, t_local.nccl_depth > 0 ? t_local.nccl_group : 0, type, op);
  rec.d = word_of(stream);
  rec.e = communicator == nullptr ? pack_nccl_ranks(-1, -1, peer)
                                  : pack_nccl_ranks(communicator->rank, communicator->size, peer);
}

// A communicator that was made with what all of its ranks passed in.
void note_made(Record& rec, int result, const NcclComm* made, std::uint64_t id, int rank, int size) {
  NcclComm handle = taken(result) && made != nullptr ? *made : nullptr;
  note_communicator(handle, id, rank, size);
  rec.a = handle == nullptr ? 0 : id;
  rec.b = word_of(handle);
  rec.d = 0;
  rec.e = pack_nccl_ranks(rank, size, kNoPeer);
}

// One that was made out of another, whose ranks all make the same number of such calls in the same order.
void note_child(Record& rec, int result, NcclComm parent, const NcclComm* made, std::uint64_t how) {
  Communicator* known = find_communicator(parent);
  std::uint32_t number = known == nullptr ? 0 : known->children.fetch_add(1, std::memory_order_relaxed) + 1;
  std::uint64_t id = mix(mix(mix(kFirstId, known == nullptr ? 0 : known->id), number), how);
  note_made(rec, result, made, id, -1, -1);
}

void note_gone(Record& rec, int result, NcclComm handle) {
  Communicator* known = find_communicator(handle);
  rec.a = known == nullptr ? 0 : known->id;
  rec.b = word_of(handle);
  rec.d = 0;
  rec.e = known == nullptr ? pack_nccl_ranks(-1, -1, kNoPeer) : pack_nccl_ranks(known->rank, known->size, kNoPeer);
  if (taken(result)) forget_communicator(handle);
}

}  // namespace

// ---- operations -----------------------------------------------------------------------------------------------------

#define HP_OPERATION(name, params, args, count, type, op, peer, message)                            \
  HP_NCCL_HOOK(name, params, args, "comm:hex", "count", "call:nccl", "stream:hex", "place:ranks") { \
    fill_operation(rec, result, comm, count, type, op, peer, stream, message);                      \
  }
#define HP_TAIL NcclComm comm, NcclStream stream
// Each of these has had a form with a configuration behind since 2.32.
#define HP_COLLECTIVE(name, params, args, count, type, op, peer) \
  HP_OPERATION(name, params, args, count, type, op, peer, false)

HP_COLLECTIVE(ncclAllReduce, (const void* send, void* recv, std::size_t n, int type, int op, HP_TAIL),
              (send, recv, n, type, op, comm, stream), n, type, op, kNoPeer)
HP_COLLECTIVE(ncclAllReduceConfig,
              (const void* send, void* recv, std::size_t n, int type, int op, HP_TAIL, const void* config),
              (send, recv, n, type, op, comm, stream, config), n, type, op, kNoPeer)
HP_COLLECTIVE(ncclReduce, (const void* send, void* recv, std::size_t n, int type, int op, int root, HP_TAIL),
              (send, recv, n, type, op, root, comm, stream), n, type, op, root)
HP_COLLECTIVE(ncclReduceConfig,
              (const void* send, void* recv, std::size_t n, int type, int op, int root, HP_TAIL, const void* config),
              (send, recv, n, type, op, root, comm, stream, config), n, type, op, root)
HP_COLLECTIVE(ncclReduceScatter, (const void* send, void* recv, std::size_t n, int type, int op, HP_TAIL),
              (send, recv, n, type, op, comm, stream), n, type, op, kNoPeer)
HP_COLLECTIVE(ncclReduceScatterConfig,
              (const void* send, void* recv, std::size_t n, int type, int op, HP_TAIL, const void* config),
              (send, recv, n, type, op, comm, stream, config), n, type, op, kNoPeer)
HP_COLLECTIVE(ncclBcast, (void* buffer, std::size_t n, int type, int root, HP_TAIL),
              (buffer, n, type, root, comm, stream), n, type, kNcclNoOp, root)
HP_COLLECTIVE(ncclBroadcast, (const void* send, void* recv, std::size_t n, int type, int root, HP_TAIL),
              (send, recv, n, type, root, comm, stream), n, type, kNcclNoOp, root)
HP_COLLECTIVE(ncclBroadcastConfig,
              (const void* send, void* recv, std::size_t n, int type, int root, HP_TAIL, const void* config),
              (send, recv, n, type, root, comm, stream, config), n, type, kNcclNoOp, root)
HP_COLLECTIVE(ncclAllGather, (const void* send, void* recv, std::size_t n, int type, HP_TAIL),
              (send, recv, n, type, comm, stream), n, type, kNcclNoOp, kNoPeer)
HP_COLLECTIVE(ncclAllGatherConfig, (const void* send, void* recv, std::size_t n, int type, HP_TAIL, const void* config),
              (send, recv, n, type, comm, stream, config), n, type, kNcclNoOp, kNoPeer)
HP_COLLECTIVE(ncclAlltoAll, (const void* send, void* recv, std::size_t n, int type, HP_TAIL),
              (send, recv, n, type, comm, stream), n, type, kNcclNoOp, kNoPeer)
HP_COLLECTIVE(ncclAlltoAllConfig, (const void* send, void* recv, std::size_t n, int type, HP_TAIL, const void* config),
              (send, recv, n, type, comm, stream, config), n, type, kNcclNoOp, kNoPeer)
HP_COLLECTIVE(ncclGather, (const void* send, void* recv, std::size_t n, int type, int root, HP_TAIL),
              (send, recv, n, type, root, comm, stream), n, type, kNcclNoOp, root)
HP_COLLECTIVE(ncclGatherConfig,
              (const void* send, void* recv, std::size_t n, int type, int root, HP_TAIL, const void* config),
              (send, recv, n, type, root, comm, stream, config), n, type, kNcclNoOp, root)
HP_COLLECTIVE(ncclScatter, (const void* send, void* recv, std::size_t n, int type, int root, HP_TAIL),
              (send, recv, n, type, root, comm, stream), n, type, kNcclNoOp, root)
HP_COLLECTIVE(ncclScatterConfig,
              (const void* send, void* recv, std::size_t n, int type, int root, HP_TAIL, const void* config),
              (send, recv, n, type, root, comm, stream, config), n, type, kNcclNoOp, root)

HP_OPERATION(ncclSend, (const void* send, std::size_t n, int type, int peer, HP_TAIL),
             (send, n, type, peer, comm, stream), n, type, kNcclNoOp, peer, true)
HP_OPERATION(ncclRecv, (void* recv, std::size_t n, int type, int peer, HP_TAIL), (recv, n, type, peer, comm, stream), n,
             type, kNcclNoOp, peer, true)
HP_OPERATION(ncclPutSignal,
             (const void* local, std::size_t n, int type, int peer, void* window, std::size_t offset, int signal,
              int context, unsigned flags, HP_TAIL),
             (local, n, type, peer, window, offset, signal, context, flags, comm, stream), n, type, kNcclNoOp, peer,
             true)
HP_OPERATION(ncclSignal, (int peer, int signal, int context, unsigned flags, HP_TAIL),
             (peer, signal, context, flags, comm, stream), 0, kNcclNoType, kNcclNoOp, peer, true)
HP_OPERATION(ncclWaitSignal, (int n, void* signals, HP_TAIL), (n, signals, comm, stream), static_cast<std::size_t>(n),
             kNcclNoType, kNcclNoOp, kNoPeer, true)

// ---- groups ---------------------------------------------------------------------------------------------------------

HP_NCCL_HOOK(ncclGroupStart, (), (), "group", "depth", "site:code", "", "") {
  if (result == kNcclSuccess && t_local.nccl_depth++ == 0)
    t_local.nccl_group = (g_groups.fetch_add(1, std::memory_order_relaxed) & kNcclGroupMask) + 1;
  rec.a = t_local.nccl_group;
  rec.b = t_local.nccl_depth;
  rec.d = rec.e = 0;
}
#define HP_GROUP_END(name, params, args)                                    \
  HP_NCCL_HOOK(name, params, args, "group", "depth", "site:code", "", "") { \
    rec.a = t_local.nccl_group;                                             \
    rec.b = t_local.nccl_depth;                                             \
    if (t_local.nccl_depth > 0) --t_local.nccl_depth;                       \
    rec.d = rec.e = 0;                                                      \
  }
HP_GROUP_END(ncclGroupEnd, (), ())
HP_GROUP_END(ncclGroupSimulateEnd, (void* estimate), (estimate))

// ---- communicators --------------------------------------------------------------------------------------------------

#define HP_MAKE(name, params, args, made, id, rank, size)                                      \
  HP_NCCL_HOOK(name, params, args, "comm:hex", "handle:hex", "site:code", "", "place:ranks") { \
    note_made(rec, result, made, id, rank, size);                                              \
  }
HP_MAKE(ncclCommInitRank, (NcclComm * made, int size, NcclUniqueId id, int rank), (made, size, id, rank), made,
        mix(kFirstId, &id, sizeof id), rank, size)
HP_MAKE(ncclCommInitRankConfig, (NcclComm * made, int size, NcclUniqueId id, int rank, void* config),
        (made, size, id, rank, config), made, mix(kFirstId, &id, sizeof id), rank, size)
HP_MAKE(ncclCommInitRankScalable, (NcclComm * made, int size, int rank, int n, NcclUniqueId* ids, void* config),
        (made, size, rank, n, ids, config), made,
        mix(kFirstId, ids, taken(result) ? static_cast<std::uint64_t>(n) * sizeof *ids : 0), rank, size)

// All ranks in one process; nobody else has this communicator.
HP_NCCL_HOOK(ncclCommInitAll, (NcclComm * made, int n, const int* devices), (made, n, devices), "comm:hex",
             "handle:hex", "site:code", "", "place:ranks") {
  std::uint64_t id = mix(mix(kFirstId, word_of(made)), rec.begin_ticks);
  for (int rank = 0; taken(result) && rank < n; ++rank) note_communicator(made[rank], id, rank, n);
  rec.a = taken(result) ? id : 0;
  rec.b = rec.d = 0;
  rec.e = pack_nccl_ranks(-1, n, kNoPeer);
}

#define HP_MAKE_CHILD(name, params, args, how)                                                 \
  HP_NCCL_HOOK(name, params, args, "comm:hex", "handle:hex", "site:code", "", "place:ranks") { \
    note_child(rec, result, parent, made, how);                                                \
  }
HP_MAKE_CHILD(ncclCommSplit, (NcclComm parent, int color, int key, NcclComm* made, void* config),
              (parent, color, key, made, config), static_cast<std::uint64_t>(color))
HP_MAKE_CHILD(ncclCommShrink, (NcclComm parent, int* excluded, int n, NcclComm* made, void* config, int flags),
              (parent, excluded, n, made, config, flags),
              mix(kFirstId, excluded, static_cast<std::uint64_t>(n) * sizeof(int)))
HP_MAKE_CHILD(ncclCommGrow, (NcclComm parent, int size, const NcclUniqueId* id, int rank, NcclComm* made, void* config),
              (parent, size, id, rank, made, config), static_cast<std::uint64_t>(size))

#define HP_END(name, params, args)                                                             \
  HP_NCCL_HOOK(name, params, args, "comm:hex", "handle:hex", "site:code", "", "place:ranks") { \
    note_gone(rec, result, comm);                                                              \
  }
HP_END(ncclCommDestroy, (NcclComm comm), (comm))
HP_END(ncclCommAbort, (NcclComm comm), (comm))

#define HP_ON_COMMUNICATOR(name, params, args)                                                 \
  HP_NCCL_HOOK(name, params, args, "comm:hex", "handle:hex", "site:code", "", "place:ranks") { \
    note_gone(rec, -1, comm);                                                                  \
  }
HP_ON_COMMUNICATOR(ncclCommFinalize, (NcclComm comm), (comm))
HP_ON_COMMUNICATOR(ncclCommRevoke, (NcclComm comm, int flags), (comm, flags))
HP_ON_COMMUNICATOR(ncclCommSuspend, (NcclComm comm, int flags), (comm, flags))
HP_ON_COMMUNICATOR(ncclCommResume, (NcclComm comm), (comm))
