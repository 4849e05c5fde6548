// driver_random.h: what random driver programs are made of: contexts with kernels that really compute, streams, and a log of what
// ran in each stream, in the order in which it ran there.
#pragma once

#include <cuda.h>
#include <dirent.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "simnode.h"
#include "victim.h"

inline void check(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  printf("%s failed: %d\n", what, static_cast<int>(result));
  fflush(stdout);
  _exit(99);
}
#define MUST(call) check(call, #call)

// Forms that cuda.h gives no name to.
extern "C" {
CUresult launch_ptsz(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream, void**,
                     void**) __asm__("cuLaunchKernel_ptsz");
CUresult launch_ex_ptsz(const CUlaunchConfig*, CUfunction, void**, void**) __asm__("cuLaunchKernelEx_ptsz");
CUresult synchronize_ptsz(CUstream) __asm__("cuStreamSynchronize_ptsz");
}

// The same numbers for the same seed, everywhere.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u + 0x1234567) {}
  std::uint64_t next() {
    state_ += 0x9e3779b97f4a7c15u;
    std::uint64_t z = state_;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
  }
  unsigned below(unsigned limit) { return static_cast<unsigned>(next() % limit); }
  bool one_in(unsigned times) { return below(times) == 0; }

 private:
  std::uint64_t state_;
};

inline std::uint64_t hashed(std::uint64_t hash, std::uint64_t value) { return (hash ^ value) * 0x100000001b3u + 1; }

// ---- kernels --------------------------------------------------------------------------------------------------------------

constexpr unsigned kWords = 64;  // of a stream's memory
constexpr unsigned kLogs = 64;
inline std::vector<std::uint64_t> g_logs[kLogs];  // of a stream; only what runs in it writes there

struct Triple {
  std::uint64_t number[3];
};
struct Large {
  std::uint64_t number[375];  // 3000 bytes
};

constexpr char kModule[] =
    "simnode-module 1\n"
    "kernel mix 8 4 8 1 24\n"
    "kernel large 8 4 3000 2\n"
    "kernel nothing\n";
// The same name with other parameters: its handle may be one that `mix` has had.
constexpr char kOtherModule[] =
    "simnode-module 1\n"
    "kernel other 24 8 4\n";

// Order counts: no two of these commute.
inline void change(std::uint64_t* words, unsigned log, std::uint64_t value) {
  for (unsigned i = 0; i < kWords; ++i) words[i] = hashed(words[i], value + i);
  g_logs[log].push_back(value);
}
template <class T>
const T& argument(const simnode_launch* launch, unsigned number) {
  return *static_cast<const T*>(launch->parameters[number]);
}
inline int run_mix(const simnode_launch* launch, void*) {
  const Triple& triple = argument<Triple>(launch, 4);
  std::uint64_t value = hashed(argument<std::uint64_t>(launch, 2), argument<unsigned char>(launch, 3));
  for (std::uint64_t number : triple.number) value = hashed(value, number);
  value = hashed(value, launch->grid[0] * 1000 + launch->block[0] + launch->shared_bytes);
  change(argument<std::uint64_t*>(launch, 0), argument<unsigned>(launch, 1), value);
  return 0;
}
inline int run_large(const simnode_launch* launch, void*) {
  std::uint64_t value = argument<std::uint16_t>(launch, 3);
  for (std::uint64_t number : argument<Large>(launch, 2).number) value = hashed(value, number);
  change(argument<std::uint64_t*>(launch, 0), argument<unsigned>(launch, 1), value);
  return 0;
}
inline int run_other(const simnode_launch* launch, void*) {
  change(argument<std::uint64_t*>(launch, 1), argument<unsigned>(launch, 2),
         hashed(argument<Triple>(launch, 0).number[2], 77));
  return 0;
}

// ---- contexts and streams -----------------------------------------------------------------------------------------------------

struct Context {
  CUcontext handle;
  CUmodule module;
  CUfunction mix, large, nothing;
};
constexpr unsigned kContexts = 3;
inline Context g_contexts[kContexts];

