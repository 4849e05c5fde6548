// The driver's linker, as far as names go: what is added is checked and kept; the linked image is in the simulated driver's own
// text format, with all kernels and globals of the parts.
#include "cuda/image/image.h"
#include "cuda/model/node.h"
#include "entry.h"

#include <cstdio>
#include <string>

namespace simnode {

namespace {

struct Link {
  static constexpr Kind kKind = Kind::kLink;
  Image image;
  std::string linked;
};

CUresult find_link(CUlinkState handle, Link** link) {
  SIMNODE_TRY(ready());
  *link = g_node->find<Link>(handle);
  return *link == nullptr ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
}

CUresult create(unsigned count, CUjit_option* options, void** values, CUlinkState* handle) {
  MutexLock lock(g_mutex);
  SIMNODE_TRY(ready());
  if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
  for (unsigned i = 0; options != nullptr && values != nullptr && i < count; ++i)
    if (options[i] == CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES || options[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES)
      values[i] = nullptr;  // sizes of logs: nothing was written
  *handle = static_cast<CUlinkState>(g_node->handles.add(Kind::kLink, new Link));
  return CUDA_SUCCESS;
}

CUresult add(CUlinkState handle, const void* content, size_t bytes) {
  MutexLock lock(g_mutex);
  Link* link;
  SIMNODE_TRY(find_link(handle, &link));
  return read_image(content, bytes, g_node->settings.compute_capability, &link->image);
}

CUresult add_file(CUlinkState handle, const char* path) {
  if (path == nullptr) return CUDA_ERROR_INVALID_VALUE;
  FILE* file = fopen(path, "rbe");
  if (file == nullptr) return CUDA_ERROR_FILE_NOT_FOUND;
  std::string content;
  char part[65536];
  for (size_t read; (read = fread(part, 1, sizeof part, file)) > 0;) content.append(part, read);
  fclose(file);
  return add(handle, content.c_str(), content.size());
}

std::string text_of(const Image& image) {
  std::string text = "simnode-module 1\n";
  for (const KernelImage& kernel : image.kernels) {
    text.append("kernel ").append(kernel.name);
    for (const Parameter& parameter : kernel.parameters) text.append(" ").append(std::to_string(parameter.bytes));
    text.append("\n");
  }
  for (const GlobalImage& global : image.globals)
    text.append("global ").append(global.name).append(" ").append(std::to_string(global.bytes)).append("\n");
  return text;
}

}  // namespace

SIMNODE_ENTRY(cuLinkCreate_v2)(unsigned int count, CUjit_option* options, void** values, CUlinkState* link) {
  return create(count, options, values, link);
}

SIMNODE_ENTRY(cuLinkCreate)(unsigned int count, CUjit_option* options, void** values, CUlinkState* link) {
  return create(count, options, values, link);
}

SIMNODE_ENTRY(cuLinkAddData_v2)
(CUlinkState link, CUjitInputType, void* content, size_t bytes, const char*, unsigned int, CUjit_option*, void**) {
  return bytes == 0 ? CUDA_ERROR_INVALID_VALUE : add(link, content, bytes);
}

SIMNODE_ENTRY(cuLinkAddData)
(CUlinkState link, CUjitInputType, void* content, size_t bytes, const char*, unsigned int, CUjit_option*, void**) {
  return bytes == 0 ? CUDA_ERROR_INVALID_VALUE : add(link, content, bytes);
}

SIMNODE_ENTRY(cuLinkAddFile_v2)
(CUlinkState link, CUjitInputType, const char* path, unsigned int, CUjit_option*, void**) {
  return add_file(link, path);
}

SIMNODE_ENTRY(cuLinkAddFile)(CUlinkState link, CUjitInputType, const char* path, unsigned int, CUjit_option*, void**) {
  return add_file(link, path);
}

SIMNODE_ENTRY(cuLinkComplete)(CUlinkState handle, void** image, size_t* bytes) {
  MutexLock lock(g_mutex);
  Link* link;
  SIMNODE_TRY(find_link(handle, &link));
  if (image == nullptr) return CUDA_ERROR_INVALID_VALUE;
  link->linked = text_of(link->image);
  *image = link->linked.data();
  if (bytes != nullptr) *bytes = link->linked.size() + 1;
  return CUDA_SUCCESS;
}

SIMNODE_ENTRY(cuLinkDestroy)(CUlinkState handle) {
  MutexLock lock(g_mutex);
  Link* link;
  SIMNODE_TRY(find_link(handle, &link));
  g_node->handles.remove(handle);
  delete link;
  return CUDA_SUCCESS;
}

}  // namespace simnode
