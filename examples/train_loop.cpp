// A training loop reduced to what the host does: per step it takes a batch from loader threads, copies it to the device,
// launches many small kernels, updates weights, copies a result back, and synchronises. Uses the driver API only.
#include "batch_queue.h"
#include "driver.h"
#include "hostprobe/simnode.h"
#include "worker_thread.h"

#include <algorithm>
#include <cinttypes>
#include <cstring>
#include <functional>
#include <numeric>
#include <optional>
#include <string>

namespace {

// `update` computes, so that the result can be checked; `small_op` stands for the many kernels of a model.
constexpr char kPtx[] = R"(
.version 7.0
.target sm_50
.address_size 64

.visible .entry small_op(.param .u64 values, .param .u32 count)
{
  ret;
}

.visible .entry update(.param .u64 weights, .param .u64 batch, .param .u32 rate, .param .u32 count)
{
  .reg .pred %p<2>;
  .reg .b32 %r<10>;
  .reg .b64 %rd<8>;
  ld.param.u64 %rd1, [weights];
  ld.param.u64 %rd2, [batch];
  ld.param.u32 %r1, [rate];
  ld.param.u32 %r2, [count];
  mov.u32 %r3, %ctaid.x;
  mov.u32 %r4, %ntid.x;
  mov.u32 %r5, %tid.x;
  mad.lo.u32 %r6, %r3, %r4, %r5;
  setp.ge.u32 %p1, %r6, %r2;
  @%p1 bra done;
  cvta.to.global.u64 %rd3, %rd1;
  cvta.to.global.u64 %rd4, %rd2;
  mul.wide.u32 %rd5, %r6, 4;
  add.u64 %rd6, %rd3, %rd5;
  add.u64 %rd7, %rd4, %rd5;
  ld.global.u32 %r7, [%rd6];
  ld.global.u32 %r8, [%rd7];
  mad.lo.u32 %r9, %r7, %r1, %r8;
  st.global.u32 [%rd6], %r9;
done:
  ret;
}
)";

constexpr uint32_t kRate = 1664525;
constexpr unsigned kBlock = 128;

struct Options {
  int steps = 50;
  int kernels = 200;
  int threads = 1;
  int queue = 4;
  int elements = 1024;
  int sync_every = 0, alloc_every = 0, load_every = 0, pageable_kb = 0, pinned_kb = 0;
  int graph = 0, vary = 0, helper = 0;
  double kernel_us = 10;
  bool kernel_us_given = false;
  double host_us = 0;
  double load_us = 200;
  double callback_us = 0;
  std::string sync = "auto";
};

constexpr char kHelp[] =
    "Usage: train_loop [--SWITCH VALUE]...\n"
    "\n"
    "  --steps N       training steps (50)\n"
    "  --kernels N     small kernels a step (200)\n"
    "  --kernel-us US  modelled duration of a small kernel on the simulated driver (10)\n"
    "  --host-us US    host work before each launch (0)\n"
    "  --helper 0|1    another thread does that work, and the training thread waits for it (0)\n"
    "  --callback-us US a function of the host that the stream waits for in each step (0)\n"
    "  --threads N     loader threads; 0: batches are made by the training thread (1)\n"
    "  --load-us US    time that a loader needs for a batch (200)\n"
    "  --queue N       batches that may wait (4)\n"
    "  --elements N    elements of a batch (1024)\n"
    "  --sync-every N  kernels, then the host waits for the device; 0: at the end of a step only (0)\n"
    "  --alloc-every N kernels, then device memory is allocated and freed; 0: never (0)\n"
    "  --load-every N  steps, then a module is loaded; 0: never (0)\n"
    "  --pageable-kb N copied to the device in each step from memory that is not pinned (0)\n"
    "  --pinned-kb N   the same from memory that is (0)\n"
    "  --graph N       kernels in a CUDA graph, which is launched in place of them; 0: none (0)\n"
    "  --vary 0|1      a step has a quarter to twice the kernels, as when text is generated (0)\n"
    "  --sync HOW      how the host waits for the device: auto, spin, yield, block (auto)\n"
    "\n"
    "Examples:\n"
    "  hostprobe run --simgpu 1 -- train_loop                                  bound by the device\n"
    "  hostprobe run --simgpu 1 -- train_loop --kernel-us 1 --host-us 5        bound by launches\n"
    "  hostprobe run --simgpu 1 -- train_loop --load-us 20000                  waits for the data loader\n"
    "  hostprobe run --simgpu 1 -- train_loop --sync-every 2                   synchronises too often\n"
    "  SIMNODE_KERNEL_US='update=500;*=3' hostprobe run --simgpu 1 -- train_loop\n";

