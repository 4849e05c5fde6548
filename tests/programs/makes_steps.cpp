// makes_steps SHAPE STEPS [START_MS]: two ranks that train or decode in the pattern of SHAPE, and mark each step. With START_MS
// they wait so long for a semaphore first, as for an import, and mark none.
//   sharded    all-gathers before each layer, forwards and backwards, reduce-scatters behind it; accumulates over two batches
//   pipelined  micro-batches, one forward and one backward in turns, between two stages
//   decode     a graph for each token, then a small copy and a wait; prompts and answers of any length
// Every 7 steps of training there is an evaluation, every 5 a checkpoint, neither of them marked.
#include <cuda.h>
#include <dlfcn.h>
#include <hostprobe/hostprobe.h>
#include <semaphore.h>
#include <sys/wait.h>
#include <time.h>

#include <cstring>

#include "nccl_types.h"
#include "victim.h"

namespace {

constexpr char kPtx[] = R"(
.version 7.0
.target sm_50
.address_size 64
.visible .entry layer(.param .u64 values) { ret; }
.visible .entry gradient(.param .u64 values) { ret; }
.visible .entry optimizer(.param .u64 values) { ret; }
.visible .entry metric(.param .u64 values) { ret; }
)";

void must(int result, const char* what) {
  if (result == 0) return;
  printf("%s: %d\n", what, result);
  fflush(stdout);
  _exit(98);
}

template <class Function>
Function* find(const char* library, const char* name) {
  void* found = dlsym(dlopen(library, RTLD_NOW | RTLD_GLOBAL), name);
  must(found == nullptr, name);
  return reinterpret_cast<Function*>(found);
}
#define DRIVER(name) find<decltype(name)>("libcuda.so.1", #name)

using UniqueId = ncclResult_t(ncclUniqueId*);
using InitRank = ncclResult_t(ncclComm_t*, int, ncclUniqueId, int);
using Reduce = ncclResult_t(const void*, void*, size_t, ncclDataType_t, ncclRedOp_t, ncclComm_t, CUstream);
using Gather = ncclResult_t(const void*, void*, size_t, ncclDataType_t, ncclComm_t, CUstream);
using Send = ncclResult_t(const void*, size_t, ncclDataType_t, int, ncclComm_t, CUstream);
using Receive = ncclResult_t(void*, size_t, ncclDataType_t, int, ncclComm_t, CUstream);
template <class Function>
Function* nccl(const char* name) {
  return find<Function>("libnccl.so.2", name);
}

bool marks_steps = true;
void mark_step(int step) {
  if (marks_steps) hostprobe_step(static_cast<uint64_t>(step));
}

