// Contexts as a program sees them: making, the stack of each thread, flags, limits, synchronising.
#include "cuda/model/context.h"
#include "cuda/model/device.h"
#include "cuda/model/node.h"
#include "cuda/model/stream.h"
#include "entry.h"

#include <algorithm>

namespace simnode {

namespace {

constexpr unsigned kSchedMask = CU_CTX_SCHED_MASK;
constexpr unsigned kFlagsMask = CU_CTX_FLAGS_MASK;

bool valid_flags(unsigned flags) {
  unsigned sched = flags & kSchedMask;
  bool one_sched =
      sched == 0 || sched == CU_CTX_SCHED_SPIN || sched == CU_CTX_SCHED_YIELD || sched == CU_CTX_SCHED_BLOCKING_SYNC;
  return one_sched && (flags & ~kFlagsMask) == 0;
}

size_t limit_default(CUlimit limit) {
  switch (limit) {
    case CU_LIMIT_STACK_SIZE:
      return 1024;
    case CU_LIMIT_PRINTF_FIFO_SIZE:
      return size_t{6} << 20;
    case CU_LIMIT_MALLOC_HEAP_SIZE:
      return size_t{8} << 20;
    case CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH:
      return 2;
    case CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT:
      return 2048;
    case CU_LIMIT_MAX_L2_FETCH_GRANULARITY:
      return 64;
    default:
      return 0;
  }
}

CUresult create(CUcontext* context, unsigned flags, CUdevice number) {
  MutexLock lock(g_mutex);
  Device* device;
  SIMNODE_TRY(find_device(number, &device));
  if (context == nullptr || !valid_flags(flags)) return CUDA_ERROR_INVALID_VALUE;
  Context* made = make_context(*device, flags, false);
  if (made == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  this_thread().stack.push_back(made->handle);
  *context = made->handle;
  return CUDA_SUCCESS;
}

void forget_on_this_thread(CUcontext handle) {
  auto& stack = this_thread().stack;
  if (!stack.empty() && stack.back() == handle) stack.pop_back();
}

CUresult synchronize(Context& context) {
  wait_for_all(context);
  return context.failure;
}

bool capturing(const Context& context) {
  return std::any_of(context.streams.begin(), context.streams.end(),
                     [](const Stream* stream) { return stream->capture != nullptr; });
}

}  // namespace

SIMNODE_ENTRY(cuCtxCreate)(CUcontext* context, unsigned int flags, CUdevice device) {
  return create(context, flags, device);
}

SIMNODE_ENTRY(cuCtxCreate_v2)(CUcontext* context, unsigned int flags, CUdevice device) {
  return create(context, flags, device);
}

SIMNODE_ENTRY(cuCtxCreate_v3)(CUcontext* context, CUexecAffinityParam*, int, unsigned int flags, CUdevice device) {
  return create(context, flags, device);
}

#if CUDA_VERSION >= 12050
SIMNODE_ENTRY(cuCtxCreate_v4)(CUcontext* context, CUctxCreateParams*, unsigned int flags, CUdevice device) {
  return create(context, flags, device);
}
#endif

SIMNODE_ENTRY(cuCtxDestroy_v2)(CUcontext handle) {
  MutexLock lock(g_mutex);
  SIMNODE_TRY(ready());
  auto* context = g_node->find<Context>(handle);
  if (context == nullptr) return handle == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_CONTEXT;
  if (context->primary) return CUDA_ERROR_INVALID_CONTEXT;
  forget_on_this_thread(handle);
  destroy_context(*context);
  return CUDA_SUCCESS;
}

SIMNODE_ENTRY(cuCtxDestroy)(CUcontext handle) { return entry_cuCtxDestroy_v2(handle); }

SIMNODE_ENTRY(cuCtxAttach)(CUcontext* handle, unsigned int flags) {
  MutexLock lock(g_mutex);
  if (handle == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  Context* context;
  SIMNODE_TRY(current_context(&context));
  ++context->attachments;
  *handle = context->handle;
  return CUDA_SUCCESS;
}

SIMNODE_ENTRY(cuCtxDetach)(CUcontext handle) {
  {
    MutexLock lock(g_mutex);
    SIMNODE_TRY(ready());
    auto* context = g_node->find<Context>(handle);
    if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    if (--context->attachments > 0) return CUDA_SUCCESS;
  }
  return entry_cuCtxDestroy_v2(handle);
}

SIMNODE_ENTRY(cuCtxPushCurrent_v2)(CUcontext handle) {
  MutexLock lock(g_mutex);
  SIMNODE_TRY(ready());
  if (g_node->find<Context>(handle) == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  this_thread().stack.push_back(handle);
  return CUDA_SUCCESS;
}

SIMNODE_ENTRY(cuCtxPushCurrent)(CUcontext handle) { return entry_cuCtxPushCurrent_v2(handle); }

SIMNODE_ENTRY(cuCtxPopCurrent_v2)(CUcontext* handle) {
  MutexLock lock(g_mutex);
  SIMNODE_TRY(ready());
  auto& stack = this_thread().stack;
  if (stack.empty()) return CUDA_ERROR_INVALID_CONTEXT;
  if (handle != nullptr) *handle = stack.back();
  stack.pop_back();
  return CUDA_SUCCESS;
}

SIMNODE_ENTRY(cuCtxPopCurrent)(CUcontext* handle) { return entry_cuCtxPopCurrent_v2(handle); }

SIMNODE_ENTRY(cuCtxSetCurrent)(CUcontext handle) {
  MutexLock lock(g_mutex);
  SIMNODE_TRY(ready());
  auto& stack = this_thread().stack;
  if (handle != nullptr && g_node->find<Context>(handle) == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (!stack.empty()) stack.pop_back();
  if (handle != nullptr) stack.push_back(handle);
  return CUDA_SUCCESS;
}

// Without the lock, as it is in drivers: it is the thread's own, and frameworks ask all the time.
SIMNODE_ENTRY(cuCtxGetCurrent)(CUcontext* handle) {
  SIMNODE_TRY(ready());
  if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
  auto& stack = this_thread().stack;
  *handle = stack.empty() ? nullptr : stack.back();
  return CUDA_SUCCESS;
}

SIMNODE_ENTRY(cuCtxGetDevice)(CUdevice* device) {
  MutexLock lock(g_mutex);
  Context* context;
  SIMNODE_TRY(current_context(&context));
  if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *device = context->device->ordinal;
  return CUDA_SUCCESS;
}

SIMNODE_ENTRY(cuCtxGetDevice_v2)(CUdevice* device, CUcontext handle) {
  MutexLock lock(g_mutex);
  Context* context;
  SIMNODE_TRY(context_or_current(handle, &context));
  if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *device = context->device->ordinal;
  return CUDA_SUCCESS;
}

SIMNODE_ENTRY(cuCtxGetFlags)(unsigned int* flags) {
  MutexLock lock(g_mutex);
  Context* context;
  SIMNODE_TRY(current_context(&context));
  if (flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *flags = context->flags;
  return CUDA_SUCCESS;
}

SIMNODE_ENTRY(cuCtxSetFlags)(unsigned int flags) {
  MutexLock lock(g_mutex);
  Context* context;
  SIMNODE_TRY(current_context(&context));
  if (!valid_flags(flags)) return CUDA_ERROR_INVALID_VALUE;
  context->flags = flags;
  return CUDA_SUCCESS;
}

SIMNODE_ENTRY(cuCtxGetId)(CUcontext handle, unsigned long long* id) {
  MutexLock lock(g_mutex);
  Context* context;
  SIMNODE_TRY(context_or_current(handle, &context));
  if (id == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *id = context->id;
  return CUDA_SUCCESS;
}

SIMNODE_ENTRY(cuCtxGetApiVersion)(CUcontext handle, unsigned int* version) {
  MutexLock lock(g_mutex);
  Context* context;
  SIMNODE_TRY(context_or_current(handle, &context));
  if (version == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *version = 3020;  // what contexts of cuCtxCreate_v2 and later report
  return CUDA_SUCCESS;
}

SIMNODE_ENTRY(cuCtxSynchronize)() {
  MutexLock lock(g_mutex);
  Context* context;
  SIMNODE_TRY(current_context(&context));
  if (capturing(*context)) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  return synchronize(*context);
}

SIMNODE_ENTRY(cuCtxSynchronize_v2)(CUcontext handle) {
  MutexLock lock(g_mutex);
  Context* context;
  SIMNODE_TRY(context_or_current(handle, &context));
  if (capturing(*context)) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  return synchronize(*context);
}

SIMNODE_ENTRY(cuCtxGetStreamPriorityRange)(int* least, int* greatest) {
  MutexLock lock(g_mutex);
  Context* context;
  SIMNODE_TRY(current_context(&context));
  if (least != nullptr) *least = 0;
  if (greatest != nullptr) *greatest = -5;
  return CUDA_SUCCESS;
}

SIMNODE_ENTRY(cuCtxGetLimit)(size_t* value, CUlimit limit) {
  MutexLock lock(g_mutex);
  Context* context;
  SIMNODE_TRY(current_context(&context));
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (limit < 0 || limit >= CU_LIMIT_MAX) return CUDA_ERROR_UNSUPPORTED_LIMIT;
  auto set = context->limits.find(limit);
  *value = set != context->limits.end() ? set->second : limit_default(limit);
  return CUDA_SUCCESS;
}

SIMNODE_ENTRY(cuCtxSetLimit)(CUlimit limit, size_t value) {
  MutexLock lock(g_mutex);
  Context* context;
  SIMNODE_TRY(current_context(&context));
  if (limit < 0 || limit >= CU_LIMIT_MAX) return CUDA_ERROR_UNSUPPORTED_LIMIT;
  context->limits[limit] = value;
  return CUDA_SUCCESS;
}

SIMNODE_ENTRY(cuCtxGetCacheConfig)(CUfunc_cache* config) {
  MutexLock lock(g_mutex);
  Context* context;
  SIMNODE_TRY(current_context(&context));
  if (config == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *config = context->cache;
  return CUDA_SUCCESS;
}

SIMNODE_ENTRY(cuCtxSetCacheConfig)(CUfunc_cache config) {
  MutexLock lock(g_mutex);
  Context* context;
  SIMNODE_TRY(current_context(&context));
  context->cache = config;
  return CUDA_SUCCESS;
}

SIMNODE_ENTRY(cuCtxResetPersistingL2Cache)() {
  MutexLock lock(g_mutex);
  Context* context;
  return current_context(&context);
}

SIMNODE_ENTRY(cuCtxEnablePeerAccess)(CUcontext peer, unsigned int flags) {
  MutexLock lock(g_mutex);
  Context* context;
  SIMNODE_TRY(current_context(&context));
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  auto* other = g_node->find<Context>(peer);
  if (other == nullptr || other == context) return CUDA_ERROR_INVALID_CONTEXT;
  // Every device's memory is mapped in the process, so there is nothing to do but to remember it.
  if (!context->peers.insert(peer).second) return CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
  return CUDA_SUCCESS;
}

SIMNODE_ENTRY(cuCtxDisablePeerAccess)(CUcontext peer) {
  MutexLock lock(g_mutex);
  Context* context;
  SIMNODE_TRY(current_context(&context));
  if (g_node->find<Context>(peer) == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  return context->peers.erase(peer) != 0 ? CUDA_SUCCESS : CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
}

}  // namespace simnode
