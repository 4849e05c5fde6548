// runtime.cu: each way to launch and to wait that the CUDA runtime has, ROUNDS times each. Linked to the shared and to the
// static runtime. `runtime ROUNDS time` prints nanoseconds per launch call instead.
#include <cooperative_groups.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define CHECK(call)                                                                  \
  do {                                                                               \
    cudaError_t result = (call);                                                     \
    if (result != cudaSuccess) {                                                     \
      fprintf(stderr, "runtime: %s failed: %s\n", #call, cudaGetErrorString(result)); \
      exit(1);                                                                       \
    }                                                                                \
  } while (0)

__global__ void add_one(int* number) {
  if (threadIdx.x == 0) atomicAdd(number, 1);
}

__global__ void add_one_together(int* number) {
  cooperative_groups::this_grid().sync();
  if (threadIdx.x == 0) atomicAdd(number, 1);
}

static int g_callbacks = 0;

static void launch_each_way(int* number, cudaStream_t stream) {
  add_one<<<1, 32, 0, stream>>>(number);
  void* arguments[] = {&number};
  cudaLaunchConfig_t config = {};
  config.gridDim = 1;
  config.blockDim = 32;
  config.stream = stream;
  CHECK(cudaLaunchKernelEx(&config, add_one, number));
  CHECK(cudaLaunchCooperativeKernel(reinterpret_cast<void*>(add_one_together), dim3(1), dim3(32), arguments, 0, stream));
  CHECK(cudaLaunchHostFunc(stream, [](void*) { ++g_callbacks; }, nullptr));
}

static cudaGraphExec_t graph_of_three(int* number, cudaStream_t stream) {
  cudaGraph_t graph;
  cudaGraphExec_t executable;
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  for (int i = 0; i < 3; ++i) add_one<<<1, 32, 0, stream>>>(number);
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphInstantiate(&executable, graph, 0));
  CHECK(cudaGraphDestroy(graph));
  return executable;
}

static void time_launches(int* number, cudaStream_t stream, int rounds) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> each;
  for (int block = 0; block < 50; ++block) {
    auto begin = Clock::now();
    for (int i = 0; i < rounds; ++i) add_one<<<1, 32, 0, stream>>>(number);
    each.push_back(std::chrono::duration<double, std::nano>(Clock::now() - begin).count() / rounds);
    CHECK(cudaStreamSynchronize(stream));
  }
  std::nth_element(each.begin(), each.begin() + 25, each.end());
  printf("ns_per_launch %.1f\n", each[25]);
}

int main(int argc, char** argv) {
  int rounds = argc > 1 ? atoi(argv[1]) : 100;
  int* number;
  cudaStream_t stream;
  cudaEvent_t event;
  CHECK(cudaMalloc(&number, sizeof(int)));
  CHECK(cudaMemset(number, 0, sizeof(int)));
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  CHECK(cudaEventCreate(&event));
  if (argc > 2 && strcmp(argv[2], "time") == 0) {
    time_launches(number, stream, rounds);
    return 0;
  }
  cudaGraphExec_t graph = graph_of_three(number, stream);
  for (int i = 0; i < rounds; ++i) {
    launch_each_way(number, stream);
    CHECK(cudaGraphLaunch(graph, stream));
    CHECK(cudaEventRecord(event, stream));
    CHECK(cudaEventSynchronize(event));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaDeviceSynchronize());
  }
  int sum = 0;
  CHECK(cudaMemcpy(&sum, number, sizeof sum, cudaMemcpyDeviceToHost));
  printf("sum %d callbacks %d\n", sum, g_callbacks);
  return sum == 6 * rounds && g_callbacks == rounds ? 0 : 1;
}
