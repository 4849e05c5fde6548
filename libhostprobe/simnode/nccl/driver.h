// The driver as this library reaches it: like NCCL's own CUDA runtime it opens libcuda.so.1 and asks cuGetProcAddress for
// every function, so a tool that watches launches sees these too. What only the simulated driver has comes by dlsym.
#pragma once
#include "nccl_types.h"
#include "node/simnode.h"

#include <cuda.h>
#include <atomic>

namespace simnode::nccl {

struct Driver {
  decltype(&::cuInit) init;
  decltype(&::cuCtxGetCurrent) context_current;
  decltype(&::cuCtxSetCurrent) set_context;
  decltype(&::cuCtxPushCurrent) push_context;
  decltype(&::cuCtxPopCurrent) pop_context;
  decltype(&::cuCtxGetDevice) context_device;
  decltype(&::cuDeviceGetCount) device_count;
  decltype(&::cuDeviceGetAttribute) device_attribute;
  decltype(&::cuDeviceGetPCIBusId) pci_id;
  decltype(&::cuDevicePrimaryCtxRetain) retain_primary;
  decltype(&::cuModuleLoadData) load_module;
  decltype(&::cuModuleGetFunction) find_function;
  decltype(&::cuLaunchKernelEx) launch;
  decltype(&::cuStreamIsCapturing) is_capturing;
  decltype(&::cuEventCreate) create_event;
  decltype(&::cuEventRecord) record_event;
  decltype(&::cuEventDestroy) destroy_event;
  decltype(&::cuStreamWaitEvent) wait_event;
  decltype(&::cuMemAlloc) allocate;
  decltype(&::cuMemFree) free;
  decltype(&::cuGetErrorString) error_text;
  // Of the simulated driver (simnode.h).
  int (*register_waiting_kernel)(const char*, int (*)(const simnode_launch*, void*), void*);
  unsigned (*add_count)(const char*);
  void (*count)(unsigned);
  long long (*start_ns)();
};

// Null when there is no driver, or one that is not the simulated driver: then nothing of this library can work, and it says why.
const Driver* driver();

// ncclSuccess, or ncclUnhandledCudaError with the call and its error as the last error.
ncclResult_t check_cuda(CUresult result, const char* call);

// The module with this library's kernels in a context; made at first use, never unloaded.
ncclResult_t find_kernel(CUcontext context, const char* name, CUfunction* function);

class Counter {
 public:
  explicit constexpr Counter(const char* name) : name_(name) {}
  void add();

 private:
  const char* name_;
  std::atomic<unsigned> number_{0};
};

// Makes `context` current for its life when it is not already.
class CurrentContext {
 public:
  explicit CurrentContext(CUcontext context);
  ~CurrentContext();
  CurrentContext(const CurrentContext&) = delete;
  CurrentContext& operator=(const CurrentContext&) = delete;

 private:
  bool pushed_ = false;
};

#define NCCL_TRY(expression)                                                                     \
  do {                                                                                           \
    if (ncclResult_t nccl_result = (expression); nccl_result != ncclSuccess) return nccl_result; \
  } while (0)

}  // namespace simnode::nccl
