// driver.cpp: a CUDA driver library whose functions do nothing, so that what a bench measures is the hook and not the
// driver. Loaded by hook_cost as libcuda.so.1. The stand-in driver of simnode/ models what a launch costs; this one must
// not cost anything.
#include <cuda.h>

#include <cstring>

#undef cuLaunchKernel
#undef cuLaunchKernelEx
#undef cuGraphLaunch
#undef cuStreamSynchronize
#undef cuGetProcAddress

#define DRIVER_EXPORT extern "C" __attribute__((visibility("default"), noinline))

DRIVER_EXPORT CUresult cuLaunchKernel(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                                      CUstream, void**, void**) {
  return CUDA_SUCCESS;
}
DRIVER_EXPORT CUresult cuLaunchKernelEx(const CUlaunchConfig*, CUfunction, void**, void**) { return CUDA_SUCCESS; }
DRIVER_EXPORT CUresult cuGraphLaunch(CUgraphExec, CUstream) { return CUDA_SUCCESS; }
DRIVER_EXPORT CUresult cuStreamSynchronize(CUstream) { return CUDA_SUCCESS; }
DRIVER_EXPORT CUresult cuFuncGetName(const char** name, CUfunction) {
  *name = "does_nothing";
  return CUDA_SUCCESS;
}

namespace {

struct Function {
  const char* name;
  void* address;
};
const Function kFunctions[] = {{"cuLaunchKernel", reinterpret_cast<void*>(&cuLaunchKernel)},
                               {"cuLaunchKernelEx", reinterpret_cast<void*>(&cuLaunchKernelEx)},
                               {"cuGraphLaunch", reinterpret_cast<void*>(&cuGraphLaunch)},
                               {"cuStreamSynchronize", reinterpret_cast<void*>(&cuStreamSynchronize)},
                               {"cuFuncGetName", reinterpret_cast<void*>(&cuFuncGetName)}};

}  // namespace

// The function itself, whoever stands in front of it. Not a driver function: nobody hooks this name.
DRIVER_EXPORT void* bench_bare_function(const char* name) {
  for (const Function& function : kFunctions)
    if (std::strcmp(function.name, name) == 0) return function.address;
  return nullptr;
}

DRIVER_EXPORT CUresult cuGetProcAddress_v2(const char* name, void** function, int, cuuint64_t,
                                           CUdriverProcAddressQueryResult* found) {
  *function = bench_bare_function(name);
  if (found != nullptr) *found = *function ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  return *function != nullptr ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
