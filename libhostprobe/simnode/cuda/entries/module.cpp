// Modules and libraries as a program loads and asks them.
#include "cuda/model/module.h"
#include "cuda/model/context.h"
#include "cuda/model/node.h"
#include "entry.h"

#include <cmath>
#include <cstdio>
#include <memory>
#include <vector>

namespace simnode {

namespace {

bool read_file(const char* path, std::string* content) {
  FILE* file = fopen(path, "rbe");
  if (file == nullptr) return false;
  char part[65536];
  for (size_t read; (read = fread(part, 1, sizeof part, file)) > 0;) content->append(part, read);
  bool good = ferror(file) == 0;
  fclose(file);
  content->push_back('\0');
  return good;
}

// A planted pause: the caller is busy, as it is when code is compiled or finalised, and holds no lock meanwhile.
void pause_load() {
  if (double pause_ms = g_node->fault_amount(FaultKind::kLoadPause); pause_ms > 0)
    spin_until(now_ns() + std::llround(pause_ms * 1e6));
}

// Options 4 and 6 are sizes of log buffers, which the driver answers with what it wrote: nothing.
void answer_logs(unsigned count, CUjit_option* options, void** values) {
  for (unsigned i = 0; options != nullptr && values != nullptr && i < count; ++i)
    if (options[i] == CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES || options[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES)
      values[i] = nullptr;
}

CUresult load(CUmodule* handle, const void* content, size_t bytes) {
  SIMNODE_TRY(ready());
  pause_load();
  MutexLock lock(g_mutex);
  Context* context;
  SIMNODE_TRY(current_context(&context));
  if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Image image;
  SIMNODE_TRY(read_image(content, bytes, g_node->settings.compute_capability, &image));
  return make_module(*context, std::move(image), handle);
}

CUresult load_library(CUlibrary* handle, const void* content, size_t bytes) {
  SIMNODE_TRY(ready());
  pause_load();
  MutexLock lock(g_mutex);
  if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
  auto library = std::make_unique<Library>();
  SIMNODE_TRY(read_image(content, bytes, g_node->settings.compute_capability, &library->image));
  library->handle = static_cast<CUlibrary>(g_node->handles.add(Kind::kLibrary, library.get()));
  *handle = library->handle;
  library.release();
  return CUDA_SUCCESS;
}

template <class T>
CUresult find_code(const void* handle, T** object) {
  SIMNODE_TRY(ready());
  *object = g_node->find<T>(handle);
  return *object == nullptr ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
}

}  // namespace

SIMNODE_ENTRY(cuModuleLoadData)(CUmodule* module, const void* content) { return load(module, content, 0); }

SIMNODE_ENTRY(cuModuleLoadDataEx)
(CUmodule* module, const void* content, unsigned int count, CUjit_option* options, void** values) {
  answer_logs(count, options, values);
  return load(module, content, 0);
}

SIMNODE_ENTRY(cuModuleLoadFatBinary)(CUmodule* module, const void* content) { return load(module, content, 0); }

SIMNODE_ENTRY(cuModuleLoad)(CUmodule* module, const char* path) {
  if (path == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::string content;
  if (!read_file(path, &content)) return CUDA_ERROR_FILE_NOT_FOUND;
  return load(module, content.data(), content.size());
}

SIMNODE_ENTRY(cuModuleUnload)(CUmodule handle) {
  MutexLock lock(g_mutex);
  Module* module;
  SIMNODE_TRY(find_code(handle, &module));
  unload(*module);
  return CUDA_SUCCESS;
}

SIMNODE_ENTRY(cuModuleGetLoadingMode)(CUmoduleLoadingMode* mode) {
  SIMNODE_TRY(ready());
  if (mode == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *mode = CU_MODULE_LAZY_LOADING;
  return CUDA_SUCCESS;
}

SIMNODE_ENTRY(cuModuleGetFunction)(CUfunction* function, CUmodule handle, const char* name) {
  MutexLock lock(g_mutex);
  Module* module;
  SIMNODE_TRY(find_code(handle, &module));
  if (function == nullptr || name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return function_of(*module, name, function);
}

SIMNODE_ENTRY(cuModuleGetFunctionCount)(unsigned int* count, CUmodule handle) {
  MutexLock lock(g_mutex);
  Module* module;
  SIMNODE_TRY(find_code(handle, &module));
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *count = static_cast<unsigned>(module->image.kernels.size());
  return CUDA_SUCCESS;
}

SIMNODE_ENTRY(cuModuleEnumerateFunctions)(CUfunction* functions, unsigned int count, CUmodule handle) {
  MutexLock lock(g_mutex);
  Module* module;
  SIMNODE_TRY(find_code(handle, &module));
  if (functions == nullptr) return CUDA_ERROR_INVALID_VALUE;
  for (unsigned i = 0; i < count && i < module->image.kernels.size(); ++i)
    SIMNODE_TRY(function_of(*module, module->image.kernels[i].name.c_str(), &functions[i]));
  return CUDA_SUCCESS;
}

SIMNODE_ENTRY(cuModuleGetGlobal_v2)(CUdeviceptr* pointer, size_t* bytes, CUmodule handle, const char* name) {
  MutexLock lock(g_mutex);
  Module* module;
  SIMNODE_TRY(find_code(handle, &module));
  if (name == nullptr || (pointer == nullptr && bytes == nullptr)) return CUDA_ERROR_INVALID_VALUE;
  return global_of(*module, name, pointer, bytes);
}

SIMNODE_ENTRY(cuLibraryLoadData)
(CUlibrary* library, const void* content, CUjit_option* options, void** values, unsigned int count, CUlibraryOption*,
 void**, unsigned int) {
  answer_logs(count, options, values);
  return load_library(library, content, 0);
}

SIMNODE_ENTRY(cuLibraryLoadFromFile)
(CUlibrary* library, const char* path, CUjit_option* options, void** values, unsigned int count, CUlibraryOption*,
 void**, unsigned int) {
  if (path == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::string content;
  if (!read_file(path, &content)) return CUDA_ERROR_FILE_NOT_FOUND;
  answer_logs(count, options, values);
  return load_library(library, content.data(), content.size());
}

SIMNODE_ENTRY(cuLibraryUnload)(CUlibrary handle) {
  MutexLock lock(g_mutex);
  Library* library;
  SIMNODE_TRY(find_code(handle, &library));
  destroy_functions(library->kernels);
  for (auto& [context, module_handle] : library->modules)
    if (auto* module = g_node->find<Module>(module_handle)) unload(*module);
  g_node->handles.remove(handle);
  delete library;
  return CUDA_SUCCESS;
}

SIMNODE_ENTRY(cuLibraryGetKernel)(CUkernel* kernel, CUlibrary handle, const char* name) {
  MutexLock lock(g_mutex);
  Library* library;
  SIMNODE_TRY(find_code(handle, &library));
  if (kernel == nullptr || name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  auto known = library->kernels.find(name);
  if (known == library->kernels.end()) {
    const KernelImage* image = image_of(library->image, name);
    if (image == nullptr) return CUDA_ERROR_NOT_FOUND;
    Function* function = make_function(*image, Kind::kKernel);
    function->library = library;
    known = library->kernels.emplace(name, function).first;
  }
  *kernel = reinterpret_cast<CUkernel>(known->second->handle);
  return CUDA_SUCCESS;
}

SIMNODE_ENTRY(cuLibraryGetKernelCount)(unsigned int* count, CUlibrary handle) {
  MutexLock lock(g_mutex);
  Library* library;
  SIMNODE_TRY(find_code(handle, &library));
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *count = static_cast<unsigned>(library->image.kernels.size());
  return CUDA_SUCCESS;
}

SIMNODE_ENTRY(cuLibraryEnumerateKernels)(CUkernel* kernels, unsigned int count, CUlibrary handle) {
  std::vector<std::string> names;
  {
    MutexLock lock(g_mutex);
    Library* library;
    SIMNODE_TRY(find_code(handle, &library));
    if (kernels == nullptr) return CUDA_ERROR_INVALID_VALUE;
    for (const KernelImage& kernel : library->image.kernels) names.push_back(kernel.name);
  }
  for (unsigned i = 0; i < count && i < names.size(); ++i)
    SIMNODE_TRY(entry_cuLibraryGetKernel(&kernels[i], handle, names[i].c_str()));
  return CUDA_SUCCESS;
}

SIMNODE_ENTRY(cuLibraryGetModule)(CUmodule* handle, CUlibrary library_handle) {
  MutexLock lock(g_mutex);
  Context* context;
  Library* library;
  Module* module;
  SIMNODE_TRY(current_context(&context));
  SIMNODE_TRY(find_code(library_handle, &library));
  if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
  SIMNODE_TRY(module_of(*library, *context, &module));
  *handle = module->handle;
  return CUDA_SUCCESS;
}

SIMNODE_ENTRY(cuLibraryGetGlobal)(CUdeviceptr* pointer, size_t* bytes, CUlibrary handle, const char* name) {
  MutexLock lock(g_mutex);
  Context* context;
  Library* library;
  Module* module;
  SIMNODE_TRY(current_context(&context));
  SIMNODE_TRY(find_code(handle, &library));
  if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  SIMNODE_TRY(module_of(*library, *context, &module));
  return global_of(*module, name, pointer, bytes);
}

SIMNODE_ENTRY(cuKernelGetFunction)(CUfunction* function, CUkernel handle) {
  MutexLock lock(g_mutex);
  Context* context;
  Module* module;
  SIMNODE_TRY(current_context(&context));
  auto* kernel = static_cast<Function*>(g_node->handles.find(handle, Kind::kKernel));
  if (kernel == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (function == nullptr) return CUDA_ERROR_INVALID_VALUE;
  SIMNODE_TRY(module_of(*kernel->library, *context, &module));
  return function_of(*module, kernel->image.name.c_str(), function);
}

SIMNODE_ENTRY(cuKernelGetLibrary)(CUlibrary* library, CUkernel handle) {
  MutexLock lock(g_mutex);
  SIMNODE_TRY(ready());
  auto* kernel = static_cast<Function*>(g_node->handles.find(handle, Kind::kKernel));
  if (kernel == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (library == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *library = kernel->library->handle;
  return CUDA_SUCCESS;
}

}  // namespace simnode
