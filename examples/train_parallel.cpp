// A training job over several ranks, reduced to what the hosts do, in the pattern of Megatron: tensor parallel ranks gather
// and scatter around every layer, pipeline stages send activations to the next and gradients back, data parallel ranks
// reduce gradients; beside that loader threads with a bounded queue and a checkpoint thread.
#include "batch_queue.h"
#include "checkpoint.h"
#include "collectives.h"
#include "driver.h"
#include "launcher.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <numeric>

namespace {

constexpr char kPtx[] = R"(
.version 7.0
.target sm_50
.address_size 64
.visible .entry layer_op(.param .u64 values, .param .u32 count) { ret; }
.visible .entry optimizer(.param .u64 values, .param .u32 count) { ret; }
)";

struct Options {
  int ranks = 8, tensor = 2, pipeline = 2;
  int steps = 20, layers = 4, kernels = 20, micro_batches = 4;
  int activation_kb = 64, gradient_kb = 1024, buckets = 2;
  double kernel_us = 10, host_us = 0;
  int loader_threads = 1, queue = 4, elements = 4096;
  double load_us = 500;
  int checkpoint_every = 10;
  int graph = 0, verbose = 0;
  std::string nccl = "global", sync = "auto";
};

constexpr char kHelp[] =
    "Usage: train_parallel [--SWITCH VALUE]...\n"
    "\n"
    "Starts its own ranks, unless a launcher has set RANK and WORLD_SIZE (then all ranks need the same existing folder "
    "in\n"
    "TRAIN_PARALLEL_MEETING). Data parallel ranks are what --tensor and --pipeline leave over.\n"
    "\n"
    "  --ranks N             ranks (8)\n"
    "  --tensor N            tensor parallel ranks (2)\n"
    "  --pipeline N          pipeline stages (2)\n"
    "  --steps N             training steps (20)\n"
    "  --micro-batches N     micro-batches a step (4)\n"
    "  --layers N            layers of a stage (4)\n"
    "  --kernels N           small kernels a layer (20)\n"
    "  --kernel-us US        modelled duration of a small kernel on the simulated driver (10)\n"
    "  --host-us US          host work before each launch (0)\n"
    "  --activation-kb N     activations of a layer (64)\n"
    "  --gradient-kb N       gradients of a rank (1024)\n"
    "  --buckets N           all-reduces that they are cut into (2)\n"
    "  --graph 0|1           each layer as one CUDA graph with its collectives (0)\n"
    "  --loader-threads N    0: batches are made by the training thread (1)\n"
    "  --load-us US          time that a loader needs for a batch (500)\n"
    "  --queue N             batches that may wait (4)\n"
    "  --elements N          elements of a batch (4096)\n"
    "  --checkpoint-every N  steps; 0: never (10)\n"
    "  --sync HOW            how the host waits for the device: auto, spin, yield, block (auto)\n"
    "  --nccl global|local   how libnccl.so.2 is opened (global)\n"
    "  --verbose 0|1         print every step (0)\n"
    "\n"
    "Examples:\n"
    "  hostprobe run --simgpu 8 -- train_parallel\n"
    "  hostprobe run --simgpu 2 -- train_parallel --ranks 2 --pipeline 1 --graph 1\n"
    "  SIMNODE_FAULT='proxy_delay,rank=3,amount=200' hostprobe run --simgpu 8 -- train_parallel\n"
    "  SIMNODE_HOSTS=2 SIMNODE_LINK_GBPS=100,5 hostprobe run --simgpu 8 -- train_parallel --gradient-kb 16384\n";

[[noreturn]] void usage_error(const char* what, const char* value) {
  fprintf(stderr, "train_parallel: %s %s. See train_parallel --help.\n", what, value);
  exit(2);
}

double number(const char* name, const char* text, double low, double high) {
  char* end;
  double value = strtod(text, &end);
  if (end == text || *end != '\0' || !(value >= low && value <= high)) usage_error(name, "needs a number in its range");
  return value;
}

unsigned context_flags(const std::string& sync) {
  if (sync == "auto") return CU_CTX_SCHED_AUTO;
  if (sync == "spin") return CU_CTX_SCHED_SPIN;
  if (sync == "yield") return CU_CTX_SCHED_YIELD;
  if (sync == "block") return CU_CTX_SCHED_BLOCKING_SYNC;
  usage_error("--sync must be auto, spin, yield or block, not", sync.c_str());
}

