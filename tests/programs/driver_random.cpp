// driver_random: random programs of the driver API. `driver_random FIRST COUNT`: one program for each number, whose line says what
// ran in each stream, in order, and what is in memory at its end: the same whatever the speed of anything. Every second one has
// several threads, which share a stream in turns. BATCHED: waits until launches are batched.
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "driver_random.h"

namespace {

// One thread of one program. Its streams are its own.
struct Worker {
  Random random;
  std::vector<Stream> streams;
  std::uint64_t answers = 0;  // of calls whose answer does not depend on time
  bool is_alone;              // so the legacy stream is its own, too

  void note(CUresult result) { answers = hashed(answers, static_cast<std::uint64_t>(result)); }
};

// ---- launches: the arguments are overwritten at once ------------------------------------------------------------------------

struct MixArguments {
  CUdeviceptr memory;
  unsigned log;
  std::uint64_t value;
  unsigned char small;
  Triple triple;
  void* pointers[5] = {&memory, &log, &value, &small, &triple};

  MixArguments(Random& random, const Stream& stream)
      : memory(stream.memory),
        log(stream.log),
        value(random.next()),
        small(static_cast<unsigned char>(random.next())),
        triple{{random.next(), random.next(), random.next()}} {}
  MixArguments(const MixArguments&) = delete;
  ~MixArguments() { memset(static_cast<void*>(this), 0xee, sizeof *this); }
};

void launch_mix(Worker& w, const Stream& s) {
  MixArguments arguments(w.random, s);
  w.note(cuLaunchKernel(s.context->mix, 1 + w.random.below(9), 1, 1, 32, 1, 1, w.random.below(3) * 16, s.handle,
                        arguments.pointers, nullptr));
}

void launch_many(Worker& w, const Stream& s) {
  for (unsigned i = 2 + w.random.below(12); i != 0; --i) launch_mix(w, s);
}

void launch_ex(Worker& w, const Stream& s) {
  MixArguments arguments(w.random, s);
  CUlaunchAttribute attribute[2]{};
  attribute[0].id = CU_LAUNCH_ATTRIBUTE_PRIORITY;
  attribute[1].id = w.random.one_in(2) ? CU_LAUNCH_ATTRIBUTE_IGNORE : CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
  CUlaunchConfig config{};
  config.gridDimX = 2 + w.random.below(4);
  config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
  config.blockDimX = 64;
  config.hStream = s.handle;
  config.numAttrs = w.random.below(3);
  config.attrs = config.numAttrs == 0 ? nullptr : attribute;
  const auto launch = w.random.one_in(2) ? cuLaunchKernelEx : launch_ex_ptsz;
  w.note(launch(&config, s.context->mix, arguments.pointers, nullptr));
  memset(&config, 0xee, sizeof config);
  memset(attribute, 0xee, sizeof attribute);
}

void launch_large(Worker& w, const Stream& s) {
  CUdeviceptr memory = s.memory;
  unsigned log = s.log;
  auto large = std::make_unique<Large>();
  for (std::uint64_t& number : large->number) number = w.random.next();
  auto last = static_cast<std::uint16_t>(w.random.next());
  void* pointers[] = {&memory, &log, large.get(), &last};
  w.note(cuLaunchKernel(s.context->large, 1, 1, 1, 32, 1, 1, 0, s.handle, pointers, nullptr));
  memset(large.get(), 0xee, sizeof *large);
}

void launch_nothing(Worker& w, const Stream& s) {
  w.note(cuLaunchKernel(s.context->nothing, 1, 1, 1, 1, 1, 1, 0, s.handle, nullptr, nullptr));
}

void launch_cooperative(Worker& w, const Stream& s) {
  MixArguments arguments(w.random, s);
  w.note(cuLaunchCooperativeKernel(s.context->mix, 1, 1, 1, 32, 1, 1, 0, s.handle, arguments.pointers));
}

// The arguments as they lie in the kernel's memory.
void launch_packed(Worker& w, const Stream& s) {
  const MixArguments from(w.random, s);
  char packed[64];
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < 5; ++i) {
    std::size_t offset = 0, size = 0;
    MUST(cuFuncGetParamInfo(s.context->mix, i, &offset, &size));
    memcpy(packed + offset, from.pointers[i], size);
    bytes = offset + size;
  }
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes, CU_LAUNCH_PARAM_END};
  w.note(cuLaunchKernel(s.context->mix, 1, 1, 1, 32, 1, 1, 0, s.handle, nullptr, extra));
}