[[noreturn]] void usage_error(const char* what, const char* value) {
  fprintf(stderr, "train_loop: %s %s. See train_loop --help.\n", what, value);
  exit(2);
}

double number(const char* name, const char* text, double low, double high) {
  char* end;
  double value = strtod(text, &end);
  if (end == text || *end != '\0' || !(value >= low && value <= high)) usage_error(name, "needs a number in its range");
  return value;
}

struct WholeSwitch {
  const char* name;
  int Options::*member;
  int low;
};
constexpr WholeSwitch kWholeSwitches[] = {
    {"--steps", &Options::steps, 1},
    {"--kernels", &Options::kernels, 0},
    {"--threads", &Options::threads, 0},
    {"--queue", &Options::queue, 1},
    {"--elements", &Options::elements, 1},
    {"--sync-every", &Options::sync_every, 0},
    {"--alloc-every", &Options::alloc_every, 0},
    {"--load-every", &Options::load_every, 0},
    {"--pageable-kb", &Options::pageable_kb, 0},
    {"--pinned-kb", &Options::pinned_kb, 0},
    {"--graph", &Options::graph, 0},
    {"--vary", &Options::vary, 0},
    {"--helper", &Options::helper, 0},
};

bool set_whole(Options& options, const std::string& name, const char* value) {
  for (const WholeSwitch& one : kWholeSwitches) {
    if (name != one.name) continue;
    options.*one.member = static_cast<int>(number(one.name, value, one.low, 1e8));
    return true;
  }
  return false;
}

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; i += 2) {
    std::string name = argv[i];
    if (name == "--help" || name == "-h") {
      fputs(kHelp, stdout);
      exit(0);
    }
    if (i + 1 == argc) usage_error("no value for", argv[i]);
    const char* value = argv[i + 1];
    auto us = [&] { return number(argv[i], value, 0, 1e8); };
    if (set_whole(options, name, value)) continue;
    if (name == "--kernel-us")
      options.kernel_us = us(), options.kernel_us_given = true;
    else if (name == "--host-us")
      options.host_us = us();
    else if (name == "--load-us")
      options.load_us = us();
    else if (name == "--callback-us")
      options.callback_us = us();
    else if (name == "--sync")
      options.sync = value;
    else
      usage_error("unknown switch", argv[i]);
  }
  return options;
}

unsigned context_flags(const std::string& sync) {
  if (sync == "auto") return CU_CTX_SCHED_AUTO;
  if (sync == "spin") return CU_CTX_SCHED_SPIN;
  if (sync == "yield") return CU_CTX_SCHED_YIELD;
  if (sync == "block") return CU_CTX_SCHED_BLOCKING_SYNC;
  usage_error("--sync must be auto, spin, yield or block, not", sync.c_str());
}

// What the kernel `update` does, for the simulated driver.
int update_on_host(const simnode_launch* launch, void*) {
  auto* weights = *static_cast<uint32_t**>(launch->parameters[0]);
  auto* batch = *static_cast<uint32_t**>(launch->parameters[1]);
  uint32_t rate = *static_cast<uint32_t*>(launch->parameters[2]);
  uint32_t count = *static_cast<uint32_t*>(launch->parameters[3]);
  for (uint32_t i = 0; i < count; ++i) weights[i] = weights[i] * rate + batch[i];
  return 0;
}

void work_on_host(double us) {
  if (us <= 0) return;
  auto until = std::chrono::steady_clock::now() + std::chrono::duration<double, std::micro>(us);
  while (std::chrono::steady_clock::now() < until) continue;
}