struct Stream {
  CUstream handle;
  const Context* context;
  CUdeviceptr memory;
  std::uint64_t* host;  // pinned
  unsigned log;
  bool may_capture;
};

inline void use(const Context& context) { MUST(cuCtxSetCurrent(context.handle)); }

inline void load_kernels(Context& context) {
  MUST(cuModuleLoadData(&context.module, kModule));
  MUST(cuModuleGetFunction(&context.mix, context.module, "mix"));
  MUST(cuModuleGetFunction(&context.large, context.module, "large"));
  MUST(cuModuleGetFunction(&context.nothing, context.module, "nothing"));
}

// The first device's primary context, one of its own, and the second device's.
inline void make_contexts() {
  CUdevice first, second;
  MUST(cuInit(0));
  MUST(cuDeviceGet(&first, 0));
  MUST(cuDeviceGet(&second, 1));
  MUST(cuDevicePrimaryCtxRetain(&g_contexts[0].handle, first));
  CUctxCreateParams plain{};
  MUST(cuCtxCreate_v4(&g_contexts[1].handle, &plain, 0, first));
  MUST(cuDevicePrimaryCtxRetain(&g_contexts[2].handle, second));
  simnode_register("mix", run_mix, nullptr);
  simnode_register("large", run_large, nullptr);
  simnode_register("other", run_other, nullptr);
  for (Context& context : g_contexts) {
    use(context);
    load_kernels(context);
  }
}

inline Stream make_stream(const Context& context, unsigned log, bool blocking) {
  Stream stream{nullptr, &context, 0, nullptr, log, !blocking};
  use(context);
  void* host;
  MUST(cuStreamCreate(&stream.handle, blocking ? CU_STREAM_DEFAULT : CU_STREAM_NON_BLOCKING));
  MUST(cuMemAlloc(&stream.memory, kWords * 8));
  MUST(cuMemHostAlloc(&host, kWords * 8, 0));
  MUST(cuMemsetD8Async(stream.memory, 0, kWords * 8, stream.handle));
  stream.host = static_cast<std::uint64_t*>(host);
  for (unsigned i = 0; i < kWords; ++i) stream.host[i] = i;
  g_logs[log].clear();
  return stream;
}

// What ran in it, and what is in its memory.
inline std::uint64_t end_stream(const Stream& stream) {
  std::uint64_t words[kWords], hash = 0;
  use(*stream.context);
  MUST(cuStreamSynchronize(stream.handle));
  MUST(cuMemcpyDtoH(words, stream.memory, sizeof words));
  for (std::uint64_t word : words) hash = hashed(hash, word);
  for (unsigned i = 0; i < kWords; ++i) hash = hashed(hash, stream.host[i]);
  for (std::uint64_t entry : g_logs[stream.log]) hash = hashed(hash, entry);
  MUST(cuMemFree(stream.memory));
  MUST(cuMemFreeHost(stream.host));
  MUST(cuStreamDestroy(stream.handle));
  return hash;
}

// ---- waiting for the launcher -----------------------------------------------------------------------------------------------

inline bool has_launcher() {
  bool found = false;
  DIR* tasks = opendir("/proc/self/task");
  while (const dirent* task = readdir(tasks)) {
    char name[32] = {};
    FILE* file = fopen((std::string("/proc/self/task/") + task->d_name + "/comm").c_str(), "r");
    if (file != nullptr && fgets(name, sizeof name, file) != nullptr) found |= strcmp(name, "hostprobe-queue\n") == 0;
    if (file != nullptr) fclose(file);
  }
  closedir(tasks);
  return found;
}

// Launches until there is one, then waits for what it launched.
inline void await_launcher() {
  const Stream stream = make_stream(g_contexts[0], 0, false);
  int launches = 0;
  for (; launches < 1000000 && !has_launcher(); ++launches)
    MUST(cuLaunchKernel(g_contexts[0].nothing, 1, 1, 1, 1, 1, 1, 0, stream.handle, nullptr, nullptr));
  tell("awaited %d", launches);
  if (!has_launcher()) printf("launches are not batched\n");
  end_stream(stream);
}