// The thread's own default stream: what is in `s` first, and after it.
void launch_per_thread(Worker& w, const Stream& s) {
  MUST(cuStreamSynchronize(s.handle));
  for (int i = 0; i < 3; ++i) {
    MixArguments arguments(w.random, s);
    w.note(i == 1
               ? cuLaunchKernel(s.context->mix, 1, 1, 1, 32, 1, 1, 0, CU_STREAM_PER_THREAD, arguments.pointers, nullptr)
               : launch_ptsz(s.context->mix, 1, 1, 1, 32, 1, 1, 0, nullptr, arguments.pointers, nullptr));
  }
  MUST(synchronize_ptsz(nullptr));
}

// The legacy stream orders itself with blocking streams; for the others the host does it.
void launch_legacy(Worker& w, const Stream& s) {
  if (!w.is_alone) return;
  if (s.may_capture) MUST(cuStreamSynchronize(s.handle));
  MixArguments arguments(w.random, s);
  w.note(cuLaunchKernel(s.context->mix, 1, 1, 1, 32, 1, 1, 0, nullptr, arguments.pointers, nullptr));
  if (s.may_capture) MUST(cuCtxSynchronize());
}

// What the driver refuses at once.
void launch_wrongly(Worker& w, const Stream& s) {
  MixArguments arguments(w.random, s);
  void** pointers = arguments.pointers;
  w.note(cuLaunchKernel(nullptr, 1, 1, 1, 32, 1, 1, 0, s.handle, pointers, nullptr));
  w.note(cuLaunchKernel(s.context->mix, 0, 1, 1, 32, 1, 1, 0, s.handle, pointers, nullptr));
  w.note(cuLaunchKernel(s.context->mix, 1, 1, 1, 1025, 1, 1, 0, s.handle, pointers, nullptr));
  w.note(cuLaunchKernel(s.context->mix, 1, 1, 1, 32, 1, 1, 0, s.handle, nullptr, nullptr));
  w.note(cuLaunchKernelEx(nullptr, s.context->mix, pointers, nullptr));
}

// ---- everything else -------------------------------------------------------------------------------------------------------------

void copy_in(Worker& w, const Stream& s) {
  w.note(cuMemcpyHtoDAsync(s.memory, s.host, 8 * (1 + w.random.below(kWords)), s.handle));
}
void copy_out(Worker& w, const Stream& s) { w.note(cuMemcpyDtoHAsync(s.host, s.memory, kWords * 8, s.handle)); }
void read_now(Worker& w, const Stream& s) {
  std::uint64_t word = 0;
  w.note(cuStreamSynchronize(s.handle));
  w.note(cuMemcpyDtoH(&word, s.memory + 8 * w.random.below(kWords), 8));
  w.answers = hashed(w.answers, word);
}
void fill(Worker& w, const Stream& s) {
  w.note(cuMemsetD32Async(s.memory + 8 * w.random.below(kWords), w.random.below(1000), 2, s.handle));
}
void copy_inside(Worker& w, const Stream& s) {
  w.note(cuMemcpyDtoDAsync(s.memory, s.memory + kWords * 4, 8 * w.random.below(kWords / 2), s.handle));
}

struct Note {
  unsigned log;
  std::uint64_t value;
};
void CUDA_CB note_on_host(void* user) {
  const std::unique_ptr<Note> note(static_cast<Note*>(user));
  g_logs[note->log].push_back(note->value);
}
void CUDA_CB note_in_callback(CUstream, CUresult, void* user) { note_on_host(user); }
void call_host(Worker& w, const Stream& s) {
  auto* note = new Note{s.log, w.random.next()};
  w.note(w.random.one_in(3) ? cuStreamAddCallback(s.handle, note_in_callback, note, 0)
                            : cuLaunchHostFunc(s.handle, note_on_host, note));
}

