// Modules and libraries: see module.h.
#include "module.h"

#include "context.h"
#include "device.h"
#include "memory.h"
#include "node.h"

#include <vector>

namespace simnode {

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

const KernelImage* image_of(const Image& image, const char* name) {
  for (const KernelImage& kernel : image.kernels)
    if (kernel.name == name) return &kernel;
  return nullptr;
}

namespace {

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

}  // namespace

void unload(Module& module) {
  std::erase(modules(), &module);
  destroy_module(module);
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

}  // namespace simnode
