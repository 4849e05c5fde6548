// simnode_launch: what a launch costs in the stand-in driver beyond what it is modelled to cost. SIMNODE_LAUNCH_US is 0,
// so all of it is the stand-in's own: checks, the lock, the stream's virtual clock. Prints CPU time per call and its ratio
// to floor T, which takes turns with it.
#include <cuda.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "floor.h"

namespace {

constexpr char kPtx[] = ".version 7.0\n.target sm_50\n.visible .entry empty() { ret; }\n";
constexpr unsigned kCalls = 200000;
constexpr int kRepetitions = 25;

void check(CUresult result, const char* call) {
  if (result == CUDA_SUCCESS) return;
  fprintf(stderr, "simnode_launch: %s answered %d; run it with the stand-in on LD_LIBRARY_PATH\n", call, result);
  exit(1);
}

template <class Run>
double ns_per_call(Run run) {
  double begin = hostprobe::bench::thread_cpu_ns();
  run();
  return (hostprobe::bench::thread_cpu_ns() - begin) / kCalls;
}

void print(const char* what, std::vector<double> values) {
  std::sort(values.begin(), values.end());
  printf("%-28s median %8.2f  (least %.2f, greatest %.2f)\n", what, values[values.size() / 2], values.front(),
         values.back());
}

}  // namespace

int main() {
  setenv("SIMNODE_LAUNCH_US", "0", 1);
  CUcontext context;
  CUmodule module;
  CUfunction kernel;
  CUstream stream;
  check(cuInit(0), "cuInit");
  check(cuDevicePrimaryCtxRetain(&context, 0), "cuDevicePrimaryCtxRetain");
  check(cuCtxSetCurrent(context), "cuCtxSetCurrent");
  check(cuModuleLoadData(&module, kPtx), "cuModuleLoadData");
  check(cuModuleGetFunction(&kernel, module, "empty"), "cuModuleGetFunction");
  check(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
  hostprobe::bench::FloorRing ring;
  std::vector<double> launch, floor, ratio;
  for (int i = 0; i < kRepetitions; ++i) {
    floor.push_back(ns_per_call([&] { hostprobe::bench::run_floor_t(ring, kCalls); }));
    launch.push_back(ns_per_call([&] {
      for (unsigned n = 0; n < kCalls; ++n) cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, stream, nullptr, nullptr);
    }));
    ratio.push_back(launch.back() / floor.back());
  }
  print("empty launch, ns", launch);
  print("floor T, ns", floor);
  print("empty launch, in T", ratio);
}