void poll(Worker& w, const Stream& s) {
  CUevent event;
  MUST(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  MUST(cuEventRecord(event, s.handle));
  if (w.random.one_in(2)) launch_many(w, s);
  while (cuEventQuery(event) == CUDA_ERROR_NOT_READY) {
  }
  if (w.random.one_in(2)) MUST(cuEventSynchronize(event));
  if (w.random.one_in(2))
    while (cuStreamQuery(s.handle) == CUDA_ERROR_NOT_READY) {
    }
  MUST(cuEventDestroy(event));
}

// Another stream of the same context goes on where this one is, and the other way round.
void join(Worker& w, const Stream& s) {
  const Stream& other = w.streams[w.random.below(static_cast<unsigned>(w.streams.size()))];
  if (other.context != s.context || other.handle == s.handle) return;
  CUevent there, back;
  MUST(cuEventCreate(&there, CU_EVENT_DEFAULT));
  MUST(cuEventCreate(&back, CU_EVENT_DEFAULT));
  MUST(cuEventRecord(there, s.handle));
  MUST(cuStreamWaitEvent(other.handle, there, 0));
  w.note(cuMemcpyDtoDAsync(other.memory, s.memory, kWords * 4, other.handle));
  MixArguments arguments(w.random, other);
  arguments.memory = s.memory;
  w.note(cuLaunchKernel(s.context->mix, 3, 1, 1, 32, 1, 1, 0, other.handle, arguments.pointers, nullptr));
  MUST(cuEventRecord(back, other.handle));
  MUST(cuStreamWaitEvent(s.handle, back, 0));
  MUST(cuEventDestroy(there));
  MUST(cuEventDestroy(back));
}

void allocate(Worker& w, const Stream& s) {
  CUdeviceptr memory = 0;
  const bool in_stream = w.random.one_in(2);
  w.note(in_stream ? cuMemAllocAsync(&memory, kWords * 8, s.handle) : cuMemAlloc(&memory, kWords * 8));
  w.note(cuMemcpyDtoDAsync(memory, s.memory, kWords * 8, s.handle));
  MixArguments arguments(w.random, s);
  arguments.memory = memory;
  w.note(cuLaunchKernel(s.context->mix, 3, 1, 1, 32, 1, 1, 0, s.handle, arguments.pointers, nullptr));
  w.note(cuMemcpyDtoDAsync(s.memory, memory, kWords * 8, s.handle));
  w.note(in_stream ? cuMemFreeAsync(memory, s.handle) : cuMemFree(memory));
}

void capture(Worker& w, const Stream& s) {
  if (!s.may_capture) return;
  CUgraph graph;
  CUgraphExec executable;
  launch_many(w, s);
  MUST(cuStreamBeginCapture(s.handle, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  launch_many(w, s);
  copy_inside(w, s);
  launch_ex(w, s);
  MUST(cuStreamEndCapture(s.handle, &graph));
  launch_mix(w, s);
  MUST(cuGraphInstantiate(&executable, graph, 0));
  for (unsigned i = w.random.below(4); i != 0; --i) {
    w.note(cuGraphLaunch(executable, s.handle));
    launch_mix(w, s);
  }
  MUST(cuGraphExecDestroy(executable));
  MUST(cuGraphDestroy(graph));
}

void build_graph(Worker& w, const Stream& s) {
  CUgraph graph;
  CUgraphExec executable;
  CUgraphNode node;
  MixArguments arguments(w.random, s);
  CUDA_KERNEL_NODE_PARAMS parameters{};
  parameters.func = s.context->mix;
  parameters.gridDimX = parameters.gridDimY = parameters.gridDimZ = 1;
  parameters.blockDimX = 32;
  parameters.blockDimY = parameters.blockDimZ = 1;
  parameters.kernelParams = arguments.pointers;
  launch_mix(w, s);
  MUST(cuGraphCreate(&graph, 0));
  MUST(cuGraphAddKernelNode(&node, graph, nullptr, 0, &parameters));
  MUST(cuGraphInstantiate(&executable, graph, 0));
  w.note(cuGraphLaunch(executable, s.handle));
  launch_mix(w, s);
  MUST(cuGraphExecDestroy(executable));
  MUST(cuGraphDestroy(graph));
}

// Handles of kernels come and go, and the same one may mean a kernel with other parameters.
void load_other(Worker& w, const Stream& s) {
  CUmodule module;
  CUfunction other;
  MUST(cuModuleLoadData(&module, kOtherModule));
  MUST(cuModuleGetFunction(&other, module, "other"));
  for (int i = 0; i < 4; ++i) {
    Triple triple{{w.random.next(), w.random.next(), w.random.next()}};
    CUdeviceptr memory = s.memory;
    unsigned log = s.log;
    void* pointers[] = {&triple, &memory, &log};
    w.note(cuLaunchKernel(other, 1, 1, 1, 32, 1, 1, 0, s.handle, pointers, nullptr));
    memset(&triple, 0xee, sizeof triple);
  }
  MUST(cuStreamSynchronize(s.handle));
  MUST(cuModuleUnload(module));
}

// A context that lives for a moment, perhaps at the address of the last one.
void pass_through_context(Worker& w, const Stream& s) {
  CUctxCreateParams plain{};
  Context context{};
  CUdevice device;
  MUST(cuCtxGetDevice(&device));
  MUST(cuCtxCreate_v4(&context.handle, &plain, 0, device));
  load_kernels(context);
  const Stream inside = make_stream(context, s.log + 1, false);
  for (int i = 0; i < 5; ++i) launch_mix(w, inside);
  w.answers = hashed(w.answers, end_stream(inside));
  MUST(cuCtxDestroy(context.handle));
  use(*s.context);
}

void replace_stream(Worker& w, const Stream& s) {
  CUstream stream;
  MUST(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  Stream other = s;
  other.handle = stream;
  MUST(cuStreamSynchronize(s.handle));
  launch_many(w, other);
  MUST(cuStreamSynchronize(stream));
  MUST(cuStreamDestroy(stream));
}

// Not the context where another thread may have a capture open.
void synchronize(Worker& w, const Stream& s) {
  w.note(w.random.one_in(2) || !w.is_alone ? cuStreamSynchronize(s.handle) : cuCtxSynchronize());
}

void look_up(Worker& w, const Stream& s) {
  int value = 0;
  CUcontext context;
  CUstreamCaptureStatus status;
  w.note(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, s.context->mix));
  w.note(cuCtxGetCurrent(&context));
  w.note(cuStreamIsCapturing(s.handle, &status));
  w.answers = hashed(w.answers, static_cast<std::uint64_t>(value + (context == s.context->handle) + status));
}

using Act = void (*)(Worker&, const Stream&);
constexpr struct {
  unsigned weight;
  Act act;
} kActs[] = {
    {60, launch_mix},
    {30, launch_many},
    {12, launch_ex},
    {6, launch_large},
    {6, launch_nothing},
    {4, launch_cooperative},
    {4, launch_packed},
    {4, launch_per_thread},
    {6, launch_legacy},
    {3, launch_wrongly},
    {8, copy_in},
    {8, copy_out},
    {5, read_now},
    {6, fill},
    {6, copy_inside},
    {6, call_host},
    {5, poll},
    {8, join},
    {6, allocate},
    {3, capture},
    {3, build_graph},
    {2, load_other},
    {1, pass_through_context},
    {2, replace_stream},
    {5, synchronize},
    {10, look_up},
};

void act(Worker& w, const Stream& s) {
  if (w.random.one_in(3)) {
    MUST(cuCtxPushCurrent(s.context->handle));
    launch_mix(w, s);
    CUcontext popped;
    MUST(cuCtxPopCurrent(&popped));
  }
  use(*s.context);
  unsigned all = 0;
  for (const auto& one : kActs) all += one.weight;
  unsigned drawn = w.random.below(all);
  for (const auto& one : kActs) {
    if (drawn < one.weight) return one.act(w, s);
    drawn -= one.weight;
  }
}

void act_on_own(Worker& w, unsigned times) {
  for (; times != 0; --times) act(w, w.streams[w.random.below(static_cast<unsigned>(w.streams.size()))]);
}

// ---- programs -------------------------------------------------------------------------------------------------------------------------

constexpr unsigned kLogsOfWorker = 10;  // a stream's own, and one for a context that passes

Worker make_worker(std::uint64_t seed, unsigned number, unsigned streams, bool is_alone) {
  Worker w{Random(seed * 7 + number), {}, 0, is_alone};
  for (unsigned i = 0; i < streams; ++i)
    w.streams.push_back(make_stream(g_contexts[w.random.below(kContexts)], number * kLogsOfWorker + 2 * i,
                                    is_alone && w.random.one_in(2)));
  return w;
}

std::uint64_t end_worker(Worker& w) {
  std::uint64_t hash = w.answers;
  for (const Stream& stream : w.streams) hash = hashed(hash, end_stream(stream));
  return hash;
}

std::uint64_t run_alone(std::uint64_t seed) {
  Worker w = make_worker(seed, 0, 4, true);
  act_on_own(w, 20 + w.random.below(40));
  return end_worker(w);
}

// Threads take turns at something; how they wait for theirs is drawn.
class Turns {
 public:
  Turns(unsigned threads, unsigned kind) : threads_(threads), kind_(kind) {
    for (sem_t& one : posted_) sem_init(&one, 0, 0);
    sem_post(&posted_[0]);
  }
  void await(unsigned turn) {
    if (kind_ == 0) {
      while (now_.load(std::memory_order_acquire) != turn) std::this_thread::yield();
    } else if (kind_ == 1) {
      while (sem_wait(&posted_[turn % threads_]) != 0) {
      }
    } else {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return now_.load(std::memory_order_relaxed) == turn; });
    }
  }
  void pass(unsigned turn) {
    if (kind_ == 2) mutex_.lock();
    now_.store(turn + 1, std::memory_order_release);
    if (kind_ == 2) mutex_.unlock();
    changed_.notify_all();
    sem_post(&posted_[(turn + 1) % threads_]);
  }

 private:
  unsigned threads_, kind_;
  std::atomic<unsigned> now_{0};
  sem_t posted_[4];
  std::mutex mutex_;
  std::condition_variable changed_;
};

std::uint64_t run_together(std::uint64_t seed) {
  Random random(seed);
  const unsigned threads = 2 + random.below(3), rounds = 2 + random.below(5);
  const Stream shared = make_stream(g_contexts[random.below(kContexts)], kLogs - 2, false);
  Turns turns(threads, random.below(3));
  std::vector<Worker> workers;
  for (unsigned i = 0; i < threads; ++i) workers.push_back(make_worker(seed, i, 2, false));
  std::vector<std::thread> running;
  for (unsigned i = 0; i < threads; ++i)
    running.emplace_back([&, i] {
      Worker& w = workers[i];
      for (unsigned round = 0; round < rounds; ++round) {
        act_on_own(w, w.random.below(5));
        turns.await(round * threads + i);
        for (unsigned times = 1 + w.random.below(4); times != 0; --times) act(w, shared);
        turns.pass(round * threads + i);
      }
    });
  for (std::thread& thread : running) thread.join();
  std::uint64_t hash = end_stream(shared);
  for (Worker& w : workers) hash = hashed(hash, end_worker(w));
  return hash;
}

std::uint64_t run_program(std::uint64_t seed) { return seed % 2 == 0 ? run_alone(seed) : run_together(seed); }

}  // namespace