void start_for(int ms) {
  sem_t nobody_posts;
  sem_init(&nobody_posts, 0, 0);
  timespec end{};
  clock_gettime(CLOCK_REALTIME, &end);
  end.tv_sec += ms / 1000;
  end.tv_nsec += ms % 1000 * 1'000'000;
  if (end.tv_nsec >= 1'000'000'000) ++end.tv_sec, end.tv_nsec -= 1'000'000'000;
  sem_timedwait(&nobody_posts, &end);
}

constexpr int kLayers = 6, kMicroBatches = 4;
constexpr size_t kBytes = 1 << 16;

class Rank {
 public:
  Rank(int number, const ncclUniqueId& id) : number_(number) {
    CUcontext context = nullptr;
    must(DRIVER(cuInit)(0), "cuInit");
    must(DRIVER(cuDevicePrimaryCtxRetain)(&context, number), "context");
    must(DRIVER(cuCtxSetCurrent)(context), "context");
    must(DRIVER(cuModuleLoadData)(&module_, kPtx), "module");
    must(DRIVER(cuStreamCreate)(&stream_, 0), "stream");
    must(DRIVER(cuMemAlloc_v2)(&memory_, 4 * kBytes), "memory");
    must(DRIVER(cuMemAllocHost_v2)(&host_, kBytes), "memory");
    must(nccl<InitRank>("ncclCommInitRank")(&world_, 2, id, number), "init");
    for (const char* name : {"layer", "gradient", "optimizer", "metric"}) launch(name);
    reduce(1);
    wait();
  }

  void sharded(int step) {
    for (int batch = 0; batch < 2; ++batch) {
      input();
      for (int layer = 0; layer < kLayers; ++layer) gather(), launch("layer", 8);
      for (int layer = 0; layer < kLayers; ++layer) gather(), launch("gradient", 16), scatter();
    }
    launch("optimizer", 3);
    reduce(1);
    wait();
    mark_step(step);
  }

  void pipelined(int step) {
    input();
    for (int batch = 0; batch < kMicroBatches + 1; ++batch) {
      if (batch < kMicroBatches) forward();
      if (batch > 0) backward();
    }
    reduce(kBytes / sizeof(float));
    launch("optimizer", 3);
    wait();
    mark_step(step);
  }

  void evaluate() {
    for (int batch = 0; batch < 3; ++batch) {
      input();
      for (int layer = 0; layer < kLayers; ++layer) launch("layer", 8);
    }
    launch("metric");
    wait();
  }
  void save() { must(DRIVER(cuMemcpyDtoH_v2)(host_, memory_, kBytes), "copy"); }

  void decode(int tokens) {
    make_graph();
    for (int token = 0; token < tokens; ++token) {
      if (token % 13 == 0 || token % 31 == 0) {  // a prompt
        input();
        launch("layer", 5 + token % 17);
      }
      must(DRIVER(cuGraphLaunch)(graph_, stream_), "graph");
      must(DRIVER(cuMemcpyDtoHAsync_v2)(host_, memory_, 4, stream_), "copy");
      wait();
      mark_step(token);
    }
  }

 private:
  void launch(const char* name, int times = 1) {
    CUfunction function = nullptr;
    must(DRIVER(cuModuleGetFunction)(&function, module_, name), name);
    void* arguments[] = {&memory_};
    static auto* call = DRIVER(cuLaunchKernel);
    for (int i = 0; i < times; ++i) must(call(function, 32, 1, 1, 128, 1, 1, 0, stream_, arguments, nullptr), "launch");
  }
  void* data() const { return reinterpret_cast<void*>(memory_); }
  void input() { must(DRIVER(cuMemcpyHtoDAsync_v2)(memory_, host_, kBytes, stream_), "copy"); }
  void wait() { must(DRIVER(cuStreamSynchronize)(stream_), "synchronize"); }
  void gather() {
    must(nccl<Gather>("ncclAllGather")(data(), data(), kBytes / 8, ncclFloat32, world_, stream_), "gather");
  }
  void scatter() {
    must(nccl<Reduce>("ncclReduceScatter")(data(), data(), kBytes / 8, ncclFloat32, ncclSum, world_, stream_),
         "scatter");
  }
  void reduce(size_t count) {
    must(nccl<Reduce>("ncclAllReduce")(data(), data(), count, ncclFloat32, ncclSum, world_, stream_), "reduce");
  }
  void send() { must(nccl<Send>("ncclSend")(data(), kBytes / 8, ncclFloat32, 1 - number_, world_, stream_), "send"); }
  void receive() {
    must(nccl<Receive>("ncclRecv")(data(), kBytes / 8, ncclFloat32, 1 - number_, world_, stream_), "receive");
  }
  void forward() {
    if (number_ == 1) receive();
    for (int layer = 0; layer < kLayers; ++layer) launch("layer", 4);
    if (number_ == 0) send();
  }
  void backward() {
    if (number_ == 0) receive();
    for (int layer = 0; layer < kLayers; ++layer) launch("gradient", 8);
    if (number_ == 1) send();
  }
  void make_graph() {
    CUgraph graph = nullptr;
    must(DRIVER(cuStreamBeginCapture_v2)(stream_, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), "capture");
    launch("layer", 30);
    must(DRIVER(cuStreamEndCapture)(stream_, &graph), "capture");
    must(DRIVER(cuGraphInstantiateWithFlags)(&graph_, graph, 0), "instantiate");
  }

  int number_;
  CUmodule module_ = nullptr;
  CUstream stream_ = nullptr;
  CUgraphExec graph_ = nullptr;
  CUdeviceptr memory_ = 0;
  void* host_ = nullptr;
  ncclComm_t world_ = nullptr;
};

int run(int number, const ncclUniqueId& id, const char* shape, int steps) {
  Rank rank(number, id);
  if (strcmp(shape, "decode") == 0) rank.decode(steps);
  for (int step = 0; strcmp(shape, "decode") != 0 && step < steps; ++step) {
    if (strcmp(shape, "sharded") == 0)
      rank.sharded(step);
    else
      rank.pipelined(step);
    if (step % 7 == 6) rank.evaluate();
    if (step % 5 == 4) rank.save();
  }
  return 0;
}

ncclUniqueId id_of(const char* text) {
  ncclUniqueId id;
  for (size_t i = 0; i < sizeof id; ++i) {
    unsigned byte = 0;
    sscanf(text + 2 * i, "%2x", &byte);
    reinterpret_cast<unsigned char*>(&id)[i] = static_cast<unsigned char>(byte);
  }
  return id;
}

void start_rank(const char* number, const ncclUniqueId& id, char** argv) {
  char text[2 * sizeof id + 1];
  for (size_t i = 0; i < sizeof id; ++i)
    snprintf(text + 2 * i, 3, "%02x", reinterpret_cast<const unsigned char*>(&id)[i]);
  if (fork() != 0) return;
  setenv("RANK", number, 1);
  setenv("LOCAL_RANK", number, 1);
  setenv("WORLD_SIZE", "2", 1);
  setenv("MAKES_STEPS_ID", text, 1);
  execv("/proc/self/exe", argv);
  _exit(96);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3 || argc > 4) return 2;
  marks_steps = argc == 3;
  if (const char* id = getenv("MAKES_STEPS_ID")) {
    if (argc == 4) start_for(atoi(argv[3]));
    return run(atoi(getenv("RANK")), id_of(id), argv[1], atoi(argv[2]));
  }
  ncclUniqueId id;
  must(nccl<UniqueId>("ncclGetUniqueId")(&id), "id");
  start_rank("0", id, argv);
  start_rank("1", id, argv);
  int status = 0, worst = 0;
  while (wait(&status) > 0) worst = status != 0 ? status : worst;
  return worst == 0 ? 0 : 1;
}
