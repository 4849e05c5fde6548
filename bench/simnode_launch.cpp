// simnode_launch: what a launch costs in the simulated driver beyond what it is modelled to cost, and what a hook adds to it.
// SIMNODE_LAUNCH_US is 0, so all of it is the simulated driver's own: checks, the lock, the stream's virtual clock. It is called at
// the address that the library's symbol table gives, and by a pointer from cuGetProcAddress, behind which the probe stands
// when it is preloaded. Both and floor T take turns; prints CPU time per call. hook_cost.py runs it in each mode.
#include <cuda.h>
#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "floor.h"
#include "own_segment.h"
#include "placement.h"
#include "probe/runtime/elf_object.h"

namespace {

using Launch = decltype(&cuLaunchKernel);

constexpr char kPtx[] = ".version 7.0\n.target sm_50\n.visible .entry empty() { ret; }\n";
constexpr unsigned kBurst = 8192;  // the probe's writer is woken by as many records
constexpr unsigned kWarmCalls = 64;
constexpr int kSlices = 24;
constexpr int kRepetitions = 25;

void check(CUresult result, const char* call) {
  if (result == CUDA_SUCCESS) return;
  fprintf(stderr, "simnode_launch: %s answered %d; run it with the simulated driver on LD_LIBRARY_PATH\n", call,
          result);
  exit(1);
}

template <class Run>
double ns_of(Run run) {
  run(kWarmCalls);
  double begin = hostprobe::bench::thread_cpu_ns();
  run(kBurst);
  return hostprobe::bench::thread_cpu_ns() - begin;
}

void print(const char* what, std::vector<double> values) {
  std::sort(values.begin(), values.end());
  printf("%-32s median %8.2f  (least %.2f, greatest %.2f)\n", what, values[values.size() / 2], values.front(),
         values.back());
}

struct Target {
  CUfunction kernel = nullptr;
  CUstream stream = nullptr;
  Launch bare = nullptr, hooked = nullptr;
};

// Not by dlsym, which is hooked.
Launch symbol_of_stand_in() {
  hostprobe::probe::ElfObject object;
  const auto* map = static_cast<const link_map*>(dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD));
  if (map == nullptr || !read_symbols(*map, object)) return nullptr;
  return reinterpret_cast<Launch>(defined_function(object, "cuLaunchKernel"));
}

Target open_device() {
  Target target;
  CUcontext context;
  CUmodule module;
  void* launch = nullptr;
  check(cuInit(0), "cuInit");
  check(cuDevicePrimaryCtxRetain(&context, 0), "cuDevicePrimaryCtxRetain");
  check(cuCtxSetCurrent(context), "cuCtxSetCurrent");
  check(cuModuleLoadData(&module, kPtx), "cuModuleLoadData");
  check(cuModuleGetFunction(&target.kernel, module, "empty"), "cuModuleGetFunction");
  check(cuStreamCreate(&target.stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
  check(cuGetProcAddress("cuLaunchKernel", &launch, CUDA_VERSION, CU_GET_PROC_ADDRESS_DEFAULT, nullptr),
        "cuGetProcAddress");
  target.hooked = reinterpret_cast<Launch>(launch);
  target.bare = symbol_of_stand_in();
  check(target.bare == nullptr ? CUDA_ERROR_NOT_FOUND : CUDA_SUCCESS, "the symbol table");
  return target;
}

void launch_once(const Target& target, Launch launch) {
  launch(target.kernel, 1, 1, 1, 32, 1, 1, 0, target.stream, nullptr, nullptr);
}

void print_all(const std::vector<double> (&series)[5]) {
  const char* const kNames[] = {"empty launch, ns", "floor T, ns", "empty launch, in T",
                                "the least recorder adds, in T", "a hook adds, in T"};
  for (int i = 0; i < 5; ++i) print(kNames[i], series[i]);
}

}  // namespace

int main() {
  setenv("SIMNODE_LAUNCH_US", "0", 1);
  setenv("SIMNODE_QUEUE", "0", 1);  // nobody waits for the device
  hostprobe::bench::allowed_cpus();
  Target target = open_device();
  launch_once(target, target.hooked);  // starts the writer
  hostprobe::bench::settle_threads();
  hostprobe::bench::OwnSegment segment;
  hostprobe::bench::FloorRing ring;
  auto launches_of = [&](Launch launch) {
    return ns_of([&](unsigned count) {
      for (unsigned n = 0; n < count; ++n) launch_once(target, launch);
    });
  };
  // The least that could record it: floor T around the same call.
  auto least = [&] {
    return ns_of([&](unsigned count) {
      for (unsigned n = 0; n < count; ++n) {
        std::uint64_t begin = __rdtsc();
        launch_once(target, target.bare);
        hostprobe::bench::store_line(ring.next(), begin, __rdtsc(), n);
      }
    });
  };
  std::vector<double> launches, floors, ratios, leasts, added;
  for (int i = 0; i < kRepetitions; ++i) {
    double floor = 0, bare = 0, hooked = 0, recorded = 0;
    for (int slice = 0; slice < kSlices; ++slice) {
      floor += ns_of([&](unsigned count) { hostprobe::bench::run_floor_t(ring, count); });
      bare += launches_of(target.bare);
      hooked += launches_of(target.hooked);
      recorded += least();
      segment.wait_until_drained();
    }
    floors.push_back(floor / kSlices / kBurst);
    launches.push_back(bare / kSlices / kBurst);
    ratios.push_back(bare / floor);
    leasts.push_back((recorded - bare) / floor);
    added.push_back((hooked - bare) / floor);
  }
  print_all({launches, floors, ratios, leasts, added});
  printf("%-32s %lu\n", "records lost", segment.lost());
}
