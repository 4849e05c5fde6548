// The collectives and point-to-point calls of nccl.h: argument checks as NCCL makes them, then into the group.
#include "entry.h"
#include "group.h"
#include "last_error.h"
#include "reduce.h"

#include <cstdint>

namespace {

using namespace simnode::nccl;

constexpr unsigned kConfigMagic = 0xcafebeef;

ncclResult_t check_type(const char* call, ncclDataType_t type) {
  auto value = static_cast<int>(type);
  if (value >= 0 && value < ncclNumTypes) return ncclSuccess;
  return fail(ncclInvalidArgument, "%s : invalid type %d", call, value);
}

ncclResult_t check_rank(const char* call, const char* what, int rank, const Communicator& communicator) {
  if (rank >= 0 && rank < communicator.ranks()) return ncclSuccess;
  return fail(ncclInvalidArgument, "%s : invalid %s %d (communicator has %d ranks)", call, what, rank,
              communicator.ranks());
}

ncclResult_t check_count(const char* call, size_t count, ncclDataType_t type, int ranks) {
  if (count <= SIZE_MAX / 2 / bytes_of(type) / static_cast<size_t>(ranks)) return ncclSuccess;
  return fail(ncclInvalidArgument, "%s : count %zu is too large", call, count);
}

ncclResult_t check_pointer(const char* call, const char* what, const void* pointer, bool needed) {
  if (pointer != nullptr || !needed) return ncclSuccess;
  return fail(ncclInvalidArgument, "%s : %s argument is NULL", call, what);
}

ncclResult_t set_op(const char* call, Communicator& communicator, ncclRedOp_t op, Work* work) {
  constexpr Op kBuiltIn[] = {Op::kSum, Op::kProd, Op::kMax, Op::kMin, Op::kAvg};
  auto value = static_cast<int64_t>(op);
  if (value >= 0 && value < ncclNumOps) {
    work->op = kBuiltIn[value];
    return ncclSuccess;
  }
  simnode::MutexLock lock(communicator.mutex);
  auto index = static_cast<size_t>(value - ncclNumOps);
  if (value < 0 || index >= communicator.ops.size() || communicator.ops[index] == nullptr)
    return fail(ncclInvalidArgument, "%s : reduction operation %lld unknown to this communicator", call,
                static_cast<long long>(value));
  const UserOp& own = *communicator.ops[index];
  if (own.type != work->type)
    return fail(ncclInvalidArgument, "%s : the type of the user-created ncclRedOp_t is not the type of the operation",
                call);
  work->op = Op::kPreMulSum;
  work->scalar = own.scalar;
  work->scalar_value = own.scalar_value;
  return ncclSuccess;
}

struct Request {
  const char* call;
  Work work;
  ncclRedOp_t op = ncclSum;
  bool reduces = false, rooted = false, multiplies = false;
  bool send_at_root_only = false, receive_at_root_only = false;
};

ncclResult_t check(Request& request, Communicator& communicator) {
  Work& work = request.work;
  if (request.rooted) NCCL_TRY(check_rank(request.call, "root", work.root, communicator));
  NCCL_TRY(check_type(request.call, work.type));
  if (request.reduces) NCCL_TRY(set_op(request.call, communicator, request.op, &work));
  NCCL_TRY(check_count(request.call, work.count, work.type, communicator.ranks()));
  bool root = communicator.rank() == work.root, some = work.count > 0;
  NCCL_TRY(check_pointer(request.call, "sendbuff", work.send, some && (!request.send_at_root_only || root)));
  return check_pointer(request.call, "recvbuff", work.recv, some && (!request.receive_at_root_only || root));
}

ncclResult_t enqueue(Request request, ncclComm_t handle, CUstream_st* stream) {
  std::shared_ptr<Communicator> communicator;
  NCCL_TRY(note_error(find_ready(handle, request.call, &communicator)));
  NCCL_TRY(note_error(check(request, *communicator)));
  if (request.work.count == 0) return ncclSuccess;
  return add_to_group(Call{communicator, stream, {request.work}});
}

Work work_of(Kind kind, const void* send, void* recv, size_t count, ncclDataType_t type, int root = 0) {
  Work work{kind};
  work.send = send;
  work.recv = recv;
  work.count = count;
  work.type = type;
  work.root = root;
  return work;
}

// Send or receive: the buffer of the other direction is not asked for.
ncclResult_t point_to_point(const char* call, Kind kind, const void* send, void* recv, size_t count,
                            ncclDataType_t type, int peer, ncclComm_t handle, CUstream_st* stream) {
  std::shared_ptr<Communicator> communicator;
  NCCL_TRY(note_error(find_ready(handle, call, &communicator)));
  NCCL_TRY(note_error(check_rank(call, "peer", peer, *communicator)));
  NCCL_TRY(note_error(check_type(call, type)));
  NCCL_TRY(note_error(check_count(call, count, type, 1)));
  const void* buffer = kind == Kind::kSend ? send : recv;
  NCCL_TRY(note_error(check_pointer(call, kind == Kind::kSend ? "sendbuff" : "recvbuff", buffer, count > 0)));
  if (count == 0) return ncclSuccess;
  return add_to_group(Call{communicator, stream, {work_of(kind, send, recv, count, type, peer)}});
}

// AlltoAll, Gather and Scatter are sends and receives between pairs, as in NCCL.
enum class Exchange { kAlltoAll, kGather, kScatter };

ncclResult_t exchange(const char* call, Exchange exchange, const void* send, void* recv, size_t count,
                      ncclDataType_t type, int root, ncclComm_t handle, CUstream_st* stream) {
  std::shared_ptr<Communicator> communicator;
  NCCL_TRY(note_error(find_ready(handle, call, &communicator)));
  Request request{call, work_of(Kind::kSend, send, recv, count, type, root)};
  request.rooted = exchange != Exchange::kAlltoAll;
  request.send_at_root_only = exchange == Exchange::kScatter;
  request.receive_at_root_only = exchange == Exchange::kGather;
  NCCL_TRY(note_error(check(request, *communicator)));
  if (count == 0) return ncclSuccess;
  Call all{communicator, stream, {}};
  size_t bytes = count * bytes_of(type);
  bool is_root = communicator->rank() == root;
  for (int peer = 0; peer < communicator->ranks(); ++peer) {
    size_t offset = static_cast<size_t>(peer) * bytes;
    bool to_peer = exchange == Exchange::kGather ? peer == root : exchange == Exchange::kAlltoAll || is_root;
    bool from_peer = exchange == Exchange::kScatter ? peer == root : exchange == Exchange::kAlltoAll || is_root;
    size_t from_offset = exchange == Exchange::kGather ? 0 : offset;
    size_t to_offset = exchange == Exchange::kScatter ? 0 : offset;
    auto* from = static_cast<const char*>(send) + from_offset;
    auto* to = static_cast<char*>(recv) + to_offset;
    if (to_peer) all.works.push_back(work_of(Kind::kSend, from, nullptr, count, type, peer));
    if (from_peer) all.works.push_back(work_of(Kind::kRecv, nullptr, to, count, type, peer));
  }
  return add_to_group(std::move(all));
}

ncclResult_t check_config(const char* call, const ncclCollConfig_t* config) {
  if (config == nullptr) return ncclSuccess;
  if (config->magic != kConfigMagic || config->size < offsetof(ncclCollConfig_t, minCTAs))
    return note_error(fail(ncclInvalidArgument,
                           "%s : ncclCollConfig_t argument not initialized via "
                           "NCCL_COLLCONFIG_INITIALIZER",
                           call));
  bool event =
      config->size > offsetof(ncclCollConfig_t, launchCompletionEvent) && config->launchCompletionEvent != nullptr;
  if (event) return note_error(fail(ncclInvalidUsage, "%s : launchCompletionEvent is not modelled", call));
  return ncclSuccess;
}

ncclResult_t all_reduce(const char* call, const void* send, void* recv, size_t count, ncclDataType_t type,
                        ncclRedOp_t op, ncclComm_t comm, CUstream_st* stream) {
  Request request{call, work_of(Kind::kAllReduce, send, recv, count, type), op};
  request.reduces = true;
  return enqueue(request, comm, stream);
}

ncclResult_t reduce_to_root(const char* call, const void* send, void* recv, size_t count, ncclDataType_t type,
                            ncclRedOp_t op, int root, ncclComm_t comm, CUstream_st* stream) {
  Request request{call, work_of(Kind::kReduce, send, recv, count, type, root), op};
  request.reduces = request.rooted = request.receive_at_root_only = true;
  return enqueue(request, comm, stream);
}

ncclResult_t reduce_scatter(const char* call, const void* send, void* recv, size_t count, ncclDataType_t type,
                            ncclRedOp_t op, ncclComm_t comm, CUstream_st* stream) {
  Request request{call, work_of(Kind::kReduceScatter, send, recv, count, type), op};
  request.reduces = true;
  return enqueue(request, comm, stream);
}

ncclResult_t all_gather(const char* call, const void* send, void* recv, size_t count, ncclDataType_t type,
                        ncclComm_t comm, CUstream_st* stream) {
  return enqueue(Request{call, work_of(Kind::kAllGather, send, recv, count, type)}, comm, stream);
}

ncclResult_t broadcast(const char* call, const void* send, void* recv, size_t count, ncclDataType_t type, int root,
                       ncclComm_t comm, CUstream_st* stream) {
  Request request{call, work_of(Kind::kBroadcast, send, recv, count, type, root)};
  request.rooted = request.send_at_root_only = true;
  return enqueue(request, comm, stream);
}

}  // namespace

