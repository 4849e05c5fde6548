// What libcuda.so.1 exports beyond cuda.h: the toolkit declares these in headers of their own that the PyPI wheels lack,
// and programs (ffmpeg, torch.profiler) fail to start without them. Pointers to graphics types are opaque here.
#pragma once
#include <cuda.h>

#pragma GCC visibility push(default)
extern "C" {
CUresult cuProfilerInitialize(const char* configFile, const char* outputFile, int outputMode);
CUresult cuProfilerStart(void);
CUresult cuProfilerStop(void);
CUresult cuGLInit(void);
CUresult cuGLGetDevices(unsigned int* count, CUdevice* devices, unsigned int capacity, int list);
CUresult cuGLGetDevices_v2(unsigned int* count, CUdevice* devices, unsigned int capacity, int list);
CUresult cuGLCtxCreate(CUcontext* context, unsigned int flags, CUdevice device);
CUresult cuGLCtxCreate_v2(CUcontext* context, unsigned int flags, CUdevice device);
CUresult cuGraphicsGLRegisterBuffer(CUgraphicsResource* resource, unsigned int buffer, unsigned int flags);
CUresult cuGraphicsGLRegisterImage(CUgraphicsResource* resource, unsigned int image, unsigned int target,
                                   unsigned int flags);
}
#pragma GCC visibility pop
