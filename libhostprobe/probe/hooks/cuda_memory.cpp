// hooks/cuda_memory.cpp: copies, fills, events, allocations of the CUDA driver API. One line per function.
//
// Room 2 (probe/). Like hooks/cuda.cpp; runs on the program's launching threads. Calls whose _ptsz or _ptds form has the
// same parameters are declared with it. A copy's `kBlocking` says that the host waits for it by definition; that an
// asynchronous copy of pageable memory waits too shows in its duration.
#include <cuda.h>

#include "probe/record/hook.h"

// cuda.h renames functions by #define to their newest versions; hooks are named as the library exports them.
#undef cuMemHostRegister
#undef cuMemcpyBatchAsync
#undef cuMemcpy3DBatchAsync

using namespace hostprobe;
using namespace hostprobe::probe;

// What puts a copy or a fill into a stream.
#define HP_TRANSFER_INTO(role, name, params, args, l0, l1, l4, w0, w1, stream, w4)                                  \
  HP_MOMENTS_HOOK(kCuda, CUresult, kOther, role, name, params, args, Nothing, launches_first(), {}, ([&] {          \
                    return WorkQueue{stream, std::bool_constant<is_per_thread(#name)>::value, Enqueued::kTransfer}; \
                  }),                                                                                               \
                  l0, l1, "site:code", "stream:hex", l4) {                                                          \
    rec.a = word_of(w0), rec.b = word_of(w1);                                                                       \
    rec.d = word_of(stream), rec.e = word_of(w4);                                                                   \
  }

#define HP_BOTH(macro, name, suffix, ...) macro(name, __VA_ARGS__) macro(name##suffix, __VA_ARGS__)

// ---- copies that end before they return -----------------------------------------------------------------------------

#define HP_COPY_AS(role, name, params, args, to, from, bytes) \
  HP_DRIVER_CALL(kBlocking, role, name, params, args, "to:hex", "from:hex", "", "bytes", to, from, 0, bytes)
#define HP_COPY(name, ...) HP_COPY_AS(kCopy, name, __VA_ARGS__)
#define HP_COPY_TO_DEVICE(name, ...) HP_COPY_AS(kCopyToDevice, name, __VA_ARGS__)
#define HP_COPY_BOX(name, Box) \
  HP_DRIVER_CALL(kBlocking, kCopy, name, (const Box* box), (box), "", "", "", "", 0, 0, 0, 0)

HP_BOTH(HP_COPY, cuMemcpy, _ptds, (CUdeviceptr to, CUdeviceptr from, size_t n), (to, from, n), to, from, n)
HP_BOTH(HP_COPY, cuMemcpyPeer, _ptds,
        (CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, size_t n),
        (to, to_context, from, from_context, n), to, from, n)
HP_BOTH(HP_COPY_TO_DEVICE, cuMemcpyHtoD_v2, _ptds, (CUdeviceptr to, const void* from, size_t n), (to, from, n), to,
        from, n)
HP_BOTH(HP_COPY, cuMemcpyDtoH_v2, _ptds, (void* to, CUdeviceptr from, size_t n), (to, from, n), to, from, n)
HP_BOTH(HP_COPY, cuMemcpyDtoD_v2, _ptds, (CUdeviceptr to, CUdeviceptr from, size_t n), (to, from, n), to, from, n)
HP_BOTH(HP_COPY, cuMemcpyHtoA_v2, _ptds, (CUarray to, size_t at, const void* from, size_t n), (to, at, from, n), to,
        from, n)
HP_BOTH(HP_COPY, cuMemcpyAtoH_v2, _ptds, (void* to, CUarray from, size_t at, size_t n), (to, from, at, n), to, from, n)
HP_BOTH(HP_COPY, cuMemcpyDtoA_v2, _ptds, (CUarray to, size_t at, CUdeviceptr from, size_t n), (to, at, from, n), to,
        from, n)
HP_BOTH(HP_COPY, cuMemcpyAtoD_v2, _ptds, (CUdeviceptr to, CUarray from, size_t at, size_t n), (to, from, at, n), to,
        from, n)
HP_BOTH(HP_COPY, cuMemcpyAtoA_v2, _ptds, (CUarray to, size_t to_at, CUarray from, size_t from_at, size_t n),
        (to, to_at, from, from_at, n), to, from, n)
HP_BOTH(HP_COPY_BOX, cuMemcpy2D_v2, _ptds, CUDA_MEMCPY2D)
HP_BOTH(HP_COPY_BOX, cuMemcpy2DUnaligned_v2, _ptds, CUDA_MEMCPY2D)
HP_BOTH(HP_COPY_BOX, cuMemcpy3D_v2, _ptds, CUDA_MEMCPY3D)
HP_BOTH(HP_COPY_BOX, cuMemcpy3DPeer, _ptds, CUDA_MEMCPY3D_PEER)

// ---- copies that are put into a stream ------------------------------------------------------------------------------

#define HP_COPY_ASYNC_AS(role, name, params, args, to, from, bytes) \
  HP_TRANSFER_INTO(role, name, params, args, "to:hex", "from:hex", "bytes", to, from, stream, bytes)
#define HP_COPY_ASYNC(name, ...) HP_COPY_ASYNC_AS(kCopy, name, __VA_ARGS__)
#define HP_COPY_TO_DEVICE_ASYNC(name, ...) HP_COPY_ASYNC_AS(kCopyToDevice, name, __VA_ARGS__)
#define HP_COPY_BOX_ASYNC(name, Box) \
  HP_TRANSFER_INTO(kCopy, name, (const Box* box, CUstream stream), (box, stream), "", "", "", 0, 0, stream, 0)

HP_BOTH(HP_COPY_ASYNC, cuMemcpyAsync, _ptsz, (CUdeviceptr to, CUdeviceptr from, size_t n, CUstream stream),
        (to, from, n, stream), to, from, n)
HP_BOTH(HP_COPY_ASYNC, cuMemcpyPeerAsync, _ptsz,
        (CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, size_t n, CUstream stream),
        (to, to_context, from, from_context, n, stream), to, from, n)
HP_BOTH(HP_COPY_TO_DEVICE_ASYNC, cuMemcpyHtoDAsync_v2, _ptsz,
        (CUdeviceptr to, const void* from, size_t n, CUstream stream), (to, from, n, stream), to, from, n)
HP_BOTH(HP_COPY_ASYNC, cuMemcpyDtoHAsync_v2, _ptsz, (void* to, CUdeviceptr from, size_t n, CUstream stream),
        (to, from, n, stream), to, from, n)
HP_BOTH(HP_COPY_ASYNC, cuMemcpyDtoDAsync_v2, _ptsz, (CUdeviceptr to, CUdeviceptr from, size_t n, CUstream stream),
        (to, from, n, stream), to, from, n)
HP_BOTH(HP_COPY_ASYNC, cuMemcpyHtoAAsync_v2, _ptsz,
        (CUarray to, size_t at, const void* from, size_t n, CUstream stream), (to, at, from, n, stream), to, from, n)
HP_BOTH(HP_COPY_ASYNC, cuMemcpyAtoHAsync_v2, _ptsz, (void* to, CUarray from, size_t at, size_t n, CUstream stream),
        (to, from, at, n, stream), to, from, n)
HP_BOTH(HP_COPY_ASYNC, cuMemcpyWithAttributesAsync, _ptsz,
        (CUdeviceptr to, CUdeviceptr from, size_t n, void* attributes, CUstream stream),
        (to, from, n, attributes, stream), to, from, n)
HP_BOTH(HP_COPY_BOX_ASYNC, cuMemcpy2DAsync_v2, _ptsz, CUDA_MEMCPY2D)
HP_BOTH(HP_COPY_BOX_ASYNC, cuMemcpy3DAsync_v2, _ptsz, CUDA_MEMCPY3D)
HP_BOTH(HP_COPY_BOX_ASYNC, cuMemcpy3DPeerAsync, _ptsz, CUDA_MEMCPY3D_PEER)

// Several copies in one call; 12.8 had one parameter more. Pointers to types of newer headers are plain addresses here.
#define HP_COPY_BATCH(name, params, args) \
  HP_TRANSFER_INTO(kCopy, name, params, args, "", "copies", "", 0, count, stream, 0)
HP_BOTH(HP_COPY_BATCH, cuMemcpyBatchAsync, _ptsz,
        (CUdeviceptr * to, CUdeviceptr* from, size_t* sizes, size_t count, void* attributes, size_t* first_uses,
         size_t attribute_count, size_t* failed, CUstream stream),
        (to, from, sizes, count, attributes, first_uses, attribute_count, failed, stream))
HP_BOTH(HP_COPY_BATCH, cuMemcpyBatchAsync_v2, _ptsz,
        (CUdeviceptr * to, CUdeviceptr* from, size_t* sizes, size_t count, void* attributes, size_t* first_uses,
         size_t attribute_count, CUstream stream),
        (to, from, sizes, count, attributes, first_uses, attribute_count, stream))
HP_BOTH(HP_COPY_BATCH, cuMemcpy3DBatchAsync, _ptsz,
        (size_t count, void* copies, size_t* failed, unsigned long long flags, CUstream stream),
        (count, copies, failed, flags, stream))
HP_BOTH(HP_COPY_BATCH, cuMemcpy3DBatchAsync_v2, _ptsz,
        (size_t count, void* copies, unsigned long long flags, CUstream stream), (count, copies, flags, stream))
#define HP_COPY_3D_ATTRIBUTES(name)                                                                                   \
  HP_TRANSFER_INTO(kCopy, name, (void* box, unsigned long long flags, CUstream stream), (box, flags, stream), "", "", \
                   "", 0, 0, stream, 0)
HP_COPY_3D_ATTRIBUTES(cuMemcpy3DWithAttributesAsync)
HP_COPY_3D_ATTRIBUTES(cuMemcpy3DWithAttributesAsync_ptsz)

// ---- fills ----------------------------------------------------------------------------------------------------------

#define HP_FILL(name, Value, bytes)                                                                              \
  HP_DRIVER_CALL(kOther, kFill, name, (CUdeviceptr to, Value value, size_t n), (to, value, n), "to:hex", "", "", \
                 "bytes", to, 0, 0, n* bytes)
#define HP_FILL_2D(name, Value, bytes)                                                                          \
  HP_DRIVER_CALL(kOther, kFill, name, (CUdeviceptr to, size_t pitch, Value value, size_t width, size_t height), \
                 (to, pitch, value, width, height), "to:hex", "", "", "bytes", to, 0, 0, width* height* bytes)
#define HP_FILL_ASYNC(name, Value, bytes)                                                                         \
  HP_TRANSFER_INTO(kFill, name, (CUdeviceptr to, Value value, size_t n, CUstream stream), (to, value, n, stream), \
                   "to:hex", "", "bytes", to, 0, stream, n* bytes)
#define HP_FILL_2D_ASYNC(name, Value, bytes)                                                                  \
  HP_TRANSFER_INTO(                                                                                           \
      kFill, name, (CUdeviceptr to, size_t pitch, Value value, size_t width, size_t height, CUstream stream), \
      (to, pitch, value, width, height, stream), "to:hex", "", "bytes", to, 0, stream, width* height* bytes)

HP_BOTH(HP_FILL, cuMemsetD8_v2, _ptds, unsigned char, 1)
HP_BOTH(HP_FILL, cuMemsetD16_v2, _ptds, unsigned short, 2)
HP_BOTH(HP_FILL, cuMemsetD32_v2, _ptds, unsigned, 4)
HP_BOTH(HP_FILL_2D, cuMemsetD2D8_v2, _ptds, unsigned char, 1)
HP_BOTH(HP_FILL_2D, cuMemsetD2D16_v2, _ptds, unsigned short, 2)
HP_BOTH(HP_FILL_2D, cuMemsetD2D32_v2, _ptds, unsigned, 4)
HP_BOTH(HP_FILL_ASYNC, cuMemsetD8Async, _ptsz, unsigned char, 1)
HP_BOTH(HP_FILL_ASYNC, cuMemsetD16Async, _ptsz, unsigned short, 2)
HP_BOTH(HP_FILL_ASYNC, cuMemsetD32Async, _ptsz, unsigned, 4)
HP_BOTH(HP_FILL_2D_ASYNC, cuMemsetD2D8Async, _ptsz, unsigned char, 1)
HP_BOTH(HP_FILL_2D_ASYNC, cuMemsetD2D16Async, _ptsz, unsigned short, 2)
HP_BOTH(HP_FILL_2D_ASYNC, cuMemsetD2D32Async, _ptsz, unsigned, 4)

// ---- events ---------------------------------------------------------------------------------------------------------

#define HP_EVENT_CALL(kind, role, name, params, args, event, stream) \
  HP_DRIVER_CALL(kind, role, name, params, args, "event:hex", "", "stream:hex", "", event, 0, stream, 0)

HP_EVENT_CALL(kOther, kEventRecord, cuEventRecord, (CUevent event, CUstream stream), (event, stream), event, stream)
HP_EVENT_CALL(kOther, kEventRecord, cuEventRecord_ptsz, (CUevent event, CUstream stream), (event, stream), event,
              stream)
HP_EVENT_CALL(kOther, kEventRecord, cuEventRecordWithFlags, (CUevent event, CUstream stream, unsigned flags),
              (event, stream, flags), event, stream)
HP_EVENT_CALL(kOther, kEventRecord, cuEventRecordWithFlags_ptsz, (CUevent event, CUstream stream, unsigned flags),
              (event, stream, flags), event, stream)
HP_EVENT_CALL(kOther, kStreamWait, cuStreamWaitEvent, (CUstream stream, CUevent event, unsigned flags),
              (stream, event, flags), event, stream)
HP_EVENT_CALL(kOther, kStreamWait, cuStreamWaitEvent_ptsz, (CUstream stream, CUevent event, unsigned flags),
              (stream, event, flags), event, stream)
HP_EVENT_CALL(kPolled, kQuery, cuEventQuery, (CUevent event), (event), event, 0)
HP_EVENT_CALL(kPolled, kQuery, cuStreamQuery, (CUstream stream), (stream), 0, stream)
HP_EVENT_CALL(kPolled, kQuery, cuStreamQuery_ptsz, (CUstream stream), (stream), 0, stream)

// ---- memory ---------------------------------------------------------------------------------------------------------

// Where a successful allocation was put.
#define HP_PLACED(pointer) (result == CUDA_SUCCESS && (pointer) != nullptr ? word_of(*(pointer)) : 0)
#define HP_ALLOCATE(name, params, args, pointer, bytes, stream)                                                     \
  HP_DRIVER_CALL(kOther, kMemory, name, params, args, "address:hex", "bytes", "stream:hex", "", HP_PLACED(pointer), \
                 bytes, stream, 0)
#define HP_RELEASE(kind, name, params, args, address, stream) \
  HP_DRIVER_CALL(kind, kMemory, name, params, args, "address:hex", "", "stream:hex", "", address, 0, stream, 0)

HP_ALLOCATE(cuMemAlloc_v2, (CUdeviceptr * address, size_t n), (address, n), address, n, 0)
HP_ALLOCATE(cuMemAllocPitch_v2, (CUdeviceptr * address, size_t* pitch, size_t width, size_t height, unsigned element),
            (address, pitch, width, height, element), address, width* height, 0)
HP_ALLOCATE(cuMemAllocManaged, (CUdeviceptr * address, size_t n, unsigned flags), (address, n, flags), address, n, 0)
HP_ALLOCATE(cuMemAllocHost_v2, (void** address, size_t n), (address, n), address, n, 0)
HP_ALLOCATE(cuMemHostAlloc, (void** address, size_t n, unsigned flags), (address, n, flags), address, n, 0)
HP_ALLOCATE(cuMemAllocAsync, (CUdeviceptr * address, size_t n, CUstream stream), (address, n, stream), address, n,
            stream)
HP_ALLOCATE(cuMemAllocAsync_ptsz, (CUdeviceptr * address, size_t n, CUstream stream), (address, n, stream), address, n,
            stream)
HP_ALLOCATE(cuMemAllocFromPoolAsync, (CUdeviceptr * address, size_t n, CUmemoryPool pool, CUstream stream),
            (address, n, pool, stream), address, n, stream)
HP_ALLOCATE(cuMemAllocFromPoolAsync_ptsz, (CUdeviceptr * address, size_t n, CUmemoryPool pool, CUstream stream),
            (address, n, pool, stream), address, n, stream)
HP_ALLOCATE(cuMemCreate,
            (CUmemGenericAllocationHandle * handle, size_t n, const CUmemAllocationProp* properties,
             unsigned long long flags),
            (handle, n, properties, flags), handle, n, 0)

// Freeing waits for the work that uses the memory; so does unmapping.
HP_RELEASE(kBlocking, cuMemFree_v2, (CUdeviceptr address), (address), address, 0)
HP_RELEASE(kBlocking, cuMemFreeHost, (void* address), (address), address, 0)
HP_RELEASE(kOther, cuMemFreeAsync, (CUdeviceptr address, CUstream stream), (address, stream), address, stream)
HP_RELEASE(kOther, cuMemFreeAsync_ptsz, (CUdeviceptr address, CUstream stream), (address, stream), address, stream)
HP_RELEASE(kOther, cuMemRelease, (CUmemGenericAllocationHandle handle), (handle), handle, 0)

#define HP_RANGE(name, params, args) \
  HP_DRIVER_CALL(kOther, kMemory, name, params, args, "address:hex", "bytes", "", "", address, n, 0, 0)
HP_RANGE(cuMemHostRegister_v2, (void* address, size_t n, unsigned flags), (address, n, flags))
HP_RANGE(cuMemMap,
         (CUdeviceptr address, size_t n, size_t offset, CUmemGenericAllocationHandle handle, unsigned long long flags),
         (address, n, offset, handle, flags))
HP_RANGE(cuMemUnmap, (CUdeviceptr address, size_t n), (address, n))
HP_RANGE(cuMemSetAccess, (CUdeviceptr address, size_t n, const CUmemAccessDesc* access, size_t count),
         (address, n, access, count))
HP_RELEASE(kOther, cuMemHostUnregister, (void* address), (address), address, 0)