NCCL_ENTRY(ncclResult_t, ncclAllReduce,
           (const void* send, void* recv, size_t count, ncclDataType_t type, ncclRedOp_t op, ncclComm_t comm,
            CUstream_st* stream),
           (send, recv, count, type, op, comm, stream)) {
  return all_reduce("AllReduce", send, recv, count, type, op, comm, stream);
}

NCCL_ENTRY(ncclResult_t, ncclReduce,
           (const void* send, void* recv, size_t count, ncclDataType_t type, ncclRedOp_t op, int root, ncclComm_t comm,
            CUstream_st* stream),
           (send, recv, count, type, op, root, comm, stream)) {
  return reduce_to_root("Reduce", send, recv, count, type, op, root, comm, stream);
}

NCCL_ENTRY(ncclResult_t, ncclReduceScatter,
           (const void* send, void* recv, size_t count, ncclDataType_t type, ncclRedOp_t op, ncclComm_t comm,
            CUstream_st* stream),
           (send, recv, count, type, op, comm, stream)) {
  return reduce_scatter("ReduceScatter", send, recv, count, type, op, comm, stream);
}

NCCL_ENTRY(ncclResult_t, ncclAllGather,
           (const void* send, void* recv, size_t count, ncclDataType_t type, ncclComm_t comm, CUstream_st* stream),
           (send, recv, count, type, comm, stream)) {
  return all_gather("AllGather", send, recv, count, type, comm, stream);
}