struct WholeSwitch {
  const char* name;
  int Options::*member;
  int low, high;
};
constexpr WholeSwitch kWholeSwitches[] = {
    {"--ranks", &Options::ranks, 1, 1024},
    {"--tensor", &Options::tensor, 1, 1024},
    {"--pipeline", &Options::pipeline, 1, 1024},
    {"--steps", &Options::steps, 1, 100000000},
    {"--micro-batches", &Options::micro_batches, 1, 100000},
    {"--layers", &Options::layers, 1, 100000},
    {"--kernels", &Options::kernels, 0, 10000000},
    {"--activation-kb", &Options::activation_kb, 1, 1 << 20},
    {"--gradient-kb", &Options::gradient_kb, 1, 1 << 22},
    {"--buckets", &Options::buckets, 1, 1000},
    {"--graph", &Options::graph, 0, 1},
    {"--loader-threads", &Options::loader_threads, 0, 1000},
    {"--queue", &Options::queue, 1, 100000},
    {"--elements", &Options::elements, 1, 100000000},
    {"--checkpoint-every", &Options::checkpoint_every, 0, 100000000},
    {"--verbose", &Options::verbose, 0, 1},
};

void set_switch(Options& options, const char* name, const char* value) {
  for (const WholeSwitch& one : kWholeSwitches)
    if (strcmp(one.name, name) == 0) {
      options.*one.member = static_cast<int>(number(name, value, one.low, one.high));
      return;
    }
  if (strcmp(name, "--kernel-us") == 0)
    options.kernel_us = number(name, value, 0, 1e8);
  else if (strcmp(name, "--host-us") == 0)
    options.host_us = number(name, value, 0, 1e8);
  else if (strcmp(name, "--load-us") == 0)
    options.load_us = number(name, value, 0, 1e8);
  else if (strcmp(name, "--nccl") == 0)
    options.nccl = value;
  else if (strcmp(name, "--sync") == 0)
    options.sync = value;
  else
    usage_error("unknown switch", name);
}

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; i += 2) {
    if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
      fputs(kHelp, stdout);
      exit(0);
    }
    if (i + 1 == argc) usage_error("no value for", argv[i]);
    set_switch(options, argv[i], argv[i + 1]);
  }
  context_flags(options.sync);
  if (options.nccl != "global" && options.nccl != "local")
    usage_error("--nccl must be global or local, not", options.nccl.c_str());
  return options;
}

// Where a rank stands: tensor parallel ranks are neighbours, pipeline stages are farthest apart.
struct Place {
  int rank, ranks;
  int tensor, data, stage;
  int tensor_ranks, data_ranks, stages;

  Place(int own, int all, const Options& options)
      : rank(own), ranks(all), tensor_ranks(options.tensor), stages(options.pipeline) {
    if (all % (tensor_ranks * stages) != 0)
      usage_error("the number of ranks must be a multiple of --tensor times --pipeline:", std::to_string(all).c_str());
    data_ranks = all / (tensor_ranks * stages);
    tensor = rank % tensor_ranks;
    data = rank / tensor_ranks % data_ranks;
    stage = rank / (tensor_ranks * data_ranks);
  }
  bool first() const { return stage == 0; }
  bool last() const { return stage == stages - 1; }
};

void work_on_host(double us) {
  if (us <= 0) return;
  auto until = std::chrono::steady_clock::now() + std::chrono::duration<double, std::micro>(us);
  while (std::chrono::steady_clock::now() < until) continue;
}

// Rank 0 writes the id into the folder that the launcher made; a rename, so that nobody reads half of it.
ncclUniqueId meet(const Collectives& nccl, int rank) {
  const char* folder = getenv("TRAIN_PARALLEL_MEETING");
  if (folder == nullptr)
    usage_error("RANK is set, so set TRAIN_PARALLEL_MEETING too: an empty folder all ranks see,", "please");
  std::string path = std::string(folder) + "/id", draft = path + ".new";
  ncclUniqueId id;
  if (rank == 0) {
    nccl.check(nccl.unique_id(&id), "ncclGetUniqueId");
    FILE* file = fopen(draft.c_str(), "wb");
    bool good = file != nullptr && fwrite(&id, sizeof id, 1, file) == 1 && fclose(file) == 0;
    if (good && rename(draft.c_str(), path.c_str()) == 0) return id;
    fprintf(stderr, "train_parallel: cannot write %s: %s. The ranks need it to find each other.\n", path.c_str(),
            strerror(errno));
    exit(1);
  }
  FILE* file;
  while ((file = fopen(path.c_str(), "rb")) == nullptr) usleep(1000);
  bool good = fread(&id, sizeof id, 1, file) == 1;
  fclose(file);
  if (!good) usage_error("no unique id in", path.c_str());
  return id;
}