class Trainer {
 public:
  explicit Trainer(const Options& options)
      : options_(options), bytes_(sizeof(uint32_t) * static_cast<size_t>(options.elements)) {
    CUdevice device;
    DRIVER_CALL(driver_, cuInit, 0);
    DRIVER_CALL(driver_, cuDeviceGet, &device, 0);
    DRIVER_CALL(driver_, cuDeviceGetName, name_, sizeof name_, device);
    DRIVER_CALL(driver_, cuDevicePrimaryCtxSetFlags, device, context_flags(options.sync));
    DRIVER_CALL(driver_, cuDevicePrimaryCtxRetain, &context_, device);
    DRIVER_CALL(driver_, cuCtxSetCurrent, context_);
    DRIVER_CALL(driver_, cuModuleLoadData, &module_, kPtx);
    DRIVER_CALL(driver_, cuModuleGetFunction, &small_op_, module_, "small_op");
    DRIVER_CALL(driver_, cuModuleGetFunction, &update_, module_, "update");
    DRIVER_CALL(driver_, cuStreamCreate, &stream_, CU_STREAM_NON_BLOCKING);
    DRIVER_CALL(driver_, cuMemAlloc, &weights_, bytes_);
    DRIVER_CALL(driver_, cuMemAlloc, &batch_, bytes_);
    DRIVER_CALL(driver_, cuMemsetD32, weights_, 1, static_cast<size_t>(options.elements));
    DRIVER_CALL(driver_, cuMemAllocHost, reinterpret_cast<void**>(&staging_), bytes_);
    make_data();
    if (options.helper > 0) helper_.emplace([this] { work_on_host(options_.host_us); });
    if (options.graph > 0) capture();
    DRIVER_CALL(driver_, cuCtxSynchronize);
  }

  const char* device_name() const { return name_; }

  void step(const Batch& batch) {
    memcpy(staging_, batch.data(), bytes_);
    DRIVER_CALL(driver_, cuMemcpyHtoDAsync, batch_, staging_, bytes_, stream_);
    if (data_bytes_ > 0) DRIVER_CALL(driver_, cuMemcpyHtoDAsync, copied_, data_, data_bytes_, stream_);
    if (options_.load_every > 0 && ++steps_ % options_.load_every == 0) load_module();
    if (options_.callback_us > 0) DRIVER_CALL(driver_, cuLaunchHostFunc, stream_, call_back, &options_.callback_us);
    run_kernels(options_.vary == 0 ? options_.kernels : varied(options_.kernels));
    auto count = static_cast<uint32_t>(options_.elements);
    uint32_t rate = kRate;
    void* update_arguments[] = {&weights_, &batch_, &rate, &count};
    launch(update_, (count + kBlock - 1) / kBlock, update_arguments);
    DRIVER_CALL(driver_, cuMemcpyDtoHAsync, staging_, weights_, bytes_, stream_);
    DRIVER_CALL(driver_, cuStreamSynchronize, stream_);
  }

  uint64_t checksum() const { return sum(staging_); }

  // FNV-1a over the weights.
  uint64_t sum(const uint32_t* values) const {
    uint64_t sum = 14695981039346656037u;
    for (int i = 0; i < options_.elements; ++i) sum = (sum ^ values[i]) * 1099511628211u;
    return sum;
  }

 private:
  // What is copied in each step, besides the batch.
  void make_data() {
    const bool pinned = options_.pinned_kb > 0;
    data_bytes_ = static_cast<size_t>(pinned ? options_.pinned_kb : options_.pageable_kb) << 10;
    if (data_bytes_ == 0) return;
    DRIVER_CALL(driver_, cuMemAlloc, &copied_, data_bytes_);
    if (pinned)
      DRIVER_CALL(driver_, cuMemAllocHost, &data_, data_bytes_);
    else
      data_ = malloc(data_bytes_);
    memset(data_, 1, data_bytes_);
  }

  static void CUDA_CB call_back(void* us) { work_on_host(*static_cast<double*>(us)); }

  static bool is_due(int number, int every) { return every > 0 && number % every == 0; }

  void run_kernels(int kernels) {
    const int each = options_.graph > 0 ? options_.graph : 1;
    for (int i = each; i <= kernels; i += each) {
      helper_ ? helper_->run() : work_on_host(options_.host_us);
      if (options_.graph > 0)
        DRIVER_CALL(driver_, cuGraphLaunch, graph_, stream_);
      else
        launch_small();
      if (is_due(i, options_.sync_every)) DRIVER_CALL(driver_, cuStreamSynchronize, stream_);
      if (is_due(i, options_.alloc_every)) allocate();
    }
  }

  // The same sequence in every run.
  int varied(int kernels) {
    random_ = random_ * 6364136223846793005u + 1442695040888963407u;
    return kernels / 4 + static_cast<int>((random_ >> 33) % static_cast<uint64_t>(2 * kernels - kernels / 4 + 1));
  }