NCCL_ENTRY(ncclResult_t, ncclBroadcast,
           (const void* send, void* recv, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
            CUstream_st* stream),
           (send, recv, count, type, root, comm, stream)) {
  return broadcast("Broadcast", send, recv, count, type, root, comm, stream);
}

// Through the exported name, as NCCL does: a tool that counts calls must not count this one twice.
NCCL_ENTRY(ncclResult_t, ncclBcast,
           (void* buffer, size_t count, ncclDataType_t type, int root, ncclComm_t comm, CUstream_st* stream),
           (buffer, count, type, root, comm, stream)) {
  return ncclBroadcast(buffer, buffer, count, type, root, comm, stream);
}

NCCL_ENTRY(ncclResult_t, ncclAlltoAll,
           (const void* send, void* recv, size_t count, ncclDataType_t type, ncclComm_t comm, CUstream_st* stream),
           (send, recv, count, type, comm, stream)) {
  return exchange("AlltoAll", Exchange::kAlltoAll, send, recv, count, type, 0, comm, stream);
}

NCCL_ENTRY(ncclResult_t, ncclGather,
           (const void* send, void* recv, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
            CUstream_st* stream),
           (send, recv, count, type, root, comm, stream)) {
  return exchange("Gather", Exchange::kGather, send, recv, count, type, root, comm, stream);
}

NCCL_ENTRY(ncclResult_t, ncclScatter,
           (const void* send, void* recv, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
            CUstream_st* stream),
           (send, recv, count, type, root, comm, stream)) {
  return exchange("Scatter", Exchange::kScatter, send, recv, count, type, root, comm, stream);
}

NCCL_ENTRY(ncclResult_t, ncclSend,
           (const void* send, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, CUstream_st* stream),
           (send, count, type, peer, comm, stream)) {
  return point_to_point("Send", Kind::kSend, send, nullptr, count, type, peer, comm, stream);
}

NCCL_ENTRY(ncclResult_t, ncclRecv,
           (void* recv, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, CUstream_st* stream),
           (recv, count, type, peer, comm, stream)) {
  return point_to_point("Recv", Kind::kRecv, nullptr, recv, count, type, peer, comm, stream);
}