class Trainer {
 public:
  Trainer(const Options& options, const Place& place)
      : options_(options),
        place_(place),
        nccl_(options.nccl == "local"),
        activation_bytes_(round_up(static_cast<size_t>(options.activation_kb) << 10, place.tensor_ranks)),
        gradient_count_((static_cast<size_t>(options.gradient_kb) << 10) / sizeof(float)),
        batch_bytes_(sizeof(uint32_t) * static_cast<size_t>(options.elements)) {
    open_device();
    open_communicators();
    allocate();
    if (options.checkpoint_every > 0 && place.data == 0)
      checkpoint_ = std::make_unique<Checkpoint>("/tmp/train_parallel." + std::to_string(getpid()) + ".checkpoint");
  }

  void step(int number, const Batch& batch) {
    memcpy(staging_, batch.data(), batch_bytes_);
    DRIVER_CALL(driver_, cuMemcpyHtoDAsync, batch_, staging_, batch_bytes_, compute_);
    for (int i = 0; i < options_.micro_batches; ++i) forward();
    for (int i = 0; i < options_.micro_batches; ++i) backward();
    reduce_gradients();
    launch(optimizer_, gradients_);
    check(nccl_.all_reduce(pointer(loss_), pointer(loss_) + 1, 1, ncclFloat32, ncclSum, world_, compute_),
          "ncclAllReduce");
    DRIVER_CALL(driver_, cuStreamSynchronize, compute_);
    if (checkpoint_ != nullptr && (number + 1) % options_.checkpoint_every == 0) save();
  }

  // Every element of the reduced gradients is the sum of what the data parallel ranks put in.
  bool right() const {
    std::vector<float> values(gradient_count_);
    DRIVER_CALL(driver_, cuMemcpyDtoH, values.data(), reduced_, gradient_count_ * sizeof(float));
    float expected = 0;
    for (int i = 0; i < place_.data_ranks; ++i) expected += static_cast<float>(i + 1);
    float loss = 0;
    DRIVER_CALL(driver_, cuMemcpyDtoH, &loss, loss_ + sizeof(float), sizeof loss);
    bool gradients = std::all_of(values.begin(), values.end(), [&](float value) { return value == expected; });
    return gradients && loss == static_cast<float>(place_.ranks);
  }

  int checkpoints() { return checkpoint_ == nullptr ? 0 : checkpoint_->written(); }

  void close() {
    for (ncclComm_t communicator : {tensor_, data_, pipeline_, world_})
      check(nccl_.destroy(communicator), "ncclCommDestroy");
  }

 private:
  static size_t round_up(size_t bytes, int ranks) {
    size_t unit = sizeof(float) * static_cast<size_t>(ranks);
    return (bytes + unit - 1) / unit * unit;
  }
  static float* pointer(CUdeviceptr address) { return reinterpret_cast<float*>(address); }
  void check(ncclResult_t result, const char* call) const { nccl_.check(result, call); }

  void open_device() {
    int devices = 0;
    CUdevice device;
    CUcontext context;
    const char* local = getenv("LOCAL_RANK");
    DRIVER_CALL(driver_, cuInit, 0);
    DRIVER_CALL(driver_, cuDeviceGetCount, &devices);
    DRIVER_CALL(driver_, cuDeviceGet, &device, (local != nullptr ? atoi(local) : place_.rank) % devices);
    DRIVER_CALL(driver_, cuDevicePrimaryCtxSetFlags, device, context_flags(options_.sync));
    DRIVER_CALL(driver_, cuDevicePrimaryCtxRetain, &context, device);
    DRIVER_CALL(driver_, cuCtxSetCurrent, context);
    DRIVER_CALL(driver_, cuModuleLoadData, &module_, kPtx);
    DRIVER_CALL(driver_, cuModuleGetFunction, &layer_op_, module_, "layer_op");
    DRIVER_CALL(driver_, cuModuleGetFunction, &optimizer_, module_, "optimizer");
    DRIVER_CALL(driver_, cuStreamCreate, &compute_, CU_STREAM_NON_BLOCKING);
    DRIVER_CALL(driver_, cuStreamCreate, &reduction_, CU_STREAM_NON_BLOCKING);
    DRIVER_CALL(driver_, cuEventCreate, &ready_, CU_EVENT_DISABLE_TIMING);
    DRIVER_CALL(driver_, cuEventCreate, &reduced_event_, CU_EVENT_DISABLE_TIMING);
  }

