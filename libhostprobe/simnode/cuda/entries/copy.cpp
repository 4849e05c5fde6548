// Copies and fills. Copies from and to pageable memory block the caller as CUDA's do.
#include "cuda/model/copy.h"
#include "cuda/model/node.h"
#include "cuda/model/stream.h"
#include "entry.h"

#include <cstring>
#include <memory>

namespace simnode {

namespace {

constexpr size_t kStagedBytes =
    64 << 10;  // cuda.h: up to 64 KiB of pageable memory a copy does not wait for the device

enum class Return { kDone, kQueued, kAsCuda };

// kAsCuda: an asynchronous copy, which waits only where pageable memory forces it to.
CUresult copy_in(CUstream handle, const CUDA_MEMCPY3D& copy, Return when) {
  MutexLock lock(g_mutex);
  Stream* stream;
  SIMNODE_TRY(find_stream(handle, &stream));
  if (copy.WidthInBytes == 0 || copy.Height == 0 || copy.Depth == 0) return CUDA_SUCCESS;
  Work work;
  bool pageable_from, pageable_to;
  SIMNODE_TRY(copy_work(copy, &work, &pageable_from, &pageable_to));
  size_t bytes = copy.WidthInBytes * copy.Height * copy.Depth;
  bool one_row = copy.Height == 1 && copy.Depth == 1;
  if (stream->capture != nullptr && when == Return::kDone) return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
  if (stream->capture == nullptr) {
    if (when == Return::kAsCuda && pageable_from && one_row && bytes <= kStagedBytes && !pageable_to) {
      const char* from = copy.srcMemoryType == CU_MEMORYTYPE_HOST ? static_cast<const char*>(copy.srcHost)
                                                                  : reinterpret_cast<const char*>(copy.srcDevice);
      auto to_base = copy.dstMemoryType == CU_MEMORYTYPE_HOST ? static_cast<char*>(copy.dstHost)
                                                              : reinterpret_cast<char*>(copy.dstDevice);
      char* to = to_base + copy.dstXInBytes;
      auto staged = std::make_shared<std::vector<char>>(from + copy.srcXInBytes, from + copy.srcXInBytes + bytes);
      work.effect = [staged, to] {
        memcpy(to, staged->data(), staged->size());
        return CUDA_SUCCESS;
      };
    } else {
      work.waits = when == Return::kDone || (when == Return::kAsCuda && (pageable_from || pageable_to));
    }
  }
  return submit_work_locked(*stream, std::move(work), now_ns());
}

CUDA_MEMCPY3D linear(CUmemorytype to_type, CUdeviceptr to, CUmemorytype from_type, CUdeviceptr from, size_t bytes) {
  CUDA_MEMCPY3D copy{};
  copy.dstMemoryType = to_type;
  copy.dstDevice = to;
  copy.dstHost = reinterpret_cast<void*>(to);
  copy.srcMemoryType = from_type;
  copy.srcDevice = from;
  copy.srcHost = reinterpret_cast<const void*>(from);
  copy.WidthInBytes = bytes;
  copy.Height = copy.Depth = 1;
  return copy;
}

CUDA_MEMCPY3D from_2d(const CUDA_MEMCPY2D& flat) {
  CUDA_MEMCPY3D copy{};
  copy.srcXInBytes = flat.srcXInBytes;
  copy.srcY = flat.srcY;
  copy.srcMemoryType = flat.srcMemoryType;
  copy.srcHost = flat.srcHost;
  copy.srcDevice = flat.srcDevice;
  copy.srcArray = flat.srcArray;
  copy.srcPitch = flat.srcPitch;
  copy.dstXInBytes = flat.dstXInBytes;
  copy.dstY = flat.dstY;
  copy.dstMemoryType = flat.dstMemoryType;
  copy.dstHost = flat.dstHost;
  copy.dstDevice = flat.dstDevice;
  copy.dstArray = flat.dstArray;
  copy.dstPitch = flat.dstPitch;
  copy.WidthInBytes = flat.WidthInBytes;
  copy.Height = flat.Height;
  copy.Depth = 1;
  return copy;
}

CUDA_MEMCPY3D from_peer(const CUDA_MEMCPY3D_PEER& peer) {
  CUDA_MEMCPY3D copy{};
  copy.srcXInBytes = peer.srcXInBytes;
  copy.srcY = peer.srcY;
  copy.srcZ = peer.srcZ;
  copy.srcMemoryType = peer.srcMemoryType;
  copy.srcHost = peer.srcHost;
  copy.srcDevice = peer.srcDevice;
  copy.srcPitch = peer.srcPitch;
  copy.srcHeight = peer.srcHeight;
  copy.dstXInBytes = peer.dstXInBytes;
  copy.dstY = peer.dstY;
  copy.dstZ = peer.dstZ;
  copy.dstMemoryType = peer.dstMemoryType;
  copy.dstHost = peer.dstHost;
  copy.dstDevice = peer.dstDevice;
  copy.dstPitch = peer.dstPitch;
  copy.dstHeight = peer.dstHeight;
  copy.WidthInBytes = peer.WidthInBytes;
  copy.Height = peer.Height;
  copy.Depth = peer.Depth;
  return copy;
}

constexpr CUmemorytype kHost = CU_MEMORYTYPE_HOST;
constexpr CUmemorytype kDevice = CU_MEMORYTYPE_DEVICE;
constexpr CUmemorytype kUnified = CU_MEMORYTYPE_UNIFIED;

CUdeviceptr address(const void* pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }

CUresult fill_in(CUstream handle, CUdeviceptr to, size_t pitch, unsigned value, unsigned element, size_t width,
                 size_t height) {
  MutexLock lock(g_mutex);
  Stream* stream;
  SIMNODE_TRY(find_stream(handle, &stream));
  if (width == 0 || height == 0) return CUDA_SUCCESS;
  CUDA_MEMSET_NODE_PARAMS fill{};
  fill.dst = to;
  fill.pitch = pitch;
  fill.value = value;
  fill.elementSize = element;
  fill.width = width;
  fill.height = height;
  Work work;
  SIMNODE_TRY(fill_work(fill, &work));
  return submit_work_locked(*stream, std::move(work), now_ns());
}

}  // namespace

SIMNODE_ENTRY(cuMemcpy)(CUstream stream, CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  return copy_in(stream, linear(kUnified, to, kUnified, from, bytes), Return::kDone);
}

SIMNODE_ENTRY(cuMemcpyAsync)(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return copy_in(stream, linear(kUnified, to, kUnified, from, bytes), Return::kAsCuda);
}

SIMNODE_ENTRY(cuMemcpyHtoD_v2)(CUstream stream, CUdeviceptr to, const void* from, size_t bytes) {
  return copy_in(stream, linear(kDevice, to, kHost, address(from), bytes), Return::kDone);
}

SIMNODE_ENTRY(cuMemcpyHtoDAsync_v2)(CUdeviceptr to, const void* from, size_t bytes, CUstream stream) {
  return copy_in(stream, linear(kDevice, to, kHost, address(from), bytes), Return::kAsCuda);
}

SIMNODE_ENTRY(cuMemcpyDtoH_v2)(CUstream stream, void* to, CUdeviceptr from, size_t bytes) {
  return copy_in(stream, linear(kHost, address(to), kDevice, from, bytes), Return::kDone);
}

SIMNODE_ENTRY(cuMemcpyDtoHAsync_v2)(void* to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return copy_in(stream, linear(kHost, address(to), kDevice, from, bytes), Return::kAsCuda);
}

// cuda.h: copies within device memory do not wait for the host, also in their synchronous form.
SIMNODE_ENTRY(cuMemcpyDtoD_v2)(CUstream stream, CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  return copy_in(stream, linear(kDevice, to, kDevice, from, bytes), Return::kQueued);
}

SIMNODE_ENTRY(cuMemcpyDtoDAsync_v2)(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return copy_in(stream, linear(kDevice, to, kDevice, from, bytes), Return::kAsCuda);
}

SIMNODE_ENTRY(cuMemcpyPeer)(CUstream stream, CUdeviceptr to, CUcontext, CUdeviceptr from, CUcontext, size_t bytes) {
  return copy_in(stream, linear(kDevice, to, kDevice, from, bytes), Return::kQueued);
}

SIMNODE_ENTRY(cuMemcpyPeerAsync)
(CUdeviceptr to, CUcontext, CUdeviceptr from, CUcontext, size_t bytes, CUstream stream) {
  return copy_in(stream, linear(kDevice, to, kDevice, from, bytes), Return::kAsCuda);
}

SIMNODE_ENTRY(cuMemcpy2D_v2)(CUstream stream, const CUDA_MEMCPY2D* copy) {
  if (copy == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return copy_in(stream, from_2d(*copy), Return::kDone);
}

SIMNODE_ENTRY(cuMemcpy2DUnaligned_v2)(CUstream stream, const CUDA_MEMCPY2D* copy) {
  return entry_cuMemcpy2D_v2(stream, copy);
}

SIMNODE_ENTRY(cuMemcpy2DAsync_v2)(const CUDA_MEMCPY2D* copy, CUstream stream) {
  if (copy == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return copy_in(stream, from_2d(*copy), Return::kAsCuda);
}

SIMNODE_ENTRY(cuMemcpy3D_v2)(CUstream stream, const CUDA_MEMCPY3D* copy) {
  if (copy == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return copy_in(stream, *copy, Return::kDone);
}

SIMNODE_ENTRY(cuMemcpy3DAsync_v2)(const CUDA_MEMCPY3D* copy, CUstream stream) {
  if (copy == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return copy_in(stream, *copy, Return::kAsCuda);
}

SIMNODE_ENTRY(cuMemcpy3DPeer)(CUstream stream, const CUDA_MEMCPY3D_PEER* copy) {
  if (copy == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return copy_in(stream, from_peer(*copy), Return::kQueued);
}

SIMNODE_ENTRY(cuMemcpy3DPeerAsync)(const CUDA_MEMCPY3D_PEER* copy, CUstream stream) {
  if (copy == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return copy_in(stream, from_peer(*copy), Return::kAsCuda);
}

SIMNODE_ENTRY(cuMemsetD8_v2)(CUstream stream, CUdeviceptr to, unsigned char value, size_t count) {
  return fill_in(stream, to, 0, value, 1, count, 1);
}

SIMNODE_ENTRY(cuMemsetD16_v2)(CUstream stream, CUdeviceptr to, unsigned short value, size_t count) {
  return fill_in(stream, to, 0, value, 2, count, 1);
}

SIMNODE_ENTRY(cuMemsetD32_v2)(CUstream stream, CUdeviceptr to, unsigned int value, size_t count) {
  return fill_in(stream, to, 0, value, 4, count, 1);
}

SIMNODE_ENTRY(cuMemsetD8Async)(CUdeviceptr to, unsigned char value, size_t count, CUstream stream) {
  return fill_in(stream, to, 0, value, 1, count, 1);
}

SIMNODE_ENTRY(cuMemsetD16Async)(CUdeviceptr to, unsigned short value, size_t count, CUstream stream) {
  return fill_in(stream, to, 0, value, 2, count, 1);
}

SIMNODE_ENTRY(cuMemsetD32Async)(CUdeviceptr to, unsigned int value, size_t count, CUstream stream) {
  return fill_in(stream, to, 0, value, 4, count, 1);
}

SIMNODE_ENTRY(cuMemsetD2D8_v2)
(CUstream stream, CUdeviceptr to, size_t pitch, unsigned char value, size_t width, size_t height) {
  return fill_in(stream, to, pitch, value, 1, width, height);
}

SIMNODE_ENTRY(cuMemsetD2D16_v2)
(CUstream stream, CUdeviceptr to, size_t pitch, unsigned short value, size_t width, size_t height) {
  return fill_in(stream, to, pitch, value, 2, width, height);
}

SIMNODE_ENTRY(cuMemsetD2D32_v2)
(CUstream stream, CUdeviceptr to, size_t pitch, unsigned int value, size_t width, size_t height) {
  return fill_in(stream, to, pitch, value, 4, width, height);
}

SIMNODE_ENTRY(cuMemsetD2D8Async)
(CUdeviceptr to, size_t pitch, unsigned char value, size_t width, size_t height, CUstream stream) {
  return fill_in(stream, to, pitch, value, 1, width, height);
}

SIMNODE_ENTRY(cuMemsetD2D16Async)
(CUdeviceptr to, size_t pitch, unsigned short value, size_t width, size_t height, CUstream stream) {
  return fill_in(stream, to, pitch, value, 2, width, height);
}

SIMNODE_ENTRY(cuMemsetD2D32Async)
(CUdeviceptr to, size_t pitch, unsigned int value, size_t width, size_t height, CUstream stream) {
  return fill_in(stream, to, pitch, value, 4, width, height);
}

}  // namespace simnode
