// What a program asks of a kernel: name, parameters, attributes, occupancy. Both forms, CUfunction and CUkernel.
#include "cuda/model/context.h"
#include "cuda/model/device.h"
#include "cuda/model/module.h"
#include "cuda/model/node.h"
#include "entry.h"

#include <algorithm>

namespace simnode {

namespace {

constexpr int kRegistersPerMultiprocessor = 65536;
constexpr int kThreadsPerMultiprocessor = 2048;
constexpr int kBlocksPerMultiprocessor = 32;
constexpr int kSharedPerMultiprocessor = 233472;
constexpr int kSharedOptIn = 232448;
constexpr int kReservedSharedPerBlock = 1024;

CUresult find_any_function(const void* handle, Function** function) {
  SIMNODE_TRY(ready());
  *function = find_function(handle);
  return *function == nullptr ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
}

CUresult name_of(const char** name, const void* handle) {
  MutexLock lock(g_mutex);
  Function* function;
  SIMNODE_TRY(find_any_function(handle, &function));
  if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *name = function->image.name.c_str();
  return CUDA_SUCCESS;
}

CUresult parameter_of(const void* handle, size_t index, size_t* offset, size_t* bytes) {
  MutexLock lock(g_mutex);
  Function* function;
  SIMNODE_TRY(find_any_function(handle, &function));
  if (offset == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (!function->image.layout_known) return CUDA_ERROR_NOT_SUPPORTED;
  if (index >= function->image.parameters.size()) return CUDA_ERROR_INVALID_VALUE;
  *offset = function->image.parameters[index].offset;
  if (bytes != nullptr) *bytes = function->image.parameters[index].bytes;
  return CUDA_SUCCESS;
}

int attribute_of(const Function& function, CUfunction_attribute attribute) {
  if (auto set = function.attributes.find(attribute); set != function.attributes.end()) return set->second;
  int capability = g_node->settings.compute_capability;
  switch (static_cast<int>(attribute)) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      return function.image.max_threads;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
      return static_cast<int>(function.image.static_shared_bytes);
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
      return static_cast<int>(function.image.local_bytes);
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
      return function.image.registers;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
      return capability;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      return 49152 - static_cast<int>(function.image.static_shared_bytes);
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      return -1;
    default:
      return 0;
  }
}

CUresult get_attribute(int* value, CUfunction_attribute attribute, const void* handle) {
  MutexLock lock(g_mutex);
  Function* function;
  SIMNODE_TRY(find_any_function(handle, &function));
  if (value == nullptr || attribute < 0 || attribute >= CU_FUNC_ATTRIBUTE_MAX) return CUDA_ERROR_INVALID_VALUE;
  *value = attribute_of(*function, attribute);
  return CUDA_SUCCESS;
}

CUresult set_attribute(CUfunction_attribute attribute, int value, const void* handle) {
  MutexLock lock(g_mutex);
  Function* function;
  SIMNODE_TRY(find_any_function(handle, &function));
  if (attribute < CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES || attribute >= CU_FUNC_ATTRIBUTE_MAX)
    return CUDA_ERROR_INVALID_VALUE;
  bool shared = attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
  int limit = kSharedOptIn - static_cast<int>(function->image.static_shared_bytes);
  if (shared && (value < 0 || value > limit)) return CUDA_ERROR_INVALID_VALUE;
  function->attributes[attribute] = value;
  return CUDA_SUCCESS;
}

int blocks_per_multiprocessor(const Function& function, int threads, size_t dynamic_shared) {
  int warps = (threads + 31) / 32;
  int blocks = std::min(kBlocksPerMultiprocessor, kThreadsPerMultiprocessor / (warps * 32));
  int registers = (function.image.registers + 7) / 8 * 8 * 32 * warps;  // given out per warp, in units of 256
  if (registers > 0) blocks = std::min(blocks, kRegistersPerMultiprocessor / registers);
  size_t shared = function.image.static_shared_bytes + dynamic_shared + kReservedSharedPerBlock;
  return std::min(blocks, static_cast<int>(static_cast<size_t>(kSharedPerMultiprocessor) / shared));
}

CUresult occupancy(int* blocks, const void* handle, int threads, size_t dynamic_shared) {
  MutexLock lock(g_mutex);
  Function* function;
  SIMNODE_TRY(find_any_function(handle, &function));
  if (blocks == nullptr || threads <= 0) return CUDA_ERROR_INVALID_VALUE;
  *blocks = threads > function->image.max_threads ? 0 : blocks_per_multiprocessor(*function, threads, dynamic_shared);
  return CUDA_SUCCESS;
}

CUresult best_block_size(int* grid, int* block, const void* handle, CUoccupancyB2DSize shared_of, size_t dynamic_shared,
                         int limit) {
  Function* function;
  Context* context;
  int multiprocessors;
  {
    MutexLock lock(g_mutex);
    SIMNODE_TRY(current_context(&context));
    SIMNODE_TRY(find_any_function(handle, &function));
    if (grid == nullptr || block == nullptr) return CUDA_ERROR_INVALID_VALUE;
    multiprocessors = attribute_of(*context->device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  }
  int most = function->image.max_threads;
  if (limit > 0) most = std::min(most, limit);
  int best = 0;
  for (int threads = most; threads > 0; threads = (threads - 1) / 32 * 32) {
    size_t shared = shared_of != nullptr ? shared_of(threads) : dynamic_shared;  // the program's code: no lock
    int blocks = blocks_per_multiprocessor(*function, threads, shared);
    if (blocks * threads <= best) continue;
    best = blocks * threads;
    *block = threads;
    *grid = blocks * multiprocessors;
  }
  return best == 0 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

}  // namespace

SIMNODE_ENTRY(cuFuncGetName)(const char** name, CUfunction function) { return name_of(name, function); }
SIMNODE_ENTRY(cuKernelGetName)(const char** name, CUkernel kernel) { return name_of(name, kernel); }

SIMNODE_ENTRY(cuFuncGetParamInfo)(CUfunction function, size_t index, size_t* offset, size_t* bytes) {
  return parameter_of(function, index, offset, bytes);
}

SIMNODE_ENTRY(cuKernelGetParamInfo)(CUkernel kernel, size_t index, size_t* offset, size_t* bytes) {
  return parameter_of(kernel, index, offset, bytes);
}

static CUresult parameter_count(const void* handle, size_t* count) {
  MutexLock lock(g_mutex);
  Function* function;
  SIMNODE_TRY(find_any_function(handle, &function));
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *count = function->image.parameters.size();
  return CUDA_SUCCESS;
}

SIMNODE_ENTRY(cuFuncGetParamCount)(CUfunction function, size_t* count) { return parameter_count(function, count); }
SIMNODE_ENTRY(cuKernelGetParamCount)(CUkernel kernel, size_t* count) { return parameter_count(kernel, count); }

SIMNODE_ENTRY(cuFuncGetModule)(CUmodule* module, CUfunction handle) {
  MutexLock lock(g_mutex);
  Function* function;
  SIMNODE_TRY(find_any_function(handle, &function));
  if (module == nullptr || function->module == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *module = function->module->handle;
  return CUDA_SUCCESS;
}

SIMNODE_ENTRY(cuFuncGetAttribute)(int* value, CUfunction_attribute attribute, CUfunction function) {
  return get_attribute(value, attribute, function);
}

SIMNODE_ENTRY(cuKernelGetAttribute)(int* value, CUfunction_attribute attribute, CUkernel kernel, CUdevice number) {
  Device* device;
  SIMNODE_TRY(find_device(number, &device));
  return get_attribute(value, attribute, kernel);
}

SIMNODE_ENTRY(cuFuncSetAttribute)(CUfunction function, CUfunction_attribute attribute, int value) {
  return set_attribute(attribute, value, function);
}

SIMNODE_ENTRY(cuKernelSetAttribute)(CUfunction_attribute attribute, int value, CUkernel kernel, CUdevice number) {
  Device* device;
  SIMNODE_TRY(find_device(number, &device));
  return set_attribute(attribute, value, kernel);
}

SIMNODE_ENTRY(cuFuncSetCacheConfig)(CUfunction handle, CUfunc_cache) {
  MutexLock lock(g_mutex);
  Function* function;
  return find_any_function(handle, &function);
}

SIMNODE_ENTRY(cuKernelSetCacheConfig)(CUkernel handle, CUfunc_cache, CUdevice) {
  MutexLock lock(g_mutex);
  Function* function;
  return find_any_function(handle, &function);
}

SIMNODE_ENTRY(cuFuncSetSharedMemConfig)(CUfunction handle, CUsharedconfig) {
  MutexLock lock(g_mutex);
  Function* function;
  return find_any_function(handle, &function);
}

SIMNODE_ENTRY(cuFuncIsLoaded)(CUfunctionLoadingState* state, CUfunction handle) {
  MutexLock lock(g_mutex);
  Function* function;
  SIMNODE_TRY(find_any_function(handle, &function));
  if (state == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *state = CU_FUNCTION_LOADING_STATE_LOADED;
  return CUDA_SUCCESS;
}

SIMNODE_ENTRY(cuFuncLoad)(CUfunction handle) {
  MutexLock lock(g_mutex);
  Function* function;
  return find_any_function(handle, &function);
}

SIMNODE_ENTRY(cuOccupancyMaxActiveBlocksPerMultiprocessor)
(int* blocks, CUfunction function, int threads, size_t dynamic_shared) {
  return occupancy(blocks, function, threads, dynamic_shared);
}

SIMNODE_ENTRY(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags)
(int* blocks, CUfunction function, int threads, size_t dynamic_shared, unsigned int) {
  return occupancy(blocks, function, threads, dynamic_shared);
}

SIMNODE_ENTRY(cuOccupancyMaxPotentialBlockSize)
(int* grid, int* block, CUfunction function, CUoccupancyB2DSize shared_of, size_t dynamic_shared, int limit) {
  return best_block_size(grid, block, function, shared_of, dynamic_shared, limit);
}

SIMNODE_ENTRY(cuOccupancyMaxPotentialBlockSizeWithFlags)
(int* grid, int* block, CUfunction function, CUoccupancyB2DSize shared_of, size_t dynamic_shared, int limit,
 unsigned int) {
  return best_block_size(grid, block, function, shared_of, dynamic_shared, limit);
}

SIMNODE_ENTRY(cuOccupancyAvailableDynamicSMemPerBlock)(size_t* bytes, CUfunction handle, int blocks, int threads) {
  MutexLock lock(g_mutex);
  Function* function;
  SIMNODE_TRY(find_any_function(handle, &function));
  if (bytes == nullptr || blocks <= 0 || threads <= 0) return CUDA_ERROR_INVALID_VALUE;
  size_t taken = function->image.static_shared_bytes + kReservedSharedPerBlock;
  size_t each = static_cast<size_t>(kSharedPerMultiprocessor) / static_cast<size_t>(blocks);
  *bytes = each > taken ? std::min(each - taken, static_cast<size_t>(kSharedOptIn)) : 0;
  return CUDA_SUCCESS;
}

SIMNODE_ENTRY(cuOccupancyMaxPotentialClusterSize)(int* size, CUfunction handle, const CUlaunchConfig* config) {
  MutexLock lock(g_mutex);
  Function* function;
  SIMNODE_TRY(find_any_function(handle, &function));
  if (size == nullptr || config == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *size = 8;
  return CUDA_SUCCESS;
}

SIMNODE_ENTRY(cuOccupancyMaxActiveClusters)(int* clusters, CUfunction handle, const CUlaunchConfig* config) {
  MutexLock lock(g_mutex);
  Function* function;
  SIMNODE_TRY(find_any_function(handle, &function));
  if (clusters == nullptr || config == nullptr) return CUDA_ERROR_INVALID_VALUE;
  int cluster = 1;
  for (unsigned i = 0; i < config->numAttrs; ++i)
    if (config->attrs[i].id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
      cluster = static_cast<int>(config->attrs[i].value.clusterDim.x * config->attrs[i].value.clusterDim.y *
                                 config->attrs[i].value.clusterDim.z);
  int threads = static_cast<int>(config->blockDimX * config->blockDimY * config->blockDimZ);
  if (threads <= 0 || cluster <= 0) return CUDA_ERROR_INVALID_VALUE;
  *clusters = blocks_per_multiprocessor(*function, threads, config->sharedMemBytes) * 132 / cluster;
  return CUDA_SUCCESS;
}

}  // namespace simnode
