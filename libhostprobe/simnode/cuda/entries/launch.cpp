// Kernel launches. The common one (no host function, nothing queued in the stream) is: checks, one clock reading,
// arithmetic on the stream's virtual clock, and then the modelled cost of the call, spun away on the calling thread
// outside the lock. It allocates nothing and wakes nobody.
#include "cuda/model/launch.h"
#include "cuda/model/capture.h"
#include "cuda/model/context.h"
#include "cuda/model/module.h"
#include "cuda/model/node.h"
#include "cuda/model/stream.h"
#include "entry.h"

#include <map>
#include <string>

namespace simnode {

namespace {

struct Caller {
  Context* context;
  Stream* stream;
  Function* function;
};

CUresult resolve(CUfunction handle, CUstream stream, Caller* caller) {
  SIMNODE_TRY(find_stream(stream, &caller->stream));
  caller->context = caller->stream->context;
  caller->function = find_function(handle);
  if (caller->function == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  Context* current;
  SIMNODE_TRY(current_context(&current));
  bool foreign = caller->function->module != nullptr && caller->function->module->context != caller->context;
  return foreign || current != caller->context ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
}

CUresult launch_locked(CUfunction handle, const LaunchShape& shape, CUstream stream, void** parameters, void** extra,
                       int64_t cost_ns, int64_t* call_end_ns) {
  MutexLock lock(g_mutex);
  Caller caller;
  SIMNODE_TRY(resolve(handle, stream, &caller));
  SIMNODE_TRY(check_launch(*caller.function, shape, parameters, extra));
  if (caller.stream->capture == nullptr && !has_room(*caller.stream, *call_end_ns)) {
    SIMNODE_TRY(wait_for_room(stream));
    SIMNODE_TRY(resolve(handle, stream, &caller));
    *call_end_ns = now_ns() + cost_ns;
  }
  const int64_t submit_ns = *call_end_ns;
  if (caller.stream->capture == nullptr && !has_host_function(*caller.function)) {
    SIMNODE_TRY(check_legacy_use(*caller.stream));
    order_with_legacy(*caller.stream, submit_ns);
    submit_kernel(*caller.stream, submit_ns, slowed_ns(caller.function->duration_ns),
                  launched_now(kernel_label(*caller.function), launch_moment_ns(submit_ns)));
    return CUDA_SUCCESS;
  }
  Work work;
  SIMNODE_TRY(kernel_work(*caller.function, shape, parameters, extra, &work));
  work.node.kernel.func = handle;
  return submit_work_locked(*caller.stream, std::move(work), submit_ns);
}

CUresult launch(CUfunction handle, const LaunchShape& shape, CUstream stream, void** parameters, void** extra) {
  SIMNODE_TRY(ready());
  int64_t cost_ns = launch_cost_ns();
  // The device learns of the kernel when the call has cost what it costs.
  int64_t submit_ns = now_ns() + cost_ns;
  SIMNODE_TRY(launch_locked(handle, shape, stream, parameters, extra, cost_ns, &submit_ns));
  if (cost_ns > 0) spin_until(submit_ns);
  return CUDA_SUCCESS;
}

}  // namespace

SIMNODE_ENTRY(cuLaunchKernel)
(CUfunction function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z, unsigned int block_x,
 unsigned int block_y, unsigned int block_z, unsigned int shared_bytes, CUstream stream, void** parameters,
 void** extra) {
  return launch(function, {{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes}, stream, parameters,
                extra);
}

SIMNODE_ENTRY(cuLaunchKernelEx)(const CUlaunchConfig* config, CUfunction function, void** parameters, void** extra) {
  SIMNODE_TRY(ready());
  if (config == nullptr || (config->numAttrs != 0 && config->attrs == nullptr)) return CUDA_ERROR_INVALID_VALUE;
  LaunchShape shape{{config->gridDimX, config->gridDimY, config->gridDimZ},
                    {config->blockDimX, config->blockDimY, config->blockDimZ},
                    config->sharedMemBytes};
  return launch(function, shape, config->hStream, parameters, extra);
}

SIMNODE_ENTRY(cuLaunchCooperativeKernel)
(CUfunction function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z, unsigned int block_x,
 unsigned int block_y, unsigned int block_z, unsigned int shared_bytes, CUstream stream, void** parameters) {
  return launch(function, {{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes}, stream, parameters,
                nullptr);
}

}  // namespace simnode

// Not driver functions: found by dlsym (simnode.h), so that programs start without it.
namespace simnode {

namespace {

int register_kernel(const char* kernel, const HostKernel& host) {
  if (kernel == nullptr) return 1;
  MutexLock lock(g_mutex);
  if (g_host_kernels == nullptr) g_host_kernels = new std::map<std::string, HostKernel>;
  if (host.function != nullptr)
    (*g_host_kernels)[kernel] = host;
  else
    g_host_kernels->erase(kernel);
  ++g_host_kernels_generation;
  return 0;
}

}  // namespace

}  // namespace simnode

#define SIMNODE_EXPORT extern "C" __attribute__((visibility("default")))

SIMNODE_EXPORT int simnode_register_kernel(const char* kernel, simnode_kernel function, void* user) {
  return simnode::register_kernel(kernel, {function, user, false});
}

SIMNODE_EXPORT int simnode_register_waiting_kernel(const char* kernel, simnode_kernel function, void* user) {
  return simnode::register_kernel(kernel, {function, user, true});
}

SIMNODE_EXPORT long long simnode_start_ns(void) {
  simnode::MutexLock lock(simnode::g_mutex);
  return simnode::g_node == nullptr ? -1 : simnode::g_node->init_ns;
}
