// hooks/nccl.cpp: NCCL's public calls: collectives, sends and receives, groups, and the life of communicators.
//
// Room 2 (probe/). Reached like the driver's functions (routes.h), never exported: NCCL's own calls of its own functions
// (ncclBcast makes an ncclBroadcast) are not the program's and stay unseen, so each call counts once. Runs on the
// program's threads; with the call itself at microseconds, the look-up of the communicator is noise.
#include <cstddef>

#include "format/record.h"
#include "probe/hooks/communicators.h"
#include "probe/hooks/gpu_times.h"
#include "probe/hooks/nccl_abi.h"
#include "probe/intercept/routes.h"
#include "probe/record/hook.h"
#include "probe/runtime/of_process.h"

using namespace hostprobe;
using namespace hostprobe::probe;

// What is kept true by every call, also where nothing is recorded, is in communicators.h; a record says what was true then.
#define HP_NCCL_HOOK(role, name, params, args, Note, track, l0, l1, l2, l3, l4) \
  HP_TRACKED_HOOK(kNccl, int, kOther, role, name, params, args, Note, track, l0, l1, l2, l3, l4)

namespace {

constexpr int kNoPeer = -1;

bool taken(int result) { return result == kNcclSuccess || result == kNcclInProgress; }

// NCCL knows rank and size of a communicator that was not made by rank, once it is ready.
void ask_member(NcclComm handle, Member& member) {
  using Ask = int (*)(NcclComm, int*);
  HP_KEPT_BY_CHILDREN static std::atomic<Ask> rank_of{nullptr}, size_of{nullptr};
  if (rank_of.load(std::memory_order_acquire) == nullptr) {
    size_of.store(reinterpret_cast<Ask>(routed_function("ncclCommCount")), std::memory_order_relaxed);
    rank_of.store(reinterpret_cast<Ask>(routed_function("ncclCommUserRank")), std::memory_order_release);
  }
  int rank = -1, size = -1;
  Ask ask_rank = rank_of.load(std::memory_order_acquire), ask_size = size_of.load(std::memory_order_relaxed);
  if (ask_rank == nullptr || ask_size == nullptr || ask_rank(handle, &rank) != 0 || ask_size(handle, &size) != 0)
    return;
  member.rank = rank;
  member.size = size;
  note_member(handle, rank, size);
}

std::uint64_t pack_member(const Member& member, int peer) { return pack_nccl_ranks(member.rank, member.size, peer); }

std::uint16_t fill_operation(Record& rec, NcclOperation operation, NcclComm handle, std::size_t count, int type, int op,
                             int peer, NcclStream stream) {
  if (operation.member.id != 0 && operation.member.size < 0) ask_member(handle, operation.member);
  rec.a = operation.member.id;
  rec.b = count;
  rec.c = pack_nccl_call(operation.sequence, operation.group, type, op);
  rec.d = word_of(stream);
  rec.e = pack_member(operation.member, peer);
  return operation.member.made_unseen ? kRecordRelative : 0;
}

void fill_communicator(Record& rec, const Member& member, NcclComm handle) {
  rec.a = member.id;
  rec.b = word_of(handle);
  rec.d = 0;
  rec.e = pack_member(member, kNoPeer);
}

NcclComm made_by(int result, const NcclComm* made) { return taken(result) && made != nullptr ? *made : nullptr; }

}  // namespace

// ---- operations -----------------------------------------------------------------------------------------------------

#define HP_OPERATION(role, name, params, args, before, count, type, op, peer, tracked)                              \
  HP_MOMENTS_HOOK(kNccl, int, kOther, role, name, params, args, NcclOperation, (launches_first(), before), tracked, \
                  NoQueue{}, "comm:hex", "count", "call:nccl", "stream:hex", "place:ranks") {                       \
    record_flags = fill_operation(rec, note, comm, count, type, op, peer, stream);                                  \
  }
#define HP_TAIL NcclComm comm, NcclStream stream
// Each of these has had a form with a configuration behind since 2.32.
#define HP_COLLECTIVE(name, params, args, count, type, op, peer)                                     \
  HP_OPERATION(kCollective, name, params, args, begin_gpu_time(comm, stream), count, type, op, peer, \
               end_gpu_time(track_operation(taken(result), comm, false)))
#define HP_MESSAGE(name, params, args, count, type, peer)                           \
  HP_OPERATION(kMessage, name, params, args, (void)0, count, type, kNcclNoOp, peer, \
               track_operation(taken(result), comm, true))

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

HP_MESSAGE(ncclSend, (const void* send, std::size_t n, int type, int peer, HP_TAIL),
           (send, n, type, peer, comm, stream), n, type, peer)
HP_MESSAGE(ncclRecv, (void* recv, std::size_t n, int type, int peer, HP_TAIL), (recv, n, type, peer, comm, stream), n,
           type, peer)
HP_MESSAGE(ncclPutSignal,
           (const void* local, std::size_t n, int type, int peer, void* window, std::size_t offset, int signal,
            int context, unsigned flags, HP_TAIL),
           (local, n, type, peer, window, offset, signal, context, flags, comm, stream), n, type, peer)
