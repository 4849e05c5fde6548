// Loaded code: modules, libraries (the context-free form), and the functions and kernels handed out of them.
#pragma once
#include "cuda/image/image.h"
#include "handle.h"
#include "node/simnode.h"

#include <cuda.h>
#include <map>
#include <memory>
#include <string>

namespace simnode {

struct Context;
struct Library;
struct Module;

// What a launch needs to know of a kernel. CUfunction and CUkernel both lead here.
struct Function {
  static constexpr Kind kKind = Kind::kFunction;
  KernelImage image;
  Module* module = nullptr;  // null for a kernel of a library
  Library* library = nullptr;
  CUfunction handle = nullptr;
  int64_t duration_ns = 0;
  std::map<CUfunction_attribute, int> attributes;
  // The host function registered for this name, looked up again when the registry has changed.
  uint64_t host_generation = ~uint64_t{0};
  simnode_kernel host_function = nullptr;
  void* host_user = nullptr;
  bool host_waits = false;
  uint32_t activity_name = 0;
};

struct Global {
  CUdeviceptr pointer;
  size_t bytes;
};

struct Module {
  static constexpr Kind kKind = Kind::kModule;
  Context* context = nullptr;
  CUmodule handle = nullptr;
  Image image;
  std::map<std::string, Function*> functions;
  std::map<std::string, Global> globals;
};

struct Library {
  static constexpr Kind kKind = Kind::kLibrary;
  CUlibrary handle = nullptr;
  Image image;
  std::map<std::string, Function*> kernels;
  std::map<Context*, CUmodule> modules;  // the module it becomes in each context, made when asked for
};

// By CUfunction or CUkernel: their handles are of different kinds, but both may be launched.
Function* find_function(const void* handle);
CUresult make_module(Context& context, Image image, CUmodule* handle);
void release_modules_of(Context& context);
void unload(Module& module);

const KernelImage* image_of(const Image& image, const char* name);  // null: it has no such kernel
Function* make_function(const KernelImage& image, Kind kind);
void destroy_functions(std::map<std::string, Function*>& functions);
CUresult function_of(Module& module, const char* name, CUfunction* handle);
CUresult global_of(Module& module, const char* name, CUdeviceptr* pointer, size_t* bytes);
// The module that the library is in this context, made when first asked for.
CUresult module_of(Library& library, Context& context, Module** module);

}  // namespace simnode