NCCL_ENTRY(ncclResult_t, ncclAllReduceConfig,
           (const void* send, void* recv, size_t count, ncclDataType_t type, ncclRedOp_t op, ncclComm_t comm,
            CUstream_st* stream, const ncclCollConfig_t* config),
           (send, recv, count, type, op, comm, stream, config)) {
  NCCL_TRY(check_config("AllReduceConfig", config));
  return all_reduce("AllReduceConfig", send, recv, count, type, op, comm, stream);
}

NCCL_ENTRY(ncclResult_t, ncclBroadcastConfig,
           (const void* send, void* recv, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
            CUstream_st* stream, const ncclCollConfig_t* config),
           (send, recv, count, type, root, comm, stream, config)) {
  NCCL_TRY(check_config("BroadcastConfig", config));
  return broadcast("BroadcastConfig", send, recv, count, type, root, comm, stream);
}

NCCL_ENTRY(ncclResult_t, ncclReduceConfig,
           (const void* send, void* recv, size_t count, ncclDataType_t type, ncclRedOp_t op, int root, ncclComm_t comm,
            CUstream_st* stream, const ncclCollConfig_t* config),
           (send, recv, count, type, op, root, comm, stream, config)) {
  NCCL_TRY(check_config("ReduceConfig", config));
  return reduce_to_root("ReduceConfig", send, recv, count, type, op, root, comm, stream);
}

NCCL_ENTRY(ncclResult_t, ncclAllGatherConfig,
           (const void* send, void* recv, size_t count, ncclDataType_t type, ncclComm_t comm, CUstream_st* stream,
            const ncclCollConfig_t* config),
           (send, recv, count, type, comm, stream, config)) {
  NCCL_TRY(check_config("AllGatherConfig", config));
  return all_gather("AllGatherConfig", send, recv, count, type, comm, stream);
}

NCCL_ENTRY(ncclResult_t, ncclReduceScatterConfig,
           (const void* send, void* recv, size_t count, ncclDataType_t type, ncclRedOp_t op, ncclComm_t comm,
            CUstream_st* stream, const ncclCollConfig_t* config),
           (send, recv, count, type, op, comm, stream, config)) {
  NCCL_TRY(check_config("ReduceScatterConfig", config));
  return reduce_scatter("ReduceScatterConfig", send, recv, count, type, op, comm, stream);
}

NCCL_ENTRY(ncclResult_t, ncclAlltoAllConfig,
           (const void* send, void* recv, size_t count, ncclDataType_t type, ncclComm_t comm, CUstream_st* stream,
            const ncclCollConfig_t* config),
           (send, recv, count, type, comm, stream, config)) {
  NCCL_TRY(check_config("AlltoAllConfig", config));
  return exchange("AlltoAllConfig", Exchange::kAlltoAll, send, recv, count, type, 0, comm, stream);
}

NCCL_ENTRY(ncclResult_t, ncclGatherConfig,
           (const void* send, void* recv, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
            CUstream_st* stream, const ncclCollConfig_t* config),
           (send, recv, count, type, root, comm, stream, config)) {
  NCCL_TRY(check_config("GatherConfig", config));
  return exchange("GatherConfig", Exchange::kGather, send, recv, count, type, root, comm, stream);
}

NCCL_ENTRY(ncclResult_t, ncclScatterConfig,
           (const void* send, void* recv, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
            CUstream_st* stream, const ncclCollConfig_t* config),
           (send, recv, count, type, root, comm, stream, config)) {
  NCCL_TRY(check_config("ScatterConfig", config));
  return exchange("ScatterConfig", Exchange::kScatter, send, recv, count, type, root, comm, stream);
}

NCCL_ENTRY(ncclResult_t, ncclGroupStart, (), ()) {
  group_start();
  return ncclSuccess;
}

NCCL_ENTRY(ncclResult_t, ncclGroupEnd, (), ()) { return group_end(); }

NCCL_ENTRY(ncclResult_t, ncclGroupSimulateEnd, (ncclSimInfo_t * estimate), (estimate)) {
  constexpr unsigned kSimMagic = 0x74685283;
  if (estimate != nullptr && estimate->magic != kSimMagic)
    return fail(ncclInvalidArgument, "ncclSimInfo_t argument not initialized via NCCL_SIM_INFO_INITIALIZER");
  float microseconds = 0;
  ncclResult_t result = group_estimate(&microseconds);
  if (result == ncclSuccess && estimate != nullptr) estimate->estimatedTime = microseconds;
  return result;
}