  // As Megatron: each rank is in a tensor, a data and a pipeline parallel group.
  void open_communicators() {
    ncclUniqueId id = meet(nccl_, place_.rank);
    check(nccl_.init_rank(&world_, place_.ranks, id, place_.rank), "ncclCommInitRank");
    int tensor_group = place_.rank / place_.tensor_ranks;
    int data_group = place_.stage * place_.tensor_ranks + place_.tensor;
    int pipeline_group = place_.rank % (place_.tensor_ranks * place_.data_ranks);
    check(nccl_.split(world_, tensor_group, place_.rank, &tensor_, nullptr), "ncclCommSplit");
    check(nccl_.split(world_, data_group, place_.rank, &data_, nullptr), "ncclCommSplit");
    check(nccl_.split(world_, pipeline_group, place_.rank, &pipeline_, nullptr), "ncclCommSplit");
  }

  void allocate() {
    DRIVER_CALL(driver_, cuMemAlloc, &activations_, activation_bytes_);
    DRIVER_CALL(driver_, cuMemAlloc, &shard_, activation_bytes_);
    DRIVER_CALL(driver_, cuMemAlloc, &gradients_, gradient_count_ * sizeof(float));
    DRIVER_CALL(driver_, cuMemAlloc, &reduced_, gradient_count_ * sizeof(float));
    DRIVER_CALL(driver_, cuMemAlloc, &batch_, batch_bytes_);
    DRIVER_CALL(driver_, cuMemAlloc, &loss_, 2 * sizeof(float));
    DRIVER_CALL(driver_, cuMemAllocHost, reinterpret_cast<void**>(&staging_), batch_bytes_);
    fill(activations_, 0, activation_bytes_ / sizeof(float));
    fill(gradients_, static_cast<float>(place_.data + 1), gradient_count_);
    fill(loss_, 1, 2);
  }

  void fill(CUdeviceptr to, float value, size_t count) {
    unsigned bits;
    memcpy(&bits, &value, sizeof bits);
    DRIVER_CALL(driver_, cuMemsetD32, to, bits, count);
  }

  void launch(CUfunction function, CUdeviceptr values) {
    auto count = static_cast<uint32_t>(activation_bytes_ / sizeof(float));
    void* arguments[] = {&values, &count};
    driver_.check(launch_kernel_(function, 32, 1, 1, 128, 1, 1, 0, compute_, arguments, nullptr), "cuLaunchKernel");
  }

  size_t shard_count() const { return activation_bytes_ / sizeof(float) / static_cast<size_t>(place_.tensor_ranks); }

  void enqueue_layer() {
    check(nccl_.all_gather(pointer(shard_), pointer(activations_), shard_count(), ncclFloat32, tensor_, compute_),
          "ncclAllGather");
    for (int i = 0; i < options_.kernels; ++i) {
      work_on_host(options_.host_us);
      launch(layer_op_, activations_);
    }
    check(nccl_.reduce_scatter(pointer(activations_), pointer(shard_), shard_count(), ncclFloat32, ncclSum, tensor_,
                               compute_),
          "ncclReduceScatter");
  }

  // With --graph the first layer runs as it is, which connects the ranks; from then on a graph of it is launched.
  void run_layer() {
    if (options_.graph == 0 || !layer_ran_) {
      enqueue_layer();
      layer_ran_ = true;
      return;
    }
    if (layer_graph_ == nullptr) {
      CUgraph graph;
      DRIVER_CALL(driver_, cuStreamBeginCapture, compute_, CU_STREAM_CAPTURE_MODE_RELAXED);
      enqueue_layer();
      DRIVER_CALL(driver_, cuStreamEndCapture, compute_, &graph);
      DRIVER_CALL(driver_, cuGraphInstantiateWithFlags, &layer_graph_, graph, 0);
    }
    work_on_host(options_.host_us);
    DRIVER_CALL(driver_, cuGraphLaunch, layer_graph_, compute_);
  }

  void send_to(int stage) {
    check(nccl_.send(pointer(activations_), activation_bytes_ / sizeof(float), ncclFloat32, stage, pipeline_, compute_),
          "ncclSend");
  }
  void receive_from(int stage) {
    check(nccl_.recv(pointer(activations_), activation_bytes_ / sizeof(float), ncclFloat32, stage, pipeline_, compute_),
          "ncclRecv");
  }

  void forward() {
    if (!place_.first()) receive_from(place_.stage - 1);
    for (int i = 0; i < options_.layers; ++i) run_layer();
    if (!place_.last()) send_to(place_.stage + 1);
  }

