// Texture objects over linear and pitched memory: a description behind a handle, since kernels read nothing here unless
// the program registers a host function. Arrays do not exist on this node, so textures over them do not either.
#include "cuda/model/context.h"
#include "cuda/model/memory.h"
#include "cuda/model/node.h"
#include "entry.h"

namespace simnode {

namespace {

constexpr size_t kAlignment = 512;      // CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT
constexpr size_t kPitchAlignment = 32;  // CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT

struct Texture {
  static constexpr Kind kKind = Kind::kTexture;
  CUDA_RESOURCE_DESC resource;
  CUDA_TEXTURE_DESC sampling;
};

// Bytes of one element, 0 when there is no such element.
size_t element_bytes(CUarray_format format, unsigned channels) {
  if (channels != 1 && channels != 2 && channels != 4) return 0;
  switch (format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT8:
      return channels;
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF:
      return size_t{2} * channels;
    case CU_AD_FORMAT_UNSIGNED_INT32:
    case CU_AD_FORMAT_SIGNED_INT32:
    case CU_AD_FORMAT_FLOAT:
      return size_t{4} * channels;
    default:
      return 0;
  }
}

CUresult check_memory(CUdeviceptr pointer, size_t bytes) {
  const Allocation* allocation = allocation_holding(pointer);
  if (allocation == nullptr || pointer % kAlignment != 0) return CUDA_ERROR_INVALID_VALUE;
  return bytes <= allocation->address + allocation->bytes - pointer ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult check_resource(const CUDA_RESOURCE_DESC& resource) {
  if (resource.flags != 0) return CUDA_ERROR_INVALID_VALUE;
  if (resource.resType == CU_RESOURCE_TYPE_LINEAR) {
    const auto& linear = resource.res.linear;
    if (element_bytes(linear.format, linear.numChannels) == 0 || linear.sizeInBytes == 0)
      return CUDA_ERROR_INVALID_VALUE;
    return check_memory(linear.devPtr, linear.sizeInBytes);
  }
  if (resource.resType == CU_RESOURCE_TYPE_PITCH2D) {
    const auto& image = resource.res.pitch2D;
    const size_t element = element_bytes(image.format, image.numChannels);
    if (element == 0 || image.width == 0 || image.height == 0) return CUDA_ERROR_INVALID_VALUE;
    if (image.pitchInBytes % kPitchAlignment != 0 || image.width > image.pitchInBytes / element)
      return CUDA_ERROR_INVALID_VALUE;
    return check_memory(image.devPtr, image.pitchInBytes * (image.height - 1) + image.width * element);
  }
  const bool array = resource.resType == CU_RESOURCE_TYPE_ARRAY || resource.resType == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
  return array ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_INVALID_VALUE;
}

CUresult find(CUtexObject object, const void* out, Texture** texture) {
  Context* context;
  SIMNODE_TRY(current_context(&context));
  *texture = g_node->find<Texture>(reinterpret_cast<void*>(object));
  return *texture == nullptr || out == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

}  // namespace

SIMNODE_ENTRY(cuTexObjectCreate)
(CUtexObject* object, const CUDA_RESOURCE_DESC* resource, const CUDA_TEXTURE_DESC* sampling,
 const CUDA_RESOURCE_VIEW_DESC* view) {
  MutexLock lock(g_mutex);
  Context* context;
  SIMNODE_TRY(current_context(&context));
  if (object == nullptr || resource == nullptr || sampling == nullptr) return CUDA_ERROR_INVALID_VALUE;
  SIMNODE_TRY(check_resource(*resource));
  if (view != nullptr) return CUDA_ERROR_INVALID_VALUE;  // views are of arrays
  auto* texture = new Texture{*resource, *sampling};
  *object = reinterpret_cast<CUtexObject>(g_node->handles.add(Kind::kTexture, texture));
  return CUDA_SUCCESS;
}

SIMNODE_ENTRY(cuTexObjectDestroy)(CUtexObject object) {
  MutexLock lock(g_mutex);
  Texture* texture;
  SIMNODE_TRY(find(object, &texture, &texture));
  g_node->handles.remove(reinterpret_cast<void*>(object));
  delete texture;
  return CUDA_SUCCESS;
}

SIMNODE_ENTRY(cuTexObjectGetResourceDesc)(CUDA_RESOURCE_DESC* resource, CUtexObject object) {
  MutexLock lock(g_mutex);
  Texture* texture;
  SIMNODE_TRY(find(object, resource, &texture));
  *resource = texture->resource;
  return CUDA_SUCCESS;
}

SIMNODE_ENTRY(cuTexObjectGetTextureDesc)(CUDA_TEXTURE_DESC* sampling, CUtexObject object) {
  MutexLock lock(g_mutex);
  Texture* texture;
  SIMNODE_TRY(find(object, sampling, &texture));
  *sampling = texture->sampling;
  return CUDA_SUCCESS;
}

// None has a view: those over arrays would.
SIMNODE_ENTRY(cuTexObjectGetResourceViewDesc)(CUDA_RESOURCE_VIEW_DESC* view, CUtexObject object) {
  MutexLock lock(g_mutex);
  Texture* texture;
  SIMNODE_TRY(find(object, view, &texture));
  return CUDA_ERROR_INVALID_VALUE;
}

}  // namespace simnode
