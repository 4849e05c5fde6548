// Modules and libraries: see module.h.
#include "module.h"

#include "context.h"
#include "cuda/entries/entry.h"
#include "device.h"
#include "memory.h"
#include "node.h"
#include "node/clock.h"

#include <cmath>
#include <cstdio>
#include <cstring>
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

const KernelImage* image_of(const Image& image, const char* name) {
  for (const KernelImage& kernel : image.kernels)
    if (kernel.name == name) return &kernel;
  return nullptr;
}

Function* make_function(const KernelImage& image, Kind kind) {
  auto* function = new Function;
  function->image = image;
  function->duration_ns = g_node->settings.kernel_ns(image.name.c_str());
  function->handle = static_cast<CUfunction>(g_node->handles.add(kind, function));
  return function;
}

void destroy_functions(std::map<std::string, Function*>& functions) {
  for (auto& [name, function] : functions) {
    g_node->handles.remove(function->handle);
    delete function;
  }
  functions.clear();
}

void free_globals(Module& module) {
  for (auto& [name, global] : module.globals)
    if (Allocation* allocation = allocation_at(global.pointer)) free_allocation(*allocation);
}

void destroy_module(Module& module) {
  destroy_functions(module.functions);
  free_globals(module);
  g_node->handles.remove(module.handle);
  delete &module;
}

std::vector<Module*>& modules() {
  static auto* const all = new std::vector<Module*>;
  return *all;
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
  SIMNODE_TRY(read_image(content, bytes, &image));
  return make_module(*context, std::move(image), handle);
}

CUresult load_library(CUlibrary* handle, const void* content, size_t bytes) {
  SIMNODE_TRY(ready());
  pause_load();
  MutexLock lock(g_mutex);
  if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
  auto library = std::make_unique<Library>();
  SIMNODE_TRY(read_image(content, bytes, &library->image));
  library->handle = static_cast<CUlibrary>(g_node->handles.add(Kind::kLibrary, library.get()));
  *handle = library->handle;
  library.release();
  return CUDA_SUCCESS;
}

CUresult function_of(Module& module, const char* name, CUfunction* handle) {
  auto known = module.functions.find(name);
  if (known == module.functions.end()) {
    const KernelImage* image = image_of(module.image, name);
    if (image == nullptr) return CUDA_ERROR_NOT_FOUND;
    Function* function = make_function(*image, Kind::kFunction);
    function->module = &module;
    known = module.functions.emplace(name, function).first;
  }
  *handle = known->second->handle;
  return CUDA_SUCCESS;
}

CUresult global_of(Module& module, const char* name, CUdeviceptr* pointer, size_t* bytes) {
  auto global = module.globals.find(name);
  if (global == module.globals.end()) return CUDA_ERROR_NOT_FOUND;
  if (pointer != nullptr) *pointer = global->second.pointer;
  if (bytes != nullptr) *bytes = global->second.bytes;
  return CUDA_SUCCESS;
}

CUresult module_of(Library& library, Context& context, Module** module) {
  CUmodule& handle = library.modules[&context];
  *module = g_node->find<Module>(handle);
  if (*module != nullptr) return CUDA_SUCCESS;
  SIMNODE_TRY(make_module(context, library.image, &handle));
  *module = g_node->find<Module>(handle);
  return CUDA_SUCCESS;
}

template <class T>
CUresult find(const void* handle, T** object) {
  SIMNODE_TRY(ready());
  *object = g_node->find<T>(handle);
  return *object == nullptr ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
}

}  // namespace

Function* find_function(const void* handle) {
  if (auto* function = g_node->find<Function>(handle)) return function;
  return static_cast<Function*>(g_node->handles.find(handle, Kind::kKernel));
}

CUresult make_module(Context& context, Image image, CUmodule* handle) {
  auto module = std::make_unique<Module>();
  module->context = &context;
  module->image = std::move(image);
  for (const GlobalImage& global : module->image.globals) {
    CUdeviceptr pointer;
    CUresult taken = allocate_on(*context.device, &context, global.bytes, 512, MemoryKind::kDevice, &pointer);
    if (taken != CUDA_SUCCESS) {
      free_globals(*module);
      return taken;
    }
    Arena& arena = context.device->arena;
    arena.clear(static_cast<int64_t>(pointer - reinterpret_cast<uintptr_t>(arena.base())), global.bytes);
    module->globals[global.name] = {pointer, global.bytes};
  }
  module->handle = static_cast<CUmodule>(g_node->handles.add(Kind::kModule, module.get()));
  *handle = module->handle;
  modules().push_back(module.release());
  return CUDA_SUCCESS;
}

void release_modules_of(Context& context) {
  std::erase_if(modules(), [&](Module* module) {
    if (module->context != &context) return false;
    destroy_module(*module);
    return true;
  });
}

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
  SIMNODE_TRY(find(handle, &module));
  std::erase(modules(), module);
  destroy_module(*module);
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
  SIMNODE_TRY(find(handle, &module));
  if (function == nullptr || name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return function_of(*module, name, function);
}

SIMNODE_ENTRY(cuModuleGetFunctionCount)(unsigned int* count, CUmodule handle) {
  MutexLock lock(g_mutex);
  Module* module;
  SIMNODE_TRY(find(handle, &module));
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *count = static_cast<unsigned>(module->image.kernels.size());
  return CUDA_SUCCESS;
}

SIMNODE_ENTRY(cuModuleEnumerateFunctions)(CUfunction* functions, unsigned int count, CUmodule handle) {
  MutexLock lock(g_mutex);
  Module* module;
  SIMNODE_TRY(find(handle, &module));
  if (functions == nullptr) return CUDA_ERROR_INVALID_VALUE;
  for (unsigned i = 0; i < count && i < module->image.kernels.size(); ++i)
    SIMNODE_TRY(function_of(*module, module->image.kernels[i].name.c_str(), &functions[i]));
  return CUDA_SUCCESS;
}

SIMNODE_ENTRY(cuModuleGetGlobal_v2)(CUdeviceptr* pointer, size_t* bytes, CUmodule handle, const char* name) {
  MutexLock lock(g_mutex);
  Module* module;
  SIMNODE_TRY(find(handle, &module));
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
  SIMNODE_TRY(find(handle, &library));
  destroy_functions(library->kernels);
  for (auto& [context, module_handle] : library->modules)
    if (auto* module = g_node->find<Module>(module_handle)) {
      std::erase(modules(), module);
      destroy_module(*module);
    }
  g_node->handles.remove(handle);
  delete library;
  return CUDA_SUCCESS;
}

SIMNODE_ENTRY(cuLibraryGetKernel)(CUkernel* kernel, CUlibrary handle, const char* name) {
  MutexLock lock(g_mutex);
  Library* library;
  SIMNODE_TRY(find(handle, &library));
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
  SIMNODE_TRY(find(handle, &library));
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *count = static_cast<unsigned>(library->image.kernels.size());
  return CUDA_SUCCESS;
}

SIMNODE_ENTRY(cuLibraryEnumerateKernels)(CUkernel* kernels, unsigned int count, CUlibrary handle) {
  std::vector<std::string> names;
  {
    MutexLock lock(g_mutex);
    Library* library;
    SIMNODE_TRY(find(handle, &library));
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
  SIMNODE_TRY(find(library_handle, &library));
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
  SIMNODE_TRY(find(handle, &library));
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