  void backward() {
    if (!place_.last()) receive_from(place_.stage + 1);
    for (int i = 0; i < 2 * options_.layers; ++i) run_layer();
    if (!place_.first()) send_to(place_.stage - 1);
  }

  // On a stream of its own, as frameworks do, so that buckets overlap with what else there is to compute.
  void reduce_gradients() {
    DRIVER_CALL(driver_, cuEventRecord, ready_, compute_);
    DRIVER_CALL(driver_, cuStreamWaitEvent, reduction_, ready_, 0);
    auto buckets = static_cast<size_t>(options_.buckets);
    for (size_t i = 0; i < buckets; ++i) {
      size_t first = gradient_count_ * i / buckets, last = gradient_count_ * (i + 1) / buckets;
      check(nccl_.all_reduce(pointer(gradients_) + first, pointer(reduced_) + first, last - first, ncclFloat32, ncclSum,
                             data_, reduction_),
            "ncclAllReduce");
    }
    DRIVER_CALL(driver_, cuEventRecord, reduced_event_, reduction_);
    DRIVER_CALL(driver_, cuStreamWaitEvent, compute_, reduced_event_, 0);
  }

  void save() {
    std::vector<float> values(gradient_count_);
    DRIVER_CALL(driver_, cuMemcpyDtoH, values.data(), reduced_, gradient_count_ * sizeof(float));
    checkpoint_->write(values.data(), values.size());
  }

  Driver driver_;
  decltype(&cuLaunchKernel) launch_kernel_ = driver_.find<decltype(&cuLaunchKernel)>("cuLaunchKernel");
  Options options_;
  Place place_;
  Collectives nccl_;
  size_t activation_bytes_, gradient_count_, batch_bytes_;
  CUmodule module_ = nullptr;
  CUfunction layer_op_ = nullptr, optimizer_ = nullptr;
  CUstream compute_ = nullptr, reduction_ = nullptr;
  CUevent ready_ = nullptr, reduced_event_ = nullptr;
  CUgraphExec layer_graph_ = nullptr;
  bool layer_ran_ = false;
  CUdeviceptr activations_ = 0, shard_ = 0, gradients_ = 0, reduced_ = 0, batch_ = 0, loss_ = 0;
  uint32_t* staging_ = nullptr;
  ncclComm_t world_ = nullptr, tensor_ = nullptr, data_ = nullptr, pipeline_ = nullptr;
  std::unique_ptr<Checkpoint> checkpoint_;
};

// The first tenth is left out of the mean: warm-up.
void print_times(std::vector<double> ms) {
  const auto warm = ms.begin() + static_cast<ptrdiff_t>(ms.size() / 10);
  const double mean = std::accumulate(warm, ms.end(), 0.0) / static_cast<double>(ms.end() - warm);
  std::sort(ms.begin(), ms.end());
  size_t last = ms.size() - 1;
  printf("step ms: count %zu median %.3f p99 %.3f max %.3f mean %.3f\n", ms.size(), ms[last / 2], ms[last * 99 / 100],
         ms[last], mean);
}

int train(const Options& options, const Place& place) {
  Trainer trainer(options, place);
  bool speaks = place.rank == 0;
  if (speaks)
    printf("train_parallel: %d steps on %d ranks: tensor %d, pipeline %d, data %d\n", options.steps, place.ranks,
           place.tensor_ranks, place.stages, place.data_ranks);
  BatchQueue batches(static_cast<size_t>(options.queue), static_cast<size_t>(options.elements), options.loader_threads,
                     options.steps, options.load_us);
  std::vector<double> ms;
  for (int step = 0; step < options.steps; ++step) {
    auto begin = std::chrono::steady_clock::now();
    trainer.step(step, batches.take(step));
    ms.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count());
    if (speaks && options.verbose != 0) printf("step %d: %.3f ms\n", step, ms.back());
  }
  bool right = trainer.right();
  if (speaks) {
    print_times(std::move(ms));
    printf("gradients %s, checkpoints %d\n", right ? "right" : "WRONG", trainer.checkpoints());
  }
  trainer.close();
  return right ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Options options = parse(argc, argv);
  // The simulated driver reads this in cuInit; a real driver does not look at it.
  setenv("SIMNODE_KERNEL_US", ("layer_op=" + std::to_string(options.kernel_us)).c_str(), 0);
  const char* rank = getenv("RANK");
  const char* ranks = getenv("WORLD_SIZE");
  if (rank != nullptr && ranks != nullptr) return train(options, Place(atoi(rank), atoi(ranks), options));
  Place(0, options.ranks, options);  // says now, once, what no rank could do
  return Launcher(options.ranks, argv).run();
}
