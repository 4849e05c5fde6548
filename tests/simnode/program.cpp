// Small programs in one binary, for what needs a process of its own. Prints what it saw; process_test.cpp checks it.
#include <cuda.h>

#include <sys/wait.h>
#include <unistd.h>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

namespace {

constexpr char kPtx[] =
    ".version 7.0\n.target sm_50\n.visible .entry quick() { ret; }\n.visible .entry gemm_a() { ret; }\n";

CUcontext open_device() {
  CUcontext context = nullptr;
  CUresult result = cuInit(0);
  if (result == CUDA_SUCCESS) result = cuDevicePrimaryCtxRetain(&context, 0);
  if (result == CUDA_SUCCESS) result = cuCtxSetCurrent(context);
  if (result != CUDA_SUCCESS) printf("open failed %d\n", result);
  return context;
}

CUfunction kernel(const char* name) {
  CUmodule module;
  CUfunction function = nullptr;
  cuModuleLoadData(&module, kPtx);
  cuModuleGetFunction(&function, module, name);
  return function;
}

void launch(CUfunction function, int times) {
  for (int i = 0; i < times; ++i) cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr);
}

int count_devices() {
  CUresult result = cuInit(0);
  int count = -1, version = 0, major = 0, minor = 0;
  cuDeviceGetCount(&count);
  cuDriverGetVersion(&version);
  cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0);
  cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0);
  printf("init %d count %d version %d capability %d.%d\n", result, count, version, major, minor);
  return 0;
}

// What is put into the stream from here on waits until `open` is set.
void hold(CUstream stream, std::atomic<bool>* open) {
  cuLaunchHostFunc(
      stream,
      [](void* gate) {
        while (!*static_cast<std::atomic<bool>*>(gate)) usleep(100);
      },
      open);
}

// Modelled duration of a kernel in microseconds, measured behind another that keeps the stream busy.
int duration(const char* name) {
  open_device();
  CUevent begin, end;
  cuEventCreate(&begin, 0);
  cuEventCreate(&end, 0);
  CUstream stream;
  cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
  std::atomic<bool> open{false};
  hold(stream, &open);
  cuEventRecord(begin, stream);
  cuLaunchKernel(kernel(name), 1, 1, 1, 1, 1, 1, 0, stream, nullptr, nullptr);
  cuEventRecord(end, stream);
  open = true;
  cuEventSynchronize(end);
  float ms = -1;
  cuEventElapsedTime(&ms, begin, end);
  printf("%s %.3f us\n", name, static_cast<double>(ms) * 1000);
  return 0;
}

float elapsed_us(CUevent begin, CUevent end) {
  float ms = -1;
  cuEventSynchronize(end);
  cuEventElapsedTime(&ms, begin, end);
  return ms * 1000;
}

// The same kernel three times in a row, as a graph.
int graph_duration(const char* name) {
  open_device();
  CUfunction function = kernel(name);
  CUstream stream;
  CUevent begin, end;
  CUgraph graph;
  CUgraphExec executable;
  cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
  cuEventCreate(&begin, 0);
  cuEventCreate(&end, 0);
  cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
  for (int i = 0; i < 3; ++i) cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, nullptr, nullptr);
  cuStreamEndCapture(stream, &graph);
  cuGraphInstantiate(&executable, graph, 0);
  std::atomic<bool> open{false};
  hold(stream, &open);
  cuEventRecord(begin, stream);
  cuGraphLaunch(executable, stream);
  cuEventRecord(end, stream);
  open = true;
  printf("%.3f us\n", static_cast<double>(elapsed_us(begin, end)));
  return 0;
}

// How long the device has nothing to do, or little, while the host does `what` ten times: virtual time between an event
// before and one after.
int gap(const char* what) {
  open_device();
  CUfunction quick = kernel("quick");
  CUstream stream;
  CUevent begin, end;
  cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
  cuEventCreate(&begin, 0);
  cuEventCreate(&end, 0);
  cuEventRecord(begin, stream);
  for (int i = 0; i < 10; ++i) {
    CUdeviceptr memory = 0;
    if (strcmp(what, "launch") == 0) cuLaunchKernel(quick, 1, 1, 1, 1, 1, 1, 0, stream, nullptr, nullptr);
    if (strcmp(what, "load") == 0) kernel("quick");
    if (strcmp(what, "alloc") == 0) cuMemAlloc(&memory, 4096);
    if (strcmp(what, "alloc-async") == 0) cuMemAllocAsync(&memory, 4096, stream);
  }
  cuEventRecord(end, stream);
  printf("%.3f us\n", static_cast<double>(elapsed_us(begin, end)));
  return 0;
}

// Whether an allocation lets the device run empty: the stream still works after the launch, and after the allocation?
int drained() {
  open_device();
  CUstream stream;
  CUfunction slow = kernel("gemm_a");
  cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
  cuLaunchKernel(slow, 1, 1, 1, 1, 1, 1, 0, stream, nullptr, nullptr);
  int before = cuStreamQuery(stream);
  CUdeviceptr memory;
  cuMemAlloc(&memory, 4096);
  printf("before %d after %d\n", before, cuStreamQuery(stream));
  return 0;
}