  void launch_small() {
    auto count = static_cast<uint32_t>(options_.elements);
    void* arguments[] = {&batch_, &count};
    launch(small_op_, 1, arguments);
  }

  void capture() {
    CUgraph graph;
    DRIVER_CALL(driver_, cuStreamBeginCapture, stream_, CU_STREAM_CAPTURE_MODE_RELAXED);
    for (int i = 0; i < options_.graph; ++i) launch_small();
    DRIVER_CALL(driver_, cuStreamEndCapture, stream_, &graph);
    DRIVER_CALL(driver_, cuGraphInstantiateWithFlags, &graph_, graph, 0);
  }

  void allocate() {
    CUdeviceptr memory;
    DRIVER_CALL(driver_, cuMemAlloc, &memory, bytes_);
    DRIVER_CALL(driver_, cuMemFree, memory);
  }

  void load_module() {
    CUmodule module;
    DRIVER_CALL(driver_, cuModuleLoadData, &module, kPtx);
    DRIVER_CALL(driver_, cuModuleUnload, module);
  }

  void launch(CUfunction function, unsigned grid, void** arguments) {
    driver_.check(launch_kernel_(function, grid, 1, 1, kBlock, 1, 1, 0, stream_, arguments, nullptr), "cuLaunchKernel");
  }

  Driver driver_;
  decltype(&cuLaunchKernel) launch_kernel_ = driver_.find<decltype(&cuLaunchKernel)>("cuLaunchKernel");
  Options options_;
  size_t bytes_;
  char name_[100];
  CUcontext context_;
  CUmodule module_;
  CUfunction small_op_, update_;
  CUstream stream_;
  CUdeviceptr weights_, batch_;
  uint32_t* staging_;
  CUdeviceptr copied_ = 0;
  void* data_ = nullptr;
  size_t data_bytes_ = 0;
  CUgraphExec graph_ = nullptr;
  uint64_t random_ = 1;
  int steps_ = 0;
  std::optional<WorkerThread<std::function<void()>>> helper_;
};

uint64_t expected_checksum(const Options& options, const BatchQueue& batches, const Trainer& trainer) {
  std::vector<uint32_t> weights(static_cast<size_t>(options.elements), 1);
  for (int step = 0; step < options.steps; ++step) {
    Batch batch = batches.make(step);
    for (size_t i = 0; i < weights.size(); ++i) weights[i] = weights[i] * kRate + batch[i];
  }
  return trainer.sum(weights.data());
}

// The first tenth is left out of the mean: warm-up.
void print_times(std::vector<double> ms) {
  const auto warm = ms.begin() + static_cast<ptrdiff_t>(ms.size() / 10);
  const double mean = std::accumulate(warm, ms.end(), 0.0) / static_cast<double>(ms.end() - warm);
  std::sort(ms.begin(), ms.end());
  size_t last = ms.size() - 1;
  printf("step ms: count %zu median %.3f p99 %.3f max %.3f mean %.3f\n", ms.size(), ms[last / 2], ms[last * 99 / 100],
         ms[last], mean);
}

}  // namespace

int main(int argc, char** argv) {
  Options options = parse(argc, argv);
  // The simulated driver reads this in cuInit; a real driver does not look at it.
  std::string durations = "small_op=" + std::to_string(options.kernel_us);
  setenv("SIMNODE_KERNEL_US", durations.c_str(), options.kernel_us_given ? 1 : 0);
  Trainer trainer(options);
  bool computes = simnode_register("update", update_on_host, nullptr) != 0;
  printf("train_loop: %d steps of %d kernels on %s\n", options.steps, options.kernels, trainer.device_name());

  std::vector<double> ms;
  BatchQueue batches(static_cast<size_t>(options.queue), static_cast<size_t>(options.elements), options.threads,
                     options.steps, options.load_us);
  for (int step = 0; step < options.steps; ++step) {
    auto begin = std::chrono::steady_clock::now();
    trainer.step(batches.take(step));
    ms.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count());
  }
  print_times(std::move(ms));
  BatchQueue reference(1, static_cast<size_t>(options.elements), 0, options.steps, 0);
  bool right = trainer.checksum() == expected_checksum(options, reference, trainer);
  printf("checksum %016" PRIx64 " %s (computed by %s)\n", trainer.checksum(), right ? "right" : "WRONG",
         computes ? "a registered host function" : "the device");
  return right ? 0 : 1;
}