HP_MESSAGE(ncclSignal, (int peer, int signal, int context, unsigned flags, HP_TAIL),
           (peer, signal, context, flags, comm, stream), 0, kNcclNoType, peer)
HP_MESSAGE(ncclWaitSignal, (int n, void* signals, HP_TAIL), (n, signals, comm, stream), static_cast<std::size_t>(n),
           kNcclNoType, kNoPeer)

// ---- groups ---------------------------------------------------------------------------------------------------------

#define HP_GROUP(role, name, params, args, track)                                                   \
  HP_NCCL_HOOK(role, name, params, args, NcclGroup, track, "group", "depth", "site:code", "", "") { \
    rec.a = note.number;                                                                            \
    rec.b = note.depth;                                                                             \
    rec.d = rec.e = 0;                                                                              \
  }
HP_GROUP(kGroup, ncclGroupStart, (), (), track_group_start(result == kNcclSuccess))
HP_GROUP(kGroupEnd, ncclGroupEnd, (), (), track_group_end())
HP_GROUP(kGroup, ncclGroupSimulateEnd, (void* estimate), (estimate), track_group_end())

// ---- communicators --------------------------------------------------------------------------------------------------

// Made with what all of its ranks passed in.
#define HP_MAKE(name, params, args, made, id, rank, size)                                                    \
  HP_NCCL_HOOK(kCommunicator, name, params, args, Member, track_made(made_by(result, made), id, rank, size), \
               "comm:hex", "handle:hex", "site:code", "", "place:ranks") {                                   \
    fill_communicator(rec, note, made_by(result, made));                                                     \
  }
HP_MAKE(ncclCommInitRank, (NcclComm * made, int size, NcclUniqueId id, int rank), (made, size, id, rank), made,
        mix(kFirstId, &id, sizeof id), rank, size)
HP_MAKE(ncclCommInitRankConfig, (NcclComm * made, int size, NcclUniqueId id, int rank, void* config),
        (made, size, id, rank, config), made, mix(kFirstId, &id, sizeof id), rank, size)
HP_MAKE(ncclCommInitRankScalable, (NcclComm * made, int size, int rank, int n, NcclUniqueId* ids, void* config),
        (made, size, rank, n, ids, config), made,
        mix(kFirstId, ids, taken(result) ? static_cast<std::uint64_t>(n) * sizeof *ids : 0), rank, size)

// All ranks in one process; nobody else has this communicator.
HP_NCCL_HOOK(kCommunicator, ncclCommInitAll, (NcclComm * made, int n, const int* devices), (made, n, devices), Member,
             track_made_all(taken(result) ? made : nullptr, n), "comm:hex", "handle:hex", "site:code", "",
             "place:ranks") {
  fill_communicator(rec, note, nullptr);
}

// Made out of another, whose ranks all make the same number of such calls in the same order.
#define HP_MAKE_CHILD(name, params, args, how)                                                                         \
  HP_NCCL_HOOK(kCommunicator, name, params, args, Member, track_child(made_by(result, made), parent, how), "comm:hex", \
               "handle:hex", "site:code", "", "place:ranks") {                                                         \
    fill_communicator(rec, note, made_by(result, made));                                                               \
    record_flags = note.made_unseen ? kRecordRelative : 0;                                                             \
  }
HP_MAKE_CHILD(ncclCommSplit, (NcclComm parent, int color, int key, NcclComm* made, void* config),
              (parent, color, key, made, config), static_cast<std::uint64_t>(color))
HP_MAKE_CHILD(ncclCommShrink, (NcclComm parent, int* excluded, int n, NcclComm* made, void* config, int flags),
              (parent, excluded, n, made, config, flags),
              mix(kFirstId, excluded, static_cast<std::uint64_t>(n) * sizeof(int)))
HP_MAKE_CHILD(ncclCommGrow, (NcclComm parent, int size, const NcclUniqueId* id, int rank, NcclComm* made, void* config),
              (parent, size, id, rank, made, config), static_cast<std::uint64_t>(size))

#define HP_ON_COMMUNICATOR(name, params, args, is_gone)                                                       \
  HP_NCCL_HOOK(kCommunicator, name, params, args, Member, track_use(comm, is_gone), "comm:hex", "handle:hex", \
               "site:code", "", "place:ranks") {                                                              \
    fill_communicator(rec, note, comm);                                                                       \
  }
HP_ON_COMMUNICATOR(ncclCommDestroy, (NcclComm comm), (comm), taken(result))
HP_ON_COMMUNICATOR(ncclCommAbort, (NcclComm comm), (comm), taken(result))
HP_ON_COMMUNICATOR(ncclCommFinalize, (NcclComm comm), (comm), false)
HP_ON_COMMUNICATOR(ncclCommRevoke, (NcclComm comm, int flags), (comm, flags), false)
HP_ON_COMMUNICATOR(ncclCommSuspend, (NcclComm comm, int flags), (comm, flags), false)
HP_ON_COMMUNICATOR(ncclCommResume, (NcclComm comm), (comm), false)
