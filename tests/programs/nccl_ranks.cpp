// nccl_ranks: three ranks, each a process, that make the same collectives, a split, a group and a graph. Rank 0 goes on while
// its trace cannot be written, so that its pool is full for a while; rank 1 pauses and resumes; rank 2 begins to record late.
// Each tells `rank R`, how many collectives it made on the world and on the split, and how many nodes its graph has.
#include <cuda.h>
#include <dlfcn.h>
#include <hostprobe/hostprobe.h>
#include <sys/resource.h>

#include "nccl_types.h"
#include "victim.h"

namespace {

constexpr int kRanks = 3, kBefore = 10, kUnseen = 20, kAfter = 10, kNodes = 3;

template <class Function>
Function* find(const char* library, const char* name) {
  void* found = dlsym(dlopen(library, RTLD_NOW | RTLD_GLOBAL), name);
  if (found == nullptr) {
    printf("no %s\n", name);
    fflush(stdout);
    _exit(97);
  }
  return reinterpret_cast<Function*>(found);
}
#define DRIVER(name) find<decltype(name)>("libcuda.so.1", #name)

using UniqueId = ncclResult_t(ncclUniqueId*);
using InitRank = ncclResult_t(ncclComm_t*, int, ncclUniqueId, int);
using Split = ncclResult_t(ncclComm_t, int, int, ncclComm_t*, void*);
using Group = ncclResult_t();
using Destroy = ncclResult_t(ncclComm_t);
using AllReduce = ncclResult_t(const void*, void*, size_t, ncclDataType_t, ncclRedOp_t, ncclComm_t, CUstream);
template <class Function>
Function* nccl(const char* name) {
  return find<Function>("libnccl.so.2", name);
}

void must(int result, const char* what) {
  if (result == 0) return;
  printf("%s: %d\n", what, result);
  fflush(stdout);
  _exit(98);
}

struct Rank {
  CUstream stream = nullptr;
  CUdeviceptr memory = 0;
  AllReduce* all_reduce = nccl<AllReduce>("ncclAllReduce");
  int world_calls = 0, split_calls = 0;

  void reduce(ncclComm_t on, int times, int& calls) {
    void* data = reinterpret_cast<void*>(memory);
    for (int i = 0; i < times; ++i, ++calls)
      must(all_reduce(data, data, 1, ncclFloat32, ncclSum, on, stream), "reduce");
  }
};

// Nothing can be written meanwhile, and there are more records than the pool holds.
void lose_records() {
  const rlimit none = {0, RLIM_INFINITY};
  must(setrlimit(RLIMIT_FSIZE, &none), "setrlimit");
  Group *begin = nccl<Group>("ncclGroupStart"), *end = nccl<Group>("ncclGroupEnd");
  for (int i = 0; i < 40000; ++i) must(begin() + end(), "group");
}

void find_room_again() {
  const rlimit any = {RLIM_INFINITY, RLIM_INFINITY};
  must(setrlimit(RLIMIT_FSIZE, &any), "setrlimit");
}

CUgraphExec make_graph(CUstream stream) {
  CUgraph graph = nullptr;
  CUgraphExec executable = nullptr;
  must(DRIVER(cuStreamBeginCapture_v2)(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), "capture");
  for (int i = 0; i < kNodes; ++i)
    must(DRIVER(cuLaunchHostFunc)(
             stream, [](void*) {}, nullptr),
         "node");
  must(DRIVER(cuStreamEndCapture)(stream, &graph), "capture");
  must(DRIVER(cuGraphInstantiateWithFlags)(&executable, graph, 0), "instantiate");
  return executable;
}

int run(int number, const ncclUniqueId& id) {
  if (number == 2) hostprobe_stop();
  CUcontext context = nullptr;
  must(DRIVER(cuInit)(0), "cuInit");
  must(DRIVER(cuDevicePrimaryCtxRetain)(&context, number), "context");
  must(DRIVER(cuCtxSetCurrent)(context), "context");
  Rank rank;
  must(DRIVER(cuStreamCreate)(&rank.stream, 0), "stream");
  must(DRIVER(cuMemAlloc_v2)(&rank.memory, 4096), "memory");
  ncclComm_t world = nullptr, split = nullptr;
  must(nccl<InitRank>("ncclCommInitRank")(&world, kRanks, id, number), "init");
  rank.reduce(world, kBefore, rank.world_calls);
  if (number == 0) lose_records();
  if (number == 1) hostprobe_stop();
  rank.reduce(world, kUnseen, rank.world_calls);
  if (number == 0) find_room_again();  // NCCL makes files
  must(nccl<Split>("ncclCommSplit")(world, 0, number, &split, nullptr), "split");
  rank.reduce(split, kBefore, rank.split_calls);
  CUgraphExec graph = make_graph(rank.stream);
  must(nccl<Group>("ncclGroupStart")(), "group");
  for (int i = 0; number == 0 && i < 10000; ++i) nap();  // until everything is written
  if (number != 0) hostprobe_start();
  rank.reduce(split, kAfter, rank.split_calls);
  must(nccl<Group>("ncclGroupEnd")(), "group");
  rank.reduce(world, kAfter, rank.world_calls);
  must(DRIVER(cuGraphLaunch)(graph, rank.stream), "launch");
  must(DRIVER(cuStreamSynchronize)(rank.stream), "synchronize");
  tell("rank %d pid %d world %d split %d nodes %d", number, static_cast<int>(getpid()), rank.world_calls,
       rank.split_calls, kNodes);
  must(nccl<Destroy>("ncclCommDestroy")(split), "destroy");
  must(nccl<Destroy>("ncclCommDestroy")(world), "destroy");
  return 0;
}

// The id travels as text in the environment of the ranks.
ncclUniqueId id_of(const char* text) {
  ncclUniqueId id;
  for (size_t i = 0; i < sizeof id; ++i) {
    unsigned byte = 0;
    sscanf(text + 2 * i, "%2x", &byte);
    reinterpret_cast<unsigned char*>(&id)[i] = static_cast<unsigned char>(byte);
  }
  return id;
}

void start_rank(int number, const char* id, char** argv) {
  if (fork() != 0) return;
  char text[8];
  snprintf(text, sizeof text, "%d", number);
  setenv("RANK", text, 1);
  setenv("WORLD_SIZE", "3", 1);
  setenv("NCCL_RANKS_ID", id, 1);
  execv("/proc/self/exe", argv);
  _exit(96);
}

}  // namespace

int main(int, char** argv) {
  const char* rank = getenv("RANK");
  if (rank != nullptr) return run(atoi(rank), id_of(getenv("NCCL_RANKS_ID")));
  ncclUniqueId id;
  must(nccl<UniqueId>("ncclGetUniqueId")(&id), "id");
  char text[2 * sizeof id + 1];
  for (size_t i = 0; i < sizeof id; ++i) sprintf(text + 2 * i, "%02x", reinterpret_cast<unsigned char*>(&id)[i]);
  for (int number = 0; number < kRanks; ++number) start_rank(number, text, argv);
  int status = 0, failed = 0;
  while (wait(&status) > 0) failed += status != 0;
  printf("%d failed\n", failed);
  return failed;
}
