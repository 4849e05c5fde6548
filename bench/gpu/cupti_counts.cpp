// cupti_counts.cpp: counts every driver API call of a process as CUPTI sees it, to compare hostprobe's counts with.
//
// Loaded by the driver itself: CUDA_INJECTION64_PATH=…/libcupti_counts.so. At exit it writes CUPTI_COUNTS/PID.json,
// {"cuLaunchKernel": 12, …}, the same shape as the simulated driver's SIMNODE_COUNTS.
#include <cupti.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>

namespace {

constexpr unsigned kFunctions = 4096;
std::atomic<unsigned long> g_calls[kFunctions];
std::atomic<const char*> g_names[kFunctions];

void CUPTIAPI count(void*, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data) {
  const auto* call = static_cast<const CUpti_CallbackData*>(data);
  if (domain != CUPTI_CB_DOMAIN_DRIVER_API || id >= kFunctions || call->callbackSite != CUPTI_API_ENTER) return;
  g_names[id] = call->functionName;
  ++g_calls[id];
}

void write_counts() {
  const char* folder = getenv("CUPTI_COUNTS");
  if (folder == nullptr) return;
  char path[4096];
  snprintf(path, sizeof path, "%s/%d.json", folder, getpid());
  FILE* file = fopen(path, "w");
  if (file == nullptr) return;
  const char* before = "{";
  for (unsigned id = 0; id < kFunctions; ++id)
    if (g_calls[id] > 0) {
      fprintf(file, "%s\"%s\": %lu", before, g_names[id].load(), g_calls[id].load());
      before = ",\n ";
    }
  fputs(before[0] == '{' ? "{}\n" : "}\n", file);
  fclose(file);
}

}  // namespace

extern "C" int InitializeInjection() {
  static CUpti_SubscriberHandle subscriber;
  if (cuptiSubscribe(&subscriber, count, nullptr) != CUPTI_SUCCESS ||
      cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API) != CUPTI_SUCCESS) {
    fprintf(stderr, "cupti_counts: CUPTI cannot be subscribed to; another profiler is active in this process\n");
    return 0;
  }
  atexit(write_counts);
  return 1;
}
