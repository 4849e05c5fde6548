// Copies and fills really move bytes, so that programs can check their results; how long they last is modelled.
#include "copy.h"

#include "context.h"
#include "memory.h"
#include "node.h"

#include <cstring>
#include <memory>

namespace simnode {

namespace {

// Bytes per nanosecond equal GB/s. PCIe 5 x16 with and without pinned memory, HBM read and write, NVLink.
constexpr double kPinnedGbps = 50;
constexpr double kPageableGbps = 10;
constexpr double kDeviceGbps = 1500;
constexpr double kPeerGbps = 300;
constexpr double kFillGbps = 2500;
constexpr int64_t kLatencyNs = 1500;

enum class Place { kPageable, kPinned, kDevice };

struct Side {
  char* first = nullptr;
  size_t pitch = 0;
  size_t slice = 0;  // bytes from one depth to the next
  Place place = Place::kPageable;
  const Device* device = nullptr;
};

CUresult resolve(CUmemorytype type, const void* host, CUdeviceptr device, size_t pitch, size_t height, size_t x,
                 size_t y, size_t z, const CUDA_MEMCPY3D& copy, Side* side) {
  if (type == CU_MEMORYTYPE_ARRAY) return CUDA_ERROR_NOT_SUPPORTED;
  if (type != CU_MEMORYTYPE_HOST && type != CU_MEMORYTYPE_DEVICE && type != CU_MEMORYTYPE_UNIFIED)
    return CUDA_ERROR_INVALID_VALUE;
  uintptr_t base = type == CU_MEMORYTYPE_HOST ? reinterpret_cast<uintptr_t>(host) : device;
  if (base == 0) return CUDA_ERROR_INVALID_VALUE;
  side->pitch = pitch != 0 ? pitch : x + copy.WidthInBytes;
  if (side->pitch < x + copy.WidthInBytes && copy.Height * copy.Depth > 1) return CUDA_ERROR_INVALID_VALUE;
  side->slice = side->pitch * (height != 0 ? height : y + copy.Height);
  uintptr_t first = base + z * side->slice + y * side->pitch + x;
  uintptr_t end = first + (copy.Depth - 1) * side->slice + (copy.Height - 1) * side->pitch + copy.WidthInBytes;
  side->first = reinterpret_cast<char*>(first);
  const Allocation* allocation = allocation_holding(first);
  if (allocation == nullptr) {
    return type == CU_MEMORYTYPE_DEVICE ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
  }
  if (end > allocation->address + allocation->bytes) return CUDA_ERROR_INVALID_VALUE;
  side->place = on_device(*allocation) ? Place::kDevice : Place::kPinned;
  side->device = allocation->device;
  return CUDA_SUCCESS;
}

double gbps(const Side& from, const Side& to) {
  if (from.place == Place::kPageable || to.place == Place::kPageable) return kPageableGbps;
  if (from.place == Place::kPinned || to.place == Place::kPinned) return kPinnedGbps;
  return from.device == to.device ? kDeviceGbps : kPeerGbps;
}

int64_t lasting(size_t bytes, double rate) {
  return kLatencyNs + static_cast<int64_t>(static_cast<double>(bytes) / rate);
}

// As profilers of NVIDIA's driver call them.
const char* copy_name(const Side& from, const Side& to) {
  if (from.place != Place::kDevice) return to.place == Place::kDevice ? "Memcpy HtoD" : "Memcpy HtoH";
  if (to.place != Place::kDevice) return "Memcpy DtoH";
  return from.device == to.device ? "Memcpy DtoD" : "Memcpy PtoP";
}

ActivityLabel memory_label(hostprobe::ActivityRowType type, const char* name, size_t bytes) {
  ActivityLabel label;
  if (!g_activities) return label;
  label.type = type;
  label.name = activity_name(name);
  label.bytes = bytes;
  return label;
}

void move(const Side& to, const Side& from, size_t width, size_t height, size_t depth) {
  for (size_t z = 0; z < depth; ++z)
    for (size_t y = 0; y < height; ++y)
      memmove(to.first + z * to.slice + y * to.pitch, from.first + z * from.slice + y * from.pitch, width);
}

template <class Value>
void fill_row(char* row, Value value, size_t count) {
  for (size_t i = 0; i < count; ++i) memcpy(row + i * sizeof value, &value, sizeof value);
}

void fill_rows(const CUDA_MEMSET_NODE_PARAMS& fill) {
  for (size_t y = 0; y < fill.height; ++y) {
    char* row = reinterpret_cast<char*>(fill.dst) + y * fill.pitch;
    switch (fill.elementSize) {
      case 1:
        memset(row, static_cast<int>(fill.value), fill.width);
        break;
      case 2:
        fill_row(row, static_cast<uint16_t>(fill.value), fill.width);
        break;
      default:
        fill_row(row, static_cast<uint32_t>(fill.value), fill.width);
    }
  }
}

}  // namespace

CUresult copy_work(const CUDA_MEMCPY3D& copy, Work* work, bool* pageable_from, bool* pageable_to) {
  Side from, to;
  SIMNODE_TRY(resolve(copy.srcMemoryType, copy.srcHost, copy.srcDevice, copy.srcPitch, copy.srcHeight, copy.srcXInBytes,
                      copy.srcY, copy.srcZ, copy, &from));
  SIMNODE_TRY(resolve(copy.dstMemoryType, copy.dstHost, copy.dstDevice, copy.dstPitch, copy.dstHeight, copy.dstXInBytes,
                      copy.dstY, copy.dstZ, copy, &to));
  *pageable_from = from.place == Place::kPageable;
  *pageable_to = to.place == Place::kPageable;
  size_t width = copy.WidthInBytes, height = copy.Height, depth = copy.Depth;
  work->duration_ns = lasting(width * height * depth, gbps(from, to));
  work->effect = [from, to, width, height, depth] {
    move(to, from, width, height, depth);
    return CUDA_SUCCESS;
  };
  work->label = memory_label(hostprobe::kActivityCopy, copy_name(from, to), width * height * depth);
  work->node.type = CU_GRAPH_NODE_TYPE_MEMCPY;
  work->node.copy = copy;
  return CUDA_SUCCESS;
}

CUresult fill_work(const CUDA_MEMSET_NODE_PARAMS& fill, Work* work) {
  if (fill.elementSize != 1 && fill.elementSize != 2 && fill.elementSize != 4) return CUDA_ERROR_INVALID_VALUE;
  if (fill.dst % fill.elementSize != 0) return CUDA_ERROR_INVALID_VALUE;
  size_t row_bytes = fill.width * fill.elementSize;
  if (fill.height > 1 && fill.pitch < row_bytes) return CUDA_ERROR_INVALID_VALUE;
  const Allocation* allocation = allocation_holding(fill.dst);
  size_t bytes = fill.height == 0 ? 0 : (fill.height - 1) * fill.pitch + row_bytes;
  if (allocation == nullptr || fill.dst + bytes > allocation->address + allocation->bytes)
    return CUDA_ERROR_INVALID_VALUE;
  work->duration_ns = lasting(row_bytes * fill.height, kFillGbps);
  work->effect = [fill] {
    fill_rows(fill);
    return CUDA_SUCCESS;
  };
  work->label = memory_label(hostprobe::kActivityFill, "Memset", row_bytes * fill.height);
  work->node.type = CU_GRAPH_NODE_TYPE_MEMSET;
  work->node.fill = fill;
  return CUDA_SUCCESS;
}

}  // namespace simnode