template <class Handle>
void print_handle(const Handle& handle) {
  for (size_t i = 0; i < sizeof handle; ++i) printf("%02x", static_cast<unsigned char>(handle.reserved[i]));
  printf("\n");
}

// Offers memory and an event to other processes, then does what it is told: "slow" records the event behind slow work,
// "read" prints the memory's first number.
int offer() {
  open_device();
  CUdeviceptr first, memory;
  cuMemAlloc(&first, 512);  // so that the next does not begin on a page
  cuMemAlloc(&memory, 20000);
  cuMemsetD32(memory, 4711, 5000);
  cuCtxSynchronize();
  CUevent event;
  cuEventCreate(&event, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING);
  CUipcMemHandle memory_handle;
  CUipcEventHandle event_handle;
  if (cuIpcGetMemHandle(&memory_handle, memory) != 0 || cuIpcGetEventHandle(&event_handle, event) != 0) return 1;
  print_handle(memory_handle);
  print_handle(event_handle);
  fflush(stdout);
  CUfunction slow = kernel("gemm_a");
  char line[32];
  while (fgets(line, sizeof line, stdin) != nullptr) {
    unsigned number = 0;
    if (strcmp(line, "slow\n") == 0) {
      launch(slow, 1);
      cuEventRecord(event, nullptr);
    } else {
      cuMemcpyDtoH(&number, memory, sizeof number);
    }
    printf("%u\n", number);
    fflush(stdout);
  }
  return 0;
}

// Uses device 0 (3 MiB and a minute of work) and says so, until its input ends.
int use() {
  open_device();
  CUdeviceptr memory;
  cuMemAlloc(&memory, 3 << 20);
  launch(kernel("gemm_a"), 60);
  printf("r");
  fflush(stdout);
  char end;
  _exit(read(0, &end, 1) == 0 ? 0 : 1);
}

int leave(const char* how) {
  open_device();
  CUfunction quick = kernel("quick");
  launch(quick, 1234);
  if (strcmp(how, "unfinished") == 0) launch(kernel("gemm_a"), 1000);
  fflush(stdout);
  if (strcmp(how, "_exit") == 0) _exit(3);
  if (strcmp(how, "kill") == 0) kill(getpid(), SIGKILL);
  if (strcmp(how, "quick_exit") == 0) quick_exit(3);
  if (strcmp(how, "thread") == 0) std::thread([] { exit(3); }).join();
  if (strcmp(how, "atexit") == 0) atexit([] { printf("at exit %d\n", cuCtxSynchronize()); });
  exit(3);
}

int leave_while_working() {
  open_device();
  CUstream stream;
  cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
  cuLaunchHostFunc(
      stream, [](void*) { pause(); }, nullptr);  // a worker that never ends
  std::thread([stream] {
    CUcontext context;
    cuDevicePrimaryCtxRetain(&context, 0);
    cuCtxSetCurrent(context);
    cuStreamSynchronize(stream);  // and a thread that waits for it
  }).detach();
  usleep(20000);
  printf("leaving\n");
  return 0;
}

int fork_after_init() {
  open_device();
  CUfunction quick = kernel("quick");
  launch(quick, 5);
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    CUdevice device;
    printf("child launch %d\n", cuLaunchKernel(quick, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr));
    printf("child sync %d\n", cuCtxSynchronize());
    printf("child init %d\n", cuInit(0));
    printf("child device %d\n", cuDeviceGet(&device, 0));
    fflush(stdout);
    _exit(0);
  }
  int status;
  waitpid(child, &status, 0);
  launch(quick, 5);
  printf("parent sync %d child %d\n", cuCtxSynchronize(), status);
  return 0;
}

int fork_before_init() {
  int version;
  cuDriverGetVersion(&version);
  for (int i = 0; i < 2; ++i) {
    fflush(stdout);
    if (fork() != 0) continue;
    open_device();
    launch(kernel("quick"), 10 + i);
    printf("child sync %d\n", cuCtxSynchronize());
    fflush(stdout);
    _exit(0);
  }
  while (wait(nullptr) > 0) continue;
  return 0;
}

int count_from_threads() {
  CUcontext context = open_device();
  CUfunction quick = kernel("quick");
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([=] {
      cuCtxSetCurrent(context);
      launch(quick, 30000);
    });
  for (std::thread& thread : threads) thread.join();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "";
  const char* how = argc > 2 ? argv[2] : "";
  if (strcmp(what, "devices") == 0) return count_devices();
  if (strcmp(what, "duration") == 0) return duration(how);
  if (strcmp(what, "graph-duration") == 0) return graph_duration(how);
  if (strcmp(what, "gap") == 0) return gap(how);
  if (strcmp(what, "drained") == 0) return drained();
  if (strcmp(what, "offer") == 0) return offer();
  if (strcmp(what, "use") == 0) return use();
  if (strcmp(what, "leave") == 0) return leave(how);
  if (strcmp(what, "leave-while-working") == 0) return leave_while_working();
  if (strcmp(what, "fork-after-init") == 0) return fork_after_init();
  if (strcmp(what, "fork-before-init") == 0) return fork_before_init();
  if (strcmp(what, "threads") == 0) return count_from_threads();
  fprintf(stderr, "simnode_program: unknown case '%s'\n", what);
  return 2;
}