// The same programs again and again, until told to end; each must do what it did the first time.
static std::atomic<bool> g_told{false};
static void repeat(std::uint64_t programs) {
  std::vector<std::uint64_t> first;
  signal(SIGTERM, [](int) { g_told = true; });
  for (std::uint64_t seed = 0; seed < programs; ++seed) first.push_back(run_program(seed));
  tell("ready");
  std::uint64_t rounds = 0;
  for (; !g_told; ++rounds)
    for (std::uint64_t seed = 0; seed < programs && !g_told; ++seed)
      if (run_program(seed) != first[seed]) printf("program %d did something else\n", static_cast<int>(seed));
  tell("rounds %d", static_cast<int>(rounds));
  printf("done\n");
}

// driver_random repeat COUNT
int main(int count, char** words) {
  const std::uint64_t programs = count > 2 ? strtoull(words[2], nullptr, 10) : 100;
  make_contexts();
  if (count > 1 && strcmp(words[1], "repeat") == 0) {
    repeat(programs);
    return 0;
  }
  const std::uint64_t first = count > 1 ? strtoull(words[1], nullptr, 10) : 0;
  if (getenv("BATCHED") != nullptr) await_launcher();
  for (std::uint64_t seed = first; seed < first + programs; ++seed)
    printf("%llu %016llx\n", static_cast<unsigned long long>(seed), static_cast<unsigned long long>(run_program(seed)));
}
